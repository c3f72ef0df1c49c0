"""What all pages of the console have in common."""

from __future__ import annotations

import pytest
from django.test import Client

from teams.pages import plain_id
from tests.factories import make_team, make_user

PAGES = ("/", "/alerts/", "/jobs/", "/jobs/create/", "/pools/", "/images/", "/storage/")


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("007", 7), ("0", 0), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("9" * 5000, None)]
    + [(text, None) for text in (None, "", " 7", "-7", "+7", "7.0", "1_0", "７", "²", "x")],
)
def test_an_id_in_an_address_is_plain_digits(text: str | None, number: int | None) -> None:
    assert plain_id(text) == number


@pytest.mark.django_db
@pytest.mark.parametrize("address", PAGES)
def test_back_shows_a_page_as_it_is_now(client: Client, address: str) -> None:
    client.force_login(make_user(make_team()))
    answer = client.get(address)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_a_part_is_never_the_sign_in_page(client: Client) -> None:
    for address in ("/jobs/", "/jobs/jo-0000000000000000/workers/0/log/", "/jobs/jo-0000000000000000/stop/"):
        part = client.get(address, headers={"HX-Request": "true"})
        assert (part.status_code, part.content) == (401, b"")
        page = client.get(address)
        assert page.status_code == 302
        assert "HX-Request" in page["Vary"]
