"""Where and with what a request runs: pool, Workers, image, framework."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.facts import Facts, FlavorFacts, PoolFacts, SpecFacts
from jobs.findings import Finding, Level
from jobs.rules.limits import JOB_TYPES, RESOURCE_TYPES
from jobs.spec import MOST_CUSTOM_GPUS, MOST_WORKERS, JobSpec
from jobs.states import Framework
from pools.capacity import FULL_WORKER


def flavor_of(spec: JobSpec, pool: PoolFacts) -> FlavorFacts | None:
    """The flavor that the request lands on; None while it does not say."""
    worker_spec = spec_of(spec, pool)
    if worker_spec is not None:
        return pool.flavors.get(worker_spec.flavor)
    if spec.flavor is not None:
        return pool.flavors.get(spec.flavor)
    return pool.only_flavor


def spec_of(spec: JobSpec, pool: PoolFacts) -> SpecFacts | None:
    if spec.custom or spec.spec is None:
        return None
    return pool.specs.get(spec.spec)


def kinds(spec: JobSpec) -> Iterator[Finding]:
    if spec.job_type not in JOB_TYPES:
        yield Finding("invalid_choice", "job_type")
    if spec.resource_type not in RESOURCE_TYPES:
        yield Finding("invalid_choice", "resource_type")


def resources(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    if spec.team is None:
        yield Finding("required", "team")
    elif spec.team not in facts.teams:
        yield Finding("team_unknown", "team")
    if spec.pool is None:
        yield Finding("required", "pool")
    elif facts.pool is None:
        yield Finding("pool_unknown", "pool", data=facts.unknown("pool", spec.pool))
    yield from _counts(spec)
    if facts.pool is not None:
        yield from _in_pool(spec, facts.pool, facts)


def _counts(spec: JobSpec) -> Iterator[Finding]:
    if spec.custom_gpus is None:
        if spec.spec is None:
            yield Finding("required", "spec")
        if not 1 <= spec.workers_wanted <= MOST_WORKERS:
            yield Finding("out_of_range", "worker_count", data={"least": 1, "most": MOST_WORKERS})
        if spec.flavor is not None:
            yield Finding("only_with_custom_gpus", "flavor")
        return
    if not 1 <= spec.custom_gpus <= MOST_CUSTOM_GPUS:
        yield Finding("out_of_range", "custom_gpus", data={"least": 1, "most": MOST_CUSTOM_GPUS})
    for name in ("spec", "worker_count"):
        if getattr(spec, name) is not None:
            yield Finding("excluded_by_custom_gpus", name)


def _in_pool(spec: JobSpec, pool: PoolFacts, facts: Facts) -> Iterator[Finding]:
    if spec.custom:
        if spec.flavor is None and pool.only_flavor is None:
            yield Finding("required" if pool.flavors else "pool_without_nodes", "flavor")
        elif spec.flavor is not None and spec.flavor not in pool.flavors:
            yield Finding("flavor_unknown", "flavor")
    elif spec.spec is not None and spec.spec not in pool.specs:
        yield Finding("spec_unknown", "spec", data=facts.unknown("spec", spec.spec))
    if spec.public_data and not pool.public_data:
        yield Finding("public_data_not_offered", "public_data", data={"zone": pool.zone_name})
    if spec.rdma:
        yield from _rdma(spec, pool)


def rdma_allowed(spec: JobSpec, pool: PoolFacts) -> bool:
    """RDMA needs a training network and 8 GPUs in every Worker."""
    return next(_rdma(spec, pool), None) is None


def _rdma(spec: JobSpec, pool: PoolFacts) -> Iterator[Finding]:
    flavor, worker_spec = flavor_of(spec, pool), spec_of(spec, pool)
    if flavor is not None and not flavor.rdma_capable:
        yield Finding("rdma_needs_network", "rdma")
    shape = spec.shape(worker_spec.gpus if worker_spec else None)
    if shape is None or set(shape.gpus_by_rank) != {FULL_WORKER}:
        yield Finding("rdma_needs_full_workers", "rdma")


def image(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    if spec.image is None:
        yield Finding("required", "image")
    elif facts.image is None:
        yield Finding("image_unknown", "image", data=facts.unknown("image", spec.image))
    else:
        if "job" not in facts.image.services:
            yield Finding("image_not_for_jobs", "image")
        if facts.pool is not None and not facts.image.in_zone:
            yield Finding("image_in_other_zone", "image", data={"zone": facts.pool.zone_name})
        yield from _runnable(facts.image.reference, facts.pool)
    if spec.framework not in set(Framework):
        yield Finding("invalid_choice", "framework")
    yield from _framework_hints(spec)


def _runnable(reference: str, pool: PoolFacts | None) -> Iterator[Finding]:
    """What can never run there is not to wait for GPUs first."""
    if pool is not None and not pool.runs(reference):
        data = {"image": reference, "pool": pool.name, "images": ", ".join(pool.images)}
        yield Finding("image_not_runnable", "image", data=data)


def _framework_hints(spec: JobSpec) -> Iterator[Finding]:
    custom = spec.custom_gpus or 0
    several = custom > FULL_WORKER or spec.workers_wanted > 1
    single = spec.framework == Framework.SINGLE
    if single and several:
        yield Finding("single_with_several_workers", "framework", Level.HINT)
    if not single and custom > FULL_WORKER and custom % FULL_WORKER:
        yield Finding("unequal_workers", "custom_gpus", Level.HINT)
