"""Covering numbers of a fitted machine are those of its kernel, and its bound is judged."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR
from mercer.kernels import Gaussian, Matern
from mercer_research.covering import (
    Best,
    Cube,
    HilbertBall,
    KernelBall,
    covering_bound,
    covering_report,
    margin_bound,
    matched_kernel,
)
from mercer_research.covering import report as report_module
from mercer_research.covering.report import class_covering

X, Y = make_moons(160, noise=0.25, random_state=0)


def test_the_curve_is_that_of_the_ball():
    report = covering_report(SVC(gamma=1.0).fit(X, Y), X, Y)
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    ball = KernelBall.from_gram(K, norm=report.size.norm)
    again = [ball.log_covering(radius) for radius in report.radii]
    np.testing.assert_allclose(report.log_covering, again, rtol=1e-6)
    assert report.log_covering_at_precision == pytest.approx(ball.log_covering(1.0), rel=1e-6)
    assert np.all(np.diff(report.log_covering) >= 0)
    assert np.all(report.log_lower <= report.log_covering + 1e-12)


def test_many_rows_are_covered_by_bounds_above_the_exact_lower_ones(monkeypatch):
    kernel = Gaussian(1.0)
    exact = class_covering(kernel, X, 4.0)
    monkeypatch.setattr(report_module, "MAX_ROWS_DECOMPOSED", 100)
    held = class_covering(kernel, X, 4.0)
    monkeypatch.setattr(report_module, "HELD", 100)
    streamed = class_covering(kernel, X, 4.0)
    for radius in np.geomspace(4.0, 0.01, 20):
        # The lower bound is 1e-16 instead of 0 where one ball suffices.
        least = exact.log_lower(radius) - 1e-12
        assert min(held.log_covering(radius), streamed.log_covering(radius)) >= least


def test_the_bound_is_the_least_of_its_margins_each_with_its_part():
    margins = np.full(100_000, 0.9)
    single = margin_bound(
        lambda m: Best([HilbertBall(m), Cube(m)]), 2**-0.5, len(margins), 0.05 / 6, empirical=0.0
    )
    assert covering_bound(margins).value <= single.value
    # At the largest margin all rows are errors.
    assert covering_bound(margins).value == pytest.approx(single.value)


def test_a_bound_of_rows_that_scaled_the_machine_is_refused():
    model = make_pipeline(StandardScaler(), SVC(gamma=1.0)).fit(X, Y)
    assert not covering_report(model, X, Y).bound.valid
    assert covering_report(SVC(gamma=1.0).fit(X, Y), X, Y).bound.valid


def test_a_regressor_has_no_bound_and_a_forest_no_class():
    report = covering_report(SVR(gamma=1.0).fit(X, X[:, 0]), X, X[:, 0], against=Matern(nu=2.5))
    assert report.bound is None
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="no single function of a kernel"):
        covering_report(forest, X, Y)


def test_a_matched_kernel_is_as_rich():
    match = matched_kernel(Gaussian(0.8), Matern(nu=1.5), X[:100], norm=3.0, precision=0.5)
    ours, theirs = (
        class_covering(kernel, X[:100], 3.0).log_covering(match.radius)
        for kernel in (Gaussian(0.8), match.kernel)
    )
    assert theirs == pytest.approx(ours, rel=1e-4)
    assert match.kernel == Matern(match.factor, nu=1.5)


def test_a_matched_kernel_needs_a_width():
    Z, labels = make_classification(60, random_state=0)
    report = covering_report(SVC(kernel="linear").fit(Z, labels), Z, labels)
    assert report.matched is None
