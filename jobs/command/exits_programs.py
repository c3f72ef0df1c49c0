"""What the programs of a start command are to its outcome. Pure.

The question is whose failure a job may not keep quiet about. Of a simple command there are four answers:

- MAIN: a program that does the job's work as far as one can tell: Python with a file or module, a launcher
  (torchrun, mpirun, …), a shell script, anything called by its path or through a variable.
- OTHER: any name that is not listed here, `python3 -c …`, and Python that reads from a here-document. It
  counts as the work if a command has no MAIN program, and is left alone beside one.
- ASKS: a question whose answer may be no (grep, test, which, …): both answers are gone through.
- EASY: what prepares, looks, copies, waits or serves beside the work. If it fails, the work mostly fails by
  itself, or the loss is small; warning of each would bury what matters.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from jobs.command.simple import base_name, names, program_at
from jobs.command.words import GAP
from jobs.command.words import Word as Value

SHELLS = names("bash sh dash zsh ksh")
ASKING = names(
    "grep egrep fgrep zgrep rg test [ which type command hash diff cmp pgrep pidof ping nc read getopts "
    "let mountpoint lsof fuser"
)
EASY = names(
    ": true echo printf cd pushd popd dirs pwd set shopt alias unalias mapfile readarray sleep date "
    "kill jobs disown ulimit umask history export declare typeset local readonly unset source . shift "
    "bind enable caller mkdir rmdir touch ls ll ln cp mv rm chmod chown chgrp cat tac tee head tail sed "
    "awk gawk sort uniq wc cut tr find du df stat file md5sum sha256sum sha1sum basename dirname "
    "realpath readlink tar zip unzip gzip gunzip pigz zstd xz bzip2 7z dd sync mktemp mount umount "
    "truncate split paste column jq yq xxd od seq yes fold nl nvidia-smi gpustat nvtop dcgmi ibstat "
    "ibstatus ibv_devinfo ibv_devices ibdev2netdev rdma hostname uname whoami id groups env printenv "
    "free top htop ps lscpu lspci lsblk lsmod ip ifconfig netstat ss nproc uptime clear tput stty dmesg "
    "sysctl getconf numastat tree less more man iostat vmstat dstat cal bc expr tmux screen rsync scp "
    "sftp curl wget aria2c axel aws ossutil ossutil64 coscli s3cmd s5cmd gsutil gcloud rclone mc hdfs "
    "obsutil tosutil bcecmd azcopy huggingface-cli hf modelscope kaggle gdown ftp lftp ssh-keygen pip "
    "pip3 pip2 conda mamba micromamba apt apt-get apt-key yum dnf apk dpkg rpm brew npm yarn pnpm uv "
    "poetry git git-lfs hg svn wandb swanlab mlflow tensorboard visdom aim jupyter jupyter-lab "
    "redis-server nginx sshd service systemctl watch mail sendmail node_exporter ldconfig "
    "update-alternatives locale localedef useradd groupadd passwd su crontab logger notify-send"
)
LAUNCHERS = names(
    "torchrun deepspeed accelerate mpirun mpiexec orterun srun horovodrun ray pypy pypy3 ipython julia "
    "Rscript java node go cargo make swift llamafactory-cli xtuner paddle colossalai axolotl trl tune "
    "mim fairseq-train fairseq-hydra-train composer torchx nsys ncu docker singularity apptainer perl "
    "ruby matlab octave lightning onmt_train nemo dllogger megatron-lm openrlhf verl papermill kedro "
    "dvc snakemake nextflow parallel xargs"
)
SYSTEM = ("/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")
_LOOKING_MODULES = names("pip venv ensurepip json.tool http.server tensorboard tensorboard.main site wandb")
_PRINTS = re.compile(r"\s*((import|from)\s[\w., ]+[;\n]\s*)+print\((?!.*\b(exit|raise|assert)\b)", re.DOTALL)
_LOOKING = names("-V --version -VV -h --help --collect-env")
_EASY_OF = {"ray": names("start stop status"), "accelerate": names("env config"), "go": names("env version")}


class Kind(Enum):
    MAIN = "main"
    OTHER = "other"
    ASKS = "asks"
    EASY = "easy"


@dataclass(frozen=True, slots=True)
class Called:
    """What a simple command calls.

    `name` is the base name of the program behind `time`, `env`, `nohup`, … which stands at `at`; empty if
    only the run can tell. `inner` is where the script of a `bash -c` stands, and its shell's options before.
    `script` is the shell script file that it runs. `relative`: it needs the folder it is started in, and
    fails by itself in a wrong one.
    """

    name: str
    at: int
    kind: Kind
    inner: tuple[int, tuple[str, ...]] | None = None
    script: str | None = None
    relative: bool = False


@lru_cache(maxsize=2048)
def called(texts: tuple[str, ...]) -> Called:
    """Of the words of a command, at least one; what only the run can tell is NOT_KNOWN."""
    values = [Value(text, "", 0) for text in texts]
    at = program_at(values)
    name = base_name(values[at])
    kind = _kind(texts, name, at)
    return Called(name, at, kind, _inner(values), _script_file(values, name, at), _is_relative(texts[at:]))


def _kind(texts: Sequence[str], name: str, at: int) -> Kind:
    rest = texts[at + 1 :]
    first = rest[0] if rest else ""
    if not name:
        return Kind.MAIN
    if name in ASKING or (texts[0] == "command" and texts[1:2] in (("-v",), ("-V",))):
        return Kind.ASKS
    if name in EASY or (len(rest) == 1 and first in _LOOKING) or first in _EASY_OF.get(name, ()):
        return Kind.EASY
    if name.startswith("python"):
        return _of_python(rest)
    if name in LAUNCHERS or name in SHELLS or name.endswith((".sh", ".py", ".bash")):
        return Kind.MAIN
    folder = posixpath.dirname(texts[at])
    return Kind.MAIN if folder and not folder.startswith(SYSTEM) else Kind.OTHER


def _of_python(rest: Sequence[str]) -> Kind:
    options = 0
    while options < len(rest) and rest[options].startswith("-") and rest[options] not in {"-c", "-m", "-"}:
        options += 2 if rest[options] in {"-W", "-X"} else 1
    what = rest[options : options + 2]
    if not what or what[0] in {"-c", "-"}:
        return Kind.EASY if what[1:] and _PRINTS.match(what[1]) else Kind.OTHER
    if what[0] == "-m":
        return Kind.EASY if what[1:] and what[1] in _LOOKING_MODULES else Kind.MAIN
    return Kind.MAIN


def _inner(values: Sequence[Value]) -> tuple[int, tuple[str, ...]] | None:
    """Also behind a launcher such as srun."""
    shell = next((at for at, value in enumerate(values) if base_name(value) in SHELLS), len(values))
    for at in range(shell + 1, len(values) - 1):
        if _is_command_option(values[at].value):
            return at + 1, tuple(value.value for value in values[shell + 1 : at + 1])
        if not _is_option(values, at):
            return None
    return None


def _is_command_option(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and word.endswith("c")


def _is_option(values: Sequence[Value], at: int) -> bool:
    """Of a shell: also the name that stands behind `-o`."""
    before = values[at - 1].value
    return values[at].value.startswith(("-", "+")) or (before.startswith(("-", "+")) and before.endswith("o"))


def _script_file(values: Sequence[Value], name: str, at: int) -> str | None:
    if name in SHELLS:
        for place in range(at + 1, len(values)):
            if _is_command_option(values[place].value):
                return None
            if not _is_option(values, place):
                return values[place].value if GAP not in values[place].value else None
        return None
    path = values[at].value
    runs = "/" in path and GAP not in path and not path.startswith(SYSTEM)
    return path if runs and posixpath.splitext(path)[1] in {"", ".sh", ".bash"} else None


def _is_relative(texts: Sequence[str]) -> bool:
    return GAP in texts[0] or any(_names_file(text) for text in texts)


def _names_file(word: str) -> bool:
    if word == "-m" or word.startswith("./"):
        return True
    beside = not word.startswith(("/", "-", "~", GAP))
    return beside and (word.endswith((".py", ".sh", ".yaml", ".json")) or ("/" in word and "://" not in word))
