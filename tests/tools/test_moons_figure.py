# SPDX-License-Identifier: Apache-2.0
"""tools/moons-figure: the decision boundary of the Pi-model follows the moons; with labels alone it does not."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SCANT_BUILD", os.path.join(ROOT, "build"))


class MoonsFigure(unittest.TestCase):
    def test_unlabelled_points_make_the_boundary_follow_the_moons(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "moons.svg")
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "moons-figure"), BUILD,
                                   picture, "8"], capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            root = xml.etree.ElementTree.parse(picture).getroot()
        said = re.findall(r"(\d+) labels( alone)?: ([\d.]+) %", done.stdout)
        self.assertEqual([(int(labels), bool(alone)) for labels, alone, _ in said],
                         [(4, True), (4, False), (6, False), (8, False)])
        alone, *with_others = (float(right) for _, _, right in said)
        self.assertLess(alone, 92)
        self.assertGreaterEqual(min(with_others), 98)
        svg = "{http://www.w3.org/2000/svg}"
        self.assertEqual(len(root.findall(svg + "g")), 4)
        for labels, panel in zip((4, 4, 6, 8), root.findall(svg + "g")):
            self.assertEqual(len(panel.findall(svg + "circle")), labels)


if __name__ == "__main__":
    unittest.main()
