"""Jobs and what belongs to them. `Job.state` is written by `lifecycle.move` alone."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.crypto import get_random_string
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from alerts.models import Rule
from alerts.rules import Subject
from images.models import Image
from jobs.querysets import JobQuerySet
from jobs.queue import MOST_AVOIDED, WaitingClass, avoided_ids
from jobs.spec import AlertAsked, JobSpec
from jobs.states import LIVE, Framework, OriginKind, Priority, State
from pools.capacity import Shape
from pools.models import Flavor, Node, Pool, WorkerSpec
from teams.models import Team

LONGEST_AVOIDED = 20 * MOST_AVOIDED  # signs: a bigint has at most 19
KEY_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789"

STATE_LABELS = {
    State.QUEUED: _("queued"),
    State.DEPLOYING: _("deploying"),
    State.RUNNING: _("running"),
    State.SUCCEEDED: _("succeeded"),
    State.FAILED: _("failed"),
    State.STOPPED: _("stopped"),
}

ORIGIN_LABELS = {
    OriginKind.RERUN: pgettext_lazy("made as", "rerun"),
    OriginKind.MODIFIED: pgettext_lazy("made as", "modified rerun"),
    OriginKind.CLONE: pgettext_lazy("made as", "clone"),
    OriginKind.REPLACEMENT: pgettext_lazy("made as", "stopped and modified"),
}


def new_key() -> str:
    return "jo-" + get_random_string(16, KEY_SIGNS)


class Job(models.Model):
    """A request and where it stands. `request` and `frozen` never change: they are what was asked, and
    what everything it named was at that moment."""

    DRAFT_SIGNS = 36  # of the token of a form

    key = models.CharField(_("id"), max_length=19, unique=True, default=new_key)
    team = models.ForeignKey(Team, models.PROTECT, related_name="jobs", verbose_name=_("team"))
    creator = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="jobs", verbose_name=_("creator")
    )
    pool = models.ForeignKey(Pool, models.PROTECT, related_name="jobs", verbose_name=_("resource pool"))
    flavor = models.ForeignKey(Flavor, models.PROTECT, related_name="jobs", verbose_name=_("node flavor"))
    spec = models.ForeignKey(
        WorkerSpec, models.PROTECT, null=True, blank=True, related_name="jobs", verbose_name=_("Worker spec")
    )
    image = models.ForeignKey(Image, models.PROTECT, related_name="jobs", verbose_name=_("image"))
    name = models.CharField(_("job name"), max_length=128)
    description = models.CharField(_("description"), max_length=2000, blank=True)
    framework = models.CharField(_("framework"), max_length=20, default=Framework.SINGLE)
    request = models.JSONField(_("request"))
    frozen = models.JSONField(_("frozen facts"))
    findings = models.JSONField(_("check results"), default=list)

    priority = models.PositiveSmallIntegerField(
        _("priority"),
        default=Priority.NORMAL,
        choices=[(Priority.HIGH, _("high")), (Priority.NORMAL, _("normal")), (Priority.LOW, _("low"))],
    )
    worker_gpus = models.PositiveSmallIntegerField(_("GPUs of a full Worker"))
    total_gpus = models.PositiveIntegerField(_("total GPUs"))
    # Ids of nodes on which it met a fault, as `jobs.queue.avoided_text` writes them.
    avoided = models.CharField(
        _("avoided nodes"), max_length=LONGEST_AVOIDED, blank=True, default="", db_default=""
    )

    state = models.CharField(_("state"), max_length=10, default=State.QUEUED, choices=STATE_LABELS)
    deploy_step = models.CharField(_("deploy step"), max_length=12, blank=True)
    reason = models.JSONField(_("reason"), null=True)
    eligible_at = models.DateTimeField(_("eligible from"))
    stop_requested_at = models.DateTimeField(_("stop requested"), null=True)
    stop_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("stopped by")
    )
    attempt = models.PositiveIntegerField(_("attempt"), default=0)
    # What the ticks need of the request, which is large; None is no limit, and no hang detection.
    max_runtime_seconds = models.PositiveIntegerField(_("maximum running time (s)"), null=True)
    max_queue_seconds = models.PositiveIntegerField(_("maximum waiting time (s)"), null=True)
    queue_until = models.DateTimeField(_("waits until"), null=True)  # set while it waits
    max_restarts = models.PositiveSmallIntegerField(_("restarts at most"), default=0)
    restarts = models.PositiveSmallIntegerField(_("restarts"), default=0)
    platform_restarts = models.PositiveSmallIntegerField(
        _("restarts after platform faults"), default=0, db_default=0
    )
    hang_seconds = models.PositiveIntegerField(_("silence of a hang (s)"), null=True)
    hang_action = models.CharField(_("when it hangs"), max_length=8, blank=True)
    env_check = models.BooleanField(_("environment check"), default=False, db_default=False)
    exit_code = models.PositiveSmallIntegerField(_("exit code"), null=True)
    draft = models.CharField(_("tried form"), max_length=DRAFT_SIGNS, blank=True)  # set for trial runs
    origin = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="copies", verbose_name=_("made from")
    )
    origin_kind = models.CharField(
        _("made as"), max_length=12, blank=True, default="", db_default="", choices=ORIGIN_LABELS
    )
    created_at = models.DateTimeField(_("created"))
    started_at = models.DateTimeField(_("started"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["flavor", "priority", "team", "worker_gpus", "total_gpus", "avoided", "id"],
                condition=Q(state=State.QUEUED),
                name="job_waiting",
            ),
            models.Index(
                fields=["pool", "priority", "id"], condition=Q(state=State.QUEUED), name="job_place"
            ),
            models.Index(fields=["state", "id"], condition=Q(state__in=sorted(LIVE)), name="job_live"),
            models.Index(fields=["team", "-id"], name="job_of_team"),
            models.Index(
                fields=["queue_until"], condition=Q(queue_until__isnull=False), name="job_queue_until"
            ),
            models.Index(
                fields=[
                    *("flavor", "priority", "team", "worker_gpus", "total_gpus", "avoided", "eligible_at")
                ],
                condition=Q(state=State.QUEUED),
                name="job_eligible",
            ),
            models.Index(fields=["creator", "draft", "-id"], condition=~Q(draft=""), name="job_trials"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["creator", "draft"],
                condition=Q(state__in=sorted(LIVE)) & ~Q(draft=""),
                name="one_live_trial",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @cached_property
    def spec_asked(self) -> JobSpec:
        """The request as it was sent; what came later into requests has its default."""
        return JobSpec.from_json(self.request)

    @property
    def spec_to_repeat(self) -> JobSpec:
        """The request, with priority, description, tags and alerts of today: they may have been edited."""
        asked, rows = self.spec_asked, sorted(self.tags.all(), key=lambda tag: tag.pk)
        alerts = self.alerts
        tags = tuple(tag.name for tag in rows)
        unedited = tags == tuple(dict.fromkeys(asked.tags))  # a request may name one twice
        return replace(
            asked,
            priority=Priority(self.priority).label_code,
            description=self.description,
            tags=asked.tags if unedited else tags,
            alerts=alerts or (None if asked.alerts is None else ()),
        )

    @property
    def alerts(self) -> tuple[AlertAsked, ...]:
        """Which channels are told of what of this job, whosever they are."""
        rules = Rule.objects.filter(subject=Subject.JOB, subject_id=self.pk).order_by("pk")
        return tuple(AlertAsked(tuple(rule.events), rule.channel_id, rule.minutes) for rule in rules)

    @property
    def shape(self) -> Shape:
        return Shape(self.worker_gpus, self.total_gpus)

    @property
    def waiting_class(self) -> WaitingClass:
        """The class of jobs that the queue cannot tell from this one, with this one alone in it."""
        avoided = avoided_ids(self.avoided)
        return WaitingClass(
            self.flavor_id, self.priority, self.team_id, self.shape, (self.pk,), avoided=avoided
        )

    @property
    def finished(self) -> bool:
        return self.state not in LIVE

    @property
    def stopping(self) -> bool:
        return self.stop_requested_at is not None and not self.finished


class JobTag(models.Model):
    job = models.ForeignKey(Job, models.CASCADE, related_name="tags", verbose_name=_("job"))
    name = models.CharField(_("tag"), max_length=63)

    class Meta:
        verbose_name = _("tag")
        verbose_name_plural = _("tags")
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="tag_once")]
        indexes = [models.Index(fields=["name", "job"], name="tag_jobs")]

    def __str__(self) -> str:
        return self.name


class PrivateValue(models.Model):
    """The encrypted value of a private variable, and whose it is."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="private_values", verbose_name=_("job"))
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("owner")
    )
    name = models.CharField(_("name"), max_length=255)
    ciphertext = models.BinaryField(_("encrypted value"))

    class Meta:
        verbose_name = _("private value")
        verbose_name_plural = _("private values")
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="private_value_once")]

    def __str__(self) -> str:
        return self.name


class Attempt(models.Model):
    """One run of a job. `port` is unique among the attempts that have not ended."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="attempts", verbose_name=_("job"))
    number = models.PositiveIntegerField(_("number"))
    port = models.PositiveIntegerField(_("port"), null=True)
    port_settled = models.BooleanField(_("port was probed"), default=False)
    placed_at = models.DateTimeField(_("placed"))
    started_at = models.DateTimeField(_("started"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    first_failure = models.JSONField(_("first failure"), null=True)
    deployment = models.JSONField(_("deploy steps"), null=True)  # as `runs.stages.Deployment` keeps it
    # The last output before a silence that was told of as suspect, and when such a one became a hang.
    suspected_at = models.DateTimeField(_("suspected to hang since"), null=True)
    hung_at = models.DateTimeField(_("hung since"), null=True)
    # Why the platform ends it, though the job did nothing: {"reason": …, "nodes": [ids]}, and since when.
    fault = models.JSONField(_("platform fault"), null=True)
    fault_at = models.DateTimeField(_("platform fault at"), null=True)
    # The engine was asked to keep what the Workers write on their own disk, and has not dropped it yet. After
    # a failure it can be read until `kept_until`; where that is null, it is dropped once the attempt ended.
    files_held = models.BooleanField(_("files are held"), default=False, db_default=False)
    kept_until = models.DateTimeField(_("files kept until"), null=True)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ["job", "number"]
        indexes = [
            # For what drops the files, which is asked each second.
            models.Index(fields=["id"], condition=Q(files_held=True), name="attempt_files_held"),
            models.Index(fields=["placed_at"], name="attempt_placed"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="attempt_once"),
            models.UniqueConstraint(fields=["port"], condition=Q(ended_at=None), name="port_once"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}/{self.number}"


class Worker(models.Model):
    """One rank of an attempt. It stays when the job has ended: history and GPU-hours come from here."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="workers", verbose_name=_("attempt"))
    rank = models.PositiveIntegerField(_("rank"))
    node = models.ForeignKey(Node, models.SET_NULL, null=True, related_name="workers", verbose_name=_("node"))
    node_name = models.CharField(_("node name"), max_length=80)
    gpus = models.JSONField(_("GPUs"))  # indices on the node
    env_check = models.JSONField(
        _("environment check"), null=True
    )  # `runs.env_check.values.report_of`, once it ended
    exit_code = models.PositiveSmallIntegerField(_("exit code"), null=True)
    signal = models.PositiveSmallIntegerField(_("signal"), null=True)
    started_at = models.DateTimeField(_("started"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)

    class Meta:
        verbose_name = _("Worker")
        verbose_name_plural = _("Workers")
        ordering = ["attempt", "rank"]
        constraints = [models.UniqueConstraint(fields=["attempt", "rank"], name="worker_once")]

    def __str__(self) -> str:
        return f"{self.attempt_id}/{self.rank}"


class JobEvent(models.Model):
    """History of a job: what happened, to be told in the reader's language."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="events", verbose_name=_("job"))
    at = models.DateTimeField(_("time"))
    code = models.CharField(_("code"), max_length=40)
    data = models.JSONField(_("data"), default=dict)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("by")
    )
    # Until its notice was written: the events that are told of are the outbox of alerts.
    to_tell = models.BooleanField(_("to be told of"), default=False, db_default=False)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["id"]
        indexes = [models.Index(fields=["id"], condition=Q(to_tell=True), name="event_to_tell")]

    def __str__(self) -> str:
        return self.code


class WaitingTotal(models.Model):
    """How many jobs of one class wait in a pool; kept with every move in and out of the queue."""

    pool = models.ForeignKey(Pool, models.CASCADE, related_name="waiting", verbose_name=_("resource pool"))
    flavor = models.ForeignKey(Flavor, models.CASCADE, related_name="+", verbose_name=_("node flavor"))
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", verbose_name=_("team"))
    priority = models.PositiveSmallIntegerField(_("priority"))
    worker_gpus = models.PositiveSmallIntegerField(_("GPUs of a full Worker"))
    total_gpus = models.PositiveIntegerField(_("total GPUs"))
    avoided = models.CharField(
        _("avoided nodes"), max_length=LONGEST_AVOIDED, blank=True, default="", db_default=""
    )
    jobs = models.IntegerField(_("jobs"), default=0)

    class Meta:
        verbose_name = _("waiting total")
        verbose_name_plural = _("waiting totals")
        constraints = [
            models.UniqueConstraint(
                fields=["flavor", "priority", "team", "worker_gpus", "total_gpus", "avoided"],
                name="waiting_class_once",
            ),
            models.CheckConstraint(condition=Q(jobs__gte=0), name="waiting_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.jobs} × {self.total_gpus} GPUs"

    @property
    def shape(self) -> Shape:
        return Shape(self.worker_gpus, self.total_gpus)


class IdempotencyKey(models.Model):
    """The first answer to a creating call, given again to a repetition within a day."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    path = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    body_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)  # None while the first call is under way
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = _("idempotency key")
        verbose_name_plural = _("idempotency keys")
        constraints = [models.UniqueConstraint(fields=["user", "path", "key"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return self.key
