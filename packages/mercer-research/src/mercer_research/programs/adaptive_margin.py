r"""The linear program behind margins that adapt, solved in its dual form.

.. math:: \min_{\alpha, \xi \ge 0,\, b} \sum_i c_i \xi_i \quad\text{subject to}\quad
          M_\lambda \alpha + Y B b + \xi \ge 1, \qquad
          M_\lambda = Y K Y - \lambda\, \mathrm{diag}(K)

has the dual :math:`\max 1'\beta` subject to :math:`M_\lambda'\beta \le 0`, :math:`B'Y\beta = 0` and
:math:`0 \le \beta \le c`, with a variable a sample and a row a coefficient. Both are always
feasible. Coefficients are measured by what they do to their own sample, :math:`\alpha_j k_{jj}`, so
that neither cap nor tolerance depends on the scale of the kernel.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._deadline import no_deadline
from mercer._linear_program import linear_program
from mercer._typing import Array, LinearMap
from mercer.programs.central_program import Columns, Variables, follow_path, solve_vertex

__all__ = ["MarginAnswer", "MarginProgram"]

# Kernel values below this part of the diagonal are rounding of zero; kept, they let coefficients
# grow to 1e19 in narrow kernels, and each method of linear programming ends somewhere else.
KERNEL_ROUNDING_PART = 1e-10


# The simplex method, whose vertices are exact, else an interior point.
METHODS = ("highs-ds", "highs-ipm")

# A reduced cost this small, of coefficients in units of a margin, is taken for zero.
TIED_COST = 1e-9

# Coefficients this small, in units of a margin or of the largest, are rounding.
COEFFICIENT_ROUNDING = 1e-12


# Numbers of a program from which on the central path is faster than the simplex method.
MIN_CENTRAL_WORK = 20_000
# Relative gaps of the path at its vertex, and while columns are chosen.
VERTEX_GAP, ROUGH_GAP = 1e-10, 1e-2
# Columns from which on some are chosen first, how many a round adds at most, and rounds.
MAX_WHOLE_COLUMNS, ADDED_COLUMNS, MAX_ROUGH_ROUNDS = 300, 200, 20
# The part of the columns that is left to exact programs.
FEW_COLUMNS_PART = 0.15
# Of rough programs: a reduced cost that is none yet, and the ratio of a coefficient to its reduced
# cost, both in their own units, below which it is none.
ROUGH_COST, ROUGH_RATIO = 1e-3, 0.1


@dataclass(frozen=True, eq=False)
class MarginAnswer:
    """A minimizer with its certificate."""

    alpha: Array
    """Coefficients of the samples, (n,), zero beside the columns."""

    b: Array
    """Coefficients of the unpenalized columns, (q,)."""

    beta: Array
    """Multipliers of the samples, (n,)."""

    slack: Array
    """What each sample misses of its required margin, (n,)."""

    objective: float
    """Weighted sum of the slacks."""

    bound: float
    """What no coefficients up to the cap go below."""

    violation: float
    """The largest reduced cost of the wrong sign; rounding only."""

    residual: float
    """By how much the multipliers miss ``B'Y beta = 0``."""

    capped: bool
    """Whether a coefficient is on its cap."""

    n_iter: int
    seconds: float

    method: str = "HiGHS"
    """What found the last vertex: the simplex method of HiGHS, or the central path."""

    @property
    def active(self) -> NDArray[np.intp]:
        """Samples with a coefficient."""
        return np.flatnonzero(self.alpha)


@dataclass(frozen=True, eq=False)
class MarginProgram:
    r"""Samples, weights and the columns that may have coefficients; one program for each lambda.

    Parameters
    ----------
    K : ndarray of shape (n, r)
        Kernel values of the sample with the columns.
    columns : ndarray of shape (r,)
        Which samples these are.
    diag : ndarray of shape (n,)
        The diagonal of the kernel matrix.
    y, c : ndarray of shape (n,)
        Labels plus and minus one, and positive weights.
    B : ndarray of shape (n, q)
        Unpenalized columns.
    cap : float
        Largest coefficient, in units of what it does to its own sample.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.arange(4.0), np.array([1.0, 1.0, -1.0, -1.0])
    >>> K = np.exp(-(np.subtract.outer(x, x) ** 2))
    >>> program = MarginProgram(K, np.arange(4), np.ones(4), y, np.ones(4), np.zeros((4, 0)))
    >>> answer = program.solve(1.0)
    >>> answer.alpha.round(3), bool(answer.objective - answer.bound < 1e-9)
    (array([5.873, 2.863, 2.863, 5.873]), True)
    """

    K: Array
    columns: NDArray[np.intp]
    diag: Array
    y: Array
    c: Array
    B: Array
    cap: float = 1e4

    @property
    def own(self) -> Array:
        """The margin that a unit of each coefficient adds to its own sample, (r,)."""
        size = np.max(np.abs(self.K), axis=0, initial=0.0)
        own = self.diag[self.columns]
        return np.where(own > 0, own, np.where(size > 0, size, 1.0))

    @property
    def lambda_max(self) -> float:
        r"""The lambda from which on no coefficient is worth anything.

        .. math:: \lambda_{\max} = \max_j \frac{y_j (K (c \circ y))_j}{c_j k_{jj}}

        With unpenalized columns the multipliers of a constant fit take the place of c, which need
        not be the best ones: lambda_max is then an upper bound of the threshold.
        """
        beta = self._without_kernel()
        gain = self.y[self.columns] * (self.K.T @ (self.y * beta))
        price = self.diag[self.columns] * beta[self.columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gain <= 0, 0.0, np.where(price > 0, gain / price, np.inf))
        return float(np.max(ratio, initial=0.0))

    def _without_kernel(self) -> Array:
        """Return multipliers of the machine without coefficients, as even as they can be."""
        if not self.B.shape[1]:
            return self.c
        if self.B.shape[1] == 1 and np.ptp(self.B) == 0:
            # A constant: the heavier class gives as much as the lighter, each sample its share.
            sides = np.array([self.c[self.y < 0].sum(), self.c[self.y > 0].sum()])
            share: Array = (sides.min() / sides)[(self.y > 0).astype(np.intp)]
            return self.c * share
        nothing = np.zeros((len(self.y), 0))
        return np.asarray(self._linear(nothing, self.y[:, None] * self.B, False).x)

    def matrix(self, lam: float) -> Array:
        """Return the rows' margins for unit coefficients in units of their own, (n, r)."""
        M = self.y[:, None] * self.K * self.y[self.columns]
        M[self.columns, np.arange(len(self.columns))] -= lam * self.diag[self.columns]
        M /= self.own
        M[np.abs(M) < KERNEL_ROUNDING_PART] = 0.0
        return M

    def solve(self, lam: float, start: NDArray[np.intp] | None = None) -> MarginAnswer:
        """Minimize, and settle ties by the smallest sum of coefficients.

        Parameters
        ----------
        lam : float
            What a coefficient adds to the margin that its own sample has to reach.
        start : ndarray of int, optional
            Samples that probably have coefficients, as those of a neighbouring lambda. The program
            is then solved over them, and over those whose reduced cost shows that they are missing,
            until none is.
        """
        begin = time.perf_counter()
        M, N = self.matrix(lam), self.y[:, None] * self.B
        near = np.ones(len(self.columns), dtype=bool)
        if start is not None and len(start):
            near = np.isin(self.columns, start)
        elif len(self.columns) > MAX_WHOLE_COLUMNS:
            near = self._approach(M, N)
        steps = 0
        while True:
            found = self._vertex(M[:, near], N)
            method = "HiGHS" if found is None else "central path"
            x, b, beta, iterations = found or self._dual(M[:, near], N)
            steps += iterations
            missing = ~near & (M.T @ beta > TIED_COST)
            if not np.any(missing):
                break
            near |= missing
        alpha = np.zeros(len(self.columns))
        alpha[near] = np.where(x > COEFFICIENT_ROUNDING * max(1.0, np.max(x, initial=0.0)), x, 0.0)
        alpha, b = self._settle_ties(M, N, alpha, b, beta)
        slack = np.maximum(0.0, 1.0 - M @ alpha - N @ b)
        beta = self._polish(M, N, alpha, beta)
        excess = np.maximum(M.T @ beta, 0.0)
        whole = np.zeros(len(self.y))
        whole[self.columns] = alpha / self.own
        return MarginAnswer(
            alpha=whole,
            b=b,
            beta=beta,
            slack=slack,
            objective=float(self.c @ slack),
            # What the multipliers miss of a row costs the bound the cap times it.
            bound=float(beta.sum() - self.cap * excess.sum()),
            violation=float(np.max(excess, initial=0.0)),
            residual=float(np.max(np.abs(N.T @ beta), initial=0.0)),
            capped=bool(np.any(alpha >= self.cap * (1.0 - 1e-9))),
            n_iter=steps,
            seconds=time.perf_counter() - begin,
            method=method,
        )

    def _approach(self, M: Array, N: Array) -> NDArray[np.bool_]:
        """Return the columns that probably have coefficients, found by rough programs."""
        price = M.T @ self._without_kernel()
        near = np.zeros(len(price), dtype=bool)
        for _ in range(MAX_ROUGH_ROUNDS):
            missing = np.where(near, 0.0, np.maximum(price, 0.0))
            order = np.argsort(-missing, kind="stable")[:ADDED_COLUMNS]
            dear = order[missing[order] > ROUGH_COST]
            near[dear] = True
            if len(dear) < FEW_COLUMNS_PART * np.count_nonzero(near):
                break  # the last few are found by exact programs, which drop none
            z, columns = self._central(M[:, near], N)
            with no_deadline():  # a margin has no answer before its programs have one
                point = follow_path(z, columns, ROUGH_GAP)
            if point is None:
                break
            price = M.T @ np.clip(point.z, 0.0, self.c)
            J = np.flatnonzero(near)
            near[J] = (point.used > ROUGH_RATIO) | (price[J] > -ROUGH_COST)
        return near

    def _central(self, M: Array, N: Array) -> tuple[Variables, Columns]:
        """Return the dual as a program whose central path is followed."""
        n, r = M.shape
        z = Variables(np.arange(n), np.ones(n), -np.ones(n), np.zeros(n), self.c)
        walls = np.full(r, -np.inf), np.zeros(r)
        return z, Columns(np.hstack([M, N]), *walls, np.zeros(N.shape[1]))

    def _vertex(self, M: Array, N: Array) -> tuple[Array, Array, Array, int] | None:
        """Solve the dual by its central path; None where that does not end at a vertex."""
        r = M.shape[1]
        if M.size < MIN_CENTRAL_WORK:
            return None
        z, columns = self._central(M, N)
        with no_deadline():
            point = follow_path(z, columns, VERTEX_GAP)
        solved = None if point is None else solve_vertex(z, columns, point)
        if point is None or solved is None:
            return None
        beta, x = solved
        slack = np.maximum(0.0, 1.0 - columns.Q @ x)
        gap = float(self.c @ slack - beta.sum())
        proved = (
            np.all(x[:r] >= 0)
            and np.all(x[:r] <= self.cap)
            and np.all(M.T @ beta <= TIED_COST)
            and np.all(np.abs(N.T @ beta) <= TIED_COST * max(1.0, float(self.c.max())))
            and abs(gap) <= TIED_COST * self.c.sum()
        )
        return (x[:r], x[r:], beta, point.steps) if proved else None

    def _dual(self, M: Array, N: Array) -> tuple[Array, Array, Array, int]:
        """Solve the dual over some columns: coefficients of both kinds, multipliers, iterations."""
        capped = False
        try:
            answer = self._linear(M, N, False)
            capped = bool(np.any(-answer.ineqlin.marginals > self.cap))
        except ArithmeticError:  # coefficients that would leave floating point
            capped = True
        if capped:
            answer = self._linear(M, N, True)
        alpha = np.minimum(-answer.ineqlin.marginals, self.cap)
        b = -answer.eqlin.marginals if N.shape[1] else np.zeros(0)
        beta = np.clip(answer.x[: len(self.y)], 0.0, self.c)
        return np.maximum(alpha, 0.0), b, beta, int(answer.nit)

    def _linear(self, M: Array, N: Array, capped: bool) -> Any:
        n, r = M.shape
        A = sp.csr_array(M.T)
        cost, upper = -np.ones(n), self.c
        if capped:
            A = sp.csr_array(sp.hstack([A, -sp.eye_array(r)]))
            cost, upper = (
                np.append(cost, np.full(r, self.cap)),
                np.append(upper, np.full(r, np.inf)),
            )
            N = np.vstack([N, np.zeros((r, N.shape[1]))])
        program: dict[str, Any] = {
            "A_ub": A,
            "b_ub": np.zeros(r),
            "bounds": np.column_stack([np.zeros(len(upper)), upper]),
        }
        if N.shape[1]:
            program |= {"A_eq": N.T, "b_eq": np.zeros(N.shape[1])}
        return linear_program(cost, methods=METHODS, **program)

    def _polish(self, M: Array, N: Array, alpha: Array, beta: Array) -> Array:
        """Return multipliers whose tight rows are tight up to rounding, not up to a tolerance.

        The bound is less by the cap times what rows are violated by, so that digits beyond those of
        HiGHS count. They are those of one linear system in the multipliers between their bounds.
        """
        free = (beta > TIED_COST * self.c) & (beta < (1.0 - TIED_COST) * self.c)
        tight = np.hstack([M[:, (alpha > 0) & (alpha < self.cap)], N])
        if not (np.any(free) and tight.shape[1]):
            return beta
        step = np.linalg.lstsq(tight[free].T, -(tight.T @ beta), rcond=None)[0]
        better = beta.copy()
        better[free] = np.clip(beta[free] + step, 0.0, self.c[free])

        def loss(multipliers: Array) -> float:
            return float(np.sum(np.maximum(M.T @ multipliers, 0.0)))

        return better if loss(better) < loss(beta) else beta

    def _settle_ties(
        self, M: Array, N: Array, alpha: Array, b: Array, beta: Array
    ) -> tuple[Array, Array]:
        """Return the optimal coefficients with the smallest sum.

        By complementary slackness they are among the columns of reduced cost zero, and only
        samples whose multiplier is on its bound have slack. As many columns as samples in between
        have one solution, and nothing is to settle.
        """
        tied = M.T @ beta > -TIED_COST
        low, high = beta <= TIED_COST * self.c, beta >= (1.0 - TIED_COST) * self.c
        if np.count_nonzero(tied) + N.shape[1] <= np.count_nonzero(~low & ~high):
            return alpha, b
        r, q, s = np.count_nonzero(tied), N.shape[1], np.count_nonzero(high)
        best = float(self.c @ np.maximum(0.0, 1.0 - M @ alpha - N @ b))
        slacks = sp.eye_array(len(beta), format="csr")[:, high]
        rows: LinearMap = sp.hstack([sp.csr_array(M[:, tied]), sp.csr_array(N), slacks])
        budget = np.concatenate([np.zeros(r + q), self.c[high]])[None, :]
        program: dict[str, Any] = {
            "A_ub": sp.csr_array(sp.vstack([-rows, sp.csr_array(budget)])),
            "b_ub": np.append(-np.ones(len(beta)), best + TIED_COST * self.c.sum()),
            "bounds": np.array(
                [(0.0, self.cap)] * r + [(-np.inf, np.inf)] * q + [(0.0, np.inf)] * s
            ),
        }
        try:
            cost = np.append(np.ones(r), np.zeros(q + s))
            x = linear_program(cost, methods=METHODS, **program).x
        except ArithmeticError:  # the face is thinner than rounding: any point of it will do
            return alpha, b
        least = np.zeros_like(alpha)
        least[tied] = np.where(x[:r] > TIED_COST * np.max(x[:r], initial=0.0), x[:r], 0.0)
        missed = float(self.c @ np.maximum(0.0, 1.0 - M @ least - N @ x[r : r + q]))
        better = missed <= best + 1e-6 * self.c.sum() and least.sum() <= alpha.sum()
        return (least, x[r : r + q]) if better else (alpha, b)
