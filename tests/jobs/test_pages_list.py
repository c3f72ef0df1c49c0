"""The list of jobs: filters, paging, what changes while somebody looks, and what it costs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.findings import Reason
from jobs.lifecycle import move, prioritize
from jobs.models import Job
from jobs.reading import waiting_since
from jobs.services import may_stop
from jobs.states import Priority, State
from jobs.views.filters import JobFilter
from jobs.views.rows import rows_of
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_job, make_pool, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
ODD = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def listed(client: Client, query: str = "") -> list[str]:
    return rows(Page(client.get(f"/jobs/{query}")))


def bounded(monkeypatch: Any) -> None:
    for module in ("querysets", "texts.states"):
        monkeypatch.setattr(f"jobs.{module}.MOST_COUNTED", 3)


def rows(page: Page) -> list[str]:
    """The names of the jobs in a list, from top to bottom."""
    links = [e for e in page.all("a") if re.fullmatch(r"/jobs/jo-\w+/", e.attrs.get("href") or "")]
    return [e.text.strip() for e in links if "class" not in e.attrs]


def test_odd_names_are_text_everywhere(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(
        alice, pool, name=ODD, tags=("</script><b>",), description="<b>x</b>", command="echo '<script>'"
    )
    parts = ("", "live/", "progress/", "stop/", "workers/0/log/")
    for address in ("/jobs/", "/jobs/?tag=%3Cb%3E", *(f"/jobs/{job.key}/{part}" for part in parts)):
        source = client.get(address).content.decode()
        assert "<img src=x" not in source
        assert "<b>" not in source.replace("<b></b>", "")
        assert "<script>'" not in source
    assert ODD in listed(client)


def test_a_name_may_be_as_long_as_the_limit(client: Client, alice: User, pool: Pool) -> None:
    name = "汉" * 128
    make_job(alice, pool, name=name)
    assert listed(client) == [name]


def test_filter_by_state_and_search(client: Client, alice: User, pool: Pool) -> None:
    one = make_job(alice, pool, name="alpha", tags=("sft", "sft-2"))
    make_job(alice, pool, name="beta")
    move([one.pk], State.QUEUED, State.STOPPED)
    assert listed(client) == ["beta", "alpha"]
    assert listed(client, "?state=stopped") == ["alpha"]
    assert listed(client, "?state=queued&search=alp") == []
    assert listed(client, "?search=SFT") == ["alpha"]
    assert listed(client, f"?search={one.key}") == ["alpha"]
    assert listed(client, "?state=nonsense") == ["beta", "alpha"]
    tabs = [
        e.text.split()
        for e in Page(client.get("/jobs/?search=a")).all("a")
        if "state=" in str(e.attrs.get("href"))
    ]
    assert ["Queued", "1"] in tabs
    assert ["Stopped", "1"] in tabs


def test_pages_neither_double_nor_drop_rows(client: Client, alice: User, pool: Pool) -> None:
    made = [make_job(alice, pool, name=f"job {n}").name for n in range(45)]
    address, seen = "", []
    while True:
        page = Page(client.get(f"/jobs/{address}"))
        seen += rows(page)
        make_job(alice, pool, name="later")
        older = [e for e in page.all("a", class_="btn") if e.text == "Older"]
        if not older:
            break
        address = older[0].attrs["href"] or ""
    assert seen == made[::-1]
    newest = next(e for e in page.all("a", class_="btn") if e.text == "Newest")
    assert rows(Page(client.get("/jobs/" + (newest.attrs["href"] or ""))))[0] == "later"


NONSENSE = [
    {"before": "nonsense"},
    {"state": "nonsense", "mine": "2", "pool": "../x", "created": "tomorrow"},
    {"pool": "9" * 40},
    {"from": "2026-13-45", "to": "9999-12-31"},
    {"created": "range", "from": "0001-01-01"},
]


@pytest.mark.parametrize("query", NONSENSE, ids=str)
def test_what_cannot_be_understood_asks_for_nothing(
    client: Client, alice: User, pool: Pool, query: dict[str, str]
) -> None:
    make_job(alice, pool, name="there")
    assert listed(client, "?" + urlencode(query)) == ["there"]


def test_the_filters_narrow_together(client: Client, alice: User, pool: Pool, team: Team) -> None:
    bob, other = make_user(team, name="bob"), make_pool(team)
    make_job(alice, pool, name="one", tags=("sft",))
    make_job(bob, pool, name="two", tags=("sft", "sft-2"))
    make_job(bob, other, name="three")
    assert listed(client, "?mine=1") == ["one"]
    assert listed(client, "?creator=bob") == ["three", "two"]
    assert listed(client, "?creator=bob&mine=1") == ["three", "two"]  # who is named counts
    assert listed(client, f"?pool={other.pk}") == ["three"]
    assert listed(client, "?tag=sft") == ["two", "one"]
    assert listed(client, "?tag=sft-2") == ["two"]
    assert listed(client, f"?tag=sft&creator=bob&pool={other.pk}") == []
    assert listed(client, "?pool=123456") == []
    page = Page(client.get(f"/jobs/?creator=bob&pool={other.pk}&tag=a%26b"))
    form = page.fields()
    assert (form["creator"], form["pool"], form["tag"]) == (["bob"], [str(other.pk)], ["a&b"])


def test_the_team_at_the_top_limits_the_list(client: Client, team: Team, pool: Pool) -> None:
    other = make_team("other")
    user = make_user(team, other)
    elsewhere = make_pool(other)
    make_job(user, pool, name="here", team=team.pk)
    make_job(user, elsewhere, name="there", team=other.pk)
    client.force_login(user)
    assert listed(client) == ["there", "here"]
    assert other.name in client.get("/jobs/").content.decode()
    client.post(reverse("team-switch"), {"team": other.pk})
    assert listed(client) == ["there"]


@pytest.mark.parametrize(
    ("zone", "hours", "today"),
    [
        ("Asia%2FShanghai", "2026-03-10T15:59:59", False),  # 23:59:59 there
        ("Asia%2FShanghai", "2026-03-10T16:00:00", True),
        ("America%2FNew_York", "2026-03-10T03:59:59", False),  # already summer time
        ("America%2FNew_York", "2026-03-10T04:00:00", True),
        ("..%2F..%2Fetc%2Fpasswd", "2026-03-10T23:59:59", False),
        ("Nowhere", "2026-03-11T00:00:00", True),
        ("", "2026-03-11T00:00:00", True),
    ],
)
def test_today_is_the_viewers_day(
    client: Client, alice: User, pool: Pool, monkeypatch: Any, zone: str, hours: str, today: bool
) -> None:
    now = "2026-03-10T20:00:00" if zone.startswith("A") else "2026-03-11T10:00:00"
    monkeypatch.setattr("jobs.views.listing.timezone.now", lambda: datetime.fromisoformat(now + "+00:00"))
    job = make_job(alice, pool, name="a")
    Job.objects.filter(pk=job.pk).update(created_at=datetime.fromisoformat(hours + "+00:00"))
    client.cookies["timezone"] = zone
    assert listed(client, "?created=today") == (["a"] if today else [])


def test_days_from_and_to_count_whole(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, name="a")
    Job.objects.filter(pk=job.pk).update(created_at=datetime(2026, 3, 10, 23, 30, tzinfo=UTC))
    assert listed(client, "?from=2026-03-10&to=2026-03-10") == ["a"]
    assert listed(client, "?from=2026-03-11") == []
    assert listed(client, "?to=2026-03-09") == []
    client.cookies["timezone"] = "Asia%2FShanghai"
    assert listed(client, "?created=range&from=2026-03-11&to=2026-03-11") == ["a"]
    assert listed(client, "?created=&from=2027-01-01") == ["a"]  # the days were put away on the page
    assert "Asia/Shanghai" in client.get("/jobs/?created=today").content.decode()


def test_numbers_on_the_tabs_are_bounded(client: Client, alice: User, pool: Pool, monkeypatch: Any) -> None:
    bounded(monkeypatch)
    for _ in range(4):
        make_job(alice, pool)
    shown = [
        e.text.split() for e in Page(client.get("/jobs/")).all("a") if "state=" in str(e.attrs.get("href"))
    ]
    assert ["Queued", "2+"] in shown
    assert ["Running", "0"] in shown


def test_htmx_gets_a_part_and_going_back_a_page(client: Client, alice: User, pool: Pool) -> None:
    make_job(alice, pool, name="a")
    whole = client.get("/jobs/?state=queued")
    part = client.get("/jobs/?search=&pool=&state=queued", headers={"HX-Request": "true"})
    assert "<!doctype" in whole.content.decode().lower()
    assert "<!doctype" not in part.content.decode().lower()
    assert part["HX-Push-Url"] == "/jobs/?state=queued"
    assert rows(Page(part)) == rows(Page(whole)) == ["a"]
    assert Page(part).by_id("kept").attrs["hx-swap-oob"] == "true"
    back = client.get("/jobs/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<!doctype" in back.content.decode().lower()
    for answer in (whole, part, back):
        assert "HX-Request" in answer["Vary"]
        assert answer["Cache-Control"] == "no-store"


def test_the_state_cells_stop_asking_at_the_end(client: Client, alice: User, pool: Pool) -> None:
    one, two = make_job(alice, pool), make_job(alice, pool)
    asked = polled(Page(client.get("/jobs/")))
    assert client.get(asked).status_code == 204
    move([one.pk], State.QUEUED, State.STOPPED)
    changed = Page(client.get(asked))
    assert changed.by_id(f"state-{one.key}").text.split() == ["Stopped"]
    assert not [e for e in changed.elements if e.attrs.get("id") == f"state-{two.key}"]  # it is as it was
    move([two.pk], State.QUEUED, State.STOPPED)
    answer = client.get(polled(changed))
    assert answer.status_code == 286
    assert not [e for e in Page(answer).elements if "data-poll" in e.attrs]
    asking = [e.attrs["id"] for e in Page(client.get("/jobs/")).elements if "data-poll" in e.attrs]
    assert asking == ["bell-count"]


def test_another_priority_shows_in_the_row(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool)
    page = Page(client.get("/jobs/"))
    assert page.by_id(f"mark-{job.key}").text.split() == []
    prioritize(job.pk, Priority.LOW, actor=alice)
    changed = Page(client.get(polled(page)))
    assert changed.by_id(f"mark-{job.key}").text.split() == ["Low", "priority"]
    assert changed.by_id(f"mark-{job.key}").attrs["hx-swap-oob"] == "true"
    assert client.get(polled(changed)).status_code == 204


def polled(page: Page) -> str:
    return page.by_id("news").attrs["hx-get"] or ""


def test_new_jobs_are_counted_by_the_filter_and_not_put_in(client: Client, alice: User, pool: Pool) -> None:
    make_job(alice, pool, name="train 1")
    asked = polled(Page(client.get("/jobs/?search=train&state=queued")))
    make_job(alice, pool, name="other")
    assert client.get(asked).status_code == 204
    make_job(alice, pool, name="train 2")
    answer = Page(client.get(asked))
    link = answer.by_id("news-link")
    assert "1 new job" in link.text
    assert rows(answer) == []
    assert client.get(polled(answer)).status_code == 204
    assert listed(client, (link.attrs["href"] or "").removeprefix("/jobs/")) == ["train 2", "train 1"]


def test_a_row_that_left_the_filter_is_marked(client: Client, alice: User, pool: Pool) -> None:
    job, other = make_job(alice, pool), make_job(alice, pool)
    asked = polled(Page(client.get("/jobs/?state=queued")))
    move([job.pk], State.QUEUED, State.DEPLOYING)
    answer = Page(client.get(asked))
    assert "left the filter" in answer.by_id(f"state-{job.key}").text
    assert other.key in polled(answer)


def test_times_in_a_row(client: Client, alice: User, pool: Pool) -> None:
    now = timezone.now()
    waits, runs, ended, early = (make_job(alice, pool) for _ in range(4))
    Job.objects.filter(pk=waits.pk).update(created_at=now - timedelta(minutes=5))
    Job.objects.filter(pk=runs.pk).update(
        state=State.RUNNING, started_at=now - timedelta(hours=2, minutes=14)
    )
    Job.objects.filter(pk=ended.pk).update(
        state=State.SUCCEEDED, started_at=now - timedelta(hours=1), ended_at=now - timedelta(seconds=3510)
    )
    Job.objects.filter(pk=early.pk).update(state=State.STOPPED, ended_at=now)
    page = Page(client.get("/jobs/"))

    def lasting(job: Job) -> str:
        return " ".join(page.by_id(f"lasting-{job.key}").text.split())

    assert lasting(waits).startswith("waiting 5 m")
    assert lasting(runs) == "2 h 14 m"
    assert (lasting(ended), lasting(early)) == ("1 m 30 s", "–")
    ticking = [e.text for e in page.all("span") if "data-elapsed" in e.attrs]
    assert len(ticking) == 2  # what has ended stands still
    Job.objects.filter(pk=waits.pk).update(created_at=now + timedelta(hours=1))
    page = Page(client.get("/jobs/"))
    assert lasting(waits) == "waiting 0 s"


def test_a_row_tells_how_a_job_ended(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool)
    reason = Reason("exit_code", {"rank": 2, "exit_code": 3})
    Job.objects.filter(pk=job.pk).update(
        state=State.FAILED, attempt=2, exit_code=3, reason=reason.as_json(), priority=Priority.HIGH
    )
    page = Page(client.get("/jobs/"))
    assert page.by_id(f"state-{job.key}").text.split() == ["Failed", "run", "2", "exit", "code", "3"]
    assert "Worker 2 failed first" in (page.by_id(f"opens-{job.key}").attrs["title"] or "")
    assert "High priority" in page.source
    assert page.all("a", href=f"/jobs/{job.key}/workers/2/log/")
    assert page.all("a", href=f"/jobs/create/?from={job.key}")
    assert not page.all("a", href=f"/jobs/{job.key}/stop/")


def test_only_who_may_stop_is_offered_it(client: Client, alice: User, pool: Pool, team: Team) -> None:
    job = make_job(make_user(team), pool)
    own = make_job(alice, pool)
    page = Page(client.get("/jobs/"))
    assert page.all("a", href=f"/jobs/{own.key}/stop/")
    assert not page.all("a", href=f"/jobs/{job.key}/stop/")
    client.force_login(make_user(team, admin=True))
    assert Page(client.get("/jobs/")).all("a", href=f"/jobs/{job.key}/stop/")


def test_who_left_the_team_is_offered_no_stop(alice: User, pool: Pool, team: Team) -> None:
    """The list offers what the service allows, for any job and reader."""
    own, of_mate = make_job(alice, pool), make_job(make_user(team), pool)
    people = [alice, make_user(team, admin=True), make_user(make_team(), admin=True)]
    jobs = list(Job.objects.annotate(waiting_since=waiting_since()).order_by("pk"))

    def offered() -> list[list[bool]]:
        rows = [rows_of(jobs, user, JobFilter(), timezone.now()) for user in people]
        shown = [[row.may_stop for row in of_user] for of_user in rows]
        assert shown == [[may_stop(user=user, job=job) for job in (own, of_mate)] for user in people]
        return shown

    assert offered() == [[True, False], [True, True], [False, False]]
    alice.memberships.all().delete()
    assert offered() == [[False, False], [True, True], [False, False]]


def test_one_gpu_is_no_plural(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, gpus=1, workers=2)
    make_job(alice, pool, gpus=2, workers=2)
    shown = client.get("/jobs/").content.decode()
    assert "1 GPU × 2" in shown
    assert "2 GPUs × 2" in shown
    assert "1 GPU × 2" in client.get(f"/jobs/{job.key}/").content.decode()


def test_back_shows_the_list_as_it_is(client: Client, alice: User, pool: Pool) -> None:
    for address in ("/jobs/", f"/jobs/{make_job(alice, pool).key}/"):
        assert client.get(address)["Cache-Control"] == "no-store"


def test_the_list_costs_the_same_for_many_jobs(
    client: Client, alice: User, pool: Pool, django_assert_max_num_queries: Any
) -> None:
    job = make_job(alice, pool, tags=("a",))
    addresses = (
        "/jobs/",
        f"/jobs/?state=queued&before={job.key}",
        f"/jobs/states/?keys={job.key}&newest={job.key}",
        f"/jobs/{job.key}/live/",
        f"/jobs/{job.key}/progress/",
    )
    cost = []
    for more in (1, 30):
        for _ in range(more):
            make_job(alice, pool, tags=("a", "b"))
        for address in addresses:
            with django_assert_max_num_queries(22) as asked:
                assert client.get(address).status_code in (200, 286)
            selected = "".join(query["sql"] for query in asked)
            assert re.findall(r' "jobs_job"\."(request|frozen|findings)"', selected) == []
            assert "DISTINCT" not in selected
            assert "OFFSET" not in selected
            cost.append(len(asked))
    assert cost[: len(addresses)] == cost[len(addresses) :]
