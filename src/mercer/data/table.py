"""Tables: columns by name, for rows with features that are not numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mercer._typing import AnyArray

__all__ = ["DataError", "Table", "blamed", "common_type", "factorized", "hashes", "stack"]


class DataError(ValueError):
    """An error in the data, with its place: file, row, column."""


@contextmanager
def blamed(
    where: str,
    hint: str = "",
    advice: str = "",
    errors: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> Iterator[None]:
    """Turn an error of a reader into a sentence that names the file.

    Parameters
    ----------
    where, hint, advice : str
        The file, as what it was read, and what to do.
    errors : type or tuple of types
        Of the reader. By default all, since many libraries say many things of damaged files; their
        types are named then.

    Examples
    --------
    >>> with blamed("x.h5", " as an HDF5 file"):
    ...     raise RuntimeError("wrong superblock")
    Traceback (most recent call last):
    mercer.data.table.DataError: x.h5 cannot be read as an HDF5 file: RuntimeError: wrong superblock
    """
    try:
        yield
    except DataError:
        raise
    except errors as error:
        name = f"{type(error).__name__}: " if errors is Exception else ""
        words = f"{name}{' '.join(str(error).split())}"
        raise DataError(f"{where} cannot be read{hint}: {words[:300]}{advice}") from error


class Table:
    """Rows whose columns have names and types of their own.

    A column is an array of numbers, in which NaN is missing, of dates, in which NaT is, or of
    objects, in which None is. It stands where an array (n, p) would, until an encoder has made
    numbers of everything.

    Parameters
    ----------
    columns : mapping from str to (n,) array
    categories : collection of str
        Columns of words that are categories whatever the words look like.
    orders : mapping from str to list
        Labels in order, of those categories whose labels have one.

    Examples
    --------
    >>> table = Table({"x": np.array([1.0, 2.0]), "colour": np.array(["red", None], dtype=object)})
    >>> table.shape, table.text, table[1:].columns["colour"].tolist()
    ((2, 2), ['colour'], [None])
    """

    def __init__(
        self,
        columns: Mapping[str, ArrayLike],
        categories: Collection[str] = (),
        orders: Mapping[str, list[Any]] | None = None,
    ) -> None:
        if not columns:
            raise DataError("a table has at least one column")
        self.columns = {str(name): _column(values) for name, values in columns.items()}
        self.categories = frozenset(categories)
        self.orders = dict(orders or {})
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"columns of a table have one length; these have {lengths}")

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(next(iter(self.columns.values()))), len(self.columns)

    ndim = 2

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | AnyArray) -> Table:
        cut = {name: values[rows] for name, values in self.columns.items()}
        return Table(cut, self.categories, self.orders)

    @property
    def text(self) -> list[str]:
        """Names of the columns that are not numbers."""
        return [name for name, values in self.columns.items() if values.dtype.kind in "OM"]

    def numbers(self) -> AnyArray:
        """Return the table as an array (n, p) of floating-point numbers."""
        if self.text:
            raise DataError(
                f"not numbers: {', '.join(map(repr, self.text))}; turn them into numbers with "
                "mercer.preprocessing.Encoder, or leave them out"
            )
        values = list(self.columns.values())
        kind = common_type([column.dtype for column in values])
        return np.stack([column.astype(kind, copy=False) for column in values], axis=1)


def _column(values: ArrayLike) -> AnyArray:
    array = np.asarray(values)
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.ndim != 1 or array.dtype.kind not in "biufMO":
        raise DataError(
            f"a column of a table is one-dimensional, of numbers, dates or objects; got shape "
            f"{array.shape} of {array.dtype}"
        )
    return array


def common_type(types: Sequence[DTypeLike]) -> np.dtype[Any]:
    """Return the floating-point type that holds columns of these types: single if it can.

    Parameters
    ----------
    types : sequence of dtypes

    Examples
    --------
    >>> common_type([np.dtype("float32"), np.dtype("uint8")]), common_type([np.dtype("int64")])
    (dtype('float32'), dtype('float64'))
    """
    return np.dtype(min(np.result_type(np.float32, *types), np.dtype(np.float64)))


def factorized(values: AnyArray) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different values of a column and, for each row, the number of its value.

    Missing values are one value: None among objects, NaN among numbers.

    Parameters
    ----------
    values : (n,) array

    Examples
    --------
    >>> keys, codes = factorized(np.array(["b", None, "b", float("nan")], dtype=object))
    >>> keys, codes.tolist()
    (['b', None], [0, 1, 0, 1])
    """
    if values.dtype != object:
        different, codes = np.unique(values, return_inverse=True)
        return different.tolist(), codes.astype(np.intp, copy=False)
    items = values.tolist()
    keys: dict[Any, int] = {}
    # NaN is a different key in every object that holds it; all of them are one value.
    index = {
        item: keys.setdefault(None if item != item else item, len(keys))
        for item in dict.fromkeys(items)
    }
    return list(keys), np.fromiter(map(index.__getitem__, items), np.intp, len(items))


def hashes(values: AnyArray) -> NDArray[np.uint64]:
    """Return a number for every row that depends on its value only, in any process.

    Parameters
    ----------
    values : (n,) array of objects

    Examples
    --------
    >>> h = hashes(np.array(["a", "b", "a"], dtype=object))
    >>> bool(h[0] == h[2]), bool(h[0] == h[1])
    (True, False)
    """
    keys, codes = factorized(values)
    digests = b"".join(blake2b(repr(key).encode(), digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)[codes]


def stack(parts: Sequence[Any]) -> Any:
    """Return blocks of rows as one: arrays, CSR matrices, or tables; None if they are None.

    Parameters
    ----------
    parts : sequence

    Examples
    --------
    >>> stack([np.zeros((1, 2)), np.ones((1, 2))]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    first = parts[0]
    if len(parts) == 1 or first is None:
        return first
    if isinstance(first, Table):
        joined = {name: stack([part.columns[name] for part in parts]) for name in first.columns}
        return Table(joined, first.categories, first.orders)
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(first) else np.concatenate(parts)
