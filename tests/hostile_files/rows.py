"""The rows that damaged files held, how they are written, and what comes of reading them."""

import gzip
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import zarr

import mercer.data
from mercer.data import DataError

N = 300
RNG = np.random.default_rng(3)
COLUMNS: dict[str, Any] = {
    "a": RNG.normal(size=N),
    "b": RNG.normal(size=N).astype(np.float32),
    "word": RNG.choice(["red", "green", "blue"], N),
    "y": RNG.normal(size=N),
}
X = np.column_stack([COLUMNS["a"], COLUMNS["b"], COLUMNS["y"]])
TABLE = pa.table(COLUMNS)


class Canary:
    """Something that, unpickled, writes a file."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)

    def __reduce__(self) -> Any:
        return open, (self.file, "w")


def canary(folder: Path) -> bytes:
    """Return a pickle that writes a file `sang` in a folder when it is loaded."""
    return pickle.dumps(Canary(folder / "sang"))


def _csv(path: Path) -> None:
    pyarrow.csv.write_csv(TABLE, path)


def _packed(path: Path) -> None:
    plain = path.with_suffix("")
    _csv(plain)
    path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()


def _stream(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=100)


def _hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, chunks=(64, 3), compression="gzip")


WRITERS: dict[str, Callable[[Path], Any]] = {
    "x.npy": lambda path: np.save(path, X),
    "f.npy": lambda path: np.save(path, np.asfortranarray(X)),
    "x.h5": _hdf5,
    "x.zarr": lambda path: zarr.create_array(path, data=X, chunks=(64, 3)),
    "x.csv": _csv,
    "x.csv.gz": _packed,
    "x.arrow": _stream,
    "x.feather": lambda path: pyarrow.feather.write_feather(TABLE, path, chunksize=100),
    "x.parquet": lambda path: pq.write_table(TABLE, path, row_group_size=100),
    "checked.parquet": lambda path: pq.write_table(
        TABLE, path, row_group_size=100, write_page_checksum=True
    ),
}
"""By the name of the file; all hold the same rows."""


def read(path: Any, **how: Any) -> list[Any]:
    """Open files and return all that a pass gives, as arrays and lists.

    Parameters
    ----------
    path : str or path
    **how
        For :func:`mercer.data.open`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Zarr's, of stores that others would write in other ways
        source = mercer.data.open(path, **how)
        found = []
        for block in source.blocks(77):
            X = block.X
            found.append(
                {name: v.tolist() for name, v in X.columns.items()} if hasattr(X, "columns") else X
            )
    return found


def same(one: Any, other: Any) -> bool:
    """Return whether two passes gave the same bits."""
    try:
        np.testing.assert_equal(one, other)
    except AssertionError:
        return False
    return True


def outcome(path: Path, expected: list[Any] | None = None, **how: Any) -> str:
    """Return what came of a file: "right" or "other" rows, or "refused" with a sentence.

    The sentence names the file. Anything else is an error of this library, and is raised.
    """
    try:
        with limited(20):
            found = read(path, **how)
    except DataError as error:
        if path.name.split(".")[0] not in str(error):
            raise AssertionError(f"the file is not named: {error}") from error
        return "refused"
    return "right" if same(found, expected) else "other"


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Fail if a block of code takes longer, even if it waits for a pipe."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
