"""What measurements of an environment check mean, and who is to blame."""

import json
import math

import pytest
from django.utils.translation import override

from engines.base import CheckLook
from jobs.texts import FOUND, ITEM_LABELS, VERDICT_LABELS, found_text
from runs.env_check.values import ITEMS, Asked, Item, Verdict, culprits, items_of, judged, report_of

NO_GPU = {"item": "gpu", "driver": False, "devices": 0, "status": None}
NO_RDMA = {"item": "rdma", "ports": [], "driver": False}
NO_TORCH = {"item": "runtime", "torch": None, "error": ""}
SUM = {"item": "allreduce", "right": True, "took": 0.1}
ROW = "0, A800, 81920, 0"
UP = {"name": "mlx5_0/1", "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec"}
DOWN = {**UP, "state": "1: DOWN"}
WROTE = {"item": "storage", "path": "/d", "same": True, "write": 9.0, "read": 9.0, "free": 2**40}
CUDA = {"torch": "2.9", "cuda": "13.0", "nccl": "2.28", "devices": 1}
GLOO = {"item": "allreduce", "right": True, "took": 0.004, "bytes": 2**22, "way": "gloo"}
SOCKETS = {**SUM, "way": "sockets", "able": False, "why": ""}


def smi(*lines, status=0):
    return {"item": "gpu", "driver": True, "devices": 8, "status": status, "lines": list(lines)}


def look(*measured, outcome="done"):
    return CheckLook(outcome, "".join(json.dumps(one) + "\n" for one in measured), 1.0, 2.0)


def found(*measured, outcome="done", **asked):
    given = {"gpus": (0,), "mounts": (), "rdma": False, "workers": 1, "seconds": 60.0} | asked
    return judged(look(*measured, outcome=outcome), Asked(**given))


def of(item, *measured, **asked):
    others = [
        one for one in (NO_GPU, NO_RDMA, NO_TORCH, SUM) if one["item"] not in {m["item"] for m in measured}
    ]
    items = [one for one in found(*measured, *others, **asked) if one.item == item]
    assert len(items) == 1
    return str(items[0].verdict), items[0].code


@pytest.mark.parametrize(
    ("measured", "asked", "answer"),
    [
        (NO_GPU, {}, ("not_applicable", "gpu_none")),
        ({**NO_GPU, "driver": True}, {}, ("fail", "gpu_missing")),
        ({**NO_GPU, "driver": True, "devices": 1}, {}, ("warn", "gpu_not_queried")),
        (smi(ROW), {}, ("pass", "gpu_seen")),
        (smi(ROW), {"gpus": (0, 1)}, ("fail", "gpu_missing")),
        (smi(ROW), {"gpus": (1,)}, ("fail", "gpu_missing")),
        (smi("0, A800, 81920, 3"), {}, ("warn", "gpu_memory_errors")),
        (smi("0, A800, 81920, [N/A]"), {}, ("pass", "gpu_seen")),
        (smi("0, [GPU is lost], [GPU is lost], 0"), {}, ("fail", "gpu_lost")),
        (smi(ROW, "1, [GPU is lost], x, 0"), {}, ("pass", "gpu_seen")),  # not this Worker's
        (smi("Unable to determine the device handle: GPU is lost.", status=15), {}, ("fail", "gpu_lost")),
        (smi(status=-1), {}, ("fail", "gpu_lost")),
        (smi(), {}, ("fail", "gpu_missing")),
        ({"item": "gpu", "failed": "OSError: x"}, {}, ("fail", "not_measured")),
        (NO_RDMA, {}, ("not_applicable", "rdma_none")),
        (NO_RDMA, {"rdma": True}, ("not_applicable", "rdma_none")),  # a pool that only counts
        ({**NO_RDMA, "driver": True}, {"rdma": True}, ("fail", "rdma_missing")),
        ({**NO_RDMA, "ports": [UP]}, {"rdma": True}, ("pass", "rdma_active")),
        ({**NO_RDMA, "ports": [UP, DOWN]}, {"rdma": True}, ("warn", "rdma_partly")),
        ({**NO_RDMA, "ports": [DOWN]}, {"rdma": True}, ("fail", "rdma_down")),
        ({**NO_RDMA, "ports": [DOWN]}, {}, ("warn", "rdma_partly")),
        (NO_TORCH, {}, ("not_applicable", "torch_none")),
        ({**NO_TORCH, "error": "ImportError: x"}, {}, ("warn", "torch_broken")),
        ({**NO_TORCH, "python": None}, {}, ("not_applicable", "runtime_no_python")),
        ({"item": "runtime", **CUDA, "available": True}, {}, ("pass", "torch_cuda")),
        ({"item": "runtime", **CUDA, "available": False}, {}, ("not_applicable", "torch_no_gpu_here")),
        (SUM, {}, ("not_applicable", "one_worker")),
        (SUM, {"workers": 2}, ("pass", "allreduce_right")),
        ({**SUM, "right": False}, {"workers": 2}, ("fail", "allreduce_wrong")),
        ({"item": "allreduce", "failed": "timeout"}, {"workers": 2}, ("fail", "not_measured")),
        (GLOO, {"workers": 2}, ("pass", "allreduce_torch")),
        ({**GLOO, "way": "nccl"}, {"workers": 2}, ("pass", "allreduce_torch")),
        ({**GLOO, "right": False}, {"workers": 2}, ("fail", "allreduce_wrong")),
        ({**GLOO, "took": 0}, {"workers": 2}, ("fail", "not_measured")),
        ({**GLOO, "bytes": "many"}, {"workers": 2}, ("fail", "not_measured")),
        ({"item": "allreduce", "way": "nccl", "error": "x"}, {"workers": 2}, ("fail", "allreduce_failed")),
        (SOCKETS, {"workers": 2}, ("pass", "allreduce_plain")),
        ({**SOCKETS, "able": True}, {"workers": 2}, ("pass", "allreduce_plain_others")),
        ({**SOCKETS, "why": "x"}, {"workers": 2}, ("warn", "allreduce_plain_broken")),
        ({**SOCKETS, "right": False, "why": "x"}, {"workers": 2}, ("fail", "allreduce_wrong")),
    ],
)
def test_each_item(measured, asked, answer):
    assert of(measured["item"], measured, **asked) == answer


def test_torch_that_does_not_reach_gpus_that_are_there():
    told = {"item": "runtime", **CUDA, "available": False}
    assert of("runtime", told, smi(ROW)) == ("fail", "torch_no_cuda")
    assert of("runtime", {**told, "cuda": None}, smi(ROW)) == ("warn", "torch_cpu")
    own = {**told, "job_sets": ["LD_LIBRARY_PATH", "PATH"], "python": "/mnt/a/python3"}
    item = found(smi(ROW), NO_RDMA, own, SUM)[3]
    assert (str(item.verdict), item.code) == ("warn", "torch_no_cuda_here")  # that may be why
    text = found_text(item.code, item.data)
    assert text.startswith("/mnt/a/python3: PyTorch 2.9 with CUDA 13.0 does not reach the GPUs")
    assert "LD_LIBRARY_PATH, PATH" in text


@pytest.mark.parametrize(
    ("code", "data", "english", "chinese"),
    [
        (
            "torch_no_gpu_here",
            {"cuda": "–"},
            "PyTorch 2.9; this node has no GPU.",
            "PyTorch 2.9；本节点没有 GPU。",
        ),
        ("torch_cpu", {"cuda": "–"}, "is built without CUDA", "不带 CUDA"),
        ("torch_cpu", {"cuda": "13.0"}, "CUDA 13.0.", "13.0"),
        ("torch_cuda", {"cuda": "13.0", "nccl": "–", "devices": 2}, "no NCCL, 2 GPUs.", "没有 NCCL，2 卡。"),
        ("torch_no_gpu_here", {"python": "/a/python3"}, "/a/python3: PyTorch", "/a/python3：PyTorch"),
    ],
)
@pytest.mark.usefixtures("chinese")
def test_what_pytorch_does_not_have_is_said_and_not_dashed(code, data, english, chinese):
    told = {"torch": "2.9", **data}
    assert english in found_text(code, told)
    with override("zh-hans"):
        said = found_text(code, told)
    assert chinese in said
    assert "–" not in said


@pytest.mark.parametrize(
    ("measured", "shown"),
    [
        (0.04776, "0.0478"),
        (87.81, "87.8"),
        (1.0, "1"),
        (999.9, "1000"),
        (16777.2, "16800"),
        (0.00025, "0.00025"),
    ],
)
def test_no_more_digits_than_count(measured, shown):
    text = found_text("storage_written", {"path": "/d", "write": measured, "read": 2.0})
    assert text == f"/d: write {shown} MB/s, read 2 MB/s."


def test_which_python_was_looked_at_is_told():
    for told in (NO_TORCH, {**NO_TORCH, "error": "x"}, {"item": "runtime", **CUDA, "available": True}):
        item = found(NO_GPU, NO_RDMA, {**told, "python": "/opt/conda/bin/python3"}, SUM)[3]
        assert found_text(item.code, item.data).startswith("/opt/conda/bin/python3: ")


def test_what_is_said_of_the_sum():
    def said(told):
        item = found(NO_GPU, NO_RDMA, NO_TORCH, told, workers=8)[-1]
        return found_text(item.code, item.data)

    fast = {**GLOO, "way": "nccl", "took": 0.00025}
    assert said(fast) == (
        "The sum over 8 Workers is right: PyTorch with nccl, 4 MiB in 0.00025 s, 16800 MB/s."
    )
    failed = {"item": "allreduce", "way": "gloo", "error": "RuntimeError: no route"}
    assert said(failed) == "The sum over 8 Workers by PyTorch with gloo failed: RuntimeError: no route"
    assert said(SOCKETS).endswith("by plain sockets: there is no PyTorch in the image.")
    assert said(SUM) == "The sum over 8 Workers is right, 0.1 s."  # of a check of before


@pytest.mark.parametrize(
    ("read_only", "measured", "answer"),
    [
        (False, WROTE, ("pass", "storage_written")),
        (False, {**WROTE, "same": False}, ("fail", "storage_differs")),
        (False, {**WROTE, "free": 2**20}, ("warn", "storage_nearly_full")),
        (
            False,
            {"item": "storage", "path": "/d", "step": "fsync", "error": "EIO"},
            ("fail", "storage_failed"),
        ),
        (False, {"item": "storage", "path": "/d", "failed": "x"}, ("fail", "storage_broken")),
        (True, {"item": "storage", "path": "/d", "entries": 0, "bytes": 0}, ("pass", "storage_read")),
        (
            True,
            {"item": "storage", "path": "/d", "step": "list", "error": "ESTALE"},
            ("fail", "storage_failed"),
        ),
        (False, {"item": "storage", "path": "/other"}, ("fail", "no_answer")),
    ],
)
def test_mounts(read_only, measured, answer):
    assert of("storage", measured, mounts=(("/d", read_only),)) == answer


def test_silence_is_never_a_pass():
    for outcome, code in (("timed_out", "timed_out"), ("broke_off", "no_answer"), ("done", "no_answer")):
        items = found(NO_GPU, outcome=outcome, workers=2, mounts=(("/d", False),))
        assert [str(one.verdict) for one in items] == ["not_applicable"] + ["fail"] * 4
        assert {one.code for one in items[1:]} == {code}
    for text in ("", "{", "[1]\nnull\n", '{"item": 3}\n', "x" * 10_000):
        items = judged(CheckLook("done", text), Asked((0,)))
        assert {str(one.verdict) for one in items} == {"fail", "not_applicable"}
        assert [one.code for one in items if one.verdict == "not_applicable"] == ["no_mounts", "one_worker"]


def test_without_python_nothing_is_said_to_be_well():
    items = found({"item": "no_python"}, workers=2)
    assert [one.item for one in items] == list(ITEMS)
    assert {str(one.verdict) for one in items} == {"warn"}


DEEP = '{"item": "gpu", "lines": ' + "[" * 50_000 + "]" * 50_000 + "}"
NEST = '{"item": "gpu", "status": 0, "lines": ' + "[" * 400 + "]" * 400 + "}"
HOSTILE = [
    '{"item": "gpu", "driver": 1, "devices": "8", "status": null}',
    '{"item": "gpu", "driver": 1, "devices": 1e999, "status": null}',
    '{"item": "gpu", "driver": 1, "devices": NaN, "status": null}',
    '{"item": "gpu", "driver": 1, "devices": [1, 2], "status": null}',
    '{"item": "gpu", "driver": 1, "devices": ' + "9" * 4000 + ', "status": null}',
    '{"item": "gpu", "driver": 1, "devices": ' + "9" * 5000 + ', "status": null}',
    '{"item": "gpu", "status": 0, "lines": 7}',
    '{"item": "gpu", "status": 0, "lines": [null, {"a": NaN}, "0, A, 1, ' + "9" * 3000 + '"]}',
    '{"item": "gpu", "status": [NaN], "lines": {}}',
    '{"item": "gpu", "failed": {"\\u0000": NaN}}',
    '{"item": "gpu", "status": 1, "lines": ["\\u0000 \\ud800"]}',
    '{"item": "rdma", "ports": 5}',
    '{"item": "rdma", "ports": [{"state": "ACTIVE", "rate": "\\udfff\\u0000"}]}',
    '{"item": "storage", "path": ["/d"]}',
    '{"item": "storage", "path": {"a": 1}}',
    '{"item": "storage", "path": "/d", "same": true, "write": Infinity, "read": 1, "free": 1}',
    '{"item": "storage", "path": "/d", "same": true, "write": 1, "read": 1, "free": "much"}',
    '{"item": "storage", "path": "/d", "same": true, "write": {"x": "\\u0000"}, "read": 1, "free": 1}',
    '{"item": "storage", "path": "/d", "step": NaN, "error": "\\u0000"}',
    '{"item": "runtime", "torch": "\\u0000", "available": true, "devices": {"a": ["\\ud800"]}}',
    '{"item": "runtime", "torch": {"x": NaN}, "cuda": "\\ud800", "nccl": [NaN]}',
    '{"item": "runtime", "torch": "2", "cuda": "13"}\n{"item": "gpu", "status": 0, "lines": 7}',
    '{"item": "allreduce", "right": true, "took": "\\u0000"}',
    '{"item": "allreduce", "right": true, "took": ' + "9" * 400 + "}",
    '{"item": "allreduce", "right": true, "way": ["gloo"], "took": 1, "able": NaN}',
    '{"item": "allreduce", "way": "gloo", "error": {"\\u0000": ["\\ud800"]}}',
    '{"item": "allreduce", "right": true, "way": "nccl", "took": 1, "bytes": {"a": NaN}}',
    '{"item": "allreduce", "right": true, "way": "nccl", "took": 1e-320, "bytes": 4194304}',
    '{"item": "runtime", "torch": "2", "cuda": "13", "python": ["\\ud800"], "job_sets": 7}\n'
    '{"item": "gpu", "driver": 1, "devices": 1, "status": null}',
    '{"item": "program_broke", "status": {"a": NaN, "b": "\\u0000\\ud800"}}',
    '{"item": "\\u0000"}',
    '"\\ud800"',
    "NaN",
    DEEP,
    NEST,
    "\0\ud800",
]


def texts_of(value):
    """All strings and numbers in it."""
    if isinstance(value, dict):
        return [one for pair in value.items() for part in pair for one in texts_of(part)]
    if isinstance(value, list):
        return [one for part in value for one in texts_of(part)]
    return [value]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_is_printed_is_judged_and_can_be_kept(text):
    asked = Asked((0,), (("/d", False),), workers=2)
    for given in (CheckLook("done", text, 1.0, 2.0), CheckLook("broke_off", text, math.nan, -math.inf)):
        kept = report_of(given, asked)
        written = json.dumps(kept, allow_nan=False)
        assert len(written) < 4000
        assert "\\u0000" not in written
        assert all(isinstance(one, str | int | float | None) for one in texts_of(kept))
        for one in texts_of(kept):
            assert not isinstance(one, str) or one.encode()  # no lone surrogate
        assert [item.item for item in items_of(kept)] == list(ITEMS)
        for item in items_of(kept):
            assert found_text(item.code, item.data)


def test_nonsense_is_no_measurement():
    for text in HOSTILE[:8]:
        first = judged(CheckLook("done", text), Asked((0,)))[0]
        assert str(first.verdict) == "fail"
    took = judged(CheckLook("done", '{"item": "runtime", "torch": "2", "available": 1}'), Asked((0,)))[3]
    assert (str(took.verdict), took.code) == ("warn", "not_measured")
    mount = judged(CheckLook("done", HOSTILE[16]), Asked((0,), (("/d", False),)))[2]
    assert (mount.code, mount.data["path"]) == ("storage_broken", "/d")


def failed(item, code="x"):
    return Item(item, Verdict.FAIL, code, {})


@pytest.mark.parametrize(
    ("reports", "ranks", "item"),
    [
        ({0: [failed("allreduce")], 1: [failed("gpu"), failed("allreduce")]}, (1,), "gpu"),
        ({0: [failed("allreduce")], 1: [failed("allreduce")]}, (0, 1), "allreduce"),
        ({0: [failed("storage")], 1: [failed("gpu")]}, (0, 1), "storage"),
        ({0: [Item("gpu", Verdict.WARN, "x", {})], 1: []}, (), None),
    ],
)
def test_who_is_to_blame(reports, ranks, item):
    blamed = culprits(reports)
    assert tuple(one.rank for one in blamed) == ranks
    assert (blamed[0].item.item if blamed else None) == item


def test_what_is_kept_can_be_read_again():
    kept = report_of(look(NO_GPU, smi(ROW)), Asked((0,)))
    assert json.loads(json.dumps(kept)) == kept
    assert items_of(kept) == judged(look(NO_GPU, smi(ROW)), Asked((0,)))


def test_every_code_has_its_sentence():
    measured = [
        NO_GPU,
        {**NO_RDMA, "ports": [UP]},
        WROTE,
        {"item": "runtime", **CUDA, "available": True},
        SUM,
    ]
    items = [
        *found(*measured, workers=2, mounts=(("/d", False), ("/e", True))),
        *found(outcome="timed_out", mounts=(("/d", False),), workers=2),
        *found(smi("0, A, 1, 5"), {**NO_RDMA, "ports": [DOWN]}, NO_TORCH, rdma=True),
        *found({**NO_TORCH, "python": None}, GLOO, workers=2),
        *(found({**SOCKETS, **more}, workers=2)[-1] for more in ({}, {"able": True}, {"why": "x"})),
    ]
    for one in items:
        text = found_text(one.code, one.data)
        assert text != one.code
        assert "%(" not in text
    assert set(ITEM_LABELS) == set(ITEMS)
    assert set(VERDICT_LABELS) == set(Verdict)
    assert {one.code for one in items} < set(FOUND)
