"""Pivoted Cholesky factors: thin factors that read few rows of K, and complete factors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._threads import map_blocks
from mercer.gram.base import Gram
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices

__all__ = ["DeflatedMatrix", "PivotedCholesky", "pivoted_cholesky"]

EPS = float(np.finfo(np.float64).eps)
# Rows drawn together, and rows of the factor that are brought to float64 together.
DRAWN_ROWS, BLOCK_ROWS = 128, 2048


class PivotedCholesky(NamedTuple):
    r"""A factor of :math:`K \approx LL'` and the rows of K that it was made of.

    ``L[pivots]`` is lower triangular.
    """

    L: Array
    """Of shape (n, r)."""

    pivots: NDArray[np.intp]
    """In the order in which they were taken."""


class DeflatedMatrix:
    """Read rows and diagonal of ``(1 - UU')K(1 - UU') = K - UV' - VU'``, at one product with K.

    For a factor in single precision, rows and product are in single precision too.
    """

    def __init__(self, K: Gram, U: Array | None, dtype: DTypeLike = np.float64) -> None:
        n, eps = K.shape[0], float(np.finfo(dtype).eps)
        self.K = K
        self.U = np.zeros((n, 0)) if U is None else U
        exact = np.dtype(dtype) == np.float64
        self.dtype = np.dtype(dtype)
        self.read = K if exact else K.single()
        V = self.read.matvec(self.U) if self.U.shape[1] else self.U
        self.V = V - 0.5 * self.U @ (self.U.T @ V)
        self.border = np.hstack([self.U, self.V]).astype(dtype)
        self.mirror = np.hstack([self.V, self.U]).astype(dtype)
        diagonal = K.diag().astype(np.float64)
        border = 2.0 * np.sum(self.U * self.V, axis=1)
        self.diagonal = diagonal - border
        scale = np.max(diagonal, initial=0.0) + np.max(np.abs(border), initial=0.0)
        # Errors of a factorization in double precision add up; those of values in single have no
        # common sign, and those of sums of 4000 products, sqrt(4000) = 64 times as large, neither.
        self.floor = float(scale) * (n * EPS if exact else 64.0 * eps)

    def columns(self, rank: int) -> int:
        """Return how many columns a factor has at most."""
        return max(0, min(rank, len(self.diagonal) - int(self.U.shape[1])))

    def rows(self, index: NDArray[np.intp]) -> Array:
        rows = np.array(self.read.rows(index), dtype=self.dtype)
        if self.U.shape[1]:
            rows -= self.border[index] @ self.mirror.T
        return rows


def pivoted_cholesky(
    K: Gram | Array,
    rank: int | None = None,
    U: Array | None = None,
    *,
    pivoting: Literal["largest", "random"] = "largest",
    first: NDArray[np.intp] | None = None,
    tol: float | None = None,
    random_state: int = 0,
    dtype: DTypeLike = np.float64,
    more: Callable[[int, float], bool] | None = None,
) -> PivotedCholesky:
    r"""Return a thin factor of :math:`K \approx LL'` and its pivots.

    Random pivots are drawn in proportion to the remaining diagonal: rows are proposed many at a
    time and each is kept with the probability with which it would have been drawn after the rows
    before it, so that the factor has the law of one row at a time. Its expected error is nearly
    the error of the best factor, where the largest pivots follow outliers.

    Parameters
    ----------
    K : Gram or (n, n) array
        Positive semidefinite. At most ``rank`` rows of a Gram are read; an array is factorized
        completely by LAPACK, with the largest pivots.
    rank : int, optional
        Largest number of columns, n by default; fewer if nothing but rounding is left.
    U : ndarray of shape (n, q), optional
        Orthonormal columns: then L is a factor of :math:`(1 - UU')K(1 - UU')`, for kernels that are
        positive definite there only.
    pivoting : {"largest", "random"}, default="largest"
        Take the row with the largest remaining diagonal, or draw rows by it.
    first : array of int, optional
        Rows that are taken before all others, unless next to nothing is left of them.
    tol : float, optional
        Share of the largest diagonal entry below which nothing is left; the rounding of the
        factorization by default.
    random_state : int, default=0
        Seed of the draws.
    dtype : dtype, default=float64
        Precision in which random pivots compute and keep the factor.
    more : callable, optional
        Asked after every batch of random pivots whether to go on, given the number of columns and
        the mean squared length of the latest, by which the trace of the remainder has shrunk.

    Returns
    -------
    PivotedCholesky

    References
    ----------
    Y. Chen, E. Epperly, J. Tropp and R. Webber (2025), Randomly pivoted Cholesky, Communications on
    Pure and Applied Mathematics 78, theorem 2.3; E. Epperly, J. Tropp and R. Webber (2024),
    Embrace rejection, arXiv:2410.03969, algorithm 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> pivoted_cholesky(Dense(np.array([[4.0, 2.0], [2.0, 1.0]]))).L
    array([[2.],
           [1.]])
    >>> pivoted_cholesky(Dense(np.diag([1.0, 3.0, 2.0])), 2).pivots
    array([1, 2])
    >>> K = Dense(np.eye(3))
    >>> pivoted_cholesky(K, 2, pivoting="random", first=np.array([2])).pivots[0]
    np.int64(2)
    """
    if isinstance(K, np.ndarray):
        return _complete(K, len(K) * EPS if tol is None else tol)
    M = DeflatedMatrix(K, U, np.float64 if pivoting == "largest" else dtype)
    if tol is not None:
        M.floor = tol * float(np.max(M.diagonal, initial=0.0))
    rank = M.columns(len(M.diagonal) if rank is None else rank)
    if pivoting == "largest":
        return _largest(M, rank, first)
    return _random(M, rank, first, random_state, more)


def _complete(K: Array, tol: float) -> PivotedCholesky:
    largest = float(np.max(np.diagonal(K), initial=0.0))
    R, order, rank, _ = dpstrf(K, tol=tol * max(largest, 1e-300))
    L = np.zeros((len(K), rank))
    L[order - 1] = np.triu(R)[:rank].T
    return PivotedCholesky(L, (order[:rank] - 1).astype(np.intp))


def _largest(M: DeflatedMatrix, rank: int, first: NDArray[np.intp] | None) -> PivotedCholesky:
    rest = M.diagonal
    rows = np.empty((rank, len(rest)))
    pivots: list[int] = []
    given = deque(() if first is None else first.tolist())
    while len(pivots) < len(rows) and np.max(rest) > M.floor:
        i = given.popleft() if given else int(np.argmax(rest))
        if rest[i] <= M.floor:
            continue
        j = len(pivots)
        rows[j] = (M.rows(np.array([i]))[0] - rows[:j, i] @ rows[:j]) / np.sqrt(rest[i])
        rest = rest - rows[j] ** 2
        rest[i] = 0.0
        pivots.append(i)
    return PivotedCholesky(rows[: len(pivots)].T, np.array(pivots, dtype=np.intp))


def _random(
    M: DeflatedMatrix,
    rank: int,
    first: NDArray[np.intp] | None,
    random_state: int,
    more: Callable[[int, float], bool] | None,
) -> PivotedCholesky:
    rng = np.random.default_rng(random_state)
    n, rest, floor = len(M.diagonal), np.maximum(M.diagonal, 0.0), M.floor
    # By columns, because memory that is not used is not taken then.
    rows = np.empty((rank, n), dtype=M.dtype)
    parts, k = list(row_slices(n, 1, BLOCK_ROWS)), 0
    # Few of many rows: they and their copies should be small beside the factor.
    drawn = int(np.clip(2 * BLOCK_BYTES // (8 * max(n, 1)), 16, DRAWN_ROWS))
    given = np.empty(0, dtype=np.intp) if first is None else first
    waiting = [given[part] for part in row_slices(len(given), 1, drawn)]
    pivots = [np.empty(0, dtype=np.intp)]
    while k < rank and (waiting or np.max(rest) > floor):
        chance = None if waiting else rng
        if waiting:
            index = waiting.pop(0)
        else:
            index = rng.choice(n, drawn, p=rest / np.sum(rest))
        R = M.rows(index)
        done = rows[:k]
        some = np.ascontiguousarray(done[:, index].T)

        def reduce(part: slice, R: Array = R, done: Array = done, some: Array = some) -> None:
            R[:, part] -= some @ done[:, part]

        if k:
            map_blocks(reduce, parts)
        H = R[:, index].astype(np.float64)
        H = 0.5 * (H + H.T)
        # What is left of a row by its own entry may be nothing where sums of squares leave more:
        # such rows would be drawn again and again.
        rest[index[np.diag(H) <= floor]] = 0.0
        keep = _kept(H.copy(), floor, chance)[: rank - k]
        if chance is None:
            rest[index] = 0.0
        index, R = index[keep], R[keep]
        pivots.append(index)
        corner = np.linalg.cholesky(H[np.ix_(keep, keep)]).astype(M.dtype)
        new = solve_triangular(corner, R, lower=True, check_finite=False)
        rows[k : k + len(keep)] = new
        lengths = np.einsum("ij,ij->j", new, new, dtype=np.float64)
        rest = np.maximum(rest - lengths, 0)
        rest[index] = 0.0
        k += len(keep)
        if more is not None and keep and not more(k, float(np.sum(lengths)) / len(keep)):
            break
    return PivotedCholesky(rows[:k].T, np.concatenate(pivots))


def _kept(H: Array, floor: float, rng: np.random.Generator | None) -> list[int]:
    """Return which of the proposed rows are kept, all that can be without a generator.

    H is what remains of K among them, and is overwritten.
    """
    proposed = np.diag(H).copy()
    keep = []
    for i in range(len(H)):
        left = H[i, i]
        # A row that is nearly a combination of those before would lose all of its digits.
        if left > max(floor, 1e-6 * proposed[i]) and (
            rng is None or rng.random() * proposed[i] <= left
        ):
            keep.append(i)
            H -= np.outer(H[:, i], H[i] / left)
    return keep
