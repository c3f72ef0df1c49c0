"""The console with one address more: a POST that signs in and checks the token, and answers a constant."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.decorators import login_required  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.views.decorators.http import require_POST  # noqa: E402

CONSTANT = "/bench/constant/"


@login_required
@require_POST
def constant(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"the same for user {request.user.pk}")


class Addresses(ModuleType):
    urlpatterns = [path(CONSTANT.lstrip("/"), constant), path("", include("console.urls"))]


sys.modules["bench.recompute_urls"] = Addresses("bench.recompute_urls")
settings.ROOT_URLCONF = "bench.recompute_urls"
application = get_wsgi_application()
