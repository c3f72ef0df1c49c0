"""Jobs whose files are kept after a failure, on a real engine."""

import time

from engines.base import AttemptKey, NotKept
from engines.local.engine import LocalEngine
from jobs.models import Job
from jobs.scheduling import queue_tick
from runs import dropping, watching
from tests.factories import make_image, make_job, make_pool, make_team, make_user

PATIENCE_S = 30.0
WRITES = r"""
echo "the answer" > a.txt
echo other > $TMPDIR/b
ln -s /etc/passwd link
echo odd > $'caf\xe9'
printf '\x00\x01' > data.bin
echo '<script>alert(1)</script>' > page.html
mkdir deep; echo inner > deep/c.txt
"""


class Runs:
    """Jobs of one Worker in a pool of their own, on a real engine in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        self.team = make_team()
        self.user = make_user(self.team)
        self.pool = make_pool(self.team)
        make_image(self.pool.zone, reference="host")

    def engine(self, _kind=""):
        return LocalEngine(self.folder, "none")

    def until(self, job, condition):
        patience = time.monotonic() + PATIENCE_S
        while not condition(job):
            assert time.monotonic() < patience, (job.state, job.reason)
            time.sleep(0.02)
            queue_tick()
            watching.attend()
            job.refresh_from_db()
        return job

    def ended(self, command, **fields):
        job = make_job(self.user, self.pool, command=command, **({"keep_after_failure_minutes": 30} | fields))
        return self.until(job, lambda job: job.finished)

    def attempt(self, job):
        return job.attempts.get(number=job.attempt)

    def held(self, job, number=None):
        """Whether the engine has files of it."""
        try:
            self.engine().kept_folder(AttemptKey(job.key, number or job.attempt), 0, b"", 0, 9)
        except NotKept:
            return False
        return True

    def drop(self):
        """As often as it takes: a Worker that has told its end may still be tidying up."""
        patience = time.monotonic() + PATIENCE_S
        while dropping.due().exists():
            assert time.monotonic() < patience
            dropping.drop_due()

    def close(self):
        for job in Job.objects.all():
            for number in range(1, job.attempt + 1):
                self.engine().stop(AttemptKey(job.key, number), 0)


def listing(job, rank=0, query=""):
    return f"/api/v1/jobs/{job.key}/workers/{rank}/files/{query}"
