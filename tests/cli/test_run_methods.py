# SPDX-License-Identifier: Apache-2.0
"""`scant run` with semi-supervised training.

(Which labels such a training may see, and how it resumes: tests/loop/test_method.c, test_partial.c.)
"""
import json
import os
import unittest

import numpy as np

from runcase import MOONS, RunCase, sets
from scantcli import run

CIFAR = os.path.join(os.environ.get("SCANT_SHARED_DATA", ""), "cifar10_test_5000.bin.xz")
METHODS = ("fixmatch", "freematch", "softmatch", "mean-teacher", "pi", "pseudo-label")


class Methods(RunCase):
    def events(self, out, kind):
        with open(os.path.join(out, "log.jsonl")) as file:
            return [event for event in map(json.loads, file) if event["event"] == kind]

    def test_rounds_report_the_unlabelled_samples(self):
        done = run("run", *sets(MOONS, train__method="fixmatch", train__steps=30, loop__seeds=0,
                                      train__fixmatch_threshold=0.6, loop__strategies="crc"),
                         "--threads", 1, "--out", self.path("out"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"round 1/3 .* loss [\d.e-]+ \+ [\d.e-]+  kept \d+%  balance [01]\.\d\d")
        for event in self.events(self.path("out"), "round"):
            self.assertGreater(event["train_loss"], 0)
            self.assertGreater(event["unlabelled_loss"], 0)
            self.assertTrue(0 < event["kept"] <= 1 and 0 <= event["balance"] <= 1)

    def test_supervised_rounds_report_no_unlabelled_samples(self):
        out = self.run_experiment("out", loop__strategies="random", loop__seeds=0)
        for event in self.events(out, "round"):
            self.assertIn("train_loss", event)
            self.assertNotIn("kept", event)

    def test_collapsed_trainings_are_repeated_and_recorded(self):
        more = {"train__lr": 40, "train__epochs": 60, "loop__strategies": "random", "loop__seeds": 0}
        for retry, trainings in (("yes", "2"), ("no", "1")):
            done = run("run", *sets(MOONS, loop__retry_collapsed=retry, **more), "--threads", 1,
                       "--out", self.path(retry))
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = self.rows(self.path(retry), "trainings.csv")
            self.assertEqual([row["round"] for row in rows], ["0", "1", "2", "3"])
            self.assertIn(trainings, [row["trainings"] for row in rows])
            self.assertTrue(any("dead-units" in row["signs"].split() and float(row["dead"]) >= 0.9 for row in rows))
            self.assertEqual("trained again" in done.stderr, retry == "yes")
            self.assertEqual("the training has collapsed" in done.stderr, retry == "yes")
            rounds = self.events(self.path(retry), "round")
            self.assertEqual([(str(e["trainings"]), e["signs"]) for e in rounds],
                             [(row["trainings"], row["signs"]) for row in rows])

    def test_sound_trainings_are_not_repeated(self):
        rows = self.rows(self.run_experiment("out", train__lr=0.1), "trainings.csv")
        self.assertEqual({(row["trainings"], row["signs"]) for row in rows}, {("1", "")})

    def test_a_warm_up_longer_than_a_training_is_refused(self):
        self.fails(2, "run", *sets(MOONS, train__warmup=9), "--out", self.path("out"),
                   says=["warmup of 9 steps is longer than the training", "8 steps"])
        self.fails(2, "run", *sets({}, data__train="missing", train__warmup=9, train__steps=8), "--print",
                   says=["train.warmup is 9, expected at most 8 (train.steps)"])
        self.ok("run", *sets(MOONS, train__warmup=8, train__steps=8), "--print")

    def test_print_writes_an_equal_experiment(self):
        flags = sets(MOONS, train__method="mean-teacher", train__steps=20, loop__seeds=0)
        with open(self.path("a.ini"), "w") as file:
            file.write(self.ok("run", *flags, "--print"))
        self.ok("run", *flags, "--threads", 1, "--out", self.path("a"))
        self.ok("run", self.path("a.ini"), "--threads", 1, "--out", self.path("b"))
        self.assertEqual(self.results(self.path("a")), self.results(self.path("b")))
        self.ok("run", self.path("a.ini"), "--resume", "--out", self.path("a"))  # accepted as the same experiment

    def test_cross_fitting_works_with_a_method(self):
        out = self.run_experiment("out", train__method="fixmatch", train__steps=20, loop__seeds=0,
                                  loop__strategies="sparse-greedy", loop__rounds=1, loop__initial=10)
        self.assertEqual([how for how, _ in self.calibrated(out)], ["cross-fitting"])

    def test_cross_fitting_does_not_warn_about_held_out_labels(self):
        def warnings(initial):
            out = self.run_experiment(f"out{initial}", train__method="fixmatch", train__steps=2, loop__seeds=0,
                                      loop__strategies="sparse-greedy", loop__rounds=1, loop__initial=initial,
                                      loop__initial_how="balanced")
            told = [how for how, _ in self.calibrated(out)]  # a single label cannot be held out
            self.assertEqual(told, ["cross-fitting"] if initial > 1 else [])
            return [event["text"] for event in self.events(out, "warning") if "labelled" in event["text"]]
        self.assertEqual(warnings(2), [])  # although each fold has only one class
        self.assertIn("no sample is labelled as class", warnings(1)[0])

    def test_a_darp_target_changes_the_results_and_is_checked(self):
        def run_experiment(name, **more):
            return self.results(self.run_experiment(name, train__method="fixmatch", train__steps=12, loop__seeds=0,
                                                    train__darp="yes", train__darp_warmup=0, loop__strategies="crc",
                                                    train__fixmatch_threshold=0.6, loop__rounds=1, **more))
        target = self.path("t.npy")
        np.save(target, np.array([2.0, 2.0]))
        even = run_experiment("even", train__darp_target=target)
        self.assertEqual(even, run_experiment("none"))
        np.save(target, np.array([1, 9]))
        self.assertNotEqual(even, run_experiment("odd", train__darp_target=target))
        with open(self.path("odd/experiment.ini")) as file:
            self.assertIn(f"\ndarp_target = {target}\n", file.read())
        np.save(target, np.array([1, 8]))  # changed since the start
        self.fails(3, "run", self.path("odd/experiment.ini"), "--resume", "--out", self.path("odd"),
                   says="samples")
        for wrong, says in ((np.ones(3), "has shape 3, expected 2 numbers, one for each class"),
                            (np.ones((1, 2)), "has shape 1 x 2, expected 2 numbers"), (np.array([1, -1]), "class 1 is -1"),
                            (np.zeros(2), "all classes are 0"), (np.array([1, np.nan]), "not a finite number")):
            np.save(target, wrong)
            self.fails(3, "run", *sets(MOONS, train__method="fixmatch", train__darp="yes",
                                       train__darp_target=target), "--out", self.path("w"),
                       says=[target, says])
        self.assertIn("ignored because train.darp = no: darp_target", run("run", *sets(
            MOONS, train__method="fixmatch", train__darp_target=target), "--print").stderr)

    def test_alignment_and_its_target_change_the_results(self):
        def run_experiment(name, **more):
            return self.results(self.run_experiment(name, train__method="freematch", train__steps=12, loop__seeds=0,
                                                    loop__strategies="crc", loop__rounds=1, **more))
        target = self.path("t.npy")
        np.save(target, np.array([1, 9]))
        results = [run_experiment("off"), run_experiment("on", train__freematch_align="yes"),
                   run_experiment("odd", train__freematch_align="yes", train__darp_target=target),
                   run_experiment("labels", train__freematch_align="yes", train__darp_target="labelled",
                                  loop__initial=5)]
        self.assertEqual(len(set(map(str, results))), 4)
        self.assertNotEqual(str(results[3]), str(run_experiment("uniform", train__freematch_align="yes",
                                                                loop__initial=5)))
        with open(self.path("labels/experiment.ini")) as file:
            text = file.read()
        self.assertIn("\nfreematch_align = yes\n", text)
        self.assertIn("\ndarp_target = labelled\n", text)
        self.assertNotIn("\ndarp = ", text)
        said = run("run", *sets(MOONS, train__method="freematch", train__darp_target=target), "--print").stderr
        self.assertIn("ignored because train.freematch_align = no: darp_target", said)
        said = run("run", *sets(MOONS, train__method="softmatch", train__darp_target=target), "--print").stderr
        self.assertEqual(said, "")
        self.fails(2, "run", *sets(MOONS, train__method="fixmatch", train__darp="yes", train__fixmatch_align="yes"),
                   "--out", self.path("w"), says="align also moves predictions")

    @unittest.skipUnless(os.path.isdir("/usr/share/datasets/fashion-mnist"), "no fashion-mnist here")
    def test_every_method_completes_on_a_slice_of_fashion_mnist(self):
        small = {"data.train": "fashion-mnist", "data.pool": 200, "data.test_size": 100,
                 "model.name": "lenet5", "train.steps": 4, "train.batch": 8, "loop.initial": 10,
                 "loop.initial_how": "balanced", "loop.batch": 10, "loop.rounds": 1,
                 "loop.seeds": 0, "loop.strategies": "npc,crc"}
        for method in METHODS:
            with self.subTest(method):
                flags = sets(small, train__method=method)
                self.ok("run", *flags, "--threads", 1, "--out", self.path(method))
                curve = self.rows(self.path(method), "curve.csv")
                self.assertEqual([(row["strategy"], row["labels"]) for row in curve],
                                 [(name, n) for name in ("npc", "crc") for n in ("10", "20")])

    @unittest.skipUnless(os.path.exists(CIFAR), "no CIFAR-10 in SCANT_SHARED_DATA")
    def test_npc_and_crc_complete_on_colour_images(self):
        flags = sets({"data.train": CIFAR, "data.pool": 200, "data.test_size": 100, "model.name": "cnn",
                      "train.method": "fixmatch", "train.darp": "yes", "train.augment": "flip-crop",
                      "train.steps": 4, "train.batch": 8, "loop.initial": 10, "loop.rounds": 2,
                      "loop.initial_how": "balanced", "loop.batch": 10, "loop.seeds": 0,
                      "loop.strategies": "npc,crc"})
        self.ok("run", *flags, "--threads", 1, "--out", self.path("out"))
        self.assertEqual([row["labels"] for row in self.rows(self.path("out"), "curve.csv")],
                         2 * ["10", "20", "30"])


if __name__ == "__main__":
    unittest.main()
