#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""replica.py [EXPERIMENT.ini] --out OUT: an active-learning experiment in PyTorch, to compare with
the same experiment in scant.

Reads the settings from the experiment's file, by default experiments/sparse-mnist-lenet5.ini (table
2 of Shen, Jiang, Zhang & Koyejo, 2022), and simulates it with torch and NumPy only: random initial
labels, and in each round new weights, a training, the accuracy on the test set and a new batch of
labels. A setting that this program does not have is an error. It has the strategies random,
entropy and badge. A round has the same initial weights for all strategies.

A run is one strategy with one seed. All runs of a seed have the same pool, validation samples and
initial labels. Seeds mean other random numbers here than in scant, so the two programs' curves agree
only on average.

Writes OUT/curve.csv and OUT/picks.csv in the format of `scant run` after every run, so that
`scant compare OUT` and `scant report OUT` work. Each finished run is also kept in OUT/runs; called
again with the same OUT and file, the program computes only the missing runs. Ctrl-C ends it with
exit status 130.

  --scant PROGRAM   also runs the same experiment with `PROGRAM run`, in OUT/scant, and compares
  --compare FOLDER  prints tables of OUT/curve.csv and FOLDER/curve.csv: accuracies, areas under the
                    curve (trapezoids over the labels, divided by their range), and each strategy's
                    paired differences to random with 95 % intervals. With --seeds '' computes nothing

With --scant or --compare the exit status is 1 if the mean areas of a strategy differ between the
two programs by more than Student's t allows in 99 of 100 cases (at least two seeds each).
"""
import argparse
import collections
import configparser
import csv
import io
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import torch

import datasets
import learning
from datasets import ROOT
from intervals import Mean, difference, paired, t_quantile
from workers import workers

sys.path.insert(0, os.path.join(ROOT, "tests", "nn"))
import torch_models  # noqa: E402

EXPERIMENT = os.path.join(ROOT, "experiments", "sparse-mnist-lenet5.ini")
CLASSES = 10
LEVELS = (40, 80, 160, 320, 640)
CURVE = ("strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds,best_accuracy"
         .split(","))
PICKS = "strategy,seed,round,rank,index,weight,score,label".split(",")


# ---- settings --------------------------------------------------------------------------------

# Settings that this program reads, with their types.
READ = {
    "data": {"train": str, "train_labels": str, "test": str, "test_labels": str,
             "validation": int},
    "model": {"name": str},
    "train": {"optimizer": str, "lr": float, "momentum": float, "weight_decay": float,
              "batch": int, "epochs": int},
    "loop": {"initial": int, "batch": int, "rounds": int},
}
# Settings that a file may have, but only with the value that this program implements.
FIXED = {
    "data": {"pool": "0", "test_size": "0", "task": "classification", "size": "0"},
    "model": {"init": "torch", "bayes": "none", "hidden": "own", "dropout": "0",
              "width": "0", "depth": "0"},
    "train": {"reinit": "yes", "warm": "no", "use_weights": "no", "initial_models": "1",
              "steps": "0", "nesterov": "no", "decay_weights_only": "no", "schedule": "constant",
              "warmup": "0", "clip": "none", "ema": "0", "until": "0", "patience": "0",
              "loss": "ce", "method": "supervised", "beta2": "0.999", "norm_momentum": "0.1",
              "augment": "auto"},
    "loop": {"initial_how": "random", "query_seed": "", "retry_collapsed": "no"},
}
# Settings without effect here: of other strategies, or given by --strategies and --seeds.
UNUSED = {"model": {"samples", "prior"}, "loop": {"strategies", "seeds", "preset", "theory"}}
NEEDED = {("train", "warmup"), ("loop", "retry_collapsed")}  # scant's defaults are others


def read_settings(path):
    """{section: {key: value}} of an experiment's file; ends the program if it has a setting that
    this program does not implement."""
    file = configparser.ConfigParser(interpolation=None, delimiters=["="])
    with open(path, encoding="utf-8") as text:
        file.read_file(text)
    for section in file.sections():
        for key, value in file[section].items():
            if key in READ.get(section, {}) or key in UNUSED.get(section, ()):
                continue
            if "." in key and not (key.startswith("badge.") and value != "0"):
                continue  # an option of a strategy; those of badge are 0 here
            fixed = FIXED.get(section, {}).get(key)
            if value != ("" if fixed is None else fixed):
                sys.exit(f"{path}: {section}.{key} = {value}: replica.py does not have this")
    for section, key in NEEDED:
        if not file.has_option(section, key):
            sys.exit(f"{path}: {section}.{key} is missing; replica.py has only "
                     f"{FIXED[section][key]}")
    return {section: {key: kind(file[section][key]) for key, kind in keys.items()}
            for section, keys in READ.items()}


def data_paths(settings, folder):
    """The four files of the data: as in the experiment's file if they are there, else in folder."""
    keys = ("train", "train_labels", "test", "test_labels")
    paths = {key: settings["data"][key] for key in keys}
    if not all(os.path.exists(path) for path in paths.values()):
        paths = {key: os.path.join(folder, os.path.basename(path)) for key, path in paths.items()}
    for path in paths.values():
        if not os.path.exists(path):
            raise datasets.Missing(f"no {path}: --data or the variable SCANT_SHARED_DATA names the "
                                   "folder of MNIST's four files")
    return paths


# ---- strategies ------------------------------------------------------------------------------

class Pool:
    """What a strategy sees: the network's outputs for the unlabelled rows, computed when needed."""

    def __init__(self, model, x, rows, rng):
        self.model, self.x, self.rows, self.rng = model, x, rows, rng

    def outputs(self):
        """(probabilities, features) of rows, float64."""
        logits, features = learning.predict(self.model, self.x, torch.from_numpy(self.rows))
        return torch.softmax(logits.double(), 1).numpy(), features.double().numpy()


def pick_random(pool, batch):
    return pool.rng.choice(len(pool.rows), batch, replace=False)


def pick_entropy(pool, batch):
    """The samples whose class probabilities have the largest entropy."""
    p, _ = pool.outputs()
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(1)
    return np.argsort(-entropy, kind="stable")[:batch]


def pick_badge(pool, batch):
    """k-means++ on the gradients of the last layer's weights, (p - onehot(predicted class)) times
    the features (Ash et al., 2020). The first is the largest gradient; each further one is drawn
    with probability proportional to the squared distance to the nearest one before. The gradients
    are products a h, so |a h - b k|^2 = |a|^2|h|^2 + |b|^2|k|^2 - 2 (a b)(h k)."""
    a, h = pool.outputs()
    a[np.arange(len(a)), a.argmax(1)] -= 1
    size = (a ** 2).sum(1) * (h ** 2).sum(1)
    nearest = np.full(len(a), np.inf)
    picks = [int(size.argmax())]
    while True:
        last = picks[-1]
        distance = size + size[last] - 2 * (a @ a[last]) * (h @ h[last])
        nearest = np.minimum(nearest, np.maximum(distance, 0))
        nearest[picks] = 0
        if len(picks) == batch:
            return np.array(picks)
        picks.append(int(pool.rng.choice(len(a), p=nearest / nearest.sum())))


STRATEGIES = {"random": pick_random, "entropy": pick_entropy, "badge": pick_badge}


# ---- one run ---------------------------------------------------------------------------------

class Run:
    """One strategy with one seed."""

    def __init__(self, settings, train, test, strategy, seed):
        self.settings, self.strategy, self.seed = settings, strategy, seed
        self.curve, self.picks = [], []
        rng = np.random.default_rng([seed, 1])  # the same for all strategies
        order = rng.permutation(len(train))
        self.pool = np.sort(order[settings["data"]["validation"]:])
        self.labelled = rng.permutation(self.pool)[:settings["loop"]["initial"]]
        self.rng = np.random.default_rng([seed, 2])
        scaling = train.measure(self.pool)  # as in scant: of the pool's samples
        self.train, self.test = train.scaled(*scaling), test.scaled(*scaling)

    def new_model(self):
        """A network with torch's own initial weights."""
        _, channels, *size = self.train.x.shape
        return torch_models.build(self.settings["model"]["name"], channels, tuple(size), CLASSES)

    def note_picks(self, number, rows):
        for rank, row in enumerate(rows, 1):
            self.picks.append([self.strategy, self.seed, number, rank, int(row), 1, 0,
                               int(self.train.y[row])])

    def round(self, number):
        """Trains new weights on the labels, evaluates them and picks the next batch."""
        seed = int(np.random.SeedSequence([self.seed, 3, number]).generate_state(1)[0])
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed + 1)
        rows, began = torch.from_numpy(np.sort(self.labelled)), time.perf_counter()
        model = self.new_model()
        learning.train(model, self.train.x[rows], self.train.y[rows], self.settings["train"],
                       generator)
        trained = time.perf_counter()
        accuracy, loss = learning.evaluate(model, self.test)
        judged, more = time.perf_counter(), number < self.settings["loop"]["rounds"]
        labels = len(self.labelled)
        if more:
            pool = Pool(model, self.train.x, np.setdiff1d(self.pool, self.labelled), self.rng)
            picks = pool.rows[STRATEGIES[self.strategy](pool, self.settings["loop"]["batch"])]
            self.labelled = np.concatenate([self.labelled, picks])
        self.curve.append([self.strategy, self.seed, number, labels, f"{accuracy:.9g}",
                           f"{loss:.9g}", f"{trained - began:.3f}",
                           f"{time.perf_counter() - judged:.3f}", f"{accuracy:.9g}"])
        if more:
            self.note_picks(number + 1, picks)

    def all_rounds(self, tell):
        self.note_picks(0, self.labelled)
        for number in range(self.settings["loop"]["rounds"] + 1):
            self.round(number)
            tell(number, self.curve[-1])
        return self


# ---- all runs --------------------------------------------------------------------------------

def write_csv(path, header, rows):
    """Writes a table; it appears whole or not at all."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text.getvalue())
    os.replace(path + ".tmp", path)


def read_csv(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


class Folder:
    """The results of a replica."""

    def __init__(self, path, experiment):
        self.path, self.runs = path, os.path.join(path, "runs")
        os.makedirs(self.runs, exist_ok=True)
        kept = os.path.join(path, "experiment.ini")
        if not os.path.exists(kept):
            shutil.copyfile(experiment, kept)
        with open(kept, encoding="utf-8") as old, open(experiment, encoding="utf-8") as new:
            if old.read() != new.read():
                sys.exit(f"{path} has the results of another experiment")

    def file(self, strategy, seed, table):
        return os.path.join(self.runs, f"{strategy}-{seed}.{table}.csv")

    def has(self, strategy, seed):
        return os.path.exists(self.file(strategy, seed, "curve"))

    def keep(self, run):
        # the curve last: with it the run counts as finished
        write_csv(self.file(run.strategy, run.seed, "picks"), PICKS, run.picks)
        write_csv(self.file(run.strategy, run.seed, "curve"), CURVE, run.curve)

    def join(self):
        """Writes curve.csv and picks.csv of all finished runs."""
        names = sorted(name[:-len(".curve.csv")] for name in os.listdir(self.runs)
                       if name.endswith(".curve.csv"))
        names.sort(key=lambda name: (not name.startswith("random-"),))
        for table, header in (("curve", CURVE), ("picks", PICKS)):
            rows = [row for name in names
                    for row in read_csv(os.path.join(self.runs, f"{name}.{table}.csv"))]
            write_csv(os.path.join(self.path, f"{table}.csv"), header, rows)


shared = {}  # what worker processes inherit: settings, folder, train, test


def work(job):
    """One run in a worker process."""
    torch.set_num_threads(1)
    strategy, seed = job
    began = time.perf_counter()

    def tell(number, row):
        print(f"{strategy} {seed}: round {number}, {row[3]} labels, accuracy "
              f"{100 * float(row[4]):.2f} %, {time.perf_counter() - began:.0f} s", file=sys.stderr,
              flush=True)

    run = Run(shared["settings"], shared["train"], shared["test"], strategy, seed)
    shared["folder"].keep(run.all_rounds(tell))
    return job


def compute(settings, paths, folder, jobs, processes):
    """Computes the runs that are not there yet. Workers are forked, so they share the images."""
    jobs = [job for job in jobs if not folder.has(*job)]
    if not jobs:
        return
    torch.set_num_threads(1)
    files = {key: datasets.read_idx(path) for key, path in paths.items()}
    shared.update(settings=settings, folder=folder,
                  train=datasets.Images.of_bytes(files["train"], files["train_labels"]),
                  test=datasets.Images.of_bytes(files["test"], files["test_labels"]))
    with workers(processes) as pool:
        for done, (strategy, seed) in enumerate(pool.imap_unordered(work, jobs), 1):
            folder.join()
            print(f"{strategy} {seed} is finished: {done} of {len(jobs)} runs", file=sys.stderr,
                  flush=True)


def run_scant(program, experiment, paths, out, strategies, seeds, processes):
    """Runs the same experiment with scant, or continues it."""
    if os.path.exists(os.path.join(out, "experiment.ini")):
        command = [program, "run", "--resume", "--out", out]
    else:
        command = [program, "run", experiment, "--out", out]
        for key, value in [*(("data." + key, path) for key, path in paths.items()),
                           ("loop.strategies", ",".join(strategies)),
                           ("loop.seeds", ",".join(map(str, seeds)))]:
            command += ["--set", f"{key}={value}"]
    subprocess.run([*command, "--jobs", str(processes), "--threads", "1"], check=True,
                   stdout=subprocess.DEVNULL)


# ---- tables ----------------------------------------------------------------------------------

def read_curves(folder):
    """{strategy: {seed: {labels: accuracy in percent}}}"""
    curves = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(os.path.join(folder, "curve.csv"), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            curves[row["strategy"]][int(row["seed"])][int(row["labels"])] = \
                100 * float(row["accuracy"])
    return curves


def area(curve):
    """The area under a curve by trapezoids over the labels, divided by their range."""
    labels = sorted(curve)
    values = [curve[count] for count in labels]
    if len(labels) == 1:
        return values[0]
    return float(np.trapz(values, labels) / (labels[-1] - labels[0]))


def finished(curves):
    """The curves without runs that are not finished: shorter than the longest one."""
    most = max(max(curve) for runs in curves.values() for curve in runs.values())
    return {strategy: {seed: curve for seed, curve in runs.items() if max(curve) == most}
            for strategy, runs in curves.items()}


def columns(runs):
    """{column: values of the seeds}: accuracy at LEVELS, and the area."""
    table = {str(level): [curve[level] for curve in runs.values()] for level in LEVELS
             if all(level in curve for curve in runs.values())}
    return {**table, "area": [area(curve) for curve in runs.values()]}


def table_means(sides, strategies):
    """Prints mean +- deviation of each column for both sides, their difference with its standard
    error, and the difference divided by it."""
    for strategy in strategies:
        tables = [columns(curves[strategy]) for _, curves in sides]
        names = [name for name in tables[0] if all(name in table for table in tables)]
        print(f"\n{strategy:22}" + "".join(f"{name:>16}" for name in names))
        for (title, curves), table in zip(sides, tables):
            print(f"  {title + ', ' + str(len(curves[strategy])) + ' seeds':20}" + "".join(
                f"{Mean(table[name]).mean:8.2f} +- {Mean(table[name]).deviation:4.2f}"
                for name in names))
        if len(sides) < 2:
            continue
        gaps = [difference(tables[0][name], tables[1][name]) for name in names]
        print(f"  {'difference +- s.e.':20}" + "".join(f"{gap:8.2f} +- {error:4.2f}"
                                                       for gap, error in gaps))
        print(f"  {'in standard errors':20}" + "".join(f"{gap / error:16.1f}"
                                                       for gap, error in gaps))


def table_differences(sides, strategies):
    """Prints each strategy's paired difference to random in the area, with its 95 % interval."""
    print("\narea, difference to random (paired over seeds) and 95 % interval")
    for strategy in strategies:
        for title, curves in sides:
            runs, base = curves[strategy], curves["random"]
            seeds = sorted(set(runs) & set(base))
            if strategy != "random" and seeds:
                mean, low, high = paired([area(runs[s]) - area(base[s]) for s in seeds])
                print(f"  {strategy:10}{title:10}{mean:+7.2f}   {low:+.2f} to {high:+.2f}   "
                      f"({len(seeds)} seeds)")


def differing(sides, strategies):
    """The strategies whose mean areas differ more than Student's t allows in 99 of 100 cases."""
    found = []
    for strategy in strategies:
        areas = [[area(curve) for curve in curves[strategy].values()] for _, curves in sides]
        gap, error = difference(*areas)
        freedom = len(areas[0]) + len(areas[1]) - 2
        if min(map(len, areas)) > 1 and abs(gap) > t_quantile(0.99, freedom) * error:
            found.append(strategy)
    return found


def print_tables(out, other):
    """Prints all tables; returns the strategies whose areas differ between the two programs."""
    sides = [("torch", finished(read_curves(out)))]
    if other:
        sides.append(("scant", finished(read_curves(other))))
    strategies = [name for name in sides[0][1] if all(curves.get(name) for _, curves in sides)]
    print("accuracy on the test set in percent: mean +- standard deviation over seeds")
    table_means(sides, strategies)
    if "random" in strategies and len(strategies) > 1:
        table_differences(sides, strategies)
    return differing(sides, strategies) if other else []


# ---- the command line ------------------------------------------------------------------------

def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", nargs="?", default=EXPERIMENT, metavar="EXPERIMENT.ini")
    parser.add_argument("--out", required=True, help="folder for the results")
    parser.add_argument("--strategies", default="random,entropy",
                        help="of random, entropy, badge (default: %(default)s)")
    parser.add_argument("--seeds", default="0,1,2", help="(default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="runs at the same time, a thread each (default: all cores)")
    parser.add_argument("--data", default=datasets.SHARED, metavar="FOLDER",
                        help="where the data's files are, if not where the experiment says")
    parser.add_argument("--scant", metavar="PROGRAM", help="also runs the experiment with PROGRAM")
    parser.add_argument("--compare", metavar="FOLDER", help="results of scant to compare with")
    given = parser.parse_args()
    given.strategies = [name for name in given.strategies.split(",") if name]
    given.seeds = [int(seed) for seed in given.seeds.split(",") if seed]
    for name in set(given.strategies) - set(STRATEGIES):
        parser.error(f"no strategy {name}, expected some of {', '.join(STRATEGIES)}")
    return given


def main():
    given = parse()
    settings = read_settings(given.experiment)
    try:
        paths = data_paths(settings, given.data)
    except datasets.Missing as missing:
        print(f"the replica is skipped: {missing}")
        return
    folder = Folder(given.out, given.experiment)
    jobs = [(strategy, seed) for seed in given.seeds for strategy in given.strategies]
    compute(settings, paths, folder, jobs, given.jobs)
    other = given.compare
    if given.scant:
        other = os.path.join(given.out, "scant")
        run_scant(given.scant, given.experiment, paths, other, given.strategies, given.seeds,
                  given.jobs)
    found = print_tables(given.out, other)
    if found:
        sys.exit(f"the areas of {', '.join(found)} differ from torch's")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("stopped; the next call with the same --out continues", file=sys.stderr)
        sys.exit(130)
