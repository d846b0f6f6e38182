"""Targets that are known by intervals, in the forms that people keep them in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from mercer._typing import Array, TargetsLike

__all__ = ["Intervals", "as_intervals", "is_plain"]


EVENT = {"event", "status", "death", "dead", "observed", "failure", "failed"}
ENDS = {"lower", "upper"}
FORMS = (
    "give one number a sample, pairs (n, 2) of lower and upper ends (nan or infinite where there "
    "is none), a structured array of (event, time), or a data frame with columns lower and upper, "
    "or with a time and an event"
)


class Intervals(NamedTuple):
    """Lower and upper ends of the interval of each value, infinite where it is open."""

    lower: Array
    upper: Array

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Which values are known."""
        return np.asarray(self.lower == self.upper)

    def log(self) -> Intervals:
        """Return the intervals of the logarithms of positive values."""
        if np.any(self.upper <= 0):
            i = int(np.flatnonzero(self.upper <= 0)[0])
            raise ValueError(
                f"log=True needs positive targets, but the target of row {i} is at most "
                f"{self.upper[i]:g}; shift the targets, or fit them with log=False"
            )
        with np.errstate(divide="ignore"):
            return Intervals(np.log(np.maximum(self.lower, 0.0)), np.log(self.upper))

    def anchored(self) -> tuple[Array, Array, Array]:
        """Return finite targets, and how far their intervals reach below and above."""
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        both = low & high
        with np.errstate(invalid="ignore"):  # the middle of what has no ends
            half = np.where(both & ~self.exact, 0.5 * (self.upper - self.lower), 0.0)
            middle = np.where(self.exact, self.lower, self.lower + half)
        y = np.where(both, middle, np.where(low, self.lower, np.where(high, self.upper, 0.0)))
        known = low | high
        if np.any(known):
            y = np.where(known, y, np.median(y[known]))
        return y, np.where(low, half, np.inf), np.where(high, half, np.inf)

    def distance(self, f: Array) -> Array:
        """Return how far values are from the intervals, negative below them."""
        return np.asarray(f - np.clip(f, self.lower, self.upper))

    def right_censored(self, purpose: str) -> tuple[Array, NDArray[np.bool_]]:
        """Return times and events, where targets are known or known to exceed a time."""
        event = self.exact
        if not np.all(event | (np.isposinf(self.upper) & np.isfinite(self.lower))):
            i = int(np.flatnonzero(~(event | np.isposinf(self.upper)) | np.isneginf(self.lower))[0])
            raise ValueError(
                f"{purpose} is for targets that are known or known to exceed a time; row {i} is "
                f"known to lie in [{self.lower[i]:g}, {self.upper[i]:g}]"
            )
        return self.lower, event


def as_intervals(y: TargetsLike) -> Intervals:
    """Return targets of any form as intervals.

    Parameters
    ----------
    y : array-like
        Numbers (n,); pairs (n, 2) of lower and upper ends, nan or infinite where there is none; a
        structured array with a boolean field (the event was seen) and a field of times, as
        scikit-survival has it, or with fields of lower and upper ends; a data frame with columns
        ``lower`` and ``upper``, or a time and an event, boolean or named so.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.machines.survival_targets import as_intervals
    >>> as_intervals(np.array([(True, 2.0), (False, 3.0)], dtype=[("event", "?"), ("time", "f8")]))
    Intervals(lower=array([2., 3.]), upper=array([ 2., inf]))
    >>> as_intervals([[1.0, np.nan], [-np.inf, 4.0]])
    Intervals(lower=array([  1., -inf]), upper=array([inf,  4.]))
    """
    if isinstance(y, Intervals):
        return y
    named = _columns(y)
    if named is not None:
        return _from_columns(named)
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 2:
        return _pairs(y[:, 0], y[:, 1])
    if y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
        y = check_array(y.ravel(), ensure_2d=False, dtype=np.float64, input_name="y")
        return Intervals(y, y)
    raise ValueError(f"targets have shape {y.shape}; {FORMS}")


def is_plain(y: TargetsLike) -> bool:
    """Return whether targets are one number a sample, and nothing else."""
    if _columns(y) is not None:
        return False
    shape = np.asarray(y).shape
    return len(shape) != 2 or shape[1] == 1


def _columns(y: TargetsLike) -> dict[str, Any] | None:
    """Return the columns of a structured array or of a data frame, if it is one."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names:
        return {str(name): np.asarray(y[name]) for name in names}
    if hasattr(y, "columns") and len(y.columns) == 2:
        return {str(name): np.asarray(y[name]) for name in y.columns}
    return None


def _from_columns(columns: dict[str, Any]) -> Intervals:
    if len(columns) != 2:
        raise ValueError(f"targets have the columns {list(columns)}; {FORMS}")
    if {name.lower() for name in columns} == ENDS:
        return _pairs(*(columns[name] for name in sorted(columns, key=str.lower)))
    truths = [name for name, values in columns.items() if values.dtype == bool]
    events = truths or [name for name in columns if name.lower() in EVENT]
    if len(events) != 1:
        raise ValueError(f"targets have the columns {list(columns)}; {FORMS}")
    (time,) = (values for name, values in columns.items() if name != events[0])
    event = columns[events[0]]
    if not np.all(np.isin(event, (0, 1))):
        raise ValueError(
            f"{events[0]!r} says whether an event was seen and must be 0 or 1, or boolean"
        )
    time = check_array(time, ensure_2d=False, dtype=np.float64, input_name="times")
    return Intervals(time, np.where(event.astype(bool), time, np.inf))


def _pairs(lower: Any, upper: Any) -> Intervals:
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    wrong = (low > high) | np.isposinf(low) | np.isneginf(high)
    if np.any(wrong):
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"row {i} has the lower end {low[i]:g} and the upper end {high[i]:g}; ends are given "
            "in order, -inf or nan for no lower and inf or nan for no upper end"
        )
    if not np.any(np.isfinite(low) | np.isfinite(high)):
        raise ValueError("no target has an end: there is nothing to learn from")
    return Intervals(low, high)
