r"""The Fenchel-Young inequality of one sample whose conjugate is two parabolas, written once.

.. math:: c\,l(y, f) + g(a) + a f \ge 0, \qquad g(a) = p^\pm a + \tfrac12 q^\pm a^2

NumPy evaluates these lines for the arrays of :class:`~mercer.losses.base.DualTerms`. Small problems
are certified in one compiled call, whose lines are these (``native/small_problems.hpp``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array

__all__ = ["Mask", "conjugate_slopes", "loss_value", "violation", "young_gap"]

Mask = NDArray[np.bool_]


def loss_value(
    f: Array,
    p_pos: Array | float,
    p_neg: Array | float,
    q_pos: Array | float,
    q_neg: Array | float,
    lower: Array | float,
    upper: Array | float,
) -> Array:
    r"""Evaluate :math:`c\,l(y, f) = \sup_a -a f - g(a)`.

    Because the conjugate is convex, coefficients of one sign at most improve on zero; with these
    signs it is the largest :math:`e t - \tfrac12 q t^2` over t between zero and a bound, at least
    :math:`\tfrac12 e t`. The loss of a NaN is NaN: no comparison with it is true.
    """
    positive = -f > p_pos
    e = np.where(positive, -f - p_pos, f + p_neg)
    q, bound = np.where(positive, q_pos, q_neg), np.where(positive, upper, -lower)
    t = np.minimum(e / q, bound)  # perhaps neither curvature nor bound
    largest = t * np.fmax(e - 0.5 * q * t, 0.5 * e)
    return np.where(np.minimum(e, bound) <= 0.0, 0.0, largest)


def conjugate_slopes(
    a: Array, p_pos: Array, p_neg: Array, q_pos: Array, q_neg: Array
) -> tuple[Array, Array, Array]:
    """Evaluate the conjugate and its left and right derivative, which differ at zero."""
    positive = a > 0.0
    p, q = np.where(positive, p_pos, p_neg), np.where(positive, q_pos, q_neg)
    left = p + q * a
    return a * (p + 0.5 * q * a), left, np.where(a == 0.0, p_pos, left)


def violation(f: Array, left: Array, right: Array, at_low: Mask, at_high: Mask) -> Array:
    """Return how far ``-f`` is from the derivatives; at a bound, on one side of them only."""
    below = np.where(at_low, 0.0, left + f)
    above = np.where(at_high, 0.0, -f - right)
    return np.maximum(np.maximum(below, above), 0.0)


def young_gap(value: Array, conjugate: Array, a: Array, f: Array) -> Array:
    """Return the gap of the inequality, which rounding must not make negative."""
    return np.maximum(value + conjugate + a * f, 0.0)
