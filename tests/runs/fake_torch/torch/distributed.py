"""The first process takes the others' tensors at the place that it was given, and gives back the sum."""

import datetime
import json
import os
import sys
import time
from multiprocessing.connection import Client, Listener

from torch import FAULT, cuda

_others, _first = [], None


def is_available():
    return FAULT != "not distributed"


def is_gloo_available():
    return FAULT != "no gloo"


def is_nccl_available():
    return cuda.is_available()


class TCPStore:
    def __init__(self, host_name, port, *, world_size, is_master, timeout, wait_for_workers):
        if FAULT == "old":
            raise TypeError("__init__(): incompatible constructor arguments")
        assert isinstance(timeout, datetime.timedelta)
        assert (port == 0) is is_master
        assert not wait_for_workers
        self.place, self.timeout = (host_name, port), timeout.total_seconds()
        self.listener = Listener(self.place, backlog=world_size) if is_master else None
        self.port = self.listener.address[1] if is_master else port


def init_process_group(backend, *, store, rank, world_size, timeout):
    global _first
    if "FAKE_TORCH_TOLD" in os.environ:
        told = {"backend": backend, "host": store.place[0], "port": store.port, "rank": rank}
        told["interfaces"] = [os.environ.get(f"{name}_SOCKET_IFNAME") for name in ("GLOO", "NCCL")]
        with open(f"{os.environ['FAKE_TORCH_TOLD']}.{rank}", "w") as file:
            told |= {"size": world_size, "seconds": timeout.total_seconds(), "cwd": os.getcwd()}
            json.dump(told, file)
    if FAULT == "dies":
        print("terminate called after throwing an instance of 'gloo::EnforceNotMet'", file=sys.stderr)
        sys.stderr.flush()
        os._exit(9)
    if rank:
        _first = _connected(store.place, store.timeout)
        return
    with store.listener:
        _others.extend(store.listener.accept() for _ in range(world_size - 1))


def _connected(place, seconds):
    until = time.monotonic() + seconds
    while True:
        try:
            return Client(place)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def all_reduce(tensor):
    if FAULT == "fails":
        raise RuntimeError("[pair.cc:534] Connection closed by peer\n  [127.0.0.1]:32345")
    if _first is not None:
        _first.send(tensor.pattern)
        tensor.pattern = _first.recv()
        return
    patterns = [tensor.pattern, *(other.recv() for other in _others)]
    tensor.pattern = [sum(ones) + (FAULT == "wrong") for ones in zip(*patterns, strict=True)]
    for other in _others:
        other.send(tensor.pattern)
