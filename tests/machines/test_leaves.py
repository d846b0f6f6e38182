"""Local machines: one leaf is the exact machine, every leaf certified, points by their own leaf."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import mercer.estimators
import mercer.kernels
from mercer import LSSVC, LSSVR, SVC, SVR, AdditiveRegressor, KernelLogisticRegression, OneClassSVM
from mercer.data import Arrays
from mercer.kernels import Gaussian, Laplacian
from mercer.local import Local
from mercer.machines.leaf_settings import widened
from mercer.machines.subproblems import prepare
from mercer.regularizers import Polynomial
from mercer.solvers import Status

REGRESSORS = [
    *("SVR", "NuSVR", "LSSVR", "QuantileSVR", "KernelRegressor", "HuberSVR", "RobustLSSVR"),
    *("CensoredRegressor", "QuantileBand", "SupportVectorTube"),
]
CLASSIFIERS = ["SVC", "NuSVC", "LSSVC", "KernelClassifier", "KernelLogisticRegression"]


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    return X, y, np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]


def plain(leaf_size, **settings):
    return Local(leaf_size, **({"adapt": False} | settings))


@pytest.mark.parametrize("name", REGRESSORS)
def test_one_leaf_is_the_exact_machine_of_numbers(name):
    X, y, _ = sample(120)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=120)
    local, exact = (
        getattr(mercer.estimators, name)(approximation=how).fit(X, y, sample_weight=weights)
        for how in (plain(1000), None)
    )
    np.testing.assert_array_equal(local.predict(X), exact.predict(X))
    assert local.solution_.gap == exact.solution_.gap


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_one_leaf_is_the_exact_machine_of_classes(name, classes):
    X, y, labels = sample(120)
    target = y > 0 if classes == 2 else labels
    settings = {} if name == "NuSVC" else {"class_weight": "balanced"}
    local, exact = (
        getattr(mercer.estimators, name)(approximation=how, **settings).fit(X, target)
        for how in (plain(1000), None)
    )
    np.testing.assert_array_equal(local.decision_function(X), exact.decision_function(X))
    np.testing.assert_array_equal(local.predict(X), exact.predict(X))


def test_points_are_predicted_by_their_own_leaf():
    X, y, _ = sample()
    machine = SVR(approximation=plain(100)).fit(X, y)
    assert len(machine.leaves_) == 4
    leaf, predicted = machine.tree_.route(X), machine.predict(X)
    rows = np.concatenate([one.rows for one in machine.leaves_])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(X)))
    for k, one in enumerate(machine.leaves_):
        np.testing.assert_array_equal(leaf[one.rows], k)
        exact = SVR(kernel=machine.kernel_).fit(X[one.rows], y[one.rows])
        np.testing.assert_array_equal(predicted[one.rows], exact.predict(X[one.rows]))


@pytest.mark.parametrize("n", [99, 100, 101, 250, 399])
def test_leaves_are_as_large_as_was_asked(n):
    X, y, _ = sample(n)
    sizes = [len(leaf.rows) for leaf in LSSVR(approximation=plain(100)).fit(X, y).leaves_]
    assert sum(sizes) == n
    assert max(sizes) <= 100
    assert min(sizes) >= 49


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("machine", [SVR(), LSSVR(), KernelLogisticRegression()], ids=repr)
def test_every_leaf_is_certified_from_outside(machine, adapt):
    X, y, _ = sample()
    target = y if hasattr(machine, "epsilon") or isinstance(machine, LSSVR) else y > 0
    machine = clone(machine).set_params(approximation=plain(100, adapt=adapt)).fit(X, target)
    for leaf in machine.leaves_:
        own = leaf.machine
        (risk,) = prepare(clone(own), X[leaf.rows], target[leaf.rows]).risks
        certificate = risk.certificate(own.solution_.a, own.solution_.b)
        gap = certificate.primal - certificate.dual
        assert abs(gap - own.solution_.gap) <= 1e-9 * (1.0 + abs(own.solution_.objective))
    assert machine.solution_.status is Status.CONVERGED
    gaps = [leaf.machine.solution_.gap for leaf in machine.leaves_]
    assert machine.solution_.gap == pytest.approx(sum(gaps), rel=1e-12)


def test_free_functions_and_several_outputs_are_those_of_the_leaves():
    X, y, _ = sample()
    machine = LSSVR(null_space=Polynomial(1), approximation=plain(100))
    machine.fit(X, np.column_stack([y, 2 * y + X[:, 0]]))
    assert machine.predict(X).shape == (400, 2)
    # A line is free: what is linear is reproduced with any C.
    line = LSSVR(null_space=Polynomial(1), C=1e-6, approximation=plain(100)).fit(X, X @ [1.0, 2.0])
    np.testing.assert_allclose(line.predict(X), X @ [1.0, 2.0], atol=1e-4)


# Classes ------------------------------------------------------------------------------------------


def parted(n=400):
    """Classes of which leaves see one, two or three."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (n, 1))
    y = np.select(
        [X[:, 0] < 1, X[:, 0] < 2, X[:, 0] < 3], ["a", rng.choice(["a", "b"], n), "c"], "d"
    ).astype(str)
    return X, y


@pytest.mark.parametrize("blend", [False, True])
@pytest.mark.parametrize("machine", [LSSVC(), SVC(), KernelLogisticRegression()], ids=repr)
def test_leaves_without_some_classes(machine, blend):
    X, y = parted()
    how = plain(100, overlap=0.1 * blend, blend=blend)
    machine = clone(machine).set_params(gamma=1.0, approximation=how).fit(X, y)
    assert any(leaf.machine is None for leaf in machine.leaves_)
    f, predicted = machine.decision_function(X), machine.predict(X)
    assert f.shape == (400, 4)
    assert machine.score(X, y) > 0.8
    if not blend:
        np.testing.assert_array_equal(machine.classes_[np.argmax(f, axis=1)], predicted)
    if isinstance(machine, KernelLogisticRegression):
        P = machine.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert np.all(P > 0)  # a class that was not seen here may still come
        np.testing.assert_allclose(machine.predict_log_proba(X), np.log(P))


def test_leaves_of_one_class_each_need_no_machine():
    X = np.linspace(0, 1, 200)[:, None]
    machine = SVC(approximation=plain(100)).fit(X, X[:, 0] > 0.5)
    assert [leaf.machine for leaf in machine.leaves_] == [None, None]
    assert machine.score(X, X[:, 0] > 0.5) == 1.0
    assert machine.solution_.status is Status.CONVERGED
    assert len(machine.support_) == 0


def test_two_classes_keep_one_column():
    X, y = parted()
    machine = LSSVC(approximation=plain(100)).fit(X, y == "a")
    f = machine.decision_function(X)
    assert f.shape == (400,)
    np.testing.assert_array_equal(f > 0, machine.predict(X))


def test_class_weights_are_those_of_all_rows():
    X, y, _ = sample()
    target = y > 1.0
    machine = LSSVC(class_weight="balanced", approximation=plain(100)).fit(X, target)
    weights = len(y) / (2 * np.where(target, target.sum(), (~target).sum()))
    by_hand = LSSVC(approximation=plain(100)).fit(X, target, sample_weight=weights)
    np.testing.assert_allclose(machine.decision_function(X), by_hand.decision_function(X))


# What the leaves ask for --------------------------------------------------------------------------


def test_leaves_choose_their_width():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1200, 1))
    y = np.where(X[:, 0] < 0, np.sin(60 * X[:, 0]), X[:, 0]) + 0.05 * rng.normal(size=1200)
    new = rng.uniform(-1, 1, (2000, 1))
    truth = np.where(new[:, 0] < 0, np.sin(60 * new[:, 0]), new[:, 0])
    one, own = (
        LSSVR(kernel=Gaussian(0.3), approximation=plain(300, adapt=adapt)).fit(X, y)
        for adapt in (False, True)
    )
    error, less = (np.mean((machine.predict(new) - truth) ** 2) for machine in (one, own))
    assert less < 0.1 * error
    widths = [leaf.machine.kernel_.length_scale for leaf in own.leaves_]
    middles = [np.mean(X[leaf.rows]) for leaf in own.leaves_]
    assert max(w for w, m in zip(widths, middles, strict=True) if m < 0) < min(
        w for w, m in zip(widths, middles, strict=True) if m > 0
    )


def test_leaves_without_much_to_say_are_drawn_to_the_others():
    # The same function everywhere: single leaves of 60 rows would choose by chance.
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 8, (480, 1))
    y = np.sin(3 * X[:, 0]) + rng.normal(size=480)
    machine = LSSVR(kernel=Gaussian(0.5), approximation=Local(60)).fit(X, y)
    alone = [
        LSSVR(kernel=Gaussian(0.5), approximation=Local(60)).fit(X[leaf.rows], y[leaf.rows])
        for leaf in machine.leaves_
    ]

    def spread(machines):
        return np.std([np.log(m.kernel_.length_scale) for m in machines])

    assert spread([leaf.machine for leaf in machine.leaves_]) < spread(
        [one.leaves_[0].machine for one in alone]
    )


def test_widened_kernels():
    kernel = Laplacian([1.0, 2.0], categories=(1,))
    np.testing.assert_array_equal(widened(kernel, 2.0).length_scale, [2.0, 4.0])
    assert kernel.length_scale == [1.0, 2.0]
    X = np.random.default_rng(0).normal(size=(5, 2))
    stretched = widened(mercer.kernels.Linear(), 2.0)
    np.testing.assert_allclose(stretched(X), 0.25 * X @ X.T)


def test_categories_are_not_parted():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, size=600)
    X = np.column_stack([rng.uniform(size=600), codes])
    y = np.where(codes < 3, 1.0, -1.0) * np.sin(5 * X[:, 0])
    kernel = Laplacian([5.0, 0.5], categories=(1,))
    machine = LSSVR(kernel=kernel, C=100.0, approximation=plain(150)).fit(X, y)
    for leaf in machine.leaves_:
        inside = set(codes[leaf.rows])
        outside = set(np.delete(codes, leaf.rows))
        assert not inside & outside
    assert machine.score(X, y) > 0.95


# The estimator ------------------------------------------------------------------------------------


def test_blending_has_no_jumps():
    X, y, _ = sample(2000)
    line = np.column_stack([np.linspace(-3, 3, 6001), np.full(6001, 0.7)])
    jumps = []
    for settings in ({}, {"overlap": 0.2, "blend": True}):
        machine = LSSVR(gamma=1.0, approximation=plain(250, **settings)).fit(X, y)
        jumps.append(np.max(np.abs(np.diff(machine.predict(line)))))
    # The function itself moves by some 2.3 a unit, so by .0025 from point to point.
    assert jumps[1] < 0.006 < jumps[0]


def test_deterministic_cloned_pickled():
    X, y, _ = sample()
    machine = SVR(approximation=Local(100)).fit(X, y)
    again = clone(machine).fit(X, y)
    copy = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    np.testing.assert_array_equal(copy.predict(X), machine.predict(X))
    assert machine.get_params()["approximation__leaf_size"] == 100
    assert np.all(np.isfinite(cross_val_score(machine, X, y, cv=3)))


def test_rows_without_weight_do_not_count():
    X, y, _ = sample()
    weights = np.r_[np.ones(300), np.zeros(100)]
    machine = LSSVR(approximation=Local(100)).fit(X, y, sample_weight=weights)
    less = LSSVR(approximation=Local(100), kernel=machine.kernel_).fit(X[:300], y[:300])
    assert max(leaf.rows.max() for leaf in machine.leaves_) < 300
    np.testing.assert_allclose(machine.predict(X), less.predict(X))


def test_another_fit_is_another_machine():
    X, y, _ = sample()
    machine = LSSVR(approximation=Local(100)).fit(X, y)
    with pytest.raises(ValueError, match="one by one"):
        machine._expansion()
    machine.set_params(approximation=None).fit(X, y)
    with pytest.raises(AttributeError, match="Local"):
        _ = machine.leaves_
    np.testing.assert_array_equal(machine.predict(X), LSSVR().fit(X, y).predict(X))
    machine.set_params(approximation=Local(100)).fit(X, y)
    assert not hasattr(machine, "dual_coef_")
    before = machine.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(np.full_like(X, np.nan), y)
    np.testing.assert_array_equal(machine.predict(X), before)


def test_leaves_that_stop_early_are_told_once():
    X, y, _ = sample()
    machine = SVR(C=1e4, max_iter=3, tol=1e-9, approximation=plain(100))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    assert len(caught) == 1
    assert "4 of 4 leaves" in str(caught[0].message)
    assert machine.solution_.status is not Status.CONVERGED
    assert machine.fit_status_ == 1


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (SVR(kernel="precomputed"), "Kernel of numbers"),
        (SVR(kernel=lambda X, Z: X @ Z.T), "Kernel of numbers"),
        (SVC(decision_function_shape="ovo"), "ovr"),
        (AdditiveRegressor(), "approximation"),
    ],
)
def test_what_cannot_be_local_is_refused(machine, message):
    X, _, labels = sample(60)
    X = X @ X.T if machine.kernel == "precomputed" else X
    target = labels if isinstance(machine, SVC) else np.arange(60.0)
    with pytest.raises(ValueError, match=message):
        machine.set_params(approximation=Local(20)).fit(X, target)


def test_no_targets_are_refused():
    X, _, _ = sample(60)
    with pytest.raises(ValueError, match="no targets"):
        OneClassSVM(approximation=Local(20)).fit(X)


# Rows in blocks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [64, 1000])
@pytest.mark.parametrize("how", [Local(100), Local(100, overlap=0.1, blend=True)], ids=repr)
def test_blocks_have_the_leaves_of_arrays(monkeypatch, how, rows):
    monkeypatch.setattr("mercer.machines.leaf_samples.MAX_SORTED_ROWS", rows)
    X, y, _ = sample()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    machine = LSSVR(kernel=Gaussian(1.0), approximation=how)
    blocks = clone(machine).fit(Arrays(X, y, weights))
    arrays = clone(machine).fit(X, y, sample_weight=weights)
    assert [sorted(leaf.rows) for leaf in blocks.leaves_] == [
        sorted(leaf.rows) for leaf in arrays.leaves_
    ]
    np.testing.assert_allclose(blocks.predict(X), arrays.predict(X), atol=1e-9)
    np.testing.assert_array_equal(blocks.predict(Arrays(X)), blocks.predict(X))


def test_the_order_of_rows_does_not_change_a_bit():
    X, _, labels = sample()
    order = np.random.default_rng(2).permutation(len(X))
    machine = KernelLogisticRegression(kernel=Gaussian(1.0), approximation=Local(100))
    one = clone(machine).fit(Arrays(X, labels))
    other = clone(machine).fit(Arrays(X[order], labels[order]))
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_blocks_of_rows_without_weight():
    X, y, _ = sample()
    weights = (X[:, 0] < 0).astype(float)
    machine = LSSVR(approximation=Local(50)).fit(Arrays(X, y, weights))
    assert len(machine.leaves_) == machine.tree_.leaves
    assert np.all(X[np.concatenate([leaf.rows for leaf in machine.leaves_]), 0] < 0)
    assert np.all(np.isfinite(machine.predict(X)))


def test_classes_in_blocks():
    X, y = parted()
    for machine in (LSSVC(class_weight="balanced"), SVC(gamma=1.0)):
        machine.set_params(approximation=plain(100))
        blocks, arrays = clone(machine).fit(Arrays(X, y)), clone(machine).fit(X, y)
        np.testing.assert_array_equal(blocks.predict(X), arrays.predict(X))


def test_nothing_is_left_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X, y, _ = sample()
    LSSVR(approximation=Local(100)).fit(Arrays(X, y))
    with pytest.raises(ValueError, match="NaN"):
        LSSVR(approximation=Local(100)).fit(Arrays(X, np.where(y > 1, np.nan, y)))
    assert not list(tmp_path.iterdir())


def test_intervals_of_local_machines_are_refused_and_what_is_told_instead_works():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (1200, 2))
    y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(1200)
    machine = LSSVR(gamma=1.0, approximation=Local(leaf_size=200))
    fitted = clone(machine).fit(X[:600], y[:600])
    for ask in (
        lambda: fitted.predict_interval(X[600:]),
        lambda: fitted.predict(X[600:], return_std=True),
        lambda: fitted.loo_residuals_,
    ):
        with pytest.raises(ValueError, match=r"leaves_\[0\].machine.*ConformalRegressor"):
            ask()
    assert fitted.leaves_[0].machine.predict_interval(X[600:]).shape == (600, 2)
    low, high = mercer.ConformalRegressor(machine).fit(X[:600], y[:600]).predict_interval(X[600:]).T
    # Coverage of 600 new rows has a standard deviation of 0.012, and of 0.9 given the calibration
    # of at least 100 rows one of 0.03: four of both.
    assert abs(np.mean((low <= y[600:]) & (y[600:] <= high)) - 0.9) < 4 * np.hypot(0.012, 0.03)
