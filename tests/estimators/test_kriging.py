"""Universal kriging."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRegressor, UniversalKriging
from mercer.estimators import CollinearColumns
from mercer.kernels import Gaussian, Matern, Polyharmonic, ThinPlate
from mercer.machines.best_linear import BestLinear
from mercer.regularizers import Columns, Constant, Empty, Functions, Polynomial

RNG = np.random.default_rng(4)
N = 40
X = RNG.uniform(size=(N, 2))
Y = 1.0 + 2.0 * X[:, 0] + np.sin(5 * X[:, 1]) + 0.1 * RNG.normal(size=N)
NEW = RNG.uniform(-0.2, 1.2, size=(11, 2))
MATERN = 0.8 * Matern(0.5, nu=1.5)


def bordered(kernel, nugget, B, b):
    """Mean, variance and weights from the kriging system, one solve a point."""
    q = B.shape[1]
    system = np.block([[kernel(X) + nugget * np.eye(N), B], [B.T, np.zeros((q, q))]])
    right = np.vstack([kernel(X, NEW), b.T])
    solved = np.linalg.solve(system, right)
    variance = kernel.diag(NEW) - np.sum(solved * right, axis=0)
    return solved[:N].T @ Y, variance, solved[:N].T


@pytest.mark.parametrize(
    "trend",
    [Empty(), Constant(), Polynomial(1), Polynomial(2), Constant() + Functions([np.sin])],
    ids=repr,
)
@pytest.mark.parametrize("nugget", [0.0, 0.05])
def test_is_the_bordered_system(nugget, trend):
    machine = UniversalKriging(MATERN, trend=trend, nugget=nugget).fit(X, Y)
    mean, std = machine.predict(NEW, return_std=True)
    expected, variance, weights = bordered(MATERN, nugget, trend(X), trend(NEW))
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(std**2, variance, rtol=0, atol=1e-8)
    np.testing.assert_allclose(machine.predict(NEW), mean)
    # Unbiased: the weights of the system reproduce the trend, and so does the machine.
    np.testing.assert_allclose(weights @ trend(X), trend(NEW), rtol=0, atol=1e-8)
    if trend.size(2):
        of_trend = clone(machine).fit(X, trend(X) @ np.arange(1.0, trend.size(2) + 1))
        np.testing.assert_allclose(
            of_trend.predict(NEW), trend(NEW) @ np.arange(1.0, trend.size(2) + 1), atol=1e-8
        )


@pytest.mark.parametrize("nugget", [0.0, 0.05])
def test_is_the_printed_form_in_the_sense_of_least_squares(nugget):
    """Cholesky, QR, and a sum of squares for the variance."""
    V, B, b = MATERN(X) + nugget * np.eye(N), np.c_[np.ones(N), X], np.c_[np.ones(11), NEW]
    L = np.linalg.cholesky(V)
    G = solve_triangular(L, B, lower=True)
    beta = np.linalg.lstsq(G, solve_triangular(L, Y, lower=True))[0]
    R = np.linalg.qr(G)[1]
    e = solve_triangular(L, MATERN(X, NEW), lower=True)
    g = solve_triangular(R, b.T - G.T @ e, trans="T")
    variance = MATERN.diag(NEW) - np.sum(e**2, axis=0) + np.sum(g**2, axis=0)
    machine = UniversalKriging(MATERN, nugget=nugget).fit(X, Y)
    np.testing.assert_allclose(machine.null_space_coef_, beta, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        machine.predict(NEW, return_std=True)[1] ** 2, variance, rtol=0, atol=1e-8
    )
    np.testing.assert_allclose(
        machine.null_space_cov_, np.linalg.inv(B.T @ np.linalg.solve(V, B)), rtol=0, atol=1e-8
    )


def test_without_a_trend_is_a_gaussian_process():
    process = GaussianProcessRegressor(
        0.8 * SklearnMatern(0.5, "fixed", nu=1.5), alpha=0.05, optimizer=None
    ).fit(X, Y)
    mean, std = process.predict(NEW, return_std=True)
    machine = UniversalKriging(MATERN, trend=Empty(), nugget=0.05).fit(X, Y)
    ours = machine.predict(NEW, return_std=True)
    np.testing.assert_allclose(ours[0], mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours[1], std, rtol=0, atol=1e-9)
    assert machine.log_likelihood_ >= process.log_marginal_likelihood_value_


def test_the_scale_of_the_likelihood():
    """At its own scale the likelihood without a trend is that of the Gaussian process."""
    V = MATERN(X) + 0.05 * np.eye(N)
    value, scale = BestLinear(V, np.empty((N, 0))).likelihood(Y)
    process = GaussianProcessRegressor(
        scale * 0.8 * SklearnMatern(0.5, "fixed", nu=1.5), alpha=scale * 0.05, optimizer=None
    ).fit(X, Y)
    assert value == pytest.approx(process.log_marginal_likelihood_value_, abs=1e-8)


def test_is_the_machine_of_the_squared_loss():
    machine = UniversalKriging(MATERN, nugget=0.05).fit(X, Y)
    other = KernelRegressor(kernel=MATERN, null_space=Polynomial(1), C=20.0).fit(X, Y)
    np.testing.assert_allclose(machine.predict(NEW), other.predict(NEW), rtol=0, atol=1e-9)
    np.testing.assert_allclose(machine.dual_coef_, other.dual_coef_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", [MATERN, ThinPlate(2), Polyharmonic(1.0)], ids=repr)
def test_observations_without_errors_are_known(kernel):
    machine = UniversalKriging(kernel).fit(X, Y)
    mean, std = machine.predict(X, return_std=True)
    np.testing.assert_allclose(mean, Y, rtol=0, atol=1e-8)
    # A difference of two numbers of size one, then its root.
    np.testing.assert_allclose(std, 0.0, rtol=0, atol=1e-6)
    assert np.all(machine.predict(X + 0.05, return_std=True)[1] > 1e-3)


@pytest.mark.parametrize("nugget", [0.0, 0.05])
@pytest.mark.parametrize("kernel", [ThinPlate(2), Polyharmonic(1.0), Polyharmonic(1.5)], ids=repr)
def test_generalized_covariances(kernel, nugget):
    """Kernels that are conditionally positive definite, against the bordered system."""
    trend = Polynomial(1)
    machine = UniversalKriging(kernel, nugget=nugget).fit(X, Y)
    mean, std = machine.predict(NEW, return_std=True)
    expected, variance, _ = bordered(kernel, nugget, trend(X), trend(NEW))
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(std**2, variance, rtol=0, atol=1e-8)


def test_constants_added_to_a_covariance_drop_out():
    """Ordinary kriging sees minus a variogram only."""
    plain = UniversalKriging(MATERN, trend=Constant(), nugget=0.05).fit(X, Y)
    V = MATERN(X) + 0.05 * np.eye(N)
    shifted = BestLinear(V - 0.8, np.ones((N, 1)))
    a = shifted.coefficients(Y)[0]
    np.testing.assert_allclose(a, plain.dual_coef_[0], rtol=0, atol=1e-9)
    variance = shifted.variance(MATERN(NEW, X) - 0.8, np.ones((11, 1)), MATERN.diag(NEW) - 0.8)
    np.testing.assert_allclose(
        np.sqrt(variance), plain.predict(NEW, return_std=True)[1], rtol=0, atol=1e-9
    )
    assert shifted.likelihood(Y)[0] == pytest.approx(plain.log_likelihood_, abs=1e-8)


def test_the_likelihood_is_that_of_contrasts():
    B = np.c_[np.ones(N), X]
    V = MATERN(X) + 0.05 * np.eye(N)
    Z = np.linalg.svd(B)[0][:, 3:]
    z, S = Z.T @ Y, Z.T @ V @ Z
    scale = z @ np.linalg.solve(S, z) / len(z)
    value = -0.5 * (np.linalg.slogdet(scale * S)[1] + len(z) * np.log(2 * np.pi) + len(z))
    assert BestLinear(V, B).likelihood(Y) == pytest.approx((value, scale), rel=1e-9)


def test_most_likely_parameters():
    machine = UniversalKriging(Matern(0.2), nugget=0.1, optimize=True).fit(X, Y)
    base, nugget = machine.kernel_.kernel, machine.nugget_ / machine.kernel_.factor
    assert machine.nugget_ > 0
    B = np.c_[np.ones(N), X]

    def value(length_scale, ratio):
        V = Matern(length_scale)(X) + ratio * np.eye(N)
        return BestLinear(V, B).likelihood(Y)[0]

    best = value(base.length_scale, nugget)
    assert machine.log_likelihood_ == pytest.approx(best, abs=1e-8)
    for factor in (0.8, 0.95, 1.05, 1.25):
        assert value(factor * base.length_scale, nugget) < best
        assert value(base.length_scale, factor * nugget) < best
    # The scale of the covariance is the most likely one, too.
    assert machine._best.likelihood(Y)[1] == pytest.approx(1.0, rel=1e-8)
    # A factor given makes no difference.
    scaled = UniversalKriging(7.0 * Matern(0.2), nugget=0.7, optimize=True).fit(X, Y)
    assert scaled.kernel_.factor == pytest.approx(machine.kernel_.factor, rel=1e-3)


def test_features_by_name():
    frame = pd.DataFrame(X, columns=["east", "north"])
    frame["depth"] = RNG.normal(size=N)
    kernel = Gaussian(0.5).on(["east", "north"])
    trend = Constant() + Columns(["depth"])
    machine = UniversalKriging(kernel, trend=trend, nugget=0.1).fit(frame, Y)
    assert machine.null_space_names_ == ["1", "depth"]
    by_place = UniversalKriging(
        Gaussian(0.5).on([0, 1]), trend=Constant() + Columns([2]), nugget=0.1
    ).fit(frame.to_numpy(), Y)
    np.testing.assert_allclose(machine.predict(frame), by_place.predict(frame.to_numpy()))


def test_dependent_trends():
    twice = Polynomial(1) + Columns([0])
    machine = UniversalKriging(MATERN, trend=twice, nugget=0.05)
    with pytest.warns(CollinearColumns):
        machine.fit(X, Y)
    once = UniversalKriging(MATERN, nugget=0.05).fit(X, Y)
    for ours, expected in zip(
        machine.predict(NEW, return_std=True), once.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)


def test_as_an_estimator():
    machine = UniversalKriging(MATERN, nugget=0.1).fit(X, Y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(
        again.predict(NEW, return_std=True), machine.predict(NEW, return_std=True)
    )
    assert clone(machine).set_params(kernel__factor=2.0).kernel == 2.0 * Matern(0.5, nu=1.5)


@pytest.mark.parametrize(
    ("machine", "n", "message"),
    [
        (UniversalKriging(MATERN), 3, "no more than the trend"),
        (UniversalKriging(MATERN, nugget=-1.0), N, "nugget"),
        (UniversalKriging(Gaussian(1e6)), N, "give a nugget"),
    ],
)
def test_refusals(machine, n, message):
    with pytest.raises(ValueError, match=message):
        machine.fit(X[:n], Y[:n])


def test_functions_have_no_variances():
    machine = UniversalKriging(lambda A, B: MATERN(A, B), nugget=0.1).fit(X, Y)
    expected = UniversalKriging(MATERN, nugget=0.1).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(machine.predict(NEW), expected, atol=1e-9)
    with pytest.raises(ValueError, match="subclass Kernel"):
        machine.predict(NEW, return_std=True)


# The checks fit samples of ten features that repeat: few trend functions, and errors.
@parametrize_with_checks([UniversalKriging(trend=Constant(), nugget=0.1)])
def test_scikit_learn(estimator, check):
    check(estimator)
