r"""Machines of a given norm or a given mean loss, found by bisection over C.

.. math::

    \text{(A)}\; \min R(f)\; \text{s.t.}\; Q(f) \le \Lambda \qquad
    \text{(B)}\; \min Q(f) + C \textstyle\sum_i s_i\, l_i \qquad
    \text{(C)}\; \min Q(f)\; \text{s.t.}\; R(f) \le \Lambda'

As C grows Q cannot fall and R cannot rise, so that (A) and (C) are (B) at the right C. Where a
whole segment of trade-offs belongs to one C, which 1-norms have, the solution is a combination of
its two ends: both are optimal for that C, and so is all between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._fitting import AllOrNothing
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import HasMethods, Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.machines.base import KernelMachine, unfitted
from mercer.machines.subproblems import Prepared, SolvedSubproblem, prepare
from mercer.problems.risk import RegularizedRisk
from mercer.problems.sparse_risk import SparseRisk
from mercer.programs.columns import generate_columns
from mercer.solvers import Solution, minimize
from mercer.solvers.solution import join
from mercer_research.selection.l_curve import corner

__all__ = ["FixedComplexity", "ParetoPath", "pareto_path"]

# Weights of the loss between which a level is looked for.
RANGE = 1e-8, 1e10
# Mean weights that are taken as they are.
ORDINARY = 1e-6, 1e6
# Relative width of a bracket of C in which there is nothing left to find.
NARROW = 1e-7
# How well a level is met, relatively.
MET = 1e-9


@dataclass(frozen=True, eq=False)
class LevelPoint:
    """The machine at a value of C: its solutions, the norm of its function and its mean loss."""

    C: float
    solutions: list[Solution]
    norm: float
    risk: float


class Curve:
    """The trade-off of norm and loss: solutions by C, each with a warm start from the last."""

    def __init__(self, prepared: Prepared[KernelMachine]) -> None:
        self.prepared = prepared
        self.risks: Sequence[Any] = prepared.risks
        if any(np.any(risk.d) for risk in self.risks):
            raise ValueError(
                f"{type(prepared.machine).__name__} has a width or margin that is part of its "
                "problem, so that its loss alone has no level; give a machine without nu."
            )
        self.total = float(sum(np.sum(risk.c) for risk in self.risks))
        # Levels are of a mean, whatever the unit of the weights: the search begins where they are
        # ordinary.
        mean = self.total / max(sum(len(risk.c) for risk in self.risks), 1)
        self.unit = 1.0 if ORDINARY[0] <= mean <= ORDINARY[1] else 1.0 / mean
        self.last: LevelPoint | None = None

    def at(self, C: float) -> LevelPoint:
        """Solve at a weight of the loss."""
        solutions = [self._solve(k, C) for k in range(len(self.risks))]
        self.last = self.measure(C, solutions)
        return self.last

    def _solve(self, k: int, C: float) -> Solution:
        risk, machine = self.risks[k], self.prepared.machine
        last = None if self.last is None else self.last.solutions[k]
        if isinstance(risk, SparseRisk):
            start = None if last is None else last.support
            return generate_columns(replace(risk, c=C * risk.c), tol=machine.tol, start=start)[0]
        here = RegularizedRisk(risk.loss, risk.K, risk.y, C * risk.c, risk.B, risk.d)
        if last is not None and self.last is not None:
            ratio = C / self.last.C
            last = replace(last, a=ratio * last.a, b=ratio * last.b, f=ratio * last.f)
        return minimize(here, machine._make_solver(), last)

    def measure(self, C: float, solutions: list[Solution]) -> LevelPoint:
        """Return norm and mean loss of solutions: the root of a'Ka, or the sum of |a|."""
        size = loss = 0.0
        for risk, s in zip(self.risks, solutions, strict=True):
            if isinstance(risk, SparseRisk):
                size, loss = size + risk.norm(s.a), loss + risk.free.risk(s.f)
            else:
                # B'a = 0, so that a'f is a'Ka.
                size, loss = size + max(float(s.a @ s.f), 0.0), loss + risk.risk(s.f)
        sparse = isinstance(self.risks[0], SparseRisk)
        return LevelPoint(C, solutions, size if sparse else float(np.sqrt(size)), loss / self.total)

    def between(self, low: LevelPoint, high: LevelPoint, t: float) -> LevelPoint:
        """Return the combination of two machines, t of the second."""
        mixed = [
            replace(
                p,
                a=(1 - t) * p.a + t * q.a,
                b=(1 - t) * p.b + t * q.b,
                f=(1 - t) * p.f + t * q.f,
            )
            for p, q in zip(low.solutions, high.solutions, strict=True)
        ]
        return self.measure(float(np.sqrt(low.C * high.C)), mixed)


@settings
class FixedComplexity(MetaEstimatorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Fit a machine of a given norm, or of a given mean loss, instead of a given C.

    .. math::

        \min_f R(f)\; \text{s.t.}\; \|f\| \le \Lambda \qquad \text{or} \qquad
        \min_f \|f\|\; \text{s.t.}\; R(f) \le \Lambda', \qquad
        R(f) = \frac{\sum_i s_i\, l(y_i, f(x_i))}{\sum_i s_i}

    Both are the machine at the right C, which is looked for by bisection with warm starts. The norm
    is that of the reproducing kernel, :math:`\sqrt{a'Ka}`, or for machines under the 1-norm
    :math:`\sum_j |a_j|`, whose trade-off has segments of one C: there the machine is a combination
    of their ends.

    Parameters
    ----------
    estimator : KernelMachine
        The machine, with any C.
    max_norm : float, optional
        The bound :math:`\Lambda`.
    max_risk : float, optional
        The bound :math:`\Lambda'` on the mean loss; exactly one of both is given.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    estimator_ : KernelMachine
        The fitted machine.
    C_ : float
        Its weight of the loss.
    norm_, risk_ : float
        What it achieves.
    solution_ : Solution
        Of the machine.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (1.28) to (1.31).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer_research.selection import FixedComplexity
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = FixedComplexity(SVR(gamma=1.0, tol=1e-6), max_norm=1.0).fit(X, np.sin(X[:, 0]))
    >>> round(model.norm_, 4)
    1.0
    >>> model = FixedComplexity(SVR(gamma=1.0, tol=1e-6), max_risk=0.01).fit(X, np.sin(X[:, 0]))
    >>> round(model.risk_, 4)
    0.01
    """

    estimator: KernelMachine
    _: KW_ONLY
    max_norm: float | None = None
    max_risk: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "max_norm": [Interval(Real, 0.0, None, closed="neither"), None],
        "max_risk": [Interval(Real, 0.0, None, closed="left"), None],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the machine at the weight that meets the bound.

        Parameters
        ----------
        X, y : array-like
            The sample.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        """
        if (self.max_norm is None) == (self.max_risk is None):
            raise ValueError("give exactly one of max_norm and max_risk.")
        prepared = prepare(unfitted(self.estimator, C=1.0), X, y, sample_weight)
        curve = Curve(prepared)
        if self.max_norm is not None:
            point, mixed = _level(curve, lambda p: p.norm, float(self.max_norm), rising=True)
        else:
            point, mixed = _level(
                curve, lambda p: p.risk, float(self.max_risk or 0.0), rising=False
            )
            # Below the smallest mean loss that there is.
            if point.risk > (self.max_risk or 0.0) * (1.0 + 1e-6) + 1e-9:
                raise ValueError(
                    f"no function has a mean loss of {self.max_risk}: the smallest is about "
                    f"{point.risk:.6g}. Raise max_risk, or use a richer kernel."
                )
        machine = clone(self.estimator).set_params(C=point.C)
        if mixed:
            machine = prepared.machine.set_params(C=point.C)
            machine.C_, machine.solution_ = point.C, join(point.solutions)
            solved = zip(prepared.subproblems, point.solutions, strict=True)
            machine._assemble(
                prepared.sample, [SolvedSubproblem(s, *one.read(s)) for one, s in solved]
            )
        else:
            machine.fit(X, y, sample_weight)
        self.estimator_, self.solution_ = machine, machine.solution_
        self.C_, self.norm_, self.risk_ = point.C, point.norm, point.risk
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(machine, name):
                setattr(self, name, getattr(machine, name))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags = inner.input_tags
        return tags

    def predict(self, X: PointsLike) -> Any:
        """Predict by the fitted machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the decision function of the fitted machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def score(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> float:
        """Return the score of the fitted machine.

        Parameters
        ----------
        X, y : array-like
            A sample.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        """
        check_is_fitted(self)
        return float(self.estimator_.score(X, y, sample_weight))


def _level(curve: Curve, read: Any, level: float, *, rising: bool) -> tuple[LevelPoint, bool]:
    """Return where a monotone quantity has a level, and whether it is inside of a jump.

    If it never gets there, the point next to it.
    """
    sign = 1.0 if rising else -1.0

    def beyond(p: LevelPoint) -> bool:
        return bool(sign * (read(p) - level) > 0)

    here = curve.at(curve.unit)
    low = high = here
    while beyond(low) and RANGE[0] * curve.unit < low.C:
        low, high = curve.at(0.1 * low.C), low
    while not beyond(high) and RANGE[1] * curve.unit > high.C:
        low, high = high, curve.at(10.0 * high.C)
    if beyond(low) or not beyond(high):
        return (low if beyond(low) else high), False
    while high.C > low.C * (1.0 + NARROW):
        # Regula falsi on the logarithm, kept off the ends so that both come closer.
        v, w = read(low) - level, read(high) - level
        share = float(np.clip(v / (v - w), 0.1, 0.9)) if v != w else 0.5
        middle = curve.at(float(low.C ** (1 - share) * high.C**share))
        if abs(read(middle) - level) <= MET * (abs(level) + MET):
            return middle, False
        if beyond(middle):
            high = middle
        else:
            low = middle
    left, right = 0.0, 1.0
    for _ in range(60):
        t = 0.5 * (left + right)
        left, right = (left, t) if beyond(curve.between(low, high, t)) else (t, right)
    jump = abs(read(high) - read(low)) > 1e-6 * (abs(level) + MET)
    return curve.between(low, high, left), jump


@dataclass(frozen=True, eq=False)
class ParetoPath:
    """The Pareto front of norm against mean loss, from :func:`pareto_path`."""

    Cs: Array
    """Weights of the loss, ascending, (k,)."""

    norms: Array
    """Norms of the functions, not falling, (k,)."""

    risks: Array
    """Mean losses, not rising, (k,)."""

    n_support: NDArray[np.intp]
    """Coefficients that are not zero, (k,)."""

    @property
    def corner(self) -> int:
        """Where the curve bends most in logarithmic axes, the L-curve's choice."""
        # Machines that are nothing, or those before them again, have no place in such axes.
        moved = np.append(True, np.diff(self.risks) < 0) & (self.norms > 0) & (self.risks > 0)
        live = np.flatnonzero(moved)[::-1]
        return int(live[corner(self.risks[live], self.norms[live])])

    @property
    def best(self) -> float:
        """The weight at the corner."""
        return float(self.Cs[self.corner])


def pareto_path(
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    Cs: ArrayLike | None = None,
    *,
    sample_weight: WeightsLike = None,
) -> ParetoPath:
    r"""Return the Pareto front of norm against mean loss, a point for each weight C.

    No machine has both a smaller norm and a smaller loss than a point of the front: every one
    minimizes a weighted sum of both.

    Parameters
    ----------
    estimator : KernelMachine
        The machine; its own C plays no part.
    X, y : array-like
        The sample.
    Cs : (k,) array-like, optional
        Weights of the loss; by default 25 from 1e-3 to 1e3.
    sample_weight : (n,) array-like, optional
        Weights of the samples.

    Returns
    -------
    ParetoPath

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (2.18) and (2.19);
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, fig. 1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer_research.selection import pareto_path
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> path = pareto_path(SVR(gamma=1.0), X, np.sin(X[:, 0]), [0.01, 0.1, 1.0])
    >>> bool(np.all(np.diff(path.norms) >= 0) and np.all(np.diff(path.risks) <= 0))
    True
    """
    values = np.logspace(-3, 3, 25) if Cs is None else np.unique(np.asarray(Cs, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"Cs must be positive numbers, got {Cs!r}")
    curve = Curve(prepare(unfitted(estimator, C=1.0), X, y, sample_weight))
    points = [curve.at(float(C)) for C in values]
    return ParetoPath(
        values,
        np.array([p.norm for p in points]),
        np.array([p.risk for p in points]),
        np.array([sum(np.count_nonzero(s.a) for s in p.solutions) for p in points]),
    )
