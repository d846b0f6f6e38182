"""Mean and second moment of features over rows in blocks, and what features leave of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from mercer._typing import PointsLike
from mercer.data.base import Block
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, row_slices
from mercer.reduced.base import FeatureMap
from mercer.regularizers.null_space import Monomials, NullSpace

__all__ = ["Features", "Moments", "Variation", "gather", "regressed", "vary"]

PIECE = 2**24
"""Bytes of features that are worked on at once."""

DEPENDENT = 1e-12
"""Part of the variance of a column of unit variance below which others determine it."""


@dataclass(frozen=True)
class Moments:
    r"""Weighted mean and centred second moment of vectors; two of them add up by Chan's formulas.

    .. math:: M = M_1 + M_2 + \frac{w_1 w_2}{w_1 + w_2} \delta\delta', \qquad
              \delta = \bar f_2 - \bar f_1

    Parameters
    ----------
    n : int
        Number of rows.
    weight : float
        Sum of the weights.
    mean : (d,) array
        Weighted mean.
    second : (d, d) array
        Weighted sum of the products of deviations from the mean, M.
    left : float
        Weighted sum of what features leave of k(x, x).
    """

    n: int
    weight: float
    mean: Array
    second: Array
    left: float

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0.0 else 0.0
        delta = other.mean - self.mean
        second = self.second + other.second
        second += np.outer(delta * (self.weight * share), delta)
        mean = self.mean + share * delta
        return Moments(self.n + other.n, weight, mean, second, self.left + other.left)


@dataclass(frozen=True)
class Variation:
    """Weight, mean and sum of squared deviations of all entries, merged as :class:`Moments`."""

    weight: float
    mean: float
    squares: float

    def __add__(self, other: Variation) -> Variation:
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0.0 else 0.0
        delta = other.mean - self.mean
        squares = self.squares + other.squares + delta**2 * self.weight * share
        return Variation(weight, self.mean + share * delta, squares)

    @property
    def variance(self) -> float:
        """Weighted variance of all entries."""
        return self.squares / self.weight if self.weight > 0.0 else 0.0


class Features:
    r"""Unpenalized functions and features of points, and what the features leave of the kernel.

    A kernel that is only conditionally positive definite is replaced by a positive definite kernel
    that differs from it by terms with polynomials, which are projected out: with the least-squares
    fit :math:`\ell(x)` of the polynomials on the centres,
    :math:`\hat k(x, x) = k(x, x) - 2 \ell'k(Z, x) + \ell'K_{ZZ}\ell`.

    Parameters
    ----------
    phi : FeatureMap
        The features.
    kernel : Kernel
        The kernel that they stand for.
    null_space : NullSpace
        The unpenalized functions.
    p : int
        Number of inputs.
    """

    def __init__(self, phi: FeatureMap, kernel: Kernel, null_space: NullSpace, p: int) -> None:
        self.phi, self.kernel, self.null_space = phi, kernel, null_space
        # The map leaves its factor behind when it travels and is large; features need it.
        self.T = phi.lift(np.eye(phi.r)) if phi.Z is not None else None
        self.monomials = Monomials(kernel.unpenalized(p)) if kernel.order else None
        if self.monomials is not None:
            Z = phi.Z
            self.fit = np.asarray(la.pinv(self.monomials(Z)))
            self.inner = self.fit @ np.asarray(kernel(Z), dtype=np.float64) @ self.fit.T
            self.shift = self.fit @ phi.features(phi.raw(Z))

    @property
    def bounded(self) -> bool:
        """Whether the features are a projection of the kernel's own, so that they leave a rest."""
        return self.T is not None

    @property
    def size(self) -> int:
        """Memory of a row, in bytes."""
        return 8 * 3 * (self.phi.m + 16)

    def __call__(self, X: PointsLike) -> tuple[Array, Array]:
        """Return functions and features (n, q + r), and what these leave of k(x, x), (n,).

        Parameters
        ----------
        X : (n, p) points
        """
        R = np.asarray(self.phi.raw(X), dtype=np.float64)
        F = R if self.T is None else R @ self.T
        B = self.null_space(X)
        left = np.zeros(len(F))
        if self.bounded:
            k = np.asarray(self.kernel.diag(X), dtype=np.float64)
            G = F
            if self.monomials is not None:
                P = self.monomials(X)
                k = k - 2.0 * np.sum(P * (R @ self.fit.T), axis=1) + np.sum((P @ self.inner) * P, 1)
                G = F - P @ self.shift
            # Of a positive definite kernel nothing below zero is left, but for rounding.
            left = np.maximum(k - np.sum(G**2, axis=1), 0.0)
        return np.hstack([B, F]), left


def gather(block: Block, shared: Features, state: None) -> Moments:
    """Return the moments of a block; the work of a pass."""
    total: Moments | None = None
    for rows in row_slices(block.n, shared.size, PIECE):
        F, left = shared(block.X[rows])
        s = _weights(block, rows)
        weight = float(s.sum())
        mean = s @ F / weight if weight > 0.0 else np.zeros(F.shape[1])
        D = np.sqrt(s)[:, None] * (F - mean)
        part = Moments(len(F), weight, mean, D.T @ D, float(s @ left))
        total = part if total is None else total + part
    assert total is not None
    return total


def vary(block: Block, shared: None, state: None) -> Variation:
    """Return the variation of a block of weighted rows; the work of a pass."""
    s = _weights(block, slice(None))
    X = block.X.toarray() if hasattr(block.X, "toarray") else np.asarray(block.X, dtype=float)
    weight = float(s.sum()) * X.shape[1]
    mean = float(np.sum(s @ X)) / weight if weight > 0.0 else 0.0
    return Variation(weight, mean, float(np.sum(s @ (X - mean) ** 2)))


def _weights(block: Block, rows: slice) -> Array:
    if block.s is None:
        return np.ones(block.n)[rows]
    return np.asarray(block.s, dtype=np.float64)[rows]


def regressed(moments: Moments, q: int, one: int | None) -> tuple[Array, Array]:
    r"""Return the second moment of features off the functions, and the regression on these.

    .. math:: C = M_{ff} - M_{fz} M_{zz}^+ M_{zf}, \qquad \Gamma = M_{fz} M_{zz}^+

    Parameters
    ----------
    moments : Moments
        Of q functions followed by r features.
    q : int
        Number of functions.
    one : int, optional
        Which of the functions is constant. Without one, moments are around zero.

    Returns
    -------
    C : (r, r) array
    regression : (r, q) array
        Coefficients with which the functions are subtracted from the features.
    """
    M, mean = moments.second, moments.mean
    others = [j for j in range(q) if j != one]
    if one is None:
        M = M + moments.weight * np.outer(mean, mean)
    C, cross = M[q:, q:], M[q:, others]
    regression = np.zeros((len(C), q))
    if others:
        regression[:, others] = cross @ _pinv(M[np.ix_(others, others)])
        C = C - regression[:, others] @ cross.T
    if one is not None:
        regression[:, one] = mean[q:] - regression[:, others] @ mean[others]
    return 0.5 * (C + C.T), regression


def _pinv(M: Array) -> Array:
    """Return the pseudo-inverse of a second moment, in units of its diagonal."""
    units = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    return np.asarray(la.pinvh(M / units / units[:, None], rtol=DEPENDENT) / units / units[:, None])
