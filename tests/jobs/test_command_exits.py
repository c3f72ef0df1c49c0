"""What hides that the training of a start command failed: the findings, their places and changes.

`test_command_exits_bash` tries the same commands with bash.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from jobs.command.exits import (
    MOST_SHOWN,
    MOST_STEPS,
    Analysis,
    called_scripts,
    exit_findings,
    script_findings,
)
from jobs.command.exits_fix import CHANGES
from jobs.command.exits_programs import Kind, called
from jobs.command.exits_reading import read
from jobs.command.exits_simple import Steps
from jobs.command.shell import MOST_ANALYSED
from jobs.findings import Finding, Fix, Level
from jobs.texts import FINDINGS, finding_text
from tests.jobs.exit_commands import HIDING, QUIET, TELLING, Hides, with_fix

HELP = Path(settings.BASE_DIR) / "docs" / "help" / "en"
FENCE = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(HELP.glob("*.md")) if page.stem != "api"]
TEMPLATES = [text for page in PAGES for text in FENCE.findall(page.read_text())]
SEED_COMMAND = "cd /mnt/public/projects/llm-train\nbash scripts/train_ddp.sh\n"


def told(command: str) -> list[tuple[str, int | None, str]]:
    return [(f.code, f.data.get("line"), str(f.level)) for f in exit_findings(command)]


def fix_of(command: str) -> Fix:
    (finding,) = exit_findings(command)
    assert finding.fix is not None
    return finding.fix


@pytest.mark.parametrize("row", HIDING, ids=lambda row: row.command)
def test_what_hides_a_failure_is_told_with_its_place(row: Hides) -> None:
    assert told(row.command) == [(row.code, row.line, row.level)]
    (finding,) = exit_findings(row.command)
    assert finding.field == "command"
    assert 0 < len(finding.data["shown"]) <= MOST_SHOWN


@pytest.mark.parametrize("row", HIDING, ids=lambda row: row.command)
def test_a_change_is_offered_that_settles_it(row: Hides) -> None:
    (finding,) = exit_findings(row.command)
    assert (finding.fix is not None) is row.fixed
    if finding.fix:
        assert finding.fix.field == "command"
        assert row.code not in [code for code, _, _ in told(with_fix(row.command, finding.fix))]


@pytest.mark.parametrize("command", [*TELLING, *QUIET, *TEMPLATES, SEED_COMMAND])
def test_what_tells_a_failure_is_left_alone(command: str) -> None:
    assert told(command) == []


def test_the_help_has_templates_to_try() -> None:
    assert len(TEMPLATES) > 8


def test_each_kind_of_place_is_tried_and_explained() -> None:
    tried = {row.code for row in HIDING}
    assert tried == set(CHANGES)
    assert tried | {"command_syntax", "command_too_long_to_check"} <= set(FINDINGS)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.usefixtures("chinese")
def test_sentences_are_filled_in_both_languages(language: str) -> None:
    with translation.override(language):
        for row in HIDING:
            (finding,) = exit_findings(row.command)
            text = finding_text(finding.code, finding.data)
            assert "%(" not in text
            assert bool(re.search("[一-鿿]", text.replace("日志", ""))) is (language != "en")


@pytest.mark.parametrize(
    ("command", "line", "old", "new"),
    [
        ("train | tee log", 1, "", "set -o pipefail"),
        ("#!/bin/bash\n# 训练\ncd /tmp\ntrain | tee log", 3, "", "set -o pipefail"),
        ("set -e\ntrain | tee log", 1, "set -e", "set -eo pipefail"),
        ("set -ex\ntrain | tee log", 1, "set -ex", "set -exo pipefail"),
        ("train\necho done", 1, "", "set -e"),
        ("set -o pipefail\ntrain | tee x\necho done", 1, "set -o pipefail", "set -eo pipefail"),
        ("train\ncp -r a /b", 2, "cp -r a /b", 'rc=$?\ncp -r a /b\nexit "$rc"'),
        ("rc=1\ntrain\ncp -r a /b\n", 3, "cp -r a /b", 'train_rc=$?\ncp -r a /b\nexit "$train_rc"'),
        ("train || true", 1, "train || true", "train || exit $?"),
        (
            "if true; then\n  train || true # 忽略\nfi",
            2,
            "  train || true # 忽略",
            "  train || exit $? # 忽略",
        ),
        ("nohup train > log 2>&1 &\n", 1, "nohup train > log 2>&1 &", "nohup train > log 2>&1"),
        ("bash -c 'train | tee a'", 1, "bash -c 'train | tee a'", "bash -c 'set -o pipefail; train | tee a'"),
        ("exit 256", 1, "exit 256", "exit 1"),
        ("if ! train; then\n  echo bad\nfi", 3, "", "  exit 1"),
        ("cd /data\ntrain", 1, "cd /data", "cd /data || exit 1"),
    ],
)
def test_changes_are_small_and_named_by_their_lines(command: str, line: int, old: str, new: str) -> None:
    assert fix_of(command) == Fix("command", old, new, line)


@pytest.mark.parametrize(
    ("command", "new"),
    [
        (
            'bash -c "train; cp -r out /a"',
            'bash -c "set -e; train; cp -r out /a"',
        ),  # there $? is the outer one
        ("train > log & tail -f log", None),  # what comes behind never runs
        ("train || sleep infinity", None),
        ("bash train.sh\ntail -f /dev/null", "bash train.sh || exit $?"),
        ("python3 - <<'EOF' || true\n1\nEOF", "python3 - <<'EOF' || exit $?"),
        ("python3 - <<'EOF' &\n1\nEOF\necho x", None),
        ("python3 - <<'EOF'\n1\nEOF\ncp -r a /b", "set -e"),  # nothing can stand behind the document's start
        ("for i in 1 2 3; do\n  python3 train.py && break\n  sleep 60\ndone", None),  # would end the tries
        ("(python3 train.py &)", None),  # nobody can wait for it
        ("train\ncp -r a /b\nexit 0", 'rc=$?\ncp -r a /b\nexit "$rc"'),
    ],
)
def test_what_is_offered_fits_where_it_stands(command: str, new: str | None) -> None:
    (finding,) = exit_findings(command)
    assert (finding.fix and finding.fix.new) == new


def test_several_places_are_told_in_their_order() -> None:
    command = (
        "trap 'exit 0' EXIT\n"
        "python3 prepare.py || true\n"
        "python3 train.py 2>&1 | tee log\n"
        "python3 evaluate.py || echo failed\n"
        "wait\n"
    )
    assert [(code, line) for code, line, _ in told(command)] == [
        ("exit_ignored", 2),
        ("exit_pipe", 3),
        ("exit_ignored", 4),
    ]


def test_a_program_that_decides_after_it_makes_a_hint_of_it() -> None:
    assert told("python3 prepare.py | tee log\npython3 train.py") == [("exit_pipe", 1, "hint")]
    assert told("python3 prepare.py | tee log\npython3 train.py\necho done") == [
        ("exit_pipe", 1, "warning"),
        ("exit_later_command", 2, "warning"),
    ]


def test_places_within_a_quoted_script_have_the_lines_of_the_command() -> None:
    assert told("set -e\nbash -c '\ncd /tmp\ntrain | tee log\n'")[0][1] == 4
    assert told("srun -N 2 bash -c 'python3 train.py || true'")[0][:2] == ("exit_ignored", 1)
    assert told("cat <<EOF > x\n一\n二\nEOF\ntrain | tee log")[0][1] == 5


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("python3 train.py", Kind.MAIN),
        ("python -u -m torch.distributed.run train.py", Kind.MAIN),
        ("python3.11 /mnt/a/train.py", Kind.MAIN),
        ("env A=1 timeout -k 5 100 nohup torchrun train.py", Kind.MAIN),
        ("conda run -n x python train.py", Kind.MAIN),
        ("bash run.sh", Kind.MAIN),
        ("./run", Kind.MAIN),
        ("/mnt/public/bin/train", Kind.MAIN),
        ("\0\0 train.py", Kind.MAIN),
        ("ray job submit -- python train.py", Kind.MAIN),
        ("python3 -c pass", Kind.OTHER),
        ("python3 -c import@torch;print(torch.__version__)", Kind.EASY),
        ("python3 -c import@a;@print(a);@a.exit(1)", Kind.OTHER),
        ("python3 -", Kind.OTHER),
        ("mytrain --x", Kind.OTHER),
        ("ray start --head", Kind.EASY),
        ("python3 -m pip install x", Kind.EASY),
        ("python3 --version", Kind.EASY),
        ("torchrun --help", Kind.EASY),
        ("conda activate x", Kind.EASY),
        ("/usr/bin/rsync a b", Kind.EASY),
        ("wandb login", Kind.EASY),
        ("command -v nvcc", Kind.ASKS),
        ("grep -q x y", Kind.ASKS),
    ],
)
def test_what_programs_are_to_the_outcome(text: str, kind: Kind) -> None:
    assert called(tuple(word.replace("@", " ") for word in text.split())).kind is kind


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("echo 'open", 1),
        ("train\nif true; then\n  train\n", 2),
        ("train\necho (\n", 2),
        ("for i in 1 2; do train; fi", 1),
    ],
)
def test_what_is_no_bash_is_told(command: str, line: int) -> None:
    found = [finding for finding in exit_findings(command) if finding.code == "command_syntax"]
    assert [(f.level, f.data["line"]) for f in found] == [(Level.WARNING, line)]


def test_what_is_certain_is_told_of_broken_text_too() -> None:
    assert [code for code, _, _ in told("trap 'exit 0' EXIT\ntrain | tee log\nexit 0\necho (")] == [
        "exit_pipe",
        "command_syntax",
    ]


@pytest.mark.parametrize("text", ["# " + "x" * MOST_ANALYSED, "train | tee log\n" * 2000])
def test_longer_texts_say_so(text: str) -> None:
    assert exit_findings(text) == [Finding("command_too_long_to_check", "command", Level.HINT)]


HARD = {
    "programs": "python3 train.py --epochs 3 > log 2>&1\n" * 400,
    "pipes": "python3 train.py | tee log\n" * 580,
    "and": "python3 a.py && " * 1000 + "true",
    "questions": "if [ -f x ]; then python3 a.py; fi\n" * 450,
    "deep questions": "if [ -f x ]; then " * 39 + "train; " + "fi; " * 39,
    "deep loops": "for i in 1 2 3 4 5 6 7 8; do " * 30 + "train; " + "done; " * 30,
    "calls": "f0() { train; }\n"
    + "".join(f"f{i}() {{ f{i - 1}; f{i - 1}; }}\n" for i in range(1, 200))
    + "f199",
    "itself": "f() { f; train; f; }\nf",
    "doubling": "a=xxxxxxxx\n" + "a=$a$a\n" * 1500 + "$a",
    "lists": 'a+=("$a")\n' * 1000 + 'for i in "${a[@]}"; do train $i; done',
    "numbers": "((x=" + "9*" * 5000 + "1))",
    "brackets": "(" * 8000 + ")" * 8000,
    "quotes": "bash -c '" * 3000,
    "substitutions": "$(" * 2000 + "train" + ")" * 2000,
    "background": "train & " * 1900,
    "open": "a | " * 4000,
    "arms": "case $x in " + "a) train;; " * 1300 + "esac",
}


@pytest.mark.parametrize("name", HARD)
def test_the_work_of_an_analysis_has_a_bound(name: str) -> None:
    text = HARD[name]
    found = exit_findings(text)
    program = read(text)
    if program is None:
        assert [finding.code for finding in found] == ["command_too_long_to_check"]
        return
    steps = Steps(MOST_STEPS)
    analysis = Analysis(program, steps)
    assert steps.left >= -1
    assert ("command_too_long_to_check" in [finding.code for finding in found]) is not analysis.complete


PIECES = st.sampled_from(
    [
        *(
            "train",
            "python3 a.py",
            "echo",
            "true",
            "exit",
            "0",
            "256",
            "$?",
            "rc=$?",
            "wait",
            "$!",
            "cd",
            "/a",
            "trap",
        ),
        *(
            "|",
            "||",
            "&&",
            "&",
            ";",
            "\n",
            "(",
            ")",
            "{",
            "}",
            "!",
            "if",
            "then",
            "else",
            "fi",
            "for i in",
            "do",
            "done",
        ),
        *(
            "while",
            "case",
            "esac",
            "in",
            "[[",
            "]]",
            "[",
            "]",
            "((",
            "))",
            "$(",
            "`",
            "'",
            '"',
            "\\",
            "<<EOF",
            "EOF",
        ),
        *(
            "set -e",
            "pipefail",
            "export X=",
            "local",
            "bash -c",
            "eval",
            "f()",
            "${a[@]}",
            "+=",
            "<(",
            ">",
            "#",
            "训练",
            "\0",
        ),
    ]
)


def own_words(finding: Finding) -> str:
    """What is said of it, without what it quotes."""
    text = finding_text(finding.code, finding.data)
    for quoted in filter(None, map(str, finding.data.values())):
        text = text.replace(quoted, "…")
    return text


@given(st.lists(PIECES, max_size=40).map(" ".join) | st.text(max_size=200))
@example("%(")
@hypothesis_settings(max_examples=300, deadline=None)
def test_any_text_is_borne_and_what_is_offered_fits(text: str) -> None:
    for finding in exit_findings(text):
        assert finding.field == "command"
        assert "%(" not in own_words(finding)
        if finding.fix:
            assert finding.code not in [
                f.code for f in exit_findings(with_fix(text, finding.fix)) if f.data == finding.data
            ]
    assert all(path.startswith("/") for path in called_scripts(text))


def test_the_same_of_a_script_that_the_command_calls() -> None:
    (finding,) = script_findings("#!/bin/bash\npython3 train.py | tee log\n", "/mnt/a/run.sh")
    assert (finding.code, finding.field, finding.fix) == ("exit_pipe", "command", None)
    assert finding.data["script"] == "/mnt/a/run.sh"
    assert finding.data["line"] == 2
    assert finding_text(finding.code, finding.data).startswith("/mnt/a/run.sh, line 2: A pipe")
    assert script_findings("set -eo pipefail\ntrain | tee log", "/mnt/a/run.sh") == []
    (too_long,) = script_findings("#" * 20_000, "/mnt/a/run.sh")
    assert finding_text(too_long.code, too_long.data)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("bash /mnt/x/run.sh", ["/mnt/x/run.sh"]),
        ("cd /mnt/x && ./run.sh --a 1", ["/mnt/x/run.sh"]),
        ("cd /mnt/x\ncd sub\nsh ../run.sh", ["/mnt/x/run.sh"]),
        ("cd /mnt/x; bash -e scripts/train.sh | tee log", ["/mnt/x/scripts/train.sh"]),
        ("(cd /mnt/x; ./a.sh)\n./b.sh", ["/mnt/x/a.sh"]),
        ("DIR=/mnt/x\ncd $DIR\nbash ${DIR}/a.sh\nexec ./b.sh", ["/mnt/x/a.sh", "/mnt/x/b.sh"]),
        ("nohup bash /mnt/x/run.sh > log 2>&1 &", ["/mnt/x/run.sh"]),
        ("bash -o pipefail /mnt/x/run.sh", ["/mnt/x/run.sh"]),
        ("if [ -f x ]; then bash /a/1.sh; else bash /a/2.sh; fi", ["/a/1.sh", "/a/2.sh"]),
        ("bash -c 'cd /mnt; ./run.sh'", ["/mnt/run.sh"]),
        ("srun bash /a.sh; bash /a.sh", ["/a.sh"]),
        ("cd $UNKNOWN; ./run.sh", []),
        ("./run.sh", []),
        ("python3 /mnt/x/train.py; /usr/bin/env; /bin/ls; bash -c 'echo 1'; bash $X", []),
        ("echo 'bash /mnt/x/run.sh' # bash /b.sh", []),
        ("", []),
    ],
)
def test_scripts_that_a_command_calls(command: str, paths: list[str]) -> None:
    assert called_scripts(command) == paths


def test_answers_are_kept_by_text_and_cannot_be_spoilt() -> None:
    exit_findings("train | tee a").clear()
    assert len(exit_findings("train | tee a")) == 1
    called_scripts("bash /a.sh").clear()
    assert called_scripts("bash /a.sh") == ["/a.sh"]
