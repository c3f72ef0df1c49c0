"""What the check says of a start command is what bash does with it, when the training fails.

Commands run as the platform runs them: bash, as a script file. Programs are stand-ins (`exit_commands`).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from jobs.command.exits import exit_findings
from jobs.command.exits_inner import Inner
from jobs.command.exits_reading import read
from jobs.command.exits_run import End, Run
from jobs.command.exits_simple import Steps
from jobs.findings import Level
from tests.jobs.exit_commands import HIDING, TELLING, Hides, all_fixed
from tests.jobs.exit_scripts import random_script

SECONDS = 30
TRAIN = """#!/bin/bash
echo loss 1
[ -z "$ALL_FINE" ] || exit 0
case " $* " in *" fine "*) exit 0;; esac
exit 7
"""
PYTHON = f"""#!/bin/bash
case "$1" in -c|-|"") exec {sys.executable} "$@";; esac
case " $* " in *" fine "*) exit 0;; *train*) [ -n "$ALL_FINE" ] || exit 7;; esac
exit 0
"""
FINE = "#!/bin/bash\nexit 0\n"
REAL_PYTHON = ("python3 -c", "python3 - ")


def fails_anyway(row: Hides) -> bool:
    """Whether the failure is written into the command itself, so that nothing can go well in it."""
    return row.code in {"exit_cd", "exit_multiple", "exit_negated"} or any(
        w in row.command for w in REAL_PYTHON
    )


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    texts = {
        "train": TRAIN,
        **dict.fromkeys(("python3", "torchrun"), PYTHON),
        **dict.fromkeys(("sleep", "pip", "nvidia-smi", "wandb", "tensorboard"), FINE),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def end_of(command: str, programs: Path, folder: Path, *, all_fine: bool = False) -> int:
    script = folder / "command.sh"
    script.write_text(command)
    (folder / "env.sh").write_text("export FROM_ENV=1\n")
    with subprocess.Popen(
        ["bash", str(script)],
        cwd=folder,
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "ALL_FINE": "1" if all_fine else ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as running:
        try:
            return running.wait(SECONDS)
        finally:
            with suppress(ProcessLookupError):  # what the command left behind, if anything
                os.killpg(running.pid, signal.SIGKILL)


@pytest.mark.parametrize("row", HIDING, ids=lambda row: row.command)
def test_what_is_warned_of_ends_well_although_the_training_failed(
    row: Hides, programs: Path, tmp_path: Path
) -> None:
    assert exit_findings(row.command)
    assert end_of(row.command, programs, tmp_path) == 0


@pytest.mark.parametrize("row", [row for row in HIDING if row.fixed], ids=lambda row: row.command)
def test_with_what_is_offered_the_failure_shows(row: Hides, programs: Path, tmp_path: Path) -> None:
    assert end_of(all_fixed(row.command), programs, tmp_path) != 0


@pytest.mark.parametrize(
    "row",
    [row for row in HIDING if row.fixed and not fails_anyway(row)],
    ids=lambda row: row.command,
)
def test_what_is_offered_lets_a_good_training_end_well(row: Hides, programs: Path, tmp_path: Path) -> None:
    before = end_of(row.command, programs, tmp_path, all_fine=True)
    assert end_of(all_fixed(row.command), programs, tmp_path, all_fine=True) == before == 0


@pytest.mark.parametrize("command", TELLING)
def test_what_is_not_warned_of_fails_with_the_training(command: str, programs: Path, tmp_path: Path) -> None:
    assert [finding.code for finding in exit_findings(command)] == []
    assert end_of(command, programs, tmp_path) != 0


def test_the_table_is_long_enough_to_be_a_promise() -> None:
    assert len(HIDING) >= 100
    assert len(TELLING) >= len(HIDING)
    assert {row.code for row in HIDING if row.level == Level.WARNING} >= {"exit_pipe", "exit_background"}


def followed(command: str) -> End | None:
    """How the command ends if its `train` fails, as the check sees it; None if it does not come to it."""
    program = read(command)
    if program is None or program.wrong_at is not None:
        return None
    inner = Inner()
    base = Run(inner, Steps(20_000))
    base.end_of(program)
    work = next((part for part in base.works if part.text == "train"), None)
    end = Run(inner, Steps(20_000), work).end_of(program) if work else None
    return end if end and end.fired and end.ended and end.status.zero is not None else None


def compared(seed: int, count: int, programs: Path, folder: Path) -> int:
    """How many of `count` made-up scripts could be compared with bash; all of these agree."""
    source = random.Random(seed)
    done = 0
    for _ in range(count):
        command = random_script(source)
        end = followed(command)
        if end is not None:
            done += 1
            assert (end_of(command, programs, folder) == 0) is end.status.zero, command
    return done


def test_made_up_scripts_end_as_they_are_followed(programs: Path, tmp_path: Path) -> None:
    assert compared(seed=20, count=120, programs=programs, folder=tmp_path) > 20


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(4))
def test_many_made_up_scripts_end_as_they_are_followed(seed: int, programs: Path, tmp_path: Path) -> None:
    assert compared(seed=seed, count=1500, programs=programs, folder=tmp_path) > 200
