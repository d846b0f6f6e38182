r"""Held-out bounds: what rows that a machine has not seen say of its risk.

A machine that was fixed before m independent rows were looked at has errors on them like tosses of
a coin. Nothing else is assumed, of the machine or of the distribution. Tails are inverted in
logarithms, since a part of delta can be as small as exp(-3000).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, gammaln, rel_entr
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from mercer._params import check_nonnegative, check_positive
from mercer._sklearn import safe_indexing
from mercer._typing import Array, PointsLike, Predictor, SplitterLike, TargetsLike

__all__ = [
    "Bound",
    "ControlledThreshold",
    "cross_validated_estimate",
    "error_bound",
    "held_out_bound",
    "mean_bound",
    "risk_controlled_threshold",
]

Status = Literal["given", "checked", "assumed", "unknown", "violated"]

# Halvings of [0, 1]; the upper end is returned, so that rounding never makes a bound smaller.
N_HALVINGS = 60
# Newton steps, of which five to eight are taken.
MAX_NEWTON_STEPS = 50
EPS = 4.0 * float(np.finfo(np.float64).eps)
MIN_DIVISOR = 1e-300


@dataclass(frozen=True)
class Assumption:
    """One thing a bound rests on, and how we know it.

    Parameters
    ----------
    text : str
        A sentence without its full stop, "the norm was bounded before the data were seen".
    status : {"given", "checked", "assumed", "unknown", "violated"}
        Told by the caller, proved from what is at hand, taken on trust since nothing at hand can
        prove it, looked into without an answer, or known to be false.

    Examples
    --------
    >>> print(Assumption("the loss lies in [0, 1]", "checked"))
    the loss lies in [0, 1] (checked)
    """

    text: str
    status: Status = "assumed"

    def __str__(self) -> str:
        return f"{self.text} ({self.status})"


@dataclass(frozen=True)
class Constant:
    """A number inside a bound, and where it comes from.

    Examples
    --------
    >>> print(Constant(36.0, "exponent of the inequality for real-valued classes"))
    36 (exponent of the inequality for real-valued classes)
    """

    value: float
    origin: str

    def __str__(self) -> str:
        return f"{self.value:g} ({self.origin})"


@dataclass(frozen=True)
class Bound:
    """A bound with everything that is needed to quote it.

    Parameters
    ----------
    value : float
        The bound itself: a risk, a deviation, a probability or a number of rows.
    method : str
        Which argument gave it, in words: "binomial tail on held-out rows".
    trivial : float
        What is known without any theory, such as 1 for an error rate, or the majority class's
        rate. A bound at or above it says nothing.
    log_covering : float, optional
        Natural logarithm of the covering number inside, where there is one.
    constants : mapping of str to Constant
    assumptions : tuple of Assumption
    data_dependent : bool
        Whether quantities measured on the sample went in that the theorem wants fixed before.

    Examples
    --------
    >>> bound = Bound(0.083, "binomial tail on held-out rows", trivial=0.37)
    >>> bound.vacuous, bound.valid
    (False, True)
    >>> Bound(-0.778, "a norm below zero").vacuous
    True
    >>> print(bound)
    at most 0.083, by binomial tail on held-out rows
    >>> print(Bound(3.2, "Rademacher complexity", trivial=0.37))
    says nothing (3.2, where 0.37 is known without it), by Rademacher complexity
    >>> print(Bound(0.083, "binomial tail", assumptions=(Assumption("rows are independent"),)))
    at most 0.083, by binomial tail, assuming that rows are independent
    """

    value: float
    method: str
    trivial: float = np.inf
    log_covering: float | None = None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    data_dependent: bool = False

    @property
    def vacuous(self) -> bool:
        """Whether it adds nothing to what is known without it.

        True of a value that is not below ``trivial``, of one that is no bound (negative or NaN),
        and of a bound that is not ``valid``.
        """
        return not (self.valid and 0 <= self.value < self.trivial)

    @property
    def valid(self) -> bool:
        """Whether nothing it rests on is known to be false."""
        return all(assumption.status != "violated" for assumption in self.assumptions)

    @property
    def rests_on(self) -> tuple[Assumption, ...]:
        """What it rests on without proof: everything assumed or unknown."""
        return tuple(one for one in self.assumptions if one.status in ("assumed", "unknown"))

    def __str__(self) -> str:
        if not self.valid:
            broken = next(a.text for a in self.assumptions if a.status == "violated")
            return f"may not be quoted, by {self.method}: it needs that {broken}"
        if not self.value >= 0:
            return f"may not be quoted, by {self.method}: its value is {self.value:.3g}"
        if self.vacuous:
            known = f"{self.value:.3g}, where {self.trivial:.3g} is known without it"
            return f"says nothing ({known}), by {self.method}"
        return f"at most {self.value:.3g}, by {self.method}{conditions(self.rests_on)}"


def conditions(unproved: tuple[Assumption, ...]) -> str:
    """Return what a bound rests on without proof, as the end of its sentence.

    Examples
    --------
    >>> conditions((Assumption("A"), Assumption("B"), Assumption("C", "unknown")))
    ', assuming that A and B, and if C, which is unknown'
    """
    assumed = [one.text for one in unproved if one.status == "assumed"]
    unknown = [one.text for one in unproved if one.status == "unknown"]
    words = f", assuming that {_listed(assumed)}" if assumed else ""
    if unknown:
        words += f",{' and' if assumed else ''} if {_listed(unknown)}, which is unknown"
    return words


def _listed(texts: list[str]) -> str:
    *rest, last = texts
    return f"{', '.join(rest)} and {last}" if rest else last


def one_each(values: ArrayLike, name: str) -> Array:
    """Return numbers of rows, one each, or say why they are none.

    Examples
    --------
    >>> one_each([], "losses")
    Traceback (most recent call last):
    ValueError: losses must hold one number for each of at least one row, got shape (0,)
    """
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or not len(found):
        raise ValueError(
            f"{name} must hold one number for each of at least one row, got shape {found.shape}"
        )
    if np.isnan(found).any():
        raise ValueError(f"{name} holds NaN in {int(np.isnan(found).sum())} of {len(found)} rows")
    return found


def some_samples(n_samples: float) -> int:
    """Return a number of rows, or say that it is none."""
    if not n_samples >= 1 or n_samples != int(n_samples):
        raise ValueError(f"n_samples must be a whole number of at least one row, got {n_samples}")
    return int(n_samples)


def log_choose(n: int, k: int | NDArray[np.intp]) -> Array:
    r"""Return :math:`\ln\binom nk`.

    Examples
    --------
    >>> float(np.exp(log_choose(5, 2)).round(6))
    10.0
    """
    return np.asarray(gammaln(n + 1.0) - gammaln(np.add(k, 1.0)) - gammaln(n - np.add(k, -1.0)))


@lru_cache(maxsize=4096)
def binomial_upper(errors: int, n_samples: int, log_delta: float) -> float:
    r"""Return the largest error rate at which so few errors are not too unlikely.

    .. math:: \max\Bigl\{p : \sum_{j\le k}\binom mj p^j(1-p)^{m-j} \ge \delta\Bigr\}

    The one-sided interval of Clopper and Pearson: the rate of a fixed classifier lies below it with
    probability at least :math:`1-\delta` over m independent rows.

    Parameters
    ----------
    errors, n_samples : int
        The count k among m rows.
    log_delta : float
        Natural logarithm of the probability of failure.

    References
    ----------
    C. J. Clopper and E. S. Pearson, *Biometrika* 26 (1934) 404; J. Langford, *JMLR* 6 (2005) 273,
    definition 3.2.

    Examples
    --------
    >>> round(binomial_upper(0, 100, np.log(0.05)), 4)  # 1 - 0.05 ** (1 / 100)
    0.0295
    """
    m = some_samples(n_samples)
    if not 0 <= errors <= m or errors != int(errors):
        raise ValueError(f"errors must be a count between 0 and n_samples = {m}, got {errors}")
    k = int(errors)
    if k == m:
        return 1.0
    j = np.arange(k + 1)
    ways = log_choose(m, j)
    low, high = k / m, 1.0
    for _ in range(N_HALVINGS):
        p = 0.5 * (low + high)
        if _log_sum(ways + j * np.log(p) + (m - j) * np.log1p(-p)) >= log_delta:
            low = p
        else:
            high = p
    return high


def hoeffding(m: int, candidates: int = 1, delta: float = 0.05, bound: float = 1.0) -> float:
    r"""Return :math:`b \sqrt{\ln(G/\delta) / (2m)}`: how far a mean may be below its expectation.

    Parameters
    ----------
    m : int
        Samples of the mean.
    candidates : int, default=1
        How many means are to be safe at once.
    delta : float, default=0.05
        The probability that one of them is not.
    bound : float, default=1.0
        The largest loss.

    Examples
    --------
    >>> round(hoeffding(200, 10), 4)
    0.1151
    """
    if not (m > 0 and candidates > 0 and 0 < delta < 1 and bound >= 0):
        raise ValueError("m and candidates must be positive, delta in (0, 1), bound not negative")
    return float(bound * np.sqrt(np.log(candidates / delta) / (2.0 * m)))


def split_kl(q: ArrayLike, p: ArrayLike) -> Array:
    r"""Return the divergence of two coins, :math:`q\ln\frac qp + (1-q)\ln\frac{1-q}{1-p}`.

    Examples
    --------
    >>> float(split_kl(0.0, 0.5).round(4))
    0.6931
    """
    q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
    return np.asarray(rel_entr(q, p) + rel_entr(1.0 - q, 1.0 - p))


def kl_upper(mean: ArrayLike, budget: ArrayLike) -> Array:
    r"""Return the largest p with :math:`\mathrm{kl}(q\,\|\,p) \le c`, elementwise.

    With :math:`c = \ln(1/\delta)/m` it bounds the expectation of variables in [0, 1] by the mean q
    of m of them: :math:`P(\bar X \le q) \le e^{-m\,\mathrm{kl}(q\|\mu)}` for :math:`q \le \mu`.

    Parameters
    ----------
    mean, budget : array-like
        The mean q in [0, 1] and the divergence c that is allowed.

    References
    ----------
    W. Hoeffding, *JASA* 58 (1963) 13, theorem 1.

    Examples
    --------
    >>> float(kl_upper(0.0, 0.1).round(4))  # 1 - exp(-0.1)
    0.0952
    """
    q, c = np.broadcast_arrays(np.asarray(mean, dtype=float), np.asarray(budget, dtype=float))
    if not (np.all((q >= -EPS) & (q <= 1.0 + EPS)) and np.all(c >= 0.0)):
        raise ValueError("mean must lie between 0 and 1, and budget must not be negative")
    # No number below 1 in float64 has a divergence of a thousand.
    q, c = np.clip(q, 0.0, 1.0), np.minimum(c, 1e3)
    # The divergence is convex in p, so Newton's method from above stays above. It starts at the
    # smaller of two upper bounds: Pinsker's, and 1 - exp(-(c + H(q))/(1 - q)) from ln p <= 0.
    room = np.maximum(1.0 - q, MIN_DIVISOR)
    start = -np.expm1(-(c + entr(q) + entr(1.0 - q)) / room)
    p = np.where(q < 1.0, np.minimum(q + np.sqrt(0.5 * c), start), 1.0)
    for _ in range(MAX_NEWTON_STEPS):
        slope = (p - q) / np.maximum(p * (1.0 - p), MIN_DIVISOR)
        step = np.where(slope > 0, (split_kl(q, p) - c) / np.maximum(slope, MIN_DIVISOR), 0.0)
        # At p = 1 the divergence is infinite and p is as good as it gets.
        step = np.where(np.isfinite(step), np.maximum(step, 0.0), 0.0)
        p = p - step
        if not np.any(step > EPS * p):
            break
    return np.asarray(np.clip(p, q, 1.0))


def _log_sum(logarithms: Array) -> float:
    top = float(logarithms.max())
    return top + float(np.log(np.sum(np.exp(logarithms - top))))


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


@dataclass(frozen=True)
class ControlledThreshold:
    """A threshold, and the bound on its risk.

    Parameters
    ----------
    value : float
        The boldest threshold whose risk is at most the target.
    index : int
        Its place among those given.
    target : float
        The risk that was allowed.
    bound : Bound
        On the risk of this threshold.
    """

    value: float
    index: int
    target: float
    bound: Bound

    def __str__(self) -> str:
        return f"threshold {self.value:.4g}: risk {self.bound}"


def risk_controlled_threshold(
    losses: ArrayLike,
    thresholds: ArrayLike,
    *,
    target: float,
    delta: float = 0.05,
    largest: float = 1.0,
) -> ControlledThreshold:
    r"""Choose the boldest threshold whose risk is at most a target, with probability 1 - delta.

    Thresholds are tried in the order given, from the safest on, and the last is taken before one
    whose upper confidence bound exceeds the target:

    .. math:: \hat\jmath = \max\{j : R^+(t_1) \le \alpha, \dots, R^+(t_j) \le \alpha\},
              \qquad \Pr\{R(t_{\hat\jmath}) > \alpha\} \le \delta

    Nothing is paid for the number of thresholds: to go wrong, the walk has to pass the first
    threshold whose risk is too large, and each bound alone fails with probability at most
    :math:`\delta`. Losses need not fall along the thresholds.

    Parameters
    ----------
    losses : array-like of shape (m, n_thresholds)
        Loss of each held-out row under each threshold, in [0, `largest`]. For errors give booleans:
        the binomial tail is sharper than those for numbers. For a rate among some of the rows, as
        of missed cases among the ill, give these rows only.
    thresholds : array-like of shape (n_thresholds,)
        From the safest to the boldest, fixed before the rows were looked at.
    target : float
        The risk that is allowed, :math:`\alpha`.
    delta : float, default=0.05
        Probability that the risk is larger all the same.
    largest : float, default=1.0
        The largest possible loss.

    Returns
    -------
    ControlledThreshold

    References
    ----------
    A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei, Learn then test:
    calibrating predictive algorithms to achieve risk control, *Annals of Applied Statistics* 19
    (2025); P. Bauer, Multiple testing in clinical trials, *Statistics in Medicine* 10 (1991) 871.

    Examples
    --------
    Scores of 200 ill persons: where may the cutoff be if at most one in ten is to be missed?

    >>> scores = np.random.default_rng(0).normal(1.5, 1.0, size=200)
    >>> cutoffs = np.linspace(-2.0, 2.0, 81)
    >>> print(risk_controlled_threshold(scores[:, None] < cutoffs, cutoffs, target=0.1))
    threshold 0.05: risk at most 0.0894, by binomial tail on held-out rows, assuming that the
    rows are independent draws of the distribution to come and nothing about the machine was
    chosen by looking at these rows
    """
    losses, thresholds = np.asarray(losses), np.asarray(thresholds, dtype=float)
    if losses.ndim != 2 or losses.shape[1:] != thresholds.shape or not losses.size:
        raise ValueError(
            "losses has a row for each held-out row and a column for each threshold; got shape "
            f"{losses.shape} for {thresholds.size} thresholds."
        )
    check_positive(largest=largest)
    if np.isnan(thresholds).any():
        raise ValueError(f"thresholds holds NaN in {int(np.isnan(thresholds).sum())} places.")
    if not 0.0 < target < largest:
        raise ValueError(f"target is a risk between 0 and {largest:g}, not {target:g}.")
    errors = losses.dtype == np.bool_
    found = None
    for j, (threshold, column) in enumerate(zip(thresholds.tolist(), losses.T, strict=True)):
        if errors:
            bound = error_bound(int(column.sum()), len(column), delta=delta)
        else:
            bound = mean_bound(column, largest=largest, delta=delta)
        if not (bound.valid and bound.value <= target):
            break
        found = ControlledThreshold(threshold, j, target, bound)
    if found is None:
        raise ValueError(
            f"The risk of the safest threshold, {thresholds[0]:g}, is not shown to be at most "
            f"{target:g}: {bound}. Begin with a safer one, allow more, or give more than "
            f"{len(losses)} rows."
        )
    return found
