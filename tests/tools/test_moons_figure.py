# SPDX-License-Identifier: Apache-2.0
"""tools/moons-figure: the border of the Pi-model follows the moons once there are 8 labels."""
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
    def test_the_border_follows_the_moons_at_8_labels(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "moons.svg")
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "moons-figure"), BUILD,
                                   picture, "8"], capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            root = xml.etree.ElementTree.parse(picture).getroot()
        said = re.findall(r"(\d+) labels: ([\d.]+) %", done.stdout)
        self.assertEqual([int(labels) for labels, _ in said], [4, 6, 8])
        self.assertLess(float(said[0][1]), float(said[2][1]))
        self.assertGreaterEqual(float(said[2][1]), 99)
        svg = "{http://www.w3.org/2000/svg}"
        for labels, panel in zip((4, 6, 8), root.findall(svg + "g")):
            self.assertEqual(len(panel.findall(svg + "circle")), labels)


if __name__ == "__main__":
    unittest.main()
