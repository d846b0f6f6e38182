"""What intervals are worth: the report of a machine, and the bound of tubes."""

import numpy as np
import pytest

from mercer import NuSVR
from mercer.estimators import SupportVectorTube
from mercer.regularizers import Empty
from mercer_research.diagnostics import tube_risk_bound


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sinc(X[:, 0]) + rng.uniform(-0.2, 0.2, n)


def test_bound_is_its_formula():
    X, y = draw(100, 2)
    tube = SupportVectorTube(mu=5.0, exceptions=10, null_space=Empty()).fit(X, y)
    bound = tube_risk_bound(tube, X, y, 1.0, delta=0.1)
    t, f = tube.tube_halfwidth_, tube.predict(X)
    K = tube.kernel_(X)
    a = np.zeros(100)
    a[tube.support_] = tube.dual_coef_[0]
    gap = 100 * (1.0 - t)
    assert bound.empirical == pytest.approx(np.maximum(abs(y - f) - t, 0).sum() / gap, rel=1e-9)
    assert bound.complexity == pytest.approx(4 * np.sqrt(a @ K @ a) * 10 / gap, rel=1e-6)
    assert bound.confidence == pytest.approx(3 * np.sqrt(np.log(20) / 200))
    # A larger machine of nu-regression is a tube too.
    nu = NuSVR(nu=0.1, C=0.5, null_space=Empty()).fit(X, y)
    assert tube_risk_bound(nu, X, y, 1.0).halfwidth == nu.epsilon_


def test_bound_falls_with_the_sample_and_holds():
    values = []
    for n in (100, 400, 1600):
        X, y = draw(n, 3)
        tube = SupportVectorTube(mu=2.0, null_space=Empty()).fit(X, y)
        bound = tube_risk_bound(tube, X, y, 1.5)
        values.append(bound.value)
        Z, v = draw(4000, 4)
        assert np.mean(np.abs(v - tube.predict(Z)) > 1.5) <= bound.value
    assert values[0] > values[1] > values[2]
    assert not bound.vacuous
    assert tube_risk_bound(tube, X, y, 1.5, delta=0.01).value > bound.value


def test_what_cannot_be_is_refused():
    X, y = draw(50, 5)
    tube = SupportVectorTube(mu=1.0, null_space=Empty()).fit(X, y)
    with pytest.raises(ValueError, match="exceed"):
        tube_risk_bound(tube, X, y, 0.0)
    with pytest.raises(ValueError, match="delta"):
        tube_risk_bound(tube, X, y, 9.0, delta=0.0)
    with pytest.raises(ValueError, match="Empty"):
        tube_risk_bound(SupportVectorTube(mu=1.0).fit(X, y), X, y, 9.0)
