r"""The reduced problem as sums over blocks of rows: value, slope, curvature and certificate.

.. math:: F(w, b) = \tfrac12 |w|^2 + \sum_i c_i\, l(y_i, f_i), \qquad f_i = \phi_i'w + p_i'b

With :math:`a_i = -c_i v_i` and v a slope of the loss near :math:`f_i`, the gap to the dual value is
a sum as well: :math:`\tfrac12 |w - \Phi'a|^2 + \sum_i (c_i l(f_i) + c_i l^*(v_i) + a_i f_i) -
b'(B'a - d)`, where d is the linear cost of b if it has one. Nothing is kept of a row from one pass
to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from mercer.data.arrays import Arrays
from mercer.data.base import Block, Sums
from mercer.data.sampling import Sample, fingerprints, sampled
from mercer.kernels._single import pieces
from mercer.losses.base import Loss
from mercer.losses.smoothed import smoothed
from mercer.reduced.base import DENSE, Array, FeatureMap
from mercer.reduced.passes import Passes
from mercer.reduced.targets import Targets
from mercer.reduced.walls import Walls
from mercer.regularizers.null_space import NullSpace

__all__ = ["ROWS", "Evaluation", "Oracle", "Problem", "held_out"]

# Part of the weights that counts as curvature where a loss has none: keeps unpenalized directions
# determined while every row lies on a straight piece of the loss.
FLOOR = 1e-8

# Rows whose losses are summed at once: each call of NumPy costs as much as some hundred numbers.
LEDGER = 2048

# Rows of a part where their curvature is summed: a product with few would read the sum too often.
TALL = 1024

# Number of rows that one of a pool has to stand for, if the pool is to be minimized first. That
# costs as many estimates of the curvature as it saves, and saves half of the passes.
STANDS_FOR, STANDS_FOR_KINKED = 8, 32

# Relative error of a sum of products, and that of a curvature of one that does no harm.
ROUNDING, TOLD = 64 * 2.0**-53, 1e-3

# Rows for each feature that curvature is estimated from.
ROWS = 10

# Rows that tell how large decision values are.
SOME = 2000


@dataclass
class Problem:
    """All that blocks of rows need to know, the same in every pass.

    Parameters
    ----------
    map : FeatureMap
    null_space : NullSpace
        Unpenalized functions.
    targets : Targets
        What the problems see of a row.
    loss : Loss
        Parameters are numbers, or one for each problem as arrays of shape (1, k), or one for each
        row.
    C : (k,) array
        Weight of the summed loss, for each problem.
    p : int
        Number of features.
    seed : int
        Of the fingerprints that pick rows for a part of the curvature.
    held_out : float
        Share of the rows, by another fingerprint, that are left out.
    walls : Walls, optional
        A margin or tube whose width is a variable: columns that depend on targets, at a price.
    direct : bool
        Sum curvature over raw functions, and make features of the sum: half of the work, where that
        loses no digits that are needed.
    """

    map: FeatureMap
    null_space: NullSpace
    targets: Targets
    loss: Loss
    C: Array
    p: int
    seed: int = 0
    held_out: float = 0.0
    walls: Walls | None = None
    direct: bool = False

    @property
    def k(self) -> int:
        """Number of problems."""
        return self.targets.k

    @property
    def free(self) -> int:
        """Number of unpenalized columns."""
        q = self.null_space.size(self.p)
        return q if self.walls is None else self.walls.size(q)

    @property
    def views(self) -> int:
        """How often a row is seen."""
        return 1 if self.walls is None else self.walls.views

    def admit(self, block: Block, rows: Any = None) -> tuple[Any, Array, Array, Array, Loss]:
        """Return points, and of what is seen of them targets, weights, free columns and loss.

        Rows that are not one after the other have their numbers in `rows`.
        """
        X = as_rows(block)
        Y, s = self.targets(block)
        if self.held_out:
            s = s * ~held_out(X, self.seed, self.held_out)[:, None]
        P = self.null_space(X)
        if not np.all(np.isfinite(P)):
            row = block.start + int(np.flatnonzero(~np.isfinite(P).all(axis=1))[0])
            raise ValueError(f"an unpenalized function is not finite at row {row}")
        loss = loss_of(self.loss, block, rows)
        if self.walls is None:
            return X, Y, s, P, loss
        P, loss = self.walls.columns(P, Y, block), self.walls.loss(loss, block.n)
        Y, s = (np.repeat(part, self.views, axis=0) for part in (Y, s))
        return X, Y, s, P, loss

    def sweep(
        self,
        X: Any,
        A: Array,
        slopes: Callable[[Array, slice, Any], Array],
        single: bool = False,
        rows: int | None = None,
    ) -> Array:
        """Sweep over points by the map; their values are made once for all that is seen of them.

        Slices that `slopes` is given are of what is seen, as :meth:`admit` returns it.
        """
        views = self.views
        if views == 1:
            return self.map.sweep(X, A, slopes, single, rows)

        def summed(F: Array, part: slice, R: Any) -> Array:
            ends = views * part.start, views * part.stop
            each = [slopes(F, slice(ends[0] + j, ends[1], views), R) for j in range(views)]
            return np.asarray(np.sum(each, axis=0))

        return self.map.sweep(X, A, summed, single, rows)


def as_rows(block: Block) -> Any:
    """Return the points of a block, which was checked, in float64."""
    X: Any = block.X
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64) if X.dtype != object else X


def held_out(X: Any, seed: int, share: float) -> NDArray[np.bool_]:
    """Answer which rows are held out: a share of those that differ, whoever asks."""
    return fingerprints(X, seed + 1) < np.uint64(share * 2.0**64)


def _replaced(loss: Loss, pick: Callable[[Any], Any]) -> Loss:
    """Return a loss with some of its parameters in place of all, and of losses inside of it."""
    return type(loss)(
        **{
            name: _replaced(value, pick) if isinstance(value, Loss) else pick(value)
            for name, value in loss.get_params(deep=False).items()
        }
    )


def loss_of(loss: Loss, block: Block, rows: Any = None) -> Loss:
    """Return the loss of a block of rows, its parameters as columns where each row has its own."""
    if not any(np.ndim(value) == 1 for value in loss.per_sample().values()):
        return loss
    rows = slice(block.start, block.start + block.n) if rows is None else rows
    return _replaced(loss, lambda x: np.asarray(x)[rows, None] if np.ndim(x) == 1 else x)


def rows_of(loss: Loss, rows: slice) -> Loss:
    """Return the loss of some of the rows of a block, where each has parameters of its own."""
    params = loss.get_params().values()
    if not any(np.ndim(value) == 2 and np.shape(value)[0] > 1 for value in params):
        return loss
    return _replaced(loss, lambda x: np.asarray(x)[rows] if np.ndim(x) == 2 and len(x) > 1 else x)


def columns_of(loss: Loss, columns: NDArray[np.intp]) -> Loss:
    """Return the loss of some of the problems, where each has parameters of its own."""
    params = loss.get_params().values()
    if not any(np.ndim(value) == 2 and np.shape(value)[1] > 1 for value in params):
        return loss
    return _replaced(loss, lambda x: np.asarray(x)[:, columns] if np.ndim(x) == 2 else x)


class Rounded:
    r"""A loss with its kinks rounded around slopes that earlier points had.

    .. math:: l_\mu(f) = \sup_v\, v f - l^*(v) - \tfrac{\mu}{2} (v - v_0)^2

    The slopes :math:`v_0` are those of earlier rounded losses at earlier points, so that they are
    computed again from the coefficients of these points, and need not be kept.

    Parameters
    ----------
    loss : Loss
    state : dict
        ``mu`` (k,), and of earlier points ``A0`` (m, h k), ``b0`` (q, h k) and ``mu0`` (h, k).
    columns : index
        Which of the k problems.
    """

    def __init__(self, loss: Loss, state: dict[str, Any], columns: Any = slice(None)) -> None:
        self.loss, self.state, self.columns = loss, state, columns
        self.mu = state["mu"][None, columns]
        self.rounded = smoothed(loss, self.mu)
        self.earlier: list[tuple[Array, Array]] = []
        if not loss.smooth and len(state["mu0"]):
            h, k = state["mu0"].shape
            A, b = (state[name].reshape(-1, h, k)[:, :, columns] for name in ("A0", "b0"))
            self.A = A.reshape(len(A), -1)
            self.A_single = self.A.astype(np.float32)
            self.earlier = list(zip(b.swapaxes(0, 1), state["mu0"][:, None, columns], strict=True))

    def of(self, rows: slice) -> Rounded:
        """Return the loss of some of the rows, where each has parameters of its own."""
        loss = rows_of(self.loss, rows)
        return self if loss is self.loss else Rounded(loss, self.state, self.columns)

    def repeated(self, points: int) -> Rounded:
        """Return the loss at several points, without what earlier ones tell."""
        state = {"mu": np.tile(self.state["mu"], points), "mu0": self.state["mu0"][:0]}
        k = len(self.state["mu"])
        return Rounded(columns_of(self.loss, np.tile(np.arange(k), points)), state)

    def centre(self, y: Array, R: Any, p: Array) -> Array:
        """Return the slopes that earlier points left for rows with these raw values."""
        v = np.zeros(y.shape)
        if not self.earlier:
            return v
        values = R @ (self.A_single if R.dtype == np.float32 else self.A)
        k = y.shape[1]
        for j, (b, mu) in enumerate(self.earlier):
            f = np.asarray(values[:, j * k : (j + 1) * k], dtype=np.float64) + p @ b
            met = mu > 0  # a problem that has fewer earlier points than others
            v = np.where(met, smoothed(self.loss, mu).gradient(y, f + mu * v), v)
        return v


class Slopes:
    """Slopes of rounded losses at one or several points, and where and around what they were taken.

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
    ) -> None:
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
        v = self.v[part] = rounding.rounded.gradient(y, F)
        if self.curvature is not None:
            D = np.broadcast_to(rounding.rounded.curvature(y, F), F.shape)
            self.curvature.add(D, self.s[part], self.P[part], R)
        return np.asarray(self.c[part] * v)

    def sums(self) -> Sums:
        """Return what adds up to value and gap."""
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
        if not loss.smooth:
            young = np.maximum(value + loss.conjugate(y, v) - v * F, 0.0)
        return Sums(
            free=P.T @ G,
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


def evaluate(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return value, slopes and gap at several points, and what tells the curvature at one."""
    X, Y, s, P, loss = problem.admit(block)
    A, b = state["A"], state["b"]
    rounding = Rounded(loss, state)
    c = np.broadcast_to(s * problem.C, Y.shape)
    total = Curvature(problem, s, P) if state["dense"] else None
    sums: Sums | None = None
    curved = []
    for rows in pieces(0, block.n, LEDGER):
        seen = slice(problem.views * rows.start, problem.views * rows.stop)
        slopes = Slopes(rounding.of(seen), Y[seen], c[seen], P[seen], b, total, s[seen])
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


class Curvature:
    """The sum of ``d u u'`` over rows, u their features, or raw values, and free columns."""

    def __init__(self, problem: Problem, s: Array, P: Array) -> None:
        self.problem = problem
        self.alike = problem.loss.quadratic and s.shape[1] == 1
        n = 1 if self.alike else problem.k
        size = (problem.map.m if problem.direct else problem.map.r) + P.shape[1]
        self.H = np.zeros((n, size, size))

    def add(self, D: Array, s: Array, P: Array, R: Any) -> None:
        """Add rows with weights, free columns, raw values R and curvatures D of the loss."""
        weights = s if self.alike else s * (D + FLOOR) * self.problem.C
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


def curvature(problem: Problem, state: dict[str, Any], sample: Sample) -> Array:
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

    problem.sweep(X, state["A"], slopes, rows=TALL)
    return np.stack([in_features(problem, S) for S in total.total])


def score(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return the weighted sum of losses of the rows that were held out, and of their weights."""
    keep = np.flatnonzero(held_out(as_rows(block), problem.seed, problem.held_out))
    y, s = (None if part is None else np.asarray(part)[keep] for part in (block.y, block.s))
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
            D = D * (own.rounded.curvature(Y[part], at) + FLOOR)
        G: Array = D * (F[:, : len(columns)] + p @ b)
        free = free + p.T @ G
        return G

    return Sums(n=np.array(block.n), raw=problem.sweep(X, A, slopes, single), free=free)


def weigh(block: Block, problem: Problem, state: None) -> Sums:
    """Return the weight of what each problem sees, and of that in every free column."""
    _, Y, s, P, _ = problem.admit(block)
    c = np.broadcast_to(s * problem.C, Y.shape)
    return Sums(n=np.array(block.n), weight=np.sum(c, axis=0), columns=np.abs(P).T @ c)


@dataclass(frozen=True)
class Summed:
    """Sums of curvatures (k, size, size), one for all problems where they differ in C only.

    Those that are exact give steps, others precondition them.
    """

    H: Array
    exact: NDArray[np.bool_]


@dataclass(frozen=True)
class Evaluation:
    """What one pass says of a point, a number or column for each problem.

    Parameters
    ----------
    smooth : (k,) array
        Value of the problem with its kinks rounded.
    primal, gap : (k,) arrays
        Value of the problem itself, and how far above its minimum it can be if B'a = 0.
    gw, gb : (r, k) and (q, k) arrays
        Slopes of the rounded problem.
    young : (k,) array
        Part of the gap that is due to rounding.
    residual : (k,) array
        Largest entry of B'a over the size of its terms.
    size : (q, k) array
        Sizes of these terms.
    active : (k,) array
        Rows where the loss is curved.
    H : Summed or None
        Curvature.
    """

    smooth: Array
    primal: Array
    gap: Array
    gw: Array
    gb: Array
    young: Array
    residual: Array
    size: Array
    active: Array
    H: Summed | None


class Oracle:
    """The reduced problem, asked by passes over all rows.

    Parameters
    ----------
    problem : Problem
    passes : Passes
    pool : Sample
        Rows that curvature is estimated from, if the features are many.
    """

    def __init__(self, problem: Problem, passes: Passes, pool: Sample) -> None:
        # Of a sum of n numbers its last digits are wrong, more so if features are made of it, and
        # curvature is to be told from the penalty's, which is one.
        weight = pool.n * (1.0 if pool.s is None else float(np.mean(np.maximum(pool.s, 0.0))))
        wrong = ROUNDING * float(np.max(problem.C)) * weight * problem.map.steepness**2
        problem = replace(problem, direct=wrong <= TOLD)
        self.problem, self.passes, self.pool = problem, passes, pool
        size = problem.map.r + problem.free
        self.dense = size <= DENSE
        self.rows_for_curvature = ROWS * size
        k, q = problem.k, problem.free
        self._earlier: dict[str, Array] = {
            "A0": np.zeros((problem.map.m, 0)),
            "b0": np.zeros((q, 0)),
            "mu0": np.zeros((0, k)),
        }
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
        problem, some = self.problem, min(SOME, len(self.pool.keys))
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
        """Return the problem of the pool, each row of which stands for many; None if not for many.

        Its minimum is a start: the rows that are left out tell it apart from the minimum of all,
        and they have no part in the many steps that lead near it.
        """
        pool, drawn = self.pool, len(self.pool.keys)
        rowwise = any(np.ndim(v) == 1 for v in self.problem.loss.get_params(deep=False).values())
        many = STANDS_FOR if self.problem.loss.smooth else STANDS_FOR_KINKED
        if rowwise or pool.n < many * drawn:
            return None
        some = Arrays(pool.X, pool.y, pool.s)
        rows = Passes(some, self.passes.rows, n_jobs=self.passes.n_jobs)
        problem = replace(self.problem, C=self.problem.C * (pool.n / drawn))
        return Oracle(problem, rows, replace(pool, n=drawn))

    def recall(self, other: Oracle) -> None:
        """Round kinks around the same slopes as another oracle."""
        self._earlier = dict(other._earlier)

    def remember(self, W: Array, b: Array, mu: Array) -> None:
        """Round kinks from now on around the slopes at a point, for problems where mu is not 0."""
        A = self.problem.map.lift(W)
        for name, value in (("A0", A), ("b0", b)):
            self._earlier[name] = np.hstack([self._earlier[name], value])
        self._earlier["mu0"] = np.vstack([self._earlier["mu0"], mu])

    def evaluate(
        self, W: Array, b: Array, mu: Array, name: str = "value", curved: bool = True
    ) -> Evaluation:
        """Return value, slopes and certificate at points.

        Parameters
        ----------
        W, b : (r, j k) and (q, j k) arrays
            Coefficients of features and free columns; those of one point after the other.
        mu : (k,) array
            How far kinks are rounded.
        name : str
            What the pass is called.
        curved : bool, default=True
            Whether the curvature is wanted too.
        """
        smooth = self.problem.loss.smooth
        state = self.state(W, b, mu) | {
            "dense": curved and self.dense,
            "sample": self.rows_for_curvature if curved and not (self.dense or smooth) else 0,
        }
        sums = self.passes(name, evaluate, self.problem, state)
        norm = 0.5 * np.sum(W * W, axis=0)
        gw = W + self.problem.map.lower(sums["raw"])
        d = np.tile(self.d, W.shape[1] // self.problem.k)
        gb, tilt = sums["free"] + d, np.sum(b * d, axis=0)
        gap = 0.5 * np.sum(gw * gw, axis=0) + sums["young"]
        size = sums["size"] + np.abs(d)
        ratio = np.divide(np.abs(gb), size, out=np.zeros_like(gb), where=size > 0)
        return Evaluation(
            smooth=norm + tilt + sums["smooth"],
            primal=norm + tilt + sums["loss"],
            gap=gap,
            gw=gw,
            gb=gb,
            young=sums["young"],
            residual=np.max(ratio, axis=0, initial=0.0),
            size=size,
            active=sums["active"],
            H=self._curvature(sums, state) if curved else None,
        )

    def state(self, W: Array, b: Array, mu: Array) -> dict[str, Any]:
        """Return a point as passes see it."""
        return {"A": self.problem.map.lift(W), "b": b, "mu": mu, **self._earlier}

    def _curvature(self, sums: Sums, state: dict[str, Any]) -> Summed:
        """Return the curvature of all rows, or what some of them let expect."""
        if self.dense:
            H = np.stack([in_features(self.problem, S) for S in sums["H"]])
            return Summed(H, np.ones(self.problem.k, dtype=bool))
        sample: Sample = self.pool if self.problem.loss.smooth else sums["sample"]
        H = curvature(self.problem, state, sample) * (sample.n / max(1, len(sample.keys)))
        # Rows that are equal are drawn once, so that a sample of all may still not be all.
        exact = len(sample.keys) == sample.n
        return Summed(H, np.full(self.problem.k, exact))

    def product(
        self,
        W: Array,
        b: Array,
        mu: Array,
        V: Array,
        vb: Array,
        columns: NDArray[np.intp],
        single: bool,
    ) -> tuple[Array, Array]:
        """Return the curvature at a point times directions of some of the problems."""
        lift = self.problem.map.lift
        state: dict[str, Any] = {"V": lift(V), "vb": vb, "columns": columns, "single": single}
        if not self.problem.loss.quadratic:
            state |= {"A": lift(W[:, columns]), "b": b[:, columns], "mu": mu, **self._earlier}
        sums = self.passes("curvature", product, self.problem, state)
        return V + self.problem.map.lower(sums["raw"]), sums["free"]
