r"""Inverted tails: the largest mean that a sample does not contradict, in logarithms.

Compression bounds ask for tails of :math:`\delta/\binom md`, down to exp(-3000), so the probability
of failure is given as its logarithm.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, gammaln, rel_entr, xlogy

from mercer._typing import Array

__all__ = [
    "binomial_upper",
    "check_margins",
    "check_signs",
    "hoeffding",
    "kl_upper",
    "log_choose",
    "log_kl_moment",
    "split_kl",
]


# Halvings of [0, 1]; the upper end is returned, so that rounding never makes a bound smaller.
N_HALVINGS = 60
# Newton steps, of which five to eight are taken.
MAX_NEWTON_STEPS = 50
EPS = 4.0 * float(np.finfo(np.float64).eps)
MIN_DIVISOR = 1e-300


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


def check_signs(y: ArrayLike, name: str = "y") -> Array:
    """Return labels of rows, or raise ValueError if one of them is neither -1 nor 1.

    Examples
    --------
    >>> check_signs([0, 1])
    Traceback (most recent call last):
    ValueError: y must hold labels -1 and 1, got 0; map two classes by np.where(y == c, 1, -1)
    """
    signs = one_each(y, name)
    wrong = signs[np.abs(signs) != 1.0]
    if len(wrong):
        raise ValueError(
            f"{name} must hold labels -1 and 1, got {wrong[0]:g}; map two classes by "
            "np.where(y == c, 1, -1)"
        )
    return signs


def half_digits(values: ArrayLike) -> float:
    r"""Return :math:`\sqrt\epsilon` of the type of numbers, what sums of products may lose.

    Examples
    --------
    >>> half_digits(np.ones(2)) == 2.0**-26
    True
    """
    dtype = np.asarray(values).dtype
    return float(np.sqrt(np.finfo(dtype if dtype.kind == "f" else np.float64).eps))


def check_margins(margins: ArrayLike, size: float = 1.0) -> Array:
    r"""Return margins of a function of norm 1, or raise ValueError if they cannot be.

    By Cauchy and Schwarz :math:`|f(x)| \le \|f\| \|\phi(x)\| \le R`; the values may exceed it by
    half the digits of their type, so that rounding alone is no error.

    Parameters
    ----------
    margins : array-like of shape (m,)
        :math:`y_i f(x_i)/\|f\|`.
    size : float, default=1.0
        The bound R on the length of points; 1 for margins divided by it.

    Examples
    --------
    >>> check_margins([0.5, 1.5])
    Traceback (most recent call last):
    ValueError: margins reach 1.5, where no function of norm 1 exceeds 1 (Cauchy and Schwarz);
    divide f by its norm, or take Weights.margins
    """
    u = one_each(margins, "margins")
    largest = float(np.max(np.abs(u)))
    if not largest <= size * (1.0 + half_digits(margins)):
        raise ValueError(
            f"margins reach {largest:.6g}, where no function of norm 1 exceeds {size:.6g} "
            "(Cauchy and Schwarz); divide f by its norm, or take Weights.margins"
        )
    return u


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


@lru_cache(maxsize=256)
def log_kl_moment(n_samples: int) -> float:
    r"""Return the logarithm of Maurer's constant, at most :math:`\ln(2\sqrt m)` for m from 8 on.

    .. math:: \xi(m) = \sum_{k=0}^m \binom mk \Bigl(\frac km\Bigr)^k\Bigl(1-\frac km\Bigr)^{m-k}
              \;\ge\; \mathbf E\, e^{m\,\mathrm{kl}(\bar X\|\mu)}

    for independent variables in [0, 1] of mean :math:`\mu`.

    References
    ----------
    A. Maurer, A note on the PAC-Bayesian theorem, arXiv:cs/0411099 (2004), theorem 1.

    Examples
    --------
    >>> float(np.exp(log_kl_moment(100)).round(2)), 2 * 100**0.5
    (13.21, 20.0)
    """
    m = some_samples(n_samples)
    k = np.arange(m + 1)
    return _log_sum(log_choose(m, k) + xlogy(k, k / m) + xlogy(m - k, 1.0 - k / m))


def _log_sum(logarithms: Array) -> float:
    top = float(logarithms.max())
    return top + float(np.log(np.sum(np.exp(logarithms - top))))
