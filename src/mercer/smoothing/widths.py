"""Widths of kernels from the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from mercer._typing import Array
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.named import median_distance
from mercer.kernels.points import to_dense
from mercer.losses.base import Loss
from mercer.smoothing.eigendecomposition import Spectral
from mercer.smoothing.pairs import neighbours, some_rows

__all__ = ["Guess", "guess_C", "guess_width", "search_width"]

# Weights of the squared loss that are tried, in units of one over the kernel's mean variance.
TRIED_WEIGHTS = 10.0 ** np.arange(-3.0, 5.01, 0.25)
# Widths that are tried, in units of the median distance.
TRIED_WIDTHS = 2.0 ** np.arange(-2.0, 2.01)
# Errors this little larger than the least are as good, and a smaller C is the safer.
MAX_ERROR_RATIO = 1.005
# Rows that distances and least-squares machines are taken of, at most.
MAX_ROWS = 500


@dataclass(frozen=True, eq=False)
class Guess:
    """A least-squares machine with a small leave-one-out error, and its noise variance."""

    C: float
    """Weight of the squared loss."""

    left_out: Array
    """Residuals of samples left out, (m, d)."""

    targets: Array
    """Their targets, (m, d)."""

    weights: Array
    """Their weights, (m,)."""

    index: NDArray[np.intp]
    """Their numbers in the sample, (m,)."""

    noise_variance: float
    """What the machine leaves of the targets, over what it leaves of noise."""

    error: float
    """Mean cost of the samples left out."""

    length_scale: float = np.nan
    """Width, if it was chosen."""

    def weight_of(self, loss: Loss) -> float:
        r"""Return the C with which another loss holds the function as tightly.

        .. math:: C \, E[r^2] / E[r \, \rho'(r)]

        over the residuals of samples left out: for Gaussian ones :math:`E[r \rho'(r)] = \sigma^2
        E[\rho''(r)]`, so that the curvature of the summed loss is that of the squared one.

        Parameters
        ----------
        loss : Loss
            Of numbers, or of labels plus and minus one.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.losses import Absolute
        >>> r = np.array([[1.0], [-3.0]])
        >>> guess = Guess(10.0, r, 0 * r, np.ones(2), np.arange(2), 5.0, 5.0)
        >>> guess.weight_of(Absolute())
        25.0
        """
        part, Y = loss.take(self.index), self.targets
        slopes = [part.gradient(y, y - r) for y, r in zip(Y.T, self.left_out.T, strict=True)]
        square = float(np.sum(self.weights @ self.left_out**2))
        across = float(np.sum(self.weights @ (-self.left_out * np.stack(slopes, axis=1))))
        # A loss that no residual reaches, or none at all, says nothing.
        return self.C * square / across if across > 0 and square > 0 else self.C


def squared_error(y: Array, f: Array) -> Array:
    """Return the squared error of predicting a number."""
    return np.square(y - f)


def margin_error(y: Array, f: Array) -> Array:
    """Return the squared margin error of labels plus and minus one: beyond the label, zero."""
    return np.square(np.maximum(0.0, 1.0 - y * f))


def guess_C(
    K: ArrayLike,
    y: ArrayLike,
    B: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    cost: Callable[[Array, Array], Array] = squared_error,
    Cs: ArrayLike | None = None,
) -> Guess:
    r"""Choose the weight of the squared loss with the lowest leave-one-out error.

    One eigendecomposition gives the residuals of samples left out for all C; of those as good as
    the best, the smallest is taken.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    y : (n,) or (n, d) array
        Targets, numbers or labels plus and minus one.
    B : (n, q) array, optional
        Unpenalized columns.
    weights : (n,) array, optional
        Of the samples.
    cost : callable, default=squared error
        Of targets and predictions; classifiers charge nothing beyond the margin.
    Cs : (k,) array, optional
        Weights to choose among; from 1e-3 to 1e5 over the mean eigenvalue by default.

    Returns
    -------
    Guess

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> guess = guess_C(Gaussian(1.0)(x), y, np.ones((60, 1)))
    >>> bool(0.005 < guess.noise_variance < 0.02)
    True
    """
    spectral, targets = Spectral(K, B, weights), np.asarray(y, dtype=float)
    s = np.ones(spectral.n) if weights is None else np.asarray(weights, dtype=float)
    live = s > 0
    share = (s / np.sum(s))[live]
    unit = float(np.mean(spectral.values)) if len(spectral.values) else 0.0
    Cs = TRIED_WEIGHTS / (unit or 1.0) if Cs is None else np.asarray(Cs, dtype=float)
    left = spectral.leave_one_out(targets, Cs).reshape(len(Cs), spectral.n, -1)[:, live]
    Y = targets.reshape(spectral.n, -1)[live]
    # A sample without which a free function is lost predicts nothing, whatever C is.
    known = np.isfinite(left[0]).all(axis=1)
    if not known.any():
        known[:], left = True, np.broadcast_to(Y, left.shape)
    left, Y, share = left[:, known], Y[known], share[known]
    errors = np.tensordot(cost(Y, Y - left).mean(axis=2), share, axes=1) / share.sum()
    if not np.any(np.isfinite(errors)):
        raise ValueError(
            "a weight C cannot be chosen: the squared errors of the targets overflow. Scale y to "
            "magnitudes near one (TransformedTargetRegressor), or give C as a number."
        )
    errors = np.where(np.isfinite(errors), errors, np.inf)
    k = int(np.flatnonzero(errors <= MAX_ERROR_RATIO * errors.min())[0])
    C = float(Cs[k])
    residuals = spectral.residuals(targets, C).reshape(spectral.n, -1)
    # 1 - S has the eigenvalues 1 / (1 + C sigma) off the free columns; its square is Q.
    trace = float(np.sum(1.0 / (1.0 + C * spectral.values) ** 2))
    square = np.sum((s[:, None] * residuals**2)[live], axis=0)
    noise = float(np.mean(square)) / trace if trace > 0 else 0.0
    index = np.flatnonzero(live)[known]
    return Guess(C, left[k], Y, s[index], index, noise, float(errors[k]))


def guess_width(X: ArrayLike, method: str = "median", max_rows: int = MAX_ROWS) -> float:
    r"""Return a length scale to start from.

    Parameters
    ----------
    X : (n, p) array
        Points, features in comparable units.
    method : {"median", "mean", "neighbours"}, default="median"
        The median or the mean distance of two points; or the distance within which a sample of the
        same spread has enough neighbours to average over: the mean distance to neighbour number
        :math:`n^{4/(4+p)}`, the order of the best bandwidth in p dimensions.
    max_rows : int, default=500
        Of a larger sample so many rows are used, always the same.

    Returns
    -------
    float
        Positive; 1 if all points coincide.

    Examples
    --------
    >>> guess_width([[0.0], [1.0], [3.0]])
    2.0
    >>> guess_width([[0.0], [1.0], [3.0]], "mean")
    2.0
    """
    points = np.asarray(to_dense(X), dtype=float)
    points = points[:, None] if points.ndim == 1 else points
    points = points[some_rows(len(points), max_rows)]
    if method not in ("median", "mean", "neighbours"):
        raise ValueError(f"method must be 'median', 'mean' or 'neighbours', got {method!r}.")
    if len(points) < 2:
        return 1.0
    if method == "neighbours":
        n, p = points.shape
        k = min(n - 1, max(1, round(n ** (4.0 / (4.0 + p)))))
        found = neighbours(points, k)[2][:, -1]
        return float(found.mean()) or 1.0
    if method == "median":
        return median_distance(points)
    distances = pdist(points)
    distances = distances[distances > 0.0]
    return float(np.mean(distances)) if len(distances) else 1.0


def search_width(
    X: ArrayLike,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    kernel: Callable[[float], Kernel] = Gaussian,
    start: float | None = None,
    cost: Callable[[Array, Array], Array] = squared_error,
    max_rows: int = MAX_ROWS,
) -> Guess:
    """Choose width and C together, by leaving one out of a least-squares machine.

    A quarter to four times the median distance are tried: five eigendecompositions of a few hundred
    rows, always the same ones.

    Parameters
    ----------
    X : (n, p) array
        Points, features in comparable units.
    y : (n,) or (n, d) array
        Targets, numbers or labels plus and minus one.
    weights : (n,) array, optional
        Of the samples.
    kernel : callable, default=Gaussian
        Makes a kernel of a length scale.
    start : float, optional
        The middle of the widths; the median distance by default.
    cost : callable, default=squared error
        Of targets and predictions.
    max_rows : int, default=500

    Returns
    -------
    Guess
        With ``length_scale``.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 6, 80)[:, None]
    >>> bool(0.3 < search_width(x, np.sin(3 * x[:, 0])).length_scale < 2.0)
    True
    """
    sample: Any = X if hasattr(X, "shape") else np.asarray(X, dtype=float)
    rows = some_rows(sample.shape[0], max_rows)
    points, targets = sample[rows], np.asarray(y, dtype=float)[rows]
    some = None if weights is None else np.asarray(weights, dtype=float)[rows]
    middle = guess_width(points) if start is None else start
    ones = np.ones((len(rows), 1))
    guesses = []
    for width in middle * TRIED_WIDTHS:
        K = np.asarray(kernel(float(width))(points), dtype=float)
        guess = guess_C(K, targets, ones, some, cost=cost)
        guesses.append((guess.error, float(width), guess))
    _, width, best = min(guesses, key=lambda found: found[0])
    return replace(best, length_scale=width, index=rows[best.index])
