"""Base of machines with a 1-norm penalty: a dictionary and its columns."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from mercer._linear_program import NoOptimumError
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval, num_samples
from mercer._typing import AnyArray, Array, Constraints, PointsLike
from mercer.gram.dictionary import DenseDictionary, Dictionary, KernelColumns
from mercer.kernels.points import take
from mercer.losses.base import Loss
from mercer.machines.base import KernelMachine
from mercer.machines.callbacks import TaskContext, watched
from mercer.machines.evaluating import kernel_matrix
from mercer.machines.expansion import as_objects
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.solving import EarlyStop, finite
from mercer.machines.subproblems import Posing, Prepared, Rows, Sample, SolvedSubproblem
from mercer.problems.sparse_risk import SparseRisk
from mercer.programs.columns import SparseSolution, generate_columns, threshold
from mercer.solvers import Solution, Status

__all__ = ["SparseMachine"]


@settings
class SparseMachine(KernelMachine):
    """A machine whose penalty is the 1-norm of the coefficients of a dictionary."""

    _: KW_ONLY
    positive: bool = False
    centres: Any = None
    random_state: int = 0
    tol: float = 1e-6

    # Kernels are read by columns, and the problem has a solver of its own.
    gram: str = fixed("auto")
    solver: str = fixed("auto")
    approximation: None = fixed(None)

    _parameter_constraints: ClassVar[Constraints] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "positive": ["boolean"],
        "centres": [
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            "sparse matrix",
            None,
        ],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }
    _found: Any = fixed(())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The columns of a precomputed matrix are functions, and stay when rows are left out.
        tags.input_tags.pairwise = False
        return tags

    def _warn_if_indefinite(self, X: PointsLike) -> None:
        """Take a kernel as it is: the functions of a dictionary are any."""

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        raise ValueError(
            f"{type(self).__name__} chooses its own few functions from rows in memory; sources of "
            "blocks are for machines with an approximation. Read the rows first, or give centres."
        )

    # Layout ---------------------------------------------------------------------------------------

    def _make_gram(self, rows: Rows) -> Any:
        """Resolve the kernel and return the dictionary of its functions at the centres."""
        X = rows.X
        self._sparse = sp.issparse(X) and not is_function(self.kernel)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (num_samples(X),)
        centres = self._choose_centres(X)
        if is_function(self.kernel):
            self.__dict__.pop("kernel_", None)
            self._kernel_fit, self._X_fit = self.kernel, centres
            return DenseDictionary(kernel_matrix(self._kernel_fit, X, centres))
        self._X_fit = self._kernel_fit = None
        with np.errstate(over="ignore", invalid="ignore"):
            self.kernel_ = self._resolved(rows)
            if is_precomputed(self.kernel):
                return DenseDictionary(X)
            return KernelColumns(self.kernel_, X, centres, int(self.cache_size * 2**20))

    def _choose_centres(self, X: PointsLike) -> Any:
        if self.centres is None:
            return X
        if is_precomputed(self.kernel):
            raise ValueError(
                "the columns of a precomputed kernel are its centres: give those columns as X "
                "instead of centres."
            )
        if isinstance(self.centres, Integral):
            rng, n = np.random.default_rng(self.random_state), self.shape_fit_[0]
            chosen = np.sort(rng.permutation(n)[: int(self.centres)])
            return (
                X[chosen]
                if is_function(self.kernel) or compares_objects(self.kernel)
                else take(X, chosen)
            )
        if compares_objects(self.kernel):
            return as_objects(self.centres)
        if is_function(self.kernel):
            return self.centres
        Z = check_array(self.centres, dtype=np.float64, accept_sparse="csr")
        if Z.shape[1] != X.shape[1]:
            raise ValueError(
                f"the centres have {Z.shape[1]} features, but X has {X.shape[1]} features."
            )
        return sp.csr_array(Z) if self._sparse and not sp.issparse(Z) else Z

    def _build_sample(self, rows: Rows) -> Sample:
        # The points that the dictionary's functions belong to, which the machine keeps.
        return replace(super()._build_sample(rows), X=self._choose_centres(rows.X))

    # Solving --------------------------------------------------------------------------------------

    def _risk(self, loss: Loss, G: Dictionary, y: Array, c: Array, B: Array) -> SparseRisk:
        """Return the problem of targets, with coefficients of the signs that are asked for."""
        return SparseRisk(loss, G, y, c, B, None, None, self._signs(G, y))

    def _signs(self, G: Dictionary, y: Array) -> Array | None:
        return np.ones(G.shape[1]) if self.positive else None

    def _solve(self, prepared: Prepared[Posing], context: TaskContext) -> list[SolvedSubproblem]:
        subproblems = prepared.subproblems
        stop, found = False, list[SparseSolution]()
        last = self._found if self.warm_start and len(self._found) == len(subproblems) else ()
        for k, (title, risk, _) in enumerate(subproblems):
            task = context.subcontext(task_name=title or "problem", max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self)
            start = last[k] if last and np.max(last[k], initial=-1) < risk.G.shape[1] else None
            with watched(self, title, task, stop) as listener, finite():
                answer = generate_columns(
                    risk,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    max_time=self.max_time,
                    start=start,
                    listener=listener,
                )
            self._warn_early(answer.solution)
            found.append(answer)
            stop |= bool(task.call_on_fit_task_end(estimator=self))
        self._found = [answer.columns for answer in found]
        try:
            thresholds = np.array([self._collapse(one.risk) for one in subproblems])
        except NoOptimumError:
            thresholds = np.full(len(subproblems), np.nan)
        self.C_min_ = thresholds if len(subproblems) > 1 else float(thresholds[0])
        self.multipliers_ = self._multipliers([answer.u for answer in found])
        return [
            SolvedSubproblem(answer.solution, *one.read(answer.solution))
            for one, answer in zip(subproblems, found, strict=True)
        ]

    def _multipliers(self, found: list[Array]) -> Array:
        """Return the multipliers of the samples from those of the problems."""
        return np.array(found)

    def _collapse(self, risk: SparseRisk) -> float:
        """Return the weight of the loss up to which the machine needs no function."""
        return self._weight() * threshold(risk)

    def _warn_early(self, solution: Solution) -> None:
        if solution.status in (Status.CONVERGED, Status.STOPPED):
            return
        warnings.warn(
            f"Solver terminated early ({solution.status.value} after {solution.n_iter} rounds). "
            f"Duality gap {solution.gap:.2e} at objective {solution.objective:.6g} against tol="
            f"{self.tol:.2e}. Raise max_iter or max_time, scale the inputs (StandardScaler, "
            "MinMaxScaler), lower C or loosen tol.",
            EarlyStop,
            stacklevel=4,
        )
