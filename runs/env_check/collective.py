"""The sum over the Workers by PyTorch. Runs in a Worker beside `program`, which speaks with it in lines.

It is sent as text to whatever Python the image has: nothing newer than Python 3.6, nothing but PyTorch.
It says first which way it can go (0 none, 1 gloo, 2 nccl), and then goes the one that it is told.
"""
# ruff: noqa: UP006, UP035

import sys

if sys.path[0] == "":  # the current folder, on which a volume may have anything of these names
    del sys.path[0]

import datetime
import json
import time
from typing import Any, Dict

NUMBERS = 2**20  # 4 MiB of them
TURNS = 2  # in the first the connections are made


def tell(**told: Any) -> None:
    print("\n" + json.dumps(told), flush=True)


def words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


try:
    import torch
    import torch.distributed as dist

    PROBLEM = None
except Exception as error:
    PROBLEM = "" if getattr(error, "name", None) == "torch" else words(error)


def able() -> Dict[str, Any]:
    if PROBLEM is not None:
        return {"way": 0, "why": PROBLEM}
    if not (dist.is_available() and getattr(dist, "is_gloo_available", lambda: True)()):
        return {"way": 0, "why": "torch.distributed has no gloo"}
    try:
        _port = meeting("127.0.0.1", 0, 0, 1, datetime.timedelta(seconds=9)).port
    except (AttributeError, TypeError):  # before PyTorch 1.8
        return {"way": 0, "why": "PyTorch is too old for this check"}
    except Exception as error:
        return {"way": 0, "why": words(error)}
    cuda = torch.cuda.is_available() and torch.cuda.device_count() > 0 and dist.is_nccl_available()
    return {"way": 2 if cuda else 1}


def meeting(host: str, port: int, rank: int, size: int, wait: datetime.timedelta) -> Any:
    return dist.TCPStore(
        host, port, world_size=size, is_master=rank == 0, timeout=wait, wait_for_workers=False
    )


def met(host: str, port: int, rank: int, size: int, wait: datetime.timedelta) -> Any:
    """Where the Workers meet. The first finds a free port, and tells it: that of the job stays as it is."""
    store = meeting(host, port, rank, size, wait)
    if rank == 0:
        tell(port=store.port)
    return store


def summed(backend: str, store: Any, rank: int, size: int, wait: datetime.timedelta) -> Dict[str, Any]:
    """Each Worker with one process and, if it has GPUs, the first of them."""
    device = "cuda:0" if backend == "nccl" else "cpu"
    if backend == "nccl":
        torch.cuda.set_device(0)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=wait)
    base = torch.arange(NUMBERS).remainder(7).float().to(device)
    whole = base * size + size * (size + 1) // 2  # whole numbers that a float holds
    right, took = True, 0.0
    for _ in range(TURNS):
        mine = base + (rank + 1)
        mine.sum().item()  # what went before is done, on a GPU too
        began = time.monotonic()
        dist.all_reduce(mine)
        mine[0].item()
        took = time.monotonic() - began
        right = right and bool((mine == whole).all())
    return {"right": right, "took": round(took, 6), "bytes": mine.numel() * mine.element_size()}


def main() -> None:
    tell(**able())
    asked = sys.stdin.readline().split()
    if not asked:
        return
    try:
        backend, host, port, rank, size, seconds = asked
        wait = datetime.timedelta(seconds=float(seconds))
        store = met(host, int(port), int(rank), int(size), wait)
        tell(**summed(backend, store, int(rank), int(size), wait))
    except Exception as error:
        tell(error=words(error))


if __name__ == "__main__":
    main()
