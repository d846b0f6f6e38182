r"""Few columns of a dictionary: any convex loss with a penalty on the sum of coefficients.

.. math:: \min_{a, b} \sum_i c_i\, l(y_i, f_i) + \zeta \|a\|_1, \qquad f = Ka + Bb, \qquad\qquad
          \min_u \sum_i c_i\, l^*(y_i, -u_i / c_i) \;\text{subject to}\;
          \|K'u\|_\infty \le \zeta,\; B'u = 0

Squared losses by an active set, other smooth ones by Newton's method with such a problem a step,
and piecewise linear ones by a linear program. K need be neither symmetric nor positive definite.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._linear_program import linear_program
from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer.losses.base import Loss, QuadraticDualLoss

__all__ = ["Sparse", "largest_penalty", "sparse_fit", "sparse_path"]


# What is added to the squared lengths of columns, relative to the largest: of columns that depend
# on each other any share is as good.
JITTER = 1e-13
# How much a correlation may exceed the penalty, relative to the largest correlation.
SLIP = 1e-10
# Newton steps; curvatures below this part of the largest are raised to it.
NEWTON, FLAT = 100, 1e-6


class Sparse(NamedTuple):
    """Coefficients with few entries, and how far they are from the best."""

    a: Array
    b: Array
    gap: float
    """Objective less that of the dual."""


def sparse_fit(
    K: Array,
    B: Array,
    y: Array,
    c: Array,
    loss: Loss,
    zeta: float,
    start: Sparse | None = None,
    *,
    tol: float = 1e-7,
) -> Sparse:
    """Return the coefficients of one penalty.

    Parameters
    ----------
    K, B : (n, p) and (n, q) array
        The dictionary, and columns without penalty.
    y, c : (n,) array
        Targets, and positive weights of their losses.
    loss : Loss
        Squared, smooth, or piecewise linear.
    zeta : float
        The penalty.
    start : Sparse, optional
        Coefficients of a nearby penalty.
    tol : float, default=1e-7
        Gap at which Newton's method ends, relative to the objective of the null function.
    """
    if loss.quadratic:
        return _Squares(K, B, y, c).solve(zeta, None if start is None else start.a)
    if loss.smooth:
        return _newton(K, B, y, c, loss, zeta, start, tol)
    if isinstance(loss, QuadraticDualLoss):
        terms = loss.dual_terms(y, c)
        if not (np.any(terms.q_pos) or np.any(terms.q_neg)):
            return _linear(K, B, terms, zeta)
    raise ValueError(
        f"{loss!r} is neither smooth nor piecewise linear; use Huber() or EpsilonInsensitive()."
    )


def sparse_path(K: Array, B: Array, y: Array, c: Array, loss: Loss, zetas: Array) -> list[Sparse]:
    """Return the coefficients of descending penalties, each from those before."""
    squares = _Squares(K, B, y, c) if loss.quadratic else None
    fits: list[Sparse] = []
    for zeta in zetas.tolist():
        last = fits[-1] if fits else None
        if squares is None:
            fits.append(sparse_fit(K, B, y, c, loss, zeta, last))
        else:
            fits.append(squares.solve(zeta, None if last is None else last.a))
    return fits


def largest_penalty(K: Array, B: Array, y: Array, c: Array, loss: Loss) -> float:
    """Return a penalty from which on no column is used, the least such for smooth losses."""
    if not loss.smooth:
        # By the dual: for u in its box, |K'u| is at most this.
        terms: Any = loss.dual_terms(y, c)  # type: ignore[attr-defined]
        return float(np.max(np.maximum(terms.upper, -terms.lower) @ np.abs(K)))
    b = sparse_fit(np.zeros((len(y), 0)), B, y, c, loss, 1.0).b
    return float(np.max(np.abs(K.T @ (c * loss.gradient(y, B @ b)))))


def _orthonormal_columns(B: Array, root: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis of weighted columns and the way back to their coefficients."""
    if not B.shape[1]:
        return np.zeros((len(root), 0)), np.zeros((0, 0))
    return orthonormal(root[:, None] * B)


class _Squares:
    """A weighted dictionary off the columns without penalty, with its products."""

    def __init__(self, K: Array, B: Array, y: Array, c: Array) -> None:
        root = np.sqrt(c)
        self.U, self.back = _orthonormal_columns(B, root)
        self.X, self.t = root[:, None] * K, root * y
        self.free = self.t - self.U @ (self.U.T @ self.t)
        self.Z = self.X - self.U @ (self.U.T @ self.X)
        self.G, self.q = self.Z.T @ self.Z, self.Z.T @ self.free

    def solve(self, zeta: float, start: Array | None) -> Sparse:
        a = _active_set(self.G, self.q, zeta, start)
        r = self.free - self.Z @ a
        # The residual, scaled until its correlations are below the penalty, is a point of the dual.
        theta = min(1.0, zeta / max(float(np.max(np.abs(self.Z.T @ r), initial=0.0)), 1e-300))
        gap = 0.5 * float(r @ r) + zeta * float(np.abs(a).sum())
        gap -= theta * float(r @ self.free) - 0.5 * theta**2 * float(r @ r)
        return Sparse(a, self.back @ (self.U.T @ (self.t - self.X @ a)), gap)


def _active_set(G: Array, q: Array, zeta: float, start: Array | None) -> Array:
    r"""Minimize :math:`\tfrac12 a'Ga - q'a + \zeta \|a\|_1`, from one set of signs to the next.

    Every step ends at the minimum for its signs, or on the way there at the first coefficient that
    reaches zero and leaves: the objective falls, so that no set of signs comes back.
    """
    p = len(q)
    a = np.zeros(p) if start is None else start.copy()
    active = np.flatnonzero(a)
    sign = np.sign(a)
    jitter = JITTER * float(np.max(np.diag(G), initial=0.0))
    slip = SLIP * float(np.max(np.abs(q), initial=0.0))
    for _ in range(20 * p + 100):
        while len(active):
            block = G[np.ix_(active, active)]
            block[np.diag_indices(len(active))] += jitter
            target = cho_solve(
                cho_factor(block, check_finite=False),
                q[active] - zeta * sign[active],
                check_finite=False,
            )
            wrong = target * sign[active] <= 0
            if not wrong.any():
                a[active] = target
                break
            now = a[active]
            way = now[wrong] - target[wrong]
            # A coefficient that is zero and would stay so has no way to go: it leaves at once.
            step = np.divide(now[wrong], way, out=np.zeros(len(way)), where=way != 0.0)
            a[active] = now + float(step.min()) * (target - now)
            left = active[wrong][step <= step.min()]
            a[left] = 0.0
            active = np.setdiff1d(active, left)
        g = q - G[:, active] @ a[active]
        excess = np.abs(g) - zeta
        excess[active] = -np.inf
        if not p or float(np.max(excess)) <= slip:
            break
        j = int(np.argmax(excess))
        sign[j] = np.sign(g[j])
        active = np.sort(np.append(active, j))
    return a


def _newton(
    K: Array,
    B: Array,
    y: Array,
    c: Array,
    loss: Loss,
    zeta: float,
    start: Sparse | None,
    tol: float,
) -> Sparse:
    """Replace the loss by its second-order expansion, again and again."""
    a, b = (np.zeros(K.shape[1]), np.zeros(B.shape[1])) if start is None else start[:2]

    def objective(a: Array, b: Array) -> float:
        return float(c @ loss.value(y, K @ a + B @ b) + zeta * np.abs(a).sum())

    value = objective(a, b)
    scale, gap = max(objective(0.0 * a, 0.0 * b), 1e-300), np.inf
    for _ in range(NEWTON):
        f = K @ a + B @ b
        g = c * loss.gradient(y, f)
        h = c * loss.curvature(y, f)
        h = np.maximum(h, FLAT * float(np.max(h)) or 1.0)
        inner = _Squares(K, B, f - g / h, h).solve(zeta, a)
        gap = _gap(K, B, y, c, loss, zeta, value, inner.b, g)
        if gap <= tol * scale:
            break
        da, db = inner.a - a, inner.b - b
        slope = float(g @ (K @ da + B @ db)) + zeta * float(np.abs(inner.a).sum() - np.abs(a).sum())
        step, new = 1.0, objective(inner.a, inner.b)
        while new > value + 1e-4 * step * slope and step > 1e-8:
            step *= 0.5
            new = objective(a + step * da, b + step * db)
        if new >= value:  # rounding
            break
        a, b, value = a + step * da, b + step * db, new
    return Sparse(a, b, gap)


def _gap(
    K: Array,
    B: Array,
    y: Array,
    c: Array,
    loss: Loss,
    zeta: float,
    value: float,
    b: Array,
    g: Array,
) -> float:
    """Return the distance to the dual at the slopes of the loss, scaled until it allows them.

    What these miss of ``B'u = 0`` is counted at b, the best that is known.
    """
    theta = min(1.0, zeta / max(float(np.max(np.abs(K.T @ g), initial=0.0)), 1e-300))
    dual = -float(c @ loss.conjugate(y, theta * g / c))
    return value - dual + abs(float(b @ (B.T @ g)))


def _linear(K: Array, B: Array, terms: Any, zeta: float) -> Sparse:
    """Solve the dual, with a positive and a negative part of every variable, and read both off."""
    p = K.shape[1]
    rows, columns = np.concatenate([K.T, -K.T]), B.T
    cost = np.concatenate([terms.p_pos, -terms.p_neg])
    sides = np.concatenate([terms.upper, -terms.lower])
    equal: dict[str, Any] = {}
    if B.shape[1]:
        equal = {"A_eq": np.hstack([columns, -columns]), "b_eq": np.zeros(B.shape[1])}
    answer = linear_program(
        cost,
        A_ub=np.hstack([rows, -rows]),
        b_ub=np.full(2 * p, zeta),
        bounds=np.column_stack([np.zeros(len(cost)), sides]),
        **equal,
    )
    m = answer.ineqlin.marginals
    a = m[p:] - m[:p]
    b = -np.asarray(answer.eqlin.marginals) if B.shape[1] else np.zeros(0)
    f = K @ a + B @ b
    # The dual of the box: the larger end of p + f on each side is what the loss costs.
    losses = np.maximum(0.0, -(terms.p_pos + f)) * terms.upper
    losses = losses + np.maximum(0.0, terms.p_neg + f) * -terms.lower
    return Sparse(a, b, float(losses.sum() + zeta * np.abs(a).sum() + answer.fun))
