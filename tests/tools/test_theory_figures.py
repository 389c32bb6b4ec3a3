# SPDX-License-Identifier: Apache-2.0
"""tools/theory-figures: its own computations agree with the program, and its charts are complete."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, "tools")
SCANT = os.path.join(os.environ["SCANT_BUILD"], "scant")


def load():
    """Loads the tool, whose name has no .py, as a module."""
    sys.path.insert(0, TOOLS)
    loader = importlib.machinery.SourceFileLoader("theory_figures", os.path.join(TOOLS, "theory-figures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class TheoryFigures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scant-test-")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        self.tool = load()

    def path(self, name):
        return os.path.join(self.dir, name)

    def test_bound_and_discrepancy_agree_with_the_program(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(40, 12))
        x[:15] += 1  # another distribution than the other rows'
        np.save(self.path("x.npy"), x.astype("f4"))
        labels = rng.integers(0, 3, 40)
        np.save(self.path("y.npy"), labels)
        np.save(self.path("first.npy"), np.arange(15))
        done = subprocess.run(
            [SCANT, "ntk", "--data", self.path("x.npy"), "--labels", self.path("y.npy"), "--model", "mlp",
             "--width", "64", "--against", self.path("first.npy"), "--kernel-out", self.path("k.npy")],
            check=True, stdout=subprocess.PIPE)
        said, k = json.loads(done.stdout), np.load(self.path("k.npy"))
        self.assertEqual(said["jitter"], 0)
        bound, gap = self.tool.bound_and_gap(k, labels, 40, 15)
        self.assertAlmostEqual(bound / said["bound"], 1, 9)
        self.assertAlmostEqual(gap ** 2 / said["mmd"] ** 2, 1, 6)

    def test_tables_are_read_and_averaged(self):
        with open(self.path("theory.csv"), "w", encoding="utf-8") as file:
            file.write("strategy,round,ratio\na,0,1\na,0,3\na,1,\n")
        rows = self.tool.rows_of(self.dir)
        self.assertEqual(rows[2], {"strategy": "a", "round": 1.0, "ratio": None})
        (mean, deviation), = self.tool.by(rows, "round", "ratio").values()
        self.assertEqual((mean, round(deviation ** 2, 12)), (2, 2))

    def test_ratios_of_random_batches_and_of_dynamics_own_are_kept_apart(self):
        with open(self.path("theory.csv"), "w", encoding="utf-8") as file:
            file.write("strategy,round,ratio\nrandom,0,0.5\nrandom,1,9\ndynamic,0,0.125\n")
        lab = self.tool.argparse.Namespace(experiment=lambda *_, **__: self.dir,
                                           draw=lambda *drawn: charts.extend(drawn[2]))
        charts, printed = [], io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.tool.dynamical_ratio(lab)
        rows = [line.split(" | ") for line in printed.getvalue().splitlines()[2:] if line]
        self.assertEqual({(row[0], row[2]) for row in rows},
                         {("| random", "0.500 ± 0.000"), ("| dynamic", "0.125 ± 0.000")})
        self.assertEqual(len(charts), 2)

    def test_charts_are_valid_for_missing_and_extreme_numbers(self):
        panel = self.tool.svgchart.Panel("a < b", "x", "y", log_y=True)
        panel.line("some", [1, 2, 3], [1, None, 100], [-1, 1, 10], [2, 2, 1000])
        panel.points("", [1], [float("nan")])
        empty = self.tool.svgchart.Panel("none", "x", "y")
        self.tool.svgchart.write(self.path("c.svg"), "a & b", [panel, empty])
        drawing = xml.etree.ElementTree.parse(self.path("c.svg")).getroot()
        self.assertEqual(drawing.find("{http://www.w3.org/2000/svg}title").text, "a & b")
        text = "".join(drawing.itertext())
        self.assertIn("a < b", text)
        self.assertNotIn("nan", xml.etree.ElementTree.tostring(drawing, encoding="unicode"))

    def test_every_figure_is_explained_and_shown(self):
        with open(os.path.join(ROOT, "docs", "results.md"), encoding="utf-8") as file:
            page = file.read()
        for name in self.tool.FIGURES:
            self.assertIn(f"    {name} ", self.tool.__doc__)
            self.assertIn(f"tools/theory-figures {name}", page)
            self.assertIn(f"](pictures/{name}.svg)", page)
            picture = os.path.join(ROOT, "docs", "pictures", name + ".svg")
            self.assertLess(os.path.getsize(picture), 64 << 10)
            xml.etree.ElementTree.parse(picture)
        pictures = {name[:-4] for name in os.listdir(os.path.join(ROOT, "docs", "pictures"))
                    if name.startswith(("dynamical-", "crc-", "npc-"))}
        self.assertEqual(pictures, set(self.tool.FIGURES))


if __name__ == "__main__":
    unittest.main()
