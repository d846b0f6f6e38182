r"""Squared loss is a linear system: one Cholesky factorization.

.. math::

    \begin{pmatrix} K + \operatorname{diag}(1/c) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
    = \binom{y}{d}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.gram.factor import (
    INDEFINITE,
    MAX_BYTES,
    CholeskySolve,
    Indefinite,
    lacking,
    orthonormal,
    schur,
)
from mercer.problems.reductions import copies, infeasible, linear_system, resident
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["Direct"]

# Share of a diagonal entry of an inverse that is left by rounding alone.
ROUNDING = 1e-10


@dataclass(eq=False)
class Direct(Solver):
    """Solve the linear system of a squared loss.

    Weights may differ and vanish, K may be dense, low-rank (at a cost linear in the sample) or only
    conditionally positive definite with respect to the columns of B.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition; the answer is exact up to rounding.
    max_iter : int, default=-1
        Not reached: there is one step.
    max_time : float, optional
        Largest number of seconds, looked at after the step.
    max_bytes : float, default=4e9
        Memory that a dense factorization may take.
    precisions : bool, default=False
        Also return the diagonal of the inverse of the bordered matrix, which left-out errors are
        made of, in ``precisions`` of the :class:`Solution`: as much work as the factorization. Only
        of a dense positive definite matrix of samples that do not repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import Direct, minimize
    >>> risk = RegularizedRisk(Squared(), Dense(np.eye(2)), np.array([2.0, 4.0]), 1.0)
    >>> minimize(risk, Direct()).a
    array([1., 2.])
    """

    max_bytes: float = MAX_BYTES
    precisions: bool = False
    joint = True

    def refuses(self, risk: RegularizedRisk) -> str:
        if linear_system(risk) is None:
            return "its loss is not squared, so its solution is not a linear system"
        return lacking(risk.K.origin()[0], self.max_bytes) or infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        return self.solve_together([risk], [start], [monitor])[0]

    def solve_together(
        self,
        risks: Sequence[RegularizedRisk],
        starts: Sequence[Solution | None],
        monitors: Sequence[Monitor],
    ) -> list[Answer]:
        first = resident(risks[0])
        risks = [RegularizedRisk(r.loss, first.K, r.y, r.c, r.B, r.d) for r in risks]
        try:
            pairs, precisions = self._solve(risks, project=False)
        except Indefinite:
            # A matrix that is not positive definite may be so where B'a = d leaves room to move.
            # The projected one is dense.
            if 8.0 * first.n**2 > self.max_bytes:
                raise ValueError(INDEFINITE) from None
            try:
                pairs, precisions = self._solve(risks, project=True)
            except Indefinite:
                raise ValueError(INDEFINITE) from None
        # The one product that is left: minimize believes it, and nobody multiplies again.
        KA = first.K.matvec(np.column_stack([a for a, _ in pairs]))
        answers = []
        for risk, monitor, (a, b), Ka in zip(risks, monitors, pairs, KA.T, strict=True):
            certificate = risk.certificate(a, b, Ka)
            monitor.report(1, certificate.primal, certificate.gap, certificate.violation)
            answers.append(Answer(a, b, 1, Ka, precisions=precisions))
        return answers

    def _solve(
        self, risks: Sequence[RegularizedRisk], project: bool
    ) -> tuple[list[tuple[Array, Array]], Array | None]:
        systems = [linear_system(risk, project=project) for risk in risks]
        assert systems[0] is not None
        p = systems[0].problem
        R = np.column_stack([system.problem.r for system in systems if system is not None])
        U, back = orthonormal(np.where(np.isfinite(p.e)[:, None], p.B, 0.0))
        H = copies(p.K, np.arange(len(R)), np.ones(len(R)))
        # Border and targets pass through the factor, and its residual through K, together.
        k = R.shape[1]
        # Samples that do not repeat need no copies, and what solves then knows its factor.
        alone = self.precisions and not project and H.K is p.K
        solve = (p.K if alone else H).shifted(p.e, self.max_bytes)
        X = solve(np.column_stack([R, U]))
        A, T = schur(U, X[:, k:])(X[:, :k], np.repeat((back.T @ p.d)[:, None], k, axis=1))
        pairs = [
            system.back(a, back @ t)
            for system, a, t in zip(systems, A.T, T.T, strict=True)
            if system is not None
        ]
        if not (alone and isinstance(solve, CholeskySolve)):
            return pairs, None
        # The border takes from the inverse what it knows: M^-1 U (U' M^-1 U)^-1 U' M^-1.
        MU, whole = X[:, k:], solve.inverse_diagonal()
        q = whole - np.einsum("ij,ji->i", MU, np.linalg.solve(U.T @ MU, MU.T))
        # A sample that determines an unpenalized function alone leaves rounding.
        return pairs, q if np.all((q > ROUNDING * whole) | (whole == 0)) else None
