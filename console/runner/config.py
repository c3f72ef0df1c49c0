"""What the environment asks for."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Refusal(Exception):
    """The console cannot start; the message says why and what helps."""


@dataclass(frozen=True)
class Config:
    """The runner's settings; `redis_url` is empty where the runner starts its own Redis.

    Pages are served at `port`, downloads at the one after it.
    """

    port: int
    data_dir: Path
    redis_url: str
    demo: bool

    @property
    def files_port(self) -> int:
        return self.port + 1

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_dir(self) -> Path:
        return self.data_dir / "logs"


def read_config(environ: Mapping[str, str]) -> Config:
    """The settings in `environ`; a Refusal for a value that means nothing."""
    if not sys.platform.startswith("linux"):
        raise Refusal("Trainyard runs on Linux; elsewhere use Docker: docker compose up")
    return Config(
        port=_port(environ.get("PORT") or "8000"),
        data_dir=(ROOT / Path(environ.get("DATA_DIR") or "var").expanduser()).resolve(),
        redis_url=environ.get("REDIS_URL", ""),
        demo=environ.get("DEMO", "1") != "0",
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65534:
        raise Refusal(f"PORT must be a number from 1 to 65534, not {text!r}.")
    return int(text)
