"""Pages of channels: the list, one with its record, making, changing, testing, deleting, and who may."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from alerts.channels import channel_test
from alerts.models import Channel, Delivery, Rule
from alerts.rules import SIGNED, State
from teams.models import Team, User
from teams.vault import decrypt
from tests.alerts.notices import deliver
from tests.factories import make_channel, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
ODD = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'
URL = "https://203.0.114.7/hooks/T0K3N-4711"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def team() -> Team:
    return make_team()


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team, email="alice@example.org")
    client.force_login(user)
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text(response: Any) -> str:
    return " ".join(Page(response).by_id("content").text.split())


def filled(**fields: Any) -> dict[str, Any]:
    """What a browser sends of a new webhook."""
    sent = {"name": "phone", "target": URL, "secret": "s3cr3t-4711", "team": "", "language": ""}
    return sent | {"with_log": "on"} | fields


def test_without_a_channel_the_page_says_what_to_do(client: Client, alice: User) -> None:
    page = Page(client.get("/alerts/channels/"))
    assert "You have no channels yet." in page.source
    kinds = {a.attrs["href"] for a in page.all("a") if "?kind=" in (a.attrs.get("href") or "")}
    assert {"/alerts/channels/new/?kind=email", "/alerts/channels/new/?kind=webhook"} <= kinds
    for href in kinds:
        form = Page(client.get(href or ""))
        assert {"name", "target", "team", "with_log"} <= set(form.fields())
        assert ("secret" in form.fields()) is ((href or "").rpartition("=")[2] in SIGNED)


def test_a_kind_that_is_not_offered_leads_to_the_choice(client: Client, alice: User) -> None:
    for kind in ("", "?kind=apprise", "?kind=pigeon"):
        assert "Where are notices to arrive?" in text(client.get(f"/alerts/channels/new/{kind}"))


def test_without_a_mail_server_there_is_no_mail_and_the_page_says_so(
    client: Client, alice: User, settings: Any
) -> None:
    assert "no mail server" not in text(client.get("/alerts/channels/new/"))
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", ""
    for address in ("/alerts/channels/new/", "/alerts/channels/", "/alerts/channels/new/?kind=email"):
        page = client.get(address)
        assert 'href="/alerts/channels/new/?kind=email"' not in page.content.decode()
        assert "The console has no mail server" in text(page)


def test_a_channel_is_made_and_never_shows_where_it_leads(client: Client, alice: User, team: Team) -> None:
    made = client.post("/alerts/channels/new/?kind=webhook", filled(team=str(team.pk)))
    channel = Channel.objects.get()
    one = f"/alerts/channels/{channel.pk}/"
    assert (made.status_code, made["Location"]) == (302, one)
    assert (channel.owner, channel.team, channel.with_log) == (alice, team, True)
    assert decrypt(channel.target) == URL
    pages = [client.get(a) for a in (one, "/alerts/channels/", f"{one}edit/", f"{one}delete/")]
    pages.append(client.post(f"{one}test/", follow=True))
    pages.append(client.post(f"{one}test/", headers=HTMX))
    for page in pages:
        assert page.status_code == 200
        assert "T0K3N" not in page.content.decode()
        assert "s3cr3t" not in page.content.decode()
    assert "https://203.0.114.7" in text(pages[0])
    assert f"everybody in {team.name}" in text(pages[0])


def test_no_row_of_the_database_has_it_in_clear(client: Client, alice: User) -> None:
    client.post("/alerts/channels/new/?kind=webhook", filled())
    client.post(f"/alerts/channels/{Channel.objects.get().pk}/test/")
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            rows = [bytes(v) if isinstance(v, memoryview) else v for row in cursor.fetchall() for v in row]
            assert "T0K3N" not in str(rows)
            assert "s3cr3t" not in str(rows)


def test_what_was_typed_comes_back_with_what_is_wrong(client: Client, alice: User) -> None:
    make_channel(alice, name="phone")
    refused = client.post("/alerts/channels/new/?kind=webhook", filled(target="http://127.0.0.1:6379/"))
    assert refused.status_code == 422
    assert refused["Cache-Control"] == "no-store"
    page = Page(refused)
    assert page.fields()["target"] == ["http://127.0.0.1:6379/"]
    assert page.fields()["secret"] == ["s3cr3t-4711"]
    assert "private network" in page.by_id("id_target_error").text
    again = client.post("/alerts/channels/new/?kind=webhook", filled())
    assert "a channel of this name already" in Page(again).by_id("id_name_error").text
    assert Channel.objects.count() == 1


def test_left_empty_it_is_kept_and_stars_are_a_secret_too(client: Client, alice: User) -> None:
    channel = make_channel(alice)
    edit = f"/alerts/channels/{channel.pk}/edit/"
    form = Page(client.get(edit)).fields()
    assert (form["target"], form["secret"]) == ([""], [""])
    sent = {name: values[0] for name, values in form.items()}
    assert client.post(edit, sent | {"name": "renamed"}).status_code == 302
    kept = Channel.objects.get()
    assert (kept.name, decrypt(kept.target), decrypt(kept.secret)) == ("renamed", URL, "s3cr3t-4711")
    client.post(edit, sent | {"secret": "********"})
    assert decrypt(Channel.objects.get().secret) == "********"
    client.post(edit, sent | {"remove_secret": "on"})
    assert Channel.objects.get().secret is None
    assert "remove_secret" not in Page(client.get(edit)).source
    client.post(edit, sent | {"target": "https://203.0.114.9/x"})
    assert Channel.objects.get().shown == "https://203.0.114.9"


def test_mail_to_somebody_else_is_said(client: Client, alice: User) -> None:
    assert Page(client.get("/alerts/channels/new/?kind=email")).fields()["target"] == ["alice@example.org"]
    make_channel(alice, kind="email", target="Alice@example.org")
    assert "not the address" not in text(client.get("/alerts/channels/"))
    other = make_channel(alice, kind="email", target="bob@example.org")
    assert "not the address of its owner's account" in text(client.get(f"/alerts/channels/{other.pk}/"))
    assert "not the address of its owner's account" in text(client.get("/alerts/channels/"))


def test_members_look_admins_change_and_strangers_find_nothing(alice: User, team: Team) -> None:
    mate, boss, stranger = make_user(team), make_user(team, admin=True), make_user(make_team(), admin=True)
    private, shared = make_channel(alice), make_channel(alice, team)
    delivery = channel_test(channel=shared, actor=alice)

    def statuses(user: User, channel: Channel) -> list[int]:
        client, one = signed_in(user), f"/alerts/channels/{channel.pk}/"
        gets = ["", f"test/{delivery.pk}/", "edit/", "delete/"]
        return [
            *(client.get(one + part, headers=HTMX if "test" in part else {}).status_code for part in gets),
            *(client.post(one + part, {}).status_code for part in ("edit/", "test/", "delete/")),
        ]

    assert statuses(stranger, shared) == statuses(mate, private) == statuses(boss, private) == [404] * 7
    assert statuses(mate, shared) == [200, 204, 403, 403, 403, 403, 403]
    assert "/edit/" not in signed_in(mate).get(f"/alerts/channels/{shared.pk}/").content.decode()
    assert statuses(boss, shared) == [200, 204, 200, 200, 422, 302, 302]
    assert not Channel.objects.filter(pk=shared.pk).exists()
    assert shared.name not in signed_in(stranger).get("/alerts/channels/").content.decode()


def test_signing_in_comes_first() -> None:
    channel = make_channel(make_user())
    pages = ["notices/", "channels/", "channels/new/", f"channels/{channel.pk}/", "rules/", "notices/1/"]
    for page in pages:
        assert Client().get(f"/alerts/{page}")["Location"].startswith("/accounts/login/?next=/alerts/")
    for part in ("bell/", "bell/menu/"):
        assert Client().get(f"/alerts/{part}").status_code == 401
    assert Client().get(f"/alerts/channels/{channel.pk}/test/1/", headers=HTMX).status_code == 401


def test_a_test_is_watched_until_it_has_ended(client: Client, alice: User) -> None:
    channel = make_channel(alice)
    one = f"/alerts/channels/{channel.pk}/"
    begun = client.post(f"{one}test/", headers=HTMX)
    delivery = Delivery.objects.get()
    watched = f"{one}test/{delivery.pk}/"
    assert f'hx-get="{watched}"' in begun.content.decode()
    assert client.get(watched, headers=HTMX).status_code == 204
    error = {"code": "status", "data": {"status": 404}}
    Delivery.objects.update(state=State.REFUSED, error=error, tries=1)
    ended = client.get(watched, headers=HTMX).content.decode()
    assert "The receiver answered with HTTP status 404." in ended
    assert "hx-get" not in ended
    Delivery.objects.update(state=State.SENT, error=None)
    assert "The test has arrived." in client.get(watched, headers=HTMX).content.decode()


def test_a_test_without_javascript_leads_to_the_channels_page(client: Client, alice: User) -> None:
    one = f"/alerts/channels/{make_channel(alice).pk}/"
    page = client.post(f"{one}test/", follow=True)
    delivery = Delivery.objects.get()
    assert page.redirect_chain == [(f"{one}?test={delivery.pk}", 302)]
    assert "The test is on its way" in text(page)
    Delivery.objects.update(state=State.SENT)
    assert "The test has arrived." in text(client.get(f"{one}test/{delivery.pk}/", follow=True))
    other = make_channel(alice)
    assert client.get(f"/alerts/channels/{other.pk}/test/{delivery.pk}/", headers=HTMX).status_code == 404
    assert client.get(f"{one}test/")["Location"] == "/alerts/channels/"


def test_what_became_of_its_notices(client: Client, alice: User, team: Team) -> None:
    channel = make_channel(alice)
    deliver(channel, team=team, name="the job")
    error = {"code": "timeout", "data": {"seconds": 10.0}}
    Delivery.objects.update(state=State.GIVEN_UP, error=error, tries=9)
    page = text(client.get(f"/alerts/channels/{channel.pk}/"))
    assert "Failed: the job given up The receiver did not answer within 10 seconds. 9" in page
    listed = text(client.get("/alerts/channels/"))
    assert "given up" in listed


def test_the_record_is_paged(client: Client, alice: User, team: Team) -> None:
    channel = make_channel(alice)
    for n in range(32):
        deliver(channel, team=team, name=f"job {n}.")
    one = f"/alerts/channels/{channel.pk}/"
    first = Page(client.get(one))
    assert "job 31." in first.source
    assert "job 1." not in first.source
    older = next(a.attrs["href"] for a in first.all("a") if a.attrs.get("rel") == "next")
    second = Page(client.get(f"{older}"))
    assert "job 1." in second.source
    assert "job 2." not in second.source
    assert client.get(f"{one}?before=x&test=y").status_code == 200


def test_team_mates_do_not_read_of_other_teams(alice: User, team: Team) -> None:
    elsewhere = make_team()
    alice.memberships.create(team=elsewhere)
    channel = make_channel(alice, team)
    deliver(channel, team=elsewhere, name="of another team")
    one = f"/alerts/channels/{channel.pk}/"
    mate = signed_in(make_user(team))
    assert "of another team" in signed_in(alice).get(one).content.decode()
    assert "of another team" not in mate.get(one).content.decode()
    assert "none yet" in text(mate.get("/alerts/channels/"))


def test_a_disabled_channel_says_why(client: Client, alice: User) -> None:
    channel = make_channel(alice)
    deliver(channel)
    Delivery.objects.update(state=State.REFUSED, error={"code": "status", "data": {"status": 410}})
    Channel.objects.update(disabled_at=timezone.now())
    for page in (f"/alerts/channels/{channel.pk}/", "/alerts/channels/"):
        said = text(client.get(page))
        assert "disabled The receiver answered with HTTP status 410. Once a test arrives" in said


def test_deleting_asks_and_says_what_goes_with_it(client: Client, alice: User) -> None:
    channel = make_channel(alice, name="phone")
    Rule.objects.create(channel=channel, subject="person", subject_id=alice.pk, events=["failed"])
    channel_test(channel=channel, actor=alice)
    asked = text(client.get(f"/alerts/channels/{channel.pk}/delete/"))
    assert "These rules end with it: 1 rule that your new jobs begin with" in asked
    assert "1 notice is on its way to it and will not be sent." in asked
    assert Channel.objects.exists()
    assert client.post(f"/alerts/channels/{channel.pk}/delete/")["Location"] == "/alerts/channels/"
    assert not Channel.objects.exists()


def test_odd_names_stay_text_everywhere(client: Client, alice: User, team: Team) -> None:
    team.name = "<b>team</b>"
    team.save()
    channel = make_channel(alice, team, name=ODD)
    deliver(channel, team=team, name=ODD)
    error = {"code": "certificate", "data": {"reason": "<script>alert(1)</script>"}}
    Delivery.objects.update(state=State.REFUSED, error=error)
    Channel.objects.update(disabled_at=timezone.now())
    Rule.objects.create(channel=channel, subject="person", subject_id=alice.pk, events=["failed"])
    one = f"/alerts/channels/{channel.pk}/"
    addresses = ["/alerts/channels/", one, f"{one}edit/", f"{one}delete/", "/alerts/rules/"]
    for address in [*addresses, "/alerts/rules/new/person/", "/alerts/notices/"]:
        page = Page(client.get(address))
        assert "<img src=x" not in page.source, address
        assert "<script>alert" not in page.source, address
        assert "<b>team" not in page.source, address
    assert ODD in Page(client.get(one)).by_id("content").text


def test_the_list_costs_the_same_for_many(
    client: Client,
    alice: User,
    team: Team,
    django_assert_num_queries: Any,
    django_assert_max_num_queries: Any,
) -> None:
    deliver(make_channel(alice), team=team)
    with django_assert_max_num_queries(10) as first:
        client.get("/alerts/channels/")
    for _ in range(5):
        deliver(make_channel(alice, team), team=team)
    with django_assert_num_queries(len(first)):
        client.get("/alerts/channels/")
