"""Derivatives along a feature against differences, and the largest that a norm allows."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Matern, Polynomial, RationalQuadratic, derivatives
from mercer.kernels.taylor import differentiable, features_of, roughness, separate

KERNELS = [
    Gaussian([1.0, 2.0, 0.5]),
    Matern(1.3, nu=3.5),
    Matern(1.0, nu=np.inf),
    RationalQuadratic(0.7, alpha=1.5),
    Polynomial(3, 0.5, 1.0),
    Gaussian(1.0).on([0]) * Linear() + 2.0 * Matern(1.0, nu=4.2).on([1, 2]),
    (Gaussian(2.0) + Linear()) ** 2,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("j", [0, 2])
def test_derivatives_are_limits_of_differences(kernel, j):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    D = derivatives(kernel, X, Z, j, 2)
    h, e = 1e-4, np.eye(3)[j]
    ahead, here, behind = (kernel(X + t * h * e, Z) for t in (1, 0, -1))
    size = np.abs(here).max() + 1
    np.testing.assert_allclose(D[0], here, rtol=1e-12, atol=1e-13 * size)
    # Truncation h^2 times a third or fourth derivative, rounding eps / h or eps / h^2.
    np.testing.assert_allclose(D[1], (ahead - behind) / (2 * h), atol=1e-6 * size)
    np.testing.assert_allclose(D[2], (ahead - 2 * here + behind) / h**2, atol=1e-5 * size)


def test_roughness_of_known_kernels():
    # Moments of the spectrum: 1, 3 and 15 over powers of the width; 25 for Matern 5/2.
    expected = np.sqrt([1.0, 1 / 4, 3 / 16, 15 / 64])
    assert [roughness(Gaussian(2.0), 0, q, 1) for q in range(4)] == pytest.approx(expected)
    assert roughness(Matern(1.0, nu=2.5), 0, 2, 1) == pytest.approx(5.0)
    assert roughness(Matern(1.0, nu=2.5), 0, 3, 1) == np.inf
    with pytest.raises(NotImplementedError, match="not stationary"):
        roughness(Linear(), 0, 1, 1)


def test_which_derivatives_are_known():
    assert differentiable(Matern(nu=3.5), 3, 1)
    assert not differentiable(Matern(nu=0.5), 1, 1)
    kernel = Gaussian(1.0).on([0]) + Gaussian(1.0).on([1, 2])
    assert features_of(kernel, 3) == {0, 1, 2}
    assert separate(kernel, 0, 3)
    assert not separate(kernel, 1, 3)
