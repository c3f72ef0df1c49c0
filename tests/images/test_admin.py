"""Admin pages of images."""

import pytest
from django.urls import reverse

from images.models import Image
from tests.admin_pages import errors, filled
from tests.factories import make_image, make_team, make_zone

pytestmark = pytest.mark.django_db


def add(client, **values):
    address = reverse("admin:images_image_add")
    return client.post(address, filled(client.get(address)) | values)


def test_image_is_added(admin_client):
    zone = make_zone()
    done = add(admin_client, reference="host", zones=[zone.pk], services=["job", "inference"])
    assert done.status_code == 302
    image = Image.objects.get()
    assert (image.kind, image.services, list(image.zones.all())) == ("preset", ["job", "inference"], [zone])


@pytest.mark.parametrize(
    ("values", "field"),
    [({"services": []}, "services"), ({"zones": []}, "zones"), ({"reference": "a b"}, "reference")],
)
def test_what_is_missing_is_named(admin_client, values, field):
    good = {"reference": "host", "zones": [make_zone().pk], "services": ["job"]}
    assert list(errors(add(admin_client, **(good | values)))) == [field]
    assert not Image.objects.exists()


@pytest.mark.parametrize("custom", [False, True])
def test_the_same_image_twice_is_refused(admin_client, custom):
    zone = make_zone()
    team = make_team() if custom else None
    make_image(zone, reference="registry.example/a:1", team=team)
    values = {"team": team.pk} if team else {}
    refused = add(admin_client, reference="registry.example/a:1", zones=[zone.pk], **values)
    assert errors(refused)["reference"] == ["taken"]
    other = add(admin_client, reference="registry.example/a:1", zones=[zone.pk], team=make_team().pk)
    assert other.status_code == 302


def test_image_is_retired(admin_client):
    image = make_image(make_zone())
    data = {"action": "retire", "_selected_action": [image.pk]}
    admin_client.post(reverse("admin:images_image_changelist"), data)
    assert not Image.objects.filter(retired_at=None).exists()
