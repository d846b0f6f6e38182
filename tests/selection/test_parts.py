"""Starts of a descent and what it takes, each on its own."""

from types import SimpleNamespace

import numpy as np

from mercer.kernels import Gaussian
from mercer.machines.leaf_settings import left_out
from mercer.selection.local_tuning import BETTER, PARTS, _parts, polish
from mercer.selection.objective import ALIKE, Objective
from mercer.selection.space import Space


def starts(values):
    """Return where a descent starts, for scores of (settings, ratios)."""
    curves = iter(values)
    fake = SimpleNamespace(
        limits=SimpleNamespace(clip=lambda theta: theta),
        ratios=np.exp(np.arange(values.shape[1], dtype=float)),
        curve=lambda few, theta, ratios, stage, flag: next(curves),
    )
    thetas = [np.array([float(row), 0.0]) for row in range(len(values))]
    found = Objective.starts(fake, None, thetas)
    return [(value, int(theta[0]), round(theta[1])) for value, theta in found]


def test_descents_start_at_valleys_that_are_apart():
    wide = 2 * ALIKE + 6
    values = np.full((4, wide), 9.0) + np.abs(np.arange(wide) - 1.0)
    values[0, 1] = 1.0
    values[1, ALIKE + 1] = 2.0  # beside the first by one setting, and by so many ratios
    values[1, ALIKE + 3] = 3.0  # and by more
    values[3, 1] = 4.0  # three settings away
    found = starts(values)
    assert (1.0, 0, 1) in found
    assert (2.0, 1, ALIKE + 1) not in found
    assert (3.0, 1, ALIKE + 3) in found
    assert (4.0, 3, 1) in found
    assert found == sorted(found)


def test_polishing_only_takes_what_is_better():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (60, 1))
    Y = np.sin(2 * X) + 0.1 * rng.normal(size=(60, 1))
    part = SimpleNamespace(X=X, B=np.ones((60, 1)), weights=np.ones(60), Y=Y)

    def score(kernel, C):
        return left_out(np.asarray(kernel(X)), part.B, part.weights, C, Y)

    kernel, C, moved = polish(Space.of(Gaussian(1.5), 1), 1.0, [part])
    assert moved
    assert score(kernel, C) < score(Gaussian(1.5), 1.0) - BETTER
    # A second run from there finds nothing that is better by as much.
    again, weight, _ = polish(Space.of(kernel, 1), C, [part])
    assert score(again, weight) <= score(kernel, C)
    for width, factor in ((2.0, 1.0), (0.5, 1.0), (1.0, 2.0), (1.0, 0.5)):
        near = Gaussian(width * again.length_scale)
        assert score(near, factor * weight) >= score(again, weight) - BETTER


def test_so_many_parts_are_looked_at():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    whole = SimpleNamespace(n=2000, X=X, Y=np.sin(9 * X[:, :1]))
    parts = _parts(whole, Gaussian(), 100, np.random.default_rng(1))
    assert len(parts) == PARTS
    for part in parts:
        assert 1 < len(part) <= 100
        assert np.all(np.diff(part) > 0)
    assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))
