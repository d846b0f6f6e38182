"""Regression and classification by functions of a known shape."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import StrOptions
from mercer._typing import Array, Constraints, TargetsLike
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.named import REGRESSION, resolve
from mercer.machines.evaluating import expand
from mercer.machines.expansion import store
from mercer.machines.one_vs_rest import OneVsRest
from mercer.machines.regression import Regression
from mercer.machines.shaping import ShapedMachine
from mercer.machines.subproblems import Rows, Sample, check_loss
from mercer.machines.unpenalized import intercept_of
from mercer.problems.constrained import SampleLosses, chebychev

__all__ = ["ShapeConstrainedClassifier", "ShapeConstrainedRegressor"]


@settings
class ShapeConstrainedRegressor(ShapedMachine, Regression):
    r"""Monotone, convex or bounded regression, for any convex loss.

    .. math::

        \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i\, l(y_i, f(x_i) + b' p(x_i))
        \quad \text{subject to} \quad l_j \le L_j (f + b'p) \le u_j

    Knowledge is a list of values: ``Increasing("dose")``, ``Convex(0)``, ``Bounded(0, 1)``,
    ``At(x0, y0)`` and the others of :mod:`mercer.regularizers.shape`. Shapes are asked for at the
    steps of lines through the domain, of which those take part in the problem that the solution
    would violate; `shape_certificate_` says what is proved between them.

    Parameters
    ----------
    constraints : Constraint, list of them, dict or array-like of shape (n_features,), optional
        What is known. A dict or an array of 1, 0 and -1 says along which features the function
        rises and falls, as ``monotonic_cst`` of scikit-learn's trees.
    loss : Loss or str, default="squared"
        What an error costs; ``"chebychev"`` for the largest error, :math:`C \max_i |y_i - f_i|`.
    kernel : Kernel or str, default="rbf"
        Reproducing kernel of the penalty.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    grid : int, optional
        Steps along a line; 200 for one feature and 24 for more by default.
    lines : int, default=64
        Lines along a feature, where there are several: half of them through the sample.
    prove : bool, default=False
        Tighten the constraints until shapes are proved to hold between the steps too, with no
        violation at all: everywhere for one feature and for kernels that are sums over features, on
        the lines otherwise. For kernels whose derivatives are known (Gaussian, Matern, rational
        quadratic, and sums and products of them). The proof is of the function: `predict` computes
        it up to 1e-12 of the sum of its terms, so that steps smaller than that may be off by
        rounding.
    approximation : Nystrom, optional
        A low-rank approximation of the machine: ``Nystrom(500)``.
    degree, gamma, coef0, tol, cache_size, max_iter, max_time, gram, solver, standardize :
        As in :class:`SVR`; `tol` is the largest violation of knowledge too, in units of y (a slope
        counts per range of its feature).
    random_state : int, default=0
        Of the choice of lines.
    verbose : bool or int, default=False
        Write a line for every round of constraints, and how the fit ended, to the standard error.

    Attributes
    ----------
    shape_certificate_ : ShapeCertificate
        Largest violation found and largest not excluded by proof, and for every piece of knowledge
        its price (multipliers) and where it is active.
    support_, support_vectors_, dual_coef_, intercept_, null_space_coef_ :
        The expansion; positions beyond the sample are points of knowledge that is active.
    width_ : float
        The largest error, for ``loss="chebychev"``.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings of the fit.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ShapeConstrainedRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.regularizers import Bounded, Increasing
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (40, 1))
    >>> y = np.tanh(X[:, 0]) + 0.3 * rng.standard_normal(40)
    >>> machine = ShapeConstrainedRegressor(
    ...     [Increasing(0), Bounded(at_most=1.0)], kernel=Gaussian(0.5), C=10
    ... )
    >>> f = machine.fit(X, y).predict(np.linspace(X.min(), X.max(), 500)[:, None])
    >>> bool(np.all(np.diff(f) > -1e-5)), bool(f.max() < 1.001)
    (True, True)
    """

    constraints: Any = None
    loss: Loss | str = "squared"
    kernel: Kernel | str = "rbf"
    _: KW_ONLY
    C: float | str = 1.0

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [Loss, StrOptions({*REGRESSION, "chebychev"})],
    }

    @property
    def _largest(self) -> bool:
        return isinstance(self.loss, str) and self.loss == "chebychev"

    def _loss(self, rows: Rows | None = None) -> Loss:
        if self._largest:
            raise ValueError('C="auto" needs a loss of single errors; give a number for C.')
        return resolve(self.loss, REGRESSION)

    def _data_term(self, sample: Sample) -> SampleLosses:
        y, B, c = sample.y, sample.B, self._weight() * sample.weights
        if self._largest:
            # The largest error does not count samples: weights only leave some out.
            live = np.flatnonzero(c > 0)
            said = chebychev(y[live], y[live], self._weight(), B[live])
            assert said.index is not None
            index = np.append(live, -1)[said.index]
            return SampleLosses(said.loss, said.y, said.c, said.B, said.d, index)
        return SampleLosses(check_loss(self._loss(), len(y)), y, c, B, np.zeros(B.shape[1]))

    def _keep(self, X: Array, index: NDArray[np.intp], coef: Array, b: Array) -> None:
        store(self, X, index, coef[:, None])
        self.__dict__.pop("width_", None)
        if self._largest:
            self.width_, b = float(b[-1]), b[:-1]
        self.null_space_coef_ = b
        self.intercept_ = np.atleast_1d(intercept_of(self.null_space_names_, b))

    def _values(self, Z: Array) -> Array:
        return self._evaluate(Z)


@settings
class ShapeConstrainedClassifier(ShapedMachine, OneVsRest):
    r"""Classify in two classes by a monotone, convex or bounded decision function.

    .. math::

        \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i\, l(y_i, f(x_i) + b' p(x_i))
        \quad \text{subject to} \quad l_j \le L_j (f + b'p) \le u_j

    A decision function that rises with a feature gives a probability that does. Knowledge of
    values is that of the decision function: with the logistic loss, of log-odds.

    Parameters
    ----------
    constraints :
        What is known, as in :class:`ShapeConstrainedRegressor`.
    loss : Loss or str, default="logistic"
        What a wrong or narrow decision costs.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    kernel, null_space, C, grid, lines, prove, approximation, random_state :
        As in :class:`ShapeConstrainedRegressor`.
    degree, gamma, coef0, tol, cache_size, max_iter, max_time, gram, solver, standardize :
        As in :class:`ShapeConstrainedRegressor`.
    verbose : bool or int, default=False
        Write a line for every round of constraints, and how the fit ended, to the standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    shape_certificate_, support_vectors_, dual_coef_, null_space_coef_, solution_ :
        As in :class:`ShapeConstrainedRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ShapeConstrainedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (60, 1))
    >>> y = X[:, 0] + rng.standard_normal(60) > 0
    >>> machine = ShapeConstrainedClassifier({0: 1}, C=10.0).fit(X, y)
    >>> p = machine.predict_proba(np.linspace(-1.9, 1.9, 100)[:, None])[:, 1]
    >>> bool(np.all(np.diff(p) > -1e-4))
    True
    """

    constraints: Any = None
    loss: Loss | str = "logistic"
    kernel: Kernel | str = "rbf"
    _: KW_ONLY
    C: float | str = 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _encode(self, y: TargetsLike) -> tuple[NDArray[np.intp], Array]:
        codes, weights = super()._encode(y)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                "fit one machine a class (OneVsRestClassifier) if every class has the shape."
            )
        return codes, weights

    def _data_term(self, sample: Sample) -> SampleLosses:
        y, B, c = sample.y, sample.B, self._weight() * sample.weights
        loss = check_loss(self._loss(), len(y))
        return SampleLosses(loss, np.where(y == 1, 1.0, -1.0), c, B, np.zeros(B.shape[1]))

    def _keep(self, X: Array, index: NDArray[np.intp], coef: Array, b: Array) -> None:
        store(self, X, index, coef[:, None])
        self.loss_ = copy.deepcopy(self._loss())
        self.null_space_coef_ = b[None]
        self.intercept_ = intercept_of(self.null_space_names_, self.null_space_coef_)

    def _values(self, Z: Array) -> Array:
        f = expand(self, Z, self._dual_coef_.T) + self.null_space_(Z) @ self.null_space_coef_.T
        return np.asarray(f[:, 0])
