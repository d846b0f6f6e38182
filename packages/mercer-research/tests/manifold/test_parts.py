"""Centres of cells and scores of directions, from their definitions."""

from types import SimpleNamespace

import numpy as np

from mercer.manifold.distortions import SquaredDistortion
from mercer_research.manifold.centres import centre_of
from mercer_research.manifold.contrasts import Contrast
from mercer_research.manifold.sparse_features import _scores


def test_a_mean_is_the_least_of_squares_exactly():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(20, 3)), rng.uniform(0.5, 2.0, 20)
    centre = centre_of(SquaredDistortion(), X, s, np.zeros(3))
    np.testing.assert_allclose(centre.point, np.average(X, axis=0, weights=s), rtol=1e-12)
    assert centre.gap == 0.0


def test_a_contrast_that_is_not_even_is_tried_on_both_sides():
    rng = np.random.default_rng(0)
    n = 15
    L = rng.exponential(size=(n, 3)) - 1.0
    K, w = L @ L.T, np.full(n, 1.0 / n)
    rows = SimpleNamespace(m=n, blocks=lambda: [(slice(0, n), K)])
    contrast = Contrast(np.exp, np.exp)
    scores, signs, means = _scores(
        rows, w, np.zeros((n, 0)), np.diagonal(K), contrast, center=True, normalize=False
    )
    plain = K - K.mean(axis=1)[:, None]
    both = np.stack([np.exp(plain).mean(axis=1), np.exp(-plain).mean(axis=1)])
    np.testing.assert_allclose(means, K.mean(axis=1))
    np.testing.assert_allclose(scores, both.max(axis=0))
    np.testing.assert_array_equal(signs, np.where(both[1] > both[0], -1.0, 1.0))
    assert set(signs) == {-1.0, 1.0}
