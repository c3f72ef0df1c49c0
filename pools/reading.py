"""What is told of pools: their numbers from the kept counts, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from django.db.models import F, OuterRef, Prefetch, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from pools.capacity import custom_startable, idle_gpus, startable
from pools.models import Flavor, Grant, Hold, Node, NodeState, Pool, WorkerSpec
from pools.picture import whole_idle_gpus
from teams.models import Team, User

SIZES = (1, 2, 4, 8)
SOON_DAYS = 30


@dataclass(frozen=True)
class PoolNumbers:
    """A pool, read by `pools_read`, in numbers."""

    pool: Any
    today: date

    @cached_property
    def flavors(self) -> list[Flavor]:
        return list(self.pool.flavors.all())

    @property
    def nodes(self) -> int:
        return sum(f.node_count for f in self.flavors)

    @property
    def total(self) -> int:
        return sum(f.node_count * f.gpus_per_node for f in self.flavors)

    @property
    def in_service(self) -> int:
        """GPUs of nodes that take Workers."""
        return sum(sum(f.idle_nodes) * f.gpus_per_node for f in self.flavors)

    @property
    def idle(self) -> int:
        return sum(idle_gpus(f.idle_nodes) for f in self.flavors)

    @property
    def idle_share(self) -> int:
        """Of all GPUs, in percent."""
        return round(100 * self.idle / self.total) if self.total else 0

    @property
    def held(self) -> int:
        """GPUs in use on nodes that take Workers."""
        return self.in_service - self.idle

    @property
    def out_nodes(self) -> int:
        return sum(f.node_count - sum(f.idle_nodes) for f in self.flavors)

    @property
    def out_gpus(self) -> int:
        return self.total - self.in_service

    @cached_property
    def out_held(self) -> int:
        """GPUs in use on nodes that take no more Workers; a query where there are such nodes."""
        if not self.out_nodes:
            return 0
        return Hold.objects.filter(node__flavor__pool=self.pool, node__schedulable=False).count()

    @property
    def whole(self) -> int:
        """Idle GPUs on wholly idle nodes."""
        return sum(whole_idle_gpus(f.idle_nodes) for f in self.flavors)

    @property
    def gpu_models(self) -> list[str]:
        return sorted({f.gpu_model for f in self.flavors})

    @property
    def startable(self) -> list[tuple[int, int | None]]:
        """By GPUs of a Worker, how many more could start now; None where no spec has that size.

        What the idle GPUs have room for: also of a paused pool, of which a page says that it is paused.
        """
        return [(gpus, self._startable(gpus)) for gpus in SIZES]

    def _startable(self, gpus: int) -> int | None:
        offering = [f for f in self.flavors if any(spec.gpus == gpus for spec in f.specs.all())]
        return sum(startable(f.idle_nodes, gpus) for f in offering) if offering else None

    @property
    def full(self) -> int | None:
        """How many more of the largest Workers could start now; None where no spec has that size."""
        return self._startable(SIZES[-1])

    @property
    def specs(self) -> list[tuple[Flavor, list[tuple[WorkerSpec, int]]]]:
        """The specs by flavor, each with how many more Workers of it could start now."""
        offered = [(f, [(s, startable(f.idle_nodes, s.gpus)) for s in f.specs.all()]) for f in self.flavors]
        return [(flavor, specs) for flavor, specs in offered if specs]

    @property
    def custom(self) -> int:
        """The largest custom GPU count that could start now."""
        return max((custom_startable(f.idle_nodes) for f in self.flavors), default=0)

    @property
    def days_left(self) -> int | None:
        """Until the first node's prepaid period ends; negative once it is over."""
        return (self.pool.first_end - self.today).days if self.pool.first_end else None

    @property
    def ends_soon(self) -> bool:
        return self.days_left is not None and self.days_left <= SOON_DAYS


def pools_read(user: User, team: Team | None = None) -> QuerySet[Pool]:
    """The pools that the user may use, or those of one team of theirs, with all that PoolNumbers tells."""
    mine = Pool.objects.for_user(user, team)
    specs = WorkerSpec.objects.filter(retired_at=None).order_by("gpus", "pk")
    flavors = Flavor.objects.order_by("name", "pk").prefetch_related(Prefetch("specs", specs))
    prepaid = Node.objects.filter(flavor__pool=OuterRef("pk")).exclude(prepaid_until=None)
    ends = prepaid.exclude(state=NodeState.RETIRED).order_by("prepaid_until").values("prepaid_until")
    pools: QuerySet[Pool] = (
        Pool.objects.filter(pk__in=mine.order_by().values("pk"))
        .annotate(
            queued_jobs=Coalesce(Sum("waiting__jobs"), 0),
            queued_gpus=Coalesce(Sum(F("waiting__jobs") * F("waiting__total_gpus")), 0),
            first_end=Subquery(ends[:1]),
        )
        .select_related("zone")
        .prefetch_related(Prefetch("flavors", flavors))
        .order_by("name")
    )
    return pools


def grants_read(*, pool: Pool, user: User) -> Iterable[Grant]:
    """What the user's teams hold of the pool, and may hold."""
    return (
        Grant.objects.filter(pool=pool, team__memberships__user=user)
        .select_related("team")
        .order_by("team__name")
    )
