r"""Rows chosen one after the other, each the best of a few: sparse greedy approximation.

What is left of the kernel matrix after k rows is :math:`R = K - LL'`. Another row j takes off its
trace :math:`|R_j|^2 / R_{jj}`. The best of 59 rows drawn at random is among the best five percent
of all with a chance of 95 percent, which is good enough and does not ask for all of K.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.base import Gram

__all__ = ["N_CANDIDATES", "Fit", "Trace", "best_of_few"]

N_CANDIDATES = 59
"""The least number of draws whose best is in the best twentieth with 95 percent: ln .05/ln .95."""


class Criterion(Protocol):
    """A greedy criterion: the gain of every row, updated when a row is taken."""

    def gains(self, Q: Array) -> Array:
        """Return the worth of columns (n, k) that would join the factor."""

    def take(self, q: Array) -> None:
        """Note that a column has joined the factor."""


class Trace:
    """The trace criterion: the squared length that a column takes off the remainder.

    Examples
    --------
    >>> Trace().gains(np.array([[1.0, 2.0], [1.0, 0.0]]))
    array([2., 4.])
    """

    def gains(self, Q: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->j", Q, Q))

    def take(self, q: Array) -> None:
        pass


class Fit:
    r"""The fit criterion: the decrease of the regularized squared error by a column.

    .. math:: J(L) = \min_w \tfrac12 |w|^2 + \tfrac12 \sum_i c_i (y_i - L_i w)^2
              = \tfrac12 y' A^{-1} y, \qquad A = \operatorname{diag}(1/c) + LL'

    A column q lowers it by exactly :math:`\tfrac12 (q'A^{-1}y)^2 / (1 + q'A^{-1}q)`. In coordinates
    in which c = 1, the inverse is kept as :math:`1 - TT'`, one column of T for each of L.

    Parameters
    ----------
    y : (n, k) array
        Targets, whose decreases are added.
    c : (n,) array
        Weights of the rows.
    m : int
        Largest number of columns.

    References
    ----------
    P. Vincent and Y. Bengio (2002), *Kernel matching pursuit*, Machine Learning 48, sec. 2.3
    (pre-fitting); A. J. Smola and P. Bartlett (2001), *Sparse greedy Gaussian process regression*,
    NIPS 13, sec. 3.

    Examples
    --------
    >>> Fit(np.array([[3.0], [0.0]]), np.ones(2), 2).gains(np.eye(2))
    array([2.25, 0.  ])
    """

    def __init__(self, y: Array, c: Array, m: int) -> None:
        self.root = np.sqrt(c)[:, None]
        self.r = y * self.root  # A^-1 y
        self.T = np.empty((len(y), m))
        self.k = 0

    def gains(self, Q: Array) -> Array:
        Q = Q * self.root
        inner = self.T[:, : self.k].T @ Q
        curvature = np.einsum("ij,ij->j", Q, Q) - np.einsum("ij,ij->j", inner, inner)
        slopes = np.sum((Q.T @ self.r) ** 2, axis=1)
        return np.asarray(0.5 * slopes / (1.0 + np.maximum(curvature, 0.0)))

    def take(self, q: Array) -> None:
        q = q * self.root[:, 0]
        T = self.T[:, : self.k]
        u = q - T @ (T.T @ q)
        scale = 1.0 + max(float(q @ u), 0.0)
        self.r -= np.outer(u, q @ self.r) / scale
        self.T[:, self.k] = u / np.sqrt(scale)
        self.k += 1


def best_of_few(
    K: Gram,
    m: int,
    criterion: Criterion,
    rng: np.random.Generator,
    *,
    candidates: int = N_CANDIDATES,
    first: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    r"""Return rows chosen greedily, each the best of some that are drawn at random.

    Costs `candidates` times what a factor with m columns does, :math:`n m^2` multiplications.

    Parameters
    ----------
    K : Gram
        Positive semidefinite.
    m : int
        Number of rows; fewer are returned if nothing is left of K.
    criterion : Criterion
    rng : numpy.random.Generator
    candidates : int, default=59
        Rows that are drawn for each that is taken; with as many as K has, the best of all.
    first : array of int, optional
        Rows that are taken before all others.

    Returns
    -------
    (k,) array of int
        Those of `first`, then the others in the order in which they were taken.

    References
    ----------
    A. J. Smola and B. Schoelkopf (2000), *Sparse greedy matrix approximation for machine learning*,
    ICML 17, sec. 3 and theorem 4.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> K = Dense(np.diag([1.0, 3.0, 2.0]))
    >>> best_of_few(K, 2, Trace(), np.random.default_rng(0))
    array([1, 2])
    """
    rest = np.array(K.diag(), dtype=np.float64)
    n = len(rest)
    floor = n * float(np.finfo(np.float64).eps) * float(np.max(rest, initial=0.0))
    given = [] if first is None else [int(i) for i in first]
    chosen: list[int] = []
    L = np.empty((n, min(max(m, len(given)), n)))
    k = 0
    while len(chosen) < min(max(m, len(given)), n):
        if len(chosen) < len(given):
            drawn = np.array([given[len(chosen)]])
        else:
            live = np.flatnonzero(rest > floor)
            if not len(live):
                break
            drawn = rng.choice(live, min(candidates, len(live)), replace=False)
        R = np.array(K.rows(drawn), dtype=np.float64).T - L[:, :k] @ L[drawn, :k].T
        corner = np.maximum(R[drawn, np.arange(len(drawn))], floor)
        Q = R / np.sqrt(corner)
        best = int(np.argmax(criterion.gains(Q)))
        i, q = int(drawn[best]), Q[:, best]
        chosen.append(i)
        if rest[i] > floor:
            L[:, k] = q
            k += 1
            criterion.take(q)
            rest = np.maximum(rest - q**2, 0.0)
        rest[i] = 0.0
    return np.array(chosen, dtype=np.intp)
