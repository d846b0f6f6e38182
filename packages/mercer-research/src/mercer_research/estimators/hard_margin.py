"""The hard margin between two classes, or the proof that the classes are not separable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import align_api_if_sparse
from mercer._typing import Array, Function, PointsLike, TargetsLike
from mercer.gram.base import Gram
from mercer.gram.held import LazyGram
from mercer.gram.indexed import Indexed
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels.base import Kernel
from mercer.kernels.bounded_products import Bounded
from mercer.kernels.dot_product import Linear
from mercer.kernels.stretched import Stretched
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge
from mercer.machines.base import KernelMachine
from mercer.machines.callbacks import Listener, TaskContext, watched
from mercer.machines.classifier import refuse_one_class
from mercer.machines.evaluating import dense
from mercer.machines.fitted import FittedExpansion
from mercer.machines.one_vs_one import PairwiseClassifier
from mercer.machines.solving import EarlyStop
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem, Subproblem
from mercer.machines.unpenalized import constant_column
from mercer.problems.nu import nu_classification
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import InteriorPoint, Progress, Solution, Solver, Status, minimize
from mercer.solvers.solution import Terms
from mercer_research.estimators.hulls import (
    HullCertificate,
    NotSeparable,
    nearest_points,
    value_rounding,
)

__all__ = ["HardMarginSVC", "path_of_few", "separability"]

# Hulls closer than this, relative to the largest norm of a point, are looked at by an active set:
# a solver over kernel values knows the square of their distance.
NEAR = 1e-3

# Columns of a factor that stands for the points of a kernel, and numbers that an active set reads.
MAX_FACTOR_COLUMNS, MAX_REFINED_NUMBERS = 1000, 10**7

# Samples up to which a path of linear systems reaches such tolerances sooner than pair steps do.
SMALL = 2000

# Samples up to which an active set over points is tried before anything else.
FEW = 64

# Steps of such a path: it takes a few dozen, or it has come as far as rounding lets it.
STEPS = 40

# Tolerances that are tried one after the other, relative to the diagonal of the kernel matrix.
TOLERANCES = 1e-6, 1e-9, 1e-12


@settings
class HardMarginSVC(PairwiseClassifier):
    r"""The hyperplane of the widest margin in the space of a kernel, without any error.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 \quad\text{subject to}\quad y_i (f(x_i) + b) \ge 1

    It is found as the shortest way between the convex hulls of the classes,

    .. math:: \min_\alpha \tfrac12 \Bigl\|\sum_i \alpha_i y_i \phi(x_i)\Bigr\|^2
              \quad\text{subject to}\quad \sum_{y_i = 1} \alpha_i = \sum_{y_i = -1} \alpha_i = 1,
              \quad \alpha \ge 0,

    a problem that has an answer for every sample, separable or not: if the hulls meet, their
    common point is the proof, and the fit is refused with it. (scikit-learn's ``SVC(C=1e10)``
    returns something in this case, after a long time.)

    Parameters
    ----------
    kernel : Kernel, str or callable, default="linear"
        Reproducing kernel.
    degree, gamma, coef0 : int, {"scale", "auto", "median", "tuned"} or float, float
        Parameters of the named kernels, as in :class:`SVC`.
    tol : float, default=1e-6
        Largest relative difference of the margin and its upper bound.
    cache_size, max_iter, max_time, gram, solver, standardize :
        As in :class:`SVC`.
    decision_function_shape, break_ties :
        As in :class:`SVC`: several classes vote, and each pair has to be separable.
    verbose : bool or int, default=False
        Show progress on the standard error, and how the fit ended.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        As in scikit-learn; the smallest margin of a sample is one.
    margins_ : ndarray of shape (n_pairs,)
        Geometric margins :math:`1 / \|f\|`, half of the distance of the hulls.
    certificates_ : list of HullCertificate
        The proof of each.
    solution_ : Solution
        Of the problem of the hulls; its objective is minus half of the squared distance.

    Notes
    -----
    Weights of samples do not matter, except that those of weight zero are left out.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, eq. (1.13)-(1.19), (1.51)-(1.60) and
    figure 1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import HardMarginSVC
    >>> X = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
    >>> machine = HardMarginSVC().fit(X, [0, 0, 1, 1])
    >>> machine.coef_.round(6), machine.margins_.round(6)
    (array([[0.666667, 0.333333]]), array([1.341641]))
    >>> HardMarginSVC().fit(X, [0, 1, 1, 0])
    Traceback (most recent call last):
    ...
    mercer_research.estimators.hulls.NotSeparable: The convex hulls of the classes meet: ...
    """

    _: KW_ONLY
    kernel: Kernel | str | Function = "linear"
    tol: float = 1e-6

    # Nothing is started from, weighed or calibrated.
    warm_start: bool = fixed(False)
    class_weight: None = fixed(None)
    null_space: None = fixed(None)
    approximation: None = fixed(None)
    probability = "deprecated"

    def _weight(self) -> float:
        return 1.0

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Hinge(margin=0.0)  # whose margin is a variable

    def _problem(self, K: Gram, y: Array, c: Array, B: Array) -> Subproblem:
        live = np.where(c > 0, 1.0, 0.0)
        refuse_one_class(y[c > 0])
        # The box [0, 1] is implied by weights that add up to one.
        return Subproblem(
            "",
            nu_classification(
                K, y, live, 2.0 / float(live.sum()), B, constant_column(self.null_space_names_)
            ),
        )

    # Differences of points decide; a mean far away from zero would take their digits.

    def _make_gram(self, rows: Rows) -> Gram:
        self._origin: Array | float = 0.0
        if not (self.kernel == "linear" or isinstance(self.kernel, Linear)) or sp.issparse(rows.X):
            return super()._make_gram(rows)
        live = slice(None) if rows.weights is None else rows.weights > 0
        with np.errstate(over="ignore", invalid="ignore"):
            self._origin = np.mean(rows.X[live], axis=0)
            centred = rows.X - self._origin
        K = super()._make_gram(replace(rows, X=centred))
        return K if self.gram != "auto" or K.root() is not None else LazyGram(self.kernel_, centred)

    def _pair_matrices(
        self, K: Gram, y: TargetsLike
    ) -> Callable[[int, int, NDArray[np.intp]], Gram]:
        if K.root() is None:
            return super()._pair_matrices(K, y)
        return lambda i, j, rows: Indexed(K, rows)  # which keeps the points

    @property
    def _has_plane(self) -> bool:
        """Whether the machine is a hyperplane of the features."""
        inner = getattr(self, "kernel_", None)
        return isinstance(inner.kernel if isinstance(inner, Stretched) else inner, Linear)

    def _linear_coef(self) -> Any:
        if self._planes is None:
            return super()._linear_coef()
        return align_api_if_sparse(sp.csr_array(self._planes)) if self._sparse else +self._planes

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        super()._assemble(sample, solved)
        self._levels = self.intercept_
        if not self._has_plane:
            return
        # In the middle of the classes as coef_ sees them where they are, and not around their mean.
        sign = 1.0 if len(self.classes_) == 2 else -1.0
        f, live = sign * dense(sample.X @ self.coef_.T), sample.weights > 0
        members = [np.flatnonzero((sample.y == k) & live) for k in range(len(self.classes_))]
        middles = [
            0.5 * (float(np.max(f[members[i], k])) + float(np.min(f[members[j], k])))
            for k, (i, j) in enumerate(self._class_pairs())
        ]
        self.intercept_ = -sign * np.array(middles)
        self.null_space_coef_ = self.intercept_[:, None]
        self._intercept_ = -sign * self.intercept_

    def _pairs_at(self, X: PointsLike) -> Array:
        if not self._has_plane:
            return super()._pairs_at(X)
        if self._planes is None:
            f = np.asarray(dense(X @ self.coef_.T)) + self.intercept_
        else:
            # The function that was measured: around the mean of the sample.
            points: Any = X if sp.issparse(X) else X - self._origin
            f = np.asarray(points @ self._planes.T) + self._levels
        return np.asarray(-f if len(self.classes_) == 2 else f)

    def _bounded(self, X: PointsLike) -> Bounded | None:
        return None if self._has_plane else super()._bounded(X)

    def _with_expansion(self, expansion: FittedExpansion) -> Self:
        new = super()._with_expansion(expansion)
        new._planes = None
        return new

    def _minimize(self, subproblems: Sequence[Subproblem], context: TaskContext) -> list[Solution]:
        found = []
        for title, risk, _ in subproblems:
            task = context.subcontext(task_name=title or "problem", max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self)
            with watched(self, title, task, False) as listener:
                found.append(self._nearest(title, risk, listener))
            task.call_on_fit_task_end(estimator=self)
        self.certificates_ = [points.certificate for points in found]
        self.margins_ = np.array([certificate.margin for certificate in self.certificates_])
        planes = [points.plane for points in found if points.plane is not None]
        self._planes = np.array(planes) if planes else None
        return [points.solution for points in found]

    def _nearest(self, title: str, risk: RegularizedRisk, listener: Listener | None) -> HullPoints:
        """Return the nearest points of two hulls in canonical scale, or a sentence why not."""
        square = float(np.max(np.abs(risk.K.diag()[risk.c > 0])))
        if not square:  # a kernel of distances, which is its own unit
            square = float(np.max(np.abs(risk.K.rows(np.arange(1))))) or 1.0
        hulls = _Hulls(risk, square, constant_column(self.null_space_names_) or 0)
        start, path = None, path_of_few(self, risk.n)
        solver = path or self._make_solver()
        # The last digits of a path are the cheapest.
        tolerances: tuple[float, ...] = TOLERANCES[1:] if path else TOLERANCES
        if self.solver == "auto" and risk.n <= FEW and self.max_iter < 0 and risk.q == 2:
            found = hulls.measure(hulls.refined())
            tolerances = () if found.meet or found.enclosed(self.tol) else tolerances
            if listener is not None:
                s = found.solution
                listener(Progress(s.n_iter, s.objective, s.gap, s.violation, 0.0))
        for tolerance in tolerances:
            if not isinstance(self.solver, Solver):
                solver = solver.set_params(tol=tolerance * square)
            with warnings.catch_warnings():
                # What a tolerance near rounding leaves is measured below, on the hulls themselves.
                warnings.simplefilter("ignore", EarlyStop)
                start = minimize(risk, solver, start, listener=listener, warning=EarlyStop)
            found = hulls.measure(start)
            if found.meet or found.enclosed(self.tol):
                break
            if found.certificate.distance <= NEAR * found.certificate.radius:
                found = max(found, hulls.measure(hulls.refined(start)), key=HullPoints.worth)
                if found.meet or found.enclosed(self.tol):
                    break
            if start.status is Status.MAX_TIME or time_left() <= 0.0:
                break
        solution, certificate = found.solution, found.certificate
        of = f" {title}" if title else ""
        if found.meet:
            of_what = "points within" if hulls.Z is not None else "kernel values of points within"
            raise NotSeparable(
                f"The convex hulls of the classes{of} meet: points of both are as near as "
                f"{certificate.distance:.2g}, which is rounding of {of_what} "
                f"{certificate.radius:.2g}. Use SVC with a finite C, or a kernel that divides the "
                "classes.",
                certificate,
            )
        if not certificate.separable:
            raise ValueError(
                f"Whether a hyperplane divides the classes{of} is not decided: points of both are "
                f"as near as {certificate.distance:.2g}, and the solver ended ("
                f"{solution.status.value}) before it found a margin or a common point beyond "
                "rounding. Raise max_time or max_iter, widen the kernel, or use SVC with a finite "
                "C."
            )
        converged = found.enclosed(self.tol)
        if not converged:
            warnings.warn(
                f"The margin{of} is known up to {certificate.margin:.6g} to "
                f"{0.5 * certificate.distance:.6g} only, where tol={self.tol:g}.",
                EarlyStop,
                stacklevel=5,
            )
        status = Status.CONVERGED if converged else Status.STALLED
        return found._replace(solution=replace(solution, status=status))


def path_of_few(machine: KernelMachine, n: int) -> InteriorPoint | None:
    """Return the interior point for small samples, None where another solver is to be taken.

    Its steps do not grow with multipliers, which have no limit where no error is allowed.
    """
    if machine.solver != "auto" or n > SMALL or not machine._definite:
        return None
    steps = machine.max_iter if machine.max_iter >= 0 else STEPS
    return InteriorPoint(machine.tol, max_iter=steps, max_time=machine.max_time)


class HullPoints(NamedTuple):
    """Points of two hulls, with what they prove."""

    solution: Solution
    """The function between them, scaled to a smallest margin of one."""
    certificate: HullCertificate
    plane: Array | None
    """Its weights of the features, if there are any."""
    room: float
    """Their distance along the function between them, before rounding is subtracted."""
    meet: bool
    """Whether they are one point up to rounding."""

    def enclosed(self, tol: float) -> bool:
        """Answer whether the distance is known to a tolerance, and not half of it is rounding."""
        distance = self.certificate.distance
        return self.room >= (1.0 - tol) * distance and self.certificate.lower > 0.5 * distance

    def worth(self) -> tuple[bool, float, float]:
        """Return what makes one pair of points better than another: a proof, and a distance."""
        return self.meet, self.certificate.lower, -self.certificate.distance


class _Hulls:
    """The hulls of two classes in the space of a kernel, and how far rounding hides them.

    Parameters
    ----------
    risk : RegularizedRisk
        Their problem.
    square : float
        The largest squared norm of a point.
    one : int
        Which unpenalized column of the machine is the constant.
    """

    def __init__(self, risk: RegularizedRisk, square: float, one: int) -> None:
        self.risk, self.square, self.one = risk, square, one
        self.positive, self.negative = (risk.y > 0) & (risk.c > 0), (risk.y < 0) & (risk.c > 0)
        # Values from points have errors of the size of the distance, those from K of its square.
        self.Z = risk.K.root() if risk.q == 2 else None

    def _weights(self, a: Array) -> Array:
        """Return convex weights of both classes from coefficients."""
        alpha = np.maximum(self.risk.y * a, 0.0)
        for side in (self.positive, self.negative):
            alpha[side] /= alpha[side].sum()
        return alpha

    def measure(self, found: Solution) -> HullPoints:
        """Measure hull points from scratch, and scale the function to a smallest margin of one."""
        risk, radius = self.risk, float(np.sqrt(self.square))
        alpha = self._weights(found.a)
        a = risk.y * alpha
        terms, w = int(np.count_nonzero(a)), None
        if self.Z is not None:
            w = np.asarray(self.Z.T @ a)
            f, length = np.asarray(self.Z @ w), float(np.linalg.norm(w))
            unsure, longest = value_rounding(len(w), radius, length), length
            hidden = value_rounding(terms, radius, 2.0)
        else:
            Ka = risk.K.matvec(a)
            # Beside the two sides there is what a conditionally definite kernel leaves free.
            f = Ka + risk.B[:, 2:] @ found.b[2:]
            free = float(np.max(np.abs(risk.B[:, 2:]) @ np.abs(found.b[2:]), initial=0.0))
            unsure = value_rounding(terms, 2.0 * self.square + free, 1.0)
            # Weights of both classes add up to two.
            length = float(np.sqrt(max(float(a @ Ka), 0.0)))
            hidden = float(np.sqrt(2.0 * unsure))
            longest = float(np.hypot(length, hidden))
        low, high = float(np.min(f[self.positive])), float(np.max(f[self.negative]))
        lower = (low - high - 2.0 * unsure) / longest if longest > 0 else 0.0
        certificate = HullCertificate(
            separable=lower > 0, weights=alpha, distance=length, lower=lower, radius=radius
        )
        scale = 2.0 / (low - high) if low > high else 1.0
        b = np.insert(scale * found.b[2:], self.one, -0.5 * scale * (low + high))
        unknown = np.full(1, np.nan)
        solution = replace(
            found,
            a=scale * a,
            b=b,
            f=scale * (f - 0.5 * (low + high)),
            b_interval=None,
            terms=Terms(np.full(1, 0.5 * (scale * length) ** 2), unknown, unknown),
        )
        plane = None if w is None else scale * w
        room = (low - high) / length if length > 0 else 0.0
        return HullPoints(
            solution, certificate, plane, room, meet=not lower > 0 and length <= hidden
        )

    def refined(self, found: Solution | None = None) -> Solution:
        """Return hull points of an active set, over points or a factor of K."""
        risk, live = self.risk, np.flatnonzero(self.positive | self.negative)
        points = self.Z
        if points is None and risk.q == 2:
            points = pivoted_cholesky(risk.K, min(risk.n, MAX_FACTOR_COLUMNS)).L
        if points is None or risk.n * points.shape[1] > MAX_REFINED_NUMBERS:
            assert found is not None
            return found
        y, alpha = risk.y[live], None
        if found is not None:
            alpha = self._weights(found.a)[live]
        P = y[:, None] * dense(points[live])
        a = np.zeros(risk.n)
        alpha, n_iter = nearest_points(P, (y > 0).astype(np.intp), alpha)
        a[live] = y * alpha
        if found is not None:
            return replace(found, a=a)
        f = risk.K.matvec(a)
        b = -np.array([np.min(f[self.positive]), np.max(f[self.negative])])
        c = risk.certificate(a, b, f)
        values = c.primal, c.dual, c.gap, c.violation, c.residual
        reason = "an active set of few samples"
        return Solution(a, b, *values, Status.STALLED, n_iter, "nearest_points", reason, c.f)


def separability(
    X: PointsLike, y: TargetsLike, *, kernel: Kernel | str | Function = "linear", **params: Any
) -> HullCertificate:
    """Answer whether a hyperplane divides two classes in the space of a kernel, with the proof.

    Parameters
    ----------
    X, y : array-like
        A sample of two classes.
    kernel : Kernel, str or callable, default="linear"
        Reproducing kernel.
    **params
        Others of :class:`HardMarginSVC`, as ``gamma``.

    Returns
    -------
    HullCertificate
        Nearest points of the convex hulls, and how far these are apart at least.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators.hard_margin import separability
    >>> X = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
    >>> found = separability(X, [0, 0, 1, 1])
    >>> found.separable, round(found.margin, 6)
    (True, 1.341641)
    >>> found = separability(X, [0, 1, 1, 0])
    >>> found.separable, bool(np.allclose(found.weights @ (X * [[1], [-1], [-1], [1]]), 0.0))
    (False, True)
    """
    machine = HardMarginSVC(kernel=kernel, **params)
    try:
        machine.fit(X, y)
    except NotSeparable as found:
        return found.certificate
    if len(machine.certificates_) > 1:
        raise ValueError(f"The question is one of two classes; got {len(machine.classes_)}.")
    certificate: HullCertificate = machine.certificates_[0]
    return certificate
