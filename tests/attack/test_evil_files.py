# SPDX-License-Identifier: Apache-2.0
"""Every format that the program reads, spoilt: flipped bits, cuts, repetitions, huge counts and numbers.

The program ends within its time and its memory, with a documented exit status and, if it refuses the file, a
message. No signal ends it.
"""
import os
import random
import resource
import signal
import subprocess
import unittest

from attack import SOAK, Attack, read, run, start
from evil import TARGETS, prepare_formats, spoil, write
from scantcli import figure

FILES = 300 if SOAK else 4  # for each target
TIME, ASKED = 60, 5  # seconds until a command must end; until one that is asked to work for long is interrupted
INTERRUPTED = 130
ADDRESSES, MEMORY = 4 << 30, 500 << 20  # bytes: what a process may map; what it may really use
SANITIZED = bool(os.environ.get("SCANT_SANITIZE"))


class EvilFiles(Attack):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prepare_formats(cls.inputs)

    def give(self, target, folder):
        """Runs the command that reads the file."""
        child = start(target.args, folder, [] if SANITIZED else [(resource.RLIMIT_AS, ADDRESSES)])
        try:
            out, said = child.communicate(timeout=ASKED if target.asks else TIME)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT if target.asks else signal.SIGKILL)
            out, said = child.communicate(timeout=TIME)
        return subprocess.CompletedProcess(child.args, child.returncode, out, said)

    def test_files_that_are_not_spoilt_are_read(self):
        for target in TARGETS:
            with self.subTest(file=target.file, args=target.args):
                done = run(target.args, self.copy())
                self.assertIn(done.returncode, (0, 10), done.stderr)

    def test_spoilt_files(self):
        tried = refused = 0
        for target in TARGETS:
            draw, good = random.Random(str(target)), read(self.inputs, target.file)
            for n in range(FILES):
                folder = self.copy()
                evil = spoil(good, draw)
                write(folder, target.file, evil)
                what = f"{target.file} {n} ({len(evil)} bytes), scant {' '.join(target.args)}"
                with self.subTest(what):
                    tried += 1
                    done = self.give(target, folder)
                    refused += done.returncode not in (0, 10, INTERRUPTED)
                    if not (target.asks and done.returncode == INTERRUPTED):
                        self.assert_sentence(done, what)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        figure("evil files", tried, f"{refused:,} refused with a message, the others read; at most {most >> 20} MB used")
        self.assertGreater(refused, tried / 4)
        self.assertTrue(SANITIZED or most < MEMORY, f"{most >> 20} MB")


if __name__ == "__main__":
    unittest.main()
