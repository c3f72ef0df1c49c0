import base64
import subprocess
import sys

import pytest

from console import secret_files
from console.runner.config import ROOT


def test_keys_are_made_once(tmp_path):
    secret_files.ensure(tmp_path)
    first = {name: secret_files.read(tmp_path, name) for name in ("django_secret_key", "fernet_keys")}
    secret_files.ensure(tmp_path)
    assert first == {name: secret_files.read(tmp_path, name) for name in first}
    assert len(first["django_secret_key"]) >= 50
    assert len(base64.urlsafe_b64decode(first["fernet_keys"])) == 32


def test_only_the_owner_reads_them(tmp_path):
    (tmp_path / "secrets").mkdir(mode=0o755)
    secret_files.ensure(tmp_path)
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    files = list((tmp_path / "secrets").iterdir())
    assert {path.name for path in files} == {"django_secret_key", "fernet_keys"}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)


def test_an_older_key_stays_below_the_newest(tmp_path):
    secret_files.ensure(tmp_path)
    (tmp_path / "secrets" / "fernet_keys").write_text("newest\nolder\n")
    secret_files.ensure(tmp_path)
    assert secret_files.read(tmp_path, "fernet_keys").split() == ["newest", "older"]


def test_an_empty_file_is_an_error_and_is_not_replaced(tmp_path):
    secret_files.ensure(tmp_path)
    (tmp_path / "secrets" / "fernet_keys").write_text("")
    secret_files.ensure(tmp_path)
    with pytest.raises(ValueError, match="is empty"):
        secret_files.read(tmp_path, "fernet_keys")


def test_processes_that_start_together_read_the_same_keys(tmp_path):
    code = (
        "import runpy, sys, pathlib\n"
        "module = runpy.run_path('console/secret_files.py')\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "sys.stdin.readline()\n"
        "module['ensure'](folder)\n"
        "print(module['read'](folder, 'django_secret_key'), module['read'](folder, 'fernet_keys'))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for _ in range(8)]
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert len({process.communicate()[0] for process in started}) == 1
