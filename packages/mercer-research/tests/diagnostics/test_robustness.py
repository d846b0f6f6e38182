"""The harness for robustness: closed forms of the linear machine, saturation, paired runs."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from mercer import LSSVR, SVR
from mercer.estimators import RobustLSSVR
from mercer.kernels import Gaussian
from mercer_research.diagnostics import contamination_curve, efficiency, outlier_curve

GRID = np.linspace(-3, 3, 61)[:, None]
DRAWN = {
    "inputs": lambda rng, n: rng.uniform(-3, 3, (n, 1)),
    "function": lambda X: np.sinc(X[:, 0]),
    "noise": lambda rng, n: rng.normal(0.0, 0.1, n),
    "contamination": lambda rng, n: rng.uniform(-10, 10, n),
    "X_test": GRID,
    "n_samples": 60,
}
PLAIN = LSSVR(Gaussian(1.0), C=10.0)
ROBUST = RobustLSSVR(Gaussian(1.0), C=10.0, c=0.1345)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (50, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.normal(size=50)


def test_the_linear_machine_follows_the_outlier(sample):
    X, y = sample
    curve = outlier_curve(PLAIN, X, y, 7, [0.0, 1.0, 4.0], X_test=GRID)
    fitted = PLAIN.fit(X, y)
    moved = fitted.influence(GRID)[:, 7]
    np.testing.assert_allclose(curve.error, [0.0, *np.outer([1, 4], np.mean(np.abs(moved)))[:, 0]])
    np.testing.assert_allclose(curve.change, np.max(np.abs(moved)) * np.array([0.0, 1.0, 4.0]))
    # The slope of a coefficient by its own target is c(1 - S_ii).
    slope = 10.0 * (1.0 - fitted.leverages_[7])
    np.testing.assert_allclose(np.diff(curve.coefficient), slope * np.array([1.0, 3.0]))


def test_bounded_slopes_saturate(sample):
    X, y = sample
    svr = SVR(kernel=Gaussian(1.0), C=10.0, epsilon=0.025, tol=1e-8)
    for machine, bound in ((ROBUST, 1.345), (svr, 10.0)):
        curve = outlier_curve(machine, X, y, -3, [5.0, 50.0, 500.0])
        np.testing.assert_allclose(curve.coefficient, bound)
        np.testing.assert_allclose(curve.change, 0.0, atol=1e-5)


def test_redescending_weights_let_go(sample):
    X, y = sample
    machine = RobustLSSVR(Gaussian(1.0), C=10.0, method="hampel", c=0.25)
    curve = outlier_curve(machine, X, y, 7, [0.0, 50.0])
    assert curve.coefficient[1] == 0.0


def test_without_an_expansion(sample):
    X, y = sample
    curve = outlier_curve(LinearRegression(), X, y, 0, [0.0, 1.0], truth=np.zeros(50))
    assert np.all(np.isnan(curve.coefficient))
    assert np.all(curve.error > 0)


def test_contamination_separates_machines():
    machines = {"plain": PLAIN, "robust": ROBUST, "again": PLAIN}
    curve = contamination_curve(machines, [0.0, 0.2], n_runs=5, random_state=0, **DRAWN)
    np.testing.assert_array_equal(curve.errors["plain"], curve.errors["again"])
    assert curve.errors["plain"].shape == (2, 5)
    assert curve.mean["plain"][1] > 5 * curve.mean["robust"][1]
    assert curve.mean["robust"][1] < 2 * curve.mean["robust"][0]
    np.testing.assert_allclose(curve.std["plain"], np.std(curve.errors["plain"], axis=1, ddof=1))
    alone = contamination_curve({"robust": ROBUST}, [0.2], n_runs=5, random_state=0, **DRAWN)
    np.testing.assert_allclose(alone.errors["robust"][0], curve.errors["robust"][1])


def test_efficiency_of_fewer_samples():
    """Half of the samples are half as efficient for a mean, here exactly in expectation."""

    class Half(LinearRegression):
        def fit(self, X, y):
            return super().fit(X[::2], y[::2])

    drawn = DRAWN | {"function": lambda X: X[:, 0], "n_samples": 200}
    machines = {"all": LinearRegression(), "half": Half()}
    curve = contamination_curve(machines, [0.0], n_runs=150, random_state=1, **drawn)
    found = efficiency(curve, "all")
    assert found["all"] == (1.0, 0.0)
    ratio, error = found["half"]
    assert ratio == pytest.approx(0.5, abs=4 * error)
    assert 0.01 < error < 0.1


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda X, y: outlier_curve(PLAIN, X, y, 50, [1.0]), "not the index"),
        (lambda X, y: outlier_curve(PLAIN, X, y, 0, []), "at least one number"),
        (lambda X, y: contamination_curve({}, [2.0], **DRAWN), "between 0 and 1"),
        (
            lambda X, y: efficiency(
                contamination_curve({"a": PLAIN}, [0.1], n_runs=1, **DRAWN), "a"
            ),
            "put 0 among the shares",
        ),
        (
            lambda X, y: efficiency(
                contamination_curve({"a": PLAIN}, [0.0], n_runs=1, **DRAWN), "b"
            ),
            "reference must be one of",
        ),
        (
            lambda X, y: efficiency(
                contamination_curve({"a": PLAIN}, [0.0], n_runs=1, **DRAWN), "a"
            ),
            "two runs or more",
        ),
    ],
)
def test_refusals(sample, call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call(*sample)
