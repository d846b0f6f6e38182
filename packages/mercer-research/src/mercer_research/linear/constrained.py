"""Least squares under linear inequalities, by an active set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from mercer._typing import Array

__all__ = ["ConstrainedFit", "constrained_least_squares"]


# With targets of length one, an answer this long costs 1e10 times what the null model does: there
# is none that matters.
EMPTY = 1e-10

# Directions of a design smaller than this part of the largest are told apart from zero by rounding
# only; they get this much of a ridge instead of an arbitrary coefficient.
FAINT = 1e-9


@dataclass(frozen=True)
class ConstrainedFit:
    """The answer of :func:`constrained_least_squares`; infinite value where nothing is feasible.

    Parameters
    ----------
    x : ndarray of shape (p,)
        The minimizer.
    value : float
        Half of the squared length of what it leaves.
    bound : float
        A lower bound on that, by the multipliers.
    multipliers : ndarray of shape (m,)
        Of the inequalities.
    """

    x: Array
    value: float
    bound: float
    multipliers: Array


def constrained_least_squares(E: Array, f: Array, G: Array, h: Array) -> ConstrainedFit:
    r"""Minimize half of :math:`\|Ex - f\|^2` subject to :math:`Gx \ge h`.

    With the singular values of E the problem is to find the point of a polyhedron next to the
    origin, :math:`\min \|z\|^2,\; Az \ge b`, whose dual is a non-negative least-squares problem
    (Lawson and Hanson, *Solving Least Squares Problems*, 1974, chapter 23): finitely many steps,
    every one a least-squares fit.

    Parameters
    ----------
    E, f : ndarray of shape (n, p) and (n,)
    G, h : ndarray of shape (m, p) and (m,)

    Examples
    --------
    >>> import numpy as np
    >>> fit = constrained_least_squares(np.eye(2), np.array([3.0, 1.0]), -np.eye(2), -np.ones(2))
    >>> fit.x, round(fit.value, 12)
    (array([1., 1.]), 2.0)
    """
    size = float(np.linalg.norm(f)) or 1.0
    if E.shape[0] < E.shape[1]:
        E, f = np.vstack([E, np.zeros_like(E, shape=(E.shape[1], E.shape[1]))]), _pad(f, E.shape[1])
    U, s, Vt = np.linalg.svd(E, full_matrices=False)
    s = np.hypot(s, FAINT * (s[0] if len(s) and s[0] > 0 else 1.0))
    free = U.T @ f / size
    back = Vt.T / s
    A = G @ back
    b = h / size - A @ free
    # Rows of length one, so that no inequality weighs more than another in the active set.
    length = np.linalg.norm(A, axis=1)
    length[length == 0] = 1.0
    A, b = A / length[:, None], b / length
    u = np.zeros(0)
    if len(b):  # the compiled loop does not survive a matrix without columns
        target = np.append(np.zeros(A.shape[1]), 1.0)
        u, _ = nnls(np.vstack([A.T, b]), target, maxiter=50 * len(b))
    rho = 1.0 - float(b @ u)
    if rho < EMPTY:
        return ConstrainedFit(np.full(E.shape[1], np.nan), np.inf, np.inf, u)
    m = u / rho
    z = A.T @ m
    left = 0.5 * float(np.sum((f / size - U @ free) ** 2))
    bound = left + float(b @ m) - 0.5 * float(z @ z)
    value = left + 0.5 * float(z @ z)
    return ConstrainedFit(
        size * back @ (z + free), size**2 * value, size**2 * bound, size * m / length
    )


def _pad(f: Array, m: int) -> Array:
    return np.append(f, np.zeros(m))
