"""Images, the services they are offered for, and the zones they lie in."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from images.querysets import ImageQuerySet
from pools.models import Zone
from teams.models import Team

SERVICES = [("job", _("jobs")), ("dev_machine", _("dev machines")), ("inference", _("inference"))]


def default_services() -> list[str]:
    return ["job"]


class Image(models.Model):
    """Preset where it has no team, else custom. The reference `host` lends this machine's system."""

    reference = models.CharField(_("reference"), max_length=300)
    team = models.ForeignKey(
        Team, models.PROTECT, null=True, blank=True, related_name="images", verbose_name=_("team")
    )
    services = models.JSONField(_("available services"), default=default_services)
    zones = models.ManyToManyField(Zone, related_name="images", verbose_name=_("availability zones"))
    digest = models.CharField(_("digest"), max_length=80, blank=True)
    retired_at = models.DateTimeField(_("retired"), null=True, blank=True)

    objects = ImageQuerySet.as_manager()

    class Meta:
        verbose_name = _("image")
        verbose_name_plural = _("images")
        ordering = ["reference"]
        constraints = [
            models.UniqueConstraint(fields=["reference", "team"], name="custom_image_once"),
            models.UniqueConstraint(
                fields=["reference"], condition=models.Q(team=None), name="preset_image_once"
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def kind(self) -> str:
        return "custom" if self.team_id else "preset"
