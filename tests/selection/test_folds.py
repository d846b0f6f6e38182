"""What folds share, counted by brute force."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, LeaveOneOut, RepeatedKFold, TimeSeriesSplit

from mercer.selection import Folds, as_splitter

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
