"""The page of storage: what the person's teams may mount, where it appears, and how much room is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from pools.models import Pool, Zone
from storage.forms import VolumeFilter
from storage.models import VolumeGrant
from storage.space import Space, space_read
from storage.texts import size_text
from teams.models import Team, User
from teams.pages import chosen_team, fresh, signed_in
from teams.services import admin_names

PAGE_SIZE = 50
PUBLIC_DATA = "/infini-data/"


@dataclass(frozen=True, slots=True)
class Row:
    """A volume as one team may mount it. `space` is None where nobody could tell."""

    grant: VolumeGrant
    space: Space | None

    @property
    def free(self) -> str:
        return size_text(self.space.free) if self.space else ""

    @property
    def used(self) -> str:
        return size_text(self.space.used) if self.space else ""


@fresh
@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    user, team = signed_in(request), chosen_team(request)
    grants, public = VolumeGrant.objects.for_user(user, team), _public_zones(user, team)
    zones = Zone.objects.filter(
        Q(pk__in=grants.values("volume__file_system__zone")) | Q(pk__in=[zone.pk for zone in public])
    )
    form = VolumeFilter(request.GET, list(zones.order_by("name")))
    chosen = form.chosen
    found = Paginator(_found(grants, chosen), PAGE_SIZE).get_page(request.GET.get("page"))
    space = space_read(grant.volume.path for grant in found)
    context = {
        "form": form,
        "filtered": bool(chosen),
        "page": found,
        "query": urlencode(chosen),
        "rows": [Row(grant, space[grant.volume.path]) for grant in found],
        "public": _public_found(public, chosen),
        "public_data": PUBLIC_DATA,
        "may_edit": user.has_perm("storage.change_volume") and user.is_staff,
        "admins": admin_names(user=user, team=team),
    }
    return render(request, "storage/list.html", context)


def _public_zones(user: User, team: Team | None) -> list[Zone]:
    """Zones with public data in which the person has a pool: only there can a job see them."""
    pools = Pool.objects.for_user(user, team)
    zones = Zone.objects.filter(pk__in=pools.order_by().values("zone")).exclude(public_data="")
    return list(zones.order_by("name"))


def _found(grants: QuerySet[VolumeGrant], chosen: dict[str, Any]) -> QuerySet[VolumeGrant]:
    if "zone" in chosen:
        grants = grants.filter(volume__file_system__zone=chosen["zone"])
    if "search" in chosen:
        word = chosen["search"]
        grants = grants.filter(
            Q(volume__name__icontains=word)
            | Q(volume__file_system__name__icontains=word)
            | Q(volume__default_mount_path__icontains=word)
        )
    return grants.select_related("team", "volume__file_system__zone").order_by(
        "volume__file_system__name", "volume__name", "team__name", "pk"
    )


def _public_found(zones: Sequence[Zone], chosen: dict[str, Any]) -> list[Zone]:
    word = chosen.get("search", PUBLIC_DATA).casefold()
    return [zone for zone in zones if zone.pk == chosen.get("zone", zone.pk) and word in PUBLIC_DATA]
