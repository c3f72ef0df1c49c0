"""Programs of the system that some tests need, and what is not tested without them."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from console.runner.config import Refusal
from console.runner.redis_server import find_server
from tools.private_postgres import NotInstalled, find_programs


@dataclass(frozen=True)
class Program:
    """`marker` is that of the tests that cannot run without it; "" where they skip themselves."""

    name: str
    package: str
    tests: str
    marker: str
    is_there: Callable[[], bool]

    def why_skipped(self) -> str:
        """What is not run and how to get it."""
        return f"{self.tests}: {self.name} is not installed (apt-get install {self.package})"


def _on_path(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _has_redis() -> bool:
    try:
        return bool(find_server())
    except Refusal:
        return False


def _has_postgres() -> bool:
    try:
        return find_programs().is_dir()
    except NotInstalled:
        return False


PROGRAMS = (
    Program("Chromium", "chromium", "browser tests", "browser", _on_path("chromium")),
    Program("Redis", "redis-server", "tests of the whole console", "stack", _has_redis),
    Program("curl", "curl", "the README's session, and downloads gone on with", "", _on_path("curl")),
    Program("proot", "proot", "engine tests under proot", "", _on_path("proot")),
)
POSTGRES = Program("PostgreSQL", "postgresql", "everything on PostgreSQL", "postgres", _has_postgres)
