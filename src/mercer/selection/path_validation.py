"""Cross-validation of C, or nu, along a path of warm starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._sklearn import safe_indexing
from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.kernels.precomputed import Precomputed
from mercer.machines.base import KernelMachine
from mercer.selection.held_out_losses import held_out_loss, splitter
from mercer.selection.objective import Search
from mercer.selection.pace import Stop

__all__ = ["choose_weight"]


# Weights that are tried around the one given, a decade apart, then half a decade around the best.
DECADES = (0.01, 0.1, 1.0, 10.0)
HALF = 10**0.5
NUS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
# A path ends when so many values in a row were worse than the best by this factor.
PATIENCE, WORSE = 1, 1.02


def choose_weight(
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    sample_weight: WeightsLike,
    kernel: Kernel,
    objective: Search,
    folds: int = 5,
) -> tuple[dict[str, float], float, str]:
    """Choose ``C``, or ``nu``, of a machine with a kernel by the loss of folds that are left out.

    Parameters
    ----------
    estimator : KernelMachine
        With the weight C to look around.
    X, y, sample_weight
        The sample.
    kernel : Kernel
    objective : Search
        Keeps the trials; its statement says which rows are used.
    folds : int

    Returns
    -------
    dict
        The chosen parameter.
    value : float
        Its loss.
    status : str
    """
    path = Path(estimator, X, y, sample_weight, kernel, objective, folds)
    status = "converged"
    try:
        if path.name == "nu":
            path.follow(NUS)
        else:
            path.follow([decade * float(estimator.C) for decade in DECADES])
            best = path.best()
            path.follow((best / HALF, best * HALF))
    except Stop:
        status = "stopped"
    if not path.tried:
        return {}, np.nan, status
    return {path.name: path.best()}, path.tried[path.best()], status


class Path:
    """The machines of several folds, with warm starts along the weights C or nu."""

    def __init__(
        self,
        estimator: KernelMachine,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike,
        kernel: Kernel,
        objective: Search,
        folds: int,
    ) -> None:
        whole = objective.statement
        some = whole.of(np.flatnonzero(whole.weights > 0))
        self.kernel, self.objective = kernel, objective
        self.name = "nu" if "nu" in estimator.get_params(deep=False) else "C"
        y = np.asarray(y)
        self.y = (y.ravel() if y.size == len(y) else y)[some.rows]
        self.weights = np.ones(some.n)
        if sample_weight is not None:
            self.weights = np.asarray(sample_weight, dtype=np.float64)[some.rows]
        self.splits = list(splitter(self.y, folds, some.classification).split(self.y, self.y))
        settings: dict[str, Any] = {"kernel": kernel, "warm_start": True}
        if getattr(estimator, "standardize", False):
            settings["standardize"] = False  # the kernel's length scales have it in them
        # Free functions may ask for features by name.
        self.points = safe_indexing(X, some.rows) if hasattr(X, "columns") else some.X
        self.K: Array | None = None
        if some.plain:
            # Without other free functions than a constant the matrix is all that machines need.
            self.K = np.asarray(kernel(some.X), dtype=np.float64)
            settings["kernel"] = Precomputed()
        self.machines = [clone(estimator).set_params(**settings) for _ in self.splits]
        self.tried: dict[float, float] = {}

    def follow(self, values: Sequence[float]) -> None:
        """Try values from the smallest on, until they get worse."""
        best, worse = np.inf, 0
        for value in sorted(values):
            self.objective.pace.start(len(self.y))
            loss = self._loss(value)
            self.objective.pace.end(len(self.y))
            self.tried[value] = loss
            self.objective.note(
                f"held out, {self.name}", self.kernel, {self.name: value}, loss, len(self.y)
            )
            worse = worse + 1 if loss > WORSE * best else 0
            best = min(best, loss)
            if worse > PATIENCE:
                break

    def best(self) -> float:
        """Return the best value; the middle value of a tie."""
        least = min(self.tried.values())
        ties = sorted(value for value, loss in self.tried.items() if loss <= least * (1 + 1e-9))
        return ties[len(ties) // 2]

    def _loss(self, value: float) -> float:
        total = 0.0
        for machine, (inside, outside) in zip(self.machines, self.splits, strict=True):
            if self.K is None:
                first = safe_indexing(self.points, inside)
                second = safe_indexing(self.points, outside)
            else:
                first = self.K[np.ix_(inside, inside)]
                second = self.K[np.ix_(outside, inside)]
            machine.set_params(**{self.name: value})
            machine.fit(first, self.y[inside], sample_weight=self.weights[inside])
            total += held_out_loss(machine, second, self.y[outside], self.weights[outside])
        return total / float(self.weights.sum())
