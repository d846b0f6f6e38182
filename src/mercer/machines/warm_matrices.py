"""The kernel matrices of machines that begin a fit where the last one ended.

They are kept beside the solutions, not in the machines: one that is pickled or saved takes none
along, and a matrix ends with the last machine that has its solution.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mercer._typing import PointsLike
from mercer.gram.base import Gram
from mercer.gram.lasting import SolverCache
from mercer.gram.tiled import Tiled
from mercer.kernels.base import Kernel
from mercer.machines.protocol import Machine
from mercer.solvers.solution import Solution

__all__ = ["keep_matrix", "take_matrix", "to_last"]

_kept: WeakKeyDictionary[Solution, tuple[Tiled, int]] = WeakKeyDictionary()


def take_matrix(machine: object, kernel: Kernel, X: PointsLike, cache_bytes: int) -> Gram | None:
    """Return the matrix of a machine's last fit if it would be the same now, else None.

    It is taken away: a fit that fails or is interrupted may leave half a row in it.

    Parameters
    ----------
    machine : KernelMachine
    kernel : Kernel
    X : array
        Points; compared with a copy of those of the last fit, so that a change in place is seen.
    cache_bytes : int
        Memory granted to kernel values.
    """
    last = getattr(machine, "solution_", None)
    gram, granted = (None, 0) if last is None else _kept.pop(last, (None, 0))
    if gram is None or granted != cache_bytes or key(gram.kernel) != key(kernel):
        return None
    same = type(X) is np.ndarray and X.dtype == gram.X.dtype and np.array_equal(X, gram.X)
    return gram if same else None


def to_last(gram: Gram, cache_bytes: int) -> None:
    """Make a matrix last: its points a copy, and what solvers compute left to the next one.

    Parameters
    ----------
    gram : Gram
        Changed if its values are computed from an array of points that is not too large.
    cache_bytes : int
        Memory granted to kernel values.
    """
    if isinstance(gram, Tiled) and type(gram.X) is np.ndarray and gram.X.nbytes <= cache_bytes:
        gram.X, gram.lasting = gram.X.copy(), SolverCache()


def keep_matrix(machine: Machine, gram: Any, cache_bytes: int) -> None:
    """Keep the matrix of a fit that succeeded for the next one, if it is made to last.

    Parameters
    ----------
    machine : KernelMachine
    gram : object
        The Gram of the problem, or another form of it.
    cache_bytes : int
        Memory granted to kernel values.
    """
    lasts = isinstance(gram, Tiled) and gram.lasting is not None
    if lasts and key(gram.kernel) is not None:
        _kept[machine.solution_] = gram, cache_bytes


def key(value: object) -> Hashable | None:
    """Return what tells a pure kernel, or a parameter, from another; None if in doubt.

    A function, or a kernel of a user that does not say ``pure = True``, may compute something else
    tomorrow.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> key(Gaussian(2.0)) == key(Gaussian(2.0)), key(Gaussian(2.0)) == key(Gaussian(2))
    (True, False)
    >>> key(np.sin) is None
    True
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str) or isinstance(value, np.generic):
        return kind, repr(value)
    if isinstance(value, np.ndarray) and kind is np.ndarray and value.dtype.kind in "biuf":
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple) and kind in (list, tuple):
        parts = [key(part) for part in value]
    elif isinstance(value, Kernel) and value.pure:
        parts = [key(getattr(value, field.name)) for field in fields(value)]  # type: ignore[arg-type]
    else:
        return None
    return None if None in parts else (kind, *parts)
