"""What administrators are told of pools: nodes that go out of service, and prepaid periods that end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q
from django.utils import timezone

from alerts.admins import admin_ids
from alerts.models import Notice
from alerts.rules import Subject
from alerts.services import NewNotice, notices_post
from pools.models import Node, NodeState, Pool
from pools.reading import SOON_DAYS

CODES = {NodeState.DOWN: "node_down", NodeState.DRAINED: "node_drained"}
SHOWN_NAMES = 20


def nodes_told(*, pool: Pool, nodes: Sequence[Node], state: NodeState) -> None:
    """One notice of all nodes that came into the state together. The pool is locked."""
    if state in CODES and nodes:
        now = timezone.now()
        post_of_pool(
            pool=pool,
            code=CODES[state],
            once=now.isoformat(),
            data=_names([node.name for node in nodes]),
        )


def endings_tell(*, today: date | None = None) -> int:
    """Tells of prepaid periods that end soon, once for a node and its date; the nodes of a pool with one date
    are one notice. How many there were."""
    first = today or timezone.localdate()
    ending = Node.objects.filter(prepaid_until__range=(first, first + timedelta(days=SOON_DAYS)))
    by_end: dict[tuple[Pool, date], list[Node]] = defaultdict(list)
    for node in ending.exclude(state=NodeState.RETIRED).select_related("flavor__pool").order_by("name"):
        if node.prepaid_until is not None:
            by_end[node.flavor.pool, node.prepaid_until].append(node)
    told = _told_endings((pool.pk, end.isoformat()) for pool, end in by_end)
    return sum(
        _ending_tell(pool, end, nodes, told[pool.pk, end.isoformat()])
        for (pool, end), nodes in by_end.items()
    )


def _told_endings(endings: Iterable[tuple[int, str]]) -> dict[tuple[int, str], set[int]]:
    """By pool and date, the nodes of which it was told that their periods end then."""
    told: dict[tuple[int, str], set[int]] = defaultdict(set)
    keys = [Q(key__startswith=f"{_key(pool, 'prepaid_ending', end)}:") for pool, end in endings]
    if keys:
        for pool, data in Notice.objects.filter(reduce(or_, keys)).values_list("subject_id", "data"):
            told[pool, data["until"]].update(data["ids"])
    return told


def _ending_tell(pool: Pool, end: date, nodes: Sequence[Node], told: set[int]) -> int:
    """Who reads the same at the same time posts the same key, and one of them is first."""
    new = [node for node in nodes if node.pk not in told]
    if not new:
        return 0
    data = _names([node.name for node in new]) | {"ids": [node.pk for node in new], "until": end.isoformat()}
    return post_of_pool(pool=pool, code="prepaid_ending", once=f"{end.isoformat()}:{len(told)}", data=data)


def _names(names: Sequence[str]) -> dict[str, Any]:
    return {"nodes": list(names[:SHOWN_NAMES]), "count": len(names)}


def _key(pool: int, code: str, once: str) -> str:
    return f"pool:{pool}:{code}:{once}"


def post_of_pool(
    *, pool: Pool, code: str, once: str, data: dict[str, Any], channels: Sequence[int] = ()
) -> int:
    """Tells administrators, and whoever's rules ask for it, of a pool; `once` says of which time it is."""
    notice = NewNotice(
        key=_key(pool.pk, code, once),
        codes=(code,),
        subject=Subject.POOL,
        subject_id=pool.pk,
        at=timezone.now(),
        data={"pool": pool.name, **data},
        readers=admin_ids(),
        channels=tuple(channels),
    )
    return notices_post([notice])
