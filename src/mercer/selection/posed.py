"""Questions that tuning asks of the problem which a machine poses on a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing

from mercer.losses.base import Array
from mercer.machines.additive import Additive
from mercer.machines.base import KernelMachine
from mercer.machines.shaping import ShapedMachine
from mercer.problems.reductions import linear_system
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.knowledge import as_constraints
from mercer.selection._declared import Declared, declare
from mercer.selection._statement import Statement

__all__ = ["check_tunable", "follows_least_squares", "is_least_squares", "pose"]

AUTOMATIC = ("C", "epsilon", "nu")
"""Parameters that a machine may read off the least-squares machine of its targets."""


def check_tunable(estimator: Any) -> None:
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
            "tune='widths', or scikit-learn's GridSearchCV."
        )
    if "kernel" not in estimator.get_params(deep=False):
        raise ValueError(
            f"{name} has a kernel that its other parameters determine; choose those by "
            "scikit-learn's GridSearchCV, or tune LSSVR with a kernel of mercer.kernels."
        )


def pose(
    estimator: KernelMachine, X: Any, y: Any, sample_weight: Any, statement: Statement
) -> Declared:
    """Return the problem of a machine on the samples of a statement, with its kernel and C = 1.

    Parameters
    ----------
    estimator : KernelMachine
    X, y, sample_weight :
        The whole sample, as for ``fit``, from which rows can be taken.
    statement : Statement
        The kernel, and which rows are used.
    """
    machine = clone(estimator).set_params(kernel=statement.kernel)
    given = machine.get_params(deep=False)
    if given.get("standardize"):
        machine.set_params(standardize=False)  # the kernel's length scales have it in them
    rows = statement.rows
    return declare(
        machine,
        _safe_indexing(X, rows),
        _safe_indexing(y, rows),
        None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[rows],
        C=1.0 if "C" in given else None,
    )


def is_least_squares(posed: Declared) -> bool:
    """Return whether a machine minimizes squared errors, so that closed criteria are its own.

    Every problem must be a linear system in the weights of the samples as they were given, and
    nothing may be known of the function: a loss with another conjugate, reweighting, censored
    targets, prices of unpenalized functions and constraints each make another machine.

    Parameters
    ----------
    posed : Declared
    """
    return (
        not _constrained(posed)
        and all(isinstance(risk, RegularizedRisk) for risk in posed.risks)
        and all(linear_system(risk) is not None for risk in posed.risks)
        and all(_as_weighted(risk.c, posed.weights) for risk in posed.risks)
    )


def follows_least_squares(posed: Declared) -> bool:
    """Return whether a machine reads its C off the least-squares machine of the same targets.

    It does if the loss that its ``C="auto"`` calibrates against squared errors is the loss that it
    poses, or if the width of its tube is part of its problem.

    Parameters
    ----------
    posed : Declared
    """
    machine = posed.machine
    own = machine.get_params(deep=False)
    allowed = machine._parameter_constraints
    if "C" not in own or not all(_accepts_auto(allowed[name]) for name in AUTOMATIC if name in own):
        return False
    if _constrained(posed) or not all(isinstance(risk, RegularizedRisk) for risk in posed.risks):
        return False
    if any(np.any(risk.d) for risk in posed.risks):
        return True
    loss = machine._compared()
    return all(
        type(risk.loss) is type(loss) and _as_weighted(risk.c, posed.weights)
        for risk in posed.risks
    )


def _accepts_auto(constraints: Any) -> bool:
    """Return whether a parameter may be "auto"."""
    return any("auto" in getattr(constraint, "options", ()) for constraint in constraints)


def _constrained(posed: Declared) -> bool:
    """Return whether anything is known of the function beside the sample."""
    machine = posed.machine
    if not isinstance(machine, ShapedMachine):
        return False
    names = getattr(machine, "feature_names_in_", None)
    return bool(as_constraints(machine._knowledge(posed.X), names, posed.X.shape[1]))


def _as_weighted(c: Array, weights: Array) -> bool:
    """Return whether losses are weighted as the samples are, but for one factor.

    A problem of some of the samples, such as two classes of several, is taken to be.
    """
    if len(c) != len(weights):
        return len(c) < len(weights)
    live = weights > 0
    ratio = np.asarray(c)[live] / weights[live]
    return bool(np.allclose(ratio, ratio[0], rtol=1e-12, atol=0.0))
