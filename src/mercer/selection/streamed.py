"""Search among settings of machines over rows that come in blocks: all of them share each pass."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._fitting import AllOrNothing
from mercer._params import same
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._threads import usable_cores
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.data.arrays import Arrays
from mercer.data.memory import parse
from mercer.data.opening import as_source
from mercer.data.progress import Bar
from mercer.kernels.points import take
from mercer.losses.base import Loss
from mercer.losses.regression import Absolute, Squared
from mercer.machines.base import KernelMachine
from mercer.machines.codes import decode
from mercer.machines.low_rank import prepare_reduced
from mercer.machines.solving import EarlyStop
from mercer.reduced.base import Approximation
from mercer.reduced.census import Census, take_census
from mercer.reduced.grid import Examined, examine_settings
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.oracle import CURVATURE_ROWS_PER_FEATURE
from mercer.reduced.passes import Passes
from mercer.reduced.settings import Errors, Mistakes, Scorer, Scores, Split
from mercer.reduced.solve import Task, choose_map, open_passes
from mercer.reduced.targets import Codes, Values
from mercer.reduced.together import together
from mercer.solvers.status import Status

__all__ = ["StreamedSearch"]


# Scores by their names in scikit-learn: the loss, and what its mean is multiplied by.
NAMED: dict[str, tuple[Loss, float]] = {
    "neg_mean_squared_error": (Squared(), 2.0),
    "neg_mean_absolute_error": (Absolute(), 1.0),
}

# Folds of the rows that settings are screened on. One is dropped if its error is larger than the
# least by so many standard errors of the difference, and by this part.
SCREENED, SURE, CLEARLY = 5, 3.0, 0.02


def _machine_has(name: str) -> Callable[[Any], bool]:
    """Return whether the machine that was found, or will be, can do something."""

    def check(self: Any) -> bool:
        return bool(self.refit) and hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return check


@dataclass
class Decoded(Mistakes):
    """Wrong decisions of codes that are read in a way of their own."""

    decoding: str = "loss"

    def decide(self, F: Array) -> NDArray[np.intp]:
        book = self.codes.book
        if len(book) == 2 and book.shape[1] == 1:
            return super().decide(F)
        scores = decode(book, F.reshape(-1, F.shape[-1]), self.decoding)
        return np.asarray(np.argmax(scores, axis=1).reshape(F.shape[:-1]))


@dataclass
class _Group:
    """Settings that share a loss and differ in its weight and parameters only."""

    task: Task
    how: Approximation
    members: list[int]
    losses: list[Loss]
    Cs: list[Array]

    def takes(self, task: Task, how: Approximation) -> bool:
        mine = self.task
        return (
            type(task.loss) is type(mine.loss)
            and same(vars(task.targets), vars(mine.targets))
            and task.kernel == mine.kernel
            and task.null_space == mine.null_space
            and how == self.how
            and (task.tol, task.max_iter, task.max_time) == (mine.tol, mine.max_iter, mine.max_time)
        )

    def add(self, member: int, task: Task) -> None:
        self.members.append(member)
        self.losses.append(task.loss)
        self.Cs.append(task.C)

    def examine(self, passes: Passes, census: Census, split: Split, scorer: Scorer) -> Examined:
        widest = int(np.argmax([np.max(C) for C in self.Cs]))
        task = replace(self.task, loss=self.losses[widest], C=self.Cs[widest])
        phi = choose_map(task, census, passes, self.how)
        return examine_settings(
            task, self.losses, np.array(self.Cs), phi, passes, census.pool, split, scorer, self.how
        )


@settings
class StreamedSearch(MetaEstimatorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Search a grid of settings by passes over the rows that all settings share.

    Rows are held out by what they hold, so that the choice does not depend on their order, on files
    or on workers. Settings that differ in C or in the parameters of the loss are columns of one
    problem; machines with other kernels, null spaces or numbers of centres run beside each other
    and read each block of rows together. The search makes as many passes as its hardest machine
    and two, or four in all with the squared loss, whatever the size of the grid.

    Parameters
    ----------
    estimator : machine
        One that takes ``approximation=``; without one, ``Nystrom()`` is used.
    param_grid : dict of lists, or list of such dicts
        As in :class:`sklearn.model_selection.GridSearchCV`.
    cv : float or int, default=0.2
        The share of the rows that is held out, or the number of folds.
    scoring : Loss, str or None, default=None
        What is to be least on rows held out: a loss, or "accuracy", "neg_mean_squared_error" or
        "neg_mean_absolute_error". By default accuracy for classes; for numbers the loss of the
        machine, or the squared one if the settings have several or it is zero over a tube.
    refit : bool, default=True
        Fit the best machine to all rows.
    screen : int, optional
        Try all settings on so many rows first, and go on with those that are not clearly worse.
    verbose : bool, default=False
        Tell how far passes have come.

    Attributes
    ----------
    best_estimator_ : machine
        The best one, fitted to all rows.
    best_params_, best_score_, best_index_
        Its setting, its score (larger is better) and its place in the grid.
    cv_results_ : dict of arrays
        As in scikit-learn. Means weigh folds by their rows; times are those of all machines, shared
        equally; settings that were screened out have no score.
    n_splits_ : int
        Number of folds; 1 for a share.
    n_passes_ : int
        Passes over the rows, with those of the last fit.
    groups_ : int
        Number of machines that ran beside each other.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 1.3.5 and ch. 8 (tuning of
    fixed-size machines).

    Examples
    --------
    >>> from mercer import LSSVR
    >>> from mercer.reduced import Nystrom
    >>> from mercer.selection import StreamedSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(2000)
    >>> grid = {"gamma": [0.01, 1.0, 100.0], "C": [0.01, 1.0, 100.0]}
    >>> search = StreamedSearch(LSSVR(approximation=Nystrom(40)), grid).fit(X, y)
    >>> search.best_params_["gamma"], search.groups_, search.n_passes_ < 10
    (1.0, 3, True)
    """

    estimator: Any
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
    _: KW_ONLY
    cv: float = 0.2
    scoring: Any = None
    refit: bool = True
    screen: int | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": [KernelMachine],
        "param_grid": [dict, list],
        "cv": [
            Interval(Real, 0.0, 1.0, closed="neither"),
            Interval(Integral, 2, None, closed="left"),
        ],
        "scoring": [Loss, StrOptions({"accuracy", *NAMED}), None],
        "refit": ["boolean"],
        "screen": [Interval(Integral, 10, None, closed="left"), None],
    }

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")

    # Search --------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Search, and fit the best machine.

        Parameters
        ----------
        X : source, array, frame, or collection of Dask
            Rows, as for the fit of the machine.
        y : array-like, optional
            Targets, if `X` does not bring them.
        sample_weight : array-like, optional
            Weights of the rows, in fits and in scores.
        """
        start = time.perf_counter()
        candidates = [dict(params) for params in ParameterGrid(self.param_grid)]
        machines = [self._machine(params) for params in candidates]
        given = self._given(X, y, sample_weight)
        rows = [machine._validate_blocks(*given) for machine in machines]
        hows = [machine._how() for machine in machines]
        source, at_hand = rows[0][0], rows[0][1].X is not None
        passes, census = self._open(source, machines, hows, at_hand)
        tasks = self._declare(machines, rows, census)
        scorer, factor = self._scorer(machines[0], tasks)
        folds = int(self.cv) if self.cv >= 2 else 1
        split = Split(folds, float(min(self.cv, 1)), hows[0].random_state)
        live = np.arange(len(machines))
        if self.screen is not None:
            live = self._screened(tasks, hows, census, scorer, split.seed)
        scores = self._examine(live, tasks, hows, passes, census, split, scorer)
        error = np.full((folds, len(machines)), np.nan)
        error[:, live] = scores.error
        self.n_splits_, self.n_passes_ = folds, passes.count
        mean = np.full(len(machines), np.nan)
        mean[live] = scores.mean
        self._report(candidates, factor * error, factor * mean, time.perf_counter() - start)
        if self.refit:
            start = time.perf_counter()
            self.best_estimator_ = self._machine(self.best_params_)
            if at_hand and self.best_estimator_.approximation is None:
                self.best_estimator_.set_params(approximation=Nystrom())
            self.best_estimator_.fit(*given)
            self.refit_time_ = time.perf_counter() - start
            self.n_passes_ += self.best_estimator_.solution_.passes
        return self

    def _machine(self, params: dict[str, Any]) -> Any:
        machine = clone(self.estimator).set_params(**clone(params, safe=False))
        machine._validate_params()
        return machine

    def _given(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> tuple[Any, Any, Any]:
        """Return rows as machines take them: a source brings its targets."""
        if y is not None:
            return X, y, sample_weight
        source = as_source(X, None, sample_weight)
        if isinstance(source, Arrays) and source.y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        return source, None, None

    def _open(
        self, source: Any, machines: list[Any], hows: list[Approximation], at_hand: bool
    ) -> tuple[Passes, Census]:
        """Return the passes over a source and the census of the first pass."""
        largest = [how.largest if how.number == "auto" else int(how.number) for how in hows]
        m = max(largest)
        size = max(
            *(how.pool_size for how in hows), CURVATURE_ROWS_PER_FEATURE * (m + 8), self.screen or 0
        )
        how = hows[int(np.argmax(largest))]
        threads = how.n_jobs or usable_cores()
        columns = len(machines) * (int(self.cv) if self.cv >= 2 else 1)
        columns = max(1, min(columns, int(parse(how.memory_limit) / (16.0 * m**2 * threads))))
        if how.checkpoint is not None:
            # Apart from the passes of the last fit, which keeps its own there.
            how = copy(how).set_params(checkpoint=Path(how.checkpoint) / "search")
        passes = open_passes(source, how, m, columns, size, self._bar)
        labelled = is_classifier(self.estimator) and not at_hand
        return passes, take_census(passes, size, hows[0].random_state, labelled)

    def _bar(self, name: str, total: int | None) -> Bar:
        return Bar(f"{type(self).__name__}, {name}", total, show=bool(self.verbose))

    def _declare(
        self, machines: list[Any], rows: list[tuple[Any, ...]], census: Census
    ) -> list[Task]:
        """Return the problems of all machines."""
        tasks = []
        for machine, (_, own) in zip(machines, rows, strict=True):
            task, _, _ = prepare_reduced(machine, own, census, EarlyStop)
            if getattr(task, "walls", None) is not None:
                raise ValueError(
                    f"settings of {type(machine).__name__} cannot share passes, because its tube "
                    "or margin is found with it; search C and epsilon of SVC or SVR instead."
                )
            tasks.append(task)
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            self.__dict__.pop(name, None)
            if hasattr(machines[0], name):
                setattr(self, name, getattr(machines[0], name))
        return tasks

    def _scorer(self, machine: KernelMachine, tasks: list[Task]) -> tuple[Scorer, float]:
        """Return the loss of predictions, and the factor that makes a score of its mean."""
        targets, loss = tasks[0].targets, tasks[0].loss
        named = isinstance(self.scoring, str)
        if isinstance(targets, Codes):
            if self.scoring is None or self.scoring == "accuracy":
                self.scoring_: Any = "accuracy"
                if hasattr(machine, "decoding"):
                    return Decoded(targets, decoding=machine.decoding), -1.0
                return Mistakes(targets, getattr(machine, "break_ties", False)), -1.0
            if named:
                raise ValueError(
                    f"scoring={self.scoring!r} is for numbers; the targets are classes."
                )
            self.scoring_ = self.scoring
            return Errors(self.scoring), -1.0
        if self.scoring == "accuracy":
            raise ValueError("scoring='accuracy' is for classes; the targets are numbers.")
        turn, factor = None, -1.0
        if isinstance(targets, Values) and targets.turn is not None:
            turn = np.asarray(targets.turn).T
        if named:
            loss, scale = NAMED[self.scoring]
            factor = -scale / targets.k
        elif self.scoring is not None:
            loss = self.scoring
        else:
            several = any(task.loss != loss for task in tasks)
            flat = several or float(loss.value(np.zeros(1), np.full(1, 1e-12))[0]) == 0.0
            loss = Squared() if flat else loss
        self.scoring_ = self.scoring if named else loss
        return Errors(loss, turn), factor

    def _examine(
        self,
        live: NDArray[np.intp],
        tasks: list[Task],
        hows: list[Approximation],
        passes: Passes,
        census: Census,
        split: Split,
        scorer: Scorer,
    ) -> Scores:
        """Return the errors of some of the settings, each kernel's beside the others'."""
        groups: list[_Group] = []
        for member in live:
            task, how = tasks[member], hows[member]
            found = next((group for group in groups if group.takes(task, how)), None)
            if found is None:
                found = _Group(task, how, [], [], [])
                groups.append(found)
            found.add(int(member), task)
        runs = [
            lambda own, group=group: group.examine(own, census, split, scorer) for group in groups
        ]
        parts: list[Examined] = together(passes, runs)
        self.groups_ = len(groups)
        if any(status is not Status.CONVERGED for part in parts for status in part.statuses):
            warnings.warn(
                "some settings ended before their tolerance was met; allow more iterations or "
                "time, or scale the inputs.",
                EarlyStop,
                stacklevel=5,
            )
        place = {member: j for j, member in enumerate(live)}
        error = np.empty((split.folds, len(live)))
        for group, part in zip(groups, parts, strict=True):
            error[:, [place[member] for member in group.members]] = part.scores.error
        return Scores(error, parts[0].scores.weight)

    def _screened(
        self,
        tasks: list[Task],
        hows: list[Approximation],
        census: Census,
        scorer: Scorer,
        seed: int,
    ) -> NDArray[np.intp]:
        """Return the settings that are not clearly worse than the best on some of the rows."""
        pool = census.pool
        rows = np.arange(min(int(self.screen or 0), len(pool.keys)))
        X, y = take(pool.X, rows), np.asarray(pool.y)[rows]
        s = None if pool.s is None else np.asarray(pool.s)[rows]
        few = Passes(Arrays(X, y, s), n_jobs=hows[0].n_jobs)
        every = np.arange(len(tasks))
        split = Split(SCREENED, seed=seed)
        scores = self._examine(every, tasks, hows, few, census, split, scorer)
        best = int(np.argmin(scores.mean))
        excess = scores.error - scores.error[:, [best]]
        sure = SURE * np.std(excess, axis=0, ddof=1) / np.sqrt(SCREENED)
        worse = np.mean(excess, axis=0) > np.maximum(sure, CLEARLY * scores.mean[best])
        return np.flatnonzero(~worse)

    def _report(
        self, candidates: list[dict[str, Any]], error: Array, mean: Array, seconds: float
    ) -> None:
        """Set the attributes of scikit-learn's searches, ``cv_results_`` and its like."""
        # A share of mistakes is told as accuracy.
        shift = 1.0 if self.scoring_ == "accuracy" else 0.0
        error, mean = error + shift, mean + shift
        self.best_index_ = int(np.nanargmax(mean))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        names = sorted({name for params in candidates for name in params})
        results: dict[str, Any] = {
            "mean_fit_time": np.full(len(candidates), seconds / len(candidates))
        }
        for name in names:
            values = np.empty(len(candidates), dtype=object)
            values[:] = [params.get(name) for params in candidates]
            missing = [name not in params for params in candidates]
            results[f"param_{name}"] = np.ma.MaskedArray(values, mask=missing)
        results["params"] = candidates
        for f, row in enumerate(error):
            results[f"split{f}_test_score"] = row
        results["mean_test_score"] = mean
        results["std_test_score"] = np.std(error, axis=0)
        ranks = rankdata(-np.where(np.isnan(mean), -np.inf, mean), method="min")
        results["rank_test_score"] = ranks.astype(np.int32)
        self.cv_results_ = results

    # The best machine ----------------------------------------------------------------------------

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    @available_if(_machine_has("predict"))
    def predict(self, X: PointsLike) -> Any:
        """Predict with the best machine.

        Parameters
        ----------
        X : points, as for the machine
        """
        return self._best().predict(X)

    @available_if(_machine_has("decision_function"))
    def decision_function(self, X: PointsLike) -> Any:
        """Evaluate the decision function of the best machine.

        Parameters
        ----------
        X : points, as for the machine
        """
        return self._best().decision_function(X)

    @available_if(_machine_has("predict_proba"))
    def predict_proba(self, X: PointsLike) -> Any:
        """Predict probabilities with the best machine.

        Parameters
        ----------
        X : points, as for the machine
        """
        return self._best().predict_proba(X)

    @available_if(_machine_has("score"))
    def score(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> float:
        """Return the score that the best machine has by itself.

        Parameters
        ----------
        X, y, sample_weight
            Samples, as for the machine.
        """
        return float(self._best().score(X, y, sample_weight))
