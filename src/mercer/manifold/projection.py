r"""Projection on a manifold: the latent coordinates of the nearest image of every row.

.. math:: \zeta_i = \arg\min_{z \in Z} c(x_i, f(z))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from mercer.kernels.points import Array
from mercer.manifold.basis import Basis, by_chunks, chunks
from mercer.manifold.distortions import Distortion

__all__ = ["Projected", "Projector"]

# Steps of Levenberg and Marquardt: rows on the manifold need five, rows far away a dozen.
STEPS = 40

# Part of the latent set below which a step ends the search.
SMALL = 1e-10

# First damping, relative to the largest curvature, and its factors after good and bad steps.
DAMPING, EASE, TIGHTEN = 1e-3, 0.2, 8.0
HOPELESS = 1e12


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


class Projector:
    """Look for the nearest images of rows on a fixed manifold.

    The nearest image of a dense grid is taken, or the last coordinates of the row if their image is
    nearer, and moved by damped Gauss-Newton steps that are accepted only where the cost falls: so
    no row ever moves away. Rows are worked on in chunks of one size, and each stops on its own: its
    coordinates do not depend on the other rows.

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
        self.starts = basis.latent.samples(density)
        self.columns = by_chunks(basis, self.starts)
        self.images = self.columns @ W
        self.half = 0.5 * np.einsum("gd,gd->g", self.images, self.images)
        self.extent = float(np.ptp(self.starts)) or 1.0
        # Rows of many features are looked at in the span of the images, which is all that a
        # squared distance depends on.
        self.Q: Array | None = None
        if distortion.isotropic and W.shape[1] > W.shape[0]:
            self.Q = np.asarray(la.qr(W.T, mode="economic")[0])

    def __call__(self, X: Array, last: Array | None = None, steps: int = STEPS) -> Projected:
        """Return the coordinates of rows; missing cells are NaN and do not count.

        Parameters
        ----------
        X : (n, d) array
        last : (n, D) array, optional
            Coordinates to start from, if they are better than all of the grid.
        steps : int
            Largest number of Gauss-Newton steps.
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
        self.R, self.value = np.empty_like(X), np.empty(n)

    def run(self, last: Array | None, steps: int) -> None:
        """Start at the best of the grid and of the last coordinates, and descend."""
        everything = np.arange(len(self.X))
        for rows, n in chunks(everything):
            kept = rows[:n]
            for name, values in zip("ZPR", self._start(rows), strict=False):
                getattr(self, name)[kept] = values[:n]
            self.value[kept] = self._cost(self.R[rows], rows)[:n]
            if last is not None:
                self._prefer(rows, n, last)
        damping = np.full(len(self.X), DAMPING)
        active = everything
        for _ in range(steps):
            still = []
            for rows, n in chunks(active):
                going = self._step(rows, n, damping)
                still.append(rows[:n][going[:n]])
            active = np.concatenate(still) if still else active[:0]
            if not len(active):
                break

    def _residual(self, P: Array, rows: Array) -> Array:
        R = self.X[rows] - P @ self.W
        return R if self.mask is None else np.where(self.mask[rows], R, 0.0)

    def _cost(self, R: Array, rows: Array) -> Array:
        if self.extra is not None:
            R = np.hstack([R, self.extra[rows]])
        return self.on.distortion(R)

    def _start(self, rows: Array) -> tuple[Array, Array, Array]:
        best = np.argmin(self._grid(rows), axis=1)
        P = self.on.columns[best]
        return self.on.starts[best], P, self._residual(P, rows)

    def _prefer(self, rows: Array, n: int, last: Array) -> None:
        """Take the last coordinates where their images are nearer."""
        P = self.on.basis(last[rows])
        R = self._residual(P, rows)
        value = self._cost(R, rows)
        better = np.flatnonzero(value[:n] < self.value[rows[:n]])
        self._put(rows, better, last[rows], P, R, value)

    def _put(self, rows: Array, some: Array, Z: Array, P: Array, R: Array, value: Array) -> None:
        at = rows[some]
        self.Z[at], self.P[at] = Z[some], P[some]
        self.R[at], self.value[at] = R[some], value[some]

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

    def _step(self, rows: Array, n: int, damping: Array) -> Array:
        """Move rows by a damped Gauss-Newton step where it helps; return which are not at rest."""
        Z, R, value = self.Z[rows], self.R[rows], self.value[rows]
        basis, distortion = self.on.basis, self.on.distortion
        J = basis.slopes(Z) @ self.W
        if self.mask is not None:
            J = np.where(self.mask[rows][:, None, :], J, 0.0)
        weights = None if distortion.isotropic else distortion.weights(R)
        JW = J if weights is None else J * weights[:, None, :]
        H = np.einsum("nkd,nld->nkl", JW, J)
        g = np.einsum("nkd,nd->nk", JW, R)
        top = np.einsum("nkk->n", H)
        flat = ~(top > 0.0)
        D = Z.shape[1]
        H[:, range(D), range(D)] += (damping[rows] * top + flat)[:, None]
        moved = basis.latent.clip(Z + np.linalg.solve(H, g[:, :, None])[:, :, 0])
        P = basis(moved)
        S = self._residual(P, rows)
        new = self._cost(S, rows)
        better = new < value
        self._put(rows, np.flatnonzero(better[:n]), moved, P, S, new)
        damping[rows[:n]] *= np.where(better, EASE, TIGHTEN)[:n]
        far = np.abs(moved - Z).max(axis=1) > SMALL * self.on.extent
        return np.asarray(far & ~flat & (damping[rows] < HOPELESS))
