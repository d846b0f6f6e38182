"""Linear least squares on shifted targets: additive constants, and outliers as shifts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array

__all__ = ["MeanShift", "additive_ridge", "equivalent_shifts", "mean_shift", "modified_loss"]


MAX_ITER = 500


def additive_ridge(X: ArrayLike, y: ArrayLike, c: ArrayLike, C0: float = 1.0) -> Array:
    r"""Return the weights of ridge regression with one additive constant a sample.

    .. math:: \min_w \tfrac12 w'w + \tfrac{C_0}{2} \sum_i (e_i - c_i)^2, \quad e = y - Xw
              \qquad\Longrightarrow\qquad (X'X + \tfrac{1}{C_0}) w = X'(y - c)

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array
    c : (n,) array
        Additive constants; zeros are ridge regression.
    C0 : float, default=1.0
        Weight of the errors; one in the source.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.1), (8.2).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.fusion import additive_ridge
    >>> additive_ridge([[1.0], [1.0]], [1.0, 4.0], [0.0, 2.0])
    array([1.])
    """
    X, z = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64) - np.asarray(c)
    return np.linalg.solve(X.T @ X + np.eye(X.shape[1]) / C0, X.T @ z)


def modified_loss(X: ArrayLike, y: ArrayLike, d: ArrayLike) -> Array:
    r"""Return the weights of least squares on shifted targets, the shortest if there are several.

    .. math:: \min_w \tfrac12 \sum_i (e_i - d_i)^2 \qquad\Longrightarrow\qquad X'Xw = X'(y - d)

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array
    d : (n,) array
        What each error is expected to be; zeros are ordinary least squares.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.3) to (8.5).

    Examples
    --------
    >>> from mercer_research.fusion import modified_loss
    >>> modified_loss([[1.0], [1.0], [1.0]], [1.0, 1.0, 7.0], [0.0, 0.0, 6.0]).round(12)
    array([1.])
    """
    X, z = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64) - np.asarray(d)
    return np.asarray(np.linalg.lstsq(X, z, rcond=None)[0])


def equivalent_shifts(X: ArrayLike, y: ArrayLike, c: ArrayLike, C0: float = 1.0) -> Array:
    r"""Return shifts d whose modified loss has the weights of ridge with additive constants c.

    Both have the weights w if and only if :math:`X'd = X'c + w / C_0`; of all such d the one
    nearest to c is returned. X must have full column rank.

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array
    c : (n,) array
        Additive constants.
    C0 : float, default=1.0
        Weight of the errors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.fusion import additive_ridge, equivalent_shifts, modified_loss
    >>> X, y, c = np.eye(3)[:, :2] + 1.0, np.array([1.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0])
    >>> d = equivalent_shifts(X, y, c)
    >>> np.allclose(modified_loss(X, y, d), additive_ridge(X, y, c))
    True
    """
    X, c = np.asarray(X, dtype=np.float64), np.asarray(c, dtype=np.float64)
    if np.linalg.matrix_rank(X) < X.shape[1]:
        raise ValueError(
            "the columns of X depend on each other: weights of a modified loss do too."
        )
    w = additive_ridge(X, y, c, C0)
    # The pseudo-inverse of X' applied to w / C0.
    return np.asarray(c + np.linalg.lstsq(X.T, w / C0, rcond=None)[0])


class MeanShift(NamedTuple):
    """A linear model and the contamination of each sample."""

    coef: Array
    shifts: Array
    """What each target is off by, zero for most."""
    gap: float
    """No model has an objective lower by more."""


def mean_shift(X: ArrayLike, y: ArrayLike, threshold: float, *, tol: float = 1e-10) -> MeanShift:
    r"""Estimate which targets are contaminated, and by how much.

    .. math:: \min_{w, d} \tfrac12 \|y - Xw - d\|^2 + \lambda \sum_i |d_i|

    The modified loss with shifts of least sum: :math:`d_i` is what of a residual exceeds
    :math:`\lambda`, and w is the estimate of Huber's loss.

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array
    threshold : float
        The size :math:`\lambda` of a residual beyond which a target is taken for contaminated.
    tol : float, default=1e-10
        Duality gap at which to stop, relative to the objective of ``d = 0``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 8.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.fusion import mean_shift
    >>> x = np.arange(6.0)
    >>> y = 2.0 * x
    >>> y[4] += 10.0
    >>> found = mean_shift(np.c_[x, np.ones(6)], y, threshold=0.5)
    >>> np.flatnonzero(found.shifts), bool(abs(found.coef[0] - 2.0) < 0.1)
    (array([4]), True)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not threshold > 0:
        raise ValueError(f"threshold must be positive, got {threshold!r}.")
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    U = np.linalg.svd(X, full_matrices=False)[0][:, : np.linalg.matrix_rank(X)]
    scale = 0.5 * float(np.sum((y - X @ w) ** 2)) or 1.0
    best = MeanShift(w, np.zeros(len(y)), np.inf)
    for _ in range(MAX_ITER):
        r = y - X @ w
        inner = np.clip(r, -threshold, threshold)
        objective = float(inner @ (r - 0.5 * inner))
        # Dual: max u'y - u'u/2 with |u| <= threshold and X'u = 0; scaling keeps both.
        u = inner - U @ (U.T @ inner)
        u *= min(1.0, threshold / max(float(np.max(np.abs(u))), 1e-300))
        gap = objective - float(u @ y - 0.5 * u @ u)
        if gap < best.gap:
            best = MeanShift(w, r - inner, gap)
        if gap <= tol * scale:
            break
        # Re-weighting descends on Huber's loss; a step on the present pieces, if it descends more.
        size = np.sqrt(threshold / np.maximum(np.abs(r), threshold))
        w = np.linalg.lstsq(size[:, None] * X, size * y, rcond=None)[0]
        small = np.abs(r) <= threshold
        jump = best.coef + np.linalg.lstsq(X[small].T @ X[small], X.T @ inner, rcond=None)[0]
        if best.gap == gap and _huber(y - X @ jump, threshold) < _huber(y - X @ w, threshold):
            w = jump
    return best


def _huber(r: Array, threshold: float) -> float:
    inner = np.clip(r, -threshold, threshold)
    return float(inner @ (r - 0.5 * inner))
