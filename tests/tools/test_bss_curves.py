# SPDX-License-Identifier: Apache-2.0
"""tools/bss-curves: its fits, its figure with a few seeds, and its charts."""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SCANT_BUILD", os.path.join(ROOT, "build"))
TOOL = os.path.join(ROOT, "tools", "bss-curves")
sys.path.insert(0, os.path.join(ROOT, "tools"))


def load():
    sys.dont_write_bytecode = True  # no cache next to the tool
    loader = importlib.machinery.SourceFileLoader("bss_curves", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


curves = load()


class Fits(unittest.TestCase):
    def test_a_function_of_the_space_is_recovered_exactly(self):
        with tempfile.TemporaryDirectory() as folder:
            for make in curves.POOLS.values():
                pool = curves.Pool(make)
                truth = np.arange(1, pool.v.shape[1] + 1)
                np.save(os.path.join(folder, "v.npy"), pool.v)
                for law in curves.LAWS:
                    for batch in (18, 50):
                        rows, weights = curves.choose(os.path.join(BUILD, "scant"), folder, law, 3,
                                                      "--batch", batch)
                        with self.subTest(make=make.__name__, law=law, batch=batch):
                            self.assertEqual(np.linalg.matrix_rank(pool.v[rows]), len(truth))
                            found = curves.fit(pool.v[rows], (pool.v @ truth)[rows], weights)
                            np.testing.assert_allclose(found, truth, rtol=1e-8)
                            some = np.random.default_rng(batch).uniform(0.01, 9, len(rows))
                            found = curves.fit(pool.v[rows], (pool.v @ truth)[rows], some)
                            np.testing.assert_allclose(found, truth, rtol=1e-8)

    def test_an_integer_weight_equals_copies_of_the_row(self):
        rng = np.random.default_rng(5)
        v, y = rng.normal(size=(12, 3)), rng.normal(size=12)
        many = np.repeat(np.arange(12), np.arange(12) % 3 + 1)
        np.testing.assert_allclose(curves.fit(v, y, np.arange(12) % 3 + 1.),
                                   curves.fit(v[many], y[many], np.ones(len(many))), rtol=1e-10)

    def test_pools_have_the_stated_leverage(self):
        heavy, even = (curves.Pool(make) for make in curves.POOLS.values())
        for pool in (heavy, even):
            self.assertEqual(pool.v.shape, (curves.ROWS, 9))
            np.testing.assert_allclose(pool.v.T @ pool.v / curves.ROWS, np.eye(9), atol=1e-12)
            self.assertEqual(pool.error(np.arange(curves.ROWS), np.full(curves.ROWS, 3.)) < 1e-20, True)
            self.assertTrue(0.9 < pool.noise < 1.1)
        np.testing.assert_allclose((even.v ** 2).sum(1), 9)
        self.assertGreater(heavy.condition, 15 * 9)

    def test_t_quantiles_agree_with_tables(self):
        for degrees, want in ((4, 2.776), (9, 2.262), (29, 2.045)):
            self.assertAlmostEqual(curves.t_95(degrees), want, delta=0.01)


class Figure(unittest.TestCase):
    def test_uniform_labels_have_larger_errors_if_leverages_differ(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "curves.svg")
            done = subprocess.run([sys.executable, TOOL, BUILD, picture, "6"], capture_output=True,
                                  text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            root = xml.etree.ElementTree.parse(picture).getroot()
        heavy, even = done.stdout.split("Rows of equal leverage")

        def table(text, width):
            rows = re.findall(r"(?m)^\| ([\d.]+) \| (.*) \|$", text)
            numbers = {float(key): [float(cell.split(" ±")[0]) for cell in row.split(" | ")]
                       for key, row in rows}
            return {key: row for key, row in numbers.items() if len(row) == width}

        # geometric means over the budgets: single ratios are noisy
        for text, low, high in ((heavy, 2, 10), (even, 0.6, 2)):
            rows = table(text.split("| epsilon")[0], 4)
            self.assertEqual(list(rows), list(curves.BUDGETS))
            ratio = np.exp(np.mean([np.log(row[0] / row[2]) for row in rows.values()]))
            self.assertTrue(low < ratio < high, ratio)
            # the error is below epsilon, as the theory says
            rows = table(text.split("| epsilon")[1], 4)
            self.assertEqual(list(rows), list(curves.EPSILONS))
            for epsilon, row in rows.items():
                self.assertLess(row[2], epsilon)
        svg = "{http://www.w3.org/2000/svg}"
        panels = root.findall(svg + "g")
        self.assertEqual([len(panel.findall(svg + "circle")) for panel in panels],
                         [3 * len(curves.BUDGETS)] * 2 + [0])
        self.assertEqual([text.text for text in panels[2].findall(svg + "text")],
                         [*curves.LAWS, "D / labels"])


class Chart(unittest.TestCase):
    svg = "{http://www.w3.org/2000/svg}"

    def draw(self, **more):
        """The panels of a chart with x from 1 to 100 and y from 0.1 to 10, and its legend."""
        panel = curves.svgchart.Panel("t", "x", "y", log_x=True, log_y=True, x_range=(1, 100),
                                      y_range=(0.1, 10), x_ticks=(1, 10, 40))
        panel.line("a < b", (1, 10, 100), (10, 1, 0), (1, -1, 0), (99, 2, 1))
        panel.line("guide", (1, 100), (1, 1), dashes="3 4", dots=False)
        with tempfile.TemporaryDirectory() as folder:
            curves.svgchart.write(os.path.join(folder, "c.svg"), "c", [panel], **more)
            return xml.etree.ElementTree.parse(os.path.join(folder, "c.svg")).getroot().findall(
                self.svg + "g")

    def test_values_are_drawn_at_their_position_or_at_the_ends_of_the_axis(self):
        chart = curves.svgchart
        left, right, top, bottom = (chart.LEFT, chart.WIDTH - chart.RIGHT, chart.TOP,
                                    chart.HEIGHT - chart.BOTTOM)
        panel = self.draw(below=True)[0]
        dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in panel.findall(self.svg + "circle")]
        middle = (left + right) / 2, (top + bottom) / 2
        self.assertEqual(dots, [(left, top), middle, (right, bottom)])
        band = next(path.get("d") for path in panel.findall(self.svg + "path") if path.get("opacity"))
        numbers = [float(word) for word in re.findall(r"[\d.]+", band)]
        self.assertEqual(numbers[:2] + numbers[-2:], [left, top, left, middle[1]])
        self.assertEqual(numbers[8:10], [middle[0], bottom])  # -1 has no logarithm
        names = [text.text for text in panel.findall(self.svg + "text")]
        self.assertEqual(names[1:4], ["1", "10", "40"])

    def test_a_legend_is_in_the_panels_or_below(self):
        panel, legend = self.draw(below=True)
        self.assertNotIn("a < b", [text.text for text in panel.findall(self.svg + "text")])
        self.assertEqual([text.text for text in legend.findall(self.svg + "text")], ["a < b", "guide"])
        self.assertEqual([path.get("stroke-dasharray") for path in legend.findall(self.svg + "path")],
                         [None, "3 4"])
        panel, = self.draw()
        self.assertIn("a < b", [text.text for text in panel.findall(self.svg + "text")])


if __name__ == "__main__":
    unittest.main()
