# SPDX-License-Identifier: Apache-2.0
"""The cases. A case is a function of the Bench that yields rows of the table."""
import statistics

import numpy as np

import checks
import pools
import rivals
from table import Row, at_most, faster, speedup

BATCH = 1000  # for strategies that only score


# ---- badge ------------------------------------------------------------------------------


def badge_against_numpy(bench, name, make, n, d, classes, batch, target):
    n, batch = bench.size(n), bench.size(batch)
    H, P = make(n, d, classes)
    title = f"{name} n={n} d={d} C={classes} b={batch}"
    ours, (indices, scores, *_) = bench.ours(title, lambda: bench.scant.select(
        "badge", batch, features=H, probs=P))
    theirs, picks = bench.theirs(title, lambda: rivals.badge(H, P, batch, seed=1))
    row = Row(title, ours, theirs)
    row.wrong = checks.badge(H, P, indices, scores, batch)
    ratio = checks.potential(H, P, indices) / checks.potential(H, P, picks)
    row.note = f"potential {ratio:.3f} of NumPy's"
    # Both sides draw from one distribution. Over seeds the potential varies by 2 to 9 percent
    # (standard deviation; most on small pools of noise), so a ratio outside these limits is
    # very unlikely.
    if not 0.67 < ratio < 1.5:
        row.wrong.append(f"potential is {ratio:.3f} of NumPy's")
    return faster(row, target)


def badge_noise(bench):
    yield badge_against_numpy(bench, "badge-noise", pools.noise, 50000, 512, 10, 1000, 80)


def badge_clustered(bench):
    yield badge_against_numpy(bench, "badge-clustered", pools.clustered, 50000, 512, 10, 1000, 20)


def badge_classes(bench):
    yield badge_against_numpy(bench, "badge-classes", pools.noise, 50000, 128, 100, 200, 8)


def badge_million(bench):
    """Time, and peak memory relative to the input."""
    n, batch = bench.size(1000000), bench.size(1000)
    for name, make in (("noise", pools.noise), ("clustered", pools.clustered)):
        H, P = make(n, 128, 10)
        title = f"badge-million {name} n={n} d=128 C=10 b={batch}"
        ours, (indices, scores, *_) = bench.ours(title, lambda: bench.scant.select(
            "badge", batch, features=H, probs=P))
        row = Row(title, ours, wrong=checks.badge(H, P, indices, scores, batch))
        _, peak = bench.program("badge", batch, bench.files(features=H, probs=P))
        yield at_most(row, peak / (H.nbytes + P.nbytes), 1.2, " of input")


def badge_memory(bench):
    """Peak memory with a thousand classes."""
    n, batch = bench.size(100000), 200
    H, P = pools.noise(n, 512, 1000)
    title = f"badge-memory n={n} d=512 C=1000 b={batch}"
    seconds, peak = bench.program("badge", batch, bench.files(features=H, probs=P))
    yield at_most(Row(title, [seconds], note="program, from files"), peak / 1e9, 1.5, " GB")


# ---- coreset ----------------------------------------------------------------------------


def coreset_against_numpy(bench, name, make):
    n, d, batch = bench.size(50000), 512, bench.size(1000)
    H, _ = make(n, d, 2)
    title = f"{name} n={n} d={d} b={batch}"
    ours, (indices, scores, *_) = bench.ours(title, lambda: bench.scant.select(
        "coreset", batch, features=H))
    theirs, picks = bench.theirs(title, lambda: rivals.coreset(H, batch))
    row = Row(title, ours, theirs)
    row.wrong, other = checks.coreset(H, indices, scores, batch)
    same = int(np.argmin(np.append(indices == picks, False)))
    row.note = f"{other} steps where float64 picks another row; NumPy's first {same} picks are the same"
    return faster(row, 12)


def coreset_noise(bench):
    yield coreset_against_numpy(bench, "coreset-noise", pools.noise)


def coreset_clustered(bench):
    yield coreset_against_numpy(bench, "coreset-clustered", pools.clustered)


# ---- one pass ---------------------------------------------------------------------------


def scored(bench, strategy, truth, n, classes):
    """A row with both times, without a target, and the probabilities."""
    n = bench.size(n)
    P = pools.probs(n, classes)
    title = f"{strategy} n={n} C={classes}"
    ours, (indices, scores, *_) = bench.ours(title, lambda: bench.scant.select(
        strategy, BATCH, probs=P))
    theirs, _ = bench.theirs(title, lambda: getattr(rivals, strategy)(P, BATCH))
    return Row(title, ours, theirs, wrong=checks.scored(truth, P, indices, scores, BATCH)), P


def margin(bench):
    """Compared with reading P once at memory speed, measured just before and after."""
    before = bench.limits()["read_all"]
    row, P = scored(bench, "margin", checks.margin, 100000, 1000)
    speed = max(before, bench.limits()["read_all"])
    one_pass = P.nbytes / (speed * 1e9)
    row.note = f"one pass at {speed:.1f} GB/s: {one_pass * 1e3:.2f} ms"
    yield at_most(row, statistics.median(row.ours) / one_pass, 1.3, " passes")
    yield speedup(scored(bench, "margin", checks.margin, 1000000, 10)[0])


def entropy(bench):
    for n, classes in ((1000000, 10), (100000, 1000)):
        yield faster(scored(bench, "entropy", checks.entropy, n, classes)[0], 5)


# ---- growth and files -------------------------------------------------------------------


def growth(bench):
    """Ten times the rows should take about ten times as long."""
    small, large = bench.size(100000), bench.size(1000000)
    H, P = pools.noise(large, 128, 10)
    for strategy, arrays in (("badge", {"features": H, "probs": P}),
                             ("coreset", {"features": H}), ("entropy", {"probs": P})):
        few = {name: array[:small] for name, array in arrays.items()}
        title = f"growth {strategy} n={small} to {large} d=128 C=10 b=100"
        short, _ = bench.ours(title, lambda: bench.scant.select(strategy, 100, **few))
        long, _ = bench.ours(title, lambda: bench.scant.select(strategy, 100, **arrays))
        row = Row(title, long, note=f"{statistics.median(short) * 1e3:.1f} ms before")
        yield at_most(row, statistics.median(long) / statistics.median(short), 14, "x")


def program(bench):
    """The program end to end, from .npy files in the page cache to CSV."""
    n, batch = bench.size(50000), bench.size(1000)
    H, P = pools.clustered(n, 512, 10)
    for strategy, arrays in (("random", {"features": H}), ("entropy", {"probs": P}),
                             ("egl", {"features": H, "probs": P}), ("coreset", {"features": H}),
                             ("badge", {"features": H, "probs": P})):
        files = bench.files(**arrays)
        runs = [bench.program(strategy, batch, files) for _ in range(bench.repeat)]
        title = f"program {strategy} n={n} d=512 C=10 b={batch}"
        yield Row(title, [seconds for seconds, _ in runs],
                  note=f"peak {max(peak for _, peak in runs) / 1e6:.0f} MB")


CASES = {"badge-noise": badge_noise, "badge-clustered": badge_clustered,
         "badge-classes": badge_classes, "badge-million": badge_million,
         "badge-memory": badge_memory, "coreset-noise": coreset_noise,
         "coreset-clustered": coreset_clustered, "margin": margin, "entropy": entropy,
         "growth": growth, "program": program}
