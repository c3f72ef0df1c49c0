"""File systems, their volumes, and which team may mount them."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models import Zone
from storage.querysets import VolumeGrantQuerySet, VolumeQuerySet
from teams.models import Team


class FileSystem(models.Model):
    name = models.CharField(_("name"), max_length=80, unique=True)
    zone = models.ForeignKey(
        Zone, models.PROTECT, related_name="file_systems", verbose_name=_("availability zone")
    )

    class Meta:
        verbose_name = _("file system")
        verbose_name_plural = _("file systems")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Volume(models.Model):
    """A folder of a file system that jobs mount."""

    file_system = models.ForeignKey(
        FileSystem, models.PROTECT, related_name="volumes", verbose_name=_("file system")
    )
    name = models.CharField(_("name"), max_length=80)
    path = models.CharField(_("folder of the machine"), max_length=500)
    default_mount_path = models.CharField(_("suggested mount path"), max_length=500, default="/mnt/public")
    retired_at = models.DateTimeField(_("retired"), null=True, blank=True)

    objects = VolumeQuerySet.as_manager()

    class Meta:
        verbose_name = _("volume")
        verbose_name_plural = _("volumes")
        ordering = ["file_system", "name"]
        constraints = [models.UniqueConstraint(fields=["file_system", "name"], name="volume_name_once")]

    def __str__(self) -> str:
        return self.name


class VolumeGrant(models.Model):
    """A team may mount a volume."""

    volume = models.ForeignKey(Volume, models.CASCADE, related_name="grants", verbose_name=_("volume"))
    team = models.ForeignKey(Team, models.CASCADE, related_name="volume_grants", verbose_name=_("team"))
    read_only = models.BooleanField(_("read only"), default=False)
    suggested = models.BooleanField(
        _("suggested"), default=True, help_text=_("Pre-filled in the form of a new job.")
    )
    objects = VolumeGrantQuerySet.as_manager()

    class Meta:
        verbose_name = _("volume grant")
        verbose_name_plural = _("volume grants")
        constraints = [models.UniqueConstraint(fields=["volume", "team"], name="volume_grant_once")]

    def __str__(self) -> str:
        return f"{self.team} → {self.volume}"
