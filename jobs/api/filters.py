"""By what lists and counts of jobs are narrowed down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet
from rest_framework import serializers

from jobs.models import Job
from jobs.states import State
from teams.rest import LARGEST


class CountsFilter(serializers.Serializer[Any]):
    pool = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST)
    team = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST)
    creator = serializers.CharField(required=False, max_length=150, help_text="A user name.")
    tag = serializers.CharField(required=False, max_length=200)
    search = serializers.CharField(required=False, max_length=200, help_text="A part of the name or id.")
    created_after = serializers.DateTimeField(required=False, help_text="At this time or later.")
    created_before = serializers.DateTimeField(required=False, help_text="Earlier than this time.")


class JobFilter(CountsFilter):
    state = serializers.CharField(
        required=False, help_text=f"One or several of {', '.join(State)}, separated by commas."
    )

    def validate_state(self, text: str) -> list[str]:
        field = serializers.ChoiceField(choices=[str(state) for state in State])
        return [field.run_validation(state.strip()) for state in text.split(",")]


def filtered(jobs: QuerySet[Job], asked: Mapping[str, Any]) -> QuerySet[Job]:
    """The jobs to which everything asked for applies."""
    lookups = {
        "state": "state__in",
        "pool": "pool",
        "team": "team",
        "creator": "creator__username",
        "tag": "tags__name",
        "created_after": "created_at__gte",
        "created_before": "created_at__lt",
    }
    jobs = jobs.filter(**{lookups[name]: value for name, value in asked.items() if name in lookups})
    if "search" in asked:
        jobs = jobs.filter(Q(name__icontains=asked["search"]) | Q(key__icontains=asked["search"]))
    return jobs
