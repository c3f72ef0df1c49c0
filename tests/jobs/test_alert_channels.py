"""The channels that a row of alerts may name, asked for when one comes back from where they are made."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from teams.models import Team, User
from tests.factories import make_channel, make_team, make_user

pytestmark = pytest.mark.django_db
CHANNELS = "/jobs/alert-channels/"


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def offered(client: Client, team: Team) -> list[str]:
    answer = client.get(CHANNELS, {"team": team.pk}).content.decode()
    return [" ".join(text.split()) for text in re.findall(r"<option[^>]*>([^<]*)</option>", answer)][1:]


def test_the_channels_for_jobs_of_the_team(client: Client, alice: User, team: Team) -> None:
    make_channel(alice, name="b mail")
    make_channel(make_user(team, admin=True, name="bob"), team, name="a chat")
    make_channel(make_user(team), name="somebody's own")
    assert offered(client, team) == ["a chat · bob", "b mail"]


@pytest.mark.parametrize("asked", ["", "x", "99999999999999999999", "another"])
def test_another_team_is_not_there(client: Client, alice: User, asked: str) -> None:
    other = make_team()
    team = str(other.pk) if asked == "another" else asked
    assert client.get(CHANNELS, {"team": team}).status_code == 404


def test_who_was_signed_out_gets_no_page(team: Team) -> None:
    assert Client().get(CHANNELS, {"team": team.pk}).status_code == 401
