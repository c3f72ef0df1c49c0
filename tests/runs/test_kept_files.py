"""Files of a failed run: listed, read and downloaded, by REST and from the listener for bytes."""

from unittest import mock

import pytest
import yaml
from django.utils import timezone

from engines.base import EngineError
from engines.local.engine import LocalEngine
from jobs.models import Attempt
from runs.downloads import CHUNK_BYTES, file_address
from runs.kept_paths import path_asked, path_quoted
from tests.factories import make_team, make_user
from tests.files_client import body, fetch
from tests.runs.kept_runs import listing

pytestmark = pytest.mark.django_db


class TestRest:
    def test_a_listing(self, api, runs, failed):
        client = api(runs.user)
        answer = client.get(listing(failed))
        assert answer.status_code == 200
        assert [entry["path"] for entry in answer.json()["entries"]] == ["tmp", "workspace"]
        inside = client.get(listing(failed, query="?path=workspace")).json()
        rows = {row["path"]: row for row in inside["entries"]}
        assert (inside["total"], inside["more"]) == (6, False)
        assert next(iter(rows)) == "workspace/deep"
        assert rows["workspace/link"] | {"modified_at": 0} == {
            "name": "link",
            "path": "workspace/link",
            "kind": "link",
            "size": 0,
            "modified_at": 0,
            "target": "/etc/passwd",
        }
        odd = rows["workspace/caf%E9"]
        assert (odd["name"], odd["kind"], odd["size"]) == ("caf�", "file", 4)
        part = client.get(listing(failed, query="?path=workspace&first=4&limit=1")).json()
        assert [row["name"] for row in part["entries"]] == ["link"]

    def test_a_download_is_exact(self, api, runs, failed):
        client = api(runs.user)
        for path, content in (("a.txt", b"the answer\n"), ("caf%E9", b"odd\n"), ("data.bin", b"\0\1")):
            answer = client.get(listing(failed, query=f"download/?path=workspace/{path}"))
            assert (answer.status_code, answer["Cache-Control"]) == (302, "private, no-store")
            assert body(fetch(answer["Location"])) == content

    @pytest.mark.parametrize(
        "path",
        [
            "workspace/link",
            "../..",
            "workspace/..",
            "workspace/%2e%2e/%2e%2e",
            "nothing",
            "x" * 2000,
            "tmp/b/c",
        ],
    )
    def test_no_way_leads_out(self, api, runs, failed, path):
        client = api(runs.user)
        for query in (f"?path={path}", f"download/?path={path}"):
            answer = client.get(listing(failed, query=query))
            assert (answer.status_code, answer.json()["errors"][0]["code"]) == (404, "file_unknown")

    def test_refusals(self, api, runs, failed):
        client = api(runs.user)
        assert client.get(listing(failed, rank=7)).json()["errors"][0]["code"] == "file_unknown"
        assert client.get(listing(failed, query="?limit=1001")).status_code == 400
        assert client.get(listing(failed, query="?pth=x")).status_code == 400
        assert client.get(listing(failed, query="download/?path=workspace")).status_code == 404
        other = runs.ended_of("exit 1", keep_after_failure_minutes=0)
        answer = client.get(listing(other))
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (404, "files_not_kept")
        Attempt.objects.filter(job=failed).update(kept_until=timezone.now())
        for query in ("", "download/?path=workspace/a.txt"):
            answer = client.get(listing(failed, query=query))
            assert (answer.status_code, answer.json()["errors"][0]["code"]) == (410, "files_no_longer_kept")

    def test_an_engine_that_cannot_read(self, api, runs, failed):
        client = api(runs.user)
        client.raise_request_exception = False
        with mock.patch.object(LocalEngine, "kept_folder", side_effect=EngineError("no")):
            answer = client.get(listing(failed))
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (503, "files_unreadable")

    def test_the_job_tells_until_when(self, api, runs, failed):
        client = api(runs.user)
        told = client.get(f"/api/v1/jobs/{failed.key}/").json()
        assert (told["keep_after_failure_minutes"], told["kept_until"] is not None) == (30, True)
        assert client.get("/api/v1/jobs/").json()["results"][0]["kept_until"] == told["kept_until"]

    def test_removing_early(self, api, runs, failed):
        path = f"/api/v1/jobs/{failed.key}/remove-files/"
        mate, stranger = make_user(runs.team), make_user(make_team())
        admin = make_user(runs.team, admin=True)
        assert api(mate).post(path).status_code == 403
        assert api(stranger).post(path).status_code == 404
        assert api(admin).post(path).json() == {"removed": True}
        assert api(runs.user).post(path).json() == {"removed": False}
        assert api(mate).get(listing(failed)).status_code == 410
        (event,) = failed.events.filter(code="files_removed")
        assert event.actor == admin
        runs.drop()
        assert not runs.held(failed)

    def test_a_stranger_finds_nothing(self, api, client, runs, failed):
        stranger = make_user(make_team())
        client.force_login(stranger)
        for tail in ("", "download/?path=workspace/a.txt"):
            assert api(stranger).get(listing(failed, query=tail)).status_code == 404
            assert client.get(f"/jobs/{failed.key}/workers/0/files/{tail}").status_code == 404
        assert client.get(f"/jobs/{failed.key}/workers/0/files/view/?path=workspace/a.txt").status_code == 404
        assert client.post(f"/jobs/{failed.key}/remove-files/").status_code == 404

    def test_it_is_described(self, client, runs):
        client.force_login(runs.user)
        schema = yaml.safe_load(client.get("/api/v1/schema/").content)
        call = schema["paths"]["/api/v1/jobs/{key}/workers/{rank}/files/"]["get"]
        asked = [one["name"] for one in call["parameters"] if one["in"] == "query"]
        assert asked == ["first", "limit", "path"]


class TestAddress:
    """The byte listener's part."""

    @pytest.fixture
    def address(self, runs, failed):
        return file_address(user=runs.user, job=failed, rank=0, path=b"workspace/page.html")

    def test_a_page_never_runs(self, address):
        answer = fetch(address)
        assert body(answer) == b"<script>alert(1)</script>\n"
        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["Content-Disposition"] == 'attachment; filename="page.html"'
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer["Content-Security-Policy"]

    def test_a_range_and_a_repetition(self, address):
        part = fetch(address, range="bytes=1-6")
        assert (part.status_code, body(part)) == (206, b"script")
        assert fetch(address, if_none_match=part["ETag"]).status_code == 304

    def test_a_large_one_comes_in_chunks(self, runs):
        job = runs.ended_of("head -c 600000 /dev/zero | tr '\\0' x > big; exit 1")
        answer = fetch(file_address(user=runs.user, job=job, rank=0, path=b"workspace/big"))
        sizes = [len(chunk) for chunk in answer]
        assert (sum(sizes), max(sizes)) == (600_000, CHUNK_BYTES)

    def test_odd_names_are_saved_under_readable_ones(self, runs):
        job = runs.ended_of(r"""echo a > $'two\nlines\e"\xff'; exit 1""")
        address = file_address(user=runs.user, job=job, rank=0, path=b'workspace/two\nlines\x1b"\xff')
        answer = fetch(address)
        assert (answer.status_code, body(answer)) == (200, b"a\n")
        assert answer["Content-Disposition"].startswith("attachment; filename*=utf-8''two%EF%BF%BDlines")

    def test_when_the_time_is_over(self, address, chinese):
        Attempt.objects.update(kept_until=timezone.now())
        assert fetch(address).status_code == 410
        assert "不再保留" in fetch(address, accept_language="zh-CN").content.decode()

    def test_it_expires(self, address, settings):
        settings.DOWNLOAD_SECONDS = -1
        assert fetch(address).status_code == 403

    def test_rights_are_looked_at_again(self, address, runs):
        runs.user.memberships.all().delete()
        assert fetch(address).status_code == 404

    def test_one_of_a_log_is_none_of_a_file(self, address, runs, failed):
        assert fetch(address.replace("/files/", "/logs/")).status_code == 404


class TestPaths:
    """Names of any bytes come through an address unchanged."""

    @pytest.mark.parametrize(
        "path", [b"a b+c&d=e?f#g", bytes(range(1, 47)) + bytes(range(48, 256)), "汉/é".encode(), b"%41", b""]
    )
    def test_there_and_back(self, path):
        assert path_asked(f"page=2&path={path_quoted(path)}&x=1") == path

    def test_as_people_write_them(self):
        assert path_asked("path=a+b") == b"a b"
        assert path_asked("p%61th=x") == b"x"
        assert path_asked("paths=a&path") == b""
