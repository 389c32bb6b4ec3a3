# SPDX-License-Identifier: Apache-2.0
"""`scant run --resume` after data changed or files were lost; Ctrl-C; values and lines as they are printed."""
import json
import os
import re
import shutil
import signal
import subprocess

import numpy as np

from runcase import MOONS, RunCase, sets, write_state
from scantcli import SCANT, run
from test_cli_work import on_terminal
from test_run import write_png


class Changed(RunCase):
    """The samples or labels changed since the experiment started."""

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(7)
        self.labels = rng.integers(0, 2, 300)
        points = rng.normal(size=(300, 3)) + 2 * self.labels[:, None]
        self.flags = sets(MOONS, data__train=self.save("x", points.astype("f4")),
                          data__train_labels=self.save("y", self.labels),
                          data__test=self.save("tx", points[:50].astype("f4")),
                          data__test_labels=self.save("ty", self.labels[:50]), data__test_size=0)
        self.out = self.path("out")
        self.ok("run", *self.flags, "--threads", 1, "--out", self.out)

    def kept(self):
        found = {}
        for name in ("curve.csv", "picks.csv", "runs/random-0.json", "runs/badge-1.json"):
            with open(os.path.join(self.out, name), "rb") as file:
                found[name] = file.read()
        return found

    def change_states(self, change):
        for name in os.listdir(os.path.join(self.out, "runs")):
            path = os.path.join(self.out, "runs", name)
            with open(path) as file:
                state = json.load(file)
            change(state)
            write_state(path, state)

    def test_other_labels_are_refused_and_nothing_is_written(self):
        before = self.kept()
        flipped, some, few = 1 - self.labels, self.labels.copy(), self.labels[:50].copy()
        some[::5] = -1
        few[7] = 1 - few[7]
        for name, labels in (("y", flipped), ("y", some), ("ty", few)):
            old = np.load(self.path(name + ".npy"))
            self.save(name, labels)
            self.fails(3, "run", "--resume", "--out", self.out, says=["runs/", "have changed since"])
            self.assertEqual(self.kept(), before)
            self.save(name, old)
        self.ok("run", "--resume", "--out", self.out)
        self.assertEqual(self.kept(), before)

    def test_an_unfinished_run_is_not_resumed_with_other_labels(self):
        def halve(state):
            state["rounds"], state["picks"] = state["rounds"][:2], state["picks"][:3]
            for table in ("calibration", "theory", "trainings"):
                state[table] = state[table][:2]
        whole, bins = self.results(self.out), self.bins(self.out)
        self.change_states(halve)
        self.save("y", 1 - self.labels)
        self.fails(3, "run", "--resume", "--out", self.out, says="have changed since")
        self.save("y", self.labels)
        self.ok("run", "--resume", "--out", self.out)
        self.assertEqual(self.results(self.out), whole)
        self.assertEqual(self.bins(self.out), bins)

    def test_changed_targets_are_refused(self):
        numbers = np.random.default_rng(3).normal(size=300).astype("f4")
        flags = sets(MOONS, data__train=self.path("x.npy"), data__train_labels=self.save("n", numbers),
                     data__test_size=50, data__task="regression", loop__strategies="random", loop__rounds=1)
        self.ok("run", *flags, "--threads", 1, "--out", self.path("numbers"))
        numbers[123] += 1
        self.save("n", numbers)
        self.fails(3, "run", "--resume", "--out", self.path("numbers"), says="have changed since")

    def test_a_state_of_another_version_is_refused(self):
        before = self.results(self.out)
        self.change_states(lambda state: state.update({"scant run": 1}))
        self.fails(3, "run", "--resume", "--out", self.out, says=["runs/", "another version"])
        self.assertEqual(self.results(self.out), before)

    def test_a_run_file_has_a_checksum_of_its_samples(self):
        def check(state):
            self.assertRegex(state["samples"], "^[0-9a-f]{16}$")
            self.assertEqual(len(state["calibration"]), len(state["rounds"]))
            self.assertEqual(len(state["theory"]), len(state["rounds"]))
            state["samples"] = "0123"
        self.change_states(check)
        self.fails(3, "run", "--resume", "--out", self.out, says=["runs/", '"samples"'])


class LostFiles(RunCase):
    def test_a_run_whose_weights_are_lost_does_not_end_the_others(self):
        out = self.run_experiment("out", train__reinit="no", loop__seeds=0, loop__query_seed=5)
        whole = self.results(out)
        runs = os.path.join(out, "runs")
        for name in ("random-0", "badge-0"):  # as after round 1; random's weights are missing
            with open(os.path.join(runs, name + ".json")) as file:
                state = json.load(file)
            state["rounds"], state["picks"] = state["rounds"][:2], state["picks"][:3]
            for table in ("calibration", "theory", "trainings"):
                state[table] = state[table][:2]
            write_state(os.path.join(runs, name + ".json"), state)
        for kind in ("weights", "query"):
            shutil.copy(os.path.join(runs, f"badge-0.{kind}-3.safetensors"),
                        os.path.join(runs, f"badge-0.{kind}-1.safetensors"))
        done = run("run", "--resume", "--out", out)
        self.assertEqual(done.returncode, 3, done.stderr)
        for words in ("1 of 2 runs failed; random, seed 0, round 2: ", "random-0.weights-1",
                      "delete " + os.path.join(runs, "random-0.json") + " to start this run over"):
            self.assertIn(words, done.stderr)
        rounds = [(row["strategy"], row["round"]) for row in self.rows(out, "curve.csv")]
        self.assertEqual(rounds, [("random", str(r)) for r in range(2)] + [("badge", str(r)) for r in range(4)])
        os.remove(os.path.join(runs, "random-0.json"))
        self.ok("run", "--resume", "--out", out)
        self.assertEqual([row for row in self.results(out)[0] if row["strategy"] == "random"],
                         [row for row in whole[0] if row["strategy"] == "random"])


    def test_a_report_that_cannot_be_written_does_not_stop_the_runs(self):
        os.mkdir(self.path("out"))
        with open(self.path("out/charts"), "w") as file:  # a file in place of the folder
            file.write("mine")
        done = run("run", *sets(MOONS), "--threads", 1, "--out", self.path("out"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr.count("cannot be written yet"), 1)
        self.assertRegex(done.stderr.splitlines()[-1], "^scant: .*out/charts: the folder cannot be created")
        self.assertEqual(len(self.rows(self.path("out"), "curve.csv")), 16)
        os.remove(self.path("out/charts"))
        self.ok("run", "--resume", "--out", self.path("out"))
        self.assertTrue(os.path.exists(self.path("out/charts/curves.svg")))


class Texts(RunCase):
    def test_a_long_value_is_wrapped_between_characters(self):
        for shift in range(3):
            value = "x" * shift + "\u65e5\u672c\u8a9e\u00e9" * 60
            done = run("run", "--print", "--set", f"data.train={value}", text=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.split(b"\n")
            self.assertGreater(sum(line.startswith(b"    ") for line in lines), 2)
            for line in lines:
                line.decode()
            self.assertIn(f"train = {value}\n", done.stdout.decode().replace("\n    ", ""))

    def test_small_errors_are_printed_with_enough_digits(self):
        os.mkdir(self.path("out"))
        with open(self.path("out/curve.csv"), "w") as file:
            file.write("strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds,error\n")
            for name, errors in (("random", (4e-4, 5e-4)), ("badge", (1e-4, 3e-4))):
                for seed, error in enumerate(errors):
                    file.write(f"{name},{seed},0,10,nan,{error},1,1,{error}\n")
        said = self.ok("compare", self.path("out")).splitlines()
        at = said.index("Final error")
        self.assertEqual(said[at + 2].split()[2:6], ["2", "0.0002", "0.00045", "-0.00025"])
        self.assertEqual(said[at + 1].rindex("INTERVAL") + 8, said[at + 2].index(" .. ") + 4 + 10)


class Interrupted(RunCase):
    def interrupt(self, *flags, when):
        """Sends Ctrl-C as soon as the program handles it and when() holds; returns stderr."""
        with subprocess.Popen([SCANT, "run", *map(str, flags)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as child:
            self.wait_until_running(child, when)
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=60)[1]
        self.assertEqual(child.returncode, 130, said)
        return said

    def test_an_interruption_before_the_first_run_leaves_no_folder(self):
        picture = self.path("picture.png")
        write_png(picture, np.random.default_rng(1).integers(0, 255, (400, 400, 3)).astype("u1"))
        for label in ("a", "b"):
            os.makedirs(self.path(f"pictures/{label}"))
            for i in range(1000):
                os.link(picture, self.path(f"pictures/{label}/{i:04}.png"))
        said = self.interrupt(*sets(MOONS, data__train=self.path("pictures"), data__size=8), "--out",
                              self.path("out"), when=lambda: True)
        self.assertIn("interrupted; nothing was started", said)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_an_interruption_prints_the_command_that_continues(self):
        out, curve = self.path("out"), self.path("out/curve.csv")
        flags = sets(MOONS, train__epochs=300, loop__rounds=20, loop__strategies="random")
        said = self.interrupt(*flags, "--skip-bad", "--jobs", 2, "--threads", 1, "--out", out,
                              when=lambda: os.path.exists(curve))
        self.assertIn(f"'scant run --resume --out {out} --skip-bad --jobs 2 --threads 1' continues", said)


class Narrow(RunCase):
    def test_progress_fits_in_eighty_columns(self):
        """A terminal of unknown size counts as 80 columns wide; the last column stays free."""
        for number, (seed, initial) in enumerate(((0, 6), (1234567, 400))):
            flags = sets(MOONS, loop__strategies="sparse-greedy,random", loop__seeds=seed, loop__rounds=10,
                         loop__initial=initial, loop__batch=10, train__epochs=2)
            status, _, seen = on_terminal(["run", *flags, "--threads", 1, "--out", self.path(f"out{number}")])
            self.assertEqual(status, 0, seen)
            lines = re.split("[\r\n]", re.sub(r"\x1b\[[A-Z]", "", seen))
            lines = [line for line in lines if "  round " in line]
            self.assertLessEqual(max(map(len, lines)), 79, lines[-3:])
            for end in ("left", "took"):
                whole = r"^\S+ +seed \d+(  \[#*\.*\])?  round \d+/10  labels \d+  acc [01]\.\d{4}  "
                whole += r"\d:\d\d left$" if end == "left" else r"took \d:\d\d$"
                self.assertTrue(any(re.match(whole, line) for line in lines), lines[-9:])
            self.assertTrue(all("[" in line for line in lines) or number, lines)


if __name__ == "__main__":
    import unittest
    unittest.main()
