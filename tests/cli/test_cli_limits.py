# SPDX-License-Identifier: Apache-2.0
"""Little memory and signals: a call ends with a result or a sentence, within its time."""
import re
import resource
import signal
import subprocess
import time
import unittest

import numpy as np

from scantcli import SCANT, Case, run
from test_cli_work import SANITIZED

MEGA = 1 << 20
SLOW = 60  # seconds: a hang; the calls here take less than one


@unittest.skipIf(SANITIZED, "the sanitizer maps terabytes")
class Limits(Case):
    """OpenBLAS maps 128 MB for each thread and tries for ever where it may not."""

    def setUp(self):
        super().setUp()
        self.h = self.save("h", np.random.default_rng(0).standard_normal((3000, 64), dtype="f4"))
        self.call = ["select", "npc", "--features", self.h, "--batch", 10]

    def limited(self, what, size, *args, **env):
        return run(*args, timeout=SLOW, preexec_fn=lambda: resource.setrlimit(what, (size, size)),
                   env={"OMP_WAIT_POLICY": "passive", **env})

    def test_every_limit_gives_the_same_picks_or_a_sentence(self):
        picks, some = self.ok(*self.call, "--threads", 1), set()
        for what in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
            for mega in (60, 100, 140, 180, 220, 270, 300, 390, 500, 700, 1000, 2000):
                for more in ((), ("--threads", 7)):
                    with self.subTest(what=what, mega=mega, more=more):
                        done = self.limited(what, mega * MEGA, *self.call, *more)
                        some.add(done.returncode)
                        self.assertIn(done.returncode, (0, 4, 127), done.stderr)  # 127: the loader's
                        if done.returncode == 0:
                            self.assertEqual(done.stdout, picks)
                        elif done.returncode == 4:
                            self.assertRegex(done.stderr, r"(?m)^scant: .*(\d+ (MB|bytes)|memory)")
        self.assertLessEqual({0, 4}, some)

    def test_commands_without_matrices_end_too(self):
        for mega in (60, 140, 300):
            done = self.limited(resource.RLIMIT_DATA, mega * MEGA, "--version")
            self.assertEqual(done.returncode, 4 if mega == 60 else 0, done.stderr)

    def test_memory_counts_the_buffers(self):
        plan = self.ok(*self.call, "--threads", 2, "--dry-run")
        bytes_needed = int(re.search(r"memory .*\((\d+) bytes\)", plan)[1])
        self.assertGreater(bytes_needed, 256 * MEGA)
        self.assertRegex(plan, r"blas +256\.0 MiB of it")
        picks = self.ok(*self.call, "--threads", 2, "--memory", bytes_needed)
        # fewer threads where that is enough
        for memory in (bytes_needed - 1, bytes_needed - 100 * MEGA):
            plan = self.ok(*self.call, "--threads", 2, "--memory", memory, "--dry-run")
            self.assertRegex(plan, r"(?m)^threads +1$")
            self.assertRegex(plan, r"blas +128\.0 MiB of it")
            self.assertEqual(self.ok(*self.call, "--threads", 2, "--memory", memory), picks)
        self.fails(4, *self.call, "--memory", "100M", says=["npc needs 13", "104857600"])


    def test_runs_side_by_side_share_the_limit_on_memory(self):
        call = ["run", "--set", "data.train=moons", "--set", "model.name=mlp", "--set", "train.epochs=2", "--set", "loop.rounds=1",
                "--set", "loop.strategies=npc", "--set", "loop.seeds=0,1", "--threads", 1, "--memory", "200M"]
        done = run(*call, "--jobs", 2, "--out", self.path("two"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 2 jobs run side by side", done.stderr)
        self.assertNotIn("side by side", run(*call, "--jobs", 1, "--out", self.path("one")).stderr)

    def test_stacks_of_any_size(self):
        done = self.limited(resource.RLIMIT_AS, 1200 * MEGA, *self.call, "--threads", 2, OMP_STACKSIZE="2G")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_file_above_the_limit_on_files_is_an_error(self):
        def prepare():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        done = run("new", self.path("p"), "--features", self.h, "--classes", "a,b", preexec_fn=prepare, restore_signals=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, "(?m)^scant: .*cannot be written")


class Signals(Case):
    """The eigenvalues of a matrix of 5000 rows: one call of LAPACK, which takes long and cannot be
    cancelled."""

    def start(self):
        x = self.save("x", np.random.default_rng(0).standard_normal((5000, 3)).astype("f4"))
        child = subprocess.Popen([SCANT, "ntk", "--data", x, "--no-labels", "--kernel", "ntk:depth=1", "--threads", "1"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        self.wait_until_running(child)
        time.sleep(1.5)  # in the middle of it; anywhere else the command ends sooner
        self.assertIsNone(child.poll())
        return child

    def test_the_first_signal_ends_it_within_seconds(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            child = self.start()
            begun = time.monotonic()
            child.send_signal(number)
            _, said = child.communicate(timeout=SLOW)
            self.assertEqual(child.returncode, 130, said)
            self.assertLess(time.monotonic() - begun, 5)
            self.assertRegex(said, r"^scant: \S+")

    def test_the_second_one_ends_it_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            child = self.start()
            child.send_signal(number)
            time.sleep(0.5)
            begun = time.monotonic()
            child.send_signal(number)
            child.wait(timeout=SLOW)
            self.assertEqual(child.returncode, 130)
            self.assertLess(time.monotonic() - begun, 1.2)  # the first one leaves it 1.5 s more


if __name__ == "__main__":
    unittest.main()
