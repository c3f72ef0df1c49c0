"""What another team, pool or spec leaves of the rest of the form, and what comes back with the first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from images.models import Image
from jobs.forms.laid_aside import MOST_KEPT, Aside, LaidAside
from jobs.models import Job
from jobs.spec import EnvVar, JobSpec, MountSpec
from pools.models import Pool, WorkerSpec
from storage.models import Volume
from teams.models import Team, User
from tests.factories import (
    make_flavor,
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_worker_spec,
    worker_spec,
)
from tests.jobs.answers import errors
from tests.jobs.pages import CREATE, Page
from tests.jobs.places import LIVE, Browser, Place, notes, place
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"


def test_only_what_became_invalid_goes_and_all_of_it_comes_back(
    client: Client, sent: dict[str, Any], north: Place, south: Place
) -> None:
    browser = Browser(client, sent)
    before = browser.typed()
    there = browser.change(pool=str(south.pool.pk))
    after = browser.typed()
    assert after["spec"] == [south.spec(8)]
    assert after["image"] == [""]
    assert "rdma" not in after
    assert "public_data" not in after
    assert after["mounts"] == [(str(south.volume.pk), south.volume.default_mount_path)]
    untouched = before.keys() - {"pool", "spec", "image", "rdma", "public_data", "mounts"}
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}
    told = " ".join(notes(there))
    for word in (
        f"that of the resource pool {south.pool.name} with 8 GPUs",
        f"The image {north.image.reference} cannot be used in the resource pool {south.pool.name}",
        "offers no public data",
        north.volume.name,
        "its row with /mnt/b is taken out",
        f"Mounted instead, as your team suggests: {south.volume.default_mount_path}.",
        "RDMA is switched off: it needs a RoCE or IB training network.",
    ):
        assert word in told

    back = browser.change(pool=str(north.pool.pk))
    assert browser.typed() == before
    told = " ".join(notes(back))
    assert "Back again: " in told
    for word in (north.image.reference, north.volume.name, "public data", "RDMA"):
        assert word in told


def test_a_third_pool_on_the_way_changes_nothing(
    client: Client, sent: dict[str, Any], north: Place, south: Place, team: Team
) -> None:
    east = place(team)
    browser = Browser(client, sent)
    before = browser.typed()
    for pool in (south.pool, east.pool, south.pool, north.pool):
        browser.change(pool=str(pool.pk))
    assert browser.typed() == before


def test_what_was_chosen_meanwhile_stays_where_it_can(
    client: Client, sent: dict[str, Any], north: Place, south: Place
) -> None:
    both = make_image(north.pool.zone, south.pool.zone, reference="registry.example/both:1")
    browser = Browser(client, sent)
    browser.change(pool=str(south.pool.pk))
    browser.change(image=str(both.pk), spec=south.spec(4), mount_path=["/mnt/own", ""])
    back = browser.change(pool=str(north.pool.pk))
    assert browser.typed()["image"] == [str(both.pk)]
    assert browser.typed()["spec"] == [north.spec(4)]
    assert north.image.reference not in " ".join(notes(back))
    browser.change(pool=str(south.pool.pk))
    assert browser.typed()["mounts"] == [(str(south.volume.pk), "/mnt/own")]


def test_the_notes_stay_until_the_next_change(client: Client, sent: dict[str, Any], south: Place) -> None:
    browser = Browser(client, sent)
    assert notes(browser.change(pool=str(south.pool.pk)))
    later = browser.change(worker_count="3")
    assert not later.all("div", id_="changed-part")  # what stands there stays


def test_rows_of_volumes_that_can_be_mounted_stay(
    client: Client, sent: dict[str, Any], north: Place, team: Team
) -> None:
    near = make_pool(team, zone=north.pool.zone, network="ib")
    browser = Browser(client, sent)
    before = browser.typed()
    page = browser.change(pool=str(near.pk))
    expected = before | {"pool": [str(near.pk)], "spec": [str(worker_spec(near, 8).pk)]}
    assert browser.typed() == expected
    assert notes(page) == [f"The Worker spec is now that of the resource pool {near.name} with 8 GPUs."]


def test_without_rows_none_are_suggested(client: Client, sent: dict[str, Any], south: Place) -> None:
    browser = Browser(client, sent | {"mount_volume": [""], "mount_path": [""]})
    browser.change(pool=str(south.pool.pk))
    assert browser.typed()["mounts"] == []


def test_a_spec_is_carried_over_only_where_it_is_clear_which(
    client: Client, sent: dict[str, Any], south: Place, team: Team
) -> None:
    make_flavor(south.pool)
    browser = Browser(client, sent)
    page = browser.change(pool=str(south.pool.pk))
    assert "spec" not in browser.typed()
    assert any("It is not clear which Worker spec" in note for note in notes(page))
    small = make_pool(team, gpus_per_node=4, zone=south.pool.zone)
    assert any(
        "with 8 GPUs: choose one" in note for note in notes(Browser(client, sent).change(pool=str(small.pk)))
    )


def test_without_a_pool_nothing_is_lost(client: Client, sent: dict[str, Any], north: Place) -> None:
    browser = Browser(client, sent)
    before = browser.typed()
    assert notes(browser.change(pool="")) == [
        "What goes with a resource pool comes back once you choose one."
    ]
    browser.change(pool=str(north.pool.pk))
    assert browser.typed() == before


def test_rdma_follows_spec_and_custom_count(client: Client, sent: dict[str, Any], north: Place) -> None:
    browser = Browser(client, sent)
    page = browser.change(spec=north.spec(4))
    assert "rdma" not in browser.sent
    assert notes(page) == ["RDMA is switched off: it needs 8 GPUs in every Worker."]
    assert page.by_id("summary").attrs["data-rdma"] == "no"
    assert notes(browser.change(spec=north.spec(8))) == ["Back again: RDMA."]
    assert browser.sent["rdma"] == ["on"]
    browser.change(custom="on", custom_gpus="13")
    assert "rdma" not in browser.sent
    browser.change(custom_gpus="16")
    assert browser.sent["rdma"] == ["on"]
    browser.change(rdma=None)  # by hand
    browser.change(custom=None, spec=north.spec(4))
    browser.change(spec=north.spec(8))
    assert "rdma" not in browser.sent


@pytest.mark.usefixtures("any_image")
def test_another_team_may_not_use_the_pool(client: Client, north: Place, team: Team) -> None:
    second = make_team("zz")
    theirs = make_pool(second, zone=north.pool.zone)
    custom = make_image(north.pool.zone, team=team)
    client.force_login(make_user(team, second))
    page = Page(client.get(f"{CREATE}?pool={north.pool.pk}"))
    browser = Browser(client, filled(page, north.pool, spec=north.spec(8), image=str(custom.pk)))
    before = browser.typed()
    page = browser.change(team=str(second.pk))
    browser.sent |= {"pool": [""], "shown_team": [str(second.pk)]}
    assert f"The team zz may not use the resource pool {north.pool.name}" in notes(page)[0]
    page = browser.change(pool=str(theirs.pk))
    assert custom.reference not in page.by_id("image-part").text
    page = browser.change(team=str(team.pk))
    browser.sent |= {"pool": page.fields()["pool"], "shown_team": [str(team.pk)]}
    assert browser.typed() == before | {"team": [str(team.pk)]}


def test_a_look_without_javascript_does_the_same(
    client: Client, sent: dict[str, Any], north: Place, south: Place
) -> None:
    there = Page(client.post(CREATE, sent | {"pool": [str(south.pool.pk)], "look": ["1"]}))
    assert there.fields()["image"] == [""]
    assert any("RDMA is switched off" in note for note in notes(there))
    back = Page(client.post(CREATE, there.fields() | {"pool": [str(north.pool.pk)], "look": ["1"]}))
    browser = Browser(client, sent)
    again = Browser(client, back.fields())
    assert again.typed() == browser.typed()


def test_a_form_sent_before_its_pool_was_shown_creates_nothing(
    client: Client, sent: dict[str, Any], north: Place, team: Team
) -> None:
    near = make_pool(team, zone=north.pool.zone, network="ib")
    answer = client.post(CREATE, sent | {"pool": [str(near.pk)]})
    assert answer.status_code == 409
    again = Page(answer)
    assert "Another resource pool was chosen just before" in again.by_id("changed").text
    assert again.fields()["spec"] == [str(worker_spec(near, 8).pk)]
    assert not Job.objects.exists()
    assert client.post(CREATE, again.fields()).status_code == 303


def test_lists_are_read_only_when_the_pool_changed(
    client: Client, sent: dict[str, Any], north: Place, south: Place, django_assert_max_num_queries: Any
) -> None:
    many = [make_volume(north.pool.zone, Team.objects.get()) for _ in range(20)]
    rows = {"mount_volume": [str(v.pk) for v in many], "mount_path": [f"/mnt/{v.pk}" for v in many]}
    browser = Browser(client, sent | rows)
    with django_assert_max_num_queries(11):
        client.post(LIVE, browser.sent)
    with django_assert_max_num_queries(21):
        browser.change(pool=str(south.pool.pk))


def test_a_copied_job_loses_nothing_by_a_look_at_another_pool(
    client: Client, alice: User, north: Place, south: Place
) -> None:
    mounts = [MountSpec(north.volume.pk, "/mnt/a")]
    more = {"description": "d", "tags": ("a",), "priority": "low", "stop_grace_seconds": 7}
    more["keep_after_failure_minutes"] = 9
    job = make_job(
        alice, north.pool, gpus=8, workers=2, rdma=True, public_data=True, mounts=mounts,
        env=(EnvVar("A", "x;y"),), framework="pytorch_ddp", **more,
    )  # fmt: skip
    client.force_login(alice)
    browser = Browser(client, Page(client.get(f"{CREATE}?from={job.key}")).fields())
    browser.change(pool=str(south.pool.pk))
    browser.change(pool=str(north.pool.pk))
    assert client.post(CREATE, browser.sent | {"promise": ["place-2-capacity"]}).status_code == 303
    copy = Job.objects.exclude(pk=job.pk).get()
    job.refresh_from_db()
    assert copy.request == job.request


def test_what_a_copied_job_cannot_have_any_more_comes_back_with_its_pool(
    client: Client, alice: User, north: Place, team: Team
) -> None:
    near = make_pool(team, zone=north.pool.zone)
    job = make_job(alice, north.pool, gpus=8, rdma=True, mounts=[MountSpec(north.volume.pk, "/mnt/a")])
    north.pool.grants.all().delete()
    client.force_login(alice)
    page = Page(client.get(f"{CREATE}?from={job.key}"))
    told = [e.text for e in page.all("div", class_="ty-notice")]
    assert len(told) == 1
    browser = Browser(client, page.fields())
    page = browser.change(pool=str(near.pk))
    assert browser.typed()["image"] == [str(job.image_id)]
    assert browser.typed()["mounts"] == [(str(north.volume.pk), "/mnt/a")]
    assert "rdma" not in browser.sent


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Pool, "The resource pool {pool} was retired: choose another."),
        (WorkerSpec, "The Worker spec 8 GPU was retired: choose another."),
        (Image, "The image {image} was retired: choose another."),
        (Volume, "The volume {volume} was retired: its row with /mnt/a is taken out."),
    ],
)
def test_of_what_was_retired_a_copied_job_says_so(
    client: Client, alice: User, north: Place, model: Any, said: str
) -> None:
    job = make_job(alice, north.pool, gpus=8, mounts=[MountSpec(north.volume.pk, "/mnt/a")])
    model.objects.update(retired_at=timezone.now())
    client.force_login(alice)
    told = [
        e.text.strip() for e in Page(client.get(f"{CREATE}?from={job.key}")).all("div", class_="ty-notice")
    ]
    names = {"pool": north.pool.name, "image": job.frozen["image"]["reference"], "volume": north.volume.name}
    assert any(text.startswith(said.format(**names)) for text in told), told
    assert not any("cannot be" in text or "not clear" in text or "may not" in text for text in told)


def test_another_spec_of_that_size_takes_the_place_of_a_retired_one(
    client: Client, alice: User, north: Place
) -> None:
    job = make_job(alice, north.pool, gpus=8)
    old = worker_spec(north.pool, 8)
    WorkerSpec.objects.filter(pk=old.pk).update(retired_at=timezone.now(), name="old")
    new = make_worker_spec(old.flavor, 8)
    client.force_login(alice)
    page = Page(client.get(f"{CREATE}?from={job.key}"))
    assert page.fields()["spec"] == [str(new.pk)]
    told = " ".join(e.text for e in page.all("div", class_="ty-notice"))
    assert "The Worker spec 8 GPU was retired: it is now the other with 8 GPUs." in told


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"rdma": True, "gpus": 4}, ("rdma_needs_full_workers", "rdma")),
        ({"rdma": True, "pool": "south"}, ("rdma_needs_network", "rdma")),
        ({"image": "not for jobs"}, ("image_not_for_jobs", "image")),
        ({"image": "south"}, ("image_in_other_zone", "image")),
        ({"mounts": "south"}, ("volume_in_other_zone", "mounts.0.volume")),
        ({"public_data": True, "pool": "south"}, ("public_data_not_offered", "public_data")),
        ({"spec": "south"}, ("spec_unknown", "spec")),
        ({"custom_gpus": 16}, ("excluded_by_custom_gpus", "spec")),
        ({"custom_gpus": 16, "spec": None, "worker_count": 4}, ("excluded_by_custom_gpus", "worker_count")),
    ],
)
def test_the_server_trusts_no_page(
    api: Any, alice: User, north: Place, south: Place, changes: dict[str, Any], code: tuple[str, str]
) -> None:
    closed = make_image(north.pool.zone, services=["inference"])
    names: dict[Any, Any] = {"not for jobs": closed.pk, "south": south.image.pk}
    home = south if changes.get("pool") else north
    body: dict[str, Any] = {
        "pool": home.pool.pk,
        "spec": worker_spec(home.pool, changes.pop("gpus", 8)).pk,
        "image": home.image.pk,
        "command": "x",
        "name": "x",
    }
    if "image" in changes:
        changes["image"] = names[changes["image"]]
    if "mounts" in changes:
        changes["mounts"] = [{"volume": south.volume.pk, "mount_path": "/mnt/a"}]
    if changes.get("spec"):
        changes["spec"] = worker_spec(south.pool, 8).pk
    body |= {name: v for name, v in changes.items() if name != "pool"}
    assert code in errors(api(alice).post(JOBS, body))


def test_a_hidden_spec_and_count_are_not_sent(client: Client, sent: dict[str, Any], north: Place) -> None:
    asked = sent | {"custom": ["on"], "custom_gpus": ["16"], "worker_count": ["4"], "promise": ["now"]}
    assert client.post(CREATE, asked).status_code == 303
    spec = JobSpec.from_json(Job.objects.get().request)
    assert (spec.custom_gpus, spec.spec, spec.worker_count, spec.rdma) == (16, None, None, True)


@pytest.mark.parametrize(
    "odd", ["x", "[", "{}", '[["image"]]', "[1]", '[["image", 1, "", ""]]', "[" * 60_000]
)
def test_an_odd_memory_is_none(client: Client, sent: dict[str, Any], south: Place, odd: str) -> None:
    assert str(LaidAside(odd)) == ""
    answer = client.post(LIVE, sent | {"laid_aside": [odd], "pool": [str(south.pool.pk)]})
    assert answer.status_code == 200


def test_a_memory_offers_nothing_that_cannot_be_chosen(
    client: Client, sent: dict[str, Any], south: Place
) -> None:
    foreign = make_image(south.pool.zone, team=make_team())
    kept = LaidAside("")
    kept.put(Aside("image", str(foreign.pk), "<b>mine</b>"))
    browser = Browser(client, sent | {"laid_aside": [str(kept)]})
    page = browser.change(pool=str(south.pool.pk))
    assert browser.typed()["image"] == [""]
    assert "<b>mine" not in page.source
    for n in range(2 * MOST_KEPT):
        kept.put(Aside("mounts", str(n), "v", "/mnt"))
    assert len(json.loads(str(kept))) == MOST_KEPT


@pytest.mark.usefixtures("chinese")
def test_all_of_it_in_chinese(client: Client, sent: dict[str, Any], south: Place) -> None:
    changed = sent | {"pool": [str(south.pool.pk)], "worker_count": ["9"]}
    page = Page(client.post(LIVE, changed, headers={"accept-language": "zh-CN"}))
    assert any("已清空" in note for note in notes(page))
    assert "采用" in page.by_id("adopt-1").text


def test_a_retired_pool_is_no_accident(client: Client, sent: dict[str, Any], north: Place) -> None:
    Pool.objects.filter(pk=north.pool.pk).update(retired_at=timezone.now())
    browser = Browser(client, sent)
    assert north.pool.name in notes(browser.change())[0]


def test_half_a_surrogate_pair_is_not_sent_back(client: Client, alice: User, pool: Pool) -> None:
    client.force_login(alice)
    page = Page(client.get(CREATE))
    forged = '[["image", "1", "\\ud800", "x"]]'
    sent = page.fields() | {"shown_pool": ["1000000"], "laid_aside": [forged]}
    assert client.post("/jobs/estimate/", sent).status_code == 200
