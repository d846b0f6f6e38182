r"""Additive machines that pay for the largest value of each of their components.

.. math::

    \min_{w, b}\; \tfrac{\rho}{2} \sum_p |w_p|^2 + \sum_i c_i\, l(y_i, f_i)
    + \mu \sum_p v_p \max_i |f_p(x_i)|, \qquad f = \sum_p f_p + Bb

The maximum makes components vanish as a whole. Every component is a combination of few functions of
unit norm, so that the program has as many variables as these, however many samples there are, and
of the rows :math:`|f_p(x_i)| \le t_p` only those are kept that some solution came close to.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import Array, LinearMap
from mercer.losses.base import Loss, QuadraticDualLoss
from mercer.programs.program import Block, Infeasible, Program
from mercer.programs.program_losses import add_losses
from mercer.solvers.solution import Solution
from mercer.solvers.status import Status

__all__ = ["ConstrainedVariation", "Part", "Variation", "VariationProblem"]

Index = NDArray[np.intp]

# Rows of a component that are kept from the start, and that are added at a time.
FIRST_ROWS, ADDED_ROWS = 30, 10

# Rounds in which rows are added.
MAX_ROUNDS = 60

# Functions of a component whose share of its variance is less do not keep it from vanishing.
VISIBLE_VARIANCE_PART = 1e-4

# Values of a component at which functions are held down to find the largest penalty.
MAX_HELD_VALUES = 500

NO_ROOM = (
    "components of this variation do not come as close to the targets: allow for more variation or "
    "a larger error."
)


@dataclass(frozen=True, eq=False)
class Part:
    """A component on the sample.

    Parameters
    ----------
    features : ndarray of shape (m, r)
        Functions of unit norm, orthogonal to each other, at the different values that the component
        has on the sample.
    index : ndarray of shape (n,)
        Which of the values each sample has, -1 if it was not observed.
    """

    features: Array
    index: Index

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Whether the samples have a value, (n,)."""
        return np.asarray(self.index >= 0)

    @cached_property
    def design(self) -> Array:
        """The functions at the samples, (n, r), zero where nothing was observed."""
        whole = np.vstack([self.features, np.zeros((1, self.features.shape[1]))])
        return np.asarray(whole[self.index])

    def restricted(self, rows: Index) -> Part:
        """Return the component on some of the samples."""
        some = self.index[rows]
        values, index = np.unique(some, return_inverse=True)
        seen = values >= 0
        # The value -1 comes first, and those that were observed move up by it.
        return Part(self.features[values[seen]], np.ravel(index) - int(np.sum(~seen)))

    @property
    def visible(self) -> int:
        """How many of the functions, in the order of a pivoted factor, are no rounding."""
        sizes = np.max(np.square(self.features), axis=0, initial=0.0)
        return int(np.sum(sizes > VISIBLE_VARIANCE_PART * np.max(sizes, initial=0.0)))


@dataclass(frozen=True, eq=False)
class Variation:
    r"""A solution.

    Parameters
    ----------
    w : list of ndarray of shape (r_p,)
        Coefficients of the functions of each component.
    b : ndarray of shape (q,)
        Coefficients of the unpenalized columns.
    variation : ndarray of shape (P,)
        The penalized size of each component: :math:`\max_i |f_p(x_i)|`, or its norm.
    solution : Solution
        Certificate; ``a`` are the coefficients that all components share.
    working : list of ndarray
        The rows that were kept, to start from.
    """

    w: list[Array]
    b: Array
    variation: Array
    solution: Solution
    working: list[Index]


@dataclass(frozen=True, eq=False)
class ConstrainedVariation:
    r"""A solution at given variation and error, and the penalties that lead to the same.

    Parameters
    ----------
    found : Variation
        The solution.
    mu, C : float
        Multipliers: the weights of variation and loss with which
        :meth:`VariationProblem.solve` finds it too.
    """

    found: Variation
    mu: float
    C: float


@dataclass(frozen=True, eq=False)
class VariationProblem:
    r"""The problem, for any :math:`\mu`.

    Where a component was not observed its value is the worst of :math:`[-t_p, t_p]`: the loss is
    that of the worst decision value.

    Parameters
    ----------
    parts : list of Part
        The components.
    loss : QuadraticDualLoss
        What an error costs.
    y, c : ndarray of shape (n,)
        Targets and weights of the losses.
    B : ndarray of shape (n, q)
        Unpenalized columns.
    factors : ndarray of shape (P,), optional
        Factors :math:`v_p` of the penalties; ones by default.
    ridge : float, default=1.0
        Weight :math:`\rho` of the norms; zero leaves the variation as the only penalty.
    penalty : {"variation", "norm"}, default="variation"
        Of the largest values, or of the norms :math:`|w_p|` of the components.
    span : ndarray of shape (sum r_p, d), optional
        Only coefficients in its range, ``w = span @ u``: components that share one expansion.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.42)-(6.44), where the dual
    has one quadratic form for each component; (6.49)-(6.54) for what was not observed; (8.39) for
    components that share an expansion. Y. Lin and H. H. Zhang, *Component selection and smoothing
    in multivariate nonparametric regression*, Annals of Statistics 34 (2006), for norms.

    Examples
    --------
    Two columns, of which the second is noise, with a function of unit norm each:

    >>> from mercer.losses import Squared
    >>> X = np.array([[-1.0, 0.2], [0.0, -0.1], [1.0, -0.2], [2.0, 0.1]])
    >>> parts = [Part(X[:, [j]], np.arange(4)) for j in range(2)]
    >>> y, ones = 3.0 * X[:, 0], np.ones(4)
    >>> problem = VariationProblem(parts, Squared(), y, 10.0 * ones, ones[:, None])
    >>> problem.solve(1.0).variation.round(2)
    array([5.8, 0. ])
    """

    parts: Sequence[Part]
    loss: Loss
    y: Array
    c: Array
    B: Array
    factors: Array | None = None
    ridge: float = 1.0
    penalty: str = "variation"
    span: Array | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.loss, QuadraticDualLoss):
            raise ValueError(
                f"{type(self.loss).__name__} has no quadratic dual, which a program needs: use the "
                "squared, absolute, epsilon-insensitive, Huber, pinball or a hinge loss."
            )
        if self.penalty not in ("variation", "norm"):
            raise ValueError(f"penalty must be 'variation' or 'norm', got {self.penalty!r}.")
        if self.penalty == "norm" and self._missing.any():
            raise ValueError(
                "values that were not observed are bounded by the largest value, not by a norm: "
                "use penalty='variation'."
            )

    # What the sample makes of the components ------------------------------------------------------

    @cached_property
    def slices(self) -> list[slice]:
        """Where the coefficients of the components are among all."""
        ends = np.cumsum([0, *(part.features.shape[1] for part in self.parts)])
        return [slice(int(i), int(j)) for i, j in pairwise(ends)]

    @cached_property
    def design(self) -> Array:
        """All functions at the samples, (n, sum r_p)."""
        return np.hstack([np.zeros((len(self.y), 0)), *(part.design for part in self.parts)])

    @cached_property
    def _missing(self) -> Array:
        """One where a component was not observed, (n, P)."""
        columns = [np.zeros((len(self.y), 0)), *(~p.observed[:, None] for p in self.parts)]
        return np.hstack(columns).astype(np.float64)

    @cached_property
    def _weights(self) -> Array:
        return np.ones(len(self.parts)) if self.factors is None else np.asarray(self.factors)

    @cached_property
    def _quadratic(self) -> bool:
        """Whether the losses are the squares of residuals that were all observed."""
        return bool(self.loss.quadratic and not self._missing.any())

    def _spanned(self, M: Array) -> Array:
        return M if self.span is None else np.asarray(M @ self.span)

    @cached_property
    def _normal(self) -> tuple[Array, Array, float]:
        """Return R, t and e of the squared losses, |R z - t|^2 / 2 + e for all coefficients z."""
        root = np.sqrt(self.c)
        A = root[:, None] * np.hstack([self._spanned(self.design), self.B])
        target = root * self.y
        if A.shape[0] > A.shape[1]:
            Q, R = la.qr(A, mode="economic", check_finite=False)
            t = Q.T @ target
            return R, t, 0.5 * float(target @ target - t @ t)
        return A, target, 0.0

    # Solving --------------------------------------------------------------------------------------

    def solve(
        self,
        mu: float,
        start: Variation | None = None,
        *,
        tol: float = 1e-6,
        max_time: float | None = None,
    ) -> Variation:
        r"""Solve the problem for one :math:`\mu`.

        Parameters
        ----------
        mu : float
            Weight of the penalty, not negative.
        start : Variation, optional
            Of another value; its rows are kept.
        tol : float, default=1e-6
            Relative duality gap.
        max_time : float, optional
            Largest number of seconds of a program.
        """
        working = self._first() if start is None else [rows.copy() for rows in start.working]
        n_iter, seconds = 0, 0.0
        for _ in range(MAX_ROUNDS):
            answer = self._program(mu, working, tol, max_time)
            n_iter += answer.solution.n_iter
            seconds += answer.solution.times.get("solve", 0.0)
            solution = answer.solution
            good = solution.gap <= tol * (1.0 + abs(solution.objective))
            if good or not self._extend(answer, working, tol):
                break
        status = Status.CONVERGED if good else answer.solution.status
        if not good and status is Status.CONVERGED:
            # The program converged as far as floating point goes, which is measured here.
            status = Status.STALLED if solution.relative_gap > 100 * tol else status
        # A program resolves its parts of the losses at zero; targets that are all zero have none.
        at_zero = float(np.sum(self._terms.value(np.zeros(len(self.y)))))
        solution = replace(
            solution,
            n_iter=n_iter,
            times={"solve": seconds},
            status=status,
            resolution=tol * (at_zero or 1.0),
        )
        return replace(answer, solution=solution, working=working)

    def path(
        self,
        mus: Sequence[float] | Array,
        starts: Sequence[Variation] | None = None,
        *,
        tol: float = 1e-6,
    ) -> list[Variation]:
        """Solve the problem for several values, from rows of the one before or of others."""
        found: list[Variation] = []
        for k, mu in enumerate(mus):
            before = found[-1] if found else None
            start = before if starts is None else starts[k]
            found.append(self.solve(float(mu), start, tol=tol))
        return found

    def constant(self) -> Variation:
        """Return the solution without any component."""
        nothing = replace(self, parts=[], factors=None, span=None)
        found = nothing.solve(0.0)
        empty = [np.zeros(part.features.shape[1]) for part in self.parts]
        return replace(found, w=empty, variation=np.zeros(len(self.parts)), working=self._first())

    def largest_mu(self) -> float:
        r"""Return a :math:`\mu` beyond which no component is left that could be seen.

        Without components the coefficients a are those of the constant. A component stays zero as
        long as :math:`a' f_p \le \mu v_p` for all its functions with :math:`|f_p| \le 1`, which is
        a linear program; functions too small to be seen are left out of it.
        """
        a = self.constant().solution.a
        return float(max((self._pull(p, a) for p in range(len(self.parts))), default=0.0))

    def _pull(self, p: int, a: Array) -> float:
        part, factor = self.parts[p], float(self._weights[p])
        if factor == 0 or not part.design.shape[1]:
            return 0.0
        slope = part.design.T @ a
        if self.penalty == "norm":
            return float(np.linalg.norm(slope)) / factor
        r = max(part.visible, 1)
        m = len(part.features)
        some = np.unique(np.linspace(0, m - 1, min(m, MAX_HELD_VALUES)).astype(int))
        program = Program()
        w = program.variable(r)
        program.cost(w, -slope[:r])
        values = part.features[some, :r]
        program.at_most([(np.vstack([values, -values]), w)], 1.0)
        # No more than the sum of what pulls at each value, were the function as free as that.
        sums = np.bincount(part.index[part.observed], a[part.observed], m)
        return min(-program.solve(1e-7).objective, float(np.abs(sums).sum())) / factor

    def constrained(
        self, variation: float, error: float, *, tol: float = 1e-8
    ) -> ConstrainedVariation:
        r"""Return the smoothest components of at most so much variation and error.

        .. math:: \min \tfrac12 \sum_p |w_p|^2, \qquad
                  \frac1P \sum_p v_p \max_i |f_p(x_i)| \le \sigma_\mu, \quad
                  \frac1n \sum_i (y_i - f_i)^2 \le \sigma_\lambda

        Parameters
        ----------
        variation, error : float
            The bounds :math:`\sigma_\mu` and :math:`\sigma_\lambda`, of means.
        tol : float, default=1e-8
            Tolerance of the program.

        Raises
        ------
        Infeasible
            If components of this variation do not come as close to the targets.

        References
        ----------
        K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.46).
        """
        if not self.loss.quadratic or self._missing.any() or self.penalty != "variation":
            raise ValueError("bounds are of squared errors of observed values, and of variation.")
        plain = replace(self, c=np.ones(len(self.y)))
        R, target, constant = plain._normal
        n, P = len(self.y), len(self.parts)
        room = error * n - 2.0 * constant
        program = Program()
        z = program.variable(R.shape[1])
        k = z.size - self.B.shape[1]
        select = sp.eye_array(k, z.size, format="csr")
        program.square(z, select if self.span is None else sp.csr_array(self.span) @ select)
        every = [np.arange(len(part.features)) for part in self.parts]
        t = plain._bounds(program, z, 1.0, every, charge=False)
        if t is None or room < 0:
            raise Infeasible(NO_ROOM)
        total = program.at_most([(self._weights[None, :], t)], P * variation)
        radius = float(np.sqrt(room))
        near = program.norm([(R, z)], -target, [], radius)
        try:
            found = program.solve(tol)
        except Infeasible:
            raise Infeasible(NO_ROOM) from None
        # The optimal value moves with the length of residuals by nu, with half its square by nu/s.
        mu = float(-found.multiplier(total)[0])
        C = float(abs(found.multiplier(near)[0])) / max(radius, 1e-300)
        parts, b, f = self._read(found[z])
        solution = found.solution(C * (self.y - f), b, f)
        return ConstrainedVariation(Variation(parts, b, self.sizes(parts), solution, every), mu, C)

    # The program ----------------------------------------------------------------------------------

    def _first(self) -> list[Index]:
        """Keep a few values of each component, spread over all."""
        return [
            np.unique(
                np.linspace(0, len(p.features) - 1, min(len(p.features), FIRST_ROWS)).astype(int)
            )
            for p in self.parts
        ]

    def _extend(self, answer: Variation, working: list[Index], tol: float) -> bool:
        """Keep the values at which components are larger than the program knew."""
        more = False
        for p, part in enumerate(self.parts):
            size = np.abs(part.features @ answer.w[p])
            known = np.max(size[working[p]], initial=0.0)
            size[working[p]] = 0.0
            beyond = np.flatnonzero(size > known * (1.0 + 0.1 * tol) + 1e-12 * np.max(self.c))
            if len(beyond):
                worst = beyond[
                    np.argsort(-size[beyond])[:: max(1, len(beyond) // ADDED_ROWS)][:ADDED_ROWS]
                ]
                working[p] = np.union1d(working[p], worst)
                more = True
        return more

    def _program(
        self, mu: float, working: list[Index], tol: float, max_time: float | None
    ) -> Variation:
        if self._quadratic and self.ridge and not np.any(mu * self._weights > 0):
            return self._system(working)
        program = Program()
        k = self.design.shape[1] if self.span is None else self.span.shape[1]
        q = self.B.shape[1]
        z = program.variable(k + q)
        select = sp.eye_array(k, k + q, format="csr")
        if self.ridge:
            span = select if self.span is None else sp.csr_array(self.span) @ select
            program.square(z, span, self.ridge)
        t = self._bounds(program, z, mu, working)
        losses = None
        if self._quadratic:
            R, target, constant = self._normal
            # Residuals as variables: their squares alone would cancel against those of the targets.
            e = program.variable(len(target))
            program.square(e)
            program.equal([(R, z), (sp.eye_array(len(target), format="csr"), e)], target)
        else:
            f = np.hstack([self._spanned(self.design), self.B])
            widths = [(sp.csr_array(self._missing), t)] if t is not None else []
            widths = widths if self._missing.any() else []
            losses = add_losses(program, self._terms, [(f, z)], widths)
            constant = 0.0
        found = program.solve(0.1 * tol, max_time=max_time)
        parts, b, values = self._read(found[z])
        a = self.c * (self.y - values) if losses is None else losses.coefficients(found)
        objective = self.objective(mu, parts, b)
        dual = min(found.dual + constant, objective)
        solution = replace(
            found.solution(a, b, values), objective=objective, dual=dual, gap=objective - dual
        )
        return Variation(parts, b, self.sizes(parts), solution, working)

    def _read(self, z: Array) -> tuple[list[Array], Array, Array]:
        """Return coefficients of the components and of free columns, and values of the sample."""
        k = len(z) - self.B.shape[1]
        w, b = z[:k] if self.span is None else self.span @ z[:k], z[k:]
        return [w[s] for s in self.slices], b, self.design @ w + self.B @ b

    def _system(self, working: list[Index]) -> Variation:
        """Solve the equations that are left of squares alone."""
        start = time.perf_counter()
        R, target, constant = self._normal
        k = R.shape[1] - self.B.shape[1]
        H = R.T @ R
        H[:k, :k] += self.ridge * (np.eye(k) if self.span is None else self.span.T @ self.span)
        z = la.lstsq(H, R.T @ target, lapack_driver="gelsd", check_finite=False)[0]
        parts, b, f = self._read(z)
        objective = self.objective(0.0, parts, b)
        # Where Hz = g the least value of z'Hz/2 - g'z is -z'Hz/2.
        dual = constant + 0.5 * float(target @ target) - 0.5 * float(z @ H @ z)
        residual = float(np.max(np.abs(H @ z - R.T @ target), initial=0.0))
        solution = Solution(
            a=self.c * (self.y - f),
            b=b,
            objective=objective,
            dual=min(dual, objective),
            gap=max(objective - dual, 0.0),
            violation=residual,
            residual=residual,
            status=Status.CONVERGED,
            n_iter=1,
            solver="direct",
            reason="equations",
            f=f,
            times={"solve": time.perf_counter() - start},
        )
        return Variation(parts, b, self.sizes(parts), solution, working)

    @cached_property
    def _terms(self) -> LinearMap:
        return self.loss.weigh(self.y, self.c)

    def sizes(self, w: Sequence[Array]) -> Array:
        """Return the penalized size of each component, (P,)."""
        if self.penalty == "norm":
            return np.array([float(np.linalg.norm(v)) for v in w])
        return np.array(
            [
                float(np.max(np.abs(part.features @ v), initial=0.0))
                for part, v in zip(self.parts, w, strict=True)
            ]
        )

    def objective(self, mu: float, w: Sequence[Array], b: Array) -> float:
        """Evaluate the objective."""
        size = self.sizes(w)
        f = sum((part.design @ v for part, v in zip(self.parts, w, strict=True)), self.B @ b)
        cost = self._terms.value(f)
        if self._missing.any():
            T = self._missing @ size
            cost = np.maximum(self._terms.value(f + T), self._terms.value(f - T))
        norms = sum(float(v @ v) for v in w)
        return float(0.5 * self.ridge * norms + np.sum(cost) + mu * (self._weights @ size))

    def _bounds(
        self, program: Program, z: Block, mu: float, working: list[Index], charge: bool = True
    ) -> Block | None:
        """Bound the sizes of the components by variables, and charge for these."""
        P, prices = len(self.parts), mu * self._weights
        if not (np.any(prices > 0) or self._missing.any()):
            return None
        t = program.variable(P)
        program.cost(t, prices if charge else 0.0)
        needed = np.flatnonzero((prices > 0) | self._missing.any(axis=0))
        idle = np.setdiff1d(np.arange(P), needed)
        if len(idle):
            program.at_least([(sp.eye_array(P, format="csr")[idle], t)], 0.0)
        if self.penalty == "norm":
            for p in map(int, needed):
                column = np.zeros((1, P))
                column[0, p] = 1.0
                own = np.eye(self.slices[p].stop - self.slices[p].start)
                program.norm([(self._rows(z.size, [(p, own)]), z)], 0.0, [(column, t)])
            return t
        values = [(p, self.parts[p].features[working[p]]) for p in map(int, needed)]
        rows = self._rows(z.size, values)
        which = np.concatenate([np.full(len(own), p) for p, own in values])
        bound = sp.eye_array(P, format="csr")[which]
        both = sp.vstack([rows, -1.0 * rows], format="csr")
        program.at_most([(both, z), (-1.0 * sp.vstack([bound, bound], format="csr"), t)], 0.0)
        return t

    def _rows(self, size: int, values: Sequence[tuple[int, Array]]) -> LinearMap:
        """Return rows for coefficients of components as rows for all variables."""
        if self.span is not None:
            inner = np.vstack([own @ self.span[self.slices[p]] for p, own in values])
            rest = np.zeros((len(inner), size - inner.shape[1]))
            return sp.csr_array(np.hstack([inner, rest]))
        data, rows, columns, at = [], [], [], 0
        for p, own in values:
            m, r = own.shape
            data.append(own.ravel())
            rows.append(np.repeat(np.arange(at, at + m), r))
            columns.append(np.tile(np.arange(r) + self.slices[p].start, m))
            at += m
        where = np.concatenate(rows), np.concatenate(columns)
        return sp.csr_array((np.concatenate(data), where), shape=(at, size))
