"""Functions that are observed through averages, integrals or differences of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.points import (
    Array,
    Data,
    as_pair,
    as_points,
    is_sparse,
)


@dataclass(eq=False)
class Observed(Kernel):
    r"""The kernel of linear functionals of a function instead of its values.

    .. math:: L_i f = \sum_g A_{ig} f(u_g), \qquad k(L_i, L_j) = L_i L_j k = (A K A')_{ij}, \qquad
              K_{gh} = k(u_g, u_h)

    A point is a functional: a row of weights, one for each place :math:`u_g`. So blurred signals,
    averages over pixels or regions, integrals by quadrature, differences and derivatives by
    differences are fitted by every machine, with every loss. A value at a place is the row of the
    identity that belongs to it, and the function itself is
    :math:`f = \sum_g (A'a)_g\, k(u_g, \cdot)`.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the function.
    places : (g, p) array
        The places :math:`u_g`, features of the kernel below.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 5.4.2, eq. (5.26).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> places = np.linspace(0.0, 1.0, 5)[:, None]
    >>> kernel = Observed(Gaussian(0.5), places)
    >>> mean = np.full((1, 5), 0.2)
    >>> kernel(mean).round(4)
    array([[0.6907]])
    >>> np.allclose(kernel(np.eye(5)), Gaussian(0.5)(places))
    True
    """

    kernel: Kernel
    places: Array
    domain = "functionals"

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.order or self.kernel.precomputed:
            raise ValueError(
                "kernel must be a positive definite Kernel of places; functionals of a "
                f"conditionally positive definite one need not leave its polynomials free, "
                f"got {self.kernel!r}."
            )
        if np.ndim(self.places) != 2:
            raise ValueError(f"places must have shape (g, p), got {np.shape(self.places)}.")

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    def bind(self, names: Sequence[str]) -> Self:
        return self  # features are weights here, and the places below have no names

    def against(self, Z: Data) -> Evaluator:
        Z = self._weights(Z)
        right = _double(Z, self.kernel(self._places)).T

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X = self._weights(X)
            dtype = np.result_type(X.dtype, Z.dtype)
            return put(_double(X, right).astype(dtype, copy=False), out)

        return evaluate

    def diag(self, X: Data) -> Array:
        return self.paired(X, X)

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(self._weights(X), self._weights(Z))
        left = _double(X, self.kernel(self._places))
        squares = Z.multiply(left).sum(axis=1) if is_sparse(Z) else np.sum(Z * left, axis=1)
        dtype = np.result_type(X.dtype, Z.dtype)
        return np.asarray(squares).ravel().astype(dtype, copy=False)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X = self._weights(X)
        Z = X if Z is None else self._weights(Z)
        result, dtype = {}, np.result_type(X.dtype, Z.dtype)
        for name, slopes in self.kernel.gradient(self._places).items():
            parts = slopes if slopes.ndim == 3 else slopes[:, :, None]
            values = np.stack(
                [_double(X, _double(Z, parts[:, :, k]).T) for k in range(parts.shape[2])], axis=2
            )
            values = values.astype(dtype, copy=False)
            result[f"kernel__{name}"] = values if slopes.ndim == 3 else values[:, :, 0]
        return result

    @property
    def _places(self) -> Array:
        return np.asarray(self.places, dtype=np.float64)

    def _weights(self, X: Data) -> Data:
        X = as_points(X)
        if X.shape[1] != len(self._places):
            raise ValueError(
                f"A functional has a weight for each of the {len(self._places)} places, "
                f"got {X.shape[1]}."
            )
        return X


def _double(X: Data, matrix: Array) -> Array:
    """Return the product with weights, dense or sparse, in float64."""
    return np.asarray(X.astype(np.float64, copy=False) @ matrix)
