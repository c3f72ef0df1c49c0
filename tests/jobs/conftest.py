"""A team with a pool of three nodes, and the least request by REST that makes a job there."""

import pytest

from tests.factories import make_image, make_pool, make_team, worker_spec


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
