"""Programs that people start by hand find what they import, without Django being set up for them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "module", ["bench.cycle", "bench.submit", "bench.downloads", "tools.screenshots", "tools.check"]
)
def test_imports_by_itself(module):
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
