"""A team with a pool of three nodes, and the least that makes a job there: by REST, and by the form."""

import pytest

from tests.factories import (
    make_image,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    worker_spec,
)
from tests.jobs.pages import CREATE, Page


@pytest.fixture
def team(db):
    return make_team()


@pytest.fixture
def pool(team):
    return make_pool(team, nodes=3)


@pytest.fixture
def body(pool):
    """One Worker of one GPU."""
    return {
        "pool": pool.pk,
        "spec": worker_spec(pool, 1).pk,
        "image": make_image(pool.zone).pk,
        "command": "echo hello",
        "name": "a job",
    }


@pytest.fixture
def alice(team):
    return make_user(team)


@pytest.fixture
def whole_pool(team):
    """One of four nodes, with all that the form offers: public data, an image, a volume to mount."""
    zone = make_zone(public_data="/srv/public")
    pool = make_pool(team, zone=zone)
    make_image(zone)
    make_volume(zone, team)
    return pool


@pytest.fixture
def page(client, alice, pool):
    """The empty form, as alice gets it."""
    client.force_login(alice)
    return Page(client.get(CREATE))
