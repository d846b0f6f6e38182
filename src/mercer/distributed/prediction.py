"""Predictions that stay where the rows are, and lazy."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

from mercer._typing import PointsLike
from mercer.distributed.partitions import settled

__all__ = ["predict"]


def predict(machine: object, X: PointsLike, method: str = "predict") -> Any:
    """Return what a fitted machine says of every row of a Dask collection, when it is computed.

    Parameters
    ----------
    machine : estimator
        Any fitted machine with scikit-learn's methods; it goes once to every worker.
    X : dask array (n, p) or dask data frame
    method : str, default="predict"
        Or "predict_proba", "decision_function", "transform", ...

    Returns
    -------
    dask array, series or data frame
        With the chunks or divisions of `X`; a frame if `X` is one and a row has several answers.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from mercer import LSSVR
    >>> machine = LSSVR().fit(np.arange(8.0)[:, None], np.arange(8.0))
    >>> predict(machine, da.zeros((6, 1), chunks=(2, 1)))
    dask.array<..., shape=(6,), dtype=float64, chunksize=(2,), chunktype=numpy.ndarray>
    """
    if not isinstance(X, da.Array):
        kind = _framed(X._meta_nonempty, machine, method).iloc[:0]
        sent = dask.delayed(machine)
        return X.map_partitions(_framed, sent, method, kind, meta=kind, enforce_metadata=False)
    if X.ndim != 2:
        raise ValueError(f"rows and columns are expected; got an array of shape {X.shape}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    # One row tells what comes out; dtypes of labels do not depend on which label it is.
    kind = _answer(np.zeros((1, X.shape[1]), X.dtype), machine, method)[:0]
    if kind.ndim == 1:
        shape: dict[str, Any] = {"drop_axis": 1}
    else:
        shape = {"chunks": (X.chunks[0], kind.shape[1:])}
    sent = dask.delayed(machine)
    return X.map_blocks(_answer, machine=sent, method=method, kind=kind, meta=kind, **shape)


def _answer(rows: Any, machine: object, method: str, kind: Any = None) -> Any:
    if rows.shape[0] == 0:
        return kind
    return np.asarray(getattr(machine, method)(settled(rows)))


def _framed(rows: Any, machine: object, method: str, kind: Any = None) -> Any:
    """Return answers under the index of their rows, one column a class if there are several."""
    if len(rows) == 0:
        return kind
    answers = _answer(rows, machine, method)
    if answers.ndim == 1:
        return rows.assign(answer=answers)["answer"].rename(method)
    labels = getattr(machine, "classes_", ())
    if len(labels) != answers.shape[1]:
        labels = range(answers.shape[1])
    names = {f"answer{j}": answers[:, j] for j in range(answers.shape[1])}
    return rows.assign(**names)[list(names)].set_axis(list(labels), axis=1)
