"""Notices of jobs in words, with the last lines of output and without what is private."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from alerts.models import Notice
from alerts.rules import EVENTS_OF, Subject
from alerts.subjects import told
from engines.base import EngineError
from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.models import Attempt, Job, PrivateValue
from jobs.outbox import events_tell, job_data
from jobs.scheduling import queue_cycle
from jobs.spec import EnvVar
from jobs.states import State
from runs import last_lines as lines
from runs.last_lines import HIDDEN, LONGEST_LINE, MOST_LINES, hidden, lines_of
from runs.registry import engine_of
from runs.tellings import _rank
from teams.vault import encrypt
from tests.factories import make_job, make_pool, make_team, make_user

REASON = {"code": "exit_code", "data": {"rank": 0, "exit_code": 1}}
DATA = {
    "hang_suspected": {"seconds": 1800},
    "hang": {"seconds": 1800, "action": "notify"},
    "restarted": {
        "restart": 1,
        "most": 3,
        "reason": {"code": "exit_code", "data": {"rank": 0, "exit_code": 1}},
    },
    "env_check_failed": {"rank": 0, "node": "n", "item": "storage", "found": "one_worker", "data": {}},
    "node_fault": {"reason": {"code": "drained", "data": {"node": "n", "nodes": ["n"]}}},
    "restarts_used_up": {"restarts_used_up": 3},
}
AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("data", "cut", "told"),
    [
        (b"one\ntwo\n", False, ("one", "two")),
        (b"lf one\ntwo\n\n\n", True, ("two",)),
        (b"x" * 65536, True, ("(a line of more than 64 KB is left out)",)),
        (b"x" * 65534 + b"\n\n", True, ("(a line of more than 64 KB is left out)",)),
        (b"", False, ()),
        (b"\n \n\n", False, ()),
        (b"\x1b[31mred\x1b[0m\n  indented\n\nlast", False, ("red", "  indented", "", "last")),
        (b"\xffbad\xc3\n10%\r20%\n", False, ("�bad�", "20%")),
        ("汉\n".encode() * 30, False, ("汉",) * MOST_LINES),
        (b"x" * 2000 + b"\n", False, ("x" * LONGEST_LINE,)),
        (b"<script>alert(1)</script> *b* @all\n", False, ("<script>alert(1)</script> *b* @all",)),
    ],
)
def test_the_last_lines(data, cut, told):
    assert lines_of(data, (), cut=cut) == told


@pytest.mark.parametrize(
    ("text", "values", "told"),
    [
        ("key=abcd1234!", ["abcd1234"], f"key={HIDDEN}!"),
        ("abcd and abcd", ["abcd"], f"{HIDDEN} and {HIDDEN}"),
        ("abc", ["abc", "", "a"], "abc"),
        ("longer-secret", ["secret", "longer-secret"], HIDDEN),
        ("a\nBEGIN\nbody-1\nEND1\nb", ["BEGIN\nbody-1\nEND1"], f"a\n{HIDDEN}\nb"),
        ("body-1 alone", ["BEGIN\nbody-1\nEND1\n"], f"{HIDDEN} alone"),
        ("with space ", [" with space\n"], f"{HIDDEN} "),
        ("汉字密码 ok", ["汉字密码"], f"{HIDDEN} ok"),
        ("密码 ok", ["密码"], f"{HIDDEN} ok"),
    ],
)
def test_private_values_are_hidden_wherever_they_are(text, values, told):
    assert hidden(text, values) == told


def test_a_value_that_is_coloured_or_cut_into_a_long_line_is_hidden_too():
    data = b"x" * (LONGEST_LINE - 4) + b"sec\x1b[1mret-value\n"
    assert lines_of(data, ["secret-value"], cut=False) == ("x" * (LONGEST_LINE - 4) + HIDDEN,)


@pytest.mark.parametrize("sign", ["\ufeff", "\u0080", "\u009f", "\r\n"])
def test_a_sign_that_no_message_holds_hides_no_value(sign):
    value = f"sec{sign}ret99"
    told = lines_of(f"a sec\ufeffret99 sec\u0085ret99 {value}".encode(), ["secret99", value], cut=False)
    assert "secret99" not in "\n".join(told)
    assert HIDDEN in told[0]


@pytest.fixture
def user(db):
    return make_user(make_team("vision"))


@pytest.fixture
def job(user, monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "RUNS_DIR", tmp_path)
    engine_of.cache_clear()
    pool = make_pool(user.memberships.get().team, name="a pool")
    secret = EnvVar("TOKEN", "hunter2-hunter2", private=True)
    job = make_job(user, pool, workers=2, framework="pytorch_ddp", name="训练 <b>", env=(secret,))
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    yield Job.objects.get(pk=job.pk)
    engine_of.cache_clear()


def write_log(job, rank, data):
    folder = Path(settings.RUNS_DIR) / job.key / "1" / str(rank)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log").write_bytes(data)


def fail(job):
    failure = {"rank": 1, "exit_code": 3, "signal": None}
    Attempt.objects.update(first_failure=failure)
    reason = Reason("exit_code", {"rank": 1, "exit_code": 3})
    move([job.pk], State.RUNNING, State.FAILED, reason=reason)
    Job.objects.update(exit_code=3)
    events_tell()
    Notice.objects.filter(codes=["failed"]).update(at=AT)
    return Notice.objects.get(codes=["failed"])


def test_a_failure_with_its_facts_and_lines(job):
    notice = fail(job)
    write_log(job, 0, b"of another Worker\n")
    write_log(job, 1, b"epoch 1\nusing hunter2-hunter2\nTraceback\n")
    said = told(notice, log=True)
    assert said.title == "Failed: 训练 <b>"
    assert said.text == "Worker 1 failed first, with exit code 3."
    assert dict(said.facts) == {
        "Job name": "训练 <b>",
        "State": "failed",
        "Exit code": "3",
        "First failed Worker": f"{job.key}-worker-1",
        "Resource pool": "a pool",
        "Team": "vision",
        "Run": "No. 1",
        "Time": "2026-03-04 05:06:07 UTC",
    }
    assert said.log == ("epoch 1", f"using {HIDDEN}", "Traceback")
    assert (said.path, said.name, said.id) == (f"/jobs/{job.key}/", "训练 <b>", job.key)
    assert told(notice).log == ()


@pytest.mark.parametrize(
    ("code", "data", "rank"),
    [
        ("stopped", {"event": {}}, 0),
        ("running_too_long", {"minutes": 5}, 0),
        ("failed", {"event": {"reason": {"code": "exit_code", "data": {"rank": 1, "exit_code": 1}}}}, 1),
        ("failed", {"event": {"reason": {"code": "exit_code", "data": {"rank": 0, "exit_code": 1}}}}, 0),
        ("env_check_failed", {"event": DATA["env_check_failed"] | {"rank": 1}}, 1),
    ],
)
def test_the_lines_are_of_the_worker_that_it_is_about(job, code, data, rank):
    write_log(job, 0, b"of Worker 0")
    write_log(job, 1, b"of Worker 1")
    notice = Notice(
        codes=[code], subject="job", subject_id=job.pk, at=AT, data=job_data(job) | {"attempt": 1} | data
    )
    assert told(notice, log=True).log == (f"of Worker {rank}",)


def test_in_chinese(job, chinese):
    notice = fail(job)
    with translation.override("zh-hans"):
        said = told(notice)
    assert said.title == "失败：训练 <b>"
    assert dict(said.facts)["运行"] == "第 1 次"
    assert dict(said.facts)["时间"] == "2026-03-04 05:06:07 UTC"


def test_lines_that_may_hold_what_cannot_be_read_are_not_told(job):
    notice = fail(job)
    write_log(job, 1, b"using hunter2-hunter2\n")
    PrivateValue.objects.update(ciphertext=b"of another key")
    assert told(notice, log=True).log == ()


@pytest.mark.parametrize("code", ["queued_too_long", "deploying_too_long"])
def test_a_wait_carries_no_lines_of_an_earlier_run(job, code):
    notice = fail(job)
    write_log(job, 1, b"of the run before\n")
    assert told(notice, log=True).log == ("of the run before",)
    notice.codes, notice.data["minutes"] = [code], 5
    assert told(notice, log=True).log == ()


def test_what_is_known_of_no_worker_is_told_with_the_first(job):
    notice = fail(job)
    write_log(job, 0, b"of Worker 0\n")
    notice.data |= {"first_failure": {"rank": None}, "event": {"reason": None}}
    notice.codes = ["restarted"]
    assert _rank(notice.data) == 0


def test_values_that_came_from_another_job_are_hidden_too(job, user):
    notice = fail(job)
    write_log(job, 1, b"using taken-over\n")
    PrivateValue.objects.create(job=job, owner=make_user(), name="OLD", ciphertext=encrypt("taken-over"))
    assert told(notice, log=True).log == (f"using {HIDDEN}",)


def test_a_log_that_cannot_be_read_is_none(job, monkeypatch):
    def gone(**_asked):
        raise EngineError("gone")

    notice = fail(job)
    monkeypatch.setattr(lines, "log_read", gone)
    assert told(notice, log=True).log == ()
    monkeypatch.setattr(lines, "log_read", lambda **_asked: None)  # no answer that anybody foresaw
    assert told(notice, log=True).log == ()
    Job.objects.filter(pk=job.pk).delete()
    assert told(notice, log=True).title == "Failed: 训练 <b>"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("code", EVENTS_OF[Subject.JOB])
def test_every_event_has_its_words(job, chinese, code, language):
    timed = code.endswith("_too_long")
    data = {"minutes": 30} if timed else {"event": DATA.get(code, {})}
    codes = ["failed", code] if code == "restarts_used_up" else [code]
    notice = Notice(
        codes=codes, subject="job", subject_id=job.pk, at=AT, data=job_data(job) | {"attempt": 1} | data
    )
    with translation.override(language):
        said = told(notice)
    assert said.title
    # Of an end the reason, of a time limit why it waits: here there is neither.
    assert bool(said.text) != (timed or code in ("succeeded", "failed", "stopped"))
    assert "_" not in said.title + said.text  # as codes have, and what was not filled in
