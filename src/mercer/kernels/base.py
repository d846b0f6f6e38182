"""Kernels and their algebra: sums, products, scalings, powers and active dimensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, combinations_with_replacement
from numbers import Real
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from mercer._params import Params, is_integer, same
from mercer.kernels._composition import Parts, product_spectrum
from mercer.kernels._single import Either
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_points,
    chunks,
    is_sparse,
    mirror,
    row_slices,
    take,
)


class Evaluator(Protocol):
    """The function ``X -> k(X, Z)`` of points, with what concerns Z already done."""

    def __call__(self, X: Data, out: Array | None = None) -> Array:
        """Return the ``(n, m)`` matrix of kernel values, written into `out` if given."""


def put(K: Array, out: Array | None) -> Array:
    """Return a matrix, or `out` with the matrix in it."""
    if out is None:
        return K
    out[...] = K
    return out


def into(evaluate: Evaluator, X: Data, out: Array) -> Array:
    """Evaluate into `out`, at once where the evaluator can: one of a user takes points only."""
    return evaluate(X, out) if getattr(evaluate, "writes", False) else put(evaluate(X), out)


class Support(NamedTuple):
    r"""Where a kernel of compact support can differ from zero.

    :math:`k(x, z) = 0` unless :math:`\|(x - z) / s\| < 1` in the norm, over the features `dims`.
    """

    scale: Array
    """One number, or one for each of the features."""

    norm: float
    """2 for balls, infinity for boxes."""

    dims: Sequence[int] | slice = slice(None)


class Kernel(Params, ABC):
    r"""A symmetric function of two points, :math:`k(x, z) = k(z, x)`.

    A subclass is a dataclass that writes :meth:`against` and :meth:`diag`, :meth:`gradient` if it
    has parameters, and :meth:`spectrum` if it is known. Points are the rows of an array or of a
    CSR matrix; float32 points give float32 values, all others float64.

    Kernels are added, multiplied, scaled, raised to integer powers and restricted to some
    of the features; the result is a kernel again.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = 2.0 * Gaussian(0.5) + Linear().on([0]) ** 2
    >>> kernel
    2.0 * Gaussian(length_scale=0.5) + Linear().on([0]) ** 2
    >>> kernel([[0.0, 0.0], [1.0, 0.0]]).round(4)
    array([[2.    , 0.2707],
           [0.2707, 3.    ]])
    """

    # NumPy scalars and arrays leave ``2.0 * kernel`` to the kernel.
    __array_ufunc__ = None

    @property
    def order(self) -> int:
        """0 if positive definite; q if only on coefficients orthogonal to polynomials below q."""
        return 0

    @property
    def positive_definite(self) -> bool:
        """Whether every Gram matrix is positive semidefinite (conditionally, of its `order`)."""
        return True

    @property
    def stationary(self) -> bool:
        """Whether the kernel depends on the difference of its arguments only."""
        return False

    @property
    def radial(self) -> bool:
        """Whether the kernel depends on the Euclidean distance of its arguments only."""
        return False

    @property
    def precomputed(self) -> bool:
        """Whether the points already are the rows of a kernel matrix."""
        return False

    @property
    def numeric(self) -> bool:
        """Whether points are rows of numbers; if not, they are the entries of an object array."""
        return True

    @property
    def domain(self) -> str:
        """Where points live: ``R^d``, ``circle``, ``[0, 1]``, ``strings``, ..."""
        return "R^d"

    @property
    def period(self) -> float | None:
        """The period in every feature of a periodic kernel, which has :meth:`coefficients`."""
        return None

    @property
    def support(self) -> Support | None:
        """Where the kernel can differ from zero, if its support is compact."""
        return None

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        """Return the monomials that a machine must leave free, each as a tuple of features.

        Those of degree below `order`: the kernel is positive definite only on coefficients that are
        orthogonal to them.

        Parameters
        ----------
        p : int
            Number of features.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> Gaussian().unpenalized(2)
        []
        """
        degrees = (combinations_with_replacement(range(p), q) for q in range(self.order))
        return list(chain.from_iterable(degrees))

    def bind(self, names: Sequence[str]) -> Self:
        """Return the kernel with names of features replaced by their positions in `names`."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        bound = {name: k.bind(names) for name, k in parts.items() if isinstance(k, Kernel)}
        return replace(self, **bound) if bound else self  # type: ignore[type-var]

    @abstractmethod
    def against(self, Z: Data) -> Evaluator:
        """Return the function ``X -> k(X, Z)``, with all work that concerns `Z` alone done once.

        Parameters
        ----------
        Z : (m, p) points

        Returns
        -------
        callable
            Maps ``(n, p)`` points to the ``(n, m)`` matrix of kernel values: a new array, or the
            array given as `out`, which may be part of a larger one.
        """

    @abstractmethod
    def diag(self, X: Data) -> Array:
        """Return ``k(x, x)`` for every point, ``(n,)``."""

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        """Return the matrix of kernel values.

        Parameters
        ----------
        X : (n, p) points
        Z : (m, p) points, optional
            Without them the matrix of `X` with itself is returned, exactly symmetric and with
            :meth:`diag` on its diagonal; half of it is computed.

        Returns
        -------
        (n, m) array
        """
        if Z is not None:
            return self.against(Z)(X)
        if not self.numeric:
            K = self.against(X)(X)
            K = 0.5 * (K + K.T)
            np.fill_diagonal(K, self.diag(X))
            return K
        X = as_points(X)
        evaluate = self.against(X)
        if isinstance(evaluate, Either) and evaluate.tiles is not None:
            K = evaluate.tiles.square(X)
        else:
            K = self._by_blocks(X)
        np.fill_diagonal(K, self.diag(X))
        return K

    def _by_blocks(self, X: Data) -> Array:
        n = X.shape[0]
        K = np.empty((n, n), dtype=X.dtype)
        for rows in row_slices(n, max(n * X.dtype.itemsize, BLOCK_BYTES // 512), BLOCK_BYTES):
            # From the left, so that new memory is met a few rows at a time: the other way round the
            # first mirror image touches all of it, for seconds in which no one can interrupt.
            into(self.against(X[: rows.stop]), X[rows], K[rows, : rows.stop])
            mirror(K, rows)
        return K

    def paired(self, X: Data, Z: Data) -> Array:
        """Return ``k(x_i, z_i)`` for points given in pairs.

        Parameters
        ----------
        X, Z : (n, p) points

        Returns
        -------
        (n,) array
        """
        n = X.shape[0]
        parts = [slice(start, start + 32) for start in range(0, n, 32)]
        blocks = [self.against(take(Z, part))(take(X, part)).diagonal() for part in parts]
        return np.concatenate(blocks) if blocks else np.empty(0)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        """Return the derivatives of the kernel matrix with respect to the real parameters.

        Parameters
        ----------
        X : (n, p) points
        Z : (m, p) points, optional

        Returns
        -------
        dict
            By parameter name as in ``get_params``: ``(n, m)`` for a number, ``(n, m, p)`` for one
            number per feature. Empty if there is nothing to differentiate.
        """
        return {}

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        r"""Return how a function of the kernel matrix changes with the real parameters.

        .. math:: \frac{dJ}{d\theta} = \sum_{ij} G_{ij} \frac{\partial k(x_i, x_j)}{\partial \theta}

        One parameter per feature costs little more than one for all, and memory of the size of G.

        Parameters
        ----------
        X : (n, p) points
        G : (n, n) array
            Derivatives of the function by the entries of the matrix, symmetric.

        Returns
        -------
        dict
            By parameter name as in ``get_params``: a number, or one for each feature.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> X, G = np.array([[0.0], [1.0]]), np.ones((2, 2))
        >>> Gaussian(1.0).pullback(X, G)["length_scale"].round(4)
        np.float64(1.2131)
        """
        total: dict[str, Array] = {}
        n = len(G)
        width = X.shape[1] + 1 if self.numeric and hasattr(X, "shape") else 2
        for rows in row_slices(n, 8 * n * width, BLOCK_BYTES):
            for name, slope in self.gradient(take(X, rows), X).items():
                total[name] = total.get(name, 0.0) + np.tensordot(G[rows], slope, axes=2)
        return total

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        r"""Return the power spectrum of a stationary kernel on :math:`\mathbb{R}^d`.

        .. math:: k(u) = (2\pi)^{-d/2} \int e^{i \langle\omega, u\rangle} P(\omega) \, d\omega

        Parameters
        ----------
        omega : (m,) or (m, dim) array
            Frequencies: vectors, or their lengths if the kernel is radial or ``dim`` is 1.
        dim : int, default=1
            The dimension d of the space.

        Returns
        -------
        (m,) array
            P, the reciprocal of the penalty on each frequency.
        """
        raise NotImplementedError(f"The spectrum of {self!r} is not known in closed form.")

    def spectral_power(self, power: float, dim: int = 1) -> Kernel | None:
        """Return a kernel whose spectrum is proportional to a power of this one's.

        Parameters
        ----------
        power : float
            2 for the convolution of the kernel with itself, 1/2 for the root of that.
        dim : int, default=1
            Dimension of the points.

        Returns
        -------
        Kernel or None
            None if none is known in closed form.
        """
        return None

    def coefficients(self, n: Array) -> Array:
        r"""Return the Fourier coefficients of a periodic kernel of one feature.

        .. math:: k(u) = \sum_{n \in \mathbb{Z}} c_n e^{2 \pi i n u / p}, \qquad c_{-n} = c_n

        Parameters
        ----------
        n : (m,) array of int
            Frequencies in cycles per period.

        Returns
        -------
        (m,) array
            Their reciprocals are the penalties; a frequency with coefficient 0 cannot occur.
        """
        raise NotImplementedError(f"{self!r} is not periodic.")

    def _parts(self, p: int) -> tuple[float, Parts]:
        """Return the kernel of `p` features as a number times factors with their features."""
        return 1.0, [(tuple(range(p)), self)]

    def _separate(self, p: int) -> Sequence[Kernel] | None:
        """Return kernels, one for each of `p` features, whose product this is, if there are."""
        return None

    def _times(self, other: Kernel) -> Kernel | None:
        """Return the product with another kernel if it is one whose spectrum is known."""
        return None

    def points(self, X: Data, index: Array) -> Data:
        """Return what must be kept of `X` to evaluate ``kernel(X_new, kept)`` for these points.

        Parameters
        ----------
        X : (n, p) points
            The training points.
        index : (m,) array of int
            Those with coefficients, the support.
        """
        return take(X, index)

    def origin(self, X: Data) -> Array | None:
        """Return what may be subtracted from all points without changing a kernel value.

        The mean of dense float64 points, if the kernel depends on differences only: around it they
        have the more digits in float32 the farther away from zero they are.

        Parameters
        ----------
        X : (n, p) points
        """
        if not self.stationary or is_sparse(X) or X.dtype != np.float64 or not X.shape[0]:
            return None
        mean: Array = X.mean(axis=0)
        return mean

    def on(self, dims: Sequence[int] | Sequence[str] | slice) -> ActiveDims:
        """Return this kernel restricted to some features: a list of positions or names, a slice."""
        return ActiveDims(self, dims)

    def __add__(self, other: Any) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        result: Kernel = self
        for term in terms(other):
            result = Sum(result, term)
        return result

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Real):
            return self.__rmul__(other)
        if not isinstance(other, Kernel):
            return NotImplemented
        result: Kernel = self
        for factor in factors(other):
            result = Product(result, factor)
        return result

    def __rmul__(self, other: Any) -> Kernel:
        if not isinstance(other, Real):
            return NotImplemented
        if isinstance(self, Scaled):
            return Scaled(self.kernel, float(other) * self.factor)
        return Scaled(self, float(other))

    def __pow__(self, exponent: Any) -> Kernel:
        if not is_integer(exponent):
            return NotImplemented
        if isinstance(self, Power):
            return Power(self.kernel, self.exponent * int(exponent))
        return Power(self, int(exponent))


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
    """Name what belongs to a component as the parameters of the whole are."""
    return {f"{name}__{key}": value for key, value in values.items()}


def _accumulate(kernels: list[Kernel], Z: Data, combine: np.ufunc) -> Evaluator:
    first, *others = [kernel.against(Z) for kernel in kernels]

    def evaluate(X: Data, out: Array | None = None) -> Array:
        out = put(first(X), out)
        for rows in row_slices(out.shape[0], out.shape[1] * out.itemsize, BLOCK_BYTES):
            for other in others:
                combine(out[rows], other(take(X, rows)), out=out[rows])
        return out

    return evaluate


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
    """A kernel made of one other, whose properties it keeps unless it says otherwise."""

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

    def _parts(self, p: int) -> tuple[float, Parts]:
        # Terms of the same features are a kernel of those.
        (a, left), (b, right) = self.left._parts(p), self.right._parts(p)
        if len(left) == len(right) == 1 and left[0][0] == right[0][0]:
            return 1.0, [(left[0][0], a * left[0][1] + b * right[0][1])]
        return super()._parts(p)

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

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        return product_spectrum(self, omega, dim)

    def _parts(self, p: int) -> tuple[float, Parts]:
        (a, left), (b, right) = self.left._parts(p), self.right._parts(p)
        return a * b, left + right

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

        return evaluate

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

    def _parts(self, p: int) -> tuple[float, Parts]:
        constant, parts = self.kernel._parts(p)
        return constant * float(self.factor), parts

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

    def __post_init__(self) -> None:
        _refuse_precomputed("A power", self.kernel)
        if not is_integer(self.exponent) or self.exponent < 1:
            raise ValueError(
                f"The exponent of a kernel must be an integer, at least 1, got {self.exponent!r}."
            )

    @property
    def order(self) -> int:
        return 0

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

        return evaluate

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(X) ** int(self.exponent)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        slope = self.kernel(X, Z) ** (int(self.exponent) - 1) * float(self.exponent)
        return _prefixed("kernel", self.kernel.gradient(X, Z), slope)

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        slope = self.kernel(X) ** (int(self.exponent) - 1) * float(self.exponent)
        return _named("kernel", self.kernel.pullback(X, G * slope))

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        return product_spectrum(self, omega, dim)

    def _parts(self, p: int) -> tuple[float, Parts]:
        constant, parts = self.kernel._parts(p)
        return constant ** int(self.exponent), parts * int(self.exponent)

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
    def radial(self) -> bool:
        return False

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
        return lambda X, out=None: put(kernel(self._restrict(X)), out)

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(self._restrict(X))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        Z = None if Z is None else self._restrict(Z)
        return _prefixed("kernel", self.kernel.gradient(self._restrict(X), Z), 1.0)

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        return _named("kernel", self.kernel.pullback(self._restrict(X), G))

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        return product_spectrum(self, omega, dim)

    def _parts(self, p: int) -> tuple[float, Parts]:
        here = range(p)[self.dims] if isinstance(self.dims, slice) else self._positions
        constant, parts = self.kernel._parts(len(here))
        return constant, [(tuple(here[j] % p for j in dims), k) for dims, k in parts]

    def __repr__(self) -> str:
        return f"{_atom(self.kernel, Sum, Product, Scaled, Power)}.on({self.dims!r})"


def _atom(kernel: Kernel, *weaker: type[Kernel]) -> str:
    """Representation in parentheses if its operator binds less than the one around it."""
    return f"({kernel!r})" if isinstance(kernel, weaker) else repr(kernel)


def named_positions(wanted: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Return the positions of features that are given by name.

    Examples
    --------
    >>> named_positions(["b"], ["a", "b"])
    [1]
    """
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"There is no feature {missing[0]!r}; the data have {list(names)}.")
    return [list(names).index(name) for name in wanted]


def _larger(left: Support | None, right: Support | None) -> Support | None:
    """Return a support that holds both: known if they have one shape."""
    if left is None or right is None or left.norm != right.norm or left.dims != right.dims:
        return None
    return left._replace(scale=np.maximum(left.scale, right.scale))
