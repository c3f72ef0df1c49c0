"""The page on which a job is created, and its live part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from jobs.forms import JobForm, snippets_of, start_example, start_from, start_new, summary_of
from jobs.forms.creating import form_create, replaced_by
from jobs.forms.following import settle
from jobs.forms.ground import with_template
from jobs.forms.start import Start
from jobs.forms.taking_over import taken_over
from jobs.forms.trial import trial_made
from jobs.forms.variables import Data, without_private
from jobs.idempotency import Sent, job_create_once
from jobs.models import Job
from jobs.repeating import NotReplaced
from jobs.services import PromiseBroken, RequestRefused, WouldWait, job_estimate
from jobs.texts import moved_text, not_replaced_text, promise_broken_text, would_wait_text
from jobs.texts.templates import TEMPLATE_MENU
from jobs.trials import MOST_MINUTES
from teams.models import User
from teams.pages import (
    NOT_CHANGED,
    chosen_team,
    digest,
    fresh,
    part,
    part_or_page,
    plain_id,
    signed_in,
    wants_part,
)
from teams.services import admin_names

ONLY_LOOKS = (
    "look",
    "adopt",
    "add_row",
    "template",
    "env_as",
)  # these buttons create nothing
OF_THE_PAGE = (
    "csrfmiddlewaretoken",
    "promise",
    "seen",
    "tried",
    "touched",
    "confirmed",
    "shown_team",
    "shown_pool",
    "laid_aside",
)
RECENT_JOBS = 5


@dataclass(frozen=True, slots=True)
class Told:
    """What the page says at its top: why nothing was created, and sentences about what was filled in."""

    refused: bool = False
    changed: str = ""
    notices: Sequence[str] = field(default=())
    start: str = "typed"  # or "new" or "filled": what the browser may do with an earlier draft
    followed: Sequence[str] = field(default=())  # what became different with another team, pool or spec
    undo: str = ""  # what takes an alternative back that was just taken over


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """A form to fill in; or the job, if what was posted breaks no rule and no promise; or the form with all
    that was typed."""
    user = signed_in(request)
    if request.method != "POST":
        start = _start(request, user)
        form = JobForm(user, start.values, start.offer)
        begun = "new" if not request.GET else "filled"
        return _page(request, form, Told(notices=start.notices, start=begun))
    if _typed_by_another(user, request.POST):
        return restored(request, request.POST, "", status=409)
    if any(name in request.POST for name in ONLY_LOOKS):
        return _looked(request, user)
    form = JobForm(user, request.POST)
    if form.unclear and "trial" not in request.POST:
        return _refused(request, form, job_estimate(user=user, spec=form.job_spec()).errors)
    try:
        return _tried(request, form) if "trial" in request.POST else _created(request, form)
    except NotReplaced as kept:
        return _not_replaced(request, user, kept)
    except RequestRefused as refused:
        return _refused(request, form, refused.findings)
    except WouldWait as refused:
        return _page(request, form, Told(changed=would_wait_text(refused.judged)), status=409)
    except PromiseBroken as broken:
        told = Told(changed=promise_broken_text(broken.judged, shown=bool(request.POST.get("promise"))))
        return _page(request, form, told, status=409)


def _looked(request: HttpRequest, user: User) -> HttpResponse:
    """The form worked out again, with what the button asked for."""
    values, undo = taken_over(request.POST, request.POST.get("adopt", ""))
    settled = settle(user, values)
    return _page(request, with_template(settled.form), Told(followed=settled.said, undo=undo))


def restored(request: HttpRequest, typed: Data, notice: str, status: int = 200) -> HttpResponse:
    """The form as it was typed before its sender had to prove who they are; nothing is created. To somebody
    else than whoever typed it, it comes without private values and with a word about that."""
    user = signed_in(request)
    if _typed_by_another(user, typed):
        typed = without_private(typed)
        typed["token"] = str(uuid4())
        notice = _(
            "This form was filled in by somebody else, before you signed in. "
            "Its private values are left out; nothing was created."
        )
    return _page(request, JobForm(user, typed), Told(notices=[notice]), status)


def _typed_by_another(user: User, typed: Data) -> bool:
    return typed.get("typed_by", "") not in ("", str(user.pk))


def _start(request: HttpRequest, user: User) -> Start:
    team = chosen_team(request)
    if earlier := request.GET.get("from"):
        jobs = Job.objects.for_user(user)
        replace_it = "replace" in request.GET
        adopt = request.GET.get("adopt", "")
        return start_from(user, get_object_or_404(jobs, key=earlier), replace_it=replace_it, adopt=adopt)
    team_id = team.pk if team else None
    if "example" in request.GET:
        return start_example(user, team_id)
    return start_new(user, team_id, plain_id(request.GET.get("pool")))


def _created(request: HttpRequest, form: JobForm) -> HttpResponse:
    token = form.cleaned_data.get("token") or ""
    typed = {name: values for name, values in request.POST.lists() if name not in OF_THE_PAGE}
    sent = Sent(form.user, request.path, token, typed)
    job, first = job_create_once(sent, form.job_spec(), partial(form_create, form))
    if first:
        messages.success(request, _("Created."))
    else:
        messages.info(request, _("This form was sent before: here is the job it created."))
    answer = HttpResponse(status=303)
    answer["Location"] = reverse("job", args=[job.key])
    return answer


def _tried(request: HttpRequest, form: JobForm) -> HttpResponse:
    job, first = trial_made(form)
    if first:
        messages.success(request, _("A trial run was created. Back leads to the form."))
    else:
        messages.info(request, _("The trial begun before is still under way."))
    answer = HttpResponse(status=303)
    answer["Location"] = reverse("job", args=[job.key])
    return answer


def _not_replaced(request: HttpRequest, user: User, kept: NotReplaced) -> HttpResponse:
    """Nothing was created. The form comes back as one that creates a job beside the other."""
    values = request.POST.copy()
    values["replaces"] = ""
    said = _("Nothing was created.") + " " + not_replaced_text(kept.job, may=kept.may)
    return _page(request, JobForm(user, values), Told(changed=said), status=409)


def _refused(request: HttpRequest, form: JobForm, findings: Sequence[Any]) -> HttpResponse:
    """The form with its errors. One that was sent before the page showed what its pool offers comes back with
    what that offers, and only the errors that are left then."""
    settled = settle(form.user, request.POST)
    if settled.moved:
        form = settled.form
        findings = job_estimate(user=form.user, spec=form.job_spec()).errors
        if not findings and not form.unclear:
            return _page(request, form, Told(changed=moved_text(), followed=settled.said), status=409)
    form.accept(findings)
    form.after_refusal = True
    form.mark()
    followed = settled.said if settled.moved else ()
    return _page(request, form, Told(refused=True, followed=followed), status=422)


def _page(request: HttpRequest, form: JobForm, told: Told, status: int = 200) -> HttpResponse:
    offer = form.offer
    context = _shown(form) | {
        "told": told,
        "followed": told.followed,
        "admins": [] if offer.pools else admin_names(user=form.user, team=offer.team),
        "templates": TEMPLATE_MENU,
        "replaced": replaced_by(form),
        "recent": Job.objects.for_user(form.user).filter(creator=form.user).light()[:RECENT_JOBS],
    }
    return render(request, "jobs/create.html", context, status=status)


@part
@require_POST
def estimate(request: HttpRequest) -> HttpResponse:
    """The summary, the numbers on the spec cards and the notes at the fields; after a change of team or pool
    also what these offer. Nothing to swap while all is as the page has it."""
    if _typed_by_another(signed_in(request), request.POST):
        return HttpResponse(status=401)  # whoever looks at the form is signed out
    settled = settle(signed_in(request), request.POST)
    context = _shown(settled.form) | {"live": True, "settled": settled, "followed": settled.said}
    summary = context["summary"]
    context |= {
        "noted": tuple((name, summary.beside.get(name, ())) for name in settled.noted),
        "rules": tuple(summary.rules.items()),
        "sections": tuple(summary.said.items()),
        "card_numbers": () if settled.moved else settled.form.offer.card_numbers,
    }
    body = render_to_string("jobs/create/live.html", context)
    seen = "" if settled.anything else digest(body)
    if seen and request.POST.get("seen") == seen:
        return HttpResponse(status=NOT_CHANGED)
    return HttpResponse(body + render_to_string("jobs/create/seen.html", {"seen": seen, "live": True}))


def _shown(form: JobForm) -> dict[str, Any]:
    wanted = form.job_spec().workers_wanted
    return {
        "form": form,
        "offer": form.offer,
        "summary": summary_of(form),
        "wanted": wanted,
        "trial_minutes": MOST_MINUTES,
    }


@part
@require_POST
def variables(request: HttpRequest) -> HttpResponse:
    """The variables shown in the other way; the notes beside them come with the next update."""
    user = signed_in(request)
    if _typed_by_another(user, request.POST):
        return HttpResponse(status=401)
    return render(request, "jobs/create/variables.html", {"form": JobForm(user, request.POST)})


@part_or_page
@require_POST
def snippets(request: HttpRequest) -> HttpResponse:
    """The form as programs that would send it."""
    user = signed_in(request)
    if _typed_by_another(user, request.POST):
        return HttpResponse(status=401)
    form = JobForm(user, request.POST)
    shown = snippets_of(form.job_spec(), request.build_absolute_uri(reverse("api-jobs")))
    template = "jobs/create/snippets.html" if wants_part(request) else "jobs/snippets.html"
    return render(request, template, {"snippets": shown, "unclear": form.unclear})
