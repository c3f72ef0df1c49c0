"""A stand-in for the engine, and a person."""

import pytest

from runs import watching
from tests.factories import make_team, make_user
from tests.runs.stand_in import StandIn


@pytest.fixture
def engine(monkeypatch):
    stand_in = StandIn()
    monkeypatch.setattr(watching, "engine_of", lambda kind: stand_in)
    return stand_in


@pytest.fixture
def user():
    return make_user(make_team())
