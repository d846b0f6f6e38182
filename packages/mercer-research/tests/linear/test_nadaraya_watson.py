"""Local averages: convex combinations, limits of the width, leave-one-out by refits."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Matern, Polynomial
from mercer_research.linear import NadarayaWatson


def sample(n=40):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, n))
    return x[:, None], np.sinc(x) + 0.1 * rng.standard_normal(n)


def test_is_a_convex_combination():
    X, y = sample()
    grid = np.linspace(-5, 5, 200)[:, None]
    f = NadarayaWatson(Matern(0.2), length_scale=None).fit(X, y).predict(grid)
    assert f.min() >= y.min()
    assert f.max() <= y.max()
    assert NadarayaWatson().fit(X, np.full(40, 2.5)).predict(grid) == pytest.approx(2.5)


def test_limits_of_the_width():
    X, y = sample()
    wide = NadarayaWatson(length_scale=1e6).fit(X, y)
    assert wide.predict(X) == pytest.approx(np.full(40, y.mean()))
    narrow = NadarayaWatson(length_scale=1e-4).fit(X, y)
    assert narrow.predict(X) == pytest.approx(y)


def test_the_formula():
    X, y = sample()
    s = np.random.default_rng(1).uniform(0.5, 2, 40)
    model = NadarayaWatson(length_scale=0.4).fit(X, y, sample_weight=s)
    weights = s * np.exp(-0.5 * (0.3 - X[:, 0]) ** 2 / 0.4**2)
    assert model.predict([[0.3]])[0] == pytest.approx(weights @ y / weights.sum())


def test_leave_one_out_by_refits():
    X, y = sample()
    model = NadarayaWatson(length_scale=0.3).fit(X, y)
    errors = [
        y[i] - NadarayaWatson(length_scale=0.3).fit(*_without(X, y, i)).predict(X[i : i + 1])[0]
        for i in range(40)
    ]
    assert model.loo_error_ == pytest.approx(np.mean(np.square(errors)), rel=1e-12)


def _without(X, y, i):
    keep = np.arange(len(y)) != i
    return X[keep], y[keep]


def test_automatic_width_is_the_best():
    X, y = sample()
    model = NadarayaWatson().fit(X, y)
    widths = np.geomspace(0.01, 20, 300)
    errors = [NadarayaWatson(length_scale=h).fit(X, y).loo_error_ for h in widths]
    assert model.loo_error_ <= min(errors) * (1 + 1e-9)
    assert model.kernel_ == Gaussian(model.length_scale_)


def test_weights_repeat():
    X, y = sample()
    s = np.random.default_rng(3).integers(1, 4, 40)
    many = np.repeat(np.arange(40), s)
    for width in (0.05, 0.3, 1.0):
        one, other = NadarayaWatson(length_scale=width), NadarayaWatson(length_scale=width)
        one.fit(X, y, sample_weight=s)
        other.fit(X[many], y[many])
        assert one.loo_error_ == pytest.approx(other.loo_error_, rel=1e-9)
        assert one.predict(X) == pytest.approx(other.predict(X))


def test_far_away():
    X, y = sample()
    far = [[1e9]]
    assert NadarayaWatson(length_scale=0.1).fit(X, y).predict(far)[0] == pytest.approx(y[-1])
    assert np.isnan(NadarayaWatson(length_scale=0.1, far="nan").fit(X, y).predict(far)[0])


def test_all_samples_at_one_place():
    model = NadarayaWatson().fit(np.ones((4, 2)), np.arange(4.0))
    assert model.predict([[1.0, 1.0]]) == pytest.approx([1.5])


def test_refused():
    X, y = sample()
    with pytest.raises(ValueError, match="no length_scale"):
        NadarayaWatson(Linear()).fit(X, y)
    with pytest.raises(ValueError, match="negative somewhere"):
        NadarayaWatson(Polynomial(3), length_scale=None).fit(X, y)
    with pytest.raises(ValueError, match="zero for all samples"):
        NadarayaWatson().fit(X, y, sample_weight=np.zeros(40))
