r"""Regularized risks whose penalty is the 1-norm of the coefficients themselves.

.. math::

    \min_{a, b}\; \sum_j w_j |a_j| + \sum_i c_i\, l(y_i, f_i) + d'b, \qquad f = Ga + Bb

.. math::

    \min_u\; \sum_i c_i\, l^*(y_i, -u_i / c_i) \qquad \text{subject to}\;
    |G'u|_j \le w_j,\quad B'u = d

It is the one functional without a kernel part: :math:`a` are unpenalized columns, and
:math:`w_j |a_j|` the absolute loss of one more sample that sees nothing but :math:`a_j`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.dictionary import Dictionary
from mercer.gram.low_rank import LowRank
from mercer.losses.base import DualTerms, Loss
from mercer.losses.regression import Pinball
from mercer.losses.stacked import stack
from mercer.problems.risk import RegularizedRisk

__all__ = ["SparseRisk"]


@dataclass(frozen=True, eq=False)
class SparseRisk:
    r"""A loss, a dictionary of functions, and the 1-norm of their coefficients.

    Parameters
    ----------
    loss : Loss
        Cost of a decision value.
    G : Dictionary
        The functions at the sample, (n, m); any matrix.
    y : ndarray of shape (n,)
        Targets, or labels plus and minus one.
    c : ndarray of shape (n,)
        Weight of each sample's loss.
    B : ndarray of shape (n, q)
        Unpenalized columns.
    d : ndarray of shape (q,)
        Linear cost of their coefficients.
    weights : ndarray of shape (m,), optional
        The weights :math:`w_j > 0`, one by default.
    signs : ndarray of shape (m,), optional
        One or minus one where a coefficient may not have the other sign, zero, the default, where
        it is free.
    radius : float, optional
        Bound :math:`\sum_j w_j |a_j|` by this instead of penalizing it. The dual then has
        :math:`R \max_j |G'u|_j / w_j` in its objective instead of the constraint.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (1.24) and (3.101), with the
    unpenalized part that is missing there.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.dictionary import DenseDictionary
    >>> from mercer.losses import Absolute
    >>> G, y = DenseDictionary(np.eye(2)), np.array([1.0, -1.0])
    >>> risk = SparseRisk(Absolute(), G, y, np.full(2, 3.0))
    >>> risk.value(np.array([1.0, -1.0]), np.zeros(0), np.array([1.0, -1.0]))
    2.0
    >>> u = np.array([3.0, -3.0])
    >>> risk.bound(u, risk.G.price(u))
    2.0
    """

    loss: Loss
    G: Dictionary
    y: Array
    c: Array
    B: Any = None
    d: Any = None
    weights: Any = None
    signs: Any = None
    radius: float | None = None
    free: RegularizedRisk = field(init=False, repr=False)
    """The problem without the dictionary."""

    def __post_init__(self) -> None:
        n, m = self.G.shape
        free = RegularizedRisk(self.loss, LowRank(np.zeros((n, 1))), self.y, self.c, self.B, self.d)
        settled = {
            "free": free,
            "B": free.B,
            "d": free.d,
            "weights": np.ones(m) if self.weights is None else np.asarray(self.weights, float),
            "signs": np.zeros(m) if self.signs is None else np.sign(self.signs).astype(float),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        if self.weights.shape != (m,) or not np.all(self.weights > 0):
            raise ValueError(f"weights must be {m} positive numbers, one for each function.")
        if self.radius is not None and not self.radius > 0:
            raise ValueError(f"radius must be positive, got {self.radius}.")

    @property
    def linear(self) -> bool:
        """Whether the loss has no curvature, so that the problem is a linear program."""
        terms = self.free.terms
        return isinstance(terms, DualTerms) and not (np.any(terms.q_pos) or np.any(terms.q_neg))

    def norm(self, a: Array) -> float:
        r"""Return :math:`\sum_j w_j |a_j|`."""
        return float(self.weights @ np.abs(a))

    def value(self, a: Array, b: Array, f: Array) -> float:
        """Return the objective at coefficients whose function has the values ``f``."""
        penalty = self.norm(a) if self.radius is None else 0.0
        return penalty + self.free.risk(f) + float(self.d @ b)

    def excess(self, s: Array, index: NDArray[np.intp] | None = None) -> Array:
        """Return ``G'u`` in units of the weights, (m,): at most one where u is feasible.

        Parameters
        ----------
        s : ndarray of shape (m,)
            The product ``G'u``.
        index : ndarray of int, optional
            For which functions; all by default.
        """
        signs, weights = self.signs, self.weights
        if index is not None:
            signs, weights = signs[index], weights[index]
        return np.asarray(np.where(signs == 0, np.abs(s), signs * s) / weights)

    def take(self, rows: NDArray[np.intp], index: NDArray[np.intp]) -> SparseRisk:
        """Return the problem of some samples, which stand for all, and some functions.

        Parameters
        ----------
        rows : ndarray of int
            Which samples; their weights grow so that they sum to those of all.
        index : ndarray of int
            Which functions, with those that are essential last.
        """
        c = self.c[rows]
        return SparseRisk(
            self.loss.take(rows),
            self.G.take(rows, index),
            self.y[rows],
            c * (np.sum(self.c) / max(float(np.sum(c)), 1e-300)),
            self.B[rows],
            self.d,
            self.weights[index],
            self.signs[index],
            self.radius,
        )

    def bound(self, u: Array, s: Array) -> float:
        """Return the lower bound on the objective that multipliers prove, whoever found them.

        They are shrunk until they are feasible, which keeps ``B'u = 0``; with ``d`` other than zero
        a point outside proves nothing, unless the norm is bounded by a radius.

        Parameters
        ----------
        u : ndarray of shape (n,)
            With ``B'u = d``.
        s : ndarray of shape (m,)
            The product ``G'u``.
        """
        largest = float(np.max(self.excess(s), initial=0.0))
        if self.radius is not None:
            return -self.free.conjugate(u) - self.radius * max(largest, 0.0)
        if largest > 1.0 and np.any(self.d):
            return -np.inf
        return -self.free.conjugate(u / max(1.0, largest))

    def restricted(self, index: NDArray[np.intp], steep: float = 1e3) -> RegularizedRisk:
        r"""Return the problem of some of the functions as a regularized risk without kernel.

        Its unpenalized coefficients are those of the functions followed by b, the coefficients of
        its first n samples the multipliers u. On the side where a coefficient may not be it costs
        :math:`w_j \text{steep}`, which keeps it from there as long as its price stays below that.

        Parameters
        ----------
        index : ndarray of int
            Which functions.
        steep : float, default=1e3
            The slope of the walls.
        """
        if self.radius is not None:
            raise ValueError("a bound on the norm is not a sum of losses; solve it as a program.")
        k, n, q = len(index), self.G.shape[0], self.B.shape[1]
        signs = self.signs[index]
        weights = self.weights[index] * np.where(signs == 0, 2.0, 1.0 + steep)
        # At the target zero a pinball of slopes w steep on one side and w on the other; w and w
        # where both are allowed.
        level = 0.5 + 0.5 * signs * (steep - 1.0) / (steep + 1.0)
        return RegularizedRisk(
            stack([self.loss, Pinball(level)], [n, k]),
            LowRank(np.zeros((n + k, 1))),
            np.append(self.y, np.zeros(k)),
            np.append(self.c, weights),
            np.block([[self.G.columns(index), self.B], [np.eye(k), np.zeros((k, q))]]),
            np.append(np.zeros(k), self.d),
        )
