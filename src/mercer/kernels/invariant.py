"""Kernels that know a symmetry, other coordinates, the layout of an image, or places of jumps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import factorial, prod
from typing import TypeAlias

import numpy as np

from mercer._params import check_integer, is_integer
from mercer.kernels.algebra import Modified, power
from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.dot_product import Linear
from mercer.kernels.explicit import Explicit
from mercer.kernels.points import (
    Array,
    Data,
    as_pair,
    as_points,
    dense_double,
    is_sparse,
)

Map: TypeAlias = Callable[[Data], Data]


class Rearranged(Modified):
    """A kernel of images of points: only definiteness is kept of the one it is made of."""

    stationary = False
    radial = False
    period = None
    support = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.precomputed:
            raise ValueError(f"kernel must be a Kernel of points, got {self.kernel!r}.")
        if self.kernel.order:
            raise ValueError(
                f"{self.kernel!r} is only conditionally positive definite: its null space is not "
                "known in the new coordinates."
            )

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        return []


class Averaged(Rearranged):
    r"""A kernel averaged over a group, :math:`|G|^{-2} \sum_{g,h} \chi(g) \chi(h) k(gx, hz)`."""

    @abstractmethod
    def _images(self, X: Data) -> list[tuple[float, Data]]:
        """Return the images of points under all elements of the group, with their characters."""

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        right = [(sign, self.kernel.against(image)) for sign, image in self._images(Z)]

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, _ = as_pair(X, Z)
            total = np.zeros((X.shape[0], Z.shape[0]), dtype=np.result_type(X.dtype, Z.dtype))
            for left_sign, image in self._images(X):
                for right_sign, values in right:
                    total += left_sign * right_sign * values(image)
            total /= len(right) ** 2
            return put(total, out)

        return evaluate

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        left, right = self._images(X), self._images(Z)
        terms = [a * b * self.kernel.paired(x, z) for a, x in left for b, z in right]
        return np.asarray(sum(terms) / len(terms), dtype=X.dtype)

    def diag(self, X: Data) -> Array:
        return self.paired(X, X)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        left, right = self._images(X), self._images(Z)
        result: dict[str, Array] = {}
        for a, x in left:
            for b, z in right:
                for name, slope in self.kernel.gradient(x, z).items():
                    key, part = f"kernel__{name}", slope * (a * b / (len(left) * len(right)))
                    result[key] = result[key] + part if key in result else part
        return {name: value.astype(X.dtype, copy=False) for name, value in result.items()}


@dataclass(eq=False)
class Symmetrized(Averaged):
    r"""A kernel of functions that are even, or odd, around a centre.

    .. math:: k_2(x, z) = \tfrac14 \bigl(k(x, z) \pm k(x, z') \pm k(x', z) + k(x', z')\bigr),
              \qquad x' = 2c - x

    Every function of the machine then has :math:`f(x') = \pm f(x)`, at all points.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    parity : {"even", "odd"}, default="even"
    center : float or (p,) array, default=0
        The centre c.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.36)-(9.40), where
    :math:`k(x, z') = k(x', z)` is taken for granted.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> kernel = Symmetrized(Gaussian(), parity="odd")
    >>> kernel([[1.0]], [[2.0], [-2.0], [0.0]]).round(4)
    array([[ 0.2977, -0.2977,  0.    ]])
    """

    kernel: Kernel
    parity: str = "even"
    center: float | Sequence[float] | Array = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parity not in ("even", "odd"):
            raise ValueError(f"parity must be 'even' or 'odd', got {self.parity!r}.")
        center = np.asarray(self.center, dtype=float)
        if center.ndim > 1 or not np.isfinite(center).all():
            raise ValueError(
                f"center must be a number or one number per feature, got {self.center!r}."
            )

    def _images(self, X: Data) -> list[tuple[float, Data]]:
        center = np.asarray(self.center, dtype=float)
        if center.ndim and center.size != X.shape[1]:
            raise ValueError(
                f"center has {center.size} entries but the points have {X.shape[1]} features."
            )
        if not center.any():
            mirrored = -X
        else:
            mirrored = (2.0 * center - dense_double(X)).astype(X.dtype)
        return [(1.0, X), (1.0 if self.parity == "even" else -1.0, mirrored)]


@dataclass(eq=False)
class Invariant(Averaged):
    r"""A kernel of functions that do not change under a finite group, or change by a sign.

    .. math:: k_G(x, z) = \frac{1}{|G|^2} \sum_{g, h \in G} \chi(g) \chi(h) \, k(gx, hz)

    Every function of the machine then has :math:`f(gx) = \chi(g) f(x)`, at all points.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    group : sequence of (p, p) arrays or of functions
        All elements of the group, also the identity: matrices that act on points, or functions
        that map ``(n, p)`` points to their images. Of matrices it is checked that they are a group.
    characters : sequence of {1, -1}, optional
        The signs :math:`\chi(g)`, multiplicative; 1 for all without them.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 9.1.4, of which the
    average over a group is the general form.

    Examples
    --------
    Functions of two features that may be exchanged:

    >>> from mercer.kernels import Gaussian
    >>> exchange = np.array([[0, 1], [1, 0]])
    >>> kernel = Invariant(Gaussian([1.0, 3.0]), [np.eye(2), exchange])
    >>> kernel([[1.0, 2.0], [2.0, 1.0]], [[0.5, 0.0]]).round(4)
    array([[0.4206],
           [0.4206]])
    """

    kernel: Kernel
    group: Sequence[Map | Array]
    characters: Sequence[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.group):
            raise ValueError("group must have at least one element, the identity.")
        signs = self._signs
        if len(signs) != len(self.group) or not np.isin(signs, (-1.0, 1.0)).all():
            raise ValueError("characters must be 1 or -1, one for each element of the group.")
        if not any(callable(g) for g in self.group):
            _check_group(np.array([np.asarray(g, dtype=float) for g in self.group]), signs)

    @property
    def _signs(self) -> Array:
        given = np.ones(len(self.group)) if self.characters is None else self.characters
        return np.asarray(given, dtype=float)

    def _images(self, X: Data) -> list[tuple[float, Data]]:
        return [(float(s), _act(g, X)) for s, g in zip(self._signs, self.group, strict=True)]


def _act(element: object, X: Data) -> Data:
    if callable(element):
        return as_points(element(X)).astype(X.dtype, copy=False)
    return np.asarray(X @ np.asarray(element).T.astype(X.dtype))


def _check_group(elements: Array, signs: Array) -> None:
    """Refuse matrices with a product that is not among them, or has another sign."""
    if elements.ndim != 3 or elements.shape[1] != elements.shape[2]:
        raise ValueError("The elements of a group must be square matrices of one size.")
    scale = float(np.abs(elements).max())
    for g, sign in zip(elements, signs, strict=True):
        distances = np.abs((g @ elements)[:, None] - elements).max(axis=(2, 3))
        found = distances.argmin(axis=1)
        if distances.min(axis=1).max() > 1e-8 * max(scale, scale**2):
            raise ValueError(
                "The matrices are not a group: a product of two matrices is missing; add "
                "products until no product is missing."
            )
        if (signs[found] != sign * signs).any():
            raise ValueError(
                "characters must be multiplicative: the sign of a product is the product of signs."
            )


@dataclass(eq=False)
class Transformed(Rearranged):
    r"""A kernel in other coordinates, :math:`k(\varphi(x), \varphi(z))`.

    A kernel of the difference, in coordinates in which a group acts as a translation, does not
    change when the group acts on both points: `log_polar` makes turns and changes of scale of the
    plane translations.

    Parameters
    ----------
    kernel : Kernel
        Of the new coordinates.
    map : callable
        Maps ``(n, p)`` points to their ``(n, q)`` coordinates; a function that can be imported, if
        the kernel is to be pickled.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.4, on canonical coordinates.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Periodic
    >>> scale, angle = Gaussian(0.5).on([0]), Periodic(1.0, period=2 * np.pi).on([1])
    >>> kernel = Transformed(scale * angle, log_polar)
    >>> X, turn = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> np.allclose(kernel(X), kernel(7.0 * X @ turn))
    True
    """

    kernel: Kernel
    map: Map
    numeric = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.map):
            raise ValueError(f"map must be a function of points, got {self.map!r}.")

    def against(self, Z: Data) -> Evaluator:
        kernel = self.kernel.against(self.map(Z))
        return lambda X, out=None: put(kernel(self.map(X)), out)

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(self.map(X))

    def paired(self, X: Data, Z: Data) -> Array:
        return self.kernel.paired(self.map(X), self.map(Z))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        slopes = self.kernel.gradient(self.map(X), None if Z is None else self.map(Z))
        return {f"kernel__{name}": slope for name, slope in slopes.items()}


def log_polar(X: Data) -> Array:
    r"""Return :math:`(\ln r, \phi)` for points of the plane, without the origin.

    Examples
    --------
    >>> log_polar([[0.0, np.e]]).round(4)
    array([[1.    , 1.5708]])
    """
    X = as_points(X)
    if X.shape[1] != 2:
        raise ValueError(f"log_polar takes points of the plane, got {X.shape[1]} features.")
    x, y = (X.toarray() if is_sparse(X) else X).T
    radius = np.hypot(x, y)
    if not radius.all():
        raise ValueError("The origin has no logarithmic radius and no angle: leave it out.")
    return np.column_stack([np.log(radius), np.arctan2(y, x)])


@dataclass(eq=False)
class LocalityImproved(Rearranged):
    r"""A kernel of images or signals that compares them window by window.

    .. math:: k(x, z) = \Bigl(\frac{1}{W} \sum_w k_1(x_w, z_w)^{d_1}\Bigr)^{d_2}

    Inside a window up to :math:`d_1` features are multiplied, far apart only up to
    :math:`d_2` windows: neighbouring pixels are taken to belong together.

    Parameters
    ----------
    shape : tuple of int
        The layout of the features in C order: ``(height, width)``, or ``(length,)``.
    window : int, default=3
        The odd side of the windows, one around every pixel; those at the border are cut off.
    inner : int, default=2
        The power :math:`d_1`.
    outer : int, default=1
        The power :math:`d_2`.
    taper : bool, default=False
        Weight the pixels of a window, by one divided by one plus their largest distance from
        its centre along an axis.
    kernel : Kernel, default=Linear()
        The kernel :math:`k_1` of windows.

    References
    ----------
    B. Schoelkopf, P. Simard, A. Smola and V. Vapnik, *Prior knowledge in support vector kernels*,
    1998.

    Examples
    --------
    >>> kernel = LocalityImproved(shape=(3,), inner=2)
    >>> kernel([[1.0, 1.0, 0.0]], [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    array([[3.        , 0.66666667]])
    """

    shape: tuple[int, ...]
    window: int = 3
    inner: int = 2
    outer: int = 1
    taper: bool = False
    kernel: Kernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shape or not all(is_integer(side) and side > 0 for side in self.shape):
            raise ValueError(f"shape must be a tuple of positive integers, got {self.shape!r}.")
        if not is_integer(self.window) or self.window < 1 or self.window % 2 == 0:
            raise ValueError(f"window must be an odd positive integer, got {self.window!r}.")
        for name in ("inner", "outer"):
            check_integer(name, getattr(self, name), 1)

    def _windows(self, p: int) -> list[tuple[Array, Array]]:
        """Return the features of every window and the square roots of their weights."""
        if prod(self.shape) != p:
            raise ValueError(
                f"shape {self.shape} has {prod(self.shape)} entries but the points have {p} "
                "features."
            )
        places = np.moveaxis(np.indices(self.shape), 0, -1).reshape(p, -1)
        windows = []
        for center in places:
            distance = np.abs(places - center).max(axis=1)
            (inside,) = np.nonzero(distance <= self.window // 2)
            weights = 1.0 / (1.0 + distance[inside]) if self.taper else np.ones(len(inside))
            windows.append((inside, np.sqrt(weights)))
        return windows

    def _cut(self, X: Data) -> Iterator[Data]:
        """Yield the windows of all points, one after the other."""
        for inside, weights in self._windows(X.shape[1]):
            part = X[:, inside]
            if self.taper:
                part = part.multiply(weights).tocsr() if is_sparse(part) else part * weights
            yield part.astype(X.dtype, copy=False)

    def _mean(self, values: Iterator[Array], p: int) -> Array:
        def powers() -> Iterator[Array]:
            for value in values:
                power(np.atleast_2d(value), int(self.inner))
                yield value

        return np.asarray(reduce(np.add, powers()) / p)

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        each = [self.kernel.against(part) for part in self._cut(Z)]

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, _ = as_pair(X, Z)
            parts = zip(each, self._cut(X), strict=True)
            mean = self._mean((values(part) for values, part in parts), len(each))
            power(mean, int(self.outer))
            return put(mean, out)

        return evaluate

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        mean = self._mean((self.kernel.diag(part) for part in self._cut(X)), X.shape[1])
        return np.asarray(mean ** int(self.outer))

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        parts = zip(self._cut(X), self._cut(Z), strict=True)
        mean = self._mean((self.kernel.paired(x, z) for x, z in parts), X.shape[1])
        return np.asarray(mean ** int(self.outer))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        p, inner, outer = X.shape[1], int(self.inner), int(self.outer)
        mean, slopes = 0.0, dict[str, Array]()
        for x, z in zip(self._cut(X), self._cut(Z), strict=True):
            K = self.kernel(x, z)
            mean = mean + K**inner / p
            weight = inner * K ** (inner - 1) / p
            for name, slope in self.kernel.gradient(x, z).items():
                part = slope * (weight if slope.ndim == 2 else weight[:, :, None])
                slopes[name] = slopes[name] + part if name in slopes else part
        factor = np.asarray(outer * mean ** (outer - 1))
        return {
            f"kernel__{name}": value * (factor if value.ndim == 2 else factor[:, :, None])
            for name, value in slopes.items()
        }


@dataclass(eq=False)
class Breaks(Explicit):
    r"""Jumps, kinks and breaks of higher derivatives of one feature at given places.

    .. math:: k(x, z) = \sum_q \sum_{i=0}^{d} \zeta_i(x - \tau_q) \, \zeta_i(z - \tau_q),
              \qquad \zeta_i(u) = \operatorname{sign}(u) \, u^i / i!

    Added to a smooth kernel it lets the function break at the places :math:`\tau_q`, at a cost: a
    jump of height h costs :math:`h^2/4`. The null space of the same name leaves breaks free.

    Parameters
    ----------
    knots : sequence of float
        The places :math:`\tau_q`.
    degree : int, default=0
        The highest derivative d that may break: 0 for jumps, 1 also for kinks.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.45)-(9.49), where the
    inner sum has to begin at 0.

    Examples
    --------
    >>> Breaks([0.5])([[0.2]], [[0.4], [0.6]])
    array([[ 1., -1.]])
    """

    knots: Sequence[float] | Array
    degree: int = 0

    def __post_init__(self) -> None:
        knots = np.asarray(self.knots, dtype=float)
        if knots.ndim != 1 or not knots.size or not np.isfinite(knots).all():
            raise ValueError(f"knots must be a list of finite numbers, got {self.knots!r}.")
        check_integer("degree", self.degree, 0)

    def features(self, X: Data) -> Array:
        points = dense_double(X)
        if points.shape[1] != 1:
            raise ValueError(
                f"Breaks is a kernel of one feature but the points have {points.shape[1]}: select "
                "one with .on([j])."
            )
        u = points - np.asarray(self.knots, dtype=float)
        sign = np.where(u > 0, 1.0, -1.0)
        return np.hstack([sign * u**i / factorial(i) for i in range(int(self.degree) + 1)])
