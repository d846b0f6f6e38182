"""Sums over a block of rows: values, slopes, curvatures and held-out losses at a point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from mercer._typing import Array
from mercer.data.base import Block, Sums
from mercer.data.sampling import FingerprintSample
from mercer.kernels.points import pieces
from mercer.losses.base import Loss
from mercer.reduced.problem import Problem, as_rows, columns_of, held_out, rows_of

__all__ = ["CURVATURE_ROWS", "curvature", "evaluate", "in_features", "product", "score", "weigh"]

# Part of the weights that counts as curvature where a loss has none: keeps unpenalized directions
# determined while every row lies on a straight piece of the loss.
MIN_CURVATURE_SHARE = 1e-8


# Rows whose losses are summed at once: each call of NumPy costs as much as some hundred numbers.
SUMMED_ROWS = 2048


# A decision value that lies beyond all kinks.
FAR = 1e100


# Rows of a part where their curvature is summed: a product with few would read the sum too often.
CURVATURE_ROWS = 1024


def evaluate(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return value, slopes and gap at several points, and the curvature at a single point."""
    X, Y, s, P, loss = problem.admit(block)
    A, b = state["A"], state["b"]
    c = np.broadcast_to(s * problem.C, Y.shape)
    total = Curvature(problem, s, P) if state["dense"] else None
    sums: Sums | None = None
    for rows in pieces(0, block.n, SUMMED_ROWS):
        seen = slice(problem.views * rows.start, problem.views * rows.stop)
        slopes = Slopes(
            rows_of(loss, seen), Y[seen], c[seen], P[seen], b, total, s[seen], state.get("tilt")
        )
        raw = problem.sweep(X[rows], A, slopes)
        part = Sums(slopes.sums() | {"raw": raw})
        sums = part if sums is None else sums + part
    assert sums is not None
    sums["n"] = np.array(block.n)
    if total is not None:
        sums["H"] = total.total
    return sums


class Slopes:
    """Slopes of smooth losses at one or several points, with decision values.

    Parameters
    ----------
    loss : Loss
    Y, c : (n, k) arrays
        Targets and weights of some rows.
    P : (n, q) array
    b : (q, j k) array
    curvature : Curvature, optional
        What curvatures at the only point are added to, with the weights `s` of the rows.
    s : (n, 1) or (n, k) array
    tilt : (q, k) array, optional
        By what slopes of curved rows are changed, in units of their curvatures and free columns.
    """

    def __init__(
        self,
        loss: Loss,
        Y: Array,
        c: Array,
        P: Array,
        b: Array,
        curvature: Curvature | None,
        s: Array,
        tilt: Array | None = None,
    ) -> None:
        k = Y.shape[1]
        self.tilt, self.S = tilt, np.zeros((k, P.shape[1], P.shape[1]))
        self.points = points = b.shape[1] // k
        self.loss = loss if points == 1 else columns_of(loss, np.tile(np.arange(k), points))
        self.y, self.c = np.tile(Y, points), np.tile(c, points)
        self.P, self.b, self.curvature, self.s = P, b, curvature, s
        self.F, self.v = np.empty_like(self.y), np.empty_like(self.y)

    def __call__(self, F: Array, part: slice, R: Any) -> Array:
        F = self.F[part] = F + self.P[part] @ self.b
        y, loss = self.y[part], rows_of(self.loss, part)
        v = loss.gradient(y, F)
        if self.points == 1:
            D = np.broadcast_to(loss.curvature(y, F), F.shape)
            self.S += np.einsum("nk,np,nq->kpq", self.c[part] * D, self.P[part], self.P[part])
            if self.curvature is not None:
                self.curvature.add(D, self.s[part], self.P[part], R)
            if self.tilt is not None:
                # Far out a loss has its smallest and largest slope.
                ends = (loss.gradient(y, np.full(F.shape, far)) for far in (-FAR, FAR))
                v = np.clip(v - D * (self.P[part] @ self.tilt), *ends)
        self.v[part] = v
        return np.asarray(self.c[part] * v)

    def sums(self) -> Sums:
        """Return the sums that make value and gap."""
        y, c, P, F, v = self.y, self.c, self.P, self.F, self.v
        G, value, young = c * v, self.loss.value(y, F), np.zeros(1)
        if self.tilt is not None:
            young = np.maximum(value + self.loss.conjugate(y, v) - v * F, 0.0)
        return Sums(
            free=P.T @ G,
            S=self.S,
            size=np.abs(P).T @ np.maximum(np.abs(G), 1e-6 * c),
            loss=np.sum(c * value, axis=0),
            young=np.sum(c * young, axis=0),
        )


class Curvature:
    """The sum of ``d u u'`` over rows, u their features, or raw values, and free columns."""

    def __init__(self, problem: Problem, s: Array, P: Array) -> None:
        self.problem = problem
        self.shared = problem.loss.quadratic and s.shape[1] == 1
        n = 1 if self.shared else problem.k
        size = (problem.map.m if problem.direct else problem.map.r) + P.shape[1]
        self.H = np.zeros((n, size, size))

    def add(self, D: Array, s: Array, P: Array, R: Any) -> None:
        """Add rows with weights, free columns, raw values R and curvatures D of the loss."""
        weights = s if self.shared else s * (D + MIN_CURVATURE_SHARE) * self.problem.C
        features = None
        for j in range(len(self.H)):
            w = weights[:, j]
            live = (w > 0) & (D[:, j] > 0)
            if not live.any():
                continue
            rows = slice(None) if live.all() else np.flatnonzero(live)
            if self.problem.direct:
                phi = np.asarray(R[rows], dtype=np.float64)
            elif len(self.H) == 1:
                phi = self.problem.map.features(R[rows])
            else:
                # Most rows are curved for several problems: their features are made once.
                features = self.problem.map.features(R) if features is None else features
                phi = features[rows]
            U = np.concatenate([phi, P[rows]], axis=1)
            if not (w[rows] == 1.0).all():
                U *= np.sqrt(w[rows])[:, None]
            # Half of the sum, added where it is: a product of its own would be memory to read.
            dsyrk(1.0, U.T, beta=1.0, c=self.H[j].T, overwrite_c=1)

    @property
    def total(self) -> Array:
        """The sums so far, (k, size, size)."""
        return self.H + np.tril(self.H, -1).transpose(0, 2, 1)


def in_features(problem: Problem, S: Array) -> Array:
    """Return sums over features and free columns, from those over raw functions if these are."""
    if not problem.direct:
        return S
    m, lower = problem.map.m, problem.map.lower
    side = lower(S[:m, m:])
    return np.block([[lower(lower(S[:m, :m]).T), side], [side.T, S[m:, m:]]])


def curvature(problem: Problem, state: dict[str, Any], sample: FingerprintSample) -> Array:
    """Return the sum of curvatures over the rows of a sample, each counted once."""
    block = Block(sample.X, sample.y, sample.s, 0)
    X, Y, s, P, loss = problem.admit(block, sample.rows)
    total = Curvature(problem, s, P)

    def slopes(F: Array, part: slice, R: Any) -> Array:
        F = F + P[part] @ state["b"]
        D = np.broadcast_to(rows_of(loss, part).curvature(Y[part], F), F.shape)
        total.add(D, s[part], P[part], R)
        return F[:, :0]

    problem.sweep(X, state["A"], slopes, rows=CURVATURE_ROWS)
    return np.stack([in_features(problem, S) for S in total.total])


def product(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return sums of products of the curvature at a point with directions."""
    X, Y, s, P, loss = problem.admit(block)
    V, b, columns, single = state["V"], state["vb"], state["columns"], state["single"]
    c = np.broadcast_to(s * problem.C, Y.shape)[:, columns]
    free = np.zeros((P.shape[1], len(columns)))
    quadratic = loss.quadratic
    A = V if quadratic else np.hstack([V, state["A"]])
    if not quadratic:
        loss, Y = columns_of(loss, columns), Y[:, columns]

    def slopes(F: Array, part: slice, R: Any) -> Array:
        nonlocal free
        p, D = P[part], c[part]
        if not quadratic:
            at = F[:, len(columns) :] + p @ state["b"]
            D = D * (rows_of(loss, part).curvature(Y[part], at) + MIN_CURVATURE_SHARE)
        G: Array = D * (F[:, : len(columns)] + p @ b)
        free = free + p.T @ G
        return G

    return Sums(n=np.array(block.n), raw=problem.sweep(X, A, slopes, single), free=free)


def score(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return the weighted sum of losses of the rows that were held out, and of their weights."""
    keep = np.flatnonzero(held_out(as_rows(block), problem.seed, problem.held_out))
    y, s = (None if part is None else np.asarray(part)[keep] for part in (block.y, block.s))
    if not len(keep):
        return Sums(n=np.array(block.n), loss=np.zeros(problem.k), weight=np.zeros(problem.k))
    rest = replace(problem, held_out=0.0)
    X, Y, w, P, loss = rest.admit(Block(block.X[keep], y, s, 0), block.start + keep)
    w = np.broadcast_to(w, Y.shape)
    total = np.zeros(problem.k)

    def slopes(F: Array, part: slice, R: Any) -> Array:
        nonlocal total
        own = rows_of(loss, part)
        total = total + np.sum(w[part] * own.value(Y[part], F + P[part] @ state["b"]), axis=0)
        return F[:, :0]

    problem.sweep(X, state["A"], slopes)
    return Sums(n=np.array(block.n), loss=total, weight=w.sum(axis=0))


def weigh(block: Block, problem: Problem, state: None) -> Sums:
    """Return the weights of the rows of each problem, and of its free columns."""
    _, Y, s, P, _ = problem.admit(block)
    c = np.broadcast_to(s * problem.C, Y.shape)
    return Sums(n=np.array(block.n), weight=np.sum(c, axis=0), columns=np.abs(P).T @ c)
