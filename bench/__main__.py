"""`python -m bench [name] [--sqlite]`: runs the benchmarks and prints a line for each."""

import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext

from tools.private_postgres import NotInstalled, private_postgres

BENCHMARKS = ("recompute", "cycle", "cycle-full", "moves", "alerts", "replay", "submit", "downloads")
SQLITE = "--sqlite"


def main(*arguments: str) -> int:
    """Each benchmark gets a process, a DATA_DIR and a database of its own: a PostgreSQL that syncs to disk,
    for which the goals are, or an SQLite file."""
    names = [name for name in arguments if name != SQLITE]
    if unknown := set(names).difference(BENCHMARKS):
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    return max(run(name, sqlite=SQLITE in arguments) for name in names or BENCHMARKS)


def run(name: str, *, sqlite: bool) -> int:
    database = nullcontext("") if sqlite else private_postgres(durable=True)
    try:
        with database as url, tempfile.TemporaryDirectory() as folder:
            env = os.environ | {"DATABASE_URL": url, "DATA_DIR": folder, "REDIS_URL": "memory://"}
            return subprocess.run(
                [sys.executable, "-m", f"bench.{name.replace('-', '_')}"], env=env
            ).returncode
    except NotInstalled as error:
        print(f"{name}: not run, {error}")
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
