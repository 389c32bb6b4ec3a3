# SPDX-License-Identifier: Apache-2.0
"""Runs the program as a user does. The variable SCANT is its path (default: build/scant)."""
import csv
import io
import json
import os
import re
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCANT = os.environ.get("SCANT", os.path.join(ROOT, "build", "scant"))
BUILD = os.environ.get("SCANT_BUILD", os.path.dirname(SCANT))

# A script that a shell starts in the background ignores SIGINT, and so do its children. Tests
# that send SIGINT need the default.
signal.signal(signal.SIGINT, signal.default_int_handler)


def run(*args, text=True, timeout=120, **kw):
    """Runs the program; returns the finished process (returncode, stdout, stderr)."""
    return subprocess.run([SCANT, *map(str, args)], capture_output=True, text=text, timeout=timeout, **kw)


def handles_signals(pid):
    """Whether the process has set its signal handlers; before that Ctrl-C just kills it. The handler
    of SIGTERM is the last."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", file.read())[1]
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1


def figure(attack, count, outcome):
    """Prints how often an attack was made, and its outcome: a row of the table in docs/reliability.md. The file
    SCANT_FIGURES, if set, gets it too."""
    row = f"| {attack} | {count:,} | {outcome} |"
    print("\n" + row)
    if os.environ.get("SCANT_FIGURES"):
        with open(os.environ["SCANT_FIGURES"], "a") as file:
            file.write(row + "\n")


def enlarge(path, name, value):
    """Sets all numbers of a tensor in a safetensors file."""
    with open(path, "rb") as file:
        raw = bytearray(file.read())
    size = struct.unpack("<Q", raw[:8])[0]
    first, last = json.loads(raw[8:8 + size])[name]["data_offsets"]
    raw[8 + size + first:8 + size + last] = np.full((last - first) // 4, value, "<f4").tobytes()
    with open(path, "wb") as file:
        file.write(raw)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scant-test-")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def path(self, name):
        return os.path.join(self.dir, name)

    def save(self, name, array):
        """Writes array to name.npy and returns the path."""
        path = self.path(name + ".npy")
        np.save(path, array)
        return path

    def wait_until_running(self, child, true=None):
        """Waits until the program handles signals and true() holds. It must not end earlier."""
        end = time.monotonic() + 60
        while not handles_signals(child.pid) or true and not true():
            self.assertIsNone(child.poll(), "the process ended before the test could reach it")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def ok(self, *args):
        """Runs the program, which must succeed; returns stdout."""
        done = run(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def table(self, *args):
        """The CSV that a successful select prints, as a list of dicts with numbers."""
        rows = list(csv.DictReader(io.StringIO(self.ok(*args))))
        for row in rows:
            for key in ("rank", "index"):
                row[key] = int(row[key])
            for key in ("weight", "score"):
                row[key] = float(row[key])
        return rows

    def fails(self, status, *args, says=()):
        """Runs the program and expects the exit status, an empty stdout, and a message that contains every
        string of says. Returns the message."""
        done = run(*args)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, done.stderr)
        return done.stderr
