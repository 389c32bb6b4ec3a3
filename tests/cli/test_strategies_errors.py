# SPDX-License-Identifier: Apache-2.0
"""Wrong evidence for the strategies that take more than features and probabilities: the exit status,
and a message that names the file, the row and the value."""
import os
import re
import unittest

import numpy as np


BY_SAMPLES = ("bald", "batchbald", "acs-fw", "sparse-greedy", "sparse-iht")
BY_CALIBRATED = ("sparse-greedy", "sparse-iht")
BY_GRADIENTS = ("dynamic", "bss")
N = 30
from strategycase import STRATEGIES, INPUT_SETS, StrategyCase, evidence, needed


class ErrorCase(StrategyCase):
    def setUp(self):
        super().setUp()
        self.whole = evidence(1, N)
        self.labels = np.full(N, -1)
        self.labels[:5] = [0, 1, 2, 3, 0]

    def refused(self, status, strategy, says, *words, batch=4, **arrays):
        """A call that must fail with this status and write no output file; returns the message."""
        out = self.path("out.csv")
        said = self.fails(status, *self.command(strategy, batch, self.inputs(**arrays)), *words,
                          "--out", out, says=says)
        self.assertFalse(os.path.exists(out))
        self.assertTrue(said.startswith("scant: "), said)
        return said

    def spoiled(self, name, at, value, dtype="f8"):
        """An array of the pool with one value changed."""
        array = self.whole[name].astype(dtype)
        array[at] = value
        return array


class Samples(ErrorCase):
    def test_fewer_than_two_draws_are_refused(self):
        for strategy in BY_SAMPLES:
            with self.subTest(strategy):
                self.refused(3, strategy, ["samples.npy"], samples=np.zeros((0, N, 4)))
                self.refused(3, strategy, ["samples.npy", "has 1 "],
                             samples=self.whole["samples"][:1])

    def test_values_that_are_not_finite_are_refused(self):
        for strategy in BY_SAMPLES:
            for bad, word in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
                for dtype in ("f2", "f4", ">f8"):
                    with self.subTest(strategy, bad=word, dtype=dtype):
                        S = self.spoiled("samples", (3, 17, 1), bad, dtype)
                        said = self.refused(3, strategy, ["samples.npy", "row 17"], samples=S)
                        self.assertIn(word, said.lower())

    def test_rows_that_are_not_distributions_are_refused(self):
        for strategy in BY_SAMPLES:
            with self.subTest(strategy):
                S = self.spoiled("samples", (2, 11), [.5, .5, .5, 0])
                self.refused(3, strategy, ["samples.npy", "row 11", "1.5"], samples=S)
                S = self.spoiled("samples", (2, 11), [-.25, .75, .5, 0])
                self.refused(3, strategy, ["samples.npy", "row 11", "-0.25"], samples=S)
                S = self.spoiled("samples", (2, 11), [.5, .25, .25, .0009])
                self.pick(strategy, 4, self.inputs(samples=S))
                S = self.spoiled("samples", (2, 11), [.5, .25, .25, .0011])
                self.refused(3, strategy, ["samples.npy", "row 11", "1.0011"], samples=S)

    def test_a_bad_row_is_refused_even_if_it_cannot_be_picked(self):
        labels = self.labels.copy()
        S = self.spoiled("samples", (1, 2, 0), np.nan)
        for strategy in BY_SAMPLES:
            self.refused(3, strategy, ["samples.npy", "row 2"], samples=S, labels=labels)

    def test_wrong_shapes_are_refused(self):
        for strategy in BY_SAMPLES:
            with self.subTest(strategy):
                self.refused(3, strategy, ["samples.npy", "m x n x C"],
                             samples=self.whole["probs"])
                self.refused(3, strategy, "samples.npy", samples=np.ones((4, N, 1)))
                self.refused(3, strategy, ["samples.npy", "labels.npy", "30", "29"],
                             samples=self.whole["samples"], labels=self.labels[:29])
                self.refused(3, strategy, "samples.npy",
                             samples=np.zeros((4, N, 3), "i4"))

    def test_the_fisher_inner_product_needs_features(self):
        said = self.refused(2, "acs-fw", ["acs-fw needs", "--features"], "--opt", "inner=fisher",
                            samples=self.whole["samples"])
        self.assertNotIn("--samples ", said)
        H = self.spoiled("features", (7, 1), np.nan)
        self.refused(3, "acs-fw", ["features.npy", "row 7"], "--opt", "inner=fisher",
                     samples=self.whole["samples"], features=H)

    def test_a_single_draw_is_refused_with_the_reason(self):
        for strategy in BY_SAMPLES:
            for words in ((), ("--opt", "terms=variance"))[:1 + strategy.startswith("sparse")]:
                self.refused(3, strategy, ["samples.npy", "1 posterior draws", "at least 2"],
                             *words, samples=self.whole["samples"][:1])

    def test_too_little_memory_names_the_need(self):
        for strategy, *words in (*((one,) for one in BY_SAMPLES),
                                 ("sparse-iht", "--opt", "terms=variance"),
                                 ("acs-fw", "--opt", "inner=fisher")):
            with self.subTest(strategy, words=words):
                words += "--threads", 2  # each thread has its own scratch memory
                arrays = {"samples": self.whole["samples"]}
                if "inner=fisher" in words:
                    arrays["features"] = self.whole["features"]
                said = self.refused(4, strategy, ["needs"], *words, "--memory", "20K", **arrays)
                need = int(re.search(r"needs (\d+) bytes", said)[1])
                self.assertGreater(need, 20480)
                call = self.command(strategy, 4, self.inputs(**arrays))
                self.ok(*call, *words, "--memory", need)
                self.fails(4, *call, *words, "--memory", need - 1, says=str(need))

    def test_more_projections_than_draws_are_refused(self):
        said = self.refused(2, "acs-fw", "projections", "--opt", "projections=6",
                            samples=self.whole["samples"])
        self.assertIn("5", said)


class Calibrated(ErrorCase):
    def given(self, strategy, **more):
        return {**needed(strategy, self.whole), **more}

    def test_values_that_are_not_finite_are_refused(self):
        for strategy in BY_CALIBRATED:
            for bad, word in ((np.nan, "nan"), (np.inf, "inf")):
                for name in ("calibrated", "probs", "features"):
                    with self.subTest(strategy, name=name, bad=word):
                        arrays = self.given(strategy, **{name: self.spoiled(name, (9, 1), bad)})
                        said = self.refused(3, strategy, [name + ".npy", "row 9"], **arrays)
                        self.assertIn(word, said.lower())

    def test_rows_that_are_not_distributions_are_refused(self):
        for strategy in BY_CALIBRATED:
            for name in ("calibrated", "probs"):
                with self.subTest(strategy, name=name):
                    arrays = self.given(strategy, **{name: self.spoiled(name, 9, [1, .5, 0, 0])})
                    self.refused(3, strategy, [name + ".npy", "row 9", "1.5"], **arrays)
                    arrays = self.given(strategy,
                                        **{name: self.spoiled(name, 9, [1.5, -.5, 0, 0])})
                    self.refused(3, strategy, [name + ".npy", "row 9", "-0.5"], **arrays)

    def test_different_sizes_are_refused(self):
        for strategy in BY_CALIBRATED:
            with self.subTest(strategy):
                arrays = self.given(strategy, calibrated=np.full((N, 5), .2))
                self.refused(3, strategy, ["calibrated.npy", "probs.npy", "5", "4"], **arrays)
                arrays = self.given(strategy, calibrated=self.whole["calibrated"][:20])
                self.refused(3, strategy, ["calibrated.npy", "20", "30"], **arrays)

    def test_a_missing_input_is_named_in_both_alternatives(self):
        for strategy in BY_CALIBRATED:
            for left_out in ("calibrated", "features"):
                with self.subTest(strategy, without=left_out):
                    arrays = self.given(strategy)
                    del arrays[left_out]
                    self.refused(2, strategy, [strategy, "--" + left_out, "--samples"], **arrays)
            self.refused(2, strategy, ["--calibrated", "--temperature", "--samples"],
                         logits=self.whole["logits"], features=self.whole["features"])

    def test_wrong_temperatures_are_refused(self):
        logits = {"logits": self.whole["logits"], "features": self.whole["features"]}
        for strategy in BY_CALIBRATED:
            with self.subTest(strategy):
                for bad in ("0", "-1", "inf", "nan", "x"):
                    self.refused(2, strategy, "--temperature", f"--temperature={bad}", **logits)
                self.refused(2, strategy, ["--temperature", "--logits"], "--temperature", "2",
                             probs=self.whole["probs"], features=self.whole["features"])
                self.refused(2, strategy, ["--calibrate-on", "--labels"], "--temperature", "fit",
                             **logits)
                self.refused(2, strategy, ["--calibrated", "--temperature"], "--temperature", "2",
                             **logits, calibrated=self.whole["calibrated"])
                # row 7 has no label
                self.refused(3, strategy, ["calibrate_on.npy", "7"], **logits, temperature="fit",
                             labels=self.labels, calibrate_on=np.array([1, 7]))
                self.refused(3, strategy, ["calibrate_on.npy", "30"], **logits, temperature="fit",
                             labels=self.labels, calibrate_on=np.array([1, 30]))
                self.refused(3, strategy, "calibrate_on.npy", **logits, temperature="fit",
                             labels=self.labels, calibrate_on=np.zeros(0, int))


class Gradients(ErrorCase):
    def test_values_that_are_not_finite_are_refused(self):
        for strategy in BY_GRADIENTS:
            for bad, word in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
                for dtype in ("f2", ">f4", "f8"):
                    with self.subTest(strategy, bad=word, dtype=dtype):
                        G = self.spoiled("gradients", (21, 3), bad, dtype)
                        said = self.refused(3, strategy, ["gradients.npy", "row 21"], gradients=G)
                        self.assertIn(word, said.lower())

    def test_wrong_types_and_shapes_are_refused(self):
        G = self.whole["gradients"]
        for strategy in BY_GRADIENTS:
            with self.subTest(strategy):
                self.refused(3, strategy, "gradients.npy", gradients=G[:, 0])
                self.refused(3, strategy, "gradients.npy", gradients=np.zeros((N, 0)))
                self.refused(3, strategy, "gradients.npy", gradients=np.zeros((N, 3), "u1"))
                self.refused(3, strategy, ["gradients.npy", "labels.npy", "30", "31"],
                             gradients=G, labels=np.full(31, -1))

    def test_a_missing_input_is_named_in_both_alternatives(self):
        self.refused(2, "dynamic", ["dynamic", "--probs", "--gradients"],
                     features=self.whole["features"])
        self.refused(2, "dynamic", ["dynamic", "--features", "--gradients"],
                     probs=self.whole["probs"])
        self.refused(2, "bss", ["bss", "--features", "--gradients"], probs=self.whole["probs"])


class Labels(ErrorCase):
    def test_a_label_that_is_not_a_class_is_refused(self):
        bad = self.labels.copy()
        bad[3] = 4
        for strategy in STRATEGIES:
            for way in range(len(INPUT_SETS[strategy])):
                names = INPUT_SETS[strategy][way]
                if {"probs", "logits", "samples"} & set(names):
                    with self.subTest(strategy, way=way):
                        arrays = {**needed(strategy, self.whole, way), "labels": bad}
                        self.refused(3, strategy, ["labels.npy", "row 3", "4"], **arrays)

    def test_a_label_below_minus_one_is_refused(self):
        bad = self.labels.copy()
        bad[3] = -2
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                arrays = {**needed(strategy, self.whole), "labels": bad}
                self.refused(3, strategy, ["labels.npy", "row 3", "-2"], **arrays)


class Options(ErrorCase):
    def test_values_out_of_range_are_refused(self):
        for strategy, bad in (("dynamic", "gamma=x"), ("dynamic", "bias=2"),
                              ("npc", "candidates=0"), ("npc", "candidates=x"),
                              ("npc", "refine=-1"), ("crc", "group=0"), ("crc", "group=1.5"),
                              ("batchbald", "mc=0"), ("batchbald", "mc=-3"),
                              ("acs-fw", "projections=-1"), ("acs-fw", "projections=1.5"),
                              ("sparse-greedy", "alpha=-1"), ("sparse-greedy", "beta=-1"),
                              ("sparse-greedy", "tau=nan"), ("sparse-greedy", "source=both"),
                              ("sparse-iht", "iters=0"), ("sparse-iht", "tol=-1"),
                              ("sparse-iht", "keep=first"), ("sparse-iht", "prox=none"),
                              ("bss", "epsilon=0"), ("bss", "epsilon=1"), ("bss", "epsilon=-1"),
                              ("bss", "epsilon=2"), ("bss", "epsilon=nan"),
                              ("bss", "basis=fourier"), ("bss", "basis=poly"),
                              ("bss", "basis=poly:x"), ("bss", "basis=poly:-1")):
            with self.subTest(strategy, bad=bad):
                key, value = bad.split("=")
                self.refused(2, strategy, [key, value], "--opt", bad,
                             **needed(strategy, self.whole))

    def test_an_unknown_key_lists_the_known_ones(self):
        known = {"bald": [], "batchbald": ["mc"], "dynamic": ["gamma", "bias"],
                 "npc": ["candidates", "bias", "refine", "normalise"],
                 "crc": ["group", "bias", "normalise"],
                 "sparse-greedy": ["alpha", "beta", "tau", "bias", "source", "terms"],
                 "sparse-iht": ["alpha", "beta", "iters", "tol", "keep", "prox", "bias", "source",
                                "terms"],
                 "acs-fw": ["projections", "inner", "bias"], "bss": ["epsilon", "basis", "bias", "law"], "albl": []}
        for strategy, keys in known.items():
            with self.subTest(strategy):
                self.refused(2, strategy, ["'nonsense'", *keys], "--opt", "nonsense=1",
                             **needed(strategy, self.whole))


if __name__ == "__main__":
    unittest.main()
