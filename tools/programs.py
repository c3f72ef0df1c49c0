"""Programs of the system that some tests need, and what is not tested without them."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from console.runner.config import Refusal
from console.runner.redis_server import find_server
from engines.local.plan import PATH as WORKER_PATH
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


@cache
def pytorch_path() -> str:
    """The search path of Workers from the first Python on that has PyTorch; "" if none has."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    folders = WORKER_PATH.split(":")
    for start, folder in enumerate(folders):
        python = os.path.join(folder, "python3")
        if os.path.exists(python) and subprocess.run([python, "-I", "-c", look], check=False).returncode == 0:
            return ":".join(folders[start:])
    return ""


PROGRAMS = (
    Program("Chromium", "chromium", "browser tests", "browser", _on_path("chromium")),
    Program("Redis", "redis-server", "tests of the whole console", "stack", _has_redis),
    Program("curl", "curl", "the README's session, and downloads gone on with", "", _on_path("curl")),
    Program("proot", "proot", "engine tests under proot", "", _on_path("proot")),
)
POSTGRES = Program("PostgreSQL", "postgresql", "everything on PostgreSQL", "postgres", _has_postgres)
PYTORCH = Program(
    "PyTorch", "python3-torch", "the sum over Workers by the real PyTorch", "", lambda: bool(pytorch_path())
)
