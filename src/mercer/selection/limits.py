"""Bounds of hyperparameters from the resolution of the sample, and notes where they are active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, PointsLike
from mercer.kernels.algebra import ActiveDims, Pair, Power, Scaled
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Stationary
from mercer.selection._statement import Statement
from mercer.selection.space import Space, features_of

__all__ = ["WIDE", "ActiveBound", "Limits"]


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
        p = statement.X.shape[1] if getattr(statement.X, "ndim", 1) == 2 else 1
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
