"""Signing in, and what was typed before somebody had to."""

from __future__ import annotations

from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.csrf import csrf_failure
from django.views.decorators.cache import never_cache

from jobs.views.create import create, restored
from teams.models import User
from teams.pages import signed_in
from teams.vault import decrypt, encrypt
from teams.views import preferences_remember

DRAFT = "draft"  # a form as it was typed, encrypted, on its way through the sign-in page


class SignInForm(AuthenticationForm):
    """Django tells the browser how long a name may be; this also tells a client that does not listen."""

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        most = User._meta.get_field("username").max_length
        if len(name) > (most or 0):
            raise ValidationError(_("Must be at most 150 characters."), "max_length")
        return name


class SignIn(LoginView):
    """Signing in also brings the language and theme that the person chose elsewhere, and gives back the
    form that a session's end had interrupted."""

    form_class = SignInForm
    template_name = "console/login.html"
    redirect_authenticated_user = True
    extra_context = {"demo": lambda: settings.DEMO}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and request.POST.get(DRAFT):
            return _given_back(request)
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {DRAFT: self.request.POST.get(DRAFT, "")}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        answer = super().form_valid(form)
        if self.request.POST.get(DRAFT):
            answer = _given_back(self.request)
        user = signed_in(self.request)
        preferences_remember(answer, language=user.language or None, theme=user.theme or None)
        return answer


@never_cache
def job_create_or_sign_in(request: HttpRequest) -> HttpResponse:
    """The create page. A form that comes after its session's end leads to the sign-in page with it."""
    if request.method == "POST" and not request.user.is_authenticated:
        return _sign_in_keeping(request, request.POST)
    return create(request)


@never_cache
def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """A form of our own whose token is from an earlier session is given back instead of lost. What another
    site sends is refused: it must not fill in anybody's form."""
    ours = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    typed = _typed(request) if ours else None
    if typed is None:
        return csrf_failure(request, reason=reason)
    if not request.user.is_authenticated:
        return _sign_in_keeping(request, typed)
    notice = _("The page had become too old. Here is your form as you typed it; nothing was created yet.")
    answer = restored(request, typed, notice)
    answer.status_code = 403
    return answer


def _typed(request: HttpRequest) -> QueryDict | None:
    """The form of a job that the request carries, by itself or through the sign-in page."""
    if request.path == reverse("job-create"):
        return request.POST
    if request.path == reverse("login") and request.POST.get(DRAFT):
        return _opened(request)
    return None


def _opened(request: HttpRequest) -> QueryDict:
    """The form that went through the sign-in page; an empty one if it does not come from this console."""
    try:
        return QueryDict(decrypt(request.POST[DRAFT].encode()))
    except InvalidToken:
        return QueryDict()


def _sign_in_keeping(request: HttpRequest, typed: QueryDict) -> HttpResponse:
    kept = typed.copy()
    kept.pop("csrfmiddlewaretoken", None)
    context = {
        "form": SignInForm(request),
        "next": reverse("job-create"),
        "demo": settings.DEMO,
        DRAFT: encrypt(kept.urlencode()).decode(),  # it may hold private values
    }
    return render(request, SignIn.template_name, context, status=401)


def _given_back(request: HttpRequest) -> HttpResponse:
    notice = _("Signed in again. Here is your form as you typed it; nothing was created yet.")
    return restored(request, _opened(request), notice)
