"""Hyperparameters as a vector of logarithms: the weight of the loss and the kernel's scales."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.kernels.algebra import ActiveDims
from mercer.kernels.base import Kernel

__all__ = ["Space"]


WIDTH = "length_scale"


@dataclass(frozen=True, eq=False)
class Space:
    r"""The positive real parameters of a kernel that are tuned, beside C, by their logarithms.

    A vector holds the logarithms of factors by which parameters are multiplied, and of a weight at
    its end. A parameter with one number per feature is moved as a whole, keeping its ratios, or,
    with ``ard``, feature by feature or group by group; then length scales that are one number
    become one per feature.

    Parameters
    ----------
    kernel : Kernel
        The kernel at its start.
    names : tuple of str
        Its parameters that are tuned.
    ties : tuple of arrays
        For each of these parameters the factor, counted from zero, of each of its components:
        components with the same number are tied.
    """

    kernel: Kernel
    names: tuple[str, ...]
    ties: tuple[NDArray[np.intp], ...]

    @classmethod
    def of(cls, kernel: Kernel, p: int, names: Any = None, ard: Any = False) -> Space:
        """Return the space of a kernel of points with p features.

        Parameters
        ----------
        kernel : Kernel
        p : int
            Number of features.
        names : sequence of str, optional
            Parameters of the kernel to tune, as in its ``get_params``; all that it can be
            differentiated by and that are positive, by default.
        ard : bool or array-like of shape (p,), default=False
            Give every feature its own length scale, or every group of features of the same label.
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
        groups, ties = groups_of(ard, p), []
        for name in free:
            size = np.size(params[name])
            if groups is None:
                ties.append(np.zeros(size, dtype=np.intp))
                continue
            tied = np.arange(size)
            if name.split("__")[-1] == WIDTH:
                seen = features_of(kernel, name, p)
                if np.ndim(params[name]) == 0:
                    kernel.set_params(**{name: np.full(len(seen), float(params[name]))})
                    size = len(seen)
                if size == len(seen):
                    tied = np.unique(groups[seen], return_inverse=True)[1]
            ties.append(tied)
        return cls(kernel, tuple(free), tuple(ties))

    @property
    def widths(self) -> list[str]:
        """The names of length scales."""
        return [name for name in self.names if name.split("__")[-1] == WIDTH]

    def parts(self) -> list[tuple[str, slice, NDArray[np.intp]]]:
        """Return for each parameter its name, its part of a vector, and its ties."""
        found, first = [], 0
        for name, tied in zip(self.names, self.ties, strict=True):
            last = first + int(tied.max()) + 1
            found.append((name, slice(first, last), tied))
            first = last
        return found

    def start(self, C: float) -> Array:
        """Return the vector of the kernel as it is, with a weight of the loss."""
        size = sum(int(tied.max()) + 1 for tied in self.ties)
        return np.append(np.zeros(size), np.log(C))

    def read(self, kernel: Kernel, C: float = 1.0) -> Array:
        """Return the vector of a kernel of this space, whose parameters may still be numbers."""
        rest, params = self.kernel.get_params(), kernel.get_params()
        theta = self.start(C)
        for name, part, tied in self.parts():
            ratio = np.log(np.asarray(params[name], dtype=float) / np.asarray(rest[name]))
            count = np.bincount(tied)
            theta[part] = np.bincount(tied, np.broadcast_to(ratio, tied.shape).ravel()) / count
        return theta

    def at(self, theta: Array) -> tuple[Kernel, float]:
        """Return the kernel and the weight of the loss that a vector stands for."""
        kernel, params = copy.deepcopy(self.kernel), self.kernel.get_params()
        changed = {}
        for name, part, tied in self.parts():
            value = np.asarray(params[name], dtype=float)
            value = value * np.exp(theta[part])[tied].reshape(value.shape)
            changed[name] = float(value) if value.ndim == 0 else value
        if changed:
            kernel.set_params(**changed)
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
        for name, _, tied in self.parts():
            slope = np.ravel(slopes[name]) * np.ravel(np.asarray(params[name], dtype=float))
            parts.append(np.bincount(tied, slope))
        return np.concatenate([*parts, [by_log_C]])

    def wider(self, theta: Array, log_factor: float) -> Array:
        """Return the vector with all length scales multiplied."""
        moved = theta.copy()
        for name, part, _ in self.parts():
            if name in self.widths:
                moved[part] += log_factor
        return moved

    def spread(self, theta: Array) -> tuple[float, Array]:
        """Return how unequal the length scales of features are, and the slope of that.

        Half the squared deviations of the logarithms of factors from their mean, where a group of
        tied features counts once.
        """
        slope, total = np.zeros_like(theta), 0.0
        for name, part, _ in self.parts():
            if name in self.widths:
                change = theta[part] - theta[part].mean()
                total += 0.5 * float(change @ change)
                slope[part] = change
        return total, slope


def groups_of(ard: Any, p: int) -> NDArray[np.intp] | None:
    """Return the number of the group of each feature; None if all share one length scale.

    Parameters
    ----------
    ard : bool or array-like of shape (p,)
        Whether features have length scales of their own, or labels of groups that share one.
    p : int
        Number of features.
    """
    if isinstance(ard, bool | np.bool_):
        return np.arange(p) if ard else None
    labels = np.asarray(ard)
    if labels.shape != (p,):
        raise ValueError(
            f"ard must be True, False or a label for each of {p} features, such as "
            f"[0, 1, 1, 2]; got {labels.shape[0] if labels.ndim == 1 else labels.shape} labels."
        )
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)


def features_of(kernel: Any, name: str, p: int) -> NDArray[np.intp]:
    """Return the features that the kernel with a nested parameter sees.

    Parameters
    ----------
    kernel : Kernel
    name : str
        The parameter, as in ``get_params``.
    p : int
        Number of features of the points.
    """
    seen = np.arange(p)
    for step in [*name.split("__")[:-1], ""]:
        if isinstance(kernel, ActiveDims):
            seen = seen[kernel.dims if isinstance(kernel.dims, slice) else np.asarray(kernel.dims)]
        kernel = getattr(kernel, step, kernel)
    return seen
