#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""accuracies.py [--program PROGRAM] [--jobs N] [--first SEED] [CASE]...: compares the accuracy on the test set
after training with PyTorch's.

For each of ten seeds, `PROGRAM train` and torch train the same network on the same samples (drawn by
the seed), with the same settings and scaling, the same law of initial weights (torch's), but each
with its own random numbers for weights and mini-batches. The two accuracies of a seed thus differ,
but their means over the seeds estimate the same number if the programs do the same.

The comparison fails if the means differ by more than 2 standard errors of their difference. Were
both programs equal, this would happen for about 6 % of all choices of seeds (Student's t, 18 degrees
of freedom). The seeds are fixed, so the result on one machine changes only with the programs.
Machines round differently, and training amplifies that: on another machine the comparison is a new
draw. After a failure, try other seeds (--first 10): an error of a program remains, chance does not.

Exit status 1 if a case fails. A case whose data is missing is skipped, with a sentence.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

import datasets
import learning
from datasets import ROOT
from intervals import Mean, difference
from workers import workers

sys.path.insert(0, os.path.join(ROOT, "tests", "nn"))
import torch_models  # noqa: E402

MOST = 2  # standard errors
SEEDS = 10


class Training:
    """A case: a network, its data, the number of labels, and settings with scant's names."""

    def __init__(self, model, data, labels, **settings):
        self.name, self.model, self.data = model, model, data
        self.labels, self.settings = labels, settings


TRAININGS = [
    Training("lenet5", "fashion-mnist", 6000, epochs=8, batch=64, lr=0.02, momentum=0.9),
    Training("cnn", "cifar10", 5000, epochs=8, batch=64, lr=0.02, momentum=0.9),
]
# what torch does, said explicitly: scant's defaults may be others
SCANT = ["--optimizer", "sgd", "--init", "torch", "--weight-decay", "0", "--schedule", "constant",
         "--warmup", "0", "--augment", "none", "--clip", "none", "--threads", "1", "--quiet",
         "--format", "json"]

shared = {}  # what worker processes inherit: program, training, source, train, test, folder


def rows_of(training, seed, count):
    """The samples of a seed, for both programs."""
    return np.sort(np.random.default_rng(seed).choice(count, training.labels, replace=False))


def with_scant(seed):
    """The accuracy of `PROGRAM train`."""
    training, folder = shared["training"], os.path.join(shared["folder"], str(seed))
    os.mkdir(folder)
    indices = os.path.join(folder, "rows.npy")
    np.save(indices, rows_of(training, seed, len(shared["train"])))
    settings = [word for key, value in training.settings.items()
                for word in ("--" + key, str(value))]
    done = subprocess.run(
        [shared["program"], "train", *shared["source"].flags, "--indices", indices, "--model",
         training.model, *settings, *SCANT, "--seed", str(seed), "--out",
         os.path.join(folder, "run")], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["test"]["accuracy"]


def with_torch(seed):
    """The accuracy of torch, with torch's default initial weights."""
    training, train = shared["training"], shared["train"]
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    rows = torch.from_numpy(rows_of(training, seed, len(train)))
    _, channels, *size = train.x.shape
    model = torch_models.build(training.model, channels, tuple(size), 10)
    learning.train(model, train.x[rows], train.y[rows], training.settings, generator)
    return learning.evaluate(model, shared["test"])[0]


def work(job):
    call, seed = job
    return 100 * call(seed)


def measure(jobs, first):
    """(scant's accuracies, torch's) in percent by seed."""
    seeds = range(first, first + SEEDS)
    calls = [(call, seed) for seed in seeds for call in (with_scant, with_torch)]
    values = []
    with tempfile.TemporaryDirectory() as shared["folder"], workers(jobs) as pool:
        for value in pool.imap(work, calls):
            values.append(value)
            print(f"\r{shared['training'].name}: {len(values)} of {len(calls)} trainings",
                  end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return values[::2], values[1::2]


def compare(program, training, jobs, first):
    """Prints the result of a case; returns whether the means agree."""
    source = datasets.source(training.data)
    train, test = source.open()
    scaling = train.measure()
    shared.update(program=program, training=training, source=source,
                  train=train.scaled(*scaling), test=test.scaled(*scaling))
    began = time.perf_counter()
    sides = measure(jobs, first)
    print(f"{training.name} on {training.data}, {training.labels} labels, seeds {first} to "
          f"{first + SEEDS - 1} ({time.perf_counter() - began:.0f} s)")
    for name, values in zip(("scant", "torch"), sides):
        m = Mean(values)
        print(f"  {name:12}{m.mean:8.3f} %   deviation {m.deviation:.3f}, standard error "
              f"{m.error:.3f}   ({' '.join(f'{v:.2f}' for v in values)})")
    gap, error = difference(*sides)
    print(f"  {'difference':12}{gap:+8.3f}     standard error {error:.3f}: {abs(gap) / error:.2f} "
          f"standard errors, at most {MOST} are expected", flush=True)
    return abs(gap) <= MOST * error


def main():
    names = [training.name for training in TRAININGS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build/scant"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="trainings at the same time (default: all cores)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED",
                        help="the first of the ten seeds (default: %(default)s)")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(names))
    given = parser.parse_args()
    unknown = set(given.cases) - set(names)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}, expected one of {', '.join(names)}")
    torch.set_num_threads(1)
    failed = []
    for training in TRAININGS:
        if given.cases and training.name not in given.cases:
            continue
        try:
            if not compare(given.program, training, given.jobs, given.first):
                failed.append(training.name)
        except datasets.Missing as missing:
            print(f"{training.name} is skipped: {missing}")
    if failed:
        sys.exit(f"the mean accuracies of {', '.join(failed)} differ from torch's")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
