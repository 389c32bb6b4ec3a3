# SPDX-License-Identifier: Apache-2.0
"""Bayesian networks and ensembles: `scant train --bayes` and `scant embed --samples-out`."""
import json
import os
import unittest

import numpy as np

from scantcli import Case, run


class Bayes(Case):
    def train(self, name, *more, epochs=3):
        out = self.path(name)
        self.ok("train", "--data", "blobs", "--count", 200, "--model", "mlp", "--width", 16,
                "--epochs", epochs, "--quiet", "--out", out, *more)
        return out

    def embed(self, folder, *more):
        """Posterior draws and probabilities."""
        s, p = self.path("s.npy"), self.path("p.npy")
        self.ok("embed", "--data", "blobs", "--count", 200, "--from", folder,
                "--samples-out", s, "--probs", p, "--batch", 64, *more)
        return np.load(s), np.load(p)

    def test_every_draw_is_written_and_probabilities_are_their_mean(self):
        for kind in "variational", "dropout":
            run = self.train(kind, "--bayes", kind, "--samples", 12)
            s, p = self.embed(run)
            self.assertEqual((s.shape, s.dtype), ((12, 200, 3), np.float32))
            np.testing.assert_allclose(s.sum(2), 1, atol=1e-5)
            np.testing.assert_allclose(s.mean(0), p, atol=1e-6)
            self.assertGreater(s.std(0).max(), 1e-4)
            more, _ = self.embed(run, "--samples", 30)  # the first of them are the same
            self.assertEqual(more.shape, (30, 200, 3))
            np.testing.assert_array_equal(more[:12], s)
            other, _ = self.embed(run, "--seed", 5)
            self.assertFalse(np.array_equal(other, s))

    def test_strategies_read_the_written_draws(self):
        self.embed(self.train("run", "--bayes", "variational", "--samples", 10))
        for strategy in "bald", "batchbald", "acs-fw":
            rows = self.table("select", strategy, "--batch", 5, "--samples", self.path("s.npy"))
            self.assertEqual(len({row["index"] for row in rows}), 5)

    def test_an_ensemble_is_the_mean_of_its_members(self):
        runs = [self.train(f"run{i}", "--seed", i) for i in range(3)]
        each = []
        for run in runs:
            self.ok("embed", "--data", "blobs", "--count", 200, "--from", run, "--probs",
                    self.path("p.npy"))
            each.append(np.load(self.path("p.npy")))
        s, p = self.embed(runs[0], "--member", runs[1], "--member",
                          os.path.join(runs[2], "weights.safetensors"))
        np.testing.assert_allclose(s, each, atol=1e-6)
        np.testing.assert_allclose(p, np.mean(each, 0), atol=1e-6)

    def test_a_single_draw_and_members_that_do_not_match_are_refused(self):
        run = self.train("plain")
        call = ("embed", "--data", "blobs", "--count", 200, "--from", run)
        s = self.path("s.npy")
        self.fails(3, *call, "--samples-out", s, says=["--samples-out", "several posterior draws"])
        self.fails(3, *call, "--samples", 9, "--probs", s, says=["weights.safetensors", "bayes"])
        self.fails(3, *call, "--samples-out", s, "--member", self.path("none"), says="none")
        self.fails(2, *call, "--samples-out", s, "--hidden", 9, says="cannot be combined with --from")
        self.fails(2, *call, "--samples-out", s, "--init", "he", says="--init cannot be combined with --from")
        self.assertFalse(os.path.exists(s))
        law = self.train("law", "--bayes", "variational")
        self.fails(3, "embed", "--data", "blobs", "--count", 200, "--from", law, "--samples", 1,
                   "--samples-out", s, says="several posterior draws")
        other = self.path("other")
        self.ok("train", "--data", "moons", "--count", 50, "--model", "mlp", "--epochs", 1,
                "--quiet", "--out", other)
        self.fails(3, *call, "--samples-out", s, "--member", other, says="same classes")

    def test_dropout_at_prediction_warns_if_training_had_none(self):
        for name, flags, warns in (("plain", (), True), ("some", ("--dropout", 0.2), False),
                                   ("drops", ("--bayes", "dropout"), False)):
            done = run("embed", "--data", "blobs", "--count", 200, "--from", self.train(name, *flags),
                       "--bayes", "dropout", "--probs", self.path("p.npy"))
            self.assertEqual((done.returncode, "trained without dropout" in done.stderr), (0, warns))

    def test_contradicting_flags_are_refused(self):
        call = ("train", "--data", "blobs", "--model", "mlp", "--out", self.path("x"))
        self.fails(2, *call, "--bayes", "laplace", says="none|dropout|variational")
        self.fails(2, *call, "--samples", 5, says="bayes=dropout or variational")
        self.fails(2, *call, "--bayes", "dropout", "--prior", 2, says="needs bayes=variational")
        self.fails(2, *call, "--hidden", 5, "--no-hidden", says="--hidden cannot be combined")
        self.fails(2, *call, "--bayes", "dropout", "--dropout", 0, says="above 0")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_a_resumed_training_keeps_its_bayesian_options(self):
        flags = ("--bayes", "variational", "--prior", 0.5, "--hidden", 8, "--samples", 7)
        whole = self.train("whole", *flags, epochs=4)
        part = self.train("part", *flags, epochs=2)
        self.ok("train", "--resume", "--out", part, "--epochs", 4, "--quiet")
        with open(os.path.join(part, "train.json")) as file:
            options = json.load(file)["options"]
        self.assertEqual([options[key] for key in ("bayes", "prior", "hidden", "samples")],
                         ["variational", 0.5, 8, 7])
        np.testing.assert_array_equal(self.embed(part)[0], self.embed(whole)[0])


if __name__ == "__main__":
    unittest.main()
