r"""Kernels from a penalty: weighted derivatives, or a matrix on coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import polynomial
from scipy import linalg

from mercer.kernels.points import Array, Data
from mercer.kernels.stationary import LengthScale
from mercer_research.kernels.eigen import Eigensystem
from mercer_research.kernels.interpolated import Profile, Spectral

CLUSTER = 0.1
"""Poles nearer to each other than this share of their distance from the real line are treated
together, because their residues would cancel."""

DIGITS = np.log(1e-17)


@dataclass(eq=False)
class Green(Spectral):
    r"""The reproducing kernel of a penalty on derivatives.

    .. math:: \sum_a c_a \int |\nabla^a f|^2 dx = \int p(\omega) |\tilde f(\omega)|^2 d\omega,
              \qquad p(\omega) = \sum_a c_a |\omega|^{2a}

    It is the Green's function of the operator :math:`p(-i\nabla)`,

    .. math:: k(x, z) = (2\pi)^{-d} \int \frac{e^{i \langle\omega, x - z\rangle}}{p(\omega)} d\omega

    and exactly so: for ``weights=(1, 1)`` on a line, where :math:`\int f^2 + f'^2` is
    penalized, it is :math:`\tfrac12 e^{-|x - z|}`. On a line it is the sum over the poles of
    :math:`1/p` in the upper half plane,

    .. math:: k(t) = \operatorname{Re} \sum_j A_j e^{i \omega_j |t|}

    where poles that are near to each other, or the same, are replaced by a circle around them:
    their residues are large and cancel, a contour integral is neither. In more dimensions the
    kernel comes from its spectrum :math:`(2\pi)^{-d/2}/p`. Its decay, oscillations and
    smoothness (2m - d - 1 derivatives for the highest order m) follow from the weights.

    Parameters
    ----------
    weights : sequence of float
        The weights :math:`c_0, \dots, c_m` of the squared norms of f, of its first derivative,
        and so on; 2m must exceed the dimension, and p be positive everywhere.
    dim : int, default=1
        The dimension d.
    length_scale : float or (p,) array, default=1.0
        Unit l in which lengths are measured: the kernel is :math:`k((x - z)/l)`.

    See Also
    --------
    ThinPlate, Spline : Penalties on derivatives only, which leave polynomials free.
    FromSpectrum : Penalties that are not polynomials.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, Proposition 3.2 and eq. (3.106), where
    the factor 1/2 is missing.

    Examples
    --------
    >>> Green((1.0, 1.0))([[0.0]], [[0.0], [1.0]]).round(4)
    array([[0.5   , 0.1839]])
    >>> Green((1.0, 1.0), dim=2)
    Traceback (most recent call last):
    ...
    ValueError: Derivatives of order 1 do not make functions of 2 variables continuous, so there is
    no bounded kernel: penalize derivatives of order 2 or more.
    """

    weights: Sequence[float] | Array
    dim: int = 1
    length_scale: LengthScale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        c = self._polynomial
        if np.ndim(self.weights) != 1 or not np.isfinite(c).all() or len(c) < 2:
            raise ValueError(
                "weights must be numbers for f, its first derivative and so on, at least "
                f"two of them, got {self.weights!r}."
            )
        order = len(c) - 1
        if c[0] == 0.0:
            lowest = int(np.flatnonzero(c)[0])
            raise ValueError(
                f"Polynomials of degree below {lowest} cost nothing, so that the kernel would be "
                f"positive definite only conditionally, of order {lowest}: use "
                f"ThinPlate(order={lowest}) or Spline, which leave them free, and a sum of kernels "
                "for several orders; or give f itself a weight."
            )
        # The smallest value is at zero or where the derivative vanishes, and at infinity positive.
        roots = polynomial.polyroots(polynomial.polyder(c)) if order > 1 else np.empty(0)
        places = np.append(np.real(roots[(np.abs(np.imag(roots)) < 1e-8) & (roots.real > 0)]), 0.0)
        rounding = 1e-12 * polynomial.polyval(places, np.abs(c))
        bad = polynomial.polyval(places, c) <= rounding
        if bad.any() or c[-1] < 0.0:
            where = f"near |omega| = {np.sqrt(places[bad][0]):.6g}" if bad.any() else "far out"
            raise ValueError(
                f"The penalty on frequencies, sum_a c_a |omega|^(2a), is not positive {where}: no "
                "kernel belongs to it. Choose weights that are at least 0."
            )
        if 2 * order <= self.dim:
            raise ValueError(
                f"Derivatives of order {order} do not make functions of {self.dim} variables "
                "continuous, so there is no bounded kernel: penalize derivatives of order "
                f"{self.dim // 2 + 1} or more."
            )

    @classmethod
    def high_pass(cls, order: int, cutoff: float = 1.0, dim: int = 1) -> Green:
        r"""Return the kernel that passes frequencies below a cutoff and suppresses those above.

        The penalty is :math:`1 + (|\omega|/\omega_0)^{2m}`: nearly constant below the cutoff,
        one on derivatives of order m above it.

        Parameters
        ----------
        order : int
            The order m of the derivative.
        cutoff : float, default=1.0
            The (angular) frequency :math:`\omega_0`.
        dim : int, default=1

        Examples
        --------
        >>> Green.high_pass(2, cutoff=10.0).spectrum(np.array([0.0, 10.0, 100.0])).round(5)
        array([3.9894e-01, 1.9947e-01, 4.0000e-05])
        """
        return cls((1.0, *[0.0] * (order - 1), float(cutoff) ** (-2 * order)), dim)

    @property
    def _polynomial(self) -> Array:
        """The penalty as a polynomial in the squared frequency."""
        return np.trim_zeros(np.asarray(self.weights, dtype=float), "b")

    def _unchecked(self, omega: Array) -> Array:
        penalty = polynomial.polyval(omega**2, self._polynomial)
        return np.asarray((2.0 * np.pi) ** (-0.5 * self.dim) / penalty)

    def _values(self) -> Profile:
        if self.dim > 1:
            return super()._values()
        amplitudes, frequencies = exponentials(self._polynomial)

        def exact(t: Array) -> Array:
            waves = np.exp(1j * np.multiply.outer(t, frequencies))
            return np.asarray(np.real(waves @ amplitudes))

        return Profile(exact, 1.0 / float(np.median(np.abs(frequencies))))

    @property
    def error(self) -> float:
        """Bound on the error of kernel values, relative to the value at zero."""
        return super().error if self.dim > 1 else self._function.error / self._function.top


def exponentials(c: Array) -> tuple[Array, Array]:
    r"""Return the inverse transform of :math:`1/p` as a sum of exponentials.

    .. math:: \frac{1}{2\pi} \int \frac{e^{i\omega t}}{p(\omega)} d\omega
              = \operatorname{Re} \sum_j A_j e^{i \omega_j t}, \qquad t \ge 0

    Parameters
    ----------
    c : (m + 1,) array
        Coefficients of p as a polynomial in :math:`\omega^2`, positive for all real frequencies.

    Returns
    -------
    (q,) complex arrays
        Amplitudes and frequencies: one for each pole in the upper half plane, or many on a
        circle around poles that lie near to each other.
    """
    squares = polynomial.polyroots(c)
    poles = np.sqrt(squares.astype(complex))
    poles *= np.where(poles.imag < 0.0, -1.0, 1.0)
    amplitudes, frequencies = [], []
    for group in _clusters(poles):
        inside = poles[group]
        if len(inside) == 1:
            slope = 2.0 * inside * polynomial.polyval(inside**2, polynomial.polyder(c))
            amplitudes.append(1j / slope)
            frequencies.append(inside)
            continue
        centre = inside.mean()
        # A wide circle keeps the integrand small, halfway to what lies outside: other poles, and
        # the real line, beyond which the exponential would grow with time. The trapezoidal rule
        # converges geometrically, at the ratio of the radii.
        near = float(np.abs(inside - centre).max())
        far = min(np.abs(np.delete(poles, group) - centre).min(initial=np.inf), centre.imag)
        radius = max(0.5 * far, np.sqrt(near * far))
        nodes = int(np.ceil(DIGITS / np.log(radius / far)))
        direction = np.exp(2j * np.pi * (np.arange(nodes) + 0.5) / nodes)
        circle = centre + radius * direction
        amplitudes.append(1j * radius * direction / nodes / polynomial.polyval(circle**2, c))
        frequencies.append(circle)
    return np.concatenate(amplitudes), np.concatenate(frequencies)


def _clusters(poles: Array) -> list[list[int]]:
    """Group poles around which circles can be drawn that are not near to others."""
    groups = [[j] for j in range(len(poles))]

    def meet(one: list[int], other: list[int]) -> bool:
        """Whether the disc of one group, a bit larger, holds a pole of the other."""
        centre = poles[one].mean()
        radius = 1.5 * np.abs(poles[one] - centre).max() + CLUSTER * centre.imag
        return bool((np.abs(poles[other] - centre) < radius).any())

    while True:
        pairs = permutations(groups, 2)
        found = next(((one, other) for one, other in pairs if meet(one, other)), None)
        if found is None:
            return groups
        one, other = found
        groups = [group for group in groups if group not in found] + [one + other]


class Split(NamedTuple):
    """A penalty on coefficients, divided into its range and its null space."""

    kernel: Eigensystem
    """The kernel of the penalized part."""

    functions: list[Callable[[Data], Array]]
    """A basis of what is free, for :class:`mercer.regularizers.Functions`."""


def from_penalty_matrix(G: Array, features: Callable[[Data], Any], *, tol: float = 1e-10) -> Split:
    r"""Return kernel and free functions of a quadratic penalty on coefficients.

    For functions :math:`f(x) = w'\phi(x)` with the penalty :math:`w'Gw`, G positive semidefinite,

    .. math:: k(x, z) = \phi(x)' G^\dagger \phi(z), \qquad \phi_r(x) = \phi(x)' u_r

    where the :math:`u_r` span the null space of G. A machine with this kernel that leaves these
    functions free finds the same f.

    Parameters
    ----------
    G : (q, q) array
        Symmetric and positive semidefinite.
    features : callable
        Maps ``(n, p)`` points to the ``(n, q)`` values :math:`\phi`.
    tol : float, default=1e-10
        Eigenvalues below this share of the largest one are zero.

    Returns
    -------
    Split
        With fields ``kernel`` and ``functions``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Theorem 9.1.

    Examples
    --------
    Cubic polynomials whose second derivative on [0, 1] is penalized:

    >>> powers = lambda X: np.asarray(X) ** np.arange(4)
    >>> G = np.zeros((4, 4))
    >>> G[2:, 2:] = [[4, 6], [6, 12]]
    >>> kernel, functions = from_penalty_matrix(G, powers)
    >>> len(functions), np.linalg.matrix_rank(kernel(np.linspace(0, 1, 9)[:, None]))
    (2, np.int64(2))
    """
    G = np.asarray(G, dtype=float)
    if G.ndim != 2 or G.shape[0] != G.shape[1] or not np.allclose(G, G.T, rtol=1e-8, atol=0.0):
        raise ValueError(f"The penalty must be a symmetric matrix, got shape {G.shape}.")
    values, vectors = linalg.eigh(G)
    top = values[-1]
    if not values[0] >= -tol * top:
        raise ValueError(
            f"The penalty must be positive semidefinite, but has the eigenvalue {values[0]:.4g}."
        )
    costs = values > tol * top
    if not costs.any():
        raise ValueError("The penalty is zero: everything is free and there is no kernel.")
    kernel = Eigensystem(Combined(features, vectors[:, costs]), values[costs])
    return Split(kernel, [Combined(features, u) for u in vectors[:, ~costs].T])


@dataclass(frozen=True, eq=False)
class Combined:
    """Linear combinations of features, as a function of points."""

    features: Callable[[Data], Any]
    coefficients: Array

    def __call__(self, X: Data) -> Array:
        """Return ``(n,)`` values, or ``(n, r)`` for r combinations."""
        return np.asarray(self.features(X)) @ self.coefficients
