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

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.factor import INDEFINITE, Indefinite, Solve, bordered, shifted
from mercer.gram.indexed import Indexed
from mercer.gram.projected import Projected

__all__ = ["Bordered", "factorized", "iterated"]

EPS = float(np.finfo(np.float64).eps)
HALF = float(np.sqrt(EPS))
# Squared sine of the angle between directions below which they are one.
ALIKE_TOL = 1e-10

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
        Maps ``(r, d)`` to ``(x, t)``. Several right-hand sides, (n, k) and (q, k), are solved over
        one space: each product with K, of k columns, serves all of them.

    Raises
    ------
    Indefinite
        If the matrix has a negative eigenvalue beyond rounding where ``U'x = 0``.

    References
    ----------
    N. Gould, M. Hribar and J. Nocedal (2001), On the solution of equality constrained quadratic
    programming problems arising in optimization, SIAM J. Scientific Computing 23, algorithm 2.1.
    H. Ji and Y. Li (2017), A breakdown-free block conjugate gradient method, BIT Numerical
    Mathematics 57, algorithm 2, for several right-hand sides.
    """
    live = np.flatnonzero(np.isfinite(e))
    n, e, U = len(e), e[live], U[live]
    if len(live) < n:
        K = (K.restrict(live) if K.sparse else None) or Indexed(K, live)
    precondition = bordered(inverse, U)
    off = np.linalg.pinv(U)

    def solve(r: Array, d: Array) -> tuple[Array, Array]:
        one = r.ndim == 1
        left, d = (r[live, None], d[:, None]) if one else (r[live], d)
        # Not from the answer of the preconditioner: where that lacks directions of K that matter,
        # its residuals are larger than those of zero by the weights. A first step of the right
        # length towards it costs the same product.
        x, t = np.zeros_like(left), np.zeros_like(d)
        if np.any(d):
            x, t = precondition(x, d)
            left = left - _product(K, e, x) - U @ t
        # What the border explains alone must not reach the first directions as rounding errors.
        dt = precondition(left, np.zeros_like(t))[1]
        left, t = left - U @ dt, t + dt
        P = MP = np.zeros((len(live), 0))
        PMP = np.zeros((0, 0))
        # In exact arithmetic one round is enough for each coefficient.
        for step in range(2 * len(live) + 1):
            Z, dt = precondition(left, np.zeros_like(t))
            # What the border explains is taken out of the residual before it can drown the rest.
            left, t = left - U @ dt, t + dt
            size = float(np.max(np.sum(left * Z, axis=0)))
            state = (left[:, 0], x[:, 0], t[:, 0]) if one else (left, x, t)
            if size <= 0 or (step and enough(*state)):
                break
            P = _directions(Z - P @ np.linalg.solve(PMP, MP.T @ Z))
            P -= U @ (off @ P)
            MP = _product(K, e, P)
            PMP = 0.5 * (P.T @ MP + MP.T @ P)
            curvature = float(np.linalg.eigvalsh(PMP)[0])
            if curvature <= 0:
                if curvature < -HALF * float(np.linalg.norm(MP)):
                    raise Indefinite(INDEFINITE)
                break
            length = np.linalg.solve(PMP, P.T @ left)
            x, left = x + P @ length, left - MP @ length
        return _spread(x[:, 0] if one else x, live, n), t[:, 0] if one else t

    return solve


def _product(K: Gram, e: Array, x: Array) -> Array:
    return np.asarray(K.matvec(x) + e[:, None] * x)


def _directions(Z: Array) -> Array:
    """Return orthonormal columns that span the columns of Z, up to nearly dependent columns.

    Residuals of several right-hand sides come to depend on each other, and those of classes against
    their rest do from the start: what is dropped comes back with the next residuals.
    """
    Z = Z / np.sqrt(np.sum(Z**2, axis=0))
    if Z.shape[1] == 1:
        return Z
    values, vectors = np.linalg.eigh(Z.T @ Z)
    keep = values > ALIKE_TOL * values[-1]
    return np.asarray(Z @ (vectors[:, keep] / np.sqrt(values[keep])))


def _spread(x: Array, live: NDArray[np.intp], n: int) -> Array:
    out = np.zeros((n, *x.shape[1:]))
    out[live] = x
    return out
