"""A PostgreSQL server that lives exactly as long as one command, with its data in a temporary folder.

    python -m tools.private_postgres .venv/bin/python -m pytest tests/jobs

The command finds the server in DATABASE_URL. Only this machine reaches it, and only with its random password.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from console.runner.processes import tie_to_parent

_UNPRIVILEGED = ("postgres", "nobody")
_PATIENCE = 30.0
_SETTINGS = ("max_connections=200",)
# What tests write has not to survive a crash of the machine.
_NOT_DURABLE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


class NotInstalled(Exception):
    """There is no PostgreSQL server on this machine."""


def find_programs() -> Path:
    """The folder with `initdb` and `postgres`: the newest under /usr/lib/postgresql, else from the PATH."""
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    if versions:
        return max(versions, key=lambda path: int(path.parent.name) if path.parent.name.isdigit() else 0)
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    raise NotInstalled("no PostgreSQL server is installed (apt-get install postgresql)")


@contextmanager
def private_postgres(*, durable: bool = False) -> Iterator[str]:
    """Start a server, yield its DATABASE_URL, and end it however the block ends; may raise NotInstalled.

    A durable one syncs every commit to disk, as for a benchmark.
    """
    programs = find_programs()
    user = _server_user()
    password = secrets.token_urlsafe(24)
    with tempfile.TemporaryDirectory(prefix="trainyard-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _create_cluster(programs, folder, user, password)
        port = _free_port()
        settings = (f"port={port}", *_SETTINGS, *(() if durable else _NOT_DURABLE))
        server = _start(programs, folder, user, settings)
        try:
            _wait(server, folder, port)
            yield f"postgres://trainyard:{password}@127.0.0.1:{port}/postgres"
        finally:
            _end(server)


def _server_user() -> pwd.struct_passwd | None:
    """Whom to run the server as: PostgreSQL refuses root; everybody else runs it as themselves."""
    if os.getuid() != 0:
        return None
    for name in _UNPRIVILEGED:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NotInstalled("root needs an unprivileged user to run PostgreSQL: postgres or nobody")


def _options(folder: Path, user: pwd.struct_passwd | None) -> dict[str, Any]:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    if user is None:
        return {"cwd": folder, "env": environment}
    return {
        "cwd": folder,
        "env": environment,
        "user": user.pw_uid,
        "group": user.pw_gid,
        "extra_groups": [],
    }


def _create_cluster(programs: Path, folder: Path, user: pwd.struct_passwd | None, password: str) -> None:
    password_file = folder / "password"
    password_file.touch(mode=0o600)
    password_file.write_text(password)
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)
        os.chown(password_file, user.pw_uid, user.pw_gid)
    command = [str(programs / "initdb"), "--pgdata=data", "--username=trainyard", "--auth=scram-sha-256"]
    command += ["--pwfile=password", "--encoding=UTF8", "--no-sync"]
    done = subprocess.run(command, **_options(folder, user), capture_output=True, text=True)
    password_file.unlink()
    if done.returncode:
        raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(
    programs: Path, folder: Path, user: pwd.struct_passwd | None, settings: tuple[str, ...]
) -> subprocess.Popen[bytes]:
    command = [str(programs / "postgres"), "-D", "data", "-h", "127.0.0.1", "-k", str(folder)]
    for setting in settings:
        command += ["-c", setting]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            command,
            **_options(folder, user),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=tie_to_parent(signal.SIGINT),
        )


def _wait(server: subprocess.Popen[bytes], folder: Path, port: int) -> None:
    """Wait until the server listens; RuntimeError with its log if it does not."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if (
                probe.connect_ex(("127.0.0.1", port)) == 0
                and "ready to accept" in (folder / "log").read_text()
            ):
                return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL does not start:\n{(folder / 'log').read_text()}")


def _end(server: subprocess.Popen[bytes]) -> None:
    """End the server fast; its signals are milder than the usual ones: INT drops the clients, QUIT aborts."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(number)
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
        return


def main(command: list[str]) -> int:
    """Run a command beside a private server and return its exit code."""
    try:
        with private_postgres() as url:
            return subprocess.run(command, env={**os.environ, "DATABASE_URL": url}).returncode
    except NotInstalled as reason:
        print(f"Not run: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
