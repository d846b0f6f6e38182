"""Few terms that are right within a given error at every point, as many as a count allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer.compression.compress import METHODS, Compressor, Found
from mercer.compression.expansions import (
    HELD,
    KernelFunctions,
    Terms,
    as_functions,
    evaluate,
    stack,
)
from mercer.compression.pursuit import projected
from mercer.compression.worst_points import Shared, worst_points
from mercer.data.base import Source
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, as_points, count, take

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


def sup(compressor: Compressor, *, step: str = "exact", refit: bool = False) -> Found:
    """Return few terms for an error at all points: ``compress(..., method="sup")``.

    Parameters
    ----------
    compressor : Compressor
    step :
        As in :func:`sup_terms`.
    refit : bool, default=False
        Fit the weights anew; values may then change by more than the error.
    """
    if compressor.error is None:
        raise ValueError("method='sup' has terms for an error: give `error`.")
    f, error = compressor.f, compressor.error
    if compressor.points is None:
        assert compressor.source is not None
        state = cover_source(
            compressor.shared, compressor.source, error, step, **compressor.how_to_read
        )
        error -= 3.0 * compressor.slack
    else:
        state = cover(f, compressor.points, _groups(compressor), error, step)
    terms = state.terms
    if compressor.points is not f.points:
        index = np.full(terms.n, -1, dtype=np.intp)
        if compressor.view.known:
            place = np.full(len(compressor.points), -1, dtype=np.intp)
            place[f.points] = np.arange(f.n)
            index = place[terms.index]
        terms = Terms(terms.points, terms.coef, terms.groups, index)
    if refit:
        terms = projected(f, terms.points, terms.groups, terms.index)
    bound = term_bound(f, error, state.radius) + compressor.fixed
    return Found(terms, term_bound=bound, passes=state.passes)


def _groups(compressor: Compressor) -> NDArray[np.intp]:
    """Return the group of a term at every point."""
    n, f = count(compressor.points), compressor.f
    if compressor.points is f.points:
        return f.groups
    if compressor.view.known:
        groups = np.zeros(n, dtype=np.intp)
        groups[f.points] = f.groups
        return groups
    if len(f.allowed) == 1:
        return np.zeros(n, dtype=np.intp)
    machine = compressor.view.machine
    classes = np.searchsorted(machine.classes_, machine.predict(compressor.X))
    return np.asarray(classes, dtype=np.intp)


METHODS["sup"] = sup
