"""Slow and certain ways to compute what the library computes quickly."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cases import CLASSIFICATION
from mercer.losses import Interval


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


class Numbers:
    """The functions that formulas are written in, of arrays of numbers."""

    abs = staticmethod(np.abs)

    @staticmethod
    def pos(s: Any) -> Any:
        """Return the positive part."""
        return np.maximum(s, 0.0)

    @staticmethod
    def logistic(s: Any) -> Any:
        """Return ``log(1 + exp(s))``."""
        return np.logaddexp(0.0, s)

    @staticmethod
    def straightened(s: Any, bend: float, power: float = 2.0) -> Any:
        """Return a power of s >= 0 up to ``bend``, of slope one there, and its tangent beyond."""
        curved = s**power / (power * bend ** (power - 1))
        return np.where(s <= bend, curved, s - bend * (power - 1) / power)


# The losses as their papers print them, in the residual r = y - f or the margin m = y f, written in
# the functions `o` of numbers (above) or of a conic solver's expressions (oracles/conic.py).
FORMULAS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Squared": lambda loss, r, o: r**2 / 2,
    "Absolute": lambda loss, r, o: o.abs(r),
    "EpsilonInsensitive": lambda loss, r, o: o.pos(o.abs(r) - loss.epsilon),
    "SquaredEpsilonInsensitive": lambda loss, r, o: o.pos(o.abs(r) - loss.epsilon) ** 2 / 2,
    "Huber": lambda loss, r, o: loss.delta * o.straightened(o.abs(r), loss.delta),
    "LogCosh": lambda loss, r, o: (
        loss.delta**2 * (o.logistic(2 * r / loss.delta) - r / loss.delta - np.log(2))
    ),
    "Pinball": lambda loss, r, o: loss.quantile * o.pos(r) + (1 - loss.quantile) * o.pos(-r),
    "Expectile": lambda loss, r, o: (
        loss.expectile * o.pos(r) ** 2 / 2 + (1 - loss.expectile) * o.pos(-r) ** 2 / 2
    ),
    "PolynomialLoss": lambda loss, r, o: o.pos(o.abs(r) - loss.epsilon) ** loss.power / loss.power,
    "PiecewisePolynomial": lambda loss, r, o: o.straightened(
        o.pos(o.abs(r) - loss.epsilon), loss.sigma, loss.power
    ),
    "Hinge": lambda loss, m, o: o.pos(loss.margin - m),
    "SquaredHinge": lambda loss, m, o: o.pos(1 - m) ** 2 / 2,
    "HuberHinge": lambda loss, m, o: o.straightened(o.pos(1 - m), loss.delta),
    "PowerHinge": lambda loss, m, o: o.pos(1 - m) ** loss.power / loss.power,
    "Logistic": lambda loss, m, o: o.logistic(-m),
}
OF_THE_MARGIN = {type(loss).__name__ for loss in CLASSIFICATION}


def formula(loss: Any) -> Callable[[Any, Any, Any], Any]:
    """Return the printed formula of a loss, or fail with a sentence that says where to add it."""
    name = type(loss).__name__
    assert name in FORMULAS, (
        f"{name} has no printed formula to be compared with: add a line for it to FORMULAS in "
        "tests/brute.py, written from the definition and not from its code; the conic solver of "
        "tests/oracles/conic.py reads the same line."
    )
    return FORMULAS[name]


def printed(loss: Any, y: Any, f: Any) -> Any:
    """Return the values of a loss by its printed formula."""
    if isinstance(loss, Interval):  # the point of the interval nearest to f is the target
        return printed(loss.loss, np.clip(f, y - loss.below, y + loss.above), f)
    of_margin = type(loss).__name__ in OF_THE_MARGIN
    return formula(loss)(loss, y * f if of_margin else y - f, Numbers)
