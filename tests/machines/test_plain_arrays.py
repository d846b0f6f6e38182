"""Plain arrays go a short way through the checks, and end where the long way does."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.utils._param_validation import InvalidParameterError

from mercer import SVC, SVR
from mercer.machines import expansion
from mercer.machines.plain_arrays import is_plain_points, is_plain_targets, number_classes


def long_indices(X):
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    "given",
    [
        X.tolist(),
        X[:, ::2],
        X.astype(np.float32),
        X[:, 0],
        X[:0],
        np.where(X > 1.0, np.nan, X),
        np.where(X > 1.0, np.inf, X),
        pd.DataFrame(X),
        X.astype(object),
        np.ma.masked_array(X),
        sp.csc_array(X),
        sp.csr_array(X.astype(np.float32)),
        sp.csr_array(np.where(X > 1.0, np.nan, X)),
        sp.csr_array((0, 3)),
        long_indices(X),
    ],
    ids=lambda given: f"{type(given).__name__} {getattr(given, 'dtype', '')}".strip(),
)
def test_what_is_in_doubt_goes_the_long_way(given):
    assert not is_plain_points(given)


def test_targets_that_are_in_doubt_go_the_long_way():
    assert is_plain_targets(Y, 40)
    assert is_plain_targets(X[:, 0].copy(), 40)
    doubtful = (Y.tolist(), Y[:, None], Y[:39], Y.astype(str), np.full(40, np.nan), None, 3.0)
    assert not any(is_plain_targets(y, 40) for y in doubtful)
    assert number_classes(np.arange(30)) is None
    assert number_classes(Y.astype(float)) is None


def test_both_ways_make_the_same_machine():
    for machine, y in ((SVC, Y), (SVR, X[:, 1])):
        short, long = machine().fit(X, y), machine().fit(X.tolist(), list(y))
        np.testing.assert_allclose(short.dual_coef_, long.dual_coef_, atol=1e-12)
        columns = machine().fit(np.asfortranarray(X), y)
        np.testing.assert_array_equal(columns.dual_coef_, short.dual_coef_)
        assert columns.support_vectors_.flags.c_contiguous
        np.testing.assert_array_equal(columns.predict(np.asfortranarray(X)), short.predict(X))
        np.testing.assert_allclose(short.predict(X), long.predict(X.tolist()), atol=1e-12)
        assert short.n_features_in_ == long.n_features_in_ == 3


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_both_ways_make_the_same_machine_of_sparse_rows(kind):
    S = kind(np.where(X > 0.0, X, 0.0))
    assert is_plain_points(S)
    short, long = SVC().fit(S, Y), SVC().fit(S.tocsc(), list(Y))
    np.testing.assert_allclose(short.dual_coef_.toarray(), long.dual_coef_.toarray(), atol=1e-12)
    one_by_one = np.concatenate([short.decision_function(S[[i]]) for i in range(40)])
    np.testing.assert_allclose(one_by_one, long.decision_function(S.tocsc()), atol=1e-12)
    # Support vectors that were prepared are not those of another fit, nor of changed points.
    other = SVC().fit(2.0 * S, Y)
    np.testing.assert_allclose(
        short.fit(2.0 * S, Y).decision_function(S[[0]]), other.decision_function(S[[0]]), atol=1e-12
    )
    short.support_vectors_.data *= 0.5
    other.support_vectors_ = short.support_vectors_.copy()
    changed = [machine.decision_function(S[[0]]) for machine in (short, other)]
    np.testing.assert_allclose(*changed, atol=1e-12)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(kind(np.eye(40)), Y)


def test_what_scikit_learn_says_is_said():
    said = []
    for machine in (svm.SVC(), SVC()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine.fit(X, np.arange(40) % 25)
        said.append([str(warning.message) for warning in caught])
    assert said[0] == said[1]  # of many classes, which scikit-learn 1.6 says nothing about
    framed = SVC().fit(pd.DataFrame(X, columns=list("abc")), Y)
    with pytest.warns(UserWarning, match="valid feature names"):
        framed.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(framed.fit(X, Y), "feature_names_in_")
        framed.predict(X)
    with pytest.raises(ValueError, match="2 features, but SVC is expecting 3"):
        framed.predict(np.ascontiguousarray(X[:, :2]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC().fit(X, Y[:39])


def test_settings_that_passed_are_known_and_others_are_not():
    SVC(C=2.0).fit(X, Y)
    for wrong in (-2.0, 0, "2.0", None):
        for _ in range(2):
            with pytest.raises(InvalidParameterError, match="'C' parameter"):
                SVC(C=wrong).fit(X, Y)
    with pytest.raises(InvalidParameterError, match="'shrinking' parameter"):
        SVC(C=2.0, shrinking=1.5).fit(X, Y)
    assert len(expansion.VALID) <= expansion.MAX_VALID_SETTINGS


def test_prepared_support_vectors_follow_the_machine():
    machine = SVC().fit(X, Y)
    before = machine.decision_function(X[:1])
    machine.support_vectors_[...] = machine.support_vectors_[::-1].copy()
    fresh = SVC().fit(X, Y)
    fresh.support_vectors_ = machine.support_vectors_.copy()
    changed = machine.decision_function(X[:1])
    assert changed != before
    np.testing.assert_allclose(changed, fresh.decision_function(X[:1]), rtol=1e-12)
    machine.kernel_.length_scale = 0.5
    assert machine.decision_function(X[:1]) != changed
    # Alone and in a batch that is computed in blocks.
    many = np.vstack([X] * 60)
    np.testing.assert_allclose(
        fresh.decision_function(many)[:5],
        np.concatenate([fresh.decision_function(X[[i]]) for i in range(5)]),
        rtol=1e-10,
    )
