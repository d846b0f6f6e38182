"""Starts of curves and centres of cells, from their definitions."""

from types import SimpleNamespace

import numpy as np

from mercer.manifold.centres import centre_of
from mercer.manifold.contrasts import Contrast
from mercer.manifold.curve import _ranks
from mercer.manifold.distortions import SquaredDistortion
from mercer.manifold.sparse_features import _scores


def test_starts_are_ranks_along_directions_between_the_axes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 2)) * [3.0, 1.0]
    X -= X.mean(axis=0)
    axes = np.linalg.svd(X, full_matrices=False)[2]
    starts = _ranks(X, np.ones(41), 4)
    assert len(starts) == 3
    # The second of three directions is a right angle away from the first axis.
    ranks = np.argsort(np.argsort(X @ axes[1]))
    share = (2.0 * (ranks + 0.5) / 41 - 1.0)[:, None]
    assert np.allclose(starts[1], share) or np.allclose(starts[1], -share)
    # And the first is halfway between both.
    halves = [X @ (axes[0] + sign * axes[1]) for sign in (1, -1)]
    first = [(2.0 * (np.argsort(np.argsort(h)) + 0.5) / 41 - 1.0)[:, None] for h in halves]
    assert any(np.allclose(starts[0], sign * one) for one in first for sign in (1, -1))


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
