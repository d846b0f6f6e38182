r"""Squared loss is a linear system: one Cholesky factorization.

.. math::

    \begin{pmatrix} K + \operatorname{diag}(1/c) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
    = \binom{y}{d}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.gram.factor import INDEFINITE, MAX_BYTES, Indefinite, lacking, orthonormal, schur
from mercer.losses.base import Array
from mercer.problems.reductions import copies, infeasible, linear_system, resident
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.base import Answer, Monitor, Solution, Solver

__all__ = ["Direct"]


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

    def refuses(self, risk: RegularizedRisk) -> str:
        if linear_system(risk) is None:
            return "its loss is not squared, so its solution is not a linear system"
        return lacking(risk.K.origin()[0], self.max_bytes) or infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        risk = resident(risk)
        try:
            a, b = self._solve(risk, project=False)
        except Indefinite:
            # A matrix that is not positive definite may be so where B'a = d leaves room to move.
            # The projected one is dense.
            if 8.0 * risk.n**2 > self.max_bytes:
                raise ValueError(INDEFINITE) from None
            try:
                a, b = self._solve(risk, project=True)
            except Indefinite:
                raise ValueError(INDEFINITE) from None
        # The one product that is left: minimize believes it, and nobody multiplies again.
        Ka = risk.K.matvec(a)
        certificate = risk.certificate(a, b, Ka)
        monitor.report(1, certificate.primal, certificate.gap, certificate.violation)
        return Answer(a, b, 1, Ka)

    def _solve(self, risk: RegularizedRisk, project: bool) -> tuple[Array, Array]:
        system = linear_system(risk, project=project)
        assert system is not None
        p = system.problem
        U, back = orthonormal(np.where(np.isfinite(p.e)[:, None], p.B, 0.0))
        H = copies(p.K, np.arange(risk.n), np.ones(risk.n))
        # Border and targets pass through the factor, and its residual through K, together.
        X = H.shifted(p.e, self.max_bytes)(np.column_stack([p.r, U]))
        a, t = schur(U, X[:, 1:])(X[:, 0], back.T @ p.d)
        return system.back(a, back @ t)
