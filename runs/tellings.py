"""How notices of jobs and of the machine are told: what is known of them, and of jobs their last output."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from alerts.message import Told
from alerts.models import Notice
from alerts.rules import Subject
from alerts.subjects import living_set, telling_set
from jobs.models import Job
from jobs.states import LIVE
from jobs.texts import job_told
from runs.last_lines import last_lines
from runs.texts import machine_told

WITHOUT_LINES = frozenset({"queued_too_long", "deploying_too_long"})  # what there is, is of an earlier run


def job_telling(notice: Notice, log: bool) -> Told:
    """With the last lines of the Worker that failed first, or of Worker 0; none before the first attempt."""
    told, data = job_told(notice), notice.data
    if not log or not data["attempt"] or notice.code in WITHOUT_LINES:
        return told
    job = Job.objects.light().select_related("pool").filter(pk=notice.subject_id).first()
    return told if job is None else replace(told, log=last_lines(job, data["attempt"], _rank(data)))


def _rank(data: Mapping[str, Any]) -> int:
    """The Worker that the notice is about."""
    event = data.get("event") or {}
    for named in (data.get("first_failure"), (event.get("reason") or {}).get("data"), event):
        if named and named.get("rank") is not None:
            return int(named["rank"])
    return 0


def machine_telling(notice: Notice, log: bool) -> Told:
    return machine_told(notice)


def jobs_living(ids: Collection[int]) -> dict[int, int]:
    return dict(Job.objects.filter(pk__in=ids, state__in=LIVE).values_list("pk", "creator"))


telling_set(Subject.JOB, job_telling)
living_set(Subject.JOB, jobs_living)
telling_set(Subject.MACHINE, machine_telling)
