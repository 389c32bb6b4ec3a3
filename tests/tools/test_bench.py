# SPDX-License-Identifier: Apache-2.0
"""bench/: its ctypes structs match the public header, and its checks accept the strategies' results on
small pools and reject wrong ones."""
import ctypes
import functools
import os
import re
import sys
import unittest

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy's threads on a busy machine wait for each other
import numpy as np  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import bench  # noqa: E402
import checks  # noqa: E402
import draws  # noqa: E402
import libscant  # noqa: E402
import papers  # noqa: E402
import pools  # noqa: E402
import rivals  # noqa: E402
import table  # noqa: E402

BUILD = os.environ.get("SCANT_BUILD", os.path.join(ROOT, "build"))
SHRINK = 100


class Small(bench.Bench):
    """Small pools, one run, and an invented memory speed."""

    def __init__(self):  # pylint: disable=super-init-not-called
        self.repeat, self.quick = 1, True
        self.scant = libscant.Scant(os.path.join(BUILD, "libscant.so"), threads=2)

    def size(self, count):
        return count // SHRINK

    def limits(self):
        return {"read_all": 10.0}

    def say(self, text):
        pass


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def header_fields(name):
    """The fields of a struct in the public header, in order."""
    with open(os.path.join(ROOT, "include", "scant", "scant.h"), encoding="utf-8") as file:
        text = without_comments(file.read()).replace("SCANT_RESERVED;", "uint64_t reserved;")
    body = re.search(r"typedef struct scant_%s \{(.*?)\n\} " % name, text, re.S).group(1)
    fields = []
    for declaration in body.split(";"):
        pointer = re.match(r"[^(]*\(\*(\w+)\)\(", declaration.strip())
        if pointer:
            fields.append(pointer.group(1))
        elif declaration.strip():
            fields += [re.search(r"(\w+)\s*$", part).group(1) for part in declaration.split(",")]
    return fields


class Structs(unittest.TestCase):
    def test_structs_have_the_fields_of_the_header(self):
        for name, struct in (("ctx_opts", libscant.CtxOpts), ("evidence", libscant.Evidence),
                             ("setting", libscant.Setting), ("figure", libscant.Figure),
                             ("select_opts", libscant.SelectOpts), ("pick", libscant.Pick),
                             ("picks", libscant.Picks)):
            with self.subTest(name):
                self.assertEqual([field for field, _ in struct._fields_], header_fields(name))
                self.assertTrue(issubclass(struct, ctypes.Structure))


class Cases(unittest.TestCase):
    def test_every_case_of_the_papers_strategies_passes_its_checks(self):
        small = Small()
        for name, case in papers.CASES.items():
            with self.subTest(name):
                rows = list(case(small))
                self.assertTrue(rows)
                for row in rows:
                    self.assertEqual(row.wrong, [], row.case)
                    self.assertIn(row.case, table.line(row))


class Checks(unittest.TestCase):
    """Wrong results are rejected."""

    def setUp(self):
        self.scant = libscant.Scant(os.path.join(BUILD, "libscant.so"), threads=1)

    def test_wrong_picks_of_sparse_greedy_are_rejected(self):
        H, P, Q = pools.calibrated(500, 8, 4)
        chosen = self.scant.select("sparse-greedy", 20, features=H, probs=P, calibrated=Q)
        right = chosen.indices, chosen.scores, chosen.weights
        swapped, another = right[0].copy(), right[0].copy()
        swapped[[10, 11]] = swapped[[11, 10]]
        another[5] = next(i for i in range(500) if i not in right[0])
        self.assertEqual(checks.sparse_greedy(H, P, Q, *right), [])
        for wrong in ((swapped, *right[1:]), (another, *right[1:]),
                      (right[0], right[1] + 1e-9, right[2]),
                      (*right[:2], right[2] * (1 + 1e-6))):
            self.assertNotEqual(checks.sparse_greedy(H, P, Q, *wrong), [])

    def test_wrong_batches_of_npc_are_rejected(self):
        for d, known, batch in ((16, 30, 5), (32, 10, 5)):
            H, _ = pools.noise(500, d, 2)
            Y = pools.labels(500, known, 3)
            batches = draws.npc_batches(np.flatnonzero(Y < 0), batch, 50, seed=2 ** 40 + 1)
            lambdas = rivals.gram_lambdas(H, np.flatnonzero(Y >= 0), batches)
            chosen = self.scant.select("npc", batch, seed=2 ** 40 + 1, features=H, labels=Y,
                                       settings={"candidates": 50})
            second = int(np.argsort(lambdas)[-2])
            for indices, score, right in ((chosen.indices, chosen.scores[0], True),
                                          (chosen.indices, chosen.scores[0] * 1.0001, False),
                                          (batches[second], lambdas[second], False)):
                wrong = checks.best_batch(H, Y, indices, np.full(batch, score), batches, lambdas)
                self.assertEqual(wrong == [], right, wrong)

    def test_wrong_weights_are_rejected(self):
        H = pools.leverage(1000, 15)
        V = checks.basis(H)
        chosen = self.scant.select("bss", 200, features=H)
        self.assertEqual(checks.bss(V, chosen, 200), [])
        off = chosen.weights * np.linspace(1.01, 1, len(chosen.weights))
        self.assertNotEqual(checks.bss(V, chosen._replace(weights=off), 200), [])
        truth = np.zeros(1000)
        truth[chosen.indices] = chosen.weights
        self.assertEqual(checks.same_weights(chosen.indices, chosen.weights, truth), [])
        self.assertNotEqual(checks.same_weights(chosen.indices, off, truth), [])

    def test_wrong_picks_of_batchbald_are_rejected(self):
        S = pools.posterior(20, 100, 3)
        chosen = self.scant.select("batchbald", 6, draws=S, settings={"mc": 100})
        picks, scores = rivals.batchbald(np, S, 6, 100, seed=1)
        check = functools.partial(checks.batchbald, S, limit=100, their_picks=picks,
                                  their_scores=scores)
        self.assertEqual(check(chosen.indices, chosen.scores)[0], [])
        self.assertNotEqual(check(chosen.indices[::-1], chosen.scores)[0], [])
        for wrong in (chosen.scores * (1 + 1e-8), chosen.scores + 2 * (np.arange(6) == 5)):
            self.assertNotEqual(check(chosen.indices, wrong)[0], [])

    def test_wrong_ranks_are_rejected(self):
        S = pools.posterior(5, 300, 3)
        chosen, truth = self.scant.select("bald", 30, draws=S), checks.bald(S)
        self.assertEqual(checks.ranked(truth, chosen.indices, chosen.scores, 30, 1e-13), [])
        self.assertNotEqual(checks.ranked(truth, chosen.indices[::-1], chosen.scores, 30, 1e-13),
                            [])


if __name__ == "__main__":
    unittest.main()
