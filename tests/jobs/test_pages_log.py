"""The log on the page of a job: its end, what is added, and what a terminal would show."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from django.test import Client

from engines.base import EngineError, LogChunk
from engines.local.engine import LocalEngine
from jobs.models import Job, Worker
from jobs.scheduling import queue_cycle
from runs.registry import engine_of
from runs.terminal import readable
from runs.views import TAIL_BYTES, log_part
from tests.factories import make_job, make_pool, make_team, make_user
from tests.jobs.pages import Page

HTMX = {"HX-Request": "true"}


def chunk(data: bytes, offset: int = 0, size: int | None = None, complete: bool = False) -> LogChunk:
    return LogChunk(data, offset, offset + len(data) if size is None else size, complete)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"p 10%\rp 50%\rp 100%\r\n\x1b[31mRED\x1b[0m\x1b[2K ok\n", "p 100%\nRED ok\n"),
        (b"dos\r\nlines\r\n", "dos\nlines\n"),
        (b"\x1b]0;title\x07shell\n", "shell\n"),
        (b"a\xff\xfe\x00b\n", "a\ufffd\ufffd\ufffdb\n"),
        (b"tab\there\n", "tab\there\n"),
    ],
)
def test_what_a_terminal_would_show(data: bytes, text: str) -> None:
    assert readable(data) == text


def test_the_line_that_is_being_written_is_asked_for_again() -> None:
    part = log_part(chunk(b"one\ntwo"), fresh=True)
    assert (part.lines, part.last, part.offset) == ("one\n", "two", 4)
    part = log_part(chunk(b"one\ntwo", complete=True), fresh=True)
    assert (part.lines, part.last, part.complete) == ("one\ntwo", "", True)


def test_characters_at_the_borders_stay_whole() -> None:
    text = "汉" * 6000
    data = text.encode()
    part = log_part(chunk(data[:17_000], size=len(data)), fresh=True)
    rest = log_part(chunk(data[part.offset :], part.offset, complete=True), fresh=False)
    assert part.lines + rest.lines == text
    tail = log_part(chunk(data[1:], 1, complete=True), fresh=True)
    assert tail.lines == text[1:]


def test_a_tail_begins_with_a_whole_line() -> None:
    part = log_part(chunk(b"half\nwhole\n", offset=100), fresh=True)
    assert (part.lines, part.cut_before) == ("whole\n", 105)


@pytest.fixture
def job(client: Client) -> Job:
    team = make_team()
    user = make_user(team)
    client.force_login(user)
    return make_job(user, make_pool(team), gpus=1, workers=2)


@pytest.fixture
def log(job: Job, settings: object, tmp_path: Path) -> Iterator[Path]:
    """The log file of Worker 0 of the placed job."""
    settings.RUNS_DIR = tmp_path  # type: ignore[attr-defined]
    engine_of.cache_clear()
    queue_cycle(job.pool_id)
    folder = tmp_path / job.key / "1" / "0"
    os.makedirs(folder)
    yield folder / "log"
    engine_of.cache_clear()


@pytest.mark.django_db
def test_the_page_follows_the_log(client: Client, job: Job, log: Path) -> None:
    address = f"/jobs/{job.key}/workers/0/log/"
    log.write_bytes(b"<script>alert(1)</script>\nsecond")
    first = Page(client.get(address, headers=HTMX))
    assert "<script>alert" not in first.source
    assert "<!doctype" not in first.source.lower()
    assert first.by_id("log-lines-1-0").text == "<script>alert(1)</script>\n"
    more = first.by_id("log-next-1-0").attrs["hx-get"] or ""
    assert client.get(more, headers=HTMX).status_code == 204

    log.write_bytes(log.read_bytes() + b" line\nthird\n")
    added = Page(client.get(more, headers=HTMX))
    assert [e.text for e in added.all("span", class_="ty-added")] == ["second line\nthird\n"]
    assert added.by_id("log-last-1-0").text == ""
    assert added.by_id("log-next-1-0").attrs["hx-get"] != more


@pytest.mark.django_db
def test_that_there_is_no_output_is_said_once(client: Client, job: Job, log: Path) -> None:
    address = f"/jobs/{job.key}/workers/0/log/"
    log.write_bytes(b"")
    live = Page(client.get(address))
    assert live.by_id("log-last-1-0").attrs["data-empty"] == "No output yet."
    more = live.by_id("log-next-1-0").attrs["hx-get"] or ""
    with mock.patch.object(LocalEngine, "read_log", return_value=chunk(b"", complete=True)):
        for answer in (client.get(more, headers=HTMX), client.get(address)):
            ended = Page(answer)
            assert ended.source.count("No output") == 1
            assert ended.by_id("log-last-1-0").attrs["data-empty"] == "No output."


@pytest.mark.django_db
def test_a_long_log_shows_its_end_and_says_so(client: Client, job: Job, log: Path) -> None:
    log.write_bytes(b"x" * 99 + b"\n" + b"line of text\n" * 20_000)
    page = Page(client.get(f"/jobs/{job.key}/workers/0/log/", headers=HTMX))
    assert "before it are not shown here" in page.source
    assert len(page.by_id("log-lines-1-0").text) <= TAIL_BYTES
    behind = client.get(f"/jobs/{job.key}/workers/0/log/?attempt=1&offset=1&size=2", headers=HTMX)
    assert b"ty-added" in behind.content  # not far behind: what is missing is added
    log.write_bytes(b"line of text\n" * 200_000)
    behind = client.get(f"/jobs/{job.key}/workers/0/log/?attempt=1&offset=1&size=2", headers=HTMX)
    assert behind["HX-Retarget"] == "#log"


@pytest.mark.django_db
def test_what_is_shown_stays_while_the_log_cannot_be_read(client: Client, job: Job, log: Path) -> None:
    log.write_bytes(b"hello\n")
    first = Page(client.get(f"/jobs/{job.key}/workers/0/log/", headers=HTMX))
    more = first.by_id("log-next-1-0").attrs["hx-get"] or ""
    Job.objects.update(state="failed")
    with mock.patch("runs.logs.engine_of", side_effect=EngineError):
        assert client.get(more, headers=HTMX).status_code == 204
        anew = Page(client.get(f"/jobs/{job.key}/workers/0/log/", headers=HTMX))
    assert "hx-get" in anew.by_id("log-next-1-0").attrs  # it is asked for again


@pytest.mark.django_db
def test_without_htmx_the_log_is_a_page(client: Client, job: Job, log: Path) -> None:
    log.write_bytes(b"hello\n")
    answer = client.get(f"/jobs/{job.key}/workers/0/log/")
    assert "<!doctype" in answer.content.decode().lower()
    assert "HX-Request" in answer["Vary"]
    assert client.get(f"/jobs/{job.key}/workers/7/log/").status_code == 404
    assert client.get(f"/jobs/{job.key}/workers/0/log/?attempt=9").status_code == 404
    assert client.get(f"/jobs/{job.key}/workers/{10**30}/log/").status_code == 404
    assert client.get(f"/jobs/{job.key}/workers/0/log/?offset=../../etc").status_code == 200
    for attempt in ("x", "../../../../etc/passwd", "-1", "1e1", "9" * 5000):
        assert client.get(f"/jobs/{job.key}/workers/0/log/", {"attempt": attempt}).status_code == 404


@pytest.mark.django_db
def test_the_log_of_a_waiting_job_turns_into_the_first_attempts(client: Client, job: Job) -> None:
    waiting = Page(client.get(f"/jobs/{job.key}/workers/0/log/", headers=HTMX))
    more = waiting.by_id("log-next-0-0").attrs["hx-get"] or ""
    assert client.get(more, headers=HTMX).status_code == 204
    queue_cycle(job.pool_id)
    engine_of.cache_clear()
    answer = client.get(more.replace("size=0", "size=1"), headers=HTMX)
    assert answer["HX-Retarget"] == "#log"


@pytest.mark.django_db
def test_the_last_lines_alone(client: Client, job: Job, log: Path) -> None:
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(50)) + b"<b>cut off")
    source = client.get(f"/jobs/{job.key}/workers/0/log/?attempt=1&tail=3", headers=HTMX).content.decode()
    assert Page(client.get(f"/jobs/{job.key}/workers/0/log/?tail=3")).all("pre")[0].text == (
        "line 48\nline 49\n<b>cut off"
    )
    assert "line 47" not in source
    assert "<b>" not in source
    assert "No output." in client.get(f"/jobs/{job.key}/workers/1/log/?tail=3").content.decode()
    assert client.get(f"/jobs/{job.key}/workers/0/log/?tail=x").status_code == 200


@pytest.mark.django_db
def test_the_last_lines_say_what_is_missing_and_where_more_is_told(
    client: Client, job: Job, log: Path
) -> None:
    log.write_bytes(b"epoch 1\nModuleNotFoundError: No module named '<i>x'\n")
    assert not Page(client.get(f"/jobs/{job.key}/workers/0/log/?tail=5")).all("ul")
    log.write_bytes(b"epoch 1\nModuleNotFoundError: No module named 'yaml'\n")
    page = Page(client.get(f"/jobs/{job.key}/workers/0/log/?tail=5", headers=HTMX))
    assert "The image has no Python module “yaml”" in page.all("ul")[0].text
    assert [link.attrs["href"] for link in page.all("a")] == ["/help/images/#inside"]


@pytest.mark.django_db
def test_the_head_of_the_log_leads_to_its_file_and_to_other_logs(client: Client, job: Job, log: Path) -> None:
    log.write_bytes(b"hello\n")
    page = Page(client.get(f"/jobs/{job.key}/workers/0/log/"))
    hrefs = [e.attrs.get("href") for e in page.all("a")]
    assert f"/jobs/{job.key}/workers/0/log/download/?attempt=1" in hrefs
    assert f"/jobs/{job.key}/workers/1/log/?attempt=1" in hrefs
    other = client.get(f"/jobs/{job.key}/workers/0/log/?attempt=1&worker=1")
    assert other["Location"] == f"/jobs/{job.key}/workers/1/log/?attempt=1"


@pytest.mark.django_db
def test_an_earlier_run_can_be_chosen(client: Client, job: Job, log: Path) -> None:
    log.write_bytes(b"first run\n")
    second = job.attempts.get()
    second.pk, second.number, second.port = None, 2, None
    second.save()
    Worker.objects.create(attempt=second, rank=0, node_name="n", gpus=[0])
    Job.objects.filter(pk=job.pk).update(attempt=2)
    page = Page(client.get(f"/jobs/{job.key}/workers/0/log/"))
    runs = [e for e in page.all("a", class_="ty-menu-item") if "run" in e.text]
    assert [e.attrs["href"] for e in runs] == [f"/jobs/{job.key}/workers/0/log/?attempt={n}" for n in (2, 1)]
    assert "first run" in client.get(runs[1].attrs["href"] or "").content.decode()
