r"""Approximate inverses of a kernel matrix and a shift, positive definite exactly.

A preconditioner has to be near in the directions in which K is large, and cheap. A thin
factor :math:`K \approx LL'` comes from the pivoted Cholesky factorization of
:mod:`mercer.gram.pivoted`, or here from products with random vectors.
The border, if there is one, is taken out of K before: a kernel need be positive definite only off
it. A whole factor in single precision is another way, where memory allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mercer._threads import map_blocks
from mercer.gram.base import Gram
from mercer.gram.factor import Indefinite, Solve, cholesky
from mercer.gram.pivoted import Deflated
from mercer.kernels.points import BLOCK_BYTES, row_slices
from mercer.losses.base import Array

__all__ = [
    "approximately",
    "nystrom",
    "rounded",
    "thin_rank",
]

EPS = float(np.finfo(np.float64).eps)
# Rows of the factor that are brought to float64 together.
ROWS = 2048
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


def nystrom(K: Gram, rank: int, U: Array | None = None, random_state: int = 0) -> Array:
    r"""Return a thin factor of :math:`K \approx LL'` from products with random vectors.

    .. math:: LL' = K\Omega (\Omega'K\Omega)^{-1} \Omega'K

    for orthonormal random :math:`\Omega`, computed for :math:`K + \nu` and with the shift
    :math:`\nu`, the rounding of :math:`K\Omega`, taken off the eigenvalues again. The products
    cost as much as ``rank`` columns do: for matrices in memory.

    Parameters
    ----------
    K, rank, U, random_state
        As for :func:`mercer.gram.pivoted.pivoted_cholesky`.

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
    M = Deflated(K, U)
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
