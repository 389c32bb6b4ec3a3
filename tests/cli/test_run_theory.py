# SPDX-License-Identifier: Apache-2.0
"""theory.csv and train.lr = auto, from outside. (The figures themselves: tests/loop/test_theory.c.)"""
import json
import os
import unittest

import numpy as np

from runcase import MOONS, RunCase, sets

HEADER = ["strategy", "seed", "round", "labels", "layers", "lambda", "largest", "rank", "dynamics",
          "ratio", "alignment", "bound", "mmd", "epochs", "horizon", "lr_advice"]
FIGURES = [name for name in HEADER[5:] if name != "horizon"]  # known only if epochs are evaluated


class TheoryCase(RunCase):
    def rounds(self, out):
        with open(os.path.join(out, "log.jsonl")) as file:
            return [event for event in map(json.loads, file) if event["event"] == "round"]

    def known(self, row):
        return {name for name in FIGURES if row[name]}


class Theory(TheoryCase):
    def test_every_round_has_a_row_with_the_known_figures(self):
        out = self.run_experiment("out", train__until=0.99, train__epochs=40, train__lr=0.1)
        rows, curve = self.rows(out, "theory.csv"), self.rows(out, "curve.csv")
        self.assertEqual(list(rows[0]), HEADER)
        self.assertEqual([[row[key] for key in HEADER[:4]] for row in rows],
                         [[row[key] for key in HEADER[:4]] for row in curve])
        for row, event in zip(rows, self.rounds(out)):
            last = row["round"] == "3"
            self.assertEqual(row["layers"], "last")
            self.assertEqual(self.known(row), set(FIGURES) - ({"ratio"} if last else set()))
            self.assertLessEqual(0, float(row["lambda"]))
            self.assertLess(float(row["lambda"]), float(row["largest"]))
            self.assertLessEqual(int(row["rank"]), min(17, int(row["labels"])))
            self.assertIn(int(row["epochs"]), range(1, 41))
            for name in self.known(row):  # the log has the rounds in the same order
                self.assertEqual(float(row[name]), event[name])
            self.assertGreater(event["lr_stable"], 0)
        # a training ends when the accuracy is reached, so the epochs differ
        self.assertGreater(len({row["epochs"] for row in rows}), 1)

    def test_descent_diverges_above_the_stable_rate(self):
        for name, more in (("numbers", {"data__train": "waves", "data__task": "regression"}),
                           ("classes", {"train__loss": "mse"})):
            sets = {"model__name": "linear", "model__width": 0, "loop__strategies": "random", "loop__seeds": 0,
                    "loop__initial": 60, "loop__rounds": 0, "train__momentum": 0,
                    "train__batch": 60, "train__epochs": 60, **more}
            stable = self.rounds(self.run_experiment(name, **sets, train__lr=1e-6))[0]["lr_stable"]
            losses = [self.rounds(self.run_experiment(f"{name}{part}", **sets, train__lr=part * stable))[0]
                      ["train_loss"] for part in (0.9, 1.1)]
            self.assertLess(losses[0], 1)
            self.assertGreater(losses[1], 1000)

    def test_the_horizon_is_the_epoch_of_the_smallest_test_loss(self):
        small = {"data__test_size": 12, "loop__initial": 20, "loop__rounds": 0, "loop__strategies": "random",
                 "loop__seeds": "0,1,2,3", "train__lr": 0.3, "train__warmup": 0, "loop__retry_collapsed": "no"}
        epochs = 12  # so few test samples are evaluated after every epoch
        losses = [[float(row["loss"]) for row in self.rows(self.run_experiment(f"to{many}", train__epochs=many, **small),
                                                           "curve.csv")] for many in range(1, epochs + 1)]
        rows = self.rows(self.path(f"to{epochs}"), "theory.csv")
        wanted = [1 + min(range(epochs), key=lambda epoch: losses[epoch][run]) for run in range(4)]
        self.assertEqual([int(row["horizon"]) for row in rows], wanted)
        self.assertGreater(len(set(wanted)), 1)
        self.assertLess(min(wanted), epochs)
        # no epoch but the last is evaluated
        for name, more in (("large", {"data__test_size": 900}), ("average", {"train__ema": 0.9}),
                           ("ensemble", {"model__bayes": "ensemble", "model__samples": 2})):
            rows = self.rows(self.run_experiment(name, **{**small, **more}), "theory.csv")
            self.assertEqual({row["horizon"] for row in rows}, {""})

    def test_with_patience_the_horizon_is_an_evaluated_epoch(self):
        # every third epoch is evaluated; the network is that of the best epoch, which is often another
        rows = self.rows(self.run_experiment(
            "patient", data__test_size=36, data__validation=20, loop__initial=20, loop__rounds=0,
            loop__strategies="random", loop__seeds=",".join(map(str, range(12))), train__lr=0.3, train__warmup=0,
            train__epochs=12, train__patience=3, loop__retry_collapsed="no"), "theory.csv")
        horizons = [int(row["horizon"]) for row in rows if row["horizon"]]
        self.assertGreater(len(set(horizons)), 1)
        self.assertEqual({horizon % 3 for horizon in horizons}, {0})

    def test_measuring_does_not_change_the_results(self):
        none = self.run_experiment("none", loop__theory="none")
        self.assertFalse(os.path.exists(os.path.join(none, "theory.csv")))
        for theory in ("last", "all"):
            out = self.run_experiment(theory, loop__theory=theory)
            self.assertEqual(self.results(out), self.results(none))
            self.assertEqual({row["layers"] for row in self.rows(out, "theory.csv")}, {theory})
        self.assertNotIn("lambda", self.rounds(none)[0])

    def test_without_labels_the_figures_are_empty(self):
        out = self.run_experiment("out", loop__initial_how="none", train__lr="auto")
        for row in self.rows(out, "theory.csv"):
            if row["round"] == "0":
                self.assertEqual((row["labels"], self.known(row)), ("0", set()))
                continue
            missing = {"mmd"} | ({"ratio"} if row["round"] == "3" else set())
            self.assertEqual(self.known(row), set(FIGURES) - missing)
            if row["round"] == "1":  # later rates are relative to this one
                self.assertEqual(float(row["lr_advice"]), 0.01)

    def test_a_regression_has_some_of_the_figures(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(200, 3)).astype("f4")
        out = self.run_experiment("out", data__train=self.save("x", x), data__test_size=50, loop__rounds=1,
                                  data__train_labels=self.save("y", x.sum(axis=1)), data__task="regression",
                                  loop__strategies="random", loop__theory="all", train__lr="auto")
        for row in self.rows(out, "theory.csv"):
            self.assertEqual(self.known(row), {"lambda", "largest", "rank", "epochs", "lr_advice"})

    def test_bayesian_networks_have_all_figures(self):
        for bayes, more in (("ensemble", {"model__samples": 3}), ("dropout", {}), ("variational", {})):
            for theory in ("last", "all"):
                out = self.run_experiment(bayes + theory, model__bayes=bayes, loop__theory=theory, loop__seeds=0,
                                          loop__rounds=1, loop__strategies="dynamic,egl",
                                          **{"loop__dynamic.layers": theory, "loop__egl.layers": theory}, **more)
                row = self.rows(out, "theory.csv")[0]
                self.assertEqual(self.known(row), set(FIGURES), (bayes, theory))

    def test_gradients_of_all_layers_need_class_probabilities(self):
        x = np.random.default_rng(3).normal(size=(200, 3)).astype("f4")
        for name in ("dynamic", "egl"):
            self.fails(2, "run", *sets(MOONS, data__train=self.save("x", x), data__test_size=50,
                                       data__train_labels=self.save("y", x.sum(axis=1)),
                                       data__task="regression", loop__strategies=name,
                                       **{f"loop__{name}.layers": "all"}),
                       "--out", self.path("out"), says="class probabilities")

    def test_a_kernel_of_all_layers_that_exceeds_memory_is_refused(self):
        self.fails(2, "run", *sets(MOONS, loop__theory="all", loop__batch=300), "--memory", "16MB",
                   "--out", self.path("out"), says=["loop.theory = all", "at most", "last"])
        self.assertFalse(os.path.exists(self.path("out")))


class LearningRate(TheoryCase):
    def test_auto_is_printed_and_read_back(self):
        printed = self.ok("run", *sets(MOONS, train__lr="auto"), "--print")
        self.assertIn("lr = auto", printed)
        with open(self.path("again.ini"), "w") as file:
            file.write(printed)
        self.assertEqual(self.ok("run", self.path("again.ini"), "--print"), printed)

    def test_the_advised_rate_is_used_only_with_auto(self):
        fixed = self.run_experiment("fixed", train__lr=0.02, loop__strategies="badge")
        auto = self.run_experiment("auto", train__lr="auto", loop__strategies="badge")
        none = self.run_experiment("none", train__lr="auto", loop__strategies="badge", loop__theory="none")
        for event in self.rounds(fixed):
            self.assertEqual(event["lr"], 0.02)
        rates = []
        for event in self.rounds(auto):
            self.assertEqual(event["lr"], event["lr_advice"])
            self.assertTrue(0.001 <= event["lr"] <= 0.1)
            if event["round"] == 0:
                self.assertEqual(event["lr"], 0.01)
            rates.append(event["lr"])
        self.assertGreater(len(set(rates)), 1)
        self.assertEqual(self.results(none), self.results(auto))
        self.assertEqual([event["lr"] for event in self.rounds(none)], rates)
        self.assertNotEqual(self.results(fixed), self.results(auto))

    def test_the_first_rate_is_the_default_of_the_optimizer_or_method(self):
        for usual, more in ((0.001, {"train__optimizer": "adam"}),
                            (0.03, {"train__method": "fixmatch", "train__steps": 4})):
            out = self.run_experiment(f"usual{usual}", train__lr="auto", loop__rounds=0, **more)
            self.assertEqual({row["lr_advice"] for row in self.rows(out, "theory.csv")}, {str(usual)})


if __name__ == "__main__":
    unittest.main()
