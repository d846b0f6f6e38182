"""Whether two fitted objects are the same in all they hold, private attributes included."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree

from mercer._version import PACKAGES
from mercer.kernels.points import is_sparse

__all__ = ["known_class", "opaque_setting", "relative_difference", "same_state"]

# Numbers of the same computation agree so far, relative to the largest beside them.
ROUNDING_TOLERANCE = 1e-8

# Clocks, by the class that has them: two fits of the same rows differ in nothing else.
CLOCKS = {
    "AutoClassifier": {"seconds_"},
    "AutoRegressor": {"seconds_"},
    "SolutionBatch": {"certified", "seconds"},
    "MarginAnswer": {"seconds"},
    "Member": {"seconds"},
    "Solution": {"history", "reason", "times"},
}

# Code of these libraries keeps what a fit learns in the fitted object and nowhere else.
KNOWN_PACKAGES = {"builtins", "numpy", "scipy", "sklearn", *PACKAGES}

PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, np.generic, np.dtype)


def same_state(first: object, second: object) -> bool:
    """Return whether two objects hold the same values, numbers to rounding.

    Equal predictions on some rows say nothing of other rows; equal states are equal functions.
    Everything is followed that pickling would write, and every attribute, private ones included.
    An object that cannot be followed equals only itself.

    Parameters
    ----------
    first, second : objects

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.arange(8.0)[:, None]
    >>> tree = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    >>> same_state(tree, DecisionTreeRegressor(random_state=0).fit(X, X[:, 0]))
    True
    >>> same_state(tree, DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] ** 2))
    False
    """
    return _Comparison().same(first, second)


def relative_difference(a: Any, b: Any) -> float:
    """Return the largest difference of two arrays of numbers over the largest number, or inf."""
    if is_sparse(a) and is_sparse(b):
        if a.shape != b.shape:
            return np.inf
        return float(abs(a - b).max()) / max(float(abs(a).max()), float(abs(b).max()), 1e-300)
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return np.inf
    same = (a == b) | ((a != a) & (b != b))
    if same.all():
        return 0.0
    if a.dtype.kind in "bUSO" or b.dtype.kind in "bUSO":
        return 1.0
    a, b = a[~same].astype(complex), b[~same].astype(complex)
    size = max(float(np.max(np.abs(a))), float(np.max(np.abs(b))), 1e-300)
    apart = float(np.max(np.abs(a - b))) / size
    return apart if np.isfinite(apart) else np.inf


class _Comparison:
    """Pairs of objects that were compared, or are being compared."""

    def __init__(self) -> None:
        # Objects are kept beside their numbers, which Python gives again to later objects.
        self.pairs: dict[tuple[int, int], tuple[object, object]] = {}

    def same(self, a: Any, b: Any) -> bool:
        if a is b:
            return True
        if type(a) is not type(b):
            return isinstance(a, PLAIN) and isinstance(b, PLAIN) and self._plain(a, b)
        if isinstance(a, PLAIN):
            return self._plain(a, b)
        if (id(a), id(b)) in self.pairs:
            return True
        self.pairs[id(a), id(b)] = a, b
        if isinstance(a, np.ndarray):
            return self._arrays(a, b)
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(self.same(a[name], b[name]) for name in a)
        if isinstance(a, list | tuple):
            return len(a) == len(b) and all(map(self.same, a, b))
        if isinstance(a, set | frozenset):
            return bool(a == b)
        if isinstance(a, types.FunctionType):
            cells = ([c.cell_contents for c in f.__closure__ or ()] for f in (a, b))
            return a.__code__ is b.__code__ and self.same(*map(list, cells))
        if isinstance(a, types.MethodType):
            return a.__func__ is b.__func__ and self.same(a.__self__, b.__self__)
        if isinstance(a, type | types.ModuleType | types.BuiltinFunctionType | np.ufunc):
            return False
        return self._objects(a, b)

    @staticmethod
    def _plain(a: object, b: object) -> bool:
        floats = (float, complex, np.inexact)
        if isinstance(a, floats) and isinstance(b, floats):
            return relative_difference(a, b) <= ROUNDING_TOLERANCE
        return bool(a == b)

    def _arrays(self, a: np.ndarray, b: np.ndarray) -> bool:
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.names:
            return all(self._arrays(a[name], b[name]) for name in a.dtype.names)
        if a.dtype.kind == "O":
            return all(map(self.same, a.ravel(), b.ravel()))
        if a.dtype.kind in "biuMmUSV":
            return bool(np.array_equal(a, b))
        return relative_difference(a, b) <= ROUNDING_TOLERANCE

    def _objects(self, a: Any, b: Any) -> bool:
        if is_sparse(a):
            a, b = a.tocsr(), b.tocsr()
            return a.shape == b.shape and all(
                self._arrays(getattr(a, name), getattr(b, name))
                for name in ("data", "indices", "indptr")
            )
        if isinstance(a, KDTree | BallTree):
            # The rest counts queries.
            return self.same(a.get_arrays(), b.get_arrays())
        if not self.same(_attributes(a), _attributes(b)):
            return False
        try:
            one, other = _reduced(a), _reduced(b)
        except Exception:  # what cannot be written cannot be compared
            return False
        return self.same(one, other)


def _attributes(value: object) -> dict[str, object]:
    clocks = CLOCKS.get(type(value).__name__, set())
    return {k: v for k, v in getattr(value, "__dict__", {}).items() if k not in clocks}


def _reduced(value: object) -> Any:
    """Return what pickling writes of an object, its iterators as lists."""
    made = value.__reduce_ex__(4)
    if isinstance(made, str):
        return made
    function, args, *rest = made
    rest = [part if part is None or not hasattr(part, "__next__") else list(part) for part in rest]
    if rest and isinstance(rest[0], dict) and hasattr(value, "__dict__"):
        rest[0] = None  # compared as attributes
    return [function, list(args), *rest]


def known_class(value: object) -> bool:
    """Return whether an object's class is of scikit-learn, of this library or below them."""
    return type(value).__module__.partition(".")[0] in KNOWN_PACKAGES


def opaque_setting(value: object, name: str = "") -> str:
    """Return which setting of an object may hold rows that a refit does not forget, in words.

    A clone keeps functions, tables and frozen estimators among the settings as they are, with
    whatever was computed into them.

    Parameters
    ----------
    value : estimator or setting
    name : str
        Of the setting.

    Returns
    -------
    str
        Empty if all settings are numbers, words, and objects of these.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> opaque_setting(FunctionTransformer(np.log1p))
    ''
    >>> opaque_setting(FunctionTransformer(lambda X: X - 3.0))
    'func is a function'
    """
    if isinstance(value, (*PLAIN, np.ufunc)):
        return ""
    if isinstance(value, BaseEstimator):
        if type(value).__name__ == "FrozenEstimator":
            return f"{name} is frozen"
        if not known_class(value):
            return f"{name or type(value).__name__} is neither of scikit-learn nor of this library"
        return _first(value.get_params(deep=False).items())
    if isinstance(value, dict):
        return _first((name or str(key), one) for key, one in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return _first((name, one) for one in value)
    if isinstance(value, np.ndarray) and value.ndim < 2 and value.dtype.kind != "O":
        return ""  # as a list of numbers or words
    if isinstance(value, np.ndarray) or is_sparse(value):
        return f"{name} is a table"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{name} is not a number"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return "" if _importable(value) else f"{name} is a function"
    if not known_class(value):
        return f"{name} is a {type(value).__name__}"
    try:
        _, args, *rest = _reduced(value)
        return _first((name, one) for one in [getattr(value, "__dict__", None), args, *rest])
    except Exception:  # what cannot be written cannot be looked into
        return f"{name} is a {type(value).__name__}"


def _first(pairs: Iterable[tuple[str, object]]) -> str:
    return next((words for name, one in pairs if (words := opaque_setting(one, name))), "")


def _importable(value: Any) -> bool:
    """Return whether a function or class is found in a known library under its own name."""
    module = getattr(value, "__module__", None) or "builtins"
    if module.partition(".")[0] not in KNOWN_PACKAGES and module != "copyreg":
        return False
    found: Any = sys.modules.get(module)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value
