r"""Kernels of dense points of one precision: a matrix product and one pass, tile by tile.

A tile of the products :math:`d = \langle x, z\rangle` is still in the processor's cache when
:math:`t = d - h_x - h_z = -\tfrac12 |x - z|^2` and the kernel value follow from it, with
:math:`h = \tfrac12 |\cdot|^2` in units of the length scale and around the mean of the points.

Rounding: the error of t is at most :math:`c u (\sqrt{h_x} + \sqrt{h_z})^2` with the c u of
:func:`.roundoff.precision_of`. As :math:`-t \ge (\sqrt{h_x} - \sqrt{h_z})^2`, a pair with
:math:`-t = s` has an error of at most :math:`c u (2 \sqrt{h_x} + \sqrt s)^2`, whatever :math:`h_z`
is, and of the Gaussian :math:`e^{-s}` times that. Hence a point near the origin, with
:math:`4 c u h` below the error allowed, is safe against all others, and one that is not, only
against those farther away than some s that grows like the logarithm of h. The few pairs left are
computed again from the difference :math:`x - z`, where nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.spatial.distance import cdist

from mercer._native import (
    exponents,
    in_units,
    matern,
    matern_square,
    powers_of_two,
    raise_two,
    raise_two_square,
    repair,
    weigh_matern,
    weigh_powers,
)
from mercer._typing import DType
from mercer.kernels.packed_tiles import PackedPoints
from mercer.kernels.points import Array, Data, chunks, pieces
from mercer.kernels.roundoff import Roundoff, precision_of
from mercer.kernels.tile_sizes import LOWEST, LOWEST_DOUBLE
from mercer.kernels.tiles import TILE, TileRows, Tiles, check_width, copy_to, scratch

UNIT_ROUNDOFF = 2.0**-24

# The exponent of two below which a power is zero.
LOWEST_POWER: dict[DType, float] = {
    np.dtype(np.float32): float(LOWEST),
    np.dtype(np.float64): LOWEST_DOUBLE,
}


LOG2_E = 1.0 / np.log(2.0)
ROOT_LOG2_E = math.sqrt(LOG2_E)

# Points up to which a symmetric matrix is written at once, and not in tiles: it takes half of the
# time of one core.
QUICK = 4096


# How many times the errors allowed to values those of register tiles may be, at most points.
PACKED_ERROR_RATIO = 20.0

NOWHERE = np.empty(0, dtype=np.intp)


def are_near(half: Array, p: int, twice: int) -> bool:
    """Return whether no pair of float64 points has to be computed again from its difference.

    Parameters
    ----------
    half : (m,) array
        Half their squared norms in units of the length scale.
    p : int
        Number of features.
    twice : {0, 3, 5}
        Twice the nu of a Matern kernel; 0 for the Gaussian.
    """
    if half.dtype != np.float64 or not len(half):
        return False
    slope = 1.0 if twice == 0 else twice / (twice - 2.0)
    precision = precision_of(half.dtype, p)
    return bool(np.maximum.reduce(half) <= precision.error / (4.0 * slope * precision.rounding))


def quick_square(Z: Data, factor: Array | float, twice: int = 0) -> Array | None:
    """Return the kernel matrix of few dense points in float64, one half and its mirror.

    None where tiles would compute pairs again from their differences: see :class:`RadialTiles`.

    Parameters
    ----------
    Z : (m, p) points
    factor : float or (p,) array
        Reciprocal length scale, one for all features or one for each.
    twice : {0, 3, 5}, default=0
        Twice the nu of a Matern kernel; 0 for the Gaussian.

    Examples
    --------
    >>> quick_square(np.array([[0.0], [1.0]]), 1.0).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    if not isinstance(Z, np.ndarray) or Z.dtype != np.float64 or not 0 < len(Z) <= QUICK:
        return None
    m, p = Z.shape
    units, half, exact = np.empty((m, p)), np.empty(m), np.empty(p)
    exact[:] = factor
    if twice == 0:
        exact *= ROOT_LOG2_E
    in_units(np.ascontiguousarray(Z), np.add.reduce(Z, axis=0) / m, exact, units, half)
    if not are_near(half if twice else half / LOG2_E, p, twice):
        return None
    K = np.empty((m, m))
    # Fortran's upper half, in place, is the lower one of K.
    dsyrk(1.0, units.T, trans=1, c=K.T, overwrite_c=1)
    if twice == 0:
        raise_two_square(K, half)
    else:
        matern_square(K, half, twice)
    return K


class RadialTiles(Tiles):
    r"""The function ``X -> k(X, Z)`` of dense points, for a profile of the squared distance.

    Parameters
    ----------
    Z : (m, p) array of float32 or float64
    factor : float or (p,) array
        Reciprocal length scale, one for all features or one for each.
    profile : callable, optional
        Turns squared distances into kernel values, in place; without it the kernel is Gaussian.
    slope : float, default=1.0
        Minus twice the derivative of the profile at zero, infinite if it is not smooth.
    twice : {3, 5}, optional
        Twice the nu of a Matern kernel, which has compiled passes and register tiles.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]], dtype=np.float32)
    >>> RadialTiles(X, 1.0)(X).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]], dtype=float32)
    """

    def __init__(
        self,
        Z: Array,
        factor: Array | float,
        profile: Callable[[Array], None] | None = None,
        slope: float = 1.0,
        twice: int | None = None,
    ) -> None:
        super().__init__(Z)
        m, p = Z.shape
        self.Z = Z
        self.profile = profile
        self.twice = twice
        self.kernel = 0 if profile is None else twice
        self.precision = precision_of(Z.dtype, p)
        self.lowest_power = LOWEST_POWER[Z.dtype]
        # Powers of two are cheaper than those of e: the Gaussian's t is in units of log 2.
        self.unit = LOG2_E if profile is None else 1.0
        # Not rounded before it multiplies: that would be another kernel, and its error would add up
        # over a sum of kernel values where those of the points cancel.
        scaled = np.asarray(factor * np.sqrt(self.unit), dtype=np.float64)
        self.exact = np.full(p, scaled)
        self.factor = self.exact.astype(Z.dtype)
        self.allowed = self.unit * self.precision.error / (4.0 * slope)
        # Transposed, because that is what a product with few rows reads fastest.
        self.columns = np.empty((p, m), dtype=Z.dtype)
        self.half = np.empty(m, dtype=Z.dtype)
        with np.errstate(invalid="ignore"):
            self._prepare(Z.mean(axis=0, dtype=np.float64))
        if 8 * np.count_nonzero(self.far) > m:
            # A few points far out may have moved the mean away from all others, but no median.
            mean = self.origin
            self._prepare(np.median(Z[:: -(-m // 256)], axis=0))
            if 8 * np.count_nonzero(self.far) > m:
                self._prepare(mean)
        self.near = not self.far.any()
        self.finite = bool(np.isfinite(self.half).all())
        self.Z = Z if self.near else np.ascontiguousarray(Z)

    def _prepare(self, origin: Array) -> None:
        self.origin = origin.astype(self.dtype)
        p, m = self.columns.shape
        self.far = np.empty(m, dtype=bool)
        for part in pieces(0, m, max(1, TILE // max(1, p))):
            units, self.half[part] = self._in_units(self.Z[part])
            self.columns[:, part] = units.T
            self.far[part] = self._far(self.half[part], self._rounding(units, self.half[part]))

    def _in_units(self, X: Array, origin: Array | None = None) -> tuple[Array, Array]:
        """Return the points in units around the origin, and half their squared norms."""
        check_width(X, len(self.exact))
        units, half = np.empty(X.shape, dtype=self.dtype), np.empty(len(X), dtype=self.dtype)
        origin = self.origin if origin is None else origin
        X = np.ascontiguousarray(X, dtype=np.result_type(X, self.dtype))
        in_units(X, np.asarray(origin, dtype=np.float64), self.exact, units, half)
        return units, half

    def _far(self, half: Array, rounding: Array) -> Array:
        """Return whether a point may lose more digits than allowed beside one of its own size."""
        return np.asarray(~(half * rounding <= self.allowed))

    def _rounding(self, units: Array, half: Array) -> Array:
        """Return c u of each point.

        In float32 a column far larger than others takes their squares away: a sum of products adds
        nothing that is below a unit in its last place. All such squares count as lost.
        """
        rounding = np.full(len(half), self.precision.rounding)
        u, p = UNIT_ROUNDOFF, units.shape[1]
        if self.dtype == np.float32 and u * (p + 8.0) > self.precision.rounding:
            rows = np.flatnonzero(self._far(half, np.full(len(half), u * (p + 8.0))))
            with np.errstate(over="ignore", invalid="ignore"):
                squares, norms = np.square(units[rows]), 2.0 * half[rows]
                np.copyto(squares, 0.0, where=squares >= 2.0 * u * norms[:, None])
                lost = squares.sum(axis=1, dtype=np.float64) / norms
            rounding[rows] += np.fmin(lost, u * p)
        return rounding

    def _lowest(self, half: Array, rounding: Array) -> Array:
        """Return the t above which pairs of a point far out are computed again."""
        h = half.astype(np.float64) / self.unit
        _, error, digits = self.precision
        if self.profile is None:
            # e^-s c u (2 sqrt(h) + sqrt(s))^2 = error by iteration, which contracts.
            s = np.log1p(h)
            for _ in range(4):
                s = np.log(rounding / error * (2.0 * np.sqrt(h) + np.sqrt(s)) ** 2)
                s = np.maximum(s, 0.0)
        else:
            # s is off by digits of itself: s digits = c u (2 sqrt(h) + sqrt(s))^2.
            q = np.minimum(np.sqrt(rounding / digits), 0.9)
            s = (2.0 * q / (1.0 - q)) ** 2 * h
        # The s that is compared is off by its own error.
        s += rounding * (2.0 * np.sqrt(h) + np.sqrt(s)) ** 2
        return np.asarray((-self.unit * s).astype(self.dtype))

    def packed(self) -> PackedPoints | None:
        # Pairs are not computed again from their differences there: who sums such values bounds
        # their errors, or puts sums right in float64.
        if self.kernel is None or not self.finite:
            return None
        errors = self.half * self.precision.rounding
        if 8 * np.count_nonzero(errors > PACKED_ERROR_RATIO * self.allowed) > self.m:
            return None
        return PackedPoints(self.columns, self.half, self.kernel)

    def roundoff(self) -> Roundoff | None:
        r"""Bound the errors of a Gaussian, in which every rounding has its worst size.

        With half squared norms :math:`h` and half a squared distance :math:`s` in units of the
        length scale, :math:`S = (\sqrt{h_x} + \sqrt{h_z})^2 \ge s` and the norm :math:`\omega` of
        the origin, s is off by at most u times

        - :math:`\tfrac12 p S` for the product, :math:`2 S + s` for norms and differences,
        - :math:`6 \sqrt{sS} + 2 \omega \sqrt{2s}` for points that were rounded: once from float64,
          once around the origin and once in units, each by u of its norm,
        - where a pair is computed again from its difference, instead by
          :math:`(p + 8) s + \sqrt{2s} (2 |x| + \sqrt{2s})`,

        hence by :math:`E = u (c S + \tfrac32 \omega^2)` with :math:`c = p/2 + 11`, or
        :math:`p + 16`. A value is off by :math:`e^E - 1` of itself, and a power, the product with a
        weight and the sum of twelve add sixteen roundings. As in :mod:`.bounded_products`,
        :math:`S \le \max(h_x, \bar h) (1 + \sqrt{h_z / \bar h})^2`. Pairs in which E is not small
        although :math:`h_x` is are so far apart that both values are zero.
        """
        p, u = self.Z.shape[1], UNIT_ROUNDOFF
        c = 0.5 * p + 11.0 if self.near else p + 16.0
        if self.profile is not None or self.dtype != np.float32 or c * u > 2e-4:
            return None
        h = self.half.astype(np.float64) / self.unit
        omega = float(np.linalg.norm(self.origin.astype(np.float64) * self.exact))
        middle = float(np.mean(h[np.isfinite(h)])) or 1.0
        with np.errstate(over="ignore"):
            weight = (1.0 + np.sqrt(h / middle)) ** 2
        E = u * (c * np.maximum(h, middle) + 1.5 * omega**2 / self.unit)
        # Some per cent for products of roundings, which are of the second order in E.
        return Roundoff(np.where(4.0 * E < 0.02, 1.1 * (E + 16.0 * u), np.inf), weight, 1e-15)

    def left(self, X: Array, origin: Array | None = None) -> TileRows:
        if self.near:
            # At once, and rounded once: where all is near, only points in units are read.
            shift = self.origin if origin is None else origin + self.origin
            units, half = self._in_units(X, shift)
            if np.isfinite(half).all():
                return TileRows(X, units, half, NOWHERE, half[:0])
        rows: TileRows = super().left(X, origin)
        return rows

    def _rows(self, X: Array) -> TileRows:
        units, half = self._in_units(X)
        if self.near:
            return TileRows(X, units, half, NOWHERE, half[:0])
        rounding = self._rounding(units, half)
        far = np.flatnonzero(self._far(half, rounding))
        lowest = self._lowest(half[far], rounding[far])
        return TileRows(np.ascontiguousarray(X), units, half, far, lowest)

    def _weigh(self, rows: TileRows, columns: slice, a: Array, f: Array) -> None:
        gaussian, double = self.profile is None, self.dtype == np.float64
        finite = self.finite and np.isfinite(rows.half).all()
        if not (double and finite and (gaussian or self.twice)):
            return super()._weigh(rows, columns, a, f)
        # Kernel values are never written: that alone is a fifth of the time.
        D = scratch.tile(1, len(rows.half), len(a), self.dtype)
        hx, hz = self._products(rows, columns, D)
        if rows.far.size:
            hx, hz = self._repaired(rows, columns, D, hx, hz)
        if gaussian:
            weigh_powers(D, hx, hz, a, f)
        else:
            weigh_matern(D, hx, hz, a, f, int(self.twice or 0))

    def _products(self, rows: TileRows, columns: slice, D: Array) -> tuple[Array, Array]:
        """Write products of points in units; return the norms that make them squared distances."""
        hx, hz = rows.half, self.half[columns]
        if self.finite and np.isfinite(hx).all():
            np.matmul(rows.units, self.columns[:, columns], out=D)
            return hx, hz
        # Squares beyond its range, or points that are no numbers: exactly, and NaN if they are.
        with np.errstate(over="ignore"):
            P, Q = (A.astype(np.float64) * self.factor for A in (rows.points, self.Z[columns]))
            np.multiply(cdist(P, Q, "sqeuclidean"), -0.5, out=D, casting="same_kind")
        return np.zeros_like(hx), np.zeros_like(hz)

    def _repaired(
        self, rows: TileRows, columns: slice, D: Array, hx: Array, hz: Array
    ) -> tuple[Array, Array]:
        """Write exponents, those of near pairs of points far out from their differences."""
        exponents(D, hx, hz)
        m = D.shape[1]
        again = rows.points, self.Z[columns], self.factor, rows.far, rows.lowest
        repair(D.reshape(-1), m, m, *again, False)
        return np.zeros_like(hx), np.zeros_like(hz)

    def _tile(self, rows: TileRows, columns: slice, target: Array, flat: Array) -> None:
        """Write the kernel values of a tile; `flat` is the memory from its first one on."""
        n, m = target.shape
        in_place = target.flags.c_contiguous
        D = target if in_place else scratch.tile(0, n, m, self.dtype)
        hx, hz = self._products(rows, columns, D)
        # Products that are exact have no norms to subtract, and nothing to repair.
        far = rows.far.size > 0 and hx is rows.half
        first = self.profile is not None or self.dtype == np.float64
        if far and (first or rows.lowest.min() <= self.lowest_power):
            hx, hz = self._repaired(rows, columns, D, hx, hz)
            far = False
        if self.profile is None:
            step = target.strides[0] // target.itemsize
            if self.dtype == np.float32 and not in_place:
                powers_of_two(D, hx, hz, flat, step)
            else:
                raise_two(D, hx, hz)
                copy_to(D, target)
            if far:
                again = rows.points, self.Z[columns], self.factor, rows.far
                repair(flat, step, m, *again, np.exp2(rows.lowest), True)
            return
        if self.twice:
            matern(D, hx, hz, self.twice)
        else:
            exponents(D, hx, hz)
            for part in chunks(D):
                D[part] *= -2.0
                self.profile(D[part])
        copy_to(D, target)
