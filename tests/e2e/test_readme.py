"""The session in README.md, as it stands there, on the real console."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.stack import ROOT, Console

STORY = re.compile(r"^<!-- story -->\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.stack
@pytest.mark.timeout(360)
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_readme_story(console: Console, tmp_path: Path) -> None:
    blocks = STORY.findall((ROOT / "README.md").read_text())
    assert len(blocks) == len(re.findall("^```bash$", (ROOT / "README.md").read_text(), re.MULTILINE))
    env = console.env | {"CONSOLE": console.address}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"starts_now":true' in done.stdout
    assert "\nsucceeded\n" in done.stdout
    assert float(re.findall(r"^accuracy (0\.\d+)", done.stdout, re.MULTILINE)[-1]) > 0.9
    checkpoint = console.data_dir / "volumes/public/outputs/digits-1/checkpoint.json"
    assert checkpoint.stat().st_size > 1000
    assert str(checkpoint) in done.stdout
