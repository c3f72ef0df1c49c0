"""Channels: made, changed, tried and deleted, and who may."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import get_language

from alerts.losing import loss_tell, rules_ended_by
from alerts.models import Channel, Delivery
from alerts.rules import SIGNED, TEST, Kind, State, Subject
from alerts.senders import kinds_offered, target_check
from alerts.services import NewNotice, notices_post
from teams.models import Membership, Team, User
from teams.roles import Role
from teams.vault import encrypt

MOST_CHANNELS = 50  # of a person
LONGEST_NAME = 80
LONGEST_SECRET = 500
LONGEST_SHOWN = 200
FREE = ("name", "team", "language", "with_log")  # what is seen of a channel and changed at will


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a channel is to be. `target` and `secret`: None leaves what is kept; an empty secret is none."""

    name: str
    kind: str
    target: str | None = dataclasses.field(default=None, repr=False)
    secret: str | None = dataclasses.field(default=None, repr=False)
    team: Team | None = None
    language: str = ""
    with_log: bool = True

    @classmethod
    def like(cls, channel: Channel, **changes: Any) -> Asked:
        """The channel as it is, but for the changes."""
        kept = cls(
            name=channel.name,
            kind=channel.kind,
            team=channel.team,
            language=channel.language,
            with_log=channel.with_log,
        )
        return replace(kept, **changes)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a field of what was asked for cannot be so."""

    field: str
    code: str
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class ChannelRefused(Exception):
    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__(refusals)
        self.refusals = tuple(refusals)


def may_change(*, user: User, channel: Channel, roles: Mapping[int, str]) -> bool:
    """Of a private one its owner; of a shared one the admins of its team, and its owner while a member.
    `roles` are those of the user, by team."""
    if channel.team_id is None:
        return channel.owner_id == user.pk
    role = roles.get(channel.team_id)
    return role == Role.ADMIN or (role is not None and channel.owner_id == user.pk)


def roles_of(user: User) -> dict[int, str]:
    """What the user is in each of their teams, by the team's id."""
    return dict(Membership.objects.filter(user=user).values_list("team", "role"))


def teams_to_share(user: User) -> list[Team]:
    """Those with which the user may share a channel."""
    return list(Team.objects.filter(memberships__user=user).order_by("name"))


def channel_create(*, owner: User, asked: Asked) -> Channel:
    """ChannelRefused. Looks up where it leads, so it is for outside of a transaction. If its owner leaves the
    language to the browser, it speaks the one that is active now: no browser is asked when it sends."""
    if not asked.language and not owner.language:
        asked = replace(asked, language=get_language() or "")
    _check(asked, owner, None)
    channel = Channel(owner=owner, kind=asked.kind)
    with transaction.atomic():
        _lock(owner.pk)
        if Channel.objects.filter(owner=owner).count() >= MOST_CHANNELS:
            raise ChannelRefused([Refusal("name", "too_many_channels", {"most": MOST_CHANNELS})])
        _fill(channel, asked)
        channel.save()
    return channel


def channel_change(*, channel: Channel, actor: User, asked: Asked) -> Channel:
    """ChannelRefused. The kind stays. A new address or secret gives a disabled channel another chance. The
    rules of those who may not use it any more end.

    Only what differs from `channel`, as the caller has read it, is written: what somebody else has changed
    since then stays.
    """
    _check(asked, actor, channel)
    wanted = {name: getattr(asked, name) for name in FREE if getattr(asked, name) != getattr(channel, name)}
    with transaction.atomic():
        _lock(channel.owner_id)
        now: Channel | None = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
        if now is None:
            raise ChannelRefused([Refusal("channel", "channel_deleted")])
        changed = replace(Asked.like(now, target=asked.target, secret=asked.secret), **wanted)
        ended = rules_ended_by(now, changed.team)
        loss_tell(channel=now, rules=ended, actor=actor, gone=False, at=timezone.now())
        ended.delete()
        _fill(now, changed)
        if asked.target is not None or asked.secret is not None:
            now.refusals, now.disabled_at = 0, None
        now.save()
    return now


def channel_delete(*, channel: Channel, actor: User) -> None:
    """Its rules go with it, and whose they are hears of that; what was on its way to it is dropped, and the
    record of deliveries stays."""
    with transaction.atomic():
        loss_tell(channel=channel, rules=channel.rules.all(), actor=actor, gone=True, at=timezone.now())
        Channel.objects.select_for_update().filter(pk=channel.pk).first()  # before its deliveries, as all do
        channel.delete()


def channel_test(*, channel: Channel, actor: User) -> Delivery:
    """Sends a notice by the way that all notices go, once, and answers its delivery; the one that is on its
    way already, if there is one. A disabled channel is enabled if it arrives."""
    with transaction.atomic():
        locked = Channel.objects.select_for_update().get(pk=channel.pk)
        tests = locked.deliveries.filter(notice__subject=Subject.CHANNEL, notice__subject_id=channel.pk)
        under_way: Delivery | None = tests.filter(notice__codes=[TEST], state=State.WAITING).first()
        if under_way is not None:
            return under_way
        key = f"{TEST}/{channel.pk}/{uuid4()}"
        notices_post([_test_notice(locked, actor, key)])
        return Delivery.objects.get(notice__key=key)


def _test_notice(channel: Channel, actor: User, key: str) -> NewNotice:
    return NewNotice(
        key=key,
        codes=(TEST,),
        subject=Subject.CHANNEL,
        subject_id=channel.pk,
        at=timezone.now(),
        data={"name": channel.name, "actor": actor.username},
        channels=(channel.pk,),
    )


def shown_target(kind: str, target: str) -> str:
    """What of an address may be seen: the whole of one for e-mail, of a URL scheme and host, as the rest of
    it often lets whoever knows it send. Of an Apprise URL the host may be a token too."""
    if kind == Kind.EMAIL:
        return target[:LONGEST_SHOWN]
    url = urlsplit(target)
    if kind == Kind.APPRISE:
        return f"{url.scheme}://…"[:LONGEST_SHOWN]
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"[:LONGEST_SHOWN]


def _lock(owner: int) -> None:
    """One at a time makes or renames channels of a person: names and number are counted under it."""
    User.objects.select_for_update(no_key=True).get(pk=owner)


def _check(asked: Asked, actor: User, channel: Channel | None) -> None:
    found = [*_plain(asked), *_where(asked, channel), *_sharing(asked, actor, channel)]
    if found:
        raise ChannelRefused(found)


def _plain(asked: Asked) -> list[Refusal]:
    found = []
    if not asked.name.strip():
        found.append(Refusal("name", "required"))
    elif len(asked.name) > LONGEST_NAME:
        found.append(Refusal("name", "too_long", {"most": LONGEST_NAME}))
    elif not asked.name.isprintable():
        found.append(Refusal("name", "not_printable"))
    if asked.language and asked.language not in dict(settings.LANGUAGES):
        found.append(Refusal("language", "unknown"))
    if asked.secret and asked.kind not in SIGNED:
        found.append(Refusal("secret", "no_secret"))
    elif asked.secret and len(asked.secret) > LONGEST_SECRET:
        found.append(Refusal("secret", "too_long", {"most": LONGEST_SECRET}))
    return found


def _where(asked: Asked, channel: Channel | None) -> list[Refusal]:
    if asked.kind not in {str(kind) for kind in Kind}:
        return [Refusal("kind", "unknown")]
    if asked.target is None and channel is not None:
        return []
    if not asked.target:
        return [Refusal("target", "required")]
    wrong = target_check(asked.kind, asked.target)
    wrong_field = "target" if asked.kind in kinds_offered() else "kind"
    return [Refusal(wrong_field, wrong.code, wrong.data)] if wrong else []


def _sharing(asked: Asked, actor: User, channel: Channel | None) -> list[Refusal]:
    """Only with a team of whoever shares it; it may stay where it is."""
    team = asked.team
    if team is None or (channel is not None and channel.team_id == team.pk):
        return []
    member = Membership.objects.filter(user=actor, team=team).exists()
    return [] if member else [Refusal("team", "unknown")]


def _fill(channel: Channel, asked: Asked) -> None:
    name = asked.name.strip()
    if Channel.objects.filter(owner=channel.owner_id, name=name).exclude(pk=channel.pk).exists():
        raise ChannelRefused([Refusal("name", "name_taken")])
    channel.name, channel.team = name, asked.team
    channel.language, channel.with_log = asked.language, asked.with_log
    if asked.target:
        channel.target, channel.shown = encrypt(asked.target), shown_target(asked.kind, asked.target)
    if asked.secret is not None:
        channel.secret = encrypt(asked.secret) if asked.secret else None
