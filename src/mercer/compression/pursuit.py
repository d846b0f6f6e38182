"""Orthogonal matching pursuit: the term that helps most, and all weights anew."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from mercer._typing import PointsLike
from mercer.compression.expansions import KernelFunctions, MatrixColumns, Terms, as_functions
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, count, take

__all__ = ["Pursuit", "matching_pursuit", "nearest", "project", "projected"]

EPS = float(np.finfo(np.float64).eps)
SAFE = 16.0
"""Roundings of a kernel value and of the sums it goes through."""


@dataclass
class _Watched:
    """Points that are no candidates, at which the rest of the functions is known all the same."""

    R: Array
    L: Array


class _Part:
    """Functions that may have terms at the same points, and a Cholesky factor of the chosen ones.

    ``L`` has a row for every candidate and a column for every chosen one: it holds the candidates
    in an orthonormal basis of the span of the chosen ones.
    """

    def __init__(self, columns: NDArray[np.intp], rows: NDArray[np.intp], diag: Array, F: Array):
        self.columns, self.rows = columns, rows
        self.where = np.full(len(diag), -1, dtype=np.intp)
        self.where[rows] = np.arange(len(rows))
        self.pivot, self.R = diag[rows].copy(), F[np.ix_(rows, columns)]
        self.largest = float(np.max(diag[rows], initial=0.0))
        self.floor = len(rows) * EPS * self.largest
        self.chosen: list[int] = []
        self.coef: list[Array] = []
        self.L = np.empty((len(rows), 8), order="F")
        self.watched: list[_Watched] = []

    def gains(self) -> Array:
        """Return by how much the squared distance falls for every candidate."""
        left = np.sum(self.R**2, axis=1)
        good = self.pivot > self.floor
        return np.asarray(np.divide(left, self.pivot, out=np.zeros_like(left), where=good))

    def take(self, i: int, column: Array, watched: list[Array]) -> float:
        """Choose the candidate ``i`` (its row), whose kernel values are given; return the gain."""
        t = len(self.chosen)
        if t == self.L.shape[1]:
            self.L = np.concatenate([self.L, np.empty_like(self.L)], axis=1)
        w, root = self.L[i, :t], np.sqrt(self.pivot[i])
        v = (column - self.L[:, :t] @ w) / root
        c = self.R[i] / root
        for points, k in zip(self.watched, watched, strict=True):
            u = (k - points.L @ w) / root
            points.R -= np.outer(u, c)
            points.L = np.column_stack([points.L, u])
        gain = float(c @ c)
        self.R -= np.outer(v, c)
        # A small pivot divides the rounding of kernel values, which the other pivots then hold.
        self.floor = max(self.floor, SAFE * EPS * self.largest**1.5 / root)
        self.pivot -= v**2
        self.pivot[i] = 0.0
        self.L[:, t] = v
        self.chosen.append(i)
        self.coef.append(c)
        return gain

    def factor(self) -> Array:
        """Return the Cholesky factor of the matrix of the chosen candidates."""
        return np.asarray(np.tril(self.L[self.chosen, : len(self.chosen)]))


@dataclass
class Pursuit:
    """The state of a matching pursuit: run it until it is good enough, and read the terms.

    Parameters
    ----------
    functions : Functions
        What is approximated; its points are the candidates.
    """

    functions: KernelFunctions
    order: list[int] = field(default_factory=list, init=False)
    squared: list[float] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        f = self.functions
        self.matrix = MatrixColumns(f.kernel, f.points)
        self.F = self.matrix.times(f.coef)
        self.parts = [_Part(*part, self.matrix.diag, self.F) for part in f.parts()]
        self.squared.append(float(max(np.sum(f.coef * self.F), 0.0)))
        self._watched: list[Data] = []

    @property
    def distance(self) -> float:
        """Distance of the functions from the span of the chosen terms."""
        return float(np.sqrt(max(self.squared[-1], 0.0)))

    @property
    def worst(self) -> float:
        """Largest difference at the points that are watched."""
        sizes = [np.max(np.abs(w.R), initial=0.0) for p in self.parts for w in p.watched]
        return float(max(sizes, default=0.0))

    def watch(self, X: Data) -> None:
        """Follow the differences at some points from now on."""
        if not count(X):
            return
        f = self.functions
        F = f(X)
        self._watched.append(X)
        for part in self.parts:
            chosen = part.rows[part.chosen]
            R: Array = F[:, part.columns]
            L: Array = np.empty((count(X), 0))
            if len(chosen):
                K = np.asarray(f.kernel(X, take(f.points, chosen)), dtype=np.float64)
                L = solve_triangular(part.factor(), K.T, lower=True).T
                R = R - L @ np.array(part.coef)
            part.watched.append(_Watched(R, L))

    def step(self) -> bool:
        """Choose the candidate that lowers the distance most; False if none does."""
        gains = np.zeros(self.functions.n)
        for part in self.parts:
            gains[part.rows] += part.gains()
        j = int(np.argmax(gains))
        # Below this the distance itself, a difference of squares, is rounding.
        if not gains[j] > EPS * self.squared[0]:
            return False
        self.choose(j)
        return True

    def choose(self, j: int) -> None:
        """Choose a candidate."""
        f, column = self.functions, self.matrix(j)
        point = take(f.points, [j])
        seen = [np.asarray(f.kernel(X, point), dtype=np.float64)[:, 0] for X in self._watched]
        gain = 0.0
        for part in self.parts:
            i = int(part.where[j])
            if i >= 0 and part.pivot[i] > part.floor:
                gain += part.take(i, column[part.rows], seen)
        self.order.append(j)
        self.squared.append(self.squared[-1] - gain)

    def terms(self) -> Terms:
        """Return the chosen candidates with the weights that are nearest."""
        f, index = self.functions, np.array(self.order, dtype=np.intp)
        coef = np.zeros((f.n, f.coef.shape[1]))
        for part in self.parts:
            chosen = part.rows[part.chosen]
            if not len(chosen):
                continue
            L = part.factor()
            b = solve_triangular(L, np.array(part.coef), lower=True, trans="T")
            # Once more with what is left, because the basis was built column by column.
            left = self.F[np.ix_(chosen, part.columns)] - self.matrix.square(chosen) @ b
            left = solve_triangular(L, left, lower=True)
            b = b + solve_triangular(L, left, lower=True, trans="T")
            coef[np.ix_(chosen, part.columns)] = b
        return Terms(take(f.points, index), coef[index], f.groups[index], index)


def matching_pursuit(
    kernel: Kernel,
    X: Data,
    coef: ArrayLike,
    n_centres: int | None = None,
    distance: float = 0.0,
) -> tuple[NDArray[np.intp], Array, Array]:
    r"""Approximate an expansion by few of its own terms, chosen one after the other.

    The next term is the one that lowers the distance most,

    .. math:: \arg\max_i \frac{(f(z_i) - f_m(z_i))^2}{k(z_i, z_i) - k_i' K_m^{-1} k_i},

    and all weights are fitted anew, which a Cholesky factor with one more row does.
    :math:`f_m` is the projection of f on the span of the chosen terms.

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    X : (n, p) points
    coef : (n,) or (n, D) array
        Of one expansion, or of several that share their points, and then their centres.
    n_centres : int, optional
        Largest number of terms.
    distance : float, default=0.0
        Stop when the functions are this near, in the norm of the kernel.

    Returns
    -------
    index : (m,) array of int
        The chosen points, in their order.
    coef : (m,) or (m, D) array
        Their weights.
    distances : (m + 1,) array
        Distance after every step, beginning with the norm of f.

    References
    ----------
    A. J. Smola and B. Schoelkopf, *Sparse greedy matrix approximation for machine learning*, ICML
    2000; P. Vincent and Y. Bengio, *Kernel matching pursuit*, Machine Learning 48, 2002;
    S. Chen, C. F. N. Cowan and P. M. Grant, *Orthogonal least squares*, IEEE T. Neural Networks 2,
    1991.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> index, weights, distances = matching_pursuit(Gaussian(), X, [1.0, 1.0, -1.0], 2)
    >>> index, weights.round(2), distances.round(2)
    (array([0, 2]), array([ 1.99, -1.  ]), array([2.22, 1.  , 0.1 ]))
    """
    pursuit = Pursuit(as_functions(kernel, X, coef))
    while len(pursuit.order) < (np.inf if n_centres is None else n_centres):
        if pursuit.distance <= distance or not pursuit.step():
            break
    terms = pursuit.terms()
    weights = terms.coef[:, 0] if np.ndim(coef) == 1 else terms.coef
    return terms.index, weights, np.sqrt(np.maximum(pursuit.squared, 0.0))


def project(kernel: Kernel, X: Data, coef: ArrayLike, Z: Data) -> Array:
    r"""Return the weights of given points that are nearest to an expansion.

    .. math:: \beta = K_{ZZ}^{+} K_{ZX} a

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    X : (n, p) points
    coef : (n,) or (n, D) array
    Z : (m, p) points
        Those that depend on others, like repeated ones, get the weight zero.

    Returns
    -------
    (m,) or (m, D) array

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> project(Gaussian(), [[0.0], [1.0]], [1.0, 1.0], [[0.5], [0.5]]).round(3)
    array([1.765, 0.   ])
    """
    f = as_functions(kernel, X, coef)
    m = count(Z)
    terms = projected(f, Z, np.zeros(m, dtype=np.intp), np.full(m, -1, dtype=np.intp))
    return terms.coef[:, 0] if np.ndim(coef) == 1 else terms.coef


def projected(
    functions: KernelFunctions, Z: PointsLike, groups: NDArray[np.intp], index: NDArray[np.intp]
) -> Terms:
    """Return given points with the weights that are nearest to functions.

    Parameters
    ----------
    functions : Functions
    Z : m points
    groups, index : (m,) arrays of int
        As in :class:`Terms`.
    """
    f = functions
    K, F = np.asarray(f.kernel(Z), dtype=np.float64), f(Z)
    coef = np.zeros((len(groups), f.coef.shape[1]))
    masks, of = np.unique(f.allowed, axis=1, return_inverse=True)
    for g, mask in enumerate(masks.T):
        block = np.ix_(np.flatnonzero(mask[groups]), np.flatnonzero(of.ravel() == g))
        rows = block[0][:, 0]
        coef[block] = nearest(K[np.ix_(rows, rows)], F[block])
    return Terms(Z, coef, groups, index)


def nearest(K: Array, F: Array) -> Array:
    r"""Return :math:`K^{+} F` of a positive semidefinite matrix, zero at dependent points.

    Parameters
    ----------
    K : (m, m) array
    F : (m, D) array
    """
    m = len(K)
    beta = np.zeros(F.shape)
    if not m:
        return beta
    L, chosen = pivoted_cholesky(K)
    L, b = L[chosen], np.zeros((len(chosen), F.shape[1]))
    for _ in range(2):  # the second time with what rounding left
        left = F[chosen] - K[np.ix_(chosen, chosen)] @ b
        left = solve_triangular(L, left, lower=True)
        b = b + solve_triangular(L, left, lower=True, trans="T")
    beta[chosen] = b
    return beta
