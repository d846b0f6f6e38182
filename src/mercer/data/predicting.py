"""Predictions from file to file, in memory that does not depend on the number of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._optional import plugin
from mercer._typing import PointsLike
from mercer.data.base import Block, Source
from mercer.data.categories import column_of
from mercer.data.npy import Npy
from mercer.data.opening import as_source
from mercer.data.progress import Bar
from mercer.data.streams import rechunked
from mercer.data.table import DataError, Table

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
    machine: object,
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
        if kind is not None:
            return _to_file(machine, method, source, kept, path, kind, rows, bar)
        return _to_folder(machine, method, source, kept, path, rows, part_rows, bar)


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


def _answers(machine: object, method: str, block: Block, names: list[str] | None) -> Any:
    """Return the predictions of a machine for a block: (n,) or (n, k)."""
    X, wanted = block.X, getattr(machine, "feature_names_in_", None)
    if wanted is not None:
        names = list(wanted) if names is None else names
        if list(wanted) != names:
            numbers = [names.index(name) for name in wanted]
            X = _chosen(X, numbers)
        X = plugin("pandas").frame(X, list(wanted))
    elif isinstance(X, Table):
        X = X.numbers() if not X.text else plugin("pandas").frame(X, names or [])
    found = getattr(machine, method)(X)
    sparse = sp.issparse(found)
    return np.asarray(found.toarray() if sparse else found)


def _chosen(X: PointsLike, numbers: list[int]) -> Any:
    if isinstance(X, Table):
        names = list(X.columns)
        return Table({names[j]: X.columns[names[j]] for j in numbers})
    return X[:, numbers]


def _columns(
    machine: object, method: str, block: Block, names: list[str] | None, kept: list[str]
) -> dict[str, Any]:
    """Return the columns, by name, that are written of a block."""
    answers = _answers(machine, method, block, names)
    beside = {} if block.keep is None else dict(block.keep.columns)
    for name in kept:
        if name not in beside:
            beside[name] = column_of(block.X, (names or []).index(name))
    title = TITLES.get(method, method)
    if answers.ndim == 1:
        return beside | {title: answers}
    labels: Any = getattr(machine, "classes_", None)
    if labels is None or np.ndim(labels) != 1 or len(labels) != answers.shape[1]:
        labels = range(answers.shape[1])
    return beside | {f"{title}_{label}": answers[:, k] for k, label in enumerate(labels)}


def _to_file(
    machine: object,
    method: str,
    source: Source,
    kept: list[str],
    path: Path,
    kind: str,
    rows: int,
    bar: Bar,
) -> int:
    names, n = source.feature_names, 0
    with Npy(path) if kind == "npy" else plugin("writing").ColumnFile(path, kind) as file:
        for block in source.blocks(rows):
            if kind == "npy":
                file.write(_answers(machine, method, block, names))
            else:
                file.write(_columns(machine, method, block, names, kept))
            bar(block.n)
            n += block.n
        if not n:
            raise DataError("the source has no rows")
    return n


def _to_folder(
    machine: object,
    method: str,
    source: Source,
    kept: list[str],
    folder: Path,
    rows: int,
    part_rows: int,
    bar: Bar,
) -> int:
    writing, names, n = plugin("writing"), source.feature_names, 0
    folder.mkdir(parents=True, exist_ok=True)
    rows = min(rows, part_rows)
    blocks_of_part = part_rows // rows
    done = writing.parts(folder)
    stack, file = ExitStack(), None
    with stack:
        # Blocks of exactly as many rows as a part is counted in.
        for number, block in enumerate(rechunked(source.blocks(rows), rows)):
            part, first = divmod(number, blocks_of_part)
            if first == 0:
                stack.close()
                path = folder / f"part-{part:05}.parquet"
                file = None if part in done else stack.enter_context(writing.ColumnFile(path))
            if file is not None or number == 0:
                found = _columns(machine, method, block, names, kept)
                if file is None:
                    writing.same_start(folder / "part-00000.parquet", found)
                else:
                    file.write(found)
            bar(block.n)
            n += block.n
    counts = writing.parts(folder)
    expected = {k: min(rows * blocks_of_part, n - k * rows * blocks_of_part) for k in
                range(-(-n // (rows * blocks_of_part)))}  # fmt: skip
    if counts != expected:
        raise DataError(
            f"{folder} holds parts of other sizes, or more of them; write to another folder"
        )
    return n
