"""REST: channels, deliveries and admins' rules."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from django.test import Client
from django.utils import timezone

from alerts.models import Channel, Delivery, Rule
from alerts.rules import State
from teams.vault import decrypt
from tests.alerts.notices import deliver
from tests.factories import make_channel, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db
CHANNELS, RULES = "/api/v1/alert-channels/", "/api/v1/alert-rules/"
URL = "https://203.0.114.7/hooks/T0K3N-4711"
BODY = {"name": "phone", "kind": "webhook", "url": URL, "secret": "s3cr3t-4711"}


def errors(response: Any) -> list[tuple[str, str | None]]:
    assert response.status_code == 400, response.content
    return sorted((error["code"], error["attr"]) for error in response.json()["errors"])


@pytest.mark.parametrize(("chosen", "kept"), [("", "zh-hans"), ("en", None)])
def test_without_a_choice_it_speaks_the_language_in_which_it_was_made(
    api: Any, chosen: str, kept: str | None
) -> None:
    alice = make_user(make_team())
    alice.language = chosen
    alice.save()
    made = api(alice).post(CHANNELS, BODY, headers={"accept-language": "zh-CN"})
    assert made.json()["language"] == kept
    assert Channel.objects.get().speaks == (chosen or "zh-hans")


def test_made_read_changed_deleted(api: Any) -> None:
    team = make_team()
    client = api(alice := make_user(team))
    made = client.post(CHANNELS, BODY)
    assert made.status_code == 201
    channel = made.json()
    assert channel["created_at"]
    assert channel == {
        "id": channel["id"],
        "name": "phone",
        "kind": "webhook",
        "target": "https://203.0.114.7",
        "has_secret": True,
        "owner": alice.username,
        "may_change": True,
        "shared": False,
        "team": None,
        "language": "en",
        "with_log": True,
        "disabled_at": None,
        "disabled_reason": None,
        "created_at": channel["created_at"],
    }
    one = f"{CHANNELS}{channel['id']}/"
    assert client.get(one).json() == channel
    assert client.get(CHANNELS).json()["results"] == [channel]
    changes = {"name": "mobile", "language": "zh-hans", "with_log": False, "shared": True, "secret": None}
    changed = client.patch(one, changes)
    assert {k: v for k, v in changed.json().items() if channel[k] != v} == {
        "name": "mobile",
        "language": "zh-hans",
        "with_log": False,
        "shared": True,
        "has_secret": False,
        "team": {"id": team.pk, "name": team.name},
    }
    assert decrypt(Channel.objects.get().target) == URL
    assert client.patch(one, {"shared": False}).json()["team"] is None
    assert client.delete(one).status_code == 204
    assert client.get(one).status_code == 404


def test_no_answer_holds_address_or_secret(api: Any) -> None:
    client = api(make_user())
    made = client.post(CHANNELS, BODY)
    one = f"{CHANNELS}{made.json()['id']}/"
    tested = client.post(f"{one}test/")
    answers = [made, client.get(one), client.get(CHANNELS), client.patch(one, BODY | {}), tested]
    answers += [client.patch(one, {"url": URL, "secret": "s3cr3t-4711"}), client.get(f"{one}deliveries/")]
    assert not any(word in answer.content.decode() for answer in answers for word in ("T0K3N", "s3cr3t"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"url": None}, [("null", "url")]),
        ({"url": ...}, [("required", "url")]),
        ({"url": "", "secret": ...}, [("blank", "url")]),
        ({"url": ..., "address": "a@example.org"}, [("url_wanted", "address")]),
        ({"address": "a@example.org"}, [("url_wanted", "address")]),
        ({"kind": "email", "secret": ...}, [("address_wanted", "url")]),
        ({"kind": "email", "secret": ..., "url": ...}, [("required", "address")]),
        ({"kind": "email", "secret": ..., "url": ..., "address": "no"}, [("mail_address", "address")]),
        ({"url": "ftp://example.org/"}, [("address_scheme", "url")]),
        ({"kind": "email", "url": ..., "address": "a@example.org"}, [("no_secret", "secret")]),
        ({"kind": "apprise", "secret": ..., "url": "json://x"}, [("kind_off", "kind")]),
        ({"url": "http://169.254.169.254/latest/meta-data/"}, [("address_refused", "url")]),
        ({"kind": "pigeon"}, [("invalid_choice", "kind")]),
        ({"name": "x" * 81}, [("max_length", "name")]),
        ({"name": ...}, [("required", "name")]),
        ({"name": "a\nb"}, [("not_printable", "name")]),
        ({"shared": "yes"}, [("invalid", "shared")]),
        ({"team": 1}, [("not_shared", "team")]),
        ({"shared": False, "team": 1}, [("not_shared", "team")]),
        ({"shared": True}, [("no_team", "shared")]),
        ({"language": "tlh"}, [("invalid_choice", "language")]),
        ({"target": URL}, [("read_only", "target")]),
        ({"has_secret": True, "id": 3}, [("read_only", "has_secret"), ("read_only", "id")]),
        ({"adress": "a@example.org"}, [("unknown", "adress")]),
    ],
)
def test_each_fault_names_its_field(api: Any, body: dict[str, Any], expected: Any) -> None:
    given = {name: value for name, value in (BODY | body).items() if value is not ...}
    answer = api(make_user()).post(CHANNELS, given)
    assert errors(answer) == expected
    assert "T0K3N" not in answer.content.decode()
    assert not Channel.objects.exists()


def test_mail_goes_to_an_address(api: Any) -> None:
    body = {"name": "mail", "kind": "email", "address": "someone.else@example.org"}
    assert api(make_user()).post(CHANNELS, body).json()["target"] == "someone.else@example.org"


def test_the_kind_stays(api: Any) -> None:
    client = api(alice := make_user())
    one = f"{CHANNELS}{make_channel(alice).pk}/"
    assert errors(client.patch(one, {"kind": "slack"})) == [("fixed", "kind")]
    assert errors(client.patch(one, {"address": "a@example.org"})) == [("url_wanted", "address")]
    assert errors(client.patch(one, {"owner": "bob"})) == [("read_only", "owner")]
    assert client.patch(one, {}).status_code == 200


def test_with_which_team_it_is_shared(api: Any) -> None:
    first, second, other = make_team(), make_team(), make_team()
    client = api(alice := make_user(first, second))
    assert errors(client.post(CHANNELS, BODY | {"shared": True})) == [("which_team", "team")]
    assert errors(client.post(CHANNELS, BODY | {"shared": True, "team": other.pk})) == [("unknown", "team")]
    made = client.post(CHANNELS, BODY | {"shared": True, "team": second.pk}).json()
    assert made["team"] == {"id": second.pk, "name": second.name}
    one = f"{CHANNELS}{made['id']}/"
    assert client.patch(one, {"shared": True}).json()["team"]["id"] == second.pk
    assert client.patch(one, {"team": first.pk}).json()["team"]["id"] == first.pk
    assert errors(client.patch(one, {"shared": False, "team": first.pk})) == [("not_shared", "team")]
    alice.memberships.filter(team=first).delete()
    assert client.patch(one, {"shared": False}).status_code == 403


def test_members_may_look_admins_change_and_strangers_find_nothing(api: Any) -> None:
    team = make_team()
    alice, mate, boss = make_user(team), make_user(team), make_user(team, admin=True)
    private, shared = make_channel(alice), make_channel(alice, team)

    def statuses(user: Any, channel: Channel) -> list[int]:
        client, one = api(user), f"{CHANNELS}{channel.pk}/"
        return [
            client.get(one).status_code,
            client.get(f"{one}deliveries/").status_code,
            client.patch(one, {"with_log": True}).status_code,
            client.post(f"{one}test/").status_code,
        ]

    assert (
        statuses(alice, private) == statuses(alice, shared) == statuses(boss, shared) == [200, 200, 200, 202]
    )
    assert statuses(mate, shared) == [200, 200, 403, 403]
    assert statuses(mate, private) == statuses(boss, private) == statuses(make_user(), shared) == [404] * 4
    assert api(mate).get(f"{CHANNELS}{shared.pk}/").json()["may_change"] is False
    assert api(mate).delete(f"{CHANNELS}{shared.pk}/").status_code == 403
    assert api(make_user()).delete(f"{CHANNELS}{shared.pk}/").status_code == 404
    assert [row["id"] for row in api(mate).get(CHANNELS).json()["results"]] == [shared.pk]
    assert api(boss).delete(f"{CHANNELS}{shared.pk}/").status_code == 204


def test_a_test_is_answered_with_its_delivery(api: Any) -> None:
    client = api(alice := make_user())
    one = f"{CHANNELS}{make_channel(alice, name='phone').pk}/"
    assert errors(client.post(f"{one}test/", {"text": "hello"})) == [("unknown", "text")]
    tested = client.post(f"{one}test/")
    assert tested.status_code == 202
    delivery = tested.json()
    assert delivery["event"] == "test"
    assert delivery["state"] == "waiting"
    assert client.get(f"{one}deliveries/").json()["results"] == [delivery]
    error = {"code": "status", "data": {"status": 404}}
    Delivery.objects.update(state=State.REFUSED, error=error, tries=1, due_at=None, ended_at=timezone.now())
    failed = client.get(f"{one}deliveries/").json()["results"][0]
    assert (failed["state"], failed["tries"]) == ("refused", 1)
    assert failed["error"] == error | {"message": "The receiver answered with HTTP status 404."}
    chinese = client.get(f"{one}deliveries/", headers={"accept-language": "zh-CN"})
    assert chinese.json()["results"][0]["error"]["code"] == "status"


def test_why_a_channel_is_disabled(api: Any) -> None:
    client = api(alice := make_user())
    one = f"{CHANNELS}{(channel := make_channel(alice)).pk}/"
    deliver(channel)
    Delivery.objects.update(state=State.REFUSED, error={"code": "status", "data": {"status": 410}})
    assert client.get(one).json()["disabled_reason"] is None
    Channel.objects.update(disabled_at=timezone.now())
    reason = client.get(one).json()["disabled_reason"]
    assert (reason["code"], reason["data"]) == ("status", {"status": 410})
    assert client.patch(one, {"url": URL}).json()["disabled_at"] is None


def test_team_mates_read_only_what_they_may_know_of(api: Any) -> None:
    team, elsewhere = make_team(), make_team()
    alice, mate = make_user(team, elsewhere), make_user(team)
    channel = make_channel(alice, team)
    ours, theirs = deliver(channel), deliver(channel, team=elsewhere)
    nobodys = deliver(channel, team=None, subject="pool")
    address = f"{CHANNELS}{channel.pk}/deliveries/"
    assert [row["id"] for row in api(mate).get(address).json()["results"]] == [ours.pk]
    seen = [row["id"] for row in api(alice).get(address).json()["results"]]
    assert seen == [nobodys.pk, theirs.pk, ours.pk]


def test_lists_are_paged_and_know_their_query(api: Any) -> None:
    client = api(alice := make_user())
    channels = [make_channel(alice) for _ in range(3)]
    first = client.get(f"{CHANNELS}?page_size=2").json()
    assert [row["id"] for row in first["results"]] == [one.pk for one in channels[:2]]
    assert [row["id"] for row in client.get(first["next"]).json()["results"]] == [channels[2].pk]
    assert errors(client.get(f"{CHANNELS}?kind=email")) == [("unknown", "kind")]
    assert errors(client.get(f"{CHANNELS}{channels[0].pk}/?x=1")) == [("unknown", "x")]
    again = client.get(CHANNELS, headers={"if-none-match": client.get(CHANNELS)["ETag"]})
    assert again.status_code == 304


def test_listing_costs_the_same_for_many(api: Any, django_assert_num_queries: Any) -> None:
    team = make_team()
    client, alice = api(mate := make_user(team)), make_user(team)
    assert mate
    make_channel(alice, team)
    with django_assert_num_queries(2):
        client.get(CHANNELS)
    for _ in range(5):
        make_channel(alice, team)
    with django_assert_num_queries(2):
        assert len(client.get(CHANNELS).json()["results"]) == 6


def test_a_repeated_call_makes_no_second_channel(api: Any) -> None:
    client = api(make_user())
    assert client.post(CHANNELS, BODY).status_code == 201
    assert errors(client.post(CHANNELS, BODY)) == [("name_taken", "name")]
    assert Channel.objects.count() == 1


def test_admins_rules_on_pools_and_the_machine(api: Any) -> None:
    client = api(admin := make_user(is_staff=True))
    channel, pool = make_channel(admin, name="ops"), make_pool()
    body = {"subject": "pool", "pool": pool.pk, "channel": channel.pk, "events": ["queue_stuck", "node_down"]}
    made = client.post(RULES, body | {"minutes": 30})
    assert made.status_code == 201, made.content
    rule = made.json()
    assert rule == {
        "id": rule["id"],
        "subject": "pool",
        "pool": pool.pk,
        "channel": {"id": channel.pk, "name": "ops"},
        "events": ["node_down", "queue_stuck"],
        "minutes": 30,
    }
    everywhere = client.post(RULES, body | {"pool": None, "events": ["node_down"]}).json()
    assert everywhere["pool"] is None
    machine = {"subject": "machine", "channel": channel.pk, "events": ["disk_nearly_full"]}
    client.post(RULES, machine)
    Rule.objects.create(channel=channel, subject="person", subject_id=admin.pk, events=["failed"])
    assert [row["subject"] for row in client.get(RULES).json()["results"]] == ["pool", "pool", "machine"]
    assert client.get(f"{RULES}{rule['id']}/").json() == rule
    assert client.delete(f"{RULES}{rule['id']}/").status_code == 204
    assert client.get(f"{RULES}{rule['id']}/").status_code == 404
    assert client.get(f"{RULES}{Rule.objects.get(subject='person').pk}/").status_code == 404


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"subject": "job"}, [("invalid_choice", "subject")]),
        ({"subject": "machine"}, [("pool_unwanted", "pool")]),
        ({"pool": 10**12}, [("unknown", "pool")]),
        ({"channel": 10**12}, [("unknown", "channel")]),
        ({"events": []}, [("empty", "events")]),
        ({"events": ["failed"]}, [("invalid_choice", "events.0")]),
        ({"events": ["engine_late"]}, [("unknown", "events")]),
        ({"events": ["queue_stuck"]}, [("minutes_wanted", "minutes")]),
        ({"minutes": 5}, [("minutes_unwanted", "minutes")]),
        ({"events": ["queue_stuck"], "minutes": 0}, [("out_of_range", "minutes")]),
        ({"look_at": None}, [("unknown", "look_at")]),
    ],
)
def test_each_fault_of_a_rule_names_its_field(api: Any, fields: dict[str, Any], expected: Any) -> None:
    admin = make_user(is_staff=True)
    body = {"subject": "pool", "pool": make_pool().pk, "channel": make_channel(admin).pk}
    answer = api(admin).post(RULES, body | {"events": ["node_down"]} | fields)
    assert errors(answer) == expected
    assert not Rule.objects.exists()


def test_rules_of_admins_are_for_admins(api: Any) -> None:
    client = api(alice := make_user(make_team(), admin=True))
    rule = Rule.objects.create(channel=make_channel(alice), subject="machine", events=["disk_nearly_full"])
    assert client.get(RULES).status_code == client.post(RULES, {}).status_code == 403
    one = f"{RULES}{rule.pk}/"
    assert client.get(one).status_code == client.delete(one).status_code == 403
    somebodys = make_channel(make_user())
    body = {"subject": "machine", "channel": somebodys.pk, "events": ["disk_nearly_full"]}
    assert errors(api(make_user(is_staff=True)).post(RULES, body)) == [("unknown", "channel")]


def test_the_schema_knows_them(api: Any) -> None:
    paths = yaml.safe_load(api(make_user()).get("/api/v1/schema/").content)["paths"]
    assert {path for path in paths if "alert" in path} == {
        f"{CHANNELS}",
        f"{CHANNELS}{{id}}/",
        f"{CHANNELS}{{id}}/test/",
        f"{CHANNELS}{{id}}/deliveries/",
        f"{CHANNELS}{{id}}/deliveries/{{delivery}}/send-again/",
        RULES,
        f"{RULES}{{id}}/",
    }


def test_the_same_rule_again_is_the_one_that_is_there(api: Any) -> None:
    admin = make_user(is_staff=True)
    channel = make_channel(admin)
    body = {"subject": "pool", "channel": channel.pk, "events": ["queue_stuck", "node_down"], "minutes": 30}
    client = api(admin)
    first = client.post(RULES, body)
    again = client.post(RULES, body | {"events": ["node_down", "queue_stuck"]})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert client.post(RULES, body | {"minutes": 31}).status_code == 201
    assert Rule.objects.count() == 2


def test_names_of_other_admins_private_channels_are_not_told(api: Any) -> None:
    admin, other = make_user(is_staff=True), make_user(is_staff=True)
    channel = make_channel(other, name="others-private")
    rule = Rule.objects.create(channel=channel, subject="pool", events=["node_down"])
    client = Client()
    client.force_login(admin)
    for address in ("/alerts/rules/", f"/alerts/rules/{rule.pk}/delete/"):
        page = client.get(address).content.decode()
        assert "others-private" not in page
        assert "private channel of somebody else" in page
    for answer in (api(admin).get(RULES).json()["results"][0], api(admin).get(f"{RULES}{rule.pk}/").json()):
        assert answer["channel"] == {"id": channel.pk, "name": ""}
    assert api(other).get(f"{RULES}{rule.pk}/").json()["channel"]["name"] == "others-private"
