#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: libscant against NumPy, torch and the machine's limits, in one run.

The exit status is 1 for wrong results only; a missed target is printed but is not an error.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import cases
import networks
import papers
import table
from libscant import Scant

CASES = {**cases.CASES, **papers.CASES, **networks.CASES}

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

# Starts the program from a small process and reports its peak memory: a child of this large
# process would inherit our own peak. (The small process itself has 11 MB, so no peak is lower.)
MEASURE = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps([status, seconds, peak]))
"""


# Share of a core. If other processes use more, the two sides slow down by different factors.
DISTURBED = 0.1


class Bench:
    """What a case uses: the library, the program, timing and a folder for files."""

    def __init__(self, build, folder, quick, repeat):
        self.build, self.folder, self.quick, self.repeat = build, folder, quick, repeat
        self.scant = Scant(os.path.join(build, "libscant.so"))
        self.limits_program = os.path.join(build, "bench-limits")
        subprocess.run(["cc", "-O3", "-march=native", "-fopenmp", "-o", self.limits_program,
                        os.path.join(HERE, "limits.c")], check=True)

    def size(self, count):
        return count // 10 if self.quick else count

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def clock(self, title, who, call, runs, warm=True):
        """Seconds of each run, and the result of the last. If warm, an extra first run, which warms
        up memory, caches and threads, is not counted."""
        if warm:
            call()
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            result = call()
            seconds.append(time.perf_counter() - start)
        self.say(f"{title}: {who} {statistics.median(seconds) * 1e3:.1f} ms, "
                 f"best {min(seconds) * 1e3:.1f}")
        return seconds, result

    def ours(self, title, call):
        return self.clock(title, "scant", call, self.repeat)

    def theirs(self, title, call, who="NumPy", runs=3, warm=True):
        """The rival's best time, and its result."""
        seconds, result = self.clock(title, who, call, min(self.repeat, runs), warm)
        return min(seconds), result

    def files(self, **arrays):
        """Saves the arrays and returns the flags that name them."""
        args = []
        for name, array in arrays.items():
            path = os.path.join(self.folder, name + ".npy")
            np.save(path, array)
            args += ["--" + name, path]
        return args

    def program(self, strategy, batch, files):
        """Seconds and peak bytes of the program on what files() returned."""
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, os.path.join(self.build, "scant"), "select",
             strategy, "--batch", str(batch), *files], stdout=subprocess.PIPE, check=True)
        status, seconds, peak = json.loads(done.stdout)
        if status:
            raise RuntimeError(f"scant select {strategy} ended with status {status}")
        self.say(f"scant select {strategy}: {seconds * 1e3:.1f} ms, {peak / 1e6:.0f} MB")
        return seconds, peak

    def limits(self):
        done = subprocess.run([self.limits_program], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True)
        return json.loads(done.stdout)


def others_seconds():
    """Processor time used by everything except this process and its children."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    everyone = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    return everyone - (own.user + own.system + own.children_user + own.children_system)


def measured(case, bench):
    """The rows of a case, each with the share of a core that other processes used during it."""
    start, before = time.perf_counter(), others_seconds()
    for row in case(bench):
        row.others = max(0.0, (others_seconds() - before) / (time.perf_counter() - start))
        yield row
        start, before = time.perf_counter(), others_seconds()


def sgemm_speed(size=2048):
    """GFLOPS of NumPy's product of float32 matrices."""
    A = np.ones((size, size), np.float32)
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        A @ A
        best = min(best, time.perf_counter() - start)
    return 2 * size ** 3 / best / 1e9


def first_line(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine(bench):
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")),
                   "unknown")
    return {"commit": first_line("git", "describe", "--always", "--dirty"), "cpu": cpu,
            "cores": os.cpu_count(), "scant": bench.scant.version(), "numpy": np.__version__,
            "python": sys.version.split()[0],
            "limits": {**bench.limits(), "sgemm": round(sgemm_speed(), 1)}}


def print_table(about, rows):
    limits = about["limits"]
    print(f"scant {about['scant']} ({about['commit']}), NumPy {about['numpy']}, "
          f"Python {about['python']}, {about['cpu']}, {about['cores']} cores")
    print(f"limits: read {limits['read_1']} GB/s with one thread, {limits['read_all']} with "
          f"{limits['threads']}; multiply-add {limits['fma_1']}, {limits['fma_all']} GFLOPS; "
          f"sgemm {limits['sgemm']} GFLOPS\n")
    print(table.HEAD)
    for row in rows:
        print(table.line(row))
    if any(row.others > DISTURBED for row in rows):
        print(f"\nOther processes had more than {DISTURBED} of a core in some rows (column "
              "others): do not trust those times and ratios.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--only", metavar="CASE", action="append",
                        help="only cases whose name starts with CASE; repeatable: " + ", ".join(CASES))
    parser.add_argument("--json", metavar="FILE", help="also write the results to FILE")
    parser.add_argument("--repeat", type=int, default=5, help="our runs per case (5)")
    parser.add_argument("--build", metavar="DIR", default=os.path.dirname(
        os.environ.get("SCANT", os.path.join(ROOT, "build", "scant"))),
        help="where libscant.so and scant are (build, or where $SCANT is)")
    args = parser.parse_args()
    chosen = [name for name in CASES
              if not args.only or any(name.startswith(prefix) for prefix in args.only)]
    if not chosen:
        parser.error("no case starts with " + ", ".join(args.only))

    with tempfile.TemporaryDirectory(prefix="scant-bench-") as folder:
        bench = Bench(os.path.abspath(args.build), folder, args.quick, args.repeat)
        about = machine(bench)
        rows = [row for name in chosen for row in measured(CASES[name], bench)]
    print_table(about, rows)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({**about, "quick": args.quick, "rows": [vars(row) for row in rows]}, file,
                      indent=1)
            file.write("\n")
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
