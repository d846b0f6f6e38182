"""Several functions with one kernel, seen through combinations of their values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mercer._typing import DType
from mercer.gram.base import Gram, Index, positions
from mercer.gram.factor import MAX_BYTES, Solve
from mercer.gram.indexed import Indexed
from mercer.kernels.points import Array

__all__ = ["Levels"]


class Levels(Gram):
    r"""The Gram matrix of functionals :math:`\sum_k U_{ik} f_k(x_i)` of functions with one kernel.

    .. math:: K_{ij} = (UU')_{ij}\, k(x_i, x_j)

    for functions :math:`f_1, \dots, f_m` whose squared norms add up: values of one of them,
    differences of two at a point.

    Parameters
    ----------
    gram : Gram
        The matrix of the points.
    index : (n,) array of int
        At which of its points a functional looks.
    combine : (n, m) array
        The matrix U.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.gram.levels import Levels
    >>> K = Dense(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> Levels(K, [0, 1], np.array([[1.0, 0.0], [-1.0, 1.0]])).dense()
    array([[ 2., -1.],
           [-1.,  6.]])
    """

    def __init__(self, gram: Gram, index: Index, combine: Array) -> None:
        self.points = Indexed(gram, index)
        self.combine = np.asarray(combine, dtype=np.float64)
        if self.combine.ndim != 2 or len(self.combine) != self.points.shape[0]:
            raise ValueError(
                f"combine needs a row for each of {self.points.shape[0]} functionals, got shape "
                f"{self.combine.shape}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.points.shape

    @property
    def dtype(self) -> DType:
        return self.points.dtype

    def block(self, rows: Index, columns: Index) -> Array:
        n = self.shape[0]
        U = self.combine.astype(self.dtype, copy=False)
        rows, columns = positions(rows, n), positions(columns, n)
        return np.asarray(self.points.block(rows, columns) * (U[rows] @ U[columns].T))

    def diag(self) -> Array:
        return np.asarray(self.points.diag() * np.sum(self.combine**2, axis=1))

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        U = self.combine.reshape(len(v), -1, *(1,) * (v.ndim - 1))
        out = np.zeros_like(v)
        for k in range(U.shape[1]):
            if np.any(seen := U[:, k] * v):
                out += U[:, k] * self.points.matvec(seen)
        return out

    @property
    def resident(self) -> bool:
        return self.points.gram.resident

    @property
    def factor_bytes(self) -> float:
        return float(self.combine.shape[1] * self.points.gram.factor_bytes)

    def shifted(self, e: Array, max_bytes: float = MAX_BYTES) -> Solve:
        r"""Factorize ``K + diag(e)`` function by function, and what combines them by complements.

        Values of one function know nothing of those of another, so that with functionals P of one
        function each and others J

        .. math:: S = K_{JJ} + e_J - K_{JP} (K_{PP} + e_P)^{-1} K_{PJ}

        is all that is left of the size of J: as cheap as m matrices of the sample.

        Parameters
        ----------
        e : (n,) array
            Not negative; infinite where row and column are left out.
        max_bytes : float, default=4e9
            Memory that a factor may take.
        """
        U, live = self.combine, np.isfinite(e)
        alone = np.count_nonzero(U, axis=1) == 1
        level, rest = np.argmax(U != 0, axis=1), np.flatnonzero(~alone & live)
        groups = [np.flatnonzero(alone & live & (level == k)) for k in range(U.shape[1])]
        factors = [
            self._factor(at, e, U[at, k]) if len(at) else None for k, at in enumerate(groups)
        ]
        # A combination has nothing to do with functions that are not in it.
        touched = [np.flatnonzero(U[rest, k]) for k in range(U.shape[1])]
        V = [self.block(at, rest[cols]) for at, cols in zip(groups, touched, strict=True)]
        X = [solve(v) if solve else v for v, solve in zip(V, factors, strict=True)]
        S = self.block(rest, rest).astype(np.float64) + np.diag(e[rest])
        for v, x, cols in zip(V, X, touched, strict=True):
            S[np.ix_(cols, cols)] -= v.T @ x
        # The shift is what keeps it positive where functionals repeat each other.
        S[np.diag_indices_from(S)] += 4 * len(e) * np.finfo(np.float64).eps * self.diag()[rest]
        coupling = cho_factor(0.5 * (S + S.T), check_finite=False) if len(rest) else None
        shift = np.where(live, e, 0.0)

        def once(r: Array) -> Array:
            x, left = np.zeros_like(r), r[rest]
            for at, v, cols, solve in zip(groups, V, touched, factors, strict=True):
                if solve:
                    x[at] = solve(r[at])
                    left[cols] -= v.T @ x[at]
            if coupling:
                x[rest] = cho_solve(coupling, left, check_finite=False)
                for at, y, cols in zip(groups, X, touched, strict=True):
                    x[at] -= y @ x[rest[cols]]
            return x

        def refined(r: Array) -> Array:
            x = once(r)
            left = r - self.matvec(x) - (shift * x.T).T
            left[~live] = 0.0
            return np.asarray(x + once(left))

        return refined

    def _factor(self, at: NDArray[np.intp], e: Array, u: Array) -> Solve:
        """Factorize the functionals of one function, u_i u_j k(x_i, x_j) + e_i."""
        points = Indexed(self.points.gram, self.points.index[at])
        M = np.asarray(points.block(slice(None), slice(None)), dtype=np.float64) * np.outer(u, u)
        size = float(np.max(np.diag(M), initial=0.0))
        M[np.diag_indices_from(M)] += e[at] + len(at) * np.finfo(np.float64).eps * size
        factor = cho_factor(M, overwrite_a=True, check_finite=False)
        return lambda r: cho_solve(factor, r, check_finite=False)

    def single(self) -> Gram:
        below = self.points.gram.single()
        return Levels(below, self.points.index, self.combine)
