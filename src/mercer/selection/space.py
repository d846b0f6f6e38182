"""Hyperparameters as a vector of logarithms, and bounds of them from the sample."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, PointsLike
from mercer.kernels.algebra import ActiveDims, Pair, Power, Scaled
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Stationary
from mercer.selection.least_squares_problem import Statement

__all__ = ["WIDE", "ActiveBound", "Limits", "Space"]


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


# Logarithms beyond which a parameter that is no length scale, relative to its start, says nothing
# new.
FAR = 25.0
# At this share of the gap between neighbouring values a feature tells all of its values apart.
NARROW = 0.1
# At so many times the range of a feature the kernel is a line in it up to 1e-6, and the variance
# that it leaves is still 1e9 roundings large, so that it can be told from noise of 1e-7 of it.
WIDE = 1e3
# Variance of the function over the variance of the noise. Above the first number a machine fits
# rounding; with n times the ratio below the second no direction keeps more than 1 % of the targets.
LARGEST, SMALLEST = 1e7, 1e-2
# An optimum so near to a bound, in logarithms, is on it.
NEAR = 1e-3


@dataclass(frozen=True)
class ActiveBound:
    """A hyperparameter at an end of the range that the sample gives it.

    Examples
    --------
    >>> print(ActiveBound("length_scale", "largest", "The function is a line.", (1, 4)))
    length_scale of features 1, 4 is at its largest value. The function is a line.
    """

    parameter: str
    """Its name, as in ``get_params``."""

    side: str
    """``"smallest"`` or ``"largest"``."""

    meaning: str
    """What follows, a sentence."""

    features: tuple[int, ...] = ()
    """The features whose components are there; none if all are."""

    def __str__(self) -> str:
        some = which("feature", [str(j) for j in self.features])
        return f"{self.parameter}{some} is at its {self.side} value. {self.meaning}"


def which(noun: str, names: list[str]) -> str:
    """Return which ones are meant, at most five of them.

    Examples
    --------
    >>> which("column", ["age"]), which("feature", ["0", "2"]), which("feature", [])
    (' of column age', ' of features 0, 2', '')
    """
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return f" of {noun}{'s' if len(names) > 1 else ''} {shown}" if names else ""


@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of a vector of hyperparameters.

    Parameters
    ----------
    space : Space
    lower, upper : arrays
        Bounds of every entry; the last one is the logarithm of the signal-to-noise ratio.
    p : int
        Number of features.
    """

    space: Space
    lower: Array
    upper: Array
    p: int

    @classmethod
    def of(cls, space: Space, statement: Statement) -> Limits:
        r"""Return the bounds that a sample gives.

        A length scale lies between a tenth of the gap between neighbouring values of its feature
        (the median gap) and a thousand times the range of the feature. The signal-to-noise ratio
        :math:`C \operatorname{tr}(PKP)/n`, with P the projection off the unpenalized columns, lies
        between :math:`10^{-2}/n` and :math:`10^7`.

        Parameters
        ----------
        space : Space
        statement : Statement
            Its points give gaps and ranges.
        """
        rest = space.start(1.0)
        lower, upper = rest - FAR, rest + FAR
        lower[-1], upper[-1] = np.log(SMALLEST / statement.n), np.log(LARGEST)
        gaps = _gaps(statement.X)
        p = statement.p
        if gaps is None:
            return cls(space, lower, upper, p)
        params = space.kernel.get_params()
        for name, part, tied in space.parts():
            if name not in space.widths or not _in_units_of_features(space.kernel, name):
                continue
            seen = features_of(space.kernel, name, p)
            scale = np.broadcast_to(np.asarray(params[name], dtype=float), seen.shape)
            ties = np.broadcast_to(tied, seen.shape)
            # A constant feature has no gap: any length scale will do.
            gap, width = (np.where(one[seen] > 0, one[seen], scale) for one in gaps)
            low, high = np.log(NARROW * gap / scale), np.log(WIDE * width / scale)
            for k in range(part.stop - part.start):
                lower[part.start + k] = np.min(low[ties == k])
                upper[part.start + k] = np.max(high[ties == k])
        return cls(space, lower, upper, p)

    def clip(self, theta: Array) -> Array:
        """Return the nearest vector within the bounds."""
        return np.clip(theta, self.lower, self.upper)

    def active(self, theta: Array) -> list[ActiveBound]:
        """Return the bounds that hold a parameter.

        Parameters
        ----------
        theta : array
            The optimum.
        """
        low, high = theta < self.lower + NEAR, theta > self.upper - NEAR
        found = []
        for name, part, tied in self.space.parts():
            for held, side in ((low[part], "smallest"), (high[part], "largest")):
                if np.any(held):
                    some = () if np.all(held) else self._features(name, held[tied])
                    found.append(ActiveBound(name, side, self._meaning(name, side), some))
        if low[-1]:
            constant = (
                "The machine is practically constant: the features say little about the target."
            )
            found.append(ActiveBound("C", "smallest", constant))
        if high[-1]:
            silent = (
                f"The noise is {1 / LARGEST:.0e} of the variance of the function: the sample shows "
                "no noise."
            )
            found.append(ActiveBound("C", "largest", silent))
        return found

    def _features(self, name: str, components: NDArray[np.bool_]) -> tuple[int, ...]:
        """Return the features that components of a parameter belong to."""
        seen = features_of(self.space.kernel, name, self.p)
        numbers = seen if len(seen) == len(components) else np.arange(len(components))
        return tuple(numbers[components].tolist())

    def _meaning(self, name: str, side: str) -> str:
        if name not in self.space.widths or not _in_units_of_features(self.space.kernel, name):
            return "The data do not determine it."
        if side == "smallest":
            return (
                f"That is {NARROW:g} of the gap between neighbouring values: different values say "
                "nothing about each other."
            )
        return (
            f"That is {WIDE:,.0f} times the range: the function is a line there, or does not "
            "change."
        )


def _gaps(X: PointsLike) -> tuple[Array, Array] | None:
    """Return the median gap between neighbouring values of each feature, and its range.

    None for points that are not a dense table of numbers.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        return None
    ordered = np.sort(np.asarray(X, dtype=np.float64), axis=0)
    width = ordered[-1] - ordered[0]
    gap = np.zeros_like(width)
    for j, steps in enumerate(np.diff(ordered, axis=0).T):
        # Below this share of the range a difference is rounding.
        steps = steps[steps > 1e-9 * width[j]]
        gap[j] = float(np.median(steps)) if len(steps) else 0.0
    return gap, width


def _in_units_of_features(kernel: Kernel, name: str) -> bool:
    """Return whether a length scale divides differences of features."""
    found: Any = kernel
    for step in name.split("__")[:-1]:
        if not isinstance(found, Pair | Scaled | Power | ActiveDims):
            return False
        found = getattr(found, step)
    return isinstance(found, Stationary)
