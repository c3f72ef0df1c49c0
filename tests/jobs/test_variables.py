"""The variables of the form: rows and text are two ways to say the same."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils.datastructures import MultiValueDict
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.environment import parse_text
from jobs.forms.variables import Variables, row_values, switched, without_private
from jobs.models import Job
from jobs.rules import limits
from jobs.spec import EnvVar
from pools.models import Pool
from teams.models import Team, User
from teams.vault import decrypt
from tests.factories import make_job, make_user
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

VARIABLES = "/jobs/variables/"
SOURCE = "jo-" + "a" * 16


def sent(*variables: EnvVar, **more: Any) -> MultiValueDict[str, Any]:
    return MultiValueDict({**row_values(variables), **{n: [v] for n, v in more.items()}})


def asked(data: Any) -> list[EnvVar]:
    """The variables of the request."""
    variables, findings = Variables(data).read(data.get("env_text", ""))
    assert findings == []
    return list(variables)


def as_(way: str, data: Any) -> Any:
    changed = MultiValueDict({**dict(data.lists()), "env_as": [way]})
    return switched(changed)


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True) | st.text(
    st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=6
)
values = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=20)
variables = st.one_of(
    st.builds(EnvVar, names, values, st.booleans()),
    st.builds(EnvVar, names, st.none(), st.just(True), from_job=st.just(SOURCE)),
)


def key(variable: EnvVar) -> tuple[Any, ...]:
    return (variable.name, variable.value or "", variable.private, variable.from_job or "")


@given(st.lists(variables, max_size=6))
@example([EnvVar("A", "x；y"), EnvVar("B", "'q' ；"), EnvVar("C", '"；'), EnvVar("D", " a=b\n\n")])
@example([EnvVar("A=B", "x"), EnvVar("", "v"), EnvVar('A"', "x;"), EnvVar("A;B", "1")])
def test_rows_to_text_to_rows_loses_nothing(given_: list[EnvVar]) -> None:
    rows = sent(*given_)
    before = asked(rows)
    text = as_("text", rows)
    assert sorted(asked(text), key=key) == sorted(before, key=key)
    assert "env_text" in text
    again = as_("rows", text)
    assert sorted(asked(again), key=key) == sorted(before, key=key)
    assert "env_text" not in again


@given(st.text(max_size=60))
def test_text_to_rows_to_text_loses_nothing(text: str) -> None:
    data = sent(env_text=text)
    wanted, findings = parse_text(text)
    rows = as_("rows", data)
    if findings:
        assert rows["env_text"] == text  # not one sign is taken from it
        return
    assert asked(rows) == [EnvVar(v.name.strip(), v.value) for v in wanted]
    assert sorted(asked(as_("text", rows)), key=key) == sorted(asked(rows), key=key)


@given(st.lists(variables, max_size=4))
def test_the_text_never_holds_a_private_value(given_: list[EnvVar]) -> None:
    secret = EnvVar("KEY", "sekret-4711", private=True)
    text = as_("text", sent(*given_, secret))
    assert "sekret" not in text["env_text"]
    assert secret in asked(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('A=1;B="x;y"', [("A", "1"), ("B", "x;y")]),
        ("A=1\r\nB=2", [("A", "1"), ("B", "2")]),
        ("TOKEN=YWJj==;X=a=b;E=;", [("TOKEN", "YWJj=="), ("X", "a=b"), ("E", "")]),
        ("A=1; B=2 ;", [("A", "1"), ("B", "2")]),
        ('A="two\nlines";B="；"', [("A", "two\nlines"), ("B", "；")]),
        ("1A=x", [("1A", "x")]),  # no name, but a row of its own can show that
    ],
)
def test_rows_of_a_text(text: str, expected: list[tuple[str, str]]) -> None:
    rows = as_("rows", sent(env_text=text))
    assert list(zip(rows.getlist("env_name"), rows.getlist("env_value"), strict=True)) == expected


@pytest.mark.parametrize(
    "text", ["A=1；B=2", "A=1;NOVALUE", "=v", 'A="open', "A=1;" * (limits.MOST_VARIABLES + 1)]
)
def test_a_text_that_rows_cannot_show_stays_as_it_is(text: str) -> None:
    data = as_("rows", sent(EnvVar("KEY", "s", private=True), env_text=text))
    assert data["env_text"] == text
    assert Variables(data).refused_rows


def test_what_is_too_long_is_not_converted() -> None:
    long = "x" * (limits.MOST_ENV_BYTES + 1)
    assert as_("rows", sent(env_text=f"A={long}"))["env_text"] == f"A={long}"
    assert "env_text" not in as_("text", sent(EnvVar("A", long)))


def test_nothing_changes_where_the_way_is_the_same() -> None:
    text = sent(EnvVar("A", "1"), env_text="B = 2")
    assert as_("text", text)["env_text"] == "B = 2"
    assert as_("text", text).getlist("env_name") == ["A"]
    rows = sent(EnvVar("A", "1"))
    assert as_("rows", rows).getlist("env_name") == ["A"]
    assert as_("else", rows).getlist("env_name") == ["A"]


@pytest.mark.parametrize("private", [[], ["0"], ["1"], ["0", "2"], ["9", "x", "-1"]])
def test_ticked_boxes_belong_to_their_rows(private: list[str]) -> None:
    """Rows that are empty are left out, and take no tick of another with them."""
    data = MultiValueDict({"env_name": ["A", "", "C"], "env_value": ["1", "", "3"], "env_private": private})
    assert [(v.name, v.private) for v in asked(data)] == [("A", "0" in private), ("C", "2" in private)]


def test_both_ways_at_once_and_their_places() -> None:
    data = sent(EnvVar("C", "3"), EnvVar("D", "4", private=True), env_text="A=1;B=2")
    both = Variables(data)
    read, _ = both.read("A=1;B=2")
    assert [v.name for v in read] == ["A", "B", "C", "D"]
    assert [both.field_of(f"env.{n}.name") for n in range(4)] == ["env_text", "env_text", "env", "env"]
    assert [row.at for row in both.rows] == [2, 3, None]
    assert both.field_of("env") == "env_text"
    assert Variables(sent(EnvVar("A", "1"))).field_of("env") == "env"


def test_a_kept_value_gives_way_to_one_that_is_typed() -> None:
    data = sent(EnvVar("KEY", None, True, SOURCE), EnvVar("OTHER", None, True, SOURCE))
    data.setlist("env_value", ["own", ""])
    assert asked(data) == [EnvVar("KEY", "own", True), EnvVar("OTHER", None, True, SOURCE)]


def test_private_rows_are_left_out_for_somebody_else() -> None:
    data = sent(
        EnvVar("A", "1"),
        EnvVar("K", "s", True),
        EnvVar("B", "2"),
        EnvVar("L", None, True, SOURCE),
        env_text="C=3",
    )
    assert [v.name for v in asked(without_private(data))] == ["C", "A", "B"]


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


@pytest.mark.django_db
def test_the_form_shows_rows_first_and_either_way_on_demand(client: Client, page: Page, pool: Pool) -> None:
    assert "disabled" in page.by_id("id_env_text").attrs
    assert page.by_id("env-as-rows").attrs["aria-pressed"] == "true"
    typed = filled(page, pool, env_name=["A", "KEY"], env_value=['x;"y"', "s3cret"], env_private=["1"])
    for address in (VARIABLES, CREATE):  # a part for the browser, a page without JavaScript
        text = Page(client.post(address, typed | {"env_as": ["text"]}))
        fields = text.fields()
        assert fields["env_text"] == ['A="x;\\"y\\""']
        assert (fields["env_name"], fields["env_value"]) == (["KEY", ""], ["s3cret", ""])
        assert text.by_id("env-as-text").attrs["aria-pressed"] == "true"
        rows = Page(client.post(address, typed | fields | {"env_as": ["rows"]}))
        assert "env_text" not in rows.fields()
        assert rows.fields()["env_name"] == ["A", "KEY", ""]
        assert rows.fields()["env_private"] == ["1"]
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_a_text_with_bad_pieces_says_why_it_stays(client: Client, page: Page, pool: Pool) -> None:
    answer = client.post(CREATE, filled(page, pool, env_text="A=1;NOVALUE", env_as="rows"))
    shown = Page(answer)
    assert answer.status_code == 200
    assert shown.fields()["env_text"] == ["A=1;NOVALUE"]
    assert "“NOVALUE”" in shown.by_id("notes-env_text").text
    assert "Still text" in shown.by_id("variables").text


@pytest.mark.django_db
def test_whoever_else_is_signed_in_by_now_gets_no_variables(
    client: Client, page: Page, pool: Pool, team: Team
) -> None:
    typed = filled(page, pool, env_name="KEY", env_value="s3cret", env_private="0", env_as="text")
    client.force_login(make_user(team))
    assert client.post(VARIABLES, typed).status_code == 401
    assert Client().post(VARIABLES, typed).status_code == 401


@pytest.mark.django_db
def test_variables_of_rows_reach_the_job(client: Client, page: Page, pool: Pool) -> None:
    value = " two\r\nlines ; '\"； a=b "
    client.post(
        CREATE, filled(page, pool, env_name=["V", "", "P"], env_value=[value, "", "s"], env_private=["2"])
    )
    job = Job.objects.get()
    assert job.request["env"] == [
        {"name": "V", "value": value.replace("\r\n", "\n"), "private": False},
        {"name": "P", "value": None, "private": True},
    ]
    assert decrypt(job.private_values.get().ciphertext) == "s"


@pytest.mark.django_db
def test_errors_stand_where_the_variable_is(client: Client, page: Page, pool: Pool) -> None:
    typed = filled(page, pool, env_text="1A=x;B=1", env_name=["B", "2C"], env_value=["1", ""])
    shown = Page(client.post(CREATE, typed))
    assert "“1A”" in shown.by_id("notes-env_text").text
    rows = shown.all("div", class_="ty-variable")
    assert ["B is given twice" in rows[0].text, "“2C”" in rows[1].text] == [True, True]
    live = Page(client.post("/jobs/estimate/", typed))
    assert "Row 1:" in live.by_id("notes-env").text
    assert "Row 2:" in live.by_id("notes-env").text


@pytest.mark.django_db
def test_more_than_may_be_are_refused_in_rows_too(client: Client, page: Page, pool: Pool) -> None:
    many = [f"V{n}" for n in range(limits.MOST_VARIABLES + 1)]
    answer = client.post(CREATE, filled(page, pool, env_name=many, env_value=many))
    assert answer.status_code == 422
    assert f"At most {limits.MOST_VARIABLES} entries." in Page(answer).by_id("notes-env").text


@pytest.mark.django_db
def test_a_team_mates_copy_by_the_form_runs_with_the_value(
    client: Client, pool: Pool, alice: User, team: Team
) -> None:
    env = (EnvVar("KEY", "sekret-4711", private=True), EnvVar("A", "1"))
    job = make_job(alice, pool, env=env)
    client.force_login(make_user(team))
    page = Page(client.get(f"{CREATE}?from={job.key}"))
    assert client.post(CREATE, page.fields() | {"command": ["echo $KEY"]}).status_code == 422

    refused = Page(client.post(CREATE, page.fields() | {"command": ["echo $KEY"]}))
    assert "Enter a value of your own" in refused.all("div", class_="ty-variable")[0].text
    assert client.post(CREATE, page.fields()).status_code == 303
    kept = Job.objects.latest("pk").private_values.get()
    assert (decrypt(kept.ciphertext), kept.owner) == ("sekret-4711", alice)

    typed = page.fields() | {"command": ["echo $KEY"], "env_value": ["own", "1", ""]}
    assert client.post(CREATE, typed | {"token": ["other"]}).status_code == 303
    own = Job.objects.latest("pk").private_values.get()
    assert (decrypt(own.ciphertext), own.owner) != ("sekret-4711", alice)


@pytest.mark.django_db
def test_ones_own_value_is_filled_in_and_covered(client: Client, pool: Pool, alice: User) -> None:
    job = make_job(alice, pool, env=(EnvVar("KEY", "********", private=True),))
    client.force_login(alice)
    page = Page(client.get(f"{CREATE}?from={job.key}"))
    fields = page.fields()
    assert (fields["env_value"], fields["env_from"], fields["env_private"]) == (
        ["********", ""],
        ["", ""],
        ["0"],
    )
    assert client.post(CREATE, fields).status_code == 303
    assert decrypt(Job.objects.latest("pk").private_values.get().ciphertext) == "********"


@pytest.mark.django_db
def test_a_value_that_cannot_be_read_any_more_is_asked_for(client: Client, pool: Pool, alice: User) -> None:
    job = make_job(alice, pool, env=(EnvVar("KEY", "s", private=True),))
    job.private_values.update(ciphertext=b"nothing")
    client.force_login(alice)
    page = Page(client.get(f"{CREATE}?from={job.key}"))
    assert "enter them anew: KEY" in page.source
    fields = page.fields()
    assert fields["env_value"] == ["", ""]
    answer = client.post(CREATE, fields)
    assert answer.status_code == 422
    assert "cannot be decrypted any more" in Page(answer).all("div", class_="ty-variable")[0].text
    removed = fields | {"env_name": [""], "env_value": [""], "env_from": [""], "env_private": []}
    assert client.post(CREATE, removed).status_code == 303
    typed = fields | {"env_value": ["new", ""], "token": ["another"]}
    assert client.post(CREATE, typed).status_code == 303
    assert decrypt(Job.objects.latest("pk").private_values.get().ciphertext) == "new"
