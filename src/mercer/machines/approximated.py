"""Machines that look among few functions: what they need of a sample that comes in blocks."""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples, validate_data

from mercer._optional import plugin
from mercer.data.arrays import Arrays
from mercer.data.base import Source
from mercer.data.memory import parse
from mercer.data.opening import as_source, is_source
from mercer.data.progress import Bar
from mercer.gram.dense import Dense
from mercer.kernels.points import take
from mercer.losses.base import Loss
from mercer.machines.callbacks import watched
from mercer.machines.expansion import (
    BLOCK,
    OVERFLOW,
    Array,
    Expansion,
    Function,
)
from mercer.reduced.base import Approximation
from mercer.reduced.census import Census, take_census
from mercer.reduced.cost import COSTED
from mercer.reduced.normal import choose_C
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.oracle import ROWS
from mercer.reduced.passes import Passes
from mercer.reduced.solve import Reduced, Task, open_passes, problem_of, settle, solve
from mercer.reduced.targets import Targets
from mercer.reduced.walls import Walls
from mercer.solvers import Solution, Status

__all__ = ["Reducible", "by_blocks"]

# Rows that settings left to the sample are chosen on.
SOME = 2000

# Functions up to which all weights of the squared loss are looked at in one pass.
SUMMED = 2000


def by_blocks(method: Function) -> Function:
    """Let a method of new points take them from a source, block by block, or from Dask, lazily."""

    @functools.wraps(method)
    def streamed(self: Any, X: Any) -> Any:
        if not is_source(X):
            return method(self, X)
        if not isinstance(X, Source):
            return plugin("dask").lazy(self, method.__name__, X)
        return np.concatenate([method(self, block.X) for block in X.checked().blocks(BLOCK)])

    return streamed


class Reducible(Expansion):
    """A machine that may be looked for among few functions, over rows that come in blocks."""

    approximation: Any = None
    """How, and with which means; None if among all."""

    # What a kind of machine declares --------------------------------------------------------------

    def _reduced_loss(self) -> Loss:
        """Return the loss of the problems."""
        raise self._irreducible()

    def _irreducible(self) -> ValueError:
        return ValueError(
            f"{type(self).__name__} cannot be approximated: its problem is more than a sum of "
            "losses. Use SVC, SVR, QuantileSVR or LSSVR, whose parameters can be chosen by 'auto'."
        )

    def _reduced_targets(self, labels: Any) -> tuple[Targets, Array]:
        """Return what the problems see of a row, and factors of C; labels of the classes if any."""
        raise self._irreducible()

    def _reduced_walls(self, targets: Any) -> Walls | None:
        """Return the margin or tube whose width is a variable, if there is one."""
        return None

    def _solve_reduced(self, task: Task, census: Census, passes: Passes, how: Any) -> Reduced:
        """Solve the problems that were declared.

        The weight of the squared loss that is left to the sample is chosen by generalized
        cross-validation over all rows, in the pass that solves the problem too.
        """
        if not (self._free_C and task.loss.quadratic and np.ptp(task.C) == 0):
            return solve(task, census, passes, how)
        phi = settle(task, census, passes, how)
        if phi.r > SUMMED or 32.0 * phi.r**2 > 0.25 * parse(how.memory_limit):
            return solve(task, census, passes, how, phi)
        chosen = choose_C(problem_of(task, phi, passes, how), passes)
        self.C_ = float(chosen.C)
        task = replace(task, C=np.full(task.targets.k, self.C_))
        return solve(task, census, passes, how, phi, (chosen.W, chosen.b))

    @property
    def _free_C(self) -> bool:
        """Whether the weight of the loss is left to the sample."""
        return isinstance(getattr(self, "C", None), str)

    def _labelled(self) -> bool:
        """Return whether targets are classes."""
        return False

    def _count_classes(self, classes: Any, counts: Any) -> None:
        """Settle what a machine needs to know of the classes of a source."""

    def _assemble_reduced(self, found: Reduced, solutions: list[Any], y: Any) -> None:
        """Make the machine of the coefficients of its functions."""
        self._assemble(found.points, y, solutions)

    # Fitting --------------------------------------------------------------------------------------

    def _reduces(self, X: Any) -> bool:
        return self.approximation is not None or is_source(X)

    def _how(self) -> Approximation:
        """Return the approximation asked for."""
        if isinstance(self.approximation, Approximation):
            return self.approximation
        return Nystrom()

    def _fit_reduced(
        self, X: Any, y: Any, sample_weight: Any, context: Any, warning: type[Warning]
    ) -> None:
        """Fit the machine among few functions, by passes over the rows."""
        if self._function or self._precomputed or self._objects:
            raise ValueError(
                "an approximation evaluates the kernel at new pairs of points; give a Kernel of "
                "numbers or its name, not a function, a matrix or objects."
            )
        how = self._how()
        source, X, y, s = self._rows(X, y, sample_weight)
        m = how.largest if how.number == "auto" else int(how.number)
        size = max(how.pool_size, ROWS * (m + 8)) + COSTED
        passes = open_passes(source, how, m, self._columns_expected(y), size, self._bar)
        census = take_census(passes, size, how.random_state, self._labelled() and X is None)
        if not np.isfinite(census.variance):
            raise ValueError(OVERFLOW)
        if census.pool.y is None and not self.__sklearn_tags__().target_tags.required:
            census = replace(census, pool=replace(census.pool, y=np.ones(len(census.pool.keys))))
        task, labels = self._declare(X, y, s, census, warning)
        found = self._watch(task, census, passes, how, context)
        self.__dict__.pop("data_digests_", None)
        if source.digests is not None:
            self.data_digests_ = dict(source.digests)
        self.solution_: Solution = found.solution
        self.fit_status_ = int(found.solution.status is not Status.CONVERGED)
        self._store_reduced(found, census, labels)

    def _declare(
        self, X: Any, y: Any, s: Any, census: Census, warning: type[Warning]
    ) -> tuple[Task, Any]:
        """Settle what the rows decide, and return the problems, and the labels of classes if any.

        Parameters
        ----------
        X, y, s : arrays or None
            The rows, encoded targets and weights, if they are at hand.
        census : Census
        warning : type
            Of the warning that a fit stopped early.
        """
        if X is None:
            labels = census.classes
            if labels is not None:
                self._count_classes(labels, census.counts)
        else:
            labels = np.arange(len(self.classes_)) if self._labelled() else None
        if census.pool.y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if X is None and not self._labelled():
            self._encode(census.pool.y)
        self._whitening = None
        self._settle_on(X, y, s, census, labels)
        targets, factors = self._reduced_targets(labels)
        task = Task(
            kernel=self.kernel_,
            null_space=self.null_space_,
            targets=targets,
            loss=self._check_loss(self._reduced_loss(), census.n),
            C=self._weight() * factors,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            warning=warning,
            walls=self._reduced_walls(targets),
        )
        return task, labels

    def _watch(self, task: Task, census: Census, passes: Any, how: Any, context: Any) -> Reduced:
        subtask = context.subcontext(task_name="reduced problem", max_subtasks=None)
        subtask.call_on_fit_task_begin(estimator=self)
        with watched(self, "", subtask, False) as listener:
            found = self._solve_reduced(replace(task, listener=listener), census, passes, how)
        subtask.call_on_fit_task_end(estimator=self)
        return found

    def _bar(self, name: str, total: int | None) -> Bar:
        return Bar(f"{type(self).__name__}, {name}", total, show=bool(self.verbose))

    def _columns_expected(self, y: Any) -> int:
        """Return how many problems there will be, as far as the targets tell."""
        return 1 if y is None or np.ndim(y) == 1 else int(np.shape(y)[1])

    def _rows(self, X: Any, y: Any, s: Any) -> tuple[Source, Any, Any, Any]:
        """Return the rows as a source, and arrays, encoded targets and weights if there are."""
        if is_source(X) or isinstance(X, np.memmap):
            source = as_source(X, y, s).checked()
            self.n_features_in_ = source.n_features
            names = source.given_names
            self.__dict__.pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
            return source, None, None, None
        X, y = validate_data(
            self,
            X,
            y,
            dtype=[np.float64, np.float32],
            order="C",
            accept_sparse="csr",
            accept_large_sparse=False,
            **({"multi_output": True} if self._several else {}),
        )
        y, _ = self._encode(y)
        s = None if s is None else self._check_weights(s, _num_samples(X))
        return Arrays(X, y, s), X, y, s

    def _settle_on(self, X: Any, y: Any, s: Any, census: Census, labels: Any) -> None:
        """Settle kernel, unpenalized functions and what is left to the sample."""
        pool = census.pool
        chosen = np.arange(min(SOME, len(pool.keys)))
        y_some = np.asarray(pool.y)[chosen]
        if labels is not None:
            y_some = np.searchsorted(labels, y_some)
        s_some = np.ones(len(chosen)) if pool.s is None else np.asarray(pool.s)[chosen]
        some = take(pool.X, chosen)
        self._sparse = sp.issparse(pool.X)
        self._X_fit, self._kernel_fit = None, None
        self.shape_fit_ = (census.n, pool.X.shape[1])
        whole = X is not None
        points = X if whole else some
        self._sample = (
            (self._targets(y), np.ones(len(y)) if s is None else s)
            if whole
            else (self._targets(y_some), s_some)
        )
        settled = copy.copy(self)
        if not whole and self.gamma == "scale" and not self.standardize:
            # That of all rows, as for an array, and not of those that were drawn.
            spread = census.variance * self.n_features_in_
            settled.gamma = 1.0 / spread if spread else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            self.kernel_ = settled._resolved(points)
        self.__dict__.pop("feature_scales_", None)
        if hasattr(settled, "feature_scales_"):
            self.feature_scales_: Array = settled.feature_scales_
        if not self.kernel_.positive_definite:
            self._warn_if_indefinite(some)
        B = self._free_columns(some, self._null_space())
        self._sample = (self._targets(y_some), s_some)
        if self._automatic():
            K = Dense(np.asarray(self.kernel_(some), dtype=np.float64))
            self._choose(K, B, y_some, s_some)
        else:
            self._settle(None)

    def _store_reduced(self, found: Reduced, census: Census, labels: Any) -> None:
        k = found.A.shape[1]
        solutions = [replace(found.solution, a=found.A[:, j], b=found.b[:, j]) for j in range(k)]
        y = np.zeros(found.map.m, dtype=np.intp)
        if labels is not None and found.map.index is not None:
            centres = np.asarray(census.pool.y)[found.map.index]
            y = np.searchsorted(labels, centres)
        self._last: tuple[float, Any] = (1.0, ())
        self._functions = found.map if found.map.Z is None else None
        self._assemble_reduced(found, solutions, y)
        self._kept = kept = self.support_
        if found.index is not None:
            self.support_ = np.asarray(found.index)[kept].astype(np.int64)
