"""Kernels on the circle: the Dirichlet kernel, and stationary kernels wrapped around it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from mercer._params import check_integer
from mercer.kernels.base import Kernel
from mercer.kernels.featurewise import Factor, OneFeature
from mercer.kernels.periodic import Circular, cosine_series
from mercer.kernels.points import Array

TERMS = 4096
"""The most images or frequencies that a periodized kernel is summed over."""


STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
"""Steps and weights of the central difference quotient of order 8."""


@dataclass(eq=False)
class Dirichlet(Circular):
    r"""The Dirichlet kernel: trigonometric polynomials of one degree, all penalized equally.

    .. math:: k(x, z) = \prod_j \Bigl(1 + 2 \sum_{n=1}^{N} \cos n t_j\Bigr)
              = \prod_j \frac{\sin((2N + 1) t_j/2)}{\sin(t_j/2)}, \qquad t = \frac{2\pi}{p}(x - z)

    All frequencies up to N have one penalty and all others are absent, so the space has
    :math:`2N + 1` dimensions for each feature and nothing is smoothed inside the band: a machine
    with this kernel overfits, and is here to show it.

    Parameters
    ----------
    degree : int, default=10
        The highest frequency N, at least 0.
    period : float, default=2*pi
        The period p of every feature.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.31), whose sum is corrected: it
    has to begin at 1 and to be added to 1.

    Examples
    --------
    >>> Dirichlet(10)([[0.0]], [[0.0], [2 * np.pi / 21]]).round(4)
    array([[21.,  0.]])
    """

    degree: int = 10
    period: float = 2.0 * np.pi

    def __post_init__(self) -> None:
        check_integer("degree", self.degree, 0)
        self._check_period()

    def _factors(self) -> Factor:
        count = 2 * int(self.degree) + 1

        def factor(x: Array, z: Array, j: int) -> Array:
            half = 0.5 * self._angle(x, z)
            base = np.sin(half)
            # The ratio differs from its limit by the share (count * half)^2 / 6: a rounding.
            limit = np.abs(count * base) < 1e-8
            return np.where(limit, count, np.sin(count * half) / np.where(limit, 1.0, base))

        return factor

    def coefficients(self, n: Array) -> Array:
        return np.where(np.abs(np.asarray(n)) <= self.degree, 1.0, 0.0)


@dataclass(eq=False)
class Periodized(Circular, OneFeature):
    r"""A stationary kernel of one feature wrapped around a circle.

    .. math:: k_p(u) = \sum_{j \in \mathbb{Z}} k(u + j p)
              = \sum_{n \in \mathbb{Z}} c_n e^{2\pi i n u/p},
              \qquad c_n = \frac{\sqrt{2\pi}}{p} P\Bigl(\frac{2\pi n}{p}\Bigr)

    with the spectrum P of k (Poisson's formula): what k penalizes is penalized by :math:`k_p`. The
    sum that needs fewer terms is used; what it leaves out is a rounding of the whole.

    Parameters
    ----------
    kernel : Kernel
        Stationary and positive definite, with values that fall faster than :math:`1/|u|`.
    period : float, default=1.0
        The period p.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.3.4.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> kernel = Periodized(Matern(2.0), period=12.0)
    >>> kernel([[11.5]], [[0.5]]).round(4) == kernel([[0.0]], [[1.0]]).round(4)
    array([[ True]])
    """

    kernel: Kernel
    period: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a Kernel, got {self.kernel!r}.")
        if not self.kernel.stationary or self.kernel.order or self.kernel.period is not None:
            raise ValueError(
                "Only a stationary kernel that is positive definite and falls to zero can be "
                f"wrapped around a circle, got {self.kernel!r}."
            )
        self._check_period()

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    def _values(self, u: Array) -> Array:
        """Return the kernel at differences of any shape."""
        return np.asarray(self.kernel(u.reshape(-1, 1), np.zeros((1, 1))).reshape(u.shape))

    def _slopes(self, u: Array) -> dict[str, Array]:
        slopes = self.kernel.gradient(u.reshape(-1, 1), np.zeros((1, 1)))
        return {name: slope.reshape(u.shape + slope.shape[2:]) for name, slope in slopes.items()}

    def coefficients(self, n: Array) -> Array:
        omega = 2.0 * np.pi * np.abs(np.asarray(n, dtype=float)) / float(self.period)
        return np.asarray(np.sqrt(2.0 * np.pi) / float(self.period) * self.kernel.spectrum(omega))

    def _terms(self) -> tuple[int, Array | None]:
        """Count the images on either side, or return the weights of cosines if these are fewer."""
        # The images of a difference of half a period are the largest of those left out.
        distances = (np.arange(1, TERMS + 1) - 0.5) * float(self.period)
        images = _needed(self._values(distances), float(self._values(np.zeros(1))[0]))
        try:
            c = self.coefficients(np.arange(TERMS + 1))
        except NotImplementedError:
            frequencies = None
        else:
            frequencies = _needed(c[1:], float(c[0])) if np.isfinite(c).all() else None
        if frequencies is not None and (images is None or frequencies < 2 * images + 1):
            return 0, np.concatenate([c[:1], 2.0 * c[1 : frequencies + 1]])
        if images is not None:
            return images, None
        raise ValueError(
            f"Neither the values nor the spectrum of {self.kernel!r} fall fast enough to be summed "
            f"at the period {self.period}: choose a smoother kernel or another length scale."
        )

    def _wrap(self, values: Callable[[Array], Array], u: Array, images: int) -> Array:
        total = values(u)
        for j in range(1, images + 1):
            total = total + values(u - j * self.period) + values(u + j * self.period)
        return total

    def _factors(self) -> Factor:
        images, weights = self._terms()

        def factor(x: Array, z: Array, j: int) -> Array:
            t = self._angle(x, z)
            if weights is not None:
                return cosine_series(t, weights)
            return self._wrap(self._values, t * (float(self.period) / (2.0 * np.pi)), images)

        return factor

    def _derivatives(self, x: Array, z: Array, j: int) -> dict[str, Array]:
        images, weights = self._terms()
        t, result = self._angle(x, z), {}
        for name in self._slopes(np.zeros(1)):
            if weights is None:
                u = t * (float(self.period) / (2.0 * np.pi))
                slope = self._wrap(lambda v, name=name: self._slopes(v)[name], u, images)  # type: ignore[misc]
            else:
                slope = cosine_series(t, self._weight_slopes(name, len(weights)))
                slope = slope.reshape(t.shape + np.shape(self.kernel.get_params()[name]))
            result[f"kernel__{name}"] = slope
        return result

    def _weight_slopes(self, name: str, count: int) -> Array:
        """Return the derivatives of the weights of cosines by a parameter.

        Spectra are analytic in their parameters: at steps of half a percent the quotient of order
        8 errs by about 1e-14 of the weights, which is also its rounding.
        """
        value = np.asarray(self.kernel.get_params()[name], dtype=float)
        step, slopes = 0.005 * (float(np.abs(value).sum()) or 1.0), np.zeros(count)
        for k, share in STENCIL:
            up, down = (
                copy(self).set_params(**{f"kernel__{name}": (value + sign * k * step).tolist()})
                for sign in (1.0, -1.0)
            )
            n = np.arange(count)
            slopes += share / step * (up.coefficients(n) - down.coefficients(n))
        slopes[1:] *= 2.0
        return slopes


def _needed(terms: Array, first: float) -> int | None:
    """Return how many terms of a sum matter beside the first, None if more than there are.

    What follows the last one is taken to fall like 1/j^2 at least.
    """
    sizes = np.abs(terms)
    beyond = len(terms) * float(sizes[len(terms) // 2 :].max())
    tails = np.append(np.cumsum(sizes[::-1])[::-1], 0.0) + beyond
    small = tails <= 0.25 * np.finfo(float).eps * (abs(first) + tails[0])
    return int(np.argmax(small)) if small.any() else None
