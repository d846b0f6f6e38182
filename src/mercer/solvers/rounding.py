"""What rounding errors of decision values can change: objectives, gaps, and what a gap is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer._typing import Array
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.solvers.solution import Solution
from mercer.solvers.status import GAP_ROUNDING, MAX_RELATIVE_GAP, MIN_NORMAL

__all__ = [
    "certify_bound",
    "decision_error",
    "gap_resolution",
    "is_moved",
    "negligible_gap",
    "rounding_effect",
    "rounding_of",
    "with_expansion",
    "worst_of_rounding",
]

EPS = float(np.finfo(np.float64).eps)
# Rounding errors of decision values, relative to the largest target or term in them.
RELATIVE_ROUNDING = 2.0 * EPS

# Rounding errors up to which a decision value is known; and by which two ways to compute and add up
# the same terms differ, as a certificate and a prediction do.
KNOWN_ROUNDING = 64 * EPS

SUMMATION_ROUNDING = 8.0 * RELATIVE_ROUNDING

# An objective, without the rounding that it contains, is rounding below this part of what
# KNOWN_ROUNDING makes: errors of four units in the last place.
MAX_ROUNDING_PART = 1.0 / 16.0

# An objective below this part of the losses of a constant counts as that part, as long as the gap
# proves that the function is within this part of the targets.
NEGLIGIBLE_LOSS_PART, NEGLIGIBLE_TARGET_PART = 1e-6, 1e-3


def certify_bound(
    risk: RegularizedRisk, a: Array, b: Array, bound: float, violation: float
) -> Certificate:
    """Measure a machine whose coefficients prove no bound themselves, at the worst of rounding.

    No decision value has such slopes, so that the violation is what the solver measured.
    """
    Ka = risk.K.matvec(a)
    f = Ka + risk.B @ b
    found = risk.certificate(a, b, Ka, decision_error(risk, a, b, f))
    return replace(found, dual=bound, gap=found.primal - bound, violation=violation, f=f)


def decision_error(risk: RegularizedRisk, a: Array, b: Array, f: Array) -> Array:
    """Estimate by how much each decision value may differ when it is computed in two ways.

    Another order of sums, and kernel values from products in one and from differences in the other.
    The q unpenalized columns are added in q roundings, and the sum over the sample in one.
    """
    root = risk.roots
    spread = root * float(np.linalg.norm(root * a))
    largest = risk.size(np.zeros(risk.n), b, f)
    return (SUMMATION_ROUNDING + risk.K.value_error()) * spread + (1 + risk.q) * EPS * largest


def with_expansion(
    s: Solution, risk: RegularizedRisk, coef: Array, roots: Array, points: Array
) -> Solution:
    r"""Return a solution with what rounding changes where its function is a sum over points.

    Coefficients of functionals, such as second differences, are small beside those of the points
    in which a prediction adds up: :math:`f = \sum_j c_j k(z_j, \cdot)`. Decision values and
    the penalty :math:`\tfrac12 c'Kc` have the rounding of these terms, estimated by their length as
    in :func:`decision_error`.

    Parameters
    ----------
    s : Solution
        Of the functionals.
    risk : RegularizedRisk
        The first rows are points of the sample, all others functionals.
    coef, roots : ndarray of shape (m,)
        Coefficients of the points, and the roots of their kernel values.
    points : ndarray of shape (n',)
        Roots of the points of the first rows.
    """
    length = float(np.linalg.norm(roots * coef))
    delta = np.zeros(risk.n)
    delta[: len(points)] = SUMMATION_ROUNDING * length * points
    with np.errstate(over="ignore"):
        penalty = 0.5 * SUMMATION_ROUNDING * length**2
    effect = rounding_effect(risk, s.a, s.f, delta) + penalty
    if effect <= GAP_ROUNDING * abs(s.objective):
        return s
    return replace(s, dual=s.dual - penalty, gap=s.gap + penalty + effect)


def is_moved(risk: RegularizedRisk, a: Array, before: Array) -> bool:
    """Answer whether snapping changed a decision value by more than its rounding error."""
    root = risk.roots
    change = root * float(root @ np.abs(a - before))
    known = decision_error(risk, a, np.zeros(risk.q), risk.y)
    return bool(np.any(change > np.maximum(known, MIN_NORMAL)))


def worst_of_rounding(risk: RegularizedRisk, a: Array, b: Array, found: Certificate) -> Certificate:
    """Return the certificate with what rounding of decision values can change.

    Decision values add up in one order here and in another in a prediction. Gap and dual value
    hold for all decision values that are as close as rounding. Where rounding could change the
    objective by a useless gap, as weights of 1e12 do, decision values are multiplied again and
    the objective is the largest of all. What coefficients miss of ``B'a = d``, beyond rounding, is
    worth as much as b.
    """
    if found.residual > KNOWN_ROUNDING:
        missed = float(np.abs(risk.B.T @ a - risk.d) @ np.abs(b))
        found = _worst_of_values(risk, a, b, found)
        return replace(found, dual=found.dual - missed, gap=found.gap + 2.0 * missed)
    return _worst_of_values(risk, a, b, found)


def _worst_of_values(risk: RegularizedRisk, a: Array, b: Array, found: Certificate) -> Certificate:
    """Return the certificate at the worst decision values."""
    delta = decision_error(risk, a, b, found.f)
    effect = rounding_effect(risk, a, found.f, delta)
    if effect <= GAP_ROUNDING * abs(found.primal):
        return found
    if effect <= MAX_RELATIVE_GAP * abs(found.primal):
        dual = found.dual - 0.5 * float(np.abs(a) @ delta)
        return replace(found, dual=dual, gap=found.gap + effect)
    Ka = risk.K.product(a, np.arange(risk.n))
    found = risk.certificate(a, b, Ka)
    worst = risk.certificate(a, b, Ka, decision_error(risk, a, b, found.f))
    gap = max(worst.gap, worst.primal - worst.dual)
    if not np.isfinite(gap):
        return found
    return replace(found, primal=worst.primal, dual=worst.dual, gap=gap)


def rounding_effect(risk: RegularizedRisk, a: Array, f: Array, delta: Array | float) -> float:
    """Return by how much a change of decision values by ``delta`` can change objective and gap."""
    value = risk.terms.value
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.maximum(value(f + delta), value(f - delta)) - value(f)
        return float(np.nan_to_num(np.sum(moved + np.abs(a) * delta), nan=np.inf))


def negligible_gap(risk: RegularizedRisk, f: Array) -> float:
    r"""Return a gap that proves the function: no better one is a thousandth of the targets away.

    Because half the squared norm is strongly convex, no function with a lower objective differs by
    more than :math:`\sqrt{2\,gap\,k(x, x)}` at x.
    """
    largest = float(np.max(np.abs(risk.K.diag()), initial=0.0))
    price = float(np.sum(np.abs(risk.d)))
    size = float(np.max(np.abs(risk.y), initial=0.0))
    if price:
        # Coefficients of a region add up to the price of its width, and make nothing where the
        # origin is among its points: labels are no unit of decision values, but a limit of one.
        size = min(size, NEGLIGIBLE_TARGET_PART * price * largest)
    size = max(size, float(np.max(np.abs(f), initial=0.0)))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = np.square(NEGLIGIBLE_TARGET_PART * size) / (2.0 * np.float64(largest))
    return float(np.nan_to_num(found, nan=np.inf, posinf=np.inf))


def gap_resolution(risk: RegularizedRisk, a: Array, b: Array, f: Array, objective: float) -> float:
    """Return a duality gap that is negligible: rounding, and a part of the losses of a constant.

    That is what rounding of decision values and targets can cause where the objective is nothing
    else: constant targets, or a single class. And it is a part of the losses of a constant
    (of the price of a width, if there is one), where the optimum explains all but a millionth of
    them. Neither counts where the gap leaves open what the function is, as with weights of 1e12.
    """
    lower, upper = risk.box()
    slopes = np.where(np.isfinite(upper - lower), upper - lower, np.abs(a))
    value = risk.terms.value
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = rounding_effect(risk, a, f, KNOWN_ROUNDING * risk.size(a, b, f))
        rounding += float(np.sum(KNOWN_ROUNDING * slopes * np.abs(risk.y)))
        losses = float(np.sum(np.abs(value(np.full(risk.n, np.mean(risk.y))))))
    # Targets of 1e13 with a spread of one have an objective that is more than a few roundings.
    own = rounding_effect(risk, a, f, decision_error(risk, a, b, f))
    rounding = rounding if abs(objective) - own <= MAX_ROUNDING_PART * rounding else 0.0
    price = float(np.sum(np.abs(risk.d)))
    width = 0.5 * price**2 * float(np.max(risk.K.diag())) if price else 0.0
    none = rounding + MAX_RELATIVE_GAP * NEGLIGIBLE_LOSS_PART * (losses + width)
    return min(float(np.nan_to_num(none, posinf=0.0)), negligible_gap(risk, f))


def rounding_of(risk: RegularizedRisk, s: Solution) -> float:
    """Return how much of the gap of a solution may be rounding of its decision values."""
    return rounding_effect(risk, s.a, s.f, decision_error(risk, s.a, s.b, s.f))
