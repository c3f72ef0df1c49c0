"""Facts and a request as plain values, for tables of rules and estimates."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from jobs.facts import (
    ChannelFacts,
    Facts,
    FlavorFacts,
    ImageFacts,
    PoolFacts,
    QuotaFacts,
    SpecFacts,
    VolumeFacts,
)
from jobs.spec import JobSpec
from pools.capacity import idle_nodes_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEAM, POOL, IMAGE, FLAVOR = 1, 1, 1, 1
SPEC_BY_GPUS = {1: 1, 2: 2, 4: 3, 8: 4}


def flavor(idle=(8, 8, 8, 8), *, nodes=None, pk=FLAVOR, **fields):
    values = {
        "id": pk,
        "name": f"flavor-{pk}",
        "gpu_model": "A100",
        "gpus_per_node": 8,
        "network": "none",
        "network_label": "",
        "idle_nodes": tuple(idle_nodes_of(idle, 8)),
        "node_count": len(idle) if nodes is None else nodes,
    }
    return FlavorFacts(**(values | fields))


def pool(*flavors, **fields):
    flavors = flavors or (flavor(),)
    specs = [SpecFacts(pk, f"{gpus} GPU", flavors[0].id, gpus, 8, 64, 4) for gpus, pk in SPEC_BY_GPUS.items()]
    values = {
        "id": POOL,
        "name": "pool",
        "zone": 1,
        "zone_name": "north",
        "public_data": "",
        "strict": False,
        "paused": False,
        "max_overtake": timedelta(minutes=60),
        "flavors": {f.id: f for f in flavors},
        "specs": {s.id: s for s in specs},
        "quotas": {TEAM: QuotaFacts(0, None)},
    }
    return PoolFacts(**(values | fields))


def facts(**fields):
    values = {
        "now": NOW,
        "teams": frozenset({TEAM}),
        "pool": pool(),
        "image": ImageFacts(IMAGE, "host", "", ("job",), in_zone=True),
        "volumes": {
            1: VolumeFacts(1, "v1", 1, "/data/v1", False),
            2: VolumeFacts(2, "v2", 2, "/data/v2", True),
        },
        "channels": {1: ChannelFacts(1, "mine", disabled=False), 2: ChannelFacts(2, "off", disabled=True)},
    }
    return Facts(**(values | fields))


def spec(*, gpus=1, **fields):
    """A request that breaks no rule; a custom count takes the place of spec and Worker count."""
    request = JobSpec(team=TEAM, pool=POOL, image=IMAGE, command="true", name="a job")
    if "custom_gpus" not in fields:
        request = replace(request, spec=SPEC_BY_GPUS[gpus])
    return replace(request, **fields)
