# SPDX-License-Identifier: Apache-2.0
"""What tests of projects share: blobs, small pictures, people who know the truth."""
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
    """Rows about as many centres as there are classes, far from each other; and whose each is."""
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
    """Its folder is in memory where there is such a place: every answer goes to the disk."""

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
        """A project of n rows in three classes; its folder and the classes' names of the rows."""
        rows, truth = blobs(n, **how)
        project = self.path(name)
        self.ok("new", project, "--features", self.save(name + "-rows", rows), "--classes",
                ",".join(CLASSES), "--quiet", *flags)
        return project, [CLASSES[c] for c in truth]

    def pictures(self, n=30, folder="pictures", side=16, seed=0):
        """A folder of n small pictures in folders by no rule; path below it: class."""
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
        """What somebody who knows the truth answers to the rows of a batch, as a file."""
        out = io.StringIO()
        table = csv.writer(out)
        table.writerow(["id", "label"])
        for row in rows:
            table.writerow([row["id"], truth[row["id"] if isinstance(truth, dict)
                                             else int(row["id"])]])
        return self.write(name, out.getvalue())

    def batch(self, project, *flags, status=0):
        """The rows of a query."""
        done = run("query", project, *flags)
        self.assertEqual(done.returncode, status, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def label(self, project, truth, *flags):
        """Asks for a batch and answers it."""
        rows = self.batch(project, *flags)
        self.ok("label", project, "--import", self.answers(rows, truth))
        return rows

    def status(self, project):
        done = run("status", project, "--format", "json")
        self.assertIn(done.returncode, (0, 10), done.stderr)
        return json.loads(done.stdout)
