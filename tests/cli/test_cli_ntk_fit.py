# SPDX-License-Identifier: Apache-2.0
"""`scant ntk --kernel` and `--fit`: the closed-form kernel is compared with its recursion, and
regression with NumPy's solver."""
import csv
import json
import os
import re
import struct
import unittest

import numpy as np

from reference_ntk import ntk
from scantcli import Case

FASHION = "/usr/share/datasets/fashion-mnist"


class Closed(Case):
    """60 samples of 6 numbers, and a test set of 150: three blocks of 64."""
    N, M = 60, 150

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(2)
        self.all = rng.normal(size=(self.N + self.M, 6)).astype("f4")
        self.labels = (np.abs(self.all[:, :3])).argmax(1)
        self.x, self.y = self.all[:self.N], self.labels[:self.N]
        self.data = ["--data", self.save("x", self.x), "--labels", self.save("y", self.y)]
        self.test = ["--test", self.save("tx", self.all[self.N:]), "--test-labels",
                     self.save("ty", self.labels[self.N:])]
        self.call = ["ntk", *self.data, "--kernel", "ntk:depth=3"]

    def study(self, *call):
        """Runs ntk; returns the JSON and the kernel."""
        kernel = self.path("kernel.npy")
        text = self.ok(*call, "--kernel-out", kernel)

        def never(word):
            raise AssertionError(f"{word} in JSON")
        return json.loads(text, parse_constant=never), np.load(kernel)

    def near(self, k, want):
        np.testing.assert_allclose(k, want, rtol=0, atol=1e-12 * max(np.abs(want).max(), 1e-300))

    def check(self, fitted, said, hot, rtol=1e-9):
        """The test error and accuracy follow from the predictions `said`. Kernels of networks are in
        float32 and need a larger rtol."""
        self.assertEqual(fitted["test_samples"], len(said))
        np.testing.assert_allclose(fitted["test_error"], np.mean((said - hot) ** 2), rtol=rtol)
        right = np.mean(said.argmax(1) == hot.argmax(1))
        # one sample whose two largest outputs are nearly equal may go either way
        self.assertAlmostEqual(fitted["test_accuracy"], right, delta=1.01 / len(said))


class Kernel(Closed):
    def test_the_matrix_is_that_of_the_recursion(self):
        x = self.x
        x[7], x[11], x[12] = x[3], 0, -2 * x[3]  # a copy, zeros, a negative multiple
        self.save("x", x)
        for depth, bias in ((1, False), (3, False), (3, True), (100, False)):
            s, k = self.study("ntk", *self.data, "--kernel", f"ntk:depth={depth}",
                              *["--bias"] * bias)
            rows = np.hstack([x, np.ones((self.N, 1))]) if bias else x
            self.near(k, ntk(rows, depth))
            np.testing.assert_array_equal(k, k.T)
            self.assertEqual((s["kernel"], s["bias"]), (f"ntk:depth={depth}", bias))
            for key in ("network", "parameters", "layers", "sketch"):
                self.assertIsNone(s[key], key)
        self.assertEqual((s["samples"], s["labelled"], s["classes"]), (60, 60, 3))

    def test_numbers_follow_from_the_closed_form_kernel(self):
        """The kernel is in double, so the tolerance of the rank is 1e-10."""
        s, k = self.study(*self.call)
        hot, values = np.eye(3)[self.y], np.linalg.eigvalsh(k)
        self.assertEqual((s["rank"], s["tolerance"]), (60, 1e-10))
        np.testing.assert_allclose(s["eigenvalues"], values[::-1], atol=1e-10 * values[-1])
        self.assertAlmostEqual(s["alignment"] / np.trace(hot.T @ k @ hot), 1, 9)
        rest = np.trace(hot.T @ np.linalg.solve(k, hot))
        self.assertAlmostEqual(s["bound"] / np.sqrt(2 * rest / self.N), 1, 7)
        self.assertIsNone(s["training"]["loss_now"])  # there is no network
        self.assertNotIn("regression", s)

    def test_mmd_against_other_samples_agrees_with_its_definition(self):
        rows, others = np.arange(5, 40), np.arange(45, 60)
        s, k = self.study(*self.call, "--indices", self.save("rows", rows), "--against",
                          self.save("others", others))
        full = ntk(self.x, 3)
        self.near(k, full[np.ix_(rows, rows)])
        own, other = full[np.ix_(rows, rows)], full[np.ix_(others, others)]
        square = ((own.sum() - np.trace(own)) / (35 * 34) + (other.sum() - np.trace(other)) / (15 * 14)
                  - 2 * full[np.ix_(rows, others)].mean())
        self.assertAlmostEqual(s["mmd"], np.sqrt(max(square, 0)), 9)

    def test_images_are_scaled_like_a_networks_input(self):
        rng = np.random.default_rng(3)
        x = (rng.integers(0, 256, (40, 5, 4, 3)) // np.array([1, 2, 4])).astype("u1")
        part = x / 255
        call = ["ntk", "--data", self.save("p", x), "--kernel", "ntk:depth=2"]
        s, k = self.study(*call)
        seen = (part - part.mean((0, 1, 2))) / part.std((0, 1, 2))
        np.testing.assert_allclose(k, ntk(seen.reshape(40, -1), 2), rtol=0, atol=1e-4 * k.max())
        self.assertEqual((s["classes"], s["labelled"], s["alignment"]), (0, 0, None))
        _, k = self.study(*call, "--mean", "0.5,0.25,0.1", "--deviation", 0.5)
        seen = (part - [0.5, 0.25, 0.1]) / 0.5
        np.testing.assert_allclose(k, ntk(seen.reshape(40, -1), 2), rtol=0, atol=1e-5 * k.max())

    def test_the_kernel_of_a_networks_features(self):
        """The features and the outputs of a trained or an untrained network are used."""
        run, out, logits = self.path("run"), self.path("h.npy"), self.path("z.npy")
        self.ok("train", *self.data, "--model", "mlp", "--width", 9, "--epochs", 3, "--quiet",
                "--out", run)
        self.ok("embed", "--data", self.data[1], "--from", run, "--out", out, "--logits", logits)
        s, k = self.study(*self.call, "--from", run, "--agreement", 5, "--start", 20, "--draw", 10)
        h, z = np.load(out).astype("f8"), np.load(logits).astype("f8")
        np.testing.assert_allclose(k, ntk(h, 3), rtol=0, atol=1e-5 * k.max())
        self.assertEqual((s["network"], s["kernel"], s["layers"]), (run, "ntk:depth=3", None))
        off = z - np.eye(3)[self.y]
        self.assertAlmostEqual(s["training"]["loss_now"] / (off ** 2).sum() * 2, 1, 5)
        self.assertAlmostEqual(s["training"]["dynamics"] / np.trace(off.T @ k @ off), 1, 4)
        self.assertEqual(len(s["agreement"]["dynamics"]), 5)
        s, k = self.study(*self.call, "--model", "linear")
        self.assertEqual(s["network"], "linear")
        self.near(k, ntk(self.x, 3))  # its features are the input

    def test_threads_change_no_bit(self):
        one = self.study(*self.call, *self.test, "--fit", "--threads", 1)
        three = self.study(*self.call, *self.test, "--fit", "--threads", 3)
        np.testing.assert_array_equal(one[1], three[1])
        for s in (one[0], three[0]):
            s.pop("seconds")
        self.assertEqual(one[0], three[0])


class Fit(Closed):
    def closed(self, depth=3, x=None):
        full = ntk(self.all if x is None else x, depth)
        return full[:self.N, :self.N], full[self.N:, :self.N]

    def test_without_a_ridge_every_label_is_fitted(self):
        s, _ = self.study(*self.call, *self.test, "--fit")
        fitted, hot = s["regression"], np.eye(3)[self.labels]
        self.assertEqual((fitted["start"], fitted["ridge"], fitted["jitter"]), ("zero", 0, 0))
        self.assertEqual(fitted["train_accuracy"], 1)
        self.assertLess(fitted["train_error"], 1e-20)
        k, t = self.closed()
        self.check(fitted, t @ np.linalg.solve(k, hot[:self.N]), hot[self.N:])
        self.assertGreater(fitted["test_accuracy"], 0.5)

    def test_labels_given_for_the_samples_do_not_replace_those_of_the_test_part(self):
        rng, folder = np.random.default_rng(5), self.path("idx")
        os.mkdir(folder)
        for part in ("train", "t10k"):
            y = rng.integers(0, 2, 50).astype("u1")
            x = np.where(y, 200, 20)[:, None] + rng.integers(0, 30, (50, 9))
            for name, code, array in (("images-idx3", 3, x.reshape(50, 3, 3)), ("labels-idx1", 1, y)):
                with open(os.path.join(folder, f"{part}-{name}-ubyte"), "wb") as file:
                    file.write(struct.pack(f">I{array.ndim}I", 0x800 + code, *array.shape))
                    file.write(array.astype("u1").tobytes())
            if part == "train":
                labels = self.save("same", y.astype("i8"))
        call = ["ntk", "--data", folder, "--kernel", "ntk:depth=2", "--bias", "--fit"]
        for more in ([], ["--labels", labels]):
            s, _ = self.study(*call, *more)
            self.assertEqual(s["regression"]["test_accuracy"], 1)

    def test_a_ridge_gives_numpys_solution(self):
        s, _ = self.study(*self.call, *self.test, "--fit", "--ridge", 2.5)
        fitted, hot = s["regression"], np.eye(3)[self.labels]
        k, t = self.closed()
        alpha = np.linalg.solve(k + 2.5 * np.eye(self.N), hot[:self.N])
        self.assertEqual(fitted["ridge"], 2.5)
        self.assertAlmostEqual(fitted["train_error"], np.mean((k @ alpha - hot[:self.N]) ** 2), 12)
        self.assertAlmostEqual(fitted["train_accuracy"], np.mean((k @ alpha).argmax(1) == self.y), 12)
        self.check(fitted, t @ alpha, hot[self.N:])

    def linearised(self, *kind):
        """Flags for the regression with a network's own kernel, that kernel over all samples, and the outputs."""
        both = ["--data", self.save("all", self.all), "--labels", self.save("ally", self.labels)]
        net = ["--model", "mlp", "--width", 20, "--seed", 4, "--threads", 1]
        _, full = self.study("ntk", *both, *net, *kind)
        run, out = self.path("run"), self.path("z.npy")
        if not os.path.exists(run):
            self.ok("train", *self.data, *net, "--steps", 1, "--lr", 1e-30, "--quiet", "--out", run)
            self.ok("embed", *both, "--from", run, "--logits", out)
        call = ["ntk", *self.data, *net, *kind, *self.test, "--fit"]
        return call, full, np.load(out).astype("f8")

    def test_a_networks_own_kernel_gives_numpys_solution(self):
        """Reduced and last-layer kernels fit each output separately, a full kernel all together."""
        hot, n = np.eye(3)[self.labels], self.N
        for kind in ([], ["--layers", "last"], ["--full"]):
            call, full, f = self.linearised(*kind)
            s, _ = self.study(*call, "--ridge", 3)
            side = n * 3 if kind == ["--full"] else n
            off = (hot - f)[:n].reshape(side, -1)
            alpha = np.linalg.solve(full[:side, :side] + 3 * np.eye(side), off)
            said = f + (full[:, :side] @ alpha).reshape(-1, 3)
            fitted = s["regression"]
            self.assertEqual((fitted["start"], fitted["jitter"]), ("network", 0), kind)
            self.assertAlmostEqual(fitted["train_error"] / np.mean((said - hot)[:n] ** 2), 1, 3)
            self.check(fitted, said[n:], hot[n:], rtol=1e-4)

    def test_noise_is_not_fitted(self):
        """The last layer has 21 parameters per output, so 39 eigenvalues of its kernel are noise."""
        call, _, _ = self.linearised("--layers", "last")
        s, _ = self.study(*call)
        self.assertLessEqual(s["rank"], 21)
        self.assertGreaterEqual(s["regression"]["jitter"], 0.99 * s["tolerance"] * s["largest"])
        self.assertLess(s["regression"]["test_error"], 2)

    def test_a_closed_form_kernel_starts_from_a_networks_outputs(self):
        _, _, f = self.linearised()
        s, _ = self.study(*self.call, "--from", self.path("run"), *self.test, "--fit", "--ridge", 1)
        out = self.path("h.npy")
        self.ok("embed", "--data", self.path("all.npy"), "--from", self.path("run"), "--out", out)
        k, t = self.closed(x=np.load(out))
        hot = np.eye(3)[self.labels]
        alpha = np.linalg.solve(k + np.eye(self.N), (hot - f)[:self.N])
        self.assertEqual(s["regression"]["start"], "network")
        self.check(s["regression"], f[self.N:] + t @ alpha, hot[self.N:], rtol=1e-4)

    def test_targets_of_a_regression_are_predicted(self):
        truth = np.sin(self.all[:, 0]) + self.all[:, 1]
        y, ty = self.save("n", truth[:self.N]), self.save("tn", truth[self.N:])
        call = ["ntk", *self.data[:2], "--labels", y, "--regression", "--fit", self.test[0],
                self.test[1], "--test-labels", ty]
        s, _ = self.study(*call, "--kernel", "ntk:depth=3", "--ridge", 0.1)
        k, t = self.closed()
        alpha = np.linalg.solve(k + 0.1 * np.eye(self.N), truth[:self.N])
        fitted = s["regression"]
        np.testing.assert_allclose(fitted["test_error"], np.mean((t @ alpha - truth[self.N:]) ** 2),
                                   rtol=1e-5)
        self.assertIsNone(fitted["train_accuracy"])
        self.assertIsNone(fitted["test_accuracy"])
        self.assertIsNone(s["alignment"])
        s, _ = self.study(*call, "--model", "mlp")  # one output, which is the start of the fit
        self.assertLess(s["regression"]["test_error"], np.var(truth))
        self.fails(3, *call, "--model", "mlp", "--classes", 2, says=["one target", "2 outputs"])
        self.fails(3, *self.call, "--fit", *self.test[:2], says="--test-labels")

    def test_moons_need_a_bias(self):
        s, _ = self.study("ntk", "--data", "moons", "--count", 200, "--kernel", "ntk:depth=2",
                          "--bias", "--fit")
        self.assertEqual(s["regression"]["test_samples"], 200)
        self.assertGreater(s["regression"]["test_accuracy"], 0.9)
        # without a bias outputs are proportional to a row's norm: the class depends on its direction
        # alone
        s, _ = self.study("ntk", "--data", "moons", "--count", 200, "--kernel", "ntk:depth=2",
                          "--fit", "--ridge", 1)
        self.assertLess(s["regression"]["test_accuracy"], 0.9)

    @unittest.skipUnless(os.path.isdir(FASHION), "no package dataset-fashion-mnist")
    def test_fashion_mnist(self):
        """300 labels and the whole test set, in blocks of 300."""
        s, _ = self.study("ntk", "--data", "fashion-mnist", "--indices",
                          self.save("first", np.arange(300)), "--kernel", "ntk:depth=3", "--fit")
        self.assertEqual(s["regression"]["test_samples"], 10000)
        self.assertGreater(s["regression"]["test_accuracy"], 0.7)

    def test_classes_are_matched_by_name(self):
        """Each table numbers its own classes; the second has them in another order."""
        def table(name, rows, words):
            with open(self.path(name), "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["a", "b", "label"])
                writer.writerows([*row, word] for row, word in zip(rows, words))
            return self.path(name)
        corners = np.array([[1, 0], [0, 1], [-1, 0]])
        train = table("train.csv", corners, ["yak", "dog", "cow"])
        test = table("test.csv", 3 * corners[::-1], ["cow", "dog", "yak"])
        s, _ = self.study("ntk", "--data", train, "--kernel", "ntk:depth=1", "--fit", "--test", test)
        self.assertEqual(s["regression"]["test_accuracy"], 1)
        odd = table("odd.csv", corners, ["cow", "dog", "elk"])
        self.fails(3, "ntk", "--data", train, "--kernel", "ntk:depth=1", "--fit", "--test", odd,
                   says="elk")

    def test_constant_samples_one_sample_and_one_class_work(self):
        for value in (1, 0):
            self.save("x", np.full((self.N, 6), value, "f4"))
            s, _ = self.study(*self.call, *self.test, "--fit", "--page", self.path("p.html"))
            self.assertEqual(s["rank"], value)
            self.assertGreater(s["regression"]["jitter"], 0)
            # from constant samples only the class frequencies can be learned; from zeros nothing
            share = np.mean(np.eye(3)[self.y], 0) * value
            want = np.mean((share - np.eye(3)[self.y]) ** 2)
            self.assertAlmostEqual(s["regression"]["train_error"], want, 6)
        self.save("x", self.x)
        one = self.save("one", np.array([7]))
        s, k = self.study(*self.call, *self.test, "--fit", "--indices", one)
        self.assertEqual((s["samples"], s["regression"]["train_accuracy"]), (1, 1))
        self.save("y", np.zeros(self.N, int))
        self.save("ty", np.zeros(self.M, int))
        s, _ = self.study(*self.call, *self.test, "--fit")
        self.assertEqual((s["classes"], s["regression"]["test_accuracy"]), (1, 1))

    def test_the_page_shows_the_kernel_and_the_regression(self):
        page = self.path("p.html")
        self.study(*self.call, *self.test, "--fit", "--page", page)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for what in ("The kernel ntk:depth=3 on x.npy", ">Regression</h2>", "test accuracy"):
            self.assertIn(what, text)
        self.assertNotRegex(text, r"<script|\bnan\b|\binf\b")
        self.study(*self.call, "--model", "mlp", "--page", page)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("The kernel ntk:depth=3 of the features of mlp on x.npy", text)
        self.assertNotIn("Regression", text)


class Wrong(Closed):
    def test_wrong_kernels_are_refused(self):
        for text in ("ntk", "ntk:depth=0", "ntk:depth=101", "ntk:depth=1.5", "rbf"):
            self.fails(2, "ntk", *self.data, "--kernel", text,
                       says=[f"'{text}'", "expected ntk:depth=K", "1 to 100"])
        for flag in (["--layers", "last"], ["--full"], ["--sketch", 64], ["--descend", 3]):
            for net in ([], ["--model", "mlp"]):
                self.fails(2, *self.call, *net, *flag, says=[flag[0], "--kernel"])
        self.fails(2, *self.call, "--agreement", 5, says=["--agreement", "network"])
        for flag in (["--classes", 3], ["--width", 3], ["--hidden", 3], ["--bayes", "dropout"]):
            self.fails(2, *self.call, *flag, says=[flag[0], "needs a network"])
        self.fails(2, *self.call, "--mean", 0.5, says="--deviation")
        self.fails(2, "ntk", *self.data, "--model", "mlp", "--bias", says="--kernel")
        self.fails(2, "ntk", *self.data, says=["which network?", "--kernel"])
        self.save("x", np.full((self.N, 6), np.float32(1e38)))
        self.ok(*self.call)
        x = self.x.copy()
        x[4, 2] = np.nan
        self.save("x", x)
        self.fails(3, *self.call, says=["sample 4", "not finite"])

    def test_wrong_fits_are_refused(self):
        for flag in (self.test[:2], self.test[2:], ["--ridge", 1]):
            self.fails(2, *self.call, *flag, says=[flag[0], "--fit"])
        self.fails(2, *self.call, "--fit", *self.test[2:], says=["--test-labels", "--test"])
        self.fails(2, *self.call, "--fit", *self.test, "--ridge", -1, says="--ridge")
        self.fails(2, "ntk", *self.data, "--model", "mlp", "--sketch", 64, "--fit", *self.test,
                   says="--fit needs the kernel matrix")
        self.fails(2, "ntk", "--data", "moons", "--part", "test", "--kernel", "ntk:depth=2", "--fit",
                   says=["--part test", "--test"])
        self.fails(2, "ntk", "--data", "moons", "--part", "test", "--kernel", "ntk:depth=2", "--fit",
                   "--test", "moons", says=["--part test", "--test"])
        for flag in (["--fit"], ["--descend", 2], ["--agreement", 2, "--start", 5, "--draw", 5]):
            self.fails(2, "ntk", "--data", "moons", "--count", 20, "--model", "mlp", "--bayes",
                       "dropout", *flag, says=[flag[0], "100 draws"])
        self.fails(3, *self.call, "--fit", says=["no test part", "--test SPEC"])
        self.fails(3, *self.call, "--fit", *self.test[:2], says=["no labels", "--test-labels"])
        self.fails(2, *self.call, "--fit", *self.test, "--out", self.test[1], says="--out")
        wide = self.save("wide", np.zeros((5, 7), "f4"))
        five = self.save("five", np.array([0, 1, 2, 3, 1]))
        self.fails(3, *self.call, "--fit", "--test", wide, "--test-labels", five, says=["7x1x1", "6x1x1"])
        six = self.save("six", np.zeros((5, 6), "f4"))
        self.fails(3, *self.call, "--fit", "--test", six, "--test-labels", five,
                   says=["sample 3 has label 3", "3 classes"])
        self.fails(3, *self.call, "--fit", "--test", self.path("none.npy"), says="none.npy")
        self.y[5:8] = -1
        self.save("y", self.y)
        self.fails(3, *self.call, "--fit", *self.test, says=["3 of the 60", "--fit"])
        self.fails(3, *self.call[:3], "--no-labels", "--kernel", "ntk:depth=1", "--fit", *self.test,
                   says="--fit")

    def test_too_little_memory_names_how_many_samples_fit(self):
        rng = np.random.default_rng(4)
        x, y = rng.normal(size=(3000, 40)).astype("f4"), np.arange(3000) % 2
        call = ["ntk", "--data", self.save("big", x), "--labels", self.save("bigy", y), "--fit",
                "--test", self.path("big.npy"), "--test-labels", self.path("bigy.npy"),
                "--kernel", "ntk:depth=1", "--memory", "280M", "--threads", 2]
        said = self.fails(4, *call, says=["3000 samples", "--memory", "--indices"])
        self.assertNotIn("--sketch", said)
        fits = int(re.search(r"(\d+) samples fit", said).group(1))
        self.assertTrue(300 < fits < 1500, said)
        self.ok(*call, "--indices", self.save("rows", np.arange(fits)))
        self.fails(4, *call, "--indices", self.save("rows", np.arange(fits + 1)),
                   says=f"{fits} samples fit")
        # the samples of --against may all be outside --indices
        call = ["ntk", "--data", self.path("big.npy"), "--kernel", "ntk:depth=1", "--memory", "280M",
                "--threads", 2, "--against", self.save("last", np.arange(2900, 3000))]
        said = self.fails(4, *call, says="3000 samples")
        fits = int(re.search(r"(\d+) samples fit", said).group(1))
        self.ok(*call, "--indices", self.save("rows", np.arange(fits)))
        # rows so wide that the threads' buffers are most of the memory
        call = ["ntk", "--data", self.save("wide", np.ones((3, 30000), "f4")), "--kernel",
                "ntk:depth=1", "--memory", "178M", "--threads"]
        self.fails(4, *call, 2, says=["one sample", "--memory", "--threads"])
        self.ok(*call, 1)


if __name__ == "__main__":
    unittest.main()
