"""An engine whose looks a test sets, for moments that a real one shows only by chance; the real one is under
test in tests/engines, tests/runs/test_real_runs.py and tests/e2e."""

from __future__ import annotations

from engines.base import Phase, Protection, WorkerLook
from runs import watching
from runs.launching import attempt_key

START = 1_700_000_000.0


class StandIn:
    """An engine without processes: it answers `looks`, and notes what it is asked for."""

    def __init__(self):
        self.looks = {}
        self.launches, self.stops, self.releases = [], [], []
        self.busy_ports = set()
        self.trouble = None
        self.mode = "bubblewrap"
        self.on_stop = lambda key: None

    def look(self, keys):
        return {key: self.looks.get(key, ()) for key in keys}

    def start(self, launch):
        if self.trouble:
            raise self.trouble
        self.launches.append(launch)

    def release(self, key):
        self.releases.append(key)

    def stop(self, key, grace_s):
        self.stops.append((key, grace_s))
        self.on_stop(key)

    def stacks(self, key, rank=None):
        return ()

    def port_is_free(self, port):
        return port not in self.busy_ports

    def protection(self):
        return Protection(self.mode)


def running(rank=0):
    return WorkerLook(rank, Phase.RUNNING, started_at=START)


def exited(rank=0, code=0, **fields):
    return WorkerLook(rank, Phase.EXITED, exit_code=code, started_at=START, ended_at=START + 5, **fields)


def attend(engine, job, *looks):
    engine.looks[attempt_key(job)] = looks
    watching.attend()
    job.refresh_from_db()


def codes(job):
    return [event.code for event in job.events.all()]
