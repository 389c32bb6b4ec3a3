# SPDX-License-Identifier: Apache-2.0
"""docs/strategies.md has a section and an up-to-date chart for every strategy."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SCANT_BUILD", os.path.join(ROOT, "build"))
PICTURES = os.path.join(ROOT, "docs", "pictures")
LARGEST = 60000  # bytes


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def picked(path):
    """The rows that a chart shows as picked."""
    titles = (element.text or "" for element in xml.parse(path).iter()
              if element.tag.endswith("}title"))
    return {int(match[1]) for match in map(re.compile(r"pick \d+: row (\d+)").match, titles)
            if match}


class Strategies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        listed = subprocess.run([os.path.join(BUILD, "scant"), "strategies", "--format", "json"],
                                capture_output=True, text=True, check=True).stdout
        cls.every = {one["name"]: one for one in json.loads(listed)}
        cls.page = read("docs", "strategies.md")

    def section(self, name):
        return self.page.split(f"\n## `{name}`\n")[1].split("\n## ")[0]

    def test_every_strategy_has_a_section_in_order(self):
        self.assertEqual(re.findall(r"(?m)^## `([^`]+)`$", self.page), list(self.every))

    def test_every_section_has_a_chart_and_a_text(self):
        for name in self.every:
            with self.subTest(name):
                text = self.section(name)
                pictures = re.findall(r"!\[([^]]+)\]\(([^)]+)\)", text)
                self.assertEqual([path for _, path in pictures], [f"pictures/{name}.svg"])
                self.assertTrue(pictures[0][0].startswith(name))
                self.assertGreater(len(text.split()), 40)

    def figures(self, name):
        return {figure["name"] for figure in self.every[name]["figures"]}

    def test_every_figure_is_explained(self):
        for name in self.every:
            for figure in self.figures(name):
                with self.subTest(name, figure=figure):
                    self.assertIn(f"`{figure}`", self.section(name))

    def test_options_and_figures_that_a_section_names_exist(self):
        for name, one in self.every.items():
            keys = {option["key"] for option in one["options"]} | self.figures(name)
            for key in re.findall(r"`(\w+)(?:=[\w:.]+)?`", self.section(name)):
                if key not in self.every and key not in ("inf", "info"):
                    with self.subTest(name, key=key):
                        self.assertIn(key, keys)

    def test_the_table_names_strategies_that_exist(self):
        table = self.page.split("## In short")[1].split("\n\n")[1]
        for row in table.splitlines()[2:]:
            for name in re.findall(r"`([^`]+)`", row.split("|")[2]):
                with self.subTest(name):
                    known = [one for one in self.every if one.startswith(name.rstrip("*"))]
                    self.assertTrue(known if name.endswith("*") else name in self.every)

    def test_charts_are_small_and_of_their_strategy(self):
        others = {"moons-pi-crc.svg", "bss-curves.svg"}  # test_moons_figure.py, test_bss_curves.py
        others |= {"label-page.png", "grid-page.png", "dashboard-page.png"}  # test_tutorial.py
        others |= {name for name in os.listdir(PICTURES)  # test_theory_figures.py
                   if name.startswith(("dynamical-", "crc-", "npc-"))}
        self.assertEqual(set(os.listdir(PICTURES)) - others, {f"{n}.svg" for n in self.every})
        for name in self.every:
            with self.subTest(name):
                path = os.path.join(PICTURES, name + ".svg")
                self.assertLess(os.path.getsize(path), LARGEST)
                title = xml.parse(path).getroot()[0].text
                self.assertTrue(title.startswith(name + ": "), title)

    def test_charts_show_the_current_picks(self):
        # Rounding of another processor can change draws, so half of the picks must agree.
        with tempfile.TemporaryDirectory(prefix="scant-test-") as folder:
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "pictures"), BUILD,
                                   folder], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in self.every:
                with self.subTest(name):
                    new = picked(os.path.join(folder, name + ".svg"))
                    old = picked(os.path.join(PICTURES, name + ".svg"))
                    self.assertTrue(new)
                    self.assertGreaterEqual(len(new & old), len(new) / 2, "run make pictures")

    def test_the_readme_links_to_it(self):
        self.assertIn("](docs/strategies.md)", read("README.md"))


if __name__ == "__main__":
    unittest.main()
