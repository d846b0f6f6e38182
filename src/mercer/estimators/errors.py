"""Estimate the covariance of errors by the restricted likelihood."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from sklearn.base import clone

from mercer._typing import Array, PointsLike, TargetsLike
from mercer.gram.factor import orthonormal
from mercer.machines.base import KernelMachine
from mercer.machines.best_linear import most_likely
from mercer.machines.unpenalized import unpenalized_columns

__all__ = ["estimate_errors"]

Machine = TypeVar("Machine", bound=Any)


@runtime_checkable
class Trend(Protocol):
    """A trend without a function of the kernel: only its errors have a covariance."""

    def _trend_columns(self, X: PointsLike, y: TargetsLike) -> tuple[Array, Any]: ...


def estimate_errors(machine: Machine, X: PointsLike, y: TargetsLike) -> Machine:
    r"""Choose the parameters of an error model by restricted maximum likelihood.

    A machine of the squared loss is the mean of a Gaussian process,

    .. math:: y \sim N\bigl(Bb, \; \sigma^2 (K + C_\theta / \gamma)\bigr)

    with the covariance :math:`C_\theta` of the errors and the weight :math:`\gamma` of the loss.
    Both are chosen where the likelihood of contrasts free of b is largest, :math:`\sigma^2` aside;
    the kernel stays as it is. The answer holds for a machine of another loss as far as its errors
    have this covariance.

    Parameters
    ----------
    machine : KernelRegressor, SmoothingSpline or ThinPlateSpline
        With `errors`, whose parameters are where the search begins. A trend alone has
        no weight to choose.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    machine
        A fitted copy with new `errors`, and a new ``C`` or ``lam``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Example 9.2; H. D. Patterson and
    R. Thompson, *Recovery of inter-block information when block sizes are unequal*, Biometrika 58,
    1971.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.estimators import estimate_errors
    >>> from mercer.kernels import Gaussian
    >>> from mercer.regularizers import AutoRegressive
    >>> t = np.arange(200.0)[:, None]
    >>> noise = np.random.default_rng(0).normal(size=200)
    >>> y = np.sin(t[:, 0] / 30) + np.convolve(noise, 0.7 ** np.arange(60))[:200]
    >>> machine = KernelRegressor(kernel=Gaussian(60.0), errors=AutoRegressive(0.0))
    >>> bool(abs(estimate_errors(machine, t, y).errors.phi - 0.7) < 0.15)
    True
    """
    machine = clone(machine)
    if machine.errors is None:
        raise ValueError("give the machine errors to estimate, such as AutoRegressive(0.5).")
    K, B, points = _prepared(machine, X, y)
    targets, params = np.asarray(y, dtype=np.float64), machine.get_params(deep=False)
    weight = next((name for name in ("lam", "C") if name in params), None)
    errors = machine.errors
    bound = errors
    if hasattr(machine, "feature_names_in_"):
        bound = errors.bind(list(machine.feature_names_in_))
    start, k = errors.free, len(errors.free)
    if weight is not None:
        # Where function and errors have one variance off the free columns: whatever their units.
        U = orthonormal(B)[0]
        signal = np.trace(K) - np.sum(U * (K @ U))
        noise = np.trace(bound.matrix(points))
        start = np.append(start, np.log(signal / noise))

    def covariance(x: Array) -> Array:
        C = bound.from_free(x[:k]).matrix(points)
        return C if weight is None else np.asarray(K + np.exp(x[k]) * C)

    x = most_likely(covariance, B, targets, start)
    machine.set_params(errors=errors.from_free(x[:k]))
    if weight is not None:
        machine.set_params(**{weight: float(np.exp(x[k] if weight == "lam" else -x[k]))})
    machine.fit(X, y)
    return machine


def _prepared(machine: KernelMachine, X: PointsLike, y: TargetsLike) -> tuple[Array, Array, Any]:
    """Return kernel matrix, of which a trend has none, unpenalized columns, and points."""
    if isinstance(machine, Trend):
        B, X = machine._trend_columns(X, y)
        return np.empty(0), B, X
    if not machine._loss().quadratic:
        raise ValueError(
            "the likelihood is defined for the squared loss; set another loss afterwards."
        )
    rows = machine._validate(X, y, None)
    K = machine._make_gram(rows).dense().astype(np.float64)
    return K, unpenalized_columns(machine, rows.X, machine._null_space()), rows.X
