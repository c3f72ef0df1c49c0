"""Engines to test: the local engine in each mode that this machine can give."""

from __future__ import annotations

import pytest

from engines.local.engine import LocalEngine
from engines.local.sandbox import choose
from tests.engines.stand import Stand

MODES = ("bubblewrap", pytest.param("proot", marks=pytest.mark.slow), "none")


def make_stand(tmp_path, mode: str) -> Stand:
    data = tmp_path / "data"
    choice = choose(mode)
    if not choice.mode:
        pytest.skip(choice.reason)
    return Stand(LocalEngine(data / "runs", mode), data, mode)


@pytest.fixture(params=MODES)
def stand(request, tmp_path):
    """The local engine in each mode."""
    made = make_stand(tmp_path, request.param)
    yield made
    made.close()


@pytest.fixture
def boxed(tmp_path):
    """The local engine with bubblewrap."""
    made = make_stand(tmp_path, "bubblewrap")
    yield made
    made.close()


@pytest.fixture
def traced(tmp_path):
    """The local engine with proot."""
    made = make_stand(tmp_path, "proot")
    yield made
    made.close()


@pytest.fixture
def bare(tmp_path):
    """The local engine without any sandbox."""
    made = make_stand(tmp_path, "none")
    yield made
    made.close()
