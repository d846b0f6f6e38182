"""Which points span the space that a machine is looked for in."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mercer._lazily import lazily
from mercer._typing import Array
from mercer.data.sampling import FingerprintSample, fingerprints
from mercer.gram.base import Gram, Index, positions
from mercer.gram.make import make
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels.algebra import ActiveDims, Modified, Pair
from mercer.kernels.base import Kernel
from mercer.kernels.points import (
    BLOCK_BYTES,
    Data,
    as_points,
    count,
    is_sparse,
    row_slices,
    scale_features,
    take,
)
from mercer.kernels.stationary import Dimensional, Stationary
from mercer.kernels.stretched import Stretched
from mercer.regularizers.null_space import Monomials

pairwise_distances_argmin = lazily("sklearn.metrics", "pairwise_distances_argmin")

Indices = NDArray[np.intp]

MAX_BYTES = 2.0**30
"""Memory of the factor that some ways of choosing keep, by default."""


@dataclass(frozen=True)
class Centres:
    """Points that were chosen.

    Parameters
    ----------
    Z : (m, p) points
    index : (m,) array of int or None
        Which rows of the sample they are; None if they are none of them.
    """

    Z: Any
    index: Indices | None = None

    def __len__(self) -> int:
        return count(self.Z)


class Anchored(Gram):
    r"""The positive definite part of a conditionally positive definite matrix, by q anchors.

    With the q polynomials :math:`L_j` that are 1 at one of these points and 0 at the others,

    .. math:: k(x, z) - \sum_j L_j(x) k(x_j, z) - \sum_j k(x, x_j) L_j(z)
              + \sum_{ij} L_i(x) k(x_i, x_j) L_j(z)

    is positive definite, and spans with the polynomials the same functions as k does with
    coefficients that are orthogonal to them.

    Parameters
    ----------
    K : Gram
    P : (n, q) array
        The polynomials.
    anchors : (q,) array of int
        Points on which only the zero polynomial vanishes.

    References
    ----------
    H. Wendland, *Scattered Data Approximation*, 2005, theorem 10.18.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> Anchored(Dense(-np.abs(x[:, None] - x)), np.ones((3, 1)), np.array([0])).dense() + 0.0
    array([[0., 0., 0.],
           [0., 2., 2.],
           [0., 2., 6.]])
    """

    dtype = np.dtype(np.float64)

    def __init__(self, K: Gram, P: Array, anchors: Indices) -> None:
        self.K = K
        self.L = np.linalg.solve(P[anchors].T, P.T).T
        rows = np.array(K.rows(anchors), dtype=np.float64)
        self.V = rows.T - 0.5 * self.L @ rows[:, anchors]

    @property
    def shape(self) -> tuple[int, int]:
        return self.K.shape

    def block(self, rows: Index, columns: Index) -> Array:
        i, j = (positions(index, self.shape[0]) for index in (rows, columns))
        block = np.array(self.K.block(rows, columns), dtype=np.float64)
        block -= self.L[i] @ self.V[j].T
        block -= self.V[i] @ self.L[j].T
        return block

    def diag(self) -> Array:
        return np.asarray(self.K.diag() - 2.0 * np.einsum("ij,ij->i", self.L, self.V))


@dataclass
class _Task:
    """Inputs of a method that chooses centres."""

    K: Gram
    m: int
    first: Indices
    share: float
    """How many of all rows each row of the sample stands for."""
    c: Array
    """Weights of the rows' losses, each for its share."""
    max_bytes: float
    rng: np.random.Generator


def _uniform(task: _Task) -> Indices:
    return np.arange(task.K.shape[0])


def _leverage(task: _Task) -> Indices:
    scores = recursive_scores(task.K, task.m, 1.0 / float(np.mean(task.c)), task.rng)
    scores[task.first] = 0.0
    chances = inclusion(scores, task.m - len(task.first))
    # Systematic sampling: as many rows as the chances add up to, each with exactly its chance. The
    # order of the rows is random, so neighbours in it are nothing special.
    steps = np.floor(np.cumsum(chances) + task.rng.random())
    return np.flatnonzero(np.diff(steps, prepend=0.0) > 0.0)


def _random(task: _Task) -> Indices:
    fits = 8.0 * task.K.shape[0] * task.m <= task.max_bytes
    seed, dtype = int(task.rng.integers(2**32)), np.float64 if fits else np.float32
    return pivoted_cholesky(
        task.K, task.m, pivoting="random", first=task.first, random_state=seed, dtype=dtype
    ).pivots


def _pivoted(task: _Task) -> Indices:
    return pivoted_cholesky(task.K, task.m, first=task.first).pivots


class _Way(NamedTuple):
    """A way of choosing rows, and the bytes that it keeps for each row and centre."""

    choose: Callable[[_Task], Indices]
    bytes: float = 0.0
    definite: bool = True


WAYS = {
    "uniform": _Way(_uniform, definite=False),
    "leverage": _Way(_leverage),
    "rpcholesky": _Way(_random, 4.0),
    "pivoted": _Way(_pivoted, 8.0),
}
KINDS = (*WAYS, "kmeans")


def choose(
    kind: Any,
    kernel: Kernel,
    pool: FingerprintSample,
    m: int,
    *,
    C: float = 1.0,
    seed: int = 0,
    max_bytes: float = MAX_BYTES,
) -> Centres:
    r"""Return centres chosen from a sample of the rows.

    ============== ============================================================ ================
    kind           which                                                        multiplications
    ============== ============================================================ ================
    ``uniform``    the first, at random because the sample is in random order   none
    ``leverage``   by approximate ridge leverage scores                         :math:`4 n m^2`
    ``rpcholesky`` by what the others leave of the kernel, at random            :math:`n m^2`
    ``pivoted``    by what the others leave of the kernel, the largest          :math:`n m^2`
    ``kmeans``     means of clusters, in units of the kernel's length scales    :math:`20 n m p`
    ============== ============================================================ ================

    A conditionally positive definite kernel is looked at beside its polynomials
    (:class:`Anchored`): the first centres determine these. No row is chosen twice, and none of
    which the kernel says nothing new, so that fewer than m may be returned.

    Parameters
    ----------
    kind : str or (m, p) points
        Points are the centres themselves, each different one once.
    kernel : Kernel
    pool : Sample
        Rows in random order, of which as many as `max_bytes` allows are looked at.
    m : int
        Number of centres.
    C : float, default=1.0
        Weight of a row's loss: the ridge of leverage scores is its reciprocal.
    seed : int, default=0
    max_bytes : float, default=2**30
        Memory of what is kept for each row and centre.

    Returns
    -------
    Centres

    References
    ----------
    K. Zhang and J. Kwok (2010), *Clustered Nystrom method for large scale manifold learning and
    dimension reduction*, IEEE Transactions on Neural Networks 21, proposition 2; those of
    :mod:`mercer.reduced.centres` and :func:`mercer.gram.pivoted.pivoted_cholesky`.

    Examples
    --------
    >>> from mercer.data import as_source, draw
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> centres = choose("rpcholesky", Gaussian(), draw(as_source(X), 100), 10)
    >>> len(centres), centres.Z.shape
    (10, (10, 2))
    """
    none = Centres(take(pool.X, slice(0)), np.empty(0, dtype=np.intp))
    if not isinstance(kind, str):
        return _given(kind, pool)
    if kind == "kmeans":
        _check(kernel, m)
        return _clustered(kernel, pool, m, seed)
    return grow(kind, kernel, pool, none, m, C=C, seed=seed, max_bytes=max_bytes)


def grow(
    kind: str,
    kernel: Kernel,
    pool: FingerprintSample,
    chosen: Centres,
    m: int,
    *,
    C: float = 1.0,
    seed: int = 0,
    max_bytes: float = MAX_BYTES,
) -> Centres:
    """Return more centres, of which the first are those that were chosen before.

    Parameters
    ----------
    kind, kernel, pool, C, seed, max_bytes
        As for :func:`choose`, and as when the others were chosen.
    chosen : Centres
    m : int
        Number of all centres.

    Examples
    --------
    >>> from mercer.data import as_source, draw
    >>> from mercer.kernels import Gaussian
    >>> pool = draw(as_source(np.linspace(0.0, 9.0, 50)[:, None]), 50)
    >>> few = choose("pivoted", Gaussian(), pool, 3)
    >>> bool((grow("pivoted", Gaussian(), pool, few, 8).Z[:3] == few.Z).all())
    True
    """
    if kind not in KINDS:
        raise ValueError(f"centres must be one of {sorted(KINDS)} or points, got {kind!r}.")
    _check(kernel, m)
    rng = np.random.default_rng([seed, len(chosen)])
    if kind == "kmeans" or chosen.index is None:
        raise ValueError(f"{kind!r} continues a choice of rows, but the given centres are no rows.")
    return _rows(kind, kernel, pool, chosen.index, m, rng, C, max_bytes)


def _check(kernel: Kernel, m: int) -> None:
    if m < 1:
        raise ValueError(f"the number of centres must be at least 1, got {m}.")
    if kernel.precomputed:
        raise ValueError(
            "a precomputed kernel has no points that could be centres: give the kernel itself."
        )


def _given(points: Any, pool: FingerprintSample) -> Centres:
    Z = as_points(points)
    if Z.shape[1] != pool.X.shape[1]:
        raise ValueError(
            f"the centres have {Z.shape[1]} features but the rows have {pool.X.shape[1]}."
        )
    if not np.isfinite(Z.data if is_sparse(Z) else Z).all():
        raise ValueError("the centres must be finite numbers: remove those that are not.")
    first = np.unique(fingerprints(Z), return_index=True)[1]
    return Centres(take(Z, np.sort(first)))


def _rows(
    kind: str,
    kernel: Kernel,
    pool: FingerprintSample,
    first: Indices,
    m: int,
    rng: np.random.Generator,
    C: float,
    max_bytes: float,
) -> Centres:
    way, N = WAYS[kind], count(pool.X)
    if way.definite and not kernel.positive_definite:
        raise ValueError(
            f"{kernel!r} is not positive definite, so the remainder of a low-rank approximation "
            "has no bound: choose centres by 'uniform' or 'kmeans'."
        )
    m = min(m, N)
    if way.bytes:
        # The first rows of a sample are a sample; those chosen before must be among them.
        least = max(m, int(np.max(first, initial=-1)) + 1)
        N = min(N, max(least, int(max_bytes / (way.bytes * m))))
    X = take(pool.X, slice(N))
    K = make(kernel, X)
    anchors = np.empty(0, dtype=np.intp)
    monomials = kernel.unpenalized(X.shape[1]) if kernel.numeric else []
    if monomials:
        if m <= len(monomials):
            raise ValueError(
                f"the kernel leaves {len(monomials)} polynomials free, which takes as many "
                f"centres: choose more than {len(monomials)} centres, not {m}."
            )
        P = _polynomials(X, monomials)
        anchors = first[: len(monomials)] if len(first) else _anchors(P)
        K = Anchored(K, P, anchors)
    share = max(pool.n, N) / N
    s = np.ones(N) if pool.s is None else np.asarray(pool.s, dtype=np.float64)[:N]
    free = first[~np.isin(first, anchors)]
    task = _Task(K, m - len(anchors), free, share, C * share * s, max_bytes, rng)
    index = way.choose(task) if task.m > 0 else free
    # A factor leaves out rows that add nothing; chosen before, they stay.
    before = first if len(first) else anchors
    index = np.concatenate([before, index[~np.isin(index, before)]])[:m]
    return Centres(take(pool.X, index), index)


def _polynomials(X: Data, monomials: list[tuple[int, ...]]) -> Array:
    """Return monomials of points in units in which their powers are of one size."""
    X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
    size = np.max(np.abs(X - np.mean(X, axis=0)), axis=0)
    return Monomials(monomials)((X - np.mean(X, axis=0)) / np.where(size > 0.0, size, 1.0))


def _anchors(P: Array) -> Indices:
    R, pivots = la.qr(P.T, mode="r", pivoting=True)
    q = P.shape[1]
    if len(P) < q or abs(R[q - 1, q - 1]) <= 1e-10 * abs(R[0, 0]):
        raise ValueError(
            f"the rows do not determine the {q} polynomials that the kernel leaves free: draw "
            "more of them, or use a kernel of a lower order."
        )
    return np.asarray(pivots[:q], dtype=np.intp)


def _clustered(kernel: Kernel, pool: FingerprintSample, m: int, seed: int) -> Centres:
    if not kernel.numeric:
        raise ValueError(f"{kernel!r} compares objects, which have no means: choose 'rpcholesky'.")
    factor = units(kernel, pool.X.shape[1])
    Y = scale_features(as_points(pool.X), factor)
    w = np.ones(Y.shape[0]) if pool.s is None else np.asarray(pool.s, dtype=np.float64)
    Z = means(Y, w, m, seed)
    # Means of sparse rows are dense, and means on a circle or of categories are nothing.
    if is_sparse(Y) or kernel.domain != "R^d":
        index = np.unique(pairwise_distances_argmin(Z, Y)).astype(np.intp)
        return Centres(take(pool.X, index), index)
    Z = Z[np.sort(np.unique(fingerprints(Z), return_index=True)[1])]
    # A feature that the kernel does not see is the same for all: its mean.
    blind = factor == 0.0
    Z = np.divide(Z, factor, out=np.zeros_like(Z), where=~blind)
    Z[:, blind] = np.average(np.asarray(pool.X)[:, blind], axis=0, weights=w)
    return Centres(Z)


KMeans = lazily("sklearn.cluster", "KMeans")

MAX_ITERATIONS = 20
"""Steps of Lloyd's iteration."""


@singledispatch
def units(kernel: Kernel, p: int) -> Array:
    """Return the factors of the features that turn distances into the kernel's distances.

    Parameters
    ----------
    kernel : Kernel
    p : int
        Number of features.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> units(2.0 * Gaussian([1.0, 4.0]), 2), units(Linear().on([1]), 2)
    (array([1.  , 0.25]), array([0., 1.]))
    """
    return np.ones(p)


@units.register
def _(kernel: Stationary, p: int) -> Array:
    return np.broadcast_to(1.0 / np.asarray(kernel.length_scale, dtype=np.float64), p)


@units.register
def _(kernel: Dimensional, p: int) -> Array:
    return units(kernel._in(p), p)


@units.register
def _(kernel: Modified, p: int) -> Array:
    return units(kernel.kernel, p)


@units.register
def _(kernel: Stretched, p: int) -> Array:
    return np.asarray(units(kernel.kernel, p) / np.asarray(kernel.scale, dtype=np.float64))


@units.register
def _(kernel: Pair, p: int) -> Array:
    return np.hypot(units(kernel.left, p), units(kernel.right, p))


@units.register
def _(kernel: ActiveDims, p: int) -> Array:
    here = np.arange(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
    factor = np.zeros(p)
    factor[here] = units(kernel.kernel, len(here))
    return factor


def means(Y: Data, w: Array, m: int, seed: int) -> Array:
    r"""Return means of clusters: centres that bound :math:`\operatorname{tr}(K - \hat K)`.

    Parameters
    ----------
    Y : (n, p) points
    w : (n,) array
        Weights.
    m : int
        Number of clusters; n if there are fewer rows.
    seed : int

    Examples
    --------
    >>> Z = means(np.array([[0.0], [1.0], [9.0]]), np.ones(3), 2, 0)
    >>> sorted(Z[:, 0].tolist())
    [0.5, 9.0]
    """
    clusters = KMeans(min(m, Y.shape[0]), n_init=1, max_iter=MAX_ITERATIONS, random_state=seed)
    # Several threads add to a mean in any order; one gives the same bits each time.
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        # Fewer different rows than clusters: equal means are left out by the caller.
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters.fit(Y, sample_weight=w)
    return np.asarray(clusters.cluster_centers_, dtype=np.float64)


# What a Cholesky factor of a kernel matrix needs on its diagonal, relative to it.
JITTER = 1e-12


def leverage_scores(
    K: Gram,
    ridge: float,
    some: NDArray[np.intp] | None = None,
    chances: Array | None = None,
    rows: int | None = None,
) -> Array:
    r"""Return ridge leverage scores of rows, exact or from some of them.

    .. math:: \ell_i(\rho) \approx \tfrac1\rho \bigl(k_{ii} - k_{iJ} (K_{JJ} + \rho \Pi)^{-1}
              k_{Ji}\bigr)

    for rows J that were drawn with chances :math:`\Pi`; with all rows it is exact. Rows with a
    score near one have no others that could stand in for them; scores add up to the degrees of
    freedom.

    Parameters
    ----------
    K : Gram
    ridge : float
        The number :math:`\rho > 0`.
    some : (q,) array of int, optional
        The rows J; all by default.
    chances : (q,) array, optional
        The chance with which each of them was drawn; one by default.
    rows : int, optional
        Return scores of the first rows only.

    Returns
    -------
    (n,) array
        Positive; at most about one.

    References
    ----------
    C. Musco and C. Musco (2017), *Recursive sampling for the Nystrom method*, NIPS 30, eq. (2) and
    lemma 6; A. Rudi, D. Calandriello, L. Carratino and L. Rosasco (2018), *On fast leverage score
    sampling and optimal learning*, NeurIPS 31, eq. (3).

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> leverage_scores(Dense(np.diag([1.0, 3.0])), 1.0)
    array([0.5 , 0.75])
    """
    J = np.arange(K.shape[0]) if some is None else some
    chances = np.ones(len(J)) if chances is None else chances
    return _remainder(K, J, ridge * chances, rows) / ridge


def _remainder(K: Gram, J: NDArray[np.intp], shift: Array, rows: int | None) -> Array:
    """Return the diagonal of ``K - K_J (K_JJ + diag(shift))^-1 K_J'``, for the first rows."""
    n = K.shape[0] if rows is None else rows
    rest = np.array(K.diag()[:n], dtype=np.float64)
    if not len(J):
        return rest
    H = np.array(K.block(J, J), dtype=np.float64)
    least = JITTER * max(float(np.max(np.diag(H))), 1e-300)
    H[np.diag_indices_from(H)] += np.maximum(shift, least)
    R = la.cholesky(H, lower=True, overwrite_a=True, check_finite=False)
    for part in row_slices(n, 8 * len(J), BLOCK_BYTES):
        V = np.array(K.block(part, J).T, dtype=np.float64, order="F")
        V = la.solve_triangular(R, V, lower=True, overwrite_b=True, check_finite=False)
        rest[part] -= np.einsum("ij,ij->j", V, V)
    return np.maximum(rest, 0.0)


def recursive_scores(K: Gram, m: int, ridge: float, rng: np.random.Generator) -> Array:
    r"""Return approximate leverage scores of rows in random order, for a choice of m of them.

    Doubling the rows from m on, scores are computed from at most m of the rows before. The ridge
    is the one given or, if that asks for more than m rows can give, the error that m rows leave,
    :math:`\rho = \tfrac1m \operatorname{tr}(K - K_J K_{JJ}^{-1} K_J')`.

    Parameters
    ----------
    K : Gram
        Of rows whose order is random: the first are a sample of all.
    m : int
        Number of rows to be chosen.
    ridge : float
        The least ridge, for all rows.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) array

    References
    ----------
    C. Musco and C. Musco (2017), *Recursive sampling for the Nystrom method*, NIPS 30, algorithm 3.
    """
    n = K.shape[0]
    size, J = min(m, n), np.arange(min(m, n))
    chances = np.ones(size)
    scores = np.ones(size)
    while True:
        wide = min(2 * size, n)
        chances = chances * (size / wide)
        left = float(np.sum(_remainder(K, J, np.zeros(len(J)), wide)))
        floor = JITTER * float(np.max(np.abs(K.diag()), initial=1e-300))
        rho = max(ridge * wide / n, left / m, floor)
        # A row unlike all of the few may seem to count for more than one.
        scores = np.minimum(leverage_scores(K, rho, J, chances, wide), 1.0)
        if wide == n:
            return scores
        every = inclusion(scores, m)
        J = np.flatnonzero(rng.random(wide) < every)
        chances, size = every[J], wide


def inclusion(scores: Array, m: int) -> Array:
    r"""Return chances in proportion to scores, at most one, with the sum m.

    Parameters
    ----------
    scores : (n,) array
        Not negative.
    m : int

    Examples
    --------
    >>> inclusion(np.array([8.0, 1.0, 1.0]), 2)
    array([1. , 0.5, 0.5])
    """
    n = len(scores)
    if m >= n or not np.count_nonzero(scores) > m:
        return np.asarray(scores > 0.0, dtype=np.float64) if m < n else np.ones(n)
    order = np.sort(scores)[::-1]
    below = np.cumsum(order[::-1])[::-1]
    # With k rows certain, the others share m - k: the first k for which none of them exceeds one.
    k = int(np.argmax(order * (m - np.arange(n)) <= below * (1.0 + 1e-12)))
    return np.asarray(np.minimum(1.0, scores * ((m - k) / below[k])))
