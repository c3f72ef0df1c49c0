"""What an address must not do to the database."""

import pytest
from django.test import Client

from engines.base import Protection
from runs import views
from tests.factories import PASSWORD, make_team, make_user

pytestmark = pytest.mark.django_db


class Unprotected:
    """An engine on a machine without user namespaces."""

    def protection(self):
        return Protection("none", "no user namespaces")


@pytest.fixture
def member(client):
    user = make_user(make_team(), is_staff=True, is_superuser=True)
    client.force_login(user)
    return client


@pytest.mark.parametrize("rest", ["", "events/", "workers/", "workers/0/log/"])
def test_a_nul_in_an_id_is_not_found(member, rest):
    assert member.get(f"/api/v1/jobs/jo-%00/{rest}").status_code == 404
    assert member.get("/jobs/jo-%00/").status_code == 404


@pytest.mark.parametrize("page", ["/jobs/?search=%00", "/admin/pools/node/?q=%00", "/jobs/?%00=1"])
def test_a_nul_in_a_query_is_a_bad_request(member, page):
    assert member.get(page).status_code == 400


def test_an_endless_user_name_is_told_at_sign_in(client):
    answer = client.post("/accounts/login/", {"username": "x" * 256, "password": PASSWORD})
    assert answer.status_code == 200
    assert "150" in answer.content.decode()


@pytest.mark.parametrize("size", ["000000200999", "000000100" + "9" * 4400, "0", "-1", "1e3", "201"])
def test_page_sizes_out_of_bounds(member, size):
    assert member.get(f"/api/v1/jobs/?page_size={size}").status_code == 400


def test_a_name_given_twice_in_json(member):
    answer = member.post("/api/v1/jobs/", '{"name": "a", "name": "b"}', content_type="application/json")
    assert answer.status_code == 400
    assert "twice" in answer.content.decode()


def test_the_page_of_a_refused_form_warns_too(monkeypatch):
    monkeypatch.setattr(views, "engine_of", lambda kind: Unprotected())
    client = Client(enforce_csrf_checks=True, headers={"Accept-Language": "en"})
    answer = client.post("/accounts/login/", {"username": "x", "password": "y"})
    assert answer.status_code == 403
    assert "Jobs on this machine run unprotected" in answer.content.decode()


def test_the_admin_pages_warn_too(member, monkeypatch):
    answer = member.get("/admin/")
    assert answer.context["protection"] is not None
    assert "admin/base_site.html" in [template.name for template in answer.templates]
