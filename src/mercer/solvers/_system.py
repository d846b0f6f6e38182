r"""The linear system of a squared loss or a Newton step, factorized or by conjugate gradients.

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

from mercer.gram.base import Gram
from mercer.gram.factor import INDEFINITE, Indefinite, Solve, bordered, shifted
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.gram.projected import Projected
from mercer.losses.base import Array

__all__ = ["Bordered", "approximately", "factorized", "iterated", "pivoted_cholesky"]

EPS = float(np.finfo(np.float64).eps)
HALF = float(np.sqrt(EPS))

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
        return _off(K, e, U, max_bytes)


def _off(K: Gram, e: Array, U: Array, max_bytes: float) -> Bordered:
    """Factorize the system off U, for kernels that are positive definite there only.

    With ``K = M + UW' + WU'`` and ``M = (1 - UU')K(1 - UU')``, ``Kx`` is ``Mx + Wd`` and a
    combination of the columns of U, wherever ``U'x = d``.
    """
    M = Projected(K, U)
    solve = bordered(shifted(M, e, max_bytes), U)

    def both(r: Array, d: Array) -> tuple[Array, Array]:
        x, t = solve(np.where(np.isfinite(e), r - M.W @ d, 0.0), d)
        return x, t - M.W.T @ x

    return both


def iterated(
    K: Gram,
    e: Array,
    U: Array,
    inverse: Solve,
    enough: Callable[[Array, Array, Array], bool],
) -> Bordered:
    """Solve the system by conjugate gradients over the vectors with ``U'x = d``.

    The preconditioner is a system with the same border, so that every iterate meets the
    constraint and K need not be positive definite off it; an iteration costs one product with K.

    Parameters
    ----------
    K, e, U
        As for :func:`factorized`.
    inverse : callable
        An approximate inverse, positive definite, of ``K + diag(e)`` where ``e`` is finite; see
        :func:`approximately`.
    enough : callable
        Given the residual and ``x`` where ``e`` is finite, and ``t``, answers whether to stop.

    Returns
    -------
    callable
        Maps ``(r, d)`` to ``(x, t)``.

    Raises
    ------
    Indefinite
        If the matrix has a negative eigenvalue beyond rounding where ``U'x = 0``.

    References
    ----------
    N. Gould, M. Hribar and J. Nocedal (2001), On the solution of equality constrained quadratic
    programming problems arising in optimization, SIAM J. Scientific Computing 23, algorithm 2.1.
    """
    live = np.flatnonzero(np.isfinite(e))
    n, e, U = len(e), e[live], U[live]
    if len(live) < n:
        K = (K.restrict(live) if K.sparse else None) or Indexed(K, live)
    precondition = bordered(inverse, U)
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
            if size <= 0 or enough(left, x, t):
                break
            p = z + (size / previous) * p
            Mp = K.matvec(p) + e * p
            curvature = float(p @ Mp)
            if curvature <= 0:
                if curvature < -HALF * float(np.linalg.norm(p) * np.linalg.norm(Mp)):
                    raise Indefinite(INDEFINITE)
                break
            length = size / curvature
            x, left = x + length * p, left - length * Mp
        return _spread(x, live, n), t

    return solve


def approximately(e: Array, L: Array) -> Solve:
    """Return the inverse of ``LL' + diag(e)`` over the entries where ``e`` is finite.

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
    if L.shape[1]:
        return shifted(LowRank(L[live]), e)
    return lambda r: np.asarray((r.T / e).T)


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
    rest = K.diag().astype(np.float64)
    U = np.zeros((len(rest), 0)) if U is None else U
    # (1 - UU')K(1 - UU') = K - UV' - VU' takes one product with K.
    V = K.matvec(U) if U.shape[1] else U
    V = V - 0.5 * U @ (U.T @ V)
    scale = np.max(rest, initial=0.0) + 2.0 * np.max(np.abs(np.sum(U * V, axis=1)), initial=0.0)
    rest = rest - 2.0 * np.sum(U * V, axis=1)
    floor = len(rest) * EPS * scale
    rows = np.empty((max(0, min(rank, len(rest) - U.shape[1])), len(rest)))
    for j in range(len(rows)):
        i = int(np.argmax(rest))
        if rest[i] <= floor:
            return rows[:j].T
        row = K.rows([i])[0] - U @ V[i] - V @ U[i]
        rows[j] = (row - rows[:j, i] @ rows[:j]) / np.sqrt(rest[i])
        rest = rest - rows[j] ** 2
        rest[i] = 0.0
    return rows.T


def _spread(x: Array, live: NDArray[np.intp], n: int) -> Array:
    out = np.zeros(n)
    out[live] = x
    return out
