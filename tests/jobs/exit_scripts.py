"""Made-up scripts around one call of `train`, of all that decides how a script ends."""

from __future__ import annotations

from random import Random

PROGRAMS = ["train"] * 4 + ["true", "false", "echo x", "good", "bad", "mine"]
LEAVING = ["exit", "exit 0", "exit 3", "exit $?", "exit $rc", "return", "return 0", "break", "wait"]
SETTING = ["set -e", "set +e", "set -o pipefail", "set +o pipefail", "rc=$?", "rc=${PIPESTATUS[0]}"]
TRAPS = ["'exit 0' EXIT", "'echo bye' EXIT", "'exit' EXIT", "'exit $?' EXIT", "- EXIT", "'exit 4' ERR"]
ASKING = ["[ $rc -eq 0 ]", "[ $? -eq 0 ]", "(( rc == 0 ))", "test ${PIPESTATUS[0]} -eq 0"]
SUBSTITUTIONS = ["X=$(train)", "X=$(train; true)", "export X=$(train)"]
WORDS = PROGRAMS + LEAVING + SETTING + [f"trap {what}" for what in TRAPS] + ASKING + SUBSTITUTIONS
START = "rc=0\ngood() { true; }\nbad() { false; }\nmine() { train; true; }\n"


def random_script(random: Random) -> str:
    lines = [_statement(random, random.randint(0, 3)) for _ in range(random.randint(1, 4))]
    return _with_one_training(START + "\n".join(lines) + "\n", random)


def _with_one_training(script: str, random: Random) -> str:
    """Only one call of `train` stays, as the check follows one failure at a time."""
    parts = script.split("train")
    kept = random.randrange(len(parts) - 1)
    signs = ["train" if number == kept else "true" for number in range(len(parts) - 1)]
    return "".join(part + sign for part, sign in zip(parts, [*signs, ""], strict=True))


def _block(random: Random, depth: int) -> str:
    return "; ".join(_statement(random, depth) for _ in range(random.randint(1, 3)))


def _statement(random: Random, depth: int) -> str:
    if depth <= 0 or random.random() < 0.25:
        return random.choice(WORDS)
    one, other = _statement(random, depth - 1), _statement(random, depth - 1)
    block, more = _block(random, depth - 1), _block(random, depth - 1)
    shapes = [
        f"{{ {one}; }} | cat",
        f"{random.choice(WORDS)} | {random.choice(WORDS)}",
        f"{random.choice(WORDS)} 2>&1 | tee /dev/null && {other}",
        f"{one} && {other}",
        f"{one} || {other}",
        f"if {one}; then {block}; fi",
        f"if {one}; then {block}; else {more}; fi",
        f"( {block} )",
        f"{{ {block}; }}",
        f"{{ made() {{ {block}; }}; made; }}",
        f"for i in 1 2; do {block}; done",
        "{ train & wait $!; }",
        f"{{ ( {block} ) & wait $!; }}",
        "{ train & pid=$!; wait $pid; }",
        "{ train & wait; }",
        f"! {random.choice(WORDS)}",
    ]
    return random.choice(shapes)
