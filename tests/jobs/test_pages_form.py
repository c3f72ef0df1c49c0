"""The form of a new job without JavaScript: what is typed, refused, kept, and what is created."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.datastructures import MultiValueDict

from jobs.forms import JobForm, summary_of
from jobs.idempotency import KEPT
from jobs.models import IdempotencyKey, Job
from jobs.services import job_estimate
from jobs.spec import JobSpec
from pools.models import Pool
from teams.models import Team, User
from teams.vault import decrypt
from tests.factories import (
    make_flavor,
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_zone,
    occupy,
)
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


def test_a_filled_form_becomes_a_job(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, worker_count="3", framework="pytorch_ddp", tags="a, b，c", description="说明")
    answer = client.post(CREATE, sent)

    job = Job.objects.get()
    assert answer.status_code == 303
    assert answer["Location"] == f"/jobs/{job.key}/"
    spec = JobSpec.from_json(job.request)
    assert (job.total_gpus, spec.worker_count, spec.framework) == (6, 3, "pytorch_ddp")
    assert [m.mount_path for m in spec.mounts] == ["/mnt/public"]  # the suggested row was pre-filled
    assert spec.tags == ("a", "b", "c")
    assert "Created." in Page(client.get(answer["Location"])).source


def test_lines_reach_the_job_as_bash_wants_them(client: Client, page: Page, pool: Pool) -> None:
    client.post(CREATE, filled(page, pool, command="cd /tmp\r\npwd\r\n[ 1 = 1 ] && echo OK"))
    assert Job.objects.get().request["command"] == "cd /tmp\npwd\n[ 1 = 1 ] && echo OK"


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("TOKEN=YWJj==;X=a=b;E=;", [("TOKEN", "YWJj=="), ("X", "a=b"), ("E", "")]),
        ("A=1; B=2 ;", [("A", "1"), ("B", "2")]),
        ('A="x;y"\r\nB=2', [("A", "x;y"), ("B", "2")]),
    ],
)
def test_variables_as_text(client: Client, page: Page, pool: Pool, text: str, variables: list[Any]) -> None:
    client.post(CREATE, filled(page, pool, env_text=text))
    spec = JobSpec.from_json(Job.objects.get().request)
    assert [(v.name, v.value) for v in spec.env] == variables


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("1A=x;B-C=y;=v;NOVALUE", ["“1A”", "“B-C”", "“=v”", "“NOVALUE”"]),
        ("A=1；B=2", ["；"]),
        ("A=1;A=2", ["A is given twice"]),
    ],
)
def test_bad_variables_are_named(client: Client, page: Page, pool: Pool, text: str, named: list[str]) -> None:
    answer = client.post(CREATE, filled(page, pool, env_text=text))
    shown = " ".join(e.text for e in Page(answer).all("div", class_="invalid-feedback"))
    assert answer.status_code == 422
    assert [piece for piece in named if piece not in shown] == []
    assert not Job.objects.exists()


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "", "1000000000", "x"])
def test_a_refused_form_keeps_everything(client: Client, page: Page, pool: Pool, count: str) -> None:
    volume = page.fields()["mount_volume"][0]
    sent = filled(
        page,
        pool,
        worker_count=count,
        command="",
        name='训练-🚀 "q" <img src=x>',
        description="two\r\nlines",
        tags="x, y",
        env_text='A=1;B="x;y"',
        env_name=["KEY", "OTHER", "PLAIN"],
        env_value=["sekret-4711", "\r\nsecond", "x"],
        env_from=["", "", ""],
        env_private=["0", "1"],
        mount_volume=[volume, volume],
        mount_path=["/mnt/a", "/mnt/b"],
        public_data="on",
        rdma="on",
        priority="low",
        stop_grace_seconds="7",
        keep_after_failure_minutes="15",
    )
    answer = client.post(CREATE, sent)
    again = Page(answer)

    assert answer.status_code == 422
    assert not Job.objects.exists()
    assert not IdempotencyKey.objects.exists()
    kept = again.fields()
    for name in ("promise", "tried"):  # the page's own
        del sent[name]
    for name, values in sent.items():
        rows = name in ("env_name", "env_value", "env_from") or name.startswith("mount_")
        expected = [*values, ""] if rows else values  # one empty row is always there
        if name == "env_private":
            expected = ["0", "1", "3"]  # below a text the empty row is meant for a private one
        assert [v.replace("\r\n", "\n") for v in kept[name]] == [v.replace("\r\n", "\n") for v in expected]
    assert "is-invalid" in (again.by_id("id_worker_count").attrs["class"] or "")
    assert "is-invalid" in (again.by_id("id_command").attrs["class"] or "")
    focused = [e.attrs["name"] for e in again.elements if "autofocus" in e.attrs]
    assert focused == ["worker_count"]


def test_errors_of_rows_stand_at_their_rows(client: Client, page: Page, pool: Pool) -> None:
    volume = page.fields()["mount_volume"][0]
    sent = filled(
        page,
        pool,
        env_text="A=1",
        env_name=["A"],
        env_value=["x"],
        mount_volume=[volume, "", volume],
        mount_path=["/mnt/a", "/mnt/b", "/etc"],
    )
    shown = [e.text for e in Page(client.post(CREATE, sent)).all("div", class_="invalid-feedback")]
    assert shown == [
        "A is given twice.",
        "Choose a volume, or empty the mount path.",
        "/etc belongs to the system; mount below /mnt, for example.",
    ]


def test_private_values_are_encrypted_and_the_creators(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, env_name=["API_KEY"], env_value=["sekret-4711"], env_private="0")
    address = client.post(CREATE, sent)["Location"]
    job = Job.objects.get()
    mate = Client()
    mate.force_login(make_user(job.team))

    assert decrypt(job.private_values.get().ciphertext) == "sekret-4711"
    assert "sekret" not in str(job.request)
    assert "sekret-4711" in Page(client.get(address)).source
    theirs = Page(mate.get(address)).source
    assert "sekret" not in theirs
    assert "API_KEY" in theirs


def test_a_custom_count_replaces_spec_and_workers(client: Client, page: Page, pool: Pool) -> None:
    client.post(CREATE, filled(page, pool, worker_count="x", custom="on", custom_gpus="12"))
    job = Job.objects.get()
    assert (job.total_gpus, job.shape.workers, job.spec) == (12, 2, None)


def test_the_same_form_sent_twice_makes_one_job(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool)
    first, second = client.post(CREATE, sent), client.post(CREATE, sent)
    assert first["Location"] == second["Location"]
    assert "was sent before" in Page(client.get(second["Location"])).source

    client.post(CREATE, filled(page, pool, name="another"))  # after Back, with a change
    client.post(CREATE, filled(Page(client.get(CREATE)), pool))  # the form opened anew
    assert Job.objects.count() == 3


def test_a_form_is_remembered_for_a_day_and_no_longer(client: Client, page: Page, pool: Pool) -> None:
    client.post(CREATE, filled(page, pool))
    IdempotencyKey.objects.update(created_at=timezone.now() - KEPT)
    client.post(CREATE, filled(Page(client.get(CREATE)), pool))
    assert IdempotencyKey.objects.get().created_at > timezone.now() - KEPT


@pytest.mark.parametrize(
    "changed", [{}, {"team": "9"}, {"pool": "x"}, {"spec": ""}, {"image": "99"}, {"rdma": "on"}]
)
@pytest.mark.parametrize("used", [[0, 0, 0, 0], [8, 8, 7, 5]])
def test_the_page_judges_as_the_creation_does(
    page: Page, pool: Pool, alice: User, changed: dict[str, str], used: list[int]
) -> None:
    occupy(pool, used)
    make_job(alice, pool, gpus=8, workers=3)
    sent = filled(page, pool, worker_count="2", mount_path=["/etc"]) | {n: [v] for n, v in changed.items()}
    form = JobForm(alice, MultiValueDict(sent))
    assert summary_of(form).estimate == job_estimate(user=alice, spec=form.job_spec())


@pytest.mark.usefixtures("any_image")
def test_another_pool_brings_what_goes_with_it(client: Client, page: Page, pool: Pool, team: Team) -> None:
    other = make_pool(team, zone=make_zone(), network="ib")
    make_flavor(other)
    image = make_image(other.zone, reference="registry.example/only-there:1")
    sent = filled(page, pool, pool=str(other.pk))
    live = Page(client.post("/jobs/estimate/", sent))
    assert {e.attrs["value"] for e in live.all("input", name="spec")} == {
        str(s.pk) for f in other.flavors.all() for s in f.specs.all()
    }
    assert image.reference in live.source
    assert not live.all("input", name="public_data")
    assert [o.get("value") for o in live.all("select", name="mount_volume")[0].options] == [""]

    answer = client.post(CREATE, sent)  # without JavaScript the same by a full page
    assert answer.status_code == 422
    assert image.reference in Page(answer).source
    assert "It is not clear which Worker spec" in Page(answer).by_id("changed-part").text  # two have 2 GPUs


def test_buttons_that_only_look_create_nothing(client: Client, page: Page, pool: Pool) -> None:
    for button in ("look", "add_row"):
        answer = client.post(CREATE, filled(page, pool, name="", worker_count="0") | {button: "1"})
        assert answer.status_code == 200
        assert Page(answer).fields()["worker_count"] == ["0"]
    assert not Job.objects.exists()


def test_only_own_pools_count(client: Client, page: Page, pool: Pool) -> None:
    foreign = make_pool(make_team())
    answer = client.post(CREATE, filled(page, pool, pool=str(foreign.pk)))
    assert answer.status_code == 422
    assert foreign.name not in Page(answer).source
    assert "may not use the resource pool" in Page(answer).by_id("changed-part").text


@pytest.mark.parametrize("odd", [str(2**63), "-1", "x", "9" * 5000, "²"])
def test_odd_ids_are_no_accident(client: Client, page: Page, pool: Pool, odd: str) -> None:
    for name in ("team", "pool", "spec", "image", "flavor", "mount_volume"):
        sent = filled(page, pool, **{name: odd}) | {"custom": "on"} if name == "flavor" else {name: [odd]}
        assert client.post(CREATE, filled(page, pool) | sent).status_code == 422
        assert client.post("/jobs/estimate/", filled(page, pool) | sent).status_code == 200


def test_a_team_without_a_pool_is_told_so(client: Client) -> None:
    client.force_login(make_user(make_team()))
    assert "Your team has no resource pool yet." in Page(client.get(CREATE)).source


@pytest.mark.usefixtures("chinese")
def test_chinese_errors_for_chinese_readers(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, worker_count="0", command="")
    shown = Page(client.post(CREATE, sent, headers={"accept-language": "zh-CN"}))
    errors = [" ".join(e.text.split()) for e in shown.all("div", class_="invalid-feedback")]
    assert errors == ["错误： 必须在 1 到 1024 之间。", "错误： 必填。"]
