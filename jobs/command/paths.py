"""The absolute paths that command and variables name, and what each seems to be for. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, islice

from jobs.command.reading import SHELLS, Reading, reading
from jobs.command.simple import Assignment, Command, names
from jobs.command.words import Word
from jobs.spec import EnvVar, JobSpec

MOST_PATHS = 500  # looked at; a text of nothing but slashes ends here
_LONGEST = 4096
_NO_PATH = re.compile(r"[\x00-\x1f*?\[\]{}()|^$\\\"'<>;`]")
_OF_THE_SYSTEM = re.compile(r"/(dev|proc|sys)(/|\Z)")
_PARTS = re.compile(r"[^a-z0-9]+")


class Use(StrEnum):
    RESULT = "result"  # written, by the look of it, and meant to be kept
    MADE = "made"  # made or filled in passing: mkdir, cp, a download
    WRITTEN = "written"  # what a program prints goes there: `>`, tee
    READ = "read"
    ASIDE = "aside"  # looked for, removed, or scratch
    SAVED = "saved"  # read in order to be put somewhere else
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class NamedPath:
    """`path` is normalised; `whole` is False if only this beginning of it is certain. `line` is from 1 in
    the field `command`, and 0 elsewhere."""

    path: str
    field: str
    line: int
    use: Use
    whole: bool = True


def public_variables(env: Iterable[EnvVar]) -> tuple[tuple[str, str], ...]:
    """The variables whose values may be looked at: private ones never are."""
    return tuple((v.name, v.value) for v in env if not v.private and v.value is not None)


def paths_named(spec: JobSpec) -> tuple[str, ...]:
    """Every absolute path of the form that is certain to its end, each once, in the order of the form."""
    found = absolute_paths(spec.command, spec.env)
    return tuple(dict.fromkeys(named.path for named in found if named.whole))


def absolute_paths(command: str, env: Iterable[EnvVar]) -> tuple[NamedPath, ...]:
    """The paths of the command, then those of the variables, MOST_PATHS in all; nothing of a command too long
    to be analysed."""
    listed = tuple(env)
    read = reading(command, public_variables(listed))
    of_variables = chain.from_iterable(
        _of_variable(f"env.{i}.value", variable.name, variable.value)
        for i, variable in enumerate(listed)
        if not variable.private and variable.value is not None
    )
    return tuple(islice(chain(of_reading(read) if read else (), of_variables), MOST_PATHS))


@lru_cache(maxsize=32)
def of_reading(read: Reading) -> tuple[NamedPath, ...]:
    """Each path once for each line and use."""
    found: dict[NamedPath, None] = {}
    for command in read.commands:
        for path in _of_command(command, read):
            found[path] = None
    for assignment in read.assignments:
        for path in _of_assignment(assignment):
            found[path] = None
    for word in read.others:
        for path in _in_words([word], Use.ASIDE):
            found[path] = None
    return tuple(found)[:MOST_PATHS]


def _of_variable(field: str, name: str, value: str) -> Iterator[NamedPath]:
    yield from _in_words([Word(value, "", 0)], use_of_name(name, value), field)


def _of_assignment(assignment: Assignment) -> Iterator[NamedPath]:
    yield from _in_words([assignment.value], use_of_name(assignment.name, assignment.value.value))


# What a command does with its paths

_LOOKS = names("ls test [ stat du df find rm rmdir chmod chown file echo printf trap set which export alias")
_READS = names("cd pushd cat head tail source . less grep sed awk md5sum sha256sum wc")
_MAKES = names("mkdir touch mktemp")
_COPIES = names("cp mv rsync scp install")
_SAVES = names("aws ossutil ossutil64 rclone gsutil hdfs hadoop coscmd obsutil mc s3cmd azcopy zip")
_FETCHES = names("wget curl git tar unzip unxz gunzip huggingface-cli hf modelscope pip pip3 apt-get")
_INTO = names("-C -d -O -o -P --output --output-document --directory --directory-prefix --local-dir --target")
_RUNS_SCRIPT = frozenset((*SHELLS, "python", "python3", "torchrun", "accelerate", "deepspeed", "mpirun"))
TRAINERS = _RUNS_SCRIPT | names("horovodrun mpiexec colossalai llamafactory-cli swift")

_RESULT_PARTS = names(
    "output outputs out outdir outputdir outputpath save saved savedir savepath saveto result results "
    "workdir logdir logs log logfile logpath logging runs tensorboard export dump"
)
_KEPT_PARTS = names("checkpoint checkpoints ckpt ckpts exp experiment experiments")
_PLACE_PARTS = names("dir folder root")
_SOURCE_PARTS = names("load resume pretrained init from input inputs restore warm config conf cfg")
_INPUT_PARTS = names("data dataset datasets model models tokenizer eval test reference vocab base")
_SCRATCH_PARTS = names(
    "tmp temp tmpdir cache caches cachedir scratch lock pid socket home triton xdg mplconfigdir"
)
_CODE_PARTS = names(
    "path pythonpath library cuda conda venv virtual python java prefix project code repo src app script work"
)
_TAR_PACKS = re.compile(r"-?[a-zA-Z]{0,3}c|--create")
_FILE_OF_MODEL = re.compile(r"\.(pt|pth|ckpt|safetensors|bin|json|ya?ml|py|txt)\Z")


def use_of_name(name: str, path: str = "") -> Use:
    """What an option or variable of this name (`--output_dir`, `SAVE_DIR`) holds a path for."""
    parts = set(_PARTS.split(re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()))
    kept = parts & _KEPT_PARTS and not _FILE_OF_MODEL.search(path)
    if parts & _SCRATCH_PARTS:
        return Use.ASIDE
    if parts & _SOURCE_PARTS:
        return Use.READ
    if parts & _RESULT_PARTS or (kept and (parts & _PLACE_PARTS or parts <= _KEPT_PARTS)):
        return Use.RESULT
    if parts & _INPUT_PARTS or parts & _CODE_PARTS:
        return Use.READ
    return Use.UNCLEAR


def _of_command(command: Command, read: Reading) -> Iterator[NamedPath]:
    for assignment in command.assigned:
        yield from _of_assignment(assignment)
    for word in command.wrapping:
        name, equals, _value = word.value.partition("=")
        yield from _in_words([word], use_of_name(name) if equals else Use.ASIDE)
    for redirect in command.redirects:
        if redirect.writes:
            keeps = _is_output_of_training(command, read)
            yield from _in_words([redirect.target], Use.RESULT if keeps else Use.WRITTEN)
        else:
            yield from _in_words([redirect.target], Use.READ)
    yield from _of_arguments(command, read)


def _is_output_of_training(command: Command, read: Reading) -> bool:
    if command.program == "exec" or command.program in TRAINERS or command.name.value.startswith("./"):
        return True
    return command.pipeline > 0 and any(
        other.pipeline == command.pipeline and other.program in TRAINERS for other in read.commands
    )


def _of_arguments(command: Command, read: Reading) -> Iterator[NamedPath]:
    words, program = command.words, command.program
    if (
        program in SHELLS
        and len(words) > 1
        and words[0].value.startswith("-")
        and words[0].value.endswith("c")
    ):
        yield from _in_words(words[2:], Use.UNCLEAR)  # its text is read as a command itself
    elif program in _FETCHES:
        yield from _of_fetching(command)
    elif program in _COPIES:
        yield from _in_words(words[:-1], Use.SAVED)
        yield from _in_words(words[-1:], Use.MADE)
    elif program == "ln":  # what is written through the link is where it points to
        yield from _in_words(words[:-1], Use.READ)
        yield from _in_words(words[-1:], Use.SAVED)
    elif (use := _use_by_program(command, read)) is not None:
        yield from _in_words(words, use)
    else:
        yield from _of_program(words, program)


def _use_by_program(command: Command, read: Reading) -> Use | None:
    """What a program does with all its paths alike; None if that depends."""
    if command.program == "tee":
        return Use.RESULT if _is_output_of_training(command, read) else Use.WRITTEN
    for programs, use in (
        (_LOOKS, Use.ASIDE),
        (_READS, Use.READ),
        (_MAKES, Use.MADE),
        (_SAVES, Use.SAVED),
    ):
        if command.program in programs:
            return use
    return None


def _of_fetching(command: Command) -> Iterator[NamedPath]:
    """Downloads, archives and installations: into where they go, and from what."""
    first = command.words[0].value if command.words else ""
    packs = first == "upload" or (command.program == "tar" and _TAR_PACKS.match(first) is not None)
    last = command.words[-1] if command.program == "git" and first == "clone" else None
    before = ""
    for word in command.words:
        option = word.value.partition("=")[0] if word.value.startswith("--") else before
        into = (
            option in _INTO
            or word is last
            or (packs and word is command.words[min(1, len(command.words) - 1)])
        )
        yield from _in_words([word], Use.MADE if into else Use.SAVED if packs else Use.READ)
        before = word.value


def _of_program(words: Sequence[Word], program: str) -> Iterator[NamedPath]:
    """Options say by their name what a path is for; what a script is run by is code."""
    named = ""
    script_due = program in _RUNS_SCRIPT
    for word in words:
        option, equals, value = word.value.partition("=")
        if equals and re.fullmatch(r"[-+]*[A-Za-z_][\w.\-]*", option):
            yield from _in_words([word.part(value)], use_of_name(option, value))
            named = ""
        elif word.value.startswith("-"):
            named = word.value
        elif named:
            yield from _in_words([word], _use_of_option(named, word.value))
            script_due = script_due and named in ("-u", "-m") and not word.value.endswith(".py")
            named = ""
        else:
            yield from _in_words([word], Use.READ if script_due else Use.UNCLEAR)
            script_due = False


def _use_of_option(option: str, path: str) -> Use:
    if option == "-o":
        return Use.RESULT
    if path.endswith((".py", ".sh")):
        return Use.READ
    return use_of_name(option, path)


# Paths within words


def _in_words(words: Sequence[Word], use: Use, field: str = "command") -> Iterator[NamedPath]:
    for word in words:
        for value in _candidates(word.value):
            named = _named(value, field, word.line, use)
            if named is not None:
                yield named


def _candidates(value: str) -> Iterator[str]:
    """The word itself, what follows `=`, and the entries of a list like PATH."""
    if len(value) > _LONGEST:
        return
    if not value.startswith("/"):
        _option, equals, value = value.partition("=")
        if not equals:
            return
    if "://" not in value:
        yield from re.split(r"[:,]", value)


def _named(value: str, field: str, line: int, use: Use) -> NamedPath | None:
    certain, gap, _rest = value.partition("\0")
    if gap:
        certain = certain[: certain.rfind("/") + 1]
    if not certain.startswith("/") or certain.startswith("//") or len(certain) < 3:
        return None
    if _NO_PATH.search(certain) or certain != certain.strip():
        return None
    path = posixpath.normpath(certain)
    if path == "/" or _OF_THE_SYSTEM.match(path):
        return None
    return NamedPath(path, field, line, use, whole=not gap)
