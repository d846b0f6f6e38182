"""The problem of a machine as tuning sees it: a least-squares problem, and what it stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from mercer._sklearn import safe_indexing
from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.kernels.points import take
from mercer.losses.classification import Logistic
from mercer.machines.additive import Additive
from mercer.machines.base import KernelMachine, unfitted
from mercer.machines.kernel_kinds import is_function
from mercer.machines.shaping import Known
from mercer.machines.subproblems import Prepared, prepare
from mercer.problems.multinomial import MultinomialRisk
from mercer.problems.reductions import linear_system
from mercer.problems.risk import RegularizedRisk

__all__ = [
    "Statement",
    "check_tunable",
    "follows_least_squares",
    "is_constrained",
    "is_least_squares",
    "prepare_statement",
    "state",
]


@dataclass(frozen=True, eq=False)
class Statement:
    """A machine's problem as least squares sees it."""

    X: PointsLike
    """Points, as the machine validated them."""

    Y: Array
    """Targets, (n, d): numbers, or ±1 for each class against the others."""

    B: Array
    """Unpenalized columns, (n, q)."""

    weights: Array
    """Weights of the samples, (n,)."""

    kernel: Kernel
    """The kernel with the parameters it starts from."""

    classification: bool
    """Whether targets are classes."""

    rows: NDArray[np.intp]
    """Which rows of the sample these are."""

    plain: bool = True
    """Whether nothing but a constant is unpenalized."""

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.Y)

    @property
    def p(self) -> int:
        """The number of features; 1 of points that are not rows of a table."""
        shape: Any = getattr(self.X, "shape", ())
        return int(shape[1]) if len(shape) == 2 else 1

    def of(self, rows: NDArray[np.intp]) -> Statement:
        """Return the problem of some of the samples."""
        return replace(
            self,
            X=take(self.X, rows),
            Y=self.Y[rows],
            B=self.B[rows],
            weights=self.weights[rows],
            rows=self.rows[rows],
        )


def state(
    estimator: KernelMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None
) -> Statement:
    """Return the least-squares problem of a machine, with its kernel settled on the sample.

    Parameters
    ----------
    estimator : KernelMachine
        A machine with a kernel.
    X, y, sample_weight
        As for its ``fit``.
    """
    machine = clone(estimator)
    if getattr(machine, "errors", None) is not None:
        raise ValueError(
            "tuning with a model of the errors is not available: estimate the errors first "
            "(estimate_errors), whiten, and tune the rest."
        )
    given = machine.get_params(deep=False)
    machine.set_params(
        **{name: value for name, value in {"gram": "tiled", "C": 1.0}.items() if name in given}
    )
    machine._validate_params()
    rows = machine._validate(X, y, sample_weight)
    n = len(rows.y)
    if n < 2:
        raise ValueError("tuning needs at least two samples, got n_samples=1.")
    sample = machine._build_sample(rows)
    if is_function(machine.kernel) or machine.kernel_.precomputed:
        raise ValueError(
            "a kernel that is a matrix or a plain function has no parameters that could be tuned; "
            "give a mercer.kernels.Kernel, or choose C along a path (LSSVR.path)."
        )
    return Statement(
        X=sample.X,
        Y=machine._targets(sample.y),
        B=sample.B,
        weights=sample.weights,
        kernel=machine.kernel_,
        classification=bool(is_classifier(machine)),
        rows=np.arange(n) if rows.order is None else rows.order,
        plain=set(machine.null_space_names_) <= {"1"},
    )


AUTOMATIC = ("C", "epsilon", "nu")
"""Parameters that a machine may read off the least-squares machine of its targets."""


def check_tunable(estimator: object) -> None:
    """Refuse an estimator whose kernel cannot be tuned, saying which tool to use instead.

    Parameters
    ----------
    estimator : estimator
    """
    name = type(estimator).__name__
    if not isinstance(estimator, KernelMachine):
        raise TypeError(
            f"tuning needs a kernel machine of this library, got {name}; for other estimators use "
            "scikit-learn's GridSearchCV or HalvingGridSearchCV."
        )
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(
            f"{name} predicts no targets, so that no error of samples left out can choose its "
            "kernel; set its parameters, or score labelled samples by mercer.selection.holdout."
        )
    if isinstance(estimator, Additive):
        raise ValueError(
            f"{name} has a kernel for every component; use its own parameter tune='weights' or "
            "scikit-learn's GridSearchCV."
        )
    if "kernel" not in estimator.get_params(deep=False):
        raise ValueError(
            f"{name} has a kernel that its other parameters determine; choose those by "
            "scikit-learn's GridSearchCV, or tune LSSVR with a kernel of mercer.kernels."
        )


def prepare_statement(
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    sample_weight: WeightsLike,
    statement: Statement,
) -> Prepared[KernelMachine]:
    """Return the problem of a machine on the samples of a statement, with its kernel and C = 1.

    Parameters
    ----------
    estimator : KernelMachine
    X, y, sample_weight :
        The whole sample, as for ``fit``, from which rows can be taken.
    statement : Statement
        The kernel, and which rows are used.
    """
    given = estimator.get_params(deep=False)
    machine = unfitted(estimator, C=1.0 if "C" in given else None)
    machine.set_params(kernel=statement.kernel)
    if given.get("standardize"):
        machine.set_params(standardize=False)  # the kernel's length scales have it in them
    rows = statement.rows
    return prepare(
        machine,
        safe_indexing(X, rows),
        safe_indexing(y, rows),
        None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[rows],
    )


def is_least_squares(prepared: Prepared[KernelMachine]) -> bool:
    """Return whether a machine minimizes squared errors, so that closed criteria are its own.

    Every problem must be a linear system in the weights of the samples as they were given, and
    nothing may be known of the function: a loss with another conjugate, reweighting, censored
    targets, prices of unpenalized functions and constraints each make another machine.

    Parameters
    ----------
    prepared : Prepared
    """
    risks = _risks(prepared)
    return (
        risks is not None
        and all(linear_system(risk) is not None for risk in risks)
        and all(_as_weighted(risk.c, prepared.sample.weights) for risk in risks)
    )


def is_logistic(prepared: Prepared[KernelMachine]) -> bool:
    """Return whether a machine minimizes the logistic loss, so that its evidence is known.

    The softmax loss has the kernel and the weight C of one machine a class against the rest.

    Parameters
    ----------
    prepared : Prepared
    """
    if all(isinstance(risk, MultinomialRisk) for risk in prepared.risks):
        return True
    risks = _risks(prepared)
    return risks is not None and all(
        type(risk.loss) is Logistic and _as_weighted(risk.c, prepared.sample.weights)
        for risk in risks
    )


def follows_least_squares(prepared: Prepared[KernelMachine]) -> bool:
    """Return whether a machine reads its C off the least-squares machine of the same targets.

    It does if the loss that its ``C="auto"`` calibrates against squared errors is the loss that it
    poses, or if the width of its tube is part of its problem.

    Parameters
    ----------
    prepared : Prepared
    """
    machine = prepared.machine
    own = machine.get_params(deep=False)
    allowed = machine._parameter_constraints
    if "C" not in own or not all(_accepts_auto(allowed[name]) for name in AUTOMATIC if name in own):
        return False
    risks = _risks(prepared)
    if risks is None:
        return False
    if any(np.any(risk.d) for risk in risks):
        return True
    # Only machines whose width is part of the problem look at a guess.
    calibrated = machine._calibrated_loss(None, prepared.sample)  # type: ignore[arg-type]
    return all(
        type(risk.loss) is type(calibrated) and _as_weighted(risk.c, prepared.sample.weights)
        for risk in risks
    )


def is_constrained(prepared: Prepared[KernelMachine]) -> bool:
    """Return whether something is known of the function, such as a shape.

    Parameters
    ----------
    prepared : Prepared
    """
    return any(isinstance(risk, Known) and bool(risk.known) for risk in prepared.risks)


def _accepts_auto(constraints: Any) -> bool:
    """Return whether a parameter may be "auto"."""
    return any("auto" in getattr(constraint, "options", ()) for constraint in constraints)


def _risks(prepared: Prepared[KernelMachine]) -> list[RegularizedRisk] | None:
    """Return the problems if they are regularized risks and nothing more is known."""
    risks: list[Any] = [risk.plain if isinstance(risk, Known) else risk for risk in prepared.risks]
    return risks if all(isinstance(risk, RegularizedRisk) for risk in risks) else None


def _as_weighted(c: Array, weights: Array) -> bool:
    """Return whether losses are weighted as the samples are, but for one factor.

    A problem of some of the samples, such as two classes of several, is taken to be.
    """
    if len(c) != len(weights):
        return len(c) < len(weights)
    live = weights > 0
    ratio = np.asarray(c)[live] / weights[live]
    return bool(np.allclose(ratio, ratio[0], rtol=1e-12, atol=0.0))
