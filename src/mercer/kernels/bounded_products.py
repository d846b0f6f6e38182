r"""Sums of Gaussian kernel values in float32, each with a proved bound on its error.

For answers that need no digits, such as the sign of a function: where a value is larger than its
bound, float32 has the sign of the function, in about half the time.

The bound, with :math:`u = 2^{-24}`, :math:`\gamma_p = p u / (1 - p u)`, points x and z in units
around an origin and :math:`h = \tfrac12 |\cdot|^2`, all known in float64 and rounded once.
The exponent :math:`t = \langle x, z\rangle - h_x - h_z` is off by at most

.. math:: \bigl(\tfrac12 \gamma_p + 4 u\bigr) (\sqrt{h_x} + \sqrt{h_z})^2

to first order in u: rounded coordinates change the inner product by :math:`2 u |x| |z|`, a sum of p
products in any order by :math:`\gamma_p |x| |z|` (N. J. Higham, *Accuracy and Stability of
Numerical Algorithms*, 2nd edition, SIAM 2002, eq. (3.5)), where
:math:`|x| |z| = 2 \sqrt{h_x h_z} \le \tfrac12 (\sqrt{h_x} + \sqrt{h_z})^2`; rounded h and two
subtractions each cost u of at most that square. These are worst cases, unlike the errors that are
met of which :mod:`mercer.kernels.radial_tiles` speaks. A kernel value is then off by that part of
itself, and by four u for its power of two. With any :math:`\bar h > 0` a sum of
:math:`a_i k(x, z_i)`
is off by at most :math:`\max(h_x, \bar h) \sum_i w_i k(x, z_i)` times the constant, where
:math:`w_i = |a_i| (1 + \sqrt{h_i / \bar h})^2`: one more sum, in which a point far out counts only
where it is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer._native import raise_two, weigh_and_bound
from mercer._threads import map_blocks
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, count, pieces
from mercer.kernels.radial_tiles import UNIT_ROUNDOFF, RadialTiles
from mercer.kernels.tile_sizes import RUN
from mercer.kernels.tiles import Scratch, TiledEvaluator

WORTH = 2**18
"""Number of kernel values from which float32 is worth its bound."""

ROWS = 512
"""Points from which it is, and height of a tile; its width is `RUN`."""

HIGHER = 1.01
"""Terms of higher order in u, and what a sum of the bound loses in float32."""

_scratch = Scratch()


class Bounded(NamedTuple):
    """Products of runs of columns with coefficients, and bounds on their errors."""

    values: Array
    """(number of runs, n, q)."""

    bounds: Array
    """(number of runs, n), of all columns of a run; infinite where there is none."""


def bounded_products(
    kernel: Kernel, Z: Data, X: Data, coef: Array, ends: Sequence[int]
) -> Bounded | None:
    """Return products as :func:`mercer.kernels.products.products` does, from float32.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
    X : (n, p) points
    coef : (m, q) array
    ends : sequence of int

    Returns
    -------
    Bounded or None
        None if the kernel is no Gaussian, if points are not dense, or if they are few.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 1.0, 1024)[:, None]
    >>> found = bounded_products(Gaussian(0.1), X, X, np.ones((1024, 1)), [1024])
    >>> exact = Gaussian(0.1)(X).sum(axis=1)
    >>> bool(np.all(np.abs(found.values[0, :, 0] - exact) <= found.bounds[0]))
    True
    """
    n, m = count(X), count(Z)
    dense = isinstance(X, np.ndarray) and isinstance(Z, np.ndarray)
    if not dense or n * m < WORTH or n < ROWS or X.ndim != 2 or X.dtype != np.float64:
        return None
    evaluate = kernel.against(Z)
    tiles = (
        evaluate.prepare(Z) if isinstance(evaluate, TiledEvaluator) and Z.dtype == X.dtype else None
    )
    if not isinstance(tiles, RadialTiles) or tiles.profile is not None or not tiles.finite:
        return None
    return _Sums(tiles, coef, ends)(X)


class _Sums:
    """Sums of a kernel expansion, with all work on its points and coefficients done once."""

    def __init__(self, tiles: RadialTiles, coef: Array, ends: Sequence[int]) -> None:
        p = len(tiles.columns)
        self.tiles, self.ends, self.q = tiles, ends, coef.shape[1]
        self.columns, self.half = tiles.columns.astype(np.float32), tiles.half.astype(np.float32)
        middle = float(np.median(tiles.half))
        self.middle = middle if middle > 0.0 else 1.0
        parts = (1.0 + np.sqrt(tiles.half / self.middle)) ** 2
        self.largest = float(parts.max())
        w = np.abs(coef).max(axis=1) * parts
        # The sum of these is wrong by far less than a hundredth in float32, sums of values are not.
        self.w = np.ascontiguousarray(w, dtype=np.float32)
        self.a = np.ascontiguousarray(coef[:, 0])
        self.weights = np.column_stack([coef, w]).astype(np.float32)
        self.exponent = HIGHER * (0.5 * _gamma(p) + 4.0 * UNIT_ROUNDOFF)
        # The power of two, and for several columns their rounding and that of sums over a tile.
        self.rest = 6.0 * UNIT_ROUNDOFF
        if self.q > 1:
            self.rest += _gamma(RUN + 2)
        self.least = 2.0**-125 * np.abs(coef).sum()

    def __call__(self, X: Array) -> Bounded:
        g, n = len(self.ends), len(X)
        values, bounds = np.zeros((g, n, self.q)), np.zeros((g, n))

        def fill(rows: slice) -> None:
            self._fill(X[rows], values[:, rows], bounds[:, rows])

        map_blocks(fill, pieces(0, n, ROWS))
        return Bounded(values, bounds)

    def _fill(self, X: Array, values: Array, bounds: Array) -> None:
        units, half = self.tiles._in_units(X)
        with np.errstate(over="ignore"):
            units, hx = units.astype(np.float32), half.astype(np.float32)
        start = 0
        for product, bound, end in zip(values, bounds, self.ends, strict=True):
            for some in pieces(start, end, RUN):
                D = _scratch.tile(0, len(X), some.stop - some.start, self.columns.dtype)
                np.matmul(units, self.columns[:, some], out=D)
                raise_two(D, hx, self.half[some])
                if self.q == 1:
                    weigh_and_bound(D, self.a[some], self.w[some], product[:, 0], bound)
                else:
                    sums = D @ self.weights[some]
                    product += sums[:, :-1]
                    bound += sums[:, -1]
            start = end
        # Exponents are in units of log 2: an error y of one makes expm1(y) <= y exp(y) of a value,
        # which itself is known up to exp(y). Cutting one at HIGHEST brings it nearer to the truth.
        size = np.log(2.0) * self.exponent * np.maximum(half, self.middle)
        with np.errstate(over="ignore", invalid="ignore"):
            bounds *= HIGHER * (size + self.rest) * np.exp(2.0 * size * self.largest)
        bounds += self.least
        bounds[:, ~(size * self.largest <= 1.0)] = np.inf


def _gamma(p: int) -> float:
    """Return the worst relative error of a sum of p products in float32."""
    return p * UNIT_ROUNDOFF / (1.0 - p * UNIT_ROUNDOFF)
