"""The variance of the noise, before any machine is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial import cKDTree

from mercer._typing import Array
from mercer.kernels import Gaussian
from mercer.smoothing.eigendecomposition import Spectral
from mercer.smoothing.pairs import Index, as_sample, in_units, neighbours, some_rows
from mercer.smoothing.widths import search_width

__all__ = ["NoiseVariance", "noise_variance", "smoother_noise"]

# Rows that a model is fitted to, at most.
MAX_MODEL_ROWS = 1000
# Neighbours whose mean differences are extrapolated to distance zero.
N_NEIGHBOURS = 10


@dataclass(frozen=True, eq=False)
class NoiseVariance:
    """An estimate of the variance of the noise; ``float`` of it is its value."""

    value: float
    """The variance."""

    std: float
    """Its standard deviation."""

    method: str
    """How it was found."""

    details: dict[str, object] = field(default_factory=dict, repr=False)
    """What the method leaves beside it: the cloud and its fit, a bandwidth, a model."""

    def __float__(self) -> float:
        return self.value

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return float(np.sqrt(self.value))


def noise_variance(
    X: ArrayLike, y: ArrayLike, method: str = "auto", **options: Any
) -> NoiseVariance:
    r"""Estimate the variance of the noise in :math:`y = f(x) + e`, whatever the function is.

    Parameters
    ----------
    X : (n, p) or (n,) array
        Inputs; where distances count, features are divided by their standard deviations.
    y : (n,) array
        Outputs.
    method : str, default="auto"
        ``"rice"``, ``"gasser"``: differences of neighbours, or of an observation from the line
        between its neighbours, in the order of one feature; repetitions count as such.

        ``"mueller"``: half the squared differences weighted by a kernel over the density of the
        inputs. Option: `bandwidth`, in standard deviations; by default that with which the others
        predict an output best.

        ``"neighbours"``: mean differences from the first, second, ... neighbour, extrapolated to
        distance zero. Option: `neighbours` (10).

        ``"model"``: :math:`y'Qy / \operatorname{tr} Q` with :math:`Q = (1 - S)'(1 - S)` for the
        least-squares machine with the lowest leave-one-out error. Option: `max_rows` (1000).

        ``"auto"``: ``"gasser"`` for one feature, ``"model"`` for several.
    **options
        Of the method.

    Returns
    -------
    NoiseVariance
        With `value`, `std`, `sigma`, `method` and `details`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, appendix A: eq. (A.2), (A.3), and
    (A.4) to (A.6) summed over ordered pairs; sec. 6.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import noise_variance
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(rng.uniform(0, 6, 400))
    >>> y = np.sin(x) + 0.2 * rng.normal(size=400)
    >>> found = noise_variance(x, y)
    >>> found.method, bool(abs(found.value - 0.04) < 3 * found.std)
    ('gasser', True)
    """
    points, targets = as_sample(X, y)
    if method == "auto":
        method = "gasser" if points.shape[1] == 1 else "model"
    if method not in METHODS:
        raise ValueError(f"method must be 'auto' or one of {list(METHODS)}, got {method!r}.")
    if len(targets) < 3:
        raise ValueError("The noise of fewer than three samples cannot be told from the function.")
    value, std, details = METHODS[method](points, targets, **options)
    return NoiseVariance(value, std, method, details)


def smoother_noise(y: ArrayLike, S: ArrayLike) -> float:
    r"""Return the noise variance that a linear smoother leaves, :math:`y'Qy / \operatorname{tr} Q`.

    Parameters
    ----------
    y : (n,) array
        Outputs.
    S : (n, n) array
        The smoother, fitted values ``S y``; :math:`Q = (1 - S)'(1 - S)`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. A.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 2.0, 4.0])
    >>> bool(np.isclose(smoother_noise(y, np.full((3, 3), 1 / 3)), np.var(y, ddof=1)))
    True
    """
    y, R = np.asarray(y, dtype=float), np.eye(len(np.asarray(y))) - np.asarray(S, dtype=float)
    trace = float(np.sum(R**2))
    if not trace > 0:
        raise ValueError("The smoother leaves nothing of the data, so nothing of the noise.")
    return float(np.sum((R @ y) ** 2) / trace)


Estimate = tuple[float, float, dict[str, object]]
Weigh = Callable[[Array, Array], sparse.dia_array]


def jackknife(first: Index, second: Index, halves: Array, weights: Array, n: int) -> float:
    r"""Return the jackknife's standard deviation of :math:`\sum_k w_k h_k`, k over pairs.

    Parameters
    ----------
    first, second : (m,) arrays of int
        The samples of the pairs.
    halves, weights : (m,) arrays
        Values and their weights, which add up to one.
    n : int
        Number of samples.
    """
    both = np.concatenate([first, second])
    terms = np.tile(weights * halves, 2)
    part, mass = (np.bincount(both, v, n) for v in (terms, np.tile(weights, 2)))
    without = (weights @ halves - part) / (1.0 - mass)
    return float(np.sqrt((n - 1) * np.var(without)))


def _mueller(X: Array, y: Array, bandwidth: float | None = None) -> Estimate:
    points = in_units(X)
    tree = cKDTree(points)
    if bandwidth is None:
        _, _, distances = neighbours(points, min(32, len(y) - 1))
        middle = np.median(distances, axis=0)
        tried = np.unique(middle[[k - 1 for k in (2, 4, 8, 16, 32) if k <= len(middle)]])
        bandwidth = min(tried[tried > 0], key=lambda h: _left_out(tree, y, h), default=1.0)
    first, second, weight = _kernel_pairs(tree, float(bandwidth))
    n, both = len(y), np.concatenate([first, second])
    mass = np.bincount(both, np.tile(weight, 2), n)
    inhabited = int(np.count_nonzero(mass))
    if not inhabited:
        raise ValueError(f"No two points are within the bandwidth {bandwidth:g}; choose a larger.")
    # W_ij = (1/f_i + 1/f_j) K_ij / (n (n - 1) h^d), which adds up to one over the pairs.
    inverse = np.divide(1.0, mass, out=np.zeros(n), where=mass > 0)
    W = weight * (inverse[first] + inverse[second]) / inhabited
    halves = 0.5 * np.square(y[first] - y[second])
    std = jackknife(first, second, halves, W, n)
    return float(W @ halves), std, {"bandwidth": float(bandwidth)}


def _kernel_pairs(tree: Any, h: float) -> tuple[Any, Any, Array]:
    """Return pairs within a bandwidth and Epanechnikov's kernel of their distances."""
    pairs = tree.query_pairs(h, output_type="ndarray")
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    first, second = pairs[:, 0], pairs[:, 1]
    squares = np.square(tree.data[first] - tree.data[second]).sum(axis=1)
    return first, second, np.maximum(1.0 - squares / h**2, 0.0)


def _left_out(tree: cKDTree, y: Array, h: float) -> float:
    """Return the mean squared error of the kernel average of the others."""
    first, second, weight = _kernel_pairs(tree, h)
    both, other = np.concatenate([first, second]), np.concatenate([second, first])
    w, n = np.tile(weight, 2), len(y)
    mass, total = np.bincount(both, w, n), np.bincount(both, w * y[other], n)
    # Where there is no neighbour, the mean of all is the prediction.
    return float(
        np.mean((y - np.where(mass > 0, total / np.where(mass > 0, mass, 1), y.mean())) ** 2)
    )


def _neighbours(X: Array, y: Array, neighbours_: int = N_NEIGHBOURS) -> Estimate:
    rows, near, distances = neighbours(in_units(X), neighbours_)
    m, k = near.shape
    halves = 0.5 * np.square(y[rows][:, None] - y[near])
    delta = np.mean(distances**2, axis=0)
    # The intercept of the line through the k means is a weighted sum of them.
    D = np.column_stack([np.ones(k), delta])
    weight = np.linalg.pinv(D)[0] if k > 1 else np.ones(1)
    if k > 1 and np.linalg.pinv(D)[1] @ halves.mean(axis=0) < 0:
        weight = np.full(k, 1.0 / k)
    W = np.tile(weight / m, m)
    value = float(halves.mean(axis=0) @ weight)
    std = jackknife(np.repeat(rows, k), near.ravel(), halves.ravel(), W, len(y))
    return max(value, 0.0), std, {"squares": delta, "halves": halves.mean(axis=0)}


def _rice(X: Array, y: Array) -> Estimate:
    return _differences(X, y, _first_differences, "rice")


def _gasser(X: Array, y: Array) -> Estimate:
    return _differences(X, y, _from_lines, "gasser")


def _first_differences(x: Array, variance: Array) -> sparse.dia_array:
    n = len(x)
    size = 1.0 / np.sqrt(variance[1:] + variance[:-1])
    return sparse.diags_array([-size, size], offsets=[0, 1], shape=(n - 1, n))


def _from_lines(x: Array, variance: Array) -> sparse.dia_array:
    n = len(x)
    a = (x[2:] - x[1:-1]) / (x[2:] - x[:-2])
    b = 1.0 - a
    size = 1.0 / np.sqrt(a**2 * variance[:-2] + b**2 * variance[2:] + variance[1:-1])
    return sparse.diags_array([a * size, -size, b * size], offsets=[0, 1, 2], shape=(n - 2, n))


def _differences(X: Array, y: Array, weigh: Weigh, name: str) -> Estimate:
    r"""Return the mean of squared differences, each with the variance of the noise.

    With the averages :math:`\bar y` of repetitions the differences are :math:`D \bar y` and the
    estimate is :math:`(|D \bar y|^2 + \text{within})/m`. For Gaussian noise its variance is
    :math:`2 \sigma^4 (|D V D'|^2 + m_0) / m^2` with the variances V of the averages.
    """
    if X.shape[1] != 1:
        raise ValueError(
            f"{name!r} needs points in a row, one feature; got {X.shape[1]}. Use 'model' "
            "or 'neighbours'."
        )
    x, group, count = np.unique(X[:, 0], return_inverse=True, return_counts=True)
    mean = np.bincount(group, y) / count
    within, degrees = float(np.sum((y - mean[group]) ** 2)), len(y) - len(x)
    least = 2 if name == "rice" else 3
    between, pattern = 0.0, sparse.csr_array((0, len(x)))
    if len(x) >= least:
        D = weigh(x, 1.0 / count)
        between = float(np.sum((D @ mean) ** 2))
        pattern = sparse.csr_array(D @ sparse.diags_array(1.0 / count) @ D.T)
    elif not degrees:
        raise ValueError(f"{name!r} needs at least {least} different points.")
    terms = pattern.shape[0] + degrees
    value = (between + within) / terms
    spread = float(np.sqrt(2.0 * (np.sum(pattern.data**2) + degrees))) / terms
    return value, value * spread, {"repetitions": degrees}


def _model(X: Array, y: Array, max_rows: int = MAX_MODEL_ROWS) -> Estimate:
    rows = some_rows(len(y), max_rows)
    points, targets = in_units(X)[rows], y[rows]
    guess = search_width(points, targets)
    spectral = Spectral(Gaussian(guess.length_scale)(points), np.ones((len(rows), 1)))
    # 1 - S has the eigenvalues (1/C) / (sigma + 1/C) off the constant, and 0 on it.
    left = 1.0 / (1.0 + guess.C * spectral.values)
    trace = float(np.sum(left**2))
    value = float(np.sum(spectral.residuals(targets, guess.C) ** 2)) / trace
    std = value * float(np.sqrt(2.0 * np.sum(left**4))) / trace
    return value, std, {"length_scale": guess.length_scale, "C": guess.C, "rows": rows}


METHODS: dict[str, Callable[..., Estimate]] = {
    "rice": _rice,
    "gasser": _gasser,
    "mueller": _mueller,
    "neighbours": lambda X, y, neighbours=N_NEIGHBOURS: _neighbours(X, y, neighbours),
    "model": _model,
}
"""Ways to estimate the noise: a value, its standard deviation, and details."""
