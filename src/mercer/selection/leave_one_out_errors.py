r"""Exact leave-one-out errors and the influence of single samples.

.. math:: R_{\text{out}} = \frac1n \sum_i l\bigl(y_i, f^{(-i)}(x_i)\bigr), \qquad
          SC_i(x) = n \bigl(f(x) - f^{(-i)}(x)\bigr)

A sample without coefficient can be removed without changing anything, so that only support vectors
are refitted, each from the machine that has them all; for the squared loss one factorization tells
all. The mean is unbiased for the risk of machines of n - 1 samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import num_samples
from mercer._typing import AnyArray, Array, PointsLike, TargetsLike, WeightsLike
from mercer.machines.base import KernelMachine, unfitted
from mercer.machines.evaluating import kernel_matrix
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.subproblems import Prepared, prepare
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import Solution, minimize

__all__ = ["Influence", "LeftOut", "influence", "leave_one_out"]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Leave-one-out predictions and errors, from :func:`leave_one_out`."""

    prediction: AnyArray
    """The prediction of each sample by the machine without it, (n,)."""

    decision: Array | None
    """Its decision value, (n,); None for a vote of several classes."""

    errors: Array
    """One where a class is wrong, the squared residual of a number, (n,)."""

    risk: float
    """The mean of the errors."""

    refitted: NDArray[np.intp]
    """The samples whose removal was computed; that of the others changes nothing."""


def leave_one_out(
    machine: KernelMachine,
    X: PointsLike,
    y: TargetsLike = None,
    *,
    sample_weight: WeightsLike = None,
    tol: float | None = None,
) -> LeftOut:
    r"""Leave out one sample after the other, refitting only where something changes.

    What is left out is the sample's loss: the scale of the kernel and the weights of classes stay
    those of the whole sample.

    Parameters
    ----------
    machine : fitted KernelMachine
        The machine.
    X, y, sample_weight :
        The sample it was fitted on; ``y`` is None for a machine without targets.
    tol : float, optional
        Tolerance of the refits, instead of the machine's own.

    Returns
    -------
    LeftOut
        Predictions, errors and their mean.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (7.6); A. J. Smola, P. Bartlett, B.
    Schoelkopf, D. Schuurmans, *Advances in Large Margin Classifiers*, eq. (1.83), which is
    unbiased for machines of n - 1 samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.selection import leave_one_out
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] > 0, 1, -1)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> left = leave_one_out(machine, X, y)
    >>> len(left.refitted) == len(machine.support_), left.risk < 0.1
    (True, True)
    """
    check_is_fitted(machine)
    y = np.ones(num_samples(X)) if y is None else np.asarray(y)
    prepared = prepare(unfitted(machine), X, y, sample_weight)
    if len(prepared.subproblems) > 1:
        return _refit_estimator(machine, X, y, sample_weight, tol)
    removed = _Removed(machine, prepared, tol)
    decision = removed.decision.copy()
    for i in removed.support.tolist():
        a, b = removed.without(i)
        decision[i] = removed.rows(np.array([i]))[0] @ a + removed.B[i] @ b
    prediction, errors = _predictions_and_errors(machine, y, decision)
    return LeftOut(prediction, decision, errors, float(np.mean(errors)), removed.support)


@dataclass(frozen=True, eq=False)
class Influence:
    """The influence of every sample on a machine, from :func:`influence`."""

    curves: Array
    """Sensitivity curves, n times the change by each sample, (n, m)."""

    points: Any
    """Where they are measured, m points."""

    own: Array
    """What each sample does to the decision value at itself, (n,)."""

    refitted: NDArray[np.intp]
    """The samples whose removal was computed; curves of the others are zero."""

    @property
    def size(self) -> Array:
        """The root mean square of each sample's curve, (n,)."""
        return np.asarray(np.sqrt(np.mean(self.curves**2, axis=1)))


def influence(
    machine: KernelMachine,
    X: PointsLike,
    y: TargetsLike = None,
    points: Any = None,
    *,
    sample_weight: WeightsLike = None,
    tol: float | None = None,
) -> Influence:
    r"""Return the sensitivity curves of a machine, :math:`n (f(x) - f^{(-i)}(x))`.

    A leave-one-out estimate of the influence function: bounded losses have bounded curves. For the
    squared loss they are updates of rank one,
    :math:`f - f^{(-i)} = (k'Q + p'P)_{\cdot i}\, a_i / Q_{ii}` with the blocks Q and P of the
    inverse of the bordered system; for others support vectors are refitted, and curves of all
    other samples are zero.

    Parameters
    ----------
    machine : fitted KernelMachine
        A machine of one problem.
    X, y, sample_weight :
        The sample it was fitted on.
    points : array-like of shape (m, n_features), optional
        Where to measure; at the sample by default.
    tol : float, optional
        Tolerance of the refits, instead of the machine's own.

    Returns
    -------
    Influence
        Curves, one row a sample.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, after eq. (7.6).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.selection import influence
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[20] += 3.0
    >>> effect = influence(SVR(C=1.0).fit(X, y), X, y)
    >>> int(np.argmax(effect.size))
    20
    """
    check_is_fitted(machine)
    y = np.ones(num_samples(X)) if y is None else np.asarray(y)
    prepared = prepare(unfitted(machine), X, y, sample_weight)
    if len(prepared.subproblems) > 1:
        raise ValueError(
            "influence is defined for machines of one problem; take classes or outputs one by one."
        )
    removed = _Removed(machine, prepared, tol)
    everywhere = np.arange(removed.n)
    if points is None:
        rows, columns = removed.rows(everywhere), removed.B
    else:
        checked = machine._check_new(points)
        rows, columns = removed.cross(checked), machine.null_space_(checked)
    curves = np.zeros((removed.n, len(rows)))
    own = np.zeros(removed.n)
    for i in removed.support.tolist():
        a, b = removed.without(i)
        da, db = removed.a - a, removed.b - b
        curves[i] = removed.n * (rows @ da + columns @ db)
        own[i] = removed.rows(np.array([i]))[0] @ da + removed.B[i] @ db
    return Influence(curves, X if points is None else points, own, removed.support)


class _Removed:
    """A machine of a single problem, and its coefficients without a sample."""

    def __init__(
        self, machine: KernelMachine, prepared: Prepared[KernelMachine], tol: float | None
    ) -> None:
        if getattr(machine, "errors", None) is not None:
            raise ValueError("samples with correlated errors cannot be left out one by one.")
        (risk,) = prepared.risks
        solution: Solution = machine.solution_
        if solution.a.shape != (risk.n,) or abs(
            risk.certificate(solution.a, solution.b).primal - solution.objective
        ) > 1e-6 * (1.0 + abs(solution.objective)):
            raise ValueError(
                "the machine was not fitted on this sample (or its parameters were changed since): "
                "give X, y and sample_weight of the fit."
            )
        self.prepared, self.risk, self.solution = prepared, risk, solution
        self.K, self.B, self.n = prepared.sample.K, prepared.sample.B, len(prepared.sample.B)
        self.solver = prepared.machine._make_solver()
        if tol is not None:
            self.solver = replace(self.solver, tol=tol)
        self.a, self.b, _ = prepared.subproblems[0].read(solution)
        # In nu-machines a sample without coefficient still counts in the share that nu is of.
        self.support = np.arange(self.n) if np.any(risk.d) else np.flatnonzero(self.a)
        self.decision = self.K.matvec(self.a) + self.B @ self.b
        self._inverse = self._bordered() if risk.loss.quadratic else None

    def rows(self, index: NDArray[np.intp]) -> Array:
        """Return rows of the kernel matrix."""
        return np.asarray(self.K.block(index, np.arange(self.n)), dtype=np.float64)

    def cross(self, X: PointsLike) -> Array:
        """Return the kernel between new points and all samples."""
        machine = self.prepared.machine
        if is_function(machine.kernel):
            return kernel_matrix(machine._kernel_fit, X, machine._X_fit)
        if is_precomputed(machine.kernel):
            return np.asarray(X, dtype=np.float64)
        return np.asarray(machine.kernel_(X, self.prepared.sample.X), dtype=np.float64)

    def without(self, i: int) -> tuple[Array, Array]:
        """Return the coefficients of the machine without sample ``i``."""
        if self._inverse is not None:
            # The inverse of the bordered system, with row and column i taken out of it.
            column = self._inverse[:, i]
            change = column * (self.a[i] / column[i])
            return self.a - change[: self.n], self.b - change[self.n :]
        weights = self.prepared.sample.weights.copy()
        weights[i] = 0.0
        (subproblem,) = self.prepared.reweighted(weights).subproblems
        return subproblem.read(minimize(subproblem.risk, self.solver, self.solution))[:2]

    def _bordered(self) -> Array:
        """Return the inverse of the system of the squared loss."""
        n, q = self.n, self.B.shape[1]
        M = np.zeros((n + q, n + q))
        M[:n, :n] = self.K.dense()
        with np.errstate(divide="ignore"):
            M[np.arange(n), np.arange(n)] += 1.0 / self.risk.c
        M[:n, n:], M[n:, :n] = self.B, self.B.T
        if not np.all(np.isfinite(M)):
            raise ValueError("samples without weight have no influence; leave them out.")
        return np.asarray(np.linalg.inv(M))


def _predictions_and_errors(
    machine: KernelMachine, y: AnyArray, decision: Array
) -> tuple[AnyArray, Array]:
    """Return predictions and errors of decision values."""
    if is_classifier(machine):
        # A decision value of zero speaks for nobody, and counts as wrong.
        prediction = machine.classes_[(decision > 0).astype(np.intp)]
        return prediction, ((prediction != y) | (decision == 0)).astype(np.float64)
    if hasattr(machine, "offset_"):
        prediction = np.where(decision > 0, 1, -1)
        return prediction, (prediction < 0).astype(np.float64)
    return decision, np.asarray((np.asarray(y, dtype=np.float64) - decision) ** 2)


def _refit_estimator(
    machine: KernelMachine,
    X: PointsLike,
    y: AnyArray,
    sample_weight: WeightsLike,
    tol: float | None,
) -> LeftOut:
    """Refit a machine of several problems without each of its support vectors."""
    n = num_samples(X)
    again = clone(machine).set_params(warm_start=True)
    if tol is not None:
        again.set_params(tol=tol)
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    prediction = np.array(machine.predict(X))
    support = np.sort(np.asarray(machine.support_, dtype=np.intp))
    for i in support:
        without = weights.copy()
        without[i] = 0.0
        prediction[i] = again.fit(X, y, without).predict(X[i : i + 1])[0]
    if is_classifier(machine):
        errors = (prediction != y).astype(np.float64)
    else:
        errors = np.sum((np.asarray(y, dtype=np.float64) - prediction) ** 2, axis=1)
    return LeftOut(prediction, None, errors, float(np.mean(errors)), support)


def single(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
) -> tuple[RegularizedRisk, Solution]:
    """Return problem and solution of a fitted machine of one problem, checked for agreement."""
    check_is_fitted(machine)
    prepared = prepare(unfitted(machine), X, y, sample_weight)
    if len(prepared.subproblems) > 1:
        raise ValueError("this estimate is for machines of two classes; take pairs one by one.")
    removed = _Removed(machine, prepared, None)
    return removed.risk, removed.solution
