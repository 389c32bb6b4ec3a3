# SPDX-License-Identifier: Apache-2.0
"""Are the picks right? In float64, over the same arrays, after the clock has stopped. Each
check returns sentences about what is wrong: none, if all is well."""
import numpy as np

from rivals import residuals

TOLERANCE = 1e-5  # what the contract grants to distances
CHUNK = 2048      # rows at a time, to keep (rows, picks) matrices small


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
    """The first has the largest norm; each later score is the distance to those before."""
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
    """The sum of squared distances to the nearest pick: what k-means++ keeps low."""
    A, total = residuals(P), 0.0
    for start in range(0, len(H), CHUNK):
        rows = slice(start, start + CHUNK)
        total += badge_distances(H, A, rows, picks)[0].min(axis=1).sum()
    return total


def coreset(H, indices, scores, batch):
    """Every pick is a farthest row, given those before. Returns also at how many steps a
    float64 run would have taken another row (rightly, both being equally far to TOLERANCE)."""
    wrong = distinct(indices, batch)
    centres = H[indices].astype(np.float64)
    centre_norms = (centres ** 2).sum(axis=1)
    farthest = np.zeros(batch)        # over all rows, before step t
    farthest_row = np.zeros(batch, np.int64)
    own = np.zeros(batch)             # the pick's own
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
    """The batch largest of a row-wise score, each with its value."""
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
