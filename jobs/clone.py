"""The body that would create a job once more."""

from __future__ import annotations

from typing import Any

from jobs.spec import JobSpec


def clone_body(spec: JobSpec, key: str) -> dict[str, Any]:
    """What `POST jobs/` takes to make a copy of the job `key`, which asked for `spec`: as it was sent, with
    defaults filled in. Private values are referred to and not told."""
    body = spec.as_json()
    if not spec.custom:
        body["worker_count"] = spec.workers_wanted
    body["env"] = [
        {"name": v.name, "private": True, "from_job": key}
        if v.private
        else {"name": v.name, "value": v.value, "private": False}
        for v in spec.env
    ]
    body["tags"] = list(spec.tags)
    return body
