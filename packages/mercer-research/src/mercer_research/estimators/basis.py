"""Basis functions seen by a penalty that is not their own."""

from __future__ import annotations

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import Array
from mercer_research.kernels.spectral import FromSpectrum

# Octaves that are compared to see whether an integrand falls, more than one in case it oscillates.
COMPARED_OCTAVES = 4
TINY = 1e-290

__all__ = ["BasisNotInRKHS", "penalized"]


class BasisNotInRKHS(ValueError):  # noqa: N818  (the name that the literature's warning suggests)
    """Basis functions are too rough for the penalty: it is infinite on them."""


def penalized(basis: Kernel, operator: Kernel, dim: int = 1) -> Kernel:
    r"""Return the inner products of basis functions under the penalty of another kernel.

    .. math:: D(x - z) = \langle P k(x, \cdot), P k(z, \cdot) \rangle = (2\pi)^{-d/2}
              \int e^{i \langle \omega, x - z \rangle} \frac{\tilde k(\omega)^2}{P(\omega)} d\omega

    with the spectrum :math:`\tilde k` of the basis and P of the kernel whose norm is the penalty.
    For two Gaussians of widths s and :math:`\sigma`

    .. math:: D(t) = \Bigl(\frac{s^2}{\sigma \sqrt{2 s^2 - \sigma^2}}\Bigr)^d
              \exp\Bigl(-\frac{|t|^2}{2(2s^2 - \sigma^2)}\Bigr), \qquad s > \sigma / \sqrt2,

    in other cases the integral is computed. The penalty of a kernel that is conditionally positive
    definite sees no polynomials of low degree, and any basis that decays is in its space.

    Parameters
    ----------
    basis : Kernel
        The functions :math:`k(x, \cdot)`, stationary with a spectrum.
    operator : Kernel
        The kernel whose norm is the penalty.
    dim : int, default=1
        Dimension d of the points.

    Returns
    -------
    Kernel
        `basis` itself if both are one: a kernel's functions under its own penalty.

    Raises
    ------
    BasisNotInRKHS
        If the penalty of the basis functions is infinite.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.11) to (3.16).

    Examples
    --------
    >>> D = penalized(Gaussian(0.8), Gaussian(1.0))
    >>> print(f"{D([[0.0]], [[0.6]])[0, 0]:.12f}")
    0.635933419413
    >>> penalized(Gaussian(0.7), Gaussian(1.0))
    Traceback (most recent call last):
    ...
    mercer_research.estimators.basis.BasisNotInRKHS: Gaussian(length_scale=0.7) is ...
    """
    if basis == operator:
        return basis
    if isinstance(basis, Gaussian) and isinstance(operator, Gaussian):
        s, sigma = np.asarray(basis.length_scale, float), np.asarray(operator.length_scale, float)
        square = 2.0 * s**2 - sigma**2
        if np.any(square <= 0):
            raise _rough(basis, operator, "its width must exceed that of the penalty over sqrt 2")
        width = np.sqrt(square)
        factor = np.prod(np.broadcast_to(s**2 / (sigma * width), (dim,)))
        return float(factor) * Gaussian(width if width.ndim else float(width))

    def density(omega: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            square = np.asarray(basis.spectrum(_along(omega, dim), dim)) ** 2
            ratio = square / np.asarray(operator.spectrum(_along(omega, dim), dim))
        # Where even the square is below all numbers nothing is left to penalize.
        ratio = np.where(square > 0, ratio, 0.0)
        if not np.all(np.isfinite(ratio)):
            raise _rough(basis, operator, "it has frequencies that the penalty forbids")
        return np.asarray(ratio.reshape(np.shape(omega)))

    octaves = 2.0 ** np.arange(300)
    mass = density(octaves) * octaves**dim
    mass = mass[mass > TINY]  # beyond, numbers are too small to tell
    last, before = mass[-COMPARED_OCTAVES:], mass[-2 * COMPARED_OCTAVES : -COMPARED_OCTAVES]
    if len(mass) >= 2 * COMPARED_OCTAVES and last.max() >= before.max():
        raise _rough(basis, operator, "the integral diverges")
    return FromSpectrum(density, dim)


def _along(omega: Array, dim: int) -> Array:
    """Return frequencies of given lengths along the first axis."""
    vectors = np.zeros((np.size(omega), dim))
    vectors[:, 0] = np.ravel(omega)
    return vectors


def _rough(basis: Kernel, operator: Kernel, why: str) -> BasisNotInRKHS:
    return BasisNotInRKHS(
        f"{basis!r} is too rough for the penalty of {operator!r}, which is infinite on it: {why}; "
        "use smoother basis functions, or a weaker penalty."
    )
