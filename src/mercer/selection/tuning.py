"""Tune the hyperparameters of a machine in one call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import indexable

from mercer._progress import PATIENCE, Bar
from mercer._threads import small_algebra
from mercer._typing import Array, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.estimators.linear import LinearMachine
from mercer.machines.base import KernelMachine
from mercer.selection.least_squares_problem import (
    AUTOMATIC,
    Statement,
    check_tunable,
    follows_least_squares,
    is_constrained,
    is_least_squares,
    is_logistic,
    prepare_statement,
    state,
)
from mercer.selection.linear_tuning import search_weight
from mercer.selection.local_tuning import Wishes, is_local, tune_in_parts
from mercer.selection.objective import (
    Descent,
    LogisticObjective,
    Objective,
    Pace,
    Search,
    Stop,
    Trial,
    criterion_of,
    listed,
)
from mercer.selection.refits import Refits, choose_weight
from mercer.selection.space import FAR, ActiveBound, Space, groups_of
from mercer.smoothing.criteria import Criterion, Evidence

__all__ = ["Tuning", "drawn", "optimum", "tune"]


# Correlations of the median pair of points that widths are tried for: from every point for itself
# to almost a line.
CORRELATIONS = (0.02, 0.15, 0.45, 0.8, 0.97)
PAIRS = 60
# A part of the rows is worth a descent of its own if all rows are so many times as many.
PART = 1.5
# Optima that are nearer to each other than this, in logarithms, are the same optimum.
SAME = 0.1


def drawn(statement: Statement, rows: int, rng: np.random.Generator) -> Statement:
    """Return the problem of as many rows at most, drawn at random and in their order.

    Parameters
    ----------
    statement : Statement
    rows : int
    rng : Generator
    """
    if statement.n <= rows:
        return statement
    return statement.of(np.sort(rng.permutation(statement.n)[:rows]))


def optimum(
    shared: Search,
    single: Callable[[], Search] | None,
    budget: int,
    starts: int,
    rng: np.random.Generator,
) -> tuple[list[Search], str]:
    """Return the searches that were made, and why the last one ended.

    A grid of widths and weights on a part of the rows shows local minima. From the best of them the
    criterion is minimized on the part, first with one factor for all length scales, then with a
    length scale for every feature or group. Where these descents end is compared on all rows, if
    they are nearly as likely, and the descent goes on from the best end, with the curvatures that
    it has learned. A part of the rows shows the way as well as all of them, but two optima may
    change places.

    Parameters
    ----------
    shared : Search
        With one factor for all length scales.
    single : callable, optional
        Makes the search with a length scale for every feature or group.
    budget : int
        Evaluations of a descent on all rows; twice as many with single length scales.
    starts : int
        Number of starts, if there are so many local minima.
    rng : Generator
        Draws the part.
    """
    whole, searches, status = shared.statement, [shared], "converged"
    few = drawn(whole, shared.few, rng)
    part = few if PART * few.n <= whole.n else whole
    try:
        begun = shared.starts(few, _widths(shared.space, few))
        if not begun:
            raise ValueError(
                "the criterion is not finite for any kernel and weight that was tried: features or "
                "targets are too large or too small for their squares; scale them."
            )
        thetas = [theta for _, theta in begun[: max(starts, 1)]]
        ends = _descend(shared, part, thetas, budget, "descent" if part is whole else "part")
        if single is not None:
            search, budget = single(), 2 * budget
            searches.append(search)
            thetas = [search.space.read(*shared.space.at(end.theta)) for end in ends]
            stage = "scales" if part is whole else "part, scales"
            ends = _descend(search, part, thetas, budget, stage)
        last, stage = searches[-1], "descent" if single is None else "scales"
        for more in _larger(part, whole, rng):
            if len(ends) > 1:
                scores = [last.score(more, one.theta, "comparison") for one in ends]
                ends = [ends[int(np.argmin(scores))]]
            ends = [last.finish(more, ends[0], budget, stage)]
        status = ends[0].status
    except Stop:
        status = "stopped"
    return [search for search in searches if search.trials] or [shared], status


def _larger(part: Statement, whole: Statement, rng: np.random.Generator) -> list[Statement]:
    """Return the problems of more rows that a descent goes on with, the last of all of them."""
    if part is whole:
        return []
    between = int(np.sqrt(part.n * whole.n))
    return [whole] if whole.n < PART**2 * part.n else [drawn(whole, between, rng), whole]


def _descend(
    search: Search, statement: Statement, thetas: list[Array], budget: int, stage: str
) -> list[Descent]:
    """Return the different ends of descents that are still in the race, the best first."""
    found: list[Descent] = []
    for theta in thetas:
        end = search.descend(statement, theta, budget, stage)
        if not any(np.max(np.abs(end.theta - other.theta)) < SAME for other in found):
            found.append(end)
    found.sort(key=lambda one: one.score)
    most = found[0].score + (np.inf if statement is search.statement else search.apart(statement.n))
    return [end for end in found if not end.score > most]


def _widths(space: Space, few: Statement) -> list[Array]:
    """Return the kernel with length scales for which the median pair is so much correlated."""
    rest = space.start(1.0)
    if not space.widths:
        return [rest]
    some = few.of(np.arange(min(few.n, PAIRS)))

    def correlation(log_factor: float) -> float:
        kernel, _ = space.at(space.wider(rest, log_factor))
        K, root = kernel.symmetric(some.X), np.sqrt(np.abs(kernel.diag(some.X)))
        with np.errstate(divide="ignore", invalid="ignore"):
            R: Any = K / np.outer(root, root)
        return float(np.nanmedian(R[np.triu_indices(len(R), 1)]))

    # For a Gaussian log(-log correlation) is a line in the logarithm of the width.
    factors = np.linspace(-FAR / 2, FAR / 2, 16)
    tiny = 1e-12
    found = np.clip([correlation(factor) for factor in factors], tiny, 1 - tiny)
    falling = np.minimum.accumulate(np.log(-np.log(found)))
    wanted = np.log(-np.log(CORRELATIONS))
    at = np.interp(-wanted, -falling, factors)
    return [space.wider(rest, float(factor)) for factor in at]


@dataclass(eq=False)
class Tuning:
    """The result of :func:`tune`: the fitted machine, its hyperparameters and all trials."""

    best_estimator_: Any
    """The machine with the chosen parameters, fitted to the whole sample unless told not to."""

    best_params_: dict[str, Any]
    """The chosen parameters, for ``set_params`` of the machine that was given."""

    best_value_: float
    """The criterion there; smaller is better."""

    criterion: Any
    """The criterion."""

    trials_: list[Trial]
    """Everything that was tried, in the order of time."""

    status_: str
    """``"converged"``, ``"stopped"``, or which budget was spent."""

    seconds_: float
    """Time that it took, without the last fit."""

    notes_: list[str] = field(default_factory=list)
    """What deserves a second look: an active bound, or that some rows were not used."""

    bounds_: list[ActiveBound] = field(default_factory=list)
    """Bounds that hold a parameter, each with its features."""

    def report(self) -> str:
        """Return a table of all trials and the chosen hyperparameters.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import LSSVR
        >>> from mercer.selection import tune
        >>> X = np.linspace(-3, 3, 40)[:, None]
        >>> print(tune(LSSVR(), X, np.sinc(X[:, 0])).report().splitlines()[0])
        stage               rows     seconds       value  parameters
        """
        lines = [f"{'stage':18s}{'rows':>6s}{'seconds':>12s}{'value':>12s}  parameters"]
        for trial in self.trials_:
            lines.append(
                f"{trial.stage:18s}{trial.rows:6d}{trial.seconds:12.3f}{trial.value:12.5g}  "
                f"{listed(trial.parameters)}"
            )
        lines.append(f"chosen: {listed(self.best_params_)} ({self.status_}, {self.seconds_:.2f} s)")
        return "\n".join([*lines, *self.notes_])


def tune(
    estimator: KernelMachine | LinearMachine,
    X: PointsLike,
    y: TargetsLike,
    *,
    sample_weight: WeightsLike = None,
    criterion: Criterion | str = "auto",
    parameters: Sequence[str] | None = None,
    ard: Any = False,
    fixed: Sequence[str] = (),
    refine: bool = False,
    budget: int = 30,
    max_time: float | None = None,
    max_rows: int = 2000,
    starts: int = 2,
    prior: float = 5.0,
    refit: bool = True,
    random_state: Seed = 0,
    callback: Callable[[Trial], object] | None = None,
    verbose: bool | None = None,
) -> Tuning:
    r"""Choose C and the parameters of the kernel, and fit the machine.

    A least-squares machine is tuned by the gradient of the criterion itself, which costs a few
    factorizations in all, however many parameters there are. A grid of widths, for each of which
    one eigendecomposition tells all weights C, shows the best starts on 250 to 350 of the rows.
    From two starts the criterion is minimized on these rows, and from the better end on more rows
    and on all of them, with the curvatures that fewer rows have shown, until another step promises
    less than a fifth of a natural logarithm of the likelihood. With `ard` every feature has its
    length scale; `prior` penalizes unequal ones.

    The sample bounds what is searched. A length scale lies between a tenth of the median gap
    between neighbouring values of its feature and a thousand times the feature's range; the
    variance of the function over the variance of the noise, :math:`C \operatorname{tr}(PKP)/n`
    with P the projection off the unpenalized functions, lies between :math:`10^{-2}/n`, where the
    machine is practically constant, and :math:`10^7`. ``notes_`` says where a bound is active.

    A logistic machine (:class:`KernelLogisticRegression`) is tuned by the gradient of its own
    evidence in Laplace's approximation,
    :class:`~mercer.smoothing.logistic_evidence.LogisticEvidence`.

    Machines of another loss of the same targets (:class:`SVR`, :class:`SVC`, :class:`HuberSVR`,
    ...) take their kernel from the least-squares machine, of ±1 for classes, and C, epsilon and nu
    from what it leaves of them, as ``C="auto"`` does; with `refine` C is looked for around that by
    cross-validation along a path. Gross outliers mislead the least-squares machine, and with it
    these; tune :class:`RobustLSSVR` where there are some.

    A local machine (``approximation=Local(...)``) is tuned to six parts of some thousand
    neighbouring rows, which are as dense as its leaves: rows drawn at random are further apart, and
    their length scales too wide for a leaf. Left-out errors of all parts decide between what
    each of them found. Parts as large as leaves have the last word: C, all length scales, those of
    categories and then each of them are doubled or halved for as long as exact leave-one-out errors
    fall, twice, which takes about a minute for ten features and leaves of 1,500 rows and more.

    A linear machine (:class:`LinearSVC`, :class:`LinearSVR`) has no kernel: C minimizes the
    mistakes or absolute errors of five folds, from the C that is given by factors of four to both
    sides.

    Any other machine is tuned by cross-validation of itself: censored targets, samples that are
    reweighted, constraints, prices of unpenalized functions and linear programs make problems that
    squared errors do not speak for. Kernel and C, or nu of a machine without C, minimize its own
    loss on five folds: absolute errors for :class:`RobustLSSVR`, mistakes for a classifier. Other
    parameters stay as they are. The problem that a machine poses on the sample tells which of the
    three it is. A machine with constraints starts from the kernel and C of the least-squares
    machine, and changes C and a factor of all length scales.

    Parameters
    ----------
    estimator : KernelMachine, LinearSVC or LinearSVR
        The machine to tune: a regressor or classifier of this library with a kernel that can be
        differentiated, or a linear machine. It is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Inputs.
    y : array-like
        Targets, or class labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    criterion : Criterion or {"auto", "loo", "gcv", "aic", "bic", "evidence"}, default="auto"
        What is minimized for the least-squares machine, see :mod:`mercer.smoothing`. "auto" is the
        exact leave-one-out error of classes ±1, and for a regression the evidence, which on tables
        of a few hundred rows does as well on average and is not fooled into kernels so wide that
        they extrapolate wildly. For classes, errors of leave-one-out over errors of the evidence
        have the geometric mean .985 (Gaussian) and .980 (Laplacian) on eight tables of 500 rows,
        three splits, with `ard`: .905 and .968 for several classes, 1.037 and .987 for two, so that
        "evidence" is worth a try there. Leave-one-out of the logistic loss makes 1.10 and 1.07
        times as many errors. For a logistic machine "auto" and "evidence" are the evidence of
        classes. A machine that is tuned by its own held-out loss takes no other.
    parameters : sequence of str, optional
        Parameters of the kernel to tune, as in its ``get_params``; all by default.
    ard : bool or array-like of shape (n_features,), default=False
        Give every feature a length scale of its own. Labels, one for each feature, tie the length
        scales of all features with the same label, such as the one-hot columns of one category:
        ``ard=["age", "city", "city", "city"]``. Tied length scales keep their ratios, and `prior`
        counts them once.
    fixed : sequence of {"C", "epsilon", "nu"}
        Parameters of a machine with another loss that stay as they are.
    refine : bool, default=False
        Choose C, or nu, of a machine that follows the least-squares machine by five folds along a
        path.
    budget : int, default=30
        Largest number of evaluations of a descent, twice as many with `ard`; on all rows it takes
        ten or so. An evaluation is a factorization, or a fit for each of five folds.
    max_time : float, optional
        Seconds for the search and the fit after it: the best so far is taken where another
        evaluation and this fit would end later. A fit that cannot be ended in time says so.
    max_rows : int, default=2000
        Largest sample that hyperparameters are chosen from; a larger one is drawn from at random.
    starts : int, default=2
        From how many starts to descend: the best points of the grid that are not neighbours. A
        machine that is tuned by its own held-out loss has one.
    prior : float, default=5.0
        How much length scales of features are drawn together, with `ard`; 0 for not at all. A
        factor e between one feature or group and the others costs as much as half of this in
        likelihood.
    refit : bool, default=True
        Fit the machine to all rows at the end.
    random_state : int, Generator or None, default=0
        Which rows a start is looked for on.
    callback : callable, optional
        Sees every :class:`Trial`; a true answer ends the search.
    verbose : bool, optional
        Show on a terminal or in a notebook one line that is drawn anew: trials, the time and the
        best value. By default the line appears after two seconds, and nothing is printed elsewhere;
        True shows it at once, and prints a line for every trial elsewhere; False shows nothing.

    Returns
    -------
    Tuning
        With ``best_estimator_``, ``best_params_``, ``trials_`` and a ``report()``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, ch. 7; A. J. Smola, *Learning with
    Kernels*, TU Berlin 1998, sec. 7.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.selection import tune
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(100, 2))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=100)
    >>> found = tune(LSSVR(), X, y, ard=True)
    >>> width = found.best_estimator_.kernel_.length_scale
    >>> bool(width[1] > 2 * width[0])  # the second feature does not matter
    True
    """
    name, best = type(estimator).__name__, np.inf
    bar = Bar(
        f"tune {name}",
        show=verbose,
        lines=None,
        ticks=True,
        unit="trials",
        leave=False,
        delay=PATIENCE if verbose is None else 0.0,
    )

    def watch(trial: Trial) -> object:
        nonlocal best
        best = min(best, trial.value)
        bar.set_postfix_str(f"best {best:.4g}", refresh=False)
        bar.update()
        if verbose and bar.disable:
            print(f"{name}: {trial}", file=sys.stderr, flush=True)
        return None if callback is None else callback(trial)

    how = Wishes(
        criterion,
        parameters,
        ard,
        fixed,
        refine,
        budget,
        max_time,
        max_rows,
        starts,
        prior,
        refit,
        random_state,
        watch,
    )
    with bar:
        if isinstance(estimator, LinearMachine):
            return Tuning(**search_weight(estimator, X, y, sample_weight, how))
        check_tunable(estimator)
        if is_local(estimator):
            in_parts: Tuning = tune_in_parts(_tune, estimator, X, y, sample_weight, how)
            return in_parts
        return _tune(estimator, X, y, sample_weight, how)


def _tune(
    estimator: KernelMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike, how: Wishes
) -> Tuning:
    """Choose and fit; see :func:`tune`."""
    pace, criterion, refine, fixed = Pace(how.max_time), how.criterion, how.refine, how.fixed
    whole = state(estimator, X, y, sample_weight)
    rng = np.random.default_rng(how.random_state)
    some, p = drawn(whole, how.max_rows, rng), whole.p
    pace.rows = whole.n
    limits: dict[str, Any] = {"prior": how.prior, "pace": pace, "listener": how.callback}
    points, targets = indexable(X, y)
    prepared = prepare_statement(estimator, points, targets, sample_weight, some)
    auto = isinstance(criterion, str) and criterion == "auto"
    evidence = isinstance(criterion, Evidence) or criterion == "evidence"
    logistic = (auto or evidence) and some.plain and is_logistic(prepared)
    closed = logistic or is_least_squares(prepared)
    itself = not closed and not follows_least_squares(prepared)
    if itself and not auto:
        raise ValueError(
            f"{criterion!r} is a criterion of least-squares machines; {type(estimator).__name__} "
            "is tuned by its own held-out loss: leave criterion='auto'."
        )
    if auto:
        criterion = "loo" if some.classification and not logistic else "evidence"
    chosen = criterion_of(criterion)

    def refits(space: Space) -> Refits:
        machine = clone(estimator)
        if machine.standardize:
            machine.set_params(standardize=False)  # the kernel's length scales have it in them
        sample = {"X": points, "y": targets, "weights": sample_weight}
        return Refits(some, space, machine=machine, fixed=fixed, **sample, **limits)

    def search(each: Any) -> Search:
        space = Space.of(whole.kernel, p, how.parameters, each)
        if itself and not constrained:
            return refits(space)
        kind = LogisticObjective if logistic else Objective
        return kind(some, space, criterion=chosen, **limits)

    constrained = itself and is_constrained(prepared)
    single = (lambda: search(how.ard)) if groups_of(how.ard, p) is not None else None
    begun = how.starts if constrained or not itself else 1
    with small_algebra(some.n):
        stages, status = optimum(search(False), single, how.budget, begun, rng)
        if constrained and status != "stopped":
            # Scales of features are about the same without constraints, which take part in every
            # fit: far from these scales a fit costs a hundred times as much.
            guide = stages[-1].best()
            itself_there = refits(Space.of(guide.kernel, p, how.parameters))
            stages, status = [*stages, itself_there], itself_there.near(guide.C, how.budget)
    best = stages[-1].best()
    value, params = best.value, best.params
    if getattr(estimator, "standardize", False):
        params["standardize"] = False  # the kernel's length scales have it in them now
    machine = clone(estimator)
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    fitted = False
    if not closed and not itself:
        del params["C"]
        automatic = {
            name: "auto"
            for name in AUTOMATIC
            if name in machine.get_params(deep=False) and name not in fixed
        }
        if not some.classification:
            machine._squared_weight = best.C
        with pace.last_fit():
            machine.set_params(**params, **automatic).fit(X, y, **given)
        machine.__dict__.pop("_squared_weight", None)
        params |= {name: float(getattr(machine, f"{name}_")) for name in automatic}
        machine.set_params(**params)
        fitted = True
    elif logistic and refine:
        with pace.last_fit():
            machine.set_params(**params).fit(X, y, **given)
        fitted = True
    if fitted and refine and status != "stopped" and not {"C", "nu"} <= set(fixed):
        with small_algebra(whole.n):
            found, held_out, status = choose_weight(
                machine, X, y, sample_weight, best.kernel, stages[0]
            )
        value = held_out if found else value
        fitted = found.items() <= params.items()
        params |= found
        machine = machine if fitted else clone(machine).set_params(**params)
    seconds = pace.elapsed
    machine.set_params(**params)
    if how.refit and not fitted:
        with pace.last_fit():
            machine.fit(X, y, **given)
    note = f"Chosen from {some.n} of {whole.n} rows; raise max_rows to use more."
    part = [note] if some.n < whole.n else []
    return Tuning(
        machine if how.refit else clone(machine),
        params,
        value,
        "held-out loss" if itself else chosen,
        [trial for stage in stages for trial in stage.trials],
        status,
        seconds,
        [*part, *map(str, best.bounds)],
        best.bounds,
    )
