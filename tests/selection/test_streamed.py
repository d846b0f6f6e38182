"""A search that shares passes chooses what searches of separate fits choose."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, PredefinedSplit
from sklearn.pipeline import make_pipeline

from mercer import LSSVC, LSSVR, SVC, SVR, KernelLogisticRegression, NuSVR, QuantileSVR
from mercer.data import as_source
from mercer.estimators import HuberSVR
from mercer.losses import Absolute, Huber, Logistic, Pinball, Squared
from mercer.preprocessing import Scaler
from mercer.reduced import Nystrom
from mercer.reduced.settings import Split
from mercer.selection import StreamedSearch

N = 300


def sample(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, y


X, Y = sample()
LABELS = np.array(["low", "middle", "top"])[np.digitize(Y, [-0.5, 0.5])]
HOW = Nystrom(20, centres=X[:20], n_jobs=1)
SHARE, FOLDS = 0.3, 3


def separate(estimator, grid, y, cv, score):
    """Return scores of machines fitted one by one, and how many passes these took."""
    split = Split(cv if cv >= 2 else 1, min(cv, 1))(X)
    scores, passes = [], 0
    for params in ParameterGrid(grid):
        each = []
        for f in range(max(1, cv) if cv >= 2 else 1):
            machine = clone(estimator).set_params(**params).fit(X[split != f], y[split != f])
            each.append(score(y[split == f], machine.predict(X[split == f])))
            passes += machine.solution_.passes
        weights = [np.sum(split == f) for f in range(len(each))]
        scores.append(np.average(each, weights=weights))
    return np.array(scores), passes


def minus_squares(y, f):
    return -0.5 * np.mean((y - f) ** 2)


def accuracy(y, f):
    return np.mean(y == f)


@pytest.mark.parametrize("cv", [SHARE, FOLDS])
def test_squared_loss_takes_three_passes_whatever_the_grid(cv):
    grid = {"gamma": [0.1, 1.0, 10.0], "C": [0.1, 1.0, 10.0]}
    machine = LSSVR(approximation=HOW)
    search = StreamedSearch(machine, grid, cv=cv, refit=False).fit(X, Y)
    scores, passes = separate(machine, grid, Y, cv, minus_squares)
    # Both are solutions of linear systems; one by Newton steps to a gap of 1e-6.
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-3)
    assert (search.n_passes_, search.groups_) == (3, 3)
    assert passes >= 9 * 3
    assert search.best_index_ == np.argmax(scores)
    assert not hasattr(search, "predict")


def test_kinks_share_passes_too():
    grid = {"C": [0.1, 1.0], "epsilon": [0.1, 0.4]}
    machine = SVR(gamma=1.0, tol=1e-4, approximation=HOW)
    search = StreamedSearch(machine, grid, cv=SHARE, refit=False).fit(X, Y)
    scores, passes = separate(machine, grid, Y, SHARE, minus_squares)
    # Gaps of 1e-5 of objectives near 30 leave functions apart by 2 sqrt(2 gap) = 0.05 at most, and
    # in the mean a tenth of that; residuals are near 0.25.
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=0.05)
    assert search.groups_ == 1
    # Kinks of different settings are rounded at different passes.
    assert search.n_passes_ < passes
    assert search.scoring_ == Squared()


@pytest.mark.parametrize(
    "machine",
    [
        SVC(gamma=1.0, tol=1e-2, approximation=HOW),
        KernelLogisticRegression(gamma=1.0, approximation=HOW),
        LSSVC(gamma=1.0, approximation=HOW, codes="one-vs-one", decoding="hamming"),
        LSSVC(gamma=1.0, approximation=HOW),
    ],
    ids=["pairs", "rest", "hamming", "least squares"],
)
def test_classes_are_decided_as_machines_decide(machine):
    grid = {"C": [0.05, 5.0]}
    search = StreamedSearch(machine, grid, cv=SHARE).fit(X, LABELS)
    scores, _ = separate(machine, grid, LABELS, SHARE, accuracy)
    # A row or two near a border may be decided otherwise within the tolerance of the fits.
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], scores, atol=2.1 / (SHARE * N)
    )
    assert search.scoring_ == "accuracy"
    np.testing.assert_array_equal(search.classes_, np.unique(LABELS))
    assert search.score(X, LABELS) == search.best_estimator_.score(X, LABELS) > 0.7


def test_results_are_told_as_scikit_learn_tells_them():
    grid = [{"C": [0.1, 1.0]}, {"C": [1.0], "gamma": [0.5, 3.0]}]
    machine = LSSVR(gamma=1.0, approximation=HOW)
    fold = Split(FOLDS)(X)
    ours = StreamedSearch(machine, grid, cv=FOLDS, scoring="neg_mean_squared_error").fit(X, Y)
    theirs = GridSearchCV(
        machine, grid, cv=PredefinedSplit(fold), scoring="neg_mean_squared_error"
    ).fit(X, Y)
    assert ours.best_params_ == theirs.best_params_
    assert ours.n_splits_ == theirs.n_splits_
    ours_, theirs_ = pd.DataFrame(ours.cv_results_), pd.DataFrame(theirs.cv_results_)
    missing = {"std_fit_time", "mean_score_time", "std_score_time"}
    assert set(ours_) == set(theirs_) - missing
    for name in [c for c in theirs_ if c.startswith("split")]:
        np.testing.assert_allclose(ours_[name], theirs_[name], rtol=1e-3)
    np.testing.assert_array_equal(ours_["rank_test_score"], theirs_["rank_test_score"])
    assert list(ours_["params"]) == list(theirs_["params"])
    np.testing.assert_allclose(ours.predict(X), ours.best_estimator_.predict(X))


def test_order_and_blocks_do_not_matter():
    grid = {"gamma": [0.3, 3.0], "C": [0.1, 10.0]}
    machine = LSSVR(approximation=Nystrom(20, n_jobs=1))
    order = np.random.default_rng(1).permutation(N)
    one = StreamedSearch(machine, grid).fit(X, Y)
    parts = [order[:77], order[77:80], order[80:]]
    other = StreamedSearch(machine, grid).fit([(X[part], Y[part]) for part in parts])
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-6
    )
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6, atol=1e-8)


def test_rows_from_frames_and_pipelines():
    frame = pd.DataFrame(X * [1.0, 1000.0], columns=["a", "b"])
    search = StreamedSearch(LSSVR(gamma=0.5, approximation=Nystrom(20)), {"C": [0.1, 10.0]})
    alone = clone(search).fit(frame, Y)
    assert list(alone.feature_names_in_) == ["a", "b"]
    assert alone.n_features_in_ == 2
    pipeline = make_pipeline(Scaler(), search).fit(as_source(X * [1.0, 1000.0], Y))
    assert pipeline.score(X * [1.0, 1000.0], Y) > 0.85


def test_weights_count_rows():
    """Rows of weight two are rows twice, in fits and in scores; of weight zero none."""
    s = np.random.default_rng(0).integers(0, 3, N)
    grid = {"C": [0.1, 10.0]}
    machine = LSSVR(gamma=1.0, approximation=HOW)
    one = StreamedSearch(machine, grid, refit=False).fit(X, Y, sample_weight=s)
    rows = np.repeat(np.arange(N), s)
    two = StreamedSearch(machine, grid, refit=False).fit(X[rows], Y[rows])
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], rtol=1e-9
    )


def test_numbers_of_centres_are_settings():
    search = StreamedSearch(
        LSSVR(gamma=1.0, C=10.0, approximation=Nystrom(4)), {"approximation__m": [3, 40]}
    ).fit(X, Y)
    assert search.best_params_ == {"approximation__m": 40}
    assert search.best_estimator_.support_vectors_.shape[0] > 20
    assert search.groups_ == 2


def test_screening_keeps_the_best_and_drops_the_worst():
    X, y = sample(2000, seed=1)
    grid = {"gamma": [1e-3, 1.0, 1e3], "C": [1e-3, 1.0, 100.0]}
    machine = LSSVR(approximation=Nystrom(30))
    plain = StreamedSearch(machine, grid, refit=False).fit(X, y)
    screened = StreamedSearch(machine, grid, refit=False, screen=500).fit(X, y)
    assert screened.best_params_ == plain.best_params_
    scores = screened.cv_results_["mean_test_score"]
    dropped = np.isnan(scores)
    assert 3 <= dropped.sum() < 9
    np.testing.assert_allclose(
        scores[~dropped], plain.cv_results_["mean_test_score"][~dropped], rtol=1e-9
    )
    # What is dropped is worse by more than a fiftieth, on all rows too.
    best = -plain.best_score_
    assert np.all(-plain.cv_results_["mean_test_score"][dropped] > 1.02 * best)


def test_a_search_goes_on_from_the_passes_it_kept(tmp_path):
    how = Nystrom(20, n_jobs=1, checkpoint=tmp_path)
    grid = {"gamma": [0.3, 3.0], "C": [0.1, 10.0]}
    search = StreamedSearch(HuberSVR(approximation=how), grid, cv=SHARE)
    first = clone(search).fit(X, Y)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("pass-*.npz")}
    again = clone(search).fit(X, Y)
    scores = (one.cv_results_["mean_test_score"] for one in (first, again))
    np.testing.assert_array_equal(*scores)
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    # But for counting the rows, to see that they are the same, no pass is made again.
    made = [p for p, at in kept.items() if p.stat().st_mtime_ns != at]
    assert {path.name for path in made} <= {"pass-00000.npz"}
    assert len(kept) > 6


@pytest.mark.parametrize(
    ("machine", "scoring", "y", "expected"),
    [
        (QuantileSVR(quantile=0.9), None, Y, Pinball(0.9)),
        (HuberSVR(), None, Y, Huber(1.35)),
        (LSSVR(), None, Y, Squared()),
        (LSSVR(), Absolute(), Y, Absolute()),
        (LSSVR(), "neg_mean_absolute_error", Y, "neg_mean_absolute_error"),
        (LSSVC(), Logistic(), LABELS == "top", Logistic()),
    ],
)
def test_what_rows_held_out_cost(machine, scoring, y, expected):
    machine.set_params(gamma=1.0, approximation=HOW)
    search = StreamedSearch(machine, {"C": [1.0]}, scoring=scoring, cv=SHARE, refit=False)
    search.fit(X, y)
    assert type(search.scoring_) is type(expected)
    inside = Split(share=SHARE)(X) < 0
    alone = clone(machine).fit(X[inside], y[inside])
    if isinstance(scoring, Logistic):
        f = alone.decision_function(X[~inside])
        cost = np.mean(np.log1p(np.exp(-np.where(y[~inside], 1.0, -1.0) * f)))
    else:
        r = y[~inside] - alone.predict(X[~inside])
        loss = Absolute() if isinstance(expected, str) else search.scoring_
        cost = np.mean(loss.value(r, np.zeros_like(r)))
    np.testing.assert_allclose(search.best_score_, -cost, rtol=1e-2)


def test_several_outputs_that_hang_together():
    Z = np.column_stack([Y, 2.0 * Y + np.cos(X[:, 0])])
    machine = LSSVR(gamma=1.0, approximation=HOW, output_covariance=[[1.0, 0.5], [0.5, 2.0]])
    search = StreamedSearch(machine, {"C": [0.1, 10.0]}, cv=SHARE, refit=False).fit(X, Z)

    def score(y, f):
        return -0.5 * np.mean(np.sum((y - f) ** 2, axis=1))

    scores, _ = separate(machine, {"C": [0.1, 10.0]}, Z, SHARE, score)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-3)


@pytest.mark.parametrize(
    ("search", "y", "message"),
    [
        (StreamedSearch(LSSVR(), {"C": [1.0]}, scoring="accuracy"), Y, "for classes"),
        (StreamedSearch(SVC(), {"C": [1.0]}, scoring="neg_mean_squared_error"), LABELS, "numbers"),
        (StreamedSearch(NuSVR(), {"C": [1.0]}), Y, "cannot share passes"),
        (StreamedSearch(LSSVR(), {"C": [1.0]}, cv=1), Y, "cv"),
        (StreamedSearch(LSSVR(), {"C": [-1.0]}), Y, "C"),
        (StreamedSearch(Scaler(), {"C": [1.0]}), Y, "estimator"),
    ],
)
def test_refusals(search, y, message):
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
