"""Readers of downloads that take their time, and addresses for them."""

from __future__ import annotations

import http.client
import socket
from threading import Event, Thread
from urllib.parse import urlsplit

from tests.e2e.stack import Console

TAKEN_BYTES, PAUSE_S = 4096, 0.2


def signed_address(console: Console, key: str, rank: int = 0) -> str:
    """Where REST sends one who wants to download a Worker's log."""
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=30)
    headers = {"Authorization": f"Token {console.token('alice')}"}
    connection.request("GET", f"/api/v1/jobs/{key}/workers/{rank}/log/download/", headers=headers)
    answer = connection.getresponse()
    connection.close()
    assert answer.status == 302
    return answer.headers["Location"]


class SlowReaders:
    """So many downloads of one address; each takes a few KB now and then, until the block ends."""

    def __init__(self, address: str, count: int) -> None:
        self._address = urlsplit(address)
        self.ended = 0
        self._left = Event()
        self._thread = Thread(target=self._read)
        self._sockets = [self._open() for _ in range(count)]

    def _open(self) -> socket.socket:
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TAKEN_BYTES)
        reader.settimeout(60)
        reader.connect((self._address.hostname, self._address.port))
        reader.sendall(f"GET {self._address.path} HTTP/1.1\r\nHost: {self._address.netloc}\r\n\r\n".encode())
        return reader

    def __enter__(self) -> SlowReaders:
        for reader in self._sockets:
            assert reader.recv(TAKEN_BYTES).startswith(b"HTTP/1.1 200 "), "the download has begun"
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._left.set()
        self._thread.join()
        for reader in self._sockets:
            reader.close()
        assert not self.ended, "a download must outlast its slow readers"

    def _read(self) -> None:
        while not self._left.wait(PAUSE_S):
            for reader in self._sockets:
                self.ended += not reader.recv(TAKEN_BYTES)
