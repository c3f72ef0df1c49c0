"""Rows for tests, made by the console's own services. Names are unique unless given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from alerts.channels import Asked, channel_create
from alerts.models import Channel
from alerts.rules import SIGNED
from images.models import Image
from jobs.models import Job
from jobs.services import job_create
from jobs.spec import EnvVar, JobSpec, MountSpec
from pools.models import Flavor, Grant, Node, Pool, WorkerSpec, Zone
from pools.services import Taken, gpus_choose, holds_take, nodes_create, pool_lock
from storage.models import FileSystem, Volume, VolumeGrant
from teams.models import Membership, Team, User
from teams.roles import Role

PASSWORD = "demo"
_numbers = count(1)


def unique(word: str) -> str:
    return f"{word}-{next(_numbers)}"


def make_team(name: str = "") -> Team:
    return Team.objects.create(name=name or unique("team"))


def make_user(*teams: Team, name: str = "", admin: bool = False, high: bool = False, **fields: Any) -> User:
    """A user with the password `demo`, a member of each team; `admin` makes a team admin of them all,
    `high` may use high priority."""
    user = User.objects.create_user(username=name or unique("user"), password=PASSWORD, **fields)
    role = Role.ADMIN if admin else Role.MEMBER
    for team in teams:
        Membership.objects.create(user=user, team=team, role=role, may_use_high_priority=high)
    return user


def make_channel(owner: User, team: Team | None = None, **fields: Any) -> Channel:
    """A webhook of the owner, shared with the team if there is one; no test sends to where it leads."""
    asked = {"kind": "webhook", "target": "https://203.0.114.7/hooks/T0K3N-4711", "secret": "s3cr3t-4711"}
    asked |= {"name": unique("channel"), "team": team} | fields
    if asked["kind"] not in SIGNED:
        del asked["secret"]
    return channel_create(owner=owner, asked=Asked(**asked))


def make_zone(name: str = "", public_data: str = "") -> Zone:
    return Zone.objects.create(name=name or unique("zone"), public_data=public_data)


def make_pool(
    *teams: Team,
    nodes: int = 4,
    gpus_per_node: int = 8,
    zone: Zone | None = None,
    network: str = "none",
    max_gpus: int | None = None,
    **fields: Any,
) -> Pool:
    """A pool granted to the teams, with one flavor, and specs of 1, 2, 4 and 8 GPUs.

    The nodes' names end in `-node-00`, `-node-01` …
    """
    pool = Pool.objects.create(
        name=fields.pop("name", None) or unique("pool"), zone=zone or make_zone(), **fields
    )
    for team in teams:
        Grant.objects.create(pool=pool, team=team, max_gpus=max_gpus)
    make_flavor(pool, nodes=nodes, gpus_per_node=gpus_per_node, network=network)
    return pool


def make_flavor(pool: Pool, *, nodes: int = 4, gpus_per_node: int = 8, network: str = "none") -> Flavor:
    """A flavor of the pool with its nodes and specs."""
    flavor = Flavor.objects.create(
        pool=pool,
        name=unique("flavor"),
        gpu_model="A100",
        gpus_per_node=gpus_per_node,
        network=network,
        network_label={"roce": "RoCE 1*200G", "ib": "IB 8*400G"}.get(network, ""),
    )
    for gpus in (1, 2, 4, 8):
        if gpus <= gpus_per_node:
            make_worker_spec(flavor, gpus)
    nodes_create(flavor=flavor, names=[f"{flavor.name}-node-{n:02}" for n in range(nodes)])
    flavor.refresh_from_db()
    return flavor


def make_worker_spec(flavor: Flavor, gpus: int) -> WorkerSpec:
    return WorkerSpec.objects.create(
        flavor=flavor, name=f"{gpus} GPU", gpus=gpus, cpus=8 * gpus, memory_gib=64 * gpus, shm_gib=4
    )


def worker_spec(pool: Pool, gpus: int) -> WorkerSpec:
    """The pool's spec of so many GPUs."""
    return WorkerSpec.objects.get(flavor__pool=pool, gpus=gpus, retired_at=None)


def make_image(*zones: Zone, team: Team | None = None, reference: str = "", **fields: Any) -> Image:
    """The image that every pool can run, unless more is said of it: then one of its own, which only an engine
    that pulls images could run (the fixture `any_image` makes pools such)."""
    if not (team or reference or fields):
        return host_image(*zones)
    image = Image.objects.create(reference=reference or unique("image"), team=team, **fields)
    image.zones.set(zones)
    return image


def host_image(*zones: Zone) -> Image:
    """The preset image of this machine's system, now in these zones too."""
    image, _is_new = Image.objects.get_or_create(reference="host", team=None)
    image.zones.add(*zones)
    return image


def make_volume(
    zone: Zone, *teams: Team, read_only: bool = False, suggested: bool = True, **fields: Any
) -> Volume:
    """A volume that the teams may mount; its folder exists, under DATA_DIR/volumes."""
    file_system = fields.pop("file_system", None) or FileSystem.objects.create(name=unique("fs"), zone=zone)
    name = fields.pop("name", "") or unique("volume")
    folder = Path(fields.pop("path", "") or settings.DATA_DIR / "volumes" / name)
    folder.mkdir(parents=True, exist_ok=True)
    volume = Volume.objects.create(file_system=file_system, name=name, path=str(folder), **fields)
    for team in teams:
        VolumeGrant.objects.create(volume=volume, team=team, read_only=read_only, suggested=suggested)
    return volume


def make_spec(
    pool: Pool,
    *,
    gpus: int = 1,
    workers: int = 1,
    env: Iterable[EnvVar] = (),
    mounts: Iterable[MountSpec] = (),
    **fields: Any,
) -> JobSpec:
    """A request that breaks no rule: `workers` Workers of `gpus` GPUs (or `custom_gpus=`) in the pool.

    The image is `host`; the team is the first that holds a grant.
    """
    if fields.get("custom_gpus") is None:
        fields = {"spec": worker_spec(pool, gpus).pk, "worker_count": workers} | fields
    if "image" not in fields:
        fields["image"] = host_image(pool.zone).pk
    grant = pool.grants.order_by("pk").first()
    fields = {
        "team": grant.team_id if grant else None,
        "command": "echo hello",
        "name": "a job",
    } | fields
    return JobSpec(pool=pool.pk, env=tuple(env), mounts=tuple(mounts), **fields)


def make_job(user: User, pool: Pool, **fields: Any) -> Job:
    """A waiting job of the user, for their first team; fields as for `make_spec`.

    `jobs.scheduling.queue_cycle` places it.
    """
    membership = user.memberships.order_by("pk").first()
    if membership is not None:
        fields = {"team": membership.team_id} | fields
    return job_create(user=user, spec=make_spec(pool, **fields))


def occupy(pool: Pool, gpus: Sequence[int]) -> None:
    """Puts GPUs of the pool's first nodes in use, so many on each, held by Workers that do not exist."""
    nodes = Node.objects.filter(flavor__pool=pool).order_by("name")[: len(gpus)]
    taken = [Taken(node.pk, n) for node, n in zip(nodes, gpus, strict=True) if n]
    with transaction.atomic():
        pool_lock(pool_id=pool.pk)
        holds_take(
            worker_ids=[-next(_numbers) for _ in taken],
            nodes=[t.node for t in taken],
            gpus=gpus_choose(wanted=taken),
        )
