"""Admin pages of file systems and volumes."""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from pools.admin import warn_if_missing
from pools.forms import folder_validate
from storage.models import FileSystem, Volume, VolumeGrant
from storage.services import volume_overlapping
from teams.admin import KeepsReferred, Retirable, RetiredFilter


class VolumeForm(forms.ModelForm):
    class Meta:
        model = Volume
        fields = ["file_system", "name", "path", "default_mount_path"]

    def clean_path(self) -> str:
        path = folder_validate(self.cleaned_data["path"])
        other = volume_overlapping(path=path, apart_from=self.instance.pk)
        if other is not None:
            raise ValidationError(
                _(
                    "The folder and that of the volume %(other)s lie within each other: "
                    "jobs on one could plant links for the other."
                ),
                "overlap",
                {"other": other.name},
            )
        return path

    def clean_default_mount_path(self) -> str:
        """Whether jobs may mount there is judged with each job; here it only has to be a path."""
        path: str = self.cleaned_data["default_mount_path"]
        if not path.startswith("/") or ".." in path.split("/"):
            raise ValidationError(_("Give an absolute path without “..”."), "not_absolute")
        return path


class VolumeInline(admin.TabularInline):
    model = Volume
    fields = readonly_fields = ("name", "path", "default_mount_path", "retired_at")
    extra = 0
    show_change_link = True
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(FileSystem)
class FileSystemAdmin(KeepsReferred):
    instead = _("Retire its volumes instead.")
    list_display = ["name", "zone"]
    list_filter = ["zone"]
    list_select_related = ["zone"]
    search_fields = ["name"]
    autocomplete_fields = ["zone"]

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        return [VolumeInline] if obj else []


class VolumeGrantInline(admin.TabularInline):
    model = VolumeGrant
    extra = 0
    autocomplete_fields = ["team"]


@admin.register(Volume)
class VolumeAdmin(Retirable):
    form = VolumeForm
    list_display = ["name", "file_system", "zone", "path", "default_mount_path", "retired_at"]
    list_filter = ["file_system__zone", "file_system", RetiredFilter]
    list_select_related = ["file_system__zone"]
    search_fields = ["name", "path", "file_system__name"]
    autocomplete_fields = ["file_system"]
    fields = ["file_system", "name", "path", "default_mount_path", "retired_at"]
    inlines = [VolumeGrantInline]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: jobs keep the folder that they mount, so a volume is retired."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "path" in form.changed_data:
            warn_if_missing(self, request, obj.path)

    @admin.display(description=_("availability zone"), ordering="file_system__zone__name")
    def zone(self, volume: Any) -> str:
        return str(volume.file_system.zone)
