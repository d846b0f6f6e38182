"""Machines of variable margins, weights and penalties among few functions.

With every sample a centre the functions are all that the exact machine has, so that both are one.
"""

import numpy as np
import pytest
from sklearn.utils import estimator_checks

from mercer import (
    NuSVC,
    NuSVR,
    Nystrom,
    OneClassSVM,
    RandomFeatures,
    SmoothingSpline,
    UniversalKriging,
)
from mercer.data import as_source
from mercer.estimators import RobustLSSVR, ThinPlateSpline
from mercer.kernels import Gaussian, ThinPlate
from mercer.regularizers import AutoRegressive
from mercer.regularizers.null_space import Empty
from mercer_research.estimators import RegularizationNetwork, TermSelector

N = 120
rng = np.random.default_rng(5)
X = rng.normal(size=(N, 2))
SMOOTH = np.sin(2.0 * X[:, 0]) + X[:, 1]
Y = SMOOTH + 0.2 * rng.normal(size=N)
TWO = np.where(X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=N) > 0.5, "in", "out")
THREE = np.digitize(SMOOTH, [-0.7, 0.7])
WEIGHTS = rng.choice([0.5, 1.0, 2.0], N)
ALL = Nystrom(N, n_jobs=1)


def values(machine, points=X):
    return getattr(machine, "decision_function", machine.predict)(points)


def both(machine, *data, approximation=ALL, **exact):
    """Return the exact machine and the one over all samples as centres."""
    few = type(machine)(**{**machine.get_params(deep=False), "approximation": approximation})
    return machine.set_params(**exact).fit(*data), few.fit(*data)


# Nu-machines --------------------------------------------------------------------------------------

# Objectives differ by at most the gap, tol / 10 of them, and the exact one's own. By convexity the
# norm of the error is below sqrt(2 gap), here 2e-3 of the norm of f; values at points, and the
# level that follows them, by no more than a few times that.
TOL, CLOSE = 1e-5, 1e-2


@pytest.mark.parametrize("null_space", [None, Empty()], ids=["intercept", "none"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_nu_classes(y, null_space):
    machine = NuSVC(
        nu=0.2, gamma=0.5, tol=TOL, decision_function_shape="ovo", null_space=null_space
    )
    exact, few = both(machine, X, y, WEIGHTS, tol=1e-8)
    scale = np.abs(values(exact)).max()
    np.testing.assert_allclose(values(few), values(exact), atol=CLOSE * scale)
    bound = few.solution_.gap + 1e-7 * abs(exact.solution_.objective)
    assert abs(few.solution_.objective - exact.solution_.objective) <= bound
    assert np.mean(few.predict(X) == exact.predict(X)) > 0.97


def test_nu_bounds_margin_errors_and_support_vectors():
    nu = 0.4
    few = NuSVC(nu=nu, gamma=0.5, tol=TOL, approximation=Nystrom(25, n_jobs=1)).fit(X, TWO)
    margin = few.decision_function(X) * np.where(few.classes_[1] == TWO, 1.0, -1.0)
    assert np.mean(margin < 1.0 - CLOSE) <= nu <= np.mean(margin < 1.0 + CLOSE)


def test_balanced_classes_make_every_nu_feasible():
    y = (X[:, 0] > 1.0).astype(int)
    few = Nystrom(30, n_jobs=1)
    with pytest.raises(ValueError, match="infeasible"):
        NuSVC(nu=0.9, approximation=few).fit(X, y)
    NuSVC(nu=0.9, class_weight="balanced", approximation=few).fit(X, y)


@pytest.mark.parametrize("null_space", [None, Empty()], ids=["intercept", "none"])
def test_nu_tube(null_space):
    machine = NuSVR(nu=0.3, C=2.0, gamma=0.5, tol=TOL, null_space=null_space)
    exact, few = both(machine, X, Y, WEIGHTS, tol=1e-8)
    np.testing.assert_allclose(few.epsilon_, exact.epsilon_, atol=CLOSE)
    np.testing.assert_allclose(values(few), values(exact), atol=CLOSE)


def test_nu_bounds_errors_outside_the_tube():
    few = NuSVR(nu=0.3, gamma=0.5, tol=TOL, approximation=Nystrom(25, n_jobs=1)).fit(X, Y)
    error = np.abs(Y - few.predict(X))
    assert np.mean(error > few.epsilon_ + CLOSE) <= 0.3 <= np.mean(error > few.epsilon_ - CLOSE)


def test_automatic_nu():
    few = NuSVR(nu="auto", C="auto", gamma="median", approximation=Nystrom(25, n_jobs=1)).fit(X, Y)
    assert 0 < few.nu_ <= 1
    assert few.C_ > 0
    assert few.score(X, Y) > 0.8


def test_one_class():
    exact, few = both(OneClassSVM(nu=0.2, gamma=0.5, tol=TOL), X, None, WEIGHTS, tol=1e-8)
    np.testing.assert_allclose(few.offset_, exact.offset_, rtol=CLOSE)
    np.testing.assert_allclose(few.score_samples(X), exact.score_samples(X), rtol=CLOSE)
    outside = few.decision_function(X) / few.offset_
    share = [WEIGHTS[outside < level].sum() / WEIGHTS.sum() for level in (-CLOSE, CLOSE)]
    assert share[0] <= 0.2 <= share[1]
    with pytest.raises(ValueError, match="constant"):
        OneClassSVM(null_space=Empty(), approximation=ALL).fit(X)


@pytest.mark.parametrize(
    ("machine", "y"),
    [
        (NuSVC(nu=0.3, gamma=0.5), TWO),
        (NuSVR(nu=0.3, gamma=0.5), Y),
        (OneClassSVM(nu=0.3, gamma=0.5), None),
        (RobustLSSVR(gamma=0.5), Y),
        (RobustLSSVR(gamma=0.5, method="bisquare"), np.column_stack([Y, SMOOTH])),
        (ThinPlateSpline(lam="gcv"), Y),
        (RegularizationNetwork(Gaussian(1.0)), Y),
    ],
    ids=lambda value: type(value).__name__,
)
def test_blocks_of_rows(machine, y):
    """Rows from a source and from arrays are one fit, to what the order of sums leaves."""
    machine.set_params(approximation=Nystrom(20, n_jobs=1))
    given = values(machine.fit(X, y))
    streamed = machine.fit(as_source(X, y))
    np.testing.assert_allclose(values(streamed, as_source(X)), given, rtol=1e-9, atol=1e-9)


def test_random_features():
    features = RandomFeatures(200, n_jobs=1)
    few = NuSVR(nu=0.3, gamma=0.5, approximation=features).fit(X, Y)
    assert few.score(X, Y) > 0.8


# Weights ------------------------------------------------------------------------------------------

OUTLIERS = Y + np.where(np.arange(N) % 9 == 0, 8.0 * rng.normal(size=N), 0.0)


@pytest.mark.parametrize("method", ["huber", "logistic", "hampel", "bisquare", "myriad"])
@pytest.mark.parametrize("y", [OUTLIERS, np.column_stack([OUTLIERS, Y])], ids=["one", "two"])
def test_robust(method, y):
    exact, few = both(RobustLSSVR(C=5.0, gamma=0.5, method=method), X, y, WEIGHTS)
    np.testing.assert_allclose(few.c_, exact.c_, rtol=1e-6)
    np.testing.assert_allclose(few.scale_, exact.scale_, rtol=1e-6)
    # The gap is 1e-9 of the objective, of the order of a thousand: sqrt(2e-6) at most.
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=2e-3)
    np.testing.assert_allclose(few.weights_, exact.weights_, atol=2e-3)
    assert few.convex_ == exact.convex_
    assert few.weights_.shape == y.shape
    np.testing.assert_allclose(few.solution_.objective, exact.solution_.objective, rtol=1e-6)


def test_a_given_size():
    exact, few = both(RobustLSSVR(C=5.0, gamma=0.5, method="bisquare", c=1.0), X, OUTLIERS)
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=2e-3)
    assert few.c_ == 1.0
    assert np.isnan(few.scale_)


def test_weights_of_a_source_are_not_kept():
    few = RobustLSSVR(gamma=0.5, approximation=Nystrom(20, n_jobs=1))
    assert few.fit(X, Y).weights_.shape == (N,)
    blocks = as_source([(X[:60], Y[:60]), (X[60:], Y[60:])])
    assert not hasattr(few.fit(blocks), "weights_")


# Penalties ----------------------------------------------------------------------------------------


# The two choices stop within 1e-3 of log C of the minimum of one curve.
@pytest.mark.parametrize("lam", [1e-2, "gcv", "reml"])
@pytest.mark.parametrize("y", [Y, np.column_stack([Y, 2.0 * SMOOTH])], ids=["one", "two"])
def test_thin_plates(lam, y):
    exact, few = both(ThinPlateSpline(lam=lam), X, y, WEIGHTS)
    np.testing.assert_allclose(few.lam_, exact.lam_, rtol=2e-3)
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=1e-3)
    np.testing.assert_allclose(few.null_space_coef_, exact.null_space_coef_, atol=1e-3)


def test_knots():
    x = np.linspace(0.0, 1.0, 400)[:, None]
    y = np.sin(6.0 * x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=400)
    exact, few = both(SmoothingSpline(lam="reml"), x, y, approximation=Nystrom(60, n_jobs=1))
    # Cubic splines with sixty knots are off by far less than the noise leaves to know.
    np.testing.assert_allclose(few.predict(x), exact.predict(x), atol=0.01)
    assert few.support_vectors_.shape[0] == 60
    assert SmoothingSpline(lam="gcv", approximation="auto").fit(x, y).score(x, y) > 0.95
    with pytest.raises(ValueError, match="1 feature"):
        SmoothingSpline(approximation="auto").fit(X, Y)
    with pytest.raises(ValueError, match="all rows at once"):
        SmoothingSpline(errors=AutoRegressive(0.5), approximation="auto").fit(x, y)


@pytest.mark.parametrize("operator", ["ridge", ThinPlate(2), Gaussian(0.7)], ids=str)
@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive"])
def test_networks(operator, loss):
    machine = RegularizationNetwork(Gaussian(0.7), operator, C=10.0, loss=loss, tol=1e-6)
    exact, few = both(machine, X, Y, WEIGHTS)
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=2e-3)
    assert not hasattr(few, "theta_")
    assert np.isnan(few.solution_.approximation_cost)


def test_few_functions_of_a_network():
    """The coefficients solve the normal equations of the centres that were chosen."""
    few = RegularizationNetwork(Gaussian(1.0), C=3.0, approximation=Nystrom(15, n_jobs=1))
    few.fit(X, Y)
    K = np.column_stack([Gaussian(1.0)(X, few.support_vectors_), np.ones(N)])
    ridge = np.diag(np.append(np.ones(15), 0.0))
    solution = np.linalg.solve(3.0 * K.T @ K + ridge, 3.0 * K.T @ Y)
    np.testing.assert_allclose(few.dual_coef_[0], solution[:-1], rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="matrix D"):
        RegularizationNetwork(operator=np.eye(N), approximation=ALL).fit(X, Y)


@pytest.mark.parametrize("machine", [UniversalKriging(), TermSelector()])
def test_machines_that_are_no_sums_over_rows(machine):
    with pytest.raises(ValueError, match="no sum over rows"):
        machine.fit(as_source(X, Y))


CHECKS = [
    "check_dict_unchanged",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_fit2d_1feature",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_sample_weights_list",
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "machine",
    [
        NuSVC(gamma="auto", approximation=Nystrom(20, n_jobs=1)),
        NuSVR(gamma="auto", approximation=Nystrom(20, n_jobs=1)),
        OneClassSVM(gamma="auto", approximation=Nystrom(20, n_jobs=1)),
        RobustLSSVR(gamma="auto", method="bisquare", approximation=Nystrom(20, n_jobs=1)),
        RegularizationNetwork(approximation=Nystrom(20, n_jobs=1)),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_scikit_learn(machine, check):
    getattr(estimator_checks, check)(type(machine).__name__, machine)
