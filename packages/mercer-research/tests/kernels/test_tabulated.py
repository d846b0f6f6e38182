"""Tables against the kernels they were made of, and their spectra against quadrature."""

import numpy as np
import pytest
from scipy import integrate, special

from mercer.kernels import BSpline, Gaussian
from mercer_research.kernels.tabulated import Tabulated

LAGS, VALUES = [0.0, 0.5, 1.0, 1.5], [2.0, 1.1, 0.4, 0.1]


def along(kernel, lags):
    return kernel(np.zeros((1, 1)), np.asarray(lags)[:, None])[0]


def test_values_are_interpolated_and_fall_to_zero_after_the_last_lag():
    kernel = Tabulated(LAGS, VALUES)
    np.testing.assert_allclose(along(kernel, LAGS), VALUES)
    found = along(kernel, [0.25, 1.75, 2.0, 9.0])
    np.testing.assert_allclose(found, [1.55, 0.05, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(along(Tabulated(LAGS, VALUES, 2.0), [0.5]), [1.55])


def test_a_fine_table_is_the_kernel_within_its_error():
    t = np.linspace(0, 8, 401)
    table = Tabulated(t, np.exp(-0.5 * t**2))
    x = np.random.default_rng(0).uniform(0, 10, size=500)
    difference = np.abs(along(table, x) - along(Gaussian(), x)).max()
    # h^2 |v''| / 8 with |v''| at most 1; the estimate takes differences at the lags.
    assert difference <= 1.01 * table.error
    assert table.error == pytest.approx(0.02**2 / 8, rel=0.01)


def test_the_triangle_is_a_spline():
    table = Tabulated([0.0, 1.0], [1.0, 0.0])
    x = np.linspace(0, 3, 31)
    np.testing.assert_allclose(along(table, x), along(BSpline(1.0, 1), x), atol=1e-15)
    omega = np.linspace(0, 20, 41)
    np.testing.assert_allclose(table.spectrum(omega), BSpline(1.0, 1).spectrum(omega), atol=1e-15)


def test_the_spectrum_on_a_line_is_that_of_the_sequence_times_a_triangle():
    kernel, h = Tabulated(LAGS, VALUES), 0.5
    omega = np.linspace(0.0, 30.0, 61)
    series = VALUES[0] + 2 * sum(v * np.cos(j * h * omega) for j, v in enumerate(VALUES) if j)
    exact = (2 * np.pi) ** -0.5 * h * np.sinc(h * omega / (2 * np.pi)) ** 2 * series
    np.testing.assert_allclose(kernel.spectrum(omega), exact, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_spectrum_in_more_dimensions_by_quadrature(dim):
    kernel = Tabulated([0.0, 0.4, 1.0, 1.5], VALUES, length_scale=0.8, dim=3)
    nu = 0.5 * dim - 1
    for omega in (0.3, 2.0, 9.0):
        exact = integrate.quad(
            lambda r, w=omega: along(kernel, [r])[0] * r ** (nu + 1) * special.jv(nu, w * r),
            0,
            1.6,
            points=[0.32, 0.8, 1.2],
            epsabs=1e-12,
            limit=200,
        )[0]
        found = kernel.spectrum(np.array([omega]), dim)[0]
        assert found == pytest.approx(exact * omega**-nu, abs=1e-11)


@pytest.mark.parametrize(
    ("values", "valid"),
    [
        ([1.0, 0.5], True),
        ([1.0, 0.5 + 1e-6], False),
        ([1.0, -0.5], True),
        ([1.0, 0.6, 0.2], True),
        ([1.0, 0.9, 0.9], False),
        ([1.0, 0.0, 0.0, 0.5], True),
    ],
)
def test_definiteness_is_that_of_the_sequence(values, valid):
    kernel = Tabulated(np.arange(len(values), dtype=float), values)
    assert kernel.positive_definite == valid
    # Large Toeplitz matrices and finer grids tell the same.
    for step in (1.0, 0.25):
        X = step * np.arange(200.0)[:, None]
        lowest = np.linalg.eigvalsh(kernel(X))[0]
        if valid:
            assert lowest >= -1e-12
    if not valid and values[1] > 0.51:
        assert np.linalg.eigvalsh(kernel(np.arange(200.0)[:, None]))[0] < 0


def test_a_table_of_a_line_may_be_invalid_in_space():
    """The triangle is positive definite on a line but not in three dimensions."""
    assert Tabulated([0.0, 1.0], [1.0, 0.0]).positive_definite
    assert not Tabulated([0.0, 1.0], [1.0, 0.0], dim=3).positive_definite
    irregular = Tabulated([0.0, 0.3, 1.0, 2.0], np.exp([0.0, -0.3, -1.0, -2.0]))
    assert irregular.positive_definite


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Tabulated([0.0], [1.0]), "two lags or more"),
        (lambda: Tabulated([0.0, 1.0], [1.0]), "as many values"),
        (lambda: Tabulated([0.5, 1.0], [1.0, 0.5]), "increase from 0"),
        (lambda: Tabulated([0.0, 0.0], [1.0, 0.5]), "increase from 0"),
        (lambda: Tabulated([0.0, 1.0], [0.0, 0.5]), "the first of them positive"),
        (lambda: Tabulated([0.0, 1.0], [1.0, np.inf]), "finite"),
        (lambda: Tabulated(LAGS, VALUES, dim=0), "dim must be"),
        (
            lambda: Tabulated(LAGS, VALUES)(np.ones((2, 2))),
            "in 1 dimensions, but the points have 2",
        ),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()
