"""The demo's rows: people, a zone with its pool, image and volumes.

Rows are found by name or, if renamed, by what hangs on them. What hangs on a row (memberships, grants,
nodes, specs) is made together with it and never again: what people change or take away stays as they left it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Q

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
        teams = {name: _team(name) for name in (VISION, SPEECH)}
        for person in PEOPLE:
            _person(person, teams[person.team], made)
        zone = _zone()
        _pool(zone, teams, made)
        _image(zone, made)
        _volumes(zone, teams, made)
    return made


def _team(name: str) -> Team:
    people = [person.name for person in PEOPLE if person.team == name]
    theirs = Q(name=name) | Q(memberships__user__username__in=people)
    return Team.objects.filter(theirs).order_by("pk").first() or Team.objects.create(name=name)


def _zone() -> Zone:
    folder = str(public_data_folder())
    ours = Q(name=ZONE) | Q(public_data=folder) | Q(pools__name=POOL) | Q(file_systems__name=FILE_SYSTEM)
    found = Zone.objects.filter(ours).order_by("pk").first()
    return found or Zone.objects.create(name=ZONE, public_data=folder)


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
    if Pool.objects.filter(Q(name=POOL) | Q(zone=zone)).exists():
        return
    pool = Pool.objects.create(name=POOL, zone=zone)
    Grant.objects.create(pool=pool, team=teams[VISION])
    Grant.objects.create(pool=pool, team=teams[SPEECH], max_gpus=SPEECH_QUOTA)
    flavor = Flavor.objects.create(
        pool=pool,
        name=FLAVOR,
        gpu_model="simulated 模拟",
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
    if FileSystem.objects.filter(Q(name=FILE_SYSTEM) | Q(zone=zone)).exists():
        return
    file_system = FileSystem.objects.create(name=FILE_SYSTEM, zone=zone)
    for name, folder, team in (("team-volume", "public", VISION), ("speech-volume", "speech", SPEECH)):
        volume = Volume.objects.create(file_system=file_system, name=name, path=str(volume_folder(folder)))
        VolumeGrant.objects.create(volume=volume, team=teams[team])
        made.append(f"volume {name} of {team}")
