"""Margins of classifiers: definitions, canonical planes, radii by search, the best rule."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mercer import SVC, SVR
from mercer.inspect import margin_report
from mercer.inspect.margins import empirical_risk, robustness_radius
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import Hinge
from mercer_research.diagnostics import TwoGaussians
from mercer_research.estimators import HardMarginSVC

CLASSES = TwoGaussians([1.0, 0.5], [-1.0, 0.0], [[1.0, 0.3], [0.3, 0.5]])
X, Y = CLASSES.draw(80, 0)


def test_margins_and_their_errors():
    machine = SVC(kernel=Gaussian(1.0)).fit(X, Y)
    report = margin_report(machine, X, Y)
    margins = Y * machine.decision_function(X)
    np.testing.assert_array_equal(report.margins, margins)
    grid = np.append(np.linspace(-2, 2, 9), margins[:3])
    np.testing.assert_allclose(report.errors(grid), [np.mean(margins < rho) for rho in grid])
    assert report.errors(0.0) <= report.error == pytest.approx(1 - machine.score(X, Y))
    sizes, shares = report.distribution()
    assert np.all(np.diff(sizes) >= 0)
    assert shares[-1] == 1.0
    K, a = Gaussian(1.0)(X), np.zeros(80)
    a[machine.support_] = machine.dual_coef_[0]
    assert report.norm == pytest.approx(np.sqrt(a @ K @ a))
    assert "wrong side" in repr(report)
    given = SVC(kernel="precomputed").fit(K, Y)
    assert margin_report(given, K, Y).norm == pytest.approx(report.norm, rel=1e-3)


def test_canonical_planes_have_a_margin_of_one():
    Z = X + 3.0 * Y[:, None]
    machine = HardMarginSVC().fit(Z, Y)
    report = margin_report(machine, Z, Y)
    assert report.minimum == pytest.approx(1.0)
    assert np.min(report.geometric) == pytest.approx(machine.margins_[0], rel=1e-6)
    assert report.norm == pytest.approx(np.linalg.norm(machine.coef_))
    linear = LogisticRegression().fit(Z, Y)
    assert margin_report(linear, Z, Y).norm == pytest.approx(np.linalg.norm(linear.coef_))


@pytest.mark.parametrize("kernel", ["linear", Gaussian(1.5)], ids=str)
def test_labels_stay_within_the_radius(kernel):
    machine = SVC(kernel=kernel, C=2.0).fit(X, Y)
    radius = robustness_radius(machine, X, Y)
    right = machine.predict(X) == Y
    assert np.all(radius[~right] == 0)
    assert np.all(radius[right] > 0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        step = rng.normal(size=X.shape)
        step *= (0.999 * np.minimum(radius, 50.0) / np.linalg.norm(step, axis=1))[:, None]
        assert np.all((machine.predict(X + step) == Y)[right])
    if kernel != "linear":
        # The squared distance of features at the radius, 2 - 2 k, is that of the plane.
        values = np.exp(-((radius[right] / 1.5) ** 2) / 2)
        distance = np.sqrt(2 - 2 * values)
        geometric = margin_report(machine, X, Y).geometric[right]
        np.testing.assert_allclose(distance, np.minimum(geometric, np.sqrt(2)), rtol=1e-6)
    if kernel == "linear":  # and no further: straight across the plane
        w = machine.coef_[0] / np.linalg.norm(machine.coef_)
        across = X - 1.001 * (Y * radius)[:, None] * w
        assert np.all((machine.predict(across) != Y)[right])


def test_radii_need_a_kernel_that_they_are_known_for():
    with pytest.raises(ValueError, match="Gaussian"):
        robustness_radius(SVC(kernel=Laplacian()).fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="two classes"):
        margin_report(SVC().fit(X, np.arange(80) % 3), X, Y)


def test_risks():
    machine = SVC(kernel=Gaussian(1.0)).fit(X, Y)
    assert empirical_risk(machine, X, Y) == pytest.approx(1 - machine.score(X, Y))
    hinge = np.maximum(0, 1 - Y * machine.decision_function(X))
    assert empirical_risk(machine, X, Y, Hinge()) == pytest.approx(hinge.mean())
    s = np.arange(80.0)
    weighted = empirical_risk(machine, X, Y, Hinge(), sample_weight=s)
    assert weighted == pytest.approx(s @ hinge / s.sum())
    curve = SVR().fit(X, X[:, 0])
    assert empirical_risk(curve, X, X[:, 0]) == pytest.approx(
        0.5 * np.mean((curve.predict(X) - X[:, 0]) ** 2)
    )
    largest = empirical_risk(curve, X, X[:, 0], lambda t, f: np.abs(t - f))
    assert largest == pytest.approx(np.mean(np.abs(curve.predict(X) - X[:, 0])))
