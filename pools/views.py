"""Pages of pools: all that somebody may use, and one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from pools.models import Discipline
from pools.picture import Scale, scale_of
from pools.reading import SIZES, PoolNumbers, grants_read, pools_read
from teams.pages import NOT_CHANGED, chosen_team, digest, fresh, part, signed_in
from teams.services import admin_names

FILTERS = ("zone", "gpu", "search")
MOST_LINES = 50  # of what a higher app shows at first
OF_NODES = ("idle", "show", "name", "page")  # what the table of nodes is asked


@fresh
@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    user, team = signed_in(request), chosen_team(request)
    today = timezone.localdate()
    pools = [PoolNumbers(pool, today) for pool in pools_read(user, team)]
    chosen = {name: request.GET.get(name, "").strip() for name in FILTERS}
    context = {
        "pools": [pool for pool in pools if _matches(pool, chosen)],
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "any": bool(pools),
        "zones": sorted({pool.pool.zone.name for pool in pools}),
        "sizes": SIZES,
        "gpus": sorted({model for pool in pools for model in pool.gpu_models}),
        "admins": [] if pools else admin_names(user=user, team=team),
    }
    return render(request, "pools/list.html", context)


@fresh
@login_required
@require_safe
def pool_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One pool. Who holds what and who waits is shown by the addresses of a higher app."""
    context = _one(request, pk)
    nodes, waiting = context["numbers"].nodes, context["pool"].queued_jobs
    asked = {name: request.GET[name] for name in OF_NODES if request.GET.get(name)}
    context |= {
        "seen": _digest(context),
        "strict": context["pool"].discipline == Discipline.STRICT_FIFO,
        "nodes_query": f"?{urlencode(asked)}" if asked else "",
        "scale": scale_of(nodes),
        "node_room": range(nodes if scale_of(nodes) != Scale.BARS else 0),
        "queue_room": range(min(waiting, MOST_LINES)),
        "table_room": range(min(nodes, MOST_LINES)),
    }
    return render(request, "pools/detail.html", context)


@part
@require_safe
def pool_numbers(request: HttpRequest, pk: int) -> HttpResponse:
    """The numbers of a pool that somebody looks at; nothing while they are as the page has them."""
    context = _one(request, pk)
    context["seen"] = _digest(context)
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=NOT_CHANGED)
    return render(request, "pools/detail.html#numbers", context)


def _one(request: HttpRequest, pk: int) -> dict[str, Any]:
    user = signed_in(request)
    pool = get_object_or_404(pools_read(user), pk=pk)
    numbers = PoolNumbers(pool, timezone.localdate())
    return {"pool": pool, "numbers": numbers, "grants": list(grants_read(pool=pool, user=user))}


def _matches(numbers: PoolNumbers, chosen: Mapping[str, str]) -> bool:
    pool = numbers.pool
    wanted: Sequence[bool] = (
        chosen["zone"] in ("", pool.zone.name),
        not chosen["gpu"] or chosen["gpu"] in numbers.gpu_models,
        chosen["search"].casefold() in pool.name.casefold(),
    )
    return all(wanted)


def _digest(context: dict[str, Any]) -> str:
    """Names what the numbers are, so that unchanged ones are not swapped under the reader's hands."""
    return digest(render_to_string("pools/detail.html#shown", context))
