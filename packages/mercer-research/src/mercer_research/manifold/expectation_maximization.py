r"""Expectation maximization of a generative topographic map, by sums over blocks of rows.

.. math:: p(x) = \frac1L \sum_l \Bigl(\frac{\beta}{2\pi}\Bigr)^{d/2}
          \exp\Bigl(-\frac\beta2 \|x - f(u_l)\|^2\Bigr), \qquad f(u) = W'\phi(u)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer._deadline import time_left
from mercer.data.base import Block, Sums
from mercer.kernels.points import Array
from mercer.manifold.adaptation import Penalty

__all__ = ["Ascent", "Mixture", "expect_block", "maximize", "raise_likelihood", "responsibilities"]

# Part of the mean variance of the features below which noise does not fall: a map through all of
# the rows would make it vanish, and the likelihood infinite.
FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians of one width, equally likely, around images of latent points.

    Parameters
    ----------
    P : (L, s) array
        Columns of the map at the latent points.
    W : (s, d) array
        Coefficients, of rows less `mean`.
    beta : float
        Precision of the noise.
    mean : (d,) array
        Subtracted from rows, so that squares keep their digits.
    """

    P: Array
    W: Array
    beta: float
    mean: Array


def responsibilities(mixture: Mixture, X: Array) -> tuple[Array, Array]:
    """Return posterior probabilities of latent points, (n, L), and log densities of rows, (n,).

    Parameters
    ----------
    mixture : Mixture
    X : (n, d) array
        Rows; cells that are missing (NaN) are integrated out.
    """
    F = mixture.P @ mixture.W
    R = X - mixture.mean
    known = ~np.isnan(R)
    if known.all():
        apart = np.einsum("ld,ld->l", F, F) - 2.0 * R @ F.T
        apart += np.einsum("nd,nd->n", R, R)[:, None]
    else:
        R = np.where(known, R, 0.0)
        mask = known.astype(np.float64)
        apart = mask @ (F**2).T - 2.0 * R @ F.T + np.einsum("nd,nd->n", R, R)[:, None]
    # Negative only by rounding; a power below zero would count as a density above the largest.
    logs = -0.5 * mixture.beta * np.maximum(apart, 0.0)
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - top)
    total = weights.sum(axis=1, keepdims=True)
    cells = known.sum(axis=1)
    density = (top + np.log(total))[:, 0] - np.log(len(F))
    density = density + 0.5 * cells * np.log(mixture.beta / (2.0 * np.pi))
    return weights / total, np.asarray(density)


def expect_block(block: Block, shared: bool, state: Mixture) -> Sums:
    """Return the sums of a block that the next maximization needs.

    Parameters
    ----------
    block : Block
    shared : bool
        Whether some cells of some block are missing.
    state : Mixture
    """
    X = np.asarray(block.X, dtype=np.float64)
    s = np.ones(len(X)) if block.s is None else np.asarray(block.s, dtype=np.float64)
    R, density = responsibilities(state, X)
    R *= s[:, None]
    rows = X - state.mean
    known = ~np.isnan(rows)
    rows = np.where(known, rows, 0.0)
    return Sums(
        G=R.T @ known.astype(np.float64) if shared else R.sum(axis=0),
        X=R.T @ rows,
        square=np.einsum("n,nd,nd->d", s, rows, rows),
        likelihood=float(s @ density),
        cells=float(s @ known.sum(axis=1)),
    )


def normal_of(P: Array, sums: Sums) -> Sums:
    """Return sums of a squared cost whose weights are the responsibilities."""
    G = sums["G"]
    if G.ndim == 1:
        A = (P * G[:, None]).T @ P
    else:
        A = np.stack([(P * g[:, None]).T @ P for g in G.T])
    return Sums(A=A, b=P.T @ sums["X"], square=sums["square"])


def maximize(
    mixture: Mixture, sums: Sums, r: int, mu: float, *, fixed: bool, floor: float
) -> Mixture:
    r"""Return the coefficients, then the precision, that are best for given responsibilities.

    .. math:: \Bigl(\Phi'G\Phi + \frac\mu\beta I_r\Bigr) W = \Phi'R'X, \qquad
              \frac1\beta = \frac{1}{md} \sum_{il} r_{il} \|x_i - f(u_l)\|^2

    Parameters
    ----------
    mixture : Mixture
    sums : Sums
        Of :func:`expect_block`.
    r : int
        Number of penalized columns.
    mu : float
        Precision of the prior of their coefficients.
    fixed : bool
        Whether the precision of the noise stays as it is.
    floor : float
        Least variance of the noise.
    """
    normal = normal_of(mixture.P, sums)
    # The system of an adaptation with the penalty lam nu / 2, and a divisor nu of one.
    penalty = Penalty("kernel", 2.0 * mu / mixture.beta, r)
    W = penalty.minimize(normal, 1.0, mixture.W).W
    if fixed:
        return Mixture(mixture.P, W, mixture.beta, mixture.mean)
    noise = max(penalty.fidelity(normal, 1.0, W) / sums["cells"], floor)
    return Mixture(mixture.P, W, 1.0 / noise, mixture.mean)


@dataclass(frozen=True)
class Ascent:
    """A map that expectation maximization arrived at.

    Parameters
    ----------
    mixture : Mixture
    objective : list of float
        Log-likelihood plus log prior, up to the constant of the prior, after every step.
    likelihood : list of float
        Its first term.
    converged : bool
    evidence_mu : float
        Precision of the prior for which the effective number of coefficients explains their size.
    """

    mixture: Mixture
    objective: list[float] = field(default_factory=list)
    likelihood: list[float] = field(default_factory=list)
    converged: bool = False
    evidence_mu: float = np.nan


def raise_likelihood(
    total: Callable[..., Any],
    mixture: Mixture,
    r: int,
    mu: float,
    *,
    missing: bool,
    fixed: bool,
    floor: float,
    weight: float,
    max_iter: int,
    tol: float,
) -> Ascent:
    """Alternate between expectation and maximization until the objective stops rising.

    Parameters
    ----------
    total : callable
        Sums a function of blocks over the rows, as :meth:`Source.total`.
    mixture : Mixture
        First map.
    r, mu, fixed, floor :
        As in :func:`maximize`.
    missing : bool
        Whether some cells are missing.
    weight : float
        Sum of the weights of rows.
    max_iter : int
    tol : float
        Rise of the objective for each row in one step at which it ends.
    """
    objective: list[float] = []
    likelihood: list[float] = []
    converged = False
    sums = total(expect_block, missing, mixture)
    for _ in range(max_iter):
        value = sums["likelihood"] - 0.5 * mu * float(np.sum(mixture.W[:r] ** 2))
        converged = bool(objective) and value - objective[-1] <= tol * weight
        objective.append(value)
        likelihood.append(sums["likelihood"])
        if converged or time_left() <= 0.0:
            break
        mixture = maximize(mixture, sums, r, mu, fixed=fixed, floor=floor)
        sums = total(expect_block, missing, mixture)
    best = _evidence_mu(mixture, normal_of(mixture.P, sums), r, mu)
    return Ascent(mixture, objective, likelihood, converged, best)


def _evidence_mu(mixture: Mixture, normal: Sums, r: int, mu: float) -> float:
    r"""Return :math:`\gamma / |W|^2`, where the evidence of responsibilities is stationary in mu.

    With eigenvalues :math:`\lambda_k` of :math:`\beta\Phi'G\Phi`, free columns eliminated, the
    effective number of coefficients is :math:`\gamma = \sum_k \lambda_k / (\lambda_k + \mu)`, a
    feature at a time.
    """
    d = mixture.W.shape[1]
    matrices = normal["A"] if normal["A"].ndim == 3 else normal["A"][None]
    gamma = 0.0
    for A in matrices:
        H = A[:r, :r]
        if A.shape[0] > r:
            H = H - A[:r, r:] @ la.lstsq(A[r:, r:], A[r:, :r])[0]
        spectrum = mixture.beta * np.maximum(la.eigvalsh(H), 0.0)
        gamma += float(np.sum(spectrum / (spectrum + mu)))
    gamma *= d / len(matrices)
    size = float(np.sum(mixture.W[:r] ** 2))
    return float(gamma / max(size, np.finfo(np.float64).tiny))
