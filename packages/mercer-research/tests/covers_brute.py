"""Small independent versions of bounds that other modules provide, for tests."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from mercer_research.covering import Covering


def water_filling(spectrum, log_n):
    """Return the best scaling's entropy number without its factor 6, and how many axes it takes.

    Reverse water-filling: ln n = 1/2 sum ln+(lambda / theta) gives the level theta.
    """
    logs, counts = spectrum.log_values, spectrum.counts

    def nats(level):
        return 0.5 * np.sum(counts * np.maximum(logs - level, 0.0)) - log_n

    low = logs[0] - 1.0
    while nats(low) < 0:
        low -= 10.0
    level = brentq(nats, low, logs[0], xtol=1e-13, rtol=1e-15) if log_n > 0 else logs[0]
    water = np.sum(counts * np.exp(np.minimum(logs, level) - level)) * np.exp(level)
    water += np.exp(spectrum.log_tail)
    axes = counts[logs > level + 1e-9].sum() if log_n > 0 else counts[0]
    return spectrum.eigenfunction_bound * np.sqrt(water), round(axes)


class UnitBall(Covering):
    """Functions of norm 1 on m points of norm 1: the count of greedy steps, or the cube."""

    name = "Hilbert ball"

    def __init__(self, m):
        self.m = m

    @property
    def norm(self):
        return 1.0

    def _log_covering(self, radius):
        if radius >= 1:
            return 0.0
        t = np.floor(radius**-2 * (1 + 1e-12))
        steps = gammaln(2 * self.m + t + 1) - gammaln(t + 1) - gammaln(2 * self.m + 1)
        return float(min(steps, self.m * np.log(np.ceil(1 / radius * (1 - 1e-12)))))


def log_volume_bound(K, radius, size=1.0):
    """Return a lower bound on ln N on the points, by volumes of the best principal minors."""
    K = K.copy()
    best, logdet, k = 0.0, 0.0, 0
    rest = np.diagonal(K).copy()
    rows = []
    while k < len(K):
        i = int(np.argmax(rest))
        if rest[i] < 1e-13:
            break
        row = (K[i] - sum((r[i] * r for r in rows), np.zeros(len(K)))) / np.sqrt(rest[i])
        logdet += np.log(rest[i])
        rows.append(row)
        rest = np.maximum(rest - row**2, 0)
        rest[i] = 0
        k += 1
        ball = 0.5 * k * np.log(np.pi) - gammaln(0.5 * k + 1)
        best = max(best, k * np.log(size / (2 * radius)) + 0.5 * logdet + ball)
    return best


def log_packing(values, radius):
    """Return ln of a greedy count of rows further apart than twice the radius, in the sup norm."""
    left, count = values, 0
    while len(left):
        count += 1
        left = left[np.abs(left - left[0]).max(axis=1) > 2 * radius]
    return np.log(count)
