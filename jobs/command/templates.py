"""Start commands to begin from: a code becomes a text with the paths and the names of the form in it.

Each holds a program, which may be the command that was there before, and ends with the exit code of that.
Where something comes after the program it stands in a subshell: its `exit`, `set -e` and `cd` mean there
what they meant by themselves.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum

NO_FOLDER = "/mnt/volume"  # where no volume is mounted yet: to be replaced
NO_RUN = "my-run"
MARK = re.compile(r"@(folder|run|program)\b")
SAFE_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
PYTHON = re.compile(r"(?:exec\s+)?python3?(?:\s+-u)?\s+(?P<script>[\w./~$\"{}-]+\.py\b(?:\s[^|&;<>()#]*)?)\Z")


class Template(StrEnum):
    """In the order of the menu."""

    LOG = "log"
    UPLOAD = "upload"
    KEEP = "keep"
    TORCHRUN = "torchrun"
    RESUME = "resume"
    PREPARE = "prepare"


@dataclass(frozen=True, slots=True)
class Ground:
    """What a template is filled in with: a writable mount path, what the run is called, and the command that
    is there already. All may be empty."""

    folder: str = ""
    run: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """`whole`: the text holds the command that was there and takes its place; else it goes in beside it."""

    text: str
    whole: bool


TEXTS = {
    Template.LOG: """\
set -o pipefail
logs=@folder/logs/$TRAINYARD_JOB_ID
mkdir -p "$logs" || exit
(
@program
) 2>&1 | tee -a "$logs/worker-$TRAINYARD_WORKER.log"
""",
    Template.UPLOAD: """\
results=@folder/results/$TRAINYARD_JOB_ID/worker-$TRAINYARD_WORKER
export OUTPUT_DIR=$PWD/results
mkdir -p "$OUTPUT_DIR" || exit
(
@program
)
rc=$?
if ! { mkdir -p "$results" && cp -r "$OUTPUT_DIR/." "$results/"; }; then
  echo "the results could not be copied" >&2
  if [ "$rc" -eq 0 ]; then rc=1; fi
fi
exit "$rc"
""",
    Template.KEEP: """\
kept=@folder/debug/$TRAINYARD_JOB_ID/worker-$TRAINYARD_WORKER
(
@program
)
rc=$?
if [ "$rc" -ne 0 ]; then
  mkdir -p "$kept"
  compgen -e > "$kept/names-of-variables.txt"
  cp -r "$PWD" "$TMPDIR" "$kept/"
  echo "exit code $rc, files kept in $kept; now waiting ${HOLD_SECONDS:-600} s" >&2
  sleep "${HOLD_SECONDS:-600}"
fi
exit "$rc"
""",
    Template.TORCHRUN: """\
cd @folder || exit
IFS=, read -r -a gpus <<< "$CUDA_VISIBLE_DEVICES"
exec torchrun \\
  --nnodes="$WORLD_SIZE" \\
  --node_rank="$RANK" \\
  --master_addr="$MASTER_ADDR" \\
  --master_port="$MASTER_PORT" \\
  --nproc_per_node="${#gpus[@]}" \\
  @program
""",
    Template.RESUME: """\
export CHECKPOINT_DIR=@folder/checkpoints/@run
mkdir -p "$CHECKPOINT_DIR" || exit
export RESUME_FROM=
for file in "$CHECKPOINT_DIR"/*.pt; do
  if [ "$file" -nt "$RESUME_FROM" ]; then RESUME_FROM=$file; fi
done
echo "resuming from: ${RESUME_FROM:-nothing, this is a first start}"
@program
""",
    Template.PREPARE: """\
ready=@folder/prepared/$TRAINYARD_JOB_ID-$TRAINYARD_ATTEMPT
if [ "$TRAINYARD_WORKER" = 0 ]; then
  mkdir -p @folder/prepared || exit
  python3 -u @folder/prepare.py || exit
  touch "$ready" || exit
fi
waited=0
until [ -e "$ready" ]; do
  if [ "$waited" -ge 1800 ]; then
    echo "nothing was prepared within 30 minutes" >&2
    exit 1
  fi
  sleep 1
  waited=$((waited + 1))
done
@program
""",
}
PROGRAM = "cd @folder || exit\npython3 -u train.py"
PROGRAMS = {
    Template.TORCHRUN: "train.py",
    Template.RESUME: PROGRAM + ' ${RESUME_FROM:+--resume "$RESUME_FROM"}',
}


def filled(template: Template, ground: Ground) -> Filled:
    """The template with the ground in it; the command that is there becomes its program, where it can."""
    command = ground.command.strip("\n")
    if not command.strip():
        program = _with(PROGRAMS.get(template, PROGRAM), ground)
        return Filled(_with(TEXTS[template], ground, program), whole=True)
    if template == Template.TORCHRUN:
        return _torchrun(ground, command.strip().split("\n"))
    return Filled(_with(TEXTS[template], ground, command), whole=True)


def _torchrun(ground: Ground, lines: list[str]) -> Filled:
    """Runs the script of the last line, if that is all the line does; what comes before it stays."""
    last = PYTHON.match(lines[-1].strip())
    text = TEXTS[Template.TORCHRUN]
    if last is None:
        return Filled(_with(text, ground, PROGRAMS[Template.TORCHRUN]), whole=False)
    before = lines[:-1] or [_with(text.partition("\n")[0], ground)]
    started = _with(text.partition("\n")[2], ground, last["script"].strip())
    return Filled("\n".join([*before, started]), whole=True)


def _with(text: str, ground: Ground, program: str = "") -> str:
    """In one pass: what is put in is not looked at for marks."""
    values = {
        "folder": shlex.quote(ground.folder.rstrip("/") or NO_FOLDER),
        "run": ground.run if SAFE_RUN.match(ground.run) else NO_RUN,
        "program": program,
    }
    return MARK.sub(lambda mark: values[mark[1]], text)
