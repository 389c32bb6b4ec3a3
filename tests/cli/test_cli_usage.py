# SPDX-License-Identifier: Apache-2.0
"""The command line: commands, flags, options, and messages about wrong calls."""
import unittest

import numpy as np

from scantcli import Case, run


class Program(Case):
    def test_version_is_one_line(self):
        self.assertRegex(self.ok("--version"), r"^scant \d+\.\d+\.\d+\n$")

    def test_no_command_is_a_usage_error_that_shows_the_commands(self):
        said = self.fails(2)
        for word in ("select", "strategies", "help"):
            self.assertIn(word, said)

    def test_all_spellings_of_help_are_equal(self):
        self.assertEqual(self.ok("--help"), self.ok("-h"))
        self.assertEqual(self.ok("--help"), self.ok("help"))
        self.assertEqual(self.ok("select", "--help"), self.ok("help", "select"))
        self.assertEqual(self.ok("select", "-h"), self.ok("help", "select"))
        self.assertIn("Exit status", self.ok("--help"))

    def test_help_of_select_has_examples_and_every_flag(self):
        text = self.ok("select", "--help")
        for flag in ("features probs logits calibrated calibrate-on gradients samples labels "
                     "candidates temperature state ids batch seed threads memory dry-run opt "
                     "out format plot quiet progress").split():
            self.assertIn(f"--{flag} ", text)
        self.assertIn("Examples", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 90)

    def test_examples_of_the_help_name_strategies_that_exist(self):
        known = {line.split()[0] for line in self.ok("strategies").splitlines()[1:]}
        calls = [line.split() for line in self.ok("select", "--help").splitlines()
                 if line.startswith("    scant select")]
        self.assertTrue(calls)
        for call in calls:
            self.assertIn(call[2], known)

    def test_help_of_a_strategy_is_its_page(self):
        self.assertIn("--features", self.ok("select", "badge", "--help"))
        self.assertIn("--features", self.ok("help", "badge"))
        self.fails(2, "select", "bagde", "--help", says="'badge'")
        self.fails(2, "help", "nothing-like-it", says="nothing-like-it")

    def test_unknown_names_get_the_nearest_one(self):
        self.fails(2, "selct", says=["'selct'", "'select'"])
        self.fails(2, "select", "bagde", "--batch", 1, says=["'bagde'", "'badge'"])
        self.fails(2, "select", "conf", says="'confidence'")
        self.fails(2, "select", "badge", "--bach", 1, says=["--bach", "'--batch'"])
        self.fails(2, "badge", says="scant select badge")
        self.fails(2, "zzzzzz", says="unknown command 'zzzzzz'")
        self.fails(2, "--verison", says="--verison")
        self.fails(2, "select", "qqqqqq", "--batch", 1, says=["'qqqqqq'", "badge", "entropy"])

    def test_unknown_flags_are_refused(self):
        self.fails(2, "select", "badge", "--no-such-flag", 1, says="--no-such-flag")
        self.fails(2, "select", "badge", "-b", 1, says="unknown flag '-b'")


class Flags(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        p = rng.random((20, 3))
        self.p = self.save("p", p / p.sum(1, keepdims=True))

    def test_flags_have_two_spellings_and_any_order(self):
        want = self.ok("select", "margin", "--batch", 3, "--probs", self.p, "--seed", 7)
        for call in (["margin", "--batch=3", f"--probs={self.p}", "--seed=7"],
                     ["--batch", 3, "margin", "--seed=7", "--probs", self.p],
                     ["--seed", 7, "--probs", self.p, "--batch", 3, "margin"],
                     ["--probs", self.p, "--batch", 3, "--", "margin"]):
            self.assertEqual(self.ok("select", *call), want)

    def test_a_value_may_hold_an_equals_sign(self):
        odd = self.save("a=b", np.full((4, 2), 0.5))
        self.assertEqual(len(self.table("select", "margin", "--batch", 1, f"--probs={odd}")), 1)

    def test_batch_is_a_whole_number_of_at_least_one(self):
        self.fails(2, "select", "margin", "--probs", self.p, says="--batch")
        for bad in ("0", "-1", "x", "", "1.5", "1e3", "+3", " 3", "0x10", "18446744073709551616",
                    "99999999999999999999999", "nan"):
            self.fails(2, "select", "margin", "--probs", self.p, f"--batch={bad}", says="--batch")
        self.fails(2, "select", "margin", "--probs", self.p, "--batch", "-1",
                   says=["--batch", "'-1'"])

    def test_seed_is_an_unsigned_64_bit_number(self):
        for bad in ("-1", "x", "18446744073709551616", "1.0", "0x1", "+1"):
            self.fails(2, "select", "random", "--batch", 1, "--probs", self.p, "--seed", bad,
                       says=["--seed", f"'{bad}'"])
        for good in ("0", "18446744073709551615", "007"):
            self.ok("select", "random", "--batch", 1, "--probs", self.p, "--seed", good)

    def test_the_thread_count_is_limited(self):
        for bad in ("-1", "x", "100000000", "1.5"):
            self.fails(2, "select", "margin", "--batch", 1, "--probs", self.p, "--threads", bad,
                       says="--threads")
        for good in (0, 1, 2, 7, 64):
            self.ok("select", "margin", "--batch", 1, "--probs", self.p, "--threads", good)

    def test_memory_takes_sizes_with_units(self):
        for good in ("512M", "4G", "1.5G", "1T", "524288K", "512MB", "512MiB", "512mb",
                     "1073741824", "1073741824B", "0.5GiB"):
            self.ok("select", "margin", "--batch", 1, "--probs", self.p, "--memory", good)
        for bad in ("", "G", "-1G", "1X", "1GG", "1.G", "1.5", "4 G", "1e9", "1Bi", "1iB", ".5G",
                    "99999999999999999999T", "18446744073709551615K", "nan", "inf"):
            self.fails(2, "select", "margin", "--batch", 1, "--probs", self.p, f"--memory={bad}",
                       says="--memory")

    def test_sizes_are_powers_of_1024(self):
        plan = self.ok("select", "margin", "--batch", 1, "--probs", self.p, "--memory", "1.5G",
                       "--dry-run")
        self.assertIn("1.5 GiB", plan)

    def test_a_repeated_flag_is_refused(self):
        self.fails(2, "select", "margin", "--batch", 1, "--batch=1", "--probs", self.p,
                   says="--batch is given twice")
        self.fails(2, "select", "margin", "--quiet", "--quiet", "--batch", 1, "--probs", self.p,
                   says="--quiet is given twice")

    def test_a_missing_or_superfluous_value_is_refused(self):
        self.fails(2, "select", "margin", "--probs", self.p, "--batch", says="--batch needs")
        self.fails(2, "select", "margin", "--probs", "--batch", 3, says="--probs needs")
        self.fails(2, "select", "margin", "--probs=", "--batch", 3, says="--probs needs")
        self.fails(2, "select", "margin", "--quiet=1", "--probs", self.p, "--batch", 3,
                   says="--quiet takes no value")

    def test_exactly_one_strategy_is_needed(self):
        self.fails(2, "select", "--batch", 3, "--probs", self.p, says="strategy")
        self.fails(2, "select", "margin", "badge", "--batch", 3, "--probs", self.p,
                   says="'badge'")

    def test_format_is_one_of_three(self):
        self.fails(2, "select", "margin", "--batch", 3, "--probs", self.p, "--format", "xml",
                   says=["csv", "json", "npy", "'xml'"])


class Options(Case):
    def setUp(self):
        super().setUp()
        self.h = self.save("h", np.eye(6, 3, dtype=np.float32))
        self.p = self.save("p", np.full((6, 2), 0.5))
        self.call = ["select", "egl", "--batch", 2, "--features", self.h, "--probs", self.p]

    def test_options_reach_the_strategy(self):
        with_bias = self.table(*self.call)
        without = self.table(*self.call, "--opt", "bias=0")
        self.assertNotEqual([r["score"] for r in with_bias], [r["score"] for r in without])
        self.assertEqual(self.table(*self.call, "--opt", "bias=1", "--opt=normalise=0"),
                         with_bias)

    def test_an_unknown_key_lists_the_known_ones(self):
        self.fails(2, *self.call, "--opt", "bais=1", says=["'bais'", "bias", "normalise"])
        self.fails(2, "select", "random", "--batch", 1, "--probs", self.p, "--opt", "x=1",
                   says=["random", "'x'"])

    def test_an_unknown_key_is_found_before_files_are_opened(self):
        self.fails(2, "select", "egl", "--batch", 2, "--features", "/nowhere.npy", "--probs",
                   self.p, "--opt", "nope=1", says="nope")

    def test_bad_values_are_refused(self):
        for bad in ("bias", "=1", "bias=2", "bias=x", "bias=", "bias=-1"):
            self.fails(2, *self.call, "--opt", bad, says="bias" if "bias" in bad else "--opt")

    def test_a_repeated_key_is_refused(self):
        self.fails(2, *self.call, "--opt", "bias=1", "--opt", "bias=0", says="bias")


class Needs(Case):
    def setUp(self):
        super().setUp()
        self.h = self.save("h", np.eye(6, 3, dtype=np.float32))
        self.p = self.save("p", np.full((6, 2), 0.5))

    def test_a_missing_input_names_its_flag(self):
        self.fails(2, "select", "margin", "--batch", 1, says=["margin", "--probs", "--logits"])
        self.fails(2, "select", "badge", "--batch", 1, "--features", self.h,
                   says=["badge", "--probs"])
        said = self.fails(2, "select", "badge", "--batch", 1, "--probs", self.p,
                          says=["badge", "--features"])
        self.assertNotIn("--probs", said)
        self.fails(2, "select", "coreset", "--batch", 1, "--probs", self.p, says="--features")

    def test_probs_and_logits_together_are_refused(self):
        self.fails(2, "select", "margin", "--batch", 1, "--probs", self.p, "--logits", self.p,
                   says=["--probs", "--logits"])

    def test_random_takes_any_input_but_needs_one(self):
        self.fails(2, "select", "random", "--batch", 1, says=["random", "--features", "--ids"])
        self.fails(2, "select", "random", "--batch", 1, "--candidates",
                   self.save("c", np.arange(3)), says="random")
        y = self.save("y", np.full(6, -1))
        s = self.save("s", np.full((2, 6, 3), 1 / 3))
        ids = self.path("ids.txt")
        with open(ids, "w", encoding="utf-8") as file:
            file.write("a\nb\nc\nd\ne\nf\n")
        want = None
        for call in (["--features", self.h], ["--probs", self.p], ["--logits", self.p],
                     ["--calibrated", self.p], ["--gradients", self.h], ["--samples", s],
                     ["--labels", y]):
            got = self.ok("select", "random", "--batch", 6, *call)
            self.assertEqual(got, want or got)
            want = got
        rows = self.table("select", "random", "--batch", 6, "--ids", ids)
        self.assertEqual([r["index"] for r in rows],
                         [r["index"] for r in self.table("select", "random", "--batch", 6,
                                                         "--labels", y)])
        self.assertEqual({r["id"] for r in rows}, set("abcdef"))

    def test_an_input_that_is_not_used_is_ignored_with_a_warning_and_not_opened(self):
        done = run("select", "margin", "--batch", 1, "--probs", self.p, "--features",
                   "/nowhere/x.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("scant: warning: ", done.stderr)
        self.assertIn("--features", done.stderr)
        self.assertEqual(done.stdout, self.ok("select", "margin", "--batch", 1, "--probs",
                                              self.p))
        quiet = run("select", "margin", "--batch", 1, "--probs", self.p, "--features",
                    "/nowhere/x.npy", "--quiet")
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))

    def test_messages_use_singular_and_plural(self):
        c = self.save("c", np.arange(6))
        for labelled, words in ((1, "1 of the candidates is labelled"),
                                (2, "2 of the candidates are labelled")):
            y = self.save("y", np.where(np.arange(6) < labelled, 0, -1))
            done = run("select", "margin", "--batch", 2, "--probs", self.p, "--labels", y,
                       "--candidates", c)
            self.assertIn(words, done.stderr)
        same = self.save("s", np.full((2, 6, 3), 1 / 3))  # the draws agree, so bald picks
        for batch, words in ((1, "after 0 picks "), (1, "; 1 more is picked by bald"),
                             (2, "; 2 more are picked by bald")):
            done = run("select", "batchbald", "--batch", batch, "--samples", same)
            self.assertIn(words, done.stderr)

    def test_every_strategy_takes_labels_candidates_and_ids(self):
        y = self.save("y", np.array([0, -1, -1, -1, -1, 1]))
        c = self.save("c", np.array([2, 1]))
        ids = self.save("ids", np.array(list("abcdef")))
        for strategy in ("random", "confidence", "margin", "entropy", "egl", "coreset", "badge"):
            given = ["--labels", y, "--candidates", c, "--ids", ids]
            if strategy not in ("coreset", "random"):
                given += ["--probs", self.p]
            if strategy in ("egl", "coreset", "badge", "random"):
                given += ["--features", self.h]
            done = run("select", strategy, "--batch", 2, *given)
            self.assertEqual((done.returncode, done.stderr), (0, ""), strategy)
            picked = {line.split(",")[1] for line in done.stdout.splitlines()[1:]}
            self.assertEqual(picked, {"1", "2"}, strategy)


if __name__ == "__main__":
    unittest.main()
