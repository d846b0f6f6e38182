r"""Bounds that need rows a machine has not seen: what a user should quote first.

A machine that was fixed before m independent rows were looked at has errors on them like tosses of
a coin. Nothing else is assumed, of the machine or of the distribution.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from mercer._params import check_nonnegative, check_positive
from mercer._sklearn import safe_indexing
from mercer._typing import Array, PointsLike, Predictor, SplitterLike, TargetsLike
from mercer.claims.record import Assumption, Bound, Constant
from mercer.claims.tails import binomial_upper, kl_upper, one_each

__all__ = [
    "cross_validated_estimate",
    "error_bound",
    "held_out_bound",
    "losses_of",
    "majority_error",
    "mean_bound",
]


INDEPENDENT = Assumption("the rows are independent draws of the distribution to come")
UNSEEN = Assumption("nothing about the machine was chosen by looking at these rows")
BOUNDED = "every loss lies between 0 and {:g}"

# The tails that "best" chooses from, and pays for.
TAILS = ("kl", "bernstein")


def majority_error(y: TargetsLike) -> float:
    """Return the error rate of always predicting the most frequent label.

    Examples
    --------
    >>> majority_error([0, 0, 0, 1])
    0.25
    """
    labels = np.asarray(y)
    if not labels.size:
        raise ValueError("y must hold the label of at least one row")
    return float(1.0 - np.max(np.unique(labels, return_counts=True)[1]) / len(labels))


def logarithm(delta: float, choices: float = 1.0) -> float:
    r"""Return :math:`\ln(\delta/N)` of a statement about N things at once, or refuse."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is the probability that a bound fails, in (0, 1), not {delta}")
    if not choices >= 1:
        raise ValueError(f"choices counts what was chosen among, at least 1, not {choices}")
    return float(np.log(delta) - np.log(choices))


def confidence(delta: float, choices: float) -> dict[str, Constant]:
    """Return the constants that every bound of this kind has."""
    told = {"delta": Constant(delta, "probability that the bound fails")}
    if choices > 1:
        told["choices"] = Constant(float(choices), "settings tried, each with its part of delta")
    return told


def error_bound(
    errors: int,
    n_samples: int,
    *,
    delta: float = 0.05,
    choices: float = 1,
    trivial: float = 1.0,
) -> Bound:
    r"""Bound an error rate by the binomial tail of the errors on rows that were not looked at.

    With probability at least :math:`1-\delta` over m independent rows, for each of N machines that
    were fixed before,

    .. math:: R \le \max\{p : P(\mathrm{Bin}(m, p) \le k) \ge \delta/N\}

    where k is the count of its errors. Nothing sharper holds for all distributions: at the bound,
    the tail is exactly :math:`\delta`.

    Parameters
    ----------
    errors, n_samples : int
    delta : float, default=0.05
        Probability with which the bound may fail.
    choices : int, default=1
        Number N of machines that were tried on these rows; 1 if only this one was.
    trivial : float, default=1.0
        What is known without the bound, such as :func:`majority_error`.

    References
    ----------
    J. Langford, *JMLR* 6 (2005) 273, theorem 3.3.

    Examples
    --------
    >>> print(error_bound(7, 171, trivial=0.37))
    at most 0.0755, by binomial tail on held-out rows, assuming that the rows are independent
    draws of the distribution to come and nothing about the machine was chosen by looking at
    these rows
    """
    value = binomial_upper(errors, n_samples, logarithm(delta, choices))
    rate = Constant(errors / n_samples, "error rate on the rows")
    return Bound(
        value,
        "binomial tail on held-out rows",
        trivial,
        constants={"error rate": rate} | confidence(delta, choices),
        assumptions=(INDEPENDENT, UNSEEN),
    )


def mean_bound(
    losses: ArrayLike,
    *,
    largest: float = 1.0,
    delta: float = 0.05,
    choices: float = 1,
    trivial: float | None = None,
    method: Literal["best", "kl", "bernstein", "sub-gaussian"] = "best",
    scale: float | None = None,
) -> Bound:
    r"""Bound an expected loss by its mean on rows that were not looked at.

    For losses in [0, B], their mean q and variance v (of divisor m - 1), each with probability at
    least :math:`1-\delta`:

    .. math::

        \text{kl}\quad & B \max\{p : \mathrm{kl}(q/B\,\|\,p) \le \tfrac1m\ln\tfrac1\delta\} \\
        \text{Bernstein}\quad & q + \sqrt{\tfrac{2v}m \ln\tfrac2\delta}
                              + \tfrac{7B}{3(m-1)}\ln\tfrac2\delta \\
        \text{sub-Gaussian}\quad & q + s\sqrt{\tfrac2m\ln\tfrac1\delta}

    "best" computes the first two at :math:`\delta/2` and takes the smaller.

    Parameters
    ----------
    losses : array-like of shape (m,)
    largest : float, default=1.0
        The largest possible loss B, not the largest that was seen: clip losses at it.
    delta, choices :
        As in :func:`error_bound`.
    trivial : float, optional
        By default `largest`.
    method : {"best", "kl", "bernstein", "sub-gaussian"}
    scale : float, optional
        For "sub-gaussian" the number s, known before, with
        :math:`\mathbf E e^{t(\mathbf E\ell-\ell)} \le e^{t^2s^2/2}` for t above 0.

    References
    ----------
    W. Hoeffding, *JASA* 58 (1963) 13, theorem 1; A. Maurer and M. Pontil, Empirical Bernstein
    bounds and sample-variance penalization, *COLT* 2009, theorem 4.

    Examples
    --------
    >>> losses = np.abs(np.random.default_rng(0).normal(scale=0.1, size=500)).clip(max=1.0)
    >>> print(mean_bound(losses, largest=1.0))
    at most 0.109, by empirical Bernstein tail on held-out rows, assuming that the rows are
    independent draws of the distribution to come and nothing about the machine was chosen by
    looking at these rows
    """
    losses = one_each(losses, "losses")
    check_positive(largest=largest)
    m, q = len(losses), float(losses.mean())
    log_delta = logarithm(delta, choices)
    if method == "sub-gaussian":
        if scale is None:
            raise ValueError(
                "method='sub-gaussian' needs scale, a positive number known before the rows"
            )
        check_positive(scale=scale)
        value, name = q + scale * np.sqrt(-2.0 * log_delta / m), "sub-Gaussian"
        needed = Assumption(f"losses are sub-Gaussian with scale {scale:g}", "given")
        known = np.inf
    else:
        names = TAILS if method == "best" else (method,)
        tails = {"kl": _kl_tail, "bernstein": _bernstein}
        if not set(names) <= set(tails):
            raise ValueError(f"method={method!r} is not known; give 'best', {', '.join(tails)}")
        share = log_delta - np.log(len(names))
        value, name = min(tails[name](losses, largest, share) for name in names)
        inside = losses.min() >= 0.0 and losses.max() <= largest
        needed = Assumption(BOUNDED.format(largest), "given" if inside else "violated")
        known = largest
    return Bound(
        float(value),
        f"{name} tail on held-out rows",
        known if trivial is None else trivial,
        constants={"mean": Constant(q, "mean loss on the rows")} | confidence(delta, choices),
        assumptions=(INDEPENDENT, UNSEEN, needed),
    )


def _kl_tail(losses: Array, largest: float, log_delta: float) -> tuple[float, str]:
    q = min(max(float(losses.mean()) / largest, 0.0), 1.0)
    return largest * float(kl_upper(q, -log_delta / len(losses))), "kl"


def _bernstein(losses: Array, largest: float, log_delta: float) -> tuple[float, str]:
    m, budget = len(losses), np.log(2.0) - log_delta
    if m < 2:
        return largest, "empirical Bernstein"
    spread = np.sqrt(2.0 * float(losses.var(ddof=1)) * budget / m)
    value = float(losses.mean()) + spread + 7.0 * largest * budget / (3.0 * (m - 1))
    return min(float(value), largest), "empirical Bernstein"


def losses_of(machine: Predictor, X: PointsLike, y: TargetsLike, largest: float | None) -> Array:
    """Return mistakes of a classifier, or absolute errors of a regressor clipped at `largest`."""
    predicted, y = np.asarray(machine.predict(X)), np.asarray(y)
    if is_classifier(machine):
        return np.asarray(predicted != y, dtype=float)
    if largest is None:
        raise ValueError(
            "a bound on the error of a regressor needs the largest error that counts: give "
            "largest, a number chosen before looking at the rows, at which errors are clipped; "
            "or ask for intervals that hold instead, mercer.ConformalRegressor"
        )
    check_nonnegative(largest=largest)
    return np.asarray(np.minimum(np.abs(predicted - y), largest), dtype=float)


def held_out_bound(
    machine: Predictor,
    X: PointsLike,
    y: TargetsLike,
    *,
    delta: float = 0.05,
    choices: float = 1,
    largest: float | None = None,
) -> Bound:
    r"""Bound the risk of a fitted machine by rows that were held out.

    A classifier's error rate is bounded by :func:`error_bound`, a regressor's expected absolute
    error, clipped at `largest`, by :func:`mean_bound`.

    Parameters
    ----------
    machine : fitted classifier or regressor
    X, y : array-like
        Rows that nothing about the machine depends on: not its scaler, features or settings.
    delta, choices :
        As in :func:`error_bound`.
    largest : float, optional
        Of regressors: errors above it count as so large. To be chosen before the rows are seen.

    See Also
    --------
    mercer.ConformalRegressor : intervals that hold without a bound on the loss.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> machine = SVC(standardize=True).fit(X[:400], y[:400])
    >>> print(held_out_bound(machine, X[400:], y[400:]))
    at most 0.0452, by binomial tail on held-out rows, assuming that the rows are independent
    draws of the distribution to come and nothing about the machine was chosen by looking at
    these rows
    """
    losses = losses_of(machine, X, y, largest)
    if is_classifier(machine):
        known = majority_error(y)
        return error_bound(
            int(losses.sum()), len(losses), delta=delta, choices=choices, trivial=known
        )
    assert largest is not None
    constant = np.minimum(np.abs(np.asarray(y) - np.median(y)), largest).mean()
    return mean_bound(
        losses, largest=largest, delta=delta, choices=choices, trivial=float(constant)
    )


def cross_validated_estimate(
    machine: Predictor,
    X: PointsLike,
    y: TargetsLike,
    *,
    cv: SplitterLike = 5,
    largest: float | None = None,
) -> Bound:
    r"""Estimate a risk by cross-validation, marked as what it is: without a guarantee.

    .. math:: \frac1m\sum_i \ell\bigl(y_i, f^{(-\mathrm{fold}(i))}(x_i)\bigr)

    Its expectation is the risk of machines of fewer rows, but the folds' errors depend on each
    other and no distribution-free bound of its deviation at this accuracy is known.

    Parameters
    ----------
    machine : estimator
        Cloned and fitted without each fold.
    X, y : array-like
    cv : int or splitter, default=5
    largest : float, optional
        As in :func:`held_out_bound`.

    References
    ----------
    Y. Bengio and Y. Grandvalet, No unbiased estimator of the variance of k-fold cross-validation,
    *JMLR* 5 (2004) 1089.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> estimate = cross_validated_estimate(SVC(standardize=True), X, y)
    >>> round(estimate.value, 3), estimate.valid
    (0.035, False)
    """
    y = np.asarray(y)
    splitter = check_cv(cv, y, classifier=is_classifier(machine))
    losses = np.full(len(y), np.nan)
    for train, left in splitter.split(X, y):
        fitted = clone(machine).fit(safe_indexing(X, train), y[train])
        losses[left] = losses_of(fitted, safe_indexing(X, left), y[left], largest)
    folds = splitter.get_n_splits(X, y)
    return Bound(
        float(np.nanmean(losses)),
        f"{folds}-fold cross-validation, an estimate without a guarantee",
        majority_error(y) if is_classifier(machine) else float(largest or 0.0),
        constants={"folds": Constant(float(folds), "number of refits")},
        assumptions=(
            INDEPENDENT,
            Assumption("errors of different folds are independent and of one machine", "violated"),
        ),
        data_dependent=True,
    )
