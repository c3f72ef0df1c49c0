"""The image centre: which images there are, and which of them jobs can use where."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from images.forms import ImageFilter
from images.models import SERVICES, Image
from pools.models import Pool, Zone
from teams.pages import chosen_team, fresh, signed_in
from teams.services import admin_names

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Row:
    """An image with the zones in which the person's jobs can use it; without any, `why_not` names the cause:
    `service` (not offered for jobs), `zone` (it lies where the person has no pool, or not in the one asked
    for) or `pool` (none of the pools there can run it)."""

    image: Image
    services: Sequence[str]
    zones: Sequence[str]
    usable: Sequence[str]
    why_not: str

    @property
    def digest(self) -> str:
        """As much of it as tells two apart."""
        method, _colon, value = self.image.digest.partition(":")
        return f"{method}:{value[:12]}" if value else self.image.digest[:12]


@fresh
@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    user, team = signed_in(request), chosen_team(request)
    visible = Image.objects.for_user(user, team).order_by().values("pk")
    mine: QuerySet[Image] = Image.objects.filter(pk__in=visible)
    pools = list(Pool.objects.for_user(user, team))
    pool_zones = {pool.zone_id for pool in pools}
    zones = list(Zone.objects.filter(Q(images__in=mine) | Q(pk__in=pool_zones)).distinct().order_by("name"))
    form = ImageFilter(request.GET, zones)
    chosen = form.chosen
    found = Paginator(_found(mine, chosen), PAGE_SIZE).get_page(request.GET.get("page"))
    in_question = [pool for pool in pools if chosen.get("zone", pool.zone_id) == pool.zone_id]
    context = {
        "form": form,
        "zone": next((zone for zone in zones if zone.pk == chosen.get("zone")), None),
        "page": found,
        "query": urlencode(chosen),
        "rows": [_row(image, in_question) for image in found],
        "elsewhere": _elsewhere(mine, chosen),
        "any": bool(found) or mine.exists(),
        "may_edit": user.has_perm("images.change_image") and user.is_staff,
        "admins": admin_names(user=user, team=team),
    }
    return render(request, "images/list.html", context)


def _found(images: QuerySet[Image], chosen: dict[str, Any]) -> list[Image]:
    """The service is looked for here, since SQLite cannot ask whether a JSON list contains a value."""
    if "zone" in chosen:
        images = images.filter(pk__in=Image.zones.through.objects.filter(zone=chosen["zone"]).values("image"))
    if "kind" in chosen:
        images = images.filter(team__isnull=chosen["kind"] == "preset")
    if "search" in chosen:
        word = chosen["search"]
        images = images.filter(Q(reference__icontains=word) | Q(digest__icontains=word))
    rows = images.select_related("team").prefetch_related("zones").order_by("reference", "pk")
    service = chosen.get("service")
    return [image for image in rows if service is None or service in image.services]


def _elsewhere(images: QuerySet[Image], chosen: dict[str, Any]) -> int:
    """How many images there are besides those of the zone asked for."""
    return images.exclude(zones=chosen["zone"]).count() if "zone" in chosen else 0


def _row(image: Image, in_question: Collection[Pool]) -> Row:
    zones = list(image.zones.all())
    for_jobs = "job" in image.services
    there = [pool for pool in in_question if pool.zone_id in {zone.pk for zone in zones}]
    running = {pool.zone_id for pool in there if pool.runs(image.reference)}
    usable = [zone.name for zone in zones if for_jobs and zone.pk in running]
    return Row(
        image=image,
        services=[str(label) for code, label in SERVICES if code in image.services],
        zones=[zone.name for zone in zones],
        usable=usable,
        why_not="" if usable else "service" if not for_jobs else "pool" if there else "zone",
    )
