"""The page of storage: volumes by team, public data, room left, filters, and what is told to whom."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from storage import views
from storage.models import Volume
from storage.space import Space, SpaceBook, space_ask
from storage.texts import size_text
from teams.models import Team, User
from tests.e2e.stack import wait_until
from tests.factories import make_pool, make_team, make_user, make_volume, make_zone
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
ODD = "<img src=x onerror=alert(1)>"


@pytest.fixture
def team() -> Team:
    return make_team()


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def rows(client: Client, query: str = "") -> list[str]:
    """What the rows say, from top to bottom."""
    page = Page(client.get(f"/storage/{query}"))
    return [" ".join(e.text.split()) for e in page.all("tr")[1:]]


def names(client: Client, query: str = "") -> list[str]:
    page = Page(client.get(f"/storage/{query}"))
    return [e.text for e in page.all("strong", class_="ty-name")]


def test_signing_in_comes_first() -> None:
    assert Client().get("/storage/")["Location"] == "/accounts/login/?next=/storage/"


def test_volumes_that_the_teams_may_mount(client: Client, alice: User, team: Team) -> None:
    zone = make_zone("a zone")
    make_volume(zone, team, name="data", read_only=True, default_mount_path="/mnt/data", suggested=False)
    make_volume(zone, team, name="work")
    make_volume(zone, make_team(), name="of strangers")
    make_volume(zone, team, name="retired", retired_at=timezone.now())
    assert names(client) == ["data", "work"]
    data, work = rows(client)
    assert "a zone /mnt/data Read only" in data
    assert team.name in data
    assert "/mnt/public pre-filled in new jobs Read and write" in work
    assert " free " in work
    assert "unknown" not in work


def test_a_row_for_each_team(client: Client, alice: User, team: Team) -> None:
    other = make_team()
    other.memberships.create(user=alice)
    volume = make_volume(make_zone(), team, name="shared")
    volume.grants.create(team=other, read_only=True)
    mine = rows(client)
    assert len(mine) == 2
    assert "Read and write" in next(row for row in mine if team.name in row)
    assert "Read only" in next(row for row in mine if other.name in row)
    client.post("/settings/team/", {"team": other.pk})
    assert [other.name in row for row in rows(client)] == [True]


def test_public_data_of_zones_with_a_pool(client: Client, alice: User, team: Team) -> None:
    near, far = make_zone("near", public_data="/srv/near"), make_zone("far", public_data="/srv/far")
    make_pool(team, zone=near)
    make_pool(team)
    make_pool(make_team(), zone=far)
    (row,) = rows(client)
    assert "Public data" in row
    assert "near /infini-data/ Read only" in row
    assert "/srv" not in client.get("/storage/").content.decode()
    assert len(rows(client, "?search=infini")) == 1
    assert rows(client, "?search=nothing") == []


def test_filters(client: Client, alice: User, team: Team) -> None:
    here, there = make_zone(), make_zone()
    make_volume(here, team, name="alpha", default_mount_path="/mnt/one")
    make_volume(there, team, name="beta", default_mount_path="/mnt/two")
    make_volume(make_zone("hidden zone"), make_team())
    assert names(client, f"?zone={there.pk}") == ["beta"]
    assert names(client, "?search=ALPHA") == ["alpha"]
    assert names(client, "?search=/mnt/two") == ["beta"]
    assert names(client, f"?zone={here.pk}&search=beta") == []
    for nonsense in ("?zone=nonsense", "?zone=99999999999999999999", "?page=9999", "?page=x"):
        assert names(client, nonsense) == ["alpha", "beta"]
    source = client.get(f"/storage/?zone={here.pk}&search=beta").content.decode()
    assert "No volume matches." in source
    assert "hidden zone" not in source


def test_nothing_to_mount(client: Client, alice: User, team: Team) -> None:
    make_user(team, admin=True, name="team-boss")
    source = client.get("/storage/").content.decode()
    assert "Your team may mount no volume yet." in source
    assert "whatever they write is lost" in source
    assert "team-boss" in source


def test_folders_of_the_machine_are_for_administrators(client: Client, alice: User, team: Team) -> None:
    volume = make_volume(make_zone(), team)
    source = client.get("/storage/").content.decode()
    assert volume.path not in source
    assert "/admin/" not in source
    staff = make_user(team, is_staff=True, is_superuser=True)
    client.force_login(staff)
    page = Page(client.get("/storage/"))
    assert volume.path in page.source
    assert f"/admin/storage/volume/{volume.pk}/change/" in {e.attrs.get("href") for e in page.all("a")}


def test_a_missing_folder_has_unknown_room(client: Client, alice: User, team: Team) -> None:
    volume = make_volume(make_zone(), team)
    Volume.objects.filter(pk=volume.pk).update(path="/nowhere/at/all")
    (row,) = rows(client)
    assert row.endswith("unknown")


def test_texts_of_people_are_escaped(client: Client, alice: User, team: Team, tmp_path: Path) -> None:
    make_volume(make_zone(ODD), team, name=ODD, default_mount_path=f"/mnt/{ODD}", path=str(tmp_path))
    assert "<img src=x" not in client.get(f"/storage/?search={ODD}").content.decode()
    assert names(client) == [ODD]


def test_long_lists_have_pages_at_a_fixed_cost(
    client: Client, alice: User, team: Team, monkeypatch: Any, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(views, "PAGE_SIZE", 4)
    for n in range(10):
        make_volume(make_zone(), team, name=f"volume {n:02}")
    with django_assert_max_num_queries(11):
        page = Page(client.get("/storage/?search=volume"))
    assert "Page 1 of 3" in page.source
    found = names(client) + names(client, "?page=2") + names(client, "?page=3")
    assert sorted(found) == [f"volume {n:02}" for n in range(10)]


def test_room_is_that_of_the_file_system(tmp_path: Path) -> None:
    space = space_ask(str(tmp_path))
    seen = os.statvfs(tmp_path)
    assert space is not None
    assert space.used == seen.f_frsize * (seen.f_blocks - seen.f_bfree)
    assert 0 <= space.used_share <= 100
    assert space_ask(str(tmp_path / "missing")) is None
    assert Space(0, 0).used_share == 0


def test_nobody_waits_for_a_dead_file_system() -> None:
    alive, waiting = threading.Event(), Space(1, 2)
    asked: list[str] = []

    def ask(folder: str) -> Space | None:
        asked.append(folder)
        if folder == "/dead":
            alive.wait()
        return waiting

    book = SpaceBook(ask, wait_s=0.01, most_asking=2)
    began = time.monotonic()
    book.read(["/dead", "/well"])
    assert time.monotonic() - began < 30
    wait_until(lambda: book.read(["/well"])["/well"] == waiting, "the living one has answered")
    assert book.read(["/dead", "/well"]) == {"/dead": None, "/well": waiting}
    wait_until(lambda: len(asked) == 2, "both were asked, once")
    assert sorted(asked) == ["/dead", "/well"]
    alive.set()
    patient = SpaceBook(ask, wait_s=30)
    assert patient.read(["/dead"]) == {"/dead": waiting}


def test_an_answer_is_kept_for_a_while_and_only_so_many_are_asked() -> None:
    asked: list[str] = []
    gate = threading.Event()

    def ask(folder: str) -> Space | None:
        asked.append(folder)
        gate.wait()
        return None

    book = SpaceBook(ask, wait_s=0.01, most_asking=2)
    assert book.read(["/a", "/b", "/c"]) == {"/a": None, "/b": None, "/c": None}
    wait_until(lambda: len(asked) == 2, "two were asked")
    book.read(["/c"])
    assert sorted(asked) == ["/a", "/b"]
    gate.set()
    counted: list[str] = []
    forgetful = SpaceBook(lambda folder: counted.append(folder), keep_s=0, wait_s=30)
    faithful = SpaceBook(lambda folder: counted.append(folder), keep_s=3600, wait_s=30)
    for book in (forgetful, faithful):
        book.read(["/x"])
        book.read(["/x"])
    assert len(counted) == 3


def test_a_folder_that_breaks_the_question_can_be_asked_again() -> None:
    answers = iter([ValueError("odd"), Space(1, 2)])

    def ask(folder: str) -> Space | None:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    book = SpaceBook(ask, keep_s=0, wait_s=30)
    assert book.read(["/x"]) == {"/x": None}
    assert book.read(["/x"]) == {"/x": Space(1, 2)}


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1536, "1.5 KiB"),
        (731 * 2**30, "731 GiB"),
        (1023 * 2**30, "1.0 TiB"),
        (3 * 2**40, "3.0 TiB"),
        (5000 * 2**50, "5000 PiB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text
