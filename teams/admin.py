"""Admin pages of people, teams and API tokens, and what the admin pages of all apps share."""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db import models
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from teams.models import ApiToken, Membership, Team, User


class ReadOnly:
    """No adding, no change, no deleting."""

    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class KeepsReferred(admin.ModelAdmin):
    """Refuses to delete what others need, in one counted line a kind instead of a list of thousands."""

    instead = _("Retire it instead.")

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[Any, Any], set[Any], list[Any]]:
        counts = Counter(dict(_protecting(self.model._default_manager.filter(pk__in=[o.pk for o in objs]))))
        if not any(counts.values()):
            return super().get_deleted_objects(objs, request)
        lines = [
            _("%(count)d %(kind)s refer to it. %(instead)s")
            % {"count": count, "kind": kind, "instead": self.instead}
            for kind, count in counts.items()
            if count
        ]
        return [str(obj) for obj in objs], {}, set(), lines


def _protecting(doomed: models.QuerySet[Any]) -> Iterator[tuple[str, int]]:
    """What keeps the rows, and the rows that would go with them, from being deleted: (kind, count)."""
    for relation in doomed.model._meta.get_fields(include_hidden=True):
        if not isinstance(relation, models.ManyToOneRel) or not relation.auto_created:
            continue
        manager = relation.related_model._base_manager
        rows = manager.filter(**{f"{relation.field.name}__in": doomed.values("pk")})
        if relation.on_delete is models.PROTECT:
            yield str(rows.model._meta.verbose_name_plural), rows.count()
        elif relation.on_delete is models.CASCADE:
            yield from _protecting(rows)


class RetiredFilter(admin.SimpleListFilter):
    title = _("in service")
    parameter_name = "retired"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return [("no", _("in service")), ("yes", _("retired"))]

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        if self.value() in ("yes", "no"):
            return queryset.filter(retired_at__isnull=self.value() == "no")
        return queryset


class Retirable(KeepsReferred):
    """For models with `retired_at`: jobs that have the row keep it, new ones are not offered it."""

    actions: Sequence[str] = ("retire", "put_back")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return [*super().get_readonly_fields(request, obj), "retired_at"]

    @admin.action(description=_("Retire: jobs keep it, new ones are not offered it"), permissions=["change"])
    def retire(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
        self._retired(request, queryset.filter(retired_at=None), timezone.now())

    @admin.action(description=_("Put back in service"), permissions=["change"])
    def put_back(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
        self._retired(request, queryset.exclude(retired_at=None), None)

    def _retired(self, request: HttpRequest, queryset: models.QuerySet[Any], at: Any) -> None:
        changed = list(queryset.values_list("pk", flat=True))
        self.model._default_manager.filter(pk__in=changed).update(retired_at=at)
        self.after_change(changed)
        text = ngettext("%(n)d row was changed.", "%(n)d rows were changed.", len(changed))
        self.message_user(request, text % {"n": len(changed)}, messages.SUCCESS)

    def after_change(self, ids: Sequence[int]) -> None:
        """What is to follow when rows were retired or put back."""


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0


class TeamMembers(MembershipInline):
    autocomplete_fields = ["user"]


class UserTeams(MembershipInline):
    autocomplete_fields = ["team"]


@admin.register(Team)
class TeamAdmin(KeepsReferred):
    instead = _("Take its members and grants away instead.")
    list_display = ["name", "members", "created_at"]
    ordering = ["name"]
    search_fields = ["name"]
    readonly_fields = ["created_at"]
    inlines = [TeamMembers]

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(member_count=models.Count("memberships"))

    @admin.display(description=_("members"), ordering="member_count")
    def members(self, team: Any) -> int:
        return int(team.member_count)


@admin.register(User)
class UserAdmin(KeepsReferred, DjangoUserAdmin):
    instead = _("Take “Active” away instead: the person can no longer sign in.")
    list_display = ["username", "email", "teams", "is_staff", "is_active", "last_login"]
    list_filter = ["is_staff", "is_superuser", "is_active", "memberships__team"]
    inlines = [UserTeams]

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[User]:
        return super().get_queryset(request).prefetch_related("memberships__team")

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        return [UserTeams] if obj else []  # the page that adds a user asks for name and password only

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        rights = [] if request.user.is_superuser else ["is_superuser", "groups", "user_permissions"]
        return [*super().get_readonly_fields(request, obj), *rights]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only a superuser changes a superuser: whoever may set a password could sign in with it."""
        allowed = super().has_change_permission(request, obj)
        return allowed and not (obj and obj.is_superuser and not request.user.is_superuser)

    @admin.display(description=_("teams"))
    def teams(self, user: Any) -> str:
        return ", ".join(membership.team.name for membership in user.memberships.all())


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """To see whose tokens there are and to revoke them; a token is made by its owner, by REST."""

    list_display = ["name", "user", "created_at", "expires_at", "valid"]
    list_filter = ["created_at", "expires_at"]
    list_select_related = ["user"]
    search_fields = ["name", "user__username"]
    fields = ["user", "name", "created_at", "expires_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        if "delete_selected" in actions:
            function, name, *_rest = actions["delete_selected"]
            actions["delete_selected"] = (function, name, _("Revoke selected tokens"))
        return actions

    @admin.display(description=_("valid"), boolean=True)
    def valid(self, token: Any) -> bool:
        return bool(token.expires_at > timezone.now() and token.user.is_active)
