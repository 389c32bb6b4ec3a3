# SPDX-License-Identifier: Apache-2.0
"""People label and undo while labels are imported, the server is killed and restarted, its disk is full for a
time, and an fsync fails. What was confirmed is stored, once; what is derived follows from the history.
"""
import collections
import random
import signal
import threading
import time
import unittest

from attack import FAULTS, SOAK
import test_serve_kills
from scantcli import figure, run
from servecase import CLASSES, Refused, ServeCase, Server

PEOPLE = 200 if SOAK else 8
SECONDS = 600 if SOAK else 4
ITEMS = 400_000 if SOAK else 20_000
IMPORTED = 20  # labels in a file
UNDO = 4


class Changeable(test_serve_kills.Stubborn):
    """Undoes some of the confirmed answers."""

    def __init__(self, *args):
        super().__init__(*args)
        self.undone, self.conflicts, self.refused, self.draw = {}, 0, 0, random.Random(self.person_name)

    def post(self, path, **body):
        try:
            return super().post(path, **body)
        except Refused as refused:
            self.refused += refused.status == 507
            raise

    def label(self, item):
        try:
            super().label(item)
            known = list(self.confirmed.values())[-1:]
            if known and self.draw.random() < 0.1:
                entry, once = known[0][2], self.once()
                self.sent[once] = None
                if self.attempt(lambda: self.post("/api/undo", entry=entry, once=once)):
                    self.undone[entry] = once
        except Refused as refused:  # the item was imported meanwhile, or undone by a request that was cut off
            if refused.status not in (404, 409):
                raise
            self.conflicts += 1


class Crowd(ServeCase):
    def faults(self, n, draw):
        """The variables that let calls of the n-th server fail, after those that it starts with."""
        kind = ("write:%d+", "", "sync:%d", "")[n % 4]
        return {"LD_PRELOAD": FAULTS, "FAULTS": kind % 10 ** draw.uniform(1.7, 3)} if kind else {}

    def import_labels(self, project, first):
        """Imports the labels of some items; returns whether that was confirmed."""
        path = self.path("import.csv")
        with open(path, "w") as file:
            file.write("id,label\n" + "".join(f"{i},{CLASSES[self.truth[i]]}\n" for i in range(first, first + IMPORTED)))
        return run("label", project, "--import", path).returncode == 0

    def check_people(self, rows, people):
        """Each confirmed answer and undo is in the history once, and nothing else."""
        by_once = {once: (item, label, entry) for entry, item, kind, label, once, _, _ in rows if once and kind == 1}
        undos = {undoes: once for _, _, kind, _, once, undoes, _ in rows if kind == UNDO}
        times = collections.Counter(once for _, _, _, _, once, _, _ in rows if once)
        self.assertEqual([once for once, n in times.items() if n > 1], [], "stored twice")
        for person in people:
            self.assertEqual(person.wrong, [])
            self.assertEqual({o: what for o, what in person.confirmed.items() if by_once.get(o) != what}, {}, "lost answers")
            self.assertEqual({e: o for e, o in person.undone.items() if undos.get(e) != o}, {}, "lost undos")
        sent = {once for person in people for once in person.sent}
        self.assertEqual(times.keys() - sent, set(), "entries that nobody sent")

    def check_derived(self, db, rows):
        """The current answers are the last entry of each person for each item, unless that was undone."""
        undone = {undoes for _, _, kind, _, _, undoes, _ in rows if kind == UNDO}
        last = {(item, person): (entry, kind, label) for entry, item, kind, label, _, _, person in rows if kind != UNDO}
        current = {(*key, *what) for key, what in last.items() if what[0] not in undone}
        found = set(db.execute("SELECT item, person, entry, kind, class FROM answers"))
        self.assertEqual(found, current)

    def check(self, project, people, imported):
        db = self.database(project)
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(db.execute("PRAGMA foreign_key_check").fetchall(), [])
        rows = db.execute("SELECT entry, item, kind, class, once, undoes, person FROM labels ORDER BY entry").fetchall()
        self.check_people(rows, people)
        self.check_derived(db, rows)
        files = {item for entry, item, kind, label, once, undoes, person in rows if not once}
        self.assertEqual({i for first in imported for i in range(first, first + IMPORTED)} - files, set(), "lost imports")
        return len(rows)

    def start(self, project, faults):
        """Starts a server; without the faults if they do not let it start."""
        server = Server(project, "--threads", 1, "--quiet", env=faults)
        self.addCleanup(server.end, signal.SIGKILL)
        return server if server.address else self.serve(project, "--threads", 1, "--quiet")

    def trouble(self, project, place, people, draw):
        """Kills and restarts the server, and imports labels; returns (kills, the first items of imports)."""
        begun, kills, imported, first = time.monotonic(), 0, [], ITEMS

        def goes_on():
            enough = imported and any(person.refused for person in people)
            return time.monotonic() < begun + (SECONDS if enough else 10 * SECONDS)

        while goes_on():
            server = self.start(project, self.faults(kills, draw))
            place["port"] = server.port
            time.sleep(draw.uniform(0.1, 2 if SOAK else 0.6))
            first -= IMPORTED
            if self.import_labels(project, first):
                imported.append(first)
            server.kill()
            kills += 1
        server = self.serve(project, "--threads", 1, "--quiet")
        place["port"] = server.port
        return server, kills, imported

    def test_confirmed_is_stored(self):
        project = self.project(ITEMS, settings=("batch=25", "audit_every=8"))
        over, place = threading.Event(), {"port": 1}
        people = [Changeable(place, f"person {i}", self.truth, over) for i in range(PEOPLE)]
        threads = [threading.Thread(target=person.work) for person in people]
        for thread in threads:
            thread.start()
        try:
            server, kills, imported = self.trouble(project, place, people, random.Random(31))
            before = sum(len(p.confirmed) for p in people)
            self.eventually(lambda: sum(len(p.confirmed) for p in people) > before + PEOPLE, "labels after the trouble")
        finally:
            over.set()
            for thread in threads:
                thread.join(timeout=120)
        server.kill()
        stored = self.check(project, people, imported)
        confirmed, undone = (sum(len(getattr(p, name)) for p in people) for name in ("confirmed", "undone"))
        refused = sum(p.refused for p in people)
        figure("kills of a server with full disks, failing fsyncs and imports", kills,
               f"{PEOPLE} people: {confirmed:,} answers, {undone:,} undos and {IMPORTED * len(imported):,} imported labels "
               f"confirmed, {stored:,} entries stored, {refused:,} requests refused by a full or failing disk, 0 lost, 0 stored twice")
        self.assertGreater(confirmed, 20 * kills)
        self.assertTrue(imported and refused)


if __name__ == "__main__":
    unittest.main()
