# SPDX-License-Identifier: Apache-2.0
"""Which inputs a call needs and uses: alternative inputs, temperatures, states."""
import json
import os
import stat
import unittest

import numpy as np

from scantcli import Case, run

N, D, CLASSES = 24, 3, 4
FLAG = {"features": "--features", "probs": "--probs", "calibrated": "--calibrated",
        "gradients": "--gradients", "samples": "--samples", "labels": "--labels",
        "state": "--state"}


class EvidenceCase(Case):
    """A pool with every kind of input."""

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(6)
        self.z = rng.normal(size=(N, CLASSES)) * 2
        labels = np.full(N, -1)
        labels[:8] = np.arange(8) % CLASSES
        self.given = {
            "features": self.save("features", rng.normal(size=(N, D))),
            "probs": self.save("probs", self.softmax(self.z)),
            "calibrated": self.save("calibrated", self.softmax(self.z / 2)),
            "gradients": self.save("gradients", rng.normal(size=(N, 5))),
            "samples": self.save("samples", self.softmax(rng.normal(size=(6, N, CLASSES)))),
            "labels": self.save("labels", labels),
            "state": self.path("state.json"),
        }
        self.logits = self.save("logits", self.z)
        self.every = json.loads(self.ok("strategies", "--format", "json"))

    @staticmethod
    def softmax(z):
        p = np.exp(z - z.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True)

    def call(self, name, kinds, *more):
        """The arguments of a call with inputs of these kinds."""
        if kinds == ["any input"]:
            kinds = ["labels"]
        flags = [word for kind in kinds for word in (FLAG[kind], self.given[kind])]
        return ["select", name, "--batch", 4, *flags, *more]

    def one_with(self, kind):
        """A strategy that needs this kind of input, and all kinds that it needs."""
        for one in self.every:
            for way in ("needs", "or_needs"):
                if kind in one[way]:
                    return one["name"], one[way]
        return self.skipTest(f"no strategy needs {kind}")


class Needs(EvidenceCase):
    def test_the_needed_inputs_are_enough_in_each_alternative(self):
        for one in self.every:
            for kinds in filter(None, (one["needs"], one["or_needs"])):
                with self.subTest(one["name"], kinds=kinds):
                    done = run(*self.call(one["name"], kinds))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn("ignored", done.stderr)
                    self.assertEqual(len(done.stdout.splitlines()), 5)

    def test_a_missing_input_is_named(self):
        for one in self.every:
            if one["needs"] == ["any input"]:
                continue
            for left_out in one["needs"]:
                kinds = [kind for kind in one["needs"] if kind != left_out]
                with self.subTest(one["name"], without=left_out):
                    said = self.fails(2, *self.call(one["name"], kinds),
                                      says=[one["name"] + " needs", FLAG[left_out]])
                    for kind in kinds:
                        self.assertNotIn(FLAG[kind] + " ", said)
                    for kind in one["or_needs"]:
                        if kind not in kinds:
                            self.assertIn(FLAG[kind], said)

    def test_the_option_source_leaves_the_other_alternative_out_of_the_message(self):
        for one in self.every:
            options = {option["key"]: option for option in one["options"]}
            if "source" not in options:
                continue
            with self.subTest(one["name"]):
                said = self.fails(2, *self.call(one["name"], one["needs"], "--opt",
                                                "source=samples"), says="--samples")
                self.assertNotIn("--features", said)
                said = self.fails(2, *self.call(one["name"], one["or_needs"], "--opt",
                                                "source=gradient"), says="--features")
                self.assertNotIn("--samples", said)

    def test_an_unused_input_is_ignored_with_a_warning_and_not_opened(self):
        for one in self.every:
            if one["needs"] == ["any input"]:
                continue
            wanted = {*one["needs"], *one["or_needs"], *one["uses"], "labels"}
            for kind in set(FLAG) - wanted:
                with self.subTest(one["name"], too_much=kind):
                    call = self.call(one["name"], one["needs"])
                    done = run(*call, FLAG[kind], "/nowhere/at.all")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(f"scant: warning: {one['name']} does not use {FLAG[kind]}",
                                  done.stderr)
                    if "state" in one["needs"]:  # so that each call starts without a state
                        os.remove(self.given["state"])
                    self.assertEqual(done.stdout, self.ok(*call))
                    if "state" in one["needs"]:
                        os.remove(self.given["state"])

    def test_wrong_option_values_are_found_before_files_are_opened(self):
        for key in self.given:
            self.given[key] = "/nowhere/at.all"
        for one in self.every:
            for option in one["options"]:
                with self.subTest(one["name"], option=option["key"]):
                    self.fails(2, *self.call(one["name"], one["needs"], "--opt",
                                             option["key"] + "=no-such-thing"),
                               says=[option["key"], "'no-such-thing'"])

    def test_pages_name_both_alternatives(self):
        for one in self.every:
            page = " ".join(self.ok("strategies", one["name"]).split())
            needs = page.split(" Needs ")[1].split(" Score ")[0]
            for kind in one["needs"] + one["or_needs"]:
                with self.subTest(one["name"], kind=kind):
                    self.assertIn(FLAG.get(kind, kind), needs)
            for option in one["options"]:
                self.assertTrue(("otherwise" in option) == (option["default"] is None))
                if option["default"] is None:
                    self.assertIn("default: " + option["otherwise"], page)

    def test_a_dry_run_shows_all_options(self):
        for one in self.every:
            for kinds in filter(None, (one["needs"], one["or_needs"])):
                plan = self.ok(*self.call(one["name"], kinds, "--dry-run"))
                for option in one["options"]:
                    self.assertRegex(plan, rf"(?m)^options .*\b{option['key']}[= ]")
        self.assertFalse(os.path.exists(self.given["state"]))


class Temperature(EvidenceCase):
    def setUp(self):
        super().setUp()
        self.name, kinds = self.one_with("calibrated")
        self.rest = [kind for kind in kinds if kind not in ("probs", "calibrated")]
        self.rows = self.save("rows", np.arange(8))

    def heated(self, *more):
        return self.call(self.name, self.rest, *more)

    def test_it_replaces_calibrated_probabilities(self):
        want = self.table(*self.heated("--probs", self.given["probs"], "--calibrated",
                                       self.given["calibrated"]))
        got = self.table(*self.heated("--logits", self.logits, "--temperature", "2"))
        self.assertEqual([row["index"] for row in got], [row["index"] for row in want])

    def test_a_fitted_temperature_has_the_greatest_likelihood(self):
        # the fitted temperature agrees with NumPy's grid search
        done = run(*self.heated("--logits", self.logits, "--temperature", "fit",
                                "--calibrate-on", self.rows, "--labels", self.given["labels"],
                                "--format", "json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        fitted = json.loads(done.stdout)["info"].get("temperature")
        if fitted is None:
            self.skipTest("the strategy does not tell the temperature")
        labels = np.load(self.given["labels"])[:8]
        grid = np.exp(np.linspace(np.log(0.01), np.log(100), 200001))
        s = 1 / grid[:, None]
        z = self.z[:8] - self.z[:8].max(1, keepdims=True)
        loss = sum(np.log(np.exp(s * row).sum(1)) - s[:, 0] * row[y] for row, y in zip(z, labels))
        self.assertAlmostEqual(np.log(fitted), np.log(grid[loss.argmin()]), delta=1e-4)

    def test_wrong_temperatures_are_refused(self):
        for bad in ("0", "-1", "inf", "nan", "x", "", "1e999", "0x2", "1,5", "fitt", "2 ", "1e-999"):
            self.fails(2, *self.heated("--logits", self.logits, f"--temperature={bad}"),
                       says="--temperature")
        for good in ("1", "0.5", "2.", "1e1", "+3"):
            self.ok(*self.heated("--logits", self.logits, "--temperature", good))

    def test_a_missing_flag_is_named(self):
        self.fails(2, *self.heated("--probs", self.given["probs"], "--temperature", 2),
                   says=["--temperature", "--logits"])
        fit = ["--logits", self.logits, "--temperature", "fit"]
        self.fails(2, *self.heated(*fit), says=["--calibrate-on", "--labels"])
        said = self.fails(2, *self.heated(*fit, "--labels", self.given["labels"]),
                          says="--calibrate-on")
        self.assertNotIn("--labels", said)
        said = self.fails(2, *self.heated(*fit, "--calibrate-on", self.rows), says="--labels")
        self.assertNotIn("needs --calibrate-on", said)

    def test_contradicting_flags_are_refused(self):
        self.fails(2, *self.heated("--logits", self.logits, "--temperature", 2, "--calibrated",
                                   self.given["calibrated"]),
                   says=["--calibrated", "--temperature"])
        for more in ([], ["--temperature", 2]):
            self.fails(2, *self.heated("--logits", self.logits, "--labels", self.given["labels"],
                                       "--calibrate-on", self.rows, *more),
                       says=["--calibrate-on", "--temperature fit"])

    def test_rows_to_fit_to_are_checked(self):
        call = ["--logits", self.logits, "--labels", self.given["labels"], "--temperature", "fit",
                "--calibrate-on"]
        self.fails(3, *self.heated(*call, self.save("far", np.array([0, N]))), says="far.npy")
        self.fails(3, *self.heated(*call, self.save("bare", np.array([0, 20]))),
                   says=["bare.npy", "20"])
        self.fails(3, *self.heated(*call, self.save("none", np.zeros(0, int))), says="none.npy")
        self.fails(3, *self.heated(*call, self.save("real", np.zeros(3))), says="real.npy")
        self.fails(3, *self.heated(*call, "/nowhere.npy"), says="/nowhere.npy")

    def test_a_dry_run_shows_the_temperature(self):
        plan = self.ok(*self.heated("--logits", self.logits, "--temperature", 2, "--dry-run"))
        self.assertRegex(plan, r"--temperature +2\n")


class UnusedTemperature(EvidenceCase):
    def test_it_is_ignored_by_strategies_without_calibration(self):
        call = ["select", "margin", "--batch", 3, "--probs", self.given["probs"]]
        want = self.ok(*call)
        done = run(*call, "--temperature", 2)
        self.assertEqual((done.returncode, done.stdout), (0, want))
        self.assertIn("margin does not use --temperature: ignored", done.stderr)
        done = run(*call, "--temperature", "fit", "--calibrate-on", "/nowhere.npy")
        self.assertEqual((done.returncode, done.stdout), (0, want))
        self.assertEqual(done.stderr.count("ignored"), 2)
        self.assertEqual(run(*call, "--temperature", 2, "--quiet").stderr, "")
        done = run("select", "random", "--batch", 3, "--logits", self.logits, "--temperature", 2)
        self.assertEqual(done.returncode, 0)
        self.assertIn("random does not use --temperature", done.stderr)

    def test_wrong_values_are_refused_for_every_strategy(self):
        call = ["select", "margin", "--batch", 3, "--logits", self.logits]
        self.fails(2, *call, "--temperature", 0, says="--temperature")
        self.fails(2, *call, "--calibrate-on", self.logits, says="--calibrate-on")


class State(EvidenceCase):
    def setUp(self):
        super().setUp()
        name, kinds = self.one_with("state")
        self.without = self.call(name, [kind for kind in kinds if kind != "state"])
        self.state = self.given["state"]
        self.job = [*self.without, "--state", self.state]

    def read(self):
        with open(self.state, encoding="utf-8") as file:
            return file.read()

    def write(self, text):
        with open(self.state, "w", encoding="utf-8") as file:
            file.write(text)

    def test_it_is_created_read_and_replaced(self):
        self.ok(*self.job)
        first = self.read()
        json.loads(first)
        os.chmod(self.state, 0o640)
        self.ok(*self.job)
        self.assertNotEqual(self.read(), first)
        self.assertEqual(stat.S_IMODE(os.stat(self.state).st_mode), 0o640)
        self.write(first)
        self.assertEqual(self.ok(*self.job), self.ok(*self.without, "--state",
                                                     self.copy(first)))

    def copy(self, text):
        path = self.path("copy.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_a_missing_state_names_its_flag(self):
        self.fails(2, *self.without, says="--state")

    def test_a_dry_run_writes_no_state(self):
        self.assertRegex(self.ok(*self.job, "--dry-run"), r"--state +new")
        self.assertFalse(os.path.exists(self.state))
        self.ok(*self.job)
        before = self.read()
        self.assertRegex(self.ok(*self.job, "--dry-run"), r"--state +\d+ bytes")
        self.assertEqual(self.read(), before)

    def test_an_invalid_state_is_refused_and_kept(self):
        for bad in ("", "garbage", "{", "[]", '{"calls": "x"}', "\0\0"):
            self.write(bad)
            out = self.path("out.csv")
            self.fails(3, *self.job, "--out", out)
            self.assertEqual(self.read(), bad)
            self.assertFalse(os.path.exists(out))

    def test_files_that_cannot_be_a_state_are_refused(self):
        with open(self.state, "wb") as file:
            file.truncate(65 << 20)
        self.fails(3, *self.job, says=["state.json", "too large"])
        os.remove(self.state)
        os.mkfifo(self.state)
        self.fails(3, *self.job, says=["state.json", "not a regular file"])
        os.remove(self.state)
        os.mkdir(self.state)
        self.fails(4, *self.job, says=["state.json"])

    def test_a_path_that_cannot_be_written_is_found_before_the_work(self):
        self.fails(4, *self.without, "--state", self.path("none/state.json"), says="none/state.json")

    @unittest.skipUnless(os.path.isdir("/proc/self"), "no /proc")
    def test_a_late_failure_says_that_the_picks_were_written(self):
        done = run(*self.without, "--state", "/proc/self/none.json")
        self.assertEqual(done.returncode, 4)
        self.assertIn("/proc/self/none.json", done.stderr)
        if done.stdout:  # the path was not refused early
            self.assertIn("the picks are already written", done.stderr)

    def test_it_must_not_be_another_file_of_the_call(self):
        for path in (self.given["probs"], self.given["features"]):
            self.fails(2, *self.without, "--state", path, says=["--state", "would overwrite"])
        for out in (self.state, self.path("./state.json"), os.path.relpath(self.state)):
            self.fails(2, *self.job, "--out", out, says=["--out", "--state", "same file"])
        self.ok(*self.job)
        os.link(self.state, self.path("link.csv"))
        self.fails(2, *self.job, "--out", self.path("link.csv"), says="same file")

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_the_state_is_unchanged_if_the_picks_cannot_be_written(self):
        self.fails(4, *self.job, "--out", "/dev/full")
        self.assertFalse(os.path.exists(self.state))
        self.ok(*self.job)
        before = self.read()
        self.fails(4, *self.job, "--out", "/dev/full")
        self.assertEqual(self.read(), before)

    def test_a_dangling_link_is_followed(self):
        os.symlink("real.json", self.state)
        self.ok(*self.job)
        self.assertTrue(os.path.islink(self.state))
        self.assertTrue(os.path.exists(self.path("real.json")))


class UnusedState(EvidenceCase):
    def test_it_is_ignored_by_strategies_without_a_state(self):
        call = ["select", "margin", "--batch", 3, "--probs", self.given["probs"]]
        done = run(*call, "--state", self.given["state"])
        self.assertEqual((done.returncode, done.stdout), (0, self.ok(*call)))
        self.assertIn("margin does not use --state: ignored", done.stderr)
        self.assertFalse(os.path.exists(self.given["state"]))
        self.assertEqual(run(*call, "--state", "/nowhere/at/all", "--quiet").returncode, 0)


if __name__ == "__main__":
    unittest.main()
