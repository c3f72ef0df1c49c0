"""The benchmark of the cycle compares what it says: both sides do the whole work, in small here."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from bench.cycle_data import fill, reset
from bench.cycle_raw import write_raw
from jobs.models import Job, JobEvent, Worker
from jobs.scheduling import queue_cycle
from pools.models import Hold


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="the raw side is written for PostgreSQL")
def test_both_sides_write_the_same_rows():
    pool_id = fill(jobs=20, nodes=3, gpus=8)
    for write in (queue_cycle, write_raw, queue_cycle):
        reset(pool_id)
        write(pool_id)
        assert Job.objects.filter(state="deploying", attempt=1).count() == 20
        assert (Hold.objects.count(), Worker.objects.count(), JobEvent.objects.count()) == (20, 20, 20)
        call_command("recount", stdout=StringIO())
