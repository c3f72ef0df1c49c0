"""What follows from another team, pool or spec: only what cannot stay goes, and it comes back when it can."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.utils.datastructures import MultiValueDict

from jobs.findings import Change
from jobs.forms.alerts import AlertRow, AlertRows, row_values
from jobs.forms.job import JobForm
from jobs.forms.laid_aside import NAME, Aside, LaidAside
from jobs.forms.names import Names
from jobs.forms.offer import Offer, offer_read
from jobs.rules import flavor_of, rdma_allowed
from jobs.texts import following_text
from teams.models import User
from teams.pages import plain_id

Values = MultiValueDict[str, Any]
NOTED = (  # the fields that have a place for notes beside them
    *("team", "pool", "spec", "worker_count", "custom_gpus", "flavor", "rdma", "image", "framework"),
    "env_check",
    *("auto_restart", "max_restarts", "hang_detection", "hang_timeout_seconds", "hang_action"),
    *("command", "env_text", "env", "public_data", "mounts", "alerts", "name", "description", "tags"),
    *("priority", "start_policy", "max_queue_minutes", "max_runtime_minutes", "stop_grace_seconds"),
    "keep_after_failure_minutes",
)

OF_THE_TEAM = ("pool_gone", "pool_retired", "alert_gone")
SPEC_RETIRED = {"spec_carried": "spec_replaced", "spec_gone": "spec_retired"}


@dataclass(frozen=True, slots=True)
class Settled:
    """The form as it can be, what became different in it, and which of its parts are to be drawn anew."""

    form: JobForm
    changes: tuple[Change, ...] = ()
    team_changed: bool = False
    pool_changed: bool = False
    rdma_changed: bool = False

    @property
    def said(self) -> tuple[str, ...]:
        return tuple(following_text(change.code, change.data) for change in self.changes)

    @property
    def moved(self) -> bool:
        """Whether the page shows what another team or pool offers."""
        return self.team_changed or self.pool_changed

    @property
    def noted(self) -> list[str]:
        """The fields whose notes are drawn by themselves: those of parts that are drawn anew stand there."""
        drawn = {
            "team": self.team_changed or len(self.form.offer.teams) < 2,
            "pool": self.team_changed,
            "alerts": self.team_changed,
            "rdma": self.rdma_changed,
        } | dict.fromkeys(("spec", "flavor", "image", "public_data", "mounts"), self.moved)
        return [name for name in NOTED if not drawn.get(name)]

    @property
    def anything(self) -> bool:
        return self.moved or self.rdma_changed


def settle(user: User, data: MultiValueDict[str, Any]) -> Settled:
    """The form that was posted. Lists are read only if its team or pool are not those it was drawn for."""
    offer = offer_read(user, plain_id(data.get("team")), plain_id(data.get("pool")))
    team_changed = data.get("shown_team", "") != str(offer.team or "")
    pool_changed = data.get("shown_pool", "") != str(offer.pool.id if offer.pool else "")
    changes: tuple[Change, ...] = ()
    if team_changed or pool_changed:
        followed = Following(user, data, offer).run()
        data, offer, changes = followed.values, followed.offer, tuple(followed.told)
    form, rdma = rdma_settled(JobForm(user, data, offer))
    return Settled(form, changes + rdma, team_changed, pool_changed, rdma_changed=bool(rdma))


def rdma_settled(form: JobForm) -> tuple[JobForm, tuple[Change, ...]]:
    """Off where it is not allowed, and on again where it was before."""
    pool, spec = form.offer.pool, form.job_spec()
    aside = LaidAside(form.data.get(NAME, ""))
    allowed = pool is not None and rdma_allowed(spec, pool)
    was_on = allowed and bool(aside.take("rdma"))
    if pool is None or (not was_on and spec.rdma <= allowed):
        return form, ()
    data: Any = form.data
    values, changes = _copied(data), []
    if not allowed:
        del values["rdma"]
        aside.put(Aside("rdma", "on", ""))
        flavor = flavor_of(spec, pool)
        lacks_network = flavor is not None and not flavor.rdma_capable
        why = "rdma_needs_network" if lacks_network else "rdma_needs_full_workers"
        changes = [Change("rdma_went_off", {"why": why})]
    elif not spec.rdma:
        values["rdma"] = "on"
        changes = [Change("back", {"what": [("rdma", "")]})]
    values[NAME] = str(aside)
    return JobForm(form.user, values, form.offer), tuple(changes)


class Following:
    """One change, followed through the fields that depend on it."""

    def __init__(
        self, user: User, data: MultiValueDict[str, Any], offer: Offer, names: Names | None = None
    ) -> None:
        self.user, self.offer = user, offer
        self.values = _copied(data)
        self.names = names or Names(user)
        self.told: list[Change] = []
        self._aside = LaidAside(data.get(NAME, ""))
        self._back: list[Aside] = []
        self._gone: list[Aside] = []

    def run(self) -> Following:
        if self.offer.pool is None:
            self._pool()
        self._spec()
        self._single("flavor", [f.id for f in self.offer.flavors])
        self._single("image", [image.pk for image in self.offer.images])
        self._public_data()
        self._mounts()
        self._alerts()
        if self.offer.pool is None:
            self.told = [change for change in self.told if change.code in OF_THE_TEAM]
            self.told = self.told or ([Change("pool_missing")] if self._gone else [])
        if self._back:
            self.told.append(Change("back", {"what": [(one.field, one.name) for one in self._back]}))
        self.values[NAME] = str(self._aside)
        return self

    def _pool(self) -> None:
        """Another team may not use the pool."""
        posted = plain_id(self.values.get("pool"))
        offered = {numbers.pool.pk for numbers in self.offer.pools}
        if posted is not None:
            gone = self._lay(self.names.pool(posted))
            team = next((team.name for team in self.offer.teams if team.id == self.offer.team), "")
            code = "pool_retired" if self.names.retired(gone) else "pool_gone"
            self.told.append(Change(code, {"name": gone.name, "team": team}))
            self.values["pool"] = ""
        if kept := self._aside.take("pool", lambda value: plain_id(value) in offered):
            self._restore(kept[-1])
            self.offer = offer_read(self.user, self.offer.team, plain_id(kept[-1].value))

    def _spec(self) -> None:
        """That of the new pool with as many GPUs, if it is clear which that is."""
        cards = {card.spec.id: card.spec for card in self.offer.cards}
        posted = plain_id(self.values.get("spec"))
        kept = self._aside.take("spec", lambda value: plain_id(value) in cards)
        if posted in cards or (posted is None and not kept):
            return
        old = self._lay(self.names.spec(posted)) if posted is not None else None
        before = [one for one in kept if old is None or one.more == old.more]
        equal = [s for s in cards.values() if old is not None and str(s.gpus) == old.more]
        if before or (kept and len(equal) != 1):
            self._restore((before or kept)[-1])
        elif len(equal) == 1:
            self.values["spec"] = str(equal[0].id)
            self._tell_of_spec("spec_carried")
        else:
            self.values["spec"] = ""
            self._tell_of_spec("spec_gone")

    def _tell_of_spec(self, code: str) -> None:
        """Under a custom count nobody sees the spec."""
        if self.offer.pool is not None and not self.values.get("custom"):
            gone = self._gone[-1]
            if self.names.retired(gone):
                code = SPEC_RETIRED[code]
            data = {"pool": self.offer.pool.name, "name": gone.name, "gpus": int(gone.more or 0)}
            self.told.append(Change(code, data))

    def _single(self, field: str, offered: Collection[int]) -> None:
        """A choice of one: flavor or image."""
        posted = plain_id(self.values.get(field))
        kept = self._aside.take(field, lambda value: plain_id(value) in offered)
        if posted in offered or (posted is None and not kept):
            return
        if posted is not None:
            self._lay(self.names.one(field, posted))
        if kept:
            self._restore(kept[-1])
            return
        self.values[field] = ""
        if field == "image" or (self.values.get("custom") and len(offered) > 1):
            self._tell_gone(field, self._gone[-1])

    def _public_data(self) -> None:
        offered = self.offer.pool is not None and bool(self.offer.pool.public_data)
        kept = self._aside.take("public_data") if offered else []
        on = "public_data" in self.values
        if on and not offered:
            del self.values["public_data"]
            self._tell_gone("public_data", self._lay(Aside("public_data", "on", "")))
        elif kept and not on:
            self._restore(kept[-1])

    def _mounts(self) -> None:
        """Only rows of volumes that cannot be mounted go; where none is left, the suggested ones come."""
        offered = {grant.volume_id for grant in self.offer.volumes}
        lists = (self.values.getlist("mount_volume"), self.values.getlist("mount_path"))
        rows = [row for row in zip_longest(*lists, fillvalue="") if any(part.strip() for part in row)]
        stay = [row for row in rows if (pk := plain_id(row[0])) is None or pk in offered]
        kept = self._aside.take("mounts", lambda value: plain_id(value) in offered)
        gone = [row for row in rows if row not in stay]
        names = self.names.volumes([int(volume) for volume, _path in gone])
        for volume, path in gone:
            self._lay(Aside("mounts", volume, names[int(volume)], path))
        back = [one for one in kept if (one.value, one.more) not in stay]
        self._back += back
        rows = stay + [(one.value, one.more) for one in back]
        if gone and not back:
            self._tell_gone("mount", *self._gone[-len(gone) :])
            rows = rows or self._suggested()
        self.values.setlist("mount_volume", [volume for volume, _path in rows])
        self.values.setlist("mount_path", [path for _volume, path in rows])

    def _alerts(self) -> None:
        """Alerts to channels that the team's jobs may not use go, and come back with their team."""
        rows = AlertRows(self.values).rows
        named = [row for row in rows if plain_id(row.channel) is not None]
        if not named and not self._aside.holds("alerts"):
            return
        offered = {channel.id for channel in self.offer.channels}
        gone = [row for row in named if plain_id(row.channel) not in offered]
        back = self._aside.take("alerts", lambda value: plain_id(value) in offered)
        self._back += back
        rows = [row for row in rows if row not in gone] + [AlertRow.of(one.value, one.more) for one in back]
        names = self.names.channels([int(row.channel) for row in gone])
        for row in gone:
            one = self._lay(Aside("alerts", row.channel, names[int(row.channel)], row.said))
            self.told.append(Change("alert_gone", {"name": one.name}))
        for name, values in row_values(rows).items():
            self.values.setlist(name, values)

    def _suggested(self) -> list[tuple[str, str]]:
        grants = [grant for grant in self.offer.volumes if grant.suggested]
        rows = [(str(grant.volume_id), grant.volume.default_mount_path) for grant in grants]
        if rows:
            self.told.append(Change("mounts_suggested", {"paths": [path for _volume, path in rows]}))
        return rows

    def _lay(self, aside: Aside) -> Aside:
        self._aside.put(aside)
        self._gone.append(aside)
        return aside

    def _restore(self, aside: Aside) -> None:
        self.values[aside.field] = aside.value
        self._back.append(aside)

    def _tell_gone(self, what: str, *gone: Aside) -> None:
        pool, retired = self.offer.pool, self.names.retired(*gone)
        for one in gone:
            code = f"{what}_retired" if one in retired else f"{what}_gone"
            data = {"name": one.name, "path": one.more, "zone": pool.zone_name if pool else ""}
            self.told.append(Change(code, data | {"pool": pool.name if pool else ""}))


def _copied(data: MultiValueDict[str, Any]) -> Values:
    return MultiValueDict({name: list(values) for name, values in data.lists()})
