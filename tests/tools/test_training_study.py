# SPDX-License-Identifier: Apache-2.0
"""tools/training-study: what counts as failed and as flagged, and a small study."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SCANT_BUILD", os.path.join(ROOT, "build"))
TOOL = os.path.join(ROOT, "tools", "training-study")
FASHION = "/usr/share/datasets/fashion-mnist"
sys.path.insert(0, os.path.join(ROOT, "tools"))


def load():
    sys.dont_write_bytecode = True  # no cache next to the tool
    loader = importlib.machinery.SourceFileLoader("training_study", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


study = load()


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scant-test-")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_run_that_ended_counts_as_failed_and_flagged(self):
        self.write("curve.csv", "strategy,seed,round,accuracy\nrandom,0,0,0.9\nrandom,2,0,0.5\n")
        self.write("trainings.csv", "strategy,seed,round,signs\nrandom,0,0,\nrandom,2,0,few-classes loss\n")
        self.write("log.jsonl", '{"event":"warning","seed":"0","text":"the training may be failing at step 3"}\n'
                                '{"event":"warning","text":"something else"}\n{"event":"stop"}\n')
        self.assertEqual(study.trainings_of(self.dir, 3), [(90, False, True), (50, True, False), (0, True, True)])

    def test_failed_means_more_than_ten_points_below_the_median_that_is_given(self):
        cell = study.Cell("moons", "mlp", "pi", "auto", "1")
        trainings = [(80, False, False), (79.9, True, False), (20, False, False), (95, True, True), (90, False, True)]
        self.assertEqual(study.line(cell, trainings, 90)[5:],
                         ["80.0", "20.0", "40.0 %", "1/2", "1/3", "2/3"])

    @unittest.skipUnless(os.path.isdir(FASHION), "needs the package dataset-fashion-mnist")
    def test_a_small_study_has_a_line_for_each_combination(self):
        def lines(*more):
            done = subprocess.run(
                [TOOL, "--build", BUILD, "--work", self.dir, "--data", "fashion-mnist", "--models", "lenet5",
                 "--methods", "supervised", "--factors", "1,1000", "--warmups", "0", "--trainings", "2",
                 "--steps", "200", "--set", "data.pool=200", "--set", "data.test_size=50", *more],
                check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            return done.stdout.splitlines()
        first = lines()
        self.assertEqual(len(first), 5)
        self.assertIn("| fashion-mnist | lenet5 | supervised | 0 | 1 |", first[2])
        self.assertIn("| 100.0 % | 2/2 |", first[3])  # a rate of 10
        self.assertEqual(lines(), first)
        folders = set(os.listdir(self.dir))
        lines("--factors", "1", "--set", "model.init=he")
        lines("--factors", "1", "--trainings", "3")
        new = set(os.listdir(self.dir)) - folders
        self.assertEqual(len(new), 2)
        kept = []
        for name in new:
            with open(os.path.join(self.dir, name, "experiment.ini"), encoding="utf-8") as file:
                kept += [row.strip() for row in file if row.startswith(("init =", "seeds ="))]
        self.assertEqual(sorted(kept), ["init = he", "init = torch", "seeds = 0,1", "seeds = 0,1,2"])

    def test_an_unknown_method_is_refused(self):
        done = subprocess.run([TOOL, "--methods", "remixmatch"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("remixmatch", done.stderr)


if __name__ == "__main__":
    unittest.main()
