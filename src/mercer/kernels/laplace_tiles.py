r"""Laplacian kernels of dense points: distances and powers of two in one pass, tile by tile.

.. math:: k(x, z) = 2^{-\sum_j f_j |x_j - z_j|}, \qquad f_j = \log_2(e) / l_j

Differences are taken before they are multiplied, so that nothing cancels: with u the unit roundoff
the exponent t is off by at most :math:`(p + 4) u t`, wherever the points lie and whatever other
points there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._native import laplace, pull_back, weigh_laplace
from mercer._threads import map_blocks
from mercer.kernels.points import Array, pieces
from mercer.kernels.radial_tiles import LOG2_E, UNIT_ROUNDOFF
from mercer.kernels.roundoff import Roundoff
from mercer.kernels.tiles import TileRows, Tiles, check_width

HEIGHT = 64
"""Rows of a tile: few, so that a tile has as many columns as a compiled loop takes at once."""


class LaplaceTiles(Tiles):
    r"""The function ``X -> k(X, Z)`` of dense points for a Laplacian kernel.

    Parameters
    ----------
    Z : (m, p) array of float32 or float64
    factor : float or (p,) array
        Reciprocal length scale, one for all features or one for each.
    categories : sequence of int, default=()
        Features whose difference counts as 1 unless it is 0.

    Examples
    --------
    >>> X = np.array([[0.0, 3.0], [1.0, 5.0]])
    >>> LaplaceTiles(X, 1.0)(X).round(4)
    array([[1.    , 0.0498],
           [0.0498, 1.    ]])
    >>> LaplaceTiles(X, 1.0, [1])(X).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    def __init__(self, Z: Array, factor: Array | float, categories: Sequence[int] = ()) -> None:
        super().__init__(Z)
        p = Z.shape[1]
        self.height = HEIGHT
        named = set(categories)
        self.numbers = p - len(named)
        # Numbers first, then categories: two loops, and none that asks which is which.
        self.order = sorted(range(p), key=lambda j: (j in named, j)) if named else None
        rates = np.broadcast_to(np.asarray(factor, dtype=np.float64) * LOG2_E, p)
        self.factor = self._ordered(rates[None, :])[0].astype(self.dtype)
        self.columns = np.ascontiguousarray(self._ordered(Z).T)

    def roundoff(self) -> Roundoff | None:
        r"""Bound the errors of values in float32, in which every rounding has its worst size.

        With :math:`h = \sum_j |x_j| / l_j`, where a category adds :math:`1 / 2 l_j`, a distance
        t is at most :math:`h_x + h_z`. It is off by u times :math:`(p + 4) t` for differences,
        factors and sums, and by u times :math:`h_x + h_z` for points that were rounded from
        float64, hence by :math:`E = (p + 5) u (h_x + h_z)`, and
        :math:`h_x + h_z \le \max(h_x, \bar h) (1 + h_z / \bar h)`. A value is off by
        :math:`e^E - 1` of itself, and a power, the product with a weight and the sum of four add
        eight roundings. Pairs in which E is not small although :math:`h_x` is are so far apart,
        :math:`t \ge h_z - h_x`, that both values are zero.
        """
        c, u = self.columns.shape[0] + 5.0, UNIT_ROUNDOFF
        if self.dtype != np.float32 or c * u > 2e-4:
            return None
        rates = self.factor.astype(np.float64) / LOG2_E
        h = rates[: self.numbers] @ np.abs(self.columns[: self.numbers], dtype=np.float64)
        h += 0.5 * rates[self.numbers :].sum()
        # Any number is right; a few points far out do not move the median.
        middle = float(np.median(h)) or 1.0
        E = c * u * np.maximum(h, middle)
        # Some per cent for products of roundings, which are of the second order in E.
        return Roundoff(
            np.where(4.0 * E < 0.02, 1.1 * (E + 8.0 * u), np.inf), 1.0 + h / middle, 1e-15
        )

    def _ordered(self, X: Array) -> Array:
        return np.ascontiguousarray(X if self.order is None else X[:, self.order])

    def _rows(self, X: Array) -> TileRows:
        check_width(X, len(self.factor))
        return TileRows(X, self._ordered(X), *[X[:0, 0]] * 3)

    def _tile(self, rows: TileRows, columns: slice, target: Array, flat: Array) -> None:
        step = target.strides[0] // target.itemsize
        m = columns.stop - columns.start
        laplace(rows.units, self.factor, self.numbers, self.columns, columns.start, m, flat, step)

    def _weigh(self, rows: TileRows, columns: slice, a: Array, f: Array) -> None:
        if self.dtype != np.float64:
            return super()._weigh(rows, columns, a, f)
        # Kernel values are never written: that alone is a sixth of the time.
        weigh_laplace(rows.units, self.factor, self.numbers, self.columns, columns.start, a, f)

    def pullback(self, G: Array, tied: bool) -> Array:
        r"""Return slopes of :math:`\sum_{ij} G_{ij} k(z_i, z_j)` of float64 points.

        Half of the kernel values are computed, and none of them is kept.

        Parameters
        ----------
        G : (m, m) array
            Symmetric.
        tied : bool
            Whether all features have one length scale.

        Returns
        -------
        () or (p,) array
            The sum of :math:`G_{ij} k(z_i, z_j) |z_{iq} - z_{jq}|` over all pairs for every feature
            q; if `tied`, the sum over features, in units of their length scales.
        """
        X, G = np.ascontiguousarray(self.columns.T), np.ascontiguousarray(G, dtype=np.float64)

        def part(rows: slice) -> Array:
            sums = np.zeros(1 if tied else X.shape[1])
            pull_back(
                X, self.factor, self.numbers, self.columns, G, rows.start, rows.stop, tied, sums
            )
            return sums

        # Pairs are counted once; blocks are added in one order, whatever the number of cores.
        total = 2.0 * sum(map_blocks(part, pieces(0, self.m, 4 * HEIGHT)), np.zeros(1))
        if tied:
            return np.asarray(total[0] / LOG2_E)
        slopes = np.empty_like(total)
        slopes[slice(None) if self.order is None else self.order] = total
        return slopes
