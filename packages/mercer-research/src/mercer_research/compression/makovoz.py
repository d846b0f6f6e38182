"""How near few terms come to any expansion: the rate of Makovoz."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.kernels.base import Kernel

__all__ = ["Makovoz", "makovoz"]


class Makovoz(NamedTuple):
    """What n terms can do for a sum of weights one, from :func:`makovoz`."""

    cells: int
    """Number of cells: cubes of one size, for each sign."""

    input_radius: float
    """Half the diagonal of a cube."""

    entropy_number: float
    r"""Radius of a cell in the space of the kernel, :math:`\sqrt{2(k(0) - k(h))}`."""

    expected: float
    r"""Bound :math:`a\epsilon_n / \sqrt n` on the distance of
    :func:`~mercer_research.compression.stratified_terms`."""

    bound: float
    r"""Makovoz's :math:`2 a \epsilon_n / \sqrt n` for the best n terms."""

    exponent: float
    r"""Slope of the logarithm of the bound by that of n, at n: for a spectrum that falls like
    :math:`\omega^{-\alpha - 1}` in one dimension it tends to :math:`-(1 + \min(\alpha, 2))/2`."""


def makovoz(kernel: Kernel, n: int, width: float, dim: int = 1, *, total: float = 1.0) -> Makovoz:
    r"""Return how near n terms come to any expansion over a cube, by covering the cube.

    Parameters
    ----------
    kernel : Kernel
        Stationary, and falling towards the corners of a cube.
    n : int
        Number of cells, at least two: one for each sign.
    width : float
        Edge of the cube that the points lie in.
    dim : int, default=1
        Its dimension.
    total : float, default=1.0
        Sum a of the sizes of the coefficients.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (9.3) and (9.4), where the entropy
    numbers are those of the curve of the atoms and not of the ellipsoid that contains it.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> found = makovoz(Laplacian(1.0), 8, 6.0)
    >>> round(found.expected, 3), round(makovoz(Laplacian(1.0), 2**14, 6.0).exponent, 3)
    (0.363, -1.0)
    """
    if not kernel.stationary:
        raise ValueError(f"{kernel!r} is not stationary: how wide a cell is depends on its place.")
    if n < 2:
        raise ValueError("terms have two signs: n must be at least 2.")
    across = int(np.floor((n // 2) ** (1.0 / dim) * (1.0 + 1e-12)))
    zero = np.zeros((1, dim))

    def radius(h: float) -> float:
        # From the middle to the corner, in case the kernel rises again on the way.
        way = np.linspace(0.0, h / np.sqrt(dim), 65)[:, None] * np.ones(dim)
        values = np.asarray(kernel(way, zero), dtype=np.float64)[:, 0]
        return float(np.sqrt(2.0 * np.max(values[0] - values)))

    h = 0.5 * width * np.sqrt(dim) / across
    e, step = radius(h), 2.0 ** (1.0 / dim)
    slope = np.log2(radius(h / step) / e) - 0.5
    expected = float(total * e / np.sqrt(n))
    return Makovoz(2 * across**dim, float(h), e, expected, 2.0 * expected, float(slope))
