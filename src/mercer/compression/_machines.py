"""Fitted machines as functions of a kernel, and back."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.compression._functions import (
    Functions,
    Table,
    Tamed,
    Terms,
    evaluate,
    refuse_indefinite,
    stack,
    tame,
)
from mercer.estimators.ls_svc import LSSVC
from mercer.estimators.ls_svm import LSSVR
from mercer.kernels.points import Array, take
from mercer.machines.base import KernelMachine
from mercer.machines.code_report import CodeReport
from mercer.machines.expansion import dense
from mercer.machines.ls_report import UnavailableError
from mercer.machines.one_vs_one import PairwiseClassifier

__all__ = ["View", "rebuilt", "view"]


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """What probabilities need of the report of a classifier, without its sample."""

    sigmoids: Array
    sizes: Array
    n: int
    known: bool = True

    @property
    def values(self) -> Array:
        """Values of samples left out, which went with the sample."""
        raise UnavailableError(
            "a compressed machine knows nothing of samples left out; ask the machine before "
            "compression."
        )


@dataclass(frozen=True, eq=False)
class View:
    """The functions of a machine, and the points at which those of a wild kernel are tamed."""

    machine: Any
    functions: Functions
    anchors: NDArray[np.intp]

    @property
    def known(self) -> bool:
        """Whether points are numbers of samples whose kernel matrix is known."""
        return isinstance(self.functions.kernel, Table)


def view(machine: Any, X: Any) -> View:
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
    check_is_fitted(machine)
    if getattr(machine, "_functions", None) is not None:
        raise ValueError(
            "a machine of random features is no expansion of its kernel; fit it with fewer "
            "features, or with approximation=Nystrom(...), whose centres can be compressed."
        )
    coef = np.asarray(dense(machine.dual_coef_), dtype=np.float64).T
    groups, allowed, A = _layout(machine, coef)
    kernel: Any
    points: Any
    if machine._function or machine._precomputed:
        points = np.asarray(machine.support_, dtype=np.intp)
        kernel = Table(_sample_matrix(machine, X))
    else:
        kernel, points = machine.kernel_, machine.support_vectors_
    if hasattr(points, "tocsr"):
        points = sp.csr_array(points)
    if not len(A):
        raise ValueError("the machine has no support vectors: there is nothing to compress.")
    anchors = np.empty(0, dtype=np.intp)
    if kernel.numeric:
        kernel, anchors = tame(kernel, points)
    refuse_indefinite(kernel, points)
    return View(machine, Functions(kernel, points, A, groups, allowed), anchors)


def _sample_matrix(machine: Any, X: Any) -> Array:
    n = machine.shape_fit_[0]
    if machine._function:
        return np.asarray(machine._kernel_matrix(machine._X_fit, machine._X_fit))
    if np.shape(X) != (n, n):
        raise ValueError(
            f"The machine was fitted on a kernel matrix, which it does not keep: pass it as X, "
            f"shape ({n}, {n})."
        )
    return np.asarray(X, dtype=np.float64)


def _pairs(machine: Any) -> list[tuple[int, int]]:
    return list(combinations(range(len(machine.classes_)), 2))


def _layout(machine: Any, coef: Array) -> tuple[NDArray[np.intp], NDArray[np.bool_], Array]:
    """Return the group of every support vector, who may have terms where, and coefficients."""
    n = len(coef)
    if not isinstance(machine, PairwiseClassifier | LSSVC):
        return np.zeros(n, dtype=np.intp), np.ones((1, coef.shape[1]), dtype=bool), coef
    k = len(machine.classes_)
    if isinstance(machine, LSSVC):
        return _support_classes(machine), np.ones((k, coef.shape[1]), dtype=bool), coef
    groups = np.repeat(np.arange(k), machine._n_support)
    if not _by_classes(machine):
        return groups, np.ones((k, coef.shape[1]), dtype=bool), coef
    pairs = _pairs(machine)
    allowed, A = np.zeros((k, len(pairs)), dtype=bool), np.zeros((n, len(pairs)))
    for d, (i, j) in enumerate(pairs):
        allowed[[i, j], d] = True
        A[groups == i, d], A[groups == j, d] = coef[groups == i, j - 1], coef[groups == j, i]
    return groups, allowed, A


def _by_classes(machine: Any) -> bool:
    """Whether coefficients are laid out by class: of a class, facing each other class."""
    several = isinstance(machine, PairwiseClassifier) and len(machine.classes_) > 2
    return several and not getattr(machine, "_voting", False)


def _support_classes(machine: Any) -> NDArray[np.intp]:
    """Return the class of every support vector, of one that is no sample the predicted one."""
    support, known = getattr(machine, "_support_classes", (None, None))
    if support is machine.support_:  # of this machine, and not of one fitted since
        return np.asarray(known, dtype=np.intp)
    if isinstance(machine._report, CodeReport):
        return np.asarray(machine._labels[machine.support_], dtype=np.intp)
    found = machine._chosen(machine.decision_function(machine.support_vectors_))
    return np.asarray(found, dtype=np.intp)


def _laid_out(machine: Any, terms: Terms) -> Array:
    """Return coefficients as the machine stores them, one row a support vector."""
    if not _by_classes(machine):
        return terms.coef
    coef = np.zeros((terms.n, len(machine.classes_) - 1))
    for d, (i, j) in enumerate(_pairs(machine)):
        first, second = terms.groups == i, terms.groups == j
        coef[first, j - 1], coef[second, i] = terms.coef[first, d], terms.coef[second, d]
    return coef


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


def rebuilt(seen: View, terms: Terms) -> tuple[Any, Terms]:
    """Return a copy of the machine that is made of other terms, and these as it holds them.

    Parameters
    ----------
    seen : View
    terms : Terms
        Of the kernel of `seen`.
    """
    old = seen.machine
    terms, polynomials = _untamed(seen, terms)
    # Class by class, as a vote of pairs needs them; then in the order of the sample.
    place = np.where(terms.index >= 0, terms.index, seen.functions.n)
    order = np.lexsort((place, terms.groups if isinstance(old, PairwiseClassifier) else place))
    terms = Terms(
        take(terms.points, order), terms.coef[order], terms.groups[order], terms.index[order]
    )
    new = copy.copy(old)
    _leave_behind(new)
    was = np.asarray(old.support_)
    number = terms.points if seen.known else np.where(terms.index >= 0, was[terms.index], -1)
    new.support_ = np.asarray(number, dtype=np.int32)
    coef = np.ascontiguousarray(_laid_out(old, terms).T)
    new.dual_coef_ = _like(old.dual_coef_, coef)
    new._n_support = np.bincount(terms.groups, minlength=len(seen.functions.allowed)).astype(
        np.int32
    )
    if seen.known:
        _keep_sample(new, old)
    else:
        new.support_vectors_ = _like(old.support_vectors_, terms.points)
    _free_part(new, old, seen, polynomials)
    sign = -1.0 if isinstance(old, PairwiseClassifier) and len(old.classes_) == 2 else 1.0
    new._dual_coef_ = sign * new.dual_coef_
    if hasattr(old, "_intercept_"):
        new._intercept_ = sign * new.intercept_
    if hasattr(old, "offset_"):
        new.offset_ = -new.intercept_
    if isinstance(old, LSSVC):
        new._support_classes = (new.support_, terms.groups)
    return new, terms


def _like(old: Any, values: Any) -> Any:
    """Return numbers in the type that a machine keeps them in."""
    kind: Any = type(old)
    return kind(values) if sp.issparse(old) else values


def _leave_behind(machine: Any) -> None:
    """Drop what a machine keeps of its whole sample, as far as prediction does not need it."""
    machine.__dict__.pop("_last", None)
    report = machine.__dict__.get("_report")
    if isinstance(machine, LSSVR):
        machine._report = None
    elif isinstance(report, CodeReport) and report.known:
        machine._report = Sigmoids(report.sigmoids, report.sizes, report.n)


def _keep_sample(new: Any, old: Any) -> None:
    """Keep of a sample that is compared by a plain function what has a coefficient."""
    if not new._function:
        return
    rows = new.support_
    X = old._X_fit
    new._X_fit = take(X, rows) if hasattr(X, "shape") else [X[i] for i in rows]
    new.support_ = np.arange(len(rows), dtype=np.int32)
    new.shape_fit_ = (len(rows), *old.shape_fit_[1:])


def _free_part(new: Any, old: Any, seen: View, polynomials: Array) -> None:
    """Add polynomials, known by their values at the anchors, to what is unpenalized."""
    b = np.array(old.null_space_coef_, dtype=np.float64)
    wild = seen.functions.kernel
    if isinstance(wild, Tamed):
        X = seen.functions.points
        B, values = old.null_space_(X), wild.lagrange(X) @ polynomials
        size = np.linalg.norm(B, axis=0)
        size = np.where(size > 0.0, size, 1.0)
        b = b + np.reshape((np.linalg.lstsq(B / size, values)[0] / size[:, None]).T, b.shape)
    set_free(new, b)


def set_free(machine: Any, b: Array) -> None:
    """Set the coefficients of what is unpenalized, and all that is read from them.

    Parameters
    ----------
    machine : KernelMachine
    b : (q,) or (D, q) array
    """
    machine.null_space_coef_ = b
    machine.intercept_ = np.atleast_1d(machine._intercept(b))
