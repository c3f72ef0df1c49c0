"""Whether the ports are free, and whether the console answers on them."""

import errno
import http.client
import socket
import time

from console.runner.config import Config, Refusal

_TELL_AFTER = 60.0
_DEMO_TEXT = "Sign in as admin, alice or bob (one team), or carol (another); the password is: demo"


def check_ports(config: Config) -> None:
    """A Refusal that names the port, if one of the two cannot be listened on."""
    after = config.files_port + 1
    other = after if config.port >= 1024 and after < 65535 else 8010
    way_out = f"Choose another: PORT={other} make run"
    _check(config.port, "", way_out)
    _check(config.files_port, " (PORT + 1, for downloads)", way_out)


def _check(port: int, what: str, way_out: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            busy = error.errno == errno.EADDRINUSE
            reason = "is in use by another program" if busy else f"cannot be opened: {error.strerror}"
            raise Refusal(f"Port {port}{what} {reason}. {way_out}") from error


class Greeter:
    """Says once that the console is ready, or that it takes unusually long."""

    def __init__(self, config: Config):
        self._config = config
        self._since = time.monotonic()
        self._next_look = self._since
        self._told_late = False
        self.ready = False

    def look(self) -> list[str]:
        """The lines to print now; asks the console at most once in half a second."""
        now = time.monotonic()
        if self.ready or now < self._next_look:
            return []
        self._next_look = now + 0.5
        parts = {"web": self._config.port, "files": self._config.files_port}
        late = [name for name, port in parts.items() if not is_healthy(port)]
        if not late:
            self.ready = True
            return self._greeting()
        if now - self._since > _TELL_AFTER and not self._told_late:
            self._told_late = True
            return [f"Not ready after {_TELL_AFTER:.0f} s; see {self._config.log_dir}/{late[0]}.log"]
        return []

    def _greeting(self) -> list[str]:
        lines = [f"Trainyard is ready: {self._config.address}"]
        if self._config.demo:
            lines.append(_DEMO_TEXT)
        return [*lines, "Ctrl-C ends the console; running jobs go on and are found again at the next start."]


def is_healthy(port: int) -> bool:
    """Whether /healthz answers 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
