"""The path check on the create form and over REST: who may, what is answered, and what is never touched."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.models import Job
from jobs.texts import finding_text
from runs.models import PathCheck
from runs.path_check.services import MOST_A_MINUTE
from runs.tasks import engine_path_checks
from storage.models import VolumeGrant
from tests.engines.stand import wait_until
from tests.factories import make_image, make_pool, make_team, make_user, make_volume, make_zone
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db

START, API = "/jobs/path-check/", "/api/v1/path-check/"
PART = {"HX-Request": "true"}


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def pool(team):
    return make_pool(team, zone=make_zone())


@pytest.fixture
def image(pool):
    return make_image(pool.zone, reference="host")


@pytest.fixture
def volume(pool, team):
    return make_volume(pool.zone, team)


@pytest.fixture
def alice(team):
    return make_user(team)


@pytest.fixture
def typed(client, alice, pool, image, volume):
    """What the form would send, with a command that names a missing folder."""
    client.force_login(alice)
    command = "python /mnt/public/train.py --out /mnt/public/out"
    return lambda **changed: filled(Page(client.get(CREATE)), pool, **{"command": command} | changed)


@pytest.fixture
def body(pool, image, volume):
    return {
        "pool": pool.pk,
        "image": image.pk,
        "command": "python /mnt/public/train.py",
        "mounts": [{"volume": volume.pk, "mount_path": "/mnt/public"}],
    }


def address(check):
    return f"{START}{check.key}/"


def finish(check):
    def ended():
        engine_path_checks()
        check.refresh_from_db()
        return check.finished and check.settled

    wait_until(ended, f"end of {check.key}")


class TestPage:
    def test_from_the_button_to_the_answer(self, client, typed, volume):
        (Path(volume.path) / "train.py").write_text("")
        page = Page(client.get(CREATE))
        assert page.by_id("path-check-button").attrs["hx-post"] == START
        answer = client.post(START, typed(), headers=PART)
        check = PathCheck.objects.get()
        assert page.by_id("path-check").tag == "div"
        assert Page(answer).by_id("path-check").attrs["hx-get"] == address(check)
        assert client.get(address(check), headers=PART).status_code == 204
        finish(check)
        shown = client.get(address(check), headers=PART)
        assert "hx-trigger" not in Page(shown).by_id("path-check").attrs
        text = shown.content.decode()
        assert "3 paths: 2 readable and writable · 1 missing" in text
        assert shown["Cache-Control"] == "no-store"
        (create,) = Page(shown).all("button", name="create_path")
        assert create.attrs["value"] == "/mnt/public/out"
        assert not Job.objects.exists()

    def test_a_missing_folder_is_made(self, client, typed, volume):
        client.post(START, typed(create_path="/mnt/public/out"), headers=PART)
        check = PathCheck.objects.get()
        finish(check)
        assert (Path(volume.path) / "out").is_dir()
        shown = Page(client.get(address(check), headers=PART))
        assert "created just now" in shown.source
        assert "3 paths: 2 readable and writable · 1 missing" in shown.source
        assert not shown.all("button", name="create_path")  # train.py is missing, and no folder

    def test_paths_are_text(self, client, typed):
        client.post(START, typed(env_text="A=/mnt/public/<b>x</b>\nB=/mnt/public/汉 é"), headers=PART)
        check = PathCheck.objects.get()
        finish(check)
        text = client.get(address(check), headers=PART).content.decode()
        assert "<b>" not in text
        assert "/mnt/public/汉 é" in text
        assert "variable B" in text

    def test_a_script_is_told_with_what_hides_its_failure(self, client, typed, volume):
        (Path(volume.path) / "train.sh").write_text("cd /mnt/public\npython train.py | tee log\n")
        client.post(START, typed(command="bash /mnt/public/train.sh"), headers=PART)
        check = PathCheck.objects.get()
        finish(check)
        page = Page(client.get(address(check), headers=PART))
        (script,) = page.all("div", class_="ty-path-script")
        assert " ".join(script.text.split()) == (
            "/mnt/public/train.sh line 2 A pipe ends as its last part does, “tee log”: "
            "if an earlier part fails, nobody notices. “set -o pipefail” changes that."
        )

    def test_a_script_that_is_too_long_is_no_command_and_has_no_line(self, client, typed, volume):
        (Path(volume.path) / "train.sh").write_text("a\n" * 7000)
        client.post(START, typed(command="bash /mnt/public/train.sh"), headers=PART)
        check = PathCheck.objects.get()
        finish(check)
        page = Page(client.get(address(check), headers=PART))
        (script,) = page.all("div", class_="ty-path-script")
        text = (
            "The script is too long to be followed to its end: "
            "make sure yourself that a failure makes it fail."
        )
        assert " ".join(script.text.split()) == f"/mnt/public/train.sh {text}"
        (finding,) = PathCheck.objects.get().result["scripts"][0]["findings"]
        assert finding_text(finding["code"], finding["data"]) == f"/mnt/public/train.sh: {text}"

    def test_a_folder_for_results_is_not_there_yet(self, client, typed):
        client.post(START, typed(command="true", env_text="OUTPUT_DIR=/mnt/public/new"), headers=PART)
        check = PathCheck.objects.get()
        finish(check)
        page = Page(client.get(address(check), headers=PART))
        assert "2 paths: 1 readable and writable · 1 not there yet" in page.source
        assert len(page.all("span", class_="ty-path-awaited")) == 1
        assert not page.all("span", class_="ty-path-bad")
        (create,) = page.all("button", name="create_path")
        assert (create.attrs["value"], create.text.strip()) == ("/mnt/public/new", "Create folder")

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"image": ""}, "This field is required."),
            ({"mount_path": ["relative"]}, "A mount path is absolute"),
            ({"mount_volume": ["999"]}, "There is no such volume for this team."),
            ({"mount_volume": [""]}, "Choose a volume, or empty the mount path."),
            ({"create_path": "/usr/new"}, "/usr/new cannot be created"),
        ],
    )
    def test_what_is_wrong_is_said_and_nothing_is_run(self, client, typed, changed, said):
        answer = client.post(START, typed(**changed), headers=PART)
        assert answer.status_code == 200
        assert said in answer.content.decode()
        assert not PathCheck.objects.exists()

    def test_too_many(self, client, typed):
        sent = typed()
        for _ in range(MOST_A_MINUTE):
            client.post(START, sent, headers=PART)
        assert "wait a moment" in client.post(START, sent, headers=PART).content.decode()

    def test_one_that_failed_says_why(self, client, typed, volume):
        Path(volume.path).rmdir()
        client.post(START, typed(), headers=PART)
        check = PathCheck.objects.get()
        finish(check)
        text = client.get(address(check), headers=PART).content.decode()
        assert "the folder behind /mnt/public does not exist" in text
        assert volume.path not in text

    def test_one_that_nobody_does_stops_asking(self, client, typed):
        client.post(START, typed(), headers=PART)
        PathCheck.objects.update(created_at=timezone.now() - timedelta(minutes=2))
        shown = Page(client.get(address(PathCheck.objects.get()), headers=PART))
        assert "No answer yet" in shown.source
        assert "hx-get" not in shown.by_id("path-check").attrs

    def test_only_its_own_person_sees_it(self, client, typed, team):
        client.post(START, typed(), headers=PART)
        check = PathCheck.objects.get()
        client.force_login(make_user(team))
        assert client.get(address(check), headers=PART).status_code == 404
        client.logout()
        assert client.get(address(check), headers=PART).status_code == 401
        assert client.post(START, {}, headers=PART).status_code == 401

    def test_not_for_a_form_that_somebody_else_typed(self, client, typed, team):
        sent = typed()
        client.force_login(make_user(team))
        assert client.post(START, sent, headers=PART).status_code == 401
        assert not PathCheck.objects.exists()

    def test_a_form_changes_only_by_post(self, client, typed):
        assert client.get(START).status_code == 405


class TestRest:
    def test_from_the_request_to_the_result(self, api, alice, body, volume):
        client = api(alice)
        (Path(volume.path) / "train.py").write_text("")
        answer = client.post(API, body | {"create": ["/mnt/public/new/one"]})
        assert (answer.status_code, answer.json()["state"], answer.json()["paths"]) == (202, "pending", [])
        check = PathCheck.objects.get()
        finish(check)
        told = client.get(f"{API}{check.key}/").json()
        assert (told["id"], told["state"], told["reason"]) == (check.key, "done", None)
        assert told["summary"] == "3 paths: 3 readable and writable"
        assert told["paths"][2] == {
            "path": "/mnt/public/new/one",
            "origins": [],
            "kind": "folder",
            "exists": True,
            "readable": True,
            "writable": True,
            "executable": True,
            "mount": {
                "volume": volume.pk,
                "name": volume.name,
                "mount_path": "/mnt/public",
                "read_only": False,
            },
            "parent": None,
            "creatable": False,
            "created": "made",
        }
        assert volume.path not in str(told)

    def test_other_paths(self, api, alice, body):
        api(alice).post(API, body | {"paths": ["/mnt/public//x/", "/usr/bin/env", "/mnt/public/x"]})
        assert [p["path"] for p in PathCheck.objects.get().asked["paths"]] == [
            "/mnt/public/x",
            "/usr/bin/env",
        ]

    @pytest.mark.parametrize(
        ("changed", "code", "attr"),
        [
            ({"image": None}, "required", "image"),
            ({"create": ["/usr/x"]}, "create_not_on_volume", "create.0"),
            (
                {"create": ["/mnt/public/a", "/b"], "paths": ["/b", "/mnt/public/a"]},
                "create_not_on_volume",
                "create.1",
            ),
            ({"paths": ["x"]}, "path_not_proper", "paths.0"),
            ({"paths": []}, "no_paths", "paths"),
            ({"paths": "x"}, "not_a_list", "paths"),
            ({"paths": [1]}, "invalid", "paths.0"),
            ({"paths": ["/x"] * 65}, "max_length", "paths"),
            ({"nothing": 1}, "unknown", "nothing"),
            ({"state": "done"}, "read_only", "state"),
        ],
    )
    def test_what_is_wrong_is_400(self, api, alice, body, changed, code, attr):
        answer = api(alice).post(API, body | changed)
        assert answer.status_code == 400
        assert [(e["code"], e["attr"]) for e in answer.json()["errors"]] == [(code, attr)]
        assert not PathCheck.objects.exists()

    @pytest.mark.parametrize(
        "odd",
        [
            {"command": "cat /mnt/public/汉 /mnt/public/a\0b"},
            {
                "env": [
                    {"name": "A\0", "value": "/mnt/public/x"},
                    {"name": "x" * 300, "value": "/mnt/public/y"},
                ]
            },
        ],
    )
    def test_odd_texts_are_no_trouble(self, api, alice, body, odd):
        key = api(alice).post(API, body | odd).json()["id"]
        assert "\0" not in str(PathCheck.objects.get().asked)
        assert api(alice).get(f"{API}{key}/").status_code == 200

    def test_private_values_are_neither_looked_at_nor_kept(self, api, alice, body):
        secret = {"name": "KEY", "value": "/mnt/public/secret", "private": True}
        api(alice).post(API, body | {"env": [secret]})
        check = PathCheck.objects.get()
        assert "secret" not in repr((check.asked, check.frozen))

    def test_strangers_and_team_mates_get_404(self, api, alice, team, body):
        key = api(alice).post(API, body).json()["id"]
        for other in (make_user(team), make_user(make_team())):
            assert api(other).get(f"{API}{key}/").status_code == 404
        assert api(alice).get(f"{API}pc-0123456789abcdef/").status_code == 404
        alice.memberships.all().delete()
        assert api(alice).get(f"{API}{key}/").status_code == 404

    def test_the_volume_of_another_team_is_unknown(self, api, alice, body, volume):
        VolumeGrant.objects.update(team=make_team())
        answer = api(alice).post(API, body)
        assert [e["code"] for e in answer.json()["errors"]] == ["volume_unknown"]

    def test_too_many_is_429(self, api, alice, body):
        client = api(alice)
        statuses = [client.post(API, body).status_code for _ in range(MOST_A_MINUTE + 1)]
        assert statuses == [202] * MOST_A_MINUTE + [429]

    def test_failed(self, api, alice, body):
        key = api(alice).post(API, body).json()["id"]
        api(alice).post(API, body)
        told = api(alice).get(f"{API}{key}/").json()
        assert (told["state"], told["reason"]["code"]) == ("failed", "replaced")
        assert told["reason"]["message"] == "You began another check before this one was done."
