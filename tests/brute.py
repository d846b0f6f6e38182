"""Slow and certain ways to compute what the library computes quickly."""

from collections.abc import Callable


def supremum(g: Callable[[float], float], low: float, high: float) -> float:
    """Return the largest value of a concave function on an interval, by ternary search.

    Each step keeps two thirds of the interval, so that 150 of them leave nothing but rounding.
    """
    for _ in range(150):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if g(left) < g(right):
            low = left
        else:
            high = right
    return max(g(low), g(high))
