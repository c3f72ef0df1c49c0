"""Write the hashed locks anew, for every Python from 3.11 on; the resolver gets a throw-away environment."""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOCKS = ("requirements", "requirements-dev", "requirements-redis")
OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-header")


def main(arguments: "list[str]") -> None:
    """Lock each requirements*.in; what is locked already stays as it is unless `--upgrade` is given."""
    with tempfile.TemporaryDirectory(prefix="trainyard-lock-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        for name in LOCKS:
            command = [python, "-m", "uv", "pip", "compile", *OPTIONS, *arguments]
            command += ["--no-emit-index-url", "--no-emit-find-links", "--quiet"]
            subprocess.run([*command, name + ".in", "-o", name + ".txt"], cwd=ROOT, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
