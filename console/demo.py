"""The demo's rows: people, a zone with its pool, image and volumes.

Rows are found by name. What hangs on a row (memberships, grants, nodes, specs) is made together with it
and never again, so that whatever people change or take away later stays as they left it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from images.models import Image
from pools.models import Flavor, Grant, Pool, WorkerSpec, Zone
from pools.services import nodes_create
from storage.models import FileSystem, Volume, VolumeGrant
from teams.models import Membership, Team, User
from teams.roles import Role

PASSWORD = "demo"  # noqa: S105 - the demo's, and said on every start
VISION, SPEECH = "Vision 视觉组", "Speech 语音组"
ZONE, POOL, FLAVOR, FILE_SYSTEM = "demo-zone", "demo-pool", "local-8", "demo-fs"
NODES = ("local-1", "local-2", "local-3", "local-4")
GPUS_PER_NODE = 8
SPEECH_QUOTA = 16
CPUS, MEMORY_GIB, SHM_GIB = 4, 16, 2  # of a GPU's share


class Person(NamedTuple):
    name: str
    team: str
    role: Role
    high_priority: bool
    superuser: bool = False


PEOPLE = (
    Person("admin", VISION, Role.ADMIN, high_priority=True, superuser=True),
    Person("alice", VISION, Role.MEMBER, high_priority=True),
    Person("bob", VISION, Role.MEMBER, high_priority=False),
    Person("carol", SPEECH, Role.ADMIN, high_priority=True),
)


def volume_folder(name: str) -> Path:
    """Where the demo's volume of that name lies; the engine shows jobs nothing else of DATA_DIR."""
    return Path(settings.DATA_DIR) / "volumes" / name


def public_data_folder() -> Path:
    return Path(settings.DATA_DIR) / "public" / "demo"


def rows_make() -> list[str]:
    """Makes the rows that are missing; answers what it made, for people to read."""
    made: list[str] = []
    with transaction.atomic():
        teams = {name: Team.objects.get_or_create(name=name)[0] for name in (VISION, SPEECH)}
        for person in PEOPLE:
            _person(person, teams[person.team], made)
        zone, _ = Zone.objects.get_or_create(name=ZONE, defaults={"public_data": str(public_data_folder())})
        _pool(zone, teams, made)
        _image(zone, made)
        _volumes(zone, teams, made)
    return made


def _person(person: Person, team: Team, made: list[str]) -> None:
    if User.objects.filter(username=person.name).exists():
        return
    user = User.objects.create_user(
        person.name, password=PASSWORD, is_staff=person.superuser, is_superuser=person.superuser
    )
    Membership.objects.create(
        user=user, team=team, role=person.role, may_use_high_priority=person.high_priority
    )
    made.append(f"user {person.name} of {team.name}")


def _pool(zone: Zone, teams: dict[str, Team], made: list[str]) -> None:
    """Nodes that stand for this machine: its GPUs are counted, none is given to a job."""
    pool, is_new = Pool.objects.get_or_create(name=POOL, defaults={"zone": zone})
    if not is_new:
        return
    Grant.objects.create(pool=pool, team=teams[VISION])
    Grant.objects.create(pool=pool, team=teams[SPEECH], max_gpus=SPEECH_QUOTA)
    flavor = Flavor.objects.create(
        pool=pool,
        name=FLAVOR,
        gpu_model="counts only",
        gpus_per_node=GPUS_PER_NODE,
        cpus=CPUS * GPUS_PER_NODE,
        memory_gib=MEMORY_GIB * GPUS_PER_NODE,
    )
    WorkerSpec.objects.bulk_create(
        WorkerSpec(
            flavor=flavor,
            name=f"{gpus}-gpu",
            gpus=gpus,
            cpus=CPUS * gpus,
            memory_gib=MEMORY_GIB * gpus,
            shm_gib=SHM_GIB * gpus,
        )
        for gpus in (1, 2, 4, 8)
    )
    nodes_create(flavor=flavor, names=NODES)
    made.append(f"pool {pool.name} with {len(NODES)} nodes of {GPUS_PER_NODE} GPUs")


def _image(zone: Zone, made: list[str]) -> None:
    image, is_new = Image.objects.get_or_create(reference="host", team=None, defaults={"services": ["job"]})
    if is_new:
        image.zones.add(zone)
        made.append("image host")


def _volumes(zone: Zone, teams: dict[str, Team], made: list[str]) -> None:
    file_system, _ = FileSystem.objects.get_or_create(name=FILE_SYSTEM, defaults={"zone": zone})
    for name, folder, team in (("team-volume", "public", VISION), ("speech-volume", "speech", SPEECH)):
        volume, is_new = Volume.objects.get_or_create(
            file_system=file_system, name=name, defaults={"path": str(volume_folder(folder))}
        )
        if is_new:
            VolumeGrant.objects.create(volume=volume, team=teams[team])
            made.append(f"volume {name} of {team}")
