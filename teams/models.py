"""Users, teams, who belongs to which, and the tokens of REST clients."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from teams.roles import Role

THEMES = [("light", _("light")), ("dark", _("dark"))]


class User(AbstractUser):
    """A person who signs in. Rights hang on memberships; `is_staff` opens the admin pages.

    `language` and `theme` are what the person chose; empty: as the browser and the system say.
    """

    language = models.CharField(_("language"), max_length=10, blank=True, default="")
    theme = models.CharField(_("theme"), max_length=5, blank=True, default="", choices=THEMES)


class Team(models.Model):
    name = models.CharField(_("name"), max_length=80, unique=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("team")
        verbose_name_plural = _("teams")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships", verbose_name=_("team"))
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships", verbose_name=_("user"))
    role = models.CharField(
        _("role"),
        max_length=10,
        default=Role.MEMBER,
        choices=[(Role.MEMBER, _("member")), (Role.ADMIN, _("team admin"))],
    )
    may_use_high_priority = models.BooleanField(_("may use high priority"), default=False)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} · {self.team}"


class ApiToken(models.Model):
    """A REST client's key. Only its SHA-256 is kept; a name is unique per person."""

    user = models.ForeignKey(User, models.CASCADE, related_name="api_tokens", verbose_name=_("user"))
    name = models.CharField(_("name"), max_length=80, default="default")
    digest = models.CharField(_("SHA-256"), max_length=64, unique=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    used_at = models.DateTimeField(_("last used"), null=True)
    expires_at = models.DateTimeField(_("expires"))

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="token_name_once")]

    def __str__(self) -> str:
        return f"{self.user} · {self.name}"
