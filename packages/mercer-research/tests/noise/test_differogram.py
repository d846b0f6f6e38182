"""The noise from pairs of samples, against closed forms, brute force and draws of known noise."""

import numpy as np
import pytest

from mercer_research.noise import DifferogramCloud, differogram_noise
from mercer_research.noise.differogram import nearest_pairs


def sinc(x):
    return np.sinc(x)


def wahba(x):
    return 4.26 * (np.exp(-x) - 4.0 * np.exp(-2.0 * x) + 3.0 * np.exp(-3.0 * x))


def sample(f, low, high, n, sigma, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, n)
    return x, f(x) + sigma * rng.standard_normal(n)


def test_linear_functions_leave_the_noise_unbiased():
    values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(25)
        x = (x - x.mean()) / x.std()
        values.append(DifferogramCloud.of(x, x + rng.standard_normal(25)).fit().nugget)
    # Three standard errors of a mean of 200; independent runs had the mean .994 and spread .32.
    assert abs(np.mean(values) - 1.0) < 3 * 0.32 / np.sqrt(200)
    assert abs(np.std(values) - 0.32) < 3 * 0.32 / np.sqrt(2 * 200)


def test_the_slope_of_a_linear_function_is_half_its_square():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    fit = DifferogramCloud.of(X, X @ [2.0, 1.0, 0.0], standardize=False).fit()
    # Isotropic differences: slope |w|^2 / 2D, here 5/6. The variance of w'x over 400 samples is
    # known to sqrt(2 / 400), and so is that of all features.
    np.testing.assert_allclose(fit.slope, 5.0 / 6.0, rtol=3 * np.sqrt(2 / 400))


@pytest.mark.parametrize("f", [sinc, wahba])
def test_all_pairs_of_a_bounded_function_overestimate_and_close_ones_do_not(f):
    low, high = (-3, 3) if f is sinc else (0, 3.25)
    x, y = sample(f, low, high, 300, 0.1, 0)
    with pytest.warns(UserWarning, match="smaller neighbourhood"):
        wide = differogram_noise(x, y, neighbourhood=1.0)
    near = differogram_noise(x, y)
    assert wide.value > 0.025
    assert abs(near.value - 0.01) < 3 * near.std


def test_the_saturating_curve_needs_no_neighbourhood():
    x, y = sample(wahba, 0, 3.25, 120, 0.1, 0)
    cloud = DifferogramCloud.of(x, y)
    assert cloud.fit(model="gaussian").nugget < 0.5 * cloud.fit().nugget


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_the_nugget_is_a_weighted_sum_of_pairs(degree):
    x, y = sample(wahba, 0, 3.25, 80, 0.3, 3)
    cloud = DifferogramCloud.of(x, y).near(0.1)
    fit = cloud.fit(degree)
    assert fit.nugget > 0
    # Lemma A.2: the mean of what the rising part does not explain.
    rising = fit(cloud.squares) - fit.nugget
    np.testing.assert_allclose(fit.weights @ (cloud.halves - rising), fit.nugget, rtol=1e-7)
    np.testing.assert_allclose(fit.functional @ cloud.halves, fit.nugget, rtol=1e-7)
    np.testing.assert_allclose(fit.functional.sum(), 1.0, rtol=1e-10)


def test_the_jackknife_is_leaving_samples_out():
    x, y = sample(sinc, -3, 3, 30, 0.2, 0)
    cloud = DifferogramCloud.of(x, y).near(0.3)
    fit = cloud.fit()
    left = []
    for i in range(30):
        kept = (cloud.first != i) & (cloud.second != i)
        w = fit.functional[kept] / fit.functional[kept].sum()
        left.append(w @ cloud.halves[kept])
    np.testing.assert_allclose(fit.std, np.sqrt(29 * np.var(left)), rtol=1e-10)


def test_bins_hold_every_pair():
    x, y = sample(sinc, -3, 3, 40, 0.2, 0)
    cloud = DifferogramCloud.of(x, y)
    bins = cloud.binned(12)
    assert bins.count.sum() == 40 * 39 / 2
    np.testing.assert_allclose(bins.count @ bins.halves, cloud.halves.sum())
    assert np.all(np.diff(bins.edges) > 0)
    assert np.all(np.diff(bins.quartiles, axis=1) >= 0)


def test_neighbours_are_those_of_brute_force():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[7] = X[3]
    pairs = nearest_pairs(X, 4, 10**6)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(D, np.inf)
    wanted = {tuple(sorted((i, j))) for i in range(50) for j in np.argsort(D[i])[:4]}
    assert set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == wanted
    np.testing.assert_allclose(pairs.squares, D[pairs.first, pairs.second] ** 2, atol=1e-14)


def test_large_samples_take_few_pairs_and_always_the_same():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 5000)
    y = np.sin(x) + 0.2 * rng.standard_normal(5000)
    one, two = (differogram_noise(x, y, neighbourhood=10, max_pairs=30_000) for _ in range(2))
    assert one.value == two.value
    assert len(one.details["cloud"].squares) <= 30_000
    assert abs(one.value - 0.04) < 3 * one.std


def test_known_noise_is_found():
    found = [differogram_noise(*sample(wahba, 0, 3.25, 200, 0.1, k)) for k in range(5)]
    values, stds = (np.array([getattr(f, name) for f in found]) for name in ("value", "std"))
    # Five draws, each within its standard deviation or so; a tenth is what curvature may add.
    assert abs(values.mean() - 0.01) < 3 * stds.mean() / np.sqrt(5) + 0.1 * 0.01
    # Var of a variance of m degrees of freedom is 2/m; m lies between n and n / 6.
    assert 0.5 * np.sqrt(2 / 200) < stds.mean() / 0.01 < np.sqrt(6 * 2 / 200)


def test_shift_scale_and_order_are_respected():
    x, y = sample(wahba, 0, 3.25, 60, 0.1, 0)
    value = differogram_noise(x, y).value
    order = np.random.default_rng(1).permutation(60)
    moved = differogram_noise(7.0 + 100.0 * x[order], 5.0 - 3.0 * y[order]).value
    # Sums in another order, and features in units of their spread.
    np.testing.assert_allclose(moved, 9.0 * value, rtol=1e-7)


def test_bad_samples_are_refused():
    with pytest.raises(ValueError, match="fewer than three"):
        differogram_noise([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="share must be"):
        DifferogramCloud.of([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).near(0.0)
