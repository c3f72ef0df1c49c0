"""What runs beside jobs: checks of paths before a job is sent, and looks at where a job stands."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.translation import gettext_lazy as _

from jobs.models import Attempt
from runs.querysets import PathCheckQuerySet, StackCaptureQuerySet
from runs.states import OPEN, CheckState
from teams.models import Team

KEY_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789"
KEPT = timedelta(hours=1)
CHECK_STATES = {
    CheckState.PENDING: _("waiting"),
    CheckState.RUNNING: _("running"),
    CheckState.DONE: _("done"),
    CheckState.FAILED: _("failed"),
}


def new_check_key() -> str:
    return "pc-" + get_random_string(16, KEY_SIGNS)


def kept_until() -> datetime:
    return timezone.now() + KEPT


class PathCheck(models.Model):
    """A look at paths from inside a Worker without GPUs. `asked` and `frozen` never change: the paths and
    scripts, and image and mounts as they were. What the engine keeps of it goes before the row does."""

    key = models.CharField(_("id"), max_length=19, unique=True, default=new_check_key)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("user"),
    )
    team = models.ForeignKey(Team, models.SET_NULL, null=True, related_name="+", verbose_name=_("team"))
    engine = models.CharField(_("engine"), max_length=20)
    frozen = models.JSONField(_("frozen facts"))
    asked = models.JSONField(_("request"))
    state = models.CharField(_("state"), max_length=10, default=CheckState.PENDING, choices=CHECK_STATES)
    reason = models.JSONField(_("reason"), null=True)
    result = models.JSONField(_("result"), null=True)
    settled = models.BooleanField(_("nothing of it runs"), default=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    started_at = models.DateTimeField(_("started"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    kept_until = models.DateTimeField(_("kept until"), default=kept_until)

    objects = PathCheckQuerySet.as_manager()

    class Meta:
        verbose_name = _("path check")
        verbose_name_plural = _("path checks")
        ordering = ["-id"]
        indexes = [  # for `due`, which is asked each second
            models.Index(fields=["id"], condition=Q(settled=False), name="path_check_unsettled"),
            models.Index(fields=["kept_until"], name="path_check_kept_until"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def finished(self) -> bool:
        return self.state not in OPEN


class StackCapture(models.Model):
    """Where the Python processes of an attempt, or of its Worker `rank`, were at one moment. `result` is what
    the engine told, as JSON; a worker of the engines' queue has `claimed_at` set while it asks for that."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="captures", verbose_name=_("attempt"))
    rank = models.PositiveIntegerField(_("rank"), null=True)
    automatic = models.BooleanField(_("automatic"), default=False)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("asked by")
    )
    state = models.CharField(_("state"), max_length=10, default=CheckState.PENDING, choices=CHECK_STATES)
    reason = models.JSONField(_("reason"), null=True)
    result = models.JSONField(_("result"), null=True)
    at = models.DateTimeField(_("asked"), default=timezone.now)
    claimed_at = models.DateTimeField(_("begun"), null=True)
    taken_at = models.DateTimeField(_("taken"), null=True)

    objects = StackCaptureQuerySet.as_manager()

    class Meta:
        verbose_name = _("stack capture")
        verbose_name_plural = _("stack captures")
        ordering = ["-id"]
        indexes = [  # for `due`, which is asked each second
            models.Index(fields=["id"], condition=Q(state=CheckState.PENDING), name="stack_capture_pending")
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def finished(self) -> bool:
        return self.state not in OPEN
