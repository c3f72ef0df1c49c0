"""The demo's files: the digits example on the team's volume, and the zone's public data.

Jobs write on a volume, so nothing found there is trusted: no link is followed, and a file is replaced
only while it is byte for byte what this module put there. What that was is kept outside the volume.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from console.demo import public_data_folder, volume_folder

logger = logging.getLogger(__name__)

_LARGEST = 4 * 2**20  # what is longer is not ours
EXAMPLE_FILES = ("README.md", "allreduce.py", "digits.csv", "run.sh", "train.py")
PUBLIC_README = """\
Public data of the demo zone. Jobs that ask for it see this folder, read-only, at /infini-data.

digits.csv  1,797 images of handwritten digits: 64 pixels (0 to 16) and the digit on each line.
            E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits (1998), UCI Machine Learning
            Repository, https://doi.org/10.24432/C50P49, CC BY 4.0.
"""


def files_make() -> list[str]:
    """Writes what is missing or older than ours; answers what it wrote, for people to read."""
    example = Path(settings.BASE_DIR) / "examples" / "digits"
    digits = {name: (example / name).read_bytes() for name in EXAMPLE_FILES}
    public = {"README.txt": PUBLIC_README.encode(), "digits.csv": digits["digits.csv"]}
    volume_folder("speech").mkdir(parents=True, exist_ok=True)
    return [
        *_written(Path(settings.DATA_DIR, settings.DEMO_EXAMPLE), "digits", digits),
        *_written(public_data_folder().parent, public_data_folder().name, public),
    ]


def _written(parent: Path, name: str, files: Mapping[str, bytes]) -> list[str]:
    """Puts the files into the folder `name` of `parent`; a link in the folder's place is left alone."""
    parent.mkdir(parents=True, exist_ok=True)
    record = Path(settings.DATA_DIR) / "demo" / f"{name}.json"
    ours = json.loads(record.read_text()) if record.exists() else {}
    with _Folder(parent, name) as folder:
        wrote = [file for file, data in files.items() if folder.put(file, data, ours.get(file, ""))]
    if wrote:
        ours |= {file: _digest(files[file]) for file in wrote}
        record.parent.mkdir(exist_ok=True)
        fresh = record.with_suffix(".new")
        fresh.write_text(json.dumps(ours, indent=1))
        fresh.replace(record)
    return [f"{parent / name / file}" for file in wrote]


class _Folder:
    """A folder, made if missing, held open by descriptor: what happens to its name later is no matter."""

    def __init__(self, parent: Path, name: str) -> None:
        with suppress(FileExistsError):
            (parent / name).mkdir()
        try:
            self._fd = os.open(parent / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # somebody put something else here: it stays
            self._fd = -1

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def put(self, name: str, data: bytes, former: str) -> bool:
        """Writes the file if it is missing, or if it still has the digest `former`; whether it did."""
        if self._fd < 0 or not self._may_put(name, data, former):
            return False
        try:
            self._put(name, data)
        except OSError as error:  # no reason for the console not to start
            logger.warning("%s of the demo was not written: %s", name, error)
            return False
        return True

    def _put(self, name: str, data: bytes) -> None:
        fresh = f".{name}.{os.urandom(4).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(fresh, flags, 0o644, dir_fd=self._fd), "wb") as file:
            file.write(data)
        os.rename(fresh, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def _may_put(self, name: str, data: bytes, former: str) -> bool:
        try:
            found = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._fd)
        except FileNotFoundError:
            return True
        except OSError:  # a link, or a file that we may not read: somebody's own
            return False
        with open(found, "rb") as file:
            if not stat.S_ISREG(os.fstat(found).st_mode):
                return False
            present = _digest(file.read(_LARGEST))
        return present == former and present != _digest(data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
