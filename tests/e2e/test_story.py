"""A job from its request to its end, on the real console."""

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.stack import Console, processes_with, supervisor_of, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]


def volume_folder(console: Console) -> Path:
    return Path(console.data_dir) / "volumes"


def test_digits_on_two_workers(console):
    job = console.run(
        "sh /mnt/public/digits/run.sh --epochs 12",
        worker_count=2,
        framework="pytorch_ddp",
        mounts=[console.volume_mount()],
        env=[{"name": "OUTPUT_DIR", "value": "/mnt/public/outputs/story"}],
    )
    assert job["state"] == "succeeded", console.log(job["id"])
    accuracy = float(re.findall(r"accuracy (0\.\d+)", console.log(job["id"]))[-1])
    assert accuracy > 0.9
    assert [p for p in volume_folder(console).rglob("outputs/story/*") if p.is_file()]
    assert console.events(job["id"]) == ["created", "deploying", "running", "succeeded"]


@pytest.mark.parametrize(
    ("command", "state", "exit_code", "reason"),
    [
        ("exit 3", "failed", 3, "exit_code"),
        ('python3 -c "import sys; sys.exit(255)"', "failed", 255, "exit_code"),
        ("nosuchcmd", "failed", 127, "exit_code"),
        ("false; echo after", "succeeded", 0, None),
        ("true", "succeeded", 0, None),
        ("true # a comment at the end", "succeeded", 0, None),
        ("set -o pipefail; false | tee /tmp/x", "failed", 1, "exit_code"),
    ],
)
def test_the_exit_code_is_the_commands(console, command, state, exit_code, reason):
    job = console.run(command)
    assert (job["state"], job["exit_code"]) == (state, exit_code)
    assert (job["reason"] or {}).get("code") == reason


def test_a_signal_is_no_claim_of_lost_memory(console):
    job = console.run("kill -9 $$")
    assert job["state"] == "failed"
    assert job["first_failure"] == {"rank": 0, "exit_code": None, "signal": 9}
    assert job["reason"]["code"] == "signal"
    assert "signal 9" in job["reason"]["message"]
    assert "memory" not in job["reason"]["message"]


def test_the_failing_worker_of_three_is_named_and_the_others_end(console, word):
    idle = console.idle_gpus()
    command = f'if [ "$RANK" = 1 ]; then sleep 1; exit 7; fi; setsid sleep {word} & sleep {word}'
    job = console.run(command, worker_count=3, framework="pytorch_ddp")
    assert job["first_failure"] == {"rank": 1, "exit_code": 7, "signal": None}
    assert job["exit_code"] == 7
    assert processes_with(word) == []
    assert console.idle_gpus() == idle


def test_a_left_over_child_ends_with_the_command(console, word):
    job = console.run(f"sleep {word} & setsid sleep {word} & exit 0")
    assert job["state"] == "succeeded"
    assert processes_with(word) == []


def test_stop_reaches_the_whole_tree(console, word):
    idle = console.idle_gpus()
    command = f"bash -c 'trap \"\" TERM; sleep {word} & setsid sleep {word} & echo up; sleep {word}'"
    key = console.submit(command, stop_grace_seconds=1)
    wait_until(lambda: "up" in console.log(key), "the command runs")
    assert len(processes_with(f"sleep {word}")) >= 3
    console.call("POST", f"jobs/{key}/stop/")
    console.call("POST", f"jobs/{key}/stop/")
    job = console.wait_end(key)
    assert job["state"] == "stopped"
    assert processes_with(word) == []
    assert console.idle_gpus() == idle
    assert console.events(key).count("stopped") == 1
    assert console.events(key).count("stop_requested") == 1


def test_crlf_reaches_bash_as_lf(console):
    job = console.run("cd /tmp\r\npwd\r\n[ 1 = 1 ] && echo OK\r\ncat <<X\r\nhere\r\nX\r\n")
    assert console.log(job["id"]) == "/tmp\nOK\nhere\n"
    assert "\r" not in job["command"]


def test_values_are_not_read_by_a_shell(console):
    value = "$(touch /tmp/pwned) `id` $HOME 'x' \"y\" \\n \n 汉"
    env = [{"name": "V", "value": value}]
    job = console.run("python3 -c \"import os;print(ascii(os.environ['V']))\"; ls /tmp", env=env)
    assert console.log(job["id"]).strip() == ascii(value)
    assert job["env"] == [{"name": "V", "value": value, "private": False}]
    quoted = r"""python3 -c 'print("a;b", "$HOME", r"\n")' && echo "q$((1+1))" """
    assert console.log(console.run(quoted)["id"]) == "a;b $HOME \\n\nq2\n"


def test_the_environment_is_what_was_promised(console):
    env = [{"name": "LANG", "value": "C"}, {"name": "MINE", "value": "1"}]
    job = console.run("env", framework="pytorch_ddp", env=env)
    seen = dict(line.split("=", 1) for line in console.log(job["id"]).splitlines())
    base = {"PATH", "HOME", "USER", "LANG", "TMPDIR", "HOSTNAME", "PYTHONUNBUFFERED"}
    injected = {"TRAINYARD_JOB_ID", "TRAINYARD_ATTEMPT", "TRAINYARD_WORKER", "CUDA_VISIBLE_DEVICES"}
    ddp = {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"}
    of_bash = {"PWD", "SHLVL", "_"}
    assert set(seen) - of_bash == base | injected | ddp | {"MINE"}
    assert (seen["LANG"], seen["TRAINYARD_JOB_ID"], seen["RANK"]) == ("C", job["id"], "0")
    assert seen["HOSTNAME"] == f"{job['id']}-worker-0"


def test_nothing_of_the_console_is_seen_inside(console):
    job = console.run(
        f"ls {console.data_dir} {console.data_dir}/secrets; cat /etc/shadow; touch /infini-data/x;"
        " grep Cap /proc/self/status; echo kept > /opt/kept; echo kept > /home/kept;"
        " df --output=fstype / | tail -1; touch /usr/kept",
        public_data=True,
    )
    log = console.log(job["id"])
    assert log.count("No such file or directory") >= 3, log
    assert "/infini-data/x': Read-only file system" in log
    assert {line.split()[1] for line in log.splitlines() if line.startswith("Cap")} == {"0" * 16}
    assert "tmpfs" not in log
    after = console.run("ls /opt/kept /home/kept")
    assert console.log(after["id"]).count("No such file or directory") == 2


def test_a_long_command_runs(console):
    job = console.run("# x\n" * 50_000 + "echo done")
    assert console.log(job["id"]) == "done\n"


def test_a_private_value_reaches_the_job_and_nobody_else(console):
    secret = "sekret-4711"
    env = [{"name": "KEY", "value": secret, "private": True}]
    key = console.submit("printf %s $KEY | sha256sum; tr '\\0' '\\n' </proc/$PPID/cmdline; sleep 3", env=env)
    wait_until(lambda: len(console.log(key)) > 64, "the command runs")
    assert processes_with(secret) == []
    assert hashlib.sha256(secret.encode()).hexdigest() in console.log(key)
    assert secret not in console.log(key)
    assert console.job(key)["env"][0]["value"] == secret
    assert console.call("GET", f"jobs/{key}/", user="bob")["env"][0]["value"] is None
    console.wait_end(key)
    for path in Path(console.data_dir).rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert secret.encode() not in path.read_bytes(), path


def test_the_loss_of_a_supervisor_fails_the_job(console, word):
    key = console.submit(f"echo ran; sleep {word}")
    wait_until(lambda: "ran" in console.log(key), "the command runs")
    supervisor_of(console, key).kill()
    job = console.wait_end(key)
    assert (job["state"], job["reason"]["code"], job["attempt"]) == ("failed", "worker_lost", 1)
    wait_until(lambda: processes_with(word) == [], "the Worker's processes are gone", 10)
    assert console.log(key) == "ran\n"


@pytest.fixture
def one_node(console):
    """The demo pool with one node in service."""
    change = (
        "from pools.models import Node, NodeState; from pools.services import node_set_state;"
        "node_set_state(nodes=Node.objects.order_by('name')[1:], state=NodeState.{})"
    )
    console.manage("shell", "-c", change.format("CORDONED"))
    yield
    console.manage("shell", "-c", change.format("READY"))


@pytest.mark.slow
def test_twenty_at_once_on_one_node_run_one_after_the_other(console, one_node):
    body = console.offer() | {"command": "sleep 0.2", "spec": console.spec(8)}
    with ThreadPoolExecutor(20) as threads:
        created = list(threads.map(lambda _: console.call("POST", "jobs/", body), range(20)))
    keys = [job["id"] for job in sorted(created, key=lambda job: job["created_at"])]
    held = []

    def all_ended() -> bool:
        held.append(8 - console.idle_gpus())
        return (
            console.call("GET", f"jobs/?state=queued,deploying,running&pool={body['pool']}")["results"] == []
        )

    wait_until(all_ended, "all twenty end", 120)
    assert max(held) == 8
    jobs = [console.job(key) for key in keys]
    assert {job["state"] for job in jobs} == {"succeeded"}
    for before, after in pairwise(jobs):
        assert before["ended_at"] <= after["started_at"]
    console.manage("recount")
