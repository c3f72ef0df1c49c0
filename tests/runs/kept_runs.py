"""Jobs whose files are kept after a failure, on a real engine."""

import time

from engines.base import AttemptKey, NotKept
from runs import dropping
from tests.runs.real_runs import PATIENCE_S, Runs

WRITES = r"""
echo "the answer" > a.txt
echo other > $TMPDIR/b
ln -s /etc/passwd link
echo odd > $'caf\xe9'
printf '\x00\x01' > data.bin
echo '<script>alert(1)</script>' > page.html
mkdir deep; echo inner > deep/c.txt
"""


class KeptRuns(Runs):
    """Jobs whose files are kept for half an hour, if they say nothing else."""

    def ended_of(self, command, **fields):
        return self.ended(self.make(command, **({"keep_after_failure_minutes": 30} | fields)))

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


def listing(job, rank=0, query=""):
    return f"/api/v1/jobs/{job.key}/workers/{rank}/files/{query}"
