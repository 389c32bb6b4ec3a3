# SPDX-License-Identifier: Apache-2.0
"""A server on loopback, and clients that send the requests of its page."""
import contextlib
import http.client
import itertools
import json
import os
import queue
import resource
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time
import zlib

import numpy as np

from scantcli import SCANT, Case

SLOW = 60  # seconds: a limit for everything, also on a busy machine and under sanitizers
CLASSES = ("cat", "dog", "fox")


def png(side, colour):
    """A PNG file of one colour."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = (b"\0" + bytes(colour) * side) * side
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Server:
    """A running `scant serve`."""

    def __init__(self, project, *flags, env=None, file_size=None):
        """file_size: the largest file that the server may write, in bytes."""
        def prepare():
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if file_size:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))

        self.child = subprocess.Popen(
            [SCANT, "serve", project, *(() if "--port" in flags else ("--port", "0")), *map(str, flags)],
            env={**os.environ, **(env or {})}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=prepare, restore_signals=False)
        self.said = []
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        self.address = self.child.stdout.readline().strip()
        self.port = int(self.address.rsplit(":", 1)[1].strip("/")) if self.address else None

    def listen(self):
        for line in self.child.stderr:
            self.said.append(line)

    def end(self, how=signal.SIGINT):
        """Ends the server; returns its exit status."""
        if self.child.poll() is None:
            self.child.send_signal(how)
        status = self.child.wait(timeout=SLOW)
        self.listener.join(timeout=SLOW)
        self.child.stdout.close()
        self.child.stderr.close()
        return status

    def kill(self):
        return self.end(signal.SIGKILL)


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body


class Person:
    """An annotator's browser, with one persistent connection."""
    numbers = itertools.count()

    def __init__(self, port, name=None, token=None, source="127.0.0.1"):
        """source: the address that the requests come from."""
        self.port, self.name, self.token, self.source = port, name, token, source
        self.wire, self.cookie, self.csrf = None, None, None
        if name:
            self.enter()

    def close(self):
        if self.wire:
            self.wire.close()
        self.wire = None

    def raw(self, method, path, body=None, headers=None):
        """Returns (status, headers, body). Reconnects once if the server has closed the connection."""
        for again in (False, True):
            fresh = self.wire is None
            if fresh:
                self.wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SLOW,
                                                       source_address=(self.source, 0))
            try:
                self.wire.request(method, path, body, headers or {})
                answer = self.wire.getresponse()
                return answer.status, answer.headers, answer.read()
            except (http.client.HTTPException, OSError):
                self.close()
                if again or fresh:
                    raise

    def ask(self, method, path, body=None, headers=None):
        """Returns (status, parsed JSON), or (status, body) for other types."""
        sent = {"Cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            sent |= {"Content-Type": "application/json", "X-Scant": self.csrf or ""}
            body = json.dumps(body or {})
        status, got, data = self.raw(method, path, body, {**sent, **(headers or {})})
        if got["Set-Cookie"]:
            self.cookie = got["Set-Cookie"].split(";")[0]
        return status, json.loads(data) if got["Content-Type"] == "application/json" else data

    def get(self, path):
        return self.good(*self.ask("GET", path))

    def post(self, path, **body):
        return self.good(*self.ask("POST", path, body))

    @staticmethod
    def good(status, body):
        if status >= 300:
            raise Refused(status, body)
        return body

    def enter(self):
        self.csrf = self.get("/api/session")["csrf"]
        session = self.post("/api/session", name=self.name, **({"token": self.token} if self.token else {}))
        self.csrf = session["csrf"]
        return session

    @classmethod
    def once(cls):
        return f"{os.getpid()}-{next(cls.numbers)}"

    def next(self, count=1):
        return self.post("/api/next", count=count)["items"]

    def answer(self, item, label, kind="label", **more):
        """Sends one answer; label is None for `skip` and `unsure`."""
        one = {"item": item["item"], "lease": item["lease"], "kind": kind, "once": self.once(), "spent": 700, **more}
        if label is not None:
            one["label"] = label
        return self.post("/api/answers", answers=[one])


class ServeCase(Case):
    def project(self, n=60, name="project", settings=(), **more):
        """Creates a project of n rows in three clusters; self.truth has their classes."""
        draw = np.random.default_rng(7)
        self.truth = draw.integers(0, 3, n)
        features = draw.normal(0, 0.5, (n, 4)) + 3 * np.eye(3, 4)[self.truth]
        self.features = self.save(name + "-features", features.astype(np.float32))
        flags = ["--features", self.features]
        for key, value in {"seed": 1, **more}.items():
            flags += ["--" + key, value]
        for setting in settings:
            flags += ["--set", setting]
        self.ok("new", self.path(name), *flags, "--classes", ",".join(CLASSES))
        return self.path(name)

    def serve(self, project, *flags, **kw):
        server = Server(project, *flags, **kw)
        self.addCleanup(server.end, signal.SIGKILL)
        self.assertTrue(server.address, "".join(server.said) if server.child.poll() is None else
                        f"ended with {server.child.wait(timeout=SLOW)}: {''.join(server.said)}")
        return server

    def person(self, server, name="ann", **kw):
        person = Person(server.port, name, **kw)
        self.addCleanup(person.close)
        return person

    def refused(self, status, call, *args, **kw):
        """The reply of a call that must be refused with this status."""
        with self.assertRaises(Refused) as caught:
            call(*args, **kw)
        self.assertEqual(caught.exception.status, status, caught.exception.body)
        self.assertIsInstance(caught.exception.body["error"], str)
        return caught.exception.body

    def eventually(self, true, what, seconds=SLOW):
        """Waits until true() returns something true, and returns that."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = true()
            if got:
                return got
            time.sleep(0.05)
        self.fail("timed out waiting for " + what)

    def database(self, project):
        """The project's database, opened read-only with Python's SQLite."""
        db = sqlite3.connect(f"file:{project}/project.db?mode=ro", uri=True)
        self.addCleanup(db.close)
        return db


class Stream:
    """Reads server-sent events."""

    def __init__(self, port, cookie=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SLOW)
        cookie = f"Cookie: {cookie}\r\n" if cookie else ""
        self.socket.sendall(f"GET /api/events HTTP/1.1\r\nHost: localhost:{port}\r\n{cookie}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.events = queue.Queue()
        self.status = int(self.file.readline().split()[1])
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self.file:
                if line.startswith(b"data: "):
                    self.events.put(json.loads(line[6:]))
        self.events.put(None)

    def next(self, timeout=SLOW):
        return self.events.get(timeout=timeout)

    def until(self, true, timeout=SLOW):
        """The first event for which true(event) holds; None if the stream ends."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            event = self.next(max(0.01, end - time.monotonic()))
            if event is None or true(event):
                return event
        raise TimeoutError

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
