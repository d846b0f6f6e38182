"""Exponential kernels: powers of the distance, and a product over the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._params import is_integer
from mercer.kernels.base import Evaluator
from mercer.kernels.distances import manhattan_distances
from mercer.kernels.laplace_tiles import LaplaceTiles
from mercer.kernels.points import (
    CHUNK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    is_sparse,
    named_positions,
    row_slices,
    scale_features,
    squared_norms,
    to_dense,
)
from mercer.kernels.stationary import LengthScale, Radial, Stationary
from mercer.kernels.tiles import TiledEvaluator

__all__ = ["Laplacian", "PoweredExponential"]


@dataclass(eq=False)
class PoweredExponential(Radial):
    r"""The powered exponential or stable kernel, :math:`k(x, z) = \exp(-|(x - z)/l|^e)`.

    Between the exponential, which is e = 1 and also ``Matern(nu=0.5)``, and a Gaussian for e = 2.
    The spectrum, a density of stable distributions, is computed by quadrature in the package
    mercer-research: not a number where it is too small to be seen.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    exponent : float, default=1.0
        The number e, positive and at most 2, beyond which the function is not positive definite.

    References
    ----------
    I. J. Schoenberg, *Metric spaces and positive definite functions*, Transactions of the American
    Mathematical Society 44, 1938.

    Examples
    --------
    >>> PoweredExponential(exponent=1.5)([[0.0]], [[0.5], [1.0]]).round(4)
    array([[0.7022, 0.3679]])
    """

    length_scale: LengthScale = 1.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.exponent <= 2.0:
            raise ValueError(f"exponent must be positive and at most 2, got {self.exponent}.")

    @property
    def _smooth(self) -> bool:
        return self.exponent == 2.0

    def _profile(self, s: Array) -> None:
        np.exp(-(s ** (0.5 * float(self.exponent))), out=s)

    def _slope(self, s: Array) -> Array:
        e = float(self.exponent)
        if self._smooth:
            return np.asarray(2.0 * np.exp(-s))
        power = s ** (0.5 * e)
        return np.divide(e * power * np.exp(-power), s, out=np.zeros_like(s), where=s > 0.0)

    def _unit_spectrum(self, omega: Array) -> Array:
        if self._smooth:
            return np.asarray(2.0 ** (-0.5 * omega.shape[1]) * np.exp(-0.25 * squared_norms(omega)))
        return super()._unit_spectrum(omega)


@dataclass(eq=False)
class Laplacian(Stationary):
    r"""The Laplacian kernel, :math:`k(x, z) = \exp(-\sum_j |x_j - z_j| / l_j)`.

    A product over the features, not radial; the radial exponential is ``Matern(nu=0.5)``. Its
    spectrum is :math:`\prod_j \sqrt{2/\pi} \, l_j / (1 + l_j^2 \omega_j^2)`.

    In columns that hold categories, given as numbers in any order, two points differ or not: there
    :math:`|x_j - z_j|` is replaced by :math:`1[x_j \ne z_j]`, one column with one length scale
    instead of a block of indicators. The factor of such a column is positive definite, because it
    is a constant plus a kernel that is one for equal categories,

    .. math:: e^{-1[x \ne z] / l} = e^{-1/l} + (1 - e^{-1/l}) \, 1[x = z],

    and so is the product. It is the same kernel as on indicators with length scale 2 l, of
    which two categories differ in two.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    categories : sequence of int or str, default=()
        Columns that hold categories: their positions, or their names in a data frame, which a
        machine replaces by positions. Machines that compute in float32 tell integers up to 2^24
        apart.

    Examples
    --------
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.3679]])

    The second column is a category; 7 and 9 differ by no more than 7 and 8:

    >>> kernel = Laplacian([2.0, 1.0], categories=[1])
    >>> kernel([[0.0, 7.0]], [[0.0, 7.0], [0.0, 8.0], [0.0, 9.0], [1.0, 9.0]]).round(4)
    array([[1.    , 0.3679, 0.3679, 0.2231]])
    """

    length_scale: LengthScale = 1.0
    categories: Sequence[int] | Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        named = list(self.categories)
        positions = [j for j in named if is_integer(j) and np.asarray(j) >= 0]
        known = len(positions) == len(named) or all(isinstance(j, str) for j in named)
        if isinstance(self.categories, str) or not known or len(set(named)) < len(named):
            raise ValueError(
                "categories must be a list of positions of columns, integers from 0 on, or of "
                f"names, each given once, got {self.categories!r}."
            )

    @property
    def stationary(self) -> bool:
        """Whether the kernel depends on differences: categories are equal or not."""
        return len(self.categories) == 0

    @property
    def domain(self) -> str:
        return "R^d" if self.stationary else "numbers and categories"

    def bind(self, names: Sequence[str]) -> Laplacian:
        if not any(isinstance(j, str) for j in self.categories):
            return self
        return replace(self, categories=named_positions(self.categories, names))

    def _columns(self, p: int) -> list[int]:
        """Return the positions of the categories, checked to fit the points."""
        for j in self.categories:
            if isinstance(j, str):
                raise ValueError(
                    f"categories names the column {j!r}, but the points have no names: fit on a "
                    "data frame, or give positions."
                )
            if j >= p:
                raise ValueError(f"categories has column {j} but the points have {p} features.")
        return [int(j) for j in self.categories]

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        if not self.stationary:
            raise NotImplementedError(f"{self!r} compares categories and has no spectrum.")
        return super().spectrum(omega, dim)

    def origin(self, X: Data) -> Array | None:
        # Numbers only: a category that is moved and rounded could become another one.
        if is_sparse(X) or X.dtype != np.float64 or not X.shape[0]:
            return None
        mean: Array = X.mean(axis=0)
        mean[self._columns(X.shape[1])] = 0.0
        return mean

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)

        def general(X: Data, like: Data) -> Array:
            if not is_sparse(X) and not is_sparse(like):
                return self._tiles(like)(X)
            return np.exp(-self._distances(X, like))

        return TiledEvaluator(Z, self._tiles, general, double=True)

    def _tiles(self, Z: Array) -> LaplaceTiles:
        return LaplaceTiles(Z, self._factor(Z), self._columns(Z.shape[1]))

    def _distances(self, X: Data, Z: Data) -> Array:
        """Return distances of points, some of them sparse, in units of the length scale."""
        named = self._columns(Z.shape[1])
        factor = np.broadcast_to(self._factor(Z), Z.shape[1])
        numbers = np.where(np.isin(np.arange(Z.shape[1]), named), 0.0, factor)
        D = manhattan_distances(scale_features(X, numbers), scale_features(Z, numbers))
        for j in named:
            x, z = (to_dense(A[:, [j]])[:, 0] for A in (X, Z))
            D += _differ(x[:, None] - z) * D.dtype.type(factor[j])
        return D

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        if is_sparse(X) or is_sparse(Z):
            return super().paired(X, Z)
        factor = np.broadcast_to(self._factor(X), X.shape[1]).astype(X.dtype)
        named = self._columns(X.shape[1])
        k = np.empty(X.shape[0], dtype=X.dtype)
        for rows in row_slices(X.shape[0], X.shape[1] * X.dtype.itemsize, CHUNK_BYTES):
            differences = np.abs(X[rows] - Z[rows])
            differences[:, named] = _differ(differences[:, named])
            np.exp(-(differences @ factor), out=k[rows])
        return k

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        scale, named = self._scale, self._columns(X.shape[1])
        if scale.ndim == 0 and (is_sparse(X) or is_sparse(Z)):
            D = self._distances(X, Z)
            return {"length_scale": np.exp(-D) * D / float(scale)}
        K = self(X, Z)
        differences = np.abs(to_dense(X)[:, None, :] - to_dense(Z)[None, :, :])
        differences[:, :, named] = _differ(differences[:, :, named])
        if scale.ndim == 0:
            return {"length_scale": K * differences.sum(axis=2) / float(scale) ** 2}
        differences *= K[:, :, None]
        differences /= scale.astype(K.dtype) ** 2
        return {"length_scale": differences}

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        X = as_points(X)
        if is_sparse(X):
            return super().pullback(X, G)
        scale = self._scale
        slopes = self._tiles(X.astype(np.float64, copy=False)).pullback(G, scale.ndim == 0)
        return {"length_scale": slopes / (scale if scale.ndim == 0 else scale**2)}

    def _unit_spectrum(self, omega: Array) -> Array:
        factors = np.sqrt(2.0 / np.pi) / (1.0 + omega**2)
        return np.asarray(factors.prod(axis=1))


def _differ(difference: Array) -> Array:
    """Return 1 for differences other than 0, 0 for 0 and NaN for NaN."""
    return np.where(np.abs(difference) > 0.0, difference.dtype.type(1.0), difference)
