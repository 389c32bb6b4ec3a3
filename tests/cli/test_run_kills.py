# SPDX-License-Identifier: Apache-2.0
"""`scant run` is killed or interrupted at random times over its whole duration. Resumed, it ends with
the results of an uninterrupted run.

(tests/loop/test_partial.c tests every point at which a round can be interrupted.)
"""
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from runcase import MOONS, RunCase, sets
from scantcli import SCANT, figure

SOAK = int(os.environ.get("SCANT_SOAK", 0)) > 1000
KILLS = 20 if SOAK else 3  # for each test
CIFAR = os.path.join(os.environ.get("SCANT_SHARED_DATA", ""), "cifar10_train_20000.bin.xz")
FASHION = "/usr/share/datasets/fashion-mnist"
# Semi-supervised rounds on images; larger in soak tests.
IMAGES = {"data.pool": 2000 if SOAK else 60, "data.test_size": 1000 if SOAK else 30,
          "train.method": "fixmatch", "train.darp": "yes", "train.darp_warmup": 0.1,
          "train.steps": 150 if SOAK else 6, "train.batch": 16 if SOAK else 4, "train.ema": 0.9,
          "train.fixmatch_mu": 7 if SOAK else 2, "loop.initial": 10, "loop.initial_how": "balanced",
          "loop.batch": 10, "loop.rounds": 2 if SOAK else 1,
          "loop.seeds": 0, "loop.strategies": "npc,crc"}
HOWS = ("kill", "interrupt, then kill", "interrupt")
INTERRUPTED = 130


def start(flags):
    return subprocess.Popen([SCANT, "run", *map(str, flags)], text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def end(child, how, pause):
    """Ends the process in one of HOWS; returns its exit status."""
    if how != "kill":
        child.send_signal(signal.SIGINT)
    if how == "interrupt, then kill":
        time.sleep(pause)
    if how != "interrupt":
        child.kill()
    child.communicate(timeout=60)
    return child.returncode


class Kills(RunCase):
    def rounds(self, out):
        """The number of finished rounds of all runs."""
        folder, finished = os.path.join(out, "runs"), 0
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.endswith(".json"):
                with open(os.path.join(folder, name)) as file:
                    finished += len(json.load(file)["rounds"])
        return finished

    def assert_ended_as(self, whole, out):
        self.assertEqual(self.results(out), whole)
        if os.path.exists(self.path("whole/calibration.csv")):  # not for a regression
            self.assertEqual(self.bins(out), self.bins(self.path("whole")))
        self.assertEqual(self.rows(out, "theory.csv"), self.rows(self.path("whole"), "theory.csv"))
        with open(os.path.join(out, "log.jsonl")) as file:
            for line in file:
                json.loads(line)
        litter = [name for name in os.listdir(os.path.join(out, "runs"))
                  if ".train" in name or ".left" in name or ".tmp" in name]
        self.assertEqual(litter, [])

    def kill_and_resume(self, *flags, base=MOONS, first=0, **more):
        """Kills and resumes at least KILLS times; one kill must leave both finished and unfinished rounds."""
        begun = time.monotonic()
        self.ok("run", *sets(base, **more), "--threads", 1, "--out", self.path("whole"), *flags)
        whole = self.results(self.path("whole"))
        duration = time.monotonic() - begun
        rounds, cut = len(whole[0]), self.path("cut")
        flags = [*sets(base, **more), "--threads", 1, "--out", cut, "--quiet", *flags]
        draw, hits, amid = random.Random(first), 0, False
        for _ in range(20 * KILLS):
            if hits >= KILLS and amid:
                break
            child = start([*flags, "--resume"] if os.path.exists(cut) else flags)
            time.sleep(draw.uniform(0, duration))
            status = end(child, HOWS[(hits + first) % 3], draw.uniform(0, 0.03))
            if status == 0:  # it finished before the kill: start another one
                self.assert_ended_as(whole, cut)
                shutil.rmtree(cut)
                duration *= 0.8  # the first run may have been slower
                continue
            self.assertIn(status, (INTERRUPTED, -signal.SIGINT, -signal.SIGKILL))
            hits += status != -signal.SIGINT  # killed before its handler was set
            amid = amid or 0 < self.rounds(cut) < rounds
        self.assertGreaterEqual(hits, KILLS)
        self.assertTrue(amid, "no kill left both finished and unfinished rounds")
        if os.path.exists(self.path("cut/log.jsonl")):
            with open(self.path("cut/log.jsonl"), "a") as file:
                file.write('{"half a li')
        self.ok("run", *flags, *(["--resume"] if os.path.exists(cut) else []))
        self.assert_ended_as(whole, cut)
        figure("kills and interrupts of an experiment", hits, "resumed, the results are the same")

    def kill_amid_and_resume(self, base, **more):
        """Kills once, after the first round and before the end of the last; then resumes."""
        flags = [*sets(base, **more), "--threads", 1, "--quiet", "--out"]
        self.ok("run", *flags, self.path("whole"))
        whole, finished = self.results(self.path("whole")), 0
        for _ in range(20):
            shutil.rmtree(self.path("cut"), ignore_errors=True)
            child = start([*flags, self.path("cut")])
            while child.poll() is None and not self.rounds(self.path("cut")):
                time.sleep(0.001)
            end(child, "kill", 0)
            finished = self.rounds(self.path("cut"))
            if 0 < finished < len(whole[0]):  # otherwise it finished too early
                break
        self.assertIn(finished, range(1, len(whole[0])))
        self.ok("run", *flags, self.path("cut"), "--resume")
        self.assert_ended_as(whole, self.path("cut"))

    def test_runs_side_by_side(self):
        self.kill_and_resume("--jobs", 2, train__epochs=100, loop__rounds=5, loop__initial=20,
                             loop__strategies="random,albl,sparse-greedy")

    def test_continued_weights_and_a_query_network(self):
        self.kill_and_resume(first=1, train__epochs=100, loop__rounds=6, loop__initial=20,
                             train__reinit="no", loop__query_seed=5, loop__strategies="badge,margin")
        self.assertEqual(sorted(os.listdir(self.path("cut/runs")))[:3],
                         ["badge-0.json", "badge-0.query-6.safetensors",
                          "badge-0.weights-6.safetensors"])

    def test_gradients_of_all_layers_and_learning_rates_from_the_kernel(self):
        self.kill_and_resume(first=1, train__epochs=100, loop__rounds=5, loop__initial=20,
                             train__lr="auto", loop__theory="all", loop__strategies="dynamic,egl",
                             **{"loop__dynamic.layers": "all", "loop__egl.layers": "all"})

    def test_learning_rates_from_the_kernel_with_continued_weights(self):
        self.kill_and_resume(first=2, train__epochs=100, loop__rounds=5, train__reinit="no",
                             train__lr="auto", loop__initial_how="none", loop__strategies="margin")

    def test_several_initial_models_weighted_samples_and_validation(self):
        self.kill_and_resume(first=2, train__epochs=100, loop__rounds=5, loop__initial=20,
                             train__initial_models=4, train__initial_keep="best",
                             loop__initial_seed=3, train__use_weights="yes", train__patience=80,
                             data__validation=60, loop__strategies="bss,sparse-greedy")

    def test_regression_with_samples_drawn_by_weight(self):
        self.kill_and_resume(first=4, data__train="heavy", data__task="regression",
                             model__name="onehidden", train__epochs=400, train__use_weights="draw",
                             loop__rounds=4, loop__initial=20, loop__strategies="random,bss")

    def test_semi_supervised_training_with_warm_starts(self):
        self.kill_and_resume(first=3, train__method="fixmatch", train__darp="yes", train__batch=8,
                             train__steps=60, train__warm="yes", loop__rounds=5, loop__initial=10,
                             train__initial_models=2, loop__strategies="npc,crc")
        self.assertEqual(sorted(os.listdir(self.path("cut/runs")))[:3],
                         ["crc-0.json", "crc-0.warm-5.safetensors",
                          "crc-0.weights-5.safetensors"])

    @unittest.skipUnless(os.path.isdir(FASHION), "no fashion-mnist here")
    def test_semi_supervised_training_on_images(self):
        kill = self.kill_and_resume if SOAK else self.kill_amid_and_resume
        kill(base=IMAGES, data__train="fashion-mnist", model__name="lenet5")

    @unittest.skipUnless(os.path.exists(CIFAR), "no CIFAR-10 in SCANT_SHARED_DATA")
    def test_semi_supervised_training_on_colour_images(self):
        kill, train = self.kill_and_resume, CIFAR
        if not SOAK:  # unpacking the whole file at every start would take most of the time
            kill, train = self.kill_amid_and_resume, self.path("some.bin")
            with lzma.open(CIFAR) as packed, open(train, "wb") as file:
                file.write(packed.read(300 * 3073))
        kill(base=IMAGES, data__train=train, model__name="cnn", train__augment="flip-crop")


class Interrupted(RunCase):
    def test_ctrl_c_ends_with_130_and_the_run_can_be_resumed(self):
        flags = [*sets(MOONS, train__epochs=1500, loop__rounds=4, loop__seeds=0,
                       loop__strategies="random"), "--threads", 1]
        child = start([*flags, "--out", self.path("cut")])
        while "round 1/4" not in child.stderr.readline():
            self.assertIsNone(child.poll())
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[1]
        self.assertEqual(child.returncode, INTERRUPTED, said)
        self.assertIn("--resume", said)
        self.ok("run", *flags, "--out", self.path("cut"), "--resume")
        self.ok("run", *flags, "--out", self.path("whole"))
        self.assertEqual(self.results(self.path("cut")), self.results(self.path("whole")))


if __name__ == "__main__":
    unittest.main()
