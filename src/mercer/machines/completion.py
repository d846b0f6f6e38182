"""Completion of missing cells: laws, and rows completed from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.stats import norm

from mercer._typing import Array

__all__ = ["LAWS", "CompletedRows", "Law", "Marginals", "Normal"]


# Nodes of a product rule for one row, at most: two cells by seven nodes, three by four.
MAX_NODES = 64


class CompletedRows(NamedTuple):
    """Completed rows, the row that each is a copy of, and its share of it."""

    X: Array
    source: NDArray[np.intp]
    share: Array


class Law(ABC):
    """A law of missing cells given the others, from a sample with weights.

    A row without gaps is its only copy. Draws are stratified: the draws of a cell fall one into
    each of as many parts of equal probability, in an order of its own for each cell, so that every
    copy has the law and their mean has far less variance than of independent ones.
    """

    @abstractmethod
    def __init__(self, X: Array, s: Array) -> None: ...

    @abstractmethod
    def drawn(self, j: int, u: Array) -> Array:
        """Return coordinates of the cells of a column at levels ``u`` in (0, 1)."""

    @abstractmethod
    def rule(self, j: int, nodes: int) -> tuple[Array, Array]:
        """Return coordinates and weights of Gauss's rule for the cells of a column."""

    @abstractmethod
    def place(self, X: Array, V: Array) -> Array:
        """Return rows with the gaps filled from coordinates, of the shape of the rows."""

    def grid(self, X: Array, nodes: int, draws: int, seed: int) -> CompletedRows:
        """Return completed copies of rows at the nodes of a product rule.

        Rows with so many gaps that their product has more than :data:`MAX_NODES` nodes are drawn.
        """
        gaps = np.isnan(X)
        few = np.asarray(nodes ** gaps.sum(axis=1).astype(float) <= MAX_NODES)
        parts = [self.copies(X[~few], draws, seed)]
        parts[0] = parts[0]._replace(source=np.flatnonzero(~few)[parts[0].source])
        for rows, there in _patterns(~gaps):
            rows, cells = rows[few[rows]], np.flatnonzero(~there)
            if not len(rows):
                continue
            rules = [self.rule(int(j), nodes) for j in cells]
            size = int(np.prod([len(v) for v, _ in rules], initial=1))
            V, share = np.zeros((size, X.shape[1])), np.ones(size)
            axes = np.indices([len(v) for v, _ in rules]).reshape(len(rules), size)
            for j, (v, w), at in zip(cells, rules, axes, strict=True):
                V[:, j], share = v[at], share * w[at]
            source = np.repeat(rows, size)
            completed = self.place(X[source], np.tile(V, (len(rows), 1)))
            parts.append(CompletedRows(completed, source, np.tile(share, len(rows))))
        completed = np.concatenate([part.X for part in parts])
        source = np.concatenate([part.source for part in parts])
        share = np.concatenate([part.share for part in parts])
        order = np.argsort(source, kind="stable")
        return CompletedRows(completed[order], source[order], share[order])

    def copies(self, X: Array, draws: int, seed: int) -> CompletedRows:
        """Return completed copies of rows, ``draws`` of each one with gaps."""
        partial = np.asarray(np.isnan(X).any(axis=1))
        index = np.repeat(np.arange(len(X)), np.where(partial, draws, 1))
        rng = np.random.default_rng(seed)
        which = np.flatnonzero(partial)
        strata = rng.permuted(
            np.broadcast_to(np.arange(draws), (len(which), X.shape[1], draws)), axis=2
        )
        u = ((strata + rng.uniform(size=strata.shape)) / draws).transpose(0, 2, 1)
        completed = X[index]
        rows = partial[index]
        u = u.reshape(-1, X.shape[1])
        V = np.column_stack([self.drawn(j, u[:, j]) for j in range(X.shape[1])])
        completed[rows] = self.place(completed[rows], V)
        return CompletedRows(completed, index, np.where(partial, 1.0 / draws, 1.0)[index])


class Marginals(Law):
    """Every cell by itself, with the law of its column: a value observed there, by its weight.

    Parameters
    ----------
    X : (n, d) array
        Rows, nan where a cell is missing.
    s : (n,) array
        Their weights.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    >>> Marginals(X, np.ones(3)).copies(X, 2, seed=0).X
    array([[1., 5.],
           [2., 5.],
           [2., 7.],
           [3., 7.]])
    """

    def __init__(self, X: Array, s: Array) -> None:
        self.values: list[Array] = []
        self.levels: list[Array] = []
        for column in X.T:
            there = ~np.isnan(column)
            order = np.argsort(column[there], kind="stable")
            weights = s[there][order]
            self.values.append(column[there][order])
            self.levels.append(np.cumsum(weights) / max(float(weights.sum()), 1e-300))

    def drawn(self, j: int, u: Array) -> Array:
        at = np.searchsorted(self.levels[j], u, side="right")
        values = self.values[j]
        return values[np.minimum(at, len(values) - 1)] if len(values) else np.full(len(u), np.nan)

    def rule(self, j: int, nodes: int) -> tuple[Array, Array]:
        """Return the Gauss rule of the column's values, exact for degrees below ``2 nodes``.

        By Lanczos's recursion; a column with as few different values is its own rule.
        """
        values, which = np.unique(self.values[j], return_inverse=True)
        weights = np.zeros(len(values))
        np.add.at(weights, which.ravel(), np.diff(self.levels[j], prepend=0.0))
        if len(values) <= nodes:
            return values, weights
        middle, unit = weights @ values, float(np.ptp(values))
        x = (values - middle) / unit
        basis = np.sqrt(weights)[:, None]
        main, side = np.zeros(nodes), np.zeros(nodes - 1)
        for k in range(nodes):
            z = x * basis[:, k]
            main[k] = z @ basis[:, k]
            z -= basis @ (basis.T @ z)
            z -= basis @ (basis.T @ z)
            if k < nodes - 1:
                side[k] = np.linalg.norm(z)
                basis = np.column_stack([basis, z / side[k]])
        at, vectors = la.eigh_tridiagonal(main, side)
        return middle + unit * at, vectors[0] ** 2

    def place(self, X: Array, V: Array) -> Array:
        return np.where(np.isnan(X), V, X)


# Sweeps of expectation and maximization, and the change in units of standard deviations that
# ends them: draws are far coarser than this.
SWEEPS, STILL = 200, 1e-6


class Normal(Law):
    r"""A normal law of rows: missing cells given those that are there.

    .. math:: x_m \mid x_o \sim N\bigl(\mu_m + S_{mo} S_{oo}^{-1} (x_o - \mu_o),\;
              S_{mm} - S_{mo} S_{oo}^{-1} S_{om}\bigr)

    Mean and covariance are those of largest likelihood of the cells that are there, by
    expectation and maximization, so that gaps may depend on what is seen.

    Parameters
    ----------
    X, s :
        As in :class:`Marginals`.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin, *Maximum likelihood from incomplete data via the EM
    algorithm*, J. R. Statist. Soc. B 39 (1977), sec. 4.1.

    Examples
    --------
    >>> X = np.array([[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0], [5.0, np.nan]])
    >>> law = Normal(X, np.ones(4))
    >>> law.mean.round(3)
    array([1.25, 2.5 ])
    """

    def __init__(self, X: Array, s: Array) -> None:
        there = ~np.isnan(X)
        total = float(s.sum())
        weight = np.maximum(s @ there, 1e-300)
        self.mean = s @ np.where(there, X, 0.0) / weight
        spread = s @ np.where(there, (X - self.mean) ** 2, 0.0) / weight
        scale = np.sqrt(np.where(spread > 0, spread, 1.0))
        self.covariance = np.diag(np.maximum(spread, 1e-12 * scale**2))
        patterns = _patterns(there)
        for _ in range(SWEEPS):
            first, second = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
            for rows, o in patterns:
                slope, left = self._given(o)
                Z = X[rows] - self.mean
                Z[:, ~o] = Z[:, o] @ slope
                first += s[rows] @ Z
                second += (Z.T * s[rows]) @ Z
                second[np.ix_(~o, ~o)] += s[rows].sum() * left
            step = first / total
            self.mean = self.mean + step
            # A ridge of a millionth: columns that depend on each other leave it invertible.
            before = self.covariance
            self.covariance = second / total - np.outer(step, step) + np.diag(1e-6 * scale**2)
            turn = np.abs(self.covariance - before) / np.outer(scale, scale)
            if max(np.max(np.abs(step) / scale), np.max(turn)) < STILL:
                break

    def _given(self, o: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return what missing cells are per cell that is there, and what is left of their law."""
        S = self.covariance
        if not o.any():
            return np.zeros((0, len(o))), S
        slope = la.solve(S[np.ix_(o, o)], S[np.ix_(o, ~o)], assume_a="pos")
        return slope, S[np.ix_(~o, ~o)] - S[np.ix_(~o, o)] @ slope

    def drawn(self, j: int, u: Array) -> Array:
        return np.asarray(norm.ppf(np.clip(u, 1e-12, 1.0 - 1e-12)))

    def rule(self, j: int, nodes: int) -> tuple[Array, Array]:
        """Return the rule of Gauss and Hermite, exact for degrees below ``2 nodes``."""
        x, w = np.polynomial.hermite_e.hermegauss(nodes)
        return x, w / w.sum()

    def place(self, X: Array, V: Array) -> Array:
        X, there = X.copy(), ~np.isnan(X)
        for rows, o in _patterns(there):
            if o.all():
                continue
            slope, left = self._given(o)
            values, vectors = la.eigh(left)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            z = V[rows][:, ~o]
            middle = self.mean[~o] + (X[np.ix_(rows, o)] - self.mean[o]) @ slope
            X[np.ix_(rows, ~o)] = middle + z @ root.T
        return X


def _patterns(there: NDArray[np.bool_]) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Return the rows of each pattern of gaps."""
    kinds, which = np.unique(there, axis=0, return_inverse=True)
    which = np.asarray(which).ravel()
    return [(np.flatnonzero(which == k), kind) for k, kind in enumerate(kinds)]


LAWS: dict[str, Any] = {"marginal": Marginals, "normal": Normal}
"""Laws of missing cells by name."""
