"""Who takes a channel from others is asked first and told whose rules end; those others hear of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from alerts.inbox import lines_read
from alerts.models import Channel, Rule
from jobs.models import Job
from jobs.states import State
from teams.vault import decrypt
from tests.factories import make_channel, make_job, make_pool, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def shared() -> Any:
    """A channel of alice, with rules of hers, of bob and of two jobs of his, and of administrators."""
    team = make_team()
    alice, bob = make_user(team, name="alice"), make_user(team, name="bob")
    channel, pool = make_channel(alice, team, name="ops"), make_pool(team)
    live, ended = make_job(bob, pool), make_job(bob, pool)
    Job.objects.filter(pk=ended.pk).update(state=State.SUCCEEDED)
    subjects = [("person", alice.pk), *[("person", bob.pk)] * 2, ("pool", None)]
    for subject, pk in [*subjects, ("job", live.pk), ("job", ended.pk)]:
        Rule.objects.create(channel=channel, subject=subject, subject_id=pk, events=["failed"])
    return alice, bob, channel


def text(response: Any) -> str:
    return " ".join(Page(response).by_id("content").text.split())


def test_taking_it_back_asks_first_and_keeps_what_was_typed(client: Client, shared: Any) -> None:
    alice, bob, channel = shared
    client.force_login(alice)
    edit = f"/alerts/channels/{channel.pk}/edit/"
    sent = {"name": "mine", "target": "https://203.0.114.9/new", "secret": "", "team": "", "language": ""}
    asked = client.post(edit, sent | {"with_log": "on"})
    said = text(asked)
    assert "2 rules that new jobs of others begin with: bob (2)" in said
    assert "that your new jobs begin with" not in said
    assert "1 rule of jobs that have not ended" in said
    assert (Channel.objects.get().name, Rule.objects.count()) == ("ops", 6)
    answers = {name: values[0] for name, values in Page(asked).fields().items()}
    assert client.post(edit, answers)["Location"] == f"/alerts/channels/{channel.pk}/"
    kept = Channel.objects.get()
    assert (kept.name, kept.team, decrypt(kept.target)) == ("mine", None, "https://203.0.114.9/new")
    left = Rule.objects.values_list("subject", "subject_id")
    assert ("person", bob.pk) not in left
    assert ("person", alice.pk) in left
    assert len(left) == 2
    (line,) = lines_read(bob, 9)
    assert (line.told.title, line.told.path) == ("Channel not shared any more: ops", "/alerts/rules/")
    assert line.told.text == "3 rules of yours ended with it."
    assert lines_read(alice, 9) == []


def test_an_edit_that_ends_nothing_asks_nothing(client: Client, shared: Any) -> None:
    alice, bob, channel = shared
    client.force_login(alice)
    sent = {"name": "renamed", "target": "", "secret": "", "team": str(channel.team_id), "language": ""}
    assert client.post(f"/alerts/channels/{channel.pk}/edit/", sent).status_code == 302
    assert Rule.objects.count() == 6
    assert lines_read(bob, 9) == []


def test_deleting_says_whose_rules_end_and_tells_them(client: Client, shared: Any) -> None:
    alice, bob, channel = shared
    client.force_login(alice)
    said = text(client.get(f"/alerts/channels/{channel.pk}/delete/"))
    for line in (
        "1 rule that your new jobs begin with",
        "2 rules that new jobs of others begin with: bob (2)",
        "1 rule of jobs that have not ended",
        "1 rule of administrators, on pools or the machine",
    ):
        assert line in said
    client.post(f"/alerts/channels/{channel.pk}/delete/")
    assert not Rule.objects.exists()
    (line,) = lines_read(bob, 9)
    assert (line.told.title, line.told.text) == ("Channel deleted: ops", "3 rules of yours ended with it.")
    assert lines_read(alice, 9) == []


def test_rest_does_it_at_once_and_tells_them_too(api: Any, shared: Any) -> None:
    alice, bob, channel = shared
    assert api(alice).patch(f"/api/v1/alert-channels/{channel.pk}/", {"shared": False}).status_code == 200
    assert [line.told.text for line in lines_read(bob, 9)] == ["3 rules of yours ended with it."]
    assert api(alice).delete(f"/api/v1/alert-channels/{channel.pk}/").status_code == 204
    assert len(lines_read(bob, 9)) == 1  # nothing of his was left
