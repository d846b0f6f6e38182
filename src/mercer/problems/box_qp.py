r"""Separable programs in a box over signed copies of a sample.

.. math::

    \min_z\; \tfrac12 z'SKS'z + \sum_j \varphi_j(z_j)
    \qquad \text{subject to}\; A'z = e, \quad \text{lower} \le z \le \text{upper}

Every variable is a copy of one sample with a sign: :math:`S` has one entry :math:`\pm 1` in each
row, and the kernel matrix is never larger than the sample. :class:`BoxQP` is the case of parabolas
:math:`\varphi_j`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.factor import MAX_BYTES, Solve

__all__ = ["BoxProgram", "BoxQP", "Residuals", "SignedCopies"]


@dataclass(frozen=True)
class SignedCopies:
    r"""The matrix :math:`SKS'` of signed copies of samples.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the ``n`` samples.
    index : ndarray of shape (m,)
        Which sample each variable is a copy of.
    sign : ndarray of shape (m,)
        Plus or minus one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.problems.box_qp import SignedCopies
    >>> H = SignedCopies(Dense(2.0 * np.eye(2)), np.array([0, 0, 1]), np.array([1.0, -1.0, 1.0]))
    >>> H.matvec(np.array([3.0, 1.0, 1.0]))
    array([ 4., -4.,  2.])
    """

    K: Gram
    index: NDArray[np.intp]
    sign: Array

    def gather(self, z: Array) -> Array:
        """Return ``S'z``: the signed sum over the copies of each sample."""
        n = self.K.shape[0]
        if z.ndim == 1:
            return np.bincount(self.index, self.sign * z, minlength=n).astype(np.float64)
        return np.stack([self.gather(column) for column in z.T], axis=1)

    def spread(self, f: Array) -> Array:
        """Return ``S f``: the signed value of each copy's sample."""
        return np.asarray((self.sign * f[self.index].T).T)

    def matvec(self, z: Array) -> Array:
        """Multiply by the matrix, through one product with K."""
        return self.spread(self.K.matvec(self.gather(z)))

    def diag(self) -> Array:
        """Return the diagonal."""
        return self.K.diag()[self.index]

    def shifted(self, D: Array, max_bytes: float = MAX_BYTES) -> Solve:
        r"""Factorize :math:`SKS' + \operatorname{diag}(D)` at the size of the sample.

        With :math:`E = (S'D^{-1}S)^{-1}`, the harmonic sum of the shifts of a sample's copies, and
        :math:`\delta = S'x`, the system :math:`(SKS' + D) x = r` becomes

        .. math::

            (K + E)\,\delta = E S'D^{-1} r, \qquad x = D^{-1}(r - SK\delta).

        Parameters
        ----------
        D : ndarray of shape (m,)
            The shift, positive; infinite pins a variable at zero.
        max_bytes : float
            Memory that a dense factorization may take.
        """
        inverse = 1.0 / D
        with np.errstate(divide="ignore"):
            E = 1.0 / np.bincount(self.index, inverse, minlength=self.K.shape[0])
        base = self.K.shifted(E, max_bytes)
        E = np.where(np.isfinite(E), E, 0.0)
        # The copy with the smallest shift is read off from the sum: its division would cancel.
        order = np.lexsort((D, self.index))
        first = order[np.flatnonzero(np.diff(self.index[order], prepend=-1))]

        def solve(r: Array) -> Array:
            w = (E * self.gather((r.T * inverse).T).T).T
            delta = base(w)
            x = ((r - self.spread(w - (E * delta.T).T)).T * inverse).T
            x[first] += self.spread(delta - self.gather(x))[first]
            return np.asarray(x)

        return solve


@dataclass(frozen=True)
class Residuals:
    """How far a pair ``(z, b)`` is from optimal, group by group, each as a largest entry.

    Parameters
    ----------
    stationarity : float
        Step that a variable takes down the gradient of the Lagrangian before the box stops it.
    equality : float
        Violation of ``A'z = e``.
    bounds : float
        Distance of ``z`` to the box.
    complementarity : float
        Largest product of the distance to a finite bound and the multiplier that holds it.
    gap : float
        Primal minus dual objective.
    """

    stationarity: float
    equality: float
    bounds: float
    complementarity: float
    gap: float


@dataclass(frozen=True)
class BoxProgram(ABC):
    """A separable convex program in a box over signed copies, for interior-point methods.

    Parameters
    ----------
    H : Copies
        The matrix of the quadratic form.
    p : ndarray of shape (m,)
        Linear cost of each variable, a part of its slope.
    A : ndarray of shape (m, q)
        Columns of the equality rows.
    e : ndarray of shape (q,)
        Their right-hand side.
    lower, upper : ndarray of shape (m,)
        The box; infinite entries are allowed.
    """

    H: SignedCopies
    p: Array
    A: Array
    e: Array
    lower: Array
    upper: Array

    def corner(self) -> Array | None:
        r"""Return :math:`\varphi_j'(0)`, None if every :math:`\varphi_j'` is a straight line."""
        return None

    @abstractmethod
    def slope(self, z: Array) -> Array:
        r"""Evaluate :math:`\varphi_j'(z_j)`."""

    @abstractmethod
    def curvature(self, z: Array) -> Array:
        r"""Evaluate :math:`\varphi_j''(z_j)`."""

    def gradient(self, z: Array, b: Array) -> Array:
        """Return the gradient of the Lagrangian without the bounds."""
        return self.H.matvec(z) + self.slope(z) + self.A @ b


@dataclass(frozen=True)
class BoxQP(BoxProgram):
    r"""A quadratic program with box and a few equality rows.

    .. math::

        \min_z\; \tfrac12 z'(SKS' + \operatorname{diag}(h))z + p'z
        \qquad \text{subject to}\; A'z = e, \quad \text{lower} \le z \le \text{upper}

    The Lagrangian is the objective plus :math:`b'(A'z - e)`.

    Parameters
    ----------
    H, p, A, e, lower, upper
        As in :class:`BoxProgram`.
    h : ndarray of shape (m,)
        Curvature of each variable.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.problems.box_qp import BoxQP, SignedCopies
    >>> H = SignedCopies(Dense(np.eye(2)), np.arange(2), np.ones(2))
    >>> zero, one = np.zeros(2), np.ones(2)
    >>> qp = BoxQP(H, p=-2 * one, h=zero, A=np.zeros((2, 0)), e=np.zeros(0), lower=zero, upper=one)
    >>> qp.objective(one), qp.residuals(one, np.zeros(0)).gap
    (-3.0, 0.0)
    """

    h: Array

    def slope(self, z: Array) -> Array:
        return self.p + self.h * z

    def curvature(self, z: Array) -> Array:
        return self.h

    def objective(self, z: Array) -> float:
        """Evaluate the objective at ``z``."""
        return float(z @ (0.5 * self.H.matvec(z) + 0.5 * self.h * z + self.p))

    def dual_objective(self, z: Array, b: Array) -> float:
        r"""Evaluate the dual function, a lower bound on the objective of every feasible point.

        .. math::

            -\tfrac12 z'SKS'z - e'b + \sum_j \min_{\text{lower}_j \le x \le \text{upper}_j}
            s_j x + \tfrac12 h_j x^2, \qquad s = SKS'z + p + Ab
        """
        Kz = self.H.matvec(z)
        least = np.sum(self._least(Kz + self.p + self.A @ b))
        return float(least - 0.5 * (z @ Kz) - self.e @ b)

    def residuals(self, z: Array, b: Array) -> Residuals:
        """Measure the optimality conditions at ``z`` and multipliers ``b`` of the equality rows."""
        g = self.gradient(z, b)
        room = np.where(g > 0, z - self.lower, self.upper - z)
        product = np.abs(g) * np.where(np.isfinite(room), np.abs(room), 0.0)
        return Residuals(
            stationarity=_largest(np.abs(z - np.clip(z - g, self.lower, self.upper))),
            equality=_largest(np.abs(self.A.T @ z - self.e)),
            bounds=_largest(np.maximum(self.lower - z, z - self.upper)),
            complementarity=_largest(product),
            gap=self.objective(z) - self.dual_objective(z, b),
        )

    def _least(self, s: Array) -> Array:
        """Minimize ``s x + h x^2 / 2`` over the box, entry by entry."""
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(s == 0, 0.0, np.where(self.h > 0, -s / self.h, -np.sign(s) * np.inf))
            x = np.clip(x, self.lower, self.upper)
            return np.where(x == 0, 0.0, x * (s + np.where(self.h > 0, 0.5 * self.h * x, 0.0)))


def _largest(x: Array) -> float:
    return float(np.max(x, initial=0.0))
