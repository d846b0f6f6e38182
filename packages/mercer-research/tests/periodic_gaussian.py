"""Covering numbers of a ball of the periodized Gaussian kernel, written down once more for tests.

Heads of the spectrum are covered by volume, tails are cut off: the textbook argument in one
dimension, without anything of the library.
"""

import numpy as np

from mercer_research.covering import Covering


def spectrum(width, period=6.0):
    """Return what classes of the library ask for: eigenvalues, how often, and their functions."""
    omega = 2 * np.pi * np.arange(400) / period
    return {
        "log_eigenvalues": np.log(width * np.sqrt(2 * np.pi)) - 0.5 * (width * omega) ** 2,
        "multiplicity": np.r_[1, np.full(399, 2)],
        "eigenfunction_bound": period**-0.5,
    }


class PeriodicGaussian(Covering):
    """Functions of norm at most `norm`, kernel of width `width` wrapped around `period`."""

    name = "truncation"

    def __init__(self, width, norm=1.0, period=6.0, outputs=1):
        j = np.repeat(np.arange(400), [1] + [2] * 399)
        logs = np.log(width * np.sqrt(2 * np.pi)) - 0.5 * (width * 2 * np.pi * j / period) ** 2
        logs = logs[logs > -1200]
        self.ball, self.outputs = norm, outputs
        self.flat = period**-0.5  # the largest value of an eigenfunction
        self.axes = np.log(norm) + 0.5 * logs
        # Heads that do not split a pair of frequencies.
        self.heads = np.arange(1, len(logs), 2)
        values = np.exp(logs)
        self.tails = norm * self.flat * np.sqrt(np.cumsum(values[::-1])[::-1])
        self.prefix = np.cumsum(self.axes)

    @property
    def norm(self):
        return float(self.tails[0])

    def _log_covering(self, radius):
        if radius >= self.norm:
            return 0.0
        k = self.heads[self.tails[self.heads] < radius]
        left = (radius - self.tails[k]) / (self.flat * np.sqrt(k))
        logs = self.prefix[k - 1] + k * np.logaddexp(np.log(2 / left), -self.axes[k - 1])
        return float(self.outputs * np.min(logs))
