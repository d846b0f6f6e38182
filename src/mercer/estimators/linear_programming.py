"""Machines under the 1-norm of their coefficients: few functions, any dictionary."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval
from mercer._typing import Array, Constraints, Function
from mercer.gram.dictionary import Arranged, Dictionary
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge
from mercer.losses.regression import Pinball, Squared
from mercer.losses.stacked import stack
from mercer.machines.callbacks import TaskContext
from mercer.machines.one_vs_rest import OneVsRest
from mercer.machines.regression import Regression
from mercer.machines.sparse_machine import SparseMachine
from mercer.machines.subproblems import (
    Coefficients,
    Posing,
    Prepared,
    Rows,
    Sample,
    SolvedSubproblem,
    Subproblem,
    check_loss,
)
from mercer.machines.unpenalized import constant_column
from mercer.problems.sparse_risk import SparseRisk
from mercer.solvers import Solution

__all__ = ["NuSparseClassifier", "NuSparseRegressor", "SparseClassifier", "SparseRegressor"]

# A margin below this part of the largest value of a function is none.
MIN_MARGIN_SHARE = 1e-9


@settings
class SparseRegressor(SparseMachine, Regression):
    r"""Fit few functions of a dictionary: the linear-programming machine, for any convex loss.

    .. math::

        \min_{a, b} \sum_j |a_j| + C \sum_i s_i\, l(y_i, f(x_i)), \qquad
        f = \sum_j a_j k(z_j, \cdot) + b'p

    With a piecewise linear loss it is a linear program, solved at a vertex: there are at most as
    many coefficients as samples on a kink of their loss, on the walls of the tube say. The
    functions :math:`k(z_j, \cdot)` are a dictionary and no reproducing kernel: k may be indefinite
    (even-order B-splines, tanh), not symmetric, or a matrix of proximities to m prototypes. No
    function is used up to :math:`C =` ``C_min_``, and scaling k by t is scaling C by t.

    Functions are found by column generation (:func:`mercer.programs.columns.generate_columns`), so
    that neither the matrix of all of them nor a program of that size is ever made.

    Parameters
    ----------
    loss : Loss or str, default="epsilon_insensitive"
        What an error costs.
    kernel : Kernel, str or callable, default="rbf"
        The functions of the dictionary. With ``"precomputed"`` X is the matrix (n_samples, m) of
        the functions at the samples.
    C : float, default=1.0
        Weight of the summed loss against the norm, :math:`1 / \lambda`.
    null_space : NullSpace, optional
        Unpenalized functions p, an intercept by default.
    null_space_penalty : float or array-like of shape (q,) or (q, q), optional
        Adds :math:`\tfrac12 b'Mb` for the functions p: a number for all but the constant, one for
        each, or the matrix M.
    positive : bool, default=False
        Allow no negative coefficients.
    centres : int or array-like of shape (m, n_features), optional
        The points :math:`z_j`, or how many samples to draw for them; all samples by default.
    random_state : int, default=0
        Seed of that draw.
    degree, gamma, coef0, cache_size, verbose, max_time, standardize :
        As in :class:`SVR`.
    tol : float, default=1e-6
        Largest duality gap, relative to one plus the objective.
    max_iter : int, default=-1
        Largest number of rounds, -1 for no limit.
    warm_start : bool, default=False
        Begin with the functions of the last fit.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_ :
        Which centres have a coefficient, these, and their coefficients.
    intercept_, null_space_coef_ :
        Coefficients of the unpenalized functions.
    multipliers_ : ndarray of shape (n_samples,)
        The dual solution, one number a sample: the derivative of the optimum in its target.
    C_min_ : float
        The C up to which no function is used.
    solution_ : Solution
        Objective, lower bound, gap, status, rounds and timings.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (1.24), (3.101) with the unpenalized
    part that is missing there, (3.105).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import SparseRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> machine = SparseRegressor(C=10.0, gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> len(machine.support_) < 10, machine.solution_.converged
    (True, True)
    >>> bool(np.max(np.abs(machine.predict(X) - np.sin(X[:, 0]))) < 0.15)
    True
    """

    loss: Loss | str = "epsilon_insensitive"
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    C: float = 1.0
    null_space_penalty: Any = None

    _parameter_constraints: ClassVar[Constraints] = {
        "null_space_penalty": [Interval(Real, 0.0, None, closed="left"), "array-like", None],
    }

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        if self.null_space_penalty is None:
            return super()._subproblems(sample)
        K, y, B, c = sample.K, sample.y, sample.B, self._weight() * sample.weights
        loss = check_loss(self._loss(), len(y))
        # Half of b'Mb is the squared loss of more samples, which see nothing of the dictionary.
        R = _root(self.null_space_penalty, self.null_space_names_)
        n, r = len(y), len(R)
        risk = self._risk(
            stack([loss, Squared()], [n, r]),
            Arranged(K, sp.eye_array(n + r, n, format="csr")),
            np.append(y, np.zeros(r)),
            np.append(c, np.ones(r)),
            np.vstack([B, R]),
        )
        return [Subproblem("", risk)]

    def _multipliers(self, found: list[Array]) -> Array:
        return found[0][: self.shape_fit_[0]]


def _root(penalty: Any, names: list[str]) -> Array:
    """Return R with ``R'R = M``, without the rows that penalize nothing."""
    q, M = len(names), np.asarray(penalty, dtype=np.float64)
    if M.ndim == 0:
        M = np.diag([0.0 if name == "1" else float(M) for name in names])
    M = np.diag(M) if M.ndim == 1 else M
    if M.shape != (q, q) or not np.allclose(M, M.T):
        raise ValueError(
            f"null_space_penalty must be a number, {q} numbers or a symmetric matrix {(q, q)} for "
            f"the functions {names}; got shape {M.shape}."
        )
    values, vectors = np.linalg.eigh(M)
    if values[0] < -1e-10 * max(values[-1], 0.0):
        raise ValueError("null_space_penalty must be positive semidefinite.")
    keep = values > 1e-14 * max(values[-1], 0.0)
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T)


@settings
class NuSparseRegressor(SparseMachine, Regression):
    r"""The linear-programming machine with a tube whose width the data choose.

    .. math::

        \min_{a, b, \epsilon \ge 0} \sum_j |a_j| + C \sum_i s_i \bigl(\nu \epsilon
        + \max(0, |y_i - f(x_i)| - \epsilon)\bigr)

    At most the share :math:`\nu` of the samples lies outside of the tube, and at least that share
    on its walls or outside, whatever the penalty: it follows from the optimality of the width
    alone. The width is one more column of the dictionary, with the weight :math:`C\nu\sum_i s_i`.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of samples outside of the tube, in (0, 1].
    kernel, C, null_space, positive, centres, random_state, degree, gamma, coef0 :
        As in :class:`SparseRegressor`.
    tol, cache_size, verbose, max_iter, max_time, warm_start, standardize :
        As in :class:`SparseRegressor`.

    Attributes
    ----------
    epsilon_ : float
        Half-width of the tube.
    support_, support_vectors_, dual_coef_, intercept_, multipliers_, C_min_, solution_ :
        As in :class:`SparseRegressor`.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (2.33).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import NuSparseRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37 * X[:, 0])
    >>> machine = NuSparseRegressor(nu=0.2, C=10.0).fit(X, y)
    >>> outside = np.abs(y - machine.predict(X)) > machine.epsilon_ + 1e-6
    >>> bool(np.mean(outside) <= 0.2)
    True
    """

    nu: float = 0.5
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    C: float = 1.0

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Pinball()  # above one wall of the tube and below the other

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        K, y, B, c = sample.K, sample.y, sample.B, self._weight() * sample.weights
        n, m = K.shape
        wall = np.repeat([1.0, 0.0], n)
        twice = sp.vstack([sp.eye_array(n)] * 2, format="csr")
        risk = SparseRisk(
            Pinball(wall),
            Arranged(K, twice, np.where(wall > 0, 1.0, -1.0)[:, None]),
            np.tile(y, 2),
            np.tile(c, 2),
            np.tile(B, (2, 1)),
            weights=np.append(np.ones(m), self.nu * np.sum(c)),
            signs=np.append(np.full(m, float(self.positive)), 1.0),
        )
        return [Subproblem("", risk, _without_width)]

    def _collapse(self, risk: SparseRisk) -> float:
        # The width grows in cost with C, as what is unpenalized does, and is no function.
        G = risk.G
        assert isinstance(G, Arranged)
        rest = SparseRisk(
            risk.loss,
            Arranged(G.below, G.S),
            risk.y,
            risk.c,
            np.column_stack([G.E, risk.B]),
            np.append(risk.weights[-1], np.zeros(risk.B.shape[1])),
            risk.weights[:-1],
            risk.signs[:-1],
        )
        return super()._collapse(rest)

    def _multipliers(self, found: list[Array]) -> Array:
        return np.asarray(found[0].reshape(2, -1).sum(axis=0))


def _without_width(solution: Solution) -> Coefficients:
    """Read a machine whose last coefficient is the width of its tube."""
    return Coefficients(solution.a[:-1], solution.b, {"epsilon_": float(solution.a[-1])})


def _label_signs(self: Any, G: Dictionary, y: Array) -> Array | None:
    """Return the labels as signs of the coefficients, if these are to be positive."""
    if not self.positive:
        return None
    if self.centres is not None:
        raise ValueError(
            "positive=True gives the function of a sample the sign of its label; centres have "
            "no labels. Use positive=False with centres."
        )
    if G.shape[1] != len(y):
        raise ValueError("positive=True needs a function for every sample, got other columns.")
    return y


@settings
class SparseClassifier(SparseMachine, OneVsRest):
    r"""Classify by few functions of a dictionary: the linear-programming machine.

    .. math::

        \min_{a, b} \sum_j |a_j| + C \sum_i s_i \max(0, 1 - y_i f(x_i)), \qquad
        f = \sum_j a_j k(z_j, \cdot) + b'p

    or any other loss of the margin. Without threshold, ``null_space=Empty()``, and with
    ``positive=True``, where :math:`a_j y_j \ge 0`, it is the LP-SVM of the literature, which needs
    no function up to :math:`1/C = \max_j y_j (Ky)_j`. Several classes are decided by one machine
    per class against the rest.

    Parameters
    ----------
    loss : Loss or str, default="hinge"
        What a wrong or narrow decision costs.
    kernel : Kernel, str or callable, default="rbf"
        The functions of the dictionary, as in :class:`SparseRegressor`.
    C : float, default=1.0
        Weight of the summed loss against the norm, :math:`1 / \lambda`.
    class_weight : dict or "balanced", optional
        Factors of C by class.
    positive : bool, default=False
        Allow only coefficients of the sign of their sample's label.
    null_space, centres, random_state, degree, gamma, coef0, tol, cache_size, verbose :
        As in :class:`SparseRegressor`.
    max_iter, max_time, warm_start, standardize :
        As in :class:`SparseRegressor`.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, null_space_coef_ :
        As in :class:`KernelClassifier`.
    multipliers_ : ndarray of shape (n_problems, n_samples)
        Dual solutions.
    C_min_ : float or ndarray of shape (n_problems,)
        The C up to which no function is used.
    solution_ : Solution
        Objective, lower bound, gap, status, rounds and timings.

    References
    ----------
    J. Weston and R. Herbrich, Adaptive margin support vector machines, in *Advances in Large Margin
    Classifiers*, MIT Press 2000, eq. (2.17) and (2.18).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.estimators import SparseClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SparseClassifier(C=1.0).fit(X, y)
    >>> machine.score(X, y) > 0.95, len(machine.support_) < 40
    (True, True)
    """

    loss: Loss | str = "hinge"
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    C: float = 1.0

    _signs = _label_signs


@settings
class NuSparseClassifier(SparseMachine, OneVsRest):
    r"""The linear-programming classifier whose margin the data choose.

    .. math::

        \max_{a, b, \rho \ge 0} \nu \rho \sum_i s_i - \sum_i s_i \max(0, \rho - y_i f(x_i))
        \qquad \text{subject to}\; \sum_j |a_j| \le 1

    Where :math:`\rho > 0`, at most the share :math:`\nu` of the samples has a margin
    :math:`y_i f(x_i)` below it, and at least that share at most it. With :math:`\nu` below the
    share of one sample no margin error is worth its cost, and the margin is the largest that there
    is. The dual is the game of boosting by linear programs.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of margin errors, in [0, 1]; zero for the largest margin.
    kernel, class_weight, null_space, positive, centres, random_state :
        As in :class:`SparseClassifier`.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter, max_time, warm_start, standardize :
        As in :class:`SparseClassifier`.

    Attributes
    ----------
    margin_ : float or ndarray of shape (n_problems,)
        The margin :math:`\rho` of a function whose coefficients have the norm one.
    classes_, support_, support_vectors_, dual_coef_, intercept_, null_space_coef_ :
        As in :class:`SparseClassifier`.
    multipliers_, solution_ :
        As in :class:`SparseClassifier`.

    References
    ----------
    T. Graepel, R. Herbrich, B. Schoelkopf, A. Smola, P. Bartlett, K.-R. Mueller, K. Obermayer, R.
    Williamson, Classification on proximity data with LP-machines, ICANN 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.estimators import NuSparseClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = NuSparseClassifier(nu=0.1).fit(X[:100], y[:100])
    >>> bool(machine.margin_ > 0), machine.score(X[:100], y[:100])
    (True, 1.0)
    """

    nu: float = 0.5
    kernel: Kernel | str | Function = "rbf"

    _parameter_constraints: ClassVar[Constraints] = {
        "nu": [Interval(Real, 0.0, 1.0, closed="both")],
    }

    C = 1.0

    _signs = _label_signs

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Hinge(margin=0.0)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        c = self._weight() * sample.weights
        return [
            Subproblem(title, self._margin_problem(sample.K, t, c, sample.B), _without_margin)
            for title, t in self._labels(sample.y)
        ]

    def _margin_problem(self, K: Any, y: Array, c: Array, B: Array) -> SparseRisk:
        c = c / np.sum(c)
        # Less than the weight of any sample buys no margin error, so that half of it is no error.
        share = max(float(self.nu), 0.5 * float(np.min(c[c > 0])))
        sides = float(np.sum(c[y > 0])), float(np.sum(c[y < 0]))
        if constant_column(self.null_space_names_) is not None and 0.5 * share > min(sides) * (
            1.0 + 1e-12
        ):
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu} asks for more margin errors than the "
                "smaller class has weight; choose nu at most twice its share"
            )
        # The hinge at zero of f - rho y, whose column is rewarded by the share.
        return SparseRisk(
            self._loss(),
            K,
            y,
            c,
            np.column_stack([-y, B]),
            np.append(-share, np.zeros(B.shape[1])),
            None,
            self._signs(K, y),
            radius=1.0,
        )

    def _collapse(self, risk: SparseRisk) -> float:
        return 0.0

    def _solve(self, prepared: Prepared[Posing], context: TaskContext) -> list[SolvedSubproblem]:
        solved = super()._solve(prepared, context)
        del self.C_min_
        margins = np.array([one.solution.b[0] for one in solved])
        sizes = np.array(
            [
                np.max(np.abs(one.solution.f + one.solution.b[0] * subproblem.risk.y))
                for one, subproblem in zip(solved, prepared.subproblems, strict=True)
            ]
        )
        self.margin_ = margins if len(margins) > 1 else float(margins[0])
        if np.any(margins <= MIN_MARGIN_SHARE * sizes):
            warnings.warn(
                "The margin is zero: no combination of the functions separates the classes so well "
                f"with nu={self.nu}. Raise nu, or use a dictionary with more functions.",
                UserWarning,
                stacklevel=4,
            )
        return solved


def _without_margin(solution: Solution) -> Coefficients:
    """Read a machine whose first unpenalized coefficient is its margin."""
    return Coefficients(solution.a, solution.b[1:])
