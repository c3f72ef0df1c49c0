"""What an environment check has found, in words, with what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy, ngettext_lazy, pgettext, pgettext_lazy

from jobs.texts.filling import filled

NONE = "–"  # of a version that PyTorch does not have
E_FROM = 999.5  # from here on three digits are written with an exponent

ITEM_LABELS = {
    "gpu": "GPU",
    "rdma": "RDMA",
    "storage": pgettext_lazy("environment check", "storage I/O"),
    "runtime": "PyTorch / CUDA / NCCL",
    "allreduce": "allreduce",
}
VERDICT_LABELS = {
    "pass": pgettext_lazy("environment check", "passed"),
    "warn": pgettext_lazy("environment check", "warning"),
    "fail": pgettext_lazy("environment check", "failed"),
    "not_applicable": pgettext_lazy("environment check", "not applicable here"),
}
FOUND = {
    "no_python": gettext_lazy("Not checked: the image has no Python."),
    "program_broke": gettext_lazy(
        "Not checked: the image's Python could not run the check (exit status %(status)s)."
    ),
    "timed_out": gettext_lazy("No answer within %(seconds)s s."),
    "no_answer": gettext_lazy("The check broke off before it."),
    "not_measured": gettext_lazy("Could not be measured: %(detail)s"),
    "one_worker": gettext_lazy("There is one Worker only."),
    "gpu_none": gettext_lazy("This machine has no GPU and no driver."),
    "gpu_not_queried": ngettext_lazy(
        "%(devices)s device; nvidia-smi is not in the image.",
        "%(devices)s devices; nvidia-smi is not in the image.",
        "devices",
    ),
    "gpu_lost": gettext_lazy("nvidia-smi: %(detail)s"),
    "gpu_missing": ngettext_lazy(
        "%(seen)s of the Worker's %(wanted)s GPU is there.",
        "%(seen)s of the Worker's %(wanted)s GPUs are there.",
        "wanted",
    ),
    "gpu_memory_errors": ngettext_lazy(
        "%(count)s × %(model)s; %(errors)s uncorrected memory error.",
        "%(count)s × %(model)s; %(errors)s uncorrected memory errors.",
        "errors",
    ),
    "gpu_seen": "%(count)s × %(model)s",
    "rdma_missing": gettext_lazy("RDMA was asked for, and there is no device."),
    "rdma_none": gettext_lazy("There is no RDMA device."),
    "rdma_down": gettext_lazy("No port is active, of %(ports)s."),
    "rdma_partly": ngettext_lazy(
        "%(active)s of %(ports)s port is active.", "%(active)s of %(ports)s ports are active.", "ports"
    ),
    "rdma_active": ngettext_lazy(
        "%(active)s of %(ports)s port is active, %(rate)s.",
        "%(active)s of %(ports)s ports are active, %(rate)s.",
        "ports",
    ),
    "no_mounts": gettext_lazy("Nothing is mounted."),
    "storage_broken": gettext_lazy("%(path)s: %(detail)s"),
    "storage_failed": gettext_lazy("%(path)s: %(step)s failed with %(error)s."),
    "storage_differs": gettext_lazy("%(path)s: what was read is not what was written."),
    "storage_read": ngettext_lazy(
        "%(path)s: %(entries)s entry listed, %(bytes)s B read.",
        "%(path)s: %(entries)s entries listed, %(bytes)s B read.",
        "entries",
    ),
    "storage_nearly_full": gettext_lazy(
        "%(path)s: only %(mib)s MiB are free; write %(write)s MB/s, read %(read)s MB/s."
    ),
    "storage_written": gettext_lazy("%(path)s: write %(write)s MB/s, read %(read)s MB/s."),
    "runtime_no_python": gettext_lazy("The start command's PATH finds no Python."),
    "torch_none": gettext_lazy("There is no PyTorch."),
    "torch_broken": gettext_lazy("PyTorch cannot be loaded: %(detail)s"),
    "torch_no_cuda": gettext_lazy("PyTorch %(torch)s with CUDA %(cuda)s does not reach the GPUs."),
    "torch_no_cuda_here": gettext_lazy(
        "PyTorch %(torch)s with CUDA %(cuda)s does not reach the GPUs; the job itself sets %(names)s."
    ),
    "torch_cpu": gettext_lazy("PyTorch %(torch)s without a GPU that it could use; CUDA %(cuda)s."),
    "torch_cpu_only": gettext_lazy("PyTorch %(torch)s is built without CUDA, so it uses no GPU."),
    "torch_no_gpu_here": gettext_lazy("PyTorch %(torch)s; this node has no GPU."),
    "torch_cuda": ngettext_lazy(
        "PyTorch %(torch)s, CUDA %(cuda)s, NCCL %(nccl)s, %(devices)s GPU.",
        "PyTorch %(torch)s, CUDA %(cuda)s, NCCL %(nccl)s, %(devices)s GPUs.",
        "devices",
    ),
    "torch_cuda_no_nccl": ngettext_lazy(
        "PyTorch %(torch)s, CUDA %(cuda)s, no NCCL, %(devices)s GPU.",
        "PyTorch %(torch)s, CUDA %(cuda)s, no NCCL, %(devices)s GPUs.",
        "devices",
    ),
    "allreduce_wrong": gettext_lazy("The sum over %(workers)s Workers is wrong."),
    "allreduce_failed": gettext_lazy(
        "The sum over %(workers)s Workers by PyTorch with %(backend)s failed: %(detail)s"
    ),
    "allreduce_torch": gettext_lazy(
        "The sum over %(workers)s Workers is right: PyTorch with %(backend)s, %(mib)s MiB in %(seconds)s s, "
        "%(speed)s MB/s."
    ),
    "allreduce_plain": gettext_lazy(
        "The sum over %(workers)s Workers is right, %(seconds)s s, by plain sockets: "
        "there is no PyTorch in the image."
    ),
    "allreduce_plain_broken": gettext_lazy(
        "The sum over %(workers)s Workers is right, %(seconds)s s, by plain sockets: "
        "the image's PyTorch cannot be used: %(detail)s"
    ),
    "allreduce_plain_others": gettext_lazy(
        "The sum over %(workers)s Workers is right, %(seconds)s s, by plain sockets: "
        "not every Worker has PyTorch."
    ),
    "allreduce_right": gettext_lazy("The sum over %(workers)s Workers is right, %(seconds)s s."),
}


def found_text(code: str, data: Mapping[str, Any]) -> str:
    """What was found of one item."""
    shown = {name: _number(value) if isinstance(value, float) else value for name, value in data.items()}
    if code == "torch_cpu" and data.get("cuda") == NONE:
        code = "torch_cpu_only"
    if code == "torch_cuda" and data.get("nccl") == NONE:
        code = "torch_cuda_no_nccl"
    text = filled(FOUND, code, shown)
    of = data.get("path") if code in ("timed_out", "no_answer") else data.get("python")  # what was looked at
    return pgettext("environment check", "%(of)s: %(text)s") % {"of": of, "text": text} if of else text


def _number(value: float) -> str:
    """With three digits that count, and never as a power of ten."""
    shown = f"{value:.3g}"
    return f"{float(shown):.0f}" if abs(value) >= E_FROM else shown


def failure_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a failed check, in words."""
    what = found_text(data["found"], data["data"])
    return {**data, "item": str(ITEM_LABELS.get(data["item"], data["item"])), "what": what}
