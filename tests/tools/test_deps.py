# SPDX-License-Identifier: Apache-2.0
"""tools/deps installs only missing packages and fails only if something needed is absent."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "deps")
NEEDED = ["gcc", "cc", "make", "cmake", "pkg-config"]


class Deps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="scant-test-")
        self.addCleanup(folder.cleanup)
        self.bin, self.log = folder.name + "/bin", folder.name + "/log"
        os.mkdir(self.bin)
        for tool in ["env", "id", "ls"] + NEEDED:
            os.symlink(shutil.which(tool), f"{self.bin}/{tool}")

    def fake(self, tool, body):
        path = f"{self.bin}/{tool}"
        with open(path, "w", encoding="utf-8") as out:
            out.write(f'#!/bin/bash\necho {tool} "$@" >>{self.log}\n{body}\n')
        os.chmod(path, 0o755)

    def debian(self, installed, apt="true"):
        """Fake package tools: these packages are installed, all others are available."""
        lines = "".join(f"{name} installed\\n" for name in installed)
        self.fake("dpkg-query", f"printf '{lines}'; exit 1")
        self.fake("apt-cache", "echo there")
        self.fake("apt-get", apt)
        self.fake("sudo", 'while [[ $1 == -* ]]; do shift; done; exec "$@"')

    def run_tool(self, *args):
        return subprocess.run(["/bin/bash", TOOL, *args], env={"PATH": self.bin}, text=True, check=False,
                              capture_output=True, stdin=subprocess.DEVNULL)

    def calls(self, tool):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as log:
            return [line for line in log if line.startswith(tool + " ")]

    def packages(self, *groups):
        return self.run_tool("--list", *groups).stdout.split()

    def test_nothing_is_done_if_everything_is_installed(self):
        self.debian(self.packages("build", "test"))
        done = self.run_tool("build", "test")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(len(self.calls("dpkg-query")), 1)
        self.assertEqual(self.calls("apt-get"), [])

    def test_only_missing_packages_are_installed(self):
        have = [name for name in self.packages("build", "test") if name not in ("cmake", "libcmocka-dev")]
        self.debian(have)
        self.assertEqual(self.run_tool("build", "test").returncode, 0)
        update, install = self.calls("apt-get")
        self.assertIn("update", update)
        self.assertTrue(install.endswith("install -y --no-install-recommends cmake libcmocka-dev\n"), install)

    def test_an_alternative_counts(self):
        have = [name for name in self.packages("build") if name != "pkg-config"]
        self.debian(have + ["pkgconf"])
        self.assertEqual(self.run_tool("build").returncode, 0)
        self.assertEqual(self.calls("apt-get"), [])

    def test_optional_packages_that_do_not_exist_are_left_out(self):
        self.debian([])
        self.fake("apt-cache", '[[ $2 == python3-torch ]] || echo there')
        self.assertEqual(self.run_tool("bench").returncode, 0)
        self.assertTrue(self.calls("apt-get")[-1].endswith(" python3-numpy\n"))
        self.debian(["python3-numpy"])
        self.fake("apt-cache", "true")
        os.unlink(self.log)
        self.assertEqual(self.run_tool("bench").returncode, 0)
        self.assertFalse(any("install" in call for call in self.calls("apt-get")))

    def test_optional_packages_that_fail_do_not_stop_the_others(self):
        self.debian([], apt='[[ "$*" != *torch* ]]')
        done = self.run_tool("bench")
        self.assertEqual(done.returncode, 0, done.stderr)
        both, one = (call for call in self.calls("apt-get") if "install" in call)
        self.assertTrue(both.endswith(" python3-numpy python3-torch\n"), both)
        self.assertTrue(one.endswith(" python3-numpy\n"), one)

    def test_tools_installed_from_elsewhere_do_not_stop_the_others(self):
        self.debian([], apt='[[ "$*" != *npm* ]]')
        for tool in ("node", "npm"):
            self.fake(tool, "true")
        done = self.run_tool("browser")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.calls("apt-get")[-1].endswith(" chromium\n"), self.calls("apt-get"))

    def test_check_installs_nothing(self):
        self.debian([])
        self.run_tool("--check", "build")
        self.assertEqual(self.calls("apt-get"), [])

    def test_another_system_with_the_tools_is_fine(self):
        done = self.run_tool("build")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_absent_tools_are_named_with_the_reason(self):
        os.unlink(self.bin + "/cmake")
        done = self.run_tool("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no apt-get", done.stderr)
        self.assertIn("cannot go on without: cmake (", done.stderr)

    def test_a_failing_apt_is_ignored_if_the_tools_are_present(self):
        self.debian([], apt="exit 100")
        self.assertEqual(self.run_tool("build").returncode, 0)
        os.unlink(self.bin + "/cmake")
        done = self.run_tool("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get failed", done.stderr)

    def test_wrong_calls_are_refused(self):
        for args in ((), ("nonsense",), ("--check",)):
            self.assertEqual(self.run_tool(*args).returncode, 1)


if __name__ == "__main__":
    unittest.main()
