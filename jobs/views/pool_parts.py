"""What pages of pools show of jobs: who holds what (占用情况), who waits (负载排队情况), and the nodes.

Each is a part for htmx and a whole page for everybody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.occupancy import nodes_view, nodes_with_jobs_of
from jobs.texts import PRIORITY_LABELS, duration_forms, reason_text
from jobs.views.parts import Lasting, rendered
from jobs.waiting import Waiting, queue_read
from pools.models import Flavor, Node, NodeState, Pool
from pools.picture import NodeView, Picture, Scale, picture, scale_of
from pools.reading import SOON_DAYS
from teams.models import Membership, User
from teams.pages import NOT_CHANGED, current_path, part_or_page, plain_id, signed_in, wants_part

NODES_OF_A_PAGE = 50
MOST_LANDING = 128  # node ids in one address
NODES_SHOWN = ("", "mine", "out")


@part_or_page
@require_safe
def occupancy(request: HttpRequest, pk: int) -> HttpResponse:
    """The picture of the pool's nodes; `landing` names nodes to mark."""
    user, pool = _asked(request, pk)
    landing = _numbers(request.GET.get("landing", ""))
    pictures = _pictures(pool, _teams(user), landing)
    context = {
        "pool": pool,
        "pictures": pictures,
        "scale": pictures[0][1].scale if pictures else "",
        "out": any(drawn.out for _flavor, drawn in pictures),
    }
    return _answer(request, "occupancy", context, {"landing": ",".join(map(str, landing))} if landing else {})


@part_or_page
@require_safe
def queue(request: HttpRequest, pk: int) -> HttpResponse:
    user, pool = _asked(request, pk)
    waiting = queue_read(pool=pool, teams=_teams(user))
    now = timezone.now()
    rows = [
        {
            "row": row,
            "priority": PRIORITY_LABELS[row.priority.label_code],
            "reason": _why(row),
            "waited": Lasting.of(row.since, None, now),
        }
        for row in waiting.rows
    ]
    context = {"pool": pool, "queue": waiting, "rows": rows, "forms": duration_forms()}
    return _answer(request, "queue", context, {})


@part_or_page
@require_safe
def nodes(request: HttpRequest, pk: int) -> HttpResponse:
    """The nodes as a table, a page at a time; the address of the pool's page keeps what was chosen."""
    user, pool = _asked(request, pk)
    teams, query = _teams(user), _nodes_query(request)
    in_pool = Node.objects.filter(flavor__pool=pool).exclude(state=NodeState.RETIRED)
    found = _chosen(in_pool, query, teams).select_related("flavor").order_by("flavor__name", "name", "pk")
    page = Paginator(found, NODES_OF_A_PAGE).get_page(request.GET.get("page"))
    if page.number > 1:
        query["page"] = str(page.number)
    flavors = list(pool.flavors.values_list("gpus_per_node", flat=True))
    context = {
        "pool": pool,
        "page": page,
        "rows": list(zip(page.object_list, nodes_view(list(page.object_list), teams), strict=True)),
        "several_flavors": len(flavors) > 1,
        "chosen": query,
        "any": bool(page.object_list) or in_pool.exists(),
        "sizes": range(1, max(flavors, default=0) + 1),
        "chosen_idle": int(query.get("idle", 0)),
        "previous": _page_of(page, query, -1),
        "next": _page_of(page, query, 1),
        "today": timezone.localdate(),
        "soon": timezone.localdate() + timedelta(days=SOON_DAYS),
    }
    answer = _answer(request, "nodes", context, query)
    return _remembered(request, answer, pool, query)


def _asked(request: HttpRequest, pk: int) -> tuple[User, Pool]:
    user = signed_in(request)
    return user, get_object_or_404(Pool.objects.for_user(user), pk=pk)


def _teams(user: User) -> list[int]:
    return list(Membership.objects.filter(user=user).values_list("team", flat=True))


def _numbers(text: str) -> list[int]:
    pieces = text.split(",", MOST_LANDING)[:MOST_LANDING]
    return [number for piece in pieces if (number := plain_id(piece)) is not None]


def _pictures(pool: Pool, teams: Sequence[int], landing: Sequence[int]) -> list[tuple[Flavor, Picture]]:
    """One a flavor with nodes, all at the same scale. Where that is bars only the nodes to mark are read."""
    flavors = list(pool.flavors.filter(node_count__gt=0).order_by("name", "pk"))
    scale = scale_of(sum(flavor.node_count for flavor in flavors))
    shown = Node.objects.filter(flavor__pool=pool).exclude(state=NodeState.RETIRED)
    if scale == Scale.BARS:
        shown = shown.filter(pk__in=landing)
    views = _linked(pool, list(shown.select_related("flavor").order_by("name", "pk")), teams)
    drawn = []
    for flavor in flavors:
        mine = [view for node_flavor, view in views if node_flavor == flavor.pk]
        lands = {view.id: 0 for view in mine if view.id in landing}
        drawn.append((flavor, picture(mine, flavor.idle_nodes, lands, count=flavor.node_count, scale=scale)))
    return drawn


def _linked(pool: Pool, shown: list[Node], teams: Sequence[int]) -> list[tuple[int, NodeView]]:
    """The nodes by flavor, each leading to itself in the table on the pool's page."""
    page = reverse("pool", args=[pool.pk])
    views = nodes_view(shown, teams) if shown else []
    return [
        (node.flavor_id, replace(view, address=f"{page}?{urlencode({'name': node.name})}#nodes"))
        for node, view in zip(shown, views, strict=True)
    ]


def _why(row: Waiting) -> str:
    if row.stopping:
        return _("Is being stopped.")
    if row.limited:
        return _("Held back by a limit of its team; it holds up nobody.")
    return reason_text(row.reason.code, row.reason.data) if row.reason else ""


def _nodes_query(request: HttpRequest) -> dict[str, str]:
    """Which nodes: what makes no sense is left out."""
    asked = {name: request.GET.get(name, "").strip() for name in ("idle", "show", "name")}
    if plain_id(asked["idle"]) is None:
        asked["idle"] = ""
    if asked["show"] not in NODES_SHOWN:
        asked["show"] = ""
    return {name: value for name, value in asked.items() if value}


def _chosen(found: QuerySet[Node], query: dict[str, str], teams: Sequence[int]) -> QuerySet[Node]:
    if "idle" in query:
        found = found.filter(schedulable=True, idle__gte=int(query["idle"]))
    if query.get("show") == "mine":
        found = nodes_with_jobs_of(found, teams)
    if query.get("show") == "out":
        found = found.filter(schedulable=False)
    if "name" in query:
        found = found.filter(name__icontains=query["name"])
    return found


def _page_of(page: Page[Any], query: dict[str, str], step: int) -> str:
    number = page.number + step
    return urlencode({**query, "page": str(number)}) if 1 <= number <= page.paginator.num_pages else ""


def _remembered(
    request: HttpRequest, answer: HttpResponse, pool: Pool, query: dict[str, str]
) -> HttpResponse:
    """On the pool's page a choice goes into its address, so that a reload keeps it."""
    page = reverse("pool", args=[pool.pk])
    here = current_path(request)
    if answer.status_code == 200 and here.partition("?")[0] == page and "seen" not in request.GET:
        answer["HX-Replace-Url"] = f"{page}?{urlencode(query)}" if query else page
    return answer


def _answer(request: HttpRequest, name: str, context: dict[str, Any], query: dict[str, str]) -> HttpResponse:
    """The part or the page; nothing for a part that is as its reader has it already."""
    _html, seen = rendered(f"jobs/pool/{name}.html#moving", context)
    context = context | {"address": f"{request.path}?{urlencode({**query, 'seen': seen})}"}
    if not wants_part(request):
        return render(request, f"jobs/pool/{name}.html", context)
    if request.GET.get("seen") == seen:
        return HttpResponse(status=NOT_CHANGED)
    return render(request, f"jobs/pool/{name}.html#live", context)
