# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of projects: clustered rows, small images, and answers with the true labels."""
import csv
import io
import json
import os
import struct
import tempfile
import zlib

import numpy as np

from scantcli import Case, run

CLASSES = ("red", "green", "blue")
COLOURS = {"red": (220, 40, 40), "green": (40, 200, 40), "blue": (40, 40, 220)}


def blobs(n, d=8, classes=3, spread=1.0, seed=0):
    """Rows in well-separated clusters, one for each class, and the class of each row."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    centres = 6 * rng.normal(size=(classes, d)) / np.sqrt(d)
    return (centres[truth] + spread * rng.normal(size=(n, d)) / np.sqrt(d)).astype("f4"), truth


def png(pixels):
    """An h x w x 3 array of bytes as a PNG file."""
    height, width, _ = pixels.shape

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class ProjectCase(Case):
    """Its folder is in /dev/shm if possible, because every answer is written to disk."""

    def setUp(self):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        folder = tempfile.TemporaryDirectory(prefix="scant-test-", dir=place)
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(text, bytes) else "w") as file:
            file.write(text)
        return path

    def blobs(self, n=200, name="p", flags=(), **how):
        """Creates a project of n rows in three classes; returns its folder and each row's class name."""
        rows, truth = blobs(n, **how)
        project = self.path(name)
        self.ok("new", project, "--features", self.save(name + "-rows", rows), "--classes",
                ",".join(CLASSES), "--quiet", *flags)
        return project, [CLASSES[c] for c in truth]

    def images(self, n=30, folder="pictures", side=16, seed=0):
        """Writes n small images; returns their folder and {path: class}. Subfolders do not tell the class."""
        rng = np.random.default_rng(seed)
        truth = {}
        for i in range(n):
            name = CLASSES[i % 3]
            noise = rng.integers(-30, 30, (side, side, 3))
            path = f"{'even' if i % 2 == 0 else 'odd'}/{seed}-{i:03}.png"
            self.write(f"{folder}/{path}", png(np.clip(np.array(COLOURS[name]) + noise, 0, 255)))
            truth[path] = name
        return self.path(folder), truth

    def answers(self, rows, truth, name="answers.csv"):
        """Writes a file with the true labels of a batch's rows; returns its path."""
        out = io.StringIO()
        table = csv.writer(out)
        table.writerow(["id", "label"])
        for row in rows:
            table.writerow([row["id"], truth[row["id"] if isinstance(truth, dict)
                                             else int(row["id"])]])
        return self.write(name, out.getvalue())

    def batch(self, project, *flags, status=0):
        """Runs a query and returns its rows."""
        done = run("query", project, *flags)
        self.assertEqual(done.returncode, status, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def label(self, project, truth, *flags):
        """Queries a batch and imports its true labels; returns the rows."""
        rows = self.batch(project, *flags)
        self.ok("label", project, "--import", self.answers(rows, truth))
        return rows

    def status(self, project):
        done = run("status", project, "--format", "json")
        self.assertIn(done.returncode, (0, 10), done.stderr)
        return json.loads(done.stdout)
