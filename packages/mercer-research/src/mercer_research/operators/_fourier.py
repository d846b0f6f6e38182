r"""Fourier integrals over all frequencies, of functions that may have poles, ripples or long tails.

.. math:: \int_0^\infty \cos(\omega t) g(\omega) \, d\omega

Octave by octave the function is expanded in Legendre polynomials, over panels that are halved until
the last coefficients are small. The integral of a polynomial times a wave is known (a spherical
Bessel function), so that the wave needs no nodes of its own. What is left beyond the last octave is
extrapolated: integrals with a smooth end at doubling frequencies differ by a sum of geometric
sequences, which Wynn's algorithm removes whatever their ratios are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from mercer.kernels.points import Array

# Nodes of a panel: they see a wave or two to rounding, and a power over an octave.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
ORDERS = np.arange(len(NODES))
LEGENDRE = np.polynomial.legendre.legvander(NODES, len(NODES) - 1)
EXPAND = LEGENDRE * WEIGHTS[:, None] * (ORDERS + 0.5)

# Octaves below the scale of the function at which octaves begin; what is below is halved to zero.
FIRST = -3

# Halvings of an octave, of the panel that begins at zero, and octaves at most.
HALVINGS, TO_ZERO, LAST = 8, 1000, 60

# Values of the function that may be asked for, and integrals that are extrapolated.
MOST, KEPT = 20000, 12


class Panels(NamedTuple):
    """Middles and half-widths of intervals, and the values at the nodes of each."""

    middle: Array
    half: Array
    values: Array

    @property
    def omega(self) -> Array:
        """The nodes, one row a panel."""
        return self.middle[:, None] + self.half[:, None] * NODES

    @property
    def size(self) -> float:
        """The sum of the integrals of the panels by absolute value."""
        return float(np.abs(self.values @ WEIGHTS) @ self.half)

    def cosines(self, t: Array) -> Array:
        """Integrate against the cosines of some frequencies."""
        result = np.zeros(len(t))
        for part in np.array_split(np.arange(len(self.half)), 1 + len(self.half) // 256):
            half, coefficients = self.half[part], self.values[part] @ EXPAND
            bessel = special.spherical_jn(ORDERS[:, None, None], np.multiply.outer(t, half))
            waves = np.einsum("pk,ktp,k->tp", coefficients, bessel, 2.0 * 1j**ORDERS)
            result += (np.exp(1j * np.multiply.outer(t, self.middle[part])) * waves).real @ half
        return result


def cosine_integrals(
    g: Callable[[Array], Array], t: Array, scale: float, tol: float = 1e-10
) -> tuple[Array, float]:
    """Integrate a function against cosines, from zero to infinity.

    Parameters
    ----------
    g : callable
        Finite at positive frequencies, as far as it is known; what is not finite ends the sum.
    t : (m,) array
        At least 0; beside 0, not so small that a wave is longer than all octaves.
    scale : float
        A frequency where the function begins to fall.
    tol : float, default=1e-10
        Error that is aimed at, as a part of the integral of the absolute value.

    Returns
    -------
    integrals : (m,) array
    error : float
        An estimate of the largest error.

    Examples
    --------
    >>> integrals, error = cosine_integrals(lambda w: 1.0 / (1.0 + w**2), np.array([0.0, 1.0]), 1.0)
    >>> (integrals * 2.0 / np.pi).round(10)  # exp(-t)
    array([1.        , 0.36787944])
    """
    first = scale * 2.0**FIRST
    size = scale * abs(float(g(np.array([scale]))[0]))
    below = _panels(g, 0.0, first, tol * size, TO_ZERO)
    if below is None:
        return np.full(len(t), np.nan), np.inf
    total, sums, asked = below.size, below.cosines(t), below.values.size
    ends: list[Array] = []
    last: Panels | None = None
    values, error, before = sums, np.inf, np.inf
    for octave in range(FIRST, LAST):
        start = scale * 2.0**octave
        panels = _panels(g, start, 2.0 * start, tol * total, HALVINGS)
        if panels is None:
            break
        total, asked = total + panels.size, asked + panels.values.size
        # An end that is smooth over this octave and the last; ripples leave nothing of themselves.
        smooth = sums + _tapered(panels, start).cosines(t)
        if last is not None:
            smooth += _tapered(last, start).cosines(t) - last.cosines(t)
        ends = [*ends[1 - KEPT :], smooth]
        sums, last = sums + panels.cosines(t), panels
        if octave < 0:
            continue
        left = 2.0 * start * float(np.abs(panels.values).max())
        if left <= 0.1 * tol * total:
            return sums, left
        if len(ends) > 4:
            values, error = _extrapolated(np.array(ends))
            if max(error, before) <= tol * total:
                break
            before = error
        if asked > MOST:
            break
    return values, error


def _panels(
    g: Callable[[Array], Array], lower: float, upper: float, floor: float, halvings: int
) -> Panels | None:
    """Halve an interval until its polynomials hold the function; None where it is not finite."""
    done: list[Panels] = []
    edges = np.array([[lower, upper]])
    for _ in range(halvings):
        middle, half = edges.mean(axis=1), 0.5 * (edges[:, 1] - edges[:, 0])
        panels = Panels(middle, half, np.zeros((len(half), len(NODES))))
        values = np.asarray(g(panels.omega.ravel()), dtype=float).reshape(panels.values.shape)
        if not np.isfinite(values).all():
            return None
        panels = panels._replace(values=values)
        rest = np.abs((values @ EXPAND)[:, -4:]).max(axis=1)
        good = (rest * half <= floor) | (rest <= 1e-11 * np.abs(values).max(axis=1))
        done.append(Panels(*(field[good] for field in panels)))
        if good.all():
            break
        left, right = edges[~good].copy(), edges[~good].copy()
        left[:, 1] = right[:, 0] = middle[~good]
        edges = np.concatenate([left, right])
    else:
        # The function is only so smooth in floating point.
        done.append(Panels(*(field[~good] for field in panels)))
    return Panels(*(np.concatenate(fields) for fields in zip(*done, strict=True)))


def _tapered(panels: Panels, centre: float) -> Panels:
    """Return the function with a smooth end, one an octave below a frequency, zero one above."""
    end = 0.5 * special.erfc(5.5 * np.log2(panels.omega / centre))
    return panels._replace(values=panels.values * end)


def _extrapolated(sequence: Array) -> tuple[Array, float]:
    """Return the limits of the columns by Wynn's epsilon algorithm, and the largest last change."""
    best, change = sequence[-1].copy(), np.abs(sequence[-1] - sequence[-2])
    before, now = np.zeros((len(sequence) + 1, sequence.shape[1])), sequence
    for column in range(1, len(sequence) - 1):
        # Where nothing changes any more a difference is zero: the entry is not read.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            before, now = now, before[1:-1] + 1.0 / np.diff(now, axis=0)
            moved = np.abs(now[-1] - now[-2])
        if column % 2 == 0:
            better = moved < change
            best, change = np.where(better, now[-1], best), np.where(better, moved, change)
    return best, float(change.max())
