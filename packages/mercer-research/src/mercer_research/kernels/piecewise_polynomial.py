r"""Functions of one variable as polynomials on panels: fitted adaptively, transformed exactly.

On a panel with centre c and half-width h the function is :math:`\sum_k a_k P_k((x - c)/h)`, and

.. math:: \int_{-1}^1 P_k(t) e^{i \kappa t} dt = 2 i^k j_k(\kappa)

with the spherical Bessel functions :math:`j_k`, so that a Fourier transform costs the same at every
frequency, however fast it oscillates. Whatever is lost is lost in the fit: the transform of f is
wrong by at most :math:`\int |f - p|`, uniformly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre

from mercer.kernels.points import Array

NODES = 16
"""Coefficients of a panel."""

GAUSS = 32
"""Nodes that integrate a panel against up to NODES radians: exact up to degree 63, and beyond
degree 48 a wave of 16 radians has no Legendre coefficient above 1e-17."""

DEPTH = 250
"""Bisections towards a singularity; x^(-1/2) needs about 100 for all digits of its integral."""

ROUNDING = 16 * np.finfo(float).eps
"""Relative error of a panel that is due to rounding."""

NOISE = 1e-8
"""Relative error that may be noise of the function itself."""

CROWD = 2000
"""So many panels at once are not made better by more of them."""

_t, _w = legendre.leggauss(NODES)
_analysis = (legendre.legvander(_t, NODES - 1) * _w[:, None]).T * (np.arange(NODES) + 0.5)[:, None]
_halves = np.concatenate([0.5 * (_t - 1.0), 0.5 * (_t + 1.0)])
_predict = legendre.legvander(_halves, NODES - 1)
_gauss_t, _gauss_w = legendre.leggauss(GAUSS)


@dataclass(frozen=True)
class Piecewise:
    """A polynomial on each of some adjacent panels, and zero outside.

    Parameters
    ----------
    breaks : (m + 1,) array
        Where panels begin and end, increasing.
    coefficients : (q, m) array
        Of Legendre polynomials of degree 0 to q - 1 in each panel.

    Examples
    --------
    >>> triangle = Piecewise(np.array([0.0, 2.0]), np.array([[0.5], [-0.5]]))
    >>> triangle(np.array([0.0, 1.0, 2.0, 3.0]))
    array([1. , 0.5, 0. , 0. ])
    >>> triangle.cosine(np.array([0.0, 1.0])).round(6)
    array([1.      , 0.708073])
    """

    breaks: Array
    coefficients: Array

    @property
    def end(self) -> float:
        """Where the last panel ends."""
        return float(self.breaks[-1])

    @property
    def integrals(self) -> Array:
        """Integral over each panel."""
        return np.asarray(np.diff(self.breaks) * self.coefficients[0])

    def __call__(self, x: Array) -> Array:
        """Return the values at points of any shape."""
        index, t, inside = self._locate(x)
        # Clenshaw's recurrence; the coefficients of all points are gathered one degree at a time.
        c = self.coefficients
        after, value = np.zeros_like(t), c[-1].take(index)
        for k in range(len(c) - 2, -1, -1):
            after, value = (
                value,
                c[k].take(index)
                + ((2 * k + 1) / (k + 1)) * t * value
                - ((k + 1) / (k + 2)) * after,
            )
        return np.where(inside, value, 0.0)

    def derivative(self) -> Piecewise:
        """Return the derivative on each panel."""
        return Piecewise(
            self.breaks, legendre.legder(self.coefficients, axis=0) * (2.0 / np.diff(self.breaks))
        )

    def _locate(self, x: Array) -> tuple[Array, Array, Array]:
        b = self.breaks
        index = np.searchsorted(b, x, side="right") - 1
        inside = (x >= b[0]) & (x <= b[-1])
        np.clip(index, 0, len(b) - 2, out=index)
        width = np.diff(b)
        t = (2.0 / width).take(index) * (np.where(inside, x, b[0]) - b.take(index)) - 1.0
        return index, t, inside

    def cosine(self, r: Array) -> Array:
        r"""Return :math:`\int p(x) \cos(r x) \, dx`.

        Parameters
        ----------
        r : array of any shape
        """
        order = np.argsort(r, axis=None)
        sorted_r = np.ravel(r)[order].astype(float)
        total = np.zeros(len(sorted_r))
        b, c = self.breaks, self.coefficients
        synthesis = legendre.legvander(_gauss_t, len(c) - 1)
        for j in range(len(b) - 1):
            centre, half = 0.5 * (b[j] + b[j + 1]), 0.5 * (b[j + 1] - b[j])
            few = int(np.searchsorted(sorted_r, NODES / half))
            wave = np.cos(np.multiply.outer(sorted_r[:few], centre + half * _gauss_t))
            total[:few] += wave @ (half * _gauss_w * (synthesis @ c[:, j]))
            total[few:] += 2.0 * half * _filon(sorted_r[few:], centre, half, c[:, j])
        result = np.empty_like(total)
        result[order] = total
        return result.reshape(np.shape(r))

    def joined(self, other: Piecewise) -> Piecewise:
        """Return both, the other one beginning where this one ends."""
        return Piecewise(
            np.concatenate([self.breaks, other.breaks[1:]]),
            np.concatenate([self.coefficients, other.coefficients], axis=1),
        )


def _filon(r: Array, centre: float, half: float, c: Array) -> Array:
    """Return half the integral of one panel over its half-width, where it has many waves.

    The recurrence of spherical Bessel functions is stable upwards as long as the degree is below
    the argument.
    """
    kappa = r * half
    before, now = np.cos(kappa) / kappa, np.sin(kappa) / kappa
    parts = [np.zeros_like(kappa), np.zeros_like(kappa)]
    for k, a in enumerate(c):
        parts[k % 2] += (a if k % 4 < 2 else -a) * now
        before, now = now, ((2 * k + 1) / kappa) * now - before
    phase = r * centre
    return np.asarray(np.cos(phase) * parts[0] - np.sin(phase) * parts[1])


def approximate(
    f: Callable[[Array], Array],
    breaks: Array,
    tolerance: float,
    *,
    integral: bool = False,
    crowd: int = CROWD,
) -> tuple[Piecewise, float]:
    r"""Fit polynomials to a function, halving panels until each is good enough.

    A panel is compared with the function at the nodes of its two halves.

    Parameters
    ----------
    f : callable
        Maps an array of points to an array of values; never asked at the ends of a panel.
    breaks : (m + 1,) array
        Panels to begin with: the function should be smooth between them, and must have no feature
        that is much narrower than a tenth of a panel.
    tolerance : float
        Accepted error of a panel.
    integral : bool, default=False
        Measure it as :math:`\int |f - p|` over the panel instead of :math:`\max |f - p|`.
    crowd : int, default=CROWD
        Accept all panels where there are more than this.

    Returns
    -------
    Piecewise
    float
        The error: the sum over all panels, or the largest.

    Examples
    --------
    >>> p, error = approximate(np.sqrt, np.array([0.0, 1.0]), 1e-12, integral=True)
    >>> bool(abs(p.integrals.sum() - 2.0 / 3.0) < 1e-11 and error < 1e-10)
    True
    """
    a, b = np.asarray(breaks[:-1], dtype=float), np.asarray(breaks[1:], dtype=float)
    values = f(0.5 * (a + b) + 0.5 * (b - a) * _t[:, None])
    before = np.full(len(a), np.inf)
    starts, coefficients, errors = [], [], []
    for depth in range(DEPTH + 1):
        c = _analysis @ values
        centre, half = 0.5 * (a + b), 0.5 * (b - a)
        finer = f(centre + half * _halves[:, None])
        misfit, size = np.abs(finer - _predict @ c), np.abs(finer)
        misfit, size = (x.mean(axis=0) if integral else x.max(axis=0) for x in (misfit, size))
        error = misfit * (b - a) if integral else misfit
        good = (error <= tolerance) | (misfit <= ROUNDING * size)
        good |= (half <= 1e-15 * np.abs(centre)) | (depth == DEPTH) | (len(a) > crowd)
        # Halves follow each other at a distance of half their number. Where neither is better
        # than the whole was, and all are good, the rest is noise; at a kink one of them is better.
        same = misfit >= 0.3 * before
        good |= same & np.roll(same, len(a) // 2) & (misfit <= NOISE * size)
        starts.append(a[good])
        coefficients.append(c[:, good])
        errors.append(error[good])
        bad = ~good
        if not bad.any():
            break
        middle = centre[bad]
        a, b = np.concatenate([a[bad], middle]), np.concatenate([middle, b[bad]])
        values = np.concatenate([finer[:NODES, bad], finer[NODES:, bad]], axis=1)
        before = np.tile(misfit[bad], 2)
    left, c = np.concatenate(starts), np.concatenate(coefficients, axis=1)
    order = np.argsort(left)
    every = np.concatenate(errors)
    fitted = Piecewise(np.append(left[order], breaks[-1]), c[:, order])
    return fitted, float(every.sum() if integral else every.max())
