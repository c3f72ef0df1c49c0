"""The vendored icons are those that the templates use: none is missing, none is carried along."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ICONS = ROOT / "static/vendor/tabler-icons-3.52.0/icons.svg"
INCLUDE = re.compile(r'{%\s*include "includes/icon\.html"([^%]*)%}')
NAME = re.compile(r'\s*with name=(?:"([\w-]+)"|icon)\s*')  # `icon` is handed on from a template's icon="…"
HANDED_ON = re.compile(r'\bicon="([\w-]+)"')


def templates() -> list[str]:
    return [path.read_text() for path in (ROOT / "templates").rglob("*.html")]


def test_every_icon_is_named_where_it_is_used() -> None:
    includes = [found for source in templates() for found in INCLUDE.findall(source)]
    assert [found for found in includes if not NAME.fullmatch(found)] == []


def test_the_file_has_the_used_icons_and_no_others() -> None:
    includes = [found for source in templates() for found in INCLUDE.findall(source)]
    named = {m[1] for found in includes if (m := NAME.fullmatch(found)) and m[1]}
    handed_on = {name for source in templates() for name in HANDED_ON.findall(source)}
    assert set(re.findall(r'<symbol id="([\w-]+)"', ICONS.read_text())) == named | handed_on
