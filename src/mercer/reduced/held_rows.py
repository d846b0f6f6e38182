r"""Rows that are held in memory: their losses, and values of functions at them or the points.

A search that keeps numbers of every row from one step to the next, decision values and slopes, asks
of the functions :math:`r(x)` of an approximation only

.. math:: F = R A, \qquad S = R' U, \qquad \Phi_A = R_A T

with R their values at all rows, and A some of the rows. R is kept in memory if it fits, in float32
where that does, or made again from the points in each pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._threads import stream_blocks
from mercer._typing import Array
from mercer.data.base import Block, Sums
from mercer.kernels.points import pieces, take
from mercer.losses.base import Loss, QuadraticDualLoss
from mercer.reduced._kinked_numba import add_rows
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem, columns_of, single_problem

__all__ = ["HeldRows", "RowLosses", "hold"]

# Features of so many rows are made at once.
FEATURE_ROWS = 4096

# Bytes of a row for each problem, beside its point or values: thirteen numbers in float64.
STATE_BYTES = 13 * 8.0


@dataclass(frozen=True)
class RowLosses:
    """Losses of all rows in one problem, as arrays that compiled loops read.

    Parameters
    ----------
    c : (N,) array
        Weights; rows are counted as often as they are seen.
    terms : tuple of six arrays of shape (N,)
        Slopes of the conjugate above and below zero, its curvatures there, and the smallest and the
        largest slope of the loss.
    P : (N, q) array
        Unpenalized columns.
    """

    c: Array
    terms: tuple[Array, ...]
    P: Array

    def take(self, rows: NDArray[np.intp], factor: float) -> RowLosses:
        """Return some of the rows, with weights times a factor."""
        terms = tuple(term[rows] for term in self.terms)
        return RowLosses(factor * self.c[rows], terms, self.P[rows])


@dataclass
class HeldRows:
    """All rows of a source, with what a search needs of them.

    Parameters
    ----------
    problem : Problem
    single : bool
        Whether values are in float32.
    starts : list of int
        First rows of the parts, and the number of rows.
    points : list
        Points of the parts, where values are made again; or empty.
    values : list of (n_part, m) arrays
        Values of the parts; or empty.
    """

    problem: Problem
    single: bool
    starts: Sequence[int]
    points: Sequence[Any]
    values: Sequence[Array]
    room: float = 0.0
    """Bytes that features may be kept in."""

    n_jobs: int | None = None
    """Number of threads."""

    where: NDArray[np.intp] = field(init=False)
    """At which place the features of a row are kept, or -1."""

    kept: Any = field(init=False)
    used: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.where = np.full(self.n, -1, dtype=np.intp)
        self.kept = np.empty((0, self.problem.map.r), dtype=self.dtype)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.starts[-1]

    @property
    def dtype(self) -> Any:
        """Precision of values and features."""
        return np.float32 if self.single else np.float64

    def products(self, A: Array, U: Array) -> tuple[Array, Array]:
        """Return ``R A`` (n, j) and ``R' U`` (m, h), values of all rows read or made once."""
        F = np.empty((self.n, A.shape[1]))
        phi, single = self.problem.map, self.single
        A_typed: Any = np.ascontiguousarray(A, dtype=self.dtype)

        def part(i: int) -> Array:
            rows = slice(self.starts[i], self.starts[i + 1])
            if self.values:
                R = self.values[i]
                F[rows] = _times(R, A_typed)
                return np.asarray(_times(R.T, U[rows].astype(self.dtype)), dtype=np.float64)

            def slopes(f: Array, piece: slice, R: Any) -> Array:
                place = slice(rows.start + piece.start, rows.start + piece.stop)
                F[place] = f
                return U[place]

            return phi.sweep(self.points[i], A, slopes, single)

        total = np.zeros((phi.m, U.shape[1]))
        for one in stream_blocks(part, range(len(self.starts) - 1), self.n_jobs):
            total += one
        return F, total

    def raw(self, rows: NDArray[np.intp]) -> Array:
        """Return values at some rows, ascending, (n, m)."""
        out = np.empty((len(rows), self.problem.map.m), dtype=self.dtype)
        ends = np.searchsorted(rows, self.starts)
        for i, (a, b) in enumerate(pairwise(ends)):
            if a == b:
                continue
            own = rows[a:b] - self.starts[i]
            if self.values:
                out[a:b] = self.values[i][own]
            else:
                out[a:b] = self.problem.map.raw(take(self.points[i], own), self.single)
        return out

    def add(self, rows: NDArray[np.intp], weights: Array, total: Array) -> None:
        """Add values of some rows, ascending, times weights, to a sum (m,) in float64."""
        if not self.values:
            for part in pieces(0, len(rows), FEATURE_ROWS):
                R = self.raw(rows[part])
                total += np.asarray(weights[part].astype(R.dtype) @ R, dtype=np.float64)
            return
        ends = np.searchsorted(rows, self.starts)
        for i, (a, b) in enumerate(pairwise(ends)):
            if a < b:
                add_rows(self.values[i], rows[a:b] - self.starts[i], weights[a:b], total)

    def prepare(self, rows: NDArray[np.intp]) -> None:
        """Make features of some rows, ascending, and keep them while there is room."""
        phi = self.problem.map
        new = rows[self.where[rows] < 0]
        size = np.dtype(self.dtype).itemsize * phi.r
        new = new[: int(max(0.0, min(self.room / size, 1e15) - self.used))]
        if not len(new):
            return
        if self.used + len(new) > len(self.kept):
            size = max(self.used + len(new), int(1.5 * len(self.kept)))
            grown = np.empty((size, phi.r), dtype=self.dtype)
            grown[: self.used] = self.kept[: self.used]
            self.kept = grown

        def part(piece: slice) -> None:
            place = slice(self.used + piece.start, self.used + piece.stop)
            self.kept[place] = phi.features(self.raw(new[piece]), self.single)

        for _ in stream_blocks(part, pieces(0, len(new), FEATURE_ROWS), self.n_jobs):
            pass
        self.where[new] = self.used + np.arange(len(new))
        self.used += len(new)

    def features(self, rows: NDArray[np.intp]) -> Array:
        """Return features of some rows, ascending, (n, r)."""
        phi, where = self.problem.map, self.where[rows]
        missing = np.flatnonzero(where < 0)
        if not len(missing):
            return np.asarray(self.kept[where])
        found: Any = np.empty((len(rows), phi.r), dtype=self.dtype)
        found[where >= 0] = self.kept[where[where >= 0]]
        found[missing] = phi.features(self.raw(rows[missing]), self.single)
        return np.asarray(found)

    def take(self, rows: NDArray[np.intp]) -> HeldRows:
        """Return some of the rows, ascending."""
        values = [self.raw(rows)]
        starts, n_jobs = [0, len(rows)], self.n_jobs
        return HeldRows(self.problem, self.single, starts, [], values, np.inf, n_jobs)


def _times(R: Any, A: Any) -> Array:
    """Return a product, by the faster routine for a matrix and a vector where A is a column."""
    product: Array = (R @ A[:, 0])[:, None] if A.shape[1] == 1 else R @ A
    return product


class _Loading:
    """Arrays that a pass over the rows fills."""

    def __init__(self, problem: Problem, n: int, single: bool, stored: bool) -> None:
        self.n, self.single, self.stored = n, single, stored
        N = n * problem.views
        self.Y, self.c = (np.empty((problem.k, N)) for _ in range(2))
        self.P = np.empty((N, problem.free))
        self.parts: dict[int, Any] = {}
        self.losses: dict[int, Loss] = {}


def load(block: Block, problem: Problem, state: _Loading) -> Sums:
    """Write targets, weights and columns of a block, and keep its points or values."""
    X, Y, s, P, loss = problem.admit(block)
    views = problem.views
    rows = slice(views * block.start, views * (block.start + block.n))
    state.Y[:, rows] = Y.T
    state.c[:, rows] = np.broadcast_to(s * problem.C, Y.shape).T
    state.P[rows] = P
    state.losses[block.start] = loss
    state.parts[block.start] = problem.map.raw(X, state.single) if state.stored else X
    return Sums(n=np.array(block.n))


def hold(problem: Problem, passes: Passes, single: bool) -> tuple[HeldRows, list[RowLosses]] | None:
    """Return all rows and the losses of each problem; None where memory does not hold them.

    Parameters
    ----------
    problem : Problem
    passes : Passes
    single : bool
        Whether values may be in float32.
    """
    n, k, m = passes.n, problem.k, problem.map.m
    if n is None:
        return None
    state_bytes = n * problem.views * (STATE_BYTES * k + 8.0 * problem.free)
    value_bytes = n * m * (4.0 if single else 8.0)
    point_bytes = passes.point_bytes * n
    stored = state_bytes + value_bytes <= passes.room
    if not stored and state_bytes + point_bytes > passes.room:
        return None
    loading = _Loading(problem, n, single, stored)
    passes("load", load, problem, loading, anew=True)
    starts = sorted(loading.parts)
    parts = [loading.parts[start] for start in starts]
    losses = []
    for j in range(k):
        own = [_column(loading.losses[start], j) for start in starts]
        losses.append(_row_losses(own, starts, problem.views, loading, j))
    left = passes.room - state_bytes - (value_bytes if stored else point_bytes)
    points, values = ([], parts) if stored else (parts, [])
    rows = HeldRows(problem, single, [*starts, n], points, values, left, passes.n_jobs)
    return rows, losses


def _column(loss: Loss, j: int) -> QuadraticDualLoss:
    """Return the loss of a problem, with parameters that are numbers or one for each row."""
    own = single_problem(columns_of(loss, np.array([j])))
    assert isinstance(own, QuadraticDualLoss)
    return own


def _row_losses(
    own: list[QuadraticDualLoss], starts: list[int], views: int, loading: _Loading, j: int
) -> RowLosses:
    """Return the losses of a problem as arrays, a part after the other."""
    ends = [views * start for start in [*starts, loading.n]]
    parts = []
    for loss, (a, b) in zip(own, pairwise(ends), strict=True):
        t = loss.dual_terms(loading.Y[j, a:b], np.ones(b - a))
        # Coefficients are slopes of the other sign.
        parts.append((-t.p_neg, -t.p_pos, t.q_neg, t.q_pos, -t.upper, -t.lower))
    terms = tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    return RowLosses(np.ascontiguousarray(loading.c[j]), terms, loading.P)
