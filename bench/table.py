# SPDX-License-Identifier: Apache-2.0
"""The rows of the table and their targets."""
import statistics
from dataclasses import dataclass, field


@dataclass
class Row:
    """One line: a figure and its target. A row without a target is for information."""
    case: str
    ours: list                       # seconds of each run; empty: the row is a note only
    theirs: float = None             # seconds, their best run
    rival: str = "NumPy"             # the name of the other side
    figure: float = None             # the value compared with the target
    unit: str = ""
    target: str = ""
    passed: bool = None              # None: for information
    note: str = ""
    wrong: list = field(default_factory=list)  # messages of the checks
    others: float = 0.0              # share of a core that other processes used meanwhile


def speedup(row):
    """Our median compared with their best, for information."""
    row.figure, row.unit = row.theirs / statistics.median(row.ours), "x"
    return row


def faster(row, target):
    speedup(row)
    row.target, row.passed = f">= {target:g}x", row.figure >= target
    return row


def at_most(row, figure, target, unit):
    row.figure, row.unit = figure, unit
    row.target, row.passed = f"<= {target:g}{unit}", figure <= target
    return row


def milliseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e3:.1f}"


def line(row):
    figure = "" if row.figure is None else f"{row.figure:.3g}{row.unit}"
    mark = "WRONG" if row.wrong else {True: "pass", False: "MISS", None: ""}[row.passed]
    median = statistics.median(row.ours) if row.ours else None
    rival = "" if row.theirs is None else row.rival
    text = (f"{row.case:<52}{milliseconds(median):>10}"
            f"{milliseconds(min(row.ours, default=None)):>10}{milliseconds(row.theirs):>10}  "
            f"{rival:<8}{figure:<16}{row.target:<18}{mark:<6}{row.others:<8.2f}{row.note}")
    return "\n".join([text, *(f"    wrong: {sentence}" for sentence in row.wrong[:5])])


HEAD = (f"{'case':<52}{'median ms':>10}{'min ms':>10}{'theirs ms':>10}  "
        f"{'rival':<8}{'figure':<16}{'target':<18}{'':<6}{'others':<8}note")
