"""Kernels of all features from a kernel of one feature: sums, products, sums over subsets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations
from operator import mul

import numpy as np

from mercer._params import check_integer
from mercer.kernels.algebra import ActiveDims, Modified, Scaled, Sum, terms
from mercer.kernels.base import Evaluator, Kernel, Support
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    row_slices,
    take,
)


def subsets(p: int, order: int) -> list[tuple[int, ...]]:
    r"""Return the subsets of p features with 1 to `order` of them, :math:`\sum_k \binom{p}{k}`.

    Examples
    --------
    >>> subsets(3, 2)
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    sizes = (combinations(range(p), size) for size in range(1, min(order, p) + 1))
    return list(chain.from_iterable(sizes))


class EachFeature(Modified):
    """A kernel of all features made of the values of one kernel in each of them."""

    radial = False

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.precomputed:
            raise ValueError(f"kernel must be a Kernel of one feature, got {self.kernel!r}.")
        if not self.kernel.numeric:
            raise ValueError(f"{self.kernel!r} has no features: its points are objects.")
        if self.kernel.order and self._largest(2) > 1:
            raise ValueError(
                f"{type(self).__name__} multiplies kernels of features, which need not give a "
                f"kernel if they are of conditional order {self.kernel.order}; use Additive."
            )

    @abstractmethod
    def _largest(self, p: int) -> int:
        """Return the largest number of features that are multiplied."""

    def _combine(self, values: Iterable[Array], p: int) -> Array:
        """Return the kernel from its values in each feature, which may be changed."""
        first, *others = self._symmetric(values, self._largest(p))
        return reduce(np.add, others, first)

    @staticmethod
    def _symmetric(values: Iterable[Array], largest: int) -> list[Array]:
        """Return the sums over subsets of each size of products: a recursion over features."""
        sums: list[Array] = []
        for value in values:
            # Subsets with the new feature are those without it, one smaller, times its value.
            more = [value, *(total * value for total in sums[: largest - 1])]
            sums = [old + new for old, new in zip(sums, more, strict=False)] + more[len(sums) :]
        return sums

    @property
    def support(self) -> Support | None:
        return None

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        one = self.kernel.unpenalized(1)
        free = {tuple(j for _ in monomial) for monomial in one for j in range(p)}
        return sorted(free, key=lambda monomial: (len(monomial), monomial))

    def components(self, p: int) -> list[tuple[tuple[int, ...], Kernel]]:
        """Return the terms of the kernel, each with the features that it acts on.

        Parameters
        ----------
        p : int
            Number of features.

        Returns
        -------
        list of (features, kernel)
            The sum of these kernels is this kernel.
        """
        chosen = self._chosen(p)
        return [(s, reduce(mul, [self.kernel.on([j]) for j in s])) for s in chosen]

    def _chosen(self, p: int) -> list[tuple[int, ...]]:
        return subsets(p, self._largest(p))

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        p = Z.shape[1]
        each = [self.kernel.against(Z[:, [j]]) for j in range(p)]

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, _ = as_pair(X, Z)
            n, m = X.shape[0], Z.shape[0]
            if out is None:
                out = np.empty((n, m), dtype=np.result_type(X.dtype, Z.dtype))
            # One matrix for each size of subsets, and those of the next step.
            width = 2 * self._largest(p) + 2
            for rows in row_slices(n, width * 8 * m, BLOCK_BYTES):
                part = take(X, rows)
                values = (one(part[:, [j]]) for j, one in enumerate(each))
                out[rows] = self._combine(values, p)
            return out

        return evaluate

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        p = X.shape[1]
        return self._combine((self.kernel.diag(X[:, [j]]) for j in range(p)), p)

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        p = X.shape[1]
        return self._combine((self.kernel.paired(X[:, [j]], Z[:, [j]]) for j in range(p)), p)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        p = X.shape[1]
        values = [self.kernel(X[:, [j]], Z[:, [j]]) for j in range(p)]
        result: dict[str, Array] = {}
        for j in range(p):
            weight = self._weight(values[:j] + values[j + 1 :], np.ones_like(values[j]))
            for name, slope in self.kernel.gradient(X[:, [j]], Z[:, [j]]).items():
                part = slope * (weight if slope.ndim == 2 else weight[:, :, None])
                key = f"kernel__{name}"
                result[key] = result[key] + part if key in result else part
        return result

    def _weight(self, others: list[Array], one: Array) -> Array:
        """Return the derivative of the kernel by its value in one feature, from the others."""
        largest = self._largest(len(others) + 1) - 1
        return reduce(np.add, self._symmetric(others, largest) if largest else [], one)

    def coefficients(self, n: Array) -> Array:
        return self.kernel.coefficients(n)


@dataclass(eq=False)
class Additive(EachFeature):
    r"""A sum over the features, :math:`k(x, z) = \sum_j k_1(x_j, z_j)`.

    A machine with it is a sum of functions of one feature each.

    Parameters
    ----------
    kernel : Kernel
        Of one feature.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (4.15)-(4.24).

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Spline
    >>> Additive(Gaussian())([[0.0, 0.0]], [[0.0, 9.0]])
    array([[1.]])
    >>> Additive(Spline(order=2)).unpenalized(2)
    [(), (0,), (1,)]
    """

    kernel: Kernel

    def _largest(self, p: int) -> int:
        return 1


@dataclass(eq=False)
class Tensor(EachFeature):
    r"""A product over the features, :math:`k(x, z) = \prod_j k_1(x_j, z_j)`.

    Its spectrum is the product of those of the features. It is the radial kernel with the same
    profile for the Gaussian, and only for it.

    Parameters
    ----------
    kernel : Kernel
        Of one feature.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.4.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Tensor(Matern(nu=0.5))([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    kernel: Kernel

    def _largest(self, p: int) -> int:
        return p

    def _chosen(self, p: int) -> list[tuple[int, ...]]:
        return [tuple(range(p))]

    def _combine(self, values: Iterable[Array], p: int) -> Array:
        return reduce(np.multiply, values)

    def _weight(self, others: list[Array], one: Array) -> Array:
        return reduce(np.multiply, others, one)

    @property
    def support(self) -> Support | None:
        # Zero as soon as one feature is: the box whose sides are those of the features.
        one = self.kernel.support
        return None if one is None else Support(one.scale, np.inf)

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        omega = np.asarray(omega, dtype=float)
        if omega.ndim == 1 and dim == 1:
            return self.kernel.spectrum(omega)
        if omega.ndim != 2 or omega.shape[1] != dim:
            raise ValueError(
                f"This kernel is not radial: pass frequency vectors of shape (m, {dim})."
            )
        return reduce(np.multiply, [self.kernel.spectrum(omega[:, j]) for j in range(dim)])


@dataclass(eq=False)
class ANOVA(EachFeature):
    r"""A sum over subsets of features of products, from single features up to interactions.

    .. math:: k(x, z) = \sum_{1 \le |S| \le r} \prod_{j \in S} k_1(x_j, z_j)

    Although there are :math:`\sum_{s \le r} \binom{p}{s}` terms, a recursion over the features
    needs p r products for each value. The constant is left to the intercept of the machine.

    Parameters
    ----------
    kernel : Kernel
        Of one feature.
    interactions : int, default=2
        The largest number r of features that act together.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (4.25).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> ANOVA(Linear())([[2.0, 3.0, 5.0]], [[1.0, 1.0, 1.0]])
    array([[41.]])
    >>> [features for features, _ in ANOVA(Linear()).components(3)]
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """

    kernel: Kernel
    interactions: int = 2

    def __post_init__(self) -> None:
        check_integer("interactions", self.interactions, 1)
        super().__post_init__()

    def _largest(self, p: int) -> int:
        return min(int(self.interactions), p)


def components(kernel: Kernel, p: int) -> list[tuple[str, Kernel]]:
    r"""Return the terms that a kernel is the sum of, each with a name.

    A machine :math:`f(x) = \sum_i a_i k(x_i, x)` is the sum of the functions
    :math:`f_t(x) = \sum_i a_i k_t(x_i, x)`, one for each term. To penalize the term t by
    :math:`c_t` is to write ``(1 / c_t) * kernel_t`` in the sum.

    Parameters
    ----------
    kernel : Kernel
        Sums, their multiples and restrictions, `Additive` and `ANOVA` are taken apart.
    p : int
        Number of features.

    Returns
    -------
    list of (name, kernel)
        The name is the representation of the term.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemma 9.1, where the weights have
    to be reciprocal.

    Examples
    --------
    >>> from mercer.kernels import Linear, Gaussian
    >>> for name, _ in components(0.5 * (Linear().on([0]) + Gaussian()), 2):
    ...     print(name)
    0.5 * Linear().on([0])
    0.5 * Gaussian(length_scale=1.0)
    """
    return [(repr(part), part) for part in _parts(kernel, p)]


def _parts(kernel: Kernel, p: int) -> Iterator[Kernel]:
    if isinstance(kernel, Sum):
        for term in terms(kernel):
            yield from _parts(term, p)
    elif isinstance(kernel, Scaled):
        yield from (kernel.factor * part for part in _parts(kernel.kernel, p))
    elif isinstance(kernel, ActiveDims):
        dims = range(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel.dims
        yield from (part.on(kernel.dims) for part in _parts(kernel.kernel, len(dims)))
    elif isinstance(kernel, EachFeature):
        yield from (part for _, part in kernel.components(p))
    else:
        yield kernel
