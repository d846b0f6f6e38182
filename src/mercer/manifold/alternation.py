r"""Alternating minimization: project rows on a manifold, adapt the manifold to them, repeat.

.. math:: \min_{W, \zeta} \; \frac1\nu \sum_i s_i\, c(x_i, W'p(\zeta_i)) + \lambda Q(W)

Both half steps lower the same functional, the first row by row and the second as a convex problem,
so that it never rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._deadline import time_left
from mercer.data.base import Block, Sums
from mercer.gram.low_rank import LowRank
from mercer.kernels.points import Array
from mercer.losses import EpsilonInsensitive
from mercer.machines.unpenalized import constant_column
from mercer.manifold.adaptation import Adapted, Penalty, dual_gap, normal_sums
from mercer.manifold.basis import Basis
from mercer.manifold.distortions import AbsoluteDistortion, Distortion, HuberDistortion
from mercer.manifold.projection import Projector
from mercer.problems import RegularizedRisk
from mercer.solvers import InteriorPoint, minimize

__all__ = ["Descent", "Functional", "descend", "descend_blocks"]

# Gauss-Newton steps of a projection within a fit: the next one goes on where it stopped.
STEPS = 5

# Reweighted solutions of a Huber cost within one half step, and their gap relative to the objective
# at which they end.
INNER, CLOSE = 20, 1e-9

# Factor by which steps of the coefficients grow as long as the functional falls: alternation alone
# creeps along valleys, where steps several times as long lead to the same place.
FARTHER, FARTHEST = 1.2, 20.0

# Relative change of a sum over blocks that is rounding.
ROUNDED = 1e-12

# First weights of a path, per mean cost, of open and of closed sets.
STIFF, SOFT = 1.0, 1e-2

# Grids of projections over blocks, each denser than the last, where a grid was too coarse.
DENSER = (1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Functional:
    """The functional of a manifold: its columns, its cost, its penalty.

    Parameters
    ----------
    basis : Basis
    distortion : Distortion
    penalty : Penalty
    averaged : bool
        Whether the cost is a mean over the weights, or a sum.
    centre : (d,) array, optional
        Point of the data that is the origin of coefficients and coordinates of the cost: distances
        that are computed from squares then have errors relative to the spread of the rows, and not
        to their distance from zero.
    """

    basis: Basis
    distortion: Distortion
    penalty: Penalty
    averaged: bool = True
    centre: Array | None = None

    @property
    def constant(self) -> int | None:
        """Column that is constant, None where constants are penalized."""
        null_space, dim = self.basis.null_space, self.basis.latent.dim
        one = constant_column(null_space.names(dim))
        return None if one is None else self.basis.r + one

    def centred(self, centre: Array) -> Functional:
        """Return the functional around a point, if constants are free: then it is the same."""
        return self if self.constant is None else replace(self, centre=centre)

    def rows(self, X: Array) -> Array:
        """Return rows of the data in coordinates of the cost, around the centre."""
        return self.distortion.whiten(X if self.centre is None else X - self.centre)

    def images(self, F: Array) -> Array:
        """Undo :meth:`rows`."""
        restored = self.distortion.restore(F)
        return restored if self.centre is None else restored + self.centre

    def recentred(self, W: Array, centre: Array) -> Array:
        """Return the coefficients of the same map around another centre, if they have one."""
        if self.centre is None:
            return W
        W = W.copy()
        W[self.constant] -= self.rows(centre[None])[0]
        return W

    def nu(self, weight: float) -> float:
        """Return the divisor of the summed cost."""
        return weight if self.averaged else 1.0

    def weighted(self, lam: float) -> Functional:
        """Return the functional with another weight of the penalty."""
        return replace(self, penalty=replace(self.penalty, lam=float(lam)))

    def path(self, weight: float) -> list[float]:
        """Return weights of the penalty by which a fit comes to its own, which is not among them.

        A stiff manifold has few minima, and one that bends slowly finds the order of the rows; a
        closed one that is too stiff collapses to a point, as does one with a penalty of sizes.
        """
        unit = 1.0 if self.averaged else weight
        if not self.penalty.quadratic:
            return []
        first = SOFT if self.basis.latent.closed else STIFF
        steps = np.arange(0.0, np.log10(first * unit / self.penalty.lam) - 0.5)
        return [float(first * unit * 10.0**-k) for k in steps]

    def projector(self, W: Array, density: float = 1.0) -> Projector:
        """Return the projection on the manifold of some coefficients."""
        return Projector(self.basis, W, self.distortion, density)

    def value(self, cost: Array, s: Array, W: Array) -> float:
        """Return the objective, from the costs of rows."""
        return float(s @ cost) / self.nu(float(s.sum())) + self.penalty.lam * self.penalty(W)

    def costs(self, P: Array, X: Array, W: Array) -> Array:
        """Return the costs of rows at columns."""
        R = X - P @ W
        return self.distortion(np.where(np.isnan(R), 0.0, R))

    def adapt(self, P: Array, X: Array, s: Array, W: Array | None) -> Adapted:
        """Return the best coefficients for rows whose columns are known.

        Parameters
        ----------
        P : (n, r + q) array
        X : (n, d) array
        s : (n,) array
        W : (r + q, d) array or None
            Coefficients to start from, which the answer is never worse than.
        """
        nu = self.nu(float(s.sum()))
        if isinstance(self.distortion, AbsoluteDistortion):
            return self._least_absolute(P, X, s, nu, W)
        if isinstance(self.distortion, HuberDistortion):
            return self._reweighted(P, X, s, nu, W)
        return self.penalty.minimize(normal_sums(P, X, s), nu, W)

    def _reweighted(self, P: Array, X: Array, s: Array, nu: float, W: Array | None) -> Adapted:
        """Minimize a Huber cost by weighted squares above it, until the gap is small."""
        if W is None:
            W = self.penalty.minimize(normal_sums(P, X, s), nu).W
        cost: Any = self.distortion
        known = ~np.isnan(X)
        filled = np.where(known, X, 0.0)
        best, gap = W, np.inf
        for _ in range(INNER):
            R = np.where(known, filled - P @ W, 0.0)
            w = cost.weights(R)
            W = self.penalty.minimize(normal_sums(P, X, s * w), nu, W).W
            R = np.where(known, filled - P @ W, 0.0)
            value = self.value(cost(R), s, W)
            U = 2.0 * w[:, None] * R
            U /= max(1.0, float(np.sqrt(np.einsum("nd,nd->n", U, U)).max(initial=0.0)))
            conjugate = 0.5 * cost.sigma * float(s @ np.einsum("nd,nd->n", U, U)) / nu
            found = dual_gap(self.penalty, P, filled, s[:, None] * U / nu, conjugate, value)
            best, gap = W, min(gap, max(found, 0.0))
            if gap <= CLOSE * max(value, 1e-300):
                break
        return Adapted(best, gap)

    def _least_absolute(self, P: Array, X: Array, s: Array, nu: float, W: Array | None) -> Adapted:
        """Minimize an absolute cost, feature by feature, as the machine of the median."""
        r, lam = self.penalty.r, self.penalty.lam
        if not self.penalty.quadratic:
            raise ValueError(
                "an absolute cost with a penalty of sizes is a linear program of all rows; use "
                "penalty='kernel', 'length' or 'weight decay', or cost='huber'."
            )
        columns, gaps = [], 0.0
        for j, x in enumerate(X.T):
            some = np.flatnonzero(~np.isnan(x) & (s > 0))
            risk = RegularizedRisk(
                EpsilonInsensitive(0.0),
                LowRank(P[some, :r]),
                x[some],
                s[some] / (nu * lam),
                P[some, r:],
            )
            found = minimize(risk, InteriorPoint())
            w = np.concatenate([P[some, :r].T @ found.a, found.b])
            if W is not None:
                new, old = (
                    float(s[some] @ np.abs(x[some] - P[some] @ v)) / nu + 0.5 * lam * v[:r] @ v[:r]
                    for v in (w, W[:, j])
                )
                w = w if new <= old else W[:, j]
            columns.append(w)
            gaps += lam * found.gap
        return Adapted(np.stack(columns, axis=1), gaps)


@dataclass(frozen=True)
class Descent:
    """A manifold that alternating minimization arrived at.

    Parameters
    ----------
    W : (r + q, d) array
    gap : float
        Bound on the excess of the last convex half step.
    objective : list of float
        After every half step: projections at even places, adaptations at odd ones.
    distortion, penalty : list of float
        The two terms after every adaptation.
    n_iter : int
    converged : bool
    Z : (n, D) array, optional
        Coordinates of the rows, if these are in memory.
    """

    W: Array
    gap: float
    objective: list[float] = field(default_factory=list)
    distortion: list[float] = field(default_factory=list)
    penalty: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False
    Z: Array | None = None

    def extended(
        self,
        adapted: Adapted,
        before: float,
        after: float,
        functional: Functional,
        tol: float,
        Z: Array | None,
    ) -> Descent:
        """Return the descent with one more iteration."""
        Q = functional.penalty(adapted.W)
        last = self.objective[-1] if self.objective else np.inf
        return Descent(
            adapted.W,
            adapted.gap,
            [*self.objective, before, after],
            [*self.distortion, after - functional.penalty.lam * Q],
            [*self.penalty, Q],
            self.n_iter + 1,
            last < np.inf and last - after <= tol * abs(last),
            Z,
        )


def descend(
    functional: Functional,
    X: Array,
    s: Array,
    W: Array,
    *,
    Z: Array | None = None,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], object] | None = None,
) -> Descent:
    """Alternate between projection and adaptation until the functional stops falling.

    Parameters
    ----------
    functional : Functional
    X : (n, d) array
        Rows, NaN where a cell is missing.
    s : (n,) array
        Weights.
    W : (r + q, d) array
        Coefficients to start from.
    Z : (n, D) array, optional
        Coordinates to start from.
    max_iter : int
    tol : float
        Relative fall of the functional in one iteration at which it ends.
    report : callable, optional
        Told the number of iterations and the functional.
    """
    found, ahead, reach = Descent(W, np.inf, Z=Z), W, 1.0
    for iteration in range(1, max_iter + 1):
        projected = functional.projector(ahead)(X, found.Z, steps=STEPS)
        before = functional.value(projected.cost, s, ahead)
        if reach > 1.0 and not before < found.objective[-1]:
            # Too far ahead: back to the answer of the adaptation, and to short steps.
            ahead, reach = found.W, 1.0
            projected = functional.projector(ahead)(X, found.Z, steps=STEPS)
            before = functional.value(projected.cost, s, ahead)
        adapted = functional.adapt(projected.columns, X, s, ahead)
        after = functional.value(functional.costs(projected.columns, X, adapted.W), s, adapted.W)
        if after > before:
            # Rounding alone, because the last coefficients are among those that were compared.
            adapted, after = replace(adapted, W=ahead), before
        found = found.extended(adapted, before, after, functional, tol, projected.Z)
        reach = min(reach * FARTHER, FARTHEST)
        ahead = ahead + reach * (adapted.W - ahead)
        if report is not None:
            report(iteration, after)
        if found.converged or time_left() <= 0.0:
            break
    return found


def descend_blocks(
    functional: Functional,
    W: Array,
    *,
    missing: bool,
    max_iter: int,
    tol: float,
    total: Callable[..., Any],
    report: Callable[[int, float], object] | None = None,
) -> Descent:
    """Do the same for rows that come in blocks, one pass an iteration.

    Coordinates are not kept between passes: every pass projects anew. Where the functional rose
    because a row's old basin was lost, the pass is made again with a denser grid; where the densest
    is not enough, the descent ends with the coefficients before it.

    Parameters
    ----------
    functional, W, max_iter, tol, report :
        As in :func:`descend`.
    missing : bool
        Whether some cells are missing.
    total : callable
        Sums a function of blocks over the source, as :meth:`Source.total`.
    """
    if isinstance(functional.distortion, AbsoluteDistortion):
        raise ValueError(
            "medians are no sums over rows: give an array for cost='absolute', or use cost='huber'."
        )
    found, ahead, reach, level = Descent(W, np.inf), W, 1.0, 0
    penalty = functional.penalty
    for iteration in range(1, max_iter + 1):
        while True:
            sums = total(project_block, (functional, missing), (ahead, DENSER[level]))
            nu = functional.nu(sums["weight"])
            before = sums["cost"] / nu + penalty.lam * penalty(ahead)
            if iteration == 1 or before <= found.objective[-1] * (1.0 + ROUNDED):
                break
            if reach > 1.0:
                ahead, reach = found.W, 1.0
            elif level + 1 < len(DENSER):
                level += 1
            else:
                return found
        adapted = penalty.minimize(sums, nu, ahead)
        # The sums are those of a function above the cost, which touches it before the step.
        touch = sums["cost"] / nu - penalty.fidelity(sums, nu, ahead)
        after = touch + penalty.value(sums, nu, adapted.W)
        if after > before:
            adapted, after = replace(adapted, W=ahead), before
        found = found.extended(adapted, before, after, functional, tol, None)
        reach = min(reach * FARTHER, FARTHEST)
        ahead = ahead + reach * (adapted.W - ahead)
        if report is not None:
            report(iteration, after)
        if found.converged or time_left() <= 0.0:
            break
    return found


def project_block(
    block: Block, shared: tuple[Functional, bool], state: tuple[Array, float]
) -> Sums:
    """Return the sums of a block that the next adaptation needs."""
    (functional, missing), (W, density) = shared, state
    X = functional.rows(np.asarray(block.X, dtype=np.float64))
    s = np.ones(len(X)) if block.s is None else np.asarray(block.s, dtype=np.float64)
    projected = functional.projector(W, density)(X, steps=STEPS)
    P = projected.columns
    R = X - P @ W
    w = functional.distortion.weights(np.where(np.isnan(R), 0.0, R))
    sw = s if w is None else s * w
    cells = np.broadcast_to(sw[:, None], X.shape) if missing else sw
    sums = normal_sums(P, X, cells)
    return Sums(sums, cost=float(s @ projected.cost), weight=float(s.sum()))
