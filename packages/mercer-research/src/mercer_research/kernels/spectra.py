r"""Spectra that are no formula: of products of kernels, and of kernels by quadrature.

Importing this module makes them known to :meth:`mercer.kernels.Kernel.spectrum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce, singledispatch
from operator import mul
from typing import TypeAlias

import numpy as np

from mercer._params import same
from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel, numerical_spectrum
from mercer.kernels.compact import BSpline, Wendland
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.multiquadric import InverseMultiquadric, PowerLaw
from mercer.kernels.points import Array, squared_norms
from mercer_research.kernels._fourier import (
    fourier_transform,
    polynomial_transform,
    radial_transform,
)

Parts: TypeAlias = list[tuple[tuple[int, ...], Kernel]]
"""Kernels, each with the features it acts on."""


@numerical_spectrum.register
def _(kernel: PoweredExponential, omega: Array, dim: int) -> Array:
    e = float(kernel.exponent)
    return radial_transform(lambda r: np.exp(-(r**e)), np.sqrt(squared_norms(omega)), dim).values


@numerical_spectrum.register
def _(kernel: Wendland, omega: Array, dim: int) -> Array:
    power, coef = kernel.factors
    # Integers below 2^53, so that nothing is rounded.
    at_zero: Array = coef
    at_one: Array = np.zeros(1)
    for _ in range(power):
        at_zero = np.polynomial.polynomial.polymul(at_zero, [1.0, -1.0])
    for c in coef[::-1]:
        at_one = np.polynomial.polynomial.polymul(at_one, [1.0, -1.0])
        at_one[0] += c
    at_one = np.concatenate([np.zeros(power), at_one])
    return polynomial_transform(
        lambda r: (1.0 - r) ** power * np.polynomial.polynomial.polyval(r, coef / coef[0]),
        at_zero / coef[0],
        at_one / coef[0],
        np.sqrt(squared_norms(omega)),
        dim,
    ).values


@numerical_spectrum.register(Product)
@numerical_spectrum.register(Power)
@numerical_spectrum.register(ActiveDims)
def product_spectrum(kernel: Kernel, omega: Array, dim: int) -> Array:
    r"""Return the spectrum of a product of stationary kernels.

    Factors of different features have a product of spectra. Those of the same features have a
    convolution of spectra: a known kernel's if the product is one, as for two Gaussians, or the
    numerical transform of the product.

    Parameters
    ----------
    kernel : Kernel
        A product, a power or a restriction.
    omega : (m,) or (m, dim) array
    dim : int

    Returns
    -------
    (m,) array
    """
    omega = np.asarray(omega, dtype=float)
    if omega.ndim == 1 and dim > 1 and not kernel.radial:
        raise ValueError(f"This kernel is not radial: pass frequency vectors of shape (m, {dim}).")
    constant, parts = _parts(kernel, dim)
    missing = set(range(dim)) - {j for dims, _ in parts for j in dims}
    if missing:
        raise NotImplementedError(
            f"{kernel!r} does not depend on feature {min(missing)} of {dim}: its spectrum is zero "
            "or infinite everywhere. Ask for the spectrum of the kernel inside, or of a product "
            "over all features."
        )
    for candidate in (parts, [piece for part in parts for piece in _separated(*part)]):
        groups = _merged(candidate)
        if _is_partition(groups) and all(_is_known(*group) for group in groups.items()):
            values = np.full(len(omega), constant)
            for dims, factors in groups.items():
                at = omega if omega.ndim == 1 else omega[:, list(dims)]
                values = values * _one_group(factors, at, len(dims))
            return values
    raise NotImplementedError(
        f"The spectrum of {kernel!r} in dimension {dim} is a convolution over several features, "
        "which is computed only for radial factors and for products over features."
    )


def _separated(dims: tuple[int, ...], kernel: Kernel) -> Parts:
    """Return a kernel feature by feature if it is a product over them, or as it is."""
    pieces = one_a_feature(kernel, len(dims))
    return (
        [(dims, kernel)]
        if pieces is None
        else [((j,), k) for j, k in zip(dims, pieces, strict=True)]
    )


def _merged(parts: Parts) -> dict[tuple[int, ...], list[Kernel]]:
    """Return the kernels of every set of features, multiplied where that is a known kernel."""
    groups: dict[tuple[int, ...], list[Kernel]] = {}
    for dims, kernel in parts:
        factors = groups.setdefault(dims, [])
        for i, factor in enumerate(factors):
            product = known_product(factor, kernel)
            if product is not None:
                factors[i] = product
                break
        else:
            factors.append(kernel)
    return groups


def _is_partition(groups: dict[tuple[int, ...], list[Kernel]]) -> bool:
    features = [j for dims in groups for j in dims]
    return len(features) == len(set(features))


def _is_known(dims: tuple[int, ...], factors: Sequence[Kernel]) -> bool:
    return len(factors) == 1 or len(dims) == 1 or all(factor.radial for factor in factors)


def _one_group(factors: Sequence[Kernel], omega: Array, dim: int) -> Array:
    if len(factors) == 1:
        return np.asarray(factors[0].spectrum(omega, dim))
    return fourier_transform(reduce(mul, factors), omega, dim).values


@singledispatch
def _parts(kernel: Kernel, p: int) -> tuple[float, Parts]:
    """Return the kernel of `p` features as a number times factors with their features."""
    return 1.0, [(tuple(range(p)), kernel)]


@_parts.register
def _(kernel: Sum, p: int) -> tuple[float, Parts]:
    # Terms of the same features are a kernel of those.
    (a, left), (b, right) = _parts(kernel.left, p), _parts(kernel.right, p)
    if len(left) == len(right) == 1 and left[0][0] == right[0][0]:
        return 1.0, [(left[0][0], a * left[0][1] + b * right[0][1])]
    return 1.0, [(tuple(range(p)), kernel)]


@_parts.register
def _(kernel: Product, p: int) -> tuple[float, Parts]:
    (a, left), (b, right) = _parts(kernel.left, p), _parts(kernel.right, p)
    return a * b, left + right


@_parts.register
def _(kernel: Scaled, p: int) -> tuple[float, Parts]:
    constant, parts = _parts(kernel.kernel, p)
    return constant * float(kernel.factor), parts


@_parts.register
def _(kernel: Power, p: int) -> tuple[float, Parts]:
    constant, parts = _parts(kernel.kernel, p)
    return constant ** int(kernel.exponent), parts * int(kernel.exponent)


@_parts.register
def _(kernel: ActiveDims, p: int) -> tuple[float, Parts]:
    here = range(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
    constant, parts = _parts(kernel.kernel, len(here))
    return constant, [(tuple(here[j] % p for j in dims), k) for dims, k in parts]


def one_a_feature(kernel: Kernel, p: int) -> Sequence[Kernel] | None:
    """Return kernels, one for each of `p` features, whose product this is, if there are."""
    if not isinstance(kernel, Gaussian | BSpline | Laplacian):
        return None
    scales = [float(scale) for scale in np.broadcast_to(kernel.length_scale, p)]
    if isinstance(kernel, Laplacian):
        named = set(kernel.categories)
        return [Laplacian(s, (0,) if j in named else ()) for j, s in enumerate(scales)]
    return [replace(kernel, length_scale=scale) for scale in scales]


def known_product(one: Kernel, other: Kernel) -> Kernel | None:
    """Return the product of two kernels if it is one whose spectrum is known."""
    if isinstance(one, Gaussian) and isinstance(other, Gaussian):
        return Gaussian(np.hypot(1.0 / one._scale, 1.0 / other._scale) ** -1.0)
    if isinstance(one, Laplacian) and isinstance(other, Laplacian):
        if set(one.categories) != set(other.categories):
            return None
        return Laplacian(1.0 / (1.0 / one._scale + 1.0 / other._scale), one.categories)
    if isinstance(one, PowerLaw) and isinstance(other, PowerLaw):
        known = same(one.length_scale, other.length_scale)
        if known and one._power <= 0.0 and other._power <= 0.0:
            return InverseMultiquadric(one.length_scale, -one._power - other._power)
    return None
