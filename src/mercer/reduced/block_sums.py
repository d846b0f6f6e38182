"""Sums over a block of rows: values, slopes, curvatures and held-out losses at a point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from mercer._typing import Array
from mercer.data.base import Block, Sums
from mercer.data.sampling import FingerprintSample, sampled
from mercer.kernels.points import pieces
from mercer.reduced.problem import Problem, as_rows, columns_of, held_out, rows_of
from mercer.reduced.rounded import Rounded

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
    rounding = Rounded(loss, state)
    c = np.broadcast_to(s * problem.C, Y.shape)
    total = Curvature(problem, s, P) if state["dense"] else None
    sums: Sums | None = None
    curved = []
    for rows in pieces(0, block.n, SUMMED_ROWS):
        seen = slice(problem.views * rows.start, problem.views * rows.stop)
        tilt = state.get("tilt")
        slopes = Slopes(rounding.of(seen), Y[seen], c[seen], P[seen], b, total, s[seen], tilt)
        raw = problem.sweep(X[rows], A, slopes)
        part = slopes.sums() | {"raw": raw}
        if slopes.points == 1:
            curved.append(slopes.curved())
            part["active"] = np.sum(curved[-1], axis=0, dtype=float)
        sums = Sums(part) if sums is None else sums + Sums(part)
    assert sums is not None
    sums["n"] = np.array(block.n)
    sums.setdefault("active", np.zeros(problem.k))
    if total is not None:
        sums["H"] = total.total
    if state["sample"]:
        some = np.flatnonzero(np.vstack(curved).reshape(block.n, -1).any(axis=1))
        y, w = (None if part is None else np.asarray(part)[some] for part in (block.y, block.s))
        drawn = sampled(Block(X[some], y, w, 0), state["sample"], problem.seed + 2)
        sums["sample"] = replace(drawn, rows=block.start + some[drawn.rows])
    return sums


class Slopes:
    """Slopes of rounded losses at one or several points, with decision values and centres.

    Parameters
    ----------
    rounding : Rounded
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
        rounding: Rounded,
        Y: Array,
        c: Array,
        P: Array,
        b: Array,
        curvature: Curvature | None,
        s: Array,
        tilt: Array | None = None,
    ) -> None:
        self.tilt, self.S = tilt, np.zeros((Y.shape[1], P.shape[1], P.shape[1]))
        self.points = b.shape[1] // Y.shape[1]
        self.rounding = rounding if self.points == 1 else rounding.repeated(self.points)
        self.first, self.Y = rounding, Y
        self.y, self.c = np.tile(Y, self.points), np.tile(c, self.points)
        self.P, self.b, self.curvature, self.s = P, b, curvature, s
        self.F, self.v = np.empty_like(self.y), np.empty_like(self.y)
        self.before = np.zeros_like(self.y) if rounding.earlier else None

    def __call__(self, F: Array, part: slice, R: Any) -> Array:
        F = self.F[part] = F + self.P[part] @ self.b
        y, rounding = self.y[part], self.rounding.of(part)
        if self.before is not None:
            before = self.first.of(part).centre(self.Y[part], R, self.P[part])
            self.before[part] = np.tile(before, self.points)
            F = F + rounding.mu * self.before[part]
        v = rounding.rounded.gradient(y, F)
        if self.points == 1:
            D = np.broadcast_to(rounding.rounded.curvature(y, F), F.shape)
            self.S += np.einsum("nk,np,nq->kpq", self.c[part] * D, self.P[part], self.P[part])
            if self.curvature is not None:
                self.curvature.add(D, self.s[part], self.P[part], R)
            if self.tilt is not None:
                # Far out a loss has its smallest and largest slope.
                ends = (rounding.rounded.gradient(y, np.full(F.shape, far)) for far in (-FAR, FAR))
                v = np.clip(v - D * (self.P[part] @ self.tilt), *ends)
        self.v[part] = v
        return np.asarray(self.c[part] * v)

    def sums(self) -> Sums:
        """Return the sums that make value and gap."""
        y, c, P, F, v = self.y, self.c, self.P, self.F, self.v
        loss, rounded, mu = self.rounding.loss, self.rounding.rounded, self.rounding.mu
        G, shifted = c * v, F
        if self.before is not None:
            shifted = F + mu * self.before
        smooth = rounded.value(y, shifted)
        if self.before is not None:
            smooth -= 0.5 * mu * self.before**2
        value = smooth if loss.smooth else loss.value(y, F)
        young = np.zeros(1)
        if self.tilt is not None or not loss.smooth:
            young = np.maximum(value + loss.conjugate(y, v) - v * F, 0.0)
        return Sums(
            free=P.T @ G,
            S=self.S,
            size=np.abs(P).T @ np.maximum(np.abs(G), 1e-6 * c),
            smooth=np.sum(c * smooth, axis=0),
            loss=np.sum(c * value, axis=0),
            young=np.sum(c * young, axis=0),
        )

    def curved(self) -> NDArray[np.bool_]:
        """Answer which rows are curved for which of the problems, at the only point."""
        F = self.F if self.before is None else self.F + self.rounding.mu * self.before
        D = np.broadcast_to(self.rounding.rounded.curvature(self.y, F), F.shape)
        return np.asarray((D > 0) & (self.c > 0))


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
    rounding = Rounded(loss, state)
    total = Curvature(problem, s, P)

    def slopes(F: Array, part: slice, R: Any) -> Array:
        own, y, p = rounding.of(part), Y[part], P[part]
        F = F + p @ state["b"]
        if own.earlier:
            F = F + own.mu * own.centre(y, R, p)
        total.add(np.broadcast_to(own.rounded.curvature(y, F), F.shape), s[part], p, R)
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
        loss = columns_of(loss, columns)
        rounding = Rounded(loss, state, columns)
        Y = Y[:, columns]

    def slopes(F: Array, part: slice, R: Any) -> Array:
        nonlocal free
        p, D = P[part], c[part]
        if not quadratic:
            own = rounding.of(part)
            at = F[:, len(columns) :] + p @ state["b"]
            if own.earlier:
                at = at + own.mu * own.centre(Y[part], R, p)
            D = D * (own.rounded.curvature(Y[part], at) + MIN_CURVATURE_SHARE)
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
