# SPDX-License-Identifier: Apache-2.0
"""Every command where the system gives it little memory: limits on what it may map (`ulimit -v`) and on what it
may allocate (`ulimit -d`). It ends with its result or with a message, within its time.
"""
import random
import resource
import unittest

from attack import COMMANDS, SOAK, Attack, run
from scantcli import figure

LIMITS = 60 if SOAK else 2  # for each command and kind of limit
KINDS = {"address space": (resource.RLIMIT_AS, 60, 4000), "data": (resource.RLIMIT_DATA, 4, 1000)}  # in MB


class Limits(Attack):
    def test_commands(self):
        for kind, (limit, least, most) in KINDS.items():
            draw, tried, refused = random.Random(kind), 0, 0
            for command in COMMANDS:
                for _ in range(LIMITS):
                    size = least * (most / least) ** draw.random()
                    what = f"{command.name}, {kind} {size:.0f} MB"
                    with self.subTest(what):
                        tried += 1
                        done = run(command.args, self.copy(), [(limit, int(size * 2**20))], timeout=30)
                        loads = b"error while loading shared libraries" in done.stderr  # the program has not begun
                        refused += done.returncode not in (0, 10)
                        if not loads:
                            self.assert_sentence(done, what)
            figure(f"limits of {kind}", tried, f"{refused:,} commands ended with a message, the others with their result")


if __name__ == "__main__":
    unittest.main()
