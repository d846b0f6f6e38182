"""Estimates of location, and by which samples they are held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_array

from mercer._typing import Array, TargetsLike
from mercer_research.linear.norms import THRESHOLD, residual_scale, solve_norm

__all__ = ["Location", "location"]


@dataclass(frozen=True)
class Location:
    r"""The centre of a sample, with the multipliers that hold it.

    Parameters
    ----------
    value : float
        The centre.
    interval : tuple of float
        All centres that are as good; two numbers that differ only for the median.
    multipliers : ndarray of shape (n,)
        Slope of the loss at each sample, which sum to zero: the shape of the influence function,
        bounded for the median and Huber's loss, linear for the mean.
    above, below : ndarray of shape (n,)
        The multipliers :math:`\alpha^-` of samples above and :math:`\alpha^+` of samples below the
        centre, whose difference is ``multipliers`` and whose sums are equal.
    """

    value: float
    interval: tuple[float, float]
    multipliers: Array
    above: Array
    below: Array


def location(y: TargetsLike, loss: str = "absolute", *, scale: float | str = "auto") -> Location:
    r"""Estimate the centre of a sample under a norm.

    .. math:: \min_\mu \sum_i \rho(y_i - \mu)

    The mean for the squared loss, the median for the absolute one, the middle of the range for the
    maximum, Huber's estimate between the first two. For the median the multipliers are
    :math:`\alpha_i^+ = 1` below it, :math:`\alpha_i^- = 1` above, and one half each for the sample
    on it; where several samples lie on it they share what makes the sums equal.

    Parameters
    ----------
    y : array-like of shape (n,)
        The sample.
    loss : {"absolute", "huber", "squared", "maximum"}, default="absolute"
        The norm.
    scale : float or "auto", default="auto"
        Standard deviation of most of the sample; Huber's threshold is 1.345 times this.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, example 1.2, eq. (1.16), and
    example 3.3, eq. (3.42) to (3.44). For an even number of samples the median is anywhere between
    the two in the middle; their mean is returned.

    Examples
    --------
    >>> from mercer_research.linear import location
    >>> centre = location([1.0, 2.0, 4.0, 50.0])
    >>> centre.value, centre.interval, centre.multipliers
    (3.0, (2.0, 4.0), array([-1., -1.,  1.,  1.]))
    """
    y = check_array(y, ensure_2d=False, dtype=np.float64)
    if y.ndim != 1:
        raise ValueError(f"y must be one sample of numbers, got an array of shape {y.shape}.")
    if loss == "squared":
        value = float(np.mean(y))
        return _signed(value, (value, value), y - value)
    if loss == "maximum":
        low, high = y == y.min(), y == y.max()
        value = 0.5 * float(y.min() + y.max())
        u = 0.5 * (high / high.sum() - low / low.sum())
        return _signed(value, (value, value), u)
    if loss == "absolute":
        ordered, n = np.sort(y), len(y)
        interval = float(ordered[(n - 1) // 2]), float(ordered[n // 2])
        value = 0.5 * (interval[0] + interval[1])
        u = np.sign(y - value)
        on = u == 0
        if on.any():
            u[on] = -u.sum() / on.sum()
        return Location(value, interval, u, 0.5 * (1.0 + u), 0.5 * (1.0 - u))
    if loss != "huber":
        raise ValueError(f"loss must be 'absolute', 'huber', 'squared' or 'maximum', got {loss!r}.")
    ones = np.ones((len(y), 1))
    sigma = residual_scale(ones, y) if scale == "auto" else float(scale)
    w, optimum, _ = solve_norm(ones, y, "huber", np.ones(len(y)), THRESHOLD * sigma)
    value = float(w[0])
    return _signed(value, (value, value), optimum.multipliers)


def _signed(value: float, interval: tuple[float, float], u: Array) -> Location:
    return Location(value, interval, u, np.maximum(u, 0.0), np.maximum(-u, 0.0))
