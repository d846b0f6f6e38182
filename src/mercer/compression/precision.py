"""Fitted machines that evaluate their kernel in another precision."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from sklearn.pipeline import Pipeline

from mercer.machines.expansion import Expansion, in_precision

__all__ = ["with_precision"]

Machine = TypeVar("Machine")
PRECISIONS = ("double", "single")


def with_precision(machine: Machine, precision: str = "single") -> Machine:
    """Return a fitted machine that evaluates its kernel in float32, or again in float64.

    Predictions are made in float64 unless this is asked for: a row then has the same value in any
    batch, to 1e-12 of the sum of its terms. In float32 kernel values are off by about 5e-6, so that
    predictions are by up to that part of the sum of absolute coefficients, and two batches may
    differ by as much. That takes about half the time. A shape that is proved
    (`ShapeConstrainedRegressor`) is proved up to that error only.

    Parameters
    ----------
    machine : fitted machine, or Pipeline that ends in one
        Any of :mod:`mercer.estimators` whose prediction is an expansion in a kernel, also one that
        tuned itself. It is not changed.
    precision : {"single", "double"}, default="single"

    Returns
    -------
    machine
        A copy that shares all arrays with the machine. A new fit of it is in float64 again.

    Notes
    -----
    Kernels of distances and of inner products have float32, and so have sums, products and
    multiples of them; values of other kernels stay in float64. Class labels of
    :class:`~mercer.SVC` and :class:`~mercer.NuSVC` with a Gaussian kernel need no such copy: they
    are computed in float32 anyway, wherever its error cannot change them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.compression import with_precision
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> machine = LSSVR(gamma=1.0).fit(X, np.sinc(X[:, 0]))
    >>> fast = with_precision(machine, "single")
    >>> np.abs(fast.predict(X) - machine.predict(X)).max() < 1e-5
    np.True_
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be 'single' or 'double', got {precision!r}.")
    changed: Any = copy.copy(machine)
    if isinstance(machine, Pipeline):
        name, last = machine.steps[-1]
        changed.steps = [*machine.steps[:-1], (name, with_precision(last, precision))]
        return changed  # type: ignore[no-any-return]
    if getattr(machine, "machine_", None) is not None:
        changed.machine_ = with_precision(machine.machine_, precision)  # type: ignore[attr-defined]
        return changed  # type: ignore[no-any-return]
    if not isinstance(machine, Expansion):
        raise TypeError(
            f"{type(machine).__name__} is no expansion in a kernel; pass a machine of "
            "mercer.estimators, such as SVR or LSSVR, or a pipeline that ends in one."
        )
    return in_precision(machine, precision == "single")  # type: ignore[no-any-return]
