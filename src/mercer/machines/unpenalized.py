"""The unpenalized functions of a machine on its sample, and the constant among them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mercer._typing import Array, PointsLike
from mercer.kernels.base import Kernel
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.regularizers.null_space import Constant, NullSpace, complete

__all__ = ["CollinearColumns", "constant_column", "intercept_of", "unpenalized_columns"]

# Condition number from which coefficients of unpenalized functions are said to be undetermined:
# changes of a millionth of the targets change them by their own size.
COLLINEAR_CONDITION = 1e6


class TrendMachine(Protocol):
    """A machine that knows its kernel and the shape of its sample, and is told what is free."""

    kernel: Any
    kernel_: Kernel
    shape_fit_: tuple[int, ...]
    null_space_: NullSpace
    null_space_names_: list[str]
    null_space_condition_: float


class CollinearColumns(UserWarning):
    """Unpenalized functions depend on each other on the sample, exactly or nearly."""


def constant_column(names: Sequence[str]) -> int | None:
    """Return which of the unpenalized functions is the constant, if one is.

    Examples
    --------
    >>> constant_column(["x0", "1"]), constant_column([])
    (1, None)
    """
    return names.index("1") if "1" in names else None


def intercept_of(names: Sequence[str], b: Array) -> Array:
    """Return the coefficients of the constant column, zero without one."""
    one = constant_column(names)
    return np.zeros(b.shape[:-1]) if one is None else b[..., one]


def condition(B: Array) -> float:
    """Return the condition number of columns of unit length; infinite if they are dependent.

    It bounds by what the coefficients can change relative to a change of the function. Units of
    the columns do not matter, and columns that are zero do not count.
    """
    if B.shape[1] < 2:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        B = B[:, np.any(B != 0, axis=0)]
        B = B / np.max(np.abs(B), axis=0, initial=0.0)
        B = B / np.linalg.norm(B, axis=0)
    if B.shape[1] < 2:
        return 1.0
    values = np.linalg.svd(np.linalg.qr(B, mode="r"), compute_uv=False)
    dependent = B.shape[0] < B.shape[1] or values[-1] <= len(B) * np.finfo(float).eps * values[0]
    return np.inf if dependent else float(values[0] / values[-1])


def unpenalized_columns(machine: TrendMachine, X: PointsLike, null_space: NullSpace) -> Array:
    """Settle what stays unpenalized, with what the kernel needs, and return it on the sample.

    Columns that depend on each other leave the function on the sample well defined, but not its
    coefficients: of all that give the function, the shortest are returned. Columns that nearly do
    have coefficients that rounding and noise decide. A warning reports both.
    """
    features = getattr(machine, "feature_names_in_", None)
    # A copy of whatever has parameters: set later, they must not reach into the machine.
    space = null_space if type(null_space) is Constant else copy.deepcopy(null_space)
    space = space if features is None else space.bind(list(features))
    p = machine.shape_fit_[-1]
    if not is_function(machine.kernel):
        space = complete(space, machine.kernel_.unpenalized(p), p)
    if (is_precomputed(machine.kernel) or compares_objects(machine.kernel)) and not set(
        space.names(p)
    ) <= {"1"}:
        kind = "a precomputed kernel" if is_precomputed(machine.kernel) else "a kernel of objects"
        raise ValueError(
            f"With {kind} there are no features that {space!r} could read; only a constant can "
            "stay unpenalized."
        )
    B = space(X)
    if not np.isfinite(B).all():
        j = int(np.flatnonzero(~np.all(np.isfinite(B), axis=0))[0])
        raise ValueError(
            f"The unpenalized function {space.names(p, features)[j]!r} is not finite on the "
            "sample; choose functions that are defined at every point."
        )
    machine.null_space_, machine.null_space_names_ = space, space.names(p, features)
    machine.null_space_condition_ = condition(B)
    if not getattr(machine, "_priced_columns", False):
        _check_determined(machine.null_space_names_, len(B), machine.null_space_condition_)
    return B


def _check_determined(names: Sequence[str], n: int, condition: float) -> None:
    """Raise an error for fewer samples than functions; warn if they are collinear on these."""
    listed = ", ".join(names)
    if n < len(names):
        raise ValueError(
            f"The {len(names)} unpenalized functions {listed} need at least as many samples, got "
            f"n_samples={n}: leave out some of the functions, or give more samples."
        )
    if condition > COLLINEAR_CONDITION:
        exact = np.isinf(condition)
        advice = (
            "the shortest are returned. Leave out one of them; columns of 0 and 1 for all "
            "categories of a feature sum to the intercept."
            if exact
            else "they are decided by noise. Leave out one of them, or centre and scale the "
            "features."
        )
        warnings.warn(
            f"The unpenalized functions {listed} are {'' if exact else 'nearly '}collinear on the "
            f"sample (condition number {condition:.1e}). The fitted function is well determined, "
            f"their coefficients are not: {advice}",
            CollinearColumns,
            stacklevel=3,
        )
