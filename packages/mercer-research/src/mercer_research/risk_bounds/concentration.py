"""What several bounds ask: margins, labels, rounding, and the constant of the kl inequality."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, xlogy

from mercer._typing import Array
from mercer.risk_bounds import Assumption, log_choose, one_each, some_samples

# What a bound for a whole class of functions rests on; an audit looks into both.
INDEPENDENT = Assumption("rows are drawn independently from one distribution")
BEFOREHAND = Assumption("the class of functions was fixed before the rows were seen")


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
    return float(logsumexp(log_choose(m, k) + xlogy(k, k / m) + xlogy(m - k, 1.0 - k / m)))
