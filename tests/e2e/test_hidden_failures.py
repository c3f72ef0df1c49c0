"""Commands that hide a failure: warned of before they are sent, run as they are, told beside the job."""

from __future__ import annotations

import pytest

from tests.e2e.stack import Console

pytestmark = pytest.mark.stack


@pytest.mark.parametrize(
    ("command", "warned", "state", "exit_code"),
    [
        ('python3 -c "raise SystemExit(9)" | tee /tmp/x', "exit_pipe", "succeeded", 0),
        ('set -o pipefail; python3 -c "raise SystemExit(9)" | tee /tmp/x', None, "failed", 9),
        ("set -o pipefail; false | tee /tmp/x", None, "failed", 1),
        ('python3 -c "raise SystemExit(9)"; echo upload done', "exit_later_command", "succeeded", 0),
        ('python3 -c "raise SystemExit(9)" || sleep 0.1', "exit_ignored", "succeeded", 0),
        ('python3 -c "raise SystemExit(9)"', None, "failed", 9),
    ],
)
def test_what_hides_a_failure_is_said_before_and_after(
    console: Console, command: str, warned: str | None, state: str, exit_code: int
) -> None:
    body = console.offer() | {"command": command}
    dry = console.call("POST", "jobs/?dry_run=true", body)
    hiding = [finding["code"] for finding in dry["findings"] if finding["code"].startswith("exit_")]
    assert hiding == ([warned] if warned else [])
    job = console.run(command)
    assert (job["state"], job["exit_code"]) == (state, exit_code)
    assert [f["code"] for f in job["findings"] if f["code"].startswith("exit_")] == hiding
    assert job["command"] == command
