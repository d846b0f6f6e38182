"""Hyperparameters as a vector of logarithms: the weight of the loss and the kernel's scales."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.algebra import ActiveDims
from mercer.kernels.base import Kernel

__all__ = ["Space"]

Array = NDArray[np.float64]

WIDTH = "length_scale"


@dataclass(frozen=True, eq=False)
class Space:
    r"""The positive real parameters of a kernel that are tuned, beside C, by their logarithms.

    A parameter with one number per feature is moved as a whole, keeping its ratios, or, with
    ``ard=True``, feature by feature; then length scales that are one number become one per feature.

    Parameters
    ----------
    kernel : Kernel
        The kernel at its start.
    names : tuple of str
        Its parameters that are tuned.
    ard : bool
        Whether every feature has its own length scale.
    """

    kernel: Kernel
    names: tuple[str, ...]
    ard: bool

    @classmethod
    def of(cls, kernel: Kernel, p: int, names: Any = None, ard: bool = False) -> Space:
        """Return the space of a kernel of points with p features.

        Parameters
        ----------
        kernel : Kernel
        p : int
            Number of features.
        names : sequence of str, optional
            Parameters of the kernel to tune, as in its ``get_params``; all that it can be
            differentiated by and that are positive, by default.
        ard : bool, default=False
            Give every feature its own length scale.
        """
        kernel = copy.deepcopy(kernel)
        sample = np.zeros((2, p)) + np.arange(2.0)[:, None]
        known = list(kernel.pullback(sample, np.ones((2, 2))))
        params = kernel.get_params()
        positive = [name for name in known if np.all(np.asarray(params[name], dtype=float) > 0)]
        # A factor before the whole kernel is what C is already.
        free = [name for name in positive if name != "factor"]
        if names is not None:
            wrong = [name for name in names if name not in known]
            if wrong:
                raise ValueError(
                    f"{wrong[0]!r} is not a parameter of {kernel!r} that can be tuned; choose "
                    f"among {known}."
                )
            free = [name for name in names if name in positive]
        if ard:
            for name in free:
                if name.split("__")[-1] == WIDTH and np.ndim(params[name]) == 0:
                    size = _features_of(kernel, name.split("__")[:-1], p)
                    kernel.set_params(**{name: np.full(size, float(params[name]))})
        return cls(kernel, tuple(free), ard)

    @property
    def widths(self) -> list[str]:
        """The names of length scales."""
        return [name for name in self.names if name.split("__")[-1] == WIDTH]

    def _sizes(self) -> list[int]:
        params = self.kernel.get_params()
        return [np.size(params[name]) if self.ard else 1 for name in self.names]

    def start(self, C: float) -> Array:
        """Return the vector of the kernel as it is, with a weight of the loss."""
        params = self.kernel.get_params()
        parts = [np.log(np.ravel(params[name])) if self.ard else np.zeros(1) for name in self.names]
        return np.concatenate([*parts, [np.log(C)]])

    def read(self, kernel: Kernel, C: float = 1.0) -> Array:
        """Return the vector of a kernel of this space."""
        rest, params = self.kernel.get_params(), kernel.get_params()
        parts = []
        for name in self.names:
            value = np.ravel(np.asarray(params[name], dtype=float))
            ratio = value if self.ard else value[:1] / np.ravel(np.asarray(rest[name]))[:1]
            parts.append(np.log(ratio))
        return np.concatenate([*parts, [np.log(C)]])

    def at(self, theta: Array) -> tuple[Kernel, float]:
        """Return the kernel and the weight of the loss that a vector stands for."""
        kernel, params = copy.deepcopy(self.kernel), self.kernel.get_params()
        first = 0
        for name, size in zip(self.names, self._sizes(), strict=True):
            part = np.exp(theta[first : first + size])
            value = np.asarray(params[name], dtype=float)
            value = part.reshape(value.shape) if self.ard else value * part[0]
            kernel.set_params(**{name: float(value) if value.ndim == 0 else value})
            first += size
        return kernel, float(np.exp(theta[-1]))

    def gradient(self, kernel: Kernel, slopes: dict[str, Array], by_log_C: float) -> Array:
        """Return derivatives by logarithms from those by the parameters themselves.

        Parameters
        ----------
        kernel : Kernel
            At the vector.
        slopes : dict
            From :meth:`~mercer.kernels.base.Kernel.pullback`.
        by_log_C : float
            The derivative by the logarithm of C.
        """
        params = kernel.get_params()
        parts = []
        for name in self.names:
            part = np.ravel(slopes[name]) * np.ravel(np.asarray(params[name], dtype=float))
            parts.append(part if self.ard else [np.sum(part)])
        return np.concatenate([*parts, [by_log_C]])

    def wider(self, theta: Array, log_factor: float) -> Array:
        """Return the vector with all length scales multiplied."""
        moved, first = theta.copy(), 0
        for name, size in zip(self.names, self._sizes(), strict=True):
            if name in self.widths:
                moved[first : first + size] += log_factor
            first += size
        return moved

    def spread(self, theta: Array) -> tuple[float, Array]:
        """Return how unequal the length scales of features are, and the slope of that.

        Half the squared deviations of logarithms, of those that started equal, from their mean.
        """
        slope, total, first = np.zeros_like(theta), 0.0, 0
        if not self.ard:
            return total, slope
        at_rest = self.start(1.0)
        for name, size in zip(self.names, self._sizes(), strict=True):
            part = slice(first, first + size)
            if name in self.widths and size > 1:
                change = theta[part] - at_rest[part]
                change = change - change.mean()
                total += 0.5 * float(change @ change)
                slope[part] = change
            first += size
        return total, slope


def _features_of(kernel: Any, path: list[str], p: int) -> int:
    """Return how many features the kernel at the end of a path of attributes sees."""
    for step in [*path, ""]:
        if isinstance(kernel, ActiveDims):
            p = len(range(p)[kernel.dims]) if isinstance(kernel.dims, slice) else len(kernel.dims)
        kernel = getattr(kernel, step, kernel)
    return p
