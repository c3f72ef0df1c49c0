"""What a command does around the training: slow preparations, resuming, files shared by Workers. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from jobs.command.lines import line_fix
from jobs.command.paths import TRAINERS, public_variables
from jobs.command.places import within
from jobs.command.reading import Reading, reading
from jobs.command.simple import Command, names
from jobs.command.words import Word
from jobs.findings import Finding, Level
from jobs.spec import JobSpec
from jobs.states import Framework
from pools.capacity import Shape

LONG_RUN_MINUTES = 24 * 60
_PYTHON = names("python python3")
_UNPACKS = names("unzip gunzip unxz unzstd 7z pigz unrar bunzip2")
_INSTALLERS = names("pip pip3 conda mamba micromamba apt apt-get yum dnf npm uv")
_BUCKETS = names("aws ossutil ossutil64 gsutil rclone s3cmd azcopy coscmd obsutil mc hdfs")
_DOWNLOADERS = {
    "huggingface-cli": "download",
    "hf": "download",
    "modelscope": "download",
    "kaggle": "datasets",
    "gdown": "",
    "aria2c": "",
}
_CONVERTS = re.compile(r"(^|[/_-])(convert|preprocess|prepare|tokenize|download)\w*\.py\Z")
_RESUMES = re.compile(
    r"resum|checkpoint|ckpt|restore|--load|load_(from|dir|path)|\b(last|latest)\.(pt|pth)|snapshot|auto_?continue",
    re.IGNORECASE,
)


def step_findings(spec: JobSpec, shape: Shape | None) -> Iterator[Finding]:
    read = reading(spec.command, public_variables(spec.env))
    if read is not None:
        yield from _slow_first(read)
        yield from _no_resume(spec)
        yield from _one_file_for_all(spec, shape, read)


def _slow_first(read: Reading) -> Iterator[Finding]:
    """Only what runs in any case and before a training program: GPUs wait for it."""
    steps: dict[str, int] = {}
    for command in read.commands:
        step = slow_step(command)
        if step and command.certain:
            steps.setdefault(step, command.line)
        elif _trains(command):
            if steps:
                data = {"step": ", ".join(steps), "line": next(iter(steps.values()))}
                yield Finding("slow_first_step", "command", Level.HINT, data)
            return


def slow_step(command: Command) -> str:
    """The word for a download, an installation, an unpacking or a conversion; empty for anything else."""
    words = [word.value for word in command.words]
    program, first = command.program, words[0] if words else ""
    if program in _PYTHON and words[:2] == ["-m", "pip"]:
        program, words, first = "pip", words[2:], words[2] if len(words) > 2 else ""
    if program in _INSTALLERS:
        return f"{program} install" if _installs(words) else ""
    if program == "git":
        return "git clone" if first == "clone" else "git lfs pull" if words[:2] == ["lfs", "pull"] else ""
    if program == "tar":
        return "tar" if re.match(r"-?[a-zA-Z]{0,3}x|--extract", first) else ""
    if program in _PYTHON:
        script = next((w for w in words if not w.startswith("-")), "")
        return posixpath.basename(script) if _CONVERTS.search(script) else ""
    return program if program in _UNPACKS or _downloads(program, words, command) else ""


def _installs(words: list[str]) -> bool:
    """From somewhere else: what lies in the project's own folder is put in place quickly."""
    if "install" not in words[:2] or "--no-index" in words:
        return False
    wanted = [w for w in words[words.index("install") + 1 :] if not w.startswith("-")]
    return bool(wanted) and not all(w.startswith((".", "/")) or w.endswith(".whl") for w in wanted)


def _downloads(program: str, words: list[str], command: Command) -> bool:
    if program in _DOWNLOADERS:
        return not _DOWNLOADERS[program] or _DOWNLOADERS[program] in words[:2]
    if program in _BUCKETS:
        places = [w for w in words if "://" in w or w.startswith(("/", "."))]
        return bool(places) and "://" in places[0] and bool({"cp", "sync", "copy", "-get"} & set(words[:3]))
    address = next((w for w in words if re.match(r"(https?|ftp)://", w)), "")
    if not address or re.match(r"https?://(localhost|127\.|169\.254\.|\$)", address):
        return False
    if program == "wget":
        return "-O-" not in words and "--spider" not in words and "/dev/null" not in words
    keeps = any(w in ("-o", "-O", "-LO", "-OL", "-fLO", "-fsSLO", "--output", "--remote-name") for w in words)
    piped = any(r.writes and r.target.value != "/dev/null" for r in command.redirects)
    return program == "curl" and (keeps or piped) and "/dev/null" not in words


def _trains(command: Command) -> bool:
    """Whether a program may train: not `python -c`, nor `bash -c`, whose text is read itself."""
    if command.program not in TRAINERS and not command.name.value.startswith("./"):
        return False
    first = command.words[0].value if command.words else ""
    return first not in ("-c", "-lc", "-V", "--version", "-") and bool(
        command.words or "/" in command.name.value
    )


def _no_resume(spec: JobSpec) -> Iterator[Finding]:
    """Where it will be needed: a restart that was asked for, or a run of days with an end in sight."""
    long_run = (spec.max_runtime_minutes or 0) > LONG_RUN_MINUTES
    if not spec.command.strip() or not (spec.auto_restart or long_run):
        return
    texts = (spec.command, *(v.name for v in spec.env), *(v.value or "" for v in spec.env if not v.private))
    if not any(_RESUMES.search(text) for text in texts):
        field = "auto_restart" if spec.auto_restart else "command"
        yield Finding("no_resume", field, Level.HINT)


def _one_file_for_all(spec: JobSpec, shape: Shape | None, read: Reading) -> Iterator[Finding]:
    """Every Worker runs the command, and each would write anew into the same file of a volume."""
    if shape is None or shape.workers == 1 or spec.framework not in (Framework.SINGLE, Framework.PYTORCH_DDP):
        return
    mounts = [posixpath.normpath(mount.mount_path) for mount in spec.mounts]
    folder = ""
    for command in read.commands:
        if command.program == "cd":
            target = command.words[0] if command.words else None
            folder = target.value if target is not None and target.certain else ""
        for target in _overwritten(command, read):
            path = posixpath.normpath(posixpath.join(folder, target.value))
            if command.certain and any(within(path, mount) for mount in mounts):
                yield _own_file(spec, target)
                return


def _overwritten(command: Command, read: Reading) -> Iterator[Word]:
    """The files into which a training program's output goes from their beginning."""
    if _trains(command) or (command.program == "exec" and not command.words):
        yield from (
            r.target for r in command.redirects if r.operator in (">", "&>", ">|") and r.target.certain
        )
    piped = command.program == "tee" and any(
        other.pipeline == command.pipeline > 0 and _trains(other) for other in read.commands
    )
    words = [word.value for word in command.words]
    if piped and not {"-a", "--append"} & set(words):
        yield from (word for word in command.words if word.certain and not word.value.startswith("-"))


def _own_file(spec: JobSpec, target: Word) -> Finding:
    rank = "$RANK" if spec.framework == Framework.PYTORCH_DDP else "$TRAINYARD_WORKER"
    fix = None
    if re.fullmatch(r"[\w./-]+", target.raw):
        stem, suffix = posixpath.splitext(target.raw)
        fix = line_fix(spec.command, target.line, target.raw, f"{stem}.{rank}{suffix}")
    data = {"path": target.value, "line": target.line, "rank": rank}
    return Finding("one_file_for_all", "command", Level.HINT, data, fix)
