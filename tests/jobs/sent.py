"""What a filled form sends."""

from __future__ import annotations

from typing import Any

from pools.models import Pool
from tests.factories import worker_spec
from tests.jobs.pages import Page


def filled(page: Page, pool: Pool, /, **changed: Any) -> dict[str, Any]:
    """What the form would send with a Worker spec of 2 GPUs, a command and a name, and with the changes."""
    values = page.fields() | {
        "spec": [str(worker_spec(pool, 2).pk)],
        "command": ["echo hello"],
        "name": ["a job"],
    }
    return values | {name: v if isinstance(v, list) else [v] for name, v in changed.items()}
