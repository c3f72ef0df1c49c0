"""What would start now in place of a request that would wait, or never run: nearby shapes. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from jobs.estimate import Alternative, Estimate, finds_room, startable_of
from jobs.facts import Facts, FlavorFacts, NodesFacts, PoolFacts, WaitingFacts
from jobs.findings import Change
from jobs.rules import flavor_of, rdma_allowed, spec_of
from jobs.spec import MOST_WORKERS, JobSpec
from pools.capacity import FULL_WORKER, Shape

MOST = 3
TOO_LARGE = frozenset({"never_fits", "over_quota"})
MISSING = "required"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another pool of the zone that the team may use, and who waits there."""

    pool: PoolFacts
    waiting: tuple[WaitingFacts, ...]
    nodes: Mapping[int, NodesFacts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for, where, and in what shape."""

    spec: JobSpec
    facts: Facts
    pool: PoolFacts
    flavor: FlavorFacts
    shape: Shape

    @classmethod
    def of(cls, spec: JobSpec, facts: Facts) -> Wish | None:
        pool = facts.pool
        flavor = flavor_of(spec, pool) if pool else None
        worker_spec = spec_of(spec, pool) if pool else None
        shape = spec.shape(worker_spec.gpus if worker_spec else None)
        return cls(spec, facts, pool, flavor, shape) if pool and flavor and shape else None


def worth_looking(judged: Estimate) -> bool:
    """Whether the request waits, or is too large, and breaks no other rule.

    What is still to be filled in does not matter: room is looked for before a form is complete.
    """
    errors = {f.code for f in judged.errors} - {MISSING}
    return errors <= TOO_LARGE and (judged.reason is not None or bool(errors))


def alternatives(spec: JobSpec, facts: Facts, others: Sequence[Neighbour]) -> tuple[Alternative, ...]:
    """At most three that start now, none with more GPUs than were asked for: the nearest of each kind, then
    further pools.

    Equal Workers stay equal. What is missing in the other fields of the request stays missing.
    """
    wish = Wish.of(spec, facts)
    if wish is None:
        return ()
    elsewhere = _same_elsewhere(wish, others)
    less = iter(sorted(_less(wish), key=lambda one: -one.shape.total_gpus))
    firsts = [next(kind, None) for kind in (_same_total(wish), elsewhere, less)]
    return tuple(islice(chain((one for one in firsts if one is not None), elsewhere), MOST))


def may_start_in(spec: JobSpec, facts: Facts, other: Neighbour) -> bool:
    """Whether the same Workers would start in the other pool, before its queue is looked at."""
    wish = Wish.of(spec, facts)
    return wish is not None and next(_same_elsewhere(wish, [replace(other, waiting=())]), None) is not None


def _same_total(wish: Wish) -> Iterator[Alternative]:
    """Other specs of the pool that divide the total, the nearest first; a custom count on another flavor."""
    total = wish.shape.total_gpus
    specs = [s for s in wish.pool.specs.values() if s.id != wish.spec.spec and total % s.gpus == 0]

    def far(gpus: int, flavor: int) -> tuple[bool, float, int]:
        ratio = max(gpus, wish.shape.worker_gpus) / min(gpus, wish.shape.worker_gpus)
        return wish.pool.flavors[flavor].gpu_model != wish.flavor.gpu_model, ratio, -gpus

    for s in sorted(specs, key=lambda s: far(s.gpus, s.flavor)):
        if total // s.gpus <= MOST_WORKERS:
            values = {"spec": s.id, "worker_count": total // s.gpus, "custom_gpus": None, "flavor": None}
            yield from _starting(wish, wish.facts, **values)
    if wish.spec.custom:
        for flavor in wish.pool.flavors.values():
            if flavor.id != wish.flavor.id:
                yield from _starting(wish, wish.facts, flavor=flavor.id)


def _same_elsewhere(wish: Wish, others: Sequence[Neighbour]) -> Iterator[Alternative]:
    """The same Workers in another pool; those on the same GPU model first, then those with most room."""
    found: list[tuple[tuple[bool, int, str], Alternative]] = []
    for other in others:
        facts = replace(wish.facts, pool=other.pool, waiting=other.waiting, nodes=other.nodes)
        for flavor in other.pool.flavors.values():
            for values in _same_workers(wish, other.pool, flavor):
                for one in _starting(wish, facts, pool=other.pool.id, **values):
                    order = (flavor.gpu_model != wish.flavor.gpu_model, -one.startable, other.pool.name)
                    found.append((order, one))
    yield from (one for _order, one in sorted(found, key=lambda pair: pair[0]))


def _same_workers(wish: Wish, pool: PoolFacts, flavor: FlavorFacts) -> Iterator[dict[str, Any]]:
    if wish.spec.custom:
        yield {"flavor": None if pool.only_flavor else flavor.id}
        return
    for s in pool.specs.values():
        if s.flavor == flavor.id and s.gpus == wish.shape.worker_gpus:
            yield {"spec": s.id}


def _less(wish: Wish) -> Iterator[Alternative]:
    """With fewer GPUs in all, of each way the most that starts."""
    yield from _fewer(wish)
    if not wish.spec.custom:
        yield from islice(_smaller(wish), 1)


def _smaller(wish: Wish) -> Iterator[Alternative]:
    """As many Workers of a smaller spec; those on the same GPU model first, then the largest."""
    smaller = [s for s in wish.pool.specs.values() if s.gpus < wish.shape.worker_gpus]

    def far(gpus: int, flavor: int) -> tuple[bool, int]:
        return wish.pool.flavors[flavor].gpu_model != wish.flavor.gpu_model, -gpus

    for s in sorted(smaller, key=lambda s: far(s.gpus, s.flavor)):
        yield from _starting(wish, wish.facts, spec=s.id)


def _fewer(wish: Wish) -> Iterator[Alternative]:
    """Fewer Workers of the same spec, or a smaller custom count: the largest that starts."""
    name = "custom_gpus" if wish.spec.custom else "worker_count"
    room = startable_of(wish.spec, wish.flavor, wish.shape) or 0
    counts = [n for n in range(1, min(room + 1, _count(wish))) if _fair(wish, n)]
    # Whatever starts also starts with less, so those that start come first.
    at = bisect_left(
        counts, True, key=lambda n: not finds_room(_changed(wish, wish.facts, {name: n}), wish.facts)
    )
    if at:
        yield from _starting(wish, wish.facts, **{name: counts[at - 1]})


def _count(wish: Wish) -> int:
    return wish.shape.total_gpus if wish.spec.custom else wish.shape.workers


def _fair(wish: Wish, count: int) -> bool:
    """Whether Workers stay equal where they were."""
    return not wish.spec.custom or not wish.shape.equal or count <= FULL_WORKER or count % FULL_WORKER == 0


def _starting(wish: Wish, facts: Facts, **values: Any) -> Iterator[Alternative]:
    """The request with these values, if that starts now."""
    changed = _changed(wish, facts, values)
    new = Wish.of(changed, facts)
    if new is None or not finds_room(changed, facts):
        return
    yield Alternative(
        changes={name: getattr(changed, name) for name in _different(wish.spec, changed)},
        shape=new.shape,
        unit="gpus" if changed.custom else "workers",
        startable=startable_of(changed, new.flavor, new.shape) or 0,
        notes=tuple(_notes(wish, new)),
    )


def _changed(wish: Wish, facts: Facts, values: dict[str, Any]) -> JobSpec:
    """With RDMA off where it would not be allowed any more."""
    changed = replace(wish.spec, **values)
    keeps = not changed.rdma or facts.pool is None or rdma_allowed(changed, facts.pool)
    return changed if keeps else replace(changed, rdma=False)


def _different(old: JobSpec, new: JobSpec) -> list[str]:
    """The names of the fields that are to be changed."""
    names = ("pool", "spec", "worker_count", "custom_gpus", "flavor", "rdma")
    different = [name for name in names if getattr(old, name) != getattr(new, name)]
    same_count = not old.custom and not new.custom and old.workers_wanted == new.workers_wanted
    return [name for name in different if name != "worker_count" or not same_count]


def _notes(old: Wish, new: Wish) -> Iterator[Change]:
    if new.pool.id != old.pool.id:
        yield Change("other_pool", {"pool": new.pool.name})
    if new.flavor.gpu_model != old.flavor.gpu_model:
        yield Change("other_gpu_model", {"old": old.flavor.gpu_model, "new": new.flavor.gpu_model})
    numbers = {
        "workers": (old.shape.workers, new.shape.workers),
        "worker_gpus": (old.shape.worker_gpus, new.shape.worker_gpus),
        "total_gpus": (old.shape.total_gpus, new.shape.total_gpus),
    }
    for code, (before, after) in numbers.items():
        if before != after:
            yield Change(code, {"old": before, "new": after})
    if old.spec.rdma and not new.spec.rdma:
        yield Change("rdma_off")
