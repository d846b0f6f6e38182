"""Bounds of the ladder computed a second time, from kernel values and the rows of each half."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

from mercer import SVC
from mercer.kernels import Gaussian
from mercer_research.risk_bounds import audit, randomized_machine_bound
from mercer_research.risk_bounds.all_bounds import (
    MAX_ROWS_FOLDED,
    N_CLASSIFIER_BOUNDS,
    ReportSample,
    ladder,
)
from mercer_research.risk_bounds.certified_svc import Scale


def rungs_of(model, X, y, **how):
    rungs = ladder(model, ReportSample(X, y), audit(model, X, y), **{"cv": None, **how})
    return {rung.name: rung for rung in rungs}


def expansion(machine, X):
    """Return coefficients of a fitted machine on the rows it was fitted to, and its constant."""
    a = np.zeros(len(X))
    a[machine.support_] = np.ravel(machine.dual_coef_)
    return a, float(np.ravel(machine.intercept_)[0])


@pytest.mark.parametrize("n", [400, 401])
def test_the_prior_of_one_half_is_counted_on_the_other(n):
    X, y = make_moons(n, noise=0.2, random_state=1)
    machine = SVC(gamma=1.0).fit(X, y)
    found = rungs_of(machine, X, y, random_state=3)["PAC-Bayes, prior from half"].bound
    order = np.random.default_rng(3).permutation(n)
    first, second = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    assert not set(first) & set(second)
    prior = SVC(gamma=1.0).fit(X[first], y[first])
    # One more coordinate, a quarter for every row, holds the constant.
    unit = 0.25
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    a, b = expansion(machine, X)
    part, c = np.zeros(n), 0.0
    part[first], c = expansion(prior, X[first])
    length = np.sqrt(a @ K @ a + (b / unit) ** 2)
    cosine = (a @ K @ part + b * c / unit**2) / length
    cosine /= np.sqrt(part @ K @ part + (c / unit) ** 2)
    margins = np.where(y == 1, 1, -1) * (K @ a + b) / length / np.sqrt(1.0 + unit**2)
    again = randomized_machine_bound(
        margins[second], cosine=cosine, choices=N_CLASSIFIER_BOUNDS, trivial=found.trivial
    )
    assert found.value == pytest.approx(again.value, rel=1e-9)
    assert found.value < 1.0


def test_a_search_of_two_settings_is_paid_for_and_one_setting_is_free():
    X, y = make_moons(60, noise=0.2, random_state=1)
    search = GridSearchCV(SVC(gamma=1.0), {"C": [1.0, 10.0]}, cv=2).fit(X, y)
    assert "Paid for 2 settings" in rungs_of(search, X, y)["compression"].why
    assert "Paid" not in rungs_of(search.best_estimator_, X, y)["compression"].why


def test_the_kernel_used_above_is_the_machine_s():
    X = make_moons(5, random_state=0)[0]
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    np.testing.assert_allclose(Gaussian(np.sqrt(0.5))(X), K, rtol=1e-12)


def test_as_many_rows_as_are_folded_by_default_are_folded(monkeypatch):
    monkeypatch.setattr("mercer_research.risk_bounds.all_bounds.MAX_ROWS_FOLDED", 40)
    assert MAX_ROWS_FOLDED > 40
    X, y = make_moons(41, noise=0.2, random_state=1)
    for n, status in ((40, "estimate"), (41, "not there")):
        machine = SVC(gamma=1.0).fit(X[:n], y[:n])
        assert rungs_of(machine, X[:n], y[:n], cv="auto")["cross-validation"].status == status


def test_settings_that_no_search_chose_are_not_known_to_be_untouched():
    # Somebody may have chosen them by hand, with the held-out rows in sight.
    X, y = make_moons(60, noise=0.2, random_state=0)
    rows = X[:40], y[:40], X[40:], y[40:]
    search = GridSearchCV(SVC(gamma=1.0), {"C": [1.0, 10.0]}, cv=2).fit(*rows[:2])
    # A search that saw the training rows only may have been given a grid chosen by others.
    for model in (SVC(gamma=1.0).fit(*rows[:2]), search):
        assert audit(model, *rows).held_out["settings"].status == "assumed"


def test_columns_that_do_not_vary_keep_their_unit():
    X = np.c_[np.arange(6.0), np.full(6, 3.0)]
    scale = Scale.of(X)
    np.testing.assert_allclose(scale.scale, [np.std(np.arange(6.0)), 1.0])
    apart = [abs(i - j) for i in range(6) for j in range(i)]
    assert scale.unit == pytest.approx(np.median(apart) / np.std(np.arange(6.0)))
    assert Scale.of(np.ones((1, 2))).unit == 1.0
