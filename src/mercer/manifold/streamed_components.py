"""Kernel PCA over a low-rank approximation, by two or three passes over rows in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from sklearn.utils.validation import validate_data

from mercer._params import check_sample_weight
from mercer._typing import PointsLike, WeightsLike
from mercer.data.arrays import Arrays
from mercer.data.base import Source
from mercer.data.opening import as_source, is_source
from mercer.data.sampling import FingerprintSample
from mercer.gram.tiled import Tiled
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE
from mercer.kernels.points import Array, is_sparse, take
from mercer.machines.expansion import Expansion, store
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import constant_column, unpenalized_columns
from mercer.manifold.block_moments import Features, gather, regressed, vary
from mercer.manifold.eigen import EPS, Eigenpairs
from mercer.manifold.inverse import some_rows
from mercer.manifold.principal import NOTHING, ZERO, Principal, signs_of
from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.passes import Census, Passes, take_census
from mercer.reduced.solve import open_passes
from mercer.regularizers.null_space import Empty, NullSpace

__all__ = ["components", "fit_blocks", "settle", "survey"]

FIRST_M = 256
"""Centres that an automatic number begins with; it doubles."""

ENOUGH = 0.01
"""Share of the diagonal that features of an automatic number of centres leave."""

LOOKED_AT = 2000
"""Rows on which that share is measured."""


def fit_blocks(machine: Expansion, X: PointsLike, sample_weight: WeightsLike) -> None:
    """Find the components of a low-rank approximation, by passes over the rows.

    Parameters
    ----------
    machine : KernelPCA
        The machine, whose fitted attributes are set.
    X, sample_weight :
        As in its ``fit``.
    """
    if (
        is_function(machine.kernel)
        or is_precomputed(machine.kernel)
        or compares_objects(machine.kernel)
    ):
        raise ValueError(
            "an approximation evaluates the kernel at new pairs of points; give a Kernel of "
            "numbers or its name, not a function, a matrix or objects."
        )
    how = Nystrom() if machine.approximation is None else machine.approximation
    passes, census = survey(_validate(machine, X, sample_weight), how)
    pool = census.pool
    machine.shape_fit_ = (census.n, pool.X.shape[1])
    machine._sparse, machine._X_fit, machine._kernel_fit = is_sparse(pool.X), None, None
    kernel = machine.kernel_ = _kernel_of(machine, passes, census)
    if not kernel.positive_definite:
        raise ValueError(
            f"{kernel!r} is not positive definite, so there are no features to approximate it by; "
            "use approximation=None."
        )
    some, weights = _some(pool)
    B = unpenalized_columns(machine, some, machine._space())
    phi = settle(how, kernel, census)
    found = components(
        passes, phi, kernel, machine.null_space_, constant_column(machine.null_space_names_)
    )
    values = found.pairs.values
    nonzero = int(np.sum(values > max(ZERO, phi.r * EPS) * max(values[0], 0.0)))
    if not nonzero:
        raise ValueError(NOTHING)
    rule = machine._rule(some, Tiled(kernel, some), B, weights)
    kept = rule.keep(values[:nonzero], found.trace, nonzero)
    found = found.first(nonzero if kept is None else min(kept, nonzero))
    found = found.turned(signs_of(np.asarray(phi.raw(some) @ found.A + B @ found.b.T)))
    machine._keep(found)
    machine._functions, machine._kept = (phi if phi.Z is None else None), np.arange(phi.m)
    store(machine, np.empty((phi.m, 0)) if phi.Z is None else phi.Z, machine._kept, found.A)
    machine._reference = some_rows(some, weights)
    if phi.index is not None:
        machine.support_ = np.asarray(pool.rows[phi.index], dtype=np.int64)
    machine.__dict__.pop("eigenvectors_", None)


def _some(pool: FingerprintSample) -> tuple[Any, Array]:
    """Return at most 2000 of the rows that were drawn and have a weight."""
    if pool.s is None:
        X = take(pool.X, slice(0, LOOKED_AT))
        return X, np.ones(X.shape[0])
    heavy = np.flatnonzero(np.asarray(pool.s) > 0.0)[:LOOKED_AT]
    return take(pool.X, heavy), np.asarray(pool.s, dtype=np.float64)[heavy]


def _validate(machine: Expansion, X: PointsLike, sample_weight: WeightsLike) -> Source:
    """Return checked rows as a source, and remember their features."""
    if not (is_source(X) or isinstance(X, np.memmap)):
        X = validate_data(
            machine, X, dtype=np.float64, order="C", accept_sparse="csr", accept_large_sparse=False
        )
        weights = None if sample_weight is None else check_sample_weight(sample_weight, X.shape[0])
        return Arrays(X, None, weights)
    source = as_source(X, None, sample_weight).checked()
    machine.n_features_in_ = source.n_features
    machine.__dict__.pop("feature_names_in_", None)
    if source.given_names is not None:
        machine.feature_names_in_ = np.asarray(source.given_names, dtype=object)
    return source


def _kernel_of(machine: Expansion, passes: Passes, census: Census) -> Kernel:
    """Return the kernel, with the width that all rows have and not those that were drawn."""
    pool, name = census.pool, machine.kernel
    if machine.gamma != "scale" or not isinstance(name, str) or name in FREE:
        kernel: Kernel = machine._resolved(Rows(pool.X, None, np.ones(len(pool.keys))))
        return kernel
    variance = census.variance if pool.s is None else passes("variance", vary).variance
    kernel = machine._of_width(float(variance))
    return kernel


def survey(source: Source, how: Approximation) -> tuple[Passes, Census]:
    """Return passes over a source within the memory granted, and the first of them: a census."""
    m = how.largest if how.number == "auto" else int(how.number)
    size = max(how.pool_size, LOOKED_AT)
    passes = open_passes(source, how, m, 1, size)
    return passes, take_census(passes, size, how.random_state, False)


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
