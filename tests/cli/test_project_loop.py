# SPDX-License-Identifier: Apache-2.0
"""Projects from end to end: query, label, train and status in loops that end by the stop rule."""
import csv
import json
import os
import subprocess
import unittest

import numpy as np

from projectcase import CLASSES, ProjectCase, blobs
from scantcli import SCANT, run

STATUS = {"dir", "kind", "created", "items", "copies", "withheld", "labelled", "training",
          "audited", "disputed", "skipped", "unsure", "entries", "picked", "waiting", "untrained",
          "classes", "people", "agreements", "rounds", "models", "meter", "advice", "stop",
          "collapsed"}
MODEL = {"model", "round", "time", "labels", "audited", "right", "accuracy", "low", "high",
         "agreement", "seconds", "file"}
METER = {"accuracy", "low", "high", "left_out", "added", "over_random", "over_random_low", "over_random_high",
         "over_random_labels", "per_ten", "per_ten_high", "narrow", "fading", "agreeing", "stop"}

# Small blobs are learned at once, so the stop rule can hold after few labels.
EASY = ("--set", "audit_every=2", "--set", "batch=10", "--set", "stop_width=0.3",
        "--set", "stop_labels=20")

ORACLE = """
import csv, sys
truth = {truth!r}
print("id,label")
for row in csv.DictReader(open(sys.argv[1])):
    print(f"{{row['id']}},{{truth[row['id']]}}")
"""


class Loop(ProjectCase):
    def test_a_project_of_rows_from_the_first_query_to_predictions(self):
        project, truth = self.blobs(300)
        first = self.label(project, truth, "--batch", "20")
        self.assertEqual(len(first), 20)
        self.assertEqual([int(row["rank"]) for row in first], list(range(1, 21)))
        self.assertEqual(len({row["index"] for row in first}), 20)
        audits = [row for row in first if row["role"] == "audit"]
        self.assertEqual(len(audits), 2)  # one in ten
        self.assertTrue(all(row["score"] == "" for row in audits))
        self.assertTrue(all(float(row["score"]) == float(row["score"]) for row in first
                            if row["role"] == "pick"))
        state = self.status(project)
        self.assertEqual((state["labelled"], state["training"], state["audited"]), (20, 18, 2))
        self.assertEqual((state["waiting"], state["untrained"]), (0, 18))

        text = self.ok("train", project)
        self.assertRegex(text, r"model 1: 18 labels, .* s\naccuracy: .*interval .* of 2\)")
        second = self.label(project, truth, "--batch", "20", "--strategy", "margin")
        self.assertFalse({row["id"] for row in first} & {row["id"] for row in second})
        done = run("train", project, "--format", "json", "--threads", "1")
        self.assertIn(done.returncode, (0, 10), done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(set(told), MODEL | {"meter", "stop"})
        self.assertEqual(set(told["meter"]), METER)
        self.assertEqual((told["model"], told["labels"], told["audited"]), (2, 36, 4))

        state = self.status(project)
        self.assertEqual(set(state), STATUS)
        self.assertEqual(set(state["models"][1]), MODEL)
        self.assertEqual([one["strategy"] for one in state["rounds"]], ["random", "margin"])
        self.assertEqual([one["model"] for one in state["rounds"]], [0, 1])
        self.assertEqual(sum(one["labels"] for one in state["classes"]), 40)
        self.assertEqual(state["people"], [{"name": "import", "answers": 40, "labels": 40,
                                            "median_seconds": None}])
        text = run("status", project).stdout
        for word in ("300 feature rows", "40: 36 for training, 4 audited", "MODEL", "import",
                     *CLASSES):
            self.assertIn(word, text)
        # most predictions are right
        rows = list(csv.DictReader(self.ok("predict", project).splitlines()))
        self.assertEqual(len(rows), 300)
        right = np.mean([row["class"] == truth[int(row["id"])] for row in rows])
        self.assertGreater(right, 0.9)

    def test_columns_of_any_scale_are_learned_from(self):
        rows, truth = blobs(300)
        names = [CLASSES[c] for c in truth]
        project = self.path("tiny")
        self.ok("new", project, "--features", self.save("rows", rows * np.float32(1e-18)),
                "--classes", ",".join(CLASSES), "--quiet")
        self.label(project, names, "--batch", "40")
        self.ok("train", project)
        rows = list(csv.DictReader(self.ok("predict", project).splitlines()))
        self.assertGreater(np.mean([row["class"] == names[int(row["id"])] for row in rows]), 0.9)

    def test_a_collapsed_training_leaves_the_model_before(self):
        project, truth = self.blobs(200)
        self.label(project, truth, "--batch", "30")
        self.ok("set", project, "model=mlp", "lr=10")  # a hundred times too large
        done = run("train", project)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        for words in ("repeated once with another seed", "27 labels collapsed", "still no model", "a smaller lr"):
            self.assertIn(words, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(project, "models")))
        state = self.status(project)
        self.assertEqual((state["models"], state["collapsed"]["model"], state["collapsed"]["labels"]), ([], None, 27))
        self.assertIn("The last training failed", state["advice"])

        self.ok("set", project, "lr=auto")
        self.ok("train", project)
        self.assertIsNone(self.status(project)["collapsed"])
        predictions = self.ok("predict", project)
        self.ok("set", project, "lr=10")
        self.label(project, truth, "--batch", "10")
        self.assertIn("model 1 is still used", run("train", project).stderr)
        self.assertEqual(self.ok("predict", project), predictions)
        state = self.status(project)
        self.assertEqual([model["model"] for model in state["models"]], [1])
        self.assertEqual(set(state["collapsed"]), {"time", "labels", "model", "signs", "found", "same"})
        self.assertEqual((state["collapsed"]["model"], state["collapsed"]["signs"]), (1, "diverged"))
        self.assertTrue(state["collapsed"]["same"])
        self.assertEqual(state["meter"]["accuracy"], state["models"][0]["accuracy"])
        text = " ".join(run("status", project).stdout.split())
        for words in ("models 1; 9 labels since the last; the last training failed", "model 1 is still used"):
            self.assertIn(words, text)
        [*_, last] = json.loads(self.ok("log", project, "--events", "--format", "json"))
        self.assertEqual((last["kind"], last["text"]["used"], last["text"]["labels"]), ("collapsed", 1, 36))

    def test_images_are_learned_without_a_backbone(self):
        folder, truth = self.images(60)
        project = self.path("p")
        self.ok("new", project, "--images", folder, "--classes", ",".join(CLASSES), "--quiet",
                "--set", "epochs=20")
        rows = self.label(project, truth, "--batch", "30")
        self.assertTrue(all(row["id"] in truth for row in rows))
        self.ok("train", project)
        told = {row["id"]: row["class"] for row in
                csv.DictReader(self.ok("predict", project, "--unlabelled").splitlines())}
        self.assertEqual(len(told), 30)
        self.assertGreater(np.mean([truth[one] == told[one] for one in told]), 0.7)

    def test_the_loop_in_the_help_ends_by_the_stop_rule(self):
        project, truth = self.blobs(600, flags=EASY)
        self.write("oracle.py", ORACLE.format(truth={str(i): c for i, c in enumerate(truth)}))
        call = next(line for line in run("query", "--help").stdout.replace("\n      ", " ")
                    .splitlines() if "while scant query" in line)
        call = call.strip().replace("birds", project)
        call = call.replace("./ask-people batch.csv", "/usr/bin/python3 oracle.py batch.csv")
        environment = dict(os.environ, PATH=os.path.dirname(SCANT) + os.pathsep
                           + os.environ["PATH"])
        done = subprocess.run(["bash", "-c", call], cwd=self.dir, capture_output=True, text=True,
                              timeout=200, env=environment, check=False)
        state = self.status(project)
        self.assertTrue(state["stop"], (state, done.stderr))
        self.assertLess(state["labelled"], 600)
        for command in ("status", "query", "train"):
            self.assertEqual(run(command, project).returncode, 10)
        self.assertGreater(state["meter"]["accuracy"], 0.9)

    def test_a_loop_ends_when_no_item_is_left(self):
        project, truth = self.blobs(40, flags=("--set", "batch=15"))
        for _ in range(10):
            done = run("query", project, "--out", self.path("b.csv"))
            with open(self.path("b.csv"), newline="") as file:
                rows = list(csv.DictReader(file))
            if done.returncode:
                break
            self.assertTrue(rows)
            self.ok("label", project, "--import", self.answers(rows, truth))
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertEqual(rows, [])
        self.assertIn("nothing is left", done.stderr)

    def test_without_labels_there_is_no_model(self):
        project, truth = self.blobs(50)
        self.fails(2, "train", project, says="no label to learn from yet")
        self.fails(2, "predict", project, says="model")
        self.fails(2, "export", project, "--model", self.path("m.safetensors"), says="no model yet")
        self.assertFalse(os.path.exists(self.path("m.safetensors")))
        state = self.status(project)
        self.assertEqual((state["models"], state["stop"]), ([], False))
        self.assertIsNone(state["meter"]["accuracy"])
        one = self.write("one.csv", f"id,label\n3,{truth[3]}\n")
        self.ok("label", project, "--import", one)
        self.fails(2, "train", project, says="two classes")

    def test_flags_of_trainings_without_a_project_are_refused(self):
        project, truth = self.blobs(60)
        self.label(project, truth, "--batch", "20")
        for words in (("--epochs", "3"), ("--model", "mlp"), ("--data", "moons"), ("--out", "x"),
                      ("--resume",), ("--batch", "8")):
            self.fails(2, "train", project, *words, says=(words[0], "for a training without"))
        self.ok("train", project, "--seed", "3", "--memory", "1G", "--quiet")
        self.fails(2, "train", project, "more", says="unexpected argument")

    def test_the_same_answers_give_the_same_picks(self):
        def run_loop(name):
            project, truth = self.blobs(200, name=name)
            rows = self.label(project, truth, "--batch", "20")
            self.ok("train", project)
            return rows, self.batch(project, "--batch", "10"), self.ok("predict", project)

        self.assertEqual(run_loop("a"), run_loop("b"))


class Query(ProjectCase):
    def test_all_formats_have_the_picks(self):
        project, _ = self.blobs(100)
        out = self.path("b.npy")
        self.assertEqual(self.ok("query", project, "--batch", "12", "--out", out), "")
        items = np.load(out)
        self.assertEqual((items.dtype, items.shape), (np.int64, (12,)))
        told = json.loads(self.ok("query", project, "--batch", "12", "--format", "json"))
        self.assertEqual(set(told), {"round", "strategy", "batch", "stop", "picks"})
        self.assertEqual((told["round"], told["strategy"], told["batch"]), (2, "random", 12))
        self.assertEqual(set(told["picks"][0]), {"index", "id", "weight", "score", "role"})
        self.assertEqual({one["role"] for one in told["picks"]}, {"pick", "audit"})

    def test_strategies_and_options_are_checked(self):
        project, truth = self.blobs(100)
        self.label(project, truth, "--batch", "30")
        self.ok("train", project)
        self.fails(2, "query", project, "--strategy", "bagde", says="'badge'")
        self.fails(2, "query", project, "--strategy", "badge", "--opt", "biass=1", says="'bias'")
        self.fails(2, "query", project, "--strategy", "bald", says="train again")
        self.fails(2, "set", project, "audit_most=7", says="before the first answer")
        self.assertEqual(len(self.batch(project, "--strategy", "badge", "--opt", "bias=1",
                                        "--batch", "9")), 9)

    def test_a_query_that_cannot_be_written_stores_no_round(self):
        project, _ = self.blobs(30)
        self.fails(4, "query", project, "--out", self.path("none/b.csv"), says="cannot be written")
        self.fails(2, "query", project, "--out", project + "/project.db", says="database")
        self.assertEqual(self.status(project)["rounds"], [])

    def test_after_an_import_half_of_a_batch_is_audited(self):
        project, truth = self.blobs(400)
        first = self.batch(project, "--batch", "300")
        picks = [row for row in first if row["role"] == "pick"][:200]
        self.ok("label", project, "--import", self.answers(picks, truth))
        rows = self.batch(project, "--batch", "10")
        self.assertEqual(sum(row["role"] == "audit" for row in rows), 5)  # never more than half

    def test_with_batches_of_one_every_nth_item_is_audited(self):
        project, truth = self.blobs(100, flags=("--set", "audit_every=4"))
        roles = [self.label(project, truth, "--batch", "1")[0]["role"] for _ in range(12)]
        self.assertEqual(roles, (["pick"] * 3 + ["audit"]) * 3)
        none, truth = self.blobs(100, name="q", flags=("--set", "audit_every=0"))
        self.assertEqual({row["role"] for row in self.label(none, truth, "--batch", "30")},
                         {"pick"})


class NoProject(ProjectCase):
    COMMANDS = ("status", "train", "query", "predict", "export", "log", "set", "add")

    def test_a_folder_without_a_project_is_refused(self):
        os.mkdir(self.path("p"))
        self.write("file", "x")
        for command in self.COMMANDS:
            with self.subTest(command):
                self.fails(3, command, self.path("p"), says=self.path("p"))
                self.fails(3, command, self.path("nowhere"), says=self.path("nowhere"))
                self.fails(3, command, self.path("file"), says=self.path("file"))
        self.fails(3, "label", self.path("p"), "--import", self.path("file"), says=self.path("p"))
        self.assertEqual(os.listdir(self.path("p")), [])

    def test_a_missing_folder_argument_is_refused(self):
        for command in self.COMMANDS:
            if command != "train":
                self.fails(2, command, says="which project?")

    def test_a_database_of_a_later_version_or_another_kind_is_refused(self):
        import sqlite3
        project, _ = self.blobs(20)
        with sqlite3.connect(project + "/project.db") as base:
            version = base.execute("PRAGMA user_version").fetchone()[0]
            self.assertGreater(version, 0)
            base.execute(f"PRAGMA user_version = {version + 7}")
        base.close()
        for command in self.COMMANDS:
            self.fails(3, command, project, says="later version")
        self.write("q/project.db", "no database at all, whatever its name says " * 100)
        self.fails(3, "status", self.path("q"), says="q")


class Help(ProjectCase):
    def test_exit_status_10_is_documented(self):
        self.assertRegex(self.ok("--help"), r"(?m)^  10 +.*stop rule")
        self.assertIn(".It 10", self.ok("man"))

    def test_every_command_has_examples(self):
        for command in ("new", "add", "status", "query", "label", "predict", "export", "log", "set"):
            text = self.ok(command, "--help")
            self.assertIn(f"scant {command} ", text)
            self.assertIn("Example", text)
            self.assertTrue(all(len(line) <= 80 or line.startswith("    ")
                                for line in text.splitlines()), command)
            self.assertIn(f".Ss scant {command}\n", self.ok("man"))


if __name__ == "__main__":
    unittest.main()
