"""The test whether a function is a power series without negative coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.kernels.points import Array

EPS = float(np.finfo(float).eps)

RADII = 2.0 ** (np.arange(-48, 29) / 4.0)
"""Circles on which a function is tried, from 2^-12 to 2^7."""

NOISE = 16 * EPS
"""Rounding of a mean of values on a circle, in units of the largest of them."""

SPURIOUS = 64 * EPS
"""Frequencies that a power series cannot have are roundings up to this share."""

AGREEMENT = 1e-10
"""How well two circles must agree, in units of Cauchy's bound."""


class Coefficients(NamedTuple):
    """Taylor coefficients at zero, computed on circles, and their uncertainties."""

    values: Array
    errors: Array
    bounds: Array
    """Cauchy's bounds, the smallest of max |t| / radius^n: how large a coefficient could be."""


@dataclass(frozen=True)
class Admissibility:
    """Whether the power series of a function has no negative coefficient."""

    status: str
    """``admissible``, ``rejected`` or ``undecided``."""

    index: int | None
    """The first degree that decides against it."""

    value: float | None
    """The coefficient of that degree."""

    reason: str
    coefficients: Coefficients | None

    def __bool__(self) -> bool:
        return self.status == "admissible"


def power_series_coefficients(t: Callable[[Array], Any], degree: int = 20) -> Coefficients:
    r"""Return the Taylor coefficients of a function at zero.

    .. math:: a_n = \frac{1}{N \rho^n} \sum_{k=1}^{N} t(\rho e^{2\pi i k/N}) e^{-2\pi i n k/N}

    by the fast Fourier transform on many circles. A circle counts if t has no frequencies on it
    that a power series could not have, so that it lies inside the disc of convergence; of those
    each degree takes the one on which roundings, :math:`\epsilon \max|t| / \rho^n`, are the least,
    and the distance to the result of the second best is added to the error.

    Parameters
    ----------
    t : callable
        A function of complex arrays, written with NumPy.
    degree : int, default=20
        The highest coefficient.

    Returns
    -------
    Coefficients
        `values`, `errors` and `bounds`, each of shape ``(degree + 1,)``.

    Examples
    --------
    >>> power_series_coefficients(np.exp, 3).values.round(12)
    array([1.        , 1.        , 0.5       , 0.16666667])
    """
    count = max(256, 8 * (degree + 1))
    n, angles = np.arange(degree + 1), 2j * np.pi * np.arange(count) / count
    estimates, noises = [], []
    for radius in RADII:
        with np.errstate(all="ignore"):
            values = np.broadcast_to(np.asarray(t(radius * np.exp(angles)), complex), (count,))
            largest = float(np.abs(values).max())
        if not np.isfinite(largest):
            continue
        waves = np.fft.fft(values) / count
        # The upper half are negative frequencies, and positive ones that alias with them.
        if np.abs(waves[count // 2 :]).max() > SPURIOUS * largest:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):  # small powers may underflow
            estimates.append(waves.real[: degree + 1] / radius**n)
            noises.append(NOISE * largest / radius**n)
        if np.abs(waves.imag[: degree + 1]).max() > SPURIOUS * largest:
            raise ValueError("The function is not real on the real line.")
    if len(estimates) < 2:
        raise ValueError(
            "The function is not the sum of a power series in any disc around zero with a radius "
            f"of {RADII[0]:.1e} or more."
        )
    order = np.argsort(noises, axis=0)[:2]
    (best, other), (noise, _) = (
        np.take_along_axis(np.array(a), order, 0) for a in (estimates, noises)
    )
    return Coefficients(best, noise + np.abs(best - other), noise / NOISE)


def power_series_check(t: Callable[[Array], Any], degree: int = 20) -> Admissibility:
    r"""Decide whether :math:`t(\langle x, z\rangle)` is a kernel: no coefficient may be negative.

    Parameters
    ----------
    t : callable
        A function of complex arrays, written with NumPy.
    degree : int, default=20
        The highest degree that is looked at.

    Returns
    -------
    Admissibility
        True as a truth value if admissible: no coefficient up to this degree is negative by more
        than its error. Undecided where the circles disagree or there is no power series.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, cor. 3.6.

    Examples
    --------
    >>> bool(power_series_check(np.cosh))
    True
    >>> power_series_check(np.tanh).reason
    'The coefficient of degree 3 is -0.333333.'
    """
    try:
        found = power_series_coefficients(t, degree)
    except (TypeError, ValueError) as error:
        return Admissibility("undecided", None, None, str(error), None)
    values, errors, bounds = found
    unclear = np.flatnonzero(errors > AGREEMENT * bounds)
    if unclear.size:
        i = int(unclear[0])
        reason = f"The coefficient of degree {i} is {values[i]:.6g} up to {errors[i]:.1e} only."
        return Admissibility("undecided", i, float(values[i]), reason, found)
    negative = np.flatnonzero(values < -errors)
    if negative.size:
        i = int(negative[0])
        reason = f"The coefficient of degree {i} is {values[i]:.6g}."
        return Admissibility("rejected", i, float(values[i]), reason, found)
    return Admissibility(
        "admissible", None, None, f"No coefficient up to degree {degree} is negative.", found
    )
