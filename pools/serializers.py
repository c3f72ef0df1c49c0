"""REST: what is said about zones, pools, specs and nodes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from pools.capacity import custom_startable, idle_gpus, startable
from pools.models import Discipline, Flavor, Network, Node, NodeState, Pool, WorkerSpec, Zone


class ZoneSerializer(serializers.Serializer[Zone]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    public_data = serializers.SerializerMethodField(help_text="Whether jobs may mount public data.")

    def get_public_data(self, zone: Zone) -> bool:
        return bool(zone.public_data)


class FlavorSerializer(serializers.Serializer[Flavor]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    gpu_model = serializers.CharField()
    gpus_per_node = serializers.IntegerField()
    network = serializers.ChoiceField(choices=Network.choices)
    network_label = serializers.CharField()
    nodes = serializers.IntegerField(source="node_count")
    idle_gpus = serializers.SerializerMethodField()
    custom_startable = serializers.SerializerMethodField(
        help_text="The largest `custom_gpus` that could start now."
    )

    def get_idle_gpus(self, flavor: Flavor) -> int:
        return idle_gpus(flavor.idle_nodes)

    def get_custom_startable(self, flavor: Flavor) -> int:
        return custom_startable(flavor.idle_nodes)


class PoolSpecSerializer(serializers.Serializer[WorkerSpec]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    flavor = serializers.IntegerField(source="flavor_id")
    gpus = serializers.IntegerField()
    cpus = serializers.IntegerField()
    memory_gib = serializers.IntegerField()
    startable = serializers.SerializerMethodField(
        help_text="How many more Workers of this spec could start now."
    )

    def get_startable(self, spec: WorkerSpec) -> int:
        return startable(spec.flavor.idle_nodes, spec.gpus)


class SpecSerializer(PoolSpecSerializer):
    pool = serializers.IntegerField(source="flavor.pool_id")


class PoolSerializer(serializers.Serializer[Pool]):
    """Its flavors and their specs are prefetched; `queued_jobs` is annotated."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    zone = ZoneSerializer()
    engine = serializers.CharField()
    discipline = serializers.ChoiceField(choices=Discipline.choices)
    idle_gpus = serializers.SerializerMethodField()
    total_gpus = serializers.SerializerMethodField()
    queued_jobs = serializers.IntegerField()
    flavors = FlavorSerializer(many=True)
    specs = serializers.SerializerMethodField()

    def get_idle_gpus(self, pool: Pool) -> int:
        return sum(idle_gpus(flavor.idle_nodes) for flavor in pool.flavors.all())

    def get_total_gpus(self, pool: Pool) -> int:
        return sum(flavor.node_count * flavor.gpus_per_node for flavor in pool.flavors.all())

    @extend_schema_field(PoolSpecSerializer(many=True))
    def get_specs(self, pool: Pool) -> list[Any]:
        specs = [spec for flavor in pool.flavors.all() for spec in flavor.specs.all()]
        many: Any = PoolSpecSerializer(specs, many=True)  # type: ignore[arg-type]  # the stubs know one
        return list(many.data)


class NodeSerializer(serializers.Serializer[Node]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    flavor = serializers.IntegerField(source="flavor_id")
    state = serializers.ChoiceField(choices=NodeState.choices)
    schedulable = serializers.BooleanField()
    idle_gpus = serializers.IntegerField(source="idle")
    total_gpus = serializers.IntegerField(source="flavor.gpus_per_node")
    prepaid_until = serializers.DateField(allow_null=True)
