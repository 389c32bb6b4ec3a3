# SPDX-License-Identifier: Apache-2.0
"""`scant embed`: features, probabilities, gradients and evaluation of a network."""
import json
import os
import re
import signal
import struct
import subprocess
import unittest

import numpy as np

from scantcli import ROOT, SCANT, Case, enlarge, run

SHARED = os.environ.get("SCANT_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
WEIGHTS = os.path.join(SHARED, "pretrained", "mobilenetv2-imagenet.safetensors")
PICTURES = os.path.join(SHARED, "caltech20")


def tensors(path):
    """The float32 tensors of a safetensors file by name."""
    with open(path, "rb") as file:
        raw = file.read()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(raw[8 + size:][slice(*one["data_offsets"])], "<f4")
            .reshape(one["shape"]) for name, one in header.items()}


class Trained(Case):
    """Trains a small network on blobs in self.run_dir."""

    def setUp(self):
        super().setUp()
        self.run_dir = self.path("run")
        self.ok("train", "--data", "blobs", "--count", 300, "--model", "mlp", "--width", 16,
                "--epochs", 6, "--quiet", "--out", self.run_dir)
        self.call = ["embed", "--data", "blobs", "--count", 300, "--from", self.run_dir,
                     "--threads", 1]

    def embed(self, *names, more=(), call=None):
        """Runs embed with the named output flags; returns their arrays."""
        files = {name: self.path(name + ".npy") for name in names}
        flags = [word for name in names for word in ("--" + name, files[name])]
        self.assertEqual(self.ok(*(call or self.call), *flags, *more), "")
        return [np.load(files[name]) for name in names]


class Embed(Trained):
    def test_outputs_that_are_not_finite_are_refused_and_nothing_is_written(self):
        weights = os.path.join(self.run_dir, "weights.safetensors")
        h = self.embed("out")[0]
        enlarge(weights, "fc2.weight", 1e38)
        enlarge(weights, "fc2.bias", 0)
        too_large = h.sum(1, dtype="f8") * 1e38 > np.finfo("f4").max
        self.assertTrue(too_large.any())
        bad = int(too_large.argmax())  # the first row whose logits exceed float32
        for name in ("out", "probs", "logits", "gradients"):
            out = self.path("n.npy")
            self.fails(3, *self.call, "--" + name, out,
                       says=f"blobs: the network's outputs for sample {bad} are not finite")
            self.assertFalse(os.path.exists(out))
        rows = self.save("rows", np.arange(bad, 300))
        self.fails(3, *self.call, "--indices", rows, "--out", out, says=f"sample {bad} are")

    def test_features_times_the_last_layer_are_the_logits(self):
        h, z, p, y = self.embed("out", "logits", "probs", "labels-out")
        w = tensors(os.path.join(self.run_dir, "weights.safetensors"))
        self.assertEqual((h.shape, z.shape, p.shape), ((300, 16), (300, 3), (300, 3)))
        self.assertEqual((h.dtype, p.dtype, y.dtype), ("float32", "float32", "int64"))
        np.testing.assert_allclose(h @ w["fc2.weight"].T + w["fc2.bias"], z, atol=1e-4)
        softmax = np.exp(z - z.max(1, keepdims=True), dtype="f8")
        np.testing.assert_allclose(softmax / softmax.sum(1, keepdims=True), p, atol=1e-6)
        np.testing.assert_allclose(p.sum(1), 1, atol=1e-6)
        self.assertGreater((p.argmax(1) == y).mean(), 0.9)

    def test_calibrated_probabilities_use_a_given_or_fitted_temperature(self):
        z = self.embed("logits")[0].astype("f8")
        q, p = self.embed("calibrated", "probs", more=["--temperature", 2.5])
        soft = np.exp(z / 2.5 - (z / 2.5).max(1, keepdims=True))
        np.testing.assert_allclose(q, soft / soft.sum(1, keepdims=True), atol=1e-6)
        self.assertFalse(np.allclose(q, p, atol=1e-3))
        # one in four labels is wrong, so the fitted temperature makes the network less confident
        rows = np.arange(0, 200)
        x = self.save("x", np.random.default_rng(0).normal(size=(300, 2)).astype("f4") * 3)
        z = self.embed("logits", call=["embed", "--data", x, "--from", self.run_dir])[0].astype("f8")
        y = z.argmax(1)
        y[::4] = (y[::4] + 1) % 3
        done = run("embed", "--data", x, "--labels", self.save("y", y), "--from", self.run_dir,
                   "--calibrated", self.path("q.npy"), "--temperature", "fit", "--calibrate-on",
                   self.save("rows", rows))
        self.assertEqual(done.returncode, 0, done.stderr)
        told = float(re.search(r"temperature ([\d.e+]+), fitted to 200 samples",
                               done.stderr).group(1))

        def loss(t):
            s = z[rows] / t
            s -= s.max(1, keepdims=True)
            return (np.log(np.exp(s).sum(1)) - s[np.arange(200), y[rows]]).mean()

        self.assertLess(loss(told), min(loss(told * 1.1), loss(told / 1.1)))
        soft = np.exp(z / told - (z / told).max(1, keepdims=True))
        np.testing.assert_allclose(np.load(self.path("q.npy")), soft / soft.sum(1, keepdims=True),
                                   atol=1e-3)

    def test_evaluation_agrees_with_numpy(self):
        z, y = self.embed("logits", "labels-out")
        result = json.loads(self.ok(*self.call, "--evaluate", "--format", "json"))
        z = z.astype("f8") - z.max(1, keepdims=True)
        logp = z - np.log(np.exp(z).sum(1, keepdims=True))
        self.assertAlmostEqual(result["loss"], -logp[np.arange(300), y].mean(), places=5)
        self.assertAlmostEqual(result["accuracy"], (z.argmax(1) == y).mean())
        bins = np.minimum((np.exp(logp.max(1)) * 15).astype(int), 14)
        gap = [abs(np.exp(logp.max(1))[bins == b].sum() - (z.argmax(1) == y)[bins == b].sum())
               for b in range(15)]
        self.assertAlmostEqual(result["calibration"], sum(gap) / 300, places=4)
        some = self.ok(*self.call, "--evaluate", "--indices", self.save("i", np.arange(7)))
        self.assertRegex(some, r"^samples      7\naccuracy     [01]\.\d{4}\nloss         ")
        with open(os.path.join(self.run_dir, "result.json"), encoding="utf-8") as file:
            test = json.load(file)["test"]
        self.assertEqual(json.loads(self.ok(*self.call, "--part", "test", "--evaluate", "--format",
                                            "json")), test)
        x = self.save("x", np.zeros((4, 2), "f4"))
        call = ["embed", "--data", x, "--from", self.run_dir, "--evaluate"]
        self.fails(3, *call, says=["no labels", "--evaluate"])
        self.fails(3, *call, "--labels", self.save("none", np.full(4, -1)), says="none of 4")
        half = json.loads(self.ok(*call, "--labels", self.save("half", np.array([-1, 0, -1, 1])),
                                  "--format", "json"))
        self.assertEqual((half["samples"], half["accuracy"]), (2, 0.5))
        self.fails(3, *call, "--labels", self.save("more", np.arange(4)), says=["more", "label 3"])

    def test_evaluation_at_a_temperature_agrees_with_numpy(self):
        def error(found):
            return sum(n * abs(confidence - accuracy) for n, confidence, accuracy in found["bins"]
                       if n) / sum(n for n, _, _ in found["bins"])

        call = [*self.call, "--evaluate", "--format", "json"]
        plain = json.loads(self.ok(*call))
        result = json.loads(self.ok(*call, "--temperature", 3))
        scaled = result.pop("scaled")
        self.assertEqual(result, plain)
        self.assertAlmostEqual(error(plain), plain["calibration"], places=6)
        self.assertAlmostEqual(error(scaled), scaled["calibration"], places=6)
        self.assertEqual(scaled["temperature"], 3)
        z, y = self.embed("logits", "labels-out")
        z = z.astype("f8") / 3
        sure = np.exp(z.max(1)) / np.exp(z).sum(1)
        bins = np.ceil(sure * 15).astype(int)
        want = sum(abs(sure[bins == b].sum() - (z.argmax(1) == y)[bins == b].sum())
                   for b in range(1, 16)) / 300
        self.assertAlmostEqual(scaled["calibration"], want, places=5)
        self.assertEqual([n for n, _, _ in scaled["bins"]],
                         [(bins == b).sum() for b in range(1, 16)])
        self.assertRegex(self.ok(*self.call, "--evaluate", "--temperature", 3),
                         r"calibrated   0\.\d{4} \(the same at temperature 3\)\n")
        # a warning if the temperature is fitted to samples that it is evaluated on
        fit = [*self.call, "--evaluate", "--temperature", "fit", "--calibrate-on",
               self.save("fit", np.arange(100, 150))]
        self.assertIn("50 of the 300 samples of --evaluate", run(*fit).stderr)
        rest = run(*fit, "--indices", self.save("rest", np.arange(100)))
        self.assertNotIn("samples of --evaluate", rest.stderr)

    def test_the_block_size_does_not_change_the_output(self):
        one = self.embed("out", "logits")
        for batch in (1, 7, 299, 300):
            for a, b in zip(one, self.embed("out", "logits", more=["--batch", batch])):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

    def test_indices_choose_and_order(self):
        h, y = self.embed("out", "labels-out")
        rows = np.array([299, 0, 17, 17], np.int32)
        some, labels = self.embed("out", "labels-out", more=["--indices", self.save("i", rows),
                                                             "--batch", 3])
        np.testing.assert_allclose(some, h[rows], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(labels, y[rows])

    def test_the_test_part_is_another_set(self):
        train, test = self.embed("out")[0], self.embed("out", more=["--part", "test"])[0]
        self.assertEqual(train.shape, test.shape)
        self.assertFalse(np.allclose(train, test))
        x = self.save("x", np.zeros((4, 2), "f4"))
        self.fails(3, "embed", "--data", x, "--from", self.run_dir, "--out", self.path("h.npy"),
                   "--part", "test", says="has no test part")

    def test_gradients_are_those_of_the_last_layer(self):
        # a sketch preserves inner products; its error falls with its length
        rng = np.random.default_rng(1)
        y = rng.integers(0, 3, 300)  # mostly not the predicted classes
        call = ["embed", "--data", self.save("x", rng.normal(size=(300, 2)).astype("f4")),
                "--labels", self.save("y", y), "--from", self.run_dir]
        h, p = self.embed("out", "probs", call=call)
        known = np.arange(0, 300, 3)
        last = ["--layers", "last", "--sketch", 4096]
        g = self.embed("gradients", more=[*last, "--labelled", self.save("k", known)], call=call)[0]
        target = p.argmax(1)
        target[known] = y[known]
        a = p - np.eye(3)[target]
        exact = np.einsum("nc,nd->ncd", a, np.c_[h, np.ones(300)]).reshape(300, -1)
        norms = (exact ** 2).sum(1)
        scale = np.sqrt(np.outer(norms, norms)) + 1e-12
        self.assertLess(np.abs((g @ g.T - exact @ exact.T) / scale).max(), 0.2)
        plain = self.embed("gradients", more=last, call=call)[0]
        unknown = np.setdiff1d(np.arange(300), known)
        np.testing.assert_allclose(plain[unknown], g[unknown], atol=1e-5)
        self.assertEqual(self.embed("gradients")[0].shape, (300, 512))

    def test_select_reads_the_files(self):
        self.embed("out", "probs", "logits", "gradients", "labels-out", more=["--sketch", 32])
        file = {n: self.path(n + ".npy") for n in ("out", "probs", "logits", "gradients")}
        for strategy, inputs in (("badge", ["--features", file["out"], "--probs", file["probs"]]),
                                 ("margin", ["--logits", file["logits"]]),
                                 ("dynamic", ["--gradients", file["gradients"]])):
            rows = self.table("select", strategy, "--batch", 5, *inputs)
            self.assertEqual(len({row["index"] for row in rows}), 5, strategy)

    def test_a_failure_leaves_no_file(self):
        x = np.zeros((50, 2), "f4")
        x[40] = np.nan
        h = self.path("h.npy")
        before = sorted(os.listdir(self.dir))
        data = self.save("x", x)
        self.fails(3, "embed", "--data", data, "--from", self.run_dir, "--out", h, "--batch", 8,
                   says=["x.npy", "40"])
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(before + ["x.npy"]))

    def test_ctrl_c_leaves_no_file(self):
        x = self.path("x.npy")
        np.lib.format.open_memmap(x, "w+", "f4", (3000000, 2)).flush()
        before = sorted(os.listdir(self.dir))
        with subprocess.Popen([SCANT, "embed", "--data", x, "--from", self.run_dir, "--out",
                               self.path("h.npy"), "--batch", "16"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:
            self.wait_until_running(child)
            child.send_signal(signal.SIGINT)
            err = child.communicate(timeout=60)[1]
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("nothing was written", err)
        self.assertEqual(sorted(os.listdir(self.dir)), before)


    def test_a_table_without_labels_is_read(self):
        x = np.random.default_rng(0).normal(size=(5, 2)).astype("f4")
        pool = self.path("pool.csv")
        np.savetxt(pool, x, delimiter=",", fmt="%.9g", header="a,b", comments="")
        whole = self.embed("out", call=["embed", "--data", self.save("x", x), "--from",
                                        self.run_dir])[0]
        table = self.embed("out", call=["embed", "--data", pool, "--no-labels", "--from",
                                        self.run_dir])[0]
        np.testing.assert_array_equal(whole, table)
        self.fails(3, *self.call, "--no-labels", "--labels-out", self.path("y.npy"),
                   says="no labels")
        y = self.save("y", np.arange(5) % 2)
        self.ok("train", "--data", pool, "--no-labels", "--labels", y, "--model", "linear",
                "--epochs", 1, "--quiet", "--out", self.path("t"))


class WrongCalls(Trained):
    def test_missing_flags_are_named(self):
        h = self.path("h.npy")
        self.fails(2, "embed", "--from", self.run_dir, "--out", h, says="--data is missing")
        self.fails(2, "embed", "--data", "blobs", "--out", h, says=["--from", "--weights"])
        self.fails(2, *self.call, says="nothing to write")
        self.fails(2, *self.call, "--model", "mlp", "--out", h, says="--from")
        self.fails(2, *self.call, "--out", h, "--sketch", 5, says="--gradients")
        self.fails(2, *self.call, "--calibrated", h, says="--temperature")
        self.fails(2, *self.call, "--calibrated", h, "--temperature", "fit", says="--calibrate-on")
        self.fails(2, *self.call, "--calibrated", h, "--temperature", "0", says="above 0")
        self.fails(2, *self.call, "--out", h, "--format", "json", says="--evaluate")
        self.fails(2, *self.call, "--out", h, "--size", 9, says="folder")
        x, y = self.save("x", np.zeros((3, 2), "f4")), self.save("y8", np.array([8, 0, 1]))
        self.fails(3, "embed", "--data", x, "--labels", y, "--from", self.run_dir, "--gradients", h,
                   "--labelled", self.save("k", np.arange(3)),
                   says=["y8.npy", "sample 0 has label 8", "3 classes"])

    def test_networks_that_are_missing_or_do_not_fit_are_refused(self):
        h, w = self.path("h.npy"), self.path("run/weights.safetensors")
        self.fails(3, "embed", "--data", "blobs", "--from", self.dir, "--out", h,
                   says="weights.safetensors")
        self.fails(2, "embed", "--data", "blobs", "--weights", w, "--model", "mlpp", "--out", h,
                   says="the nearest is 'mlp'")
        self.fails(3, "embed", "--data", "blobs", "--weights", w, "--model", "linear", "--out", h,
                   says=["does not fit linear", "fc.weight"])
        wide = self.save("wide", np.zeros((4, 5), "f4"))
        self.fails(3, "embed", "--data", wide, "--from", self.run_dir, "--out", h,
                   says=["5x1x1", "2x1x1"])

    def test_missing_labels_names_and_rows_are_refused(self):
        x = self.save("x", np.zeros((4, 2), "f4"))
        call = ["embed", "--data", x, "--from", self.run_dir]
        self.fails(3, *call, "--labels-out", self.path("y.npy"), says=["no labels", "--labels"])
        self.fails(3, *call, "--ids-out", self.path("i.txt"), says="no names")
        self.fails(3, *call, "--out", self.path("h.npy"), "--indices",
                   self.save("i", np.array([4])), says="sample 4")

    def test_an_output_does_not_overwrite_an_input_or_output(self):
        x = self.save("x", np.zeros((4, 2), "f4"))
        call = ["embed", "--data", x, "--from", self.run_dir]
        self.fails(2, *call, "--out", x, says="would overwrite --data")
        self.fails(2, *call, "--out", self.path("a.npy"), "--probs", self.path("a.npy"),
                   says="the same file")
        self.fails(4, *call, "--out", self.path("no/a.npy"), says="cannot be written")

    def test_an_output_does_not_overwrite_a_file_of_the_training(self):
        for name in os.listdir(self.run_dir):
            path = os.path.join(self.run_dir, name)
            before = os.stat(path)
            for flag in ("--out", "--labels-out"):
                self.fails(2, *self.call, flag, path, says="would overwrite --from")
            self.assertEqual(os.stat(path), before)
        self.embed("out")  # the network still works

    def test_a_trained_network_takes_no_architecture_flags(self):
        for flag, value in (("activation", "tanh"), ("width", 16), ("depth", 1), ("norm", "none"),
                            ("stem", "small"), ("head", "full")):
            self.fails(2, *self.call, "--out", self.path("h.npy"), f"--{flag}", value,
                       says=[f"--{flag}", "--from"])


class Regression(Case):
    def test_a_regression_predicts_targets_from_its_training_file(self):
        x = np.random.default_rng(0).normal(size=(60, 2)).astype("f4")
        data, run_dir, z = self.path("r.csv"), self.path("run"), self.path("z.npy")
        np.savetxt(data, np.c_[x, x @ [1.0, -2.0] + 0.25], delimiter=",", fmt="%.6f")
        self.ok("train", "--data", data, "--regression", "--model", "linear", "--epochs", 60,
                "--lr", 0.1, "--quiet", "--out", run_dir)
        self.ok("embed", "--data", data, "--from", run_dir, "--logits", z)
        np.testing.assert_allclose(np.load(z)[:, 0], x @ [1.0, -2.0] + 0.25, atol=0.1)
        self.ok("embed", "--data", data, "--regression", "--model", "linear", "--weights",
                os.path.join(run_dir, "weights.safetensors"), "--logits", z)
        for call in (["--data", data], ["--data", self.save("x", x)]):
            self.fails(3, "embed", *call, "--from", run_dir, "--probs", self.path("p.npy"),
                       says=["--probs", "one output", "--logits"])
        self.fails(3, "embed", "--data", data, "--from", run_dir, "--labels-out",
                   self.path("y.npy"), says="numbers to predict")

    def test_gradients_of_a_regression_are_those_of_its_output(self):
        # a linear network's output is w x + b, so the gradient is (x, 1); its three numbers do not
        # collide in a sketch of 4096
        x = np.random.default_rng(2).normal(size=(40, 2)).astype("f4")
        data, g = self.path("r.csv"), self.path("g.npy")
        np.savetxt(data, np.c_[x, x @ [1.0, -2.0]], delimiter=",", fmt="%.6f")
        self.ok("train", "--data", data, "--regression", "--model", "linear", "--steps", 5, "--quiet",
                "--out", self.path("run"))
        self.ok("embed", "--data", data, "--from", self.path("run"), "--gradients", g, "--sketch", 4096)
        tangent = np.c_[x, np.ones(40)]
        np.testing.assert_allclose(np.load(g) @ np.load(g).T, tangent @ tangent.T, atol=1e-4)
        self.ok("select", "bss", "--gradients", g, "--batch", 20)
        self.fails(3, "embed", "--data", data, "--from", self.path("run"), "--gradients", g, "--labelled",
                   self.save("rows", np.arange(3)), says="--labelled needs classes")


class Scaling(Case):
    def test_mean_and_deviation_can_be_given_if_the_file_has_none(self):
        x = np.random.default_rng(0).integers(0, 255, (6, 8, 8, 3), np.uint8)
        data, y, run_dir = self.save("x", x), self.save("y", np.arange(6) % 3), self.path("run")
        self.ok("train", "--data", data, "--labels", y, "--model", "linear", "--epochs", 1,
                "--quiet", "--out", run_dir, "--mean", "0.5,0.25,0.125", "--deviation", "0.5")
        own, foreign = os.path.join(run_dir, "weights.safetensors"), self.path("f.safetensors")
        with open(own, "rb") as file:
            raw = file.read()
        size = struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8:8 + size])
        del header["__metadata__"]
        text = json.dumps(header).encode()
        with open(foreign, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + raw[8 + size:])

        def logits(*args):
            done = run("embed", "--data", data, "--logits", self.path("z.npy"), *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            return np.load(self.path("z.npy")), done.stderr

        z, said = logits("--from", run_dir)
        w = tensors(own)
        scaled = (x / 255 - [0.5, 0.25, 0.125]) / 0.5
        np.testing.assert_allclose(
            z, scaled.transpose(0, 3, 1, 2).reshape(6, -1) @ w["fc.weight"].T + w["fc.bias"],
            atol=1e-4)
        self.assertEqual(said, "")
        call = ["--model", "linear", "--weights", foreign]
        guess, said = logits(*call)
        self.assertIn("ImageNet's mean and deviation are assumed", said)
        self.assertFalse(np.allclose(guess, z, atol=1e-3))
        again, said = logits(*call, "--mean", "0.5,0.25,0.125", "--deviation", "0.5,0.5,0.5")
        np.testing.assert_array_equal(again, z)
        self.assertEqual(said, "")
        call = ["embed", "--data", data, "--logits", self.path("n.npy"), *call]
        self.fails(2, *call, "--mean", "0.5", says="--mean needs --deviation")
        self.fails(2, *call, "--mean", "0,1", "--deviation", "1", says="3 channels")
        self.fails(2, *call, "--mean", "0,,1", "--deviation", "1", says="--mean is")
        self.fails(2, *call, "--mean", "0", "--deviation", "1,0,1", says="--deviation is")
        self.fails(2, "embed", "--data", data, "--from", run_dir, "--logits", self.path("n.npy"),
                   "--mean", "0", "--deviation", "1", says=["--mean", "--from"])


@unittest.skipUnless(os.path.isfile(WEIGHTS) and os.path.isdir(PICTURES),
                     f"no pretrained network and images in {SHARED}")
class Pretrained(Case):
    def test_a_training_starts_from_pretrained_weights(self):
        # only the flags of the example in the help: the file says that its norms are folded
        rows = self.save("rows", np.arange(6) * 150)
        done = json.loads(self.ok("train", "--data", PICTURES, "--model", "mobilenetv2",
                                  "--weights", WEIGHTS, "--epochs", 1, "--indices", rows, "--size",
                                  64, "--format", "json", "--quiet", "--out", self.path("run")))
        self.assertEqual((done["samples"], done["stopped"]), (6, "epochs"))
        self.assertEqual(done["classes"], sorted(os.listdir(PICTURES)))

    def test_photographs_of_a_class_have_similar_features(self):
        names = sorted(os.listdir(PICTURES))
        counts = [len(os.listdir(os.path.join(PICTURES, name))) for name in names]
        first = np.concatenate([[0], np.cumsum(counts)])
        rows = np.concatenate([first[c] + np.arange(3) for c in (0, 2, 5)])
        h, ids = self.path("h.npy"), self.path("ids.txt")
        done = run("embed", "--data", PICTURES, "--indices", self.save("rows", rows), "--model",
                   "mobilenetv2", "--weights", WEIGHTS, "--out", h, "--probs",
                   self.path("p.npy"), "--ids-out", ids, "--labels-out", self.path("y.npy"),
                   "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        features, labels = np.load(h), np.load(self.path("y.npy"))
        self.assertEqual(features.shape, (9, 1280))
        np.testing.assert_allclose(np.load(self.path("p.npy")).sum(1), 1, atol=1e-5)
        self.assertEqual(list(labels), [0, 0, 0, 2, 2, 2, 5, 5, 5])
        with open(ids, encoding="utf-8") as file:
            told = file.read().splitlines()
        self.assertTrue(all(os.path.isfile(os.path.join(PICTURES, name)) for name in told))
        unit = features / np.linalg.norm(features, axis=1, keepdims=True)
        near = unit @ unit.T - 2 * np.eye(9)
        self.assertEqual(list(labels[near.argmax(1)]), list(labels))


if __name__ == "__main__":
    unittest.main()
