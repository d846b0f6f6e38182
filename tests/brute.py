"""Slow and certain ways to compute what the library computes quickly."""

from collections.abc import Callable
from typing import Any

import numpy as np


def supremum(g: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return the largest values of concave functions on intervals, by ternary search.

    Each step keeps two thirds of the interval, so that 150 of them leave nothing but rounding.

    Parameters
    ----------
    g : callable
        One function for each entry of its argument, a number or an array.
    low, high : float or ndarray
        The ends of the intervals.
    """
    for _ in range(150):
        third = (high - low) / 3
        left, right = low + third, high - third
        rising = g(left) < g(right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return np.maximum(g(low), g(high))


def straightened(s: Any, bend: float, power: float = 2.0) -> Any:
    """Return a power of s up to ``bend``, of slope one there, and its tangent beyond."""
    curved = s**power / (power * bend ** (power - 1))
    return np.where(s <= bend, curved, s - bend * (power - 1) / power)


def excess(r: Any, epsilon: float) -> Any:
    """Return by how much a residual leaves a tube."""
    return np.maximum(np.abs(r) - epsilon, 0.0)


# The losses as their papers print them, in the residual r = y - f or the margin m = y f.
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "Squared": lambda _, r: r**2 / 2,
    "Absolute": lambda _, r: np.abs(r),
    "EpsilonInsensitive": lambda loss, r: excess(r, loss.epsilon),
    "SquaredEpsilonInsensitive": lambda loss, r: excess(r, loss.epsilon) ** 2 / 2,
    "Huber": lambda loss, r: loss.delta * straightened(np.abs(r), loss.delta),
    "LogCosh": lambda loss, r: loss.delta**2 * np.log(np.cosh(r / loss.delta)),
    "Pinball": lambda loss, r: np.maximum(loss.quantile * r, (loss.quantile - 1) * r),
    "Expectile": lambda loss, r: np.where(r > 0, loss.expectile, 1 - loss.expectile) * r**2 / 2,
    "Polynomial": lambda loss, r: excess(r, loss.epsilon) ** loss.power / loss.power,
    "PiecewisePolynomial": lambda loss, r: straightened(
        excess(r, loss.epsilon), loss.sigma, loss.power
    ),
    "Hinge": lambda loss, m: np.maximum(loss.margin - m, 0.0),
    "SquaredHinge": lambda _, m: np.maximum(1 - m, 0.0) ** 2 / 2,
    "HuberHinge": lambda loss, m: straightened(np.maximum(1 - m, 0.0), loss.delta),
    "PowerHinge": lambda loss, m: np.maximum(1 - m, 0.0) ** loss.power / loss.power,
    "Logistic": lambda _, m: np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m))),
}
OF_THE_MARGIN = ("Hinge", "SquaredHinge", "HuberHinge", "Logistic", "PowerHinge")


def printed(loss: Any, y: Any, f: Any) -> Any:
    """Return a loss by its printed formula."""
    name = type(loss).__name__
    if hasattr(loss, "below"):  # the distance to an interval: its nearest point is the target
        return printed(loss.loss, np.clip(f, y - loss.below, y + loss.above), f)
    return FORMULAS[name](loss, y * f if name in OF_THE_MARGIN else y - f)
