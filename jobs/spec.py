"""What is asked for: one frozen type that form, API, rerun and clone all produce."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pools.capacity import Shape

MOST_WORKERS = 1024
MOST_CUSTOM_GPUS = 8192
JOB_KEY = re.compile(r"jo-[a-z0-9]{16}\Z")


@dataclass(frozen=True, slots=True)
class EnvVar:
    """A variable of the page. A stored private one has no value: it lies encrypted beside the job.

    `from_job` asks for the value that the private variable of that name has in that job, unread.
    """

    name: str
    value: str | None
    private: bool = False
    from_job: str | None = None

    def __repr__(self) -> str:
        shown = "…" if self.private else repr(self.value)
        return f"EnvVar({self.name!r}, {shown})"


@dataclass(frozen=True, slots=True)
class MountSpec:
    volume: int
    mount_path: str


@dataclass(frozen=True, slots=True)
class AlertAsked:
    """The channel (an id) is told of these events; `minutes` is the limit of the timed one among them."""

    events: tuple[str, ...]
    channel: int
    minutes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A request. Ids are database ids; None means not given: of `alerts`, those that the person's new jobs
    begin with."""

    team: int | None
    pool: int | None
    image: int | None
    command: str
    name: str
    job_type: str = "training"
    resource_type: str = "prepaid"
    spec: int | None = None
    worker_count: int | None = None
    custom_gpus: int | None = None
    flavor: int | None = None
    rdma: bool = False
    framework: str = "single"
    env_check: bool = False
    auto_restart: bool = False
    max_restarts: int = 1
    hang_detection: bool = False
    hang_timeout_seconds: int = 1800
    hang_action: str | None = None  # None: restart where auto_restart is on, else notify
    env: tuple[EnvVar, ...] = ()
    public_data: bool = False
    mounts: tuple[MountSpec, ...] = ()
    alerts: tuple[AlertAsked, ...] | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    priority: str = "normal"
    max_runtime_minutes: int | None = None
    max_queue_minutes: int | None = None
    start_policy: str = "queue"
    stop_grace_seconds: int = 30
    keep_after_failure_minutes: int = 0

    @property
    def custom(self) -> bool:
        return self.custom_gpus is not None

    @property
    def kept_data(self) -> dict[str, int]:
        """Of what is said to be lost: for how many minutes it can still be read after a failure."""
        return {"kept": minutes} if (minutes := self.keep_after_failure_minutes) > 0 else {}

    @property
    def workers_wanted(self) -> int:
        """Worker count with its default; only meaningful without a custom count."""
        return 1 if self.worker_count is None else self.worker_count

    @property
    def hang_does(self) -> str:
        """What is done about a hang, with its default filled in."""
        return self.hang_action or ("restart" if self.auto_restart else "notify")

    def shape(self, spec_gpus: int | None) -> Shape | None:
        """The GPUs asked for; None while the request does not say enough, or says a number out of range."""
        if self.custom_gpus is not None:
            return Shape.of_custom(self.custom_gpus) if 1 <= self.custom_gpus <= MOST_CUSTOM_GPUS else None
        if spec_gpus is None or not 1 <= self.workers_wanted <= MOST_WORKERS:
            return None
        return Shape.of_spec(spec_gpus, self.workers_wanted)

    def public(self) -> JobSpec:
        """The same request without the values of private variables, and without where they came from:
        what may be stored in clear."""
        env = (replace(v, value=None, from_job=None) if v.private else v for v in self.env)
        return replace(self, env=tuple(env))

    def as_json(self) -> dict[str, Any]:
        """As in the API's request body. Contains private values unless `public()` was taken first."""
        body = asdict(self)
        for variable in body["env"]:
            if variable["from_job"] is None:
                del variable["from_job"]
        return body

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JobSpec:
        """The inverse of `as_json`; TypeError or KeyError if the data has another form."""
        fields = dict(data)
        fields["env"] = tuple(EnvVar(**v) for v in fields.get("env", ()))
        fields["mounts"] = tuple(MountSpec(**m) for m in fields.get("mounts", ()))
        if fields.get("alerts") is not None:
            fields["alerts"] = alerts_of(fields["alerts"])
        fields["tags"] = tuple(fields.get("tags", ()))
        return cls(**fields)


def alerts_of(entries: Iterable[Mapping[str, Any]]) -> tuple[AlertAsked, ...]:
    return tuple(AlertAsked(**{**one, "events": tuple(one["events"])}) for one in entries)


def unix_newlines(text: str) -> str:
    """A browser sends CRLF for every line of a text area; bash wants LF. A lone CR stays."""
    return text.replace("\r\n", "\n")


def is_job_key(text: str) -> bool:
    """Whether a job may have this id: nothing else need be looked up."""
    return JOB_KEY.match(text) is not None
