# SPDX-License-Identifier: Apache-2.0
"""`scant ntk`: every number is compared with NumPy's on the kernel it writes."""
import itertools
import json
import math
import os
import re
import signal
import subprocess
import unittest
import xml.dom.minidom

import numpy as np

from scantcli import SCANT, Case


def kendall(a, b):
    """tau-b by its definition."""
    pairs = list(itertools.combinations(range(len(a)), 2))
    x = [np.sign(a[i] - a[j]) for i, j in pairs]
    y = [np.sign(b[i] - b[j]) for i, j in pairs]
    return np.dot(x, y) / math.sqrt(np.count_nonzero(x) * np.count_nonzero(y))


class Ntk(Case):
    N = 60

    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)
        self.x = self.rng.normal(size=(self.N, 6)).astype("f4")
        self.y = self.rng.integers(0, 3, self.N)
        self.y[:3] = range(3)
        self.data = ["--data", self.save("x", self.x), "--labels", self.save("y", self.y)]
        self.call = ["ntk", *self.data, "--model", "mlp", "--width", 20, "--seed", 4,
                     "--threads", 1]

    def study(self, *more, call=None):
        """Runs ntk; returns the JSON and the kernel."""
        kernel = self.path("kernel.npy")
        text = self.ok(*(call or self.call), "--kernel-out", kernel, *more)

        def never(word):
            raise AssertionError(f"{word} in JSON")
        return json.loads(text, parse_constant=never), np.load(kernel)

    def logits(self, call=None):
        """The logits of the same untrained network, written by a training with a learning rate of 1e-30."""
        out, run_dir = self.path("z.npy"), self.path("run")
        self.ok("train", *self.data, "--model", "mlp", "--width", 20, "--seed", 4, "--steps", 1,
                "--lr", 1e-30, "--quiet", "--out", run_dir)
        self.ok("embed", "--data", self.data[1], "--from", run_dir, "--logits", out, "--threads",
                1)
        return np.load(out).astype("f8")

    def check(self, s, k, y, classes=3, outputs=1):
        """The numbers s of `scant ntk` are those of the kernel k."""
        n = len(y)
        hot = np.eye(classes)[y]
        if outputs > 1:
            hot = hot.reshape(-1, 1)
        values, vectors = np.linalg.eigh(k)
        top = values[-1]
        np.testing.assert_allclose(s["eigenvalues"], values[::-1], atol=1e-9 * top)
        self.assertAlmostEqual(s["trace"] / np.trace(k), 1, 9)
        a = np.trace(hot.T @ k @ hot)
        self.assertAlmostEqual(s["alignment"] / a, 1, 9)
        self.assertAlmostEqual(s["alignment_part"], a / (n * top), 9)
        self.assertEqual(s["rank"], int((values > s["tolerance"] * top).sum()))
        rest = np.trace(hot.T @ np.linalg.inv(k + s["jitter"] * np.eye(len(k))) @ hot)
        self.assertAlmostEqual(s["bound"] / math.sqrt(2 * rest / n), 1, 4)
        two = s["theorem2"]
        self.assertLessEqual(two["low"], two["value"] * (1 + 1e-6))
        self.assertLessEqual(two["value"], two["high_kantorovich"] * (1 + 1e-6))
        self.assertLessEqual(two["high_kantorovich"], two["high"] * (1 + 1e-9))
        low = values[0] + s["jitter"]
        self.assertAlmostEqual(two["low"] / (n * n / (a + n * s["jitter"])), 1, 9)
        if low > 1e-7 * top:
            self.assertAlmostEqual(two["factor"] / ((top + s["jitter"]) / low), 1, 3)
        rate = s["training"]["rate"]
        energy = ((vectors.T @ hot) ** 2).sum(1)
        count = np.where(values > s["tolerance"] * top, values, 0)  # smaller ones count as 0
        for point in s["theorem1"]["points"]:
            t = point["t"]
            left = (np.clip(1 - rate * count, 0, 1) ** (2 * t) * energy).sum()
            self.assertAlmostEqual(point["left"], left, 6)
            self.assertAlmostEqual(point["high"], n - rate * a, 6)
            self.assertAlmostEqual(point["low"], max(0, n - 2 * t * rate * a), 6)
            self.assertTrue(point["low"] - 1e-9 <= point["left"] <= point["high"] + 1e-9)

    def test_numbers_follow_from_the_kernel(self):
        s, k = self.study()
        self.assertEqual(k.shape, (self.N, self.N))
        np.testing.assert_array_equal(k, k.T)
        self.check(s, k, self.y)
        self.assertEqual((s["samples"], s["labelled"], s["classes"], s["seed"]), (60, 60, 3, 4))
        self.assertEqual((s["layers"], s["kernel"], s["exact"]), ("all", "reduced", True))
        top = s["largest"]
        training = s["training"]
        self.assertAlmostEqual(training["stable_rate"] * top, 2, 9)
        self.assertAlmostEqual(training["stable_rate_mean_loss"] * top, 60 * 3, 9)

    def test_the_full_kernel_averages_to_the_reduced_one_and_the_last_layer_limits_the_rank(self):
        s, k = self.study("--full", "--lr", 1e-4)
        self.check(s, k, self.y, outputs=3)
        self.assertEqual(k.shape, (180, 180))
        self.assertEqual(s["training"]["rate"], 1e-4)
        reduced = self.study()[1]
        mean = sum(k[c::3, c::3] for c in range(3)) / 3
        np.testing.assert_allclose(mean, reduced, rtol=1e-5, atol=1e-5 * reduced.max())
        s, k = self.study("--layers", "last")
        self.assertEqual(s["layers"], "last")
        self.assertLessEqual(s["rank"], 21)  # 20 features and a bias
        self.assertIsNone(s["condition"])
        self.assertGreater(s["jitter"], 0)

    def test_the_last_layers_kernel_is_that_of_the_features(self):
        """The gradient of an output by the last layer's weights is known: the features and 1."""
        _, k = self.study("--layers", "last")
        self.logits()
        out = self.path("h.npy")
        self.ok("embed", "--data", self.data[1], "--from", self.path("run"), "--out", out)
        h = np.load(out).astype("f8")
        np.testing.assert_allclose(k, h @ h.T + 1, rtol=1e-5, atol=1e-5 * k.max())

    def test_a_step_of_descent_moves_outputs_by_the_kernel(self):
        """For a small learning rate a step moves the outputs f by -rate K (f - Y)."""
        z = self.logits()
        s, k = self.study("--full", "--descend", 40)
        loss = ((z - np.eye(3)[self.y]) ** 2).sum() / 2
        d = s["descent"]
        self.assertAlmostEqual(d["losses"][0] / loss, 1, 5)
        self.assertAlmostEqual(d["predicted"][0] / loss, 1, 5)
        self.assertEqual(len(d["losses"]), 41)
        values, vectors = np.linalg.eigh(k)
        parts = (vectors.T @ (z - np.eye(3)[self.y]).ravel()) ** 2
        for t in (1, 7, 40):
            want = ((1 - d["rate"] * values) ** (2 * t) * parts).sum() / 2
            self.assertAlmostEqual(d["predicted"][t] / want, 1, 4)
        self.assertLessEqual(d["eigenvalues_moved"], d["kernel_moved"] * (1 + 1e-9))  # Weyl
        self.assertLess(d["losses"][40], d["losses"][0])
        # with a hundredth of the rate the kernel hardly moves, and the prediction is right
        slow = self.study("--full", "--descend", 5, "--lr", d["rate"] / 100)[0]["descent"]
        fall = slow["losses"][0] - np.array(slow["losses"][1:])
        said = slow["losses"][0] - np.array(slow["predicted"][1:])
        np.testing.assert_allclose(fall, said, rtol=0.03)
        self.assertLess(slow["kernel_moved"], d["kernel_moved"])

    def test_descent_with_the_reduced_kernel_is_stable(self):
        for more in ([], ["--layers", "last"]):
            d = self.study("--descend", 30, *more)[0]["descent"]
            self.assertTrue(all(b <= a for a, b in zip(d["losses"], d["losses"][1:])), more)

    def test_descent_keeps_npcs_bound(self):
        """NPC's bound on the loss holds if the kernel is positive definite and hardly changes."""
        rows = self.save("few", np.arange(12))
        call = ["ntk", *self.data, "--indices", rows, "--model", "onehidden", "--width", 512,
                "--full", "--threads", 1]
        d = self.study("--descend", 30, call=call)[0]["descent"]
        self.assertGreater(d["smallest"], 0)
        self.assertEqual(d["steps_above"], 0)
        for a, b in zip(d["losses"], d["losses"][1:]):
            self.assertLessEqual(b, d["theorem_factor"] * a * (1 + 1e-6))

    def mmd(self, k, s0, s):
        """The unbiased statistic by its definition; s may begin with the rows of s0."""
        m, n = len(s0), len(s)
        off = lambda a, b: sum(k[i, j] for p, i in enumerate(a) for q, j in enumerate(b)
                               if p != q)
        square = (off(s0, s0) / (m * (m - 1)) + off(s, s) / (n * (n - 1))
                  - 2 * off(s0, s) / (m * (n - 1)))
        return math.sqrt(max(0, square))

    def test_mmd_agrees_with_its_definition(self):
        everything = self.study()[1]
        first = np.argsort(self.x[:, 0])  # so that both sets have different distributions
        inside = first[:10]
        s = self.study("--against", self.save("s0", inside))[0]
        order = list(inside) + [i for i in range(self.N) if i not in inside]
        self.assertEqual(s["against"], 10)
        self.assertAlmostEqual(s["mmd"] / self.mmd(everything, inside, order), 1, 5)
        # rows outside the set that is studied
        rows = first[20:]
        s, k = self.study("--indices", self.save("rows", rows), "--against",
                          self.save("s0", inside))
        self.assertEqual(k.shape, (40, 40))
        np.testing.assert_allclose(k, everything[np.ix_(rows, rows)], rtol=1e-5)
        self.check(s, k, self.y[rows])
        self.assertAlmostEqual(s["mmd"] / self.mmd(everything, inside, rows), 1, 5)
        everyone = self.save("all", np.arange(self.N)[::-1])
        self.assertEqual(self.study("--against", everyone)[0]["mmd"], 0)

    def test_the_kernel_approaches_the_infinite_one_with_the_width(self):
        """CRC's theorem 1: the difference falls like the inverse root of the width."""
        names = ("difference", "spectral_difference", "largest_difference")
        for depth in (1, 3):
            falls = {}
            for width in (32, 512):
                falls[width] = np.mean([[study["infinite"][name] for name in names] for seed in range(4) for study in
                    [self.study("--infinite", call=["ntk", *self.data, "--model", "mlp", "--init", "he", "--width",
                                                    width, "--depth", depth, "--seed", seed])[0]]], axis=0)
                self.assertEqual(self.study("--infinite", call=["ntk", *self.data, "--model", "mlp", "--init", "he",
                                                                "--depth", depth])[0]["infinite"]["depth"], depth)
            for before, after in zip(falls[32], falls[512]):  # 4 = (512 / 32)^(1/2)
                self.assertTrue(2.5 < before / after < 7, (depth, falls))
            self.assertLess(falls[512][0], 0.1 * depth)
        self.assertNotIn("infinite", self.study()[0])

    def test_only_some_networks_have_an_infinite_kernel(self):
        net = ["ntk", *self.data, "--model", "mlp", "--init", "he"]
        self.fails(2, *self.call, "--infinite", says="--init he")
        self.fails(3, *net, "--activation", "tanh", "--infinite", says=["mlp", "ReLU"])
        self.fails(3, "ntk", *self.data, "--model", "linear", "--init", "he", "--infinite", says="infinitely wide")
        self.fails(2, *net, "--infinite", "--sketch", 16, says="--infinite needs the kernel matrix")
        self.fails(2, "ntk", *self.data, "--kernel", "ntk:depth=1", "--infinite", says="--infinite cannot")
        self.fails(3, *net, "--infinite", "--layers", "last", says="all layers")
        trained = self.path("trained")
        self.ok("train", *self.data, "--model", "mlp", "--width", 20, "--init", "he", "--steps", 1, "--out", trained)
        self.fails(3, "ntk", *self.data, "--from", trained, "--infinite", says="not trained")

    def test_agreement_is_kendalls_tau_of_dynamics_and_alignment(self):
        s, k = self.study("--agreement", 30, "--start", 20, "--draw", 15)
        a = s["agreement"]
        self.assertEqual((a["sets"], a["start"], a["draw"]), (30, 20, 15))
        self.assertAlmostEqual(a["tau"], kendall(a["dynamics"], a["alignment"]), 12)
        n = 30
        z = 3 * a["tau"] * math.sqrt(n * (n - 1)) / math.sqrt(2 * (2 * n + 5))
        self.assertAlmostEqual(a["p"], math.erfc(abs(z) / math.sqrt(2)), 12)
        # a set of all rows
        s, k = self.study("--agreement", 2, "--start", 30, "--draw", 30)
        hot, z = np.eye(3)[self.y], self.logits()
        a = s["agreement"]
        self.assertAlmostEqual(a["alignment"][0] / np.trace(hot.T @ k @ hot), 1, 9)
        self.assertAlmostEqual(a["dynamics"][1] / np.trace((z - hot).T @ k @ (z - hot)), 1, 4)
        self.assertAlmostEqual(s["training"]["dynamics"] / a["dynamics"][0], 1, 9)
        other = self.study("--agreement", 30, "--start", 20, "--draw", 15)[0]["agreement"]
        again = self.study("--agreement", 30, "--start", 20, "--draw", 15)[0]["agreement"]
        self.assertEqual(other, again)

    def test_a_sketch_approximates_the_kernel(self):
        exact, _ = self.study()
        call = self.call
        s = json.loads(self.ok(*call, "--sketch", 2000))
        self.assertFalse(s["exact"])
        self.assertEqual(s["sketch"]["numbers"], 2000)
        self.assertLess(s["sketch"]["error"], 2 * s["sketch"]["expected_at_most"])
        self.assertLess(abs(s["largest"] / exact["largest"] - 1), 4 * s["sketch"]["error"])
        self.assertLess(abs(s["alignment"] / exact["alignment"] - 1), 4 * s["sketch"]["error"])
        self.assertIsNone(s["bound"])
        self.assertIsNone(s["theorem2"])
        self.assertEqual(len(s["eigenvalues"]), self.N)
        self.fails(2, *call, "--sketch", 64, "--descend", 3, says="--descend")

    def test_without_labels_label_figures_are_null(self):
        call = ["ntk", "--data", self.data[1], "--model", "mlp", "--threads", 1]
        self.fails(3, *call, says=["no labels", "--classes"])
        s, _ = self.study(call=[*call, "--classes", 4])
        for key in ("alignment", "alignment_part", "bound", "jitter", "theorem1", "theorem2"):
            self.assertIsNone(s[key], key)
        self.assertEqual((s["labelled"], s["rank"]), (0, len(s["eigenvalues"])))
        self.fails(3, *call, "--classes", 4, "--descend", 2, says=["no label", "--descend"])
        self.fails(3, *call, "--classes", 4, "--agreement", 2, says="--agreement")

    def test_unlabelled_samples_do_not_count_in_the_alignment(self):
        self.y[40:] = -1
        self.save("y", self.y)
        s, k = self.study("--classes", 3)
        hot = np.vstack([np.eye(3)[self.y[:40]], np.zeros((20, 3))])
        self.assertEqual(s["labelled"], 40)
        self.assertAlmostEqual(s["alignment"] / np.trace(hot.T @ k @ hot), 1, 9)

    def test_one_sample_and_constant_samples_work(self):
        one = self.save("one", np.array([7]))
        s, k = self.study("--indices", one, "--page", self.path("p.html"))
        self.assertEqual((s["samples"], s["rank"], s["condition"]), (1, 1, 1))
        self.assertAlmostEqual(s["bound"], math.sqrt(2 / k[0, 0]), 6)
        self.save("x", np.ones((self.N, 6), "f4"))
        s, k = self.study("--page", self.path("p.html"), "--descend", 3)
        self.assertEqual(s["rank"], 1)
        self.assertIsNone(s["condition"])
        self.assertGreater(s["jitter"], 0)
        self.assertIsNone(s["training"]["steps_to_hundredth"])
        self.save("x", np.zeros((self.N, 6), "f4"))
        self.study("--page", self.path("p.html"))

    def test_wrong_calls_are_refused(self):
        self.fails(2, "ntk", "--model", "mlp", says="--data")
        self.fails(2, "ntk", *self.data, says="which network?")
        self.fails(2, *self.call, "--start", 3, says="--agreement")
        self.fails(2, *self.call, "--from", self.dir, says="--from")
        self.fails(3, *self.call, "--against", self.save("a", np.array([0, 60])),
                   says=["names sample 60", "0 to 59"])
        self.fails(3, *self.call, "--agreement", 5, "--start", 50, "--draw", 20,
                   says=["50 samples", "there are 60"])
        self.fails(3, *self.call, "--classes", 2, says=["has label 2", "2 classes"])
        self.fails(4, *self.call, "--out", self.path("no/such/file.json"), says="no/such")
        self.fails(2, *self.call, "--out", self.data[1], says="--out")
        self.fails(3, *self.call, "--lr", 1e9, "--descend", 50, says="not finite")

    def test_too_little_memory_names_how_many_samples_fit(self):
        x = self.rng.normal(size=(3000, 4)).astype("f4")
        call = ["ntk", "--data", self.save("x", x), "--model", "mlp", "--classes", 2,
                "--memory", "160M", "--threads", 1]
        said = self.fails(4, *call, says=["3000 samples", "--memory", "--sketch"])
        fits = int(re.search(r"(\d+) samples fit", said).group(1))
        self.assertTrue(500 < fits < 3000, said)
        rows = self.save("rows", np.arange(fits))
        self.ok(*call, "--indices", rows)
        self.fails(4, *call, "--indices", self.save("rows", np.arange(fits + 1)),
                   says=f"{fits} samples fit")
        self.ok(*call, "--sketch", 256)
        self.save("x", np.zeros((30001, 4), "f4"))
        self.fails(4, *call, says=["30000 rows", "30001", "--sketch"])
        self.fails(4, *call, "--full", says=["15000 samples"])

    def test_the_page_is_self_contained(self):
        page, out = self.path("p.html"), self.path("s.json")
        self.assertEqual(self.ok(*self.call, "--page", page, "--out", out, "--descend", 5,
                                 "--agreement", 10, "--start", 10, "--draw", 5), "")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertLess(len(text), 1 << 20)
        for what in ("Spectrum", "The kernel", "Descent", "Alignment and dynamics", "Numbers"):
            self.assertIn(what, text)
        self.assertNotRegex(text, r"<script|https?://(?!www\.w3\.org/2000/svg)|nan|\binf\b")
        for svg in re.findall(r"<svg.*?</svg>", text, re.S):
            root = xml.dom.minidom.parseString(svg).documentElement
            self.assertTrue(root.getAttribute("aria-label"))
            width, height = map(int, root.getAttribute("viewBox").split()[2:])
            for path in root.getElementsByTagName("path"):
                if path.getAttribute("class") == "bar":
                    continue  # drawn with relative commands
                for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", path.getAttribute("d")):
                    self.assertTrue(0 <= float(x) <= width and 0 <= float(y) <= height, svg)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["samples"], 60)

    def test_threads_do_not_change_the_kernel_of_a_trained_network(self):
        """The kernel of a trained network (--from) does not depend on the thread count."""
        self.logits()
        call = ["ntk", *self.data, "--from", self.path("run"), "--threads"]
        a, k = self.study(call=[*call, 1])
        b, other = self.study(call=[*call, 3])
        np.testing.assert_allclose(k, other, rtol=1e-5, atol=1e-5 * k.max())
        self.assertAlmostEqual(a["alignment"] / b["alignment"], 1, 5)
        untrained, same = self.study()
        np.testing.assert_allclose(k, same, rtol=1e-5, atol=1e-5 * k.max())

    def test_ctrl_c_ends_it(self):
        x = self.rng.integers(0, 256, (1500, 32, 32, 3)).astype("u1")
        page = self.path("p.html")
        with subprocess.Popen([SCANT, "ntk", "--data", self.save("x", x), "--model", "cnn",
                               "--classes", "10", "--page", page, "--progress"],
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            process.stderr.readline()  # it has started
            process.send_signal(signal.SIGINT)
            said = process.stderr.read().decode()
        self.assertEqual(process.returncode, 130, said)
        self.assertFalse(os.path.exists(page))


if __name__ == "__main__":
    unittest.main()
