"""The problems that a machine would solve on a sample, without solving them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from mercer.gram.base import Gram
from mercer.losses.base import Array
from mercer.machines.base import KernelMachine
from mercer.problems.risk import RegularizedRisk

__all__ = ["Declared", "declare"]


@dataclass(frozen=True)
class Declared:
    """A clone with kernel, classes and automatic parameters settled, on a sample."""

    machine: Any
    X: Any
    y: Any
    weights: Array
    K: Gram
    B: Array
    risks: list[RegularizedRisk]

    def problems(self, weights: Array) -> list[RegularizedRisk]:
        """Return the problems with other weights of the samples."""
        c = self.machine._weight() * weights
        return [risk for _, risk in self.machine._problems(self.B, self.K, self.y, c)]


def declare(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, C: float | None = None
) -> Declared:
    """Take the steps of a fit up to its problems.

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
    y = np.ones(_num_samples(X)) if y is None else y
    X, y, weights, _ = machine._admit(X, y, sample_weight)
    K, B = machine._lay_out(X, y, weights)
    machine._choose(K, B, y, weights)
    problems = machine._problems(B, K, y, machine._weight() * weights)
    return Declared(machine, X, y, weights, K, B, [risk for _, risk in problems])
