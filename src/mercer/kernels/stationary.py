"""Kernels of the difference of two points, each with its power spectrum."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from mercer.kernels import _matern
from mercer.kernels._single import Either, RadialTiles
from mercer.kernels._transform import radial_transform
from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.distances import Points, manhattan_distances, squared_distances
from mercer.kernels.points import (
    CHUNK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    is_sparse,
    row_slices,
    scale_features,
    squared_norms,
)

LengthScale: TypeAlias = float | Sequence[float] | Array


class Stationary(Kernel):
    """A function of the difference in units of a length scale; 1 at zero unless it says so."""

    length_scale: LengthScale

    def __post_init__(self) -> None:
        scale = np.asarray(self.length_scale, dtype=float)
        if scale.ndim > 1 or scale.size == 0 or not (scale > 0).all():
            raise ValueError(
                "length_scale must be a positive number or one positive number per feature, "
                f"got {self.length_scale!r}."
            )

    @property
    def stationary(self) -> bool:
        return True

    @property
    def _scale(self) -> Array:
        return np.asarray(self.length_scale, dtype=float)

    def _widened(self, factor: float) -> float | Array:
        """Length scale, multiplied."""
        scale = self._scale * factor
        return float(scale) if scale.ndim == 0 else scale

    def _factor(self, X: Data) -> Array:
        """Reciprocal length scale, checked to fit the points."""
        scale = self._scale
        if scale.ndim and scale.size != X.shape[1]:
            raise ValueError(
                f"length_scale has {scale.size} entries but the points have {X.shape[1]} features."
            )
        return np.asarray(1.0 / scale)

    def _in_units(self, X: Data) -> Data:
        """Points divided by the length scale."""
        return scale_features(X, self._factor(X))

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.ones(X.shape[0], dtype=X.dtype)

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        # k(u / l) has the spectrum |l| P(l omega): substitute u = l v in the transform.
        omega, scale = np.asarray(omega, dtype=float), self._scale
        if scale.ndim and scale.size != dim:
            raise ValueError(f"length_scale has {scale.size} entries but the dimension is {dim}.")
        if omega.ndim == 1 and dim > 1 and (scale.ndim or not self.radial):
            raise ValueError(
                f"This kernel is not radial: pass frequency vectors of shape (m, {dim})."
            )
        if omega.ndim == 1:
            omega = np.pad(omega[:, None], ((0, 0), (0, dim - 1)))
        if omega.ndim != 2 or omega.shape[1] != dim:
            raise ValueError(f"omega must have shape (m,) or (m, {dim}), got {omega.shape}.")
        volume = float(np.prod(np.broadcast_to(scale, dim)))
        return volume * self._unit_spectrum(omega * scale)

    @abstractmethod
    def _unit_spectrum(self, omega: Array) -> Array:
        """Spectrum for length scale 1 at frequency vectors ``(m, d)``."""


class Profile(Stationary):
    r"""A function :math:`\varphi(s)` of the squared scaled distance :math:`s = |(x - z)/l|^2`."""

    @property
    def radial(self) -> bool:
        return self._scale.ndim == 0

    @property
    def _smooth(self) -> bool:
        """Whether an absolute error of s is one of the kernel; if not, s needs relative digits."""
        return False

    @abstractmethod
    def _profile(self, s: Array) -> None:
        """Turn squared distances into kernel values, in place."""

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)

        @cache
        def prepared() -> tuple[Array | None, Points]:
            origin = _origin(Z)
            return origin, Points(self._in_units(_shift(Z, origin)))

        def general(X: Data, like: Data) -> Array:
            if like is Z and (is_sparse(Z) or not is_sparse(X)):
                origin, Q = prepared()
                P = Points(self._in_units(_shift(X, origin)))
            else:
                P, Q = self._pair(X, like)
            return squared_distances(P, Q, exact_near=not self._smooth, finish=self._profile)

        return Either(Z, self._tiles, general)

    def _tiles(self, Z: Array) -> RadialTiles:
        return RadialTiles(Z, self._factor(Z), self._profile, np.inf)

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        factor = self._factor(X)
        s = np.empty(X.shape[0], dtype=X.dtype)
        for rows in row_slices(X.shape[0], X.shape[1] * X.dtype.itemsize, CHUNK_BYTES):
            s[rows] = squared_norms(scale_features(X[rows] - Z[rows], factor))
            self._profile(s[rows])
        return s

    def _pair(self, X: Data, Z: Data) -> tuple[Points, Points]:
        """Both sets in units of the length scale, shifted to the origin if both are dense."""
        origin = None if is_sparse(X) else _origin(Z)
        P, Q = (Points(self._in_units(_shift(A, origin))) for A in (X, Z))
        return P, Q

    def _squared(self, X: Data, Z: Data | None) -> Array:
        """Squared scaled distances."""
        s = squared_distances(*self._pair(*as_pair(X, X if Z is None else Z)), exact_near=True)
        if Z is None:
            np.fill_diagonal(s, 0.0)
        return s


class Radial(Profile):
    """A profile with a length scale to differentiate by."""

    @property
    def _smooth(self) -> bool:
        """Whether the slope of the profile is finite at zero."""
        return True

    @abstractmethod
    def _slope(self, s: Array) -> Array:
        """Return minus twice the derivative of the profile; 0 where that is infinite at s = 0."""

    def _tiles(self, Z: Array) -> RadialTiles:
        slope = abs(float(self._slope(np.zeros(1))[0])) if self._smooth else np.inf
        return RadialTiles(Z, self._factor(Z), self._profile, slope)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        s = self._squared(X, Z)
        slope = self._slope(s)
        scale = self._scale
        if scale.ndim == 0:
            return {"length_scale": slope * s / float(scale)}
        P, Q = (_dense(self._in_units(A)) for A in as_pair(X, X if Z is None else Z))
        squares = (P[:, None, :] - Q[None, :, :]) ** 2
        return {"length_scale": squares * slope[:, :, None] / scale.astype(P.dtype)}

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        s = self._squared(X, None)
        scale, H = self._scale, self._slope(s) * G
        if scale.ndim == 0:
            return {"length_scale": np.asarray(np.vdot(H, s) / float(scale))}
        # sum_ij H_ij (p_i - p_j)^2 = 2 sum_i (H1)_i p_i^2 - 2 p'Hp, for a symmetric H
        P = _dense(_shift(as_points(X), None if is_sparse(X) else _origin(as_points(X))))
        P = np.asarray(self._in_units(P))
        squares = H.sum(axis=1) @ P**2 - np.sum(P * (H @ P), axis=0)
        return {"length_scale": 2.0 * squares / scale}


class Dimensional(Kernel):
    """A stationary kernel whose profile depends on the number of features."""

    @abstractmethod
    def _in(self, p: int) -> Profile:
        """Return the kernel of points with `p` features."""

    @property
    def stationary(self) -> bool:
        return True

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        return self._in(Z.shape[1]).against(Z)

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return self._in(X.shape[1]).diag(X)

    def paired(self, X: Data, Z: Data) -> Array:
        return self._in(as_points(X).shape[1]).paired(X, Z)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        return self._in(as_points(X).shape[1]).gradient(X, Z)

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        return self._in(as_points(X).shape[1]).pullback(X, G)

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        return self._in(dim).spectrum(omega, dim)


@dataclass(eq=False)
class Gaussian(Radial):
    r"""The Gaussian kernel, :math:`k(x, z) = \exp(-\tfrac12 |(x - z)/l|^2)`.

    Its spectrum is :math:`l^d \exp(-\tfrac12 l^2 |\omega|^2)`: derivatives of all orders are
    penalized.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.29) and (3.30).

    Examples
    --------
    >>> Gaussian(2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    >>> Gaussian.from_gamma(0.5)
    Gaussian(length_scale=1.0)
    """

    length_scale: LengthScale = 1.0

    @classmethod
    def from_gamma(cls, gamma: float | Array) -> Gaussian:
        r"""Return the kernel :math:`\exp(-\gamma |x - z|^2)`; gamma 0 is an infinite width.

        Parameters
        ----------
        gamma : float or (p,) array
            At least 0.
        """
        rate = np.asarray(gamma, dtype=float)
        if not (rate >= 0).all():
            raise ValueError(f"gamma must be at least 0, got {gamma!r}.")
        with np.errstate(divide="ignore"):
            scale = np.sqrt(0.5 / rate)
        return cls(float(scale) if scale.ndim == 0 else scale)

    @property
    def gamma(self) -> float | Array:
        r"""The rate :math:`\gamma = 1 / (2 l^2)`, a number or one for each feature."""
        gamma = 0.5 / self._scale**2
        return float(gamma) if gamma.ndim == 0 else gamma

    def _profile(self, s: Array) -> None:
        s *= -0.5
        np.exp(s, out=s)

    def _tiles(self, Z: Array) -> RadialTiles:
        return RadialTiles(Z, self._factor(Z))

    def spectral_power(self, power: float, dim: int = 1) -> Kernel:
        return Gaussian(self._widened(np.sqrt(power)))

    def _slope(self, s: Array) -> Array:
        return np.exp(-0.5 * s)

    def _unit_spectrum(self, omega: Array) -> Array:
        return np.exp(-0.5 * squared_norms(omega))

    def _separate(self, p: int) -> list[Kernel]:
        return [Gaussian(float(scale)) for scale in np.broadcast_to(self._scale, p)]

    def _times(self, other: Kernel) -> Kernel | None:
        if not isinstance(other, Gaussian):
            return None
        return Gaussian(np.hypot(1.0 / self._scale, 1.0 / other._scale) ** -1.0)


@dataclass(eq=False)
class Matern(Radial):
    r"""The Matern kernel; its functions have up to :math:`\nu + d/2` square-integrable derivatives.

    .. math:: k(x, z) = \frac{2^{1-\nu}}{\Gamma(\nu)} a^\nu K_\nu(a), \qquad
              a = \sqrt{2\nu} \, |(x - z)/l|

    It is :math:`e^{-a}` for :math:`\nu = 1/2`, :math:`(1 + a) e^{-a}` for 3/2,
    :math:`(1 + a + a^2/3) e^{-a}` for 5/2 and the Gaussian in the limit. With
    :math:`\alpha = \sqrt{2\nu}/l` its spectrum is

    .. math:: P(\omega) = 2^{d/2} \frac{\Gamma(\nu + d/2)}{\Gamma(\nu)}
              \frac{\alpha^{2\nu}}{(\alpha^2 + |\omega|^2)^{\nu + d/2}}

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    nu : float, default=1.5
        Smoothness, any positive number or infinity.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006,
    eq. (4.14) and (4.15); for :math:`\nu = 1/2` also A. J. Smola, *Learning with Kernels*,
    TU Berlin 1998, sec. 3.4.

    Examples
    --------
    >>> Matern(nu=0.5)([[0.0]], [[1.0], [2.0]]).round(4)
    array([[0.3679, 0.1353]])
    """

    length_scale: LengthScale = 1.0
    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.nu > 0.0:
            raise ValueError(f"nu must be positive (or infinite), got {self.nu}.")

    @property
    def _smooth(self) -> bool:
        return self.nu > 1.0

    def spectral_power(self, power: float, dim: int = 1) -> Kernel:
        if np.isinf(self.nu):
            return Gaussian(self.length_scale).spectral_power(power, dim)
        nu = power * (self.nu + 0.5 * dim) - 0.5 * dim
        if nu <= 0.0:
            raise ValueError(
                f"The root of a Matern kernel is bounded only if nu > dim / 2 = {0.5 * dim}, got "
                f"nu = {self.nu}."
            )
        return Matern(self._widened(np.sqrt(nu / self.nu)), nu)

    def _profile(self, s: Array) -> None:
        s[...] = _matern.value(s, float(self.nu))

    def _slope(self, s: Array) -> Array:
        return _matern.slope(s, float(self.nu))

    def _unit_spectrum(self, omega: Array) -> Array:
        square, half = squared_norms(omega), 0.5 * omega.shape[1]
        if np.isinf(self.nu):
            return np.exp(-0.5 * square)
        # Gamma(nu + d/2) / Gamma(nu) * (2 nu)^nu * 2^(d/2) / (2 nu + w^2)^(nu + d/2), in logarithms
        nu = float(self.nu)
        log_ratio = float(special.gammaln(nu + half) - special.gammaln(nu)) - half * np.log(nu)
        return np.asarray(np.exp(log_ratio - (nu + half) * np.log1p(square / (2.0 * nu))))


@dataclass(eq=False)
class RationalQuadratic(Radial):
    r"""The rational quadratic kernel, a mixture of Gaussians of all widths.

    .. math:: k(x, z) = \Bigl(1 + \frac{|(x - z)/l|^2}{2\alpha}\Bigr)^{-\alpha}

    Its spectrum follows from that mixture: for :math:`l = 1` it is
    :math:`\frac{2\alpha^\alpha}{\Gamma(\alpha)} (|\omega|^2/2\alpha)^{\mu/2}
    K_\mu(\sqrt{2\alpha} |\omega|)` with :math:`\mu = \alpha - d/2`.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    alpha : float, default=1.0
        Positive; large values leave nearly one width.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006,
    eq. (4.19).

    Examples
    --------
    >>> RationalQuadratic(alpha=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.7071]])
    """

    length_scale: LengthScale = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.alpha < np.inf:
            raise ValueError(
                f"alpha must be a positive number, got {self.alpha}; its limit is Gaussian."
            )

    def _profile(self, s: Array) -> None:
        alpha = float(self.alpha)
        s /= 2.0 * alpha
        np.log1p(s, out=s)
        s *= -alpha
        np.exp(s, out=s)

    def _slope(self, s: Array) -> Array:
        alpha = float(self.alpha)
        return np.exp(-(alpha + 1.0) * np.log1p(s / (2.0 * alpha)))

    def _by_alpha(self, s: Array) -> Array:
        alpha = float(self.alpha)
        s = s / (2.0 * alpha)
        logarithm = np.log1p(s)
        return np.asarray(np.exp(-alpha * logarithm) * (s / (1.0 + s) - logarithm))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        return super().gradient(X, Z) | {"alpha": self._by_alpha(self._squared(X, Z))}

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        by_alpha = np.vdot(G, self._by_alpha(self._squared(X, None)))
        return super().pullback(X, G) | {"alpha": np.asarray(by_alpha)}

    def _unit_spectrum(self, omega: Array) -> Array:
        width = np.sqrt(2.0 * float(self.alpha))
        lengths, d = width * np.sqrt(squared_norms(omega)), omega.shape[1]
        return np.asarray(width**d * power_law_spectrum(lengths, -float(self.alpha), d))


def power_law_spectrum(a: Array, power: float, d: int) -> Array:
    r"""Return the spectrum of :math:`(1 + r^2)^{-\beta}`, up to its sign, in d dimensions.

    .. math:: \frac{2^{1-\beta}}{|\Gamma(\beta)|} \, a^\mu K_\mu(a), \qquad
              a = |\omega|, \quad \mu = \beta - d/2

    For :math:`\mu \le 0` the function is not integrable and its spectrum infinite at zero; for
    :math:`\beta < 0`, not an integer, it is a spectrum away from zero only.

    Parameters
    ----------
    a : (m,) array
        Lengths of frequencies.
    power : float
        The number :math:`-\beta`.
    d : int
        The dimension.

    Examples
    --------
    >>> power_law_spectrum(np.array([0.0, 1.0]), -1.0, 1) / np.sqrt(np.pi / 2)
    array([1.        , 0.36787944])
    """
    beta, half = -power, 0.5 * d
    mu = beta - half
    if mu > 0.0:
        ratio = 2.0**-half * float(special.poch(beta, -half))
        return np.asarray(ratio * _matern.bessel(a, mu))
    constant = 2.0 ** (1.0 - beta) / abs(float(special.gamma(beta)))
    # SciPy's function is not a number for huge arguments, where it has long been zero.
    near = a < 2000.0
    with np.errstate(divide="ignore", over="ignore"):
        values = np.where(near, a, 1.0) ** mu * special.kv(-mu, np.where(near, a, 1.0))
    return np.where(near, constant * values, 0.0)


@dataclass(eq=False)
class PoweredExponential(Radial):
    r"""The powered exponential or stable kernel, :math:`k(x, z) = \exp(-|(x - z)/l|^e)`.

    Between the exponential, which is e = 1 and also ``Matern(nu=0.5)``, and a Gaussian for e = 2.
    The spectrum, a density of stable distributions, is computed by quadrature
    (:func:`~mercer.kernels.fourier_transform`): not a number where it is too small to be seen.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    exponent : float, default=1.0
        The number e, positive and at most 2, beyond which the function is not positive definite.

    References
    ----------
    I. J. Schoenberg, *Metric spaces and positive definite functions*, Transactions of the American
    Mathematical Society 44, 1938.

    Examples
    --------
    >>> PoweredExponential(exponent=1.5)([[0.0]], [[0.5], [1.0]]).round(4)
    array([[0.7022, 0.3679]])
    """

    length_scale: LengthScale = 1.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.exponent <= 2.0:
            raise ValueError(f"exponent must be positive and at most 2, got {self.exponent}.")

    @property
    def _smooth(self) -> bool:
        return self.exponent == 2.0

    def _profile(self, s: Array) -> None:
        np.exp(-(s ** (0.5 * float(self.exponent))), out=s)

    def _slope(self, s: Array) -> Array:
        e = float(self.exponent)
        if self._smooth:
            return np.asarray(2.0 * np.exp(-s))
        power = s ** (0.5 * e)
        return np.divide(e * power * np.exp(-power), s, out=np.zeros_like(s), where=s > 0.0)

    def _unit_spectrum(self, omega: Array) -> Array:
        d, e = omega.shape[1], float(self.exponent)
        if e == 2.0:
            return np.asarray(2.0 ** (-0.5 * d) * np.exp(-0.25 * squared_norms(omega)))
        lengths = np.sqrt(squared_norms(omega))
        return radial_transform(lambda r: np.exp(-(r**e)), lengths, d).values


@dataclass(eq=False)
class Laplacian(Stationary):
    r"""The Laplacian kernel, :math:`k(x, z) = \exp(-\sum_j |x_j - z_j| / l_j)`.

    A product over the features, not radial; the radial exponential is ``Matern(nu=0.5)``. Its
    spectrum is :math:`\prod_j \sqrt{2/\pi} \, l_j / (1 + l_j^2 \omega_j^2)`.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.

    Examples
    --------
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.3679]])
    """

    length_scale: LengthScale = 1.0

    def spectral_power(self, power: float, dim: int = 1) -> Kernel | None:
        # On a line it is the exponential kernel.
        return Matern(self.length_scale, nu=0.5).spectral_power(power) if dim == 1 else None

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        units = self._in_units(Z)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, like = as_pair(X, Z)
            Q = units if like is Z else self._in_units(like)
            return put(manhattan_distances(self._in_units(X), Q, finish=_exp_minus), out)

        return evaluate

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        P, Q = (self._in_units(A) for A in as_pair(X, X if Z is None else Z))
        scale = self._scale
        distances = manhattan_distances(P, Q)
        K = np.exp(-distances)
        if scale.ndim == 0:
            return {"length_scale": K * distances / float(scale)}
        differences = np.abs(_dense(P)[:, None, :] - _dense(Q)[None, :, :])
        return {"length_scale": differences * K[:, :, None] / scale.astype(K.dtype)}

    def _unit_spectrum(self, omega: Array) -> Array:
        factors = np.sqrt(2.0 / np.pi) / (1.0 + omega**2)
        return np.asarray(factors.prod(axis=1))

    def _separate(self, p: int) -> list[Kernel]:
        return [Laplacian(float(scale)) for scale in np.broadcast_to(self._scale, p)]

    def _times(self, other: Kernel) -> Kernel | None:
        if not isinstance(other, Laplacian):
            return None
        return Laplacian(1.0 / (1.0 / self._scale + 1.0 / other._scale))


def _exp_minus(block: Array) -> None:
    np.negative(block, out=block)
    np.exp(block, out=block)


def _origin(Z: Data) -> Array | None:
    """Mean of dense points: as the origin it makes their norms, and so the rounding, small."""
    if is_sparse(Z) or Z.shape[0] == 0:
        return None
    mean: Array = Z.mean(axis=0, dtype=np.float64).astype(Z.dtype)
    return mean


def _shift(X: Data, origin: Array | None) -> Data:
    return X if origin is None else X - origin


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if is_sparse(X) else X)
