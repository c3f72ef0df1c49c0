"""Two beats and four workers, of which one after the other is killed while jobs end: each event arrives once.

Half of them are the console's own, which its runner starts again; the others are the test's. Something may
arrive once more only if a worker was killed after the receiver had taken it and before that was written.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter

import pytest

from console.runner.processes import tie_to_parent
from console.runner.redis_server import socket_path
from tests.alerts.receivers import http_sink
from tests.e2e.stack import ENDED, ROOT, Console, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(300)]
SEED, JOBS, KILLS, PACE_S = 11, 30, 24, 0.7
SHORT = {"ALERT_ALLOWED_NETWORKS": "127.0.0.0/8", "ALERT_SECONDS": "2", "ALERT_LEASE_SECONDS": "4"}

INSIDE = """
import sys, json, django; django.setup()
from django.db.models import Count
from alerts.models import Channel, Delivery, Notice, Rule
from jobs.models import Job, JobEvent
from pools.models import Pool
from teams.models import User
from teams.vault import encrypt
for line in sys.stdin:
    word, *given = json.loads(line)
    answer = None
    if word == "channel":
        owner = User.objects.get(username="alice")
        answer = Channel.objects.create(
            owner=owner, name="sink", kind="webhook", target=encrypt(given[0]), shown="sink"
        ).pk
    elif word == "pause":
        Pool.objects.update(paused=given[0])
    elif word == "rules":
        told = {"channel_id": given[0], "subject": "job", "events": ["running", "succeeded", "failed"]}
        for job in Job.objects.filter(key__in=given[1]):
            Rule.objects.create(**told, subject_id=job.pk, author_id=job.creator_id)
    elif word == "untold":
        answer = JobEvent.objects.filter(to_tell=True).count()
    elif word == "states":
        answer = dict(Delivery.objects.order_by().values_list("state").annotate(n=Count("pk")))
    elif word == "told":
        notices = Notice.objects.filter(subject="job", deliveries__isnull=False)
        answer = [[n.data["key"], n.code] for n in notices]
    print(json.dumps(answer), flush=True)
"""


class Inside:
    """Asks and writes rows, as a process of the console does."""

    def __init__(self, env):
        self.process = subprocess.Popen(
            [sys.executable, "-c", INSIDE], cwd=ROOT, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


class Second:
    """A second beat and second workers, started again whenever they were killed."""

    CELERY = (sys.executable, "-m", "celery", "-A", "console")
    WORKER = ("worker", "--pool=threads", "--without-mingle", "--without-gossip", "--concurrency=4")

    def __init__(self, env, output):
        self.env, self.output = env, output
        self.parts = {name: self.start(name) for name in ("state", "slow", "beat")}

    def start(self, name):
        words = (*self.WORKER, f"--queues={name}", f"--hostname=second-{name}@%h")
        if name == "beat":
            words = ("beat", "--scheduler=celery.beat:Scheduler", "--pidfile=")
        return subprocess.Popen(
            [*self.CELERY, *words], cwd=ROOT, env=self.env, stdout=self.output, stderr=self.output,
            preexec_fn=tie_to_parent(15),
        )  # fmt: skip

    def kill(self, name):
        self.parts[name].kill()
        self.parts[name].wait()
        self.parts[name] = self.start(name)

    def close(self):
        for part in self.parts.values():
            part.kill()
            part.wait()


def kill_first(console, name):
    """The one that the console's runner keeps."""
    word = {"state": "--queues=state,engine", "slow": "--queues=slow", "beat": "celery.beat:Scheduler"}[name]
    console.kill_parts(word)


def test_each_event_arrives_once_whatever_is_killed(tmp_path):
    chance = random.Random(SEED)
    with Console(tmp_path / "data", **SHORT) as console, http_sink() as sink:
        env = console.env | {"DJANGO_SETTINGS_MODULE": "console.settings"}
        env["REDIS_URL"] = f"unix://{socket_path(console.data_dir)}"
        inside = Inside(env)
        with (tmp_path / "second.out").open("wb") as output:
            second = Second(env, output)
            try:
                keys = waiting_jobs(console, inside, sink.url())
                inside.ask("pause", False)
                slow_kills = break_things(console, second, chance)
                wait_until(lambda: all_told(console, inside, keys), "all is told", 120, sink_of(sink, inside))
            finally:
                second.close()
                told = inside.ask("told")
                inside.close()
    assert sorted(told) == sorted([key, code] for key in keys for code in ("running", "succeeded"))
    arrived = Counter((one.json["subject"]["id"], one.json["events"][0]) for one in sink.asked)
    assert set(arrived) == {(key, code) for key, code in told}
    twice = sum(arrived.values()) - len(arrived)
    assert max(arrived.values()) <= 2
    assert twice <= slow_kills


def waiting_jobs(console, inside, address):
    """Jobs with their rules, in a queue that is paused."""
    inside.ask("pause", True)
    channel = inside.ask("channel", address)
    keys = [console.submit(f"sleep {n % 7}") for n in range(JOBS)]
    inside.ask("rules", channel, keys)
    return keys


def break_things(console, second, chance):
    """Kills one after the other; answers how often it was one that sends."""
    names = [chance.choice(["state", "slow", "slow", "beat"]) for _ in range(KILLS)]
    for name in names:
        if chance.random() < 0.5:
            second.kill(name)
        else:
            kill_first(console, name)
        time.sleep(PACE_S)
    return names.count("slow")


def all_told(console, inside, keys):
    ended = len(console.call("GET", f"jobs/?state={','.join(sorted(ENDED))}")["results"]) >= len(keys)
    return ended and not inside.ask("untold") and set(inside.ask("states")) == {"sent"}


def sink_of(sink, inside):
    return lambda: (len(sink.asked), inside.ask("untold"), inside.ask("states"))
