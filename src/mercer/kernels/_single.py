r"""Radial kernels of dense float32 points: a matrix product and one pass, tile by tile.

A tile of the products :math:`d = \langle x, z\rangle` is still in the processor's cache when
:math:`t = d - h_x - h_z = -\tfrac12 |x - z|^2` and the kernel value follow from it, with
:math:`h = \tfrac12 |\cdot|^2` in units of the length scale and around the mean of the points.

Rounding: with :math:`u = 2^{-24}` the error of t is at most
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
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.spatial.distance import cdist

from mercer._threads import map_blocks
from mercer.kernels._pairwise import Array, Data, as_pair, chunks, mirror_corner
from mercer.kernels._single_numba import (
    LOWEST,
    add_rows,
    exponents,
    in_units,
    powers_of_two,
    repair,
    weigh,
    weigh_both,
)

ERROR = 5e-6
"""Error of a Gaussian kernel value beyond which its pair is computed again."""

DIGITS = 1e-5
"""Relative error of t allowed to kernels with other profiles."""

TILE = 2**17
"""Entries of a tile: with its copy it takes 1 MB, half of a core's second cache."""

UNIT_ROUNDOFF = 2.0**-24
LOG2_E = 1.0 / np.log(2.0)


class Scratch(threading.local):
    """Two tiles for each thread: new memory for every call would have to be met page by page."""

    def __init__(self) -> None:
        self.tiles = [np.empty(0, dtype=np.float32)] * 2

    def tile(self, number: int, n: int, m: int) -> Array:
        """Return an ``(n, m)`` matrix that is valid until the next call for the same number."""
        if self.tiles[number].size < n * m:
            self.tiles[number] = np.empty(n * m, dtype=np.float32)
        return self.tiles[number][: n * m].reshape(n, m)


_scratch = Scratch()


def rounding(p: int) -> float:
    """Return c u, the error of t in units of ``(sqrt(hx) + sqrt(hz))^2``."""
    return UNIT_ROUNDOFF * (1.0 + 0.5 * float(np.sqrt(p)))


class Rows(NamedTuple):
    """Some points on the left: as given, in units, half their squared norms, which are far."""

    points: Array
    units: Array
    half: Array
    far: Array
    lowest: Array


class Tiles(ABC):
    """The function ``X -> k(X, Z)`` of dense float32 points, computed tile by tile.

    Parameters
    ----------
    m, p : int
        Number of points on the right and of features.
    """

    def __init__(self, m: int, p: int) -> None:
        self.m = m
        # More features make it dearer to lay the columns of a product out for each block of rows.
        self.height = 512 if p < 128 else 1024

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
            out = np.empty((n, m), dtype=np.float32)
        elif not _has_rows(out):
            out[...] = self(X)
            return out
        flat = _memory(out)
        for part in pieces(0, n, self.height):
            rows = self._rows(X[part])
            for columns in pieces(0, m, self._width(part)):
                first = part.start * (out.strides[0] // out.itemsize) + columns.start
                self._tile(rows, columns, out[part, columns], flat[first:])
        return out

    def add(self, F: Array, X: Array, t: Array, out: Array | None = None) -> None:
        r"""Add :math:`t' k(X, Z)` to `F`, keeping the kernel values in `out` if it is given.

        Without it they live in the cache only. Columns are shared between the cores.

        Parameters
        ----------
        F : (m,) array of float64
        X : (n, p) array of float32
        t : (n,) array of float64
        out : (n, m) array of float32, optional
            With contiguous rows.
        """
        parts = [(part, self._rows(X[part])) for part in pieces(0, len(X), self.height)]

        def columnwise(columns: slice) -> None:
            for part, rows in parts:
                n, m = part.stop - part.start, columns.stop - columns.start
                if out is None:
                    K = _scratch.tile(1, n, m)
                    flat, step = K.reshape(-1), m
                else:
                    K, step = out[part, columns], out.strides[0] // out.itemsize
                    flat = _memory(out)[part.start * step + columns.start :]
                self._tile(rows, columns, K, flat)
                add_rows(F[columns], flat, step * np.arange(n), t[part])

        tallest = slice(0, min(len(X), self.height))
        map_blocks(columnwise, pieces(0, self.m, self._width(tallest)))

    def square(self, X: Array) -> Array:
        """Return the kernel matrix of the points with themselves, half of it computed."""
        n = len(X)
        K = np.empty((n, n), dtype=np.float32)
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
        and summed in float64; several are multiplied in float32, a tile at a time.

        Parameters
        ----------
        X : (n, p) array of float32
        coef : (m, q) array
            The matrices A, one below the other.
        ends : sequence of int
            Where the columns of each run end.

        Returns
        -------
        (number of runs, n, q) array of float64
        """
        q = coef.shape[1]
        weights = coef.astype(np.float64 if q == 1 else np.float32)
        result = np.zeros((len(ends), len(X), q))
        for part in pieces(0, len(X), self.height):
            rows = self._rows(X[part])
            start = 0
            for product, end in zip(result, ends, strict=True):
                for columns in pieces(start, end, self._width(part)):
                    K = self._fresh(rows, columns)
                    if q == 1:
                        weigh(K, weights[columns, 0], product[part, 0])
                    else:
                        product[part] += K @ weights[columns]
                start = end
        return result

    def mirrored(self, X: Array, coef: Array, groups: int) -> Array:
        r"""Return the product :math:`K A` of the points Z, given as X, with themselves.

        Every tile off the diagonal serves twice, once for its mirror image. Cores share
        groups of row blocks, each with sums of its own that are added in one order: the
        result does not depend on the number of cores.

        Parameters
        ----------
        X : (m, p) array of float32
            The points Z.
        coef : (m, q) array
        groups : int
            Number of groups; each takes (m, q) numbers.

        Returns
        -------
        (m, q) array of float64
        """
        q = coef.shape[1]
        weights = np.ascontiguousarray(coef, dtype=np.float64 if q == 1 else np.float32)
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
        K = _scratch.tile(1, len(rows.units), columns.stop - columns.start)
        self._tile(rows, columns, K, K.reshape(-1))
        return K

    def _width(self, part: slice) -> int:
        return max(256, TILE // int(part.stop - part.start))


class RadialTiles(Tiles):
    r"""The function ``X -> k(X, Z)`` of float32 points, for a profile of the squared distance.

    Parameters
    ----------
    Z : (m, p) array of float32
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
        super().__init__(*Z.shape)
        m, p = Z.shape
        self.Z = Z
        self.profile = profile
        # Powers of two are cheaper than those of e: the Gaussian's t is in units of log 2.
        self.unit = LOG2_E if profile is None else 1.0
        # Not rounded before it multiplies: that would be another kernel, and its error would add up
        # over a sum of kernel values where those of the points cancel.
        scaled = np.asarray(factor * np.sqrt(self.unit), dtype=np.float64)
        self.exact = np.ascontiguousarray(np.broadcast_to(scaled, p))
        self.factor = self.exact.astype(np.float32)
        self.rounding = rounding(p)
        self.limit = self.unit * ERROR / (4.0 * self.rounding * slope)
        # Transposed, because that is what a product with few rows reads fastest.
        self.columns = np.empty((p, m), dtype=np.float32)
        self.half = np.empty(m, dtype=np.float32)
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
        self.origin = origin.astype(np.float32)
        p, m = self.columns.shape
        for part in pieces(0, m, max(1, TILE // max(1, p))):
            units, self.half[part] = self._in_units(self.Z[part])
            self.columns[:, part] = units.T

    def _in_units(self, X: Array) -> tuple[Array, Array]:
        """Return the points in units around the origin, and half their squared norms."""
        units, half = np.empty(X.shape, dtype=np.float32), np.empty(len(X), dtype=np.float32)
        in_units(np.ascontiguousarray(X), self.origin, self.exact, units, half)
        return units, half

    def _lowest(self, half: Array) -> Array:
        """Return the t above which pairs of a point far out are computed again."""
        h = half.astype(np.float64) / self.unit
        if self.profile is None:
            # e^-s c u (2 sqrt(h) + sqrt(s))^2 = ERROR by iteration, which contracts.
            s = np.log1p(h)
            for _ in range(4):
                s = np.log(self.rounding / ERROR * (2.0 * np.sqrt(h) + np.sqrt(s)) ** 2)
                s = np.maximum(s, 0.0)
        else:
            # s is off by DIGITS of itself: s DIGITS = c u (2 sqrt(h) + sqrt(s))^2.
            q = min(np.sqrt(self.rounding / DIGITS), 0.9)
            s = (2.0 * q / (1.0 - q)) ** 2 * h
        # The s that is compared is off by its own error.
        s += self.rounding * (2.0 * np.sqrt(h) + np.sqrt(s)) ** 2
        return np.asarray((-self.unit * s).astype(np.float32))

    def _rows(self, X: Array) -> Rows:
        units, half = self._in_units(X)
        far = np.flatnonzero([] if self.near else half > self.limit)
        return Rows(np.ascontiguousarray(X), units, half, far, self._lowest(half[far]))

    def _tile(self, rows: Rows, columns: slice, target: Array, flat: Array) -> None:
        """Write the kernel values of a tile; `flat` is the memory from its first one on."""
        hx, hz = rows.half, self.half[columns]
        n, m = len(hx), len(hz)
        D = _scratch.tile(0, n, m)
        far = rows.far
        if self.finite and np.isfinite(hx).all():
            np.matmul(rows.units, self.columns[:, columns], out=D)
        else:
            # Squares beyond float32, or points that are not numbers: exactly, and NaN if they are.
            P, Q = (A.astype(np.float64) * self.factor for A in (rows.points, self.Z[columns]))
            with np.errstate(over="ignore"):
                np.multiply(cdist(P, Q, "sqeuclidean"), -0.5, out=D, casting="same_kind")
            hx, hz, far = np.zeros_like(hx), np.zeros_like(hz), far[:0]
        again = rows.points, self.Z[columns], self.factor, far
        if far.size and (self.profile is not None or rows.lowest.min() <= LOWEST):
            exponents(D, hx, hz)
            repair(D.reshape(-1), m, m, *again, rows.lowest, False)
            hx, hz, far = np.zeros_like(hx), np.zeros_like(hz), far[:0]
        if self.profile is None:
            step = target.strides[0] // target.itemsize
            powers_of_two(D, hx, hz, flat, step)
            if far.size:
                repair(flat, step, m, *again, np.exp2(rows.lowest), True)
            return
        exponents(D, hx, hz)
        D *= -2.0
        for part in chunks(D):
            self.profile(D[part])
        target[...] = D


class DotTiles(Tiles):
    """The function ``X -> k(X, Z)`` of float32 points, for a profile of the inner product.

    Parameters
    ----------
    Z : (m, p) array of float32
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
        super().__init__(*Z.shape)
        self.profile = profile
        self.columns = np.ascontiguousarray(Z.T)

    def _rows(self, X: Array) -> Rows:
        return Rows(X, X, *[X[:0, 0]] * 3)

    def _tile(self, rows: Rows, columns: slice, target: Array, flat: Array) -> None:
        D = _scratch.tile(0, *target.shape)
        np.matmul(rows.units, self.columns[:, columns], out=D)
        self.profile(D)
        target[...] = D


class Either:
    """The function ``X -> k(X, Z)``, in tiles where all points are dense and float32.

    Parameters
    ----------
    Z : (m, p) points
    tiles : callable
        Prepares dense float32 points Z.
    general : callable
        Maps ``(X, Z)`` of one dtype to the matrix of kernel values.
    """

    writes = True

    def __init__(
        self, Z: Data, tiles: Callable[[Array], Tiles], general: Callable[[Data, Data], Array]
    ) -> None:
        self.Z = Z
        self.general = general
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
        if self.tiles is not None and _is_single(X) and (out is None or _has_rows(out)):
            self.tiles.add(F, X, t, out)
            return
        F += t @ self(X, out)


def _is_single(X: Data) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == np.float32


def pieces(start: int, stop: int, step: int) -> Iterator[slice]:
    """Cut a range into slices of `step` numbers."""
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def _has_rows(out: Array) -> bool:
    """Whether rows are contiguous and follow each other, whatever lies between them."""
    down, across = out.strides
    return out.dtype == np.float32 and across == 4 and down >= 0 and down % 4 == 0


def _memory(out: Array) -> Array:
    """Return the memory from the first to the last entry of a matrix with contiguous rows."""
    if not out.size:
        return np.empty(0, dtype=out.dtype)
    size = (out.shape[0] - 1) * (out.strides[0] // out.itemsize) + out.shape[1]
    return as_strided(out, (size,), (out.itemsize,))
