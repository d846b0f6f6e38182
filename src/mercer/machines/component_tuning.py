r"""Weights and widths of components from the evidence.

.. math:: y \sim N\bigl(Bb,\; \tau (\textstyle\sum_p v_p K_p + \operatorname{diag}(1/s))\bigr)

is maximized over the weights v by gradients, which also decides how smooth each component is; a
component that the sample does not need gets a weight of almost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from mercer._typing import Array, PointsLike
from mercer.kernels.points import take
from mercer.machines.components import Term
from mercer.smoothing.criteria import Evidence
from mercer.smoothing.factored import Factored
from mercer.smoothing.pairs import some_rows
from mercer.smoothing.widths import guess_C

__all__ = ["tune_terms"]

# Rows that weights are chosen on.
WEIGHT_ROWS = 500

# Logarithms of weights are looked for this far below and above where they start.
BELOW, ABOVE = 16.0, 9.0

# Widths that are tried for all components together, and then for each.
COMMON_WIDTHS, OWN_WIDTHS = (0.5, 1.0, 2.0, 4.0), (0.5, 2.0)

# Steps of the search for weights.
MAX_STEPS = 60


def tune_terms(
    terms: Sequence[Term], X: PointsLike, Y: Array, B: Array, s: Array, widths: bool
) -> list[Term]:
    """Return the components with their maximum-likelihood weights, for a loss with C = 1.

    Parameters
    ----------
    terms : sequence of Term
    X : (n, p) points
    Y : (n, d) array
        Targets.
    B : (n, q) array
        Unpenalized columns.
    s : (n,) array
        Weights of the samples.
    widths : bool
        Choose widths of the kernels too.
    """
    live = np.flatnonzero(s > 0)
    rows = live[some_rows(len(live), WEIGHT_ROWS)]
    X, Y, B, s = take(X, rows), Y[rows], B[rows], s[rows]
    if len(rows) <= B.shape[1] + 1 or np.all(np.ptp(Y, axis=0) == 0):
        return list(terms)

    def matrix(term: Term) -> Array:
        return np.asarray(term.kernel(X), dtype=np.float64)

    best: tuple[float, Array, list[Term], list[Array]] | None = None
    for factor in COMMON_WIDTHS if widths else (1.0,):
        some = [term if term.categorical else term.stretched(factor) for term in terms]
        Ks = [matrix(term) for term in some]
        value, eta = _most_likely(Ks, Y, B, s)
        if best is None or value < best[0]:
            best = value, eta, some, Ks
    assert best is not None
    value, eta, chosen, Ks = best
    if widths:
        for p, term in enumerate(chosen):
            if term.categorical or eta[p] < np.max(eta) - BELOW / 2:
                continue
            for factor in OWN_WIDTHS:
                other = term.stretched(factor)
                trial = [*Ks[:p], matrix(other), *Ks[p + 1 :]]
                found = _evidence(eta, trial, Y, B, s)[0]
                if found < value - 1e-6:
                    value, Ks, chosen = found, trial, [*chosen[:p], other, *chosen[p + 1 :]]
        _, eta = _most_likely(Ks, Y, B, s, eta)
    return [replace(term, weight=float(np.exp(e))) for term, e in zip(chosen, eta, strict=True)]


def _most_likely(
    Ks: Sequence[Array], Y: Array, B: Array, s: Array, start: Array | None = None
) -> tuple[float, Array]:
    """Return minus the evidence and the logarithms of the weights that maximize it."""
    if start is None:
        first = guess_C(np.sum(Ks, axis=0), Y, B, s).C
        start = np.full(len(Ks), np.log(first))
    bounds = [(e - BELOW, e + ABOVE) for e in start]
    found = minimize(
        _evidence,
        start,
        (Ks, Y, B, s),
        "L-BFGS-B",
        True,
        bounds=bounds,
        options={"maxiter": MAX_STEPS},
    )
    return float(found.fun), np.asarray(found.x)


def _evidence(eta: Array, Ks: Sequence[Array], Y: Array, B: Array, s: Array) -> tuple[float, Array]:
    """Return minus the evidence per sample and its slopes in the logarithms of the weights."""
    weights = np.exp(eta)
    K = sum((w * M for w, M in zip(weights, Ks, strict=True)), np.zeros_like(Ks[0]))
    value, G, _ = Evidence().gradient(Factored(K, B, s, C=1.0), Y)
    return value, np.array([w * np.vdot(G, M) for w, M in zip(weights, Ks, strict=True)])
