"""The pages of the help; for everybody, signed in or not."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import help as help_engine

LONGEST_SEARCH = 100


@require_safe
def help_index(request: HttpRequest) -> HttpResponse:
    """All pages, or the sections that contain the words of `?q=`."""
    language = help_engine.reader_language()
    words = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    context = {
        "groups": help_engine.groups(language),
        "words": words,
        "found": help_engine.search(words, language),
    }
    return render(request, "console/help.html", context)


@require_safe
def help_page(request: HttpRequest, slug: str) -> HttpResponse:
    language = help_engine.reader_language()
    try:
        page = help_engine.page(slug, language)
    except KeyError as error:
        raise Http404 from error
    before, after = help_engine.neighbours(slug, language)
    context = {"page": page, "groups": help_engine.groups(language), "before": before, "after": after}
    return render(request, "console/help_page.html", context)
