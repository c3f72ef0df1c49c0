"""Stop and modify: a waiting job gives its place to a new one, in one step or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from jobs.estimate import Promise
from jobs.lifecycle import move
from jobs.models import Job, JobEvent, WaitingTotal
from jobs.reasons import job_waiting
from jobs.repeating import NotReplaced, job_replace
from jobs.scheduling import queue_cycle
from jobs.services import RequestRefused, job_stop
from jobs.states import State
from pools.models import Pool
from teams.models import Membership, Team, User
from tests.factories import make_job, make_pool, make_spec, make_team, make_user, occupy, worker_spec
from tests.jobs.pages import CREATE, Page

LAST = Promise(99, "capacity")


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team, name="alice")
    client.force_login(user)
    return user


@pytest.fixture
def job(alice: User, pool: Pool) -> Job:
    occupy(pool, [8, 8, 8])
    make_job(alice, pool, gpus=8, name="before")
    return make_job(alice, pool, gpus=8, name="waits")


def opened(client: Client, job: Job) -> Page:
    return Page(client.get(f"{CREATE}?from={job.key}&replace=1"))


def names() -> list[str]:
    return sorted(Job.objects.values_list("name", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize(("ahead", "gpus"), [(0, 8), (1, 4), (2, 1)])
def test_what_the_form_says_is_what_happens(
    client: Client, alice: User, pool: Pool, ahead: int, gpus: int
) -> None:
    """The job that is replaced does not stand in its own way: neither as a place nor as its class's first."""
    occupy(pool, [8, 8, 8])
    for n in range(ahead):
        make_job(alice, pool, gpus=8, name=f"before-{n}")
    job = make_job(alice, pool, gpus=8, name="waits")
    make_job(alice, pool, gpus=8, name="behind")
    page = opened(client, job)
    filled_in = page.fields() | {"spec": [str(worker_spec(pool, gpus).pk)], "name": ["new"]}
    shown = Page(client.post("/jobs/estimate/", filled_in)).fields()["promise"]
    assert shown == [f"place-{ahead + 2}-capacity"]  # behind those before it and the one behind it
    assert client.post(CREATE, filled_in | {"promise": shown}).status_code == 303
    place, _reason = job_waiting(Job.objects.get(name="new"))
    assert place.position == ahead + 2


@pytest.mark.django_db
def test_the_only_job_of_a_queue_starts_in_a_shape_that_fits(client: Client, alice: User, pool: Pool) -> None:
    """A strict queue, where what waits lets nobody pass: the replaced job would have been in the way."""
    Pool.objects.update(discipline="strict_fifo")
    occupy(pool, [4, 8, 8])
    job = make_job(alice, pool, gpus=8, name="waits")
    page = opened(client, job)
    filled_in = page.fields() | {"spec": [str(worker_spec(pool, 4).pk)], "name": ["new"]}
    shown = Page(client.post("/jobs/estimate/", filled_in))
    assert "Queue ahead 0 jobs" in " ".join(shown.by_id("summary").text.split())
    assert shown.fields()["promise"] == ["now"]
    assert client.post(CREATE, filled_in | {"promise": ["now"]}).status_code == 303
    queue_cycle(pool.pk)
    assert Job.objects.get(name="new").state == "deploying"


@pytest.mark.django_db
def test_the_new_job_comes_and_the_old_one_goes(client: Client, job: Job, pool: Pool) -> None:
    page = opened(client, job)
    assert "This takes the place of waits" in page.source
    assert [b.text.strip() for b in page.all("button", class_="btn-primary")] == ["Stop and create"]
    fields = page.fields()
    assert fields["promise"] == ["place-2-capacity"]  # it leaves
    sent = fields | {"spec": [str(worker_spec(pool, 4).pk)], "name": ["smaller"]}
    answer = client.post(CREATE, sent)
    assert answer.status_code == 303

    job.refresh_from_db()
    new = Job.objects.get(name="smaller")
    assert (job.state, job.reason["code"]) == ("stopped", "replaced")
    assert (new.state, new.origin, new.origin_kind, new.worker_gpus) == ("queued", job, "replacement", 4)
    assert sum(WaitingTotal.objects.values_list("jobs", flat=True)) == 2
    event = job.events.last()
    assert event is not None
    assert (event.code, event.actor) == ("stopped", job.creator)
    old, made = (client.get(f"/jobs/{key}/").content.decode() for key in (job.key, new.key))
    assert "Taken out of the queue: a modified job took its place." in old
    assert f'href="/jobs/{new.key}/"' in old
    assert "Stopped and modified" in made

    again = client.post(CREATE, sent)  # the second click
    assert again["Location"] == f"/jobs/{new.key}/"
    assert names() == ["before", "smaller", "waits"]
    assert JobEvent.objects.filter(job=job, code="stopped").count() == 1


@pytest.mark.django_db
def test_if_it_started_meanwhile_nothing_is_created(client: Client, job: Job, pool: Pool) -> None:
    fields = opened(client, job).fields()
    Job.objects.filter(name="before").delete()
    move([job.pk], State.QUEUED, State.DEPLOYING)
    answer = client.post(CREATE, fields | {"name": ["smaller"]})
    page = Page(answer)
    assert answer.status_code == 409
    assert "Nothing was created." in page.source
    assert "has started meanwhile (deploying)" in page.source
    job.refresh_from_db()
    assert (job.state, job.stop_requested_at, names()) == ("deploying", None, ["waits"])

    second = page.fields()  # nothing is lost, and the button now means what it says
    assert (second["name"], second["replaces"], second["origin"]) == (["smaller"], [""], [job.key])
    assert [b.text.strip() for b in page.all("button", class_="btn-primary")] == ["Create"]
    assert client.post(CREATE, second | {"promise": ["place-9-capacity"]}).status_code == 303
    new = Job.objects.get(name="smaller")
    assert (new.origin, new.origin_kind) == (job, "clone")
    job.refresh_from_db()
    assert job.state == "deploying"


@pytest.mark.django_db
def test_opened_too_late_it_is_a_clone_and_says_so(client: Client, job: Job) -> None:
    move([job.pk], State.QUEUED, State.DEPLOYING)
    page = opened(client, job)
    assert "has started meanwhile" in page.source
    assert page.fields()["replaces"] == [""]
    Job.objects.filter(pk=job.pk).update(state="failed")
    assert "it has ended (failed)" in opened(client, job).source


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changed", "status"), [({"command": ""}, 422), ({"promise": "now"}, 409), ({"worker_count": "900"}, 422)]
)
def test_what_is_not_created_stops_nothing(
    client: Client, job: Job, changed: dict[str, str], status: int
) -> None:
    fields = opened(client, job).fields() | {name: [value] for name, value in changed.items()}
    answer = client.post(CREATE, fields)
    assert answer.status_code == status
    assert Page(answer).fields()["replaces"] == ["1"]  # it is still meant to
    job.refresh_from_db()
    assert (job.state, job.reason, names()) == ("queued", None, ["before", "waits"])
    assert sum(WaitingTotal.objects.values_list("jobs", flat=True)) == 2
    assert not JobEvent.objects.filter(code="stopped").exists()


@pytest.mark.django_db
def test_only_who_may_stop_it_may_replace_it(client: Client, job: Job, team: Team, pool: Pool) -> None:
    fields = opened(client, job).fields()
    mate, admin = make_user(team), make_user(team, admin=True)
    client.force_login(mate)
    page = opened(client, job)
    assert "You may not stop" in page.source
    theirs = fields | {"typed_by": [str(mate.pk)], "replaces": ["1"], "name": ["theirs"]}
    answer = client.post(CREATE, theirs)
    assert answer.status_code == 409
    assert "You may not stop" in answer.content.decode()
    assert names() == ["before", "waits"]
    assert "replace=1" not in client.get(f"/jobs/{job.key}/").content.decode()
    assert "replace=1" not in client.get("/jobs/").content.decode()

    client.force_login(admin)
    assert f"?from={job.key}&amp;replace=1" in client.get(f"/jobs/{job.key}/").content.decode()
    assert f"?from={job.key}&amp;replace=1" in client.get("/jobs/").content.decode()
    assert client.post(CREATE, opened(client, job).fields() | {"name": ["admin's"]}).status_code == 303
    job.refresh_from_db()
    assert job.state == "stopped"


@pytest.mark.django_db
def test_of_a_job_that_one_does_not_see_nothing_happens(client: Client, job: Job) -> None:
    carol = make_user(other := make_team())
    theirs = make_pool(other)
    client.force_login(carol)
    assert client.get(f"{CREATE}?from={job.key}&replace=1").status_code == 404
    mine = make_job(carol, theirs)
    fields = opened(client, mine).fields() | {"origin": [job.key], "promise": ["place-9-capacity"]}
    assert client.post(CREATE, fields).status_code == 303
    job.refresh_from_db()
    mine.refresh_from_db()
    assert (job.state, mine.state) == ("queued", "queued")


@pytest.mark.django_db
def test_into_another_pool(alice: User, job: Job, team: Team) -> None:
    other = make_pool(team)
    new = job_replace(user=alice, spec=make_spec(other), promise=Promise(), replaced=job)
    assert (new.pool, new.origin) == (other, job)
    with pytest.raises(NotReplaced):
        job_replace(user=alice, spec=make_spec(other), promise=Promise(), replaced=job)
    without_pool, waits = replace(make_spec(other), pool=None), make_job(alice, other)
    with pytest.raises(RequestRefused):
        job_replace(user=alice, spec=without_pool, promise=Promise(), replaced=waits)


@pytest.mark.django_db
def test_it_takes_its_own_place_in_the_quota_and_queue(alice: User, pool: Pool) -> None:
    """The one that is replaced is out of the queue when the new one is judged."""
    occupy(pool, [8, 8, 8])
    only = make_job(alice, pool, gpus=8)
    new = job_replace(user=alice, spec=make_spec(pool, gpus=8), promise=Promise(1, "capacity"), replaced=only)
    assert new.state == "queued"


@pytest.mark.django_db
def test_who_left_the_team_replaces_nothing(alice: User, job: Job, pool: Pool) -> None:
    Membership.objects.filter(user=alice).delete()
    with pytest.raises(NotReplaced):
        job_replace(user=alice, spec=make_spec(pool), promise=LAST, replaced=job)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rival", ["start", "stop", "replace"])
def test_two_at_a_time(rival: str) -> None:
    """Whoever is first has it: of a start, a stop and two replacements at once only one comes about."""
    team = make_team()
    user, pool = make_user(team), make_pool(team, nodes=1)
    job = make_job(user, pool, gpus=8)
    barrier = Barrier(2)

    def take_over() -> Any:
        spec = make_spec(pool, gpus=8)
        barrier.wait()
        return job_replace(user=user, spec=spec, promise=LAST, replaced=job)

    def other() -> Any:
        if rival == "replace":
            return take_over()
        barrier.wait()
        return (
            queue_cycle(pool.pk) if rival == "start" else job_stop(job=Job.objects.get(pk=job.pk), actor=user)
        )

    def call(work: Any) -> Any:
        try:
            return work()
        except NotReplaced as kept:
            return kept
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(call, [take_over, other])
    job.refresh_from_db()
    replaced = [one for one in (first, second) if isinstance(one, Job) and one.pk != job.pk]
    assert Job.objects.filter(origin=job).count() == len(replaced) <= 1
    assert JobEvent.objects.filter(job=job, code__in=["stopped", "deploying"]).count() == 1
    if replaced:
        assert (job.state, job.reason["code"]) == ("stopped", "replaced")
    else:
        assert rival != "replace"
        assert job.state == ("deploying" if rival == "start" else "stopped")
