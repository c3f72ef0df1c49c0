"""Whether the port is free, and whether the console answers on it."""

import errno
import http.client
import socket
import time

from console.runner.config import Config, Refusal

_TELL_AFTER = 60.0
_DEMO_TEXT = "Sign in as admin, alice or bob (one team), or carol (another); the password is: demo"


def check_port(port: int) -> None:
    """A Refusal that names the port, if it cannot be listened on."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            busy = error.errno == errno.EADDRINUSE
            reason = "is in use by another program" if busy else f"cannot be opened: {error.strerror}"
            other = port + 1 if 1024 <= port < 65535 else 8001
            raise Refusal(f"Port {port} {reason}. Choose another: PORT={other} make run") from error


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
        if is_healthy(self._config.port):
            self.ready = True
            return self._greeting()
        if now - self._since > _TELL_AFTER and not self._told_late:
            self._told_late = True
            return [f"Not ready after {_TELL_AFTER:.0f} s; see {self._config.log_dir}/web.log"]
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
