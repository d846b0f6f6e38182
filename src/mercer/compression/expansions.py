"""Functions of a kernel that share their points, whatever machine they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from mercer._typing import PointsLike
from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.points import (
    Array,
    Data,
    as_points,
    count,
    take,
)
from mercer.kernels.products import products
from mercer.regularizers.null_space import Monomials

__all__ = ["KernelFunctions", "MatrixKernel", "Tamed", "Terms", "as_functions", "stack", "tame"]

HELD = 2.0**28
"""Bytes of a kernel matrix that is computed once instead of column by column."""

BLOCK = 2.0**24
"""Bytes of kernel values that are in memory at once otherwise."""

WITNESSES = 200
"""Points whose matrix shows whether a kernel is positive definite where it does not promise it."""


@dataclass(frozen=True, eq=False)
class KernelFunctions:
    r"""Functions :math:`f_d = \sum_i A_{id} k(z_i, \cdot)`.

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    points : n points
    coef : (n, D) array
        The coefficients A.
    groups : (n,) array of int
        What a point belongs to: a class, for a vote of pairs.
    allowed : (number of groups, D) array of bool
        Which functions may have a term at a point of a group.
    """

    kernel: Kernel
    points: Any
    coef: Array
    groups: NDArray[np.intp]
    allowed: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.coef)

    def __call__(self, X: Data) -> Array:
        """Return the values at some points, (m, D)."""
        return evaluate(self.kernel, X, self.points, self.coef)

    def squared_norms(self) -> Array:
        """Return the squared norms of the functions, (D,)."""
        return np.asarray(np.maximum(np.sum(self.coef * self(self.points), axis=0), 0.0))

    def minus(self, other: Terms) -> KernelFunctions:
        """Return the differences from other functions of the same kernel."""
        return KernelFunctions(
            self.kernel,
            stack(self.points, other.points),
            np.concatenate([self.coef, -other.coef]),
            np.concatenate([self.groups, other.groups]),
            self.allowed,
        )

    def parts(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return functions that may have terms at the same points, each with those points."""
        masks, of = np.unique(self.allowed, axis=1, return_inverse=True)
        return [
            (np.flatnonzero(of.ravel() == g), np.flatnonzero(mask[self.groups]))
            for g, mask in enumerate(masks.T)
        ]


@dataclass(frozen=True, eq=False)
class Terms:
    """Few points, and what they weigh in every function."""

    points: Any
    coef: Array
    """(m, D)."""

    groups: NDArray[np.intp]
    index: NDArray[np.intp]
    """Which of the points before each of them was; -1 if none."""

    @property
    def n(self) -> int:
        """Number of terms."""
        return len(self.coef)


def as_functions(kernel: Kernel, X: Data, coef: ArrayLike) -> KernelFunctions:
    """Return one expansion, or several over the same points, without groups.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) points
    coef : (n,) or (n, D) array
    """
    A = np.asarray(coef, dtype=np.float64)
    A = A[:, None] if A.ndim == 1 else A
    X = as_points(X) if kernel.numeric else X
    if len(A) != count(X):
        raise ValueError(f"{count(X)} points need as many coefficients, got {len(A)}.")
    if kernel.order:
        raise ValueError(
            f"{kernel!r} is only conditionally positive definite, so that its functions have no "
            "norm of their own; compress a machine, which knows what it left free."
        )
    return KernelFunctions(
        kernel, X, A, np.zeros(len(A), dtype=np.intp), np.ones((1, A.shape[1]), bool)
    )


def evaluate(kernel: Kernel, X: Data, Z: Data, coef: Array) -> Array:
    """Return ``k(X, Z) coef``."""
    if not count(Z):
        return np.zeros((count(X), coef.shape[1]))
    values: Array = products(kernel, Z, X, coef, [count(Z)])[0]
    return values


def stack(*points: Any) -> Any:
    """Return several sets of points as one."""
    if any(sp.issparse(part) for part in points):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in points]))
    return np.concatenate([np.asarray(part) for part in points])


def _dense(X: PointsLike) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


class MatrixColumns:
    """Columns of the matrix of some points with themselves, held as a whole if it is small."""

    def __init__(self, kernel: Kernel, X: Data) -> None:
        self.kernel, self.X, self.n = kernel, X, count(X)
        self.diag = np.asarray(kernel.diag(X), dtype=np.float64)
        self.K: Array | None = None
        if 8.0 * self.n**2 <= HELD:
            self.K = np.asarray(kernel(X), dtype=np.float64)

    def __call__(self, j: int) -> Array:
        if self.K is not None:
            return self.K[:, j]
        return np.asarray(self.kernel(self.X, take(self.X, [j])), dtype=np.float64)[:, 0]

    def square(self, index: NDArray[np.intp]) -> Array:
        """Return the matrix of some of the points."""
        if self.K is not None:
            return self.K[np.ix_(index, index)]
        return np.asarray(self.kernel(take(self.X, index)), dtype=np.float64)

    def times(self, coef: Array) -> Array:
        """Return the product of the matrix with coefficients."""
        if self.K is not None:
            return np.asarray(self.K @ coef)
        return evaluate(self.kernel, self.X, self.X, coef)


@dataclass(eq=False)
class MatrixKernel(Kernel):
    """A kernel of the numbers of samples whose matrix is known."""

    matrix: Array

    @property
    def numeric(self) -> bool:
        return False

    @property
    def positive_definite(self) -> bool:
        return False

    def against(self, Z: Data) -> Evaluator:
        columns = self.matrix[:, np.asarray(Z)]

        def values(X: Data, out: Array | None = None) -> Array:
            return put(columns[np.asarray(X)], out)

        return values

    def diag(self, X: Data) -> Array:
        return np.asarray(self.matrix[X, X])


@dataclass(eq=False)
class Tamed(Kernel):
    r"""A conditionally positive definite kernel of functions that vanish at some anchors.

    .. math:: \tilde k(x, z) = k(x, z) - h(x)' k(\Xi, z) - k(x, \Xi) h(z) + h(x)' k(\Xi, \Xi) h(z)

    with the polynomials :math:`h_l` that are one at the anchor :math:`\xi_l` and zero at the
    others. It is positive definite, and its norm is the penalty of the kernel.
    """

    kernel: Kernel
    anchors: Any

    def __post_init__(self) -> None:
        X = _dense(self.anchors)
        self._middle = X.mean(axis=0)
        reach = np.ptp(X, axis=0)
        self._reach = np.where(reach > 0.0, reach, 1.0)
        self._space = Monomials(self.kernel.unpenalized(X.shape[1]))
        self._inverse = np.linalg.inv(self._monomials(X))
        self._square = np.asarray(self.kernel(self.anchors), dtype=np.float64)

    def _monomials(self, X: Data) -> Array:
        return self._space((_dense(X) - self._middle) / self._reach)

    def lagrange(self, X: Data) -> Array:
        """Return the polynomials h at the points, (n, q)."""
        return np.asarray(self._monomials(X) @ self._inverse)

    def against(self, Z: Data) -> Evaluator:
        plain, fixed = self.kernel.against(Z), self.kernel.against(self.anchors)
        h, corner = self.lagrange(Z), np.asarray(self.kernel(self.anchors, Z), dtype=np.float64)
        corner = corner - self._square @ h.T

        def values(X: Data, out: Array | None = None) -> Array:
            K = np.asarray(plain(X), dtype=np.float64)
            return put(K - fixed(X) @ h.T - self.lagrange(X) @ corner, out)

        return values

    def diag(self, X: Data) -> Array:
        h = self.lagrange(X)
        cross = np.asarray(self.kernel(X, self.anchors), dtype=np.float64)
        value = self.kernel.diag(X) - 2.0 * np.sum(h * cross, axis=1)
        return np.asarray(value + np.sum((h @ self._square) * h, axis=1))


def tame(kernel: Kernel, X: Data) -> tuple[Kernel, NDArray[np.intp]]:
    """Return a kernel that is positive definite, and the points that it vanishes at, if any.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) points
        Anchors are taken from them.
    """
    if not kernel.order or not kernel.unpenalized(X.shape[1]):
        return kernel, np.empty(0, dtype=np.intp)
    dense = _dense(X)
    reach = np.ptp(dense, axis=0)
    scaled = (dense - dense.mean(axis=0)) / np.where(reach > 0.0, reach, 1.0)
    M = Monomials(kernel.unpenalized(X.shape[1]))(scaled)
    q = M.shape[1]
    # Pivoting takes the points at which the polynomials are most independent.
    _, R, order = linalg.qr(M.T, mode="economic", pivoting=True)
    if len(M) < q or abs(R[q - 1, q - 1]) <= len(M) * np.finfo(float).eps * abs(R[0, 0]):
        raise ValueError(
            f"The {len(M)} support vectors do not determine the {q} polynomials that {kernel!r} "
            "leaves free, so that there is nothing to compress."
        )
    index = np.sort(order[:q]).astype(np.intp)
    return Tamed(kernel, take(X, index)), index


def refuse_indefinite(kernel: Kernel, X: Data) -> None:
    """Refuse a kernel that has no norm."""
    if kernel.positive_definite:
        return
    n = count(X)
    some = np.unique(np.linspace(0, n - 1, min(n, WITNESSES)).astype(np.intp))
    values = np.linalg.eigvalsh(np.asarray(kernel(take(X, some)), dtype=np.float64))
    if values[0] < -np.sqrt(np.finfo(np.float64).eps) * max(values[-1], 0.0):
        raise ValueError(
            f"The kernel matrix of {len(some)} support vectors has the eigenvalue "
            f"{values[0]:.3g}: only functions of a positive definite kernel have a distance. Fit "
            "with such a kernel."
        )
