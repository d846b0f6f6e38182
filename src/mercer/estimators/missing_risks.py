"""Losses of rows with missing cells: expected over a law of the cells, or of a mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer._params import Params
from mercer._typing import Array
from mercer.gram.low_rank import LowRank
from mercer.losses.base import Loss
from mercer.machines.completion import LAWS, CompletedRows, Law
from mercer.machines.missing_cells import Components
from mercer.machines.solving import EarlyStop
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import Auto, Solution, minimize

__all__ = ["STRATEGIES", "ExpectedRisk", "GapStrategy", "MeanEmbedding", "Reading"]


RULES = ("draws", "quadrature")
"""How means over what may stand in the gaps are computed."""


class Reading(ABC):
    """A fitted sum of components, at rows with gaps."""

    parts: Components
    W: Array
    b: Array

    @abstractmethod
    def between(self, X: Array) -> tuple[Array, Array, Array]:
        """Return values, and the least and largest ones that the gaps leave open, (n, m) each."""


@dataclass(frozen=True, eq=False)
class ByComponent(Reading):
    """A missing component contributes its centre, between its bounds, (P, m) each."""

    parts: Components
    W: Array
    b: Array
    centre: Array
    low: Array
    high: Array

    def between(self, X: Array) -> tuple[Array, Array, Array]:
        f = self.parts.values(X, self.W)
        gap = np.isnan(f)
        middle, low, high = (
            np.where(gap, bound, f).sum(axis=1) + self.b
            for bound in (self.centre, self.low, self.high)
        )
        return middle, low, high


@dataclass(frozen=True, eq=False)
class ByDraws(Reading):
    """A row with gaps has the mean of its completions, between their extremes."""

    parts: Components
    W: Array
    b: Array
    complete: Callable[[Array], CompletedRows]

    def between(self, X: Array) -> tuple[Array, Array, Array]:
        copies = self.complete(X)
        f = self.parts.features(copies.X) @ self.W + self.b
        starts = np.flatnonzero(np.diff(copies.source, prepend=-1))
        if not len(starts):
            return f, f, f
        middle = np.add.reduceat(f * copies.share[:, None], starts)
        return middle, np.minimum.reduceat(f, starts), np.maximum.reduceat(f, starts)


class GapStrategy(Params, ABC):
    """How a row with gaps is charged."""

    @abstractmethod
    def solve(
        self,
        X: Array,
        make: Any,
        loss: Loss,
        Y: Array,
        c: Array,
        tol: float,
        max_time: float | None,
    ) -> tuple[Reading, list[Solution]]:
        """Fit one function for each column of the targets.

        Parameters
        ----------
        X : (n, d) array
            Rows, nan where a cell is missing.
        make : callable
            From rows to the :class:`Components` that they span.
        loss : Loss
        Y : (n, m) array
            Targets.
        c : (n,) array
            Weights of the losses, positive.
        tol, max_time :
            Of the solver.
        """


@dataclass(eq=False)
class Completing(GapStrategy):
    """A strategy that needs a law of the missing cells."""

    draws: int = 10
    law: str = "marginal"
    random_state: int = 0
    rule: str = "draws"
    nodes: int = 7

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {sorted(RULES)}, got {self.rule!r}.")
        if int(self.nodes) != self.nodes or self.nodes < 1:
            raise ValueError(f"nodes must be a positive number, got {self.nodes!r}.")
        if int(self.draws) != self.draws or self.draws < 1:
            raise ValueError(f"draws must be a positive number of copies, got {self.draws!r}.")
        if self.law not in LAWS:
            raise ValueError(f"law must be one of {sorted(LAWS)}, got {self.law!r}.")

    @abstractmethod
    def _rows(self, F: Array, copies: CompletedRows) -> tuple[Array, NDArray[np.intp], Array]:
        """Return features, samples and shares of what is charged, from features of the copies."""

    def _exact(
        self, parts: Components, X: Array, loss: Loss, c: Array
    ) -> tuple[Array, Array] | None:
        """Return features that need no draws and the way back to coefficients, if there are."""
        return None

    def solve(
        self,
        X: Array,
        make: Any,
        loss: Loss,
        Y: Array,
        c: Array,
        tol: float,
        max_time: float | None,
    ) -> tuple[Reading, list[Solution]]:
        parts: Components = make(X)
        cellwise = parts.separate and self.law == "marginal"
        exact = self._exact(parts, X, loss, c) if cellwise else None
        if exact is not None:
            W, b, solutions = _minimize(loss, exact[0], Y, c, tol, max_time)
            return _marginal(parts, X, c, exact[1] @ W, b), solutions
        law: Law = LAWS[self.law](X, c)
        if self.rule == "quadrature":
            complete = partial(law.grid, nodes=self.nodes, draws=self.draws, seed=self.random_state)
        else:
            complete = partial(law.copies, draws=self.draws, seed=self.random_state)
        copies = complete(X)
        # Draws are values of the sample where cells are drawn by themselves; nodes are not.
        parts = parts if cellwise and self.rule == "draws" else make(copies.X)
        G, index, share = self._rows(parts.features(copies.X), copies)
        W, b, solutions = _minimize(loss.take(index), G, Y[index], c[index] * share, tol, max_time)
        if cellwise:
            return _marginal(parts, X, c, W, b), solutions
        return ByDraws(parts, W, b, complete), solutions


@dataclass(eq=False)
class ExpectedRisk(Completing):
    r"""The expected loss over the law of the missing cells: the integrated empirical risk.

    .. math:: \sum_i c_i\, E\, l(y_i, f(X_i)), \qquad X_i = x_i \text{ where it is observed}

    For functions of single columns, the squared loss and cells that are missing independently of
    each other this is one linear system: with mean :math:`m_p` and variance :math:`v_p` of
    :math:`f_p` over the samples that have it,

    .. math:: E\, (y_i - f(X_i))^2 = \Bigl(y_i - b - \sum_{p \text{ there}} f_p(x_i)
              - \sum_{p \text{ missing}} m_p\Bigr)^2 + \sum_{p \text{ missing}} v_p .

    Otherwise (another loss, functions of several columns, or ``law="normal"``) the mean is not
    computed but approximated: each row with gaps is replaced by completed copies of it that share
    its weight. By default these are ten stratified random draws, and the mean has the error of ten
    draws; ``rule="quadrature"`` takes the nodes of Gauss's rule for rows with one or two gaps
    instead, which is exact for polynomials of degree 13 in each missing cell and close for losses
    of functions that bend little within a standard deviation of the cell. The duality gap in
    ``solution_`` is of the problem over the copies.

    A component that a share q of the rows lacks is drawn towards its mean, by the factor 1 - q
    where norms do not matter: what is known of a row then decides less.

    Parameters
    ----------
    draws : int, default=10
        Copies of a row with gaps, where the mean is not known in closed form.
    law : {"marginal", "normal"}, default="marginal"
        Missing cells have the values observed in their columns, independently; or a normal law
        given the cells that are there.
    random_state : int, default=0
        Seed of the draws.
    rule : {"draws", "quadrature"}, default="draws"
        Copies of a row are random draws; or the nodes of a product of Gauss rules, if the row has
        so few gaps that these are at most 64 (others are drawn). For ``law="normal"`` the rule is
        Gauss and Hermite's, for ``"marginal"`` that of the values observed in the column.
    nodes : int, default=7
        Nodes for each missing cell.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition 6.2 and eqs. (6.47) and
    (6.48), where the integral is over x and the marginal that of the component.

    Examples
    --------
    >>> from mercer.estimators import ExpectedRisk
    >>> ExpectedRisk(draws=20)
    ExpectedRisk(draws=20, law='marginal', random_state=0, rule='draws', nodes=7)
    """

    def _rows(self, F: Array, copies: CompletedRows) -> tuple[Array, NDArray[np.intp], Array]:
        return F, copies.source, copies.share

    def _exact(
        self, parts: Components, X: Array, loss: Loss, c: Array
    ) -> tuple[Array, Array] | None:
        return _averaged(parts, X, c, spread=True) if loss.quadratic else None


@dataclass(eq=False)
class MeanEmbedding(Completing):
    r"""The loss of the mean of the function over the law of the missing cells.

    .. math:: \sum_i c_i\, l(y_i, E f(X_i)), \qquad
              k(i, j) = E\, k(X_i, X_j), \quad X_i, X_j \text{ independent}

    A row with gaps is one point of the space of the kernel, the mean of its completions. That is
    less than the expected loss, by as much as f may vary, and nothing is drawn towards its mean.
    For functions of single columns there is nothing to draw.

    Parameters
    ----------
    draws, law, random_state, rule, nodes :
        As in :class:`ExpectedRisk`.

    References
    ----------
    A. Smola, A. Gretton, L. Song and B. Schoelkopf, *A Hilbert space embedding for distributions*,
    Algorithmic Learning Theory 2007.

    Examples
    --------
    >>> from mercer.estimators import MeanEmbedding
    >>> MeanEmbedding(law="normal")
    MeanEmbedding(draws=10, law='normal', random_state=0, rule='draws', nodes=7)
    """

    def _rows(self, F: Array, copies: CompletedRows) -> tuple[Array, NDArray[np.intp], Array]:
        starts = np.flatnonzero(np.diff(copies.source, prepend=-1))
        G = np.add.reduceat(F * copies.share[:, None], starts)
        return G, np.arange(len(G)), np.ones(len(G))

    def _exact(
        self, parts: Components, X: Array, loss: Loss, c: Array
    ) -> tuple[Array, Array] | None:
        return _averaged(parts, X, c, spread=False)


def _averaged(parts: Components, X: Array, c: Array, spread: bool) -> tuple[Array, Array]:
    r"""Return features with means where they are missing, and the way back to coefficients.

    With ``spread`` their squared loss is the expected one: the variances add
    :math:`\tfrac12 n_p w_p' V_p w_p` to the norm, with the covariance :math:`V_p` of the features
    where they are there and the weight :math:`n_p` of the samples that lack them. With
    :math:`1 + n_p V_p = R_p'R_p` the penalty is the length of :math:`R_p w_p`.
    """
    F, there = parts.features(X), parts.observed(X)
    back = np.zeros((parts.r, parts.r))
    for p, at in enumerate(parts.slices):
        seen = there[:, p]
        weights = c[seen] / c[seen].sum()
        mean = weights @ F[seen, at]
        F[~seen, at] = mean
        if not spread:
            back[at, at] = np.eye(len(mean))
            continue
        Z = np.sqrt(weights * c[~seen].sum())[:, None] * (F[seen, at] - mean)
        R = la.cholesky(np.eye(Z.shape[1]) + Z.T @ Z)
        back[at, at] = la.solve_triangular(R, np.eye(len(R)))
    return F @ back, back


def _marginal(parts: Components, X: Array, c: Array, W: Array, b: Array) -> ByComponent:
    """Let missing components contribute their means over the samples that have them."""
    f = parts.values(X, W)
    weights = c[:, None] * parts.observed(X)
    centre = np.einsum("ip,ipm->pm", weights / weights.sum(axis=0), np.nan_to_num(f))
    if not parts.parts:
        return ByComponent(parts, W, b, centre, centre, centre)
    return ByComponent(parts, W, b, centre, np.nanmin(f, axis=0), np.nanmax(f, axis=0))


def _minimize(
    loss: Loss, G: Array, Y: Array, c: Array, tol: float, max_time: float | None
) -> tuple[Array, Array, list[Solution]]:
    """Minimize a risk over features and a constant, for each column of targets."""
    K, one = LowRank(G), np.ones((len(G), 1))
    solver = Auto(tol=tol, max_time=max_time)
    solutions = [
        minimize(RegularizedRisk(loss, K, y, c, one), solver, warning=EarlyStop) for y in Y.T
    ]
    W = np.stack([G.T @ s.a for s in solutions], axis=1)
    return W, np.array([s.b[0] for s in solutions]), solutions


STRATEGIES: dict[str, type[GapStrategy]] = {
    "expected": ExpectedRisk,
    "embedded": MeanEmbedding,
}
"""Strategies by name."""


def named(strategy: GapStrategy | str) -> GapStrategy:
    """Return the strategy meant by a name."""
    return STRATEGIES[strategy]() if isinstance(strategy, str) else strategy
