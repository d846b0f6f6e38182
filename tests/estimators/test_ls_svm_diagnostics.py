"""What a least-squares machine tells, against machines that are fitted again."""

import copy
import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

from mercer import LSSVR, UniversalKriging
from mercer.gram.low_rank import LowRank
from mercer.kernels import Gaussian, ThinPlate
from mercer.machines import ls_report
from mercer.regularizers import AutoRegressive, Empty, Polynomial
from mercer.smoothing import Ivanov, Morozov
from mercer.solvers import Direct

# Both sides solve systems of condition up to n C max k = 25 * 20 in double precision; 1e-8 is what
# leaving one out promises, six orders above n C eps.
CLOSE = {"rtol": 1e-8, "atol": 1e-8}
n = 25


def sample(d=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, y if d is None else np.column_stack([y * k + X[:, 1] ** k for k in range(1, d + 1)])


def weights(zeros=True):
    s = np.random.default_rng(5).uniform(0.3, 2.0, n)
    if zeros:
        s[[2, 9]] = 0.0
    return s


S = np.array([[2.0, 0.7], [0.7, 1.0]])
CASES = {
    "plain": (LSSVR(Gaussian(0.8), C=20.0), None, None),
    "weights": (LSSVR(Gaussian(0.8), C=20.0), weights(), None),
    "no intercept": (LSSVR(Gaussian(0.8), C=3.0, null_space=Empty()), weights(), None),
    "plane": (LSSVR(Gaussian(0.8), C=20.0, null_space=Polynomial(1)), weights(), None),
    "conditional": (LSSVR(ThinPlate(2), C=5.0), weights(), None),
    "outputs": (LSSVR(Gaussian(0.8), C=20.0), weights(), 2),
    "coupled": (LSSVR(Gaussian(0.8), C=20.0, output_covariance=S), weights(), 2),
    "linear": (LSSVR("linear", C=20.0), None, None),
    "errors": (LSSVR(Gaussian(0.8), C=4.0, errors=AutoRegressive(0.6, time=2)), None, None),
}


@pytest.fixture(params=CASES)
def case(request):
    machine, s, d = CASES[request.param]
    X, y = sample(d)
    if machine.errors is not None:
        X = np.column_stack([X, np.cumsum(1.0 + np.random.default_rng(3).uniform(size=n))])
    return machine, X, y, np.ones(n) if s is None else s


def without(i, machine, X, y, s):
    keep = np.arange(n) != i
    return copy.deepcopy(machine).fit(X[keep], y[keep], sample_weight=s[keep])


def test_leaving_one_out_is_refitting_without_it(case):
    machine, X, y, s = case
    machine.fit(X, y, sample_weight=s)
    refits, new = [without(i, *case) for i in range(n)], X[:4] + 0.1
    brute = np.array([refits[i].predict(X[[i]])[0] for i in range(n)])
    np.testing.assert_allclose(machine.loo_predictions_, brute, **CLOSE)
    np.testing.assert_allclose(machine.loo_residuals_, y - brute, **CLOSE)
    elsewhere = np.stack([refit.predict(new) for refit in refits], axis=1)
    np.testing.assert_allclose(machine.jackknife(new), elsewhere, **CLOSE)


def test_left_out_predictions_from_the_factorization_of_the_fit(case):
    """Those of an inverse made afterwards, at no second factorization of a plain machine."""
    machine, X, y, s = case
    after = copy.deepcopy(machine).fit(X, y, sample_weight=s)
    machine = copy.deepcopy(machine).set_params(solver=Direct(precisions=True))
    machine.fit(X, y, sample_weight=s)
    np.testing.assert_allclose(machine.loo_predictions_, after.loo_predictions_, **CLOSE)
    plain = machine.kernel != ThinPlate(2) and machine.errors is machine.output_covariance
    assert machine._report.known is not plain


def test_influence_is_the_derivative_of_predictions(case):
    """Predictions are linear in the targets, so that a step of one is exact."""
    machine, X, y, s = case
    machine.fit(X, y, sample_weight=s)
    new, i = X[:3] - 0.2, 7
    W, f = machine.influence(new), machine.predict(new)
    step = y.copy()
    step[i] += 1.0
    moved = copy.deepcopy(machine).fit(X, step, sample_weight=s).predict(new) - f
    ours = W[:, i] if W.ndim == 2 else W[:, :, i].sum(axis=-1)
    if moved.ndim > ours.ndim:  # the same for every output
        ours = np.repeat(ours[:, None], moved.shape[1], axis=1)
    np.testing.assert_allclose(ours, moved, **CLOSE)


def test_the_smoother_makes_the_fitted_values(case):
    machine, X, y, s = case
    machine.fit(X, y, sample_weight=s)
    S = machine.smoother_matrix()
    if S.ndim == 2:
        fitted, leverages = S @ y, np.diag(S)
    else:
        fitted, leverages = np.einsum("mgih,ih->mg", S, y), np.einsum("igig->ig", S)
    np.testing.assert_allclose(fitted, machine.predict(X), **CLOSE)
    np.testing.assert_allclose(machine.leverages_, leverages, **CLOSE)
    np.testing.assert_allclose(machine.degrees_of_freedom_, leverages.sum(axis=0), **CLOSE)


def test_cost_sensitivity_is_the_derivative_of_the_optimum(case):
    """The optimum is quadratic in the targets: central differences are exact but for rounding."""
    machine, X, y, s = case
    machine.fit(X, y, sample_weight=s)
    h, i = 1e-2, 4
    up, down = y.copy(), y.copy()
    up[i], down[i] = up[i] + h, down[i] - h

    def cost(targets):
        m = copy.deepcopy(machine).fit(X, targets, sample_weight=s)
        a = np.zeros((n, targets.reshape(n, -1).shape[1]))
        a[m.support_] = m.dual_coef_.T
        r = (targets - m.predict(X)).reshape(n, -1)
        P = np.eye(a.shape[1]) if m.output_covariance is None else np.linalg.inv(S)
        noise = r if m.errors is None else np.linalg.solve(m.errors_.matrix(X), r)
        return 0.5 * np.sum((a @ P) * (m.kernel_(X) @ a)) + 0.5 * m.C_ * np.sum(
            s[:, None] * r * noise
        )

    # Moving all outputs of a sample at once adds their derivatives up. Costs of order 100 leave
    # 100 eps / h of a difference.
    slope = np.sum(np.atleast_1d(machine.cost_sensitivity_[i]))
    np.testing.assert_allclose(slope, (cost(up) - cost(down)) / (2 * h), rtol=1e-7, atol=1e-9)


def test_contributions_add_up_to_the_penalized_part(case):
    machine, X, y, s = case
    machine.fit(X, y, sample_weight=s)
    f = machine.predict(X[:3]) - machine.null_space_(X[:3]) @ machine.null_space_coef_.T
    np.testing.assert_allclose(machine.contributions(X[:3]).sum(axis=1), f, **CLOSE)


def test_the_sensitivity_curve_is_that_of_refits(case):
    machine, X, y, s = case
    machine.fit(X, y, sample_weight=s)
    values, i = np.array([-3.0, 0.0, 5.0]), 6
    curve, own = machine.sensitivity_curve(i, _all(values, y), X[:2]), []
    for k, value in enumerate(values):
        other = y.copy()
        other[i] = value
        refit = copy.deepcopy(machine).fit(X, other, sample_weight=s)
        np.testing.assert_allclose(curve[k], refit.predict(X[:2]), **CLOSE)
        own.append(refit.predict(X[[i]]))
    np.testing.assert_allclose(machine.sensitivity_curve(i, _all(values, y)), own, **CLOSE)


def _all(values, y):
    return values if y.ndim == 1 else np.repeat(values[:, None], y.shape[1], axis=1)


def test_the_path_is_machines_fitted_one_by_one(case):
    machine, X, y, s = case
    machine.fit(X, y, sample_weight=s)
    Cs = np.array([0.5, 6.0, 40.0])
    if machine.errors is not None:
        with pytest.raises(ValueError, match="independent errors"):
            machine.path(Cs)
        return
    path = machine.path(Cs)
    for k, C in enumerate(Cs):
        m = copy.deepcopy(machine).set_params(C=C).fit(X, y, sample_weight=s)
        a = np.zeros(path.dual_coef[k].shape)
        a[m.support_] = m.dual_coef_.T if y.ndim == 2 else m.dual_coef_[0]
        np.testing.assert_allclose(path.dual_coef[k], a, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(path.null_space_coef[k], m.null_space_coef_.T, **CLOSE)
        np.testing.assert_allclose(path.loo_residuals[k], m.loo_residuals_, **CLOSE)
        np.testing.assert_allclose(path.residuals[k], y - m.predict(X), **CLOSE)
        dof = np.mean(m.degrees_of_freedom_)
        np.testing.assert_allclose(path.degrees_of_freedom[k], dof, **CLOSE)
        mean = np.mean(np.average((y - m.predict(X)) ** 2, axis=0, weights=s))
        np.testing.assert_allclose(path.gcv[k], mean / (1 - dof / np.sum(s > 0)) ** 2, **CLOSE)
        loo = np.mean(np.average(m.loo_residuals_**2, axis=0, weights=s))
        np.testing.assert_allclose(path.loo_mse[k], loo, **CLOSE)


def test_the_smoother_shrinks():
    """S is symmetric, between 0 and 1, S^2 <= S, and its trace grows with C."""
    X, y = sample()
    traces = []
    for C in (0.1, 1.0, 10.0, 100.0):
        machine = LSSVR(Gaussian(0.8), C=C).fit(X, y)
        S = machine.smoother_matrix()
        values = np.linalg.eigvalsh(S)
        np.testing.assert_allclose(S, S.T, atol=1e-12)
        assert values[0] > -1e-12
        assert values[-1] < 1 + 1e-12
        assert np.linalg.eigvalsh(S - S @ S)[0] > -1e-12
        traces.append(machine.degrees_of_freedom_)
    assert np.all(np.diff([0.0, *traces, n]) > 0)


# Chance ------------------------------------------------------------------------------------------


def test_it_is_a_gaussian_process():
    X, y = sample()
    machine = LSSVR(Gaussian(0.8), C=10.0, null_space=Empty()).fit(X, y)
    process = GaussianProcessRegressor(RBF(0.8), alpha=0.1, optimizer=None).fit(X, y)
    mean, std = machine.predict(X[:5] + 0.3, return_std=True, scale=1.0)
    theirs = process.predict(X[:5] + 0.3, return_std=True)
    np.testing.assert_allclose(mean, theirs[0], **CLOSE)
    np.testing.assert_allclose(std, theirs[1], **CLOSE)
    np.testing.assert_allclose(
        machine.log_marginal_likelihood(scale=1.0), process.log_marginal_likelihood_value_
    )


def test_the_most_likely_scale_maximizes_the_likelihood():
    X, y = sample()
    machine = LSSVR(Gaussian(0.8), C=10.0).fit(X, y)
    best = machine.noise_variance_ * 10.0
    likelihood = machine.log_marginal_likelihood()
    np.testing.assert_allclose(machine.log_marginal_likelihood(best), likelihood)
    for factor in (0.9, 1.1):
        assert machine.log_marginal_likelihood(factor * best) < likelihood
    std = machine.predict(X[:3], return_std=True)[1]
    unit = machine.predict(X[:3], return_std=True, scale=1.0)[1]
    np.testing.assert_allclose(std, np.sqrt(best) * unit)


def test_deviations_count_the_unpenalized_part():
    """Universal kriging with the nugget 1/C, far away from the sample as well."""
    X, y = sample()
    new = np.vstack([X[:3], [[5.0, -7.0]]])
    machine = LSSVR(Gaussian(0.8), C=10.0, null_space=Polynomial(1)).fit(X, y)
    kriging = UniversalKriging(Gaussian(0.8), trend=Polynomial(1), nugget=0.1).fit(X, y)
    ours = machine.predict(new, return_std=True, scale=1.0)
    for one, other in zip(ours, kriging.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)
    np.testing.assert_allclose(machine.log_marginal_likelihood(), kriging.log_likelihood_)


def test_outputs_have_noise_of_their_own():
    X, Y = sample(2)
    machine = LSSVR(Gaussian(0.8), C=10.0).fit(X, Y)
    mean, std = machine.predict(X[:4], return_std=True)
    total = 0.0
    for k in range(2):
        one = LSSVR(Gaussian(0.8), C=10.0).fit(X, Y[:, k])
        np.testing.assert_allclose(machine.noise_variance_[k], one.noise_variance_)
        np.testing.assert_allclose(std[:, k], one.predict(X[:4], return_std=True)[1])
        total += one.log_marginal_likelihood()
    assert mean.shape == std.shape == (4, 2)
    np.testing.assert_allclose(machine.log_marginal_likelihood(), total)


def test_coupled_outputs_are_one_process():
    """The covariance of stacked outputs is S x K + 1/c: likelihood and variances of that."""
    X, Y = sample(2)
    machine = LSSVR(Gaussian(0.8), C=10.0, null_space=Empty(), output_covariance=S).fit(X, Y)
    K, k = Gaussian(0.8)(X), Gaussian(0.8)(X[:1] + 0.5, X)[0]
    V = np.kron(S, K) + 0.1 * np.eye(2 * n)
    z = Y.T.ravel()
    quadratic = z @ np.linalg.solve(V, z)
    expected = -0.5 * (np.linalg.slogdet(V)[1] + 2 * n * np.log(2 * np.pi) + quadratic)
    np.testing.assert_allclose(machine.log_marginal_likelihood(1.0), expected)
    np.testing.assert_allclose(machine.noise_variance_, [0.1 * quadratic / (2 * n)] * 2)
    cross = np.kron(S, k)
    variances = np.diag(S - cross @ np.linalg.solve(V, cross.T))
    std = machine.predict(X[:1] + 0.5, return_std=True, scale=1.0)[1]
    np.testing.assert_allclose(std[0] ** 2, variances, **CLOSE)


def test_weights_are_inverse_variances_of_the_noise():
    X, y = sample()
    s = weights(zeros=False)
    machine = LSSVR(Gaussian(0.8), C=10.0, null_space=Empty()).fit(X, y, sample_weight=s)
    process = GaussianProcessRegressor(RBF(0.8), alpha=0.1 / s, optimizer=None).fit(X, y)
    std = machine.predict(X[:5], return_std=True, scale=1.0)[1]
    np.testing.assert_allclose(std, process.predict(X[:5], return_std=True)[1], **CLOSE)
    np.testing.assert_allclose(
        machine.log_marginal_likelihood(1.0), process.log_marginal_likelihood_value_
    )


# Rules for C -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [None, 2])
def test_morozov_leaves_the_variance_of_the_noise(d):
    X, y = sample(d)
    s = weights()
    machine = LSSVR(Gaussian(0.8), C=Morozov(0.05)).fit(X, y, sample_weight=s)
    r = (y - machine.predict(X)).reshape(n, -1)
    np.testing.assert_allclose(np.mean(np.average(r**2, axis=0, weights=s)), 0.05, rtol=1e-8)
    same = LSSVR(Gaussian(0.8), C=machine.C_).fit(X, y, sample_weight=s)
    np.testing.assert_array_equal(machine.predict(X), same.predict(X))
    np.testing.assert_allclose(machine.noise_variance_, 0.05)
    np.testing.assert_allclose(machine.loo_residuals_, same.loo_residuals_)


def test_morozov_measures_errors_as_the_loss_sees_them():
    X, y = sample()
    X = np.column_stack([X, np.arange(n)])
    machine = LSSVR(Gaussian(0.8), C=Morozov(0.04), errors=AutoRegressive(0.5, time=2)).fit(X, y)
    np.testing.assert_allclose(np.mean(machine.innovations_**2), 0.04, rtol=1e-8)


def test_ivanov_bounds_the_norm():
    X, y = sample()
    machine = LSSVR(Gaussian(0.8), C=Ivanov(2.0)).fit(X, y)
    a = machine.dual_coef_[0]
    np.testing.assert_allclose(a @ Gaussian(0.8)(X) @ a, 4.0, rtol=1e-8)
    loose = LSSVR(Gaussian(0.1), C=Ivanov(1e3)).fit(X, y)
    np.testing.assert_allclose(loose.predict(X), y, atol=1e-6)
    assert loose.C_ == 1e10


def test_the_mean_of_machines_predicts_their_mean():
    X, y = sample()
    machine = LSSVR(Gaussian(0.8), C=Morozov(0.05, 0.01, n_machines=5)).fit(X, y)
    v = np.array(
        [np.mean((y - LSSVR(Gaussian(0.8), C=C).fit(X, y).predict(X)) ** 2) for C in machine.C_]
    )
    np.testing.assert_allclose(v, 0.05 + 0.01 * np.array([-1.6, -0.8, 0.0, 0.8, 1.6]), rtol=1e-8)
    p = np.exp(-0.5 * ((v - 0.05) / 0.01) ** 2)
    f = [LSSVR(Gaussian(0.8), C=C).fit(X, y).predict(X[:3]) for C in machine.C_]
    np.testing.assert_allclose(machine.predict(X[:3]), p @ f / p.sum(), **CLOSE)
    with pytest.raises(AttributeError, match="no factorization"):
        _ = machine.loo_residuals_
    with pytest.raises(ValueError, match="no factorization"):
        machine.influence(X)


def test_rules_are_reached_by_name_and_refused_with_coupling():
    X, Y = sample(2)
    machine = LSSVR(C=Morozov(0.05)).set_params(C__variance=0.1)
    assert machine.C.variance == 0.1
    with pytest.raises(ValueError, match="output_covariance"):
        machine.set_params(output_covariance=S).fit(X, Y)
    with pytest.raises(ValueError, match="between"):
        LSSVR(C=Morozov(100.0)).fit(X, Y)


# Every way to give a kernel, and what is kept ----------------------------------------------------


@pytest.mark.parametrize("kind", ["precomputed", "function", "sparse", "kernel"])
def test_every_way_to_give_a_kernel(kind):
    X, y = sample()
    X[np.abs(X) < 0.5] = 0.0
    reference = LSSVR(Gaussian(1.0), C=5.0).fit(X, y)
    K = Gaussian(1.0)
    machine, data, new = {
        "precomputed": (LSSVR("precomputed", C=5.0), K(X), K(X[:3], X)),
        "function": (LSSVR(lambda A, Z: rbf_kernel(A, Z, gamma=0.5), C=5.0), X, X[:3]),
        "sparse": (LSSVR(K, C=5.0), sp.csr_array(X), sp.csr_array(X[:3])),
        "kernel": (LSSVR(K, C=5.0, gram="tiled"), X, X[:3]),
    }[kind]
    machine.fit(data, y)
    np.testing.assert_allclose(machine.loo_residuals_, reference.loo_residuals_, **CLOSE)
    np.testing.assert_allclose(machine.influence(new), reference.influence(X[:3]), **CLOSE)
    np.testing.assert_allclose(machine.jackknife(new), reference.jackknife(X[:3]), **CLOSE)
    if kind in ("precomputed", "function"):
        with pytest.raises(ValueError, match="subclass Kernel"):
            machine.predict(new, return_std=True)
    else:
        std = machine.predict(new, return_std=True)[1]
        np.testing.assert_allclose(std, reference.predict(X[:3], return_std=True)[1], **CLOSE)


def test_a_gram_of_ones_own_is_the_one_that_is_told_about():
    X, y = sample()
    G = np.column_stack([np.ones(n), X, X**2])
    machine = LSSVR(Gaussian(1.0), C=5.0, gram=lambda kernel, X: LowRank(G)).fit(X, y)
    hat = LSSVR("precomputed", C=5.0).fit(G @ G.T, y)
    np.testing.assert_allclose(machine.degrees_of_freedom_, hat.degrees_of_freedom_, **CLOSE)


def test_what_is_told_is_of_the_fit_whatever_happens_to_data_and_settings():
    X, y = sample()
    machine = LSSVR(Gaussian(0.8), C=5.0)
    expected = machine.fit(X.copy(), y.copy()).loo_residuals_
    Z, t = X.copy(), y.copy()
    machine.fit(Z, t)
    Z[:], t[:] = 0.0, 0.0
    machine.set_params(C=1.0, kernel__length_scale=3.0)
    np.testing.assert_array_equal(machine.loo_residuals_, expected)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.loo_residuals_, expected)


def test_the_sample_is_kept_once():
    X, y = sample()
    machine = LSSVR().fit(X, y)
    assert machine._report.X is machine.support_vectors_
    before = len(pickle.dumps(machine))
    _ = machine.loo_residuals_
    assert len(pickle.dumps(machine)) == before


def test_a_listing_of_attributes_costs_no_factorization(monkeypatch):
    X, y = sample()
    machine = LSSVR().fit(X, y)
    assert "loo_residuals_" in dict(inspect.getmembers(machine))
    monkeypatch.setattr(ls_report, "MAX_LISTED_ROWS", 10)
    machine.fit(X, y)
    assert "loo_residuals_" not in dict(inspect.getmembers(machine))
    _ = machine.leverages_
    assert "loo_residuals_" in dict(inspect.getmembers(machine))


def test_samples_too_many_are_refused_in_words(monkeypatch):
    X, y = sample()
    machine = LSSVR().fit(X, y)
    monkeypatch.setattr(ls_report, "MAX_BYTES", 1e3)
    assert not hasattr(machine, "leverages_")
    with pytest.raises(ValueError, match="diagnostics of 25 samples take"):
        machine.path([1.0])


def test_weights_of_whitened_errors_belong_to_no_sample():
    X, y = sample()
    X = np.column_stack([X, np.arange(n)])
    machine = LSSVR(errors=AutoRegressive(0.5, time=2)).fit(X, y, sample_weight=weights(False))
    with pytest.raises(AttributeError, match="whitened"):
        _ = machine.leverages_


def test_a_sample_that_determines_a_function_alone_has_no_left_out_prediction():
    """The only sample with x > 0 carries the slope of a step: leverage one."""
    X = np.append(-np.ones(9), 1.0)[:, None]
    y = np.append(np.random.default_rng(0).normal(size=9), 5.0)
    machine = LSSVR(Gaussian(0.1), C=1.0, null_space=Polynomial(1)).fit(X, y)
    np.testing.assert_allclose(machine.leverages_[-1], 1.0)
    assert np.isinf(machine.loo_residuals_[-1])
    assert np.all(np.isfinite(machine.loo_residuals_[:-1]))


def test_no_sample_beyond_the_last():
    X, y = sample()
    with pytest.raises(ValueError, match="no sample 25"):
        LSSVR().fit(X, y).sensitivity_curve(25, [1.0])


def test_weights_and_scales_that_the_sample_chose_are_kept():
    """What is left out is the sample, not its part in choosing C, the width and the scales."""
    X, y = sample()
    X = X * [1e-3, 1e3]
    machine = LSSVR(C="auto", gamma="tuned", standardize=True).fit(X, y)
    assert np.isfinite(machine.C_)
    others = np.arange(n) != 3
    refit = LSSVR(machine.kernel_, C=machine.C_).fit(X[others], y[others])
    np.testing.assert_allclose(machine.loo_predictions_[3], refit.predict(X[[3]])[0], rtol=1e-7)
    path = machine.path([machine.C_])
    np.testing.assert_allclose(path.loo_residuals[0], machine.loo_residuals_, rtol=1e-7)
