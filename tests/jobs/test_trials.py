"""Trial runs: what becomes of the request, one at a time for a form, and the card that says how it goes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client

from jobs.models import Attempt, IdempotencyKey, Job
from jobs.scheduling import queue_cycle
from jobs.services import RequestRefused
from jobs.spec import JobSpec
from jobs.states import State
from jobs.trials import MOST_MINUTES, trial_create, trial_of
from pools.models import Pool
from teams.models import User
from tests.factories import make_job, make_spec, make_user, occupy, worker_spec
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db
TRIAL = "/jobs/trial/"
EARLIER = "The trial begun before is still under way."


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


@pytest.fixture
def sent(page: Page, pool: Pool) -> dict[str, Any]:
    """What the form would send, with three Workers and everything that a trial leaves out."""
    return filled(page, pool, worker_count="3", auto_restart="on", name="llm", max_runtime_minutes="600")


def draft(sent: dict[str, Any]) -> str:
    return str(sent["token"][0])


@pytest.mark.parametrize(
    ("asked", "tried"),
    [
        ({"worker_count": 4}, {"worker_count": 1, "custom_gpus": None}),
        ({"custom_gpus": 5, "worker_count": None, "spec": None}, {"worker_count": None, "custom_gpus": 5}),
        ({"custom_gpus": 20, "worker_count": None, "spec": None}, {"worker_count": None, "custom_gpus": 8}),
        ({"max_runtime_minutes": 3}, {"max_runtime_minutes": 3}),
        ({"max_runtime_minutes": None}, {"max_runtime_minutes": 10}),
        ({"max_runtime_minutes": 5000}, {"max_runtime_minutes": 10}),
        ({"auto_restart": True, "hang_action": "restart"}, {"auto_restart": False, "hang_action": None}),
        ({"hang_action": "fail"}, {"hang_action": "fail"}),
        ({"start_policy": "now", "priority": "low"}, {"start_policy": "queue", "priority": "low"}),
        ({"rdma": True}, {"rdma": False}),  # not known to be allowed
        ({"framework": "pytorch_ddp"}, {"framework": "pytorch_ddp", "command": "echo hello"}),
    ],
)
def test_a_trial_is_small_and_short(pool: Pool, asked: dict[str, Any], tried: dict[str, Any]) -> None:
    spec = JobSpec(**(make_spec(pool, workers=2).as_json() | {"env": (), "mounts": (), "tags": ()} | asked))
    trial = trial_of(spec, None, "x")
    assert {name: getattr(trial, name) for name in tried} == tried


def test_the_form_is_tried_and_is_still_there_for_the_job_itself(
    client: Client, pool: Pool, sent: dict[str, Any]
) -> None:
    card = client.post(TRIAL, sent | {"trial": ["1"]})
    trial = Job.objects.get()
    asked = trial.spec_asked
    assert card.status_code == 200
    assert trial.key in card.content.decode()
    assert (trial.name, trial.draft, trial.total_gpus) == ("llm (trial)", draft(sent), 2)
    assert (asked.worker_count, asked.auto_restart, asked.max_runtime_minutes) == (1, False, 10)
    assert trial.max_runtime_seconds == 600
    assert [m.mount_path for m in asked.mounts] == ["/mnt/public"]

    assert client.post(CREATE, sent).status_code == 303
    job = Job.objects.latest("pk")
    assert (job.name, job.draft, job.spec_asked.worker_count) == ("llm", "", 3)
    assert client.post(CREATE, sent).status_code == 303  # sent again, it is still the same job
    assert Job.objects.count() == 2


def test_without_javascript_it_leads_to_the_job(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    answer = client.post(CREATE, sent | {"trial": ["1"]})
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/jobs/{job.key}/")
    page = Page(client.get(answer["Location"])).source
    assert "A trial run was created." in page
    assert "Trial run of a form" in page
    assert not IdempotencyKey.objects.exists()


def test_two_clicks_make_one_trial_while_it_is_under_way(
    client: Client, pool: Pool, sent: dict[str, Any]
) -> None:
    client.post(TRIAL, sent)
    card = client.post(TRIAL, sent | {"command": ["something else"]})
    first = Job.objects.get()
    assert EARLIER in card.content.decode()
    again = client.get(Page(card).by_id("trial").attrs["hx-get"].partition("&seen=")[0] + "&earlier=1")
    assert EARLIER in again.content.decode()
    assert client.get(Page(card).by_id("trial").attrs["hx-get"]).status_code == 204
    answer = client.post(CREATE, sent | {"trial": ["1"]})
    page = Page(client.get(answer["Location"])).source
    assert EARLIER in page
    assert "A trial run was created." not in page
    with pytest.raises(IntegrityError):
        Job.objects.filter(pk=make_job(first.creator, pool).pk).update(draft=first.draft)


def test_a_new_trial_says_nothing_of_an_earlier_one(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    assert EARLIER not in client.post(TRIAL, sent).content.decode()
    Job.objects.update(state=State.FAILED)
    ended = client.get(TRIAL, {"draft": draft(sent), "earlier": "1"}).content.decode()
    assert EARLIER not in ended


def test_of_two_at_a_time_the_first_is_kept_though_it_has_ended(
    alice: User, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec(pool)
    winner, _first = trial_create(user=alice, spec=spec, draft="d")
    Job.objects.update(state=State.FAILED)

    def lost(**_asked: Any) -> Job:
        raise IntegrityError

    monkeypatch.setattr("jobs.trials.job_create", lost)
    assert trial_create(user=alice, spec=spec, draft="d") == (winner, False)
    with pytest.raises(RequestRefused, match="team_unknown"):  # a trial that alice may not see any more
        trial_create(user=alice, spec=spec, draft="another")


def test_a_long_token_is_cut_alike_everywhere(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    long = "t" * 50
    client.post(TRIAL, sent | {"token": [long]})
    assert Job.objects.get().key in client.get(TRIAL, {"draft": long}).content.decode()


def test_its_time_is_told_as_it_is(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    (button,) = Page(client.get(CREATE)).all("button", name="trial")
    assert button.attrs["title"] == f"One Worker, at most {MOST_MINUTES} minutes; the form stays as it is"
    client.post(TRIAL, sent)
    page = client.get(f"/jobs/{Job.objects.get().key}/").content.decode()
    assert f"Trial run of a form: one Worker, at most {MOST_MINUTES} minutes" in page


def test_after_its_end_there_may_be_another(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    client.post(TRIAL, sent)
    Job.objects.update(state=State.FAILED)
    card = client.post(TRIAL, sent).content.decode()
    first, second = Job.objects.order_by("pk")
    assert second.key in card
    assert first.key not in card
    assert second.key in client.get(TRIAL, {"draft": draft(sent)}).content.decode()


@pytest.mark.parametrize(
    ("changed", "texts"),
    [
        ({"command": [""]}, ["Start command", "This field is required."]),
        ({"worker_count": ["many"]}, ["Worker count", "Enter a whole number."]),
        ({"env_text": ["1A=x"]}, ["Environment variables"]),
    ],
)
def test_what_is_wrong_is_said(
    client: Client, pool: Pool, sent: dict[str, Any], changed: dict[str, Any], texts: list[str]
) -> None:
    card = client.post(TRIAL, sent | changed)
    assert card.status_code == 422
    assert [text for text in texts if text not in card.content.decode()] == []
    answer = client.post(CREATE, sent | changed | {"trial": ["1"]})
    assert answer.status_code == 422
    assert "Nothing was created." in answer.content.decode()
    assert not Job.objects.exists()


def test_a_form_without_a_name_can_be_tried(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    client.post(TRIAL, sent | {"name": [""]})
    assert Job.objects.get().name == "trial run"
    Job.objects.update(state=State.STOPPED)
    client.post(TRIAL, sent | {"name": ["n" * 128]})
    assert Job.objects.latest("pk").name == "n" * 120 + " (trial)"


def test_the_card_says_how_it_goes(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    occupy(pool, [8, 8, 8, 8])
    waiting = client.post(TRIAL, sent).content.decode()
    assert "Queued" in waiting
    assert "It waits at place 1." in waiting
    assert 'hx-trigger="every 2s"' in waiting
    seen = waiting.partition("seen=")[2].partition('"')[0]
    asked = {"draft": draft(sent), "seen": seen}
    assert client.get(TRIAL, asked).status_code == 204


def test_the_card_of_one_that_ended(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    client.post(TRIAL, sent)
    queue_cycle(pool.pk)
    assert Attempt.objects.get()
    reason = {"code": "exit_code", "data": {"rank": 0, "exit_code": 3}}
    Job.objects.update(state=State.FAILED, exit_code=3, reason=reason)
    card = client.get(TRIAL, {"draft": draft(sent)}).content.decode()
    job = Job.objects.get()
    assert "Failed" in card
    assert "exit code 3" in card
    assert f"/jobs/{job.key}/workers/0/log/" in card
    assert "hx-get" not in card


def test_a_card_is_for_whoever_made_the_trial(
    client: Client, alice: User, pool: Pool, sent: dict[str, Any]
) -> None:
    client.post(TRIAL, sent)
    asked = {"draft": draft(sent)}
    assert client.get(TRIAL, asked).status_code == 200
    assert client.get(TRIAL, {"draft": "another"}).status_code == 204
    assert client.get(TRIAL).status_code == 204
    client.force_login(make_user(alice.memberships.get().team))
    assert client.get(TRIAL, asked).status_code == 204
    client.logout()
    assert client.get(TRIAL, asked).status_code == 401
    assert client.post(TRIAL, sent).status_code == 401


def test_of_somebody_elses_form_nothing_is_tried(
    client: Client, alice: User, pool: Pool, sent: dict[str, Any]
) -> None:
    client.force_login(make_user(alice.memberships.get().team))
    assert client.post(TRIAL, sent).status_code == 401
    assert not Job.objects.exists()


def test_rdma_stays_where_the_trial_may_have_it(client: Client, pool: Pool, sent: dict[str, Any]) -> None:
    pool.flavors.update(network="roce")
    eight = str(worker_spec(pool, 8).pk)
    client.post(TRIAL, sent | {"spec": [eight], "worker_count": ["2"], "rdma": ["on"]})
    assert Job.objects.get().spec_asked.rdma
