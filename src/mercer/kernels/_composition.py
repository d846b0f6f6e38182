"""Spectra of products of kernels: by features, in closed form, or by quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any, TypeAlias

import numpy as np

from mercer.kernels._transform import fourier_transform
from mercer.kernels.points import Array

Parts: TypeAlias = list[tuple[tuple[int, ...], Any]]
"""Kernels, each with the features it acts on."""


def product_spectrum(kernel: Any, omega: Array, dim: int) -> Array:
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
    constant, parts = kernel._parts(dim)
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


def _separated(dims: tuple[int, ...], kernel: Any) -> Parts:
    """Return a kernel feature by feature if it is a product over them, or as it is."""
    pieces = kernel._separate(len(dims))
    return (
        [(dims, kernel)]
        if pieces is None
        else [((j,), k) for j, k in zip(dims, pieces, strict=True)]
    )


def _merged(parts: Parts) -> dict[tuple[int, ...], list[Any]]:
    """Return the kernels of every set of features, multiplied where that is a known kernel."""
    groups: dict[tuple[int, ...], list[Any]] = {}
    for dims, kernel in parts:
        factors = groups.setdefault(dims, [])
        for i, factor in enumerate(factors):
            product = factor._times(kernel)
            if product is not None:
                factors[i] = product
                break
        else:
            factors.append(kernel)
    return groups


def _is_partition(groups: dict[tuple[int, ...], list[Any]]) -> bool:
    features = [j for dims in groups for j in dims]
    return len(features) == len(set(features))


def _is_known(dims: tuple[int, ...], factors: Sequence[Any]) -> bool:
    return len(factors) == 1 or len(dims) == 1 or all(factor.radial for factor in factors)


def _one_group(factors: Sequence[Any], omega: Array, dim: int) -> Array:
    if len(factors) == 1:
        return np.asarray(factors[0].spectrum(omega, dim))
    return fourier_transform(reduce(mul, factors), omega, dim).values
