"""Intervals of a least-squares machine, in which observations or the function lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.utils import check_random_state

from mercer._typing import Array, PointsLike, Seed
from mercer.machines.framing import framed
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.ls_report import Report, report_of
from mercer.smoothing.intervals import METHODS, Predictive

__all__ = ["predict_interval"]

# Memory for the weights of the targets in some predictions.
CHUNK_BYTES = 2**27
# Methods that ask for the variance of the function, hence for k(x, x).
VARIANCES = {"conformal", "local", "bayes", "bootstrap", "wild"}


@framed()
def predict_interval(
    self: Any,
    X: PointsLike,
    coverage: float = 0.9,
    *,
    method: str = "auto",
    of: str = "observation",
    symmetric: bool = True,
    n_resamples: int = 1000,
    random_state: Seed = None,
) -> Array:
    r"""Return intervals for new observations, or for the function without their errors.

    All come from one factorization of the matrix of the fit, made when first asked for:

    ``"conformal"``
        :math:`f(x) \pm z_{(k)} \sqrt{v(x) + 1/C}` with left-out errors over their expected
        size; no law of the errors, wide where data are few. The default for observations.
    ``"local"``
        The same with widths that follow errors which are larger in some places than others.
    ``"jackknife+"``
        Quantiles of what the machines without one sample predict and of their errors, with a
        guarantee for finite samples.
    ``"bayes"``
        Posterior mean and standard deviation of a Gaussian process, with quantiles of Student's
        law. The default for functions, on average over a design and for functions as rough as
        the kernel expects: with ``Matern(nu=2.5)`` 85 to 93 of nominal 90 per cent were covered
        of smooth ones, 80 of a Brownian path.
    ``"bootstrap"``, ``"wild"``
        Errors drawn from left-out ones, anywhere or in their places, with the smoothing bias
        that the kernel expects. The second is for functions only.

    Hyperparameters are taken as given: chosen on the same sample by leaving one out they cost
    about one per cent of coverage for fifty samples.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        New inputs.
    coverage : float, default=0.9
        Probability with which an interval contains what it is for.
    method : str, default="auto"
        One of the above.
    of : {"observation", "function"}, default="observation"
        What is to lie inside: a new observation of weight one, or the function.
    symmetric : bool, default=True
        Whether both ends of ``"conformal"``, ``"local"`` and ``"jackknife+"`` are as far from
        the prediction; else both are as likely to be exceeded, for errors that are skewed.
    n_resamples : int, default=1000
        Samples drawn by ``"bootstrap"`` and ``"wild"``.
    random_state : int, RandomState instance or None, default=None
        What they are drawn by.

    Returns
    -------
    ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
        Lower and upper ends; infinite if there are too few samples for a level, say less than
        nine for 0.9.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (5.17), (5.18); R. Barber,
    E. Candes, A. Ramdas and R. Tibshirani (2021), Predictive inference with the jackknife+,
    Annals of Statistics 49, eq. (1.2).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.kernels import Matern
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (400, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * rng.laplace(size=400)
    >>> machine = LSSVR(Matern(1.0), C=10.0).fit(X[:200], y[:200])
    >>> low, high = machine.predict_interval(X[200:]).T
    >>> bool(0.85 < np.mean((low <= y[200:]) & (y[200:] <= high)) < 0.95)
    True
    """
    report = report_of(self)
    plain = report.errors is None and not report.coupled
    method = _method(self, method, of, plain)
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
    X = self._check_new(X)
    m, d = X.shape[0] if hasattr(X, "shape") else len(X), report.y.shape[1]
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    out = np.empty((m, d, 2))
    step = max(1, int(CHUNK_BYTES / (8 * max(report.n, 1))))
    for first in range(0, m, step):
        some = X[first : first + step]
        if plain:
            parts = _predictive(self, report, some, method)
            ends = [
                p.interval(
                    method,
                    of,
                    coverage,
                    symmetric=symmetric,
                    n_resamples=n_resamples,
                    random_state=seed,
                )
                for p in parts
            ]
            out[first : first + step] = np.stack(ends, axis=1)
        else:
            out[first : first + step] = _posterior(self, report, some, coverage, of)
    return out if self._n_outputs else out[:, 0]


def _method(self: Any, method: str, of: str, plain: bool) -> str:
    """Return the method that is meant, if it answers the question."""
    if of not in METHODS:
        raise ValueError(f"of must be one of {sorted(METHODS)}, got {of!r}.")
    variances = not (is_function(self.kernel) or is_precomputed(self.kernel))
    if method == "auto":
        method = "bayes" if not plain or of == "function" else "conformal"
        if not variances and of == "observation":
            method = "jackknife+"
    if method not in METHODS[of]:
        raise ValueError(f"method must be one of {METHODS[of]} of={of!r}, got {method!r}.")
    if not variances and method in VARIANCES:
        raise ValueError(
            f"method={method!r} asks for k(x, x), which neither a precomputed kernel nor a "
            "plain function gives; use method='jackknife+' of='observation', or a Kernel."
        )
    if not plain and method != "bayes":
        raise ValueError(
            "with correlated errors or outputs samples are not exchangeable; use method='bayes'."
        )
    if not plain and of == "observation" and report_of(self).errors is not None:
        raise ValueError(
            "the error of a new observation depends on those of the sample if they hang "
            "together; use of='function'."
        )
    return method


def _predictive(self: Any, report: Report, X: PointsLike, method: str) -> list[Predictive]:
    """Return what the factorization says of some points, for every output."""
    live, factor = report.live, report.factors[0]
    K, B = report.cross(X)[:, live], self.null_space_(X)
    variance = np.zeros(len(K))
    if method in VARIANCES:
        variance = factor.variance(K, B, self.kernel_.diag(X).astype(np.float64))
    weights = factor.weights(K, B)
    return [
        Predictive(
            y=y,
            inverse=factor.inverse,
            noise=1.0 / report.c[live],
            new=1.0 / float(self.C_),
            weights=weights,
            variance=variance,
        )
        for y in report.y[live].T
    ]


def _posterior(self: Any, report: Report, X: PointsLike, coverage: float, of: str) -> Array:
    """Return intervals of a Gaussian process whose outputs or errors are correlated."""
    diagonal = self.kernel_.diag(X).astype(np.float64)
    variance = report.variances(report.cross(X), self.null_space_(X), diagonal)
    variance += 1.0 / float(self.C_) if of == "observation" else 0.0
    quantile = float(student.ppf(0.5 + 0.5 * coverage, report.contrasts))
    half = quantile * np.sqrt(report.scales * variance)
    mean = self._evaluate(X).reshape(half.shape)
    return np.stack([mean - half, mean + half], axis=-1)
