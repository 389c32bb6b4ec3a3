# SPDX-License-Identifier: Apache-2.0
"""Every command, with a call to the system that fails: an allocation, write, fsync or open.

The command ends with a message, not a signal. Files are whole or absent, nothing temporary is left, and the
project's database is intact. The same command then succeeds, with the same results.
"""
import os
import random
import unittest

from attack import COMMANDS, FAULTS, SOAK, Attack, history, is_whole, ok, run, tree
from scantcli import figure

KINDS = {"malloc": "failed allocations", "write": "full disks", "sync": "failed fsyncs", "open": "failed opens"}
POINTS = 300 if SOAK else 2  # calls that fail, for each command and kind
KEPT = ("-wal", "-shm", ".lock")  # SQLite's files beside a database, and locks, may stay


class FailingCalls(Attack):
    commands = [command for command in COMMANDS if command.args[0] != "new"]  # test_failing_new.py

    def count(self, command):
        """How many calls of each kind a command makes, and the paths of all files afterwards."""
        folder = self.copy("whole")
        counts = os.path.join(self.place.name, "counts")
        ok(command.args, folder, LD_PRELOAD=FAULTS, FAULTS_COUNT=counts)
        with open(counts) as file:
            found = {kind: int(n) for kind, n in (line.split() for line in file)}
        return found, tree(folder)

    def check_after(self, command, folder, whole, what):
        """Nothing is left half-written."""
        litter = {path for path in tree(folder) - whole if not path.endswith(KEPT)}
        self.assertEqual(litter, set(), f"{what}: files that a successful command does not leave")
        for path in command.writes:
            at = os.path.join(folder, path)
            if os.path.isfile(at):
                self.assertTrue(is_whole(at, os.path.join(self.place.name, "whole", path)), f"{what}: {path} is not whole")
        if command.changes:
            history(os.path.join(folder, command.changes))

    def check_again(self, command, folder, whole, what):
        """The command succeeds without failing calls. Cached files may be missing."""
        again = run(self.again(command, folder), folder)
        self.assertIn(again.returncode, (0, 10), f"after {what}: {again.stderr.decode(errors='replace')}")
        missing = {path for path in whole - tree(folder) if not path.endswith(KEPT) and "/cache/" not in path}
        self.assertEqual(missing, set(), f"after {what}")
        self.check_exact(command, folder, os.path.join(self.place.name, "whole"), "after " + what)

    def try_point(self, command, kind, n, on, whole):
        """Runs a command whose call number n fails, then without failures; returns whether it failed."""
        what = f"{command.name}, {kind} {n}{'+' if on else ''}"
        folder = self.copy()
        done = run(command.args, folder, LD_PRELOAD=FAULTS, FAULTS=f"{kind}:{n}{'+' if on else ''}")
        self.assert_sentence(done, what)
        failed = done.returncode not in (0, 10)
        self.check_after(command, folder, whole, what)
        if b"the project is created" in done.stderr:  # without what is computed when it is needed
            self.assertEqual(run(["query", command.writes[0]], folder).returncode, 0)
        elif failed:
            self.check_again(command, folder, whole, what)
        return failed

    def attack(self, kind):
        draw, tried, failed = random.Random(kind), 0, 0
        for command in self.commands:
            counts, whole = self.count(command)
            for point in draw.sample(range(1, counts[kind] + 1), min(counts[kind], POINTS)):
                with self.subTest(command=command.name, kind=kind, point=point):
                    tried += 1
                    failed += self.try_point(command, kind, point, draw.random() < 0.5, whole)
        figure(KINDS[kind] + " of the program", tried,
               f"{failed:,} commands ended with a message, the others succeeded; nothing half-written")
        self.assertGreater(failed, tried / 3)

    def test_an_allocation_that_fails(self):
        self.attack("malloc")

    def test_a_full_disk(self):
        self.attack("write")

    def test_an_fsync_that_fails(self):
        self.attack("sync")

    def test_an_open_that_fails(self):
        self.attack("open")


if __name__ == "__main__":
    unittest.main()
