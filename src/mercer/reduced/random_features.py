r"""Random functions whose products are a kernel in the mean.

.. math:: k(x, z) = E \sum_j \phi_j(x) \phi_j(z)

A machine that is linear in them costs passes over m numbers a row, as with centres, but they do
not look at the data: for the same error one usually needs several times as many.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from mercer._params import check_integer, is_integer
from mercer.data.sampling import FingerprintSample
from mercer.kernels.anova import components
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, as_points
from mercer.reduced.base import Approximation
from mercer.reduced.feature_maps import Joined, RandomMap, Waves
from mercer.reduced.frequencies import STREAMS, UnknownSpectrumError, frequencies

__all__ = ["RandomFeatures", "random_features"]

KINDS = ("auto", *STREAMS)

MAX_QMC_FEATURES = 8
"""Up to this number of features, quasi-random frequencies are better than orthogonal ones."""


def _waves(
    kernel: Kernel, p: int, m: int, kind: str, rng: np.random.Generator, origin: Array | None
) -> RandomMap:
    if kernel.order or not kernel.positive_definite or not kernel.numeric:
        raise UnknownSpectrumError(f"{kernel!r} is not a positive definite kernel of numbers")
    if not kernel.stationary:
        raise UnknownSpectrumError(
            f"{kernel!r} does not depend on differences of points only and has no spectrum"
        )
    parts = [part for _, part in components(kernel, p)]
    if len(parts) > 1:
        return _joined(parts, p, m, kind, rng, origin)
    how = ("qmc" if p <= MAX_QMC_FEATURES else "orthogonal") if kind == "auto" else kind
    omega = frequencies(kernel, p, max(1, m // 2), how, rng)
    return Waves(omega, float(kernel.diag(np.zeros((1, p)))[0]), origin)


def _joined(
    parts: list[Kernel],
    p: int,
    m: int,
    kind: str,
    rng: np.random.Generator,
    origin: Array | None,
) -> RandomMap:
    """Return waves of each term: errors of a sum are least if functions follow the heights."""
    if len(parts) > max(1, m // 2):
        raise ValueError(
            f"the kernel is a sum of {len(parts)} terms, for which {m} random functions are "
            "too few: take at least two for each of them."
        )
    heights = np.array([float(part.diag(np.zeros((1, p)))[0]) for part in parts])
    maps: list[RandomMap] = []
    left, order = m, np.argsort(heights, kind="stable")
    for k, i in enumerate(order):
        later = order[k:]
        share = int(left * heights[i] / np.sum(heights[later]))
        share = min(max(2, share), left - 2 * (len(later) - 1))
        maps.append(_waves(parts[i], p, share, kind, rng, origin))
        left -= maps[-1].m
    return Joined(maps)


def random_features(
    kernel: Kernel,
    p: int,
    m: int,
    kind: str = "auto",
    seed: int = 0,
    origin: Array | None = None,
) -> RandomMap:
    r"""Return random functions whose products are a kernel in the mean.

    They are waves of random frequencies, drawn exactly where their distribution is known and from a
    table of the spectrum otherwise; the terms of a sum have waves of their own.

    Parameters
    ----------
    kernel : Kernel
        Positive definite and stationary.
    p : int
        Number of features of the points.
    m : int
        Number of functions; the map may have fewer.
    kind : {"auto", "fourier", "orthogonal", "qmc"}, default="auto"
        How frequencies are drawn: independently, in orthogonal blocks, as a quasi-random sequence;
        ``auto`` is quasi-random for up to eight features and orthogonal for more.
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
    try:
        return _waves(kernel, p, m, kind, np.random.default_rng(seed), origin)
    except UnknownSpectrumError as error:
        raise ValueError(
            f"{error}, so it has no random features: use Nystrom, which takes every kernel."
        ) from error


@dataclass(eq=False)
class RandomFeatures(Approximation):
    r"""Random features: combinations of m random functions whose products are the kernel.

    Their products are the kernel in the mean, with an error of about :math:`1/\sqrt m`. They
    look neither at the data nor at the targets; :class:`Nystrom` is usually better for the same m,
    and these are for kernels whose values are dear or for very many functions. Kernels that are not
    functions of differences of points, such as polynomial ones, have none: use :class:`Nystrom`.

    Parameters
    ----------
    m : int, default=1000
        Number of functions.
    kind : {"auto", "fourier", "orthogonal", "qmc"}, default="auto"
        As in :func:`random_features`.
    random_state, memory_limit, checkpoint, n_jobs :
        As in :class:`Approximation`.

    References
    ----------
    A. Rahimi and B. Recht (2007), *Random features for large-scale kernel machines*, NIPS 20; those
    of :mod:`mercer.reduced.frequencies`.

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
