"""Protocol of kernels: values, derivatives, spectra, and properties that machines ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import singledispatch
from itertools import chain, combinations_with_replacement
from numbers import Real
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from mercer._optional import how_to_install
from mercer._params import Params, is_integer
from mercer._version import PACKAGES
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_points,
    is_sparse,
    mirror,
    row_slices,
    take,
)
from mercer.kernels.tiles import TiledEvaluator


class Evaluator(Protocol):
    """The function ``X -> k(X, Z)`` of points, with all work on Z alone already done."""

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


class Operators(Protocol):
    """Make kernels of other kernels; :mod:`mercer.kernels.algebra` holds the only operators.

    Sums and products are kernels themselves, so their module stands above this one and hands
    its operators to :class:`Kernel` when the room is imported.
    """

    def add(self, left: Kernel, right: Kernel) -> Kernel:
        """Return the sum of two kernels."""

    def multiply(self, left: Kernel, right: Kernel) -> Kernel:
        """Return the product of two kernels."""

    def scale(self, kernel: Kernel, factor: float) -> Kernel:
        """Return a kernel times a number."""

    def power(self, kernel: Kernel, exponent: int) -> Kernel:
        """Return a kernel raised to an integer power."""

    def restrict(self, kernel: Kernel, dims: Sequence[int] | Sequence[str] | slice) -> Kernel:
        """Return a kernel of some features only."""


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

    _operators: ClassVar[Operators]

    pure: ClassVar[bool] = False
    """Whether values follow from the parameters alone, so that a warm start may keep the matrix."""

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        # Each class says so for itself: a subclass may compute something else.
        cls.pure = vars(cls).get("pure", cls.__module__.partition(".")[0] in PACKAGES)

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

    def value_error(self, X: Data) -> float:
        r"""Return by how much float64 values may differ in a matrix and in a prediction.

        As part of :math:`\sqrt{k(x, x) k(z, z)}`; 0 for some units in the last place.
        """
        return 0.0

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

    def root(self, X: Data) -> Data:
        """Return Z of n rows with ``k(X, X) = ZZ'``, an array or CSR; None if there is none to see.

        Parameters
        ----------
        X : (n, p) points
        """
        return None

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
        if isinstance(evaluate, TiledEvaluator) and evaluate.tiles is not None:
            K = evaluate.tiles.square(X)
        else:
            K = self._by_blocks(X)
        np.fill_diagonal(K, self.diag(X))
        return K

    def symmetric(self, X: Data) -> Array:
        """Return the matrix of points with themselves as a Gram holds it, by the fastest way.

        Its values are those of a call to rounding.

        Parameters
        ----------
        X : (n, p) points

        Returns
        -------
        (n, n) array
        """
        return self(X)

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
        return numerical_spectrum(self, np.asarray(omega, dtype=float), dim)

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

    def points(self, X: Data, index: Array) -> Data:
        """Return the part of `X` that ``kernel(X_new, kept)`` needs for these points.

        Parameters
        ----------
        X : (n, p) points
            The training points.
        index : (m,) array of int
            Those with coefficients, the support.
        """
        return take(X, index)

    def origin(self, X: Data) -> Array | None:
        """Return an origin: subtracted from all points, it changes no kernel value.

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

    def on(self, dims: Sequence[int] | Sequence[str] | slice) -> Kernel:
        """Return this kernel restricted to some features: a list of positions or names, a slice."""
        return self._operators.restrict(self, dims)

    def __add__(self, other: object) -> Kernel:
        return self._operators.add(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Real):
            return self.__rmul__(other)
        return (
            self._operators.multiply(self, other) if isinstance(other, Kernel) else NotImplemented
        )

    def __rmul__(self, other: object) -> Kernel:
        return (
            self._operators.scale(self, float(other)) if isinstance(other, Real) else NotImplemented
        )

    def __pow__(self, exponent: int) -> Kernel:
        return (
            self._operators.power(self, int(exponent)) if is_integer(exponent) else NotImplemented
        )


@singledispatch
def numerical_spectrum(kernel: Kernel, omega: Array, dim: int) -> Array:
    """Return a spectrum that is no formula, by a function registered for the class of the kernel.

    Parameters
    ----------
    kernel : Kernel
        Of one with a length scale the spectrum is that for length scale one.
    omega : (m,) or (m, dim) array
        Frequency vectors, if the kernel has a length scale.
    dim : int
    """
    raise NotImplementedError(
        f"The spectrum of {kernel!r} is not known in closed form. The package mercer-research "
        "computes spectra of many kernels by quadrature: import its module kernels; "
        f"{how_to_install('research')}."
    )
