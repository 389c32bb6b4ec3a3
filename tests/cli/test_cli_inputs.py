# SPDX-License-Identifier: Apache-2.0
"""Input files: types, byte orders and archives that work, and wrong inputs: status 3, with a message
that names file, row and value."""
import os
import unittest

import numpy as np

from scantcli import Case, run


def distribution(n, c, seed=0):
    p = np.random.default_rng(seed).random((n, c)) + 0.05
    return p / p.sum(1, keepdims=True)


class Good(Case):
    def picks(self, *call):
        return [row["index"] for row in self.table("select", *call)]

    def test_every_float_type_and_byte_order_of_probs_gives_the_same_picks(self):
        p = distribution(40, 4)
        half = p.astype("<f2").astype(float)
        want = self.picks("margin", "--batch", 5, "--probs", self.save("half", half))
        for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8"):
            path = self.save("p" + dtype.strip("<>"), half.astype(dtype))
            self.assertEqual(self.picks("margin", "--batch", 5, "--probs", path), want, dtype)

    def test_every_type_of_features_gives_the_same_picks(self):
        h = np.random.default_rng(3).integers(0, 200, (40, 5))
        want = self.picks("coreset", "--batch", 5, "--features", self.save("h", h.astype("f8")))
        for dtype in ("u1", "<f2", ">f2", "<f4", ">f4", ">f8"):
            path = self.save("x", h.astype(dtype))
            self.assertEqual(self.picks("coreset", "--batch", 5, "--features", path), want, dtype)

    def test_every_integer_type_of_labels_and_candidates_gives_the_same_picks(self):
        p = self.save("p", distribution(12, 3))
        y = np.array([-1, 0, -1, 1, -1, 2, -1, 0, -1, 1, -1, 2])
        c = np.array([0, 2, 4])
        want = self.picks("margin", "--batch", 12, "--probs", p, "--labels",
                          self.save("y", y.astype("<i8")), "--candidates", self.save("c", c))
        self.assertEqual(set(want), {0, 2, 4})
        for dtype in ("i1", "<i2", ">i2", "<i4", ">i4", ">i8"):
            call = ["margin", "--batch", 12, "--probs", p, "--labels",
                    self.save("y", y.astype(dtype))]
            for other in ("u1", "<u2", ">u4", "<u8", "i1"):
                got = self.picks(*call, "--candidates", self.save("c", c.astype(other)))
                self.assertEqual(got, want, (dtype, other))

    def test_every_npy_version_is_read(self):
        p = distribution(9, 3)
        want = None
        for version in ((1, 0), (2, 0), (3, 0)):
            path = self.path("v.npy")
            with open(path, "wb") as file:
                np.lib.format.write_array(file, p, version)
            got = self.picks("entropy", "--batch", 4, "--probs", path)
            self.assertEqual(got, want or got)
            want = got

    def test_members_of_archives_are_read(self):
        p, h = distribution(9, 3), np.eye(9, 4, dtype=np.float32)
        want = self.picks("badge", "--batch", 4, "--probs", self.save("p", p), "--features",
                          self.save("h", h))
        for name, save in (("a.npz", np.savez), ("b.npz", np.savez_compressed)):
            path = self.path(name)
            save(path, probs=p, h=h)
            got = self.picks("badge", "--batch", 4, "--probs", path + ":probs", "--features",
                             path + ":h")
            self.assertEqual(got, want)
            for key in ("nope", ""):
                self.fails(3, "select", "margin", "--batch", 1, "--probs", f"{path}:{key}",
                           says=name)
            self.fails(3, "select", "margin", "--batch", 1, "--probs", path, says=name)

    def test_logits_are_softmaxed(self):
        z = np.random.default_rng(5).normal(size=(30, 4)) * 3
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        self.assertEqual(
            self.picks("entropy", "--batch", 6, "--logits", self.save("z", z)),
            self.picks("entropy", "--batch", 6, "--probs", self.save("p", p)))

    def test_nothing_to_pick_prints_the_header_and_a_warning(self):
        p = self.save("p", distribution(4, 3))
        empty = self.save("empty", np.zeros((0, 3)))
        for call in (["--probs", p, "--labels", self.save("y", np.array([0, 1, 2, 0]))],
                     ["--probs", p, "--candidates", self.save("c", np.zeros(0, int))],
                     ["--probs", empty]):
            done = run("select", "margin", "--batch", 2, *call)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "rank,index,weight,score\n")
            self.assertEqual(done.stderr.count("scant: warning: "), 1, done.stderr)
            quiet = run("select", "margin", "--batch", 2, *call, "--quiet")
            self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr),
                             (0, "rank,index,weight,score\n", ""))

    def test_a_batch_larger_than_the_pool_picks_all_rows_and_warns(self):
        p = self.save("p", distribution(4, 3))
        for batch in (5, 10**9, 2**63, 2**64 - 1):
            done = run("select", "margin", "--batch", batch, "--probs", p)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), 5)
            self.assertEqual(done.stderr.count("scant: warning: "), 1, done.stderr)


class Bad(Case):
    def setUp(self):
        super().setUp()
        self.n = 30
        self.p = self.save("good_p", distribution(self.n, 3))
        self.h = self.save("good_h", np.random.default_rng(1).normal(size=(self.n, 4)))

    def margin(self, path, *more, says=()):
        return self.fails(3, "select", "margin", "--batch", 3, "--probs", path, *more, says=says)

    def test_missing_files_and_files_without_an_array_are_refused(self):
        self.margin(self.path("none.npy"), says="none.npy")
        self.margin(self.dir, says=self.dir)
        for name, content in (("empty.npy", b""), ("text.npy", b"1,2,3\n"),
                              ("short.npy", b"\x93NUMPY\x01\x00"), ("zip.npz", b"PK\x03\x04")):
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.margin(self.path(name), says=name)

    def test_a_truncated_file_is_refused(self):
        with open(self.p, "rb") as file:
            whole = file.read()
        with open(self.path("cut.npy"), "wb") as file:
            file.write(whole[:-8])
        self.margin(self.path("cut.npy"), says="cut.npy")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_file_without_read_permission_is_refused(self):
        path = self.save("secret", distribution(4, 2))
        os.chmod(path, 0)
        self.margin(path, says="secret.npy")

    def test_fortran_order_gets_a_hint(self):
        path = self.save("f", np.asfortranarray(distribution(self.n, 3)))
        said = self.margin(path, says="f.npy")
        self.assertIn("ascontiguousarray", said)

    def test_objects_and_unsupported_types_are_refused(self):
        path = self.path("o.npy")
        np.save(path, np.array([[1, "a"]], dtype=object), allow_pickle=True)
        self.margin(path, says="o.npy")
        for dtype in ("c16", "?", "S3", "i4", "M8[s]"):
            self.margin(self.save("t", np.zeros((self.n, 3), dtype)), says="t.npy")
        self.fails(3, "select", "coreset", "--batch", 3, "--features",
                   self.save("i", np.zeros((self.n, 3), "i4")), says="i.npy")
        self.margin(self.p, "--labels", self.save("y", np.zeros(self.n)), says="y.npy")
        self.margin(self.p, "--candidates", self.save("c", np.zeros(3)), says="c.npy")

    def test_wrong_shapes_are_refused(self):
        self.margin(self.save("one", np.ones(self.n)), says="one.npy")
        self.margin(self.save("three", np.ones((self.n, 2, 2))), says="three.npy")
        self.margin(self.save("narrow", np.ones((self.n, 1))), says="narrow.npy")
        self.margin(self.save("scalar", np.float64(1)), says="scalar.npy")
        self.fails(3, "select", "coreset", "--batch", 3, "--features",
                   self.save("flat", np.ones((self.n, 0))), says="flat.npy")
        self.margin(self.p, "--labels", self.save("y2", np.zeros((self.n, 1), int)),
                    says="y2.npy")
        self.margin(self.p, "--candidates", self.save("c2", np.zeros((2, 2), int)),
                    says="c2.npy")

    def test_different_numbers_of_rows_are_refused(self):
        self.fails(3, "select", "badge", "--batch", 3, "--probs", self.p, "--features",
                   self.save("h", np.ones((self.n + 1, 4))), says=["30", "31"])
        self.margin(self.p, "--labels", self.save("y", np.full(self.n - 1, -1)),
                    says=["y.npy", "30", "29"])

    def test_random_also_refuses_different_numbers_of_rows(self):
        self.fails(3, "select", "random", "--batch", 3, "--probs", self.p, "--features",
                   self.save("h", np.ones((self.n + 1, 4))), says=["30", "31"])

    def test_values_that_are_not_finite_are_refused_with_row_and_value(self):
        for bad, word in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
            for dtype in ("f2", "f4", "f8", ">f4"):
                z = np.random.default_rng(2).normal(size=(self.n, 3)).astype(dtype)
                z[17, 1] = bad
                said = self.fails(3, "select", "margin", "--batch", 2, "--logits",
                                  self.save("z", z), says=["z.npy", "17"])
                self.assertIn(word, said.lower())
                h = np.ones((self.n, 3), dtype)
                h[11, 2] = bad
                said = self.fails(3, "select", "coreset", "--batch", 2, "--features",
                                  self.save("h", h), says=["h.npy", "11"])
                self.assertIn(word, said.lower())

    def test_nan_in_a_labelled_row_is_refused_too(self):
        p = distribution(self.n, 3)
        p[4] = np.nan
        y = np.full(self.n, -1)
        y[4] = 1
        self.margin(self.save("p", p), "--labels", self.save("y", y), says=["p.npy", "4"])

    def test_the_first_bad_row_is_named_at_any_thread_count(self):
        p = distribution(200000, 2)
        p[150001, 0] = np.nan
        p[170000, 0] = np.nan
        path = self.save("p", p)
        for threads in (1, 2, 7):
            self.margin(path, "--threads", threads, says="150001")

    def test_rows_that_are_not_distributions_are_refused(self):
        p = distribution(self.n, 3)
        p[7] = [0.5, 0.5, 0.5]
        self.margin(self.save("sum", p), says=["sum.npy", "7", "1.5"])
        p[7] = [-0.25, 0.75, 0.5]
        self.margin(self.save("neg", p), says=["neg.npy", "7", "-0.25"])
        p[7] = [0.3339, 0.3333, 0.3333]
        self.ok("select", "margin", "--batch", 2, "--probs", self.save("near", p))
        p[7] = [0.3339, 0.3339, 0.3339]
        self.margin(self.save("far", p), says=["far.npy", "7"])
        p[7] = [0.5, 0.25, 0.250999]  # just within the tolerance, then just beyond
        self.ok("select", "margin", "--batch", 2, "--probs", self.save("within", p))
        p[7] = [0.5, 0.25, 0.25102]
        self.margin(self.save("beyond", p), says=["beyond.npy", "7", "1.00102"])
        p[7] = [0.5, 0.25, 0.24898]
        self.margin(self.save("short", p), says=["short.npy", "7", "0.99898"])

    def test_labels_out_of_range_are_refused(self):
        y = np.full(self.n, -1)
        y[9] = -2
        self.margin(self.p, "--labels", self.save("y", y), says=["y.npy", "9", "-2"])
        y[9] = -1
        y[3] = 3
        said = run("select", "margin", "--batch", 2, "--probs", self.p, "--labels",
                   self.save("y", y))
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertIn("y.npy", said.stderr)

    def test_candidates_out_of_range_are_refused(self):
        for bad in (self.n, -1, 10**12):
            self.margin(self.p, "--candidates", self.save("c", np.array([0, 1, bad])),
                        says=["c.npy", str(bad)])

    def test_a_wrong_number_of_ids_names_both_numbers(self):
        path = self.path("ids.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(f"id{i}" for i in range(28)))
        self.margin(self.p, "--ids", path, says=["ids.txt", "28", "30"])
        self.margin(self.p, "--ids", self.path("none.txt"), says="none.txt")
        self.fails(3, "select", "random", "--batch", 1, "--ids", path, "--labels",
                   self.save("y", np.full(30, -1)), says=["28", "30"])

    def test_control_characters_of_a_file_name_are_not_printed(self):
        said = self.margin(self.path("a\x1b[31mb.npy"))
        self.assertNotIn("\x1b", said)


if __name__ == "__main__":
    unittest.main()
