# SPDX-License-Identifier: Apache-2.0
"""Texts generated from tables: `scant strategies`, help, the man page, completion."""
import json
import os
import re
import shutil
import subprocess
import unittest

from scantcli import SCANT, Case


class Strategies(Case):
    def names(self):
        return [line.split()[0] for line in self.ok("strategies").splitlines()[1:]
                if not line.startswith(" ")]

    def test_the_list_has_the_strategies_and_their_needs(self):
        text = self.ok("strategies")
        for name, needs in (("random", "any input"), ("margin", "probs"), ("egl", "features"),
                            ("coreset", "features"), ("badge", "probs")):
            self.assertRegex(text, rf"(?m)^{name} .*{needs}")

    def test_one_strategy_can_be_listed(self):
        text = self.ok("strategies", "badge")
        for word in ("--features", "--probs (or --logits)", "bias", "default 0", "Score", "Paper",
                     "scant select badge --batch"):
            self.assertIn(word, text)
        self.fails(2, "strategies", "bagde", says="'badge'")

    def test_options_and_figures_are_explained(self):
        manual = self.ok("man").replace("\\-", "-").replace("\\&", "")
        for one in json.loads(self.ok("strategies", "--format", "json")):
            page = self.ok("strategies", one["name"])
            part = manual.split(f".It Sy {one['name']}\n")[1].split("\nNeeds:")[1]
            for name in [o["key"] for o in one["options"]] + [f["name"] for f in one["figures"]]:
                with self.subTest(one["name"], name=name):
                    self.assertRegex(page, rf"(?m)^  {name}(  |$)")
                    self.assertIn(f".It Sy {name}\n", part)
        bss = self.ok("strategies", "bss", "--format", "json")
        self.assertEqual(json.loads(bss)["options"][0]["values"], "a number above 0 and below 1")

    def test_labels_are_listed_for_strategies_that_use_them_beyond_excluding_rows(self):
        every = json.loads(self.ok("strategies", "--format", "json"))
        users = [one["name"] for one in every if "labels" in one["needs"] + one["uses"]]
        self.assertEqual(users, ["coreset", "dynamic", "npc", "crc", "albl"])
        for name in users[:-1]:
            self.assertRegex(self.ok("strategies", name), r"(?m)^Can use +--labels$")

    def test_every_strategy_has_all_its_texts(self):
        for one in json.loads(self.ok("strategies", "--format", "json")):
            for field in ("name", "summary", "use", "score"):
                self.assertTrue(one[field], (one["name"], field))
            self.assertTrue(one["needs"] or one["uses"], one["name"])
            for option in one["options"]:
                self.assertTrue(option["help"], (one["name"], option["key"]))
            for figure in one["figures"]:
                self.assertTrue(figure["help"], (one["name"], figure["name"]))

    def test_json(self):
        every = json.loads(self.ok("strategies", "--format", "json"))
        self.assertEqual([one["name"] for one in every], self.names())
        badge = json.loads(self.ok("strategies", "badge", "--format=json"))
        self.assertEqual(badge, next(one for one in every if one["name"] == "badge"))
        self.assertEqual(sorted(badge["needs"]), ["features", "probs"])
        self.assertEqual({o["key"]: o["default"] for o in badge["options"]},
                         {"bias": 0, "normalise": 0})


class Help(Case):
    def test_lines_are_short_and_every_flag_is_listed_once(self):
        for command in ("select", "models", "train", "embed", "new", "add", "status", "query", "label",
                        "predict", "export", "log", "set"):
            text = self.ok(command, "--help")
            for line in text.split("\nExamples")[0].splitlines():
                self.assertLessEqual(len(line), 80, line)
            flags = re.findall(r"(?m)^  (--\S+)", text)
            self.assertEqual(len(flags), len(set(flags)), command)


class Manual(Case):
    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_mandoc_finds_no_fault(self):
        with open(self.path("scant.1"), "w", encoding="utf-8") as file:
            file.write(self.ok("man"))
        done = subprocess.run(["mandoc", "-Tlint", self.path("scant.1")], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_it_has_every_flag_strategy_and_status(self):
        text = self.ok("man").replace("\\-", "-").replace("\\&", "")
        for command in ("select", "models", "train", "embed", "new", "add", "status", "query", "label",
                        "predict", "export", "log", "set"):
            part = text.split(f".Ss scant {command}\n")[1].split("\n.S")[0]
            for flag in re.findall(r"(?m)^  (--[a-z0-9-]+)", self.ok(command, "--help")):
                if flag != "--help":
                    self.assertRegex(part, rf"(?m)^\.It Fl {flag[1:]}( |$)")
        for name in [one["name"] for one in json.loads(self.ok("strategies", "--format", "json"))]:
            self.assertIn(f".It Sy {name}\n", text)
        for status in (0, 1, 2, 3, 4, 130):
            self.assertIn(f".It {status}\n", text)

    def test_it_is_ascii(self):
        self.ok("man").encode("ascii")


class Completion(Case):
    def complete(self, *words):
        """The completions that bash offers for the last word; words are split at '=' as in bash."""
        cut = [piece for word in words for piece in (re.split("(=)", word) if word else [""])
               if piece or not word]
        script = ('source <("$1" completion bash) || exit; shift; COMP_WORDS=("$@"); '
                  'COMP_CWORD=$(($# - 1)); _scant; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", SCANT, "scant",
                               *cut], capture_output=True, text=True, cwd=self.dir, timeout=30,
                              check=False)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.splitlines() if line]

    def setUp(self):
        super().setUp()
        if not shutil.which("bash"):
            self.skipTest("no bash")

    def test_commands(self):
        self.assertEqual(self.complete("sel"), ["select"])
        self.assertIn("strategies", self.complete(""))
        self.assertEqual(self.complete("--v"), ["--version"])

    def test_strategies_and_flags(self):
        self.assertEqual(self.complete("select", "bad"), ["badge"])
        self.assertEqual(self.complete("strategies", "core"), ["coreset"])
        self.assertEqual(self.complete("select", "badge", "--fe"), ["--features"])
        self.assertIn("--dry-run", self.complete("select", "--"))
        self.assertIn("--batch", self.complete("select", "badge", ""))
        self.assertEqual(self.complete("help", "sele"), ["select"])
        self.assertEqual(self.complete("completion", ""), ["bash"])

    def test_models(self):
        self.assertEqual(self.complete("models", "mob"), ["mobilenetv2"])
        self.assertEqual(self.complete("train", "--model", "len"), ["lenet5"])
        self.assertEqual(self.complete("embed", "--model=wrn-28-1"), ["wrn-28-10"])
        self.assertEqual(self.complete("train", "--augment", "flip"), ["flip-crop"])
        self.assertEqual(self.complete("train", "--lr", ""), [])

    def test_values(self):
        self.assertEqual(self.complete("select", "badge", "--format", "j"), ["json"])
        self.assertEqual(self.complete("select", "badge", "--format=j"), ["json"])
        self.assertEqual(self.complete("select", "badge", "--format="), ["csv", "json", "npy"])
        self.assertEqual(self.complete("select", "badge", "--batch", ""), [])
        self.assertEqual(self.complete("select", "badge", "--temperature", ""), ["fit"])

    def test_files(self):
        for name in ("probs.npy", "picks of mine.csv"):
            with open(self.path(name), "w", encoding="utf-8"):
                pass
        self.assertEqual(self.complete("select", "--probs", "pr"), ["probs.npy"])
        self.assertEqual(self.complete("select", "--probs=pr"), ["probs.npy"])
        self.assertEqual(self.complete("select", "margin", "--out", "pi"), ["picks of mine.csv"])

    def test_options_of_the_given_strategy(self):
        self.assertEqual(self.complete("select", "badge", "--opt", ""), ["bias=", "normalise="])
        self.assertEqual(self.complete("select", "badge", "--opt=b"), ["bias="])
        self.assertEqual(self.complete("select", "badge", "--opt", "bias="), ["0", "1"])
        self.assertEqual(self.complete("select", "badge", "--opt", "bias=1"), ["1"])
        self.assertEqual(self.complete("select", "badge", "--opt=bias="), ["0", "1"])
        self.assertEqual(self.complete("select", "random", "--opt", ""), [])

    def test_projects(self):
        os.mkdir(self.path("birds"))
        self.assertEqual(self.complete("status", "bi"), ["birds"])
        self.assertEqual(self.complete("train", "bi"), ["birds"])
        self.assertEqual(self.complete("query", "birds", "--strategy", "bad"), ["badge"])
        self.assertEqual(self.complete("query", "birds", "--strategy", "badge", "--opt", "b"),
                         ["bias="])
        self.assertEqual(self.complete("new", "--set", "stop_w"), ["stop_width="])
        self.assertEqual(self.complete("new", "--set", "auto_train="), ["yes", "no"])
        self.assertEqual(self.complete("set", "bi"), ["birds"])
        self.assertEqual(self.complete("set", "birds", "stop_w"), ["stop_width="])
        self.assertEqual(self.complete("set", "birds", "auto_train=n"), ["no"])
        self.assertEqual(self.complete("set", "birds", "model="), [])

    def test_values_of_options(self):
        for one in json.loads(self.ok("strategies", "--format", "json")):
            for option in one["options"]:
                if not option["values"].startswith("one of "):
                    continue
                words = option["values"][7:].split(",")[0].split("|")
                got = self.complete("select", one["name"], "--opt", option["key"] + "=")
                self.assertEqual(got, [re.sub("(?<=:)K$", "", word) for word in words])


if __name__ == "__main__":
    unittest.main()
