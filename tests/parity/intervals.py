# SPDX-License-Identifier: Apache-2.0
"""Means, their standard errors, and Student's t."""
import numpy as np


def t_quantile(level, freedom):
    """t with P(|T| <= t) = level. With T = sqrt(freedom) tan(a), the density of a is proportional
    to cos(a)^(freedom - 1), which is integrated numerically; error below 1e-5."""
    angle = np.linspace(0, np.pi / 2, 400001)
    density = np.cos(angle) ** (freedom - 1)
    total = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    at = np.interp(level, total / total[-1], angle)
    return float(np.sqrt(freedom) * np.tan(at))


class Mean:
    """Mean, standard deviation (n - 1) and standard error of numbers."""

    def __init__(self, values):
        values = np.asarray(values, float)
        self.n, self.mean = len(values), float(values.mean())
        self.deviation = float(values.std(ddof=1)) if self.n > 1 else float("nan")
        self.error = self.deviation / np.sqrt(self.n)


def difference(a, b):
    """(mean of a - mean of b, its standard error) for two independent samples (Welch)."""
    a, b = Mean(a), Mean(b)
    return a.mean - b.mean, float(np.hypot(a.error, b.error))


def paired(differences):
    """(mean, low, high): the 95 % interval of Student's t, as `scant compare` computes it."""
    m = Mean(differences)
    if m.n < 2:
        return m.mean, float("nan"), float("nan")
    half = t_quantile(0.95, m.n - 1) * m.error
    return m.mean, m.mean - half, m.mean + half
