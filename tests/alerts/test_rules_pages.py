"""Pages of standing rules: those a person's new jobs begin with, and those of admins."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from alerts.models import Rule
from alerts.rules import MOST_MINUTES, Subject
from alerts.standing import MOST_RULES
from teams.models import User
from tests.factories import make_channel, make_pool, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
MINE = "/alerts/rules/new/person/"


@pytest.fixture
def alice(client: Client) -> User:
    user = make_user(make_team())
    client.force_login(user)
    return user


def text(response: Any) -> str:
    return " ".join(Page(response).by_id("content").text.split())


def listed(client: Client) -> list[str]:
    """What the page says of each rule."""
    page, said = Page(client.get("/alerts/rules/")), []
    for e in page.elements:
        kinds = (e.attrs.get("class") or "").split()
        words = " ".join(e.text.split())
        if "ty-rule-where" in kinds:
            said.append(f"{words}: ")
        elif "ty-rule-event" in kinds:
            said.append(f"{words}, ")
        elif "ty-rule-channel" in kinds:
            said.append(f"→ {words}\n")
    return "".join(said).replace(", →", " →").splitlines()


def rules() -> list[Any]:
    return list(Rule.objects.order_by("pk").values_list("subject", "subject_id", "events", "minutes"))


def test_without_a_channel_there_is_nothing_to_choose(client: Client, alice: User) -> None:
    for address in ("/alerts/rules/", MINE):
        page = Page(client.get(address))
        assert "A rule leads to a channel, and you have none yet." in page.source
        assert "/alerts/channels/new/" in {a.attrs.get("href") for a in page.all("a")}


def test_a_rule_is_made_changed_and_deleted(client: Client, alice: User) -> None:
    channel = make_channel(alice, name="phone")
    sent = {"channel": channel.pk, "events": ["hang", "failed"], "timed": "queued_too_long", "minutes": "45"}
    assert client.post(MINE, sent)["Location"] == "/alerts/rules/"
    assert rules() == [("person", alice.pk, ["failed", "hang", "queued_too_long"], 45)]
    rule = Rule.objects.get()
    assert rule.look_at is None
    assert listed(client) == ["Failed, Hung, Waits longer than 45 min → phone"]
    form = Page(client.get(f"/alerts/rules/{rule.pk}/"))
    assert form.fields()["events"] == ["failed", "hang"]
    assert form.fields()["timed"] == ["queued_too_long"]
    assert form.fields()["minutes"] == ["45"]
    client.post(f"/alerts/rules/{rule.pk}/", {"channel": channel.pk, "events": "failed", "minutes": "30"})
    assert rules() == [("person", alice.pk, ["failed"], None)]
    asked = text(client.get(f"/alerts/rules/{rule.pk}/delete/"))
    assert "Delete this rule? Failed phone New jobs begin without it then." in asked
    assert rules()
    client.post(f"/alerts/rules/{rule.pk}/delete/")
    assert rules() == []


@pytest.mark.parametrize(
    ("fields", "place", "said"),
    [
        ({"events": []}, "id_events", "Choose at least one event."),
        ({"events": ["node_down"]}, "id_events", "node_down"),
        ({"timed": "queued_too_long", "minutes": ""}, "id_minutes", "Say after how many minutes."),
        ({"timed": "queued_too_long", "minutes": "0"}, "id_minutes", "1"),
        ({"timed": "queued_too_long", "minutes": str(MOST_MINUTES + 1)}, "id_minutes", str(MOST_MINUTES)),
        ({"timed": "engine_late"}, "id_timed", "engine_late"),
        ({"channel": "999999999"}, "id_channel", "999999999"),
        ({"channel": ""}, "id_channel", "Choose a channel."),
    ],
)
def test_what_is_wrong_is_said_at_its_place(
    client: Client, alice: User, fields: dict[str, Any], place: str, said: str
) -> None:
    sent = {"channel": make_channel(alice).pk, "events": ["failed"], "timed": "", "minutes": "30"} | fields
    refused = client.post(MINE, sent)
    assert refused.status_code == 422
    assert said in Page(refused).by_id(f"{place}_error").text
    assert rules() == []


def test_channels_of_team_mates_can_be_chosen_and_private_ones_not(client: Client, alice: User) -> None:
    team = alice.memberships.get().team
    mate = make_user(team)
    shared, private = make_channel(mate, team), make_channel(mate)
    form = Page(client.get(MINE))
    offered = {o.get("value") for e in form.all("select", name="channel") for o in e.options}
    assert offered == {"", str(shared.pk)}
    labels = [" ".join(o.text.split()) for o in form.all("option") if o.attrs.get("value") == str(shared.pk)]
    assert labels == [f"{shared.name} · {mate.username}"]
    assert form.fields()["channel"] == [""]  # nobody else's channel is chosen by itself
    assert client.post(MINE, {"channel": private.pk, "events": "failed"}).status_code == 422
    assert client.post(MINE, {"channel": shared.pk, "events": "failed"}).status_code == 302


def test_a_person_has_only_so_many(client: Client, alice: User) -> None:
    channel = make_channel(alice)
    for _ in range(MOST_RULES[Subject.PERSON]):
        Rule.objects.create(channel=channel, subject="person", subject_id=alice.pk, events=["failed"])
    refused = client.post(MINE, {"channel": channel.pk, "events": "failed"})
    assert "There are 20 rules already" in text(refused)
    one = Rule.objects.latest("pk")
    assert (
        client.post(f"/alerts/rules/{one.pk}/", {"channel": channel.pk, "events": "hang"}).status_code == 302
    )


def test_others_rules_are_not_found(client: Client, alice: User) -> None:
    other = make_user(alice.memberships.get().team)
    channel = make_channel(other, alice.memberships.get().team)
    theirs = Rule.objects.create(channel=channel, subject="person", subject_id=other.pk, events=["failed"])
    admins = Rule.objects.create(channel=channel, subject="pool", events=["node_down"])
    of_job = Rule.objects.create(channel=channel, subject="job", subject_id=1, events=["failed"])
    client.force_login(alice)
    for rule in (theirs, admins, of_job):
        assert client.get(f"/alerts/rules/{rule.pk}/").status_code == 404
        assert client.post(f"/alerts/rules/{rule.pk}/delete/").status_code == 404
    assert len(rules()) == 3
    assert client.get("/alerts/rules/new/pool/").status_code == 403
    assert client.get("/alerts/rules/new/job/").status_code == 404
    assert "Resource pools" not in text(client.get("/alerts/rules/"))


def test_admins_watch_pools_and_the_machine(client: Client) -> None:
    client.force_login(admin := make_user(is_staff=True))
    channel, pool = make_channel(admin, name="ops"), make_pool(name="A800")
    make_pool(name="gone", retired_at=timezone.now())
    page = Page(client.get("/alerts/rules/new/pool/"))
    offered = [o.get("value") for e in page.all("select", name="pool") for o in e.options]
    assert offered == ["", str(pool.pk)]
    one = {"channel": channel.pk, "pool": pool.pk, "events": "node_down", "timed": "queue_stuck"}
    client.post("/alerts/rules/new/pool/", one | {"minutes": "20"})
    client.post("/alerts/rules/new/pool/", {"channel": channel.pk, "pool": "", "events": "prepaid_ending"})
    client.post("/alerts/rules/new/machine/", {"channel": channel.pk, "events": "disk_nearly_full"})
    assert rules() == [
        ("pool", pool.pk, ["node_down", "queue_stuck"], 20),
        ("pool", None, ["prepaid_ending"], None),
        ("machine", None, ["disk_nearly_full"], None),
    ]
    assert listed(client) == [
        "A800: Node down, Queue stuck for more than 20 min → ops",
        "all pools: Prepaid period ends soon → ops",
        "Disk nearly full → ops",
    ]
    colleague = Client()
    colleague.force_login(make_user(is_staff=True))
    first = Rule.objects.first()
    assert first is not None
    hidden = "private channel of somebody else"
    assert listed(colleague) == [line.replace("ops", hidden) for line in listed(client)]
    assert f"/alerts/channels/{channel.pk}/" in client.get("/alerts/rules/").content.decode()
    assert f"/alerts/channels/{channel.pk}/" not in colleague.get("/alerts/rules/").content.decode()
    assert colleague.post(f"/alerts/rules/{first.pk}/delete/").status_code == 302
