r"""Kernels given by their power spectrum.

Which filter a user wants, and which kernel has it:

* everything above a frequency suppressed exponentially: :class:`~mercer.kernels.Gaussian`;
* suppressed polynomially: :class:`~mercer.kernels.Matern`;
* nothing above a frequency, nothing suppressed below it: ``BandLimited`` of mercer-research;
* some bands: :class:`SpectralMixture`, which is also what one fits to an estimated spectrum;
* any other: :class:`FromSpectrum`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mercer.kernels.base import Evaluator, Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.line import Density
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    row_slices,
    squared_norms,
    take,
)
from mercer.kernels.profiled import Spectral
from mercer.kernels.stationary import LengthScale

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
class SpectralMixture(Kernel):
    r"""A kernel whose spectrum is a mixture of Gaussian bands.

    .. math:: k(x, z) = \sum_q w_q \exp\bigl(-\tfrac12 \sum_j s_{qj}^2 u_j^2\bigr)
              \cos \langle m_q, u\rangle, \qquad u = x - z

    The spectrum is :math:`\sum_q w_q \prod_j s_{qj}^{-1} \cdot \tfrac12 (g_q(\omega - m_q) +
    g_q(\omega + m_q))` with :math:`g_q(\omega) = \exp(-\tfrac12 \sum_j \omega_j^2/s_{qj}^2)`:
    bands of width s around the frequencies m. Enough of them approximate every spectrum.

    Parameters
    ----------
    weights : (Q,) sequence of float
        The variance w of each component, at least 0.
    means : (Q,) or (Q, p) sequence of float
        Central (angular) frequencies m; one number each for points with one feature.
    scales : (Q,) or (Q, p) sequence of float
        Widths s of the bands, positive: a component is forgotten over a distance of about 1/s.

    References
    ----------
    A. G. Wilson and R. P. Adams, *Gaussian Process Kernels for Pattern Discovery and
    Extrapolation*, ICML 2013, eq. (12).

    Examples
    --------
    >>> kernel = SpectralMixture([1.0, 0.5], means=[0.0, 2 * np.pi], scales=[0.1, 0.01])
    >>> kernel([[0.0]], [[0.0], [0.5], [1.0]]).round(4)
    array([[1.5   , 0.4988, 1.495 ]])
    """

    weights: Sequence[float] | Array
    means: Sequence[float] | Array
    scales: Sequence[float] | Array
    stationary = True

    def __post_init__(self) -> None:
        w, m, s = self._mixture
        if w.ndim != 1 or not w.size or m.shape != s.shape or len(m) != len(w) or m.ndim != 2:
            raise ValueError(
                "A mixture needs as many means and scales as weights, each a number or one number "
                f"per feature, got shapes {w.shape}, {np.shape(self.means)} and "
                f"{np.shape(self.scales)}."
            )
        if not (w >= 0.0).all() or not (s > 0.0).all():
            raise ValueError("The weights of a mixture must be at least 0, its scales positive.")

    @property
    def _mixture(self) -> tuple[Array, Array, Array]:
        m, s = (np.asarray(part, dtype=float) for part in (self.means, self.scales))
        m, s = (part[:, None] if part.ndim == 1 else part for part in (m, s))
        return np.asarray(self.weights, dtype=float), m, s

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.full(X.shape[0], self._mixture[0].sum(), dtype=X.dtype)

    def _checked(self, X: Data) -> Data:
        X, p = as_points(X), self._mixture[1].shape[1]
        if X.shape[1] != p:
            raise ValueError(
                f"The mixture is one for {p} features but the points have {X.shape[1]}."
            )
        return X

    def _components(self, X: Data, Z: Data) -> list[tuple[Array, Array]]:
        """Return the damping and the phase of each component."""
        X, Z = as_pair(X, Z)
        # Phases cancel where the points are far away from zero; they do not need to be there.
        origin = 0.5 * (np.ravel(Z.mean(axis=0)) + np.ravel(X.mean(axis=0)))
        result = []
        for m, s in zip(*self._mixture[1:], strict=True):
            a, b = (np.asarray(A.astype(np.float64) @ m - origin @ m) for A in (X, Z))
            result.append((Gaussian(1.0 / s)(X, Z), np.subtract.outer(a, b)))
        return result

    def against(self, Z: Data) -> Evaluator:
        Z = self._checked(Z)
        w = self._mixture[0]

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, like = as_pair(X, Z)
            K = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype) if out is None else out
            for rows in row_slices(X.shape[0], 16 * Z.shape[0], BLOCK_BYTES // 2):
                K[rows] = 0.0
                for c, (damping, phase) in zip(
                    w, self._components(take(X, rows), like), strict=True
                ):
                    K[rows] += c * damping * np.cos(phase)
            return K

        return evaluate

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(self._checked(X), self._checked(X if Z is None else Z))
        w, _, s = self._mixture
        P, Q = (A.toarray() if hasattr(A, "toarray") else A for A in (X, Z))
        u = np.asarray(P[:, None, :] - Q[None, :, :], dtype=np.float64)
        by: dict[str, list[Array]] = {"weights": [], "means": [], "scales": []}
        for q, (damping, phase) in enumerate(self._components(X, Z)):
            wave = damping * np.cos(phase)
            by["weights"].append(wave)
            by["means"].append(-w[q] * u * (damping * np.sin(phase))[:, :, None])
            by["scales"].append(-w[q] * s[q] * u**2 * wave[:, :, None])
        stacked = {name: np.stack(parts, axis=2).astype(X.dtype) for name, parts in by.items()}
        for name in ("means", "scales"):
            if np.ndim(getattr(self, name)) == 1:
                stacked[name] = stacked[name][..., 0]
        return stacked

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        omega = np.asarray(omega, dtype=float)
        omega = omega[:, None] if omega.ndim == 1 else omega
        w, m, s = self._mixture
        if not omega.shape[1] == m.shape[1] == dim:
            raise ValueError(
                f"The mixture is one for {m.shape[1]} features: pass frequencies of as many and "
                f"dim={m.shape[1]}."
            )
        total = np.zeros(len(omega))
        for c, mean, scale in zip(w, m, s, strict=True):
            for side in (omega - mean, omega + mean):
                total += 0.5 * c / scale.prod() * np.exp(-0.5 * squared_norms(side / scale))
        return total
