"""Logs downloaded from the real console: every byte, after interruptions, and by readers who leave."""

import hashlib
import http.client
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from bench.downloads import measure
from console.runner.readiness import is_healthy
from teams.models import User
from tests.e2e.browser import CHROMIUM, signed_in_page
from tests.e2e.readers import SlowReaders, signed_address
from tests.e2e.stack import Console, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.once, pytest.mark.timeout(240)]

ODD = r"""printf 'a\xff\xfe\x00b\n'
python3 -c "import sys; sys.stdout.write('汉' * 5000 + '\n')"
head -c 3000 /dev/urandom
"""
THREADS = 64  # of the byte listener: as many downloads at once


def kept(console: Console, key: str) -> Path:
    """The log where the engine keeps it."""
    return console.data_dir / "runs" / key / "1" / "0" / "log"


def get(address: str, most: int | None = None, **headers: str) -> tuple[int, bytes]:
    """Status and body; of a large one only the first bytes, and then the reader leaves."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", parts.path, headers=headers)
    answer = connection.getresponse()
    data = answer.read() if most is None else answer.read(most)
    connection.close()
    return answer.status, data


@pytest.fixture(scope="module")
def long_log(console: Console) -> str:
    """A job whose log of 32 MiB is more than any buffer on the way holds."""
    job = console.run("head -c 24M /dev/urandom | base64 -w 0")
    assert job["state"] == "succeeded"
    assert kept(console, job["id"]).stat().st_size == 32 * 2**20
    return job["id"]


def test_every_byte_live_and_after_the_end(console):
    key = console.submit(f"{ODD}\nsleep 3; printf '\\000\\377'")
    wait_until(lambda: kept(console, key).exists() and kept(console, key).stat().st_size > 18_000, "output")
    early = get(signed_address(console, key))[1]
    console.wait_end(key)
    status, data = get(signed_address(console, key))
    assert (status, data) == (200, kept(console, key).read_bytes())
    assert data.startswith(early)
    assert early
    assert data.startswith(b"a\xff\xfe\x00b\n" + "汉".encode() * 5000 + b"\n")
    assert data.endswith(b"\x00\xff")


def test_interrupted_and_resumed_while_it_grows(console):
    """Each time from a new address, as those expire."""
    key = console.submit("for i in $(seq 40); do head -c 300K /dev/urandom; sleep 0.1; done")
    wait_until(lambda: kept(console, key).exists() and kept(console, key).stat().st_size > 2**20, "output")
    got = b""
    for most in (1, 300_000, 700_000, None):
        if most is None:
            console.wait_end(key)
        status, data = get(signed_address(console, key), most, Range=f"bytes={len(got)}-")
        assert status == 206
        got += data
    assert got == kept(console, key).read_bytes()
    assert get(signed_address(console, key), Range=f"bytes={len(got)}-")[0] == 416  # there is no more


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_curl_goes_on_where_it_was_cut_off(console, long_log, tmp_path):
    file = tmp_path / "log"
    whole = kept(console, long_log).read_bytes()
    file.write_bytes(whole[:5_000_001])
    ask = ["curl", "-sSfL", "-C", "-", "-o", file, "-H", f"Authorization: Token {console.token('alice')}"]
    url = f"{console.address}/api/v1/jobs/{long_log}/workers/0/log/download/"
    subprocess.run([*ask, url], check=True, timeout=60)
    assert hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(whole).digest()


def listener(console: Console) -> list[psutil.Process]:
    return [part for part in console.parts() if "console.files:application" in part.cmdline()]


def test_readers_who_leave_hold_nothing(console, long_log):
    """As many as there are threads, twice: were one still held, the second lot could not begin."""
    address = signed_address(console, long_log)
    parts = listener(console)
    is_healthy(console.port + 1)
    before = sum(part.num_fds() for part in parts)
    for _ in range(2):
        with SlowReaders(address, THREADS):
            assert is_healthy(console.port), "pages are served as ever"
    wait_until(lambda: is_healthy(console.port + 1), "the listener has threads again")
    wait_until(lambda: sum(part.num_fds() for part in parts) <= before, "all sockets and files are closed")
    log = str(kept(console, long_log))
    assert [file.path for part in parts for file in part.open_files() if file.path == log] == []


def test_what_a_slow_reader_costs_is_bounded(console, long_log):
    """Without back-pressure, 24 readers of 32 MiB would take 768 MiB."""
    address = signed_address(console, long_log)
    parts = listener(console)
    before = sum(part.memory_info().rss for part in parts)
    with SlowReaders(address, 24):
        grown = sum(part.memory_info().rss for part in parts) - before
    assert grown < 24 * 6 * 2**20


def test_the_benchmark_compares_what_it_says(console, long_log):
    """In small: the form is recomputed on both sides, and the downloads are not over before it."""
    result = measure(console, long_log, readers=4, rounds=1, seconds=0.5)
    assert result.value > 0
    assert "4 slow downloads" in result.note


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no /usr/bin/chromium here")
def test_a_browser_saves_the_file(console, browser, long_log):
    alice = User(username="alice")  # of the other console's database
    with signed_in_page(browser, console.address, alice, f"/jobs/{long_log}/") as page:
        with page.expect_download() as saved:
            page.evaluate(f"location.href = '/jobs/{long_log}/workers/0/log/download/'")
        assert saved.value.suggested_filename == f"{long_log}-run1-worker-0.log"
        assert saved.value.path().read_bytes() == kept(console, long_log).read_bytes()
