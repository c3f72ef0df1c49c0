"""Home, health, signing in, language, the warning on every page, and error pages."""

from __future__ import annotations

from unittest import mock

import pytest
from django.db import OperationalError
from django.test import Client

from engines.base import Protection
from tests.factories import PASSWORD, make_pool, make_team, make_user
from tests.jobs.pages import Page


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
@pytest.mark.parametrize("limits", [True, False])
def test_the_form_says_where_limits_are_not_kept(client: Client, limits: bool) -> None:
    client.force_login(make_user(team := make_team()))
    make_pool(team)
    engine = mock.Mock(protection=lambda: Protection("bubblewrap", limits=limits))
    with mock.patch("runs.views.engine_of", return_value=engine):
        source = client.get("/jobs/create/").content.decode()
    assert ("Limits of CPU and memory are not enforced" in source) is not limits


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
