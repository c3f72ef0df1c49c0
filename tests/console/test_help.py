"""The help: its pages in both languages, their links and anchors, and the links into it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.test import Client
from django.urls import Resolver404, resolve
from django.utils import translation

from console import help as help_engine
from console.help import LANGUAGES, SLUGS
from jobs.models import STATE_LABELS
from jobs.rules import limits
from jobs.texts import EVENTS, FINDINGS, REASONS
from tests.factories import make_team, make_user
from tests.jobs.pages import Page

TEMPLATES = Path(settings.BASE_DIR) / "templates"
PROMISED = {
    "compute": "job-type resource-type pool occupancy queue spec worker-count startable custom-gpus rdma",
    "environment": "image image-missing framework injected",
    "command": "start-command env private preview exit-code",
    "storage": "system-disk public-data mounts path-check",
    "basics": "name create priority start-policy max-queue max-runtime stop-grace keep-files",
    "tolerance": "auto-restart hang",
    "states": "states deploy-steps log events",
    "results": "",
    "troubleshooting": "",
    "checks": "",
    "api": "clone",
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"{%\s*include\s+\S+\s+with\s+([^%]*anchor=[^%]*)%}")
PAGES = [(slug, language) for slug in SLUGS for language in LANGUAGES]


def source(slug: str, language: str) -> str:
    return (help_engine.FOLDER / language / f"{slug}.md").read_text()


def links(html: str) -> list[str]:
    return re.findall(r'<a href="([^"]*)"', html)


def test_the_list_is_that_of_the_folders() -> None:
    for language in LANGUAGES:
        assert sorted(p.stem for p in (help_engine.FOLDER / language).iterdir()) == sorted(SLUGS)


def test_what_others_link_to_is_there() -> None:
    for slug, anchors in PROMISED.items():
        for language in LANGUAGES:
            assert set(anchors.split()) <= set(help_engine.page(slug, language).anchors)


@pytest.mark.parametrize("slug", SLUGS)
def test_both_languages_have_the_same_places_and_the_same_code(slug: str) -> None:
    zh, en = (help_engine.page(slug, language) for language in LANGUAGES)
    assert list(zh.anchors) == list(en.anchors)
    assert FENCE.findall(source(slug, "zh")) == FENCE.findall(source(slug, "en"))
    assert sorted(links(zh.body)) == sorted(links(en.body))
    assert all((zh.title, zh.lead, en.title, en.lead))
    assert re.search("[一-鿿]", zh.lead)
    assert not re.search("[一-鿿]", re.sub("；", "", en.body))


@pytest.mark.parametrize(("slug", "language"), PAGES)
def test_each_section_can_be_linked_to(slug: str, language: str) -> None:
    page = help_engine.page(slug, language)
    assert all(section.anchor for section in page.sections[1:])
    assert not re.search(r"\{#[\w-]+\}", page.body)
    assert "<h1" not in page.body
    ids = re.findall(r' id="([^"]*)"', page.body)
    assert sorted(ids) == sorted(set(ids)) == sorted(page.anchors)


@pytest.mark.parametrize(("slug", "language"), PAGES)
def test_links_lead_somewhere(slug: str, language: str) -> None:
    broken = []
    for link in links(help_engine.page(slug, language).body):
        address, _, anchor = link.partition("#")
        try:
            found = resolve(address or f"/help/{slug}/")
        except Resolver404:
            broken.append(link)
            continue
        if found.url_name == "help-page":
            there = found.kwargs["slug"]
            known = there in SLUGS and {"", *help_engine.page(there, language).anchors}
            if not known or anchor not in known:
                broken.append(link)
    assert not broken


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_check_result_and_reason_is_explained(language: str) -> None:
    checks = help_engine.page("checks", language)
    codes = {a for a, title in checks.anchors.items() if a == title}
    assert codes == {*FINDINGS, "too_long"}
    reasons = help_engine.page("troubleshooting", language)
    assert {a for a, title in reasons.anchors.items() if a == title} == {*REASONS, "capacity"}


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("language", LANGUAGES)
def test_states_and_events_are_called_as_on_the_pages(language: str) -> None:
    text = source("states", language)
    with translation.override({"zh": "zh-hans", "en": "en"}[language]):
        names = [str(label) for label in STATE_LABELS.values()]
        events = [str(event) for event in EVENTS.values() if "%" not in str(event)]
    assert [name for name in names if f"| {name} |" not in text] == []
    assert [event for event in events if event not in text] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_limits_are_those_of_the_rules(language: str) -> None:
    table = source("checks", language).partition("{#limits}")[2].partition("{#")[0]
    numbers = set(re.findall(r"\d+", table))
    kib = 2**10
    told = [
        limits.MOST_WORKERS,
        limits.MOST_CUSTOM_GPUS,
        limits.MOST_COMMAND_BYTES // kib,
        limits.MOST_VARIABLES,
        limits.MOST_VARIABLE_NAME,
        limits.MOST_VALUE_BYTES // kib,
        limits.MOST_ENV_BYTES // kib,
        limits.MOST_MOUNTS,
        limits.MOST_PATH_BYTES,
        limits.MOST_NAME_BYTES,
        limits.MOST_NAME,
        limits.MOST_DESCRIPTION,
        limits.MOST_TAGS,
        limits.MOST_TAG,
        limits.MOST_GRACE_SECONDS,
        limits.MOST_RESTARTS,
        limits.LEAST_HANG_SECONDS,
        limits.MOST_HANG_SECONDS,
        limits.MOST_MINUTES,
        settings.API_TOKEN_DAYS,
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE // kib**2,
    ]
    assert [limit for limit in told if str(limit) not in numbers] == []


@pytest.mark.parametrize("slug", SLUGS)
def test_python_examples_are_python(slug: str) -> None:
    for kind, code in FENCE.findall(source(slug, "en")):
        if kind == "python":
            compile(code, f"{slug}.md", "exec")


@pytest.mark.django_db
@pytest.mark.parametrize("signed_in", [False, True])
def test_everybody_may_read(client: Client, signed_in: bool) -> None:
    if signed_in:
        client.force_login(make_user(make_team()))
    index = Page(client.get("/help/"))
    assert {f"/help/{slug}/" for slug in SLUGS} <= {a.attrs.get("href") for a in index.all("a")}
    for slug in SLUGS:
        answer = client.get(f"/help/{slug}/")
        assert answer.status_code == 200
        page = Page(answer)
        assert len(page.all("h1")) == 1
        ids = [e.attrs["id"] for e in page.elements if e.attrs.get("id")]
        assert len(ids) == len(set(ids))
        assert [a.attrs["href"] for a in page.all("a") if a.attrs.get("aria-current")][-1:] == [
            f"/help/{slug}/"
        ]
        assert not [e for e in page.elements if "style" in e.attrs]


@pytest.mark.django_db
def test_pages_that_do_not_exist(client: Client) -> None:
    for address in ("/help/nothing/", "/help/README/", "/help/..%2Fen%2Fapi/", "/help/compute.md/"):
        assert client.get(address).status_code == 404
    assert client.post("/help/compute/").status_code == 405


@pytest.mark.django_db
@pytest.mark.usefixtures("chinese")
def test_the_page_speaks_the_readers_language(client: Client) -> None:
    zh = client.get("/help/compute/", headers={"accept-language": "zh-CN"}).content.decode()
    en = client.get("/help/compute/", headers={"accept-language": "fr"}).content.decode()
    assert '<h2 id="worker-count">Worker 数量</h2>' in zh
    assert '<h2 id="worker-count">Worker count</h2>' in en
    assert "资源与排队" in zh


@pytest.mark.django_db
def test_the_pages_are_in_a_row(client: Client) -> None:
    first, second, last = SLUGS[0], SLUGS[1], SLUGS[-1]

    def next_to(slug: str) -> list[tuple[str | None, str | None]]:
        page = Page(client.get(f"/help/{slug}/"))
        return [(a.attrs.get("rel"), a.attrs["href"]) for a in page.all("a") if a.attrs.get("rel")]

    assert next_to(first) == [("next", f"/help/{second}/")]
    assert ("prev", f"/help/{first}/") in next_to(second)
    assert [rel for rel, _ in next_to(last)] == ["prev"]


@pytest.mark.django_db
def test_searching(client: Client) -> None:
    found = client.get("/help/", {"q": "137 signal"}).content.decode()
    assert "/help/command/#exit-code" in found
    assert help_engine.search("startable", "en")[0].section.anchor == "startable"
    assert not help_engine.search("", "en")
    nothing = client.get("/help/", {"q": "<b>nothing</b>"}).content.decode()
    assert "0 places mention “&lt;b&gt;nothing&lt;/b&gt;”" in nothing


def test_html_in_markdown_stays_text() -> None:
    html = help_engine._markdown().render("<script>alert(1)</script>\n\na <b>b</b> [x](javascript:alert(1))")
    assert "<script" not in html
    assert "<b>" not in html
    assert "href" not in html


def test_the_question_mark_beside_a_field() -> None:
    link = render_to_string("includes/help.html", {"page": "compute", "anchor": "worker-count"})
    assert 'href="/help/compute/#worker-count"' in link
    assert 'target="_blank"' in link
    assert "Help: Worker count (new tab)" in link
    whole = render_to_string("includes/help.html", {"page": "api", "anchor": ""})
    assert 'href="/help/api/"' in whole
    assert "Help: REST API (new tab)" in whole
    gone = render_to_string("includes/help.html", {"page": "checks", "anchor": "of_an_older_console"})
    assert "Help: Check results and limits" in gone


def test_every_question_mark_leads_somewhere() -> None:
    """Also where another template passes page and anchor on."""
    broken, seen = [], 0
    for template in sorted(TEMPLATES.rglob("*.html")):
        for given in INCLUDE.findall(template.read_text()):
            arguments = dict(re.findall(r'(\w+)="([^"]*)"', given))
            if "page" not in arguments:
                continue  # a variable: what it may be is another's test
            seen += 1
            known = arguments["page"] in SLUGS and help_engine.page(arguments["page"], "en").anchors
            if known is False or arguments.get("anchor", "") not in {"", *known}:
                broken.append((template.name, given))
    assert seen
    assert not broken
