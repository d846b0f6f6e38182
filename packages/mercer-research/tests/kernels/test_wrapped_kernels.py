"""The Dirichlet kernel and wrapped kernels: series, identities, numbers of the specification."""

import numpy as np
import pytest
from scipy import integrate

from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    PeriodicGaussian,
    RationalQuadratic,
)
from mercer.kernels.base import Support, put
from mercer_research.kernels import Dirichlet, Periodized

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
    Dirichlet(7, period=3.0),
    Dirichlet(0),
    Periodized(Gaussian(0.2)),
    Periodized(Gaussian(4.0)),
    Periodized(RationalQuadratic(0.7), period=2.0),
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


@pytest.mark.parametrize("sigma", [0.3, 0.9, 1.0, 1.7, 3.0])
def test_poisson_s_identity(sigma):
    """The wrapped Gaussian as a periodized one."""
    t = np.linspace(-np.pi, np.pi, 101)
    wrapped = values(PeriodicGaussian(sigma), t)
    identity = sigma / np.sqrt(2 * np.pi) * (1 + 2 * (wrapped - 0.5))
    periodized = Periodized(Gaussian(sigma), period=2 * np.pi)
    np.testing.assert_allclose(values(periodized, t), identity, rtol=0, atol=3e-14)


def test_features_of_dirichlet_multiply():
    X, Z = np.random.default_rng(0).normal(size=(2, 9, 3))
    parts = [Dirichlet(3)(X[:, [j]], Z[:, [j]]) for j in range(3)]
    np.testing.assert_allclose(Dirichlet(3)(X, Z), np.prod(parts, axis=0), rtol=1e-13)


def test_dirichlet_of_figure_3_3():
    kernel = Dirichlet(10)
    assert kernel.diag(ORIGIN)[0] == 21.0
    assert values(kernel, [0.2991993])[0] == pytest.approx(0.0, abs=1e-5)
    grid = np.linspace(0.2, 0.7, 20001)
    assert values(kernel, grid).min() == pytest.approx(-4.596930, abs=1e-6)
    singular = np.linalg.svd(kernel(np.linspace(0, 6, 60)[:, None]), compute_uv=False)
    assert (singular > 1e-10 * singular[0]).sum() == 21
    # The removable singularity, from both sides and after many turns.
    np.testing.assert_allclose(
        values(kernel, [1e-12, -1e-10, 2e-9, 1e-7, 20 * np.pi]), 21.0, rtol=0, atol=1e-8
    )


def test_dirichlet_overfits():
    """Figure 3.4 with data of the same kind: medians of 30 samples of the specification."""
    grid = np.linspace(-np.pi, np.pi, 801)
    errors = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-np.pi, np.pi, 20)
        y = np.sinc(x) + rng.normal(0.0, 0.1, 20)
        row = []
        for kernel in (Dirichlet(10), Gaussian(1.0)):
            K = kernel(x[:, None])
            a = np.linalg.solve(K + 1e-3 * K.diagonal().mean() * np.eye(20), y)
            f = kernel(grid[:, None], x[:, None]) @ a
            row.append(np.sqrt(np.mean((f - np.sinc(grid)) ** 2)))
        errors.append(row)
    dirichlet, gaussian = np.median(errors, axis=0)
    # It loses 98 of 100 such samples (588 of 600), so fewer than 27 of 30 in no thousand tests.
    assert sum(d > g for d, g in errors) >= 27
    # The logarithms of single errors spread by 0.42, their medians by 1.25 * 0.42 / sqrt(30) = 0.1.
    assert np.log(dirichlet / 0.441) == pytest.approx(0.0, abs=0.3)
    assert np.log(gaussian / 0.087) == pytest.approx(0.0, abs=0.3)


@pytest.mark.parametrize(
    "kernel",
    [
        *(Gaussian(width) for width in (0.1, 0.4, 3.0)),
        *(Matern(0.3, nu=0.5), Matern(0.02, nu=2.5), Laplacian(0.5)),
    ],
    ids=repr,
)
def test_periodized_is_the_sum_of_images(kernel):
    u = np.linspace(-0.8, 1.3, 23)
    images = np.add.outer(u, np.arange(-400.0, 401.0)).ravel()
    exact = values(kernel, images).reshape(len(u), -1).sum(axis=1)
    found = values(Periodized(kernel), u)
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-14)


def test_periodized_exponential_has_a_closed_form():
    # sum_j exp(-|u + j| / l) = cosh((1/2 - |u|) / l) / sinh(1 / (2 l)) for |u| <= 1.
    u = np.linspace(0.0, 1.0, 21)
    for scale in (0.05, 0.4, 3.0):
        exact = np.cosh((0.5 - u) / scale) / np.sinh(0.5 / scale)
        found = values(Periodized(Laplacian(scale)), u)
        np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-14)


def test_periodized_coefficients_are_integrals_over_the_line():
    kernel = Periodized(Matern(0.4, nu=1.5), period=2.0)
    for n, found in enumerate(kernel.coefficients(np.arange(4))):
        exact, _ = integrate.quad(
            lambda u, n=n: values(kernel.kernel, [u])[0] * np.cos(np.pi * n * u),
            0.0,
            30.0,
            limit=200,
        )
        assert found == pytest.approx(2.0 * exact / 2.0, abs=1e-9)


class Tent(Kernel):
    """A stationary kernel of one feature whose spectrum nobody has written down."""

    stationary = True
    support = Support(np.asarray(1.0), 2)

    def against(self, Z):
        return lambda X, out=None: put(np.maximum(1.0 - np.abs(X - Z.T), 0.0), out)

    def diag(self, X):
        return np.ones(len(X))

    def gradient(self, X, Z=None):
        return {}

    def __repr__(self):
        return "Tent()"


def test_compact_kernels_need_no_spectrum():
    np.testing.assert_allclose(
        values(Periodized(Tent(), period=1.6), [0.0, 0.5, 0.7, 0.8, 1.6]),
        [1.0, 0.5, 0.3 + 0.1, 0.2 + 0.2, 1.0],
        rtol=0,
        atol=4 * EPS,
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Dirichlet(-1), "at least 0"),
        (lambda: Dirichlet(2.5), "integer"),
        (lambda: Periodized(Linear()), "Only a stationary kernel"),
        (lambda: Periodized(Periodic()), "Only a stationary kernel"),
        (lambda: Periodized("rbf"), "must be a Kernel"),
        (lambda: Periodized(Gaussian())(np.ones((2, 2))), "kernel of one feature"),
        (lambda: Periodized(RationalQuadratic(alpha=0.4))(ORIGIN), "fall fast enough"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()
