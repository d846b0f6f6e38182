r"""Bounds on the leave-one-out error of a support vector machine, without refits.

Each estimate flags the samples that might be errors if they were left out, and its value is their
share. With :math:`\alpha_i = |a_i|` and slacks :math:`\xi_i = \max(0, 1 - y_i f_i)`:

=====================  ==========================================  ================================
support_vector_bound   :math:`\alpha_i > 0`                        a bound
jaakkola_haussler      :math:`y_i f_i \le \alpha_i k(x_i, x_i)`    a bound without threshold
xi_alpha               :math:`2 \alpha_i R_\Delta^2 + \xi_i \ge 1` a bound, also with a threshold
span_rule              :math:`y_i f_i \le \alpha_i S_i^2`          an estimate, usually the closest
span_bound             constrained spans                           a bound
=====================  ==========================================  ================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.losses.classification import Hinge, SquaredHinge
from mercer.machines.base import KernelMachine, unfitted
from mercer.machines.subproblems import prepare
from mercer.problems.risk import RegularizedRisk
from mercer.selection.leave_one_out_errors import single
from mercer_research.selection.bounded_quadratic import bounded_quadratic

__all__ = [
    "ErrorBound",
    "RadiusMargin",
    "jaakkola_haussler",
    "radius_margin",
    "span_bound",
    "span_rule",
    "support_vector_bound",
    "xi_alpha",
]

# Tolerance of the quadratic programs of this module.
TOL = 1e-8


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """The share of samples that may be wrong when they are left out."""

    name: str
    """The estimate."""

    value: float
    """The share of flagged samples."""

    flagged: NDArray[np.bool_]
    """Samples that may be wrong, (n,)."""

    certified: bool
    """Whether no other sample can be: a bound on the leave-one-out error, not an estimate."""


@dataclass(frozen=True)
class _Margin:
    """The numbers of a machine of two classes with hinge loss that the bounds read."""

    risk: RegularizedRisk
    a: Array
    f: Array
    k: Array

    @property
    def alpha(self) -> Array:
        return np.abs(self.a)

    @property
    def margin(self) -> Array:
        return np.asarray(self.risk.y * self.f)

    @property
    def xi(self) -> Array:
        return np.maximum(0.0, 1.0 - self.margin)

    @property
    def bounded(self) -> NDArray[np.bool_]:
        return np.asarray((self.alpha > 0) & (self.alpha >= self.risk.c))

    @property
    def free(self) -> NDArray[np.intp]:
        return np.flatnonzero((self.alpha > 0) & ~self.bounded)


def _margin(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
) -> _Margin:
    risk, solution = single(machine, X, y, sample_weight)
    if not isinstance(risk.loss, Hinge) or np.any(risk.d) or not np.all(np.abs(risk.y) == 1.0):
        raise ValueError(
            "this estimate is for machines of two classes with hinge loss: SVC, or "
            "KernelClassifier(loss='hinge')."
        )
    return _Margin(risk, solution.a, solution.f, risk.K.diag())


def support_vector_bound(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, *, sample_weight: WeightsLike = None
) -> ErrorBound:
    r"""Count support vectors: without any other sample the machine is the same.

    .. math:: R_{\text{out}} \le \#\{i : \alpha_i > 0\} / n

    Parameters
    ----------
    machine : fitted SVC of two classes, or a relative with hinge loss
    X, y, sample_weight :
        The sample it was fitted on.

    Returns
    -------
    ErrorBound

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer_research.selection.bounds import support_vector_bound
    >>> X = np.array([[-3.0], [-1.0], [1.0], [3.0]])
    >>> machine = SVC(kernel="linear", C=10.0).fit(X, [0, 0, 1, 1])
    >>> support_vector_bound(machine, X, [0, 0, 1, 1]).value
    0.5
    """
    m = _margin(machine, X, y, sample_weight)
    return _bound("support vectors", m.alpha > 0, certified=True)


def jaakkola_haussler(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, *, sample_weight: WeightsLike = None
) -> ErrorBound:
    r"""Flag samples whose margin is owed to their own term of the expansion.

    .. math:: R_{\text{out}} \le \frac1n \#\{i : y_i f(x_i) - \alpha_i k(x_i, x_i) \le 0\}

    A bound for machines without threshold; with one it is an estimate, and single samples may be
    wrong that it does not flag.

    Parameters
    ----------
    machine : fitted SVC of two classes, or a relative with hinge loss
    X, y, sample_weight :
        The sample it was fitted on.

    Returns
    -------
    ErrorBound
        ``certified`` only without threshold.

    References
    ----------
    T. Jaakkola, D. Haussler, Probabilistic kernel regression models, AISTATS 1999. The inequality
    is reversed in eq. (1.84) of *Advances in Large Margin Classifiers*, and right in (2.2), (2.3).
    """
    m = _margin(machine, X, y, sample_weight)
    return _bound("Jaakkola-Haussler", m.margin <= m.alpha * m.k, certified=not m.risk.q)


def xi_alpha(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, *, sample_weight: WeightsLike = None
) -> ErrorBound:
    r"""Flag samples by slack and coefficient, with or without threshold.

    .. math:: 2 \alpha_i R_\Delta^2 + \xi_i \ge 1, \qquad
              R_\Delta^2 = \max_{x, x'} k(x, x) - k(x, x')

    Parameters
    ----------
    machine : fitted SVC of two classes, or a relative with hinge loss
    X, y, sample_weight :
        The sample it was fitted on.

    Returns
    -------
    ErrorBound

    References
    ----------
    T. Joachims, Estimating the generalization performance of a SVM efficiently, ICML 2000, for
    machines whose solution is stable: at least one support vector is not on its bound.
    """
    m = _margin(machine, X, y, sample_weight)
    K = m.risk.K.dense()
    R2 = float(np.max(m.k - np.min(K, axis=1)))
    flagged = (m.alpha > 0) & (2.0 * m.alpha * R2 + m.xi >= 1.0)
    return _bound("xi-alpha", flagged, certified=bool(len(m.free)))


def span_rule(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, *, sample_weight: WeightsLike = None
) -> ErrorBound:
    r"""Flag samples by the span rule, as if no other coefficient reached or left its bound.

    .. math:: y_i \bigl(f(x_i) - f^{(-i)}(x_i)\bigr) = \alpha_i S_i^2, \qquad
              S_i^2 = \frac{1}{(\tilde K_F^{-1})_{ii}} \ (i \in F), \quad
              k_{ii} - v_i' \tilde K_F^{-1} v_i \ (\alpha_i = c_i)

    with the bordered matrix of the free support vectors F: the squared distance of a sample from
    the affine hull of the others (from their linear hull without threshold). Exact where no other
    sample changes its kind.

    Parameters
    ----------
    machine : fitted SVC of two classes, or a relative with hinge loss
    X, y, sample_weight :
        The sample it was fitted on.

    Returns
    -------
    ErrorBound
        Not certified.

    References
    ----------
    V. Vapnik, O. Chapelle, Bounds on error expectation for support vector machines, Neural
    Computation 12 (2000).
    """
    m = _margin(machine, X, y, sample_weight)
    return _bound("span rule", m.margin <= m.alpha * _spans(m), certified=False)


def _spans(m: _Margin) -> Array:
    """Return the squared spans of all support vectors, zero for other samples."""
    B, F, q = m.risk.B, m.free, m.risk.q
    spans = np.zeros(m.risk.n)
    on = np.flatnonzero(m.bounded)
    if len(F) < q:
        spans[m.alpha > 0] = np.inf  # nothing fixes the threshold without them
        return spans
    M = np.zeros((len(F) + q, len(F) + q))
    M[:q, q:], M[q:, :q] = B[F].T, B[F]
    K = m.risk.K
    M[q:, q:] = K.block(F, F)
    inverse = np.linalg.pinv(M, hermitian=True)
    with np.errstate(divide="ignore"):
        spans[F] = 1.0 / np.maximum(np.diagonal(inverse)[q:], 0.0)
    v = np.concatenate([B[on].T, np.asarray(K.block(F, on), dtype=np.float64)])
    spans[on] = m.k[on] - np.sum(v * (inverse @ v), axis=0)
    return np.maximum(spans, 0.0)


def span_bound(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, *, sample_weight: WeightsLike = None
) -> ErrorBound:
    r"""Bound the leave-one-out error by constrained spans, whichever coefficients change.

    A free support vector can be wrong only if :math:`\alpha_p S_p \max(D, 1/\sqrt C) \ge 1`, where
    D is the diameter of the smallest ball around the sample and

    .. math:: S_p^2 = \min_\lambda \Bigl\|\phi(x_p) - \sum_{i \ne p} \lambda_i \phi(x_i)\Bigr\|^2,
              \qquad \sum_i \lambda_i = 1, \quad
              0 \le \alpha_i + y_i y_p \alpha_p \lambda_i \le C,

    over the free support vectors; support vectors on their bound are all counted.

    Parameters
    ----------
    machine : fitted SVC of two classes, or a relative with hinge loss, with threshold
    X, y, sample_weight :
        The sample it was fitted on; all weights of the loss must be equal.

    Returns
    -------
    ErrorBound

    References
    ----------
    V. Vapnik, O. Chapelle, Bounds on error expectation for support vector machines, Neural
    Computation 12 (2000).
    """
    m = _margin(machine, X, y, sample_weight)
    if m.risk.q != 1 or np.ptp(m.risk.c) > 0 or np.ptp(m.risk.B) > 0:
        raise ValueError(
            "the span bound is proved for machines with an intercept and equal weights; use "
            "jaakkola_haussler without intercept, xi_alpha with weights."
        )
    C, F, K = float(m.risk.c[0]), m.free, m.risk.K.dense()
    R2, _ = smallest_ball(K)
    size = max(2.0 * np.sqrt(R2), 1.0 / np.sqrt(C))
    flagged = m.bounded.copy()
    for p in F:
        others = F[p != F]
        if not len(others):
            flagged[p] = True
            continue
        sign, a_p = m.risk.y[others] * m.risk.y[p], m.alpha[p]
        ends = np.sort([-sign * m.alpha[others] / a_p, sign * (C - m.alpha[others]) / a_p], axis=0)
        inner, column = K[np.ix_(others, others)], K[others, p]
        one = np.ones((len(others), 1))
        found = bounded_quadratic(inner, column, ends[0], ends[1], one, np.ones(1), tol=TOL)
        if found is None:
            flagged[p] = True
            continue
        z = found.a
        S2 = max(float(K[p, p] - 2.0 * z @ column + z @ inner @ z), 0.0)
        flagged[p] = a_p * np.sqrt(S2) * size >= 1.0
    return _bound("span bound", flagged, certified=True)


def smallest_ball(K: Array) -> tuple[float, Array]:
    r"""Return the squared radius of the smallest ball around points, and their weights.

    .. math:: R^2 = \max_\beta \sum_i \beta_i k_{ii} - \beta'K\beta, \qquad
              \beta \ge 0, \quad \sum_i \beta_i = 1

    Parameters
    ----------
    K : (n, n) array
        Inner products of the points.

    Returns
    -------
    R2 : float
    beta : (n,) array

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-1.0, 0.0, 3.0])
    >>> round(smallest_ball(np.outer(x, x))[0], 6)
    4.0
    """
    n, k = len(K), np.diagonal(K)
    one = np.ones((n, 1))
    found = bounded_quadratic(2.0 * K, k, np.zeros(n), np.ones(n), one, np.ones(1), tol=TOL)
    assert found is not None
    beta = found.a
    return max(float(beta @ k - beta @ K @ beta), 0.0), beta


@dataclass(frozen=True, eq=False)
class RadiusMargin:
    """The radius-margin bound of a machine, from :func:`radius_margin`."""

    value: float
    """Squared radius times squared inverse margin, over n."""

    radius2: float
    """Squared radius of the smallest ball around the sample."""

    margin2: float
    """Twice the optimal value of the machine: the inverse of its squared margin."""

    gradient: dict[str, Any]
    """Derivatives of the value by ``log C`` and by the parameters of the kernel."""


def radius_margin(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, *, sample_weight: WeightsLike = None
) -> RadiusMargin:
    r"""Return the radius-margin bound and how it changes with C and the kernel.

    .. math::

        T = \frac1n \tilde R^2 \tilde w^2, \qquad
        \frac{\partial \tilde w^2}{\partial \theta} =
        -a' \frac{\partial K}{\partial \theta} a, \quad
        \frac{\partial \tilde R^2}{\partial \theta} =
        \sum_i \beta_i \frac{\partial k_{ii}}{\partial \theta}
        - \beta' \frac{\partial K}{\partial \theta} \beta

    For the squared hinge, a hard margin in the kernel :math:`K + 1/c`, it bounds the
    leave-one-out error; for the hinge :math:`(R^2 + 1/C)(\|w\|^2 + 2 \sum_i c_i \xi_i)` takes its
    place.

    Parameters
    ----------
    machine : fitted machine of two classes with hinge or squared hinge loss
    X, y, sample_weight :
        The sample it was fitted on.

    Returns
    -------
    RadiusMargin

    References
    ----------
    O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, Choosing multiple parameters for support
    vector machines, Machine Learning 46 (2002); K.-M. Chung, W.-C. Kao, C.-L. Sun,
    L.-L. Wang, C.-J. Lin, Radius margin bounds for support vector machines with the RBF kernel,
    Neural Computation 15 (2003).
    """
    risk, solution = single(machine, X, y, sample_weight)
    if not isinstance(risk.loss, Hinge | SquaredHinge) or np.any(risk.d):
        raise ValueError("the radius-margin bound is for the hinge and the squared hinge.")
    squared = isinstance(risk.loss, SquaredHinge)
    if np.any(risk.c <= 0) or (not squared and np.ptp(risk.c) > 0):
        raise ValueError(
            "the radius-margin bound needs positive weights, which are equal for the hinge loss; "
            "leave out samples without weight, or use the squared hinge."
        )
    K, a, n = risk.K.dense().astype(np.float64, copy=False), solution.a, risk.n
    shift = 1.0 / risk.c
    margin2 = 2.0 * solution.objective
    R2, beta = smallest_ball(K + np.diag(shift) if squared else K)
    if squared:
        # d/dlogC of 1/c is -1/c: through a' diag(1/c) a, and through the ball.
        d_margin = float(a @ (shift * a))
        d_radius = -float(beta @ shift - beta @ (shift * beta))
        total = R2
    else:
        total = R2 + float(shift[0])
        d_margin = 2.0 * float(np.sum(risk.terms.value(solution.f)))
        d_radius = -float(shift[0])
    gradient: dict[str, Any] = {"log_C": (d_radius * margin2 + total * d_margin) / n}
    kernel = getattr(machine, "kernel_", None)
    if kernel is not None and not kernel.precomputed:
        G = margin2 * (np.diag(beta) - np.outer(beta, beta)) - total * np.outer(a, a)
        checked = prepare(unfitted(machine), X, y, sample_weight).sample.X
        gradient |= {
            f"kernel__{name}": value / n for name, value in kernel.pullback(checked, G).items()
        }
    return RadiusMargin(total * margin2 / n, R2, margin2, gradient)


def _bound(name: str, flagged: NDArray[np.bool_], *, certified: bool) -> ErrorBound:
    flagged = np.asarray(flagged, dtype=bool)
    return ErrorBound(name, float(np.mean(flagged)), flagged, certified)
