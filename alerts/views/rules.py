"""Pages of standing rules: those a person's new jobs begin with, and those of admins."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from alerts.forms import RuleForm, sent
from alerts.labels import event_label
from alerts.models import Channel, Rule
from alerts.rules import Subject
from alerts.standing import OF_ADMINS, RuleRefused, rule_save
from alerts.subjects import named
from teams.models import User
from teams.pages import fresh, signed_in


@fresh
@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    rules = list(_mine(user).select_related("channel").order_by("pk"))
    pools = dict(named(Subject.POOL)) if user.is_staff else {}
    usable = set(Channel.objects.for_user(user).values_list("pk", flat=True))
    rows = [_row(rule, pools) | {"usable": rule.channel_id in usable} for rule in rules]
    context = {
        "person": [row for row in rows if row["rule"].subject == Subject.PERSON],
        "pool": [row for row in rows if row["rule"].subject == Subject.POOL],
        "machine": [row for row in rows if row["rule"].subject == Subject.MACHINE],
        "has_channels": bool(usable),
    }
    return render(request, "alerts/rules.html", context)


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, subject: str) -> HttpResponse:
    user = signed_in(request)
    return _saved(request, RuleForm(user, _subject(user, subject), data=sent(request)), None)


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    user = signed_in(request)
    rule = get_object_or_404(_mine(user), pk=pk)
    return _saved(request, RuleForm(user, Subject(rule.subject), rule, data=sent(request)), rule)


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks first."""
    user = signed_in(request)
    rule = get_object_or_404(_mine(user).select_related("channel"), pk=pk)
    if request.method == "POST":
        rule.delete()
        messages.success(request, _("The rule was deleted."))
        return redirect("rules")
    pools = dict(named(Subject.POOL)) if rule.subject == Subject.POOL else {}
    usable = Channel.objects.for_user(user).filter(pk=rule.channel_id).exists()
    return render(request, "alerts/rule_delete.html", _row(rule, pools) | {"usable": usable})


def _saved(request: HttpRequest, form: RuleForm, rule: Rule | None) -> HttpResponse:
    if form.is_valid():
        try:
            rule_save(wanted=form.wanted, rule=rule)
        except RuleRefused as refused:
            form.add_refusals(refused.refusals)
        else:
            messages.success(request, _("Saved."))
            return redirect("rules")
    context = {"form": form, "rule": rule, "subject": form.subject, "has_channels": bool(form.channels)}
    return render(request, "alerts/rule_form.html", context, status=422 if form.errors else 200)


def _subject(user: User, asked: str) -> Subject:
    """What may be watched by whom."""
    if asked not in (Subject.PERSON, *OF_ADMINS):
        raise Http404
    if asked != Subject.PERSON and not user.is_staff:
        raise PermissionDenied
    return Subject(asked)


def _mine(user: User) -> QuerySet[Rule]:
    """Those that the user may change: their own ones, and of an admin those on pools and the machine."""
    own = Q(subject=Subject.PERSON, subject_id=user.pk)
    return Rule.objects.filter(own | Q(subject__in=OF_ADMINS) if user.is_staff else own)


def _row(rule: Rule, pools: dict[int, str]) -> dict[str, Any]:
    return {
        "rule": rule,
        "events": [event_label(code, rule.minutes) for code in rule.events],
        "where": pools.get(rule.subject_id, f"#{rule.subject_id}") if rule.subject_id else "",
    }
