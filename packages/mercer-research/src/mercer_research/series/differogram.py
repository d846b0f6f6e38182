"""Covariances of scattered data from the differences of pairs."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from mercer._typing import Seed
from mercer.kernels import Gaussian, Kernel, Matern
from mercer.kernels.points import Array
from mercer_research.kernels import RadialBSpline
from mercer_research.series.power_spectrum import as_series

SHAPES: dict[str, Kernel] = {
    "gaussian": Gaussian(),
    "exponential": Matern(nu=0.5),
    "matern": Matern(nu=1.5),
    "spherical": RadialBSpline(dim=3),
}

BINS = 300
"""Pairs are averaged in so many groups of nearly the same distance, which loses nothing."""


@dataclass(frozen=True, eq=False)
class Differogram:
    r"""A covariance with noise, as seen by half the mean squared differences of pairs.

    .. math:: \Upsilon(\delta) = a + s (1 - \phi(\delta/h))
    """

    shape: str
    nugget: float
    """The variance a of the noise."""

    partial_sill: float
    """The variance s of the smooth part."""

    length_scale: float
    """The width h of its covariance."""

    residual: float
    """Weighted mean square of what the model does not explain; comparable between shapes."""

    distances: Array
    """Mean distances of groups of pairs."""

    halves: Array
    """Half the mean squared differences in these groups."""

    kernel: Kernel
    r"""The correlation :math:`\phi(\cdot/h)`."""

    @property
    def sill(self) -> float:
        """The variance of an observation, v = a + s."""
        return self.nugget + self.partial_sill

    @property
    def covariance(self) -> Kernel:
        """The covariance function of the smooth part, the kernel times its variance."""
        return self.partial_sill * self.kernel

    @property
    def C(self) -> float:
        """Weight of the squared loss for a machine with this kernel, s / (v - s)."""
        return self.partial_sill / self.nugget if self.nugget else np.inf

    def __call__(self, distance: ArrayLike) -> Array:
        """Return the model at distances."""
        d = np.asarray(distance, dtype=float)
        phi = self.kernel(np.zeros((1, 1)), d.reshape(-1, 1)).reshape(d.shape)
        return np.asarray(self.nugget + self.partial_sill * (1.0 - phi))


def covariance_from_differogram(
    X: ArrayLike,
    y: ArrayLike,
    *,
    shape: str = "gaussian",
    max_distance: float | None = None,
    max_pairs: int = 500_000,
    random_state: Seed = None,
) -> Differogram:
    r"""Fit noise, variance and width of a covariance to the differences of pairs.

    For a stationary process plus noise,

    .. math:: \Upsilon(\delta) = \tfrac12 E[(y_i - y_j)^2 \mid |x_i - x_j| = \delta]
              = \sigma_y^2 - \rho(\delta), \qquad \delta > 0

    so that the noise is what remains at distance zero. The model
    :math:`a + s(1 - \phi(\delta/h))` minimizes
    :math:`\sum_{i<j} (\Upsilon(\delta_{ij}) - \tfrac12 (y_i - y_j)^2)^2 / \Upsilon(\delta_{ij})`
    with the weights of the previous step, a and s at least 0.

    Parameters
    ----------
    X : (n, p) or (n,) array
        Points, with features in comparable units.
    y : (n,) array
    shape : {"gaussian", "exponential", "matern", "spherical", "auto"}, default="gaussian"
        The correlation :math:`\phi`; "auto" takes the one with the smallest residual. Those with
        a cusp at zero explain noise as roughness: for a smooth process their nugget is too small.
    max_distance : float, optional
        Leave out pairs farther apart; the far half of the range is left out if not given, as is
        usual, because few points lie that far apart.
    max_pairs : int, default=500000
        Draw so many pairs if there are more.
    random_state : int, Generator or None

    Returns
    -------
    Differogram
        With ``nugget``, ``sill``, ``length_scale``, ``kernel``, ``C``, ...

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 9.4.3, corrected: all
    relations hold for squared differences.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 60, size=400)
    >>> K = 2.0 * np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> y = np.linalg.cholesky(K + 0.1 * np.eye(400)) @ rng.normal(size=400)
    >>> found = covariance_from_differogram(x, y)
    >>> bool(0.05 < found.nugget < 0.2 and 0.7 < found.length_scale < 1.4)
    True
    """
    points = np.asarray(X, dtype=float)
    points = points[:, None] if points.ndim == 1 else points
    y = as_series(y)
    if points.ndim != 2 or len(points) != len(y):
        raise ValueError(f"X must have {len(y)} rows, got shape {np.shape(X)}.")
    if shape != "auto" and shape not in SHAPES:
        raise ValueError(f"shape must be 'auto' or one of {list(SHAPES)}, got {shape!r}.")
    distance, half = _pairs(points, y, max_pairs, np.random.default_rng(random_state))
    reach = 0.5 * float(distance.max()) if max_distance is None else float(max_distance)
    near = (distance <= reach) & (distance > 0.0)
    if near.sum() < 3:
        raise ValueError("There are fewer than three pairs at different points within reach.")
    order = np.argsort(distance[near])
    groups = np.array_split(order, min(BINS, len(order)))
    count = np.array([len(g) for g in groups], dtype=float)
    d, h = (np.array([part[near][g].mean() for g in groups]) for part in (distance, half))
    names = list(SHAPES) if shape == "auto" else [shape]
    fits = [_fit(name, d, h, count) for name in names]
    return min(fits, key=lambda fit: fit.residual)


def _pairs(X: Array, y: Array, max_pairs: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return distances and half the squared differences of all pairs, or of some."""
    n = len(y)
    if n * (n - 1) // 2 <= max_pairs:
        i, j = np.triu_indices(n, 1)
    else:
        i = rng.integers(0, n, size=max_pairs)
        j = (i + rng.integers(1, n, size=max_pairs)) % n
    return np.linalg.norm(X[i] - X[j], axis=1), 0.5 * (y[i] - y[j]) ** 2


def _fit(name: str, d: Array, half: Array, count: Array) -> Differogram:
    shape = SHAPES[name]

    def linear(log_scale: float, weight: Array) -> tuple[float, Array]:
        """Return the squared error and the best nugget and sill for a width."""
        rise = 1.0 - shape(np.zeros((1, 1)), d[:, None] / np.exp(log_scale))[0]
        root = np.sqrt(weight)
        sides = np.column_stack([root, root * rise])
        solution, norm = optimize.nnls(sides, root * half)
        return float(norm) ** 2, solution

    grid = np.log(np.geomspace(0.5 * d[0], 2.0 * d[-1], 60))
    model = np.full_like(half, half.mean())
    log_scale, before = 0.0, np.inf
    for step in range(30):
        # A model that vanishes at short distances must not weigh infinitely much there.
        weight = count / np.maximum(model, 1e-3 * half.mean())
        ends = log_scale - 0.3, log_scale + 0.3
        if step < 2:
            start = int(np.argmin([linear(g, weight)[0] for g in grid]))
            ends = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
        log_scale = float(
            optimize.minimize_scalar(
                lambda g, w=weight: linear(g, w)[0],
                bounds=ends,
                method="bounded",
                options={"xatol": 1e-8},
            ).x
        )
        error, (nugget, sill) = linear(log_scale, weight)
        rise = 1.0 - shape(np.zeros((1, 1)), d[:, None] / np.exp(log_scale))[0]
        model = nugget + sill * rise
        if abs(log_scale - before) < 1e-6:
            break
        before = log_scale
    scale = float(np.exp(log_scale))
    kernel = copy(shape).set_params(length_scale=scale)
    residual = error / float(count.sum())
    return Differogram(name, float(nugget), float(sill), scale, residual, d, half, kernel)
