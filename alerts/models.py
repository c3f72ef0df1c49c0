"""Channels, the rules that lead to them, what there was to tell, and each delivery of it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from alerts.querysets import ChannelQuerySet, DeliveryQuerySet, NoticeQuerySet
from alerts.rules import Kind, State, Subject
from teams.models import Team

KIND_LABELS = {
    Kind.EMAIL: _("E-mail"),
    Kind.WEBHOOK: _("Webhook"),
    Kind.FEISHU: _("Feishu / Lark"),
    Kind.DINGTALK: _("DingTalk"),
    Kind.WECOM: _("WeCom"),
    Kind.SLACK: "Slack",
    Kind.TEAMS: "Microsoft Teams",
    Kind.APPRISE: "Apprise",
}
STATE_LABELS = {
    State.WAITING: pgettext_lazy("delivery", "waiting"),
    State.SENT: pgettext_lazy("delivery", "sent"),
    State.REFUSED: pgettext_lazy("delivery", "refused"),
    State.GIVEN_UP: pgettext_lazy("delivery", "given up"),
    State.DROPPED: pgettext_lazy("delivery", "dropped"),
}


class Channel(models.Model):
    """A way to reach somebody. It is its owner's, and with `team` every member of that may use it.

    Where it leads and its secret are kept encrypted and never shown again; `shown` is what may be seen.
    Whoever sends sets `busy_until` from the value that was seen to the end of a lease, and when done to that
    moment: one at a time sends to it, and who was served longest ago is served next.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="channels", verbose_name=_("owner")
    )
    team = models.ForeignKey(
        Team, models.CASCADE, null=True, blank=True, related_name="channels", verbose_name=_("shared with")
    )
    name = models.CharField(_("name"), max_length=80)
    kind = models.CharField(_("kind"), max_length=10, choices=KIND_LABELS)
    target = models.BinaryField(_("encrypted address"))
    secret = models.BinaryField(_("encrypted secret"), null=True)
    shown = models.CharField(_("address"), max_length=200)
    language = models.CharField(_("language"), max_length=10, blank=True)  # empty: as its owner chose
    with_log = models.BooleanField(_("with the last lines of output"), default=True)
    refusals = models.PositiveSmallIntegerField(_("permanent errors in a row"), default=0)
    disabled_at = models.DateTimeField(_("disabled"), null=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    busy_until = models.DateTimeField(_("sends until"), null=True)

    objects = ChannelQuerySet.as_manager()

    class Meta:
        verbose_name = _("alert channel")
        verbose_name_plural = _("alert channels")
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="channel_name_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def speaks(self) -> str:
        """The code of the language of what it sends."""
        return str(self.language or self.owner.language or settings.LANGUAGE_CODE)


class Rule(models.Model):
    """Tells a channel of events of a subject. Without `subject_id`: of all pools.

    A timed rule is looked at when it is due, and says itself when that is next. `author` is who asked for it
    of a job; what is a person's own, or the admins', needs none.
    """

    channel = models.ForeignKey(
        Channel, models.CASCADE, related_name="rules", verbose_name=_("alert channel")
    )
    subject = models.CharField(_("subject"), max_length=8, choices=[(s, s) for s in Subject])
    subject_id = models.BigIntegerField(_("id of the subject"), null=True)
    events = models.JSONField(_("events"))
    minutes = models.PositiveIntegerField(_("minutes"), null=True)
    look_at = models.DateTimeField(_("looked at next"), null=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("asked for by")
    )

    class Meta:
        verbose_name = _("alert rule")
        verbose_name_plural = _("alert rules")
        ordering = ["id"]
        indexes = [
            models.Index(fields=["subject", "subject_id"], name="rule_subject"),
            models.Index(fields=["look_at"], condition=Q(look_at__isnull=False), name="rule_look"),
        ]

    def __str__(self) -> str:
        return ", ".join(self.events)


class Notice(models.Model):
    """Something there was to tell, once: `key` says of which event. `data` is what its subject's app needs to
    put it into words, as it was then."""

    key = models.CharField(_("key"), max_length=120, unique=True)
    codes = models.JSONField(_("events"))  # the first names it; the others hold of it too
    subject = models.CharField(_("subject"), max_length=8, choices=[(s, s) for s in Subject])
    subject_id = models.BigIntegerField(_("id of the subject"))
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="+", verbose_name=_("team"))
    at = models.DateTimeField(_("time"))
    data = models.JSONField(_("data"), default=dict)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        verbose_name = _("notice")
        verbose_name_plural = _("notices")
        ordering = ["-id"]
        indexes = [models.Index(fields=["subject", "subject_id", "-id"], name="notice_subject")]

    def __str__(self) -> str:
        return self.key

    @property
    def code(self) -> str:
        return str(self.codes[0])


class Reading(models.Model):
    """A notice in the list behind somebody's bell, and when they have seen it."""

    notice = models.ForeignKey(Notice, models.CASCADE, related_name="readings", verbose_name=_("notice"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="readings", verbose_name=_("user")
    )
    read_at = models.DateTimeField(_("read"), null=True)

    class Meta:
        verbose_name = _("notice of a person")
        verbose_name_plural = _("notices of persons")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["notice", "user"], name="reading_once")]
        indexes = [
            models.Index(fields=["user", "-id"], name="reading_list"),
            models.Index(fields=["user", "-id"], condition=Q(read_at=None), name="reading_new"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}/{self.notice_id}"


class Delivery(models.Model):
    """A notice on its way to a channel. Who sets `due_at` from the value that was seen to the end of a lease
    has it to send; whoever dies meanwhile has lost it when the lease ends."""

    notice = models.ForeignKey(Notice, models.CASCADE, related_name="deliveries", verbose_name=_("notice"))
    channel = models.ForeignKey(
        Channel, models.SET_NULL, null=True, related_name="deliveries", verbose_name=_("alert channel")
    )
    channel_name = models.CharField(_("name of the channel"), max_length=80)
    kind = models.CharField(_("kind"), max_length=10, choices=KIND_LABELS)
    state = models.CharField(_("state"), max_length=8, default=State.WAITING, choices=STATE_LABELS)
    tries = models.PositiveSmallIntegerField(_("tries"), default=0)
    due_at = models.DateTimeField(_("due"), null=True)
    error = models.JSONField(_("error"), null=True)  # {"code": …, "data": …} of the last try
    ended_at = models.DateTimeField(_("ended"), null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["notice", "channel"], name="delivery_once")]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state=State.WAITING), name="delivery_due"),
            models.Index(fields=["channel", "-id"], name="delivery_channel"),
            models.Index(fields=["id"], condition=Q(state=State.WAITING, channel=None), name="delivery_lost"),
        ]

    def __str__(self) -> str:
        return f"{self.notice_id}/{self.channel_name}"


class Mark(models.Model):
    """A moment kept under a name: when something was done last, or since when something is so."""

    key = models.CharField(_("key"), max_length=120, unique=True)
    at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("mark")
        verbose_name_plural = _("marks")

    def __str__(self) -> str:
        return self.key
