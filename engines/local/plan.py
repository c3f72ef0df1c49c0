"""What a supervisor is told: the launch document, read for one rank."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from engines.base import Check
from engines.local import durable, layout

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # of Workers
_LARGEST = 2**28  # bytes of a launch document


class Refused(Exception):
    """The command cannot be run: a fault code of `engines.base.Fault` and its data."""

    def __init__(self, code: str, **data: str | int) -> None:
        super().__init__(code, data)
        self.code = code
        self.data = data


class House(NamedTuple):
    """What is peculiar to this machine and console, the same for every job.

    `mode` is bubblewrap, proot or none and `tool` the program for it. Nothing below `private` is
    ever shown to a job, except what lies below one of `shareable`. `tools` are further directories or
    files of the machine that the `host` image lends read-only. `links` is the register of mount links.
    `groups` is the folder for control groups, or "": no limits of memory and processor can be kept.
    """

    mode: str
    tool: str
    private: str
    shareable: tuple[str, ...]
    tools: tuple[str, ...]
    links: str
    groups: str = ""


class MountPlan(NamedTuple):
    """A directory of the machine and where the Worker sees it."""

    source: str
    target: str
    read_only: bool


class Peer(NamedTuple):
    """A Worker of the same attempt, for the hosts file and the MPI host file."""

    hostname: str
    gpus: int


class Plan(NamedTuple):
    """Everything about one Worker but its private values."""

    name: str  # job/attempt/rank
    rank: int
    hostname: str
    gpus: int
    env: dict[str, str]
    shm_bytes: int
    cpus: float
    memory_bytes: int
    command: str
    image: str
    mounts: tuple[MountPlan, ...]
    peers: tuple[Peer, ...]
    disk_bytes: int
    log_bytes: int
    house: House
    page: Mapping[str, str] = MappingProxyType({})
    check: Check | None = None


def mark(name: str) -> str:
    """The variable that tells the processes of a Worker where there is no pid namespace."""
    return f"TRAINYARD_RUN={name}"


def read_plan(attempt_path: str, rank: int) -> Plan:
    """The plan of one rank from the attempt's launch document."""
    document = durable.read_json(os.path.join(attempt_path, layout.LAUNCH), _LARGEST)
    if document is None:
        raise FileNotFoundError(attempt_path)
    worker = next(worker for worker in document["workers"] if worker["rank"] == rank)
    house = document["house"]
    return Plan(
        name=f"{document['name']}/{rank}",
        rank=rank,
        hostname=worker["hostname"],
        gpus=worker["gpus"],
        env=worker["env"],
        shm_bytes=worker["shm_bytes"],
        cpus=worker.get("cpus", 0),  # what an older console has written has none
        memory_bytes=worker.get("memory_bytes", 0),
        command=document["command"],
        image=document["image"],
        mounts=tuple(MountPlan(*mount) for mount in document["mounts"]),
        peers=tuple(Peer(peer["hostname"], peer["gpus"]) for peer in document["workers"]),
        disk_bytes=document["disk_bytes"],
        log_bytes=document["log_bytes"],
        house=House(
            mode=house["mode"],
            tool=house["tool"],
            private=house["private"],
            shareable=tuple(house["shareable"]),
            tools=tuple(house["tools"]),
            links=house["links"],
            groups=house.get("groups", ""),
        ),
        page=document.get("page", {}),  # an older console has written it among `env`
        check=Check(**document["check"]) if document.get("check") else None,
    )


def base_environment(plan: Plan, home: str, tmp: str) -> dict[str, str]:
    """The variables every Worker has; all others come later and win."""
    return {
        "PATH": PATH,
        "HOME": home,
        "USER": user_name(),
        "LANG": "C.UTF-8",
        "TMPDIR": tmp,
        "HOSTNAME": plan.hostname,
        "PYTHONUNBUFFERED": "1",
    }


def full_environment(plan: Plan, private: Mapping[str, str], home: str, tmp: str) -> dict[str, str]:
    """Base below private below page below injected variables."""
    return {**base_environment(plan, home, tmp), **private, **plan.page, **plan.env}


def marked_environment(plan: Plan, private: Mapping[str, str], home: str, tmp: str) -> dict[str, str]:
    """The same with the mark, for boxes without a pid namespace."""
    name, _, value = mark(plan.name).partition("=")
    return {**full_environment(plan, private, home, tmp), name: value}


def user_name() -> str:
    """The name under which the command runs, without asking the machine's user database."""
    return "root" if os.getuid() == 0 else "worker"
