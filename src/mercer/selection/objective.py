"""Searches for hyperparameters by criteria with gradients, their trials and their time."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, minimize

from mercer._deadline import deadline, time_left
from mercer._typing import (
    Array,
    PointsLike,
    TargetsLike,
    WeightsLike,
)
from mercer.kernels.base import Kernel
from mercer.machines.base import KernelMachine
from mercer.selection.least_squares_problem import Statement, state
from mercer.selection.space import ActiveBound, Limits, Space
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import AIC, BIC, GCV, Criterion, Evidence, LeaveOneOut
from mercer.smoothing.factored import Factored
from mercer.smoothing.logistic_evidence import LogisticEvidence

__all__ = [
    "CRITERIA",
    "SHORT",
    "Best",
    "Descent",
    "End",
    "LogisticObjective",
    "Objective",
    "Pace",
    "Search",
    "Stop",
    "Surface",
    "Trial",
    "bfgs",
    "criterion_of",
    "criterion_surface",
    "listed",
    "work",
]


# Rows beyond which factors, and not kernel values, are most of the work: 2,000 rows took 24 times
# as long as 500.
CUBIC = 2500.0
# Share of an evaluation that a fit to as many rows takes: a criterion and its gradient are several
# factorizations, held-out losses several fits.
FIT = 0.25
# Largest share of a limit that is kept for the last fit, and the least that this fit is given, in
# seconds: half a machine is of no use to anybody.
KEPT, LEAST = 0.5, 0.3


class Stop(Exception):  # noqa: N818
    """Raised when a budget is spent or a callback ends the search."""


@dataclass(eq=False)
class Pace:
    """The clock of a search, which ends it before an evaluation that would end too late.

    Parameters
    ----------
    limit : float, optional
        Seconds for the search and the fit after it.
    rows : int, default=0
        Rows of the fit after it.
    """

    limit: float | None = None
    rows: int = 0
    began: float = field(default_factory=lambda: time.perf_counter())
    unit: float = 0.0
    """Seconds of the last evaluation over its work; 0 before there was one."""

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.began

    @property
    def late(self) -> bool:
        """Whether time is used up."""
        return self.limit is not None and self.elapsed > self.limit

    def start(self, rows: int) -> None:
        """Begin an evaluation on so many rows, or stop because it would end too late."""
        time_left()  # ends a search that nobody waits for
        self._since = self.elapsed
        if self.limit is None:
            return
        fit = min(FIT * self.unit * work(self.rows), KEPT * self.limit)
        if self.unit and self._since + self.unit * work(rows) + fit > self.limit:
            raise Stop

    def end(self, rows: int) -> None:
        """Learn from the evaluation that began last."""
        self.unit = (self.elapsed - self._since) / work(rows)

    def last_fit(self) -> AbstractContextManager[None]:
        """Return the limit of the fit after the search: what is left, but not nothing."""
        if self.limit is None:
            return nullcontext()
        return deadline(max(self.limit - self.elapsed, LEAST))


def work(rows: int) -> float:
    """Return the work of an evaluation in arbitrary units.

    Examples
    --------
    >>> work(2000) / work(500)
    24.0
    """
    return float(np.square(float(rows)) * (CUBIC + rows))


CRITERIA: dict[str, Callable[[], Criterion]] = {
    "loo": LeaveOneOut,
    "gcv": GCV,
    "aic": AIC,
    "bic": BIC,
    "evidence": Evidence,
}
"""Criteria by name, for least-squares machines."""

# Signal-to-noise ratios that are tried.
RATIOS = np.geomspace(1e-3, 1e6, 19)
# Starts of neighbouring widths whose ratios are as few of these steps apart are the same start.
ALIKE = 2
# Rows that show where the optimum is: so many, so many a feature, and no more.
MIN_START_ROWS, START_ROWS_PER_FEATURE, MAX_START_ROWS = 250, 10, 350
# A step that changes the criterion by less than this is the last, where all rows are few.
MIN_CHANGE = 3e-5
# Of many rows, where a sample is far from telling hyperparameters apart: natural logarithms of a
# likelihood that are not worth another step on a part of the rows, and on all of them.
MIN_PART_NATS, MIN_WHOLE_NATS = 0.15, 0.2
# A descent that gained more than this begins once more where it ended, with a short first step.
AGAIN, SHORT = 1e-2, 0.2
# Natural logarithms of a likelihood by which an end on a part of the rows must be worse than
# another for all rows not to be asked.
MAX_NATS_BEHIND = 6.0
# Criteria feel a change of the width about as much as of the weight to this power.
STEEP = 4.0


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

    def __str__(self) -> str:
        where = f"{self.stage}, {self.rows} rows, {self.seconds:.1f} s"
        return f"{where}: {self.value:.5g} at {listed(self.parameters)}"


def listed(parameters: dict[str, Any]) -> str:
    """Return hyperparameters in a line, numbers with a few digits.

    Parameters
    ----------
    parameters : dict

    Examples
    --------
    >>> listed({"C": 12.3456, "kernel__length_scale": [0.5, 2.0]})
    'C=12.35, kernel__length_scale=[0.5 2]'
    """
    return ", ".join(f"{name}={_short(value)}" for name, value in parameters.items())


def _short(value: Any) -> str:
    value = np.asarray(value, dtype=object)
    if value.ndim == 0:
        return f"{value.item():.4g}" if isinstance(value.item(), float) else repr(value.item())
    return "[" + " ".join(f"{float(v):.3g}" for v in value) + "]"


class Descent(NamedTuple):
    """The end of a descent."""

    theta: Array
    score: float
    """The criterion there, with the price of unequal length scales."""

    status: str
    """Why it ended."""

    inverse: Array | None = None
    """Inverse Hessian there, where gradients are known."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best trial of a search."""

    value: float
    """The criterion."""

    params: dict[str, Any]
    """Parameters of the machine."""

    kernel: Kernel
    """The kernel."""

    C: float
    """The weight of the loss."""

    bounds: list[ActiveBound]
    """Those that hold a parameter."""


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
    pace : Pace
        When to stop.
    listener : callable, optional
        Sees every trial; a true answer stops.
    """

    statement: Statement
    space: Space
    prior: float = 1.0
    pace: Pace = field(default_factory=Pace)
    listener: Callable[[Trial], object] | None = None
    trials: list[Trial] = field(default_factory=list)
    thetas: list[Array] = field(default_factory=list)
    weights_: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    error: Exception | None = None
    """The last failure of a fit."""

    @property
    @abstractmethod
    def few(self) -> int:
        """Rows of the sample on which starts are looked for."""

    @abstractmethod
    def starts(self, few: Statement, thetas: Sequence[Array]) -> list[tuple[float, Array]]:
        """Return starts of a descent with their scores, the best first.

        Parameters
        ----------
        few : Statement
            Some of the samples.
        thetas : sequence of arrays
            Vectors of the kernels, from narrow to wide; their weights do not matter.
        """

    @abstractmethod
    def descend(
        self, statement: Statement, theta: Array, budget: int, stage: str, step: float = 1.0
    ) -> Descent:
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
        step : float, default=1.0
            Length of the first step, in logarithms; short where the start is near to the optimum.
        """

    def finish(self, statement: Statement, end: Descent, budget: int, stage: str) -> Descent:
        """Descend on more rows from the end of a descent on a part of them.

        Parameters
        ----------
        statement : Statement
            The problem of more rows, or of all.
        end : Descent
        budget : int
            Largest number of evaluations.
        stage : str
            Its purpose.
        """
        return self.descend(statement, end.theta, budget, stage, SHORT)

    def apart(self, rows: int) -> float:
        """Return how much a score must be worse to be out of the race on so many rows."""
        return np.inf

    @abstractmethod
    def score(self, statement: Statement, theta: Array, stage: str) -> float:
        """Return the criterion with the price of unequal length scales; infinite if it fails.

        Parameters
        ----------
        statement : Statement
            The problem, or the problem of some samples.
        theta : array
            Hyperparameters.
        stage : str
            Its purpose.
        """

    def params(self, kernel: Kernel, weight: float) -> dict[str, Any]:
        """Return the parameters of the machine with a kernel and a weight."""
        return {"kernel": kernel, "C": weight}

    def bounds(self, theta: Array) -> list[ActiveBound]:
        """Return the bounds that hold a parameter at a vector."""
        return []

    def best(self) -> Best:
        """Return the best trial on most rows."""
        most = max((trial.rows for trial in self.trials), default=0)
        tried = [k for k, trial in enumerate(self.trials[: len(self.scores)]) if trial.rows == most]
        k = min(tried, key=lambda one: self.scores[one], default=None)
        if k is None or self.scores[k] == np.inf:
            raise ValueError(
                f"the machine could not be fitted with any of {len(self.trials)} kernels and "
                f"weights: {self.error}"
            ) from self.error
        kernel, _ = self.space.at(self.thetas[k])
        params = self.params(kernel, self.weights_[k])
        bounds = self.bounds(self.thetas[k])
        return Best(self.trials[k].value, params, kernel, self.weights_[k], bounds)

    def record(
        self,
        stage: str,
        theta: Array,
        value: float,
        rows: int,
        weight: float,
        name: str | None = "C",
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
        weight : float
            The weight of the loss.
        name : str or None, default="C"
            The parameter that the weight is; None if the machine has no such parameter.
        """
        self.pace.end(rows)
        kernel, _ = self.space.at(theta)
        self.thetas.append(theta.copy())
        self.weights_.append(weight)
        uneven, _ = self.space.spread(theta)
        self.scores.append(self.compared(value) + self._scale(rows) * uneven)
        self.note(stage, kernel, {} if name is None else {name: weight}, value, rows)

    def note(
        self, stage: str, kernel: Kernel, others: dict[str, Any], value: float, rows: int
    ) -> None:
        """Keep a trial of a kernel and other parameters, and stop if there should be no more."""
        params = kernel.get_params()
        shown = others | {f"kernel__{name}": params[name] for name in self.space.names}
        trial = Trial(stage, shown, value, rows, self.pace.elapsed)
        self.trials.append(trial)
        heard = self.listener is not None and bool(self.listener(trial))
        if heard or self.pace.late:
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
    r"""Evaluates a criterion of the least-squares machine, with its gradient.

    The last entry of a vector is the logarithm of the signal-to-noise ratio,
    :math:`C \operatorname{tr}(PKP)/n` with P the projection off the unpenalized columns: it means
    the same for wide kernels as for narrow ones, so that it has bounds, and it changes little along
    the valley in which width and C grow together.

    Parameters
    ----------
    statement, space, prior, pace, listener :
        As in :class:`Search`.
    criterion : Criterion
    """

    criterion: Criterion
    ratios: ClassVar[Array] = RATIOS
    seen: dict[tuple[int, bytes], tuple[float, Array]] = field(default_factory=dict)

    @property
    def few(self) -> int:
        return max(MIN_START_ROWS, min(START_ROWS_PER_FEATURE * self.statement.p, MAX_START_ROWS))

    @cached_property
    def limits(self) -> Limits:
        """The bounds of vectors."""
        return Limits.of(self.space, self.statement)

    def curve(
        self,
        statement: Statement,
        theta: Array,
        weights: Array,
        stage: str,
        relative: bool = False,
    ) -> Array:
        """Return the criterion for several weights of the loss, from one eigendecomposition.

        Parameters
        ----------
        statement : Statement
            The problem, or the problem of some samples.
        theta : array
            Hyperparameters; the weight at its end does not matter.
        weights : array
            C, or signal-to-noise ratios.
        stage : str
            Its purpose.
        relative : bool, default=False
            Whether weights are signal-to-noise ratios.
        """
        self.pace.start(statement.n)
        kernel, _ = self.space.at(theta)
        spectral = Spectral(kernel.symmetric(statement.X), statement.B, statement.weights)
        signal = spectral.signal or 1.0
        Cs = weights / signal if relative else weights
        values = self._restricted(statement).curve(spectral, statement.Y, Cs)
        if not spectral.signal:
            values = np.full_like(values, values[0])  # but for rounding, which must not choose C
        best = int(np.argmin(values))
        moved = theta.copy()
        moved[-1] = np.log(Cs[best] * signal)
        self.record(stage, moved, float(values[best]), statement.n, float(Cs[best]))
        return values

    def value_and_gradient(
        self, statement: Statement, theta: Array, stage: str
    ) -> tuple[float, Array]:
        """Return the criterion, or its logarithm, and the derivatives by the vector.

        Infinite where the kernel matrix cannot be factorized.
        """
        key = (statement.n, theta.tobytes())
        if key not in self.seen:
            self.pace.start(statement.n)
            self.seen[key] = self._value_and_gradient(statement, theta, stage)
        return self.seen[key]

    def _value_and_gradient(
        self, statement: Statement, theta: Array, stage: str
    ) -> tuple[float, Array]:
        kernel, ratio = self.space.at(theta)
        criterion = self._restricted(statement)
        try:
            K = kernel.symmetric(statement.X)
            factored = Factored(
                K, statement.B, statement.weights, ratio=float(ratio), overwrite=True
            )
        except ValueError as error:
            self.error = error
            return np.inf, np.zeros_like(theta)
        value, G, by_log_C = criterion.gradient(factored, statement.Y, at_ratio=True)
        if not np.isfinite(value) or (self.criterion.positive and value <= 0):
            return np.inf, np.zeros_like(theta)
        slopes = kernel.pullback(statement.X, G) if self.space.names else {}
        gradient = self.space.gradient(kernel, slopes, by_log_C)
        self.record(stage, theta, value, statement.n, factored.C)
        if self.criterion.positive:
            gradient = gradient / value
        uneven, slope = self.space.spread(theta)
        scale = self._scale(statement.n)
        return self.compared(value) + scale * uneven, gradient + scale * slope

    def score(self, statement: Statement, theta: Array, stage: str) -> float:
        return self.value_and_gradient(statement, self.limits.clip(theta), stage)[0]

    def bounds(self, theta: Array) -> list[ActiveBound]:
        return self.limits.active(theta)

    def starts(self, few: Statement, thetas: Sequence[Array]) -> list[tuple[float, Array]]:
        thetas = [self.limits.clip(theta) for theta in thetas]
        values = np.array([self.curve(few, one, self.ratios, "start", True) for one in thetas])
        found: list[tuple[int, int]] = []
        for flat in np.argsort(values, axis=None, kind="stable"):
            row, column = divmod(int(flat), len(self.ratios))
            lowest = values[row, column] <= np.min(values[row, max(column - 1, 0) : column + 2])
            apart = all(abs(row - i) > 1 or abs(column - j) > ALIKE for i, j in found)
            if lowest and apart and (values[row, column] < np.inf or not found):
                found.append((row, column))
        return [
            (float(values[i, j]), np.append(thetas[i][:-1], np.log(self.ratios[j])))
            for i, j in found
        ]

    def descend(
        self, statement: Statement, theta: Array, budget: int, stage: str, step: float = 1.0
    ) -> Descent:
        theta = self.limits.clip(theta)
        value, used, ended = self.score(statement, theta, stage), 1, "converged"
        inverse = None
        while np.isfinite(value):
            before = value
            theta, value, more, inverse = self._round(statement, theta, budget - used, stage, step)
            used, step = used + more, min(step, SHORT)
            if used >= budget:
                ended = f"budget of {budget} evaluations spent"
                break
            # Curvatures that were learnt across a plateau end a round too early. After a part of
            # the rows another descent follows anyway.
            if before - value < AGAIN or statement is not self.statement:
                break
        return Descent(theta, value, ended, inverse)

    def finish(self, statement: Statement, end: Descent, budget: int, stage: str) -> Descent:
        if end.inverse is None:
            return super().finish(statement, end, budget, stage)
        found = bfgs(
            lambda theta: self.value_and_gradient(statement, theta, stage),
            self.limits.clip(end.theta),
            (self.limits.lower, self.limits.upper),
            end.inverse,
            MIN_WHOLE_NATS * self._nat(statement.n),
            budget - 1,
        )
        status = f"budget of {budget} evaluations spent" if found.spent else "converged"
        return Descent(found.x, found.value, status, found.inverse)

    def apart(self, rows: int) -> float:
        return MAX_NATS_BEHIND * self._nat(rows)

    def _nat(self, rows: int) -> float:
        """Return the change of a score that is one natural logarithm of a likelihood."""
        return (2.0 if self.criterion.positive else 1.0) / rows

    def _round(
        self, statement: Statement, theta: Array, budget: int, stage: str, step: float
    ) -> tuple[Array, float, int, Array | None]:
        """Return the end of one run of L-BFGS-B, score, new evaluations and inverse Hessian."""
        first, slope = self.value_and_gradient(statement, theta, stage)
        scale = np.ones_like(theta)
        scale[-1] = STEEP
        # Between bounds on all sides the first step of L-BFGS-B is the gradient: in these units it
        # has the wanted length.
        scale *= np.sqrt(step / (float(np.linalg.norm(slope * scale)) or step))

        start: Any = theta / scale

        def value_and_gradient(z: Array) -> tuple[float, Array]:
            at = theta if np.array_equal(z, start) else z * scale
            value, gradient = self.value_and_gradient(statement, at, stage)
            return value - first, gradient * scale

        # The evaluation at the start is known already.
        enough = MIN_CHANGE
        if statement is not self.statement:
            enough = MIN_PART_NATS * self._nat(statement.n)
        options: Any = {"maxfun": budget + 1, "ftol": enough, "maxls": 8}
        answer = minimize(
            value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(self.limits.lower / scale, self.limits.upper / scale),
            options=options,
        )
        end, score = answer.x * scale, first + float(answer.fun)
        if not score < first:
            return theta, first, answer.nfev - 1, None
        learned: Any = answer.hess_inv
        return end, score, answer.nfev - 1, learned.todense() * np.outer(scale, scale)

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


# A step must bring this share of what its slope promises; it is shortened at most so many times.
MIN_DESCENT_SHARE, MAX_SHORTENINGS = 1e-4, 6
# Logarithms by which a step moves one parameter at most.
MAX_LOG_STEP = 2.0
# A gain below this share of what is enough, when little more was expected, ends the descent.
LITTLE_GAIN_SHARE, EXPECTED_GAIN_SHARE = 0.3, 3.0
# At a bound: so near, with the slope pointing out.
BOUND_DISTANCE = 1e-9


class End(NamedTuple):
    """Where a descent ended."""

    x: Array
    value: float
    inverse: Array
    """Inverse Hessian."""

    used: int
    """Evaluations after that of the start."""

    spent: bool
    """Whether it ended because there were no more evaluations."""


def bfgs(
    function: Callable[[Array], tuple[float, Array]],
    x: Array,
    bounds: tuple[Array, Array],
    inverse: Array,
    enough: float,
    budget: int,
) -> End:
    """Minimize a function near its minimum, whose inverse Hessian is known approximately (BFGS).

    It ends where another step promises less than `enough`: curvatures that a part of a sample has
    shown tell how far the optimum of the whole is, which a descent that has to learn them does not
    know.

    Parameters
    ----------
    function : callable
        Value and gradient; infinite where it is not defined.
    x : (k,) array
        The start, within the bounds.
    bounds : pair of (k,) arrays
        Lower and upper bounds.
    inverse : (k, k) array
        Inverse Hessian, positive definite.
    enough : float
        Gain that is not worth another evaluation.
    budget : int
        Largest number of evaluations after that of the start.

    Examples
    --------
    >>> A = np.diag([1.0, 10.0])
    >>> box = np.full(2, -3.0), np.array([0.5, 3.0])
    >>> end = bfgs(
    ...     lambda x: (0.5 * x @ A @ x - x.sum(), A @ x - 1.0),
    ...     np.zeros(2),
    ...     box,
    ...     np.linalg.inv(A),
    ...     1e-9,
    ...     10,
    ... )
    >>> end.x.round(6), end.spent
    (array([0.5, 0.1]), False)
    """
    lower, upper = bounds
    value, slope = function(x)
    H, used = inverse, 0
    while np.isfinite(value):
        held = ((x <= lower + BOUND_DISTANCE) & (slope > 0)) | (
            (x >= upper - BOUND_DISTANCE) & (slope < 0)
        )
        free = ~held
        step = np.zeros_like(x)
        step[free] = -H[np.ix_(free, free)] @ slope[free]
        promised = -0.5 * float(slope @ step)
        if promised < enough:
            break
        part = min(1.0, MAX_LOG_STEP / float(np.max(np.abs(step))))
        for _ in range(MAX_SHORTENINGS):
            if used >= budget:
                return End(x, value, H, used, True)
            moved = np.clip(x + part * step, lower, upper)
            found, turned = function(moved)
            used += 1
            along = float(slope @ (moved - x))
            if found <= value + MIN_DESCENT_SHARE * along:
                break
            bent = found - value - along
            part *= float(np.clip(-0.5 * along / bent, 0.1, 0.5)) if np.isfinite(bent) else 0.2
        else:
            break
        gain, s, t = value - found, moved - x, turned - slope
        H = _updated(H, s, t)
        x, value, slope = moved, found, turned
        if (
            gain < LITTLE_GAIN_SHARE * enough
            and promised < EXPECTED_GAIN_SHARE * enough
            and part == 1.0
        ):
            break
    return End(x, value, H, used, False)


def _updated(H: Array, s: Array, t: Array) -> Array:
    """Return the inverse Hessian after a step s that changed the gradient by t."""
    bend = float(s @ t)
    if bend <= 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(t)):
        return H
    V = np.eye(len(s)) - np.outer(s, t) / bend
    return np.asarray(V @ H @ V.T + np.outer(s, s) / bend)


# Decrease per sample by the last of Newton's steps: a search that stops at .2 of the log evidence
# sees nothing of what further steps would tell, each a factorization.
MODE_TOLERANCE = 1e-7


@dataclass(eq=False, kw_only=True)
class LogisticObjective(Objective):
    """Evaluates the evidence of the logistic machine, with its gradient.

    The weight C multiplies the kernel here: with the penalty of the machine as it is, the log odds
    have the prior covariance C K.
    """

    ratios: ClassVar[Array] = np.geomspace(0.5, 500.0, 5)
    evidences: dict[Statement, LogisticEvidence] = field(default_factory=dict)

    def _evidence(self, statement: Statement) -> LogisticEvidence:
        if statement not in self.evidences:
            self.evidences[statement] = LogisticEvidence(
                statement.Y, statement.weights, MODE_TOLERANCE
            )
        return self.evidences[statement]

    def curve(
        self,
        statement: Statement,
        theta: Array,
        weights: Array,
        stage: str,
        relative: bool = False,
    ) -> Array:
        self.pace.start(statement.n)
        kernel, _ = self.space.at(theta)
        K = np.asarray(kernel.symmetric(statement.X), dtype=np.float64)
        signal = _signal(K)
        Cs = weights / signal if relative else weights
        evidence = self._evidence(statement)
        values = np.array([evidence.value(C * K) for C in Cs])
        best = int(np.argmin(values))
        moved = np.append(theta[:-1], np.log(Cs[best] * signal))
        self.record(stage, moved, float(values[best]), statement.n, float(Cs[best]))
        return values

    def _value_and_gradient(
        self, statement: Statement, theta: Array, stage: str
    ) -> tuple[float, Array]:
        kernel, ratio = self.space.at(theta)
        K = np.asarray(kernel.symmetric(statement.X), dtype=np.float64)
        signal, n = _signal(K), statement.n
        C = float(ratio) / signal
        try:
            value, G = self._evidence(statement).gradient(C * K)
        except ValueError as error:
            self.error = error
            return np.inf, np.zeros_like(theta)
        G *= C
        by_log_C = float(np.sum(G * K))
        # At a constant ratio C falls as the variance of the function grows.
        G += by_log_C / (n * n * signal)
        G[np.diag_indices(n)] -= by_log_C / (n * signal)
        slopes = kernel.pullback(statement.X, G) if self.space.names else {}
        gradient = self.space.gradient(kernel, slopes, by_log_C)
        self.record(stage, theta, value, n, C)
        uneven, slope = self.space.spread(theta)
        scale = self._scale(n)
        return value + scale * uneven, gradient + scale * slope


def _signal(K: Array) -> float:
    """Return the mean variance that a kernel matrix has about a constant; one if it has none."""
    size = float(np.mean(np.diag(K)))
    signal = size - float(np.mean(K))
    return signal if signal > len(K) * float(np.finfo(np.float64).eps) * size else 1.0


@dataclass(frozen=True, eq=False)
class Surface:
    """A criterion over widths and weights of the loss."""

    factors: Array
    """What the kernel's length scales were multiplied by, (k,)."""

    Cs: Array
    """Weights of the loss, (m,)."""

    values: Array
    """The criterion, (k, m); smaller is better."""

    kernels: list[Any]
    """The kernel of every row."""

    criterion: Criterion
    """What the values are."""

    @property
    def best(self) -> tuple[int, int]:
        """Where the criterion is least."""
        row, column = np.unravel_index(np.nanargmin(self.values), self.values.shape)
        return int(row), int(column)

    @property
    def best_params(self) -> dict[str, Any]:
        """The kernel and the weight there, for ``set_params``."""
        row, column = self.best
        return {"kernel": self.kernels[row], "C": float(self.Cs[column])}


def criterion_surface(
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    *,
    factors: ArrayLike | None = None,
    Cs: ArrayLike | None = None,
    criterion: Criterion | str = "loo",
    sample_weight: WeightsLike = None,
) -> Surface:
    """Evaluate a criterion of the least-squares machine on a grid of widths and weights.

    Every width takes one eigendecomposition, whatever the number of weights.

    Parameters
    ----------
    estimator : KernelMachine
        Its kernel, free functions and targets are used.
    X, y, sample_weight
        The sample.
    factors : (k,) array, optional
        What the length scales are multiplied by; 25 values from 1/16 to 16 by default.
    Cs : (m,) array, optional
        Weights of the loss; 41 values from 1e-3 to 1e5 by default.
    criterion : Criterion or str, default="loo"
        As in :func:`tune`.

    Returns
    -------
    Surface
        To look at by :class:`~mercer.plotting.CriterionDisplay`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.selection import criterion_surface
    >>> X = np.linspace(-3, 3, 40)[:, None]
    >>> surface = criterion_surface(LSSVR(), X, np.sinc(X[:, 0]))
    >>> surface.values.shape
    (25, 41)
    """
    statement = state(estimator, X, y, sample_weight)
    space = Space.of(statement.kernel, statement.X.shape[1])
    factors = np.geomspace(1 / 16, 16, 25) if factors is None else np.asarray(factors, dtype=float)
    Cs = np.geomspace(1e-3, 1e5, 41) if Cs is None else np.asarray(Cs, dtype=float)
    if not (np.all(factors > 0) and np.all(Cs > 0)):
        raise ValueError("factors and Cs must be positive.")
    objective = Objective(statement, space, criterion=criterion_of(criterion))
    thetas = [space.wider(space.start(1.0), float(np.log(factor))) for factor in factors]
    values = np.array([objective.curve(statement, theta, Cs, "grid") for theta in thetas])
    kernels = [space.at(theta)[0] for theta in thetas]
    return Surface(factors, Cs, values, kernels, objective.criterion)
