"""K recomputed block by block and never held."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._threads import map_blocks, usable_cores
from mercer._typing import DType, PointsLike
from mercer.gram.base import EVERYTHING, Gram, Index, nonzero_rows, positions
from mercer.gram.lasting import SolverCache
from mercer.kernels.base import Evaluator, Kernel, into
from mercer.kernels.kept_rows import KeptRows
from mercer.kernels.packed_tiles import PackedPoints, has_rows
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_single,
    count,
    dense_double,
    float_dtype,
    row_slices,
    take,
)
from mercer.kernels.roundoff import Roundoff
from mercer.kernels.tiles import TiledEvaluator, Tiles

# Points whose float32 copy takes more than this are read as they are.
SINGLE_BYTES = 2**30
# Largest side of a tile: with more, its values would leave the processor's cache before their use.
MAX_TILE_SIDE = 1024
# Largest number of groups of rows that cores share in a product, and memory for their sums.
MAX_ROW_GROUPS, SUMS_BYTES = 16, 2**27


class Tiled(Gram):
    """A Gram matrix evaluated when it is read, in tiles of bounded size.

    Parameters
    ----------
    kernel : Kernel
        Evaluated on slices of the points.
    X : (n, p) points
        Anything that can be indexed by slices and integers: an array, a memory map, CSR.
    max_bytes : int, default=2**26
        Bound on the memory taken besides `X` and what is returned: tiles and copies of points.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> gram = Tiled(Linear(), np.array([[1.0], [2.0]]))
    >>> gram.rows([1])
    array([[2., 4.]])
    """

    # What solvers of this matrix leave to each other.
    lasting: SolverCache | None = None

    def __init__(self, kernel: Kernel, X: Data, max_bytes: int = 2**26) -> None:
        if kernel.precomputed:
            raise ValueError("A matrix that is given is not evaluated; use the Gram Precomputed.")
        self.kernel = kernel
        self.X = X
        self.max_bytes = int(max_bytes)
        self._keep = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        return count(self.X), count(self.X)

    @property
    def dtype(self) -> DType:
        return float_dtype(self.X)

    def __getstate__(self) -> dict[str, object]:
        kept = ("kernel", "X", "max_bytes", "kernel_error", "_keep")
        return {key: getattr(self, key) for key in kept}

    def single(self) -> Gram:
        return self._single

    @cached_property
    def _single(self) -> Gram:
        """The matrix on a float32 copy of the points, if they are numbers and the copy is small."""
        X = self.X
        if getattr(X, "dtype", None) != np.float64 or 4.0 * count(X) * X.shape[1] > SINGLE_BYTES:
            return self
        single = as_single(X, SINGLE_BYTES, self.kernel.origin(X))
        return Tiled(self.kernel, single, 4 * SINGLE_BYTES)

    def keeping(self, max_bytes: float) -> Gram:
        kept = object.__new__(type(self))
        # All that is prepared is shared, but tiles that another matrix keeps are its own.
        kept.__dict__.update({k: v for k, v in self.__dict__.items() if k != "_kept"})
        kept._keep = max_bytes
        return kept

    @cached_property
    def _kept(self) -> KeptRows | None:
        """Kernel values that are kept between products."""
        if not self._keep:
            return None
        known = self._evaluate
        if isinstance(known, TiledEvaluator) and known.tiles is not None:
            height = known.tiles.height
        else:
            height = self._side(isinstance(known, TiledEvaluator))
        return KeptRows(self.shape[0], self._keep, self.dtype, height)

    def root(self) -> PointsLike:
        return self._root

    @cached_property
    def _root(self) -> PointsLike:
        return self.kernel.root(self.X)

    def restrict(self, index: NDArray[np.intp]) -> Gram:
        part = Tiled(self.kernel, take(self.X, index), self.max_bytes)
        part.kernel_error = self.kernel_error
        return part

    @property
    def _point_bytes(self) -> int:
        """Bytes of one point in memory, on average if the data are sparse."""
        X = self.X
        if hasattr(X, "nnz"):
            return int(12 * X.nnz / max(1, X.shape[0])) + 1
        return int(X.shape[1]) * 8 if getattr(X, "ndim", 0) == 2 else 8

    @property
    def _tile(self) -> int:
        """Side t of a square tile, so that six of them and four copies of 2 t points fit.

        A kernel needs up to five arrays of the size of its result, or smaller ones, on the way to
        it, and products may need it in float64. In bytes, 48 t^2 + 8 t * (bytes of a point).
        """
        budget, points = self.max_bytes / 48.0, self._point_bytes / 12.0
        return max(1, int(np.sqrt(points**2 + budget) - points))

    @cached_property
    def _evaluate(self) -> Evaluator | None:
        """Kernel values against all points, prepared once, if a copy of the points is small."""
        if 4 * self._point_bytes * self.shape[0] > self.max_bytes:
            return None
        return self.kernel.against(self.X)

    def block(self, rows: Index, columns: Index) -> Array:
        n = self.shape[0]
        rows = positions(rows, n)
        if isinstance(columns, slice) and columns == EVERYTHING and self._evaluate is not None:
            return self._evaluate(take(self.X, rows))
        columns = positions(columns, n)
        out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        for part in self._parts(len(columns)):
            evaluate = self.kernel.against(take(self.X, columns[part]))
            for piece in self._parts(len(rows)):
                out[piece, part] = evaluate(take(self.X, rows[piece]))
        return out

    def rows(self, index: Index, out: Array | None = None) -> Array:
        if out is None or self._evaluate is None:
            return super().rows(index, out)
        return into(self._evaluate, take(self.X, positions(index, self.shape[0])), out)

    def add_rows(
        self, F: NDArray[np.float64], index: Index, t: Array, out: Array | None = None
    ) -> None:
        packed = self.packed()
        if packed is not None and (out is None or has_rows(out, packed.columns.dtype)):
            packed.add(F, positions(index, self.shape[0]), t, out)
        elif isinstance(self._evaluate, TiledEvaluator):
            self._evaluate.add(F, take(self.X, positions(index, self.shape[0])), t, out)
        else:
            super().add_rows(F, index, t, out)

    def packed(self) -> PackedPoints | None:
        return self._packed

    @cached_property
    def _packed(self) -> PackedPoints | None:
        """All points for register tiles, prepared once."""
        known = self._evaluate
        if not (isinstance(known, TiledEvaluator) and known.tiles is not None):
            return None
        return known.tiles.packed()

    def _parts(self, n: int) -> Any:
        return row_slices(n, 1, self._tile)

    def dense(self) -> Array:
        return self.kernel.symmetric(self.X)

    def diag(self) -> Array:
        out = np.empty(self.shape[0], dtype=self.dtype)
        for rows in self._parts(len(out)):
            out[rows] = self.kernel.diag(take(self.X, rows))
        return out

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        if self._root is not None:
            return _through(self._root, v)
        support = nonzero_rows(v)
        if 2 * len(support) < len(v):
            out = np.zeros_like(v)
            for part in self._parts(len(support)):
                s = support[part]
                evaluate = self.kernel.against(take(self.X, s))
                for rows in self._parts(len(v)):
                    out[rows] += _double(evaluate(take(self.X, rows))) @ v[s]
            return out
        flat = v.reshape(len(v), -1)
        known = self._evaluate
        if isinstance(known, TiledEvaluator) and known.tiles is not None:
            product = known.tiles.mirrored(self.X, flat, self._groups(flat), self._kept)
            return product.reshape(v.shape)
        return self._mirrored(flat, isinstance(known, TiledEvaluator)).reshape(v.shape)

    def product(self, v: Array, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        v = np.asarray(v, dtype=np.float64)
        if self._root is not None:
            return _through(self._root, v)[rows]
        support = nonzero_rows(v)
        prepare = self._in_double(support)
        if prepare is None:
            return super().product(v, rows)
        Z, weights = dense_double(take(self.X, support)), v[support, None]
        tiles = prepare(Z)
        out = np.empty(len(v))
        inside = np.isin(rows, support)
        others = rows
        if 2 * np.count_nonzero(inside) > len(support):
            # Among themselves half of the kernel values of the support is enough.
            out[support] = tiles.mirrored(Z, weights, self._groups(weights))[:, 0]
            others = rows[~inside]

        def fill(part: slice) -> None:
            X = dense_double(take(self.X, others[part]))
            out[others[part]] = tiles.products(X, weights, [len(support)])[0, :, 0]

        map_blocks(fill, row_slices(len(others), 1, tiles.height))
        return out[rows]

    def _in_double(self, index: NDArray[np.intp]) -> Callable[[Array], Tiles] | None:
        """Return the function that makes float64 tiles of some points, if there may be tiles."""
        X = self.X
        if not len(index) or getattr(X, "dtype", None) != np.float64:
            return None
        evaluate = self.kernel.against(take(X, index[:1]))
        if not isinstance(evaluate, TiledEvaluator) or 8.0 * len(index) * X.shape[1] > SINGLE_BYTES:
            return None
        return evaluate.prepare

    def roundoff(self) -> Roundoff | None:
        known = self._evaluate
        if not (isinstance(known, TiledEvaluator) and known.tiles is not None):
            return None
        return known.tiles.roundoff()

    def _groups(self, v: Array) -> int:
        """Return the number of groups with sums of their own, so that these take little memory."""
        groups = min(self.max_bytes, SUMS_BYTES) // max(1, 2 * v.nbytes)
        return int(np.clip(groups, 1, MAX_ROW_GROUPS))

    def _side(self, threads: bool) -> int:
        """Return the side of a tile so that the tiles of all cores fit where one would."""
        side = int(self._tile / np.sqrt(usable_cores() if threads else 1))
        return max(1, min(MAX_TILE_SIDE, side))

    def _mirrored(self, v: Array, threads: bool) -> Array:
        """Return ``K v``; every tile below the diagonal is used twice, once for its mirror image.

        Cores share groups of row blocks, each with sums of its own that are added in one order.
        """
        cores = usable_cores() if threads else 1
        parts = list(row_slices(len(v), 1, self._side(threads)))
        groups = min(self._groups(v), len(parts)) if cores > 1 else 1

        def group(first: int) -> Array:
            out = np.zeros_like(v)
            for i in range(first, len(parts), groups):
                part = parts[i]
                Z = take(self.X, part)
                evaluate = self.kernel.against(Z)

                def fill(K: Array, i: int = i, Z: Data = Z, evaluate: Evaluator = evaluate) -> None:
                    K[:, parts[i]] = self.kernel(Z)
                    for rows in parts[:i]:
                        K[:, rows] = evaluate(take(self.X, rows)).T

                known = None if self._kept is None else self._kept.rows(part, fill)
                tile = self.kernel(Z) if known is None else known[:, part]
                out[part] += _double(tile) @ v[part]
                for rows in parts[:i]:
                    tile = evaluate(take(self.X, rows)) if known is None else known[:, rows].T
                    tile = _double(tile)
                    out[rows] += tile @ v[part]
                    out[part] += tile.T @ v[rows]
                    del tile
            return out

        sums = map_blocks(group, range(groups)) if cores > 1 else [group(0)]
        return np.asarray(sum(sums[1:], start=sums[0]))


def _double(tile: Array) -> Array:
    return tile.astype(np.float64, copy=False)


def _through(Z: PointsLike, v: Array) -> Array:
    """Return ``Z Z'v`` in float64, from as many rows of a float32 Z at a time as a block has."""
    if Z.dtype == np.float64:
        return np.asarray(Z @ (Z.T @ v))
    w: Any = 0.0
    parts = list(row_slices(Z.shape[0], 8 * Z.shape[1], BLOCK_BYTES))
    for part in parts:
        w = w + Z[part].astype(np.float64).T @ v[part]
    return np.concatenate([Z[part].astype(np.float64) @ w for part in parts])
