"""Pages' share of what runs: how jobs are kept apart on this machine, and their logs."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from engines.base import EngineError, LogChunk, Protection
from jobs.models import Job, Worker
from runs.last_lines import TAIL_BYTES
from runs.logs import log_read
from runs.registry import engine_of
from runs.symptoms import symptoms
from runs.terminal import readable
from runs.texts import symptom_text
from teams.pages import NOT_CHANGED, part_or_page, plain_id, signed_in, wants_part

LONG_LINE_BYTES = 16 * 2**10  # a line that goes on for longer is shown in pieces
FAR_BEHIND_BYTES = 2**20
SHOWN_WORKERS = 64
MOST_TAIL_LINES = 200


@dataclass(frozen=True, slots=True)
class LogPart:
    """Whole lines, and the line that is still being written; `offset` is where the latter begins."""

    lines: str
    last: str
    offset: int
    size: int
    complete: bool
    cut_before: int = 0
    cut_after: int = 0


def protection(request: HttpRequest) -> dict[str, Protection]:
    """Context of every page: whether jobs run unprotected here."""
    return {"protection": engine_of("local").protection()}


@part_or_page
@require_safe
def worker_log(request: HttpRequest, key: str, rank: int) -> HttpResponse:
    """The end of a Worker's log. The page asks again from where it ended (`offset`) and adds to it.

    `worker` leads on to another Worker; `tail` asks for the last lines only, as a part of another page.
    """
    jobs = Job.objects.for_user(signed_in(request)).light().select_related("pool")
    job = get_object_or_404(jobs, key=key)
    asked, offset = plain_id(request.GET.get("attempt")), plain_id(request.GET.get("offset"))
    if request.GET.get("attempt") and asked is None:
        raise Http404
    attempt = asked or job.attempt
    other = plain_id(request.GET.get("worker"))
    if other is not None:
        return redirect(_address(job, other, attempt))
    ranks = Worker.objects.filter(attempt__job=job, attempt__number=attempt).order_by("rank")
    if (rank or attempt != job.attempt) and not ranks.filter(rank=rank).exists():
        raise Http404
    chunk = _read(job, attempt, rank, offset)
    if offset is not None and (chunk is None or _nothing_new(chunk, request.GET.get("size"))):
        return HttpResponse(status=NOT_CHANGED)
    chunk = chunk or LogChunk(b"", 0, 0, complete=False)
    if "tail" in request.GET:
        return _tail(request, chunk)
    adds = offset is not None and (asked, offset) == (attempt, chunk.offset)
    log = log_part(chunk, fresh=not adds)
    context = {
        "job": job,
        "rank": rank,
        "attempt": attempt,
        "place": f"{attempt}-{rank}",
        "log": log,
        "adds": adds,
        "next": urlencode({"attempt": attempt, "offset": log.offset, "size": log.size}),
    }
    return _answer(request, context | ({} if adds else _choices(job, ranks)), polled=offset is not None)


def _address(job: Job, rank: int, attempt: int) -> str:
    return reverse("worker-log", args=[job.key, rank]) + f"?attempt={attempt}"


def _choices(job: Job, ranks: QuerySet[Worker]) -> dict[str, Any]:
    """The runs and Workers whose logs there are; of very many Workers the first."""
    shown = list(ranks.values_list("rank", flat=True)[: SHOWN_WORKERS + 1])
    return {
        "workers": shown[:SHOWN_WORKERS],
        "more_workers": len(shown) > SHOWN_WORKERS,
        "last_rank": job.shape.workers - 1,
        "attempts": range(1, job.attempt + 1),
    }


def _tail(request: HttpRequest, chunk: LogChunk) -> HttpResponse:
    """The last lines of a log."""
    lines = min(plain_id(request.GET["tail"]) or 0, MOST_TAIL_LINES)
    log = log_part(chunk, fresh=True)
    shown = (log.lines + log.last).rstrip("\n").split("\n")[-lines:] if lines else []
    text = "\n".join(shown)
    told = [
        {"text": symptom_text(one.code, one.data), "page": one.page, "anchor": one.anchor}
        for one in symptoms(text)
    ]
    return render(request, "runs/tail.html", {"text": text, "symptoms": told})


def _answer(request: HttpRequest, context: dict[str, Any], polled: bool) -> HttpResponse:
    """A part for htmx, what is new or the whole log anew; a page of its own for everybody else."""
    part = "#more" if context["adds"] else "#log"
    answer = render(request, "runs/log.html" + (part if wants_part(request) else ""), context)
    if polled and not context["adds"]:
        answer["HX-Retarget"] = answer["HX-Reselect"] = "#log"
        answer["HX-Reswap"] = "outerHTML"
    return answer


def _read(job: Job, attempt: int, rank: int, offset: int | None) -> LogChunk | None:
    """From `offset` on, or the tail: at the beginning, and for a reader who is far behind.

    None: the log cannot be read now.
    """
    start = -TAIL_BYTES if offset is None else offset
    try:
        chunk = log_read(job=job, attempt=attempt, rank=rank, offset=start, limit=TAIL_BYTES)
        if offset is not None and chunk.size - chunk.offset > FAR_BEHIND_BYTES:
            chunk = log_read(job=job, attempt=attempt, rank=rank, offset=-TAIL_BYTES, limit=TAIL_BYTES)
    except EngineError:
        return None
    return chunk


def _nothing_new(chunk: LogChunk, size: str | None) -> bool:
    return not chunk.complete and size == str(chunk.size)


def log_part(chunk: LogChunk, fresh: bool) -> LogPart:
    """What to show of a chunk. A `fresh` one out of the middle begins with its first whole line."""
    data, offset = chunk.data, chunk.offset
    if fresh and offset:
        skip = data.find(b"\n") + 1 or _broken_start(data)
        data, offset = data[skip:], offset + skip
    end = data.rfind(b"\n") + 1
    at_end = offset + len(data) >= chunk.size
    if len(data) - end > LONG_LINE_BYTES or (chunk.complete and at_end):
        end = len(data) - (0 if chunk.complete and at_end else _broken_end(data))
    return LogPart(
        lines=readable(data[:end]),
        last=readable(data[end:]),
        offset=offset + end,
        size=chunk.size,
        complete=chunk.complete and at_end,
        cut_before=offset if fresh else 0,
        cut_after=chunk.cut_bytes,
    )


def _broken_start(data: bytes) -> int:
    """How many bytes at the start belong to a character that began before."""
    return next((i for i, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)


def _broken_end(data: bytes) -> int:
    """How many bytes at the end belong to a character that is not complete yet."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-4:])
    return len(decoder.getstate()[0])
