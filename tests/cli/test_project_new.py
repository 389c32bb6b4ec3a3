# SPDX-License-Identifier: Apache-2.0
"""`scant new`, `add` and `set`: results, refusals, and the time for large pools."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

from projectcase import CLASSES, ProjectCase, blobs, png
from scantcli import SCANT, run


class New(ProjectCase):
    def test_it_prints_a_summary(self):
        rows = self.save("rows", blobs(200)[0])
        done = run("new", self.path("p"), "--features", rows, "--classes", " red, green ,blue")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"200 feature rows; 3 classes; \d+ in the audit set")
        self.assertIn("scant serve", done.stderr)
        state = self.status(self.path("p"))
        self.assertEqual([one["name"] for one in state["classes"]], list(CLASSES))
        self.assertEqual((state["items"], state["kind"], state["labelled"]), (200, "features", 0))
        self.assertGreater(state["withheld"], 0)
        self.assertIn(f"{state['withheld']} in the audit set", done.stdout)

    def test_quiet_prints_nothing(self):
        rows = self.save("rows", blobs(50)[0])
        done = run("new", self.path("p"), "--features", rows, "--classes", "a,b", "--quiet")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_images_of_a_folder_are_items_and_copies_are_counted(self):
        folder, truth = self.images(30)
        first = os.path.join(folder, sorted(truth)[0])
        with open(first, "rb") as file:
            self.write("pictures/copy.png", file.read())
        text = self.ok("new", self.path("p"), "--images", folder, "--classes", ",".join(CLASSES))
        self.assertIn("31 images, 1 of them copies", text)
        state = self.status(self.path("p"))
        self.assertEqual((state["items"], state["copies"], state["kind"]), (31, 1, "pictures"))
        log = json.loads(self.ok("log", self.path("p"), "--events", "--format", "json"))
        self.assertEqual(log[0]["kind"], "created")

    def test_ids_and_labels_come_from_the_manifest(self):
        rows = self.save("rows", blobs(6)[0])
        table = self.write("m.csv", "id,row,text,label\n" + "".join(
            f"mail-{i},{i},\"Dear, {i}\",{'red' if i < 2 else ''}\n" for i in range(6)))
        text = self.ok("new", self.path("p"), "--features", rows, "--manifest", table,
                       "--classes", "red,green")
        self.assertIn("2 have a label already", text)
        batch = self.batch(self.path("p"), "--batch", "4")
        self.assertTrue(all(row["id"] == f"mail-{row['index']}" for row in batch), batch)

    def test_classes_can_come_from_a_file(self):
        rows = self.save("rows", blobs(20)[0])
        names = self.write("classes.txt", "salt, pepper\n sugar \r\nflour\n\n")
        self.ok("new", self.path("p"), "--features", rows, "--classes-file", names)
        self.assertEqual([one["name"] for one in self.status(self.path("p"))["classes"]],
                         ["salt, pepper", "sugar", "flour"])
        for text, word in (("", "has no class names"), ("a\0b", "zero byte"), ("a\n\nb\n", "class 2 has no name"),
                           ("a\nb\na\n", "'a'")):
            self.write("classes.txt", text)
            done = run("new", self.path("q"), "--features", rows, "--classes-file", names)
            self.assertIn(done.returncode, (2, 3))
            self.assertIn(word, done.stderr)

    def test_bad_calls_are_refused_and_create_nothing(self):
        rows = self.save("rows", blobs(20)[0])
        made = self.path("p")
        os.mkdir(self.path("empty"))
        for status, words, says in (
                (2, ["--features", rows], "--classes is missing"),
                (2, ["--classes", "a,b"], "what are the items?"),
                (2, ["--features", rows, "--images", "x", "--classes", "a,b"], "not both"),
                (2, ["--features", rows, "--classes", "a,b,a"], "classes 1 and 3 have the same name 'a'"),
                (2, ["--features", rows, "--classes", "a, ,b"], "class 2 has no name"),
                (2, ["--features", rows, "--classes", "a,b", "--classes-file", "x"], "--classes cannot be combined"),
                (2, ["--features", rows, "--classes", "a,b", "--set", "bach=3"], "'batch'"),
                (2, ["--features", rows, "--classes", "a,b", "--backbone", "mobilenetv2",
                     "--weights", "w"], "features already"),
                (2, ["--images", "x", "--classes", "a,b", "--backbone", "mobilenetv2"], "--weights"),
                (2, ["--images", "x", "--classes", "a,b", "--weights", "w"], "--backbone"),
                (3, ["--features", self.path("none.npy"), "--classes", "a,b"], "none.npy"),
                (3, ["--images", self.path("empty"), "--classes", "a,b"], "empty"),
                (3, ["--images", self.path("nowhere"), "--classes", "a,b"], "nowhere")):
            with self.subTest(says):
                self.fails(status, "new", made, *words, says=says)
                self.assertFalse(os.path.exists(made))
        self.fails(2, "new", says="which project?")
        self.fails(2, "new", made, "--features", rows, "--classes", "a,b", "--set", "batch=none",
                   says="batch")
        self.assertFalse(os.path.exists(made))

    def test_an_existing_project_is_not_overwritten(self):
        project, _ = self.blobs(30)
        before = self.status(project)
        done = run("new", project, "--features", self.path("p-rows.npy"), "--classes", "a,b")
        self.assertIn(done.returncode, (2, 3))
        self.assertIn(project, done.stderr)
        self.assertEqual(self.status(project), before)

    def test_ctrl_c_while_features_are_prepared_leaves_a_usable_project(self):
        folder, truth = self.images(150, side=64)
        weights = os.path.join(self.dir, "w")
        self.ok("train", "--data", folder, "--model", "mobilenetv2", "--size", "32", "--steps", "1",
                "--batch", "4", "--out", weights, "--quiet")
        project = self.path("p")
        call = [SCANT, "new", project, "--images", folder, "--classes", ",".join(CLASSES),
                "--backbone", "mobilenetv2", "--weights", weights + "/weights.safetensors",
                "--threads", "1"]
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            said = process.stdout.readline()  # the project exists, but its features are not computed yet
            self.assertIn("150 images", said)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        if process.returncode == 130:
            self.assertIn("the project is created", error)
        else:  # it ended before the signal
            self.assertEqual(process.returncode, 0, error)
        self.assertEqual(self.status(project)["items"], 150)
        self.label(project, truth, "--batch", "20")
        self.ok("train", project)
        self.assertEqual(self.status(project)["models"][0]["labels"]
                         + self.status(project)["audited"], 20)

    def test_a_full_disk_is_an_error(self):
        rows = self.save("rows", blobs(20000)[0])
        call = f"ulimit -f 200; exec {SCANT} new p --features {rows} --classes a,b"
        done = subprocess.run(["bash", "-c", "trap '' XFSZ; " + call], cwd=self.dir,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn("scant: ", done.stderr)
        self.assertFalse(os.path.exists(self.path("p/project.db")))

    def test_two_hundred_thousand_items_work(self):
        rows = self.save("rows", np.zeros((200000, 4), "f4") + np.arange(200000, dtype="f4")[:, None])
        project = self.path("p")
        begun = time.monotonic()
        self.ok("new", project, "--features", rows, "--classes", "a,b")
        made = time.monotonic()
        self.assertEqual(self.status(project)["items"], 200000)
        asked = time.monotonic()
        self.batch(project, "--batch", "10")
        picked = time.monotonic()
        print(f"200,000 items: new {made - begun:.2f} s, status {asked - made:.2f} s, "
              f"query {picked - asked:.2f} s", file=sys.stderr)


class Add(ProjectCase):
    def test_new_images_in_the_folder_are_added(self):
        folder, _ = self.images(20)
        project = self.path("p")
        self.ok("new", project, "--images", folder, "--classes", ",".join(CLASSES), "--quiet")
        self.assertIn("nothing new, 20 images now", self.ok("add", project))
        self.images(5, seed=1)
        self.assertIn("5 new, 25 images now", self.ok("add", project))
        other, _ = self.images(4, folder="others", seed=2)
        self.assertIn("4 new, 29 images now", self.ok("add", project, "--images", other))
        self.assertEqual(self.status(project)["items"], 29)

    def test_rows_with_new_ids_are_added(self):
        table = self.write("m.csv", "id,row\n" + "".join(f"a{i},{i}\n" for i in range(30)))
        project, _ = self.blobs(30, flags=("--manifest", table))
        more = self.save("more", blobs(10, seed=1)[0])
        again = self.write("n.csv", "id,row\n" + "".join(f"a{i},{i}\n" for i in range(10)))
        self.fails(3, "add", project, "--features", more, "--manifest", again, says="a0")
        self.assertEqual(self.status(project)["items"], 30)
        self.write("n.csv", "id,row\n" + "".join(f"b{i},{i}\n" for i in range(10)))
        self.assertIn("10 new, 40 feature rows", self.ok("add", project, "--features", more, "--manifest",
                                                 again))
        self.fails(2, "add", project, "--features", more, "--images", "x", says="not both")
        self.fails(2, "add", project, says="no folder to search")
        self.fails(2, "add", project, "--images", self.images(3)[0], says="the project has feature rows")

    def test_rows_of_another_width_are_refused(self):
        project, _ = self.blobs(30)
        more = self.save("more", blobs(10, d=5)[0])
        table = self.write("n.csv", "id,row\n" + "".join(f"b{i},{i}\n" for i in range(10)))
        self.fails(3, "add", project, "--features", more, "--manifest", table, says="more.npy")

    def test_a_changed_source_is_refused_until_it_is_accepted(self):
        project, truth = self.blobs(60)
        self.label(project, truth, "--batch", "20")
        self.ok("train", project)
        rows = np.load(self.path("p-rows.npy"))
        for changed, words in ((rows[::-1], "of 60 items are different, the first is item 0 (its row 0)"),
                               (np.hstack([rows, rows]), "it was float32, 60 x 8 and is float32, 60 x 16"),
                               (rows.astype("i2"), "and is int16, 60 x 8")):
            self.save("p-rows", changed)
            for command in ("train", "query"):
                self.fails(3, command, project, says=["p-rows.npy: has changed", words, "--accept-changed"])
        self.save("p-rows", rows[::-1])
        self.assertIn("p: 60 changed items are accepted", self.ok("add", project, "--accept-changed"))
        self.ok("train", project)
        self.assertIn("p: 0 changed items are accepted", self.ok("add", project, "--accept-changed"))


class Set(ProjectCase):
    def test_all_settings_have_a_value_and_a_description(self):
        project, _ = self.blobs(20)
        text = self.ok("set", project)
        values = json.loads(self.ok("set", project, "--format", "json"))
        for key, value in values.items():
            self.assertRegex(text, rf"(?m)^{key} = {value}\s+\S")
        for key in ("batch", "strategy", "audit_every", "overlap", "stop_width", "stop_gain",
                    "stop_agreement", "stop_labels"):
            self.assertIn(key, values)
            self.assertIn(f"  {key} = ", self.ok("set", "--help"))
            self.assertIn(f"  {key} = ", self.ok("new", "--help"))

    def test_a_change_is_stored_and_logged(self):
        project, _ = self.blobs(40, flags=("--set", "batch=7"))
        self.assertEqual(len(self.batch(project)), 7)
        self.assertEqual(self.ok("set", project, "batch=5", "strategy=margin"), "")
        values = json.loads(self.ok("set", project, "--format", "json"))
        self.assertEqual((values["batch"], values["strategy"]), ("5", "margin"))
        self.assertEqual(len(self.batch(project)), 5)
        events = json.loads(self.ok("log", project, "--events", "--format", "json"))
        self.assertEqual(set(events[0]), {"event", "time", "kind", "text"})
        self.assertEqual(events[0]["kind"], "created")
        self.assertEqual(set(events[0]["text"]), {"items", "source", "seed"})
        self.assertEqual([one["text"] for one in events if one["kind"] == "set"],
                         [{"key": "batch", "value": "5"}, {"key": "strategy", "value": "margin"}])

    def test_wrong_keys_and_values_are_refused(self):
        project, _ = self.blobs(20)
        before = self.ok("set", project)
        self.fails(2, "set", project, "batch=5", "strateggy=margin", says="'strategy'")
        self.fails(2, "set", project, "batch", says="KEY=VALUE")
        self.fails(2, "set", project, "batch=-3", says="batch")
        self.fails(2, "set", project, "strategy=bagde", says="bagde")
        self.fails(2, "set", project, "strategy=bald", says="set bayes")
        self.assertEqual(self.ok("set", project), before)


if __name__ == "__main__":
    unittest.main()
