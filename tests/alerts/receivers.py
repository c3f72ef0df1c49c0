"""Receivers of alerts on loopback: a web server whose next answers a test chooses, and a mail server."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller


@dataclass
class Reply:
    """What is answered: all of it, nothing at all (`mute`), less of the body than announced (`short`),
    the end of the connection (`hang_up`), or byte after byte without an end (`drip_head`, `drip_body`)."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    mute: bool = False
    hang_up: bool = False
    short: bool = False
    drip_head: bool = False
    drip_body: bool = False


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Sink:
    """Keeps what came, in order, and gives the replies that were put, then always the last."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.replies: deque[Reply] = deque([Reply()])
        self.connections = 0
        self.over = threading.Event()
        self.port = 0
        self.scheme = "http"
        self.named: list[str | None] = []  # by TLS

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def answer(self, *replies: Reply) -> None:
        self.replies = deque(replies)

    def answer_json(self, document: Any, status: int = 200) -> None:
        self.answer(Reply(status, json.dumps(document).encode(), {"Content-Type": "application/json"}))

    def next(self) -> Reply:
        return self.replies.popleft() if len(self.replies) > 1 else self.replies[0]


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def log_message(self, *_args: Any) -> None:
        pass

    def do_POST(self) -> None:
        sink: Sink = self.server.sink
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        sink.asked.append(Asked("POST", self.path, dict(self.headers.items()), body))
        reply = sink.next()
        self.close_connection = True
        if reply.mute:
            sink.over.wait()
        elif not reply.hang_up:
            self.reply(reply, sink)

    do_GET = do_POST  # noqa: N815

    def reply(self, reply: Reply, sink: Sink) -> None:
        if reply.drip_head:
            self.drip(b"HTTP/1.1 200 OK\r\nX-Slow: ", sink)
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body) + (10_000 if self.longer(reply) else 0)))
        self.end_headers()
        self.wfile.write(reply.body)
        if reply.drip_body:
            self.drip(b"", sink)

    @staticmethod
    def longer(reply: Reply) -> bool:
        return reply.short or reply.drip_body

    def drip(self, first: bytes, sink: Sink) -> None:
        """One byte after the other, each well within any timeout of a socket."""
        self.wfile.write(first)
        try:
            while not sink.over.wait(0.02):
                self.wfile.write(b"x")
                self.wfile.flush()
        except OSError:
            pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    sink: Sink

    def get_request(self) -> Any:
        connection, address = super().get_request()
        self.sink.connections += 1
        return connection, address

    def handle_error(self, *_args: Any) -> None:
        pass


class _Server6(_Server):
    address_family = socket.AF_INET6


@contextmanager
def http_sink(host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> Iterator[Sink]:
    sink = Sink()
    server = (_Server6 if ":" in host else _Server)((host, 0), _Handler)
    server.sink, sink.port = sink, server.server_address[1]
    if tls is not None:
        sink.scheme = "https"
        tls.sni_callback = lambda _socket, name, _context: sink.named.append(name)
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        sink.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def dead_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def dripping_port(greeting: bytes = b"220 ") -> Iterator[int]:
    """A server that sends byte after byte from the first moment on, whatever the protocol."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.02)

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _address = listening.accept()
                except TimeoutError:
                    continue
                with connection:
                    try:
                        connection.sendall(greeting)
                        while not over.wait(0.02):
                            connection.sendall(b"x")
                    except OSError:
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            over.set()
            thread.join()


class MailSink:
    """Keeps the mails that came; `answers` are what it says of a recipient or the data instead of yes."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.raw: list[bytes] = []
        self.recipients: list[list[str]] = []
        self.rcpt_answer = "250 OK"
        self.data_answer = "250 OK"
        self.port = 0

    async def handle_RCPT(  # noqa: N802
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        if self.rcpt_answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return self.rcpt_answer

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.data_answer.startswith("2"):
            self.raw.append(envelope.content)
            self.recipients.append(list(envelope.rcpt_tos))
        return self.data_answer


@contextmanager
def mail_sink() -> Iterator[MailSink]:
    sink = MailSink()
    sink.port = dead_port()
    controller = Controller(sink, hostname="127.0.0.1", port=sink.port)
    controller.start()
    try:
        yield sink
    finally:
        controller.stop()
