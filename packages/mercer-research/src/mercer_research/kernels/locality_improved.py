"""A kernel that knows the layout of an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from math import prod

import numpy as np

from mercer._params import check_integer, is_integer
from mercer.kernels.algebra import power
from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.dot_product import Linear
from mercer.kernels.invariant import Rearranged
from mercer.kernels.points import Array, Data, as_pair, as_points, is_sparse


@dataclass(eq=False)
class LocalityImproved(Rearranged):
    r"""A kernel of images or signals that compares them window by window.

    .. math:: k(x, z) = \Bigl(\frac{1}{W} \sum_w k_1(x_w, z_w)^{d_1}\Bigr)^{d_2}

    Inside a window up to :math:`d_1` features are multiplied, far apart only up to
    :math:`d_2` windows: neighbouring pixels are taken to belong together.

    Parameters
    ----------
    shape : tuple of int
        The layout of the features in C order: ``(height, width)``, or ``(length,)``.
    window : int, default=3
        The odd side of the windows, one around every pixel; those at the border are cut off.
    inner : int, default=2
        The power :math:`d_1`.
    outer : int, default=1
        The power :math:`d_2`.
    taper : bool, default=False
        Weight the pixels of a window, by one divided by one plus their largest distance from
        its centre along an axis.
    kernel : Kernel, default=Linear()
        The kernel :math:`k_1` of windows.

    References
    ----------
    B. Schoelkopf, P. Simard, A. Smola and V. Vapnik, *Prior knowledge in support vector kernels*,
    1998.

    Examples
    --------
    >>> kernel = LocalityImproved(shape=(3,), inner=2)
    >>> kernel([[1.0, 1.0, 0.0]], [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    array([[3.        , 0.66666667]])
    """

    shape: tuple[int, ...]
    window: int = 3
    inner: int = 2
    outer: int = 1
    taper: bool = False
    kernel: Kernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shape or not all(is_integer(side) and side > 0 for side in self.shape):
            raise ValueError(f"shape must be a tuple of positive integers, got {self.shape!r}.")
        if not is_integer(self.window) or self.window < 1 or self.window % 2 == 0:
            raise ValueError(f"window must be an odd positive integer, got {self.window!r}.")
        for name in ("inner", "outer"):
            check_integer(name, getattr(self, name), 1)

    def _windows(self, p: int) -> list[tuple[Array, Array]]:
        """Return the features of every window and the square roots of their weights."""
        if prod(self.shape) != p:
            raise ValueError(
                f"shape {self.shape} has {prod(self.shape)} entries but the points have {p} "
                "features."
            )
        places = np.moveaxis(np.indices(self.shape), 0, -1).reshape(p, -1)
        windows = []
        for center in places:
            distance = np.abs(places - center).max(axis=1)
            (inside,) = np.nonzero(distance <= self.window // 2)
            weights = 1.0 / (1.0 + distance[inside]) if self.taper else np.ones(len(inside))
            windows.append((inside, np.sqrt(weights)))
        return windows

    def _cut(self, X: Data) -> Iterator[Data]:
        """Yield the windows of all points, one after the other."""
        for inside, weights in self._windows(X.shape[1]):
            part = X[:, inside]
            if self.taper:
                part = part.multiply(weights).tocsr() if is_sparse(part) else part * weights
            yield part.astype(X.dtype, copy=False)

    def _mean(self, values: Iterator[Array], p: int) -> Array:
        def powers() -> Iterator[Array]:
            for value in values:
                power(np.atleast_2d(value), int(self.inner))
                yield value

        return np.asarray(reduce(np.add, powers()) / p)

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        each = [self.kernel.against(part) for part in self._cut(Z)]

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, _ = as_pair(X, Z)
            parts = zip(each, self._cut(X), strict=True)
            mean = self._mean((values(part) for values, part in parts), len(each))
            power(mean, int(self.outer))
            return put(mean, out)

        return evaluate

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        mean = self._mean((self.kernel.diag(part) for part in self._cut(X)), X.shape[1])
        return np.asarray(mean ** int(self.outer))

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        parts = zip(self._cut(X), self._cut(Z), strict=True)
        mean = self._mean((self.kernel.paired(x, z) for x, z in parts), X.shape[1])
        return np.asarray(mean ** int(self.outer))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        p, inner, outer = X.shape[1], int(self.inner), int(self.outer)
        mean, slopes = 0.0, dict[str, Array]()
        for x, z in zip(self._cut(X), self._cut(Z), strict=True):
            K = self.kernel(x, z)
            mean = mean + K**inner / p
            weight = inner * K ** (inner - 1) / p
            for name, slope in self.kernel.gradient(x, z).items():
                part = slope * (weight if slope.ndim == 2 else weight[:, :, None])
                slopes[name] = slopes[name] + part if name in slopes else part
        factor = np.asarray(outer * mean ** (outer - 1))
        return {
            f"kernel__{name}": value * (factor if value.ndim == 2 else factor[:, :, None])
            for name, value in slopes.items()
        }
