"""Kernels by name, with their parameters resolved from the data as scikit-learn does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.distance import pdist

from mercer._typing import AnyArray
from mercer._words import did_you_mean
from mercer.kernels import callable as _callable
from mercer.kernels.anova import ANOVA, Additive
from mercer.kernels.base import Kernel
from mercer.kernels.compact import BSpline, Wendland
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import Cauchy, DampedOscillator, InverseMultiquadric, Multiquadric
from mercer.kernels.periodic import Periodic, PeriodicGaussian
from mercer.kernels.points import (
    BLOCK_BYTES,
    Data,
    as_points,
    is_sparse,
    row_slices,
)
from mercer.kernels.polyharmonic import Polyharmonic, ThinPlate
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.rational_quadratic import RationalQuadratic


def _width(gamma: float, square: float = 1.0) -> float | Sequence[float] | AnyArray:
    """Return the length scale of ``exp(-gamma r^2)``, times the root of a number."""
    return Gaussian.from_gamma(gamma / square).length_scale


NAMES: dict[str, Callable[[float, int, float], Kernel]] = {
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "rbf": lambda gamma, degree, coef0: Gaussian.from_gamma(gamma),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
    "laplacian": lambda gamma, degree, coef0: Laplacian(1.0 / gamma if gamma else np.inf),
    "matern": lambda gamma, degree, coef0: Matern(_width(gamma)),
    "rational_quadratic": lambda gamma, degree, coef0: RationalQuadratic(_width(gamma)),
    "powered_exponential": lambda gamma, degree, coef0: PoweredExponential(_width(gamma)),
    "cauchy": lambda gamma, degree, coef0: Cauchy(_width(gamma)),
    "damped_oscillator": lambda gamma, degree, coef0: DampedOscillator(_width(gamma)),
    "inverse_multiquadric": lambda gamma, degree, coef0: InverseMultiquadric(_width(gamma)),
    "multiquadric": lambda gamma, degree, coef0: Multiquadric(_width(gamma)),
    # Compact kernels reach as far as makes them the Gaussian to second order: the cubic spline at
    # frequency zero, where its variance is (3 + 1)/12, Wendland's, 1 - 10 r^2 + ..., at r = 0.
    "bspline": lambda gamma, degree, coef0: BSpline(_width(gamma, 3.0)),
    "wendland": lambda gamma, degree, coef0: Wendland(_width(gamma, 20.0)),
    "additive": lambda gamma, degree, coef0: Additive(Gaussian.from_gamma(gamma)),
    "anova": lambda gamma, degree, coef0: ANOVA(Gaussian.from_gamma(gamma)),
}
"""Kernels with a width, as functions of gamma, degree and coef0."""

ALIASES = {
    "gaussian": "rbf",
    "RBF": "rbf",
    "squared_exponential": "rbf",
    "polynomial": "poly",
    "laplace": "laplacian",
    "exponential": "laplacian",
}
"""Other names that people know kernels by."""

NAMES |= {alias: NAMES[name] for alias, name in ALIASES.items()}

FREE: dict[str, Callable[[], Kernel]] = {
    "linear": Linear,
    "precomputed": Precomputed,
    "thin_plate": ThinPlate,
    "polyharmonic": Polyharmonic,
    "periodic": Periodic,
    "periodic_gaussian": PeriodicGaussian,
}
"""Kernels without parameters that the data could set."""


def resolve(
    kernel: Kernel | str | Callable[[Data, Data], Data],
    X: Data,
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 0.0,
) -> Kernel:
    r"""Return the kernel meant by a name, a function or a kernel.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel is returned as it is, a function of two sets of points is wrapped, a class of
        kernels has its default parameters. Names are ``linear``, ``poly``, ``rbf`` (also
        ``gaussian``), ``sigmoid``, ``laplacian``, ``matern`` (:math:`\nu = 3/2`),
        ``rational_quadratic`` (:math:`\alpha = 1`), ``powered_exponential``, ``cauchy``,
        ``damped_oscillator``, ``inverse_multiquadric``, ``multiquadric``, ``thin_plate``,
        ``polyharmonic``, ``bspline``, ``wendland``, ``periodic`` (of period 1),
        ``periodic_gaussian`` (of period :math:`2\pi`), ``additive`` and ``anova`` (of Gaussians),
        and ``precomputed``.
    X : (n, p) points
        The training points.
    gamma : {"scale", "auto", "median"} or float, default="scale"
        :math:`1/(p \operatorname{var} X)`, :math:`1/p`, that whose width is the median distance of
        two points, or the number itself: the factor of the
        inner product, of the squared distance (all widths are those of the Gaussian with the same
        gamma; compact kernels reach as far as makes them nearly that Gaussian) or of the absolute
        distance (``laplacian``).
    degree : int, default=3
        Of ``poly``.
    coef0 : float, default=0.0
        Of ``poly`` and ``sigmoid``.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> resolve("rbf", np.eye(2), gamma=2.0)
    Gaussian(length_scale=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        return kernel()
    if isinstance(kernel, str):
        if kernel in FREE:
            return FREE[kernel]()
        if kernel in NAMES:
            if isinstance(gamma, str) and gamma == "median":
                gamma = gamma_of_width(kernel, median_distance(X))
            return NAMES[kernel](resolve_gamma(gamma, X), degree, coef0)
    elif callable(kernel):
        return _callable.Callable(kernel)
    names = sorted(FREE | NAMES)
    raise ValueError(
        f"kernel must be a Kernel, a function of two sets of points, or one of {', '.join(names)}; "
        f"got {kernel!r}.{did_you_mean(kernel, names)}"
    )


def resolve_gamma(gamma: float | str, X: Data) -> float:
    r"""Return the number meant by `gamma`: a name or a number at least 0.

    ``"scale"`` is :math:`1/(p \operatorname{var} X)`, ``"auto"`` is :math:`1/p`, and ``"median"``
    is :math:`1/(2 m^2)` with the median distance m of two points.

    Examples
    --------
    >>> X = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> resolve_gamma("scale", X), resolve_gamma("auto", X), resolve_gamma(3, X)
    (0.5, 0.5, 3.0)
    """
    if isinstance(gamma, str):
        if gamma == "scale":
            X = as_points(X)
            variance = _variance(X)
            return 1.0 / (X.shape[1] * variance) if variance != 0.0 else 1.0
        if gamma == "auto":
            return 1.0 / int(X.shape[1])
        if gamma == "median":
            return gamma_of_width("rbf", median_distance(X))
    elif np.ndim(gamma) == 0 and 0.0 <= gamma < np.inf:
        return float(gamma)
    raise ValueError(
        f"gamma must be 'scale', 'auto', 'median' or a number, at least 0, got {gamma!r}."
    )


def gamma_of_width(name: str, width: float) -> float:
    """Return the gamma with which a kernel of this name has a width.

    Examples
    --------
    >>> gamma_of_width("rbf", 2.0), gamma_of_width("laplacian", 2.0)
    (0.125, 0.5)
    """
    return 1.0 / width if ALIASES.get(name, name) == "laplacian" else 0.5 / width**2


def median_distance(X: Data, max_rows: int = 500) -> float:
    """Return the median distance of two different points; 1 if all points are the same.

    Of a larger sample so many rows are used, always the same.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    X = as_points(X)
    n = X.shape[0]
    rows = np.sort(np.random.default_rng(0).permutation(n)[:max_rows])
    distances = pdist(np.asarray(X[rows].toarray() if is_sparse(X) else X[rows], dtype=float))
    distances = distances[distances > 0.0]
    return float(np.median(distances)) if len(distances) else 1.0


# Of the mean square: a variance that is a smaller part loses digits as a difference of means.
MIN_VARIANCE_PART = 1e-6


def _variance(X: Data) -> float:
    """Variance of all entries together, reading large data a few rows at a time."""
    if is_sparse(X):
        mean, square = float(X.mean()), float(X.multiply(X).mean())
        if square - mean**2 > MIN_VARIANCE_PART * square:
            return square - mean**2  # as scikit-learn has it
        entries, rest = int(np.prod(X.shape)), X.data.astype(np.float64) - mean
        # Where nothing is stored the entry is zero.
        return float(rest @ rest + (entries - len(rest)) * mean**2) / entries
    if X.nbytes <= BLOCK_BYTES:
        # In the steps of NumPy's var, which asks about axes, types and masks first.
        rest = X - np.add.reduce(X, axis=None) / X.size
        np.multiply(rest, rest, out=rest)
        return float(np.add.reduce(rest, axis=None) / X.size)
    slices = list(row_slices(X.shape[0], X.shape[1] * X.itemsize, BLOCK_BYTES))
    mean = sum(float(X[rows].sum(dtype=np.float64)) for rows in slices) / X.size
    squares = sum(float(((X[rows] - mean) ** 2).sum(dtype=np.float64)) for rows in slices)
    return squares / int(X.size)
