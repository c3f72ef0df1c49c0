"""What the measurements of an environment check mean. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from engines.base import CheckLook
from runs.env_check.said import Measured, detail, measurements, number, time_of

ITEMS = ("gpu", "rdma", "storage", "runtime", "allreduce")
FULL = 0.5 * 2**30  # bytes: less room than this is worth a warning
_NONSENSE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
Said = Mapping[str, list[Measured]]


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105
    WARN = "warn"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a Worker is to have: GPUs by their indices, mounts with whether they are read-only."""

    gpus: tuple[int, ...]
    mounts: tuple[tuple[str, bool], ...] = ()
    rdma: bool = False
    workers: int = 1
    seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was looked at: a verdict, a code for the sentence, and what was measured."""

    item: str
    verdict: Verdict
    code: str
    data: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"data": dict(self.data)}


def judged(look: CheckLook, asked: Asked) -> tuple[Item, ...]:
    """The items in the order in which they are looked at. What gave no answer has failed.

    Never raises, whatever was printed.
    """
    said = measurements(look.text)
    untold = _unchecked(said)
    if untold is not None:
        return tuple(Item(item, Verdict.WARN, *untold) for item in _wanted(asked))
    items: list[Item] = []
    for item in ITEMS:
        if item == "storage":
            items += _storage(said.get(item, []), asked, look)
        else:
            items.append(_one(item, said, asked, look))
    return tuple(items)


def _unchecked(said: Said) -> tuple[str, dict[str, Any]] | None:
    """Why nothing could be measured, if that is the image's doing and tells nothing of the node."""
    if "no_python" in said:
        return "no_python", {}
    if "program_broke" in said and not said.keys() & set(ITEMS):
        return "program_broke", {"status": detail(said["program_broke"][0].get("status"))}
    return None


def _wanted(asked: Asked) -> list[str]:
    return [item for item in ITEMS if item != "allreduce" or asked.workers > 1]


def _one(item: str, said: Said, asked: Asked, look: CheckLook) -> Item:
    told = said.get(item)
    if item == "allreduce" and asked.workers == 1:
        return Item(item, Verdict.NOT_APPLICABLE, "one_worker", {})
    if not told:
        return _silent(item, look, asked)
    if "failed" in told[0]:
        return _unmeasured(item, told[0]["failed"])
    try:
        return _JUDGES[item](told[0], asked, said)
    except _NONSENSE as error:
        return _unmeasured(item, error)


def _unmeasured(item: str, why: Any) -> Item:
    verdict = Verdict.WARN if item == "runtime" else Verdict.FAIL
    return Item(item, verdict, "not_measured", {"detail": detail(why)})


def _silent(item: str, look: CheckLook, asked: Asked, **data: Any) -> Item:
    if look.outcome == "timed_out":
        return Item(item, Verdict.FAIL, "timed_out", {**data, "seconds": asked.seconds})
    return Item(item, Verdict.FAIL, "no_answer", data)


def _gpu(told: Measured, asked: Asked, _said: Said) -> Item:
    present = bool(told.get("driver")) or bool(told.get("devices"))
    status, lines = told.get("status"), [str(line) for line in told.get("lines") or ()]
    if status is None:
        if not present:
            return Item("gpu", Verdict.NOT_APPLICABLE, "gpu_none", {})
        devices = int(number(told.get("devices", 0)))
        if devices < len(asked.gpus):
            return _missing(len(asked.gpus), devices)
        return Item("gpu", Verdict.WARN, "gpu_not_queried", {"devices": devices})
    if status != 0:
        last = lines[-1] if lines else f"nvidia-smi: {status}"
        return Item("gpu", Verdict.FAIL, "gpu_lost", {"detail": detail(last)})
    rows = [[word.strip() for word in line.split(",")] for line in lines]
    mine = [row for row in rows if row[0].isdecimal() and int(row[0]) in asked.gpus]
    lost = [row for row in mine if "lost" in " ".join(row).lower() or "ERR!" in row]
    if lost:
        return Item("gpu", Verdict.FAIL, "gpu_lost", {"detail": detail(", ".join(lost[0]))})
    if len(mine) < len(asked.gpus):
        return _missing(len(asked.gpus), len(mine))
    return _healthy(mine)


def _missing(wanted: int, seen: int) -> Item:
    return Item("gpu", Verdict.FAIL, "gpu_missing", {"wanted": wanted, "seen": seen})


def _healthy(rows: Sequence[Sequence[str]]) -> Item:
    data = {"count": len(rows), "model": detail(rows[0][1]) if rows and len(rows[0]) > 1 else ""}
    errors = number(sum(int(row[3]) for row in rows if len(row) > 3 and row[3].isdecimal()))
    if errors:
        return Item("gpu", Verdict.WARN, "gpu_memory_errors", {**data, "errors": errors})
    return Item("gpu", Verdict.PASS, "gpu_seen", data)


def _rdma(told: Measured, asked: Asked, said: Said) -> Item:
    ports = [port for port in told.get("ports") or () if isinstance(port, dict)]
    if not ports:
        if asked.rdma and told.get("driver"):
            return Item("rdma", Verdict.FAIL, "rdma_missing", {})
        return Item("rdma", Verdict.NOT_APPLICABLE, "rdma_none", {})
    active = [port for port in ports if "ACTIVE" in str(port.get("state"))]
    data = {"active": len(active), "ports": len(ports)}
    if not active and asked.rdma:
        return Item("rdma", Verdict.FAIL, "rdma_down", data)
    if len(active) < len(ports):
        return Item("rdma", Verdict.WARN, "rdma_partly", data)
    return Item("rdma", Verdict.PASS, "rdma_active", {**data, "rate": detail(active[0].get("rate", ""))})


def _storage(told: Sequence[Measured], asked: Asked, look: CheckLook) -> Iterator[Item]:
    if not asked.mounts:
        yield Item("storage", Verdict.NOT_APPLICABLE, "no_mounts", {})
    by_path = {one["path"]: one for one in told if isinstance(one.get("path"), str)}
    for path, read_only in asked.mounts:
        found = by_path.get(path)
        if found is None:
            yield _silent("storage", look, asked, path=path)
        elif "failed" in found:
            yield _broken(path, found["failed"])
        else:
            try:
                yield _mount(path, read_only, found)
            except _NONSENSE as error:
                yield _broken(path, error)


def _broken(path: str, why: Any) -> Item:
    return Item("storage", Verdict.FAIL, "storage_broken", {"path": path, "detail": detail(why)})


def _mount(path: str, read_only: bool, found: Measured) -> Item:
    data: dict[str, Any]
    if "error" in found:
        data = {"path": path, "step": detail(found.get("step")), "error": detail(found["error"])}
        return Item("storage", Verdict.FAIL, "storage_failed", data)
    if read_only:
        data = {"path": path} | {name: number(found.get(name)) for name in ("entries", "bytes")}
        return Item("storage", Verdict.PASS, "storage_read", data)
    if found.get("same") is not True:
        return Item("storage", Verdict.FAIL, "storage_differs", {"path": path})
    data = {"path": path} | {name: number(found.get(name)) for name in ("write", "read")}
    free = number(found.get("free", FULL))
    if free < FULL:
        return Item("storage", Verdict.WARN, "storage_nearly_full", {**data, "mib": int(free / 2**20)})
    return Item("storage", Verdict.PASS, "storage_written", data)


def _runtime(told: Measured, asked: Asked, said: Said) -> Item:
    if "python" in told and told["python"] is None:
        return Item("runtime", Verdict.NOT_APPLICABLE, "runtime_no_python", {})
    python = {"python": detail(told["python"])} if "python" in told else {}
    if not told.get("torch"):
        if told.get("error"):
            return Item("runtime", Verdict.WARN, "torch_broken", {**python, "detail": detail(told["error"])})
        return Item("runtime", Verdict.NOT_APPLICABLE, "torch_none", python)
    data = python | {name: detail(told.get(name) or "–") for name in ("torch", "cuda", "nccl")}
    if told.get("available"):
        return Item("runtime", Verdict.PASS, "torch_cuda", {**data, "devices": number(told.get("devices"))})
    gpu = _gpu(said["gpu"][0], asked, said) if said.get("gpu") and "failed" not in said["gpu"][0] else None
    if gpu is not None and gpu.verdict == Verdict.NOT_APPLICABLE:
        return Item("runtime", Verdict.NOT_APPLICABLE, "torch_no_gpu_here", data)
    works = gpu is not None and gpu.verdict in (Verdict.PASS, Verdict.WARN)
    if not (told.get("cuda") and works):
        return Item("runtime", Verdict.WARN, "torch_cpu", data)
    if told.get("job_sets"):  # that may be why: the node is not to blame
        names = detail(", ".join(map(str, told["job_sets"])))
        return Item("runtime", Verdict.WARN, "torch_no_cuda_here", {**data, "names": names})
    return Item("runtime", Verdict.FAIL, "torch_no_cuda", data)


def _allreduce(told: Measured, asked: Asked, _said: Said) -> Item:
    data: dict[str, Any] = {"workers": asked.workers}
    by_torch = {"backend": detail(told.get("way"))} if told.get("way") in ("gloo", "nccl") else {}
    if by_torch and told.get("error"):
        failed = data | by_torch | {"detail": detail(told["error"])}
        return Item("allreduce", Verdict.FAIL, "allreduce_failed", failed)
    if told.get("right") is not True:
        return Item("allreduce", Verdict.FAIL, "allreduce_wrong", data)
    data["seconds"] = number(told.get("took"))
    if by_torch:
        size = number(told.get("bytes"))
        speed = number(round(size / 1e6 / data["seconds"], 1))
        data |= by_torch | {"mib": round(size / 2**20, 1), "speed": speed}
        return Item("allreduce", Verdict.PASS, "allreduce_torch", data)
    return _by_sockets(told, data)


def _by_sockets(told: Measured, data: Mapping[str, Any]) -> Item:
    """Why it was not PyTorch that added; a program of before did not say."""
    if told.get("why"):
        broken = {**data, "detail": detail(told["why"])}
        return Item("allreduce", Verdict.WARN, "allreduce_plain_broken", broken)
    code = "allreduce_right"
    if "way" in told:
        code = "allreduce_plain_others" if told.get("able") else "allreduce_plain"
    return Item("allreduce", Verdict.PASS, code, data)


_JUDGES = {"gpu": _gpu, "rdma": _rdma, "runtime": _runtime, "allreduce": _allreduce}


def report_of(look: CheckLook, asked: Asked) -> dict[str, Any]:
    """What is kept of the check of a Worker. Never raises, and every database can keep it."""
    told = {
        "outcome": look.outcome,
        "began_at": time_of(look.began_at),
        "ended_at": time_of(look.ended_at),
    }
    return {**told, "items": [item.as_json() for item in judged(look, asked)]}


def items_of(report: Mapping[str, Any]) -> tuple[Item, ...]:
    """The items of what was kept."""
    return tuple(
        Item(i["item"], Verdict(i["verdict"]), i["code"], i["data"]) for i in report.get("items", ())
    )


@dataclass(frozen=True, slots=True)
class Culprit:
    """A Worker whose check has failed, and by what."""

    rank: int
    item: Item


def culprits(reports: Mapping[int, Sequence[Item]]) -> tuple[Culprit, ...]:
    """The Workers that failed, the one to name first. Where one fails by itself, others fail to exchange
    data with it: those are not to blame."""
    items = [(rank, item) for rank in sorted(reports) for item in reports[rank]]
    failed = [Culprit(rank, item) for rank, item in items if item.verdict is Verdict.FAIL]
    alone = [culprit for culprit in failed if culprit.item.item != "allreduce"]
    first: dict[int, Culprit] = {}
    for culprit in alone or failed:
        first.setdefault(culprit.rank, culprit)
    return tuple(first.values())
