# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of `scant run`: small experiments on two moons, and their results."""
import csv
import json
import os
import tempfile

from scantcli import Case

MOONS = {"data.train": "moons", "data.test_size": 200, "model.name": "mlp",
         "model.width": 16, "train.epochs": 8, "loop.initial": 6, "loop.batch": 4,
         "loop.rounds": 3, "loop.seeds": "0,1", "loop.strategies": "random,badge"}
TIMES = ("train_seconds", "select_seconds")


def sets(base, **more):
    """--set flags for the keys of base and more; keys in more have '__' instead of '.'."""
    keys = dict(base, **{key.replace("__", "."): value for key, value in more.items()})
    return [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]


def write_state(path, state):
    """Writes the state of a run, which ends with its checksum: FNV-1a of all bytes before it."""
    state.pop("checksum", None)
    text = json.dumps(state)[:-1]
    value = 14695981039346656037
    for byte in text.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{text}, "checksum":"{value:016x}"}}\n')


class RunCase(Case):
    """Its folder is in /dev/shm if possible, because results are written every round."""

    def setUp(self):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        folder = tempfile.TemporaryDirectory(prefix="scant-test-", dir=place)
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def run_experiment(self, folder, *flags, threads=1, **more):
        """Runs an experiment on moons, which must succeed; returns its results folder."""
        out = self.path(folder)
        self.ok("run", *sets(MOONS, **more), "--threads", threads, "--out", out, *flags)
        return out

    def rows(self, out, name):
        with open(os.path.join(out, name), newline="") as file:
            return list(csv.DictReader(file))

    def calibrated(self, out):
        """(method, temperature) of each round with calibrated probabilities."""
        with open(os.path.join(out, "log.jsonl")) as file:
            events = [json.loads(line) for line in file]
        return [(event["calibrated"], event["temperature"]) for event in events
                if event["event"] == "round" and "calibrated" in event]

    def results(self, out):
        """curve.csv without times, and picks.csv."""
        curve = [{key: value for key, value in row.items() if key not in TIMES}
                 for row in self.rows(out, "curve.csv")]
        return curve, self.rows(out, "picks.csv")

    def bins(self, out):
        """calibration.csv as {(strategy, seed, round, "before" or "after"): rows}."""
        found = {}
        for row in self.rows(out, "calibration.csv"):
            key = row["strategy"], int(row["seed"]), int(row["round"]), row["when"]
            found.setdefault(key, []).append(
                [float(row[name]) for name in ("temperature", "bin", "count", "confidence",
                                               "accuracy")])
        return found
