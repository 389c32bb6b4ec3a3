# SPDX-License-Identifier: Apache-2.0
"""A server is killed (kill -9) at random times while people label, and restarted.

No confirmed label is lost, none is stored twice, and the database is intact. Like the page, people
repeat unconfirmed answers with the same `once`.

SCANT_KILLS is the number of kills (20; `make soak`: 200).
"""
import collections
import http.client
import json
import os
import random
import threading
import time
import unittest

from scantcli import figure, run
from servecase import SLOW, Person, Refused, ServeCase

SOAK = int(os.environ.get("SCANT_SOAK", 0)) > 1000
KILLS = int(os.environ.get("SCANT_KILLS", 200 if SOAK else 20))
PEOPLE = 8
ITEMS = 2000 + 1000 * KILLS  # more than can be labelled during the test


class Stubborn(Person):
    """Labels until `over` is set, also across restarts of the server."""

    def __init__(self, place, name, truth, over):
        super().__init__(None)
        self.place, self.truth, self.over = place, truth, over
        self.person_name = name
        self.confirmed = {}  # once: (item, label, entry)
        self.sent = {}       # once: (item, label)
        self.repeated = 0
        self.wrong = []

    def attempt(self, call):
        """The result of call(), repeated until the server answers; None after `over`."""
        while not self.over.is_set():
            try:
                if self.port != self.place["port"]:
                    self.close()
                    self.port, self.name, self.cookie = self.place["port"], self.person_name, None
                    self.enter()
                return call()
            except Refused as refused:
                if refused.status in (401, 403):
                    self.port = None
                elif refused.status < 500:
                    raise
            except (OSError, http.client.HTTPException, ValueError):
                self.port = None
            time.sleep(0.01)
        return None

    def label(self, item):
        once, label = self.once(), int(self.truth[item["item"]])
        self.sent[once] = (item["item"], label)
        answer = {"item": item["item"], "lease": item["lease"], "kind": "label", "label": label, "once": once}
        got = self.attempt(lambda: self.post("/api/answers", answers=[answer]))
        if got:
            [receipt] = got["receipts"]
            self.repeated += receipt["repeated"]
            self.confirmed[once] = (item["item"], label, receipt["entry"])

    def work(self):
        try:
            while not self.over.is_set():
                for item in self.attempt(lambda: self.next(3)) or ():
                    self.label(item)
        except Exception as error:  # reported by check() in the main thread
            self.wrong.append(repr(error))
        self.close()


class Kills(ServeCase):
    def check(self, project, people):
        """The history has every confirmed label exactly once; returns the number of labels."""
        db = self.database(project)
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(db.execute("PRAGMA foreign_key_check").fetchall(), [])
        rows = db.execute("SELECT entry, item, class, once FROM labels WHERE kind = 1").fetchall()
        by_once = {once: (item, label, entry) for entry, item, label, once in rows}
        self.assertEqual(len(by_once), len(rows), "a `once` is stored twice")
        times = collections.Counter(item for _, item, _, _ in rows)
        self.assertEqual([i for i, n in times.items() if n > 1], [], "items labelled twice")
        for person in people:
            self.assertEqual(person.wrong, [])
            lost = {once: what for once, what in person.confirmed.items() if by_once.get(once) != what}
            self.assertEqual(lost, {}, "confirmed labels are missing")
        sent = {once: what for person in people for once, what in person.sent.items()}
        for once, (item, label, _) in by_once.items():
            self.assertEqual(sent.get(once), (item, label), "a label that nobody sent")
        states = db.execute("SELECT count(*) FROM states WHERE label >= 0").fetchone()[0]
        self.assertEqual(states, len(rows), "the derived states do not match the history")
        return len(rows)

    def test_no_confirmed_label_is_lost_by_kills(self):
        project = self.project(ITEMS, settings=("batch=25", "audit_every=8"))
        truth, over, place = self.truth, threading.Event(), {}
        server = self.serve(project, "--threads", 1, "--quiet")
        place["port"] = server.port
        people = [Stubborn(place, f"person {i}", truth, over) for i in range(PEOPLE)]
        threads = [threading.Thread(target=person.work) for person in people]
        for thread in threads:
            thread.start()
        draw, kills = random.Random(3), 0
        try:
            while kills < KILLS:
                # every eighth time long enough for a model and a round
                time.sleep(draw.uniform(0, 0.5) if kills % 8 else draw.uniform(0.5, 3))
                server.kill()
                kills += 1
                server = self.serve(project, "--threads", 1, "--quiet")
                place["port"] = server.port
            before = sum(len(p.confirmed) for p in people)
            self.eventually(lambda: sum(len(p.confirmed) for p in people) >= before + PEOPLE,
                            "labels after the last kill")
        finally:
            over.set()
            for thread in threads:
                thread.join(timeout=2 * SLOW)
        models = self.person(server).get("/api/status")["info"]["models"]
        server.kill()
        stored = self.check(project, people)
        confirmed = sum(len(p.confirmed) for p in people)
        repeated = sum(p.repeated for p in people)
        figure("kills of a server", kills, f"{PEOPLE} people: {confirmed:,} labels confirmed, {stored:,} stored "
               f"({stored - confirmed} whose confirmation was cut off), {repeated} sent again after they were stored, "
               f"0 lost, 0 stored twice, {models} models trained")
        self.assertGreater(confirmed, 2 * KILLS)
        self.assertGreaterEqual(stored, confirmed)
        self.assertLessEqual(stored - confirmed, PEOPLE * (KILLS + 1))
        # another program can open the project
        again = run("status", project, "--format", "json")
        self.assertIn(again.returncode, (0, 10), again.stderr)  # 10: the stop rule may hold
        self.assertEqual(json.loads(again.stdout)["labelled"], stored)


if __name__ == "__main__":
    unittest.main()
