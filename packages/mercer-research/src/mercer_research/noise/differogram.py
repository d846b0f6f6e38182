r"""Differences of outputs against differences of inputs, and the noise where these vanish.

.. math:: \Upsilon(\delta) = \tfrac12 E[(y_i - y_j)^2 \mid |x_i - x_j|^2 = \delta], \qquad
          \sigma_e^2 \le \Upsilon(\delta) \le \sigma_e^2 + \tfrac12 M \delta

if the squared slope of the function is at most M, so that the noise is what remains at distance
zero.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from mercer._typing import Array
from mercer.smoothing.noise import N_NEIGHBOURS, NoiseVariance, jackknife
from mercer.smoothing.pairs import Index, as_sample, in_units, neighbours, some_rows

__all__ = ["DifferogramBins", "DifferogramCloud", "DifferogramFit", "differogram_noise"]

# Pairs that are looked at, at most.
MAX_PAIRS = 2_000_000
# A local and a global answer that differ by more than this share contradict each other.
MAX_DISAGREEMENT = 0.5
# Steps of reweighting, and the relative change at which they end.
MAX_STEPS, MIN_CHANGE = 100, 1e-8
# No pair weighs more than if the curve there were this share of its mean.
MIN_LEVEL_SHARE = 1e-6
# Widths of the saturating curve that are tried, in units of the mean squared distance.
TRIED_WIDTHS = np.geomspace(1e-3, 1e1, 41)


class Pairs(NamedTuple):
    """Pairs of rows, ``first < second``, with the squares of their distances."""

    first: Index
    second: Index
    squares: Array


def all_pairs(X: Array, max_pairs: int) -> Pairs:
    """Return all pairs of rows, or as many drawn evenly where there are more."""
    n = len(X)
    if n * (n - 1) // 2 <= max_pairs:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(0)
        one = rng.integers(0, n, size=max_pairs)
        other = (one + rng.integers(1, n, size=max_pairs)) % n
        first, second = np.minimum(one, other), np.maximum(one, other)
    return Pairs(first, second, squared_distances(X, first, second))


def squared_distances(X: Array, first: Index, second: Index) -> Array:
    """Return the squared distances of pairs of rows, a few at a time."""
    out = np.empty(len(first))
    step = max(1, 2**22 // X.shape[1])
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        out[part] = np.square(X[first[part]] - X[second[part]]).sum(axis=1)
    return out


def nearest_pairs(X: Array, k: int, max_pairs: int) -> Pairs:
    """Return every row paired with its nearest others, each pair once."""
    rows, near, _ = neighbours(X, k)
    one, other = np.repeat(rows, near.shape[1]), near.ravel()
    codes = np.unique(np.minimum(one, other) * len(X) + np.maximum(one, other))
    if len(codes) > max_pairs:
        codes = codes[some_rows(len(codes), max_pairs)]
    first, second = np.divmod(codes, len(X))
    return Pairs(first, second, squared_distances(X, first, second))


@dataclass(frozen=True, eq=False)
class DifferogramBins:
    """Pairs in groups of nearly the same distance."""

    edges: Array
    """Squared distances between the groups, (b + 1,)."""

    count: Array
    """Pairs in each group, (b,)."""

    squares: Array
    """Mean squared distances, (b,)."""

    halves: Array
    """Means of half the squared differences, (b,)."""

    quartiles: Array
    """Their quartiles, (b, 3)."""


@dataclass(frozen=True, eq=False)
class DifferogramFit:
    r"""A curve through a differogram cloud, and its value at distance zero.

    The value is a weighted sum of half the squared differences,
    :math:`\hat\sigma^2 = \sum_k l_k \tfrac12 \Delta_{y,k}^2`, with weights that add up to one:
    a U-statistic, whose standard deviation is that of leaving one sample out at a time.
    """

    model: str
    coef: Array
    r"""Of ``1, delta, delta^2, ...``, or of ``1, 1 - exp(-delta / h)`` for "gaussian"."""

    width: float
    """The unit of squared distance: their mean, or h for "gaussian"."""

    weights: Array
    """Weights of the pairs in the last step, adding up to one, (m,)."""

    functional: Array
    """The weights l of half the squared differences in the value at zero, (m,)."""

    n_iter: int
    """Steps of reweighting."""

    std: float
    """Standard deviation of the value at zero, by the jackknife."""

    @property
    def nugget(self) -> float:
        """The value at distance zero: the variance of the noise."""
        return float(self.coef[0])

    @property
    def slope(self) -> float:
        """The derivative with respect to the squared distance at zero."""
        return float(self.coef[1] / self.width) if len(self.coef) > 1 else 0.0

    def __call__(self, squares: ArrayLike) -> Array:
        """Return the curve at squared distances."""
        delta = np.asarray(squares, dtype=float)
        columns = _columns(delta.ravel() / self.width, self.model, len(self.coef))
        return np.asarray(columns @ self.coef).reshape(delta.shape)


@dataclass(frozen=True, eq=False)
class DifferogramCloud:
    r"""Pairs of samples: squared distances and half the squared differences of the outputs.

    Make one with :meth:`of`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition A.2 and eq. (A.8), with
    half the squared differences throughout; fig. 6.4b.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.noise.differogram import DifferogramCloud
    >>> x = np.linspace(0, 1, 50)
    >>> cloud = DifferogramCloud.of(x, 2.0 * x)
    >>> cloud.halves.shape, abs(cloud.fit().nugget) < 1e-12
    ((1225,), True)
    """

    first: Index
    second: Index
    """The samples of each pair, (m,)."""

    squares: Array
    """Squared distances, in units of the features' standard deviations, (m,)."""

    halves: Array
    """Half the squared differences of the outputs, (m,)."""

    n: int
    """Number of samples."""

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        neighbours: int | None = None,
        standardize: bool = True,
        max_pairs: int = MAX_PAIRS,
    ) -> Self:
        """Make the cloud of a sample.

        Parameters
        ----------
        X : (n, p) or (n,) array
            Inputs.
        y : (n,) array
            Outputs.
        neighbours : int, optional
            Only pairs of a sample with so many nearest others, found by a tree; all by default.
        standardize : bool, default=True
            Divide the features by their standard deviations.
        max_pairs : int, default=2000000
            So many pairs are drawn evenly, always the same, where there are more.

        Returns
        -------
        DifferogramCloud
        """
        points, targets = as_sample(X, y)
        points = in_units(points) if standardize else points
        if len(targets) < 3:
            raise ValueError("A differogram needs at least three samples.")
        pairs = (
            all_pairs(points, max_pairs)
            if neighbours is None
            else nearest_pairs(points, neighbours, max_pairs)
        )
        halves = 0.5 * np.square(targets[pairs.first] - targets[pairs.second])
        return cls(pairs.first, pairs.second, pairs.squares, halves, len(targets))

    def near(self, share: float) -> DifferogramCloud:
        """Return the cloud of a share of the pairs, the closest.

        Parameters
        ----------
        share : float
            In (0, 1].
        """
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must be in (0, 1], got {share}.")
        count = max(3, int(np.ceil(share * len(self.squares))))
        closest = np.sort(np.argsort(self.squares, kind="stable")[:count])
        return DifferogramCloud(
            self.first[closest],
            self.second[closest],
            self.squares[closest],
            self.halves[closest],
            self.n,
        )

    def binned(self, n_bins: int = 20) -> DifferogramBins:
        """Return the pairs in groups, whose edges are spaced evenly in the logarithm of distance.

        Parameters
        ----------
        n_bins : int, default=20
            Groups; those without a pair are left out, pairs at one place join the first.
        """
        positive = self.squares[self.squares > 0]
        if not len(positive):
            raise ValueError("All pairs are at one place.")
        edges = np.geomspace(positive.min(), positive.max(), n_bins + 1)
        group = np.clip(np.searchsorted(edges, self.squares, side="right") - 1, 0, n_bins - 1)
        kept = np.unique(group)
        members = [np.flatnonzero(group == g) for g in kept]
        return DifferogramBins(
            np.append(edges[kept], edges[-1]),
            np.array([len(m) for m in members], dtype=float),
            np.array([self.squares[m].mean() for m in members]),
            np.array([self.halves[m].mean() for m in members]),
            np.array([np.quantile(self.halves[m], [0.25, 0.5, 0.75]) for m in members]),
        )

    def fit(self, degree: int = 1, model: str = "polynomial") -> DifferogramFit:
        r"""Fit a rising curve to the cloud by reweighted least squares.

        .. math:: \Upsilon(\delta) = a_0 + \sum_{l=1}^r a_l \delta^l, \quad a \ge 0, \qquad
                  \min_a \sum_k \bigl(\Upsilon(\delta_k) - \tfrac12 \Delta_{y,k}^2\bigr)^2
                  / \Upsilon(\delta_k)

        Parameters
        ----------
        degree : int, default=1
            The degree r of the polynomial.
        model : {"polynomial", "gaussian"}, default="polynomial"
            "gaussian" is the curve :math:`a_0 + a_1 (1 - e^{-\delta/h})`, which saturates: for
            clouds of all pairs of a function that is bounded.

        Returns
        -------
        DifferogramFit

        References
        ----------
        K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (A.10) to (A.13), for half
        the squared differences; lemma A.2 for the U-statistic.
        """
        if model not in ("polynomial", "gaussian"):
            raise ValueError(f"model must be 'polynomial' or 'gaussian', got {model!r}.")
        if degree < 0:
            raise ValueError(f"degree must be at least 0, got {degree}.")
        unit = float(self.squares.mean()) or 1.0
        size = degree + 1 if model == "polynomial" else 2
        level = float(self.halves.mean())
        if not level > 0:
            flat = np.full(len(self.halves), 1.0 / len(self.halves))
            return DifferogramFit(model, np.zeros(size), unit, flat, flat, 0, 0.0)
        width, coef = unit, np.eye(size)[0] * level
        w, n_iter = np.ones_like(self.halves), 0
        for n_iter in range(1, MAX_STEPS + 1):
            before = coef
            if model == "gaussian" and n_iter <= 3:
                # The width settles with the first weights; then it is one more linear problem.
                tried = [
                    (_fit(_columns(self.squares / (unit * t), model, size), w, self.halves), t)
                    for t in TRIED_WIDTHS
                ]
                width = unit * min(tried, key=lambda pair: pair[0][1])[1]
            columns = _columns(self.squares / width, model, size)
            coef, _ = _fit(columns, w, self.halves)
            w = 1.0 / np.maximum(columns @ coef, MIN_LEVEL_SHARE * level)
            if n_iter > 3 and np.abs(coef - before).max() <= MIN_CHANGE * np.abs(coef).max():
                break
        functional = _functional(columns, w, coef)
        std = jackknife(self.first, self.second, self.halves, functional, self.n)
        return DifferogramFit(model, coef, width, w / w.sum(), functional, n_iter, std)


def _columns(delta: Array, model: str, size: int) -> Array:
    if model == "gaussian":
        return np.column_stack([np.ones_like(delta), -np.expm1(-delta)])
    return np.vander(delta, size, increasing=True)


def _fit(columns: Array, w: Array, halves: Array) -> tuple[Array, float]:
    """Return the nonnegative least-squares coefficients and their squared error."""
    root = np.sqrt(w)
    # Nonnegative least squares of a triangle, which many pairs fold into.
    both: Array = np.linalg.qr(np.column_stack([columns, halves]) * root[:, None], mode="r")  # type: ignore[assignment]
    coef, norm = nnls(both[:, :-1], both[:, -1])
    return coef, float(norm) ** 2


def _functional(columns: Array, w: Array, coef: Array) -> Array:
    """Return the weights of the values in the first coefficient, the others that are zero fixed."""
    live = np.flatnonzero((coef > 0) | (np.arange(len(coef)) == 0))
    D = columns[:, live]
    normal = D.T @ (w[:, None] * D)
    return np.asarray(w * (D @ np.linalg.lstsq(normal, np.eye(len(live))[0], rcond=None)[0]))


def differogram_noise(
    X: ArrayLike,
    y: ArrayLike,
    *,
    neighbourhood: float | int = 0.1,
    degree: int = 1,
    model: str = "polynomial",
    max_pairs: int = MAX_PAIRS,
) -> NoiseVariance:
    r"""Estimate the variance of the noise by close pairs, extrapolated to distance zero.

    It needs no machine, and is good in one to three features, where there are close pairs.

    Parameters
    ----------
    X : (n, p) or (n,) array
        Inputs; features are divided by their standard deviations.
    y : (n,) array
        Outputs.
    neighbourhood : float or int, default=0.1
        The share of closest pairs, or so many nearest neighbours.
    degree, model :
        As in :meth:`DifferogramCloud.fit`.
    max_pairs : int, default=2_000_000
        Pairs that are looked at, at most.

    Warns
    -----
    UserWarning
        If all pairs are asked for, and close ones say something that differs by more than a half.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (A.10) to (A.22) for half the
    squared differences.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(rng.uniform(0, 6, 400))
    >>> found = differogram_noise(x, np.sin(x) + 0.2 * rng.normal(size=400))
    >>> bool(abs(found.value - 0.04) < 3 * found.std)
    True
    """
    points, targets = as_sample(X, y)
    n = len(targets)
    if n < 3:
        raise ValueError("The noise of fewer than three samples cannot be told from the function.")
    if isinstance(neighbourhood, int) and not isinstance(neighbourhood, bool):
        near = DifferogramCloud.of(points, targets, neighbours=neighbourhood, max_pairs=max_pairs)
    elif n * (n - 1) // 2 <= max_pairs:
        near = DifferogramCloud.of(points, targets, max_pairs=max_pairs).near(neighbourhood)
    else:
        # As many neighbours as a share of all pairs would be, or as there is room for.
        k = max(1, min(int(neighbourhood * (n - 1)), max_pairs // n))
        near = DifferogramCloud.of(points, targets, neighbours=k, max_pairs=max_pairs)
    fit = near.fit(degree, model)
    if isinstance(neighbourhood, float) and neighbourhood == 1.0:
        local = DifferogramCloud.of(points, targets, neighbours=N_NEIGHBOURS).fit().nugget
        if abs(local - fit.nugget) > MAX_DISAGREEMENT * max(local, fit.nugget):
            warnings.warn(
                f"Close pairs speak of the noise variance {local:.3g}, all pairs of "
                f"{fit.nugget:.3g}: the function is not as simple as the curve through all of "
                "them. Use a smaller neighbourhood, or model='gaussian'.",
                UserWarning,
                stacklevel=2,
            )
    return NoiseVariance(fit.nugget, fit.std, "differogram", {"cloud": near, "fit": fit})
