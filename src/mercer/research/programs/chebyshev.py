"""The narrowest tube that a space of functions leaves room for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._deadline import eigh, interruptible
from mercer._linear_program import linear_program
from mercer._typing import Array
from mercer.programs.linear_master import methods_for

__all__ = ["SmallestTube", "smallest_tube"]

# Eigenvalues below this part of the largest are not in the range of K: a function that needs them
# has coefficients ten digits above those that are seen.
RANK = 1e-10


@dataclass(frozen=True, eq=False)
class SmallestTube:
    """The answer of :func:`smallest_tube`."""

    epsilon: float
    """Half-width of the narrowest tube around the targets that holds a function."""

    certificate: Array
    """Multipliers that prove it, (n,).

    :math:`K\\beta = 0`, :math:`B'\\beta = 0`, :math:`\\|\\beta\\|_1 = 1` and
    :math:`y'\\beta = \\epsilon`: functions are orthogonal to it, and so to be within
    :math:`\\epsilon' < \\epsilon` would be
    :math:`0 = \\beta'f \\ge y'\\beta - \\epsilon' \\|\\beta\\|_1 > 0`. Zero if every tube holds a
    function.
    """


def smallest_tube(K: Array, y: Array, B: Array | None = None) -> SmallestTube:
    r"""Find the function nearest to the targets in its largest error, and prove it.

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

    Returns
    -------
    SmallestTube

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 1.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.research.programs.chebyshev import smallest_tube
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> found = smallest_tube(np.outer(x, x), np.array([0.0, 1.0, 0.0]), np.ones((3, 1)))
    >>> round(found.epsilon, 9), found.certificate.round(9)
    (0.5, array([-0.25,  0.5 , -0.25]))
    """
    n = len(y)
    values, vectors = eigh(np.asarray(K, dtype=np.float64))
    U = vectors[:, values > RANK * max(float(values[-1]), 0.0)]
    M = U if B is None else np.column_stack([U, B / np.linalg.norm(B, axis=0)])
    Q, sizes, _ = interruptible(np.linalg.svd, M, full_matrices=False)
    Q = Q[:, sizes > RANK * np.max(sizes, initial=0.0)]
    size = float(np.max(np.abs(y), initial=0.0))
    if Q.shape[1] == n or not size:
        return SmallestTube(0.0, np.zeros(n))
    answer = linear_program(
        np.append(-y, y) / size,
        methods=methods_for(Q.shape[1]),
        A_eq=np.hstack([Q.T, -Q.T]),
        b_eq=np.zeros(Q.shape[1]),
        A_ub=np.ones((1, 2 * n)),
        b_ub=np.ones(1),
        bounds=np.tile([0.0, np.inf], (2 * n, 1)),
    )
    beta = answer.x[:n] - answer.x[n:]
    # Orthogonal to the space to the last digit, at the price of the last digits of its norm.
    beta = beta - Q @ (Q.T @ beta)
    total = float(np.sum(np.abs(beta)))
    beta = beta / total if total > 0.5 else np.zeros(n)
    epsilon = max(float(y @ beta), 0.0)
    return SmallestTube(epsilon, beta) if epsilon > 1e-9 * size else SmallestTube(0.0, np.zeros(n))
