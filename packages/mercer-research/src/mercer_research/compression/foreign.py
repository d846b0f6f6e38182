"""Functions of one basis in the space of another kernel, and how large coefficients let them be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer.kernels.base import Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import (
    Array,
    Data,
    as_points,
    count,
    row_slices,
    take,
)
from mercer_research.estimators.basis import BasisNotInRKHS, penalized
from mercer_research.kernels.spectral import FromSpectrum

__all__ = [
    "ForeignBasis",
    "LipschitzCover",
    "coefficient_norm_growth",
    "foreign_basis",
    "lipschitz_constant",
    "lipschitz_cover",
]

BLOCK = 2**24
"""Bytes of kernel values at once."""


@dataclass(frozen=True, eq=False)
class ForeignBasis:
    """Basis functions under a penalty that is not their own, from :func:`foreign_basis`."""

    inner: Array
    r"""Inner products :math:`\langle P f_i, P f_j \rangle`, (n, n); infinite in the rows and
    columns of functions that are not in the space."""

    finite: NDArray[np.bool_]
    """Which functions are in the space, (n,)."""

    verdicts: list[str]
    """Why each of them is or is not."""

    norm: float | None
    r"""The norm :math:`\Lambda = (\alpha' G \alpha)^{1/2}` of a combination, if its coefficients
    were given; infinite if one of its functions is not in the space, and then no bound that rests
    on the norm says anything."""

    free: int
    """Number of polynomials that the penalty does not see: what they add is in no norm."""

    @property
    def norms(self) -> Array:
        """Norms of the functions, (n,)."""
        return np.asarray(np.sqrt(np.diagonal(self.inner)))


def foreign_basis(
    operator: Kernel,
    basis: Kernel | Sequence[Kernel],
    X: Data,
    coef: ArrayLike | None = None,
) -> ForeignBasis:
    r"""Return what functions of another basis cost under the penalty of a kernel.

    .. math:: G_{ij} = \langle P f_i, P f_j \rangle = (2\pi)^{-d/2} \int
              e^{i \langle \omega, x_i - x_j \rangle}
              \frac{\tilde f_i(\omega) \tilde f_j(\omega)}{P(\omega)} d\omega, \qquad
              f_i = b_i(x_i, \cdot)

    with the spectra of the basis and P of the kernel. A bound for functions of norm
    :math:`\Lambda` holds for :math:`\sum_i \alpha_i f_i` with :math:`\Lambda^2 = \alpha' G \alpha`.
    A Gaussian is in the space of another of width :math:`\sigma` if it is wider than
    :math:`\sigma / \sqrt2`.

    Parameters
    ----------
    operator : Kernel
        Whose norm is the penalty; stationary with a spectrum.
    basis : Kernel or sequence of n kernels
        Of all functions, or of each; stationary with spectra.
    X : (n, p) points
        Where the functions are centred.
    coef : (n,) array, optional
        Of a combination.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (9.1) and (9.2).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> wide, narrow = Gaussian(0.8), Gaussian(0.7)
    >>> told = foreign_basis(Gaussian(1.0), [wide, wide, narrow], [[0.0], [0.6], [1.0]])
    >>> told.finite, told.inner[:2, :2].round(4)
    (array([ True,  True, False]), array([[1.2095, 0.6359],
           [0.6359, 1.2095]]))
    >>> foreign_basis(Gaussian(1.0), wide, [[0.0], [0.6]], [1.0, -1.0]).norm
    1.0710...
    """
    X = as_points(X)
    n, dim = X.shape
    kernels = [basis] * n if isinstance(basis, Kernel) else list(basis)
    if len(kernels) != n:
        raise ValueError(f"{n} functions need one kernel, or as many, got {len(kernels)}.")
    families: list[Kernel] = []
    of = np.empty(n, dtype=np.intp)
    for i, kernel in enumerate(kernels):
        known = [g for g, family in enumerate(families) if family == kernel]
        of[i] = known[0] if known else len(families)
        families += [] if known else [kernel]
    own: list[Kernel | None] = []
    told = []
    for family in families:
        try:
            own.append(penalized(family, operator, dim))
            told.append(f"{family!r} is in the space of {operator!r}")
        except BasisNotInRKHS as reason:
            own.append(None)
            told.append(str(reason))
    inner = np.full((n, n), np.inf)
    for g, first in enumerate(own):
        for h, second in enumerate(own):
            if first is None or second is None:
                continue
            D = first if g == h else _between(families[g], families[h], operator, dim)
            rows, columns = np.flatnonzero(of == g), np.flatnonzero(of == h)
            inner[np.ix_(rows, columns)] = D(take(X, rows), take(X, columns))
    finite = np.array([own[g] is not None for g in of], dtype=bool)
    norm = None if coef is None else _norm(inner, finite, np.asarray(coef, dtype=np.float64))
    verdicts = [told[g] for g in of]
    return ForeignBasis(inner, finite, verdicts, norm, len(operator.unpenalized(dim)))


def _norm(inner: Array, finite: NDArray[np.bool_], coef: Array) -> float:
    if coef.shape != finite.shape:
        raise ValueError(f"coef must have shape {finite.shape}, got {coef.shape}.")
    if np.any(coef[~finite] != 0.0):
        return float(np.inf)
    part = coef[finite]
    square = float(part @ inner[np.ix_(finite, finite)] @ part)
    return float(np.sqrt(max(square, 0.0)))


def _between(first: Kernel, second: Kernel, operator: Kernel, dim: int) -> Kernel:
    """Return the inner products of functions of two families, as a kernel of their centres."""
    if all(isinstance(k, Gaussian) for k in (first, second, operator)):
        s, t, sigma = (
            np.asarray(k.length_scale, dtype=np.float64)  # type: ignore[attr-defined]
            for k in (first, second, operator)
        )
        width = np.sqrt(s**2 + t**2 - sigma**2)
        factor = np.prod(np.broadcast_to(s * t / (sigma * width), (dim,)))
        return float(factor) * Gaussian(width if width.ndim else float(width))

    def density(omega: Array) -> Array:
        vectors = np.zeros((np.size(omega), dim))
        vectors[:, 0] = np.ravel(omega)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            product = first.spectrum(vectors, dim) * second.spectrum(vectors, dim)
            ratio = np.where(product > 0.0, product / operator.spectrum(vectors, dim), 0.0)
        return np.asarray(ratio.reshape(np.shape(omega)))

    return FromSpectrum(density, dim)


def coefficient_norm_growth(kernel: Kernel, X: Data, p: float, points: Data | None = None) -> float:
    r"""Return how large a function can be whose coefficients have norm one.

    .. math:: \max_{\|\alpha\|_p \le 1} \max_x \Bigl| \sum_i \alpha_i k(x_i, x) \Bigr|
              = \max_x \|(k(x_i, x))_i\|_{p / (p - 1)}

    For p = 1 it does not depend on the number n of terms; for p > 1 over a bounded set it grows
    like :math:`n^{1 - 1/p}`: a penalty on such a norm bounds no function as the sample grows, and
    what it leaves has to be bounded by the choice of its weight.

    Parameters
    ----------
    kernel : Kernel
        Any, also indefinite.
    X : (n, p) points
        Of the terms.
    p : float
        At least 1; infinity is allowed.
    points : (m, p) points, optional
        Where the maximum is taken; `X` by default.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (9.17) to (9.20).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> [
    ...     round(coefficient_norm_growth(Gaussian(), np.linspace(0, 1, n)[:, None], p=2), 2)
    ...     for n in (100, 400, 1600)
    ... ]
    [9.6, 19.21, 38.42]
    """
    if not p >= 1.0:
        raise ValueError(f"p must be at least 1, got {p!r}: below, there is no norm.")
    q = np.inf if p == 1.0 else (1.0 if np.isinf(p) else p / (p - 1.0))
    where = X if points is None else points
    evaluate, largest = kernel.against(X), 0.0
    for rows in row_slices(count(where), 8 * count(X), BLOCK):
        K = np.asarray(evaluate(take(where, rows)), dtype=np.float64)
        largest = max(largest, float(np.max(np.linalg.norm(K, ord=q, axis=1), initial=0.0)))
    return largest


def lipschitz_constant(kernel: Kernel) -> float:
    r"""Return the largest slope of a stationary kernel of one feature, or of the distance.

    .. math:: |k(x, z) - k(x', z)| \le c_L |x - x'|, \qquad c_L = \sup_r |k'(r)|

    Gaussians have :math:`e^{-1/2}/\sigma`, exponentials :math:`1/\ell`.

    Parameters
    ----------
    kernel : Kernel
        Stationary and bounded; in more than one feature it must be radial.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (9.6).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> round(lipschitz_constant(Gaussian(2.0)), 6)  # exp(-1/2) / 2
    0.303265
    """
    if not kernel.stationary or kernel.order:
        raise ValueError(f"{kernel!r} has no largest slope: it must be stationary and bounded.")

    def profile(r: Array) -> Array:
        return np.asarray(kernel(r[:, None], np.zeros((1, 1))), dtype=np.float64)[:, 0]

    r = np.geomspace(1e-8, 1e8, 4097)
    change = np.abs(profile(r) - profile(np.zeros(1)))
    # The scale on which the kernel changes: where half of its largest change is done.
    scale = float(r[np.argmax(change >= 0.5 * np.max(change))])
    low, high = 0.0, 64.0 * scale
    for _ in range(6):
        grid = np.linspace(low, high, 2049)
        slopes = np.abs(np.diff(profile(grid))) / np.diff(grid)
        best = int(np.argmax(slopes))
        if high - low <= 1e-4 * scale:
            break
        low, high = grid[max(best - 2, 0)], grid[min(best + 3, len(grid) - 1)]
    return float(slopes[best])


class LipschitzCover(NamedTuple):
    """A cover of the functions k(x, .) of a cube, from :func:`lipschitz_cover`."""

    constant: float
    input_radius: float
    """Radius of balls of the input space."""

    log_number: float
    """Logarithm of how many of them cover the cube."""


def lipschitz_cover(kernel: Kernel, radius: float, width: float, dim: int = 1) -> LipschitzCover:
    r"""Cover the functions :math:`k(x, \cdot)` of a cube in the sup norm, by covering the cube.

    Balls of radius :math:`\epsilon / c_L` in the input space become balls of radius
    :math:`\epsilon` of functions: :math:`\lceil w \sqrt d c_L / 2 \epsilon \rceil^d` of them, or
    entropy numbers of the order :math:`n^{-1/d}`. Convex combinations of them on m points have
    :math:`n^{-1/2 - 1/d}` up to a logarithm of m, with constants that are not known.

    Parameters
    ----------
    kernel : Kernel
        As in :func:`lipschitz_constant`.
    radius : float
        The radius :math:`\epsilon`.
    width : float
        Edge of the cube.
    dim : int, default=1
        Its dimension; beyond one the kernel must be radial.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (9.6) to (9.16), whose last step, from
    Hilbert spaces to the sup norm, holds with the type-2 constant of m points.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> cover = lipschitz_cover(Laplacian(1.0), 0.11, 6.0)
    >>> round(cover.constant, 3), round(np.exp(cover.log_number))
    (1.0, 28)
    """
    if dim > 1 and not kernel.radial:
        raise ValueError(f"{kernel!r} is not radial: its slope depends on the direction.")
    constant = lipschitz_constant(kernel)
    h = radius / constant
    across = np.ceil(0.5 * width * np.sqrt(dim) / h * (1.0 - 1e-9))
    return LipschitzCover(constant, float(h), float(dim * np.log(max(across, 1.0))))
