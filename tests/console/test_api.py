"""The API as a whole: its description, its ways in, and addresses that do not exist."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from tests.factories import make_user


def test_the_description_is_valid_and_complete():
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", stdout=out)
    schema = json.loads(out.getvalue())
    assert schema["openapi"].startswith("3.1")
    create = schema["paths"]["/api/v1/jobs/"]["post"]
    assert {p["name"] for p in create["parameters"]} == {"dry_run", "ranks", "Idempotency-Key"}
    assert {"200", "201"} <= set(create["responses"])
    listing = schema["paths"]["/api/v1/jobs/"]["get"]
    assert {"state", "search", "created_after", "cursor", "page_size"} <= {
        p["name"] for p in listing["parameters"]
    }
    log = schema["paths"]["/api/v1/jobs/{key}/workers/{rank}/log/"]["get"]
    assert "text/plain" in log["responses"]["200"]["content"]


def test_the_description_can_be_browsed_without_a_session(client, db):
    assert client.get("/api/v1/schema/").status_code == 200
    page = client.get("/api/docs/")
    assert page.status_code == 200
    assert b"swagger-ui" in page.content
    assert b"cdn." not in page.content


@pytest.mark.django_db
def test_addresses_that_do_not_exist_say_so_in_json(api):
    client = api(make_user())
    assert client.get("/api/v1/").json()["jobs"].endswith("/api/v1/jobs/")
    for path in ("nothing/", "jobs", "jobs/jo-x/nothing/", "jobs/..%2f..%2fetc%2fpasswd/", "pools/x/"):
        for answer in (client.get(f"/api/v1/{path}"), client.post(f"/api/v1/{path}", {})):
            assert answer.status_code == 404
            assert answer.json()["errors"][0]["code"] == "not_found"
    assert APIClient().get("/api/v1/jobs/").status_code == 401


@pytest.mark.django_db
def test_a_session_needs_the_csrf_token():
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(make_user())
    assert client.get("/api/v1/jobs/").status_code == 200
    assert client.post("/api/v1/jobs/", {}).status_code == 403
