"""Jobs on a real engine, whose ticks are called one after the other."""

import time

from engines.base import AttemptKey
from engines.local.engine import LocalEngine
from jobs.models import Job
from jobs.scheduling import queue_tick
from runs import watching
from tests.factories import make_image, make_job, make_pool, make_team, make_user

PATIENCE_S = 30.0


class Runs:
    """A job of one Worker in a pool of its own, on a real engine in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        self.team = make_team()
        self.user = make_user(self.team)
        self.pool = make_pool(self.team)
        make_image(self.pool.zone, reference="host")

    def engine(self, _kind=""):
        return LocalEngine(self.folder, "none")

    def make(self, command, **fields):
        return make_job(self.user, self.pool, command=command, **fields)

    def until(self, job, condition):
        """Ticks until the job fulfils the condition."""
        patience = time.monotonic() + PATIENCE_S
        while not condition(job):
            assert time.monotonic() < patience, (job.state, job.reason, self.codes(job))
            time.sleep(0.02)
            queue_tick()
            watching.attend()
            job.refresh_from_db()
        return job

    def ended(self, job):
        return self.until(job, lambda job: job.finished)

    def log(self, job, attempt=1):
        return self.engine().read_log(AttemptKey(job.key, attempt), 0, 0, 10**6).data.decode()

    def codes(self, job):
        return list(job.events.values_list("code", flat=True))

    def close(self):
        for job in Job.objects.all():
            for number in range(1, job.attempt + 1):
                self.engine().stop(AttemptKey(job.key, number), 0)
