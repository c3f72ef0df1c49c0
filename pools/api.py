"""REST: zones, pools, specs and nodes, as far as the caller's teams may use them."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from pools.models import Flavor, Node, NodeState, Pool, WorkerSpec, Zone
from pools.serializers import NodeSerializer, PoolSerializer, SpecSerializer, ZoneSerializer
from teams.rest import LARGEST, ApiView, ListView


class PoolFilter(serializers.Serializer[Any]):
    pool = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST)


def pools_of(user: object) -> QuerySet[Pool]:
    """The pools that the user may use, with what a pool is shown with, in a fixed number of queries."""
    specs = WorkerSpec.objects.filter(retired_at=None).select_related("flavor").order_by("gpus", "pk")
    flavors = Flavor.objects.order_by("name", "pk").prefetch_related(Prefetch("specs", specs))
    pools: QuerySet[Pool] = (
        Pool.objects.filter(pk__in=Pool.objects.for_user(user).order_by().values("pk"))
        .annotate(queued_jobs=Coalesce(Sum("waiting__jobs"), 0))
        .select_related("zone")
        .prefetch_related(Prefetch("flavors", flavors))
    )
    return pools


class ZoneList(ListView):
    """Availability zones in which the caller may use a pool."""

    serializer_class = ZoneSerializer

    def get_queryset(self) -> QuerySet[Zone]:
        mine = Pool.objects.for_user(self.request.user).order_by()
        return Zone.objects.filter(pk__in=mine.values("zone"))


class PoolList(ListView):
    """Resource pools that the caller may use."""

    serializer_class = PoolSerializer

    def get_queryset(self) -> QuerySet[Pool]:
        return pools_of(self.request.user)


class PoolDetail(ApiView):
    """One resource pool, with what could start in it now."""

    serializer_class = PoolSerializer

    def get(self, request: Request, pk: int) -> Response:
        return Response(PoolSerializer(get_object_or_404(pools_of(request.user), pk=pk)).data)


class NodeList(ListView):
    """The nodes of a pool, retired ones left out. Whose jobs are on them is not told."""

    serializer_class = NodeSerializer

    def get_queryset(self) -> QuerySet[Node]:
        pool = get_object_or_404(Pool.objects.for_user(self.request.user), pk=self.kwargs["pk"])
        in_pool = Node.objects.filter(flavor__pool=pool).exclude(state=NodeState.RETIRED)
        return in_pool.select_related("flavor")


class SpecList(ListView):
    """Worker specs of the pools that the caller may use, retired ones left out."""

    serializer_class = SpecSerializer
    query = {"GET": PoolFilter}

    def get_queryset(self) -> QuerySet[WorkerSpec]:
        mine = Pool.objects.for_user(self.request.user).order_by()
        if "pool" in self.asked:
            mine = mine.filter(pk=self.asked["pool"])
        specs = WorkerSpec.objects.filter(flavor__pool__in=mine.values("pk"), retired_at=None)
        return specs.select_related("flavor")
