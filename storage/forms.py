"""What the page of volumes is filtered by."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from pools.forms import ZoneFilter
from pools.models import Zone


class VolumeFilter(ZoneFilter):
    def __init__(self, data: QueryDict, zones: Sequence[Zone]) -> None:
        super().__init__(data, zones)
        self.fields["search"].label = _("Search volumes")
        self.fields["search"].widget.attrs["placeholder"] = _("Volume, file system or mount path")
