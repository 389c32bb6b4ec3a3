# SPDX-License-Identifier: Apache-2.0
"""Checks the picks in float64, over the same arrays, after timing. Each check returns a list of
messages, empty if all is well."""
import numpy as np

import rivals
from rivals import residuals

TOLERANCE = 1e-5  # the relative error that is allowed for distances
CHUNK = 2048      # rows at a time, which keeps (rows, picks) matrices small


def distinct(indices, batch):
    wrong = []
    if len(indices) != batch:
        wrong.append(f"{len(indices)} picks instead of {batch}")
    if len(set(indices.tolist())) != len(indices):
        wrong.append("a row picked twice")
    return wrong


def badge_distances(H, A, rows, picks):
    """Squared distances (rows, picks) of gradients, and the squared norms of both."""
    h, a = H[rows].astype(np.float64), A[rows].astype(np.float64)
    hp, ap = H[picks].astype(np.float64), A[picks].astype(np.float64)
    norms = (a * a).sum(axis=1) * (h * h).sum(axis=1)
    pick_norms = (ap * ap).sum(axis=1) * (hp * hp).sum(axis=1)
    D = norms[:, None] + pick_norms[None, :] - 2 * (a @ ap.T) * (h @ hp.T)
    return np.maximum(D, 0), norms, pick_norms


def badge(H, P, indices, scores, batch):
    """The first pick has the largest norm; the score of each later pick is its squared distance to
    the nearest earlier one."""
    wrong = distinct(indices, batch)
    A = residuals(P)
    N = ((A.astype(np.float64) ** 2).sum(axis=1)
         * np.einsum("ij,ij->i", H, H, dtype=np.float64))
    if N[indices[0]] < N.max() * (1 - TOLERANCE):
        wrong.append(f"first pick {indices[0]}, but row {N.argmax()} has a larger norm")
    D, norms, _ = badge_distances(H, A, indices, indices)
    np.fill_diagonal(D, np.inf)
    for t in range(1, len(indices)):
        nearest = D[t, :t].argmin()
        slack = TOLERANCE * max(norms[t], norms[nearest])
        if abs(scores[t] - D[t, nearest]) > slack:
            wrong.append(f"pick {t + 1}: score {scores[t]}, distance {D[t, nearest]}")
    return wrong


def potential(H, P, picks):
    """The sum of squared distances to the nearest pick, which k-means++ keeps low."""
    A, total = residuals(P), 0.0
    for start in range(0, len(H), CHUNK):
        rows = slice(start, start + CHUNK)
        total += badge_distances(H, A, rows, picks)[0].min(axis=1).sum()
    return total


def coreset(H, indices, scores, batch):
    """Every pick is a farthest row, given the earlier ones. Also returns at how many steps a
    float64 run would have picked another row (both rows are right: their distances differ by less
    than TOLERANCE allows)."""
    wrong = distinct(indices, batch)
    centres = H[indices].astype(np.float64)
    centre_norms = (centres ** 2).sum(axis=1)
    farthest = np.zeros(batch)        # over all rows, before step t
    farthest_row = np.zeros(batch, np.int64)
    own = np.zeros(batch)             # of the pick itself
    when = {int(i): t for t, i in enumerate(indices)}
    for start in range(0, len(H), CHUNK):
        h = H[start:start + CHUNK].astype(np.float64)
        D = (h * h).sum(axis=1)[:, None] + centre_norms[None, :] - 2 * (h @ centres.T)
        D = np.minimum.accumulate(np.maximum(D, 0), axis=1)
        best = D.argmax(axis=0)
        value = D[best, np.arange(batch)]
        better = value[:-1] > farthest[1:]
        farthest[1:][better] = value[:-1][better]
        farthest_row[1:][better] = start + best[:-1][better]
        for row in range(len(h)):
            t = when.get(start + row)
            if t:
                own[t] = D[row, t - 1]
    distance, limit = np.sqrt(own[1:]), np.sqrt(farthest[1:])
    for t in np.flatnonzero(abs(scores[1:] - distance) > TOLERANCE * distance):
        wrong.append(f"pick {t + 2}: score {scores[t + 1]}, distance {distance[t]}")
    for t in np.flatnonzero(distance < limit * (1 - 2 * TOLERANCE)):
        wrong.append(f"pick {t + 2}: at {distance[t]}, but another row is at {limit[t]}")
    return wrong, int((indices[1:] != farthest_row[1:]).sum())


def scored(score, P, indices, scores, batch):
    """The picks are the rows with the `batch` largest scores, in order; the scores are right."""
    wrong = distinct(indices, batch)
    truth = np.concatenate([score(P[start:start + CHUNK].astype(np.float64))
                            for start in range(0, len(P), CHUNK)])
    best = np.sort(truth)[::-1][:batch]
    if not np.allclose(scores, truth[indices], rtol=1e-9, atol=1e-15):
        wrong.append("scores differ from float64's")
    if not np.allclose(truth[indices], best, rtol=1e-12, atol=1e-15):
        wrong.append("not the best rows, or not in order")
    return wrong


def entropy(P):
    return -(P * np.log(np.where(P > 0, P, 1))).sum(axis=1)


def margin(P):
    two = np.partition(P, -2, axis=1)[:, -2:]
    return 1 - (two[:, 1] - two[:, 0])


# ---- the papers' strategies -------------------------------------------------------------


def ranked(truth, indices, scores, batch, error):
    """The picks are the rows with the `batch` largest of the scores `truth` (-inf: cannot be
    picked), in order; the scores are right. error: the largest rounding error of a score in double
    precision."""
    wrong = distinct(indices, batch)
    best = np.sort(truth)[::-1][:batch]
    if abs(scores - truth[indices]).max() > error:
        wrong.append("scores differ from float64's")
    if abs(truth[indices] - best).max() > error:
        wrong.append("not the best rows, or not in order")
    return wrong


def bald(samples):
    """Mutual information of each row."""
    out = np.empty(samples.shape[1])
    for start in range(0, len(out), CHUNK):
        S = samples[:, start:start + CHUNK].astype(np.float64)
        out[start:start + CHUNK] = (entropy(S.mean(axis=0))
                                    - entropy(S.reshape(-1, S.shape[2])).reshape(
                                        S.shape[:2]).mean(axis=0))
    return out


def dynamic(H, P, labels, gamma=2):
    """The score of every unlabelled row, and the largest magnitude of its terms."""
    H = np.hstack([H, np.ones((len(H), 1))])
    A = P.astype(np.float64)
    A[np.arange(len(P)), np.where(labels < 0, P.argmax(axis=1), labels)] -= 1
    known = labels >= 0
    norms = (A * A).sum(axis=1) * (H * H).sum(axis=1)
    dots = ((A @ (A[known].T @ H[known])) * H).sum(axis=1)
    return (np.where(known, -np.inf, norms + gamma * dots),
            (norms + gamma * abs(dots)).max())


def best_batch(H, labels, indices, scores, batches, lambdas, kernel=None, blur=1e-10):
    """The picks are the candidate batch with the largest lambda (smallest eigenvalue); the rival
    has computed `lambdas`. blur: the allowed error, relative to the largest eigenvalue."""
    wrong = distinct(indices, len(batches[0]))
    if (labels[indices] >= 0).any():
        wrong.append("a labelled row picked")
    whole = np.append(np.flatnonzero(labels >= 0), indices)
    if kernel is None:
        A = np.hstack([H, np.ones((len(H), 1))])[whole]
        gram = A.T @ A if len(A) > A.shape[1] else A @ A.T
    else:
        gram = kernel(H[whole].astype(float))
    values = np.linalg.eigvalsh(gram)
    error = blur * values[-1]
    if abs(scores - values[0]).max() > error:
        wrong.append(f"lambda {scores[0]}, float64 has {values[0]}")
    winner = int(lambdas.argmax())
    if set(indices.tolist()) != set(batches[winner].tolist()):
        mine = [t for t, rows in enumerate(batches) if set(rows) == set(indices)]
        if not mine:
            wrong.append("the batch is none of the candidates")
        elif lambdas[mine[0]] < lambdas[winner] - error:
            wrong.append(f"candidate {mine[0]}, but {winner} has a larger lambda")
    return wrong


def best_groups(H, chosen, groups, lambdas):
    """The picks are the groups with the largest lambdas; each row's score is its group's lambda."""
    size = groups.shape[1]
    wrong = distinct(chosen.indices, len(chosen.indices))
    if len(set(groups.ravel().tolist())) != groups.size:
        wrong.append("groups overlap")
    error = 1e-10 * (1 + (H.astype(np.float64) ** 2).sum())  # the sum is above every eigenvalue
    picked = chosen.indices.reshape(-1, size)
    best = np.sort(lambdas)[::-1][:len(picked)]
    if not (picked == groups[:len(picked)]).all():
        wrong.append("the first of all groups are not those picked")
    if abs(np.repeat(lambdas[:len(picked)], size) - chosen.scores).max() > error:
        wrong.append("lambdas differ from float64's")
    if abs(lambdas[:len(picked)] - best).max() > error:
        wrong.append("not the best groups, or not in order")
    return wrong


def sparse_greedy(H, P, Q, picks, scores, weights, alpha=1e-2, beta=0.1):
    """Every pick has the best score, given the earlier ones. The weights before every step are
    computed first, so that one matrix product per chunk of rows gives the scores of all steps."""
    batch, n = len(picks), len(H)
    wrong = distinct(picks, batch)
    H, P, Q = rivals.with_bias(H), P.astype(np.float64), Q.astype(np.float64)
    spread, D = rivals.spreads(H, Q) ** 2, P - Q
    mean = D.T @ H / n
    G = (D[picks] @ D[picks].T) * (H[picks] @ H[picks].T) / batch ** 2
    goal = ((D[picks] @ mean) * H[picks]).sum(axis=1) / batch
    W = np.zeros((batch, batch + 1))  # weights before each step, and after the last
    for t in range(batch):
        w, some = W[:t + 1, t].copy(), slice(0, t + 1)
        w[t] = (beta - G[t, some] @ w + goal[t]) / (G[t, t] + beta)
        slope = G[some, some] @ w - goal[some] + beta * (w - 1)
        u = np.where(w != 0, 2 * slope, 0)
        below = u @ G[some, some] @ u + beta * (u @ u)
        W[some, t + 1] = np.maximum(w - (u @ slope / below if below else 0) * u, 0)
    best, own = np.full(batch, -np.inf), np.empty(batch)
    when = {int(i): t for t, i in enumerate(picks)}
    for start in range(0, n, CHUNK):
        d, h = D[start:start + CHUNK], H[start:start + CHUNK]
        dots = ((d @ D[picks].T) * (h @ H[picks].T) / batch ** 2 @ W[:, :-1]
                - (((d @ mean) * h).sum(axis=1) / batch)[:, None])
        score = 2 * beta - 2 * dots + alpha * spread[start:start + CHUNK, None]
        for row in range(len(h)):
            t = when.get(start + row)
            if t is not None:
                own[t] = score[row, t]
                score[row, t + 1:] = -np.inf
        best = np.maximum(best, score.max(axis=0))
    # Rounding error of sums of a few thousand terms in double precision, in a different order.
    error = 1e-11 * (abs(own).max() + 2 * beta)
    for t in np.flatnonzero(abs(scores - own) > error):
        wrong.append(f"pick {t + 1}: score {scores[t]}, float64 has {own[t]}")
    for t in np.flatnonzero(own < best - error):
        wrong.append(f"pick {t + 1}: score {own[t]}, but another row has {best[t]}")
    if not np.allclose(weights, W[:, -1], rtol=1e-7, atol=1e-12):
        wrong.append("weights differ from float64's")
    return wrong


def same_weights(picks, weights, truth):
    """The picks and weights equal those of a float64 run of the same method."""
    wrong = distinct(picks, len(picks))
    other = set(np.flatnonzero(truth)) ^ set(picks[weights > 0].tolist())
    if other:
        wrong.append(f"{len(other)} rows have weight in one of ours and float64's, not in both")
    elif not np.allclose(weights, truth[picks], rtol=1e-6, atol=1e-9 * truth.max()):
        wrong.append("weights differ from float64's")
    return wrong


def joint_information(samples, picks, count=20000, seed=7):
    """For the first 1, 2, ... picks, over `count` label strings: the mean of
    log(p(string | draw) / p(string)), its standard error, and the standard deviation of
    -log p(string)."""
    rng = np.random.default_rng(seed)
    m = len(samples)
    owner = np.repeat(np.arange(m), count // m)
    log_joint = np.zeros((len(owner), m))
    out = []
    for i in picks:
        S = samples[:, i].astype(np.float64)
        upto = np.cumsum(S, axis=1)[owner]
        labels = (upto < rng.random((len(owner), 1)) * upto[:, -1:]).sum(axis=1)
        log_joint += np.log(S[:, labels]).T
        top = log_joint.max(axis=1)
        surprise = -(np.log(np.exp(log_joint - top[:, None]).mean(axis=1)) + top)
        told = log_joint[np.arange(len(owner)), owner] + surprise
        out.append((told.mean(), told.std() / np.sqrt(len(owner)), surprise.std()))
    return np.array(out).T


def batchbald(samples, picks, scores, limit, their_picks, their_scores):
    """While the joint distribution is exact, picks and information equal the rival's. After that
    the information is an estimate, which must agree with one from other strings. Also returns the
    information of both batches."""
    wrong = distinct(picks, len(picks))
    exact = 1 + int(np.log(limit) / np.log(samples.shape[2]) + 1e-9)
    if (picks[:exact] != their_picks[:exact]).any():
        wrong.append(f"exact picks {picks[:exact]}, the rival has {their_picks[:exact]}")
    elif not np.allclose(scores[:exact], their_scores[:exact], rtol=1e-9):
        wrong.append("information differs from the rival's while it is exact")
    mine, error, spread = joint_information(samples, picks)
    yours, other, _ = joint_information(samples, their_picks)
    # Five standard errors of both estimates; the library's is a mean over `limit` strings.
    slack = 5 * (error + spread / np.sqrt(limit))
    for t in np.flatnonzero(abs(scores - mine) > slack):
        wrong.append(f"pick {t + 1}: information {scores[t]}, {mine[t]} +- {error[t]:.2g}")
    # Over seeds the batch's information varies by 0.002.
    if mine[-1] < yours[-1] - 5 * (error[-1] + other[-1]) - 0.02:
        wrong.append(f"information {mine[-1]}, but the rival's picks have {yours[-1]}")
    return wrong, mine[-1], yours[-1]


def basis(H):
    """A basis V of the features, orthonormal under the uniform distribution over the rows:
    V'V = n I."""
    F = rivals.with_bias(H)
    values, vectors = np.linalg.eigh(F.T @ F / len(F))
    kept = values > 1e-10 * values[-1]
    return F @ (vectors[:, kept] / np.sqrt(values[kept]))


def bss(V, chosen, batch):
    """The weighted rows represent the whole basis as well as the library claims."""
    wrong = distinct(chosen.indices, len(chosen.indices))
    if len(chosen.indices) > batch:
        wrong.append("more rows than asked for")
    if (chosen.weights <= 0).any() or (np.diff(chosen.weights) > 0).any():
        wrong.append("weights are not positive, or increase")
    A = V[chosen.indices] * np.sqrt(chosen.weights)[:, None]
    values = np.linalg.eigvalsh(A.T @ A)
    claimed = chosen.info["lambda_min"], chosen.info["lambda_max"]
    if not np.allclose(claimed, (values[0], values[-1]), rtol=1e-6):
        wrong.append(f"eigenvalues {values[0]} to {values[-1]}, claimed {claimed}")
    return wrong


def excess(V, y, rows, weights):
    """The excess error on all rows of a fit to some of them, relative to the best fit's error."""
    best = V.T @ y / len(V)
    root = np.sqrt(weights)[:, None]
    fit = np.linalg.lstsq(V[rows] * root, y[rows] * root[:, 0], rcond=None)[0]
    return ((fit - best) ** 2).sum() / ((y - V @ best) ** 2).mean()
