# SPDX-License-Identifier: Apache-2.0
"""Output of `scant select`: CSV, JSON, .npy, ids; files are written completely or not at all."""
import csv
import io
import json
import os
import stat
import subprocess
import unittest

import numpy as np

from scantcli import SCANT, Case, run


class Picks(Case):
    def setUp(self):
        super().setUp()
        p = np.random.default_rng(4).random((12, 3)) + 0.1
        self.p = self.save("p", p / p.sum(1, keepdims=True))
        self.h = self.save("h", np.random.default_rng(5).normal(size=(12, 4)))
        self.call = ["select", "margin", "--batch", 4, "--probs", self.p]

    def leftovers(self):
        """Names in the folder that are not inputs."""
        return sorted(set(os.listdir(self.dir)) - {"p.npy", "h.npy"})

    def ids(self, lines, name="ids.txt"):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(b"\n".join(lines) + b"\n")
        return path


class Csv(Picks):
    def test_header_ranks_and_line_ends(self):
        out = run(*self.call, text=False).stdout
        self.assertNotIn(b"\r", out)
        self.assertTrue(out.endswith(b"\n"))
        lines = out.decode().splitlines()
        self.assertEqual(lines[0], "rank,index,weight,score")
        self.assertEqual([line.split(",")[0] for line in lines[1:]], ["1", "2", "3", "4"])
        self.assertEqual({line.split(",")[2] for line in lines[1:]}, {"1"})

    def test_numbers_have_nine_digits(self):
        p = np.load(self.p)
        top = np.sort(p, axis=1)
        margin = 1 - (top[:, 2] - top[:, 1])
        for row in self.ok(*self.call).splitlines()[1:]:
            _, index, _, score = row.split(",")
            self.assertEqual(score, "%.9g" % margin[int(index)])

    def test_the_locale_does_not_matter(self):
        want = self.ok(*self.call)
        env = dict(os.environ, LC_ALL="de_DE.UTF-8", LC_NUMERIC="de_DE.UTF-8")
        self.assertEqual(run(*self.call, env=env).stdout, want)

    def test_ids_follow_the_index_and_are_quoted(self):
        names = ["plain", "with,comma", 'with"quote', " leading", "trailing ", "tab\t", "",
                 "größe", "a b", "cr\rin it", "'single'", "last"]
        path = self.ids([name.encode() for name in names])
        out = run("select", "margin", "--batch", 12, "--probs", self.p, "--ids", path,
                  text=False).stdout.decode()
        self.assertEqual(out.splitlines()[0], "rank,index,id,weight,score")
        rows = list(csv.DictReader(io.StringIO(out, newline="")))
        self.assertEqual({int(r["index"]): r["id"] for r in rows}, dict(enumerate(names)))
        for quoted in ('"with,comma"', '"with""quote"', '" leading"', '"trailing "', '"tab\t"'):
            self.assertIn("," + quoted + ",", out)
        for bare in ("plain", "größe", "a b", "'single'", ""):
            self.assertIn("," + bare + ",", out)

    def test_ids_can_be_numpy_strings(self):
        names = [f"ü{i}" for i in range(12)]
        for array in (np.array(names), np.array(names).astype(">U8"),
                      np.array([n.encode() for n in names])):
            out = self.ok(*self.call, "--ids", self.save("ids", array))
            for row in csv.DictReader(io.StringIO(out)):
                self.assertEqual(row["id"], names[int(row["index"])])

    def test_ids_with_windows_line_ends_are_read(self):
        path = self.ids([b"id%d\r" % i for i in range(12)])
        for row in csv.DictReader(io.StringIO(self.ok(*self.call, "--ids", path))):
            self.assertEqual(row["id"], "id" + row["index"])


class Json(Picks):
    def test_fields_and_their_order(self):
        call = ["select", "badge", "--batch", 4, "--probs", self.p, "--features", self.h, "--seed",
                2**64 - 1, "--format", "json"]
        text = self.ok(*call)
        self.assertTrue(text.endswith("}\n"))
        got = json.loads(text)
        self.assertEqual(list(got), ["strategy", "seed", "n", "requested", "batch", "seconds",
                                     "options", "info", "picks"])
        self.assertEqual(got["strategy"], "badge")
        self.assertEqual(got["seed"], str(2**64 - 1))
        self.assertEqual((got["n"], got["requested"], got["batch"]), (12, 4, 4))
        self.assertGreaterEqual(got["seconds"], 0)
        self.assertEqual(got["options"]["bias"], 0)
        self.assertIsInstance(got["info"], dict)
        self.assertEqual([list(pick) for pick in got["picks"]],
                         [["index", "weight", "score"]] * 4)

    def test_options_show_given_and_default_values(self):
        got = json.loads(self.ok("select", "egl", "--batch", 1, "--probs", self.p, "--features",
                                 self.h, "--opt", "bias=0", "--format", "json"))
        self.assertEqual(got["options"], {"bias": 0, "normalise": 0})

    def test_the_same_picks_as_the_table(self):
        table = self.table(*self.call)
        picks = json.loads(self.ok(*self.call, "--format", "json"))["picks"]
        self.assertEqual([p["index"] for p in picks], [r["index"] for r in table])
        for pick, row in zip(picks, table):
            self.assertEqual(float("%.9g" % pick["score"]), row["score"])
            self.assertEqual(pick["weight"], 1)

    def test_requested_and_batch_differ_if_rows_run_out(self):
        got = json.loads(self.ok("select", "margin", "--batch", 50, "--probs", self.p, "--format",
                                 "json"))
        self.assertEqual((got["requested"], got["batch"], len(got["picks"])), (50, 12, 12))

    def test_nothing_to_pick(self):
        got = json.loads(self.ok(*self.call, "--format", "json", "--labels",
                                 self.save("y", np.zeros(12, int))))
        self.assertEqual((got["batch"], got["picks"]), (0, []))

    def test_ids_are_escaped(self):
        names = [b'q"uote', b"back\\slash", b"tab\t", b"\x01\x1f\x7f", "größe".encode(), b"bad\xff",
                 b"cut\xe2\x82", b"\xed\xa0\x80", "\U0001F600".encode(), b"</script>", b"", b"x"]
        path = self.ids(names)
        out = run("select", "margin", "--batch", 12, "--probs", self.p, "--ids", path, "--format",
                  "json", text=False).stdout
        got = json.loads(out.decode("utf-8"))  # strict: it must be UTF-8
        self.assertEqual(list(got["picks"][0]), ["index", "id", "weight", "score"])
        for pick in got["picks"]:
            want = names[pick["index"]].decode("utf-8", "replace")
            self.assertEqual(pick["id"], want)


class Npy(Picks):
    def test_indices_as_int64(self):
        out = self.path("out.npy")
        self.assertEqual(self.ok(*self.call, "--out", out), "")
        got = np.load(out)
        self.assertEqual((got.dtype.str, got.shape), ("<i8", (4,)))
        self.assertEqual(got.tolist(), [r["index"] for r in self.table(*self.call)])

    def test_npy_on_stdout(self):
        done = run(*self.call, "--format", "npy", text=False)
        self.assertEqual(np.load(io.BytesIO(done.stdout)).shape, (4,))

    def test_nothing_to_pick(self):
        out = self.path("out.npy")
        self.ok(*self.call, "--out", out, "--labels", self.save("y", np.zeros(12, int)))
        self.assertEqual(np.load(out).shape, (0,))


class Files(Picks):
    def test_the_ending_decides_and_format_overrides(self):
        table = self.ok(*self.call)
        for name in ("a.csv", "a.txt", "a", "json", "a.JSON.tsv"):
            self.ok(*self.call, "--out", self.path(name))
            with open(self.path(name), encoding="utf-8") as file:
                self.assertEqual(file.read(), table)
        self.ok(*self.call, "--out", self.path("a.json"))
        with open(self.path("a.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["batch"], 4)
        self.ok(*self.call, "--out", self.path("b.json"), "--format", "csv")
        with open(self.path("b.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), table)
        self.ok(*self.call, "--out", self.path("c.csv"), "--format", "npy")
        self.assertEqual(np.load(self.path("c.csv")).shape, (4,))

    def test_a_dash_is_stdout(self):
        self.assertEqual(self.ok(*self.call, "--out", "-"), self.ok(*self.call))
        self.assertEqual(self.ok(*self.call, "--out=-"), self.ok(*self.call))
        self.assertEqual(self.leftovers(), [])

    def test_no_other_file_is_left_next_to_the_output(self):
        self.ok(*self.call, "--out", self.path("out.csv"))
        self.assertEqual(self.leftovers(), ["out.csv"])

    def test_an_error_leaves_the_old_file(self):
        out = self.path("out.csv")
        with open(out, "w", encoding="utf-8") as file:
            file.write("old")
        bad = np.load(self.p)
        bad[5] = np.nan
        bad = self.save("bad", bad)
        self.fails(3, "select", "margin", "--batch", 4, "--probs", bad, "--out", out)
        self.fails(2, "select", "margin", "--probs", self.p, "--out", out)
        self.fails(3, "select", "margin", "--batch", 4, "--probs", self.path("no.npy"), "--out",
                   out)
        self.fails(4, *self.call, "--memory", "1", "--out", out)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(self.leftovers(), ["bad.npy", "out.csv"])

    def test_an_error_makes_no_file(self):
        self.fails(3, "select", "margin", "--batch", 4, "--probs", self.path("no.npy"), "--out",
                   self.path("out.csv"))
        self.assertEqual(self.leftovers(), [])

    def test_an_old_file_is_replaced_and_keeps_its_mode(self):
        out = self.path("out.csv")
        with open(out, "w", encoding="utf-8") as file:
            file.write("old" * 1000)
        os.chmod(out, 0o640)
        self.ok(*self.call, "--out", out)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), self.ok(*self.call))
        self.assertEqual(stat.S_IMODE(os.stat(out).st_mode), 0o640)

    def test_a_link_stays_a_link(self):
        os.mkdir(self.path("sub"))
        os.symlink("sub/real.csv", self.path("link.csv"))
        for _ in range(2):  # dangling, then not
            self.ok(*self.call, "--out", self.path("link.csv"))
            self.assertTrue(os.path.islink(self.path("link.csv")))
            with open(self.path("sub/real.csv"), encoding="utf-8") as file:
                self.assertEqual(file.read(), self.ok(*self.call))

    def test_paths_that_cannot_be_written_are_refused(self):
        for out in (self.path("none/out.csv"), self.dir, self.path("p.npy/x.csv"),
                    self.path("new/"), "/proc/none.csv"):
            said = self.fails(4, *self.call, "--out", out, says=out)
            self.assertTrue(said.startswith("scant: "))

    def test_a_path_that_cannot_be_written_is_found_before_the_work(self):
        bad = np.load(self.p)
        bad[5] = np.nan
        self.fails(4, "select", "margin", "--batch", 4, "--probs", self.save("bad", bad), "--out",
                   self.path("none/out.csv"))

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_or_file_without_permission_is_refused(self):
        os.mkdir(self.path("sub"), 0o555)
        self.fails(4, *self.call, "--out", self.path("sub/out.csv"), says="sub/out.csv")
        with open(self.path("ro.csv"), "w", encoding="utf-8"):
            pass
        os.chmod(self.path("ro.csv"), 0o444)
        self.fails(4, *self.call, "--out", self.path("ro.csv"), says="ro.csv")

    def test_an_input_is_not_overwritten(self):
        before = os.stat(self.p).st_mtime_ns
        self.fails(2, *self.call, "--out", self.p, says=["--out", "--probs"])
        os.symlink(self.p, self.path("link.npy"))
        self.fails(2, *self.call, "--out", self.path("link.npy"), says="--probs")
        np.savez(self.path("a.npz"), p=np.load(self.p))
        self.fails(2, "select", "margin", "--batch", 4, "--probs", self.path("a.npz:p"), "--out",
                   self.path("a.npz"), says="--probs")
        ids = self.ids([b"x"] * 12)
        self.fails(2, *self.call, "--ids", ids, "--out", ids, says="--ids")
        self.assertEqual(os.stat(self.p).st_mtime_ns, before)

    def test_an_input_that_the_strategy_ignores_is_not_overwritten(self):
        z = self.save("z", np.full((2, 12, 3), 1 / 3))
        albl = ["select", "albl", "--batch", 4, "--probs", self.p, "--features", self.h]
        for call, output, option, path in (
                (self.call, "--out", "--features", self.h),
                (self.call, "--out", "--samples", z),
                (self.call, "--out", "--gradients", self.h),
                (self.call, "--out", "--calibrated", self.h),
                ([*self.call, "--features", self.h], "--plot", "--samples", z),
                (albl, "--state", "--samples", z),
                (albl, "--out", "--logits", z)):
            link = self.path("link" + output + option + ".svg")
            os.symlink(path, link)
            with open(path, "rb") as file:
                before = file.read()
            for target in (link,) if output == "--plot" else (path, link):
                self.fails(2, *call, option, path, output, target, says=[output, option])
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), before)

    def test_a_pipe_is_written_directly(self):
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen(["cat", self.path("pipe")], stdout=subprocess.PIPE,
                              text=True) as reader:
            try:
                self.ok(*self.call, "--out", self.path("pipe"))
                self.assertEqual(reader.communicate(timeout=20)[0], self.ok(*self.call))
            finally:
                reader.kill()


class Streams(Picks):
    def shell(self, script):
        return subprocess.run(["bash", "-c", script, "bash", SCANT, self.p],
                              capture_output=True, text=True, timeout=60)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_an_error(self):
        for script in ('"$1" select margin --batch 4 --probs "$2" >/dev/full',
                       '"$1" select margin --batch 4 --probs "$2" --out /dev/full',
                       '"$1" select margin --batch 4 --probs "$2" --dry-run >/dev/full',
                       '"$1" --help >/dev/full', '"$1" strategies >/dev/full',
                       '"$1" --version >/dev/full'):
            done = self.shell(script)
            self.assertEqual(done.returncode, 4, script)
            self.assertIn("scant: ", done.stderr)
            self.assertIn("No space left", done.stderr)

    def test_a_closed_pipe_is_an_error(self):
        done = self.shell('(sleep 0.3; "$1" select margin --batch 4 --probs "$2"; echo $? >&2) '
                          '| true')
        self.assertIn("Broken pipe", done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], "4")

    def test_a_closed_stdout_is_an_error_and_a_closed_stderr_is_not(self):
        done = self.shell('"$1" select margin --batch 4 --probs "$2" >&-')
        self.assertEqual(done.returncode, 4)
        self.assertIn("scant: ", done.stderr)
        done = self.shell('"$1" select margin --batch 4 --probs "$2" <&- 2>&-')
        self.assertEqual((done.returncode, done.stdout), (0, self.ok(*self.call)))


if __name__ == "__main__":
    unittest.main()
