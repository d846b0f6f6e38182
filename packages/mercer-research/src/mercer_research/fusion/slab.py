"""Least squares between parallel hyperplanes: how little left-out residuals may cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space, svd

from mercer._threads import small_algebra
from mercer._typing import Array
from mercer_research.linear.constrained import constrained_least_squares

__all__ = ["Slab", "Within"]


ROUNDING = 1e-13
# What the cost may be above the least, as a part of that of z = 0.
LEVEL = 1e-14


class Within(NamedTuple):
    """A point between the hyperplanes with its multipliers."""

    z: Array
    cost: float
    """The squared length of ``t - F z``."""
    gap: float
    """No point between them has a cost below ``cost - gap``."""


class Slab:
    r"""Minimize a sum of squares where some linear functions are small.

    .. math:: \min_z \|t - Fz\|^2 \quad\text{subject to}\quad \|Gz\|_\infty \le \tau

    With the singular values of both matrices together, :math:`[F; G] = [U_F; U_G] S V'`, and
    :math:`x = SV'z`, directions that matter for neither are left out, and those kept are told apart
    by orthonormal columns.

    Parameters
    ----------
    F : (n, m) array
    G : (k, m) array

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.fusion.slab import Slab
    >>> Slab(np.eye(2), np.array([[1.0, 1.0]])).solve(np.array([3.0, 1.0]), 2.0).z.round(6)
    array([ 2., -0.])
    """

    def __init__(self, F: Array, G: Array) -> None:
        n, self._rows = len(F), len(F) + 2 * len(G)
        with small_algebra(self._rows):
            U, s, Vt = svd(np.concatenate([F, G]), full_matrices=False, check_finite=False)
        keep = s > max(U.shape) * np.finfo(np.float64).eps * np.max(s, initial=0.0)
        self.F, self.G, self._back = U[:n, keep], U[n:, keep], Vt[keep].T / s[keep]

    def free(self, t: Array) -> Array:
        """Return the shortest x that minimizes without the condition."""
        return np.asarray(np.linalg.lstsq(self.F, t, rcond=None)[0])

    def widest(self, t: Array) -> float:
        """Return the least bound that leaves the minimum free."""
        return float(np.max(np.abs(self.G @ self.free(t)), initial=0.0))

    def solve(self, t: Array, tau: float) -> Within:
        """Return the minimum for targets (n,) and a bound.

        Parameters
        ----------
        t : (n,) array
        tau : float
            The bound; zero is an equation.
        """
        with small_algebra(self._rows):
            return self._solve(t, tau)

    def _solve(self, t: Array, tau: float) -> Within:
        x = self.free(t)
        if np.max(np.abs(self.G @ x), initial=0.0) <= tau:
            return self._within(x, t, 0.0)
        # A bound below the rounding of what it bounds is none but zero.
        if tau <= ROUNDING * float(np.linalg.norm(t)):
            N = null_space(self.G)
            return self._within(N @ np.linalg.lstsq(self.F @ N, t, rcond=None)[0], t, 0.0)
        # Where F says nothing, the shortest Gz: it is bounded, so that this costs next to nothing.
        free = LEVEL * float(t @ t)
        ridge = min(1.0, np.sqrt(free / len(self.G)) / tau)
        sides = np.concatenate([self.G, -self.G])
        E = np.concatenate([self.F, ridge * self.G])
        f = np.concatenate([t, np.zeros(len(self.G))])
        found = constrained_least_squares(E, f, sides, np.full(len(sides), -tau))
        # On the sides that it lies on, without the rounding of how it was found.
        on = sides[found.multipliers > 0]
        x, N = np.linalg.lstsq(on, np.full(len(on), -tau))[0], null_space(on)
        x = x + N @ np.linalg.lstsq(E @ N, f - E @ x)[0]
        cost = float(np.sum((t - self.F @ x) ** 2))
        return self._within(x, t, max(cost - 2.0 * found.bound + free, 0.0))

    def _within(self, x: Array, t: Array, gap: float) -> Within:
        return Within(self._back @ x, float(np.sum((t - self.F @ x) ** 2)), gap)
