"""Variables of a Worker: those the platform injects, and the page's text form `A=1;B=2`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.findings import Finding
from jobs.spec import EnvVar
from jobs.states import Framework

RESERVED_PREFIX = "TRAINYARD_"
ALWAYS_INJECTED = ("TRAINYARD_JOB_ID", "TRAINYARD_ATTEMPT", "TRAINYARD_WORKER", "CUDA_VISIBLE_DEVICES")
BASE_NAMES = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "HOSTNAME", "PYTHONUNBUFFERED")  # the page wins
INJECTED_BY_FRAMEWORK = {
    Framework.SINGLE: (),
    Framework.PYTORCH_DDP: ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"),
}
DEFAULT_MASTER_PORT = 29500
QUOTES = ("'", '"')


@dataclass(frozen=True, slots=True)
class Rank:
    """What the injected variables of one Worker are made from."""

    job: str
    attempt: int
    rank: int
    gpus: Sequence[int]
    world_size: int
    master_addr: str
    master_port: int


def injected_names(framework: str) -> tuple[str, ...]:
    return ALWAYS_INJECTED + INJECTED_BY_FRAMEWORK[Framework(framework)]


def needs_port(framework: str) -> bool:
    return "MASTER_PORT" in INJECTED_BY_FRAMEWORK[Framework(framework)]


def injected(framework: str, rank: Rank) -> dict[str, str]:
    """The variables that the platform sets in one Worker, over those of the page."""
    values = {
        "TRAINYARD_JOB_ID": rank.job,
        "TRAINYARD_ATTEMPT": str(rank.attempt),
        "TRAINYARD_WORKER": str(rank.rank),
        "CUDA_VISIBLE_DEVICES": ",".join(str(gpu) for gpu in rank.gpus),
        "MASTER_ADDR": rank.master_addr,
        "MASTER_PORT": str(rank.master_port),
        "WORLD_SIZE": str(rank.world_size),
        "RANK": str(rank.rank),
    }
    return {name: values[name] for name in injected_names(framework)}


def worker_name(job: str, rank: int) -> str:
    return f"{job}-worker-{rank}"


def parse_text(text: str) -> tuple[list[EnvVar], list[Finding]]:
    """Reads `A=1;B="x;y"`; line ends separate too. Every piece that is no assignment is named.

    A value in single or double quotes may hold `;` and line ends; inside double quotes a
    backslash keeps the next sign. Blanks around a piece are dropped, those inside a value kept.
    """
    variables: list[EnvVar] = []
    findings: list[Finding] = []
    for piece in _pieces(text.replace("\r\n", "\n")):
        if not piece.strip():
            continue
        name, equals, raw = piece.partition("=")
        value = _unquote(raw.strip())
        fullwidth = "；" in piece and raw.strip()[:1] not in QUOTES
        if not equals or not name.strip() or fullwidth or value is None:
            code = "env_fullwidth_semicolon" if fullwidth else "env_not_an_assignment"
            findings.append(Finding(code, "env", data={"piece": piece.strip()[:80]}))
            continue
        variables.append(EnvVar(name.strip(), value))
    return variables, findings


def to_text(variables: Iterable[EnvVar]) -> str:
    """The inverse of `parse_text`."""
    return ";".join(f"{v.name}={_quote(v.value or '')}" for v in variables)


def _pieces(text: str) -> Iterable[str]:
    """Cuts at `;` and line ends outside quotes. A quote counts only at the start of a value.

    Takes each sign once, so the time grows with the length and not with its square.
    """
    start, quote, escaped = 0, "", False
    named = value_starts = False  # whether the piece has a `=`, and only blanks since the first
    for i, sign in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = sign == "\\" and quote == '"'
            quote = "" if sign == quote else quote
        elif sign in ";\n":
            yield text[start:i]
            start, named, value_starts = i + 1, False, False
        else:
            quote = sign if value_starts and sign in "'\"" else ""
            value_starts = (value_starts and sign.isspace()) or (sign == "=" and not named)
            named = named or sign == "="
    yield text[start:]


def _unquote(raw: str) -> str | None:
    """The value meant by its written form; None if a quote is not closed or text follows it."""
    if raw[:1] not in QUOTES:
        return raw
    quote, value, signs = raw[0], [], iter(raw[1:])
    for sign in signs:
        if sign == "\\" and quote == '"':
            value.append(next(signs, "\\"))
        elif sign == quote:
            return None if "".join(signs) else "".join(value)
        else:
            value.append(sign)
    return None


def _quote(value: str) -> str:
    plain = value == value.strip() and not set(value) & {";", "\n", "；"} and value[:1] not in QUOTES
    if plain:
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
