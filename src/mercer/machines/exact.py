"""One machine of all rows, without approximation: prepare, minimize, read, assemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.machines.callbacks import fit_task
from mercer.machines.protocol import ExactMachine
from mercer.machines.subproblems import SolvedBatch, prepare
from mercer.machines.warm_matrices import keep_matrix
from mercer.solvers import Solution, Status
from mercer.solvers.small import SolutionBatch
from mercer.solvers.solution import join

__all__ = ["ExactFit"]


@dataclass(frozen=True)
class ExactFit:
    """Fit a machine to all rows at once."""

    def fit(
        self, machine: ExactMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> None:
        """Fit the machine to rows in memory."""
        machine._functions = None
        prepared = prepare(machine, X, y, sample_weight)
        n_problems = machine._max_tasks or len(prepared.subproblems)
        with fit_task(machine, n_problems, X, y, sample_weight) as context:
            solved = machine._solve(prepared, context)
            solutions: Sequence[Solution] = (
                solved.found
                if isinstance(solved, SolvedBatch)
                else [one.solution for one in solved]
            )
            joined = solutions.joined() if isinstance(solutions, SolutionBatch) else join(solutions)
            machine._last = (machine._weight(), solutions)
            machine.solution_ = joined
            machine.fit_status_ = int(joined.status is not Status.CONVERGED)
            machine._assemble(prepared.sample, solved)
            if (order := prepared.sample.order) is not None:
                machine.support_ = order[machine.support_].astype(np.int32)
            machine._fit_extras(X, y, sample_weight)
            if machine.warm_start:
                keep_matrix(machine, prepared.sample.K, int(machine.cache_size * 2**20))
