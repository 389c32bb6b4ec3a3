# SPDX-License-Identifier: Apache-2.0
"""`scant serve` and hostile requests: they are refused with 4xx, and the server continues.

(Bodies field by field: tests/serve/test_request.c.)
"""
import contextlib
import http.client
import json
import os
import random
import re
import socket
import sqlite3
import threading
import time
import unittest

from servecase import SLOW, Person, ServeCase, Stream

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Hostile(ServeCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve(self.project(), "--no-training")
        self.port = self.server.port
        self.ann = self.person(self.server)

    def tearDown(self):
        # after every test the server still works
        bob = self.person(self.server, "bob")
        self.assertEqual(len(bob.next(2)), 2)
        self.assertIsNone(self.server.child.poll())
        self.assertEqual(self.server.end(), 0)

    def send(self, data, end=False, timeout=SLOW):
        """Sends raw bytes and returns the whole reply; None if the connection was reset."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as wire:
            try:
                wire.sendall(data)
                if end:
                    wire.shutdown(socket.SHUT_WR)
                got = b""
                while piece := wire.recv(65536):
                    got += piece
                    if not end and b"\r\n\r\n" in got and self.complete(got):
                        break
                return got
            except OSError as error:  # reset or refused
                if isinstance(error, TimeoutError):
                    raise
                return None

    @staticmethod
    def complete(got):
        head, _, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.I)
        return length is not None and len(body) >= int(length[1])

    def status(self, data, **kw):
        got = self.send(data, **kw)
        return int(got.split()[1]) if got else None

    def get(self, path, host="localhost", more="", method="GET"):
        return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode("latin-1")

    def headers(self, **kw):
        """The headers of a valid POST, changed by kw; None removes a header."""
        all_ = {"Cookie": self.ann.cookie, "X-Scant": self.ann.csrf, "Content-Type": "application/json"}
        return {k: v for k, v in {**all_, **{k.replace("_", "-"): v for k, v in kw.items()}}.items() if v is not None}

    def post(self, path="/api/next", body=b'{"count": 1}', **kw):
        """Returns (status, reply)."""
        status, _, data = self.ann.raw("POST", path, body, self.headers(**kw))
        return status, json.loads(data)

    # ---- hosts, origins, sessions ----

    def test_only_local_hosts_are_accepted(self):
        for host in ("localhost", f"localhost:{self.port}", "127.0.0.1", "[::1]", "LOCALHOST:1"):
            self.assertEqual(self.status(self.get("/api/status", host)), 200, host)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "localhost:x",
                     "10.0.0.1", "localhost@evil.example", "a" * 300):
            self.assertIn(self.status(self.get("/api/status", host)), (400, 421), host)
            self.assertIn(self.status(self.get("/", host)), (400, 421), host)
        self.assertEqual(self.status(b"GET / HTTP/1.1\r\n\r\n", end=True), 400)
        self.assertIn(self.status(b"GET / HTTP/1.0\r\n\r\n", end=True), (400, 421))

    def test_other_origins_and_sites_are_refused(self):
        own = f"http://127.0.0.1:{self.port}"
        self.assertEqual(self.post(Origin=own)[0], 200)
        for origin in ("http://evil.example", "null", "https://127.0.0.1", own + "0", own + "/", "http://localhost",
                       own.replace("127.0.0.1", "localhost"), ""):
            self.assertEqual(self.post(Origin=origin)[0], 403, origin)
        for site, status in (("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)):
            self.assertEqual(self.post(Sec_Fetch_Site=site)[0], status, site)
            got = self.ann.raw("GET", "/api/items/0", headers={"Sec-Fetch-Site": site})[0]
            self.assertEqual(got, status, site)
        # a link from elsewhere to the page itself is fine
        self.assertNotEqual(self.ann.raw("GET", "/", headers={"Sec-Fetch-Site": "cross-site"})[0], 403)

    def test_requests_without_a_valid_session_and_csrf_token_are_refused(self):
        self.assertEqual(self.post()[0], 200)
        self.assertEqual(self.post(Cookie=None)[0], 401)
        name = self.ann.cookie.split("=")[0]
        for cookie in (f"{name}=", f"{name}=" + "0" * 32, f"{name}=" + "x" * 5000, "nonsense", "=;=;;",
                       self.ann.cookie[:-1], self.ann.cookie + "0"):
            self.assertIn(self.post(Cookie=cookie)[0], (400, 401), cookie)
        for csrf in (None, "", "0" * 32, self.ann.csrf[:-1], self.ann.csrf + "0", self.ann.csrf.upper()):
            self.assertEqual(self.post(X_Scant=csrf)[0], 403 if csrf != self.ann.csrf else 200, csrf)
        other = Person(self.port, "eve")
        self.addCleanup(other.close)
        self.assertEqual(self.post(X_Scant=other.csrf)[0], 403)
        nobody = Person(self.port)
        self.addCleanup(nobody.close)
        nobody.csrf = nobody.get("/api/session")["csrf"]
        self.assertEqual(nobody.ask("POST", "/api/next", {"count": 1})[0], 401)
        self.assertEqual(nobody.ask("GET", "/api/mine")[0], 401)
        cookie = self.ann.raw("GET", "/api/session")[1]["Set-Cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(word, cookie)

    def test_invalid_names_are_refused_and_strange_ones_kept(self):
        nobody = Person(self.port)
        self.addCleanup(nobody.close)
        nobody.csrf = nobody.get("/api/session")["csrf"]
        for name in ("", "a" * 101, "a\nb", "\u0007", 5, None, ["ann"], {"a": 1}):
            self.assertEqual(nobody.ask("POST", "/api/session", {"name": name})[0], 422, name)
        name = '<script>alert(1)</script> "\u00e9\u4e2d\U0001f98a" \\'
        self.assertEqual(nobody.post("/api/session", name=name)["person"]["name"], name)
        self.assertEqual(nobody.get("/api/session")["person"]["name"], name)

    # ---- methods, paths, bodies ----

    def test_other_methods_are_refused(self):
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW", "get", "A" * 500):
            self.assertIn(self.status(self.get("/api/next", method=method), end=True), (400, 405, 501), method)
        code, headers, _ = self.ann.raw("DELETE", "/api/session")
        self.assertEqual((code, headers["Allow"]), (405, "GET, POST"))
        code, headers, _ = self.ann.raw("POST", "/api/status", "{}", self.headers())
        self.assertEqual((code, headers["Allow"]), (405, "GET"))
        code, headers, _ = self.ann.raw("POST", "/", "{}", self.headers())
        self.assertEqual((code, headers["Allow"]), (405, "GET, HEAD"))

    def test_unknown_paths_and_queries_are_refused(self):
        for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/./",
                     "/web/index.html", "/project.db", "/api", "/api/", "/api/nothing", "/api/items", "/api/items/",
                     "/api/items/-1", "/api/items/1e3", "/api/items/0x1", "/api/items/00", "/api/items/1/../0",
                     "/api/items/99999999999999999999", "/api/items/1/picture/", "/api/items/0/nothing", "/%00",
                     "/%ff%fe", "/\xff", "/api/session/", "/API/session", "/api//session", "/api/items/%20"):
            self.assertIn(self.status(self.get(path)), (400, 404), path)
        for path in ("/api/items/999", "/api/items/4503599627370496", "/api/items/999/picture",
                     "/api/items/0/picture", "/api/items/0/prediction", "/api/items/999/why"):
            self.assertEqual(self.status(self.get(path)), 404, path)
        self.assertIn(self.status(self.get("/" + "a" * 2000)), (404, 414))
        self.assertIn(self.status(self.get("/" + "a" * 100000), end=True), (None, 400, 414, 431))
        for query in ("count=0", "count=-1", "count=x", "count=201", "before=0", "count=", "count=1%00"):
            self.assertIn(self.ann.ask("GET", "/api/mine?" + query)[0], (200, 400) if "%00" in query else (400,), query)
        for path in ("/api/export", "/api/export?format=../x", "/api/map?most=0", "/api/map?most=99999999",
                     "/api/items/0/picture?size=1", "/api/items/0/picture?size=-96"):
            self.assertEqual(self.status(self.get(path)), 400, path)

    def test_invalid_bodies_are_refused(self):
        for body in (b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b"count=1", b'{"count": 1,}', b'{"count": 1e400}',
                     b'{"a": "\\ud800"}', b"[" * 60000, b'{"a":' * 10000, b"\0" * 1000):
            self.assertEqual(self.post(body=body)[0], 400, body[:40])
        for body in (b"{}", b'{"count": "1"}', b'{"count": 0}', b'{"count": 51}', b'{"count": -3}', b'{"count": 1.5}'):
            status, reply = self.post(body=body)
            self.assertEqual(status, 422, body)
            self.assertIn("count", reply["error"])
        self.assertEqual(self.post(Content_Type="text/plain")[0], 415)
        self.assertEqual(self.post(Content_Type=None)[0], 415)
        self.assertEqual(self.post(Content_Type="application/jsonp")[0], 415)
        self.assertEqual(self.post(Content_Type="application/json; charset=utf-8")[0], 200)

    def test_answers_without_a_valid_lease_item_or_class_are_refused(self):
        [item] = self.ann.next()
        good = {"item": item["item"], "lease": item["lease"], "kind": "label", "label": 0, "once": "h-1"}
        for change, status in (({"item": 10 ** 9}, 422), ({"label": 99}, 422), ({"lease": "f" * 16}, 409),
                               ({"lease": None}, 409), ({"label": 2 ** 40}, 422), ({"item": 2 ** 53}, 422)):
            got, reply = self.ann.ask("POST", "/api/answers", {"answers": [{**good, **change}]})
            self.assertEqual(got, status, (change, reply))
        [other] = self.person(self.server, "eve").next()
        got, reply = self.ann.ask("POST", "/api/answers", {"answers": [{**good, "item": other["item"]}]})
        self.assertEqual((got, reply["items"]), (409, [other["item"]]))
        self.assertEqual(self.ann.get("/api/status")["info"]["entries"], 0)
        self.ann.post("/api/answers", answers=[good])

    # ---- sizes, and incomplete requests ----

    def test_large_bodies_are_refused(self):
        for size in (64 * 1024 + 1, 300 * 1024, 900 * 1024):
            self.assertEqual(self.post(body=b" " * size)[0], 413, size)
        # answers may be larger
        self.assertEqual(self.post("/api/answers", body=b" " * 200 * 1024)[0], 400)
        self.assertEqual(self.post("/api/answers", body=b" " * 257 * 1024)[0], 413)
        # a huge length, or none: refused or disconnected
        head = self.get("/api/next", method="POST", more="".join(f"{k}: {v}\r\n" for k, v in self.headers(
            Content_Length=10 ** 12).items()))
        self.assertIn(self.status(head + b" " * 100000), (413, None))
        head = self.get("/api/next", method="POST", more="".join(f"{k}: {v}\r\n" for k, v in self.headers(
            Transfer_Encoding="chunked").items()))
        self.assertIn(self.status(head + b"10000\r\n" + b" " * 65536 + b"\r\n" + b"8000\r\n" + b" " * 32768 +
                                  b"\r\n0\r\n\r\n"), (413, None))
        self.assertIn(self.status(head + 40 * (b"10000\r\n" + b" " * 65536 + b"\r\n")), (413, None))
        body = b'{"count": 1}'
        self.assertEqual(self.status(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)), 200)
        # a body with a GET
        self.assertIn(self.ann.raw("GET", "/api/status", b"x" * 1000)[0], (200, 413))

    def test_huge_headers_are_refused(self):
        flood = "".join(f"X-{i}: {'y' * 100}\r\n" for i in range(2000))
        self.assertIn(self.status(self.get("/", more=flood), end=True), (None, 400, 413, 431))
        self.assertIn(self.status(self.get("/", more="X: " + "y" * 200000 + "\r\n"), end=True), (None, 400, 413, 431))
        self.assertIn(self.status(b"G" * 100000, end=True), (None, 400, 413, 414, 431, 501))

    def test_invalid_content_lengths_are_refused(self):
        for length in ("-1", "x", "99999999999999999999999", "1, 1", "0x10"):
            head = self.get("/api/next", method="POST", more="".join(
                f"{k}: {v}\r\n" for k, v in self.headers(Content_Length=length).items()))
            self.assertIn(self.status(head + b'{"count": 1}', end=True), (None, 400, 413, 422), length)
        both = self.get("/api/next", method="POST", more="".join(f"{k}: {v}\r\n" for k, v in self.headers(
            Content_Length=5, Transfer_Encoding="chunked").items()))
        self.assertEqual(self.status(both + b"0\r\n\r\n", end=True), 400)

    def assert_closed(self, data, what):
        """The first request gets 400; then the connection is closed, and the second one gets nothing."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SLOW) as wire:
            wire.sendall(data)
            got = b""
            with contextlib.suppress(ConnectionResetError):  # bytes that were not read
                while piece := wire.recv(65536):
                    got += piece
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", got), [b"400"], (what, got))

    def test_ambiguous_requests_are_refused_and_the_connection_closed(self):
        body = b'{"count": 1}'
        good = "".join(f"{k}: {v}\r\n" for k, v in self.headers().items())
        hidden = self.get("/api/items/1")
        for more in (f"Content-Length: {len(body)}\r\nContent-Length: {len(body)}\r\n",
                     f"Content-Length: {len(body)}\r\nContent-Length: 0\r\n",
                     f"Content-Length: {len(body)}\r\nHost: localhost\r\n",
                     f"Content-Length: {len(body)}\r\nHost: evil.example\r\n",
                     f"Content-Length: {len(body)}\r\nTransfer-Encoding: chunked\r\n",
                     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"):
            self.assert_closed(self.get("/api/next", method="POST", more=good + more) + body + hidden, more)
        for host in ("localhost\0.evil.example", "localhost\0 ", "127.0.0.1\0x\0"):
            self.assert_closed(self.get("/api/status", host) + hidden, host)
            self.assert_closed(b"GET / HTTP/1.1\r\nX: y\r\nHost: %b\r\n\r\n" % host.encode() + hidden, host)
        self.assertEqual(self.ann.get("/api/status")["info"]["entries"], 0)

    def test_slow_connections_of_two_addresses_keep_nobody_out(self):
        wires = []
        with contextlib.ExitStack() as stack:
            for i in range(900):
                with contextlib.suppress(OSError):
                    wire = stack.enter_context(socket.create_connection(
                        ("127.0.0.1", self.port), timeout=SLOW, source_address=(f"127.0.0.{2 + i % 2}", 0)))
                    wire.sendall(b"GET / HTTP/1.1\r\nHost: local")
                    wires.append(wire)
            begun = time.monotonic()
            for source in ("127.0.0.1", "127.0.0.4", "127.0.0.2"):
                one = Person(self.port, source=source)
                self.addCleanup(one.close)
                one.name = "bob"
                one.csrf = None

                def enters():
                    try:
                        return one.enter()
                    except (OSError, http.client.HTTPException):  # its own address is full for a second
                        if source != "127.0.0.2":
                            raise
                        return None

                self.assertTrue(self.eventually(enters, source))
                self.assertTrue(one.next())
            self.assertLess(time.monotonic() - begun, 8)

    def test_bodies_need_little_memory(self):
        """JSON of many small objects, while the server waits for another program that writes."""
        def peak():
            with open(f"/proc/{self.server.child.pid}/status") as file:
                return int(re.search(r"VmHWM:\s*(\d+)", file.read())[1]) / 1024  # MB

        before = peak()
        [item] = self.ann.next()
        answer = {"item": item["item"], "lease": item["lease"], "kind": "label", "label": 0, "once": "m"}
        bodies = [json.dumps({"answers": [answer], "x": [{}] * n}).encode() for n in [62000] * 60 + [2000] * 60]
        self.assertLess(len(bodies[0]), 256 * 1024)
        with contextlib.ExitStack() as stack:
            db = stack.enter_context(contextlib.closing(sqlite3.connect(self.dir + "/project/project.db")))
            db.execute("BEGIN IMMEDIATE")
            wires = []
            for body in bodies:
                wires.append(stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=SLOW)))
                wires[-1].sendall(self.get("/api/answers", method="POST", more="".join(
                    f"{k}: {v}\r\n" for k, v in self.headers(Content_Length=len(body)).items())) + body)
            time.sleep(1)
            db.rollback()
            got = [int(wire.recv(65536).split()[1]) for wire in wires]
        if not os.environ.get("SCANT_SANITIZE"):
            self.assertLess(peak() - before, 100)
        self.assertEqual(got, [400] * 60 + [200] * 60)

    def test_incomplete_requests_block_nobody(self):
        whole = self.get("/api/next", method="POST", more="".join(
            f"{k}: {v}\r\n" for k, v in self.headers(Content_Length=12).items())) + b'{"count": 1}'
        wires = []
        for cut in random.Random(5).sample(range(1, len(whole)), 40):
            wire = socket.create_connection(("127.0.0.1", self.port), timeout=SLOW)
            wire.sendall(whole[:cut])
            wires.append(wire)
        self.assertEqual(len(self.ann.next(2)), 2)  # other requests do not wait for them
        for i, wire in enumerate(wires):
            if i % 2:
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
            wire.close()

    def test_pipelined_requests_are_answered_in_order(self):
        one = self.get("/api/items/1")
        with socket.create_connection(("127.0.0.1", self.port), timeout=SLOW) as wire:
            wire.sendall(one * 20 + self.get("/api/nothing") + self.get("/api/items/2", more="Connection: close\r\n"))
            got = b""
            while piece := wire.recv(65536):
                got += piece
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", got), [b"200"] * 20 + [b"404", b"200"])

    def test_random_bytes_cause_no_server_error(self):
        draw = random.Random(11)
        for i in range(60):
            noise = draw.randbytes(draw.randrange(1, 3000))
            if i % 2:
                noise = self.get("/api/" + "".join(draw.choices("abc/%0.?&=#\xff", k=20)), more=f"X: {draw.random()}\r\n")
                at = draw.randrange(len(noise))
                noise = noise[:at] + draw.randbytes(3) + noise[at + 1:]
            status = self.status(noise, end=True)
            self.assertTrue(status is None or status < 500 or status in (501, 505), (noise, status))

    def test_too_many_connections_are_survived(self):
        wires = []
        try:
            for _ in range(450):
                wires.append(socket.create_connection(("127.0.0.1", self.port), timeout=SLOW))
        except OSError:
            pass
        self.assertGreater(len(wires), 100)
        for wire in wires:
            wire.close()
        self.eventually(lambda: self.served(), "room again")

    def served(self):
        try:
            return self.status(self.get("/api/status"), timeout=2) == 200
        except OSError:
            return False

    def test_too_many_event_streams_are_refused(self):
        streams = [Stream(self.port) for _ in range(205)]
        self.assertEqual([s.status for s in streams].count(200), 200)
        self.assertEqual([s.status for s in streams].count(503), 5)
        self.assertEqual(len(self.ann.next(2)), 2)  # streams do not occupy the threads of requests
        self.assertEqual({s.next()["entries"] for s in streams if s.status == 200}, {0})
        for stream in streams:
            stream.close()

        def room():
            self.ann.answer(self.ann.next(1)[0], 0)  # an event to closed streams, by which the server notices them
            time.sleep(0.3)
            stream = Stream(self.port)
            stream.close()
            return stream.status == 200

        self.eventually(room, "room for another stream")

    # ---- headers of every reply ----

    def test_every_reply_has_the_security_headers(self):
        for method, path in (("GET", "/"), ("GET", "/main.js"), ("GET", "/api/session"), ("GET", "/api/nothing"),
                             ("DELETE", "/api/next"), ("GET", "/nothing"), ("GET", "/api/export?format=csv"),
                             ("GET", "/api/openapi.json")):
            _, headers, _ = self.ann.raw(method, path)
            for name, value in SAFE.items():
                self.assertEqual(headers[name], value, path)
            for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                         "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
                self.assertIn(part, headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertNotIn("Access-Control-Allow-Origin", headers)
            self.assertEqual(headers["Cache-Control"],
                             "no-cache" if path in ("/", "/main.js", "/api/openapi.json") else "no-store", path)

    def test_the_page_has_an_etag_and_is_not_sent_twice(self):
        code, headers, body = self.ann.raw("GET", "/")
        self.assertEqual((code, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertGreater(len(body), 100)
        code, _, body = self.ann.raw("GET", "/", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((code, body), (304, b""))
        self.assertEqual(self.ann.raw("GET", "/", headers={"If-None-Match": '"x"'})[0], 200)
        code, _, body = self.ann.raw("HEAD", "/")
        self.assertEqual((code, body), (200, b""))
        self.assertEqual(self.ann.get("/api/openapi.json")["openapi"][:3], "3.1")

    def test_labelling_works_during_hostile_requests(self):
        """An annotator labels while others send hostile requests."""
        over, wrong = threading.Event(), []

        def disturb(seed):
            draw = random.Random(seed)
            while not over.is_set():
                try:
                    self.send(draw.choice((b"POST /api/answers HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n",
                                           self.get("/api/items/1")[:-draw.randrange(1, 9)], draw.randbytes(200))),
                              end=True)
                except (OSError, http.client.HTTPException) as error:
                    wrong.append(error)

        others = [threading.Thread(target=disturb, args=(i,)) for i in range(4)]
        for other in others:
            other.start()
        try:
            for n in range(1, 31):
                self.assertEqual(self.ann.answer(self.ann.next()[0], 1)["labels"], n)
        finally:
            over.set()
            for other in others:
                other.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
