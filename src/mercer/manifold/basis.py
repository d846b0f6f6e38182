r"""Functions of latent coordinates of which a manifold is made, and their derivatives.

.. math:: f(z) = \sum_j \alpha_j k(z_j, z) + \sum_l b_l p_l(z)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import Array
from mercer.manifold.latent import Axes, Latent
from mercer.reduced.nystrom import NystromMap
from mercer.regularizers.null_space import Constant, Empty, NullSpace, Polynomial

__all__ = ["PENALTIES", "Basis", "as_null_space", "by_chunks", "chunks", "make_basis"]

PENALTIES = ("kernel", "length", "weight decay", "l1", "group")

# Step of central differences in units of the extent of the latent set: the third root of the
# rounding error, where the two errors of a difference quotient are equal.
STEP = 6e-6

# Rows that are evaluated at once. Always as many, the last ones filled up: then the rounding of
# a row does not depend on the rows that come with it.
CHUNK = 128


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns of a linear model of latent coordinates: r penalized ones, then q free ones.

    Parameters
    ----------
    latent : Latent
    kernel : Kernel
    centres : (M, D) array
        Nodes that carry a kernel.
    T : (M, r) array or None
        Makes columns of kernel values, so that the penalty is the length of coefficients; None
        where columns are the kernel values.
    null_space : NullSpace
        Free functions.
    """

    latent: Latent
    kernel: Kernel
    centres: Array
    T: Array | None
    null_space: NullSpace

    @property
    def r(self) -> int:
        """Number of penalized columns."""
        return len(self.centres) if self.T is None else self.T.shape[1]

    @property
    def q(self) -> int:
        """Number of free columns."""
        return self.null_space.size(self.latent.dim)

    def __call__(self, Z: Array) -> Array:
        """Return the columns at coordinates, (n, r + q)."""
        K = np.asarray(self.kernel(Z, self.centres), dtype=np.float64)
        return np.hstack([K if self.T is None else K @ self.T, self.null_space(Z)])

    def tangents(self, W: Array) -> Callable[[Array], tuple[Array, Array]]:
        r"""Return a function from coordinates to columns (n, s) and slopes of images (n, D, d).

        The slope of a Gaussian is a combination of two products with its values,
        :math:`\partial_k f = l_k^{-2} \sum_j \alpha_j k(z_j, z) (z_{jk} - z_k)`; others are central
        differences.

        Parameters
        ----------
        W : (s, d) array
            Coefficients of the columns.
        """
        D, d = self.latent.dim, W.shape[1]
        alpha, b = self.coefficients(W)
        evaluate = self.kernel.against(self.centres)
        if isinstance(self.kernel, Gaussian):
            scale = self._inverse_squares(self.kernel)
            moments = np.hstack([alpha, *((c * s)[:, None] * alpha for c, s in self._axes(scale))])

            def slopes(Z: Array, K: Array) -> Array:
                M = (K @ moments).reshape(len(Z), D + 1, d)
                return np.asarray(M[:, 1:] - (Z * scale)[:, :, None] * M[:, :1])

        else:
            step = STEP * float(np.ptp(self.centres)) or STEP

            def slopes(Z: Array, K: Array) -> Array:
                J = np.empty((len(Z), D, d))
                for k in range(D):
                    move = step * np.eye(D)[k]
                    ends = [evaluate(Z + s * move) for s in (1.0, -1.0)]
                    J[:, k] = (ends[0] - ends[1]) @ alpha / (2.0 * step)
                return J

        def at(Z: Array) -> tuple[Array, Array]:
            K = np.asarray(evaluate(Z), dtype=np.float64)
            P = np.hstack([K if self.T is None else K @ self.T, self.null_space(Z)])
            J = slopes(Z, K)
            for k in range(0 if self._level else D):
                move = STEP * np.eye(D)[k]
                free = self.null_space(Z + move) - self.null_space(Z - move)
                J[:, k] += free @ b / (2.0 * STEP)
            return P, self.latent.tangent(Z, J)

        return at

    def bends(self, W: Array) -> Callable[[Array, Array], Array] | None:
        r"""Return a function from coordinates and residuals r to :math:`r'\partial_k \partial_l f`.

        .. math:: \partial_k \partial_l f = \sum_j \alpha_j k(z_j, z) \Bigl(
                  \frac{(z_{jk} - z_k)(z_{jl} - z_l)}{l_k^2 l_l^2} - \frac{\delta_{kl}}{l_k^2}\Bigr)

        for a Gaussian; None for other kernels, free functions that bend, and curved latent sets.

        Parameters
        ----------
        W : (s, d) array
            Coefficients of the columns.
        """
        kernel, D = self.kernel, self.latent.dim
        if not (isinstance(kernel, Gaussian) and self._level and isinstance(self.latent, Axes)):
            return None
        scale, evaluate = self._inverse_squares(kernel), kernel.against(self.centres)
        alpha = self.coefficients(W)[0]

        def bend(Z: Array, R: Array) -> Array:
            pull = np.asarray(evaluate(Z), dtype=np.float64) * (R @ alpha.T)
            away = (self.centres - Z[:, None, :]) * scale
            H = (pull[:, :, None] * away).transpose(0, 2, 1) @ away
            H[:, range(D), range(D)] -= pull.sum(axis=1)[:, None] * scale
            return np.asarray(H)

        return bend

    @property
    def _level(self) -> bool:
        """Whether free functions are constants, which have no slope."""
        return isinstance(self.null_space, (Empty, Constant))

    def _inverse_squares(self, kernel: Gaussian) -> Array:
        """Return one over the squared length scale of every coordinate."""
        scale = np.asarray(kernel.length_scale, dtype=np.float64) ** -2.0
        return np.broadcast_to(scale, self.latent.dim)

    def _axes(self, scale: Array) -> Iterator[tuple[Array, float]]:
        return zip(self.centres.T, scale, strict=True)

    def coefficients(self, W: Array) -> tuple[Array, Array]:
        """Return the coefficients of kernels at the centres, (M, d), and of free functions."""
        alpha = W[: self.r] if self.T is None else self.T @ W[: self.r]
        return np.asarray(alpha), W[self.r :]


def chunks(A: Array) -> list[tuple[Array, int]]:
    """Return rows in chunks of one size, the last filled up, and how many of its rows count."""
    found = []
    for start in range(0, len(A), CHUNK):
        part = A[start : start + CHUNK]
        n = len(part)
        if n < CHUNK:
            part = np.concatenate([part, np.repeat(part[:1], CHUNK - n, axis=0)])
        found.append((np.ascontiguousarray(part), n))
    return found


def by_chunks(function: Callable[[Array], Array], A: Array) -> Array:
    """Return a function of rows, to the same bits for a row in any batch."""
    return np.concatenate([function(part)[:n] for part, n in chunks(A)]) if len(A) else function(A)


def make_basis(latent: Latent, kernel: Kernel, penalty: str, null_space: NullSpace) -> Basis:
    """Return the columns in which a penalty is simple.

    Parameters
    ----------
    latent : Latent
    kernel : Kernel
    penalty : str
        Of the list above. The norm of the kernel is the length of coefficients after a Cholesky
        factorization of the matrix of the nodes; the others are penalties of kernel coefficients.
    null_space : NullSpace
    """
    nodes = latent.nodes
    if penalty in ("kernel", "length"):
        spanned = NystromMap(kernel, nodes)
        T = np.asarray(spanned.lift(np.eye(spanned.r)))
        return Basis(latent, kernel, np.asarray(spanned.Z), T, null_space)
    if kernel.order:
        raise ValueError(
            f"{kernel!r} is conditionally positive definite, so that its coefficients are tied to "
            "each other; penalize its norm with penalty='kernel'."
        )
    return Basis(latent, kernel, nodes, None, null_space)


def as_null_space(null_space: NullSpace | str | None, kernel: Kernel, dim: int) -> NullSpace:
    """Return the free functions of a manifold: at least those that its kernel needs."""
    named: dict[str | None, NullSpace] = {
        None: Empty(),
        "constant": Constant(),
        "linear": Polynomial(1),
    }
    if not isinstance(null_space, NullSpace):
        if null_space not in named:
            raise ValueError(
                f"null_space must be a NullSpace, 'constant', 'linear' or None, got {null_space!r}."
            )
        null_space = named[null_space]
    least = Polynomial(kernel.order - 1).size(dim) if kernel.order else 0
    if null_space.size(dim) < least:
        raise ValueError(
            f"{kernel!r} leaves polynomials of degree {kernel.order - 1} free; use "
            f"null_space={'constant' if kernel.order == 1 else 'linear'!r}."
        )
    return null_space
