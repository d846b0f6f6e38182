"""State the least-squares problem of a machine for tuning: points, targets, weights, kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.kernels.points import take
from mercer.machines.base import KernelMachine
from mercer.machines.kernel_kinds import is_function

__all__ = ["Array", "Statement", "state"]


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
        """The number of features; 0 of points that are not rows of a table."""
        shape: Any = getattr(self.X, "shape", ())
        return int(shape[1]) if len(shape) == 2 else 0

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
    if not isinstance(estimator, KernelMachine):
        raise TypeError(
            f"tuning needs a kernel machine of this library, got {type(estimator).__name__}; for "
            "other estimators use scikit-learn's GridSearchCV or HalvingGridSearchCV."
        )
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
