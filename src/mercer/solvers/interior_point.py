"""Primal-dual path following for any convex loss: one factorization of the sample's size a step.

The dual of a regularized risk is a separable program in a box, whose path
:mod:`mercer.solvers._central_path` follows;
:meth:`~mercer.problems.box_qp.SignedCopies.shifted` brings its systems down to the size of the
sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.factor import INDEFINITE, MAX_BYTES, Indefinite, bordered, lacking
from mercer.problems.box_qp import BoxProgram
from mercer.problems.reductions import box_program, infeasible, resident
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._central_path import TINY, Search, System
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["InteriorPoint", "KernelSystem"]

# The gap to reach, relative to the objective, however loose the tolerance on the decision values.
MAX_GAP = 1e-8


@dataclass(eq=False)
class InteriorPoint(Solver):
    """Follow the central path of the dual, for any convex loss and any number of columns in B.

    A step costs one factorization of the kernel matrix, or ``n m^2`` for ``K = GG' + diag``, and
    ten to twenty steps reach high accuracy whatever C is. Kernel matrices that are positive
    definite only where ``B'a = 0`` are accepted.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition at the answer.
    max_iter : int, default=100
        Largest number of steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    max_bytes : float, default=4e9
        Memory that a dense factorization may take.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import InteriorPoint, minimize
    >>> K, y, B = Dense(np.eye(3)), np.array([0.0, 1.0, 5.0]), np.ones((3, 1))
    >>> risk = RegularizedRisk(EpsilonInsensitive(0.5), K, y, 1.0, B)
    >>> minimize(risk, InteriorPoint(tol=1e-8)).a.round(6) + 0.0
    array([-1.,  0.,  1.])
    """

    max_iter: int = 100
    max_bytes: float = MAX_BYTES

    def refuses(self, risk: RegularizedRisk) -> str:
        return lacking(risk.K.origin()[0], self.max_bytes) or infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        risk = resident(risk)
        search = Search(
            risk, lambda p: KernelSystem(p, self.max_bytes), self.tol, min(MAX_GAP, self.tol)
        )
        if start is not None and search.offer(start.a, start.b):
            return search.answer()
        # A matrix that is not positive definite may be so where B'a = d leaves room to move.
        for project in (False, True) if risk.q else (False,):
            try:
                return search.run(box_program(risk, project=project), monitor)
            except Indefinite:
                pass
        if search.best is None:
            raise ValueError(INDEFINITE)
        return search.answer()


class KernelSystem(System):
    """The system over kernel values: besides z it knows b, and factorizes ``SKS' + D``.

    Parameters
    ----------
    program : BoxProgram
        The program, with independent equality rows.
    max_bytes : float, default=4e9
        Memory that a dense factorization may take.
    """

    def __init__(self, program: BoxProgram, max_bytes: float = MAX_BYTES) -> None:
        super().__init__(program, len(program.e))
        self.max_bytes = max_bytes

    def first(self, theta: Array) -> Array:
        return self.zero

    def b(self, theta: Array) -> Array:
        return theta

    def field(self, z: Array, theta: Array) -> Array:
        return self.program.H.matvec(z) + self.program.A @ theta

    def lacking(self, z: Array, theta: Array) -> Array:
        return np.asarray(self.program.e - self.program.A.T @ z)

    def solver(self, D: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
        return bordered(self.program.H.shifted(D, self.max_bytes), self.program.A)

    def settle(
        self, z: Array, theta: Array, free: NDArray[np.bool_]
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        p, x = self.program, z
        # The least shift with which a singular system is solved; repetition undoes its bias.
        D = np.where(free, np.maximum(p.curvature(z), 1e-10 * p.H.diag() + TINY), np.inf)
        try:
            solve = self.solver(D)
            for _ in range(3):
                slope = np.where(free, -p.gradient(z, theta), 0.0)
                dz, change = solve(slope, self.lacking(z, theta))
                x = z + dz
                z, theta = np.clip(x, p.lower, p.upper), theta + change
        except np.linalg.LinAlgError:
            pass  # nothing gained, nothing lost: the path goes on
        return z, theta, x != z
