r"""Projection on a manifold: the latent coordinates of the nearest image of every row.

.. math:: \zeta_i = \arg\min_{z \in Z} c(x_i, f(z))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mercer._deadline import time_left
from mercer.kernels.points import Array
from mercer.manifold.basis import Basis, by_chunks, chunks
from mercer.manifold.distortions import Distortion

__all__ = ["Projected", "Projector"]

# Steps of a search, the first of Gauss and Newton: rows near the manifold need no others.
STEPS, FIRST = 40, 8

# Step of difference quotients of slopes, in units of the latent set.
DIFFERENCE = 1e-5

# Part of the latent set below which a step ends the search.
SMALL = 1e-10

# What is known of a row during the search.
STATE = ("Z", "P", "J", "R", "value")

# First damping, relative to the largest curvature, and its factors after good and bad steps.
DAMPING, EASE, TIGHTEN = 1e-3, 0.2, 8.0
HOPELESS = 1e12

# Local minima of the grid that are refined, where they are not the same and one may beat another.
MINIMA = 4

# Least damping: slopes along a sphere have no third direction, and their squares no inverse.
LEAST = 1e-9


@dataclass(frozen=True)
class Projected:
    """Rows and their nearest images.

    Parameters
    ----------
    Z : (n, D) array
        Latent coordinates.
    columns : (n, s) array
        Columns of the basis there.
    cost : (n,) array
    """

    Z: Array
    columns: Array
    cost: Array


class Starts:
    """Points of a latent set from which projections start: the same for every map.

    Parameters
    ----------
    basis : Basis
    density : float
    """

    def __init__(self, basis: Basis, density: float) -> None:
        self.latent = basis.latent
        self.Z = self.latent.samples(density)
        self.columns = by_chunks(basis, self.Z)
        self.extent = float(np.ptp(self.Z)) or 1.0

    @cached_property
    def neighbours(self) -> NDArray[np.intp]:
        """Places of the nearest points, (G, m)."""
        points = self.latent.embed(self.Z)
        count = min(1 + 3**self.latent.intrinsic, len(points))
        return np.asarray(cKDTree(points).query(points, k=count)[1])[:, 1:]


@lru_cache(maxsize=8)
def starts_of(basis: Basis, density: float) -> Starts:
    """Return the starts of a basis, made once for all iterations of a fit."""
    return Starts(basis, density)


class Projector:
    """Look for the nearest images of rows on a fixed manifold.

    The nearest image of a dense grid is taken, or the last coordinates of the row if their image is
    nearer, and moved by damped Gauss-Newton steps that are accepted only where the cost falls: so
    no row ever moves away. Without last coordinates, other local minima of the grid are refined
    as well where they may be nearer. Rows are worked on in chunks of one size, and each stops on
    its own: its coordinates do not depend on the other rows.

    Parameters
    ----------
    basis : Basis
    W : (s, d) array
        Coefficients of the map, in whitened coordinates of the distortion.
    distortion : Distortion
    density : float, default=1.0
        Factor by which the grid is denser than by default, along every coordinate.
    """

    def __init__(
        self, basis: Basis, W: Array, distortion: Distortion, density: float = 1.0
    ) -> None:
        self.basis, self.W, self.distortion = basis, W, distortion
        self.grid = starts_of(basis, density)
        self.starts, self.extent = self.grid.Z, self.grid.extent
        self.images = self.grid.columns @ W
        self.half = 0.5 * np.einsum("gd,gd->g", self.images, self.images)
        # Rows of many features are looked at in the span of the images, which is all that a
        # squared distance depends on.
        self.Q: Array | None = None
        if distortion.isotropic and W.shape[1] > W.shape[0]:
            self.Q = np.asarray(la.qr(W.T, mode="economic")[0])

    @cached_property
    def coarse(self) -> float:
        """Largest distance of the images of two neighbours."""
        edges = self.images[:, None] - self.images[self.grid.neighbours]
        return float(np.sqrt(np.einsum("gmd,gmd->gm", edges, edges)).max(initial=0.0))

    def __call__(self, X: Array, last: Array | None = None, steps: int = STEPS) -> Projected:
        """Return the coordinates of rows; missing cells are NaN and do not count.

        Parameters
        ----------
        X : (n, d) array
        last : (n, D) array, optional
            Coordinates to start from, if they are better than all of the grid.
        steps : int
            Largest number of steps; fewer than by default within a fit, where the next projection
            goes on, and where other local minima are not looked for.
        """
        n, D = len(X), self.starts.shape[1]
        found = Projected(np.empty((n, D)), np.empty((n, len(self.W))), np.empty(n))
        known = ~np.isnan(X)
        whole = known.all(axis=1)
        for rows, mask in ((np.flatnonzero(whole), None), (np.flatnonzero(~whole), known)):
            if len(rows):
                search = _Search(self, X[rows], None if mask is None else mask[rows])
                search.run(None if last is None else last[rows], steps)
                found.Z[rows], found.columns[rows] = search.Z, search.P
                found.cost[rows] = search.value
        return found


class _Search:
    """The state of the search for rows that all have missing cells, or none of them."""

    def __init__(self, projector: Projector, X: Array, mask: Array | None) -> None:
        self.on, self.mask = projector, mask
        self.W, self.images = projector.W, projector.images
        n = len(X)
        self.extra: Array | None = None
        if mask is not None:
            X = np.where(mask, X, 0.0)
        elif projector.Q is not None:
            inside = by_chunks(lambda rows: rows @ projector.Q, X)
            left = np.einsum("nd,nd->n", X, X) - np.einsum("nd,nd->n", inside, inside)
            self.extra = np.sqrt(np.maximum(left, 0.0))[:, None]
            X, self.W = inside, self.W @ projector.Q
            self.images = self.images @ projector.Q
        self.X = X
        self.Z = np.empty((n, projector.starts.shape[1]))
        self.P = np.empty((n, len(self.W)))
        self.J = np.empty((n, self.Z.shape[1], X.shape[1]))
        self.R, self.value = np.empty_like(X), np.empty(n)
        self.at = projector.basis.tangents(self.W)
        self.bend = projector.basis.bends(self.W)

    def run(self, last: Array | None, steps: int) -> None:
        """Descend from the best of the grid, and of the last coordinates or other local minima."""
        everything = np.arange(len(self.X))
        other = np.full((len(self.X), MINIMA), -1)
        for rows, n in chunks(everything):
            costs = self._grid(rows)
            best = np.argmin(costs, axis=1)
            nearer = np.arange(n)
            if last is not None:
                found = self._look(last[rows], rows)
                self._put(rows, nearer, *found)
                own = self._compared(rows, found[3])
                nearer = np.flatnonzero((costs[range(len(rows)), best] < own)[:n])
            if len(nearer):
                self._put(rows, nearer, *self._look(self.on.starts[best], rows))
            if last is None and steps >= STEPS and time_left() > 0.0:
                other[rows[:n]] = self._minima(costs, rows)[:n]
        self._descend(everything, steps)
        for column in other.T:
            again = np.flatnonzero(column >= 0)
            if len(again) and time_left() > 0.0:
                self._try(again, column[again], steps)

    def _descend(self, active: Array, steps: int) -> None:
        damping = np.full(len(self.X), DAMPING)
        for step in range(steps):
            if step and time_left() == 0.0:
                break
            curved = step >= FIRST
            still = [
                rows[:n][self._step(rows, n, damping, curved)[:n]] for rows, n in chunks(active)
            ]
            active = np.concatenate(still) if still else active
            if not len(active):
                break

    def _try(self, rows: Array, starts: Array, steps: int) -> None:
        """Descend from other starts, and keep the better end of every row."""
        kept = {name: getattr(self, name)[rows].copy() for name in STATE}
        for (some, n), (at, _) in zip(chunks(rows), chunks(starts), strict=True):
            self._put(some, np.arange(n), *self._look(self.on.starts[at], some))
        self._descend(rows, steps)
        worse = ~(self.value[rows] < kept["value"])
        for name, values in kept.items():
            getattr(self, name)[rows[worse]] = values[worse]

    def _minima(self, costs: Array, rows: Array) -> Array:
        """Return other local minima of the grid that may beat the best, -1 where there are none.

        Between two points of the grid images are at most half their distance nearer to a row.
        """
        minimal = np.ones(costs.shape, dtype=bool)
        for near in self.on.grid.neighbours.T:
            minimal &= costs <= costs[:, near]
        best = np.argmin(costs, axis=1)
        minimal[range(len(costs)), best] = False
        if self.on.distortion.isotropic:
            # Costs of the grid are half squared distances, up to half the squared row.
            X = self.X[rows]
            squares = 2.0 * costs + np.einsum("nd,nd->n", X, X)[:, None]
            far = np.sqrt(np.maximum(squares, 0.0))
            minimal &= far <= far[range(len(far)), best][:, None] + self.on.coarse
        ranked = np.where(minimal, costs, np.inf)
        found = np.argsort(ranked, axis=1, kind="stable")[:, :MINIMA]
        return np.where(np.take_along_axis(minimal, found, axis=1), found, -1)

    def _look(self, Z: Array, rows: Array) -> tuple[Array, ...]:
        """Return coordinates, columns, slopes, residuals and costs."""
        P, J = self.at(Z)
        R = self.X[rows] - P @ self.W
        if self.mask is not None:
            known = self.mask[rows]
            R, J = np.where(known, R, 0.0), np.where(known[:, None, :], J, 0.0)
        whole = R if self.extra is None else np.hstack([R, self.extra[rows]])
        return Z, P, J, R, self.on.distortion(whole)

    def _put(self, rows: Array, some: Array, *found: Array) -> None:
        for name, values in zip(STATE, found, strict=True):
            getattr(self, name)[rows[some]] = values[some]

    def _grid(self, rows: Array) -> Array:
        """Return costs of the images of the grid, (n, G), up to a constant of every row."""
        X, images, mask = self.X[rows], self.images, self.mask
        if not self.on.distortion.isotropic:
            total = np.zeros((len(X), len(images)))
            for j in range(X.shape[1]):
                apart = np.abs(X[:, j, None] - images[None, :, j])
                total += apart if mask is None else apart * mask[rows, j, None]
            return total
        half = self.on.half if mask is None else 0.5 * (mask[rows].astype(float) @ (images**2).T)
        return np.asarray(half - X @ images.T)

    def _compared(self, rows: Array, R: Array) -> Array:
        """Return costs of residuals up to the constants of :meth:`_grid`."""
        if not self.on.distortion.isotropic:
            return np.asarray(np.abs(R).sum(axis=1))
        X = self.X[rows]
        image = X - R
        return np.asarray(np.einsum("nd,nd->n", 0.5 * image - X, image))

    def _curvature(self, Z: Array, R: Array, JJ: Array, rows: Array) -> Array:
        """Return the second derivatives of half the squared distance, their signs made positive.

        Far from the manifold its curvature matters, and Gauss-Newton steps that leave it out creep.
        """
        H = self._differences(Z, rows) if self.bend is None else JJ - self.bend(Z, R)
        values, vectors = np.linalg.eigh(0.5 * (H + H.transpose(0, 2, 1)))
        return np.asarray((vectors * np.abs(values)[:, None, :]) @ vectors.transpose(0, 2, 1))

    def _differences(self, Z: Array, rows: Array) -> Array:
        """Return the second derivatives of half the squared distance from differences of slopes."""
        n, D = Z.shape
        H = np.empty((n, D, D))
        h = DIFFERENCE * self.on.extent
        for k in range(D):
            move = h * np.eye(D)[k]
            ends = [self._look(Z + sign * move, rows) for sign in (1.0, -1.0)]
            up, down = (np.einsum("nkd,nd->nk", J, R) for _, _, J, R, _ in ends)
            H[:, k] = (down - up) / (2.0 * h)
        return H

    def _step(self, rows: Array, n: int, damping: Array, curved: bool) -> Array:
        """Move rows by a damped step where it helps; return which are not at rest."""
        Z, J, R, value = self.Z[rows], self.J[rows], self.R[rows], self.value[rows]
        distortion = self.on.distortion
        weights = None if distortion.isotropic else distortion.weights(R)
        JW = J if weights is None else J * weights[:, None, :]
        H = JW @ J.transpose(0, 2, 1)
        g = JW @ R[:, :, None]
        top = np.einsum("nkk->n", H)
        flat = ~(top > 0.0)
        if curved and weights is None:
            H = self._curvature(Z, R, H, rows)
        latent, D = self.on.basis.latent, Z.shape[1]
        # Coordinates that would leave the set stay, and the step is the best of the others.
        free = ~latent.blocked(Z, g[:, :, 0])
        H *= free[:, :, None] & free[:, None, :]
        H[:, range(D), range(D)] += (damping[rows] * top + flat)[:, None] + ~free
        moved = latent.clip(Z + np.linalg.solve(H, g * free[:, :, None])[:, :, 0])
        found = self._look(moved, rows)
        better = found[-1] < value
        self._put(rows, np.flatnonzero(better[:n]), *found)
        eased = damping[rows] * np.where(better, EASE, TIGHTEN)
        damping[rows[:n]] = np.maximum(eased, LEAST)[:n]
        far = np.abs(moved - Z).max(axis=1) > SMALL * self.on.extent
        return np.asarray(far & ~flat & (damping[rows] < HOPELESS))
