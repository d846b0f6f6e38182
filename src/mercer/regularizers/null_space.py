"""Null spaces: functions that the penalty leaves free, as columns of B."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations_with_replacement
from math import comb, factorial
from operator import add
from typing import Self, TypeAlias

import numpy as np

from mercer._params import Params, check_integer, same
from mercer.kernels.points import Array, Data, count, is_sparse, named_positions

Features: TypeAlias = Sequence[str] | None
"""Names of the features in a data frame, if there is one."""

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
    def names(self, p: int, features: Features = None) -> list[str]:
        """Return a name for every column, by the names of the `p` features if they have some."""

    def bind(self, features: Sequence[str]) -> Self:
        """Return the space with names of features replaced by their positions in `features`."""
        return self

    def __add__(self, other: object) -> NullSpace:
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

    def names(self, p: int, features: Features = None) -> list[str]:
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

    def names(self, p: int, features: Features = None) -> list[str]:
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
        check_integer("degree", self.degree, 0)

    def _monomials(self, p: int) -> Iterator[tuple[int, ...]]:
        """List the features of each monomial, by degree, then in the order of the features."""
        degrees = range(int(self.degree) + 1)
        return chain.from_iterable(combinations_with_replacement(range(p), q) for q in degrees)

    def __call__(self, X: Data) -> Array:
        p = (X.shape if hasattr(X, "shape") else np.shape(X))[1]
        self._checked_size(p)
        return _products(X, self._monomials(p))

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

    def names(self, p: int, features: Features = None) -> list[str]:
        self._checked_size(p)
        return [_monomial_name(monomial, features) for monomial in self._monomials(p)]


@dataclass(eq=False)
class Monomials(NullSpace):
    """The span of some monomials.

    Parameters
    ----------
    monomials : sequence of tuple of int
        The features of each monomial, as often as they occur in it; the empty one is the constant.

    Examples
    --------
    >>> Monomials([(), (0,), (0, 1)]).names(2)
    ['1', 'x0', 'x0 x1']
    >>> Monomials([(), (0,), (0, 1)])([[2.0, 3.0]])
    array([[1., 2., 6.]])
    """

    monomials: Sequence[tuple[int, ...]]

    def __call__(self, X: Data) -> Array:
        return _products(X, iter(self.monomials))

    def size(self, p: int) -> int:
        return len(self.monomials)

    def names(self, p: int, features: Features = None) -> list[str]:
        return [_monomial_name(monomial, features) for monomial in self.monomials]


@dataclass(eq=False)
class Columns(NullSpace):
    r"""Features that enter linearly and unpenalized: the parametric part of a partly linear model.

    The kernel still sees them unless it is restricted to other features, ``kernel.on([...])``.
    Their coefficients are determined in both cases: the penalized part :math:`g` has no component
    along a free function :math:`p` that its kernel can express, because
    :math:`\langle g, p \rangle = \sum_i a_i p(x_i) = 0`. With a kernel that sees a column too, its
    coefficient is the slope that is left when deviations from the line are penalized, and depends
    on kernel and ``C``; it is the slope of the feature alone with ``kernel.on([...])``.

    Parameters
    ----------
    columns : sequence of int or str
        Positions of the features, or their names in a data frame.

    Examples
    --------
    >>> Columns([1])([[1.0, 2.0], [3.0, 4.0]])
    array([[2.],
           [4.]])
    >>> Columns(["trend"]).bind(["x", "trend"])
    Columns(columns=[1])
    """

    columns: Sequence[int] | Sequence[str]

    def __post_init__(self) -> None:
        index = np.asarray(self.columns)
        if index.ndim != 1 or not index.size or index.dtype.kind not in "iuU":
            raise ValueError(
                "columns must be a list of positions or of names of features, not empty, "
                f"got {self.columns!r}."
            )

    def bind(self, features: Sequence[str]) -> Self:
        return replace(self, columns=_bound(self.columns, features))

    def __call__(self, X: Data) -> Array:
        return _dense(X, _positions(self.columns))

    def size(self, p: int) -> int:
        return len(self.columns)

    def names(self, p: int, features: Features = None) -> list[str]:
        return [_feature_name(j % p, features) for j in _positions(self.columns)]


@dataclass(eq=False)
class Breaks(NullSpace):
    r"""Places where the function, or one of its derivatives, may jump.

    The truncated powers :math:`[x_j > \tau]\, (x_j - \tau)^k / k!`, so that the coefficient is the
    height of the jump in the k-th derivative.

    Parameters
    ----------
    knots : sequence of float
        The places :math:`\tau`.
    order : int, default=0
        The derivative k that jumps: 0 for a jump, 1 for a kink.
    column : int or str, default=0
        The feature :math:`x_j`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Example 9.3; with the polynomials
    of degree k free, its signed powers span the same space.

    Examples
    --------
    >>> Breaks([0.5])([[0.4], [0.6]])
    array([[0.],
           [1.]])
    >>> Breaks([0.5], order=1, column="time").names(1, ["time"])
    ['kink at time = 0.5']
    """

    knots: Sequence[float] | Array
    order: int = 0
    column: int | str = 0

    def __post_init__(self) -> None:
        knots = np.asarray(self.knots, dtype=float)
        if knots.ndim != 1 or not knots.size or not np.all(np.isfinite(knots)):
            raise ValueError(f"knots must be a list of finite numbers, got {self.knots!r}.")
        check_integer("order", self.order, 0)

    def bind(self, features: Sequence[str]) -> Self:
        return replace(self, column=_bound([self.column], features)[0])

    def __call__(self, X: Data) -> Array:
        u = _dense(X, _positions([self.column])) - np.asarray(self.knots, dtype=float)
        return np.asarray(np.where(u > 0, u ** int(self.order), 0.0) / factorial(int(self.order)))

    def size(self, p: int) -> int:
        return len(self.knots)

    def names(self, p: int, features: Features = None) -> list[str]:
        column = self.column
        name = column if isinstance(column, str) else _feature_name(int(column) % p, features)
        kind = {0: "jump", 1: "kink"}.get(int(self.order), f"jump of derivative {self.order}")
        return [f"{kind} at {name} = {float(knot):g}" for knot in self.knots]


@dataclass(eq=False, repr=False)
class Functions(NullSpace):
    """The span of functions given by the user.

    Parameters
    ----------
    functions : sequence of callable
        Each maps the ``(n, p)`` points to ``(n,)`` or ``(n, width)`` values. A function of NumPy
        such as ``np.sin`` acts on every feature by itself.
    widths : sequence of int, optional
        Number of columns of each function; if not given, one, or one a feature for functions of
        NumPy.
    on : sequence of int or str, optional
        The features that the functions see, by position or by name; all by default.

    Examples
    --------
    >>> space = Functions([lambda X: X[:, 0], lambda X: np.c_[X**2, X**3]], widths=[1, 2])
    >>> space(np.array([[2.0]]))
    array([[2., 4., 8.]])
    >>> Functions([np.sin, np.cos], on=["time"]).bind(["x", "time"]).names(2, ["x", "time"])
    ['sin(time)', 'cos(time)']
    """

    functions: Sequence[Callable[[Data], Data]]
    widths: Sequence[int] | None = None
    on: Sequence[int] | Sequence[str] | None = None

    def __post_init__(self) -> None:
        for function in self.functions:
            if not callable(function):
                raise ValueError(f"functions must be callables of the points, got {function!r}.")
        if self.widths is not None and len(self.widths) != len(self.functions):
            raise ValueError(
                f"widths must have one entry per function, got {len(self.widths)} "
                f"for {len(self.functions)} functions."
            )

    def bind(self, features: Sequence[str]) -> Self:
        return self if self.on is None else replace(self, on=_bound(self.on, features))

    def _widths(self, p: int) -> list[int]:
        if self.widths is not None:
            return list(map(int, self.widths))
        seen = p if self.on is None else len(self.on)
        return [seen if isinstance(function, np.ufunc) else 1 for function in self.functions]

    def __call__(self, X: Data) -> Array:
        X = X if hasattr(X, "shape") else np.asarray(X)
        n, widths = count(X), self._widths(X.shape[1])
        if self.on is not None:
            X = _dense(X, _positions(self.on))
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
        return sum(self._widths(p))

    def names(self, p: int, features: Features = None) -> list[str]:
        seen = range(p) if self.on is None else [j % p for j in _positions(self.on)]
        result = []
        for function, width in zip(self.functions, self._widths(p), strict=True):
            name = _function_name(function)
            if isinstance(function, np.ufunc) and width == len(seen):
                result += [f"{name}({_feature_name(j, features)})" for j in seen]
            else:
                result += [name] if width == 1 else [f"{name}[{j}]" for j in range(width)]
        return result

    def __repr__(self) -> str:
        functions = ", ".join(map(_function_name, self.functions))
        widths = "" if self.widths is None else f", widths={self.widths!r}"
        on = "" if self.on is None else f", on={self.on!r}"
        return f"Functions([{functions}]{widths}{on})"


@dataclass(eq=False, repr=False)
class Sum(NullSpace):
    """The sum of two null spaces, with the columns of both; written ``+``.

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

    def names(self, p: int, features: Features = None) -> list[str]:
        return [name for space in self._terms() for name in space.names(p, features)]

    def bind(self, features: Sequence[str]) -> Self:
        return replace(self, left=self.left.bind(features), right=self.right.bind(features))

    def __eq__(self, other: object) -> bool:
        """Whether both sums have the same spaces in the same order, however nested."""
        return isinstance(other, Sum) and same(self._terms(), other._terms())

    def __repr__(self) -> str:
        return " + ".join(map(repr, self._terms()))


def complete(space: NullSpace, monomials: Sequence[tuple[int, ...]], p: int) -> NullSpace:
    """Return a space together with those monomials that it does not already name.

    Parameters
    ----------
    space : NullSpace
    monomials : sequence of tuple of int
        What a kernel needs to have free, :meth:`mercer.kernels.Kernel.unpenalized`.
    p : int
        Number of features.

    Examples
    --------
    >>> complete(Constant(), [(), (0,), (1,)], 2).names(2)
    ['1', 'x0', 'x1']
    >>> complete(Polynomial(1), [(), (0,), (1,)], 2)
    Polynomial(degree=1)
    """
    needed = {_monomial_name(monomial) for monomial in monomials}
    if needed <= set(space.names(p)):
        return space
    terms = space._terms() if isinstance(space, Sum) else [space]
    kept = [term for term in terms if not set(term.names(p)) <= needed]
    named = {name for term in kept for name in term.names(p)}
    missing = [monomial for monomial in monomials if _monomial_name(monomial) not in named]
    return reduce(add, kept, Monomials(missing))


def _products(X: Data, monomials: Iterator[tuple[int, ...]]) -> Array:
    """Multiply features, each monomial from the one that lacks its last factor where that came."""
    n, columns, column = count(X), [], dict[tuple[int, ...], Array]()
    points: Array | None = None
    for monomial in monomials:
        values = np.ones(n)
        if monomial:
            points = _dense(X) if points is None else points
            before = column.get(monomial[:-1])
            start = before if before is not None else points[:, list(monomial[:-1])].prod(axis=1)
            values = start * points[:, monomial[-1]]
        column[monomial] = values
        columns.append(values)
    return np.stack(columns, axis=1) if columns else np.empty((n, 0))


def _dense(X: Data, columns: Sequence[int] | slice = slice(None)) -> Array:
    X = X[:, columns] if hasattr(X, "shape") else np.asarray(X)[:, columns]
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _positions(columns: Sequence[int | str]) -> list[int]:
    """Return positions of features; names need a data frame."""
    if any(isinstance(column, str) for column in columns):
        raise ValueError(
            f"The features {list(columns)} are given by name: fit the machine on a data frame with "
            "these columns, or give their positions."
        )
    return [int(column) for column in columns]


def _bound(columns: Sequence[int | str], features: Sequence[str]) -> list[int]:
    """Return features with names replaced by positions."""
    return [named_positions([c], features)[0] if isinstance(c, str) else c for c in columns]


def _feature_name(j: int, features: Features) -> str:
    return f"x{j}" if features is None else str(features[j])


def _monomial_name(monomial: tuple[int, ...], features: Features = None) -> str:
    powers = {_feature_name(j, features): monomial.count(j) for j in monomial}
    return " ".join(name if q == 1 else f"{name}^{q}" for name, q in powers.items()) or "1"


def _function_name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
