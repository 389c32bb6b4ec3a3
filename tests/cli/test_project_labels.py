# SPDX-License-Identifier: Apache-2.0
"""`scant label`, `export`, `predict` and `log`: importing and exporting labels, and the history."""
import csv
import json
import lzma
import os
import re
import subprocess
import unittest
import urllib.request

import numpy as np

from projectcase import CLASSES, ProjectCase, blobs
from scantcli import SCANT, enlarge, run


class Label(ProjectCase):
    def test_unknown_ids_are_all_listed_and_nothing_is_imported(self):
        project, _ = self.blobs(50)
        unknown = [f"x{i}" for i in range(40)]
        path = self.write("a.csv", "id,label\n3,red\n" + "".join(f"{one},green\n"
                                                               for one in unknown) + "4,blue\n")
        done = run("label", project, "--import", path)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        lines = done.stderr.splitlines()
        self.assertIn("40", lines[0])
        self.assertEqual(sorted(line for line in lines if line in unknown), sorted(unknown))
        self.assertEqual(self.status(project)["entries"], 0)
        done = run("label", project, "--import", path, "--partial")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 labels stored", done.stdout)
        self.assertEqual(sorted(line for line in done.stderr.splitlines() if line in unknown),
                         sorted(unknown))
        self.assertEqual(self.status(project)["entries"], 2)

    def test_the_log_prints_no_control_characters_of_ids(self):
        table = self.write("m.csv", "id,row\n" + "".join(f"\"a\x1b[31m{i}\",{i}\n"
                                                       for i in range(30)))
        project, _ = self.blobs(30, flags=("--manifest", table))
        path = self.write("a.csv", "id,label\n\"a\x1b[31m7\",red\n")
        self.ok("label", project, "--import", path)
        log = self.ok("log", project)
        self.assertIn("a?[31m7 = red", log)
        self.assertNotIn("\x1b", log)

    def test_an_unknown_id_gets_the_nearest_one(self):
        table = self.write("m.csv", "id,row\n" + "".join(f"picture-{i:02},{i}\n"
                                                       for i in range(30)))
        project, _ = self.blobs(30, flags=("--manifest", table))
        path = self.write("a.csv", "id,label\nanother,red\npictur-07,red\n")
        self.fails(3, "label", project, "--import", path, says="did you mean 'picture-07'?")

    def test_unknown_classes_are_refused_skipped_or_added(self):
        project, _ = self.blobs(50)
        path = self.write("a.csv", "id,label\n3,red\n4,grene\n5,mauve\n")
        self.fails(3, "label", project, "--import", path, says=("grene", "'green'"))
        self.assertEqual(self.status(project)["entries"], 0)
        self.assertIn("1 label stored", self.ok("label", project, "--import", path, "--partial"))
        self.assertIn("2 labels stored, 1 already stored",
                      self.ok("label", project, "--import", path, "--add-classes"))
        self.assertEqual([one["name"] for one in self.status(project)["classes"]],
                         [*CLASSES, "grene", "mauve"])

    def test_answers_older_than_the_current_one_are_not_imported(self):
        project, _ = self.blobs(50)
        head = "id,label,annotator,time\n"
        old = self.write("old.csv", head + "3,red,ann,2026-01-05\n4,red,ann,2026-01-05\n5,red,ann,2026-01-05\n")
        self.ok("label", project, "--import", old)
        new = self.write("new.csv", head + "3,green,ann,2026-01-12\n4,green,ann,2026-01-12\n")
        self.ok("label", project, "--import", new)
        self.assertIn("0 labels stored, 1 already stored, 2 older than their annotator's current answer or undo\n",
                      self.ok("label", project, "--import", old))
        self.assertEqual(self.status(project)["entries"], 5)

    def test_names_with_blanks_or_direction_marks_are_trimmed_or_refused(self):
        features, turned = self.path("x.npy"), "ro\u202ebin"
        np.save(features, np.eye(12, dtype=np.float32))
        self.fails(2, "new", self.path("p"), "--features", features, "--classes", f"a,{turned}",
                   says="changes the direction")
        self.fails(2, "new", self.path("p"), "--features", features, "--classes", "a,b\u00a0", says="blank")
        self.ok("new", self.path("p"), "--features", features, "--classes", " a , b")
        labels = self.write("l.csv", "id,label,annotator\n0,a,\" ann \"\n1,\u00a0b,ann\n")
        self.assertIn("2 labels stored", self.ok("label", self.path("p"), "--import", labels))
        self.assertEqual([one["name"] for one in self.status(self.path("p"))["people"]], ["ann"])
        labels = self.write("l.csv", f"id,label\n0,{turned}\n")
        self.fails(3, "label", self.path("p"), "--import", labels, "--add-classes",
                   says=("line 2", "changes the direction"))
        self.fails(2, "label", self.path("p"), "--import", labels, "--annotator", " ", says="blanks")

    def test_invalid_files_are_refused(self):
        project, _ = self.blobs(50)
        self.fails(2, "label", project, says="--import is missing")
        self.fails(3, "label", project, "--import", self.path("none.csv"), says="none.csv")
        for text in ("", "a,b\n1,2\n", "{\"id\": 3\n", "id,label\n\"3,red\n"):
            path = self.write("a.csv", text)
            with self.subTest(text):
                self.fails(3, "label", project, "--import", path, says="a.csv")
        self.assertEqual(self.status(project)["entries"], 0)

    def test_labels_are_read_from_standard_input(self):
        project, _ = self.blobs(50)
        done = run("label", project, "--import", "-", "--annotator", "anna",
                   input="id,label\n3,red\n4,blue\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 labels stored", done.stdout)
        self.assertEqual(self.status(project)["people"][0]["name"], "anna")
        done = run("label", project, "--import", "-", input="nothing\n")
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard input", done.stderr)
        self.assertNotIn("/dev/fd", done.stderr)

    def test_agreement_of_annotators_who_differ(self):
        project, _ = self.blobs(50)
        lines = [{"id": str(i), "label": CLASSES[i % 3], "annotator": who}
                 for who in ("anna", "ben") for i in range(12)]
        lines[-1]["label"] = "red"  # anna labelled item 11 as blue
        path = self.write("a.jsonl", "\n".join(map(json.dumps, lines)))
        self.assertIn("24 labels", self.ok("label", project, "--import", path))
        state = self.status(project)
        self.assertEqual((state["disputed"], state["labelled"]), (1, 11))
        pair, = state["agreements"]
        self.assertEqual({pair["a"], pair["b"]}, {"anna", "ben"})
        self.assertEqual(pair["items"], 12)
        self.assertAlmostEqual(pair["agreed"], 11 / 12)
        # by hand: anna 4, 4, 4; ben 5, 4, 3; chance (20 + 16 + 12) / 144
        chance = 48 / 144
        self.assertAlmostEqual(pair["kappa"], (11 / 12 - chance) / (1 - chance))
        self.assertRegex(run("status", project).stdout,
                         r"anna and ben agree on 92% of 12 items \(Cohen's kappa 0.8[78]\)")

    def test_json_that_needs_more_memory_than_allowed_is_refused(self):
        """Objects inside an object: 10 MB of text, 2 KB packed, and over 1 GB as a tree."""
        project, _ = self.blobs(30)
        bomb = lzma.compress(b'{"id": "1", "label": "red", "x": [' + b"{}," * 3_400_000 + b"0]}\n")
        self.assertLess(len(bomb), 6000)
        path = self.write("bomb.jsonl.xz", bomb)
        for command in (("label", project, "--import", path, "--memory", "128M"),
                        ("add", project, "--features", self.save("more", blobs(20)[0]), "--manifest", path,
                         "--memory", "128M")):
            with subprocess.Popen([SCANT, *map(str, command)], stderr=subprocess.PIPE, text=True) as child:
                said = child.stderr.read()
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 4, said)
            self.assertRegex(said, r"line 1: the object needs \d+ bytes; \d+ of 134217728 allowed are in use")
            if not os.environ.get("SCANT_SANITIZE"):
                self.assertLess(used.ru_maxrss, 400 << 10, command)  # in KB
        self.assertEqual(self.status(project)["entries"], 0)

    def test_a_full_disk_imports_nothing(self):
        project, truth = self.blobs(3000)
        path = self.answers([{"id": str(i)} for i in range(3000)], truth)
        call = f"ulimit -f 100; exec {SCANT} label {project} --import {path}"
        done = subprocess.run(["bash", "-c", "trap '' XFSZ; " + call], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.status(project)["entries"], 0)
        self.assertIn("3000 labels stored", self.ok("label", project, "--import", path))


class Export(ProjectCase):
    def setUp(self):
        super().setUp()
        self.project, self.truth = self.blobs(120)
        rows = self.batch(self.project, "--batch", "40")
        self.ids = [row["id"] for row in rows]
        self.ok("label", self.project, "--import", self.answers(rows, self.truth), "--annotator",
                "anna, \"a\"")

    def train(self):
        done = run("train", self.project)
        self.assertIn(done.returncode, (0, 10), done.stderr)

    def test_an_export_can_be_imported(self):
        """An export can be imported by another project of the same items, in every format."""
        wanted = {one: self.truth[int(one)] for one in self.ids}
        self.train()
        for ending in ("csv", "jsonl", "json"):
            with self.subTest(ending):
                out = self.path("e." + ending)
                self.assertEqual(self.ok("export", self.project, "--out", out), "")
                other, _ = self.blobs(120, name="other-" + ending)
                self.assertIn("40 labels stored", self.ok("label", other, "--import", out))
                log = json.loads(self.ok("log", other, "--format", "json"))
                self.assertEqual({one["id"]: one["label"] for one in log}, wanted)
                self.assertEqual({one["person"] for one in log}, {"anna, \"a\""})
                self.assertIn("0 labels stored, 40 already stored",
                              self.ok("label", other, "--import", out))

    def test_csv_has_no_formulas_and_can_be_imported(self):
        ids = ["=1+1", "+a", "-5", "@x", "\tt", "'=y", "plain", "a=b"]
        quoted = ["'=1+1", "'+a", "'-5", "'@x", "'\tt", "''=y", "plain", "a=b"]
        rows, classes = blobs(8)[0], "=cmd|x,-good"
        manifest = self.write("m.jsonl", "\n".join(json.dumps({"id": one, "row": i}) for i, one in enumerate(ids)))
        features = self.save("f", rows)
        for name in ("a", "b"):
            self.ok("new", self.path(name), "--features", features, "--manifest", manifest, "--classes", classes,
                    "--quiet")
        lines = [{"id": one, "label": "=cmd|x", "annotator": "@eve"} for one in ids]
        self.ok("label", self.path("a"), "--import", self.write("l.jsonl", "\n".join(map(json.dumps, lines))))
        out = self.path("out.csv")
        for form, wanted, label in (("csv-raw", ids, "=cmd|x"), ("csv", quoted, "'=cmd|x")):
            self.ok("export", self.path("a"), "--out", out, "--format", form)
            with open(out, newline="") as file:
                got = list(csv.DictReader(file))
            self.assertEqual([row["id"] for row in got], wanted)
            self.assertEqual({row["label"] for row in got}, {label})
            self.assertEqual({row["annotator"] for row in got}, {label[:-6] + "@eve"})
        self.assertIn("8 labels stored", self.ok("label", self.path("b"), "--import", out))
        for line in self.ok("export", self.path("b"), "--format", "jsonl").splitlines():
            got = json.loads(line)
            self.assertEqual((got["label"], got["annotator"]), ("=cmd|x", "@eve"))
        self.ok("export", self.path("a"), "--out", out, "--format", "csv-raw")
        self.ok("new", self.path("c"), "--features", features, "--manifest", manifest, "--classes", classes, "--quiet")
        self.assertIn("8 labels stored", self.ok("label", self.path("c"), "--import", out))

    def test_a_quote_of_an_id_is_not_taken_for_that_of_an_export(self):
        manifest = self.write("m.jsonl", "\n".join(json.dumps({"id": one, "row": i}) for i, one in enumerate(["-1", "'-1", "'=x"])))
        project = self.path("quotes")
        self.ok("new", project, "--features", self.save("f", blobs(3)[0]), "--manifest", manifest, "--classes", "cat,dog", "--quiet")
        self.fails(3, "label", project, "--import", self.write("l.csv", "id,label\n'-1,cat\n"),
                   says=["line 2", "'-1 is a name of the project", "JSONL"])
        self.assertIn("3 labels stored", self.ok("label", project, "--import", self.write(
            "l.csv", "id,label\n''-1,cat\n'=x,dog\n-1,dog\n")))
        got = {one["id"]: one["label"] for one in map(json.loads, self.ok("export", project, "--format", "jsonl").splitlines())}
        self.assertEqual(got, {"-1": "dog", "'-1": "cat", "'=x": "dog"})

    def test_csv_and_jsonl_have_all_items(self):
        self.train()
        rows = list(csv.DictReader(self.ok("export", self.project, "--format", "csv").splitlines()))
        self.assertEqual([row["id"] for row in rows], [str(i) for i in range(120)])
        labelled = {row["id"] for row in rows if row["label"]}
        self.assertEqual(labelled, set(self.ids))
        lines = [json.loads(line) for line in
                 self.ok("export", self.project, "--format", "jsonl").splitlines()]
        self.assertEqual([line["id"] for line in lines], [str(i) for i in range(120)])
        self.assertEqual({line["id"] for line in lines if line.get("label")}, labelled)

    def test_npy_has_a_label_or_minus_one_for_each_item(self):
        out = self.path("y.npy")
        self.ok("export", self.project, "--out", out)
        labels = np.load(out)
        self.assertEqual((labels.dtype, labels.shape), (np.int64, (120,)))
        for i in range(120):
            self.assertEqual(labels[i], CLASSES.index(self.truth[i]) if str(i) in self.ids else -1)

    def test_the_model_is_exported(self):
        self.train()
        out = self.path("m.safetensors")
        self.assertEqual(self.ok("export", self.project, "--model", out), "")
        with open(out, "rb") as file, open(os.path.join(
                self.project, self.status(self.project)["models"][-1]["file"]), "rb") as own:
            self.assertEqual(file.read(), own.read())
        both = self.path("both.csv")
        self.ok("export", self.project, "--model", out, "--out", both)
        self.assertTrue(os.path.exists(both))

    def test_bad_calls_are_refused(self):
        self.fails(2, "export", self.project, "--format", "xml", says="csv|csv-raw|jsonl")
        self.fails(2, "export", self.project, "--out", self.project + "/project.db",
                   says="database")
        self.fails(4, "export", self.project, "--out", self.path("none/e.csv"),
                   says="cannot be written")
        self.fails(2, "export", self.project, "--out", self.path("x"), "--model", self.path("x"),
                   says="same file")


class Overwriting(ProjectCase):
    """No output replaces a file that the project needs."""

    def refuses(self, project, path, what):
        before = open(path, "rb").read() if os.path.exists(path) else None
        for call in (("export", project, "--out"), ("export", project, "--model"), ("query", project, "--out"),
                     ("predict", project, "--out")):
            self.fails(2, *call, path, says=["would overwrite " + what, call[2]])
        after = open(path, "rb").read() if os.path.exists(path) else None
        self.assertEqual(after, before)

    def test_features_manifest_and_files_of_the_project_are_kept(self):
        table = self.write("m.csv", "id,row\n" + "".join(f"a{i},{i}\n" for i in range(30)))
        project, _ = self.blobs(30, flags=("--manifest", table))
        self.ok("label", project, "--import", self.write("y.csv", "id,label\n" + "".join(
            f"a{i},{CLASSES[i % 2]}\n" for i in range(30))))
        self.ok("train", project)
        rows = self.path("p-rows.npy")
        os.symlink(rows, self.path("link"))
        os.symlink("p/project.db", self.path("link.csv"))
        os.symlink(self.path("link.csv"), self.path("again.csv"))
        os.symlink(os.path.join(project, "models", "0001.safetensors"), self.path("weights"))
        os.symlink(os.path.join(project, "cache"), self.path("elsewhere"))
        os.makedirs(os.path.join(project, "cache", "thumbnails", "64"), exist_ok=True)
        with open(os.path.join(project, "cache", "thumbnails", "64", "1"), "wb") as file:
            file.write(b"deep")
        for path, what in ((rows, "the features of the project's items"), (table, "the manifest of the project"),
                           (self.path("link"), "the features"),
                           (os.path.join(project, "project.db"), "the project's database"),
                           (self.path("link.csv"), "the project's database"),
                           (self.path("again.csv"), "the project's database"),
                           (self.path("weights"), "a model of the project"),
                           (self.path("elsewhere") + "/features.npy", "a file of the project's cache"),
                           (os.path.join(project, "cache", "thumbnails", "64", "1"), "a file of the project's cache"),
                           (os.path.join(project, "project.db-wal"), "the project's database"),
                           (os.path.join(project, "models", "0001.safetensors"), "a model of the project"),
                           (os.path.join(project, "cache", "features.npy"), "a file of the project's cache")):
            self.refuses(project, path, what)
        for _ in range(2):  # other files of its folder can be replaced
            self.ok("export", project, "--out", os.path.join(project, "labels.csv"))

    def test_images_are_kept(self):
        folder, truth = self.images(12)
        project = self.path("p")
        self.ok("new", project, "--images", folder, "--classes", ",".join(CLASSES), "--quiet")
        self.refuses(project, os.path.join(folder, list(truth)[7]), "an image of the project's items")
        self.ok("export", project, "--out", os.path.join(folder, "labels.csv"))


class Predict(ProjectCase):
    def test_all_formats_have_the_same_predictions(self):
        project, truth = self.blobs(90)
        self.label(project, truth, "--batch", "30")
        done = run("train", project)
        self.assertIn(done.returncode, (0, 10), done.stderr)
        probs = self.path("p.npy")
        self.ok("predict", project, "--out", probs)
        array = np.load(probs)
        self.assertEqual((array.dtype, array.shape), (np.float32, (90, 3)))
        np.testing.assert_allclose(array.sum(1), 1, atol=1e-5)
        rows = list(csv.DictReader(self.ok("predict", project).splitlines()))
        self.assertEqual(list(rows[0]), ["id", "class", "confidence"])
        self.assertEqual([row["class"] for row in rows], [CLASSES[c] for c in array.argmax(1)])
        np.testing.assert_allclose([float(row["confidence"]) for row in rows], array.max(1),
                                   rtol=1e-5)
        lines = [json.loads(line) for line in
                 self.ok("predict", project, "--unlabelled", "--format", "jsonl").splitlines()]
        self.assertEqual(len(lines), 60)
        for line in lines:
            self.assertEqual(set(line), {"id", "class", "confidence", "probabilities"})
            np.testing.assert_allclose([line["probabilities"][c] for c in CLASSES],
                                       array[int(line["id"])], rtol=1e-6)
        self.fails(2, "predict", project, "--unlabelled", "--format", "npy", says="--unlabelled")

    def test_the_cache_can_be_deleted(self):
        import shutil
        project, truth = self.blobs(90)
        self.label(project, truth, "--batch", "30")
        self.assertIn(run("train", project).returncode, (0, 10))
        before = self.ok("predict", project)
        shutil.rmtree(project + "/cache")
        self.assertEqual(self.ok("predict", project), before)
        self.assertEqual(len(self.batch(project, "--batch", "5", status=run(
            "status", project).returncode)), 5)

    def test_probabilities_that_are_not_finite_are_refused(self):
        import shutil
        project, truth = self.blobs(90)
        self.label(project, truth, "--batch", "30")
        self.assertIn(run("train", project).returncode, (0, 10))
        with open(project + "/models/0001.safetensors", "rb") as file:
            names = set(json.loads(file.read()[8:].split(b"}}")[0] + b"}}"))
        enlarge(project + "/models/0001.safetensors", sorted(n for n in names if n.endswith("weight"))[-1], 3e38)
        shutil.rmtree(project + "/cache")
        out = self.path("p.csv")
        self.fails(3, "predict", project, "--out", out, says=["outputs for sample ", " are not finite"])
        self.assertFalse(os.path.exists(out))


class Page:
    """An annotator at the labelling page, reduced to what the tests need."""

    def __init__(self, case, project):
        self.server = subprocess.Popen([SCANT, "serve", project, "--port", "0", "--no-training",
                                        "--quiet"], stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.server.stdout.close)
        case.addCleanup(self.server.wait)
        case.addCleanup(self.server.terminate)
        self.address = re.search(r"http://\S+/", self.server.stdout.readline())[0]
        self.open = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                urllib.request.HTTPCookieProcessor()).open
        with self.open(self.address + "api/session") as answer:
            self.csrf = json.load(answer)["csrf"]
        self.csrf = self.post("session", {"name": "anna"})["csrf"]

    def post(self, path, body):
        headers = {"Content-Type": "application/json", "X-Scant": self.csrf}
        with self.open(urllib.request.Request(self.address + "api/" + path,
                                              json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)


class Log(ProjectCase):
    def test_the_newest_entry_is_last_and_replaced_ones_are_marked(self):
        project, _ = self.blobs(50)
        for who, label in (("anna", "red"), ("ben", "blue"), ("anna", "green")):
            path = self.write("a.csv", f"id,label\n7,{label}\n")
            self.ok("label", project, "--import", path, "--annotator", who)
        lines = self.ok("log", project).splitlines()
        self.assertEqual(len(lines), 3)
        for line, words in zip(lines, (("anna", "7 = red", "(replaced)"), ("ben", "7 = blue"),
                                       ("anna", "7 = green"))):
            for word in words:
                self.assertIn(word, line)
        self.assertNotIn("(replaced)", lines[2])
        self.assertEqual(self.ok("log", project, "--count", "2").splitlines(), lines[1:])
        self.assertEqual(self.ok("log", project, "--person", "anna").splitlines(),
                         [lines[0], lines[2]])
        told = json.loads(self.ok("log", project, "--format", "json"))
        self.assertEqual([one["label"] for one in told], ["red", "blue", "green"])
        self.assertEqual([one["stands"] for one in told], [False, True, True])
        self.assertEqual(set(told[0]), {"entry", "time", "person", "kind", "index", "id", "label",
                                        "seconds", "role", "round", "model", "undoes", "stands",
                                        "undone"})
        self.assertEqual([one["entry"] for one in told], sorted(one["entry"] for one in told))
        self.fails(2, "log", project, "--person", "ana", says="'anna'")
        self.fails(2, "log", project, "--person", "ana", "--events", says="--events")

    @unittest.skipIf("without the server" in run("serve", "/nowhere").stderr, "no server")
    def test_an_undone_answer_is_marked(self):
        project, _ = self.blobs(50)
        page = Page(self, project)
        told = page.post("next", {"count": 2})["items"]
        for item, label in zip(told, (0, 2)):
            page.post("answers", {"answers": [{"item": item["item"], "lease": item["lease"],
                                               "kind": "label", "label": label, "spent": 1500,
                                               "once": str(label)}]})
        page.post("undo", {"once": "x"})
        first, second, undo = self.ok("log", project).splitlines()
        self.assertNotIn("(", first)
        self.assertIn("= blue  1.5 s", second)
        self.assertIn("(undone)", second)
        self.assertIn(": undo", undo)
        told = json.loads(self.ok("log", project, "--format", "json"))
        self.assertEqual([one["undone"] for one in told], [False, True, False])
        self.assertEqual([one["stands"] for one in told][:2], [True, False])
        self.assertEqual(told[2]["undoes"], told[1]["entry"])
        self.assertEqual(told[0]["seconds"], 1.5)
        person, = self.status(project)["people"]
        self.assertEqual(person, {"name": "anna", "answers": 1, "labels": 1,
                                  "median_seconds": 1.5})

    def test_the_log_of_a_new_project_is_empty(self):
        project, _ = self.blobs(20)
        self.assertEqual(self.ok("log", project), "")
        self.assertEqual(json.loads(self.ok("log", project, "--format", "json")), [])

    def test_events_are_logged_in_order(self):
        project, truth = self.blobs(60)
        self.label(project, truth, "--batch", "20")
        self.assertIn(run("train", project).returncode, (0, 10))
        told = json.loads(self.ok("log", project, "--events", "--format", "json"))
        kinds = [one["kind"] for one in told]
        self.assertEqual([kind for kind in kinds if kind in
                          ("created", "queried", "imported", "trained")],
                         ["created", "queried", "imported", "trained"])
        lines = self.ok("log", project, "--events", "--count", "1").splitlines()
        self.assertEqual(len(lines), 1)
        self.assertIn(kinds[-1], lines[0])


if __name__ == "__main__":
    unittest.main()
