"""The variance of the noise, against closed forms, brute force and draws of known noise."""

import numpy as np
import pytest

from mercer.smoothing import noise_variance
from mercer.smoothing.noise import smoother_noise
from mercer.smoothing.pairs import feature_scales

METHODS = ["rice", "gasser", "mueller", "neighbours", "model"]


def sinc(x):
    return np.sinc(x)


def wahba(x):
    return 4.26 * (np.exp(-x) - 4.0 * np.exp(-2.0 * x) + 3.0 * np.exp(-3.0 * x))


def sample(f, low, high, n, sigma, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, n)
    return x, f(x) + sigma * rng.standard_normal(n)


@pytest.mark.parametrize("method", METHODS)
def test_known_noise_is_found(method):
    found = [noise_variance(*sample(wahba, 0, 3.25, 200, 0.1, k), method) for k in range(5)]
    values, stds = (np.array([getattr(f, name) for f in found]) for name in ("value", "std"))
    # Five draws, each within its standard deviation or so; a tenth is what curvature may add.
    assert abs(values.mean() - 0.01) < 3 * stds.mean() / np.sqrt(5) + 0.1 * 0.01
    # Var of a variance of m degrees of freedom is 2/m; all methods lie between m = n and n / 6.
    assert 0.5 * np.sqrt(2 / 200) < stds.mean() / 0.01 < np.sqrt(6 * 2 / 200)
    assert float(found[0]) == found[0].value
    assert found[0].sigma == np.sqrt(found[0].value)


@pytest.mark.parametrize("method", METHODS)
def test_shift_scale_and_order_are_respected(method):
    x, y = sample(wahba, 0, 3.25, 60, 0.1, 0)
    value = noise_variance(x, y, method).value
    order = np.random.default_rng(1).permutation(60)
    moved = noise_variance(7.0 + 100.0 * x[order], 5.0 - 3.0 * y[order], method).value
    # Sums in another order, and features in units of their spread.
    np.testing.assert_allclose(moved, 9.0 * value, rtol=1e-7)


def test_rice_is_its_formula():
    x, y = sample(sinc, -3, 3, 40, 0.1, 0)
    d = np.diff(y[np.argsort(x)])
    found = noise_variance(x, y, "rice")
    np.testing.assert_allclose(found.value, np.sum(d**2) / (2 * 39), rtol=1e-13)
    # Var = sigma^4 (8 (n-1) + 4 (n-2)) / (4 (n-1)^2): each square once, and each with the next.
    expected = found.value * np.sqrt((8 * 39 + 2 * 2 * 38) / (4 * 39**2))
    np.testing.assert_allclose(found.std, expected, rtol=1e-12)


def test_gasser_on_an_even_grid_weighs_by_two_thirds():
    x = np.arange(30.0)
    y = np.random.default_rng(0).standard_normal(30)
    e = 0.5 * y[:-2] + 0.5 * y[2:] - y[1:-1]
    np.testing.assert_allclose(noise_variance(x, y, "gasser").value, np.mean(e**2) * 2 / 3)
    np.testing.assert_allclose(noise_variance(x, 2.0 + 3.0 * x, "gasser").value, 0, atol=1e-24)


@pytest.mark.parametrize("method", ["rice", "gasser"])
def test_repetitions_count_as_repetitions(method):
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(12.0), 30)
    y = 100.0 * rng.standard_normal(12)[x.astype(int)] + 0.5 * rng.standard_normal(360)
    # The means jump by hundreds, so this is not the noise of the sample, only of 348 repetitions.
    within = sum(np.sum((y[x == k] - y[x == k].mean()) ** 2) for k in range(12))
    found = noise_variance(x, y, method)
    terms = 348 + (11 if method == "rice" else 10)
    assert found.details["repetitions"] == 348
    assert found.value * terms > within
    constant = np.repeat(1.0, 360)
    noise = y - np.array([y[x == k].mean() for k in range(12)])[x.astype(int)]
    np.testing.assert_allclose(
        noise_variance(constant, noise, method).value, np.var(noise, ddof=1), rtol=1e-12
    )


def test_points_in_a_row_are_asked_for():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="one feature; got 2"):
        noise_variance(X, X[:, 0], "rice")


def test_mueller_sums_over_ordered_pairs():
    x, y = sample(sinc, -3, 3, 30, 1.0, 0)
    h, n, unit = 0.5, 30, np.std(x)
    u = (x[:, None] - x) / unit
    K = np.maximum(1.0 - (u / h) ** 2, 0.0)
    np.fill_diagonal(K, 0.0)
    f = K.sum(axis=1) / ((n - 1) * h)
    W = 0.5 * (1.0 / f[:, None] + 1.0 / f) * K / (n * (n - 1) * h)
    by_hand = np.sum(W * 0.5 * (y[:, None] - y) ** 2)
    np.testing.assert_allclose(
        noise_variance(x, y, "mueller", bandwidth=h).value, by_hand, rtol=1e-12
    )


def test_the_smoother_of_a_mean_leaves_the_variance():
    y = np.random.default_rng(0).standard_normal(9)
    np.testing.assert_allclose(smoother_noise(y, np.full((9, 9), 1 / 9)), np.var(y, ddof=1))
    with pytest.raises(ValueError, match="leaves nothing"):
        smoother_noise(y, np.eye(9))


def test_model_is_the_quotient_of_its_smoother():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * np.random.default_rng(1).standard_normal(60)
    found = noise_variance(X, y, "model")
    units = X / X.std(axis=0)
    squares = np.sum((units[:, None] - units) ** 2, axis=2)
    K = np.exp(-0.5 * squares / found.details["length_scale"] ** 2)
    # Smoother of the bordered system by brute force, one column a target.
    M = np.zeros((61, 61))
    M[:60, :60] = K + np.eye(60) / found.details["C"]
    M[:60, 60] = M[60, :60] = 1.0
    Q = np.linalg.inv(M)[:60, :60] / found.details["C"]
    np.testing.assert_allclose(found.value, smoother_noise(y, np.eye(60) - Q), rtol=1e-7)


@pytest.mark.parametrize("p", [2, 5, 10])
@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_auto_finds_noise_among_many_features(p, sigma):
    rng = np.random.default_rng(p)
    X = rng.uniform(size=(300, p)) * 10.0 ** np.arange(p)
    Z = X / 10.0 ** np.arange(p)
    y = np.sin(3 * Z[:, 0]) + 2 * (Z[:, 1] - 0.5) ** 2 + Z[:, -1] + sigma * rng.standard_normal(300)
    found = noise_variance(X, y)
    assert found.method == "model"
    # The function of so few samples in ten dimensions is not all known: a quarter of the noise.
    assert abs(found.value - sigma**2) < 3 * found.std + 0.25 * sigma**2


def test_scales_ignore_constants_and_follow_weights():
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1.0, 1e-8, 1.0] + [0.0, 0.0, 5.0]
    X[:, 2] = 5.1
    scales = feature_scales(X)
    np.testing.assert_allclose(scales, [X[:, 0].std(), X[:, 1].std(), 1.0])
    twice = feature_scales(np.vstack([X, X[:5]]))
    np.testing.assert_allclose(feature_scales(X, np.r_[np.full(5, 2.0), np.ones(15)]), twice)


def test_bad_samples_are_refused():
    with pytest.raises(ValueError, match="n rows and n numbers"):
        noise_variance([[1.0], [2.0]], [1.0])
    with pytest.raises(ValueError, match="must be finite"):
        noise_variance([1.0, np.nan, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="fewer than three"):
        noise_variance([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="method must be"):
        noise_variance([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], "magic")
