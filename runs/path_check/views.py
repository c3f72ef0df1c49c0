"""The create form's part that looks at its paths: begun with all that was typed, asked until it is done."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from jobs.findings import Finding
from jobs.forms import JobForm
from jobs.spec import unix_newlines
from runs.models import PathCheck
from runs.path_check.services import LOOKED_AT, CheckRefused, TooManyChecks, path_check_create
from runs.path_check.shown import shown_of
from runs.path_check.texts import TOO_MANY, refusal_text
from teams.pages import NOT_CHANGED, part, signed_in


@part
@require_POST
def path_check_start(request: HttpRequest) -> HttpResponse:
    """Begins a check of what the form holds, folders in `create_path` being made first; nothing of the form
    is touched. What is wrong with mounts or image is said instead."""
    user = signed_in(request)
    if request.POST.get("typed_by", "") not in ("", str(user.pk)):
        return HttpResponse(status=401)  # whoever looks at the form is signed out
    form = JobForm(user, request.POST)
    unclear = [(form.label_of(u.field), u.row, u.text) for u in form.unclear if u.field in LOOKED_AT]
    if unclear:
        return _refused(request, unclear)
    create = [unix_newlines(path) for path in request.POST.getlist("create_path")]
    try:
        check = path_check_create(user=user, spec=form.job_spec(), create=create)
    except CheckRefused as refused:
        return _refused(request, [_said(form, finding) for finding in refused.findings])
    except TooManyChecks:
        return _refused(request, [("", 0, str(TOO_MANY))])
    return _shown(request, check)


@part
@require_safe
def path_check(request: HttpRequest, key: str) -> HttpResponse:
    """The answer; nothing while there is none yet."""
    check = get_object_or_404(PathCheck.objects.for_user(request.user), key=key)
    shown = shown_of(check)
    if shown.waiting and not shown.late:
        return HttpResponse(status=NOT_CHANGED)
    return _shown(request, check)


def _said(form: JobForm, finding: Finding) -> tuple[str, int, str]:
    """Where it is wrong, in which row, and why."""
    text = refusal_text(finding.code, finding.data)
    if finding.field.partition(".")[0] not in LOOKED_AT:
        return "", 0, text
    return form.label_of(finding.field), form.row_number(finding.field), text


def _refused(request: HttpRequest, said: list[tuple[str, int, str]]) -> HttpResponse:
    return render(request, "runs/path_check/refused.html", {"said": said})


def _shown(request: HttpRequest, check: PathCheck) -> HttpResponse:
    return render(request, "runs/path_check/part.html", {"check": check, "shown": shown_of(check)})
