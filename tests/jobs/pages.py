"""A browser without JavaScript, as far as these tests need one."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.http import HttpResponse

Attrs = dict[str, str | None]
CREATE = "/jobs/create/"


@dataclass
class Element:
    tag: str
    attrs: Attrs
    text: str = ""
    options: list[Attrs] = field(default_factory=list)


class Page(HTMLParser):
    """What a page holds: its elements, and what its form would send."""

    VOID = ("input", "img", "meta", "link", "br")

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.source = response.content.decode()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag == "option":
            select = next(e for e in reversed(self._open) if e.tag == "select")
            select.options.append(element.attrs)
        if tag not in self.VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attrs: str) -> list[Element]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}
        return [
            e
            for e in self.elements
            if e.tag == tag
            and all(value in (e.attrs.get(name) or "").split() for name, value in wanted.items())
        ]

    def by_id(self, name: str) -> Element:
        return next(e for e in self.elements if e.attrs.get("id") == name)

    def number(self, name: str) -> int:
        return int(self.by_id(name).text)

    def fields(self) -> dict[str, list[str]]:
        """Names and values as the create form would send them."""
        sent: dict[str, list[str]] = {}
        for e in self.elements:
            name, kind = e.attrs.get("name"), e.attrs.get("type")
            if not name or name in ("csrfmiddlewaretoken", "next", "language") or "disabled" in e.attrs:
                continue
            value: Any = None
            if e.tag == "textarea":
                value = e.text.removeprefix("\n")
            elif e.tag == "select":
                chosen = [o for o in e.options if "selected" in o] or e.options[:1]
                value = chosen[0].get("value") if chosen else None
            elif e.tag == "input" and (kind not in ("radio", "checkbox") or "checked" in e.attrs):
                value = e.attrs.get("value") or ("on" if kind == "checkbox" else "")
            if value is not None:
                sent.setdefault(name, []).append(value)
        return sent
