"""What would start now in place of a request, and what becomes different in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from jobs.estimate import Alternative
from jobs.texts.alerts import left_out_text
from jobs.texts.filling import filled
from jobs.texts.reasons import gpus_text
from pools.capacity import Shape

CHANGES = {
    "other_pool": gettext_lazy("in the resource pool %(pool)s"),
    "other_gpu_model": gettext_lazy("on %(new)s instead of %(old)s"),
    "workers": gettext_lazy("Workers (nnodes) %(old)s → %(new)s"),
    "worker_gpus": gettext_lazy("GPUs of a Worker (nproc_per_node) %(old)s → %(new)s"),
    "total_gpus": gettext_lazy("total GPUs %(old)s → %(new)s"),
    "rdma_off": gettext_lazy("RDMA goes off"),
    "priority_lowered": gettext_lazy(
        "normal priority: the job has high priority, which you may not use in its team"
    ),
}


SHOWN_PARTS = 3  # of a sum; more are multiplied


def change_text(code: str, data: Mapping[str, Any]) -> str:
    """What becomes different, in a few words."""
    return left_out_text(data["n"]) if code == "alerts_left_out" else filled(CHANGES, code, data)


def alternative_text(one: Alternative) -> str:
    """The Workers that would start now."""
    return shape_text(one.shape)


def shape_text(shape: Shape) -> str:
    """The Workers of a request and the GPUs of each."""
    size = gpus_text(shape.worker_gpus)
    text = ngettext("%(n)s Worker of %(size)s", "%(n)s Workers of %(size)s", shape.full_workers)
    workers = text % {"n": shape.full_workers, "size": size}
    if shape.equal:
        return workers
    return _("%(workers)s and one of %(rest)s") % {"workers": workers, "rest": gpus_text(shape.remainder)}


def split_text(shape: Shape) -> str:
    """How a custom count comes to Workers: a sum where there are several."""
    if shape.workers == 1:
        return shape_text(shape)
    full = [str(shape.worker_gpus)] * shape.full_workers
    if len(full) > SHOWN_PARTS:
        full = [f"{shape.full_workers} × {shape.worker_gpus}"]
    parts = [*full, str(shape.remainder)] if shape.remainder else full
    total = {"total": shape.total_gpus, "sum": " + ".join(parts), "workers": shape_text(shape)}
    return pgettext("how a number of GPUs is split", "%(total)s = %(sum)s: %(workers)s") % total
