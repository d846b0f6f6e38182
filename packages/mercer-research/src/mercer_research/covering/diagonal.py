r"""Entropy numbers of diagonal operators: how many balls cover an ellipsoid.

With semi-axes :math:`\sigma_1 \ge \sigma_2 \ge \dots`, prefix products decide everything:

.. math:: \sum_i \ln^+ \frac{\sigma_i}{\varepsilon} \;\le\; \ln N(\varepsilon) \;\le\;
          \sum_i \ln^+ \frac{6\sigma_i}{\varepsilon}

since the largest prefix sum of a falling sequence is the sum of its positive terms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer.kernels.points import Array
from mercer_research.covering.base import SLACK, Best, Covering

__all__ = ["DiagonalOperator", "Ellipsoid", "VolumetricEllipsoid"]

FACTOR = 6.0
"""Between the two bounds of Gordon, König and Schütt."""


def whole(log_count: float) -> float:
    """Return ln of the next integer: bounds on entropy numbers hold for whole numbers of balls."""
    # Beyond 36 the next integer is the same number in double precision.
    return float(np.log(np.ceil(np.exp(log_count) * (1 - SLACK)))) if log_count < 36 else log_count


def head_cover(prefix: Array, k: Array, log_last: Array, log_radius: Array) -> Array:
    r"""Return bounds on ln N of ellipsoids of dimension k by a maximal packing.

    .. math:: \sum_{i \le k} \ln\sigma_i + k \ln(2/r + 1/\sigma_k)

    Points farther apart than r have disjoint balls of radius r/2, inside the ellipsoid enlarged
    by the factor :math:`1 + r / 2\sigma_k`; compare volumes.
    """
    return np.asarray(prefix + k * np.logaddexp(np.log(2) - log_radius, -log_last))


def sorted_axes(log_axes: ArrayLike, log_next: float) -> Array:
    """Return logarithms of axes from the largest on, without axes of length zero."""
    axes = np.sort(np.asarray(log_axes, dtype=np.float64).ravel())[::-1]
    if np.any(np.isnan(axes)) or np.any(np.isposinf(axes)) or not log_next < np.inf:
        raise ValueError("logarithms of axes must be numbers below infinity")
    return axes[np.isfinite(axes)]


class DiagonalOperator(Covering):
    r"""The unit ball under a diagonal operator of :math:`\ell_p`, within a factor of 6.

    .. math:: s_n \le \varepsilon_n \le 6 s_n, \qquad
              \ln s_n = \max_j \frac1j \Bigl(\sum_{i \le j} \ln\sigma_i - \ln n\Bigr)

    Parameters
    ----------
    log_axes : (k,) array
        Logarithms of the semi-axes, in any order, equal ones repeated.
    log_next : float, default=-inf
        Upper bound on the logarithms of all axes that are not listed.

    References
    ----------
    Y. Gordon, H. König and C. Schütt (1987), Geometric and probabilistic estimates for entropy and
    approximation numbers of operators, Journal of Approximation Theory 49; A. J. Smola, *Learning
    with Kernels*, TU Berlin 1998, eq. (8.17), (8.18). Its version for repeated axes, eq. (8.56) to
    (8.58), is the same number once its first block counts.

    Examples
    --------
    >>> operator = DiagonalOperator(np.log([1.0, 0.5, 0.2]))
    >>> round(operator.log_lower(0.1), 3), round(operator.log_covering(0.1), 3)
    (4.605, 9.98)
    """

    name = "diagonal operator"

    def __init__(self, log_axes: ArrayLike, *, log_next: float = -np.inf) -> None:
        self.log_axes, self.log_next = sorted_axes(log_axes, log_next), log_next
        # Long spectra: a million rounded additions should not cost digits.
        self.prefix = np.cumsum(self.log_axes, dtype=np.longdouble).astype(np.float64)

    @property
    def norm(self) -> float:
        return float(np.exp(max(np.max(self.log_axes, initial=-np.inf), self.log_next)))

    def _excess(self, log_radius: float) -> float:
        return float(np.sum(np.maximum(self.log_axes - log_radius, 0.0)))

    def log_lower(self, radius: float) -> float:
        """Return the product lower bound on ln N, by volumes."""
        return self._excess(np.log(radius))

    def _log_covering(self, radius: float) -> float:
        log_radius = np.log(radius / FACTOR)
        return whole(self._excess(log_radius)) if self.log_next <= log_radius else np.inf

    def log_scale(self, log_n: float) -> float:
        r"""Return :math:`\ln s_n`, the lower bound on the logarithm of the entropy number."""
        j = np.arange(1, len(self.prefix) + 1)
        return float(np.max((self.prefix - log_n) / j, initial=-np.inf))

    def log_entropy(self, log_n: float) -> float:
        # Axes that are not listed raise the mean of logarithms to their own size at most.
        scale = max(self.log_scale(log_n), self.log_next)
        return float(min(np.log(FACTOR) + scale, np.log(self.norm)))


class VolumetricEllipsoid(Covering):
    r"""An ellipsoid in :math:`\ell_2`, long axes by a packing and short ones by their centre.

    .. math:: \ln N(\varepsilon) \le \min_k \sum_{i \le k} \ln\sigma_i
              + k \ln\Bigl(\frac2r + \frac1{\sigma_k}\Bigr), \qquad
              r^2 = \varepsilon^2 - \sigma_{k+1}^2 > 0

    by Pythagoras. Usually below :class:`DiagonalOperator` by a quarter to a half.

    Parameters
    ----------
    log_axes, log_next
        As in :class:`DiagonalOperator`.

    Examples
    --------
    >>> round(VolumetricEllipsoid(np.log([1.0, 0.5, 0.2])).log_covering(0.1), 3)
    7.354
    """

    name = "volumes"

    def __init__(self, log_axes: ArrayLike, *, log_next: float = -np.inf) -> None:
        self.log_axes, self.log_next = sorted_axes(log_axes, log_next), log_next
        self.prefix = np.cumsum(self.log_axes, dtype=np.longdouble).astype(np.float64)
        # Equal axes stay together: a head that splits them leaves the same largest axis behind.
        after = np.append(self.log_axes[1:], -np.inf)
        self.after = np.maximum(after, log_next)

    @property
    def norm(self) -> float:
        return float(np.exp(max(np.max(self.log_axes, initial=-np.inf), self.log_next)))

    def _log_covering(self, radius: float) -> float:
        log_radius = np.log(radius)
        k = np.flatnonzero(self.after < log_radius)
        if not len(k):
            return np.inf
        r = log_radius + 0.5 * np.log1p(-np.exp(2 * (self.after[k] - log_radius)))
        return float(np.min(head_cover(self.prefix[k], k + 1.0, self.log_axes[k], r)))


class Ellipsoid(Covering):
    r"""An ellipsoid in :math:`\ell_2`: the better of two upper bounds, and a lower bound.

    Parameters
    ----------
    log_axes, log_next
        As in :class:`DiagonalOperator`.

    Examples
    --------
    >>> ellipsoid = Ellipsoid(np.log([1.0, 0.5, 0.2]))
    >>> round(ellipsoid.log_covering(0.25), 3), ellipsoid.active(0.25)
    (4.767, 'volumes')
    """

    def __init__(self, log_axes: ArrayLike, *, log_next: float = -np.inf) -> None:
        self.operator = DiagonalOperator(log_axes, log_next=log_next)
        self.best = Best([VolumetricEllipsoid(log_axes, log_next=log_next), self.operator])
        self.name = self.best.name

    @property
    def norm(self) -> float:
        return self.operator.norm

    def _log_covering(self, radius: float) -> float:
        return self.best.log_covering(radius)

    def log_lower(self, radius: float) -> float:
        """Return the product lower bound on ln N, by volumes."""
        return self.operator.log_lower(radius)

    def active(self, radius: float) -> str:
        return self.best.active(radius)
