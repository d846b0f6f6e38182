"""What stays free: functions that the penalty does not see, as columns of B."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from mercer._params import Params, is_integer, same
from mercer.kernels._pairwise import Array, Data, count, is_sparse

MAX_COLUMNS = 10_000
"""More unpenalized columns than this mean a mistake: B'B alone would take 800 MB."""


class NullSpace(Params, ABC):
    """The span of functions that are not penalized; on a sample, the columns of B.

    Spaces are added with ``+``.

    Examples
    --------
    >>> space = Constant() + Functions([lambda X: np.sin(X[:, 0])])
    >>> space([[0.0], [np.pi / 2]])
    array([[1., 0.],
           [1., 1.]])
    """

    @abstractmethod
    def __call__(self, X: Data) -> Array:
        """Return the functions at the points.

        Parameters
        ----------
        X : (n, p) points

        Returns
        -------
        (n, q) float64 array
        """

    @abstractmethod
    def size(self, p: int) -> int:
        """Return the number q of columns for points with `p` features."""

    @abstractmethod
    def names(self, p: int) -> list[str]:
        """Return a name for every column."""

    def __add__(self, other: Any) -> NullSpace:
        if not isinstance(other, NullSpace):
            return NotImplemented
        if isinstance(other, Empty):
            return self
        return other if isinstance(self, Empty) else Sum(self, other)


@dataclass(eq=False)
class Empty(NullSpace):
    """No unpenalized function.

    Examples
    --------
    >>> Empty()(np.ones((3, 2))).shape
    (3, 0)
    """

    def __call__(self, X: Data) -> Array:
        return np.empty((count(X), 0))

    def size(self, p: int) -> int:
        return 0

    def names(self, p: int) -> list[str]:
        return []


@dataclass(eq=False)
class Constant(NullSpace):
    """The constants: an intercept.

    Examples
    --------
    >>> Constant()(np.ones((2, 5)))
    array([[1.],
           [1.]])
    """

    def __call__(self, X: Data) -> Array:
        return np.ones((count(X), 1))

    def size(self, p: int) -> int:
        return 1

    def names(self, p: int) -> list[str]:
        return ["1"]


@dataclass(eq=False)
class Polynomial(NullSpace):
    r"""All polynomials up to a degree, spanned by :math:`\binom{p + q}{q}` monomials.

    A kernel that is conditionally positive definite of order q needs those of degree q - 1.

    Parameters
    ----------
    degree : int, default=1
        The highest total degree q of a monomial, at least 0.

    Examples
    --------
    >>> Polynomial(2).names(2)
    ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> Polynomial(2)([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    """

    degree: int = 1

    def __post_init__(self) -> None:
        if not is_integer(self.degree) or self.degree < 0:
            raise ValueError(f"degree must be an integer, at least 0, got {self.degree!r}.")

    def _monomials(self, p: int) -> Iterator[tuple[int, ...]]:
        """List the features of each monomial, by degree, then in the order of the features."""
        degrees = range(int(self.degree) + 1)
        return chain.from_iterable(combinations_with_replacement(range(p), q) for q in degrees)

    def __call__(self, X: Data) -> Array:
        n, p = X.shape if hasattr(X, "shape") else np.shape(X)
        B = np.empty((n, self._checked_size(p)))
        if self.degree == 0:
            B[:] = 1.0
            return B
        X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        column: dict[tuple[int, ...], int] = {}
        for j, monomial in enumerate(self._monomials(p)):
            column[monomial] = j
            if monomial:
                np.multiply(B[:, column[monomial[:-1]]], X[:, monomial[-1]], out=B[:, j])
            else:
                B[:, j] = 1.0
        return B

    def _checked_size(self, p: int) -> int:
        q = self.size(p)
        if q > MAX_COLUMNS:
            raise ValueError(
                f"Polynomials of degree {self.degree} in {p} features have {q} unpenalized "
                f"coefficients, more than {MAX_COLUMNS}; lower the degree or use fewer features."
            )
        return q

    def size(self, p: int) -> int:
        return comb(p + int(self.degree), int(self.degree))

    def names(self, p: int) -> list[str]:
        self._checked_size(p)
        return [_monomial_name(monomial) for monomial in self._monomials(p)]


@dataclass(eq=False, repr=False)
class Functions(NullSpace):
    """The span of functions given by the user.

    Parameters
    ----------
    functions : sequence of callable
        Each maps the ``(n, p)`` points to ``(n,)`` or ``(n, width)`` values.
    widths : sequence of int, optional
        Number of columns of each function; one each if not given.

    Examples
    --------
    >>> space = Functions([lambda X: X[:, 0], lambda X: np.c_[X**2, X**3]], widths=[1, 2])
    >>> space(np.array([[2.0]]))
    array([[2., 4., 8.]])
    """

    functions: Sequence[Callable[[Data], Any]]
    widths: Sequence[int] | None = None

    def __post_init__(self) -> None:
        for function in self.functions:
            if not callable(function):
                raise ValueError(f"functions must be callables of the points, got {function!r}.")
        if self.widths is not None and len(self.widths) != len(self.functions):
            raise ValueError(
                f"widths must have one entry per function, got {len(self.widths)} "
                f"for {len(self.functions)} functions."
            )

    def _widths(self) -> list[int]:
        return [1] * len(self.functions) if self.widths is None else list(map(int, self.widths))

    def __call__(self, X: Data) -> Array:
        X = X if hasattr(X, "shape") else np.asarray(X)
        n = count(X)
        widths = self._widths()
        B = np.empty((n, sum(widths)))
        stop = 0
        for function, width in zip(self.functions, widths, strict=True):
            start, stop = stop, stop + width
            values = function(X)
            values = np.asarray(values.toarray() if is_sparse(values) else values)
            if values.shape not in ((n, width), *([(n,)] if width == 1 else [])):
                raise ValueError(
                    f"{_function_name(function)} returned shape {values.shape} for {n} points, "
                    f"expected ({n}, {width}); declare several columns with widths=[...]."
                )
            B[:, start:stop] = values.reshape(n, width)
        return B

    def size(self, p: int) -> int:
        return sum(self._widths())

    def names(self, p: int) -> list[str]:
        result = []
        for function, width in zip(self.functions, self._widths(), strict=True):
            name = _function_name(function)
            result += [name] if width == 1 else [f"{name}[{j}]" for j in range(width)]
        return result

    def __repr__(self) -> str:
        functions = ", ".join(map(_function_name, self.functions))
        widths = "" if self.widths is None else f", widths={self.widths!r}"
        return f"Functions([{functions}]{widths})"


@dataclass(eq=False, repr=False)
class Sum(NullSpace):
    """The sum of two spaces: the columns of one beside those of the other; written ``+``.

    The columns must be independent on the sample; that is checked where B is used.

    Examples
    --------
    >>> (Constant() + Functions([lambda X: X[:, 0]])).size(3)
    2
    """

    left: NullSpace
    right: NullSpace

    def __post_init__(self) -> None:
        for space in (self.left, self.right):
            if not isinstance(space, NullSpace):
                raise ValueError(f"Only null spaces are added, got {space!r}.")

    def _terms(self) -> list[NullSpace]:
        sides = (self.left, self.right)
        return [t for side in sides for t in (side._terms() if isinstance(side, Sum) else [side])]

    def __call__(self, X: Data) -> Array:
        return np.concatenate([space(X) for space in self._terms()], axis=1)

    def size(self, p: int) -> int:
        return sum(space.size(p) for space in self._terms())

    def names(self, p: int) -> list[str]:
        return [name for space in self._terms() for name in space.names(p)]

    def __eq__(self, other: object) -> bool:
        """Whether both sums have the same spaces in the same order, however nested."""
        return isinstance(other, Sum) and same(self._terms(), other._terms())

    def __repr__(self) -> str:
        return " + ".join(map(repr, self._terms()))


def _monomial_name(monomial: tuple[int, ...]) -> str:
    powers = {j: monomial.count(j) for j in monomial}
    return " ".join(f"x{j}" if q == 1 else f"x{j}^{q}" for j, q in powers.items()) or "1"


def _function_name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
