"""Differograms of processes whose covariance is known."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Matern
from mercer_research.kernels import RadialBSpline
from mercer_research.series.differogram import _fit, covariance_from_differogram

SHAPES = {
    "gaussian": Gaussian(1.5),
    "exponential": Matern(1.5, nu=0.5),
    "matern": Matern(1.5, nu=1.5),
    "spherical": RadialBSpline(1.5, dim=3),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_exact_differogram_is_recovered(shape):
    """The difference v - rho at all distances gives back nugget, sill and width."""
    d = np.linspace(0.05, 12.0, 200)
    rho = 2.0 * SHAPES[shape](np.zeros((1, 1)), d[:, None])[0]
    found = _fit(shape, d, 2.3 - rho, np.ones(200))
    assert found.nugget == pytest.approx(0.3, abs=1e-5)
    assert found.partial_sill == pytest.approx(2.0, abs=1e-5)
    assert found.length_scale == pytest.approx(1.5, rel=1e-5)
    assert pytest.approx(2.3, abs=1e-5) == found.sill
    assert pytest.approx(2.0 / 0.3, rel=1e-4) == found.C
    np.testing.assert_allclose(found(d), 2.3 - rho, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.covariance(d[:1, None]), [[2.0]], atol=1e-5)


def process(kernel, noise, n=350, seed=0, features=2, side=25.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, side, size=(n, features))
    return X, np.linalg.cholesky(kernel(X) + noise * np.eye(n)) @ rng.normal(size=n)


def test_scattered_data_in_the_plane():
    found = [
        covariance_from_differogram(*process(2.0 * Gaussian(1.5), 0.2, seed=seed))
        for seed in range(8)
    ]
    # About 100 patches of independent values each: sills vary by sqrt(2/100), 14 %, and the means
    # of eight by a third of that. The nugget rests on the few pairs nearer than a width.
    assert np.mean([f.sill for f in found]) == pytest.approx(2.2, rel=0.15)
    assert np.mean([f.length_scale for f in found]) == pytest.approx(1.5, rel=0.15)
    assert np.mean([f.nugget for f in found]) == pytest.approx(0.2, abs=0.1)


def test_shapes_are_chosen_by_their_residual():
    X, y = process(2.0 * Gaussian(1.5), 0.4, n=500)
    auto = covariance_from_differogram(X, y, shape="auto")
    every = [covariance_from_differogram(X, y, shape=shape) for shape in SHAPES]
    assert auto.residual == min(f.residual for f in every)
    # A cusp explains noise as roughness: its nugget is the smaller one.
    gaussian, exponential = every[0], every[1]
    assert exponential.nugget < gaussian.nugget


def test_pairs_are_drawn_where_there_are_many():
    X, y = process(2.0 * Gaussian(1.5), 0.2)
    every = covariance_from_differogram(X, y)
    some = covariance_from_differogram(X, y, max_pairs=30_000, random_state=0)
    assert some.sill == pytest.approx(every.sill, rel=0.2)
    assert some.length_scale == pytest.approx(every.length_scale, rel=0.2)
    near = covariance_from_differogram(X[:, 0], y, max_distance=5.0)
    assert near.distances.max() <= 5.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: covariance_from_differogram(np.ones((3, 1)), np.ones(4)), "4 rows"),
        (lambda: covariance_from_differogram(np.arange(4), np.ones(4), shape="round"), "'auto'"),
        (lambda: covariance_from_differogram(np.ones(4), np.ones(4)), "fewer than three"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
