"""Who may use DATA_DIR: one runner at a time."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from console.runner.config import Config, Refusal


def make_private(folder: Path) -> None:
    """Create a folder that only its owner may enter, or close one that was open to others."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise Refusal(f"Cannot use {folder}: {error.strerror}. Name another with DATA_DIR=…") from error


@contextmanager
def hold(config: Config) -> Iterator[None]:
    """Keep DATA_DIR for this process until the block or the process ends; a Refusal names who has it."""
    make_private(config.data_dir)
    descriptor = os.open(config.data_dir / "run.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal(_who(config, os.read(descriptor, 4096))) from None
        _sign(descriptor, config)
        yield
    finally:
        os.close(descriptor)


def _sign(descriptor: int, config: Config) -> None:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "port": config.port, "since": since}).encode(), 0)


def _who(config: Config, written: bytes) -> str:
    try:
        holder = json.loads(written)
        detail = f"process {holder['pid']}, port {holder['port']}, since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        detail = "a process that is just starting"
    return (
        f"{config.data_dir} is in use by another run of Trainyard: {detail}.\n"
        "End that one first, or start a second console beside it: DATA_DIR=var2 PORT=8010 make run"
    )
