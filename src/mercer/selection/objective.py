"""Searches for hyperparameters: a criterion of least-squares machines, and its gradient."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

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

__all__ = ["CRITERIA", "Objective", "Search", "Stop", "Trial", "criterion_of"]

Array = NDArray[np.float64]

CRITERIA: dict[str, Callable[[], Criterion]] = {
    "loo": LeaveOneOut,
    "gcv": GCV,
    "aic": AIC,
    "bic": BIC,
    "evidence": Evidence,
}
"""Criteria by name, for least-squares machines."""

# Weights of the loss that are tried, in units of the inverse kernel value.
WEIGHTS = np.geomspace(1e-2, 1e6, 25)
# Logarithms beyond which C and length scales, relative to their start, say nothing new.
FAR = 25.0
# A step that changes the criterion by less than this share is the last.
ENOUGH = 3e-5
# Criteria feel a change of the width about as much as of the weight to this power.
STEEP = 4.0


class Stop(Exception):  # noqa: N818
    """Raised when a budget is spent or a callback ends the search."""


@dataclass(frozen=True)
class Trial:
    """A trial of a search: hyperparameters and the criterion there."""

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
class Search(ABC):
    """Keeps the trials of a search for hyperparameters, and stops when a budget is spent.

    Parameters
    ----------
    statement : Statement
        The problem.
    space : Space
        The hyperparameters that are tuned.
    prior : float
        Weight of unequal length scales, in units of one over the number of samples.
    deadline : float
        Clock time at which to stop.
    listener : callable, optional
        Sees every trial; a true answer stops.
    """

    statement: Statement
    space: Space
    prior: float = 1.0
    deadline: float = np.inf
    listener: Callable[[Trial], object] | None = None
    trials: list[Trial] = field(default_factory=list)
    thetas: list[Array] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    error: Exception | None = None
    """The last failure of a fit."""

    @abstractmethod
    def starts(self, few: Statement, thetas: Sequence[Array]) -> list[tuple[float, Array]]:
        """Return the best weight of the loss for each of some kernels, with its score.

        Parameters
        ----------
        few : Statement
            Some of the samples.
        thetas : sequence of arrays
            Vectors of the kernels.
        """

    @abstractmethod
    def descend(
        self, statement: Statement, theta: Array, budget: int, stage: str
    ) -> tuple[Array, str]:
        """Descend from a start, in logarithms, until the criterion hardly changes.

        Parameters
        ----------
        statement : Statement
            The problem, or the problem of some samples.
        theta : array
            Hyperparameters to start from.
        budget : int
            Largest number of evaluations.
        stage : str
            Its purpose.

        Returns
        -------
        theta : array
        status : str
            Why it ended.
        """

    def params(self, theta: Array) -> dict[str, Any]:
        """Return the parameters of the machine that a vector stands for."""
        kernel, C = self.space.at(theta)
        return {"kernel": kernel, "C": C}

    def record(
        self, stage: str, theta: Array, value: float, rows: int, weight: str | None = "C"
    ) -> None:
        """Keep an evaluation, and stop if there should be no more.

        Parameters
        ----------
        stage : str
            Its purpose.
        theta : array
            The hyperparameters.
        value : float
            The criterion.
        rows : int
            Number of samples.
        weight : str or None, default="C"
            Name of the last hyperparameter; None if the machine has no such parameter.
        """
        kernel, C = self.space.at(theta)
        self.thetas.append(theta.copy())
        uneven, _ = self.space.spread(theta)
        self.scores.append(self.compared(value) + self._scale(rows) * uneven)
        self.note(stage, kernel, {} if weight is None else {weight: C}, value, rows)

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

    def compared(self, value: float) -> float:
        """Return a criterion as it is minimized: a mean of losses by its logarithm."""
        return float(np.log(value)) if value > 0 else -np.inf

    def _scale(self, rows: int) -> float:
        """Return the price of unequal length scales."""
        # log J is about 2/n times a log-likelihood; a factor e between features costs prior/2.
        return 2.0 * self.prior / rows


@dataclass(eq=False, kw_only=True)
class Objective(Search):
    """Evaluates a criterion of the least-squares machine, with its gradient.

    Parameters
    ----------
    statement, space, prior, deadline, listener :
        As in :class:`Search`.
    criterion : Criterion
    """

    criterion: Criterion

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
        values = self._restricted(statement).curve(spectral, statement.Y, Cs)
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
        criterion = self._restricted(statement)
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
        return self.compared(value) + scale * uneven, gradient + scale * slope

    def starts(self, few: Statement, thetas: Sequence[Array]) -> list[tuple[float, Array]]:
        found = []
        for theta in thetas:
            kernel, _ = self.space.at(theta)
            size = float(np.mean(kernel.diag(few.X))) or 1.0
            values = self.curve(few, theta, WEIGHTS / size, "start")
            best = int(np.argmin(values))
            found.append((float(values[best]), np.append(theta[:-1], np.log(WEIGHTS[best] / size))))
        return found

    def descend(
        self, statement: Statement, theta: Array, budget: int, stage: str
    ) -> tuple[Array, str]:
        scale = np.ones_like(theta)
        scale[-1] = STEEP
        # One side stays open: with both closed the first step would be as short as the gradient.
        bounds = [(t - FAR, t + FAR) for t in theta[:-1]] + [(None, (theta[-1] + FAR) / STEEP)]

        def value_and_gradient(z: Array) -> tuple[float, Array]:
            value, gradient = self.value_and_gradient(statement, z * scale, stage)
            return value, gradient * scale

        options: Any = {"maxfun": budget, "ftol": ENOUGH, "maxls": 8}
        answer = minimize(
            value_and_gradient,
            theta / scale,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        ended = "converged" if answer.nfev < budget else f"budget of {budget} evaluations spent"
        return np.asarray(answer.x * scale), ended

    def compared(self, value: float) -> float:
        return super().compared(value) if self.criterion.positive and value > 0 else value

    def _restricted(self, statement: Statement) -> Criterion:
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
