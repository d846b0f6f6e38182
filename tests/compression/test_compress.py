"""Compressed machines: every kind predicts what its certificate says, and is a machine again."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer_research.compression  # noqa: F401  adds "stratified" and "sup"
from compressible import MACHINES, fitted, iris, points, surface, values
from mercer import LSSVC, LSSVR, SVC, SVR, SmoothingSpline, UniversalKriging
from mercer.compression import compress
from mercer.data import Arrays
from mercer.estimators import IndefiniteKernel
from mercer.kernels import Gaussian, Matern, StringSpectrum
from mercer.regularizers import Columns, Constant
from mercer.selection import LSSVRCV
from mercer_research.estimators import AdaptiveMarginSVC, CollapsedMachine

METHODS = ["greedy", "projection", "preimage", "stratified", "sup"]


SETTINGS = {
    "greedy": {"n_centres": 24},
    "projection": {},
    "preimage": {"n_centres": 7, "polish": 2},
    "stratified": {"n_centres": 24},
    "sup": {"error": 0.3},
}


# The slowest method on one machine of each kind.
PAIRS = [
    (name, method)
    for name in MACHINES
    for method in METHODS
    if method != "preimage" or name in ("LSSVR", "outputs", "SVC", "thin plate")
]


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_the_certificate_is_what_predictions_show(name, method):
    machine = fitted(name)
    X = points(machine)
    how = dict(SETTINGS[method])
    if method == "projection":
        how["centres"] = X[::6]
    small = compress(machine, X, method=method, **how)
    told = small.compression_
    change = np.abs(values(machine, X) - values(small, X)).max()
    # Both are sums of kernel values in float64; prediction may use float32 within its tolerance.
    assert change == pytest.approx(told.sup_error, rel=1e-6, abs=told.radius * told.rounding)
    assert told.sup_error <= told.sup_bound * (1 + 1e-9) + told.radius * told.rounding
    assert method == "sup" or told.distance <= told.norm
    if "n_centres" in how:
        assert told.n_after <= how["n_centres"]
    if "error" in how:
        assert told.sup_error <= how["error"] * (1 + 1e-8)
        assert told.n_after <= told.term_bound
    assert type(small) is type(machine)
    assert len(small.support_) == told.n_after == small.n_support_.sum()
    assert small.support_vectors_.shape == (told.n_after, X.shape[1])
    assert small.dual_coef_.shape == (machine.dual_coef_.shape[0], told.n_after)
    old = told.index >= 0
    np.testing.assert_array_equal(
        small.support_vectors_[old], machine.support_vectors_[told.index[old]]
    )
    np.testing.assert_array_equal(small.support_[old], machine.support_[told.index[old]])
    assert np.all(small.support_[~old] == -1)


@pytest.mark.parametrize("name", ["LSSVR", "outputs", "SVC", "codes", "thin plate", "wild SVC"])
def test_the_distance_is_the_quadratic_form_of_the_difference(name):
    """For one function a machine, from public attributes; for a vote, pair by pair."""
    machine = fitted(name)
    small = compress(machine, n_centres=21)
    told = small.compression_

    def functions(m):
        A, k = np.asarray(m.dual_coef_), len(getattr(m, "classes_", ()))
        if not isinstance(m, SVC):
            return list(A)
        ends = np.cumsum([0, *m.n_support_])
        pairs = []
        for i in range(k):
            for j in range(i + 1, k):
                a = np.zeros(A.shape[1])
                a[ends[i] : ends[i + 1]] = A[j - 1, ends[i] : ends[i + 1]]
                a[ends[j] : ends[j + 1]] = A[i, ends[j] : ends[j + 1]]
                pairs.append(a)
        return pairs

    K = machine.kernel_(np.vstack([machine.support_vectors_, small.support_vectors_]))
    for d, (a, b) in enumerate(zip(functions(machine), functions(small), strict=True)):
        whole = np.concatenate([a, -b])
        # A difference of squares: exact to rounding of the squared sizes.
        scale = np.abs(whole) @ np.abs(K) @ np.abs(whole)
        assert told.distances[d] ** 2 == pytest.approx(
            whole @ K @ whole, rel=1e-6, abs=1e-13 * scale
        )


@pytest.mark.parametrize("name", ["thin plate", "wild SVC"])
def test_coefficients_stay_orthogonal_to_what_is_free(name):
    small = compress(fitted(name), n_centres=20)
    Z, A = small.support_vectors_, np.asarray(small.dual_coef_)
    p = Z.shape[1]
    B = small.null_space_(Z)[:, : len(small.kernel_.unpenalized(p))]
    if name == "thin plate":
        rows = [A[0]]
    else:
        ends = np.cumsum([0, *small.n_support_])
        rows = []
        for i, j in [(0, 1), (0, 2), (1, 2)]:
            a = np.zeros(len(Z))
            a[ends[i] : ends[i + 1]] = A[j - 1, ends[i] : ends[i + 1]]
            a[ends[j] : ends[j + 1]] = A[i, ends[j] : ends[j + 1]]
            rows.append(a)
    for a in rows:
        assert np.abs(B.T @ a).max() <= 1e-10 * (np.abs(B).T @ np.abs(a)).max()


def test_a_bound_holds_everywhere():
    machine = fitted("LSSVR")
    small = compress(machine, error=0.05)
    told = small.compression_
    assert told.everywhere
    assert told.sup_bound <= 0.05
    X = np.random.default_rng(1).uniform(-4, 4, (2000, 2))
    assert np.abs(machine.predict(X) - small.predict(X)).max() <= told.sup_bound


def test_an_error_at_points_takes_fewer_terms_than_one_everywhere():
    machine = fitted("LSSVR")
    X = np.random.default_rng(1).uniform(-2, 2, (3000, 2))
    here, everywhere = compress(machine, X, error=0.05), compress(machine, error=0.05)
    assert here.compression_.n_after < everywhere.compression_.n_after
    # More points than a pursuit follows: those left out were looked at, and held.
    assert np.abs(machine.predict(X) - here.predict(X)).max() <= 0.05 * (1 + 1e-9)
    # One term less was not enough.
    fewer = compress(machine, X, n_centres=here.compression_.n_after - 1)
    assert fewer.compression_.sup_error > 0.05


def test_the_tolerance_of_the_fit_is_the_default():
    machine = fitted("SVR")
    assert compress(machine).compression_.sup_bound <= machine.tol


@pytest.mark.parametrize("method", ["greedy", "sup"])
@pytest.mark.parametrize("rows", [64, 1000])
def test_points_may_come_in_blocks(method, rows, monkeypatch):
    machine = fitted("SVC")
    X = np.random.default_rng(2).normal([5.8, 3.0, 3.7, 1.2], [0.8, 0.4, 1.7, 0.7], (1500, 4))
    source = Arrays(X)
    total = source.total
    monkeypatch.setattr(source, "total", lambda *a, **k: total(*a, **k | {"rows": rows}))
    small = compress(machine, source, error=0.2, method=method)
    told = small.compression_
    change = np.abs(values(machine, X) - values(small, X)).max()
    assert change == pytest.approx(told.sup_error, rel=1e-6)
    assert change <= 0.2 * (1 + 1e-8)
    assert told.n_points == 1500
    assert told.passes >= 1
    again = compress(machine, Arrays(X), error=0.2, method=method)
    np.testing.assert_allclose(again.support_vectors_, small.support_vectors_)
    np.testing.assert_allclose(again.dual_coef_, small.dual_coef_)


def test_sparse_rows():
    X, y = surface()
    machine = LSSVR(C=10.0).fit(sp.csr_array(X), y)
    dense = compress(fitted("LSSVR"), X, n_centres=15)
    for method in ("greedy", "stratified", "sup"):
        how = {"error": 0.3} if method == "sup" else {"n_centres": 15}
        small = compress(machine, sp.csr_array(X), method=method, **how)
        assert sp.issparse(small.support_vectors_)
        assert type(small.dual_coef_) is type(machine.dual_coef_)
        change = np.abs(machine.predict(sp.csr_array(X)) - small.predict(sp.csr_array(X))).max()
        assert change == pytest.approx(small.compression_.sup_error, rel=1e-6)
        if method == "greedy":
            np.testing.assert_array_equal(small.support_, dense.support_)
    with pytest.raises(ValueError, match="use method='greedy'"):
        compress(machine, n_centres=5, method="preimage")


@pytest.mark.parametrize("method", ["greedy", "stratified", "sup"])
def test_a_kernel_matrix(method):
    X, y = iris()
    K = Gaussian(1.0)(X)
    machine = SVC(kernel="precomputed", C=1.0, decision_function_shape="ovo").fit(K, y)
    how = {"error": 0.2} if method == "sup" else {"n_centres": 20}
    small = compress(machine, K, method=method, **how)
    change = np.abs(machine.decision_function(K) - small.decision_function(K)).max()
    assert change == pytest.approx(small.compression_.sup_error, rel=1e-6)
    twin = compress(SVC(kernel=Gaussian(1.0), C=1.0).fit(X, y), X, method=method, **how)
    if method == "greedy":
        np.testing.assert_array_equal(np.sort(small.support_), np.sort(twin.support_))
    with pytest.raises(ValueError, match="pass it as X"):
        compress(machine, n_centres=20)
    with pytest.raises(ValueError, match="no other points"):
        compress(machine, K, method="projection", centres=K[:3])


def test_a_plain_function():
    X, y = surface()
    machine = LSSVR(lambda A, B: Gaussian(1.0)(A, B), C=10.0).fit(X, y)
    small = compress(machine, n_centres=20)
    change = np.abs(machine.predict(X) - small.predict(X)).max()
    assert change == pytest.approx(small.compression_.sup_error, rel=1e-6)
    assert len(small._X_fit) == 20
    with pytest.raises(ValueError, match="leave X out"):
        compress(machine, X, n_centres=20)


def test_words():
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("ab"), 6)) for _ in range(40)], dtype=object)
    machine = LSSVR(StringSpectrum(2), C=1.0).fit(words, [w.count("ab") for w in words])
    small = compress(machine, words, error=0.01)
    assert np.abs(machine.predict(words) - small.predict(words)).max() <= 0.0100001
    assert small.compression_.n_after <= 8


def test_what_is_unpenalized_may_be_fitted_anew():
    machine = fitted("trend")
    X = surface()[0]
    kept = compress(machine, X, n_centres=8)
    again = compress(machine, X, n_centres=8, refit_null_space=True)
    np.testing.assert_array_equal(kept.null_space_coef_, machine.null_space_coef_)
    rest = machine.predict(X) - again.predict(X)
    # Least squares leaves nothing that the free functions could explain.
    assert np.abs(again.null_space_(X).T @ rest).max() <= 1e-10 * np.abs(rest).sum()
    assert again.compression_.sup_error == pytest.approx(np.abs(rest).max(), rel=1e-8)
    assert not again.compression_.everywhere
    assert again.intercept_ == again.null_space_coef_[0]
    with pytest.raises(ValueError, match="rows in memory"):
        compress(machine, Arrays(X), n_centres=8, refit_null_space=True)


@pytest.mark.parametrize(
    "name", ["LSSVR", "one-class", "thin plate", "two classes", "SVC", "wild SVC", "LSSVC"]
)
def test_the_certificate_of_a_null_space_fitted_anew(name):
    machine = fitted(name)
    X = points(machine)
    small = compress(machine, X, n_centres=21, refit_null_space=True)
    told = small.compression_
    change = np.abs(values(machine, X) - values(small, X)).max()
    assert change == pytest.approx(told.sup_error, rel=1e-6, abs=told.radius * told.rounding)
    if name == "one-class":
        np.testing.assert_array_equal(small.offset_, -small.intercept_)


def test_constants_of_collapsed_pairs_stay():
    X, y = iris()
    with pytest.warns(CollapsedMachine):
        machine = AdaptiveMarginSVC(20.0, decision_function_shape="ovo").fit(X, y)
    assert machine.intercept_.any()  # of a pair without coefficients, and it has no null space
    small = compress(machine, X, error=1e-3)
    np.testing.assert_array_equal(small.intercept_, machine.intercept_)
    assert np.abs(values(machine, X) - values(small, X)).max() <= 1e-3 * (1 + 1e-8)


def test_new_weights_for_the_rule_of_the_error():
    machine, X = fitted("LSSVR"), surface()[0]
    plain = compress(machine, X, error=0.3, method="sup")
    fitted_anew = compress(machine, X, error=0.3, method="sup", refit=True)
    assert fitted_anew.compression_.distance < plain.compression_.distance
    np.testing.assert_array_equal(plain.compression_.index, fitted_anew.compression_.index)


def test_terms_by_lot_until_the_error_is_met():
    machine = fitted("LSSVR")
    small = compress(machine, error=1.0, method="stratified")
    assert small.compression_.sup_bound <= 1.0
    assert small.compression_.expected_distance <= small.compression_.distance_bound
    assert "on average" in repr(small.compression_)


def test_the_machine_is_as_it_was_and_the_copy_a_machine():
    machine = fitted("SVC")
    before = pickle.dumps(machine)
    small = compress(machine, iris()[0], n_centres=15)
    assert pickle.dumps(machine) == before
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.predict(iris()[0]), small.predict(iris()[0]))
    assert len(pickle.dumps(small)) < len(before)
    assert 0.9 < small.compression_.agreement <= 1.0
    refit = clone(small).fit(*iris())
    np.testing.assert_array_equal(refit.support_, machine.support_)
    small = compress(fitted("LSSVC"), n_centres=15)
    fewer = compress(small.fit(*iris()), n_centres=30)
    assert fewer.n_support_.sum() == 30


def test_twice():
    """A compressed machine is compressed again, also one with new points."""
    machine, X = fitted("codes"), iris()[0]
    once = compress(machine, X, method="projection", centres=X[1::4])
    twice = compress(once, X, n_centres=15)
    change = np.abs(once.column_decision(X) - twice.column_decision(X)).max()
    assert change == pytest.approx(twice.compression_.sup_error, rel=1e-6)
    assert twice.n_support_.sum() == 15


def test_frames_pipelines_and_machines_that_tune_themselves():
    X, y = surface()
    frame = pd.DataFrame(X, columns=["a", "b"])
    machine = LSSVR(C=10.0, null_space=Constant() + Columns(["b"])).fit(frame, y)
    small = compress(machine, frame, error=0.05)
    assert np.abs(small.predict(frame) - machine.predict(frame)).max() <= 0.05 * (1 + 1e-8)
    pipeline = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
    short = compress(pipeline, X, error=0.05)
    assert np.abs(short.predict(X) - pipeline.predict(X)).max() <= 0.05 * (1 + 1e-8)
    assert short[-1].n_support_ < pipeline[-1].n_support_
    with pytest.raises(ValueError, match="a pipeline transforms arrays"):
        compress(pipeline, Arrays(X), error=0.05)
    tuned = LSSVRCV(budget=3).fit(X[:60], y[:60])
    assert compress(tuned, n_centres=5).machine_.n_support_ == 5
    assert tuned.machine_.n_support_ == 60


def test_what_a_sample_told_is_left_behind():
    small = compress(fitted("LSSVR"), n_centres=10)
    with pytest.raises(ValueError, match="before compression"):
        small.loo_residuals_  # noqa: B018
    machine, X = LSSVC(C=10.0).fit(*iris()), iris()[0]
    p = machine.predict_proba(X)
    small = compress(machine, X, error=1e-3)
    assert np.abs(small.predict_proba(X) - p).max() < 0.02
    with pytest.raises(ValueError, match="before compression"):
        small.loo_decision_  # noqa: B018
    assert len(pickle.dumps(small)) < len(pickle.dumps(machine))
    lazily = compress(LSSVC(C=10.0).fit(*iris()), X, error=1e-3)
    np.testing.assert_allclose(lazily.predict_proba(X), small.predict_proba(X))


def test_a_spline_of_one_feature_stays_where_it_is_defined():
    x = np.linspace(0.0, 1.0, 60)[:, None]
    machine = SmoothingSpline().fit(x, np.sin(6 * x[:, 0]))
    for method in ("greedy", "preimage"):
        how = {"polish": 3} if method == "preimage" else {}
        small = compress(machine, x, n_centres=8, method=method, **how)
        assert small.support_vectors_.min() >= 0.0
        assert small.compression_.sup_error < 0.05


def test_bad_requests_are_refused():
    machine, X = fitted("LSSVR"), surface()[0]
    with pytest.raises(ValueError, match="method must be one of"):
        compress(machine, method="random")
    with pytest.raises(ValueError, match="n_centres must be at least 1"):
        compress(machine, n_centres=0)
    with pytest.raises(ValueError, match="error must be positive"):
        compress(machine, error=-1.0)
    with pytest.raises(ValueError, match="takes `centres`"):
        compress(machine, method="projection")
    with pytest.raises(ValueError, match="takes `centres`"):
        compress(machine, centres=X[:3])
    with pytest.raises(ValueError, match="method='greedy' has no option 'polish'; it takes none"):
        compress(machine, n_centres=3, polish=3)
    with pytest.raises(ValueError, match="give `error`"):
        compress(machine, n_centres=3, method="sup")
    with pytest.raises(TypeError, match="not a kernel machine"):
        compress(UniversalKriging(Matern(0.5)).fit(*surface()))
    with pytest.raises(ValueError, match="3 terms for what it leaves free"):
        compress(fitted("thin plate"), n_centres=3)
    K = np.tanh(X @ X.T - 1.0)
    with pytest.warns(IndefiniteKernel, match="eigenvalue"):
        indefinite = SVR(kernel="precomputed", solver="smo").fit(K, surface()[1])
    with pytest.raises(ValueError, match="eigenvalue"):
        compress(indefinite, K, n_centres=3)
