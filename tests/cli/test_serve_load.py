# SPDX-License-Identifier: Apache-2.0
"""Fifty people label at the same time: no item is leased twice, and answers are confirmed quickly, also
while a model is trained. The latencies are printed.

SCANT_LOAD_SECONDS is the duration of each test (4).
"""
import collections
import os
import random
import threading
import time
import unittest

from servecase import SLOW, Person, ServeCase

PEOPLE = 50
ENOUGH = 2 * PEOPLE  # answers
SECONDS = float(os.environ.get("SCANT_LOAD_SECONDS", 4))
THINKING = 0.4  # mean seconds per item: faster than any person


def quantile(times, q):
    times = sorted(times)
    return 1000 * times[min(len(times) - 1, int(q * len(times)))]


class Crowd:
    """People who label for some time, each on their own connection."""

    def __init__(self, case, server, truth):
        self.case, self.server, self.truth = case, server, truth
        self.lock = threading.Lock()
        self.holders = {}  # item: the person who has it
        self.given = collections.Counter()
        self.answers, self.nexts, self.wrong = [], [], []

    def hold(self, name, items):
        with self.lock:
            for item in items:
                holder = self.holders.setdefault(item["item"], name)
                if holder != name:
                    self.wrong.append(f"{item['item']} is {holder}'s and {name}'s")
                self.given[item["item"]] += 1

    def work(self, name, goes_on):
        draw, person = random.Random(name), Person(self.server.port, name)
        try:
            time.sleep(draw.uniform(0, THINKING))  # so that they do not start together
            while goes_on():
                begun = time.monotonic()
                items = person.next(2)
                self.nexts.append(time.monotonic() - begun)
                if not items:
                    break
                self.hold(name, items)
                for item in items:
                    time.sleep(draw.uniform(0.5, 1.5) * THINKING)
                    begun = time.monotonic()
                    person.answer(item, int(self.truth[item["item"]]))
                    self.answers.append(time.monotonic() - begun)
        except Exception as error:  # reported by check() in the main thread
            self.wrong.append(repr(error))
        person.close()

    def run(self, seconds, enough=lambda: True):
        """Labels for this many seconds; on a busy machine longer, until there are ENOUGH answers and
        enough() holds."""
        until = time.monotonic() + seconds

        def goes_on():
            now = time.monotonic()
            return now < until or now < until + SLOW and not (len(self.answers) > ENOUGH and enough())

        threads = [threading.Thread(target=self.work, args=(f"person {i}", goes_on)) for i in range(PEOPLE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=seconds + 2 * SLOW)

    def say(self, what):
        print(f"\n{PEOPLE} people, {what}: {len(self.answers)} labels; an answer takes p50 {quantile(self.answers, .5):.1f} ms, "
              f"p99 {quantile(self.answers, .99):.1f} ms, at most {quantile(self.answers, 1):.1f} ms; "
              f"next p50 {quantile(self.nexts, .5):.1f} ms, p99 {quantile(self.nexts, .99):.1f} ms")


class Load(ServeCase):
    def check(self, crowd, person):
        self.assertEqual(crowd.wrong, [])
        self.assertEqual([i for i, n in crowd.given.items() if n > 1], [], "items handed out twice")
        info = person.get("/api/status")["info"]
        self.assertEqual(info["labelled"], len(crowd.answers))
        self.assertEqual(info["disputed"], 0)
        self.assertGreater(len(crowd.answers), ENOUGH)

    def test_fifty_people_get_different_items(self):
        server = self.serve(self.project(60000), "--no-training")
        crowd = Crowd(self, server, self.truth)
        crowd.run(SECONDS)
        crowd.say("no training")
        self.check(crowd, self.person(server))

    def test_fifty_people_get_different_items_during_training(self):
        project = self.project(60000, settings=("batch=200", "epochs=3000"))
        server = self.serve(project)
        crowd, busy, over = Crowd(self, server, self.truth), [], threading.Event()

        def watch():
            person = Person(server.port)
            while not over.is_set():
                busy.append(person.get("/api/status")["worker"]["doing"])
                time.sleep(0.1)
            person.close()

        watcher = threading.Thread(target=watch)
        watcher.start()
        crowd.run(SECONDS, lambda: any(doing != "idle" for doing in busy))
        over.set()
        watcher.join(timeout=SLOW)
        part = sum(doing != "idle" for doing in busy) / len(busy)
        crowd.say(f"the worker is busy {100 * part:.0f} % of the time")
        self.check(crowd, self.person(server))
        self.assertGreater(part, 0, "nothing was trained during the test")


if __name__ == "__main__":
    unittest.main()
