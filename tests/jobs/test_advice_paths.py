"""Paths of a form against its mounts: what is lost, what cannot be written, and what is fine."""

from dataclasses import replace

import pytest
from django.utils import translation

from jobs.command.paths import MOST_PATHS, absolute_paths
from jobs.command.unmounted import path_findings
from jobs.command.workspace import workspace_findings
from jobs.facts import ImageFacts, VolumeFacts
from jobs.findings import Fix, Level
from jobs.rules import check
from jobs.spec import EnvVar, MountSpec
from jobs.texts import finding_text
from tests.jobs.value_facts import facts, pool, spec

WORLD = facts(
    volumes={
        1: VolumeFacts(1, "work", 1, "/data/1", read_only=False),
        2: VolumeFacts(2, "sets", 1, "/data/2", read_only=True),
    },
    pool=pool(public_data="/data/public"),
)
MOUNTS = (MountSpec(1, "/mnt/public/"), MountSpec(2, "/mnt/sets"))


def found(command="true", *, env=(), **fields):
    request = spec(command=command, env=env, **({"mounts": MOUNTS} | fields))
    return list(path_findings(request, WORLD))


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("python train.py > /tmp/train.log 2>&1", "/tmp/train.log"),
        ("python train.py 2>&1 | tee /root/train.log", "/root/train.log"),
        ("torchrun train.py &> /workspace/log.txt", "/workspace/log.txt"),
        ("exec > /tmp/all.log 2>&1\npython train.py", "/tmp/all.log"),
        ("bash run.sh >> /var/log/run.log", "/var/log/run.log"),
        ("python train.py --output_dir /workspace/out", "/workspace/out"),
        ("python train.py --save-dir=/tmp/ckpt", "/tmp/ckpt"),
        ("python train.py -o /root/model.pt", "/root/model.pt"),
        ("python train.py outputDir=/root/o", "/root/o"),
        ("python train.py --checkpoint-dir /results/ckpt", "/results/ckpt"),
        ("export CHECKPOINT_DIR=/workspace/ckpt; python train.py", "/workspace/ckpt"),
        ("OUTPUT_DIR=/tmp/out\nmkdir -p $OUTPUT_DIR/logs\npython train.py --out $OUTPUT_DIR", "/tmp/out"),
        ("mkdir -p /workspace/checkpoints", "/workspace/checkpoints"),
        ("echo result > /workspace/out.txt", "/workspace/out.txt"),
        ("echo partial > /workspace/part.txt", "/workspace/part.txt"),
        ("echo a >> /root/a.txt", "/root/a.txt"),
        ("printf x | tee /workspace/a", "/workspace/a"),
        ("nohup python train.py --logdir /tmp/runs/$RUN", "/tmp/runs"),
        ("bash -c 'python train.py --output /root/x'", "/root/x"),
        ("ARGS='--output_dir /root/x'; python train.py $ARGS", "/root/x"),
        ("python train.py --output /mnt/publicity/x", "/mnt/publicity/x"),
    ],
)
def test_what_is_written_off_the_volumes_is_lost(command, path):
    (one,) = found(command)
    assert (one.code, one.level, one.data["path"], one.leans_on) == (
        "path_lost",
        Level.WARNING,
        path,
        "mounts",
    )


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("mkdir /mnt/code/x; cd /mnt/code/x", "/mnt/code/x"),
        ("cd /home/someone/project; ls", "/home/someone/project"),
        ("python train.py --data /data/imagenet", "/data/imagenet"),
        ("python train.py --place /workspace/x", "/workspace/x"),
        ("ls; cat /mnt/a/c; cat /mnt/a/d", "/mnt/a/c"),
    ],
)
def test_a_path_that_may_not_be_there_is_a_hint(command, path):
    (one,) = found(command)
    assert (one.code, one.level, one.data["path"]) == ("path_lost", Level.HINT, path)


SILENT = """
cd /mnt/public/project && python train.py --output_dir /mnt/public/out --data /mnt/sets/a
python train.py > /mnt/public/log 2>&1
python train.py > /dev/null 2>&1
python train.py --output_dir $UNKNOWN/out
python train.py --output_dir out > train.log
python train.py 2>&1 | tee /mnt/public/$RUN/log
export TMPDIR=/tmp/scratch TRITON_CACHE_DIR=/tmp/triton; python train.py
export HF_HOME=/root/.cache/huggingface
python train.py --cache_dir /tmp/cache --tmp-dir /tmp/x
mkdir -p /tmp/data && cp -r /mnt/sets/a /tmp/data && python train.py --data /tmp/data
cp -r /mnt/public/code /workspace/code; cd /workspace/code; python train.py
git clone https://example.com/a.git /workspace/a && cd /workspace/a && python train.py --dir /workspace/a
tar -xf /mnt/sets/a.tar -C /tmp
unzip /mnt/sets/a.zip -d /tmp/a
pip install -r /mnt/sets/requirements.txt
wget -O /tmp/a.whl https://example.com/a.whl; pip install /tmp/a.whl
echo "a slots=8" > /tmp/hostfile
cat > /tmp/config.yaml <<EOF
python -c 'import torch; print(torch.__version__)' # > /tmp/x
printenv | tee /tmp/env
ls /root /workspace; rm -rf /tmp/out /root/results
[ -f /mnt/nothere/x ] || echo missing
source /opt/conda/bin/activate; /opt/bin/tool --config /opt/conf
source /root/.bashrc
python /workspace/train.py
python -u /app/main.py --config /app/config.yaml
python train.py --resume /root/pretrained/model.pt --pretrained-dir /root/p --data-dir /root/data
export PYTHONPATH=/workspace/project:$PYTHONPATH PROJECT_DIR=/workspace/project
python train.py --output_dir /tmp/out && cp -r /tmp/out /mnt/public/out
python train.py --output_dir /tmp/out; rc=$?; rsync -a /tmp/out/ /mnt/public/out; exit $rc
python train.py --output /root/o; tar czf /mnt/public/o.tgz /root/o
ln -s /mnt/public/out /workspace/out; python train.py --output_dir /workspace/out
aws s3 sync /tmp/out s3://bucket/out; python train.py --output_dir /tmp/out
nvidia-smi > /tmp/smi.txt
echo node-1 > /workspace/nodes && wc -l /workspace/nodes
echo node-1 slots=8 > /workspace/hostfile
cat > /root/.netrc <<EOF
echo "key: 1" > /workspace/config.yaml
echo a > /workspace/a.txt; cp /workspace/a.txt /mnt/public/a.txt
echo a > /workspace/here/a.txt; cp -r /workspace/here /mnt/public/here
python train.py --init_method file:///tmp/store --log_level info
python train.py --lock-file /tmp/lock --port-file /tmp/port
"""


@pytest.mark.parametrize("command", SILENT.strip().split("\n"))
def test_what_looks_alike_and_is_fine(command):
    assert found(command) == []


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("python train.py --output_dir /mnt/sets/out", "/mnt/sets/out"),
        ("python train.py > /mnt/sets/log", "/mnt/sets/log"),
        ("echo x > /mnt/sets/marker", "/mnt/sets/marker"),
        ("mkdir -p /mnt/sets/a", "/mnt/sets/a"),
        ("python train.py | tee -a /mnt/sets/log", "/mnt/sets/log"),
        ("cp a /mnt/sets/", "/mnt/sets"),
        ("tar -xf a.tar -C /mnt/sets/x", "/mnt/sets/x"),
        ("export SAVE_DIR=/mnt/sets/save", "/mnt/sets/save"),
        ("git clone https://example.com/a /mnt/sets/a", "/mnt/sets/a"),
    ],
)
def test_what_cannot_be_written(command, path):
    (one,) = found(command)
    assert (one.code, one.level, one.data["path"]) == ("path_read_only", Level.WARNING, path)


@pytest.mark.parametrize(
    "command",
    [
        "cp -r /mnt/sets/a /mnt/public/a",
        "python train.py --data /mnt/sets/a < /mnt/sets/b",
        "cat /mnt/sets/a | python train.py",
        "tar -xf /mnt/sets/a.tar -C /mnt/public",
        "cd /mnt/sets; python train.py --checkpoint /mnt/sets/base.pt --resume /mnt/sets/run",
        "ls /mnt/sets > /mnt/public/list",
        "ln -s /mnt/sets/a /mnt/public/a",
    ],
)
def test_reading_from_a_read_only_volume_is_fine(command):
    assert found(command) == []


def test_public_data_that_is_switched_off_can_be_switched_on():
    (one,) = found("python train.py --data /infini-data/x\npython b.py /infini-data/y")
    assert (one.code, one.level, one.field) == ("public_data_off", Level.WARNING, "command")
    assert (one.fix, one.data) == (
        Fix("public_data", "false", "true"),
        {"path": "/infini-data/x", "line": 1},
    )


def test_public_data_is_offered_only_where_the_zone_has_it():
    request = spec(command="ls; cd /infini-data/x", mounts=MOUNTS)
    (one,) = path_findings(request, facts())
    assert (one.code, one.fix) == ("public_data_off", None)


@pytest.mark.parametrize(
    ("command", "on"),
    [
        ("cd /infini-data/x", True),
        ("python train.py --data /infini-data/x", True),
        ("if [ -d /infini-data/x ]; then D=/infini-data/x; fi", False),
        ("cd /infini-database", False),
    ],
)
def test_public_data_used_rightly(command, on):
    assert found(command, public_data=on) == []


def test_public_data_cannot_be_written():
    (one,) = found("python train.py --output_dir /infini-data/out", public_data=True)
    assert one.code == "path_read_only"


def test_variables_of_the_page_are_looked_at_where_they_are_typed():
    env = (EnvVar("A", "1"), EnvVar("OUTPUT_DIR", "/workspace/out"), EnvVar("TMPDIR", "/tmp/x"))
    (one,) = found("python train.py", env=env)
    assert (one.code, one.field, one.data) == ("path_lost", "env.1.value", {"path": "/workspace/out"})


def test_private_values_are_not_looked_at():
    env = (EnvVar("OUTPUT_DIR", "/workspace/secret-place", private=True),)
    assert found("python train.py --output $OUTPUT_DIR", env=env) == []


def test_many_lost_paths_are_said_a_few_times():
    assert len(found("\n".join(f"python t.py --output /out{i}" for i in range(50)))) == 5


@pytest.mark.parametrize(
    ("command", "path", "near", "line"),
    [
        ("cd /mnt/pubic/project\npython train.py", "/mnt/pubic", "/mnt/public", "cd /mnt/public/project"),
        ("cd /mnt/pubic", "/mnt/pubic", "/mnt/public", "cd /mnt/public"),
        ("cd /mnt/Public/p || exit 1", "/mnt/Public", "/mnt/public", "cd /mnt/public/p || exit 1"),
        ("cd /nmt/public/p && ls", "/nmt/public", "/mnt/public", "cd /mnt/public/p && ls"),
        ("set -e\npushd /mnt/set/a", "/mnt/set", "/mnt/sets", "pushd /mnt/sets/a"),
        (
            "python -u /mnt/pubic/x.py --lr 1",
            "/mnt/pubic",
            "/mnt/public",
            "python -u /mnt/public/x.py --lr 1",
        ),
        ("exec bash -e /mnt/pubic/run.sh", "/mnt/pubic", "/mnt/public", "exec bash -e /mnt/public/run.sh"),
        (
            "torchrun --nnodes 1 /mnt/pubic/t.py",
            "/mnt/pubic",
            "/mnt/public",
            "torchrun --nnodes 1 /mnt/public/t.py",
        ),
        ("/mnt/pubic/run.sh", "/mnt/pubic", "/mnt/public", "/mnt/public/run.sh"),
        ("cd /data/public/p", "/data/public", "/mnt/public", "cd /mnt/public/p"),
        ("cd /public/p", "/public", "/mnt/public", "cd /mnt/public/p"),
        ("cd /mnt/work/p", "/mnt/work", "/mnt/public", "cd /mnt/public/p"),
        ("D=/mnt/pubic/p\ncd $D", "/mnt/pubic", "/mnt/public", "D=/mnt/public/p"),
        ("cd /mnt/pubic/$RUN", "/mnt/pubic", "/mnt/public", "cd /mnt/public/$RUN"),
        ("bash -c 'cd /mnt/pubic; ls'", "/mnt/pubic", "/mnt/public", "bash -c 'cd /mnt/public; ls'"),
        ("cd /mnt/pubic; cat /mnt/pubic/a; sh /mnt/pubic/b.sh", "/mnt/pubic", "/mnt/public", None),
        ("python /mnt/code/train.py", "/mnt/code/train.py", None, None),
        ("cd /data2/x; ls", "/data2/x", None, None),
        ("cd /mnt/a/b; ls /mnt/a/c; cat /mnt/a/d", "/mnt/a/b", None, None),
    ],
)
def test_a_folder_or_script_on_no_volume(command, path, near, line):
    (one,) = found(command)
    assert (one.code, one.level, one.leans_on) == ("path_not_mounted", Level.WARNING, "mounts")
    assert (one.data["path"], one.data.get("near")) == (path, near)
    assert (one.fix.new if one.fix else None) == line


NEEDED_AND_THERE = """
cd /mnt/public/project; python train.py
cd /mnt/public/../sets
cd /mnt; ls
cd /mnt/public
cd /
cd
cd -
cd "$PROJECT"
cd $ROOT/pubic
cd /opt/pubic && python train.py
cd /workspace/public; python train.py
cd /app; python /app/main.py
python /usr/lib/tool.py
cd /root/public; bash /tmp/run.sh
cd /code; python /project/train.py
bash /home/ubuntu/run.sh
cd /infini-data/x; ls
git clone https://example.com/a /mnt/pubic; cd /mnt/pubic
git clone https://example.com/a /code/a; cd /code/a
ln -s /mnt/public /public; cd /public
mount -t nfs host:/x /mnt/pubic; python /mnt/pubic/x.py
[ -d /mnt/pubic ] && cd /mnt/pubic
if [ -d /mnt/pubic ]; then cd /mnt/pubic; fi
test -d /mnt/pubic && cd /mnt/pubic
cd /mnt/pubic 2>/dev/null
cd /mnt/pubic || cd /mnt/public
for d in /mnt/pubic /mnt/public; do cd $d; done
python -m tool
python -c 'x' /mnt/pubic/x.py
echo cd /mnt/pubic
# cd /mnt/pubic
tar -xf /mnt/sets/a.tar -C /scratch && cd /scratch
tar -xf /mnt/sets/a.tar --directory=/data; cd /data/a
"""


@pytest.mark.parametrize("command", NEEDED_AND_THERE.strip().split("\n"))
def test_a_folder_or_script_that_may_well_be_there(command):
    public = "infini" in command
    assert [one for one in found(command, public_data=public) if one.code == "path_not_mounted"] == []


def test_without_any_volume_that_is_said_instead():
    assert "path_not_mounted" not in {one.code for one in found("cd /mnt/public/x", mounts=())}


def test_numbers_and_single_letters_are_no_slips():
    mounts = (MountSpec(1, "/mnt/data1"), MountSpec(2, "/mnt/a"))
    assert [one.data.get("near") for one in found("cd /mnt/data2", mounts=mounts)] == [None]
    assert [one.data.get("near") for one in found("cd /mnt/b", mounts=mounts)] == [None]


def test_the_paths_of_command_and_variables_are_bounded_together():
    """250 KiB of variables are allowed, and each path is held against each that the command saves."""
    lists = tuple(EnvVar(f"A{n}", ":".join(f"/q{n}/{i}" for i in range(400))) for n in range(64))
    command = "\n".join(f"cat /mnt/public/{i}" for i in range(300))
    named = absolute_paths(command, lists)
    assert len(named) == MOST_PATHS
    assert [path.line for path in named] == [*range(1, 301), *[0] * (MOST_PATHS - 300)]


OWN_IMAGE = replace(WORLD, image=ImageFacts(1, "team/own:1", "", ("job",), in_zone=True))


@pytest.mark.parametrize(("world", "level"), [(WORLD, Level.WARNING), (OWN_IMAGE, Level.HINT)])
@pytest.mark.parametrize(
    ("command", "path", "line"),
    [
        ("python train.py", "train.py", 1),
        ("python3 -u ./src/train.py --data /mnt/sets/a", "src/train.py", 1),
        ("bash run.sh", "run.sh", 1),
        ("set -e\necho start\nexec bash -e run.sh", "run.sh", 3),
        ("./run.sh", "run.sh", 1),
        ("torchrun --nproc_per_node 8 train.py", "train.py", 1),
        ("accelerate launch --num_processes 8 train.py", "train.py", 1),
        ("source /opt/conda/bin/activate; pip install x; python train.py", "train.py", 1),
        ("S=train.py\nCUDA_VISIBLE_DEVICES=0 nohup python $S > /mnt/public/log 2>&1", "train.py", 1),
        ("nvidia-smi > /dev/null && python train.py; cd /mnt/public", "train.py", 1),
    ],
)
def test_a_script_in_the_empty_working_directory(command, path, line, world, level):
    (one,) = workspace_findings(spec(command=command, mounts=MOUNTS), world)
    assert (one.code, one.level) == ("script_in_workspace", level)
    assert one.data == {"path": path, "folder": "/mnt/public/…", "line": line}


IN_THE_RIGHT_PLACE = """
cd /mnt/public/p; python train.py
cd /mnt/public/p && exec python3 -u train.py
cd "$PROJECT"; bash run.sh
bash -c 'cd /mnt/public; python train.py'
(cd /mnt/public && python train.py)
env -C /mnt/public python train.py
pushd /mnt/public; python train.py
python /mnt/public/train.py
git clone https://example.com/a . ; python train.py
cp -r /mnt/public/p/. .; python train.py
cat > train.py < /mnt/sets/x; python train.py
echo 'print(1)' > train.py; python train.py
tar -xf /mnt/public/p.tar; python train.py
wget https://example.com/train.py; python train.py
ln -s /mnt/public/p/train.py; python train.py
source /mnt/public/env.sh; python train.py
[ -f train.py ] && python train.py
if [ -f train.py ]; then python train.py; fi
eval "$GO"; python train.py
python -m train
python -c 'import train' train.py
python - train.py
python
python $SCRIPT
python $DIR/train.py
python "$(ls *.py)"
torchrun -m train
torchrun --nproc_per_node 8 -m pkg.train.py
bash -c 'echo run.sh'
bash -s run.sh
bash
python code/../../mnt/public/x.py
python ~/train.py
echo python train.py
python /mnt/public/make.py; python train.py
ssh host python train.py
python --version
mytool train.py
"""


@pytest.mark.parametrize("command", IN_THE_RIGHT_PLACE.strip().split("\n"))
def test_a_script_that_may_well_be_found(command):
    assert list(workspace_findings(spec(command=command, mounts=MOUNTS), WORLD)) == []


@pytest.mark.parametrize(
    "command", ["python - <<'E'\nimport train\nE", "cat > t.py <<'E'\nx\nE\npython t.py"]
)
def test_scripts_within_the_command(command):
    assert list(workspace_findings(spec(command=command, mounts=MOUNTS), WORLD)) == []


def test_a_volume_may_lie_below_the_working_directory():
    mounts = (MountSpec(1, "/workspace/code"),)
    assert list(workspace_findings(spec(command="python code/t.py", mounts=mounts), WORLD)) == []


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("kept", "english", "chinese"),
    [
        (0, "is lost when the job ends.", "在任务结束后丢失。"),
        (1, "but kept for 1 minute after a failure.", "失败后保留 1 分钟。"),
        (30, "but kept for 30 minutes after a failure.", "失败后保留 30 分钟。"),
        (1440, "but kept for 1 day after a failure.", "失败后保留 1 天。"),
    ],
)
def test_what_is_kept_after_a_failure_is_not_said_to_be_lost_whatever_happens(kept, english, chinese):
    asked = spec(command="python train.py > /workspace/log", keep_after_failure_minutes=kept)
    told = [f for f in check(asked, facts()) if f.code == "no_mounts"]
    mounted = replace(asked, mounts=(MountSpec(1, "/mnt/public"),))
    told += [f for f in path_findings(mounted, facts()) if f.code == "path_lost"]
    assert [f.code for f in told] == ["no_mounts", "path_lost"]
    assert all(
        english in finding_text(f.code, f.data).replace("when it ends", "when the job ends") for f in told
    )
    with translation.override("zh-hans"):
        assert chinese in finding_text(told[1].code, told[1].data)
