"""Components of a function: which features each of them sees, and through which kernel."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import comb
from operator import mul
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer._params import Params, is_integer
from mercer._typing import Array, PointsLike
from mercer.gram.pivoted import pivoted_cholesky
from mercer.gram.tiled import Tiled
from mercer.kernels.anova import subsets
from mercer.kernels.base import Kernel
from mercer.kernels.categorical import Categorical
from mercer.kernels.dot_product import Linear
from mercer.kernels.named import resolve
from mercer.kernels.points import is_sparse, named_positions, take
from mercer.machines.protocol import KernelSettings
from mercer.programs.variation import Part

__all__ = [
    "Component",
    "ComponentFunctions",
    "Term",
    "functions_of",
    "named_kernel",
    "positions",
    "read_components",
]

# Pivots of a factor below this share of the largest are rounding of the kernel.
MIN_PIVOT_SHARE = 1e-10

# Components that a number of features can stand for; each has a kernel and a name of its own.
MAX_COMPONENTS = 100_000


@dataclass(eq=False)
class Component(Params):
    r"""One term of an additive function, and how it is penalized.

    .. math:: \tfrac12 \sum_p v_p^{-1} \|f_p\|_p^2 \quad\Longleftrightarrow\quad
              k = \sum_p v_p\, k_p

    Parameters
    ----------
    columns : int, str, or sequence of these
        The features that it is a function of, by position or by name.
    kernel : Kernel, str or None, default=None
        Its kernel, of these features alone; that of the machine if not given.
    name : str, optional
        What it is called; the names of its features by default.
    weight : float, default=1.0
        The factor v of its kernel, positive: the larger, the less it is penalized.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemma 9.1, where the weights have
    to be reciprocal.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Component(["x", "y"], Linear(), name="slope")
    Component(columns=['x', 'y'], kernel=Linear(), name='slope', weight=1.0)
    """

    columns: Any
    kernel: Any = None
    name: str | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (np.ndim(self.weight) == 0 and 0.0 < float(self.weight) < np.inf):
            raise ValueError(f"weight must be positive and finite, got {self.weight!r}.")


@dataclass(frozen=True, eq=False)
class Term:
    """A component with its kernel settled, as a kernel of whole points."""

    name: str
    columns: tuple[int, ...]
    kernel: Kernel
    weight: float
    categorical: bool
    """Whether all its features are categories."""

    @cached_property
    def weighted(self) -> Kernel:
        """The kernel with its weight: the sum of these is the kernel of the machine."""
        return self.kernel if self.weight == 1.0 else self.weight * self.kernel


def positions(columns: Any, p: int, names: Sequence[str] | None) -> tuple[int, ...]:
    """Return the positions of features that are given by position or name.

    Examples
    --------
    >>> positions(["b", 0], 2, ["a", "b"]), positions(-1, 3, None)
    ((1, 0), (2,))
    """
    items = [columns] if isinstance(columns, str) or np.ndim(columns) == 0 else list(columns)
    found = []
    for item in items:
        if isinstance(item, str):
            if names is None:
                raise ValueError(
                    f"{item!r} names a feature, but the data have no names: fit on a data frame, "
                    "or give the position."
                )
            found += named_positions([item], names)
        elif is_integer(item) and -p <= int(item) < p:
            found.append(int(item) % p)
        else:
            raise ValueError(f"{item!r} is no feature of data with {p} features.")
    if not found or len(set(found)) < len(found):
        raise ValueError(f"a component needs features, each of them once, got {columns!r}.")
    return tuple(found)


def read_components(
    components: Any,
    kernel: Any,
    categorical: Any,
    X: PointsLike,
    names: Sequence[str] | None,
    make: Callable[[Any, Any], Kernel],
) -> list[Term]:
    """Return the components that a user means.

    Parameters
    ----------
    components : {"each", "pairs"}, int, mapping or sequence
        Every feature alone, also all pairs, all sets up to a size; or columns by name of the
        component; or columns, groups of columns, and :class:`Component` objects.
    kernel : Kernel, str, or mapping of features to these
        The kernel of components that bring none.
    categorical : sequence of features or None
        Which of them are categories.
    X : (n, p) points
    names : sequence of str or None
        Of the features.
    make : callable
        Returns the kernel of a name and the points of one feature.
    """
    p = X.shape[1]
    categories = set(() if categorical is None else _some(categorical, p, names))
    own: dict[int, Any] = {}
    default: Any = "rbf"
    if isinstance(kernel, Mapping):
        for key, value in kernel.items():
            own |= dict.fromkeys(positions(key, p, names), value)
    else:
        default = kernel

    def of_feature(j: int) -> Kernel:
        chosen = own.get(j, default)
        if j in categories and j not in own:
            return Categorical().on([j])
        if isinstance(chosen, str) and chosen == "linear":
            spread = float(np.var(_column(X, j)))
            return ((1.0 / spread if spread > 0 else 1.0) * Linear()).on([j])
        return _made(chosen, _points(X, [j]), make).on([j])

    terms: list[Term] = []
    for item in _listed(components, p):
        if isinstance(item, Term):
            terms.append(item)
            continue
        columns = positions(item.columns, p, names)
        given = item.kernel
        if given is None and isinstance(default, Kernel) and not item.product:
            # A kernel of several features, for a group that was given as such.
            given = None if set(columns) & (categories | own.keys()) else default
        if given is None:
            built = reduce(mul, [of_feature(j) for j in columns])
        else:
            built = _made(given, _points(X, columns), make).on(list(columns))
        title = item.name
        if title is None:
            title = " × ".join(f"x{j}" if names is None else str(names[j]) for j in columns)
        known = {term.name for term in terms}
        if title in known:
            title = next(
                t for i in range(2, len(known) + 3) if (t := f"{title} ({i})") not in known
            )
        whole = bool(set(columns) <= categories) and given is None
        terms.append(Term(title, columns, built, float(item.weight), whole))
    if not terms:
        raise ValueError("components must name at least one component.")
    return terms


@dataclass(frozen=True)
class _Listed:
    columns: Any
    kernel: Any = None
    name: str | None = None
    weight: float = 1.0
    product: bool = False
    """Whether it is a product over its features, as in functional analysis of variance."""


def _listed(components: Any, p: int) -> list[_Listed | Term]:
    """Return the components one by one, as objects with columns, kernel, name and weight."""
    if isinstance(components, str):
        sizes = {"each": 1, "pairs": 2}
        if components not in sizes:
            raise ValueError(
                f"components must be 'each', 'pairs', a number of features that act together, or "
                f"a list of columns, got {components!r}."
            )
        components = sizes[components]
    if is_integer(components):
        if not 1 <= int(components) <= p:
            raise ValueError(
                f"so many features cannot act together: {components!r}, of {p} features."
            )
        count = sum(comb(p, size) for size in range(1, int(components) + 1))
        if count > MAX_COMPONENTS:
            raise ValueError(
                f"{p:,} features in sets of up to {int(components)} are {count:,} components, "
                f"more than {MAX_COMPONENTS:,}: name the features that matter, as in "
                "components=[0, 3], or select some before (sklearn.feature_selection)."
            )
        return [_Listed(s, product=True) for s in subsets(p, int(components))]
    if isinstance(components, Mapping):
        return [_Listed(columns, name=str(name)) for name, columns in components.items()]
    return [
        item
        if isinstance(item, Term)
        else _Listed(item.columns, item.kernel, item.name, item.weight)
        if isinstance(item, Component)
        else _Listed(item)
        for item in components
    ]


def _some(columns: Any, p: int, names: Sequence[str] | None) -> tuple[int, ...]:
    """Return features given one by one, or as a mask."""
    mask = np.asarray(columns)
    if mask.dtype == bool:
        if mask.shape != (p,):
            raise ValueError(f"a mask of categories has one entry a feature: ({p},).")
        return tuple(int(j) for j in np.flatnonzero(mask))
    return positions(columns, p, names) if mask.size else ()


def _made(kernel: Any, X: PointsLike, make: Callable[[Any, Any], Kernel]) -> Kernel:
    if isinstance(kernel, str) or not isinstance(kernel, Kernel):
        return make(kernel, X)
    return copy.deepcopy(kernel)


def named_kernel(machine: KernelSettings, gamma: Any = None) -> Callable[[Any, Any], Kernel]:
    """Return how a machine makes kernels of names, with another gamma if given."""
    width = machine.gamma if gamma is None else gamma

    def make(kernel: Any, X: PointsLike) -> Kernel:
        made = resolve(kernel, X, gamma=width, degree=machine.degree, coef0=machine.coef0)
        if made.precomputed or not made.numeric:
            raise ValueError("components are functions of features: give a kernel of numbers.")
        return made

    return make


def _points(X: PointsLike, columns: Sequence[int]) -> Any:
    return X[:, list(columns)]


def _column(X: PointsLike, j: int) -> Array:
    column = X[:, [j]]
    return np.asarray(column.toarray() if is_sparse(column) else column, dtype=np.float64)[:, 0]


# Functions of unit norm --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComponentFunctions:
    r"""Functions of unit norm that span a component on a sample, by a pivoted factorization.

    .. math:: \phi(x) = R^{-T} k(Z, x), \qquad k(Z, Z) = R'R

    Parameters
    ----------
    kernel : Kernel
        Of whole points.
    Z : (r, p) array
        The pivots.
    R : (r, r) array
        Upper triangular factor.
    part : Part
        The functions at the different values of the sample.
    shift : (r,) array
        What is taken from the functions, so that they are zero on the average.
    """

    kernel: Kernel
    Z: Any
    R: Array
    part: Part
    shift: Array

    def __call__(self, X: PointsLike) -> Array:
        """Evaluate the functions, (n, r)."""
        K = np.asarray(self.kernel(X, self.Z), dtype=np.float64)
        return (
            np.asarray(la.solve_triangular(self.R, K.T, trans="T", check_finite=False)).T
            - self.shift
        )

    def centred(self) -> ComponentFunctions:
        """Return the functions without their means over the sample."""
        mean = np.mean(self.part.design[self.part.observed], axis=0)
        part = replace(self.part, features=self.part.features - mean)
        return replace(self, part=part, shift=self.shift + mean)

    @property
    def rank(self) -> int:
        """How many functions there are."""
        return int(self.R.shape[0])


def functions_of(
    term: Term,
    X: PointsLike,
    rank: int,
    observed: NDArray[np.bool_] | None = None,
    tol: float = MIN_PIVOT_SHARE,
) -> ComponentFunctions:
    """Return functions that span a component as far as double precision sees it.

    Parameters
    ----------
    term : Term
    X : (n, p) points
    rank : int
        Largest number of functions.
    observed : (n,) array of bool, optional
        Samples whose features are known; all by default.
    tol : float
        Share of the largest variance of the kernel that may be left.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> term = Term("x0", (0,), Gaussian(1.0).on([0]), 1.0, False)
    >>> functions = functions_of(term, X, 50)
    >>> functions.rank < 12
    True
    >>> Z = functions.part.design
    >>> bool(np.allclose(Z @ Z.T, term.kernel(X), atol=1e-9)), np.allclose(functions(X), Z)
    (True, True)
    """
    seen = np.arange(X.shape[0]) if observed is None else np.flatnonzero(observed)
    index = np.full(X.shape[0], -1, dtype=np.intp)
    here = X[seen][:, list(term.columns)]
    here = here.toarray() if is_sparse(here) else here
    _, first, which = np.unique(here, axis=0, return_index=True, return_inverse=True)
    index[seen] = np.ravel(which)
    points = take(X, seen[first])
    kernel = term.weighted
    F, chosen = pivoted_cholesky(Tiled(kernel, points), rank, tol=tol)
    R = np.triu(F[chosen].T)
    return ComponentFunctions(
        kernel, take(points, chosen), R, Part(F, index), np.zeros(len(chosen))
    )
