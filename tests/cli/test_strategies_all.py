# SPDX-License-Identifier: Apache-2.0
"""Properties of every strategy on every kind of pool: sizes, types, labels, candidates, threads."""
import json
import os
import unittest

import numpy as np

from reference import softmax
from reference_bss import columns
from scantcli import run
from strategycase import HEADER, QUICK, STRATEGIES, INPUT_SETS, WEIGHTED, Pool, StrategyCase, evidence, needed

ORDERS = ("<", ">")
POOLS = int(os.environ.get("SCANT_SOAK", 300))  # random pools; make soak draws many
# Strategies that may pick fewer rows than requested.
FEWER = ("bss",)


def dtypes(turn):
    """Both float types; under a sanitizer, which is slow, only one of them in turn."""
    both = ("f4", "f8")
    return both[turn % 2:][:1] if os.environ.get("SCANT_SANITIZE") else both


def its_turn(strategy, size):
    """Whether a strategy is tested with a size. Under a sanitizer each strategy has every third size, and
    all have 16, which fills registers, and the largest."""
    return (not os.environ.get("SCANT_SANITIZE") or size == 16 or size >= 100
            or (STRATEGIES.index(strategy) + size) % 3 == 0)


def with_features(strategy):
    return "features" in INPUT_SETS[strategy][0]


class Sizes(StrategyCase):
    def warned(self, strategy, batch, arrays):
        """stdout of a call that must succeed and print a warning."""
        done = run(*self.command(strategy, batch, self.inputs(**arrays)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(done.stderr.strip(), "")
        return done.stdout

    def each(self, n):
        """Every strategy with every set of its inputs."""
        whole = evidence(n, n, d=2)
        for strategy in STRATEGIES:
            for way in range(len(INPUT_SETS[strategy])):
                yield strategy, needed(strategy, whole, way)

    def test_one_row_is_picked(self):
        for strategy, arrays in self.each(1):
            with self.subTest(strategy, given=list(arrays)):
                self.assertEqual(self.check(strategy, 1, self.inputs(**arrays), **arrays)[0], [0])

    def test_a_batch_as_large_as_the_pool_takes_all_without_a_warning(self):
        for strategy, arrays in self.each(8):
            with self.subTest(strategy, given=list(arrays)):
                args = self.inputs(**arrays)
                self.check(strategy, 8, args, **arrays)
                self.assertEqual(run(*self.command(strategy, 8, args)).stderr, "")

    def test_a_batch_larger_than_the_pool_takes_all_and_warns(self):
        for strategy, arrays in self.each(7):
            with self.subTest(strategy, given=list(arrays)):
                indices, _ = self.read_table(self.warned(strategy, 8, arrays),
                                             strategy in WEIGHTED)
                if strategy not in FEWER:
                    self.assertEqual(sorted(indices), list(range(7)))
                self.check(strategy, 8, self.inputs(**arrays), **arrays)

    def test_with_everything_labelled_only_the_header_is_printed(self):
        for strategy, arrays in self.each(7):
            with self.subTest(strategy, given=list(arrays)):
                arrays["labels"] = np.zeros(7, np.int64)
                self.assertEqual(self.warned(strategy, 3, arrays), HEADER + "\n")

    def test_with_all_but_one_labelled_that_one_is_picked(self):
        labels = np.arange(9) % 3
        labels[6] = -1
        for strategy, arrays in self.each(9):
            for batch in (1, 4):
                with self.subTest(strategy, given=list(arrays), batch=batch):
                    arrays["labels"] = labels
                    args = self.inputs(**arrays)
                    self.assertEqual(self.check(strategy, batch, args, **arrays)[0], [6])

    def test_of_an_empty_pool_only_the_header_is_printed(self):
        for strategy, arrays in self.each(0):
            with self.subTest(strategy, given=list(arrays)):
                self.assertEqual(self.warned(strategy, 3, arrays), HEADER + "\n")

    def test_without_candidates_only_the_header_is_printed(self):
        for strategy, arrays in self.each(7):
            with self.subTest(strategy, given=list(arrays)):
                arrays["candidates"] = np.zeros(0, np.int64)
                self.assertEqual(self.warned(strategy, 3, arrays), HEADER + "\n")

    def test_only_unlabelled_candidates_are_picked(self):
        labels = np.full(40, -1, np.int32)
        labels[::5] = 2
        candidates = np.array([39, 3, 10, 7, 8, 21, 22, 3, 35], np.uint16)
        for strategy, arrays in self.each(40):
            with self.subTest(strategy, given=list(arrays)):
                arrays.update(labels=labels, candidates=candidates)
                args = self.inputs(**arrays)
                for batch in (1, 4, 6):
                    self.check(strategy, batch, args, **arrays)

    def test_every_width_of_features_works(self):
        for d in (*range(1, 18), 33, 100):
            whole = evidence(d, 50, d, 5)
            for dtype in dtypes(d):
                for strategy in filter(with_features, STRATEGIES):
                    if not its_turn(strategy, d):
                        continue
                    with self.subTest(strategy, d=d, dtype=dtype):
                        arrays = needed(strategy, whole)
                        arrays["features"] = arrays["features"].astype(dtype)
                        self.check(strategy, 20, self.inputs(**arrays), **arrays,
                                   opts=QUICK.get(strategy))

    def test_every_number_of_classes_works(self):
        for classes in (*range(2, 18), 33, 100, 1000):
            whole = evidence(classes, 50, 4, classes)
            for dtype in dtypes(classes):
                for strategy in STRATEGIES:
                    arrays = needed(strategy, whole)
                    if not {"probs", "samples"} & set(arrays) or not its_turn(strategy, classes):
                        continue
                    with self.subTest(strategy, classes=classes, dtype=dtype):
                        for name in {"probs", "samples", "calibrated"} & set(arrays):
                            arrays[name] = arrays[name].astype(dtype)
                        self.check(strategy, 20, self.inputs(**arrays), **arrays,
                                   opts=QUICK.get(strategy))


class Types(StrategyCase):
    def test_features_of_every_type_and_byte_order_are_converted_exactly(self):
        whole = evidence(1, 60, 9)
        for code in ("f2", "f4", "f8", "u1"):
            for order in ORDERS if code != "u1" else ("|",):
                H = whole["features"]
                typed = (np.abs(H) * 90).astype("u1") if code == "u1" else H.astype(order + code)
                for strategy in filter(with_features, STRATEGIES):
                    with self.subTest(strategy, dtype=order + code):
                        arrays = {**needed(strategy, whole), "features": typed}
                        self.check(strategy, 25, self.inputs(**arrays), **arrays,
                                   opts=QUICK.get(strategy))

    def test_other_arrays_of_every_type_and_byte_order_are_converted_exactly(self):
        whole = evidence(2, 60, 9, 11)
        whole["logits"] = 3 * whole["logits"]
        for code in ("f2", "f4", "f8"):
            for order in ORDERS:
                for strategy in STRATEGIES:
                    for way in INPUT_SETS[strategy]:
                        ways = [way]
                        if "probs" in way:
                            ways.append(tuple("logits" if k == "probs" else k for k in way))
                        for names in ways:
                            with self.subTest(strategy, dtype=order + code, given=names):
                                arrays = {name: whole[name] for name in names}
                                for name in set(names) - {"features", "labels", "temperature"}:
                                    arrays[name] = arrays[name].astype(order + code)
                                self.check(strategy, 25, self.inputs(**arrays), **arrays,
                                           opts=QUICK.get(strategy))

    def test_members_of_an_archive_pick_as_the_files_do(self):
        arrays = evidence(3, 60, 9)
        arrays["features"] = arrays["features"].astype("f4")
        arrays["labels"] = np.where(np.arange(60) % 7, -1, 0)
        arrays["candidates"] = np.arange(5, 50)
        archives = []
        for save, name in ((np.savez, "plain.npz"), (np.savez_compressed, "small.npz")):
            save(self.path(name), **arrays)
            archives.append(self.path(name))
        for strategy in STRATEGIES:
            for way in INPUT_SETS[strategy]:
                used = {key: arrays[key] for key in {*way, "labels", "candidates"}}
                plain = self.pick(strategy, 10, self.inputs(**used))
                for archive in archives:
                    with self.subTest(strategy, archive=archive):
                        args = [word for key, value in used.items() for word in
                                ("--" + key, value if key == "temperature" else f"{archive}:{key}")]
                        self.assertEqual(self.pick(strategy, 10, args), plain)

    def test_logits_pick_as_their_softmax_does(self):
        # A shift of a row's logits does not change its softmax; here it is exact, because all values
        # are multiples of 1/8 with few digits.
        whole = evidence(4, 80, 6, 5)
        whole["logits"] = np.round(8 * whole["logits"]) / 8
        whole["probs"] = softmax(whole["logits"])
        for shift in (0, 4096, -4096):
            for strategy in STRATEGIES:
                if "probs" in INPUT_SETS[strategy][0] and strategy not in ("badge",):
                    with self.subTest(strategy, shift=shift):
                        by_probs = needed(strategy, whole)
                        by_logits = {**by_probs, "probs": None, "logits": whole["logits"] + shift}
                        self.check(strategy, 30, self.inputs(**by_logits), **by_probs)

    def test_labels_and_candidates_of_every_integer_type(self):
        H = evidence(5, 40)["features"]
        labels = np.where(np.arange(40) % 3, -1, 1)
        for code in ("i1", "i2", "i4", "i8"):
            for order in ORDERS:
                with self.subTest(order + code):
                    arrays = {"features": H, "labels": labels.astype(order + code),
                              "candidates": np.arange(4, 30).astype(order + "u" + code[1])}
                    self.check("coreset", 9, self.inputs(**arrays), **arrays)


class Outputs(StrategyCase):
    def test_every_format_holds_the_same_picks(self):
        whole = evidence(7, 50, 2)
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                args = self.inputs(**needed(strategy, whole))
                table = self.table(*self.command(strategy, 8, args, seed=3))
                got = self.outcome(strategy, 8, args, seed=3)
                self.assertEqual([row["index"] for row in table], got.indices)
                for key in ("weight", "score"):
                    printed = [float("%.9g" % x) for x in getattr(got, key + "s")]
                    self.assertEqual([row[key] for row in table], printed)
                path = self.path("picks.npy")
                self.ok(*self.command(strategy, 8, args, seed=3), "--out", path)
                picks = np.load(path)
                self.assertEqual((picks.dtype, picks.tolist()), (np.int64, got.indices))
                path = self.path("picks.json")
                self.ok(*self.command(strategy, 8, args, seed=3), "--out", path)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual([p["index"] for p in json.load(file)["picks"]], got.indices)

    def test_ids_follow_their_rows(self):
        whole = evidence(8, 30, 2)
        ids = self.save("ids", np.array([f"row-{i}" for i in range(30)]))
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                args = [*self.inputs(**needed(strategy, whole)), "--ids", ids]
                for row in self.table(*self.command(strategy, 6, args)):
                    self.assertEqual(row["id"], f"row-{row['index']}")


class Threads(StrategyCase):
    # Strategies with a pass over all rows for each pick, or with many iterations.
    SLOW = ("batchbald", "sparse-greedy", "sparse-iht", "acs-fw", "npc", "crc", "bss")

    @staticmethod
    def pool(n):
        """A pool with copies and labels, so that ties and bounds matter."""
        whole = evidence(6, n, 24, 10)
        whole = {key: value if key in ("temperature", "labels") else value.astype("f4")
                 for key, value in whole.items()}
        half, copied = n // 2, n // 4
        whole["samples"][:, half:half + copied] = whole["samples"][:, :copied]
        for key in ("features", "logits", "probs", "calibrated", "gradients"):
            whole[key][half:half + copied] = whole[key][:copied]
        whole["labels"] = np.where(np.arange(n) % (n // 200), -1, 3)
        return whole

    def check_threads(self, strategy, batch, arrays, way):
        args = self.inputs(**{**needed(strategy, arrays, way), "labels": arrays["labels"]})
        texts = [self.ok(*self.command(strategy, batch, args, seed=5, **QUICK.get(strategy, {})),
                         *threads)
                 for threads in (["--threads", 1], ["--threads", 2], ["--threads", 3], [])]
        self.assertGreater(len(texts[0].splitlines()), batch // 2)
        self.assertEqual(len(set(texts)), 1)

    def test_any_number_of_threads_gives_the_same_bytes(self):
        # Enough rows for many blocks.
        large, small = self.pool(20000), self.pool(4000)
        for strategy in STRATEGIES:
            for way in range(len(INPUT_SETS[strategy])):
                with self.subTest(strategy, way=way):
                    slow = strategy in self.SLOW
                    self.check_threads(strategy, 60 if slow else 300, small if slow else large, way)


class RandomPools(StrategyCase):
    """Random small pools of every kind, compared with the references."""

    @staticmethod
    def pool(rng):
        n, d, classes = rng.integers(1, 60), rng.integers(1, 20), rng.integers(2, 12)
        m = rng.integers(2, 12)
        H = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 3)
        Z = rng.standard_normal((n, classes)) * 10.0 ** rng.integers(-2, 2)
        G = rng.standard_normal((n, rng.integers(1, 20))) * 10.0 ** rng.integers(-3, 3)
        noise = rng.standard_normal((m, n, classes)) * 10.0 ** rng.integers(-2, 2)
        if rng.random() < 0.3:  # copies
            source = rng.integers(0, n, n)
            H, Z, G, noise = H[source], Z[source], G[source], noise[:, source]
        if rng.random() < 0.2:  # ties that are not copies, and rows of zeros
            H, G = np.round(H), np.round(G)
        if rng.random() < 0.1:  # a column of zeros
            H[:, rng.integers(0, d)] = 0
        if rng.random() < 0.1:  # certain rows, one class or several
            Z[rng.random(n) < 0.5, rng.integers(0, classes)] += 1000
        if rng.random() < 0.15:
            H = np.clip(np.abs(H * 50), 0, 255).astype("u1")
        else:
            H = H.astype(rng.choice(["f2", "f4", "f8", ">f4"]))
        labels = candidates = None
        if rng.random() < 0.6:
            labels = np.where(rng.random(n) < rng.random(), rng.integers(0, classes, n), -1)
        if rng.random() < 0.4:
            candidates = rng.integers(0, n, rng.integers(0, 2 * n))
        typed = {"features": H, "logits": Z.astype(rng.choice(["f4", "f8"])),
                 "gradients": G.astype(rng.choice(["f2", "f4", "f8", ">f4"])),
                 "temperature": float(rng.choice([0.5, 2, 3.7]))}
        kind = rng.choice(["f2", "f4", "f8"])
        typed["probs"] = softmax(Z).astype(kind)
        typed["calibrated"] = softmax(Z / 2).astype(kind)
        typed["samples"] = softmax(Z + noise).astype(kind)
        return typed, labels, candidates

    @staticmethod
    def options(strategy, rng):
        """Random values for some of a strategy's options."""
        drawn = {
            "bias": int(rng.integers(0, 2)),
            "normalise": int(rng.integers(0, 2)),
            "gamma": str(rng.choice(["0", "1", "2", "inf"])),
            "candidates": int(rng.choice([1, 7, 40])),
            "refine": int(rng.choice([0, 0, 3])),
            "group": int(rng.integers(1, 12)),
            "alpha": float(rng.choice([0, 1e-8, 1e-2, 1])),
            "beta": float(rng.choice([1e-4, 1e-3, .1])),
            "tau": float(rng.choice([1, .5])),
            "iters": int(rng.choice([1, 2, 20])),
            "prox": str(rng.choice(["exact", "printed"])),
            "keep": str(rng.choice(["last", "best"])),
            "mc": int(rng.choice([1, 20, 300])),
            "projections": int(rng.choice([0, 1, 2])),
        }
        known = {"egl": "bias normalise", "coreset": "normalise", "badge": "bias normalise",
                 "dynamic": "gamma bias", "npc": "candidates refine bias normalise",
                 "crc": "group bias normalise", "sparse-greedy": "alpha beta tau bias",
                 "sparse-iht": "alpha beta iters prox keep bias", "batchbald": "mc",
                 "acs-fw": "projections", "bss": "bias"}
        names = known.get(strategy, "").split()
        return {name: drawn[name] for name in names if rng.random() < 0.7}

    def only_zeros(self, args, arrays, opts):
        """Whether all columns are zero; then bss must refuse the call."""
        pool = Pool(**arrays)
        if not len(pool.rows) or columns(pool, opts.get("bias", 1)).any():
            return False
        self.fails(3, "select", "bss", "--batch", 1, *args, *self.settings(opts), says="0")
        return True

    def test_picks_agree_with_the_references_on_random_pools(self):
        for number in range(POOLS):
            rng = np.random.default_rng(number)
            strategy = STRATEGIES[number % len(STRATEGIES)]
            typed, labels, candidates = self.pool(rng)
            ways = [("logits" if k == "probs" else k for k in way) if rng.random() < .5 else way
                    for way in INPUT_SETS[strategy]]
            arrays = {name: typed[name] for name in ways[rng.integers(0, len(ways))]
                      if name != "labels"}
            if strategy == "albl" and labels is None:
                labels = np.full(len(typed["probs"]), -1)
            arrays.update(labels=labels, candidates=candidates)
            opts = self.options(strategy, rng)
            batch = int(rng.integers(1, 70))
            if strategy == "batchbald":
                batch = min(batch, 8)
            args = self.inputs(**arrays)
            seed = int(rng.integers(0, 2**63))
            if strategy == "bss" and self.only_zeros(args, arrays, opts):
                continue
            with self.subTest(number=number, strategy=strategy, given=list(arrays), batch=batch,
                              seed=seed, **opts):
                picked = self.check(strategy, batch, args, seed=seed, opts=opts, **arrays)
                table = self.table(*self.command(strategy, batch, args, seed=seed, **opts),
                                   "--threads", 1)
                self.assertEqual([row["index"] for row in table], picked[0])
                self.assertEqual([row["score"] for row in table],
                                 [float("%.9g" % score) for score in picked[1]])


if __name__ == "__main__":
    unittest.main()
