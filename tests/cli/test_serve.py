# SPDX-License-Identifier: Apache-2.0
"""`scant serve`: labelling over HTTP, from a first item to an export.

(Hostile requests: test_serve_hostile.py. Kills: test_serve_kills.py.)
"""
import contextlib
import csv
import http.client
import io
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import threading
import time
import unittest
import zlib

import numpy as np

from scantcli import run
from servecase import CLASSES, SLOW, Person, Refused, ServeCase, Stream, png


class Labelling(ServeCase):
    def test_a_project_is_labelled_trained_and_exported(self):
        project = self.project(120, settings=("batch=12", "audit_every=4"))
        server = self.serve(project, "--threads", 1)
        ann = self.person(server)
        session = ann.get("/api/session")
        self.assertEqual(session["person"]["name"], "ann")
        known = [{key: s[key] for key in ("name", "summary")} for s in json.loads(self.ok("strategies", "--format", "json"))]
        self.assertEqual(session["project"].pop("strategies"), known)
        self.assertEqual(session["project"] | {"name": 0, "key": 0}, {
            "name": 0, "key": 0, "kind": "features", "items": 120, "batch": 12, "overlap": 1, "lease_seconds": 300,
            "classes": [{"label": i, "name": name} for i, name in enumerate(CLASSES)]})
        stream = Stream(server.port)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200)
        seen, entries = set(), []
        for n in range(1, 41):
            [item] = ann.next()
            self.assertEqual(set(item), {"item", "id", "text", "picture", "lease", "until"})
            self.assertEqual(item["id"], str(item["item"]))
            self.assertNotIn(item["item"], seen)
            seen.add(item["item"])
            got = ann.answer(item, int(self.truth[item["item"]]))
            self.assertEqual(got["labels"], n)
            entries.append(got["receipts"][0]["entry"])
            self.assertFalse(got["receipts"][0]["repeated"])
        self.assertEqual(len(set(entries)), 40)
        # a model is trained automatically, and an event tells open pages
        self.assertGreaterEqual(stream.until(lambda e: e["model"] >= 1 and e["labels"] == 40)["round"], 1)
        status = self.eventually(
            lambda: (s := ann.get("/api/status"))["info"]["models"] and s["worker"]["doing"] == "idle" and s, "a model")
        self.assertIsNone(status["worker"]["error"])
        self.assertEqual(status["info"]["labelled"], 40)
        self.assertEqual(status["info"]["audited"], status["info"]["labelled"] - status["info"]["training"])
        self.assertGreater(status["info"]["audited"], 4)
        self.assertEqual(sum(row["labelled"] for row in status["balance"]), 40)
        self.assertEqual(sum(row["predicted"] for row in status["balance"]), 120)
        self.assertEqual([(p["name"], p["answers"]) for p in status["people"]], [("ann", 40)])
        self.assertAlmostEqual(status["people"][0]["median_seconds"], 0.7, delta=0.03)
        self.assertGreater(len(status["advice"]), 1)
        self.assertGreater(status["meter"]["accuracy"], 0.5)
        self.assertEqual(status["rounds"][0]["strategy"], "random")
        self.assertEqual(status["settings"]["batch"], "12")
        # predictions and their explanation
        left = next(i for i in range(120) if i not in seen)
        said = ann.get(f"/api/items/{left}/prediction")
        self.assertEqual(len(said["classes"]), 3)
        self.assertAlmostEqual(sum(c["p"] for c in said["classes"]), 1, places=4)
        why = ann.get(f"/api/items/{left}/why")
        self.assertEqual(why["class_1"], said["classes"][0]["label"])
        self.assertGreater(len(why["neighbours"]), 1)
        self.assertIn(why["neighbours"][0]["item"], seen)
        points = ann.get("/api/map")["points"]
        self.assertEqual(sorted(p[0] for p in points), list(range(120)))
        self.assertTrue(all(abs(x) <= 1 and abs(y) <= 1 for _, x, y, *_ in points))
        self.assertEqual(sum(p[4] for p in points), 12)
        # export
        code, headers, data = ann.raw("GET", "/api/export?format=csv")
        self.assertEqual(code, 200)
        self.assertIn("attachment", headers["Content-Disposition"])
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        self.assertEqual(len(rows), 120)
        for kind in ("jsonl", "label-studio", "npy"):
            self.assertEqual(ann.raw("GET", f"/api/export?format={kind}")[0], 200)
        labels = np.load(io.BytesIO(ann.raw("GET", "/api/export?format=npy")[2]))
        for i in seen:
            self.assertEqual(labels[i], self.truth[i])
        self.assertEqual(server.end(), 0)
        self.assertIn("stopping", "".join(server.said))

    def collapses(self, project):
        """The number of trainings that collapsed."""
        [[count]] = self.database(project).execute("SELECT count(*) FROM events WHERE kind = 'collapsed'")
        return count

    def test_a_collapsed_training_is_not_repeated_until_enough_labels_are_new_or_settings_change(self):
        project = self.project(settings=("batch=10", "audit_every=0"))
        server = self.serve(project)
        ann = self.person(server)
        label = lambda count: [ann.answer(item, int(self.truth[item["item"]])) for item in ann.next(count)]
        label(10)
        self.eventually(lambda: [r["model"] for r in ann.get("/api/status")["rounds"]][-1:] == [1], "picks by a model")
        stream = Stream(server.port)
        self.addCleanup(stream.close)
        ann.post("/api/settings", model="mlp", lr="10")  # a thousand times too large
        label(10)
        event = stream.until(lambda e: e["worker"]["failed"])
        self.assertEqual((event["model"], event["worker"]["failed"]), (1, "training"))
        self.assertIn("model 1 is still used", event["worker"]["error"])
        for restart in False, True:
            if restart:
                self.assertEqual(server.end(), 0)
                server = self.serve(project)
                ann = self.person(server)
            worker = self.eventually(
                lambda: (w := ann.get("/api/status")["worker"])["phase"] == "waiting for more labels or other settings" and w,
                "the training's end")
            self.assertEqual((worker["doing"], worker["failed"], worker["next_after"]), ("idle", "training", 10))
            ann.answer(*ann.next(), None, "skip")
            time.sleep(2.5)  # the worker looks every two seconds
            self.assertEqual(self.collapses(project), 1)
        status = ann.get("/api/status")
        self.assertEqual((status["meter"]["model"], status["collapsed"]["model"], status["collapsed"]["labels"]),
                         (1, 1, 20))
        self.assertIn("The last training failed", status["advice"][0])
        self.assertIn("model 1 is still used", status["advice"][0])
        left = next(item for item in ann.next())["item"]
        self.assertEqual(ann.get(f"/api/items/{left}/prediction")["model"], 1)
        label(9)
        self.eventually(lambda: ann.get("/api/status")["worker"]["next_after"] == 1, "one label to go")
        time.sleep(2.5)
        self.assertEqual(self.collapses(project), 1)
        label(1)
        self.eventually(lambda: self.collapses(project) == 2, "a training with ten more labels")
        ann.post("/api/settings", lr="auto")
        status = self.eventually(
            lambda: (s := ann.get("/api/status"))["meter"]["model"] == 2 and s["worker"]["doing"] == "idle" and s, "a model")
        self.assertEqual((status["collapsed"], status["worker"]["error"]), (None, None))

    def test_items_are_picked_although_the_first_training_collapsed(self):
        project = self.project(settings=("batch=10", "audit_every=0", "model=mlp", "lr=10"))
        with open(self.path("labels.csv"), "w") as file:
            file.write("id,label\n" + "".join(f"{i},{CLASSES[self.truth[i]]}\n" for i in range(20)))
        self.ok("label", project, "--import", self.path("labels.csv"))
        ann = self.person(self.serve(project))
        status = self.eventually(lambda: (s := ann.get("/api/status"))["rounds"] and s, "a round")
        self.assertEqual((status["models"], status["meter"]["model"], status["rounds"][0]["strategy"]),
                         ([], None, "random"))
        self.assertIn("there is still no model", status["advice"][0])
        self.assertEqual(self.collapses(project), 1)

    def test_answers_can_be_undone_and_replaced(self):
        server = self.serve(self.project(), "--no-training")
        ann = self.person(server)
        first, second = ann.next(2)
        ann.answer(first, 1)
        ann.answer(second, None, "unsure")
        undone = ann.post("/api/undo", once=ann.once())
        self.assertEqual(undone["was"], {"kind": "unsure", "label": None})
        self.assertEqual(undone["item"]["item"], second["item"])
        again = ann.answer(undone["item"], 2)
        self.assertEqual(again["labels"], 2)
        # the first item again, without a lease: an own answer can be replaced
        got = ann.post("/api/answers", answers=[
            {"item": first["item"], "lease": None, "kind": "label", "label": 0, "once": ann.once()}])
        self.assertEqual(got["labels"], 2)
        mine = ann.get("/api/mine?count=10")["entries"]
        self.assertEqual([(e["item"], e["kind"], e["label"], e["stands"]) for e in mine],
                         [(first["item"], "label", 0, True), (second["item"], "label", 2, True),
                          (second["item"], "unsure", None, False), (first["item"], "label", 1, False)])
        self.assertEqual([e["entry"] for e in ann.get(f"/api/mine?count=1&before={mine[0]['entry']}")["entries"]],
                         [mine[1]["entry"]])
        item = ann.get(f"/api/items/{first['item']}")
        self.assertEqual((item["label"], item["answers"], item["disputed"]), (0, 1, False))
        self.assertEqual(item["mine"], {"kind": "label", "label": 0, "entry": mine[0]["entry"]})
        self.assertIsNone(self.person(server, "bob").get(f"/api/items/{first['item']}")["mine"])
        # until no answer is left to undo
        for _ in range(4):
            if ann.ask("POST", "/api/undo", {"once": ann.once()})[0] == 409:
                break
        self.refused(409, ann.post, "/api/undo", once=ann.once())

    def test_replaced_and_undone_answers_are_not_counted(self):
        project = self.project()
        server = self.serve(project, "--no-training")
        ann = self.person(server)
        first, second = ann.next(2)
        for label in 0, 1, 2:
            ann.answer(first, label)
        ann.answer(second, 0)
        people = lambda: [(p["name"], p["answers"]) for p in ann.get("/api/status")["people"]]
        told = lambda: [(p["name"], p["answers"]) for p in
                        json.loads(self.ok("status", project, "--format", "json"))["people"]]
        self.assertEqual(people(), [("ann", 2)])
        self.assertEqual(told(), people())
        ann.post("/api/undo", once="u")
        self.assertEqual(people(), [("ann", 1)])
        self.assertEqual(told(), people())

    def test_an_entry_is_undone_by_its_number(self):
        server = self.serve(self.project(), "--no-training")
        ann, bob = self.person(server), self.person(server, "bob")
        first, second = ann.next(2)
        entry = ann.answer(first, 1)["receipts"][0]["entry"]
        last = ann.answer(second, 2)["receipts"][0]["entry"]
        self.refused(409, bob.post, "/api/undo", once="b", entry=entry)
        undone = ann.post("/api/undo", once="u", entry=entry)
        self.assertEqual((undone["entry"], undone["item"]["item"]), (entry, first["item"]))
        self.assertEqual(undone["was"], {"kind": "label", "label": 1})
        self.refused(409, ann.post, "/api/undo", once="v", entry=entry)
        self.refused(409, ann.post, "/api/undo", once="w", entry=10 ** 6)
        self.assertEqual(ann.get(f"/api/items/{second['item']}")["mine"]["entry"], last)
        self.assertIsNone(ann.get(f"/api/items/{first['item']}")["mine"])

    def test_an_undone_item_leased_to_another_person_has_no_lease(self):
        project = self.project(6, settings=("overlap=2", "audit_every=0"))
        server = self.serve(project, "--no-training")
        ann, bob = self.person(server), self.person(server, "bob")
        [item] = ann.next()
        ann.answer(item, 1)
        self.assertIn(item["item"], [i["item"] for i in bob.next(6)])
        undone = ann.post("/api/undo", once="u")["item"]  # which bob has leased meanwhile
        self.assertEqual((undone["item"], undone["lease"], undone["until"]), (item["item"], None, None))

    def test_invalid_leases_are_ignored(self):
        server = self.serve(self.project(), "--no-training")
        ann = self.person(server)
        [item] = ann.next()
        odd = ["0" * 16, "f" * 16, "x", None, item["lease"]]
        self.assertEqual(ann.post("/api/renew", leases=odd)["kept"], 1)
        self.assertEqual(ann.post("/api/release", leases=odd), {})
        self.assertEqual(ann.post("/api/renew", leases=odd)["kept"], 0)

    def test_requests_for_another_project_are_refused(self):
        ours, other = self.project(), self.project(name="other")
        server = self.serve(ours, "--no-training")
        ann = self.person(server)
        key = ann.get("/api/session")["project"]["key"]
        self.assertRegex(key, "^[0-9a-f]{32}$")
        status, body = ann.ask("POST", "/api/next", {"count": 1}, {"X-Scant-Project": key})
        self.assertEqual(status, 200)
        [item] = body["items"]
        server.end()
        there = self.serve(other, "--no-training", "--port", server.port)
        ann.enter()
        self.assertNotEqual(ann.get("/api/session")["project"]["key"], key)
        answer = {"item": item["item"], "lease": None, "kind": "label", "label": 1, "once": "o"}
        status, body = ann.ask("POST", "/api/answers", {"answers": [answer]}, {"X-Scant-Project": key})
        self.assertEqual((status, type(body["error"])), (412, str))
        there.end()
        self.serve(ours, "--no-training")
        self.assertEqual(self.person(self.serve(other, "--no-training")).get("/api/status")["info"]["entries"], 0)

    def test_two_tabs_of_one_person_show_different_items(self):
        server = self.serve(self.project(30, settings=("audit_every=0",)), "--no-training")
        ann = self.person(server)

        def items(page, count=4):
            return ann.post("/api/next", count=count, page=page)["items"]
        one, two = items("one"), items("two")
        self.assertEqual((len(one), len(two)), (4, 4))
        self.assertFalse({i["item"] for i in one} & {i["item"] for i in two})
        for page, had in (("one", one), ("two", two)):
            self.assertEqual([i["lease"] for i in items(page)], [i["lease"] for i in had])
        live = "SELECT count(*) FROM leases WHERE live = 1"
        self.assertEqual(self.database(self.path("project")).execute(live).fetchone(), (8,))  # and no others
        # an item that a tab has undone stays with that tab; a released item is free
        ann.answer(two[0], 1)
        ann.post("/api/undo", once="u", page="two")
        self.assertNotIn(two[0]["item"], [i["item"] for i in items("one", 30)])
        self.assertEqual(len(items("one", 30)), 26)
        ann.post("/api/release", leases=[i["lease"] for i in two])
        self.assertEqual(len(items("one", 30)), 29)
        # a page without a name gets all leases of the person
        self.assertEqual(len(ann.next(30)), 30)
        self.refused(422, ann.post, "/api/next", count=1, page="x" * 33)

    def test_leases_of_a_closed_tab_expire(self):
        project = self.project(8, settings=("audit_every=0", "lease_minutes=0.1"))
        server = self.serve(project, "--no-training")
        ann = self.person(server)
        self.assertEqual(len(ann.post("/api/next", count=8, page="gone")["items"]), 8)
        self.assertEqual(ann.post("/api/next", count=8, page="here")["items"], [])
        self.eventually(lambda: len(ann.post("/api/next", count=8, page="here")["items"]) == 8, "all of them")

    def test_signing_in_and_out_change_the_session(self):
        server = self.serve(self.project(), "--no-training")
        ann = Person(server.port)
        self.addCleanup(ann.close)
        ann.csrf = ann.get("/api/session")["csrf"]
        before, old = ann.cookie, ann.csrf
        ann.name = "ann"
        ann.enter()
        self.assertNotIn(ann.cookie, (None, before))
        self.assertNotEqual(ann.csrf, old)
        self.assertIsNone(Person.good(*ann.ask("GET", "/api/session", headers={"Cookie": before}))["person"])
        ann.enter()
        self.assertTrue(ann.next())
        inside = ann.cookie
        left = ann.post("/api/leave")
        self.assertEqual((left["person"], left["needs_token"]), (None, False))
        ann.csrf = left["csrf"]
        self.refused(401, ann.post, "/api/next", count=1)
        self.assertEqual(ann.ask("GET", "/api/mine", headers={"Cookie": inside})[0], 401)

    def test_answers_and_undos_are_idempotent(self):
        server = self.serve(self.project(), "--no-training")
        ann = self.person(server)
        [item] = ann.next()
        answer = {"item": item["item"], "lease": item["lease"], "kind": "label", "label": 1, "once": "o-1"}
        first = ann.post("/api/answers", answers=[answer])["receipts"][0]
        second = ann.post("/api/answers", answers=[answer])["receipts"][0]
        self.assertEqual((first["entry"], True), (second["entry"], second["repeated"]))
        self.assertEqual(ann.get("/api/status")["info"]["entries"], 1)
        undone = ann.post("/api/undo", once="u-1")
        self.assertEqual(ann.post("/api/undo", once="u-1")["entry"], undone["entry"])
        self.assertEqual(ann.get("/api/status")["info"]["entries"], 2)

    def test_an_item_is_leased_to_one_person_at_a_time(self):
        server = self.serve(self.project(40), "--no-training")
        ann, bob = self.person(server), self.person(server, "bob")
        hers, his = ann.next(15), bob.next(15)
        self.assertFalse({i["item"] for i in hers} & {i["item"] for i in his})
        self.assertEqual([i["item"] for i in ann.next(15)], [i["item"] for i in hers])
        # released items go to others; leased ones do not, and others cannot answer them
        ann.post("/api/release", leases=[i["lease"] for i in hers[:5]])
        self.assertEqual(ann.post("/api/renew", leases=[i["lease"] for i in hers])["kept"], 10)
        rest = bob.next(40)
        given = {i["item"] for i in rest} & {i["item"] for i in hers}
        self.assertEqual(given, {i["item"] for i in hers[:5]})
        stolen = [{"item": i["item"], "lease": i["lease"], "kind": "label", "label": 0, "once": ann.once()}
                  for i in (hers[0], hers[7])]
        body = self.refused(409, ann.post, "/api/answers", answers=stolen)
        self.assertEqual(body["items"], [hers[0]["item"]])
        self.assertEqual(ann.get("/api/status")["info"]["entries"], 0)  # all or none

    def test_second_opinions_give_agreement_and_disputes(self):
        server = self.serve(self.project(20, settings=("overlap=2",)), "--no-training")
        for name, shift in (("ann", 0), ("bob", 1)):
            person = self.person(server, name)
            for item in person.next(20):
                self.assertFalse({"label", "answers", "mine", "role"} & set(item))  # answers of others are not shown
                wrong = shift and item["item"] < 5
                person.answer(item, int(self.truth[item["item"]] + wrong) % 3)
        status = self.person(server).get("/api/status")
        self.assertEqual(status["info"]["disputed"], 5)
        [pair] = status["agreements"]
        self.assertEqual((pair["items"], pair["agreed"]), (20, 0.75))
        self.assertTrue(0 < pair["kappa"] < 1)

    def test_similar_items_can_be_labelled_together(self):
        server = self.serve(self.project())
        ann = self.person(server)
        [item] = ann.next()
        like = self.eventually(lambda: ann.ask("POST", "/api/alike", {"item": item["item"], "count": 6})[1].get("items"),
                               "similar items")
        self.assertEqual(len(like), 6)
        self.assertEqual({int(self.truth[i["item"]]) for i in like}, {int(self.truth[item["item"]])})
        answers = [{"item": i["item"], "lease": i["lease"], "kind": "label", "label": 1, "once": ann.once()} for i in like]
        self.assertEqual(ann.post("/api/answers", answers=answers)["labels"], 6)
        self.refused(404, ann.post, "/api/alike", item=10 ** 9)

    def test_classes_and_settings_change_while_it_serves(self):
        project = self.project()
        server = self.serve(project, "--no-training")
        ann = self.person(server)
        self.assertEqual(ann.post("/api/classes", name="owl")["label"], 3)
        self.refused(409, ann.post, "/api/classes", name="owl")
        self.assertEqual(len(ann.get("/api/session")["project"]["classes"]), 4)
        ann.answer(ann.next()[0], 3)
        self.refused(422, ann.answer, ann.next()[0], 4)
        got = ann.post("/api/settings", batch=7, stop_width=0.25, auto_train=False)["settings"]
        self.assertEqual((got["batch"], got["stop_width"], got["auto_train"]), ("7", "0.25", "no"))
        # all or none
        error = self.refused(422, ann.post, "/api/settings", batch=9, strategy="nonsense")["error"]
        self.assertIn("nonsense", error)
        self.assertEqual(ann.get("/api/status")["settings"]["batch"], "7")
        self.refused(422, ann.post, "/api/settings", nosuchkey=1)
        # a value that is allowed, but contradicts the project
        self.assertIn("bayes", self.refused(422, ann.post, "/api/settings", strategy="bald")["error"])
        self.assertIn("audit set", self.refused(422, ann.post, "/api/settings", audit_most=7)["error"])
        # another program sees the new class
        self.assertEqual(server.end(), 0)
        self.assertIn("owl", self.ok("status", project))

    def test_training_on_request_starts_or_is_refused_with_a_reason(self):
        server = self.serve(self.project(settings=("batch=10",)), "--no-training")
        ann = self.person(server)
        self.assertIn("two classes", self.refused(409, ann.post, "/api/train")["error"])
        for item in ann.next(30):
            ann.answer(item, 0)
        self.assertIn("all of one class", self.refused(409, ann.post, "/api/train")["error"])
        for item in ann.next(20):
            ann.answer(item, int(self.truth[item["item"]]))
        self.assertEqual(ann.get("/api/status")["info"]["models"], 0)  # not trained automatically
        ann.post("/api/train")
        self.eventually(lambda: ann.get("/api/status")["info"]["models"] == 1, "a model")
        self.eventually(lambda: ann.get("/api/status")["info"]["rounds"] == 1, "a round")
        self.assertIsNone(ann.get("/api/status")["worker"]["error"])

    def test_training_waits_for_a_second_class(self):
        server = self.serve(self.project(settings=("batch=5", "audit_every=0")))
        ann = self.person(server)
        for item in ann.next(12):
            ann.answer(item, 0)
        worker = self.eventually(
            lambda: (w := ann.get("/api/status")["worker"])["phase"] == "waiting for a second class" and w, "waiting")
        self.assertEqual((worker["doing"], worker["error"], worker["next_after"]), ("idle", None, 1))
        ann.answer(ann.next()[0], 1)
        self.eventually(lambda: ann.get("/api/status")["info"]["models"], "a model")
        worker = self.eventually(lambda: (w := ann.get("/api/status")["worker"])["doing"] == "idle" and w, "its end")
        self.assertEqual((worker["phase"], worker["error"]), ("", None))

    def test_a_failed_training_is_retried_after_a_setting_changes_and_reveals_no_paths(self):
        os.makedirs(self.path("secret place"))
        project = self.project(name="secret place/p", settings=("batch=5", "audit_every=0"))
        server = self.serve(project)
        ann = self.person(server)
        self.eventually(lambda: ann.get("/api/status")["info"]["rounds"], "a round")
        blocked = os.path.join(project, "models")  # a file in place of the folder, so that no model can be written
        if os.path.isdir(blocked):
            os.rename(blocked, blocked + ".away")
        with open(blocked, "w"):
            pass
        for item in ann.next(8):
            ann.answer(item, int(self.truth[item["item"]]))
        error = self.eventually(lambda: ann.get("/api/status")["worker"]["error"], "a failure")
        self.assertNotIn("secret", error)
        self.assertNotIn(os.path.dirname(self.path("x")), error)
        os.remove(blocked)
        self.assertEqual(ann.get("/api/status")["info"]["models"], 0)
        ann.post("/api/settings", epochs=20)
        self.eventually(lambda: ann.get("/api/status")["info"]["models"], "a model")
        self.eventually(lambda: ann.get("/api/status")["worker"]["error"] is None, "no error any more")

    def test_picking_that_failed_is_repeated_once_it_is_possible(self):
        project = self.project(settings=("batch=6", "audit_every=0"))
        server = self.serve(project)
        ann = self.person(server)
        self.eventually(lambda: ann.get("/api/status")["info"]["rounds"] == 1, "a round")
        with sqlite3.connect(os.path.join(project, "project.db")) as database:  # a value that an earlier version accepted
            database.execute("INSERT INTO settings VALUES ('strategy', 'bald')")
        for item in ann.next(6):
            ann.answer(item, int(self.truth[item["item"]]))
        for _ in range(2):  # the error stays while people continue
            worker = self.eventually(
                lambda: (w := ann.get("/api/status")["worker"])["error"] and w["doing"] == "idle" and w, "an error")
            self.assertEqual(worker["failed"], "picking")
            self.assertIn("bayes", worker["error"])
            ann.answer(ann.next()[0], 0)
            time.sleep(0.5)
        status = ann.get("/api/status")
        self.assertEqual((status["info"]["models"], status["info"]["rounds"]), (1, 1))
        ann.post("/api/settings", strategy="margin")
        self.eventually(lambda: ann.get("/api/status")["info"]["rounds"] == 2, "picks")
        status = ann.get("/api/status")
        self.assertEqual((status["rounds"][-1]["model"], status["rounds"][-1]["strategy"]), (1, "margin"))
        self.eventually(lambda: ann.get("/api/status")["worker"]["failed"] is None, "no error any more")
        # also for a model that another program has trained
        self.ok("train", project)
        self.eventually(lambda: ann.get("/api/status")["info"]["rounds"] == 3, "picks")
        self.assertEqual(ann.get("/api/status")["rounds"][-1]["model"], 2)

    def test_missing_predictions_do_not_block_the_server(self):
        project = self.project(settings=("batch=6", "audit_every=0"))
        server = self.serve(project)
        ann = self.person(server)
        for item in ann.next(6):
            ann.answer(item, int(self.truth[item["item"]]))
        self.eventually(lambda: ann.get("/api/status")["info"]["rounds"] == 2, "a model's picks")
        self.assertIsNotNone(ann.get("/api/status")["balance"][0]["predicted"])
        self.assertEqual(server.end(), 0)
        shutil.rmtree(os.path.join(project, "cache"))
        os.rename(self.features, self.features + ".away")  # as if a disk were not mounted
        server = self.serve(project)
        ann = self.person(server)
        status = ann.get("/api/status")
        self.assertEqual(status["info"]["labelled"], 6)
        self.assertIsNone(status["balance"][0]["predicted"])
        self.assertIn("no prediction for this item", self.refused(404, ann.get, "/api/items/3/prediction")["error"])
        self.eventually(lambda: ann.get("/api/status")["worker"]["failed"] == "preparing", "a failure")
        os.rename(self.features + ".away", self.features)
        ann.answer(ann.next()[0], 0)
        self.eventually(lambda: ann.get("/api/status")["balance"][0]["predicted"] is not None, "predictions")
        self.assertEqual(len(ann.get("/api/items/3/prediction")["classes"]), 3)

    def test_a_cache_that_is_deleted_is_filled_again(self):
        project = self.project()
        with open(self.path("labels.csv"), "w") as file:
            file.write("id,label\n" + "".join(f"{i},{CLASSES[self.truth[i]]}\n" for i in range(40)))
        self.ok("label", project, "--import", self.path("labels.csv"))
        self.ok("train", project)
        shutil.rmtree(os.path.join(project, "cache"))
        server = self.serve(project, "--no-training")
        ann = self.person(server)
        for _ in range(2):
            self.eventually(lambda: ann.ask("GET", "/api/items/50/prediction")[0] == 200, "a prediction")
            self.assertIsNotNone(ann.get("/api/status")["balance"][0]["predicted"])
            shutil.rmtree(os.path.join(project, "cache"))  # while it is served
        self.assertEqual(ann.get("/api/status")["info"]["models"], 1)

    def test_changes_by_another_program_are_sent_to_pages(self):
        project = self.project()
        server = self.serve(project, "--no-training")
        stream = Stream(server.port)
        self.addCleanup(stream.close)
        self.assertEqual(stream.next()["labels"], 0)
        with open(self.path("labels.csv"), "w") as file:
            file.write("id,label\n" + "".join(f"{i},cat\n" for i in range(9)))
        self.ok("label", project, "--import", self.path("labels.csv"))
        self.assertEqual(stream.until(lambda e: e["entries"] == 9)["labels"], 9)
        # a stream ends when the server does
        self.assertEqual(server.end(), 0)
        self.assertIsNone(stream.until(lambda e: False))

    def test_images_with_strange_names_are_served(self):
        os.makedirs(self.path("pictures/dir"))
        names = ["plain.png", 'dir/quo"te.png', "dir/\u00e9\u4e2d.png", "dir/nl\n.png"]
        for i, name in enumerate(names):
            with open(self.path("pictures/" + name), "wb") as file:
                file.write(png(300, (40 * i, 90, 200 - 40 * i)))
        with open(os.fsencode(self.path("pictures/dir/")) + b"raw\xff.png", "wb") as file:
            file.write(png(8, (1, 2, 3)))
        with open(self.path("pictures/broken.png"), "wb") as file:
            file.write(png(8, (9, 9, 9))[:60])
        made = run("new", self.path("p"), "--images", self.path("pictures"), "--classes", "a,b")
        if made.returncode:  # an invalid image may be refused when the project is created
            os.remove(self.path("pictures/broken.png"))
            self.ok("new", self.path("p"), "--images", self.path("pictures"), "--classes", "a,b")
        server = self.serve(self.path("p"), "--no-training")
        ann = self.person(server)
        items = {i["id"]: i for i in ann.next(50)}
        for name in names:
            self.assertIn(name, items)
        self.assertIn("dir/raw\ufffd.png", items)
        for name in names:
            path = items[name]["picture"]
            for size, most in (("", 1024), ("?size=96", 96), ("?size=256", 256)):
                code, headers, data = ann.raw("GET", path + size)
                self.assertEqual(code, 200)
                self.assertIn(headers["Content-Type"], ("image/jpeg", "image/png"))
                self.assertIn("private", headers["Cache-Control"])
                if data[:4] == b"\x89PNG":
                    self.assertEqual(int.from_bytes(data[16:20], "big"), min(most, 300))
            self.assertEqual(ann.raw("GET", path + "?size=97")[0], 400)
        if "broken.png" in items:
            self.assertEqual(ann.raw("GET", items["broken.png"]["picture"])[0], 404)
        self.assertEqual(ann.raw("GET", "/api/items/999/picture")[0], 404)

    def test_slow_images_delay_no_cached_ones_and_a_slow_failure_is_kept(self):
        def large(side):
            packer = zlib.compressobj(1)
            packed = b"".join([packer.compress(bytes(1 + 3 * side)) for _ in range(side)] + [packer.flush()])

            def chunk(kind, body):
                return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
                    + chunk(b"IDAT", packed) + chunk(b"IEND", b""))

        os.makedirs(self.path("pictures"))
        slow = large(10000)
        long = b"IHDR" + struct.pack(">II", 1, 1 << 28) + slow[24:29]
        files = {"0.png": png(300, (9, 90, 200)), **{f"{i}.png": slow for i in range(1, 5)}, "5.png": slow[:-100],
                 "6.png": slow[:12] + long + struct.pack(">I", zlib.crc32(long)) + slow[33:]}
        for name, data in files.items():
            with open(self.path("pictures/" + name), "wb") as file:
                file.write(data)
        self.ok("new", self.path("p"), "--images", self.path("pictures"), "--classes", "a,b")
        server = self.serve(self.path("p"), "--no-training")
        ann = self.person(server)
        self.assertEqual(ann.raw("GET", "/api/items/0/picture")[0], 200)  # now it is cached
        done = []

        def load(number):
            other = self.person(server, f"bob{number}")
            started.release()
            done.append(other.raw("GET", f"/api/items/{number}/picture")[0])
        started = threading.Semaphore(0)
        threads = [threading.Thread(target=load, args=(number,)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for _ in threads:
            started.acquire()
        time.sleep(0.05)
        self.assertEqual(ann.raw("GET", "/api/items/0/picture")[0], 200)
        self.assertLess(len(done), 4)  # each of them takes half a second or more, two at a time
        for thread in threads:
            thread.join(SLOW)
        self.assertEqual(done, [200] * 4)
        for _ in range(2):
            code, _, body = ann.raw("GET", "/api/items/5/picture")
            self.assertEqual(code, 404)
            self.assertIn("5.png: the PNG image is damaged", json.loads(body)["error"])
        with open(self.path("p/cache/pictures/0/5-1024"), "rb") as file:
            self.assertTrue(file.read().startswith(b"refused 1: "))
        code, _, body = ann.raw("GET", "/api/items/6/picture")
        self.assertEqual(code, 404)
        self.assertIn("6.png: takes too long to decode", json.loads(body)["error"])
        with open(self.path("pictures/5.png"), "wb") as file:  # repaired
            file.write(files["0.png"])
        self.assertEqual(ann.raw("GET", "/api/items/5/picture")[0], 200)

    def test_names_that_look_like_other_names_are_refused(self):
        server = self.serve(self.project(20), "--no-training")
        ann, stranger = self.person(server), Person(server.port)
        self.addCleanup(stranger.close)
        stranger.csrf = stranger.get("/api/session")["csrf"]
        for name in (" ", "ann ", "\u00a0ann", "ann\u200b", "a\u202enn"):
            with self.subTest(name):
                status, body = stranger.ask("POST", "/api/session", {"name": name})
                self.assertEqual(status, 422, body)
                self.refused(409, ann.post, "/api/classes", name=name)
        self.assertEqual(len(ann.get("/api/session")["project"]["classes"]), 3)

    def test_texts_are_sent_unchanged(self):
        with open(self.path("m.jsonl"), "w") as file:
            for i in range(9):
                print(json.dumps({"id": f"t{i}", "row": i, "text": f"<b>{i}</b> & \u201cquoted\u201d\n\u2028"}), file=file)
        server = self.serve(self.project(9, manifest=self.path("m.jsonl")), "--no-training")
        ann = self.person(server)
        self.assertEqual(ann.get("/api/session")["project"]["kind"], "texts")
        for item in ann.next(9):
            self.assertEqual(item["text"], f"<b>{item['id'][1:]}</b> & \u201cquoted\u201d\n\u2028")
            self.assertIsNone(item["picture"])


    def test_replies_that_nobody_reads_need_bounded_memory(self):
        """50 clients ask for the same 40 items, 10 MB of text, and do not read."""
        with open(self.path("m.jsonl"), "w") as file:
            for i in range(40):
                print(json.dumps({"id": f"t{i}", "row": i, "text": "x" * 250000}), file=file)
        server = self.serve(self.project(40, manifest=self.path("m.jsonl")), "--no-training")
        ann = self.person(server)
        body = b'{"count": 40}'
        request = (f"POST /api/next HTTP/1.1\r\nHost: localhost\r\nCookie: {ann.cookie}\r\nX-Scant: {ann.csrf}\r\n"
                   f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
        with contextlib.ExitStack() as stack:
            wires = []
            for _ in range(50):
                wire = stack.enter_context(socket.socket())
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                wire.settimeout(SLOW)
                wire.connect(("127.0.0.1", server.port))
                wire.sendall(request)
                wires.append(wire)
            got = [int(wire.recv(64).split()[1]) for wire in wires]
            with open(f"/proc/{server.child.pid}/status") as file:
                peak = int(re.search(r"VmHWM:\s*(\d+)", file.read())[1]) / 1024  # MB
            self.assertEqual(ann.ask("GET", "/api/items/1")[0], 503)  # larger than 64 KB
            self.assertEqual(ann.ask("GET", "/api/session")[0], 200)
        self.assertEqual(set(got), {200, 503})
        self.assertGreater(got.count(200), 15)
        if not os.environ.get("SCANT_SANITIZE"):
            self.assertLess(peak, 450)
        self.eventually(lambda: ann.ask("GET", "/api/items/1")[0] == 200, "room again")


class Life(ServeCase):
    def test_a_second_server_is_refused_and_names_the_first(self):
        project = self.project()
        server = self.serve(project)
        for port in (0, server.port):
            error = self.fails(2, "serve", project, "--port", port, says=("process", server.address))
            self.assertIn(str(server.child.pid), error)
        # the project is free after the server ends, also after a kill
        server.kill()
        self.assertEqual(self.serve(project).end(signal.SIGTERM), 0)

    def test_a_port_in_use_is_refused(self):
        server = self.serve(self.project())
        self.fails(2, "serve", self.project(name="other"), "--port", server.port, says=("taken", "--port"))

    def test_wrong_calls_are_refused(self):
        project = self.project()
        self.fails(2, "serve", says="which project")
        self.fails(3, "serve", self.dir, says="project")
        self.fails(2, "serve", project, "--host", "0.0.0.0", "--port", 0, says="--token")
        self.fails(2, "serve", project, "--host", "0.0.0.0", "--port", 0, "--token", "short", says="16")
        self.fails(2, "serve", project, "--token", "short", says="16")
        self.fails(2, "serve", project, "--port", 70000)
        self.fails(2, "serve", project, "--host", "no such host.invalid", "--port", 0, says="--host")
        self.assertIn("--token", run("serve", "--help").stdout)

    def test_labels_and_leases_survive_a_restart_and_sessions_do_not(self):
        project = self.project()
        server = self.serve(project, "--no-training")
        ann = self.person(server)
        item, open_one = ann.next(2)
        ann.answer(item, 1)
        server.kill()
        server = self.serve(project, "--no-training", "--port", server.port)
        ann.close()
        self.assertEqual(ann.ask("POST", "/api/next", {"count": 1})[0], 401)
        self.assertIsNone(ann.get("/api/session")["person"])
        ann.enter()
        self.assertEqual(ann.get(f"/api/items/{item['item']}")["mine"]["label"], 1)
        self.assertEqual(ann.answer(open_one, 2)["labels"], 2)  # the lease is still valid

    def test_a_full_disk_confirms_nothing(self):
        project = self.project(2000)
        server = self.serve(project, "--no-training", file_size=os.path.getsize(project + "/project.db") + 500000)
        ann, confirmed, refused = self.person(server), [], None
        for item in ann.next(50):
            answer = {"item": item["item"], "lease": item["lease"], "kind": "label", "label": 1, "once": ann.once()}
            status, body = ann.ask("POST", "/api/answers", {"answers": [answer]})
            if status == 200:
                confirmed.append(item["item"])
            else:
                refused = (status, body["error"])
                break
        self.assertEqual(refused[0], 507, refused)
        self.assertNotIn(os.path.dirname(project), refused[1])
        self.assertGreater(len(confirmed), 5)
        # stored labels can still be read, and nothing unconfirmed was stored
        self.assertEqual(ann.get("/api/status")["info"]["labelled"], len(confirmed))
        self.assertEqual(ann.ask("POST", "/api/answers", {"answers": [answer]})[0], 507)
        # with room again, the same answer is accepted
        resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        got = self.eventually(lambda: ann.ask("POST", "/api/answers", {"answers": [answer]})[1].get("receipts"), "room")
        self.assertFalse(got[0]["repeated"])
        self.assertEqual(ann.get("/api/status")["info"]["labelled"], len(confirmed) + 1)
        self.assertEqual(server.end(), 0)
        self.assertEqual(self.database(project).execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def test_a_lost_database_confirms_nothing(self):
        project = self.project()
        server = self.serve(project, "--no-training", "--quiet")
        ann = self.person(server)
        away = project + "-away"
        # the worker writes nothing while the folder is moved
        self.eventually(lambda: ann.get("/api/status")["worker"]["doing"] == "idle" and
                        os.path.exists(project + "/cache/features.npy"), "features")

        # The worker may write into the cache at any time, so the folder is moved out of its sight
        # before it is removed, and a copy has no cache.
        def remove():
            os.rename(project, project + "-gone")
            shutil.rmtree(project + "-gone")

        def swap():
            os.rename(project, away)
            shutil.copytree(away, project, ignore=shutil.ignore_patterns("cache"))

        def unswap():
            remove()
            os.rename(away, project)

        def cut():
            shutil.copy(project + "/project.db", away)
            os.truncate(project + "/project.db", 4096)

        def uncut():
            with open(project + "/project.db", "r+b") as file, open(away, "rb") as old:
                file.write(old.read())
            os.remove(away)

        def cut_log():
            shutil.copy(project + "/project.db-wal", away)
            os.truncate(project + "/project.db-wal", 0)

        def uncut_log():
            shutil.copyfile(away, project + "/project.db-wal")
            os.remove(away)

        for i, (lose, restore) in enumerate(((lambda: os.rename(project, away), lambda: os.rename(away, project)),
                                             (swap, unswap), (cut, uncut), (cut_log, uncut_log))):
            [item] = ann.next()
            answer = {"item": item["item"], "lease": item["lease"], "kind": "label", "label": 1, "once": ann.once()}
            lose()
            before = len(server.said)
            for _ in range(2):
                status, body = ann.ask("POST", "/api/answers", {"answers": [answer]})
                self.assertEqual(status, 503, body)
                self.assertNotIn(os.path.dirname(project), body["error"])
            self.eventually(lambda: "project.db" in "".join(server.said[before:]), "a line on stderr")
            restore()
            self.assertEqual(ann.post("/api/answers", answers=[answer])["labels"], i + 1)
        self.assertLess(len(server.said), 16)
        remove()
        self.assertEqual(ann.ask("POST", "/api/next", {"count": 1})[0], 503)
        time.sleep(2.5)  # the worker looks for its cache every two seconds
        self.assertFalse(os.path.exists(project))
        server.end()

    def test_a_log_lost_before_the_first_write_confirms_nothing(self):
        project = self.project()
        server = self.serve(project, "--no-training", "--quiet")
        os.remove(project + "/project.db-wal")
        self.refused(503, self.person, server)
        server.end()

    def test_running_requests_are_finished_before_the_server_ends(self):
        project = self.project(5000)
        for _ in range(3):
            server = self.serve(project)
            ann = self.person(server)
            confirmed, begun, told = 0, time.monotonic(), False
            with self.assertRaises((Refused, OSError, http.client.HTTPException)):
                while time.monotonic() < begun + SLOW:
                    for item in ann.next(5):
                        if time.monotonic() > begun + 0.2 and not told:
                            server.child.send_signal(signal.SIGINT)
                            told = True
                        ann.answer(item, 0)
                        confirmed += 1
            self.assertEqual(server.end(signal.SIGTERM), 0)  # a second signal does not interrupt the shutdown
            self.assertGreater(confirmed, 0)
            self.confirmed = confirmed + getattr(self, "confirmed", 0)
            entries = self.database(project).execute("SELECT count(*) FROM labels").fetchone()[0]
            self.assertGreaterEqual(entries, self.confirmed)


class Token(ServeCase):
    token = "correct horse battery"

    def test_without_the_token_nothing_is_revealed(self):
        server = self.serve(self.project(), "--token", self.token)
        stranger = Person(server.port)
        self.addCleanup(stranger.close)
        session = stranger.get("/api/session")
        stranger.csrf = session["csrf"]
        self.assertEqual(session | {"csrf": 0}, {"person": None, "csrf": 0, "needs_token": True})
        for path in ("/api/status", "/api/map", "/api/items/0", "/api/items/0/picture", "/api/export?format=csv",
                     "/api/mine", "/api/events", "/api/openapi.json"):
            self.assertEqual(stranger.ask("GET", path)[0], 401, path)
        for path in ("/api/next", "/api/answers", "/api/classes", "/api/settings", "/api/train"):
            self.assertEqual(stranger.ask("POST", path, {})[0], 401, path)
        for wrong in ("", "x", self.token[:-1], self.token + "x", self.token.upper()):
            status, _ = stranger.ask("POST", "/api/session", {"name": "eve", "token": wrong or None})
            self.assertEqual(status, 403)
        self.assertEqual(stranger.ask("POST", "/api/session", {"name": "eve", "token": 5})[0], 422)
        self.assertEqual(stranger.ask("GET", "/api/status")[0], 401)
        ann = self.person(server, token=self.token)
        self.assertFalse(ann.get("/api/session")["needs_token"])
        self.assertEqual(len(ann.next(3)), 3)
        left = ann.post("/api/leave")
        self.assertEqual(left | {"csrf": 0}, {"person": None, "csrf": 0, "needs_token": True})
        self.assertEqual(ann.ask("GET", "/api/status")[0], 401)
        self.assertIn("wrong token", "".join(server.said))
        self.assertNotIn(self.token, "".join(server.said))

    def test_guesses_of_a_token_are_slowed_and_lock_nobody_else_out(self):
        server = self.serve(self.project(), "--no-training", "--token", self.token)
        guessers = [Person(server.port, source="127.0.0.2") for _ in range(20)]
        for one in guessers:
            self.addCleanup(one.close)
            one.csrf = one.get("/api/session")["csrf"]
        got, over, begun = [], threading.Event(), time.monotonic()

        def guess(one):
            while not over.is_set():
                got.append(one.ask("POST", "/api/session", {"name": "eve", "token": "x"})[0])

        threads = [threading.Thread(target=guess, args=(one,)) for one in guessers]
        for thread in threads:
            thread.start()
        self.eventually(lambda: got.count(429) > 1000, "guesses that are refused")
        ann = self.person(server, token=self.token)
        self.assertTrue(ann.next())
        # a token of the guessers' address is not even compared
        late = Person(server.port, source="127.0.0.2")
        self.addCleanup(late.close)
        late.csrf = late.get("/api/session")["csrf"]
        status, headers, body = late.raw("POST", "/api/session", json.dumps({"name": "bob", "token": self.token}), {
            "Cookie": late.cookie, "X-Scant": late.csrf, "Content-Type": "application/json"})
        self.assertEqual((status, headers["Retry-After"] in ("1", "2")), (429, True), body)
        over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(set(got), {403, 429})
        self.assertLessEqual(got.count(403), 11 + (time.monotonic() - begun) / 2)
        late.name, late.token = "bob", self.token

        def enters():
            try:
                return late.enter()
            except Refused as refused:
                return refused.status != 429

        self.assertTrue(self.eventually(enters, "the end of the wait")["person"])

    def test_many_visitors_do_not_end_a_sign_in(self):
        server = self.serve(self.project(), "--no-training", "--token", self.token)
        ann, other = Person(server.port), Person(server.port)
        for one in (ann, other):
            self.addCleanup(one.close)
        ann.csrf = ann.get("/api/session")["csrf"]
        for _ in range(1100):
            other.raw("GET", "/api/session")
        self.assertEqual(ann.post("/api/session", name="ann", token=self.token)["person"]["name"], "ann")

    def test_the_token_can_come_from_the_environment(self):
        server = self.serve(self.project(), "--host", "0.0.0.0", env={"SCANT_TOKEN": self.token})
        self.assertTrue(self.person(server, token=self.token).next())
        stranger = Person(server.port)
        self.addCleanup(stranger.close)
        stranger.name = "eve"
        self.refused(403, stranger.enter)


if __name__ == "__main__":
    unittest.main()
