"""Linear programs: one door to HiGHS, with one set of tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._deadline import linprog

__all__ = ["NoOptimumError", "linear_program"]

# The smallest tolerance that HiGHS accepts, for rows and reduced costs alike. Its default, 1e-7, is
# what a user would see as noise, and certificates multiply it by the size of the multipliers.
TIGHT = 1e-10

# The largest coefficient of a row that HiGHS accepts.
MAX_COEFFICIENT = 1e15

# Iterations a row and variable after which the simplex method cycles: it takes two or three, and
# with bounds below its tolerance it may never end.
MAX_ITERATIONS_EACH, MIN_ITERATIONS = 50, 1000


class NoOptimumError(ArithmeticError):
    """A linear program without an optimum.

    Parameters
    ----------
    answer : OptimizeResult
        What HiGHS says: status 1 for a time limit, 2 if infeasible, 3 if unbounded, 4 for lost
        digits.
    """

    def __init__(self, answer: Any) -> None:
        super().__init__(
            f"The linear program has no answer: {answer.message} Scale the inputs and targets, or "
            "weigh the losses less."
        )
        self.answer = answer

    @property
    def infeasible(self) -> bool:
        """Whether no point satisfies all rows."""
        return int(self.answer.status) == 2


def linear_program(
    cost: Any,
    *,
    methods: Sequence[str] = ("highs",),
    tol: float = TIGHT,
    relax: bool = True,
    time_limit: float | None = None,
    **constraints: Any,
) -> Any:
    """Solve a linear program by HiGHS, and refuse anything but its optimum.

    It ends at the deadline of the fit around it, and at Ctrl-C.

    Parameters
    ----------
    cost : array of shape (m,)
        Coefficients of the linear function that is minimized.
    methods : sequence of str, default=("highs",)
        Methods of HiGHS, tried one after the other: "highs-ds" for the simplex method, "highs-ipm"
        for an interior point with crossover.
    tol : float, default=1e-10
        Violation of rows and of reduced costs that is allowed, at least 1e-10.
    relax : bool, default=True
        Try the last method with the tolerances of HiGHS, 1e-7, before giving up: the program may
        have fewer digits than `tol` asks for.
    time_limit : float, optional
        In seconds.
    **constraints
        ``A_ub``, ``b_ub``, ``A_eq``, ``b_eq``, ``bounds`` as in :func:`scipy.optimize.linprog`.

    Raises
    ------
    NoOptimumError
        If no method finds the optimum.

    Examples
    --------
    >>> linear_program([1.0, 1.0], A_ub=[[-1.0, -2.0]], b_ub=[-2.0], bounds=(0, None)).fun
    1.0
    >>> linear_program([1.0], A_ub=[[1.0]], b_ub=[-1.0], bounds=(0, None))
    Traceback (most recent call last):
        ...
    mercer._linear_program.NoOptimumError: The linear program has no answer: ...
    """
    _require_finite(constraints)
    digits = float(np.clip(tol, TIGHT, 1e-6))
    tight = {"primal_feasibility_tolerance": digits, "dual_feasibility_tolerance": digits}
    limit: dict[str, float] = {} if time_limit is None else {"time_limit": time_limit}
    sides = (constraints.get(name) for name in ("b_ub", "b_eq"))
    rows = sum(np.size(side) for side in sides if side is not None)
    limit["maxiter"] = MIN_ITERATIONS + MAX_ITERATIONS_EACH * (len(cost) + rows)
    attempts = [(method, tight) for method in methods] + [(methods[-1], {})] * relax
    # Also after a limit: with wider tolerances there may be no cycle, and the interior point of
    # HiGHS, which reads the clock between iterations only, often has an answer.
    for method, options in attempts:
        answer = linprog(cost, method=method, options=options | limit, **constraints)
        if answer.status == 0:
            return answer
    raise NoOptimumError(answer)


def _require_finite(constraints: dict[str, Any]) -> None:
    """Raise an error for rows that overflowed, or have coefficients that HiGHS calls an error."""
    for name in constraints.keys() - {"bounds"}:
        values = constraints[name]
        entries = values.data if hasattr(values, "tocsr") else values
        if entries is None:
            continue
        largest = float(np.max(np.abs(entries), initial=0.0))
        if not np.isfinite(largest):
            raise FloatingPointError(f"{name} of a linear program is not finite")
        if name.startswith("A") and largest > MAX_COEFFICIENT:
            raise FloatingPointError(f"{name} of a linear program has entries above 1e15")
