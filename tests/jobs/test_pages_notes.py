"""Check results on the form: how many, how certain, where, and with what would settle them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.test import Client

from jobs.models import Job
from pools.models import Pool
from tests.factories import make_job
from tests.jobs.advised import advised
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db
ESTIMATE = "/jobs/estimate/"


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


@pytest.fixture(autouse=True)
def advice() -> Iterator[None]:
    with mock.patch("jobs.estimate.advise", advised):
        yield


def plain(text: str) -> str:
    return " ".join(text.split())


def updated(client: Client, sent: dict[str, Any]) -> Page:
    return Page(client.post(ESTIMATE, sent))


def test_a_note_leads_to_its_line_and_shows_the_change_before_it_is_made(
    client: Client, page: Page, pool: Pool
) -> None:
    live = updated(client, filled(page, pool, command="date\r\npython t.py || true\r\n"))
    note = live.all("li", class_="ty-note-warning")[0]
    assert plain(note.text).startswith("Warning: Start command · line 2")
    links = [e for e in live.all("a", href="#id_command") if e.attrs.get("data-line") == "2"]
    assert len(links) == 2  # in the summary and at the field
    assert [plain(e.text) for e in live.all("del")] == ["before: python t.py || true"] * 2
    assert [plain(e.text) for e in live.all("ins")] == ["after: python t.py"] * 2
    apply = [e for e in live.all("button") if e.attrs.get("data-fix")]
    assert {(e.attrs["data-old"], e.attrs["data-new"], e.attrs["data-line"]) for e in apply} == {
        ("python t.py || true", "python t.py", "2")
    }
    assert {e.attrs["type"] for e in apply} == {"button"}  # nothing is sent by it


def test_ids_are_single_and_stay_when_lines_move(client: Client, page: Page, pool: Pool) -> None:
    def ids(command: str) -> list[str]:
        live = updated(client, filled(page, pool, command=command))
        return [str(e.attrs["id"]) for e in live.elements if e.attrs.get("id")]

    twice = ids("a || true\na || true")
    assert sorted(twice) == sorted(set(twice))
    fixes = {name for name in twice if name.startswith("fix-")}
    assert len(fixes) == 12  # details, its summary and the button: two notes, in two places
    assert fixes == {name for name in ids("date\n\na || true\na || true") if name.startswith("fix-")}


@pytest.mark.parametrize(
    ("command", "field", "old", "new"),
    [
        ("ddp", "framework", "Single machine", "PyTorch DDP"),
        ("public", "public_data", "off", "on"),
        ("three", "worker_count", "1", "3"),
        ("a | tee log", "command", None, "set -o pipefail"),
        ("sleep 9", "command", "sleep 9", None),
    ],
)
def test_values_are_shown_by_their_names(
    client: Client, page: Page, pool: Pool, command: str, field: str, old: str | None, new: str | None
) -> None:
    live = updated(client, filled(page, pool, command=command))
    assert {e.attrs["data-fix"] for e in live.all("button") if e.attrs.get("data-fix")} == {field}
    assert {plain(e.text) for e in live.all("del")} == ({f"before: {old}"} if old else set())
    assert {plain(e.text) for e in live.all("ins")} == ({f"after: {new}"} if new else set())


def test_results_are_counted_by_level(client: Client, page: Page, pool: Pool) -> None:
    command = "a || true\nb || true\nno way\n"
    live = updated(client, filled(page, pool, command=command, worker_count="0"))
    title = next(e for e in live.all("h3") if "Check results" in e.text)
    assert "1 error 2 warnings 1 hint" in plain(title.text)
    assert "1 more" in plain(live.by_id("more-notes").text)
    assert "ty-note-hint" in live.source


def test_a_result_waits_until_the_section_that_decides_was_touched(
    client: Client, page: Page, pool: Pool
) -> None:
    nothing: dict[str, Any] = {"mount_volume": "", "mount_path": ""}

    def look(**changed: Any) -> str:
        live = updated(client, filled(page, pool, command="/a/out", **nothing | changed))
        notes = [e for e in live.all("li") if "Start command · line 1" in plain(e.text)]
        return str(notes[0].attrs["class"]).removeprefix("ty-note-")

    rows = {"mount_volume": page.fields()["mount_volume"], "mount_path": ["/mnt/public", ""]}
    assert look() == "waits"
    assert look(touched="command resources") == "waits"
    assert look(touched="command storage") == "warning"
    assert look(touched="all") == "warning"
    assert look(tried="1") == "warning"
    assert look(**rows) == "warning"  # what is mounted is there to be judged by


def test_what_waits_is_told_so_and_does_not_count(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, command="/a/out", mount_volume="", mount_path="")
    waiting = updated(client, sent)
    assert "(depends on Storage below)" in plain(waiting.by_id("notes-command").text)
    assert not waiting.all("div", class_="invalid-feedback")

    def warnings(live: Page) -> str:
        return plain(live.by_id("promise").text).partition("at once")[2]

    certain = updated(client, sent | {"touched": ["storage"]})
    assert (warnings(waiting), warnings(certain)) == (
        " 1 warnings",
        " 2 warnings",
    )  # and that nothing is mounted


def test_a_form_filled_from_something_has_been_everywhere(
    client: Client, page: Page, pool: Pool, alice: Any
) -> None:
    job = make_job(alice, pool)
    assert page.fields()["touched"] == [""]
    for start in ("?example=1", f"?from={job.key}"):
        assert Page(client.get(CREATE + start)).fields()["touched"] == ["all"]


def test_a_refused_form_keeps_what_was_touched_and_ticked(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, name="", touched="storage", confirmed=["trial"])
    again = Page(client.post(CREATE, sent)).fields()
    assert again["touched"] == ["storage"]
    assert again["confirmed"] == ["trial"]


def test_what_was_ticked_is_no_part_of_the_job(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, confirmed=["trial"])
    first = client.post(CREATE, sent)
    second = client.post(CREATE, sent | {"confirmed": [], "touched": ["all"]})
    assert first["Location"] == second["Location"]
    assert "confirmed" not in Job.objects.get().request


def test_the_list_before_the_button_follows_the_form(client: Client, page: Page, pool: Pool) -> None:
    assert page.by_id("point-failure").attrs["data-standing"] == "later"
    volume = page.fields()["mount_volume"]
    sent = filled(
        page, pool, command="python /mnt/public/t.py --output_dir /mnt/public/o", mount_volume=volume
    )
    live = updated(client, sent)
    standing = {
        str(e.attrs["id"]).removeprefix("point-"): e.attrs["data-standing"]
        for e in live.elements
        if "data-standing" in e.attrs
    }
    assert standing == {
        "resources": "ok",
        "workers": "ok",
        "image": "ok",
        "code": "ok",
        "outputs": "ok",
        "failure": "ok",
        "distributed": "ok",
        "resume": "hand",
        "trial": "hand",
    }
    assert "7 of 9 settled" in live.by_id("said-checklist").text
    ticked = updated(client, sent | {"confirmed": ["trial", "image"]})
    assert "8 of 9 settled" in ticked.by_id("said-checklist").text
    assert not live.all("input", name="confirmed")  # an update leaves the boxes alone


def test_an_estimate_tells_the_fix_and_what_decides(client: Client, page: Page, pool: Pool) -> None:
    body = {
        "pool": pool.pk,
        "spec": int(filled(page, pool)["spec"][0]),
        "image": int(page.fields()["image"][0]),
        "command": "a || true\n/a/out",
        "name": "x",
    }
    answer = client.post("/api/v1/jobs/?dry_run=true", body, content_type="application/json")
    told = [f for f in answer.json()["findings"] if f["field"] == "command"]
    assert told[0]["fix"] == {"field": "command", "line": 1, "old": "a || true", "new": "a"}
    assert (told[1]["fix"], told[1]["leans_on"]) == (None, "mounts")
