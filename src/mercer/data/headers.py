"""What headers of arrays promise, judged before anything is allocated for the array."""

from __future__ import annotations

import math
from typing import IO, Any, NamedTuple

import numpy as np

from mercer.data.memory import machine_bytes, show
from mercer.data.table import DataError

__all__ = ["MAX_EMPTY_ROWS", "ArrayHeader", "HeaderError", "check_chunks", "read_header"]

READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
MAX_EMPTY_ROWS = 10**7
"""Rows that an array without numbers may have: machines loop over them."""

MAX_PACKED_CHUNK_BYTES = 2**26
"""Bytes that a packed chunk may have whatever its file has: gzip packs zeros a thousand times."""


class HeaderError(ValueError):
    """A header says what no array of NumPy with these bytes can be.

    Examples
    --------
    >>> issubclass(HeaderError, ValueError)
    True
    """


class ArrayHeader(NamedTuple):
    """What an array is, as its header says.

    Parameters
    ----------
    shape : tuple of int
    columns : bool
        Whether columns, not rows, lie one after the other.
    dtype : dtype
    """

    shape: tuple[int, ...]
    columns: bool
    dtype: np.dtype[Any]


def read_header(stream: IO[bytes], size: int) -> ArrayHeader:
    """Return the header of an array, refused if the bytes that follow cannot hold the array.

    A type of no size (``|V0``, ``<U0``) fits any shape into no bytes, and NumPy then allocates the
    shape, or loops over it; objects could only be unpickled.

    Parameters
    ----------
    stream : binary file
        At the beginning of the array; at its first number afterwards.
    size : int
        Bytes of the whole array with its header.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3)))
    >>> begin = file.seek(0)
    >>> read_header(file, len(file.getvalue())).shape
    (2, 3)
    >>> read_header(io.BytesIO(file.getvalue()), len(file.getvalue()) - 1)
    Traceback (most recent call last):
    ...
    mercer.data.headers.HeaderError: its header promises 48 bytes of numbers, and 47 follow
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version not in READERS:
            raise HeaderError(f"its header is of version {version[0]}.{version[1]}")
        shape, columns, dtype = READERS[version](stream)
    except HeaderError:
        raise
    except Exception as error:  # a header may hold anything, so parsing it may raise anything
        words = str(error).splitlines() or [type(error).__name__]
        raise HeaderError(f"its header is damaged, {words[0]}") from error
    if dtype.hasobject:
        raise HeaderError("it holds pickled objects, which are never read")
    if any(type(n) is not int or n < 0 for n in shape):
        raise HeaderError(f"its header says shape {shape}")
    count = math.prod(shape)
    if dtype.itemsize == 0 and count:
        raise HeaderError(f"its type {dtype.str!r} has no size")
    if max(shape, default=0) > MAX_EMPTY_ROWS and not count:
        raise HeaderError(f"its header says shape {shape}, which is empty")
    left = size - stream.tell()
    if count * dtype.itemsize > left:
        wanted = count * dtype.itemsize
        raise HeaderError(f"its header promises {wanted} bytes of numbers, and {left} follow")
    return ArrayHeader(shape, bool(columns), dtype)


def check_chunks(where: str, size: int, stored: int) -> None:
    """Refuse chunks that are far larger in memory than in their file, or than the memory.

    Parameters
    ----------
    where : str
        What the array is called in errors.
    size : int
        Bytes of a chunk in memory.
    stored : int
        Bytes of the file that holds it.

    Examples
    --------
    >>> check_chunks("x.h5::X", 2**30, 2**20)
    Traceback (most recent call last):
    ...
    mercer.data.table.DataError: x.h5::X has chunks of 1.07 GB in a file of 1.05 MB; ...
    """
    if size > machine_bytes():
        raise DataError(f"{where} has chunks of {show(size)}, more than this machine's memory")
    if size > max(MAX_PACKED_CHUNK_BYTES, 2 * stored):
        raise DataError(
            f"{where} has chunks of {show(size)} in a file of {show(stored)}; if these are your "
            "rows, write them in smaller chunks"
        )
