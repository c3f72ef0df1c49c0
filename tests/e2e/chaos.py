"""What the chaos test is made of: jobs with what may come of them, and a script that breaks things.

The script draws from a seed what it does next; when each thing happens depends on the machine.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil
import redis

from console.runner.redis_server import socket_path
from tests.e2e.stack import ROOT, Console

NOTE = 'echo "$TRAINYARD_JOB_ID $TRAINYARD_ATTEMPT $TRAINYARD_WORKER" >> /mnt/public/chaos/ran\n'


@dataclass(frozen=True)
class Kind:
    """A sort of job. `states` are its ends unless a supervisor of its last attempt was killed."""

    name: str
    share: int
    command: str
    states: tuple[str, ...]
    code: str | None = None  # of the reason
    exit_code: int | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    gpus: tuple[int, ...] = (1,)
    workers: tuple[int, ...] = (1,)
    stopped_within: float | None = None  # seconds after its creation
    restarts: int | None = None  # spent in the end, if the last attempt was not lost


AGAIN = {"auto_restart": True, "max_restarts": 2}
AT_ONCE = {"stop_grace_seconds": 1}
KINDS = (
    Kind("short", 40, "sleep 0.$((RANDOM % 10))", ("succeeded",), exit_code=0),
    Kind("node", 20, "sleep 1.5", ("succeeded",), exit_code=0, gpus=(8,)),
    Kind("several", 25, "sleep 2", ("succeeded",), exit_code=0, gpus=(1, 2, 8), workers=(2, 3)),
    Kind("exit", 25, "exit 3", ("failed",), "exit_code", 3, gpus=(1, 4)),
    Kind(
        *("one-fails", 10, '[ "$TRAINYARD_WORKER" = 1 ] || sleep 90; exit 5', ("failed",), "exit_code", 5),
        workers=(2, 3),
    ),
    Kind("signal", 15, "kill -9 $$", ("failed",), "signal"),
    Kind("again", 15, "exit 4", ("failed",), "exit_code", 4, fields=AGAIN, restarts=2),
    Kind("second", 15, '[ "$TRAINYARD_ATTEMPT" -ge 2 ] || exit 6', ("succeeded",), exit_code=0, fields=AGAIN),
    Kind("stop", 20, "sleep 300", ("stopped",), "stopped_by_user", fields=AT_ONCE, stopped_within=25),
    Kind("race", 14, "sleep 1", ("stopped", "succeeded"), fields=AT_ONCE, stopped_within=6),
    Kind("limit", 1, "sleep 300", ("stopped",), "max_runtime", fields=AT_ONCE | {"max_runtime_minutes": 1}),
)


@dataclass
class Asked:
    """A job that was created, and when it is to be stopped (monotonic)."""

    key: str
    kind: Kind
    workers: int
    stop_at: float | None


def jobs_create(console: Console, chance: random.Random) -> list[Asked]:
    """Every kind as often as its share says, in a drawn order; the job with the limit comes first."""
    kinds = [kind for kind in KINDS for _ in range(kind.share)]
    chance.shuffle(kinds)
    kinds.sort(key=lambda kind: kind.name != "limit")
    body, specs = console.offer(), {gpus: console.spec(gpus) for gpus in (1, 2, 4, 8)}
    mount, asked = console.volume_mount(), []
    for kind in kinds:
        workers, gpus = chance.choice(kind.workers), chance.choice(kind.gpus)
        fields: dict[str, Any] = {"command": NOTE + kind.command, "mounts": [mount], "spec": specs[gpus]}
        fields |= {"worker_count": workers, "framework": "pytorch_ddp" if workers > 1 else "single"}
        key = console.call("POST", "jobs/", body | fields | {"name": kind.name} | kind.fields)["id"]
        within = kind.stopped_within
        stop_at = None if within is None else time.monotonic() + chance.uniform(0, within)
        asked.append(Asked(key, kind, workers, stop_at))
    return asked


NODES = """
import sys, django; django.setup()
from pools.models import Node, NodeState
from pools.services import node_set_state
for line in sys.stdin:
    word, state = line.split()
    nodes = Node.objects.order_by("name")
    nodes = nodes if word == "all" else nodes.filter(pk=nodes[int(word)].pk)
    node_set_state(nodes=nodes, state=NodeState(state))
    print("done", flush=True)
"""


class Breaker:
    """Breaks one thing at a time, and remembers what: `lost` are Workers whose supervisor it killed."""

    def __init__(self, console: Console, chance: random.Random) -> None:
        self.console, self.chance = console, chance
        self.done: list[str] = []
        self.lost: set[tuple[str, int, int]] = set()
        env = console.env | {"DJANGO_SETTINGS_MODULE": "console.settings"}
        env["REDIS_URL"] = f"unix://{socket_path(console.data_dir)}"
        self.nodes = subprocess.Popen(
            [sys.executable, "-c", NODES], cwd=ROOT, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def script(self) -> list[str]:
        """What is broken, in which order."""
        things = Counter(worker=4, slow=1, beat=2, flush=3, redis=2, cordon=4, ready=4)
        drawn = list(things.elements())
        self.chance.shuffle(drawn)
        return drawn

    def break_one(self, thing: str) -> None:
        told = getattr(self, f"_{thing}")()
        self.done.append(f"{time.strftime('%H:%M:%S')} {thing}: {told}")

    def _worker(self) -> str:
        return self._kill("--queues=state,engine")

    def _slow(self) -> str:
        return self._kill("--queues=slow")

    def _beat(self) -> str:
        return self._kill("celery.beat:Scheduler")

    def _kill(self, word: str) -> str:
        return f"killed {self.console.kill_parts(word)}"

    def _redis(self) -> str:
        told = self._kill("redis-server")
        shutil.rmtree(self.console.data_dir / "redis", ignore_errors=True)
        return told + ", its folder deleted"

    def _flush(self) -> str:
        with (
            suppress(redis.RedisError),
            redis.Redis(unix_socket_path=str(socket_path(self.console.data_dir))) as r,
        ):
            return f"flushed {r.dbsize()} keys, {r.flushall()}"
        return "no Redis at this moment"

    def _supervisor(self) -> str:
        """Of a Worker that lives; there may be none."""
        found = supervisors(self.console)
        if not found:
            return "none lives"
        path, pids = self.chance.choice(sorted(found.items()))
        job, attempt, rank = path.split(os.sep)[-3:]
        self.lost.add((job, int(attempt), int(rank)))
        with suppress(psutil.NoSuchProcess):
            psutil.Process(min(pids)).kill()
        return f"{job}/{attempt}/{rank}"

    def _cordon(self) -> str:
        return self.set_nodes(str(self.chance.randrange(3)), "cordoned")  # one of four is left

    def _ready(self) -> str:
        return self.set_nodes(str(self.chance.randrange(3)), "ready")

    def set_nodes(self, which: str, state: str) -> str:
        assert self.nodes.stdin is not None
        assert self.nodes.stdout is not None
        self.nodes.stdin.write(f"{which} {state}\n")
        self.nodes.stdin.flush()
        return f"{which} {state} {self.nodes.stdout.readline().strip()}"

    def close(self) -> None:
        self.nodes.communicate(timeout=20)


def supervisors(console: Console) -> dict[str, list[int]]:
    """The processes that guard a Worker, by its folder: the supervisor is the one with the lower number."""
    runs, found = f"{console.data_dir}/runs/", {}
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or [""]
        if words[-1].startswith(runs):
            found.setdefault(words[-1], []).append(process.pid)
    return found


def left_processes(keys: set[str]) -> list[str]:
    """Processes that were started for one of the jobs."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error):
            if process.environ().get("TRAINYARD_JOB_ID") in keys:
                found.append(f"{process.pid} {process.info['cmdline']}")
    return found


DUMP = """
import json
from jobs.models import Attempt, Job, JobEvent, Worker
from pools.models import Hold
fields = ("pk", "key", "name", "state", "attempt", "restarts", "exit_code", "reason", "deploy_step")
jobs = {row["pk"]: row | {"events": [], "attempts": {}} for row in Job.objects.values(*fields)}
for job, code in JobEvent.objects.order_by("pk").values_list("job", "code"):
    jobs[job]["events"].append(code)
for pk, job, number, ended in Attempt.objects.values_list("pk", "job", "number", "ended_at"):
    workers = Worker.objects.filter(attempt=pk).order_by("rank").values("rank", "exit_code", "signal")
    jobs[job]["attempts"][number] = {"ended": str(ended), "workers": list(workers)}
print(json.dumps({"jobs": list(jobs.values()), "holds": Hold.objects.count()}))
"""


def dump(console: Console) -> dict[str, Any]:
    """What the database says of everything."""
    answer: dict[str, Any] = json.loads(console.manage("shell", "-v", "0", "-c", DUMP).splitlines()[-1])
    return answer
