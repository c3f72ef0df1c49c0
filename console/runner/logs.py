"""The children's output: one file each in DATA_DIR/logs, put aside when it grows past 10 MB."""

from pathlib import Path

ROTATE_AT = 10 * 1024 * 1024
_TAIL_BYTES = 16 * 1024


def log_path(log_dir: Path, name: str) -> Path:
    """Where a child's output goes; a file that has grown too long is put aside as `<name>.log.1`."""
    path = log_dir / f"{name}.log"
    if path.exists() and path.stat().st_size > ROTATE_AT:
        path.replace(path.with_suffix(".log.1"))
    return path


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a log, without empty ones."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        text = file.read().decode(errors="replace")
    return [line for line in text.splitlines() if line.strip()][-lines:]
