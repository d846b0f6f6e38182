r"""Random waves whose products are a kernel in the mean.

.. math:: k(x, z) = E \sum_j \phi_j(x) \phi_j(z)

A machine that is linear in them costs passes over m numbers a row, as with centres, but they do
not look at the data: for the same error one usually needs several times as many.

By Bochner's theorem a stationary kernel is :math:`k(u) = k(0) \, E \cos\langle\omega, u\rangle`.
Products of kernels are sums of independent frequencies, sums are mixtures. Most radial kernels are
mixtures of Gaussians, :math:`\omega = \tau g` with a normal vector g and a random size
:math:`\tau`, so that one stream of directions, independent or orthogonal, serves them all.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce, singledispatch
from numbers import Integral
from operator import add
from typing import Any

import numpy as np
from scipy import special

from mercer._params import check_integer, is_integer
from mercer._typing import PointsLike
from mercer.data.sampling import FingerprintSample
from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum
from mercer.kernels.anova import EachFeature, Tensor, components
from mercer.kernels.base import Kernel
from mercer.kernels.compact import BSpline
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.featurewise import scale_of_feature
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import PowerLaw
from mercer.kernels.periodic import Circular
from mercer.kernels.points import Array, as_points, as_single, is_sparse
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.spectral import SpectralMixture
from mercer.kernels.stationary import Dimensional, Stationary
from mercer.kernels.stretched import Stretched
from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.nystrom import Nystrom

MISSING = 1e-6
"""The largest part of a spectrum that a table of it may leave out."""

OCTAVES, PANELS, DEGREE = 14, 256, 4
"""A table of a spectrum: how often its range doubles, panels of each octave, nodes of a panel."""

HARMONICS = 4096
"""The most frequencies of a periodic kernel."""


class UnknownSpectrumError(ValueError):
    """Raised for kernels whose spectrum cannot be drawn from."""


class Waves(FeatureMap):
    r"""Cosines and sines of random frequencies, :math:`\sqrt{k(0)/D} \, (\cos, \sin)(\omega'x)`.

    Parameters
    ----------
    omega : (D, p) array
        Frequencies.
    height : float
        The value k(0).
    origin : (p,) array, optional
        Subtracted from all points: around it they have more digits in float32.

    References
    ----------
    A. Rahimi and B. Recht (2007), *Random features for large-scale kernel machines*, NIPS 20,
    algorithm 1, in the form with both functions of each frequency, whose error is smaller.

    Examples
    --------
    >>> phi = Waves(np.array([[np.pi]]), 1.0)
    >>> phi.raw(np.array([[0.0], [1.0]])).round(12) + 0.0
    array([[ 1.,  0.],
           [-1.,  0.]])
    """

    def __init__(self, omega: Array, height: float, origin: Array | None = None) -> None:
        self.omega, self.height, self.origin = omega, float(height), origin
        self.m = self.r = 2 * len(omega)

    def raw(self, X: PointsLike, single: bool = False) -> Any:
        X = as_points(X)
        if single and not is_sparse(X):
            return self._waves(as_single(X, origin=self.origin), None)
        return self._waves(X.astype(np.float32 if single else np.float64, copy=False), self.origin)

    def _waves(self, X: PointsLike, origin: Array | None) -> Array:
        D = len(self.omega)
        A = X @ self.omega.T.astype(X.dtype)
        if origin is not None:
            A -= (self.omega @ origin).astype(X.dtype)
        out = np.empty((X.shape[0], 2 * D), dtype=X.dtype)
        np.cos(A, out=out[:, :D])
        np.sin(A, out=out[:, D:])
        out *= np.sqrt(self.height / D)
        return out

    @property
    def nbytes(self) -> int:
        return int(self.omega.nbytes)


class Independent:
    """Random numbers for `size` frequencies, independent of each other.

    Parameters
    ----------
    size : int
    rng : numpy.random.Generator
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size, self.rng = size, rng

    def uniforms(self, k: int) -> Array:
        """Return ``(size, k)`` uniform numbers inside the unit interval."""
        # Multiples of 2^-53 shifted by half of one: neither 0 nor 1.
        return self.rng.random((self.size, k)) + 2.0**-54

    def normals(self, p: int) -> Array:
        """Return ``(size, p)`` normal vectors."""
        return np.asarray(special.ndtri(self.uniforms(p)))


class Orthogonal(Independent):
    """Normal vectors that are orthogonal to each other, as many at a time as there can be.

    References
    ----------
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice and S. Kumar (2016), *Orthogonal random
    features*, NIPS 29, eq. (5) and theorem 1.
    """

    def normals(self, p: int) -> Array:
        blocks = [np.empty((0, p))]
        for start in range(0, self.size, p):
            k = min(p, self.size - start)
            Q, R = np.linalg.qr(self.rng.normal(size=(p, k)))
            # Uniformly distributed only if R has a positive diagonal.
            Q *= np.where(np.diag(R) < 0.0, -1.0, 1.0)
            length = np.sqrt(self.rng.chisquare(p, size=k))
            blocks.append(Q.T * length[:, None])
        return np.concatenate(blocks)


STREAMS = {"fourier": Independent, "orthogonal": Orthogonal}
"""Streams of random numbers by the kinds of random features."""


def frequencies(kernel: Kernel, p: int, size: int, kind: str, rng: np.random.Generator) -> Array:
    """Return random frequencies of a stationary kernel.

    Parameters
    ----------
    kernel : Kernel
    p : int
        Number of features.
    size : int
        Number of frequencies.
    kind : {"fourier", "orthogonal"}
        Independent ones, or blocks of orthogonal ones.
    rng : numpy.random.Generator

    Returns
    -------
    (size, p) array

    Raises
    ------
    UnknownSpectrumError
        If the law of the frequencies is not known.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> w = frequencies(Gaussian(2.0), 3, 1000, "orthogonal", np.random.default_rng(0))
    >>> w.shape, bool(abs(np.mean(w**2) - 0.25) < 0.02), bool(abs(w[0] @ w[1]) < 1e-12)
    ((1000, 3), True, True)
    """
    terms = [term for _, term in components(kernel, p)]
    if len(terms) == 1:
        return sample(kernel, p, STREAMS[kind](size, rng))
    heights = np.array([float(term.diag(np.zeros((1, p)))[0]) for term in terms])
    counts = rng.multinomial(size, heights / np.sum(heights))
    each = zip(terms, counts, strict=True)
    return np.vstack([sample(term, p, STREAMS[kind](int(n), rng)) for term, n in each])


@singledispatch
def sample(kernel: Kernel, p: int, stream: Independent) -> Array:
    """Draw frequencies by a stream of random numbers."""
    raise UnknownSpectrumError(f"the spectrum of {kernel!r} is not known")


def _mixed(p: int, stream: Independent, square: Array) -> Array:
    """Return normal vectors with random sizes."""
    return stream.normals(p) * np.sqrt(square)


@sample.register
def _(kernel: Stationary, p: int, stream: Independent) -> Array:
    scale = np.asarray(kernel.length_scale, dtype=np.float64)
    if scale.ndim and scale.size != p:
        raise ValueError(f"length_scale has {scale.size} entries but the points have {p} features.")
    return unit(replace(kernel, length_scale=1.0), p, stream) / scale  # type: ignore[type-var]


@singledispatch
def unit(kernel: Kernel, p: int, stream: Independent) -> Array:
    """Draw frequencies of a kernel with length scale one."""
    d = max(p, int(getattr(kernel, "dim", p)))
    directions = stream.normals(d)
    length = np.interp(stream.uniforms(1), *_radii(kernel, d))
    return np.asarray(directions * length / np.linalg.norm(directions, axis=1)[:, None])[:, :p]


@unit.register
def _(kernel: Gaussian, p: int, stream: Independent) -> Array:
    return stream.normals(p)


@unit.register
def _(kernel: Matern, p: int, stream: Independent) -> Array:
    if np.isinf(kernel.nu):
        return stream.normals(p)
    # Student's t with 2 nu degrees of freedom: chi squared is twice a gamma variable.
    nu = float(kernel.nu)
    return _mixed(p, stream, nu / special.gammaincinv(nu, stream.uniforms(1)))


@unit.register
def _(kernel: RationalQuadratic, p: int, stream: Independent) -> Array:
    alpha = float(kernel.alpha)
    return _mixed(p, stream, special.gammaincinv(alpha, stream.uniforms(1)) / alpha)


@unit.register
def _(kernel: PowerLaw, p: int, stream: Independent) -> Array:
    # (1 + r^2)^-e is the mean of exp(-t r^2) for a gamma variable t of shape e.
    return _mixed(p, stream, 2.0 * special.gammaincinv(-kernel._power, stream.uniforms(1)))


@unit.register
def _(kernel: PoweredExponential, p: int, stream: Independent) -> Array:
    # exp(-r^e) is the mean of exp(-t r^2) for a positive stable variable t of index e/2, which
    # Kanter's formula makes of an angle and an exponential variable.
    a = 0.5 * float(kernel.exponent)
    u = stream.uniforms(2)
    if a == 1.0:
        return _mixed(p, stream, np.full((len(u), 1), 2.0))
    angle, e = np.pi * u[:, :1], -np.log(u[:, 1:])
    t = np.sin(a * angle) / np.sin(angle) ** (1.0 / a)
    t *= (np.sin((1.0 - a) * angle) / e) ** ((1.0 - a) / a)
    return _mixed(p, stream, 2.0 * t)


@unit.register
def _(kernel: BSpline, p: int, stream: Independent) -> Array:
    # A product over the features: their frequencies are independent.
    signs = np.sign(stream.normals(p))
    return np.asarray(signs * np.interp(stream.uniforms(p), *_radii(kernel, 1)))


@unit.register
def _(kernel: Laplacian, p: int, stream: Independent) -> Array:
    if not kernel.stationary:
        raise UnknownSpectrumError(f"{kernel!r} compares categories and has no spectrum")
    return np.asarray(np.tan(np.pi * (stream.uniforms(p) - 0.5)))


@sample.register
def _(kernel: Dimensional, p: int, stream: Independent) -> Array:
    return sample(kernel._in(p), p, stream)


@sample.register
def _(kernel: EachFeature, p: int, stream: Independent) -> Array:
    return sample(reduce(add, [part for _, part in kernel.components(p)]), p, stream)


@sample.register
def _(kernel: Tensor, p: int, stream: Independent) -> Array:
    return np.column_stack([sample(kernel.kernel, 1, stream) for _ in range(p)])


@sample.register
def _(kernel: SpectralMixture, p: int, stream: Independent) -> Array:
    w, mean, scale = kernel._mixture
    if mean.shape[1] != p:
        raise ValueError(f"the mixture is one for {mean.shape[1]} features but there are {p}.")
    which = np.searchsorted(np.cumsum(w) / np.sum(w), stream.uniforms(1)[:, 0])
    return np.asarray(mean[which] + scale[which] * stream.normals(p))


@sample.register
def _(kernel: Circular, p: int, stream: Independent) -> Array:
    columns = []
    for j in range(p):
        one: Any = kernel
        if hasattr(kernel, "length_scale"):
            one = replace(kernel, length_scale=scale_of_feature(kernel.length_scale, j))  # type: ignore[type-var]
        n = np.arange(-HARMONICS, HARMONICS + 1)
        c = np.maximum(one.coefficients(np.abs(n)), 0.0)
        total = float(one.diag(np.zeros((1, 1)))[0])
        if not np.sum(c) >= (1.0 - MISSING) * total:
            raise UnknownSpectrumError(f"{kernel!r} has more than {HARMONICS} frequencies")
        which = np.searchsorted(np.cumsum(c) / np.sum(c), stream.uniforms(1)[:, 0])
        columns.append(2.0 * np.pi * n[which] / float(kernel.period))
    return np.column_stack(columns)


@sample.register
def _(kernel: Product, p: int, stream: Independent) -> Array:
    return sample(kernel.left, p, stream) + sample(kernel.right, p, stream)


@sample.register
def _(kernel: Power, p: int, stream: Independent) -> Array:
    each = [sample(kernel.kernel, p, stream) for _ in range(int(kernel.exponent))]
    return np.asarray(np.sum(each, axis=0))


@sample.register
def _(kernel: Scaled, p: int, stream: Independent) -> Array:
    return sample(kernel.kernel, p, stream)


@sample.register
def _(kernel: Sum, p: int, stream: Independent) -> Array:
    left, right = (float(k.diag(np.zeros((1, p)))[0]) for k in (kernel.left, kernel.right))
    first = stream.uniforms(1) * (left + right) < left
    return np.where(first, sample(kernel.left, p, stream), sample(kernel.right, p, stream))


@sample.register
def _(kernel: ActiveDims, p: int, stream: Independent) -> Array:
    here = np.arange(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
    omega = np.zeros((stream.size, p))
    omega[:, here] = sample(kernel.kernel, len(here), stream)
    return omega


@sample.register
def _(kernel: Stretched, p: int, stream: Independent) -> Array:
    return np.asarray(sample(kernel.kernel, p, stream) / np.asarray(kernel.scale, dtype=float))


def _radii(kernel: Kernel, d: int) -> tuple[Array, Array]:
    r"""Return a table of the distribution of the length of frequencies: chances, and lengths.

    Its density is :math:`\frac{2^{1-d/2}}{\Gamma(d/2)} r^{d-1} P(r) / k(0)`. What a table leaves
    out of it, which is known because the whole is one, is less than a millionth.
    """
    top = float(kernel.diag(np.zeros((1, min(d, int(getattr(kernel, "dim", d))))))[0])
    constant = 2.0 ** (1.0 - 0.5 * d) / float(special.gamma(0.5 * d)) / top
    nodes, weights = np.polynomial.legendre.leggauss(DEGREE)

    def masses(ends: Array) -> Array:
        half = 0.5 * np.diff(ends)[:, None]
        r = ends[:-1, None] + half * (1.0 + nodes)
        try:
            P = kernel.spectrum(r.ravel(), dim=d).reshape(r.shape)
        except (NotImplementedError, ValueError) as error:
            raise UnknownSpectrumError(f"the spectrum of {kernel!r} is not known") from error
        P = np.where(np.isfinite(P), np.maximum(P, 0.0), 0.0)
        return np.asarray((constant * half * r ** (d - 1) * P) @ weights)

    ends, mass, far = np.zeros(1), np.empty(0), 8.0
    for _ in range(OCTAVES):
        octave = np.linspace(ends[-1], far, PANELS + 1)
        ends, mass = np.append(ends, octave[1:]), np.append(mass, masses(octave))
        if np.sum(mass) >= 1.0 - MISSING:
            break
        far *= 2.0
    # Twice more, with panels of equal mass: densities may be narrow, and lengths are interpolated,
    # with an error of the square of the width of a panel.
    for _ in range(2):
        chances = np.append(0.0, np.cumsum(mass))
        more = np.interp(np.linspace(0.0, chances[-1], 4 * PANELS + 1), chances, ends)
        ends = np.union1d(ends, more)
        mass = masses(ends)
    if not abs(np.sum(mass) - 1.0) <= MISSING:
        raise UnknownSpectrumError(
            f"the spectrum of {kernel!r} is rough or falls too slowly: a table of it up to "
            f"{far:.0f} misses {abs(1.0 - np.sum(mass)):.1e} of it"
        )
    return np.append(0.0, np.cumsum(mass)) / np.sum(mass), ends


def random_features(
    kernel: Kernel,
    p: int,
    m: int,
    kind: str = "orthogonal",
    seed: int = 0,
    origin: Array | None = None,
) -> Waves:
    r"""Return random functions whose products are a kernel in the mean.

    They are waves of random frequencies, drawn exactly where their distribution is known and from a
    table of the spectrum otherwise.

    Parameters
    ----------
    kernel : Kernel
        Positive definite and stationary.
    p : int
        Number of features of the points.
    m : int
        Number of functions; the map may have fewer.
    kind : {"orthogonal", "fourier"}, default="orthogonal"
        How frequencies are drawn: in blocks of orthogonal ones, or independently.
    seed : int, default=0
    origin : (p,) array, optional
        A point in the middle of the data, for digits in float32.

    Returns
    -------
    Waves

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
    _check_kind(kind)
    if not is_integer(m) or m < 2:
        raise ValueError(f"the number of random functions must be at least 2, got {m!r}.")
    try:
        if kernel.order or not kernel.positive_definite or not kernel.numeric:
            raise UnknownSpectrumError(f"{kernel!r} is not a positive definite kernel of numbers")
        if not kernel.stationary:
            raise UnknownSpectrumError(
                f"{kernel!r} does not depend on differences of points only and has no spectrum"
            )
        omega = frequencies(kernel, p, max(1, m // 2), kind, np.random.default_rng(seed))
    except UnknownSpectrumError as error:
        raise ValueError(
            f"{error}, so it has no random features: use Nystrom, which takes every kernel."
        ) from error
    return Waves(omega, float(kernel.diag(np.zeros((1, p)))[0]), origin)


def _check_kind(kind: str) -> None:
    if kind not in STREAMS:
        raise ValueError(f"kind must be one of {', '.join(STREAMS)}, got {kind!r}.")


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
    kind : {"orthogonal", "fourier"}, default="orthogonal"
        As in :func:`random_features`.
    random_state, memory_limit, checkpoint, n_jobs :
        As in :class:`Approximation`.

    References
    ----------
    A. Rahimi and B. Recht (2007), *Random features for large-scale kernel machines*, NIPS 20.

    Examples
    --------
    >>> RandomFeatures(500, kind="orthogonal").m
    500
    """

    m: int = 1000
    kind: str = "orthogonal"
    _: KW_ONLY
    random_state: int = 0
    memory_limit: str | int | float = "2GB"
    checkpoint: Any = None
    n_jobs: int | None = None
    pool_size = 256

    def __post_init__(self) -> None:
        check_integer("m", self.m, 2)
        _check_kind(self.kind)

    def settle(self, kernel: Kernel, pool: FingerprintSample, C: float) -> Waves:
        X = as_points(pool.X)
        return random_features(
            kernel, X.shape[1], self.m, self.kind, self.random_state, kernel.origin(X)
        )


NAMES: dict[str, type[Approximation]] = {"nystrom": Nystrom, "random_features": RandomFeatures}
"""Approximations by the names that estimators accept."""


def as_approximation(given: Any) -> Approximation:
    """Return the approximation meant by a name or a number of landmarks; Nystrom by default.

    Parameters
    ----------
    given : Approximation, str, int or None
        An approximation is returned as it is.

    Examples
    --------
    >>> as_approximation(200).m, type(as_approximation("random_features")).__name__
    (200, 'RandomFeatures')
    """
    if isinstance(given, Approximation):
        return given
    if isinstance(given, Integral):
        return Nystrom(int(given))
    return NAMES.get(str(given), Nystrom)()
