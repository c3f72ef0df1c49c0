"""An image that the engine of a pool can never run is refused at once, by the form as by REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import Job
from jobs.texts import finding_text
from pools.models import ENGINE_IMAGES, Pool
from runs.registry import engine_of
from tests.factories import make_image, make_pool, make_user
from tests.jobs.answers import errors, made
from tests.jobs.pages import CREATE, Page

pytestmark = [pytest.mark.django_db, pytest.mark.engine_images]
JOBS = "/api/v1/jobs/"


@pytest.fixture
def pool(team: Any) -> Pool:
    return make_pool(team)


def test_by_rest(api: Any, team: Any, pool: Pool, body: dict[str, Any]) -> None:
    client = api(make_user(team))
    other, host = make_image(pool.zone, reference="python:3"), make_image(pool.zone, reference="host")
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
