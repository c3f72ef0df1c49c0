"""Launchers' options against Workers and GPUs."""

import pytest

from jobs.command.launching import launch_findings
from jobs.findings import Fix, Level
from jobs.spec import EnvVar
from jobs.states import Framework
from pools.capacity import Shape
from tests.jobs.value_facts import spec

WHOLE = "--nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
REST = WHOLE.removeprefix("--nnodes=$WORLD_SIZE ")
TWO_BY_EIGHT, ONE_BY_EIGHT, ONE_BY_ONE = Shape(8, 16), Shape(8, 8), Shape(1, 1)


def found(command, shape, *, framework=Framework.PYTORCH_DDP, env=()):
    request = spec(command=command, framework=framework.value, env=env)
    return list(launch_findings(request, shape))


@pytest.mark.parametrize(
    ("shape", "old", "new", "code"),
    [
        (
            ONE_BY_EIGHT,
            "torchrun --nproc_per_node=4 t.py",
            "torchrun --nproc_per_node=8 t.py",
            "nproc_not_gpus",
        ),
        (
            ONE_BY_EIGHT,
            "torchrun --nproc-per-node 4 t.py",
            "torchrun --nproc-per-node 8 t.py",
            "nproc_not_gpus",
        ),
        (
            ONE_BY_ONE,
            "torchrun --nproc_per_node 8 t.py",
            "torchrun --nproc_per_node 1 t.py",
            "nproc_not_gpus",
        ),
        (
            ONE_BY_EIGHT,
            "nohup python -u -m torch.distributed.run --nproc_per_node 2 t.py 2>&1 | tee log",
            "nohup python -u -m torch.distributed.run --nproc_per_node 8 t.py 2>&1 | tee log",
            "nproc_not_gpus",
        ),
        (
            ONE_BY_EIGHT,
            "torchrun --nproc_per_node=$WORLD_SIZE t.py",
            "torchrun --nproc_per_node=8 t.py",
            "world_size_as_processes",
        ),
        (
            TWO_BY_EIGHT,
            f'torchrun --nproc_per_node="$WORLD_SIZE" {WHOLE} t.py',
            f"torchrun --nproc_per_node=8 {WHOLE} t.py",
            "world_size_as_processes",
        ),
        (
            TWO_BY_EIGHT,
            f"torchrun --nnodes=4 {REST} t.py",
            f"torchrun --nnodes=$WORLD_SIZE {REST} t.py",
            "nnodes_not_workers",
        ),
        (
            ONE_BY_EIGHT,
            "torchrun --nnodes=2 t.py",
            "torchrun --nnodes=$WORLD_SIZE t.py",
            "nnodes_not_workers",
        ),
        (TWO_BY_EIGHT, "torchrun t.py", f"torchrun {WHOLE} t.py", "launcher_alone"),
        (TWO_BY_EIGHT, "torchrun --standalone t.py", f"torchrun {WHOLE} t.py", "launcher_alone"),
        (
            TWO_BY_EIGHT,
            f'torchrun --nnodes "1" {REST} t.py',
            f'torchrun --nnodes "$WORLD_SIZE" {REST} t.py',
            "launcher_alone",
        ),
        (
            TWO_BY_EIGHT,
            "python3 -m torch.distributed.launch --nnodes=$WORLD_SIZE --node_rank $RANK t.py",
            "python3 -m torch.distributed.launch --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
            " --nnodes=$WORLD_SIZE --node_rank $RANK t.py",
            "launcher_incomplete",
        ),
        (
            TWO_BY_EIGHT,
            "torchrun --nnodes=$WORLD_SIZE --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT t.py",
            "torchrun --node_rank=$RANK --nnodes=$WORLD_SIZE --master_addr=$MASTER_ADDR"
            " --master_port=$MASTER_PORT t.py",
            "launcher_incomplete",
        ),
        (
            TWO_BY_EIGHT,
            "torchrun --nnodes=2 --rdzv_backend=c10d t.py",
            "torchrun --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT --nnodes=2 --rdzv_backend=c10d t.py",
            "launcher_incomplete",
        ),
        (
            TWO_BY_EIGHT,
            f"torchrun {WHOLE.replace('$RANK', '0')} t.py",
            f"torchrun {WHOLE} t.py",
            "node_rank_fixed",
        ),
        (
            TWO_BY_EIGHT,
            f"torchrun {WHOLE.replace('$MASTER_PORT', '29500')} t.py",
            f"torchrun {WHOLE} t.py",
            "master_port_fixed",
        ),
        (
            TWO_BY_EIGHT,
            f"torchrun {WHOLE.replace('$MASTER_ADDR', '10.0.0.1')} t.py",
            f"torchrun {WHOLE} t.py",
            "master_addr_fixed",
        ),
        (
            TWO_BY_EIGHT,
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:29400 t.py",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT t.py",
            "master_addr_fixed",
        ),
        (
            TWO_BY_EIGHT,
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29400 t.py",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT t.py",
            "master_port_fixed",
        ),
        (
            TWO_BY_EIGHT,
            "accelerate launch --num_machines 2 --num_processes 8 --machine_rank $RANK t.py",
            "accelerate launch --num_machines 2 --num_processes 16 --machine_rank $RANK t.py",
            "processes_not_gpus",
        ),
        (
            ONE_BY_EIGHT,
            "accelerate launch --num_processes=$WORLD_SIZE t.py",
            "accelerate launch --num_processes=8 t.py",
            "world_size_as_processes",
        ),
        (
            TWO_BY_EIGHT,
            "accelerate launch --num_machines 4 --machine_rank $RANK t.py",
            "accelerate launch --num_machines $WORLD_SIZE --machine_rank $RANK t.py",
            "nnodes_not_workers",
        ),
    ],
)
def test_what_contradicts_the_request_and_its_one_change(shape, old, new, code):
    (one,) = found(f"cd /mnt/public\n{old}\n", shape)
    assert (one.code, one.level, one.field, one.data["line"]) == (code, Level.WARNING, "command", 2)
    assert one.fix == Fix("command", old, new, 2)
    assert not [f for f in found(f"cd /mnt/public\n{new}\n", shape) if f.code == code]


def test_options_in_a_variable_are_mended_where_they_stand():
    command = 'ARGS="\n  --nnodes $WORLD_SIZE\n  --nproc_per_node 4"\ntorchrun $ARGS --node_rank $RANK \\\n'
    command += "  --master_addr $MASTER_ADDR --master_port $MASTER_PORT t.py"
    (one,) = found(command, TWO_BY_EIGHT)
    assert one.fix == Fix("command", '  --nproc_per_node 4"', '  --nproc_per_node 8"', 3)


def test_a_number_that_comes_from_a_variable_has_no_change_of_one_line():
    (one,) = found("GPUS=4\ntorchrun --nproc_per_node=$GPUS t.py", ONE_BY_EIGHT)
    assert (one.code, one.data["given"], one.fix) == ("nproc_not_gpus", 4, None)


def test_all_that_is_wrong_is_said():
    wrong = "torchrun --nproc_per_node=4 --nnodes=3 --node_rank=0 --master_addr=host --master_port=29500 t.py"
    codes = [f.code for f in found(wrong, TWO_BY_EIGHT)]
    assert codes == [
        "nproc_not_gpus",
        "nnodes_not_workers",
        "node_rank_fixed",
        "master_addr_fixed",
        "master_port_fixed",
    ]


SILENT = [
    (TWO_BY_EIGHT, f"torchrun --nproc_per_node=8 {WHOLE} t.py"),
    (TWO_BY_EIGHT, f"torchrun --nproc_per_node=gpu {WHOLE} t.py --nnodes 7 --nproc_per_node 3"),
    (TWO_BY_EIGHT, f"torchrun --nproc_per_node auto {WHOLE} -m pkg.train --node_rank=0"),
    (TWO_BY_EIGHT, f"torchrun --nproc_per_node $GPUS {WHOLE} t.py"),
    (TWO_BY_EIGHT, f"torchrun {WHOLE.replace('$WORLD_SIZE', '2')} t.py"),
    (TWO_BY_EIGHT, "NNODES=${WORLD_SIZE:-1}; torchrun --nnodes=$NNODES " + REST + " t.py"),
    (TWO_BY_EIGHT, "torchrun $ARGS t.py"),
    (TWO_BY_EIGHT, 'torchrun "${ARGS[@]}" t.py'),
    (TWO_BY_EIGHT, "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT t.py"),
    (TWO_BY_EIGHT, "export PET_NODE_RANK=$RANK PET_NNODES=2; torchrun t.py"),
    (Shape(8, 64), f"torchrun --nproc_per_node=$WORLD_SIZE {WHOLE} t.py"),  # eight Workers of eight
    (Shape(8, 12), f"torchrun --nproc_per_node=8 {WHOLE} t.py"),  # unequal Workers
    (None, "torchrun --nproc_per_node=4 --nnodes=7 t.py"),
    (ONE_BY_EIGHT, "torchrun --nproc_per_node=8 t.py"),
    (ONE_BY_EIGHT, "torchrun --standalone --nproc_per_node=8 t.py"),
    (ONE_BY_EIGHT, "torchrun --nnodes=1 --nproc_per_node=8 --master_port=29501 t.py"),
    (ONE_BY_EIGHT, "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 t.py"),
    (ONE_BY_EIGHT, "torchrun --nproc_per_node=4 a.py & torchrun --nproc_per_node=4 b.py & wait"),
    (ONE_BY_EIGHT, "echo torchrun --nproc_per_node=4 t.py"),
    (ONE_BY_EIGHT, "# torchrun --nproc_per_node=4 t.py\nbash run.sh"),
    (ONE_BY_EIGHT, "cat > run.sh <<EOF\ntorchrun --nproc_per_node=4 t.py\nEOF\nbash run.sh"),
    (ONE_BY_EIGHT, "accelerate launch --num_processes 8 t.py --num_processes 3"),
    (ONE_BY_EIGHT, "accelerate launch --multi_gpu t.py"),
    (TWO_BY_EIGHT, "accelerate launch --config_file c.yaml t.py"),
    (TWO_BY_EIGHT, "accelerate launch --num_machines 2 --num_processes 16 --machine_rank $RANK"
     " --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT t.py"),
    (ONE_BY_EIGHT, "mpirun --allow-run-as-root -np 8 python t.py"),
    (ONE_BY_EIGHT, "mpirun -np 4 ./prepare"),
    (ONE_BY_ONE, "mpirun -np 4 ./prepare"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "command"), SILENT)
def test_what_looks_alike_and_is_fine(shape, command):
    assert found(command, shape) == []


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("torchrun --nproc_per_node=8 t.py", True),
        ("torchrun --nnodes=2 t.py", True),
        ("torchrun --standalone --nproc_per_node=8 t.py", False),
        ("torchrun --nnodes=1 t.py", False),
        ("torchrun t.py --seed $TRAINYARD_WORKER", False),
        ("python t.py", False),
    ],
)
def test_torchrun_over_workers_that_get_no_rank(command, wrong):
    codes = {f.code: f for f in found(command, TWO_BY_EIGHT, framework=Framework.SINGLE)}
    assert ("launcher_needs_framework" in codes) is wrong
    if wrong:
        assert codes["launcher_needs_framework"].fix == Fix("framework", "single", "pytorch_ddp")


@pytest.mark.parametrize(
    ("command", "shape", "said"),
    [
        ("python train.py", ONE_BY_EIGHT, True),
        ("cd /mnt/a; python -u tools/train_net.py --lr 1", TWO_BY_EIGHT, True),
        ("python3 finetune.py", ONE_BY_EIGHT, True),
        ("python train.py", ONE_BY_ONE, False),
        ("python train.py", Shape(1, 4), False),
        ("python train.py --gpus 8", ONE_BY_EIGHT, False),
        ("python train.py trainer.devices=8", ONE_BY_EIGHT, False),
        ("python train.py $ARGS", ONE_BY_EIGHT, False),
        ("python constrain.py", ONE_BY_EIGHT, False),
        ("python evaluate.py", ONE_BY_EIGHT, False),
        ("bash train.sh", ONE_BY_EIGHT, False),
        ("deepspeed train.py", ONE_BY_EIGHT, False),
        ("for i in 0 1; do CUDA_VISIBLE_DEVICES=$i python train.py & done", ONE_BY_EIGHT, False),
        ("torchrun --nproc_per_node=8 train.py; python train.py --summary", ONE_BY_EIGHT, False),
    ],
)
def test_one_process_for_many_gpus_is_a_hint(command, shape, said):
    assert [f.code for f in found(command, shape)] == (["no_launcher"] if said else [])
    assert all(f.level == Level.HINT for f in found(command, shape))


def test_one_process_is_nothing_to_tell_where_no_framework_is_asked_for():
    assert found("python train.py", ONE_BY_EIGHT, framework=Framework.SINGLE) == []


def test_more_ranks_than_gpus_are_a_hint():
    (one,) = found("mpirun -np 16 python t.py", ONE_BY_EIGHT)
    assert (one.code, one.level) == ("nproc_not_gpus", Level.HINT)


def test_variables_of_the_page_count_as_written():
    env = (EnvVar("NPROC", "4"), EnvVar("PORT", "29500"))
    command = f"torchrun --nproc_per_node=$NPROC {WHOLE.replace('$MASTER_PORT', '$PORT')} t.py"
    assert [f.code for f in found(command, TWO_BY_EIGHT, env=env)] == ["nproc_not_gpus", "master_port_fixed"]
