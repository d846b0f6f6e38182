"""What regressors and classifiers of tables share: reading, machines, weights, budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer._deadline import deadline, time_left
from mercer._fitting import AllOrNothing, say
from mercer._jobs import at_once
from mercer._optional import plugin
from mercer._params import check_sample_weight
from mercer._progress import PATIENCE, Bar
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, num_samples
from mercer._threads import call_ready, small_algebra, team
from mercer._typing import AnyArray, Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer._words import did_you_mean, plural
from mercer.machines.folds import copies_of, same_observations
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.leakage import determining_columns
from mercer.preprocessing.table_encoder import RARE, TEXT
from mercer.tabular.candidates import CANDIDATES, Candidate
from mercer.tabular.explanation import Effect, Explanation, effect_of
from mercer.tabular.members import (
    METRIC,
    Cost,
    Member,
    TableSample,
    enlarge,
    enlarging,
    judge,
    judge_metric,
    nested_predictions,
)
from mercer.tabular.tasks import FOLDS, Task
from mercer.tabular.trees import BOOSTING, TREES, Ensemble, enlarge_trees, judge_trees

__all__ = ["BY_NAME", "TREES_BY_NAME", "Automatic", "LeftOutPredictions", "Plan"]


BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}
"""Candidates by their names."""

TREES_BY_NAME = {ensemble.name: ensemble for ensemble in TREES}
"""Ensembles of trees by their names."""

Plan = dict[str, tuple[Candidate | Ensemble | None, Task]]
"""Machines by name: kernel and form of the features, or trees, or None for a learned metric; and
the loss."""

# Rows that are left out: more cost more than they tell. Fewer where every one of many outputs has a
# factorization of its own: rows cubed, times outputs.
JUDGED, FACTORIZED = 3000, 6e10
# Rows below which leaving some out tells nothing.
LEAST_ROWS = 5
# Machines that are fitted to all rows where there are more than are judged.
KEPT = 3
# Machines that are fitted to all rows in parts where there are more than max_rows, and rows that
# judge between these and the exact machines.
ENLARGED, HELD = 2, 5000
# Share of the budget that fitting one machine may take; choosing its scales takes more.
FITTING = 0.2
# Standard errors by which left-out predictions must be better than a constant.
PROOF = 2.0
# Standard errors beyond which the choice of scales cannot have made the difference.
CLEAR = 8.0


@dataclass(frozen=True, eq=False)
class LeftOutPredictions:
    """What members say of rows that they do not know."""

    rows: slice
    """Which rows of the sample."""

    values: Array
    """Predictions or decisions, (m, n, d)."""

    unseen: Array | None = None
    """Those of trees, whose settings no row has chosen, (t, n, d)."""

    honest: Callable[[], Array] | None = None
    """Makes those of the best member with scales chosen without the rows, (n, d)."""

    seconds: float = 0.0
    """Time that fitting a machine to the rows takes, where there is a budget."""

    single: NDArray[np.intp] | None = None
    """One of all copies of every row, among the rows; None if there are no copies."""


Shares = Callable[[LeftOutPredictions], Array]


@settings
class Automatic(AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """A table, kernel machines with scales of their own, and weights from rows left out."""

    _: KW_ONLY
    categorical_features: Any = "from_dtype"
    members: Any = "auto"
    budget: float | None = None
    max_rows: int = 10_000
    n_jobs: int | None = None
    verbose: bool | int | None = None  # type: ignore[assignment]
    random_state: int = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "members": [StrOptions({"auto", "kernels"}), "array-like"],
        "budget": [Interval(Real, 0.0, None, closed="neither"), None],
        "max_rows": [Interval(Integral, 10, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose", None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    # Reading --------------------------------------------------------------------------------------

    def _read(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> tuple[Array, Array]:
        """Return the encoded table and the weights of its rows, whose mean is one."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        self.encoder_ = TableEncoder(categorical_features=self.categorical_features).fit(X)
        self.n_features_in_ = self.encoder_.n_features_in_
        if hasattr(self.encoder_, "feature_names_in_"):
            self.feature_names_in_ = self.encoder_.feature_names_in_
        self.dropped_ = dict(self.encoder_.dropped_)
        self.notes_ += self.encoder_.notes_
        for note in self.encoder_.notes_:
            if RARE in note or TEXT in note:
                warnings.warn(note, UserWarning, stacklevel=6)
        M = self._encoded(X)
        if len(M) != num_samples(y):
            raise ValueError(f"X has {len(M)} rows and y has {num_samples(y)}.")
        if len(M) < LEAST_ROWS:
            raise ValueError(
                f"{type(self).__name__} judges machines by rows that are left out and needs at "
                f"least {LEAST_ROWS} rows, got n_samples={len(M)}."
            )
        weights = check_sample_weight(sample_weight, num_samples(M))
        return M, weights / np.mean(weights[weights > 0])

    def _encoded(self, X: PointsLike) -> Array:
        return np.asarray(self.encoder_.transform(X), dtype=np.float64)

    def _ordered(
        self, M: Array, Y: AnyArray, weights: Array
    ) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
        """Return observations in a random order that does not depend on how they came.

        Returns
        -------
        order : (m,) array of int
            One row of each observation that has weight.
        weights : (m,) array
            Their weights, of all copies together.
        place : (n,) array of int
            The row that stands for each row.
        """
        place = np.arange(len(M))
        alike = np.lexsort((*Y.T, *M.T))
        alike = alike[weights[alike] > 0]
        order: NDArray[np.intp] = alike[
            np.random.default_rng(self.random_state).permutation(len(alike))
        ]
        copies = copies_of(M[order], self.encoder_.numeric_)
        if copies is None:
            return order, weights[order], place
        again = len(copies) - len(np.unique(copies))
        self.notes_.append(
            f"{plural(again, 'row')} of {len(copies)} {'repeats' if again == 1 else 'repeat'} the "
            "features of another row: all copies of a row are left out together, so that no model "
            "is evaluated on rows that it has seen."
        )
        first, observation = same_observations(copies, Y[order])
        place[order] = order[first][observation]
        total = np.bincount(observation, weights[order])
        # Side by side, so that no part of the rows has a copy of a row of another part.
        beside = np.argsort(copies[first], kind="stable")
        return order[first][beside], (total / np.mean(total))[beside], place

    def _note_leaks(self, M: Array, y: AnyArray) -> None:
        """Note the columns that determine the targets."""
        encoder = self.encoder_
        self.notes_ += determining_columns(M, y, encoder.names_, list(encoder.numeric_))

    # Fitting --------------------------------------------------------------------------------------

    def _threads_of_blas(self, X: PointsLike) -> AbstractContextManager[None]:
        """Hold BLAS to one thread where machines have threads of their own, or matrices are small.

        Sums depend on the number of threads of BLAS: with one, predictions are the same for every
        number of jobs.
        """
        if self.n_jobs is not None:
            return team()
        return small_algebra(min(num_samples(X), self.max_rows))

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Show how far the fit is, by a bar that counts machines."""
        with Bar(
            type(self).__name__,
            show=self.verbose,
            lines=None,
            ticks=True,
            unit="machines",
            leave=False,
            mininterval=0.0,
            delay=PATIENCE if self.verbose is None else 0.0,
        ) as self._bar:
            yield
        del self._bar

    def _begin(self, name: str) -> None:
        """Show what is fitted."""
        self._bar.set_description_str(f"{type(self).__name__}, {name}", refresh=False)
        self._bar.update(0)

    def _end(self, member: Member) -> None:
        """Count a machine, or print a line where there is no bar."""
        self._bar.update()
        if self._bar.disable:
            say(self, f"{member.name}: {member.seconds:.1f} s")

    def _fit_members(
        self, M: Array, plan: Plan, usual: Sequence[str], shares: Shares
    ) -> LeftOutPredictions:
        """Fit machines one after the other, as far as the budget goes.

        Parameters
        ----------
        M : (n, p) array
            The encoded table.
        plan : dict
            Machines.
        usual : sequence of str
            Names of the machines that are fitted unless others are asked for.
        shares : callable
            Tells how much each member counts, in shares of all, from left-out predictions.
        """
        n, encoder = len(M), self.encoder_
        columns = TableSample(
            M,
            encoder.numeric_,
            encoder.categorical_,
            fitted=min(n, self.max_rows),
            judged=min(n, self.max_rows, JUDGED, int(np.cbrt(FACTORIZED / self._outputs))),
            seed=self.random_state,
            names=encoder.names_,
            copies=copies_of(M, encoder.numeric_),
        )
        plan = self._asked(plan, usual, columns)
        cost, columns = self._afforded(columns, plan)
        again = cost.of(columns.fitted) if columns.judged < columns.fitted else 0.0
        # Scales are chosen until there is just time for fitting the machine with them, for fitting
        # it to all rows, and for the scale of errors.
        with deadline(time_left() - 2.0 * cost.of(columns.judged) - again):
            members = self._judged(columns, plan)
        rows = slice(0, columns.judged)
        trees = [member for member in members if member.name in TREES_BY_NAME]
        kernels = [member for member in members if member.name not in TREES_BY_NAME]
        if columns.judged < columns.fitted and kernels:
            kernels = _best(kernels, rows, shares, KEPT)
            members = kernels + trees
            self.notes_.append(
                f"Scales are chosen by some of the rows and weights by {columns.judged}; the "
                f"{len(kernels)} best kernel machines are fitted to {columns.fitted} rows."
            )
        members = self._completed(members, columns, plan, cost)
        larger = self._larger(n, columns, cost)
        if larger:
            held = slice(n - min(HELD, (n - columns.fitted) // 2), n)
            chosen = _best(kernels, rows, shares, ENLARGED) if kernels else []
            boosted = [member for member in trees if member.name == BOOSTING]
            self._bar.total += len(chosen) + len(boosted)
            for member in chosen + boosted:
                self._begin(f"{member.name}, all rows")
                task = plan[member.name][1]
                if member in boosted:
                    members.append(enlarge_trees(member, columns, task, held.start))
                else:
                    members.append(enlarge(member, columns, task, held.start))
                    self.notes_.append(
                        f"{member.name}: one machine of all {n} rows is too large; an exact "
                        f"machine is fitted to {columns.fitted} rows, and local machines in "
                        f"{len(members[-1].fitted.leaves_)} parts to all but the last rows."
                    )
                self._end(members[-1])
            rows = held
            members = [member.judged_by(M[held], self._outputs) for member in members]
            self.notes_.append(
                f"{n - held.start} rows, to which no machine is fitted, decide between them."
            )
        self.members_ = members
        judged = LeftOutPredictions(
            rows,
            np.stack([member.left_out for member in members]),
            unseen=np.stack([one.left_out for one in trees]) if trees and not larger else None,
            seconds=cost.of(rows.stop - rows.start),
            single=_single(columns.copies, rows),
        )
        if larger or not kernels:
            return judged
        best = _best([m for m in kernels if m.name != METRIC], rows, shares, 1)[0]
        if time_left() < FOLDS * best.seconds:
            return judged
        candidate, task = plan[best.name]
        assert isinstance(candidate, Candidate)
        honest = partial(nested_predictions, best.name, candidate, columns, task)
        return replace(judged, honest=honest)

    def _judged(self, columns: TableSample, plan: Plan) -> list[Member]:
        """Return machines with left-out predictions, in the order of the plan."""
        done: dict[str, Member] = {}
        waiting = list(plan)

        def pick() -> str | None:
            # No machine is begun that would hardly be ready in time.
            late = done and time_left() <= 1.5 * max(one.seconds for one in done.values())
            for name in () if late else waiting:
                if plan[name][0] is not None or "matern" in done:
                    waiting.remove(name)
                    self._begin(name)
                    return name
            return None

        def fit(name: str) -> Member:
            candidate, task = plan[name]
            if candidate is None:
                return judge_metric(done["matern"], columns, task)
            if isinstance(candidate, Ensemble):
                return judge_trees(candidate, columns, task)
            return judge(name, candidate, columns, task)

        for candidate, _ in plan.values():  # made once, before threads ask for them
            if isinstance(candidate, Candidate):
                columns.features(candidate)
            elif isinstance(candidate, Ensemble):
                _ = columns.ranked
        self._bar.total = len(plan)
        for name, member in call_ready(fit, pick, at_once(self.n_jobs)):
            done[name] = member
            self._end(member)
        self._begin("all machines")
        members = [done[name] for name in plan if name in done]
        self.notes_.extend(f"{one.name}: {note}" for one in members for note in one.notes)
        if waiting:
            self._note_budget(members, len(plan))
        return members

    def _afforded(self, columns: TableSample, plan: Plan) -> tuple[Cost, TableSample]:
        """Return what machines cost, and rows for which one of them leaves most of the budget."""
        if time_left() == np.inf:
            return Cost(), columns
        kernels = (entry for entry in plan.values() if isinstance(entry[0], Candidate))
        candidate, task = next(kernels, (CANDIDATES[0], next(iter(plan.values()))[1]))
        assert isinstance(candidate, Candidate)
        cost = Cost.measured(candidate, columns, task)
        n = cost.rows(FITTING * time_left())
        if n >= columns.fitted:
            return cost, columns
        note = (
            f"The budget of {self.budget:g} s suffices for machines of {n} of the "
            f"{len(columns.X)} rows, which are drawn at random; the others are not used."
        )
        self.notes_.append(note)
        warnings.warn(note, UserWarning, stacklevel=7)
        return cost, replace(columns, fitted=n, judged=min(n, columns.judged))

    def _larger(self, n: int, columns: TableSample, cost: Cost) -> bool:
        """Return whether there are more rows than an exact machine takes, and time for them."""
        if columns.fitted < min(n, self.max_rows) or n == columns.fitted:
            return False
        if enlarging(n, cost) * ENLARGED < time_left():
            return True
        self.notes_.append(
            f"The budget of {self.budget:g} s leaves no time for machines of all {n} rows: these "
            f"are of {columns.fitted} rows drawn at random."
        )
        return False

    def _completed(
        self, members: list[Member], columns: TableSample, plan: Plan, cost: Cost
    ) -> list[Member]:
        """Return members with machines of all rows, as far as the budget goes."""
        needed = cost.of(columns.fitted) + cost.of(columns.judged)
        waiting = list(range(len(members)))

        def pick() -> int | None:
            begun = len(waiting) < len(members)
            if not waiting or (
                begun and members[waiting[0]].machine is None and time_left() < needed
            ):
                return None
            return waiting.pop(0)

        def complete(k: int) -> Member:
            return members[k].completed(columns, plan[members[k].name][1])

        done = dict(call_ready(complete, pick, at_once(self.n_jobs)))
        if waiting:
            self._note_budget(list(done.values()), len(members))
        return [done[k] for k in sorted(done)]

    def _asked(self, plan: Plan, usual: Sequence[str], columns: TableSample) -> Plan:
        """Return the machines that are asked for and make sense."""
        asked = list(usual) if isinstance(self.members, str) else list(self.members)
        if isinstance(self.members, str) and self.members == "kernels":
            asked = [name for name in asked if name not in TREES_BY_NAME]
        wrong = [name for name in asked if name not in plan]
        if wrong or not asked:
            meant = did_you_mean(wrong[0], plan) if wrong else ""
            raise ValueError(f"members are names among {list(plan)}, got {self.members!r}.{meant}")
        if METRIC in asked:
            if "matern" not in asked:
                raise ValueError("the member 'metric' begins with 'matern': ask for both.")
            divisible = plan[METRIC][1].divisible(columns.judged)
            if len(columns.numbers) < 2 or not divisible:
                asked.remove(METRIC)
        # In the usual order, or that of the plan, whatever the order of a list is.
        order = asked if isinstance(self.members, str) else [name for name in plan if name in asked]
        return {name: plan[name] for name in order}

    def _note_budget(self, done: Sequence[Member], planned: int) -> None:
        names = ", ".join(member.name for member in done)
        self.notes_.append(
            f"The budget of {self.budget:g} s was spent after {len(done)} of {planned} machines: "
            f"{names}."
        )

    def _ending(self) -> str:
        shares = np.atleast_2d(self.weights_).mean(axis=0)
        members = (f"{one.name} {w:.2g}" for one, w in zip(self.members_, shares, strict=True))
        return f"{self.seconds_:.1f} s, weights of the machines: {', '.join(members)}"

    def _proved(
        self, gain: Callable[[Array], Array], judged: LeftOutPredictions, weights: Array
    ) -> bool:
        """Return whether left-out rows are predicted better than by a constant; say it if not.

        Where left-out predictions leave a doubt, and trees do not dispel it, the best machine
        predicts by folds with scales of their own.

        Parameters
        ----------
        gain : callable
            What predictions (m, n, d) of judged rows save of the loss of a constant, (n,).
        judged : Judged
            Left-out predictions.
        weights : (n,) array
            Weights of the judged rows.
        """
        rows = slice(None) if judged.single is None else judged.single
        sure = _standard_errors(gain(judged.values)[rows], weights[rows])
        doubtful = CLEAR > sure > PROOF
        if doubtful and judged.unseen is not None:
            doubtful = _standard_errors(gain(judged.unseen)[rows], weights[rows]) <= PROOF
        if doubtful and judged.honest is not None:
            sure = _standard_errors(gain(judged.honest()[None])[rows], weights[rows])
        if sure > PROOF:
            return True
        note = (
            "No machine predicts left-out rows better than a constant by "
            f"{PROOF:g} standard errors: predictions are the constant. The columns say little "
            "about the target, or there are too few rows to show it."
        )
        self.notes_.append(note)
        warnings.warn(note, UserWarning, stacklevel=7)
        return False

    def _explanation(
        self, shares: Array, errors: Any, together: float, measure: str
    ) -> Explanation:
        order = np.argsort(-shares, kind="stable")
        members = [
            (
                self.members_[k].name,
                float(shares[k]),
                float(errors[k]),
                self.members_[k].seconds,
            )
            for k in order
        ]
        matters = np.sum(
            [share * m.importance for share, m in zip(shares, self.members_, strict=True)], axis=0
        )
        columns = [
            (self.encoder_.names_[j], float(matters[j]))
            for j in np.argsort(-matters, kind="stable")
        ]
        trees = [one.name.partition(",")[0] in TREES_BY_NAME for one in self.members_]
        kinds = {"kernel machines": float(shares[np.invert(trees)].sum())}
        if any(trees):
            kinds["trees"] = float(shares[trees].sum())
        return Explanation(members, columns, together, measure, list(self.notes_), kinds)

    def effect(self, X: PointsLike, column: Any, points: int = 20) -> Effect:
        """Return how mean predictions, or probabilities of classes, change with a column.

        All other columns stay as they are.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            Rows over which to average.
        column : str or int
            Name or position of the column.
        points : int, default=20
            Number of values, if the column has more.
        """
        predict = getattr(self, "predict_proba", None) or self.predict
        return effect_of(predict, X, column, points)

    def plot(
        self,
        X: PointsLike,
        y: TargetsLike,
        *,
        most: int = 5,
        target: str | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw predictions beside what was observed, and the largest effects of columns.

        Of the rows of the fit the predictions are those that left them out; numbers have their
        prediction intervals, classes their reliability or confusion.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            The table of the fit, or other rows.
        y : array-like of shape (n_samples,)
            Their targets.
        most : int, default=5
            How many effects are drawn.
        target : str, optional
            What is predicted; by default the name of `y`.
        ax : sequence of matplotlib Axes, optional
            One more than there are effects.

        Returns
        -------
        mercer.plotting.TableDisplay
            With ``figure_`` and ``axes_``; it needs matplotlib.
        """
        check_is_fitted(self)
        display = plugin("plotting").TableDisplay
        return display.from_estimator(self, X, y, most=most, target=target, ax=ax)

    def _values(self, X: PointsLike) -> Array:
        """Return what every member says of rows, (m, n, d); zeros of members without weight."""
        check_is_fitted(self)
        M = self._encoded(X)
        values = np.zeros((len(self.members_), len(M), self._outputs))
        counts = np.any(np.atleast_2d(self.weights_) != 0.0, axis=0)
        # Forms that several members have in common are made once.
        forms: dict[int, Array] = {}
        for k in np.flatnonzero(counts):
            member = self.members_[k]
            one = id(member.features)
            if one not in forms:
                forms[one] = member.features(M)
            values[k] = member.task.says(member.fitted, member.moved(forms[one]), self._outputs)
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _standard_errors(gain: Array, weights: Array) -> float:
    """Return the mean of weighted numbers in units of its standard error."""
    mean = float(np.average(gain, weights=weights))
    variance = float(np.average((gain - mean) ** 2, weights=weights))
    if variance == 0.0:
        return float(np.sign(mean)) * np.inf if mean else 0.0
    return float(mean / np.sqrt(variance / len(gain)))


def _single(copies: NDArray[np.intp] | None, rows: slice) -> NDArray[np.intp] | None:
    """Return positions of one of all copies of every row; None if there are no copies."""
    return None if copies is None else np.unique(copies[rows], return_index=True)[1]


def _best(members: list[Member], rows: slice, shares: Shares, most: int) -> list[Member]:
    """Return the members that count most in left-out predictions."""
    judged = LeftOutPredictions(rows, np.stack([member.left_out for member in members]))
    order = np.argsort(-shares(judged), kind="stable")[:most]
    return [members[k] for k in np.sort(order)]
