# SPDX-License-Identifier: Apache-2.0
"""docs/design.md and docs/glossary.md name files and functions that exist."""
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# `cli/select.c:run`, `serve/routes.c`, `web/api.js:post`
HOP = re.compile(r"`((?:[a-z_]+/)+[\w.-]+\.(?:c|h|js|json|html|css|py))(?::(\w+))?`")
# `serve/http.c:begin` → `check` → `check_api`: further functions of the same file
CHAIN = re.compile(r"`((?:[a-z_]+/)+[\w.-]+\.c):\w+`((?: → `\w+`)+)")
PLACES = ("", "src", "include")


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def find(path):
    """The file that a page means by path, or None."""
    for place in PLACES:
        if os.path.exists(os.path.join(ROOT, place, path)):
            return os.path.join(ROOT, place, path)
    return None


def defines(file, name):
    """Whether the file defines the function, or the table, of that name; a call does not count."""
    form = r"(?m)^[A-Za-z_][\w \t*]*\b%s\s*(?:\([^;{}]*\)\s*\{|\[\]\s*=)" if file.endswith((".c", ".h")) else \
        r"(?m)^\s*(?:export |async |function |const )*%s\s*(?:\([^;]*\)\s*\{|=)"
    return re.search(form % name, read(file)) is not None


class Design(unittest.TestCase):
    def check(self, page):
        text = read("docs", page)
        hops = HOP.findall(text)
        for path, names in CHAIN.findall(text):
            hops += [(path, name) for name in re.findall(r"`(\w+)`", names)]
        self.assertTrue(hops)
        for path, name in hops:
            with self.subTest(page, path=path, name=name):
                file = find(path)
                self.assertIsNotNone(file, "there is no such file")
                if name:
                    self.assertTrue(defines(file, name), "the file defines no such function")

    def test_files_and_functions_in_the_design_exist(self):
        self.check("design.md")

    def test_names_in_the_glossary_exist(self):
        self.check("glossary.md")

    def test_the_layers_of_the_design_are_those_of_check_layers(self):
        rows = re.search(r"(?s)ROWS = \[(.*?)\n\]", read("tools", "check_layers"))[1]
        layers = set(re.findall(r'"(\w+)"', rows)) - {"dist"}
        table = read("docs", "design.md").split("\n## Layers\n")[1].split("\n### ")[0]
        named = set()
        for row in re.findall(r"(?m)^\| (`.*?) \|", table):
            named |= set(re.findall(r"`(\w+)`", row))
        self.assertEqual(named, layers)


if __name__ == "__main__":
    unittest.main()
