"""The choice of an image: what ran in it lately, in which order, and why others are not offered."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from jobs.models import Job
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_image, make_job, make_team, make_user, make_zone
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("any_image")]


@pytest.fixture
def form(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def drawn(client: Client) -> Page:
    return Page(client.get(CREATE))


def ended(user: User, pool: Pool, image: int, state: str, days: int) -> Job:
    """A job in the image that ended so many days ago."""
    job = make_job(user, pool, image=image)
    at = timezone.now() - timedelta(days=days, minutes=1)
    Job.objects.filter(pk=job.pk).update(state=state, created_at=at, ended_at=at)
    return job


def test_what_succeeded_lately_comes_first_and_says_in_which_job(
    form: Client, alice: User, pool: Pool
) -> None:
    images = {name: make_image(pool.zone, reference=name) for name in ("never", "old", "broken", "latest")}
    ended(alice, pool, images["old"].pk, "succeeded", 5)
    ended(alice, pool, images["broken"].pk, "failed", 1)
    job = ended(alice, pool, images["latest"].pk, "succeeded", 2)
    ended(alice, pool, images["latest"].pk, "succeeded", 9)
    offered = drawn(form).by_id("id_image").options[1:]

    assert [int(o["value"] or 0) for o in offered] == [
        images[name].pk for name in ("latest", "old", "broken", "never")
    ]
    assert (offered[0]["data-said"] or "").replace("\xa0", " ") == f"last succeeded: {job.key}, 2 days ago"
    assert offered[0]["data-address"] == f"/jobs/{job.key}/"
    assert (offered[2]["data-said"] or "").replace("\xa0", " ") == "last used 1 day ago, not succeeded yet"
    assert "data-said" not in offered[3]


def test_the_jobs_of_other_teams_tell_nothing(form: Client, pool: Pool) -> None:
    image = make_image(pool.zone)
    other = make_team()
    pool.grants.create(team=other)
    ended(make_user(other), pool, image.pk, "succeeded", 1)
    assert "last succeeded" not in drawn(form).source


def test_kinds_are_groups_with_a_switch_only_where_there_are_two(
    form: Client, team: Team, pool: Pool
) -> None:
    make_image(pool.zone, reference="preset-one")
    assert 'id="image-kinds"' not in drawn(form).source
    digest = "sha256:" + "0123456789abcdef" * 4
    make_image(pool.zone, team=team, reference="ours", digest=digest)
    page = drawn(form)
    assert [o["data-place"] for o in page.by_id("id_image").options[1:]] == ["1", "0"]  # by reference
    assert [group.attrs["label"] for group in page.all("optgroup")] == ["Preset images", "Custom images"]
    assert page.by_id("image-kinds")
    ours = page.by_id("id_image").options[-1]
    assert (ours["data-kind"], ours["data-digest"]) == ("custom", "sha256:0123456789ab")
    assert ours["data-whole-digest"] == digest


def test_each_image_that_is_missing_is_named_with_its_reason(form: Client, team: Team, pool: Pool) -> None:
    make_image(pool.zone)
    far = make_zone("far-zone")
    make_image(pool.zone, reference="for-machines", services=["dev_machine"])
    make_image(far, reference="far-away")
    make_image(pool.zone, reference="gone", team=team, retired_at=timezone.now())
    make_image(pool.zone, reference="of-others", team=make_team())
    admin = make_user(team, admin=True)
    page = drawn(form)
    text = " ".join(page.by_id("images-hidden").text.split())

    assert "1 is not offered for jobs. 1 lies in other zones. 1 is retired." in text
    assert f"for-machines not offered for jobs {pool.zone.name} Show" in text
    assert "far-away lies in other zones far-zone Show" in text
    assert f"gone retired {pool.zone.name}" in text
    assert "of-others" not in page.source
    assert page.all("a", href="/images/?search=far-away")
    assert admin.username in text  # whom to ask
    assert "/admin/" not in text


@pytest.mark.parametrize(("staff", "permitted"), [(True, True), (True, False), (False, True)])
def test_who_may_edit_an_image_is_led_there(
    form: Client, alice: User, pool: Pool, staff: bool, permitted: bool
) -> None:
    image = make_image(make_zone(), reference="far-away")
    alice.is_staff = staff
    alice.save()
    if permitted:
        alice.user_permissions.add(Permission.objects.get(codename="change_image"))
    links = [a.attrs["href"] for a in drawn(form).all("a")]
    assert (f"/admin/images/image/{image.pk}/change/" in links) == (staff and permitted)


def test_a_zone_without_any_says_so_and_whom_to_ask(form: Client, team: Team, pool: Pool) -> None:
    admin = make_user(team, admin=True)
    source = drawn(form).source
    assert "No image can be used for jobs in this zone." in source
    assert admin.username in source


def test_updates_of_the_numbers_read_nothing_of_it(form: Client, alice: User, pool: Pool) -> None:
    image = make_image(pool.zone)
    ended(alice, pool, image.pk, "succeeded", 1)
    sent = filled(drawn(form), pool, image=str(image.pk))
    answer = form.post("/jobs/estimate/", sent)
    assert b"last succeeded" not in answer.content
    changed = form.post("/jobs/estimate/", sent | {"shown_pool": [""]})
    assert b"last succeeded" in changed.content
