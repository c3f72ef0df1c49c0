"""Rights and tokens."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from teams.models import ApiToken, Team, User
from teams.roles import Role

USE_NOTED_EVERY = timedelta(minutes=5)  # so that a busy script does not write at every call


def token_digest(token: str) -> str:
    """What is stored of a token. A token has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def token_create(*, user: User, name: str = "default") -> tuple[str, datetime]:
    """Makes a token, replacing the one of the same name. Answers it in clear, once, with its end."""
    token = secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(days=settings.API_TOKEN_DAYS)
    ApiToken.objects.update_or_create(
        user=user, name=name, defaults={"digest": token_digest(token), "expires_at": expires_at}
    )
    return token, expires_at


def token_user(*, token: str) -> User | None:
    """Whose token it is; None if it is unknown, expired, or its user may not sign in."""
    now = timezone.now()
    found = (
        ApiToken.objects.select_related("user")
        .filter(digest=token_digest(token), expires_at__gt=now, user__is_active=True)
        .first()
    )
    if found is None:
        return None
    if found.used_at is None or now - found.used_at > USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=found.pk).update(used_at=now)
    return found.user


def token_revoke(*, user: User, token_id: int) -> bool:
    """Ends a token of the user at once; False if there is no such token of theirs."""
    return bool(ApiToken.objects.filter(user=user, pk=token_id).delete()[0])


def preferences_save(*, user: User, language: str | None, theme: str | None) -> None:
    """Keeps what a person chose, for every browser they sign in with; None leaves a choice as it is."""
    if language is not None:
        user.language = language
    if theme is not None:
        user.theme = theme
    user.save(update_fields=["language", "theme"])


def team_of_session(*, teams: Sequence[Team], chosen: object) -> Team | None:
    """The team whose things are shown: the only one, or the one chosen; None stands for all of them."""
    if len(teams) == 1:
        return teams[0]
    return next((team for team in teams if team.pk == chosen), None)


def admin_names(*, user: User, team: Team | int | None) -> list[str]:
    """Whom to ask: the admins of the team (or of that with this id), or of all teams of the user."""
    teams = [team] if team else Team.objects.filter(memberships__user=user)
    admins = User.objects.filter(
        memberships__role=Role.ADMIN, memberships__team__in=teams, is_active=True
    ).distinct()
    return list(admins.order_by("username").values_list("username", flat=True))
