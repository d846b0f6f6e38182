r"""Ridge leverage scores: how much of a function each row alone could determine.

.. math:: \ell_i(\rho) = \bigl(K (K + \rho)^{-1}\bigr)_{ii}, \qquad \sum_i \ell_i = d(\rho)

Rows with a score near one have no others that could stand in for them. They are computed from a
few rows, which in turn were drawn by scores among half of the rows, and so on.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.kernels.points import BLOCK_BYTES, row_slices

__all__ = ["leverage_scores", "recursive_scores"]

# What a Cholesky factor of a kernel matrix needs on its diagonal, relative to it.
JITTER = 1e-12


def leverage_scores(
    K: Gram,
    ridge: float,
    some: NDArray[np.intp] | None = None,
    chances: Array | None = None,
    rows: int | None = None,
) -> Array:
    r"""Return ridge leverage scores of rows, exact or from some of them.

    .. math:: \ell_i(\rho) \approx \tfrac1\rho \bigl(k_{ii} - k_{iJ} (K_{JJ} + \rho \Pi)^{-1}
              k_{Ji}\bigr)

    for rows J that were drawn with chances :math:`\Pi`; with all rows it is exact.

    Parameters
    ----------
    K : Gram
    ridge : float
        The number :math:`\rho > 0`.
    some : (q,) array of int, optional
        The rows J; all by default.
    chances : (q,) array, optional
        The chance with which each of them was drawn; one by default.
    rows : int, optional
        Return scores of the first rows only.

    Returns
    -------
    (n,) array
        Positive; at most about one.

    References
    ----------
    C. Musco and C. Musco (2017), *Recursive sampling for the Nystrom method*, NIPS 30, eq. (2) and
    lemma 6; A. Rudi, D. Calandriello, L. Carratino and L. Rosasco (2018), *On fast leverage score
    sampling and optimal learning*, NeurIPS 31, eq. (3).

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> leverage_scores(Dense(np.diag([1.0, 3.0])), 1.0)
    array([0.5 , 0.75])
    """
    J = np.arange(K.shape[0]) if some is None else some
    chances = np.ones(len(J)) if chances is None else chances
    return _remainder(K, J, ridge * chances, rows) / ridge


def _remainder(K: Gram, J: NDArray[np.intp], shift: Array, rows: int | None) -> Array:
    """Return the diagonal of ``K - K_J (K_JJ + diag(shift))^-1 K_J'``, for the first rows."""
    n = K.shape[0] if rows is None else rows
    rest = np.array(K.diag()[:n], dtype=np.float64)
    if not len(J):
        return rest
    H = np.array(K.block(J, J), dtype=np.float64)
    least = JITTER * max(float(np.max(np.diag(H))), 1e-300)
    H[np.diag_indices_from(H)] += np.maximum(shift, least)
    R = la.cholesky(H, lower=True, overwrite_a=True, check_finite=False)
    for part in row_slices(n, 8 * len(J), BLOCK_BYTES):
        V = np.array(K.block(part, J).T, dtype=np.float64, order="F")
        V = la.solve_triangular(R, V, lower=True, overwrite_b=True, check_finite=False)
        rest[part] -= np.einsum("ij,ij->j", V, V)
    return np.maximum(rest, 0.0)


def recursive_scores(K: Gram, m: int, ridge: float, rng: np.random.Generator) -> Array:
    r"""Return approximate leverage scores of rows in random order, for a choice of m of them.

    Doubling the rows from m on, scores are computed from at most m of the rows before. The ridge
    is the one given or, if that asks for more than m rows can give, the error that m rows leave,
    :math:`\rho = \tfrac1m \operatorname{tr}(K - K_J K_{JJ}^{-1} K_J')`.

    Parameters
    ----------
    K : Gram
        Of rows whose order is random: the first are a sample of all.
    m : int
        Number of rows to be chosen.
    ridge : float
        The least ridge, for all rows.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) array

    References
    ----------
    C. Musco and C. Musco (2017), *Recursive sampling for the Nystrom method*, NIPS 30, algorithm 3.
    """
    n = K.shape[0]
    size, J = min(m, n), np.arange(min(m, n))
    chances = np.ones(size)
    scores = np.ones(size)
    while True:
        wide = min(2 * size, n)
        chances = chances * (size / wide)
        left = float(np.sum(_remainder(K, J, np.zeros(len(J)), wide)))
        floor = JITTER * float(np.max(np.abs(K.diag()), initial=1e-300))
        rho = max(ridge * wide / n, left / m, floor)
        # A row unlike all of the few may seem to count for more than one.
        scores = np.minimum(leverage_scores(K, rho, J, chances, wide), 1.0)
        if wide == n:
            return scores
        every = inclusion(scores, m)
        J = np.flatnonzero(rng.random(wide) < every)
        chances, size = every[J], wide


def inclusion(scores: Array, m: int) -> Array:
    r"""Return chances in proportion to scores, at most one, with the sum m.

    Parameters
    ----------
    scores : (n,) array
        Not negative.
    m : int

    Examples
    --------
    >>> inclusion(np.array([8.0, 1.0, 1.0]), 2)
    array([1. , 0.5, 0.5])
    """
    n = len(scores)
    if m >= n or not np.count_nonzero(scores) > m:
        return np.asarray(scores > 0.0, dtype=np.float64) if m < n else np.ones(n)
    order = np.sort(scores)[::-1]
    below = np.cumsum(order[::-1])[::-1]
    # With k rows certain, the others share m - k: the first k for which none of them exceeds one.
    k = int(np.argmax(order * (m - np.arange(n)) <= below * (1.0 + 1e-12)))
    return np.asarray(np.minimum(1.0, scores * ((m - k) / below[k])))
