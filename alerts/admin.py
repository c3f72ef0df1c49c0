"""Admin pages of alerts: to look up, nothing else. What is kept encrypted is on none of them."""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from alerts.models import Channel, Delivery, Notice, Reading, Rule
from teams.admin import ReadOnly


@admin.register(Channel)
class ChannelAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["name", "kind", "owner", "team", "shown", "refusals", "disabled_at"]
    list_filter = ["kind", ("disabled_at", admin.EmptyFieldListFilter), "team"]
    list_select_related = ["owner", "team"]
    search_fields = ["name", "owner__username", "shown"]
    fields = [
        *("name", "kind", "owner", "team", "shown", "language", "with_log"),
        *("refusals", "disabled_at", "created_at"),
    ]


@admin.register(Rule)
class RuleAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["id", "subject", "subject_id", "events", "minutes", "channel", "look_at"]
    list_filter = ["subject"]
    list_select_related = ["channel"]
    search_fields = ["=subject_id", "channel__name"]
    show_full_result_count = False


class DeliveryInline(ReadOnly, admin.TabularInline):
    model = Delivery
    fields = ["channel_name", "kind", "state", "tries", "due_at", "error", "ended_at"]
    extra = 0


class ReadingInline(ReadOnly, admin.TabularInline):
    model = Reading
    fields = ["user", "read_at"]
    extra = 0

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("user")


@admin.register(Notice)
class NoticeAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["key", "codes", "subject", "subject_id", "team", "at"]
    list_filter = ["subject", "team", "at"]
    list_select_related = ["team"]
    search_fields = ["key__startswith"]
    show_full_result_count = False
    inlines = [DeliveryInline, ReadingInline]


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["id", "notice", "channel_name", "kind", "state", "tries", "due_at", "ended_at"]
    list_filter = ["state", "kind"]
    list_select_related = ["notice"]
    search_fields = ["channel_name", "notice__key__startswith"]
    show_full_result_count = False
