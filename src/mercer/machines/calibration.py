"""Probabilities of classes from values of machines, by Platt's sigmoid and a model of choices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from mercer._typing import Array

__all__ = ["agreeing", "coupled", "sigmoid"]

# Newton's method on two numbers, and the fixed-point iteration of shares: relative changes.
NEWTON_TOLERANCE, MAX_NEWTON_STEPS = 1e-12, 100
SHARE_TOLERANCE, MAX_SHARE_STEPS = 1e-8, 2000
# Shares are kept off zero, where a model of choices has no slope.
MIN_SHARE = 1e-12


def sigmoid(
    f: Array, positive: NDArray[np.bool_], weight: Array, intercept: bool = True
) -> tuple[float, float]:
    r"""Return slope and intercept of :math:`P(y = 1 \mid f) = 1/(1 + e^{-(A f + B)})`.

    Targets are Platt's, :math:`(n_+ + 1)/(n_+ + 2)` and :math:`1/(n_- + 2)`, which keep the slope
    finite where values separate the classes. The slope is not negative: values of machines that do
    worse than chance say nothing.

    Parameters
    ----------
    f : (n,) array
        Values, best of machines that have not seen their sample; infinite ones are left out.
    positive : (n,) array of bool
        Which samples are positive.
    weight : (n,) array
        Weights of the samples.
    intercept : bool, default=True
        Whether the probability of the value zero may differ from one half.

    References
    ----------
    J. Platt, *Probabilistic outputs for support vector machines*, 1999; H.-T. Lin, C.-J. Lin and
    R. C. Weng, *A note on Platt's probabilistic outputs*, Machine Learning 68, 2007.

    Examples
    --------
    >>> A, B = sigmoid(np.array([-1.0, -0.5, 0.5, 1.0]), np.arange(4) > 1, np.ones(4))
    >>> bool(A > 0), round(abs(B), 6)
    (True, 0.0)
    """
    keep = np.isfinite(f) & (weight > 0)
    f, positive, weight = f[keep], positive[keep], weight[keep]
    n_pos, n_neg = float(weight @ positive), float(weight @ ~positive)
    target = np.where(positive, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
    flat = np.log((n_pos + 1.0) / (n_neg + 1.0)) if intercept else 0.0
    scale = float(np.std(f)) if len(f) else 0.0
    if scale == 0.0:
        return 0.0, flat
    Z = np.column_stack([f / scale, np.full_like(f, float(intercept))])

    def cost(x: Array) -> float:
        z = Z @ x
        return -float(weight @ (target * log_expit(z) + (1.0 - target) * log_expit(-z)))

    x = np.array([0.0, flat])
    for _ in range(MAX_NEWTON_STEPS):
        p = expit(Z @ x)
        slope = Z.T @ (weight * (p - target))
        # A ridge of rounding size: where all values are certain the curvature vanishes.
        H = (Z.T * (weight * p * (1.0 - p))) @ Z + MIN_SHARE * np.sum(weight) * np.eye(2)
        step, size = -np.linalg.solve(H, slope), 1.0
        while (
            cost(x + size * step) > cost(x) + 1e-4 * size * (slope @ step)
            and size > NEWTON_TOLERANCE
        ):
            size *= 0.5
        x = x + size * step
        if np.all(np.abs(size * step) <= NEWTON_TOLERANCE * (1.0 + np.abs(x))):
            break
    return (float(x[0] / scale), float(x[1])) if x[0] > 0 else (0.0, flat)


def coupled(M: Array, R: Array, weight: Array) -> Array:
    r"""Return class probabilities from the probabilities of the columns of a code book.

    .. math:: \max_p \sum_l n_l \Bigl( r_l \log \frac{p_l^+}{p_l} + (1 - r_l) \log
              \frac{p_l^-}{p_l} \Bigr), \qquad p_l^\pm = \sum_{M_{kl} = \pm 1} p_k, \quad
              p_l = p_l^+ + p_l^-

    by a fixed-point iteration that never falls. For pairs it is the model of Bradley and Terry.

    Parameters
    ----------
    M : (n_classes, n_columns) array
        The code book.
    R : (n, n_columns) array
        Probabilities that a column says 1, among the classes that it codes.
    weight : (n_columns,) array
        How many samples speak through each column.

    References
    ----------
    T.-K. Huang, R. C. Weng and C.-J. Lin, *Generalized Bradley-Terry models and multi-class
    probability estimates*, JMLR 7, 2006, algorithm 2.

    Examples
    --------
    >>> pairs = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -1.0]])
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> r = np.array([[p[0] / p[[0, 1]].sum(), p[0] / p[[0, 2]].sum(), p[1] / p[1:].sum()]])
    >>> coupled(pairs, r, np.ones(3)).round(6)
    array([[0.5, 0.3, 0.2]])
    """
    plus, minus = (M > 0).astype(np.float64), (M < 0).astype(np.float64)
    weight = weight / np.sum(weight)
    P = np.full((len(R), len(M)), 1.0 / len(M))
    moving = np.arange(len(R))
    for _ in range(MAX_SHARE_STEPS):
        p, r = P[moving], R[moving]
        up, down = p @ plus, p @ minus
        gain = (weight * r / up) @ plus.T + (weight * (1.0 - r) / down) @ minus.T
        loss = (weight / (up + down)) @ (plus + minus).T
        new = np.maximum(p * gain / loss, MIN_SHARE)
        new /= new.sum(axis=1, keepdims=True)
        P[moving] = new
        moving = moving[np.max(np.abs(new - p), axis=1) > SHARE_TOLERANCE]
        if not len(moving):
            break
    return P


def agreeing(P: Array, chosen: NDArray[np.intp]) -> Array:
    """Return the nearest probabilities in which the chosen classes are the most probable.

    Parameters
    ----------
    P : (n, n_classes) array
        Probabilities.
    chosen : (n,) array of int
        The class that is chosen for each row.

    Examples
    --------
    >>> agreeing(np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]]), np.array([1, 1])).round(3)
    array([[0.4, 0.4, 0.2],
           [0.1, 0.8, 0.1]])
    """
    P = P.copy()
    for i in np.flatnonzero(np.argmax(P, axis=1) != chosen):
        p, c = P[i], chosen[i]
        pool = [c]
        # Pool the classes above with the chosen one, the most probable first.
        for k in np.argsort(-p):
            if k != c and p[k] >= np.mean(p[pool]):
                pool.append(k)
        p[pool] = np.mean(p[pool])
        p[c] = np.nextafter(p[c], 2.0)
    return P
