"""Choice of weight, width and nodes by held-out distortion; deterministic annealing."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifold.test_principal_manifold import wave
from mercer.data.arrays import Arrays
from mercer.manifold import Interval, PrincipalManifold
from mercer_research.manifold import PrincipalManifoldCV, principal_manifold_cv
from mercer_research.manifold.annealing import _shares, annealed_coordinates
from mercer_research.manifold.principal_manifold_cv import follow

QUICK = PrincipalManifold(Interval(8), max_iter=200, tol=1e-3)


@parametrize_with_checks(
    [PrincipalManifoldCV(PrincipalManifold(1, max_iter=9, tol=0.1), lams=[0.1, 0.01], cv=2)]
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


def test_the_choice_is_the_best_of_refits_on_the_same_folds():
    X, lams, widths = wave(60), [1.0, 0.1, 0.01], (1.0, 2.0)
    folds = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    found = PrincipalManifoldCV(QUICK, lams=lams, widths=widths, cv=folds).fit(X)
    table = []
    for width in widths:
        made = PrincipalManifold(Interval(8), width=width, max_iter=200, tol=1e-3)
        for k in range(3):
            costs = []
            for train, test in folds:
                *_, (functional, end) = follow(made, X[train], np.ones(40), np.array(lams[: k + 1]))
                grid = functional.basis(np.linspace(-1, 1, 4001)[:, None])
                images = functional.images(grid @ end.W)
                costs.append(
                    ((X[test][:, None] - images[None]) ** 2).sum(axis=2).min(axis=1).mean()
                )
            table.append(np.mean(costs))
    # Four thousand points along the curve are as good as its nearest one to six digits.
    assert_allclose(found.cv_results_["mean_test_distortion"], table, rtol=1e-4)
    best = int(np.argmin(table))
    assert found.best_params_["lam"] == found.cv_results_["lam"][best]
    assert found.best_params_["width"] == found.cv_results_["width"][best]
    assert found.best_score_ == -found.cv_results_["mean_test_distortion"][best]
    assert_array_equal(found.transform(X), found.best_estimator_.embedding_)
    assert_allclose(found.score(X), -found.best_estimator_.distortion(X).mean())


def test_weights_have_no_unit():
    """Nor do held-out rows all need one."""
    X, s = wave(60), np.random.default_rng(0).uniform(0.5, 2.0, 60)
    s[:10] = 0.0
    folds = [(np.arange(10, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    tables = []
    for unit in (2.0**-10, 1.0):
        found = PrincipalManifoldCV(QUICK, lams=[0.1, 0.01], cv=folds).fit(
            X, sample_weight=unit * s
        )
        tables.append(found.cv_results_["mean_test_distortion"])
    # Powers of two change no digit of an average.
    assert_allclose(tables[0], tables[1], rtol=1e-12)


def test_many_features_and_few_rows_are_not_fitted_loosely():
    """In twenty dimensions no curve fills the noise, and new rows punish one that follows it."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, 330)
    X = np.c_[t, np.sin(np.pi * t), np.zeros((330, 18))] + 0.3 * rng.normal(size=(330, 20))
    made = PrincipalManifold(Interval(25), max_iter=100, tol=1e-3)
    lams = np.array([1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5])
    found = PrincipalManifoldCV(made, lams=lams, cv=3).fit(X[:30])
    errors = [
        functional.projector(end.W)(functional.rows(X[30:])).cost.mean()
        for functional, end in follow(made, X[:30], np.ones(30), lams)
    ]
    assert -found.score(X[30:]) < 1.05 * min(errors)
    assert -found.score(X[30:]) < errors[-1]
    assert int(np.argmin(errors)) < len(lams) - 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_folds_share_a_limit_and_leave_time_for_the_last_fit(monkeypatch):
    now, descend = [0.0], principal_manifold_cv.descend

    def slow(*args, **kwargs):
        now[0] += 1.0
        return descend(*args, **kwargs)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(principal_manifold_cv, "descend", slow)
    X, lams = wave(60), [1.0, 0.1, 0.01, 0.001]
    found = PrincipalManifoldCV(QUICK, lams=lams, cv=2, max_time=8.0).fit(X)
    # Two folds with a quarter each, the path on all rows with half of the rest.
    assert now[0] <= 6.0
    distortion = found.cv_results_["mean_test_distortion"]
    assert_array_equal(np.isfinite(distortion), [True, True, False, False])
    unlimited = PrincipalManifoldCV(QUICK, lams=lams[:2], cv=2).fit(X)
    assert distortion[0] == unlimited.cv_results_["mean_test_distortion"][0]
    assert found.best_params_ == unlimited.best_params_
    now[0] = 0.0
    found = PrincipalManifoldCV(QUICK, lams=lams, cv=2, max_time=1e-9).fit(X)
    assert now[0] == 3.0
    assert found.best_params_["lam"] == 1.0


def test_rows_in_blocks_are_refused():
    with pytest.raises(ValueError, match="cannot come in blocks"):
        PrincipalManifoldCV().fit(Arrays(wave()))
    with pytest.raises(ValueError, match="positive numbers"):
        PrincipalManifoldCV(QUICK, lams=[0.0]).fit(wave())


def test_shares_of_annealing_are_those_of_boltzmann():
    """exp(-d / T) over its sum, with distances in the cells that are known."""
    rng = np.random.default_rng(0)
    X, F, T = rng.normal(size=(6, 3)), rng.normal(size=(4, 3)), 0.3
    mask = (rng.uniform(size=X.shape) < 0.7).astype(float)
    distances = np.sum(mask[:, None] * (X[:, None] - F) ** 2, axis=2)
    expected = np.exp(-distances / T) / np.exp(-distances / T).sum(axis=1, keepdims=True)
    assert_allclose(_shares(X * mask, mask, F, T), expected, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_annealing_unrolls_what_principal_directions_confuse():
    rng = np.random.default_rng(0)
    t = rng.uniform(1.5 * np.pi, 4.5 * np.pi, 300)
    spiral = np.c_[t * np.cos(t), t * np.sin(t)] / 5.0 + 0.05 * rng.normal(size=(300, 2))
    hard = PrincipalManifold(Interval(25), lam=1e-4, max_iter=100, continuation=False)
    soft = PrincipalManifold(Interval(25), lam=1e-4, max_iter=100)
    soft.set_params(init=annealed_coordinates(soft, spiral)).fit(spiral)
    assert soft.objective_ < hard.fit(spiral).objective_
    assert np.all(np.diff(soft.history_["objective"]) <= 1e-12)
    gaps = np.where(rng.uniform(size=spiral.shape) < 0.05, np.nan, spiral)
    gaps = gaps[~np.isnan(gaps).all(axis=1)]
    assert soft.set_params(init=annealed_coordinates(soft, gaps)).fit(gaps).objective_ > 0
