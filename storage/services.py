"""Rules between volumes."""

from __future__ import annotations

import os

from storage.models import Volume


def volume_overlapping(*, path: str, apart_from: int | None) -> Volume | None:
    """A volume in use whose folder holds the path or lies below it; links are followed."""
    real = os.path.realpath(path)
    volume: Volume
    for volume in Volume.objects.filter(retired_at=None).exclude(pk=apart_from):
        other = os.path.realpath(volume.path)
        if os.path.commonpath([real, other]) in (real, other):
            return volume
    return None
