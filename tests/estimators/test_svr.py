"""Regression: the same machine as scikit-learn's, and relatives that scikit-learn does not have."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from estimators.twins import TOL, agree, name_of, sample, slack
from mercer import SVR, KernelRegressor, NuSVR, QuantileSVR
from mercer.estimators import HuberSVR
from mercer.losses import EpsilonInsensitive

X, _, Y, T = sample()
WEIGHT = np.where((np.arange(60) % 7 == 0) | (np.arange(60) % 11 == 0), 0.0, 1.5)


def expansion(machine, kept):
    """Return the coefficients over all samples."""
    a = np.zeros(60)
    a[kept[machine.support_]] = machine.dual_coef_[0]
    return a


def tube(machine, K, c, kept):
    """Evaluate the objective of an epsilon-machine."""
    a = expansion(machine, kept)
    excess = np.abs(Y - K @ a - machine.intercept_) - machine.epsilon
    return 0.5 * a @ K @ a + np.sum(c * np.maximum(0.0, excess))


def nu_tube(machine, K, c, kept):
    """Evaluate the objective of a nu-machine at its best tube, which ends at some residual."""
    a = expansion(machine, kept)
    r = np.abs(Y - K @ a - machine.intercept_)
    costs = [np.sum(c * (machine.nu * e + np.maximum(0.0, r - e))) for e in [0.0, *r]]
    return 0.5 * a @ K @ a + min(costs)


PARAMETERS = [
    {},
    {"C": 0.1},
    {"C": 5.0},
    {"gamma": "auto"},
    {"gamma": 0.5},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "C": 0.2},
    {"shrinking": False},
    {"cache_size": 0.01},
]


@pytest.mark.parametrize("weights", [None, WEIGHT], ids=["", "weights"])
@pytest.mark.parametrize(
    "parameters", [*PARAMETERS, {"epsilon": 0.0}, {"epsilon": 0.4}], ids=name_of
)
def test_svr_equals_scikit_learn(parameters, weights):
    compare(SVR, sklearn.svm.SVR, parameters, weights, tube)


@pytest.mark.parametrize("weights", [None, WEIGHT], ids=["", "weights"])
@pytest.mark.parametrize("parameters", [*PARAMETERS, {"nu": 0.13}, {"nu": 0.87}], ids=name_of)
def test_nu_svr_equals_scikit_learn(parameters, weights):
    compare(NuSVR, sklearn.svm.NuSVR, {"nu": 0.43, **parameters}, weights, nu_tube)


def compare(cls, twin, parameters, weights, objective):
    ours = cls(tol=TOL, **parameters).fit(X, Y, sample_weight=weights)
    theirs = twin(tol=TOL, **parameters).fit(X, Y, sample_weight=weights)
    c = ours.C * (np.ones(60) if weights is None else np.maximum(weights, 0.0))
    K, kept = ours.kernel_(X), np.flatnonzero(c)
    value = objective(ours, K, c, np.arange(60))
    assert value == pytest.approx(ours.solution_.objective, rel=1e-9)
    excess = objective(theirs, K, c, kept) - (value - ours.solution_.gap)
    mass, kmax = np.sum(np.abs(theirs.dual_coef_)), np.max(ours.kernel_.diag(T))
    room = slack(ours, excess, mass, kmax)
    agree(ours.predict(T), theirs.predict(T), room)
    agree(ours.intercept_, theirs.intercept_, room, size=np.max(np.abs(Y)))
    np.testing.assert_array_equal(ours.support_, kept[theirs.support_])
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    assert ours.n_support_.shape == theirs.n_support_.shape == (1,)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    assert type(ours.n_iter_) is type(theirs.n_iter_)
    assert hasattr(ours, "coef_") == hasattr(theirs, "coef_")
    if hasattr(ours, "coef_"):
        agree(ours.coef_, theirs.coef_, room, size=np.max(np.abs(Y)))


def test_nu_svr_says_its_tube():
    """The tube holds all but a fraction nu of the sample, and is that of the epsilon-machine."""
    machine = NuSVR(nu=0.43, C=2.0, tol=TOL).fit(X, Y)
    residuals = np.abs(Y - machine.predict(X))
    assert np.sum(residuals > machine.epsilon_ + TOL) <= 0.43 * 60
    assert np.sum(residuals >= machine.epsilon_ - TOL) >= 0.43 * 60
    twin = SVR(epsilon=machine.epsilon_, C=2.0, tol=TOL).fit(X, Y)
    room = slack(machine, twin.solution_.gap, 0.0, 1.0)
    agree(twin.predict(T), machine.predict(T), room)


class TestEpsilonPerSample:
    EPSILON = np.where(np.arange(60) % 2, 0.05, 0.6)

    def test_tube_of_each_sample(self):
        machine = SVR(epsilon=self.EPSILON, C=1e4, gamma=5.0, tol=1e-8).fit(X, Y)
        # So high a weight leaves no sample outside its own tube, and the kernel can follow.
        residuals = np.abs(Y - machine.predict(X))
        assert np.all(residuals <= self.EPSILON + 1e-8)
        assert np.max(residuals) > 0.55

    @pytest.mark.parametrize("kind", [np.asarray, list, tuple])
    def test_same_as_the_loss(self, kind):
        machine = SVR(epsilon=kind(self.EPSILON)).fit(X, Y)
        general = KernelRegressor(EpsilonInsensitive(self.EPSILON)).fit(X, Y)
        np.testing.assert_array_equal(machine.predict(T), general.predict(T))

    def test_constant_array_is_a_number(self):
        np.testing.assert_array_equal(
            SVR(epsilon=np.full(60, 0.2)).fit(X, Y).predict(T),
            SVR(epsilon=0.2).fit(X, Y).predict(T),
        )

    @pytest.mark.parametrize(
        "machine", [SVR(epsilon=EPSILON), KernelRegressor(EpsilonInsensitive(EPSILON))]
    )
    def test_wrong_length(self, machine):
        with pytest.raises(ValueError, match=r"epsilon .*shape \(60,\).*one per sample: \(59,\)"):
            machine.fit(X[1:], Y[1:])


def test_quantiles_have_their_share():
    """At most a fraction tau lies below and 1 - tau above, because the intercept is free."""
    for quantile in (0.1, 0.5, 0.8):
        machine = QuantileSVR(quantile=quantile, tol=TOL).fit(X, Y)
        r = Y - machine.predict(X)
        assert np.sum(r < -TOL) <= quantile * 60 <= np.sum(r <= TOL)


def test_the_median_is_a_tube_without_width():
    median, machine = QuantileSVR(C=2.0, tol=TOL).fit(X, Y), SVR(epsilon=0.0, tol=TOL).fit(X, Y)
    agree(median.predict(T), machine.predict(T), slack(median, machine.solution_.gap, 0.0, 1.0))


def test_huber_between_ridge_and_tube():
    """With a wide parabola it is kernel ridge regression; coefficients are slopes of the loss."""
    K = rbf_kernel(X, gamma=0.5)
    wide = HuberSVR(delta=1e3, C=2.0, gamma=0.5, tol=TOL).fit(X, Y)
    b = wide.intercept_[0]
    ridge = KernelRidge(alpha=0.5, kernel="precomputed").fit(K, Y - b)
    # (K + 1/C) a = y - b holds up to TOL a row, and |K (K + 1/C)^-1| <= 1.
    agree(wide.predict(X) - b, ridge.predict(K), np.sqrt(60) * TOL)
    assert np.sum(wide.dual_coef_) == pytest.approx(0.0, abs=TOL)
    robust = HuberSVR(delta=0.2, C=2.0, gamma=0.5, tol=TOL).fit(X, Y)
    r = Y - robust.predict(X)
    # The residual, cut off at delta.
    np.testing.assert_allclose(
        expansion(robust, np.arange(60)), 2.0 * np.clip(r, -0.2, 0.2), atol=2.0 * TOL
    )
