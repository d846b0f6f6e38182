"""What folds share, counted by brute force."""

import inspect
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, LeaveOneOut, RepeatedKFold, TimeSeriesSplit
from sklearn.model_selection._split import _BaseKFold

from mercer import LSSVC, LSSVR, SVR
from mercer.machines.folds import as_splitter
from mercer.selection import tune
from mercer_research.selection.folds import Folds
from mercer_research.selection.protocols import median_of_five
from mercer_research.selection.stability_report import stability

LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 3])


def matrix():
    G = np.random.default_rng(0).normal(size=(10, 10))
    return G @ G.T


def test_pairs_are_shared_by_as_many_machines_as_counted():
    folds = Folds(LABELS)
    used = np.array([fold != LABELS for fold in range(4)], dtype=int)
    np.testing.assert_array_equal(folds.shared(), used.T @ used)


@pytest.mark.parametrize("labels", [LABELS, np.arange(10) % 2, np.arange(10)])
def test_matrices_of_predictions_are_those_of_the_machines(labels):
    folds, K = Folds(labels), matrix()
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=10), 0.3
    # Row l: the machine without fold l, which uses the coefficients of all other samples.
    f = np.array([K[:, folds.outside(k)] @ a[folds.outside(k)] + b for k in range(folds.n_folds)])
    trained = np.array([labels != fold for fold in range(folds.n_folds)])
    mean = np.sum(f * trained, axis=0) / (folds.n_folds - 1)
    left_out = np.sum(f * ~trained, axis=0)
    # Sums of ten products of order ten.
    np.testing.assert_allclose(folds.averaged(K) @ a + b, mean, atol=1e-12 * np.abs(K).sum())
    np.testing.assert_allclose(folds.across(K) @ a + b, left_out, atol=1e-12 * np.abs(K).sum())
    np.testing.assert_allclose(folds.difference(K) @ a, mean - left_out, atol=1e-12 * 1e3)
    average = f.mean(axis=0)
    share = (folds.n_folds - 1) / folds.n_folds
    np.testing.assert_allclose(share * K @ a + b, average, atol=1e-12 * np.abs(K).sum())


def test_formulas_of_the_corrected_document():
    folds, K, L = Folds(LABELS), matrix(), 4
    within = folds.within(K)
    np.testing.assert_allclose(folds.averaged(K), ((L - 2) * K + within) / (L - 1))
    np.testing.assert_allclose(folds.difference(K), (L * within - K) / (L - 1), atol=1e-13)
    np.testing.assert_allclose(folds.across(K), K - within)


def test_two_folds_and_as_many_as_samples():
    K = matrix()
    two, all_of_them = Folds(np.arange(10) % 2), Folds(np.arange(10))
    np.testing.assert_allclose(two.averaged(K), two.within(K))
    np.testing.assert_allclose(all_of_them.within(K), np.diag(np.diag(K)))


def test_splitters_become_labels():
    X, y = np.zeros((10, 1)), np.zeros(10)
    assert sorted(np.bincount(Folds.split(3, X, y, random_state=0).labels)) == [3, 3, 4]
    np.testing.assert_array_equal(Folds.split(LeaveOneOut(), X, y).labels, np.arange(10))
    groups = np.repeat([0, 1, 2, 3, 4], 2)
    labels = Folds.split(GroupKFold(5), X, y, groups).labels
    assert all(labels[groups == group].std() == 0 for group in range(5))
    assert as_splitter(0.3, y, 0).get_n_splits() == 1
    for partial in (TimeSeriesSplit(3), RepeatedKFold(n_splits=2, n_repeats=2)):
        with pytest.raises(ValueError, match="exactly once"):
            Folds.split(partial, X, y)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 2, 2], [1, 2, 1], [[0, 1]]])
def test_labels_that_are_no_folds_are_refused(labels):
    with pytest.raises(ValueError, match="none of them empty"):
        Folds(np.array(labels))


# One rule for cv ---------------------------------------------------------------------------------

POINTS = np.random.default_rng(3).uniform(-2, 2, size=(24, 2))
NUMBERS = np.sin(2 * POINTS[:, 0])
# Ordered, as tables often are.
LETTERS = np.repeat(["a", "b"], [10, 14])
ROOMS = (
    *(f"mercer.{room}" for room in ("estimators", "selection", "preprocessing")),
    "mercer.compression",
    *(f"mercer_research.{room}" for room in ("estimators", "fusion", "linear", "density")),
    "mercer_research.selection",
)

SETTINGS = {
    "ConformalRegressor": {"estimator": SVR(), "method": "cv+", "random_state": 0},
    "PlausibleLeastSquares": {"alpha_s": "auto"},
    "SparseAdditiveRegressor": {"n_mus": 2},
    "SparseAdditiveClassifier": {"n_mus": 2},
    "SparseSubstrate": {"n_zetas": 2, "smallest": 0.5},
    "SparseSubstrateClassifier": {"n_zetas": 2, "smallest": 0.5},
    "StableLSSVR": {"alpha_s": 0.2},
}
FUNCTIONS = {
    "stability": lambda: stability(LSSVR().fit(POINTS, NUMBERS), POINTS, NUMBERS, cv=3),
    "median_of_five": lambda: median_of_five(
        LSSVR(), {"C": [1.0, 2.0]}, POINTS, NUMBERS, [(np.arange(24), [0])], first=1, cv=3
    ),
}
# Rows come in blocks, so that folds can only be told from a row itself.
BY_CONTENT = {"Encoder"}


def with_cv():
    """Return everything public with a parameter ``cv``, and functions of modules, by name."""
    functions = (as_splitter, median_of_five, stability)
    found = {function.__name__: function for function in functions}
    for room in ROOMS:
        module = import_module(room)
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isclass(one) and issubclass(one, Exception):
                continue
            if callable(one) and "cv" in inspect.signature(one).parameters:
                found[name] = one
    return found


@pytest.fixture
def seen(monkeypatch):
    """Return the folds that are split, as they are split."""
    folds, split = [], _BaseKFold.split

    def watched(self, X, y=None, groups=None):
        parts = list(split(self, X, y, groups))
        folds.append([out.tolist() for _, out in parts])
        return iter(parts)

    monkeypatch.setattr(_BaseKFold, "split", watched)
    return folds


def rule(targets, n, classes=False):
    splitter = as_splitter(n, targets, classifier=classes)
    return [out.tolist() for _, out in splitter.split(targets, targets)]


EXPECTED = {False: rule(NUMBERS, 3), True: rule(LETTERS, 3, classes=True)}
FIVE = rule(NUMBERS, 5)


def test_every_parameter_cv_is_known():
    assert {"as_splitter"} | BY_CONTENT | set(FUNCTIONS) <= set(with_cv())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(with_cv()) - BY_CONTENT - {"as_splitter"}))
def test_an_integer_leaves_out_the_same_rows_everywhere(name, seen):
    if name in FUNCTIONS:
        FUNCTIONS[name]()
        classes = False
    else:
        estimator = with_cv()[name](cv=3, **SETTINGS.get(name, {}))
        classes = is_classifier(estimator)
        estimator.fit(POINTS, LETTERS if classes else NUMBERS)
    assert EXPECTED[classes] in seen
    assert all(len(folds) != 3 or folds == EXPECTED[classes] for folds in seen)


def test_classes_are_stratified_where_a_classifier_is_judged(seen):
    stability(LSSVC().fit(POINTS, LETTERS), POINTS, LETTERS, cv=3)
    assert seen == [EXPECTED[True]]
    assert all(np.sum(LETTERS[out] == "a") in (3, 4) for out in seen[0])


def test_refined_tuning_follows_the_rule(seen):
    tune(SVR(), POINTS, NUMBERS, refine=True)
    assert seen == [FIVE]


def test_folds_hold_rows_from_everywhere():
    """Consecutive rows would ask for the ends of a range that was not seen."""
    for out in EXPECTED[False]:
        assert min(out) < 8
        assert max(out) >= 16


def test_there_are_no_more_folds_than_samples():
    assert as_splitter(10, np.zeros(4)).get_n_splits() == 4
    assert as_splitter(None, np.zeros(40)).get_n_splits() == 5
    given = TimeSeriesSplit(3)
    assert as_splitter(given, NUMBERS) is given
    assert not as_splitter(3, NUMBERS, shuffle=False).shuffle
