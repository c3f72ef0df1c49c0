"""The path check on the whole console: hint, tick and engine by themselves, also after all was killed."""

from __future__ import annotations

import pytest

from tests.e2e.stack import Console, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(300)]


def ask(console: Console, **fields: object) -> str:
    body = console.offer() | {"mounts": [console.volume_mount()], "command": "sh /mnt/public/digits/run.sh"}
    return console.call("POST", "path-check/", body | fields)["id"]


def answered(console: Console, key: str) -> dict:
    wait_until(
        lambda: console.call("GET", f"path-check/{key}/")["state"] in ("done", "failed"),
        f"answer of {key}",
        show=lambda: console.call("GET", f"path-check/{key}/"),
    )
    return console.call("GET", f"path-check/{key}/")


def test_from_the_request_to_the_answer(console: Console) -> None:
    idle = console.idle_gpus()
    answer = answered(console, ask(console, create=["/mnt/public/outputs/made-by-check"]))
    assert answer["state"] == "done", answer
    assert {path["kind"] for path in answer["paths"]} <= {"folder", "file"}
    assert (console.data_dir / "volumes/public/outputs/made-by-check").is_dir()
    assert [script["path"] for script in answer["scripts"]] == ["/mnt/public/digits/run.sh"]
    assert console.idle_gpus() == idle


def test_a_check_outlives_a_console_that_is_killed(own_console: Console) -> None:
    key = ask(own_console)
    own_console.kill()
    own_console.start()
    assert answered(own_console, key)["state"] == "done"
