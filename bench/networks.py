# SPDX-License-Identifier: Apache-2.0
"""The cases for networks: training, and gradients of single samples; see cases.py.

Each side is a separate process (nets.c, torch_nets.py), so that PyTorch runs with its best
settings, which were found by trial and are listed in MODELS.
"""
import json
import os
import statistics
import subprocess
import sys

import numpy as np

from table import Row, at_most, faster

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 128

# model: shape of an image, our steps, their steps, their threads, their environment, target
MODELS = {
    "mlp": ((28, 28), 400, 300, 2, {"OMP_WAIT_POLICY": "PASSIVE"}, 1.3),
    "lenet5": ((28, 28), 400, 60, 2, {"OPENBLAS_NUM_THREADS": "1"}, 2),
    "cnn": ((32, 32, 3), 400, 60, 1, {}, 2),
    "vgg16": ((32, 32, 3), 6, 5, 2, {}, 1.2),
    "resnet18": ((32, 32, 3), 5, 4, 2, {}, 1.2),
    "wrn-28-2": ((32, 32, 3), 8, 6, 2, {}, 1.2),
}


def program(bench):
    """Compiles our side and links it to the measured library."""
    path = os.path.join(bench.build, "bench-nets")
    include = os.path.join(os.path.dirname(HERE), "include")
    subprocess.run(["cc", "-O2", "-I", include, "-o", path, os.path.join(HERE, "nets.c"),
                    "-L", bench.build, "-Wl,-rpath," + bench.build, "-lscant"], check=True)
    return path


def files(bench, shape, count):
    rng = np.random.default_rng(0)
    images, labels = (os.path.join(bench.folder, name) for name in ("images.npy", "labels.npy"))
    np.save(images, rng.integers(0, 256, (count, *shape), dtype=np.uint8))
    np.save(labels, rng.integers(0, 10, count))
    return images, labels


def run(command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          env={**os.environ, **(env or {})})
    return json.loads(done.stdout)


def torch_there():
    return subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def against_torch(bench, what, model, count, runs, their_runs, threads, env, shape):
    """Our output, and the seconds of torch's runs without the first tenth (warm-up). torch runs
    before and again after our side, so that a slow phase of the machine affects both sides."""
    args = [model, *files(bench, shape, count)]
    torch = [sys.executable, os.path.join(HERE, "torch_nets.py"), what, *args]
    theirs = run([*torch, str(their_runs), str(threads)], env)["seconds"]
    ours = run([program(bench), what, *args, str(runs), str(os.cpu_count())])
    theirs += run([*torch, str(their_runs), str(threads)], env)["seconds"][1 + their_runs // 10:]
    return ours, theirs[1 + their_runs // 10:]


def training(model):
    def case(bench):
        shape, runs, their_runs, threads, env, target = MODELS[model]
        title = f"train {model} batch={BATCH}"
        if not torch_there():
            yield Row(title, [], note="skipped: no torch")
            return
        ours, theirs = against_torch(bench, "train", model, 4 * BATCH, runs, their_runs, threads,
                                     env, shape)
        steps = ours["seconds"][1 + runs // 10:]
        row = Row(title, steps, statistics.median(theirs), rival="torch")
        if not np.isfinite(ours["loss"]):
            row.wrong = [f"the loss is {ours['loss']}"]
        row.note = (f"{BATCH / statistics.median(steps):.0f} samples/s, at best "
                    f"{BATCH / min(steps):.0f}; torch {BATCH / statistics.median(theirs):.0f}, "
                    f"at best {BATCH / min(theirs):.0f}")
        yield faster(row, target)
    return case


# model: labelled samples per step, our steps, their steps, target
FIXMATCH = {"lenet5": (64, 60, 10, 1.5), "cnn": (64, 60, 10, 1.5), "wrn-28-2": (16, 5, 3, 1.2)}


def fixmatch(model):
    """A step of FixMatch without augmented views on either side; then the extra time of views."""
    def case(bench):
        batch, runs, their_runs, target = FIXMATCH[model]
        shape, _, _, threads, env, _ = MODELS[model]
        title = f"fixmatch {model} {batch}+{7 * batch}"
        if not torch_there():
            yield Row(title, [], note="skipped: no torch")
            return
        args = [model, *files(bench, shape, 8 * batch)]
        torch = [sys.executable, os.path.join(HERE, "torch_nets.py"), "fixmatch", *args,
                 str(their_runs), str(threads), str(batch)]
        own = [*args, str(runs), str(os.cpu_count()), str(batch)]
        theirs = run(torch, env)["seconds"][1:]
        ours = run([program(bench), "fixmatch", *own])
        views = run([program(bench), "views", *own])["seconds"][1 + runs // 10:]
        theirs += run(torch, env)["seconds"][1:]
        steps = ours["seconds"][1 + runs // 10:]
        row = Row(title, steps, statistics.median(theirs), rival="torch")
        if not np.isfinite(ours["loss"]):
            row.wrong = [f"the loss is {ours['loss']}"]
        longer = min(views) / min(steps) - 1  # other processes affect the median of few steps
                                              # more than the minimum
        row.note = (f"{1 / statistics.median(steps):.3g} steps/s, torch "
                    f"{1 / statistics.median(theirs):.3g}; with views a step takes "
                    f"{100 * longer:+.1f}%")
        yield faster(row, target)
    return case


def norms(bench):
    """Squared gradient norms of single samples, compared with one backward pass per sample."""
    shape, _, _, threads, env, _ = MODELS["cnn"]
    count, title = 2048, "gradient norms cnn, a sample"
    if not torch_there():
        yield Row(title, [], note="skipped: no torch")
        return
    ours, theirs = against_torch(bench, "norms", "cnn", count, 5, 400, threads, env, shape)
    row = Row(title, [s / count for s in ours["seconds"]], statistics.median(theirs),
              rival="torch")
    row.note = f"{count / statistics.median(ours['seconds']):.0f} samples/s"
    if not ours["norms"] > 0:
        row.wrong = [f"the norms' sum is {ours['norms']}"]
    yield faster(row, 8)


def delta(bench):
    """The quantities of dynamicAL for all layers (norms, and products with the labelled rows'
    gradient), compared with a forward and backward pass over the same images that only sums their
    gradients."""
    count, runs = 20000, 3
    args = ["cnn", *files(bench, MODELS["cnn"][0], count), str(runs), str(os.cpu_count())]
    ours = run([program(bench), "delta", *args])
    passes, seconds = ours["seconds"][::2], ours["seconds"][1::2]
    row = Row(f"gradients' Delta cnn, all layers n={count}", seconds, min(passes), rival="a pass")
    if not np.isfinite(ours["delta"]):
        row.wrong = [f"the sum is {ours['delta']}"]
    row.note = f"{count / statistics.median(seconds):.0f} samples/s"
    longer = statistics.median(b / a for a, b in zip(passes, seconds))
    yield at_most(row, longer, 2, "x")


CASES = {**{f"train-{model}": training(model) for model in MODELS},
         **{f"fixmatch-{model}": fixmatch(model) for model in FIXMATCH}, "gradient-norms": norms,
         "gradient-delta": delta}
