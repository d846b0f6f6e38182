r"""Kernels given by their power spectrum.

Which filter a user wants, and which kernel has it:

* everything above a frequency suppressed exponentially: :class:`~mercer.kernels.Gaussian`;
* suppressed polynomially: :class:`~mercer.kernels.Matern`;
* nothing above a frequency, nothing suppressed below it: :class:`BandLimited`;
* some bands: :class:`~mercer.kernels.SpectralMixture`, which is also what one fits to an
  estimated spectrum;
* any other: :class:`FromSpectrum`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from mercer._params import check_integer
from mercer.kernels.base import Evaluator
from mercer.kernels.points import Array, Data, squared_norms
from mercer.kernels.stationary import LengthScale, Radial
from mercer_research.kernels.interpolated import Spectral, within_dimension
from mercer_research.kernels.radial_spectrum import Density

Table: TypeAlias = tuple[Sequence[float] | Array, Sequence[float] | Array]


@dataclass(eq=False)
class FromSpectrum(Spectral):
    r"""The kernel with a given power spectrum.

    .. math:: k(x, z) = (2\pi)^{-d/2} \int_{\mathbb{R}^d} P(|\omega|)
              e^{i \langle \omega, x - z\rangle} \, d\omega

    By Bochner's theorem it is positive definite if, and only if, P is nowhere negative, and it
    is bounded only if P is integrable; both are verified. The penalty is :math:`1/P(\omega)` on
    each frequency, and frequencies with :math:`P = 0` cannot occur.

    The density is first projected to a line, then fitted by polynomials on panels, whose
    transform is known exactly; the integral of what the fit misses bounds the error of every
    kernel value. The values go into a table that is read by interpolation. All this together is
    wrong by less than 1e-10 of the value at zero, usually by 1e-13 (see ``error``).

    Parameters
    ----------
    density : callable or pair of sequences
        P as a function of the length of the frequency, mapping arrays elementwise; or a table
        ``(omega, P)``, interpolated linearly and zero beyond the last frequency.
    dim : int, default=1
        The dimension d. The kernel remains positive definite for points with fewer features, but
        its spectrum is then the projection of P.
    length_scale : float or (p,) array, default=1.0
        Unit of length l: the kernel is :math:`k((x - z)/l)` and its spectrum
        :math:`l^d P(l \omega)`.
    breaks : sequence of float, default=()
        Frequencies where the density is not smooth, and any peak narrower than a hundredth of
        its frequency, which would otherwise go unnoticed.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.23) to (3.25).

    Examples
    --------
    >>> kernel = FromSpectrum(lambda w: np.exp(-0.5 * w**2))
    >>> kernel([[0.0]], [[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 0.6065, 0.1353]])
    >>> FromSpectrum(np.cos)
    Traceback (most recent call last):
    ...
    ValueError: The density is -0.0... at frequency 1.6... By Bochner's theorem a kernel is
    positive definite only if its spectrum is nowhere negative: correct it there, or clip it at 0.
    """

    density: Density | Table
    dim: int = 1
    length_scale: LengthScale = 1.0
    breaks: Sequence[float] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.density):
            omega, values = (np.asarray(part, dtype=float) for part in self.density)
            if omega.ndim != 1 or omega.shape != values.shape or len(omega) < 2:
                raise ValueError("A table of the density needs as many values as frequencies.")
            if omega[0] < 0.0 or not (np.diff(omega) > 0.0).all():
                raise ValueError("The frequencies of a table must be increasing, from 0 on.")
        self._check()

    @classmethod
    def from_symbol(cls, symbol: Density, dim: int = 1, **options: Any) -> FromSpectrum:
        r"""Return the reproducing kernel of a penalty on frequencies.

        The penalty is :math:`\int p(\omega) |\tilde f(\omega)|^2 \, d\omega` with the unitary
        Fourier transform of f; the spectrum of the kernel is :math:`(2\pi)^{-d/2} / p`.

        Parameters
        ----------
        symbol : callable
            The penalty p on each frequency, positive and growing faster than
            :math:`|\omega|^d`.
        dim : int, default=1
        **options
            Further parameters of the kernel.

        References
        ----------
        A. J. Smola, *Learning with Kernels*, TU Berlin 1998, Proposition 3.2.

        Examples
        --------
        >>> FromSpectrum.from_symbol(lambda w: 1 + w**2)([[0.0]], [[0.0], [1.0]]).round(4)
        array([[0.5   , 0.1839]])
        """
        return cls(_Reciprocal(symbol, dim), dim, **options)

    def _unchecked(self, omega: Array) -> Array:
        if callable(self.density):
            return self.density(omega)
        return np.interp(omega, *self.density, right=0.0)

    @property
    def _knots(self) -> list[float]:
        return [*(() if callable(self.density) else self.density[0]), *self.breaks]


@dataclass(frozen=True)
class _Reciprocal:
    """The density of a penalty."""

    symbol: Callable[[Array], Array]
    dim: int

    def __call__(self, w: Array) -> Array:
        penalty = np.asarray(self.symbol(w))
        if not (penalty > 0.0).all():
            where = np.ravel(w)[np.argmin(np.ravel(penalty > 0.0))]
            raise ValueError(
                f"The penalty is not positive at frequency {where:.6g}. Leave functions "
                "without penalty free, by a conditionally positive definite kernel: ThinPlate, say."
            )
        return np.asarray((2.0 * np.pi) ** (-0.5 * self.dim) / penalty)


@dataclass(eq=False)
class BandLimited(Radial):
    r"""The kernel of the functions without frequencies above :math:`1/l`, all equally penalized.

    .. math:: k(x, z) = \Gamma(\tfrac d2 + 1) (2/a)^{d/2} J_{d/2}(a), \qquad a = |x - z|/l

    In one dimension :math:`\sin(a)/a`. There is no smoothing inside the band: like the Dirichlet
    kernel it interpolates noise with waves of the highest frequency allowed.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        Reciprocal of the highest (angular) frequency.
    dim : int, default=1
        The dimension d of the ball of frequencies. The kernel remains positive definite for
        points with fewer features.

    Examples
    --------
    >>> BandLimited(1.0 / np.pi)([[0.0]], [[0.0], [0.5], [1.0]]).round(4) + 0.0
    array([[1.    , 0.6366, 0.    ]])
    """

    length_scale: LengthScale = 1.0
    dim: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("dim", self.dim, 1)

    def against(self, Z: Data) -> Evaluator:
        return super().against(within_dimension(Z, self.dim))

    def _profile(self, s: Array) -> None:
        s[...] = special.hyp0f1(0.5 * self.dim + 1.0, -0.25 * s.astype(np.float64))

    def _slope(self, s: Array) -> Array:
        half = 0.5 * self.dim
        slope = special.hyp0f1(half + 2.0, -0.25 * s.astype(np.float64)) / (2.0 * half + 2.0)
        return np.asarray(slope.astype(s.dtype))

    def _unit_spectrum(self, omega: Array) -> Array:
        # The projection of the uniform distribution on a ball.
        d, rest = omega.shape[1], 0.5 * (self.dim - omega.shape[1])
        if rest < 0.0:
            raise ValueError(f"This kernel is not positive definite in {d} dimensions: set dim.")
        constant = (
            2.0 ** (0.5 * d) * special.gamma(0.5 * self.dim + 1.0) / special.gamma(rest + 1.0)
        )
        inside = 1.0 - squared_norms(omega)
        return np.where(inside >= 0.0, constant * np.maximum(inside, 0.0) ** rest, 0.0)
