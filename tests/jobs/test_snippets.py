"""The form as programs: what they send is what the form would, and no private value is in them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.local.plan import base_environment
from jobs.clone import least_body
from jobs.environment import BASE_NAMES, INJECTED_BY_FRAMEWORK, injected_names
from jobs.estimate import estimate
from jobs.forms import snippets_of
from jobs.forms.ranks import ranks_of
from jobs.models import Job
from jobs.serializers import JobRequestSerializer
from jobs.spec import EnvVar, JobSpec, MountSpec
from jobs.texts import INJECTED
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_job, make_user
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled
from tests.jobs.value_facts import facts, spec

ADDRESS = "http://127.0.0.1:8000/api/v1/jobs/"
SNIPPETS = "/jobs/snippets/"
SECRETS = {"API_KEY": "se\"kr'et $(id) `x` \\n 汉", "OTHER": ""}
FAKE_CURL = """\
#!/bin/sh
cat > "$OUT/body"
for word in "$@"; do printf '%s\\n' "$word" >> "$OUT/words"; done
"""


def request(**fields: Any) -> JobSpec:
    return replace(
        JobSpec(team=1, pool=2, image=3, command="true", name="n", spec=4, worker_count=1), **fields
    )


def by_curl(text: str, folder: Path) -> tuple[Any, list[str]]:
    """What curl would be given, by really running the lines with bash."""
    program = folder / "curl"
    program.write_text(FAKE_CURL)
    program.chmod(0o755)
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "OUT": str(folder), "TRAINYARD_TOKEN": "t0k en", **SECRETS}
    subprocess.run(["bash", "-c", text], env=env, cwd=folder, check=True, timeout=30)
    words = (folder / "words").read_text().splitlines()
    (folder / "words").unlink()
    return json.loads((folder / "body").read_text()), words


def by_python(text: str) -> tuple[Any, Any]:
    """What urllib would send, with the opener replaced."""
    answer = io.BytesIO(b'{"id": "jo-x"}')
    with (
        mock.patch.dict(os.environ, {"TRAINYARD_TOKEN": "t0k en", **SECRETS}),
        mock.patch("urllib.request.urlopen", return_value=answer) as opened,
        mock.patch("builtins.print") as printed,
    ):
        exec(text, {})
    printed.assert_called_once_with("jo-x")
    sent: urllib.request.Request = opened.call_args.args[0]
    assert isinstance(sent.data, bytes)
    return json.loads(sent.data), sent


def filled_in(asked: JobSpec) -> dict[str, Any]:
    """The body with the values of private variables."""
    body = json.loads(json.dumps(least_body(asked)))
    for variable in body.get("env", ()):
        if variable.get("private") and "value" in variable:
            variable["value"] = SECRETS[variable["name"]]
    return body


AWKWARD = "echo 'a' \"b\" $HOME `id` \\\\n\nEND\nEND_1\n'''\"\"\"\n汉 \x1b \r {not} %s $(exit 1)\n"
ASKED = [
    request(),
    request(command=AWKWARD, name="END", description="END_2"),
    request(env=(EnvVar("A", AWKWARD), EnvVar("E", ""))),
    request(
        command=AWKWARD,
        env=(
            EnvVar("API_KEY", SECRETS["API_KEY"], private=True),
            EnvVar("A", "${API_KEY}"),
            EnvVar("OTHER", "", private=True),
            EnvVar("KEPT", None, private=True, from_job="jo-" + "a" * 16),
        ),
        mounts=(MountSpec(1, "/mnt/x y"),),
        tags=("a'b",),
        rdma=True,
        stop_grace_seconds=0,
    ),
]


@pytest.mark.parametrize("asked", ASKED, ids=range(len(ASKED)))
def test_the_programs_send_what_was_asked_for(asked: JobSpec, tmp_path: Path) -> None:
    shown = snippets_of(asked, ADDRESS)
    body, words = by_curl(shown.curl, tmp_path)
    assert body == filled_in(asked)
    assert words == [
        *("-sS", ADDRESS, "-H", "Authorization: Token t0k en"),
        *("-H", "Content-Type: application/json", "--data-binary", "@-"),
    ]
    body, sent = by_python(shown.python)
    assert body == filled_in(asked)
    assert (sent.full_url, sent.get_method()) == (ADDRESS, "POST")
    assert dict(sent.header_items()) == {
        "Authorization": "Token t0k en",
        "Content-type": "application/json",
    }
    assert json.loads(shown.body) == json.loads(json.dumps(least_body(asked)))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts, texts, texts)
def test_whatever_is_typed_arrives(tmp_path: Path, command: str, value: str, name: str) -> None:
    asked = request(command=command, name=name, env=(EnvVar("A", value), EnvVar("OTHER", "x", private=True)))
    shown = snippets_of(asked, ADDRESS)
    assert by_curl(shown.curl, tmp_path)[0] == filled_in(asked)
    assert by_python(shown.python)[0] == filled_in(asked)


def test_no_private_value_is_in_them() -> None:
    asked = request(env=(EnvVar("API_KEY", "sekret-4711", private=True),))
    shown = snippets_of(asked, ADDRESS)
    assert "sekret" not in f"{shown}"
    assert shown.secrets == ("API_KEY",)
    assert snippets_of(request(env=(EnvVar("K", None, True, "jo-a"),)), ADDRESS).secrets == ()


def test_an_address_is_no_command(tmp_path: Path) -> None:
    odd = "http://x'$(touch pwned)'/api/"
    _body, words = by_curl(snippets_of(request(), odd).curl, tmp_path)
    assert words[1] == odd
    assert by_python(snippets_of(request(), odd).python)[1].full_url.startswith("http://x'$(touch")
    assert not (tmp_path / "pwned").exists()


def test_the_shortest_body_asks_for_the_same() -> None:
    for asked in ASKED[:3]:
        body = JobRequestSerializer(data=json.loads(json.dumps(least_body(asked))))
        assert body.is_valid(), body.errors
        assert replace(body.job_spec(), worker_count=1) == asked
        assert "stop_grace_seconds" not in body.initial_data


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


@pytest.mark.django_db
def test_the_form_as_programs(client: Client, page: Page, pool: Pool, team: Team) -> None:
    typed = filled(
        page, pool, command="echo '<b>'", env_name="API_KEY", env_value="sekret-4711", env_private="0"
    )
    for headers in ({"HX-Request": "true"}, {}):  # a part, and a page without JavaScript
        shown = Page(client.post(SNIPPETS, typed, headers=headers))
        body = json.loads(shown.by_id("snippet-body").text)
        assert body["command"] == "echo '<b>'"
        assert body["env"] == [{"name": "API_KEY", "private": True, "value": "${API_KEY}"}]
        assert "http://testserver/api/v1/jobs/" in shown.by_id("snippet-curl").text
        assert "set API_KEY" in shown.source
        assert "sekret" not in shown.source
    assert not Job.objects.exists()
    assert Client().post(SNIPPETS, typed, headers={"HX-Request": "true"}).status_code == 401
    client.force_login(make_user(team))
    assert client.post(SNIPPETS, typed, headers={"HX-Request": "true"}).status_code == 401


@pytest.mark.django_db
def test_the_shown_body_creates_what_the_form_would(
    client: Client, page: Page, pool: Pool, alice: User, api: Any
) -> None:
    typed = filled(
        page, pool, worker_count="2", env_name="A", env_value=" x;\r\ny", priority="low", tags="a, b"
    )
    shown = Page(client.post(SNIPPETS, typed, headers={"HX-Request": "true"}))
    assert api(alice).post("/api/v1/jobs/", json.loads(shown.by_id("snippet-body").text)).status_code == 201
    assert client.post(CREATE, typed).status_code == 303
    by_rest, by_form = Job.objects.order_by("pk")
    assert by_rest.request == by_form.request


@pytest.mark.django_db
def test_a_kept_value_stays_a_reference(client: Client, pool: Pool, alice: User, team: Team) -> None:
    job = make_job(alice, pool, env=(EnvVar("KEY", "sekret-4711", private=True),))
    client.force_login(make_user(team))
    fields = Page(client.get(f"{CREATE}?from={job.key}")).fields()
    shown = Page(client.post(SNIPPETS, fields, headers={"HX-Request": "true"}))
    env = json.loads(shown.by_id("snippet-body").text)["env"]
    assert env == [{"name": "KEY", "private": True, "from_job": job.key}]


def test_where_each_variable_comes_from() -> None:
    asked = spec(
        framework="pytorch_ddp",
        worker_count=3,
        env=(EnvVar("KEY", "s", private=True), EnvVar("PATH", "/x"), EnvVar("LONG", "x" * 999)),
    )
    preview = ranks_of(asked, estimate(asked, facts()))
    common = {one.name: one for one in preview.common}
    assert (common["KEY"].private, common["KEY"].value, common["KEY"].injected) == (True, None, False)
    assert (common["WORLD_SIZE"].value, common["WORLD_SIZE"].injected) == ("3", True)
    assert common["PATH"].value == "/x"
    assert len(common["LONG"].value or "") == 201
    assert "PATH" not in preview.below
    assert "HOME" in preview.below
    at = preview.columns.index("RANK")
    assert [variables[at].value for variables in preview.ranks] == ["0", "1", "2"]
    assert [name for name, _ in preview.injected] == list(injected_names("pytorch_ddp"))
    assert ranks_of(spec(spec=None), estimate(spec(spec=None), facts())).ranks == ()
    assert ranks_of(spec(framework="x"), estimate(spec(framework="x"), facts())).injected == ()


def test_what_lies_below_is_what_engines_set() -> None:
    assert set(BASE_NAMES) == set(base_environment(mock.Mock(), "/root", "/tmp"))


def test_each_injected_variable_is_explained() -> None:
    assert {name for framework in INJECTED_BY_FRAMEWORK for name in injected_names(framework)} == set(
        INJECTED
    )


@pytest.mark.django_db
def test_the_page_shows_the_variables_of_each_worker(client: Client, page: Page, pool: Pool) -> None:
    typed = filled(
        page,
        pool,
        framework="pytorch_ddp",
        worker_count="10",
        spec=[page.all("input", name="spec")[0].attrs["value"]],
        env_name=["A", "KEY"],
        env_value=["<b>1", "sekret-4711"],
        env_private=["1"],
    )
    live = Page(client.post("/jobs/estimate/", typed))
    ranks = live.by_id("ranks")
    assert len(live.all("tr")) == 9
    assert "and 2 more Workers" in ranks.text
    assert "••••" in ranks.text
    assert "sekret" not in live.source
    assert "&lt;b&gt;1" in live.source
    assert "MASTER_PORT" in live.by_id("injected-names").text
    assert "MASTER_PORT" not in page.by_id("injected-names").text
    assert live.by_id("injected-names").attrs["hx-swap-oob"] == "true"
