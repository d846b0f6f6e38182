"""Kernels on the circle: series, identities, numbers of the specification, and their oracles."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ExpSineSquared

from mercer.kernels import (
    Periodic,
    PeriodicGaussian,
    PeriodicSpline,
)
from mercer.kernels.periodic import cosine_series

EPS = np.finfo(float).eps
ANGLES = np.random.default_rng(0).uniform(-20.0, 20.0, size=(40, 1))
ORIGIN = np.zeros((1, 1))


def values(kernel, u):
    return kernel(np.reshape(u, (-1, 1)), ORIGIN)[:, 0]


def series(c, angle, terms=400):
    """The Fourier series of coefficients, term by term."""
    n = np.arange(terms)
    weights = np.where(n == 0, 1.0, 2.0) * c(n)
    return np.cos(np.multiply.outer(angle, n)) @ weights


CIRCULAR = [
    PeriodicGaussian(0.3),
    PeriodicGaussian(0.99, drop_constant=True),
    PeriodicGaussian(1.01, drop_constant=True),
    PeriodicGaussian(0.6, normalize="diagonal"),
    PeriodicGaussian(3.0, normalize="diagonal", drop_constant=True),
    PeriodicGaussian(0.6, normalize="range"),
    PeriodicGaussian(2.5, normalize="range"),
    PeriodicGaussian(0.4, period=2.0, normalize="range"),
    Periodic(0.2, period=5.0),
    Periodic(3.0),
    PeriodicSpline(4, period=2.0),
    PeriodicSpline(6),
]


@pytest.mark.parametrize("kernel", CIRCULAR, ids=repr)
def test_values_are_the_series_of_the_coefficients(kernel):
    u = np.linspace(-2.3, 1.7, 41) * kernel.period
    exact = series(kernel.coefficients, 2 * np.pi * u / kernel.period)
    # 400 cosines of angles up to 400 * 4.6 * pi, each rounded at its size.
    scale = float(kernel.diag(ORIGIN)[0])
    np.testing.assert_allclose(values(kernel, u), exact, rtol=0, atol=1e4 * EPS * max(scale, 1.0))
    np.testing.assert_array_equal(
        kernel.coefficients(-np.arange(9)), kernel.coefficients(np.arange(9))
    )


@pytest.mark.parametrize("kernel", CIRCULAR, ids=repr)
def test_coefficients_are_integrals(kernel):
    u = np.linspace(0.0, kernel.period, 4096, endpoint=False)
    # The trapezoidal rule is exact up to aliasing, here coefficients beyond the 4000th.
    found = np.fft.rfft(values(kernel, u)).real[:12] / len(u)
    np.testing.assert_allclose(found, kernel.coefficients(np.arange(12)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kernel", CIRCULAR, ids=repr)
def test_circles_are_closed_and_gram_matrices_positive(kernel):
    K = kernel(ANGLES)
    turns = np.random.default_rng(1).integers(-3, 4, size=ANGLES.shape) * kernel.period
    # Arguments up to 40 turn by more than a rounding of the angle, times the slope of the kernel.
    np.testing.assert_allclose(kernel(ANGLES + turns), K, rtol=0, atol=1e-10 * K.max())
    assert np.linalg.eigvalsh(K)[0] >= -len(K) * EPS * np.linalg.norm(K, 2)
    assert (kernel.coefficients(np.arange(50)) >= 0).all()
    assert kernel.domain == "circle"
    with pytest.raises(NotImplementedError, match="its spectrum is discrete"):
        kernel.spectrum(np.ones(1))


def test_periodic_gaussian_of_figure_3_5():
    kernel = PeriodicGaussian(np.sqrt(0.1), drop_constant=True)
    np.testing.assert_allclose(
        2.0 * kernel.coefficients(np.array([0, 1, 2, 5, 10])),
        [0.0, 0.951229, 0.818731, 0.286505, 6.73795e-3],
        rtol=0,
        atol=5e-7,
    )
    zero, opposite = values(kernel, [0.0, np.pi])
    assert zero == pytest.approx(3.463327297606, abs=5e-13)
    assert opposite == pytest.approx(-0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("variance", "offset", "span", "quarter"),
    [
        (0.1, 0.5, 3.963327298, 4.386383e-06),
        (0.5, 0.499816646, 1.772270497, 0.084710289),
        (1.0, 0.481972622, 1.235286766, 0.280884403),
        (2.0, 0.349687100, 0.736005702, 0.450229628),
    ],
)
def test_range_of_the_periodic_gaussian(variance, offset, span, quarter):
    plain = PeriodicGaussian(np.sqrt(variance), drop_constant=True)
    unit = PeriodicGaussian(np.sqrt(variance), normalize="range")
    low, high = values(plain, [np.pi, 0.0])
    assert -low == pytest.approx(offset, abs=1e-9)
    assert high - low == pytest.approx(span, abs=1e-9)
    np.testing.assert_allclose(values(unit, [0.0, np.pi / 2, np.pi]), [1, quarter, 0], atol=1e-9)
    assert values(unit, [np.pi / 2])[0] == pytest.approx(quarter, rel=1e-6)


@pytest.mark.parametrize("sigma", [0.3, 0.9, 1.0, 1.7, 3.0])
def test_both_sums_of_the_theta_function_agree(sigma):
    t = np.linspace(-np.pi, np.pi, 101)
    turns = np.exp(-0.5 * (np.add.outer(t, 2 * np.pi * np.arange(-9, 10)) / sigma) ** 2).sum(1)
    wrapped = np.sqrt(2 * np.pi) / (2 * sigma) * turns
    weights = np.exp(-0.5 * np.arange(60.0) ** 2 * sigma**2)
    weights[0] = 0.5
    scale = wrapped.max()
    np.testing.assert_allclose(cosine_series(t, weights), wrapped, rtol=0, atol=1e-14 * scale)
    kernel = PeriodicGaussian(sigma)
    np.testing.assert_allclose(values(kernel, t), wrapped, rtol=0, atol=1e-14 * scale)


def test_only_one_frequency_survives_a_large_width():
    t = np.linspace(-3, 3, 7)
    kernel = PeriodicGaussian(60.0, drop_constant=True, normalize="diagonal")
    np.testing.assert_allclose(values(kernel, t), np.cos(t), rtol=0, atol=1e-14)
    kernel = PeriodicGaussian(60.0, normalize="range")
    np.testing.assert_allclose(values(kernel, t), 0.5 + 0.5 * np.cos(t), rtol=0, atol=1e-14)


def test_features_multiply():
    X, Z = np.random.default_rng(0).normal(size=(2, 9, 3))
    for kernel, ones in [
        (PeriodicGaussian([0.5, 1.5, 2.5]), [PeriodicGaussian(s) for s in (0.5, 1.5, 2.5)]),
    ]:
        parts = [k(X[:, [j]], Z[:, [j]]) for j, k in enumerate(ones)]
        np.testing.assert_allclose(kernel(X, Z), np.prod(parts, axis=0), rtol=1e-13)


def test_periodic_is_that_of_scikit_learn():
    for length_scale, period in [(0.5, 3.0), (2.0, 0.7)]:
        theirs = ExpSineSquared(length_scale, period)(ANGLES)
        ours = Periodic(length_scale, period)(ANGLES)
        # The sine of angles up to 40 pi / 0.7 is known to that many roundings.
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e3 * EPS / length_scale**2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PeriodicGaussian(-1.0), "length_scale must be a positive number"),
        (lambda: PeriodicGaussian(np.inf), "length_scale must be a positive number"),
        (lambda: Periodic(period=0.0), "period must be a positive number"),
        (lambda: PeriodicGaussian(normalize="unit"), "None, 'range' or 'diagonal'"),
        (lambda: PeriodicGaussian(drop_constant=True, normalize="range"), "sets the constant"),
        (lambda: Periodic([1.0, 2.0])(np.ones((2, 3))), "2 entries but the points have 3"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()
