"""The hard margin between two classes, or the proof that the classes are not separable."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._settings import KW_ONLY, fixed, settings
from mercer._typing import Array, Function, PointsLike, TargetsLike
from mercer.gram.base import Gram
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge
from mercer.machines.callbacks import Listener, TaskContext, watched
from mercer.machines.classifier import refuse_one_class
from mercer.machines.one_vs_one import PairwiseClassifier
from mercer.machines.solving import EarlyStop
from mercer.machines.subproblems import Rows, Subproblem
from mercer.machines.unpenalized import constant_column
from mercer.problems.nu import nu_classification
from mercer.problems.risk import RegularizedRisk
from mercer.research.estimators.hulls import HullCertificate, NotSeparable
from mercer.solvers import InteriorPoint, Solution, Solver, Status, minimize
from mercer.solvers.solution import Terms

__all__ = ["HardMarginSVC", "separability"]

# Hulls closer than this, relative to the largest norm of a point, meet: squares of distances are
# known up to rounding of 1e-14 times the condition of the few points that carry them.
MEET = 1e-6

# Samples up to which a path of linear systems reaches such tolerances sooner than pair steps do.
SMALL = 2000

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
    >>> from mercer.research.estimators import HardMarginSVC
    >>> X = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
    >>> machine = HardMarginSVC().fit(X, [0, 0, 1, 1])
    >>> machine.coef_.round(6), machine.margins_.round(6)
    (array([[0.666667, 0.333333]]), array([1.341641]))
    >>> HardMarginSVC().fit(X, [0, 1, 1, 0])
    Traceback (most recent call last):
    ...
    mercer.research.estimators.hulls.NotSeparable: The convex hulls of the classes meet: ...
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

    def _minimize(self, subproblems: Sequence[Subproblem], context: TaskContext) -> list[Solution]:
        found = []
        for title, risk, _ in subproblems:
            task = context.subcontext(task_name=title or "problem", max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self)
            with watched(self, title, task, False) as listener:
                found.append(self._nearest(title, risk, listener))
            task.call_on_fit_task_end(estimator=self)
        self.certificates_ = [certificate for _, certificate in found]
        self.margins_ = np.array([certificate.margin for certificate in self.certificates_])
        return [solution for solution, _ in found]

    def _nearest(
        self, title: str, risk: RegularizedRisk, listener: Listener | None
    ) -> tuple[Solution, HullCertificate]:
        """Return the nearest points of two hulls in canonical scale, or refuse hulls that meet."""
        square = float(np.max(np.abs(risk.K.diag()[risk.c > 0])))
        if not square:  # a kernel of distances, which is its own unit
            square = float(np.max(np.abs(risk.K.rows(np.arange(1))))) or 1.0
        start, solver = None, self._make_solver()
        tolerances: tuple[float, ...] = TOLERANCES
        if self.solver == "auto" and risk.n <= SMALL and self._definite:
            steps = self.max_iter if self.max_iter >= 0 else STEPS
            solver = InteriorPoint(max_iter=steps, max_time=self.max_time)
            tolerances = TOLERANCES[1:]  # its last digits are the cheapest
        for tolerance in tolerances:
            if not isinstance(self.solver, Solver):
                solver = solver.set_params(tol=tolerance * square)
            with warnings.catch_warnings():
                # What a tolerance near rounding leaves is measured below, on the hulls themselves.
                warnings.simplefilter("ignore", EarlyStop)
                start = minimize(risk, solver, start, listener=listener, warning=EarlyStop)
            solution, certificate = self._certify(risk, start, float(np.sqrt(square)))
            near = certificate.distance <= MEET * certificate.radius
            if near or certificate.lower >= (1.0 - self.tol) * certificate.distance:
                break
        of = f" {title}" if title else ""
        if not (certificate.separable or near):
            raise ValueError(
                f"Whether a hyperplane divides the classes{of} is not decided: points of both are "
                f"as near as {certificate.distance:.2g}, and the solver ended ("
                f"{solution.status.value}) before it found a margin. Raise max_time or max_iter, "
                "widen the kernel, or use SVC with a finite C."
            )
        if not certificate.separable:
            raise NotSeparable(
                f"The convex hulls of the classes{of} meet: points of both are as near as "
                f"{certificate.distance:.2g}, with all points within {certificate.radius:.2g}. "
                "Use SVC with a finite C, or a kernel that divides the classes.",
                certificate,
            )
        converged = certificate.lower >= (1.0 - self.tol) * certificate.distance
        if not converged:
            warnings.warn(
                f"The margin{of} is known up to {certificate.margin:.6g} to "
                f"{0.5 * certificate.distance:.6g} only, where tol={self.tol:g}.",
                EarlyStop,
                stacklevel=5,
            )
        status = Status.CONVERGED if converged else Status.STALLED
        return replace(solution, status=status), certificate

    def _certify(
        self, risk: RegularizedRisk, found: Solution, radius: float
    ) -> tuple[Solution, HullCertificate]:
        """Measure hull points from scratch, and scale the function to a smallest margin of one."""
        positive, negative = (risk.y > 0) & (risk.c > 0), (risk.y < 0) & (risk.c > 0)
        alpha = np.maximum(risk.y * found.a, 0.0)
        for side in (positive, negative):
            alpha[side] /= alpha[side].sum()
        a = risk.y * alpha
        Ka = risk.K.matvec(a)
        # Beside the two sides there is what a conditionally definite kernel leaves free.
        f = Ka + risk.B[:, 2:] @ found.b[2:]
        length = float(np.sqrt(max(float(a @ Ka), 0.0)))
        low, high = float(np.min(f[positive])), float(np.max(f[negative]))
        lower = (low - high) / length if length > 0 else 0.0
        certificate = HullCertificate(
            separable=lower > 0 and length > MEET * radius,
            weights=alpha,
            distance=length,
            lower=lower,
            radius=radius,
        )
        scale, one = (
            2.0 / (low - high) if low > high else 1.0,
            constant_column(self.null_space_names_) or 0,
        )
        b = np.insert(scale * found.b[2:], one, -0.5 * scale * (low + high))
        unknown = np.full(1, np.nan)
        solution = replace(
            found,
            a=scale * a,
            b=b,
            f=scale * (f - 0.5 * (low + high)),
            b_interval=None,
            terms=Terms(np.full(1, 0.5 * (scale * length) ** 2), unknown, unknown),
        )
        return solution, certificate


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
    >>> from mercer.research.estimators.hard_margin import separability
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
