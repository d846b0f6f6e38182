"""Kernels realized from simulated series."""

import numpy as np
import pytest
from scipy import linalg

from mercer import LSSVR, tune
from mercer.kernels import Gaussian, Matern
from mercer_research.kernels import Fourier
from mercer_research.series import realize
from mercer_research.series.autocovariance import autocovariance
from mercer_research.series.realize import _root, realize_circulant, suggest
from mercer_research.series.toeplitz import Toeplitz


@pytest.mark.parametrize(
    ("reach", "top", "middle", "far"), [(10.0, 1.33, 0.44, 0.058), (20.0, 1.19, 0.44, 0.064)]
)
def test_the_experiment_of_the_documents(reach, top, middle, far):
    """E-95: y = sum_j h(x_i - x_j) z_j + e with h = exp(-t^2); the middle row, nothing tapered."""
    n, runs = 200, 50
    x = np.linspace(0.0, reach, n)
    H = np.exp(-((x[:, None] - x) ** 2))
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(runs):
        y = H @ rng.normal(size=n) + rng.normal(size=n)
        c = autocovariance(y, center=False)
        rows.append(_root(c, n, 1.0, "independent", "matrix", "middle"))
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
    at = [0, round(0.8 / x[1]), round(1.6 / x[1])]
    # Both are means, over 50 runs here and over 100 there, which were rounded to two digits.
    error = 3.0 * spread[at] * np.sqrt(1 / runs + 1 / 100) + 0.005
    assert (np.abs(mean[at] - [top, middle, far]) <= error).all()
    # The acceptance of the specification: the shape is recovered, with a spurious peak at zero.
    assert np.abs(mean[2:100] - H[0, 2:100]).max() <= 0.15
    assert mean[0] > 1.1 * mean[1]


def test_the_smallest_eigenvalue_is_far_below_the_noise():
    """Subtracting the variance of the noise leaves an indefinite matrix on every sample."""
    rng = np.random.default_rng(0)
    lowest = []
    for _ in range(5):
        y = rng.normal(size=200)
        lowest.append(np.linalg.eigvalsh(linalg.toeplitz(autocovariance(y)))[0])
    assert max(lowest) < 0.3


def test_the_root_of_an_exact_covariance_is_the_kernel():
    """With the true covariance in place of the sample's, far from the ends of a long series."""
    n, gamma, sigma = 300, 1.7, 0.6
    k = np.exp(-0.5 * (np.arange(n) / 2.0) ** 2)
    Omega = linalg.toeplitz(k)
    C = (gamma * sigma) ** 2 * Omega @ Omega + sigma**2 * np.eye(n)
    row = C[n // 2, n // 2 : n // 2 + 60]
    for method, read in (("matrix", "diagonals"), ("matrix", "middle"), ("fft", "middle")):
        found = _root(row, n, sigma, "independent", method, read)
        # Diagonals include the ends, where the root of a finite matrix differs.
        atol = 0.02 if read == "diagonals" else 1e-6
        np.testing.assert_allclose(found[:30] / (gamma * sigma), k[:30], rtol=0, atol=atol)
    same = sigma**2 * (gamma * Omega + np.eye(n)) @ (gamma * Omega + np.eye(n))
    row = same[n // 2, n // 2 : n // 2 + 60]
    found = _root(row, n, sigma, "self", "fft", "middle")
    np.testing.assert_allclose(found[:30] / (gamma * sigma), k[:30], rtol=0, atol=1e-6)


def simulated(n=800, width=4.0, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    H = np.exp(-0.5 * ((t[:, None] - t) / width) ** 2)
    return H @ rng.normal(size=n) + 0.5 * rng.normal(size=n)


def test_what_comes_out_can_be_used():
    found = realize(simulated(), 0.25, spacing=0.1, method="fft", n_bootstrap=40, random_state=1)
    assert found.lags[1] == pytest.approx(0.1)
    assert found.values[0] == 1.0
    assert found.kernel.positive_definite
    assert np.linalg.eigvalsh(found.kernel(0.1 * np.arange(300.0)[:, None]))[0] > -1e-8
    # 800 samples hold about 100 independent ones of a process of width 4 sqrt(2) at 800.
    assert found.suggestion.kernel.length_scale == pytest.approx(0.4, rel=0.2)
    assert found.gamma == pytest.approx(2.0, rel=0.25)
    lower, upper = found.band
    assert (lower <= upper).all()
    truth = np.exp(-0.5 * (np.arange(20) / 4.0) ** 2)
    assert ((lower[:20] <= truth + 0.15) & (truth - 0.15 <= upper[:20])).all()


@pytest.mark.parametrize("bootstrap", ["parametric", "block"])
def test_bands_hold_the_estimate_and_widen_with_the_level(bootstrap):
    y = simulated(300)
    options = {"method": "fft", "n_bootstrap": 60, "bootstrap": bootstrap, "random_state": 0}
    narrow, wide = (realize(y, 0.25, level=level, **options).band for level in (0.5, 0.95))
    assert (wide[1] - wide[0] >= narrow[1] - narrow[0]).all()
    again = realize(y, 0.25, level=0.5, **options).band
    np.testing.assert_array_equal(narrow, again)


def test_the_moment_of_one_noise_is_another_kernel():
    y = simulated(400)
    independent, same = (realize(y, 0.25, moment=m) for m in ("independent", "self"))
    assert independent.gamma > same.gamma
    middle = realize(y, 0.25, read="middle", taper=False, center=False, max_lag=50)
    assert len(middle.lags) == 51


def test_suggestions_find_the_kernel_of_a_table():
    t = np.linspace(0, 12, 60)
    for kernel in (Gaussian(2.0), Matern(1.5, nu=0.5), Matern(2.5, nu=1.5), Matern(1.5, nu=2.5)):
        values = 0.6 * kernel(np.zeros((1, 1)), t[:, None])[0]
        values[0] = 5.0
        found = suggest(t, values)
        assert type(found.kernel) is type(kernel)
        assert found.kernel.length_scale == pytest.approx(kernel.length_scale, rel=1e-4)
        assert found.factor == pytest.approx(0.6, rel=1e-4)


# Circulant --------------------------------------------------------------------------------------


def test_shrinkage_minimizes_the_criterion_at_every_frequency():
    """Mallows' criterion decouples; any change of a factor makes it larger."""
    y, s2 = simulated(64), 0.25
    found = realize_circulant(y, s2, monotone=False)

    def criterion(mu):
        kept = np.fft.irfft(mu * np.fft.rfft(y - y.mean()), 64)
        degrees = mu[1:-1].sum() * 2 + mu[-1]
        rest = ((y - y.mean() - kept) ** 2).sum()
        return (rest + 2 * s2 * degrees) / 64 - s2 * 63 / 64

    best = criterion(found.shrinkage)
    assert found.criterion == pytest.approx(best, rel=1e-12)
    for k in range(1, 33):
        for step in (-0.01, 0.01):
            other = found.shrinkage.copy()
            other[k] = np.clip(other[k] + step, 0.0, 1.0)
            assert criterion(other) >= best - 1e-15


@pytest.mark.parametrize("n", [64, 65])
def test_the_kernel_smooths_as_the_factors_do(n):
    """(gamma K + I) e = y on the period of the series leaves y - e."""
    y, s2 = simulated(n), 0.25
    found = realize_circulant(y, s2, spacing=0.5)
    assert (np.diff(found.shrinkage[1:]) <= 1e-12).all()
    t = 0.5 * np.arange(n)[:, None]
    K = found.kernel(t)
    np.testing.assert_allclose(K[0, : len(found.lags)], found.gamma * found.values, atol=1e-12)
    centred = y - y.mean()
    e = np.linalg.solve(K + np.eye(n), centred)
    np.testing.assert_allclose(centred - e + y.mean(), found.fitted, rtol=0, atol=1e-11)
    assert Toeplitz(K[0]).is_positive_semidefinite()


def test_the_gradient_of_the_evidence_finds_the_shrinkage_of_every_frequency():
    """Three waves with a factor each: the likelihood of a circle is a product over frequencies."""
    n = 64
    t, rng = np.arange(n), np.random.default_rng(0)
    y = sum(w * np.sin(2 * np.pi * k * t / n) for k, w in ((1, 3.0), (2, 1.5), (3, 2.0)))
    y = y + rng.normal(size=n)

    def wave(k):
        penalties = np.full(k + 1, np.inf)
        penalties[k] = 1.0
        return 1.0 * Fourier(penalties, period=float(n))

    kernel = wave(1) + wave(2) + wave(3)
    factors = [name for name in kernel.get_params() if name.endswith("factor")]
    found = tune(LSSVR(kernel), t[:, None], y, criterion="evidence", parameters=factors, budget=99)
    f = found.best_estimator_.predict(t[:, None])
    transform = np.fft.rfft(y)
    shrinkage = (np.fft.rfft(f) / transform)[1:4].real
    power = np.abs(transform) ** 2 / n
    # The restricted likelihood takes the noise from the 57 contrasts that no wave explains.
    noise = (2.0 * power[4:-1].sum() + power[-1]) / (n - 7)
    # A descent ends where a step gains 3e-5 of the criterion, of order one a sample: in the sum
    # over 64 samples 2e-3, which is 6 % of a variance (its curvature in the logarithm is one a
    # pair).
    np.testing.assert_allclose(1.0 - shrinkage, noise / power[1:4], rtol=0.06)


def test_smoothing_the_periodogram_helps():
    """Without it half of pure noise is kept: the mean of (1 - 1/P)_+ for exponential P is 0.149."""
    rng = np.random.default_rng(0)
    t = 2 * np.pi * np.arange(256) / 256
    truth = np.sin(t) + 0.5 * np.cos(3 * t)
    errors = {True: [], False: []}
    for _ in range(20):
        y = truth + rng.normal(size=256)
        for monotone in errors:
            fitted = realize_circulant(y, 1.0, monotone=monotone).fitted
            errors[monotone].append(((fitted - truth) ** 2).mean())
    assert np.mean(errors[True]) < 0.5 * np.mean(errors[False])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: realize(simulated(50), 0.0), "noise_variance must be"),
        (lambda: realize(simulated(50), 1e9), "Nothing is left"),
        (lambda: realize(simulated(50), 1.0, moment="first"), "moment must be one of"),
        (lambda: realize(simulated(50), 1.0, method="svd"), "method must be one of"),
        (lambda: realize(simulated(50), 1.0, read="last"), "read must be one of"),
        (lambda: realize(simulated(50), 1.0, bootstrap="naive"), "bootstrap must be one of"),
        (lambda: realize_circulant(simulated(50), 1e9), "No frequency"),
        (lambda: realize_circulant(simulated(50), -1.0), "noise_variance must be"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_middle_row_shows_half_of_the_series():
    found = realize(
        simulated(50), 1.0, read="middle", max_lag=49, taper=False, n_bootstrap=3, random_state=0
    )
    assert found.lags.shape == found.values.shape == (25,)
    assert found.band.shape == (2, 25)
