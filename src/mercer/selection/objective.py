"""A criterion of least-squares machines as a function of hyperparameters, with its gradient."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.base import Kernel
from mercer.selection._statement import Statement
from mercer.selection.space import Space
from mercer.smoothing import (
    AIC,
    BIC,
    GCV,
    Criterion,
    Evidence,
    Factored,
    LeaveOneOut,
    Spectral,
)

__all__ = ["CRITERIA", "Objective", "Trial", "criterion_of"]

Array = NDArray[np.float64]

CRITERIA: dict[str, Callable[[], Criterion]] = {
    "loo": LeaveOneOut,
    "gcv": GCV,
    "aic": AIC,
    "bic": BIC,
    "evidence": Evidence,
}
"""Criteria by name, for least-squares machines."""


class Stop(Exception):  # noqa: N818
    """A budget is spent, or whoever listens has seen enough."""


@dataclass(frozen=True)
class Trial:
    """One evaluation."""

    stage: str
    """What it was for."""

    parameters: dict[str, Any]
    """Hyperparameters by name: ``C``, and the kernel's."""

    value: float
    """The criterion; smaller is better."""

    rows: int
    """How many samples it was computed from."""

    seconds: float
    """When it was finished, after the beginning."""


@dataclass(eq=False)
class Objective:
    """Evaluates a criterion, keeps what was tried, and stops when a budget is spent.

    Parameters
    ----------
    statement : Statement
        The problem.
    space : Space
        What is tuned.
    criterion : Criterion
    prior : float
        Weight of unequal length scales, in units of one over the number of samples.
    deadline : float
        Clock time at which to stop.
    listener : callable, optional
        Sees every trial; a true answer stops.
    """

    statement: Statement
    space: Space
    criterion: Criterion
    prior: float = 1.0
    deadline: float = np.inf
    listener: Callable[[Trial], object] | None = None
    trials: list[Trial] = field(default_factory=list)
    thetas: list[Array] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def record(self, stage: str, theta: Array, value: float, rows: int) -> None:
        """Keep an evaluation, and stop if there should be no more."""
        kernel, C = self.space.at(theta)
        self.thetas.append(theta.copy())
        uneven, _ = self.space.spread(theta)
        self.scores.append(self._logarithm(value) + self._scale(rows) * uneven)
        self.note(stage, kernel, {"C": C}, value, rows)

    def note(
        self, stage: str, kernel: Kernel, others: dict[str, Any], value: float, rows: int
    ) -> None:
        """Keep a trial of a kernel and other parameters, and stop if there should be no more."""
        params = kernel.get_params()
        shown = others | {f"kernel__{name}": params[name] for name in self.space.names}
        trial = Trial(stage, shown, value, rows, time.perf_counter() - self.began)
        self.trials.append(trial)
        heard = self.listener is not None and bool(self.listener(trial))
        if heard or time.perf_counter() > self.deadline:
            raise Stop

    def curve(self, statement: Statement, theta: Array, Cs: Array, stage: str) -> Array:
        """Return the criterion for several C, from one eigendecomposition.

        Parameters
        ----------
        statement : Statement
            The problem, or that of some samples.
        theta : array
            Hyperparameters; its C does not matter.
        Cs : array
        stage : str
            What it is for.
        """
        kernel, _ = self.space.at(theta)
        spectral = Spectral(kernel(statement.X), statement.B, statement.weights)
        values = self._for(statement).curve(spectral, statement.Y, Cs)
        best = int(np.argmin(values))
        moved = theta.copy()
        moved[-1] = np.log(Cs[best])
        self.record(stage, moved, float(values[best]), statement.n)
        return values

    def value_and_gradient(
        self, statement: Statement, theta: Array, stage: str
    ) -> tuple[float, Array]:
        """Return the criterion, or its logarithm, and the derivatives by the vector.

        Infinite where the kernel matrix cannot be factorized.
        """
        kernel, C = self.space.at(theta)
        criterion = self._for(statement)
        try:
            factored = Factored(kernel(statement.X), statement.B, statement.weights, C)
        except ValueError:
            return np.inf, np.zeros_like(theta)
        value, G, by_log_C = criterion.gradient(factored, statement.Y)
        if not np.isfinite(value) or (self.criterion.positive and value <= 0):
            return np.inf, np.zeros_like(theta)
        slopes = kernel.pullback(statement.X, G) if self.space.names else {}
        gradient = self.space.gradient(kernel, slopes, by_log_C)
        self.record(stage, theta, value, statement.n)
        if self.criterion.positive:
            gradient = gradient / value
        uneven, slope = self.space.spread(theta)
        scale = self._scale(statement.n)
        return self._logarithm(value) + scale * uneven, gradient + scale * slope

    def _logarithm(self, value: float) -> float:
        """Return a criterion as it is minimized: means of losses by their logarithms."""
        return float(np.log(value)) if self.criterion.positive and value > 0 else value

    def _scale(self, rows: int) -> float:
        """Return what unequal length scales cost."""
        # log J is about 2/n times a log-likelihood; a factor e between features costs prior/2.
        return 2.0 * self.prior / rows

    def _for(self, statement: Statement) -> Criterion:
        """Return the criterion for the samples of a statement that have weight."""
        return self.criterion.restricted(statement.rows[statement.weights > 0])


def criterion_of(criterion: Criterion | str) -> Criterion:
    """Return a criterion given by name or as it is."""
    if isinstance(criterion, Criterion):
        return criterion
    if criterion not in CRITERIA:
        raise ValueError(
            f"criterion must be 'auto', one of {sorted(CRITERIA)} or a Criterion of "
            f"mercer.smoothing, got {criterion!r}."
        )
    return CRITERIA[criterion]()
