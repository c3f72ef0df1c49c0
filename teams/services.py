"""Rights and tokens."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from teams.models import ApiToken, Membership, Team, User
from teams.roles import Role


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
    found = (
        ApiToken.objects.select_related("user")
        .filter(digest=token_digest(token), expires_at__gt=timezone.now(), user__is_active=True)
        .first()
    )
    return found.user if found else None


def is_team_admin(*, user: User, team: Team) -> bool:
    return Membership.objects.filter(user=user, team=team, role=Role.ADMIN).exists()
