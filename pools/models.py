"""Zones, pools and what is in them. Counts that follow from holds are kept in the same transaction."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.querysets import NodeQuerySet, PoolQuerySet
from teams.models import Team


class Network(models.TextChoices):
    NONE = "none", _("none")
    ROCE = "roce", "RoCE"
    IB = "ib", "IB"


class Discipline(models.TextChoices):
    BEST_EFFORT_FIFO = "best_effort_fifo", _("best-effort FIFO")
    STRICT_FIFO = "strict_fifo", _("strict FIFO")


class NodeState(models.TextChoices):
    READY = "ready", _("ready")
    CORDONED = "cordoned", _("cordoned")
    DRAINED = "drained", _("drained")
    DOWN = "down", _("down")
    RETIRED = "retired", _("retired")


# The images that an engine can run, where it cannot run any: the only ones.
ENGINE_IMAGES: dict[str, tuple[str, ...]] = {"local": ("host",)}
LEFT_BY_JOBS = (NodeState.DRAINED, NodeState.DOWN)  # Workers that are there are ended


class Zone(models.Model):
    """Join key of pools, images and volumes."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    public_data = models.CharField(
        _("public data folder"),
        max_length=500,
        blank=True,
        help_text=_("Folder of the machine that jobs see read-only at /infini-data/; empty: not offered."),
    )

    class Meta:
        verbose_name = _("availability zone")
        verbose_name_plural = _("availability zones")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Pool(models.Model):
    """Nodes in one zone with one queue. Its row is the lock for holds, node states and summaries."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    zone = models.ForeignKey(Zone, models.PROTECT, related_name="pools", verbose_name=_("availability zone"))
    engine = models.CharField(_("engine"), max_length=20, default="local", choices=[("local", _("local"))])
    discipline = models.CharField(
        _("queue discipline"), max_length=20, default=Discipline.BEST_EFFORT_FIFO, choices=Discipline
    )
    max_overtake_minutes = models.PositiveIntegerField(_("longest overtaking (minutes)"), default=60)
    paused = models.BooleanField(_("paused"), default=False, help_text=_("Running jobs go on; none starts."))
    retired_at = models.DateTimeField(_("retired"), null=True, blank=True)

    objects = PoolQuerySet.as_manager()

    class Meta:
        verbose_name = _("resource pool")
        verbose_name_plural = _("resource pools")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def images(self) -> tuple[str, ...]:
        """The only ones that the pool can run; none named: any."""
        return ENGINE_IMAGES.get(self.engine, ())

    def runs(self, reference: str) -> bool:
        """Whether the pool can run the image at all."""
        return not self.images or reference in self.images


class Grant(models.Model):
    """A team may use a pool, up to `max_gpus` held at a time (no limit where empty)."""

    pool = models.ForeignKey(Pool, models.CASCADE, related_name="grants", verbose_name=_("resource pool"))
    team = models.ForeignKey(Team, models.CASCADE, related_name="grants", verbose_name=_("team"))
    max_gpus = models.PositiveIntegerField(_("most GPUs held"), null=True, blank=True)
    held_gpus = models.PositiveIntegerField(_("GPUs held"), default=0, editable=False)

    class Meta:
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        constraints = [models.UniqueConstraint(fields=["pool", "team"], name="grant_once")]

    def __str__(self) -> str:
        return f"{self.team} → {self.pool}"


class Flavor(models.Model):
    """One kind of node in a pool, with how many of them have 0, 1, 2 … GPUs idle."""

    pool = models.ForeignKey(Pool, models.CASCADE, related_name="flavors", verbose_name=_("resource pool"))
    name = models.CharField(_("name"), max_length=80)
    gpu_model = models.CharField(_("GPU model"), max_length=80)
    gpus_per_node = models.PositiveSmallIntegerField(_("GPUs per node"), default=8)
    cpus = models.PositiveIntegerField(_("CPUs"), default=0)
    memory_gib = models.PositiveIntegerField(_("memory (GiB)"), default=0)
    network = models.CharField(_("training network"), max_length=4, default=Network.NONE, choices=Network)
    network_label = models.CharField(
        _("network label"), max_length=40, blank=True, help_text=_("for example RoCE 1*200G")
    )
    idle_nodes = models.JSONField(_("schedulable nodes by idle GPUs"), default=list, editable=False)
    node_count = models.PositiveIntegerField(_("nodes not retired"), default=0, editable=False)
    head_job = models.BigIntegerField(_("head of the queue"), null=True, editable=False)
    head_since = models.DateTimeField(_("head since"), null=True, editable=False)

    class Meta:
        verbose_name = _("node flavor")
        verbose_name_plural = _("node flavors")
        ordering = ["pool", "name"]
        constraints = [models.UniqueConstraint(fields=["pool", "name"], name="flavor_name_once")]

    def __str__(self) -> str:
        return self.name


class WorkerSpec(models.Model):
    """The share of a flavor that one Worker takes."""

    flavor = models.ForeignKey(Flavor, models.CASCADE, related_name="specs", verbose_name=_("node flavor"))
    name = models.CharField(_("name"), max_length=80)
    gpus = models.PositiveSmallIntegerField(_("GPUs"), choices=[(n, str(n)) for n in (1, 2, 4, 8)])
    cpus = models.PositiveIntegerField(_("CPUs"), default=0)
    memory_gib = models.PositiveIntegerField(_("memory (GiB)"), default=0)
    shm_gib = models.PositiveIntegerField(_("shared memory (GiB)"), default=1)
    retired_at = models.DateTimeField(_("retired"), null=True, blank=True)

    class Meta:
        verbose_name = _("Worker spec")
        verbose_name_plural = _("Worker specs")
        ordering = ["flavor", "gpus"]
        constraints = [models.UniqueConstraint(fields=["flavor", "name"], name="spec_name_once")]

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    """One machine. `idle` and `schedulable` follow from holds and state; services keep them."""

    flavor = models.ForeignKey(Flavor, models.PROTECT, related_name="nodes", verbose_name=_("node flavor"))
    name = models.CharField(_("name"), max_length=80)
    state = models.CharField(_("state"), max_length=10, default=NodeState.READY, choices=NodeState)
    schedulable = models.BooleanField(_("schedulable"), default=True, editable=False)
    idle = models.PositiveSmallIntegerField(_("idle GPUs"), default=0, editable=False)
    prepaid_until = models.DateField(_("prepaid until"), null=True, blank=True)

    objects = NodeQuerySet.as_manager()

    class Meta:
        verbose_name = _("resource node")
        verbose_name_plural = _("resource nodes")
        ordering = ["flavor", "name"]
        constraints = [models.UniqueConstraint(fields=["flavor", "name"], name="node_name_once")]
        indexes = [models.Index(fields=["flavor", "schedulable", "idle", "name"], name="node_landing")]

    def __str__(self) -> str:
        return self.name


class Hold(models.Model):
    """One GPU of one node held by one Worker; the row exists exactly while it is held."""

    node = models.ForeignKey(Node, models.PROTECT, related_name="holds", verbose_name=_("node"))
    gpu = models.PositiveSmallIntegerField(_("GPU"))
    worker_id = models.BigIntegerField(_("Worker"), db_index=True)

    class Meta:
        verbose_name = _("hold")
        verbose_name_plural = _("holds")
        constraints = [models.UniqueConstraint(fields=["node", "gpu"], name="gpu_held_once")]

    def __str__(self) -> str:
        return f"{self.node_id}/{self.gpu}"
