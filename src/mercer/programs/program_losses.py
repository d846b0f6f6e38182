r"""Losses with quadratic duals as rows of a program.

.. math::

    c\, l(y, f) = \sup_a -af - g(a), \qquad
    g(a) = p^\pm a + \tfrac12 q^\pm a^2, \quad \text{lower} \le a \le \text{upper},

is a parabola with vertex :math:`-p^\pm` on either side that goes on as a straight line of slope
*upper* or *lower*. With :math:`e^+ = -f - p^+` and :math:`e^- = f + p^-` a side costs
:math:`\min u^2 / 2q + \text{bound}\, v` over :math:`u + v \ge e`, :math:`v \ge 0`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import Array, LinearMap
from mercer.losses.base import DualTerms
from mercer.programs.program import Block, Optimum, Program, ProgramRows, Terms

__all__ = ["ProgramLosses", "add_losses"]

ABSENT, LINEAR, QUADRATIC, BOTH, HARD = range(5)

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ProgramLosses:
    """Rows of a program that stand for losses, and the coefficients they lead to.

    Parameters
    ----------
    n : int
        Number of samples.
    rows : list of (index, factor, rows)
        Samples, what their price is to be multiplied by, and the rows themselves.
    """

    n: int
    rows: list[tuple[Index, Array, ProgramRows]]

    def coefficients(self, found: Optimum) -> Array:
        r"""Return the expansion coefficients :math:`a_i = -c_i\, \partial l / \partial f_i`."""
        a = np.zeros(self.n)
        for index, factor, rows in self.rows:
            a[index] += factor * found.multiplier(rows)
        return a


def add_losses(program: Program, terms: DualTerms, f: Terms, widths: Terms = ()) -> ProgramLosses:
    r"""Add the weighted losses of a sample to a program.

    Parameters
    ----------
    program : Program
    terms : DualTerms
        The weighted losses, :meth:`mercer.losses.QuadraticDualLoss.dual_terms`.
    f : list of (matrix of shape (n, size), Block)
        The decision values.
    widths : list of (matrix of shape (n, size), Block), optional
        How far from f the decision values may lie, at least zero; the worst of them is charged,
        :math:`\max_{|d| \le T} l(y, f + d)`.

    Returns
    -------
    ProgramLosses

    Examples
    --------
    The mean of three numbers minimizes the squared loss, their median the absolute one:

    >>> from mercer.losses import Absolute, Squared
    >>> y = np.array([0.0, 1.0, 5.0])
    >>> for loss in (Squared(), Absolute()):
    ...     p = Program()
    ...     b = p.variable(1)
    ...     losses = add_losses(p, loss.dual_terms(y, np.ones(3)), [(np.ones((3, 1)), b)])
    ...     print(p.solve()[b].round(5))
    [2.]
    [1.]
    """
    n = len(terms.lower)
    kinds = _kinds(terms.q_pos, terms.upper), _kinds(terms.q_neg, -terms.lower)
    q, p = (terms.q_pos, terms.q_neg), (terms.p_pos, terms.p_neg)
    bound = terms.upper, -terms.lower
    alike = kinds[0] == kinds[1]
    alike &= (kinds[0] != BOTH) | ((q[0] == q[1]) & (bound[0] == bound[1]))
    # A parabola without dead zone needs one equation, not two inequalities.
    whole = alike & (kinds[0] == QUADRATIC) & (q[0] == q[1]) & (p[0] == p[1])
    if widths:
        whole[:] = False
        if np.any(~alike & (kinds[0] != ABSENT) & (kinds[1] != ABSENT)):
            raise ValueError(
                "the worst case of this loss is not a sum of parabolas and lines: use one whose "
                "two sides are of a kind, such as the squared, absolute, Huber or pinball loss."
            )
    groups: list[tuple[Index, int, tuple[int, ...]]] = []
    for kind in (LINEAR, QUADRATIC, BOTH, HARD):
        both = np.flatnonzero(alike & (kinds[0] == kind))
        groups.append((both, kind, (0, 1)))
        for side in (0, 1):
            groups.append((np.flatnonzero(~alike & (kinds[side] == kind)), kind, (side,)))
    found: list[tuple[Index, Array, ProgramRows]] = []
    for index, kind, sides in groups:
        if not len(index):
            continue
        own: list[tuple[LinearMap, Block]] = []
        eye = np.ones(len(index))
        if kind in (QUADRATIC, BOTH):
            u = program.variable(len(index))
            root = eye if kind == QUADRATIC else 1.0 / np.sqrt(q[sides[0]][index])
            program.square(u, _diagonal(root))
            own.append((_diagonal(eye), u))
        if kind in (LINEAR, BOTH):
            v = program.variable(len(index), lower=0.0)
            program.cost(v, 1.0 if kind == LINEAR else bound[sides[0]][index])
            own.append((_diagonal(eye), v))
        for side in sides:
            sign = 1.0 if side == 0 else -1.0
            scale = eye
            if kind == LINEAR:
                scale = bound[side][index]
            elif kind == QUADRATIC:
                scale = 1.0 / np.sqrt(q[side][index])
            equal = whole[index] if sides == (0, 1) else np.zeros(len(index), dtype=bool)
            for some, ask in ((~equal, program.at_least), (equal, program.equal)):
                if (ask == program.equal and side == 0) or not some.any():
                    continue
                kept = np.flatnonzero(some)
                rows = ask(
                    [
                        *((M[kept], block) for M, block in own),
                        *((_scaled(M, index[kept], sign * scale[kept]), blk) for M, blk in f),
                        *((_scaled(M, index[kept], -scale[kept]), blk) for M, blk in widths),
                    ],
                    -sign * scale[kept] * p[side][index[kept]],
                )
                found.append((index[kept], sign * scale[kept], rows))
    return ProgramLosses(n, found)


def _kinds(q: Array, bound: Array) -> NDArray[np.intp]:
    """Return the kind of curve on a side of each loss."""
    kinds = np.where(q > 0, np.where(np.isfinite(bound), BOTH, QUADRATIC), LINEAR)
    kinds = np.where((q == 0) & ~np.isfinite(bound), HARD, kinds)
    return np.where(bound == 0, ABSENT, kinds)


def _diagonal(values: Array) -> LinearMap:
    diagonal: LinearMap = sp.diags_array(values)
    return diagonal.tocsr()


def _scaled(M: LinearMap, index: Index, scale: Array) -> LinearMap:
    """Return some rows of a matrix, dense or sparse, each times a number."""
    if not isinstance(M, np.ndarray):
        return _diagonal(scale) @ M[index]
    return scale[:, None] * M[index]
