"""Kernel values of dense points of one precision: a matrix product and one pass, tile by tile."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from mercer._native import add_rows, weigh, weigh_both
from mercer._threads import map_blocks
from mercer._typing import DType
from mercer.kernels.kept_rows import KeptRows
from mercer.kernels.packed_tiles import PackedPoints, has_rows, row_memory
from mercer.kernels.points import (
    Array,
    Data,
    as_pair,
    chunks,
    mirror_corner,
    pieces,
)
from mercer.kernels.roundoff import Roundoff
from mercer.kernels.tile_sizes import RUN

TILE = 2**17
"""Entries of a tile: with its copy it takes 1 MB, half of a core's second cache."""


class Scratch(threading.local):
    """A few tiles for each thread: new memory for every call would have to be met page by page."""

    def __init__(self) -> None:
        self.tiles: dict[int, Array] = {}

    def tile(self, number: int, n: int, m: int, dtype: DType) -> Array:
        """Return an ``(n, m)`` matrix that is valid until the next call for the same number."""
        if number not in self.tiles or self.tiles[number].nbytes < n * m * dtype.itemsize:
            self.tiles[number] = np.empty(-(-n * m * dtype.itemsize // 8))
        tile: Array = self.tiles[number].view(dtype)[: n * m].reshape(n, m)
        return tile


scratch = Scratch()


class TileRows(NamedTuple):
    """Some points on the left: as given, in units, half their squared norms, which are far."""

    points: Array
    units: Array
    half: Array
    far: Array
    lowest: Array

    def part(self, start: int, stop: int) -> TileRows:
        """Return the points of a range."""
        far, lowest = self.far, self.lowest
        if len(far):
            few = slice(*np.searchsorted(far, (start, stop)))
            far, lowest = far[few] - start, lowest[few]
        some = slice(start, stop)
        return TileRows(self.points[some], self.units[some], self.half[some], far, lowest)


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

    def packed(self) -> PackedPoints | None:
        """Return the points Z for register tiles; None if there are none of this kernel."""
        return None

    @abstractmethod
    def _rows(self, X: Array) -> Any:
        """Prepare points on the left: :class:`TileRows`, or those of the parts of a kernel."""

    @abstractmethod
    def _tile(self, rows: Any, columns: slice, target: Array, flat: Array) -> None:
        """Write the kernel values of a tile; `flat` is the memory from its first one on."""

    def __call__(self, X: Array, out: Array | None = None) -> Array:
        """Return the matrix of kernel values, in `out` if given."""
        n, m = len(X), self.m
        if out is None:
            out = np.empty((n, m), dtype=self.dtype)
        elif not has_rows(out, self.dtype):
            out[...] = self(X)
            return out
        flat = row_memory(out)
        for part in pieces(0, n, self.height):
            rows = self._rows(X[part])
            for columns in pieces(0, m, self._width(part)):
                first = part.start * (out.strides[0] // out.itemsize) + columns.start
                self._tile(rows, columns, out[part, columns], flat[first:])
        return out

    def strip(self, rows: Any, out: Array) -> None:
        """Write the kernel values of few points, all at once.

        Parameters
        ----------
        rows : Rows
            From :meth:`left`.
        out : (n, m) array
            C-contiguous, and so small that it stays in the cache.
        """
        self._tile(rows, slice(0, self.m), out, out.reshape(-1))

    def left(self, X: Array, origin: Array | None = None) -> Any:
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
        parts = [
            (part, self._rows(X[part]), np.ascontiguousarray(t[..., part]))
            for part in pieces(0, len(X), self.height)
        ]

        def columnwise(columns: slice) -> None:
            for part, rows, weights in parts:
                n, m = part.stop - part.start, columns.stop - columns.start
                if out is None:
                    K = scratch.tile(1, n, m, self.dtype)
                    flat, step = K.reshape(-1), m
                else:
                    K, step = out[part, columns], out.strides[0] // out.itemsize
                    flat = row_memory(out)[part.start * step + columns.start :]
                self._tile(rows, columns, K, flat)
                add_rows(F[..., columns], flat, step * np.arange(n), weights)

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

    def _weigh(self, rows: Any, columns: slice, a: Array, f: Array) -> None:
        """Add the product of a tile with a column of coefficients."""
        weigh(self._fresh(rows, columns), a, f)

    def mirrored(self, X: Array, coef: Array, groups: int, kept: KeptRows | None = None) -> Array:
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
        kept : KeptRows, optional
            Kernel values that are computed by the first product only.

        Returns
        -------
        (m, q) array of float64
        """
        q = coef.shape[1]
        weights = np.ascontiguousarray(coef, dtype=np.float64 if q == 1 else self.dtype)
        parts = list(pieces(0, self.m, self.height))

        def both(K: Array, part: slice, columns: slice, out: Array) -> None:
            if q == 1:
                weigh_both(K, weights[columns, 0], out[part, 0], weights[part, 0], out[columns, 0])
            else:
                out[part] += K @ weights[columns]
                out[columns] += K.T @ weights[part]

        def group(first: int) -> Array:
            out = np.zeros(coef.shape)
            for part in parts[first::groups]:
                width = self._width(part)
                fill = partial(self._fill, X[part])
                known = None if kept is None else kept.rows(part, fill)
                if known is not None and q == 1:
                    both(known, part, slice(0, part.start), out)
                    out[part] += known[:, part.start :] @ weights[part]
                    continue
                rows = self._rows(X[part])
                for columns in pieces(0, part.start, width):
                    K = self._fresh(rows, columns) if known is None else known[:, columns]
                    both(K, part, columns, out)
                for columns in pieces(part.start, part.stop, width):
                    if known is not None:
                        out[part] += known[:, columns] @ weights[columns]
                    elif q == 1:
                        self._weigh(rows, columns, weights[columns, 0], out[part, 0])
                    else:
                        out[part] += self._fresh(rows, columns) @ weights[columns]
            return out

        return np.asarray(sum(map_blocks(group, range(min(groups, len(parts))))))

    def _fill(self, X: Array, out: Array) -> None:
        """Write the kernel values of a block of points on the left and the first points of Z."""
        rows, flat = self._rows(X), row_memory(out)
        for columns in pieces(0, out.shape[1], self._width(slice(0, len(X)))):
            self._tile(rows, columns, out[:, columns], flat[columns.start :])

    def _fresh(self, rows: Any, columns: slice) -> Array:
        """Return the kernel values of a tile, valid until the next one of this thread."""
        K = scratch.tile(1, len(rows.units), columns.stop - columns.start, self.dtype)
        self._tile(rows, columns, K, K.reshape(-1))
        return K

    def _width(self, part: slice) -> int:
        """Return the columns of a tile: whole runs, which are summed apart whatever its width."""
        columns = 4 * TILE // (self.dtype.itemsize * int(part.stop - part.start))
        return max(RUN, columns - columns % RUN)


class DotTiles(Tiles):
    """The function ``X -> k(X, Z)`` of dense points, for a profile of the inner product.

    Parameters
    ----------
    Z : (m, p) array of float32 or float64
    profile : callable
        Turns inner products into kernel values, in place.
    powers : (int, float, float), optional
        Degree, gamma and coef0 of a profile that is a power.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0]], dtype=np.float32)
    >>> DotTiles(X, lambda t: None)(X)
    array([[1., 2.],
           [2., 4.]], dtype=float32)
    """

    def __init__(
        self,
        Z: Array,
        profile: Callable[[Array], None],
        powers: tuple[int, float, float] | None = None,
    ) -> None:
        super().__init__(Z)
        self.profile, self.powers = profile, powers
        self.columns = np.ascontiguousarray(Z.T)

    def packed(self) -> PackedPoints | None:
        if self.powers is None:
            return None
        degree, gamma, coef0 = self.powers
        units = (self.columns * np.sqrt(gamma)).astype(self.dtype, copy=False)
        return PackedPoints(units, np.zeros(self.m, dtype=self.dtype), -degree, coef0)

    def _rows(self, X: Array) -> TileRows:
        return TileRows(X, X, *[X[:0, 0]] * 3)

    def _tile(self, rows: TileRows, columns: slice, target: Array, flat: Array) -> None:
        n, m = target.shape
        D = target if target.flags.c_contiguous else scratch.tile(0, n, m, self.dtype)
        np.matmul(rows.units, self.columns[:, columns], out=D)
        for part in chunks(D):
            self.profile(D[part])
        copy_to(D, target)


class PartTiles(NamedTuple):
    """Tiles of a part of a composed kernel, and what takes its features from points, if not all."""

    tiles: Tiles
    restrict: Callable[[Array], Array] | None = None


class ComposedRows(NamedTuple):
    """Points on the left of a composed kernel, as each of its parts prepares them."""

    units: Array
    parts: list[TileRows | ComposedRows]

    def part(self, start: int, stop: int) -> ComposedRows:
        """Return the points of a range."""
        return ComposedRows(self.units[start:stop], [rows.part(start, stop) for rows in self.parts])


class ComposedTiles(Tiles):
    """The function ``X -> k(X, Z)`` of dense points for a kernel that is composed of others.

    Values of all parts are combined while they are in the processor's cache.

    Parameters
    ----------
    Z : (m, p) array of float32 or float64
    parts : sequence of PartTiles
    combine : ufunc, default=np.multiply
        Of the values of two parts.
    finish : callable, optional
        Changes combined values, in place.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0]])
    >>> linear = PartTiles(DotTiles(X, lambda t: None))
    >>> ComposedTiles(X, [linear, linear])(X)
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    def __init__(
        self,
        Z: Array,
        parts: Sequence[PartTiles],
        combine: np.ufunc = np.multiply,
        finish: Callable[[Array], None] | None = None,
    ) -> None:
        super().__init__(Z)
        self.parts, self.combine, self.finish = parts, combine, finish
        self.height = min(tiles.height for tiles, _ in parts)
        # Parts that are composed themselves have scratch memory of other numbers.
        self.number = 1 + max(getattr(tiles, "number", 1) for tiles, _ in parts)

    def _rows(self, X: Array) -> ComposedRows:
        return ComposedRows(
            X,
            [
                tiles._rows(X if restrict is None else np.ascontiguousarray(restrict(X)))
                for tiles, restrict in self.parts
            ],
        )

    def _tile(self, rows: ComposedRows, columns: slice, target: Array, flat: Array) -> None:
        first, *others = zip(self.parts, rows.parts, strict=True)
        first[0].tiles._tile(first[1], columns, target, flat)
        for (tiles, _), left in others:
            n, m = target.shape
            K = scratch.tile(self.number, n, m, self.dtype)
            tiles._tile(left, columns, K, K.reshape(-1))
            self.combine(target, K, out=target)
        if self.finish is not None:
            self.finish(target)


class TiledEvaluator:
    """The function ``X -> k(X, Z)``, in tiles where all points are dense and float32.

    Parameters
    ----------
    Z : (m, p) points
    tiles : callable
        Prepares dense points Z.
    general : callable
        Maps ``(X, Z)`` of one dtype to the matrix of kernel values.
    double : bool, default=False
        Compute values of float64 points in tiles too, because nothing cancels in them.
    """

    writes = True

    def __init__(
        self,
        Z: Data,
        tiles: Callable[[Array], Tiles],
        general: Callable[[Data, Data], Array],
        double: bool = False,
    ) -> None:
        self.Z = Z
        self.prepare, self.general = tiles, general
        fits = isinstance(Z, np.ndarray) and (double or Z.dtype == np.float32)
        self.double, self.tiled = double, fits and Z.shape[0] > 0

    @cached_property
    def tiles(self) -> Tiles | None:
        """Tiles of the points Z, prepared when they are first asked for; None without."""
        return self.prepare(self.Z) if self.tiled else None

    def __call__(self, X: Data, out: Array | None = None) -> Array:
        """Return the matrix of kernel values, in `out` if given."""
        X, Z = as_pair(X, self.Z)
        if self._fits(X) and self.tiles is not None:
            return self.tiles(X, out)
        K = self.general(X, Z)
        if out is None:
            return K
        out[...] = K
        return out

    def add(self, F: Array, X: Data, t: Array, out: Array | None = None) -> None:
        """Add ``t' k(X, Z)`` to `F`, keeping the kernel values in `out` if it is given."""
        fits = self._fits(X) and (out is None or has_rows(out, X.dtype))
        if fits and self.tiles is not None:
            self.tiles.add(F, X, t, out)
            return
        F += t @ self(X, out)

    def _fits(self, X: Data) -> bool:
        return isinstance(X, np.ndarray) and X.dtype == self.Z.dtype


def check_width(X: Array, p: int) -> None:
    """Refuse points with another number of features, before compiled loops read beyond them.

    Parameters
    ----------
    X : (n, p) array
    p : int
        Features of the points on the other side.
    """
    if X.shape[1] != p:
        raise ValueError(f"points with {X.shape[1]} features are compared with points with {p}.")


def copy_to(D: Array, target: Array) -> None:
    """Copy a tile to its place, unless it was computed there."""
    if D is not target:
        target[...] = D
