"""Admin pages of jobs: to look up, nothing else. Jobs change by their lifecycle alone."""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from jobs.models import Attempt, Job, JobEvent


class ReadOnly:
    """No adding, no change, no deleting."""

    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class AttemptInline(ReadOnly, admin.TabularInline):
    model = Attempt
    fields = ["number", "port", "placed_at", "started_at", "ended_at", "first_failure"]
    extra = 0


class EventInline(ReadOnly, admin.TabularInline):
    model = JobEvent
    fields = ["at", "code", "data", "actor"]
    extra = 0

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("actor")


@admin.register(Job)
class JobAdmin(ReadOnly, admin.ModelAdmin):
    """Values of private variables are in no field shown here: they lie encrypted in a table of their own."""

    list_display = [
        *("key", "name", "team", "creator", "pool", "state", "priority", "total_gpus", "created_at"),
    ]
    list_filter = ["state", "priority", "pool", "team", "framework", "created_at"]
    list_select_related = ["team", "creator", "pool"]
    search_fields = ["key__startswith", "name", "creator__username"]
    show_full_result_count = False
    list_per_page = 50
    inlines = [AttemptInline, EventInline]
    fieldsets = [
        (None, {"fields": ["key", "name", "description", "team", "creator", "origin", "origin_kind"]}),
        (
            _("State"),
            {
                "fields": [
                    *("state", "deploy_step", "reason", "exit_code", "attempt", "restarts"),
                    "stop_requested_at",
                ]
            },
        ),
        (
            _("Resources"),
            {"fields": ["pool", "flavor", "spec", "image", "total_gpus", "priority", "framework"]},
        ),
        (_("Times"), {"fields": ["created_at", "eligible_at", "queue_until", "started_at", "ended_at"]}),
        (_("Request"), {"fields": ["request", "frozen", "findings"]}),
    ]
