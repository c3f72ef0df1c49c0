"""Admin pages of jobs: to look up, nothing else. Jobs change by their lifecycle alone."""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from jobs.faults import Concerned, faults_settle, jobs_concerned
from jobs.models import Attempt, Job, JobEvent
from jobs.texts import FATES
from pools.admin import NodeAdmin
from pools.models import Node, NodeState
from pools.services import pool_lock
from teams.admin import ReadOnly

SHOWN_CONCERNED = 50


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


admin.site.unregister(Node)  # the pages of nodes are those of `pools`, told what jobs are about


@admin.register(Node)
class NodeWithJobsAdmin(NodeAdmin):
    """Tells how many jobs have to leave a node, and what becomes of them, before it is taken from them."""

    def take_from_jobs(
        self, request: HttpRequest, queryset: models.QuerySet[Node], state: NodeState
    ) -> HttpResponse | None:
        """Acts at once where no job is concerned, else after a question; once more if further jobs came."""
        chosen = Node.objects.filter(pk__in=list(queryset.values_list("pk", flat=True)))
        with transaction.atomic():
            pools = sorted(set(chosen.values_list("flavor__pool", flat=True)))
            for pool_id in pools:
                pool_lock(pool_id=pool_id)  # no job comes there meanwhile
            concerned = jobs_concerned(chosen.values_list("pk", flat=True))
            known = set(request.POST.get("confirmed", "").split(","))
            if {one.job.key for one in concerned} <= known:
                self.set_state(request, chosen, state)
                for pool_id in pools:
                    faults_settle(pool_id)
                self._tell_leaving(request, len(concerned))
                return None
        return self._question(request, chosen, state, concerned)

    def _tell_leaving(self, request: HttpRequest, jobs: int) -> None:
        """The state of the nodes is written; their jobs take their grace time."""
        if jobs:
            text = ngettext(
                "%(n)d job is still leaving: its Workers are being ended.",
                "%(n)d jobs are still leaving: their Workers are being ended.",
                jobs,
            )
            self.message_user(request, text % {"n": jobs}, messages.WARNING)

    def _question(
        self,
        request: HttpRequest,
        nodes: models.QuerySet[Node],
        state: NodeState,
        concerned: Sequence[Concerned],
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Jobs have to leave these nodes"),
            "opts": self.opts,
            "names": list(nodes.order_by("name").values_list("name", flat=True)),
            "state": state.label,
            "jobs": [(one.job, FATES[one.fate]) for one in concerned[:SHOWN_CONCERNED]],
            "more": max(len(concerned) - SHOWN_CONCERNED, 0),
            "count": len(concerned),
            "counts": [(FATES[fate], n) for fate, n in Counter(one.fate for one in concerned).most_common()],
            "keys": ",".join(one.job.key for one in concerned),
            "action": request.POST.get("action", ""),
            "selected": request.POST.getlist("_selected_action"),
            "across": request.POST.get("select_across", "0"),
            "address": request.get_full_path(),
        }
        return TemplateResponse(request, "jobs/admin/leave_nodes.html", context)
