r"""Radial power spectra in d dimensions, as seen on a line.

A radial kernel is a kernel of one variable along any line, and its spectrum there is the projection

.. math:: P_1(w) = (2\pi)^{-c/2} \int_{\mathbb{R}^c} P\bigl(\sqrt{w^2 + |v|^2}\bigr) \, dv,
          \qquad c = d - 1

of the one in d dimensions. It is an integral of something that neither oscillates nor changes
sign, so that every transform left to do is that of an even function of one variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial import legendre
from scipy import special

from mercer.kernels.points import Array
from mercer_research.kernels.piecewise_polynomial import NODES, Piecewise, approximate

Density: TypeAlias = Callable[[Array], Array]

TOLERANCE = 1e-13
"""What may be lost of the integral of a density, and with it of every kernel value."""

PANEL = 1e-15
"""The share of one panel."""

OCTAVES = 64
"""Frequencies are sought between two to minus and to plus this power; further up if need be."""

LIMIT = 300

_t, _w = legendre.leggauss(NODES)
_fine_t, _fine_w = legendre.leggauss(24)


class DensityRange(NamedTuple):
    """Where a density lives."""

    breaks: Array
    """Panels to begin with, from 0 to where the rest is negligible."""

    tail: float
    """The share of the integral beyond the last one."""


class Line(NamedTuple):
    """A density on a line."""

    density: Piecewise
    """For frequencies from 0 on; it is even."""

    error: float
    """Bound on the error of the kernel, relative to its value at zero."""

    unit: float
    """The reciprocal of the median frequency: the scale of the kernel."""

    smooth_beyond: float
    """A lag beyond which no panel that matters has less than NODES radians."""

    def kernel(self, r: Array) -> Array:
        r"""Return :math:`(2\pi)^{-1/2} \int P_1(w) \cos(w r) \, dw` over all real w."""
        return np.asarray(np.sqrt(2.0 / np.pi) * self.density.cosine(r))


def checked(P: Density) -> Density:
    """Return the density, refusing values that no spectrum of a kernel has."""

    def density(omega: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            values = np.asarray(P(omega), dtype=float)
        if values.shape != omega.shape:
            raise ValueError(
                f"The density must map frequencies of shape {omega.shape} to as many values, "
                f"got shape {values.shape}."
            )
        wrong = ~(np.isfinite(values) & (values >= 0.0))
        if wrong.any():
            first = np.argmin(omega[wrong])
            where = omega[wrong][first]
            raise ValueError(
                f"The density is {values[wrong][first]:.6g} at frequency {where:.6g}. By "
                "Bochner's theorem a kernel is positive definite only if its spectrum is "
                "nowhere negative: correct it there, or clip it at 0."
            )
        return values

    return density


def spread(P: Density, dim: int, breaks: Sequence[float] | Array = ()) -> DensityRange:
    """Find the octaves that hold the integral of a density over the d-dimensional space.

    Parameters
    ----------
    P : callable
        The density as a function of the length of the frequency.
    dim : int
        Dimension of the space.
    breaks : sequence of float
        Further ends of panels: where the density is not smooth, or has a narrow peak.
    """
    weight = _weighted(P, dim)
    own = np.unique(np.asarray(breaks, dtype=float))
    own = own[own > 0.0]

    def octaves(first: int, last: int) -> Array:
        ends = np.exp2(np.arange(first, last + 1))
        parts = np.unique(np.concatenate([ends, own[(own > ends[0]) & (own < ends[-1])]]))
        half = 0.5 * np.diff(parts)
        values = weight(0.5 * (parts[:-1] + parts[1:]) + half * _t[:, None])
        index = np.searchsorted(ends, parts[:-1], side="right") - 1
        return np.bincount(index, half * (_w @ values), minlength=last - first)

    low, high = -OCTAVES, OCTAVES
    mass = octaves(low, high)
    if not mass.any():
        raise ValueError(
            "The density is zero at all frequencies that were tried; give the place of its peaks "
            "as breaks."
        )
    tail = _beyond(mass)
    if not tail <= TOLERANCE * mass.sum():
        mass = np.concatenate([mass, octaves(high, LIMIT)])
        high, tail = LIMIT, _beyond(mass)
    total = mass.sum()
    if not tail <= TOLERANCE * total:
        ratio = mass[-1] / mass[-2]
        raise ValueError(
            f"The density decays like |omega|^-{dim - np.log2(ratio):.2f}, but a bounded kernel "
            f"in {dim} dimension{'s' if dim > 1 else ''} needs an integrable density, which "
            f"decays faster than |omega|^-{dim}: penalize higher derivatives."
        )
    below, above = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    first = int(np.searchsorted(below, 0.01 * total)) + low
    last = high - int(np.searchsorted(above[::-1], 0.1 * TOLERANCE * total))
    middle = high - int(np.searchsorted(above[::-1], 1e-3 * total))
    grid = [np.exp2(np.arange(4 * first, 4 * middle) / 4.0), np.exp2(np.arange(middle, last + 1))]
    ends = np.unique(np.concatenate([[0.0], *grid, own[own < np.exp2(last)]]))
    return DensityRange(ends, float(tail / total) + 0.1 * TOLERANCE)


def _weighted(P: Density, dim: int) -> Density:
    def weight(omega: Array) -> Array:
        values = P(omega)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(values > 0.0, values * omega ** (dim - 1), 0.0)

    return weight


def _beyond(mass: Array) -> float:
    """Integral above the last octave, if masses go on falling as they did from the last but one."""
    before, last = mass[-2:]
    if last == 0.0:
        return 0.0
    return float(last * last / (before - last)) if before > last else np.inf


def project(P: Density, breaks: Array, codim: int) -> Density:
    """Return the projection of a radial density to a space of `codim` fewer dimensions.

    Parameters
    ----------
    P : callable
    breaks : (m + 1,) array
        The density is smooth between these, and negligible beyond the last.
    codim : int
        At least 1.
    """
    constant = 2.0 ** (1.0 - 0.5 * codim) / special.gamma(0.5 * codim)

    def projected(w: Array) -> Array:
        flat = np.ravel(w)
        result = np.empty(len(flat))
        rows = max(1, 2**17 // (len(breaks) * len(_fine_t)))
        for start in range(0, len(flat), rows):
            part = flat[start : start + rows, None]
            v = np.sqrt(np.maximum((breaks - part) * (breaks + part), 0.0))
            v = _graded(v, part, breaks[1])
            half = 0.5 * np.diff(v)[:, :, None]
            nodes = v[:, :-1, None] + half * (1.0 + _fine_t)
            values = P(np.hypot(part[:, :, None], nodes)) * nodes ** (codim - 1)
            result[start : start + rows] = np.einsum("ijk,ij,k->i", values, half[:, :, 0], _fine_w)
        return np.asarray(constant * result.reshape(np.shape(w)))

    return projected


def _graded(v: Array, w: Array, first: float) -> Array:
    """Add panels to the first one, whose lengths double away from zero.

    The length of a frequency as a function of v has branch points at plus and minus iw; a panel
    must not be much longer than its distance from these. Later panels are not.
    """
    smallest = float(np.min(w, initial=first, where=w > 0.0))
    doublings = min(int(np.ceil(np.log2(first / smallest))), 80)
    if doublings < 1:
        return v
    inner = np.minimum(w * np.exp2(np.arange(doublings)), v[:, 1:2])
    return np.concatenate([v[:, :1], inner, v[:, 1:]], axis=1)


def on_a_line(P: Density, dim: int, where: DensityRange) -> Line:
    """Return a radial density as it is seen on a line, with the error of its kernel.

    Parameters
    ----------
    P : callable
    dim : int
    where : Spread
        As found by :func:`spread` for this density.
    """
    density, breaks = P, where.breaks
    if dim > 1:
        weight = _weighted(P, dim)
        total = approximate(weight, breaks, np.inf)[0].integrals.sum()
        breaks = approximate(weight, breaks, PANEL * total, integral=True)[0].breaks
        density = project(P, breaks, dim - 1)
    total = approximate(density, breaks, np.inf)[0].integrals.sum()
    fitted, error = approximate(density, breaks, PANEL * total, integral=True)
    mass = fitted.integrals
    median = fitted.breaks[np.searchsorted(np.cumsum(mass), 0.5 * mass.sum()) + 1]
    matter = mass > PANEL * mass.sum()
    narrow = 0.5 * np.diff(fitted.breaks)[matter].min()
    return Line(
        fitted, error / float(mass.sum()) + where.tail, 1.0 / float(median), NODES / float(narrow)
    )
