"""REST: volumes."""

import pytest

from storage.models import VolumeGrant
from tests.factories import make_pool, make_team, make_user, make_volume, make_zone

pytestmark = pytest.mark.django_db


def test_volumes_of_the_teams_in_the_zone_of_a_pool(api, django_assert_max_num_queries):
    team, other = make_team(), make_team()
    here, there = make_zone(), make_zone()
    pool = make_pool(team, zone=here)
    volume = make_volume(here, team, read_only=True)
    far = make_volume(there, team)
    make_volume(here, other)
    client = api(make_user(team))
    with django_assert_max_num_queries(1):
        rows = client.get("/api/v1/volumes/").json()["results"]
    assert [row["id"] for row in rows] == [volume.pk, far.pk]
    assert client.get(f"/api/v1/volumes/?pool={pool.pk}").json()["results"] == [
        {
            "id": volume.pk,
            "name": volume.name,
            "file_system": {"id": volume.file_system.pk, "name": volume.file_system.name},
            "zone": {"id": here.pk, "name": here.name},
            "default_mount_path": "/mnt/public",
            "read_only": True,
        }
    ]


def test_a_volume_is_writable_if_one_team_may_write(api):
    team, other = make_team(), make_team()
    volume = make_volume(make_zone(), team, read_only=True)
    VolumeGrant.objects.create(volume=volume, team=other)
    client = api(make_user(team, other))
    assert [row["read_only"] for row in client.get("/api/v1/volumes/").json()["results"]] == [False]
