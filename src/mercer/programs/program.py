r"""Convex programs written down row by row, solved by Clarabel or HiGHS, certified here.

.. math::

    \min_x\; \tfrac12 x'Px + q'x \qquad \text{subject to}\; b - Ax \in \mathcal K

.. math::

    \max_z\; -\tfrac12 x'Px - b'z \qquad \text{subject to}\; Px + q + A'z = 0,\; z \in \mathcal K^*

A product of cones :math:`\mathcal K` says what the rows are: equations, inequalities, norms.
Machines whose coefficients are coupled by sums of absolute values, by maxima or by norms are
programs; all others are regularized risks and have faster solvers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from mercer._typing import Array, LinearMap
from mercer.programs import backends
from mercer.programs.cones import (
    Cone,
    Exponential,
    Nonnegative,
    Power,
    SecondOrder,
    Semidefinite,
    Zero,
)
from mercer.solvers.solution import Solution
from mercer.solvers.status import Status

__all__ = ["Block", "Infeasible", "Optimum", "Program", "ProgramRows", "Unbounded"]

# How much looser than asked a certificate may be and still count as converged: solvers measure
# residuals of a scaled program, here they are measured on the program as it was written.
CERTIFICATE_TOL_RATIO = 100.0


class Infeasible(ValueError):  # noqa: N818
    """No point satisfies all rows of a program."""


class Unbounded(ValueError):  # noqa: N818
    """The cost of a program falls without end."""


@dataclass(frozen=True)
class Block:
    """Consecutive variables of a program."""

    start: int
    size: int

    @property
    def slice(self) -> slice:
        """Where they are in the vector of all variables."""
        return slice(self.start, self.start + self.size)


@dataclass(frozen=True)
class ProgramRows:
    """Consecutive rows of a program, and the sign with which their right-hand side was taken."""

    start: int
    size: int
    sign: float

    @property
    def slice(self) -> slice:
        """Where they are in the vector of all rows."""
        return slice(self.start, self.start + self.size)


Numbers: TypeAlias = float | Sequence[float] | Array
Terms: TypeAlias = Sequence[tuple[LinearMap, Block]]


@dataclass(frozen=True)
class Optimum:
    """A minimizer with its multipliers and a certificate measured from scratch.

    Parameters
    ----------
    x, z : ndarray
        Variables and multipliers.
    objective, dual : float
        Value of the program, and the lower bound that the multipliers prove.
    gap : float
        Their difference, at least zero.
    residual : float
        Largest relative violation of a row, of the cone of the multipliers, and of
        ``Px + q + A'z = 0``.
    status : Status
        How the solver ended.
    n_iter : int
        Its iterations.
    solver : str
        Which one it was.
    times : dict
        Seconds spent in ``solve``.
    """

    x: Array
    z: Array
    objective: float
    dual: float
    gap: float
    residual: float
    status: Status
    n_iter: int
    solver: str
    times: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, block: Block) -> Array:
        return self.x[block.slice]

    def multiplier(self, rows: ProgramRows) -> Array:
        """Return the price of each row: how the optimal value moves with its right-hand side."""
        return rows.sign * self.z[rows.slice]

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED

    def solution(self, a: Array, b: Array, f: Array) -> Solution:
        """Return the certificate of a machine with these coefficients and decision values."""
        return Solution(
            a=a,
            b=b,
            objective=self.objective,
            dual=self.dual,
            gap=self.gap,
            violation=self.residual,
            residual=self.residual,
            status=self.status,
            n_iter=self.n_iter,
            solver=self.solver,
            reason="a program with cones" if self.solver == "clarabel" else "a linear program",
            f=f,
            times=self.times,
        )


class Program:
    """A convex program under construction.

    Examples
    --------
    The point of the plane nearest to (2, 1) whose coordinates add up to one at most:

    >>> import numpy as np
    >>> from mercer.programs.program import Program
    >>> p = Program()
    >>> x = p.variable(2)
    >>> p.square(x)
    >>> p.cost(x, [-2.0, -1.0])
    >>> rows = p.at_most([(np.ones((1, 2)), x)], 1.0)
    >>> found = p.solve()
    >>> (found[x] + 1e-9).round(6), found.multiplier(rows).round(6)
    (array([1., 0.]), array([-1.]))
    >>> found.gap < 1e-7
    True
    """

    def __init__(self) -> None:
        self._n = 0
        self._m = 0
        self._costs: list[tuple[Block, Array]] = []
        self._squares: list[tuple[Block, LinearMap]] = []
        self._rows: list[tuple[int, LinearMap, Block]] = []
        self._right: list[Array] = []
        self._cones: list[tuple[Cone, int]] = []

    # Variables and cost ---------------------------------------------------------------------------

    def variable(
        self, size: int, lower: Numbers | None = None, upper: Numbers | None = None
    ) -> Block:
        """Add variables, free unless bounds are given (a number, or one for each)."""
        block = Block(self._n, int(size))
        self._n += block.size
        for bound, rows in ((lower, self.at_least), (upper, self.at_most)):
            if bound is not None:
                bounds = np.broadcast_to(np.asarray(bound, dtype=np.float64), (block.size,))
                kept = np.flatnonzero(np.isfinite(bounds))
                rows([(sp.eye_array(block.size, format="csr")[kept], block)], bounds[kept])
        return block

    def cost(self, block: Block, q: Numbers) -> None:
        """Add the linear cost ``q'x``."""
        q = np.broadcast_to(np.asarray(q, dtype=np.float64), (block.size,))
        self._costs.append((block, q))

    def square(self, block: Block, R: LinearMap | None = None, weight: float = 1.0) -> None:
        r"""Add :math:`\tfrac12 w |Rx|^2`; R is the identity by default."""
        R = sp.eye_array(block.size, format="csr") if R is None else R
        if R.shape[1] != block.size:
            raise ValueError(f"a factor for {block.size} variables has that many columns")
        self._squares.append((block, np.sqrt(weight) * R))

    # Rows -----------------------------------------------------------------------------------------

    def equal(self, terms: Terms, right: Numbers) -> ProgramRows:
        """Ask for ``sum A x = right``."""
        return self._add(Zero(), terms, right, 1.0)

    def at_most(self, terms: Terms, right: Numbers) -> ProgramRows:
        """Ask for ``sum A x <= right``."""
        return self._add(Nonnegative(), terms, right, 1.0)

    def at_least(self, terms: Terms, right: Numbers) -> ProgramRows:
        """Ask for ``sum A x >= right``."""
        return self._add(Nonnegative(), terms, right, -1.0)

    def norm(self, terms: Terms, shift: Numbers, bound: Terms, offset: float = 0.0) -> ProgramRows:
        """Ask for ``|sum A x + shift|_2 <= sum c x + offset``."""
        inner = self._stack(terms, shift)
        outer = self._stack([(np.atleast_2d(c), block) for c, block in bound], offset)
        return self._inside(SecondOrder(), [outer, inner])

    def semidefinite(self, terms: Terms, shift: Numbers, size: int) -> ProgramRows:
        """Ask for a positive semidefinite matrix whose scaled triangle is ``sum A x + shift``."""
        return self._inside(Semidefinite(size), [self._stack(terms, shift)])

    def exponential(self, terms: Terms, shift: Numbers) -> ProgramRows:
        r"""Ask for ``(u, v, w) = sum A x + shift`` with :math:`v e^{u/v} \le w`, three rows."""
        return self._inside(Exponential(), [self._stack(terms, shift)])

    def power(self, terms: Terms, shift: Numbers, alpha: float) -> ProgramRows:
        r"""Ask for ``(u, v, w) = sum A x + shift``, :math:`|w| \le u^\alpha v^{1 - \alpha}`."""
        return self._inside(Power(alpha), [self._stack(terms, shift)])

    def _stack(self, terms: Terms, shift: Numbers) -> tuple[Terms, Array]:
        """Return terms and shift of an expression with as many rows as the largest of them."""
        size = max([np.size(shift), *(A.shape[0] for A, _ in terms)])
        return terms, np.broadcast_to(np.asarray(shift, dtype=np.float64), (size,)).copy()

    def _inside(self, cone: Cone, parts: Sequence[tuple[Terms, Array]]) -> ProgramRows:
        """Ask for an expression, given in consecutive parts, to lie in a cone."""
        start = self._m
        for terms, shift in parts:
            self._put(terms, shift, -1.0)
        self._cones.append((cone, self._m - start))
        return ProgramRows(start, self._m - start, -1.0)

    def _add(self, cone: Cone, terms: Terms, right: Numbers, sign: float) -> ProgramRows:
        _, right = self._stack(terms, right)
        start = self._m
        self._put(terms, sign * right, sign)
        self._cones.append((cone, self._m - start))
        # The optimal value falls with -z where b rises.
        return ProgramRows(start, self._m - start, -sign)

    def _put(self, terms: Terms, right: Array, sign: float) -> None:
        for A, block in terms:
            if A.shape != (len(right), block.size):
                raise ValueError(
                    f"rows for {block.size} variables and {len(right)} right-hand sides need a "
                    f"matrix of that shape, got {A.shape}"
                )
            self._rows.append((self._m, sign * A, block))
        self._right.append(right)
        self._m += len(right)

    # Solving --------------------------------------------------------------------------------------

    def canonical(self) -> backends.CanonicalForm:
        """Return the program as matrices, rows in the order in which they were asked for."""
        P = sp.csc_array((self._n, self._n))
        for block, R in self._squares:
            P = P + _placed(R.T @ R, block.start, block.start, (self._n, self._n))
        q = np.zeros(self._n)
        for block, cost in self._costs:
            q[block.slice] += cost
        A = _sum([(M, row, block.start) for row, M, block in self._rows], (self._m, self._n))
        b = np.concatenate([np.zeros(0), *self._right])
        return backends.CanonicalForm(sp.csc_array(P), q, A, b, tuple(self._cones))

    def solve(
        self,
        tol: float = 1e-8,
        *,
        max_iter: int = 200,
        max_time: float | None = None,
        method: str = "auto",
    ) -> Optimum:
        """Solve the program.

        Parameters
        ----------
        tol : float, default=1e-8
            Tolerance on rows, multipliers and the relative gap.
        max_iter : int, default=200
            Largest number of steps of an interior-point method.
        max_time : float, optional
            Largest number of seconds.
        method : {"auto", "conic", "simplex", "interior", "highs"}
            Clarabel for "conic"; HiGHS for the others, if the program is linear.

        Returns
        -------
        Optimum
            Solution, multipliers, certificate.

        Raises
        ------
        Infeasible, Unbounded
            If there is no optimum.
        """
        form = self.canonical()
        if method == "auto":
            method = "highs" if form.linear else "conic"
        if method != "conic" and not form.linear:
            raise ValueError(f"method {method!r} is for linear programs; use 'conic'")
        run = backends.clarabel if method == "conic" else backends.highs
        answer = run(form, tol, max_iter, max_time, method)
        if answer.verdict == "infeasible":
            raise Infeasible("no point satisfies all constraints of the program")
        if answer.verdict == "unbounded":
            raise Unbounded("the cost of the program falls without end")
        if answer.verdict == "nothing":
            raise ArithmeticError(
                "the solver found no point of the program within its limits; bring the data to "
                "magnitudes near one, or raise max_time"
            )
        return _certified(form, answer, tol)


def _certified(form: backends.CanonicalForm, answer: backends.BackendAnswer, tol: float) -> Optimum:
    """Measure objective, bound, gap and residuals of an answer, whoever gave it."""
    x, z = answer.x, answer.z
    Px, Ax = form.P @ x, form.A @ x
    quadratic, s = 0.5 * float(x @ Px), form.b - Ax
    objective = quadratic + float(form.q @ x)
    dual = -quadratic - float(form.b @ z)
    Az = form.A.T @ z
    stationarity = float(np.max(np.abs(Px + form.q + Az), initial=0.0))
    rows, prices, at = 0.0, 0.0, 0
    for cone, size in form.cones:
        rows = max(rows, cone.outside(s[at : at + size]))
        prices = max(prices, cone.outside_dual(z[at : at + size]))
        at += size
    residual = max(
        rows / (1.0 + _largest(form.b, Ax)),
        max(stationarity, prices) / (1.0 + _largest(form.q, Px, Az)),
    )
    gap = max(objective - dual, 0.0)
    status = answer.status
    sound = residual <= CERTIFICATE_TOL_RATIO * tol and abs(
        objective - dual
    ) <= CERTIFICATE_TOL_RATIO * tol * (1 + abs(objective))
    sound = sound and bool(np.isfinite(objective))  # infinity is at most infinity
    if status is Status.CONVERGED and not sound:
        status = Status.STALLED
    elif status is Status.STALLED and sound:
        status = Status.CONVERGED
    return Optimum(
        x, z, objective, dual, gap, residual, status, answer.n_iter, answer.solver, answer.times
    )


def _largest(*arrays: Array) -> float:
    return max(float(np.max(np.abs(array), initial=0.0)) for array in arrays)


def _placed(M: LinearMap, row: int, column: int, shape: tuple[int, int]) -> LinearMap:
    return _sum([(M, row, column)], shape)


def _sum(parts: Sequence[tuple[LinearMap, int, int]], shape: tuple[int, int]) -> LinearMap:
    """Return the sparse matrix of blocks that begin at some row and column."""
    entries = [sp.coo_array(M) for M, _, _ in parts]
    data = [entry.data for entry in entries]
    i = [entry.coords[0] + row for entry, (_, row, _) in zip(entries, parts, strict=True)]
    j = [entry.coords[1] + column for entry, (_, _, column) in zip(entries, parts, strict=True)]
    if not parts:
        return sp.csc_array(shape)
    whole = (np.concatenate(data), (np.concatenate(i), np.concatenate(j)))
    return sp.csc_array(sp.coo_array(whole, shape=shape))
