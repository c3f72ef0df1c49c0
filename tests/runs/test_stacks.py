"""Stacks: who may ask, when they are taken, and how they are shown."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from engines.base import EngineError, Fault, Frame, Phase, PythonProcess, Thread, WorkerLook, WorkerStacks
from jobs.models import Attempt
from jobs.scheduling import queue_cycle
from runs import capturing, watching
from runs.captures import KEPT, capture_ask, capture_of_itself
from runs.launching import attempt_key
from runs.models import StackCapture
from tests.factories import make_job, make_pool, make_team, make_user
from tests.jobs.pages import Page
from tests.runs.stand_in import START, attend, exited, running

pytestmark = pytest.mark.django_db

FRAME = Frame("all_reduce <b>", "/mnt/public/train.py", 17)
THREAD = Thread("MainThread", 7, True, (FRAME,), 2)
STACKS = (
    WorkerStacks(0, (PythonProcess(5, "python3 train.py", (THREAD,)),)),
    WorkerStacks(1, trouble=Fault("no_python")),
)


@pytest.fixture
def taking(engine, monkeypatch):
    """The stand-in, which also tells stacks."""
    engine.asked, engine.stacks_told = [], STACKS

    def stacks(key, rank=None):
        engine.asked.append((str(key), rank))
        if isinstance(engine.stacks_told, Exception):
            raise engine.stacks_told
        return engine.stacks_told

    engine.stacks = stacks
    monkeypatch.setattr(capturing, "engine_of", lambda kind: engine)
    return engine


@pytest.fixture
def place(user):
    pool = make_pool(user.memberships.get().team)

    def make(**fields):
        job = make_job(user, pool, **{"workers": 2} | fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        return job

    return make


@pytest.fixture
def job(taking, place):
    job = place()
    attend(taking, job, running(0), running(1))
    return job


def rest(api, who, job, rest=""):
    return api(who), f"/api/v1/jobs/{job.key}/stacks/{rest}"


def test_asked_for_and_taken_by_rest(api, taking, job, user):
    client, address = rest(api, user, job)
    asked = client.post(address, {}, "json")
    assert (asked.status_code, asked.json()["state"], asked.json()["workers"]) == (202, "pending", None)
    assert client.post(address, {}, "json").json()["id"] == asked.json()["id"]
    capturing.take_due()
    capturing.take_due()
    assert taking.asked == [(f"{job.key}/1", None)]
    (row,) = client.get(address).json()["results"]
    assert (row["state"], row["asked_by"], row["automatic"]) == ("done", user.username, False)
    assert "workers" not in row
    told = client.get(f"{address}{row['id']}/").json()["workers"]
    (thread,) = told[0]["processes"][0]["threads"]
    assert thread["frames"] == [{"name": FRAME.name, "file": FRAME.file, "line": 17}]
    assert (thread["active"], thread["more_frames"]) == (True, 2)
    assert told[1]["trouble"] == {"code": "no_python", "message": "It had no Python process."}


def test_one_worker_may_be_asked_for(api, taking, job, user):
    client, address = rest(api, user, job)
    assert client.post(address, {"rank": 1}, "json").json()["rank"] == 1
    refused = client.post(address, {"rank": 2}, "json")
    assert (refused.status_code, refused.json()["errors"][0]["attr"]) == (400, "rank")
    assert client.post(address, {"rnak": 1}, "json").status_code == 400
    capturing.take_due()
    assert taking.asked == [(f"{job.key}/1", 1)]


def test_what_does_not_run_has_no_stacks(api, client, taking, place, user):
    job = place()
    client.force_login(user)
    asking, address = rest(api, user, job)
    answer = asking.post(address, {}, "json")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "not_running")
    page = client.post(f"/jobs/{job.key}/stacks/", follow=True).content.decode()
    assert "has no stacks now" in page
    assert "Capture stacks now" not in page
    assert not StackCapture.objects.exists()


def test_strangers_find_nothing(api, client, job):
    stranger = make_user(make_team())
    asking, address = rest(api, stranger, job)
    capture = capture_of_itself(Attempt.objects.get())
    assert asking.post(address, {}, "json").status_code == 404
    assert asking.get(address).status_code == 404
    assert asking.get(f"{address}{capture.pk}/").status_code == 404
    client.force_login(stranger)
    assert client.get(f"/jobs/{job.key}/stacks/").status_code == 404
    assert client.post(f"/jobs/{job.key}/stacks/").status_code == 404


def test_a_capture_is_of_its_own_job(api, client, job, place, user):
    other = place()
    capture = capture_of_itself(Attempt.objects.get(job=job))
    asking, address = rest(api, user, other)
    assert asking.get(f"{address}{capture.pk}/").status_code == 404
    client.force_login(user)
    assert client.get(f"/jobs/{other.key}/stacks/?capture={capture.pk}").status_code == 404


def test_the_address_of_a_run_opens_what_its_silence_led_to(client, taking, job, user):
    first = Attempt.objects.get()
    other = Attempt.objects.create(job=job, number=2, placed_at=timezone.now(), ended_at=timezone.now())
    by_itself, asked = capture_of_itself(first), capture_ask(job=job, user=user)
    latest = StackCapture.objects.create(attempt=other)
    client.force_login(user)

    def opened(query):
        captures = Page(client.get(f"/jobs/{job.key}/stacks/{query}")).all("a", **{"aria-current": "true"})
        return [(one.attrs["href"] or "").partition("=")[2] for one in captures]

    assert opened("?attempt=1") == [str(by_itself.pk)]
    assert opened("?attempt=2") == opened("") == [str(latest.pk)]
    assert opened("?attempt=3") == opened("?attempt=x") == []
    assert opened(f"?attempt=1&capture={asked.pk}") == [str(asked.pk)]


def test_the_page_asks_and_shows(client, taking, job, user):
    client.force_login(user)
    address = f"/jobs/{job.key}/stacks/"
    assert f'href="{address}"' in client.get(f"/jobs/{job.key}/").content.decode()
    assert "None yet." in client.get(address).content.decode()
    answer = client.post(address, follow=True)
    assert "Being taken" in answer.content.decode()
    shown = answer.redirect_chain[-1][0]
    assert client.get(shown, headers={"HX-Request": "true"}).status_code == 204
    capturing.take_due()
    part = client.get(shown, headers={"HX-Request": "true"}).content.decode()
    for page in (part, client.get(shown).content.decode()):
        assert "python3 train.py" in page
        assert "all_reduce &lt;b&gt;" in page
        assert "/mnt/public/train.py:17" in page
        assert "It had no Python process." in page
        assert "every 1s" not in page


def test_a_machine_that_cannot_tell(taking, job):
    capture = capture_of_itself(Attempt.objects.get())
    taking.stacks_told = EngineError("/secret/folder")
    capturing.take_due()
    capture.refresh_from_db()
    assert (capture.state, capture.reason) == ("failed", {"code": "engine_unavailable", "data": {}})


def test_an_attempt_that_has_ended_meanwhile(taking, job):
    capture = capture_of_itself(Attempt.objects.get())
    attend(taking, job, exited(0), exited(1))
    capturing.take_due()
    capture.refresh_from_db()
    assert (capture.state, capture.reason["code"], taking.asked) == ("failed", "not_running", [])


def test_who_has_begun_is_given_time(taking, job):
    capture = capture_of_itself(Attempt.objects.get())
    StackCapture.objects.update(claimed_at=timezone.now() - capturing.PATIENCE / 2)
    capturing.take_due()
    assert not taking.asked
    StackCapture.objects.update(claimed_at=timezone.now() - capturing.PATIENCE - timedelta(seconds=1))
    capturing.take_due()
    capture.refresh_from_db()
    assert capture.state == "done"


def test_one_thread_of_a_process_takes_them(taking, job):
    capture_of_itself(Attempt.objects.get())
    taking.stacks_told = EngineError("…")
    seen = []
    stacks = taking.stacks
    taking.stacks = lambda *args: (capturing.take_due(), seen.append(1), stacks(*args))
    capture_of_itself(Attempt.objects.get())
    capturing.take_due()
    assert len(seen) == len(taking.asked) == 2


def test_what_is_kept_is_bounded(taking, job, monkeypatch):
    attempt = Attempt.objects.get()
    waited_for = [capture_of_itself(attempt) for _ in range(2)]
    for _ in range(KEPT + 3):
        capture = capture_of_itself(attempt)
        attempt.captures.filter(pk=capture.pk).update(state="done")
    capture = capture_of_itself(attempt)
    kept = set(attempt.captures.values_list("pk", flat=True))
    assert {one.pk for one in waited_for} < kept
    assert len(kept) == KEPT + 2
    monkeypatch.setattr(capturing, "MOST_BYTES", 300)
    capturing.take_due([capture.pk])
    capture.refresh_from_db()
    first, second = capture.result["workers"]
    assert (first["trouble"]["code"], first["processes"]) == ("too_large", [])
    assert second["trouble"]["code"] == "no_python"


def silent(seconds, rank, busy=None):
    return WorkerLook(rank, Phase.RUNNING, started_at=START, output_at=time.time() - seconds, busy_at=busy)


def test_a_suspected_hang_is_looked_at_once(taking, place):
    job = place(hang_detection=True, hang_timeout_seconds=100)
    looks = silent(150, 0), silent(150, 1)
    attend(taking, job, *looks)
    attend(taking, job, *looks)
    (capture,) = StackCapture.objects.all()
    assert (capture.automatic, capture.asked_by, capture.rank, capture.state) == (True, None, None, "pending")
    capturing.take_due()
    assert taking.asked == [(f"{job.key}/1", None)]


def test_stacks_are_taken_before_a_hang_is_ended(taking, place):
    """However fast the hang follows on the suspicion, and though no hint arrives."""
    job = place(hang_detection=True, hang_timeout_seconds=100, hang_action="fail")
    looks = [silent(250, rank) for rank in range(2)]
    at_the_end = []
    taking.on_stop = lambda key: at_the_end.append(len(taking.asked))
    attend(taking, job, *looks)
    attend(taking, job, *looks)
    attend(taking, job, *looks)
    assert at_the_end[0] == 1
    assert len(taking.asked) == 1
    assert StackCapture.objects.get().state == "done"


def hung(place, jobs):
    return [
        place(workers=1, hang_detection=True, hang_timeout_seconds=100, hang_action="fail")
        for _ in range(jobs)
    ]


def watch(engine, jobs, *looks):
    """Two passes: the first tells of the hang, the second acts on it."""
    engine.looks |= {attempt_key(job): looks for job in jobs}
    watching.attend()
    engine.asked.clear()
    watching.attend()


@pytest.mark.parametrize(("seconds", "taken"), [(1, 4), (6, 2), (10, 1), (30, 1)])
def test_a_pass_has_so_much_time_for_stacks_and_ends_all_that_hang(
    taking, place, monkeypatch, seconds, taken
):
    now = [0.0]
    stacks = taking.stacks
    monkeypatch.setattr(capturing, "monotonic", lambda: now[0])
    taking.stacks = lambda *args: (now.__setitem__(0, now[0] + seconds), stacks(*args))[1]
    jobs = hung(place, 4)
    watch(taking, jobs, silent(250, 0))
    assert len(taking.asked) == taken
    assert {key for key, _grace in taking.stops} == {attempt_key(job) for job in jobs}
    capturing.take_due()  # while they have time to end
    assert len(taking.asked) == 4


def test_of_an_attempt_that_is_to_end_the_stacks_of_all_workers_are_taken_once(taking, place, user):
    (job,) = hung(place, 1)
    attend(taking, job, running(0))
    capture_ask(job=job, user=user, rank=0)
    watch(taking, [job], silent(250, 0))
    assert taking.asked == [(f"{job.key}/1", None)]
    watch(taking, [job], replace(silent(250, 0), stopped=True))
    assert taking.asked == []
    capturing.take_due()
    assert taking.asked == [(f"{job.key}/1", 0)]
