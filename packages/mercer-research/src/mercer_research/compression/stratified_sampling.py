"""Few terms by lot, from cells of terms that are alike: a number known in advance, and a rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._lazily import lazily
from mercer.compression.compress import METHODS, Compressor, Found
from mercer.compression.expansions import KernelFunctions, MatrixColumns, Terms, as_functions
from mercer.compression.pursuit import nearest
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, take

# Importing it takes as long as all of this room, and few terms are drawn from such cells.
KMeans = lazily("sklearn.cluster", "KMeans")

CELLS = ("auto", "farthest", "kmeans")


@dataclass(frozen=True, eq=False)
class Strata:
    r"""Cells of the terms of an expansion, and what terms drawn from them are worth.

    With :math:`a = \sum_i |\alpha_i|` the function is the mean of the atoms
    :math:`\pm a k(z_i, \cdot)` under probabilities :math:`|\alpha_i| / a`. A cell of probability
    :math:`\mu` gives :math:`\lceil n \mu \rceil` atoms drawn by lot, with equal weights.
    """

    labels: NDArray[np.intp]
    """The cell of every term."""

    sizes: NDArray[np.intp]
    r"""Number :math:`\lceil n \mu_i \rceil` of draws of every cell."""

    total: float
    """The sum a of all weights."""

    radius: float
    """The largest distance of an atom from the mean of its cell, over a: the number of cells'
    entropy number, as far as these cells tell."""

    expected: float
    """The root of the mean of the squared distance over all draws, exactly."""

    bound: float
    r"""Its bound :math:`a \epsilon_n / \sqrt n`."""

    @property
    def terms(self) -> int:
        """Largest number of terms, at most twice the number n."""
        return int(np.sum(self.sizes))


@dataclass(frozen=True, eq=False)
class Stratified:
    """Terms drawn from strata, from :func:`stratified_terms`."""

    index: NDArray[np.intp]
    """The points that were drawn, each once."""

    coef: Array
    """Their weights."""

    distance: float
    """Distance from the expansion."""

    strata: Strata


def stratified_terms(
    kernel: Kernel,
    X: Data,
    coef: ArrayLike,
    n: int,
    *,
    cells: Any = "auto",
    draws: int = 10,
    refit: bool = True,
    random_state: int = 0,
) -> Stratified:
    r"""Approximate an expansion by at most 2n of its terms, drawn by lot from n cells.

    .. math:: \mathrm{E} \|f - f_n\|^2 \le a^2 \epsilon_n^2 / n

    for every single draw without new weights, which is unbiased:
    :math:`\mathrm{E} f_n = f`. Some choice of terms is no worse, and the best of several draws
    usually is much better.

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    X : (N, p) points
    coef : (N,) or (N, D) array
        Of one expansion, or of several that share their points. Atoms of several are alike if
        their shares in the functions are, too.
    n : int
        Number of cells.
    cells : {"auto", "farthest", "kmeans"} or (N,) array of int, default="auto"
        ``"kmeans"``: of the points, positive and negative terms apart. ``"farthest"``: around atoms
        that are far from each other in the space of the kernel, for any kernel and several
        functions. ``"auto"``: the first where it can be. Or the cell of every term.
    draws : int, default=10
        Number of draws of which the best is kept.
    refit : bool, default=True
        Fit the weights of what was drawn anew, which only brings it nearer.
    random_state : int, default=0

    Returns
    -------
    Stratified

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (9.3) and (9.4); Y. Makovoz, *Random
    approximants and neural networks*, J. Approximation Theory 85, 1996.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> few = stratified_terms(Laplacian(1.0), X, np.full(400, 1 / 400), 16)
    >>> len(few.index) <= 32, few.distance < few.strata.expected < few.strata.bound
    (True, True)
    """
    f = as_functions(kernel, X, coef)
    strata = stratify(f, n, cells, random_state)
    terms, distance = draw_terms(f, strata, draws, refit, random_state)
    weights = terms.coef[:, 0] if np.ndim(coef) == 1 else terms.coef
    return Stratified(terms.index, weights, distance, strata)


def stratify(f: KernelFunctions, n: int, cells: Any = "auto", random_state: int = 0) -> Strata:
    """Divide the terms of functions into at most `n` cells.

    Parameters
    ----------
    f : Functions
    n : int
    cells, random_state :
        As in :func:`stratified_terms`.
    """
    if n < 1:
        raise ValueError(f"at least one cell is needed, got n={n}.")
    sizes, u = _atoms(f.coef)
    total = float(sizes.sum())
    if isinstance(cells, str):
        if cells not in CELLS:
            raise ValueError(f"cells must be one of {', '.join(CELLS)} or labels, got {cells!r}.")
        numeric = f.kernel.numeric and u.shape[1] == 1
        if cells == "kmeans" and not numeric:
            raise ValueError("k-means needs rows of numbers and one function; use 'farthest'.")
        if cells == "kmeans" or (cells == "auto" and numeric):
            labels = _kmeans(f.points, sizes, u[:, 0] > 0, n, random_state)
        else:
            labels = _farthest(f, sizes, u, n)
    else:
        labels = np.unique(np.asarray(cells), return_inverse=True)[1].astype(np.intp)
        if len(labels) != f.n:
            raise ValueError(f"{f.n} terms need as many labels, got {len(labels)}.")
    mass = np.bincount(labels, weights=sizes) / max(total, 1e-300)
    # Rounding must not make n times an n-th of the weight more than one.
    draws = np.ceil(n * mass * (1.0 - 1e-12)).astype(np.intp)
    radius, variance = np.zeros(len(mass)), np.zeros(len(mass))
    for i in range(len(mass)):
        rows = np.flatnonzero(labels == i)
        if mass[i] > 0.0:
            q = sizes[rows] / sizes[rows].sum()
            K = np.asarray(f.kernel(take(f.points, rows)), dtype=np.float64) * (u[rows] @ u[rows].T)
            Kq = K @ q
            far = np.diagonal(K) - 2.0 * Kq + q @ Kq
            radius[i] = np.sqrt(max(float(np.max(far)), 0.0))
            variance[i] = max(float(q @ np.diagonal(K) - q @ Kq), 0.0)
    live = mass > 0.0
    expected = total * np.sqrt(np.sum(mass[live] ** 2 / draws[live] * variance[live]))
    widest = float(np.max(radius, initial=0.0))
    bound = float(total * widest / np.sqrt(n))
    return Strata(labels, draws, total, widest, float(expected), bound)


def _atoms(coef: Array) -> tuple[Array, Array]:
    """Return the size of every coefficient, and its direction among the functions."""
    sizes = np.linalg.norm(coef, axis=1)
    return sizes, coef / np.where(sizes > 0.0, sizes, 1.0)[:, None]


def _kmeans(
    X: Data, sizes: Array, positive: NDArray[np.bool_], n: int, random_state: int
) -> NDArray[np.intp]:
    """Return cells of the points, those of each sign apart, as many as their weight deserves."""
    labels, start = np.zeros(len(sizes), dtype=np.intp), 0
    both = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    both = [rows for rows in both if len(rows)]
    if n < len(both):
        return labels  # one cell in all: both signs share it
    first = n
    if len(both) == 2:
        first = int(np.clip(round(n * sizes[both[0]].sum() / sizes.sum()), 1, n - 1))
    for rows, cells in zip(both, (first, n - first), strict=False):
        part = take(X, rows)
        k = min(cells, _different(part))
        found = KMeans(k, n_init=1, random_state=random_state).fit(part, sample_weight=sizes[rows])
        labels[rows] = start + found.labels_
        start += k
    return labels


def _different(X: Data) -> int:
    """Return the number of different points."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return len(np.unique(dense, axis=0))


def _farthest(f: KernelFunctions, sizes: Array, u: Array, n: int) -> NDArray[np.intp]:
    """Return cells around atoms, each the farthest from those before; within twice the best."""
    columns = MatrixColumns(f.kernel, f.points)
    labels, centre = np.zeros(f.n, dtype=np.intp), int(np.argmax(sizes))
    far = np.full(f.n, np.inf)
    for i in range(min(n, f.n)):
        square = columns.diag + columns.diag[centre]
        square = square - 2.0 * (u @ u[centre]) * columns(centre)
        labels[square < far] = i
        far = np.minimum(far, square)
        far[centre] = 0.0
        centre = int(np.argmax(far))
        if far[centre] <= 0.0:
            break
    return labels


def draw_terms(
    f: KernelFunctions, strata: Strata, draws: int, refit: bool, random_state: int
) -> tuple[Terms, float]:
    """Return the best of several draws from strata, and its distance.

    Parameters
    ----------
    f : Functions
    strata : Strata
    draws : int
    refit : bool
    random_state : int
    """
    rng = np.random.default_rng(random_state)
    sizes, u = _atoms(f.coef)
    square, F = float(np.sum(f.squared_norms())), f(f.points)
    masks, of = np.unique(f.allowed, axis=1, return_inverse=True)
    best: tuple[float, NDArray[np.intp], Array] | None = None
    for _ in range(max(draws, 1)):
        weight = np.zeros(f.n)
        for i, k in enumerate(strata.sizes):
            rows = np.flatnonzero(strata.labels == i)
            mass = sizes[rows].sum()
            if k and mass > 0.0:
                drawn = rng.choice(rows, size=int(k), p=sizes[rows] / mass)
                np.add.at(weight, drawn, mass / k)
        index = np.flatnonzero(weight)
        coef = weight[index, None] * u[index]
        K = np.asarray(f.kernel(take(f.points, index)), dtype=np.float64)
        if refit:
            for g, mask in enumerate(masks.T):
                rows = np.flatnonzero(mask[f.groups[index]])
                columns = np.flatnonzero(of.ravel() == g)
                fitted = nearest(K[np.ix_(rows, rows)], F[np.ix_(index[rows], columns)])
                coef[np.ix_(rows, columns)] = fitted
        far = square - 2.0 * np.sum(coef * F[index]) + np.sum(coef * (K @ coef))
        if best is None or far < best[0]:
            best = (float(far), index, coef)
    assert best is not None
    square, index, coef = best
    terms = Terms(take(f.points, index), coef, f.groups[index], index)
    return terms, float(np.sqrt(max(square, 0.0)))


def stratified(
    compressor: Compressor,
    *,
    cells: Any = "auto",
    draws: int = 10,
    refit: bool = True,
    random_state: int = 0,
) -> Found:
    """Return terms by lot: ``compress(..., method="stratified")``, of half of `n_centres` cells.

    Parameters
    ----------
    compressor : Compressor
    cells, draws, refit, random_state :
        As in :func:`stratified_terms`.
    """
    f = compressor.f
    n = max(compressor.limit // 2, 1) if compressor.n_centres is not None else 1
    while True:
        strata = stratify(f, n, cells, random_state)
        terms, distance = draw_terms(f, strata, draws, refit, random_state)
        error = compressor.error
        small = error is None or compressor.radius * distance <= error
        if compressor.n_centres is not None or small or n >= f.n:
            return Found(
                terms,
                term_bound=2 * n + compressor.fixed,
                distance_bound=strata.bound,
                expected_distance=strata.expected,
            )
        n = min(2 * n, f.n)


METHODS["stratified"] = stratified
