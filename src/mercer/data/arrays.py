"""Sources over arrays, over other sources, and over blocks that somebody else yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.base import Block, Places, Source
from mercer.data.table import DataError, Table, stack

__all__ = ["Arrays", "Chain", "Stream", "rechunked"]


class Arrays(Source):
    """A source over arrays that can be sliced by rows: NumPy, memory maps, CSR matrices, tables.

    Arrays of HDF5 and Zarr are read slice by slice, as the blocks are asked for.

    Parameters
    ----------
    X : (n, p) array, sparse matrix or Table
    y : (n,) or (n, d) array, optional
    s : (n,) array, optional
        Weights.
    feature_names : list of str, optional

    Examples
    --------
    >>> [block.n for block in Arrays(np.zeros((5, 2))).blocks(2)]
    [2, 2, 1]
    """

    def __init__(
        self,
        X: PointsLike,
        y: TargetsLike = None,
        s: WeightsLike = None,
        feature_names: list[str] | None = None,
    ) -> None:
        sparse = sp.issparse(X)
        self.X: Any = sp.csr_array(X) if sparse else _sliceable(X)
        fields = None if isinstance(self.X, Table) else self.X.dtype.names
        if fields:
            self.X = Table({name: np.asarray(X[name]) for name in fields})
        if self.X.ndim != 2:
            hint = "; one feature is a column: X.reshape(-1, 1)" if self.X.ndim == 1 else ""
            raise DataError(
                f"a source has rows and columns; got an array of shape {self.X.shape}{hint}"
            )
        if not isinstance(self.X, Table) and self.X.dtype.kind not in "biuf":
            if self.X.dtype.kind not in "OUS":
                raise DataError(f"features are numbers or categories, not {self.X.dtype}")
            names = feature_names or [f"x{j}" for j in range(self.X.shape[1])]
            self.X = Table({n: _guessed(self.X[:, j]) for j, n in enumerate(names)})
        if isinstance(self.X, Table):
            feature_names = list(self.X.columns)
        self.y = None if y is None else _sliceable(y)
        self.s = None if s is None else _sliceable(s)
        self.n_rows, self.n_features = (int(k) for k in self.X.shape)
        self.feature_names = feature_names
        if self.n_features == 0:
            raise DataError("a source has at least one feature; X has no columns")
        for name, other, most in (("y", self.y, 2), ("weights", self.s, 1)):
            if other is not None and not 1 <= other.ndim <= most:
                raise DataError(f"{name} has shape {other.shape}; give one number a row")
            if other is not None and other.shape[0] != self.n_rows:
                raise DataError(f"X has {self.n_rows} rows, {name} has {other.shape[0]}")

    def blocks(self, rows: int) -> Iterator[Block]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, rows):
            part = slice(start, start + rows)
            X = self.X[part]
            if not isinstance(X, np.ndarray | Table) and not sp.issparse(X):
                X = np.asarray(X)
            y = None if self.y is None else np.asarray(self.y[part])
            s = None if self.s is None else np.asarray(self.s[part])
            yield Block(X, y, s, start)


def _sliceable(values: Any) -> Any:
    """Return an object with shape, dtype and slices as it is; any other object as an array."""
    if isinstance(values, np.ndarray | Table):
        return values
    home = type(values).__module__.split(".")[0]
    if home in {"h5py", "zarr", "mercer"} and hasattr(values, "shape"):
        return values
    array = np.asarray(values)
    # Words beside numbers in nested lists: NumPy would make words of the numbers.
    mixed = array.ndim == 2 and array.dtype.kind in "US"
    return np.asarray(values, dtype=object) if mixed else array


def _guessed(values: Any) -> Any:
    """Return a column of objects as numbers if it is nothing else."""
    if values.dtype != object or any(isinstance(item, str) for item in values.tolist()):
        return np.array([None if v != v else v for v in values.tolist()], dtype=object)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"a column holds objects that are neither words nor real numbers: {error}"
        ) from error


def rechunked(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """Yield the same rows in blocks of exactly `rows`, but for the last block.

    So the sums over a source do not depend on how it is divided into files and row groups, not even
    in their rounding.

    Parameters
    ----------
    blocks : iterable of Block
    rows : int
    """
    waiting: list[Block] = []
    held = start = 0

    def joined() -> Block:
        X, y, s, keep = map(stack, zip(*((b.X, b.y, b.s, b.keep) for b in waiting), strict=True))
        return Block(X, y, s, start, keep)

    for block in blocks:
        first = 0
        while first < block.n:
            last = min(block.n, first + rows - held)
            part = slice(first, last)
            y, s, keep = (None if a is None else a[part] for a in (block.y, block.s, block.keep))
            waiting.append(Block(block.X[part], y, s, 0, keep))
            held, first = held + last - first, last
            if held == rows:
                yield joined()
                start, held, waiting = start + rows, 0, []
    if waiting:
        yield joined()


class Chain(Source):
    """The rows of several sources, one after the other.

    Parameters
    ----------
    sources : sequence of Source
        With the same features.
    names : sequence of str, optional
        What the sources are called in errors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_source
    >>> two = Chain([as_source(np.zeros((3, 2))), as_source(np.ones((4, 2)))])
    >>> two.n_rows, [block.n for block in two.blocks(5)]
    (7, [5, 2])
    """

    def __init__(self, sources: Sequence[Source], names: Sequence[str] | None = None) -> None:
        if not sources:
            raise DataError("there is nothing to chain")
        self.sources, self.names = list(sources), names
        first = self.sources[0]
        self.n_features, self.feature_names = first.n_features, first.feature_names
        for k, other in enumerate(self.sources):
            same = (other.n_features, other.feature_names) == (self.n_features, self.feature_names)
            if not same:
                a, b = (names[0], names[k]) if names else ("the first source", f"source {k}")
                raise DataError(
                    f"{b} has other features than {a}: {_features(other)} against "
                    f"{_features(first)}"
                )

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows of all sources; None before they were counted."""
        counts = [source.n_rows for source in self.sources]
        return None if None in counts else sum(counts)  # type: ignore[arg-type]

    @property
    def places(self) -> Places | None:  # type: ignore[override]
        """Where rows are, as far as the lengths of the sources are known."""
        if self.names is None:
            return None
        starts = [0]
        for source in self.sources[:-1]:
            if source.n_rows is None:
                return None
            starts.append(starts[-1] + source.n_rows)
        return Places(tuple(starts), tuple(self.names))

    def blocks(self, rows: int) -> Iterator[Block]:
        return rechunked((b for source in self.sources for b in source.blocks(rows)), rows)


def _features(source: Source) -> str:
    names = source.feature_names
    return str(source.n_features) if names is None else ", ".join(names[:20])


class Stream(Source):
    """Blocks that somebody else yields, as often as they are asked for.

    Parameters
    ----------
    blocks : iterable or callable
        Something that can be iterated again and again, or a function that returns an iterator.
        What comes is X, ``(X, y)`` or ``(X, y, s)``, X in any form that ``as_source`` takes.
    make : callable
        From X, y, s to a source.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_source
    >>> pairs = [(np.full((3, 2), k), np.full(3, k)) for k in range(4)]
    >>> source = as_source(pairs)
    >>> [block.y.tolist() for block in source.blocks(5)]
    [[0, 0, 0, 1, 1], [1, 2, 2, 2, 3], [3, 3]]
    """

    def __init__(
        self, blocks: Iterable[Any] | Callable[[], Iterable[Any]], make: Callable[..., Source]
    ) -> None:
        if not callable(blocks) and iter(blocks) is blocks:
            raise TypeError(
                f"a {type(blocks).__name__} gives its blocks once, but a fit reads them again and "
                "again; pass a list, an object whose __iter__ starts anew, or a function that "
                "returns a new iterator"
            )
        self.given, self.make = blocks, make
        for first in self._sources():
            self.n_features, self.feature_names = first.n_features, first.feature_names
            break
        else:
            raise DataError("there are no blocks")

    def _sources(self) -> Iterator[Source]:
        made = self.given() if callable(self.given) else self.given
        for k, item in enumerate(made):
            parts = item if isinstance(item, tuple) else (item,)
            if not 1 <= len(parts) <= 3:
                raise DataError(f"block {k} has {len(parts)} parts; give X, (X, y) or (X, y, s)")
            try:
                source = self.make(*parts)
            except (TypeError, ValueError) as error:
                raise DataError(f"block {k}: {error}") from error
            yield source

    def blocks(self, rows: int) -> Iterator[Block]:
        def read() -> Iterator[Block]:
            for k, source in enumerate(self._sources()):
                if source.n_features != self.n_features:
                    raise DataError(
                        f"block {k} has {source.n_features} features, the first has "
                        f"{self.n_features}"
                    )
                yield from source.blocks(rows)

        done = 0
        for block in rechunked(read(), rows):
            yield block
            done = block.start + block.n
        if self.n_rows not in (None, done):
            raise DataError(
                f"the blocks had {self.n_rows} rows in one pass and {done} in another; "
                "they must be the same each time"
            )
        self.n_rows = done
