# SPDX-License-Identifier: Apache-2.0
"""What every strategy promises whatever the pool: sizes, types, labels, candidates, threads."""
import os
import unittest

import numpy as np

from reference import HEADER, NEEDS, STRATEGIES, StrategyCase, noise, softmax
from scantcli import run

ORDERS = ("<", ">")
POOLS = int(os.environ.get("SCANT_SOAK", 300))  # random pools; make soak draws many


def needed(strategy, features, probs, **more):
    """The arrays a strategy needs, and more, by the name of their flags."""
    return {"features": features if "features" in NEEDS[strategy] else None,
            "probs": probs if "probs" in NEEDS[strategy] else None, **more}


class Sizes(StrategyCase):
    def warned(self, strategy, batch, arrays):
        """stdout of a run that succeeds and says something on stderr."""
        done = run("select", strategy, "--batch", batch, *self.inputs(**arrays))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(done.stderr.strip(), "")
        return done.stdout

    def each(self, n):
        H, Z = noise(n, n, 3, 4)
        for strategy in STRATEGIES:
            yield strategy, needed(strategy, H, softmax(Z))

    def test_one_row_is_picked(self):
        for strategy, arrays in self.each(1):
            with self.subTest(strategy):
                self.assertEqual(self.judge(strategy, 1, self.inputs(**arrays), **arrays)[0], [0])

    def test_a_batch_as_large_as_the_pool_takes_all_without_a_warning(self):
        for strategy, arrays in self.each(7):
            with self.subTest(strategy):
                args = self.inputs(**arrays)
                self.judge(strategy, 7, args, **arrays)
                self.assertEqual(run("select", strategy, "--batch", 7, *args).stderr, "")

    def test_a_batch_larger_than_the_pool_takes_all_and_warns(self):
        for strategy, arrays in self.each(7):
            with self.subTest(strategy):
                indices, _ = self.read_table(self.warned(strategy, 8, arrays))
                self.assertEqual(sorted(indices), list(range(7)))

    def test_with_everything_labelled_the_header_stands_alone(self):
        for strategy, arrays in self.each(7):
            with self.subTest(strategy):
                arrays["labels"] = np.zeros(7, np.int64)
                self.assertEqual(self.warned(strategy, 3, arrays), HEADER + "\n")

    def test_an_empty_pool_is_like_nothing_unlabelled(self):
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                arrays = needed(strategy, np.zeros((0, 3)), np.zeros((0, 4)))
                self.assertEqual(self.warned(strategy, 3, arrays), HEADER + "\n")

    def test_an_empty_list_of_candidates_is_like_nothing_unlabelled(self):
        for strategy, arrays in self.each(7):
            with self.subTest(strategy):
                arrays["candidates"] = np.zeros(0, np.int64)
                self.assertEqual(self.warned(strategy, 3, arrays), HEADER + "\n")

    def test_only_unlabelled_candidates_are_picked(self):
        labels = np.full(40, -1, np.int32)
        labels[::5] = 2
        candidates = np.array([39, 3, 10, 7, 8, 21, 22, 3, 35], np.uint16)
        for strategy, arrays in self.each(40):
            with self.subTest(strategy):
                arrays.update(labels=labels, candidates=candidates)
                args = self.inputs(**arrays)
                for batch in (1, 4, 6):
                    self.judge(strategy, batch, args, **arrays)

    def test_widths_that_fill_no_register(self):
        for d in (*range(1, 18), 33, 100):
            H, Z = noise(d, 50, d, 5)
            for dtype in ("f4", "f8"):
                arrays = {"features": H.astype(dtype), "probs": softmax(Z).astype(dtype)}
                for strategy in ("egl", "coreset", "badge"):
                    with self.subTest(strategy, d=d, dtype=dtype):
                        args = self.inputs(**needed(strategy, **arrays))
                        self.judge(strategy, 20, args, **arrays)

    def test_class_counts_that_fill_no_register(self):
        for classes in (*range(2, 18), 33, 100, 1000):
            H, Z = noise(classes, 50, 4, classes)
            for dtype in ("f4", "f8"):
                arrays = {"features": H.astype(dtype), "logits": Z.astype(dtype)}
                for strategy in ("confidence", "margin", "entropy", "egl", "badge"):
                    with self.subTest(strategy, classes=classes, dtype=dtype):
                        used = dict(arrays)
                        if "features" not in NEEDS[strategy]:
                            del used["features"]
                        self.judge(strategy, 20, self.inputs(**used), **arrays)


class Types(StrategyCase):
    def test_features_of_every_type_and_byte_order_enter_exactly(self):
        H, Z = noise(1, 60, 9, 4)
        P = softmax(Z)
        for code in ("f2", "f4", "f8", "u1"):
            for order in ORDERS if code != "u1" else ("|",):
                typed = (np.abs(H) * 90).astype("u1") if code == "u1" else H.astype(order + code)
                for strategy in ("egl", "coreset", "badge"):
                    with self.subTest(strategy, dtype=order + code):
                        arrays = needed(strategy, typed, P)
                        self.judge(strategy, 25, self.inputs(**arrays), **arrays)

    def test_probabilities_and_logits_of_every_type_and_byte_order_enter_exactly(self):
        H, Z = noise(2, 60, 9, 11)
        for code in ("f2", "f4", "f8"):
            for order in ORDERS:
                for strategy in ("confidence", "margin", "entropy", "egl", "badge"):
                    for kind, array in (("probs", softmax(Z)), ("logits", 3 * Z)):
                        with self.subTest(strategy, dtype=order + code, kind=kind):
                            arrays = needed(strategy, H, None)
                            arrays[kind] = array.astype(order + code)
                            self.judge(strategy, 25, self.inputs(**arrays), **arrays)

    def test_members_of_an_archive_pick_as_the_files_do(self):
        H, Z = noise(3, 60, 9, 4)
        H, P = H.astype("f4"), softmax(Z)
        labels = np.where(np.arange(60) % 7, -1, 0)
        arrays = {"features": H, "probs": P, "labels": labels, "candidates": np.arange(5, 50)}
        archives = []
        for save, name in ((np.savez, "plain.npz"), (np.savez_compressed, "small.npz")):
            save(self.path(name), **arrays)
            archives.append(self.path(name))
        for strategy in STRATEGIES:
            used = {key: arrays[key] for key in (*NEEDS[strategy], "labels", "candidates")}
            plain = self.pick(strategy, 10, self.inputs(**used))
            for archive in archives:
                with self.subTest(strategy, archive=archive):
                    args = [word for key in used for word in ("--" + key, f"{archive}:{key}")]
                    self.assertEqual(self.pick(strategy, 10, args), plain)

    def test_logits_pick_as_their_softmax_does(self):
        # A shift of a row's logits leaves its softmax, here exactly: whole numbers below 2^53.
        H, Z = noise(4, 80, 6, 5)
        Z = np.round(8 * Z) / 8
        for shift in (0, 4096, -4096):
            logits, P = Z + shift, softmax(Z)
            for strategy in ("confidence", "margin", "entropy", "egl"):
                with self.subTest(strategy, shift=shift):
                    by_probs = needed(strategy, H, P)
                    by_logits = {**needed(strategy, H, None), "logits": logits}
                    self.judge(strategy, 30, self.inputs(**by_logits), **by_probs)

    def test_labels_and_candidates_of_every_integer_type(self):
        H, _ = noise(5, 40, 3, 2)
        labels = np.where(np.arange(40) % 3, -1, 1)
        for code in ("i1", "i2", "i4", "i8"):
            for order in ORDERS:
                with self.subTest(order + code):
                    arrays = {"features": H, "labels": labels.astype(order + code),
                              "candidates": np.arange(4, 30).astype(order + "u" + code[1])}
                    self.judge("coreset", 9, self.inputs(**arrays), **arrays)


class Threads(StrategyCase):
    def test_any_number_of_threads_gives_the_same_bytes(self):
        # Enough rows for many blocks; copies and labels so that ties and bounds matter.
        H, Z = noise(6, 20000, 24, 10, confident=3.0)
        H, Z = H.astype("f4"), Z.astype("f4")
        H[10000:15000], Z[10000:15000] = H[:5000], Z[:5000]
        arrays = {"features": H, "probs": softmax(Z).astype("f4"),
                  "labels": np.where(np.arange(20000) % 100, -1, 3)}
        for strategy in STRATEGIES:
            args = self.inputs(**{key: arrays[key] for key in (*NEEDS[strategy], "labels")})
            with self.subTest(strategy):
                texts = [self.ok("select", strategy, "--batch", 300, "--seed", 5, *args, *threads)
                         for threads in (["--threads", 1], ["--threads", 2], ["--threads", 3], [])]
                self.assertEqual(len(texts[0].splitlines()), 301)
                self.assertEqual(len(set(texts)), 1)


class RandomPools(StrategyCase):
    """Small pools of every kind: each promise, by the reference, on each."""

    def pool(self, rng):
        n, d, classes = rng.integers(1, 60), rng.integers(1, 20), rng.integers(2, 12)
        H = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 3)
        Z = rng.standard_normal((n, classes)) * 10.0 ** rng.integers(-2, 2)
        if rng.random() < 0.3:  # copies
            source = rng.integers(0, n, n)
            H, Z = H[source], Z[source]
        if rng.random() < 0.2:  # ties that are no copies, and rows of zeros
            H = np.round(H)
        if rng.random() < 0.15:
            H = np.clip(np.abs(H * 50), 0, 255).astype("u1")
        else:
            H = H.astype(rng.choice(["f2", "f4", "f8", ">f4"]))
        labels = candidates = None
        if rng.random() < 0.6:
            labels = np.where(rng.random(n) < rng.random(), rng.integers(0, classes, n), -1)
        if rng.random() < 0.4:
            candidates = rng.integers(0, n, rng.integers(0, 2 * n))
        if rng.random() < 0.5:
            return {"features": H, "logits": Z.astype(rng.choice(["f4", "f8"])),
                    "labels": labels, "candidates": candidates}
        return {"features": H, "probs": softmax(Z).astype(rng.choice(["f2", "f4", "f8"])),
                "labels": labels, "candidates": candidates}

    def test_every_promise_holds_on_pools_of_every_kind(self):
        for number in range(POOLS):
            rng = np.random.default_rng(number)
            strategy = STRATEGIES[number % len(STRATEGIES)]
            arrays = self.pool(rng)
            if "features" not in NEEDS[strategy]:
                del arrays["features"]
            if "probs" not in NEEDS[strategy]:
                arrays.pop("probs", None)
                arrays.pop("logits", None)
            opts = {"seed": int(rng.integers(0, 2**63))}
            if strategy in ("egl", "badge"):
                opts["bias"] = int(rng.integers(0, 2))
            if strategy in ("egl", "coreset", "badge"):
                opts["normalise"] = int(rng.integers(0, 2))
            batch = int(rng.integers(1, 70))
            args = self.inputs(**arrays)
            with self.subTest(number=number, strategy=strategy, batch=batch, **opts):
                picked = self.judge(strategy, batch, args, **arrays, **opts)
                self.assertEqual(self.pick(strategy, batch, args, **opts), picked)


if __name__ == "__main__":
    unittest.main()
