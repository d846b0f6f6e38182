"""Least-squares machines that outliers do not carry away."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, NoReturn

import numpy as np

from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Constraints, Function
from mercer.data.arrays import Arrays
from mercer.data.base import Block, Source
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.machines.evaluating import PREDICTED_ROWS
from mercer.machines.outputs import Outputs
from mercer.machines.solving import EarlyStop
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem, Subproblem
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.base import Approximation
from mercer.reduced.oracle import Oracle
from mercer.reduced.passes import Census, Passes
from mercer.reduced.problem import as_rows
from mercer.reduced.solve import Reduced, Task, choose_map, problem_of, solve
from mercer.smoothing.scale import SCALES, robust_scale
from mercer.smoothing.weights import WEIGHTS, HuberWeights, WeightFunction
from mercer.solvers import SOLVERS, Solver, minimize
from mercer.solvers.reweighting import ReweightedSolution, Reweighting, reweigh

__all__ = ["RobustLSSVR"]

# Machines that a loss which is not convex may take; it converges linearly, as convex ones do.
MAX_STEPS = 500
EPS = float(np.finfo(np.float64).eps)


@dataclass(eq=False)
class Redescending(Loss):
    r"""The loss :math:`\rho(r) = \int_0^r t\,w(t)\,dt` with w as its curvature, convex or not.

    The parabola :math:`\rho(r_0) + \tfrac12 w(r_0)(r^2 - r_0^2)` lies above it, so that a step of
    Newton's method with this curvature is a least-squares machine with new weights, and never leads
    up. Weights are those of the point itself: nothing has to be kept of a row.

    Parameters
    ----------
    kind : WeightFunction
    c : float or (1, k) array
        The size from which errors count less, for each problem.
    squares : bool, default=False
        Return half the weighted squares as values, of which the slopes are those of the
        least-squares machine with the weights found.

    Examples
    --------
    >>> from mercer.smoothing.weights import MyriadWeights
    >>> loss = Redescending(MyriadWeights(), 2.0)
    >>> r = np.array([0.0, 2.0])
    >>> loss.gradient(r, np.zeros(2)), loss.curvature(r, np.zeros(2))
    (array([-0., -1.]), array([1. , 0.5]))
    """

    kind: WeightFunction
    c: float | Array
    squares: bool = False
    smooth = True

    @property
    def weights(self) -> WeightFunction:
        """The weights of errors of these sizes."""
        weights = replace(self.kind)
        weights.c = self.c  # type: ignore[assignment]
        return weights

    def value(self, y: Array, f: Array) -> Array:
        r = y - f
        return 0.5 * self.weights.weight(r) * r * r if self.squares else self.weights.value(r)

    def gradient(self, y: Array, f: Array) -> Array:
        return -self.weights.slope(y - f)

    def curvature(self, y: Array, f: Array) -> Array:
        return self.weights.weight(y - f)

    def conjugate(self, y: Array, v: Array) -> NoReturn:
        raise ValueError("weights that redescend belong to no convex loss, which has a conjugate.")

    def conjugate_gradient(self, y: Array, v: Array) -> NoReturn:
        self.conjugate(y, v)

    def conjugate_curvature(self, y: Array, v: Array) -> NoReturn:
        self.conjugate(y, v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        return np.full(np.shape(y), -np.inf), np.full(np.shape(y), np.inf)


@settings
class RobustLSSVR(Outputs):
    r"""Robust least-squares support vector regression, by weights that fall with the errors.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i\, \rho(y_i - f(x_i) - b' p(x_i)), \qquad
              \rho(r) = \int_0^r t\, w(t)\, dt

    by weighted machines :math:`\tfrac12 \|f\|^2 + \tfrac C2 \sum_i s_i w_i r_i^2` with
    :math:`w_i = w(r_i)`, each of which has a smaller objective than the last. With
    :math:`w(r) = \min(1, c/|r|)` the limit is the machine of Huber's loss, certified by its duality
    gap. Weights that redescend give up on outliers altogether; their losses are not convex, and
    what is found is the stationary point nearest to Huber's machine.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    method : str or WeightFunction, default="huber"
        The weights: "huber" and "logistic", which are convex, "hampel", "bisquare", "myriad" or
        "cauchy". A :class:`~mercer.smoothing.weights.WeightFunction` has its own size c.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty.
    c : float, optional
        The size from which errors count less, in units of y. By default that which keeps 95 per
        cent of the efficiency under normal errors (1.345 for ``"huber"``) times a robust scale of
        the residuals of the least-squares machine, for each output.
    scale : {"mad", "sn", "qn"}, default="mad"
        The robust scale, :func:`~mercer.smoothing.scale.robust_scale`.
    exact : bool, default=False
        Minimize a convex loss by another solver than reweighting, the quadratic program; the answer
        is the same.
    damping : float, default=0.0
        The share of old weights in new ones, below one; it does not change the limit.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    tol : float, default=1e-6
        Largest violation of an optimality condition, in units of y.
    max_iter : int, default=-1
        Largest number of machines, -1 for no limit; 2 is the least-squares machine and one
        reweighting. Weights that redescend begin at Huber's machine, which may take as many.
    degree, gamma, coef0, cache_size, verbose, max_time, gram, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine. Steps with new
        weights are then passes over the rows, and the robust scale is that of some thousand rows.

    Attributes
    ----------
    weights_ : ndarray like y
        The weight w of every sample, one for those that are not suspicious; not there for rows that
        came in blocks.
    scale_ : float or ndarray of shape (n_outputs,)
        Robust scale of the residuals of the least-squares machine; nan if c was given.
    c_ : float or ndarray of shape (n_outputs,)
        The size that was used.
    convex_ : bool
        Whether ``solution_`` certifies the minimum of the robust loss; else it certifies the
        least-squares machine with the weights found.
    dual_coef_, null_space_coef_, support_, support_vectors_, intercept_, n_support_, solution_ :
        As in :class:`KernelRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 3.6, eq. (3.58) to (3.66):
    the threshold is 1.345 scales of 1.483 median absolute deviations, the bound of the dual
    :math:`\gamma c`, and the weights match the slopes of the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import RobustLSSVR
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> y[20] += 50.0
    >>> machine = RobustLSSVR(C=10.0, gamma=1.0).fit(X, y)
    >>> bool(np.max(np.abs(machine.predict(X) - np.sin(X[:, 0]))) < 0.3)
    True
    >>> int(np.argmin(machine.weights_)), bool(machine.weights_[20] < 0.02)
    (20, True)
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    method: str | WeightFunction = "huber"
    C: float | str = 1.0
    c: float | None = None
    scale: str = "mad"
    exact: bool = False
    damping: float = 0.0
    tol: float = 1e-6

    # The machine is its own solver; errors and outputs are independent.
    solver: str = fixed("auto")
    errors = None

    _parameter_constraints: ClassVar[Constraints] = {
        "method": [StrOptions(set(WEIGHTS)), WeightFunction],
        "c": [Interval(Real, 0.0, None, closed="neither"), None],
        "scale": [StrOptions(set(SCALES))],
        "exact": ["boolean"],
        "damping": [Interval(Real, 0.0, 1.0, closed="left")],
    }

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Squared()

    def _weights(self, c: float) -> WeightFunction:
        """Return the weight function of errors of some size."""
        return WEIGHTS[self.method](c) if isinstance(self.method, str) else self.method

    def _make_solver(self) -> Solver:
        if self.exact or not self.convex_:
            return super()._make_solver()
        return Reweighting(self.tol, self.max_iter, self.max_time, damping=self.damping)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        kind = self._weights(1.0)
        self.convex_ = kind.loss() is not None
        if self.exact and not self.convex_:
            raise ValueError(
                f"the loss of {type(kind).__name__} is not convex, so that no quadratic program "
                "has its minimum; use exact=False."
            )
        squares = super()._subproblems(sample)
        scales, sizes = np.transpose([self._size(one.risk, kind) for one in squares])
        self.scale_ = scales if self._n_outputs else float(scales[0])
        self.c_ = sizes if self._n_outputs else float(sizes[0])
        return [
            one._replace(risk=self._robust(one.risk, self._weights(size)))
            for one, size in zip(squares, sizes.tolist(), strict=True)
        ]

    def _size(self, risk: RegularizedRisk, kind: WeightFunction) -> tuple[float, float]:
        """Return the robust scale of the residuals of least squares, and the size c."""
        if not isinstance(self.method, str):
            return np.nan, float(kind.c)
        if self.c is not None:
            return np.nan, float(self.c)
        solver = SOLVERS["auto"]().set_params(tol=self.tol)
        squares = minimize(risk, solver, warning=EarlyStop)
        live, unit = risk.c > 0, float(np.max(np.abs(risk.y))) or 1.0
        scale = self._scale((risk.y - squares.f)[live], risk.c[live], unit)
        return scale, kind.tuning * scale

    def _robust(self, risk: RegularizedRisk, weights: WeightFunction) -> RegularizedRisk:
        """Return the problem of a convex loss, or that of the weights found for another."""
        loss = weights.loss()
        if loss is not None:
            return RegularizedRisk(loss, risk.K, risk.y, risk.c, risk.B)
        # Huber's machine forgives the start; from that of least squares outliers may hide others.
        first = self._descend(risk, HuberWeights(HuberWeights.tuning / weights.tuning * weights.c))
        fit = self._descend(risk, weights, weights.weight(first.r))
        if fit.violation > self.tol:
            warnings.warn(
                f"Reweighting stopped after {fit.n_iter} machines with a violation of "
                f"{fit.violation:.2e} against tol={self.tol:.2e}; raise max_iter or loosen tol.",
                EarlyStop,
                stacklevel=2,
            )
        return RegularizedRisk(Squared(), risk.K, risk.y, risk.c * fit.w, risk.B)

    def _descend(
        self, risk: RegularizedRisk, weights: WeightFunction, start: Array | None = None
    ) -> ReweightedSolution:
        limit = MAX_STEPS if self.max_iter < 0 else max(self.max_iter, 1)
        return reweigh(
            risk.K,
            risk.B,
            risk.y,
            np.asarray(risk.c),
            weights.weight,
            lambda fit: fit.violation <= self.tol or fit.n_iter >= limit,
            start=start,
            damping=self.damping,
            tol=self.tol,
        )

    # Low-rank approximation -----------------------------------------------------------------------

    def _solve_reduced(
        self, task: Task, census: Census, passes: Passes, how: Approximation
    ) -> Reduced:
        phi = choose_map(task, census, passes, how)
        kind, k = self._weights(1.0), task.targets.k
        self.convex_ = kind.loss() is not None
        if isinstance(self.method, str) and self.c is None:
            squares = solve(task, census, passes, how, phi)
            scales = self._scales(task, census, squares)
            sizes = kind.tuning * scales
        else:
            scales, sizes = np.full(k, np.nan), np.full(k, kind.c if self.c is None else self.c)
        self.scale_ = scales if self._n_outputs else float(scales[0])
        self.c_ = sizes if self._n_outputs else float(sizes[0])
        sizes = sizes[None]
        loss = Redescending(kind, sizes)
        if self.convex_:
            found = solve(replace(task, loss=_convex(kind, sizes)), census, passes, how, phi)
        else:
            huber = _convex(HuberWeights(), HuberWeights.tuning / kind.tuning * sizes)
            first = solve(replace(task, loss=huber), census, passes, how, phi)
            start = (first.W, first.b)
            found = solve(replace(task, loss=loss), census, passes, how, phi, start)
            # What is certified is the least-squares machine with the weights of its own errors.
            weighted = replace(task, loss=replace(loss, squares=True))
            oracle = Oracle(problem_of(weighted, phi, passes, how), passes, census.pool)
            at = oracle.evaluate(found.W, found.b, "certify", curved=False)
            value, gap = float(np.sum(at.primal)), found.solution.gap
            solution = replace(found.solution, objective=value, dual=value - gap)
            found = replace(found, solution=solution)
        self._keep_weights(task, passes.source, found, loss)
        return found

    def _scales(self, task: Task, census: Census, squares: Reduced) -> Array:
        """Return robust scales of the residuals of least squares, of the rows that were drawn."""
        pool = census.pool
        block = Block(pool.X, pool.y, pool.s, 0)
        r, (Y, s) = self._residuals(task, block, squares), task.targets(block)
        live = s[:, 0] > 0
        scales = [
            self._scale(r[live, j], s[live, 0], float(np.max(np.abs(Y[:, j]))) or 1.0)
            for j in range(Y.shape[1])
        ]
        return np.array(scales)

    def _scale(self, r: Array, s: Array, unit: float) -> float:
        """Return the robust scale of residuals of targets of some size."""
        return robust_scale(
            np.where(np.abs(r) <= 64 * EPS * unit, 0.0, r),  # rounding has no scale
            self.scale,
            weights=s if self.scale == "mad" else None,
            floor=np.sqrt(EPS) * unit,
        )

    def _residuals(self, task: Task, block: Block, found: Reduced) -> Array:
        X, (Y, _) = as_rows(block), task.targets(block)
        return np.asarray(Y - np.asarray(found.map.raw(X) @ found.A) - task.null_space(X) @ found.b)

    def _keep_weights(self, task: Task, source: Source, found: Reduced, loss: Redescending) -> None:
        """Tell the weights of rows that are at hand."""
        self.__dict__.pop("weights_", None)
        if isinstance(source, Arrays):
            w = [
                loss.weights.weight(self._residuals(task, block, found))
                for block in source.blocks(PREDICTED_ROWS)
            ]
            self.weights_ = np.vstack(w) if self._n_outputs else np.vstack(w)[:, 0]

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None:
        super()._assemble(sample, solved)

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        super()._assemble(sample, solved)
        y, f = np.asarray(sample.y), np.column_stack([one.solution.f for one in solved])
        residuals = y.reshape(len(y), -1) - f
        sizes = np.atleast_1d(self.c_).tolist()
        w = [self._weights(size).weight(r) for size, r in zip(sizes, residuals.T, strict=True)]
        self.weights_ = np.column_stack(w).reshape(y.shape)


def _convex(kind: WeightFunction, sizes: Array) -> Loss:
    """Return the convex loss of some weights, with a size for each problem."""
    loss = kind.loss()
    assert loss is not None
    (name,) = loss.get_params(deep=False)
    return type(loss)(**{name: sizes})
