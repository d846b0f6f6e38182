"""Least squares amongst alternatives: one input out of each group."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer_research.linear._model import LinearModel, Optimum

__all__ = ["AlternativesRelaxation", "LeastSquaresAmongstAlternatives", "relax_alternatives"]

# The relaxation takes this part of the largest weight that keeps it convex, so that the quadratic
# form stays definite: what is lost of the bound is one part in a million.
WITHIN = 1.0 - 1e-6
# A coefficient below this part of the largest is zero; eigenvalues and lengths likewise.
ZERO, DEPENDENT = 1e-7, 1e-10

Groups = Sequence[NDArray[np.intp]]


@dataclass(frozen=True)
class AlternativesRelaxation:
    """The convex problem behind the choice.

    Parameters
    ----------
    coef : ndarray of shape (p,)
        Its minimizer.
    weight : float
        Weight of the products of alternatives; zero where columns depend on each other.
    bound : float
        Its value, which no choice goes below.
    exact : bool
        Whether at most one coefficient of each group is not zero. Then they are the best choice.
    """

    coef: Array
    weight: float
    bound: float
    exact: bool


def relax_alternatives(X: Array, y: Array, groups: Groups) -> AlternativesRelaxation:
    r"""Minimize a convex function that equals the sum of squares where groups hold one coefficient.

    .. math:: \min_w \tfrac12 \|y - Xw\|^2 + \gamma \sum_g \sum_{i < j \in g} |w_i w_j|
              = \min_{|w| \le t} \tfrac12 \|y - Xw\|^2
              + \tfrac{\gamma}{2} \Bigl(\sum_g (1't_g)^2 - \|w\|^2\Bigr)

    which is convex for :math:`\gamma \le \lambda_{\min}(X'X)`. With :math:`w = u - v`,
    :math:`t = u + v` it is a non-negative least-squares problem.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        A design with columns of one length, and targets.
    groups : sequence of index arrays
        The groups, which together hold every column once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import relax_alternatives
    >>> relax = relax_alternatives(np.eye(3), np.array([3.0, 1.0, 1.0]), [np.array([0, 1, 2])])
    >>> relax.exact, relax.coef.round(4)
    (True, array([3., 0., 0.]))
    """
    p = X.shape[1]
    values, Q = np.linalg.eigh(X.T @ X) if p else (np.zeros(0), np.zeros((0, 0)))
    c = X.T @ y
    gamma = WITHIN * float(values[0]) if p and values[0] > DEPENDENT * values[-1] else 0.0
    if gamma == 0.0:
        w = np.asarray(np.linalg.lstsq(X, y, rcond=None)[0]) if p else np.zeros(0)
    else:
        root = np.sqrt(values - gamma)
        A = root[:, None] * Q.T
        member = np.zeros((len(groups), p))
        for k, group in enumerate(groups):
            member[k, group] = np.sqrt(gamma)
        design = np.block([[A, -A], [member, member]])
        uv, _ = nnls(
            design, np.concatenate([Q.T @ c / root, np.zeros(len(groups))]), maxiter=60 * p
        )
        w = uv[:p] - uv[p:]
    r = y - X @ w
    v = np.abs(w)
    crossed = sum(float(v[g].sum() ** 2) for g in groups) - float(v @ v)
    value = 0.5 * float(r @ r) + 0.5 * gamma * crossed
    live = v > ZERO * np.max(v, initial=0.0)
    exact = all(np.count_nonzero(live[g]) <= 1 for g in groups)
    return AlternativesRelaxation(w, gamma, value, exact)


@settings
class LeastSquaresAmongstAlternatives(LinearModel):
    r"""Least squares with at most one input out of each group of alternatives.

    .. math:: \min_{w, b} \tfrac12 \sum_i s_i (y_i - w'x_i - b)^2
              \quad\text{subject to}\quad w_i w_j = 0 \text{ for } i \ne j \text{ in one group}

    With one group the answer is the input with the largest :math:`(x_d'y)^2 / x_d'x_d`. With more,
    the convex relaxation of :func:`relax_alternatives` is solved; if it keeps the groups, it is the
    answer and the proof. Otherwise its largest coefficients are improved by exchanges, one group
    at a time, and branch and bound over the groups, with the relaxation of those not yet decided as
    the bound, ends the search with a proof.

    Parameters
    ----------
    groups : array-like of shape (n_features,), optional
        Group of each input; inputs with a negative number belong to none and are always there. By
        default all inputs are alternatives to each other.
    max_nodes : int, default=10000
        How many relaxations the proof may take; 0 for exchanges only.
    fit_intercept : bool, default=True
        Fit the constant b.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_ :
        The hyperplane.
    selected_ : ndarray of shape (n_groups,)
        The input that was chosen in each group, by ascending number of the group.
    exact_ : bool
        Whether the choice is proven to be the best.
    solution_ : Optimum
        Half of the sum of squares, and what no choice can go below.
    relaxation_ : AlternativesRelaxation
        The convex problem at the root; its columns have length one.
    n_nodes_ : int
        How many relaxations were solved.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 6.1.3, lemmas 6.2 and 6.3,
    remark 6.1 and algorithm 6.1, eq. (6.6) to (6.14).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import LeastSquaresAmongstAlternatives
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 6))
    >>> y = 2 * X[:, 1] - X[:, 4] + 0.3 * rng.standard_normal(50)
    >>> model = LeastSquaresAmongstAlternatives([0, 0, 1, 1, 2, 2]).fit(X, y)
    >>> model.selected_[[0, 2]], model.exact_
    (array([1, 4]), True)
    """

    groups: Any = None
    _: KW_ONLY
    max_nodes: int = 10_000

    _parameter_constraints: ClassVar[Constraints] = {
        "groups": ["array-like", None],
        "max_nodes": [Interval(Integral, 0, None, closed="left")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Choose the inputs and fit them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the squared errors.
        """
        data = self._centred(X, y, sample_weight)
        labels = self._labels(data.X.shape[1])
        names = np.unique(labels[labels >= 0])
        groups = [np.flatnonzero(labels == name) for name in names]
        search = _Search(data.X, data.y, np.flatnonzero(labels < 0), groups, int(self.max_nodes))
        self.relaxation_ = search.relaxation
        chosen, bound = search.run()
        self.n_nodes_ = search.seen
        self.selected_ = np.array(chosen, dtype=np.intp)
        kept = np.concatenate([np.flatnonzero(labels < 0), self.selected_]).astype(np.intp)
        w = np.zeros(data.X.shape[1])
        w[kept] = np.linalg.lstsq(data.X[:, kept], data.y, rcond=None)[0]
        r = data.y - data.X @ w
        value = 0.5 * float(r @ r)
        bound = min(bound, value)
        self.exact_ = bool(value - bound <= search.slack)
        self.solution_ = Optimum(value, bound, r)
        self._keep(data, w)
        return self

    def _labels(self, p: int) -> NDArray[np.intp]:
        if self.groups is None:
            return np.zeros(p, dtype=np.intp)
        labels = np.asarray(self.groups)
        if labels.shape != (p,) or not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(
                f"groups must hold one integer for each of the {p} inputs, got shape "
                f"{labels.shape} of {labels.dtype}."
            )
        if not np.any(labels >= 0):
            raise ValueError("groups has no group: every number is negative.")
        return labels.astype(np.intp)


class _Search:
    """Exchanges, and branch and bound over the choices in each group."""

    def __init__(
        self, X: Array, y: Array, always: NDArray[np.intp], groups: Groups, max_nodes: int
    ) -> None:
        self.X, self.y = _off(X[:, always], X), _off(X[:, always], y)
        self.groups, self.max_nodes = groups, max_nodes
        self.slack = 1e-9 * 0.5 * float(self.y @ self.y) + 1e-300
        self.length = np.linalg.norm(self.X, axis=0)
        self.dead = self.length <= DEPENDENT * max(float(np.linalg.norm(X)), 1e-300)
        self.seen = 0
        self.relaxation, _ = self.relax({})

    def relax(self, fixed: dict[int, int]) -> tuple[AlternativesRelaxation, list[int]]:
        """Return the relaxation of the groups that are open, at the scale of their own columns."""
        taken = np.array(list(fixed.values()), dtype=np.intp)
        Xf, yf = _off(self.X[:, taken], self.X), _off(self.X[:, taken], self.y)
        length = np.linalg.norm(Xf, axis=0)
        alive = ~self.dead & (length > DEPENDENT * np.maximum(self.length, 1e-300))
        open_groups = [k for k in range(len(self.groups)) if k not in fixed]
        columns = [g[alive[g]] for g in (self.groups[k] for k in open_groups)]
        flat = np.concatenate([*columns, np.zeros(0, dtype=np.intp)]).astype(np.intp)
        ends = np.cumsum([0, *(len(g) for g in columns)])
        local = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
        answer = relax_alternatives(Xf[:, flat] / length[flat], yf, local)
        self.seen += 1
        w = np.zeros(self.X.shape[1])
        w[flat] = answer.coef
        whole = AlternativesRelaxation(w, answer.weight, answer.bound, answer.exact)
        return whole, open_groups

    def run(self) -> tuple[list[int], float]:
        """Return the column chosen in each group, and a lower bound for every choice."""
        if len(self.groups) == 1:
            best = self.best_of(self.groups[0], self.X, self.y)
            return [best], self.cost([best])
        chosen = self.exchange(self.pick(self.relaxation, {}))
        cost = self.cost(chosen)
        heap: list[tuple[float, int, dict[int, int], AlternativesRelaxation]] = []
        count = itertools.count()
        heapq.heappush(heap, (self.relaxation.bound, next(count), {}, self.relaxation))
        while heap:
            bound, _, fixed, relaxed = heap[0]
            if bound >= cost - self.slack or self.seen > self.max_nodes:
                return chosen, min(bound, cost)
            heapq.heappop(heap)
            open_groups = [k for k in range(len(self.groups)) if k not in fixed]
            v = np.abs(relaxed.coef)
            crossed = [
                v[self.groups[k]].sum() ** 2 - (v[self.groups[k]] ** 2).sum() for k in open_groups
            ]
            k = open_groups[int(np.argmax(crossed))]
            for column in self.groups[k]:
                child = fixed | {k: int(column)}
                answer, left = self.relax(child)
                if answer.exact or not left:
                    found = self.exchange(self.pick(answer, child))
                    value = self.cost(found)
                    if value < cost:
                        chosen, cost = found, value
                if answer.bound < cost - self.slack and left:
                    heapq.heappush(heap, (answer.bound, next(count), child, answer))
        return chosen, cost

    def pick(self, relaxed: AlternativesRelaxation, fixed: dict[int, int]) -> list[int]:
        """Return the largest coefficient of each group that is open."""
        v = np.abs(relaxed.coef)
        return [
            fixed[k] if k in fixed else int(g[np.argmax(v[g])]) for k, g in enumerate(self.groups)
        ]

    def best_of(self, group: NDArray[np.intp], X: Array, y: Array) -> int:
        square = np.sum(X[:, group] ** 2, axis=0)
        alive = square > (DEPENDENT * np.maximum(self.length[group], 1e-300)) ** 2
        gain = np.where(alive, (X[:, group].T @ y) ** 2 / np.where(alive, square, 1.0), 0.0)
        return int(group[np.argmax(gain)])

    def exchange(self, chosen: list[int]) -> list[int]:
        """Improve one group after the other, the others fixed, until none can be."""
        cost, better = self.cost(chosen), True
        while better:
            better = False
            for k, group in enumerate(self.groups):
                others = np.array(chosen[:k] + chosen[k + 1 :], dtype=np.intp)
                X, y = _off(self.X[:, others], self.X), _off(self.X[:, others], self.y)
                trial = [*chosen[:k], self.best_of(group, X, y), *chosen[k + 1 :]]
                value = self.cost(trial)
                if value < cost - 1e-12 * self.slack:
                    chosen, cost, better = trial, value, True
        return chosen

    def cost(self, chosen: list[int]) -> float:
        r = _off(self.X[:, chosen], self.y)
        return 0.5 * float(r @ r)


def _off(Z: Array, target: Array) -> Array:
    """Project a vector or columns off other columns."""
    if not Z.shape[1]:
        return target
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    U = U[:, s > DEPENDENT * s[0]]
    return np.asarray(target - U @ (U.T @ target))
