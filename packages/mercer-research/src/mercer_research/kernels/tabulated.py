"""Kernels given by their values at some distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer._params import check_integer
from mercer.kernels.base import Evaluator, Support
from mercer.kernels.points import (
    Array,
    Data,
    as_points,
    squared_norms,
)
from mercer.kernels.stationary import LengthScale, Radial
from mercer_research.kernels.piecewise_polynomial import Piecewise, approximate
from mercer_research.kernels.radial_spectrum import project

NEGATIVE = 1e-10
"""Share of the largest value of a spectrum that may be negative by rounding."""


@dataclass(eq=False)
class Tabulated(Radial):
    r"""A kernel that is interpolated linearly from a table.

    .. math:: k(x, z) = v(|x - z| / l)

    v has the values given at the lags and falls to zero one step after the last of them. On a
    line, and with equally spaced lags, it is positive definite if, and only if, the values are a
    positive definite sequence: its spectrum is that of the sequence times that of a triangle,

    .. math:: P(\omega) = (2\pi)^{-1/2} h \operatorname{sinc}^2(\tfrac12 h \omega)
              \Bigl(v_0 + 2 \sum_{j \ge 1} v_j \cos(j h \omega)\Bigr)

    Parameters
    ----------
    lags : (m,) sequence of float
        Distances, increasing from 0.
    values : (m,) sequence of float
        The kernel at these distances.
    length_scale : float or (p,) array, default=1.0
        The unit l of the lags.
    dim : int, default=1
        How many features points may have. The values of a series are those of a kernel on a
        line; in a plane they need not be positive definite.

    See Also
    --------
    mercer_research.series.realize : Estimates such a table from a series.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 9.4.1.

    Examples
    --------
    >>> kernel = Tabulated([0.0, 1.0, 2.0], [1.0, 0.5, 0.2])
    >>> kernel([[0.0]], [[0.5], [2.0], [2.5], [3.0]])
    array([[0.75, 0.2 , 0.1 , 0.  ]])
    >>> kernel.positive_definite, Tabulated([0.0, 1.0], [1.0, 0.9]).positive_definite
    (True, False)
    """

    lags: Sequence[float] | Array
    values: Sequence[float] | Array
    length_scale: LengthScale = 1.0
    dim: int = 1
    _smooth = False

    def __post_init__(self) -> None:
        super().__post_init__()
        lags, values = np.asarray(self.lags, dtype=float), np.asarray(self.values, dtype=float)
        if lags.ndim != 1 or lags.shape != values.shape or len(lags) < 2:
            raise ValueError(
                f"A table needs two lags or more and as many values, got shapes {lags.shape} and "
                f"{values.shape}."
            )
        if lags[0] != 0.0 or not (np.diff(lags) > 0.0).all():
            raise ValueError("lags must increase from 0.")
        if not np.isfinite(values).all() or not values[0] > 0.0:
            raise ValueError("values must be finite and the first of them positive.")
        check_integer("dim", self.dim, 1)

    @property
    def _table(self) -> tuple[Array, Array]:
        """Lags and values down to zero."""
        lags, values = np.asarray(self.lags, dtype=float), np.asarray(self.values, dtype=float)
        return np.append(lags, 2.0 * lags[-1] - lags[-2]), np.append(values, 0.0)

    @property
    def error(self) -> float:
        r"""Error of interpolation, :math:`h^2 |v''| / 8`, if the table is one of a smooth v."""
        lags, values = self._table
        slopes = np.diff(values) / np.diff(lags)
        bends = np.abs(np.diff(slopes)) / (lags[2:] - lags[:-2]) * 2.0
        widths = np.maximum(np.diff(lags)[1:], np.diff(lags)[:-1])
        return float((bends * widths**2).max() / 8.0)

    @property
    def positive_definite(self) -> bool:
        lags, values = self._table
        steps = np.diff(lags)
        if self.dim == 1 and np.ptp(steps) <= 1e-12 * lags[-1]:
            # Sixteen frequencies for every lag: the series cannot dip far between them.
            power = np.fft.hfft(values, 32 * len(values))
        else:
            top = 4.0 * np.pi / steps.min()
            power = self._line(self.dim).cosine(np.linspace(0.0, top, 32 * len(values)))
        return bool(power.min() >= -NEGATIVE * power.max())

    @property
    def support(self) -> Support:
        return Support(self._scale * self._table[0][-1], 2.0)

    def _line(self, dim: int) -> Piecewise:
        """Return the table, integrated over all but one of the dimensions."""
        lags, values = self._table
        middle, half = 0.5 * (values[1:] + values[:-1]), 0.5 * np.diff(values)
        table = Piecewise(lags, np.array([middle, half]))
        if dim == 1:
            return table
        projected = project(table, lags, dim - 1)
        tolerance = 1e-14 * float(np.abs(projected(lags[:-1])).max()) * lags[-1]
        return approximate(projected, lags, tolerance, integral=True)[0]

    def _unit_spectrum(self, omega: Array) -> Array:
        transform = self._line(omega.shape[1]).cosine(np.sqrt(squared_norms(omega)))
        return np.asarray(np.sqrt(2.0 / np.pi) * transform)

    def _profile(self, s: Array) -> None:
        lags, values = self._table
        s[...] = np.interp(np.sqrt(s, dtype=np.float64), lags, values)

    def _slope(self, s: Array) -> Array:
        lags, values = self._table
        slopes = np.append(np.diff(values) / np.diff(lags), 0.0)
        r = np.sqrt(s, dtype=np.float64)
        here = slopes[np.searchsorted(lags, r, side="right") - 1]
        slope = np.zeros_like(r)
        np.divide(-here, r, out=slope, where=r > 0.0)
        return slope.astype(s.dtype)

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.full(X.shape[0], self._table[1][0], dtype=X.dtype)

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        if Z.shape[1] > self.dim:
            raise ValueError(
                f"The table is one of a kernel in {self.dim} dimensions, but the points have "
                f"{Z.shape[1]} features: choose features with .on([...]), or set "
                f"dim={Z.shape[1]} if it is known to hold there."
            )
        return super().against(Z)
