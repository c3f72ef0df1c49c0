"""An image that the engine of a pool can never run is offered nowhere, and refused at once where it is asked
for, by the form as by REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Job
from jobs.texts import finding_text
from pools.models import ENGINE_IMAGES, Pool
from runs.registry import engine_of
from tests.factories import make_image, make_job, make_pool, make_user, make_zone
from tests.jobs.answers import errors, made
from tests.jobs.pages import CREATE, Page

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"


@pytest.fixture
def pool(team: Any) -> Pool:
    return make_pool(team)


def test_by_rest(api: Any, team: Any, pool: Pool, body: dict[str, Any]) -> None:
    client = api(make_user(team))
    other, host = make_image(pool.zone, reference="python:3"), make_image(pool.zone)
    dry = client.post(f"{JOBS}?dry_run=true", body | {"image": other.pk}).json()
    (wrong,) = [f for f in dry["findings"] if f["level"] == "error"]
    assert (dry["valid"], wrong["code"], wrong["field"]) == (False, "image_not_runnable", "image")
    assert wrong["message"] == (
        f"The image python:3 can never run in the resource pool {pool.name}, which can only run host."
    )
    refused = client.post(JOBS, body | {"image": other.pk})
    assert errors(refused) == [("image_not_runnable", "image")]
    assert refused.json()["errors"][0]["detail"] == wrong["message"]
    made(client.post(JOBS, body | {"image": host.pk}))


def test_by_the_form(team: Any, pool: Pool, body: dict[str, Any]) -> None:
    other = make_image(pool.zone, reference="python:3")
    browser = Client()
    browser.force_login(make_user(team))
    fields = Page(browser.get(f"{CREATE}?pool={pool.pk}")).fields()
    sent = fields | {name: [str(body[name])] for name in ("spec", "command", "name")}
    sent |= {"pool": [str(pool.pk)], "image": [str(other.pk)]}
    said = finding_text("image_not_runnable", {"image": "python:3", "pool": pool.name, "images": "host"})
    answer = browser.post(CREATE, sent)
    assert (answer.status_code, Job.objects.count()) == (422, 0)
    assert said in answer.content.decode()


def test_what_pools_say_of_engines_is_of_engines_that_there_are() -> None:
    choices = dict(Pool._meta.get_field("engine").choices or ())
    assert ENGINE_IMAGES.keys() <= choices.keys()
    assert all(engine_of(kind) for kind in choices)


def test_the_form_offers_none_of_them_and_says_why(client: Client, team: Any, pool: Pool) -> None:
    host, _other = make_image(pool.zone), make_image(pool.zone, reference="python:3")
    make_image(make_zone(), reference="far-away:1")  # its zone is the least of it
    make_image(pool.zone, reference="gone:1", retired_at=timezone.now())
    client.force_login(make_user(team))
    page = Page(client.get(f"{CREATE}?pool={pool.pk}"))
    assert [option["value"] for option in page.by_id("id_image").options] == ["", str(host.pk)]
    assert page.fields()["image"] == [str(host.pk)]  # no choice is left
    said = " ".join(page.by_id("images-hidden").text.split())
    assert "2 cannot run in this pool. 1 is retired." in said
    assert f"python:3 cannot run in this pool {pool.zone.name}" in said


def test_the_list_by_rest_for_a_pool_leaves_them_out(api: Any, team: Any, pool: Pool) -> None:
    host, other = make_image(pool.zone), make_image(pool.zone, reference="python:3")
    client = api(make_user(team))

    def listed(query: str) -> set[int]:
        return {row["id"] for row in client.get(f"/api/v1/images/{query}").json()["results"]}

    assert listed(f"?pool={pool.pk}") == {host.pk}
    assert listed(f"?pool={pool.pk}&service=job") == {host.pk}
    assert listed("?service=job") == {host.pk, other.pk}


def test_a_copied_job_says_that_its_image_cannot_run_there(client: Client, team: Any, pool: Pool) -> None:
    user = make_user(team)
    make_image(pool.zone)
    with pytest.MonkeyPatch.context() as before:  # another engine ran it
        before.setitem(ENGINE_IMAGES, "local", ())
        job = make_job(user, pool, image=make_image(pool.zone, reference="python:3").pk)
    client.force_login(user)
    page = Page(client.get(f"{CREATE}?from={job.key}"))
    assert page.fields()["image"] == [""]
    told = " ".join(e.text for e in page.all("div", class_="ty-notice"))
    place = f"the resource pool {pool.name} (zone {pool.zone.name})"
    assert f"The image python:3 cannot be used in {place}: cleared." in told


def test_the_image_centre_says_so(client: Client, team: Any, pool: Pool) -> None:
    host, other = make_image(pool.zone), make_image(pool.zone, reference="python:3")
    far = make_image(make_zone(), reference="far-away:1")
    client.force_login(make_user(team))
    rows = [" ".join(e.text.split()) for e in Page(client.get("/images/")).all("tr")]
    said = {image.pk: row for image in (host, other, far) for row in rows if row.startswith(image.reference)}
    assert f"Offered in {pool.zone.name}" in said[host.pk]
    assert "None of your resource pools there can run it" in said[other.pk]
    assert "You have no resource pool in its zones" in said[far.pk]
