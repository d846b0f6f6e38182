"""Basis functions under the penalty of another kernel."""

import numpy as np
import pytest
from scipy.integrate import quad

from mercer.kernels import Gaussian, Laplacian, Matern, ThinPlate
from mercer_research.estimators import BasisNotInRKHS
from mercer_research.estimators.basis import penalized


def by_quadrature(basis, operator, t):
    def integrand(w):
        F, P = (float(kernel.spectrum(np.array([w]))[0]) for kernel in (basis, operator))
        return F**2 / P * np.cos(w * t) if F**2 > 0 else 0.0

    value = 2 * quad(integrand, 0, 40.0, epsabs=1e-13, epsrel=1e-13, limit=500)[0]
    return value / np.sqrt(2 * np.pi)


def test_the_number_of_the_specification():
    D = penalized(Gaussian(0.8), Gaussian(1.0))
    # s = 0.8, sigma = 1, t = 0.6
    assert D([[0.0]], [[0.6]])[0, 0] == pytest.approx(0.635933419413, abs=1e-12)


@pytest.mark.parametrize("t", [0.0, 0.6, 2.0])
@pytest.mark.parametrize(
    ("basis", "operator"),
    [
        (Gaussian(0.8), Gaussian(1.0)),
        (Gaussian(0.5), Matern(1.0, nu=1.5)),
        (Gaussian(0.5), 2.0 * Matern(1.0, nu=0.5)),
        (3.0 * Gaussian(0.7), ThinPlate(2)),
        (Gaussian(0.7), ThinPlate(1)),
    ],
    ids=repr,
)
def test_against_quadrature(basis, operator, t):
    D = penalized(basis, operator)
    scale = D.diag(np.zeros((1, 1)))[0]
    found = D([[0.0]], [[t]])[0, 0]
    assert found == pytest.approx(by_quadrature(basis, operator, t), rel=0, abs=1e-9 * scale)


def test_bending_energy_of_gaussians():
    """The integral of the product of second derivatives, in space rather than in frequency."""
    s, t = 0.7, 0.9

    def second(x):
        return (x**2 / s**4 - 1 / s**2) * np.exp(-(x**2) / (2 * s**2))

    energy = quad(lambda x: second(x) * second(x - t), -12, 12, epsabs=1e-13)[0]
    assert penalized(Gaussian(s), ThinPlate(2))([[0.0]], [[t]])[0, 0] == pytest.approx(
        energy, abs=1e-9
    )


def test_smoother_functions_of_the_same_family():
    """exp(-|t|) under the penalty of |f|^2 + |f'|^2, whose kernel it is up to a factor 2."""
    D = penalized(Matern(1.0, nu=0.5), 0.5 * Laplacian(1.0))
    np.testing.assert_allclose(D([[0.0]], [[0.0], [0.8]]), 2 * np.exp([[0.0, -0.8]]), atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_gaussians_in_several_dimensions(d):
    """The closed form is a product over features, also of widths of their own."""
    x = np.random.default_rng(0).normal(size=(5, d))
    s, sigma = np.linspace(0.8, 1.2, d), np.linspace(1.0, 1.3, d)
    product = np.prod(
        [
            penalized(Gaussian(float(a)), Gaussian(float(b)))(x[:, [j]])
            for j, (a, b) in enumerate(zip(s, sigma, strict=True))
        ],
        axis=0,
    )
    np.testing.assert_allclose(penalized(Gaussian(s), Gaussian(sigma), d)(x), product, rtol=1e-12)


def test_the_own_penalty_is_the_kernel():
    for kernel in (Gaussian(1.0), Matern(0.7), ThinPlate(2)):
        assert penalized(kernel, kernel) is kernel
    near = penalized(Gaussian(1.0 + 1e-9), Gaussian(1.0))
    x = np.linspace(0, 2, 5)[:, None]
    np.testing.assert_allclose(near(x), Gaussian(1.0)(x), atol=1e-8)


@pytest.mark.parametrize(
    ("basis", "operator"),
    [
        (Gaussian(1 / np.sqrt(2)), Gaussian(1.0)),
        (Gaussian(0.5), Gaussian(1.0)),
        (Matern(1.0, nu=0.5), Gaussian(1.0)),
        (Matern(1.0, nu=0.5), Matern(1.0, nu=1.5)),
    ],
    ids=repr,
)
def test_rough_functions_are_refused(basis, operator):
    with pytest.raises(BasisNotInRKHS, match="too rough for the penalty"):
        penalized(basis, operator)
    assert issubclass(BasisNotInRKHS, ValueError)
