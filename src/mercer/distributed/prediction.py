"""Predictions that stay where the rows are, and lazy; or travel to leaves that workers keep."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from mercer._optional import plugin
from mercer._typing import PointsLike
from mercer.distributed.leaves import KeptLeaves, LeafShelf, asked
from mercer.distributed.partitions import Parcel, settled
from mercer.kernels.points import take
from mercer.local.shelf import Shelf
from mercer.machines.leaf_tasks import leaf_values
from mercer.machines.leaves import Leaves, Part, certify_leaves

__all__ = ["gather", "lazy", "predict"]


def predict(machine: object, X: PointsLike, method: str = "predict") -> Any:
    """Return what a fitted machine says of every row of a Dask collection, when it is computed.

    Parameters
    ----------
    machine : estimator
        Any fitted machine with scikit-learn's methods; it goes once to every worker. Of a local
        machine whose leaves workers keep, ``Local(gather=False)``, the tree goes there, and rows go
        to the leaves that they fall into.
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
    away = isinstance(getattr(getattr(machine, "_local", None), "leaves", None), KeptLeaves)
    if not isinstance(X, da.Array):
        kind = _framed(X._meta_nonempty, machine, method).iloc[:0]
        if away:
            frames = _routed(machine, X.to_delayed(), method, kind)
            return plugin("dask_frames").from_delayed(
                frames, meta=kind, divisions=X.divisions, verify_meta=False
            )
        sent = dask.delayed(machine)
        return X.map_partitions(_framed, sent, method, kind, meta=kind, enforce_metadata=False)
    if X.ndim != 2:
        raise ValueError(f"rows and columns are expected; got an array of shape {X.shape}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    # One row tells what comes out; dtypes of labels do not depend on which label it is.
    kind = _answer(np.zeros((1, X.shape[1]), X.dtype), machine, method)[:0]
    if away:
        found = _routed(machine, X.to_delayed().ravel(), method, kind)
        shapes = ((n, *kind.shape[1:]) for n in X.chunks[0])
        arrays = [
            da.from_delayed(one, shape, meta=kind) for one, shape in zip(found, shapes, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)
    if kind.ndim == 1:
        shape: dict[str, Any] = {"drop_axis": 1}
    else:
        shape = {"chunks": (X.chunks[0], kind.shape[1:])}
    sent = dask.delayed(machine)
    return X.map_blocks(_answer, machine=sent, method=method, kind=kind, meta=kind, **shape)


def lazy(machine: object, method: str, X: PointsLike) -> Any:
    """Return :func:`predict` with its arguments in the order in which a machine has them.

    Parameters
    ----------
    machine : estimator
    method : str
    X : dask array or dask data frame
    """
    return predict(machine, X, method)


def _answer(rows: Any, machine: object, method: str, kind: Any = None) -> Any:
    if rows.shape[0] == 0:
        return kind
    return np.asarray(getattr(machine, method)(settled(rows)))


def _framed(rows: Any, machine: object, method: str, kind: Any = None) -> Any:
    """Return answers under the index of their rows, one column a class if there are several."""
    if len(rows) == 0:
        return kind
    return _in_frame(rows, _answer(rows, machine, method), machine, method)


def _in_frame(rows: Any, answers: Any, machine: object, method: str) -> Any:
    if answers.ndim == 1:
        return rows.assign(answer=answers)["answer"].rename(method)
    labels = getattr(machine, "classes_", ())
    if len(labels) != answers.shape[1]:
        labels = range(answers.shape[1])
    names = {f"answer{j}": answers[:, j] for j in range(answers.shape[1])}
    return rows.assign(**names)[list(names)].set_axis(list(labels), axis=1)


# Leaves that workers keep -------------------------------------------------------------------------


def gather(machine: Any) -> Any:
    """Bring the leaves of a local machine that workers keep to this process.

    Parameters
    ----------
    machine : estimator
        Fitted with ``approximation=Local(..., gather=False)``; one that has its leaves is left as
        it is.

    Returns
    -------
    estimator
        The machine itself. Where its leaves take more than two fifths of the ``memory_limit`` they
        are in files; otherwise it has all coefficients again.

    Examples
    --------
    >>> from mercer import LSSVR
    >>> machine = LSSVR().fit(np.arange(8.0)[:, None], np.arange(8.0))
    >>> gather(machine) is machine
    True
    """
    local = getattr(machine, "_local", None)
    if isinstance(local, Leaves) and isinstance(local.leaves, KeptLeaves):
        machine._local = local.gathered()
        solution = machine.solution_
        certify_leaves(machine, solution, complete=bool(np.isfinite(solution.gap)))
    return machine


class Routed(NamedTuple):
    """Which rows of a partition belong to which leaves, and which of these are on which shelf."""

    n: int
    parts: list[Part]
    by_shelf: list[list[int]]


def _routed(machine: Any, partitions: Sequence[Delayed], method: str, kind: Any) -> list[Delayed]:
    """Return the answers to rows of partitions, each computed where its leaf is."""
    local, leaves = machine._local, machine._local.leaves
    tree_only = copy(machine)
    tree_only._local = replace(local, leaves=Shelf(0.0, 0.0))
    sent = dask.delayed(Parcel.of(tree_only))
    shelves = [*leaves.shelves, dask.delayed(LeafShelf(dict(leaves.here), 0))]
    shelf_of = [leaves.shelf_of.get(key, len(leaves.shelves)) for key in leaves.keys]
    places = dask.delayed(Parcel.of((leaves.keys, shelf_of, len(shelves))))
    order = Parcel.of((leaf_values, local.asked(machine, method)))
    found = []
    for rows in partitions:
        routed = dask.delayed(_route, pure=False)(rows, sent, places)
        answers = [
            dask.delayed(asked, pure=False)(shelf, order, routed[1 + h])
            for h, shelf in enumerate(shelves)
        ]
        made = dask.delayed(_concluded, pure=False)(rows, routed[0], answers, sent, method, kind)
        found.append(made)
    return found


def _route(rows: Any, sent: Parcel, places: Parcel) -> list[Any]:
    """Return how rows are divided, and for every shelf its leaves with their points: a task."""
    machine, (keys, shelf_of, shelves) = sent.value, places.value
    by_shelf: list[list[int]] = [[] for _ in range(shelves)]
    if len(rows) == 0:
        return [Routed(0, [], by_shelf), *(Parcel.of([]) for _ in by_shelf)]
    X = machine._check_new(settled(rows))
    parts = machine._local.parts(X)
    for i, part in enumerate(parts):
        by_shelf[shelf_of[part.leaf]].append(i)
    questions = (
        Parcel.of([(keys[parts[i].leaf], take(X, parts[i].rows)) for i in some])
        for some in by_shelf
    )
    return [Routed(len(rows), parts, by_shelf), *questions]


def _concluded(
    rows: Any, routed: Routed, answers: list[Parcel], sent: Parcel, method: str, kind: Any
) -> Any:
    """Return the answers to rows, in their order: a task."""
    if routed.n == 0:
        return kind
    machine = sent.value
    by_part: dict[int, Any] = {}
    for some, parcel in zip(routed.by_shelf, answers, strict=True):
        by_part.update(zip(some, parcel.value, strict=True))
    in_order = (by_part[i] for i in range(len(routed.parts)))
    values = machine._local.conclude(machine, method, routed.n, routed.parts, in_order)
    return values if isinstance(kind, np.ndarray) else _in_frame(rows, values, machine, method)
