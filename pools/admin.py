"""Admin pages of zones, pools, flavors, specs and nodes.

What changes holds' counts or node states holds the pool's lock, and goes through the services.
"""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from pools.forms import FlavorForm, NodeForm, NodesForm, SpecForm, ZoneForm
from pools.hints import pool_changed
from pools.models import Flavor, Grant, Node, NodeState, Pool, WorkerSpec, Zone
from pools.services import counts_refresh, node_set_state, nodes_create, pool_lock
from teams.admin import KeepsReferred, Retirable, RetiredFilter


class PoolLocked(admin.ModelAdmin):
    """Takes the pool's lock before a row is read to be changed, so that no count is written back stale."""

    def pool_of(self, obj: Any) -> int:
        """The pool whose lock guards the row."""
        return int(obj.flavor.pool_id)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        obj = super().get_object(request, object_id, from_field)
        if obj is not None and request.method == "POST":  # Django has begun the transaction
            pool_lock(pool_id=self.pool_of(obj))
            obj.refresh_from_db()
        return obj


@admin.register(Zone)
class ZoneAdmin(KeepsReferred):
    instead = _("Move them to another zone first.")
    form = ZoneForm
    list_display = ["name", "public_data"]
    search_fields = ["name"]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.public_data and "public_data" in form.changed_data:
            warn_if_missing(self, request, obj.public_data)


def warn_if_missing(page: admin.ModelAdmin, request: HttpRequest, folder: str) -> None:
    """The console may run apart from the nodes, so a folder that it does not see is no error."""
    if not Path(folder).is_dir():
        text = _("There is no folder %(folder)s here: jobs that mount it fail until there is one.")
        page.message_user(request, text % {"folder": folder}, messages.WARNING)


class GrantFormSet(forms.BaseInlineFormSet):
    def clean(self) -> None:
        super().clean()
        for form in self.deleted_forms:
            if held := form.instance.held_gpus:
                text = ngettext(
                    "%(grant)s: the team holds %(n)d GPU. Stop its jobs first, or set its limit to 0.",
                    "%(grant)s: the team holds %(n)d GPUs. Stop its jobs first, or set its limit to 0.",
                    held,
                )
                data = {"grant": form.instance, "n": held}
                raise ValidationError(text, "grant_in_use", data)


class GrantForm(forms.ModelForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "team" in self.fields:
            self.fields["team"].disabled = True  # its GPUs are counted on this row

    class Meta:
        model = Grant
        fields = ["team", "max_gpus"]


class GrantInline(admin.TabularInline):
    model = Grant
    form = GrantForm
    formset = GrantFormSet
    extra = 0
    autocomplete_fields = ["team"]
    readonly_fields = ["held_gpus"]


class FlavorInline(admin.TabularInline):
    model = Flavor
    fields = readonly_fields = ("name", "gpu_model", "gpus_per_node", "node_count", "network")
    extra = 0
    show_change_link = True
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Pool)
class PoolAdmin(PoolLocked, Retirable):
    list_display = ["name", "zone", "nodes", "idle", "discipline", "paused", "engine", "retired_at"]
    list_filter = ["zone", "discipline", "paused", "engine", RetiredFilter]
    list_select_related = ["zone"]
    search_fields = ["name"]
    autocomplete_fields = ["zone"]
    fields = ["name", "zone", "engine", "discipline", "max_overtake_minutes", "paused", "retired_at"]
    inlines = [GrantInline, FlavorInline]
    actions = ("pause", "resume", *Retirable.actions)

    def pool_of(self, obj: Any) -> int:
        return int(obj.pk)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Pool]:
        return super().get_queryset(request).prefetch_related("flavors")

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        return [GrantInline, FlavorInline] if obj else [GrantInline]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        pool_changed(form.instance.pk)

    def after_change(self, ids: Sequence[int]) -> None:
        for pool_id in ids:
            pool_changed(pool_id)

    @admin.action(description=_("Pause: running jobs go on, none starts"), permissions=["change"])
    def pause(self, request: HttpRequest, queryset: models.QuerySet[Pool]) -> None:
        queryset.update(paused=True)

    @admin.action(description=_("Go on: waiting jobs start again"), permissions=["change"])
    def resume(self, request: HttpRequest, queryset: models.QuerySet[Pool]) -> None:
        ids = list(queryset.values_list("pk", flat=True))
        queryset.update(paused=False)
        self.after_change(ids)

    @admin.display(description=_("nodes"))
    def nodes(self, pool: Any) -> int:
        return sum(flavor.node_count for flavor in pool.flavors.all())

    @admin.display(description=_("idle GPUs"))
    def idle(self, pool: Any) -> str:
        flavors = pool.flavors.all()
        idle = sum(gpus * nodes for flavor in flavors for gpus, nodes in enumerate(flavor.idle_nodes))
        return f"{idle} / {sum(flavor.node_count * flavor.gpus_per_node for flavor in flavors)}"


class SpecInline(admin.TabularInline):
    model = WorkerSpec
    fields = readonly_fields = ("name", "gpus", "cpus", "memory_gib", "shm_gib", "retired_at")
    extra = 0
    show_change_link = True
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Flavor)
class FlavorAdmin(PoolLocked, KeepsReferred):
    instead = _("Retire its nodes and specs instead.")
    form = FlavorForm
    list_display = ["name", "pool", "gpu_model", "gpus_per_node", "node_count", "network", "network_label"]
    list_filter = ["pool", "network", "gpu_model"]
    list_select_related = ["pool"]
    search_fields = ["name", "pool__name", "gpu_model"]
    autocomplete_fields = ["pool"]

    def pool_of(self, obj: Any) -> int:
        return int(obj.pool_id)

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        return [SpecInline] if obj else []

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The pool never changes; the size of a node not while there are nodes."""
        fixed = ["pool"] if obj else []
        return [*fixed, "gpus_per_node"] if obj and obj.nodes.exists() else fixed

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        pool_lock(pool_id=obj.pool_id)
        super().save_model(request, obj, form, change)
        counts_refresh(pool_id=obj.pool_id)


@admin.register(WorkerSpec)
class WorkerSpecAdmin(Retirable):
    form = SpecForm
    list_display = ["name", "flavor", "pool", "gpus", "cpus", "memory_gib", "shm_gib", "retired_at"]
    list_filter = ["flavor__pool", "gpus", RetiredFilter]
    list_select_related = ["flavor__pool"]
    search_fields = ["name", "flavor__name", "flavor__pool__name"]
    autocomplete_fields = ["flavor"]
    fields = ["flavor", "name", "gpus", "cpus", "memory_gib", "shm_gib", "retired_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A spec of other size is another spec: reruns of jobs go by this one."""
        return [*super().get_readonly_fields(request, obj), *(["flavor", "gpus"] if obj else [])]

    @admin.display(description=_("resource pool"), ordering="flavor__pool__name")
    def pool(self, spec: Any) -> str:
        return str(spec.flavor.pool)


@admin.register(Node)
class NodeAdmin(PoolLocked):
    list_display = ["name", "pool", "flavor", "state", "idle", "prepaid_until"]
    list_filter = ["state", "flavor__pool", "idle", "prepaid_until"]
    list_select_related = ["flavor__pool"]
    list_per_page = 200
    search_fields = ["name", "flavor__name", "flavor__pool__name"]
    autocomplete_fields = ["flavor"]
    date_hierarchy = "prepaid_until"
    actions = ("ready", "cordon", "drain", "down", "retire")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["form"] = NodeForm if obj else NodesForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        if obj is None:
            return ["flavor", "names", "count", "prepaid_until"]
        return ["name", "flavor", "state", "idle", "prepaid_until"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return ["flavor", "idle"] if obj else []

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            _nodes_add(obj, form.cleaned_data)
            return
        fields = [name for name in form.changed_data if name != "state"]
        if fields:
            obj.save(update_fields=fields)
        if "state" in form.changed_data:
            node_set_state(nodes=Node.objects.filter(pk=obj.pk), state=NodeState(obj.state))

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        """Several nodes were added: back to the list, whichever button was pressed."""
        return self.response_post_save_add(request, obj)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self.message_user(request, obj.added, messages.SUCCESS)
        return super().log_addition(request, obj, [{"added": {"object": str(obj.added)}}])

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """A retired node may go: jobs keep its name. Another one may have Workers."""
        serving = [obj.name for obj in objs if obj.state != NodeState.RETIRED]
        if serving:
            text = _("Retire these nodes first: %(names)s") % {"names": ", ".join(serving[:20])}
            return [str(obj) for obj in objs], {}, set(), [text]
        return super().get_deleted_objects(objs, request)

    @admin.action(description=_("Ready: jobs may start"), permissions=["change"])
    def ready(self, request: HttpRequest, queryset: models.QuerySet[Node]) -> None:
        self.set_state(request, queryset, NodeState.READY)

    @admin.action(description=_("Cordon: running jobs go on, none starts"), permissions=["change"])
    def cordon(self, request: HttpRequest, queryset: models.QuerySet[Node]) -> None:
        self.set_state(request, queryset, NodeState.CORDONED)

    @admin.action(description=_("Drain: jobs have to leave, none starts"), permissions=["change"])
    def drain(self, request: HttpRequest, queryset: models.QuerySet[Node]) -> HttpResponse | None:
        return self.take_from_jobs(request, queryset, NodeState.DRAINED)

    @admin.action(description=_("Down: the machine is lost, jobs have to leave"), permissions=["change"])
    def down(self, request: HttpRequest, queryset: models.QuerySet[Node]) -> HttpResponse | None:
        return self.take_from_jobs(request, queryset, NodeState.DOWN)

    def take_from_jobs(
        self, request: HttpRequest, queryset: models.QuerySet[Node], state: NodeState
    ) -> HttpResponse | None:
        """A state in which Workers are ended; whoever knows jobs asks first."""
        self.set_state(request, queryset, state)
        return None

    @admin.action(description=_("Retire: gone for good"), permissions=["change"])
    def retire(self, request: HttpRequest, queryset: models.QuerySet[Node]) -> None:
        self.set_state(request, queryset, NodeState.RETIRED)

    def set_state(self, request: HttpRequest, queryset: models.QuerySet[Node], state: NodeState) -> None:
        chosen = Node.objects.filter(pk__in=list(queryset.values_list("pk", flat=True)))
        try:
            changed = node_set_state(nodes=chosen, state=state)
        except ValueError:
            names = chosen.filter(holds__isnull=False).distinct().values_list("name", flat=True)[:20]
            text = _("Nothing was changed. Workers hold GPUs of these nodes: %(names)s")
            self.message_user(request, text % {"names": ", ".join(names)}, messages.ERROR)
            return
        done = ngettext("%(n)d node is %(state)s now.", "%(n)d nodes are %(state)s now.", changed)
        self.message_user(request, done % {"n": changed, "state": state.label}, messages.SUCCESS)

    @admin.display(description=_("resource pool"), ordering="flavor__pool__name")
    def pool(self, node: Any) -> str:
        return str(node.flavor.pool)


def _nodes_add(first: Any, data: dict[str, Any]) -> None:
    """Adds the nodes that the form names; `first` becomes the first of them, for Django's log."""
    names: list[str] = data["names"]
    nodes_create(flavor=first.flavor, names=names)
    new = Node.objects.filter(flavor=first.flavor, name__in=names)
    if data["prepaid_until"]:
        new.update(prepaid_until=data["prepaid_until"])
    first.pk, first.name = new.values_list("pk", "name").order_by("pk")[0]
    first.added = ngettext("%(n)d node was added.", "%(n)d nodes were added.", len(names)) % {"n": len(names)}
