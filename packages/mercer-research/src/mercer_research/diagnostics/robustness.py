"""Robustness of machines: a growing outlier, contamination, and efficiency without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from mercer._typing import Array, PointsLike, Seed

__all__ = [
    "ContaminationCurve",
    "OutlierCurve",
    "contamination_curve",
    "efficiency",
    "outlier_curve",
]

Law = Callable[[Any, int], ArrayLike]


@dataclass(frozen=True, eq=False)
class OutlierCurve:
    """The effect of an outlier as it grows, from :func:`outlier_curve`."""

    magnitudes: Array
    """The errors added to one target, (k,)."""

    error: Array
    """Mean absolute deviation of the function from the truth, (k,)."""

    change: Array
    """Largest change of the function against the first magnitude, (k,)."""

    coefficient: Array
    """Coefficient of the sample in the expansion, (k,); not a number if there is none."""


@dataclass(frozen=True, eq=False)
class ContaminationCurve:
    """The error of machines under contamination, from :func:`contamination_curve`."""

    shares: Array
    """Shares of contaminated targets, (k,)."""

    errors: dict[str, Array]
    """Mean absolute deviation from the truth in every run, (k, n_runs), by machine."""

    squares: dict[str, Array]
    """Mean squared deviation, (k, n_runs), by machine."""

    @property
    def mean(self) -> dict[str, Array]:
        """Means of the absolute deviations over the runs, (k,)."""
        return {name: np.mean(e, axis=1) for name, e in self.errors.items()}

    @property
    def std(self) -> dict[str, Array]:
        """Their standard deviations over the runs, (k,)."""
        return {name: np.std(e, axis=1, ddof=1) for name, e in self.errors.items()}


def outlier_curve(
    estimator: Any,
    X: PointsLike,
    y: ArrayLike,
    i: int,
    magnitudes: ArrayLike,
    *,
    X_test: PointsLike = None,
    truth: ArrayLike | None = None,
) -> OutlierCurve:
    """Move one target away and fit again, with parameters as they are.

    A machine is robust if error and coefficient stop growing, and redescends if both return.

    Parameters
    ----------
    estimator : estimator
        The machine; a search is to be replaced by what it found.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        The sample.
    i : int
        Which target moves.
    magnitudes : array-like of shape (k,)
        What is added to it.
    X_test : array-like of shape (m, n_features), optional
        Where the function is looked at; the sample by default.
    truth : array-like of shape (m,), optional
        The function there; by default that of the machine for the first magnitude.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, example 3.5, fig. 3.6.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.estimators import RobustLSSVR
    >>> from mercer_research.diagnostics import outlier_curve
    >>> X = np.linspace(-3, 3, 40)[:, None]
    >>> y, away = np.sinc(X[:, 0]), [1.0, 10.0, 100.0]
    >>> outlier_curve(LSSVR(C=10.0, gamma=0.5), X, y, 20, away).coefficient.round(1)
    array([  9.2,  85.4, 847.1])
    >>> outlier_curve(RobustLSSVR(C=10.0, gamma=0.5, c=0.1), X, y, 20, away).coefficient.round(6)
    array([1., 1., 1.])
    """
    y = np.asarray(y, dtype=np.float64)
    sizes = np.asarray(magnitudes, dtype=np.float64)
    if sizes.ndim != 1 or not sizes.size:
        raise ValueError("magnitudes must be a one-dimensional array of at least one number.")
    if not -len(y) <= i < len(y):
        raise ValueError(f"i = {i} is not the index of a sample; there are {len(y)}.")
    i %= len(y)
    at = X if X_test is None else X_test
    functions, coefficients = [], []
    for size in sizes:
        moved = y.copy()
        moved[i] += size
        machine = clone(estimator).fit(X, moved)
        functions.append(np.asarray(machine.predict(at), dtype=np.float64))
        coefficients.append(_coefficient(machine, i))
    F = np.stack(functions)
    reference = F[0] if truth is None else np.asarray(truth, dtype=np.float64)
    return OutlierCurve(
        magnitudes=sizes,
        error=np.mean(np.abs(F - reference), axis=1),
        change=np.max(np.abs(F - F[0]), axis=1),
        coefficient=np.array(coefficients),
    )


def _coefficient(machine: object, i: int) -> float:
    """Return the coefficient of a sample, zero if it is not in the support."""
    if not (hasattr(machine, "support_") and hasattr(machine, "dual_coef_")):
        return np.nan
    place = np.flatnonzero(np.asarray(machine.support_) == i)
    return float(np.asarray(machine.dual_coef_)[0, place[0]]) if place.size else 0.0


def contamination_curve(
    estimators: Mapping[str, Any],
    shares: ArrayLike,
    *,
    inputs: Callable[[Any, int], Any],
    function: Callable[[Any], ArrayLike],
    noise: Law,
    contamination: Law,
    X_test: PointsLike,
    n_samples: int = 100,
    n_runs: int = 20,
    random_state: Seed = None,
) -> ContaminationCurve:
    r"""Fit samples of which a growing share has errors of another law.

    .. math:: y_i = f(x_i) + e_i, \qquad e_i \sim (1 - \rho)\, F_0 + \rho\, G

    In one run every share has the same inputs and the same errors of either law, and those that are
    contaminated stay so, so that curves differ by nothing but the share.

    Parameters
    ----------
    estimators : mapping of str to estimator
        Machines with their parameters, which are kept.
    shares : array-like of shape (k,)
        The shares :math:`\rho`, between 0 and 1.
    inputs, noise, contamination : callable
        Draw inputs and errors from ``(random_state, n)``.
    function : callable
        The function f of inputs.
    X_test : array-like of shape (m, n_features)
        Where functions are compared.
    n_samples, n_runs : int
        Samples a run, and runs.
    random_state : int, RandomState instance or None, default=None
        What samples are drawn by.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (3.58) and example 3.5,
    fig. 3.7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.estimators import RobustLSSVR
    >>> from mercer_research.diagnostics import contamination_curve
    >>> curve = contamination_curve(
    ...     {"plain": LSSVR(C=10.0), "robust": RobustLSSVR(C=10.0)},
    ...     [0.0, 0.2],
    ...     inputs=lambda rng, n: rng.uniform(-3, 3, (n, 1)),
    ...     function=lambda X: np.sinc(X[:, 0]),
    ...     noise=lambda rng, n: rng.normal(0.0, 0.1, n),
    ...     contamination=lambda rng, n: rng.uniform(-10, 10, n),
    ...     X_test=np.linspace(-3, 3, 50)[:, None],
    ...     n_runs=3,
    ...     random_state=0,
    ... )
    >>> bool(curve.mean["plain"][1] > 3 * curve.mean["robust"][1])
    True
    """
    rho = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    if rho.ndim != 1 or not np.all((rho >= 0) & (rho <= 1)):
        raise ValueError("shares must be numbers between 0 and 1.")
    rng = check_random_state(random_state)
    truth = np.asarray(function(X_test), dtype=np.float64)
    errors = {name: np.empty((len(rho), n_runs)) for name in estimators}
    squares = {name: np.empty((len(rho), n_runs)) for name in estimators}
    for run in range(n_runs):
        X = inputs(rng, n_samples)
        f, usual = np.asarray(function(X)), np.asarray(noise(rng, n_samples))
        other, order = np.asarray(contamination(rng, n_samples)), rng.uniform(size=n_samples)
        for k, share in enumerate(rho):
            y = f + np.where(order < share, other, usual)
            for name, estimator in estimators.items():
                off = np.asarray(clone(estimator).fit(X, y).predict(X_test)) - truth
                errors[name][k, run] = np.mean(np.abs(off))
                squares[name][k, run] = np.mean(off**2)
    return ContaminationCurve(rho, errors, squares)


def efficiency(curve: ContaminationCurve, reference: str) -> dict[str, tuple[float, float]]:
    r"""Return the efficiency of machines without contamination, relative to a machine.

    .. math:: \frac{\operatorname{mean} \|f_{\mathrm{ref}} - f\|^2}{\operatorname{mean}
              \|\hat f - f\|^2}

    Parameters
    ----------
    curve : ContaminationCurve
        With the share zero among its shares, and two runs or more.
    reference : str
        The machine whose efficiency is one.

    Returns
    -------
    dict of (float, float)
        Efficiency of each machine, and its standard error by the ratio's linearization.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.diagnostics import ContaminationCurve, efficiency
    >>> squares = {"a": np.array([[1.0, 3.0]]), "b": np.array([[2.0, 6.0]])}
    >>> efficiency(ContaminationCurve(np.zeros(1), squares, squares), "a")["b"]
    (0.5, 0.0)
    """
    clean = np.flatnonzero(curve.shares == 0)
    if not clean.size:
        raise ValueError("efficiency is measured without contamination: put 0 among the shares.")
    if reference not in curve.squares:
        raise ValueError(f"reference must be one of {sorted(curve.squares)}, got {reference!r}.")
    best = curve.squares[reference][clean[0]]
    if len(best) < 2:
        raise ValueError("efficiency needs two runs or more.")
    found = {}
    for name, squares in curve.squares.items():
        own = squares[clean[0]]
        ratio = float(np.mean(best) / np.mean(own))
        spread = np.std(best - ratio * own, ddof=1) / (np.mean(own) * np.sqrt(len(own)))
        found[name] = (ratio, float(spread))
    return found
