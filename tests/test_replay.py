"""The replay in small: no GPU is given twice, strict order holds, the database decides as the values do."""

import heapq
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta

import pytest

from bench.replay_data import Kind, arrivals_read, kinds_read
from bench.replay_run import Overcommitted, Overtaken, Replay
from jobs.lifecycle import move
from jobs.models import Job, Worker
from jobs.queue import Decision, Start
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.capacity import Shape
from pools.models import Discipline, Hold, Node
from tests.factories import make_job, make_pool, make_team, make_user

KINDS = {f: replace(k, nodes=k.nodes[:6]) for f, k in kinds_read().items() if k.gpus_per_node == 8}


def test_the_data_is_what_the_notice_says():
    kinds = kinds_read()
    assert sum(len(k.nodes) for k in kinds.values()) == 1213
    assert sum(k.gpus for k in kinds.values()) == 6212
    arrivals = arrivals_read(kinds, 5000, 8.0)
    assert [a.job for a in arrivals] == list(range(1, 5001))
    assert arrivals == arrivals_read(kinds, 5000, 8.0)


@pytest.mark.parametrize("strict", [True, False])
def test_a_slice_is_replayed_without_giving_a_gpu_twice(strict):
    arrivals = arrivals_read(KINDS, 400, 4.0)
    outcome = Replay(KINDS, strict=strict).run(arrivals)
    assert sorted(outcome.waits) == [a.job for a in arrivals]
    assert max(outcome.waits.values()) > 0, "nobody waited: the slice shows nothing"
    if strict:
        order = defaultdict(list)
        for job, _ in outcome.starts:
            order[arrivals[job - 1].flavor].append(job)
        assert all(jobs == sorted(jobs) for jobs in order.values())


def test_best_effort_does_overtake_in_the_slice():
    starts = [job for job, _ in Replay(KINDS, strict=False).run(arrivals_read(KINDS, 400, 4.0)).starts]
    strict = [job for job, _ in Replay(KINDS, strict=True).run(arrivals_read(KINDS, 400, 4.0)).starts]
    assert starts != strict


def test_the_ledger_sees_what_is_given_twice_and_who_is_overtaken():
    kind = {1: Kind(8, (("n", 1),))}
    first, second = (replace(a, shape=Shape(8, 8), flavor=1) for a in arrivals_read(KINDS, 40, 1.0)[:2])
    replay = Replay(kind, strict=True)
    replay.waiting = {1: first, 2: second}
    replay._begin(Start(1, 1, Shape(8, 8), (1,)), 0.0, 0.0)
    with pytest.raises(Overcommitted):
        replay._begin(Start(2, 1, Shape(8, 8), (1,)), 0.0, 0.0)
    replay.waiting = {1: first, 2: second}
    with pytest.raises(Overtaken):
        replay._check_order(Decision(starts=[Start(2, 1, Shape(8, 8), (1,))]))


@pytest.mark.django_db
@pytest.mark.parametrize("discipline", Discipline.values)
def test_the_database_starts_the_same_jobs_on_the_same_nodes(discipline):
    team = make_team()
    user = make_user(team)
    pool = make_pool(team, nodes=3, discipline=discipline, max_overtake_minutes=10**6)
    nodes = list(Node.objects.order_by("name").values_list("name", "pk"))
    kinds = {pool.flavors.get().pk: Kind(8, tuple(nodes))}
    arrivals = [replace(a, team=1) for a in arrivals_read(kinds, 60, 4.0)]
    ours = _through_the_database(user, pool, arrivals)
    values = Replay(kinds, strict=discipline == "strict_fifo", max_overtake=timedelta(minutes=10**6))
    assert ours == values.run(arrivals).starts
    assert not Hold.objects.exists()


def _through_the_database(user, pool, arrivals):
    """The same events through `queue_cycle` and `move`; answers the starts in the order of their cycles."""
    events = [(a.at, 1, a.job, a) for a in arrivals]
    heapq.heapify(events)
    numbers, starts = {}, []
    while events:
        at, comes, number, arrival = heapq.heappop(events)
        if comes:
            job = make_job(user, pool, custom_gpus=arrival.shape.total_gpus)
            numbers[job.pk] = arrival
        else:
            pk = next(pk for pk, a in numbers.items() if a.job == number)
            move([pk], State.DEPLOYING, State.RUNNING)
            move([pk], State.RUNNING, State.SUCCEEDED)
        queue_cycle(pool.pk)
        for pk in Job.objects.filter(state="deploying").order_by("pk").values_list("pk", flat=True):
            begun = numbers[pk]
            if begun.job not in [job for job, _ in starts]:
                held = Worker.objects.filter(attempt__job=pk).order_by("rank")
                starts.append((begun.job, tuple(held.values_list("node", flat=True))))
                heapq.heappush(events, (at + begun.runs_s, 0, begun.job, begun))
    return starts
