"""Predictions from file to file, in memory that does not depend on the number of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._progress import Bar
from mercer._typing import AnyArray, PointsLike, Predictor
from mercer.data.arrays import rechunked
from mercer.data.base import Block, Source
from mercer.data.columns import pandas_frame
from mercer.data.opening import as_source
from mercer.data.statistics import column_of
from mercer.data.table import DataError, Table
from mercer.data.writing import ColumnWriter, Npy, parts, same_start

__all__ = ["predict"]

FILES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".arrow": "arrow",
         ".feather": "arrow", ".npy": "npy"}  # fmt: skip
TITLES = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "decision",
    "transform": "x",
}


def predict(
    machine: Predictor,
    source: Any,
    to: str | os.PathLike[str],
    method: str = "predict",
    *,
    columns: str | Sequence[str] | None = None,
    rows: int = 65_536,
    part_rows: int = 2**20,
    progress: bool | None = None,
) -> int:
    """Predict rows block by block, and write the predictions to a file or a folder.

    A file appears under its name when it is complete. A folder is filled with parts, which are
    complete one by one: called again after an interruption, those that are there stay.

    Parameters
    ----------
    machine : estimator
        Any fitted estimator or pipeline of scikit-learn's kind. One that was fitted to features
        with names gets those, whatever other columns there are.
    source : Source, or what `as_source` takes
        The rows.
    to : str or path
        A ``.parquet``, ``.csv``, ``.arrow``, ``.feather`` or ``.npy`` file, or a folder.
    method : str, default="predict"
        Which method of the machine: also ``"predict_proba"``, ``"decision_function"``,
        ``"transform"``.
    columns : str or list of str, optional
        Columns of the source that are written beside the predictions.
    rows : int, default=65,536
        Rows that are predicted at once.
    part_rows : int, default=1,048,576
        Rows of a part in a folder.
    progress : bool, optional
        Show how far it is; by default on a terminal.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.linear_model import LinearRegression
    >>> import mercer
    >>> X = np.arange(6.0)[:, None]
    >>> machine = LinearRegression().fit(X, 2 * X[:, 0])
    >>> path = tempfile.mkdtemp() + "/out.npy"
    >>> mercer.data.predict(machine, X, path, rows=4)
    6
    >>> np.load(path).round(6)
    array([ 0.,  2.,  4.,  6.,  8., 10.])
    """
    wanted = getattr(machine, "feature_names_in_", None)
    kept = [columns] if isinstance(columns, str) else list(columns or [])
    # Rows are read here, where the file is, also if there is a cluster.
    source = source if isinstance(source, Source) else as_source(source)
    source = _reading(source, None if wanted is None else list(wanted), kept)
    path = Path(to)
    kind = FILES.get(path.suffix.lower())
    if kind is None and path.suffix and not path.is_dir():
        raise ValueError(f"{path.name} is no kind of file that is known: {', '.join(FILES)}")
    if kind == "npy" and kept:
        raise ValueError("an .npy file has no columns; write a .parquet file")
    with Bar(f"{type(machine).__name__}.{method}", source.n_rows, show=progress) as bar:
        asked = _Predictions(machine, method, source, kept, bar)
        return (
            asked.to_folder(path, rows, part_rows)
            if kind is None
            else asked.to_file(path, kind, rows)
        )


def _reading(source: Source, wanted: list[str] | None, kept: list[str]) -> Source:
    """Return a source that reads the machine's features and the columns written beside them."""
    known = source.feature_names
    if wanted is not None and known is None and source.n_features != len(wanted):
        raise DataError(f"the machine has {len(wanted)} features, the rows {source.n_features}")
    if hasattr(source, "reading"):
        read: Source = source.reading(wanted, kept)
        return read
    for what, names in (("features", wanted), ("columns", kept)):
        if missing := [name for name in names or [] if known is not None and name not in known]:
            raise DataError(f"the rows have no {what} {', '.join(missing)}")
    if kept and known is None:
        raise DataError("rows without names have no columns to write beside predictions")
    return source


def _chosen(X: PointsLike, numbers: list[int]) -> PointsLike:
    if isinstance(X, Table):
        names = list(X.columns)
        return Table({names[j]: X.columns[names[j]] for j in numbers})
    return X[:, numbers]


@dataclass(frozen=True)
class _Predictions:
    """What a machine says of the rows of a source, and columns that go beside it."""

    machine: Predictor
    method: str
    source: Source
    kept: list[str]
    bar: Bar

    def answers(self, block: Block) -> AnyArray:
        """Return the predictions for a block: (n,) or (n, k)."""
        X, wanted = block.X, getattr(self.machine, "feature_names_in_", None)
        names = self.source.feature_names
        if wanted is not None:
            if names is not None and list(wanted) != names:
                X = _chosen(X, [names.index(name) for name in wanted])
            X = pandas_frame(X, list(wanted))
        elif isinstance(X, Table):
            X = X.numbers() if not X.text else pandas_frame(X, names or [])
        found = getattr(self.machine, self.method)(X)
        sparse = sp.issparse(found)
        return np.asarray(found.toarray() if sparse else found)

    def columns(self, block: Block) -> dict[str, AnyArray]:
        """Return the columns, by name, that are written of a block."""
        answers = self.answers(block)
        beside = {} if block.keep is None else dict(block.keep.columns)
        for name in self.kept:
            if name not in beside:
                beside[name] = column_of(block.X, (self.source.feature_names or []).index(name))
        title = TITLES.get(self.method, self.method)
        if answers.ndim == 1:
            return beside | {title: answers}
        labels: Any = getattr(self.machine, "classes_", None)
        if labels is None or np.ndim(labels) != 1 or len(labels) != answers.shape[1]:
            labels = range(answers.shape[1])
        return beside | {f"{title}_{label}": answers[:, k] for k, label in enumerate(labels)}

    def to_file(self, path: Path, kind: str, rows: int) -> int:
        """Write all rows to one file, and return their number."""
        made: Callable[[Block], Any] = self.answers if kind == "npy" else self.columns
        n = 0
        with Npy(path) if kind == "npy" else ColumnWriter(path, kind) as file:
            for block in self.source.blocks(rows):
                file.write(made(block))
                self.bar.update(block.n)
                n += block.n
            if not n:
                raise DataError("the source has no rows")
        return n

    def to_folder(self, folder: Path, rows: int, part_rows: int) -> int:
        """Write all rows to parts in a folder but those that are there; return their number."""
        n = 0
        folder.mkdir(parents=True, exist_ok=True)
        rows = min(rows, part_rows)
        blocks_of_part = part_rows // rows
        done = parts(folder)
        stack, file = ExitStack(), None
        with stack:
            # Blocks of exactly as many rows as a part is counted in.
            for number, block in enumerate(rechunked(self.source.blocks(rows), rows)):
                part, first = divmod(number, blocks_of_part)
                if first == 0:
                    stack.close()
                    path = folder / f"part-{part:05}.parquet"
                    file = None if part in done else stack.enter_context(ColumnWriter(path))
                if file is not None:
                    file.write(self.columns(block))
                elif number == 0:
                    same_start(folder / "part-00000.parquet", self.columns(block))
                self.bar.update(block.n)
                n += block.n
        size = rows * blocks_of_part
        if parts(folder) != {k: min(size, n - k * size) for k in range(-(-n // size))}:
            raise DataError(
                f"{folder} holds parts of other sizes, or more of them; write to another folder"
            )
        return n
