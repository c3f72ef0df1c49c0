"""Tells and sends what is due, in forks of which each but the last is killed at the next step.

Steps are the statements of the database, and the moments before and after something is sent. Run by
`test_killed`, which prepares a database and a receiver: for each line on standard input, which has the number
of the step at which to die, or "whole", a line says where it died or that it came to its end.
"""

from __future__ import annotations

import os
import signal
import sys

import django

django.setup()

from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from alerts import delivering  # noqa: E402
from alerts.models import Channel, Delivery  # noqa: E402
from alerts.tasks import slow_deliver  # noqa: E402
from jobs.tasks import notices_tick  # noqa: E402


class Steps:
    def __init__(self, die_at: int, say: int) -> None:
        self.die_at, self.say, self.count = die_at, say, 0

    def step(self, what: str) -> None:
        self.count += 1
        if self.count == self.die_at:
            os.write(self.say, what.split("\n")[0][:200].encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(self, execute, sql, params, many, context):
        self.step(f"before {sql}")
        return execute(sql, params, many, context)

    def send(self, *given):
        self.step("before sending")
        outcome = self.real(*given)
        self.step("after sending")
        return outcome


def work(die_at: int, say: int) -> None:
    steps = Steps(die_at, say)
    steps.real, delivering.send = delivering.send, steps.send
    with connection.execute_wrapper(steps.statement):
        notices_tick()
        slow_deliver()
    os.write(say, b"end")


def leases_end() -> None:
    """What time does to the claim of somebody who is dead."""
    now = timezone.now()
    Channel.objects.filter(busy_until__gt=now).update(busy_until=now)
    Delivery.objects.filter(due_at__gt=now).update(due_at=now)


def in_a_fork(die_at: int) -> str:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            work(die_at, write)
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as said:
        return said.read()


for line in sys.stdin:
    whole = line.strip() == "whole"
    if whole:
        leases_end()
        connection.close()  # forks must not share it
    print(in_a_fork(0 if whole else int(line)) or "died silently", flush=True)
