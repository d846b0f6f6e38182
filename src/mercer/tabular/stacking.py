r"""Weights of machines from their left-out predictions.

For targets that are numbers, :math:`w \ge 0` with :math:`\sum_m w_m = 1` minimizes

.. math:: \tfrac{n}{2} \log \sum_i s_i (y_i - \sum_m w_m f_{mi})^2
          - \frac{\tau}{M} \sum_m \log (M w_m),

and for classes :math:`w \ge 0` and constants b minimize the same with the logistic loss of
:math:`\sum_m w_m f_{mi} + b`, in which the sum of the weights is free: it calibrates. The second
term draws weights to equal ones. A few hundred left-out errors do not tell machines apart whose
errors differ by a few hundredths, and the best of them by chance is no better than their mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from mercer._typing import Array

__all__ = [
    "convex_weights",
    "log_odds",
    "logistic_weights",
    "probabilities",
    "without_negligible",
]


# What unequal weights cost, in units of log-likelihood: chosen on the sets that the contest says
# were developed on. Log losses of left-out classes tell less than squared errors of numbers.
TAU, TAU_OF_CLASSES = 5.0, 20.0
# Weights that are left out where the sum of squared left-out errors grows by no larger share: the
# standard error of that sum is .026 of it for 3,000 normal errors.
NEGLIGIBLE, UNSEEN = 0.03, 1e-3
# Logarithms of weights that are looked at.
LEAST, MOST = -12.0, 6.0
# Price of constants of the log odds, per sample: classes are seldom rarer than e^-3.
CONSTANT = 1e-2


def convex_weights(left_out: Array, y: Array, weights: Array, tau: float = TAU) -> Array:
    """Return weights of machines for a number, adding up to one.

    Parameters
    ----------
    left_out : (m, n) array
        Left-out predictions of m machines.
    y : (n,) array
        Targets.
    weights : (n,) array
        Weights of the samples.
    tau : float
        How much weights are drawn to equal ones.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 4.0, 3.0])
    >>> convex_weights(np.stack([y + 0.5, y - 0.5]), y, np.ones(4)).round(6)
    array([0.5, 0.5])
    """
    m, n = len(left_out), len(y)
    errors = (y - left_out) * np.sqrt(weights)
    scale = float(np.mean(errors**2))
    if m == 1 or scale == 0.0:
        return np.full(m, 1.0 / m)
    S = errors @ errors.T / (n * scale)
    # Left-out errors that vanish to rounding are no infinite evidence.
    S[np.diag_indices(m)] += 1e-12

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        log_w = log_softmax(u)
        w = np.exp(log_w)
        slope = S @ w
        square = float(w @ slope)
        price = tau / n
        value = 0.5 * np.log(square) - price * float(np.mean(log_w))
        slope = slope / square
        return value, w * (slope - w @ slope) + price * (w - 1.0 / m)

    answer = minimize(value_and_gradient, np.zeros(m), jac=True, method="L-BFGS-B")
    return np.asarray(softmax(answer.x))


def without_negligible(w: Array, left_out: Array, y: Array, weights: Array) -> Array:
    """Return weights without those of machines that hardly count, unless errors would grow.

    What such a machine adds to a prediction costs as much as what the best one adds.

    Parameters
    ----------
    w : (m,) array
        Weights that add up to one.
    left_out, y, weights :
        As in :func:`convex_weights`.

    Examples
    --------
    >>> y = np.arange(100.0)
    >>> left_out = np.stack([y + 1.0, y + 1.2, y - 3.0])
    >>> without_negligible(np.array([0.98, 0.02, 0.0]), left_out, y, np.ones(100))
    array([1., 0., 0.])
    >>> without_negligible(np.array([0.98, 0.0, 0.02]), left_out, y, np.ones(100))
    array([0.98, 0.  , 0.02])
    """
    kept = np.where(w < NEGLIGIBLE, 0.0, w)
    if not kept.any() or np.all(kept > 0):
        return w
    kept /= kept.sum()
    before, after = (float(weights @ (y - one @ left_out) ** 2) for one in (w, kept))
    return kept if after <= (1.0 + UNSEEN) * before else w


def log_odds(decisions: Array, w: Array, b: Array) -> Array:
    """Return the log odds of classes, (n, d), from decisions (m, n, d) of m machines."""
    return np.asarray(np.tensordot(w, decisions, 1) + b)


def probabilities(odds: Array) -> Array:
    """Return probabilities of classes from log odds, (n, 1) for two classes or (n, k)."""
    if odds.shape[1] == 1:
        p = expit(odds)
        return np.hstack([1.0 - p, p])
    return np.asarray(softmax(odds, axis=1))


def logistic_weights(
    left_out: Array,
    labels: NDArray[np.intp],
    weights: Array,
    tau: float = TAU_OF_CLASSES,
) -> tuple[Array, Array]:
    """Return weights of machines and constants for classes.

    Parameters
    ----------
    left_out : (m, n, d) array
        Left-out decisions of m machines: of the second of two classes, d = 1, or one a class.
    labels : (n,) array of int
        Numbers of the classes.
    weights : (n,) array
        Weights of the samples.
    tau : float
        How much weights are drawn to equal ones.

    Returns
    -------
    w : (m,) array
    b : (d,) array
    """
    m, n, d = left_out.shape
    rows, price = np.arange(n), tau / n
    share = weights / np.sum(weights)
    # Decisions of one size: weights of unlike sizes would be drawn to unlike shares.
    size = np.sqrt(np.mean(left_out**2, axis=(1, 2)))
    size = np.where(size > 0, size, 1.0)
    F = left_out / size[:, None, None]

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        w, b = np.exp(u[:m]), u[m:]
        odds = log_odds(F, w, b)
        if d == 1:
            sign = np.where(labels == 1, 1.0, -1.0)
            value = float(share @ np.logaddexp(0.0, -sign * odds[:, 0]))
            slope = (-share * sign * expit(-sign * odds[:, 0]))[:, None]
        else:
            log_p = log_softmax(odds, axis=1)
            value = -float(share @ log_p[rows, labels])
            slope = np.exp(log_p)
            slope[rows, labels] -= 1.0
            slope *= share[:, None]
        log_shares = log_softmax(u[:m])
        value += 0.5 * CONSTANT * float(b @ b) - price * float(np.mean(log_shares))
        by_w = np.tensordot(F, slope, ((1, 2), (0, 1))) * w + price * (np.exp(log_shares) - 1.0 / m)
        return value, np.concatenate([by_w, slope.sum(axis=0) + CONSTANT * b])

    start = np.concatenate([np.full(m, -np.log(m)), np.zeros(d)])
    bounds = [(LEAST, MOST)] * m + [(None, None)] * d
    answer = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.exp(answer.x[:m]) / size, np.asarray(answer.x[m:])
