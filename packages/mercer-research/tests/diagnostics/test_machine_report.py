"""What machines keep by frequency, against smoother matrices and Fourier sums."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mercer import SVC, SVR, KernelRegressor
from mercer.kernels import Gaussian, Linear, Matern, PeriodicGaussian, ThinPlate
from mercer.losses import Squared
from mercer.regularizers import Constant, Empty, Polynomial
from mercer_research.diagnostics import machine_report
from mercer_research.kernels import Dirichlet

RNG = np.random.default_rng(4)
N = 64
CIRCLE = 2.0 * np.pi * np.arange(N)[:, None] / N
LINE = np.sort(RNG.uniform(0.0, 10.0, 80))[:, None]


def machine(kernel, **kwargs):
    return KernelRegressor("squared", kernel, solver="direct", tol=1e-10, **kwargs)


def test_on_a_circle_the_transfer_is_the_shrinkage_of_each_frequency():
    # The Gram matrix is circulant with eigenvalues N c_n: a wave is kept by N c / (N c + 1 / C).
    kernel, y = PeriodicGaussian(0.5), RNG.standard_normal(N)
    fitted = machine(kernel, C=0.7).fit(CIRCLE, y)
    n = np.arange(1, 20)
    report = machine_report(fitted, CIRCLE, y, omega=n.astype(float), n_bands=19)
    eigenvalues = N * kernel.coefficients(n)
    expected = eigenvalues / (eigenvalues + 1.0 / 0.7)
    assert report.transfer == pytest.approx(expected, abs=1e-7)
    assert report.bands == pytest.approx(n)
    assert report.cutoff == n[expected < 0.5][0]
    assert report.data == pytest.approx(np.abs(np.fft.fft(y)[1:20]) ** 2 / N)
    assert report.fitted == pytest.approx(expected**2 * report.data, abs=1e-6)
    assert report.function is None  # a periodic function has no transform on the line


@pytest.mark.parametrize(
    ("kernel", "null_space"),
    [(Matern(2.0), Constant()), (Matern(2.0), Polynomial(1)), (Matern(2.0), Empty()),
     (ThinPlate(2), None)],
)  # fmt: skip
def test_shrinkage_is_the_spectrum_of_the_smoother(kernel, null_space):
    x = LINE[::2]
    fitted = machine(kernel, C=3.0, null_space=null_space)
    smoother = np.stack([fitted.fit(x, e).predict(x) for e in np.eye(40)], axis=1)
    report = machine_report(fitted, x, np.eye(40)[0])
    expected = np.linalg.eigvalsh(0.5 * (smoother + smoother.T))[::-1]
    assert np.sort(report.shrinkage)[::-1] == pytest.approx(expected, abs=1e-7)
    assert report.degrees_of_freedom == pytest.approx(np.trace(smoother), abs=1e-6)
    waves = np.exp(1j * np.outer(x[:, 0], report.omega))
    response = np.einsum("ij,ik,kj->j", waves.conj(), smoother, waves).real / 40.0
    assert report.response == pytest.approx(response, abs=1e-7)


def test_transform_of_the_fitted_function():
    y = np.sin(LINE[:, 0])
    fitted = machine(Gaussian(0.8), C=5.0, null_space=Empty()).fit(LINE, y)
    omega = np.linspace(0.1, 4.0, 9)
    report = machine_report(fitted, LINE, y, omega=omega)
    x = np.linspace(-8.0, 18.0, 4001)
    f = fitted.predict(x[:, None])
    transform = np.exp(-1j * np.outer(omega, x)) @ f * (x[1] - x[0]) / np.sqrt(2.0 * np.pi)
    assert report.function == pytest.approx(np.abs(transform) ** 2, rel=1e-6, abs=1e-12)


def test_along_a_direction():
    X = RNG.standard_normal((60, 2))
    direction = np.array([3.0, 4.0])
    y = np.cos(X @ direction / 5.0)
    fitted = machine(Gaussian(1.5), C=5.0, null_space=Empty()).fit(X, y)
    omega = np.array([0.5, 2.0])
    report = machine_report(fitted, X, y, omega=omega, direction=direction)
    side = np.linspace(-13.0, 13.0, 261)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    f = fitted.predict(grid) * (side[1] - side[0]) ** 2 / (2.0 * np.pi)
    transform = np.exp(-1j * np.outer(omega, grid @ direction / 5.0)) @ f
    assert report.function == pytest.approx(np.abs(transform) ** 2, rel=1e-6)
    with pytest.raises(ValueError, match="direction"):
        machine_report(fitted, X, y)
    with pytest.raises(ValueError, match="vector of 2"):
        machine_report(fitted, X, y, direction=np.zeros(2))


def test_expected_transfer_of_many_points():
    x = np.linspace(0.0, 40.0, 401)[:, None]
    y = RNG.standard_normal(401)
    fitted = machine(Gaussian(0.5), C=0.4).fit(x, y)
    report = machine_report(fitted, x, y, n_bands=20)
    # The ends of the interval, one width of forty, are different.
    assert report.response == pytest.approx(report.expected, abs=0.05)
    mean = np.array([report.expected[g].mean() for g in np.array_split(np.arange(200), 20)])
    assert report.transfer == pytest.approx(mean, abs=0.15)  # ten random frequencies in a band


def test_other_losses_have_a_transfer_and_no_smoother():
    x = np.linspace(0.0, 10.0, 80)[:, None]
    y = np.sin(x[:, 0]) + 0.3 * RNG.standard_normal(80)
    fitted = SVR(kernel=Gaussian(1.0), C=1.0).fit(x, y)
    report = machine_report(fitted, x, y)
    assert report.shrinkage is None
    assert report.degrees_of_freedom is None
    assert report.expected is None
    assert report.response is None
    assert report.transfer[0] > 0.8
    assert np.nanmax(np.abs(report.transfer[-8:])) < 0.3
    assert report.n_support == len(fitted.support_)
    coef = fitted.dual_coef_[0]
    assert report.norm == pytest.approx(coef @ Gaussian(1.0)(fitted.support_vectors_) @ coef)
    assert "SVR as a filter" in repr(report)


def test_kernels_without_a_spectrum():
    y = LINE[:, 0] ** 2
    report = machine_report(machine(Linear()).fit(LINE, y), LINE, y)
    assert report.function is None
    assert report.expected is None
    assert report.shrinkage is not None
    given = KernelRegressor(loss=Squared(), kernel=Dirichlet(3)).fit(CIRCLE, np.cos(CIRCLE[:, 0]))
    report = machine_report(given, CIRCLE, np.cos(CIRCLE[:, 0]), omega=np.array([0.0, 1.0]))
    assert np.isnan(report.transfer[0])  # the mean is removed: nothing to keep
    assert report.transfer[1] > 0.9


def test_what_has_no_expansion_is_refused():
    y = np.arange(80) % 3
    with pytest.raises(NotFittedError):
        machine_report(SVR(), LINE, y)
    with pytest.raises(ValueError, match="several classes"):
        machine_report(SVC(kernel=Gaussian()).fit(LINE, y), LINE, y)
    with pytest.raises(ValueError, match="y has shape"):
        machine_report(machine(Gaussian()).fit(LINE, y), LINE, y[:5])
