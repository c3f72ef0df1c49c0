"""Templates of start commands, filled in with what the form holds at the moment."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST

from jobs.command.templates import Template
from jobs.forms import JobForm
from jobs.forms.ground import template_filled
from teams.pages import part, signed_in


@part
@require_POST
def command_template(request: HttpRequest) -> HttpResponse:
    """`text`, and `whole`: whether it takes the place of the command, or goes in where the cursor is."""
    asked = request.POST.get("template")
    if asked not in set(Template):
        raise Http404
    text = template_filled(JobForm(signed_in(request), request.POST), Template(asked))
    return JsonResponse({"text": text.text, "whole": text.whole})
