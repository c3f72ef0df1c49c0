"""The help: which pages there are, in which order, and their Markdown made into HTML.

Pages lie in docs/help/<language>/<slug>.md. The first line is the title, the first paragraph says what the
page is for, and a line `{#anchor}` above a heading or after `code` names a place that others link to. Links
between pages are written as files (`compute.md#queue`), so that they also work where the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, pgettext_lazy
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from mdit_py_plugins.attrs import attrs_block_plugin, attrs_plugin

FOLDER = Path(settings.BASE_DIR) / "docs" / "help"
LANGUAGES = ("zh", "en")
_BREAKS = re.compile(r"([_/=.]+)(?=\w)")
_WIDE_MARK = re.compile(r"[\u3000-\u303f\uff00-\uffef]")
_WIDE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


@dataclass(frozen=True, slots=True)
class Group:
    title: Promise
    slugs: tuple[str, ...]


GROUPS = (
    Group(pgettext_lazy("help", "Start here"), ("start", "choosing")),
    Group(pgettext_lazy("help", "Code and data"), ("code-and-data", "shared-state", "resumable")),
    Group(pgettext_lazy("help", "Resources and queue"), ("compute", "queue", "rdma")),
    Group(pgettext_lazy("help", "Image and framework"), ("environment", "images", "torchrun")),
    Group(pgettext_lazy("help", "Start command"), ("command", "reliable-commands")),
    Group(pgettext_lazy("help", "Storage and results"), ("storage", "results")),
    Group(pgettext_lazy("help", "Creating and watching"), ("basics", "tolerance", "states", "alerts")),
    Group(pgettext_lazy("help", "When something goes wrong"), ("troubleshooting", "checks")),
    Group(pgettext_lazy("help", "Scripts"), ("api",)),
)
SLUGS = tuple(slug for group in GROUPS for slug in group.slugs)


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, or before the first (without anchor), as plain text."""

    anchor: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class HelpPage:
    """`anchors` gives each named place of the page its title."""

    slug: str
    title: str
    lead: str
    body: str
    sections: tuple[Section, ...]
    anchors: dict[str, str]

    @property
    def address(self) -> str:
        return reverse("help-page", args=[self.slug])


@dataclass(frozen=True, slots=True)
class Found:
    """A section in which all words of a search occur."""

    page: HelpPage
    section: Section

    @property
    def address(self) -> str:
        return f"{self.page.address}#{self.section.anchor}" if self.section.anchor else self.page.address

    @property
    def title(self) -> str:
        return f"{self.page.title} › {self.section.title}" if self.section.title else self.page.title


def reader_language() -> str:
    """The folder of the active language."""
    return "zh" if (get_language() or "").startswith("zh") else "en"


def pages(language: str) -> list[HelpPage]:
    return [page(slug, language) for slug in SLUGS]


def groups(language: str) -> list[tuple[Promise, list[HelpPage]]]:
    return [(group.title, [page(slug, language) for slug in group.slugs]) for group in GROUPS]


@cache
def page(slug: str, language: str) -> HelpPage:
    """Read and rendered once a process. KeyError if there is no such page."""
    if slug not in SLUGS or language not in LANGUAGES:
        raise KeyError(slug)
    markdown = _markdown()
    tokens = markdown.parse((FOLDER / language / f"{slug}.md").read_text(encoding="utf-8"))
    title, body = tokens[:3], tokens[3:]
    sections = tuple(_sections(body))
    return HelpPage(
        slug=slug,
        title=_plain(title[1]),
        lead=_plain(body[1]),
        body=markdown.renderer.render(body, markdown.options, {}),
        sections=sections,
        anchors=dict(_anchors(body)),
    )


def neighbours(slug: str, language: str) -> tuple[HelpPage | None, HelpPage | None]:
    """The page before and the page after, where there is one."""
    at = SLUGS.index(slug)
    before, after = SLUGS[at - 1 : at] if at else (), SLUGS[at + 1 : at + 2]
    return (page(before[0], language) if before else None, page(after[0], language) if after else None)


def search(words: str, language: str) -> list[Found]:
    """Sections that contain every word; those that have one in their title come first."""
    wanted = words.casefold().split()
    if not wanted:
        return []
    found = [Found(p, section) for p in pages(language) for section in p.sections if _has(p, section, wanted)]
    return sorted(found, key=lambda f: not any(word in f.section.title.casefold() for word in wanted))


def _has(the_page: HelpPage, section: Section, wanted: Iterable[str]) -> bool:
    text = f"{the_page.title} {section.title} {section.text}".casefold()
    return all(word in text for word in wanted)


def _markdown() -> MarkdownIt:
    """A new one for each page: it fills caches of its own when first used, which threads must not share."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.use(attrs_plugin, allowed=["id"]).use(attrs_block_plugin, allowed=["id"])
    markdown.add_render_rule("fence", _fence)
    markdown.add_render_rule("code_inline", _code_inline)
    markdown.add_render_rule("link_open", _link_open)
    markdown.add_render_rule("softbreak", lambda _renderer, tokens, at, _options, _env: _joint(tokens, at))
    return markdown


def _fence(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    """Code scrolls sideways in itself, by keyboard too."""
    return f'<pre tabindex="0"><code>{escapeHtml(tokens[at].content)}</code></pre>\n'


def _code_inline(renderer: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    """A long word may break behind some of its signs, so that a table fits a phone."""
    text = _BREAKS.sub(r"\1<wbr>", escapeHtml(tokens[at].content))
    return f"<code{renderer.renderAttrs(tokens[at])}>{text}</code>"


def _link_open(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    address, sharp, anchor = str(tokens[at].attrGet("href") or "").partition("#")
    if address.endswith(".md") and "/" not in address:
        address = reverse("help-page", args=[address.removesuffix(".md")])
    tokens[at].attrSet("href", address + sharp + anchor)
    return str(renderer.renderToken(tokens, at, options, env))


def _sections(body: Sequence[Token]) -> Iterator[Section]:
    anchor, title = "", ""
    texts: list[str] = []
    before = None
    for token in body:
        heading, before = before, token
        if heading and heading.type == "heading_open" and heading.tag == "h2":
            yield Section(anchor, title, " ".join(texts))
            anchor, title, texts = str(heading.attrGet("id") or ""), _plain(token), []
        elif token.type == "inline":
            texts.append(_plain(token))
        elif token.type == "fence":
            texts.append(token.content)
    yield Section(anchor, title, " ".join(texts))


def _anchors(body: Sequence[Token]) -> Iterator[tuple[str, str]]:
    for token, inline in zip(body, [*body[1:], None], strict=True):
        if token.type == "heading_open" and inline is not None and token.attrGet("id"):
            yield str(token.attrGet("id")), _plain(inline)
        for child in token.children or ():
            if child.type == "code_inline" and child.attrGet("id"):
                yield str(child.attrGet("id")), child.content


def _plain(token: Token) -> str:
    """The text of an inline token, without its marks."""
    children = token.children or []
    return "".join(
        _joint(children, at) if child.type == "softbreak" else child.content
        for at, child in enumerate(children)
    )


def _joint(tokens: Sequence[Token], at: int) -> str:
    """What stands for the end of a line within a paragraph: nothing between Chinese signs, else a blank."""
    before, after = tokens[at - 1].content[-1:], tokens[at + 1].content[:1]
    joins = _WIDE_MARK.match(before) or (_WIDE.match(before) and _WIDE.match(after))
    return "" if joins else " "
