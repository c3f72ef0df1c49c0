"""The byte listener: what it answers whatever is asked, and what it leaves out."""

import pytest
from django.db import connection

from tests.files_client import fetch

pytestmark = pytest.mark.django_db
SEALED = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@pytest.mark.parametrize(
    ("method", "path", "host", "status"),
    [
        ("GET", "/healthz", "127.0.0.1", 200),
        ("HEAD", "/healthz", "localhost:8001", 200),
        ("GET", "/healthz", "evil.example", 400),
        ("POST", "/healthz", "127.0.0.1", 405),
        ("OPTIONS", "/logs/x", "127.0.0.1", 405),
        ("PUT", "/logs/x", "127.0.0.1", 405),
        ("GET", "/logs/x", "127.0.0.1", 404),
        *(("GET", path, "127.0.0.1", 404) for path in ("/", "/jobs/", "/admin/", "/accounts/login/")),
        *(("GET", path, "127.0.0.1", 404) for path in ("/static/js/page.js", "/api/v1/", "/logs/")),
    ],
)
def test_every_answer_is_sealed(method, path, host, status):
    answer = fetch(path, method, host)
    assert answer.status_code == status
    assert {name: answer.get(name) for name in SEALED} == SEALED
    assert not answer.cookies
    assert "text/plain" in answer["Content-Type"] or not answer.content


def test_a_session_opens_nothing_and_is_not_even_looked_up(django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = fetch("/logs/x", cookie="sessionid=abc; django_language=zh-hans")
    assert answer.content == b"There is nothing here, or nothing that you may see."
    assert "Cookie" not in answer.get("Vary", "")


def test_it_speaks_the_readers_language(chinese):
    answer = fetch("/nowhere", accept_language="zh-CN,zh;q=0.9")
    assert answer.content.decode() == "此处没有内容，或没有您可见的内容。"


@pytest.mark.django_db(transaction=True)
def test_the_database_is_let_go_before_the_bytes_are_sent():
    connection.ensure_connection()
    fetch("/logs/x")
    assert connection.connection is None
