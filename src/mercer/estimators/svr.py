"""Support vector regression and its relatives: declarations of a loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import AnyArray, Array, Constraints, Function
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import EpsilonInsensitive, Huber, Pinball
from mercer.machines.automatic import choose_epsilon, choose_nu
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.regression import Regression
from mercer.machines.subproblems import Coefficients, Rows, Sample, Subproblem
from mercer.machines.unpenalized import constant_column
from mercer.problems.nu import nu_regression, nu_regression_back
from mercer.reduced.problem import VariableTube
from mercer.smoothing.widths import Guess
from mercer.solvers import Solution

__all__ = ["SVR", "HuberSVR", "NuSVR", "QuantileSVR"]


@settings
class SVR(Regression):
    r"""Support vector regression, a drop-in replacement for scikit-learn's.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, |y_i - f(x_i) - b| - \epsilon)

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Reproducing kernel of the penalty: ``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``,
        ``"precomputed"``, another name of :doc:`/how-to/choose-a-kernel` such as ``"matern"`` or
        ``"thin_plate"``, a function of two samples, or a :class:`~mercer.kernels.Kernel`, whose
        parameters are reached as ``kernel__length_scale``.
    degree, gamma, coef0 : int, {"scale", "auto", "median", "tuned"} or float, float
        Parameters of the named kernels, as in scikit-learn. The width of ``gamma="median"`` is the
        median distance of two samples; ``"tuned"`` tries five widths around it and keeps the one
        with the lowest leave-one-out error of a least-squares machine on at most 500 samples.
    tol : float, default=1e-3
        Largest violation of an optimality condition, in units of ``y``.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty. "auto" chooses it: a least-squares machine on
        at most 500 samples tells the C with the lowest leave-one-out error, which is rescaled to
        this loss by its mean curvature at those errors. Costs about as much as a fit. ``inf`` asks
        for a hard tube and is 1e10 (``C_`` says so); any finite C is used as it is, with a
        warning where double precision cannot tell how good the answer is.
    epsilon : float, array-like of shape (n_samples,) or "auto", default=0.1
        Half-width of the tube inside which errors cost nothing, for all samples or for each. "auto"
        is the most efficient for the noise (:func:`mercer.smoothing.optimal_epsilon`), 0.612
        standard deviations of Gaussian noise; the noise is what the least-squares machine of
        ``C="auto"`` leaves, Gaussian unless the likelihood of :func:`mercer.smoothing.fit_noise`
        says otherwise.
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
        How the functional is minimized; a Solver brings its own tolerance and budget. ``"auto"``
        solves a linear kernel over the data, without a kernel matrix, where that is faster.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the sample has the same size.
        Kernel rows of the last fit, up to `cache_size`, and a copy of its inputs are kept for the
        next one, until the machine is deleted or fitted without.
    standardize : bool, default=False
        Divide the features by their standard deviations over the sample, without centring: kernels
        with length scales take these as ``kernel_.length_scale``. Lengths and gammas that are given
        are then in standard deviations.
    approximation : Approximation, Local, "auto" or None
        Fit a low-rank approximation of the machine, by passes over blocks of rows, instead of a
        function for every row: ``Nystrom(2000)`` (or the number 2000, or
        "nystrom"), ``RandomFeatures(2000)`` ("random_features"), or an exact machine in each part
        of the sample, :class:`~mercer.local.Local` ("local"). "auto" chooses between
        these and the exact machine by what a pilot measures on parts of the sample;
        ``approximation_`` is the choice and ``approximation_reason_`` says why. Rows that come in
        blocks (:mod:`mercer.data`, Dask) are always approximated, by ``Nystrom()`` unless told
        otherwise. `cache_size`, `gram`, `solver` and `warm_start` apply to fits without an
        approximation.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_ :
        As in scikit-learn.
    C_, epsilon_ : float
        What was used; an array where `epsilon` is one.
    noise_variance_ : float
        Variance of the noise, if C or epsilon are "auto".
    feature_scales_ : ndarray of shape (n_features,)
        What the features were divided by, if they were.
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

    _: KW_ONLY
    kernel: Kernel | str | Function = "rbf"
    C: float | str = 1.0
    epsilon: float | Array | str = 0.1
    shrinking: bool = True

    _parameter_constraints: ClassVar[Constraints] = {
        "epsilon": [
            Interval(Real, 0.0, None, closed="left"),
            StrOptions({"auto"}),
            "array-like",
        ],
    }

    _tunable = ("C", "epsilon")

    def _set_parameters(self, found: Guess | None, rows: Rows | None = None) -> None:
        self.__dict__.pop("noise_variance_", None)
        if found is not None:
            self.noise_variance_ = found.noise_variance
            self.epsilon_: Any = choose_epsilon(found.left_out, found.noise_variance)
        if not isinstance(self.epsilon, str):
            self.epsilon_ = np.asarray(self.epsilon, dtype=np.float64)[()]
        super()._set_parameters(found, rows)

    def _loss(self, rows: Rows | None = None) -> Loss:
        given = self.epsilon_ if isinstance(self.epsilon, str) else self.epsilon
        return EpsilonInsensitive(np.asarray(given, dtype=np.float64)[()])


@settings
class NuSVR(Regression):
    r"""Nu-support vector regression: the width of the tube is chosen by the data.

    .. math::

        \min_{f, \epsilon} \tfrac12 \|f\|^2 + C \sum_i s_i \bigl(\nu \epsilon
        + \max(0, |y_i - f(x_i) - b| - \epsilon)\bigr)

    Parameters
    ----------
    nu : float or "auto", default=0.5
        Upper bound on the fraction of samples outside the tube and lower bound on the fraction of
        support vectors, in (0, 1]. "auto" is the most efficient fraction for noise of the density
        :math:`\exp(-|cz|^p)` under which the errors of samples left out are most likely, 0.54 for
        Gaussian noise (:func:`mercer.smoothing.optimal_nu`, :func:`mercer.smoothing.fit_noise`).
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    epsilon_ : float
        Half-width of the tube.
    C_, nu_ : float
        What was used.
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

    _: KW_ONLY
    nu: float | str = 0.5
    C: float | str = 1.0
    kernel: Kernel | str | Function = "rbf"
    shrinking: bool = True

    _direct = False

    _parameter_constraints: ClassVar[Constraints] = {
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"auto"})],
    }

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Pinball()  # above one wall of the tube and below the other

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        c = self._weight() * sample.weights
        risk = nu_regression(
            sample.K, sample.y, c, self.nu_, sample.B, constant_column(self.null_space_names_)
        )
        return [Subproblem("", risk, self._read)]

    def _read(self, solution: Solution) -> Coefficients:
        machine = nu_regression_back(
            solution.a, solution.b, constant_column(self.null_space_names_)
        )
        return Coefficients(machine.a, machine.b, {"epsilon_": machine.width})

    _tunable = ("C", "nu")

    def _set_parameters(self, found: Guess | None, rows: Rows | None = None) -> None:
        self.__dict__.pop("noise_variance_", None)
        if not isinstance(self.nu, str):
            self.nu_ = float(self.nu)
        if found is not None:
            self.noise_variance_ = found.noise_variance
            self.nu_ = choose_nu(found.left_out) if isinstance(self.nu, str) else self.nu_
        super()._set_parameters(found, rows)

    def _calibrated_loss(self, found: Guess, rows: Rows | None) -> Loss:
        # The tube that leaves the share nu of the errors outside.
        return EpsilonInsensitive(float(np.quantile(np.abs(found.left_out), 1.0 - self.nu_)))

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        return replace(
            super()._low_rank_problem(rows, labels),
            width=VariableTube(self.nu_, constant_column(self.null_space_names_)),
            read=self._read_wall,
        )

    def _read_wall(self, solution: Solution) -> Coefficients:
        # Both walls of the tube have the same function, which is known already.
        return self._read(replace(solution, a=np.append(solution.a, np.zeros_like(solution.a))))


@settings
class QuantileSVR(Regression):
    r"""Kernel quantile regression.

    .. math::

        \min_f \tfrac12 \|f\|^2 + C \sum_i s_i\, \rho_\tau(y_i - f(x_i) - b), \qquad
        \rho_\tau(r) = \max(\tau r, (\tau - 1) r)

    Parameters
    ----------
    quantile : float, default=0.5
        The level :math:`\tau` in (0, 1).
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

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

    quantile: float = 0.5
    _: KW_ONLY
    C: float | str = 1.0
    kernel: Kernel | str | Function = "rbf"

    _parameter_constraints: ClassVar[Constraints] = {
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Pinball(self.quantile)


@settings
class HuberSVR(Regression):
    r"""Robust kernel regression with Huber's loss.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i\, \rho_\delta(y_i - f(x_i) - b)

    with :math:`\rho_\delta(r) = r^2 / 2` up to :math:`|r| = \delta` and linear beyond.

    Parameters
    ----------
    delta : float, default=1.0
        Residual at which an error starts to count linearly, in units of ``y``; 1.345 standard
        deviations of the noise lose five per cent of efficiency under Gaussian noise.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import HuberSVR
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[7] += 100.0
    >>> robust = HuberSVR(delta=0.1, C=10.0).fit(X, y)
    >>> bool(abs(robust.predict([[1.5]])[0] - np.sin(1.5)) < 0.2)
    True
    """

    _: KW_ONLY
    delta: float = 1.0
    C: float | str = 1.0
    kernel: Kernel | str | Function = "rbf"

    _parameter_constraints: ClassVar[Constraints] = {
        "delta": [Interval(Real, 0.0, None, closed="neither")],
    }

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Huber(self.delta)
