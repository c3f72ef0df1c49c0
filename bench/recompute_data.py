"""The database of the recompute benchmark: a large pool, a small one, and who uses them."""

from __future__ import annotations

import random
from collections import Counter

from django.db import transaction

from jobs.services import job_create
from pools.models import Flavor, Node, Pool
from pools.services import pool_lock
from teams.models import Team
from tests.factories import host_image, make_pool, make_spec, make_team, make_user, make_volume, make_zone

SHAPES = ((8, 4), (8, 16), (4, 2), (2, 1), (1, 1))  # GPUs of a Worker, Workers
WAITING_TEAMS = 4


def fill(large: int, small: int) -> tuple[int, int]:
    """Pools of so many nodes in one zone, on most of which some GPUs are in use; jobs wait in both."""
    zone = make_zone(public_data="/srv/public")
    team = make_team("vision")
    make_user(team, name="alice")
    host_image(zone)
    make_volume(zone, team, default_mount_path="/mnt/public")
    others = [make_team() for _ in range(WAITING_TEAMS)]
    return _pool(zone, large, team, others), _pool(zone, small, team, others)


def _pool(zone: object, nodes: int, team: Team, others: list[Team]) -> int:
    pool = make_pool(team, *others, zone=zone, nodes=nodes, network="roce")  # type: ignore[arg-type]
    for other in others:
        user = make_user(other)
        for gpus, workers in SHAPES:
            if workers <= nodes:
                spec = make_spec(pool, gpus=gpus, workers=workers, priority="low", team=other.pk)
                job_create(user=user, spec=spec)
    _in_use(pool, nodes)
    return pool.pk


def _in_use(pool: Pool, nodes: int) -> None:
    """As the kept counts tell it: the recompute reads nothing else of a large pool."""
    chance = random.Random(nodes)
    flavor = Flavor.objects.get(pool=pool)
    rows = list(Node.objects.filter(flavor=flavor))
    for row in rows:
        row.idle = chance.choice((0, 0, 0, 1, 2, 3, 5, 8, 8, 8))
    counted = Counter(row.idle for row in rows)
    with transaction.atomic():
        pool_lock(pool_id=pool.pk)
        Node.objects.bulk_update(rows, ["idle"], batch_size=500)
        Flavor.objects.filter(pk=flavor.pk).update(idle_nodes=[counted[k] for k in range(9)])
