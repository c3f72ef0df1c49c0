"""The alerts of a request, and the rules of the job that come of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from alerts.models import Channel, Rule
from jobs.estimate import estimate
from jobs.forms.alerts import NAMES
from jobs.lifecycle import move
from jobs.models import Job
from jobs.services import job_create
from jobs.spec import AlertAsked, JobSpec
from jobs.states import State
from jobs.trials import trial_create, trial_of
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_channel, make_job, make_pool, make_spec, make_team, make_user
from tests.jobs.answers import errors, made
from tests.jobs.pages import CREATE, Page
from tests.jobs.places import LIVE, notes
from tests.jobs.value_facts import facts, spec

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"
Api = Callable[[User], APIClient]


@pytest.fixture
def alice(team: Team) -> User:
    return make_user(team, make_team())


@pytest.fixture
def body(body: dict[str, Any], team: Team) -> dict[str, Any]:
    return body | {"team": team.pk}


@pytest.fixture
def mine(alice: User) -> Channel:
    return make_channel(alice)


@pytest.fixture
def shared(team: Team) -> Channel:
    return make_channel(make_user(team, admin=True), team)


def told(channel: Channel, *events: str, minutes: int | None = None) -> dict[str, Any]:
    return {"events": list(events or ("failed",)), "channel": channel.pk, "minutes": minutes}


def usual(user: User, channel: Channel, *events: str) -> None:
    Rule.objects.create(channel=channel, subject="person", subject_id=user.pk, events=list(events))


def rules(job: Job) -> list[tuple[int, list[str], int | None]]:
    found = Rule.objects.filter(subject="job", subject_id=job.pk).order_by("pk")
    return [(rule.channel_id, rule.events, rule.minutes) for rule in found]


def refused(answer: Any) -> list[tuple[int, str, str | None]]:
    return [(answer.status_code, one["code"], one["attr"]) for one in answer.json()["errors"]]


def test_a_job_has_the_rules_that_it_asks_for(
    api: Api, alice: User, body: dict[str, Any], mine: Channel, shared: Channel
) -> None:
    asked = [told(mine, "failed", "succeeded"), told(shared, "queued_too_long", "failed", minutes=30)]
    job = made(api(alice).post(JOBS, body | {"alerts": asked}))
    assert job["alerts"] == asked
    row = Job.objects.get()
    assert rules(row) == [(mine.pk, ["failed", "succeeded"], None), (shared.pk, asked[1]["events"], 30)]
    looked = Rule.objects.filter(subject="job", look_at__isnull=False).get()
    assert looked.look_at == row.created_at + timedelta(minutes=30)


def test_an_estimate_makes_no_rule(api: Api, alice: User, body: dict[str, Any], mine: Channel) -> None:
    client = api(alice)
    assert client.post(f"{JOBS}?dry_run=true", body | {"alerts": [told(mine)]}).json()["valid"]
    assert not Rule.objects.exists()


def test_who_does_not_say_has_the_usual_ones_that_the_team_may_use(
    api: Api, alice: User, body: dict[str, Any], mine: Channel, shared: Channel
) -> None:
    usual(alice, mine, "failed")
    usual(alice, make_channel(alice, alice.memberships.latest("pk").team), "failed")
    usual(make_user(), mine, "succeeded")
    client = api(alice)
    for more in ({}, {"alerts": None}):
        assert made(client.post(JOBS, body | more))["alerts"] == [told(mine)]
    assert made(client.post(JOBS, body | {"alerts": []}))["alerts"] == []


@pytest.mark.parametrize("whose", ["stranger", "mate", "other team"])
def test_channels_that_the_teams_jobs_may_not_use_are_unknown(
    api: Api, alice: User, team: Team, body: dict[str, Any], whose: str
) -> None:
    other = alice.memberships.latest("pk").team
    channel = {
        "stranger": lambda: make_channel(make_user(make_team())),
        "mate": lambda: make_channel(make_user(team)),
        "other team": lambda: make_channel(alice, other),
    }[whose]()
    answer = api(alice).post(JOBS, body | {"alerts": [told(channel)]})
    assert errors(answer) == [("channel_unknown", "alerts.0.channel")]
    assert channel.name not in answer.content.decode()


def test_a_disabled_channel_is_a_warning(api: Api, alice: User, body: dict[str, Any], mine: Channel) -> None:
    Channel.objects.filter(pk=mine.pk).update(disabled_at=timezone.now())
    found = made(api(alice).post(JOBS, body | {"alerts": [told(mine)]}))["findings"]
    assert ("channel_disabled", "warning", "alerts.0.channel") in {
        (f["code"], f["level"], f["field"]) for f in found
    }


def test_a_wrong_form_is_refused_as_such(api: Api, alice: User, body: dict[str, Any]) -> None:
    client = api(alice)
    for alert, expected in (
        ({"channel": 1}, ("required", "alerts.0.events")),
        ({"events": ["failed"]}, ("required", "alerts.0.channel")),
        ({"events": ["failed"], "channel": "1"}, ("invalid", "alerts.0.channel")),
        ({"events": ["failed"], "channel": 1, "name": "x"}, ("unknown", "alerts.0.name")),
    ):
        assert errors(client.post(JOBS, body | {"alerts": [alert]})) == [expected]


def test_an_unknown_event_is_told_with_what_was_meant(
    api: Api, alice: User, body: dict[str, Any], mine: Channel
) -> None:
    answer = api(alice).post(JOBS, body | {"alerts": [told(mine, "suceeded")]})
    assert "Did you mean “succeeded”?" in answer.json()["errors"][0]["detail"]


def test_of_anothers_private_channel_nothing_is_told(
    api: Api, alice: User, team: Team, body: dict[str, Any], mine: Channel, shared: Channel
) -> None:
    key = made(api(alice).post(JOBS, body | {"alerts": [told(mine), told(shared)]}))["id"]
    seen = api(make_user(team)).get(f"{JOBS}{key}/")
    assert seen.json()["alerts"] == [told(mine) | {"channel": None}, told(shared)]
    assert mine.name not in seen.content.decode()


@pytest.mark.parametrize("call", ["rerun", "clone"])
def test_a_repetition_tells_whom_its_creator_may_tell(
    api: Api, alice: User, team: Team, body: dict[str, Any], mine: Channel, shared: Channel, call: str
) -> None:
    key = made(api(alice).post(JOBS, body | {"alerts": [told(mine), told(shared, "succeeded")]}))["id"]
    mate = api(make_user(team))
    if call == "rerun":
        follows = mate.post(f"{JOBS}{key}/rerun/?dry_run=true").json()["follows"]
        assert [f["code"] for f in follows] == ["alerts_left_out"]
        again = made(mate.post(f"{JOBS}{key}/rerun/"))
        assert "alerts" in {d["field"] for d in again["origin"]["differences"]}
    else:
        again = made(mate.post(JOBS, mate.get(f"{JOBS}{key}/clone/").json()))
    assert again["alerts"] == [told(shared, "succeeded")]
    own = made(api(alice).post(f"{JOBS}{key}/rerun/"))
    assert own["alerts"] == [told(mine), told(shared, "succeeded")]
    assert own["origin"]["differences"] == []


def test_differences_show_no_channel_that_is_hidden(
    api: Api, alice: User, team: Team, body: dict[str, Any], mine: Channel
) -> None:
    key = made(api(alice).post(JOBS, body | {"alerts": [told(mine)]}))["id"]
    mate = api(make_user(team))
    again = mate.post(f"{JOBS}{key}/rerun/").json()
    assert again["origin"]["differences"] == [
        {"field": "alerts", "how": "changed", "old": [told(mine) | {"channel": None}], "new": []}
    ]


def test_a_job_of_before_is_repeated_with_the_usual_ones(
    api: Api, alice: User, pool: Pool, mine: Channel
) -> None:
    job = make_job(alice, pool)
    del job.request["alerts"]
    job.save(update_fields=["request"])
    usual(alice, mine, "succeeded")
    again = made(api(alice).post(f"{JOBS}{job.key}/rerun/"))
    assert again["alerts"] == [told(mine, "succeeded")]


def test_alerts_change_until_the_end(
    api: Api, alice: User, team: Team, body: dict[str, Any], mine: Channel, shared: Channel
) -> None:
    client = api(alice)
    key = made(client.post(JOBS, body | {"alerts": [told(mine)]}))["id"]
    wanted = [told(shared, "running_too_long", minutes=5)]
    before = timezone.now()
    changed = client.patch(f"{JOBS}{key}/", {"alerts": wanted})
    assert (changed.status_code, changed.json()["alerts"]) == (200, wanted)
    looked = Rule.objects.get(subject="job").look_at
    assert looked is not None
    assert before <= looked <= timezone.now()  # its limit may be over already
    assert client.patch(f"{JOBS}{key}/", {"alerts": wanted}).status_code == 200  # the same: no change
    events = [event for event in Job.objects.get().events.all() if event.code == "alerts_changed"]
    assert [event.actor for event in events] == [alice]
    assert client.get(f"{JOBS}{key}/events/").json()["results"][-1]["message"] == "alerts changed"
    assert refused(client.patch(f"{JOBS}{key}/", {"alerts": [told(shared, "x")]})) == [
        (400, "event_unknown", "alerts.0.events")
    ]
    job = Job.objects.get()
    move([job.pk], State.QUEUED, State.STOPPED)
    late = client.patch(f"{JOBS}{key}/", {"alerts": []})
    assert refused(late) == [(409, "has_ended", None)]
    assert rules(job) == [(shared.pk, ["running_too_long"], 5)]


def test_an_admin_leaves_private_channels_of_others_alone(
    api: Api, alice: User, team: Team, body: dict[str, Any], mine: Channel, shared: Channel
) -> None:
    key = made(api(alice).post(JOBS, body | {"alerts": [told(mine), told(shared)]}))["id"]
    admin = api(make_user(team, admin=True))
    admin.patch(f"{JOBS}{key}/", {"alerts": []})
    assert rules(Job.objects.get()) == [(mine.pk, ["failed"], None)]
    assert refused(admin.patch(f"{JOBS}{key}/", {"alerts": [told(mine)]})) == [
        (400, "channel_unknown", "alerts.0.channel")
    ]
    assert api(make_user(team)).patch(f"{JOBS}{key}/", {"alerts": []}).status_code == 403


def test_a_trial_tells_nobody(alice: User, pool: Pool, mine: Channel) -> None:
    asked = make_spec(pool, alerts=(AlertAsked(("failed",), mine.pk),))
    job, _new = trial_create(user=alice, spec=trial_of(asked, None, "trial"), draft="x")
    assert rules(job) == []


def test_nothing_is_left_of_a_job_that_is_refused(alice: User, pool: Pool, mine: Channel) -> None:
    asked = make_spec(pool, alerts=(AlertAsked(("failed",), mine.pk),), name="")
    with pytest.raises(Exception, match="name: required"):
        job_create(user=alice, spec=asked)
    assert not Rule.objects.exists()


@pytest.mark.parametrize(
    ("asked", "hinted"),
    [
        (spec(alerts=(), gpus=8), True),
        (spec(alerts=(), gpus=4, worker_count=2, framework="pytorch_ddp"), True),
        (spec(alerts=(), auto_restart=True), True),
        (spec(alerts=(), worker_count=33, framework="pytorch_ddp"), True),
        (spec(alerts=(), gpus=8, max_runtime_minutes=31), True),
        (spec(alerts=(), gpus=8, max_runtime_minutes=30), False),
        (spec(alerts=(), gpus=4), False),
        (spec(alerts=None, gpus=8), False),
        (spec(alerts=(AlertAsked(("failed",), 1),), gpus=8), False),
    ],
)
def test_a_hint_where_nobody_is_told_of_much(asked: JobSpec, hinted: bool) -> None:
    found = [(f.code, str(f.level), f.field) for f in estimate(asked, facts()).findings]
    assert (("no_alert", "hint", "alerts") in found) == hinted


def form_of(client: Client, **query: str) -> dict[str, Any]:
    return Page(client.get(CREATE, query)).fields()


def rows_of(fields: dict[str, Any]) -> list[str]:
    return [value for value in fields["alert_channel"] if value]


def test_the_form_begins_with_the_usual_ones(
    client: Client, alice: User, pool: Pool, mine: Channel, team: Team
) -> None:
    usual(alice, mine, "failed")
    client.force_login(alice)
    page = Page(client.get(CREATE, {"team": str(team.pk)}))
    assert page.by_id("said-alerts").text.strip() == f"Failed → {mine.name}"
    assert rows_of(page.fields()) == [str(mine.pk)]
    assert page.fields()["alert_event"] == ["0.failed"]


def test_without_rows_nobody_is_told(client: Client, alice: User, mine: Channel, team: Team) -> None:
    client.force_login(alice)
    page = Page(client.get(CREATE, {"team": str(team.pk)}))
    assert page.by_id("said-alerts").text.strip() == "nobody is told"
    assert rows_of(page.fields()) == []


def test_another_team_takes_its_channels_along_and_brings_them_back(
    client: Client, alice: User, pool: Pool, mine: Channel, shared: Channel, team: Team
) -> None:
    other = alice.memberships.latest("pk").team
    make_pool(other, zone=pool.zone)
    client.force_login(alice)
    sent = form_of(client, team=str(team.pk)) | {
        "alert_channel": [str(mine.pk), str(shared.pk)],
        "alert_timed": ["", "queued_too_long"],
        "alert_minutes": ["", "30"],
        "alert_event": ["0.failed", "1.succeeded"],
    }
    there = Page(client.post(LIVE, sent | {"team": [str(other.pk)]}))
    fields = there.fields()
    assert rows_of(fields) == [str(mine.pk)]
    assert f"The alert channel {shared.name} is not for jobs of this team" in " ".join(notes(there))
    moved = sent | {name: fields[name] for name in (*NAMES, "laid_aside") if name in fields}
    shown = {"team": [str(team.pk)], "shown_team": [str(other.pk)]}
    back = Page(client.post(LIVE, moved | shown)).fields()
    assert {name: back[name] for name in NAMES} == {name: sent[name] for name in NAMES}


def test_a_row_that_says_half_is_an_error_there(
    client: Client, alice: User, pool: Pool, mine: Channel, team: Team
) -> None:
    client.force_login(alice)
    sent = form_of(client, team=str(team.pk)) | {"name": ["x"], "command": ["true"]}
    channel, timed = {"alert_channel": [str(mine.pk)]}, {"alert_timed": ["queued_too_long"]}
    event, unknown = {"alert_event": ["0.failed"]}, {"alert_channel": ["999999999"]}
    for values, places, said in (
        (channel, {"alert_event"}, "Choose at least one event"),
        (event, {"alert_channel"}, "Choose a channel"),
        (channel | timed, {"alert_minutes"}, "Say after how many minutes."),
        (channel | timed | {"alert_minutes": ["x"]}, {"alert_minutes"}, "Must be from 1 minute to"),
        (channel | timed | {"alert_minutes": ["0"]}, {"alert_minutes"}, "Must be from 1 minute to"),
        (timed, {"alert_minutes", "alert_channel"}, "Choose a channel"),
        (event | unknown, {"alert_channel"}, "There is no such alert channel"),
    ):
        answer = client.post(CREATE, sent | values)
        assert (answer.status_code, said in answer.content.decode()) == (422, True), said
        marked = {e.attrs.get("name") for e in Page(answer).elements if "aria-invalid" in e.attrs}
        assert marked - {"image"} == places, said
    assert not Job.objects.exists()


def test_a_colleagues_channel_says_whose_it_is(
    client: Client, alice: User, mine: Channel, shared: Channel, team: Team
) -> None:
    client.force_login(alice)
    page = Page(client.get(CREATE, {"team": str(team.pk)}))
    shown = {e.attrs.get("value"): " ".join(e.text.split()) for e in page.all("option")}
    assert shown[str(mine.pk)] == mine.name
    assert shown[str(shared.pk)] == f"{shared.name} · {shared.owner.username}"


def asked_job(user: User, pool: Pool, *channels: Channel) -> Job:
    return make_job(user, pool, alerts=tuple(AlertAsked(("failed",), channel.pk) for channel in channels))


def test_the_page_of_a_job_tells_who_is_told(
    client: Client, alice: User, team: Team, pool: Pool, mine: Channel, shared: Channel
) -> None:
    job = asked_job(alice, pool, mine, shared)
    for user, seen in ((alice, mine.name), (make_user(team), "a private channel of somebody else")):
        client.force_login(user)
        page = Page(client.get(f"/jobs/{job.key}/"))
        shown = page.by_id("alerts").text.split()
        assert " ".join(shown).count("Failed →") == 2
        assert f"Failed → {seen}" in " ".join(shown)
        assert f"Failed → {shared.name}" in " ".join(shown)
        assert (f"/jobs/{job.key}/alerts/" in page.source) == (user == alice)


def test_alerts_change_on_a_page_of_their_own(
    client: Client, alice: User, team: Team, pool: Pool, mine: Channel, shared: Channel
) -> None:
    job = asked_job(alice, pool, mine, shared)
    admin = make_user(team, admin=True)
    client.force_login(admin)
    page = Page(client.get(f"/jobs/{job.key}/alerts/"))
    assert rows_of(page.fields()) == [str(shared.pk)]
    assert "Failed → a private channel of somebody else" in page.source
    assert mine.name not in page.source
    sent = page.fields() | {"alert_timed": ["queued_too_long"]}
    answer = client.post(f"/jobs/{job.key}/alerts/", sent)
    assert (answer.status_code, "Say after how many minutes." in answer.content.decode()) == (422, True)
    sent |= {"alert_minutes": ["0"]}
    assert (
        "Must be from 1 minute to 90 days." in client.post(f"/jobs/{job.key}/alerts/", sent).content.decode()
    )
    more = client.post(f"/jobs/{job.key}/alerts/", sent | {"add_row": ["alert"]})
    assert len(Page(more).fields()["alert_channel"]) == 2
    sent |= {"alert_minutes": ["20"]}
    assert client.post(f"/jobs/{job.key}/alerts/", sent).status_code == 302
    assert rules(job) == [(mine.pk, ["failed"], None), (shared.pk, ["failed", "queued_too_long"], 20)]


def test_who_may_not_stop_a_job_may_not_change_its_alerts(
    client: Client, alice: User, team: Team, pool: Pool, mine: Channel
) -> None:
    job = asked_job(alice, pool, mine)
    for user, status in ((make_user(team), 403), (make_user(make_team()), 404)):
        client.force_login(user)
        assert client.get(f"/jobs/{job.key}/alerts/").status_code == status
        assert client.post(f"/jobs/{job.key}/alerts/", {"alerts_asked": "1"}).status_code == status
    client.force_login(alice)
    move([job.pk], State.QUEUED, State.STOPPED)
    assert 'id="alert-rows"' not in client.get(f"/jobs/{job.key}/alerts/").content.decode()
    late = client.post(f"/jobs/{job.key}/alerts/", {"alerts_asked": "1"}, follow=True)
    assert "nobody is told of anything more" in late.content.decode()
    assert rules(job) == [(mine.pk, ["failed"], None)]
