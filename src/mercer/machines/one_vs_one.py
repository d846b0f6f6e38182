"""Classifiers by a vote: one problem per pair of classes, over one kernel matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._lazily import lazily
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Hidden, StrOptions, num_samples, ovr_decision_function
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.gram.base import Gram
from mercer.gram.class_blocks import ClassBlocks
from mercer.gram.indexed import Indexed
from mercer.gram.row_store import MAX_WHOLE_ROWS
from mercer.kernels.bounded_products import Bounded, bounded_products
from mercer.machines.classifier import Classifier
from mercer.machines.evaluating import dense, expand, expand_by_class
from mercer.machines.expansion import store
from mercer.machines.fitted import FittedExpansion
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.low_rank import by_blocks
from mercer.machines.sigmoids import Sigmoids, fold_numbers
from mercer.machines.subproblems import (
    Sample,
    SolvedBatch,
    SolvedSubproblem,
    Subproblem,
    SubproblemBatch,
)
from mercer.machines.unpenalized import intercept_of
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.solve import Reduced
from mercer.solvers.small import RiskBatch, SolutionBatch, minimize_batch

__all__ = ["PairwiseClassifier"]

# With all of model selection behind it: imported where probabilities are asked for.
CalibratedClassifierCV = lazily("sklearn.calibration", "CalibratedClassifierCV")

# Part of the memory for kernel values that blocks shared by pairs of classes may take.
SHARED_MEMORY_PART = 0.5

# Classes up to which the ballots of their pairs, a megabyte, are kept for the next prediction.
MAX_BALLOT_CLASSES = 64


def _has_probabilities(machine: PairwiseClassifier) -> bool:
    if machine.probability == "deprecated" or not machine.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


@lru_cache(maxsize=8)
def _pairs_of(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second classes of all pairs of k classes."""
    return np.triu_indices(k, 1)


@lru_cache(maxsize=8)
def _ballots(k: int) -> NDArray[np.float32]:
    """Return the class that a pair votes for if it favours its first, and below its second."""
    ballots = np.zeros((k * (k - 1), k), dtype=np.float32)
    ballots[np.arange(len(ballots)), np.concatenate(_pairs_of(k))] = 1.0
    return ballots


def _votes(first: NDArray[np.bool_], second: NDArray[np.bool_], k: int) -> NDArray[np.float32]:
    """Count for each of k classes the pairs that vote for it, (n, k)."""
    ballots = _ballots(k) if k <= MAX_BALLOT_CLASSES else _ballots.__wrapped__(k)
    # Whole numbers below 2^24 have no rounding in float32.
    votes: NDArray[np.float32] = np.concatenate([first, second], 1, dtype=np.float32) @ ballots
    return votes


@lru_cache(maxsize=8)
def _facing(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the classes of all pairs, first and second in turn, and the columns of their samples.

    The column of a sample of a class is that of the class it faces: one less for classes after it.
    """
    first, second = _pairs_of(k)
    return np.stack([first, second], 1).ravel(), np.stack([second - 1, first], 1).ravel()


def _laid_pairs(
    y: NDArray[np.intp], k: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the samples of all pairs of classes end to end, where they end, and their columns."""
    facing, facing_columns = _facing(k)
    sizes = np.bincount(y, minlength=k)
    lengths, starts = sizes[facing], (sizes.cumsum() - sizes)[facing]
    stops = lengths.cumsum()
    rows = np.arange(stops[-1])
    rows += (starts - (stops - lengths)).repeat(lengths)
    ends = np.zeros(len(stops) // 2 + 1, dtype=np.intp)
    ends[1:] = stops[1::2]
    if (y[1:] < y[:-1]).any():
        rows = y.argsort(kind="stable")[rows]
    return rows, ends, facing_columns.repeat(lengths)


@settings
class PairwiseClassifier(Classifier):
    """A machine that votes between classes, one binary problem a pair.

    Two classes speak of the second as positive, several of the first of each pair: that is how
    scikit-learn's users read decision values and coefficients.
    """

    _: KW_ONLY
    decision_function_shape: str = "ovr"
    break_ties: bool = False

    _parameter_constraints: ClassVar[Constraints] = {
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    _calibrated: Any = fixed(None)
    _voting: bool = fixed(False)
    """Whether each pair is a machine over all centres, as approximations of several classes are."""

    def _problem(self, K: Gram, y: Array, c: Array, B: Array) -> Subproblem:
        """Return the problem of two classes, labels plus and minus one."""
        return Subproblem("", RegularizedRisk(self._loss(), K, y, c, B))

    def _class_pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes_)), 2))

    def _order(self, y: TargetsLike) -> NDArray[np.intp] | None:
        """Return the samples class by class: a pair is then two pieces of the kernel matrix."""
        if len(self.classes_) == 2 or is_function(self.kernel) or is_precomputed(self.kernel):
            return None
        return np.argsort(y, kind="stable")

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        K, B, y, c = sample.K, sample.B, sample.y, self._weight() * sample.weights
        if len(self.classes_) == 2:
            return [self._problem(K, np.where(y == 1, 1.0, -1.0), c, B)]
        pairs = self._class_pairs()
        members: Any = None
        matrix: Any = None

        def pose(k: int) -> Subproblem:
            nonlocal members, matrix
            members = members or self._members(y)
            matrix = matrix or self._pair_matrices(K, y)
            i, j = pairs[k]
            rows = np.concatenate([members[i], members[j]])
            labels = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
            problem = self._problem(matrix(i, j, rows), labels, c[rows], B[rows])
            return problem._replace(title=f"{self.classes_[i]} or {self.classes_[j]}")

        if B.shape[1] == 1 and (B == 1.0).all():
            rows, ends, columns = _laid_pairs(y, len(self.classes_))
            labels = np.where(columns >= y[rows], 1.0, -1.0)
            parts = self._parts(K, labels, c[rows], rows, ends)
            if parts is not None:
                return SubproblemBatch(parts, pose, columns, self._read_parts)
        return [pose(k) for k in range(len(pairs))]

    def _parts(
        self, K: Gram, y: Array, c: Array, rows: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> RiskBatch | None:
        """Return the problems of all pairs laid end to end, if they can be declared so."""
        return None

    def _read_parts(self, found: SolutionBatch) -> tuple[Array, Array]:
        """Read the coefficients of the pairs, (n,) and (k, q), off their solutions."""
        return found.a, found.b

    def _members(self, y: TargetsLike) -> list[NDArray[np.intp]]:
        """Return the samples of each class."""
        return [np.flatnonzero(y == k) for k in range(len(self.classes_))]

    def _pair_matrices(
        self, K: Gram, y: TargetsLike
    ) -> Callable[[int, int, NDArray[np.intp]], Gram]:
        """Return the way to the kernel matrix of a pair of classes.

        Pairs that solvers read as a whole share their blocks, if the samples lie class by class and
        the blocks of the classes with themselves take a small part of the memory granted.
        """
        if K.sparse or (len(y) > MAX_WHOLE_ROWS and K.root() is not None):
            return lambda i, j, rows: K.restrict(rows) or Indexed(K, rows)
        sizes = np.bincount(y)
        shared = float(np.sum(sizes.astype(float) ** 2)) * K.dtype.itemsize
        if np.any(y[1:] < y[:-1]) or shared > SHARED_MEMORY_PART * self.cache_size * 2**20:
            return lambda i, j, rows: Indexed(K, rows)
        blocks = ClassBlocks(K, np.cumsum(sizes))
        return lambda i, j, rows: (
            blocks.pair(i, j) if len(rows) <= MAX_WHOLE_ROWS else Indexed(K, rows)
        )

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        """Lay the coefficients out as scikit-learn does: of a class, facing each other class."""
        n_classes, y, self._voting = len(self.classes_), sample.y, False
        coef = np.zeros((len(y), n_classes - 1))
        if isinstance(solved, SolvedBatch):
            free, steps = solved.b, solved.found.n_iter
            coef[solved.subproblems.parts.index, solved.subproblems.columns] = solved.a
        else:
            free = np.array([one.b for one in solved])
            steps = np.array([one.solution.n_iter for one in solved])
        if n_classes == 2:
            coef[:, 0] = solved[0].a
        elif not isinstance(solved, SolvedBatch):
            members = self._members(y)
            for (i, j), one in zip(self._class_pairs(), solved, strict=True):
                n_first = len(members[i])
                coef[members[i], j - 1], coef[members[j], i] = one.a[:n_first], one.a[n_first:]
        support = np.flatnonzero(np.any(coef != 0, axis=1))
        support = support[np.argsort(y[support], kind="stable")]
        store(self, sample.X, support, coef[support])
        self._n_support = np.bincount(y[support], minlength=n_classes).astype(np.int32)
        self.null_space_coef_, self.intercept_ = free, intercept_of(self.null_space_names_, free)
        # Two classes: the private pair speaks of the first class as positive, like LIBSVM.
        sign = -1.0 if n_classes == 2 else 1.0
        self._dual_coef_, self._intercept_ = sign * self.dual_coef_, sign * self.intercept_
        self.n_iter_ = steps.astype(np.int32)
        self._calibrated = None
        if self.probability not in ("deprecated", False):
            self._calibrated = self._sigmoids(sample)

    def _sigmoids(self, sample: Sample) -> Sigmoids | None:
        """Fit probabilities to decision values of folds, all solved at once over the one matrix.

        The folds share the kernel of the whole sample, as in LIBSVM; a width that follows the
        sample would be that of each. None where the pairs of folds are not solved so.
        """
        K, y, c, k = sample.K, sample.y, self._weight() * sample.weights, len(self.classes_)
        B, folds = sample.B, min(5, int(np.min(np.bincount(y))))
        flat = B.shape[1] == 1 and np.all(B == 1.0)
        if (
            folds < 2
            or not flat
            or K.sparse
            or np.ptp(sample.weights) > 0
            or len(y) > MAX_WHOLE_ROWS
        ):
            return None
        order = np.arange(len(y)) if sample.order is None else sample.order
        number = fold_numbers(y[np.argsort(order)], folds)[order]
        laid = []
        for fold in range(folds):
            train = np.flatnonzero(number != fold)
            of = y[train]
            rows, ends, columns = _laid_pairs(of, k)
            laid.append((train[rows], ends, np.where(columns >= of[rows], 1.0, -1.0)))
        rows = np.concatenate([part[0] for part in laid])
        lengths = np.concatenate([np.diff(part[1]) for part in laid])
        ends, labels = np.append(0, np.cumsum(lengths)), np.concatenate([part[2] for part in laid])
        parts = self._parts(K, labels, c[rows], rows, ends)
        found = None if parts is None else minimize_batch(parts, self._make_solver())
        if found is None or not found.met.all():
            return None
        pairs, matrix = len(lengths) // folds, K.dense()
        A, f = np.zeros((folds, len(y), pairs)), np.empty((len(y), pairs))
        place, (a, b) = np.repeat(np.arange(len(lengths)), lengths), self._read_parts(found)
        A[place // pairs, rows, place % pairs] = a
        for fold in range(folds):
            out = np.flatnonzero(number == fold)
            f[out] = matrix[out] @ A[fold] + b[fold * pairs : (fold + 1) * pairs, 0]
        if k == 2:
            return Sigmoids.of(-f[:, 0], y)
        return Sigmoids.of(ovr_decision_function(f < 0, -f, k), y)

    def _book(self) -> Array:
        if len(self.classes_) == 2:
            return np.array([[-1.0], [1.0]])
        pairs = self._class_pairs()
        book = np.zeros((len(self.classes_), len(pairs)))
        for k, (i, j) in enumerate(pairs):
            book[i, k], book[j, k] = 1.0, -1.0
        return book

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None:
        self._calibrated = None
        if self.probability not in ("deprecated", False):
            raise ValueError(
                "probability=True fits five machines more; with an approximation use "
                f"CalibratedClassifierCV({type(self).__name__}(approximation=...), ensemble=False)."
            )
        if len(self.classes_) == 2:
            self._assemble(sample, solved)
            self._voting = True
            return
        self._voting = True
        # Every pair has a coefficient of every centre: rows of pairs, not of classes.
        coef, free = (np.array([getattr(one, part) for one in solved]) for part in "ab")
        store(self, found.points, np.arange(found.map.m), coef.T)
        self._n_support = np.bincount(sample.y, minlength=len(self.classes_)).astype(np.int32)
        self.null_space_coef_, self.intercept_ = free, intercept_of(self.null_space_names_, free)
        self._dual_coef_, self._intercept_ = self.dual_coef_, self.intercept_
        self.n_iter_ = np.full(len(solved), found.solution.n_iter, dtype=np.int32)

    def _fit_extras(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> None:
        """Compose Platt's sigmoid from scikit-learn's calibration, if the old parameter asks."""
        if self.probability == "deprecated":
            return
        name = type(self).__name__
        warnings.warn(
            f"The `probability` parameter is deprecated as in scikit-learn 1.9; use "
            f"CalibratedClassifierCV({name}(), ensemble=False) for probabilities",
            FutureWarning,
            stacklevel=2,
        )
        if self.probability and self._calibrated is None:
            # Every fold holds every class; a class of one sample leaves only the sample itself.
            folds = min(5, int(np.min(np.unique(y, return_counts=True)[1])))
            everything = np.arange(num_samples(X))
            self._calibrated = CalibratedClassifierCV(
                clone(self).set_params(probability="deprecated"),
                cv=folds if folds > 1 else [(everything, everything)],
                ensemble=False,
            ).fit(X, y, sample_weight=sample_weight)

    # The fitted functions as a value, and back ---------------------------------------------------

    @property
    def _by_class(self) -> bool:
        """Whether coefficients are those of a class, facing each other class, and not of pairs."""
        return len(self.classes_) > 2 and not self._voting

    def _expansion(self) -> FittedExpansion:
        """Return the functions of the pairs, each with terms at points of its two classes."""
        whole, k = super()._expansion(), len(self.classes_)
        groups, coef = np.repeat(np.arange(k), self._n_support), whole.coef
        allowed = np.ones((k, coef.shape[1]), dtype=bool)
        if self._by_class:
            pairs = self._class_pairs()
            allowed, A = np.zeros((k, len(pairs)), dtype=bool), np.zeros((len(coef), len(pairs)))
            for d, (i, j) in enumerate(pairs):
                first, second = groups == i, groups == j
                allowed[[i, j], d] = True
                A[first, d], A[second, d] = coef[first, j - 1], coef[second, i]
            coef = A
        return replace(whole, coef=coef, groups=groups, allowed=allowed, by_group=True)

    def _with_expansion(self, expansion: FittedExpansion) -> Self:
        if self._by_class:
            A, groups = expansion.coef, expansion.groups
            coef = np.zeros((len(A), len(self.classes_) - 1))
            for d, (i, j) in enumerate(self._class_pairs()):
                first, second = groups == i, groups == j
                coef[first, j - 1], coef[second, i] = A[first, d], A[second, d]
            expansion = replace(expansion, coef=coef)
        new = super()._with_expansion(expansion)
        if len(self.classes_) == 2:
            new._dual_coef_, new._intercept_ = -new.dual_coef_, -new.intercept_
        return new

    # Prediction ----------------------------------------------------------------------------------

    def _pair_slices(self) -> list[tuple[int, int, slice, slice]]:
        """Return for each pair its classes, and where their support vectors are."""
        ends = np.concatenate([[0], np.cumsum(self._n_support)])
        of = [slice(ends[i], ends[i + 1]) for i in range(len(self.classes_))]
        return [(i, j, of[i], of[j]) for i, j in self._class_pairs()]

    def _pairs(self, X: PointsLike) -> Array:
        """Evaluate the pairs' decision functions; positive speaks for the first class of a pair."""
        return self._pairs_at(self._check_altered(self._check_new(X)))

    def _check_altered(self, X: PointsLike) -> Any:
        """Return new points if the machine still is what was fitted."""
        if self.support_vectors_.shape[0] and self._n_support.sum() != len(self.support_):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _pairs_at(self, X: PointsLike) -> Array:
        """Evaluate them at points that were checked."""
        if self._voting:
            own = expand(self, X, dense(self._dual_coef_).T)
            return np.asarray(own + self._intercept_ + self._trend(X))
        return self._of_pairs(expand_by_class(self, X, self._n_support, self._columns), X)

    @property
    def _columns(self) -> Array:
        """Coefficients of the support vectors, one column for each other class."""
        return np.asarray(dense(self._dual_coef_).T, dtype=np.float64)

    def _of_pairs(self, parts: Array, X: PointsLike) -> Array:
        """Add up the decision functions of the pairs from what each class says.

        A class weighs in all pairs it is part of: its kernel values are multiplied once for all.
        """
        first, second = _pairs_of(len(self.classes_))
        # Values of a column of a class one after the other, before they are chosen and added.
        columns = np.ascontiguousarray(parts.transpose(0, 2, 1))
        f = columns[first, second - 1] + columns[second, first]
        return np.asarray(f.T + self._intercept_ + self._trend(X))

    def _winners(self, X: PointsLike) -> NDArray[np.intp]:
        """Return the class of new points that most pairs vote for, the first of several.

        Votes are signs, for which float32 is enough where a value is above its proved error: points
        whose winner is not certain then are asked in float64.
        """
        X = self._check_altered(self._check_new(X))
        k = len(self.classes_)
        found = self._bounded(X)
        if found is None and k == 2:
            return np.asarray(self._pairs_at(X)[:, 0] <= 0, dtype=np.intp)
        if found is None:
            f = self._pairs_at(X)
            return np.asarray(_votes(f > 0, f <= 0, k).argmax(axis=1))
        f = self._of_pairs(found.values, X)
        first, second = _pairs_of(k)
        error = (found.bounds[first] + found.bounds[second]).T
        # And that of adding up in float64, which is in the last of these digits.
        error += 1e-14 * (np.abs(f) + np.abs(self._intercept_) + np.abs(self._trend(X)))
        yes, no = f > error, f < -error
        least, most = _votes(yes, no, k), k - 1 - _votes(no, yes, k)
        winners = least.argmax(axis=1)
        rows, ahead = np.arange(len(f)), np.arange(k) < winners[:, None]
        # Of others no more votes than its own are possible, before it in the order not as many.
        others = most + ahead
        others[rows, winners] = -1
        doubtful = np.flatnonzero(others.max(axis=1) > least[rows, winners])
        if len(doubtful):
            f = self._pairs_at(X[doubtful])
            winners[doubtful] = _votes(f > 0, f <= 0, k).argmax(axis=1)
        return np.asarray(winners, dtype=np.intp)

    def _bounded(self, X: PointsLike) -> Bounded | None:
        """Return what each class says in float32 with bounds, where that saves time."""
        if self._voting or self._X_fit is not None or self._functions is not None:
            return None
        ends = np.cumsum(self._n_support).tolist()
        return bounded_products(self.kernel_, self.support_vectors_, X, self._columns, ends)

    def _trend(self, X: PointsLike) -> Array | float:
        """Evaluate what is unpenalized beside the intercept."""
        others = [j for j, name in enumerate(self.null_space_names_) if name != "1"]
        if not others:
            return 0.0
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        trend: Array = self.null_space_(X)[:, others] @ self.null_space_coef_[:, others].T
        return sign * trend

    @by_blocks
    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class
            (``"ovr"``) or per pair (``"ovo"``).
        """
        f = self._pairs(X)
        if len(self.classes_) == 2:
            return -f[:, 0]
        if self.decision_function_shape == "ovr":
            return np.asarray(ovr_decision_function(f < 0, -f, len(self.classes_)))
        return f

    @by_blocks
    def predict(self, X: PointsLike) -> Any:
        """Predict the class of new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels: the class most pairs vote for, the first of those tied.
        """
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and len(self.classes_) > 2:
            return self.classes_[np.argmax(self.decision_function(X), axis=1)]
        return self.classes_[self._winners(X)]

    @available_if(_has_probabilities)
    @by_blocks
    def predict_proba(self, X: PointsLike) -> Array:
        """Predict class probabilities, by calibration; only with ``probability=True``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        if self._calibrated is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        if not isinstance(self._calibrated, Sigmoids):
            return np.asarray(self._calibrated.predict_proba(X))
        f = self._pairs(X)
        if len(self.classes_) == 2:
            return self._calibrated(-f[:, 0])
        return self._calibrated(ovr_decision_function(f < 0, -f, len(self.classes_)))

    def _linear_coef(self) -> Any:
        if len(self.classes_) == 2 or self._voting:
            return super()._linear_coef()
        coef, vectors = self.dual_coef_, self.support_vectors_
        rows: list[Any] = [
            coef[[j - 1], first] @ vectors[first] + coef[[i], second] @ vectors[second]
            for i, j, first, second in self._pair_slices()
        ]
        return sp.vstack(rows).tocsr() if sp.issparse(coef) else np.vstack(rows)
