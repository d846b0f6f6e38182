"""Backends of programs: Clarabel for cones, HiGHS (through SciPy) for linear programs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import clarabel as engine
import numpy as np
import scipy.sparse as sp

from mercer._deadline import interruptible, time_left
from mercer._linear_program import NoOptimumError, linear_program
from mercer._typing import Array, LinearMap
from mercer.programs.cones import (
    Cone,
    Exponential,
    Nonnegative,
    Power,
    SecondOrder,
    Semidefinite,
    Zero,
)
from mercer.solvers.status import Status

__all__ = ["BackendAnswer", "CanonicalForm", "clarabel", "highs"]


@dataclass(frozen=True)
class CanonicalForm:
    """Matrices of a program: cost ``P, q``, rows ``A, b``, and the cones of consecutive rows."""

    P: LinearMap
    q: Array
    A: LinearMap
    b: Array
    cones: tuple[tuple[Cone, int], ...]

    @property
    def linear(self) -> bool:
        """Whether cost and rows are linear."""
        straight = all(isinstance(cone, Zero | Nonnegative) for cone, _ in self.cones)
        return straight and not self.P.nnz


@dataclass(frozen=True)
class BackendAnswer:
    """The raw answer of a backend."""

    x: Array
    z: Array
    status: Status
    verdict: str
    n_iter: int
    solver: str
    times: dict[str, float]


def clarabel(
    form: CanonicalForm, tol: float, max_iter: int, max_time: float | None, method: str
) -> BackendAnswer:
    """Solve a program with cones by an interior-point method."""
    settings = engine.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    limit = min(np.inf if max_time is None else max_time, time_left())
    if limit < np.inf:
        settings.time_limit = limit
    start = time.perf_counter()
    left, ends = threading.Event(), [start]

    def stop(_: object) -> bool:
        """Answer whether nobody waits any more, or another iteration would end too late."""
        ends.append(time.perf_counter())
        # The first one is begun in any case: what comes before it is no iteration.
        ahead = ends[-1] - ends[-2] if len(ends) > 2 else 0.0
        return left.is_set() or ends[-1] + ahead > start + limit

    def solve() -> Any:
        solver = engine.DefaultSolver(
            sp.csc_matrix(sp.triu(form.P)),
            form.q,
            sp.csc_matrix(form.A),
            form.b,
            [_engine_cone(cone, size) for cone, size in form.cones],
            settings,
        )
        solver.set_termination_callback(stop)
        return solver.solve()

    found = interruptible(solve, leave=left.set)
    name = str(found.status)
    verdict = {"PrimalInfeasible": "infeasible", "DualInfeasible": "unbounded"}
    verdict |= {f"Almost{key}": value for key, value in verdict.items()}
    status = {
        "Solved": Status.CONVERGED,
        "MaxIterations": Status.MAX_ITER,
        "MaxTime": Status.MAX_TIME,
        "CallbackTerminated": Status.MAX_TIME,
    }
    return BackendAnswer(
        np.asarray(found.x),
        np.asarray(found.z),
        status.get(name, Status.STALLED),
        verdict.get(name, ""),
        int(found.iterations),
        "clarabel",
        {"solve": time.perf_counter() - start},
    )


def _engine_cone(cone: Cone, size: int) -> Any:
    match cone:
        case Zero():
            return engine.ZeroConeT(size)
        case Nonnegative():
            return engine.NonnegativeConeT(size)
        case SecondOrder():
            return engine.SecondOrderConeT(size)
        case Semidefinite():
            return engine.PSDTriangleConeT(cone.size)
        case Exponential():
            return engine.ExponentialConeT()
        case Power():
            return engine.PowerConeT(cone.alpha)
    raise TypeError(f"no cone of the solver for {cone!r}")


def highs(
    form: CanonicalForm, tol: float, max_iter: int, max_time: float | None, method: str
) -> BackendAnswer:
    """Solve a linear program, by the simplex method or an interior point with crossover."""
    equality = np.concatenate(
        [np.zeros(0, dtype=bool)]
        + [np.full(size, isinstance(cone, Zero)) for cone, size in form.cones]
    )
    A: LinearMap = sp.csr_array(form.A)
    names = {"simplex": "highs-ds", "interior": "highs-ipm", "highs": "highs"}
    start = time.perf_counter()
    try:
        found = linear_program(
            form.q,
            A_ub=A[~equality] if np.any(~equality) else None,
            b_ub=form.b[~equality] if np.any(~equality) else None,
            A_eq=A[equality] if np.any(equality) else None,
            b_eq=form.b[equality] if np.any(equality) else None,
            bounds=(None, None),
            methods=(names[method],),
            tol=tol,
            relax=False,
            time_limit=max_time,
        )
    except NoOptimumError as failure:
        found = failure.answer
    times = {"solve": time.perf_counter() - start}
    verdict = {2: "infeasible", 3: "unbounded"}.get(int(found.status), "")
    if verdict or found.x is None:
        nothing = np.zeros(0)
        return BackendAnswer(
            nothing, nothing, Status.STALLED, verdict or "nothing", 0, "highs", times
        )
    z = np.zeros(len(form.b))
    z[~equality] = -found.ineqlin.marginals
    z[equality] = -found.eqlin.marginals
    status = Status.CONVERGED if found.status == 0 else Status.MAX_ITER
    return BackendAnswer(np.asarray(found.x), z, status, "", int(found.nit), "highs", times)
