"""Kernels of the inner product of two points."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from scipy import special

from mercer._params import check_integer
from mercer.kernels.algebra import power
from mercer.kernels.base import Evaluator, Kernel
from mercer.kernels.points import (
    Array,
    Data,
    as_points,
    chunks,
    dot,
    is_sparse,
    squared_norms,
)
from mercer.kernels.tiles import DotTiles, TiledEvaluator

MOST_FEATURES = 10**6
"""Features beyond which an explicit map is refused: the kernel exists to avoid them."""

# Points up to which all inner products are computed in one call, which cannot be interrupted.
MAX_SQUARE_ROWS = 2048


class DotProduct(Kernel):
    r"""A function of the inner product, :math:`k(x, z) = t(\langle x, z\rangle)`."""

    @abstractmethod
    def _profile(self, t: Array) -> None:
        """Turn inner products into kernel values, in place."""

    @property
    def _powers(self) -> tuple[int, float, float] | None:
        """Degree, gamma and coef0 of a power of the inner product, which has compiled tiles."""
        return None

    def against(self, Z: Data) -> Evaluator:
        def general(X: Data, like: Data) -> Array:
            K = dot(X, like)
            self._profile(K)
            return K

        return TiledEvaluator(as_points(Z), self._tiles, general)

    def _tiles(self, Z: Array) -> DotTiles:
        return DotTiles(Z, self._profile, self._powers)

    def symmetric(self, X: Data) -> Array:
        X = as_points(X)
        if is_sparse(X) or X.shape[0] > MAX_SQUARE_ROWS:
            return self(X)
        # NumPy multiplies a matrix with its own transpose by half, and mirrors it.
        K: Array = X @ X.T
        self._profile(K)
        return K

    def diag(self, X: Data) -> Array:
        t = squared_norms(as_points(X))
        self._profile(t[None, :])
        return t


@dataclass(eq=False)
class Linear(DotProduct):
    r"""The inner product, :math:`k(x, z) = \langle x, z\rangle`.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def root(self, X: Data) -> Data:
        return as_points(X)

    @property
    def _powers(self) -> tuple[int, float, float] | None:
        return 1, 1.0, 0.0

    def _profile(self, t: Array) -> None:
        pass


@dataclass(eq=False)
class Polynomial(DotProduct):
    r"""The polynomial kernel, :math:`k(x, z) = (\gamma \langle x, z\rangle + c_0)^q`.

    Parameters
    ----------
    degree : int, default=3
        The power q, at least 0.
    gamma : float, default=1.0
        Factor of the inner product, at least 0.
    coef0 : float, default=0.0
        The constant :math:`c_0`; homogeneous if it is 0, not positive definite if negative.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.5.

    Examples
    --------
    >>> kernel = Polynomial(degree=2, coef0=1.0)
    >>> kernel([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    >>> kernel.features([[1.0, 2.0]]) @ kernel.features([[3.0, 4.0]]).T
    array([[144.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        check_integer("degree", self.degree, 0)
        _check_affine(self.gamma, self.coef0)

    @property
    def positive_definite(self) -> bool:
        return self.coef0 >= 0.0 or self.degree == 0

    def series(self) -> Array:
        r"""Return the coefficients of the powers of the inner product, from 0 on.

        .. math:: a_i = \binom{q}{i} \gamma^i c_0^{q-i}
        """
        q = int(self.degree)
        return np.array([comb(q, i) * self.gamma**i * self.coef0 ** (q - i) for i in range(q + 1)])

    def features(self, X: Data) -> Array:
        r"""Return all monomials up to the degree, whose inner products are the kernel.

        .. math:: \varphi_n(x) = \sqrt{a_{|n|} \tfrac{|n|!}{n_1! \cdots n_p!}} \; x^n

        Parameters
        ----------
        X : (m, p) points

        Returns
        -------
        (m, q) array
            In the order of :func:`monomials`, degree by degree, without degrees that do not occur.
        """
        return monomial_features(X, self.series())

    @property
    def _powers(self) -> tuple[int, float, float] | None:
        degree = int(self.degree)
        return (degree, float(self.gamma), float(self.coef0)) if degree else None

    def _profile(self, t: Array) -> None:
        _affine(t, self.gamma, self.coef0)
        power(t, int(self.degree))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        t = Linear()(X, Z)
        degree = int(self.degree)
        if degree == 0:
            return {"gamma": np.zeros_like(t), "coef0": np.zeros_like(t)}
        slope = t * float(self.gamma) + float(self.coef0)
        power(slope, degree - 1)
        slope *= degree
        return {"gamma": slope * t, "coef0": slope}


@dataclass(eq=False)
class Sigmoid(DotProduct):
    r"""The sigmoid, :math:`k(x, z) = \tanh(\gamma \langle x, z\rangle + c_0)`.

    It is not positive definite: a machine that uses it need not have a unique minimum, and its
    duality gap need not close.

    Parameters
    ----------
    gamma : float, default=1.0
        Factor of the inner product, at least 0.
    coef0 : float, default=0.0
        The constant :math:`c_0`.

    Examples
    --------
    >>> kernel = Sigmoid(gamma=0.1)
    >>> kernel([[1.0, 2.0]], [[3.0, 4.0]]).round(4), kernel.positive_definite
    (array([[0.8005]]), False)
    """

    gamma: float = 1.0
    coef0: float = 0.0
    positive_definite = False

    def __post_init__(self) -> None:
        _check_affine(self.gamma, self.coef0)

    def _profile(self, t: Array) -> None:
        _affine(t, self.gamma, self.coef0)
        for rows in chunks(t):
            np.tanh(t[rows], out=t[rows])

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        slope = 1.0 - self(X, Z) ** 2
        return {"gamma": slope * Linear()(X, Z), "coef0": slope}


def monomials(p: int, degree: int) -> Array:
    """Return the exponents of all monomials of one degree.

    Parameters
    ----------
    p : int
        Number of variables.
    degree : int

    Returns
    -------
    (q, p) array of int

    Examples
    --------
    >>> monomials(2, 2)
    array([[2, 0],
           [1, 1],
           [0, 2]])
    """
    check_integer("p", p, 1)
    check_integer("degree", degree, 0)
    count = comb(p + degree - 1, degree)
    if count > MOST_FEATURES:
        raise ValueError(
            f"There are {count} monomials of degree {degree} in {p} variables, too many to list: "
            "use the kernel, which needs no list of monomials."
        )
    exponents = np.zeros((count, p), dtype=int)
    for row, chosen in enumerate(combinations_with_replacement(range(p), degree)):
        np.add.at(exponents[row], list(chosen), 1)
    return exponents


def multinomial(exponents: Array) -> Array:
    r"""Return :math:`|n|! / (n_1! \cdots n_p!)` for every row of exponents.

    Examples
    --------
    >>> multinomial(np.array([[2, 0], [1, 1]]))
    array([1., 2.])
    """
    logarithm = special.gammaln(exponents.sum(axis=1) + 1) - special.gammaln(exponents + 1).sum(1)
    return np.asarray(np.rint(np.exp(logarithm)))


def monomial_features(X: Data, series: Array) -> Array:
    """Return the features of a power series of the inner product with these coefficients."""
    X = as_points(X)
    points = X.toarray() if is_sparse(X) else X
    if (series < 0).any():
        raise ValueError(
            "The power series has a negative coefficient, so the kernel has no feature map: "
            f"{series.tolist()}."
        )
    blocks = [np.empty((len(points), 0), dtype=X.dtype)]
    for degree in np.flatnonzero(series):
        exponents = monomials(points.shape[1], int(degree))
        scale = np.sqrt(series[degree] * multinomial(exponents)).astype(X.dtype)
        values = np.ones((len(points), len(exponents)), dtype=X.dtype)
        for j in range(points.shape[1]):
            values *= points[:, [j]] ** exponents[:, j]
        blocks.append(scale * values)
    return np.hstack(blocks)


def _affine(t: Array, gamma: float, coef0: float) -> None:
    for rows in chunks(t):
        t[rows] *= float(gamma)
        t[rows] += float(coef0)


def _check_affine(gamma: float, coef0: float) -> None:
    if not 0.0 <= gamma < np.inf:
        raise ValueError(f"gamma must be a finite number, at least 0, got {gamma}.")
    if not np.isfinite(coef0):
        raise ValueError(f"coef0 must be a finite number, got {coef0}.")
