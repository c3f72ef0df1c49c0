"""`make` explains itself, and preparing the environment says what is missing."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import check, prepare, programs

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments):
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("arguments", [(), ("help",)])
def test_make_lists_every_target(arguments):
    code, output = make(*arguments)
    assert code == 0
    listed = set(re.findall(r"make ([a-z-]+)", output))
    assert {"run", "test", "test-all", "lint", "format", "bench", "lock", "messages", "clean"} <= listed


def test_an_old_python_is_told_so(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer"):
        prepare.check_python()


def test_a_missing_venv_module_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(prepare, "venv_works", lambda: False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="apt-get install python3-venv"):
        prepare.make_venv()


def test_an_unchanged_lock_is_not_installed_again(monkeypatch, tmp_path):
    calls = []
    done = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(prepare, "ROOT", str(tmp_path))
    monkeypatch.setattr(prepare, "VENV", str(tmp_path))
    monkeypatch.setattr("subprocess.run", lambda command, **options: calls.append(command) or done)
    lock = tmp_path / "requirements.txt"
    for text in ("a==1", "a==1", "a==2"):
        lock.write_text(text)
        prepare.install("requirements.txt")
    assert len(calls) == 2
    assert all("--require-hashes" in command for command in calls)


@pytest.mark.parametrize(
    ("url", "found", "wanted"), [("", None, True), ("", "/bin/x", False), ("redis://h", None, False)]
)
def test_redis_comes_from_the_wheel_only_where_there_is_none(monkeypatch, url, found, wanted):
    monkeypatch.setenv("REDIS_URL", url)
    monkeypatch.setattr("shutil.which", lambda name: found)
    assert prepare.redis_is_missing() is wanted


def test_a_missing_program_is_a_failure_where_everything_is_required(monkeypatch):
    absent = programs.Program("Chromium", "chromium", "browser tests", "browser", lambda: False)
    monkeypatch.setattr(check, "PROGRAMS", (absent,))
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    assert check.missing_programs(everything=False) == [absent]
    monkeypatch.setenv("REQUIRE_ALL", "1")
    with pytest.raises(
        SystemExit, match=r"browser tests: Chromium is not installed \(apt-get install chromium\)"
    ):
        check.missing_programs(everything=False)


def test_the_summary_tells_failures_and_what_was_not_run(capsys):
    report = check.Report(not_run=["browser tests: Chromium is not installed"])
    environment = {"PATH": "/bin:/usr/bin"}
    report.run("good", ("true",), quiet=True, env=environment)
    report.run("bad", ("sh", "-c", "echo why; exit 1"), quiet=True, env=environment)
    assert report.close() == 1
    printed = capsys.readouterr().out
    assert "--- bad ---\nwhy" in printed
    assert re.search(r"good +ok", printed)
    assert re.search(r"bad +FAILED", printed)
    assert "not run: browser tests" in printed


def test_what_runs_beside_is_shown_when_it_has_ended_and_counts_too(capsys):
    report = check.Report()
    environment = {"PATH": "/bin:/usr/bin"}
    with report.beside("other", ("sh", "-c", "echo said; exit 3"), env=environment):
        report.run("first", ("true",), quiet=True, env=environment)
    assert [(name, good) for name, good, _ in report.results] == [("first", True), ("other", False)]
    assert "--- other ---\nsaid" in capsys.readouterr().out


def test_what_runs_beside_does_not_outlive_an_interruption(tmp_path):
    told = tmp_path / "pid"
    command = ("sh", "-c", f"echo $$ > {told}.new; mv {told}.new {told}; exec sleep 600")
    report = check.Report()

    def interrupted() -> None:
        with report.beside("other", command, env={"PATH": "/bin:/usr/bin"}):
            while not told.exists():
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not Path("/proc", told.read_text().strip()).exists()


def test_only_what_a_machine_lacks_is_left_out():
    assert check.markers(["postgres", "slow"]) == "not postgres and not slow"
    assert check.markers([]) == ""
