"""Facts that the source documents print, held against fitted machines."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from mercer import LSSVR, SVR, KernelClassifier, KernelRegressor, Nystrom, QuantileSVR
from mercer.estimators import HuberSVR
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Squared
from mercer.regularizers import Constant, Empty, Functions, Polynomial


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(80, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=80)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.75])
def test_a_quantile_divides_the_sample(sample, quantile):
    """#{r < 0} / n <= tau <= #{r <= 0} / n, with an intercept."""
    X, y = sample
    r = y - QuantileSVR(quantile=quantile, C=5.0, tol=1e-8).fit(X, y).predict(X)
    assert np.mean(r < -1e-7) <= quantile <= np.mean(r <= 1e-7)


def test_squared_loss_is_kernel_ridge_and_the_mean_of_a_gaussian_process(sample):
    """C = 1 / alpha, and C = 1 / variance of the noise."""
    X, y = sample
    C, width = 4.0, 0.8
    machine = KernelRegressor(Squared(), Gaussian(width), null_space=Empty(), C=C).fit(X, y)
    ridge = KernelRidge(alpha=1 / C, kernel="rbf", gamma=0.5 / width**2).fit(X, y)
    process = GaussianProcessRegressor(RBF(width), alpha=1 / C, optimizer=None).fit(X, y)
    grid = np.linspace(-4, 4, 50)[:, None]
    np.testing.assert_allclose(machine.predict(grid), ridge.predict(grid), atol=1e-10)
    np.testing.assert_allclose(machine.predict(grid), process.predict(grid), atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_primal_and_dual_coincide_where_features_are_explicit(kernel):
    """Landmarks that span the features make the approximation the primal problem itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    phi, C = X, 3.0
    if kernel == "poly":  # (x'z + 1)^2
        x, z = X.T
        phi = np.column_stack([x * x, z * z, np.sqrt(2) * x * z, np.sqrt(2) * x, np.sqrt(2) * z])
    settings = {"kernel": kernel, "degree": 2, "gamma": 1.0, "coef0": 1.0, "C": C}
    primal = Ridge(alpha=1 / C, tol=1e-12).fit(phi, y).predict(phi)
    dual = LSSVR(**settings).fit(X, y)
    few = LSSVR(**settings, approximation=Nystrom(12, random_state=0), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(dual.predict(X), primal, atol=1e-9)
    # The root of a matrix of rank six loses half of the digits.
    np.testing.assert_allclose(few.predict(X), primal, atol=1e-6)


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.1), Huber(0.3)])
def test_what_is_not_penalized_costs_nothing(sample, loss):
    """A target in the span of the unpenalized functions needs no kernel at all."""
    X, _ = sample
    y = 2.0 - 3.0 * X[:, 0]
    machine = KernelRegressor(loss, Gaussian(1.0), null_space=Polynomial(1), C=7.0, tol=1e-9)
    machine.fit(X, y)
    assert np.max(np.abs(machine.solution_.a)) <= 1e-8
    assert machine.solution_.objective <= 1e-8
    width = 0.1 if isinstance(loss, EpsilonInsensitive) else 0.0
    assert np.max(np.abs(machine.predict(X) - y)) <= width + 1e-8


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.1), Huber(0.3)])
def test_more_unpenalized_functions_never_cost_more(sample, loss):
    X, y = sample
    objectives = []
    for space in (Empty(), Constant(), Polynomial(1), Polynomial(1) + Functions([np.sin])):
        machine = KernelRegressor(loss, Gaussian(0.5), null_space=space, C=2.0, tol=1e-8).fit(X, y)
        assert machine.solution_.residual <= 1e-9  # B'a = 0
        objectives.append(machine.solution_.objective)
    assert np.all(np.diff(objectives) <= 1e-6 * objectives[0])


def test_one_constant_function_is_the_intercept_of_svr(sample):
    X, y = sample
    general = KernelRegressor(EpsilonInsensitive(0.1), Gaussian(1.0), C=3.0, tol=1e-8).fit(X, y)
    own = KernelRegressor(
        EpsilonInsensitive(0.1),
        Gaussian(1.0),
        null_space=Functions([lambda X: np.ones(len(X))]),
        C=3.0,
        tol=1e-8,
    ).fit(X, y)
    svr = SVR(kernel=Gaussian(1.0), C=3.0, epsilon=0.1, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(general.predict(X), svr.predict(X), atol=1e-7)
    np.testing.assert_allclose(own.predict(X), svr.predict(X), atol=1e-7)


def test_a_tube_wider_than_the_data_needs_no_function(sample):
    """No coefficients, and the intercept in the middle of what the tube allows."""
    X, y = sample
    machine = SVR(epsilon=np.ptp(y)).fit(X, y)
    assert len(machine.support_) == 0
    assert machine.intercept_[0] == pytest.approx(0.5 * (y.min() + y.max()))
    constant = SVR(epsilon=0.1).fit(X, np.full(len(y), 3.0))
    assert constant.predict(X) == pytest.approx(3.0)


def test_symmetries_of_regression(sample):
    X, y = sample
    machine = SVR(C=2.0, epsilon=0.1, tol=1e-8).fit(X, y)
    shifted = SVR(C=2.0, epsilon=0.1, tol=1e-8).fit(X, y + 5.0)
    mirrored = SVR(C=2.0, epsilon=0.1, tol=1e-8).fit(X, -y)
    scaled = SVR(C=20.0, epsilon=1.0, tol=1e-7).fit(X, 10.0 * y)
    f = machine.predict(X)
    np.testing.assert_allclose(shifted.predict(X), f + 5.0, atol=1e-6)
    np.testing.assert_allclose(mirrored.predict(X), -f, atol=1e-6)
    np.testing.assert_allclose(scaled.predict(X), 10.0 * f, atol=1e-5)


def test_samples_inside_the_tube_can_be_left_out(sample):
    """The premise of chunking: without the others the machine is the same."""
    X, y = sample
    machine = SVR(C=2.0, epsilon=0.2, tol=1e-8).fit(X, y)
    support = machine.support_
    assert len(support) < len(y)
    gamma = machine.kernel_.gamma
    again = SVR(C=2.0, epsilon=0.2, tol=1e-8, gamma=gamma).fit(X[support], y[support])
    np.testing.assert_allclose(again.predict(X), machine.predict(X), atol=1e-6)


def test_a_bounded_slope_bounds_the_influence_of_an_outlier(sample):
    """Robust iff the slope of the loss is bounded: move one target to infinity."""
    X, y = sample
    grid = np.linspace(-3, 3, 40)[:, None]
    moves = {}
    for name, make in {
        "huber": lambda: HuberSVR(delta=0.2, C=2.0),
        "squared": lambda: KernelRegressor("squared", C=2.0),
    }.items():
        answers = []
        for height in (1e2, 1e4):
            far = y.copy()
            far[10] = height
            answers.append(make().fit(X, far).predict(grid))
        moves[name] = np.max(np.abs(answers[1] - answers[0]))
    assert moves["huber"] < 1e-2
    assert moves["squared"] > 10.0


def test_without_threshold_and_with_small_weight_it_is_parzens_classifier():
    """If C max_i y_i (K y)_i <= 1 every coefficient is C y_i."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    K = Gaussian(1.0)(X)
    C = 0.99 / np.max(y * (K @ y))
    machine = KernelClassifier(Hinge(), Gaussian(1.0), null_space=Empty(), C=C, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(machine.solution_.a, C * y, rtol=1e-12)


def test_probabilities_of_a_constant_machine_are_class_frequencies():
    """With a kernel that sees nothing the logistic machine is its intercept."""
    y = np.array([1] * 30 + [0] * 10)
    X = np.zeros((40, 1))
    machine = KernelClassifier(Logistic(), Gaussian(1.0), C=1.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(machine.predict_proba(X[:1]), [[0.25, 0.75]], atol=1e-6)


@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_lambda_against_the_mean_risk_is_one_over_its_product_with_the_size(lam):
    """A mean risk plus lambda/2 |f|^2 is the sum with C = 1 / (lambda m)."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    loss, kernel = EpsilonInsensitive(0.05), Gaussian(1.0)
    machine = KernelRegressor(loss, kernel, C=1.0 / (lam * 40), tol=1e-9).fit(X, y)
    K = kernel(X)
    a = np.zeros(40)
    a[machine.support_] = machine.dual_coef_[0]

    def functional(a, b):
        return loss.value(y, K @ a + b).mean() + 0.5 * lam * a @ K @ a

    least = functional(a, machine.intercept_[0])
    assert abs(least - lam * machine.solution_.objective) <= 1e-12
    # It is the least: small changes of coefficients and intercept never gain.
    for _ in range(200):
        change = 10.0 ** rng.uniform(-6, 0) * rng.normal(size=41)
        assert functional(a + change[:40], machine.intercept_[0] + change[40]) >= least - 1e-9
