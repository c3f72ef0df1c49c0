"""Softmax regression on 8x8 handwritten digits: a small model of a resumable data-parallel program.

Every Worker holds the same weights and works on its share of each batch; the gradients are summed over the
Workers, and all take the same step. So the result does not depend on the number of Workers, apart from
rounding. Rank 0 saves a checkpoint after each epoch, and a run that finds one goes on from there.
Needs python3 (3.9 or newer) and nothing else. See README.md.
"""

import argparse
import json
import math
import os
import random
import signal
import sys
import time
from functools import partial
from operator import mul
from pathlib import Path

from allreduce import Group, GroupError

CLASSES, PIXELS, BRIGHTEST = 10, 64, 16
ROW = PIXELS + 1  # one weight per pixel, and the bias
SIZE = CLASSES * ROW  # all weights, as one flat list: simple to sum, to send and to save
BATCH = 128
MOMENTUM = 0.9
TEST_IMAGES = 360

say = partial(print, flush=True)  # at once, so that a log shows where the program stands


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    option = parser.add_argument
    output = os.environ.get("OUTPUT_DIR") or "outputs"
    fail_help = (
        "to rehearse a restart: exit with 3 once the checkpoint of epoch N is saved; a resumed run goes on"
    )
    option("--epochs", type=int, default=30, help="train up to this epoch (30)")
    option("--learning-rate", type=float, default=0.5, help="step size (0.5)")
    option("--seed", type=int, default=1, help="for the split and the order of images (1)")
    option("--output", type=Path, default=output, help="folder of the checkpoint ($OUTPUT_DIR or ./outputs)")
    option("--data", type=Path, default=Path(__file__).with_name("digits.csv"), help="images (digits.csv)")
    option("--timeout", type=float, default=120, help="seconds to wait for another Worker (120)")
    option("--fail-at-epoch", type=int, metavar="N", help=fail_help)
    return parser.parse_args()


def load_digits(path, seed):
    """All images as (numbers, digit), split in the same way on every rank: the training and the test set."""
    samples = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            *pixels, digit = map(int, line.split(","))
        except ValueError as error:
            raise SystemExit(f"{path} line {number}: {error}") from error
        if len(pixels) != PIXELS or not 0 <= digit < CLASSES:
            raise SystemExit(f"{path} line {number}: {PIXELS} pixels and a digit expected")
        samples.append(([pixel / BRIGHTEST for pixel in pixels] + [1.0], digit))  # the bias sees 1.0
    random.Random(seed).shuffle(samples)
    if len(samples) <= TEST_IMAGES:
        raise SystemExit(f"{path}: more than {TEST_IMAGES} images expected, {len(samples)} found")
    return samples[TEST_IMAGES:], samples[:TEST_IMAGES]


def rows_of(weights):
    return [weights[start : start + ROW] for start in range(0, SIZE, ROW)]


def probabilities(rows, image):
    scores = [sum(map(mul, row, image)) for row in rows]
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def gradient_and_loss(weights, samples):
    """The gradient over these samples with the loss behind it, both sums (not means), as one list."""
    if not samples:  # more Workers than images in the last batch
        return [0.0] * (SIZE + 1)
    rows, errors, loss = rows_of(weights), [], 0.0
    for image, digit in samples:
        error = probabilities(rows, image)
        loss -= math.log(max(error[digit], 1e-300))
        error[digit] -= 1.0
        errors.append(error)
    columns = list(zip(*(image for image, _ in samples)))
    gradient = [sum(map(mul, error, column)) for error in zip(*errors) for column in columns]
    return [*gradient, loss]


def train_epoch(epoch, weights, momentum, samples, options, group):
    """One pass over the training set; gives new weights, new momentum and the mean loss."""
    order = samples[:]
    random.Random(options.seed * 1_000_003 + epoch).shuffle(order)  # known from the epoch: nothing to save
    epoch_loss = 0.0
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        share = batch[group.rank :: group.world]
        *gradient, loss = group.sum(gradient_and_loss(weights, share))
        momentum = [MOMENTUM * old + new / len(batch) for old, new in zip(momentum, gradient)]
        weights = [old - options.learning_rate * step for old, step in zip(weights, momentum)]
        epoch_loss += loss / len(order)
    return weights, momentum, epoch_loss


def evaluate(weights, samples, group):
    rows = rows_of(weights)
    correct = 0
    for image, digit in samples[group.rank :: group.world]:
        chances = probabilities(rows, image)
        correct += chances.index(max(chances)) == digit
    return group.sum([correct])[0] / len(samples)


def save_checkpoint(path, epoch, seed, weights, momentum):
    """Write all to another file, then rename: whenever we are stopped, `path` is the old or the new whole."""
    content = {"epoch": epoch, "seed": seed, "shape": [CLASSES, ROW]}
    content.update(weights=weights, momentum=momentum)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w") as file:
        json.dump(content, file)  # JSON keeps every bit of a float
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def load_checkpoint(path, seed):
    """The saved [epoch, *weights, *momentum], or the end of the program if they are not fit to go on from."""
    advice = "remove it to start over, or choose another --output"
    try:
        saved = json.loads(path.read_text())
        shape, weights, momentum = saved["shape"], saved["weights"], saved["momentum"]
        state = [int(saved["epoch"]), *weights, *momentum]
        sound = all(map(math.isfinite, state)) and state[0] > 0
        saved_seed = saved["seed"]
    except (ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"checkpoint {path} is damaged ({error!r}): {advice}") from error
    if shape != [CLASSES, ROW]:
        raise SystemExit(f"checkpoint {path} has the shape {shape}, not {[CLASSES, ROW]}: {advice}")
    if not sound or len(weights) != SIZE or len(momentum) != SIZE:
        raise SystemExit(f"checkpoint {path} is damaged (missing or impossible numbers): {advice}")
    if saved_seed != seed:
        raise SystemExit(f"checkpoint {path} was made with --seed {saved_seed}, not {seed}: {advice}")
    return state


def run(options, group):
    training, test = load_digits(options.data, options.seed)
    say(f"rank {group.rank} of {group.world}: {len(training)} training, {len(test)} test images")
    checkpoint = options.output / "checkpoint.json"
    state = [0] * (1 + 2 * SIZE)
    if group.rank == 0 and checkpoint.exists():
        state = load_checkpoint(checkpoint, options.seed)
    first, *state = group.sum(state)  # the others add zeros: now all have the state of rank 0
    weights, momentum = state[:SIZE], state[SIZE:]
    if first:
        say(f"resumed from epoch {first:.0f}")
    for epoch in range(int(first) + 1, options.epochs + 1):
        began = time.monotonic()
        weights, momentum, loss = train_epoch(epoch, weights, momentum, training, options, group)
        if not all(map(math.isfinite, [loss, *weights])):
            raise SystemExit(f"the weights grew without bound in epoch {epoch}: lower --learning-rate")
        if group.rank == 0:
            save_checkpoint(checkpoint, epoch, options.seed, weights, momentum)
        accuracy = evaluate(weights, test, group)  # nobody passes here before the checkpoint is saved
        took = time.monotonic() - began
        say(f"epoch {epoch}/{options.epochs} loss {loss:.4f} accuracy {accuracy:.3f} {took:.2f} s")
        if epoch == options.fail_at_epoch:
            say(f"failing after epoch {epoch}, as asked by --fail-at-epoch")
            sys.exit(3)
    say(f"accuracy {evaluate(weights, test, group):.3f}")


def stop(signal_number, _):
    """Leave at once. As process 1 of a container we would not even be ended by SIGTERM without this."""
    os.write(2, b"stopped by a signal; the checkpoint of the last whole epoch stays\n")
    raise SystemExit(128 + signal_number)


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, stop)
    try:
        run(options, Group(options.timeout))
    except (GroupError, OSError) as error:
        sys.exit(f"rank {os.environ.get('RANK', '0')}: {error}")


if __name__ == "__main__":
    main()
