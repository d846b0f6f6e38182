r"""The linear system of Newton's method, by a factorization or by conjugate gradients.

.. math::

    \begin{pmatrix} K + \operatorname{diag}(e) & U \\ U' & 0 \end{pmatrix} \binom{x}{t}
    = \binom{r}{d}

with orthonormal columns U. Where :math:`e` is infinite :math:`x` is zero: these rows and columns
do not enter the matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from mercer.gram.base import Gram
from mercer.gram.factor import bordered, shifted
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.losses.base import Array

__all__ = ["Bordered", "factorized", "iterated", "pivoted_cholesky"]

EPS = float(np.finfo(np.float64).eps)

Bordered = Callable[[Array, Array], tuple[Array, Array]]


def factorized(K: Gram, e: Array, U: Array, max_bytes: float) -> Bordered:
    """Factorize the system.

    Parameters
    ----------
    K : Gram
        Positive definite, at least on the vectors with ``U'x = 0``.
    e : ndarray of shape (n,)
        Positive, possibly infinite.
    U : ndarray of shape (n, q)
        The border.
    max_bytes : float
        Memory that the factor may take.

    Returns
    -------
    callable
        Maps ``(r, d)`` to ``(x, t)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> e, U = np.array([1.0, 1.0, np.inf]), np.full((3, 1), 3**-0.5)
    >>> x, t = factorized(Dense(np.eye(3)), e, U, 1e9)(np.array([2.0, 4.0, 0.0]), np.zeros(1))
    >>> x.round(12)
    array([-0.5,  0.5,  0. ])
    """
    try:
        return bordered(shifted(K, e, max_bytes), U)
    except np.linalg.LinAlgError:
        return _indefinite(K, e, U)


def _indefinite(K: Gram, e: Array, U: Array) -> Bordered:
    """Solve the whole system at once, for kernels that are positive definite off U only."""
    live = np.flatnonzero(np.isfinite(e))
    k, q = len(live), U.shape[1]
    M = np.zeros((k + q, k + q))
    M[:k, :k] = K.block(live, live)
    M[np.arange(k), np.arange(k)] += e[live]
    M[:k, k:] = U[live]
    M[k:, :k] = U[live].T

    def solve(r: Array, d: Array) -> tuple[Array, Array]:
        z = lstsq(M, np.concatenate([r[live], d]), lapack_driver="gelsy", check_finite=False)[0]
        return _spread(z[:k], live, len(r)), z[k:]

    return solve


def iterated(
    K: Gram,
    e: Array,
    U: Array,
    L: Array,
    enough: Callable[[Array, Array], bool],
) -> Bordered:
    """Solve the system by conjugate gradients over the vectors with ``U'x = d``.

    The preconditioner is the same system with ``LL'`` in the place of K, border included, so that
    every iterate meets the constraint; an iteration costs one product with K.

    Parameters
    ----------
    K, e, U
        As for :func:`factorized`.
    L : ndarray of shape (n, m)
        A factor of an approximation of K.
    enough : callable
        Given the residual and ``x`` where ``e`` is finite, answers whether to stop.

    Returns
    -------
    callable
        Maps ``(r, d)`` to ``(x, t)``.

    References
    ----------
    N. Gould, M. Hribar and J. Nocedal (2001), On the solution of equality constrained quadratic
    programming problems arising in optimization, SIAM J. Scientific Computing 23, algorithm 2.1.
    """
    live = np.flatnonzero(np.isfinite(e))
    n, K, e, U = len(e), Indexed(K, live), e[live], U[live]
    precondition = bordered(shifted(LowRank(L[live]), e), U)
    zero = np.zeros(U.shape[1])

    def solve(r: Array, d: Array) -> tuple[Array, Array]:
        x, t = precondition(r[live], d)
        left = r[live] - K.matvec(x) - e * x - U @ t
        p, size = np.zeros(len(live)), np.inf
        # In exact arithmetic one round is enough for each coefficient.
        for _ in range(2 * len(live)):
            z, dt = precondition(left, zero)
            # What the border explains is taken out of the residual before it can drown the rest.
            left, t = left - U @ dt, t + dt
            previous, size = size, float(left @ z)
            if size <= 0 or enough(left, x):
                break
            p = z + (size / previous) * p
            Mp = K.matvec(p) + e * p
            length = size / float(p @ Mp)
            x, left = x + length * p, left - length * Mp
        return _spread(x, live, n), t

    return solve


def pivoted_cholesky(K: Gram, rank: int) -> Array:
    r"""Return a thin factor of :math:`K \approx LL'`, largest remaining diagonal first.

    Parameters
    ----------
    K : Gram
        A positive semidefinite matrix, of which at most ``rank`` rows are read.
    rank : int
        Largest number of columns; fewer if nothing but rounding is left.

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
    rest = K.diag().astype(np.float64)
    floor = len(rest) * EPS * np.max(rest, initial=0.0)
    rows = np.empty((min(rank, len(rest)), len(rest)))
    for j in range(len(rows)):
        i = int(np.argmax(rest))
        if rest[i] <= floor:
            return rows[:j].T
        rows[j] = (K.rows([i])[0] - rows[:j, i] @ rows[:j]) / np.sqrt(rest[i])
        rest = rest - rows[j] ** 2
        rest[i] = 0.0
    return rows.T


def _spread(x: Array, live: NDArray[np.intp], n: int) -> Array:
    out = np.zeros(n)
    out[live] = x
    return out
