"""Admin pages of alerts: to look up only, and without what is kept encrypted."""

from __future__ import annotations

import pytest
from django.test import Client

from alerts.models import Notice, Rule
from tests.alerts.notices import deliver
from tests.factories import make_channel, make_user

pytestmark = pytest.mark.django_db


def test_everything_can_be_looked_up_and_nothing_changed() -> None:
    admin = make_user(is_staff=True, is_superuser=True)
    channel = make_channel(admin, name="phone")
    delivery = deliver(channel)
    rule = Rule.objects.create(channel=channel, subject="machine", events=["disk_nearly_full"])
    client = Client()
    client.force_login(admin)
    rows = {"channel": channel, "delivery": delivery, "rule": rule, "notice": Notice.objects.get()}
    for name, row in rows.items():
        base = f"/admin/alerts/{name}/"
        for address in (base, f"{base}?q=1", f"{base}{row.pk}/change/"):
            page = client.get(address)
            assert page.status_code == 200, address
            source = page.content.decode()
            assert bytes(channel.target).decode() not in source
            assert bytes(channel.secret).decode() not in source
            assert "T0K3N" not in source
        assert client.get(f"{base}add/").status_code == 403
        assert client.post(f"{base}{row.pk}/change/", {"name": "x"}).status_code == 403
        assert client.get(f"{base}{row.pk}/delete/").status_code == 403
    assert "phone" in client.get(f"/admin/alerts/channel/{channel.pk}/change/").content.decode()
