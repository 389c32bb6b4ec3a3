# SPDX-License-Identifier: Apache-2.0
"""The files in experiments/ stay valid: all keys exist and print with the given values."""
import configparser
import glob
import itertools
import os
import re
import unittest

from scantcli import ROOT, Case

FOLDER = os.path.join(ROOT, "experiments")
FILES = sorted(glob.glob(os.path.join(FOLDER, "*.ini")))


def expand(name):
    """Expands a-{b,c}.ini to a-b.ini and a-c.ini."""
    parts = [part.split(",") for part in re.split(r"[{}]", name)]
    return ["".join(choice) for choice in itertools.product(*parts)]


class Experiments(Case):
    def test_every_file_prints_as_an_equal_experiment(self):
        self.assertGreater(len(FILES), 20)
        for path in FILES:
            with self.subTest(os.path.basename(path)):
                printed = self.ok("run", path, "--print")
                again = self.path("again.ini")
                with open(again, "w", encoding="utf-8") as file:
                    file.write(printed)
                self.assertEqual(self.ok("run", again, "--print"), printed)
                self.check_values(path, printed)

    def check_values(self, path, printed):
        """Every value of the file is printed."""
        given, shown = (configparser.ConfigParser(inline_comment_prefixes=(";", "#"),
                                                  interpolation=None) for _ in range(2))
        given.read(path, encoding="utf-8")
        shown.read_string(printed)
        for section in given.sections():
            for key, value in given[section].items():
                self.assertIn(key, shown[section])
                got = shown[section][key].replace("\n", "")
                try:
                    self.assertEqual(float(got), float(value), key)
                except ValueError:
                    self.assertEqual(got, value, key)

    def test_every_file_is_listed_with_a_smaller_version_for_a_cpu(self):
        listed, small = set(), set()
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            rows = [line.split("|")[1:-1] for line in file if line.startswith("| `")]
        for row in rows:
            names = [name for cell in re.findall(r"`([^`]+)`", row[0]) for name in expand(cell)]
            smaller = re.findall(r"`([^`]+)`", row[3])
            self.assertTrue(smaller or names == ["demo.ini"], row)
            listed.update(names)
            small.update(smaller)
        self.assertEqual(listed | small, {os.path.basename(path) for path in FILES})
        self.assertTrue(all(name.startswith("small-") for name in small))


if __name__ == "__main__":
    unittest.main()
