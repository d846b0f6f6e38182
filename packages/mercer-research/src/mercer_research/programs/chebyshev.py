"""The narrowest tube that a space of functions leaves room for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._deadline import eigh, interruptible
from mercer._linear_program import linear_program
from mercer._typing import Array
from mercer.programs.linear_master import methods_for

__all__ = ["SmallestTube", "smallest_tube"]

EPS = float(np.finfo(np.float64).eps)

# Errors of a function, relative to the targets, that are rounding of the program.
REACHED = 1e-9


@dataclass(frozen=True, eq=False)
class SmallestTube:
    """The answer of :func:`smallest_tube`."""

    epsilon: float
    """Half-width of a tube around the targets that holds a function that was found."""

    certificate: Array
    """Multipliers that prove the bound, (n,).

    :math:`K\\beta = 0`, :math:`B'\\beta = 0` up to rounding and :math:`\\|\\beta\\|_1 = 1`:
    functions are orthogonal to it, and to be within :math:`\\epsilon' < y'\\beta` would be
    :math:`0 = \\beta'f \\ge y'\\beta - \\epsilon' > 0`. Zero if nothing is proven.
    """

    lower: float
    """The half-width that no function is nearer than: :math:`y'\\beta` less rounding.

    That is what the residuals of the certificate add up to with coefficients as large as those of
    the function that was found. Zero if the residuals are more than rounding.
    """


def smallest_tube(K: Array, y: Array, B: Array | None = None, enough: float = 0.0) -> SmallestTube:
    r"""Find a function near to the targets in its largest error, and a bound of the nearest.

    .. math:: \min_{a, b} \max_i |y_i - (Ka + Bb)_i|
              = \max_\beta y'\beta \quad \text{subject to}\;
              K\beta = 0,\; B'\beta = 0,\; \|\beta\|_1 \le 1

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    y : ndarray of shape (n,)
        Targets.
    B : ndarray of shape (n, q), optional
        Unpenalized columns.
    enough : float, default=0.0
        Half-width that is narrow enough: no linear program is solved where a function that is
        easier to find is as near.

    Returns
    -------
    SmallestTube

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 1.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.programs.chebyshev import smallest_tube
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> found = smallest_tube(np.outer(x, x), np.array([0.0, 1.0, 0.0]), np.ones((3, 1)))
    >>> round(found.lower, 9), round(found.epsilon, 9), found.certificate.round(9)
    (0.5, 0.5, array([-0.25,  0.5 , -0.25]))
    """
    n = len(y)
    K = np.asarray(K, dtype=np.float64)
    B = np.zeros((n, 0)) if B is None else B / np.linalg.norm(B, axis=0)
    size = float(np.max(np.abs(y), initial=0.0))
    wanted = max(enough, REACHED * size)
    nearest = (size, np.zeros(n), np.zeros(B.shape[1]))
    try:
        found = _error(K, B, y, interruptible(np.linalg.solve, K, y), nearest[2])
        nearest = found if found[0] < size else nearest
    except np.linalg.LinAlgError:
        pass
    if nearest[0] > wanted:
        values, vectors = eigh(K)
        # What is smaller than the rounding of the matrix may be zero.
        kept = values > n * EPS * max(float(values[-1]), 0.0)
        U, values = vectors[:, kept], values[kept]
        # What U does not span of B, orthogonal to it to the last digit.
        rest = B - U @ (U.T @ B)
        left, sizes, right = np.linalg.svd(rest - U @ (U.T @ rest), full_matrices=False)
        sure = sizes > n * EPS
        W, back = left[:, sure], right[sure].T / sizes[sure]
        Q = np.hstack([U, W])

        def function(values_on_Q: Array) -> tuple[float, Array, Array]:
            """Return the function with coefficients on Q, as those of K and B."""
            b = back @ values_on_Q[len(values) :]
            c = values_on_Q[: len(values)] - U.T @ (B @ b)
            return _error(K, B, y, U @ (c / values), b)

        nearest = min(nearest, function(Q.T @ y), key=lambda found: found[0])
    if nearest[0] <= wanted or Q.shape[1] == n:
        epsilon = 0.0 if nearest[0] <= REACHED * size else nearest[0]
        return SmallestTube(epsilon, np.zeros(n), 0.0)
    answer = linear_program(
        np.append(-y, y) / size,
        methods=methods_for(Q.shape[1]),
        A_eq=np.hstack([Q.T, -Q.T]),
        b_eq=np.zeros(Q.shape[1]),
        A_ub=np.ones((1, 2 * n)),
        b_ub=np.ones(1),
        bounds=np.tile([0.0, np.inf], (2 * n, 1)),
    )
    # The multipliers of its rows are those of the function that is nearest.
    nearest = min(nearest, function(-size * answer.eqlin.marginals), key=lambda found: found[0])
    beta = answer.x[:n] - answer.x[n:]
    # Orthogonal to the space to the last digit, at the price of the last digits of its norm.
    beta = beta - Q @ (Q.T @ beta)
    total = float(np.sum(np.abs(beta)))
    beta = beta / total if total > 0.5 else np.zeros(n)
    lower = _proven(K, B, y, beta, *nearest[1:])
    if not lower > REACHED * size:
        return SmallestTube(nearest[0], np.zeros(n), 0.0)
    return SmallestTube(max(nearest[0], lower), beta, lower)


def _error(K: Array, B: Array, y: Array, a: Array, b: Array) -> tuple[float, Array, Array]:
    """Return the largest error of a function, infinite if it has no finite value, and itself."""
    error = float(np.max(np.abs(y - K @ a - B @ b)))
    return error if np.isfinite(error) else np.inf, a, b


def _proven(K: Array, B: Array, y: Array, beta: Array, a: Array, b: Array) -> float:
    """Return the bound that multipliers prove against functions with such coefficients.

    Zero if their products with K and B are larger than rounding makes them.
    """
    some = np.flatnonzero(beta)
    weights = beta[some].astype(np.longdouble)
    bound = float(y[some].astype(np.longdouble) @ weights)
    for M, coefficients in ((K, a), (B, b)):
        off = np.abs(M[some].T.astype(np.longdouble) @ weights)
        rounding = (len(y) + 2) * EPS * (np.abs(M[some]).T @ np.abs(beta[some]))
        if np.any(off > rounding + (len(y) + 2) * EPS * np.max(np.abs(M), initial=0.0)):
            return 0.0
        bound -= float(off @ np.abs(coefficients))
    return max(bound, 0.0)
