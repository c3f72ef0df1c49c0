"""REST: channels, what became of deliveries to them, and admins' rules on pools and the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, permissions, status
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.channels import (
    Asked,
    ChannelRefused,
    Refusal,
    channel_change,
    channel_create,
    channel_delete,
    channel_test,
    may_change,
    roles_of,
    teams_to_share,
)
from alerts.models import Channel, Delivery, Rule
from alerts.reading import channels_read
from alerts.repeating import delivery_repeat
from alerts.rules import Kind, Subject
from alerts.serializers import (
    ChannelChangeSerializer,
    ChannelRequestSerializer,
    ChannelSerializer,
    DeliverySerializer,
    RuleRequestSerializer,
    RuleSerializer,
    refused,
)
from alerts.standing import OF_ADMINS, RuleRefused, Wanted, rule_once
from teams.models import Team, User
from teams.rest import ApiView, ListView, NothingSerializer, Pages


class DeliveryPages(Pages):
    ordering = "-id"
    page_size = 50
    max_page_size = 200


class ChannelList(ListView):
    """The caller's channels and those shared with the caller's teams, and making one. A name is given once,
    so a repeated call makes no second channel."""

    serializer_class = ChannelSerializer

    def get_queryset(self) -> QuerySet[Channel]:
        return channels_read(self.request.user)

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **_asking(self.request)}

    @extend_schema(request=ChannelRequestSerializer, responses={201: ChannelSerializer})
    def post(self, request: Request) -> Response:
        body = ChannelRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given, user = body.validated_data, cast(User, request.user)
        asked = Asked(kind=given["kind"], **_changes(given, given["kind"], user))
        try:
            channel = channel_create(owner=user, asked=asked)
        except ChannelRefused as error:
            raise _refusal(error.refusals, given["kind"]) from error
        return Response(_channel_answer(request, channel.pk), status=status.HTTP_201_CREATED)


class ChannelDetail(ApiView):
    """One channel. Its owner, and of a shared one the admins of its team, may change and delete it."""

    serializer_class = ChannelSerializer

    def get(self, request: Request, pk: int) -> Response:
        return Response(_channel_answer(request, pk))

    @extend_schema(request=ChannelChangeSerializer, responses=ChannelSerializer)
    def patch(self, request: Request, pk: int) -> Response:
        channel, user = _changeable(request, pk), cast(User, request.user)
        body = ChannelChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        changes = _changes(body.validated_data, channel.kind, user, channel)
        try:
            channel_change(channel=channel, actor=user, asked=Asked.like(channel, **changes))
        except ChannelRefused as error:
            raise _refusal(error.refusals, channel.kind) from error
        return Response(_channel_answer(request, pk))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Its rules go with it, at once; whose they are hears of that behind the bell."""
        channel_delete(channel=_changeable(request, pk), actor=cast(User, request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ChannelTest(ApiView):
    """Sends a test by the way that every notice goes, once. Read `alert-channels/{id}/deliveries/` until its
    state is not `waiting` any more."""

    serializer_class = NothingSerializer

    @extend_schema(request=None, responses={202: DeliverySerializer})
    def post(self, request: Request, pk: int) -> Response:
        NothingSerializer(data=request.data).is_valid(raise_exception=True)
        delivery = channel_test(channel=_changeable(request, pk), actor=cast(User, request.user))
        return Response(DeliverySerializer(delivery).data, status=status.HTTP_202_ACCEPTED)


class ChannelDeliveries(ListView):
    """What became of the notices to a channel, the newest first; of a shared one, of those that the caller
    may know of."""

    pagination_class = DeliveryPages
    serializer_class = DeliverySerializer

    def get_queryset(self) -> QuerySet[Delivery]:
        user = self.request.user
        channel = get_object_or_404(Channel.objects.for_user(user), pk=self.kwargs["pk"])
        found: QuerySet[Delivery] = channel.deliveries.for_user(user).select_related("notice")
        return found


class CannotSendAgain(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_detail = _("This notice cannot be sent again: look at its state and the channel's.")
    default_code = "not_repeatable"


class DeliveryAgain(ApiView):
    """Makes a delivery due again that did not arrive and ended within the last day; 409 for any other, and
    while the channel is disabled."""

    serializer_class = NothingSerializer

    @extend_schema(request=None, responses={202: DeliverySerializer})
    def post(self, request: Request, pk: int, delivery: int) -> Response:
        NothingSerializer(data=request.data).is_valid(raise_exception=True)
        channel = _changeable(request, pk)
        mine: QuerySet[Delivery] = channel.deliveries.for_user(request.user)
        mine = mine.select_related("notice", "channel")
        if not delivery_repeat(delivery=get_object_or_404(mine, pk=delivery)):
            raise CannotSendAgain
        return Response(DeliverySerializer(mine.get(pk=delivery)).data, status=status.HTTP_202_ACCEPTED)


class RuleList(ListView):
    """Rules on pools and the machine, and making one. For administrators of the console. Asked for what a
    rule says already, it answers that one with 200: a repeated call makes no second rule."""

    permission_classes = (permissions.IsAdminUser,)
    serializer_class = RuleSerializer

    def get_queryset(self) -> QuerySet[Rule]:
        rules = Rule.objects.filter(subject__in=OF_ADMINS)
        return rules.select_related("channel")

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **_usable(self.request)}

    @extend_schema(request=RuleRequestSerializer, responses={200: RuleSerializer, 201: RuleSerializer})
    def post(self, request: Request) -> Response:
        body = RuleRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        channel = Channel.objects.for_user(request.user).filter(pk=given["channel"]).first()
        if channel is None:
            raise exceptions.ValidationError({"channel": refused("unknown")})
        wanted = Wanted(
            channel=channel,
            subject=Subject(given["subject"]),
            subject_id=given["pool"],
            events=tuple(given["events"]),
            minutes=given["minutes"],
        )
        try:
            rule, made = rule_once(wanted=wanted)
        except RuleRefused as error:
            raise _errors(error.refusals) from error
        answer = RuleSerializer(rule, context=_usable(request)).data
        return Response(answer, status=status.HTTP_201_CREATED if made else status.HTTP_200_OK)


class RuleDetail(ApiView):
    """One rule on pools or the machine."""

    permission_classes = (permissions.IsAdminUser,)
    serializer_class = RuleSerializer

    def get(self, request: Request, pk: int) -> Response:
        return Response(RuleSerializer(_rule(pk), context=_usable(request)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        _rule(pk).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


def _rule(pk: int) -> Rule:
    return get_object_or_404(Rule, pk=pk, subject__in=OF_ADMINS)


def _usable(request: Request) -> dict[str, Any]:
    """The channels whose names the caller may know."""
    return {"usable": set(Channel.objects.for_user(request.user).values_list("pk", flat=True))}


def _asking(request: Request) -> dict[str, Any]:
    """What is told of a channel depends on who asks."""
    user = cast(User, request.user)
    return {"asking": {"user": user, "roles": roles_of(user)}}


def _channel_answer(request: Request, pk: int) -> dict[str, Any]:
    channel = get_object_or_404(channels_read(request.user), pk=pk)
    return dict(ChannelSerializer(channel, context=_asking(request)).data)


def _changeable(request: Request, pk: int) -> Channel:
    user = cast(User, request.user)
    channel: Channel = get_object_or_404(Channel.objects.for_user(user).select_related("team"), pk=pk)
    if not may_change(user=user, channel=channel, roles=roles_of(user)):
        raise exceptions.PermissionDenied
    return channel


def _changes(
    given: Mapping[str, Any], kind: str, user: User, channel: Channel | None = None
) -> dict[str, Any]:
    """What of `Asked` a body names. ValidationError for what does not go together."""
    wanted, unwanted = ("address", "url") if kind == Kind.EMAIL else ("url", "address")
    if unwanted in given:
        raise exceptions.ValidationError({unwanted: refused(f"{wanted}_wanted")})
    changes = {name: given[name] for name in ("name", "with_log") if name in given}
    if wanted in given:
        changes["target"] = given[wanted]
    if "secret" in given:
        changes["secret"] = given["secret"] or ""
    if "language" in given:
        changes["language"] = given["language"] or ""
    return changes | _shared(given, user, channel)


def _shared(given: Mapping[str, Any], user: User, channel: Channel | None) -> dict[str, Team | None]:
    now = channel.team if channel else None
    if not {"shared", "team"} & given.keys():
        return {}
    if not given.get("shared", now is not None):
        if "team" in given:
            raise exceptions.ValidationError({"team": refused("not_shared")})
        return {"team": None}
    if "team" not in given and now is not None:
        return {}
    return {"team": _team(given.get("team"), user, now)}


def _team(asked: int | None, user: User, now: Team | None) -> Team:
    teams = {team.pk: team for team in [*teams_to_share(user), *([now] if now else [])]}
    if not teams:
        raise exceptions.ValidationError({"shared": refused("no_team")})
    if asked is None and len(teams) > 1:
        raise exceptions.ValidationError({"team": refused("which_team")})
    if asked is None:
        return next(iter(teams.values()))
    if asked not in teams:
        raise exceptions.ValidationError({"team": refused("unknown")})
    return teams[asked]


def _refusal(refusals: Iterable[Refusal], kind: str) -> exceptions.ValidationError:
    return _errors(refusals, {"target": "address" if kind == Kind.EMAIL else "url"})


def _errors(
    refusals: Iterable[Refusal], names: Mapping[str, str] | None = None
) -> exceptions.ValidationError:
    errors: dict[str, list[exceptions.ErrorDetail]] = {}
    for one in refusals:
        name = (names or {}).get(one.field, one.field)
        errors.setdefault(name, []).append(refused(one.code, one.data))
    return exceptions.ValidationError(errors)
