"""Second looks at a request: secrets, variables set twice, and the steps around the training."""

import time
from dataclasses import replace

import pytest
from django.utils import translation

from jobs.advice import advise
from jobs.command.secrets import in_command, secret_findings
from jobs.command.shell import MOST_ANALYSED
from jobs.command.steps import step_findings
from jobs.command.variables import variable_findings
from jobs.estimate import estimate
from jobs.facts import VolumeFacts
from jobs.findings import Fix, Level
from jobs.forms.start import GENERAL_EXAMPLE
from jobs.spec import EnvVar, MountSpec
from jobs.states import Framework
from jobs.texts import finding_text
from jobs.texts.advice import ADVICE
from jobs.texts.exits import EXITS
from pools.capacity import Shape
from tests.jobs.value_facts import facts, spec

TWO_BY_EIGHT = Shape(8, 16)
DDP = Framework.PYTORCH_DDP.value
MOUNTS = (MountSpec(1, "/mnt/public"),)
HUGGING = "hf_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z"  # no token of anybody: only its form
OPEN = "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0kLmNoP"
HUB = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
HEX = "0123456789abcdef0123456789abcdef01234567"


def secrets(command="true", *env):
    return list(secret_findings(spec(command=command, env=env)))


@pytest.mark.parametrize(
    ("command", "line", "name"),
    [
        (f"export HF_TOKEN={HUGGING}", 1, "HF_TOKEN"),
        (f"cd /a\nHF_TOKEN={HUGGING} python train.py", 2, "HF_TOKEN"),
        (f"cd /a\npython train.py --auth {HUGGING}", 2, "hf_a…"),
        (f"curl -H 'Authorization: Bearer {OPEN}' https://a", 1, "sk-p…"),
        (f"cat > key <<EOF\n{OPEN}\nEOF", 2, "sk-p…"),
        (f"# my token: {HUB}\ntrue", 1, "ghp_…"),
        (f"git clone https://{HUB}@github.com/a/b", 1, "ghp_…"),
        ("aws configure set aws_access_key_id AKIA0123456789ABCDEF", 1, "AKIA…"),
        ("git clone https://bob:pa55word@git.company.cn/a/b", 1, "https://…@git.company.cn"),
        (f"wandb login {HEX}", 1, "wandb key"),
        (f"export WANDB_API_KEY={HEX}", 1, "WANDB_API_KEY"),
        (f"env WANDB_API_KEY={HEX} python t.py", 1, "WANDB_API_KEY"),
        ("python train.py --password hunter2", 1, "password"),
        ("mysql --password=hunter2", 1, "password"),
        ("export DB_PASSWORD=Tr0ub4dor", 1, "DB_PASSWORD"),
        ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzz", 1, "AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_secrets_in_the_command(command, line, name):
    (one,) = secrets(command)
    assert (one.code, one.level, one.field) == ("secret_in_clear", Level.WARNING, "command")
    assert one.data == {"name": name, "line": line}


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --token $HF_TOKEN --password ${PASSWORD}",
        'export HF_TOKEN="$(cat /mnt/public/token)" API_KEY=$KEY',
        "export HF_TOKEN=hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "export API_KEY=your-api-key-1234567890",
        "export API_KEY=xxx",
        "export TOKEN_FILE=/run/secrets/token HF_TOKEN_PATH=/mnt/public/token",
        "export HF_TOKEN=/mnt/public/token",
        "export SORT_KEY=created_at CACHE_KEY=exp-001 PRIMARY_KEY=id",
        "python train.py --pad_token '<pad>' --eos-token '</s>' --max_token 4096 --image-key image_0",
        "python train.py --tokenizer meta-llama/Llama-3-8B --key-dim 64",
        "git clone https://github.com/a/b",
        "git clone https://bob:$TOKEN@github.com/a/b https://bob:${TOKEN}@github.com/a/b",
        "git clone git@github.com:a/b; curl http://user@host:8080/a",
        "pip install sk-learn-contrib-with-a-long-name",
        f"git checkout {HEX}",
        "aws configure set aws_access_key_id AKIAIOSFODNN7EXAMPLE",
        "python hf_convert_checkpoint_to_safetensors_v2.py",
        "export PASSWORD= SECRET=''",
        "passwd --stdin",
    ],
)
def test_what_only_looks_like_a_secret(command):
    assert secrets(command) == []


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        (EnvVar("HF_TOKEN", HUGGING), True),
        (EnvVar("ANY", HUGGING), True),
        (EnvVar("DB_PASSWORD", "Tr0ub4dor"), True),
        (EnvVar("PROXY", "http://bob:pa55word@proxy:8080"), True),
        (EnvVar("HF_TOKEN", HUGGING, private=True), False),
        (EnvVar("HF_TOKEN", None, private=True), False),
        (EnvVar("RUN_ID", "exp-001"), False),
        (EnvVar("PROXY", "http://proxy:8080"), False),
    ],
)
def test_secrets_in_variables(variable, said):
    found = secrets("true", EnvVar("A", "1"), variable)
    assert [(f.code, f.field) for f in found] == ([("secret_in_clear", "env.1.value")] if said else [])


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1a",
        "a+",
        "a://",
        "a://b",
        "a://b:",
        "a://b:ccc",
        "a://b:ccc@",
        "sk-",
        "sk-a/",
        "+sk-a",
        "eyJa",
        "gh",
    ],
)
@pytest.mark.parametrize("head", ["", "a://", "a://b:", "sk-", "eyJ"])
def test_no_text_takes_the_square_of_its_length(head, piece):
    text = (head + piece * MOST_ANALYSED)[:MOST_ANALYSED]
    started = time.process_time()
    in_command(text)
    assert time.process_time() - started < 1  # some take ten times as long by the square


def test_no_secret_is_in_what_is_stored_about_it():
    command = f"export HF_TOKEN={HUGGING}\npython t.py --password hunter2 {OPEN}\ncurl https://u:pa55word@h/"
    stored = str([f.as_json() for f in secrets(command, EnvVar("K", HUB))])
    assert not any(secret in stored for secret in (HUGGING, "hunter2", OPEN, "pa55word", HUB))


def variables(command, *env, framework=DDP, shape=TWO_BY_EIGHT):
    return list(variable_findings(spec(command=command, env=env, framework=framework), shape))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("export RUN=b", 1),
        ("cd /a\nRUN=b\npython t.py", 2),
        ("export A=1 RUN=$(date)", 1),
        ("cd /a && export RUN=b && python t.py", 1),
    ],
)
@pytest.mark.parametrize("private", [False, True])
def test_a_variable_of_page_and_command(command, line, private):
    (one,) = variables(command, EnvVar("RUN", "a", private))
    assert (one.code, one.level, one.data) == ("variable_twice", Level.HINT, {"name": "RUN", "line": line})


@pytest.mark.parametrize(
    "command",
    [
        "export RUN",
        "export RUN=a",
        "RUN=b python t.py",
        "export RUN=${RUN:-b}",
        "RUN=$RUN-2; RUN=${RUN}/x",
        'if [ -z "$RUN" ]; then RUN=b; fi',
        '[ -n "$RUN" ] || RUN=b',
        "(RUN=b; echo $RUN)",
        "f() { RUN=b; }",
        "echo RUN=b; echo 'export RUN=b'",
        "export RUNS=b",
        "cat <<EOF\nexport RUN=b\nEOF",
    ],
)
def test_what_does_not_set_it_anew(command):
    assert variables(command, EnvVar("RUN", "a")) == []


@pytest.mark.parametrize(
    ("command", "name", "level", "fix"),
    [
        ("export MASTER_ADDR=localhost", "MASTER_ADDR", Level.WARNING, ("export MASTER_ADDR=localhost", "")),
        ("MASTER_PORT=29500", "MASTER_PORT", Level.WARNING, ("MASTER_PORT=29500", "")),
        ("export RANK=0 A=1", "RANK", Level.WARNING, ("export RANK=0 A=1", "export A=1")),
        ("cd /a; WORLD_SIZE=16", "WORLD_SIZE", Level.WARNING, None),
        ("export RANK=0 && python t.py", "RANK", Level.WARNING, None),
        (
            "export CUDA_VISIBLE_DEVICES=0,1",
            "CUDA_VISIBLE_DEVICES",
            Level.HINT,
            ("export CUDA_VISIBLE_DEVICES=0,1", ""),
        ),
    ],
)
def test_a_variable_of_the_platform_that_the_command_replaces(command, name, level, fix):
    (one,) = variables(command)
    assert (one.code, one.level, one.data["name"]) == ("injected_overwritten", level, name)
    assert one.fix == (Fix("command", *fix, 1) if fix else None)


def test_with_one_worker_the_meeting_point_is_only_a_hint():
    (one,) = variables("export MASTER_PORT=29501", shape=Shape(8, 8))
    assert one.level == Level.HINT


@pytest.mark.parametrize(
    ("command", "framework"),
    [
        ("export MASTER_ADDR=$MASTER_ADDR RANK=${RANK:-0}", DDP),
        ("export WORLD_SIZE=$((WORLD_SIZE * 8))", DDP),
        ("CUDA_VISIBLE_DEVICES=0 python a.py", DDP),
        ("for i in 0 1; do CUDA_VISIBLE_DEVICES=$i; done", DDP),
        ("export NODE_RANK=0 MASTER=host", DDP),
        ("export MASTER_ADDR=localhost MASTER_PORT=29500 RANK=0 WORLD_SIZE=1", Framework.SINGLE.value),
    ],
)
def test_what_leaves_the_platform_its_variables(command, framework):
    assert variables(command, framework=framework) == []


def steps(command, *, shape=None, **fields):
    return list(step_findings(spec(command=command, **fields), shape))


@pytest.mark.parametrize(
    ("command", "step", "line"),
    [
        ("wget https://a/b.tar\npython train.py", "wget", 1),
        ("cd /a\ncurl -o x https://a/b && torchrun t.py", "curl", 2),
        ("curl https://a/b > x; bash run.sh", "curl", 1),
        ("git clone https://a/b; cd b; python train.py", "git clone", 1),
        ("pip install -q torch; python train.py", "pip install", 1),
        ("pip install -r requirements.txt\npython train.py", "pip install", 1),
        ("python -m pip install torch; python train.py", "pip install", 1),
        ("apt-get update && apt-get install -y vim && bash run.sh", "apt-get install", 1),
        ("tar xzf /a.tgz; python train.py", "tar", 1),
        ("unzip -q /a.zip -d /b; ./train", "unzip", 1),
        ("huggingface-cli download a/b; python train.py", "huggingface-cli", 1),
        ("aws s3 cp s3://a/b /c --recursive; python train.py", "aws", 1),
        ("python tools/convert_coco.py /a; python train.py", "convert_coco.py", 1),
        ("wget https://a/b.tgz; tar xf b.tgz; python train.py", "wget, tar", 1),
    ],
)
def test_slow_first_steps(command, step, line):
    (one,) = steps(command)
    assert (one.code, one.level, one.data) == ("slow_first_step", Level.HINT, {"step": step, "line": line})


@pytest.mark.parametrize(
    "command",
    [
        "python train.py",
        "wget https://a/b.tar",
        "python train.py; tar czf /a.tgz /out; aws s3 cp /a.tgz s3://a/b",
        "[ -f /a ] || wget https://a/b; python train.py",
        'if [ ! -d /a ]; then git clone https://a/b; fi; python train.py',
        'if [ "$RANK" = 0 ]; then pip install torch; fi; python train.py',
        "pip install -e . && python train.py",
        "pip install --no-index --find-links /mnt/public/w torch; python train.py",
        "pip install /mnt/public/a.whl ./b; pip list; pip check; python train.py",
        "conda activate base; python train.py",
        "curl -X POST https://hook/a; curl -s http://localhost:8000/health > /a; python train.py",
        "git pull; git -C a log; git config --global a b; python train.py",
        "tar czf /mnt/public/code.tgz .; tar tf a.tar; python train.py",
        "aws s3 ls s3://a; aws s3 cp /log s3://a/b; python train.py",
        "echo wget https://a/b; # tar xf a\npython train.py",
        "huggingface-cli login; python train.py",
        "python converter_train.sh; python train.py",
    ],
)  # fmt: skip
def test_steps_that_are_quick_or_do_not_hold_up_a_training(command):
    assert steps(command) == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"auto_restart": True}, "auto_restart"),
        ({"max_runtime_minutes": 3 * 24 * 60}, "command"),
    ],
)
def test_a_run_that_may_be_broken_off_without_a_word_of_resuming(fields, field):
    (one,) = steps("python train.py --lr 1", **fields)
    assert (one.code, one.level, one.field) == ("no_resume", Level.HINT, field)


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("python train.py", {}),
        ("python train.py", {"max_runtime_minutes": 60}),
        ("", {"auto_restart": True}),
        ("python train.py --resume auto", {"auto_restart": True}),
        ("python train.py --checkpoint-dir $D", {"auto_restart": True}),
        ("python train.py --load /a/last.pt", {"auto_restart": True}),
        ("bash run.sh", {"auto_restart": True, "env": (EnvVar("CKPT_DIR", "/a"),)}),
        ("bash run.sh", {"auto_restart": True, "env": (EnvVar("ARGS", "--resume"),)}),
        ("bash resume_training.sh", {"max_runtime_minutes": 99999}),
    ],
)
def test_a_run_that_goes_on_or_need_not(command, fields):
    assert steps(command, **fields) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torchrun t.py > /mnt/public/log.txt 2>&1", "torchrun t.py > /mnt/public/log.$RANK.txt 2>&1"),
        ("torchrun t.py 2>&1 | tee /mnt/public/a/log", "torchrun t.py 2>&1 | tee /mnt/public/a/log.$RANK"),
        ("cd /mnt/public; python t.py &> train.log", "cd /mnt/public; python t.py &> train.$RANK.log"),
    ],
)
def test_one_file_for_all_workers(old, new):
    (one,) = steps(old, shape=TWO_BY_EIGHT, framework=DDP, mounts=MOUNTS)
    assert (one.code, one.level, one.fix) == ("one_file_for_all", Level.HINT, Fix("command", old, new, 1))
    assert steps(new, shape=TWO_BY_EIGHT, framework=DDP, mounts=MOUNTS) == []


@pytest.mark.parametrize(
    ("command", "shape"),
    [
        ("torchrun t.py > /mnt/public/log", Shape(8, 8)),
        ("torchrun t.py > /mnt/public/log", None),
        ("torchrun t.py >> /mnt/public/log", TWO_BY_EIGHT),
        ("torchrun t.py | tee -a /mnt/public/log", TWO_BY_EIGHT),
        ("torchrun t.py > /mnt/public/log.$RANK", TWO_BY_EIGHT),
        ("torchrun t.py > /tmp/log", TWO_BY_EIGHT),
        ("torchrun t.py > log", TWO_BY_EIGHT),
        ("if [ $RANK = 0 ]; then python t.py > /mnt/public/log; fi", TWO_BY_EIGHT),
        ("echo a > /mnt/public/log", TWO_BY_EIGHT),
        ("torchrun t.py > /dev/null", TWO_BY_EIGHT),
    ],
)
def test_files_that_workers_do_not_take_from_each_other(command, shape):
    assert steps(command, shape=shape, framework=DDP, mounts=MOUNTS) == []


# All of it together

WORLD = facts(volumes={1: VolumeFacts(1, "v1", 1, "/data/v1", read_only=False)})


@pytest.mark.parametrize("command", ["sh /mnt/public/digits/run.sh", GENERAL_EXAMPLE])
def test_the_examples_give_nothing_to_tell(command):
    env = (EnvVar("OUTPUT_DIR", "/mnt/public/outputs/digits-20260101-000000"),)
    request = spec(command=command, env=env, mounts=MOUNTS, worker_count=2, framework=DDP)
    assert estimate(request, WORLD).findings == ()


EVERYTHING = f"""\
export RUN=b MASTER_ADDR=localhost
wget https://a/b
python3 train.py --output /root/a --token {HUGGING}
ls; cd /infini-data/a
mkdir -p /infini-data/b
cd /mnt/pubic
torchrun --nproc_per_node=16 --nnodes=$WORLD_SIZE t.py
torchrun --nproc_per_node=$WORLD_SIZE --nnodes=3 --node_rank=0 --master_addr=a --master_port=29500 t.py
torchrun --standalone t.py > /mnt/public/log
accelerate launch --num_machines=2 --num_processes=99 t.py
"""


def test_every_code_is_told_in_both_languages():
    request = spec(
        command=EVERYTHING, env=(EnvVar("RUN", "a"),), mounts=MOUNTS, framework=DDP, auto_restart=True
    )
    told = advise(request, WORLD, TWO_BY_EIGHT)
    told += advise(replace(request, public_data=True), WORLD, TWO_BY_EIGHT)
    told += advise(replace(request, framework="single"), WORLD, TWO_BY_EIGHT)
    told += advise(replace(request, command="python train.py"), WORLD, TWO_BY_EIGHT)
    told = [finding for finding in told if finding.code not in EXITS]
    assert {finding.code for finding in told} == ADVICE.keys()
    assert {finding.level for finding in told} == {Level.WARNING, Level.HINT}
    for finding in told:
        texts = set()
        for language in ("en", "zh-hans"):
            with translation.override(language):
                texts.add(finding_text(finding.code, finding.data))
        assert finding.code not in texts
        assert not any("%(" in text for text in texts)


def test_advice_never_refuses():
    judged = estimate(spec(command=EVERYTHING, mounts=MOUNTS, framework=DDP, worker_count=2, gpus=8), WORLD)
    assert judged.valid
    assert len(judged.findings) > 10


@pytest.mark.parametrize(
    "text", ["(" * 16_000, "$(" * 8_000, "torchrun " + "-" * 16_000, "/" * 16_000, "'" * 99]
)
def test_any_text_is_looked_at_without_harm(text):
    advise(spec(command=text, env=(EnvVar("A", text),), mounts=MOUNTS, framework=DDP), WORLD, TWO_BY_EIGHT)
