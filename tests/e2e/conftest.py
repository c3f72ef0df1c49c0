"""One console for the tests that leave it as they found it."""

from collections.abc import Iterator

import pytest

from tests.e2e.stack import Console


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(tmp_path_factory.mktemp("console") / "data") as started:
        yield started


@pytest.fixture
def own_console(tmp_path: pytest.TempPathFactory) -> Iterator[Console]:
    """A console that the test may kill."""
    with Console(tmp_path / "data") as mine:
        yield mine
