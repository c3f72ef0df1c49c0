"""The pages of the files that the Workers of a failed run have left, and removing them early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from engines.base import EngineError, KeptBytes, KeptEntry, KeptFolder, NotKept
from jobs.models import Attempt, Job, Worker
from jobs.services import may_stop
from runs.downloads import file_address
from runs.kept import NeverKept, NoLongerKept, Place, files_remove, place_of
from runs.kept_paths import (
    MOST_PATH_BYTES,
    path_asked,
    path_below,
    path_parts,
    path_quoted,
    readable,
    readable_name,
    time_told,
)
from teams.models import User
from teams.pages import address_back, part_or_page, plain_id, signed_in, wants_part

PAGE_ENTRIES = 200
PREVIEW_BYTES = 64 * 2**10
SHOWN_WORKERS = 64


class FilesView(Protocol):
    """A view of what lies on the own disk of a Worker of the job."""

    def __call__(self, request: HttpRequest, job: Job, rank: int) -> HttpResponse: ...


def _or_gone(view: FilesView) -> Callable[[HttpRequest, str, int], HttpResponse]:
    """Of a job that the user may see. Where there are no files, a page that tells why; 404 if there never was
    anything."""

    @wraps(view)
    def shown(request: HttpRequest, key: str, rank: int) -> HttpResponse:
        job = _job(signed_in(request), key)
        try:
            return view(request, job, rank)
        except (NoLongerKept, EngineError) as error:
            return _without(request, job, error)
        except (NeverKept, NotKept) as error:
            raise Http404 from error

    return shown


@part_or_page
@require_safe
@_or_gone
def worker_files(request: HttpRequest, job: Job, rank: int) -> HttpResponse:
    """A folder of the Worker's own disk (`path`), part by part (`page`). `worker` leads on to another one."""
    other = plain_id(request.GET.get("worker"))
    if other is not None:
        return redirect("worker-files", key=job.key, rank=other)
    place = _place(request, job, rank)
    folder, page = _part(place, plain_id(request.GET.get("page")) or 1)
    context = _around(job, signed_in(request), place) | _listed(place, folder) | {"page": page}
    return render(request, "runs/files/folder.html", context)


@part_or_page
@require_safe
@_or_gone
def worker_file(request: HttpRequest, job: Job, rank: int) -> HttpResponse:
    """The beginning of a file, if it is text."""
    place = _place(request, job, rank)
    read = place.bytes(0, PREVIEW_BYTES)
    return render(request, "runs/files/file.html", _around(job, signed_in(request), place) | _previewed(read))


@part_or_page
@require_safe
@_or_gone
def worker_file_download(request: HttpRequest, job: Job, rank: int) -> HttpResponse:
    """On to the file's signed address."""
    place = _place(request, job, rank)
    place.bytes(0, 0)
    return HttpResponseRedirect(file_address(user=request.user, job=job, rank=rank, path=place.path))


@part_or_page
@require_http_methods(["GET", "HEAD", "POST"])
def files_remove_view(request: HttpRequest, key: str) -> HttpResponse:
    """Asks first, in a dialog or on a page of its own; a POST lets go of the files."""
    user = signed_in(request)
    job = _job(user, key)
    if not may_stop(user=user, job=job):
        raise PermissionDenied
    back = reverse("job", args=[key])
    if request.method != "POST":
        asked_on = request.headers.get("HX-Current-URL") or request.GET.get("next", "")
        template = "runs/files/question.html" if wants_part(request) else "runs/files/remove.html"
        return render(request, template, {"job": job, "back": address_back(request, asked_on, back)})
    if files_remove(job=job, actor=user):
        messages.success(request, _("The files of the failed run were removed."))
    else:
        messages.info(request, _("No files of this job are kept."))
    return redirect(back)


def _job(user: User, key: str) -> Job:
    job: Job = get_object_or_404(Job.objects.for_user(user).light().select_related("pool"), key=key)
    return job


def _place(request: HttpRequest, job: Job, rank: int) -> Place:
    """What the address names; raises as `place_of` does."""
    return place_of(job=job, rank=rank, path=path_asked(request.META.get("QUERY_STRING", "")))


def _without(request: HttpRequest, job: Job, error: Exception) -> HttpResponse:
    """A page that tells why there are no files."""
    over = isinstance(error, NoLongerKept)
    context = {"job": job, "over": over, "for_room": isinstance(error, NoLongerKept) and error.for_room}
    return render(request, "runs/files/gone.html", context, status=410 if over else 503)


def _around(job: Job, user: User, place: Place) -> dict[str, Any]:
    """Whose files these are, the way to them, and what can be done."""
    attempt = Attempt.objects.get(job=job, number=place.key.attempt)
    ranks = list(_ranks(attempt)[: SHOWN_WORKERS + 1])
    return {
        "job": job,
        "rank": place.rank,
        "path": path_quoted(place.path),
        "crumbs": _crumbs(path_parts(place.path)),
        "kept_until": attempt.kept_until,
        "workers": ranks[:SHOWN_WORKERS],
        "more_workers": len(ranks) > SHOWN_WORKERS,
        "last_rank": job.shape.workers - 1,
        "may_remove": may_stop(user=user, job=job),
    }


def _ranks(attempt: Attempt) -> QuerySet[Worker, int]:
    return Worker.objects.filter(attempt=attempt).order_by("rank").values_list("rank", flat=True)


def _crumbs(parts: Sequence[bytes]) -> list[dict[str, str]]:
    """The folders from the top down to what is shown."""
    return [
        {"name": readable_name(name), "path": path_quoted(b"/".join(parts[: depth + 1]))}
        for depth, name in enumerate(parts)
    ]


def _part(place: Place, asked: int) -> tuple[KeptFolder, Page[Any]]:
    """The asked page of a folder, or its last."""
    folder = place.entries((asked - 1) * PAGE_ENTRIES, PAGE_ENTRIES)
    page = Paginator(range(folder.total), PAGE_ENTRIES).get_page(asked)
    if page.number != asked:
        folder = place.entries((page.number - 1) * PAGE_ENTRIES, PAGE_ENTRIES)
    return folder, page


def _listed(place: Place, folder: KeptFolder) -> dict[str, Any]:
    return {
        "entries": [_row(place, entry) for entry in folder.entries],
        "total": folder.total,
        "more": folder.more,
        "query": f"path={path_quoted(place.path)}",
    }


def _row(place: Place, entry: KeptEntry) -> dict[str, Any]:
    """An entry; one whose path is too long for an address has none."""
    path = path_below(place.path, entry.name)
    return {
        "name": readable_name(entry.name),
        "path": path_quoted(path) if len(path) <= MOST_PATH_BYTES else "",
        "kind": str(entry.kind),
        "size": entry.size,
        "modified_at": time_told(entry.modified_at),
        "target": readable_name(entry.target),
    }


def _previewed(read: KeptBytes) -> dict[str, Any]:
    """The beginning as text, without the sign that was cut at its end; what has zero bytes is none."""
    data = read.data
    if len(data) < read.size:
        data = data[: data.rfind(b"\n") + 1] or data
    return {
        "size": read.size,
        "modified_at": time_told(read.modified_at),
        "is_text": b"\0" not in data,
        "text": readable(data) if b"\0" not in data else "",
        "cut": len(data) < read.size,
        "shown_bytes": len(data),
    }
