"""Every error that sending can end with has a sentence that says what to do."""

import re
from pathlib import Path

import pytest
from django.utils import translation

from alerts.texts import ERRORS, error_text

SOURCES = "".join(
    path.read_text() for path in (Path(__file__).parents[2] / "alerts" / "senders").glob("*.py")
)
NAMED = set(
    re.findall(r'(?:Refused|Later|Wrong)\(\s*"(\w+)"', SOURCES)
    + re.findall(r'"((?:receiver|address|apprise|mail)_\w+)"', SOURCES)
    + ["redirect", "no_mail_server", "connection"]
) - {"mail_sink", "address_family"}


@pytest.mark.parametrize("code", sorted(NAMED))
def test_codes_have_sentences(code):
    assert code in ERRORS


@pytest.mark.parametrize("code", sorted(ERRORS))
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_sentences_are_filled(code, language, chinese):
    data = {"status": 404, "seconds": 10.0, "reason": "x", "number": 7, "message": "no"}
    with translation.override(language):
        text = error_text(code, data)
    assert "%" not in text
    assert text != code


def test_an_unknown_code_is_shown_as_it_is():
    assert error_text("new_one", {}) == "new_one"
