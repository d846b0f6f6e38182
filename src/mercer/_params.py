"""Parameters of components: read, set, compared and validated by value."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from mercer._typing import Array


class Params:
    """Mixin that gives a dataclass scikit-learn's parameter access and equality by value.

    A component (kernel, loss, null space, solver) is a dataclass declared with ``eq=False``. Its
    fields are its parameters: they are stored as they are given, ``__post_init__`` only
    validates them, and ``sklearn.base.clone``, ``GridSearchCV`` and nested names such as
    ``kernel__length_scale`` work through :meth:`get_params` and :meth:`set_params`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(eq=False)
    ... class Tube(Params):
    ...     epsilon: float = 0.1
    ...
    ...     def __post_init__(self):
    ...         if not self.epsilon >= 0:
    ...             raise ValueError(f"epsilon must be at least 0, got {self.epsilon}.")
    >>> tube = Tube().set_params(epsilon=0.5)
    >>> tube.get_params()
    {'epsilon': 0.5}
    >>> tube == Tube(0.5)
    True
    """

    def __post_init__(self) -> None:
        """Validate the parameters; subclasses raise ``ValueError`` and change nothing."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Add the parameters of components held as parameters, as ``name__parameter``.

        Returns
        -------
        dict
            The values themselves, not copies.
        """
        params = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        if deep:
            for name, value in list(params.items()):
                if _is_component(value):
                    params |= {f"{name}__{key}": v for key, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, validate them, and return the component itself.

        A component reached by a nested name is replaced by a changed copy, so that
        ``kernel + kernel`` does not change twice; if validation fails nothing has changed.

        Parameters
        ----------
        **params
            New values; ``name__parameter`` reaches into the component held as ``name``.
        """
        own = self.get_params(deep=False)
        plain = {key: value for key, value in params.items() if "__" not in key}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, delimiter, rest = key.partition("__")
            if name not in own:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {sorted(own)}."
                )
            if delimiter:
                nested.setdefault(name, {})[rest] = value
        updated = dict(plain)
        for name, changes in nested.items():
            component = plain.get(name, own[name])
            if not _is_component(component):
                raise ValueError(
                    f"{name!r} of {type(self).__name__} is {component!r}, which has no parameters; "
                    f"set {name!r} itself."
                )
            updated[name] = copy.copy(component).set_params(**changes)
        try:
            self._assign(updated)
            self.__post_init__()
        except BaseException:
            self._assign(own)
            raise
        return self

    def _assign(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        """Whether both are of one class and all parameters agree, arrays element by element."""
        if not isinstance(other, Params):
            return NotImplemented
        return type(self) is type(other) and same(
            self.get_params(deep=False), other.get_params(deep=False)
        )

    # Equality by value of something mutable: a hash could change while it is in a set.
    __hash__ = None  # type: ignore[assignment]


def same(left: Any, right: Any) -> bool:
    """Whether two parameter values are equal; arrays and containers element by element.

    Examples
    --------
    >>> same([1.0, np.ones(2)], [1.0, np.ones(2)]), same(np.ones(2), np.ones(3))
    (True, False)
    """
    if left is right:
        return True
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return np.array_equal(np.asarray(left), np.asarray(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def is_integer(value: object) -> bool:
    """Whether a parameter value is an integer of Python or of NumPy, not a truth value.

    Examples
    --------
    >>> is_integer(np.int32(3)), is_integer(3.0), is_integer(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_integer(name: str, value: Any, least: int) -> None:
    """Refuse a parameter that is not an integer, or is below the least value."""
    if not is_integer(value) or value < least:
        raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}.")


def check_positive(**values: Any) -> None:
    """Raise ValueError for a parameter that is not a positive finite number.

    Examples
    --------
    >>> check_positive(norm=2.0, size=np.inf)
    Traceback (most recent call last):
    ValueError: size must be positive and finite, got inf.
    """
    for name, value in values.items():
        if not (_is_real(value) and 0 < value < np.inf):
            raise ValueError(f"{name} must be positive and finite, got {value!r}.")


def check_nonnegative(**values: Any) -> None:
    """Raise ValueError for a parameter that is not a finite number of at least zero.

    Examples
    --------
    >>> check_nonnegative(norm=0.0, jump=-1.0)
    Traceback (most recent call last):
    ValueError: jump must be finite and not negative, got -1.0.
    """
    for name, value in values.items():
        if not (_is_real(value) and 0 <= value < np.inf):
            raise ValueError(f"{name} must be finite and not negative, got {value!r}.")


def _is_real(value: object) -> bool:
    """Whether a value is a number that can be compared; a truth value is not."""
    return isinstance(value, Real) and not isinstance(value, bool)


ZERO_WEIGHTS = "sample_weight is zero for all samples; give some of them a positive weight"


def check_weights(weights: Any, n: int, first: int = 0, name: str = "sample_weight") -> Array:
    """Return the weights of n samples, those from `first` on, as finite nonnegative numbers.

    Examples
    --------
    >>> check_weights([1, -2], 2)
    Traceback (most recent call last):
    ValueError: sample_weight must be finite and not negative, got -2 for sample 1; use 0 to ...
    """
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, one a sample: {error}") from error
    if values.shape != (n,):
        raise ValueError(
            f"{name} and X have incompatible shapes: {values.shape} against {n} samples"
        )
    wrong = ~(np.isfinite(values) & (values >= 0.0))
    if wrong.any():
        k = int(np.argmax(wrong))
        value = {"nan": "NaN", "inf": "infinity"}.get(f"{values[k]:g}", f"{values[k]:g}")
        raise ValueError(
            f"{name} must be finite and not negative, got {value} for sample {first + k}; "
            "use 0 to leave a sample out"
        )
    return values


def check_sample_weight(sample_weight: Any, n: int, name: str = "sample_weight") -> Array:
    """Return the weights of n samples, not all of them zero; ones if none are given."""
    if sample_weight is None:
        return np.ones(n)
    values = check_weights(sample_weight, n, name=name)
    if not values.any():
        raise ValueError(ZERO_WEIGHTS.replace("sample_weight", name))
    return values


def _is_component(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)
