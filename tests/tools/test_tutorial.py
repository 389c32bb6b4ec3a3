# SPDX-License-Identifier: Apache-2.0
"""docs/projects.md: its commands work, and the commands, flags and files it names exist."""
import csv
import gzip
import json
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SCANT_BUILD", os.path.join(ROOT, "build"))
SCANT = os.path.join(BUILD, "scant")
SHARED = os.environ.get("SCANT_SHARED_DATA", "")
PHOTOS = os.path.join(SHARED, "caltech20")
WEIGHTS = os.path.join(SHARED, "pretrained", "mobilenetv2-imagenet.safetensors")
FASHION = "/usr/share/datasets/fashion-mnist"


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def scant(*args, cwd=None):
    return subprocess.run([SCANT, *args], cwd=cwd, capture_output=True, text=True, check=False)


SERVES = scant("serve", "--help").returncode == 0  # only in builds with libmicrohttpd


class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = read("docs", "projects.md")
        cls.section = cls.page.split("\n## Five minutes\n")[1].split("\n## ")[0]

    @unittest.skipUnless(os.path.isdir(FASHION), "no package dataset-fashion-mnist")
    def test_its_commands_work(self):
        calls = re.findall(r"(?m)^\$ scant (.*)$", self.section)
        self.assertEqual([call.split()[0] for call in calls],
                         ["new", "serve", "status", "export", "predict"])
        with tempfile.TemporaryDirectory(prefix="scant-test-") as folder:
            for call in calls:
                if call.startswith("serve"):
                    self.label(folder)  # in place of people at the page
                    continue
                done = scant(*call.split(), cwd=folder)
                self.assertEqual(done.returncode, 0, (call, done.stderr))
            with open(os.path.join(folder, "labels.csv"), newline="", encoding="utf-8") as file:
                self.assertEqual(len(list(csv.DictReader(file))), 60000)
            for name in ("clothes.safetensors", "predictions.csv"):
                self.assertGreater(os.path.getsize(os.path.join(folder, name)), 1000)

    def label(self, folder):
        """Imports the true labels of forty items and trains a model."""
        with gzip.open(FASHION + "/train-labels-idx1-ubyte.gz") as file:
            truth = file.read()[8:]
        told = json.loads(scant("query", "clothes", "--batch", "40", "--format", "json",
                                cwd=folder).stdout)
        names = [one["name"] for one in json.loads(
            scant("status", "clothes", "--format", "json", cwd=folder).stdout)["classes"]]
        with open(os.path.join(folder, "a.csv"), "w", encoding="utf-8") as file:
            file.write("id,label\n")
            for pick in told["picks"]:
                file.write(f"{pick['id']},{names[truth[pick['index']]]}\n")
        for call in (("label", "clothes", "--import", "a.csv"), ("train", "clothes")):
            done = scant(*call, cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(os.path.isdir(PHOTOS) and os.path.isfile(WEIGHTS), "no photographs here")
    def test_photographs_with_a_backbone_need_few_labels(self):
        call = re.search(r"(?m)^    scant (new birds .*)$", self.section)[1]
        classes = sorted(os.listdir(PHOTOS))
        call = call.replace("photos/", PHOTOS).replace("imagenet.safetensors", WEIGHTS)
        call = call.replace("robin,wren,tit", ",".join(classes))
        with tempfile.TemporaryDirectory(prefix="scant-test-") as folder:
            done = scant(*call.split(), cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            for _ in range(2):
                told = json.loads(scant("query", "birds", "--batch", "60", "--format", "json",
                                        cwd=folder).stdout)
                with open(os.path.join(folder, "a.csv"), "w", encoding="utf-8") as file:
                    file.write("id,label\n")
                    file.writelines(f"{pick['id']},{pick['id'].split('/')[0]}\n"
                                    for pick in told["picks"])
                for words in (("label", "birds", "--import", "a.csv"), ("train", "birds")):
                    done = scant(*words, cwd=folder)
                    self.assertIn(done.returncode, (0, 10), done.stderr)
            rows = list(csv.DictReader(scant("predict", "birds", "--unlabelled",
                                             cwd=folder).stdout.splitlines()))
            right = sum(row["class"] == row["id"].split("/")[0] for row in rows) / len(rows)
            print(f"{len(classes)} classes of photographs, 120 labels: {right:.3f} right")
            self.assertGreater(right, 0.8)

    def test_its_images_and_links_exist(self):
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", self.page):
            with self.subTest(link):
                self.assertTrue(os.path.exists(os.path.join(ROOT, "docs", link)))

    def test_the_listed_commands_exist(self):
        listed = re.findall(r"(?m)^\| `scant (\w+) DIR` \|", self.page)
        self.assertEqual(len(listed), 11)
        for name in listed:
            if SERVES or name != "serve":
                self.assertTrue(scant(name, "--help").stdout.startswith("Usage: scant " + name))

    def test_its_loop_is_that_of_the_help(self):
        loop = self.page.split("```sh\n")[1].split("```")[0]
        loop = re.sub(r"\s+", " ", loop.strip().replace("; do\n", "; do ")
                      .replace("csv\n", "csv;\n").replace("birds\n", "birds;\n"))
        self.assertIn(loop, scant("query", "--help").stdout)

    def test_the_named_flags_exist(self):
        names = ("new", "add", "status", "query", "label", "train", "predict", "export", "log",
                 "set", "embed", *(["serve"] if SERVES else []))
        helps = "".join(scant(name, "--help").stdout for name in names)
        known = set(re.findall(r"(?m)^  (--[a-z-]+)", helps))
        text = self.page if SERVES else re.sub(r"scant serve[^`\n]*", "", self.page)
        self.assertEqual(set(re.findall(r"--[a-z][a-z-]+", text)) - known - {"--help"}, set())


if __name__ == "__main__":
    unittest.main()
