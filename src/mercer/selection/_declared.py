"""The problems that a machine would solve on a sample, without solving them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.estimators.base import KernelMachine
from mercer.problems.risk import RegularizedRisk

__all__ = ["declare", "is_classifier_of_two"]


def declare(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, C: float | None = None
) -> tuple[Any, list[RegularizedRisk]]:
    """Return a clone with kernel and classes settled, and its problems on the sample.

    Parameters
    ----------
    estimator : KernelMachine
        The machine; it is left as it is.
    X, y, sample_weight :
        As in ``fit``; ``y`` may be None for a machine without targets.
    C : float, optional
        Weight of the loss, instead of the machine's own.
    """
    if not isinstance(estimator, KernelMachine):
        raise TypeError(
            f"{type(estimator).__name__} is no kernel machine of this library, so its problem is "
            "not known; give SVC, SVR, KernelClassifier, KernelRegressor or a relative."
        )
    machine = clone(estimator)
    if C is not None:
        if "C" not in machine.get_params():
            raise ValueError(f"{type(machine).__name__} has no parameter C to follow.")
        machine.set_params(C=C)
    y = np.ones(len(X)) if y is None else y
    X, y = machine._check_X(X, y)
    y, factors = machine._encode(y)
    c = machine._weight() * factors * machine._check_weights(sample_weight, len(y))
    order = machine._order(y)
    if order is not None:
        X, y, c = X[order], y[order], c[order]
    K = machine._make_gram(X)
    columns = machine._free_columns(X, machine._null_space())
    return machine, [risk for _, risk in machine._problems(columns, K, y, c)]


def is_classifier_of_two(risks: list[RegularizedRisk]) -> bool:
    """Answer whether there is one problem and its targets are plus and minus one."""
    return len(risks) == 1 and bool(np.all(np.abs(risks[0].y) == 1.0))
