"""Few terms that are right within a given error at every point, as many as a count allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from mercer._typing import PointsLike
from mercer.compression._functions import (
    HELD,
    KernelFunctions,
    Terms,
    as_functions,
    evaluate,
    stack,
)
from mercer.data.base import Block, Source
from mercer.kernels.base import Kernel
from mercer.kernels.points import (
    Array,
    Data,
    as_points,
    count,
    take,
)

__all__ = ["Covered", "Worst", "cover", "sup_terms", "worst_points"]

BATCH = 1024
"""Points that violate the error most which a pass over a source brings home."""

SLACK = 1e-3
"""Part of the error that is kept back while points are looked for, for rounding."""

STEPS = ("exact", "fixed")


@dataclass(frozen=True, eq=False)
class Covered:
    """Terms from :func:`sup_terms`."""

    index: NDArray[np.intp]
    """The points that have terms, each once."""

    coef: Array
    """Their weights."""

    sup_error: float
    """The largest difference at the points."""

    steps: int
    """How many steps it took."""

    bound: int
    r"""How many it could take, :math:`\lfloor \|f\|^2 R^2 / \epsilon^2 \rfloor`."""


def sup_terms(
    kernel: Kernel,
    X: Data,
    coef: ArrayLike,
    error: float,
    *,
    points: Data | None = None,
    step: str = "exact",
) -> Covered:
    r"""Approximate an expansion within an error at every one of some points.

    While some :math:`|f(x) - f_t(x)| > \epsilon`, the point where this is largest gets a term:
    :math:`\pm \epsilon / R^2` (``"fixed"``), or as much as makes the difference vanish there
    (``"exact"``), :math:`R^2 = \max_x k(x, x)`. Every step lowers the squared norm of the
    difference by more than :math:`\epsilon^2 / R^2`, so there are at most
    :math:`\lfloor \|f\|^2 R^2 / \epsilon^2 \rfloor` of them.

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    X : (n, p) points
    coef : (n,) or (n, D) array
        Of one expansion or of several, for which the bounds add up.
    error : float
        The largest difference that is left, positive.
    points : (m, p) points, optional
        Where it is to hold, and where terms may be; `X` by default.
    step : {"exact", "fixed"}, default="exact"

    References
    ----------
    The rule behind the covering numbers of B. Carl and I. Stephani, *Entropy, Compactness and the
    Approximation of Operators*, 1990, made explicit; A. J. Smola, *Learning with Kernels*, TU
    Berlin 1998, eq. (8.22).

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> few = sup_terms(Laplacian(1.0), X, np.sin(9 * X[:, 0]) / 50, 0.05)
    >>> few.sup_error <= 0.05, few.steps <= few.bound, len(few.index) < 40
    (True, True, True)
    """
    f = as_functions(kernel, X, coef)
    where = f.points if points is None else (as_points(points) if kernel.numeric else points)
    groups = np.zeros(count(where), dtype=np.intp)
    state = cover(f, where, groups, error, step)
    weights = state.terms.coef
    return Covered(
        state.terms.index,
        weights[:, 0] if np.ndim(coef) == 1 else weights,
        state.sup_error,
        state.steps,
        term_bound(f, error, state.radius),
    )


class _State(NamedTuple):
    terms: Terms
    sup_error: float
    steps: int
    radius: float
    passes: int


def term_bound(f: KernelFunctions, error: float, radius: float) -> int:
    """Return the largest number of steps, of all functions together."""
    steps = np.floor(f.squared_norms() * (radius / error) ** 2 * (1.0 + 1e-12))
    return int(np.sum(steps))


def cover(
    f: KernelFunctions, X: Data, groups: NDArray[np.intp], error: float, step: str = "exact"
) -> _State:
    """Return terms at some of the points that are right within an error at all of them.

    Parameters
    ----------
    f : Functions
    X : m points
    groups : (m,) array of int
        The group of a term at each of them.
    error, step :
        As in :func:`sup_terms`.
    """
    _check(error, step)
    rest, m = f(X), count(X)
    diag = np.asarray(f.kernel.diag(X), dtype=np.float64)
    radius = float(np.sqrt(np.max(diag, initial=0.0)))
    K: Array | None = None
    if 8.0 * m**2 <= HELD:
        K = np.asarray(f.kernel(X), dtype=np.float64)
    found: dict[tuple[int, int], Array] = {}
    steps = 0
    while True:
        while True:
            i, d = (int(k) for k in np.unravel_index(np.argmax(np.abs(rest)), rest.shape))
            r = rest[i, d]
            if not abs(r) > error or not diag[i] > 0.0:
                break
            weight = r / diag[i] if step == "exact" else np.sign(r) * error / radius**2
            column = K[:, i] if K is not None else f.kernel(X, take(X, [i]))[:, 0]
            rest[:, d] -= weight * column
            key = (i, _group(f, int(groups[i]), d))
            found.setdefault(key, np.zeros(rest.shape[1]))[d] += weight
            steps += 1
        terms = _terms(f, X, found)
        # What the steps carried along is rounded; the difference itself decides.
        rest = f(X) - evaluate(f.kernel, X, terms.points, terms.coef)
        left = float(np.max(np.abs(rest), initial=0.0))
        if left <= error * (1.0 + 1e-9):
            return _State(terms, left, steps, radius, 0)


def _check(error: float, step: str) -> None:
    if not error > 0.0:
        raise ValueError(f"error must be positive, got {error!r}: no few terms are exact.")
    if step not in STEPS:
        raise ValueError(f"step must be 'exact' or 'fixed', got {step!r}.")


def _group(f: KernelFunctions, group: int, d: int) -> int:
    """Return the group of a term of a function: that of the point where it may be."""
    return group if f.allowed[group, d] else int(np.argmax(f.allowed[:, d]))


def _terms(f: KernelFunctions, X: Data, found: dict[tuple[int, int], Array]) -> Terms:
    """Return the terms in the order of the points."""
    keys = sorted(found)
    index = np.array([i for i, _ in keys], dtype=np.intp)
    coef = np.array([found[key] for key in keys]).reshape(len(keys), f.coef.shape[1])
    return Terms(take(X, index), coef, np.array([g for _, g in keys], dtype=np.intp), index)


# Points that are read in blocks -------------------------------------------------------------------


class Shared(NamedTuple):
    """What is the same in all passes."""

    functions: KernelFunctions
    size: int = BATCH
    """Number of rows that are brought home."""

    slack: float = 0.0
    """What is kept back of the error, so that no row is looked at again for rounding."""


@dataclass(frozen=True, eq=False)
class Worst:
    """Rows at which a difference is largest, of all rows that were seen; two of them add up."""

    size: int
    values: Array
    """The largest difference of a function, in falling order."""

    X: PointsLike
    rows: NDArray[np.intp]
    diag: float
    """The largest k(x, x)."""

    n: int

    def __add__(self, other: Worst) -> Worst:
        # In falling order, equal ones by their number: the same whatever the blocks were.
        values = np.concatenate([self.values, other.values])
        rows = np.concatenate([self.rows, other.rows])
        order = np.lexsort((rows, -values))[: self.size]
        return Worst(
            self.size,
            values[order],
            stack(self.X, other.X)[order],
            rows[order],
            max(self.diag, other.diag),
            self.n + other.n,
        )


def worst_of(f: KernelFunctions, terms: Terms, X: Data, size: int = 1, start: int = 0) -> Worst:
    """Return where among some points functions differ most from terms.

    Parameters
    ----------
    f : Functions
    terms : Terms
    X : m points
    size : int, default=1
        Number of points that are returned.
    start : int, default=0
        Number of the first of them.
    """
    rest = f(X) - evaluate(f.kernel, X, terms.points, terms.coef)
    values = np.max(np.abs(rest), axis=1, initial=0.0)
    order = np.lexsort((np.arange(len(values)), -values))[:size]
    diag = float(np.max(f.kernel.diag(X), initial=0.0))
    return Worst(size, values[order], take(X, order), start + order, diag, len(values))


def as_rows(f: KernelFunctions, X: PointsLike) -> Any:
    """Return rows of a source as points like those of the functions."""
    if sp.issparse(f.points):
        return sp.csr_array(X, dtype=np.float64)
    if sp.issparse(X):
        raise ValueError("the machine was fitted to dense rows, and the source has sparse ones.")
    return np.ascontiguousarray(X, dtype=np.float64)


def _look(block: Block, shared: Shared, state: Terms) -> Worst:
    """Return the worst rows of a block: the work of a pass."""
    f = shared.functions
    return worst_of(f, state, as_rows(f, block.X), shared.size, block.start)


def worst_points(shared: Shared, terms: Terms, source: Source, **how: Any) -> Worst:
    """Read a source once; return where functions differ most from terms.

    Parameters
    ----------
    shared : Shared
        One object in all passes, which is sent once to where the rows are.
    terms : Terms
    source : Source
    **how
        Passed to :meth:`Source.total`.
    """
    found: Worst = source.total(_look, shared, terms, **how)
    return found


def cover_source(shared: Shared, source: Source, error: float, step: str, **how: Any) -> _State:
    """Return terms at rows of a source that are right within an error at all of its rows.

    A pass brings the rows home where the difference is largest, and the rule is applied to these
    until it holds at all of them, with some slack; then there is another pass. Every step is one of
    the rule for the error less that slack, so that their number has its bound.

    Parameters
    ----------
    shared, source :
        As in :func:`worst_points`.
    error, step :
        As in :func:`sup_terms`.
    **how :
        Passed to :meth:`Source.total`.
    """
    _check(error, step)
    f, D = shared[0], shared[0].coef.shape[1]
    none = np.empty(0, dtype=np.intp)
    terms = Terms(take(f.points, none), np.empty((0, D)), none, none)
    steps = passes = 0
    radius = 0.0
    # Half a slack below what a pass will allow, so that no row comes home for rounding.
    aim = error - 3.0 * shared.slack
    while True:
        worst = worst_points(shared, terms, source, **how)
        passes += 1
        radius = max(radius, float(np.sqrt(worst.diag)))
        left = float(np.max(worst.values, initial=0.0))
        if left <= error - 2.0 * shared.slack:
            return _State(terms, left, steps, radius, passes)
        points = stack(worst.X, terms.points)
        K = np.asarray(f.kernel(worst.X, points), dtype=np.float64)
        m = count(worst.X)
        rest = f(worst.X) - K[:, m:] @ terms.coef
        coef = {g: np.zeros((m, D)) for g in range(len(f.allowed))}
        while True:
            i, d = (int(k) for k in np.unravel_index(np.argmax(np.abs(rest)), rest.shape))
            r, k = rest[i, d], K[i, i]
            if not abs(r) > aim or not k > 0.0:
                break
            weight = r / k if step == "exact" else np.sign(r) * error / radius**2
            rest[:, d] -= weight * K[:, i]
            coef[_group(f, 0, d)][i, d] += weight
            steps += 1
        new = [(g, np.flatnonzero(np.any(c != 0.0, axis=1))) for g, c in coef.items()]
        terms = Terms(
            stack(terms.points, *(take(worst.X, rows) for _, rows in new)),
            np.concatenate([terms.coef, *(coef[g][rows] for g, rows in new)]),
            np.concatenate([terms.groups, *(np.full(len(rows), g) for g, rows in new)]),
            np.concatenate([terms.index, *(np.full(len(rows), -1) for _, rows in new)]),
        )
