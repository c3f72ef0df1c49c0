"""Beside the form: the split of a custom count, specs without room, and what would start now in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from jobs.models import Job
from teams.models import Team
from tests.factories import make_pool, occupy
from tests.jobs.pages import CREATE, Page
from tests.jobs.places import LIVE, Browser, Place

pytestmark = pytest.mark.django_db


def test_the_split_of_a_custom_count_is_shown(client: Client, sent: dict[str, Any]) -> None:
    def split(**changes: Any) -> str:
        return Page(client.post(LIVE, sent | changes)).by_id("split").text

    custom = {"custom": ["on"]}
    assert split() == ""
    assert split(**custom, custom_gpus=["5"]) == "1 Worker of 5 GPUs"
    assert split(**custom, custom_gpus=["13"]) == "13 = 8 + 5: 1 Worker of 8 GPUs and one of 5 GPUs"
    assert split(**custom, custom_gpus=["93"]).startswith("93 = 11 × 8 + 5: 11 Workers of 8 GPUs and one of")
    assert split(**custom, custom_gpus=["0"]) == ""


def test_a_spec_with_too_little_room_is_marked_and_can_be_chosen(
    client: Client, sent: dict[str, Any], north: Place
) -> None:
    occupy(north.pool, [8, 4, 0, 0])
    page = Page(client.post(LIVE, sent | {"worker_count": ["3"]}))
    marked = {
        gpus: "fewer than 3" in page.by_id(f"startable-of-{north.spec(gpus)}").text for gpus in (2, 4, 8)
    }
    assert marked == {2: False, 4: False, 8: True}
    assert all("disabled" not in e.attrs for e in page.all("input", name="spec"))


def adopted(client: Client, sent: dict[str, Any], value: str | None) -> Page:
    answer = client.post(CREATE, sent | {"adopt": [value]})
    assert answer.status_code == 200
    return Page(answer)


def test_taking_over_and_back_without_javascript(
    client: Client, sent: dict[str, Any], north: Place, team: Team
) -> None:
    near = make_pool(team, zone=north.pool.zone)
    occupy(north.pool, [4, 4, 4, 0])
    live = Page(client.post(LIVE, sent))
    shown = [e.attrs["value"] for e in live.all("button", name="adopt")]
    assert [set(json.loads(value or "")) for value in shown] == [
        {"spec", "worker_count", "rdma"},
        {"pool", "spec", "rdma"},
        {"worker_count"},
    ]
    browser = Browser(client, sent)
    for value in shown:
        page = adopted(client, sent, value)
        assert page.by_id("summary").attrs["data-outlook"] == "now"
        assert not page.all("button", id_="adopt-1")
        undo = page.by_id("taken-over")
        assert "hidden" not in undo.attrs
        back = adopted(client, page.fields(), page.all("button", name="adopt")[-1].attrs["value"])
        assert Browser(client, back.fields()).typed() == browser.typed()
    assert adopted(client, sent, shown[1]).fields()["pool"] == [str(near.pk)]
    assert not Job.objects.exists()


@pytest.mark.parametrize("odd", ["", "x", "[]", '{"command": "rm"}', '{"spec": 1}', "[" * 70_000])
def test_nothing_else_can_be_taken_over(client: Client, sent: dict[str, Any], odd: str) -> None:
    page = adopted(client, sent, odd)
    assert page.fields()["command"] == sent["command"]
    assert page.fields()["spec"] == sent["spec"]
    assert "hidden" in page.by_id("taken-over").attrs


def test_nothing_is_offered_in_place_of_what_starts_or_is_wrong(
    client: Client, sent: dict[str, Any], north: Place
) -> None:
    for changes in ({}, {"worker_count": ["0"]}, {"mount_path": ["/etc", "/mnt/b"], "worker_count": ["9"]}):
        assert "ty-alternatives" not in client.post(LIVE, sent | changes).content.decode()
    too_many = client.post(LIVE, sent | {"worker_count": ["9"]}).content.decode()
    assert "4 Workers of 8 GPUs" in too_many
