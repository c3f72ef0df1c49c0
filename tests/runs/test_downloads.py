"""Downloads of logs: who gets an address, what it is good for, and that every byte is right."""

import os
import shutil
from pathlib import Path
from unittest import mock

import pytest
import yaml
from django.conf import settings as console_settings
from django.core import signing
from django.utils import timezone

from engines.base import EngineError
from jobs.models import Job, Worker
from jobs.scheduling import queue_cycle
from runs.downloads import CHUNK_BYTES, log_address, log_open
from tests.factories import make_job, make_pool, make_team, make_user
from tests.files_client import body, fetch

pytestmark = pytest.mark.django_db

# Invalid UTF-8, NUL, and more than a chunk of three-byte characters: they are cut at every border.
ODD = b"a\xff\xfe\x00b\r\n" + "汉".encode() * 200_000 + b"\n" + bytes(range(256)) * 12
TRICKS = ("..", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "....//", "0%00", "a%00.log", "-1", "0.log")


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def job(team):
    pool = make_pool(team)
    job = make_job(make_user(team), pool, workers=2)
    queue_cycle(pool.pk)
    job.refresh_from_db()
    return job


@pytest.fixture
def folder(job):
    """Where the engine keeps the log of Worker 0."""
    folder = console_settings.RUNS_DIR / job.key / "1" / "0"
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(console_settings.RUNS_DIR / job.key)


@pytest.fixture
def log(folder):
    (folder / "log").write_bytes(b"0123456789")
    return folder / "log"


@pytest.fixture
def address(user, job):
    return log_address(user=user, job=job, attempt=1, rank=0)


def end(job):
    Job.objects.filter(pk=job.pk).update(state="failed")
    Worker.objects.update(ended_at=timezone.now())


class TestAddress:
    """Who gets one: REST and page alike."""

    def test_rest_sends_on_to_it(self, api, user, job, log):
        answer = api(user).get(f"/api/v1/jobs/{job.key}/workers/0/log/download/")
        assert answer.status_code == 302
        assert answer["Location"].startswith(f"{console_settings.FILES_URL}/logs/")
        assert answer["Cache-Control"] == "private, no-store"
        assert body(fetch(answer["Location"])) == b"0123456789"

    def test_the_page_sends_on_to_it(self, client, user, job, log):
        path = f"/jobs/{job.key}/workers/0/log/download/"
        assert client.get(path)["Location"] == f"/accounts/login/?next={path}"
        client.force_login(user)
        for query in ("", "?attempt=1", "?attempt="):
            answer = client.get(path + query)
            assert (answer.status_code, answer["Cache-Control"]) == (302, "no-store")
            assert body(fetch(answer["Location"])) == b"0123456789"
        assert client.post(path).status_code == 405

    def test_a_stranger_gets_none(self, api, client, job, log):
        stranger = make_user(make_team())
        client.force_login(stranger)
        assert api(stranger).get(f"/api/v1/jobs/{job.key}/workers/0/log/download/").status_code == 404
        assert client.get(f"/jobs/{job.key}/workers/0/log/download/").status_code == 404

    def test_only_ids_lead_to_one(self, api, client, user, job):
        client.force_login(user)
        rest = api(user)
        for rank in (*TRICKS, "7", "9" * 30):
            assert rest.get(f"/api/v1/jobs/{job.key}/workers/{rank}/log/download/").status_code == 404
            assert client.get(f"/jobs/{job.key}/workers/{rank}/log/download/").status_code == 404
        for attempt in (*TRICKS, "2", "9" * 30):
            path = f"jobs/{job.key}/workers/0/log/download/?attempt={attempt}"
            assert rest.get(f"/api/v1/{path}").status_code in (400, 404)
            assert client.get(f"/{path}").status_code in (400, 404)
        assert rest.get(f"/api/v1/jobs/{job.key}/workers/0/log/download/?file=x").status_code == 400
        assert client.get("/jobs/..%2f..%2fetc/workers/0/log/download/").status_code == 404

    def test_a_job_that_waits_has_an_empty_log(self, api, team):
        user = make_user(team)
        job = make_job(user, make_pool(team))
        found = api(user).get(f"/api/v1/jobs/{job.key}/workers/0/log/download/")
        assert body(fetch(found["Location"])) == b""

    def test_it_is_described(self, client, user):
        client.force_login(user)
        schema = yaml.safe_load(client.get("/api/v1/schema/").content)
        call = schema["paths"]["/api/v1/jobs/{key}/workers/{rank}/log/download/"]["get"]
        assert list(call["responses"]) == ["302"]
        assert [p["name"] for p in call["parameters"] if p["in"] == "query"] == ["attempt"]


class TestToken:
    """What an address is good for, and how long."""

    def test_it_expires_with_a_clear_word(self, address, log, settings, chinese):
        settings.DOWNLOAD_SECONDS = -1
        answer = fetch(address)
        assert (answer.status_code, answer["Content-Type"]) == (403, "text/plain; charset=utf-8")
        assert "expired" in answer.content.decode()
        assert "Content-Disposition" not in answer
        assert "已过期" in fetch(address, accept_language="zh-CN").content.decode()

    def test_a_changed_one_leads_nowhere(self, address, log):
        start, token = address.rsplit("/", 1)
        other = signing.dumps(["jo-" + "a" * 16, 1, 0, 1], salt="other")
        last = "A" if token[-1] != "A" else "B"
        for text in (token[:-1] + last, f"x{token}", token[:9], other, ":", *TRICKS):
            assert fetch(f"{start}/{text}").status_code == 404, text

    @pytest.mark.parametrize("lost", ["membership", "account", "job"])
    def test_rights_are_looked_at_again(self, address, log, user, job, lost):
        if lost == "membership":
            user.memberships.all().delete()
        elif lost == "account":
            user.is_active = False
            user.save()
        else:
            Job.objects.filter(pk=job.pk).update(team=make_team())
        assert fetch(address).status_code == 404

    def test_it_costs_few_queries(self, address, log, django_assert_num_queries):
        with django_assert_num_queries(2):
            assert fetch(address).status_code == 200


class TestBytes:
    def test_the_whole_log_as_a_file(self, address, log, job):
        log.write_bytes(ODD)
        answer = fetch(address)
        assert body(answer) == ODD
        assert (answer.status_code, answer["Content-Length"]) == (200, str(len(ODD)))
        assert answer["Content-Disposition"] == f'attachment; filename="{job.key}-run1-worker-0.log"'
        assert (answer["Accept-Ranges"], answer["Content-Type"]) == ("bytes", "text/plain; charset=utf-8")

    def test_it_is_read_in_chunks_of_a_bounded_size(self, address, log):
        log.write_bytes(ODD)
        sizes = [len(chunk) for chunk in fetch(address)]
        assert (sum(sizes), max(sizes)) == (len(ODD), CHUNK_BYTES)

    @pytest.mark.parametrize(
        ("asked", "status", "content", "place"),
        [
            ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
            ("bytes=4-5", 206, b"45", "bytes 4-5/10"),
            ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
            ("bytes=-3", 206, b"789", "bytes 7-9/10"),
            ("bytes=0-99", 206, b"0123456789", "bytes 0-9/10"),
            ("bytes=10-", 416, b"", "bytes */10"),
            *((odd, 200, b"0123456789", None) for odd in ("bytes=0-1,4-5", "lines=1-", "bytes=x-", "-")),
        ],
    )
    def test_a_range(self, address, log, asked, status, content, place):
        answer = fetch(address, range=asked)
        assert (answer.status_code, answer.get("Content-Range")) == (status, place)
        assert body(answer) == content
        assert status == 416 or answer["Content-Length"] == str(len(content))

    def test_every_byte_from_anywhere(self, address, log):
        log.write_bytes(ODD)
        for first in (1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, len(ODD) - 1):
            assert body(fetch(address, range=f"bytes={first}-")) == ODD[first:]
            last = min(first + CHUNK_BYTES, len(ODD) - 1)
            assert body(fetch(address, range=f"bytes={first}-{last}")) == ODD[first : last + 1]

    def test_head_tells_all_but_the_bytes(self, address, log):
        whole, head = fetch(address), fetch(address, "HEAD")
        assert body(head) == b""
        assert (head.status_code, head.headers) == (200, whole.headers)
        part = fetch(address, "HEAD", range="bytes=4-")
        assert (part.status_code, part["Content-Length"], body(part)) == (206, "6", b"")

    def test_what_one_has_is_not_sent_again(self, address, log, job):
        end(job)
        first = fetch(address)
        assert fetch(address, if_none_match=first["ETag"]).status_code == 304
        assert fetch(address, if_modified_since=first["Last-Modified"]).status_code == 304
        assert fetch(address, if_match='"other"').status_code == 412
        kept = fetch(address, range="bytes=4-", if_range=first["ETag"])
        assert (kept.status_code, body(kept)) == (206, b"456789")

    def test_an_empty_log(self, address, log):
        log.write_bytes(b"")
        for headers in ({}, {"range": "bytes=0-"}):
            answer = fetch(address, **headers)
            assert (answer.status_code, answer["Content-Length"], body(answer)) == (200, "0", b"")


class TestGrowing:
    """A log that is still written: one answer has one size, and a later one goes on from any byte."""

    def test_the_size_at_the_beginning_is_served(self, address, log):
        answer = fetch(address)
        with log.open("ab") as file:
            file.write(b"more")
        assert (answer["Content-Length"], body(answer)) == ("10", b"0123456789")
        assert body(fetch(address, range="bytes=10-")) == b"more"
        assert body(fetch(address)) == b"0123456789more"

    def test_its_validator_changes_with_it(self, address, log):
        first = fetch(address)
        assert "Last-Modified" not in first
        with log.open("ab") as file:
            file.write(b"more")
        again = fetch(address, range="bytes=4-", if_range=first["ETag"])
        assert again["ETag"] != first["ETag"]
        assert (again.status_code, body(again)) == (200, b"0123456789more")


class TestTrouble:
    def test_a_link_in_place_of_the_log_is_not_followed(self, address, log):
        log.unlink()
        os.symlink("/etc/passwd", log)
        assert body(fetch(address)) == b""

    def test_a_link_in_place_of_a_folder_is_not_followed(self, address, log, folder, tmp_path):
        (tmp_path / "log").write_bytes(b"secret")
        shutil.rmtree(folder)
        os.symlink(tmp_path, folder)
        assert body(fetch(address)) == b""
        folder.unlink()
        folder.mkdir()

    def test_a_link_put_there_meanwhile_breaks_the_download(self, address, log):
        log.write_bytes(ODD)
        answer = iter(fetch(address))
        assert next(answer) == ODD[:CHUNK_BYTES]
        log.unlink()
        os.symlink("/etc/passwd", log)
        with pytest.raises(EngineError):
            next(answer)

    def test_a_log_that_became_shorter_breaks_the_download(self, address, log):
        answer = fetch(address)
        log.write_bytes(b"")
        with pytest.raises(EngineError, match="ends at 0, not at 10"):
            body(answer)

    def test_a_log_that_cannot_be_read_now_is_503(self, address, log):
        with mock.patch("runs.logs.engine_of", side_effect=EngineError):
            answer = fetch(address)
        assert (answer.status_code, answer.content) == (503, b"The log cannot be read now; try again.")

    def test_no_file_is_open_between_two_reads(self, address, log):
        log.write_bytes(ODD)
        answer = fetch(address)
        next(iter(answer))
        opened = {os.path.realpath(path) for path in Path("/proc/self/fd").iterdir()}
        assert str(log.resolve()) not in opened
        token = address.rsplit("/", 1)[1]
        assert next(log_open(token=token)) == ODD[:CHUNK_BYTES]
