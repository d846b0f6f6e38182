"""Search for hyperparameters by cross-validation of the machine itself.

A machine that closed criteria do not speak for (censored targets, reweighted samples, constraints,
linear programs) is fitted again without every fold, and its own loss there is minimized: over a few
widths and weights on some of the rows first, by a simplex on all of them then.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from sklearn.base import clone

from mercer._sklearn import safe_indexing
from mercer._typing import Array, PointsLike, TargetsLike
from mercer.kernels.base import Kernel
from mercer.machines.base import KernelMachine
from mercer.selection._statement import Statement
from mercer.selection.held_out_losses import held_out_loss, splitter
from mercer.selection.limits import WIDE, Limits
from mercer.selection.objective import Descent, Search
from mercer.selection.pace import Stop

__all__ = ["Refits"]


FOLDS = 5
# Weights that are tried on some of the rows: of the loss, in units of the inverse kernel value, and
# shares of samples outside of a margin or tube.
WEIGHTS = 10.0 ** np.arange(-1.0, 6.0)
SHARES = np.array([0.1, 0.2, 0.3, 0.45, 0.6, 0.8])
# A row of weights ends when so many in a row were worse than the best by this factor.
PATIENCE, WORSE = 2, 1.02
# First steps of the simplex, in logarithms: a width and a weight.
WIDER, HEAVIER = np.log(1.7), np.log(3.0)
# Near the kernel of least squares: weights that are tried in units of its own, logarithms that a
# length scale moves at most, and evaluations.
SMALLER, FURTHEST, FEW = (1e-4, 1e-2, 1.0), np.log(30.0), 8
# Length scales in ranges of their features beyond which the kernel is practically a line, and
# constrained fits suffer from rounding.
WIDEST = 30.0
# It ends when its corners are so near to each other, in logarithms and in the loss.
NEAR, ALIKE = 0.1, 1e-3


@dataclass(eq=False, kw_only=True)
class Refits(Search):
    """Evaluates the loss of a machine on folds that it was not fitted to.

    Parameters
    ----------
    statement, space, prior, pace, listener :
        As in :class:`~mercer.selection.objective.Search`.
    machine : KernelMachine
        The machine, with the parameters that stay as they are.
    X, y, weights :
        The whole sample, as for its ``fit``.
    fixed : sequence of str
        Parameters that are not tuned.
    """

    machine: KernelMachine
    X: PointsLike
    y: TargetsLike
    weights: Any
    few = 200
    fixed: Sequence[str] = ()
    lower: Any = -np.inf
    upper: Any = np.inf
    """Bounds of a vector."""
    folds: dict[int, list[tuple[NDArray[np.intp], NDArray[np.intp]]]] = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        """The parameter that is tuned beside the kernel: ``C``, or ``nu`` of a machine without."""
        own = self.machine.get_params(deep=False)
        for name in ("C", "nu"):
            if name in own:
                return None if name in self.fixed else name
        return None

    def params(self, kernel: Kernel, weight: float) -> dict[str, Any]:
        return {"kernel": kernel} | ({} if self.name is None else {self.name: weight})

    def score(self, statement: Statement, theta: Array, stage: str) -> float:
        self.pace.start(statement.n)
        kernel, weight = self.space.at(theta)
        try:
            value = self._held_out(statement, self.params(kernel, weight))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            self.error, value = error, np.inf
        self.record(stage, theta, value, statement.n, weight, self.name)
        uneven, _ = self.space.spread(theta)
        return self.compared(value) + self._scale(statement.n) * uneven

    def _held_out(self, statement: Statement, params: dict[str, Any]) -> float:
        rows = statement.rows[statement.weights > 0]
        y = safe_indexing(self.y, rows)
        if len(rows) not in self.folds:
            labels = np.asarray(y) if statement.classification else np.zeros(len(rows))
            split = splitter(labels, FOLDS, statement.classification)
            self.folds[len(rows)] = list(split.split(labels, labels))
        X, total, size = safe_indexing(self.X, rows), 0.0, 0.0
        weights = np.ones(len(rows)) if self.weights is None else np.asarray(self.weights)[rows]
        for inside, outside in self.folds[len(rows)]:
            machine = clone(self.machine).set_params(**params)
            with warnings.catch_warnings():
                # Far from the optimum fits may stop early; the last fit warns for itself.
                warnings.simplefilter("ignore")
                machine.fit(safe_indexing(X, inside), safe_indexing(y, inside), weights[inside])
            total += held_out_loss(
                machine, safe_indexing(X, outside), safe_indexing(y, outside), weights[outside]
            )
            size += float(weights[outside].sum())
        return total / size

    def near(self, C: float, budget: int) -> str:
        """Minimize the loss near the kernel of the space, and return why it ended.

        Parameters
        ----------
        C : float
            Weight of the loss without constraints. What constraints take from the function is
            noise, so that smaller weights are tried first.
        budget : int
            Largest number of evaluations.
        """
        limits = Limits.of(self.space, self.statement)
        widest = limits.upper[:-1] - np.log(WIDE / WIDEST)
        begin = self.space.start(C)
        # A line that a narrower kernel draws takes a smaller weight, as its slope costs less.
        begin[-1] -= 2.0 * np.max(-widest, initial=0.0)
        begin[:-1] = np.minimum(begin[:-1], widest)
        try:
            best = (np.inf, begin)
            for factor in SMALLER:
                theta = begin + np.append(np.zeros(len(widest)), np.log(factor))
                score = self.score(self.statement, theta, "refits")
                if score > best[0] - ALIKE:
                    break  # before larger weights, with which fits take longer
                best = score, theta
            theta = best[1]
            self.lower = np.append(np.maximum(theta - FURTHEST, limits.lower)[:-1], -np.inf)
            self.upper = np.append(np.minimum(theta[:-1] + FURTHEST, widest), np.inf)
            return self.descend(self.statement, theta, min(budget, FEW), "refits").status
        except Stop:
            return "stopped"

    def starts(self, few: Statement, thetas: Sequence[Array]) -> list[tuple[float, Array]]:
        found = []
        for theta in thetas:
            kernel, _ = self.space.at(theta)
            size = float(np.mean(kernel.diag(few.X))) or 1.0
            tries = {"C": np.log(WEIGHTS / size), "nu": np.log(SHARES), None: np.zeros(1)}
            best, worse = (np.inf, theta), 0
            for weight in tries[self.name]:
                moved = np.append(theta[:-1], weight)
                score = self.score(few, moved, "start")
                worse = worse + 1 if score > best[0] + np.log(WORSE) else 0
                best = min(best, (score, moved), key=lambda one: one[0])
                if worse > PATIENCE:
                    break
            found.append(best)
        return sorted(found, key=lambda one: one[0])

    def descend(
        self, statement: Statement, theta: Array, budget: int, stage: str, step: float = 1.0
    ) -> Descent:
        free = np.arange(len(theta) - (self.name is None))
        if not len(free):
            return Descent(theta, self.score(statement, theta, stage), "converged")

        def at(z: Array) -> Array:
            moved = theta.copy()
            moved[free] = z
            return moved

        def score(z: Array) -> float:
            return self.score(statement, at(z), stage)

        steps = np.full(len(free), WIDER)
        if self.name is not None:
            steps[-1] = HEAVIER if self.name == "C" else -WIDER  # a larger nu may be infeasible
        lower, upper = (np.broadcast_to(one, theta.shape)[free] for one in (self.lower, self.upper))
        steps = np.where(theta[free] + steps > upper, -steps, steps)
        simplex = np.vstack([theta[free], theta[free] + np.diag(steps)])
        options: Any = {
            "initial_simplex": simplex,
            "maxfev": budget,
            "xatol": NEAR,
            "fatol": ALIKE,
        }
        start: Any = theta[free]
        bounds = Bounds(lower, upper)
        answer = minimize(score, start, method="Nelder-Mead", options=options, bounds=bounds)
        ended = "converged" if answer.nfev < budget else f"budget of {budget} evaluations spent"
        return Descent(at(answer.x), float(answer.fun), ended)
