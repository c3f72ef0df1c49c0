"""A file system that is nearly full is told of once, until there was room on it again."""

import pytest
from django.conf import settings

from alerts.models import Notice, Reading
from alerts.rules import Subject
from alerts.subjects import told
from storage import notices
from storage.space import Space, space_ask
from tests.alerts.made import make_channel, make_rule
from tests.factories import make_user, make_volume, make_zone

pytestmark = pytest.mark.django_db

TIB = 2**40


@pytest.fixture
def disks(monkeypatch):
    """By folder: its device and how full that is, in percent."""
    found = {str(settings.DATA_DIR): (1, 50)}

    def read(folders):
        return {
            folder: Space(used=share * TIB, free=(100 - share) * TIB, device=device) if share else None
            for folder in folders
            for device, share in [found.get(folder, (0, 0))]
        }

    monkeypatch.setattr(notices, "space_read", read)
    return found


def test_it_is_told_once_until_there_was_room(disks):
    admin = make_user(is_staff=True)
    channel = make_channel(admin)
    make_rule(channel, Subject.MACHINE, None, "disk_nearly_full")
    told_of = []
    for share in (90, 91, 99, 86, 92, 85, 91, 84, 90, 91):
        disks[str(settings.DATA_DIR)] = (1, share)
        told_of.append(notices.disks_watch())
    assert told_of == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert Reading.objects.filter(user=admin).count() == channel.deliveries.count() == 2
    said = told(Notice.objects.order_by("pk").first())
    assert said.title == "Disk nearly full"
    assert said.text == "The disk is 91 % full, with 9.0 TiB left."
    assert dict(said.facts)["Folders"] == str(settings.DATA_DIR)


def test_folders_of_one_file_system_are_one_notice(disks):
    make_user(is_staff=True)
    zone = make_zone()
    volumes = [make_volume(zone) for _ in range(3)]
    disks |= {volumes[0].path: (1, 95), volumes[1].path: (2, 95), str(settings.DATA_DIR): (1, 95)}
    assert notices.disks_watch() == 2
    of_one = sorted([str(settings.DATA_DIR), volumes[0].path])
    assert sorted(n.data["folders"] for n in Notice.objects.all()) == sorted([of_one, [volumes[1].path]])


def test_what_does_not_answer_is_neither_full_nor_empty(disks):
    make_user(is_staff=True)
    disks[str(settings.DATA_DIR)] = (1, 95)
    assert notices.disks_watch() == 1
    disks[str(settings.DATA_DIR)] = (1, 0)
    assert notices.disks_watch() == 0
    disks[str(settings.DATA_DIR)] = (1, 95)
    assert notices.disks_watch() == 0


def test_a_device_that_is_gone_is_forgotten(disks):
    make_user(is_staff=True)
    for device, told_of in ((1, 1), (2, 1), (1, 1)):
        disks[str(settings.DATA_DIR)] = (device, 95)
        assert notices.disks_watch() == told_of


def test_the_real_file_system_answers(tmp_path):
    space = space_ask(str(tmp_path))
    assert space is not None
    assert space.device == tmp_path.stat().st_dev
    assert notices.disks_watch() in (0, 1)
