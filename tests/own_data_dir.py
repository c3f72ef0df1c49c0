"""A pytest plugin, loaded before Django's settings: tests keep their files in a folder of their own.

`addopts` in pyproject.toml names it. A conftest.py would come too late, as pytest-django reads the
settings first.
"""

import atexit
import os
import shutil
import tempfile

_FOLDER = tempfile.mkdtemp(prefix="trainyard-test-")
_OWNER = os.getpid()
os.environ["DATA_DIR"] = _FOLDER


@atexit.register
def _remove() -> None:
    if os.getpid() == _OWNER:
        shutil.rmtree(_FOLDER, ignore_errors=True)
