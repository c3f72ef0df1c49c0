"""A stand-in for the engine, and a person; or real jobs that leave files."""

import pytest

from runs import dropping, kept, watching
from tests.factories import make_team, make_user
from tests.runs.kept_runs import WRITES, KeptRuns
from tests.runs.stand_in import StandIn


@pytest.fixture
def engine(monkeypatch):
    stand_in = StandIn()
    monkeypatch.setattr(watching, "engine_of", lambda kind: stand_in)
    return stand_in


@pytest.fixture
def user():
    return make_user(make_team())


@pytest.fixture
def runs(tmp_path, monkeypatch, settings):
    """On any machine, whatever room its disk has."""
    settings.KEPT_FREE_PERCENT = 0
    made = KeptRuns(tmp_path / "runs")
    for module in (watching, kept, dropping):
        monkeypatch.setattr(module, "engine_of", made.engine)
    yield made
    made.close()


@pytest.fixture
def failed(runs):
    """A job that has just failed, with files."""
    job = runs.ended_of(WRITES + "exit 3")
    assert (job.state, job.exit_code) == ("failed", 3)
    return job
