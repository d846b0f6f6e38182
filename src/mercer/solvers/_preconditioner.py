r"""Approximate inverses of a kernel matrix and a shift, positive definite exactly.

A preconditioner has to be near in the directions in which K is large, and cheap. Three ways to
a thin factor :math:`K \approx LL'` read K by rows, largest remaining diagonal first; by rows drawn
in proportion to the remaining diagonal, many at a time; and by products with random vectors.
The border, if there is one, is taken out of K before: a kernel need be positive definite only off
it. A whole factor in single precision is the fourth way, where memory allows.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer._threads import map_blocks
from mercer.gram.base import Gram
from mercer.gram.factor import Indefinite, Solve, cholesky
from mercer.kernels.points import BLOCK_BYTES, row_slices
from mercer.losses.base import Array

__all__ = [
    "approximately",
    "largest_pivots",
    "nystrom",
    "pivoted_cholesky",
    "random_cholesky",
    "random_pivots",
    "rounded",
    "thin_rank",
]

EPS = float(np.finfo(np.float64).eps)
# Rows drawn together, and rows of the factor that are brought to float64 together.
DRAWN, ROWS = 128, 2048
# Columns for which the factor costs about as much as a product with K: n r^2 multiplications for
# the factor against n^2 / 2 kernel values at the price of about ten each.
SLOPE, LEAST = 4.0, 256
# The inverse by Woodbury's identity is a difference: beyond this ratio of K to the shift it would
# have no digits left, and the shift is raised.
RATIO = 1e12


def thin_rank(n: int, max_bytes: float) -> int:
    r"""Return the number of columns of a factor: :math:`4 \sqrt n` and at least 256, if they fit.

    Parameters
    ----------
    n : int
        Rows.
    max_bytes : float
        Memory that the factor may take, in single precision at least.

    Examples
    --------
    >>> [thin_rank(n, 5e8) for n in (100, 10_000, 100_000, 1_000_000)]
    [100, 400, 1250, 125]
    """
    wanted = max(LEAST, SLOPE * np.sqrt(n))
    return int(max(1, min(n, wanted, max_bytes / (4.0 * max(n, 1)))))


def approximately(e: Array, L: NDArray[np.floating]) -> Solve:
    r"""Return the inverse of ``LL' + diag(e)`` over the entries where ``e`` is finite.

    .. math:: (LL' + E)^{-1} = E^{-1/2} (1 - X (1 + X'X)^{-1} X') E^{-1/2},
              \qquad X = E^{-1/2} L

    A factor in single precision stays so, and is multiplied in double: the inverse is that of a
    matrix nearby, exactly.

    Parameters
    ----------
    e : ndarray of shape (n,)
        Positive, possibly infinite.
    L : ndarray of shape (n, m)
        A factor of an approximation of K; without columns the inverse is diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> approximately(np.array([2.0, np.inf, 4.0]), np.empty((3, 0)))(np.ones(2))
    array([0.5 , 0.25])
    """
    live = np.isfinite(e)
    e = e[live]
    if not L.shape[1]:
        return lambda r: np.asarray((r.T / e).T)
    X = L if live.all() else L[live]
    root = 1.0 / np.sqrt(np.maximum(e, _trace(X) / RATIO))
    parts = list(row_slices(len(X), 1, ROWS))

    def scaled(rows: slice) -> Array:
        return np.asarray(X[rows] * root[rows, None], dtype=np.float64)

    def square(rows: slice) -> Array:
        part = scaled(rows)
        return np.asarray(part.T @ part)

    small = np.eye(X.shape[1])
    # A few at a time: each block is a matrix of the size of the sum.
    for k in range(0, len(parts), 8):
        for block in map_blocks(square, parts[k : k + 8]):
            small += block
    factor = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def solve(r: Array) -> Array:
        s = (r.T * root).T
        blocks = map_blocks(lambda rows: scaled(rows).T @ s[rows], parts)
        inner = cho_solve(factor, np.sum(blocks, axis=0), check_finite=False)
        out = np.concatenate(map_blocks(lambda rows: s[rows] - scaled(rows) @ inner, parts))
        return np.asarray((out.T * root).T)

    return solve


def rounded(K: Gram, e: Array) -> Solve:
    """Return the inverse of ``K + diag(e)`` in single precision, over entries with finite ``e``.

    Where a factor in double precision does not fit, or nearly every direction of K is larger than
    the shift, this one leaves a few steps: its error is that of rounding K.

    Parameters
    ----------
    K : Gram
        Positive definite.
    e : ndarray of shape (n,)
        Positive, possibly infinite; raised to the rounding of K.

    Raises
    ------
    Indefinite
        If the rounded matrix has no factor.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> rounded(Dense(np.eye(2)), np.ones(2))(np.array([1.0, 4.0])).round(6)
    array([0.5, 2. ])
    """
    live = np.flatnonzero(np.isfinite(e))
    n, single = len(live), K.single()
    diagonal = K.diag().astype(np.float64)[live]
    M = np.empty((n, n), dtype=np.float32, order="F")
    for part in row_slices(n, 4 * n, BLOCK_BYTES):
        M[:, part] = single.block(live[part], live).T
    floor = float(np.finfo(np.float32).eps) * np.sqrt(n) * np.max(diagonal, initial=0.0)
    np.fill_diagonal(M, diagonal + np.maximum(e[live], floor))
    if not cholesky(M):
        raise Indefinite("the kernel matrix in single precision is not positive definite")

    def solve(r: Array) -> Array:
        # A residual may be smaller than single precision reaches.
        size = max(float(np.max(np.abs(r), initial=0.0)), np.finfo(np.float64).tiny)
        x = cho_solve((M, True), (r / size).astype(np.float32), check_finite=False)
        return np.asarray(size * x.astype(np.float64))

    return solve


def _trace(X: NDArray[np.floating]) -> float:
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64))


class Projected:
    """Rows and diagonal of ``(1 - UU')K(1 - UU') = K - UV' - VU'``, at one product with K.

    For a factor in single precision the product is one in single precision too.
    """

    def __init__(self, K: Gram, U: Array | None, dtype: DTypeLike = np.float64) -> None:
        n, eps = K.shape[0], float(np.finfo(dtype).eps)
        self.K = K
        self.U = np.zeros((n, 0)) if U is None else U
        exact = np.dtype(dtype) == np.float64
        V = (K if exact else K.single()).matvec(self.U) if self.U.shape[1] else self.U
        self.V = V - 0.5 * self.U @ (self.U.T @ V)
        diagonal = K.diag().astype(np.float64)
        border = 2.0 * np.sum(self.U * self.V, axis=1)
        self.diagonal = diagonal - border
        scale = np.max(diagonal, initial=0.0) + np.max(np.abs(border), initial=0.0)
        # Errors of a factorization in double precision add up; those of values in single have no
        # common sign, and those of a product of n of them neither.
        self.floor = float(scale) * (n * EPS if exact else 8.0 * eps)

    def columns(self, rank: int) -> int:
        """Return how many columns a factor has at most."""
        return max(0, min(rank, len(self.diagonal) - int(self.U.shape[1])))

    def rows(self, index: NDArray[np.intp]) -> Array:
        rows = np.array(self.K.rows(index), dtype=np.float64)
        if self.U.shape[1]:
            rows -= self.U[index] @ self.V.T
            rows -= self.V[index] @ self.U.T
        return rows


def pivoted_cholesky(K: Gram, rank: int, U: Array | None = None) -> Array:
    r"""Return a thin factor of :math:`K \approx LL'`, largest remaining diagonal first.

    Parameters
    ----------
    K : Gram
        A matrix of which at most ``rank`` rows are read.
    rank : int
        Largest number of columns; fewer if nothing but rounding is left.
    U : ndarray of shape (n, q), optional
        Orthonormal columns: then L is a factor of :math:`(1 - UU')K(1 - UU')`, for kernels that are
        positive definite there only.

    Returns
    -------
    ndarray of shape (n, rank)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> pivoted_cholesky(Dense(np.array([[4.0, 2.0], [2.0, 1.0]])), 2)
    array([[2.],
           [1.]])
    """
    return largest_pivots(K, rank, U)[0]


def largest_pivots(
    K: Gram, rank: int, U: Array | None = None, first: NDArray[np.intp] | None = None
) -> tuple[Array, NDArray[np.intp]]:
    """Return the factor of :func:`pivoted_cholesky` and the rows that it was made of, in order.

    Parameters
    ----------
    K, rank, U
        As for :func:`pivoted_cholesky`.
    first : array of int, optional
        Rows that are taken before all others, unless nothing is left of them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> largest_pivots(Dense(np.diag([1.0, 3.0, 2.0])), 2)[1]
    array([1, 2])
    """
    M = Projected(K, U)
    rest = M.diagonal
    rows = np.empty((M.columns(rank), len(rest)))
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
    return rows[: len(pivots)].T, np.array(pivots, dtype=np.intp)


def random_cholesky(
    K: Gram,
    rank: int,
    U: Array | None = None,
    random_state: int = 0,
    dtype: DTypeLike = np.float64,
) -> NDArray[np.floating]:
    r"""Return a thin factor of :math:`K \approx LL'`, rows drawn by what remains of the diagonal.

    Rows are proposed many at a time and each is kept with the probability with which it would have
    been drawn after those before it, so that the factor has the law of one row at a time. Its
    expected error is nearly that of the best factor, where the greedy one follows outliers.

    Parameters
    ----------
    K, rank, U
        As for :func:`pivoted_cholesky`.
    random_state : int, default=0
        Seed of the draws.
    dtype : dtype, default=float64
        In which the factor is kept; the remainder is computed in double precision.

    Returns
    -------
    ndarray of shape (n, rank)

    References
    ----------
    Y. Chen, E. Epperly, J. Tropp and R. Webber (2025), Randomly pivoted Cholesky, Communications on
    Pure and Applied Mathematics 78, theorem 2.3; E. Epperly, J. Tropp and R. Webber (2024),
    Embrace rejection, arXiv:2410.03969, algorithm 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> np.abs(random_cholesky(Dense(np.array([[4.0, 2.0], [2.0, 1.0]])), 2)).round(12)
    array([[2.],
           [1.]])
    """
    return random_pivots(K, rank, U, random_state, dtype)[0]


def random_pivots(
    K: Gram,
    rank: int,
    U: Array | None = None,
    random_state: int = 0,
    dtype: DTypeLike = np.float64,
    first: NDArray[np.intp] | None = None,
) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
    """Return the factor of :func:`random_cholesky` and the rows that it was made of, in order.

    Parameters
    ----------
    K, rank, U, random_state, dtype
        As for :func:`random_cholesky`.
    first : array of int, optional
        Rows that are taken before any are drawn, unless next to nothing is left of them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> random_pivots(Dense(np.eye(3)), 2, first=np.array([2]))[1][0]
    np.int64(2)
    """
    rng = np.random.default_rng(random_state)
    M = Projected(K, U, dtype)
    n, rest, floor = len(M.diagonal), np.maximum(M.diagonal, 0.0), M.floor
    L = np.zeros((n, M.columns(rank)), dtype=dtype)
    parts, k = list(row_slices(n, 1, ROWS)), 0
    # Few of many rows: they and their copies should be small beside the factor.
    drawn = int(np.clip(2 * BLOCK_BYTES // (8 * max(n, 1)), 16, DRAWN))
    given = np.empty(0, dtype=np.intp) if first is None else first
    waiting = [given[part] for part in row_slices(len(given), 1, drawn)]
    pivots = [np.empty(0, dtype=np.intp)]
    while k < L.shape[1] and (waiting or np.max(rest) > floor):
        chance = None if waiting else rng
        if waiting:
            index = waiting.pop(0)
        else:
            index = rng.choice(n, drawn, p=rest / np.sum(rest))
        R = M.rows(index)
        done = L[:, :k]

        some = done[index].astype(np.float64)

        def reduce(
            rows: slice, R: Array = R, done: NDArray[np.floating] = done, some: Array = some
        ) -> None:
            R[:, rows] -= some @ done[rows].T.astype(np.float64)

        if k:
            map_blocks(reduce, parts)
        keep = _kept(R[:, index], floor, chance)[: L.shape[1] - k]
        if chance is None:
            rest[index] = 0.0
        index, R = index[keep], R[keep]
        pivots.append(index)
        corner = np.linalg.cholesky(0.5 * (R[:, index] + R[:, index].T))
        new = solve_triangular(corner, R, lower=True, check_finite=False)
        L[:, k : k + len(keep)] = new.T
        rest = np.maximum(rest - np.sum(L[:, k : k + len(keep)].astype(np.float64) ** 2, axis=1), 0)
        rest[index] = 0.0
        k += len(keep)
    return L[:, :k], np.concatenate(pivots)


def _kept(H: Array, floor: float, rng: np.random.Generator | None) -> list[int]:
    """Return which of the proposed rows are kept, all that can be without a generator.

    H is what remains of K among them.
    """
    H = H.copy()
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


def nystrom(K: Gram, rank: int, U: Array | None = None, random_state: int = 0) -> Array:
    r"""Return a thin factor of :math:`K \approx LL'` from products with random vectors.

    .. math:: LL' = K\Omega (\Omega'K\Omega)^{-1} \Omega'K

    for orthonormal random :math:`\Omega`, computed for :math:`K + \nu` and with the shift
    :math:`\nu`, the rounding of :math:`K\Omega`, taken off the eigenvalues again. The products
    cost as much as ``rank`` columns do: for matrices in memory.

    Parameters
    ----------
    K, rank, U, random_state
        As for :func:`random_cholesky`.

    Returns
    -------
    ndarray of shape (n, rank)

    References
    ----------
    J. Tropp, A. Yurtsever, M. Udell and V. Cevher (2017), Fixed-rank approximation of a
    positive-semidefinite matrix from streaming data, NeurIPS 30, algorithm 3; Z. Frangella,
    J. Tropp and M. Udell (2023), Randomized Nystrom preconditioning, SIAM J. Matrix Analysis and
    Applications 44, algorithm 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> L = nystrom(Dense(np.array([[4.0, 2.0], [2.0, 1.0]])), 1)
    >>> (L @ L.T).round(6)
    array([[4., 2.],
           [2., 1.]])
    """
    M = Projected(K, U)
    n = len(M.diagonal)
    W = np.random.default_rng(random_state).normal(size=(n, M.columns(rank)))
    W -= M.U @ (M.U.T @ W)
    if not W.shape[1]:
        return W
    W = np.linalg.qr(W)[0]
    Y = K.matvec(W) - M.U @ (M.V.T @ W) - M.V @ (M.U.T @ W)
    shift = float(np.sqrt(n) * EPS * np.linalg.norm(Y)) + np.finfo(np.float64).tiny
    Y += shift * W
    H = W.T @ Y
    # The directions of W in which nothing is left: K vanishes there, or is not positive definite.
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    keep = values > 0.5 * shift
    left, size, _ = np.linalg.svd(
        Y @ (vectors[:, keep] / np.sqrt(values[keep])), full_matrices=False
    )
    return np.asarray(left * np.sqrt(np.maximum(size**2 - shift, 0.0)))
