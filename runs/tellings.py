"""How notices of jobs and of the machine are told: what is known of them, and of jobs their last output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from alerts.message import Told
from alerts.models import Notice
from alerts.rules import Subject
from alerts.subjects import telling_set
from jobs.models import Job
from jobs.texts import job_told
from runs.last_lines import last_lines
from runs.texts import machine_told


def job_telling(notice: Notice, log: bool) -> Told:
    """With the last lines of the Worker that failed first, or of Worker 0; none before the first attempt."""
    told, data = job_told(notice), notice.data
    if not log or not data["attempt"]:
        return told
    job = Job.objects.light().select_related("pool").filter(pk=notice.subject_id).first()
    return told if job is None else replace(told, log=last_lines(job, data["attempt"], _rank(data)))


def _rank(data: Mapping[str, Any]) -> int:
    """The Worker that the notice is about."""
    event = data.get("event", {})
    for named in (data.get("first_failure"), event.get("reason", {}).get("data"), event):
        if named and "rank" in named:
            return int(named["rank"])
    return 0


def machine_telling(notice: Notice, log: bool) -> Told:
    return machine_told(notice)


telling_set(Subject.JOB, job_telling)
telling_set(Subject.MACHINE, machine_telling)
