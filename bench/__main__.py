"""`python -m bench [name]`: runs the benchmarks and prints a line for each."""

import os
import subprocess
import sys
import tempfile

from tools.private_postgres import NotInstalled, private_postgres

BENCHMARKS = ("recompute", "cycle", "submit", "downloads")


def main(only: str = "") -> int:
    """Each benchmark gets a process, a DATA_DIR and a PostgreSQL of its own that syncs to disk."""
    if only and only not in BENCHMARKS:
        print(f"no benchmark {only}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    return max(run(name) for name in ([only] if only else BENCHMARKS))


def run(name: str) -> int:
    try:
        with private_postgres(durable=True) as url, tempfile.TemporaryDirectory() as folder:
            env = os.environ | {"DATABASE_URL": url, "DATA_DIR": folder, "REDIS_URL": "memory://"}
            return subprocess.run([sys.executable, "-m", f"bench.{name}"], env=env).returncode
    except NotInstalled as error:
        print(f"{name}: not run, {error}")
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
