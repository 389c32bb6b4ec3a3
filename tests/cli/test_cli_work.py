# SPDX-License-Identifier: Apache-2.0
"""Running calls: plans, threads, memory, progress, colour, Ctrl-C, files that shrink."""
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np

from scantcli import SCANT, Case, run

SANITIZED = bool(os.environ.get("SCANT_SANITIZE"))


def on_terminal(args, env=None, timeout=60):
    """Runs the program with stderr on a terminal; returns exit status, stdout and the terminal's output."""
    master, slave = pty.openpty()
    with tempfile.TemporaryFile("w+") as stdout, \
            subprocess.Popen([SCANT, *map(str, args)], stdout=stdout, stderr=slave,
                             env=env) as child:
        os.close(slave)
        seen = b""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            ready, _, _ = select.select([master], [], [], 0.1)
            try:
                chunk = os.read(master, 65536) if ready else b""
            except OSError:  # the other end is closed
                break
            seen += chunk
            if not ready and child.poll() is not None:
                break
        child.wait()
        stdout.seek(0)
        out = stdout.read()
        os.close(master)
    return child.returncode, out, seen.decode()


class Plan(Case):
    def setUp(self):
        super().setUp()
        self.p = self.save("p", np.full((5000, 4), 0.25, np.float32))
        self.h = self.save("h", np.ones((5000, 8)))

    def test_it_shows_inputs_memory_and_options(self):
        plan = self.ok("select", "badge", "--batch", 10, "--probs", self.p, "--features", self.h,
                       "--threads", 2, "--memory", "1G", "--opt", "bias=1", "--dry-run")
        for pattern in (r"strategy +badge", r"rows +5000", r"batch +10", r"5000 x 4 float32",
                        r"5000 x 8 float64", r"blocks +\d+", r"memory +.*1\.0 GiB",
                        r"passes +\d+", r"threads +2", r"bias=1", r"p\.npy"):
            self.assertRegex(plan, pattern)

    def test_it_reads_headers_only_and_writes_nothing(self):
        bad = self.save("bad", np.full((10, 2), np.nan))
        self.ok("select", "margin", "--batch", 3, "--probs", bad, "--dry-run", "--out",
                self.path("out.csv"))
        self.assertFalse(os.path.exists(self.path("out.csv")))

    def test_it_fails_like_the_call_itself(self):
        self.fails(2, "select", "margin", "--batch", 3, "--dry-run", says="--probs")
        self.fails(3, "select", "margin", "--batch", 3, "--probs", self.save("one", np.ones(3)),
                   "--dry-run", says="one.npy")
        self.fails(3, "select", "margin", "--batch", 3, "--probs", self.p, "--ids",
                   self.save("ids", np.array(["a"])), "--dry-run", says=["1", "5000"])
        self.fails(4, "select", "margin", "--batch", 3, "--probs", self.p, "--memory", "1K",
                   "--dry-run")

    @unittest.skipIf(SANITIZED, "sanitized builds have pthreads, not OpenMP")
    def test_the_thread_count_follows_openmp_and_the_cores(self):
        call = ("select", "margin", "--batch", 3, "--probs", self.save("p3", np.full((9, 3), 1 / 3)), "--dry-run")
        cores = len(os.sched_getaffinity(0))
        for said, threads in (("1", 1), (str(cores), cores), (str(5 * cores), cores)):
            done = run(*call, env=dict(os.environ, OMP_NUM_THREADS=said))
            self.assertRegex(done.stdout, rf"(?m)^threads +{threads}$")
        done = run(*call, "--threads", 2, env=dict(os.environ, OMP_NUM_THREADS="1"))
        self.assertRegex(done.stdout, r"(?m)^threads +2$")

    def test_errors_of_options_and_shapes_are_found_without_reading(self):
        rng = np.random.default_rng(6)
        wide = self.save("wide", rng.normal(size=(200, 60)))
        z = self.save("logits", rng.normal(size=(200, 3)))
        samples = self.save("samples", rng.dirichlet(np.ones(3), size=(4, 200)))
        features = ["--features", wide, "--logits", z, "--temperature", "fit"]
        labels = np.full(200, -1)
        labels[:20] = 1
        heated = [*features, "--labels", self.save("y", labels), "--calibrate-on"]
        for strategy, args in (
                ("bss", ["--features", wide, "--opt", "basis=poly:8"]),
                ("acs-fw", ["--samples", samples, "--opt", "projections=9"]),
                ("sparse-iht", [*heated, self.save("open", np.arange(15, 25))]),
                ("sparse-greedy", [*heated, self.save("beyond", np.array([3, 200]))])):
            call = ["select", strategy, "--batch", 10, *args]
            done, planned = run(*call), run(*call, "--dry-run")
            self.assertIn(done.returncode, (2, 3), done.stderr)
            self.assertEqual((planned.returncode, planned.stdout), (done.returncode, ""))
            self.assertEqual(planned.stderr, done.stderr)
        for strategy, args in (  # valid calls are planned
                ("bss", ["--features", wide, "--opt", "basis=poly:1"]),
                ("acs-fw", ["--samples", samples, "--opt", "projections=4"]),
                ("sparse-iht", [*heated, self.save("known", np.arange(15))])):
            self.ok("select", strategy, "--batch", 10, *args, "--dry-run")
            self.ok("select", strategy, "--batch", 10, *args)

    def test_too_little_memory_names_the_need(self):
        for strategy in ("random", "margin", "egl", "coreset", "badge"):
            call = ["select", strategy, "--batch", 10, "--probs", self.p, "--features", self.h,
                    "--quiet"]
            for memory in ("0", "1", "100", "1K", "2K", "10K"):
                said = self.fails(4, *call, "--memory", memory)
                need = int(re.search(r"needs (\d+) bytes", said)[1])
                self.assertGreater(need, 10240, said)
                self.ok(*call, "--memory", need)
            self.fails(4, *call, "--memory", need // 2)


class Determinism(Case):
    def test_threads_do_not_change_a_byte(self):
        rng = np.random.default_rng(8)
        z = self.save("z", rng.normal(size=(30000, 6)).astype("f4"))
        h = self.save("h", rng.normal(size=(30000, 16)).astype("f4"))
        y = np.full(30000, -1)
        y[::1000] = 2
        y = self.save("y", y)
        for line in self.ok("strategies").splitlines()[1:]:
            name, needs = line.split()[0], line
            call = ["select", name, "--batch", 50, "--labels", y, "--seed", 5]
            if "probs" in needs:
                call += ["--logits", z]
            if "features" in needs:
                call += ["--features", h]
            one = run(*call, "--threads", 1)
            if one.returncode == 2:
                continue  # it needs other inputs
            self.assertEqual(one.returncode, 0, one.stderr)
            for threads in (0, 2, 5):
                self.assertEqual(self.ok(*call, "--threads", threads), one.stdout, name)

    def test_the_seed_decides_the_picks(self):
        p = self.save("p", np.full((1000, 2), 0.5))
        call = ["select", "random", "--batch", 20, "--probs", p, "--seed"]
        self.assertEqual(self.ok(*call, 1), self.ok(*call, 1))
        self.assertNotEqual(self.ok(*call, 1), self.ok(*call, 2))
        self.assertEqual(self.ok(*call, 0), self.ok(*call[:-1]))


class Terminal(Case):
    def setUp(self):
        super().setUp()
        self.env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        self.env["TERM"] = "xterm"

    def test_colour_on_a_terminal_only_and_not_with_no_color(self):
        call = ["select", "margin", "--batch", 1, "--probs", self.path("none.npy")]
        self.assertIn("\x1b[", on_terminal(call, env=self.env)[2])
        self.assertNotIn("\x1b[", on_terminal(call, env=dict(self.env, NO_COLOR="1"))[2])
        self.assertIn("\x1b[", on_terminal(call, env=dict(self.env, NO_COLOR=""))[2])
        self.assertNotIn("\x1b[", on_terminal(call, env=dict(self.env, TERM="dumb"))[2])
        self.assertNotIn("\x1b[", run(*call).stderr)

    def test_a_quick_call_shows_no_progress(self):
        p = self.save("p", np.full((10, 2), 0.5))
        status, out, seen = on_terminal(["select", "margin", "--batch", 2, "--probs", p])
        self.assertEqual((status, seen), (0, ""))
        self.assertEqual(len(out.splitlines()), 3)
        self.assertEqual(run("select", "margin", "--batch", 2, "--probs", p, "--progress").stderr,
                         "")


class Long(Case):
    """A call of some seconds: coreset on random points in 256 dimensions, where bounds skip no work."""

    def setUp(self):
        super().setUp()
        self.h = self.path("h.npy")
        h = np.lib.format.open_memmap(self.h, "w+", "f4", (40000, 256))
        h[:] = np.random.default_rng(0).standard_normal(h.shape, dtype="f4")
        h.flush()
        self.call = ["select", "coreset", "--batch", 20000, "--features", self.h, "--threads", 1]

    def start(self, *more, **kw):
        child = subprocess.Popen([SCANT, *map(str, self.call + list(more))],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.wait_until_running(child, lambda: self.reads(child.pid))
        return child

    def reads(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            return self.h in file.read()

    def test_ctrl_c_ends_it_and_writes_nothing(self):
        out = self.path("out.csv")
        with open(out, "w", encoding="utf-8") as file:
            file.write("old")
        child = self.start("--out", out)
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate(timeout=60)
        self.assertEqual((child.returncode, stdout), (130, ""), stderr)
        self.assertIn("interrupted", stderr)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(sorted(os.listdir(self.dir)), ["h.npy", "out.csv"])

    def test_ctrl_c_twice_quits_at_once(self):
        child = self.start()
        while child.poll() is None:  # two signals at the same time count as one
            child.send_signal(signal.SIGINT)
            time.sleep(0.1)
        self.assertEqual(child.returncode, 130)

    def test_sigint_stays_ignored_if_it_was(self):
        child = self.start(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        child.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(child.poll())

    @unittest.skipIf(SANITIZED, "the sanitizer has its own handler")
    def test_a_file_that_shrinks_is_an_input_error_not_a_crash(self):
        child = self.start()
        os.truncate(self.h, 4096)
        _, stderr = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 3, stderr)
        self.assertTrue(stderr.startswith("scant: "), stderr)

    def test_the_flag_progress_prints_plain_lines(self):
        child = self.start("--progress")
        line = child.stderr.readline()
        child.send_signal(signal.SIGINT)
        self.assertRegex(line, r"^scant: .+: +\d+%, \d+:\d\d elapsed.*\n$")
        self.assertNotIn("\r", line)

    def test_without_a_terminal_there_is_no_progress(self):
        child = self.start()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=60)[1].count("\n"), 1)

    def test_the_progress_bar_is_one_line_that_is_erased(self):
        call = self.call[:3] + [400] + self.call[4:]
        for batch in (400, 2000, 6000, 20000):  # until the call takes long enough on this machine
            call[3] = batch
            status, _, seen = on_terminal(call)
            self.assertEqual(status, 0, seen)
            if seen:
                break
        self.assertIn("%", seen)
        self.assertNotIn("\n", seen)
        self.assertRegex(seen, r"\r +\r$")
        status, _, seen = on_terminal(call + ["--quiet"])
        self.assertEqual((status, seen), (0, ""))


if __name__ == "__main__":
    unittest.main()
