"""Functions of groups of columns, on rows some of whose cells are missing."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.named import resolve
from mercer.reduced.nystrom import NystromMap

__all__ = ["Components", "groups"]

# Points that the functions of a component are spanned by: all different ones of a small sample. A
# smooth kernel of one column has a rank far below, whatever the sample.
MAX_CENTRES = 512

COMPONENT_WORDS = {"each", "pairs", "joint"}


def groups(
    components: Any, n_features: int, names: Sequence[str] | None
) -> dict[str, tuple[int, ...]]:
    """Return which columns the components read, by their names.

    Parameters
    ----------
    components : {"each", "pairs", "joint"}, sequence or mapping
        Every column; these and all pairs; all columns as one; or columns and groups of columns, by
        position or name, perhaps under names of their own.
    n_features : int
    names : sequence of str, optional
        Names of the columns.

    Examples
    --------
    >>> groups("pairs", 3, None)
    {'x0': (0,), 'x1': (1,), 'x2': (2,), 'x0, x1': (0, 1), 'x0, x2': (0, 2), 'x1, x2': (1, 2)}
    >>> groups([["dose", "age"], 2], 3, ["age", "dose", "sex"])
    {'dose, age': (1, 0), 'sex': (2,)}
    """
    titles = [f"x{j}" for j in range(n_features)] if names is None else [str(n) for n in names]

    def column(which: Any) -> int:
        if isinstance(which, str):
            if names is None or which not in titles:
                known = "the sample has no names" if names is None else f"there are {titles}"
                raise ValueError(f"components name the column {which!r}, but {known}.")
            return titles.index(which)
        if not -n_features <= which < n_features:
            raise ValueError(f"components name column {which} of {n_features}.")
        return int(which) % n_features

    def group(which: Any) -> tuple[int, ...]:
        single = isinstance(which, str) or np.ndim(which) == 0
        found = tuple(column(w) for w in ([which] if single else which))
        if not found or len(set(found)) < len(found):
            raise ValueError(f"a component is one or more different columns, got {which!r}.")
        return found

    if isinstance(components, Mapping):
        found = {str(name): group(which) for name, which in components.items()}
    else:
        if isinstance(components, str):
            if components not in COMPONENT_WORDS:
                raise ValueError(
                    f"components must be one of {sorted(COMPONENT_WORDS)}, or a list of groups."
                )
            every = [(j,) for j in range(n_features)]
            parts: Any = [range(n_features)] if components == "joint" else every
            components = (
                [*parts, *combinations(range(n_features), 2)] if (components == "pairs") else parts
            )
        columns = [group(which) for which in components]
        found = {", ".join(titles[j] for j in c): c for c in columns}
        if len(found) < len(columns):
            raise ValueError("components must be different; two of them read the same columns.")
    if not found:
        raise ValueError("components must be at least one column or group of columns.")
    return found


@dataclass(frozen=True)
class MissingComponent:
    """A component: its name, its columns, and functions of them with the norm of its kernel."""

    name: str
    columns: tuple[int, ...]
    functions: NystromMap

    def observed(self, X: Array) -> NDArray[np.bool_]:
        """Return in which rows no column of it is missing."""
        return np.asarray(~np.isnan(X[:, self.columns]).any(axis=1))

    def features(self, X: Array) -> Array:
        """Return the features of complete rows, (n, r)."""
        return self.functions.features(self.functions.raw(np.ascontiguousarray(X[:, self.columns])))


class Components:
    r"""A sum of functions of groups of columns, :math:`f(x) = \sum_p w_p' \varphi_p(x^{(p)})`.

    With :math:`\varphi_p(x)'\varphi_p(z) = k_p(x, z)` on the centres, the norm of a component is
    the length of its coefficients. They are few for a smooth kernel, whatever the sample.

    Parameters
    ----------
    X : (n, d) array
        Rows, nan where a cell is missing.
    columns : mapping
        Columns of each component, by its name; each component is there in some row.
    kernel : Kernel, str or mapping
        The kernel of every component, or of each by its name ("rbf" for others).
    settings : mapping
        `gamma`, `degree` and `coef0` of kernels that are given by name.
    """

    def __init__(
        self,
        X: Array,
        columns: Mapping[str, tuple[int, ...]],
        kernel: Any,
        settings: Mapping[str, Any],
    ) -> None:
        self.parts: list[MissingComponent] = []
        for name, group in columns.items():
            wanted = kernel.get(name, "rbf") if isinstance(kernel, Mapping) else kernel
            rows = X[:, group]
            rows = rows[~np.isnan(rows).any(axis=1)]
            if len(rows):
                self.parts.append(
                    MissingComponent(name, group, _functions(name, wanted, rows, settings))
                )

    @property
    def names(self) -> list[str]:
        """The components, in their order."""
        return [part.name for part in self.parts]

    @cached_property
    def slices(self) -> list[slice]:
        """Where the coefficients of each component are."""
        ends = np.cumsum([0, *(part.functions.r for part in self.parts)]).tolist()
        return [slice(i, j) for i, j in pairwise(ends)]

    @property
    def r(self) -> int:
        """Number of all coefficients."""
        return self.slices[-1].stop if self.parts else 0

    @property
    def separate(self) -> bool:
        """Whether every component sees a single column, and every column has one component."""
        used = [j for part in self.parts for j in part.columns]
        return len(used) == len(self.parts) == len(set(used))

    def observed(self, X: Array) -> NDArray[np.bool_]:
        """Return which components are there, (n, P)."""
        masks = [part.observed(X) for part in self.parts]
        return np.stack(masks, axis=1) if masks else np.zeros((len(X), 0), dtype=bool)

    def features(self, X: Array) -> Array:
        """Return the features of rows, (n, r), zero for components that are not there."""
        F = np.zeros((len(X), self.r))
        for part, at in zip(self.parts, self.slices, strict=True):
            there = part.observed(X)
            F[there, at] = part.features(X[there])
        return F

    def values(self, X: Array, W: Array) -> Array:
        """Return the values of the components, (n, P, m), nan where they are not there."""
        f = np.full((len(X), len(self.parts), W.shape[1]), np.nan)
        for p, (part, at) in enumerate(zip(self.parts, self.slices, strict=True)):
            there = part.observed(X)
            f[there, p] = part.features(X[there]) @ W[at]
        return f


def _functions(name: str, kernel: Any, rows: Array, settings: Mapping[str, Any]) -> NystromMap:
    """Return the functions that a kernel spans on observed rows."""
    resolved: Kernel = resolve(copy.deepcopy(kernel), rows, **settings)
    if (
        resolved.precomputed
        or not resolved.numeric
        or resolved.order
        or not resolved.positive_definite
    ):
        raise ValueError(
            f"the kernel {resolved!r} of component {name!r} is none of columns that is positive "
            "definite; use rbf, linear, poly, matern, or a Kernel of that kind."
        )
    different = np.unique(rows, axis=0)
    # Sorted, so that of one column these are its quantiles.
    some = np.unique(np.linspace(0, len(different) - 1, MAX_CENTRES).round().astype(np.intp))
    return NystromMap(resolved, different if len(different) <= MAX_CENTRES else different[some])
