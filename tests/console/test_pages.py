"""Home, health, signing in, language, the warning on every page, and error pages."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from unittest import mock

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po
from django.conf import settings
from django.db import OperationalError
from django.test import Client
from django.utils.translation.template import templatize

from engines.base import Protection
from tests.factories import PASSWORD, make_pool, make_team, make_user
from tests.jobs.pages import Page

PO = Path(settings.BASE_DIR, "locale/zh_Hans/LC_MESSAGES/django.po")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
FOLDERS = ("console", "runs", "jobs", "images", "storage", "pools", "alerts", "teams")


@pytest.mark.django_db
def test_signing_in_and_out(client: Client) -> None:
    user = make_user(make_team())
    assert client.get("/")["Location"] == "/accounts/login/?next=/"
    assert client.get("/jobs/")["Location"] == "/accounts/login/?next=/jobs/"
    wrong = client.post("/accounts/login/", {"username": user.username, "password": "wrong"})
    assert wrong.status_code == 200
    assert Page(wrong).all("div", class_="alert-danger")
    right = client.post(
        "/accounts/login/?next=/jobs/create/",
        {"username": user.username, "password": PASSWORD, "next": "/jobs/create/"},
    )
    assert right["Location"] == "/jobs/create/"
    assert client.get("/accounts/login/")["Location"] == "/"
    client.post("/accounts/logout/")
    assert client.get("/jobs/").status_code == 302


@pytest.mark.django_db
def test_health_is_the_databases(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok")
    with mock.patch("console.views.connection.cursor", side_effect=OperationalError):
        assert client.get("/healthz").status_code == 503


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["none", "proot"])
def test_every_page_says_that_jobs_run_unprotected(client: Client, mode: str) -> None:
    client.force_login(make_user(team := make_team()))
    make_pool(team)
    engine = mock.Mock(protection=lambda: Protection(mode, "bubblewrap: <no> namespaces"))
    with mock.patch("runs.views.engine_of", return_value=engine):
        for address in ("/jobs/", "/jobs/create/", "/jobs/nothing/", "/accounts/login/"):
            source = client.get(address, follow=True).content.decode()
            assert "Jobs on this machine run unprotected" in source
            assert f"mode: {mode}" in source
            assert "&lt;no&gt; namespaces" in source
    engine = mock.Mock(protection=lambda: Protection("unavailable", "bubblewrap: <no> namespaces"))
    with mock.patch("runs.views.engine_of", return_value=engine):
        source = client.get("/jobs/").content.decode()
    assert "No jobs can run on this machine" in source
    assert "run unprotected" not in source
    assert "&lt;no&gt; namespaces" in source
    safe = mock.Mock(protection=lambda: Protection("bubblewrap"))
    with mock.patch("runs.views.engine_of", return_value=safe):
        assert "unprotected" not in client.get("/jobs/").content.decode()


@pytest.mark.django_db
def test_pages_obey_a_strict_policy(client: Client) -> None:
    client.force_login(make_user(team := make_team()))
    make_pool(team)
    for address in ("/accounts/login/", "/", "/alerts/", "/images/", "/storage/", "/jobs/", "/jobs/create/"):
        answer = client.get(address, follow=True)
        assert "unsafe" not in answer["Content-Security-Policy"]
        page = Page(answer)
        assert not page.all("style")
        assert not [e for e in page.elements if "style" in e.attrs]
        assert not [e for e in page.all("script") if not e.attrs.get("src")]
        assert not [e for e in page.elements if any(name.startswith(("on", "hx-on")) for name in e.attrs)]


@pytest.mark.django_db
def test_error_pages(client: Client) -> None:
    client.raise_request_exception = False
    client.force_login(make_user(make_team()))
    assert "nothing that you may see" in client.get("/nothing/").content.decode()
    with mock.patch("jobs.views.listing._page", side_effect=RuntimeError("a secret")):
        answer = client.get("/jobs/")
    assert answer.status_code == 500
    assert "The console made a mistake" in answer.content.decode()
    assert "a secret" not in answer.content.decode()
    strict = Client(enforce_csrf_checks=True)
    assert "This form is too old" in strict.post("/accounts/login/").content.decode()
    assert client.get("/jobs/", headers={"host": "evil.example"}).status_code == 400


@pytest.mark.django_db
@pytest.mark.usefixtures("chinese")
def test_the_language_of_the_browser_or_the_switch(client: Client) -> None:
    client.force_login(make_user(make_team()))
    assert "任务列表" in client.get("/jobs/", headers={"accept-language": "zh-CN"}).content.decode()
    assert "任务列表" not in client.get("/jobs/", headers={"accept-language": "fr"}).content.decode()
    client.post("/settings/preferences/", {"language": "zh-hans", "next": "/jobs/"})
    assert "创建任务" in client.get("/jobs/", headers={"accept-language": "en"}).content.decode()


def catalogue() -> Catalog:
    with PO.open("rb") as file:
        return read_po(file)


def extracted() -> set[tuple[str | None, str]]:
    """(context, text) of everything that is to be translated, in Python and in templates."""
    found = set()
    base = Path(settings.BASE_DIR)
    sources = [(p, p.read_bytes()) for folder in FOLDERS for p in sorted((base / folder).rglob("*.py"))]
    sources += [
        (p, flush_left(templatize(p.read_text(), origin=str(p))))
        for p in sorted((base / "templates").rglob("*"))
        if p.is_file()
    ]
    for _path, source in sources:
        for _line, text, _comments, context in extract("python", BytesIO(source), KEYWORDS):
            found.add((context, text[0] if isinstance(text, tuple) else text))
    return found


def flush_left(text: str) -> bytes:
    """Templates are no Python: their indentation means nothing."""
    return "\n".join(line.lstrip() for line in text.split("\n")).encode()


def test_every_text_has_a_chinese_one() -> None:
    known = {}
    for message in catalogue():
        single = message.id[0] if isinstance(message.id, tuple) else message.id
        known[(message.context, single)] = message.string
    missing = sorted(text for context, text in extracted() if not known.get((context, text)))
    assert missing == []


@pytest.mark.parametrize(
    ("english", "label"),
    [
        ("Create job", "创建任务"),
        ("Job type", "任务类型"),
        ("Training job", "训练任务"),
        ("Resource type", "资源类型"),
        ("Prepaid resources", "包年包月资源"),
        ("Resource pool", "资源池"),
        ("Worker spec", "Worker 规格"),
        ("Worker count", "Worker 数量"),
        ("Total GPUs", "总 GPU 数量"),
        ("Startable count", "可启动数量"),
        ("Idle GPUs", "空闲卡数"),
        ("Custom GPU count", "自定义卡数"),
        ("Distributed framework", "分布式框架"),
        ("Start command", "启动命令"),
        ("Environment variables", "环境变量"),
        ("visible to the creator only", "仅创建人可见"),
        ("System disk", "系统盘"),
        ("Public data", "公共数据"),
        ("High-performance storage", "高性能存储"),
        ("Mount path", "挂载路径"),
        ("Job name", "任务名称"),
        ("Description", "描述"),
        ("Tags", "标签"),
        ("Job details", "任务详情"),
        ("Job log", "任务日志"),
        ("Progress", "详细进度"),
        ("queued", "排队中"),
        ("deploying", "部署中"),
        ("stopping", "停止中"),
        ("allocate resources", "分配资源"),
        ("pull image", "拉取镜像"),
    ],
)
def test_the_labels_are_those_of_the_documents(english: str, label: str) -> None:
    assert catalogue().get(english).string == label


def test_placeholders_survive_translation() -> None:
    for message in catalogue():
        singular = message.id[0] if isinstance(message.id, tuple) else message.id
        string = message.string[0] if isinstance(message.string, tuple) else message.string
        assert set(message_placeholders(singular)) >= set(message_placeholders(string))


def message_placeholders(text: str) -> list[str]:
    return [piece.split(")")[0] for piece in text.split("%(")[1:]]
