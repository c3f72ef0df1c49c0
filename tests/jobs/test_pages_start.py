"""What the create form starts from, and that it creates nothing worse than it showed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Job
from jobs.spec import EnvVar
from pools.models import Pool
from storage.models import Volume
from teams.models import Team, User
from tests.factories import (
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_zone,
    occupy,
    worker_spec,
)
from tests.jobs.pages import CREATE, Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


@pytest.fixture
def signed_in(client: Client, alice: User, pool: Pool) -> Client:
    client.force_login(alice)
    return client


def get(client: Client, query: str) -> Page:
    return Page(client.get(CREATE + query))


def test_the_example_needs_nothing_but_the_button(signed_in: Client, pool: Pool) -> None:
    page = get(signed_in, "?example=1")
    assert page.by_id("summary").attrs["data-outlook"] == "now"
    assert signed_in.post(CREATE, page.fields()).status_code == 303
    job = Job.objects.get()
    assert (job.framework, job.total_gpus, job.shape.workers) == ("pytorch_ddp", 2, 2)
    assert "$WORLD_SIZE" in job.request["command"]


def test_where_the_demo_put_its_program_the_example_runs_it(
    signed_in: Client, pool: Pool, settings: Any
) -> None:
    settings.DEMO_EXAMPLE = Path(Volume.objects.get().path).relative_to(settings.DATA_DIR)
    fields = get(signed_in, "?example=1").fields()
    assert fields["command"] == ["sh /mnt/public/digits/run.sh"]
    assert fields["env_name"] == ["OUTPUT_DIR", ""]
    assert fields["env_value"][0].startswith("/mnt/public/outputs/digits-")


def test_without_a_pool_there_is_no_example(client: Client) -> None:
    client.force_login(make_user(make_team()))
    assert client.get(CREATE + "?example=1").status_code == 200


def test_the_chosen_team_is_the_forms(client: Client, team: Team, pool: Pool) -> None:
    second = make_team("zz")
    theirs = make_pool(second)
    client.force_login(make_user(team, second))
    client.post("/settings/team/", {"team": str(second.pk)})
    fields = get(client, "").fields()
    assert (fields["team"], fields["pool"]) == ([str(second.pk)], [str(theirs.pk)])


def test_a_pool_can_be_asked_for(client: Client, team: Team, pool: Pool) -> None:
    second = make_team("zz")
    theirs, foreign = make_pool(second), make_pool(make_team())
    client.force_login(make_user(team, second))
    fields = get(client, f"?pool={theirs.pk}").fields()
    assert (fields["team"], fields["pool"]) == ([str(second.pk)], [str(theirs.pk)])
    for odd in (foreign.pk, "x", "", "9" * 30, "-1"):
        assert get(client, f"?pool={odd}").fields()["pool"] == [str(pool.pk)]


def test_an_earlier_job_fills_the_form(signed_in: Client, pool: Pool, alice: User) -> None:
    fields = get(signed_in, "").fields()
    sent = fields | {
        "spec": [str(worker_spec(pool, 4).pk)],
        "worker_count": ["2"],
        "command": ["cd /mnt/public\r\npython train.py"],
        "env_name": ["A", "KEY", "B"],
        "env_value": ["1", "sekret-4711", "x;y"],
        "env_private": ["1"],
        "public_data": ["on"],
        "name": ["first"],
        "description": ["d"],
        "tags": ["a, b"],
        "priority": ["low"],
        "stop_grace_seconds": ["7"],
        "keep_after_failure_minutes": ["15"],
    }
    signed_in.post(CREATE, sent)
    first = Job.objects.get()
    page = get(signed_in, f"?from={first.key}")
    assert not page.all("div", class_="ty-notice")
    signed_in.post(CREATE, page.fields())
    second = Job.objects.latest("pk")
    assert second.pk != first.pk
    assert second.request == first.request
    assert first.key in get(signed_in, "").source  # offered in the menu


def test_private_values_of_others_are_kept_and_not_shown(
    client: Client, pool: Pool, alice: User, team: Team
) -> None:
    job = make_job(alice, pool, env=(EnvVar("KEY", "sekret-4711", private=True),))
    client.force_login(make_user(team))
    page = get(client, f"?from={job.key}")
    assert "sekret" not in page.source
    assert page.fields()["env_name"] == ["KEY", ""]
    assert page.fields()["env_from"] == [job.key, ""]
    assert f"kept from {job.key}, not shown" in page.source
    assert "all variables stay as they are: KEY." in page.source
    client.force_login(make_user(make_team()))
    assert client.get(f"{CREATE}?from={job.key}").status_code == 404


def test_what_is_gone_is_left_out_and_told(signed_in: Client, pool: Pool, alice: User, team: Team) -> None:
    job = make_job(alice, pool, gpus=2, name="old")
    worker_spec(pool, 2).__class__.objects.filter(pk=job.spec_id).update(retired_at=timezone.now())
    job.image.zones.clear()
    page = get(signed_in, f"?from={job.key}")
    told = [e.text for e in page.all("div", class_="ty-notice")]
    assert len(told) == 2
    assert page.fields()["image"] == [""]
    assert page.fields()["name"] == ["old"]
    pool.grants.all().delete()
    make_pool(team)
    told = [e.text for e in get(signed_in, f"?from={job.key}").all("div", class_="ty-notice")]
    assert [pool.name in text for text in told] == [True]


def filled(page: Page, pool: Pool, **changed: str) -> dict[str, Any]:
    values = page.fields() | {"spec": [str(worker_spec(pool, 8).pk)], "command": ["true"], "name": ["x"]}
    return values | {name: [value] for name, value in changed.items()}


def shown(client: Client, page: Page, pool: Pool) -> dict[str, Any]:
    """The form as it is after the page has shown its verdict."""
    live = Page(client.post("/jobs/estimate/", filled(page, pool)))
    promise = next(e.attrs["value"] for e in live.all("input", name="promise"))
    return filled(page, pool, promise=str(promise))


def test_what_starts_worse_than_it_was_shown_is_asked_again(
    signed_in: Client, pool: Pool, alice: User
) -> None:
    sent = shown(signed_in, get(signed_in, ""), pool)
    assert sent["promise"] == ["now"]
    occupy(pool, [8, 8, 8, 8])  # between look and click
    answer = signed_in.post(CREATE, sent | {"description": ["kept"]})
    assert answer.status_code == 409
    assert not Job.objects.exists()
    again = Page(answer)
    assert "Things have changed: this would now queue at place 1." in again.by_id("changed").text
    assert again.fields()["description"] == ["kept"]
    assert again.fields()["promise"] == ["place-1-capacity"]

    make_job(alice, pool, gpus=8)  # somebody is faster once more
    assert signed_in.post(CREATE, again.fields()).status_code == 409
    last = Page(signed_in.post(CREATE, again.fields()))
    assert signed_in.post(CREATE, last.fields()).status_code == 303
    assert Job.objects.count() == 2


def test_what_got_better_is_created(signed_in: Client, pool: Pool, alice: User) -> None:
    occupy(pool, [8, 8, 8, 8])
    ahead = make_job(alice, pool, gpus=8)
    sent = shown(signed_in, get(signed_in, ""), pool)
    assert sent["promise"] == ["place-2-capacity"]
    signed_in.post(f"/jobs/{ahead.key}/stop/")
    assert signed_in.post(CREATE, sent).status_code == 303


def test_another_reason_to_wait_is_worse_too(signed_in: Client, pool: Pool) -> None:
    occupy(pool, [8, 8, 8, 8])
    sent = shown(signed_in, get(signed_in, ""), pool)
    assert sent["promise"] == ["place-1-capacity"]
    pool.__class__.objects.update(paused=True)
    answer = signed_in.post(CREATE, sent)
    assert answer.status_code == 409
    assert "The resource pool is paused." in Page(answer).by_id("changed").text
    again = Page(answer).fields()
    pool.__class__.objects.update(paused=False)
    assert signed_in.post(CREATE, again).status_code == 303  # that got better


@pytest.mark.parametrize("promise", ["", "place-", "place-x", "place--1", "maybe"])
def test_who_was_shown_nothing_is_asked_before_queueing(signed_in: Client, pool: Pool, promise: str) -> None:
    page = get(signed_in, "")
    occupy(pool, [8, 8, 8, 8])
    answer = signed_in.post(CREATE, filled(page, pool, promise=promise))
    assert answer.status_code == 409
    assert "queue at place 1" in Page(answer).by_id("changed").text


def test_an_update_that_changes_nothing_is_not_sent(signed_in: Client, pool: Pool) -> None:
    sent = filled(get(signed_in, ""), pool)
    first = Page(signed_in.post("/jobs/estimate/", sent))
    seen = {"seen": [str(first.by_id("seen").attrs["value"])]}
    assert signed_in.post("/jobs/estimate/", sent | seen).status_code == 204
    assert signed_in.post("/jobs/estimate/", sent | seen | {"worker_count": ["2"]}).status_code == 200
    occupy(pool, [1, 0, 0, 0])
    assert signed_in.post("/jobs/estimate/", sent | seen).status_code == 200


def test_notes_stand_beside_their_fields(signed_in: Client, pool: Pool) -> None:
    sent = filled(get(signed_in, ""), pool, env_text="1A=x", mount_path="/etc")
    live = Page(signed_in.post("/jobs/estimate/", sent))
    assert "“1A” is no variable name" in live.by_id("notes-env_text").text
    assert "Row 1:" in live.by_id("notes-mounts").text
    assert live.by_id("notes-name").text.strip() == ""
    tried = Page(signed_in.post("/jobs/estimate/", sent | {"tried": ["1"], "name": [""]}))
    assert " ".join(tried.by_id("notes-name").text.split()) == "Error: This field is required."


@pytest.mark.usefixtures("any_image")
def test_images_that_are_not_listed_are_counted(signed_in: Client, pool: Pool) -> None:
    make_image(make_zone(), reference="far-away:1")
    make_image(pool.zone, services=["inference"])
    text = " ".join(get(signed_in, "").by_id("image-part").text.split())
    assert "1 is not offered for jobs. 1 lies in other zones." in text
