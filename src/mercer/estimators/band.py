"""Several quantiles or expectiles in one fit, which do not cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, column_or_1d

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import AnyArray, Array, Constraints, Function, PointsLike, Seed, TargetsLike
from mercer.data.base import Block
from mercer.gram.base import Gram
from mercer.gram.make import make as make_gram
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import Expectile, Pinball
from mercer.machines.base import KernelMachine
from mercer.machines.callbacks import TaskContext
from mercer.machines.evaluating import expand
from mercer.machines.expansion import store_nonzero
from mercer.machines.framing import framed, quantile_names, set_output
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.machines.low_rank import LowRankProblem, by_blocks
from mercer.machines.solving import EarlyStop
from mercer.machines.subproblems import Posing, Prepared, Rows, Sample, SolvedSubproblem, Subproblem
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.base import Approximation
from mercer.reduced.passes import Census, Passes
from mercer.reduced.problem import Values
from mercer.reduced.solve import Reduced, Task
from mercer.solvers import Auto, Solver
from mercer.solvers.non_crossing_search import order

__all__ = ["QuantileBand"]

LOSSES: dict[str, type[Pinball] | type[Expectile]] = {"quantile": Pinball, "expectile": Expectile}


@dataclass
class _Repeated:
    """The target of a row, once for every function."""

    k: int

    def __call__(self, block: Block) -> tuple[Array, Array]:
        Y, s = Values(1)(block)
        return np.repeat(Y, self.k, axis=1), s


@settings
class QuantileBand(RegressorMixin, KernelMachine):  # type: ignore[misc]
    r"""Several conditional quantiles, or expectiles, in one convex problem in which none cross.

    .. math::

        \min_{f_1, \dots, f_m} \sum_k \tfrac12 \|f_k\|^2
        + C \sum_{k,i} s_i\, \rho_{\tau_k}(y_i - f_k(x_i) - b_k), \qquad
        f_1 + b_1 \le f_2 + b_2 \le \dots

    with the order kept at every sample and wherever else it is asked for. Functions that would not
    cross anyway are those of :class:`QuantileSVR`, to the last digit; others borrow from their
    neighbours. At new points the values are sorted, which moves them further only where the order
    still fails between the points, and then towards the truth.

    Parameters
    ----------
    quantiles : sequence of float, default=(0.05, 0.5, 0.95)
        Levels :math:`\tau` in (0, 1), ascending.
    kind : {"quantile", "expectile"}, default="quantile"
        The pinball loss, or the tilted square.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    C : float or "auto", default=1.0
        Weight of the summed losses against the penalties; "auto" as in :class:`SVR`.
    points : int or array-like of shape (n_points, n_features), optional
        Further points at which the order is kept, or how many to draw half-way between samples.
    random_state : int, RandomState instance or None, default=None
        By which they are drawn.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`, for large samples: functions are then fitted together, and kept in
        order by sorting their values only.

    Attributes
    ----------
    quantiles_ : ndarray of shape (m,)
    crossing_ : float
        By how much functions would cross at the points if they were fitted one by one; not positive
        if they would not.
    n_constraints_ : int
        Differences of functions at points that took part.
    support_, support_vectors_, dual_coef_, intercept_, solution_ :
        As in :class:`SVR`, with a row or an entry for every function. Numbers in ``support_`` from
        the size of the sample on are those of further points.

    See Also
    --------
    mercer.ConformalRegressor : Intervals with a guarantee for finite samples, from such bands.

    References
    ----------
    I. Takeuchi, Q. Le, T. Sears and A. Smola (2006), Nonparametric quantile estimation, JMLR 7,
    sec. 3.2 on crossing; V. Chernozhukov, I. Fernandez-Val and A. Galichon (2010), Quantile and
    probability curves without crossing, Econometrica 78, on sorting.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileBand
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (200, 1))
    >>> y = X[:, 0] + (0.1 + X[:, 0]) * rng.normal(size=200)
    >>> band = QuantileBand((0.1, 0.5, 0.9), C=1.0).fit(X, y)
    >>> Q = band.predict_quantiles(X)
    >>> bool(np.all(np.diff(Q, axis=1) >= 0)), np.mean(y[:, None] <= Q, axis=0).round(1)
    (True, array([0.1, 0.5, 0.9]))
    """

    quantiles: Any = (0.05, 0.5, 0.95)
    _: KW_ONLY
    kind: str = "quantile"
    kernel: Kernel | str | Function = "rbf"
    C: float | str = 1.0
    points: Any = None
    random_state: Seed = None

    _direct = False

    _parameter_constraints: ClassVar[Constraints] = {
        "quantiles": ["array-like"],
        "kind": [StrOptions(set(LOSSES))],
        "points": [Interval(Integral, 0, None, closed="left"), "array-like", None],
    }

    # What is declared -----------------------------------------------------------------------------

    def _encode(self, y: TargetsLike) -> tuple[Array, float]:
        levels = np.asarray(self.quantiles, dtype=np.float64)
        if levels.ndim != 1 or not len(levels) or np.any(np.diff(levels) <= 0):
            raise ValueError(f"quantiles must ascend, got {self.quantiles!r}.")
        if not (levels[0] > 0 and levels[-1] < 1):
            raise ValueError(f"quantiles must lie between 0 and 1, got {self.quantiles!r}.")
        self.quantiles_ = levels
        return column_or_1d(y, warn=True).astype(np.float64, copy=False), 1.0

    def _losses(self) -> list[Loss]:
        return [LOSSES[self.kind](float(level)) for level in self.quantiles_]

    def _loss(self, rows: Rows | None = None) -> Loss:
        return LOSSES[self.kind](0.5)  # in the middle of the levels

    def _further(self, X: PointsLike) -> Array | None:
        """Return further points at which functions are to keep their order."""
        if self.points is None or (isinstance(self.points, Integral) and self.points == 0):
            return None
        if (
            is_function(self.kernel)
            or is_precomputed(self.kernel)
            or compares_objects(self.kernel)
            or self._sparse
        ):
            raise ValueError("points need a Kernel of dense features; use points=None.")
        if isinstance(self.points, Integral):
            rng = check_random_state(self.random_state)
            i, j = rng.randint(len(X), size=(2, int(self.points)))
            return np.asarray(0.5 * (X[i] + X[j]))
        Z = check_array(self.points, dtype=np.float64)
        if Z.shape[1] != X.shape[1]:
            raise ValueError(f"points have {Z.shape[1]} features, the sample has {X.shape[1]}.")
        return np.asarray(Z)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        c = self._weight() * sample.weights
        return [
            Subproblem(f"level {level:g}", RegularizedRisk(loss, sample.K, sample.y, c, sample.B))
            for level, loss in zip(self.quantiles_, self._losses(), strict=True)
        ]

    def _solve(self, prepared: Prepared[Posing], context: TaskContext) -> list[SolvedSubproblem]:
        sample, risk = prepared.sample, prepared.subproblems[0].risk
        apart = self._minimize(prepared.subproblems, context)
        points, K, B = self._everywhere(sample)
        found = order(
            K,
            risk.y,
            risk.c,
            self._losses(),
            B,
            apart,
            self._joint_solver(),
            tol=self.tol,
            warning=EarlyStop,
        )
        self.crossing_, self.n_constraints_ = found.apart, len(found.crossings[0])
        joint = SolvedSubproblem(found.solution, found.a, found.b, {"points": points})
        if self.n_constraints_ or found.worst > self.tol:
            return [joint]
        parts = zip(apart, found.a.T, found.b.T, strict=True)
        return [joint._replace(solution=one, a=a, b=b) for one, a, b in parts]

    def _everywhere(self, sample: Sample) -> tuple[Any, Gram, Array]:
        """Return the points at which functions are to keep their order, with matrix and columns."""
        Z = self._further(sample.X)
        if Z is None:
            return sample.X, sample.K, sample.B
        points = np.concatenate([sample.X, Z])
        return points, make_gram(self.kernel_, points), self.null_space_(points)

    def _joint_solver(self) -> Solver:
        """Return the solver of the joint problem, as large as the functions are together."""
        solver = self._make_solver()
        if isinstance(solver, Auto) and isinstance(self.solver, str):
            # Its systems are solved function by function.
            solver.max_stiff *= len(self.quantiles_) + 1
        return solver

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        A, b = (np.column_stack([getattr(one, part) for one in solved]) for part in "ab")
        store_nonzero(self, solved[0].facts.get("points", sample.X), A, b.T)
        self.n_iter_ = max(int(one.solution.n_iter) for one in solved)

    # Low-rank approximation -----------------------------------------------------------------------

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        m = len(self.quantiles_)
        return LowRankProblem(self._loss(rows), _Repeated(m), np.ones(m))

    def _solve_reduced(
        self, task: Task, census: Census, passes: Passes, how: Approximation
    ) -> Reduced:
        loss = LOSSES[self.kind](self.quantiles_[None])
        return super()._solve_reduced(replace(task, loss=loss), census, passes, how)

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None:
        self.crossing_, self.n_constraints_ = np.nan, 0
        super()._assemble_reduced(found, sample, solved)

    # What it says ---------------------------------------------------------------------------------

    def _evaluate(self, X: PointsLike) -> Array:
        """Evaluate the functions at points that were checked, (n, m), as they are."""
        return np.asarray(
            expand(self, X, self._dual_coef_.T) + self.null_space_(X) @ self.null_space_coef_.T
        )

    set_output = set_output

    @framed(lambda self: quantile_names(self.quantiles_))
    @by_blocks
    def predict_quantiles(self, X: PointsLike) -> Array:
        """Return all quantiles, ascending.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, m)
        """
        return np.sort(self._evaluate(self._check_new(X)), axis=1)

    @by_blocks
    def predict(self, X: PointsLike) -> Array:
        """Return the quantile whose level is nearest to one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        Q = np.asarray(self.predict_quantiles(X))
        return np.asarray(Q[:, int(np.argmin(np.abs(self.quantiles_ - 0.5)))])

    @framed()
    def predict_interval(self, X: PointsLike) -> Array:
        """Return the lowest and the highest quantile.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        return np.asarray(self.predict_quantiles(X))[:, [0, -1]]

    def crossing(self, X: PointsLike) -> Array:
        """Return by how much the functions cross at new points before they are sorted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            The largest excess of a function over the next; not positive where they are in order.
        """
        F = self._evaluate(self._check_new(X))
        return np.asarray(np.max(-np.diff(F, axis=1), axis=1, initial=-np.inf))
