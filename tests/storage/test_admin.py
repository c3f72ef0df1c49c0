"""Admin pages of volumes: a volume never shows jobs what is the console's own."""

from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from pools.forms import folder_validate
from storage.models import Volume
from storage.services import volume_overlapping
from tests.admin_pages import errors, filled
from tests.factories import make_team, make_volume, make_zone


@pytest.fixture
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    (settings.DATA_DIR / "volumes" / "team").mkdir(parents=True)
    return settings.DATA_DIR


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("relative", "not_absolute"),
        ("", "not_absolute"),
        ("/srv/../etc", "dots"),
        ("/", "console_data"),
        ("{data}", "console_data"),
        ("{data}/", "console_data"),
        ("{data}/..", "dots"),
        ("{parent}", "console_data"),
        ("{data}/secrets", "console_data"),
        ("{data}/runs/x", "console_data"),
        ("{data}/volumes", "console_data"),
        ("//{data}/secrets", "console_data"),
    ],
)
def test_folders_that_are_refused(data_dir, path, code):
    with pytest.raises(ValidationError) as refused:
        folder_validate(path.format(data=data_dir, parent=data_dir.parent))
    assert refused.value.code == code


def test_link_into_the_console_is_refused(data_dir):
    (data_dir.parent / "link").symlink_to(data_dir / "secrets")
    with pytest.raises(ValidationError, match="symbolic link"):
        folder_validate(str(data_dir.parent / "link"))


@pytest.mark.parametrize("path", ["/srv/data", "/srv//data/", "{data}/volumes/team", "{data}/public/x"])
def test_folders_that_are_taken(data_dir, path):
    path = path.format(data=data_dir)
    assert folder_validate(path) == path.replace("//", "/").rstrip("/")


@pytest.mark.django_db
class TestPages:
    def test_volume_with_a_grant_is_added(self, admin_client, data_dir):
        file_system = make_volume(make_zone()).file_system
        address = reverse("admin:storage_volume_add")
        data = filled(admin_client.get(address)) | {
            "file_system": file_system.pk,
            "name": "new",
            "path": str(data_dir / "volumes" / "missing"),
            "grants-TOTAL_FORMS": "1",
            "grants-0-team": make_team().pk,
            "grants-0-read_only": "on",
        }
        page = admin_client.post(address, data, follow=True)
        assert "jobs that mount it fail until there is one" in page.content.decode()
        assert [grant.read_only for grant in Volume.objects.get(name="new").grants.all()] == [True]

    @pytest.mark.parametrize(
        ("field", "value", "code"),
        [
            ("path", "{data}/runs", "console_data"),
            ("path", "data", "not_absolute"),
            ("default_mount_path", "mnt", "not_absolute"),
            ("default_mount_path", "/mnt/../etc", "not_absolute"),
        ],
    )
    def test_bad_paths_are_refused(self, admin_client, data_dir, field, value, code):
        volume = make_volume(make_zone())
        address = reverse("admin:storage_volume_change", args=[volume.pk])
        data = filled(admin_client.get(address)) | {field: value.format(data=data_dir)}
        assert errors(admin_client.post(address, data)) == {field: [code]}

    def test_file_system_with_volumes_is_not_deleted(self, admin_client, data_dir):
        volume = make_volume(make_zone())
        address = reverse("admin:storage_filesystem_delete", args=[volume.file_system_id])
        page = admin_client.post(address, {"post": "yes"})
        assert "1 volumes refer to it. Retire its volumes instead." in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("inner", ["inner", "deep/inner"])
def test_folders_of_two_volumes_do_not_lie_within_each_other(inner):
    """A job on the outer volume could plant a link where the inner one is mounted from."""
    outer = make_volume(make_zone())
    assert volume_overlapping(path=f"{outer.path}/{inner}", apart_from=None) == outer
    assert volume_overlapping(path=str(Path(outer.path).parent), apart_from=None) == outer
    assert volume_overlapping(path=f"{outer.path}-beside", apart_from=None) is None
    assert volume_overlapping(path=outer.path, apart_from=outer.pk) is None
    Volume.objects.update(retired_at=timezone.now())
    assert volume_overlapping(path=outer.path, apart_from=None) is None


@pytest.mark.django_db
def test_a_volume_is_retired_never_deleted(admin_client):
    volume = make_volume(make_zone())
    assert admin_client.post(f"/admin/storage/volume/{volume.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Volume.objects.filter(pk=volume.pk).exists()
