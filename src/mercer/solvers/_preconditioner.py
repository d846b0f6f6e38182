r"""Approximate inverses of a kernel matrix and a shift, positive definite exactly.

A preconditioner has to be near in the directions in which K is large, and cheap. A thin
factor :math:`K \approx LL'` comes from the pivoted Cholesky factorization of
:mod:`mercer.gram.pivoted`, or here from products with random vectors.
The border, if there is one, is taken out of K before: a kernel need be positive definite only off
it. A whole factor in single precision is another way, where memory allows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mercer._threads import map_blocks
from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.factor import Indefinite, Solve, cholesky
from mercer.gram.pivoted import DeflatedMatrix
from mercer.kernels.points import BLOCK_BYTES, row_slices

__all__ = [
    "approximately",
    "nystrom",
    "rounded",
    "thin_rank",
    "worthwhile",
]

EPS = float(np.finfo(np.float64).eps)
# Numbers of a factor in float32 that are brought to float64 together: they stay in the cache.
BLOCK_NUMBERS = 2**17
# Rows whose products are summed in float32; sums of such blocks are in float64.
BLOCK_ROWS = 2048
MIN_COLUMNS = 256
# The price of a kernel value that is computed, of one that is kept, and of a number of the factor
# that is read twice in an iteration, in multiplications of a matrix product in float32: 1 ns,
# 0.3 ns, 0.6 ns and 1/44 ns on one core with AVX-512.
COMPUTED_VALUE_COST, KEPT_VALUE_COST, FACTOR_NUMBER_COST = 44.0, 13.0, 26.0
# Conjugate gradients take about so many times sqrt(1 + gain / shift) iterations to a tolerance of
# 1e-3, where the gain is the mean squared length of the latest columns of the factor, about the
# largest eigenvalue left: 51, 34 and 25 with 566, 1,200 and 2,400 columns on 20,000 rows of
# protein_casp with a Laplacian kernel and C = 10.
ITERATIONS_PER_ROOT = 7.5
# The inverse by Woodbury's identity is a difference: beyond this ratio of K to the shift it would
# have no digits left, and the shift is raised.
MAX_SHIFT_RATIO = 1e12
# The same for products in float32, where two digits of the smallest numbers are enough.
MAX_FLOAT32_SHIFT_RATIO = 1e5
# Steps of the power iteration that compares K with that ratio.
POWER_STEPS = 6


def thin_rank(n: int, max_bytes: float, itemsize: int = 4) -> int:
    r"""Return the largest number of columns of a thin factor: as many as fit, and no more than n.

    Parameters
    ----------
    n : int
        Rows.
    max_bytes : float
        Memory that the factor may take.
    itemsize : int, default=4
        Bytes of a number.

    Examples
    --------
    >>> [thin_rank(n, 1e9) for n in (100, 10_000, 100_000, 1_000_000)]
    [100, 10000, 2500, 250]
    """
    return int(max(1, min(n, max_bytes / (float(itemsize) * max(n, 1)))))


def worthwhile(n: int, shift: float, kept: float = 0.0) -> Callable[[int, float], bool]:
    r"""Return the rule that says whether more columns of a thin factor pay.

    A product with K takes :math:`n^2/2` kernel values, a factor with k columns
    :math:`n k^2` multiplications and :math:`2 n k` more in each iteration. The number of
    iterations falls like :math:`\sqrt{1 + g / e}` with the gain g of the latest columns, which is
    taken to fall like 1/k; more columns pay while the products they save cost more than they do.

    Parameters
    ----------
    n : int
        Rows.
    shift : float
        The diagonal e that is added to K.
    kept : float, default=0.0
        Share of the kernel values that are in memory; more than 1 counts as 1.

    Returns
    -------
    callable
        Maps the number of columns and the mean squared length of the latest to the answer.

    Examples
    --------
    >>> rule = worthwhile(40_000, 0.1)
    >>> rule(1000, 5.0), rule(4000, 1.0)
    (True, False)
    """
    price = COMPUTED_VALUE_COST + min(kept, 1.0) * (KEPT_VALUE_COST - COMPUTED_VALUE_COST)

    def rule(k: int, gain: float) -> bool:
        ratio = gain / shift
        root = np.sqrt(1.0 + ratio)
        saved = ITERATIONS_PER_ROOT * 0.5 * ratio / (root * k) * 0.5 * n * price
        return k < MIN_COLUMNS or bool(
            saved > 2.0 * k + FACTOR_NUMBER_COST * ITERATIONS_PER_ROOT * root
        )

    return rule


def approximately(e: Array, L: NDArray[np.floating], rough: bool = False) -> Solve:
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
    rough : bool, default=False
        Multiply a factor in single precision in single precision, four times as fast, unless K is
        more than 1e5 times as large as the shift. The inverse has an error of one per cent at most.

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
    root = 1.0 / np.sqrt(np.maximum(e, _trace(X) / MAX_SHIFT_RATIO))
    single = rough and X.dtype == np.float32 and _largest(X, root) <= MAX_FLOAT32_SHIFT_RATIO
    dtype = np.dtype(np.float32 if single else np.float64)
    height = BLOCK_ROWS if single else max(1, BLOCK_NUMBERS // X.shape[1])
    parts = list(row_slices(len(X), 1, height))

    def square(rows: slice) -> Array:
        part = (X[rows] * root[rows, None]).astype(dtype, copy=False)
        return np.asarray(part.T @ part)

    small = np.eye(X.shape[1])
    blocks = list(row_slices(len(X), 1, BLOCK_ROWS))
    # A few at a time: each block is a matrix of the size of the sum.
    for k in range(0, len(blocks), 8):
        for block in map_blocks(square, blocks[k : k + 8]):
            small += block
    factor = cho_factor(small, lower=True, overwrite_a=True, check_finite=False)

    def solve(r: Array) -> Array:
        s = (r.T * root).T
        # In single precision numbers have to be within its range.
        size = float(np.max(np.abs(s), initial=0.0)) or 1.0
        w = (s.T * (root / size)).T.astype(dtype, copy=False)
        sums = map_blocks(lambda rows: X[rows].astype(dtype, copy=False).T @ w[rows], parts)
        inner = cho_solve(factor, np.sum(sums, axis=0, dtype=np.float64), check_finite=False)
        inner = inner.astype(dtype, copy=False)
        back = map_blocks(lambda rows: X[rows].astype(dtype, copy=False) @ inner, parts)
        out = s.T - np.concatenate(back).astype(np.float64, copy=False).T * (root * size)
        return np.asarray((out * root).T)

    return solve


def _largest(X: NDArray[np.floating], root: Array) -> float:
    """Return about the largest eigenvalue of the scaled ``X'X``, by a few power iterations."""
    v = np.ones(X.shape[1], dtype=X.dtype)
    scale = (root**2).astype(X.dtype)
    size = 0.0
    for _ in range(POWER_STEPS):
        v = X.T @ (scale * (X @ (v / np.linalg.norm(v))))
        size = float(np.linalg.norm(v))
        if not size > 0:
            break
    return size


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
    M = DeflatedMatrix(K, U)
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
