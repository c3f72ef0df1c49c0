"""Who deletes a channel and who sends to it wait for each other, never both at once."""

from __future__ import annotations

from threading import Thread
from time import sleep

import pytest
from django.db import connection, transaction
from django.utils import timezone

from alerts.channels import channel_delete
from alerts.models import Channel, Delivery
from tests.alerts.made import make_channel, post
from tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def wait_for_waiting() -> None:
    """Until another connection waits for a lock."""
    asked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    for _ in range(1000):
        with connection.cursor() as cursor:
            cursor.execute(asked)
            if cursor.fetchone()[0]:
                return
        sleep(0.01)
    raise AssertionError("nobody waits")


@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_deleting_beside_a_claim_is_no_deadlock() -> None:
    team = make_team()
    owner = make_user()
    channel = make_channel(owner, team=team)
    (delivery,) = post(channel)
    errors: list[Exception] = []

    def work() -> None:
        try:
            channel_delete(channel=Channel.objects.get(pk=channel.pk), actor=owner)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    deleting = Thread(target=work)
    with transaction.atomic():
        Channel.objects.filter(pk=channel.pk).update(busy_until=timezone.now())
        deleting.start()
        wait_for_waiting()
        assert Delivery.objects.filter(pk=delivery.pk).update(tries=1) == 1
    deleting.join()
    assert errors == []
    delivery.refresh_from_db()
    assert (delivery.channel, delivery.tries) == (None, 1)
