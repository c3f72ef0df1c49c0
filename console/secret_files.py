"""The console's own keys: files in DATA_DIR/secrets, made once. Imports no Django, as settings read it."""

import base64
import os
import secrets
from collections.abc import Callable
from pathlib import Path

DJANGO_SECRET_KEY = "django_secret_key"  # noqa: S105  (a file's name)
FERNET_KEYS = "fernet_keys"


def _new_django_key() -> str:
    return secrets.token_urlsafe(50)


def _new_fernet_key() -> str:
    return base64.urlsafe_b64encode(os.urandom(32)).decode()


_MAKERS: dict[str, Callable[[], str]] = {DJANGO_SECRET_KEY: _new_django_key, FERNET_KEYS: _new_fernet_key}


def ensure(data_dir: Path) -> None:
    """Make the secrets that are missing, for the owner's eyes only.

    Safe when several processes call it at once: all of them read the same keys afterwards.
    """
    folder = data_dir / "secrets"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name, make in _MAKERS.items():
        if not (folder / name).exists():
            _create(folder, name, make() + "\n")


def read(data_dir: Path, name: str) -> str:
    """The text of a secret without the surrounding white space; ValueError where the file is empty.

    `fernet_keys` holds one key a line, the newest first.
    """
    path = data_dir / "secrets" / name
    text = path.read_text(encoding="ascii").strip()
    if not text:
        raise ValueError(f"{path} is empty: restore it from a backup")
    return text


def _create(folder: Path, name: str, text: str) -> None:
    """Write a new file so that it is never seen half written, and never replaces one that is there."""
    draft = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, folder / name)
    except FileExistsError:
        return
    finally:
        draft.unlink()
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
