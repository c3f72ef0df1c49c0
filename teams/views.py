"""A person's own pages: preferences, the team whose things are shown, and API tokens."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from teams.forms import PreferencesForm, TokenForm
from teams.models import User
from teams.pages import SESSION_TEAM, THEME_COOKIE, address_back, posted, signed_in, teams_of
from teams.services import preferences_save, token_create, token_revoke

COOKIE_SECONDS = 365 * 24 * 3600
NEW_TOKEN, NEW_TOKEN_SECONDS = "new_token", 60


def preferences_remember(answer: HttpResponse, *, language: str | None, theme: str | None) -> None:
    """Tells the browser what was chosen; empty takes a choice back, None leaves it as it is."""
    for name, value in ((settings.LANGUAGE_COOKIE_NAME, language), (THEME_COOKIE, theme)):
        if value:
            answer.set_cookie(
                name, value, max_age=COOKIE_SECONDS, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
            )
        elif value is not None:
            answer.delete_cookie(name, samesite="Lax")


@posted("settings")
def preferences(request: HttpRequest) -> HttpResponse:
    """Language and theme, also of somebody who has not signed in."""
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(_("There is no such language or theme."))
    chosen = {name: form.chosen(name) for name in ("language", "theme")}
    if isinstance(request.user, User):
        preferences_save(user=request.user, **chosen)
        if request.POST.get("next") == reverse("settings"):
            messages.success(request, _("Saved."))
    answer = redirect(address_back(request, request.POST.get("next", ""), "/"))
    preferences_remember(answer, **chosen)
    return answer


@login_required
@posted("home")
def team_switch(request: HttpRequest) -> HttpResponse:
    """Shows the things of another team, or of all; a team that is not the person's is a 404."""
    asked = request.POST.get("team", "")
    if asked and asked not in [str(team.pk) for team in teams_of(request)]:
        raise Http404
    request.session[SESSION_TEAM] = int(asked) if asked else None
    return redirect(address_back(request, request.POST.get("next", ""), "/"))


@login_required
@never_cache
@require_safe
def settings_page(request: HttpRequest) -> HttpResponse:
    try:
        name, token = signing.loads(request.COOKIES.get(NEW_TOKEN, ""), max_age=NEW_TOKEN_SECONDS)
    except signing.BadSignature:
        return _settings(request, TokenForm(request.user))
    answer = _settings(request, TokenForm(request.user), token=token, token_name=name)
    answer.delete_cookie(NEW_TOKEN, path=reverse("settings"), samesite="Strict")
    return answer


@login_required
@never_cache
@posted("settings")
def token_new(request: HttpRequest) -> HttpResponse:
    """Makes a token; the page that follows shows it, once."""
    user = signed_in(request)
    form = TokenForm(user, request.POST)
    if not form.is_valid():
        return _settings(request, form, status=422)
    token, _expires_at = token_create(user=user, name=form.cleaned_data["name"])
    answer = redirect(reverse("settings") + "#tokens")
    answer.set_cookie(  # on its way through the browser, so that no token lies in the database in clear
        NEW_TOKEN,
        signing.dumps([form.cleaned_data["name"], token]),
        max_age=NEW_TOKEN_SECONDS,
        path=reverse("settings"),
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return answer


@login_required
@posted("settings")
def token_end(request: HttpRequest, pk: int) -> HttpResponse:
    if token_revoke(user=signed_in(request), token_id=pk):
        messages.success(request, _("The token was revoked."))
    else:
        messages.info(request, _("This token had been revoked already."))
    return redirect("settings")


def _settings(request: HttpRequest, form: TokenForm, status: int = 200, **context: Any) -> HttpResponse:
    user = signed_in(request)
    context |= {
        "form": form,
        "memberships": user.memberships.select_related("team").order_by("team__name"),
        "tokens": user.api_tokens.order_by("name"),
        "now": timezone.now(),
        "days": settings.API_TOKEN_DAYS,
        "languages": [(code, name) for code, name in settings.LANGUAGES],
    }
    return render(request, "teams/settings.html", context, status=status)
