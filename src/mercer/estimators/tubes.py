"""Support vector regression in tubes whose width differs from place to place."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval
from mercer._typing import AnyArray, Array, Constraints, Function, PointsLike
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.interval import within
from mercer.losses.named import REGRESSION, resolve
from mercer.losses.regression import EpsilonInsensitive, Pinball
from mercer.machines.framing import framed, set_output
from mercer.machines.kernel_kinds import compares_objects, is_precomputed
from mercer.machines.low_rank import LowRankProblem, irreducible
from mercer.machines.regression import Regression
from mercer.machines.subproblems import Coefficients, Rows, Sample, Subproblem
from mercer.problems.parametric_tube import (
    centred,
    parametric_tube,
    parametric_tube_back,
)
from mercer.regularizers.null_space import Constant, NullSpace
from mercer.smoothing.widths import Guess
from mercer.solvers import Solution

__all__ = ["HeteroscedasticNuSVR", "HeteroscedasticSVR"]

WIDTHS = [Interval(Real, None, None, closed="neither"), callable, "array-like"]


@settings
class HeteroscedasticSVR(Regression):
    r"""Support vector regression for noise of varying size: a tube of known width.

    .. math::

        \min_f \tfrac12 \|f\|^2 + C \sum_i s_i\, \rho(\xi_i), \qquad
        \xi_i = \max(0,\; r_i - \epsilon_\uparrow(x_i),\; -r_i - \epsilon_\downarrow(x_i))

    with residuals :math:`r_i = y_i - f(x_i) - b`. Widths must not be read off the targets of the
    same sample: what is learned of noise elsewhere, or the precision of an instrument, is known.

    Parameters
    ----------
    upper : float, callable or array-like of shape (n_samples,), default=0.1
        Distance of the upper wall: a number, a function of the points (n, p) that returns (n,), or
        the values on the sample, without which no interval of new points is known.
    lower : float, callable, array-like of shape (n_samples,) or None, default=None
        Distance of the lower wall, that of the upper one by default. One of the two may be negative
        if the other is at least as large: then the tube lies beside the function.
    loss : Loss or str, default="absolute"
        What the distance from the tube costs.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, example 2.1 and eq. (2.8).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import HeteroscedasticSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (100, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.2 * X[:, 0] * rng.normal(size=100)
    >>> machine = HeteroscedasticSVR(lambda X: 0.12 * X[:, 0], C=10.0).fit(X, y)
    >>> low, high = machine.predict_interval([[0.5], [2.5]]).T
    >>> (high - low).round(2)
    array([0.12, 0.6 ])
    """

    upper: float | Function | Array = 0.1
    lower: float | Function | Array | None = None
    _: KW_ONLY
    loss: Loss | str = "absolute"
    C: float | str = 1.0
    kernel: Kernel | str | Function = "rbf"
    approximation: None = fixed(None)

    _parameter_constraints: ClassVar[Constraints] = {
        "upper": WIDTHS,
        "lower": [*WIDTHS, None],
        "loss": [Loss, str],
    }

    def _measure(self, X: PointsLike) -> tuple[Any, Any]:
        """Return the widths below and above the function at points, numbers where they are."""
        upper = self._width(self.upper, "upper", X)
        lower = upper if self.lower is None else self._width(self.lower, "lower", X)
        if not np.all(np.asarray(lower) + upper >= 0):
            raise ValueError(
                "upper + lower is the width of the tube and must not be negative anywhere. "
                "One of the two may be negative if the other is at least as large."
            )
        return lower, upper

    def _width(self, width: Any, name: str, X: PointsLike) -> Any:
        n = X.shape[0]
        values = np.asarray(width(X) if callable(width) else width, dtype=np.float64)
        if values.shape not in ((), (n,)):
            raise ValueError(
                f"{name} has shape {values.shape}; give one number, or one per sample: ({n},)"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"{name} must be finite; to leave a sample out, give it the weight zero"
            )
        return values[()]

    def _loss(self, rows: Rows | None = None) -> Loss:
        if rows is None:
            raise ValueError("the tube of HeteroscedasticSVR is known on a sample only.")
        lower, upper = self._measure(rows.X)
        return within(resolve(self.loss, REGRESSION), upper, lower)

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        raise irreducible(self)

    set_output = set_output

    @framed()
    def predict_interval(self, X: PointsLike) -> Array:
        """Return the walls of the tube at new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper wall.
        """
        check_is_fitted(self)
        given: tuple[Any, ...] = (self.upper, self.lower)
        if any(np.ndim(width) for width in given):
            raise ValueError(
                "the width of the tube is known at the sample only; give upper and lower as "
                "functions of the points to have it elsewhere"
            )
        f = self.predict(X)
        lower, upper = self._measure(self._check_new(X))
        return np.column_stack([f - lower, f + upper])


@settings
class HeteroscedasticNuSVR(Regression):
    r"""Nu-support vector regression for noise of varying size: data choose the width of the tube.

    .. math::

        \min_{f, \epsilon \ge 0} \tfrac12 \|f\|^2 + C \sum_i s_i \bigl(\nu\, \epsilon' \zeta(x_i)
        + \max(0, |y_i - f(x_i) - b| - \epsilon' \zeta(x_i))\bigr)

    The data choose how much of every function is in the width: a constant and a multiple of the
    input, say, where errors are larger for larger inputs, or one number for each of some groups.
    With a constant only it is :class:`NuSVR`.

    Parameters
    ----------
    tube : NullSpace, optional
        The functions :math:`\zeta_q \ge 0` that make the width, in the language of unpenalized
        functions: ``Constant() + Columns(["dose"])``, ``Functions([...])``; a constant by default.
    nu : float or array-like of shape (n_functions,), default=0.5
        Upper bound on the share of samples outside the tube and lower bound on that of samples
        outside or on a wall, in (0, 1]; for a function :math:`\zeta_q` shares weighted with it,
        which for the indicator of a group are shares of the group.
    symmetric : bool, default=True
        Whether both walls are as far from the function; else each has coefficients of its own, for
        errors that are skewed, and half of `nu` of the samples lie beyond it.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.

    Attributes
    ----------
    tube_coef_ : ndarray of shape (n_functions,) or (2, n_functions)
        Coefficients :math:`\epsilon`; of the lower and of the upper wall if they differ.
    tube_names_ : list of str
        What the functions are called.
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, section 2.3.2; B. Schoelkopf, A. Smola, R.
    Williamson and P. Bartlett (2000), New support vector algorithms, Neural Computation 12, sec. 4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import HeteroscedasticNuSVR
    >>> from mercer.regularizers import Columns, Constant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (200, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 0] * rng.uniform(-1, 1, 200)
    >>> machine = HeteroscedasticNuSVR(Constant() + Columns([0]), nu=0.1, C=10.0).fit(X, y)
    >>> machine.tube_coef_.round(1)  # no constant, and the inputs times about 0.3
    array([0. , 0.3])
    >>> low, high = machine.predict_interval(X).T
    >>> bool(np.mean((y < low - 1e-3) | (y > high + 1e-3)) <= 0.1)
    True
    """

    tube: NullSpace | None = None
    _: KW_ONLY
    nu: float | Array = 0.5
    symmetric: bool = True
    C: float | str = 1.0
    kernel: Kernel | str | Function = "rbf"
    approximation: None = fixed(None)

    _direct = False

    _parameter_constraints: ClassVar[Constraints] = {
        "tube": [NullSpace, None],
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), "array-like"],
        "symmetric": ["boolean"],
    }

    def _widths(self, X: PointsLike) -> Array:
        """Settle the functions of the tube, and return them on the sample, (n, k)."""
        space = copy.deepcopy(Constant() if self.tube is None else self.tube)
        features = getattr(self, "feature_names_in_", None)
        space = space if features is None else space.bind(list(features))
        names = space.names(self.shape_fit_[-1], features)
        if (is_precomputed(self.kernel) or compares_objects(self.kernel)) and not set(names) <= {
            "1"
        }:
            raise ValueError(
                f"Without features there is nothing that {space!r} could read; the tube of a "
                "precomputed kernel, or of one of objects, has a constant width."
            )
        zeta = space(X)
        for name, column in zip(names, zeta.T, strict=True):
            if not np.all(np.isfinite(column)) or np.any(column < 0):
                raise ValueError(
                    f"The function {name!r} of the tube is negative or not finite on the sample; "
                    "a width is neither. Take its absolute value, or measure it from its minimum."
                )
        self.tube_, self.tube_names_ = space, names
        return zeta

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Pinball()  # above one wall of the tube and below the other

    def _calibrated_loss(self, found: Guess, rows: Rows | None) -> Loss:
        # The tube that leaves the mean share of the errors outside.
        share = 1.0 - float(np.mean(self.nu))
        return EpsilonInsensitive(float(np.quantile(np.abs(found.left_out), share)))

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        raise irreducible(self)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        K, y, B, c = sample.K, sample.y, sample.B, self._weight() * sample.weights
        zeta = self._widths(sample.X)
        k, nu = zeta.shape[1], np.asarray(self.nu, dtype=np.float64)
        if nu.shape not in ((), (k,)):
            raise ValueError(f"nu has shape {nu.shape}; give one number, or one a function: ({k},)")
        if self.symmetric:
            return [
                Subproblem("", parametric_tube(K, y, c, nu, zeta, B=B), partial(_symmetric, k=k))
            ]
        none = np.zeros_like(zeta)
        nu = np.tile(np.broadcast_to(nu, (k,)), 2)
        risk = parametric_tube(K, y, c, nu, np.hstack([zeta, none]), np.hstack([none, zeta]), B)
        return [Subproblem("", risk, partial(_two_sided, B=B, zeta=zeta))]

    set_output = set_output

    @framed()
    def predict_interval(self, X: PointsLike) -> Array:
        r"""Return the walls of the tube at new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs; a width is zero where functions that were positive on the sample make it
            negative.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper wall.
        """
        f = self.predict(X)
        widths = self.tube_(self._check_new(X)) @ np.atleast_2d(self.tube_coef_).T
        lower, upper = np.maximum(widths[:, 0], 0.0), np.maximum(widths[:, -1], 0.0)
        return np.column_stack([f - lower, f + upper])


def _symmetric(solution: Solution, k: int) -> Coefficients:
    """Read a tube with walls at the same distance."""
    machine = parametric_tube_back(solution.a, solution.b, k)
    return Coefficients(machine.a, machine.b, {"tube_coef_": machine.widths})


def _two_sided(solution: Solution, B: Array, zeta: Array) -> Coefficients:
    """Read a tube with a width below and another above."""
    k = zeta.shape[1]
    machine = centred(parametric_tube_back(solution.a, solution.b, 2 * k), B, zeta)
    return Coefficients(machine.a, machine.b, {"tube_coef_": machine.widths.reshape(2, k)[::-1]})
