# SPDX-License-Identifier: Apache-2.0
"""The rivals: each strategy in NumPy, written from its paper with care for speed but without
algorithmic changes. In float32 if that gives the same picks, in double precision if not."""
import numpy as np


def residuals(P):
    A = P.copy()
    A[np.arange(len(P)), P.argmax(axis=1)] -= 1
    return A


def badge(H, P, batch, seed):
    """k-means++ on the factored gradients: no n x (C*d) matrix, one pass over H and A per pick."""
    rng = np.random.default_rng(seed)
    A = residuals(P)
    N = np.einsum("ij,ij->i", A, A) * np.einsum("ij,ij->i", H, H)
    D = np.full(len(H), np.inf, np.float32)
    picks = [int(N.argmax())]
    while True:
        i = picks[-1]
        D = np.minimum(D, N + N[i] - 2 * (A @ A[i]) * (H @ H[i]))
        np.maximum(D, 0, out=D)
        D[i] = 0
        if len(picks) == batch:
            return np.array(picks)
        upto = np.cumsum(D, dtype=np.float64)
        picks.append(int(np.searchsorted(upto, rng.random() * upto[-1], side="right")))


def coreset(H, batch):
    """Farthest-first from the row nearest the mean, one matrix-vector product per pick."""
    N = np.einsum("ij,ij->i", H, H)
    mean = H.mean(axis=0, dtype=np.float64).astype(np.float32)
    D = np.full(len(H), np.inf, np.float32)
    picks = [int((N - 2 * (H @ mean)).argmin())]
    while len(picks) < batch:
        i = picks[-1]
        D = np.minimum(D, N + N[i] - 2 * (H @ H[i]))
        D[picks] = -1
        picks.append(int(D.argmax()))
    return np.array(picks)


def top(scores, batch):
    best = np.argpartition(-scores, batch)[:batch]
    return best[np.argsort(-scores[best], kind="stable")]


def entropy(P, batch):
    return top(-(P * np.log(P)).sum(axis=1), batch)


def margin(P, batch):
    two = np.partition(P, -2, axis=1)[:, -2:]
    return top(two[:, 0] - two[:, 1], batch)


# ---- scores of one pass -----------------------------------------------------------------


def bald(samples, batch):
    """Entropy of the mean of the draws minus the mean of their entropies."""
    mean = samples.mean(axis=0)
    inner = -(samples * np.log(samples)).sum(axis=2).mean(axis=0)
    return top(-(mean * np.log(mean)).sum(axis=1) - inner, batch)


def dynamic(H, P, labels, batch, gamma=2):
    """Gradients a x h of the last layer, factored: the sum over the labelled rows is one matrix,
    and a pass over the pool scores all rows against it."""
    H = with_bias(H, np.float32)
    known = labels >= 0
    A = residuals(P)
    A[known] = P[known]
    A[known, labels[known]] -= 1
    pull = A[known].T @ H[known]
    score = (np.einsum("ij,ij->i", A, A) * np.einsum("ij,ij->i", H, H)
             + gamma * np.einsum("ij,ij->i", A @ pull, H))
    score[known] = -np.inf
    return top(score, batch)


# ---- the smallest eigenvalue ------------------------------------------------------------


def with_bias(H, dtype=np.float64):
    return np.hstack([H, np.ones((len(H), 1), H.dtype)]).astype(dtype)


def rank(K):
    values = np.linalg.eigvalsh(K.T @ K)
    return int((values > 1e-10 * values[-1]).sum())


def gram_lambdas(H, labelled, batches):
    """As in the papers: for every batch, the Gram matrix of the labelled rows and the batch, and
    its eigenvalues. If there are more rows than the rank r, the smallest positive eigenvalue is
    the r-th largest. The batches are drawn outside the timed part."""
    K = with_bias(H)
    r = rank(K)
    known, lambdas = K[labelled], []
    for rows in batches:
        A = np.vstack([known, K[rows]])
        lambdas.append(np.linalg.eigvalsh(A @ A.T)[-min(len(A), r)])
    return np.array(lambdas)


def dual_lambdas(H, labelled, batches):
    """The faster method if there are more rows than columns: the positive eigenvalues are those of
    the d x d matrix, whose labelled part is computed once."""
    K = with_bias(H)
    r = rank(K)
    known, lambdas = K[labelled].T @ K[labelled], []
    for rows in batches:
        lambdas.append(np.linalg.eigvalsh(known + K[rows].T @ K[rows])[-r])
    return np.array(lambdas)


def tangent(X, Y, depth):
    """The kernel of an infinitely wide network with `depth` ReLU layers, by the paper's
    recursion."""
    lengths = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))
    cosine = np.clip(X @ Y.T / lengths, -1, 1)
    theta = cosine
    for _ in range(depth):
        angle = np.arccos(cosine)
        cosine = np.clip((np.sin(angle) + (np.pi - angle) * cosine) / np.pi, -1, 1)
        theta = cosine + theta * (1 - angle / np.pi)
    return theta * lengths


def tangent_lambdas(H, labelled, batches, depth):
    """Computes the kernel of the labelled rows once, that of each batch, and the eigenvalues."""
    H = H.astype(float)
    known = tangent(H[labelled], H[labelled], depth)
    lambdas = []
    for rows in batches:
        beside = tangent(H[rows], H[labelled], depth)
        whole = np.block([[known, beside.T], [beside, tangent(H[rows], H[rows], depth)]])
        lambdas.append(np.linalg.eigvalsh(whole)[0])
    return np.array(lambdas)


# ---- sparse approximation ---------------------------------------------------------------


def spreads(H, Q):
    """The sigma of each row: how much its gradient depends on the label, from norms of a x h."""
    inner = (Q * np.sqrt(1 - 2 * Q + (Q * Q).sum(axis=1, keepdims=True))).sum(axis=1)
    return np.linalg.norm(H, axis=1) * inner / len(H)


class Dense:
    """Gradients of the last layer as an n x (C d) matrix: simple, and as in the paper."""

    def __init__(self, H, D, batch):
        self.rows = (D[:, :, None] * H[:, None, :]).reshape(len(H), -1)
        self.mean = self.rows.mean(axis=0)
        self.rows /= batch
        self.norms = np.einsum("ij,ij->i", self.rows, self.rows)

    def some(self, rows):
        return self.rows[rows]

    def dots(self, vector):
        return self.rows @ vector

    def sum(self, weights):
        return weights @ self.rows


class Factored:
    """The same without the matrix: <a x h, R> = a' R h."""

    def __init__(self, H, D, batch):
        self.H, self.D, self.batch = H, D, batch
        self.mean = (D.T @ H).ravel() / len(H)
        self.norms = (D * D).sum(axis=1) * (H * H).sum(axis=1) / batch ** 2

    def some(self, rows):
        D, H = self.D[rows], self.H[rows]
        return (D[..., :, None] * H[..., None, :] / self.batch).reshape(
            *D.shape[:-1], len(self.mean))

    def dots(self, vector):
        R = vector.reshape(self.D.shape[1], -1)
        return np.einsum("ij,ij->i", self.D @ R, self.H) / self.batch

    def sum(self, weights):
        return ((self.D * weights[:, None]).T @ self.H).ravel() / self.batch


def sparse_setting(kind, H, P, Q, batch, dtype):
    H, P, Q = with_bias(H, dtype), P.astype(dtype), Q.astype(dtype)
    return kind(H, P - Q, batch), spreads(H, Q) ** 2


def line_search(residual, step, u, w, beta):
    """The step length from w along -u; `step` is the change of the residual by u."""
    below = step @ step + beta * (u @ u)
    return (residual @ step + beta * ((w - 1) @ u)) / below if below > 1e-300 else 0.0


def debias(rows, w, mean, beta):
    """One gradient step over the rows with weight; w has those rows only."""
    residual = w @ rows - mean
    u = np.where(w != 0, 2 * (rows @ residual + beta * (w - 1)), 0)
    return w - line_search(residual, u @ rows, u, w, beta) * u


def sparse_greedy(H, P, Q, batch, alpha=1e-2, beta=0.1, kind=Dense, dtype=np.float64):
    """Algorithm 1: one pass over all gradients per pick; the work on picked rows is small."""
    phi, spread = sparse_setting(kind, H, P, Q, batch, dtype)
    picks, w, chosen = [], np.zeros(0, dtype), np.empty((batch, len(phi.mean)), dtype)
    residual = -phi.mean
    for t in range(batch):
        score = 2 * phi.dots(residual) - 2 * beta - alpha * spread  # unpicked rows have w = 0
        score[picks] = np.inf
        j = int(score.argmin())
        picks.append(j)
        chosen[t] = phi.some(j)
        first = (beta - chosen[t] @ residual) / (phi.norms[j] + beta)
        w = np.append(w, dtype(first))  # a float64 here would promote everything after it
        w = np.maximum(debias(chosen[:t + 1], w, phi.mean, beta), 0)
        residual = w @ chosen[:t + 1] - phi.mean
    return np.array(picks), w


def sparse_iht(H, P, Q, batch, alpha=1e-8, beta=1e-4, iterations=300, kind=Dense,
               dtype=np.float64):
    """Algorithm 2 with the exact prox: two passes over all gradients per iteration, one for the
    gradient and one for the step length; the rest uses only the rows with weight."""
    phi, spread = sparse_setting(kind, H, P, Q, batch, dtype)
    n = len(H)
    w, z = np.zeros(n, dtype), np.zeros(n, dtype)
    for _ in range(iterations):
        before = w
        some = np.flatnonzero(z)
        residual = z[some] @ phi.some(some) - phi.mean
        slope = 2 * (phi.dots(residual) + beta * (z - 1))
        s = z - line_search(residual, phi.sum(slope), slope, z, beta) * slope
        score = np.maximum(s, 0) ** 2 / 2 + alpha * spread
        support = np.argpartition(-score, batch)[:batch]
        w = np.zeros(n, dtype)
        w[support] = np.maximum(s[support], 0)
        w[support] = np.maximum(debias(phi.some(support), w[support], phi.mean, beta), 0)
        some = np.flatnonzero((w != 0) | (before != 0))
        rows, move = phi.some(some), w - before
        tau = line_search(w[some] @ rows - phi.mean, move[some] @ rows, move, w, beta)
        z = w - tau * move
    return support[np.lexsort((support, -score[support], -w[support]))], w


# ---- posterior draws --------------------------------------------------------------------


def log_likelihoods(samples, dtype):
    """Expected log-likelihood of each row under each draw, n x m: a Bayesian coreset approximates
    the sum over the rows."""
    S = samples.astype(dtype)
    mean = S.mean(axis=0)
    entropy = -(mean * np.log(mean)).sum(axis=1)
    logs = np.log(np.maximum(S, 1e-12))
    return ((np.einsum("nc,snc->ns", mean, logs) + entropy[:, None])
            / np.sqrt(len(S)).astype(dtype))


def acs_fw(samples, batch, dtype=np.float64):
    """Frank-Wolfe until `batch` rows have weight: one pass over the n x m vectors per step."""
    L = log_likelihoods(samples, dtype)
    norms = np.sqrt((L * L).sum(axis=1) + 1e-6)
    total, goal = norms.sum(), L.sum(axis=0)
    w, fit = np.zeros(len(L), dtype), np.zeros(L.shape[1], dtype)
    for _ in range(20 * batch):
        left = goal - fit
        f = int((L @ left / norms).argmax())
        v = total / norms[f] * L[f] - fit
        gamma = min(max((v @ left) / (v @ v), 0), 1)
        w *= 1 - gamma
        w[f] += gamma * total / norms[f]
        fit = (1 - gamma) * fit + gamma * total / norms[f] * L[f]
        if gamma < 1e-12 or np.count_nonzero(w) == batch:
            break
    return w


def batchbald(xp, samples, batch, limit, seed, chunk=16):
    """Greedy joint information in double precision. The joint distribution of the picks (label
    strings x draws) is exact while there are at most `limit` strings, and sampled from the
    posterior after that. Candidates are combined with it in chunks, and the probabilities of each
    string with each label of the candidate give an entropy. The chunk size was the fastest of 4 to
    128 rows. xp is numpy or torch."""
    rng = np.random.default_rng(seed)
    S = xp.asarray(np.ascontiguousarray(samples.transpose(1, 2, 0), np.float64))  # n C m
    n, C, m = S.shape
    inner = -(S * xp.log(S)).sum(1).mean(1)
    joint, exact = xp.ones((1, m), dtype=xp.float64), True
    picks, scores = [], []
    for _ in range(batch):
        weights = xp.ones(len(joint), dtype=xp.float64) if exact else (
            1 / (joint.mean(1) * len(joint)))
        gains = np.empty(n)
        for first in range(0, n, chunk):
            R = joint @ S[first:first + chunk].reshape(-1, m).T / m  # strings x (rows C)
            terms = weights @ (R * xp.log(R))
            gains[first:first + chunk] = -terms.reshape(-1, C).sum(1)
        gains -= sum(float(inner[i]) for i in picks) + np.asarray(inner)
        gains[picks] = -np.inf
        picks.append(int(gains.argmax()))
        scores.append(float(gains[picks[-1]]))
        if exact and len(joint) * C <= limit:
            joint = (joint[:, None, :] * S[picks[-1]][None]).reshape(-1, m)
        else:
            exact, joint = False, drawn_joint(xp, S, picks, limit, rng)
    return np.array(picks), np.array(scores)


def drawn_joint(xp, S, picks, limit, rng):
    """`limit` label strings, equally many from every draw, and their probabilities under all
    draws."""
    m = S.shape[2]
    owner = np.repeat(np.arange(m), limit // m)
    joint = xp.ones((len(owner), m), dtype=xp.float64)
    for i in picks:
        upto = np.cumsum(np.asarray(S[i]), axis=0)[:, owner]
        labels = (upto < rng.random(len(owner)) * upto[-1]).sum(axis=0)
        joint = joint * S[i][labels]
    return joint
