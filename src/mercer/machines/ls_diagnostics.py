"""Diagnostics of a fitted least-squares machine: leverages, influence, left-out errors, paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array, PointsLike
from mercer.machines.kernel_kinds import is_function
from mercer.machines.ls_report import UnavailableError, report_of
from mercer.machines.outputs import Outputs

__all__ = [
    "Path",
    "at",
    "contributions",
    "cost_sensitivity",
    "degrees_of_freedom",
    "influence",
    "jackknife",
    "leverages",
    "log_marginal_likelihood",
    "loo_predictions",
    "loo_residuals",
    "noise_variance",
    "path",
    "predict",
    "sensitivity_curve",
    "smoother_matrix",
]


@dataclass(frozen=True, eq=False)
class Path:
    """Machines of many C, from one eigendecomposition. The first axis of all is that of C."""

    C: Array
    """Weights of the loss, (k,)."""

    dual_coef: Array
    """Coefficients of the samples, (k, n) or (k, n, n_outputs)."""

    null_space_coef: Array
    """Coefficients of the unpenalized functions, (k, q) or (k, q, n_outputs)."""

    degrees_of_freedom: Array
    """The trace of the smoother, mean over the outputs, (k,)."""

    residuals: Array
    """Targets minus fitted values, like ``dual_coef``."""

    loo_residuals: Array
    """Targets minus values of the machine that lacks the sample, like ``dual_coef``."""

    sample_weight: Array
    """Weights of the samples, (n,)."""

    def _mean_square(self, residuals: Array) -> Array:
        share = self.sample_weight / np.sum(self.sample_weight)
        squares = np.where(share[:, None] > 0, residuals.reshape(*residuals.shape[:2], -1) ** 2, 0)
        return np.asarray(np.mean(share @ squares, axis=-1))

    @property
    def loo_mse(self) -> Array:
        """Weighted mean of squared left-out residuals, (k,)."""
        return self._mean_square(self.loo_residuals)

    @property
    def gcv(self) -> Array:
        """Generalized cross-validation, mean square over ``(1 - dof / n)**2``, (k,)."""
        n = np.count_nonzero(self.sample_weight)
        return np.asarray(
            self._mean_square(self.residuals) / (1.0 - self.degrees_of_freedom / n) ** 2
        )


def at(self: Any, X: PointsLike) -> tuple[Any, Array, Array]:
    """Return new points that were checked, their kernel values and unpenalized functions."""
    report = report_of(self)
    X = self._check_new(X)
    return X, report.cross(X), self.null_space_(X)


def degrees_of_freedom(self: Any) -> float | Array:
    """Trace of the smoother; one number an output if they are coupled."""
    report = report_of(self)
    sums = np.sum(report.leverages, axis=0)
    return sums if report.coupled else float(sums[0])


def leverages(self: Any) -> Array:
    """Return the leverages: what each target weighs in the fitted value of its own sample, (n,).

    If outputs are coupled, (n, n_outputs).
    """
    report = report_of(self)
    return report.leverages if report.coupled else report.leverages[:, 0]


def loo_residuals(self: Any) -> Array:
    """Targets minus the predictions of the machine fitted without the sample, exactly."""
    return np.asarray(self._flat(report_of(self).left_out_function))


def loo_predictions(self: Any) -> Array:
    """Predictions for each sample of the machine fitted without it."""
    report = report_of(self)
    return np.asarray(self._flat(report.y - report.left_out_function))


def cost_sensitivity(self: Any) -> Array:
    """Return the derivative of the optimal value of the functional by the targets, ``c_i r_i``."""
    return np.asarray(self._flat(report_of(self).slopes))


def noise_variance(self: Any) -> float | Array:
    """Variance of the errors: the one given, or the most likely; one an output."""
    noise = _scales(self) / self.C_
    return noise if self._n_outputs else float(noise[0])


def smoother_matrix(self: Any) -> Array:
    """Return S with fitted values ``S y``, (n, n); see :meth:`influence` for its shape."""
    report = report_of(self)
    return report.influence(report.K, report.B)


def influence(self: Any, X: PointsLike) -> Array:
    r"""Return the derivative of predictions by the targets, :math:`\partial f(x)/\partial y_i`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_new, n_features)
        New inputs.

    Returns
    -------
    ndarray of shape (n_new, n_samples)
        The same for every output. If outputs are coupled, (n_new, n_outputs, n_samples,
        n_outputs).

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (3.31), which gives another
    derivative, that of the optimal value: here ``cost_sensitivity_``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> machine = LSSVR(C=10.0).fit(X, np.sin(X[:, 0]))
    >>> weights = machine.influence([[0.0], [1.0]])
    >>> np.allclose(weights @ np.sin(X[:, 0]), machine.predict([[0.0], [1.0]]))
    True
    """
    _, K, B = at(self, X)
    return report_of(self).influence(K, B)


def contributions(self: Any, X: PointsLike) -> Array:
    """Return the contribution of each sample to predictions, ``a_i k(x_i, x)``.

    Their sum and the unpenalized functions make the prediction.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_new, n_features)
        New inputs.

    Returns
    -------
    ndarray of shape (n_new, n_samples) or (n_new, n_samples, n_outputs)
    """
    _, K, _ = at(self, X)
    report = report_of(self)
    A = np.zeros(report.y.shape)
    A[report.live] = report.coefficients @ report.turn.T
    parts = K[:, :, None] * A
    return parts if self._n_outputs else parts[..., 0]


def jackknife(self: Any, X: PointsLike) -> Array:
    """Return the predictions of the n machines that lack one sample each.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_new, n_features)
        New inputs.

    Returns
    -------
    ndarray of shape (n_new, n_samples) or (n_new, n_samples, n_outputs)
    """
    X, K, B = at(self, X)
    report = report_of(self)
    # To leave a sample out is to put in its place what the others predict.
    change = _moved(self, K, B, report.left_out)
    f = self._evaluate(X).reshape(len(K), 1, -1) - change
    return np.asarray(f if self._n_outputs else f[..., 0])


def _moved(self: Any, K: Array, B: Array, change: Array) -> Array:
    """Return how predictions change with each target alone, (m, n, d)."""
    report = report_of(self)
    along = np.where(report.c[:, None] > 0, change, 0.0) @ report.turn
    parts = [report.weights(k, K, B) * along[:, k] for k in range(len(report.shares))]
    return np.asarray(np.stack(parts, axis=-1) @ report.turn.T)


def sensitivity_curve(self: Any, i: int, values: ArrayLike, X: PointsLike = None) -> Array:
    """Return predictions of the machine whose target of one sample were another.

    Parameters
    ----------
    i : int
        The sample.
    values : array-like of shape (k,) or (k, n_outputs)
        Targets in its place.
    X : {array-like, sparse matrix} of shape (n_new, n_features), optional
        New inputs; the sample itself by default.

    Returns
    -------
    ndarray of shape (k, n_new) or (k, n_new, n_outputs)

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition 3.2, eq. (3.29).
    """
    report = report_of(self)
    if not -report.n <= i < report.n:
        raise ValueError(f"there are {report.n} samples, but no sample {i}.")
    if X is None:
        K, B = report.K[[i]], report.B[[i]]
        f = report.fitted[[i]]
    else:
        X, K, B = at(self, X)
        f = self._evaluate(X).reshape(len(K), -1)
    values = np.asarray(values, dtype=np.float64)
    along = (values.reshape(len(values), -1) - report.y[i]) @ report.turn
    weights = np.stack([report.weights(k, K, B)[:, i] for k in range(len(report.shares))])
    curve = f + np.einsum("vk,km,gk->vmg", along, weights, report.turn)
    return np.asarray(curve if self._n_outputs else curve[..., 0])


def path(self: Any, C: ArrayLike) -> Path:
    """Return the machines of many weights C, with errors of samples left out.

    Parameters
    ----------
    C : array-like of shape (k,)
        Weights of the loss.

    Returns
    -------
    Path
        One eigendecomposition, which is kept for the next path.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> path = LSSVR(gamma=1.0).fit(X, y).path(np.logspace(-2, 6, 50))
    >>> best = path.C[np.argmin(path.loo_mse)]
    >>> bool(1.0 < best < 1e4)
    True
    """
    report = report_of(self)
    if report.errors is not None:
        raise UnavailableError("a path needs independent errors; fit with errors=None.")
    C = np.asarray(C, dtype=np.float64).reshape(-1)
    spectral, n, d = report.spectral, report.n, len(report.shares)
    q = report.B.shape[1]
    a, b = np.empty((len(C), n, d)), np.empty((len(C), q, d))
    dof, r, loo = np.empty((len(C), d)), np.empty((len(C), n, d)), np.empty((len(C), n, d))
    scale = np.max(report.c) / self.C_  # the spectrum is that of weights up to one
    for share in np.unique(report.shares):
        of = np.flatnonzero(report.shares == share)
        y, weights = report.y @ report.turn[:, of], C * share * scale
        dof[:, of] = spectral.degrees_of_freedom(weights)[:, None]
        loo[:, :, of] = spectral.leave_one_out(y, weights)
        a[:, :, of], b[:, :, of] = spectral.coefficients(y, weights)
        if len(report.dead):
            r[:, :, of] = spectral.residuals(y, weights)
        c = np.multiply.outer(weights / scale, report.c[report.live] / self.C_)
        r[:, report.live[:, None], of] = a[:, report.live[:, None], of] / c[..., None]
    parts = [v @ report.turn.T for v in (a, b, r, loo)]
    a, b, r, loo = parts if self._n_outputs else [v[..., 0] for v in parts]
    return Path(C, a, b, np.mean(dof, axis=1), r, loo, report.c / self.C_)


# Chance --------------------------------------------------------------------------------------


def _scales(self: Any, scale: float | None = None) -> Array:
    """Return the variance of the process in units of the kernel, one number an output."""
    report = report_of(self)
    if scale is not None:
        return np.full(len(report.shares), float(scale))
    if self._noise_known is not None:
        return np.full(len(report.shares), self._noise_known * self.C_)
    return report.scales


def log_marginal_likelihood(self: Any, scale: float | None = None) -> float:
    r"""Return the logarithm of the evidence of the machine, with flat unpenalized functions.

    .. math:: y \sim N\bigl(Bb, \; \sigma^2 (K + \operatorname{diag}(1/c))\bigr)

    It is the restricted likelihood, that of contrasts free of b; without unpenalized functions
    that of a Gaussian process.

    Parameters
    ----------
    scale : float, optional
        The variance :math:`\sigma^2`, by default the most likely.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 5.2.
    """
    report = report_of(self)
    return report.likelihood(report.scales if scale is None else _scales(self, scale))


@overload
def predict(self: Any, X: PointsLike) -> Array: ...


@overload
def predict(
    self: Any, X: PointsLike, return_std: bool, *, scale: float | None = ...
) -> Array | tuple[Array, Array]: ...


def predict(
    self: Any, X: PointsLike, return_std: bool = False, *, scale: float | None = None
) -> Array | tuple[Array, Array]:
    r"""Evaluate the fitted function, and say how sure it is.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        New inputs.
    return_std : bool, default=False
        Also return posterior standard deviations of the function, those of the unpenalized
        functions included:
        :math:`\sigma^2 (k(x, x) - \|e\|^2 + \|g\|^2)` as in :class:`UniversalKriging`. Those of
        a new observation have ``noise_variance_`` in their square on top.
    scale : float, optional
        The variance :math:`\sigma^2` of the process in units of the kernel. By default that of
        the noise times C if the noise is known, and the most likely otherwise.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_outputs), or a pair of them

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (5.17) to (5.21).
    """
    if not return_std:
        mean: Array = Outputs.predict(self, X)
        return mean
    X, K, B = at(self, X)
    if is_function(self.kernel) or self.kernel_.precomputed:
        raise ValueError(
            "variances need the kernel of a new point with itself, which a function of samples "
            "or a precomputed matrix does not tell; subclass Kernel."
        )
    diagonal = np.asarray(self.kernel_.diag(X), dtype=np.float64)
    variances = report_of(self).variances(K, B, diagonal) * _scales(self, scale)
    return self._evaluate(X), self._flat(np.sqrt(variances))
