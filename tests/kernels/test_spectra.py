"""Spectra of all kernels against quadrature, their laws, and the numbers of the specification."""

import numpy as np
import pytest
from scipy import special

from cases_kernels import FEATURES, STATIONARY
from kernel_families import compact, multiquadric, polyharmonic
from mercer.kernels import (
    Cauchy,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Matern,
    PoweredExponential,
    RadialBSpline,
    RationalQuadratic,
    Wendland,
    fourier_transform,
)

EPS = np.finfo(np.float64).eps
OMEGA = np.array([0.3, 1.0, 2.5])

RADIAL: list[Kernel] = [
    Gaussian(0.8),
    Matern(0.8, nu=0.5),
    Matern(0.9, nu=1.5),
    Matern(1.1, nu=0.8),
    RationalQuadratic(0.9, alpha=4.5),
    RadialBSpline(1.1, dim=1),
    RadialBSpline(0.8, dim=2),
    RadialBSpline(0.9, dim=3),
    RadialBSpline(0.7, dim=5),
    Wendland(2.0, smoothness=0),
    Wendland(2.0, smoothness=1),
    Wendland(2.5, smoothness=2, dim=2),
    Wendland(2.5, smoothness=3, dim=5),
    InverseMultiquadric(0.9, exponent=2.5),
    Cauchy(1.2),
    PoweredExponential(0.9, exponent=1.5),
    PoweredExponential(0.9, exponent=0.6),
    PoweredExponential(0.9, exponent=2.0),
    Gaussian(0.7) * Matern(1.3, nu=0.5),
    InverseMultiquadric(0.9, exponent=1.5) ** 2,
    2.0 * Wendland(2.0) + Gaussian(0.5) ** 3,
]
IN_DIMENSION = [
    (kernel, dim) for kernel in RADIAL for dim in (1, 2, 3) if dim <= getattr(kernel, "dim", 3)
]
every_radial = pytest.mark.parametrize(("kernel", "dim"), IN_DIMENSION, ids=repr)


def profile(kernel, r, dim):
    """The kernel as a function of distances."""
    points = np.zeros((np.size(r), dim))
    points[:, 0] = np.ravel(r)
    return kernel(points, np.zeros((1, dim)))[:, 0].reshape(np.shape(r))


def between_zeros(kernel, omega, dim):
    """The transform of eq. (3.47): Gauss between zeros of the Bessel function, Euler for the rest.

    Other pieces end where compact kernels do and, for what happens at zero, at powers of ten.
    """
    nu = dim / 2 - 1
    zeros = np.pi / omega * (np.arange(1, 200) + nu / 2 - 0.25)
    ends = np.concatenate([np.geomspace(1e-9, 1.0, 10), [1.4, 1.6, 1.8, 2.0, 2.2, 2.5]])
    edges = np.unique(np.concatenate([[0.0], ends, zeros]))

    def partial_sums(nodes):
        x, w = np.polynomial.legendre.leggauss(nodes)
        half = 0.5 * np.diff(edges)[:, None]
        r = edges[:-1, None] + half * (x + 1.0)
        values = omega**-nu * r ** (nu + 1) * profile(kernel, r, dim) * special.jv(nu, omega * r)
        sums = (half * w * values).sum(axis=1).cumsum()[-24:]
        while len(sums) > 1:
            sums = 0.5 * (sums[1:] + sums[:-1])
        return float(sums[0])

    value, other = partial_sums(40), partial_sums(32)
    assert value == pytest.approx(other, abs=1e-10)
    return value


@every_radial
def test_spectrum_is_the_fourier_transform(kernel, dim):
    found = kernel.spectrum(OMEGA, dim)
    exact = [between_zeros(kernel, omega, dim) for omega in OMEGA]
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-10)


@every_radial
def test_closed_forms_are_within_the_errors_of_the_numerical_transform(kernel, dim):
    omega = np.array([0.0, 0.1, 0.7, 3.0, 12.0])
    exact = kernel.spectrum(omega, dim)
    found = fourier_transform(kernel, omega, dim)
    known = np.isfinite(found.values) & np.isfinite(exact)
    assert known[:3].all()
    error = np.abs(found.values - exact)[known]
    assert (error <= 4.0 * found.error[known] + 1e-13 * np.abs(exact[known])).all()


# Every kernel of the suites ----------------------------------------------------------------------

vectors = np.random.default_rng(0).normal(size=(6, FEATURES))
CASES = STATIONARY + compact.KERNELS + multiquadric.KERNELS + polyharmonic.KERNELS


@pytest.mark.parametrize("kernel", CASES, ids=repr)
def test_every_stationary_kernel_has_its_spectrum_in_three_dimensions(kernel):
    """By quadrature if radial; else by that of the same kernel with one unit of length."""
    found = kernel.spectrum(vectors, FEATURES)
    if kernel.order > 0:
        assert (found > 0.0).all()
        return
    if kernel.radial:
        numerical = fourier_transform(kernel, vectors, FEATURES)
        bound = 4.0 * numerical.error + 1e-13 * np.abs(found)
        known = np.isfinite(numerical.values)
        assert known.any()
        assert (np.abs(numerical.values - found) <= bound)[known].all()
        return
    scale = np.broadcast_to(kernel.length_scale, FEATURES)
    unit = type(kernel)(**(kernel.get_params() | {"length_scale": 1.0}))
    if unit.radial:
        exact = fourier_transform(unit, vectors * scale, FEATURES).values
    else:
        exact = [
            fourier_transform(unit, w * s).values for w, s in zip(vectors.T, scale, strict=True)
        ]
        exact = np.prod(exact, axis=0)
    np.testing.assert_allclose(found, exact * scale.prod(), rtol=1e-9, atol=1e-12)
