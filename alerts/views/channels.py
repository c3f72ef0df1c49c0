"""Pages of channels: the list, one with what became of its notices, making, changing, testing, deleting."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from alerts.channels import (
    ChannelRefused,
    channel_change,
    channel_create,
    channel_delete,
    channel_test,
    may_change,
    roles_of,
)
from alerts.forms import LANGUAGE_NAMES, ChannelForm, sent
from alerts.losing import Loss, loss_read, rules_ended_by
from alerts.models import KIND_LABELS, Channel, Delivery
from alerts.reading import channels_read, newest_deliveries
from alerts.repeating import channel_enable, delivery_repeat
from alerts.rules import SIGNED, TEST, Kind, State
from alerts.senders import kinds_offered
from alerts.texts import error_text
from alerts.views.rows import delivery_rows
from teams.models import User
from teams.pages import NOT_CHANGED, digest, fresh, part_or_page, plain_id, posted, signed_in, wants_part

PAGE_SIZE = 30
CONFIRMED = "confirmed"  # sent by the page that asks whether rules are to end
CHANGED = "deliveries"  # tells the list on a channel's page that it shows something old


@fresh
@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    newest = newest_deliveries(user, Channel.objects.for_user(user))
    roles = roles_of(user)
    rows = [
        _facts(channel, user, newest.get(channel.pk))
        | {"may_change": may_change(user=user, channel=channel, roles=roles)}
        for channel in channels_read(user).order_by("name", "pk")
    ]
    context = {"rows": rows, **_kinds()}
    return render(request, "alerts/channels.html", context)


@fresh
@login_required
@require_safe
def channel_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One channel, and what became of the notices to it; `test` names the one whose result is waited for."""
    user = signed_in(request)
    channel = get_object_or_404(channels_read(user), pk=pk)
    test = _test_of(channel, request.GET.get("test"))
    context = _shown(channel, user, plain_id(request.GET.get("before")))
    context |= {"test": test, "test_error": _error(test)}
    return render(request, "alerts/channel.html", context)


@part_or_page
@require_safe
def deliveries(request: HttpRequest, pk: int) -> HttpResponse:
    """The newest of what became of its notices, and its state; nothing while the page shows just that."""
    user = signed_in(request)
    channel = get_object_or_404(channels_read(user), pk=pk)
    if not wants_part(request):
        return redirect("channel", pk=pk)
    context = _shown(channel, user)
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=NOT_CHANGED)
    return render(request, "alerts/channel_live.html", context | {"live": True})


def _shown(channel: Channel, user: User, before: int | None = None) -> dict[str, Any]:
    """A channel with a page of what became of its notices; `seen` names what of that may change."""
    mine: Any = channel.deliveries.for_user(user).select_related("notice", "channel").order_by("-pk")
    found = list((mine.filter(pk__lt=before) if before else mine)[: PAGE_SIZE + 1])
    may = may_change(user=user, channel=channel, roles=roles_of(user))
    rows = delivery_rows(found[:PAGE_SIZE], may_repeat=may)
    facts = _facts(channel, user)
    return facts | {
        "may_change": may,
        "rows": rows,
        "waits": any(row.waiting for row in rows),
        "seen": digest(repr((channel.disabled_at, facts["refused"], [row.shown for row in rows]))),
        "more": len(found) > PAGE_SIZE,
        "last": found[:PAGE_SIZE][-1].pk if found else None,
        "later": bool(before),
    }


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """First the kind is chosen, then come the fields that it has."""
    user, kind = signed_in(request), request.GET.get("kind", "")
    if kind not in kinds_offered():
        return render(request, "alerts/channel_kinds.html", _kinds())
    form = ChannelForm(user, kind, data=sent(request))
    if form.is_valid():
        try:
            channel = channel_create(owner=user, asked=form.asked)
        except ChannelRefused as refused:
            form.add_refusals(refused.refusals)
        else:
            messages.success(request, _("The channel is there. Test it now: that says whether it works."))
            return redirect("channel", pk=channel.pk)
    return _form(request, form)


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    user = signed_in(request)
    channel = _changeable(user, pk)
    form = ChannelForm(user, channel.kind, channel, data=sent(request))
    if form.is_valid() and CONFIRMED not in request.POST:
        loss = loss_read(rules_ended_by(channel, form.asked.team), user)
        if loss:
            return _asked(request, channel, loss)
    if form.is_valid():
        try:
            channel_change(channel=channel, actor=user, asked=form.asked)
        except ChannelRefused as refused:
            form.add_refusals(refused.refusals)
        else:
            messages.success(request, _("Saved."))
            return redirect("channel", pk=pk)
    return _form(request, form)


def _asked(request: HttpRequest, channel: Channel, loss: Loss) -> HttpResponse:
    """The question whether rules are to end, with all that was typed."""
    typed = [(name, value) for name in request.POST for value in request.POST.getlist(name)]
    kept = [pair for pair in typed if pair[0] != "csrfmiddlewaretoken"]
    return render(request, "alerts/channel_unshare.html", {"channel": channel, "loss": loss, "kept": kept})


def _form(request: HttpRequest, form: ChannelForm) -> HttpResponse:
    context = {"form": form, "kind": form.kind, "kind_label": KIND_LABELS[Kind(form.kind)]}
    context |= {"channel": form.channel, "own_address": signed_in(request).email}
    return render(request, "alerts/channel_form.html", context, status=422 if form.errors else 200)


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks first, and says what goes with it."""
    user = signed_in(request)
    channel = _changeable(user, pk)
    if request.method == "POST":
        channel_delete(channel=channel, actor=user)
        messages.success(request, _("The channel was deleted."))
        return redirect("channels")
    context = {
        "channel": channel,
        "loss": loss_read(channel.rules.all(), user),
        "waiting": channel.deliveries.filter(state=State.WAITING).count(),
    }
    return render(request, "alerts/channel_delete.html", context)


@login_required
@posted("channels")
def test(request: HttpRequest, pk: int) -> HttpResponse:
    """Sends a test; how it went is shown on the channel's page, or on the one on which htmx asks."""
    user = signed_in(request)
    channel = _changeable(user, pk)
    delivery = channel_test(channel=channel, actor=user)
    if wants_part(request):
        answer = _tested(request, channel, delivery)
        answer["HX-Trigger"] = CHANGED
        return answer
    return redirect(reverse("channel", args=[pk]) + f"?test={delivery.pk}")


@part_or_page
@require_safe
def tested(request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
    """The result of a test; nothing while there is none."""
    user = signed_in(request)
    channel = get_object_or_404(Channel.objects.for_user(user), pk=pk)
    if not wants_part(request):
        return redirect(reverse("channel", args=[pk]) + f"?test={delivery}")
    found = _test_of(channel, str(delivery))
    if found is None:
        raise Http404
    if found.state == State.WAITING:
        return HttpResponse(status=NOT_CHANGED)
    answer = _tested(request, channel, found)
    answer["HX-Trigger"] = CHANGED
    return answer


@login_required
@posted("channels")
def enable(request: HttpRequest, pk: int) -> HttpResponse:
    channel_enable(channel=_changeable(signed_in(request), pk))
    messages.success(request, _("The channel is enabled. What was not sent can be sent again below."))
    return redirect("channel", pk=pk)


@login_required
@posted("channels")
def send_again(request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
    user = signed_in(request)
    channel = _changeable(user, pk)
    mine: Any = channel.deliveries.for_user(user).select_related("notice", "channel")
    if delivery_repeat(delivery=get_object_or_404(mine, pk=delivery)):
        messages.success(request, _("The notice is being sent again."))
    else:
        messages.warning(request, _("This notice cannot be sent again: look at its state and the channel's."))
    return redirect("channel", pk=pk)


def _tested(request: HttpRequest, channel: Channel, delivery: Delivery) -> HttpResponse:
    context = {"channel": channel, "test": delivery, "test_error": _error(delivery)}
    return render(request, "alerts/tested.html", context)


def _test_of(channel: Channel, asked: str | None) -> Delivery | None:
    pk = plain_id(asked)
    tests = channel.deliveries.select_related("notice").filter(notice__codes=[TEST])
    found: Delivery | None = tests.filter(pk=pk).first() if pk else None
    return found


def _error(delivery: Delivery | None) -> str:
    error = delivery.error if delivery else None
    return error_text(error["code"], error["data"]) if error else ""


def _changeable(user: User, pk: int) -> Channel:
    channel: Channel = get_object_or_404(
        Channel.objects.for_user(user).select_related("team", "owner"), pk=pk
    )
    if not may_change(user=user, channel=channel, roles=roles_of(user)):
        raise PermissionDenied
    return channel


def _facts(channel: Any, user: User, latest: Delivery | None = None) -> dict[str, Any]:
    """What is said of a channel wherever it is shown; in the list with its `latest` delivery."""
    refused = channel.refused_last
    return {
        "channel": channel,
        "kind_label": KIND_LABELS[Kind(channel.kind)],
        "signs": channel.kind in SIGNED,
        "speaks": LANGUAGE_NAMES[channel.speaks],
        "own": channel.owner_id == user.pk,
        "elsewhere": channel.kind == Kind.EMAIL and channel.shown.lower() != channel.owner.email.lower(),
        "refused": error_text(refused["code"], refused["data"]) if refused else "",
        "last": latest,
        "last_error": _error(latest),
    }


def _kinds() -> dict[str, Any]:
    """What a new channel can be, and where that is so, why it cannot be e-mail."""
    offered = kinds_offered()
    return {
        "kinds": [(str(kind), KIND_LABELS[kind]) for kind in offered],
        "no_mail": "" if Kind.EMAIL in offered else error_text("no_mail_server", {}),
    }
