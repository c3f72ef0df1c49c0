"""Downloads: the page's way to a signed address, and the byte listener's answer there."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from engines.base import EngineError, NotKept
from jobs.models import Job, Worker
from runs.downloads import AddressExpired, AddressUnknown, file_open, log_address, log_open
from runs.kept import NeverKept, NoLongerKept
from runs.ranges import bytes_answer
from teams.pages import fresh, plain_id

PLAIN = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"  # whatever it is: nothing of a job's is ever run as ours


@login_required
@require_safe
@fresh
def worker_log_download(request: HttpRequest, key: str, rank: int) -> HttpResponse:
    """On to the log's signed address; `attempt` is the latest by default."""
    job: Job = get_object_or_404(Job.objects.for_user(request.user).light(), key=key)
    attempt = _attempt(request.GET.get("attempt"), job)
    if attempt or rank >= job.shape.workers:  # before it was placed, a job has no Workers yet
        get_object_or_404(Worker, attempt__job=job, attempt__number=attempt, rank=rank)
    return HttpResponseRedirect(log_address(user=request.user, job=job, attempt=attempt, rank=rank))


def _attempt(text: str | None, job: Job) -> int:
    if not text:
        return job.attempt
    attempt = plain_id(text)
    if attempt is None:
        raise Http404
    return attempt


@require_safe
def log_bytes(request: HttpRequest, token: str) -> HttpResponseBase:
    """A Worker's log, byte by byte. Whoever has the address may read it while it lasts."""
    try:
        return bytes_answer(request, log_open(token=token), PLAIN)
    except AddressUnknown as error:
        raise Http404 from error
    except AddressExpired:
        text = _("This address has expired. Go back to the log and download it from there again.")
        return HttpResponse(text, status=403, content_type=PLAIN)
    except EngineError:
        return HttpResponse(_("The log cannot be read now; try again."), status=503, content_type=PLAIN)


@require_safe
def file_bytes(request: HttpRequest, token: str) -> HttpResponseBase:
    """A file of a failed run, likewise."""
    try:
        return bytes_answer(request, file_open(token=token), BYTES)
    except (AddressUnknown, NeverKept, NotKept) as error:
        raise Http404 from error
    except NoLongerKept:
        text = _("The files of this run are no longer kept.")
        return HttpResponse(text, status=410, content_type=PLAIN)
    except AddressExpired:
        text = _("This address has expired. Go back to the files and download it from there again.")
        return HttpResponse(text, status=403, content_type=PLAIN)
    except EngineError:
        return HttpResponse(_("The file cannot be read now; try again."), status=503, content_type=PLAIN)
