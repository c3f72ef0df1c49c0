"""What administrators are told of file systems: that one is nearly full, once until there was room again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from django.conf import settings
from django.db import transaction

from alerts.machine import post_of_machine
from alerts.marks import mark_clear, mark_first, mark_read, marks_of
from storage.models import Volume
from storage.space import Space, space_read

EVENT = "disk_nearly_full"
MARK = f"{EVENT}:"
FULL, ROOM_AGAIN = 90, 85  # percent in use
MOST_FOLDERS = 20  # named in a notice


def disks_watch() -> int:
    """Looks at the file systems of the console's own data and of all volumes; how many notices that was. One
    that does not answer is none of them."""
    volumes = Volume.objects.filter(retired_at=None).order_by("path").values_list("path", flat=True)
    folders = [str(settings.DATA_DIR), *volumes]
    by_device: dict[int, list[tuple[str, Space]]] = defaultdict(list)
    for folder, space in space_read(folders).items():
        if space is not None:
            by_device[space.device].append((folder, space))
    noted = set(marks_of(MARK))
    if len(folders) == sum(map(len, by_device.values())):  # all have answered: what is not there, is gone
        for key in noted - {f"{MARK}{device}" for device in by_device}:
            mark_clear(key)
    return sum(_watch(device, found, noted) for device, found in by_device.items())


def _watch(device: int, found: Sequence[tuple[str, Space]], noted: set[str]) -> int:
    key, share = f"{MARK}{device}", found[0][1].used_share
    if share < ROOM_AGAIN and key in noted:
        mark_clear(key)
    if share <= FULL or key in noted:
        return 0
    with transaction.atomic():
        if not mark_first(key):
            return 0
        folders = sorted(folder for folder, _space in found)
        data = {"share": share, "free": found[0][1].free, "folders": folders[:MOST_FOLDERS]}
        return post_of_machine(code=EVENT, once=f"{device}:{mark_read(key).isoformat()}", data=data)
