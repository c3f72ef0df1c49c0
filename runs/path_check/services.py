"""Asking for a path check: what of a request it looks at, and whether the person may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from jobs.command.exits import called_scripts
from jobs.command.paths import absolute_paths
from jobs.facts import Facts
from jobs.findings import Finding, Level, Reason
from jobs.reading import request_read
from jobs.rules import check, normal_path
from jobs.rules.limits import MOST_VARIABLE_NAME
from jobs.rules.startup import ENV_NAME
from jobs.spec import JobSpec
from pools.hints import send
from pools.models import Pool
from runs.models import PathCheck
from runs.path_check.values import (
    MOST_PATH_BYTES,
    MOST_PATHS,
    MOST_SCRIPTS,
    Mount,
    PathAsked,
    ScriptAsked,
    create_refused,
    is_proper,
    merged,
)
from runs.states import CheckState
from teams.models import User

LOOKED_AT = frozenset({"team", "pool", "image", "mounts", "public_data"})
PUBLIC_DATA = "/infini-data"
MOST_A_MINUTE = 20
KEPT_OF_A_PERSON = 3
SOON = timedelta(minutes=1)


class CheckRefused(Exception):
    """Nothing is looked at; `findings` say why."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(", ".join(f"{f.field}: {f.code}" for f in findings))
        self.findings = tuple(findings)


class TooManyChecks(Exception):
    """The person has asked for so many within a minute that the next one has to wait."""


def path_check_create(
    *, user: User, spec: JobSpec, paths: Sequence[str] | None = None, create: Sequence[str] = ()
) -> PathCheck:
    """Stores a check of the request's paths, or of `paths` instead, for the engine to do; folders in `create`
    are made first. An earlier check of the person that has no answer yet gets none any more.

    CheckRefused or TooManyChecks; nothing is stored then.
    """
    spec, facts = request_read(user, spec.public())
    wrong = [f for f in check(spec, facts) if f.level == Level.ERROR and _head(f.field) in LOOKED_AT]
    if wrong or facts.pool is None or facts.image is None:
        raise CheckRefused(wrong)
    frozen = {
        "image": facts.image.reference,
        "mounts": mounts_of(spec, facts),
        "public_data": facts.pool.public_data if spec.public_data else "",
    }
    asked, left_out = paths_asked(spec, paths, create)
    refused = [*_unfit(asked, paths, create), *create_refused(create, list(_places(frozen)))]
    if refused:
        raise CheckRefused(refused)
    stored = {
        "paths": [asdict(one) for one in asked],
        "left_out": left_out,
        "scripts": [asdict(script) for script in scripts_asked(spec)],
    }
    return _store(user, spec, frozen, stored)


def _head(field: str) -> str:
    return field.partition(".")[0]


def mounts_of(spec: JobSpec, facts: Facts) -> list[dict[str, Any]]:
    """The volumes as they are now, each with where the job sees it and where it lies."""
    return [
        {
            "volume": m.volume,
            "name": facts.volumes[m.volume].name,
            "source": facts.volumes[m.volume].source,
            "mount_path": normal_path(m.mount_path),
            "read_only": facts.volumes[m.volume].read_only,
        }
        for m in spec.mounts
    ]


def paths_asked(
    spec: JobSpec, paths: Sequence[str] | None = None, create: Sequence[str] = ()
) -> tuple[tuple[PathAsked, ...], int]:
    """Mount paths first, then those that the fields name, or `paths` instead of both; and how many of those
    that the fields name are too many to be looked at."""
    made = [PathAsked(path, (), create=True) for path in create]
    if paths is not None:
        return merged([*(PathAsked(path, ("paths",)) for path in paths), *made]), 0
    named = merged(_of_request(spec))
    looked_at = named[: max(0, MOST_PATHS - len(made))]
    return merged([*looked_at, *made]), len(named) - len(looked_at)


def _of_request(spec: JobSpec) -> Iterator[PathAsked]:
    for mount in spec.mounts:
        yield PathAsked(normal_path(mount.mount_path), ("mounts",))
    if spec.public_data:
        yield PathAsked(PUBLIC_DATA, ("public_data",))
    for named in absolute_paths(spec.command, spec.env):
        if named.whole and is_proper(named.path):
            yield PathAsked(named.path, (_origin(named.field, spec),))


def _origin(field: str, spec: JobSpec) -> str:
    """A variable is told by its name: its number says nothing once the form has changed."""
    head, _dot, rest = field.partition(".")
    if head != "env":
        return head
    name = spec.env[int(rest.partition(".")[0])].name
    return f"env.{name}" if ENV_NAME.match(name) and len(name) <= MOST_VARIABLE_NAME else head


def _unfit(
    asked: Sequence[PathAsked], paths: Sequence[str] | None, create: Sequence[str]
) -> Iterator[Finding]:
    if not asked:
        yield Finding("no_paths", "paths")
    if len(asked) > MOST_PATHS:
        yield Finding("too_many", "paths", data={"most": MOST_PATHS})
    for field, given in (("paths", paths or ()), ("create", create)):
        for i, path in enumerate(given):
            if not is_proper(path):
                yield Finding("path_not_proper", f"{field}.{i}", data={"most": MOST_PATH_BYTES})


def scripts_asked(spec: JobSpec) -> list[ScriptAsked]:
    """The scripts that the command calls, as far as it is certain where they lie."""
    found = (ScriptAsked(path) for path in called_scripts(spec.command) if is_proper(path))
    return list(dict.fromkeys(found))[:MOST_SCRIPTS]


def _store(user: User, spec: JobSpec, frozen: dict[str, Any], asked: dict[str, Any]) -> PathCheck:
    now = timezone.now()
    mine = PathCheck.objects.filter(user=user)
    engine = Pool.objects.values_list("engine", flat=True).get(pk=spec.pool or 0)
    with transaction.atomic():
        if mine.filter(created_at__gt=now - SOON).count() >= MOST_A_MINUTE:
            raise TooManyChecks
        replaced = Reason("replaced").as_json()
        mine.open().update(state=CheckState.FAILED, reason=replaced, ended_at=now)
        older = list(mine.order_by("-pk").values_list("pk", flat=True)[KEPT_OF_A_PERSON - 1 :])
        mine.filter(pk__in=older, kept_until__gt=now + SOON).update(kept_until=now + SOON)
        stored = PathCheck.objects.create(
            user=user, team_id=spec.team, engine=engine, frozen=frozen, asked=asked, created_at=now
        )
        transaction.on_commit(partial(send, "runs.tasks.engine_path_check", stored.pk))
    return stored


def places_of(path_check: PathCheck) -> list[Mount]:
    """Where the job sees what, in the order in which results number it."""
    return list(_places(path_check.frozen))


def _places(frozen: dict[str, Any]) -> Iterable[Mount]:
    for mount in frozen["mounts"]:
        yield Mount(mount["mount_path"], mount["read_only"], mount["volume"], mount["name"])
    if frozen["public_data"]:
        yield Mount(PUBLIC_DATA, read_only=True)
