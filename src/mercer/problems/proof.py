r"""Proofs about an expansion between the points where it was evaluated.

On a cell of half-width :math:`\delta` around m, by Taylor's formula and the norm of the function,

.. math:: \Bigl|\partial^q f(x) - \partial^q f(m)\Bigr|
          \le \delta\, |\partial^{q+1} f(m)| + \tfrac12 \delta^2 M_{q+2}, \qquad
          M_q = \|f\| \sqrt{(-1)^q \, \partial^{2q} k(0)},

so that finitely many cells bound a derivative on a whole line. What rounding of the sum over the
expansion can do is added. Where functions of the kernel have no derivative of order q + 2 the
first-order bound :math:`\delta M_{q+1}` is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.taylor import derivatives, differentiable, roughness
from mercer.regularizers.null_space import Constant, Empty, NullSpace, Polynomial, Sum

__all__ = ["Curve", "bounds_on_lines"]

# Cells of a line to begin with, and how often those are halved that do not prove anything yet.
FIRST_CELLS, MAX_HALVINGS = 256, 14
# Cells after which nothing is halved: a line of a million length scales has too many to look at.
MAX_CELLS = 2**14
# Rounding errors of a term of an expansion: of the kernel value, of the product and of its sum.
TERM_ROUNDING = 8 * float(np.finfo(np.float64).eps)
# Values of the kernel that are held at once.
BLOCK_VALUES = 2_000_000


@dataclass(frozen=True)
class Curve:
    """An expansion with its derivatives and bounds on them.

    Parameters
    ----------
    kernel : Kernel
    P : (m, p) array
        Points of the expansion.
    coef : (m,) array
        Its coefficients.
    norm : float
        Norm of the function in the space of the kernel.
    null_space : NullSpace
    b : (q,) array
        Coefficients of the unpenalized functions.
    """

    kernel: Kernel
    P: Array
    coef: Array
    norm: float
    null_space: NullSpace
    b: Array

    @property
    def p(self) -> int:
        return int(self.P.shape[1])

    def obstacle(self, order: int) -> str:
        """Say why a derivative cannot be bounded; empty if it can."""
        if not self.kernel.stationary:
            return f"{self.kernel!r} is not a function of differences"
        if not differentiable(self.kernel, order, self.p):
            return f"derivatives of {self.kernel!r} are not known"
        if not _straight(self.null_space):
            return f"derivatives of {self.null_space!r} are not known"
        if not np.isfinite(roughness(self.kernel, 0, order + 1, self.p)):
            return f"functions of {self.kernel!r} have too few derivatives"
        return ""

    def rounding(self, Z: Array, feature: int, order: int) -> float:
        """Bound the rounding error of a derivative at points, by so many errors of every term."""
        free = np.abs(self.null_space(Z)) @ np.abs(self.b) if len(self.b) else np.zeros(1)
        largest = roughness(self.kernel, 0, 0, self.p) * roughness(
            self.kernel, feature, order, self.p
        )
        terms = largest * float(np.sum(np.abs(self.coef)))
        return TERM_ROUNDING * (terms + float(np.max(free, initial=0.0)))

    def largest_norm(self) -> float:
        """Return an upper bound of the norm, with the rounding error of the quadratic form."""
        size = roughness(self.kernel, 0, 0, self.p) * float(np.sum(np.abs(self.coef)))
        return float(np.sqrt(self.norm**2 + TERM_ROUNDING * size**2))

    def derivative(self, Z: Array, feature: int, order: int) -> Array:
        """Return the derivatives along a feature up to an order, (order + 1, n)."""
        out = np.zeros((order + 1, len(Z)))
        step = max(1, BLOCK_VALUES // max(1, len(self.P) * (order + 1)))
        for start in range(0, len(Z) if len(self.P) else 0, step):
            some = slice(start, start + step)
            out[:, some] = derivatives(self.kernel, Z[some], self.P, feature, order) @ self.coef
        if len(self.b):
            out[0] += self.null_space(Z) @ self.b
            if order > 0:
                # Straight functions: their slope is a difference.
                ahead = Z.copy()
                ahead[:, feature] += 1.0
                out[1] += (self.null_space(ahead) - self.null_space(Z)) @ self.b
        return out


def _straight(space: NullSpace) -> bool:
    """Answer whether unpenalized functions are straight lines along every feature."""
    if isinstance(space, Sum):
        return _straight(space.left) and _straight(space.right)
    return isinstance(space, Empty | Constant) or (
        isinstance(space, Polynomial) and space.degree <= 1
    )


def bounds_on_lines(
    curve: Curve,
    bases: Array,
    feature: int,
    order: int,
    low: float,
    high: float,
    walls: tuple[float, float],
    slack: float = 0.0,
) -> tuple[float, float]:
    """Bound a derivative along lines from below and from above, where walls ask for it.

    Cells are halved until all are proved to lie between the walls, or not to be worse than the
    worst value seen, by a hundredth of its excess and some slack.

    Parameters
    ----------
    curve : Curve
    bases : (n, p) array
        A point of each line.
    feature, order : int
        Direction of the lines, and which derivative along it.
    low, high : float
        Ends of the lines.
    walls : tuple of float
        What is to be proved; infinite walls need no proof.
    slack : float, default=0.0
        How loose a bound may be where the walls do not hold.

    Returns
    -------
    low, high : float
        Bounds that are proved; beyond the walls where those could not be.
    """
    second = roughness(curve.kernel, feature, order + 2, curve.p)
    smooth = np.isfinite(second) and differentiable(curve.kernel, order + 1, curve.p)
    norm = curve.largest_norm()
    first = norm * roughness(curve.kernel, feature, order + 1, curve.p)
    second = norm * second if smooth else np.inf
    lower, upper = walls
    per = max(8, FIRST_CELLS // len(bases))
    half = np.full(per * len(bases), 0.5 * (high - low) / per)
    middle = np.tile(low + (high - low) * (np.arange(per) + 0.5) / per, len(bases))
    line: NDArray[np.intp] = np.repeat(np.arange(len(bases)), per)
    least, most = np.inf, -np.inf
    seen_low, seen_high = np.inf, -np.inf
    for level in range(MAX_HALVINGS + 1):
        Z = bases[line]
        Z[:, feature] = middle
        values = curve.derivative(Z, feature, order + 1 if smooth else order)
        g = values[order]
        reach = first * half
        if smooth:
            reach = np.minimum(reach, half * np.abs(values[order + 1]) + 0.5 * half**2 * second)
        reach = reach + curve.rounding(Z, feature, order)
        below, above = g - reach, g + reach
        # Only cells that may hold something worse than what was seen already are worth halving.
        seen_low, seen_high = min(seen_low, float(g.min())), max(seen_high, float(g.max()))
        floor = min(lower, seen_low - slack - 0.01 * max(lower - seen_low, 0.0))
        ceiling = max(upper, seen_high + slack + 0.01 * max(seen_high - upper, 0.0))
        stop = (below >= floor) & (above <= ceiling)
        stop |= level == MAX_HALVINGS or 2 * np.count_nonzero(~stop) > MAX_CELLS
        least = min(least, float(np.min(below[stop], initial=np.inf)))
        most = max(most, float(np.max(above[stop], initial=-np.inf)))
        left = ~stop
        if not left.any():
            break
        half = np.repeat(0.5 * half[left], 2)
        middle = np.repeat(middle[left], 2) + np.tile([-1.0, 1.0], left.sum()) * half
        line = np.repeat(line[left], 2)
    return least, most
