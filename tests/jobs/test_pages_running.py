"""Fault tolerance and what is advanced on the form, and where the job's page shows them."""

import pytest

from jobs.models import Job
from tests.factories import make_image
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db
FIELDS = (
    *("auto_restart", "max_restarts", "hang_detection", "hang_timeout_seconds", "hang_action"),
    *("priority", "start_policy", "max_queue_minutes", "max_runtime_minutes", "stop_grace_seconds"),
    "keep_after_failure_minutes",
)


@pytest.fixture
def page(client, alice, pool):
    """The form as alice gets it, with the one image chosen."""
    make_image(pool.zone)
    client.force_login(alice)
    return Page(client.get(CREATE))


def created(client, page, pool, **changed):
    assert client.post(CREATE, filled(page, pool, **changed)).status_code == 303
    return Job.objects.get()


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_has_its_place_its_label_and_its_notes(page, name):
    control = next(e for e in page.elements if e.attrs.get("name") == name)
    assert control.attrs["id"] == f"id_{name}"
    assert control.attrs["aria-describedby"] == f"notes-{name}"
    assert page.by_id(f"notes-{name}")


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_is_kept_up_to_date(client, page, pool, name):
    live = Page(client.post("/jobs/estimate/", filled(page, pool)))
    assert live.by_id(f"notes-{name}").attrs["hx-swap-oob"] == "true"


def test_the_form_as_it_begins_asks_for_nothing_of_it(client, page, pool):
    asked = created(client, page, pool).request
    assert not asked["auto_restart"]
    assert not asked["hang_detection"]
    assert (asked["max_runtime_minutes"], asked["max_queue_minutes"]) == (None, None)
    assert (asked["start_policy"], asked["stop_grace_seconds"]) == ("queue", 30)
    assert asked["keep_after_failure_minutes"] == 0


def test_what_is_filled_in_is_asked_for(client, page, pool):
    job = created(
        client,
        page,
        pool,
        auto_restart="on",
        max_restarts="3",
        hang_detection="on",
        hang_timeout_seconds="600",
        hang_action="fail",
        max_runtime_minutes="90",
        max_queue_minutes="45",
        stop_grace_seconds="5",
        keep_after_failure_minutes="30",
    )
    assert (job.max_restarts, job.hang_seconds, job.hang_action) == (3, 600, "fail")
    assert (job.max_runtime_seconds, job.max_queue_seconds) == (90 * 60, 45 * 60)
    shown = Page(client.get(f"/jobs/{job.key}/")).by_id("configuration").text
    said = " ".join(shown.split())
    assert "3 restarts at most Hang detection 600 s · end the job as failed" in said
    assert "Maximum waiting time (min) 45 Maximum running time (min) 90 Grace time when stopped (s) 5" in said
    assert "Grace time when stopped (s) 5 Keep files after a failure (min) 30" in said


def test_what_lies_under_a_switch_that_is_off_is_not_looked_at(client, page, pool):
    job = created(client, page, pool, max_restarts="99", hang_timeout_seconds="x", hang_action="nonsense")
    assert (job.max_restarts, job.hang_seconds, job.hang_action) == (0, None, "")
    shown = Page(client.get(f"/jobs/{job.key}/")).by_id("configuration").text
    assert "at most" not in shown


@pytest.mark.parametrize(
    ("changed", "part", "text"),
    [
        ({"max_restarts": "3"}, "rule-restart", "at most 3 times"),
        ({"max_restarts": "1"}, "rule-restart", "at most 1 time."),
        ({}, "rule-restart", "The pause before is 10 s, then twice as long each time, up to 5 min."),
        (
            {"hang_timeout_seconds": "90"},
            "rule-hang",
            "for 90 s: an event, the job goes on.",
        ),
        ({}, "rule-hang", "for 30 min: an event, the job goes on."),
        ({}, "rule-hang", "or no output for 1 h whatever the load:"),
        ({"hang_timeout_seconds": "29"}, "rule-hang", "once its value is right"),
        ({"hang_timeout_seconds": "soon"}, "rule-hang", "once its value is right"),
        ({"max_restarts": "11"}, "rule-restart", "once its value is right"),
        ({}, "rule-disk", "emptied when the job ends, whatever the outcome."),
        ({"keep_after_failure_minutes": "30"}, "rule-disk", "after a failure 30 minutes later."),
        ({"keep_after_failure_minutes": "60"}, "rule-disk", "after a failure 1 hour later."),
        ({"keep_after_failure_minutes": "1441"}, "rule-disk", "once its value is right"),
        ({"hang_action": ""}, "rule-hang", "the job is restarted"),
        ({"hang_action": "notify"}, "rule-hang", "there is an event, and the job goes on."),
        ({"hang_action": "fail"}, "rule-hang", "the job ends as failed."),
    ],
)
def test_the_rules_stand_there_with_their_numbers(client, page, pool, changed, part, text):
    on = {"auto_restart": "on", "hang_detection": "on"}
    live = Page(client.post("/jobs/estimate/", filled(page, pool, **on, **changed)))
    assert text in live.by_id(part).text


def test_a_restart_of_hangs_wants_automatic_restart(client, page, pool):
    sent = filled(page, pool, hang_detection="on", hang_action="restart")
    live = Page(client.post("/jobs/estimate/", sent))
    assert "only if automatic restart is on" in live.by_id("notes-hang_action").text
    assert client.post(CREATE, sent).status_code == 422


def test_wrong_numbers_open_the_section_and_are_marked(client, page, pool):
    answer = client.post(CREATE, filled(page, pool, max_runtime_minutes="0", max_queue_minutes="x"))
    assert answer.status_code == 422
    again = Page(answer)
    assert "open" in again.by_id("section-advanced").attrs
    for name in ("max_runtime_minutes", "max_queue_minutes"):
        assert "is-invalid" in again.by_id(f"id_{name}").attrs["class"]
        assert again.by_id(f"notes-{name}").text.strip()


def test_a_closed_section_says_what_is_on(client, page, pool):
    sent = filled(
        page, pool, auto_restart="on", max_restarts="2", hang_detection="on", max_runtime_minutes="60"
    )
    live = Page(client.post("/jobs/estimate/", sent))
    assert live.by_id("said-tolerance").text == "2 restarts at most · when it hangs: restart"
    assert live.by_id("said-advanced").text == "priority normal · runs 60 min at most"
