"""What intervals are worth: the report of a machine, and the bound of tubes."""

import numpy as np

from mercer import LSSVR
from mercer.estimators import SupportVectorTube
from mercer.inspect import coverage_report


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sinc(X[:, 0]) + rng.uniform(-0.2, 0.2, n)


def test_report_of_machines():
    X, y = draw(150, 0)
    Z, v = draw(300, 1)
    report = coverage_report(LSSVR(C=10.0).fit(X, y), Z, v, 0.8, groups=Z[:, 0] > 0)
    assert report.test.level == 0.8
    assert {g.n for g in report.groups} == {int(np.sum(Z > 0)), int(np.sum(Z <= 0))}
    tube = SupportVectorTube(mu=5.0).fit(X, y)
    low, high = tube.predict_interval(Z).T
    assert coverage_report(tube, Z, v).coverage == np.mean((low <= v) & (v <= high))
