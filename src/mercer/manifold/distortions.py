r"""Distortions: how much it costs to put an image in the place of a row.

.. math:: R[f] = \frac1m \sum_i \min_z c(x_i, f(z))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer._params import Params
from mercer.kernels.points import Array

__all__ = [
    "AbsoluteDistortion",
    "Distortion",
    "HuberDistortion",
    "MetricDistortion",
    "SquaredDistortion",
    "as_distortion",
]


class Distortion(Params, ABC):
    """A cost of residuals, convex in the image.

    Residuals are rows ``x - f``, with zeros in the place of cells that are missing. A cost of their
    length alone is `isotropic`: then the nearest image is the cheapest for all of them.
    """

    isotropic: bool = True

    @abstractmethod
    def __call__(self, R: Array) -> Array:
        """Return the cost of every residual, (n,)."""

    @abstractmethod
    def weights(self, R: Array) -> Array | None:
        r"""Return weights w of a weighted sum of squares above the cost, which touches it at R.

        .. math:: c(r') \\le c(r) + w' (r'^2 - r^2)

        (n,) for residuals, (n, d) for their entries, or None where all weights are one.
        """

    def whiten(self, X: Array) -> Array:
        """Return rows in coordinates in which the cost is one of the list above."""
        return X

    def restore(self, X: Array) -> Array:
        """Undo :meth:`whiten`."""
        return X

    def check(self, d: int) -> None:
        """Refuse a cost that does not fit rows of d features."""


@dataclass(eq=False)
class SquaredDistortion(Distortion):
    r"""The squared distance, :math:`\|x - f\|^2`.

    Examples
    --------
    >>> SquaredDistortion()(np.array([[3.0, 4.0]]))
    array([25.])
    """

    def __call__(self, R: Array) -> Array:
        return np.asarray(np.einsum("nd,nd->n", R, R))

    def weights(self, R: Array) -> Array | None:
        return None


@dataclass(eq=False)
class HuberDistortion(Distortion):
    r"""Huber's cost of the distance: squared where it is short, linear where it is long.

    .. math:: c = \frac{r^2}{2\sigma} \;\text{for}\; r = \|x - f\| \le \sigma, \qquad
              r - \frac{\sigma}{2} \;\text{beyond}

    A row far away pulls with a force of one, however far it is.

    Parameters
    ----------
    sigma : float, default=1.0
        Distance from which the cost is linear, in the units of the data.

    Examples
    --------
    >>> HuberDistortion(1.0)(np.array([[0.5], [3.0]]))
    array([0.125, 2.5  ])
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.sigma < np.inf:
            raise ValueError(f"sigma must be a positive number, got {self.sigma}.")

    def __call__(self, R: Array) -> Array:
        r = np.sqrt(np.einsum("nd,nd->n", R, R))
        return np.asarray(
            np.where(r <= self.sigma, r**2 / (2.0 * self.sigma), r - 0.5 * self.sigma)
        )

    def weights(self, R: Array) -> Array | None:
        r = np.sqrt(np.einsum("nd,nd->n", R, R))
        return np.asarray(0.5 / np.maximum(r, self.sigma))


@dataclass(eq=False)
class AbsoluteDistortion(Distortion):
    r"""The city-block distance :math:`\|x - f\|_1`: medians instead of means.

    Examples
    --------
    >>> AbsoluteDistortion()(np.array([[3.0, -4.0]]))
    array([7.])
    """

    isotropic = False

    def __call__(self, R: Array) -> Array:
        return np.asarray(np.abs(R).sum(axis=1))

    def weights(self, R: Array) -> Array | None:
        # A zero stays where it is under any weight; a finite one keeps sums finite.
        size = np.abs(R)
        top = np.max(size, axis=1, keepdims=True, initial=0.0)
        return np.asarray(0.5 / np.maximum(size, np.where(top > 0.0, 1e-9 * top, 1.0)))


@dataclass(eq=False)
class MetricDistortion(Distortion):
    r"""The squared distance in a metric, :math:`(x - f)' D^{-1} (x - f)`.

    Parameters
    ----------
    D : (d, d) array
        Positive definite, such as the covariance of the noise.

    Examples
    --------
    >>> metric = MetricDistortion(np.diag([4.0, 1.0]))
    >>> metric(metric.whiten(np.array([[2.0, 1.0]])))
    array([2.])
    """

    D: Any

    def __post_init__(self) -> None:
        D = np.asarray(self.D, dtype=np.float64)
        if D.ndim != 2 or D.shape[0] != D.shape[1] or not np.allclose(D, D.T):
            raise ValueError("D must be a symmetric matrix.")
        if not np.isfinite(D).all() or la.eigvalsh(D)[0] <= 0.0:
            raise ValueError("D must be positive definite, for D^-1 is the metric.")

    def _root(self) -> Array:
        return np.asarray(la.cholesky(np.asarray(self.D, dtype=np.float64), lower=True))

    def __call__(self, R: Array) -> Array:
        return SquaredDistortion()(R)

    def weights(self, R: Array) -> Array | None:
        return None

    def whiten(self, X: Array) -> Array:
        root = self._root()
        if not np.isnan(X).any():
            return np.asarray(la.solve_triangular(root, X.T, lower=True)).T
        if np.count_nonzero(root) > len(root):
            raise ValueError(
                "a metric that is not diagonal mixes cells, and so missing ones with others; fill "
                "them in first (mercer.preprocessing.Imputer) or use a diagonal metric."
            )
        return np.asarray(X / np.diag(root))

    def restore(self, X: Array) -> Array:
        return X @ self._root().T

    def check(self, d: int) -> None:
        if len(np.asarray(self.D)) != d:
            raise ValueError(f"D is a metric of {len(np.asarray(self.D))} features, rows have {d}.")


NAMES: dict[str, Distortion] = {
    "squared": SquaredDistortion(),
    "absolute": AbsoluteDistortion(),
    "huber": HuberDistortion(),
}


def as_distortion(cost: Distortion | str) -> Distortion:
    """Return a distortion: one that was given, or the one of a name."""
    if isinstance(cost, Distortion):
        return cost
    if cost in NAMES:
        return NAMES[cost]
    raise ValueError(f"cost must be a Distortion or one of {sorted(NAMES)}, got {cost!r}.")
