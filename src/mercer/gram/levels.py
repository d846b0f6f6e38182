"""Several functions with one kernel, seen through combinations of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mercer.gram.base import Gram, Index, positions
from mercer.gram.factor import MAX_BYTES, Solve
from mercer.gram.indexed import Indexed
from mercer.kernels._pairwise import Array

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
    def dtype(self) -> np.dtype[Any]:
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
        groups = [np.flatnonzero(alone & (level == k)) for k in range(U.shape[1])]
        parts: list[tuple[NDArray[np.intp], Array, Solve]] = []
        for k, at in enumerate(groups):
            if len(at):
                # u_i u_j k(x_i, x_j) + e_i, with both sides divided by the u.
                u = U[at, k]
                points = Indexed(self.points.gram, self.points.index[at])
                parts.append((at, u, points.shifted(e[at] / u**2, max_bytes)))

        def apart(r: Array) -> Array:
            x = np.zeros_like(r)
            for at, u, solve in parts:
                x[at] = (solve((r[at].T / u).T).T / u).T
            return x

        if not len(rest):
            return apart
        V = np.zeros((len(e), len(rest)))
        V[alone] = self.block(np.flatnonzero(alone), rest)
        X = apart(V)
        S = self.block(rest, rest) + np.diag(e[rest]) - V.T @ X
        # The shift is what keeps it positive where functionals repeat each other.
        S[np.diag_indices_from(S)] += 4 * len(e) * np.finfo(np.float64).eps * self.diag()[rest]
        factor = cho_factor(0.5 * (S + S.T), check_finite=False)

        def once(r: Array) -> Array:
            x = apart(r)
            x[rest] = cho_solve(factor, r[rest] - V.T @ x, check_finite=False)
            x[alone] -= (X @ x[rest])[alone]
            return x

        def both(r: Array) -> Array:
            r = np.where(live.reshape(-1, *(1,) * (r.ndim - 1)), r, 0.0)
            x = once(r)
            shift = np.where(live, e, 0.0).reshape(-1, *(1,) * (r.ndim - 1))
            left = r - self.matvec(x) - shift * x
            left[~live] = 0.0
            return np.asarray(x + once(left))

        return both

    def single(self) -> Gram:
        below = self.points.gram.single()
        return Levels(below, self.points.index, self.combine)
