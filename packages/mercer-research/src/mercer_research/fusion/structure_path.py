r"""Structure detection and its validation fused with a least-squares substrate.

.. math:: \min_\rho \tfrac12 |y^v - \Omega^v \alpha|^2 \qquad\text{such that } \alpha
          \text{ minimizes } \tfrac12 |y - \Omega \alpha|^2 + \rho\, P(\alpha)

with the maximal variation of components or the 1-norm of coefficients as P.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.programs.variation import Variation, VariationProblem
from mercer_research.fusion.hierarchy import FusedPath
from mercer_research.linear.lasso import lasso_homotopy

__all__ = ["fuse_sparse_substrate", "fuse_structure"]

GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def fuse_sparse_substrate(
    K: ArrayLike, y: ArrayLike, K_val: ArrayLike, y_val: ArrayLike
) -> FusedPath:
    r"""Choose the penalty of a sparse substrate by a validation sample, exactly.

    .. math:: \min_\zeta \tfrac12 |y^v - K^v a - b|^2, \qquad
              a, b \text{ minimize } \tfrac12 |y - Ka - b|^2 + \zeta \|a\|_1

    Coefficients are linear in :math:`\zeta` between knots, so that the cost is a parabola there and
    the best of all is found without a grid.

    Parameters
    ----------
    K : (n, m) array
        Functions at the training sample; similarities of any kind.
    y : (n,) array
        Targets.
    K_val : (n_v, m) array
        The functions at the validation sample.
    y_val : (n_v,) array
        Its targets.

    Returns
    -------
    FusedPath
        With ``hyperparameters["zeta"]``, coefficients a and b, and a certificate.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, figure 8.7, where slacks change
    places and the matrix of the validation sample is missing.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (90, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=90)
    >>> kernel = Gaussian(0.6)
    >>> found = fuse_sparse_substrate(kernel(X[:60]), y[:60], kernel(X[60:], X[:60]), y[60:])
    >>> found.certified, int(np.count_nonzero(found.coefficients[0])) < 20
    (True, True)
    """
    A, target = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    new, wanted = np.asarray(K_val, dtype=np.float64), np.asarray(y_val, dtype=np.float64)
    middle, mean = A.mean(axis=0), float(target.mean())
    path = lasso_homotopy(A - middle, target - mean)
    # Twice the penalty of half the squares.
    zetas = 0.5 * np.asarray(path.parameters)
    values = path.coefs @ (new - middle).T + mean
    best, where, coef = np.inf, float(zetas[0]), path.coefs[0]
    for k in range(len(zetas)):
        nxt = min(k + 1, len(zetas) - 1)
        step = values[nxt] - values[k]
        square = float(step @ step)
        share = float(np.clip(step @ (wanted - values[k]) / square, 0, 1)) if square > 0 else 0.0
        cost = 0.5 * float(np.sum((wanted - values[k] - share * step) ** 2))
        if cost < best:
            best = cost
            where = float((1 - share) * zetas[k] + share * zetas[nxt])
            coef = (1 - share) * path.coefs[k] + share * path.coefs[nxt]
    intercept = np.array([mean - float(middle @ coef)])
    edge = bool(where in (float(zetas[0]), float(zetas[-1])))
    return FusedPath(
        value=best,
        hyperparameters={"zeta": where},
        coefficients=(coef, intercept),
        lower_bound=best,
        certified=True,
        strategy="path",
        interval=(where, where),
        at_boundary=edge,
    )


def fuse_structure(
    problem: VariationProblem,
    designs: Sequence[ArrayLike],
    B_val: ArrayLike,
    y_val: ArrayLike,
    *,
    n_mus: int = 50,
    smallest: float = 1e-3,
    steps: int = 20,
    tol: float = 1e-6,
) -> tuple[FusedPath, Variation]:
    r"""Choose the weight of the variation by a validation sample.

    A logarithmic grid, each program from the rows of the one before, and golden sections around the
    best: between its kinks the cost of validation is smooth in :math:`\mu`, but it may have several
    valleys, so that nothing is certified.

    Parameters
    ----------
    problem : VariationProblem
        The training sample; ``ridge=0`` and a ``span`` make it a substrate.
    designs : sequence of (n_v, r_p) arrays
        The functions of each component at the validation sample.
    B_val : (n_v, q) array
        Unpenalized columns there.
    y_val : (n_v,) array
        Targets there.
    n_mus, smallest : int and float
        The grid, and its end relative to where nothing is left.
    steps : int, default=20
        Golden sections.
    tol : float, default=1e-6
        Relative gap of the programs.

    Returns
    -------
    FusedPath, Variation
        The choice, and the solution there.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 8.4.2, eq. (8.40)-(8.43),
    with transposes in the conditions.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> from mercer.programs.variation import Part
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (90, 3))
    >>> y = 3 * X[:, 0] + rng.normal(size=90)
    >>> parts = [Part(x[:60, None], np.arange(60)) for x in X.T]
    >>> problem = VariationProblem(parts, Squared(), y[:60], np.ones(60), np.ones((60, 1)))
    >>> found, _ = fuse_structure(
    ...     problem, [x[60:, None] for x in X.T], np.ones((30, 1)), y[60:], n_mus=8, steps=4
    ... )
    >>> 0 < found.hyperparameters["mu"] < problem.largest_mu()
    True
    """
    Zs = [np.asarray(Z, dtype=np.float64) for Z in designs]
    B, wanted = np.asarray(B_val, dtype=np.float64), np.asarray(y_val, dtype=np.float64)
    tried: dict[float, tuple[float, Variation]] = {}

    def cost(mu: float, start: Variation | None) -> tuple[float, Variation]:
        if mu not in tried:
            one = problem.solve(mu, start, tol=tol)
            f = sum((Z @ w for Z, w in zip(Zs, one.w, strict=True)), B @ one.b)
            tried[mu] = float(np.sum(problem.loss.value(wanted, np.asarray(f)))), one
        return tried[mu]

    largest = problem.largest_mu() or 1.0
    mus: Array = largest * np.geomspace(1.0, smallest, n_mus)
    last: Variation | None = None
    for mu in mus:
        _, last = cost(float(mu), last)
    k = int(np.argmin([tried[float(mu)][0] for mu in mus]))
    low, high = np.log(mus[min(k + 1, n_mus - 1)]), np.log(mus[max(k - 1, 0)])
    for _ in range(steps):
        width = GOLDEN * (high - low)
        left, right = float(np.exp(high - width)), float(np.exp(low + width))
        if cost(left, last)[0] <= cost(right, last)[0]:
            high = np.log(right)
        else:
            low = np.log(left)
    best = min(tried, key=lambda mu: tried[mu][0])
    value, found = tried[best]
    choice = FusedPath(
        value=value,
        hyperparameters={"mu": best},
        coefficients=(np.concatenate(found.w), found.b),
        lower_bound=-np.inf,
        certified=False,
        strategy="path",
        interval=(best, best),
        at_boundary=best in (float(mus[0]), float(mus[-1])),
    )
    return choice, found
