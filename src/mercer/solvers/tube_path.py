r"""The path of support vector tubes of a sample, from the widest tube to interpolation.

The dual of the hard tube is a LASSO in the coefficients, whose penalty is the half-width:

.. math:: \min_a\; \tfrac12 a'Ka - a'y + t\,|a|_1, \qquad B'a = 0

so that coefficients are piecewise linear in t. Between two corners the residuals of the active
samples are plus or minus t, those of the others are less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._linear_program import linear_program
from mercer._typing import Array
from mercer.gram.factor import orthonormal

__all__ = ["TubePath", "tube_path"]

# Corners nearer than this part of the half-width of the widest tube are one.
TIE_TOL = 1e-12


@dataclass(frozen=True, eq=False)
class TubePath:
    """Corners of the path of tubes, from the widest on."""

    halfwidths: Array
    """Half-widths t at the corners, falling, (m,)."""

    prices: Array
    """The smallest price of the half-width that leads there, the 1-norm of a, rising, (m,)."""

    a: Array
    """Coefficients, (m, n)."""

    b: Array
    """Coefficients of the unpenalized columns, (m, q)."""

    def at(self, mu: float) -> tuple[Array, Array, float]:
        """Return coefficients a and b and the half-width of the tube at a price.

        Beyond the last corner there is one tube for all prices: the last.
        """
        if not mu >= 0:
            raise ValueError(f"mu must not be negative, got {mu!r}.")
        k = int(np.clip(np.searchsorted(self.prices, mu), 1, max(len(self.prices) - 1, 1)))
        if len(self.prices) == 1:
            return self.a[0], self.b[0], float(self.halfwidths[0])
        span = self.prices[k] - self.prices[k - 1]
        s = float(np.clip((mu - self.prices[k - 1]) / span, 0.0, 1.0)) if span > 0 else 1.0

        def between(values: Array) -> Array:
            return np.asarray((1.0 - s) * values[k - 1] + s * values[k])

        return between(self.a), between(self.b), float(between(self.halfwidths))


def tube_path(
    K: Array, y: Array, B: Array | None = None, *, smallest: float = 0.0, max_steps: int = 10_000
) -> TubePath:
    r"""Follow the support vector tube from the widest to a half-width.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix. The path ends early where that of the active samples is singular.
    y : (n,) array
        Targets.
    B : (n, q) array, optional
        Unpenalized columns; none by default.
    smallest : float, default=0.0
        Half-width at which to stop.
    max_steps : int, default=10000
        Corners at which to stop.

    Returns
    -------
    TubePath

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Lemma 3.7; B. Efron, T. Hastie,
    I. Johnstone and R. Tibshirani (2004), Least angle regression, Annals of Statistics 32, sec. 3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.tube_path import tube_path
    >>> path = tube_path(np.eye(3), np.array([3.0, -1.0, 2.0]))
    >>> path.halfwidths, path.prices
    (array([3., 2., 1., 0.]), array([0., 1., 3., 6.]))
    """
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(y)
    U, back = orthonormal(np.zeros((n, 0)) if B is None else np.asarray(B, dtype=np.float64))
    q = U.shape[1]
    active, sign, b, t = _widest(y, U)
    scale = t
    a = np.zeros(n)
    corners = [(t, a, b)]
    barred = -1  # the sample that has just left: rounding must not let it in at once
    while t > max(smallest, TIE_TOL * scale) and len(corners) <= max_steps:
        A = np.array(sorted(active), dtype=np.intp)
        M = np.zeros((len(A) + q, len(A) + q))
        M[: len(A), : len(A)] = K[np.ix_(A, A)]
        M[: len(A), len(A) :], M[len(A) :, : len(A)] = U[A], U[A].T
        right = np.zeros((len(A) + q, 2))
        right[: len(A), 0], right[: len(A), 1] = y[A], sign[A]
        # a = p - t s and residuals r = u + t v, all along the segment.
        both, _, rank, _ = np.linalg.lstsq(M, right, rcond=1e-13)
        if rank < len(M):
            break  # what further samples would add is below rounding
        (p, s) = both.T
        u = y - K[:, A] @ p[: len(A)] - U @ p[len(A) :]
        v = K[:, A] @ s[: len(A)] + U @ s[len(A) :]
        step, who, enters = _corner(t, A, p[: len(A)], s[: len(A)], u, v, sign, barred, scale)
        t = max(step, smallest)
        a = np.zeros(n)
        a[A] = p[: len(A)] - t * s[: len(A)]
        b = p[len(A) :] - t * s[len(A) :]
        if who >= 0 and step > smallest:
            if enters:
                active.add(who)
                sign[who], barred = np.sign(u[who] + t * v[who]), -1
            else:
                active.discard(who)
                a[who], barred = 0.0, who
        corners.append((t, a, b))
    ts, As, bs = (np.array(part) for part in zip(*corners, strict=True))
    return TubePath(ts, np.sum(np.abs(As), axis=1), As, bs @ back.T)


def _widest(y: Array, U: Array) -> tuple[set[int], Array, Array, float]:
    """Return active samples, their signs, b and t of the tube without any penalized function."""
    n, q = U.shape
    sign = np.zeros(n)
    if not q:
        i = int(np.argmax(np.abs(y)))
        sign[i] = np.sign(y[i]) or 1.0
        return {i}, sign, np.zeros(0), float(abs(y[i]))
    # The best uniform approximation by the columns: q + 1 samples at most hold its error.
    one = np.ones((n, 1))
    walls = np.block([[U, -one], [-U, -one]])
    cost = np.append(np.zeros(q), 1.0)
    found = linear_program(cost, A_ub=walls, b_ub=np.append(y, -y), bounds=(None, None))
    x = np.asarray(found.x, dtype=np.float64)
    b, t = x[:q], float(x[q])
    held = np.abs(found.ineqlin.marginals).reshape(2, n)
    active = {int(i) for i in np.flatnonzero(held.max(axis=0) > 1e-12)}
    for i in active:
        sign[i] = 1.0 if held[1, i] > held[0, i] else -1.0
    return active, sign, b, t


def _corner(
    t: float,
    A: NDArray[np.intp],
    p: Array,
    s: Array,
    u: Array,
    v: Array,
    sign: Array,
    barred: int,
    scale: float,
) -> tuple[float, int, bool]:
    """Return the next half-width at which the active set changes, the sample, and if it enters."""
    below = t - TIE_TOL * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = np.where(s != 0, p / s, -np.inf)
        # r = t sign: at t = u / (sign - v).
        up, down = u / (1.0 - v), -u / (1.0 + v)
    # A coefficient whose sign is right leaves where it becomes zero on the way down.
    leave = np.where((zero < below) & (s * sign[A] < 0), zero, 0.0)
    enter = np.maximum(np.where(up < below, up, 0.0), np.where(down < below, down, 0.0))
    enter[A] = 0.0
    if barred >= 0:
        enter[barred] = 0.0
    enter = np.where(np.isfinite(enter), enter, 0.0)
    out, into = float(np.max(leave, initial=0.0)), float(np.max(enter, initial=0.0))
    if max(out, into) <= 0.0:
        return 0.0, -1, False
    if into >= out:
        return into, int(np.argmax(enter)), True
    return out, int(A[int(np.argmax(leave))]), False
