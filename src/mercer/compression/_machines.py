"""Fitted machines as functions of a kernel, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mercer._typing import PointsLike
from mercer.compression.expansions import (
    KernelFunctions,
    MatrixKernel,
    Tamed,
    Terms,
    evaluate,
    refuse_indefinite,
    stack,
    tame,
)
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, take
from mercer.machines.base import KernelMachine
from mercer.machines.fitted import FittedExpansion

__all__ = ["View", "expanded", "view"]


@dataclass(frozen=True, eq=False)
class View:
    """The functions of a machine, and the points at which those of a wild kernel are tamed."""

    machine: KernelMachine
    fitted: FittedExpansion
    functions: KernelFunctions
    anchors: NDArray[np.intp]

    @property
    def known(self) -> bool:
        """Whether points are numbers of samples whose kernel matrix is known."""
        return self.fitted.kernel is None


def view(machine: object, X: PointsLike) -> View:
    """Return the functions of a fitted machine.

    Parameters
    ----------
    machine : KernelMachine
    X : array or None
        The kernel matrix of the whole sample, for a machine fitted on one.
    """
    if not isinstance(machine, KernelMachine):
        raise TypeError(
            f"{type(machine).__name__} is not a kernel machine whose prediction is an expansion "
            "alone; fit an SVC, LSSVR, KernelRegressor or another of mercer.estimators."
        )
    fitted = machine._expansion()
    kernel: Kernel = fitted.kernel or MatrixKernel(_sample_matrix(machine, fitted, X))
    if not len(fitted.coef):
        raise ValueError("the machine has no support vectors: there is nothing to compress.")
    anchors = np.empty(0, dtype=np.intp)
    if kernel.numeric:
        kernel, anchors = tame(kernel, fitted.points)
    refuse_indefinite(kernel, fitted.points)
    functions = KernelFunctions(kernel, fitted.points, fitted.coef, fitted.groups, fitted.allowed)
    return View(machine, fitted, functions, anchors)


def _sample_matrix(machine: KernelMachine, fitted: FittedExpansion, X: PointsLike) -> Array:
    n = machine.shape_fit_[0]
    if fitted.matrix is not None:
        if X is not None:
            raise ValueError("the points of a plain function are its sample: leave X out.")
        return fitted.matrix
    if np.shape(X) != (n, n):
        raise ValueError(
            f"The machine was fitted on a kernel matrix, which it does not keep: pass it as X, "
            f"shape ({n}, {n})."
        )
    return np.asarray(X, dtype=np.float64)


def _untamed(seen: View, terms: Terms) -> tuple[Terms, Array]:
    """Return terms of the kernel itself, and the polynomials to add, by their values at anchors.

    A term of the tamed kernel has terms at the anchors, which make the coefficients orthogonal to
    the polynomials; each function takes them in the first group where it may.
    """
    f, wild = seen.functions, seen.functions.kernel
    if not isinstance(wild, Tamed):
        return terms, np.zeros((0, f.coef.shape[1]))
    anchors = wild.anchors
    back = -wild.lagrange(terms.points).T @ terms.coef
    used = np.unique(np.argmax(f.allowed, axis=0))
    points, coef, groups, index = [terms.points], [terms.coef], [terms.groups], [terms.index]
    for g in used:
        points.append(anchors)
        coef.append(np.where(np.argmax(f.allowed, axis=0) == g, back, 0.0))
        groups.append(np.full(len(back), g, dtype=np.intp))
        index.append(seen.anchors)
    joined = _merged(
        Terms(stack(*points), np.concatenate(coef), np.concatenate(groups), np.concatenate(index))
    )
    before = evaluate(wild.kernel, anchors, f.points, f.coef)
    after = evaluate(wild.kernel, anchors, joined.points, joined.coef)
    return joined, before - after


def _merged(terms: Terms) -> Terms:
    """Return terms in which no old point occurs twice in one group."""
    first: dict[tuple[int, int], int] = {}
    of = np.array(
        [
            first.setdefault((int(i), int(g)) if i >= 0 else (-1, -1 - row), row)
            for row, (i, g) in enumerate(zip(terms.index, terms.groups, strict=True))
        ],
        dtype=np.intp,
    )
    coef = np.zeros_like(terms.coef)
    np.add.at(coef, of, terms.coef)
    rows = np.unique(of)
    return Terms(take(terms.points, rows), coef[rows], terms.groups[rows], terms.index[rows])


def expanded(seen: View, terms: Terms) -> tuple[FittedExpansion, Terms]:
    """Return the expansion of other terms, and these as a machine is to hold them.

    Parameters
    ----------
    seen : View
    terms : Terms
        Of the kernel of `seen`.
    """
    old = seen.fitted
    terms, polynomials = _untamed(seen, terms)
    # Class by class, as a vote of pairs needs them; then in the order of the sample.
    place = np.where(terms.index >= 0, terms.index, seen.functions.n)
    order = np.lexsort((place, terms.groups if old.by_group else place))
    terms = Terms(
        take(terms.points, order), terms.coef[order], terms.groups[order], terms.index[order]
    )
    index = np.where(terms.index >= 0, old.index[terms.index], -1)
    new = replace(
        old,
        points=terms.points,
        index=terms.points if seen.known else index,
        coef=terms.coef,
        null_space_coef=_free_part(seen, polynomials),
        groups=terms.groups,
    )
    return new, terms


def _free_part(seen: View, polynomials: Array) -> Array:
    """Add polynomials, known by their values at the anchors, to what is unpenalized."""
    b, wild = seen.fitted.null_space_coef, seen.functions.kernel
    if not isinstance(wild, Tamed):
        return b.copy()
    X = seen.functions.points
    B, values = seen.fitted.null_space(X), wild.lagrange(X) @ polynomials
    size = np.linalg.norm(B, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    return np.asarray(b + (np.linalg.lstsq(B / size, values)[0] / size[:, None]).T)
