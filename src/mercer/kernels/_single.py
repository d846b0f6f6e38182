r"""Kernels of dense points of one precision: a matrix product and one pass, tile by tile.

A tile of the products :math:`d = \langle x, z\rangle` is still in the processor's cache when
:math:`t = d - h_x - h_z = -\tfrac12 |x - z|^2` and the kernel value follow from it, with
:math:`h = \tfrac12 |\cdot|^2` in units of the length scale and around the mean of the points.

Rounding: with :math:`u = 2^{-24}` in float32 the error of t is at most
:math:`c u (\sqrt{h_x} + \sqrt{h_z})^2`. In the worst case c is the number p of features; roundings
have no common sign, though, and :math:`c = 1 + \tfrac12 \sqrt p` is what is met. As
:math:`-t \ge (\sqrt{h_x} - \sqrt{h_z})^2`, a pair with :math:`-t = s` has an error of at most
:math:`c u (2 \sqrt{h_x} + \sqrt s)^2`, whatever :math:`h_z` is, and of the Gaussian
:math:`e^{-s}` times that. Hence a point near the origin, with :math:`4 c u h` below `ERROR`,
is safe against all others, and one that is not, only against those farther away than some s that
grows like the logarithm of h. The few pairs left are computed again from the difference
:math:`x - z`, where nothing cancels.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.spatial.distance import cdist

from mercer._threads import map_blocks
from mercer.kernels._single_numba import (
    LOWEST,
    LOWEST_DOUBLE,
    RUN,
    add_rows,
    exponents,
    in_units,
    powers_of_two,
    raise_two,
    raise_two_double,
    repair,
    weigh,
    weigh_both,
    weigh_powers,
)
from mercer.kernels.points import (
    Array,
    Data,
    as_pair,
    chunks,
    mirror_corner,
)

ERROR = 5e-6
"""Error of a Gaussian kernel value beyond which its pair is computed again."""

DIGITS = 1e-5
"""Relative error of t allowed to kernels with other profiles."""

TILE = 2**17
"""Entries of a tile: with its copy it takes 1 MB, half of a core's second cache."""

UNIT_ROUNDOFF = 2.0**-24


class Precision(NamedTuple):
    """What is to be kept of the digits of a dtype."""

    roundoff: float
    error: float
    """Error of a Gaussian kernel value beyond which its pair is computed again."""

    digits: float
    """Relative error of t allowed to kernels with other profiles."""

    lowest: float
    """Exponent of two below which a power is zero."""

    raise_two: Callable[..., None]
    """What makes powers of the exponents, in place."""


# In float64 there are digits to spare: far fewer points count as far. What is kept of them is what
# predictions of a point promise to agree in, whatever the batch.
PRECISION = {
    np.dtype(np.float32): Precision(UNIT_ROUNDOFF, ERROR, DIGITS, float(LOWEST), raise_two),
    np.dtype(np.float64): Precision(2.0**-53, 1e-12, 1e-12, LOWEST_DOUBLE, raise_two_double),
}
LOG2_E = 1.0 / np.log(2.0)


class Scratch(threading.local):
    """Two tiles for each thread: new memory for every call would have to be met page by page."""

    def __init__(self) -> None:
        self.tiles = [np.empty(0)] * 2

    def tile(self, number: int, n: int, m: int, dtype: np.dtype[Any]) -> Array:
        """Return an ``(n, m)`` matrix that is valid until the next call for the same number."""
        if self.tiles[number].nbytes < n * m * dtype.itemsize:
            self.tiles[number] = np.empty(-(-n * m * dtype.itemsize // 8))
        tile: Array = self.tiles[number].view(dtype)[: n * m].reshape(n, m)
        return tile


_scratch = Scratch()

NOWHERE = np.empty(0, dtype=np.intp)


def rounding(p: int, roundoff: float = UNIT_ROUNDOFF) -> float:
    """Return c u, the error of t in units of ``(sqrt(hx) + sqrt(hz))^2``."""
    return roundoff * (1.0 + 0.5 * float(np.sqrt(p)))


class Rows(NamedTuple):
    """Some points on the left: as given, in units, half their squared norms, which are far."""

    points: Array
    units: Array
    half: Array
    far: Array
    lowest: Array

    def part(self, start: int, stop: int) -> Rows:
        """Return those of them in a range."""
        far, lowest = self.far, self.lowest
        if len(far):
            few = slice(*np.searchsorted(far, (start, stop)))
            far, lowest = far[few] - start, lowest[few]
        some = slice(start, stop)
        return Rows(self.points[some], self.units[some], self.half[some], far, lowest)


class Roundoff(NamedTuple):
    r"""Proved bounds on the error of values that are not negative, and of sums of them.

    .. math:: |\hat k_{ij} - k_{ij}| \le \rho_i w_j \hat k_{ij} + \tau

    for all i and j. Unlike the constants above, which say what is met, these take every rounding
    at its worst: nothing that follows from them depends on luck.

    Parameters
    ----------
    rho : (m,) array
        Infinite where nothing is known.
    weight : (m,) array
    tail : float
    """

    rho: Array
    weight: Array
    tail: float

    def of_sums(self, sizes: Array, total: float) -> Array:
        r"""Bound the error of sums :math:`\sum_j t_j \hat k_{ij}`, also in float32, four at a time.

        Parameters
        ----------
        sizes : (m,) array
            The sums :math:`\sum_j |t_j| w_j \hat k_{ij}`.
        total : float
            The sum of all :math:`|t_j|`.
        """
        if total == 0.0:
            return np.zeros(len(sizes))
        with np.errstate(invalid="ignore"):
            bounds = self.rho * sizes + self.tail * total
        return np.where(np.isnan(bounds), np.inf, bounds)

    def take(self, index: Array) -> Roundoff:
        """Return the bounds of some of the points."""
        return Roundoff(self.rho[index], self.weight[index], self.tail)


class Tiles(ABC):
    """The function ``X -> k(X, Z)`` of dense points, float32 or float64, computed tile by tile.

    Parameters
    ----------
    Z : (m, p) array
        Points on the right; those on the left and kernel values have their dtype.
    """

    def __init__(self, Z: Array) -> None:
        self.m, p = Z.shape
        self.dtype = Z.dtype
        # More features make it dearer to lay the columns of a product out for each block of rows.
        self.height = 512 if p < 128 else 1024

    def roundoff(self) -> Roundoff | None:
        """Return bounds on the errors of values and of sums by :meth:`add`; None if unknown.

        Points on the left must be among those on the right; these may have been rounded from
        float64 just before.
        """
        return None

    @abstractmethod
    def _rows(self, X: Array) -> Rows:
        """Prepare points on the left."""

    @abstractmethod
    def _tile(self, rows: Rows, columns: slice, target: Array, flat: Array) -> None:
        """Write the kernel values of a tile; `flat` is the memory from its first one on."""

    def __call__(self, X: Array, out: Array | None = None) -> Array:
        """Return the matrix of kernel values, in `out` if given."""
        n, m = len(X), self.m
        if out is None:
            out = np.empty((n, m), dtype=self.dtype)
        elif not _has_rows(out, self.dtype):
            out[...] = self(X)
            return out
        flat = _memory(out)
        for part in pieces(0, n, self.height):
            rows = self._rows(X[part])
            for columns in pieces(0, m, self._width(part)):
                first = part.start * (out.strides[0] // out.itemsize) + columns.start
                self._tile(rows, columns, out[part, columns], flat[first:])
        return out

    def strip(self, rows: Rows, out: Array) -> None:
        """Write the kernel values of few points, all at once.

        Parameters
        ----------
        rows : Rows
            From :meth:`left`.
        out : (n, m) array
            C-contiguous, and so small that it stays in the cache.
        """
        self._tile(rows, slice(0, self.m), out, out.reshape(-1))

    def left(self, X: Array, origin: Array | None = None) -> Rows:
        """Prepare points on the left.

        Parameters
        ----------
        X : (n, p) array
            Of any precision.
        origin : (p,) array, optional
            What was subtracted from Z before it was rounded, and must be from X.
        """
        moved = X if origin is None else X - origin
        with np.errstate(over="ignore"):
            return self._rows(moved.astype(self.dtype, copy=False))

    def add(self, F: Array, X: Array, t: Array, out: Array | None = None) -> None:
        r"""Add :math:`t' k(X, Z)` to `F`, keeping the kernel values in `out` if it is given.

        Without it they live in the cache only. Columns are shared between the cores.

        Parameters
        ----------
        F : (m,) or (2, m) array of float64
        X : (n, p) array
        t : (n,) array of float64, or (2, n) for two vectors of sums
        out : (n, m) array, optional
            With contiguous rows.
        """
        parts = [(part, self._rows(X[part])) for part in pieces(0, len(X), self.height)]

        def columnwise(columns: slice) -> None:
            for part, rows in parts:
                n, m = part.stop - part.start, columns.stop - columns.start
                if out is None:
                    K = _scratch.tile(1, n, m, self.dtype)
                    flat, step = K.reshape(-1), m
                else:
                    K, step = out[part, columns], out.strides[0] // out.itemsize
                    flat = _memory(out)[part.start * step + columns.start :]
                self._tile(rows, columns, K, flat)
                add_rows(F[..., columns], flat, step * np.arange(n), t[..., part])

        tallest = slice(0, min(len(X), self.height))
        map_blocks(columnwise, pieces(0, self.m, self._width(tallest)))

    def square(self, X: Array) -> Array:
        """Return the kernel matrix of the points with themselves, half of it computed."""
        n = len(X)
        K = np.empty((n, n), dtype=self.dtype)
        flat = K.reshape(-1)
        for part in pieces(0, n, self.height):
            rows = self._rows(X[part])
            for columns in pieces(0, part.stop, self._width(part)):
                first = part.start * n + columns.start
                self._tile(rows, columns, K[part, columns], flat[first:])
                left = slice(columns.start, min(columns.stop, part.start))
                K[left, part] = K[part, left].T
            mirror_corner(K, part)
        return K

    def products(self, X: Array, coef: Array, ends: Sequence[int]) -> Array:
        r"""Return the products of runs of columns with their coefficients.

        .. math:: P_g = K_g A_g

        The kernel values live in the cache only. A single column of coefficients is multiplied
        and summed in float64; several are multiplied in the precision of a tile, one at a time.

        Parameters
        ----------
        X : (n, p) array
        coef : (m, q) array
            The matrices A, one below the other.
        ends : sequence of int
            Where the columns of each run end.

        Returns
        -------
        (number of runs, n, q) array of float64
        """
        q = coef.shape[1]
        weights = coef.astype(np.float64 if q == 1 else self.dtype)
        result = np.zeros((len(ends), len(X), q))
        for part in pieces(0, len(X), self.height):
            rows = self._rows(X[part])
            start = 0
            for product, end in zip(result, ends, strict=True):
                for columns in pieces(start, end, self._width(part)):
                    if q == 1:
                        self._weigh(rows, columns, weights[columns, 0], product[part, 0])
                    else:
                        product[part] += self._fresh(rows, columns) @ weights[columns]
                start = end
        return result

    def _weigh(self, rows: Rows, columns: slice, a: Array, f: Array) -> None:
        """Add the product of a tile with a column of coefficients."""
        weigh(self._fresh(rows, columns), a, f)

    def mirrored(self, X: Array, coef: Array, groups: int) -> Array:
        r"""Return the product :math:`K A` of the points Z, given as X, with themselves.

        Every tile off the diagonal serves twice, once for its mirror image. Cores share
        groups of row blocks, each with sums of its own that are added in one order: the
        result does not depend on the number of cores.

        Parameters
        ----------
        X : (m, p) array
            The points Z.
        coef : (m, q) array
        groups : int
            Number of groups; each takes (m, q) numbers.

        Returns
        -------
        (m, q) array of float64
        """
        q = coef.shape[1]
        weights = np.ascontiguousarray(coef, dtype=np.float64 if q == 1 else self.dtype)
        parts = list(pieces(0, self.m, self.height))

        def group(first: int) -> Array:
            out = np.zeros(coef.shape)
            for part in parts[first::groups]:
                rows, width = self._rows(X[part]), self._width(part)
                for columns in pieces(0, part.start, width):
                    K = self._fresh(rows, columns)
                    if q == 1:
                        weigh_both(
                            K, weights[columns, 0], out[part, 0], weights[part, 0], out[columns, 0]
                        )
                    else:
                        out[part] += K @ weights[columns]
                        out[columns] += K.T @ weights[part]
                for columns in pieces(part.start, part.stop, width):
                    K = self._fresh(rows, columns)
                    if q == 1:
                        weigh(K, weights[columns, 0], out[part, 0])
                    else:
                        out[part] += K @ weights[columns]
            return out

        return np.asarray(sum(map_blocks(group, range(min(groups, len(parts))))))

    def _fresh(self, rows: Rows, columns: slice) -> Array:
        """Return the kernel values of a tile, valid until the next one of this thread."""
        K = _scratch.tile(1, len(rows.units), columns.stop - columns.start, self.dtype)
        self._tile(rows, columns, K, K.reshape(-1))
        return K

    def _width(self, part: slice) -> int:
        """Return the columns of a tile: whole runs, which are summed apart whatever its width."""
        columns = 4 * TILE // (self.dtype.itemsize * int(part.stop - part.start))
        return max(RUN, columns - columns % RUN)


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
    ) -> None:
        super().__init__(Z)
        m, p = Z.shape
        self.Z = Z
        self.profile = profile
        self.precision = PRECISION[Z.dtype]
        # Powers of two are cheaper than those of e: the Gaussian's t is in units of log 2.
        self.unit = LOG2_E if profile is None else 1.0
        # Not rounded before it multiplies: that would be another kernel, and its error would add up
        # over a sum of kernel values where those of the points cancel.
        scaled = np.asarray(factor * np.sqrt(self.unit), dtype=np.float64)
        self.exact = np.ascontiguousarray(np.broadcast_to(scaled, p))
        self.factor = self.exact.astype(Z.dtype)
        self.rounding = rounding(p, self.precision.roundoff)
        self.limit = self.unit * self.precision.error / (4.0 * self.rounding * slope)
        # Transposed, because that is what a product with few rows reads fastest.
        self.columns = np.empty((p, m), dtype=Z.dtype)
        self.half = np.empty(m, dtype=Z.dtype)
        with np.errstate(invalid="ignore"):
            self._prepare(Z.mean(axis=0, dtype=np.float64))
        far = np.count_nonzero(self.half > self.limit)
        if 8 * far > m:
            # A few points far out may have moved the mean away from all others, but no median.
            mean = self.origin
            self._prepare(np.median(Z[:: -(-m // 256)], axis=0))
            if np.count_nonzero(self.half > self.limit) > far:
                self._prepare(mean)
        self.near = bool((self.half <= self.limit).all())
        self.finite = bool(np.isfinite(self.half).all())
        self.Z = Z if self.near else np.ascontiguousarray(Z)

    def _prepare(self, origin: Array) -> None:
        self.origin = origin.astype(self.dtype)
        p, m = self.columns.shape
        for part in pieces(0, m, max(1, TILE // max(1, p))):
            units, self.half[part] = self._in_units(self.Z[part])
            self.columns[:, part] = units.T

    def _in_units(self, X: Array, origin: Array | None = None) -> tuple[Array, Array]:
        """Return the points in units around the origin, and half their squared norms."""
        units, half = np.empty(X.shape, dtype=self.dtype), np.empty(len(X), dtype=self.dtype)
        origin = self.origin if origin is None else origin
        in_units(np.ascontiguousarray(X), origin, self.exact, units, half)
        return units, half

    def _lowest(self, half: Array) -> Array:
        """Return the t above which pairs of a point far out are computed again."""
        h = half.astype(np.float64) / self.unit
        if self.profile is None:
            # e^-s c u (2 sqrt(h) + sqrt(s))^2 = error by iteration, which contracts.
            s = np.log1p(h)
            for _ in range(4):
                s = np.log(
                    self.rounding / self.precision.error * (2.0 * np.sqrt(h) + np.sqrt(s)) ** 2
                )
                s = np.maximum(s, 0.0)
        else:
            # s is off by digits of itself: s digits = c u (2 sqrt(h) + sqrt(s))^2.
            q = min(np.sqrt(self.rounding / self.precision.digits), 0.9)
            s = (2.0 * q / (1.0 - q)) ** 2 * h
        # The s that is compared is off by its own error.
        s += self.rounding * (2.0 * np.sqrt(h) + np.sqrt(s)) ** 2
        return np.asarray((-self.unit * s).astype(self.dtype))

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
        weight and the sum of four add eight roundings. As in :mod:`mercer.kernels._bounded`,
        :math:`S \le \max(h_x, \bar h) (1 + \sqrt{h_z / \bar h})^2`. Pairs in which E is not small
        although :math:`h_x` is are so far apart that both values are zero.
        """
        p, u = self.Z.shape[1], self.precision.roundoff
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
        return Roundoff(np.where(4.0 * E < 0.02, 1.1 * (E + 8.0 * u), np.inf), weight, 1e-15)

    def left(self, X: Array, origin: Array | None = None) -> Rows:
        if self.near:
            # At once, and rounded once: where all is near, only points in units are read.
            shift = self.origin if origin is None else origin + self.origin
            units, half = self._in_units(X, shift)
            if np.isfinite(half).all():
                return Rows(X, units, half, NOWHERE, half[:0])
        return super().left(X, origin)

    def _rows(self, X: Array) -> Rows:
        units, half = self._in_units(X)
        if self.near:
            return Rows(X, units, half, NOWHERE, half[:0])
        far = np.flatnonzero(half > self.limit)
        return Rows(np.ascontiguousarray(X), units, half, far, self._lowest(half[far]))

    def _weigh(self, rows: Rows, columns: slice, a: Array, f: Array) -> None:
        hx, gaussian = rows.half, self.profile is None and self.dtype == np.float64
        if not gaussian or rows.far.size or not (self.finite and np.isfinite(hx).all()):
            return super()._weigh(rows, columns, a, f)
        # Kernel values are never written: that alone is a fifth of the time.
        D = _scratch.tile(1, len(hx), len(a), self.dtype)
        np.matmul(rows.units, self.columns[:, columns], out=D)
        weigh_powers(D, hx, self.half[columns], a, f)

    def _tile(self, rows: Rows, columns: slice, target: Array, flat: Array) -> None:
        """Write the kernel values of a tile; `flat` is the memory from its first one on."""
        hx, hz = rows.half, self.half[columns]
        n, m = len(hx), len(hz)
        in_place = target.flags.c_contiguous
        D = target if in_place else _scratch.tile(0, n, m, self.dtype)
        far = rows.far
        if self.finite and np.isfinite(hx).all():
            np.matmul(rows.units, self.columns[:, columns], out=D)
        else:
            # Squares beyond its range, or points that are no numbers: exactly, and NaN if they are.
            with np.errstate(over="ignore"):
                P, Q = (A.astype(np.float64) * self.factor for A in (rows.points, self.Z[columns]))
                np.multiply(cdist(P, Q, "sqeuclidean"), -0.5, out=D, casting="same_kind")
            hx, hz, far = np.zeros_like(hx), np.zeros_like(hz), far[:0]
        again = rows.points, self.Z[columns], self.factor, far
        first = self.profile is not None or self.dtype == np.float64
        if far.size and (first or rows.lowest.min() <= self.precision.lowest):
            exponents(D, hx, hz)
            repair(D.reshape(-1), m, m, *again, rows.lowest, False)
            hx, hz, far = np.zeros_like(hx), np.zeros_like(hz), far[:0]
        if self.profile is None:
            step = target.strides[0] // target.itemsize
            if self.dtype == np.float32 and not in_place:
                powers_of_two(D, hx, hz, flat, step)
            else:
                self.precision.raise_two(D, hx, hz)
                _copy(D, target)
            if far.size:
                repair(flat, step, m, *again, np.exp2(rows.lowest), True)
            return
        exponents(D, hx, hz)
        for part in chunks(D):
            D[part] *= -2.0
            self.profile(D[part])
        _copy(D, target)


class DotTiles(Tiles):
    """The function ``X -> k(X, Z)`` of dense points, for a profile of the inner product.

    Parameters
    ----------
    Z : (m, p) array of float32 or float64
    profile : callable
        Turns inner products into kernel values, in place.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0]], dtype=np.float32)
    >>> DotTiles(X, lambda t: None)(X)
    array([[1., 2.],
           [2., 4.]], dtype=float32)
    """

    def __init__(self, Z: Array, profile: Callable[[Array], None]) -> None:
        super().__init__(Z)
        self.profile = profile
        self.columns = np.ascontiguousarray(Z.T)

    def _rows(self, X: Array) -> Rows:
        return Rows(X, X, *[X[:0, 0]] * 3)

    def _tile(self, rows: Rows, columns: slice, target: Array, flat: Array) -> None:
        n, m = target.shape
        D = target if target.flags.c_contiguous else _scratch.tile(0, n, m, self.dtype)
        np.matmul(rows.units, self.columns[:, columns], out=D)
        for part in chunks(D):
            self.profile(D[part])
        _copy(D, target)


class Either:
    """The function ``X -> k(X, Z)``, in tiles where all points are dense and float32.

    Parameters
    ----------
    Z : (m, p) points
    tiles : callable
        Prepares dense points Z.
    general : callable
        Maps ``(X, Z)`` of one dtype to the matrix of kernel values.
    """

    writes = True

    def __init__(
        self, Z: Data, tiles: Callable[[Array], Tiles], general: Callable[[Data, Data], Array]
    ) -> None:
        self.Z = Z
        self.prepare, self.general = tiles, general
        self.tiles = tiles(Z) if _is_single(Z) and Z.shape[0] else None

    def __call__(self, X: Data, out: Array | None = None) -> Array:
        """Return the matrix of kernel values, in `out` if given."""
        X, Z = as_pair(X, self.Z)
        if self.tiles is not None and _is_single(X):
            return self.tiles(X, out)
        K = self.general(X, Z)
        if out is None:
            return K
        out[...] = K
        return out

    def add(self, F: Array, X: Data, t: Array, out: Array | None = None) -> None:
        """Add ``t' k(X, Z)`` to `F`, keeping the kernel values in `out` if it is given."""
        if self.tiles is not None and _is_single(X) and (out is None or _has_rows(out, X.dtype)):
            self.tiles.add(F, X, t, out)
            return
        F += t @ self(X, out)


def _is_single(X: Data) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == np.float32


def _copy(D: Array, target: Array) -> None:
    if D is not target:
        target[...] = D


def pieces(start: int, stop: int, step: int) -> Iterator[slice]:
    """Cut a range into slices of `step` numbers."""
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def _has_rows(out: Array, dtype: np.dtype[Any]) -> bool:
    """Whether rows are contiguous and follow each other, whatever lies between them."""
    (down, across), size = out.strides, dtype.itemsize
    return out.dtype == dtype and across == size and down >= 0 and down % size == 0


def _memory(out: Array) -> Array:
    """Return the memory from the first to the last entry of a matrix with contiguous rows."""
    if not out.size:
        return np.empty(0, dtype=out.dtype)
    size = (out.shape[0] - 1) * (out.strides[0] // out.itemsize) + out.shape[1]
    return as_strided(out, (size,), (out.itemsize,))
