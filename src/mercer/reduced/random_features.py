r"""Random functions whose products are a kernel in the mean.

.. math:: k(x, z) = E \sum_j \phi_j(x) \phi_j(z)

A machine that is linear in them costs passes over m numbers a row, as with centres, but they do
not look at the data: for the same error one usually needs several times as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from math import comb
from operator import mul
from typing import Any

import numpy as np

from mercer._params import check_integer, is_integer
from mercer.data.sampling import FingerprintSample
from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum, factors, terms
from mercer.kernels.anova import ANOVA, Additive, EachFeature, Tensor, components
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear, Polynomial
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import Array, as_points
from mercer.kernels.power_series import PowerSeries
from mercer.kernels.stretched import Stretched
from mercer.reduced.base import Approximation
from mercer.reduced.feature_maps import (
    Coordinates,
    Crossed,
    Exponential,
    Joined,
    Multiplied,
    RandomMap,
    Sketch,
    Waves,
    Within,
)
from mercer.reduced.frequencies import STREAMS, UnknownSpectrumError, frequencies

__all__ = ["RandomFeatures", "random_features"]

KINDS = ("auto", *STREAMS, "sketch")

CROSSED = 16
"""A factor with at most this part of all functions, and exact, is multiplied without a sketch."""

FEW = 8
"""Up to so many features, quasi-random frequencies are better than orthogonal ones."""


@dataclass
class _Draft:
    """Settings that all parts of a random map share."""

    kind: str
    rng: np.random.Generator
    origin: Array | None

    def waves(self, kernel: Kernel, p: int, m: int) -> Waves:
        kind = self.kind
        if kind in ("auto", "sketch"):
            kind = "qmc" if p <= FEW else "orthogonal"
        omega = frequencies(kernel, p, max(1, m // 2), kind, self.rng)
        height = float(kernel.diag(np.zeros((1, p)))[0])
        return Waves(omega, height, self.origin)

    def product(self, parts: Sequence[Kernel], p: int, m: int) -> RandomMap:
        """Return a map of a product: exact factors crossed with the others, which are sketched."""
        still = [part for part in parts if part.stationary]
        if len(still) > 1 and self.kind != "sketch":
            # Frequencies add up, without the error of a sketch.
            rest = [part for part in parts if not part.stationary]
            parts = [*rest, reduce(mul, still)]
        maps = [self.build(part, p, m) for part in parts]
        exact = [i for i, phi in enumerate(maps) if isinstance(phi, Coordinates)]
        small = min(exact, key=lambda i: maps[i].m, default=None)
        if small is not None and CROSSED * maps[small].m <= m and len(parts) > 1:
            others = [part for i, part in enumerate(parts) if i != small]
            return Crossed(maps[small], self.product(others, p, m // maps[small].m))
        return maps[0] if len(maps) == 1 else Multiplied(maps, m, self.rng)

    def build(self, kernel: Kernel, p: int, m: int) -> RandomMap:
        if kernel.order or not kernel.positive_definite or not kernel.numeric:
            raise UnknownSpectrumError(f"{kernel!r} is not a positive definite kernel of numbers")
        taken_apart = isinstance(kernel, Sum | Scaled | PowerSeries | Additive | ANOVA)
        if kernel.stationary and not taken_apart:
            return self.waves(kernel, p, m)
        match kernel:
            case Sum():
                return self.joined(terms(kernel), p, m)
            case Scaled():
                return Within(self.build(kernel.kernel, p, m), kernel.factor)
            case ActiveDims():
                if isinstance(kernel.dims, slice):
                    here = list(range(p)[kernel.dims])
                else:
                    here = kernel._positions
                return self.moved().within(kernel.kernel, len(here), m, dims=here)
            case Stretched():
                return self.moved().within(kernel.kernel, p, m, scale=kernel.scale)
            case Linear():
                exact = p <= m
                return Coordinates(np.array([0.0, 1.0]), p) if exact else self.linear(p, m)
            case Polynomial():
                return self.polynomial(kernel, p, m)
            case PowerSeries():
                return self.series(kernel, p, m)
            case Power():
                return self.product([kernel.kernel] * int(kernel.exponent), p, m)
            case Product():
                return self.product(factors(kernel), p, m)
            case Tensor():
                return self.product([kernel.kernel.on([j]) for j in range(p)], p, m)
            case EachFeature():
                return self.joined([part for _, part in components(kernel, p)], p, m)
        raise UnknownSpectrumError(f"no random features of {kernel!r} are known")

    def moved(self) -> _Draft:
        """Return a draft for points in other coordinates, in which the origin is not known."""
        return _Draft(self.kind, self.rng, None)

    def within(self, kernel: Kernel, p: int, m: int, **how: Any) -> RandomMap:
        return Within(self.build(kernel, p, m), **how)

    def linear(self, p: int, m: int) -> RandomMap:
        return Sketch(p, Polynomial(1), m, self.rng)

    def polynomial(self, kernel: Polynomial, p: int, m: int) -> RandomMap:
        series = kernel.series()
        if sum(comb(p + i - 1, i) for i in np.flatnonzero(series)) <= m:
            return Coordinates(series, p)
        return Sketch(p, kernel, m, self.rng)

    def series(self, kernel: PowerSeries, p: int, m: int) -> RandomMap:
        if kernel.series == "exp" and kernel.kernel == Linear():
            return Exponential(self.moved().waves(Gaussian(1.0), p, m))
        if isinstance(kernel.series, str):
            raise UnknownSpectrumError(f"no random features of {kernel!r} are known")
        a = np.asarray(kernel.series, dtype=np.float64)
        constant = [float(a[0]) * Polynomial(0)] if a[0] > 0.0 else []
        powers = [float(a[i]) * kernel.kernel ** int(i) for i in np.flatnonzero(a) if i > 0]
        return self.joined([*constant, *powers], p, m)

    def joined(self, parts: Sequence[Kernel], p: int, m: int) -> RandomMap:
        """Return a map of a sum: errors add up least if functions are shared out by height."""
        if len(parts) > max(1, m // 2):
            raise ValueError(
                f"the kernel is a sum of {len(parts)} terms, for which {m} random functions are "
                "too few: take at least two for each of them."
            )
        heights = np.array([_height(part, p) for part in parts])
        known = np.isfinite(heights) & (heights > 0.0)
        heights[~known] = np.mean(heights[known]) if known.any() else 1.0
        maps: list[RandomMap] = []
        left, waiting = m, np.argsort(heights, kind="stable")
        # From the lowest on: what an exact map does not need is there for the others.
        for k, i in enumerate(waiting):
            later = waiting[k:]
            share = int(left * heights[i] / np.sum(heights[later]))
            share = min(max(2, share), left - 2 * (len(later) - 1))
            maps.append(self.build(parts[i], p, share))
            left -= maps[-1].m
        return Joined(maps)


def _height(kernel: Kernel, p: int) -> float:
    """Return k(x, x) if it is the same everywhere, and not a number otherwise."""
    return float(kernel.diag(np.zeros((1, p)))[0]) if kernel.stationary else np.nan


def random_features(
    kernel: Kernel,
    p: int,
    m: int,
    kind: str = "auto",
    seed: int = 0,
    origin: Array | None = None,
) -> RandomMap:
    r"""Return random functions whose products are a kernel in the mean.

    Stationary kernels by waves of random frequencies, drawn exactly where their law is known and
    from a table of the spectrum otherwise; polynomial kernels by all monomials if these are at most
    m and by sketches otherwise; sums, products, powers, multiples, restrictions and units of these.

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    p : int
        Number of features of the points.
    m : int
        Number of functions; the map may have fewer.
    kind : {"auto", "fourier", "orthogonal", "qmc", "sketch"}, default="auto"
        How frequencies are drawn: independently, in orthogonal blocks, as a quasi-random sequence;
        ``auto`` is quasi-random for up to eight features and orthogonal for more. ``sketch`` also
        multiplies stationary factors by sketches.
    seed : int, default=0
    origin : (p,) array, optional
        A point in the middle of the data, for digits in float32.

    Returns
    -------
    FeatureMap

    Raises
    ------
    ValueError
        If no random features of the kernel are known.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> phi = random_features(Gaussian(), 2, 2000)
    >>> x, z = phi.raw([[0.0, 0.0], [1.0, 0.0]])
    >>> round(float(x @ z), 2)
    0.61
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    if not is_integer(m) or m < 2:
        raise ValueError(f"the number of random functions must be at least 2, got {m!r}.")
    draft = _Draft(kind, np.random.default_rng(seed), origin)
    try:
        if kind == "sketch":
            return _sketched(draft, kernel, p, m)
        return draft.build(kernel, p, m)
    except UnknownSpectrumError as error:
        raise ValueError(
            f"{error}, so it has no random features: use Nystrom, which takes every kernel."
        ) from error


def _sketched(draft: _Draft, kernel: Kernel, p: int, m: int) -> RandomMap:
    parts = [kernel] if not isinstance(kernel, Product) else factors(kernel)
    if isinstance(kernel, Power):
        parts = [kernel.kernel] * int(kernel.exponent)
    if len(parts) == 1 and kernel.stationary:
        raise ValueError(
            f"{kernel!r} is neither a product nor a polynomial, so there is nothing to sketch: "
            "choose kind='auto'."
        )
    return draft.product(parts, p, m) if len(parts) > 1 else draft.build(kernel, p, m)


@dataclass(eq=False)
class RandomFeatures(Approximation):
    r"""Random features: combinations of m random functions whose products are the kernel.

    Their products are the kernel in the mean, with an error of about :math:`1/\sqrt m`. They
    look neither at the data nor at the targets; :class:`Nystrom` is usually better for the same m,
    and these are for kernels whose values are dear or for very many functions.

    Parameters
    ----------
    m : int, default=1000
        Number of functions.
    kind : {"auto", "fourier", "orthogonal", "qmc", "sketch"}, default="auto"
        As in :func:`random_features`.
    random_state, memory_limit, checkpoint, n_jobs :
        As in :class:`Approximation`.

    References
    ----------
    A. Rahimi and B. Recht (2007), *Random features for large-scale kernel machines*, NIPS 20; those
    of :mod:`mercer.reduced.frequencies` and :mod:`mercer.reduced.sketches`.

    Examples
    --------
    >>> RandomFeatures(500, kind="orthogonal").m
    500
    """

    m: int = 1000
    kind: str = "auto"
    _: KW_ONLY
    random_state: int = 0
    memory_limit: str | int | float = "2GB"
    checkpoint: Any = None
    n_jobs: int | None = None
    pool_size = 256

    def __post_init__(self) -> None:
        check_integer("m", self.m, 2)
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}.")

    def settle(self, kernel: Kernel, pool: FingerprintSample, C: float) -> RandomMap:
        X = as_points(pool.X)
        return random_features(
            kernel, X.shape[1], self.m, self.kind, self.random_state, kernel.origin(X)
        )
