"""REST: images."""

import pytest

from tests.factories import make_image, make_pool, make_team, make_user, make_zone

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("any_image")
def test_images_by_pool_and_service(api):
    team, stranger = make_team(), make_team()
    here, there = make_zone(), make_zone()
    pool = make_pool(team, zone=here)
    preset = make_image(here, there)
    custom = make_image(here, team=team, services=["job", "dev_machine"])
    dev = make_image(here, services=["dev_machine"])
    far = make_image(there, reference="far-away:1")
    make_image(here, team=stranger)
    client = api(make_user(team))

    def found(query=""):
        return {image["id"] for image in client.get(f"/api/v1/images/{query}").json()["results"]}

    assert found() == {preset.pk, custom.pk, dev.pk, far.pk}
    assert found(f"?pool={pool.pk}") == {preset.pk, custom.pk, dev.pk}
    assert found(f"?pool={pool.pk}&service=job") == {preset.pk, custom.pk}
    assert found(f"?pool={make_pool(stranger, zone=here).pk}") == set()
    assert client.get("/api/v1/images/?service=coffee").status_code == 400


def test_what_is_said_of_an_image(api, django_assert_max_num_queries):
    zone = make_zone()
    images = [make_image(zone, reference=f"image:{n}") for n in range(5)]
    client = api(make_user(make_team()))
    with django_assert_max_num_queries(2):
        rows = client.get("/api/v1/images/").json()["results"]
    assert rows[0] == {
        "id": images[0].pk,
        "reference": images[0].reference,
        "kind": "preset",
        "services": ["job"],
        "zones": [{"id": zone.pk, "name": zone.name}],
    }
