"""Files of a failed run: kept, read, downloaded and let go of. Real processes; only the clock of the rows is
set, and each tick begins with nothing but database and files."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from unittest import mock

import pytest
import yaml
from django.utils import timezone

from engines.base import AttemptKey, EngineError, NotKept
from engines.local.engine import LocalEngine
from jobs.models import Attempt, Job
from jobs.scheduling import queue_tick
from jobs.services import job_stop
from pools.models import Hold
from runs import dropping, kept, watching
from runs.downloads import CHUNK_BYTES, file_address
from runs.kept_paths import path_asked, path_quoted
from tests.factories import make_image, make_job, make_pool, make_team, make_user
from tests.files_client import body, fetch

pytestmark = pytest.mark.django_db
PATIENCE_S = 30.0
WRITES = r"""
echo "the answer" > a.txt
echo other > $TMPDIR/b
ln -s /etc/passwd link
echo odd > $'caf\xe9'
printf '\x00\x01' > data.bin
echo '<script>alert(1)</script>' > page.html
mkdir deep; echo inner > deep/c.txt
"""
HOUR = timedelta(hours=1)


class Runs:
    """Jobs of one Worker in a pool of their own, on a real engine in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        self.team = make_team()
        self.user = make_user(self.team)
        self.pool = make_pool(self.team)
        make_image(self.pool.zone, reference="host")

    def engine(self, _kind=""):
        return LocalEngine(self.folder, "none")

    def until(self, job, condition):
        patience = time.monotonic() + PATIENCE_S
        while not condition(job):
            assert time.monotonic() < patience, (job.state, job.reason)
            time.sleep(0.02)
            queue_tick()
            watching.attend()
            job.refresh_from_db()
        return job

    def ended(self, command, **fields):
        job = make_job(self.user, self.pool, command=command, **({"keep_after_failure_minutes": 30} | fields))
        return self.until(job, lambda job: job.finished)

    def attempt(self, job):
        return job.attempts.get(number=job.attempt)

    def held(self, job, number=None):
        """Whether the engine has files of it."""
        try:
            self.engine().kept_folder(AttemptKey(job.key, number or job.attempt), 0, b"", 0, 9)
        except NotKept:
            return False
        return True

    def drop(self):
        """As often as it takes: a Worker that has told its end may still be tidying up."""
        patience = time.monotonic() + PATIENCE_S
        while dropping.due().exists():
            assert time.monotonic() < patience
            dropping.drop_due()

    def close(self):
        for job in Job.objects.all():
            for number in range(1, job.attempt + 1):
                self.engine().stop(AttemptKey(job.key, number), 0)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    made = Runs(tmp_path / "runs")
    for module in (watching, kept, dropping):
        monkeypatch.setattr(module, "engine_of", made.engine)
    yield made
    made.close()


@pytest.fixture
def failed(runs):
    job = runs.ended(WRITES + "exit 3")
    assert (job.state, job.exit_code) == ("failed", 3)
    return job


def listing(job, rank=0, query=""):
    return f"/api/v1/jobs/{job.key}/workers/{rank}/files/{query}"


class TestKeeping:
    """For whom files are kept, how long, and that nothing else waits for that."""

    def test_after_a_failure_for_so_many_minutes(self, runs, failed):
        attempt = runs.attempt(failed)
        left = attempt.kept_until - timezone.now()
        assert timedelta(minutes=29) < left <= timedelta(minutes=30)
        assert not Hold.objects.exists()
        runs.drop()
        assert runs.held(failed)

    @pytest.mark.parametrize("command", ["exit 0", "kill -9 $$", "exit 1"])
    def test_without_it_nothing_is_kept(self, runs, command):
        job = runs.ended(WRITES + command, keep_after_failure_minutes=0)
        assert (runs.attempt(job).files_held, runs.attempt(job).kept_until) == (False, None)
        assert not runs.held(job)

    def test_not_after_a_success(self, runs):
        job = runs.ended(WRITES + "exit 0")
        assert (job.state, runs.attempt(job).kept_until) == ("succeeded", None)
        runs.drop()
        assert not runs.held(job)
        assert not runs.attempt(job).files_held

    def test_not_after_a_stop(self, runs):
        job = make_job(runs.user, runs.pool, command="echo a > a; sleep 300", keep_after_failure_minutes=9)
        runs.until(job, lambda job: job.state == "running")
        Job.objects.filter(pk=job.pk).update(request=job.request | {"stop_grace_seconds": 0})
        job_stop(job=job, actor=runs.user)
        runs.until(job, lambda job: job.finished)
        assert (job.state, runs.attempt(job).kept_until) == ("stopped", None)
        runs.drop()
        assert not runs.held(job)

    def test_of_a_restarted_job_only_the_last_run(self, runs, settings):
        settings.RESTART_PAUSE_SECONDS = 0.05
        job = runs.ended('echo "$TRAINYARD_ATTEMPT" > a; exit 1', auto_restart=True, max_restarts=1)
        assert (job.state, job.attempt) == ("failed", 2)
        runs.drop()
        assert not runs.held(job, 1)
        assert runs.engine().kept_bytes(AttemptKey(job.key, 2), 0, b"workspace/a", 0, 9).data == b"2\n"

    def test_whose_command_never_ran_leaves_nothing(self, runs):
        job = make_job(runs.user, runs.pool, command="true", keep_after_failure_minutes=9)
        queue_tick()
        frozen = Job.objects.get().frozen
        Job.objects.update(frozen=frozen | {"image": frozen["image"] | {"reference": "none:1"}})
        runs.until(job, lambda job: job.finished)
        assert (job.state, runs.attempt(job).kept_until) == ("failed", None)
        runs.drop()
        assert not runs.held(job)

    def test_of_all_workers(self, runs):
        gate = runs.folder.parent / "gate"
        waits = f"until [ -e {gate} ]; do sleep 0.05; done; exit 7"
        command = f'echo "$RANK" > a; [ "$RANK" = 0 ] || {{ {waits}; }}; touch {gate}; sleep 300'
        job = runs.ended(command, framework="pytorch_ddp", worker_count=2)
        assert (job.state, job.exit_code) == ("failed", 7)
        read = [
            runs.engine().kept_bytes(AttemptKey(job.key, 1), n, b"workspace/a", 0, 9).data for n in (0, 1)
        ]
        assert read == [b"0\n", b"1\n"]

    def test_jobs_that_end_alike_are_kept_too(self, runs):
        jobs = [
            make_job(runs.user, runs.pool, command="echo a > a; exit 4", keep_after_failure_minutes=5)
            for _ in range(3)
        ]
        for job in jobs:
            runs.until(job, lambda job: job.finished)
        assert [runs.attempt(job).kept_until is not None for job in jobs] == [True] * 3
        assert all(runs.held(job) for job in jobs)


class TestDropping:
    def test_when_the_time_is_over(self, runs, failed):
        Attempt.objects.update(kept_until=timezone.now() - HOUR)
        dropping.drop_due()
        assert not runs.held(failed)
        assert not runs.attempt(failed).files_held
        assert runs.engine().read_log(AttemptKey(failed.key, 1), 0, 0, 9).complete
        dropping.drop_due()

    def test_who_is_killed_in_between_does_it_again(self, runs, failed):
        Attempt.objects.update(kept_until=timezone.now())
        (found,) = dropping.due()
        with mock.patch.object(Attempt.objects, "filter", side_effect=KeyError), pytest.raises(KeyError):
            dropping._drop(found)
        assert not runs.held(failed)
        assert runs.attempt(failed).files_held
        dropping.drop_due()
        assert not runs.attempt(failed).files_held

    def test_killed_at_any_moment_the_next_one_ends_it(self, runs):
        """A process that drops is killed again and again; at last nothing is left, and the log is."""
        job = runs.ended(
            "mkdir many; cd many; for i in $(seq 40); do mkdir $i; touch $i/{1..200}; done; false"
        )
        program = (
            "import sys; from pathlib import Path; from engines.base import AttemptKey; "
            "from engines.local.engine import LocalEngine; engine = LocalEngine(Path(sys.argv[1]), 'none'); "
            "print('go', flush=True); engine.drop(AttemptKey(sys.argv[2], 1))"
        )
        for pause in (0, 0.002, 0.01, 0.03):
            words = [sys.executable, "-c", program, str(runs.folder), job.key]
            with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                time.sleep(pause)
                os.kill(process.pid, signal.SIGKILL)
        Attempt.objects.update(kept_until=timezone.now())
        runs.drop()
        assert not list(runs.folder.glob("*/1/0/scratch.*"))
        assert (runs.folder / job.key / "1" / "0" / "log").exists()

    def test_trouble_with_one_does_not_keep_the_others(self, runs, monkeypatch):
        first, second = (runs.ended("exit 1") for _ in range(2))
        Attempt.objects.update(kept_until=timezone.now())
        engine = runs.engine()
        real = engine.drop

        def drop(key):
            if key.job == first.key:
                raise EngineError("no")
            return real(key)

        engine.drop = drop
        monkeypatch.setattr(dropping, "engine_of", lambda kind: engine)
        dropping.drop_due()
        assert (runs.attempt(first).files_held, runs.attempt(second).files_held) == (True, False)

    def test_what_takes_longer_is_done_in_parts(self, runs, failed, monkeypatch):
        Attempt.objects.update(kept_until=timezone.now())
        monkeypatch.setattr("engines.local.engine._DROP_S", 0.0)
        dropping.drop_due()
        assert runs.attempt(failed).files_held
        assert not runs.held(failed)
        monkeypatch.undo()
        monkeypatch.setattr(dropping, "engine_of", runs.engine)
        runs.drop()
        assert not list(runs.folder.glob("*/1/0/scratch.*"))


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
        other = runs.ended("exit 1", keep_after_failure_minutes=0)
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
        job = runs.ended("head -c 600000 /dev/zero | tr '\\0' x > big; exit 1")
        answer = fetch(file_address(user=runs.user, job=job, rank=0, path=b"workspace/big"))
        sizes = [len(chunk) for chunk in answer]
        assert (sum(sizes), max(sizes)) == (600_000, CHUNK_BYTES)

    def test_odd_names_are_saved_under_readable_ones(self, runs):
        job = runs.ended(r"""echo a > $'two\nlines\e"\xff'; exit 1""")
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


class TestPages:
    @pytest.fixture
    def page(self, client, runs):
        client.force_login(runs.user)
        return client

    def test_the_job_tells_of_them(self, page, failed):
        text = page.get(f"/jobs/{failed.key}/").content.decode()
        assert "Files of the failed run are kept until" in text
        assert f'href="/jobs/{failed.key}/workers/0/files/"' in text
        Attempt.objects.update(kept_until=timezone.now())
        assert "are kept until" not in page.get(f"/jobs/{failed.key}/").content.decode()

    def test_browsing(self, page, failed):
        files = f"/jobs/{failed.key}/workers/0/files/"
        top = page.get(files).content.decode()
        assert f'href="{files}?path=workspace"' in top
        inside = page.get(f"{files}?path=workspace").content.decode()
        assert f'href="{files}?path=workspace/deep"' in inside
        assert f'href="{files}view/?path=workspace/caf%E9"' in inside
        assert f'href="{files}download/?path=workspace/data.bin"' in inside
        assert "→ /etc/passwd" in inside
        assert "?path=workspace/link" not in inside
        answer = page.get(f"{files}download/?path=workspace/caf%E9")
        assert body(fetch(answer["Location"])) == b"odd\n"

    def test_a_preview_is_text_and_nothing_else(self, page, failed):
        view = f"/jobs/{failed.key}/workers/0/files/view/?path=workspace/"
        shown = page.get(f"{view}page.html").content.decode()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
        assert "<script>alert" not in shown
        assert "odd" in page.get(f"{view}caf%E9").content.decode()
        assert "This is no text" in page.get(f"{view}data.bin").content.decode()
        for path in ("link", "deep", "nothing", "../../lock"):
            assert page.get(view + path).status_code == 404

    def test_a_long_file_shows_its_beginning(self, page, runs):
        job = runs.ended("seq 100000 > long; : > empty; exit 1")
        view = f"/jobs/{job.key}/workers/0/files/view/?path=workspace/"
        shown = page.get(f"{view}long").content.decode()
        assert "\n12\n" in shown
        assert "download the file to read all of it" in shown
        assert "100000" not in shown
        assert "The file is empty" in page.get(f"{view}empty").content.decode()

    def test_a_large_folder_has_pages(self, page, runs):
        job = runs.ended("touch $(seq -w 10000); exit 1")
        files = f"/jobs/{job.key}/workers/0/files/?path=workspace"
        first, last = (page.get(f"{files}&page={n}").content.decode() for n in (1, 999))
        assert "Page 1 of 50" in first
        assert 'href="?path=workspace&amp;page=2"' in first
        assert ">00200<" in first
        assert ">00201<" not in first
        assert "Page 50 of 50" in last
        assert ">10000<" in last

    def test_a_name_that_is_longer_than_an_address(self, page, runs):
        deep = "d" * 200
        job = runs.ended(f"for i in 1 2 3 4 5; do mkdir {deep}; cd {deep}; done; exit 1")
        path = "/".join(["workspace", *[deep] * 4])
        text = page.get(f"/jobs/{job.key}/workers/0/files/?path={path}").content.decode()
        assert "The path is too long to be opened here." in text

    def test_removing_asks_first(self, page, failed):
        path = f"/jobs/{failed.key}/remove-files/"
        assert "Remove the kept files?" in page.get(path).content.decode()
        assert Attempt.objects.get().kept_until > timezone.now()
        assert "were removed" in page.post(path, follow=True).content.decode()
        assert page.get(f"/jobs/{failed.key}/workers/0/files/").status_code == 410
        assert "No files of this job are kept" in page.post(path, follow=True).content.decode()

    def test_who_may_not_remove_sees_no_button(self, client, runs, failed):
        client.force_login(make_user(runs.team))
        assert "Remove now" not in client.get(f"/jobs/{failed.key}/").content.decode()
        files = client.get(f"/jobs/{failed.key}/workers/0/files/")
        assert (files.status_code, "Remove now" in files.content.decode()) == (200, False)
        assert client.post(f"/jobs/{failed.key}/remove-files/").status_code == 403

    def test_over_and_never_are_told_apart(self, page, runs, failed):
        Attempt.objects.update(kept_until=timezone.now())
        gone = page.get(f"/jobs/{failed.key}/workers/0/files/")
        assert (gone.status_code, "no longer kept" in gone.content.decode()) == (410, True)
        other = runs.ended("exit 1", keep_after_failure_minutes=0)
        assert page.get(f"/jobs/{other.key}/workers/0/files/").status_code == 404


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
