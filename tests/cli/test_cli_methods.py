# SPDX-License-Identifier: Apache-2.0
"""`scant train --method`: semi-supervised training."""
import json
import os
import unittest

import numpy as np

from scantcli import run
from test_cli_train import Train

FAMILY = ("fixmatch", "freematch", "softmatch")
METHODS = (*FAMILY, "mean-teacher", "pi", "pseudo-label")
QUICK = ("--model", "mlp", "--width", 8, "--steps", 6, "--batch", 4)


def tensors(path):
    """The tensors of a safetensors file of 32-bit floats, as flat arrays by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4")
            for name, entry in header.items()}


class Methods(Train):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(0)
        self.labels = np.arange(60) % 3
        centres = np.array([[0, 3], [3, 0], [-3, -3]], "f4")
        np.save(self.path("x.npy"), (centres[self.labels] + rng.normal(size=(60, 2))).astype("f4"))
        few = np.where(np.arange(60) < 9, self.labels, -1)
        np.save(self.path("y.npy"), few)
        np.save(self.path("all.npy"), self.labels)
        np.save(self.path("rows.npy"), np.arange(9))
        self.few = ("--data", self.path("x.npy"), "--labels", self.path("y.npy"))
        self.named = ("--data", self.path("x.npy"), "--labels", self.path("all.npy"),
                      "--indices", self.path("rows.npy"))

    def test_samples_with_label_minus_one_or_not_in_indices_are_unlabelled(self):
        for method in METHODS:
            with self.subTest(method):
                others = 60 if method in FAMILY else 51
                done = self.train(method, *self.few, *QUICK, "--method", method)
                self.assertEqual((done["method"], done["samples"], done["unlabelled"]),
                                 (method, 9, others))
                self.assertGreaterEqual(done["unlabelled_loss"], 0)
                self.assertTrue(0 <= done["kept"] <= 1)
                again = self.train(method + "2", *self.named, *QUICK, "--method", method)
                self.assertEqual(self.weights(method), self.weights(method + "2"))
                self.assertEqual(again["kept"], done["kept"])
                event = self.events(method)[-1]
                for key in ("unlabelled_loss", "kept", "balance"):
                    self.assertEqual(event[key], done[key])

    def test_a_method_has_its_own_defaults_which_flags_replace(self):
        self.train("a", *self.few, *QUICK, "--method", "fixmatch")
        options = self.described("a")["options"]
        for key, value in {"optimizer": "sgd", "lr": 0.03, "nesterov": True, "schedule": "fixmatch",
                           "weight-decay": 0.0005, "decay-weights-only": True, "ema": 0.999,
                           "mu": 7, "threshold": 0.95, "augment": "noise"}.items():
            self.assertEqual(options[key], value, key)
        self.train("b", *self.few, *QUICK, "--method", "fixmatch", "--optimizer", "adam", "--ema", 0,
                   "--weight-decay", 0, "--augment", "none", "--mu", 2)
        options = self.described("b")["options"]
        for key, value in {"optimizer": "adam", "lr": 0.001, "nesterov": False, "weight-decay": 0,
                           "ema": 0, "mu": 2, "augment": "none"}.items():
            self.assertEqual(options[key], value, key)

    def test_an_experiment_with_the_same_settings_has_the_same_options(self):
        same = {"optimizer": "optimizer", "lr": "lr", "momentum": "momentum", "nesterov": "nesterov",
                "weight-decay": "weight_decay", "decay-weights-only": "decay_weights_only",
                "schedule": "schedule", "batch": "batch", "ema": "ema", "mu": "{}_mu", "noise": "{}_noise",
                "unlabelled-weight": "{}_weight", "threshold": "{}_threshold", "drop": "{}_drop",
                "darp-alpha": "darp_alpha", "darp-every": "darp_every", "darp-warmup": "darp_warmup"}
        given = [(method, {}) for method in METHODS] + [
            ("fixmatch", flags) for flags in (
                {"optimizer": "sgd"}, {"momentum": 0.9}, {"optimizer": "sgd", "momentum": 0},
                {"optimizer": "adam"}, {"optimizer": "adam", "lr": 0.5, "ema": 0.5}, {"lr": 0.5},
                {"ema": 0, "weight-decay": 0}, {"batch": 4, "schedule": "step"})] + [
            ("mean-teacher", {"optimizer": "sgd", "momentum": 0.5}), ("pi", {"weight-decay": 0.1})]
        for number, (method, flags) in enumerate(given):
            with self.subTest(method, **flags):
                values = [word for key, value in flags.items() for word in (f"--{key}", value)]
                self.train(str(number), *self.few, *QUICK[:6], "--method", method, *values)
                trained = self.described(str(number))["options"]
                settings = [f"train.method={method}"] + [
                    f"train.{same[key]}={value}" for key, value in flags.items()]
                printed = run("run", *(word for text in settings for word in ("--set", text)), "--print")
                self.assertEqual(printed.returncode, 0, printed.stderr)
                lines = printed.stdout.split("[train]")[1].split("[loop]")[0].split("\n")
                shown = dict(line.split(" = ", 1) for line in lines if " = " in line)
                shown.update({"fixmatch_weight": shown.pop("fixmatch_lambda", None)})
                for flag, key in same.items():
                    text = shown.get(key.format(method.replace("-", "_")))
                    if text is not None:  # the method has this key
                        value = trained[flag]
                        self.assertEqual(text, {True: "yes", False: "no"}[value] if
                                         isinstance(value, bool) else value if
                                         isinstance(value, str) else f"{value:g}", flag)

    def test_the_validation_set_is_not_trained_on(self):
        done = self.train("a", *self.few, *QUICK, "--method", "fixmatch", "--validation", 3)
        self.assertEqual((done["samples"], done["unlabelled"]), (6, 57))
        np.save(self.path("others.npy"), np.arange(20, 30))
        done = self.train("b", *self.few, *QUICK, "--method", "pi", "--unlabelled",
                          self.path("others.npy"))
        self.assertEqual(done["unlabelled"], 10)

    def test_a_resumed_training_ends_with_the_same_bits(self):
        flags = (*self.few, *QUICK[:4], "--batch", 4, "--method", "fixmatch", "--darp",
                 "--darp-warmup", 0, "--darp-every", 2, "--schedule", "constant")
        whole = self.train("whole", *flags, "--steps", 12)
        self.train("half", *flags, "--steps", 5)
        again = self.train("half", "--resume", "--steps", 12)
        self.assertEqual(self.weights("whole"), self.weights("half"))
        self.assertEqual(whole["unlabelled_loss"], again["unlabelled_loss"])
        options = self.described("half")["options"]
        self.assertEqual((options["method"], options["darp"], options["ema"]),
                         ("fixmatch", True, 0.999))
        self.fails(2, "train", "--resume", "--out", self.path("half"), "--method", "pi",
                   says=["--method is", "begun with"])

    def test_a_darp_target_and_a_warm_start_change_the_weights(self):
        np.save(self.path("t.npy"), np.array([1.0, 2, 1]))
        flags = (*self.few, *QUICK, "--method", "fixmatch", "--darp", "--darp-warmup", 0)
        self.train("a", *flags, "--darp-target", self.path("t.npy"))
        self.train("b", *flags)
        self.assertNotEqual(self.weights("a"), self.weights("b"))
        state = os.path.join(self.path("b"), "state.safetensors")
        self.train("c", *flags, "--warm", state)
        self.assertNotEqual(self.weights("b"), self.weights("c"))
        # with a learning rate of almost 0 it ends where it started: at the weights of the checkpoint,
        # not at their average
        self.train("d", *flags, "--warm", state, "--lr", 1e-30, "--weight-decay", 0, "--ema", 0)
        live = tensors(state)["values"]
        ended = tensors(os.path.join(self.path("d"), "weights.safetensors"))
        self.assertEqual(sorted(np.concatenate(list(ended.values()))), sorted(live))
        averaged = tensors(os.path.join(self.path("b"), "weights.safetensors"))
        self.assertNotEqual(sorted(np.concatenate(list(averaged.values()))), sorted(live))
        np.save(self.path("t.npy"), np.ones(4))
        self.fails(3, "train", *flags, "--darp-target", self.path("t.npy"), "--out", self.path("e"),
                   says="has shape 4, expected 3 numbers, one for each class")
        self.fails(3, "train", *self.few, "--model", "linear", "--warm", state, "--out",
                   self.path("e"), says="another network")

    def test_thresholds_and_weights_follow_their_options(self):
        def train(name, *flags):
            self.train(name, *self.few, *QUICK, *flags)
            return self.weights(name)
        free, soft = ("--method", "freematch"), ("--method", "softmatch")
        plain = train("a", *free)
        for name, flag, value in (("b", "--prediction-ema", 0.5), ("c", "--fairness", 0)):
            self.assertNotEqual(train(name, *free, flag, value), plain, flag)
        self.assertEqual(train("d", *free, "--prediction-ema", 0.9), plain)  # auto: 0.9 in 6 steps
        self.assertEqual(self.described("d")["options"]["prediction-ema"], 0.9)
        self.assertEqual(self.described("a")["options"]["prediction-ema"], "auto")
        self.assertNotEqual(train("e", *soft), train("f", *soft, "--prediction-ema", 0.5))
        self.assertNotEqual(train("g", *soft, "--no-align"), self.weights("e"))
        self.assertEqual(train("h", *soft, "--align"), self.weights("e"))
        self.assertEqual((self.described("g")["options"]["align"], self.described("e")["options"]["align"]),
                         (False, True))

    def test_alignment_has_the_targets_of_darp(self):
        np.save(self.path("even.npy"), np.ones(3))
        np.save(self.path("odd.npy"), np.array([1.0, 2, 6]))
        y = np.load(self.path("y.npy"))
        y[[5, 8]] = [1, 0]  # 4, 4 and 1 labels
        np.save(self.path("y.npy"), y)
        np.save(self.path("counts.npy"), np.array([4.0, 4, 1]))
        for switch in ("--align", "--darp"):
            warm = ("--darp-warmup", 0) if switch == "--darp" else ()
            flags = (*self.few, *QUICK, "--method", "fixmatch", "--threshold", 0.3, switch, *warm)
            for name, *target in (("none",), ("even", self.path("even.npy")), ("odd", self.path("odd.npy")),
                                  ("labelled", "labelled"), ("counts", self.path("counts.npy"))):
                self.train(switch + name, *flags, *(word for value in target for word in ("--darp-target", value)))
            weights = {name: self.weights(switch + name) for name in ("none", "even", "odd", "labelled", "counts")}
            self.assertEqual(weights["none"], weights["even"])
            self.assertEqual(weights["labelled"], weights["counts"])
            self.assertEqual(len(set(weights.values())), 3, switch)
            self.assertEqual(self.described(switch + "labelled")["options"]["darp-target"], "labelled")
        self.fails(3, "train", *flags[:-3], "--align", "--darp-target", self.path("x.npy"), "--out",
                   self.path("w"), says="has shape 60 x 2, expected 3 numbers, one for each class")

    def test_resumed_adaptive_methods_end_with_the_same_bits(self):
        for method in ("freematch", "softmatch"):
            flags = (*self.few, *QUICK[:4], "--batch", 4, "--method", method, "--schedule", "constant",
                     "--align", "--darp-target", "labelled", "--prediction-ema", 0.8)
            whole = self.train(method, *flags, "--steps", 12)
            self.train(method + "2", *flags, "--steps", 5)
            again = self.train(method + "2", "--resume", "--steps", 12)
            self.assertEqual(self.weights(method), self.weights(method + "2"))
            for key in ("unlabelled_loss", "kept", "balance"):
                self.assertEqual(whole[key], again[key])

    def test_balance_is_printed_only_if_samples_count(self):
        flags = (*self.few, *QUICK, "--method", "fixmatch")
        for name, threshold, told in (("a", 1, False), ("b", 0.1, True)):
            text = self.ok("train", *flags, "--threshold", threshold, "--quiet", "--out", self.path(name))
            line = next(line for line in text.split("\n") if line.startswith("unlabelled"))
            self.assertEqual("balance" in line, told, line)
            self.assertIn("of 60 samples count", line)

    def test_a_warm_start_from_a_file_that_it_would_overwrite_is_refused(self):
        flags = ("train", *self.few, *QUICK, "--method", "pi", "--out", self.path("a"))
        self.ok(*flags, "--quiet")
        before = self.weights("a")
        os.symlink(self.path("a"), self.path("link"))
        for state in ("a/state.safetensors", "link/state.safetensors"):
            self.fails(2, *flags, "--overwrite", "--warm", self.path(state),
                       says="would overwrite --warm")
        for weights in ("a/weights.safetensors", "link/weights.safetensors"):
            self.fails(2, *flags, "--overwrite", "--weights", self.path(weights),
                       says="would overwrite --weights")
        self.assertEqual(self.weights("a"), before)
        self.assertEqual(len(os.listdir(self.path("a"))), 5)
        os.rename(self.path("a/state.safetensors"), self.path("state.safetensors"))
        self.ok(*flags, "--overwrite", "--quiet", "--warm", self.path("state.safetensors"))

    def test_classes_without_a_label_are_named(self):
        y = np.where(np.arange(60) < 9, self.labels, -1)
        y[y == 1] = -1
        np.save(self.path("y.npy"), y)
        done = run("train", *self.few, *QUICK, "--method", "fixmatch", "--out",
                           self.path("a"))
        self.assertIn("no sample is labelled as class 1: it may not be learnt", done.stderr)
        self.assertIn("6 samples train with their labels, 60 without", done.stderr)

    def test_wrong_flags_are_refused(self):
        out = ("--out", self.path("a"))
        self.fails(3, "train", "--data", self.path("x.npy"), "--labels", self.path("all.npy"), *QUICK,
                   "--method", "pi", *out, says="use --method supervised")
        for says, *flags in (
                ("--mu needs a method that learns from unlabelled samples", "--mu", 3),
                ("--ramp does not apply to --method fixmatch", "--method", "fixmatch", "--ramp", 3),
                ("--darp-every needs --darp", "--method", "fixmatch", "--darp-every", 3),
                ("--darp does not apply to --method pi", "--method", "pi", "--darp"),
                ("--darp does not apply to --method softmatch", "--method", "softmatch", "--darp"),
                ("--align does not apply to --method pi", "--method", "pi", "--align"),
                ("--no-align does not apply to --method pi", "--method", "pi", "--no-align"),
                ("--align cannot be combined with --no-align", "--method", "softmatch", "--align", "--no-align"),
                ("--darp cannot be combined with --align", "--method", "fixmatch", "--darp", "--align"),
                ("--darp-target needs --darp or --align", "--method", "freematch", "--darp-target", "labelled"),
                ("--darp-target needs --darp or --align", "--method", "softmatch", "--no-align", "--darp-target", "labelled"),
                ("--threshold does not apply to --method freematch", "--method", "freematch", "--threshold", 0.9),
                ("--fairness does not apply to --method softmatch", "--method", "softmatch", "--fairness", 1),
                ("--prediction-ema is '1', expected auto or a number of at least 0", "--method", "freematch",
                 "--prediction-ema", 1),
                ("--threshold is '0', expected a number above 0 and at most 1", "--method", "fixmatch", "--threshold", 0),
                ("--threshold is '1.5', expected a number above 0", "--method", "fixmatch", "--threshold", 1.5),
                ("--method pi needs --loss ce", "--method", "pi", "--loss", "mse"),
                ("needs classes: no --regression", "--method", "pi", "--regression"),
                ("supervised|fixmatch", "--method", "fixmach")):
            with self.subTest(flags):
                self.fails(2, "train", *self.few, *QUICK, *flags, *out, says=says)
        self.assertFalse(os.path.exists(self.path("a")))


if __name__ == "__main__":
    unittest.main()
