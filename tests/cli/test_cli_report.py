# SPDX-License-Identifier: Apache-2.0
"""`scant report` and `scant compare`: results are compared with plain Python; wrong calls."""
import collections
import csv
import html.parser
import json
import math
import os
import re
import statistics
import unittest
import xml.etree.ElementTree as xml

import numpy as np

from scantcli import Case, run

SVG = "{http://www.w3.org/2000/svg}"
CURVE = "strategy,seed,round,labels,accuracy,loss,train_seconds,select_seconds\n"
PICKS = "strategy,seed,round,rank,index,weight,score,label\n"
VOID = {"meta", "link", "input", "br", "img"}


class Page(html.parser.HTMLParser):
    """Parses a page; fails if elements are not nested correctly."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.links, self.tags = [], [], [], collections.Counter()
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        for key, value in attrs:
            assert not key.startswith("on"), (tag, key)
            if key in ("href", "src"):
                self.links.append(value)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.text.append(data)


class Results(Case):
    def write(self, name, strategies=("random", "badge", "npc"), seeds=(0, 1, 2), rounds=4,
              cut=(), first=1):
        """Writes the results of a made-up experiment; runs in cut lack their last two rounds."""
        rng = np.random.default_rng(first)
        starts = {seed: rng.choice(80, 10, False) for seed in seeds}
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "curve.csv"), "w") as curve, \
                open(os.path.join(folder, "picks.csv"), "w") as picks:
            curve.write(CURVE)
            picks.write(PICKS)
            for s, strategy in enumerate(strategies):
                for seed in seeds:
                    for t in range(rounds - 2 * ((strategy, seed) in cut)):
                        accuracy = 0.3 + 0.1 * t + 0.01 * s + 0.01 * rng.random()
                        curve.write(f"{strategy},{seed},{t},{10 + 5 * t},{accuracy},1.5,"
                                    f"{1 + t},0.25\n")
                        chosen = rng.choice(80, 5, False) if t else starts[seed]
                        for rank, index in enumerate(chosen):
                            picks.write(f"{strategy},{seed},{t},{rank},{index},1,0,"
                                        f"{index % 4}\n")
        return folder

    def rows(self, folder, name):
        with open(os.path.join(folder, name), newline="") as file:
            return list(csv.DictReader(file))


class Tables(Results):
    def runs(self, folder):
        found = {}
        for row in self.rows(folder, "curve.csv"):
            found.setdefault(row["strategy"], {}).setdefault(row["seed"], []).append(
                (int(row["labels"]), float(row["accuracy"])))
        return found

    def test_summary_and_areas_agree_with_plain_python(self):
        folder = self.write("r", cut={("badge", 2)})
        self.ok("report", folder)
        runs, want, areas = self.runs(folder), [], []
        for strategy, seeds in runs.items():
            by = collections.defaultdict(list)
            for points in seeds.values():
                for labels, accuracy in points:
                    by[labels].append(accuracy)
            want += [(strategy, labels, by[labels]) for labels in sorted(by)]
            areas.append((strategy, [
                100 * sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(p, p[1:]))
                / (p[-1][0] - p[0][0]) for p in seeds.values()]))
        got = self.rows(folder, "summary.csv")
        self.assertEqual([(r["strategy"], int(r["labels"]), int(r["runs"])) for r in got],
                         [(s, n, len(v)) for s, n, v in want])
        for row, (_, _, values) in zip(got, want):
            self.assertAlmostEqual(float(row["mean"]), statistics.mean(values), places=14)
            self.assertAlmostEqual(float(row["std"]), statistics.stdev(values), places=14)
        got = self.rows(folder, "auc.csv")
        self.assertEqual([r["strategy"] for r in got], [s for s, _ in areas])
        for row, (_, values) in zip(got, areas):
            self.assertAlmostEqual(float(row["mean"]), statistics.mean(values), places=11)
            self.assertAlmostEqual(float(row["std"]), statistics.stdev(values), places=11)
            self.assertEqual(int(row["runs"]), len(values))

    def test_overlaps_agree_with_plain_python(self):
        folder = self.write("r")
        self.ok("report", folder)
        picks = self.rows(folder, "picks.csv")
        names, want = ["random", "badge", "npc"], []
        for t in range(4):
            sets = {n: {p["index"] for p in picks if p["strategy"] == n and int(p["round"]) <= t}
                    for n in names}
            want += [(str(10 + 5 * t), a, b, len(sets[a] & sets[b]) / len(sets[a] | sets[b]))
                     for i, a in enumerate(names) for b in names[i + 1:]]
        got = self.rows(folder, "overlap.csv")
        self.assertEqual([tuple(r.values())[:3] for r in got], [w[:3] for w in want])
        for row, (_, _, _, iou) in zip(got, want):
            self.assertAlmostEqual(float(row["iou"]), iou, places=15)


class Pages(Results):
    def page(self, folder):
        with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
            return file.read()

    def test_the_page_is_well_formed_and_loads_nothing_from_outside(self):
        folder = self.write("r")
        with open(os.path.join(folder, "experiment.ini"), "w") as file:
            file.write("[data]\ntrain = a/b/digits.npy\n[model]\nname = lenet5\n")
        note = run("report", folder).stderr
        self.assertIn(os.path.join(folder, "report.html"), note)
        text = self.page(folder)
        page = Page(text)
        self.assertIn("Active learning on digits.npy with lenet5", page.text)
        self.assertEqual(page.tags["h1"], 1)
        self.assertEqual(page.tags["svg"], 2 * 7 + 3)  # wide and narrow, and the keys
        for link in page.links:
            self.assertFalse(re.match(r"[a-z]+:(?!,$)|//", link), link)
            if not link.startswith(("#", "data:")):
                self.assertTrue(os.path.exists(os.path.join(folder, link)), link)
        outside = set(re.findall(r"https?:[^\"'<> ]*", text))
        self.assertEqual(outside, {"http://www.w3.org/2000/svg"})

    def test_charts_are_self_contained(self):
        folder = self.write("r")
        self.ok("report", folder, "--quiet")
        charts = os.path.join(folder, "charts")
        self.assertEqual(sorted(os.listdir(charts)),
                         ["areas.svg", "balance.svg", "curves.svg", "differences.svg",
                          "efficiency.svg", "overlap.svg", "time.svg"])
        for name in os.listdir(charts):
            root = xml.parse(os.path.join(charts, name)).getroot()
            self.assertEqual(root.tag, SVG + "svg")
            self.assertTrue(root.find(SVG + "title").text)
            self.assertIsNotNone(root.find(SVG + "style"))
            for element in root.iter():
                self.assertNotIn("href", " ".join(element.keys()))
        root = xml.parse(os.path.join(charts, "curves.svg")).getroot()
        lines = [e for e in root.iter(SVG + "path") if e.get("class") == "line"]
        self.assertEqual([len(re.findall("[ML]", e.get("d"))) for e in lines], [4, 4, 4])

    def test_many_strategies_look_different(self):
        names = ["random"] + [f"s{i}" for i in range(20)]
        folder = self.write("r", names, seeds=(0,))
        self.ok("report", folder)
        keys = re.findall(r'<label class="(k\d)">.*?stroke-dasharray="([^"]*)"', self.page(folder))
        self.assertEqual(len(keys), 21)
        self.assertEqual(len(set(keys)), 21)

    def test_several_folders_make_one_report(self):
        one = self.write("one")
        two = self.write("two", ("random", "bss"), seeds=(5, 6), first=2)
        out = self.path("both")
        self.ok("report", one, two, "--out", out)
        self.assertEqual([r["strategy"] + r["runs"] for r in self.rows(out, "auc.csv")],
                         ["random5", "badge3", "npc3", "bss2"])
        self.assertFalse(os.path.exists(os.path.join(one, "auc.csv")))
        again = self.write("again", ("random",), first=3)
        self.ok("report", one, again, "--out", out)
        self.assertEqual([r["strategy"] for r in self.rows(out, "auc.csv")],
                         ["random (one)", "badge", "npc", "random (again)"])
        Page(self.page(out))


class Comparisons(Results):
    def test_differences_agree_with_plain_python(self):
        folder = self.write("r", seeds=range(6))
        out = self.path("c.csv")
        shown = self.ok("compare", folder, "--csv", out)
        with open(out, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(r["measure"], r["strategy_a"], r["strategy_b"]) for r in rows],
                         [(m, a, b) for m in ("auc", "final") for a, b in
                          (("badge", "random"), ("npc", "random"), ("npc", "badge"))])
        last = {}
        for row in self.rows(folder, "curve.csv"):
            last[row["strategy"], row["seed"]] = 100 * float(row["accuracy"])
        for row in rows[3:]:
            d = [last[row["strategy_a"], str(s)] - last[row["strategy_b"], str(s)]
                 for s in range(6)]
            self.assertEqual(row["seeds"], "6")
            self.assertAlmostEqual(float(row["difference"]), statistics.mean(d), places=10)
            t = statistics.mean(d) / (statistics.stdev(d) / math.sqrt(6))
            self.assertAlmostEqual(float(row["t"]), t, places=6)
            reach = 2.5705818366147395 * statistics.stdev(d) / math.sqrt(6)  # t.ppf(.975, 5)
            self.assertAlmostEqual(float(row["high"]), statistics.mean(d) + reach, places=8)
            flips = sum(abs(sum(x if k >> i & 1 else -x for i, x in enumerate(d)))
                        >= abs(sum(d)) - 1e-9 for k in range(64)) / 64
            self.assertEqual(float(row["p_flips"]), flips)
            self.assertGreaterEqual(float(row["p_holm"]), float(row["p"]))
        self.assertIn("badge", shown)
        self.assertIn("HOLM", shown)
        self.assertIn("at 4 numbers of labels", shown)
        self.assertIn("corrected for 3 pairs.", shown.replace("\n", " "))
        self.assertEqual({(r["from"], r["to"], r["left_out"]) for r in rows},
                         {("10", "25", "0")})

    def test_with_a_baseline_only_its_pairs_are_compared(self):
        folder = self.write("r")
        out = self.path("c.csv")
        self.ok("compare", folder, "--baseline", "badge", "--csv", out)
        with open(out, newline="") as file:
            self.assertEqual([(r["strategy_a"], r["strategy_b"]) for r in csv.DictReader(file)],
                             2 * [("random", "badge"), ("npc", "badge")])

    def compare(self, rows, picks=()):
        folder = self.path("made")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "curve.csv"), "w") as file:
            file.write(CURVE + "".join(row + ",1,1,1\n" for row in rows))
        with open(os.path.join(folder, "picks.csv"), "w") as file:
            file.write(PICKS + "".join(row + ",1,0,0\n" for row in picks))
        return " ".join(self.ok("compare", folder).split())

    def test_equal_differences_of_all_seeds_are_not_significant(self):
        shown = self.compare([f"{name},{seed},0,10,{0.25 + 0.125 * (name == 'b') + 0.125 * seed}"
                              for name in "ab" for seed in (0, 1)])
        self.assertIn("b a 2 43.75 31.25 +12.50 no spread - - 0.500 0.500 ", shown)
        self.assertNotIn("<.001", shown)
        self.assertNotIn("0.500 *", shown)
        self.assertIn("there is no interval", shown)

    def test_runs_of_different_length_are_compared_over_their_common_range(self):
        shown = self.compare([f"random,{s},{t},{10 + 10 * t},{0.2 + 0.1 * t + 0.01 * s * t}"
                              for s in (0, 1) for t in range(3)] +
                             [f"bss,{s},{t},{10 + (8 + s) * t},{0.3 + 0.1 * t}"
                              for s in (0, 1) for t in range(3)])
        self.assertIn("bss random from 10 to between 26 and 28 labels", shown)
        self.assertNotIn("Left out", shown)
        self.assertIn("at 1 number of labels", shown)

    def test_seeds_that_are_left_out_are_reported(self):
        rows = [f"{name},{seed},{t},{10 + t},{0.25 + 0.125 * seed * (name == 'b')}"
                for name in "abc" for seed in (0, 1) for t in (0, 1)]
        picks = [f"{name},{seed},0,0,{7 + (name == 'c')}" for name in "abc" for seed in (0, 1)]
        shown = self.compare(rows + ["a,2,0,10,0.5", "a,2,1,11,0.5", "b,2,0,10,0.5"], picks)
        self.assertIn("corrected for 1 pair (of 3, those with two seeds).", shown)
        self.assertIn("c a 0 seeds in common: too few, two are needed (2 left out", shown)
        self.assertIn("Left out: 1 time a seed with a run that is shorter", shown)
        self.assertIn("Left out: 4 times a seed whose two runs started with different", shown)

    def test_different_experiments_give_a_warning(self):
        one, two = self.write("one", ("random",)), self.write("two", ("badge",))
        for folder, model in ((one, "cnn"), (two, "lenet5")):
            with open(os.path.join(folder, "experiment.ini"), "w") as file:
                file.write(f"[model]\nname = {model}\n[loop]\nseeds = {len(model)}\n")
        for call in (("compare", one, two), ("report", one, two, "--out", self.path("out"))):
            done = run(*call)
            self.assertEqual(done.returncode, 0)
            self.assertIn("the experiments differ in model.name:", done.stderr)
            self.assertEqual(run(*call, "--quiet").stderr, "")

    def test_too_few_seeds_are_reported(self):
        done = run("compare", self.write("r", seeds=(3,)))
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 seed in common: too few, two are needed", done.stdout)
        self.assertIn("run with more seeds", done.stderr)
        done = run("compare", self.write("one", ("random",)))
        self.assertEqual(done.returncode, 0)
        self.assertIn("only one strategy", done.stderr)


class Trainings(Results):
    def trainings(self, folder, *rows):
        """Writes trainings.csv; a row: strategy,seed,round,trainings,signs."""
        with open(os.path.join(folder, "trainings.csv"), "w") as file:
            file.write("strategy,seed,round,trainings,signs,dead,gradient_norm\n" +
                       "".join(row + ",0.25,1.5\n" for row in rows))

    def said(self, folder, *flags):
        """What `scant report` warns of, and what `scant compare` prints, as one line each."""
        warned = run("report", folder, *flags)
        self.assertEqual(warned.returncode, 0, warned.stderr)
        return warned.stderr, " ".join(self.ok("compare", folder, *flags).split())

    def test_collapsed_trainings_are_named(self):
        folder = self.write("r")
        self.trainings(folder, "badge,1,2,2,dead-units loss", "npc,0,3,1,diverged",
                       "random,0,0,2,", "npc,1,1,1,few-pseudo-labels")
        line = ("2 of 4 trainings collapsed: badge seed 1 round 2 (dead-units loss), npc seed 0 "
                "round 3 (diverged); their accuracies are in the figures ")
        report, compare = self.said(folder)
        self.assertIn(f"scant: warning: {line}of the report\n", report)
        self.assertTrue(compare.endswith(line + "above."), compare)
        report, compare = self.said(folder, "--quiet")
        self.assertEqual(report, "")
        self.assertIn(line, compare)

    def test_one_collapsed_training_and_many(self):
        folder = self.write("r")
        self.trainings(folder, "badge,1,2,1,loss")
        line = "the only training collapsed: badge seed 1 round 2 (loss); its accuracy is in"
        for said in self.said(folder):
            self.assertIn(line, said)
        self.trainings(folder, *(f"npc,{seed},{t},2,loss" for seed in range(3) for t in range(4)))
        for said in self.said(folder):
            self.assertIn("12 of 12 trainings collapsed: npc seed 0 round 0 (loss), ", said)
            self.assertIn("npc seed 1 round 0 (loss) and 7 more; their accuracies are in", said)

    def test_sound_trainings_are_not_mentioned(self):
        folder = self.write("r")
        for rows in ((), ("badge,1,2,2,", "npc,1,1,1,few-pseudo-labels")):
            if rows:
                self.trainings(folder, *rows)
            for said in self.said(folder):
                self.assertNotIn("collapsed", said)

    def test_errors_of_regression_are_called_so(self):
        folder = self.path("r")
        os.mkdir(folder)
        with open(os.path.join(folder, "curve.csv"), "w") as file:
            file.write(CURVE.replace("\n", ",error\n") + "".join(
                f"{name},{seed},0,10,,1,1,1,{seed + 2.5}\n" for name in "ab" for seed in (0, 1)))
        self.trainings(folder, "a,0,0,1,loss", "a,1,0,2,loss")
        for said in self.said(folder):
            self.assertIn("a seed 1 round 0 (loss); their errors are in the figures", said)
        shown = json.loads(self.ok("report", folder, "--format", "json"))["trainings"]["listed"]
        self.assertEqual([t["error"] for t in shown], [2.5, 3.5])
        self.assertNotIn("accuracy", shown[0])

    def test_json_has_the_numbers(self):
        folder = self.write("r")
        self.trainings(folder, "badge,1,2,2,dead-units loss", "npc,1,1,1,few-pseudo-labels",
                       "random,0,0,2,", "npc,0,3,1,")
        out = self.path("c.csv")
        report = json.loads(self.ok("report", folder, "--format", "json", "--quiet"))
        compare = json.loads(self.ok("compare", folder, "--format", "json", "--csv", out))
        self.assertEqual(report["report"], os.path.join(folder, "report.html"))
        self.assertEqual(compare["strategies"], ["random", "badge", "npc"])
        self.assertEqual(report["trainings"], compare["trainings"])
        trainings = report["trainings"]
        self.assertEqual([trainings[key] for key in ("count", "repeated", "collapsed")], [4, 2, 1])
        self.assertEqual(trainings["signs"], {"dead-units": 1, "loss": 1, "few-pseudo-labels": 1,
                                              "few-classes": 0, "diverged": 0})
        self.assertEqual([(t["strategy"], t["collapsed"]) for t in trainings["listed"]],
                         [("badge", True), ("random", False), ("npc", False)])
        point, = (r for r in self.rows(folder, "curve.csv")
                  if (r["strategy"], r["seed"], r["round"]) == ("badge", "1", "2"))
        self.assertEqual(trainings["listed"][0],
                         {"strategy": "badge", "seed": "1", "round": 2, "labels": 20,
                          "accuracy": float(point["accuracy"]), "trainings": 2,
                          "signs": "dead-units loss", "collapsed": True, "dead": 0.25,
                          "gradient_norm": 1.5})
        with open(out, newline="") as file:
            for row in csv.DictReader(file):
                pair, = (p for p in compare["pairs"] if p["strategy_a"] == row["strategy_a"]
                         and p["strategy_b"] == row["strategy_b"])
                self.assertEqual(str(pair["seeds"]), row["seeds"])
                for key, value in {**pair, **pair[row["measure"]]}.items():
                    if key in row and not key.startswith("strategy"):
                        self.assertEqual(float(row[key]), value, key)
        self.assertEqual(len(compare["pairs"]), 3)

    def test_wrong_tables_are_refused(self):
        folder = self.write("r")
        self.trainings(folder, "badge,1,2,2,loss", "badge,1,3,1,sleepy")
        for command in ("report", "compare"):
            said = self.fails(3, command, folder,
                              says=["trainings.csv: line 3, column 'signs'", "'sleepy'"])
            self.assertEqual(len(said.splitlines()), 1)


class Errors(Results):
    def test_wrong_calls_are_refused(self):
        folder = self.write("r")
        self.fails(2, "report", says="which results?")
        self.fails(2, "compare", says="which results?")
        self.fails(2, "report", folder, self.write("s"), says="--out")
        self.fails(2, "report", folder, folder, "--out", self.path("o"), says="given twice")
        self.fails(2, "report", folder, "--out", self.write("t"), says="results of its own")
        self.fails(2, "compare", folder, "--baseline", "bald", says="no strategy 'bald'")

    def test_wrong_inputs_are_refused(self):
        self.fails(3, "report", self.path("absent"), says="absent")
        os.mkdir(self.path("empty"))
        self.fails(3, "report", self.path("empty"), says="no curve.csv")
        folder = self.write("r")
        with open(os.path.join(folder, "curve.csv"), "a") as file:
            file.write("random,0,9,90,1.2,1,1,1\n")
        for command in ("report", "compare"):
            said = self.fails(3, command, folder, says=["curve.csv: line 38", "1.2"])
            self.assertEqual(len(said.splitlines()), 1)
        self.assertFalse(os.path.exists(os.path.join(folder, "summary.csv")))

    def test_paths_that_cannot_be_written_are_refused(self):
        folder = self.write("r")
        blocked = self.path("a file")
        with open(blocked, "w"):
            pass
        self.fails(4, "report", folder, "--out", os.path.join(blocked, "such"), says="a file")
        self.ok("report", folder, "--out", self.path("new/and/deep"))
        self.assertTrue(os.path.exists(self.path("new/and/deep/report.html")))
        self.fails(4, "compare", folder, "--csv", self.path("no/c.csv"), says="no/c.csv")


if __name__ == "__main__":
    unittest.main()
