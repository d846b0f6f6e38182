"""A solver: settings of a minimization method, and the answer that it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from mercer._params import Params
from mercer._typing import Array
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["Answer", "Solver"]


@dataclass(frozen=True)
class Answer:
    """The answer of a solver, which :func:`minimize` certifies.

    Parameters
    ----------
    a, b : ndarray of shape (n,) and (q,)
        Coefficients.
    n_iter : int
        Iterations.
    Ka : ndarray of shape (n,), optional
        The product that the solver kept up to date; believed where it passes a check.
    measured : bool, default=False
        Whether the product is of the answer itself in float64, and needs no check.
    error : ndarray of shape (n,), optional
        Proved bound on the error of each entry of the product, where it is more than the rounding
        of float64; the certificate takes the worst case.
    bound : float, optional
        Proved lower bound of the objective. With it the machine is returned as it is where the run
        was stopped, although its coefficients are not those of slopes of the loss.
    precisions : ndarray of shape (n,), optional
        As in :class:`Solution`.
    """

    a: Array
    b: Array
    n_iter: int
    Ka: Array | None = None
    error: Array | None = None
    bound: float | None = None
    precisions: Array | None = None
    measured: bool = False


@dataclass(eq=False)
class Solver(Params, ABC):
    """Settings of a minimization method; no state between calls.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition at the answer: how far a decision value may be
        from where its coefficient says it should be (for losses without quadratic dual, how far the
        slope may be). The same for every solver.
    max_iter : int, default=-1
        Largest number of iterations, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    """

    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None

    @abstractmethod
    def refuses(self, risk: RegularizedRisk) -> str:
        """Return the reason why this solver cannot take the problem; empty if it can."""

    @abstractmethod
    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        """Minimize; called by :func:`minimize` only."""

    def solve_together(
        self,
        risks: Sequence[RegularizedRisk],
        starts: Sequence[Solution | None],
        monitors: Sequence[Monitor],
    ) -> list[Answer]:
        """Minimize problems that differ in their targets only; here one after the other."""
        return [self.solve(*problem) for problem in zip(risks, starts, monitors, strict=True)]

    @property
    def joint(self) -> bool:
        """Whether problems that differ in their targets only are better solved together."""
        return False

    def accepts(self, risk: RegularizedRisk) -> bool:
        """Answer whether this solver takes the problem."""
        return not self.refuses(risk)

    def choose(self, risk: RegularizedRisk) -> tuple[Solver, str]:
        """Return the solver to run and why; itself unless it is a chooser."""
        return self, "asked for"

    def instead(self, chosen: Solver, found: Solution, elapsed: float) -> list[tuple[Solver, str]]:
        """Return the solvers to try after the chosen solver, with reasons; by default no solver."""
        return []
