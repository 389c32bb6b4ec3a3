# SPDX-License-Identifier: Apache-2.0
"""Shared by the attacks: inputs of every kind, every command with them, and what must hold after a
failure.

The variable SCANT is the program's path, FAULTS_LIBRARY that of the library made of faults.c.
SCANT_SOAK above 1000 asks for the long form, which takes hours; the short one is part of `make test`.
"""
import csv
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from projectcase import CLASSES, COLOURS, blobs, png  # noqa: E402
from scantcli import BUILD, SCANT  # noqa: E402

SOAK = int(os.environ.get("SCANT_SOAK", 0)) > 1000
FAULTS = os.environ.get("FAULTS_LIBRARY", os.path.join(BUILD, "tests", "libattack_faults.so"))
SANITIZERS = {name: os.environ.get(name, "") + ":exitcode=99" for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS")}
SLOW = 120  # seconds: no command here takes a second on a quiet machine
STATUSES = (0, 1, 2, 3, 4, 10)  # of `scant --help`, less 130: nobody interrupts


@dataclass
class Command:
    """A command line, run in a copy of the inputs' folder, and the files and folders that it writes."""
    name: str
    args: list
    writes: tuple = ()
    changes: str = ""  # the project whose database it changes


MOONS = ["--set", "data.train=moons", "--set", "data.test_size=50", "--set", "model.name=mlp", "--set", "model.width=8",
         "--set", "train.epochs=2", "--set", "loop.initial=6", "--set", "loop.batch=4", "--set", "loop.rounds=2",
         "--set", "loop.seeds=0", "--set", "loop.strategies=random,badge"]
NEW = ["--classes", ",".join(CLASSES)]
SELECT = ["--features", "pool.npy", "--probs", "probs.npy", "--batch", "5"]

COMMANDS = [
    Command("select badge", ["select", "badge", *SELECT, "--out", "out.csv"], ("out.csv",)),
    Command("select sparse-iht", ["select", "sparse-iht", *SELECT, "--calibrated", "probs.npy", "--out", "out.json"], ("out.json",)),
    Command("select npc", ["select", "npc", "--features", "pool.npy", "--batch", "5", "--out", "out.npy"], ("out.npy",)),
    Command("select with a chart", ["select", "coreset", "--features", "pool.npy", "--batch", "5", "--plot", "plot.svg"],
            ("plot.svg",)),
    Command("train", ["train", "--data", "pool.npy", "--labels", "truth.npy", "--model", "mlp", "--width", "8",
                      "--epochs", "2", "--out", "trained"], ("trained",)),
    Command("train fixmatch", ["train", "--data", "pictures.npy", "--labels", "picture-truth.npy", "--model", "lenet5",
                               "--method", "fixmatch", "--batch", "4", "--steps", "3", "--out", "trained"], ("trained",)),
    Command("embed", ["embed", "--data", "pool.npy", "--from", "net", "--out", "h.npy", "--probs", "p.npy"],
            ("h.npy", "p.npy")),
    Command("ntk", ["ntk", "--data", "pool.npy", "--model", "mlp", "--width", "8", "--classes", "3", "--out", "k.json"],
            ("k.json",)),
    Command("run", ["run", *MOONS, "--out", "results"], ("results",)),
    Command("report", ["report", "experiment", "--out", "page"], ("page",)),
    Command("compare", ["compare", "experiment", "--csv", "compared.csv"], ("compared.csv",)),
    Command("new", ["new", "born", "--features", "pool.npy", *NEW], ("born",)),
    Command("new with pictures", ["new", "born", "--images", "pictures", *NEW], ("born",)),
    Command("add", ["add", "project", "--features", "more.npy"], changes="project"),
    Command("status", ["status", "project"], changes="project"),
    Command("query", ["query", "project", "--batch", "5", "--out", "batch.csv"], ("batch.csv",), "project"),
    Command("label", ["label", "project", "--import", "labels.csv"], changes="project"),
    Command("train a project", ["train", "project"], changes="project"),
    Command("predict", ["predict", "project", "--out", "predicted.csv"], ("predicted.csv",), "project"),
    Command("export", ["export", "project", "--out", "exported.csv", "--model", "exported.safetensors"],
            ("exported.csv", "exported.safetensors"), "project"),
    Command("log", ["log", "project"], changes="project"),
    Command("set", ["set", "project", "batch=7"], changes="project"),
]
EXACT = (".safetensors", "picks.csv")  # written files without times: the same whenever a command is repeated
THREADED = {"select", "train", "embed", "ntk", "run", "new", "add", "query", "predict", "export"}


def command_line(args):
    return [SCANT, *args, *(("--threads", "1") if args[0] in THREADED else ())]


def start(args, folder, limits=(), group=None, **env):
    """Starts the program in a folder, under limits [(resource, bytes)] and in a control group."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for what, size in limits:
            resource.setrlimit(what, (size, size))
        if group:
            with open(os.path.join(group, "cgroup.procs"), "w") as file:
                file.write(str(os.getpid()))
    return subprocess.Popen(command_line(args), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=prepare,
                            env={**os.environ, "OMP_NUM_THREADS": "1", **SANITIZERS, **env})


def run(args, folder, limits=(), timeout=SLOW, **how):
    child = start(args, folder, limits, **how)
    try:
        out, said = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise
    return subprocess.CompletedProcess(child.args, child.returncode, out, said)


def ok(args, folder, **how):
    done = run(args, folder, **how)
    if done.returncode not in (0, 10):
        raise AssertionError(f"{args}: {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done


def write_pictures(folder):
    """12 small PNG files in pictures/, and the same images as an array."""
    draw = np.random.default_rng(1)
    os.mkdir(os.path.join(folder, "pictures"))
    for i in range(12):
        pixels = np.clip(np.array(COLOURS[CLASSES[i % 3]]) + draw.integers(-30, 30, (16, 16, 3)), 0, 255)
        with open(os.path.join(folder, "pictures", f"{i}.png"), "wb") as file:
            file.write(png(pixels))
    np.save(os.path.join(folder, "pictures.npy"), draw.integers(0, 256, (40, 28, 28)).astype("u1"))
    truth = np.where(np.arange(40) < 12, np.arange(40) % 3, -1)
    np.save(os.path.join(folder, "picture-truth.npy"), truth)


def prepare(folder):
    """Writes the inputs of all commands: arrays, a network, an experiment's results, and a project with labels
    and a model."""
    rows, truth = blobs(150)
    draw = np.random.default_rng(1)
    for name, array in (("pool", rows[:120]), ("more", rows[120:]), ("truth", truth[:120]),
                        ("probs", draw.dirichlet(np.ones(3), 120).astype("f4"))):
        np.save(os.path.join(folder, name + ".npy"), array)
    write_pictures(folder)
    ok(["train", "--data", "pool.npy", "--labels", "truth.npy", "--model", "mlp", "--width", "8", "--epochs", "2",
        "--out", "net"], folder)
    ok(["run", *MOONS, "--out", "experiment"], folder)
    ok(["new", "project", "--features", "pool.npy", *NEW], folder)
    for name in ("first.csv", "labels.csv"):
        ok(["query", "project", "--batch", "10", "--out", "batch.csv"], folder)
        with open(os.path.join(folder, "batch.csv"), newline="") as file:
            ids = [row["id"] for row in csv.DictReader(file)]
        with open(os.path.join(folder, name), "w") as file:
            file.write("id,label\n" + "".join(f"{i},{CLASSES[truth[int(i)]]}\n" for i in ids))
        if name == "first.csv":
            ok(["label", "project", "--import", name], folder)
            ok(["train", "project"], folder)
    os.remove(os.path.join(folder, "batch.csv"))


def is_whole(path, good):
    """Whether a file is complete, as `good` is, which may have other times."""
    mine, other = read(path), read(good)
    if other.startswith(b"{"):
        try:
            return json.loads(mine).keys() == json.loads(other).keys()
        except ValueError:
            return False
    if path.endswith((".csv", ".jsonl", ".html", ".svg", ".ini")):
        return mine.count(b"\n") == other.count(b"\n") and mine[-1:] == other[-1:]
    return len(mine) == len(other)


def tree(folder):
    """The relative paths of all files in a folder."""
    return {os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names}


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def history(project):
    """All entries of a project's history, {entry: (item, kind, class, once, undoes)}; its database must be intact."""
    db = sqlite3.connect(f"file:{project}/project.db", uri=True)
    try:
        intact = db.execute("PRAGMA integrity_check").fetchall()
        if intact != [("ok",)] or db.execute("PRAGMA foreign_key_check").fetchall():
            raise AssertionError(f"{project}/project.db: {intact[:3]}")
        rows = db.execute("SELECT entry, item, kind, class, once, undoes FROM labels").fetchall()
        return {entry: tuple(what) for entry, *what in rows}
    finally:
        db.close()


class Attack(unittest.TestCase):
    """Its class has a folder with the inputs of all commands; `copy()` makes a copy to work in."""

    @classmethod
    def setUpClass(cls):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        cls.place = tempfile.TemporaryDirectory(prefix="scant-test-", dir=place)
        cls.addClassCleanup(cls.place.cleanup)
        cls.inputs = os.path.join(cls.place.name, "inputs")
        os.mkdir(cls.inputs)
        prepare(cls.inputs)

    def copy(self, name="work"):
        folder = os.path.join(self.place.name, name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.inputs, folder)
        return folder

    def again(self, command, folder):
        """The command line that continues or repeats a command that was ended early."""
        begun = {"run": "experiment.ini", "train": "train.json"}.get(command.args[0])
        resumes = begun and command.writes and os.path.exists(os.path.join(folder, command.writes[0], begun))
        return [*command.args, "--resume"] if resumes else command.args

    def check_exact(self, command, folder, whole, what):
        """The files of the command are the same in both folders."""
        for path in tree(whole):
            if path.startswith(command.writes or "/") and path.endswith(EXACT):
                self.assertEqual(read(folder, path), read(whole, path), f"{what}: {path}")

    def assert_sentence(self, done, what):
        """A failed command says why, and is not ended by a signal."""
        said = done.stderr.decode(errors="replace")
        self.assertIn(done.returncode, STATUSES, f"{what}: {said[-2000:]}")
        if done.returncode not in (0, 10):
            self.assertRegex(said, r"(?m)^(scant|usage)\S*: .{10,}|^Usage", what)
