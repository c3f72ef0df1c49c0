"""One console for the tests that leave it as they found it, and one browser."""

import itertools
import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import started_browser
from tests.e2e.stack import Console


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(tmp_path_factory.mktemp("console") / "data") as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture
def own_console(tmp_path: pytest.TempPathFactory) -> Iterator[Console]:
    """A console that the test may kill."""
    with Console(tmp_path / "data") as mine:
        yield mine


_numbers = itertools.count(1)


@pytest.fixture
def word() -> str:
    """A number of seconds that no other process sleeps: a job's processes can be found by it."""
    return f"{os.getpid()}{next(_numbers):02}"
