# SPDX-License-Identifier: Apache-2.0
"""The examples and tables of the README agree with the program."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SCANT_BUILD", os.path.join(ROOT, "build"))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class Readme(unittest.TestCase):
    def test_the_example_prints_the_shown_output(self):
        made = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "points"), BUILD],
                              capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        block = re.search(r"test_readme\.py -->\n```console\n\$ (.*)\n((?:.*\n)*?)```",
                          read("README.md"))
        command = block[1].replace("build/", BUILD + "/").split()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, block[2])

    def test_the_commands_of_the_training_section_work(self):
        text = read("README.md").split("## Train and embed")[1].split("\n## ")[0]
        lines = re.findall(r"(?m)^    (scant .*)$", text)
        self.assertEqual([line.split()[1] for line in lines], ["train", "embed", "select"])
        path = BUILD + os.pathsep + os.environ["PATH"]
        with tempfile.TemporaryDirectory() as folder:
            for line in lines:
                done = subprocess.run(line.split(), cwd=folder, capture_output=True, text=True,
                                      env=dict(os.environ, PATH=path), check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 6)

    def test_the_table_lists_every_strategy_in_order(self):
        listed = subprocess.run([os.path.join(BUILD, "scant"), "strategies", "--format",
                                 "json"], capture_output=True, text=True, check=True).stdout
        names = [one["name"] for one in json.loads(listed)]
        table = read("README.md").split("## Strategies")[1].split("\n## ")[0]
        self.assertEqual(re.findall(r"^\| `([^`]+)`", table, re.M), names)


if __name__ == "__main__":
    unittest.main()
