# SPDX-License-Identifier: Apache-2.0
"""A test case that runs strategies and checks their output against the references."""
import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np

import reference_bayes
import reference_bss
import reference_lambda
import reference_sparse
from reference import (DISTANCE_RELATIVE, SAME_SCORE, SCORE_ABSOLUTE, SCORE_RELATIVE, SUMS,
                       CoresetSteps, allowed, chi_square, confidence, dynamic, egl, embed, entropy,
                       loss_gradients, margin, ranked, real, softmax)
from scantcli import BUILD, Case, run

# The sets of inputs that each strategy accepts; the first is the usual one.
INPUT_SETS = {
    "random": [("features",)],
    "confidence": [("probs",)],
    "margin": [("probs",)],
    "entropy": [("probs",)],
    "egl": [("probs", "features")],
    "coreset": [("features",)],
    "badge": [("probs", "features")],
    "bald": [("samples",)],
    "batchbald": [("samples",)],
    "dynamic": [("probs", "features"), ("gradients",)],
    "npc": [("features",)],
    "crc": [("features",)],
    "sparse-greedy": [("probs", "calibrated", "features"),
                      ("logits", "temperature", "features"), ("samples",)],
    "sparse-iht": [("probs", "calibrated", "features"),
                   ("logits", "temperature", "features"), ("samples",)],
    "acs-fw": [("samples",)],
    "bss": [("features",), ("gradients",)],
    "albl": [("probs", "features", "labels")],
}
STRATEGIES = tuple(INPUT_SETS)
SCORED = {"confidence": confidence, "margin": margin, "entropy": entropy}
WEIGHTED = ("sparse-greedy", "sparse-iht", "acs-fw", "bss")

# Options that make slow strategies quick.
QUICK = {"sparse-iht": {"iters": 5}, "batchbald": {"mc": 100}, "npc": {"candidates": 50}}

HEADER = "rank,index,weight,score"


def evidence(seed, n, d=3, classes=4, m=5):
    """Evidence of every kind for n rows, drawn at random; no row is labelled."""
    rng = np.random.default_rng(seed)
    H, Z = rng.standard_normal((n, d)), rng.standard_normal((n, classes))
    return {"features": H, "logits": Z, "probs": softmax(Z), "calibrated": softmax(Z / 2),
            "temperature": 2.0, "gradients": rng.standard_normal((n, 2 * d)),
            "samples": softmax(Z + rng.standard_normal((m, n, classes))),
            "labels": np.full(n, -1)}


def needed(strategy, arrays, way=0):
    """The arrays that a strategy needs."""
    return {name: arrays[name] for name in INPUT_SETS[strategy][way]}


class Pool:
    """The arrays of a call, named like the flags, and what follows from them."""

    def __init__(self, features=None, probs=None, logits=None, calibrated=None, temperature=None,
                 gradients=None, samples=None, labels=None, candidates=None):
        arrays = (features, probs, logits, calibrated, gradients, labels)
        self.n = (len(next(a for a in arrays if a is not None)) if samples is None
                  else samples.shape[1])
        self.features, self.labels = features, labels
        self.rows = allowed(self.n, labels, candidates)
        self.labelled = [] if labels is None else np.flatnonzero(np.asarray(labels) != -1)
        self.gradients = None if gradients is None else real(gradients)
        self.samples = None if samples is None else real(samples)
        self.P = probs if logits is None else softmax(logits, np.longdouble)
        self.Q = calibrated
        if temperature is not None:
            self.Q = softmax(np.asarray(logits).astype(np.longdouble) / temperature,
                             np.longdouble)


class StrategyCase(Case):
    """Runs strategies and checks their output."""

    def inputs(self, **given):
        """Saves the arrays that are not None and returns the flags that name them. Plain values
        become flags as they are."""
        args = []
        for name, value in given.items():
            if value is not None:
                plain = isinstance(value, (int, float, str))
                args += ["--" + name.replace("_", "-"),
                         value if plain else self.save(name, np.ascontiguousarray(value))]
        return args

    @staticmethod
    def settings(opts):
        opts = {key: value for key, value in opts.items() if value is not None}
        seed = ["--seed", opts.pop("seed")] if "seed" in opts else []
        return seed + [word for key, value in opts.items() for word in ("--opt", f"{key}={value}")]

    def command(self, strategy, batch, args, **opts):
        """The arguments of a call. A strategy that keeps a state gets a new state file unless args
        name one, so that the same call gives the same picks."""
        words = ["select", strategy, "--batch", batch, *args, *self.settings(opts)]
        if strategy == "albl" and "--state" not in args:
            handle, path = tempfile.mkstemp(dir=self.dir)
            os.close(handle)
            os.remove(path)
            words += ["--state", path]
        return words

    def pick(self, strategy, batch, args, **opts):
        """Indices and scores of a run that must succeed. Checks the format of its table."""
        return self.read_table(self.ok(*self.command(strategy, batch, args, **opts)),
                               strategy in WEIGHTED)

    def outcome(self, strategy, batch, args, **opts):
        """The JSON output of a run that must succeed: indices, weights, scores, info and options;
        and its stderr as `said`."""
        done = run(*self.command(strategy, batch, args, **opts), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        got = json.loads(done.stdout)
        self.assertEqual((got["strategy"], got["batch"]), (strategy, len(got["picks"])))
        columns = {key: [pick[key] for pick in got["picks"]]
                   for key in ("index", "weight", "score")}
        for key in ("weight", "score"):
            self.assertNotIn(None, columns[key], "not a finite number")
        if strategy not in WEIGHTED:
            self.assertLessEqual(set(columns["weight"]), {1})
        return SimpleNamespace(indices=columns["index"], weights=columns["weight"],
                               scores=columns["score"], info=got["info"],
                               options=got["options"], said=done.stderr)

    def read_table(self, text, weighted=False):
        lines = text.splitlines()
        self.assertEqual(lines[0], HEADER)
        indices, scores = [], []
        for rank, line in enumerate(lines[1:], 1):
            cells = line.split(",")
            self.assertEqual(cells[0], str(rank), line)
            if not weighted:
                self.assertEqual(cells[2], "1", line)
            indices.append(int(cells[1]))
            scores.append(float(cells[3]))
        return indices, scores

    def pick_with_seeds(self, strategy, batch, args, seeds, **opts):
        """The indices picked with each seed. More than 100 seeds are run by one process
        (pick_seeds.c); its first picks are compared with the program's."""
        def one(seed):
            done = run(*self.command(strategy, batch, args, seed=seed, **opts), "--threads", 1)
            self.assertEqual(done.returncode, 0, done.stderr)
            return self.read_table(done.stdout, strategy in WEIGHTED)[0]

        few = 20
        with ThreadPoolExecutor(2) as pool:
            picked = list(pool.map(one, seeds if len(seeds) <= 100 else seeds[:few]))
        if len(seeds) <= 100:
            return picked
        self.assertEqual(seeds, range(len(seeds)))
        words = [strategy, batch, len(seeds), *args, *self.settings(opts)]
        done = subprocess.run([os.path.join(BUILD, "tests", "pick_seeds"), *map(str, words)],
                              stdout=subprocess.PIPE, check=True, text=True)
        many = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
        self.assertEqual(many[:few], picked)
        return many

    def assert_law(self, counts, chances):
        statistic, limit = chi_square(counts, chances)
        self.assertLess(statistic, limit, "the frequencies do not follow the distribution")

    def assert_uniform(self, positions, bins=40):
        counts, _ = np.histogram(positions, bins=bins, range=(0, 1))
        self.assert_law(counts, np.full(bins, 1 / bins))

    # ---- a check for each strategy -----------------------------------------------------

    def check_rows(self, indices, rows, batch):
        """Checks that hold for every strategy: the right number of distinct allowed rows."""
        self.assertEqual(len(indices), min(batch, len(rows)))
        self.assertEqual(len(set(indices)), len(indices), "a row picked twice")
        self.assertLessEqual(set(indices), set(int(i) for i in rows), "a row not allowed")

    def check_scores(self, picked, truth, rows, batch, rounding, relative=SCORE_RELATIVE):
        """The picks are the `batch` rows with the largest true scores, and report those scores.
        rounding: the absolute error allowed for each row's score."""
        indices, scores = picked
        self.check_rows(indices, rows, batch)
        expected = [truth[i] for i in ranked(truth, rows, batch)]
        for rank, (i, score, best) in enumerate(zip(indices, scores, expected), 1):
            where = f"rank {rank}, row {i}: score {score}, truth {truth[i]}, best {best}"
            self.assertLessEqual(abs(score - truth[i]), relative * abs(truth[i]) + rounding[i],
                                 where)
            self.assertLessEqual(abs(truth[i] - best), SAME_SCORE * abs(best) + rounding[i], where)

    def check_coreset(self, picked, X, rows, batch, labelled=(), blur=0.0):
        """Every pick is the farthest row from the labelled rows and the earlier picks, and its score
        is that distance. blur: the error of the rows themselves, above 0 only if the program
        normalised them."""
        indices, scores = picked
        self.check_rows(indices, rows, batch)
        steps = CoresetSteps(X, rows, labelled)
        for rank, (i, score) in enumerate(zip(indices, scores), 1):
            worth, best = steps.worth(), steps.worth()[steps.best()]
            where = f"rank {rank}, row {i}: score {score}, truth {abs(worth[i])}, best {abs(best)}"
            self.assertLessEqual(abs(score - abs(worth[i])),
                                 DISTANCE_RELATIVE * abs(worth[i]) + blur, where)
            # Two distances within the tolerance of each other may change places.
            self.assertGreaterEqual(worth[i], best - 2 * (DISTANCE_RELATIVE * abs(best) + blur),
                                    where)
            steps.take(i)

    def check_badge(self, picked, G, rows, batch):
        """The first pick has the largest norm. Each later score is the squared distance to the
        nearest earlier pick, and is 0 only if all remaining rows are copies of picks. G is
        dense."""
        indices, scores = picked
        self.check_rows(indices, rows, batch)
        if not indices:
            return
        N = (G * G).sum(axis=1)
        first = indices[0]
        self.assertGreaterEqual(N[first], N[rows].max() * (1 - 2 * DISTANCE_RELATIVE))
        self.assertLessEqual(abs(scores[0] - N[first]), DISTANCE_RELATIVE * N[first])
        near, nearest = ((G - G[first]) ** 2).sum(axis=1), np.full(len(G), first)
        left = np.zeros(len(G), bool)
        left[rows] = True
        left[first] = False
        for rank, (i, score) in enumerate(zip(indices[1:], scores[1:]), 2):
            where = f"rank {rank}, row {i}: score {score}, truth {near[i]}"
            self.assertLessEqual(abs(score - near[i]),
                                 DISTANCE_RELATIVE * max(N[i], N[nearest[i]]), where)
            self.assertGreaterEqual(score, 0, where)
            if near[i] == 0:
                self.assertLessEqual(near[left].max(), DISTANCE_RELATIVE * N[rows].max(),
                                     where + ": a copy was picked although other rows are left")
            distance = ((G - G[i]) ** 2).sum(axis=1)
            nearest = np.where(distance < near, i, nearest)
            near = np.minimum(near, distance)
            left[i] = False

    def check_dynamic(self, outcome, pool, batch, gamma=2, bias=1):
        gamma = float(gamma)
        if pool.gradients is None:
            H = embed(pool.features, bias)
            G = loss_gradients(pool.P, H, pool.labels)
            doubt = SCORE_ABSOLUTE * pool.P.shape[1] * np.sqrt((H * H).sum(axis=1))
        else:
            G, doubt = pool.gradients, np.zeros(pool.n)
        size = np.sqrt((G * G).sum(axis=1))
        around = (size + doubt)[pool.labelled].sum() * (1 if np.isinf(gamma) else gamma)
        rounding = SUMS * size * (size + around) + doubt * (2 * size + doubt + around)
        self.check_scores((outcome.indices, outcome.scores),
                          dynamic(G, pool.labelled, gamma), pool.rows, batch, rounding, SUMS)

    def check_albl(self, outcome, pool, batch):
        """The picks are those of the arm that was drawn; their score is its probability."""
        self.check_rows(outcome.indices, pool.rows, batch)
        if not outcome.indices:
            return
        chance = outcome.info["probability"]
        self.assertEqual(set(outcome.scores), {chance})
        self.assertTrue(0.05 <= chance <= 0.95)
        if outcome.info["arm"] == 0:
            truth = confidence(pool.P)
            rounding = np.full(pool.n, SCORE_ABSOLUTE * pool.P.shape[1])
            self.check_scores((outcome.indices, truth[outcome.indices]), truth, pool.rows, batch,
                              rounding)
        else:
            X, distances = embed(pool.features), []
            steps = CoresetSteps(X, pool.rows, pool.labelled)
            for i in outcome.indices:
                distances.append(abs(steps.worth()[i]))
                steps.take(i)
            self.check_coreset((outcome.indices, distances), X, pool.rows, batch, pool.labelled)

    def check_plain(self, strategy, picked, pool, batch, bias=None, normalise=0):
        """Checks the strategies whose reference is in reference.py."""
        if strategy == "random":
            self.check_rows(picked[0], pool.rows, batch)
            self.assertLessEqual(set(picked[1]), {0.0})
        elif strategy in SCORED:
            rounding = np.full(pool.n, SCORE_ABSOLUTE * pool.P.shape[1])
            self.check_scores(picked, SCORED[strategy](pool.P), pool.rows, batch, rounding)
        elif strategy == "egl":
            H = embed(pool.features, 1 if bias is None else bias, normalise)
            rounding = SCORE_ABSOLUTE * pool.P.shape[1] * np.sqrt((H * H).sum(axis=1))
            self.check_scores(picked, egl(pool.P, H), pool.rows, batch, rounding)
        elif strategy == "coreset":
            # Normalised rows have unit length to a few units in the last place of their type.
            blur = normalise * (1e-14 if np.asarray(pool.features).itemsize == 8 else 1e-6)
            self.check_coreset(picked, embed(pool.features, 0, normalise), pool.rows, batch,
                               pool.labelled, blur)
        else:
            G = loss_gradients(pool.P, embed(pool.features, bias or 0, normalise))
            self.check_badge(picked, G, pool.rows, batch)

    def check(self, strategy, batch, args, seed=None, opts=None, **given):
        """Runs a strategy with args, checks its picks, and returns them with their scores. given
        holds the arrays that args name, and options; opts holds further options."""
        names = ("features", "probs", "logits", "calibrated", "temperature", "gradients",
                 "samples", "labels", "candidates")
        pool = Pool(**{name: given.pop(name) for name in names if name in given})
        opts = {**given, **(opts or {})}
        if strategy in PAPERS:
            outcome = self.outcome(strategy, batch, args, seed=seed, **opts)
            PAPERS[strategy](self, outcome, pool, batch, **opts)
            return outcome.indices, outcome.scores
        picked = self.pick(strategy, batch, args, seed=seed, **opts)
        self.check_plain(strategy, picked, pool, batch, **opts)
        return picked


PAPERS = {
    "bald": reference_bayes.check_bald,
    "batchbald": reference_bayes.check_batchbald,
    "dynamic": StrategyCase.check_dynamic,
    "npc": reference_lambda.check_npc,
    "crc": reference_lambda.check_crc,
    "sparse-greedy": reference_sparse.check_greedy,
    "sparse-iht": reference_sparse.check_iht,
    "acs-fw": reference_bayes.check_acs,
    "bss": reference_bss.check_bss,
    "albl": StrategyCase.check_albl,
}
