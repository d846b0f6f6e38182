"""Kernels of objects that are not rows of numbers: strings, sequences, sets."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._lazily import lazily
from mercer._params import check_integer
from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.points import Array, Data

lfilter = lazily("scipy.signal", "lfilter")

COMPLEX_STEP = 1e-30
"""An imaginary step this small gives a derivative without rounding: its square vanishes."""


class ObjectKernel(Kernel):
    r"""A kernel of two objects, whatever they are.

    Points are the entries of a list or of a one-dimensional object array. A subclass is a dataclass
    that writes :meth:`compare`, and :meth:`represent` if an object is worth preparing, which is
    then done once for each. If it has a field `normalize` that is true, values are divided by the
    lengths of both objects in feature space,

    .. math:: \frac{k(x, z)}{\sqrt{k(x, x) \, k(z, z)}}

    Examples
    --------
    >>> @dataclass(eq=False)
    ... class Common(ObjectKernel):
    ...     "The number of different entries that two sequences have in common."
    ...
    ...     def represent(self, x):
    ...         return set(x)
    ...
    ...     def compare(self, a, b):
    ...         return len(a & b)
    >>> Common()(["banana", "bandana", "kiwi"])
    array([[3., 3., 0.],
           [3., 4., 0.],
           [0., 0., 3.]])
    """

    normalize: bool = False
    numeric = False

    @property
    def domain(self) -> str:
        return "objects"

    def represent(self, x: Any) -> Any:
        """Return the representation of an object that kernel values need; the object by default."""
        return x

    @abstractmethod
    def compare(self, a: Any, b: Any) -> Any:
        """Return the value for two objects, as :meth:`represent` returned them."""

    def _values(self, left: list[Any], right: list[Any]) -> Array:
        """Return the matrix of values before they are normalized."""
        values = [[self.compare(a, b) for b in right] for a in left]
        return np.array(values, dtype=float).reshape(len(left), len(right))

    def _squares(self, items: list[Any]) -> Array:
        """Return the values of each object with itself before they are normalized."""
        return np.array([self.compare(a, a) for a in items], dtype=float)

    def _represented(self, X: Data) -> list[Any]:
        return [self.represent(x) for x in objects(X)]

    def against(self, Z: Data) -> Evaluator:
        right = self._represented(Z)
        columns = _reciprocal_roots(self._squares(right)) if self.normalize else np.ones(1)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            left = self._represented(X)
            K = self._values(left, right)
            if self.normalize:
                K *= _reciprocal_roots(self._squares(left))[:, None]
                K *= columns
            return put(K, out)

        return evaluate

    def diag(self, X: Data) -> Array:
        squares = self._squares(self._represented(X))
        return (squares > 0).astype(float) if self.normalize else squares

    def paired(self, X: Data, Z: Data) -> Array:
        left, right = self._represented(X), self._represented(Z)
        values = np.array([self.compare(a, b) for a, b in zip(left, right, strict=True)], float)
        if self.normalize:
            values *= _reciprocal_roots(self._squares(left))
            values *= _reciprocal_roots(self._squares(right))
        return values


def objects(X: Data) -> list[Any]:
    """Return points as a list of objects: of a column of objects, its entries.

    Examples
    --------
    >>> objects(np.array([["one"], ["two"]], dtype=object))
    ['one', 'two']
    """
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.shape[1] == 1:
        return list(X[:, 0])
    if isinstance(X, str):
        raise ValueError("Points must be a list of strings, got a single string.")
    return list(X)


def _reciprocal_roots(squares: Array) -> Array:
    """Return 1 / sqrt, and 0 for objects without a feature, which are similar to nothing."""
    empty = squares == 0
    return np.where(empty, 0.0, 1.0 / np.sqrt(np.where(empty, 1.0, squares)))


class StringKernel(ObjectKernel):
    """A kernel of strings, or of other sequences of symbols."""

    domain = "strings"


@dataclass(eq=False)
class StringSpectrum(StringKernel):
    r"""The spectrum kernel: how many pieces of some length two strings have in common.

    .. math:: k(x, z) = \sum_{|u| = n} \#_u(x) \, \#_u(z)

    where :math:`\#_u(x)` is the number of places at which the piece u occurs in x.

    Parameters
    ----------
    length : int, default=3
        The length n of the pieces.
    normalize : bool, default=True
        Divide by the lengths of both strings in feature space.

    References
    ----------
    C. Leslie, E. Eskin and W. S. Noble, *The spectrum kernel: a string kernel for SVM protein
    classification*, 2002.

    Examples
    --------
    >>> StringSpectrum(2, normalize=False)(["banana", "ananas", "kiwi"])
    array([[9., 8., 0.],
           [8., 9., 0.],
           [0., 0., 3.]])
    """

    length: int = 3
    normalize: bool = True

    def __post_init__(self) -> None:
        check_integer("length", self.length, 1)

    def represent(self, x: Sequence[Any]) -> Counter[Any]:
        n = int(self.length)
        pieces = (x[i : i + n] for i in range(len(x) - n + 1))
        return Counter(pieces if isinstance(x, str) else map(tuple, pieces))

    def compare(self, a: Counter[Any], b: Counter[Any]) -> float:
        return float(sum(count * b[piece] for piece, count in a.items() if piece in b))

    def _values(self, left: list[Any], right: list[Any]) -> Array:
        known: dict[Any, int] = {}
        for counts in right:
            for piece in counts:
                known.setdefault(piece, len(known))
        return np.asarray((_counts(left, known) @ _counts(right, known).T).toarray())


def _counts(items: list[Counter[Any]], known: dict[Any, int]) -> sparse.csr_array:
    """Return how often each known piece occurs."""
    triples = [
        (i, known[piece], count)
        for i, counts in enumerate(items)
        for piece, count in counts.items()
        if piece in known
    ]
    rows, columns, values = zip(*triples, strict=True) if triples else ((), (), ())
    shape = (len(items), len(known))
    return sparse.csr_array((np.array(values, float), (rows, columns)), shape=shape)


@dataclass(eq=False)
class Subsequence(StringKernel):
    r"""The subsequence kernel: pieces that two strings have in common, also with gaps.

    .. math:: k(x, z) = \sum_{|u| = n} \sum_{i: x_i = u} \sum_{j: z_j = u} \lambda^{l(i) + l(j)}

    over all increasing tuples i and j of places where x and z show the piece u, weighted by the
    number :math:`l(i) = i_n - i_1 + 1` of places that they span. It takes :math:`n |x| |z|` steps.

    Parameters
    ----------
    length : int, default=3
        The length n of the pieces.
    decay : float, default=0.5
        The weight :math:`\lambda` of each place, positive and at most 1.
    normalize : bool, default=True
        Divide by the lengths of both strings in feature space.

    References
    ----------
    H. Lodhi, C. Saunders, J. Shawe-Taylor, N. Cristianini and C. Watkins, *Text classification
    using string kernels*, 2002, definition 1.

    Examples
    --------
    The piece ``ca`` has the weight :math:`\lambda^2` in both, the other pieces differ:

    >>> Subsequence(2, decay=0.5, normalize=False)(["cat"], ["car"])
    array([[0.0625]])
    """

    length: int = 3
    decay: float = 0.5
    normalize: bool = True

    def __post_init__(self) -> None:
        check_integer("length", self.length, 1)
        if not 0.0 < self.decay <= 1.0:
            raise ValueError(f"decay must be positive and at most 1, got {self.decay}.")

    def represent(self, x: Sequence[Any]) -> Array:
        # Of the symbols only equality matters; object arrays compare whatever symbols are.
        symbols = np.empty(len(x), dtype=object)
        symbols[:] = list(x)
        return symbols

    def compare(self, a: Array, b: Array) -> float:
        return float(self._weigh(a, b, float(self.decay)).real)

    def _weigh(self, a: Array, b: Array, decay: complex) -> Any:
        """Return the value before it is normalized.

        Pieces that end at a match are those one shorter that end before it in both strings, with
        the decay for every place between: two recursive filters, one along each string.
        """
        match = np.equal.outer(a, b).astype(type(decay)) * decay**2
        ending = match
        for _ in range(int(self.length) - 1):
            for axis in (0, 1):
                ending = lfilter([0.0, 1.0], [1.0, -decay], ending, axis=axis)
            ending = match * ending
        return ending.sum()

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        left = self._represented(X)
        right = left if Z is None else self._represented(Z)
        decay = complex(float(self.decay), COMPLEX_STEP)
        values = np.array([[self._weigh(a, b, decay) for b in right] for a in left], dtype=complex)
        if self.normalize:
            for items, shape in ((left, (-1, 1)), (right, (1, -1))):
                squares = np.array([self._weigh(a, a, decay) for a in items], dtype=complex)
                squares[squares == 0] = 1.0
                values = values / np.sqrt(squares).reshape(shape)
        return {"decay": values.imag / COMPLEX_STEP}


@dataclass(eq=False)
class SetKernel(ObjectKernel):
    r"""A kernel of sets of points: the mean of a kernel over all pairs of elements.

    .. math:: k(A, B) = \frac{1}{|A| \, |B|} \sum_{a \in A} \sum_{b \in B} k_1(a, b)

    the inner product of the mean elements of A and B in the space of :math:`k_1`.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_1` of elements. Sets are ``(size, p)`` arrays of points, or lists of
        objects if this is a kernel of objects.
    average : bool, default=True
        Divide by the sizes; without it the value is a sum.
    normalize : bool, default=False
        Divide by the lengths of both sets in feature space.

    References
    ----------
    T. Gaertner, P. A. Flach, A. Kowalczyk and A. J. Smola, *Multi-instance kernels*, 2002.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> SetKernel(Linear())([[[1.0], [3.0]]], [[[1.0]], [[2.0], [4.0]]])
    array([[2., 6.]])
    """

    kernel: Kernel
    average: bool = True
    normalize: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.precomputed:
            raise ValueError(f"kernel must be a Kernel of elements, got {self.kernel!r}.")
        if self.kernel.order:
            raise ValueError(
                f"{self.kernel!r} is only conditionally positive definite: a mean over pairs of "
                "elements need not be a kernel."
            )

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    @property
    def domain(self) -> str:
        return f"sets of {self.kernel.domain}"

    def represent(self, x: Any) -> Any:
        elements = np.atleast_2d(np.asarray(x, dtype=float)) if self.kernel.numeric else list(x)
        if np.size(elements) == 0:
            raise ValueError("A set without elements has no mean: leave it out.")
        return elements

    def compare(self, a: Any, b: Any) -> float:
        values = self.kernel(a, b)
        return float(values.mean() if self.average else values.sum())

    def _values(self, left: list[Any], right: list[Any]) -> Array:
        elements, starts, sizes = self._stack(right)
        evaluate = self.kernel.against(elements)
        K = np.empty((len(left), len(right)))
        for row, a in zip(K, left, strict=True):
            sums = np.add.reduceat(evaluate(a).sum(axis=0), starts)
            row[...] = sums / (len(a) * sizes) if self.average else sums
        return K

    def _stack(self, sets: list[Any]) -> tuple[Any, Array, Array]:
        """Return all elements one below the other, where each set begins, and how long it is."""
        sizes = np.array([len(a) for a in sets], dtype=int)
        together = np.vstack(sets) if self.kernel.numeric else [x for a in sets for x in a]
        return together, np.append(0, np.cumsum(sizes)[:-1]), sizes

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        left = self._represented(X)
        right = left if Z is None else self._represented(Z)
        slopes = self._slopes([[(a, b) for b in right] for a in left])
        if not self.normalize:
            return {f"kernel__{name}": slope for name, slope in slopes.items()}
        # The logarithmic derivative of k / sqrt(k_aa k_bb), times its value.
        K, result = self._values(left, right), {}
        squares = [self._squares(items) for items in (left, right)]
        own = [self._slopes([[(a, a) for a in items]]) for items in (left, right)]
        scale = np.sqrt(np.outer(*squares))
        for name, slope in slopes.items():
            extra = (1,) * (slope.ndim - 2)
            rates = [o[name][0] / s.reshape(-1, *extra) for o, s in zip(own, squares, strict=True)]
            part = slope - 0.5 * K.reshape(*K.shape, *extra) * (rates[0][:, None] + rates[1])
            result[f"kernel__{name}"] = part / scale.reshape(*scale.shape, *extra)
        return result

    def _slopes(self, pairs: list[list[tuple[Any, Any]]]) -> dict[str, Array]:
        """Return the derivatives of values before they are normalized, pair by pair."""
        combine = np.mean if self.average else np.sum
        rows = [[self.kernel.gradient(a, b) for a, b in row] for row in pairs]
        return {
            name: np.array([[combine(g[name], axis=(0, 1)) for g in row] for row in rows])
            for name in rows[0][0]
        }
