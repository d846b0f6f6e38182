"""Classifiers whose margins adapt: every pattern has to be carried by the others."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from mercer._fitting import say
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval
from mercer._typing import Array, Constraints, Function, PointsLike, Seed, TargetsLike
from mercer.gram.base import Gram
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge
from mercer.machines.callbacks import TaskContext
from mercer.machines.classifier import refuse_one_class
from mercer.machines.fitted import FittedExpansion
from mercer.machines.one_vs_one import PairwiseClassifier
from mercer.machines.solving import EarlyStop, finite
from mercer.machines.subproblems import (
    Posing,
    Prepared,
    Rows,
    Sample,
    SolvedSubproblem,
    Subproblem,
    prepare,
)
from mercer.machines.unpenalized import intercept_of
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.null_space import Empty, NullSpace
from mercer.solvers import Solution, Status
from mercer.solvers.rounding import decision_error
from mercer.solvers.status import check
from mercer_research.programs.adaptive_margin import MarginAnswer, MarginProgram

__all__ = [
    "AdaptiveMarginPath",
    "AdaptiveMarginSVC",
    "AdaptiveMargins",
    "CollapsedMachine",
    "LeaveOneOutSVC",
    "adaptive_margin_path",
]

# Part of the price of a coefficient of one that a gap may be, whatever the objective.
NEGLIGIBLE_GAP_SHARE = 1e-6


class CollapsedMachine(UserWarning):
    """Margins are asked to be so wide that no pattern is worth a coefficient."""


@dataclass(frozen=True, eq=False)
class AdaptiveMargins:
    """The margins of the patterns of one problem of two classes."""

    index: NDArray[np.intp]
    """Which samples they are of, (n,)."""

    alpha: Array
    """Coefficients, not negative; the function has them times the label, (n,)."""

    required: Array
    """The margin each pattern has to reach, one and lambda times its own share, (n,)."""

    achieved: Array
    """Label times decision value, (n,)."""

    left_out: Array
    """What is achieved without the pattern's own share, (n,)."""

    slack: Array
    """What is missing of the required margin, (n,)."""

    multipliers: Array
    """Dual variables between zero and the weight of the sample, (n,)."""

    W: float
    """Norm of the function in the space of the kernel."""

    D: float
    """Length of what is missing of a margin of one."""

    lambda_max: float
    """The lambda from which on all coefficients are zero."""

    capped: bool
    """Whether a coefficient rests on the cap."""


@settings
class _AdaptiveMargin(PairwiseClassifier):
    """What the two classes share; they differ in where lambda comes from."""

    _: KW_ONLY
    kernel: Kernel | str | Function = "rbf"
    cap: float = 1e4
    columns: int | None = None
    tol: float = 1e-6
    random_state: Seed = None

    # The program is dense, without iterations to start or stop.
    gram: str = fixed("auto")
    solver: str = fixed("auto")
    cache_size: float = fixed(200)
    max_iter: int = fixed(-1)
    max_time: None = fixed(None)
    warm_start: bool = fixed(False)
    approximation: None = fixed(None)
    probability = "deprecated"

    _parameter_constraints: ClassVar[Constraints] = {
        "cap": [Interval(Real, 0.0, None, closed="neither")],
        "columns": [Interval(Integral, 1, None, closed="left"), None],
    }

    @abstractmethod
    def _lambda(self) -> float:
        """Return what a coefficient adds to the margin of its own pattern."""

    def _null_space(self) -> NullSpace:
        return Empty() if self.null_space is None else self.null_space

    def _weight(self) -> float:
        return 1.0

    def _order(self, y: TargetsLike) -> NDArray[np.intp] | None:
        return None  # margins are reported in the order of the sample

    def _warn_if_indefinite(self, X: PointsLike) -> None:
        """Say nothing: a linear program has one minimum whatever the matrix is."""

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Hinge()

    def _problem(self, K: Gram, y: Array, c: Array, B: Array) -> Subproblem:
        refuse_one_class(y[c > 0])
        return super()._problem(K, y, c, B)

    def _program(self, risk: RegularizedRisk) -> tuple[MarginProgram, NDArray[np.intp]]:
        """Return the program of a problem, and the samples that take part."""
        live = np.flatnonzero(risk.c > 0)
        columns = np.arange(len(live))
        if self.columns is not None and self.columns < len(live):
            rng = check_random_state(self.random_state)
            columns = np.sort(rng.choice(len(live), self.columns, replace=False))
        K = np.asarray(risk.K.block(live, live[columns]), dtype=np.float64)
        diag, y, c = risk.K.diag()[live].astype(np.float64), risk.y[live], risk.c[live]
        return MarginProgram(K, columns, diag, y, c, risk.B[live], float(self.cap)), live

    def _solve(self, prepared: Prepared[Posing], context: TaskContext) -> list[SolvedSubproblem]:
        solved = []
        for title, risk, _ in prepared.subproblems:
            solved.append(self._solved(title, risk))
            if title:
                say(self, f"{title}: {solved[-1].solution.summary()[0]}")
        return solved

    def _solved(self, title: str, risk: RegularizedRisk) -> SolvedSubproblem:
        """Solve a problem; its margins and the constant of a collapsed machine are facts of it."""
        lam, (program, live) = self._lambda(), self._program(risk)
        with finite():
            answer = program.solve(lam)
        limit = self.tol * program.c.sum()
        a, f = np.zeros(risk.n), np.zeros(risk.n)
        a[live] = program.y * answer.alpha
        f[live] = program.K @ a[live][program.columns] + program.B @ answer.b
        # Predictions add up the same terms in another order, and small values are no part of the
        # program; what multipliers miss of its equations is worth as much as its coefficients.
        error = decision_error(risk, a, answer.b, f)[live]
        asked = 1.0 + lam * answer.alpha * program.diag
        worst = float(program.c @ np.maximum(asked - program.y * f[live] + error, 0.0))
        missed = abs(program.B.T @ (program.y * answer.beta)) @ abs(answer.b)
        bound = float(answer.bound - missed)
        gap = max(worst, answer.objective) - bound
        # Nothing beside the price of a coefficient of one; a part of the losses may be more than
        # all the rest, where weights are large.
        none = min(limit, NEGLIGIBLE_GAP_SHARE * (lam or float(program.c.min())))
        status = Status.CONVERGED if gap <= limit else Status.STALLED
        status = check(status, answer.objective, bound, gap, resolution=none)
        if status is not Status.CONVERGED:
            warnings.warn(
                f"The linear program{' of ' + title if title else ''} is solved up to a gap of "
                f"{gap:.2g} beside an objective of {answer.objective:.2g}, where tol asks for "
                f"{limit:.2g}; widen the kernel, lower cap, or bring the weights of the samples "
                "closer to each other.",
                EarlyStop,
                stacklevel=5,
            )
        constant = 0.0
        if not len(answer.active) and not risk.q:
            constant = 1.0 if program.c @ program.y > 0 else -1.0
            warnings.warn(
                f"No pattern has a coefficient at lam={lam:.4g}: they are all zero from "
                f"lambda_max_={program.lambda_max:.4g} on. The heavier class is predicted "
                "everywhere; choose a smaller lam.",
                CollapsedMachine,
                stacklevel=5,
            )
        margins = _margins(program, answer, lam, live, f[live])
        solution = Solution(
            a=a,
            b=answer.b,
            objective=answer.objective,
            dual=bound,
            gap=gap,
            violation=answer.violation,
            residual=answer.residual,
            status=status,
            n_iter=answer.n_iter,
            solver=answer.method,
            reason="a linear program",
            f=f,
            times={"solve": answer.seconds},
            resolution=none,
        )
        return SolvedSubproblem(solution, a, answer.b, {"margins": margins, "constant": constant})

    def _add_constants(self, constants: Array) -> None:
        """Add the constants of collapsed pairs to the intercepts."""
        self.intercept_ = self.intercept_ + constants
        self._intercept_ = self._intercept_ + (-constants if len(self.classes_) == 2 else constants)

    def _with_expansion(self, expansion: FittedExpansion) -> Self:
        new = super()._with_expansion(expansion)
        new._add_constants(
            self.intercept_ - intercept_of(self.null_space_names_, self.null_space_coef_)
        )
        return new

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        super()._assemble(sample, solved)
        y, constants = sample.y, np.array([one.facts["constant"] for one in solved])
        self.pairs_: list[AdaptiveMargins] = [one.facts["margins"] for one in solved]
        self._add_constants(constants)
        if len(self.pairs_) > 1:
            members = self._members(y)
            places = [np.concatenate([members[i], members[j]]) for i, j in self._class_pairs()]
            self.pairs_ = [
                AdaptiveMargins(**{**vars(pair), "index": place[pair.index]})
                for pair, place in zip(self.pairs_, places, strict=True)
            ]
        for name in ("required", "achieved", "left_out"):
            setattr(self, f"{name}_margins_", self._spread(name, len(y)))
        self.slack_ = self._spread("slack", len(y))
        # Beside every class that it is compared with, the worst; nothing is known of weight zero.
        left_out = np.reshape(self.left_out_margins_, (len(y), -1))
        worst = np.min(np.where(np.isnan(left_out), np.inf, left_out), axis=1)
        self.outlier_scores_ = np.where(np.isinf(worst), np.nan, -worst)
        limits = np.array([pair.lambda_max for pair in self.pairs_])
        self.lambda_max_ = float(limits[0]) if len(limits) == 1 else limits
        self.cap_active_ = any(pair.capped for pair in self.pairs_)

    def _spread(self, name: str, n: int) -> Array:
        """Return a quantity of the pairs for all samples, (n,) or (n, n_pairs), else nan."""
        values = np.full((n, len(self.pairs_)), np.nan)
        for k, pair in enumerate(self.pairs_):
            values[pair.index, k] = getattr(pair, name)
        return values[:, 0] if len(self.pairs_) == 1 else values


def _margins(
    program: MarginProgram, answer: MarginAnswer, lam: float, index: NDArray[np.intp], f: Array
) -> AdaptiveMargins:
    own, achieved = answer.alpha * program.diag, program.y * f
    a = program.y * answer.alpha
    square = float(a @ (f - program.B @ answer.b))
    return AdaptiveMargins(
        index=index,
        alpha=answer.alpha,
        required=1.0 + lam * own,
        achieved=achieved,
        left_out=achieved - own,
        slack=answer.slack,
        multipliers=answer.beta,
        W=float(np.sqrt(max(square, 0.0))),
        D=float(np.linalg.norm(np.maximum(0.0, answer.slack - lam * own))),
        lambda_max=program.lambda_max,
        capped=answer.capped,
    )


@settings
class AdaptiveMarginSVC(_AdaptiveMargin):
    r"""Adaptive margin support vector classification: outliers get no say, by one parameter.

    .. math:: \min_{\alpha, \xi \ge 0} \sum_i s_i \xi_i \quad\text{subject to}\quad
              y_i f(x_i) \ge 1 - \xi_i + \lambda \alpha_i k(x_i, x_i), \qquad
              f(x) = \sum_j \alpha_j y_j k(x_j, x)

    What a pattern contributes to itself is added to the margin it has to reach. At
    :math:`\lambda = 0` the summed hinge loss is minimized and nothing regularizes; at
    :math:`\lambda = 1` every pattern has to be classified by the others
    (:class:`LeaveOneOutSVC`); beyond, functions become flatter, until from ``lambda_max_`` on no
    coefficient is left. It is a linear program, solved with a certificate.

    Parameters
    ----------
    lam : float, default=1.0
        What a pattern's own share adds to its required margin.
    kernel : Kernel, str or callable, default="rbf"
        Any kernel, also one that is not positive definite; a name, or ``"precomputed"``.
    degree, gamma, coef0 : int, {"scale", "auto", "median", "tuned"} or float, float
        Parameters of the named kernels, as in :class:`SVC`.
    cap : float, default=1e4
        Largest :math:`\alpha_i k(x_i, x_i)`. It is reached only where the program has no scale:
        at :math:`\lambda = 0`, and for kernels much narrower than the distances of the patterns.
    columns : int, optional
        How many patterns, drawn at random, may have coefficients; all by default. The program has
        as many rows, so that large samples ask for a few hundred.
    class_weight : dict or "balanced", optional
        Factors of the samples' weights by class.
    null_space : NullSpace, optional
        Functions without a margin to pay, as ``Constant()`` for a threshold; none by default.
    tol : float, default=1e-6
        Largest duality gap, relative to the summed weights, that is not warned of.
    decision_function_shape, break_ties :
        As in :class:`SVC`: several classes vote, one problem a pair.
    random_state : int or RandomState, optional
        Draws the columns.
    standardize : bool, default=False
        Divide the features by their standard deviations.
    verbose : bool or int, default=False
        Write a line for every pair of classes, and how the fit ended, to the standard error.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        As in scikit-learn. The intercept is zero without a threshold; a machine without
        coefficients has that of the heavier class, which is what it predicts.
    required_margins_, achieved_margins_, left_out_margins_, slack_ :
        Of every sample, (n,), or (n, n_pairs) with nan where a sample is not of the pair:
        :math:`1 + \lambda \alpha_i k_{ii}`, :math:`y_i f(x_i)`,
        :math:`y_i f(x_i) - \alpha_i k_{ii}` and :math:`\xi_i`.
    outlier_scores_ : ndarray of shape (n,)
        The margin that a pattern has without its own share, with the sign turned: the largest are
        those that the others contradict most, outliers or wrong labels.
    lambda_max_ : float or ndarray of shape (n_pairs,)
        The :math:`\lambda` from which on all coefficients are zero; an upper bound of it with a
        threshold.
    cap_active_ : bool
        Whether a coefficient rests on the cap.
    pairs_ : list of AdaptiveMargins
        All of this for each problem, with multipliers and the numbers W and D of the bound.
    solution_ : Solution
        Summed slacks, a lower bound of them, and how the program ended.

    Notes
    -----
    Of several optima the one with the smallest :math:`\sum_i \alpha_i k_{ii}` is returned. A
    decision value of exactly zero, as far away from all patterns, is ``classes_[0]``. A sample
    of weight two is not a sample twice: of two copies each carries the other. The slacks of
    a machine with :math:`\lambda = 1` count leave-one-out errors of that machine's coefficients,
    which is a statistic and no bound, because it was minimized.

    References
    ----------
    J. Weston, R. Herbrich, Adaptive margin support vector machines, in *Advances in Large Margin
    Classifiers*, chapter 2, eq. (2.10)-(2.12). The statement there that
    :math:`\lambda \to \infty` leads to Parzen windows does not hold: all coefficients become zero
    at the finite ``lambda_max_``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import AdaptiveMarginSVC
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[-1.2], [-1.0], [-0.8], [0.8], [1.0], [1.2], [0.9]])
    >>> y = np.array([0, 0, 0, 1, 1, 1, 0])
    >>> machine = AdaptiveMarginSVC(lam=1.0, kernel=Gaussian(0.5)).fit(X, y)
    >>> int(np.argmax(machine.outlier_scores_)), machine.predict([[0.9]])
    (6, array([1]))
    """

    lam: float = 1.0

    _parameter_constraints: ClassVar[Constraints] = {
        "lam": [Interval(Real, 0.0, None, closed="left")],
    }

    def _lambda(self) -> float:
        return float(self.lam)


@settings
class LeaveOneOutSVC(_AdaptiveMargin):
    r"""Leave-one-out support vector classification: no weight of errors to choose.

    .. math:: \min_{\alpha, \xi \ge 0} \sum_i s_i \xi_i \quad\text{subject to}\quad
              y_i \sum_{j \ne i} \alpha_j y_j k(x_i, x_j) \ge 1 - \xi_i

    Every pattern has to be classified by the others, so that none gets a coefficient for its own
    sake, and an outlier none at all. Predictions use the whole sum. It is
    :class:`AdaptiveMarginSVC` with :math:`\lambda = 1`; the only parameters are those of the
    kernel.

    Parameters
    ----------
    kernel, degree, gamma, coef0, cap, columns, class_weight, null_space, tol :
        As in :class:`AdaptiveMarginSVC`.
    decision_function_shape, break_ties, random_state, standardize :
        As in :class:`AdaptiveMarginSVC`.
    verbose : bool or int, default=False
        Write a line for every pair of classes, and how the fit ended, to the standard error.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        As in scikit-learn.
    required_margins_, achieved_margins_, left_out_margins_, slack_, outlier_scores_ :
        As in :class:`AdaptiveMarginSVC`.
    lambda_max_, cap_active_, pairs_, solution_ :
        As in :class:`AdaptiveMarginSVC`.

    Notes
    -----
    A pattern with a slack below one is classified correctly, so that training errors are at most
    the summed slacks.

    References
    ----------
    J. Weston, R. Herbrich, Adaptive margin support vector machines, in *Advances in Large Margin
    Classifiers*, chapter 2, eq. (2.7)-(2.9).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer_research.estimators import LeaveOneOutSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = LeaveOneOutSVC().fit(X, y)
    >>> round(machine.score(X, y), 2)
    0.99
    """

    def _lambda(self) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class AdaptiveMarginPath:
    """Machines of two classes along lambda, from the largest to the smallest."""

    lams: Array
    """The values, descending, (k,)."""

    coefs: Array
    """Signed coefficients, (k, n)."""

    intercepts: Array
    """Coefficients of the unpenalized functions, (k, q)."""

    objectives: Array
    """Summed slacks, (k,); they do not grow along the path."""

    bounds: Array
    """Lower bounds of them, (k,)."""

    margins: list[AdaptiveMargins]
    """Margins of the patterns, W and D, for each value."""

    lambda_max: float
    """From where on all coefficients are zero."""

    @property
    def W(self) -> Array:
        """Norms of the functions, (k,)."""
        return np.array([m.W for m in self.margins])

    @property
    def D(self) -> Array:
        """Lengths of the vectors of margin shortfalls, (k,)."""
        return np.array([m.D for m in self.margins])

    @property
    def n_support(self) -> NDArray[np.intp]:
        """How many patterns have coefficients, (k,)."""
        return np.asarray(np.count_nonzero(self.coefs, axis=1), dtype=np.intp)


def adaptive_margin_path(
    machine: AdaptiveMarginSVC,
    X: PointsLike,
    y: TargetsLike,
    lams: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> AdaptiveMarginPath:
    r"""Solve the adaptive margin machine for many lambdas over one kernel matrix.

    From the largest to the smallest, each started from the patterns that carry its neighbour.

    Parameters
    ----------
    machine : AdaptiveMarginSVC or LeaveOneOutSVC
        Kernel, weights and unpenalized functions; it stays as it is.
    X, y : array-like
        A sample of two classes.
    lams : array-like, optional
        The values; by default 20 from just below ``lambda_max`` down to 0.05 or a hundredth of it,
        log-spaced.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples' slacks.

    Returns
    -------
    AdaptiveMarginPath

    References
    ----------
    J. Weston, R. Herbrich, Adaptive margin support vector machines, in *Advances in Large Margin
    Classifiers*, section 2.3, figure 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import AdaptiveMarginSVC
    >>> from mercer_research.estimators.adaptive_margin import adaptive_margin_path
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> path = adaptive_margin_path(AdaptiveMarginSVC(), X, X[:, 0] > 0, [0.5, 1.0, 2.0])
    >>> path.lams, bool(np.all(np.diff(path.objectives) <= 1e-9))
    (array([2. , 1. , 0.5]), True)
    """
    machine = clone(machine)
    machine._validate_params()
    prepared = prepare(machine, X, y, sample_weight)
    if len(machine.classes_) != 2:
        raise ValueError(
            f"A path is one of two classes; got {len(machine.classes_)}. Ask for each pair."
        )
    (risk,) = prepared.risks
    program, live = machine._program(risk)
    top = program.lambda_max
    if lams is None:
        high = 0.99 * (top if np.isfinite(top) else 100.0)
        lams = np.geomspace(high, min(0.05, 0.01 * high), 20)
    values = np.sort(np.atleast_1d(np.asarray(lams, dtype=np.float64)))[::-1]
    if not np.all(values >= 0):
        raise ValueError("lams must not be negative.")
    start: NDArray[np.intp] | None = None
    answers, margins = [], []
    coefs = np.zeros((len(values), risk.n))
    for k, lam in enumerate(values):
        answer = program.solve(float(lam), start)
        start = answer.active
        a = program.y * answer.alpha
        coefs[k, live] = a
        f = program.K @ a[program.columns] + program.B @ answer.b
        answers.append(answer)
        margins.append(_margins(program, answer, float(lam), live, f))
    return AdaptiveMarginPath(
        lams=values,
        coefs=coefs,
        intercepts=np.array([answer.b for answer in answers]),
        objectives=np.array([answer.objective for answer in answers]),
        bounds=np.array([answer.bound for answer in answers]),
        margins=margins,
        lambda_max=top,
    )
