"""Celery tasks: only those of the engines' queue start and stop anything. Each is safe to run twice."""

from celery import shared_task

from runs import upkeep
from runs.capturing import take_due
from runs.dropping import drop_due
from runs.late import engine_looked
from runs.path_check import attending
from runs.watching import attend


@shared_task(name="runs.tasks.engine_attend")
def engine_attend(job_ids: list[int]) -> None:
    attend(job_ids)


@shared_task(name="runs.tasks.engine_tick")
def engine_tick() -> None:
    attend()
    engine_looked()


@shared_task(name="runs.tasks.engine_path_check")
def engine_path_check(pk: int) -> None:
    attending.attend([pk])


@shared_task(name="runs.tasks.engine_path_checks")
def engine_path_checks() -> None:
    attending.attend()


@shared_task(name="runs.tasks.engine_kept_files")
def engine_kept_files() -> None:
    drop_due()


@shared_task(name="runs.tasks.engine_stacks")
def engine_stacks(pks: list[int] | None = None) -> None:
    take_due(pks)


@shared_task(name="runs.tasks.slow_upkeep")
def slow_upkeep() -> None:
    upkeep.look_around()
