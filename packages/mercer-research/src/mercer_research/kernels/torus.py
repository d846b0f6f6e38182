"""A radial kernel of several features wrapped around a box, by images or by frequencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from mercer._params import check_integer
from mercer.kernels.base import Evaluator, Kernel
from mercer.kernels.points import BLOCK_BYTES, Array, Data, as_pair, as_points, row_slices, to_dense
from mercer_research.kernels.periodic import STENCIL

MOST = 20_000
"""The most images or frequencies that a kernel is summed over."""

LATTICE = 4_000_000
"""The most points of a lattice that are looked at to find them."""

CHEAPER = 8
"""A frequency is an entry of a matrix product, an image a value of the kernel."""


class Truncation(NamedTuple):
    """Which terms of the sum over the lattice are kept, and what the others sum to."""

    images: Array | None
    """Shifts of the difference, (m, d); None if frequencies are fewer."""

    frequencies: Array | None
    """Frequency vectors, (m, d), of every pair of opposite ones the first."""

    weights: Array | None
    """Weights of their cosines."""

    error: float
    """No value of the kernel is further than this from the whole sum."""


@dataclass(eq=False)
class Torus(Kernel):
    r"""A radial kernel of several features wrapped around a box whose opposite sides meet.

    .. math:: k_v(u) = \sum_{j \in \mathbb{Z}^d} k(u - j v)
              = \sum_{n \in \mathbb{Z}^d} c_n \cos\langle\omega_n, u\rangle, \qquad
              \omega_n = 2\pi n / v, \quad c_n = \frac{(2\pi)^{d/2}}{v_1 \cdots v_d} P(\omega_n)

    with the spectrum P of k (Poisson's formula), for angles in pairs, or positions in a box with
    periodic boundaries. A product of :class:`Periodized` kernels is the same for a Gaussian only:
    any other radial kernel is no product of functions of one feature.

    The sum that needs less work is used. What is left out is bounded by an integral, because every
    point p of a lattice has a cell of its own, of diagonal 2h, and a function that falls is nowhere
    in the cell larger than h before p:

    .. math:: \sum_{|p| > \rho} \varphi(|p|) \le \frac{s_d}{\operatorname{vol}}
              \int_{\rho - 2h}^\infty \varphi(t)\, (t + h)^{d-1} dt

    with the surface :math:`s_d` of the unit ball, and is at most :math:`10^{-digits} k(0)`.
    Frequencies have positive weights, so that their sum is positive definite however it is cut; a
    sum of images is so up to what is left out.

    Parameters
    ----------
    kernel : Kernel
        Radial and positive definite, with values that fall faster than :math:`r^{-d}` and that
        nowhere rise, or with compact support.
    periods : sequence of float
        The sides v, two at least. Features with other length scales are divided by these, and so
        are the sides.
    digits : int, default=14
        How many of k(0) are kept.

    See Also
    --------
    Periodized : The same of one feature.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.46)-(8.53).

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> kernel = Torus(Matern(1.0), [6.0, 9.0])
    >>> kernel([[5.5, 0.5]], [[0.5, 8.5]]).round(6) == kernel([[0.0, 0.0]], [[1.0, 1.0]]).round(6)
    array([[ True]])
    >>> len(kernel.truncation().images)
    41
    """

    kernel: Kernel
    periods: Sequence[float] | Array
    digits: int = 14

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a Kernel, got {self.kernel!r}.")
        if not self.kernel.radial or self.kernel.order:
            raise ValueError(
                "Only a positive definite kernel of the distance alone can be wrapped around a "
                f"box, got {self.kernel!r}. Divide features by their length scales instead, and "
                "take Tensor(Periodized(...)) for products."
            )
        v = self._sides
        if v.ndim != 1 or len(v) < 2 or not ((v > 0) & (v < np.inf)).all():
            raise ValueError(
                f"periods must be two positive numbers or more, got {self.periods!r}; "
                "Periodized takes one feature."
            )
        check_integer("digits", self.digits, 1)

    @property
    def _sides(self) -> Array:
        return np.asarray(self.periods, dtype=float)

    @property
    def stationary(self) -> bool:
        return True

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    @property
    def domain(self) -> str:
        return "torus"

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        raise NotImplementedError(
            f"{self!r} is periodic: its spectrum is discrete, given by coefficients(n) at the "
            "frequencies 2 pi n / periods."
        )

    def coefficients(self, n: Array) -> Array:
        r"""Return the Fourier coefficients at vectors of whole numbers.

        .. math:: k(u) = \sum_{n \in \mathbb{Z}^d} c_n e^{2\pi i \langle n, u/v\rangle}

        Parameters
        ----------
        n : (m, d) array of int
        """
        return self._weight(2.0 * np.pi * np.asarray(n, dtype=float) / self._sides)

    def _weight(self, omega: Array) -> Array:
        d = len(self._sides)
        P = self.kernel.spectrum(np.linalg.norm(omega, axis=-1), d)
        return np.asarray((2.0 * np.pi) ** (0.5 * d) / np.prod(self._sides) * P)

    def _values(self, u: Array) -> Array:
        """Return the kernel itself at differences (..., d)."""
        d = u.shape[-1]
        return np.asarray(self.kernel(u.reshape(-1, d), np.zeros((1, d))).reshape(u.shape[:-1]))

    def truncation(self) -> Truncation:
        """Return the terms that are summed, and a bound on the sum of all others."""
        v, d = self._sides, len(self._sides)
        axis = np.eye(d)[0]
        top = float(self._values(np.zeros((1, d)))[0])
        allowed, support = 10.0 ** -int(self.digits) * top, self.kernel.support

        def value(r: Array) -> Array:
            return self._values(r[:, None] * axis)

        def weight(r: Array) -> Array:
            return self._weight(r[:, None] * axis)

        reach = None if support is None else float(np.max(support.scale))
        images = _kept(value, v, 0.5 * v, allowed, reach)
        waves = None
        # A compact kernel has few images, and a spectrum that does not fall all the way.
        if reach is None:
            with suppress(NotImplementedError), np.errstate(all="ignore"):
                waves = _kept(weight, 2.0 * np.pi / v, 0.0 * v, allowed)
        if waves is not None and (images is None or len(waves[0]) < CHEAPER * len(images[0])):
            omega = _first_of_opposites(waves[0])
            return Truncation(None, omega, self._weights(omega), waves[1])
        if images is not None:
            return Truncation(images[0], None, None, images[1])
        raise ValueError(
            f"Neither the values nor the spectrum of {self.kernel!r} fall fast enough to be summed "
            f"at the periods {v.tolist()}: choose a smoother kernel, another length scale or fewer "
            "digits."
        )

    def _weights(self, omega: Array) -> Array:
        """Return weights of cosines, of which each stands for two opposite frequencies."""
        return np.asarray(np.where(omega.any(axis=1), 2.0, 1.0) * self._weight(omega))

    # Values --------------------------------------------------------------------------------------

    def _dense(self, X: Data) -> Array:
        d = len(self._sides)
        if X.shape[1] != d:
            raise ValueError(f"periods has {d} entries but the points have {X.shape[1]} features.")
        points = np.asarray(to_dense(X), dtype=np.float64)
        # Angles of points in the box keep the digits that those of distant points lose.
        return np.asarray(points - self._sides * np.floor(points / self._sides))

    def _wrap(self, values: Callable[[Array], Array], x: Array, z: Array, images: Array) -> Array:
        """Return the sum over the images of differences, broadcast."""
        u = x - z
        u -= self._sides * np.rint(u / self._sides)
        total = values(u - images[0])
        for image in images[1:]:
            total += values(u - image)
        return total

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        z, terms = self._dense(Z), self.truncation()

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, _ = as_pair(X, Z)
            x = self._dense(X)
            if out is None:
                out = np.empty((len(x), len(z)), dtype=X.dtype)
            if terms.images is None:
                out[...] = _cosines(x, z, terms.frequencies, terms.weights)
                return out
            for rows in row_slices(len(x), 32 * z.size, BLOCK_BYTES):
                out[rows] = self._wrap(self._values, x[rows, None], z, terms.images)
            return out

        return evaluate

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        x, z, terms = self._dense(X), self._dense(Z), self.truncation()
        if terms.images is None:
            K = np.cos((x - z) @ terms.frequencies.T) @ terms.weights  # type: ignore[union-attr]
        else:
            K = self._wrap(self._values, x, z, terms.images)
        return np.asarray(K.astype(X.dtype))

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        origin = np.zeros((1, len(self._sides)))
        self._dense(X[:1])
        return np.full(X.shape[0], self.paired(origin, origin)[0], dtype=X.dtype)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        x, z, terms = self._dense(X), self._dense(Z), self.truncation()
        result = {}
        for name in self._slopes(np.zeros((1, x.shape[1]))):
            if terms.images is None:
                slope = _cosines(x, z, terms.frequencies, self._weight_slopes(name, terms))
            else:
                slope = self._wrap(
                    lambda u, name=name: self._slopes(u)[name],  # type: ignore[misc]
                    x[:, None],
                    z,
                    terms.images,
                )
            result[f"kernel__{name}"] = slope.astype(X.dtype)
        return result

    def _slopes(self, u: Array) -> dict[str, Array]:
        d = u.shape[-1]
        slopes = self.kernel.gradient(u.reshape(-1, d), np.zeros((1, d)))
        return {name: slope.reshape(u.shape[:-1]) for name, slope in slopes.items()}

    def _weight_slopes(self, name: str, terms: Truncation) -> Array:
        """Return the derivatives of the weights by a parameter, by a quotient of order 8."""
        value = float(np.asarray(self.kernel.get_params()[name]))
        step = 0.005 * (abs(value) or 1.0)
        slopes = np.zeros(len(terms.frequencies))  # type: ignore[arg-type]
        for k, share in STENCIL:
            up, down = (
                copy(self).set_params(**{f"kernel__{name}": value + sign * k * step})
                for sign in (1.0, -1.0)
            )
            change = up._weights(terms.frequencies) - down._weights(terms.frequencies)  # type: ignore[arg-type]
            slopes += share / step * change
        return slopes


def _cosines(x: Array, z: Array, omega: Array | None, weights: Array | None) -> Array:
    r"""Return :math:`\sum_n w_n \cos\langle\omega_n, x - z\rangle` for all pairs."""
    a, b = x @ omega.T, z @ omega.T  # type: ignore[union-attr]
    return np.asarray((weights * np.cos(a)) @ np.cos(b).T + (weights * np.sin(a)) @ np.sin(b).T)


def _first_of_opposites(points: Array) -> Array:
    """Return of every pair of points p and -p that whose first coordinate other than 0 is above."""
    some = points != 0
    leading = points[np.arange(len(points)), np.argmax(some, axis=1)]
    return np.asarray(points[leading >= 0])


def _kept(
    profile: Callable[[Array], Array],
    sides: Array,
    spread: Array,
    allowed: float,
    reach: float | None = None,
) -> tuple[Array, float] | None:
    """Return points of a lattice whose terms matter, and what the others sum to at most.

    A term is the profile at the distance of the point to another one, which is not further from
    the origin than `spread` along any axis. Beyond `reach`, if given, all terms are zero. None if
    the terms do not fall, or not fast enough.
    """
    radius, rest = (reach, 0.0) if reach is not None else _radius(profile, sides, 0.5 * allowed)
    if not np.prod(2.0 * np.floor((radius + spread) / sides) + 1.0) <= LATTICE:
        return None
    axes = [
        s * np.arange(-c, c + 1) for s, c in zip(sides, (radius + spread) // sides, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(sides))
    near = np.linalg.norm(np.maximum(np.abs(points) - spread, 0.0), axis=1)
    order = np.argsort(near, kind="stable")
    order = order[near[order] <= radius]
    points, near = points[order], near[order]
    if reach is None:
        tails = np.append(np.cumsum(profile(near)[::-1])[::-1], 0.0)
        last = near[max(int(np.argmax(tails <= 0.5 * allowed)) - 1, 0)]
        # Points at one distance stay together, opposite ones above all.
        count = int(np.searchsorted(near, last * (1.0 + 1e-9), side="right"))
        points, rest = points[:count], rest + float(tails[count])
    return (points, rest) if len(points) <= MOST else None


def _radius(profile: Callable[[Array], Array], sides: Array, allowed: float) -> tuple[float, float]:
    """Return a radius beyond which terms sum to no more than is allowed, and to how much.

    Infinite if the profile is infinite or rises somewhere, as seen on a fine grid.
    """
    d, half = len(sides), 0.5 * float(np.linalg.norm(sides))
    r = half * np.r_[0.0, np.geomspace(1e-4, 1e5, 8001)]
    values = profile(r)
    if not np.isfinite(values).all() or (values < 0).any():
        return np.inf, np.inf
    if (np.diff(values) > 1e-12 * values[:-1]).any():
        return np.inf, np.inf
    # Each cell of the grid counts with its largest value; what follows falls like a power.
    cells = values[:-1] * np.diff((r + half) ** d) / d
    beyond = 0.0
    if values[-1] > 0:
        power = float(np.log(values[-2] / values[-1]) / np.log(r[-1] / r[-2]))
        if power <= d:
            return np.inf, np.inf
        beyond = float(values[-1] * (r[-1] + half) ** d / (power - d))
    surface = 2.0 * np.exp(0.5 * d * np.log(np.pi) - gammaln(0.5 * d))
    tails = surface / np.prod(sides) * (np.append(np.cumsum(cells[::-1])[::-1], 0.0) + beyond)
    small = tails <= allowed
    if not small.any():
        return np.inf, np.inf
    first = int(np.argmax(small))
    return float(r[first]) + 2.0 * half, float(tails[first])
