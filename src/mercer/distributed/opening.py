"""The door from Dask collections and datasets to sources on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from distributed import Client, Future, get_client

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data import Source
from mercer.data.base import Mapped
from mercer.distributed.cluster import Cluster
from mercer.distributed.partitions import Graph, Key, Partitions

__all__ = ["as_source", "connected"]

MAX_HELD_SHARE = 0.5
"""Of the memory of all workers, what rows may take that are held there; the rest is for work."""


MIN_PIECE_ROWS, MAX_PIECE_ROWS, PIECES = 2**14, 2**20, 64
"""Rows of a piece of files, and how many pieces there are if these bounds permit it."""


def as_source(
    X: PointsLike,
    y: TargetsLike = None,
    s: WeightsLike = None,
    client: Client | None = None,
    *,
    hold: bool | None = None,
    patience: float = 60.0,
) -> Source:
    """Return the partitions of a Dask collection or a dataset as a source.

    Parameters
    ----------
    X : dask array (n, p), dask data frame, Source with ``pieces()``, or list
        A list holds delayed values or futures, each of inputs or of a tuple (inputs, targets,
        weights).
    y : dask array or series, or str, optional
        Targets, partitioned like `X`; a text names a column of a data frame. Arrays in memory are
        taken if the lengths of the partitions are known.
    s : dask array or series, or str, optional
        Weights.
    client : distributed.Client, optional
        The cluster; the active client by default. Without one, partitions are computed one after
        the other on this machine.
    hold : bool, optional
        Whether rows stay in the memory of the workers between passes. By default they do if they
        fill less than half of it, or if that is not known: then workers put on disk what is too
        much for them. If not, every pass computes, or reads, them again.
    patience : float, default=60
        Seconds after which a worker that gives no sign of life is restarted; twice as many after
        each time, so that workers of an overloaded machine are not restarted for ever. Ten times as
        many without any worker end the fit.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(10, 2), chunks=(4, 2))
    >>> as_source(X, X.sum(axis=1)).n_rows
    10
    """
    # A user who named another scheduler, as with dask.config.set(scheduler="threads"), meant it.
    if client is None and "distributed" in dask.config.get("scheduler", "distributed"):
        with suppress(ValueError):
            client = get_client()
    settings: dict[str, Any]
    if isinstance(X, Mapped):
        inner = as_source(X.source, client=client, hold=hold, patience=patience)
        return Mapped(inner, X.function, X.feature_names if X.renamed else None)
    if isinstance(X, Source):
        if client is None or not hasattr(X, "pieces"):
            return X
        settings = _pieces(X)
    elif isinstance(X, list | tuple):
        settings = _delayed(X)
    else:
        settings = _collection(X, y, s, client)
    nbytes = settings.pop("nbytes")
    if client is None:
        return Partitions(**settings)
    if hold is None:
        hold = not nbytes > MAX_HELD_SHARE * _memory(client)
    files = isinstance(X, Source)
    return Cluster(**settings, client=client, hold=hold or files, load=hold, patience=patience)


def _memory(client: Client) -> float:
    """Return the bytes of all workers, infinite if one of them has no limit."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] or np.inf for worker in workers]
    return float(sum(limits)) if limits else np.inf


def _pieces(source: Any) -> dict[str, Any]:
    """Return files in pieces that do not depend on the number of workers, nor do sums over them."""
    n = source.n_rows
    rows = MAX_PIECE_ROWS if n is None else min(MAX_PIECE_ROWS, max(MIN_PIECE_ROWS, n // PIECES))
    name, pieces = uuid4().hex, [copy(piece) for piece in source.pieces(rows)]
    for piece in pieces:
        # Partitions count their rows from zero.
        piece.start = 0
    keys = [f"mercer-piece-{name}-{i}" for i in range(len(pieces))]
    return {
        "graph": dict(zip(keys, pieces, strict=True)),
        "keys": [(key, None, None) for key in keys],
        "n_features": source.n_features,
        "sizes": None if n is None else [piece.n_rows for piece in pieces],
        "feature_names": source.feature_names,
        "places": source.places,
        "nbytes": np.nan if n is None else 8.0 * n * (source.n_features + 1),
    }


def _delayed(parts: Sequence[Any]) -> dict[str, Any]:
    if not parts:
        raise ValueError("there are no partitions; give at least one")
    graph: Graph = {}
    for part in parts:
        if isinstance(part, Delayed):
            graph.update(part.__dask_graph__())
        elif isinstance(part, Future):
            graph[part.key] = part
        else:
            raise TypeError(f"a partition is a delayed value or a future, not {type(part)}")
    first = dask.delayed(_n_features)(parts[0]).compute()
    keys = [(part.key, None, None) for part in parts]
    return {"graph": graph, "keys": keys, "n_features": first, "nbytes": np.nan}


def _n_features(part: Any) -> int:
    return int((part[0] if isinstance(part, tuple) else part).shape[1])


def _collection(
    X: PointsLike, y: TargetsLike, s: WeightsLike, client: Client | None
) -> dict[str, Any]:
    """Return the graph of arrays or frames whose partitions belong to each other."""
    names: list[str] | None = None
    sizes: Sequence[Any] | None = None
    nbytes = np.nan
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"a source has rows and columns; got an array of shape {X.shape}")
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        n_features, nbytes = int(X.shape[1]), X.nbytes
        if not np.isnan(X.chunks[0]).any():
            sizes = X.chunks[0]
    else:
        columns = [v for v in (y, s) if isinstance(v, str)]
        y, s = (X[v] if isinstance(v, str) else v for v in (y, s))
        X = X.drop(columns=columns) if columns else X
        names, n_features = [str(column) for column in X.columns], len(X.columns)
    number = X.npartitions if names is not None else X.numblocks[0]
    others = [None if v is None else _alike(v, number, sizes) for v in (y, s)]
    graph: Graph = {}
    columns_of_keys = [
        [None] * number if one is None else _tasks(one, graph, client) for one in (X, *others)
    ]
    return {
        "graph": graph,
        "keys": list(zip(*columns_of_keys, strict=True)),
        "n_features": n_features,
        "sizes": sizes,
        "feature_names": names,
        "nbytes": nbytes,
    }


def _tasks(collection: Any, graph: Graph, client: Client | None) -> list[Key]:
    """Add the tasks of a collection to a graph, and return what gives its partitions."""
    parts = np.ravel(collection.to_delayed()).tolist()
    for part in parts:
        if part.key not in graph:
            graph.update(part.__dask_graph__())
    # What was persisted is known to the scheduler by its name, and no task of the graph.
    return [part.key if part.key in graph else Future(part.key, client) for part in parts]


def _alike(v: Any, number: int, sizes: Sequence[Any] | None) -> Any:
    """Return targets or weights in partitions like those of the inputs."""
    if not dask.is_dask_collection(v):
        if sizes is None:
            raise ValueError(
                "the rows of the partitions are not known, so targets in memory cannot be divided "
                "among them; give a dask array or series that is partitioned like the inputs"
            )
        v = da.from_array(np.asarray(v), chunks=-1)
    if isinstance(v, da.Array):
        if sizes is not None and not np.isnan(v.chunks[0]).any():
            if v.shape[0] != sum(sizes):
                raise ValueError(f"X has {sum(sizes)} rows, the others have {v.shape[0]}")
            v = v.rechunk({0: tuple(sizes)})
        if v.ndim == 2 and v.numblocks[1] > 1:
            v = v.rechunk({1: -1})
        blocks = v.numblocks[0]
    else:
        blocks = v.npartitions
    if blocks != number:
        raise ValueError(
            f"X has {number} partitions, the others have {blocks}; partition them alike"
        )
    return v


@contextmanager
def connected(address: str, seconds: float = 10.0) -> Iterator[Client]:
    """Let the workers of a scheduler read files and fit machines, for as long as this is open.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.
    seconds : float, default=10.0
        How long to wait for an answer.

    Yields
    ------
    distributed.Client

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> with (
    ...     LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
    ...     connected(cluster.scheduler_address) as client,
    ... ):
    ...     len(client.scheduler_info()["workers"])
    1
    """
    try:
        client = Client(address, timeout=seconds)
    except (OSError, ValueError, TypeError) as error:
        words = " ".join(str(error).split())
        raise ConnectionError(
            f"no scheduler of Dask answers at {address}: {words[:200]}"
        ) from error
    with client:
        yield client
