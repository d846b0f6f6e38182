"""Gradients of kernel expansions by their points, by a formula or by central differences."""

from __future__ import annotations

import numpy as np

from mercer.compression.expansions import KernelFunctions, evaluate
from mercer.kernels.algebra import Scaled
from mercer.kernels.base import Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import Array
from mercer.kernels.stretched import Stretched

__all__ = ["STEP", "Slopes"]

STEP = float(np.cbrt(np.finfo(np.float64).eps))
"""Step of central differences in units of the spread of a feature: their best one."""


class Slopes:
    """Values and gradients of functions at points, by a formula or by central differences."""

    def __init__(self, kernel: Kernel, box: Array) -> None:
        self.kernel, self.box = kernel, box
        inner, scale = kernel, np.ones(())
        while isinstance(inner, Scaled | Stretched):
            if isinstance(inner, Stretched):
                scale = scale * np.asarray(inner.scale, dtype=np.float64)
            inner = inner.kernel
        self.gaussian = isinstance(inner, Gaussian)
        if isinstance(inner, Gaussian):
            scale = scale * np.asarray(inner.length_scale, dtype=np.float64)
        self.metric = np.broadcast_to(scale**-2.0, box.shape[1])
        spread = np.ptp(box, axis=0)
        self.step = STEP * np.where(spread > 0.0, spread, 1.0)

    def __call__(self, f: KernelFunctions, Z: Array) -> tuple[Array, Array]:
        """Return values (m, D) and gradients (m, D, p)."""
        X, A = f.points, f.coef
        if self.gaussian:
            K = np.asarray(f.kernel(Z, X), dtype=np.float64)
            values = K @ A
            pull = np.stack([(K * a) @ X for a in A.T], axis=1)
            return values, (pull - values[:, :, None] * Z[:, None, :]) * self.metric
        moved, apart = self.moved(Z)
        F = evaluate(f.kernel, moved, X, A).reshape(2, *apart.T.shape, -1)
        return f(Z), np.moveaxis((F[0] - F[1]) / apart.T[:, :, None], 0, -1)

    def diagonal(self, Z: Array) -> tuple[Array, Array]:
        """Return k(z, z), (m,), and its gradient, (m, p)."""
        diag = np.asarray(self.kernel.diag(Z), dtype=np.float64)
        if self.kernel.stationary:
            return diag, np.zeros(Z.shape)
        moved, apart = self.moved(Z)
        k = np.asarray(self.kernel.diag(moved), dtype=np.float64).reshape(2, *apart.T.shape)
        return diag, (k[0] - k[1]).T / apart

    def moved(self, Z: Array) -> tuple[Array, Array]:
        """Return points moved up and down along every feature, and how far these are apart.

        They stay within the box, outside of which a kernel may not be defined.
        """
        p = Z.shape[1]
        moves = np.concatenate([np.diag(self.step), -np.diag(self.step)])
        moved = np.clip(Z[None] + moves[:, None], *self.box)
        apart = np.einsum("jij->ij", moved[:p]) - np.einsum("jij->ij", moved[p:])
        return moved.reshape(-1, p), np.where(apart > 0.0, apart, np.inf)
