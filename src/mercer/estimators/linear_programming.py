"""Machines under the 1-norm of their coefficients: few functions, any dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval
from mercer._typing import Array, Constraints, Function
from mercer.gram.dictionary import CombinedDictionary, Dictionary
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.losses.stacked import stack
from mercer.machines.one_vs_rest import OneVsRest
from mercer.machines.regression import Regression
from mercer.machines.sparse_machine import SparseMachine
from mercer.machines.subproblems import (
    Sample,
    Subproblem,
    check_loss,
)

__all__ = ["SparseClassifier", "SparseRegressor", "label_signs"]


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
        The C up to which no function is used; nan where its linear program has too few digits.
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
            CombinedDictionary(K, sp.eye_array(n + r, n, format="csr")),
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


def label_signs(self: Any, G: Dictionary, y: Array) -> Array | None:
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
        The C up to which no function is used; nan where its linear program has too few digits.
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

    _signs = label_signs
