"""Sample paths have the covariance they claim, and machines are their most probable values."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer import SVR, KernelRegressor
from mercer.inspect import default_width, sample_paths
from mercer.kernels import Gaussian, Matern, Polyharmonic, Sigmoid, ThinPlate
from mercer.regularizers import Empty, Polynomial

RNG = np.random.default_rng(2)
X = np.linspace(0.0, 3.0, 8)[:, None]


def test_covariance_of_the_paths():
    n = 40_000
    paths = sample_paths(Matern(0.8), X, n, random_state=0)
    empirical = paths @ paths.T / n
    # The standard error of a covariance of unit variances is at most sqrt(2 / n); four of them.
    assert np.abs(empirical - Matern(0.8)(X)).max() < 4.0 * np.sqrt(2.0 / n)
    assert np.abs(paths.mean(axis=1)).max() < 4.0 / np.sqrt(n)


def test_power_spectrum_of_the_paths_is_that_of_the_kernel():
    # E |DFT|^2 of a stationary process on a long grid is the angular spectrum / spacing.
    h, n, kernel = 0.25, 256, Matern(1.0, nu=1.5)
    paths = sample_paths(kernel, h * np.arange(n)[:, None], 200, random_state=1)
    taper = np.hanning(n)[:, None]
    power = (np.abs(np.fft.rfft(taper * paths, axis=0)) ** 2).mean(axis=1) / (taper**2).sum()
    omega = 2.0 * np.pi * np.fft.rfftfreq(n, h)
    expected = np.sqrt(2.0 * np.pi) * kernel.spectrum(omega) / h
    band = (omega > 0.3) & (omega < 4.0)  # beyond, frequencies above the sampling rate fold back
    # 200 exponential variables per frequency: 1 / sqrt(200) = 7 %; the mean over the band is finer.
    ratio = power[band] / expected[band]
    assert np.abs(ratio - 1.0).max() < 5.0 / np.sqrt(200.0)
    assert ratio.mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("kernel", "degree"), [(Polyharmonic(1.0), 0), (ThinPlate(2), 1)], ids=repr
)
def test_conditional_kernels_are_drawn_on_the_complement(kernel, degree):
    paths = sample_paths(kernel, X, 20_000, random_state=3)
    B = Polynomial(degree)(X)
    assert np.abs(B.T @ paths).max() < 1e-9 * np.abs(paths).max()
    P = np.eye(len(X)) - B @ np.linalg.pinv(B)
    expected = P @ kernel(X) @ P
    scale = np.abs(expected).max()
    empirical = paths @ paths.T / paths.shape[1]
    assert np.abs(empirical - expected).max() < 4.0 * scale * np.sqrt(2.0 / 20_000)


def test_seeds_repeat_and_generators_go_on():
    first, again = (sample_paths(Gaussian(), X, random_state=7) for _ in range(2))
    assert first == pytest.approx(again)
    rng = np.random.default_rng(7)
    assert sample_paths(Gaussian(), X, random_state=rng) == pytest.approx(first)
    assert not np.allclose(sample_paths(Gaussian(), X, random_state=rng), first)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(0.8), ThinPlate(2)], ids=repr)
def test_a_seed_draws_the_same_paths_whatever_rounding_does(kernel):
    rng = np.random.default_rng(5)
    # A regular grid: symmetry makes eigenvalues equal, and bases of their eigenvectors arbitrary.
    points = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    order = rng.permutation(len(points))
    dense = sample_paths(kernel, points, random_state=0)
    stored = sample_paths(kernel, csr_array(points), random_state=0)
    # Roots of matrices differ by at most the root of the matrices' difference, for which the
    # size times 100 roundings are allowed; three thousand normal numbers are below 5.
    size = float(np.linalg.norm(kernel(points)))
    bound = np.sqrt(100 * np.finfo(float).eps * size) * 5.0 * np.sqrt(len(points))
    np.testing.assert_allclose(stored, dense, rtol=0, atol=bound)

    class Permuted(np.random.Generator):
        """A generator whose numbers are those of the permuted points."""

        def standard_normal(self, size):
            return np.random.default_rng(0).standard_normal(size)[order]

    shuffled = sample_paths(kernel, points[order], random_state=Permuted(np.random.PCG64(0)))
    np.testing.assert_allclose(shuffled, dense[order], rtol=0, atol=bound)


def test_points_that_are_not_finite_are_an_error():
    spoilt = X.copy()
    spoilt[4] = np.nan
    with pytest.raises(ValueError, match="kernel values of X are not finite: leave out or impute"):
        sample_paths(Gaussian(), spoilt)


def test_indefinite_functions_are_no_covariance():
    with pytest.raises(ValueError, match="not positive"):
        sample_paths(Sigmoid(1.0, -1.0), RNG.standard_normal((20, 2)))


def minus_log_posterior(K, y, a, cost, C):
    """The prior exp(-a'Ka / 2) of the function, times exp(-C loss) of every residual."""
    return 0.5 * a @ K @ a + C * cost(y - K @ a).sum()


@pytest.mark.parametrize(
    ("machine", "cost"),
    [
        (SVR(kernel=Gaussian(), C=2.0, epsilon=0.1, tol=1e-10),
         lambda r: np.maximum(np.abs(r) - 0.1, 0.0)),
        (KernelRegressor("squared", Gaussian(), C=2.0, null_space=Empty(), tol=1e-10),
         lambda r: 0.5 * r**2),
    ],
    ids=["epsilon-insensitive", "squared"],
)  # fmt: skip
def test_the_machine_is_the_most_probable_function(machine, cost):
    # No perturbation of the coefficients is more probable (the intercept held fixed).
    x = np.linspace(-2.0, 2.0, 20)[:, None]
    y = np.sin(2.0 * x[:, 0]) + 0.2 * RNG.standard_normal(20)
    machine.fit(x, y)
    K, a = Gaussian()(x), np.zeros(20)
    a[machine.support_] = machine.dual_coef_[0]
    target = y - machine.intercept_[0]
    best = minus_log_posterior(K, target, a, cost, 2.0)
    for _ in range(200):
        step = RNG.standard_normal(20) * 10.0 ** RNG.uniform(-3, 0)
        assert minus_log_posterior(K, target, a + step, cost, 2.0) > best - 1e-8


def test_default_width():
    assert default_width(np.array([[0.0], [1.0], [3.0]])) == 2.0
    assert default_width(np.array([[0.0], [1.0], [3.0]]), quantile=0.0) == 1.0
    assert default_width(np.ones((4, 2))) == 1.0
    many = RNG.standard_normal((5000, 3))
    # The squared distance of two normal points is twice a chi-square: its median is 2 * 2.366.
    assert default_width(many) == pytest.approx(np.sqrt(2.0 * 2.366), rel=0.05)


def test_points_without_kernel_values():
    with pytest.raises(ValueError, match="kernel values of X are not finite"):
        sample_paths(Gaussian(), np.array([[0.0], [np.nan], [1.0]]))
    with pytest.raises(ValueError, match="n_paths must be an integer"):
        sample_paths(Gaussian(), np.zeros((3, 1)), n_paths=-1)
