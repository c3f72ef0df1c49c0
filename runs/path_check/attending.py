"""Brings path checks on: the engines' half. What is due is found out anew each time and may be done twice."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from engines.base import AttemptKey, Engine, EngineError, Launch, Mount, Phase, WorkerLaunch, WorkerLook
from jobs.findings import Reason
from runs.models import PathCheck
from runs.path_check import script
from runs.path_check.output import result_of
from runs.path_check.services import places_of
from runs.path_check.values import MOST_OUTPUT_BYTES, PathAsked, ScriptAsked
from runs.registry import engine_of
from runs.states import OPEN, CheckState

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 100
GONE = (Phase.EXITED, Phase.LOST)
AGAIN_IN = timedelta(minutes=1)
SHM_BYTES = 2**26
DISK_BYTES = 2**30


def attend(pks: Iterable[int] | None = None) -> None:
    """Does what is due for these checks, or for all. Safe to repeat."""
    due = PathCheck.objects.due(timezone.now())
    if pks is not None:
        due = due.filter(pk__in=list(pks))
    for check in due.order_by("-pk")[:MOST_AT_ONCE]:
        try:
            _attend_one(engine_of(check.engine), check)
        except Exception:  # one check's trouble must not keep the others waiting
            logger.exception("path check %s: attending failed", check.key)


def _attend_one(engine: Engine, check: PathCheck) -> None:
    now = timezone.now()
    if check.settled:
        _forget(engine, check, now)
    elif check.state in OPEN:
        _bring_on(engine, check, now)
    else:
        _settle(engine, check)


def _key(check: PathCheck) -> AttemptKey:
    return AttemptKey(check.key, 1)


def _look(engine: Engine, check: PathCheck) -> WorkerLook:
    looks = engine.look([_key(check)]).get(_key(check), ())
    return next(iter(looks), WorkerLook(0, Phase.ABSENT))


def _bring_on(engine: Engine, check: PathCheck, now: datetime) -> None:
    look = _look(engine, check)
    if look.phase in GONE:
        _ended(engine, check, look)
    elif check.started_at is not None and now - check.started_at > _time_limit():
        _answer(check, CheckState.FAILED, reason=Reason("too_slow").as_json())
        _settle(engine, check)
    elif look.phase is Phase.ABSENT:
        _start(engine, check, now)
    else:
        _begun(check)


def _time_limit() -> timedelta:
    return timedelta(seconds=settings.PATH_CHECK_SECONDS)


def _start(engine: Engine, check: PathCheck, now: datetime) -> None:
    """Starts it unless it was started; a machine that cannot now is asked again for a while."""
    try:
        engine.start(launch_of(check))
    except EngineError as error:
        logger.warning("path check %s: the engine cannot start it: %s", check.key, error)
        unavailable = engine.protection().mode == "unavailable"
        if unavailable or now - check.created_at > _time_limit():
            reason = Reason("sandbox_unavailable" if unavailable else "engine_unavailable")
            _answer(check, CheckState.FAILED, reason=reason.as_json())
    else:
        _begun(check)


def _begun(check: PathCheck) -> None:
    waiting = PathCheck.objects.filter(pk=check.pk, state=CheckState.PENDING)
    if check.state == CheckState.PENDING:
        waiting.update(state=CheckState.RUNNING, started_at=timezone.now())


def launch_of(check: PathCheck) -> Launch:
    """One Worker without GPUs, with the image and mounts of the job. Its variables are not set: nothing that
    a form says may change how the program works, and the paths have their values already."""
    frozen = check.frozen
    mounts = [Mount(m["source"], m["mount_path"], m["read_only"]) for m in frozen["mounts"]]
    places = places_of(check)
    if frozen["public_data"]:
        mounts.append(Mount(frozen["public_data"], places[-1].mount_path, read_only=True))
    env = script.variables(_paths(check), _scripts(check), places, settings.PATH_CHECK_SECONDS / 2)
    return Launch(
        key=_key(check),
        command=script.COMMAND,
        image=frozen["image"],
        mounts=tuple(mounts),
        workers=(WorkerLaunch(rank=0, hostname=check.key, gpus=(), env=env, shm_bytes=SHM_BYTES),),
        stop_grace_s=0,
        disk_bytes=DISK_BYTES,
        log_bytes=MOST_OUTPUT_BYTES,
    )


def _paths(check: PathCheck) -> list[PathAsked]:
    return [PathAsked(p["path"], tuple(p["origins"]), p["create"]) for p in check.asked["paths"]]


def _scripts(check: PathCheck) -> list[ScriptAsked]:
    return [ScriptAsked(**script) for script in check.asked["scripts"]]


def _ended(engine: Engine, check: PathCheck, look: WorkerLook) -> None:
    result = None
    if look.exit_code == 0 and not look.stopped:
        said = engine.read_log(_key(check), 0, 0, MOST_OUTPUT_BYTES)
        result = result_of(said.data, _paths(check), _scripts(check), places_of(check))
    if result is not None:
        _answer(check, CheckState.DONE, result=result.as_json(), settled=True)
    else:
        fault = look.fault
        reason = Reason(fault.code, {**fault.data, "rank": 0}) if fault else Reason("broke_off")
        _answer(check, CheckState.FAILED, reason=reason.as_json())


def _answer(check: PathCheck, state: CheckState, **told: object) -> None:
    """The check has its answer, unless it got another one meanwhile."""
    PathCheck.objects.filter(pk=check.pk).open().update(state=state, ended_at=timezone.now(), **told)


def _settle(engine: Engine, check: PathCheck) -> None:
    """Nothing of it may run on; what never started is told to stay so."""
    engine.stop(_key(check), 0)
    if _look(engine, check).phase in (*GONE, Phase.ABSENT):
        PathCheck.objects.filter(pk=check.pk).update(settled=True)


def _forget(engine: Engine, check: PathCheck, now: datetime) -> None:
    try:
        engine.forget(_key(check))
    except EngineError as error:
        logger.warning("path check %s cannot be forgotten yet: %s", check.key, error)
        PathCheck.objects.filter(pk=check.pk).update(kept_until=now + AGAIN_IN)
    else:
        check.delete()
