"""Bodies of requests: the one that would create a job once more, and the shortest that asks for the same."""

from __future__ import annotations

import dataclasses
from typing import Any

from jobs.spec import AlertAsked, EnvVar, JobSpec


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
    if spec.alerts is not None:
        body["alerts"] = [{**alert, "events": list(alert["events"])} for alert in body["alerts"]]
    return body


def least_body(spec: JobSpec) -> dict[str, Any]:
    """What asks for the same as `spec`, without what is so by default. The value of a private variable is
    replaced by its name, as in `${API_KEY}`."""
    whole = spec.as_json()
    usual = {field.name: field.default for field in dataclasses.fields(spec)} | {"worker_count": 1}
    body = {n: v for n, v in whole.items() if v not in (None, "", (), usual[n])}
    if spec.alerts is not None:
        body["alerts"] = [_least_alert(alert) for alert in spec.alerts]
    if spec.env:
        body["env"] = [_least(variable) for variable in spec.env]
    for name in ("mounts", "tags"):
        if name in body:
            body[name] = list(body[name])
    return body


def _least_alert(alert: AlertAsked) -> dict[str, Any]:
    minutes = {} if alert.minutes is None else {"minutes": alert.minutes}
    return {"events": list(alert.events), "channel": alert.channel, **minutes}


def _least(variable: EnvVar) -> dict[str, Any]:
    if variable.from_job is not None:
        return {"name": variable.name, "private": True, "from_job": variable.from_job}
    if variable.private:
        return {"name": variable.name, "private": True, "value": f"${{{variable.name}}}"}
    return {"name": variable.name, "value": variable.value or ""}
