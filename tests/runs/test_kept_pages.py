"""The pages of the files of a failed run."""

import pytest
from django.utils import timezone

from jobs.models import Attempt
from tests.factories import make_user
from tests.files_client import body, fetch

pytestmark = pytest.mark.django_db


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
        assert "This is not text" in page.get(f"{view}data.bin").content.decode()
        for path in ("link", "deep", "nothing", "../../lock"):
            assert page.get(view + path).status_code == 404

    def test_a_long_file_shows_its_beginning(self, page, runs):
        job = runs.ended_of("seq 100000 > long; : > empty; exit 1")
        view = f"/jobs/{job.key}/workers/0/files/view/?path=workspace/"
        shown = page.get(f"{view}long").content.decode()
        assert "\n12\n" in shown
        assert "download the file to read all of it" in shown
        assert "100000" not in shown
        assert "The file is empty" in page.get(f"{view}empty").content.decode()

    def test_a_large_folder_has_pages(self, page, runs):
        job = runs.ended_of("touch $(seq -w 10000); exit 1")
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
        job = runs.ended_of(f"for i in 1 2 3 4 5; do mkdir {deep}; cd {deep}; done; exit 1")
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
        other = runs.ended_of("exit 1", keep_after_failure_minutes=0)
        assert page.get(f"/jobs/{other.key}/workers/0/files/").status_code == 404
