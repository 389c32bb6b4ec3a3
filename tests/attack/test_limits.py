# SPDX-License-Identifier: Apache-2.0
"""Every command where the system gives it little memory: limits on what it may map (`ulimit -v`) and on what it
may allocate (`ulimit -d`), and a control group, which kills what takes more. The command ends with its result or
with a message, within its time. So do the commands of the README, as a user types them.
"""
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import unittest

import numpy as np

from attack import BUILD, COMMANDS, SOAK, Attack, run, start
from scantcli import ROOT, figure

LIMITS = 60 if SOAK else 2  # for each command and kind of limit
README_LIMITS = 40 if SOAK else 1
KINDS = {"address space": (resource.RLIMIT_AS, 60, 4000), "data": (resource.RLIMIT_DATA, 4, 1000)}  # in MB
GROUP = 300  # MB
TIME = 120  # seconds for each command


def readme_commands():
    """The commands of the README that need no files but those of the commands before them. serve ends at once."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    first = re.search(r"test_readme\.py -->\n```console\n\$ build/scant (.*)\n", text)[1]
    return [line.replace("build/points", "points").split() for line in (first, *re.findall(r"(?m)^    scant (.*)$", text))]


def make_group(size):
    """Makes a control group with a limit of size bytes; returns its folder, or None if the system does not let us."""
    for parent, limit in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
        folder = os.path.join("/sys/fs/cgroup", parent, f"scant-test-{os.getpid()}")
        try:
            os.mkdir(folder)
        except OSError:
            continue
        try:
            with open(os.path.join(folder, limit), "w") as file:
                file.write(str(size))
            return folder
        except OSError:
            os.rmdir(folder)
    return None


class Limits(Attack):
    def check(self, done, what):
        """Returns whether the command was refused."""
        if b"error while loading shared libraries" not in done.stderr:  # else the program has not begun
            self.assert_sentence(done, what)
        return done.returncode not in (0, 10)

    def serve(self, args, folder, **how):
        """Starts a server and ends it when it serves."""
        child, said = start([*args, "--port", "0"], folder, **how), b""
        clock = threading.Timer(TIME, child.kill)  # status -9 is no sentence
        clock.start()
        while b"http://" not in said and (line := child.stderr.readline()):
            said += line
        child.send_signal(signal.SIGTERM)
        out, rest = child.communicate()
        clock.cancel()
        return subprocess.CompletedProcess(child.args, child.returncode, out, said + rest)

    def readme(self, what, **how):
        """Runs the commands of the README, in their order. Returns how many were refused."""
        folder, refused = os.path.join(self.place.name, "readme"), 0
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(BUILD, "points"), os.path.join(folder, "points"))
        for args in readme_commands():
            with self.subTest(f"{what}: {args}"):
                do = self.serve if args[0] == "serve" else run
                done = do(args, folder, OMP_NUM_THREADS="2", **how)
                refused += self.check(done, f"{what}: {args}")
        return refused

    def test_commands(self):
        for kind, (limit, least, most) in KINDS.items():
            draw, tried, refused = random.Random(kind), 0, 0
            for command in COMMANDS:
                for _ in range(LIMITS):
                    size = least * (most / least) ** draw.random()
                    what = f"{command.name}, {kind} {size:.0f} MB"
                    with self.subTest(what):
                        tried += 1
                        refused += self.check(run(command.args, self.copy(), [(limit, int(size * 2**20))], timeout=30), what)
            figure(f"limits of {kind}", tried, f"{refused:,} commands ended with a message, the others with their result")

    def test_readme(self):
        self.assertEqual({args[0] for args in readme_commands()}, {"select", "new", "serve", "train", "embed", "run"})
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "points"), BUILD], check=True, capture_output=True)
        count = len(readme_commands())
        for kind, (limit, least, most) in KINDS.items():
            draw, refused = random.Random(kind), 0
            for _ in range(README_LIMITS):
                size = least * (most / least) ** draw.random()
                refused += self.readme(f"{kind} {size:.0f} MB", limits=[(limit, int(size * 2**20))])
            figure(f"commands of the README under a limit of {kind}", count * README_LIMITS,
                   f"{refused:,} ended with a message, the others with their result")

    def test_readme_in_a_control_group(self):
        group = make_group(GROUP << 20)
        if not group:
            self.skipTest("no control group with a limit on memory can be made here (this needs root)")
        self.addCleanup(os.rmdir, group)
        refused = self.readme(f"a control group of {GROUP} MB", group=group)
        # half of the machine's memory may be more than the group's: what is inflated must count against that
        large = os.path.join(self.place.name, "large.npz")
        np.savez_compressed(large, features=np.zeros((GROUP << 20) // 4, "f4").reshape(-1, 64))
        done = run(["select", "coreset", "--features", large, "--batch", "5"], self.place.name, group=group)
        self.assertTrue(self.check(done, "a compressed pool larger than the control group"))
        self.assertIn(b"inflating it needs", done.stderr)
        figure(f"commands of the README in a control group of {GROUP} MB", len(readme_commands()),
               f"{refused:,} ended with a message, the others with their result")


if __name__ == "__main__":
    unittest.main()
