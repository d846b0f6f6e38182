"""Regularization networks."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVR, KernelRegressor, SmoothingSpline
from mercer.kernels import Gaussian, Kernel, Matern, Sigmoid, ThinPlate
from mercer.losses import EpsilonInsensitive, LogCosh, Squared
from mercer.regularizers import AutoRegressive, Empty
from mercer_research.compression.foreign import coefficient_norm_growth
from mercer_research.estimators import BasisNotInRKHS, GrowingPenalty, RegularizationNetwork
from mercer_research.estimators.basis import penalized
from mercer_research.linear import GradientDescent

RNG = np.random.default_rng(6)
N, C = 40, 5.0
X = RNG.uniform(-2, 2, size=(N, 1))
Y = np.sin(3 * X[:, 0]) + 0.2 * RNG.normal(size=N)
NEW = np.linspace(-2, 2, 9)[:, None]
BASIS = Gaussian(0.6)
K = BASIS(X)


def coefficients(machine):
    a = np.zeros(N)
    a[machine.support_] = machine.dual_coef_[0]
    return a


def test_the_own_penalty_is_the_ordinary_machine():
    """D = K is support vector regression."""
    basis = Matern(0.6, nu=0.5)
    network = RegularizationNetwork(basis, basis, loss=EpsilonInsensitive(0.1), C=C, tol=1e-10)
    machine = SVR(kernel=basis, C=C, epsilon=0.1, tol=1e-10)
    np.testing.assert_allclose(
        network.fit(X, Y).predict(NEW), machine.fit(X, Y).predict(NEW), rtol=0, atol=1e-8
    )
    assert network.solution_.objective == pytest.approx(machine.solution_.objective, rel=1e-9)


@pytest.mark.parametrize("operator", [Gaussian(0.8), Matern(1.0, nu=1.5), None, "matrix"])
def test_squared_loss_is_the_normal_equations(operator):
    """alpha = (K'K + D / C)^-1 K'y without intercept, at points far enough apart to solve it."""
    apart = 0.7 * np.arange(N)[:, None]
    A = BASIS(apart)
    if isinstance(operator, Kernel):
        D = penalized(BASIS, operator)(apart)
    elif operator is None:
        operator, D = "ridge", np.eye(N)
    else:
        G = RNG.normal(size=(N, N))
        operator = D = G @ G.T + np.eye(N)
    network = RegularizationNetwork(BASIS, operator, null_space=Empty(), C=C).fit(apart, Y)
    a = np.linalg.solve(A.T @ A + D / C, A.T @ Y)
    np.testing.assert_allclose(coefficients(network), a, rtol=0, atol=1e-8)
    assert network.solution_.objective == pytest.approx(
        0.5 * a @ D @ a + 0.5 * C * np.sum((Y - A @ a) ** 2), rel=1e-10
    )


def test_directions_without_a_penalty_are_given_up():
    """Points so close that D is singular: no worse than any solution that can be computed."""
    D = penalized(BASIS, Gaussian(0.8))(X)
    network = RegularizationNetwork(BASIS, Gaussian(0.8), null_space=Empty(), C=C).fit(X, Y)

    def cost(a):
        return 0.5 * a @ D @ a + 0.5 * C * np.sum((Y - K @ a) ** 2)

    for cut in (1e-15, 1e-14, 1e-13, 1e-12):
        a = np.linalg.lstsq(K.T @ K + D / C, K.T @ Y, rcond=cut)[0]
        assert cost(coefficients(network)) < cost(a)
    assert cost(coefficients(network)) == pytest.approx(network.solution_.objective, rel=1e-6)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber", "pinball"])
def test_weight_decay_is_the_squared_matrix(loss):
    """D = 1 is the machine with the Gram matrix K^2, on the sample."""
    network = RegularizationNetwork(BASIS, "ridge", loss=loss, C=C, tol=1e-8).fit(X, Y)
    squared = KernelRegressor(loss, "precomputed", C=C, tol=1e-8).fit(K @ K, Y)
    np.testing.assert_allclose(network.predict(X), squared.predict(K @ K), rtol=0, atol=1e-5)
    assert network.solution_.objective == pytest.approx(squared.solution_.objective, rel=1e-7)
    # alpha = K theta.
    np.testing.assert_allclose(coefficients(network), K @ network.theta_[0], atol=1e-9)


def test_dual_variables_are_sparse_and_coefficients_are_not():
    network = RegularizationNetwork(
        BASIS, Gaussian(0.8), loss=EpsilonInsensitive(0.3), C=C, tol=1e-8
    ).fit(X, Y)
    assert np.count_nonzero(network.theta_) < N / 2
    assert len(network.support_) == N


def test_ridge_identity():
    """K (K^2 + l)^-1 K y = K^2 (K^2 + l)^-1 y, and both are the network."""
    lam = 0.3
    inverse = np.linalg.inv(K @ K + lam * np.eye(N))
    np.testing.assert_allclose(K @ inverse @ K @ Y, K @ K @ inverse @ Y, rtol=0, atol=1e-12)
    network = RegularizationNetwork(BASIS, null_space=Empty(), C=1 / lam).fit(X, Y)
    np.testing.assert_allclose(network.predict(X), K @ K @ inverse @ Y, rtol=0, atol=1e-10)
    ridge = Ridge(alpha=lam).fit(K, Y)
    network = RegularizationNetwork(BASIS, C=1 / lam).fit(X, Y)
    np.testing.assert_allclose(network.predict(NEW), ridge.predict(BASIS(NEW, X)), atol=1e-8)


def test_on_a_grid_weight_decay_is_a_wider_gaussian():
    """The matrix h K^2 tends to sigma sqrt(pi) exp(-t^2 / (4 sigma^2))."""
    h, sigma = 0.05, 0.6
    grid = np.arange(-10, 10, h)[:, None]
    row = BASIS(grid[[200]], grid) @ BASIS(grid)
    expected = sigma * np.sqrt(np.pi) * np.exp(-((grid[:, 0] - grid[200]) ** 2) / (4 * sigma**2))
    near = np.abs(grid[:, 0]) < 5  # the ends of the grid are far away
    np.testing.assert_allclose((h * row)[0, near], expected[near], rtol=0, atol=1e-10)


def test_gradient_descent_with_weight_decay_ends_there():
    """Steps along -(dR/da + lambda a) for the squared loss and no intercept."""
    lam = 0.5
    a, step = np.zeros(N), 1.0 / (np.linalg.norm(K, 2) ** 2 + lam)
    for _ in range(20_000):
        a -= step * (K @ (K @ a - Y) + lam * a)
    network = RegularizationNetwork(BASIS, null_space=Empty(), C=1 / lam).fit(X, Y)
    np.testing.assert_allclose(network.predict(X), K @ a, rtol=0, atol=1e-6)
    trained = RegularizationNetwork(
        BASIS, null_space=Empty(), C=1 / lam, solver=GradientDescent(tol=1e-6)
    ).fit(X, Y)
    assert trained.solution_.converged
    np.testing.assert_allclose(trained.predict(X), K @ a, rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "log_cosh"])
@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_steps_of_gradient_descent_are_the_printed_ones(loss):
    """After some steps of a fixed rate the coefficients are those of the plain loop."""
    lam, rate, steps = 0.5, 1e-3, 30
    cost = LogCosh() if loss == "log_cosh" else Squared()
    alpha = np.zeros(N)
    for _ in range(steps):
        alpha -= rate * (K @ cost.gradient(Y, K @ alpha) + lam * alpha)
    solver = GradientDescent(step=lam * rate, max_iter=steps, tol=1e-12)
    network = RegularizationNetwork(
        BASIS, loss=loss, null_space=Empty(), C=1 / lam, solver=solver
    ).fit(X, Y)
    np.testing.assert_allclose(coefficients(network), alpha, rtol=1e-9, atol=1e-14)


def test_any_symmetric_basis():
    """A basis that is no kernel: the conditions of weight decay, by minimizing directly."""
    basis = Sigmoid(0.5, coef0=-0.3)
    S = basis(X)
    assert np.linalg.eigvalsh(S)[0] < -0.01
    network = RegularizationNetwork(basis, null_space=Empty(), C=C).fit(X, Y)

    def cost(a):
        return 0.5 * a @ a + 0.5 * C * np.sum((Y - S @ a) ** 2), a - C * S @ (Y - S @ a)

    answer = minimize(cost, np.zeros(N), jac=True, method="L-BFGS-B", options={"gtol": 1e-10})
    assert network.solution_.objective == pytest.approx(answer.fun, rel=1e-8)


def test_second_derivatives_of_gaussians():
    """Many narrow basis functions under a spline's penalty come near the spline itself.

    Not at the ends, where they fall to zero and pay for it.
    """
    grid = np.linspace(0, 1, 60)[:, None]
    y = np.sin(5 * grid[:, 0])
    network = RegularizationNetwork(Gaussian(0.05), ThinPlate(2), C=1e3).fit(grid, y)
    assert network.null_space_names_ == ["1", "x0"]
    spline = SmoothingSpline(lam=1e-3).fit(grid, y)
    inside = np.linspace(0.4, 0.8, 20)[:, None]
    np.testing.assert_allclose(network.predict(inside), spline.predict(inside), rtol=0, atol=2e-3)
    # The spline minimizes over all functions, the network over fewer.
    assert network.solution_.objective >= spline.solution_.objective - 1e-9


def test_several_outputs_and_errors():
    errors = AutoRegressive(0.5)
    several = RegularizationNetwork(BASIS, Gaussian(0.8), errors=errors, C=C)
    several.fit(X, np.c_[Y, -Y])
    one = clone(several).fit(X, Y)
    np.testing.assert_allclose(several.predict(NEW)[:, 1], -one.predict(NEW), atol=1e-8)
    assert several.theta_.shape == (2, N)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(NEW), one.predict(NEW))


def test_weight_decay_says_where_it_bounds_nothing():
    """Coefficients of unit length reach a row's length, which grows with the root of n."""
    kernel, reached = Gaussian(0.6), []
    for n in (400, 1600):
        grid = np.linspace(-2, 2, n)[:, None]
        with pytest.warns(GrowingPenalty, match=f"with {n} basis functions") as told:
            RegularizationNetwork(kernel).fit(grid, np.sin(grid[:, 0]))
        growth = coefficient_norm_growth(kernel, grid, p=2)
        reached.append(growth)
        assert f"values of {growth:.3g}, where one function reaches 1," in str(told[0].message)
        # The kernel's own norm does not grow, and is not spoken of; nor are few functions.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RegularizationNetwork(kernel, kernel).fit(grid, np.sin(grid[:, 0]))
            RegularizationNetwork(kernel).fit(grid[::20], np.sin(grid[::20, 0]))
    assert reached[1] / reached[0] == pytest.approx(2.0, rel=0.01)


def test_refusals():
    with pytest.raises(BasisNotInRKHS, match="too rough"):
        RegularizationNetwork(Gaussian(0.5), Gaussian(1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="symmetric matrix"):
        RegularizationNetwork(BASIS, np.eye(3)).fit(X, Y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        RegularizationNetwork(BASIS, -np.eye(N)).fit(X, Y)


# The basis sits at the samples: one without weight, or twice the same, still changes it.
WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "basis functions at all samples"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [RegularizationNetwork(Gaussian(1.0))], expected_failed_checks=lambda _: WEIGHTS
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 2), (2, 2), (5, 2)])
def test_automatic_approximation_of_few_rows_and_many_targets(shape):
    """No row may have been held out, in a block or in all of them."""
    rng = np.random.default_rng(0)
    points, targets = rng.normal(size=(shape[0], 3)), rng.normal(size=shape)
    machine = RegularizationNetwork(approximation="auto", C=1e8).fit(points, targets)
    np.testing.assert_allclose(machine.predict(points), targets, atol=1e-4)
