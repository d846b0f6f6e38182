"""Least-squares classification: identities, codes, samples left out, probabilities."""

import copy
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from mercer import LSSVC, LSSVR, KernelClassifier
from mercer.kernels import Gaussian, Linear
from mercer.machines.calibration import agreeing, coupled, sigmoid
from mercer.machines.codes import (
    CODES,
    DECODINGS,
    code_book,
    column_separation,
    decode,
    row_separation,
)
from mercer.regularizers import Empty, Polynomial

CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def blobs(k=4, n=40, seed=0):
    return make_blobs(n, centers=k, cluster_std=2.0, random_state=seed)


# Two classes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [None, Empty()])
def test_the_system_of_labels_is_regression_on_labels(space):
    """(3.80) to (3.82): (Omega_y + 1/C) alpha = 1, bordered by y; diag(y) alpha is our a."""
    X, y = blobs(2)
    t, C, n = 2.0 * y - 1, 3.0, len(y)
    H = np.outer(t, t) * Gaussian(2.0)(X) + np.eye(n) / C
    border = np.zeros((n, 0)) if space else t[:, None]
    q = border.shape[1]
    A = np.block([[H, border], [border.T, np.zeros((q, q))]])
    alpha = np.linalg.solve(A, np.append(np.ones(n), np.zeros(q)))
    machine = LSSVC(Gaussian(2.0), C=C, null_space=space).fit(X, y)
    np.testing.assert_allclose(machine.dual_coef_[0], t * alpha[:n], **CLOSE)
    twin = LSSVR(Gaussian(2.0), C=C, null_space=space).fit(X, t)
    np.testing.assert_allclose(machine.decision_function(X), twin.predict(X), **CLOSE)
    if q:
        np.testing.assert_allclose(machine.intercept_, alpha[n], **CLOSE)


def test_it_is_a_regularized_fisher_discriminant():
    """With a linear kernel w solves (S_w + ridge) w ~ m_1 - m_0."""
    X, y = blobs(2, 60)
    C = 0.7
    w = LSSVC(Linear(), C=C).fit(X, y).coef_[0]
    means = [X[y == k].mean(axis=0) for k in (0, 1)]
    within = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in (0, 1))
    fisher = np.linalg.solve(within + np.eye(2) / C, means[1] - means[0])
    np.testing.assert_allclose(w / np.linalg.norm(w), fisher / np.linalg.norm(fisher), **CLOSE)


def test_squared_losses_of_margin_and_residual_agree_on_labels():
    """Samples beyond the margin cost nothing for the squared hinge: then other machines win."""
    X, y = blobs(2)
    ours, theirs = LSSVC(C=1e-3).fit(X, y), KernelClassifier("squared_hinge", C=1e-3).fit(X, y)
    assert np.all(np.abs(ours.decision_function(X)) < 1)  # no margin is exceeded with this C
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=ours.tol
    )


# Codes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("k", [2, 3, 5, 8, 12])
def test_every_book_is_proper(codes, k):
    M = code_book(codes, k, random_state=0)
    assert M.shape[0] == k
    assert np.all(np.isin(M, (-1, 0, 1)))
    assert np.all(np.any(M > 0, axis=0) & np.any(M < 0, axis=0))
    assert row_separation(M) > 0
    np.testing.assert_array_equal(code_book(codes, k, random_state=0), M)
    # A user may give it back.
    np.testing.assert_array_equal(code_book(M.tolist(), k), M)


def test_lengths_and_distances_are_those_of_the_literature():
    assert code_book("minimal", 9).shape == (9, 4)
    for k in range(3, 8):
        exhaustive = code_book("ecoc", k)
        assert exhaustive.shape == (k, 2 ** (k - 1) - 1)
        assert row_separation(exhaustive) == 2 ** (k - 2)
    for k in (8, 11, 16, 17):
        size = 8 if k == 8 else 16 if k <= 16 else 32
        M = code_book("ecoc", k)
        assert M.shape == (k, size - 1)
        assert row_separation(M) == size / 2
        assert column_separation(M) > 0
    assert code_book("one-vs-one", 6).shape == (6, 15)
    assert row_separation(code_book("one-vs-rest", 6)) == 2


def test_separations_are_counted_pair_by_pair():
    M = code_book("sparse-random", 5, random_state=1)
    rows = [np.sum((1 - M[i] * M[j]) / 2) for i in range(5) for j in range(i)]
    assert row_separation(M) == min(rows)
    columns = [
        min(np.sum((1 - s * M[:, i] * M[:, j]) / 2) for s in (1, -1))
        for i in range(M.shape[1])
        for j in range(i)
    ]
    assert column_separation(M) == min(columns)


def test_random_books_are_better_than_the_first_draw():
    best = code_book("dense-random", 10, random_state=0)
    rng = np.random.RandomState(0)
    first = rng.choice([-1.0, 1.0], size=(10, 34), p=[0.5, 0.5])  # 10 log2(10) columns
    assert best.shape[1] <= 34
    assert row_separation(best) > row_separation(first) > row_separation(2.0 * np.eye(10) - 1.0)


def test_the_size_of_a_column_is_the_weight_of_its_classes():
    X, y = blobs(3, 30)
    s = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    report = LSSVC(Gaussian(2.0), codes="one-vs-one").fit(X, y, sample_weight=s)._code_report()
    pairs = [s[(y == i) | (y == j)].sum() for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(report.sizes, pairs)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([[1, -1], [1, 1]], "row for each of the 3"),
        ([[1, 2], [-1, 1], [1, -1]], "-1, 0 and 1"),
        ([[1, 1], [-1, 0], [1, 1]], "every column"),
        ([[1, 1], [-1, -1], [1, 1]], "same row"),
    ],
)
def test_books_that_decide_nothing_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        code_book(wrong, 3)


@pytest.mark.parametrize("decoding", DECODINGS)
def test_decoding_by_definition(decoding):
    M, rng = code_book("ecoc", 5), np.random.default_rng(0)
    F = rng.normal(size=(20, M.shape[1]))
    scores = decode(M, F, decoding)
    for f, score in zip(F, scores, strict=True):
        if decoding == "loss":
            np.testing.assert_allclose(score, -np.sum((1 - M * f) ** 2, axis=1))
        elif decoding == "hamming":
            votes = -np.sum(M * f < 0, axis=1)
            assert np.all(np.abs(score - votes) < 0.25)
        else:
            A = np.block([[M @ M.T, np.ones((5, 1))], [np.ones((1, 5)), np.zeros((1, 1))]])
            np.testing.assert_allclose(score, np.linalg.solve(A, np.append(M @ f, 1.0))[:5])


def test_shares_are_found_again():
    M, p = code_book("dense-random", 6, random_state=0), np.array([[0.4, 0.3, 0.1, 0.1, 0.1, 0.0]])
    np.testing.assert_allclose(decode(M, p @ M, "least-squares"), p, atol=1e-12)


@pytest.mark.parametrize("codes", ["minimal", "one-vs-one"])
def test_shares_that_codes_do_not_determine_are_refused(codes):
    X, y = blobs(4)
    with pytest.raises(ValueError, match="least-squares decoding"):
        LSSVC(codes=codes, decoding="least-squares").fit(X, y)


def test_hamming_decoding_survives_wrong_columns():
    """Up to floor((d - 1)/2) columns may err, d the distance of the rows: 7 of 15 differ by 8."""
    M = code_book("ecoc", 16)
    rng = np.random.default_rng(0)
    for k in range(16):
        f = M[k].copy()
        f[rng.choice(15, 3, replace=False)] *= -1
        assert np.argmax(decode(M, f[None], "hamming")) == k


# Several classes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("codes", "decoding"), [*product(CODES, ("loss", "hamming"))])
def test_columns_are_machines_of_two_classes(codes, decoding):
    X, y = blobs()
    machine = LSSVC(Gaussian(2.0), C=2.0, codes=codes, decoding=decoding, random_state=0).fit(X, y)
    M, F = machine.code_book_, machine.column_decision(X)
    for k in range(M.shape[1]):
        t = M[y, k]
        one = LSSVR(Gaussian(2.0), C=2.0).fit(X[t != 0], t[t != 0])
        np.testing.assert_allclose(F[:, k], one.predict(X), **CLOSE)
    f = machine.decision_function(X)
    assert f.shape == (len(y), 4)
    np.testing.assert_array_equal(machine.predict(X), np.argmax(f, axis=1))
    np.testing.assert_array_equal(machine.predict(X), np.argmax(decode(M, F, decoding), axis=1))
    assert machine.score(X, y) > 0.7


@pytest.mark.parametrize("codes", ["one-vs-rest", "one-vs-one", "minimal"])
@pytest.mark.parametrize("k", [2, 4])
def test_leaving_one_out_is_refitting_without_it(codes, k):
    """Weights, some zero, and a plane unpenalized."""
    X, y = blobs(k, 24)
    s = np.random.default_rng(1).uniform(0.5, 2.0, 24)
    s[[3, 8]] = 0.0
    machine = LSSVC(
        Gaussian(2.0), C=2.0, codes=codes, class_weight={0: 2.0}, null_space=Polynomial(1)
    ).fit(X, y, sample_weight=s)
    decision, label = [], []
    for i in range(24):
        keep = np.arange(24) != i
        refit = copy.deepcopy(machine).fit(X[keep], y[keep], sample_weight=s[keep])
        decision.append(refit.decision_function(X[[i]])[0])
        label.append(refit.predict(X[[i]])[0])
    np.testing.assert_allclose(machine.loo_decision_, decision, **CLOSE)
    np.testing.assert_array_equal(machine.loo_predictions_, label)
    weights = s * np.where(y == 0, 2.0, 1.0)
    np.testing.assert_allclose(machine.loo_error_, np.average(label != y, weights=weights))


def test_leaving_one_out_agrees_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    machine = LSSVC(Gaussian(1.0), C=10.0)
    theirs = cross_val_predict(machine, X, y, cv=LeaveOneOut())
    assert machine.fit(X, y).loo_error_ == np.mean(theirs != y)


# Probabilities -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Setting penalty=None")  # scikit-learn 1.8, of an infinite C
def test_the_sigmoid_is_logistic_regression_on_platts_targets():
    rng = np.random.default_rng(0)
    f = rng.normal(size=60)
    positive = rng.uniform(size=60) < 1 / (1 + np.exp(-2 * f))
    s = rng.uniform(0.5, 2.0, 60)
    A, B = sigmoid(f, positive, s)
    n_pos, n_neg = s @ positive, s @ ~positive
    t = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    # A soft target is a positive and a negative sample that share the weight.
    twice = np.concatenate([f, f])[:, None]
    labels, weights = np.repeat([1, 0], 60), np.concatenate([s * t, s * (1 - t)])
    model = LogisticRegression(C=np.inf, tol=1e-12).fit(twice, labels, sample_weight=weights)
    np.testing.assert_allclose([A, B], [model.coef_[0, 0], model.intercept_[0]], rtol=1e-5)


def test_values_that_say_nothing_have_the_share_of_the_class():
    positive = np.arange(10) < 3
    flat = np.log(4 / 8)
    np.testing.assert_allclose(sigmoid(np.ones(10), positive, np.ones(10)), (0.0, flat))
    # Worse than chance.
    np.testing.assert_allclose(sigmoid(-1.0 * positive, positive, np.ones(10)), (0.0, flat))


@pytest.mark.parametrize("codes", CODES)
def test_probabilities_of_consistent_columns_are_found_again(codes):
    M = code_book(codes, 4, random_state=0)
    p = np.array([[0.5, 0.25, 0.15, 0.1], [0.1, 0.1, 0.1, 0.7]])
    up, down = p @ (M > 0), p @ (M < 0)
    found = coupled(M, up / (up + down), np.arange(1.0, M.shape[1] + 1))
    up_found, down_found = found @ (M > 0), found @ (M < 0)
    # Steps below 1e-8 of a linearly convergent iteration leave some 1e-6.
    np.testing.assert_allclose(up_found / (up_found + down_found), up / (up + down), atol=1e-5)
    if codes != "minimal":  # two digits leave one share of four open
        np.testing.assert_allclose(found, p, atol=1e-5)


@pytest.mark.parametrize("codes", ["one-vs-rest", "one-vs-one", "ecoc"])
def test_probabilities_are_as_good_as_those_of_calibration_by_refits(codes):
    X, y = make_blobs(400, centers=3, cluster_std=4.0, random_state=1)
    train, test = slice(0, 100), slice(100, None)

    def score(machine):
        p = machine.fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert np.all((p >= 0) & (p <= 1))
        return -np.mean(np.log(p[np.arange(300), y[test]]))

    ours = LSSVC(C=1.0, codes=codes)
    theirs = CalibratedClassifierCV(LSSVC(C=1.0, codes=codes), ensemble=False)
    # A constant has log 3 = 1.10; calibrations differ by a few hundredths.
    assert score(ours) < score(theirs) + 0.03 < 0.9


def test_two_classes_are_calibrated_on_samples_left_out():
    X, y = blobs(2, 60)
    machine = LSSVC(C=5.0).fit(X, y)
    A, B = sigmoid(machine.loo_decision_, y > 0, np.ones(60), intercept=False)
    assert B == 0
    p = machine.predict_proba(X)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-A * machine.decision_function(X))))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(machine.predict_log_proba(X), np.log(p))


@pytest.mark.parametrize("codes", CODES)
def test_the_class_predicted_is_the_most_probable(codes):
    X, y = make_blobs(200, centers=4, cluster_std=4.0, random_state=1)
    machine = LSSVC(C=1.0, codes=codes, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.argmax(machine.predict_proba(X), axis=1), machine.predict(X))


def test_agreement_is_the_nearest_there_is():
    """Against the projection by a quadratic program, solved over which classes are tied."""
    rng = np.random.default_rng(0)
    P, chosen = rng.dirichlet(np.ones(5), 50), rng.integers(0, 5, 50)
    for p, near, c in zip(P, agreeing(P, chosen), chosen, strict=True):
        assert np.argmax(near) == c
        np.testing.assert_allclose(near.sum(), 1.0)
        best = np.inf
        for tied in product([False, True], repeat=5):
            pool = np.flatnonzero(tied) if tied[c] else np.array([c])
            q = p.copy()
            q[pool] = p[pool].mean()
            if q[c] >= q.max() - 1e-15:
                best = min(best, np.sum((q - p) ** 2))
        np.testing.assert_allclose(np.sum((near - p) ** 2), best, atol=1e-12)


@pytest.mark.parametrize("codes", ["one-vs-rest", "one-vs-one"])
def test_weight_two_is_the_row_twice(codes):
    X, y = blobs()
    s = np.random.default_rng(0).integers(0, 3, 40)
    weighted = LSSVC(Gaussian(2.0), codes=codes).fit(X, y, sample_weight=s)
    repeated = LSSVC(Gaussian(2.0), codes=codes).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    f = weighted.decision_function(X)
    np.testing.assert_allclose(f, repeated.decision_function(X), **CLOSE)


# Ways to give data -------------------------------------------------------------------------------


def test_sparse_frames_names_and_matrices_agree():
    X, y = blobs(3)
    X[np.abs(X) < 1] = 0.0
    names = np.array(["a", "b", "c"])[y]
    frame = pd.DataFrame(X, columns=["u", "v"])
    K = Gaussian(2.0)
    reference = LSSVC(K, codes="one-vs-one").fit(X, names)
    for data, kernel in ((sp.csr_array(X), K), (frame, K), (K(X), "precomputed")):
        machine = LSSVC(kernel, codes="one-vs-one").fit(data, names)
        np.testing.assert_array_equal(machine.predict(data), reference.predict(X))
        np.testing.assert_allclose(machine.loo_decision_, reference.loo_decision_, **CLOSE)
        np.testing.assert_allclose(
            machine.predict_proba(data), reference.predict_proba(X), atol=1e-6
        )
    assert set(reference.predict(X)) <= set("abc")


def test_two_classes_may_have_codes_of_their_own():
    X, y = blobs(2)
    plain = LSSVC().fit(X, y)
    turned = LSSVC(codes=[[1], [-1]]).fit(X, y)
    twice = LSSVC(codes=[[1, -1], [-1, 1]], decoding="hamming").fit(X, y)
    for machine in (turned, twice):
        np.testing.assert_array_equal(machine.predict(X), plain.predict(X))
    np.testing.assert_allclose(turned.predict_proba(X), plain.predict_proba(X), **CLOSE)
    np.testing.assert_array_equal(np.argmax(twice.predict_proba(X), axis=1), plain.predict(X))
    np.testing.assert_allclose(turned.decision_function(X), plain.decision_function(X), **CLOSE)


def test_one_class_with_weight_is_refused():
    X, y = blobs(2)
    with pytest.raises(ValueError, match="same class"):
        LSSVC().fit(X, y, sample_weight=(y == 0).astype(float))


def test_a_pickled_machine_tells_the_same():
    X, y = blobs(3)
    machine = LSSVC().fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.loo_decision_, machine.loo_decision_)


def test_weights_and_scales_that_the_sample_chose_are_kept():
    X, y = blobs(3)
    X = X * [1e-3, 1e3]
    machine = LSSVC(C="auto", gamma="median", standardize=True, codes="one-vs-one").fit(X, y)
    others = np.arange(40) != 3
    refit = LSSVC(machine.kernel_, C=machine.C_, codes="one-vs-one").fit(X[others], y[others])
    np.testing.assert_allclose(
        machine.loo_decision_[3], refit.decision_function(X[[3]])[0], rtol=1e-7
    )
