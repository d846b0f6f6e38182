r"""Unpenalized columns that pairs of coefficients cannot keep: met by multipliers.

Pair steps hold :math:`S'a = d_S` for columns S with disjoint supports, an intercept or one a group.
Other columns, made orthonormal and orthogonal to S as U, ask for :math:`U'a = e`. The method of
multipliers minimizes instead

.. math:: \tfrac12 a'Ka + g(a) + t'(U'a - e) + \tfrac\rho2 |U'a - e|^2, \qquad S'a = d_S,

and moves :math:`t` by :math:`\rho\,(U'a - e)`, until that changes no decision value. K is replaced
by its part off U, which leaves the problem what it is and makes kernels convex that are positive
definite only there.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer.gram.projected import Projected
from mercer.problems.risk import RegularizedRisk

__all__ = ["Multipliers", "kept"]

# Weight of the rows against the trace of K: so much that a round reduces what is missing in them by
# about this factor, and so little that pair steps still see the kernel. Where few coefficients are
# free a round reduces it less, and the weight grows.
ROW_WEIGHT, ROW_WEIGHT_GROWTH = 4.0, 10.0


def kept(B: Array) -> list[int]:
    """Return disjoint columns with one value where they are not zero: pair steps preserve them.

    Examples
    --------
    >>> kept(np.array([[1.0, 0.0, 0.5], [1.0, 0.0, 0.7], [0.0, 2.0, 0.9]]))
    [0, 1]
    """
    columns: list[int] = []
    taken = np.zeros(B.shape[0], dtype=bool)
    for j, column in enumerate(B.T):
        inside = column != 0
        values = column[inside]
        if not np.any(values != values[:1]) and not np.any(taken & inside):
            columns.append(j)
            taken |= inside
    return columns


class Multipliers:
    """A problem that pair steps take, in place of one with other unpenalized columns.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.

    Attributes
    ----------
    inner : RegularizedRisk
        The one to solve, with :attr:`offset` added to its products.
    t : ndarray of shape (r,)
        The multipliers so far.
    """

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        self.columns = kept(risk.B)
        self.others = [j for j in range(risk.q) if j not in self.columns]
        live = (risk.c > 0)[:, None]  # a sample without weight takes no part in the rows
        S, R = risk.B[:, self.columns], risk.B[:, self.others]
        mass = np.sum(np.where(live, S * S, 0.0), axis=0)
        self.G = (S.T @ np.where(live, R, 0.0)) / np.where(mass > 0, mass, 1.0)[:, None]
        _, self.back = orthonormal(np.where(live, R - S @ self.G, 0.0))
        self.U = np.where(live, (R - S @ self.G) @ self.back, 0.0)
        self.e = self.back.T @ (risk.d[self.others] - self.G.T @ risk.d[self.columns])
        off = Projected(risk.K, self.U)
        rho = ROW_WEIGHT * float(np.sum(np.maximum(off.diag(), 0.0))) or 1.0
        self.K = Projected(risk.K, self.U, rho, off.KU)
        self.inner = RegularizedRisk(risk.loss, self.K, risk.y, risk.c, S, risk.d[self.columns])
        self.t = np.zeros(self.U.shape[1])

    @cached_property
    def _start(self) -> Array:
        """The product with the part of every feasible a that lies in U, off U."""
        Ka0 = self.K.KU @ self.e
        return np.asarray(Ka0 - self.U @ (self.U.T @ Ka0))

    @property
    def offset(self) -> Array:
        """The offset that multipliers add to the products of the inner problem."""
        return np.asarray(self._start + self.U @ (self.t - self.K.rho * self.e))

    def step(self, a: Array) -> Array:
        """Move the multipliers by the rows' residuals at ``a``; return the change of the offset."""
        change = self.K.rho * (self.U.T @ a - self.e)
        self.t += change
        return np.asarray(self.U @ change)

    def stiffen(self, a: Array) -> Array:
        """Give the rows more weight; return how the products change at ``a``."""
        old = self.K
        self.K = Projected(old.K, self.U, ROW_WEIGHT_GROWTH * old.rho, old.KU)
        return np.asarray(self.U @ ((self.K.rho - old.rho) * (self.U.T @ a - self.e)))

    def product(self, F: Array, a: Array) -> Array:
        """Return ``K a`` of the problem itself from the inner products, offset included."""
        Ua = self.U.T @ a
        KUa = self.K.KU @ Ua
        off = F - self.offset - self.U @ (self.K.rho * Ua + self.U.T @ KUa) + KUa
        return np.asarray(off + self.U @ (self.K.KU.T @ a))

    def coefficients(self, b: Array, a: Array) -> Array:
        """Return the coefficients of all columns from those that pair steps keep."""
        out = np.zeros(self.risk.q)
        out[self.others] = self.back @ (self.t - self.K.KU.T @ a)
        out[self.columns] = b - self.G @ out[self.others]
        return out
