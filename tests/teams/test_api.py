"""REST: signing in, who is calling, and what every view does with what it does not know."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from teams.models import ApiToken
from tests.factories import PASSWORD, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db

TOKEN = "/api/v1/auth/token/"
ME = "/api/v1/me/"


def errors(response):
    """The errors of an answer as (code, attr)."""
    assert set(response.json()) == {"type", "errors"}
    assert all(set(error) == {"code", "detail", "attr"} for error in response.json()["errors"])
    return [(error["code"], error["attr"]) for error in response.json()["errors"]]


def sign_in(user, **fields):
    return APIClient().post(TOKEN, {"username": user.username, "password": PASSWORD} | fields)


def test_a_token_opens_the_api():
    team = make_team()
    user = make_user(team, admin=True, high=True)
    answer = sign_in(user, name="laptop")
    assert answer.status_code == 200
    assert set(answer.json()) == {"token", "expires_at"}
    client = APIClient(headers={"Authorization": f"Token {answer.json()['token']}"})
    me = client.get(ME).json()
    assert me["username"] == user.username
    assert me["teams"] == [{"id": team.pk, "name": team.name, "role": "admin", "may_use_high_priority": True}]


def test_a_token_of_the_same_name_replaces_the_former():
    user = make_user()
    first, other, second = (sign_in(user, name=name).json()["token"] for name in ("a", "b", "a"))

    def status(token):
        return APIClient(headers={"Authorization": f"Token {token}"}).get(ME).status_code

    assert [status(token) for token in (first, other, second)] == [401, 200, 200]


def test_an_expired_token_and_an_unknown_one_are_refused():
    token = sign_in(make_user()).json()["token"]
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    for words in (f"Token {token}", "Token x", "Token", "Token a b", "Token \xff"):
        answer = APIClient(headers={"Authorization": words}).get(ME)
        assert (answer.status_code, errors(answer)) == (401, [("authentication_failed", None)])
        assert answer["WWW-Authenticate"] == "Token"
    assert APIClient().get(ME).status_code == 401


def test_a_wrong_password_is_a_standard_error():
    user = make_user()
    answer = sign_in(user, password="wrong")
    assert (answer.status_code, errors(answer)) == (401, [("authentication_failed", None)])
    assert errors(sign_in(user, password=7, passwort="x")) == [
        ("unknown", "passwort"),
        ("invalid", "password"),
    ]
    assert errors(APIClient().post(TOKEN, {})) == [("required", "username"), ("required", "password")]


def test_too_many_wrong_passwords_lock_for_a_while(settings):
    settings.AXES_FAILURE_LIMIT = 3
    user = make_user()
    answers = [sign_in(user, password="wrong").status_code for _ in range(3)]
    assert answers[0] == 401
    locked = sign_in(user)
    assert (locked.status_code, errors(locked)) == (429, [("throttled", None)])


@pytest.mark.parametrize("body", ["[1]", '"x"', "{", "nul", "NaN", "[" * 100_000, "\x00"])
def test_what_is_no_json_object_is_400(body):
    answer = APIClient().post(TOKEN, body, content_type="application/json")
    assert answer.status_code == 400
    errors(answer)


def test_a_body_that_is_too_large_is_413(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = APIClient().post(TOKEN, {"username": "x" * 100})
    assert (answer.status_code, errors(answer)) == (413, [("body_too_large", None)])


def test_unknown_query_parameters_are_named_on_every_method(api):
    user = make_user()
    for method in ("get", "post", "put", "delete", "options"):
        answer = getattr(api(user), method)(ME + "?colour=red")
        assert (answer.status_code, errors(answer)) == (400, [("unknown", "colour")])


def test_read_only_addresses_take_no_other_method(api):
    client = api(make_user())
    for path in ("me", "zones", "pools", "specs", "images", "volumes"):
        for method in ("post", "put", "patch", "delete"):
            assert getattr(client, method)(f"/api/v1/{path}/").status_code == 405


def test_what_did_not_change_is_304(api):
    client = api(make_user())
    first = client.get(ME)
    again = client.get(ME, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    in_chinese = client.get("/api/v1/nothing/", headers={"Accept-Language": "zh-CN"})
    assert in_chinese.status_code == 404
    assert (
        in_chinese.json()["errors"][0]["detail"]
        != client.get("/api/v1/nothing/").json()["errors"][0]["detail"]
    )


def test_pages_are_walked_by_cursor(api):
    team = make_team()
    pools = [make_pool(team, nodes=0) for _ in range(5)]
    client, seen, url = api(make_user(team)), [], "/api/v1/pools/?page_size=2"
    while url:
        page = client.get(url).json()
        assert set(page) == {"next", "previous", "results"}
        seen += [row["id"] for row in page["results"]]
        url = page["next"]
    assert seen == [pool.pk for pool in pools]


@pytest.mark.parametrize(
    "query",
    [
        "page_size=0",
        "page_size=100000",
        "page_size=x",
        "cursor=x",
        "cursor=cD1hYmM%3D",
        "page=2",
        "page_size=1&page_size=2",
        "cursor=cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5",
    ],
)
def test_bad_paging_is_400(api, query):
    answer = api(make_user()).get(f"/api/v1/pools/?{query}")
    assert answer.status_code == 400
    assert errors(answer)[0][1] == query.partition("=")[0]
