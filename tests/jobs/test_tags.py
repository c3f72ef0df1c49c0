"""Tags as the form carries them, and on their way from REST through a clone."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from jobs.forms.tags import tags_of, tags_text
from jobs.models import Job
from tests.factories import make_user
from tests.jobs.answers import made
from tests.jobs.pages import CREATE, Page

AWKWARD = [
    "lr=0.1,wd=0",
    "中，文",
    'say "hi"',
    '"quoted"',
    '"',
    " edge ",
    'a"b,c"',
    "plain",
    '","',
    "x y",
    "“a,b”",
    "“”",
]


@given(st.lists(st.text(min_size=1)))
def test_what_is_written_is_read_back(tags: list[str]) -> None:
    assert list(tags_of(tags_text(tags))) == tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("", ()),
        (" , ,, ", ()),
        ("a, b，c\nd,", ("a", "b", "c", "d")),
        ('"a, b", c', ("a, b", "c")),
        (' "a,b" ,"c ""d"""', ("a,b", 'c "d"')),
        ('"a, b', ('"a', "b")),  # no whole quotation
        ('"a" b, c', ('"a" b', "c")),
        ('5" disk, x', ('5" disk', "x")),
        ('"", x', ("x",)),
        ("“lr=0.1，wd=0”，sweep", ("lr=0.1，wd=0", "sweep")),
        ("“a, b", ("“a", "b")),
        ("“a” b, c", ("“a” b", "c")),
    ],
)
def test_what_a_person_types(text: str, tags: tuple[str, ...]) -> None:
    assert tags_of(text) == tags


@pytest.mark.django_db
def test_a_clone_by_the_form_keeps_every_tag(api: Any, team: Any, body: dict[str, Any]) -> None:
    user = make_user(team)
    first = made(api(user).post("/api/v1/jobs/", body | {"tags": AWKWARD}))
    assert first["tags"] == AWKWARD
    browser = Client()
    browser.force_login(user)
    fields = Page(browser.get(f"{CREATE}?from={first['id']}")).fields()
    assert browser.post(CREATE, fields).status_code == 303
    assert Job.objects.latest("pk").request["tags"] == AWKWARD
