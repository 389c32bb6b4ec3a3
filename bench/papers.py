# SPDX-License-Identifier: Apache-2.0
"""The cases for the papers' strategies; see cases.py."""
import os
import statistics

import numpy as np

import checks
import draws
import pools
import rivals
from table import Row, at_most, faster, speedup


def same_start(picks, others):
    """How many of the first picks are the same."""
    return int(np.argmin(np.append(picks == others, False)))


# ---- gradients --------------------------------------------------------------------------


def dynamic(bench):
    n, batch = bench.size(50000), bench.size(1000)
    H, P = pools.clustered(n, 512, 10)
    Y = pools.labels(n, bench.size(500), 10)
    title = f"dynamic n={n} d=512 C=10 b={batch}"
    ours, chosen = bench.ours(title, lambda: bench.scant.select(
        "dynamic", batch, features=H, probs=P, labels=Y))
    theirs, picks = bench.theirs(title, lambda: rivals.dynamic(H, P, Y, batch))
    row = Row(title, ours, theirs)
    truth, size = checks.dynamic(H, P, Y)
    row.wrong = checks.ranked(truth, chosen.indices, chosen.scores, batch, 1e-12 * size)
    row.note = f"the first {same_start(chosen.indices, picks)} picks equal NumPy's, in float32"
    yield speedup(row)


def sparse_greedy(bench):
    """Compared with NumPy on the gradient matrix, with NumPy without it, and with reading the
    features 1.5 times for every pick."""
    n, batch = bench.size(50000), bench.size(500)
    H, P, Q = pools.calibrated(n, 128, 10)
    title = f"sparse-greedy n={n} d=128 C=10 b={batch}"
    before = bench.limits()["read_all"]
    ours, chosen = bench.ours(title, lambda: bench.scant.select(
        "sparse-greedy", batch, features=H, probs=P, calibrated=Q))
    speed = max(before, bench.limits()["read_all"])
    wrong = checks.sparse_greedy(H, P, Q, chosen.indices, chosen.scores, chosen.weights)
    for kind, dtype in ((rivals.Dense, np.float64), (rivals.Dense, np.float32),
                        (rivals.Factored, np.float32)):
        theirs, (picks, _) = bench.theirs(title, lambda: rivals.sparse_greedy(
            H, P, Q, batch, kind=kind, dtype=dtype), runs=1)
        row = Row(title, ours, theirs, wrong=wrong)
        row.note = (f"NumPy {kind.__name__.lower()}, {dtype.__name__}; the first "
                    f"{same_start(chosen.indices, picks)} picks the same")
        yield faster(row, 8) if dtype == np.float64 else speedup(row)  # float64 picks the same rows
    one_pass = batch * H.nbytes / (speed * 1e9)
    row = Row(title, ours, note=f"a pass for each pick at {speed:.1f} GB/s: "
              f"{one_pass * 1e3:.0f} ms")
    yield at_most(row, statistics.median(ours) / one_pass, 1.5, " passes")


def sparse_iht(bench):
    n, batch, iterations = bench.size(50000), bench.size(500), 300
    H, P, Q = pools.calibrated(n, 128, 10)
    title = f"sparse-iht n={n} d=128 C=10 b={batch}"
    ours, chosen = bench.ours(title, lambda: bench.scant.select(
        "sparse-iht", batch, settings={"iters": iterations}, features=H, probs=P,
        calibrated=Q))
    theirs, (picks, _) = bench.theirs(title, lambda: rivals.sparse_iht(
        H, P, Q, batch, iterations=iterations, dtype=np.float32), runs=1, warm=False)
    row = Row(title, ours, theirs)
    truth = rivals.sparse_iht(H, P, Q, batch, iterations=iterations, kind=rivals.Factored)[1]
    row.wrong = checks.same_weights(chosen.indices, chosen.weights, truth)
    row.note = (f"NumPy dense, float32, one run; "
                f"{len(set(picks) & set(chosen.indices))} picks the same")
    yield faster(row, 5)


# ---- the smallest eigenvalue ------------------------------------------------------------


def scaled(bench, title, H, labelled, batches, some):
    """Extrapolates the seconds of the Gram method from a few batches to all: the time to find the
    rank, plus the same time for every batch."""
    setup, _ = bench.theirs(title, lambda: rivals.gram_lambdas(H, labelled, []), runs=1)
    seconds, _ = bench.theirs(title, lambda: rivals.gram_lambdas(
        H, labelled, batches[:some]), f"NumPy, {some} of the Gram matrices,", runs=1)
    return setup + (seconds - setup) * len(batches) / some


def npc(bench):
    """Both sides use the same candidates; theirs are drawn outside the timed part."""
    count, n = bench.size(1000), 10000
    for d, known, batch in ((512, 700, 200), (128, 50, 20)):
        H, _ = pools.noise(n, d, 2)
        Y = pools.labels(n, known, 10)
        labelled = np.flatnonzero(Y >= 0)
        batches = draws.npc_batches(np.flatnonzero(Y < 0), batch, count)
        title = f"npc n={n} d={d} |L|={known} b={batch} candidates={count}"
        ours, chosen = bench.ours(title, lambda: bench.scant.select(
            "npc", batch, settings={"candidates": count}, features=H, labels=Y))
        if known + batch <= d:
            theirs, lambdas = bench.theirs(title, lambda: rivals.gram_lambdas(
                H, labelled, batches))
            rows = [faster(Row(title, ours, theirs, note="each Gram matrix"), 8)]
        else:
            theirs, lambdas = bench.theirs(title, lambda: rivals.dual_lambdas(
                H, labelled, batches), runs=1, warm=False)
            rows = [faster(Row(title, ours, theirs, note="each d x d matrix, one run"), 20)]
            some = min(count, 25)
            rows.append(faster(Row(title, ours, scaled(bench, title, H, labelled, batches, some),
                                   note=f"each Gram matrix: {some} timed, scaled to {count}"), 50))
        rows[0].wrong = checks.best_batch(H, Y, chosen.indices, chosen.scores, batches, lambdas)
        yield from rows


def npc_kernel(bench):
    """The same with the kernel of an infinitely wide network. On the diagonal the rival's arccosine
    is exact to half of the digits only, so the check allows a larger error."""
    count, n, d, known, batch, depth = bench.size(1000), 10000, 128, 50, 20, 3
    H, _ = pools.noise(n, d, 2)
    Y = pools.labels(n, known, 10)
    labelled = np.flatnonzero(Y >= 0)
    batches = draws.npc_batches(np.flatnonzero(Y < 0), batch, count)
    title = f"npc ntk:depth={depth} n={n} d={d} |L|={known} b={batch} candidates={count}"
    ours, chosen = bench.ours(title, lambda: bench.scant.select(
        "npc", batch, settings={"candidates": count}, kernel=f"ntk:depth={depth}", features=H,
        labels=Y))
    theirs, lambdas = bench.theirs(title, lambda: rivals.tangent_lambdas(
        H, labelled, batches, depth))
    row = Row(title, ours, theirs, note="each kernel matrix beside the labelled rows'")
    row.wrong = checks.best_batch(H, Y, chosen.indices, chosen.scores, batches, lambdas,
                                  lambda X: rivals.tangent(X, X, depth), 1e-7)
    yield faster(row, 4)


def crc(bench):
    """A call with a batch of all rows returns all groups in order; the rival evaluates those."""
    n, d, known, batch, group = bench.size(10000), 128, 50, 100, 10
    H, _ = pools.noise(n, d, 2)
    Y = pools.labels(n, known, 10)
    labelled = np.flatnonzero(Y >= 0)
    title = f"crc n={n} d={d} |L|={known} b={batch} group={group}"
    ours, chosen = bench.ours(title, lambda: bench.scant.select(
        "crc", batch, settings={"group": group}, features=H, labels=Y))
    every = bench.scant.select("crc", n - known, settings={"group": group}, features=H,
                               labels=Y)
    groups = every.indices.reshape(-1, group)
    theirs, lambdas = bench.theirs(title, lambda: rivals.gram_lambdas(H, labelled, groups))
    row = Row(title, ours, theirs, note="each Gram matrix")
    row.wrong = checks.best_groups(H, chosen, groups, lambdas)
    yield speedup(row)


# ---- least squares ----------------------------------------------------------------------


def bss(bench):
    """The plain algorithm makes one pass over the basis per draw; ours must take less time than 30
    passes. Then, for information, the error of a fit to the picks."""
    n, d, batch = bench.size(100000), 63, 1000
    H = pools.leverage(n, d)
    V = checks.basis(H)
    title = f"bss n={n} D={V.shape[1]} b={batch}"
    ours, chosen = bench.ours(title, lambda: bench.scant.select("bss", batch, features=H))
    M = np.eye(V.shape[1])
    one_pass, _ = bench.theirs(title, lambda: ((V @ M) * V).sum(axis=1), "a pass of NumPy",
                               runs=5)
    row = Row(title, ours, note=f"{len(chosen.indices)} rows in {chosen.info['draws']:.0f} draws; "
              f"a pass is {one_pass * 1e3:.1f} ms")
    row.wrong = checks.bss(V, chosen, batch)
    yield at_most(row, statistics.median(ours) / one_pass, 30, " passes")
    yield fit_errors(bench, H, V, batch)


def fit_errors(bench, H, V, batch, seeds=10):
    """Excess error of a weighted fit with our rows, uniform rows, and rows drawn by leverage, with
    equally many labels."""
    leverage = (V * V).sum(axis=1)
    law = leverage / leverage.sum()
    errors = np.empty((seeds, 3))
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        y = V @ rng.standard_normal(V.shape[1]) + rng.standard_normal(len(V))
        chosen = bench.scant.select("bss", batch, seed=seed, features=H)
        drawn, times = distinct_draws(rng, law, len(chosen.indices))
        uniform = rng.choice(len(V), len(chosen.indices), replace=False)
        errors[seed] = [checks.excess(V, y, chosen.indices, chosen.weights),
                        checks.excess(V, y, drawn, times / law[drawn]),
                        checks.excess(V, y, uniform, np.ones(len(uniform)))]
    mine, by_leverage, uniform = errors.mean(axis=0)
    return Row(f"bss error n={len(V)} D={V.shape[1]} b={batch}", [], figure=mine,
               unit=" excess", note=f"by leverage {by_leverage:.3g}, uniform {uniform:.3g}: "
               f"mean over {seeds} seeds, relative to the best fit's error")


def distinct_draws(rng, law, count):
    """Draws from `law` until `count` distinct rows have come up; returns them and their counts."""
    order = rng.choice(len(law), 20 * count, p=law)
    first = np.sort(np.unique(order, return_index=True)[1])
    return np.unique(order[:first[min(count, len(first)) - 1] + 1], return_counts=True)


# ---- posterior draws --------------------------------------------------------------------


def bald(bench):
    n, m, batch = bench.size(100000), 20, bench.size(1000)
    S = pools.posterior(m, n, 10)
    title = f"bald n={n} m={m} C=10 b={batch}"
    ours, chosen = bench.ours(title, lambda: bench.scant.select("bald", batch, draws=S))
    theirs, _ = bench.theirs(title, lambda: rivals.bald(S, batch))
    row = Row(title, ours, theirs)
    row.wrong = checks.ranked(checks.bald(S), chosen.indices, chosen.scores, batch, 1e-13)
    yield speedup(row)


def acs_fw(bench):
    n, m, batch = bench.size(50000), 100, bench.size(200)
    S = pools.posterior(m, n, 10)
    title = f"acs-fw n={n} m={m} C=10 b={batch}"
    ours, chosen = bench.ours(title, lambda: bench.scant.select("acs-fw", batch, draws=S))
    theirs, truth = bench.theirs(title, lambda: rivals.acs_fw(S, batch), runs=1)
    row = Row(title, ours, theirs)
    row.wrong = checks.same_weights(chosen.indices, chosen.weights, truth)
    row.note = "NumPy in float64; in float32 a third of its picks differ"
    yield speedup(row)


def torch_or_none():
    """torch with one thread per core, or None if it is missing. Loading torch changes OpenMP's
    thread count, also for NumPy, so the count is set at once."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(os.cpu_count())
    return torch


def batchbald(bench):
    n, m, batch, limit = bench.size(10000), 100, 10, 10000
    S = pools.posterior(m, n, 10)
    title = f"batchbald n={n} m={m} C=10 b={batch} mc={limit}"
    torch = torch_or_none()
    who = "torch" if torch else "NumPy"
    ours, chosen = bench.ours(title, lambda: bench.scant.select(
        "batchbald", batch, settings={"mc": limit}, draws=S))
    theirs, (picks, scores) = bench.theirs(title, lambda: rivals.batchbald(
        torch or np, S, batch, limit, seed=1), who, runs=1, warm=False)
    row = Row(title, ours, theirs, who)
    row.wrong, mine, yours = checks.batchbald(S, chosen.indices, chosen.scores, limit, picks,
                                              scores)
    row.note = f"one run of {who}; information {mine:.4f}, {who}'s picks {yours:.4f}"
    yield faster(row, 10)
    if not torch:
        yield Row(title, [], note="skipped: no torch (tools/deps bench installs it)")


# ---- a paper's table --------------------------------------------------------------------

# Table 3 of Shen, Jiang, Zhang & Koyejo (2022): seconds of the first query on a V100. They may
# include more than the selection; ours are the selection alone.
# rows, batch, the paper's seconds, and (alpha, beta) of its table 5 for the two sparse methods
ACQUISITION = {
    "SVHN": (72257, 1000, {"badge": 732.18, "sparse-greedy": 201.65, "sparse-iht": 211.04,
                           "coreset": 309.99, "entropy": 16.46},
             {"sparse-greedy": (.1, .1), "sparse-iht": (1e-8, 1e-4)}),
    "CIFAR-10": (47000, 3000, {"badge": 1207.19, "sparse-greedy": 333.67, "sparse-iht": 174.28,
                               "coreset": 258.29, "entropy": 11.76},
                 {"sparse-greedy": (.01, .1), "sparse-iht": (1e-8, 1e-6)}),
}


def acquisition(bench):
    """The paper's sizes, with VGG-16's 512 features and 10 classes drawn at random."""
    for name, (rows, wanted, seconds, tuned) in ACQUISITION.items():
        n, batch = bench.size(rows), bench.size(wanted)
        H, P, Q = pools.calibrated(n, 512, 10)
        needs = {"badge": {"features": H, "probs": P}, "coreset": {"features": H},
                 "entropy": {"probs": P}}
        for strategy, theirs in seconds.items():
            title = f"{strategy} as in {name}, n={n} b={batch}"
            evidence = needs.get(strategy, {"features": H, "probs": P, "calibrated": Q})
            settings = dict(zip(("alpha", "beta"), tuned.get(strategy, ())))
            ours, _ = bench.ours(title, lambda: bench.scant.select(strategy, batch, settings=settings,
                                                                   **evidence))
            row = Row(title, ours, theirs, rival="V100")
            yield faster(row, 10) if n == rows and strategy != "entropy" else speedup(row)


CASES = {"dynamic": dynamic, "npc": npc, "npc-kernel": npc_kernel, "crc": crc, "sparse-greedy": sparse_greedy,
         "sparse-iht": sparse_iht, "bss": bss, "bald": bald, "batchbald": batchbald,
         "acs-fw": acs_fw, "acquisition": acquisition}
