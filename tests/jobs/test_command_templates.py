"""Templates of start commands, run by a real bash: they end as the program in them ends, whatever it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.command.templates import NO_FOLDER, Filled, Ground, Template, filled

HELP = Path(__file__).resolve().parents[2] / "docs" / "help"
STANDS_IN = '#!/bin/bash\necho "$(basename "$0") $*" >> "$CALLS"\nexit "${PROGRAM_RC:-0}"\n'
MULTI_LINE = 'set -e\nexport A=1\ncat > "$PWD/note" <<\'END\'\nwritten\nEND\nexit_with "$A" "$PROGRAM_RC"'
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    (tmp_path / "a volume").mkdir()
    return tmp_path / "a volume"


@pytest.fixture
def run(tmp_path: Path, volume: Path) -> Run:
    """Runs a command as a Worker would; its programs note how they were called, and end as they are told."""
    programs, work, temporary = (tmp_path / name for name in ("bin", "workspace", "tmp"))
    for folder in (programs, work, temporary):
        folder.mkdir()
    for name in ("python3", "torchrun", "exit_with"):
        stand_in = STANDS_IN
        if name == "python3":
            stand_in = stand_in.replace("exit ", '[[ $* == *prepare.py ]] && exit "${PREPARE_RC:-0}"\nexit ')
        (programs / name).write_text(stand_in)
        (programs / name).chmod(0o755)

    (tmp_path / "no-sleep.sh").write_text('sleep() { echo "sleep $*" >> "$CALLS"; }\n')

    def run(command: str, program_rc: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "command.sh"
        script.write_text(command)
        worker = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CALLS": str(tmp_path / "calls"),
            "PROGRAM_RC": str(program_rc),
            "BASH_ENV": str(tmp_path / "no-sleep.sh"),
            "TMPDIR": str(temporary),
            "TRAINYARD_JOB_ID": "jo-0123456789abcdef",
            "TRAINYARD_ATTEMPT": "1",
            "TRAINYARD_WORKER": "0",
            "CUDA_VISIBLE_DEVICES": "4,5",
            "WORLD_SIZE": "2",
            "RANK": "1",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29511",
        }
        return subprocess.run(
            ["bash", str(script)],
            cwd=work,
            env=worker | env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def calls(volume: Path) -> str:
    return (volume.parent / "calls").read_text()


@pytest.mark.parametrize("program_rc", [0, 3, 143])
@pytest.mark.parametrize("command", ["", "exit_with a", MULTI_LINE, "exit_with; exit"])
@pytest.mark.parametrize("template", Template)
def test_it_ends_as_its_program_ends(
    run: Run, volume: Path, template: Template, command: str, program_rc: int
) -> None:
    text = filled(template, Ground(str(volume), "run-1", command))
    done = run(text.text, program_rc)
    assert done.returncode == program_rc, done.stderr
    called = calls(volume)
    if text.whole and command:
        assert "exit_with" in called
    else:
        assert "train.py" in called


@pytest.mark.parametrize("template", Template)
def test_a_program_that_was_ended_by_a_signal_is_told_from_success(
    run: Run, volume: Path, template: Template
) -> None:
    if template != Template.TORCHRUN:
        done = run(filled(template, Ground(str(volume), "", "bash -c 'kill -9 $$'")).text)
        assert done.returncode == 137


def test_the_log_is_kept_beside_what_the_console_keeps(run: Run, volume: Path) -> None:
    done = run(filled(Template.LOG, Ground(str(volume), "", "echo out; echo err >&2")).text)
    kept = volume / "logs/jo-0123456789abcdef/worker-0.log"
    assert sorted(kept.read_text().split()) == ["err", "out"] == sorted(done.stdout.split())


def test_results_are_copied_after_success_and_after_failure(run: Run, volume: Path) -> None:
    command = filled(
        Template.UPLOAD, Ground(str(volume), "", 'echo 1 > "$OUTPUT_DIR/model"; exit "$PROGRAM_RC"')
    )
    results = volume / "results/jo-0123456789abcdef/worker-0"
    for program_rc in (0, 3):
        assert run(command.text, program_rc).returncode == program_rc
        assert (results / "model").exists()
        (results / "model").unlink()


@pytest.mark.parametrize(("program_rc", "ends"), [(0, 1), (3, 3)])
def test_results_that_cannot_be_copied_are_a_failure(
    run: Run, volume: Path, program_rc: int, ends: int
) -> None:
    (volume / "results").write_text("a file where the folder should be")
    done = run(filled(Template.UPLOAD, Ground(str(volume), "", 'exit "$PROGRAM_RC"')).text, program_rc)
    assert done.returncode == ends
    assert "could not be copied" in done.stderr


def test_the_place_is_kept_after_a_failure_alone_and_no_value_with_it(run: Run, volume: Path) -> None:
    command = filled(Template.KEEP, Ground(str(volume), "", 'echo x > half-done; exit "$PROGRAM_RC"')).text
    secret = "begin\nsekret-4711"
    assert run(command, 0, TOKEN=secret).returncode == 0
    assert not (volume / "debug").exists()
    assert run(command, 7, TOKEN=secret, HOLD_SECONDS="5").returncode == 7
    kept = volume / "debug/jo-0123456789abcdef/worker-0"
    assert (kept / "workspace/half-done").exists()
    names = (kept / "names-of-variables.txt").read_text()
    assert "TOKEN" in names
    assert "sekret" not in names
    assert "sleep 5" in calls(volume)


def test_torchrun_gets_what_the_platform_injects(run: Run, volume: Path) -> None:
    run(
        filled(
            Template.TORCHRUN, Ground(str(volume), "", "export A=1\npython3 -u my/train.py --lr 1e-3")
        ).text
    )
    told = "--nnodes=2 --node_rank=1 --master_addr=127.0.0.1 --master_port=29511 --nproc_per_node=2"
    assert calls(volume) == f"torchrun {told} my/train.py --lr 1e-3\n"


@pytest.mark.parametrize(
    ("command", "whole"),
    [
        ("python3 train.py", True),
        ("cd /a\nexec python -u b/train.py --x 1", True),
        ("python3 train.py | tee log", False),
        ("python3 -m package", False),
        ("bash run.sh", False),
        ("torchrun train.py", False),
    ],
)
def test_torchrun_takes_over_only_what_it_can_run(command: str, whole: bool) -> None:
    assert filled(Template.TORCHRUN, Ground("/mnt/a", "", command)).whole is whole


def test_it_goes_on_from_the_latest_checkpoint(run: Run, volume: Path) -> None:
    command = filled(Template.RESUME, Ground(str(volume), "run-1"))
    run(command.text)
    assert calls(volume) == "python3 -u train.py\n"
    folder = volume / "checkpoints/run-1"
    for name, at in (("step-9.pt", 300), ("step-10.pt", 200), ("other.tmp", 400)):
        (folder / name).touch()
        os.utime(folder / name, (at, at))
    run(command.text)
    assert calls(volume).splitlines()[-1] == f"python3 -u train.py --resume {folder}/step-9.pt"


def test_one_prepares_and_the_others_wait(run: Run, volume: Path) -> None:
    command = filled(Template.PREPARE, Ground(str(volume), "", "exit_with")).text
    waited = run(command, 0, TRAINYARD_WORKER="1")
    assert (waited.returncode, calls(volume).count("sleep 1\n")) == (1, 1800)
    assert "exit_with" not in calls(volume)
    failed = run(command, 0, PREPARE_RC="4")
    assert (failed.returncode, "exit_with" in calls(volume)) == (4, False)
    assert run(command).returncode == 0
    assert run(command, 5, TRAINYARD_WORKER="1").returncode == 5
    assert "prepare.py" not in calls(volume).splitlines()[-1]
    later = run(command, 0, TRAINYARD_WORKER="1", TRAINYARD_ATTEMPT="2")
    assert later.returncode == 1  # what an earlier run prepared is not taken for this one's


def test_paths_and_names_are_put_in_as_they_are() -> None:
    text = filled(Template.RESUME, Ground("/mnt/it's @run/", "名称 $(x)", "true")).text
    assert "'/mnt/it'\"'\"'s @run'/checkpoints/my-run" in text
    assert NO_FOLDER in filled(Template.LOG, Ground()).text
    assert filled(Template.LOG, Ground("/mnt/a", "", "  \n")) == Filled(
        filled(Template.LOG, Ground("/mnt/a")).text, True
    )
    assert "@" not in filled(Template.LOG, Ground("/mnt/a")).text.replace("[@]", "")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("template", Template)
def test_the_help_shows_what_the_form_puts_in(template: Template, language: str) -> None:
    page = (HELP / language / "reliable-commands.md").read_text()
    section = page.partition(f"{{#{template}}}")[2].partition("\n{#")[0]
    text = filled(template, Ground("/mnt/public")).text
    assert f"```bash\n{text}```" in section
