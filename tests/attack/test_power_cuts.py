# SPDX-License-Identifier: Apache-2.0
"""The power is cut at a random call while a command writes; see powercut.py for what is then on the disk.

Afterwards the project opens, its database is intact, and every confirmed answer is there. Files of the command
are whole or absent, or as before. The command, resumed or repeated, ends with the same results.
"""
import os
import random
import shutil
import signal
import sqlite3
import unittest

from attack import COMMANDS, FAULTS, SOAK, Attack, history, is_whole, ok, run
from powercut import KINDS, Disk, read_records, told
from scantcli import figure
from servecase import Person, Server

CUTS = 100 if SOAK else 3  # for each command and kind of file system
SERVER_CUTS = 2000 if SOAK else 60


def first_cut(records):
    """The number of records before the first that changes anything."""
    return next((i for i, r in enumerate(records) if r.kind not in "od"), len(records))


class PowerCuts(Attack):
    def record(self, folder):
        """The variables that record what a program writes in a folder."""
        journal = os.path.join(self.place.name, "journal")
        if os.path.exists(journal):
            os.remove(journal)
        return journal, {"LD_PRELOAD": FAULTS, "FAULTS_RECORD": journal, "FAULTS_UNDER": folder}

    def cut(self, disk, kind, draw):
        """Restarts after the cut: the folder that is left."""
        left = os.path.join(self.place.name, "left")
        shutil.rmtree(left, ignore_errors=True)
        disk.after_cut(kind, draw, left)
        return left

    def check_project(self, project, before, what):
        self.assertLessEqual(before.items(), history(project).items(), f"{what}: entries are lost")
        done = run(["status", project], self.place.name)
        self.assertIn(done.returncode, (0, 10), f"{what}: {done.stderr.decode(errors='replace')}")

    def check_files(self, command, left, whole, ended, what):
        for path in command.writes:
            at = os.path.join(left, path)
            if ended:
                self.assertTrue(os.path.exists(at), f"{what}: {path} is lost")
            if os.path.isfile(at):
                self.assertTrue(is_whole(at, os.path.join(whole, path)), f"{what}: {path} is not whole")
            if os.path.isdir(at) and command.args[0] == "new":
                self.check_project(at, {}, what)
        if ended:
            self.check_exact(command, left, whole, what)

    def check_again(self, command, left, whole, what):
        if command.args[0] == "new" and os.path.exists(os.path.join(left, command.writes[0])):
            return  # it was complete
        again = run(self.again(command, left), left)
        self.assertIn(again.returncode, (0, 10), f"after {what}: {again.stderr.decode(errors='replace')}")
        self.check_exact(command, left, whole, "after " + what)

    def try_command(self, command, draw):
        whole = self.copy("whole")
        before = history(os.path.join(whole, command.changes)) if command.changes else {}
        disk = Disk(whole)
        journal, variables = self.record(whole)
        ok(command.args, whole, **variables)
        after = history(os.path.join(whole, command.changes)) if command.changes else {}
        records, at, cuts = read_records(journal), 0, 0
        first = first_cut(records)
        points = [len(records)] + [draw.randint(first, len(records)) for _ in range(CUTS - 1)]
        for point in sorted(points):
            for record in records[at:point]:
                disk.do(record)
            at = point
            ended = point == len(records)
            for kind in KINDS:
                what = f"{command.name}, cut after {point} of {len(records)} calls, {kind}"
                with self.subTest(what):
                    cuts += 1
                    left = self.cut(disk, kind, draw)
                    if command.changes:
                        self.check_project(os.path.join(left, command.changes), after if ended else before, what)
                    self.check_files(command, left, whole, ended, what)
                    if not ended:
                        self.check_again(command, left, whole, what)
        return cuts

    def test_commands(self):
        draw = random.Random(11)
        cuts = sum(self.try_command(command, draw) for command in COMMANDS)
        figure("power cuts of a command", cuts, "nothing lost; files whole or absent; repeated, the results are the same")

    def label(self, server, count):
        """A person labels items, and undoes every tenth answer."""
        person = Person(server.port, "ann")
        for i in range(count):
            [item] = person.next()
            [receipt] = person.answer(item, i % 3)["receipts"]
            if i % 10 == 9:
                person.post("/api/undo", entry=receipt["entry"], once=person.once())
        person.close()

    def record_server(self):
        """Records a server with which a person labels; returns its folder's state before, and the records."""
        folder = self.copy("served")
        project = os.path.join(folder, "project")
        ok(["set", "project", "batch=8"], folder)
        before, disk = history(project), Disk(folder)
        journal, variables = self.record(folder)
        server = Server(project, "--threads", 1, "--quiet", env=variables)
        try:
            self.label(server, 80 if SOAK else 60)
        finally:
            server.end(signal.SIGKILL)
        return before, disk, read_records(journal)

    def check_server(self, disk, before, confirmed, undone, draw, what):
        left = os.path.join(self.cut(disk, draw.choice(KINDS), draw), "project")
        self.check_project(left, before, what)
        entries = history(left)
        self.assertEqual(confirmed - entries.keys(), set(), f"{what}: confirmed entries are lost")
        self.assertEqual(undone - {undoes for *_, undoes in entries.values()}, set(), f"{what}: undos are lost")

    def test_server(self):
        before, disk, records = self.record_server()
        draw, at, most = random.Random(12), 0, 0
        points = [len(records)] + [draw.randint(first_cut(records), len(records)) for _ in range(SERVER_CUTS - 1)]
        for point in sorted(points):
            for record in records[at:point]:
                disk.do(record)
            at, (confirmed, undone) = point, told(records[:point])
            most = max(most, len(confirmed) + len(undone))
            what = f"server, cut after {point} of {len(records)} calls"
            with self.subTest(what):
                self.check_server(disk, before, confirmed, undone, draw, what)
        figure("power cuts of a server", SERVER_CUTS, f"0 of up to {most} confirmed answers and undos lost, 0 damaged databases")
        self.assertGreater(most, 60)

    def test_a_loss_is_seen(self):
        """Of a server that does not sync, cuts do lose confirmed answers: the attack can find a loss."""
        before, disk, records = self.record_server()
        for record in records:
            if record.kind not in "sd":
                disk.do(record)
        draw, lost = random.Random(13), 0
        for _ in range(10):
            try:
                self.check_server(disk, before, *told(records), draw, "no syncs")
            except (AssertionError, sqlite3.Error):
                lost += 1
        self.assertGreater(lost, 5)


if __name__ == "__main__":
    unittest.main()
