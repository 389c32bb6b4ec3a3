# SPDX-License-Identifier: Apache-2.0
"""albl: a bandit over confidence and coreset. Its update rule is computed again from the state file of
each call, over several rounds."""
import json
import math
import unittest

import numpy as np

from scantcli import run
from strategycase import StrategyCase, evidence

ARMS = ("confidence", "coreset")
LEAST = 1 / 20  # 1 / (10 K), K = 2
BOUND = math.sqrt(math.log(2 / 0.1) / 2)


def chances(weights):
    """The probabilities of the arms."""
    w = np.array(weights)
    return (1 - 2 * LEAST) * w / w.sum() + LEAST


def reward(P, labels, importance):
    """The mean over labelled rows of correct / importance; rows that albl did not pick have importance 1."""
    rows = np.flatnonzero(labels >= 0)
    if not len(rows):
        return 0.0
    correct = P[rows].argmax(axis=1) == labels[rows]
    return float(np.mean(correct / np.array([importance.get(int(i), 1.0) for i in rows])))


def learned(weights, arm, chance, r):
    """The weights after the reward r."""
    w = np.array(weights, float)
    w[arm] *= math.exp(LEAST / 2 * (r + BOUND / chance))
    return w / w.max()


class References(unittest.TestCase):
    def test_the_bound_has_its_known_value(self):
        self.assertAlmostEqual(BOUND, 1.223873, delta=6e-7)

    def test_chances_stay_within_their_bounds(self):
        for weights in ((1, 1), (1, 0), (1e-300, 1), (.3, .9)):
            p = chances(weights)
            self.assertAlmostEqual(p.sum(), 1)
            self.assertTrue((p >= LEAST - 1e-15).all() and (p <= 1 - LEAST + 1e-15).all())


class AlblCase(StrategyCase):
    def setUp(self):
        super().setUp()
        self.whole = evidence(1, 60, 4, 5)
        self.state = self.path("state.json")

    def args(self, labels, state=True, probs=None):
        given = self.inputs(features=self.whole["features"],
                            probs=self.whole["probs"] if probs is None else probs, labels=labels)
        return given + (["--state", self.state] if state else [])

    def start(self, labelled=6):
        labels = np.full(60, -1)
        labels[:labelled] = np.arange(labelled) % 5
        return labels

    def read(self):
        with open(self.state, encoding="utf-8") as file:
            return json.load(file)

    def write(self, state):
        with open(self.state, "w", encoding="utf-8") as file:
            file.write(state if isinstance(state, str) else json.dumps(state))


class Rounds(AlblCase):
    def test_in_the_first_call_both_arms_are_equally_likely(self):
        got = self.outcome("albl", 4, self.args(self.start()))
        self.assertEqual(set(got.scores), {0.5})
        self.assertEqual(self.read()["weights"], [1, 1])

    def test_weights_and_picks_follow_the_rule_over_many_rounds(self):
        rng = np.random.default_rng(2)
        for seed in range(3):
            self.state = self.path(f"state{seed}.json")
            labels, weights, importance = self.start(), np.ones(2), {}
            arm = chance = None
            for number in range(9):
                P = rng.dirichlet(np.ones(5), 60)  # the model of this round
                got = self.outcome("albl", 5, self.args(labels, probs=P), seed=seed + number)
                if arm is not None:
                    weights = learned(weights, arm, chance, reward(P, labels, importance))
                p = chances(weights)
                self.assertIn(got.info["arm"], (0, 1))
                arm, chance = int(got.info["arm"]), got.scores[0]
                self.assertAlmostEqual(chance, p[arm], delta=1e-12)
                self.assertEqual(got.info["probability"], chance)
                kept = self.read()
                self.assertEqual((kept["arm"], kept["probability"]), (arm, chance))
                kept_weights = np.array(kept["weights"])
                np.testing.assert_allclose(kept_weights / kept_weights.max(), weights, rtol=1e-12)
                np.testing.assert_allclose(
                    [got.info["weight_confidence"], got.info["weight_coreset"]],
                    kept["weights"], rtol=1e-12)
                self.assertEqual(got.indices, self.arm_alone(arm, 5, labels, P))
                importance.update({i: chance for i in got.indices})
                for i in got.indices:
                    labels[i] = rng.integers(0, 5)

    def arm_alone(self, arm, batch, labels, P):
        return self.pick(ARMS[arm], batch, self.inputs(
            labels=labels, **({"features": self.whole["features"]} if arm else {"probs": P})))[0]

    def test_a_picked_row_without_its_label_does_not_count(self):
        # Of two picked rows one is labelled.
        labels = self.start(0)
        first = self.outcome("albl", 2, self.args(labels))
        labels[first.indices[0]] = 3
        got = self.outcome("albl", 2, self.args(labels))
        r = reward(self.whole["probs"], labels, dict.fromkeys(first.indices, 0.5))
        self.assertAlmostEqual(got.info["reward"], r, delta=1e-15)
        weights = learned([1, 1], int(first.info["arm"]), .5, r)
        self.assertAlmostEqual(got.scores[0], chances(weights)[int(got.info["arm"])], delta=1e-12)

    def test_without_labels_the_reward_is_zero(self):
        labels = self.start(0)
        first = self.outcome("albl", 2, self.args(labels))
        got = self.outcome("albl", 2, self.args(labels))
        weights = learned([1, 1], int(first.info["arm"]), .5, 0)
        self.assertAlmostEqual(got.scores[0], chances(weights)[int(got.info["arm"])], delta=1e-12)

    def test_an_arm_with_a_tiny_weight_keeps_its_least_probability(self):
        self.outcome("albl", 2, self.args(self.start()))
        state = self.read()
        state["weights"] = [1, 1e-300]
        self.write(state)
        got = self.outcome("albl", 2, self.args(self.start()))
        p = LEAST if got.info["arm"] == 1 else 1 - LEAST
        self.assertAlmostEqual(got.scores[0], p, delta=1e-12)

    def test_long_runs_do_not_overflow(self):
        labels = self.start()
        self.outcome("albl", 2, self.args(labels))
        state = self.read()
        for _ in range(3):
            state.update(probability=LEAST, arm=0, weights=[1, 1e-12])
            self.write(state)
            got = self.outcome("albl", 2, self.args(labels))
            self.assertTrue(LEAST - 1e-12 <= got.scores[0] <= 1 - LEAST + 1e-12)
            self.assertTrue(all(0 < w <= 1 for w in self.read()["weights"]))


class Draws(AlblCase):
    def arms(self, seeds, weights=None):
        """The outcome of each seed."""
        labels = self.start()
        if weights is not None:
            self.outcome("albl", 2, self.args(labels))
        drawn = []
        for seed in seeds:
            if weights is not None:
                state = self.read()
                state.update(weights=weights)
                self.write(state)
            args = self.args(labels, state=weights is not None)
            drawn.append(self.outcome("albl", 2, args, seed=seed))
        return drawn

    def test_arms_are_drawn_by_their_probabilities(self):
        drawn = [int(got.info["arm"]) for got in self.arms(range(150))]
        self.assert_law(np.bincount(drawn, minlength=2), [.5, .5])

    def test_uneven_arms_are_drawn_by_their_probabilities(self):
        drawn = self.arms(range(150), weights=[1, .2])
        # The probability differs a little between calls, so its sum is compared with the count.
        said = [got.scores[0] if got.info["arm"] == 0 else 1 - got.scores[0] for got in drawn]
        first = sum(got.info["arm"] == 0 for got in drawn)
        spread = math.sqrt(sum(p * (1 - p) for p in said))
        self.assertLess(abs(first - sum(said)), 4 * spread)
        self.assertGreater(np.mean(said), .75)

    def test_the_same_seed_draws_different_arms_in_different_rounds(self):
        labels = self.start()
        drawn = {self.outcome("albl", 2, self.args(labels), seed=7).info["arm"]
                 for _ in range(20)}
        self.assertEqual(drawn, {0, 1})

    def test_the_same_state_and_seed_give_the_same_bytes(self):
        labels = self.start()
        self.outcome("albl", 2, self.args(labels))
        with open(self.state, encoding="utf-8") as file:
            before = file.read()
        outs, states = set(), set()
        for threads in (1, 2, 3):
            self.write(before)
            outs.add(self.ok(*self.command("albl", 5, self.args(labels), seed=3), "--threads",
                             threads))
            states.add(json.dumps(self.read()))
        self.assertEqual((len(outs), len(states)), (1, 1))


class State(AlblCase):
    def setUp(self):
        super().setUp()
        self.labels = self.start()
        self.outcome("albl", 3, self.args(self.labels))
        self.good = self.read()

    def refused(self, state):
        self.write(state)
        said = self.fails(3, *self.command("albl", 3, self.args(self.labels)), says="state.json")
        self.assertGreater(len(said.split()), 4, "the message is too short")

    def test_a_state_rewritten_by_another_program_works(self):
        # Rewritten by Python, with other white space and another order of the keys.
        self.write(dict(reversed(self.good.items())))
        plain = self.outcome("albl", 3, self.args(self.labels), seed=4)
        self.write(json.dumps(self.good, indent=4))
        again = self.outcome("albl", 3, self.args(self.labels), seed=4)
        self.assertEqual((plain.indices, plain.scores), (again.indices, again.scores))

    def test_a_truncated_state_is_refused(self):
        text = json.dumps(self.good)
        for cut in range(0, len(text), 5):
            self.refused(text[:cut])

    def test_values_out_of_range_are_refused(self):
        for key, bad in (("weights", [1]), ("weights", [1, 1, 1]), ("weights", [-1, 1]),
                         ("weights", [0, 0]), ("weights", "x"), ("weights", [1, None]),
                         ("arm", 2), ("arm", -1), ("arm", .5), ("arm", "0"),
                         ("probability", 0), ("probability", -.5), ("probability", 1.5),
                         ("probability", "x"), ("probability", [1]),
                         ("picked", [[-1, .5]]), ("picked", [[60, .5]]), ("picked", [[10**30, .5]]),
                         ("picked", [[1.5, .5]]), ("picked", [[3, 0]]), ("picked", [[3, -1]]),
                         ("picked", [[3]]), ("picked", [3]), ("picked", {}), ("picked", "x"),
                         ("state", "another program 1"), ("state", "scant albl 99")):
            with self.subTest(key=key, bad=bad):
                self.refused({**self.good, key: bad})

    def test_infinities_and_nan_are_refused(self):
        for key in ("weights", "probability"):
            for bad in ("1e999", "NaN", "Infinity", "-Infinity"):
                with self.subTest(key=key, bad=bad):
                    text = json.dumps({**self.good, key: "HERE"})
                    self.refused(text.replace('"HERE"', f"[1, {bad}]" if key == "weights" else bad))

    def test_missing_fields_are_refused(self):
        for key in self.good:
            with self.subTest(key=key):
                self.refused({k: v for k, v in self.good.items() if k != key})

    def test_a_refused_state_is_not_changed(self):
        self.refused("{broken")
        with open(self.state, encoding="utf-8") as file:
            self.assertEqual(file.read(), "{broken")

    def test_nothing_to_pick_leaves_a_state_that_works(self):
        done = run(*self.command("albl", 3, self.args(np.zeros(60, int))))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read()["weights"], self.good["weights"])
        self.outcome("albl", 3, self.args(self.labels))


if __name__ == "__main__":
    unittest.main()
