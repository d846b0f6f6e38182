"""Kernel PCA over a low-rank approximation, by two or three passes over rows in blocks."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from mercer.data.base import Source
from mercer.data.progress import Bar
from mercer.kernels.base import Kernel
from mercer.kernels.points import take
from mercer.manifold.block_moments import Features, gather, regressed, vary
from mercer.manifold.eigen import EPS, Eigenpairs
from mercer.manifold.principal import Principal
from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.census import Census, take_census
from mercer.reduced.passes import Passes
from mercer.reduced.solve import open_passes
from mercer.regularizers.null_space import Empty, NullSpace

__all__ = ["LOOKED_AT", "components", "settle", "survey", "weighted_variance"]

FIRST_M = 256
"""Centres that an automatic number begins with; it doubles."""

ENOUGH = 0.01
"""Share of the diagonal that features of an automatic number of centres leave."""

LOOKED_AT = 2000
"""Rows on which that share is measured."""


def survey(source: Source, how: Approximation) -> tuple[Passes, Census]:
    """Return passes over a source within the memory granted, and the first of them: a census."""
    if how.device is not None:
        raise ValueError("kernel PCA is computed by NumPy: leave device=None.")
    m = how.largest if how.number == "auto" else int(how.number)
    size = max(how.pool_size, LOOKED_AT)

    def bar(name: str, total: int | None) -> Bar:
        return Bar(f"KernelPCA, {name}", total, show=False)

    passes = open_passes(source, how, m, 1, size, bar)
    return passes, take_census(passes, size, how.random_state, False)


def weighted_variance(passes: Passes) -> float:
    """Return the weighted variance of all entries of the inputs."""
    return float(passes("variance", vary).variance)


def settle(how: Approximation, kernel: Kernel, census: Census) -> FeatureMap:
    """Return the features, with as many centres as leave a hundredth of the diagonal."""
    pool = census.pool
    if how.number != "auto":
        return how.settle(kernel, pool, 1.0)
    X = take(pool.X, slice(0, LOOKED_AT))
    enough = ENOUGH * float(np.mean(np.abs(kernel.diag(X))))
    m, most = FIRST_M, min(how.largest, len(pool.keys))
    while True:
        phi = how.set_m(min(m, most)).settle(kernel, pool, 1.0)
        _, left = Features(phi, kernel, Empty(), X.shape[1])(X)
        if m >= most or float(np.mean(left)) <= enough:
            return phi
        m *= 2


def components(
    passes: Passes, phi: FeatureMap, kernel: Kernel, null_space: NullSpace, one: int | None
) -> Principal:
    r"""Return the components of features, from their moments over all rows.

    With features :math:`\phi(x) = T'r(x)` and the regression :math:`\Gamma` on the functions that
    are projected out, the eigenvectors V of the second moment of :math:`\phi - \Gamma z` have the
    scores :math:`V'T'r(x) - V'\Gamma z(x)`. If the features are projections of the kernel's, each
    eigenvalue is at most the eigenvalue of the kernel matrix of the same number, and smaller by no
    more than the trace that the features leave.

    Parameters
    ----------
    passes : Passes
        Over the rows.
    phi : FeatureMap
        The features.
    kernel : Kernel
        The kernel that they stand for.
    null_space : NullSpace
        Functions to be projected out.
    one : int, optional
        Which of them is constant.
    """
    p = passes.source.n_features
    features = Features(phi, kernel, null_space, p)
    moments = passes("moments", gather, features)
    C, regression = regressed(moments, null_space.size(p), one)
    values, V = la.eigh(C)
    values, V = values[::-1], V[:, ::-1]
    trace = float(np.trace(C))
    # Sums over all rows and the small matrix round, and features do more than raw values.
    whole = trace + moments.weight * float(np.sum(moments.mean[-phi.r :] ** 2))
    noise = (moments.n + phi.r + 2.0 * phi.steepness * np.sqrt(phi.m)) * EPS * whole
    error = moments.left + noise if features.bounded else np.nan
    errors = np.full(len(values), error)
    pairs = Eigenpairs(values, np.empty((0, len(values))), errors, error)
    return Principal(
        pairs=pairs,
        A=phi.lift(V),
        b=-(regression.T @ V).T,
        trace=trace + moments.left,
        weight=moments.weight,
        H=phi.lift(regression),
        Q=regression.T @ regression,
    )
