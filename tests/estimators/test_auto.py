"""Parameters that machines choose from their samples."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_friedman1, make_moons

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
)
from mercer.estimators import HuberSVR, RobustLSSVR
from mercer.kernels import Gaussian, Linear, Polynomial, Stretched
from mercer.machines.automatic import choose_nu
from mercer.regularizers import AutoRegressive
from mercer.smoothing import optimal_epsilon, optimal_nu
from mercer.smoothing.widths import guess_C

RNG = np.random.default_rng(0)
SCALES = 10.0 ** np.arange(-2, 3)
X, Y = make_friedman1(150, 5, noise=1.0, random_state=0)
X = X * SCALES
NEW = make_friedman1(40, 5, random_state=1)[0] * SCALES
LABELS = np.where(np.median(Y) < Y, "high", "low")
THREE = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))

REGRESSORS = [SVR(), NuSVR(), HuberSVR(), QuantileSVR(), KernelRegressor()]
CLASSIFIERS = [SVC(), KernelClassifier(), KernelLogisticRegression()]
OTHERS = [NuSVC(nu=0.2), OneClassSVM()]


def name(machine):
    return type(machine).__name__


@pytest.mark.parametrize("kernel", ["rbf", "linear", Polynomial(2, coef0=1.0) + Gaussian(2.0)])
@pytest.mark.parametrize("machine", REGRESSORS + CLASSIFIERS + OTHERS, ids=name)
def test_standardizing_is_dividing_by_hand(machine, kernel):
    y = LABELS if hasattr(machine, "classes_") or machine in CLASSIFIERS + OTHERS[:1] else Y
    inside = clone(machine).set_params(standardize=True, kernel=kernel, tol=1e-6).fit(X, y)
    outside = clone(machine).set_params(kernel=kernel, tol=1e-6).fit(X / X.std(axis=0), y)
    np.testing.assert_allclose(inside.feature_scales_, X.std(axis=0), rtol=1e-12)
    ask = "decision_function" if hasattr(machine, "decision_function") else "predict"
    f, g = getattr(inside, ask)(NEW), getattr(outside, ask)(NEW / X.std(axis=0))
    # Both minimize to tol in units of f; nearly flat directions turn that into a little more.
    np.testing.assert_allclose(f, g, atol=1e-3 * max(1.0, np.ptp(g)))


def test_scales_are_length_scales():
    machine = SVR(standardize=True, gamma=0.5).fit(X, Y)
    np.testing.assert_allclose(machine.kernel_.length_scale, X.std(axis=0))


def test_linear_weights_are_those_of_the_features():
    machine = SVR(kernel="linear", standardize=True, tol=1e-6).fit(X, Y)
    assert isinstance(machine.kernel_, Stretched)
    np.testing.assert_allclose(
        NEW @ machine.coef_[0] + machine.intercept_[0], machine.predict(NEW), rtol=1e-7
    )
    sparse = SVR(kernel="linear", standardize=True, tol=1e-6).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.coef_.toarray(), machine.coef_, rtol=1e-3, atol=1e-6)


def test_sparse_and_dense_agree():
    Z = np.where(RNG.random(X.shape) < 0.5, 0.0, X)
    options = {"standardize": True, "C": "auto", "gamma": "tuned", "tol": 1e-6}
    dense, sparse = SVR(**options).fit(Z, Y), SVR(**options).fit(sp.csr_array(Z), Y)
    np.testing.assert_allclose(sparse.feature_scales_, dense.feature_scales_, rtol=1e-9)
    np.testing.assert_allclose(sparse.C_, dense.C_, rtol=1e-6)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(NEW)), dense.predict(NEW), atol=1e-3)


def test_names_of_features_are_kept():
    frame = pd.DataFrame(X, columns=list("abcde"))
    kernel = Gaussian(1.0).on(["a", "d"]) + Linear().on(["b"])
    machine = KernelRegressor(kernel=kernel, standardize=True).fit(frame, Y)
    assert np.isfinite(machine.predict(frame)).all()


def test_constant_features_stay():
    Z = np.column_stack([X, np.full(150, 7.0)])
    machine = SVR(standardize=True).fit(Z, Y)
    assert machine.feature_scales_[-1] == 1.0


def test_scales_see_weights():
    weight = np.r_[np.zeros(50), np.ones(100)]
    left = SVR(standardize=True).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(left.feature_scales_, X[50:].std(axis=0), rtol=1e-12)


def test_without_features_there_is_nothing_to_standardize():
    with pytest.raises(ValueError, match="standardize=True needs features"):
        SVR(kernel="precomputed", standardize=True).fit(X @ X.T, Y)


@pytest.mark.parametrize("machine", REGRESSORS, ids=name)
def test_a_chosen_weight_is_that_of_the_squared_loss_over_curvature(machine):
    kernel, Z = Gaussian(1.5), X / X.std(axis=0)
    found = clone(machine).set_params(kernel=kernel, C="auto").fit(Z, Y)
    guess = guess_C(kernel(Z), Y, np.ones((150, 1)))
    np.testing.assert_allclose(
        found.C_, guess.weight_of(found._calibrated_loss(guess, None)), rtol=1e-6
    )
    given = clone(machine).set_params(kernel=kernel, C=found.C_).fit(Z, Y)
    np.testing.assert_array_equal(found.predict(Z), given.predict(Z))
    assert given.C_ == found.C_


@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two", "three"])
@pytest.mark.parametrize("machine", CLASSIFIERS, ids=name)
def test_classifiers_choose_a_weight(machine, y):
    auto = clone(machine).set_params(C="auto", standardize=True, gamma="tuned").fit(X, y)
    again = clone(auto).fit(X, y)
    assert np.isfinite(auto.C_)
    assert auto.C_ == again.C_
    assert auto.score(X, y) > 0.8


def test_weights_scale_the_chosen_one():
    one = SVR(C="auto", kernel=Gaussian(1.0)).fit(X / X.std(axis=0), Y)
    other = SVR(C="auto", kernel=Gaussian(1.0)).fit(X / X.std(axis=0), Y, np.full(150, 4.0))
    np.testing.assert_allclose(other.C_, one.C_ / 4.0, rtol=1e-9)


def test_a_chosen_tube_is_the_efficient_one():
    machine = SVR(epsilon="auto", C="auto", standardize=True, gamma="tuned").fit(X, Y)
    np.testing.assert_allclose(
        machine.epsilon_, optimal_epsilon("gaussian", np.sqrt(machine.noise_variance_))
    )
    # The noise has variance one; 150 samples in five dimensions know it to a factor of two.
    assert 0.5 < machine.noise_variance_ < 2.0
    scaled = clone(machine).fit(X, 100.0 * Y)
    np.testing.assert_allclose(scaled.epsilon_, 100.0 * machine.epsilon_, rtol=1e-6)
    np.testing.assert_allclose(scaled.C_, 100.0 * machine.C_, rtol=1e-6)


def test_what_is_given_is_used():
    machine = SVR(C=3.0, epsilon=0.2).fit(X, Y)
    assert (machine.C_, machine.epsilon_) == (3.0, 0.2)
    assert not hasattr(machine, "noise_variance_")
    assert NuSVR(nu=0.3).fit(X, Y).nu_ == 0.3


def test_nu_follows_the_shape_of_the_noise():
    normal, laplace = RNG.standard_normal(20_000), RNG.laplace(size=20_000)
    uniform = RNG.uniform(-1, 1, 20_000)
    assert abs(choose_nu(normal) - optimal_nu("gaussian")) < 0.03
    assert choose_nu(laplace) == optimal_nu(1.25)
    assert choose_nu(uniform) == optimal_nu(4.0)
    assert choose_nu(np.zeros(9)) == optimal_nu("gaussian")
    machine = NuSVR(nu="auto", C="auto", standardize=True, gamma="tuned").fit(X, Y)
    assert optimal_nu(4.0) <= machine.nu_ <= optimal_nu(1.25)


def test_widths_are_chosen_for_named_kernels_only():
    Z, y = make_moons(200, noise=0.2, random_state=0)
    tuned = SVC(gamma="tuned", C="auto").fit(Z, y)
    median = SVC(gamma="median").fit(Z, y)
    ratio = np.log2(tuned.kernel_.length_scale / median.kernel_.length_scale)
    np.testing.assert_allclose(ratio, np.round(ratio), atol=1e-9)
    assert -2.01 < ratio < 2.01
    for kernel in ("linear", Gaussian(1.0)):
        with pytest.raises(ValueError, match="given by a name"):
            SVC(kernel=kernel, gamma="tuned").fit(Z, y)
    with pytest.raises(ValueError, match="needs targets"):
        OneClassSVM(gamma="tuned").fit(Z)
    assert OneClassSVM(gamma="median").fit(Z).kernel_.length_scale > 0


def test_precomputed_matrices_have_a_weight():
    K = Gaussian(1.0)(X / X.std(axis=0))
    given = SVR(kernel="precomputed", C="auto", epsilon="auto").fit(K, Y)
    same = SVR(kernel=Gaussian(1.0), C="auto", epsilon="auto").fit(X / X.std(axis=0), Y)
    np.testing.assert_allclose(given.C_, same.C_, rtol=1e-6)


def test_correlated_errors_are_seen_white():
    t = np.arange(80.0)[:, None]
    e = np.zeros(80)
    for k in range(1, 80):
        e[k] = 0.8 * e[k - 1] + 0.3 * RNG.standard_normal()
    y = np.sin(0.2 * t[:, 0]) + e
    machine = KernelRegressor(
        kernel=Gaussian(8.0), errors=AutoRegressive(0.8, time=0), C="auto"
    ).fit(t, y)
    assert np.isfinite(machine.C_)


def test_several_outputs_share_a_weight():
    machine = KernelRegressor(C="auto", standardize=True, gamma="tuned").fit(X, np.c_[Y, -2 * Y])
    assert np.isfinite(machine.C_)


def test_large_samples_take_a_part():
    Z, y = make_friedman1(1500, 5, noise=1.0, random_state=0)
    machine = SVR(C="auto", epsilon="auto", gamma="median").fit(Z, y)
    # A few hundred rows know the noise to sqrt(2/300), and what the function hides.
    assert 0.6 < machine.noise_variance_ < 1.6


def test_automatic_machines_beat_the_defaults_on_features_of_all_scales():
    Z, y = make_friedman1(300, 5, noise=1.0, random_state=2)
    Z = Z * SCALES
    auto = SVR(C="auto", epsilon="auto", gamma="tuned", standardize=True).fit(Z[:200], y[:200])
    assert (
        auto.score(Z[200:], y[200:])
        > 0.75
        > 0.3
        > SVR().fit(Z[:200], y[:200]).score(Z[200:], y[200:])
    )


@pytest.mark.parametrize("machine", [LSSVR(), LSSVC(), RobustLSSVR()], ids=name)
def test_least_squares_machines_choose_too(machine):
    y = LABELS if isinstance(machine, LSSVC) else Y
    auto = clone(machine).set_params(C="auto", gamma="tuned", standardize=True).fit(X, y)
    by_hand = clone(machine).set_params(C=auto.C_, gamma=auto.kernel_.gamma[0] * X[:, 0].var())
    by_hand.fit(X / X.std(axis=0), y)
    # One system solved twice, to the tolerance of the machines.
    np.testing.assert_allclose(
        auto.predict(NEW) if y is Y else auto.decision_function(NEW),
        by_hand.predict(NEW / X.std(axis=0))
        if y is Y
        else by_hand.decision_function(NEW / X.std(axis=0)),
        atol=5e-3,
    )
