"""Recounting from the rows themselves: the check on everything that is kept as a count."""

from __future__ import annotations

from django.db.models import Count, Sum

from jobs.models import Job, WaitingTotal
from jobs.queued import CLASS_FIELDS
from jobs.states import PLACED, State
from pools.models import Grant, Hold
from pools.services import Miscount, counts_check, counts_refresh


def counts_compare(*, pool_id: int) -> list[Miscount]:
    """Every kept count of the pool that differs from what the rows say. The pool is locked."""
    wrong = counts_check(pool_id=pool_id)
    kept, counted = _waiting_kept(pool_id), _waiting_counted(pool_id)
    for key in sorted(kept.keys() | counted.keys()):
        if kept.get(key, 0) != counted.get(key, 0):
            wrong.append(Miscount("waiting total", str(key), kept.get(key, 0), counted.get(key, 0)))
    held = _held_counted(pool_id)
    for grant in Grant.objects.filter(pool=pool_id).select_related("team"):
        if grant.held_gpus != held.get(grant.team_id, 0):
            counted_gpus = held.get(grant.team_id, 0)
            wrong.append(Miscount("grant.held_gpus", grant.team.name, grant.held_gpus, counted_gpus))
    placed = Job.objects.filter(pool=pool_id, state__in=PLACED).aggregate(n=Sum("total_gpus"))["n"] or 0
    holds = Hold.objects.filter(node__flavor__pool=pool_id).count()
    if placed != holds:
        wrong.append(Miscount("holds", "pool", holds, placed))
    return wrong


def counts_mend(*, pool_id: int) -> None:
    """Writes the counts anew. The pool is locked. Holds themselves are never touched."""
    counts_refresh(pool_id=pool_id)
    WaitingTotal.objects.filter(pool=pool_id).delete()
    columns = [f"{name}_id" if name in ("flavor", "team") else name for name in CLASS_FIELDS]
    WaitingTotal.objects.bulk_create(
        WaitingTotal(pool_id=pool_id, jobs=jobs, **dict(zip(columns, key, strict=True)))
        for key, jobs in _waiting_counted(pool_id).items()
    )
    held = _held_counted(pool_id)
    for grant in Grant.objects.filter(pool=pool_id):
        Grant.objects.filter(pk=grant.pk).update(held_gpus=held.get(grant.team_id, 0))


def _waiting_kept(pool_id: int) -> dict[tuple[int, ...], int]:
    rows = WaitingTotal.objects.filter(pool=pool_id).values_list(*CLASS_FIELDS, "jobs")
    return {key: jobs for *rest, jobs in rows if (key := tuple(rest))}


def _waiting_counted(pool_id: int) -> dict[tuple[int, ...], int]:
    waiting = Job.objects.filter(pool=pool_id, state=State.QUEUED).order_by()
    rows = waiting.values_list(*CLASS_FIELDS).annotate(n=Count("pk"))
    return {key: jobs for *rest, jobs in rows if (key := tuple(rest))}


def _held_counted(pool_id: int) -> dict[int, int]:
    placed = Job.objects.filter(pool=pool_id, state__in=PLACED).order_by()
    return dict(placed.values_list("team").annotate(n=Sum("total_gpus")))
