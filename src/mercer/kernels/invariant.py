"""Kernels that know a symmetry, other coordinates, the layout of an image, or places of jumps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer.kernels.algebra import Modified
from mercer.kernels.base import Evaluator, Kernel, put
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
