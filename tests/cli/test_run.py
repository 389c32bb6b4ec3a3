# SPDX-License-Identifier: Apache-2.0
"""`scant run`: experiments from outside, on generated samples."""
import json
import os
import re
import struct
import subprocess
import unittest
import zlib

import numpy as np

from runcase import MOONS, RunCase, sets, write_state
from scantcli import ROOT, Case, run

POSTERIOR = {"bald", "batchbald", "acs-fw"}


class Keys(Case):
    def test_print_writes_an_equal_experiment(self):
        long = "/".join(["folder with a blank"] * 20) + "/x=1,y.npy"
        flags = ["--set", f"data.test={long}", "--set", "loop.strategies=npc, badge,dynamic",
                 "--set", "loop.npc.candidates=17", "--set", "train.nesterov=on",
                 "--set", "loop.seeds=3,18446744073709551615", "--set", "train.optimizer=sgd"]
        first = self.ok("run", "--print", *flags)
        path = self.path("a.ini")
        with open(path, "w") as file:
            file.write(first)
        self.assertEqual(self.ok("run", path, "--print"), first)
        joined = first.replace("\n    ", "")
        self.assertIn(f"test = {long}\n", joined)
        self.assertIn("npc.candidates = 17\n", first)
        self.assertIn("npc.kernel = last\n", first)
        self.assertIn("dynamic.gamma = 2\n", first)
        self.assertIn("nesterov = yes\n", first)
        self.assertIn("seeds = 3,18446744073709551615\n", first)

    def test_a_key_on_the_command_line_overrides_the_file(self):
        path = self.path("a.ini")
        with open(path, "w") as file:
            file.write("[loop]\n  batch = 7 ; a comment\n  rounds = 2 # another\n"
                       "strategies = random,\n  margin\n")
        printed = self.ok("run", path, "--set", "loop.batch=9", "--print")
        self.assertIn("\nbatch = 9\nrounds = 2\n", printed)
        self.assertIn("strategies = random,margin\n", printed)

    def test_adam_and_regression_have_defaults_of_their_own(self):
        printed = self.ok("run", "--set", "train.optimizer=adam", "--set",
                          "data.task=regression", "--print")
        self.assertIn("\nlr = 0.001\n", printed)
        self.assertIn("\nloss = mse\n", printed)

    def test_a_wrong_key_gets_the_nearest_one(self):
        for key, nearest in (("loop.batches=3", "loop.batch"), ("train.epoch=3", "train.epochs"),
                             ("dat.train=3", "[data]"), ("loop.npc.candidate=3", "loop.npc.candidates"),
                             ("loop.initial_labels=3", "loop.initial"), ("data.epochs=3", "train.epochs"),
                             ("loop.npx.candidates=3", "'npc'"), ("model.qqqqqqqqqqqq=1", "model.")):
            says = self.fails(2, "run", "--set", key, "--print", says=nearest)
            self.assertIn(key.split("=")[0].split(".")[0], says)

    def test_wrong_values_are_refused(self):
        for key, says in (("loop.batch=0", "whole number"), ("loop.batch=3.5", "whole number"),
                          ("train.lr=fast", "auto or a number"), ("loop.theory=some", "none|last|all"),
                          ("loop.egl.layers=some", "last|all"), ("train.lr=0", "above 0"),
                          ("train.method=fixmach", "supervised"), ("loop.seeds=1,1", "twice"),
                          ("loop.seeds=a", "whole numbers"), ("loop.strategies=bagde", "badge"),
                          ("loop.strategies=badge,badge", "twice"), ("model.name=lenet6", "lenet5"),
                          ("loop.dynamic.layers=some", "expected one of last|all\n"),
                          ("loop.dynamic.layers=ntk:depth=2", "expected one of last|all\n"),
                          ("loop.npc.kernel=ntk:depth=0", "last|all|ntk:depth=K, K from 1 to 100"),
                          ("loop.crc.layers=ntk", "last|all|ntk:depth=K"),
                          ("train.reinit=maybe", "expected yes or no"),
                          ("loop.npc.candidates=0", "candidates"), ("train.patience=3", "validation"),
                          ("loop.initial=0", "initial_how"), ("loop.preset=nonsense", "the nearest is"),
                          ("nodot=3", "section.key")):
            self.fails(2, "run", "--set", key, "--print", says=says)
        self.fails(2, "run", "--set", "loop.batch=3", "--set", "loop.batch=4", "--print",
                   says="twice")

    def test_a_wrong_file_is_named_with_its_line(self):
        for text, says in (("[loop]\nbatch = 3\nbatch = 4\n", ":3: loop.batch is given twice"),
                           ("[loop]\nnonsense\n", ":2: "), ("[lop]\nbatch = 3\n", ":1: unknown section"),
                           ("[data]\n\n[lop]\n", ":3: unknown section [lop]; the nearest is [loop]"),
                           ("[data]\n  [trian] ; indented\n", ":2: unknown section [trian]"),
                           ("\ufeff[dat]\n", ":1: unknown section"), ("[]\n", ":1: a section has no name"),
                           ("batch = 3\n", "before the first"), ("[loop]\n\nbatchs = 3\n", ":3: unknown key"),
                           ("[loop]\nbatch = " + "1" * 300, "longer than"),
                           ("[loop]\nbatch = 3\0\n", "zero")):
            path = self.path("a.ini")
            with open(path, "w") as file:
                file.write(text)
            self.fails(3, "run", path, "--print", says=["a.ini", says])
        self.fails(3, "run", self.path("none.ini"), "--print", says="none.ini")

    def test_sections_are_distinguished_from_continued_values(self):
        path = self.path("a.ini")
        with open(path, "w") as file:
            file.write("\ufeff[data]\ntrain = a,\n  [lop]\n\n [loop] ; not of a value\n[train]\n  [loop]\nbatch = 7\n")
        printed = self.ok("run", path, "--print")
        self.assertIn("\ntrain = a,[lop][loop]\n", printed)
        self.assertIn("\nbatch = 7\nrounds", printed)

    def test_resuming_needs_a_results_folder(self):
        self.fails(2, "run", "--print", "--resume", says="--out is missing")
        self.fails(2, "run", "--resume", says="--out is missing")

    def test_given_keys_override_a_preset(self):
        printed = self.ok("run", "--set", "loop.preset=sparse-mnist", "--set",
                          "loop.strategies=sparse-iht", "--set", "loop.sparse-iht.beta=5", "--print")
        self.assertIn("sparse-iht.alpha = 1e-8\n", printed)
        self.assertIn("sparse-iht.beta = 5\n", printed)

    def preset(self, name, *more):
        """The (alpha, beta, source) that a preset gives sparse-iht and sparse-greedy."""
        printed = self.ok("run", "--set", f"loop.preset={name}", "--set",
                          "loop.strategies=sparse-iht,sparse-greedy", *more, "--print")
        values = dict(re.findall(r"^(sparse-\S+) = (\S+)$", printed, re.M))
        return tuple(tuple(values.get(f"sparse-{strategy}.{key}") for key in ("alpha", "beta", "source"))
                     for strategy in ("iht", "greedy"))

    def test_presets_have_the_values_of_the_papers_tables(self):
        plain = self.preset("")
        self.assertEqual(plain, (("1e-8", "1e-4", None), ("1e-2", "0.1", None)))
        for name, other, iht, greedy in (
                ("mnist", "sparse-mnist", ("1e-8", "1e-4", "gradient"), ("1e-8", "0.1", "gradient")),
                ("svhn", "sparse-svhn", ("1e-8", "1e-4", "gradient"), ("0.1", "0.1", "gradient")),
                ("cifar10-general", "sparse-cifar10", ("1e-8", "1e-6", "gradient"),
                 ("1e-2", "0.1", "gradient")),
                ("fashion-mnist", "sparse-bayes-fmnist", ("1", "1e-3", "samples"),
                 ("2", "0.5", "samples")),
                ("cifar10-bayes", "sparse-bayes-cifar10", ("1", "1e-6", "samples"),
                 ("2", "1", "samples")),
                ("cifar100", "sparse-bayes-cifar100", ("1", "1e-6", "samples"),
                 ("1", "0.5", "samples"))):
            with self.subTest(name):
                self.assertEqual(self.preset(name), (iht, greedy))
                self.assertEqual(self.preset(name, "--set", "model.bayes=dropout"), (iht, greedy))
                self.assertEqual(self.preset(other), (iht, greedy))
                self.assertEqual(self.preset(name + "-iht"), (iht, plain[1]))
                self.assertEqual(self.preset(name + "-greedy"), (plain[0], greedy))
                self.assertIn(name, " ".join(self.ok("run", "--help").split()))

    def test_the_ambiguous_preset_cifar10_is_refused(self):
        for name in ("cifar10", "cifar10-greedy", "cifar10-iht"):
            self.fails(2, "run", "--set", f"loop.preset={name}", "--print",
                       says=["cifar10-general", "cifar10-bayes"])
        self.fails(2, "run", "--set", "loop.preset=fashion-mnist-gredy", "--print",
                   says="fashion-mnist-greedy")


class Loop(RunCase):
    def test_the_results_folder_has_the_documented_files(self):
        out = self.run_experiment("out")
        curve, picks = self.rows(out, "curve.csv"), self.rows(out, "picks.csv")
        self.assertEqual(list(curve[0])[:8], ["strategy", "seed", "round", "labels", "accuracy",
                                              "loss", "train_seconds", "select_seconds"])
        self.assertEqual(list(picks[0]), ["strategy", "seed", "round", "rank", "index", "weight",
                                          "score", "label"])
        self.assertEqual([(row["strategy"], row["seed"], row["round"], row["labels"]) for row in curve],
                         [(s, str(seed), str(r), str(6 + 4 * r)) for s in ("random", "badge")
                          for seed in (0, 1) for r in range(4)])
        for row in curve:
            self.assertTrue(0 <= float(row["accuracy"]) <= float(row["best_accuracy"]) <= 1)
        for strategy in ("random", "badge"):
            for seed in "01":
                mine = [row for row in picks if (row["strategy"], row["seed"]) == (strategy, seed)]
                self.assertEqual(len({row["index"] for row in mine}), 18)
                self.assertEqual([int(row["rank"]) for row in mine],
                                 [*range(1, 7), *[1, 2, 3, 4] * 3])
                self.assertEqual({(row["weight"], row["score"]) for row in mine[:6]}, {("1", "0")})
        with open(os.path.join(out, "experiment.ini")) as file:
            self.assertEqual(file.read(), self.ok("run", os.path.join(out, "experiment.ini"), "--print"))
        with open(os.path.join(out, "log.jsonl")) as file:
            events = [json.loads(line)["event"] for line in file]
        self.assertEqual(events.count("round"), 16)

    def test_strategies_of_a_seed_have_the_same_start_and_seeds_differ(self):
        curve, picks = self.results(self.run_experiment("out"))
        start = {}
        for row in picks:
            if row["round"] == "0":
                start.setdefault((row["strategy"], row["seed"]), []).append(row["index"])
        self.assertEqual(start["random", "0"], start["badge", "0"])
        self.assertEqual(start["random", "1"], start["badge", "1"])
        self.assertNotEqual(start["random", "0"], start["random", "1"])
        first = {(row["strategy"], row["seed"]): row["loss"] for row in curve if row["round"] == "0"}
        self.assertEqual(first["random", "0"], first["badge", "0"])
        self.assertNotEqual(first["random", "0"], first["random", "1"])

    def test_every_strategy_completes_with_posterior_draws(self):
        names = [info["name"] for info in json.loads(run("strategies", "--format", "json").stdout)]
        for bayes, samples in (("variational", 7), ("dropout", 7), ("ensemble", 2)):
            out = self.run_experiment(bayes, loop__strategies=",".join(names), loop__seeds=0, loop__rounds=1,
                                      model__bayes=bayes, model__samples=samples)
            done = {row["strategy"]: int(row["round"]) for row in self.rows(out, "curve.csv")}
            self.assertEqual(done, dict.fromkeys(names, 1))
            with open(os.path.join(out, "experiment.ini")) as file:
                self.assertIn("sparse-iht.source = samples\n", file.read())
            left = [name for name in os.listdir(os.path.join(out, "runs"))
                    if not name.endswith(".json")]
            self.assertEqual(left, [])

    def test_contradicting_bayesian_keys_are_refused(self):
        for words, says in (
                ({"model__bayes": "ensemble", "model__samples": 1}, "2 to 100"),
                ({"model__bayes": "ensemble", "model__samples": 101}, "2 to 100"),
                ({"model__bayes": "ensemble", "loop__query_seed": 3}, "query_seed"),
                ({"model__bayes": "ensemble", "train__initial_models": 201}, "200 at most"),
                ({"model__bayes": "variational", "model__samples": 1, "loop__strategies": "bald"},
                 "model.samples is 1"),
                ({"model__samples": 1, "loop__strategies": "bald"}, "model.bayes = variational"),
                ({"model__bayes": "dropout", "loop__strategies": "acs-fw",
                  "loop__acs-fw.projections": 101},
                 "loop.acs-fw.projections is 101, expected at most 100 (model.samples)"),
                ({"model__name": "onehidden", "model__bayes": "variational"}, "not trained"),
                ({"model__bayes": "bayes"}, "none|dropout|variational|ensemble"),
                ({"model__hidden": "many"}, "own or a whole number"),
                ({"model__prior": 0}, "above 0"),
                ({"model__bayes": "dropout", "loop__strategies": "bald",
                  "data__task": "regression"}, "class probabilities")):
            self.fails(2, "run", *sets(MOONS, **words), "--out", self.path("out"), says=says)
            self.assertFalse(os.path.exists(self.path("out")), says)
        done = run("run", *sets(MOONS, model__samples=9), "--print")
        self.assertIn("model.samples is ignored", done.stderr)
        done = run("run", *sets(MOONS, model__bayes="ensemble", model__samples=30), "--print")
        self.assertIn("members", done.stderr)
        self.assertIn("dropout = 0.5\n", self.ok("run", *sets(MOONS, model__bayes="dropout"), "--print"))

    def test_weights_from_a_file_keep_their_dropout_rate(self):
        self.ok("train", "--data", "moons", "--model", "mlp", "--width", 16, "--bayes", "dropout",
                "--dropout", 0.2, "--epochs", 1, "--quiet", "--out", self.path("w"))
        weights = os.path.join(self.path("w"), "weights.safetensors")
        out = self.run_experiment("out", model__bayes="dropout", model__samples=5, model__weights=weights,
                                  loop__strategies="random", loop__seeds=0, train__reinit="no", loop__rounds=1)
        with open(os.path.join(out, "runs", "random-0.weights-1.safetensors"), "rb") as file:
            self.assertIn(b'"scant.dropout":"0.2', file.read(4096))
        os.unlink(weights)  # a finished run does not need them
        self.ok("run", "--resume", "--out", out)
        shown = self.ok("run", *sets(MOONS, model__bayes="ensemble"), "--print")
        self.assertIn("samples = 5\n", shown)
        self.assertIn("hidden = own\n", shown)

    def test_every_strategy_completes_or_names_the_missing_key(self):
        names = [info["name"] for info in json.loads(run("strategies", "--format", "json").stdout)]
        able = [name for name in names if name not in POSTERIOR]
        self.assertGreaterEqual(len(able), 13)
        out = self.run_experiment("out", loop__strategies=",".join(able), loop__seeds=0)
        done = {}
        for row in self.rows(out, "curve.csv"):
            done[row["strategy"]] = int(row["round"])
        self.assertEqual(done, dict.fromkeys(able, 3))
        how = self.calibrated(out)  # of both sparse strategies, in all rounds but the last
        self.assertEqual([word for word, _ in how], ["cross-fitting"] * 6)
        self.assertTrue(all(0.01 <= t <= 100 and t != 1 for _, t in how))
        for name in POSTERIOR:
            self.fails(2, "run", *sets(MOONS, loop__strategies=name), "--out", self.path(name),
                       says=[name, "model.bayes = variational"])
            self.assertFalse(os.path.exists(self.path(name)))

    def test_jobs_do_not_change_the_results(self):
        alone = self.results(self.run_experiment("alone", loop__strategies="random,badge,sparse-greedy,albl"))
        parallel = self.results(self.run_experiment("parallel", "--jobs", 3,
                                                    loop__strategies="random,badge,sparse-greedy,albl"))
        self.assertEqual(alone, parallel)
        self.assertEqual(self.bins(self.path("alone")), self.bins(self.path("parallel")))

    def test_calibration_is_written_before_and_after_scaling(self):
        few = dict(loop__strategies="random,sparse-greedy", loop__seeds=0)
        none, some = self.run_experiment("none", **few), self.run_experiment("some", data__validation=40, **few)
        for out in none, some:
            bins = self.bins(out)
            for row in self.rows(out, "curve.csv"):
                key = row["strategy"], int(row["seed"]), int(row["round"])
                samples = {sum(bin[2] for bin in bins[key + (when,)])
                           for when in ("before", "after") if key + (when,) in bins}
                self.assertEqual(samples, {200})
                right = sum(bin[2] * bin[4] for bin in bins[key + ("before",)])
                self.assertAlmostEqual(right / 200, float(row["accuracy"]), places=6)
            for key, found in bins.items():
                for t, bin, _, confidence, _ in found:
                    self.assertEqual(t == 1, key[3] == "before")
                    self.assertTrue(bin - 1 - 1e-6 < 15 * confidence < bin + 1e-6)
        # with a validation set in every round; without one only in rounds that pick by it
        after = {key[:3] for key in self.bins(some) if key[3] == "after"}
        self.assertEqual(len(after), 8)
        after = sorted(key[:3] for key in self.bins(none) if key[3] == "after")
        self.assertEqual(after, [("sparse-greedy", 0, r) for r in range(3)])
        told = [t for _, t in self.calibrated(none)]
        self.assertEqual(told, [self.bins(none)[key + ("after",)][0][0] for key in after])
        # the strategy uses the temperature of the network that is evaluated
        told = [t for _, t in self.calibrated(some)]
        self.assertEqual(told, [self.bins(some)["sparse-greedy", 0, r, "after"][0][0]
                                for r in range(3)])
        both = self.path("both")
        self.ok("report", none, some, "--out", both)
        self.assertEqual(self.bins(both)["random (some)", 0, 3, "after"],
                         self.bins(some)["random", 0, 3, "after"])

    def test_an_untrained_network_has_no_calibration(self):
        """Without initial labels the first picks come from an untrained network, and no temperature is fitted."""
        out = self.run_experiment("out", loop__strategies="sparse-greedy", loop__seeds=0, loop__initial_how="none",
                                  loop__initial=0)
        self.assertEqual([word for word, _ in self.calibrated(out)], ["cross-fitting"] * 2)
        after = {key[2] for key in self.bins(out) if key[3] == "after"}
        self.assertEqual(after, {1, 2})

    def test_an_ensemble_that_exceeds_the_memory_cap_names_the_cap(self):
        self.fails(4, "run", *sets(MOONS, model__bayes="ensemble", loop__strategies="random"), "--threads",
                   2, "--memory", "1M", "--out", self.path("out"), says="of 1048576 allowed")

    def test_results_are_not_overwritten(self):
        out = self.run_experiment("out")
        self.fails(2, "run", *sets(MOONS), "--out", out, says="--resume")
        before = self.results(out)
        self.ok("run", "--resume", "--out", out)
        self.assertEqual(self.results(out), before)
        self.fails(2, "run", *sets(MOONS, loop__batch=5), "--out", out, "--resume",
                   says=["batch = 4", "batch = 5"])
        os.mkdir(self.path("empty"))
        self.run_experiment("empty", loop__rounds=0)

    def test_the_files_in_experiments_are_valid(self):
        folder = os.path.join(ROOT, "experiments")
        files = [name for name in sorted(os.listdir(folder)) if name.endswith(".ini")]
        self.assertGreater(len(files), 20)
        for name in files:
            with self.subTest(name):
                self.ok("run", os.path.join(folder, name), "--print")

    def test_a_run_with_picks_outside_its_pool_is_not_resumed(self):
        out = self.run_experiment("out", data__pool=60, loop__strategies="badge", loop__seeds=0)
        path = os.path.join(out, "runs", "badge-0.json")
        with open(path) as file:
            state = json.load(file)
        initial, last = state["picks"][0], state["picks"][-1]
        picked = {pick[0] for batch in state["picks"] for pick in batch}
        free = [row for row in range(1000) if row not in picked]
        refused = 0
        for place, rows in ((initial[0], free[:1]), (last[-1], free[::40])):
            kept = place[0]
            for row in rows:  # most of them are outside the pool of 60
                place[0] = row
                write_state(path, state)
                done = run("run", "--resume", "--out", out)
                refused += done.returncode != 0
                if done.returncode:
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertIn("have changed since", done.stderr)
            place[0] = kept
        self.assertGreater(refused, 15)

    def test_continued_weights_and_a_query_network_change_the_results(self):
        anew = self.results(self.run_experiment("anew"))
        on = self.results(self.run_experiment("on", train__reinit="no"))
        other = self.results(self.run_experiment("other", train__reinit="no", loop__query_seed=5))
        self.assertEqual(anew[0][0], on[0][0])
        self.assertNotEqual(anew[0][1]["loss"], on[0][1]["loss"])
        self.assertEqual([row for row in on[0] if row["strategy"] == "random"],
                         [row for row in other[0] if row["strategy"] == "random"])
        self.assertNotEqual(on[1], other[1])

    def test_a_run_ends_when_the_pool_is_used_up(self):
        done = run("run", *sets(MOONS, data__pool=13, loop__rounds=9), "--threads", 1, "--out",
                   self.path("out"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("used up after round 2 of 9", done.stderr)
        curve = [row["labels"] for row in self.rows(self.path("out"), "curve.csv")]
        self.assertEqual(curve, ["6", "10", "13"] * 4)
        self.ok("run", "--resume", "--out", self.path("out"))
        self.assertEqual(curve, [row["labels"] for row in self.rows(self.path("out"), "curve.csv")])

    def test_initial_sets_can_be_balanced_or_empty(self):
        balanced = self.rows(self.run_experiment("balanced", loop__initial_how="balanced", loop__seeds="0,1,2,3",
                                                 loop__strategies="random", loop__rounds=0), "picks.csv")
        for seed in "0123":
            labels = [row["label"] for row in balanced if row["seed"] == seed]
            self.assertEqual(sorted(labels), ["0"] * 3 + ["1"] * 3)
        none = self.run_experiment("none", loop__initial_how="none")
        curve, picks = self.rows(none, "curve.csv"), self.rows(none, "picks.csv")
        self.assertEqual([row["labels"] for row in curve[:4]], ["0", "4", "8", "12"])
        self.assertEqual({row["round"] for row in picks}, {"1", "2", "3"})
        self.fails(3, "run", *sets(MOONS, data__pool=5), "--out", self.path("x"),
                   says=["loop.initial is 6", "5 samples"])

    def test_several_initial_models_and_weights_change_the_training(self):
        one = self.results(self.run_experiment("one", loop__strategies="bss"))
        three = self.results(self.run_experiment("three", loop__strategies="bss", train__initial_models=3))
        weighted = self.results(self.run_experiment("weighted", loop__strategies="bss", train__use_weights="yes"))
        self.assertEqual([row for row in one[1] if row["round"] == "0"],
                         [row for row in three[1] if row["round"] == "0"])
        self.assertNotEqual([row["loss"] for row in one[0] if row["round"] == "0"],
                            [row["loss"] for row in three[0] if row["round"] == "0"])
        self.assertEqual(one[0][0], weighted[0][0])
        self.assertNotEqual(one[0][1]["loss"], weighted[0][1]["loss"])

    def test_trainings_continue_after_their_accuracy_is_reached(self):
        more = {"loop__strategies": "random", "train__lr": 0.1, "train__epochs": 60, "train__until": 0.95}
        plain, extra = ([int(row["epochs"]) for row in self.rows(
            self.run_experiment(f"extra{epochs}", loop__rounds=0, train__until_extra=epochs, **more), "theory.csv")]
            for epochs in (0, 5))
        self.assertLess(max(plain), 55)
        self.assertEqual(extra, [epochs + 5 for epochs in plain])
        self.fails(2, "run", *sets(MOONS, train__until_extra=5), "--out", self.path("x"),
                   says=["train.until_extra", "needs train.until"])

    def test_the_best_initial_model_is_kept_on_request(self):
        seeds = {"loop__strategies": "random", "loop__seeds": "0,1,2,3", "loop__rounds": 0, "train__epochs": 3}
        runs = {keep: self.results(self.run_experiment(keep, train__initial_models=5, train__initial_keep=keep, **seeds))
                for keep in ("median", "best")}
        self.assertEqual(runs["median"][1], runs["best"][1])
        pairs = [(float(median["accuracy"]), float(best["accuracy"]))
                 for median, best in zip(runs["median"][0], runs["best"][0])]
        self.assertTrue(all(median <= best for median, best in pairs), pairs)
        self.assertTrue(any(median < best for median, best in pairs), pairs)
        self.fails(2, "run", *sets(MOONS, train__initial_keep="worst"), "--out", self.path("x"),
                   says=["train.initial_keep", "worst", "median|best"])

    def test_an_initial_seed_gives_all_runs_the_same_start(self):
        def start(results):
            """The values of round 0, without strategy and seed; the set has one entry if all are the same."""
            first = [[list(row.values())[2:] for row in rows if row["round"] == "0"] for rows in results]
            return {tuple(row) for row in first[0]}, {tuple(row) for row in first[1]}
        cases = {"plain": {"data__pool": 80, "data__validation": 20, "train__patience": 3},
                 "collapsed": {"train__lr": 20, "train__epochs": 20},  # a repeated training has its own seeds
                 "bayesian": {"model__bayes": "dropout", "loop__strategies": "bald"}}
        for name, more in cases.items():
            with self.subTest(name):
                own = self.results(self.run_experiment(name + "9", loop__seeds=9, **more))
                out = self.run_experiment(name, loop__initial_seed=9, **more)
                shared = self.results(out)
                self.assertEqual(len(start(shared)[0]), 1)
                self.assertEqual(start(shared), start(own))
                if name == "collapsed":
                    rows = self.rows(out, "trainings.csv")
                    self.assertEqual({row["trainings"] for row in rows if row["round"] == "0"}, {"2"})
                later = {}
                for row in shared[0]:
                    if row["round"] == "1":
                        later.setdefault(row["strategy"], set()).add(row["loss"])
                self.assertTrue(all(len(losses) == 2 for losses in later.values()), later)
        self.assertIn("initial_seed = 9", self.ok("run", *sets(MOONS, loop__initial_seed=9), "--print"))
        self.fails(2, "run", *sets(MOONS, loop__initial_seed="first"), "--out", self.path("x"),
                   says=["loop.initial_seed", "first", "whole number"])

    def test_the_log_has_the_figures_that_strategies_report(self):
        out = self.run_experiment("out", loop__strategies="random,bss", loop__seeds=0)
        with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as file:
            rounds = [event for event in map(json.loads, file) if event["event"] == "round"]
        infos = {(event["strategy"], event["round"]): event["info"] for event in rounds}
        self.assertEqual(infos["random", 1], {})
        last = max(number for _, number in infos)
        for number in range(last):
            picks = sum(row["strategy"] == "bss" and row["round"] == str(number + 1)
                        for row in self.rows(out, "picks.csv"))
            self.assertEqual(infos["bss", number]["distinct"], picks)
        self.assertEqual(infos["bss", last], {})  # it picks nothing

    def test_training_can_draw_samples_by_weight(self):
        fixed = {"data__train": "heavy", "data__task": "regression", "model__name": "onehidden",
                 "model__activation": "swish", "loop__initial_how": "none", "loop__rounds": 1,
                 "loop__batch": 40, "train__epochs": 200, "loop__strategies": "random,bss"}
        ends = {}
        for use in ("no", "yes", "draw"):
            curve, picks = self.results(self.run_experiment(use, **fixed, train__use_weights=use))
            self.assertEqual({row["round"] for row in picks}, {"1"})
            ends[use] = {(row["strategy"], row["seed"]): row["error"] for row in curve
                         if row["round"] == "1"}
        for key in ends["no"]:
            # random's weights are all 1, so only drawing makes a difference
            self.assertEqual(ends["no"][key] == ends["yes"][key], key[0] == "random")
            self.assertNotEqual(ends["draw"][key], ends["yes"][key])
        on = self.ok("run", "--set", "data.train=heavy", "--set", "train.use_weights=on", "--print")
        self.assertIn("use_weights = yes", on)
        self.fails(2, "run", "--set", "data.train=heavy", "--set", "train.use_weights=often",
                   "--out", self.path("x"), says=["train.use_weights", "often", "yes|no|draw"])
        self.fails(2, "run", *sets(MOONS, data__train="heavy"), "--out", self.path("x"),
                   says=["heavy", "ask for regression"])

    def test_norm_momentum_changes_the_loss(self):
        small = dict(MOONS, **{"data.test_size": 20, "model.name": "wrn-28-2", "train.steps": 1,
                               "loop.initial": 4, "loop.rounds": 0, "loop.seeds": 0})
        del small["model.width"], small["train.epochs"]
        small["loop.strategies"] = "random"
        losses = []
        for momentum in (0.1, 0.9):
            out = self.path(f"norm{momentum}")
            self.ok("run", *sets(small, train__norm_momentum=momentum), "--threads", 1, "--out", out)
            losses += [row["loss"] for row in self.rows(out, "curve.csv")]
        self.assertEqual(len(losses), 2)
        self.assertNotEqual(*losses)

    def test_gradients_of_all_layers_change_the_picks(self):
        last = self.results(self.run_experiment("last", loop__strategies="dynamic,crc,npc", loop__seeds=0))
        whole = self.results(self.run_experiment("whole", "--set", "loop.dynamic.layers=all", "--set",
                                                 "loop.crc.layers=all", "--set", "loop.npc.kernel=all",
                                                 loop__strategies="dynamic,crc,npc", loop__seeds=0))
        self.assertNotEqual(last[1], whole[1])

    def test_a_closed_form_kernel_does_not_depend_on_the_network(self):
        # With the closed-form kernel the picks do not depend on the network; with its last layer they do.
        flags = {"loop__strategies": "crc,npc", "loop__seeds": 0}
        kernel = ("--set", "loop.crc.layers=ntk:depth=2", "--set", "loop.npc.kernel=ntk:depth=2")
        picks = [self.results(self.run_experiment(f"kernel{width}", *kernel, model__width=width,
                                                  train__epochs=width, **flags))[1] for width in (4, 9)]
        self.assertEqual(*picks)
        last = [self.results(self.run_experiment(f"last{width}", model__width=width, train__epochs=width,
                                                 **flags))[1] for width in (4, 9)]
        self.assertNotEqual(*last)
        self.assertNotEqual(picks[0], last[0])


class Failures(RunCase):
    """Runs that fail, and results folders of other versions and of killed programs."""

    def events(self, out):
        with open(os.path.join(out, "log.jsonl")) as file:
            return [json.loads(line) for line in file]

    def outlier(self, **more):
        """Flags of an experiment in which only coreset fails: it picks the outlier, and the loss overflows."""
        rng = np.random.default_rng(5)
        labels = rng.integers(0, 3, 300)
        points = rng.normal(size=(300, 4)).astype("f4") + 3 * np.eye(4, dtype="f4")[labels]
        points[77] = 1e18
        return sets(MOONS, data__train=self.save("x", points), data__train_labels=self.save("y", labels),
                    data__test_size=60, loop__strategies="coreset,random,margin", **more)

    def test_a_run_that_diverges_does_not_end_the_others(self):
        flags, out = self.outlier(), self.path("out")
        for call in (["--jobs", 2], ["--resume"], ["--resume", "--quiet"]):
            done = run("run", *flags, "--threads", 1, "--out", out, *call)
            self.assertEqual(done.returncode, 3, done.stderr)
            for seed in (0, 1):
                self.assertIn(f"coreset, seed {seed}, round 1: the loss is not a finite number", done.stderr)
            self.assertIn("2 of 6 runs failed", done.stderr)
            self.assertEqual([line.split()[0] for line in done.stdout.splitlines()[1:4]],
                             ["coreset", "random", "margin"])
            done = {}
            for row in self.rows(out, "curve.csv"):
                done.setdefault((row["strategy"], row["seed"]), []).append(row["round"])
            self.assertEqual(done, {(name, seed): ["0"] if name == "coreset" else ["0", "1", "2", "3"]
                                    for name in ("coreset", "random", "margin") for seed in "01"})
            self.assertEqual([(row["strategy"], row["runs"]) for row in self.rows(out, "auc.csv")],
                             [("coreset", "2"), ("random", "2"), ("margin", "2")])
            os.remove(os.path.join(out, "report.html"))  # every call writes it
        events = self.events(out)
        failed = [(event["seed"], event["round"], event["status"]) for event in events
                  if event["event"] == "failed"]
        self.assertEqual(sorted(failed), sorted([("0", 1, "EINPUT"), ("1", 1, "EINPUT")] * 3))
        self.assertEqual([event["status"] for event in events if event["event"] == "stop"], ["EINPUT"] * 3)
        self.assertEqual(len([event for event in events if event["event"] == "run"]), 6 + 2 + 2)

    def test_a_single_run_fails_with_its_own_message(self):
        says = self.fails(3, "run", *sets(MOONS, train__lr=1e8, loop__seeds=0, loop__strategies="random",
                                          loop__retry_collapsed="no"),
                          "--out", self.path("out"), says="random, seed 0, round 0: the loss is not")
        self.assertEqual(len(says.splitlines()), 1)
        self.assertFalse(os.path.exists(self.path("out/report.html")))
        self.fails(3, "run", *sets(MOONS, train__lr=1e8, loop__seeds=0), "--out", self.path("all"),
                   says="2 of 2 runs failed; random, seed 0")

    def test_an_error_common_to_all_runs_ends_the_experiment(self):
        says = self.fails(3, "run", *sets(MOONS, model__weights=self.path("none.safetensors")), "--out",
                          self.path("out"), says="none.safetensors")
        self.assertNotIn("runs failed", says)
        self.assertEqual(len(says.splitlines()), 1)

    def test_an_experiment_of_a_version_with_fewer_keys_can_be_resumed(self):
        out = self.run_experiment("out")
        path = os.path.join(out, "experiment.ini")
        with open(path) as file:
            whole = file.read()
        kept = [line for line in whole.splitlines(True)
                if not line.startswith(("head", "clip", "badge.", "augment"))]
        self.assertGreater(len(whole.splitlines()), len(kept) + 3)
        for call in ([], sets(MOONS)):
            with open(path, "w") as file:
                file.write("".join(kept))
            self.ok("run", *call, "--resume", "--out", out)
            with open(path) as file:
                self.assertEqual(file.read(), whole)
        with open(path, "w") as file:
            file.write("".join(kept).replace("epochs = 8", "epochs = 9"))
        self.fails(2, "run", *sets(MOONS), "--resume", "--out", out, says=["epochs = 9", "epochs = 8"])
        with open(path, "w") as file:
            file.write("[loop]\nof_tomorrow = 3\n")
        self.fails(3, "run", *sets(MOONS), "--resume", "--out", out,
                   says=["experiment.ini:2", "loop.of_tomorrow"])

    def test_files_of_killed_programs_are_removed(self):
        out = self.run_experiment("out", train__reinit="no", loop__strategies="random", loop__seeds=0)
        with subprocess.Popen(["true"]) as child:
            pass
        gone = [f"{folder}.scant-{child.pid}-{i}.tmp" for i, folder in enumerate(("", "runs/", "charts/"))]
        gone += [f"runs/random-0.{part}.safetensors"
                 for part in ("weights-2", "trained-3-0", "training-3-0-a", "trained-3-query")]
        kept = [f".scant-{os.getpid()}-0.tmp", ".scant-notes.tmp", f".scant-{child.pid}-0.tmp.txt",
                f"scant-{child.pid}-0.tmp", "runs/random-0.weights-3.safetensors"]
        for name in [*gone, *kept[:-1]]:
            with open(os.path.join(out, name), "w") as file:
                file.write("half a fi")
        self.ok("run", "--resume", "--out", out)
        self.assertEqual([name for name in gone if os.path.exists(os.path.join(out, name))], [])
        self.assertEqual([name for name in kept if not os.path.exists(os.path.join(out, name))], [])

    def test_a_finished_run_needs_no_network(self):
        out = self.run_experiment("out", train__reinit="no", loop__strategies="random", loop__seeds=0)
        before = self.results(out)
        os.remove(os.path.join(out, "runs/random-0.weights-3.safetensors"))
        os.remove(os.path.join(out, "report.html"))
        self.ok("run", "--resume", "--out", out)
        self.assertEqual(self.results(out), before)
        self.assertTrue(os.path.exists(os.path.join(out, "report.html")))

    def test_a_test_set_equal_to_the_training_set_gives_a_warning(self):
        self.outlier()
        os.symlink(self.path("x.npy"), self.path("link.npy"))
        for number, (test, told) in enumerate((("x.npy", True), ("link.npy", True), ("other.npy", False))):
            if not told:
                np.save(self.path(test), np.load(self.path("x.npy")))
            flags = sets(MOONS, data__train=self.path("x.npy"), data__train_labels=self.path("y.npy"),
                         data__test=self.path(test), data__test_labels=self.path("y.npy"),
                         data__test_size=50, loop__rounds=0)
            done = run("run", *flags, "--threads", 1, "--out", self.path(f"out{number}"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("the same as data.train" in done.stderr, told)
        done = run("run", *sets(MOONS, data__test="moons", loop__rounds=0), "--out", self.path("moons"))
        self.assertNotIn("the same", done.stderr)  # its test part has other samples


class Data(RunCase):
    """Data from files: indices, held-out samples, regression, class names, images."""

    def make(self, n=300):
        rng = np.random.default_rng(5)
        labels = rng.integers(0, 3, n)
        points = rng.normal(size=(n, 4)).astype("f4") + 3 * np.eye(4, dtype="f4")[labels]
        return points, labels.astype("i8")

    def test_an_index_is_the_row_in_the_file(self):
        points, labels = self.make()
        labels[::7] = -1
        flags = sets(MOONS, data__train=self.save("x", points), data__train_labels=self.save("y", labels),
                     data__test=self.save("tx", points[:50]), data__test_labels=self.save(
                         "ty", np.abs(labels[:50])), data__pool=100, data__validation=40,
                     data__test_size=0, loop__strategies="random,coreset,sparse-greedy")
        self.ok("run", *flags, "--out", self.path("out"), "--threads", 1)
        seen = {"0": set(), "1": set()}
        for row in self.rows(self.path("out"), "picks.csv"):
            self.assertEqual(int(row["label"]), labels[int(row["index"])])
            seen[row["seed"]].add(row["index"])
        self.assertNotEqual(seen["0"], seen["1"])
        self.assertEqual({word for word, _ in self.calibrated(self.path("out"))}, {"validation set"})

    def test_held_out_samples_are_never_picked_and_are_the_same_for_all_seeds(self):
        points, labels = self.make(60)
        flags = sets(MOONS, data__train=self.save("x", points), data__train_labels=self.save("y", labels),
                     data__test_size=20, loop__rounds=20, loop__seeds="0,1")
        done = run("run", *flags, "--out", self.path("out"), "--threads", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        picked = {seed: {row["index"] for row in self.rows(self.path("out"), "picks.csv")
                         if row["seed"] == seed} for seed in "01"}
        self.assertEqual(len(picked["0"]), 40)
        self.assertEqual(picked["0"], picked["1"])
        self.fails(3, "run", *sets(MOONS, data__train=self.path("x.npy"), data__test_size=0,
                                   data__train_labels=self.path("y.npy")), "--out", self.path("o"),
                   says="data.test")

    def test_targets_of_a_regression_are_predicted(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(200, 3)).astype("f4")
        y = (x @ [1, -2, 0.5]).astype("f4")
        flags = sets(MOONS, data__train=self.save("x", x), data__train_labels=self.save("y", y),
                     data__test_size=50, data__task="regression", loop__strategies="random,coreset,bss,npc")
        self.ok("run", *flags, "--out", self.path("out"), "--threads", 1)
        curve = self.rows(self.path("out"), "curve.csv")
        self.assertEqual(len(curve), 4 * 2 * 4)
        for row in curve:
            self.assertEqual(row["error"], row["loss"])
        for row in self.rows(self.path("out"), "picks.csv"):
            self.assertAlmostEqual(float(row["label"]), float(y[int(row["index"])]), 5)
        flags[flags.index("loop.strategies=random,coreset,bss,npc")] = "loop.strategies=badge"
        self.assertFalse(os.path.exists(os.path.join(self.path("out"), "calibration.csv")))
        self.fails(2, "run", *flags, "--out", self.path("o"), says=["badge", "regression"])

    def test_classes_of_a_table_are_matched_by_name(self):
        """The test table lacks the first class: matched by number, all its labels would be wrong."""
        points, labels = self.make(120)
        names = np.array(["ant", "bee", "cow"])[labels]
        for name, keep in (("train", labels >= 0), ("test", labels > 0)):
            with open(self.path(name + ".csv"), "w") as file:
                for point, word in zip(points[keep], names[keep]):
                    file.write(",".join(map(str, point)) + f",{word}\n")
        flags = sets(MOONS, data__train=self.path("train.csv"), data__test=self.path("test.csv"),
                     data__test_size=0, train__epochs=60, loop__strategies="random", loop__rounds=2,
                     loop__initial=40)
        self.ok("run", *flags, "--out", self.path("out"), "--threads", 1)
        self.assertGreater(float(self.rows(self.path("out"), "curve.csv")[-1]["accuracy"]), 0.8)
        self.assertEqual([row["name"] for row in self.rows(self.path("out"), "classes.csv")],
                         ["ant", "bee", "cow"])

    def test_images_that_cannot_be_read_are_named_or_skipped(self):
        rng = np.random.default_rng(1)
        for part in ("train", "test"):
            for label, shade in (("dark", 60), ("light", 190)):
                os.makedirs(self.path(f"{part}/{label}"))
                for i in range(12):
                    write_png(self.path(f"{part}/{label}/{i:02}.png"),
                              rng.integers(shade - 30, shade + 30, (20, 24, 3)).astype("u1"))
        with open(self.path("train/dark/03.png"), "wb") as file:
            file.write(b"no picture")
        os.truncate(self.path("train/light/07.png"), 100)
        flags = sets(MOONS, data__train=self.path("train"), data__test=self.path("test"), data__size=8,
                     data__test_size=0, loop__rounds=4, loop__seeds=0)
        self.fails(3, "run", *flags, "--out", self.path("out"),
                   says=["2 of 24", "dark/03.png", "light/07.png", "--skip-bad"])
        self.assertFalse(os.path.exists(self.path("out")))
        done = run("run", *flags, "--skip-bad", "--threads", 1, "--out", self.path("out"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 24", done.stderr)
        picked = {int(row["index"]) for row in self.rows(self.path("out"), "picks.csv")}
        self.assertEqual(picked, set(range(24)) - {3, 19})
        for row in self.rows(self.path("out"), "picks.csv"):
            self.assertEqual(int(row["label"]), int(row["index"]) // 12)
        shown = np.load(self.path("out/thumbnails.npy"))
        self.assertEqual((shown.dtype, shown.shape[1:]), (np.uint8, (8, 8, 3)))
        listed = self.rows(self.path("out"), "thumbnails.csv")
        self.assertEqual(len(listed), len(shown))
        for row in listed:
            self.assertEqual(row["name"], ["dark", "light"][int(row["label"])])
            self.assertLess(abs(shown[int(row["row"])].mean() - [60, 190][int(row["label"])]), 8)

    @unittest.skipUnless(os.path.isdir("/usr/share/datasets/fashion-mnist"), "no fashion-mnist here")
    def test_every_strategy_completes_on_a_slice_of_fashion_mnist(self):
        names = [info["name"] for info in json.loads(run("strategies", "--format", "json").stdout)]
        able = [name for name in names if name not in POSTERIOR]
        flags = sets(MOONS, data__train="fashion-mnist", data__pool=300, data__test_size=200,
                     model__name="lenet5", train__epochs=3, loop__rounds=2, loop__initial=20,
                     loop__batch=10, loop__seeds=0, loop__strategies=",".join(able))
        flags = [word for flag, word in zip(flags[::2], flags[1::2]) if "width" not in word
                 for word in (flag, word)]
        self.ok("run", *flags, "--out", self.path("out"), "--jobs", 2, "--threads", 1)
        curve = self.rows(self.path("out"), "curve.csv")
        self.assertEqual([(row["strategy"], row["labels"]) for row in curve],
                         [(name, str(20 + 10 * r)) for name in able for r in range(3)])
        self.assertEqual(np.load(self.path("out/thumbnails.npy")).shape[1:], (28, 28, 1))
        for name in ("summary.csv", "auc.csv", "overlap.csv", "report.html"):
            self.assertTrue(os.path.getsize(self.path(f"out/{name}")))


def write_png(path, pixels):
    """An 8-bit RGB PNG of h x w x 3 bytes."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
            ">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    unittest.main()
