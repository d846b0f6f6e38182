"""Fitted models from files, looked over before they are handed out.

Compiled loops trust the indices and lengths that a model holds; in a file they are whatever
somebody wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from mercer._version import PACKAGES
from mercer.io.tree_checks import checked_trees
from mercer.machines.expansion import Expansion

__all__ = ["check_fitted"]

CHECKED = {*PACKAGES, "sklearn"}
LIBSVM = "sklearn.svm._classes"


def check_fitted(model: Any) -> None:
    """Refuse a model whose loops would read outside its arrays, and drop what can be made again.

    Classes whose loops follow indices have a method ``check_indices``, which raises ValueError;
    machines of LIBSVM and trees of scikit-learn are checked here. A cached property is derived from
    the rest of an object, so it is computed anew, not believed.

    Parameters
    ----------
    model : object
        As it was read.

    Examples
    --------
    >>> from mercer import SVR
    >>> check_fitted(SVR().fit([[0.0], [1.0]], [0.0, 1.0]))
    """
    pending: list[Any] = [model]
    seen: set[int] = set()
    while pending:
        item = pending.pop()
        checked = checked_trees(item)
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple | set):
            pending.extend(item)
        elif isinstance(item, np.ndarray):
            pending.extend(item.ravel().tolist() if item.dtype.hasobject else ())
        elif type(item).__module__.partition(".")[0] in CHECKED and hasattr(item, "__dict__"):
            for name in _derived(type(item)):
                item.__dict__.pop(name, None)
            _check_one(item)
            pending.extend(part for name, part in vars(item).items() if name not in checked)


def _derived(cls: type) -> Iterator[str]:
    for base in cls.__mro__:
        yield from (name for name, value in vars(base).items() if type(value) is cached_property)


def _check_one(item: Any) -> None:
    check = getattr(type(item), "check_indices", None)
    if check is not None:
        check(item)
    if type(item).__module__ == LIBSVM and "support_vectors_" in item.__dict__:
        _check_libsvm(item)


def _check_libsvm(machine: Expansion) -> None:
    """Refuse a machine of LIBSVM whose arrays have not the lengths that its loops go through."""
    n = machine.support_vectors_.shape[0]
    counts = np.atleast_1d(machine._n_support)
    classes = len(counts) if "classes_" in machine.__dict__ else 2
    pairs = classes * (classes - 1) // 2
    right = (
        np.all(counts >= 0)
        and machine._dual_coef_.shape == (max(classes - 1, 1), n)
        and np.shape(machine.support_) == (n,)
        and np.shape(machine._intercept_) == (pairs,)
        and all(np.shape(P) in ((0,), (pairs,)) for P in (machine._probA, machine._probB))
    )
    if not right:
        raise ValueError(f"{type(machine).__name__} has arrays of lengths that do not fit")
