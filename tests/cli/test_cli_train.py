# SPDX-License-Identifier: Apache-2.0
"""`scant train`: what it learns, the files it writes, and how it resumes."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

import numpy as np

from scantcli import SCANT, Case, run
from test_cli_work import on_terminal

FASHION = "/usr/share/datasets/fashion-mnist"


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Train(Case):
    def train(self, name, *args):
        """Trains in the folder `name`; returns the summary."""
        return json.loads(self.ok("train", "--out", self.path(name), "--format", "json", "--quiet",
                                  "--threads", 1, *args))

    def weights(self, name):
        return read(os.path.join(self.path(name), "weights.safetensors"))

    def events(self, name, kind="epoch"):
        with open(os.path.join(self.path(name), "log.jsonl"), encoding="utf-8") as file:
            return [e for e in map(json.loads, file) if e["event"] == kind]

    def described(self, name):
        with open(os.path.join(self.path(name), "train.json"), encoding="utf-8") as file:
            return json.load(file)


class Learning(Train):
    def test_norm_momentum_sets_the_speed_of_running_statistics(self):
        call = ["--data", "moons", "--model", "wrn-28-2", "--steps", 1, "--batch", 4]
        for name, momentum in (("a", 0.1), ("b", 0.9)):
            self.train(name, *call, "--norm-momentum", momentum)
        self.train("c", *call)
        self.assertEqual(self.weights("a"), self.weights("c"))  # the default
        self.assertNotEqual(self.weights("a"), self.weights("b"))

    def test_it_learns_blobs_and_is_evaluated_on_the_test_part(self):
        done = self.train("a", "--data", "blobs", "--model", "mlp", "--epochs", 5)
        self.assertEqual(done["stopped"], "epochs")
        self.assertEqual(done["test"]["samples"], 1000)
        self.assertGreaterEqual(done["test"]["accuracy"], 0.95)
        self.assertLess(done["test"]["calibration"], 0.1)
        self.assertEqual(sorted(os.listdir(self.path("a"))),
                         ["log.jsonl", "result.json", "state.safetensors", "train.json",
                          "weights.safetensors"])
        events = self.events("a")
        self.assertEqual([e["epoch"] for e in events], [1, 2, 3, 4, 5])
        self.assertLess(events[-1]["loss"], events[0]["loss"])
        self.assertEqual(json.loads(read(self.path("a/result.json"))), done)

    def test_the_seed_decides_the_weights(self):
        for name, seed in (("a", 3), ("b", 3), ("c", 4)):
            self.train(name, "--data", "moons", "--count", 200, "--model", "mlp", "--epochs", 2,
                       "--seed", seed)
        self.assertEqual(self.weights("a"), self.weights("b"))
        self.assertNotEqual(self.weights("a"), self.weights("c"))

    def test_options_are_described_with_their_defaults(self):
        self.train("a", "--data", "blobs", "--count", 50, "--model", "mlp", "--epochs", 1,
                   "--optimizer", "adam", "--seed", 2**63)
        self.train("b", "--data", "blobs", "--count", 50, "--model", "mlp", "--epochs", 1,
                   "--momentum", 0)
        told = self.described("a")
        options = told["options"]
        self.assertEqual((options["lr"], options["batch"], options["loss"]), (0.001, 128, "ce"))
        self.assertEqual(options["seed"], str(2**63))
        self.assertEqual(self.described("b")["options"]["momentum"], 0)
        self.assertEqual(told["data"]["samples"], 50)
        self.assertEqual(told["model"], {"name": "mlp", "parameters": 1539, "features": 256,
                                         "classes": 3})

    def test_indices_and_validation_choose_the_samples(self):
        rows = self.save("rows", np.arange(0, 200, 2))
        done = self.train("a", "--data", "blobs", "--model", "linear", "--epochs", 3, "--indices",
                          rows, "--validation", 30)
        self.assertEqual(done["samples"], 70)
        self.assertEqual(self.described("a")["validated_on"], 30)
        # with 30 samples an accuracy is a multiple of 1/30
        self.assertAlmostEqual(done["valid_accuracy"] * 30, round(done["valid_accuracy"] * 30))
        self.assertIn("valid_loss", self.events("a")[0])

    def test_samples_without_a_label_are_left_out(self):
        # the unlabelled samples have features that would ruin the training
        rng = np.random.default_rng(0)
        y = np.arange(90) % 3
        x = np.eye(3, dtype="f4")[y]
        y[30:] = -1
        x[30:] = rng.normal(size=(60, 3)) * 1e6
        data, labels = self.save("x", x), self.save("y", y)
        call = ["--model", "linear", "--epochs", 2, "--batch", 7]
        some = self.train("a", "--data", data, "--labels", labels, *call)
        self.assertEqual(some["samples"], 30)
        self.train("b", "--data", self.save("x30", x[:30]), "--labels", self.save("y30", y[:30]),
                   *call)
        self.assertEqual(self.weights("a"), self.weights("b"))
        rows = self.save("rows", np.arange(20, 40))
        done = self.train("c", "--data", data, "--labels", labels, "--indices", rows, *call,
                          "--validation", 4, "--test", data, "--test-labels", labels)
        self.assertEqual((done["samples"], done["test"]["samples"]), (6, 30))
        # also evaluated at the temperature that fits the validation set
        self.assertNotIn("scaled", some["test"] or {})
        scaled = done["test"]["scaled"]
        self.assertEqual(sum(n for n, _, _ in scaled["bins"]), 30)
        self.assertNotEqual(scaled["temperature"], done["test"]["temperature"])
        said = run("train", "--data", data, "--labels", labels, *call, "--out", self.path("d"))
        self.assertIn("60 of 90 samples have no label", said.stderr)
        # embed reads the same file
        self.ok("embed", "--data", data, "--labels", labels, "--from", self.path("a"), "--logits",
                self.path("z.npy"), "--labels-out", self.path("l.npy"))
        np.testing.assert_array_equal(np.load(self.path("l.npy")), y)

    def test_the_validation_set_is_not_trained_on(self):
        # five classes with one sample each: a network trained on one sample cannot predict the others
        data = self.save("x", np.eye(5, dtype="f4"))
        labels = self.save("y", np.arange(5))
        for seed in range(3):
            done = self.train(f"a{seed}", "--data", data, "--labels", labels, "--model", "linear",
                              "--validation", 4, "--epochs", 50, "--lr", 1, "--seed", seed)
            self.assertEqual((done["samples"], done["accuracy"], done["valid_accuracy"]), (1, 1, 0))

    def table_of(self, name, words):
        """A CSV file with a point for each word, in a cluster of its own for each word."""
        places = {"cat": (4, 0), "dog": (-4, 0), "eel": (0, 4), "yak": (0, -4)}
        path = self.path(name + ".csv")
        with open(path, "w", encoding="utf-8") as file:
            for i, word in enumerate(words):
                x, y = places[word]
                file.write(f"{x + i % 3 / 10},{y - i % 2 / 10},{word}\n")
        return path

    def test_classes_of_a_test_set_are_matched_by_name(self):
        data = self.table_of("train", ["dog", "cat", "eel"] * 10)
        test = self.table_of("test", ["eel", "dog"] * 5)  # numbered by itself, eel would be 1
        call = ["--data", data, "--model", "linear", "--epochs", 30, "--lr", 0.1]
        done = self.train("a", *call, "--test", test)
        self.assertEqual((done["test"]["accuracy"], done["test"]["samples"]), (1, 10))
        self.assertEqual(done["classes"], ["cat", "dog", "eel"])
        self.fails(3, "train", *call, "--test", self.table_of("odd", ["dog", "yak"]), "--out",
                   self.path("b"), says=["odd.csv", "sample 1", "'yak'", "'cat', 'dog', 'eel'"])
        self.assertFalse(os.path.exists(self.path("b")))
        start = [*call, "--weights", self.path("a/weights.safetensors")]
        said = run("train", *start, "--out", self.path("w"))
        self.assertEqual((said.returncode, "warning" in said.stderr), (0, False), said.stderr)
        start[1] = self.table_of("others", ["dog", "eel", "yak"])
        self.assertIn("class 0 is 'cat' in the file and 'dog' in the data",
                      run("train", *start, "--out", self.path("v")).stderr)
        # embed matches them by name, too
        embed = ["embed", "--from", self.path("a"), "--data"]
        done = json.loads(self.ok(*embed, test, "--evaluate", "--format", "json"))
        self.assertEqual((done["accuracy"], done["samples"]), (1, 10))
        said = run(*embed, test, "--probs", self.path("p.npy"), "--labels-out",
                   self.path("y.npy")).stderr
        self.assertIn("columns are classes: 0 cat, 1 dog, 2 eel", said)
        np.testing.assert_array_equal(np.load(self.path("y.npy")), [2, 1] * 5)
        np.testing.assert_array_equal(np.load(self.path("p.npy")).argmax(1), [2, 1] * 5)
        self.ok(*embed, test, "--classes-out", self.path("c.csv"))
        self.assertEqual(read(self.path("c.csv")), b"label,name\n0,cat\n1,dog\n2,eel\n")
        odd = self.path("odd.csv")
        said = run(*embed, odd, "--labels-out", self.path("y.npy")).stderr
        self.assertIn("own class numbers", said)
        np.testing.assert_array_equal(np.load(self.path("y.npy")), [0, 1])
        self.fails(3, *embed, odd, "--evaluate", says="'yak'")
        self.train("c", "--data", "blobs", "--count", 9, "--model", "linear", "--epochs", 1)
        self.fails(3, "embed", "--from", self.path("c"), "--data", "blobs", "--classes-out",
                   self.path("d.csv"), says="no names")

    def test_labels_of_one_class_give_a_warning(self):
        data = self.table_of("train", ["dog"] * 4)
        call = ["train", "--model", "linear", "--epochs", 1, "--data"]
        self.assertIn("all 4 samples to train on are of one class",
                      run(*call, data, "--out", self.path("a")).stderr)
        self.assertNotIn("one class", run(*call, "blobs", "--out", self.path("b")).stderr)

    def share(self, name, *args):
        """The probability of the first of two classes after a training where all samples are equal."""
        data = self.save("one", np.ones((5, 1), "f4"))
        labels = self.save("two", np.array([0, -1, 1, 0, 1]))
        self.train(name, "--data", data, "--labels", labels, "--model", "linear", "--epochs", 200,
                   "--lr", 0.5, *args)
        self.ok("embed", "--data", data, "--from", self.path(name), "--probs",
                self.path("p.npy"), "--quiet")
        return np.load(self.path("p.npy"))[0, 0]

    def test_sample_weights_scale_the_loss(self):
        # the loss is smallest if the probability of a class is its share of the weights
        def weights(*numbers):
            return "--sample-weights", self.save("w", np.array(numbers, "f4"))
        self.assertAlmostEqual(self.share("a"), 2 / 4, places=3)
        self.assertAlmostEqual(self.share("b", *weights(3, 100, 1, 0, 0)), 3 / 4, places=3)
        self.assertAlmostEqual(self.share("c", *weights(2, 100, 5, 3, 0)), 5 / 10, places=3)
        rows = "--indices", self.save("rows", np.array([4, 1, 0]))
        self.assertAlmostEqual(self.share("d", *rows, *weights(1, 100, 4)), 4 / 5, places=3)
        draw = ["--draw-by-weight"]
        self.assertGreater(self.share("f", *weights(1, 0, 0, 1, 0), *draw), 0.95)
        self.assertLess(self.share("g", *weights(0, 0, 1, 0, 1), *draw), 0.05)
        self.assertEqual(json.loads(read(self.path("g/result.json")))["samples"], 4)

    def test_the_weights_of_picks_are_scaled_to_mean_1(self):
        # With 1.5e-5 and 6e-5 as they are, the network would hardly learn.
        for name, weights in (("a", ("1.5", "6")), ("b", ("1.5e-5", "6e-5"))):
            picks = self.path("picks.csv")
            with open(picks, "w", encoding="utf-8") as file:
                file.write('rank,index,id,weight,score\n1,2,"a,\n""b",%s,9\n2,0,c,%s,9\r\n\n' % weights)
            self.assertAlmostEqual(self.share(name, "--picks", picks), 4 / 5, places=3)

    def test_picks_of_select_are_trained_on(self):
        x = np.random.default_rng(0).normal(size=(40, 2)).astype("f4")
        data, labels = self.save("x", x), self.save("y", (x[:, 0] > 0).astype("i8"))
        picks = self.path("picks.csv")
        self.ok("select", "bss", "--batch", 20, "--features", data, "--out", picks)
        done = self.train("a", "--data", data, "--labels", labels, "--picks", picks, "--model",
                          "linear", "--epochs", 2)
        self.assertEqual(done["samples"], 20)

    def test_it_ends_early_with_until_or_patience(self):
        done = self.train("a", "--data", "blobs", "--model", "mlp", "--epochs", 50, "--until",
                          0.9)
        self.assertEqual(done["stopped"], "until")
        self.assertLess(done["epochs"], 20)
        more = self.train("more", "--data", "blobs", "--model", "mlp", "--epochs", 50, "--until", 0.9,
                          "--until-extra", 3)
        self.assertEqual((more["stopped"], more["epochs"]), ("until", done["epochs"] + 3))
        self.assertEqual(self.train("a", "--resume", "--until-extra", 3)["epochs"], more["epochs"])
        self.assertEqual(self.weights("a"), self.weights("more"))
        self.fails(2, "train", "--data", "blobs", "--model", "mlp", "--until-extra", 3, "--out", self.path("c"),
                   says="until_extra needs until")
        done = self.train("b", "--data", "blobs", "--model", "mlp", "--epochs", 200,
                          "--validation", 50, "--patience", 2)
        self.assertEqual(done["stopped"], "patience")
        seen = [e["valid_accuracy"] for e in self.events("b")]
        best = seen.index(max(seen))
        self.assertEqual((done["best_epoch"], done["best_valid_accuracy"]), (best + 1, seen[best]))
        self.assertEqual(done["best_valid_loss"], self.events("b")[best]["valid_loss"])
        self.assertEqual(done["epochs"], best + 3)

    def test_targets_of_a_regression_are_predicted(self):
        x = np.random.default_rng(0).normal(size=(300, 2)).astype("f4")
        data, y = self.save("x", x), self.save("y", (x @ [1.0, -2.0]).astype("f4"))
        done = self.train("a", "--data", data, "--labels", y, "--regression", "--model", "linear",
                          "--epochs", 30, "--test", data, "--test-labels", y)
        self.assertLess(done["test"]["loss"], 1e-3)
        self.assertIsNone(done["test"]["accuracy"])
        self.assertIsNone(done["accuracy"])
        self.save("y", (x @ [3.0, -2.0]).astype("f4"))
        self.fails(3, "train", "--resume", "--out", self.path("a"), "--epochs", 40,
                   says="belongs to another training: samples")

    def test_picks_of_bss_train_better_than_random_ones(self):
        heavy = ["--data", "heavy", "--count", 3000]
        net = [*heavy, "--regression", "--model", "onehidden", "--width", 128, "--activation", "swish"]
        self.ok("train", *net, "--steps", 1, "--lr", 1e-9, "--quiet", "--out", self.path("start"))
        self.ok("embed", *heavy, "--from", self.path("start"), "--out", self.path("h.npy"))
        self.assertEqual(np.load(self.path("h.npy")).shape, (3000, 128))
        error = {}
        for name, picked in (("random", ["random"]), ("bss", ["bss", "--opt", "basis=features"])):
            self.ok("select", *picked, "--batch", 100, "--features", self.path("h.npy"), "--out",
                    self.path("picks.csv"), "--quiet")
            error[name] = self.train(name, *net, "--picks", self.path("picks.csv"), "--draw-by-weight",
                                     "--steps", 3000, "--lr", 0.5, "--schedule", "cosine")["test"]["loss"]
        self.assertLess(error["bss"], error["random"])
        call = ("train", "--model", "linear", "--out", self.path("x"), "--data")
        self.fails(2, *call, "heavy", says="ask for regression")
        self.fails(2, *call, "moons", "--regression", says="has classes")

    def test_images_are_learned_and_weights_can_be_started_from(self):
        images = np.zeros((60, 28, 28), np.uint8)
        labels = np.arange(60) % 3
        for i, label in enumerate(labels):  # the position of a bar is the class
            images[i, 8 * label:8 * label + 6, :] = 190 + i
        data, y = self.save("x", images), self.save("y", labels)
        call = ["--data", data, "--labels", y, "--model", "lenet5", "--batch", 20]
        done = self.train("a", *call, "--epochs", 20)
        self.assertEqual(done["accuracy"], 1)
        start = self.path("a/weights.safetensors")
        again = self.train("b", *call, "--epochs", 1, "--weights", start)
        self.assertEqual(again["accuracy"], 1)
        two = self.save("y2", labels % 2)  # other classes need a new last layer
        self.train("c", "--data", data, "--labels", two, "--model", "lenet5", "--epochs", 1,
                   "--weights", start)
        self.fails(3, "train", "--data", data, "--labels", y, "--model", "mlp", "--weights",
                   start, "--out", self.path("d"), says=["does not fit mlp", "fc1.weight"])
        self.assertFalse(os.path.exists(self.path("d")))

    def test_a_file_of_weights_describes_its_network(self):
        data = self.save("x", np.random.default_rng(0).integers(0, 255, (6, 32, 32, 3), np.uint8))
        labels = ["--data", data, "--labels", self.save("y", np.arange(6) % 3)]
        other = ["--data", data, "--labels", self.save("y2", np.arange(6) % 2)]
        for name, options in (("mobilenetv2", ["--norm", "folded"]),
                              ("mlp", ["--width", 5, "--depth", 2, "--activation", "tanh"])):
            self.train(name, *labels, "--model", name, *options, "--epochs", 1)
            start = ["--model", name, "--weights", self.path(name + "/weights.safetensors"),
                     "--epochs", 1]
            self.train(name + "2", *other, *start)
            self.train(name + "3", *other, *start, *options)
            self.assertEqual(self.weights(name + "2"), self.weights(name + "3"))
        self.fails(3, "train", *labels, "--model", "mlp", "--width", 6, "--weights",
                   self.path("mlp/weights.safetensors"), "--out", self.path("no"),
                   says="does not fit")

    @unittest.skipUnless(os.path.isdir(FASHION), "no package dataset-fashion-mnist")
    def test_fashion_mnist_is_learned(self):
        done = self.train("a", "--data", "fashion-mnist", "--model", "lenet5", "--epochs", 6,
                          "--batch", 20, "--indices", self.save("rows", np.arange(600)))
        self.assertEqual(done["test"]["samples"], 10000)
        self.assertGreater(done["test"]["accuracy"], 0.5)

    def test_without_a_terminal_each_epoch_prints_a_line(self):
        done = run("train", "--data", "blobs", "--model", "mlp", "--epochs", 2, "--out",
                   self.path("a"), "--threads", 1)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        self.assertRegex(lines[0], r"^scant: epoch 1/2  loss [\d.]+  accuracy [\d.]+  "
                                   r"\d+ samples/s  \d+:\d\d left$")
        self.assertRegex(done.stdout, r"(?m)^test +accuracy 0\.\d+, loss [\d.]+, calibration "
                                      r"error 0\.\d+ \(1000 samples\)$")


    def test_on_a_terminal_progress_is_one_line_that_is_erased(self):
        call = ["train", "--data", "moons", "--model", "mlp", "--batch", 4, "--threads", 1]
        for epochs in (60, 600, 6000):  # a short training shows no line on a fast machine
            status, out, seen = on_terminal([*call, "--epochs", epochs, "--out",
                                             self.path(f"a{epochs}")])
            self.assertEqual(status, 0, seen)
            if "epoch" in seen:
                break
        self.assertRegex(seen, rf"\repoch \d+/{epochs}  loss [\d.]+  accuracy [\d.]+  "
                               r"\d+ samples/s")
        self.assertNotIn("\n", seen)
        self.assertRegex(seen, r"\r +\r$")
        self.assertIn(f"epochs      {epochs} of {epochs}\n", out)
        quiet = [*call, "--epochs", epochs, "--out", self.path("b"), "--quiet", "--count", 100]
        self.assertEqual(on_terminal(quiet)[2], "")


class Resume(Train):
    CALL = ["--data", "moons", "--count", 200, "--model", "mlp", "--batch", 8, "--schedule",
            "cosine", "--epochs", 60]

    def interrupt(self, name, *more):
        """Starts a training and stops it with Ctrl-C after its first epoch."""
        with subprocess.Popen([SCANT, "train", "--out", self.path(name), "--threads", "1",
                               *map(str, self.CALL), *more], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:
            end = time.monotonic() + 60
            while not child.stderr.readline().startswith("scant: epoch"):
                self.assertLess(time.monotonic(), end)
                self.assertIsNone(child.poll())
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        return child.returncode, out, err

    def test_an_interrupted_training_resumes_to_the_same_bits(self):
        self.train("whole", *self.CALL)
        status, out, err = self.interrupt("cut")
        self.assertEqual((status, out), (130, ""), err)
        self.assertIn("--resume", err)
        self.assertNotEqual(self.weights("cut"), self.weights("whole"))  # but they were written
        self.assertFalse(os.path.exists(self.path("cut/result.json")))
        done = json.loads(self.ok("train", "--resume", "--out", self.path("cut"), "--format",
                                  "json", "--quiet"))
        self.assertEqual(self.weights("cut"), self.weights("whole"))
        self.assertEqual([e["epoch"] for e in self.events("cut")], list(range(1, 61)))
        keys = ("epoch", "step", "loss", "accuracy", "lr")
        self.assertEqual([[e[k] for k in keys] for e in self.events("cut")],
                         [[e[k] for k in keys] for e in self.events("whole")])
        self.assertEqual(done["epochs"], 60)

    def test_ctrl_c_twice_quits_at_once(self):
        with subprocess.Popen([SCANT, "train", "--data", "moons", "--model", "mlp", "--batch", "2",
                               "--epochs", "100000", "--out", self.path("a")],
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              text=True) as child:
            child.stderr.readline()
            child.send_signal(signal.SIGINT)
            while "finishing this step" not in child.stderr.readline():
                self.assertIsNone(child.poll())
            child.send_signal(signal.SIGINT)
            err = child.communicate(timeout=20)[1]
        self.assertEqual(child.returncode, 130)
        # the step may have ended before the second signal
        self.assertTrue("quitting at once" in err or "--resume" in err, err)

    def test_a_killed_training_resumes_from_its_last_epoch(self):
        self.train("whole", *self.CALL)
        with subprocess.Popen([SCANT, "train", "--out", self.path("cut"), "--threads", "1",
                               *map(str, self.CALL)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as child:
            for _ in range(3):
                child.stderr.readline()
            child.kill()
        with open(self.path("cut/log.jsonl"), "a", encoding="utf-8") as file:
            file.write('{"event": "epoch", "epo')  # as if killed while a line was written
        self.ok("train", "--resume", "--out", self.path("cut"), "--quiet")
        self.assertEqual(self.weights("cut"), self.weights("whole"))
        self.assertEqual([e["epoch"] for e in self.events("cut")], list(range(1, 61)))

    def test_of_many_short_epochs_only_some_are_logged(self):
        call = ["--data", "moons", "--count", 300, "--model", "mlp", "--width", 8, "--validation", 200,
                "--patience", 900, "--batch", 100, "--warmup", 0]  # auto depends on the number of steps
        done = run("train", *call, "--epochs", 1001, "--threads", 1, "--out", self.path("whole"))
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.events("whole")
        bests = [e["epoch"] for e, before in zip(events, range(len(events)))
                 if e["valid_accuracy"] > max([x["valid_accuracy"] for x in events[:before]], default=-1)]
        self.assertGreater(len(bests), 2)
        last = events[-1]["epoch"]
        self.assertEqual([e["epoch"] for e in events],
                         sorted({*range(6, last, 6), *bests, last}))
        self.assertEqual(len(re.findall("^scant: epoch", done.stderr, re.M)), len(events))
        self.train("cut", *call, "--epochs", bests[-1] + 1)
        result = self.train("cut", "--resume", "--epochs", 1001)
        self.assertEqual((result["best_epoch"], result["epochs"]), (bests[-1], last))
        self.assertEqual(self.weights("cut"), self.weights("whole"))

    def test_a_finished_training_can_be_resumed_for_more_epochs(self):
        call = ["--data", "blobs", "--count", 100, "--model", "mlp"]
        self.train("a", *call, "--epochs", 2)
        before = self.weights("a")
        again = run("train", "--resume", "--out", self.path("a"), "--format", "json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("finished already", again.stderr)
        self.assertEqual(json.loads(again.stdout)["epochs"], 2)
        self.assertEqual(self.weights("a"), before)
        self.assertEqual(self.train("a", "--resume", "--epochs", 4)["epochs"], 4)
        self.train("b", *call, "--epochs", 4)
        self.assertEqual(self.weights("a"), self.weights("b"))

    def test_resuming_for_fewer_epochs_than_are_done_changes_nothing(self):
        self.train("a", "--data", "blobs", "--count", 100, "--model", "mlp", "--epochs", 3)
        files = {name: read(self.path("a/" + name)) for name in os.listdir(self.path("a"))}
        for less in (["--epochs", 1], ["--steps", 2], ["--until", 0.5]):
            again = run("train", "--resume", "--out", self.path("a"), "--format", "json", *less)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertIn("3 epochs are done", again.stderr)
            self.assertEqual(json.loads(again.stdout)["epochs"], 3)
            self.assertEqual(files, {name: read(self.path("a/" + name)) for name in files})
        os.remove(self.path("a/result.json"))  # as if it had been interrupted
        self.fails(2, "train", "--resume", "--out", self.path("a"), "--epochs", 2,
                   says="3 epochs (3 steps) are already done")

    def test_progress_is_taken_from_the_checkpoint_not_from_the_log(self):
        call = ["--data", "blobs", "--count", 100, "--model", "mlp", "--batch", 50]
        self.train("a", *call, "--epochs", 6)
        self.train("b", *call, "--epochs", 3)
        whole = read(self.path("a/log.jsonl"))
        short = read(self.path("b/log.jsonl"))
        os.remove(self.path("a/result.json"))
        os.remove(self.path("b/result.json"))
        with open(self.path("a/log.jsonl"), "wb") as file:  # killed: the log is behind the state
            file.write(short)
        for less in (["--epochs", 5], ["--steps", 10]):
            self.fails(2, "train", "--resume", "--out", self.path("a"), *less,
                       says="6 epochs (12 steps) are already done")
        with open(self.path("b/log.jsonl"), "wb") as file:  # killed: the state is behind the log
            file.write(whole)
        self.assertEqual(self.train("b", "--resume", "--epochs", 5)["epochs"], 5)
        self.train("c", *call, "--epochs", 5)
        self.assertEqual(self.weights("b"), self.weights("c"))
        self.assertEqual([e["epoch"] for e in self.events("b")], [1, 2, 3, 4, 5])

    def test_an_interrupted_epoch_is_completed(self):
        call = ["--data", "blobs", "--count", 100, "--model", "mlp", "--batch", 25]
        self.train("a", *call, "--steps", 6)
        self.assertEqual(self.train("a", "--resume", "--epochs", 2)["steps"], 8)

    def test_patience_can_be_added_when_resuming(self):
        self.train("a", "--data", "blobs", "--count", 100, "--model", "mlp", "--epochs", 4,
                   "--validation", 20)
        done = self.train("a", "--resume", "--epochs", 60, "--patience", 2)
        self.assertEqual(done["stopped"], "patience")
        self.assertGreaterEqual(done["epochs"], 6)  # counted from the resumption

    def test_resuming_before_the_evaluation_keeps_the_figures_of_the_training(self):
        done = self.train("a", "--data", "blobs", "--count", 100, "--model", "mlp", "--epochs", 3,
                          "--validation", 10)
        os.remove(self.path("a/result.json"))  # as if killed during the evaluation
        again = self.train("a", "--resume")
        for key in ("epochs", "steps", "stopped", "loss", "accuracy", "valid_loss",
                    "valid_accuracy", "test"):
            self.assertEqual(again[key], done[key], key)
        self.assertIsNotNone(done["loss"])

    def test_sigterm_and_sighup_save_like_ctrl_c(self):
        with subprocess.Popen([SCANT, "train", "--data", "moons", "--model", "mlp", "--batch", "2",
                               "--epochs", "100000", "--out", self.path("a")],
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              text=True) as child:
            child.stderr.readline()
            child.send_signal(signal.SIGHUP)  # a terminal that closes sends several signals
            child.send_signal(signal.SIGTERM)
            child.send_signal(signal.SIGHUP)
            err = child.communicate(timeout=60)[1]
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("--resume", err)
        self.assertTrue(os.path.exists(self.path("a/weights.safetensors")))

    def test_ctrl_c_is_confirmed_at_once_and_logged(self):
        with subprocess.Popen([SCANT, "train", "--data", "moons", "--count", "200000", "--model",
                               "mlp", "--batch", "2", "--out", self.path("a")],
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              text=True) as child:
            end = time.monotonic() + 60
            while not os.path.exists(self.path("a/train.json")):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            err = child.communicate(timeout=60)[1].splitlines()
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("finishing this step", err[0])
        self.assertIn("--resume", err[-1])
        told = self.events("a", "end")
        self.assertEqual([e["stopped"] for e in told], ["cancelled"])
        self.assertGreater(told[0]["step"], 0)

    def test_a_training_is_not_overwritten_by_mistake(self):
        call = ["train", "--data", "blobs", "--count", 60, "--model", "linear", "--epochs", 1,
                "--quiet", "--out", self.path("a")]
        self.ok(*call)
        before = self.weights("a")
        self.fails(2, *call, says=["holds a training", "--resume", "--overwrite"])
        self.assertEqual(self.weights("a"), before)
        self.fails(2, *call, "--overwrite", "--augment", "flip-crop", says="augment")
        self.assertEqual(self.weights("a"), before)
        self.assertEqual(len(self.events("a")), 1)
        self.fails(2, *call, says="holds a training")
        self.ok(*call, "--overwrite", "--seed", 5)
        self.assertNotEqual(self.weights("a"), before)
        self.assertEqual(sorted(os.listdir(self.path("a"))),
                         ["log.jsonl", "result.json", "state.safetensors", "train.json",
                          "weights.safetensors"])
        self.assertEqual(len(self.events("a")), 1)

    def test_options_cannot_change_when_resuming(self):
        self.train("a", "--data", "blobs", "--count", 60, "--model", "linear", "--epochs", 1)
        resume = ["train", "--resume", "--out", self.path("a")]
        self.fails(2, *resume, "--lr", 0.5, says=["--lr is 0.5", "begun with 0.01"])
        self.fails(2, *resume, "--model", "mlp", says=["--model", '"linear"'])
        self.fails(2, *resume, "--width", 5, says="--width is 5")
        self.fails(2, *resume, "--nesterov", says="--nesterov is true")
        self.ok(*resume, "--lr", 0.01, "--epochs", 2, "--quiet")

    def test_resuming_needs_a_valid_training(self):
        self.fails(3, "train", "--resume", "--out", self.path("none"), says="no train.json")
        os.mkdir(self.path("odd"))
        with open(self.path("odd/train.json"), "w", encoding="utf-8") as file:
            file.write('{"options": 3')
        self.fails(3, "train", "--resume", "--out", self.path("odd"), says="train.json")
        with open(self.path("odd/train.json"), "w", encoding="utf-8") as file:
            file.write('{"options": {"data": "blobs", "model": "nonesuch"}}')
        self.fails(2, "train", "--resume", "--out", self.path("odd"), says="nonesuch")


class WrongCalls(Train):
    def refused(self, status, *args, says=()):
        said = self.fails(status, "train", "--out", self.path("x"), *args, says=says)
        self.assertFalse(os.path.exists(self.path("x")))
        return said

    def test_missing_flags_are_named(self):
        self.refused(2, "--model", "mlp", says="--data is missing")
        self.refused(2, "--data", "blobs", says=["--model is missing", "scant models"])
        self.fails(2, "train", "--data", "blobs", "--model", "mlp", says="--out is missing")
        self.refused(2, "--data", "blobs", "--model", "mpl", says="the nearest is 'mlp'")
        self.refused(2, "--data", "blobs", "--model", "mlp", "--patience", 3, says="--validation")

    def test_numbers_out_of_range_are_refused(self):
        for flag, value in (("lr", 0), ("lr", "nan"), ("lr", "-1"), ("momentum", 1),
                            ("dropout", 1), ("until", 1.5), ("weight-decay", "-1"), ("ema", 2),
                            ("norm-momentum", 0), ("norm-momentum", 1.5),
                            ("clip", 0), ("clip", "-1"), ("clip", "nan"), ("warmup", "-1"), ("warmup", "1.5"),
                            ("batch", 0), ("epochs", 0)):
            self.refused(2, "--data", "blobs", "--model", "mlp", f"--{flag}={value}",
                         says=f"--{flag} is '")

    def test_initial_weights_are_of_a_known_law_or_of_the_file(self):
        call = ["--data", "moons", "--count", 60, "--epochs", 1]
        self.refused(2, *call, "--model", "mlp", "--init", "xavier", says="torch|he|he-out|glorot")
        self.refused(2, *call, "--model", "onehidden", "--init", "he", says="no option init")
        call += ["--model", "mlp", "--lr", 1e-30]
        self.train("a", *call, "--init", "glorot")
        start = [*call, "--weights", self.path("a/weights.safetensors")]
        self.train("b", *start)
        done = run("train", *start, "--init", "he", "--out", self.path("c"))
        self.assertIn("init=he applies only to layers that the file does not have", done.stderr)
        done = run("train", *call, "--warm", self.path("a/state.safetensors"), "--init", "he", "--out", self.path("e"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "--init is ignored: .*a/state.safetensors has all weights")
        self.train("d", *call)

        def numbers(name):  # behind the header, whose metadata name the law
            raw = self.weights(name)
            return np.frombuffer(raw[8 + int.from_bytes(raw[:8], "little"):], "f4")
        for name in "bc":  # but for what training at that rate changes
            np.testing.assert_allclose(numbers(name), numbers("a"), rtol=0, atol=1e-20)
        self.assertGreater(abs(numbers("d") - numbers("a")).max(), 0.1)

    def test_flags_without_effect_are_refused(self):
        call = ["--data", "blobs", "--model", "mlp"]
        self.refused(2, *call, "--epochs", 2, "--steps", 3, says="--epochs cannot be combined with --steps")
        self.refused(2, *call, "--optimizer", "adam", "--momentum", 0.5, says="applies to sgd")
        self.refused(2, *call, "--decay-weights-only", says="--weight-decay")
        self.refused(2, *call, "--size", 5, says=["--size", "folder"])
        x = self.save("x", np.zeros((4, 2), "f4"))
        self.refused(2, "--data", x, "--labels", self.save("y", np.arange(4)), "--model", "mlp",
                     "--count", 3, says=["--count", "--indices"])

    def test_invalid_sample_weights_are_refused(self):
        x, y = self.save("x", np.zeros((3, 2), "f4")), self.save("y", np.arange(3))
        call = ["--data", x, "--labels", y, "--model", "linear"]
        for w, says in (([1, 2], "3 numbers"), ([1, -1, 2], "sample 1 is -1"),
                        ([0, 0, 0], "all weights are 0"), ([1, np.nan, 1], "element 1")):
            self.refused(3, *call, "--sample-weights", self.save("w", np.array(w, "f4")),
                         says=["w.npy", says])
        self.refused(2, *call, "--draw-by-weight", says="--sample-weights or --picks")
        for text, says in (("", "has no header"), ("index,score\n1,2\n", "no column weight"),
                           ("index,weight\n", "no picks"), ("index,weight\n1,2\n3,1\n",
                            "line 3: index is '3', expected a sample of --data (0 to 2)"),
                           ("index,weight\n1,x\n", "line 2: weight is 'x', expected a number"),
                           ("index,weight\n1\n", "line 2 has too few columns"),
                           ("index,weight\n1\r,2\n", "line 2: index is '1"),
                           ("index,weight\n1,-2\n", "sample 1 is -2")):
            with open(self.path("p.csv"), "w", encoding="utf-8") as file:
                file.write(text)
            self.refused(3, *call, "--picks", self.path("p.csv"), says=["p.csv", says])
        self.refused(2, *call, "--picks", self.path("p.csv"), "--indices", y, says="--indices")

    def test_a_training_that_cannot_start_leaves_no_files(self):
        self.refused(4, "--data", "blobs", "--model", "mlp", "--width", 5000, "--quiet",
                     "--memory", "1M", says=["smaller --batch (it is 128)", "--memory"])
        nan = self.save("nan", np.array([[1], [np.nan]], "f4"))
        self.refused(3, "--data", nan, "--labels", self.save("two", np.arange(2)), "--model", "mlp",
                     says=["nan.npy", "sample 1"])
        self.refused(2, "--data", "blobs", "--model", "mlp", "--augment", "crop", says="images")
        os.mkdir(self.path("y"))
        self.fails(4, "train", "--data", "blobs", "--model", "mlp", "--width", 5000, "--memory",
                   "1M", "--out", self.path("y"))
        self.assertEqual(os.listdir(self.path("y")), [])

    def test_images_with_channels_first_are_refused_with_a_hint(self):
        x = np.zeros((6, 3, 32, 32), np.uint8)
        y = self.save("y", np.arange(6) % 2)
        self.refused(3, "--data", self.save("x", x), "--labels", y, "--model", "cnn",
                     says=["channels come last: arr.transpose(0, 2, 3, 1)", "16x16 would work"])
        done = run("train", "--data", self.save("t", x.transpose(0, 2, 3, 1)), "--labels", y,
                   "--model", "cnn", "--epochs", 1, "--out", self.path("z"))
        self.assertNotIn("channels come last", done.stderr)

    def test_a_wrong_image_size_names_one_that_works(self):
        y = self.save("y", np.arange(4))
        small = self.save("small", np.zeros((4, 28, 28, 3), np.uint8))
        fits = self.save("fits", np.zeros((4, 32, 32, 3), np.uint8))
        self.refused(3, "--data", small, "--labels", y, "--model", "vgg11",
                     says=["28x28", "32x32 would work"])
        self.train("a", "--data", fits, "--labels", y, "--model", "vgg11", "--steps", 1)
        self.refused(3, "--data", "moons", "--model", "lenet5", says=["rows of 2", "mlp"])

    def test_samples_that_do_not_fit_are_refused(self):
        images = self.save("x", np.zeros((10, 8, 8), np.uint8))
        labels = self.save("y", np.arange(10) % 2)
        self.refused(3, "--data", images, "--model", "lenet5", says=["no labels", "--labels"])
        self.refused(3, "--data", images, "--labels", labels, "--model", "lenet5", says="lenet5")
        self.refused(3, "--data", images, "--labels", self.save("short", np.arange(9)), "--model",
                     "mlp", says=["10", "9"])
        self.refused(3, "--data", images, "--labels", self.save("odd", np.arange(10) - 5),
                     "--model", "mlp", says="odd.npy")
        self.refused(3, "--data", images, "--labels", labels, "--model", "mlp", "--indices",
                     self.save("rows", np.array([3, 10])), says=["sample 10", "0 to 9"])
        self.refused(3, "--data", images, "--labels", labels, "--model", "mlp", "--validation",
                     10, says="leaves nothing")
        self.refused(3, "--data", self.path("none"), "--model", "mlp", says="none")

    def test_a_test_set_with_other_labels_or_shapes_is_refused(self):
        images = self.save("x", np.zeros((10, 8, 8), np.uint8))
        wide = self.save("w", np.zeros((10, 8, 9), np.uint8))
        y2, y3 = self.save("y2", np.arange(10) % 2), self.save("y3", np.arange(10) % 3)
        call = ["train", "--data", images, "--labels", y2, "--model", "mlp", "--epochs", 1,
                "--quiet"]
        self.fails(3, *call, "--out", self.path("a"), "--test", wide, "--test-labels", y2,
                   says=["1x8x9", "1x8x8"])
        self.fails(3, *call, "--out", self.path("b"), "--test", images, "--test-labels", y3,
                   says="label 2")
        self.fails(3, *call, "--out", self.path("c"), "--test", images, says="--test-labels")
        for name in "abc":  # refused before the training
            self.assertFalse(os.path.exists(self.path(name)))

    def test_missing_and_invalid_labels_are_refused(self):
        none = self.save("none", np.full(4, -1))
        x = self.save("x", np.zeros((4, 2), "f4"))
        self.refused(3, "--data", x, "--labels", none, "--model", "mlp", says="none of 4 samples")
        self.refused(3, "--data", x, "--labels", self.save("minus", np.array([0, -2, 1, 1])),
                     "--model", "mlp", says=["minus.npy", "sample 1 is -2"])
        self.refused(3, "--data", "blobs", "--test", x, "--test-labels", none, "--model", "mlp",
                     says="no labels to evaluate with")

    def test_a_warm_up_longer_than_the_training_is_refused(self):
        self.refused(2, "--data", "blobs", "--model", "mlp", "--steps", 30, "--warmup", 31,
                     says=["warmup of 31 steps is longer than the training", "30 steps"])

    def test_the_result_has_the_warm_up_and_the_law_that_were_used(self):
        call = ["--data", "blobs", "--model", "mlp", "--steps", 100]
        weights = os.path.join(self.path("a"), "weights.safetensors")
        for out, more, warmup, init in (("a", [], 10, "torch"), ("b", ["--weights", weights, "--init", "he"], 0, None),
                                        ("c", ["--init", "he", "--warmup", 7], 7, "he")):
            done = run("train", *call, *more, "--format", "json", "--out", self.path(out))
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual((result["warmup"], result["init"]), (warmup, init))

    def test_a_training_that_collapses_says_so_everywhere(self):
        """A network whose rate is far too large: its units are 0, and its loss is that of a constant."""
        call = ["--data", "moons", "--count", 100, "--model", "mlp", "--width", 16, "--epochs", 60, "--lr", 40,
                "--threads", 1]
        done = run("train", *call, "--format", "json", "--out", self.path("a"))
        result = json.loads(done.stdout)
        self.assertEqual(result["signs"].split()[-1], "loss")
        self.assertIn("dead-units", result["signs"])
        self.assertGreaterEqual(result["dead"], 0.9)
        self.assertEqual(result["dead_layer"], "fc1")
        self.assertIn("MAY BE FAILING: dead-units loss", done.stderr)
        warned = [line for line in done.stderr.splitlines() if "warning" in line]
        for line in warned:
            self.assertRegex(line, r"may be failing at step \d+ of 60: .*; a warmup longer than 6 steps, a smaller lr "
                                   "than 40 or another seed may help$")
        for found in (r"the loss is \S+, and predicting the same for all samples gives 0\.6931;",
                      r"\d+% of the units of fc1 are always 0;"):
            self.assertEqual(len(re.findall(found, "".join(warned))), 1)  # once for each sign
        epochs = self.events("a", "epoch")
        self.assertEqual(epochs[0]["signs"], "")  # not in the first quarter
        self.assertIsNone(epochs[0]["gradient_norm"])
        self.assertEqual(epochs[-1]["signs"], result["signs"])
        self.assertIn("signs       ", self.ok("train", *call, "--quiet", "--out", self.path("b")))

    def test_a_sound_training_has_no_signs(self):
        done = run("train", "--data", "moons", "--count", 100, "--model", "mlp", "--epochs", 60,
                   "--lr", 0.1, "--format", "json", "--out", self.path("a"))
        result = json.loads(done.stdout)
        self.assertEqual(result["signs"], "")
        self.assertLess(result["dead"], 0.9)
        self.assertGreater(result["gradient_norm"], 0)
        self.assertNotIn("failing", done.stderr)

    def test_a_learning_rate_that_explodes_names_the_step(self):
        self.fails(3, "train", "--data", "blobs", "--model", "mlp", "--depth", 3, "--lr", 1e18,
                   "--out", self.path("a"), "--quiet", says=["step", "smaller lr"])
        end = self.events("a", "end")
        self.assertEqual([e["stopped"] for e in end], ["failed"])
        self.assertIn("not a finite number", end[0]["error"])
        # nothing was trained, so the folder can be used again
        self.train("a", "--data", "blobs", "--model", "mlp", "--epochs", 1)

    def test_a_path_that_cannot_be_written_is_refused(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        for out, why in (("file", "it is a file"), ("no/such", "No such")):
            self.fails(4, "train", "--data", "blobs", "--model", "mlp", "--out", self.path(out),
                       says=["cannot be written", why])


if __name__ == "__main__":
    unittest.main()
