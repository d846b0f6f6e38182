"""Dual objective and violation of fitted coefficients, from the textbook problems alone.

Nothing here is a contender's solver: kernel values are scikit-learn's, the rest is NumPy.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from data import Sample
from fitted import Expansion, expansions
from problems import Problem

Array = NDArray[np.float64]


class Verdict(NamedTuple):
    """What a machine's coefficients are worth, summed over the pairs of a classifier."""

    objective: float
    violation: float
    coefficients: list[Array]


def judge(problem: Problem, sample: Sample, learned: dict[str, Any]) -> Verdict:
    """Measure a fitted machine."""
    y = np.ones(problem.n) if problem.machine == "OneClassSVM" else sample.y
    gamma = problem.width / sample.X.shape[1]
    parts = [measure(problem, e, sample.X, gamma) for e in expansions(_machine(learned), y)]
    return Verdict(
        sum(part.objective for part in parts),
        max(part.violation for part in parts),
        [a for part in parts for a in part.coefficients],
    )


def _machine(learned: dict[str, Any]) -> Any:
    return SimpleNamespace(**learned)


def measure(problem: Problem, e: Expansion, X: Array, gamma: float) -> Verdict:
    r"""Evaluate one dual problem.

    .. math:: \min_a \tfrac12 a'Ka - p'a + \epsilon |a|_1, \qquad
        \text{lower} \le a \le \text{upper}

    with the sum of coefficients given in each group. The violation is LIBSVM's: by how much the
    derivative at a coefficient that may still fall exceeds that at one that may still rise.
    """
    a, y, settings = e.a, e.y, problem.settings
    C, nu = settings.get("C", 1.0), settings.get("nu", 0.0)
    p, epsilon, group = y, 0.0, np.zeros(len(y), dtype=int)
    sign = y
    if problem.machine == "NuSVC":
        # The coefficients were divided by the width of the margin; their sum is known before that.
        a = a * (0.5 * nu * len(y) / a[y > 0].sum())
        p, group = np.zeros(len(y)), (y > 0).astype(int)
    elif problem.machine == "OneClassSVM":
        p = np.zeros(len(y))
    product = _product(X[e.rows], a, gamma)
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
            sign = np.repeat([1.0, -1.0], len(y))
        lower, upper = np.minimum(0.0, C * sign), np.maximum(0.0, C * sign)
    return Verdict(float(objective), _violation(a, product - p, epsilon, lower, upper, group), [a])


def _violation(
    a: Array, slope: Array, epsilon: float, lower: Array, upper: Array, group: NDArray[np.int_]
) -> float:
    edge = 1e-10 * (upper - lower)
    rising = np.where(a < upper - edge, slope + np.where(a >= -edge, epsilon, -epsilon), np.inf)
    falling = np.where(a > lower + edge, slope + np.where(a > edge, epsilon, -epsilon), -np.inf)
    spread = [falling[group == g].max() - rising[group == g].min() for g in np.unique(group)]
    return float(max(0.0, *spread))


def _product(X: Array, a: Array, gamma: float) -> Array:
    support = np.flatnonzero(a)
    step = max(1, 20_000_000 // max(1, len(support)))
    return np.concatenate(
        [
            rbf_kernel(X[first : first + step], X[support], gamma=gamma) @ a[support]
            for first in range(0, len(X), step)
        ]
    )


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
