"""Foreign bases by quadrature, growth by optimization, slopes by closed forms."""

import numpy as np
import pytest
from scipy import integrate, optimize

from mercer.kernels import Gaussian, Laplacian, Matern, Polynomial, Sigmoid, ThinPlate
from mercer_research.compression.foreign import (
    coefficient_norm_growth,
    foreign_basis,
    lipschitz_constant,
    lipschitz_cover,
)


def by_quadrature(operator, first, second, t):
    """The inner product of two functions a distance apart, as the integral over frequencies."""

    def integrand(w):
        w = np.array([w])
        ratio = first.spectrum(w) * second.spectrum(w) / operator.spectrum(w)
        return float(np.cos(w * t)[0] * ratio[0])

    value, _ = integrate.quad(integrand, 0, 12.0, limit=400, epsabs=1e-12)
    return 2 * value / np.sqrt(2 * np.pi)


@pytest.mark.parametrize(
    ("operator", "first", "second"),
    [
        (Gaussian(1.0), Gaussian(0.9), Gaussian(1.3)),
        (Matern(1.0, nu=1.5), Gaussian(0.8), Gaussian(0.8)),
        (Matern(1.0, nu=1.5), Gaussian(0.8), Gaussian(1.2)),
    ],
)
def test_inner_products_are_the_integral(operator, first, second):
    told = foreign_basis(operator, [first, second], [[0.0], [0.7]])
    assert told.finite.all()
    assert told.inner[0, 1] == pytest.approx(by_quadrature(operator, first, second, 0.7), rel=1e-7)
    assert told.inner[0, 0] == pytest.approx(by_quadrature(operator, first, first, 0.0), rel=1e-7)
    np.testing.assert_allclose(told.inner, told.inner.T, rtol=1e-9)
    assert np.linalg.eigvalsh(told.inner)[0] > -1e-10


def test_a_basis_of_the_kernel_itself_costs_what_it_always_does():
    X, a = np.random.default_rng(0).normal(size=(5, 2)), np.arange(5.0)
    told = foreign_basis(Gaussian(0.7), Gaussian(0.7), X, a)
    np.testing.assert_allclose(told.inner, Gaussian(0.7)(X))
    assert told.norm == pytest.approx(np.sqrt(a @ Gaussian(0.7)(X) @ a))
    np.testing.assert_allclose(told.norms, 1.0)


@pytest.mark.parametrize(("width", "inside"), [(0.7, False), (0.7072, True), (0.5, False)])
def test_narrow_gaussians_are_not_in_the_space(width, inside):
    """The border is the width of the kernel over the root of two."""
    told = foreign_basis(Gaussian(1.0), Gaussian(width), [[0.0]], [1.0])
    assert told.finite[0] == inside
    assert np.isfinite(told.norm) == inside
    assert ("too rough" in told.verdicts[0]) == (not inside)


def test_what_is_not_used_does_no_harm_and_what_is_free_is_told():
    basis = [Gaussian(0.9), Gaussian(0.5)]
    told = foreign_basis(Gaussian(1.0), basis, [[0.0], [1.0]], [2.0, 0.0])
    assert told.norm == pytest.approx(2 * told.norms[0])
    assert told.free == 0
    assert foreign_basis(ThinPlate(2), Gaussian(0.5), [[0.0]]).free == 2
    with pytest.raises(ValueError, match="2 functions need one kernel, or as many, got 1"):
        foreign_basis(Gaussian(), [Gaussian()], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="coef must have shape"):
        foreign_basis(Gaussian(), Gaussian(), [[0.0]], [1.0, 2.0])


def test_growth_is_the_largest_value_in_the_ball():
    X, kernel = np.random.default_rng(0).uniform(-1, 1, (8, 1)), Sigmoid(1.0, 0.5)
    K = kernel(X)
    for p in (1.5, 2.0, 4.0):
        best = max(
            -optimize.minimize(
                lambda a, k=k, p=p: -(k @ a) / np.linalg.norm(a, p), np.sign(k) + 0.1 * k
            ).fun
            for k in K
        )
        assert coefficient_norm_growth(kernel, X, p) == pytest.approx(best, rel=1e-5)
    assert coefficient_norm_growth(kernel, X, 1) == np.abs(K).max()
    assert coefficient_norm_growth(kernel, X, np.inf) == pytest.approx(np.abs(K).sum(axis=1).max())
    with pytest.raises(ValueError, match="at least 1"):
        coefficient_norm_growth(kernel, X, 0.5)


@pytest.mark.parametrize(("p", "exponent"), [(1.0, 0.0), (2.0, 0.5), (4.0, 0.75)])
def test_growth_with_the_number_of_terms(p, exponent):
    """On a compact set like a power of the number, whose exponent is one less the reciprocal."""
    sizes = np.array([200, 3200])
    grid = np.linspace(0, 1, 101)[:, None]
    growth = [
        coefficient_norm_growth(Gaussian(0.5), np.linspace(0, 1, n)[:, None], p, grid)
        for n in sizes
    ]
    slope = np.diff(np.log(growth))[0] / np.diff(np.log(sizes))[0]
    assert slope == pytest.approx(exponent, abs=2e-3)


@pytest.mark.parametrize(
    ("kernel", "constant"),
    [
        (Gaussian(0.3), np.exp(-0.5) / 0.3),
        (Gaussian(40.0), np.exp(-0.5) / 40.0),
        (Laplacian(2.0), 0.5),
        (Matern(1.0, nu=1.5), np.sqrt(3) * np.exp(-1.0)),  # r 3 exp(-sqrt 3 r) at 1 / sqrt 3
        (2.0 * Gaussian(1.0), 2 * np.exp(-0.5)),
    ],
)
def test_slopes(kernel, constant):
    # Difference quotients over 1e-7 scales: the kink of the exponential costs as much.
    assert lipschitz_constant(kernel) == pytest.approx(constant, rel=1e-4)


def test_a_cover_covers():
    kernel = Gaussian(0.5)
    cover = lipschitz_cover(kernel, 0.2, 3.0, 2)
    across = round(np.exp(cover.log_number / 2))
    centres = (np.arange(across) + 0.5) * 3.0 / across
    C = np.stack(np.meshgrid(centres, centres), axis=-1).reshape(-1, 2)
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(0, 3, (300, 2)), rng.uniform(-1, 4, (500, 2))
    nearest = np.argmin(np.linalg.norm(X[:, None] - C, axis=2), axis=1)
    assert np.abs(kernel(X, Z) - kernel(C[nearest], Z)).max() <= 0.2
    with pytest.raises(ValueError, match="not radial"):
        lipschitz_cover(Laplacian(1.0), 0.1, 1.0, 2)
    with pytest.raises(ValueError, match="stationary and bounded"):
        lipschitz_constant(Polynomial(2))
