"""The image centre: what is listed, what filters it, and what is said of images that jobs cannot use."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from images import views
from images.models import Image
from teams.models import Team, User
from tests.factories import make_image, make_pool, make_team, make_user, make_zone
from tests.jobs.pages import Page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("any_image")]
ODD = "<img src=x onerror=alert(1)>"


@pytest.fixture
def team() -> Team:
    return make_team()


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def listed(client: Client, query: str = "") -> list[str]:
    """The references in the list, from top to bottom."""
    return [e.text for e in Page(client.get(f"/images/{query}")).all("span", class_="ty-name")]


def row(client: Client, image: Image, query: str = "") -> str:
    rows = Page(client.get(f"/images/{query}")).all("tr")
    return next(" ".join(e.text.split()) for e in rows if image.reference in e.text)


def test_signing_in_comes_first() -> None:
    assert Client().get("/images/")["Location"] == "/accounts/login/?next=/images/"


def test_preset_images_and_those_of_the_own_teams(client: Client, alice: User, team: Team) -> None:
    zone = make_zone()
    preset = make_image(zone, reference="b/preset")
    custom = make_image(zone, team=team, reference="a/custom")
    make_image(zone, team=make_team(), reference="c/of-strangers")
    make_image(zone, reference="d/retired", retired_at=timezone.now())
    assert listed(client) == ["a/custom", "b/preset"]
    assert "Preset image" in row(client, preset)
    assert "all teams" in row(client, preset)
    assert "Custom image" in row(client, custom)
    assert team.name in row(client, custom)


def test_what_is_said_of_an_image(client: Client, alice: User) -> None:
    zones = make_zone("alpha"), make_zone("beta")
    image = make_image(*zones, services=["job", "inference"], digest="sha256:" + "0123456789abcdef" * 4)
    said = row(client, image)
    assert "sha256:0123456789ab " in said
    assert "Jobs, inference" in said
    assert "alpha, beta" in said


def test_which_images_jobs_can_use_and_why_not(client: Client, alice: User, team: Team) -> None:
    here, there = make_zone("here"), make_zone("there")
    make_pool(team, zone=here)
    both, far = make_image(here, there), make_image(there, reference="far-away:1")
    dev = make_image(here, services=["dev_machine"])
    assert "Offered in here" in row(client, both)
    assert "You have no resource pool in its zones" in row(client, far)
    assert "Not offered for jobs" in row(client, dev)
    there_only = f"?zone={there.pk}"
    assert "You have no resource pool in there" in row(client, both, there_only)
    page = Page(client.get(f"/images/?zone={here.pk}")).source
    assert "2 images in here." in page
    assert "1 other lies in other zones only." in page


def test_filters(client: Client, alice: User, team: Team) -> None:
    here, there = make_zone(), make_zone()
    make_image(here, reference="a/one")
    make_image(there, reference="b/two", services=["inference"])
    make_image(here, there, team=team, reference="c/three", services=["job", "dev_machine"])
    assert listed(client, f"?zone={here.pk}") == ["a/one", "c/three"]
    assert listed(client, "?service=job") == ["a/one", "c/three"]
    assert listed(client, "?service=inference") == ["b/two"]
    assert listed(client, "?kind=preset") == ["a/one", "b/two"]
    assert listed(client, "?kind=custom") == ["c/three"]
    assert listed(client, "?search=TWO") == ["b/two"]
    assert listed(client, f"?zone={there.pk}&kind=preset&service=inference&search=b/") == ["b/two"]
    everything = ["a/one", "b/two", "c/three"]
    for nonsense in (
        "?zone=nonsense",
        "?zone=99999999999999999999",
        "?service=coffee",
        "?kind=x",
        "?page=9999",
    ):
        assert listed(client, f"?{nonsense}") == everything
    fields = Page(client.get(f"/images/?zone={here.pk}&search=one&kind=preset")).fields()
    assert fields == {"service": [""], "zone": [str(here.pk)], "kind": ["preset"], "search": ["one"]}


def test_empty_states(client: Client, alice: User) -> None:
    assert "There are no images yet." in client.get("/images/").content.decode()
    make_image(make_zone())
    source = client.get("/images/?search=nothing").content.decode()
    assert "No image matches." in source
    assert "There are no images yet." not in source


def test_staff_may_edit_and_others_are_told_whom_to_ask(client: Client, alice: User, team: Team) -> None:
    make_user(team, admin=True, name="team-boss")
    make_user(make_team(), admin=True, name="other-boss")
    image = make_image(make_zone())
    edit = f"/admin/images/image/{image.pk}/change/"
    source = client.get("/images/").content.decode()
    assert "team-boss" in source
    assert "other-boss" not in source
    assert "/admin/" not in source
    staff = Client()
    staff.force_login(make_user(is_staff=True, is_superuser=True))
    assert edit in {e.attrs.get("href") for e in Page(staff.get("/images/")).all("a")}
    assert staff.get(edit).status_code == 200


def test_only_the_chosen_team(client: Client, alice: User, team: Team) -> None:
    other, zone = make_team(), make_zone()
    other.memberships.create(user=alice)
    make_pool(other, zone=zone)
    image = make_image(zone, team=other, reference="a/other")
    make_image(zone, reference="b/preset")
    assert listed(client) == ["a/other", "b/preset"]
    assert "Offered in" in row(client, image)
    client.post("/settings/team/", {"team": team.pk})
    assert listed(client) == ["b/preset"]
    assert "Offered in" not in client.get("/images/").content.decode()


def test_texts_of_people_are_escaped(client: Client, alice: User) -> None:
    make_image(make_zone(ODD), reference=ODD)
    source = client.get(f"/images/?search={ODD}").content.decode()
    assert "<img src=x" not in source
    assert listed(client) == [ODD]


def test_long_lists_have_pages_at_a_fixed_cost(
    client: Client, alice: User, monkeypatch: Any, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(views, "PAGE_SIZE", 4)
    zone = make_zone()
    made = [make_image(zone, reference=f"image/{n:02}").reference for n in range(10)]
    with django_assert_max_num_queries(12):
        page = Page(client.get("/images/?kind=preset"))
    assert "Page 1 of 3" in page.source
    assert "?kind=preset&page=2" in {e.attrs.get("href") for e in page.all("a")}
    assert listed(client) + listed(client, "?page=2") + listed(client, "?page=3") == made
