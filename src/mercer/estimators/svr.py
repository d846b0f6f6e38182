"""Support vector regression and its relatives: declarations of a loss."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from mercer.estimators._expansion import Array, Function
from mercer.estimators._single import Regression
from mercer.estimators.base import KernelMachine
from mercer.gram.base import Gram
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import EpsilonInsensitive, Huber, Pinball
from mercer.problems.nu import nu_regression, nu_regression_back
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.null_space import NullSpace
from mercer.solvers import Solution, Solver

__all__ = ["SVR", "HuberSVR", "NuSVR", "QuantileSVR"]


class SVR(Regression):
    r"""Support vector regression, a drop-in replacement for scikit-learn's.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, |y_i - f(x_i) - b| - \epsilon)

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Reproducing kernel of the penalty: ``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``,
        ``"precomputed"``, another name of :func:`~mercer.kernels.catalogue` such as ``"matern"`` or
        ``"thin_plate"``, a function of two samples, or a :class:`~mercer.kernels.Kernel`, whose
        parameters are reached as ``kernel__length_scale``.
    degree, gamma, coef0 : int, {"scale", "auto"} or float, float
        Parameters of the named kernels, as in scikit-learn.
    tol : float, default=1e-3
        Largest violation of an optimality condition, in units of ``y``.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    epsilon : float or array-like of shape (n_samples,), default=0.1
        Half-width of the tube inside which errors cost nothing, for all samples or for each.
    shrinking : bool, default=True
        Without effect, and there for scikit-learn's signature: samples that rest on their bounds
        are always left aside.
    cache_size : float, default=200
        Memory for kernel values, in MB.
    verbose : bool or int, default=False
        Show a line with the gap falling.
    max_iter : int, default=-1
        Largest number of solver iterations, -1 for no limit.
    null_space : NullSpace, optional
        Unpenalized functions beside the penalized one, ``Polynomial(1) + Columns(["trend"])``; an
        intercept by default. What a conditionally positive definite kernel needs is added.
    max_time : float, optional
        Largest number of seconds in the solver; the best machine so far is kept, with a warning.
    gram : {"auto", "dense", "sparse", "tiled"} or callable, default="auto"
        How the kernel matrix is held; a callable maps ``(kernel, X)`` to a Gram.
    solver : str or Solver, default="auto"
        How the functional is minimized; a Solver brings its own tolerance and budget.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the sample has the same size.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_ :
        As in scikit-learn.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> machine = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(machine.predict([[1.5]])[0] - np.sin(1.5)) < 0.06)
    True
    >>> machine.solution_.status.value
    'converged'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left"), "array-like"],
        "shrinking": ["boolean"],
    }

    def __init__(
        self,
        *,
        kernel: Kernel | str | Function = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float | Array = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        null_space: NullSpace | None = None,
        max_time: float | None = None,
        gram: str | Function = "auto",
        solver: Solver | str = "auto",
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.null_space = null_space
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _loss(self) -> Loss:
        return EpsilonInsensitive(np.asarray(self.epsilon, dtype=np.float64)[()])


class NuSVR(Regression):
    r"""Nu-support vector regression: the width of the tube is chosen by the data.

    .. math::

        \min_{f, \epsilon} \tfrac12 \|f\|^2 + C \sum_i s_i \bigl(\nu \epsilon
        + \max(0, |y_i - f(x_i) - b| - \epsilon)\bigr)

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the fraction of samples outside the tube and lower bound on the fraction of
        support vectors, in (0, 1].
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start :
        As in :class:`SVR`.

    Attributes
    ----------
    epsilon_ : float
        Half-width of the tube.
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37 * X[:, 0])
    >>> machine = NuSVR(nu=0.3, C=10.0).fit(X, y)
    >>> bool(np.mean(abs(y - machine.predict(X)) > machine.epsilon_ + 1e-3) <= 0.3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "shrinking": ["boolean"],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Kernel | str | Function = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        null_space: NullSpace | None = None,
        max_time: float | None = None,
        gram: str | Function = "auto",
        solver: Solver | str = "auto",
        warm_start: bool = False,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.null_space = null_space
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _problem(self, B: Array, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        return nu_regression(K, y, c, self.nu, B, self._one)

    def _read(self, solution: Solution) -> tuple[Array, Array]:
        machine = nu_regression_back(solution.a, solution.b, self._one)
        self.epsilon_ = machine.width
        return machine.a, machine.b


class QuantileSVR(Regression):
    r"""Kernel quantile regression.

    .. math::

        \min_f \tfrac12 \|f\|^2 + C \sum_i s_i\, \rho_\tau(y_i - f(x_i) - b), \qquad
        \rho_\tau(r) = \max(\tau r, (\tau - 1) r)

    Parameters
    ----------
    quantile : float, default=0.5
        The level :math:`\tau` in (0, 1).
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start :
        As in :class:`SVR`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (200, 1))
    >>> y = X[:, 0] + rng.normal(size=200)
    >>> upper = QuantileSVR(quantile=0.9, C=0.1, tol=1e-6).fit(X, y)
    >>> int(np.sum(y > upper.predict(X) + 1e-6)) <= 20
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        C: float = 1.0,
        kernel: Kernel | str | Function = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        null_space: NullSpace | None = None,
        max_time: float | None = None,
        gram: str | Function = "auto",
        solver: Solver | str = "auto",
        warm_start: bool = False,
    ) -> None:
        self.quantile = quantile
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.null_space = null_space
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _loss(self) -> Loss:
        return Pinball(self.quantile)


class HuberSVR(Regression):
    r"""Robust kernel regression with Huber's loss.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i\, \rho_\delta(y_i - f(x_i) - b)

    with :math:`\rho_\delta(r) = r^2 / 2` up to :math:`|r| = \delta` and linear beyond.

    Parameters
    ----------
    delta : float, default=1.0
        Residual at which an error starts to count linearly, in units of ``y``; 1.345 standard
        deviations of the noise lose five per cent of efficiency under Gaussian noise.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start :
        As in :class:`SVR`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import HuberSVR
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[7] += 100.0
    >>> robust = HuberSVR(delta=0.1, C=10.0).fit(X, y)
    >>> bool(abs(robust.predict([[1.5]])[0] - np.sin(1.5)) < 0.2)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "delta": [Interval(Real, 0.0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        delta: float = 1.0,
        C: float = 1.0,
        kernel: Kernel | str | Function = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        null_space: NullSpace | None = None,
        max_time: float | None = None,
        gram: str | Function = "auto",
        solver: Solver | str = "auto",
        warm_start: bool = False,
    ) -> None:
        self.delta = delta
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.null_space = null_space
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _loss(self) -> Loss:
        return Huber(self.delta)
