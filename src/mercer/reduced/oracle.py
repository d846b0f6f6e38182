r"""The reduced problem as sums over blocks of rows: value, slope, curvature and certificate.

.. math:: F(w, b) = \tfrac12 |w|^2 + \sum_i c_i\, l(y_i, f_i), \qquad f_i = \phi_i'w + p_i'b

With :math:`a_i = -c_i v_i` and v a slope of the loss near :math:`f_i`, the gap to the dual value is
a sum as well: :math:`\tfrac12 |w - \Phi'a|^2 + \sum_i (c_i l(f_i) + c_i l^*(v_i) + a_i f_i) -
b'B'a`. Nothing is kept of a row from one pass to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.base import Block, Sums
from mercer.data.sampling import Sample, fingerprints, sampled
from mercer.losses.base import Loss
from mercer.losses.smoothed import smoothed
from mercer.reduced.base import DENSE, Array, FeatureMap
from mercer.reduced.passes import Passes
from mercer.reduced.targets import Targets
from mercer.regularizers.null_space import NullSpace

__all__ = ["ROWS", "Evaluation", "Oracle", "Problem", "held_out"]

# Part of the weights that counts as curvature where a loss has none: keeps unpenalized directions
# determined while every row lies on a straight piece of the loss.
FLOOR = 1e-8

# Rows for each feature that curvature is estimated from.
ROWS = 10


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
    """

    map: FeatureMap
    null_space: NullSpace
    targets: Targets
    loss: Loss
    C: Array
    p: int
    seed: int = 0
    held_out: float = 0.0

    @property
    def k(self) -> int:
        """Number of problems."""
        return self.targets.k

    @property
    def free(self) -> int:
        """Number of unpenalized functions."""
        return self.null_space.size(self.p)

    def admit(self, block: Block, rows: Any = None) -> tuple[Any, Array, Array, Array, Loss]:
        """Return points, targets, weights, unpenalized columns and loss of a block.

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
        return X, Y, s, P, loss_of(self.loss, block, rows)


def as_rows(block: Block) -> Any:
    """Return the points of a block, which was checked, in float64."""
    X: Any = block.X
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64) if X.dtype != object else X


def held_out(X: Any, seed: int, share: float) -> NDArray[np.bool_]:
    """Answer which rows are held out: a share of those that differ, whoever asks."""
    return fingerprints(X, seed + 1) < np.uint64(share * 2.0**64)


def loss_of(loss: Loss, block: Block, rows: Any = None) -> Loss:
    """Return the loss of a block of rows, its parameters as columns where each row has its own."""
    params = loss.get_params(deep=False)
    if not any(np.ndim(value) == 1 for value in params.values()):
        return loss
    rows = slice(block.start, block.start + block.n) if rows is None else rows
    return type(loss)(
        **{
            name: np.asarray(value)[rows, None] if np.ndim(value) == 1 else value
            for name, value in params.items()
        }
    )


def columns_of(loss: Loss, columns: NDArray[np.intp]) -> Loss:
    """Return the loss of some of the problems, where each has parameters of its own."""
    params = loss.get_params(deep=False)
    if not any(np.ndim(value) == 2 and np.shape(value)[1] > 1 for value in params.values()):
        return loss
    return type(loss)(
        **{
            name: np.asarray(value)[:, columns] if np.ndim(value) == 2 else value
            for name, value in params.items()
        }
    )


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
        self.loss, self.smooth = loss, loss.smooth
        self.mu = state["mu"][None, columns]
        self.rounded = smoothed(loss, self.mu)
        self.earlier: list[tuple[Array, Array, Array]] = []
        if not self.smooth:
            k = len(state["mu"])
            for j, mu in enumerate(state["mu0"]):
                part = slice(j * k, (j + 1) * k)
                A, b = state["A0"][:, part], state["b0"][:, part]
                self.earlier.append((A[:, columns], b[:, columns], mu[None, columns]))

    def centre(self, y: Array, R: Any, p: Array) -> Array | None:
        """Return the slopes that earlier points left for rows with these raw values."""
        if not self.earlier:
            return None
        v = np.zeros(y.shape)
        values = R @ np.hstack([A for A, _, _ in self.earlier]).astype(R.dtype, copy=False)
        k = y.shape[1]
        for j, (_, b, mu) in enumerate(self.earlier):
            f = np.asarray(values[:, j * k : (j + 1) * k], dtype=np.float64) + p @ b
            met = mu > 0  # a problem that has fewer earlier points than others
            v = np.where(met, smoothed(self.loss, mu).gradient(y, f + mu * v), v)
        return v


def evaluate(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return value, slopes and gap at several points, and what tells the curvature at one."""
    X, Y, s, P, loss = problem.admit(block)
    A, b = state["A"], state["b"]
    points, q, k = A.shape[1] // problem.k, P.shape[1], A.shape[1]
    rounding = Rounded(loss, state)
    rounded, mu = rounding.rounded, rounding.mu
    if points > 1:
        mu = np.tile(mu, points)
        rounded = smoothed(loss, mu)
    c = np.tile(np.broadcast_to(s * problem.C, Y.shape), points)
    sums = Sums(
        n=np.array(block.n),
        free=np.zeros((q, k)),
        size=np.zeros((q, k)),
        smooth=np.zeros(k),
        loss=np.zeros(k),
        young=np.zeros(k),
        active=np.zeros(problem.k),
    )
    curvature = Curvature(problem, s, P) if state["dense"] else None
    curved = np.zeros(block.n, dtype=bool)

    def slopes(F: Array, part: slice, R: Any) -> Array:
        y, w = np.tile(Y[part], points), c[part]
        F = F + P[part] @ b
        shifted, before = F, rounding.centre(Y[part], R, P[part])
        if before is not None:
            before = np.tile(before, points)
            shifted = F + mu * before
        v = rounded.gradient(y, shifted)
        G = w * v
        sums["free"] += P[part].T @ G
        sums["size"] += np.abs(P[part]).T @ np.maximum(np.abs(G), 1e-6 * w)
        smooth = rounded.value(y, shifted)
        if before is not None:
            smooth = smooth - 0.5 * mu * before**2
        sums["smooth"] += np.sum(w * smooth, axis=0)
        if loss.smooth:
            sums["loss"] = sums["smooth"]
        else:
            value = loss.value(y, F)
            sums["loss"] += np.sum(w * value, axis=0)
            young = np.maximum(value + loss.conjugate(y, v) - v * F, 0.0)
            sums["young"] += np.sum(w * young, axis=0)
        if points == 1:
            D = np.broadcast_to(rounded.curvature(y, shifted), F.shape)
            live = (D > 0) & (w > 0)
            sums["active"] += np.sum(live, axis=0)
            curved[part] = live.any(axis=1)
            if curvature is not None:
                curvature.add(D, part, R)
        return G

    sums["raw"] = problem.map.sweep(X, A, slopes)
    if curvature is not None:
        sums["H"] = curvature.H
    if state["sample"]:
        rows = np.flatnonzero(curved)
        y, w = (None if part is None else np.asarray(part)[rows] for part in (block.y, block.s))
        some = sampled(Block(X[rows], y, w, 0), state["sample"], problem.seed + 2)
        sums["sample"] = replace(some, rows=block.start + rows[some.rows])
    return sums


class Curvature:
    """The sum of ``d u u'`` over rows, u their features and free columns."""

    def __init__(self, problem: Problem, s: Array, P: Array) -> None:
        self.problem, self.s, self.P = problem, s, P
        self.alike = problem.loss.quadratic and s.shape[1] == 1
        n, size = (1 if self.alike else problem.k), problem.map.r + P.shape[1]
        self.H = np.zeros((n, size, size))

    def add(self, D: Array, part: slice, R: Any) -> None:
        """Add rows with raw values R and curvatures D of the loss."""
        weights = self.s[part] if self.alike else self.s[part] * (D + FLOOR) * self.problem.C
        features = None
        for j in range(len(self.H)):
            w = weights[:, j]
            rows = np.flatnonzero((w > 0) & (D[:, j] > 0))
            if not len(rows):
                continue
            if len(self.H) == 1:
                phi = self.problem.map.features(R[rows])
            else:
                # Most rows are curved for several problems: their features are made once.
                features = self.problem.map.features(R) if features is None else features
                phi = features[rows]
            U = np.hstack([phi, self.P[part][rows]]) * np.sqrt(w[rows])[:, None]
            self.H[j] += U.T @ U


def curvature(problem: Problem, state: dict[str, Any], sample: Sample) -> Array:
    """Return the sum of curvatures over the rows of a sample, each counted once."""
    block = Block(sample.X, sample.y, sample.s, 0)
    X, Y, s, P, loss = problem.admit(block, sample.rows)
    rounding = Rounded(loss, state)
    total = Curvature(problem, s, P)

    def slopes(F: Array, part: slice, R: Any) -> Array:
        before = rounding.centre(Y[part], R, P[part])
        F = F + P[part] @ state["b"]
        shifted = F if before is None else F + rounding.mu * before
        total.add(np.broadcast_to(rounding.rounded.curvature(Y[part], shifted), F.shape), part, R)
        return F[:, :0]

    problem.map.sweep(X, state["A"], slopes)
    return total.H


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
        total = total + np.sum(w[part] * loss.value(Y[part], F + P[part] @ state["b"]), axis=0)
        return F[:, :0]

    problem.map.sweep(X, state["A"], slopes)
    return Sums(n=np.array(block.n), loss=total, weight=w.sum(axis=0))


def product(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return sums of products of the curvature at a point with directions."""
    X, Y, s, P, loss = problem.admit(block)
    V, b, columns, single = state["V"], state["vb"], state["columns"], state["single"]
    c = np.broadcast_to(s * problem.C, (block.n, problem.k))[:, columns]
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
            at = F[:, len(columns) :] + p @ state["b"]
            before = rounding.centre(Y[part], R, p)
            at = at if before is None else at + rounding.mu * before
            D = D * (rounding.rounded.curvature(Y[part], at) + FLOOR)
        G: Array = D * (F[:, : len(columns)] + p @ b)
        free = free + p.T @ G
        return G

    return Sums(n=np.array(block.n), raw=problem.map.sweep(X, A, slopes, single), free=free)


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
        Value of the problem itself, and how far above its minimum it can be.
    gw, gb : (r, k) and (q, k) arrays
        Slopes of the rounded problem.
    young : (k,) array
        Part of the gap that is due to rounding.
    residual : (k,) array
        Largest entry of B'a over the size of its terms.
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
        gw, gb = W + self.problem.map.lower(sums["raw"]), sums["free"]
        gap = 0.5 * np.sum(gw * gw, axis=0) + sums["young"] + np.abs(np.sum(b * gb, axis=0))
        size = sums["size"]
        ratio = np.divide(np.abs(gb), size, out=np.zeros_like(gb), where=size > 0)
        return Evaluation(
            smooth=norm + sums["smooth"],
            primal=norm + sums["loss"],
            gap=gap,
            gw=gw,
            gb=gb,
            young=sums["young"],
            residual=np.max(ratio, axis=0, initial=0.0),
            active=sums["active"],
            H=self._curvature(sums, state) if curved else None,
        )

    def state(self, W: Array, b: Array, mu: Array) -> dict[str, Any]:
        """Return a point as passes see it."""
        return {"A": self.problem.map.lift(W), "b": b, "mu": mu, **self._earlier}

    def _curvature(self, sums: Sums, state: dict[str, Any]) -> Summed:
        """Return the curvature of all rows, or what some of them let expect."""
        if self.dense:
            return Summed(sums["H"], np.ones(self.problem.k, dtype=bool))
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
