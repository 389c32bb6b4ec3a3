#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""steps.py [--program PROGRAM] [CASE]...: compares whole trainings with PyTorch's, step by step.

PROGRAM (build/tests/parity_record_training) trains a network of scant with scant's own training
and writes the initial weights, the rows of each mini-batch and the loss of each step. torch starts
from the same weights and takes the same mini-batches, in float32 and with one thread; pixels and
labels are read, and scaled, by this program itself.

The loss of a step is the mean cross-entropy of its mini-batch before the update; its difference is
|scant - torch| / torch. There is no absolute term, because no loss here comes near zero.

Rounding makes two correct programs drift apart. The losses agree to six or seven digits until an
activation lies so close to the kink of a rectifier, or to another one in a pooling window, that the
programs take different sides. From then on training amplifies the difference, the faster the
larger the learning rate. That is why not all steps have the same bound:

  first 25 steps   0.001 %. Rounding alone gives 0.00001 to 0.0001 % here, since the seed is one
                   whose first steps meet no kink. Small errors show: weight decay that leaves out
                   the biases differs by 0.002 %, and one wrong sample in a mini-batch by 0.05 %.
  all 200 steps    1 % each, in the trainings called slow, which have a small learning rate.
                   At the learning rates of experiments (the other trainings) single late steps may
                   differ by some per cent, and by tens of per cent where the loss is small; there
                   the mean loss of the 200 steps must agree within 1 %.

The table has the same differences between torch's own float32 and float64, in the same training: the
drift of two programs that certainly do the same.

The exit status is 0 if all cases agree. A case whose data is missing is skipped, with a sentence.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch

import datasets
import learning
from datasets import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "nn"))
import tensors  # noqa: E402
import torch_models  # noqa: E402

STEPS = 200
FIRST = 25
# largest relative differences: of each of the first steps; of all steps or their mean
MOST_FIRST, MOST = 1e-5, 0.01


class Training:
    """A case: a network, its data, and settings with scant's names."""

    def __init__(self, name, model, data, **settings):
        self.name, self.model, self.data, self.settings = name, model, data, settings
        self.slow = name.endswith("slow")

    def agrees(self, losses, reference):
        if len(losses) != STEPS or apart(losses, reference)[:FIRST].max() > MOST_FIRST:
            return False
        if self.slow:
            return apart(losses, reference).max() <= MOST
        return apart(losses.mean(), reference.mean()) <= MOST


SGD = {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 5e-4}
ADAM = {"optimizer": "adam", "weight_decay": 5e-4}
TRAININGS = [
    Training("lenet5-sgd-slow", "lenet5", "fashion-mnist", **SGD, lr=0.002),
    Training("lenet5-adam-slow", "lenet5", "fashion-mnist", **ADAM, lr=0.0001),
    Training("cnn-sgd-slow", "cnn", "cifar10", **SGD, lr=0.005),
    Training("cnn-adam-slow", "cnn", "cifar10", **ADAM, lr=0.0001),
    Training("lenet5-sgd", "lenet5", "fashion-mnist", **SGD, lr=0.02),
    Training("lenet5-adam", "lenet5", "fashion-mnist", **ADAM, lr=0.001),
    Training("lenet5-mnist", "lenet5", "mnist", **SGD, lr=0.01),
    Training("cnn-sgd", "cnn", "cifar10", **SGD, lr=0.02),
    Training("cnn-adam", "cnn", "cifar10", **ADAM, lr=0.001),
]
# 3,000 samples in batches of 64 are epochs of 47 steps, whose last mini-batch has 56 samples
COMMON = {"schedule": "constant", "warmup": 0, "batch": 64, "steps": STEPS, "rows": 3000, "seed": 1}


class Recorded:
    """What PROGRAM wrote: initial weights, scaling, and each step's loss and rows."""

    def __init__(self, program, training, flags):
        options = dict(zip(flags[::2], flags[1::2]))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [program, training.model, options["--data"], options.get("--labels", "-"), folder,
                 *(f"{key}={value}" for key, value in {**COMMON, **training.settings}.items())],
                check=True)
            self.weights, meta = tensors.read(os.path.join(folder, "weights.safetensors"))
            with open(os.path.join(folder, "steps.txt"), encoding="utf-8") as file:
                lines = [line.split() for line in file]
        self.losses = np.array([float(line[0]) for line in lines])
        self.rows = [torch.tensor([int(row) for row in line[1:]]) for line in lines]
        self.scaling = [torch.tensor([float(x) for x in meta["scant." + key].split(",")]).double()
                        for key in ("mean", "deviation")]


def check_scaling(recorded, images):
    """The scaling of our own measurement; ends the program if scant's is another."""
    ours = images.measure()
    for a, b in zip(recorded.scaling, ours):
        if not torch.allclose(a, b, rtol=1e-5, atol=0):
            sys.exit(f"scant scales by {a.tolist()}, expected {b.tolist()}")
    return ours


def replay(recorded, training, images, dtype=torch.float32):
    """The losses of torch's training with the recorded weights and mini-batches."""
    _, channels, *size = images.x.shape
    model = torch_models.build(training.model, channels, tuple(size), 10)
    model.load_state_dict({name: torch.from_numpy(array.copy())
                           for name, array in recorded.weights.items()})
    model.to(dtype).train()
    optimizer = learning.optimizer_of(model, training.settings)
    return np.array([learning.step(model, optimizer, images.x[rows].to(dtype), images.y[rows])
                     for rows in recorded.rows])


def apart(losses, reference):
    """Relative differences."""
    return np.abs(losses - reference) / reference


def describe(losses, reference):
    """Largest difference in the first steps and in all, the step of the latter (from 1), and the
    difference of the means, as text."""
    each = apart(losses, reference)
    return (f"{100 * each[:FIRST].max():11.6f} %{100 * each.max():9.4f} %{each.argmax() + 1:5}"
            f"{100 * apart(losses.mean(), reference.mean()):9.4f} %")


def compare(program, training):
    """Prints a line of the table; returns whether the trainings agree."""
    source = datasets.source(training.data)
    images, _ = source.open()
    recorded = Recorded(program, training, source.flags)
    images = images.scaled(*check_scaling(recorded, images))
    single = replay(recorded, training, images)
    exact = replay(recorded, training, images, torch.float64)
    agree = training.agrees(recorded.losses, single)
    print(f"{training.name:17}{single[0]:7.3f}{single[-10:].mean():7.3f}"
          f"{describe(recorded.losses, single)}  {describe(single, exact)}"
          f"{'' if agree else '  differ'}", flush=True)
    return agree


def main():
    names = [training.name for training in TRAININGS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program",
                        default=os.path.join(ROOT, "build/tests/parity_record_training"))
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(names))
    given = parser.parse_args()
    unknown = set(given.cases) - set(names)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}, expected one of {', '.join(names)}")
    torch.set_num_threads(1)
    print(f"{'':17}{'loss of step':>14}   scant and torch: relative difference    "
          "torch's float32 and float64")
    heads = f"{f'1 to {FIRST}':>13}{f'1 to {STEPS}':>11}{'step':>5}{'mean':>11}"
    print(f"{'':17}{'1':>7}{'last':>7}{heads}  {heads}")
    failed = []
    for training in TRAININGS:
        if given.cases and training.name not in given.cases:
            continue
        try:
            if not compare(given.program, training):
                failed.append(training.name)
        except datasets.Missing as missing:
            print(f"{training.name} is skipped: {missing}")
    if failed:
        sys.exit(f"losses of {', '.join(failed)} differ from torch's")


if __name__ == "__main__":
    main()
