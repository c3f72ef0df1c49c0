"""Name, description and tags."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from alerts.signs import turns
from jobs.findings import Finding
from jobs.rules.limits import MOST_DESCRIPTION, MOST_NAME, MOST_TAG, MOST_TAGS
from jobs.spec import JobSpec

BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"  # fillers of Korean, and Braille without a dot


def basics(spec: JobSpec) -> Iterator[Finding]:
    if not _visible(spec.name):
        yield Finding("required", "name")
    elif _has_control(spec.name):
        yield Finding("control_character", "name")
    elif turns(spec.name):
        yield Finding("turning_character", "name")
    for field, value, most in (
        ("name", spec.name, MOST_NAME),
        ("description", spec.description, MOST_DESCRIPTION),
    ):
        if len(value) > most:
            yield Finding("too_long", field, data={"most": most, "unit": "characters"})
        if "\0" in value:
            yield Finding("nul_character", field)
    yield from _tags(spec)


def _tags(spec: JobSpec) -> Iterator[Finding]:
    if len(spec.tags) > MOST_TAGS:
        yield Finding("too_many", "tags", data={"most": MOST_TAGS})
    for i, tag in enumerate(spec.tags):
        if not _visible(tag):
            yield Finding("required", f"tags.{i}")
        elif _has_control(tag):
            yield Finding("control_character", f"tags.{i}")
        elif len(tag) > MOST_TAG:
            yield Finding("too_long", f"tags.{i}", data={"most": MOST_TAG, "unit": "characters"})
        elif "\0" in tag:
            yield Finding("nul_character", f"tags.{i}")


def _visible(text: str) -> bool:
    """Whether there is anything to see: blanks, controls and zero-width signs are nothing, nor are blank
    letters."""
    return any(unicodedata.category(sign)[0] not in "ZC" and sign not in BLANK_LETTERS for sign in text)


def _has_control(text: str) -> bool:
    return any(unicodedata.category(sign) == "Cc" for sign in text)
