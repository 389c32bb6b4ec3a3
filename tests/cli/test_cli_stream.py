# SPDX-License-Identifier: Apache-2.0
"""Posterior draws that are larger than memory: a hundred draws of a million rows and ten classes are
4 GB. The plan is tested at that size, on a sparse file. Picks are tested on a smaller pool with
proportionally less memory; `make soak` tests them at the full size, too."""
import os
import re
import unittest

import numpy as np

from scantcli import Case, run

SOAK = int(os.environ.get("SCANT_SOAK", 0)) > 1000
SAMPLES, ROWS, CLASSES = 100, 1_000_000, 10
SOME = ROWS if SOAK else 4000
STRATEGIES = ("bald", "acs-fw", "sparse-greedy", "sparse-iht")


class Stream(Case):
    def header(self, file, rows):
        np.lib.format.write_array_header_1_0(file, {
            "descr": "<f4", "fortran_order": False, "shape": (SAMPLES, rows, CLASSES)})

    def samples(self, rows):
        """Writes posterior draws one at a time; returns the file."""
        path, rng = self.path("samples.npy"), np.random.default_rng(7)
        common = rng.standard_normal((rows, CLASSES), "f4")
        with open(path, "wb") as file:
            self.header(file, rows)
            for _ in range(SAMPLES):
                z = np.exp(common + rng.standard_normal((rows, CLASSES), "f4") / 2)
                file.write((z / z.sum(axis=1, keepdims=True)).astype("<f4").tobytes())
        return path

    def test_the_plan_for_four_gigabytes_fits_in_one(self):
        path = self.path("hole.npy")
        with open(path, "wb") as file:
            self.header(file, ROWS)
            file.truncate(file.tell() + 4 * SAMPLES * ROWS * CLASSES)
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                self.ok("select", strategy, "--batch", 1000, "--samples", path, "--memory", "1G",
                        "--threads", 2, "--dry-run")
        for words in (["bald"], ["sparse-iht", "--opt", "terms=variance"]):  # these keep no vectors
            self.ok("select", *words, "--batch", 1000, "--samples", path, "--memory", "20M",
                    "--threads", 2, "--dry-run")
        h = self.path("h.npy")
        np.save(h, np.zeros((ROWS, 2), "f4"))
        plan = self.ok("select", "acs-fw", "--opt", "inner=fisher", "--batch", 1000, "--samples", path,
                       "--features", h, "--memory", "1G", "--dry-run")
        self.assertGreater(int(re.search(r"passes +(\d+)", plan)[1]), 1000)  # one per step
        self.fails(3, "select", "bald", "--batch", 5, "--samples", path,
                   says=["draw 0, row 0", "sums to 0"])  # the zeros of the sparse file

    def test_picks_are_the_same_with_memory_for_a_quarter_of_the_input(self):
        path = self.samples(SOME)
        memory = 2**30 * SOME // ROWS + (0 if SOAK else 2**20)  # memory that does not depend on the number of rows
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                call = ("select", strategy, "--batch", 20, "--samples", path, "--quiet",
                        "--threads", 2)
                if strategy == "sparse-iht":
                    call += ("--opt", "iters=20")
                done = [run(*call, *more, timeout=36000 if SOAK else 120)
                        for more in (("--memory", memory), ())]
                self.assertEqual([one.returncode for one in done], [0, 0], done[0].stderr)
                self.assertEqual(done[0].stdout, done[1].stdout)
                self.assertEqual(len(done[0].stdout.splitlines()), 21)


if __name__ == "__main__":
    unittest.main()
