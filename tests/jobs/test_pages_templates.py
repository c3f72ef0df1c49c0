"""Templates of start commands on the form: filled in with its mounts and name, with and without JavaScript;
and where the command runs."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import Job
from pools.models import Pool
from storage.models import VolumeGrant
from teams.models import Team, User
from tests.factories import make_volume
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db
TEMPLATE = "/jobs/template/"


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


def asked(client: Client, page: Page, pool: Pool, template: str, **changed: Any) -> dict[str, Any]:
    answer = client.post(TEMPLATE, filled(page, pool, template=template, **changed))
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_a_template_gets_the_command_the_name_and_the_mount_path(
    client: Client, page: Page, pool: Pool
) -> None:
    log = asked(client, page, pool, "log", command="cd /a\r\n./train")
    assert log["whole"] is True
    assert log["text"].splitlines()[1:6] == [
        "logs=/mnt/public/logs/$TRAINYARD_JOB_ID",
        'mkdir -p "$logs" || exit',
        "(",
        "cd /a",
        "./train",
    ]
    resume = asked(client, page, pool, "resume", name="llm-7b", command="")
    assert "CHECKPOINT_DIR=/mnt/public/checkpoints/llm-7b\n" in resume["text"]
    beside = asked(client, page, pool, "torchrun", command="bash run.sh")
    assert (beside["whole"], "run.sh" in beside["text"]) == (False, False)


def test_a_volume_that_is_read_only_is_passed_over(
    client: Client, team: Team, page: Page, pool: Pool
) -> None:
    writable = make_volume(pool.zone, team, suggested=False)
    first = VolumeGrant.objects.exclude(volume=writable).get()
    VolumeGrant.objects.filter(pk=first.pk).update(read_only=True)
    mounts = {"mount_volume": [str(first.volume_id), str(writable.pk)], "mount_path": ["/mnt/a", "/mnt/b"]}
    assert "logs=/mnt/b/logs/" in asked(client, page, pool, "log", **mounts)["text"]
    assert "logs=/mnt/volume/" in asked(client, page, pool, "log", mount_volume=[], mount_path=[])["text"]


def test_without_javascript_a_button_puts_it_into_the_form(client: Client, page: Page, pool: Pool) -> None:
    values = {b.attrs["value"] for b in page.all("button", name="template")}
    assert values == {"log", "upload", "keep", "torchrun", "resume", "prepare"}
    answer = client.post(CREATE, filled(page, pool, template="keep", command="./train", description="stays"))
    sent = Page(answer).fields()
    assert "(\n./train\n)\nrc=$?" in sent["command"][0]
    assert sent["description"] == ["stays"]
    beside = Page(client.post(CREATE, filled(page, pool, template="torchrun", command="bash run.sh")))
    assert beside.fields()["command"][0].startswith("bash run.sh\n\ncd /mnt/public || exit\n")
    assert not Job.objects.exists()


@pytest.mark.parametrize(("template", "status"), [("nothing", 404), ("", 404)])
def test_no_other_template(client: Client, page: Page, pool: Pool, template: str, status: int) -> None:
    assert client.post(TEMPLATE, filled(page, pool, template=template)).status_code == status


def test_who_is_signed_out_gets_none(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, template="log")
    client.logout()
    assert client.post(TEMPLATE, sent).status_code == 401


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"worker_count": "1"}, "1 Worker, once"),
        ({"worker_count": "4"}, "each of the 4 Workers, once"),
        ({"custom": "on", "custom_gpus": "17"}, "each of the 3 Workers, once"),
        ({"worker_count": "?"}, "each Worker, once"),
    ],
)
def test_the_form_says_on_which_workers_the_command_runs(
    client: Client, alice: User, page: Page, pool: Pool, changed: dict[str, str], text: str
) -> None:
    assert "/workspace" in page.source
    live = Page(client.post("/jobs/estimate/", filled(page, pool, **changed)))
    for place in ("runs-on", "command-runs-on"):
        assert " ".join(live.by_id(place).text.split()) == text
