"""A job once more: as it was by one click, or with changes from a form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from jobs.findings import Finding
from jobs.forms.differences import heading_of
from jobs.forms.rerun import RerunForm, outcome_of
from jobs.idempotency import Sent, job_create_once
from jobs.models import Job
from jobs.repeating import job_rerun
from jobs.rerun import Rerun
from jobs.services import PromiseBroken, RequestRefused, WouldWait
from jobs.spec import JobSpec
from jobs.texts import finding_text, following_text, promise_broken_text, would_wait_text
from teams.models import User
from teams.pages import fresh, part_or_page, signed_in, wants_part

OF_THE_PAGE = ("csrfmiddlewaretoken", "promise", "tried")
LONGEST_TOKEN = 64
FOR_LACK_OF_RIGHTS = ("priority_lowered", "alerts_left_out")  # told after one click; the form tells of all


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def rerun(request: HttpRequest, key: str) -> HttpResponse:
    """Asks first if it is opened by its address; a POST creates, once however often it is sent."""
    user = signed_in(request)
    job = get_object_or_404(Job.objects.for_user(user), key=key)
    if request.method != "POST":
        return _question(request, job)
    sent = Sent(user, request.path, request.POST.get("token", "")[:LONGEST_TOKEN], {})
    try:
        return _made(request, sent, job.spec_asked, partial(job_rerun, user=user, job=job))
    except RequestRefused as refused:
        return _question(request, job, status=422, wrong=refused.findings)
    except WouldWait as refused:
        return _question(request, job, status=409, waits=would_wait_text(refused.judged))


@part_or_page
@require_http_methods(["GET", "HEAD", "POST"])
def modify(request: HttpRequest, key: str) -> HttpResponse:
    """A form with the fields that a rerun may change, which says what would come of it; a POST creates."""
    user = signed_in(request)
    job = get_object_or_404(Job.objects.for_user(user), key=key)
    if request.method != "POST":
        return _page(request, RerunForm(user, job, None))
    if request.POST.get("typed_by", "") not in ("", str(user.pk)):
        return _of_another(request, user, job)
    form = RerunForm(user, job, request.POST)
    if wants_part(request):
        return render(request, "jobs/modify/live.html", {"outcome": outcome_of(form)})
    if "look" in request.POST:
        return _page(request, form)
    return _sent(request, form)


def _sent(request: HttpRequest, form: RerunForm) -> HttpResponse:
    if form.unclear:
        return _refused(request, form, ())
    typed = {name: values for name, values in request.POST.lists() if name not in OF_THE_PAGE}
    sent = Sent(form.user, request.path, form.cleaned_data.get("token") or "", typed)
    make = partial(job_rerun, user=form.user, job=form.job, changes=form.changes, promise=form.promised())
    try:
        return _made(request, sent, form.job_spec(), make)
    except RequestRefused as refused:
        return _refused(request, form, refused.findings)
    except WouldWait as refused:
        return _page(request, form, changed=would_wait_text(refused.judged), status=409)
    except PromiseBroken as broken:
        shown = bool(request.POST.get("promise"))
        return _page(request, form, changed=promise_broken_text(broken.judged, shown=shown), status=409)


def _made(
    request: HttpRequest, sent: Sent, spec: JobSpec, make: Callable[[], tuple[Job, Rerun]]
) -> HttpResponse:
    made: list[Rerun] = []

    def remembered() -> Job:
        job, rerun = make()
        made.append(rerun)
        return job

    job, first = job_create_once(sent, spec, remembered)
    if first:
        messages.success(request, _("Created."))
        for change in made[-1].follows:
            if change.code in FOR_LACK_OF_RIGHTS:
                messages.info(request, following_text(change.code, change.data))
    else:
        messages.info(request, _("This was sent before: here is the job it created."))
    answer = HttpResponse(status=303)
    answer["Location"] = reverse("job", args=[job.key])
    return answer


def _refused(request: HttpRequest, form: RerunForm, findings: Sequence[Finding]) -> HttpResponse:
    form.accept(findings)
    form.after_refusal = True
    form.mark()
    return _page(request, form, refused=True, status=422)


def _page(
    request: HttpRequest, form: RerunForm, *, changed: str = "", refused: bool = False, status: int = 200
) -> HttpResponse:
    context = {
        "job": form.job,
        "form": form,
        "offer": form.offer,
        "outcome": outcome_of(form),
        "changed": changed,
        "refused": refused,
    }
    return render(request, "jobs/modify.html", context, status=status)


def _question(
    request: HttpRequest, job: Job, *, status: int = 200, wrong: Sequence[Finding] = (), waits: str = ""
) -> HttpResponse:
    told = [(heading_of(f.field), finding_text(f.code, f.data)) for f in wrong]
    context = {"job": job, "wrong": told, "waits": waits, "token": str(uuid4())}
    return render(request, "jobs/rerun.html", context, status=status)


def _of_another(request: HttpRequest, user: User, job: Job) -> HttpResponse:
    """What somebody else typed before `user` signed in is not sent in the name of `user`."""
    if wants_part(request):
        return HttpResponse(status=401)
    said = _("This form was filled in by somebody else, before you signed in; nothing was created.")
    messages.error(request, said)
    return _page(request, RerunForm(user, job, None), status=409)
