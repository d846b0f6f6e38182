"""Linear-programming machines whose tube or margin the data choose."""

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
from mercer.estimators.linear_programming import label_signs
from mercer.gram.dictionary import CombinedDictionary
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge
from mercer.losses.regression import Pinball
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
)
from mercer.machines.unpenalized import constant_column
from mercer.problems.sparse_risk import SparseRisk
from mercer.solvers import Solution

__all__ = ["NuSparseClassifier", "NuSparseRegressor"]

# A margin below this part of the largest value of a function is none.
MIN_MARGIN_SHARE = 1e-9


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
    >>> from mercer_research.estimators import NuSparseRegressor
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
            CombinedDictionary(K, twice, np.where(wall > 0, 1.0, -1.0)[:, None]),
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
        assert isinstance(G, CombinedDictionary)
        rest = SparseRisk(
            risk.loss,
            CombinedDictionary(G.below, G.S),
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
    >>> from mercer_research.estimators import NuSparseClassifier
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

    _signs = label_signs

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
