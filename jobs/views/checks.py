"""What the environment check has found, for the page of a job."""

from __future__ import annotations

from typing import Any

from jobs.models import Job, Worker
from jobs.texts import ITEM_LABELS, VERDICT_LABELS, found_text

SHOWN_REPORTS = 64
UNFOLDED = 2
WORST_FIRST = ("fail", "warn", "pass", "not_applicable")


def checks_shown(job: Job) -> dict[str, Any]:
    """A report a Worker, of the latest runs; open are those that failed, and the first ones."""
    if not job.env_check:
        return {"checked": []}
    workers = Worker.objects.filter(attempt__job=job, env_check__isnull=False).select_related("attempt")
    found = list(workers.order_by("-attempt__number", "rank")[:SHOWN_REPORTS])
    return {"checked": [_report(worker, at < UNFOLDED) for at, worker in enumerate(found)]}


def _report(worker: Worker, first: bool) -> dict[str, Any]:
    items = (worker.env_check or {}).get("items", [])
    verdicts = {item["verdict"] for item in items}
    worst = next((verdict for verdict in WORST_FIRST if verdict in verdicts), "fail")
    return {
        "worker": worker,
        "run": worker.attempt.number,
        "verdict": worst,
        "label": VERDICT_LABELS[worst],
        "open": first or worst == "fail",
        "items": [_item(item) for item in items],
    }


def _item(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "label": ITEM_LABELS.get(item["item"], item["item"]),
        "verdict": item["verdict"],
        "verdict_label": VERDICT_LABELS[item["verdict"]],
        "text": found_text(item["code"], item["data"]),
    }
