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
from scipy.linalg.blas import dsyrk

from mercer._typing import Array
from mercer.data.arrays import Arrays
from mercer.data.base import Block, Sums
from mercer.data.sampling import FingerprintSample
from mercer.kernels.points import pieces
from mercer.losses.base import Loss
from mercer.reduced.base import MAX_DENSE_FEATURES
from mercer.reduced.nystrom import LandmarkFactor, NystromMap
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem, as_rows, columns_of, held_out, rows_of

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
