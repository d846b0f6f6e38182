"""Kernels, Gram operators and null spaces that the suites run over, for points with 3 features.

Every module in `kernel_families` adds its list `KERNELS`, for three features that are normally
distributed.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

from mercer.gram import Dense, Gram, Tiled
from mercer.gram.held import LazyGram
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.gram.precomputed import Precomputed
from mercer.gram.sparse import Sparse
from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from mercer.regularizers import Breaks, Columns, Constant, Empty, Functions, NullSpace
from mercer.regularizers import Polynomial as Polynomials
from mercer.regularizers.null_space import Monomials

FEATURES = 3
SCALES = [0.7, 1.5, 2.0]

STATIONARY: list[Kernel] = [
    Gaussian(1.3),
    Gaussian(SCALES),
    Laplacian(2.0),
    Laplacian(SCALES),
    Matern(1.2, nu=0.3),
    Matern(1.2, nu=0.5),
    Matern(1.2, nu=1.0),
    Matern(1.2, nu=1.5),
    Matern(SCALES, nu=2.5),
    Matern(1.2, nu=3.7),
    Matern(1.2, nu=41.0),
    Matern(SCALES, nu=np.inf),
    RationalQuadratic(1.4, alpha=0.6),
    RationalQuadratic(SCALES, alpha=3.0),
]
DOT_PRODUCT: list[Kernel] = [
    Linear(),
    Polynomial(),
    Polynomial(degree=2, gamma=0.5, coef0=1.0),
    Polynomial(degree=5, gamma=0.2, coef0=0.3),
    Sigmoid(gamma=0.2, coef0=-0.1),
]
COMPOSITE: list[Kernel] = [
    Gaussian(1.3) + Linear(),
    Gaussian(SCALES) * Polynomial(degree=2, coef0=1.0),
    2.5 * Matern(1.2),
    (Linear() + 0.5 * Gaussian(2.0)) ** 3,
    Gaussian([0.7, 2.0]).on([0, 2]) + Linear().on(slice(1, 3)) * Laplacian(1.5).on([1]),
    Laplacian(SCALES, categories=(1,)),
]
FAMILIES: list[Kernel] = [
    kernel
    for path in sorted((Path(__file__).parent / "kernel_families").glob("*.py"))
    for kernel in import_module(f"kernel_families.{path.stem}").KERNELS
]
KERNELS = STATIONARY + DOT_PRODUCT + COMPOSITE + FAMILIES


def dense(kernel: Kernel, X: np.ndarray) -> Gram:
    return Dense.from_kernel(kernel, X)


def tiled(kernel: Kernel, X: np.ndarray) -> Gram:
    """Tiles of a few points, so that even a small sample has several."""
    return Tiled(kernel, X, max_bytes=6000)


def tiled_prepared(kernel: Kernel, X: np.ndarray) -> Gram:
    return Tiled(kernel, X)


def precomputed(kernel: Kernel, X: np.ndarray) -> Gram:
    return Precomputed(kernel(X))


def low_rank(kernel: Kernel, X: np.ndarray) -> Gram:
    """All eigenvectors, and half of the smallest eigenvalue on the diagonal."""
    values, vectors = np.linalg.eigh(kernel(X).astype(np.float64))
    diagonal = np.full(len(values), 0.5 * max(values.min(), 0.0))
    G = vectors * np.sqrt(np.maximum(values - diagonal, 0.0))
    return LowRank(G.astype(X.dtype), diagonal)


def held(kernel: Kernel, X: np.ndarray) -> Gram:
    """A matrix that someone has asked for."""
    gram = LazyGram(kernel, X)
    gram.dense()
    return gram


def not_yet_held(kernel: Kernel, X: np.ndarray) -> Gram:
    return LazyGram(kernel, X)


def indexed(kernel: Kernel, X: np.ndarray) -> Gram:
    """A view that sorts the points of a larger matrix back, of which some occur elsewhere."""
    order = np.random.default_rng(3).permutation(2 * len(X))
    larger = np.empty((2 * len(X), X.shape[1]), dtype=X.dtype)
    larger[order] = np.concatenate([X, X[::-1] + 1.0])
    return Indexed(Dense.from_kernel(kernel, larger), order[: len(X)])


def sparse(kernel: Kernel, X: np.ndarray) -> Gram:
    """All entries, held as if they were few."""
    return Sparse(kernel(X))


GRAMS: list[Callable[[Kernel, np.ndarray], Gram]] = [
    dense,
    tiled,
    tiled_prepared,
    precomputed,
    low_rank,
    held,
    not_yet_held,
    indexed,
    sparse,
]


def sine(X):
    return np.sin(X[:, 0])


NULL_SPACES: list[NullSpace] = [
    Empty(),
    Constant(),
    Polynomials(1),
    Polynomials(2),
    Functions([sine]),
    Constant() + Functions([sine]),
    Monomials([(0,), (1, 2)]),
    Columns([2, 0]) + Breaks([0.1, 0.7], column=1) + Breaks([0.3], order=1),
    Functions([np.tanh, sine], on=[1]),
]
