r"""Optimality conditions of a machine, sample by sample, and shadow prices of its data.

Optimality of :math:`(a, b)` is three statements: :math:`-f_i` is a slope of the conjugate loss at
:math:`a_i` for every sample, :math:`B'a = d`, and :math:`a` lies in the box of the slopes of the
loss. What each misses by is measured from the data, whoever solved the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.kernels.dot_product import Linear
from mercer.kernels.points import Array
from mercer.machines.base import KernelMachine, unfitted
from mercer.machines.subproblems import prepare
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.certify import SUPPORT_THRESHOLD

__all__ = ["KKT", "ShadowPrices", "kkt", "shadow_prices"]

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class KKT:
    """Optimality conditions of one problem of a machine, from :func:`kkt`."""

    stationarity: float
    """Largest distance of a decision value from where its coefficient says it should be."""

    equality: float
    """Largest entry of ``B'a - d``."""

    bounds: float
    """Largest distance of a coefficient from its box."""

    complementarity: float
    """Largest share of a sample in the duality gap."""

    gap: float
    """Duality gap relative to one plus the objective."""

    objective: float
    """Value of the problem."""

    dual: float
    """Lower bound on it."""

    violation: Array
    """Distances of the decision values, sample by sample."""

    free: Indices
    """Samples whose coefficient is inside of its box and not zero: they determine the intercept."""

    bounded: Indices
    """Samples whose coefficient is on its box: those with a loss."""

    idle: Indices
    """Samples without a coefficient, which could be left out."""

    forces: Array
    r"""What the coefficients pull at the unpenalized functions, :math:`B'a`, (q,).

    In equilibrium zero: the coefficients of a machine with intercept are forces on a plane that
    cancel.
    """

    torques: Array | None
    r"""What they turn it by, :math:`\\sum_i a_i (x_i w' - w x_i')`, for the linear kernel, (p, p).

    In three dimensions the entries of :math:`\\sum_i x_i \\times a_i w`.
    """

    def __str__(self) -> str:
        groups = ("stationarity", "equality", "bounds", "complementarity", "gap")
        worst = ", ".join(f"{name} {getattr(self, name):.1e}" for name in groups)
        counts = f"{len(self.free)} free, {len(self.bounded)} bounded, {len(self.idle)} idle"
        return f"{worst}; {counts} samples"


def kkt(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None
) -> KKT | list[KKT]:
    r"""Check the optimality conditions of a fitted machine on the sample it was fitted to.

    Parameters
    ----------
    machine : KernelMachine
        Fitted.
    X, y, sample_weight :
        As in its ``fit``.

    Returns
    -------
    KKT or list of KKT
        One for each problem of the machine, whose samples are numbered as the problem has them; a
        machine of one problem has the numbers of the sample.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemma 2.1; *Advances in Large
    Margin Classifiers*, MIT Press 2000, sec. 1.3, for forces and torques.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer_research.diagnostics import kkt
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = np.where(X[:, 0] > 0, 1, -1)
    >>> found = kkt(SVC(tol=1e-6).fit(X, y), X, y)
    >>> found.stationarity < 1e-6, found.gap < 1e-6, len(found.free) > 0
    (True, True, True)
    """
    risks, order, points = _problems(machine, X, y, sample_weight)
    solution, reports, at, column = machine.solution_, [], 0, 0
    for risk in risks:
        a, b = solution.a[at : at + risk.n], solution.b[column : column + risk.q]
        at, column = at + risk.n, column + risk.q
        alone = len(risks) == 1
        reports.append(_report(risk, a, b, order if alone else None, points if alone else None))
    return reports[0] if len(reports) == 1 else reports


def _problems(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
) -> tuple[list[RegularizedRisk], Indices | None, Any]:
    """Return the problems that were solved, and the order and points of their samples."""
    twin = unfitted(machine)
    check_is_fitted(machine)
    prepared = prepare(twin, X, y, sample_weight)
    sample, risks = prepared.sample, prepared.risks
    sizes = sum(getattr(risk, "n", -1) for risk in risks)
    if sizes != len(machine.solution_.a):
        raise ValueError(
            f"{type(machine).__name__} was not fitted to such a sample, or its problem is a "
            "program with a certificate of its own: see machine.solution_."
        )
    linear = isinstance(getattr(twin, "kernel_", None), Linear) and not hasattr(sample.X, "tocsr")
    return risks, sample.order, sample.X if linear else None


def _report(risk: RegularizedRisk, a: Array, b: Array, order: Any, points: Any) -> KKT:
    lower, upper = risk.box()
    inside = np.clip(a, lower, upper)
    certificate = risk.certificate(inside, b)
    f = certificate.f
    terms = risk.terms
    shares = np.maximum(terms.value(f) + terms.conjugate(inside) + inside * f, 0.0)
    near = SUPPORT_THRESHOLD * np.minimum(upper - lower, np.max(np.abs(a), initial=0.0))
    held = (a <= lower + near) | (a >= upper - near)
    kinds = [(a != 0) & ~held, (a != 0) & held, a == 0]
    if order is not None:
        place = np.argsort(order)
        kinds = [kind[place] for kind in kinds]
    torques = None
    if points is not None and len(points) == len(a):
        w = points.T @ a
        turn = (points.T * a) @ np.tile(w, (len(a), 1))
        torques = turn - turn.T
    violation = terms.violation(inside, f)
    return KKT(
        stationarity=float(np.max(violation, initial=0.0)),
        equality=float(np.max(np.abs(risk.B.T @ a - risk.d), initial=0.0)),
        bounds=float(np.max(np.maximum(np.maximum(lower - a, a - upper), 0.0), initial=0.0)),
        complementarity=float(np.max(shares, initial=0.0)),
        gap=certificate.gap / (1.0 + abs(certificate.primal)),
        objective=certificate.primal,
        dual=certificate.dual,
        violation=violation if order is None else violation[np.argsort(order)],
        free=np.flatnonzero(kinds[0]),
        bounded=np.flatnonzero(kinds[1]),
        idle=np.flatnonzero(kinds[2]),
        forces=risk.B.T @ a - risk.d,
        torques=torques,
    )


@dataclass(frozen=True, eq=False)
class ShadowPrices:
    """Derivatives of the optimal value of a machine, from :func:`shadow_prices`."""

    targets: Array
    r"""By the targets, (n,): the coefficients :math:`a_i` themselves.

    The value is convex in them, so that it is at least :math:`p + a'\\delta` for any change.
    """

    weights: Array
    """By the weights of the samples, (n,): C times their losses."""

    C: float
    """By the weight of the loss: the sum of the weighted losses.

    The value is concave in C, so that it is at most linear in any change.
    """


def shadow_prices(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None
) -> ShadowPrices:
    r"""Return the shadow prices of a regression: derivatives of its optimum by the data.

    Parameters
    ----------
    machine : KernelMachine
        A fitted regression of one output, with a loss of the residual.
    X, y, sample_weight :
        As in its ``fit``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (2.28) to (2.30).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer_research.diagnostics import shadow_prices
    >>> X, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 0.0, 1.0])
    >>> machine = LSSVR(C=2.0).fit(X, y)
    >>> prices = shadow_prices(machine, X, y)
    >>> bool(np.allclose(prices.targets, machine.solution_.a))
    True
    """
    risks, _, _ = _problems(machine, X, y, sample_weight)
    if len(risks) != 1 or not hasattr(machine, "predict") or hasattr(machine, "classes_"):
        raise ValueError("targets have prices in a regression of one output only.")
    risk, solution = risks[0], machine.solution_
    if np.any(risk.d):
        raise ValueError(
            "a width that is part of the problem has no price; give a machine without nu."
        )
    C = machine._weight()
    losses = risk.loss.value(risk.y, solution.f)
    return ShadowPrices(solution.a, C * losses, float(risk.c @ losses) / C)
