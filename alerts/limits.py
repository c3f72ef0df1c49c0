"""Rules of pools and of the machine that wait for something to have been so for a number of minutes."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from django.db.models import Q

from alerts.models import Rule
from alerts.rules import Subject


def limits_passed(
    *, subject: Subject, subject_id: int, event: str, since: datetime, now: datetime
) -> dict[int, list[int]]:
    """By minutes: the channels of the rules whose limit has passed for what has been so since then."""
    passed: dict[int, list[int]] = defaultdict(list)
    rules = Rule.objects.filter(Q(subject_id=subject_id) | Q(subject_id=None), subject=subject)
    for rule in rules.exclude(minutes=None).order_by("pk"):
        if event in rule.events and now >= since + timedelta(minutes=rule.minutes or 0):
            passed[rule.minutes or 0].append(rule.channel_id)
    return passed
