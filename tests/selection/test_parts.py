"""Starts of a descent, paths of one value and samples without weight, each on its own."""

from types import SimpleNamespace

import numpy as np

from mercer import SVC
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import SquaredHinge
from mercer.machines.leaf_settings import left_out
from mercer.problems import RegularizedRisk
from mercer.selection import svm_path
from mercer.selection.hypergradient import _free
from mercer.selection.local_tuning import PARTS, _parts
from mercer.selection.objective import ALIKE, Objective
from mercer.selection.polishing import BETTER, polish
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


def test_a_path_of_one_value_is_the_machine_of_that_value():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] + 0.3 * X[:, 1] > 0
    path = svm_path(SVC(gamma=1.0), X, y, Cs=[2.0], exact=True)
    machine = SVC(gamma=1.0, C=2.0, tol=1e-8).fit(X, y)
    a = np.zeros(30)
    a[machine.support_] = np.ravel(machine.dual_coef_)
    assert path.coefs.shape == (1, 30)
    np.testing.assert_allclose(path.coefs[0], a, atol=1e-4)


def test_samples_without_weight_are_not_free():
    y, c = np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.0, 2.0, 0.5, 0.0])
    risk = RegularizedRisk(SquaredHinge(), Dense(np.eye(4)), y, c)
    free, curvature = _free(risk, np.array([0.0, -0.3, 0.2, 0.0]))
    np.testing.assert_array_equal(free, c > 0)
    # The conjugate of half a squared hinge bends by 1 over the weight.
    np.testing.assert_allclose(curvature[free], 1.0 / c[c > 0])


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
