"""The newest delivery of each channel, and what it costs to find it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from alerts import reading
from alerts.models import Channel, Delivery, Notice
from alerts.reading import channels_read, newest_deliveries
from teams.models import Team, User
from tests.alerts.notices import deliver
from tests.factories import make_channel, make_team, make_user

pytestmark = pytest.mark.django_db
MANY = 600  # deliveries of a channel


def fill(channel: Channel, team: Team | None) -> None:
    """Many deliveries, each of a notice of the team."""
    at = timezone.now()
    notices = Notice.objects.bulk_create(
        Notice(key=f"{channel.pk}/{n}", codes=["failed"], subject="job", subject_id=n, team=team, at=at)
        for n in range(MANY)
    )
    Delivery.objects.bulk_create(
        Delivery(notice=notice, channel=channel, channel_name=channel.name, kind="webhook")
        for notice in notices
    )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def newest(user: User) -> dict[int, Delivery]:
    return newest_deliveries(user, Channel.objects.for_user(user))


def test_each_channel_has_the_last_one_that_may_be_known() -> None:
    team, elsewhere = make_team(), make_team()
    alice, mate = make_user(team, elsewhere), make_user(team)
    one, other, empty = make_channel(alice, team), make_channel(alice, team), make_channel(alice, team)
    deliver(one)
    seen, last = deliver(one), deliver(one, team=elsewhere)
    sole = deliver(other)
    assert newest(alice) == {one.pk: last, other.pk: sole}
    assert newest(mate) == {one.pk: seen, other.pk: sole}
    assert empty.pk not in newest(mate)


def test_behind_many_that_are_none_of_ones_business_nothing_is_looked_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(reading, "MOST_WALKED", 2)
    team, elsewhere = make_team(), make_team()
    alice, mate = make_user(team, elsewhere), make_user(team)
    channel = make_channel(alice, team)
    seen = deliver(channel)
    deliver(channel, team=elsewhere)
    assert newest(mate) == {channel.pk: seen}
    deliver(channel, team=elsewhere)
    assert newest(mate) == {}


def rows_read(captured: CaptureQueriesContext) -> int:
    """Of deliveries, by the plans as they were carried out."""

    def scanned(node: Any) -> int:
        rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        own = round(rows * node["Actual Loops"]) if node.get("Relation Name") == "alerts_delivery" else 0
        return own + sum(scanned(child) for child in node.get("Plans", ()))

    total = 0
    with connection.cursor() as cursor:
        for query in list(captured.captured_queries):
            cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + query["sql"])
            total += scanned(cursor.fetchone()[0][0]["Plan"])
    return total


@pytest.mark.skipif("connection.vendor != 'postgresql'")
@pytest.mark.parametrize("ours", [True, False])
def test_it_reads_each_channel_at_most_twice_and_no_other_beside_it(ours: bool) -> None:
    team, elsewhere = make_team(), make_team()
    alice, mate = make_user(team, elsewhere), make_user(team)
    channels = [make_channel(alice, team) for _ in range(20)]
    for channel in channels:
        fill(channel, team if ours else elsewhere)
    with CaptureQueriesContext(connection) as captured:
        found = newest(mate)
    assert (len(captured), len(found)) == ((2, 20) if ours else (1, 0))
    assert rows_read(captured) <= len(channels) * 2 * MANY


@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_of_a_healthy_channel_no_delivery_is_read_for_what_was_refused() -> None:
    alice = make_user()
    fill(make_channel(alice), None)
    with CaptureQueriesContext(connection) as captured:
        (sole,) = list(channels_read(alice))
    assert sole.refused_last is None
    assert rows_read(captured) == 0
