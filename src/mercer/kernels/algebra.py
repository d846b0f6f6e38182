"""Algebra of kernels: sums, products, scalings, powers and active dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mercer._params import is_integer, same
from mercer.kernels.base import Evaluator, Kernel, Support, put
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_points,
    chunks,
    named_positions,
    row_slices,
    take,
)
from mercer.kernels.tiles import ComposedTiles, PartTiles, TiledEvaluator, Tiles


def terms(kernel: Kernel) -> list[Kernel]:
    """Return the terms of a sum, however nested, from left to right."""
    if isinstance(kernel, Sum):
        return terms(kernel.left) + terms(kernel.right)
    return [kernel]


def factors(kernel: Kernel) -> list[Kernel]:
    """Return the factors of a product, however nested, from left to right."""
    if isinstance(kernel, Product):
        return factors(kernel.left) + factors(kernel.right)
    return [kernel]


def power(block: Array, exponent: int) -> None:
    """Raise a matrix to an integer power in place, by repeated squaring."""
    for rows in chunks(block):
        piece = block[rows]
        base = piece.copy()
        piece.fill(1.0)
        e = exponent
        while e:
            if e & 1:
                piece *= base
            e >>= 1
            if e:
                base *= base


def _refuse_precomputed(composite: str, *kernels: Kernel) -> None:
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise ValueError(f"{composite} combines kernels, got {kernel!r}.")
        if kernel.precomputed:
            raise ValueError(
                f"{composite} of a precomputed kernel is not defined, because the points are "
                "the matrix; combine the matrices and pass the result."
            )


def _prefixed(name: str, gradient: dict[str, Array], weight: Array | float) -> dict[str, Array]:
    """Gradient of a component times the derivative of the whole by the component's value."""
    result = {}
    for key, value in gradient.items():
        factor = weight[..., None] if isinstance(weight, np.ndarray) and value.ndim == 3 else weight
        result[f"{name}__{key}"] = value * factor
    return result


def _named(name: str, values: dict[str, Array]) -> dict[str, Array]:
    """Prefix the parameter names of a component as in the composed kernel."""
    return {f"{name}__{key}": value for key, value in values.items()}


def _accumulate(kernels: list[Kernel], Z: Data, combine: np.ufunc) -> Evaluator:
    evaluators = [kernel.against(Z) for kernel in kernels]
    first, *others = evaluators

    def evaluate(X: Data, out: Array | None = None) -> Array:
        out = put(first(X), out)
        for rows in row_slices(out.shape[0], out.shape[1] * out.itemsize, BLOCK_BYTES):
            for other in others:
                combine(out[rows], other(take(X, rows)), out=out[rows])
        return out

    def tiles(parts: list[TiledEvaluator], Z: Array) -> Tiles:
        return ComposedTiles(Z, [PartTiles(part.prepare(Z)) for part in parts], combine)

    return _tiled(evaluators, Z, evaluate, tiles)


def _tiled(
    parts: list[Evaluator],
    Z: Data,
    evaluate: Evaluator,
    tiles: Callable[[list[TiledEvaluator], Array], Tiles],
) -> Evaluator:
    """Return an evaluator that computes in tiles if those of all parts do."""
    known = [part for part in parts if isinstance(part, TiledEvaluator)]
    if len(known) < len(parts):
        return evaluate
    double = all(part.double for part in known)
    return TiledEvaluator(as_points(Z), partial(tiles, known), lambda X, _: evaluate(X), double)


class Pair(Kernel):
    """A kernel made of two others."""

    left: Kernel
    right: Kernel

    @property
    def stationary(self) -> bool:
        return self.left.stationary and self.right.stationary

    @property
    def radial(self) -> bool:
        return self.left.radial and self.right.radial

    @property
    def numeric(self) -> bool:
        return self.left.numeric and self.right.numeric

    @property
    def domain(self) -> str:
        domains = {self.left.domain, self.right.domain} - {"R^d"}
        return " and ".join(sorted(domains)) or "R^d"

    @property
    def period(self) -> float | None:
        return self.left.period if self.left.period == self.right.period else None


class Modified(Kernel):
    """A kernel made of another kernel, whose properties it keeps unless they are overridden."""

    kernel: Kernel

    @property
    def order(self) -> int:
        return self.kernel.order

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    @property
    def stationary(self) -> bool:
        return self.kernel.stationary

    @property
    def radial(self) -> bool:
        return self.kernel.radial

    @property
    def numeric(self) -> bool:
        return self.kernel.numeric

    @property
    def domain(self) -> str:
        return self.kernel.domain

    @property
    def period(self) -> float | None:
        return self.kernel.period

    @property
    def support(self) -> Support | None:
        return self.kernel.support

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        return self.kernel.unpenalized(p)


@dataclass(eq=False, repr=False)
class Sum(Pair):
    r"""The sum of two kernels, :math:`k(x, z) = k_1(x, z) + k_2(x, z)`; written ``k1 + k2``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = Gaussian(0.5) + Linear()
    >>> kernel.set_params(left__length_scale=2.0)
    Gaussian(length_scale=2.0) + Linear()
    """

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _refuse_precomputed("A sum", self.left, self.right)

    @property
    def order(self) -> int:
        return max(self.left.order, self.right.order)

    @property
    def support(self) -> Support | None:
        return _larger(self.left.support, self.right.support)

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        both = self.left.unpenalized(p) + self.right.unpenalized(p)
        return sorted(set(both), key=lambda monomial: (len(monomial), monomial))

    def paired(self, X: Data, Z: Data) -> Array:
        return self.left.paired(X, Z) + self.right.paired(X, Z)

    def coefficients(self, n: Array) -> Array:
        return self.left.coefficients(n) + self.right.coefficients(n)

    @property
    def positive_definite(self) -> bool:
        return self.left.positive_definite and self.right.positive_definite

    def against(self, Z: Data) -> Evaluator:
        return _accumulate(terms(self), Z, np.add)

    def diag(self, X: Data) -> Array:
        return self.left.diag(X) + self.right.diag(X)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        return _prefixed("left", self.left.gradient(X, Z), 1.0) | _prefixed(
            "right", self.right.gradient(X, Z), 1.0
        )

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        return _named("left", self.left.pullback(X, G)) | _named("right", self.right.pullback(X, G))

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        return self.left.spectrum(omega, dim) + self.right.spectrum(omega, dim)

    def __eq__(self, other: object) -> bool:
        """Whether both sums have the same terms in the same order, however nested."""
        return isinstance(other, Sum) and same(terms(self), terms(other))

    def __repr__(self) -> str:
        return " + ".join(map(repr, terms(self)))


@dataclass(eq=False, repr=False)
class Product(Pair):
    r"""The product of two kernels, :math:`k(x, z) = k_1(x, z) \, k_2(x, z)`; written ``k1 * k2``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> Gaussian(0.5) * Linear()
    Gaussian(length_scale=0.5) * Linear()
    """

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _refuse_precomputed("A product", self.left, self.right)

    @property
    def positive_definite(self) -> bool:
        # Schur's theorem; it needs both factors positive definite unconditionally.
        return all(k.positive_definite and k.order == 0 for k in (self.left, self.right))

    @property
    def support(self) -> Support | None:
        # Where one factor is zero the product is.
        return self.left.support or self.right.support

    def paired(self, X: Data, Z: Data) -> Array:
        return self.left.paired(X, Z) * self.right.paired(X, Z)

    def against(self, Z: Data) -> Evaluator:
        return _accumulate(factors(self), Z, np.multiply)

    def diag(self, X: Data) -> Array:
        return self.left.diag(X) * self.right.diag(X)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        return _prefixed("left", self.left.gradient(X, Z), self.right(X, Z)) | _prefixed(
            "right", self.right.gradient(X, Z), self.left(X, Z)
        )

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        return _named("left", self.left.pullback(X, G * self.right(X))) | _named(
            "right", self.right.pullback(X, G * self.left(X))
        )

    def __eq__(self, other: object) -> bool:
        """Whether both products have the same factors in the same order, however nested."""
        return isinstance(other, Product) and same(factors(self), factors(other))

    def __repr__(self) -> str:
        return " * ".join(_atom(k, Sum) for k in factors(self))


@dataclass(eq=False, repr=False)
class Scaled(Modified):
    r"""A kernel times a number, :math:`c \, k(x, z)` with :math:`c \ge 0`; written ``c * k``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> (2.0 * (3.0 * Gaussian())).get_params()["factor"]
    6.0
    """

    kernel: Kernel
    factor: float = 1.0

    def __post_init__(self) -> None:
        _refuse_precomputed("A multiple", self.kernel)
        if not 0.0 <= self.factor < np.inf:
            raise ValueError(
                f"The factor of a kernel must be a finite number, at least 0, got {self.factor}."
            )

    def against(self, Z: Data) -> Evaluator:
        kernel = self.kernel.against(Z)
        factor = float(self.factor)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            K = kernel(X, out)
            K *= factor
            return K

        def finish(K: Array) -> None:
            K *= factor

        def tiles(parts: list[TiledEvaluator], Z: Array) -> Tiles:
            return ComposedTiles(Z, [PartTiles(parts[0].prepare(Z))], finish=finish)

        return _tiled([kernel], Z, evaluate, tiles)

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(X) * float(self.factor)

    def paired(self, X: Data, Z: Data) -> Array:
        return self.kernel.paired(X, Z) * float(self.factor)

    def coefficients(self, n: Array) -> Array:
        return self.kernel.coefficients(n) * float(self.factor)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        inner = _prefixed("kernel", self.kernel.gradient(X, Z), float(self.factor))
        return inner | {"factor": self.kernel(X, Z)}

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        inner = _named("kernel", self.kernel.pullback(X, float(self.factor) * G))
        return inner | {"factor": np.asarray(np.vdot(G, self.kernel(X)))}

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        return self.kernel.spectrum(omega, dim) * float(self.factor)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_atom(self.kernel, Sum, Product)}"


@dataclass(eq=False, repr=False)
class Power(Modified):
    r"""A kernel raised to a power, :math:`k(x, z)^q` with an integer :math:`q \ge 1`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() ** 2)([[1.0, 2.0]])
    array([[25.]])
    """

    kernel: Kernel
    exponent: int = 1
    order = 0

    def __post_init__(self) -> None:
        _refuse_precomputed("A power", self.kernel)
        if not is_integer(self.exponent) or self.exponent < 1:
            raise ValueError(
                f"The exponent of a kernel must be an integer, at least 1, got {self.exponent!r}."
            )

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite and self.kernel.order == 0

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        return []

    def paired(self, X: Data, Z: Data) -> Array:
        return self.kernel.paired(X, Z) ** int(self.exponent)

    def against(self, Z: Data) -> Evaluator:
        kernel = self.kernel.against(Z)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            K = kernel(X, out)
            power(K, self.exponent)
            return K

        def tiles(parts: list[TiledEvaluator], Z: Array) -> Tiles:
            finish = partial(power, exponent=self.exponent)
            return ComposedTiles(Z, [PartTiles(parts[0].prepare(Z))], finish=finish)

        return _tiled([kernel], Z, evaluate, tiles)

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(X) ** int(self.exponent)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        slope = self.kernel(X, Z) ** (int(self.exponent) - 1) * float(self.exponent)
        return _prefixed("kernel", self.kernel.gradient(X, Z), slope)

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        slope = self.kernel(X) ** (int(self.exponent) - 1) * float(self.exponent)
        return _named("kernel", self.kernel.pullback(X, G * slope))

    def __repr__(self) -> str:
        return f"{_atom(self.kernel, Sum, Product, Scaled)} ** {self.exponent}"


@dataclass(eq=False, repr=False)
class ActiveDims(Modified):
    r"""A kernel of some features only, :math:`k(x_S, z_S)`; written ``k.on(dims)``.

    Parameters
    ----------
    kernel : Kernel
        Sees only the selected features, in the order given.
    dims : sequence of int or str, or slice
        Their positions, or their names in a data frame, which a machine replaces by positions.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().on([1])([[1.0, 2.0], [3.0, 4.0]])
    array([[ 4.,  8.],
           [ 8., 16.]])
    """

    kernel: Kernel
    dims: Sequence[int] | Sequence[str] | slice
    radial = False

    def __post_init__(self) -> None:
        _refuse_precomputed("A restriction", self.kernel)
        if isinstance(self.dims, slice):
            return
        index = np.asarray(self.dims)
        if index.ndim != 1 or index.size == 0 or index.dtype.kind not in "iuU":
            raise ValueError(
                "dims must be a slice or a list of integers or names, not empty, "
                f"got {self.dims!r}."
            )

    @property
    def support(self) -> Support | None:
        inner = self.kernel.support
        if inner is None or isinstance(self.dims, slice) or inner.dims != slice(None):
            return None
        return inner._replace(dims=self._positions)

    @property
    def _positions(self) -> list[int]:
        index = np.asarray(self.dims)
        if index.dtype.kind == "U":
            raise ValueError(
                f"The kernel acts on features named {list(self.dims)}: fit the machine on a data "  # type: ignore[arg-type]
                "frame with these columns, or give their positions."
            )
        return [int(j) for j in index]

    def bind(self, names: Sequence[str]) -> ActiveDims:
        inner, dims = self.kernel, self.dims
        if isinstance(dims, slice) or np.asarray(dims).dtype.kind != "U":
            return self
        return replace(self, kernel=inner, dims=named_positions(dims, names))

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        here = range(p)[self.dims] if isinstance(self.dims, slice) else self._positions
        inner = self.kernel.unpenalized(len(here))
        return [tuple(sorted(here[j] % p for j in monomial)) for monomial in inner]

    def paired(self, X: Data, Z: Data) -> Array:
        return self.kernel.paired(self._restrict(X), self._restrict(Z))

    def _restrict(self, X: Data) -> Data:
        X = as_points(X)
        index = self.dims if isinstance(self.dims, slice) else np.asarray(self._positions)
        try:
            return X[:, index]
        except IndexError:
            raise ValueError(
                f"The kernel acts on features {self.dims!r} but the points have {X.shape[1]}."
            ) from None

    def against(self, Z: Data) -> Evaluator:
        kernel = self.kernel.against(self._restrict(Z))

        def evaluate(X: Data, out: Array | None = None) -> Array:
            return put(kernel(self._restrict(X)), out)

        def tiles(parts: list[TiledEvaluator], Z: Array) -> Tiles:
            inner = parts[0].prepare(np.ascontiguousarray(self._restrict(Z)))
            return ComposedTiles(Z, [PartTiles(inner, self._restrict)])

        return _tiled([kernel], Z, evaluate, tiles)

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(self._restrict(X))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        Z = None if Z is None else self._restrict(Z)
        return _prefixed("kernel", self.kernel.gradient(self._restrict(X), Z), 1.0)

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        return _named("kernel", self.kernel.pullback(self._restrict(X), G))

    def __repr__(self) -> str:
        return f"{_atom(self.kernel, Sum, Product, Scaled, Power)}.on({self.dims!r})"


def _atom(kernel: Kernel, *weaker: type[Kernel]) -> str:
    """Representation in parentheses if its operator binds less than the one around it."""
    return f"({kernel!r})" if isinstance(kernel, weaker) else repr(kernel)


def _larger(left: Support | None, right: Support | None) -> Support | None:
    """Return a support that holds both: known if they have one shape."""
    if left is None or right is None or left.norm != right.norm or left.dims != right.dims:
        return None
    return left._replace(scale=np.maximum(left.scale, right.scale))


class Operators:
    """The operators of :class:`~mercer.kernels.base.Kernel`: nested results are kept flat."""

    def add(self, left: Kernel, right: Kernel) -> Kernel:
        """Return the sum, with the terms of a sum on the right one after the other."""
        result = left
        for term in terms(right):
            result = Sum(result, term)
        return result

    def multiply(self, left: Kernel, right: Kernel) -> Kernel:
        """Return the product, with the factors of a product on the right one after the other."""
        result = left
        for factor in factors(right):
            result = Product(result, factor)
        return result

    def scale(self, kernel: Kernel, factor: float) -> Kernel:
        """Return the kernel times a number; a multiple of a multiple has one factor."""
        if isinstance(kernel, Scaled):
            return Scaled(kernel.kernel, factor * kernel.factor)
        return Scaled(kernel, factor)

    def power(self, kernel: Kernel, exponent: int) -> Kernel:
        """Return the kernel raised to a power; a power of a power has one exponent."""
        if isinstance(kernel, Power):
            return Power(kernel.kernel, kernel.exponent * exponent)
        return Power(kernel, exponent)

    def restrict(self, kernel: Kernel, dims: Sequence[int] | Sequence[str] | slice) -> ActiveDims:
        """Return the kernel of some features."""
        return ActiveDims(kernel, dims)


Kernel._operators = Operators()
