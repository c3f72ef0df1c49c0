"""The forms of channels and of standing rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from alerts.channels import LONGEST_NAME, LONGEST_SECRET, Asked, Refusal, teams_to_share
from alerts.labels import EVENT_LABELS
from alerts.models import Channel, Rule
from alerts.refusals import refusal_text
from alerts.rules import EVENTS_OF, LEAST_MINUTES, MOST_MINUTES, SIGNED, TIMED_EVENTS, Kind, Subject
from alerts.standing import Wanted
from alerts.subjects import named
from teams.models import User

LONGEST_TARGET = 2000
LANGUAGE_NAMES = {"zh-hans": "中文", "en": "English"}
SUGGESTED_MINUTES = 30


def sent(request: HttpRequest) -> Any:
    """What a form was sent with; None while it is only shown."""
    return request.POST if request.method == "POST" else None


class RefusalsForm(forms.Form):
    """A form whose last word has a service."""

    def add_refusals(self, refusals: Iterable[Refusal]) -> None:
        for one in refusals:
            self.add_error(one.field if one.field in self.fields else None, refusal_text(one.code, one.data))


class ChannelForm(RefusalsForm):
    """Of a channel that is there, address and secret are empty: filled in, they replace what is kept."""

    name = forms.CharField(label=pgettext_lazy("channel", "Name"), max_length=LONGEST_NAME)
    target = forms.CharField(max_length=LONGEST_TARGET, strip=True)
    secret = forms.CharField(
        label=_("Secret"),
        max_length=LONGEST_SECRET,
        required=False,
        strip=False,
        widget=forms.PasswordInput(render_value=True, attrs={"autocomplete": "new-password"}),
    )
    remove_secret = forms.BooleanField(label=_("Remove the secret that is kept"), required=False)
    team = forms.ChoiceField(label=_("Who may use it"), required=False)
    language = forms.ChoiceField(label=_("Language of the messages"), required=False)
    with_log = forms.BooleanField(label=_("With the last 20 lines of output"), required=False)

    def __init__(self, user: User, kind: str, channel: Channel | None = None, data: Any = None) -> None:
        self.kind, self.channel = kind, channel
        teams = [*teams_to_share(user), *([channel.team] if channel and channel.team else [])]
        self.teams = {str(team.pk): team for team in teams}
        super().__init__(data, initial=_initial(user, kind, channel))
        fields: Mapping[str, Any] = self.fields
        shared = [(pk, _("everybody in %(team)s") % {"team": team.name}) for pk, team in self.teams.items()]
        fields["team"].choices = [("", _("only me") if _own(user, channel) else _("only its owner")), *shared]
        by_default = ("", _("as its owner chose in the settings"))
        fields["language"].choices = [by_default, *((c, LANGUAGE_NAMES[c]) for c, _n in settings.LANGUAGES)]
        fields["target"].required = channel is None
        self._target()
        if kind not in SIGNED:
            del self.fields["secret"]
        if kind not in SIGNED or channel is None or channel.secret is None:
            del self.fields["remove_secret"]
        _dress(self)

    def _target(self) -> None:
        field = self.fields["target"]
        if self.kind == Kind.EMAIL:
            field.label = _("E-mail address")
            field.widget = forms.EmailInput(attrs={"autocomplete": "email"})
        else:
            field.label = _("Apprise URL") if self.kind == Kind.APPRISE else _("URL")
            field.widget = forms.TextInput(
                attrs={"autocomplete": "off", "spellcheck": "false", "inputmode": "url"}
            )

    @property
    def asked(self) -> Asked:
        """Empty means: as it is."""
        given = self.cleaned_data
        secret = "" if given.get("remove_secret") else None
        return Asked(
            name=given["name"],
            kind=self.kind,
            target=given["target"] or None,
            secret=given.get("secret") or secret,
            team=self.teams.get(given["team"]),
            language=given["language"],
            with_log=given["with_log"],
        )


def _own(user: User, channel: Channel | None) -> bool:
    return channel is None or channel.owner_id == user.pk


def _initial(user: User, kind: str, channel: Channel | None) -> dict[str, Any]:
    if channel is None:
        return {"with_log": True, "target": user.email if kind == Kind.EMAIL else ""}
    return {
        "name": channel.name,
        "team": str(channel.team_id or ""),
        "language": channel.language,
        "with_log": channel.with_log,
    }


class RuleForm(RefusalsForm):
    """A standing rule: at most one of its events has a time limit, so that one is chosen apart."""

    pool = forms.ChoiceField(label=_("Resource pool"), required=False)
    channel = forms.ChoiceField(label=_("Channel"), error_messages={"required": _("Choose a channel.")})
    events = forms.MultipleChoiceField(label=_("Events"), required=False, widget=forms.CheckboxSelectMultiple)
    timed = forms.ChoiceField(label=_("Also when something takes too long"), required=False)
    minutes = forms.IntegerField(
        label=_("After minutes"), required=False, min_value=LEAST_MINUTES, max_value=MOST_MINUTES
    )

    def __init__(self, user: User, subject: Subject, rule: Rule | None = None, data: Any = None) -> None:
        self.user, self.subject = user, subject
        usable = Channel.objects.for_user(user).select_related("owner").order_by("name", "pk")
        self.channels = {str(one.pk): one for one in usable}
        super().__init__(data, initial=_rule_initial(rule))
        fields: Mapping[str, Any] = self.fields
        offered = [(pk, _channel_label(one, user)) for pk, one in self.channels.items()]
        fields["channel"].choices = [("", _("— choose —")), *offered]
        codes = EVENTS_OF[subject]
        fields["events"].choices = [(c, EVENT_LABELS[c]) for c in codes if c not in TIMED_EVENTS]
        timed = [(c, EVENT_LABELS[c]) for c in codes if c in TIMED_EVENTS]
        fields["timed"].choices = [("", _("no")), *timed]
        if subject == Subject.POOL:
            fields["pool"].choices = [("", _("all pools")), *((str(pk), name) for pk, name in named(subject))]
        else:
            del self.fields["pool"]
        _dress(self)

    def clean(self) -> dict[str, Any]:
        """Minutes without an event that takes them say nothing."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if not given.get("timed"):
            given["minutes"] = None
        return given

    @property
    def wanted(self) -> Wanted:
        given = self.cleaned_data
        pool = given.get("pool")
        whose = self.user.pk if self.subject == Subject.PERSON else None
        return Wanted(
            channel=self.channels[given["channel"]],
            subject=self.subject,
            subject_id=int(pool) if pool else whose,
            events=(*given["events"], *([given["timed"]] if given["timed"] else [])),
            minutes=given["minutes"],
        )


def _channel_label(channel: Channel, user: User) -> str:
    return channel.name if channel.owner_id == user.pk else f"{channel.name} · {channel.owner.username}"


def _rule_initial(rule: Rule | None) -> dict[str, Any]:
    if rule is None:
        return {"minutes": SUGGESTED_MINUTES}
    return {
        "pool": rule.subject_id if rule.subject == Subject.POOL else "",
        "channel": rule.channel_id,
        "events": [code for code in rule.events if code not in TIMED_EVENTS],
        "timed": next((code for code in rule.events if code in TIMED_EVENTS), ""),
        "minutes": rule.minutes or SUGGESTED_MINUTES,
    }


def _dress(form: forms.Form) -> None:
    """The classes of the stylesheet, and what a screen reader has to know of errors."""
    for bound in form:
        widget = bound.field.widget
        if isinstance(widget, forms.CheckboxInput | forms.CheckboxSelectMultiple):
            kind = "form-check-input"
        else:
            kind = "form-select" if isinstance(widget, forms.Select) else "form-control"
        widget.attrs["class"] = kind
        if form.is_bound and bound.errors:
            widget.attrs["class"] = f"{kind} is-invalid"
            widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"{bound.auto_id}_error"}
