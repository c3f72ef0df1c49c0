"""The import contracts hold, and they notice what they are there for."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]


@pytest.fixture
def copy(tmp_path):
    """The packages' Python files and the contracts in a folder of their own."""
    only_code = shutil.ignore_patterns("__pycache__", "*.mo")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=only_code)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> tuple[int, str]:
    done = subprocess.run([LINT, "--no-cache", "--no-logo"], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_code_keeps_the_contracts(copy):
    code, output = lint(copy)
    assert code == 0, output


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("pools/capacity.py", "import jobs.states", "apps are layered"),
        ("teams/models.py", "import console.settings", "apps are layered"),
        ("engines/base.py", "import django", "engines know no app"),
        ("jobs/services.py", "import engines.base", "only runs knows engines"),
        ("pools/capacity.py", "import pools.models", "inside an app"),
        ("jobs/states.py", "import subprocess", "value modules are plain Python"),
    ],
)
def test_a_wrong_way_import_is_noticed(copy, file, line, contract):
    with (copy / file).open("a") as module:
        module.write(f"\n{line}\n")
    code, output = lint(copy)
    assert code != 0
    broken = [text for text in output.splitlines() if text.strip().endswith("BROKEN")]
    assert any(contract in text for text in broken), output
