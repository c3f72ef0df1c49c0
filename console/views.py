"""Home, health and sign-in."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from teams.models import User
from teams.views import preferences_remember, signed_in


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("jobs")


@login_required
@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    return render(request, "console/alerts.html")


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers; an error of the database becomes a 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception:  # whatever keeps the database from answering, the answer is the same
        return HttpResponse("no database", status=503, content_type="text/plain")
    return HttpResponse("ok", content_type="text/plain")


class SignInForm(AuthenticationForm):
    """Django tells the browser how long a name may be; this also tells a client that does not listen."""

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        most = User._meta.get_field("username").max_length
        if len(name) > (most or 0):
            raise ValidationError(_("Must be at most 150 characters."), "max_length")
        return name


class SignIn(LoginView):
    """Signing in also brings the language and theme that the person chose elsewhere."""

    form_class = SignInForm
    template_name = "console/login.html"
    redirect_authenticated_user = True
    extra_context = {"demo": lambda: settings.DEMO}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        answer = super().form_valid(form)
        user = signed_in(self.request)
        preferences_remember(answer, language=user.language or None, theme=user.theme or None)
        return answer
