"""Whether a start command would end well although its training failed. Pure; nothing of it is run.

A job's success is decided only by how its start command ends. So each program that does the job's work
(`exits_programs` says which) is taken to fail, alone, and the command is followed to its end (`exits_run`).
If it ends with 0, the place that let the failure go is told:

- a warning if the command then ends well whatever happened: nobody would notice;
- a hint if another program of the work decides instead, or if `cd` fails and the program runs elsewhere.

Of kinds of places that one change settles at once, only the first is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from jobs.command.exits_edit import changed, fix_between
from jobs.command.exits_fix import Place, changes
from jobs.command.exits_inner import Inner
from jobs.command.exits_programs import Kind
from jobs.command.exits_reading import read
from jobs.command.exits_run import End, Run
from jobs.command.exits_simple import Steps, TooMuch
from jobs.command.exits_state import Drop
from jobs.command.exits_tree import Part, Program, Simple
from jobs.findings import Finding, Fix, Level

MOST_STEPS = 10_000  # statements gone through in one analysis
MOST_STEPS_OF_TRIES = 6_000  # the same, for all changes that are tried
BYTES_PER_STEP = 8  # what reading a changed command costs, in steps
MOST_TOLD = 10
MOST_SHOWN = 60  # characters
ONCE = {
    "exit_pipe",
    "exit_later_command",
    "exit_zero",
    "exit_and_list",
    "exit_errexit_ignored",
    "exit_wait",
    "exit_loop",
}


@dataclass(frozen=True, slots=True)
class Hiding:
    """A place that hides a failure, and the program whose failure it is."""

    drop: Drop
    level: Level
    work: Part

    @property
    def part(self) -> Part:
        """What to look at."""
        if self.drop.code == "exit_zero" and self.drop.chosen is not None:
            return self.drop.chosen
        return self.work if self.drop.code in {"exit_cd", "exit_later_command"} else self.drop.part


class Analysis:
    """All places of a program that hide a failure, in the order of the text.

    `complete` tells whether it came to its end within its steps.
    """

    def __init__(self, program: Program, steps: Steps) -> None:
        self.program, self.steps, self.inner = program, steps, Inner()
        self.complete = True
        self.open_ends = 0  # programs of which only the run can tell whether their failure shows
        self.base = Run(self.inner, steps)
        self._found: dict[tuple[str, Part | None], Hiding] = {}
        try:
            self._go()
        except TooMuch:
            self.complete = False

    @property
    def hidings(self) -> list[Hiding]:
        found = sorted(self._found.values(), key=lambda hiding: (hiding.part.line, hiding.part.start))
        return found[:MOST_TOLD]

    @property
    def weight(self) -> int:
        """How much is hidden: to compare with what a change of the command would leave."""
        return sum(10 if hiding.level is Level.WARNING else 1 for hiding in self._found.values())

    @property
    def codes(self) -> list[str]:
        return [hiding.drop.code for hiding in self._found.values()]

    def _go(self) -> None:
        self.base.end_of(self.program)
        for part in self.base.odd_exits:
            self._keep(Hiding(Drop("exit_multiple", part), Level.WARNING, part))
        has_main = Kind.MAIN in self.base.works.values()
        for work, kind in self.base.works.items():
            if kind is Kind.OTHER and has_main:
                continue
            hiding = self._hiding(Run(self.inner, self.steps, work))
            if hiding is None and work in self.base.met_again:
                hiding = self._hiding(Run(self.inner, self.steps, work, once=True))
            if hiding is not None:
                self._keep(hiding)

    def _hiding(self, run: Run) -> Hiding | None:
        end, work = run.end_of(self.program), run.failing
        self.open_ends += end.fired and end.ended and end.status.zero is None
        if not end.hidden or work is None or (run.once and run.asked):
            return None
        if run.odd_exits:
            return Hiding(Drop("exit_multiple", run.odd_exits[-1]), Level.WARNING, work)
        drop = _decisive(end, work)
        if work in self.base.changes_folder:
            slips = drop.code in {"exit_later_command", "exit_and_list"} and run.ran_after
            return Hiding(replace(drop, code="exit_cd"), Level.HINT, work) if slips else None
        if _tries_again(drop, work):
            return None
        if not end.status.by_work or drop.code == "exit_loop":
            return Hiding(drop, Level.WARNING, work)
        return Hiding(drop, Level.HINT, work) if self.base.works[work] is Kind.MAIN else None

    def _keep(self, hiding: Hiding) -> None:
        place = hiding.drop.code, None if hiding.drop.code in ONCE else hiding.part
        known = self._found.get(place)
        if known is None or (known.level is Level.HINT and hiding.level is Level.WARNING):
            self._found[place] = hiding

    def place_of(self, hiding: Hiding) -> Place:
        source = hiding.drop.part.source
        program = self.program if source is self.program.source else self.inner.program_of(source)
        block = program.block if program else ()
        return Place(hiding.drop, hiding.work, block, self.base.backgrounds, self.base.works)


def _decisive(end: End, work: Part) -> Drop:
    """The first place at which the failure got lost; rather that which asks for it, such as a bare `wait`."""
    first = end.drops[0] if end.drops else Drop("exit_later_command", work)
    if len(end.drops) > 1 and first.code == "exit_later_command" and end.drops[1].part is first.chosen:
        return end.drops[1]
    waits = [drop for drop in end.drops if drop.code == "exit_wait"]
    return waits[0] if waits and first.code == "exit_background" else first


def _tries_again(drop: Drop, work: Part) -> bool:
    """Whether the right of || is the same program once more, as in `train.py || train.py --resume`."""
    again = drop.chosen
    if drop.code != "exit_ignored" or not isinstance(again, Simple) or not isinstance(work, Simple):
        return False
    return [word.text for word in again.words[:2]] == [word.text for word in work.words[:2]] and len(
        again.words
    ) > 1


def exit_findings(command: str) -> list[Finding]:
    """What in a start command hides a failure of the training, and what could not be checked."""
    return list(_command_findings(command))


def script_findings(text: str, name: str) -> list[Finding]:
    """The same of a script that the command calls; `name` is its path, and lines are those of the script.

    Nothing can be changed in it from the form: without fixes.
    """
    return [
        replace(finding, data={**finding.data, "script": name}, fix=None)
        for finding in _text_findings(text)[1]
    ]


def called_scripts(command: str) -> list[str]:
    """Absolute paths of the shell scripts that a command runs, as far as they are certain."""
    return list(_called_scripts(command))


@lru_cache(maxsize=128)
def _called_scripts(command: str) -> tuple[str, ...]:
    program = read(command)
    return () if program is None else tuple(dict.fromkeys(Analysis(program, Steps(MOST_STEPS)).base.scripts))


@lru_cache(maxsize=64)
def _command_findings(command: str) -> tuple[Finding, ...]:
    analysis, findings = _text_findings(command)
    if analysis is None:
        return tuple(findings)
    tries = Steps(MOST_STEPS_OF_TRIES)
    fixes = {id(hiding): _fix(command, analysis, hiding, tries) for hiding in analysis.hidings}
    told = zip(analysis.hidings, findings, strict=False)
    return (
        *(replace(finding, fix=fixes[id(hiding)]) for hiding, finding in told),
        *findings[len(analysis.hidings) :],
    )


def _text_findings(text: str) -> tuple[Analysis | None, list[Finding]]:
    """The findings: first one for each place, in their order, then what keeps the check from being whole."""
    program = read(text)
    too_long = Finding("command_too_long_to_check", "command", Level.HINT)
    if program is None:
        return None, [too_long]
    analysis = Analysis(program, Steps(MOST_STEPS))
    findings = [_finding(hiding) for hiding in analysis.hidings]
    if program.wrong_at is not None:
        line = program.source.line_of(program.wrong_at)
        shown = _short(text.split("\n")[line - 1])
        findings.append(Finding("command_syntax", "command", Level.WARNING, {"line": line, "shown": shown}))
    return analysis, findings if analysis.complete else [*findings, too_long]


def _finding(hiding: Hiding) -> Finding:
    drop = hiding.drop
    data: dict[str, Any] = {"line": hiding.part.line, "shown": _short(hiding.part.text)}
    if drop.code in SHOWN_TOO and drop.chosen is not None:
        data["then"] = _short(drop.chosen.text)
    return Finding(drop.code, "command", hiding.level, data)


SHOWN_TOO = {"exit_pipe", "exit_ignored"}


def _short(text: str) -> str:
    plain = " ".join(text.replace("\\\n", " ").split())
    return plain if len(plain) <= MOST_SHOWN else plain[: MOST_SHOWN - 1] + "…"


def _fix(command: str, analysis: Analysis, hiding: Hiding, tries: Steps) -> Fix | None:
    """The change after which least is hidden; None if none makes this place better.

    Nothing is offered for broken text, of which nobody knows what the change would do.
    """
    if analysis.program.wrong_at is not None:
        return None
    best: tuple[int, str] | None = None
    for edits in changes(analysis.place_of(hiding)):
        text = changed(command, edits)
        left = None if text is None or text == command else _weight_after(text, analysis, hiding, tries)
        if text is not None and left is not None and (best is None or left < best[0]):
            best = left, text
        if best is not None and best[0] < analysis.weight:
            break
    return None if best is None else fix_between(command, best[1])


def _weight_after(text: str, analysis: Analysis, hiding: Hiding, tries: Steps) -> int | None:
    """What is hidden still in a changed command; None if the change does not settle the place."""
    tries.left -= len(text) // BYTES_PER_STEP
    program = read(text) if tries.left > 0 else None
    if program is None or program.wrong_at is not None:
        return None
    then = Analysis(program, tries)
    code = hiding.drop.code
    settled = then.complete and then.codes.count(code) < analysis.codes.count(code)
    if then.open_ends > analysis.open_ends:
        return None
    most = analysis.weight if code == "exit_pipe" else analysis.weight - 1
    return then.weight if settled and then.weight <= most else None
