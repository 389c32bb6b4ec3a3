# SPDX-License-Identifier: Apache-2.0
"""Small inputs that are expensive to read: their memory and their time are bounded, and nobody else waits.

JSON counts against --memory; requests are bounded before anybody has signed in; an image has a budget of work.
"""
import collections
import contextlib
import os
import resource
import socket
import threading
import time
import unittest

import numpy as np

from attack import NEW, Attack, run
from bombs import packed_json, png, progressive_jpeg
from projectcase import png as small_png
from scantcli import figure
from servecase import Person, ServeCase

MB = 1 << 20
CAP = "128M"
OVER = 160 * MB         # what a process may use over its cap: libraries, stacks, SQLite
SANITIZED = bool(os.environ.get("SCANT_SANITIZE"))
ITEM = b'{"id":"0","row":0,"a":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]},'


class JsonBombs(Attack):
    def detonate(self, args, folder):
        done = run(args, folder, timeout=60)
        self.assert_sentence(done, str(args))
        self.assertNotIn(b"--memory", done.stderr.split(b"needs")[0], "is there such a flag?")
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.assertLess(most, 128 * MB + OVER, f"{args}: {most // MB} MB")
        return most

    def test_manifests_and_imports_count_against_the_cap(self):
        folder, most = self.copy(), 0
        for name, begin, item, end in (("list.json.xz", b"[", ITEM, b'{"id":"1","row":1}]'),
                                       ("nested.jsonl.xz", b'{"id":', b"[", b"\n"),
                                       ("line.jsonl.xz", b'{"id":"0","row":0,"a":[', b"0,", b"0]}\n"),
                                       ("keys.jsonl.xz", b'{"id":"0","row":0', b',"a":0', b"}\n")):
            packed_json(os.path.join(folder, name), begin, item, 20_000_000 // len(item), end)
            most = max(most, self.detonate(["new", "born", "--features", "pool.npy", "--manifest", name, *NEW,
                                            "--memory", CAP], folder))
        figure("JSON bombs in manifests", 4, f"at most {most // MB} MB used under --memory {CAP}")

    def test_imports_count_against_the_cap(self):
        folder, most = self.copy(), 0
        for name, begin, item, end in (("tasks.json", b"[", b'{"data":{"id":"0"}},', b"0]"),
                                       ("deep.json", b"", b"[", b""),
                                       ("line.jsonl", b'{"id":"0","label":"red","a":[', b"0,", b"0]}\n")):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(begin + item * (40 * MB // len(item)) + end)
            most = max(most, self.detonate(["label", "project", "--import", name, "--memory", CAP], folder))
            os.remove(os.path.join(folder, name))
        figure("JSON bombs in imports", 3, f"at most {most // MB} MB used under --memory {CAP}")


class FolderBombs(Attack):
    def test_links_that_multiply_are_counted(self):
        """8 folders, each with ten links to the next: 10^8 paths to one image."""
        folder, levels = self.copy(), 8
        for i in range(levels):
            os.makedirs(os.path.join(folder, "maze", str(i)))
            for n in range(10):
                os.symlink(f"../{i + 1}", os.path.join(folder, "maze", str(i), str(n)))
        os.makedirs(os.path.join(folder, "maze", str(levels)))
        os.symlink(os.path.join(folder, "pictures", "0.png"), os.path.join(folder, "maze", str(levels), "0.png"))
        done = run(["new", "born", "--images", "maze/0", *NEW, "--memory", CAP], folder, timeout=60)
        self.assert_sentence(done, "folders of links")
        figure("folders of links that multiply", 1, "ended within a minute, and its memory")


def memory(pid):
    """The memory that a process uses now, in bytes."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))


class RequestBombs(ServeCase):
    GROWTH = 64 * MB

    def send_all(self, server, request, count):
        """Sends a request on each of many connections. Returns how far memory grew before they were answered, and how
        often each status came (0: closed without an answer)."""
        before, most, wires = memory(server.child.pid), 0, []
        for _ in range(count):
            wire = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            self.addCleanup(wire.close)
            try:
                wire.sendall(request)
            except OSError:  # refused before all of it was read
                pass
            wires.append(wire)
            most = max(most, memory(server.child.pid))
        end = time.monotonic() + 2
        while time.monotonic() < end:
            most = max(most, memory(server.child.pid))
            time.sleep(0.05)
        return most - before, collections.Counter(map(self.status, wires))

    @staticmethod
    def status(wire):
        try:
            line = wire.recv(12)
        except OSError:
            return 0
        return int(line[9:]) if line.startswith(b"HTTP/1.1 ") else 0

    def post(self, server, path, size, begin, person):
        head = f"X-Scant: {person.csrf}\r\nCookie: {person.cookie}\r\n"
        body = begin + b',"a":[' + b"[]," * ((size - len(begin)) // 3 - 10) + b"0]}"
        return (f"POST {path} HTTP/1.1\r\nHost: localhost:{server.port}\r\nOrigin: http://localhost:{server.port}\r\n"
                f"Content-Type: application/json\r\n{head}Content-Length: {len(body)}\r\n\r\n").encode() + body

    def test_wrong_tokens_hold_no_memory(self):
        server = self.serve(self.project(60), "--token", "the-right-token-of-the-server", "--quiet")
        person = Person(server.port)
        person.csrf = person.get("/api/session")["csrf"]
        person.close()
        begin = b'{"name":"x","token":"wrong-wrong-wrong-wrong"'
        # larger than such a request may be; and small enough to be compared, the first ten, or told to wait
        for size, kind, wanted in ((64_000, "POSTs of 64 KB", {413}), (7_900, "POSTs of 8 KB", {403, 429})):
            grown, statuses = self.send_all(server, self.post(server, "/api/session", size, begin, person), 380)
            figure(f"{kind} with a wrong token, at once", 380, f"{grown // MB} MB more used")
            self.assertTrue(SANITIZED or grown < self.GROWTH, f"{grown // MB} MB")
            self.assertLessEqual(set(statuses), wanted | {0, 503}, statuses)
            self.assertTrue(statuses.keys() & wanted, statuses)

    def test_large_requests_of_a_client_are_bounded(self):
        server = self.serve(self.project(60), "--quiet")
        person = self.person(server)
        begin = b'{"answers":[{"item":0,"kind":"skip","once":"1"}]'
        grown, statuses = self.send_all(server, self.post(server, "/api/answers", 255_000, begin, person), 200)
        figure("POSTs of 255 KB of a signed-in client, at once", 200, f"{grown // MB} MB more used")
        self.assertTrue(SANITIZED or grown < self.GROWTH, f"{grown // MB} MB")
        self.assertLessEqual(set(statuses), {0, 400, 422, 503}, statuses)
        self.assertEqual(len(person.next(1)), 1)


class PictureBombs(ServeCase):
    OTHERS = 10  # seconds that anybody else may wait
    BOMB = 40    # seconds until a bomb is answered, by an image or a placeholder

    def pictures(self):
        folder = self.path("pictures")
        os.mkdir(folder)
        bombs = {"a-progressive.jpg": progressive_jpeg(8192, 2500), "b-tall.png": png(1, 1 << 28),
                 "c-interlaced.png": png(16384, 16384, True), "d-wide.png": png(1 << 26, 1)}
        for name, data in bombs.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
            self.assertLess(len(data), 2 * MB)
        for i in range(20):
            with open(os.path.join(folder, f"z{i:02}.png"), "wb") as file:
                file.write(small_png(np.full((8, 8, 3), i)))
        self.ok("new", self.path("p"), "--images", folder, "--classes", "cat,dog")
        return len(bombs)

    def timed(self, server, item):
        """The HTTP status of an item's picture (0: none), and the seconds until it is there."""
        person, begun, status = Person(server.port), time.monotonic(), 0
        with contextlib.suppress(OSError):
            status, _, _ = person.raw("GET", f"/api/items/{item}/picture")
        person.close()
        return status, time.monotonic() - begun

    def test_nobody_waits_for_a_picture(self):
        bombs = self.pictures()
        server = self.serve(self.path("p"), "--quiet")
        took, statuses = [0.0] * bombs, [0] * bombs

        def ask(i):
            statuses[i], took[i] = self.timed(server, i)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(bombs)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        others = 0
        for i in range(bombs, bombs + 20):
            status, seconds = self.timed(server, i)
            self.assertEqual(status, 200)
            others = max(others, seconds)
        person = self.person(server)
        begun = time.monotonic()
        self.assertTrue(person.next(1))
        labels = time.monotonic() - begun
        for thread in threads:
            thread.join()
        figure("picture bombs", bombs, f"answered within {max(took):.1f} s; other pictures waited {others:.1f} s at most, "
                                       f"items {labels:.1f} s")
        self.assertNotIn(0, statuses)
        self.assertLess(max(took), self.BOMB)
        self.assertLess(others, self.OTHERS)
        self.assertLess(labels, self.OTHERS)


if __name__ == "__main__":
    unittest.main()
