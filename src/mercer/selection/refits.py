"""Search for hyperparameters by cross-validation of the machine itself.

A machine that closed criteria do not speak for (censored targets, reweighted samples, constraints,
linear programs) is fitted again without every fold, and its own loss there is minimized: over a few
widths and weights on some of the rows first, by a simplex on all of them then. Of a machine that
follows the least-squares machine, C or nu may be chosen by folds along a path of warm starts.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from sklearn.base import clone, is_classifier

from mercer._sklearn import safe_indexing
from mercer._typing import AnyArray, Array, PointsLike, Predictor, TargetsLike, WeightsLike
from mercer.estimators.censored import CensoredRegressor
from mercer.estimators.robust import RobustLSSVR
from mercer.kernels.base import Kernel
from mercer.kernels.precomputed import Precomputed
from mercer.losses.base import Loss
from mercer.losses.interval import within
from mercer.losses.regression import Squared
from mercer.machines.base import KernelMachine
from mercer.machines.folds import as_splitter
from mercer.machines.subproblems import Rows
from mercer.selection.least_squares_problem import Statement
from mercer.selection.objective import Descent, Search, Stop
from mercer.selection.space import WIDE, Limits
from mercer.smoothing.survival import kaplan_meier

__all__ = ["Refits", "choose_weight", "held_out_loss", "splitter"]


def splitter(y: AnyArray, folds: int, classification: bool) -> Any:
    """Return folds that hold all classes, fewer of them if a class has few samples."""
    rarest = int(np.min(np.unique(y, return_counts=True)[1])) if classification else 0
    if rarest < 2:
        return as_splitter(folds, y)
    return as_splitter(min(folds, rarest), y, classifier=True)


def held_out_loss(machine: Predictor, X: PointsLike, y: TargetsLike, weights: Any = None) -> float:
    """Return the summed loss of a machine on samples that it was not fitted to.

    Mistakes of a classifier. The own loss of a regressor, or squared errors if its loss is zero
    over a whole tube, whose width would otherwise be best infinite.

    Parameters
    ----------
    machine : KernelMachine
        Fitted.
    X, y, weights
        The samples.
    """
    losses = held_out_losses(machine, X, y)
    return float(np.sum(losses) if weights is None else losses @ weights)


@singledispatch
def held_out_losses(machine: Predictor, X: PointsLike, y: TargetsLike) -> Array:
    """Return the loss of a machine at every sample.

    Parameters
    ----------
    machine : estimator
        Fitted.
    X, y
        The samples.
    """
    predicted = machine.predict(X)
    if is_classifier(machine):
        return np.asarray(predicted != y, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    losses = np.asarray(_not_flat(machine).value(np.ravel(y), np.ravel(predicted)))
    return np.asarray(losses.reshape(len(y), -1).sum(axis=1))


@held_out_losses.register
def _(machine: CensoredRegressor, X: PointsLike, y: TargetsLike) -> Array:
    """Return losses of the distance to the intervals of censored targets."""
    known = machine._scaled(y)
    anchors, below, above = known.anchored()
    losses = within(_not_flat(machine), below, above).value(
        anchors, machine._evaluate(machine._check_new(X))
    )
    if machine.weighting is None:
        return np.asarray(losses)
    time, event = known.right_censored("weighting='ipcw'")
    unseen = kaplan_meier(time, event, reverse=True).before(time)
    return np.asarray(np.where(event, losses / np.where(event, unseen, 1.0), 0.0))


@held_out_losses.register
def _(machine: RobustLSSVR, X: PointsLike, y: TargetsLike) -> Array:
    """Return absolute errors: the size c of the own loss is small where the sample is learned."""
    y = np.asarray(y, dtype=np.float64)
    return np.asarray(np.abs(machine.predict(X) - y).reshape(len(y), -1).sum(axis=1))


def _not_flat(machine: Predictor) -> Loss:
    """Return the loss of a machine; the squared loss if its own is zero over a tube, or unknown."""
    # The loss of a problem with a width is not the loss of a prediction.
    if not isinstance(machine, KernelMachine) or not (
        machine._direct or "loss" in machine.get_params(deep=False)
    ):
        return Squared()
    try:
        loss: Loss = machine._loss(Rows(None))
    except (AttributeError, ValueError):
        return Squared()
    flat = float(loss.value(np.zeros(1), np.full(1, 1e-12))[0]) == 0.0
    return Squared() if flat else loss


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


# Weights that are tried around the one given, a decade apart, then half a decade around the best.
DECADES = (0.01, 0.1, 1.0, 10.0)
HALF = 10**0.5
NUS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
# A path ends when so many values in a row were worse than the best by the factor WORSE.
PATH_PATIENCE = 1


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
    path = _Path(estimator, X, y, sample_weight, kernel, objective, folds)
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


class _Path:
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
            if worse > PATH_PATIENCE:
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
