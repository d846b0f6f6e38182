"""A piecewise linear density whose masses agree best with the counts of bins."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.programs.program import Program
from mercer_research.density.classical import Distribution

__all__ = ["ChiSquareDensity"]


class ChiSquareDensity(Distribution):
    r"""The piecewise linear density of least chi-square distance to the counts of bins.

    .. math::

        \min_{c \ge 0} \sum_i \frac{(f_i - N A_i c)^2}{N A_i c} \quad \text{subject to}
        \quad \textstyle\sum_i A_i c = 1, \qquad
        A_i c = \tfrac12 (b_{i+1} - b_i)(c_i + c_{i+1})

    The heights c at the knots b make a continuous density; each term of the sum is a second-order
    cone, :math:`\|(2(f_i - N A_i c), t_i - N A_i c)\| \le t_i + N A_i c`.

    Parameters
    ----------
    knots : int or array-like of shape (r + 1,), default=10
        Number of bins of equal width between the smallest and the largest of the sample, or the
        knots themselves, which must cover it.

    Attributes
    ----------
    knots_, heights_ : ndarray of shape (r + 1,)
    chi_square_ : float
        The distance.
    solution_ : Optimum
        Of the program, with its certificate.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, (2.13)-(2.17), with one mass a bin
    in the last two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model = ChiSquareDensity(knots=8).fit(rng.normal(size=(200, 1)))
    >>> float(np.trapezoid(model.heights_, model.knots_).round(6))
    1.0
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "knots": [Interval(Integral, 1, None, closed="left"), "array-like"]
    }

    def __init__(self, knots: Any = 10) -> None:
        self.knots = knots

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Count a sample and fit the density to the counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        x = self._line(X, reset=True)
        w = self._weights(sample_weight, len(x))
        b = self._knots(x)
        f, N = np.histogram(x, bins=b, weights=w * len(x))[0], float(len(x))
        r, h = len(f), np.diff(b)
        A = sp.csr_array(0.5 * h[:, None] * (np.eye(r, r + 1) + np.eye(r, r + 1, 1)))
        program = Program()
        c, t = program.variable(r + 1, lower=0.0), program.variable(r)
        program.cost(t, np.ones(r))
        program.equal([(np.asarray(A.sum(axis=0))[None, :], c)], [1.0])
        for i in range(r):
            mass, own = N * A[[i]].toarray(), np.eye(r)[[i]]
            program.norm(
                [(np.concatenate([-2.0 * mass, -mass]), c), (np.concatenate([0.0 * own, own]), t)],
                np.array([2.0 * f[i], 0.0]),
                [(mass, c), (own, t)],
            )
        self.solution_ = program.solve()
        heights = np.maximum(self.solution_[c], 0.0)
        self.heights_ = heights / np.sum(A @ heights)
        self.knots_, self.chi_square_ = b, float(self.solution_.objective)
        return self

    def _knots(self, x: Array) -> Array:
        if np.ndim(self.knots) == 0:
            low, high = float(x.min()), float(x.max())
            if low == high:
                low, high = low - 0.5, high + 0.5
            return np.linspace(low, high, int(self.knots) + 1)
        b = np.asarray(self.knots, dtype=float)
        if b.ndim != 1 or len(b) < 2 or not np.all(np.diff(b) > 0):
            raise ValueError("knots must be at least two increasing numbers.")
        if x.min() < b[0] or x.max() > b[-1]:
            raise ValueError(
                f"knots from {b[0]:.6g} to {b[-1]:.6g} do not cover the sample, which goes from "
                f"{x.min():.6g} to {x.max():.6g}."
            )
        return b

    def score_samples(self, X: PointsLike) -> Array:
        """Evaluate the logarithm of the density, (n,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.pdf(X))

    def pdf(self, X: PointsLike) -> Array:
        """Evaluate the density, (n,)."""
        p = np.interp(self._line(X), self.knots_, self.heights_, left=0.0, right=0.0)
        return np.asarray(p, dtype=np.float64)

    def cdf(self, X: PointsLike) -> Array:
        """Evaluate the distribution function, (n,)."""
        x, b, c = self._line(X), self.knots_, self.heights_
        mass = np.append(0.0, np.cumsum(0.5 * np.diff(b) * (c[:-1] + c[1:])))
        x = np.clip(x, b[0], b[-1])
        i = np.clip(np.searchsorted(b, x, side="right") - 1, 0, len(b) - 2)
        s = x - b[i]
        F = mass[i] + s * c[i] + 0.5 * s**2 * (c[i + 1] - c[i]) / (b[i + 1] - b[i])
        return np.asarray(F, dtype=np.float64)
