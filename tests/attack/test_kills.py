# SPDX-License-Identifier: Apache-2.0
"""Every command is killed (kill -9) at random moments.

The project's database is intact and has every entry; an import is stored whole or not at all; files are whole or
absent. The command, resumed or repeated, ends with the same results. (tests/cli/test_serve_kills.py and
test_run_kills.py kill servers and larger experiments.)
"""
import os
import random
import time
import unittest

from attack import COMMANDS, SLOW, SOAK, Attack, history, is_whole, ok, run, start
from scantcli import figure

KILLS = 120 if SOAK else 2  # of each command


def said(entries):
    """What a history says about items, without numbers and names of entries."""
    return sorted((item, kind, label) for item, kind, label, *_ in entries.values())


class Kills(Attack):
    def check_after(self, command, folder, whole, before, after, what):
        for path in command.writes:
            at = os.path.join(folder, path)
            if os.path.isfile(at):
                self.assertTrue(is_whole(at, os.path.join(whole, path)), f"{what}: {path} is not whole")
            if os.path.isdir(at) and command.args[0] == "new":
                history(at)
        if command.changes:
            found = said(history(os.path.join(folder, command.changes)))
            self.assertIn(found, (before, after), f"{what}: the history is neither as before nor complete")

    def check_again(self, command, folder, whole, after, what):
        if command.args[0] == "new" and os.path.exists(os.path.join(folder, command.writes[0])):
            return  # it was complete
        again = run(self.again(command, folder), folder)
        self.assertIn(again.returncode, (0, 10), f"after {what}: {again.stderr.decode(errors='replace')}")
        if command.name != "train a project":  # the killed one may have stored its model: the next is another
            self.check_exact(command, folder, whole, "after " + what)
        if command.changes and command.name != "label":
            self.assertEqual(said(history(os.path.join(folder, command.changes))), after)

    def kill(self, command, draw):
        """Kills a command KILLS times; returns how often it had not ended before."""
        whole = self.copy("whole")
        before = said(history(os.path.join(whole, command.changes))) if command.changes else []
        begun = time.monotonic()
        ok(command.args, whole)
        lasts = time.monotonic() - begun
        after = said(history(os.path.join(whole, command.changes))) if command.changes else []
        killed = 0
        for n in range(KILLS):
            folder, pause = self.copy(), draw.uniform(0, lasts)
            child = start(command.args, folder)
            time.sleep(pause)
            child.kill()
            child.communicate(timeout=SLOW)
            killed += child.returncode < 0
            what = f"{command.name}, killed after {pause * 1000:.1f} ms"
            with self.subTest(what):
                self.check_after(command, folder, whole, before, after, what)
                if child.returncode < 0:
                    self.check_again(command, folder, whole, after, what)
        return killed

    def new_is_killed(self, command, exists):
        """Kills `scant new` when its temporary folder is there; returns whether it was still there then."""
        folder = self.copy()
        born = os.path.join(folder, command.writes[0])
        if exists:
            os.mkdir(born)

        def left():
            return [name for at in (folder, born) if os.path.isdir(at) for name in os.listdir(at) if ".new-" in name]

        child = start(command.args, folder)
        while child.poll() is None and not left():
            pass
        child.kill()
        child.communicate(timeout=SLOW)
        if os.path.exists(os.path.join(born, "project.db")) or not left():
            return False
        ok(command.args, folder)
        self.assertEqual(left(), [])
        history(born)
        return True

    def test_new_in_an_empty_folder_and_beside(self):
        command = next(command for command in COMMANDS if command.args[0] == "new")
        for exists in (False, True):
            with self.subTest(exists=exists):
                self.assertTrue(any([self.new_is_killed(command, exists) for _ in range(5 * KILLS)]))

    def test_commands(self):
        draw = random.Random(21)
        killed = sum(self.kill(command, draw) for command in COMMANDS)
        figure("kills of a command", killed, "nothing lost; files whole or absent; repeated, the results are the same")
        self.assertGreater(killed, len(COMMANDS) * KILLS / 4)


if __name__ == "__main__":
    unittest.main()
