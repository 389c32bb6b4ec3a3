# SPDX-License-Identifier: Apache-2.0
"""--plot: the chart is well-formed, complete and not too large, for any pool."""
import json
import os
import re
import unittest
import xml.etree.ElementTree as xml

import numpy as np

from scantcli import Case, run

SVG = "{http://www.w3.org/2000/svg}"


class Plot(Case):
    def setUp(self):
        super().setUp()
        self.svg = self.path("picks.svg")

    def features(self, n, d, dtype="f4", seed=1):
        rng = np.random.default_rng(seed)
        return self.save("h", (rng.standard_normal((n, d)) * 20).astype(dtype))

    def chart(self):
        """The root element of the chart."""
        with open(self.svg, "rb") as file:
            data = file.read()
        self.assertNotIn(b"script", data)
        self.assertNotIn(b"href", data)
        self.assertNotIn(b"url(", data)
        self.assertEqual(re.findall(rb"https?:[^\"]*", data), [b"http://www.w3.org/2000/svg"])
        return xml.fromstring(data)

    def picks(self, root):
        """{row: (x, y, r)} of the picks, from their titles."""
        found = {}
        for group in root.iter(SVG + "g"):
            title = group.find(SVG + "title")
            if title is not None:
                circle = group.find(SVG + "circle")
                row = int(re.match(r"pick \d+: row (\d+), score ", title.text)[1])
                found[row] = tuple(float(circle.get(key)) for key in ("cx", "cy", "r"))
        return found


class Charts(Plot):
    def test_every_pick_is_drawn_at_every_width(self):
        for n, d in ((1, 1), (1, 2), (1, 50), (60, 1), (60, 2), (60, 3), (60, 50), (40, 1100)):
            for dtype in ("f2", "f4", ">f8", "u1"):
                with self.subTest(n=n, d=d, dtype=dtype):
                    h = self.features(n, d, dtype) if dtype != "u1" else self.save(
                        "h", np.random.default_rng(2).integers(0, 255, (n, d)).astype("u1"))
                    rows = self.table("select", "random", "--batch", min(n, 20), "--features", h,
                                      "--plot", self.svg)
                    found = self.picks(self.chart())
                    self.assertEqual(set(found), {row["index"] for row in rows})
                    for x, y, _ in found.values():
                        self.assertTrue(40 <= x <= 580 and 64 <= y <= 520)

    def test_two_features_are_drawn_as_they_are(self):
        h = np.random.default_rng(3).random((30, 2))
        self.ok("select", "random", "--batch", 30, "--features", self.save("h", h), "--plot",
                self.svg)
        found = self.picks(self.chart())
        at = np.array([found[i][:2] for i in range(30)])
        scale = np.ptp(at, axis=0) / np.ptp(h, axis=0)
        np.testing.assert_allclose(scale[0], scale[1], rtol=2e-3)  # pixels have one decimal
        want = (h - h[0]) * scale * [1, -1]
        np.testing.assert_allclose(at - at[0], want, atol=0.3)

    def test_many_features_are_drawn_by_their_principal_components(self):
        rng = np.random.default_rng(4)
        h = rng.standard_normal((200, 9)) * [1, 9, 1, 1, 5, 1, 1, 1, 1] + 100
        self.ok("select", "random", "--batch", 30, "--features", self.save("h", h), "--plot",
                self.svg)
        root = self.chart()
        found = self.picks(root)
        centred = h - h.mean(0)
        values, vectors = np.linalg.eigh(centred.T @ centred)
        want = centred @ vectors[:, [-1, -2]]
        rows = sorted(found)
        at = np.array([found[i][:2] for i in rows])
        for axis in (0, 1):  # up to sign and scale
            line = np.corrcoef(at[:, axis], want[rows, axis])[0, 1]
            self.assertGreater(abs(line), 0.9999)
        text = "".join(root.itertext())
        share = 100 * values[::-1] / values.sum()
        self.assertIn(f"principal component 1 ({share[0]:.0f}% of the variance)", text)
        self.assertIn(f"principal component 2 ({share[1]:.0f}% of the variance)", text)

    def test_equal_rows_are_drawn_at_the_centre(self):
        h = self.save("h", np.full((7, 4), 3.5))
        self.ok("select", "random", "--batch", 3, "--features", h, "--plot", self.svg)
        self.assertEqual({at[:2] for at in self.picks(self.chart()).values()}, {(310, 292)})

    def test_without_picks_a_chart_is_drawn_too(self):
        y = self.save("y", np.zeros(5, int))
        self.ok("select", "random", "--batch", 3, "--features", self.features(5, 3), "--labels", y,
                "--plot", self.svg)
        self.assertEqual(self.picks(self.chart()), {})
        self.ok("select", "coreset", "--batch", 3, "--features", self.features(0, 3), "--plot",
                self.svg)
        self.chart()

    def test_threads_do_not_change_a_byte(self):
        h = self.features(20000, 40)
        charts = set()
        for threads in (1, 2, 3, 7):
            self.ok("select", "random", "--batch", 300, "--features", h, "--plot", self.svg,
                    "--threads", threads)
            with open(self.svg, "rb") as file:
                charts.add(file.read())
        self.assertEqual(len(charts), 1)

    def test_the_file_of_a_large_pool_is_small(self):
        n = 100000
        y = np.full(n, -1)
        y[::3] = np.arange(y[::3].size) % 100
        h = self.features(n, 2)
        for batch in (10, 400, 50000):
            self.ok("select", "random", "--batch", batch, "--features", h, "--labels",
                    self.save("y", y), "--plot", self.svg, "--out", self.path("out.csv"))
            root = self.chart()
            self.assertLess(os.path.getsize(self.svg), 500000)
            circles = len(list(root.iter(SVG + "circle")))
            self.assertEqual(circles, min(batch, 4000) + 1)

    def test_weights_show_as_areas(self):
        weighted = [one["name"] for one in json.loads(self.ok("strategies", "--format", "json"))
                    if one["name"] in ("sparse-greedy", "sparse-iht", "bss", "acs-fw")]
        if not weighted:
            self.skipTest("no strategy weights")
        rng = np.random.default_rng(5)
        p = rng.random((6, 80, 3))
        p /= p.sum(2, keepdims=True)
        call = ["--features", self.features(80, 3, "f8"), "--samples", self.save("s", p), "--quiet"]
        for name in weighted:
            rows = self.table("select", name, "--batch", 12, *call, "--plot", self.svg)
            weights = {row["index"]: row["weight"] for row in rows}
            if len(set(weights.values())) < 2:
                continue
            found = self.picks(self.chart())
            for row, weight in weights.items():
                want = 3 + 7 * (max(weight, 0) / max(weights.values())) ** 0.5
                self.assertAlmostEqual(found[row][2], want, delta=0.06)


class Calls(Plot):
    def setUp(self):
        super().setUp()
        self.h = self.features(30, 5)
        self.p = self.save("p", np.full((30, 2), 0.5))

    def test_every_strategy_needs_features_for_a_plot(self):
        for strategy in ("margin", "random", "badge", "coreset"):
            self.fails(2, "select", strategy, "--batch", 1, "--probs", self.p, "--plot", self.svg,
                       says=["--plot", "--features"])

    def test_features_used_only_for_the_chart_give_no_warning(self):
        call = ["select", "margin", "--batch", 4, "--probs", self.p]
        done = run(*call, "--features", self.h, "--plot", self.svg)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.ok(*call))
        self.assertEqual(len(self.picks(self.chart())), 4)

    def test_a_chart_does_not_change_the_picks(self):
        arrays = {"features": self.h, "probs": self.p, "calibrated": self.p,
                  "gradients": self.features(30, 4, seed=9),
                  "samples": self.save("s", np.random.default_rng(7).dirichlet([1, 1], (5, 30))),
                  "labels": self.save("y", np.where(np.arange(30) < 4, np.arange(30) % 2, -1))}
        for one in json.loads(self.ok("strategies", "--format", "json")):
            for kinds in filter(None, (one["needs"], one["or_needs"])):
                kinds = ["features"] if kinds == ["any input"] else kinds
                call = ["select", one["name"], "--batch", 4, "--quiet", "--seed", 3]
                for kind in {*kinds, "features"} - {"state"}:
                    call += ["--" + kind, arrays[kind]]
                for state, more in enumerate(([], ["--plot", self.svg])):
                    if "state" in kinds:
                        more = [*more, "--state", self.path(f"{state}.json")]
                    got = self.ok(*call, *more)
                    want = got if not state else want
                    self.assertEqual(got, want, one["name"])

    def test_wrong_features_are_refused_and_nothing_is_written(self):
        out = self.path("out.csv")
        call = ["select", "margin", "--batch", 4, "--probs", self.p, "--plot", self.svg, "--out",
                out, "--features"]
        self.fails(3, *call, self.features(29, 5), says=["h.npy", "29", "30"])
        self.fails(3, *call, self.save("flat", np.zeros(30)), says="flat.npy")
        self.fails(3, *call, self.save("whole", np.zeros((30, 2), int)), says="whole.npy")
        bad = np.zeros((30, 5))
        bad[7, 3] = np.inf
        self.fails(3, *call, self.save("bad", bad), says=["bad.npy", "row 7", "inf"])
        self.fails(3, *call, "/nowhere.npy", says="/nowhere.npy")
        self.assertFalse(os.path.exists(out) or os.path.exists(self.svg))

    def test_the_name_must_end_in_svg(self):
        call = ["select", "random", "--batch", 4, "--features", self.h, "--plot"]
        for bad in (self.path("picks.png"), self.path("svg"), "-", self.path(".sv")):
            self.fails(2, *call, bad, says=["--plot", ".svg"])
        self.ok(*call, self.path("PICKS.SVG"))

    def test_paths_that_cannot_be_written_are_found_before_the_work(self):
        call = ["select", "random", "--batch", 4, "--features", self.h, "--plot"]
        self.fails(4, *call, self.path("none/picks.svg"), says="none/picks.svg")
        os.mkdir(self.path("folder.svg"))
        self.fails(4, *call, self.path("folder.svg"), says="folder.svg")

    def test_it_must_not_be_another_output_or_input(self):
        call = ["select", "random", "--batch", 4, "--features", self.h]
        self.fails(2, *call, "--plot", self.svg, "--out", self.svg, says=["--out", "--plot"])
        ids = self.path("ids.svg")
        with open(ids, "w", encoding="utf-8") as file:
            file.write("x\n" * 30)
        self.fails(2, *call, "--ids", ids, "--plot", ids, says=["--plot", "--ids"])

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_failure_after_the_picks_says_that_they_were_written(self):
        out = self.path("out.csv")
        self.fails(4, "select", "random", "--batch", 4, "--features", self.h, "--out", out,
                   "--plot", "/dev/full", says=["/dev/full", "the picks are already written"])
        self.assertTrue(os.path.exists(out))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_no_chart_is_left_if_the_picks_cannot_be_written(self):
        self.fails(4, "select", "random", "--batch", 4, "--features", self.h, "--out",
                   "/dev/full", "--plot", self.svg)
        self.assertFalse(os.path.exists(self.svg))

    def test_a_dry_run_counts_its_memory_and_draws_nothing(self):
        h = self.features(3000, 300)
        call = ["select", "random", "--batch", 4, "--features", h, "--dry-run"]
        need = [int(re.search(r"\((\d+) bytes\)", self.ok(*call, *more))[1])
                for more in ([], ["--plot", self.svg])]
        self.assertGreater(need[1], need[0] + 300 * 300 * 8)
        self.assertFalse(os.path.exists(self.svg))
        said = self.fails(4, *call[:-1], "--plot", self.svg, "--memory", need[1] - 1)
        self.assertIn(f"needs {need[1]} bytes", said)
        said = self.fails(4, *call[:-1], "--plot", self.svg, "--memory", 1000)
        self.assertIn(f"needs {need[1]} bytes", said)
        self.ok(*call[:-1], "--plot", self.svg, "--memory", need[1])


if __name__ == "__main__":
    unittest.main()
