"""What the console itself says of the templates that it offers: nothing."""

from __future__ import annotations

import pytest

from jobs.advice import advise
from jobs.command.exits import exit_findings
from jobs.command.templates import Ground, Template, filled
from jobs.spec import MountSpec
from pools.capacity import Shape
from tests.jobs.value_facts import facts, spec

COMMANDS = ["", "python3 -u /mnt/public/train.py", "cd /mnt/public\nset -e\npython3 -u train.py --epochs 3"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("template", Template)
def test_no_template_hides_how_its_program_ended(template: Template, command: str) -> None:
    text = filled(template, Ground("/mnt/public", "run-1", command)).text
    assert [finding.code for finding in exit_findings(text)] == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("template", Template)
def test_no_template_needs_a_second_look(template: Template, command: str) -> None:
    text = filled(template, Ground("/mnt/public", "run-1", command)).text
    spread = template == Template.TORCHRUN  # the others leave it to their program what it makes of GPUs
    gpus, workers, framework = (8, 2, "pytorch_ddp") if spread else (1, 1, "single")
    mounts = (MountSpec(1, "/mnt/public"),)
    asked = {"worker_count": workers, "framework": framework, "mounts": mounts, "command": text}
    found = advise(spec(gpus=gpus, **asked), facts(), Shape(gpus, gpus * workers))
    assert [(finding.code, dict(finding.data)) for finding in found] == []
