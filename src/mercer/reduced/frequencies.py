r"""Random frequencies with the power spectrum of a kernel as their law.

By Bochner's theorem a stationary kernel is :math:`k(u) = k(0) \, E \cos\langle\omega, u\rangle`.
Products of kernels are sums of independent frequencies, sums are mixtures. Most radial kernels are
mixtures of Gaussians, :math:`\omega = \tau g` with a normal vector g and a random size
:math:`\tau`, so that one stream of directions, plain, orthogonal or quasi-random, serves them all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce, singledispatch
from operator import add
from typing import Any

import numpy as np
from scipy import special
from scipy.stats import qmc

from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum
from mercer.kernels.anova import EachFeature, Tensor
from mercer.kernels.base import Kernel
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.featurewise import scale_of_feature
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import PowerLaw
from mercer.kernels.periodic import Circular
from mercer.kernels.points import Array
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.spectral import SpectralMixture
from mercer.kernels.stationary import Dimensional, Stationary
from mercer.kernels.stretched import Stretched

__all__ = ["STREAMS", "UnknownSpectrumError", "frequencies"]

MISSING = 1e-6
"""The largest part of a spectrum that a table of it may leave out."""

OCTAVES, PANELS, DEGREE = 14, 256, 4
"""A table of a spectrum: how often its range doubles, panels of each octave, nodes of a panel."""

HARMONICS = 4096
"""The most frequencies of a periodic kernel."""


class UnknownSpectrumError(ValueError):
    """Raised for kernels whose spectrum cannot be drawn from."""


class Plain:
    """Independent random numbers for `size` frequencies.

    Parameters
    ----------
    size : int
    rng : numpy.random.Generator
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size, self.rng, self.used = size, rng, 0
        self.tables: dict[str, tuple[Array, Array]] = {}

    def uniforms(self, k: int) -> Array:
        """Return ``(size, k)`` uniform numbers inside the unit interval."""
        self.used += k
        # Multiples of 2^-53 shifted by half of one: neither 0 nor 1.
        return self.rng.random((self.size, k)) + 2.0**-54

    def normals(self, p: int) -> Array:
        """Return ``(size, p)`` normal vectors."""
        return np.asarray(special.ndtri(self.uniforms(p)))


class Orthogonal(Plain):
    """Normal vectors that are orthogonal to each other, as many at a time as there can be.

    References
    ----------
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice and S. Kumar (2016), *Orthogonal random
    features*, NIPS 29, eq. (5) and theorem 1.
    """

    def normals(self, p: int) -> Array:
        blocks = []
        for start in range(0, self.size, p):
            k = min(p, self.size - start)
            Q, R = np.linalg.qr(self.rng.normal(size=(p, k)))
            # Uniformly distributed only if R has a positive diagonal.
            Q *= np.where(np.diag(R) < 0.0, -1.0, 1.0)
            length = np.sqrt(self.rng.chisquare(p, size=k))
            blocks.append(Q.T * length[:, None])
        return np.concatenate(blocks)


class Quasi(Plain):
    """Points of a scrambled Sobol sequence: each uniform, together more even than chance.

    Parameters
    ----------
    size : int
    rng : numpy.random.Generator
    dims : int
        How many numbers each frequency will need.

    References
    ----------
    H. Avron, V. Sindhwani, J. Yang and M. Mahoney (2016), *Quasi-Monte Carlo feature maps for
    shift-invariant kernels*, Journal of Machine Learning Research 17, sec. 3.
    """

    def __init__(self, size: int, rng: np.random.Generator, dims: int) -> None:
        super().__init__(size, rng)
        if dims > qmc.Sobol.MAXDIM:
            raise ValueError(
                f"quasi-random features need {dims} numbers each, more than a Sobol sequence has "
                f"({qmc.Sobol.MAXDIM}): choose kind='orthogonal'."
            )
        power = int(np.ceil(np.log2(max(size, 1))))
        points = qmc.Sobol(dims, scramble=True, rng=rng).random_base2(power)[:size]
        # Points are multiples of 2^-30, of which zero is one.
        self.points = np.clip(points + 2.0**-31, 2.0**-54, 1.0 - 2.0**-53)

    def uniforms(self, k: int) -> Array:
        self.used += k
        return np.asarray(self.points[:, self.used - k : self.used])


STREAMS = ("fourier", "orthogonal", "qmc")


def frequencies(kernel: Kernel, p: int, size: int, kind: str, rng: np.random.Generator) -> Array:
    """Return random frequencies of a stationary kernel.

    Parameters
    ----------
    kernel : Kernel
    p : int
        Number of features.
    size : int
        Number of frequencies.
    kind : {"fourier", "orthogonal", "qmc"}
        Independent ones, blocks of orthogonal ones, or a quasi-random sequence of them.
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
    if kind == "fourier":
        return sample(kernel, p, Plain(size, rng))
    if kind == "orthogonal":
        return sample(kernel, p, Orthogonal(size, rng))
    trial = Plain(1, np.random.default_rng(0))
    sample(kernel, p, trial)
    quasi = Quasi(size, rng, trial.used)
    quasi.tables = trial.tables
    return sample(kernel, p, quasi)


@singledispatch
def sample(kernel: Kernel, p: int, stream: Plain) -> Array:
    """Draw frequencies by a stream of random numbers."""
    raise UnknownSpectrumError(f"the spectrum of {kernel!r} is not known")


def _mixed(p: int, stream: Plain, square: Array) -> Array:
    """Return normal vectors with random sizes."""
    return stream.normals(p) * np.sqrt(square)


@sample.register
def _(kernel: Stationary, p: int, stream: Plain) -> Array:
    scale = np.asarray(kernel.length_scale, dtype=np.float64)
    if scale.ndim and scale.size != p:
        raise ValueError(f"length_scale has {scale.size} entries but the points have {p} features.")
    return unit(replace(kernel, length_scale=1.0), p, stream) / scale  # type: ignore[type-var]


@singledispatch
def unit(kernel: Kernel, p: int, stream: Plain) -> Array:
    """Draw frequencies of a kernel with length scale one."""
    each = kernel._separate(p)
    if each is not None and p > 1:
        return np.column_stack([sample(one, 1, stream) for one in each])
    d = max(p, int(getattr(kernel, "dim", p)))
    name = f"{kernel!r} in {d}"
    if name not in stream.tables:
        stream.tables[name] = _radii(kernel, d)
    directions = stream.normals(d)
    length = (
        np.interp(stream.uniforms(1), *stream.tables[name])
        / np.linalg.norm(directions, axis=1)[:, None]
    )
    return np.asarray(directions * length)[:, :p]


@unit.register
def _(kernel: Gaussian, p: int, stream: Plain) -> Array:
    return stream.normals(p)


@unit.register
def _(kernel: Matern, p: int, stream: Plain) -> Array:
    if np.isinf(kernel.nu):
        return stream.normals(p)
    # Student's t with 2 nu degrees of freedom: chi squared is twice a gamma variable.
    nu = float(kernel.nu)
    return _mixed(p, stream, nu / special.gammaincinv(nu, stream.uniforms(1)))


@unit.register
def _(kernel: RationalQuadratic, p: int, stream: Plain) -> Array:
    alpha = float(kernel.alpha)
    return _mixed(p, stream, special.gammaincinv(alpha, stream.uniforms(1)) / alpha)


@unit.register
def _(kernel: PowerLaw, p: int, stream: Plain) -> Array:
    # (1 + r^2)^-e is the mean of exp(-t r^2) for a gamma variable t of shape e.
    return _mixed(p, stream, 2.0 * special.gammaincinv(-kernel._power, stream.uniforms(1)))


@unit.register
def _(kernel: PoweredExponential, p: int, stream: Plain) -> Array:
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
def _(kernel: Laplacian, p: int, stream: Plain) -> Array:
    if not kernel.stationary:
        raise UnknownSpectrumError(f"{kernel!r} compares categories and has no spectrum")
    return np.asarray(np.tan(np.pi * (stream.uniforms(p) - 0.5)))


@sample.register
def _(kernel: Dimensional, p: int, stream: Plain) -> Array:
    return sample(kernel._in(p), p, stream)


@sample.register
def _(kernel: EachFeature, p: int, stream: Plain) -> Array:
    return sample(reduce(add, [part for _, part in kernel.components(p)]), p, stream)


@sample.register
def _(kernel: Tensor, p: int, stream: Plain) -> Array:
    return np.column_stack([sample(kernel.kernel, 1, stream) for _ in range(p)])


@sample.register
def _(kernel: SpectralMixture, p: int, stream: Plain) -> Array:
    w, mean, scale = kernel._mixture
    if mean.shape[1] != p:
        raise ValueError(f"the mixture is one for {mean.shape[1]} features but there are {p}.")
    which = np.searchsorted(np.cumsum(w) / np.sum(w), stream.uniforms(1)[:, 0])
    return np.asarray(mean[which] + scale[which] * stream.normals(p))


@sample.register
def _(kernel: Circular, p: int, stream: Plain) -> Array:
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
def _(kernel: Product, p: int, stream: Plain) -> Array:
    return sample(kernel.left, p, stream) + sample(kernel.right, p, stream)


@sample.register
def _(kernel: Power, p: int, stream: Plain) -> Array:
    each = [sample(kernel.kernel, p, stream) for _ in range(int(kernel.exponent))]
    return np.asarray(np.sum(each, axis=0))


@sample.register
def _(kernel: Scaled, p: int, stream: Plain) -> Array:
    return sample(kernel.kernel, p, stream)


@sample.register
def _(kernel: Sum, p: int, stream: Plain) -> Array:
    left, right = (float(k.diag(np.zeros((1, p)))[0]) for k in (kernel.left, kernel.right))
    first = stream.uniforms(1) * (left + right) < left
    return np.where(first, sample(kernel.left, p, stream), sample(kernel.right, p, stream))


@sample.register
def _(kernel: ActiveDims, p: int, stream: Plain) -> Array:
    here = np.arange(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
    omega = np.zeros((stream.size, p))
    omega[:, here] = sample(kernel.kernel, len(here), stream)
    return omega


@sample.register
def _(kernel: Stretched, p: int, stream: Plain) -> Array:
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
