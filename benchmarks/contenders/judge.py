"""Dual objective and violation of fitted coefficients, from the textbook problems alone.

Nothing here is a contender's: all of it is NumPy, in float64.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders.machines import Problem
from data import Sample
from fitted import Expansion, expansions

Array = NDArray[np.float64]


class Verdict(NamedTuple):
    """What a machine's coefficients are worth, summed over the pairs of a classifier.

    ``infeasibility`` is the largest excess over a bound or a prescribed sum, relative to the sum of
    magnitudes.
    """

    objective: float
    violation: float
    infeasibility: float
    coefficients: list[Array]


def judge(problem: Problem, sample: Sample, learned: dict[str, Any]) -> Verdict:
    """Measure a fitted machine."""
    y = np.ones(problem.n) if problem.machine == "OneClassSVM" else sample.y
    parts = [measure(problem, e, sample.X) for e in expansions(SimpleNamespace(**learned), y)]
    return Verdict(
        sum(part.objective for part in parts),
        max(part.violation for part in parts),
        max(part.infeasibility for part in parts),
        [a for part in parts for a in part.coefficients],
    )


def measure(problem: Problem, e: Expansion, X: Array) -> Verdict:
    r"""Evaluate one dual problem.

    .. math:: \min_a \tfrac12 a'Ka - p'a + \epsilon |a|_1, \qquad
        \text{lower} \le a \le \text{upper}

    with the sum of coefficients given in each group. The violation is LIBSVM's: by how much the
    derivative at a coefficient that may still fall exceeds that at one that may still rise.
    """
    a, y, settings = e.a, e.y, problem.settings
    C, nu = settings.get("C", 1.0), settings.get("nu", 0.0)
    p, epsilon, group = y, 0.0, np.zeros(len(y), dtype=int)
    sign, sums = y, [0.0]
    # Coefficients in float32 meet their bounds, divided by a margin, to some of its spacings only.
    resolution = 1e-6 if np.array_equal(a, a.astype(np.float32)) else 1e-10
    if problem.machine == "NuSVC":
        # The coefficients were divided by the width of the margin; their sum is known before that.
        a = a * (0.5 * nu * len(y) / a[y > 0].sum())
        p, group = np.zeros(len(y)), (y > 0).astype(int)
        sums = [-0.5 * nu * len(y), 0.5 * nu * len(y)]
    elif problem.machine == "OneClassSVM":
        p, sums = np.zeros(len(y)), [nu * len(y)]
    product = kernel_times(X[e.rows], a, problem.gamma)
    objective = 0.5 * a @ product - p @ a
    if problem.machine == "SVR":
        epsilon = settings["epsilon"]
        lower, upper = np.full(len(y), -C), np.full(len(y), C)
        objective += epsilon * np.abs(a).sum()
    else:
        if problem.machine == "NuSVR":
            # Two coefficients a sample, one for each wall of the tube.
            a, product, p = (
                np.r_[np.maximum(a, 0), np.minimum(a, 0)],
                np.r_[product, product],
                np.r_[p, p],
            )
            group = np.repeat([0, 1], len(y))
            sign, half = np.repeat([1.0, -1.0], len(y)), 0.5 * C * nu * len(y)
            sums = [half, -half]
        lower, upper = np.minimum(0.0, C * sign), np.maximum(0.0, C * sign)
    excess = np.maximum(lower - a, a - upper).max()
    astray = max(abs(a[group == g].sum() - total) for g, total in enumerate(sums))
    return Verdict(
        float(objective),
        _violation(a, product - p, epsilon, (lower, upper), group, resolution),
        float(max(0.0, excess, astray) / np.abs(a).sum()),
        [a],
    )


def _violation(
    a: Array,
    slope: Array,
    epsilon: float,
    box: tuple[Array, Array],
    group: NDArray[np.int_],
    resolution: float,
) -> float:
    lower, upper = box
    edge = resolution * (upper - lower)
    rising = np.where(a < upper - edge, slope + np.where(a >= -edge, epsilon, -epsilon), np.inf)
    falling = np.where(a > lower + edge, slope + np.where(a > edge, epsilon, -epsilon), -np.inf)
    spread = [falling[group == g].max() - rising[group == g].min() for g in np.unique(group)]
    return float(max(0.0, *spread))


def kernel_times(X: Array, a: Array, gamma: float) -> Array:
    """Multiply the Gaussian kernel matrix of ``X`` by ``a``, a block of rows at a time."""
    support = np.flatnonzero(a)
    # Distances do not change with the origin, and lose fewest digits near the middle.
    X = X - X.mean(axis=0)
    squares = gamma * np.einsum("ij,ij->i", X, X)
    columns, product = 2.0 * gamma * X[support].T, np.empty(len(X))
    step = max(1, 2_000_000 // max(1, len(support)))
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        exponent = X[rows] @ columns
        exponent -= squares[rows, None]
        exponent -= squares[support]
        np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)
        product[rows] = exponent @ a[support]
    return product


def disagreement(one: Verdict, other: Verdict) -> float:
    r"""Return by how much two objectives differ, in units of what the violations allow.

    By convexity :math:`D(a) - D(a') \le g'(a - a')` for a subgradient :math:`g` at :math:`a`, which
    optimality up to a violation :math:`\delta` makes at most :math:`\delta |a - a'|_1`.
    """
    distance = sum(
        np.abs(a - b).sum() for a, b in zip(one.coefficients, other.coefficients, strict=True)
    )
    allowed = max(one.violation, other.violation) * distance
    rounding = 1e-12 * sum(np.abs(a).sum() for a in one.coefficients)
    return float(abs(one.objective - other.objective) / (allowed + rounding))
