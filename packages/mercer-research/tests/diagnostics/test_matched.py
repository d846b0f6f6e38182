"""Margins of classifiers: definitions, canonical planes, radii by search, the best rule."""

import numpy as np
import pytest

from mercer import SVC
from mercer.estimators import SparseClassifier
from mercer.kernels import Gaussian
from mercer_research.diagnostics import TwoGaussians, match_errors
from mercer_research.estimators import AdaptiveMarginSVC

CLASSES = TwoGaussians([1.0, 0.5], [-1.0, 0.0], [[1.0, 0.3], [0.3, 0.5]])
X, Y = CLASSES.draw(80, 0)


def test_the_best_rule():
    u = np.linspace(-9.0, 9.0, 181)
    grid = np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)
    # The rectangle rule is exact to rounding for a Gaussian seen over nine standard deviations.
    assert CLASSES.density(grid, 1).sum() * 0.1**2 == pytest.approx(0.5, abs=1e-9)
    points = np.random.default_rng(1).normal(size=(20, 2))
    ratio = np.log(CLASSES.density(points, 1) / CLASSES.density(points, -1))
    np.testing.assert_allclose(CLASSES.decision(points), ratio, rtol=1e-9)
    assert CLASSES.decision([[0.0, 0.25]])[0] == pytest.approx(0.0, abs=1e-12)
    Z, labels = CLASSES.draw(200_000, 1)
    wrong = np.mean(np.sign(CLASSES.decision(Z)) != labels)
    # Four standard errors of a share of 200,000 draws.
    assert wrong == pytest.approx(CLASSES.error, abs=4 * np.sqrt(0.25 / 200_000))
    assert TwoGaussians([1.0, 0.0], [-1.0, 0.0]).error == pytest.approx(0.158655, abs=1e-6)


def test_matched_errors():
    families = {
        "norm": (SVC(kernel=Gaussian(0.7)), "C", [0.01, 0.1, 1.0, 10.0, 1e3]),
        "sum": (SparseClassifier(kernel=Gaussian(0.7)), "C", [0.1, 1.0, 10.0]),
        "adaptive": (AdaptiveMarginSVC(kernel=Gaussian(0.7)), "lam", [8.0, 4.0, 2.0, 1.0, 0.5]),
    }
    Z, labels = CLASSES.draw(500, 3)
    matched = match_errors(families, X, Y, error=0.1, X_test=Z, y_test=labels)
    for found, (estimator, key, values) in zip(matched, families.values(), strict=True):
        others = [
            1 - estimator.set_params(**{key: value}).fit(X, Y).score(X, Y) for value in values
        ]
        assert abs(found.error - 0.1) == pytest.approx(min(abs(e - 0.1) for e in others))
        assert 0 < found.test_error < 0.5
        assert found.support == len(found.machine.support_)
        assert found.total == pytest.approx(np.abs(found.machine.dual_coef_).sum())
    # Each is sparing with what it is charged for.
    assert matched[0].norm < matched[2].norm
    assert matched[1].total < matched[0].total
    # By default all are brought to what each of them can reach: the best of the worst family.
    level = match_errors({name: families[name] for name in ("norm", "sum")}, X, Y)
    goal = max(
        min(1 - estimator.set_params(**{key: value}).fit(X, Y).score(X, Y) for value in values)
        for estimator, key, values in (families["norm"], families["sum"])
    )
    assert min(abs(found.error - goal) for found in level) < 1e-12
    assert np.isnan(level[0].test_error)
