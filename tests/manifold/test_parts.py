"""Starts of curves, from their definition."""

import numpy as np

from mercer.manifold.curve import _ranks


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
