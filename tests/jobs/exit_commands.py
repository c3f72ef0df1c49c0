"""Start commands whose training fails: those that end well all the same, and those that tell.

`train`, and Python or torchrun with a file or module called train, end with 7, unless they are given the word
`fine`; all other programs go well. `sleep` takes no time. What is said here is tried with bash.
"""

from __future__ import annotations

from typing import NamedTuple

from jobs.command.exits import exit_findings
from jobs.findings import Fix


class Hides(NamedTuple):
    """A command that ends with 0: what is found in it, in which line, and whether a change is offered."""

    command: str
    code: str
    line: int = 1
    level: str = "warning"
    fixed: bool = True


HIDING = [
    # pipes
    Hides("train | tee train.log", "exit_pipe"),
    Hides("python3 -u train.py 2>&1 | tee train.log", "exit_pipe"),
    Hides("set -e\npython3 train.py | tee train.log", "exit_pipe", 2),
    Hides("set -eu\ntorchrun --nproc_per_node 8 train.py |& tee train.log", "exit_pipe", 2),
    Hides("set -o pipefail\nset +o pipefail\ntrain | tee train.log", "exit_pipe", 3),
    Hides("set -o pipefail; set +o pipefail; train | tee train.log", "exit_pipe", 1),
    Hides("train | grep -v DEBUG | tee train.log || exit 1", "exit_pipe"),
    Hides("train | tee train.log\necho saved\nexit ${PIPESTATUS[0]}", "exit_pipe"),
    Hides("(set -o pipefail; true)\ntrain | tee train.log", "exit_pipe", 2),
    Hides("{ cd /tmp; train; } 2>&1 | tee train.log", "exit_pipe"),
    Hides("time train | tee train.log", "exit_pipe"),
    Hides("cd /tmp && python3 train.py 2>&1 | tee train.log", "exit_pipe"),
    Hides("cd /tmp && python3 train.py > out.log 2>&1 | cat || echo failed", "exit_pipe"),
    Hides("nohup train | tee train.log", "exit_pipe"),
    Hides("timeout 100 python3 train.py | tee train.log", "exit_pipe"),
    Hides("env OMP_NUM_THREADS=1 python3 train.py | tee train.log", "exit_pipe"),
    Hides("python3 - <<'EOF' | tee train.log\nraise SystemExit(3)\nEOF", "exit_pipe"),
    Hides("python3 - <<'EOF' 2>&1 | tee train.log\nraise SystemExit(3)\nEOF\nwait", "exit_pipe"),
    Hides("run() {\n  python3 train.py | tee train.log\n}\nrun", "exit_pipe", 2),
    Hides("# 训练，并保存日志\npython3 train.py | tee 日志.txt", "exit_pipe", 2),
    Hides("bash -c 'python3 train.py | tee train.log'", "exit_pipe"),
    Hides('bash -xc "python3 train.py | tee train.log"', "exit_pipe"),
    Hides("set -o pipefail\nbash -c 'train | tee train.log'", "exit_pipe", 2),
    Hides("bash <<'EOF'\ncd /tmp\ntrain | tee train.log\nEOF", "exit_pipe", 3),
    Hides("eval 'train | tee train.log'", "exit_pipe"),
    Hides("if true; then\n  train | tee train.log\nfi", "exit_pipe", 2),
    Hides("CMD='python3 train.py'\n$CMD | tee train.log", "exit_pipe", 2),
    # what comes after it decides
    Hides("train; echo done", "exit_later_command"),
    Hides("python3 train.py\necho done", "exit_later_command"),
    Hides("python3 train.py\ncp -r . /tmp/published", "exit_later_command"),
    Hides("python3 -c 'raise SystemExit(9)'; echo upload done", "exit_later_command"),
    Hides("cd /tmp\npython3 train.py\nsleep 3600", "exit_later_command", 2),
    Hides("train\nif [ -d /nothing ]; then\n  echo found\nfi", "exit_later_command"),
    Hides("train; rc=$?\necho $rc", "exit_later_command"),
    Hides("set -e\nset +e\ntrain\necho done", "exit_later_command", 3),
    Hides("python3 prepare.py\npython3 train.py\npython3 evaluate.py\necho done", "exit_later_command"),
    Hides("run() { python3 train.py; echo $?; }\nrun", "exit_later_command"),
    Hides("(python3 train.py; echo done)", "exit_later_command"),
    Hides("bash -c 'python3 train.py; echo done'", "exit_later_command"),
    Hides("set -e\nX=$(train; echo 3)\necho $X", "exit_later_command", 2),
    Hides("python3 train.py 2>&1 > log\ntail -n 5 log", "exit_later_command"),
    Hides("python3 train.py\npython3 evaluate.py", "exit_later_command", level="hint"),
    Hides("failed=0\ntrain; failed=$?\nfailed=0\nexit $failed", "exit_later_command", 2),
    Hides("train\nif [ $? -ne 0 ]; then\n  echo failed\nfi", "exit_condition", 2),
    Hides("train\ncase $? in\n  0) echo good;;\n  *) echo bad;;\nesac", "exit_later_command"),
    # another right side
    Hides("train || true", "exit_ignored"),
    Hides("python3 train.py || :", "exit_ignored"),
    Hides("python3 train.py || echo failed", "exit_ignored"),
    Hides("python3 train.py || sleep 3600", "exit_ignored"),
    Hides("python3 train.py || exit 0", "exit_ignored"),
    Hides("python3 train.py || { echo failed; sleep 60; }", "exit_ignored"),
    Hides("set -e\npython3 train.py || true\necho done", "exit_ignored", 2),
    Hides("python3 train.py && echo good || echo bad", "exit_ignored"),
    Hides("set -o pipefail\npython3 train.py | tee log || echo failed", "exit_ignored", 2),
    Hides("run() { python3 train.py; }\nrun || true", "exit_ignored", 2),
    Hides("python3 train.py || python3 notify.py", "exit_ignored", level="hint"),
    Hides("python3 train.py || sleep infinity", "exit_ignored", fixed=False),
    Hides("python3 train.py || (echo failed && sleep 600)", "exit_ignored", fixed=False),
    Hides("rc=0\npython3 train.py || rc=$?\necho $rc", "exit_ignored", 2),
    # in the background
    Hides("train &", "exit_background"),
    Hides("nohup python3 train.py > log 2>&1 &", "exit_background"),
    Hides("python3 train.py & sleep 1", "exit_background"),
    Hides("for i in 0 1; do\n  train $i &\ndone", "exit_background", 2),
    Hides("train &\necho started\nexit 0", "exit_background"),
    Hides("(python3 train.py &)", "exit_background", fixed=False),
    Hides("python3 train.py &\npid=$!\necho $pid\nwait", "exit_wait", 4),
    Hides("train & wait", "exit_wait"),
    Hides("set -e\nfor i in 0 1; do\n  train $i &\ndone\nwait\necho done", "exit_wait", 5),
    Hides(
        "python3 train.py & a=$!\npython3 evaluate.py & b=$!\nwait $a $b", "exit_wait", 3, "hint", fixed=False
    ),
    Hides("python3 train.py & python3 evaluate.py & wait $!", "exit_background", 1, "hint", fixed=False),
    # traps
    Hides("trap 'exit 0' EXIT\ntrain", "exit_trap"),
    Hides("set -e\ntrap 'echo bye; exit 0' EXIT\npython3 train.py", "exit_trap", 2),
    Hides('trap "exit $?" EXIT\npython3 train.py', "exit_trap", 1),
    Hides("end() { echo bye; exit 0; }\ntrap end EXIT\npython3 train.py", "exit_trap", 2),
    Hides("trap 'exit 0' ERR\npython3 train.py\necho done", "exit_trap"),
    # conditions
    Hides("if ! train; then echo failed; fi", "exit_condition"),
    Hides("if train; then echo good; fi", "exit_condition"),
    Hides("if python3 train.py; then\n  echo good\nelse\n  echo bad\nfi", "exit_condition"),
    Hides("if ! python3 train.py; then\n  echo failed\nfi\necho end", "exit_condition"),
    Hides("while train; do\n  echo again\ndone", "exit_condition", fixed=False),
    Hides("! train && echo failed", "exit_condition", fixed=False),
    Hides("! train", "exit_negated"),
    Hides("set -e\n! python3 train.py\necho done", "exit_negated", 2),
    # set -e that does not look
    Hides("set -e\ntrain && echo good\necho end", "exit_and_list", 2),
    Hides("set -e\ncd /tmp && python3 train.py && mkdir -p b\necho end", "exit_and_list", 2),
    Hides("set -e\nrun() {\n  python3 train.py\n  echo done\n}\nrun || exit 1", "exit_errexit_ignored", 3),
    Hides("set -e\nrun() { train; echo x; }\nif run; then echo good; fi", "exit_errexit_ignored", 2),
    Hides("set -e\n(train; echo x) || exit 3", "exit_errexit_ignored", 2),
    # the exit code of a substitution
    Hides("export X=$(train)", "exit_masked"),
    Hides("set -e\nexport RESULT=$(python3 train.py)", "exit_masked", 2),
    Hides("set -e\nrun() {\n  local x=$(python3 train.py)\n  echo $x\n}\nrun", "exit_masked", 3),
    Hides("readonly X=$(train)", "exit_masked"),
    Hides("declare X=$(train)", "exit_masked"),
    Hides('echo "$(python3 train.py)"', "exit_masked", fixed=False),
    Hides("for line in $(python3 train.py); do echo $line; done", "exit_masked", fixed=False),
    Hides("cat < <(python3 train.py)", "exit_masked", fixed=False),
    # numbers
    Hides("train\nexit 0", "exit_zero", 2),
    Hides("python3 train.py; exit 0", "exit_zero"),
    Hides("run() { python3 train.py; return 0; }\nrun", "exit_zero"),
    Hides("train || exit 256", "exit_multiple"),
    Hides("echo failed; exit 512", "exit_multiple"),
    # loops
    Hides("for i in bad fine; do train $i; done", "exit_loop"),
    Hides("for i in bad fine; do\n  python3 train.py $i\ndone", "exit_loop", 2),
    Hides("printf 'bad\\nfine\\n' | while read name; do\n  python3 train.py $name\ndone", "exit_loop", 2),
    Hides(
        "for i in 1 2 3; do\n  python3 train.py && break\n  sleep 60\ndone",
        "exit_later_command",
        2,
        fixed=False,
    ),
    Hides('run() { "$@"; }\nrun python3 train.py\nrun python3 evaluate.py', "exit_later_command", 1, "hint"),
    # the folder
    Hides("cd /missing\ntrain fine", "exit_cd", 1, "hint"),
    Hides("cd /missing/project; python3 /tmp/other.py", "exit_cd", 1, "hint"),
]

TELLING = [
    "train",
    "exec train",
    "cd /tmp\nexport OUT=/tmp/out\nexec python3 -u train.py --epochs 30",
    "cd /mnt/public/projects/llm-train\nbash scripts/train_ddp.sh",
    "cd /mnt/public/digits\npython3 train.py",
    "export PROJECT_DIR=/tmp\nmkdir -p $PROJECT_DIR\ncd $PROJECT_DIR\ntrain",
    "mkdir -p out || true\nrm -rf cache || :\npython3 train.py",
    "source env.sh\npython3 train.py",
    "nvidia-smi || true\nwhich nvcc || echo no nvcc\npython3 train.py",
    "pip install -r requirements.txt | tail -n 1\npython3 train.py",
    "wandb login || true\ntrain",
    "python3 -c 'import sys; print(sys.version)' | tee versions.txt\npython3 train.py",
    "test -f train.py || exit 3\npython3 train.py",
    "[ -d data ] || mkdir data\npython3 train.py",
    "grep -q x config.yaml && echo yes\npython3 train.py",
    # pipes
    "set -o pipefail; train | tee train.log",
    "set -euo pipefail\npython3 -u train.py 2>&1 | tee train.log",
    "set -e -o pipefail\npython3 train.py | tee train.log\necho done",
    "set -o errexit\nset -o pipefail\npython3 train.py | tee train.log\necho done",
    "shopt -so pipefail\ntrain | tee train.log",
    "bash -o pipefail -c 'train | tee train.log'",
    "set -o pipefail\ncd /tmp && python3 train.py 2>&1 | tee train.log",
    "set -o pipefail\nfalse || python3 train.py 2>&1 | tee train.log && echo good",
    "bash -eo pipefail -c 'train | tee train.log; echo done'",
    "train | tee train.log\nexit ${PIPESTATUS[0]}",
    'train | tee train.log; rc=${PIPESTATUS[0]}; echo end; exit "$rc"',
    "train | tee train.log\n[ ${PIPESTATUS[0]} -eq 0 ] || exit 1\necho done",
    "train | tee train.log\nif [ ${PIPESTATUS[0]} -ne 0 ]; then exit 1; fi\necho done",
    "train | tee train.log\nif (( ${PIPESTATUS[0]} != 0 )); then exit 1; fi\necho done",
    'train | tee train.log\nst=("${PIPESTATUS[@]}")\necho end\nexit ${st[0]}',
    "train | tee train.log; test $PIPESTATUS -eq 0",
    "cat data | train",
    "! python3 train.py | tee log",
    "yes | python3 train.py",
    "train > >(tee train.log) 2>&1",
    "exec > >(tee train.log) 2>&1\ntrain",
    "python3 train.py > train.log 2>&1",
    "python3 - <<'EOF'\nprint('a | b || true &')\nraise SystemExit(1)\nEOF",
    "cat > run.txt <<EOF\ntrain | tee x || true\nEOF\ntrain",
    "cat > run.txt <<'EOF' && train\ntrain | tee x\necho done\nEOF",
    "set -o pipefail\npython3 train.py <<'EOF' 2>&1 | tee log || exit 4\nx\nEOF",
    "echo 'train | tee log || true'\ntrain",
    "# train | tee log\ntrain # || true",
    "# 结束后不要 echo\npython3 train.py # 训练 || true",
    "[[ a == a || b == b ]] && train",
    # exit codes that are kept
    "train; rc=$?; echo end; exit $rc",
    "rc=0\npython3 -u train.py || rc=$?\n"
    'if ! cp -r /tmp/nothing /tmp/x; then\n  [ "$rc" -ne 0 ] || rc=1\nfi\nexit "$rc"',
    "rc=0\npython3 train.py || rc=$?\nif [ $rc -ne 0 ]; then\n  sleep 60\nfi\nexit $rc",
    "python3 train.py\ncode=$?\ncp -r out /tmp/out\nif [ $code != 0 ]; then exit $code; fi\necho good",
    "python3 train.py\n(( $? == 0 )) || exit 1\necho good",
    "python3 train.py\n[[ $? -eq 0 ]] || exit 1\necho good",
    "failed=0\nfor i in bad fine; do python3 train.py $i || failed=1; done\nexit $failed",
    "failed=0\nfor i in bad fine; do python3 train.py $i || failed=$((failed+1)); done\n[ $failed -eq 0 ]",
    'failed=\npython3 train.py || failed=yes\necho end\nif [ -n "$failed" ]; then exit 1; fi',
    "ok=true\npython3 train.py || ok=false\necho end\n$ok",
    "a=0; b=0\npython3 train.py || a=$?\npython3 evaluate.py || b=$?\nexit $((a | b))",
    "train\ncase $? in\n  0) echo good;;\n  *) exit 1;;\nesac\necho end",
    "train && echo good",
    "cd /tmp && python3 train.py && echo good",
    "train || exit 1",
    "train || exit $?\necho done",
    "train || exit\necho done",
    "train || { echo failed; exit 1; }\necho done",
    "train || { rc=$?; echo failed; exit $rc; }",
    "train || false\n",
    "python3 train.py || python3 train.py --resume",
    "if train; then echo good; else exit 1; fi",
    "if ! train; then exit 1; fi\necho good",
    "if ! train; then\n  echo failed >&2\n  exit 1\nfi\necho good",
    "if python3 train.py; then echo good; else rc=$?; echo bad; exit $rc; fi",
    "while ! python3 train.py; do\n  exit 4\ndone",
    "set -e\ntrain\necho done",
    "set -e\nmkdir -p out\npython3 train.py\ncp -r out /tmp/x\n",
    "set -ex\nif [ -d x ]; then echo x; fi\npython3 train.py\necho done",
    "set -e\nrun() {\n  python3 train.py\n  echo done\n}\nrun\necho end",
    "set -e\n(train; echo x)\necho end",
    "set -e\n{ train; echo x; } > log\necho end",
    "set -e\nX=$(train)\necho $X",
    "set -e\nX=$(train)\nexport X\necho $X",
    "set -e\nshopt -s inherit_errexit\nX=$(train; echo 3)\necho $X",
    "trap 'echo bye' EXIT\ntrain",
    "set -e\ntrap 'rc=$?; echo bye; exit $rc' EXIT\ntrain\necho done",
    "end() { echo bye; exit; }\ntrap end EXIT\ntrain",
    "trap 'exit 0' EXIT\ntrap - EXIT\ntrain",
    "trap 'exit 1' ERR\ntrain\necho done",
    "trap 'exit 0' TERM\ntrain",
    # in the background
    "train & wait $!",
    "train &\npid=$!\necho $pid\nwait $pid",
    'train & pid=$!\nwait "$pid"; rc=$?\necho end\nexit $rc',
    "set -e\ntrain & pid=$!\nwait $pid\necho done",
    "tensorboard --logdir x &\npython3 train.py",
    "(while sleep 30; do date; done > load.log) &\npython3 train.py",
    "sleep 1 & python3 train.py & wait $!",
    "pids=()\nfor i in 0 1; do train $i & pids+=($!); done\n"
    'for p in "${pids[@]}"; do wait $p || exit 1; done',
    'for i in 0 1; do train $i & pids="$pids $!"; done\n'
    "rc=0\nfor p in $pids; do wait $p || rc=1; done\nexit $rc",
    "train & a=$!\npython3 evaluate.py & b=$!\nwait $a && wait $b",
    "train & a=$!\npython3 evaluate.py & b=$!\nwait $a; x=$?\nwait $b; y=$?\nexit $((x || y))",
    "train & train & for job in $(jobs -p); do wait $job || exit 1; done",
    "train & wait %1",
    # loops
    "for i in 1; do train; done",
    "set -e\nfor i in bad fine; do train $i; done",
    "for i in bad fine; do train $i || exit 1; done",
    "for i in bad fine; do if ! train $i; then exit 1; fi; done",
    "for i in 1 2 3; do\n  python3 train.py && exit 0\n  sleep 60\ndone\nexit 1",
    "n=0\nuntil python3 train.py; do\n  n=$((n+1))\n  if [ $n -ge 2 ]; then exit 1; fi\n  sleep 1\ndone",
    # functions, variables, shells
    "unused() { train | tee log || true; }\ntrain",
    'args=(--epochs 3 --name "a | b")\npython3 train.py "${args[@]}"',
    'run() { "$@"; rc=$?; echo $rc; return $rc; }\nrun python3 train.py',
    "bash -c 'train'",
    "bash -ec 'train; echo done'",
    "case 1 in\n  1) train;;\n  *) echo x;;\nesac",
    "time train",
    "nohup train > log 2>&1",
    "timeout 100 train",
    "CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=1 python3 train.py",
    "if [ -f /missing/x ]; then python3 evaluate.py; else python3 train.py; fi",
    "(cd /tmp && train)",
    "cd /missing || exit 1\ntrain fine",
    "cd /missing && train fine",
    "set -e\ncd /missing\ntrain fine",
    "exit 3",
]

QUIET = [
    "",
    "   \n\n# only a comment\n",
    "echo hello",
    "python3 evaluate.py",
    "until python3 train.py; do sleep 60; done",
    "while true; do python3 train.py && break; sleep 60; done",
    "while :; do nvidia-smi; sleep 60; done",
    "unused() { train || true; }",
]


def with_fix(command: str, fix: Fix) -> str:
    """The command after a person took the change over, as it is described at `Fix`."""
    lines = command.split("\n")
    assert fix.line is not None
    at = fix.line - 1
    old = fix.old.split("\n") if fix.old else []
    assert lines[at : at + len(old)] == old
    return "\n".join([*lines[:at], *fix.new.split("\n"), *lines[at + len(old) :]])


def all_fixed(command: str, most: int = 4) -> str:
    """The command after all changes that are offered were taken over, one after the other."""
    for _ in range(most):
        fixes = [finding.fix for finding in exit_findings(command) if finding.fix]
        if not fixes:
            break
        command = with_fix(command, fixes[0])
    return command
