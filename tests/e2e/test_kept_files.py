"""Files of a failed run on the real console: browsed and saved by a person, and let go of by its workers."""

import hashlib

import pytest
from playwright.sync_api import expect

from teams.models import User
from tests.e2e.browser import CHROMIUM, signed_in_page
from tests.e2e.stack import Console, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.once, pytest.mark.timeout(240)]

LEAVES = r"""
mkdir cache; head -c 1M /dev/urandom > cache/odd.bin; sha256sum < cache/odd.bin
echo '<script>document.title = "run"</script>' > page.html; echo x > $'caf\xe9'; ln -s /etc/passwd link
exit 3
"""


def layers(console: Console, key: str) -> list[str]:
    return [path.name for path in (console.data_dir / "runs" / key / "1" / "0").glob("scratch.*")]


def test_from_the_failure_to_the_last_file(console):
    idle = console.idle_gpus()
    job = console.run(LEAVES, keep_after_failure_minutes=5)
    key = job["id"]
    assert (job["state"], job["kept_until"] is not None) == ("failed", True)
    assert console.idle_gpus() == idle
    folder = console.call("GET", f"jobs/{key}/workers/0/files/?path=workspace")
    assert [row["path"] for row in folder["entries"]] == [
        *("workspace/cache", "workspace/caf%E9", "workspace/link", "workspace/page.html"),
    ]
    assert console.call("POST", f"jobs/{key}/remove-files/") == {"removed": True}
    wait_until(lambda: not layers(console, key), "no layer left")
    assert console.log(key)


def test_nothing_is_left_of_a_success_or_without_the_wish(console):
    kept = console.run("echo a > a", keep_after_failure_minutes=5)
    assert (kept["state"], kept["kept_until"]) == ("succeeded", None)
    wait_until(lambda: not layers(console, kept["id"]), "no layer left")
    failed = console.run("echo a > a; exit 1")
    assert (failed["state"], failed["kept_until"], layers(console, failed["id"])) == ("failed", None, [])


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no /usr/bin/chromium here")
def test_a_person_finds_and_saves_them(console, browser):
    key = console.run(LEAVES, keep_after_failure_minutes=5)["id"]
    told = console.log(key).split()[0]
    alice = User(username="alice")  # of the other console's database
    with signed_in_page(browser, console.address, alice, f"/jobs/{key}/") as page:
        page.click("text=Look at the files")
        page.click("text=workspace/")
        page.click("text=page.html")
        expect(page.locator("pre")).to_contain_text('<script>document.title = "run"</script>')
        assert page.title() != "run"
        page.go_back()
        page.click("text=cache/")
        page.click("text=odd.bin >> nth=0")
        expect(page.locator("#file")).to_contain_text("This is not text")
        with page.expect_download() as saved:
            page.click("text=Download")
        assert hashlib.sha256(saved.value.path().read_bytes()).hexdigest() == told
        page.click("text=Remove now")
        page.click("dialog >> text=Remove now")
        expect(page.locator("body")).to_contain_text("were removed")
        expect(page.locator("body")).not_to_contain_text("are kept until")
    wait_until(lambda: not layers(console, key), "no layer left")
