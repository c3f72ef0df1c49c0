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
from tests.jobs.places import place
from tests.jobs.sent import filled


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


@pytest.fixture
def north(team):
    return place(team, network="ib", public_data="/srv/public")


@pytest.fixture
def south(team, north, any_image):
    return place(team, reference="registry.example/south:1")


@pytest.fixture
def sent(client, alice, north, south):
    """A form of the first pool with everything in it, as the browser holds it."""
    client.force_login(alice)
    page = Page(client.get(f"{CREATE}?pool={north.pool.pk}"))
    second = make_volume(north.pool.zone, alice.memberships.get().team, suggested=False)
    return filled(
        page,
        north.pool,
        spec=north.spec(8),
        worker_count="2",
        image=str(north.image.pk),
        rdma="on",
        public_data="on",
        mount_volume=[str(north.volume.pk), str(second.pk)],
        mount_path=["/mnt/a", "/mnt/b"],
    )
