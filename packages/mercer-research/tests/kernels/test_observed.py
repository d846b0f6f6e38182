"""Functions observed through functionals."""

import numpy as np
import pytest
from scipy import sparse

from mercer import SVR, KernelRegressor
from mercer.kernels import Gaussian, ThinPlate
from mercer.losses import EpsilonInsensitive
from mercer.regularizers import Empty, Functions
from mercer_research.kernels.observed import Observed

RNG = np.random.default_rng(7)
G = 80
PLACES = np.linspace(0, 1, G)[:, None]
TRUTH = np.exp(-((PLACES[:, 0] - 0.35) ** 2) / 0.01) + 0.6 * np.sin(4 * PLACES[:, 0])
# A first-kind Fredholm equation: g(x) = int exp(-(x - u)^2 / (2 0.05^2)) f(u) du, by quadrature.
SEEN = np.linspace(0, 1, 50)
BLUR = np.exp(-((SEEN[:, None] - PLACES[:, 0]) ** 2) / (2 * 0.05**2)) / G
KERNEL = Observed(Gaussian(0.08), PLACES)


def test_is_a_bilinear_form_of_the_kernel_below():
    K = Gaussian(0.08)(PLACES)
    np.testing.assert_allclose(KERNEL(BLUR), BLUR @ K @ BLUR.T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(KERNEL(BLUR, np.eye(G)), BLUR @ K, rtol=0, atol=1e-14)
    np.testing.assert_allclose(KERNEL.diag(BLUR), np.diag(BLUR @ K @ BLUR.T), rtol=1e-12)
    thin = sparse.csr_array(np.where(BLUR > 1e-3, BLUR, 0.0))
    np.testing.assert_allclose(KERNEL(thin), KERNEL(thin.toarray()), atol=1e-15)


def test_values_are_functionals():
    """Rows of the identity give the ordinary machine at the places."""
    y = TRUTH + 0.1 * RNG.normal(size=G)
    loss = EpsilonInsensitive(0.1)
    plain = KernelRegressor(loss, Gaussian(0.08), C=10.0, tol=1e-8).fit(PLACES, y)
    observed = KernelRegressor(loss, KERNEL, C=10.0, tol=1e-8).fit(np.eye(G), y)
    np.testing.assert_allclose(observed.predict(np.eye(G)), plain.predict(PLACES), atol=1e-6)


def test_deconvolution_is_the_regularized_inverse():
    """Against the minimum over all f on the places of |f|^2 / 2 + C |g - A f|^2 / 2."""
    g, C = BLUR @ TRUTH, 1e6
    machine = KernelRegressor(kernel=KERNEL, null_space=Empty(), C=C).fit(BLUR, g)
    K = Gaussian(0.08)(PLACES)
    f = K @ BLUR.T @ np.linalg.solve(BLUR @ K @ BLUR.T + np.eye(50) / C, g)
    np.testing.assert_allclose(machine.predict(np.eye(G)), f, rtol=0, atol=1e-6)
    # The function between the places, from what the machine keeps.
    between = PLACES[:-1] + 0.5 / G
    weights = machine.support_vectors_.T @ machine.dual_coef_[0]
    expected = Gaussian(0.08)(between, PLACES) @ weights
    assert np.max(np.abs(expected - np.interp(between[:, 0], PLACES[:, 0], f))) < 0.01


def morozov(g, noise):
    """The fit whose residual is as large as the noise: half the logarithm of C at a time."""
    low, high = -2.0, 12.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        machine = KernelRegressor(kernel=KERNEL, null_space=Empty(), C=10.0**middle).fit(BLUR, g)
        large = np.sum((g - machine.predict(BLUR)) ** 2) > len(g) * noise**2
        low, high = (middle, high) if large else (low, middle)
    return machine.predict(np.eye(G))


def test_less_noise_gives_a_sharper_picture():
    """With the weight chosen by the discrepancy the error falls with the noise."""
    blurred, errors = BLUR @ TRUTH, []
    for noise in (3e-2, 3e-3, 3e-4):
        trials = [
            morozov(blurred + noise * np.random.default_rng(s).normal(size=50), noise)
            for s in range(3)
        ]
        errors.append(np.mean([np.sqrt(np.mean((f - TRUTH) ** 2)) for f in trials]))
    assert errors[0] > 1.5 * errors[1] > 2.25 * errors[2]


def test_averages_of_what_is_free():
    """The constant has the integral of its weights; a jump in level costs nothing."""
    level = Functions([lambda A: A.sum(axis=1)])
    machine = KernelRegressor(kernel=KERNEL, null_space=level, C=1e4).fit(BLUR, BLUR @ (TRUTH + 9))
    shifted = KernelRegressor(kernel=KERNEL, null_space=level, C=1e4).fit(BLUR, BLUR @ TRUTH)
    difference = machine.predict(np.eye(G)) - shifted.predict(np.eye(G))
    np.testing.assert_allclose(difference, 9.0, rtol=0, atol=1e-6)


def test_any_machine_takes_it():
    machine = SVR(kernel=KERNEL, C=1e5, epsilon=1e-4).fit(BLUR, BLUR @ TRUTH)
    assert np.max(np.abs(machine.predict(BLUR) - BLUR @ TRUTH)) < 2e-3


def test_refusals():
    with pytest.raises(ValueError, match="positive definite Kernel of places"):
        Observed(ThinPlate(2), PLACES)
    with pytest.raises(ValueError, match=r"shape \(g, p\)"):
        Observed(Gaussian(1.0), PLACES[:, 0])
    with pytest.raises(ValueError, match="each of the 80 places"):
        KERNEL(BLUR[:, 1:])
