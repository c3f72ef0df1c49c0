"""Whether somebody still looks after the jobs."""

import logging

import pytest

from alerts.models import Mark, Notice
from alerts.rules import Subject
from alerts.subjects import told
from runs import tasks, upkeep
from runs.late import engine_looked, engine_watch
from tests.alerts.made import make_channel, make_rule
from tests.factories import make_user
from tests.jobs.test_overdue import clock  # noqa: F401  # the fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel():
    channel = make_channel(make_user(is_staff=True))
    make_rule(channel, Subject.MACHINE, None, "engine_late", "disk_nearly_full", minutes=5)
    return channel


def test_each_silence_is_told_once(clock, channel):  # noqa: F811
    for _ in range(2):
        tasks.engine_tick()
        looks = []
        for _ in range(8):
            clock.goes(1)
            looks.append(engine_watch())
        assert looks == [0, 0, 0, 0, 1, 0, 0, 0]
    notice = Notice.objects.order_by("pk").first()
    assert told(notice).text.startswith("Nobody has looked after the jobs since 2026-03-01 08:00:00 UTC")
    assert channel.deliveries.count() == 2


def test_while_the_engines_tick_nothing_is_told(clock, channel):  # noqa: F811
    for _ in range(20):
        clock.goes(1)
        engine_looked()
        assert engine_watch() == 0


def test_a_console_that_never_ran_an_engine_has_its_time_too(clock, channel):  # noqa: F811
    assert engine_watch() == 0
    clock.goes(6)
    assert engine_watch() == 1


def test_a_beat_is_not_written_with_every_tick(clock, django_assert_num_queries):  # noqa: F811
    engine_looked()
    with django_assert_num_queries(1):
        engine_looked()
    clock.goes(1)
    engine_looked()
    assert Mark.objects.get().at == clock.now


def test_trouble_with_one_look_does_not_keep_the_others(clock, channel, monkeypatch, caplog):  # noqa: F811
    def broken():
        raise RuntimeError("a bug")

    monkeypatch.setattr(upkeep, "queues_watch", broken)
    engine_looked()
    clock.goes(6)
    with caplog.at_level(logging.ERROR):
        tasks.slow_upkeep()
    assert "broken failed" in caplog.text
    assert Notice.objects.filter(codes=["engine_late"]).count() == 1
