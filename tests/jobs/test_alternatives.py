"""What would start now in place of a request that would not: from values alone, and as it is read."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.alternatives import MOST, Neighbour, alternatives, worth_looking
from jobs.estimate import estimate
from jobs.facts import QuotaFacts, SpecFacts, WaitingFacts
from jobs.models import Job
from jobs.neighbours import neighbours_read
from jobs.queued import waiting_by_pool
from jobs.reading import access_read, pool_read
from pools.capacity import Shape
from tests.factories import (
    make_flavor,
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_zone,
    occupy,
    worker_spec,
)
from tests.jobs.value_facts import FLAVOR, NOW, SPEC_BY_GPUS, TEAM, facts, flavor, pool, spec

OTHER = 9
GPUS_BY_SPEC = {pk: gpus for gpus, pk in SPEC_BY_GPUS.items()}


def elsewhere(idle, *, pk=2, waiting=(), **fields):
    """Another pool of the zone, its ids a hundred times those of the first."""
    model = fields.pop("gpu_model", "A100")
    network = fields.pop("network", "none")
    there = flavor(idle, pk=100 * pk, gpu_model=model, network=network)
    specs = {100 * s: SpecFacts(100 * s, f"{g} GPU", there.id, g, 8, 64, 4) for g, s in SPEC_BY_GPUS.items()}
    return Neighbour(pool(there, id=pk, name=f"pool-{pk}", specs=specs, **fields), tuple(waiting))


def changes(found):
    return [dict(one.changes) for one in found]


def notes(one):
    return {note.code: dict(note.data) for note in one.notes}


def test_the_best_of_each_kind_and_no_more_than_three():
    wish = spec(gpus=8, worker_count=4)
    found = alternatives(wish, facts(pool=pool(flavor((8, 8, 8, 4, 4)))), [elsewhere((8,) * 5)])
    assert changes(found) == [
        {"spec": SPEC_BY_GPUS[4], "worker_count": 8},
        {"pool": 2, "spec": 100 * SPEC_BY_GPUS[8]},
        {"worker_count": 3},
    ]
    assert [one.startable for one in found] == [8, 5, 3]
    assert [notes(one) for one in found] == [
        {"workers": {"old": 4, "new": 8}, "worker_gpus": {"old": 8, "new": 4}},
        {"other_pool": {"pool": "pool-2"}},
        {"workers": {"old": 4, "new": 3}, "total_gpus": {"old": 32, "new": 24}},
    ]


@pytest.mark.parametrize(
    ("wish", "idle", "expected"),
    [
        # 3 x 2 is 6, which neither 4 nor 8 divides
        (spec(gpus=2, worker_count=3), (1,) * 6, [{"spec": SPEC_BY_GPUS[1], "worker_count": 6}]),
        (spec(gpus=4, worker_count=3), (3, 3, 2), [{"spec": SPEC_BY_GPUS[2]}]),
        (spec(gpus=1, worker_count=9), (4, 4), [{"worker_count": 8}]),
        (spec(custom_gpus=16), (8, 7), [{"custom_gpus": 8}]),
        (spec(custom_gpus=23), (8, 8, 5), [{"custom_gpus": 21}]),
        (spec(custom_gpus=16), (4, 4, 4, 4), [{"spec": 3, "worker_count": 4, "custom_gpus": None}]),
        (spec(gpus=8), (0, 0), []),
        # one Worker has no fewer Workers: a smaller spec
        (spec(gpus=8), (6,), [{"spec": SPEC_BY_GPUS[4]}]),
        (spec(gpus=8), (3, 1), [{"spec": SPEC_BY_GPUS[2]}]),
        (spec(gpus=4), (3, 3), [{"spec": SPEC_BY_GPUS[2], "worker_count": 2}, {"spec": SPEC_BY_GPUS[2]}]),
        (spec(gpus=8, worker_count=3), (7, 7, 7), [{"spec": SPEC_BY_GPUS[4]}]),  # more than two times 4
    ],
)
def test_totals_are_kept_where_a_spec_divides_them(wish, idle, expected):
    found = changes(alternatives(wish, facts(pool=pool(flavor(idle, nodes=20))), ()))
    assert found[: len(expected)] == expected
    assert bool(found) == bool(expected)


def test_equal_workers_stay_equal():
    for wanted in (16, 24, 8):
        found = alternatives(spec(custom_gpus=wanted), facts(pool=pool(flavor((7, 8, 5)))), ())
        assert found
        assert all(one.shape.equal for one in found)


def test_what_is_too_large_for_the_pool_or_the_quota_is_made_smaller():
    large = spec(gpus=8, worker_count=9)
    found = alternatives(large, facts(), [elsewhere((8,) * 9)])
    assert changes(found)[-1] == {"worker_count": 4}
    assert {"pool": 2, "spec": 100 * SPEC_BY_GPUS[8]} in changes(found)
    limited = facts(pool=pool(quotas={TEAM: QuotaFacts(held=8, limit=24)}))
    assert changes(alternatives(spec(gpus=8, worker_count=4), limited, ())) == [{"worker_count": 2}]


def test_nothing_starts_in_a_paused_pool_but_elsewhere():
    found = alternatives(spec(gpus=2), facts(pool=pool(paused=True)), [elsewhere((8,), gpu_model="H20")])
    assert changes(found) == [{"pool": 2, "spec": 100 * SPEC_BY_GPUS[2]}]
    assert notes(found[0])["other_gpu_model"] == {"old": "A100", "new": "H20"}
    assert not alternatives(spec(gpus=2), facts(pool=pool(paused=True)), [elsewhere((8,), paused=True)])


def test_the_queue_elsewhere_counts_as_at_home():
    head = WaitingFacts(200, 1, OTHER, Shape.of_spec(8, 2), 1, 7)
    quotas = {TEAM: QuotaFacts(0, None), OTHER: QuotaFacts(0, None)}
    busy = facts(pool=pool(flavor((0,))))
    free = elsewhere((8, 4), waiting=[head], quotas=quotas)
    strict = elsewhere((8, 4), waiting=[head], quotas=quotas, strict=True)
    assert changes(alternatives(spec(gpus=4), busy, [free]))
    assert not alternatives(spec(gpus=4), busy, [strict])


def test_rdma_goes_off_where_it_would_not_be_allowed():
    roce = flavor((8, 4, 4), network="roce")
    wish = spec(gpus=8, worker_count=2, rdma=True)
    found = alternatives(
        wish, facts(pool=pool(roce)), [elsewhere((8, 8)), elsewhere((8,) * 3, pk=3, network="ib")]
    )
    assert changes(found) == [
        {"spec": SPEC_BY_GPUS[4], "worker_count": 4, "rdma": False},
        {"pool": 3, "spec": 100 * SPEC_BY_GPUS[8]},
        {"worker_count": 1},
    ]
    assert "rdma_off" in notes(found[0])


def test_another_flavor_of_the_pool_is_told_by_its_model():
    second = flavor((8,), pk=5, gpu_model="H100")
    specs = [SpecFacts(g, f"{g} GPU", FLAVOR, g, 8, 64, 4) for g in (8,)]
    two = pool(flavor((0,)), second, specs={8: specs[0], 50: replace(specs[0], id=50, flavor=5)})
    found = alternatives(replace(spec(), spec=8), facts(pool=two), ())
    assert changes(found) == [{"spec": 50}]
    assert set(notes(found[0])) == {"other_gpu_model"}
    custom = alternatives(spec(custom_gpus=8, flavor=FLAVOR), facts(pool=two), ())
    assert changes(custom)[0] == {"spec": 50, "worker_count": 1, "custom_gpus": None, "flavor": None}


@pytest.mark.parametrize(
    ("wish", "worth"),
    [
        (spec(gpus=8, worker_count=2), True),  # waits
        (spec(gpus=8, worker_count=200), True),  # never fits
        (replace(spec(gpus=8, worker_count=2), image=None), True),  # not filled in yet
        (spec(gpus=8), False),  # starts
        (replace(spec(), spec=None), False),  # says too little
        (spec(gpus=8, worker_count=2, rdma=True), False),  # breaks a rule
        (spec(gpus=8, worker_count=0), False),
    ],
)
def test_when_it_is_worth_looking(wish, worth):
    assert worth_looking(estimate(wish, facts(pool=pool(flavor((8, 1)))))) == worth


idles = st.lists(st.integers(0, 8), min_size=1, max_size=5)
wishes = st.one_of(
    st.builds(lambda g, n: spec(gpus=g, worker_count=n), st.sampled_from((1, 2, 4, 8)), st.integers(1, 12)),
    st.builds(lambda n: spec(custom_gpus=n), st.integers(1, 50)),
)
shapes = st.builds(Shape.of_spec, st.sampled_from((1, 2, 4, 8)), st.integers(1, 4))


@st.composite
def worlds(draw):
    """A pool with its queue, and another of the same zone."""

    def queue(flavor_id):
        first = st.integers(10, 99)
        rows = st.builds(
            WaitingFacts, st.just(flavor_id), st.integers(0, 2), st.sampled_from((TEAM, OTHER)), shapes,
            st.integers(1, 3), first,
        )  # fmt: skip
        return tuple(draw(st.lists(rows, max_size=3, unique_by=lambda w: w.first)))

    def rest():
        held, limit = draw(st.integers(0, 8)), draw(st.one_of(st.none(), st.integers(0, 40)))
        return {
            "quotas": {TEAM: QuotaFacts(held, limit), OTHER: QuotaFacts(0, None)},
            "strict": draw(st.booleans()),
            "paused": draw(st.integers(0, 9)) == 0,
        }

    head = draw(st.sampled_from((None, 10, 50)))
    network = draw(st.sampled_from(("none", "roce")))
    since = NOW - timedelta(minutes=draw(st.sampled_from((10, 90))))
    home = flavor(draw(idles), network=network, head_job=head, head_since=since if head else None)
    other = elsewhere(draw(idles), waiting=queue(200), **rest())
    rdma = network == "roce" and draw(st.booleans())
    return facts(pool=pool(home, **rest()), waiting=queue(FLAVOR)), other, rdma


@given(world=worlds(), wish=wishes)
def test_every_alternative_starts_now_and_asks_for_no_more(world, wish):
    given_facts, other, rdma = world
    wish = replace(wish, rdma=rdma)
    before = estimate(wish, given_facts)
    if not worth_looking(before):
        return
    found = alternatives(wish, given_facts, [other])
    assert len(found) <= MOST
    for one in found:
        there = given_facts
        if one.changes.get("pool") == other.pool.id:
            there = replace(given_facts, pool=other.pool, waiting=other.waiting)
        after = estimate(replace(wish, **one.changes), there)
        assert after.valid
        assert after.starts_now
        assert one.starts_now
        assert (one.startable, one.unit) == (after.startable, after.unit)
        assert one.shape.total_gpus == after.total_gpus <= before.total_gpus
        assert one.changes
    assert len({str(sorted(one.changes.items(), key=str)) for one in found}) == len(found)


@pytest.mark.django_db
def test_the_other_pools_are_read_as_they_are(team, django_assert_num_queries):
    zone, stranger = make_zone(), make_team()
    home, near = make_pool(team, zone=zone), make_pool(team, stranger, zone=zone, max_gpus=12, network="ib")
    bare = make_flavor(near, nodes=1)
    bare.specs.all().delete()
    spare = worker_spec(near, 2)
    spare.__class__.objects.filter(pk=spare.pk).update(retired_at=NOW)
    make_pool(team)  # in another zone
    make_pool(stranger, zone=zone)
    make_pool(team, zone=zone, retired_at=NOW)
    occupy(near, [3, 8])
    make_job(make_user(stranger), near, gpus=8, workers=1)
    make_job(make_user(team), near, gpus=1, workers=12)

    def as_the_form_reads(pool):
        return pool_read(access_read(make_user(team).pk, pool.pk), team.pk)

    at_home, alone = as_the_form_reads(home), as_the_form_reads(make_pool(team))
    with django_assert_num_queries(2):
        (found,) = neighbours_read(at_home, team.pk)
    assert found.pool == as_the_form_reads(near)
    assert sorted(found.waiting, key=str) == sorted(waiting_by_pool([near.pk])[near.pk], key=str)
    with django_assert_num_queries(1):
        assert neighbours_read(alone, team.pk) == []
    with django_assert_num_queries(1):
        assert neighbours_read(at_home, team.pk, lambda neighbour: neighbour.pool.id != near.pk) == []


@pytest.mark.django_db
def test_a_dry_run_lists_them_and_what_is_adopted_starts(api, team, pool):
    occupy(pool, [4, 4, 0])
    client = api(make_user(team))
    body = {"pool": pool.pk, "image": make_image(pool.zone).pk, "command": "x", "name": "x"}
    body |= {"spec": worker_spec(pool, 8).pk, "worker_count": 2}
    answer = client.post("/api/v1/jobs/?dry_run=true", body).json()
    assert answer["starts_now"] is False
    first, last = answer["alternatives"]
    assert first["changes"] == {"spec": worker_spec(pool, 4).pk, "worker_count": 4}
    assert (first["startable"], first["starts_now"]) == (4, True)
    assert [n["message"] for n in first["notes"]] == [
        "Workers (nnodes) 2 → 4",
        "GPUs of a Worker (nproc_per_node) 8 → 4",
    ]
    assert last["changes"] == {"worker_count": 1}
    for one in answer["alternatives"]:
        assert client.post("/api/v1/jobs/?dry_run=true", body | one["changes"]).json()["starts_now"] is True
    assert client.post("/api/v1/jobs/?dry_run=true", body | first["changes"]).json()["alternatives"] == []
    assert not Job.objects.exists()
