"""Pages: a job once more by one click, and with changes from a form."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from images.models import Image
from jobs.models import IdempotencyKey, Job, PrivateValue
from jobs.repeating import job_rerun
from jobs.spec import EnvVar, MountSpec
from jobs.states import Priority
from pools.models import Pool, WorkerSpec
from storage.models import Volume
from teams.models import Team, User
from teams.vault import decrypt
from tests.factories import (
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_volume,
    occupy,
    worker_spec,
)
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
SECRET = "sekret-4711"


@pytest.fixture
def pool(team: Team) -> Pool:
    return make_pool(team, nodes=3, network="roce")


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team, name="alice")
    client.force_login(user)
    return user


@pytest.fixture
def bob(team: Team) -> User:
    return make_user(team, name="bob")


@pytest.fixture
def job(alice: User, pool: Pool, team: Team) -> Job:
    """With odd values in what a form might not give back as it was."""
    made = make_job(
        alice,
        pool,
        gpus=8,
        workers=2,
        rdma=True,
        command="\n echo one\n\techo 'two'\recho \"</textarea>\"  \n",
        env=[EnvVar("A", " x\r\ny; "), EnvVar("KEY", SECRET, True)],
        mounts=[MountSpec(make_volume(pool.zone, team, name="public").pk, "/mnt//public/")],
        tags=("x/y", "sft"),
        description="说明\r\n<b>",
        max_runtime_minutes=7,
        hang_timeout_seconds=77,
        start_policy="queue",
    )
    job: Job = Job.objects.get(pk=made.pk)  # as it was stored
    return job


def again(client: Client, job: Job, part: str = "modify", **changed: Any) -> Any:
    """What the form sends after its verdict has followed the changes."""
    address = f"/jobs/{job.key}/{part}/"
    fields = Page(client.get(address)).fields()
    sent = fields | {name: v if isinstance(v, list) else [v] for name, v in changed.items()}
    sent = {name: values for name, values in sent.items() if values != [None]}
    if part == "modify":
        sent["promise"] = Page(client.post(address, sent | {"look": ["1"]})).fields()["promise"]
    return client.post(address, sent)


def newest(answer: Any) -> Job:
    assert answer.status_code == 303, answer.content.decode()[-3000:]
    job: Job = Job.objects.latest("pk")
    assert answer["Location"] == f"/jobs/{job.key}/"
    return job


def token_of(page: Page, job: Job) -> dict[str, str]:
    (form,) = [e for e in page.all("form") if e.attrs.get("action") == f"/jobs/{job.key}/rerun/"]
    at = page.elements.index(form)
    token = next(e for e in page.elements[at:] if e.attrs.get("name") == "token")
    return {"token": token.attrs["value"] or ""}


@pytest.mark.parametrize("place", ["/jobs/", "/jobs/{}/", "/jobs/{}/rerun/"])
def test_one_click_makes_one_job(client: Client, job: Job, place: str) -> None:
    address = f"/jobs/{job.key}/rerun/"
    sent = token_of(Page(client.get(place.format(job.key))), job)
    first = newest(client.post(address, sent))
    assert (first.origin, first.origin_kind, first.request) == (job, "rerun", job.request)
    assert "Created." in client.get(f"/jobs/{first.key}/").content.decode()
    again_sent = client.post(address, sent)
    assert again_sent["Location"] == f"/jobs/{first.key}/"
    assert "This was sent before" in client.get(again_sent["Location"]).content.decode()
    assert Job.objects.count() == 2
    meant = token_of(Page(client.get(place.format(job.key))), job)  # Back, and the button once more
    assert newest(client.post(address, meant)).pk != first.pk
    assert Job.objects.count() == 3


@pytest.mark.usefixtures("alice")
def test_who_may_not_use_high_priority_is_told_of_normal(client: Client, pool: Pool, team: Team) -> None:
    job = make_job(make_user(team, high=True), pool, priority="high")
    said = "which you may not use in its team"
    for part in ("rerun", "modify"):
        changed = {"command": "echo other"} if part == "modify" else {}
        second = newest(again(client, job, part, **changed))
        assert (second.priority, second.origin) == (Priority.NORMAL, job)
        assert said in client.get(f"/jobs/{second.key}/").content.decode()
    assert said in client.get(f"/jobs/{job.key}/modify/").content.decode()
    cloned = Page(client.get(f"/jobs/create/?from={job.key}"))
    assert cloned.fields()["priority"] == ["normal"]
    assert said in cloned.source
    job.team.memberships.update(may_use_high_priority=True)
    assert newest(again(client, job, "rerun")).priority == Priority.HIGH
    cloned = Page(client.get(f"/jobs/create/?from={job.key}"))
    assert cloned.fields()["priority"] == ["high"]
    assert said not in cloned.source


def test_what_became_of_the_first_job_meanwhile_is_not_told_of_the_second(
    client: Client, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(**asked: Any) -> Any:
        made = job_rerun(**asked)
        Job.objects.filter(pk=job.pk).update(priority=Priority.LOW)
        return made

    monkeypatch.setattr(sys.modules["jobs.views.rerun"], "job_rerun", meanwhile)
    second = newest(again(client, job, "rerun"))
    assert (second.priority, Job.objects.get(pk=job.pk).priority) == (Priority.NORMAL, Priority.LOW)
    text = client.get(f"/jobs/{second.key}/").content.decode()
    assert "Created." in text
    assert "which you may not use" not in text


def test_a_token_is_that_of_one_person_and_one_job(client: Client, job: Job, bob: User) -> None:
    sent = token_of(Page(client.get(f"/jobs/{job.key}/")), job)
    newest(client.post(f"/jobs/{job.key}/rerun/", sent))
    other = Client()
    other.force_login(bob)
    theirs = newest(other.post(f"/jobs/{job.key}/rerun/", sent))
    assert theirs.creator == bob
    newest(client.post(f"/jobs/{theirs.key}/rerun/", sent))
    newest(client.post(f"/jobs/{job.key}/rerun/", {}))
    assert Job.objects.count() == 5


def test_its_address_asks_first(client: Client, job: Job) -> None:
    page = client.get(f"/jobs/{job.key}/rerun/").content.decode()
    assert "Rerun this job?" in page
    assert Job.objects.count() == 1


@pytest.mark.parametrize("part", ["rerun", "modify"])
def test_strangers_find_nothing(client: Client, job: Job, part: str) -> None:
    client.force_login(make_user(make_team()))
    for answer in (client.get(f"/jobs/{job.key}/{part}/"), client.post(f"/jobs/{job.key}/{part}/", {})):
        assert answer.status_code == 404
    client.logout()
    assert client.post(f"/jobs/{job.key}/{part}/", {}).status_code == 302
    assert Job.objects.count() == 1


RETIRED = [(WorkerSpec, "8 GPU"), (Image, "The image host"), (Volume, "public"), (Pool, "pool-")]


@pytest.mark.parametrize(("model", "name"), RETIRED)
def test_what_is_gone_is_said_and_clone_is_offered(client: Client, job: Job, model: Any, name: str) -> None:
    model.objects.update(retired_at=timezone.now())
    answer = client.post(f"/jobs/{job.key}/rerun/", {"token": "t"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "It was not created" in page
    assert name in page
    assert f"/jobs/create/?from={job.key}" in page
    for address in (
        f"/jobs/{job.key}/",
        "/jobs/",
        f"/jobs/?pool={job.pool_id}",
        f"/jobs/create/?from={job.key}",
    ):
        assert client.get(address).status_code == 200
    form = client.get(f"/jobs/{job.key}/modify/")
    assert form.status_code == 200
    assert "was retired" in form.content.decode()
    assert again(client, job).status_code == 422
    assert Job.objects.count() == 1
    assert not IdempotencyKey.objects.exists()
    assert job.frozen["pool"]["name"] in client.get(f"/jobs/{job.key}/").content.decode()


def test_what_would_wait_and_must_not_says_so(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, start_policy="now")
    occupy(pool, [8, 8, 8])
    for part in ("rerun", "modify"):
        answer = again(client, job, part)
        assert answer.status_code == 409
        assert "Nothing was created" in answer.content.decode()
    assert Job.objects.count() == 1


def test_the_form_as_it_comes_changes_nothing(client: Client, job: Job) -> None:
    new = newest(again(client, job))
    assert (new.request, new.origin_kind) == (job.request, "rerun")
    value = PrivateValue.objects.get(job=new)
    assert bytes(value.ciphertext) == bytes(PrivateValue.objects.get(job=job).ciphertext)


@pytest.mark.usefixtures("any_image")
def test_what_is_changed_and_what_follows(client: Client, job: Job, pool: Pool) -> None:
    image, spec = make_image(pool.zone, reference="python:3"), worker_spec(pool, 4)
    sent = {
        "command": "python train.py\r\nexit 3\r\n",
        "image": str(image.pk),
        "spec": str(spec.pk),
        "worker_count": "3",
        "hang_detection": "on",
        "hang_timeout_seconds": "60",
        "hang_action": "fail",
    }
    new = newest(again(client, job, **sent))
    assert new.origin_kind == "modified"
    assert new.request == job.request | {
        "command": "python train.py\nexit 3\n",
        "image": image.pk,
        "spec": spec.pk,
        "worker_count": 3,
        "rdma": False,
        "hang_detection": True,
        "hang_timeout_seconds": 60,
        "hang_action": "fail",
    }
    page = client.get(f"/jobs/{new.key}/").content.decode()
    for text in ("Modified rerun", "<del>8 GPU</del>", "<ins>4 GPU</ins>", "-\techo", "+python train.py"):
        assert text in page
    assert SECRET not in page.partition('id="origin"')[2].partition("</section>")[0]


def test_fixes_stand_where_the_page_has_their_field(client: Client, job: Job) -> None:
    """At its field and in the list; results about what a rerun keeps lead nowhere and offer nothing."""
    address, command = (
        f"/jobs/{job.key}/modify/",
        "export API_TOKEN=ghp_0123456789\npython t.py | tee log\ndate",
    )
    fields = Page(client.get(address)).fields() | {"command": [command]}
    whole = Page(client.post(address, fields | {"look": ["1"]}))
    live = Page(client.post(address, fields, headers={"HX-Request": "true"}))
    for page in (whole, live):
        fixes = page.all("button", data_fix="command")
        assert {e.attrs["id"].split("-")[2] for e in fixes} == {"field", "summary"}
        assert {e.attrs["data-fix"] for e in page.elements if "data-fix" in e.attrs} == {"command"}
    ids = {e.attrs.get("id") for e in whole.elements}
    links = [e.attrs["href"] for e in whole.elements if (e.attrs.get("id") or "").startswith("locate-")]
    assert links
    assert [link for link in links if link[1:] not in ids] == []


def test_fields_that_a_rerun_keeps_are_not_taken_from_what_is_posted(client: Client, job: Job) -> None:
    new = newest(
        again(client, job, name="b", env_name=["X"], env_value=["1"], priority="low", mount_path="/b")
    )
    assert new.request == job.request


def test_a_custom_count_and_back(client: Client, job: Job, pool: Pool) -> None:
    custom = newest(again(client, job, custom="on", custom_gpus="5"))
    asked = custom.spec_asked
    assert (asked.custom_gpus, asked.spec, asked.worker_count, asked.rdma) == (5, None, None, False)
    back = newest(again(client, custom, custom=[None], spec=str(worker_spec(pool, 2).pk), worker_count="2"))
    asked = back.spec_asked
    assert (asked.custom_gpus, asked.spec, asked.worker_count) == (None, worker_spec(pool, 2).pk, 2)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("worker_count", "0", "Must be from 1 to 1024."),
        ("worker_count", "many", "Enter a whole number."),
        ("command", "", "This field is required."),
        ("image", "", "This field is required."),
        ("spec", "987654321", "does not belong to the resource pool"),
        ("worker_count", "900", "Can never run here"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_typed_is_lost(
    client: Client, job: Job, name: str, value: str, text: str
) -> None:
    answer = again(client, job, **({"hang_detection": "on", "hang_timeout_seconds": "61"} | {name: value}))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert text in page
    assert Page(answer).fields()["hang_timeout_seconds"] == ["61"]
    assert Job.objects.count() == 1


def test_the_verdict_is_told_before_and_kept(client: Client, job: Job, pool: Pool) -> None:
    fields = Page(client.get(f"/jobs/{job.key}/modify/")).fields()
    assert fields["promise"] == ["now"] or fields["promise"][0].startswith("place-")
    live = client.post(
        f"/jobs/{job.key}/modify/",
        fields | {"spec": [str(worker_spec(pool, 4).pk)]},
        headers={"HX-Request": "true"},
    )
    source = live.content.decode()
    assert live.status_code == 200
    assert "RDMA goes off" in source
    assert 'id="summary"' in source
    assert "<html" not in source
    assert Job.objects.count() == 1
    looked = client.post(f"/jobs/{job.key}/modify/", fields | {"look": ["1"]})
    assert (looked.status_code, Job.objects.count()) == (200, 1)


def test_nothing_worse_than_promised_is_created(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, gpus=8)
    Job.objects.update(state="stopped")
    fields = Page(client.get(f"/jobs/{job.key}/modify/")).fields()
    occupy(pool, [8, 8, 8])
    answer = client.post(f"/jobs/{job.key}/modify/", fields)
    assert answer.status_code == 409
    assert "Things have changed" in answer.content.decode()
    assert Job.objects.count() == 1
    second = Page(answer).fields()
    newest(client.post(f"/jobs/{job.key}/modify/", second))


def test_sent_twice_it_is_one_job(client: Client, job: Job, pool: Pool) -> None:
    occupy(pool, [8, 8, 8])  # whatever it is, it waits
    fields = Page(client.get(f"/jobs/{job.key}/modify/")).fields() | {
        "worker_count": ["1"],
        "promise": ["place-9-capacity"],
    }
    first = newest(client.post(f"/jobs/{job.key}/modify/", fields))
    assert newest(client.post(f"/jobs/{job.key}/modify/", fields)).pk == first.pk
    other = newest(client.post(f"/jobs/{job.key}/modify/", fields | {"worker_count": ["3"]}))  # after Back
    assert other.pk != first.pk
    assert Job.objects.count() == 3


def test_an_own_private_value_is_seen_and_changed_there(client: Client, job: Job) -> None:
    page = Page(client.get(f"/jobs/{job.key}/modify/"))
    assert page.fields()["private_value"] == [SECRET]
    new = newest(again(client, job, private_value=["another\r\nvalue"]))
    stored = PrivateValue.objects.get(job=new)
    assert (decrypt(stored.ciphertext), stored.owner) == ("another\nvalue", job.creator)
    assert "a private value that was entered for this job" in client.get(f"/jobs/{new.key}/").content.decode()


def test_a_team_mate_does_not_see_it_and_enters_their_own(client: Client, job: Job, bob: User) -> None:
    client.force_login(bob)
    page = Page(client.get(f"/jobs/{job.key}/modify/"))
    assert page.fields()["private_value"] == [""]
    assert SECRET not in page.source
    kept = newest(again(client, job, worker_count="1"))
    assert decrypt(PrivateValue.objects.get(job=kept).ciphertext) == SECRET

    refused = again(client, job, command="echo $KEY")
    assert refused.status_code == 422
    assert "Enter a value of your own" in refused.content.decode()
    assert SECRET not in refused.content.decode()
    own = newest(again(client, job, command="echo $KEY", private_value=["bobs"]))
    stored = PrivateValue.objects.get(job=own)
    assert (decrypt(stored.ciphertext), stored.owner) == ("bobs", bob)


def test_of_somebody_elses_form_nothing_is_created(client: Client, job: Job, bob: User) -> None:
    fields = Page(client.get(f"/jobs/{job.key}/modify/")).fields()
    client.force_login(bob)
    answer = client.post(f"/jobs/{job.key}/modify/", fields)
    assert answer.status_code == 409
    assert SECRET not in answer.content.decode()
    live = client.post(f"/jobs/{job.key}/modify/", fields, headers={"HX-Request": "true"})
    assert live.status_code == 401
    assert Job.objects.count() == 1
