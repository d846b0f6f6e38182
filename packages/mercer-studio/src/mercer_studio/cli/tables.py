"""Files as tables within a limit of memory: which columns are numbers, words and dates."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from mercer._typing import AnyArray
from mercer._words import did_you_mean
from mercer_studio.cli.text import Refusal
from mercer_studio.reading import FrameBatches, read_table

resource: Any
try:
    import resource
except ImportError:  # on Windows
    resource = None


STATUS = Path("/proc/self/status")
# What a command needs beyond the interpreter and its libraries, whatever the data.
MIN_FREE_BYTES = 50e6
# Matrices of rows by rows that a fit holds at the same time.
KERNEL_MATRICES = 6


def _held(*names: str) -> float:
    """Return bytes that this process holds, by the names of the system's lines; 0 elsewhere."""
    if not STATUS.exists():
        return 0.0
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return 1024.0 * sum(float(lines.get(name, "0").split()[0]) for name in names)


@dataclass(frozen=True)
class Memory:
    """A limit of the memory of this process.

    Parameters
    ----------
    limit : float, optional
        Bytes; without it three quarters of the machine are planned with, and nothing is enforced.

    Examples
    --------
    >>> small, large = Memory(20e9), Memory(40e9)
    >>> 10_000 < small.exact_rows < large.exact_rows
    True
    """

    limit: float | None = None

    @cached_property
    def free(self) -> float:
        """Bytes that are left for data and machines."""
        if self.limit is None:
            return 0.75 * float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
        return max(self.limit - self.taken, 0.0)

    @cached_property
    def taken(self) -> float:
        """Bytes that were taken before anything was read."""
        return _held("VmData", "RssFile")

    @property
    def table(self) -> float:
        """Bytes that a table may take: it is held once as it was read, once as numbers."""
        return self.free / 4.0

    @property
    def exact_rows(self) -> int:
        """Rows of which a kernel matrix, and what a fit makes of it, has room."""
        return int(np.sqrt(self.free / 2.0 / (8.0 * KERNEL_MATRICES)))

    @contextlib.contextmanager
    def held_to(self) -> Iterator[None]:
        """Let allocations beyond the limit fail while the command runs, where the system can.

        Linux counts private pages; those of libraries' files, which the limit does not see, are
        taken off.
        """
        if self.limit is not None and self.free < MIN_FREE_BYTES:
            raise Refusal(
                f"--memory-limit {self.limit / 1e6:.0f}MB is too little: Python and its libraries "
                f"take {self.taken / 1e6:.0f} MB before anything is read. Give at least "
                f"{(self.taken + 4 * MIN_FREE_BYTES) / 1e6:.0f}MB."
            )
        if self.limit is None or resource is None:
            yield
            return
        kind = resource.RLIMIT_DATA
        soft, hard = resource.getrlimit(kind)
        wanted = int(self.limit - _held("RssFile"))
        bounds = [bound for bound in (wanted, soft, hard) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(kind, (min(bounds), hard))
        try:
            yield
        finally:
            resource.setrlimit(kind, (soft, hard))


SVMLIGHT = ("svmlight", "svm", "libsvm")
MIN_SPARSE_FEATURES = 2000
"""Features from which on a file of svmlight stays a sparse matrix."""

LINE = re.compile(rb"\s*(#.*)?|[-+\w.,]+(\s+\d+:[-+.\w]+)*\s*(#.*)?\s*")
TARGET = "target"


@dataclass(frozen=True, eq=False)
class Read:
    """A file as it was read.

    Parameters
    ----------
    path : str
        Its name.
    frame : DataFrame, optional
        The columns; None if the matrix is sparse.
    matrix : csr_matrix, optional
        Sparse features.
    target : array, optional
        Targets of a sparse matrix.
    left_out : list of str
        Columns of types that cannot be used.
    notes : tuple of str
        What was guessed of the file.
    """

    path: str
    frame: pd.DataFrame | None
    matrix: Any = None
    target: NDArray[np.float64] | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        held = self.matrix if self.frame is None else self.frame
        return int(held.shape[0]), int(held.shape[1])


def read(
    path: str,
    memory: Memory,
    *,
    format: str | None = None,
    features: int | None = None,
    **text: str | None,
) -> Read:
    """Return a file's rows.

    Parameters
    ----------
    path : str
        A file of text between signs, Parquet, Arrow or svmlight.
    memory : Memory
        What may be taken.
    format : str, optional
        By default what the name ends in.
    features : int, optional
        Number of features of a sparse matrix, if a model knows it.
    **text : str, optional
        Of a text file the ``delimiter``, the ``encoding`` and the sign of a ``comment``.
    """
    kind = _kind(path, format)
    if kind == "svmlight":
        return _svmlight(path, memory, features)
    frame = read_table(path, format=kind, max_bytes=memory.table, **text)
    left_out, notes = (tuple(frame.attrs.pop(key, ())) for key in ("left_out", "notes"))
    return Read(path, frame, left_out=left_out, notes=notes)


def batches(
    path: str,
    memory: Memory,
    columns: Sequence[str] | None = None,
    *,
    format: str | None = None,
    features: int | None = None,
    **text: str | None,
) -> Iterator[Read]:
    """Yield a file's rows some at a time; files of svmlight come whole.

    Parameters
    ----------
    path : str
        A file of text between signs, Parquet, Arrow or svmlight.
    memory : Memory
        What may be taken.
    columns : sequence of str, optional
        Columns to read, which must be there; all by default.
    format, features, **text : optional
        As in :func:`read`.
    """
    kind = _kind(path, format)
    if kind == "svmlight":
        yield _svmlight(path, memory, features)
        return
    file = FrameBatches(path, format=kind, max_bytes=memory.table, **text)
    for name in columns or ():
        column_of(pd.DataFrame(columns=file.names), name, path)
    for frame in file.frames(columns):
        yield Read(path, frame, left_out=tuple(file.left_out))


def _kind(path: str, format: str | None) -> str | None:
    """Return the format of a file that is there, or None where its name tells."""
    if not Path(path).exists():
        near = did_you_mean(Path(path).name, _neighbours(path))
        raise Refusal(f"there is no file {path}.{near}")
    if (format or Path(path).suffix.lower().lstrip(".")) in SVMLIGHT:
        return "svmlight"
    return None if format is None else {"tsv": "csv", "feather": "arrow"}.get(format, format)


def _neighbours(path: str) -> list[str]:
    folder = Path(path).parent
    return os.listdir(folder) if folder.is_dir() else []


def _svmlight(path: str, memory: Memory, features: int | None) -> Read:
    """Return a file of lines ``target index:value ...``, its indices from 1 on."""
    file = Path(path)
    if not file.is_file():
        raise Refusal(f"{path} is not a file.")
    # An entry of four bytes, "1:1 ", is twelve in memory, and twice that while it is read.
    if 8.0 * file.stat().st_size > memory.table:
        raise Refusal(f"{path} needs more than {memory.table / 1e6:.0f} MB; allow more memory.")
    text = file.read_bytes()
    for number, line in enumerate(text.splitlines(), start=1):
        if not LINE.fullmatch(line):
            raise Refusal(
                f"{path}, line {number}, is not of svmlight: 'target index:value index:value'."
            )
    try:
        X, y = load_svmlight_file(io.BytesIO(text), zero_based=False)
    except (ValueError, OverflowError) as error:
        raise Refusal(f"{path} cannot be read as svmlight: {error}.") from error
    if not X.shape[0]:
        raise Refusal(f"{path} has no rows.")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise Refusal(f"{path} holds numbers that are not finite.")
    if features is not None:
        if X.shape[1] > features:
            raise Refusal(f"{path} has features up to {X.shape[1]}, the model up to {features}.")
        X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], features))
    dense = 8.0 * X.shape[0] * X.shape[1]
    if X.shape[1] <= MIN_SPARSE_FEATURES and dense <= memory.table:
        frame = pd.DataFrame(X.toarray(), columns=[str(j + 1) for j in range(X.shape[1])])
        return Read(path, frame.assign(**{TARGET: y}))
    return Read(path, None, X, y)


def writable(output: str, force: bool) -> Path:
    """Return where to write, refused if a file is there that was not given up.

    Parameters
    ----------
    output : str
        The file.
    force : bool
        Whether a file that exists may be overwritten.
    """
    path = Path(output)
    if not path.parent.is_dir():
        raise Refusal(f"there is no folder {path.parent}.")
    if path.is_dir():
        raise Refusal(f"{path} is a folder.")
    if not force and os.path.lexists(path):
        raise Refusal(f"{path} exists; add --force to overwrite it, or write to another file.")
    return path


# Columns ------------------------------------------------------------------------------------------


def column_of(frame: pd.DataFrame, name: str, path: str) -> pd.Series:
    """Return a column, or say which ones there are.

    Parameters
    ----------
    frame : DataFrame
        The columns.
    name : str
        The one to return.
    path : str
        The file, for the sentence.
    """
    if name not in frame.columns:
        known = [str(column) for column in frame.columns]
        listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        near = did_you_mean(name, known)
        raise Refusal(f"{path} has no column {name!r}.{near} It has: {listed}.")
    return frame[name]


def words(column: pd.Series) -> pd.Series:
    """Return a column as words, missing ones as NaN.

    Parameters
    ----------
    column : Series
        Numbers or words; numbers are written without a fraction of zero.

    Examples
    --------
    >>> words(pd.Series([1.0, 2.5, None])).tolist()
    ['1', '2.5', nan]
    """
    if column.dtype.kind in "iufb":
        found = [np.nan if v != v else f"{v:.15g}" for v in column.astype(np.float64)]
    else:
        found = [np.nan if v is None or v != v else str(v) for v in column]
    return pd.Series(np.array(found, dtype=object), index=column.index, dtype=object)


def numbers(column: pd.Series, path: str) -> pd.Series:
    """Return a column as numbers, missing ones as NaN; refuse words and infinity.

    Parameters
    ----------
    column : Series
        The column.
    path : str
        The file, for the sentence.
    """
    if column.dtype.kind not in "iufb":
        found = pd.to_numeric(column, errors="coerce")
        wrong = column[found.isna() & column.notna()]
        if len(wrong):
            raise Refusal(
                f"{path}, column {column.name!r}, holds {str(wrong.iloc[0])[:40]!r} in row "
                f"{wrong.index[0] + 1}, which is not a number."
            )
        column = found
    values = column.astype(np.float64)
    if np.isinf(values).any():
        row = values.index[np.isinf(values)][0] + 1
        raise Refusal(f"{path}, column {column.name!r}, is infinite in row {row}.")
    return values


def labels(column: pd.Series) -> AnyArray:
    """Return classes: whole numbers as such, all else as words.

    Parameters
    ----------
    column : Series
        Without gaps.

    Examples
    --------
    >>> labels(pd.Series([1.0, 2.0])), labels(pd.Series(["a", "b"]))
    (array([1, 2]), array(['a', 'b'], dtype='<U1'))
    """
    if column.dtype.kind in "iuf":
        values = column.to_numpy(dtype=np.float64)
        if np.all(np.abs(values) < 2**53) and np.all(values == np.rint(values)):
            return np.asarray(values, dtype=np.int64)
    return np.array(words(column).tolist(), dtype=str)
