"""The choice of an image: what the team ran in each lately, and why others are not offered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from images.models import Image
from jobs.facts import PoolFacts
from jobs.forms.offer import Offer
from jobs.models import Job
from jobs.states import State
from pools.models import Zone
from teams.models import User
from teams.services import admin_names

LATEST_JOBS = 1000  # of the team, in which the uses of an image are looked for
MOST_NAMED = 50  # of the images that are not offered
SIGNS_OF_DIGEST = 12
NOT_FOR_JOBS, OTHER_ZONE, NOT_RUNNABLE, RETIRED = "not_for_jobs", "other_zone", "not_runnable", "retired"
REASONS = (NOT_FOR_JOBS, OTHER_ZONE, NOT_RUNNABLE, RETIRED)


@dataclass(frozen=True, slots=True)
class Use:
    """When the team last asked for an image, and its last job with it that succeeded (a key, or empty)."""

    used_at: datetime
    job: str = ""
    succeeded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image that is offered, as it is shown."""

    image: Image
    use: Use | None

    @property
    def digest(self) -> str:
        """As much of it as tells two apart."""
        method, _colon, value = self.image.digest.partition(":")
        return f"{method}:{value[:SIGNS_OF_DIGEST]}" if value else self.image.digest[:SIGNS_OF_DIGEST]

    @property
    def said(self) -> str:
        """When it was last used, and when a job in it last succeeded."""
        if self.use is None:
            return ""
        if self.use.succeeded_at is None:
            return _("last used %(length)s ago, not succeeded yet") % {"length": _since(self.use.used_at)}
        length = _since(self.use.succeeded_at)
        return _("last succeeded: %(job)s, %(length)s ago") % {"job": self.use.job, "length": length}

    @property
    def place(self) -> tuple[Any, ...]:
        """Those that succeeded come first, the latest of them before others; then those that were used."""
        use = self.use
        succeeded = use.succeeded_at.timestamp() if use and use.succeeded_at else 0.0
        return -succeeded, -use.used_at.timestamp() if use else 0.0, self.image.reference


@dataclass(frozen=True, slots=True)
class HiddenImage:
    """An image of the team that is not offered; `reason` is one of REASONS, `address` where more is told."""

    id: int
    reference: str
    reason: str
    zones: Sequence[str]
    address: str

    @property
    def label(self) -> str:
        return {
            NOT_FOR_JOBS: _("not offered for jobs"),
            OTHER_ZONE: _("lies in other zones"),
            NOT_RUNNABLE: _("cannot run in this pool"),
            RETIRED: _("retired"),
        }[self.reason]


class ImageChoice:
    """Everything is read when it is first looked at: an update of the numbers shows nothing of it."""

    def __init__(self, user: User, offer: Offer) -> None:
        self._user, self._offer = user, offer

    @cached_property
    def rows(self) -> list[ImageRow]:
        images = self._offer.images
        uses = _uses(self._offer.team) if images and self._offer.team else {}
        return sorted((ImageRow(image, uses.get(image.pk)) for image in images), key=lambda row: row.place)

    @cached_property
    def attributes(self) -> dict[Any, dict[str, str]]:
        """Of the options of the select, by image."""
        return {row.image.pk: {"data-place": str(at), **_shown(row)} for at, row in enumerate(self.rows)}

    def groups(self) -> list[Any]:
        """The choices of the select."""
        found = [
            (label, [(row.image.pk, row.image.reference) for row in self.rows if row.image.kind == kind])
            for label, kind in ((_("Preset images"), "preset"), (_("Custom images"), "custom"))
        ]
        return [(label, choices) for label, choices in found if choices]

    @property
    def both_kinds(self) -> bool:
        return len({row.image.kind for row in self.rows}) > 1

    @cached_property
    def _not_offered(self) -> list[tuple[Image, str]]:
        offer = self._offer
        if not offer.team or not offer.pool:
            return []
        offered = {image.pk for image in offer.images}
        of_team = Image.objects.filter(Q(team=None) | Q(team=offer.team)).order_by("reference", "pk")
        others = [image for image in of_team if image.pk not in offered]
        return [(image, _reason(image, offer.pool)) for image in others]

    @property
    def counts(self) -> list[str]:
        """How many are not offered, a sentence for each reason."""
        found = Counter(reason for _image, reason in self._not_offered)
        return [_count(reason, found[reason]) for reason in REASONS if found[reason]]

    @cached_property
    def hidden(self) -> list[HiddenImage]:
        """The first of those that are not offered, by reason; see `more_hidden`."""
        first = sorted(self._not_offered, key=lambda pair: REASONS.index(pair[1]))[:MOST_NAMED]
        zones = _zones([image.pk for image, _reason in first])
        return [
            HiddenImage(
                image.pk, image.reference, reason, zones.get(image.pk, ()), self._address(image, reason)
            )
            for image, reason in first
        ]

    @property
    def more_hidden(self) -> int:
        return max(0, len(self._not_offered) - MOST_NAMED)

    @cached_property
    def may_edit(self) -> bool:
        return self._user.is_staff and self._user.has_perm("images.change_image")

    @cached_property
    def admins(self) -> list[str]:
        """Whom to ask."""
        return [] if self.may_edit else admin_names(user=self._user, team=self._offer.team)

    def _address(self, image: Image, reason: str) -> str:
        """Where it is changed, or shown; nowhere for a retired one, which the image centre leaves out."""
        if self.may_edit:
            return reverse("admin:images_image_change", args=[image.pk])
        found = urlencode({"search": image.reference})
        return "" if reason == RETIRED else f"{reverse('images')}?{found}"


class ImageSelect(forms.Select):
    """A select whose options carry what the search field of the page shows of them."""

    choice: ImageChoice

    def create_option(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(*args, **kwargs)
        option["attrs"] |= self.choice.attributes.get(option["value"], {})
        return option


def _uses(team_id: int) -> dict[int, Use]:
    """What the team's latest jobs ran in, by image, in one query."""
    jobs = Job.objects.filter(team=team_id).order_by("-pk")[:LATEST_JOBS]
    uses: dict[int, Use] = {}
    for image, *last in jobs.values_list("image", "key", "state", "created_at", "ended_at"):
        key, state, created_at, ended_at = last
        use = uses.setdefault(image, Use(created_at))
        later = state == State.SUCCEEDED and (use.succeeded_at is None or ended_at > use.succeeded_at)
        if later:
            uses[image] = Use(use.used_at, key, ended_at)
    return uses


def _zones(image_ids: Sequence[int]) -> dict[int, list[str]]:
    if not image_ids:
        return {}
    found: dict[int, list[str]] = {}
    rows = Zone.objects.filter(images__in=image_ids).order_by("name").values_list("images", "name")
    for image, name in rows:
        found.setdefault(image, []).append(name)
    return found


def _reason(image: Image, pool: PoolFacts) -> str:
    """Why it is not offered: first what nobody can mend in the image, then what would have to be mended."""
    if image.retired_at is not None:
        return RETIRED
    if not pool.runs(image.reference):
        return NOT_RUNNABLE
    return OTHER_ZONE if "job" in image.services else NOT_FOR_JOBS


def _count(reason: str, n: int) -> str:
    texts = {
        NOT_FOR_JOBS: ngettext("%(n)s is not offered for jobs.", "%(n)s are not offered for jobs.", n),
        OTHER_ZONE: ngettext("%(n)s lies in other zones.", "%(n)s lie in other zones.", n),
        NOT_RUNNABLE: ngettext("%(n)s cannot run in this pool.", "%(n)s cannot run in this pool.", n),
        RETIRED: ngettext("%(n)s is retired.", "%(n)s are retired.", n),
    }
    return texts[reason] % {"n": n}


def _since(at: datetime) -> str:
    """At least a minute: nobody cares for less."""
    return timesince(min(at, timezone.now() - timedelta(minutes=1)), depth=1)


def _shown(row: ImageRow) -> dict[str, str]:
    """What the search field knows of an image; a job is told with its address."""
    shown = {"data-kind": row.image.kind, "data-digest": row.digest, "data-whole-digest": row.image.digest}
    shown["data-said"] = row.said
    if row.use and row.use.job:
        shown |= {"data-job": row.use.job, "data-address": reverse("job", args=[row.use.job])}
    return {name: value for name, value in shown.items() if value}
