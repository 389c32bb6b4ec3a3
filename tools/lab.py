# SPDX-License-Identifier: Apache-2.0
"""For tools that run experiments: runs whose results are kept, tables of them, and Markdown."""
import csv
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Lab:
    """The program, and a folder of results that are used again."""

    def __init__(self, build, work, threads=1, jobs=2):
        self.scant, self.work = os.path.join(build, "scant"), work
        self.threads, self.jobs = threads, jobs
        os.makedirs(work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.work, name)

    def call(self, *words, accepted=(0,)):
        """Calls the program; an exit status that is not accepted is an error."""
        words = [str(word) for word in words]
        print("$ scant " + " ".join(words), file=sys.stderr, flush=True)
        status = subprocess.run([self.scant, *words], stdout=subprocess.DEVNULL, check=False).returncode
        if status not in accepted:
            sys.exit(f"scant {words[0]} ended with status {status}")

    def run(self, name, experiment, settings, accepted=(0,)):
        """Runs an experiment, or what is missing of it; returns its folder. A setting of None stays
        as the experiment has it."""
        out = self.path(name)
        if os.path.exists(os.path.join(out, "experiment.ini")):
            self.call("run", "--resume", "--out", out, accepted=accepted)
            return out
        flags = [word for key, value in settings.items() if value is not None
                 for word in ("--set", f"{key}={value}")]
        file = [os.path.join(ROOT, "experiments", experiment)] if experiment else []
        self.call("run", *file, *flags, "--threads", self.threads, "--jobs", self.jobs, "--out", out,
                  accepted=accepted)
        return out


def rows_of(folder, name="theory.csv"):
    """Rows of a table, with numbers converted; None for an empty field."""
    def value(text):
        try:
            return float(text) if text else None
        except ValueError:
            return text
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
        return [{key: value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def spread(values):
    """Mean and deviation, with n - 1."""
    values = [v for v in values if v is not None]
    if not values:
        return None, None
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)
