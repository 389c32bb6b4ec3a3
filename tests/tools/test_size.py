# SPDX-License-Identifier: Apache-2.0
"""tools/size counts lines, functions and branches, now and at an earlier commit."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SMALL = """/* { in a comment */
struct pair {
    int a, b;
};
static const int table[] = {1, 2, 3};

int first(int x)
{
    return x > 0 && x < 9 ? '{' : 0; /* if */
}
"""  # complexity 3, 4 lines
LONG = "int second(int x) {\n" + "    x++;\n" * 39 + "    return x;\n}\n"  # 42 lines
COMPLEX = "int third(int x) {\n    switch (x) {\n" + "".join(
    f"    case {i}: return {i};\n" for i in range(25)) + "    }\n    return 0;\n}\n"  # complexity 26, 30 lines


class Size(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scant-test-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "tools"))
        shutil.copy(os.path.join(ROOT, "tools", "size"), os.path.join(self.root, "tools", "size"))
        self.write("src/one/small.c", SMALL)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@example.org",
                        "-c", "commit.gpgsign=false", *words], check=True, capture_output=True)

    def run_size(self, *words):
        return subprocess.run([sys.executable, os.path.join(self.root, "tools", "size"), *words],
                              capture_output=True, text=True, check=False)

    def size(self, *words):
        """The printed rows, as lists of words."""
        done = self.run_size(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split() for line in done.stdout.splitlines()]

    def test_check_fails_for_functions_above_the_limits(self):
        self.write("src/one/long.c", LONG)  # long, but within the limit
        done = self.run_size("--check")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.write("src/one/complex.c", COMPLEX)
        self.write("src/one/longer.c", LONG.replace("    x++;\n", "    x++;\n    x--;\n"))
        done = self.run_size("--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/one/complex.c:1: third has 30 lines and a complexity of 26", done.stdout)
        self.assertIn("src/one/longer.c:1: second has 81 lines", done.stdout)

    def test_the_working_tree_is_counted(self):
        self.write("include/one.h", "int first(int x);\n")
        rows = self.size()
        for row in ("src/one files 1", "src/one lines 10", "include files 1", "all files 2", "all lines 11",
                    "functions 1", "length, median 4", "length, longest 4", "longer than 40 lines 0",
                    "complexity above 25 0"):
            self.assertIn(row.split(), rows)

    def test_large_functions_are_named(self):
        self.write("src/one/long.c", LONG + "#define LOOP(x) \\\n    if (x) {\n" + COMPLEX)
        rows = self.size()
        self.assertIn(["42", "1", "src/one/long.c:1:", "second"], rows)
        self.assertIn(["30", "26", "src/one/long.c:45:", "third"], rows)
        self.assertEqual(sum(row[-1:] == ["first"] for row in rows), 0)

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_two_versions_are_compared(self):
        self.git("init", "-q")
        self.git("add", "src")
        self.git("commit", "-q", "-m", "one")
        self.write("src/one/small.c", SMALL + LONG)
        self.write("src/two/new.c", COMPLEX)
        rows = self.size("HEAD")
        for row in ("src/one lines 10 52 +42", "src/two files 0 1 +1", "functions 1 3 +2",
                    "length, longest 4 42 +38", "complexity above 25 0 1 +1"):
            self.assertIn(row.split(), rows)


if __name__ == "__main__":
    unittest.main()
