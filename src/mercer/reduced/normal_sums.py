"""Sums over blocks of rows for normal equations and left-out errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data.base import Block, Sums
from mercer.data.sampling import fold_of
from mercer.losses.base import Loss
from mercer.reduced.problem import Problem

__all__ = ["Whole", "folded", "gather", "left_out"]

# Bytes of features that are summed at once: products of few rows would be all memory traffic.
PIECE_BYTES = 2**25

# Added to the seed of a problem: folds are drawn apart from everything else that it draws.
FOLD_SEED_OFFSET = 3


@dataclass(eq=False)
class Whole:
    """A problem whose map keeps, when it travels, the factor that makes features of raw values."""

    problem: Problem

    def __getstate__(self) -> dict[str, Any]:
        phi = self.problem.map
        return {"problem": self.problem, "factor": {k: getattr(phi, k) for k in phi.left_behind}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.problem = state["problem"]
        vars(self.problem.map).update(state["factor"])


def gather(block: Block, shared: Problem | Whole, state: dict[str, Any]) -> Sums:
    """Return the sums of a block, (folds, systems, size, size) and so on."""
    problem = shared.problem if isinstance(shared, Whole) else shared
    X, Y, s, P, _ = problem.admit(block)
    folds, phi, k = int(state["folds"]), problem.map, problem.k
    systems, size = s.shape[1], phi.r + P.shape[1]
    fold = (
        fold_of(X, folds, problem.seed + FOLD_SEED_OFFSET)
        if folds > 1
        else np.zeros(block.n, dtype=np.intp)
    )
    wide = np.broadcast_to(s, (block.n, k))
    sums = Sums(
        G=np.zeros((folds, systems, size, size)),
        g=np.zeros((folds, size, k)),
        square=np.zeros((folds, k)),
        weight=np.zeros((folds, k)),
        n=np.zeros((folds, k)),
    )
    step = max(64, getattr(phi, "piece", PIECE_BYTES) // (8 * phi.m))
    for start in range(0, block.n, step):
        part = slice(start, min(start + step, block.n))
        U = np.hstack([phi.features(phi.raw(X[part])), P[part]])
        for f in np.unique(fold[part]):
            rows = np.flatnonzero(fold[part] == f)
            u, y, w = U[rows], Y[part][rows], wide[part][rows]
            sums["g"][f] += u.T @ (w * y)
            sums["square"][f] += np.sum(w * y**2, axis=0)
            sums["weight"][f] += np.sum(w, axis=0)
            sums["n"][f] += np.sum(w > 0, axis=0)
            for j in range(systems):
                live = np.flatnonzero(w[:, j] > 0)
                v = u[live] * np.sqrt(w[live, j])[:, None]
                sums["G"][f, j] += v.T @ v
    return sums


def left_out(block: Block, shared: tuple[Problem, Loss], state: dict[str, Any]) -> Sums:
    """Return summed losses of rows left out one at a time, (number of C, k)."""
    problem, loss = shared
    X, Y, s, P, _ = problem.admit(block)
    systems, k, r = state["systems"], problem.k, problem.map.r
    some = len(systems[0]["shrunk"])
    total = np.zeros((some, k))

    def slopes(F: Array, part: slice, R: Any) -> Array:
        p = P[part]
        for j, system in enumerate(systems):
            columns = slice(None) if len(systems) == 1 else slice(j, j + 1)
            y, w = Y[part][:, columns], s[part][:, j]
            live = np.flatnonzero(w > 0)
            y, w, q = y[live], w[live, None], p[live]
            t = F[live, j * r : (j + 1) * r] - q @ system["across"]
            bent = system["shrunk"].T
            room = 1.0 - w * (np.sum((q @ system["inverse"]) * q, axis=1)[:, None] + t**2 @ bent)
            fitted = t @ (bent[:, :, None] * system["z"][:, None]).reshape(r, -1)
            residual = (y - q @ system["b"])[:, None] - fitted.reshape(len(y), some, y.shape[1])
            # Leverages are known to rounding of sums of r terms.
            alone = room < 1e-12
            left = residual / np.where(alone, 1.0, room)[:, :, None]
            left[alone] = np.inf
            targets = np.broadcast_to(y[:, None], left.shape)
            cost = loss.value(targets, np.where(np.isfinite(left), targets - left, 0.0))
            cost = np.where(np.isfinite(left), cost, np.inf)
            total[:, columns] += np.einsum("nl,ncj->cj", w, cost)
        return F[:, :0]

    problem.map.sweep(X, state["A"], slopes)
    return Sums(loss=total)


def folded(block: Block, shared: tuple[Problem, Loss], state: dict[str, Any]) -> Sums:
    """Return summed losses of rows by the machines that did not see their fold."""
    problem, loss = shared
    X, Y, s, P, _ = problem.admit(block)
    fold = fold_of(X, state["folds"], problem.seed + FOLD_SEED_OFFSET)
    total: Array | float = 0.0

    def slopes(F: Array, part: slice, R: Any) -> Array:
        nonlocal total
        F = (F + P[part] @ state["b"]).reshape(len(F), state["folds"], -1, problem.k)
        f = F[np.arange(len(F)), fold[part]]
        y = np.broadcast_to(Y[part][:, None], f.shape)
        w = np.broadcast_to(s[part], y[:, 0].shape)
        total = total + np.einsum("nk,nck->ck", w, loss.value(y, f))
        return F.reshape(len(F), -1)[:, :0]

    problem.map.sweep(X, state["A"], slopes)
    return Sums(loss=total)
