"""`make test`, `make test-all` and `make lint`: every check, then what failed and what was not run.

With REQUIRE_ALL=1 (as in CI) a missing program is a failure instead of a line in the summary.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from tools.private_postgres import private_postgres
from tools.programs import POSTGRES, PROGRAMS, PYTORCH, Program

_PYTHON = sys.executable
_PYTEST = (_PYTHON, "-m", "pytest", "-q", "-m")
_PACKAGES = (
    *("console", "runs", "jobs", "images", "storage", "pools", "alerts", "teams", "engines", "tools"),
)
WITHOUT_DATABASE = ("engines", "examples", "runner", "tooling")  # the same on any database
LINTERS = {
    "ruff check": (_PYTHON, "-m", "ruff", "check", "--quiet", "."),
    "ruff format": (_PYTHON, "-m", "ruff", "format", "--check", "--quiet", "."),
    "djlint": (_PYTHON, "-m", "djlint", "--check", "--lint", "--quiet", "templates"),
    "mypy": (_PYTHON, "-m", "mypy", *_PACKAGES),
    "layers": (os.path.join(os.path.dirname(_PYTHON), "lint-imports"), "--no-logo"),
    "migrations": (_PYTHON, "manage.py", "makemigrations", "--check", "--dry-run"),
}


@dataclass
class Report:
    """What was run with which result, and what was not run and why."""

    results: list[tuple[str, bool, float]] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    def run(self, name: str, command: tuple[str, ...], *, quiet: bool, env: dict[str, str]) -> None:
        """Run one check; a quiet one shows its output only when it fails."""
        started = time.monotonic()
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT
        )
        good = done.returncode == 0
        self.results.append((name, good, time.monotonic() - started))
        if quiet and not good:
            print(f"\n--- {name} ---\n{done.stdout.decode(errors='replace')}", flush=True)

    @contextmanager
    def beside(self, name: str, command: tuple[str, ...], *, env: dict[str, str]) -> Iterator[None]:
        """Run one check while others run; what it prints is shown when it has ended."""
        started = time.monotonic()
        with tempfile.TemporaryFile() as output:
            running = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT)
            try:
                yield
                good = running.wait() == 0
            finally:
                running.terminate()
                running.wait()
            output.seek(0)
            print(f"\n--- {name} ---\n{output.read().decode(errors='replace')}", flush=True)
        self.results.append((name, good, time.monotonic() - started))

    def close(self) -> int:
        """Print the summary; the exit code of the whole."""
        print("\nSummary")
        for name, good, seconds in self.results:
            print(f"  {name:<24} {'ok' if good else 'FAILED':<7} {seconds:7.1f} s")
        for line in self.not_run:
            print(f"  not run: {line}")
        return 0 if all(good for _, good, _ in self.results) else 1


def lint(report: Report, env: dict[str, str]) -> None:
    """All that is cheap, each to its end, so that one look shows everything."""
    for name, command in LINTERS.items():
        report.run(name, command, quiet=True, env=env)


def markers(excluded: list[str]) -> str:
    """pytest's -m expression that leaves these marks out."""
    return " and ".join(f"not {mark}" for mark in excluded)


def test(report: Report, env: dict[str, str], missing: list[Program], *, everything: bool) -> None:
    """pytest with what this machine can run, and beside it everything on PostgreSQL if that is asked for."""
    absent = [program.marker for program in missing if program.marker]
    first = ["postgres", *absent] if everything else ["postgres", "slow", *absent]
    with _on_postgres(report, env, absent) if everything else nullcontext():
        report.run("pytest", (*_PYTEST, markers(first)), quiet=False, env=env)
    if not everything:
        report.not_run.append("slow tests, and everything on PostgreSQL: make test-all runs them")


@contextmanager
def _on_postgres(report: Report, env: dict[str, str], absent: list[str]) -> Iterator[None]:
    """Two runs on two processors: each waits for its own processes most of the time."""
    if not POSTGRES.is_there():
        report.not_run.append(POSTGRES.why_skipped())
        yield
        return
    rooms = (f"--ignore=tests/{room}" for room in WITHOUT_DATABASE)
    command = (*_PYTEST, markers(["once", *absent]), *rooms, "-p", "no:cacheprovider")
    with private_postgres() as url, tempfile.TemporaryDirectory(prefix="trainyard-check-") as folder:
        apart = {**env, "DATABASE_URL": url, "DATA_DIR": folder}
        with report.beside("pytest on PostgreSQL", command, env=apart):
            yield


def missing_programs(*, everything: bool) -> list[Program]:
    """The programs that this machine lacks; ends the run where they are required."""
    wanted = [*PROGRAMS, POSTGRES, PYTORCH] if everything else [*PROGRAMS]
    missing = [program for program in wanted if not program.is_there()]
    if missing and os.environ.get("REQUIRE_ALL") == "1":
        lines = "\n".join(f"  {program.why_skipped()}" for program in missing)
        sys.exit(f"REQUIRE_ALL=1, but these would not run:\n{lines}")
    return missing


def main(arguments: list[str]) -> int:
    """Run the checks away from var/, so that a console may go on beside them."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # by way of every `finally`
    report = Report()
    everything = "--all" in arguments
    with tempfile.TemporaryDirectory(prefix="trainyard-check-", ignore_cleanup_errors=True) as folder:
        env = {**os.environ, "DATA_DIR": folder}
        if "--lint" in arguments:
            lint(report, env)
            return report.close()
        missing = missing_programs(everything=everything)
        report.not_run = [program.why_skipped() for program in missing if program is not POSTGRES]
        lint(report, env)
        test(report, env, missing, everything=everything)
    return report.close()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
