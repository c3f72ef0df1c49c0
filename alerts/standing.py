"""Standing rules: those that a person's new jobs begin with, and those of admins on pools and the machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from alerts.channels import Refusal
from alerts.models import Channel, Rule
from alerts.rules import EVENTS_OF, LEAST_MINUTES, MOST_MINUTES, TIMED_EVENTS, Subject
from alerts.subjects import named
from teams.models import User

MOST_RULES = {Subject.PERSON: 20, Subject.POOL: 100, Subject.MACHINE: 100}
OF_ADMINS = (Subject.POOL, Subject.MACHINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The channel is told of these events of the subject. Without `subject_id`: of all pools, the machine."""

    channel: Channel
    subject: Subject
    subject_id: int | None = None
    events: tuple[str, ...]
    minutes: int | None = None


class RuleRefused(Exception):
    def __init__(self, refusals: list[Refusal]) -> None:
        super().__init__(refusals)
        self.refusals = tuple(refusals)


def rule_save(*, wanted: Wanted, rule: Rule | None = None) -> Rule:
    """Makes the rule, or changes the one given. RuleRefused."""
    refusals = list(_refusals(wanted))
    if refusals:
        raise RuleRefused(refusals)
    saved = rule or Rule()
    saved.channel, saved.subject, saved.subject_id = wanted.channel, wanted.subject, wanted.subject_id
    saved.events = [code for code in EVENTS_OF[wanted.subject] if code in wanted.events]
    saved.minutes = wanted.minutes
    with transaction.atomic():
        if rule is None:
            _count(wanted)
        saved.save()
    return saved


def rule_once(*, wanted: Wanted) -> tuple[Rule, bool]:
    """The rule that says just this, and whether it was made now. RuleRefused. Who asks for the same at the
    same time waits for the other."""
    with transaction.atomic():
        Channel.objects.select_for_update(no_key=True).filter(pk=wanted.channel.pk).first()
        same = Rule.objects.filter(
            channel=wanted.channel,
            subject=wanted.subject,
            subject_id=wanted.subject_id,
            minutes=wanted.minutes,
        )
        for rule in same.select_related("channel").order_by("pk"):
            if set(rule.events) == set(wanted.events):
                return rule, False
        return rule_save(wanted=wanted), True


def _count(wanted: Wanted) -> None:
    rules, most = Rule.objects.filter(subject=wanted.subject), MOST_RULES[wanted.subject]
    if wanted.subject == Subject.PERSON and wanted.subject_id is not None:
        User.objects.select_for_update(no_key=True).get(pk=wanted.subject_id)
        rules = rules.filter(subject_id=wanted.subject_id)
    if rules.count() >= most:
        raise RuleRefused([Refusal("events", "too_many_rules", {"most": most})])


def _refusals(wanted: Wanted) -> Iterator[Refusal]:
    timed = [code for code in wanted.events if code in TIMED_EVENTS]
    if not wanted.events:
        yield Refusal("events", "event_wanted")
    elif not set(wanted.events) <= set(EVENTS_OF[wanted.subject]):
        yield Refusal("events", "unknown")
    elif len(timed) > 1:
        yield Refusal("events", "one_timed_event")
    elif timed and wanted.minutes is None:
        yield Refusal("minutes", "minutes_wanted")
    elif not timed and wanted.minutes is not None:
        yield Refusal("minutes", "minutes_unwanted")
    if wanted.minutes is not None and not LEAST_MINUTES <= wanted.minutes <= MOST_MINUTES:
        yield Refusal("minutes", "out_of_range", {"least": LEAST_MINUTES, "most": MOST_MINUTES})
    if wanted.subject == Subject.POOL and wanted.subject_id not in {None, *dict(named(Subject.POOL))}:
        yield Refusal("pool", "unknown")
