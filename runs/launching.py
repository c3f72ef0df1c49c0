"""From a placed job to what its engine needs to run it."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import IntegrityError, transaction

from engines.base import AttemptKey, Engine, EngineError, Launch, Mount, WorkerLaunch
from jobs.environment import DEFAULT_MASTER_PORT, Rank, injected, worker_name
from jobs.models import Attempt, Job, Worker
from runs.env_check.script import check_of
from runs.env_check.values import Asked
from teams.vault import decrypt

MASTER_ADDR = "127.0.0.1"  # all Workers of the local engine share this machine's network
PUBLIC_DATA = "/infini-data"
DEFAULT_SHM_GIB = 1


def attempt_key(job: Job) -> AttemptKey:
    return AttemptKey(job.key, job.attempt)


def launch(job: Job, attempt: Attempt, workers: Sequence[Worker], engine: Engine) -> None:
    """Starts the attempt, or what is missing of it. EngineError if the machine cannot now; try again then.

    vault.InvalidToken if a private value cannot be read.
    """
    port = port_settle(attempt, engine)
    told = launch_of(job, workers, port, _private(job))
    if told.keep and not attempt.files_held:
        Attempt.objects.filter(pk=attempt.pk).update(files_held=True)  # first: what is kept must be known
        attempt.files_held = True
    engine.start(told)


def launch_of(job: Job, workers: Sequence[Worker], port: int | None, private: dict[str, str]) -> Launch:
    """The launch of the job's current attempt, from what was frozen at submission."""
    spec = job.spec_asked
    frozen = job.frozen
    mounts = [Mount(m["source"], m["mount_path"], m["read_only"]) for m in frozen["mounts"]]
    if frozen["public_data"]:
        mounts.append(Mount(frozen["public_data"], PUBLIC_DATA, read_only=True))
    share = frozen["spec"] or {}  # a custom count of GPUs says nothing about the rest
    return Launch(
        key=attempt_key(job),
        command=spec.command,
        image=frozen["image"]["reference"],
        mounts=tuple(mounts),
        workers=tuple(
            WorkerLaunch(
                rank=worker.rank,
                hostname=worker_name(job.key, worker.rank),
                gpus=tuple(worker.gpus),
                env=_injected(job, worker, len(workers), port),
                shm_bytes=share.get("shm_gib", DEFAULT_SHM_GIB) * 2**30,
                cpus=share.get("cpus", 0),
                memory_bytes=share.get("memory_gib", 0) * 2**30,
            )
            for worker in workers
        ),
        private=private,
        page={v.name: v.value or "" for v in spec.env if not v.private},
        stop_grace_s=spec.stop_grace_seconds,
        keep=bool(spec.keep_after_failure_minutes),
        check=check_of(asked_of(job, workers[0], len(workers)), port) if job.env_check else None,
    )


def asked_of(job: Job, worker: Worker, workers: int) -> Asked:
    """What the environment check of a Worker is to find."""
    frozen = job.frozen
    mounts = [(mount["mount_path"], mount["read_only"]) for mount in frozen["mounts"]]
    if frozen["public_data"]:
        mounts.append((PUBLIC_DATA, True))
    return Asked(
        gpus=tuple(worker.gpus),
        mounts=tuple(mounts),
        rdma=job.spec_asked.rdma,
        workers=workers,
        seconds=settings.ENV_CHECK_SECONDS,
    )


def _injected(job: Job, worker: Worker, world_size: int, port: int | None) -> dict[str, str]:
    rank = Rank(
        job=job.key,
        attempt=job.attempt,
        rank=worker.rank,
        gpus=worker.gpus,
        world_size=world_size,
        master_addr=MASTER_ADDR,
        master_port=port or DEFAULT_MASTER_PORT,
    )
    return injected(job.framework, rank)


def _private(job: Job) -> dict[str, str]:
    return {v.name: decrypt(v.ciphertext) for v in job.private_values.all()}


def port_settle(attempt: Attempt, engine: Engine) -> int | None:
    """The attempt's port, probed once: one that somebody else of the machine listens on is changed.

    EngineError if every port is taken, or another attempt took the chosen one at this moment.
    """
    if attempt.port is None or attempt.port_settled:
        return attempt.port
    chosen = _free_port(attempt, engine)
    unsettled = Attempt.objects.filter(pk=attempt.pk, port_settled=False)
    try:
        with transaction.atomic():
            unsettled.update(port=chosen, port_settled=True)
    except IntegrityError as error:
        raise EngineError(f"port {chosen} was taken by another attempt") from error
    attempt.refresh_from_db(fields=["port", "port_settled"])  # another launch may have settled it before
    return attempt.port


def _free_port(attempt: Attempt, engine: Engine) -> int:
    others = Attempt.objects.filter(ended_at=None).exclude(pk=attempt.pk)
    used = set(others.values_list("port", flat=True))
    port: int | None
    for port in (attempt.port, *settings.PORTS):
        if port is not None and port not in used and engine.port_is_free(port):
            return port
    raise EngineError(f"no port of {settings.PORTS} is free")
