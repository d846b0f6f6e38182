"""Searches without gradients: a surface for the price of its widths, and successive halving."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid

from mercer._sklearn import safe_indexing
from mercer._typing import (
    AnyArray,
    Array,
    Estimator,
    PointsLike,
    Predictor,
    Seed,
    TargetsLike,
    WeightsLike,
)
from mercer.machines.base import KernelMachine
from mercer.selection._statement import state
from mercer.selection.held_out_losses import held_out_loss, splitter
from mercer.selection.objective import Objective, Trial, criterion_of
from mercer.selection.pace import Pace, Stop
from mercer.selection.space import Space
from mercer.selection.tuning import Tuning
from mercer.smoothing.criteria import Criterion

__all__ = ["Surface", "criterion_surface", "halve"]


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


def halve(
    estimator: Estimator,
    X: PointsLike,
    y: TargetsLike,
    candidates: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    *,
    keep: float = 1 / 3,
    min_rows: int = 100,
    folds: int = 5,
    max_time: float | None = None,
    refit: bool = True,
    random_state: Seed = 0,
    callback: Callable[[Trial], object] | None = None,
) -> Tuning:
    """Choose among settings of any machine, with more and more rows for fewer and fewer of them.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier.
    X, y
        The sample.
    candidates : dict of lists, or list of dicts
        Settings for ``set_params``; a dict of lists stands for all combinations.
    keep : float, default=1/3
        Which share of the settings goes on to the next round, on 1/keep times as many rows.
    min_rows : int, default=100
        Rows of the first round.
    folds : int, default=5
        Folds of the cross-validation.
    max_time : float, optional
        Seconds for the search and the fit after it: the best of the last round is taken where
        another setting and this fit would end later.
    refit : bool, default=True
        Fit the chosen machine to all rows.
    random_state : int, Generator or None, default=0
        The order in which rows are taken.
    callback : callable, optional
        Sees every trial; a true answer ends the search.

    Returns
    -------
    Tuning

    See Also
    --------
    sklearn.model_selection.HalvingGridSearchCV : the same idea for pipelines and any score.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileSVR
    >>> from mercer.selection import halve
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> found = halve(QuantileSVR(), X, np.sinc(X[:, 0]), {"gamma": [0.01, 1.0], "C": [1.0, 10.0]})
    >>> found.best_params_["gamma"]
    1.0
    """
    if not 0 < keep < 1:
        raise ValueError(f"keep must lie between 0 and 1, got {keep!r}.")
    combined = ParameterGrid(candidates) if isinstance(candidates, Mapping) else candidates
    left = [dict(one) for one in combined]
    if not left:
        raise ValueError("candidates must hold at least one setting.")
    y = np.asarray(y)
    pace = Pace(max_time, len(y))
    order = np.random.default_rng(random_state).permutation(len(y))
    trials: list[Trial] = []
    rows, status, best_value = min(int(min_rows), len(y)), "converged", np.nan
    while True:
        part = np.sort(order[:rows])
        scores: list[float] = []
        try:
            for one in left:
                pace.start(rows)
                machine = clone(estimator).set_params(**one)
                scores.append(_score(machine, safe_indexing(X, part), y[part], folds))
                pace.end(rows)
                trials.append(Trial("halving", one, scores[-1], len(part), pace.elapsed))
                if pace.late or (callback is not None and bool(callback(trials[-1]))):
                    raise Stop
        except Stop:
            status = "stopped"
        if scores:
            left = [left[k] for k in np.argsort(scores, kind="stable")]
            best_value = float(np.min(scores))
        if status == "stopped" or rows == len(y):
            break
        left = left[: max(1, int(np.ceil(keep * len(left))))]
        # A single setting needs no more rounds; all rows decide between the last ones.
        rows = len(y) if len(left) <= 1 / keep else min(int(rows / keep), len(y))
        if len(left) == 1:
            break
    machine = clone(estimator).set_params(**left[0])
    seconds = pace.elapsed
    if refit:
        with pace.last_fit():
            machine.fit(X, y)
    return Tuning(machine, left[0], best_value, "held out", trials, status, seconds)


def _score(machine: Predictor, X: PointsLike, y: AnyArray, folds: int) -> float:
    """Return the mean loss of folds that were left out."""
    total = 0.0
    for inside, outside in splitter(y, folds, is_classifier(machine)).split(y, y):
        machine.fit(safe_indexing(X, inside), y[inside])
        total += held_out_loss(machine, safe_indexing(X, outside), y[outside])
    return total / len(y)
