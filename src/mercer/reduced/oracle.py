r"""The reduced problem as sums over blocks of rows: value, slope, curvature and certificate.

.. math:: F(w, b) = \tfrac12 |w|^2 + \sum_i c_i\, l(y_i, f_i), \qquad f_i = \phi_i'w + p_i'b

With :math:`a_i = -c_i v_i` and v a slope of the loss near :math:`f_i`, the gap to the dual value is
a sum as well: :math:`\tfrac12 |w - \Phi'a|^2 + \sum_i (c_i l(f_i) + c_i l^*(v_i) + a_i f_i) -
b'(B'a - d)`, where d is the linear cost of b if it has one. Nothing is kept of a row from one pass
to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.data.arrays import Arrays
from mercer.data.base import Block, Sums
from mercer.data.sampling import FingerprintSample
from mercer.reduced.base import MAX_DENSE_FEATURES
from mercer.reduced.block_sums import curvature, evaluate, in_features, product, weigh
from mercer.reduced.landmark_factor import LandmarkFactor
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem

__all__ = ["CURVATURE_ROWS_PER_FEATURE", "SIZE_ROWS", "Evaluation", "Oracle", "Summed"]


# Number of rows that one of a pool has to stand for, if the pool is to be minimized first. That
# costs as many estimates of the curvature as it saves, and saves half of the passes.
MIN_ROWS_PER_DRAWN = 8

# Relative error of a sum of products, and that of a curvature of one that does no harm.
ROUNDING, MAX_CURVATURE_ERROR = 64 * 2.0**-53, 1e-3

# Rows for each feature that curvature is estimated from.
CURVATURE_ROWS_PER_FEATURE = 10

# Rows that tell how large decision values are.
SIZE_ROWS = 2000


@dataclass(frozen=True)
class Summed:
    """Sums of curvatures (k, size, size), one for all problems where they differ in C only.

    Those that are exact give steps, others precondition them.
    """

    H: Array
    exact: NDArray[np.bool_]


@dataclass(frozen=True)
class Evaluation:
    """Value, slopes and certificate at a point, a number or column for each problem.

    Parameters
    ----------
    primal, gap : (k,) arrays
        Value of the problem, and how far above its minimum it can be if B'a = 0.
    gw, gb : (r, k) and (q, k) arrays
        Slopes in the features and in the free columns.
    young : (k,) array
        Part of the gap that is of slopes other than those of the losses at the point.
    residual : (k,) array
        Largest entry of B'a over the size of its terms.
    size : (q, k) array
        Sizes of these terms.
    H : Summed or None
        Curvature.
    S : (k, q, q) array or None
        Curvature of the free columns, where slopes were tilted.
    """

    primal: Array
    gap: Array
    gw: Array
    gb: Array
    young: Array
    residual: Array
    size: Array
    H: Summed | None
    S: Array | None = None


class Oracle:
    """The reduced problem, asked by passes over all rows.

    Parameters
    ----------
    problem : Problem
    passes : Passes
    pool : Sample
        Rows that curvature is estimated from, if the features are many.
    """

    def __init__(self, problem: Problem, passes: Passes, pool: FingerprintSample) -> None:
        # Of a sum of n numbers its last digits are wrong, more so if features are made of it, and
        # curvature is to be told from the penalty's, which is one.
        weight = pool.n * (1.0 if pool.s is None else float(np.mean(pool.s)))
        wrong = ROUNDING * float(np.max(problem.C)) * weight * problem.map.steepness**2
        problem = replace(problem, direct=wrong <= MAX_CURVATURE_ERROR)
        self.problem, self.passes, self.pool = problem, passes, pool
        size = problem.map.r + problem.free
        self.by_landmarks = problem.map.low_memory and problem.loss.quadratic
        self.dense = size <= MAX_DENSE_FEATURES and not self.by_landmarks
        k, q = problem.k, problem.free
        self.d = np.zeros((q, k))
        self.feasible = True
        if problem.walls is not None:
            found = passes("weigh", weigh, problem)
            priced = problem.walls.shares(problem.null_space.size(problem.p), k)
            self.d = priced * found["weight"]
            # Some of the rows may not have what all have, and are only to show the way.
            most = np.where(priced != 0, found["columns"], 0.0)
            self.feasible = bool(np.all(np.abs(self.d) <= most * (1.0 + 1e-12)))
            self.d = np.clip(self.d, -most, most)

    def spread(self) -> float:
        """Return how far decision values of a feasible dual vector spread, as some rows tell."""
        problem, some = self.problem, min(SIZE_ROWS, len(self.pool.keys))
        y, w = (None if v is None else np.asarray(v)[:some] for v in (self.pool.y, self.pool.s))
        X, Y, s, P, _ = problem.admit(Block(self.pool.X[:some], y, w, 0), self.pool.rows[:some])
        c = np.broadcast_to(s * problem.C, Y.shape) * (self.pool.n / some)
        weight = np.abs(P).T @ c
        a = c * (P @ np.divide(self.d, weight, out=np.zeros_like(self.d), where=weight > 0))
        F = np.zeros((some, problem.k))

        def values(f: Array, part: slice, R: Any) -> Array:
            F[part.start // problem.views : -(-part.stop // problem.views)] = f
            return a[part]

        still = np.zeros((problem.map.m, problem.k))
        raw = problem.sweep(X, still, values)
        problem.sweep(X, problem.map.lift(problem.map.lower(raw)), values)
        return float(np.sqrt(np.mean(F * F)))

    def of_pool(self) -> Oracle | None:
        """Return the problem of the pool, whose rows each stand for many rows; None if for few.

        Its minimum is a start: the rows that are left out tell it apart from the minimum of all,
        and they have no part in the many steps that lead near it.
        """
        pool, drawn = self.pool, len(self.pool.keys)
        rowwise = any(np.ndim(v) == 1 for v in self.problem.loss.get_params(deep=False).values())
        if rowwise or pool.n < MIN_ROWS_PER_DRAWN * drawn:
            return None
        some = Arrays(pool.X, pool.y, pool.s)
        rows = Passes(some, self.passes.rows, n_jobs=self.passes.n_jobs)
        problem = replace(self.problem, C=self.problem.C * (pool.n / drawn))
        return Oracle(problem, rows, replace(pool, n=drawn))

    def evaluate(
        self,
        W: Array,
        b: Array,
        name: str = "value",
        curved: bool = True,
        tilt: Array | None = None,
    ) -> Evaluation:
        """Return value, slopes and certificate at points.

        Parameters
        ----------
        W, b : (r, j k) and (q, j k) arrays
            Coefficients of features and free columns; those of one point after the other.
        name : str
            What the pass is called.
        curved : bool, default=True
            Whether the curvature is wanted too.
        tilt : (q, k) array, optional
            By what slopes of curved rows are changed; see :class:`Slopes`.
        """
        state = self.state(W, b) | {"dense": curved and self.dense}
        if tilt is not None:
            state["tilt"] = tilt
        sums = self.passes(name, evaluate, self.problem, state)
        norm = 0.5 * np.sum(W * W, axis=0)
        gw = W + self.problem.map.lower(sums["raw"])
        d = np.tile(self.d, W.shape[1] // self.problem.k)
        gb, tilt = sums["free"] + d, np.sum(b * d, axis=0)
        gap = 0.5 * np.sum(gw * gw, axis=0) + sums["young"]
        size = sums["size"] + np.abs(d)
        ratio = np.divide(np.abs(gb), size, out=np.zeros_like(gb), where=size > 0)
        return Evaluation(
            primal=norm + tilt + sums["loss"],
            gap=gap,
            gw=gw,
            gb=gb,
            young=sums["young"],
            residual=np.max(ratio, axis=0, initial=0.0),
            size=size,
            H=self._curvature(sums, state) if curved and not self.by_landmarks else None,
            S=sums["S"],
        )

    def state(self, W: Array, b: Array) -> dict[str, Any]:
        """Return a point as passes see it."""
        return {"A": self.problem.map.lift(W), "b": b}

    def landmark_factors(self) -> list[LandmarkFactor]:
        """Return what preconditions the problems, from the landmarks: one for every weight."""
        problem, phi = self.problem, self.problem.map
        assert isinstance(phi, NystromMap)
        s = 1.0 if self.pool.s is None else float(np.mean(self.pool.s))
        P = problem.null_space(phi.Z)
        each = {C: LandmarkFactor(phi.R, P, C * s * self.pool.n) for C in set(problem.C.tolist())}
        return [each[C] for C in problem.C.tolist()]

    def _curvature(self, sums: Sums, state: dict[str, Any]) -> Summed:
        """Return the curvature of all rows, or its estimate from some of them."""
        if self.dense:
            H = np.stack([in_features(self.problem, S) for S in sums["H"]])
            return Summed(H, np.ones(self.problem.k, dtype=bool))
        sample = self.pool
        H = curvature(self.problem, state, sample) * (sample.n / max(1, len(sample.keys)))
        # Rows that are equal are drawn once, so that a sample of all may still not be all.
        exact = len(sample.keys) == sample.n
        return Summed(H, np.full(self.problem.k, exact))

    def product(
        self,
        W: Array,
        b: Array,
        V: Array,
        vb: Array,
        columns: NDArray[np.intp],
        single: bool,
    ) -> tuple[Array, Array]:
        """Return the curvature at a point times directions of some of the problems."""
        lift = self.problem.map.lift
        state: dict[str, Any] = {"V": lift(V), "vb": vb, "columns": columns, "single": single}
        if not self.problem.loss.quadratic:
            state |= {"A": lift(W[:, columns]), "b": b[:, columns]}
        sums = self.passes("curvature", product, self.problem, state)
        return V + self.problem.map.lower(sums["raw"]), sums["free"]
