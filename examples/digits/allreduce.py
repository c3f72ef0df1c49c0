"""Sum lists of numbers over all Workers, with plain sockets.

Rank 0 listens on MASTER_PORT and every other rank connects to it. One `sum` is a round trip: each rank
sends its numbers to rank 0, which adds them up in rank order (so that the result is the same each time)
and sends the totals back. No call waits for ever: a Worker that is lost or silent raises GroupError.
"""

import os
import socket
import struct
import time
from operator import add

HELLO, MAGIC = struct.Struct("!4sII"), b"SUM1"  # a Worker's first words: MAGIC, rank, world size


class GroupError(Exception):
    """Another Worker is gone, silent for too long, or never came."""


class Group:
    def __init__(self, timeout):
        self.rank, self.world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self.address = os.environ.get("MASTER_ADDR", "127.0.0.1")
        self.port, self.timeout = int(os.environ.get("MASTER_PORT", "29500")), timeout
        self.peers = {}  # rank -> socket: all the others on rank 0, only rank 0 elsewhere
        if not 0 <= self.rank < self.world:
            raise GroupError(f"RANK={self.rank} does not fit WORLD_SIZE={self.world}")

        # The sockets close when a process ends, in whatever way: whoever waits for it sees that at once.
        if self.rank > 0:
            self._connect(time.monotonic() + timeout)
        elif self.world > 1:
            self._serve(time.monotonic() + timeout)

    def sum(self, numbers):
        """The element-wise sum over all ranks of a list that is equally long on each."""
        totals, rank = list(numbers), 0
        message = struct.Struct(f"!{len(totals)}d")
        try:
            if self.rank > 0:
                self.peers[0].sendall(message.pack(*totals))
                return list(message.unpack(receive(self.peers[0], message.size)))
            for rank in sorted(self.peers):
                totals = list(map(add, totals, message.unpack(receive(self.peers[rank], message.size))))
            for rank in self.peers:
                self.peers[rank].sendall(message.pack(*totals))
        except OSError as error:  # a timeout is an OSError too
            raise GroupError(f"lost rank {rank} ({error})") from error
        return totals

    def _serve(self, deadline):
        local = self.address == "localhost" or self.address.startswith("127.")
        missing = set(range(1, self.world))
        with socket.create_server((self.address if local else "", self.port)) as server:
            while missing:
                try:
                    server.settimeout(max(deadline - time.monotonic(), 0.01))
                    peer, source = server.accept()
                except OSError as error:
                    raise GroupError(f"rank {missing} not here in {self.timeout:g} s ({error})") from error
                try:
                    peer.settimeout(min(5, self.timeout))
                    magic, rank, world = HELLO.unpack(receive(peer, HELLO.size))
                except OSError:
                    magic = None
                if magic == MAGIC and world == self.world and rank in missing:
                    self._keep(rank, peer)
                    missing.remove(rank)
                else:  # a port scanner, or a Worker of something else
                    print(f"ignored a connection from {source[0]}: not one of our Workers", flush=True)
                    peer.close()

    def _connect(self, deadline):
        why = None
        while time.monotonic() < deadline:
            try:
                peer = socket.create_connection((self.address, self.port), timeout=min(5, self.timeout))
                if peer.getsockname() != peer.getpeername():  # a free local port can connect to itself
                    self._keep(0, peer)
                    return peer.sendall(HELLO.pack(MAGIC, self.rank, self.world))
                peer.close()
            except OSError as error:  # it does not listen yet, or its name is not known yet
                why = error
            time.sleep(0.1)
        raise GroupError(f"rank 0 at {self.address}:{self.port} not reached in {self.timeout:g} s ({why})")

    def _keep(self, rank, peer):
        peer.settimeout(self.timeout)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # do not hold small messages back
        self.peers[rank] = peer


def receive(peer, size):
    data = b""
    while len(data) < size:
        data += (part := peer.recv(size - len(data)))
        if not part:
            raise ConnectionError("it closed the connection")
    return data
