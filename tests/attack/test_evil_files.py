# SPDX-License-Identifier: Apache-2.0
"""Every format that the program reads, spoilt: flipped bits, cuts, repetitions, huge counts and numbers.

The program ends within its time and its memory, with a documented exit status and, if it refuses the file, a
message. No signal ends it.
"""
import os
import random
import resource
import unittest

from attack import SOAK, Attack, read, run
from evil import TARGETS, prepare_formats, spoil, write
from scantcli import figure

FILES = 300 if SOAK else 4  # for each target
TIME = 60
ADDRESSES, MEMORY = 4 << 30, 500 << 20  # bytes: what a process may map; what it may really use
SANITIZED = bool(os.environ.get("SCANT_SANITIZE"))


class EvilFiles(Attack):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prepare_formats(cls.inputs)

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
                    done = run(target.args, folder, [] if SANITIZED else [(resource.RLIMIT_AS, ADDRESSES)], TIME)
                    refused += done.returncode not in (0, 10)
                    self.assert_sentence(done, what)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        figure("evil files", tried, f"{refused:,} refused with a message, the others read; at most {most >> 20} MB used")
        self.assertGreater(refused, tried / 4)
        self.assertTrue(SANITIZED or most < MEMORY, f"{most >> 20} MB")


if __name__ == "__main__":
    unittest.main()
