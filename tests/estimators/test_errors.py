"""Estimated errors."""

import numpy as np
import pytest
from scipy.signal import lfilter

from mercer import KernelRegressor, SmoothingSpline
from mercer.estimators import estimate_errors
from mercer.kernels import Gaussian
from mercer.machines.best_linear import BestLinear
from mercer.regularizers import ARMA, AutoRegressive, Covariance, MovingAverage
from mercer.regularizers.errors import Independent
from mercer_research.estimators import GeneralizedLeastSquares

T = np.arange(500.0)[:, None]
CURVE = 2.0 * np.sin(T[:, 0] / 40.0)


def coloured(phi, theta, seed, n=500):
    e = np.random.default_rng(seed).normal(size=n + 200)
    return lfilter(np.r_[1.0, theta], np.r_[1.0, -np.atleast_1d(phi)], e)[200:]


@pytest.mark.parametrize(
    ("errors", "phi", "theta"),
    [
        (AutoRegressive(0.0), 0.6, ()),
        (MovingAverage(0.0), (), 0.5),
        (AutoRegressive([0.0, 0.0]), (0.5, -0.4), ()),
    ],
    ids=["AR(1)", "MA(1)", "AR(2)"],
)
def test_memory_is_recovered_under_a_curve(errors, phi, theta):
    """Within 0.1 of the truth at T = 500; the standard deviation is about 0.05."""
    y = CURVE + coloured(np.atleast_1d(phi), np.atleast_1d(theta), seed=1)
    machine = KernelRegressor(kernel=Gaussian(60.0), errors=errors)
    fit = estimate_errors(machine, T, y)
    found = np.concatenate(fit.errors.coefficients)
    np.testing.assert_allclose(found, np.r_[phi, theta], rtol=0, atol=0.1)
    # Whitened errors are uncorrelated: their autocorrelations are within four times 1/sqrt(T).
    e = fit.innovations_
    for lag in (1, 2, 3):
        assert abs(e[lag:] @ e[:-lag] / (e @ e)) < 4 / np.sqrt(500)
    assert machine.errors == errors
    assert np.sqrt(np.mean((fit.predict(T) - CURVE) ** 2)) < 0.5


def test_the_likelihood_is_largest():
    n = 200
    y = 5 * CURVE[:n] + coloured(0.6, (), seed=2, n=n)
    fit = estimate_errors(KernelRegressor(kernel=Gaussian(40.0), errors=AutoRegressive()), T[:n], y)
    K, B = Gaussian(40.0)(T[:n]), np.ones((n, 1))

    def value(phi, C):
        return BestLinear(K + AutoRegressive(phi).matrix(T[:n]) / C, B).likelihood(y)[0]

    phi, C = fit.errors.phi, fit.C
    best = value(phi, C)
    for step in (-0.05, -0.01, 0.01, 0.05):
        assert value(phi + step, C) < best
        assert value(phi, C * (1 + 4 * step)) < best


def test_weights_of_other_machines():
    n = 120
    y = CURVE[:n] + coloured(0.4, (), seed=3, n=n)
    errors = AutoRegressive(0.2)
    spline = estimate_errors(SmoothingSpline(errors=errors), T[:n], y)
    assert 0 < spline.lam == spline.lam_
    # Without errors to estimate only the penalty is chosen: by restricted maximum likelihood.
    plain = estimate_errors(SmoothingSpline(errors=Independent()), T[:n], y)
    chosen = SmoothingSpline(lam="reml").fit(T[:n], y)
    assert plain.lam == pytest.approx(chosen.lam_, rel=1e-3)
    trend = estimate_errors(GeneralizedLeastSquares(errors), T[:n], y)
    assert trend.errors.phi > spline.errors.phi + 0.1  # a curve without a model looks like memory


def test_what_cannot_be_estimated():
    with pytest.raises(ValueError, match="give the machine errors"):
        estimate_errors(KernelRegressor(), T[:9], T[:9, 0])
    with pytest.raises(ValueError, match="set another loss afterwards"):
        estimate_errors(KernelRegressor("huber", errors=ARMA()), T[:9], T[:9, 0])
    fixed = Covariance(Gaussian(3.0), nugget=0.1)
    y = np.random.default_rng(0).normal(size=30)
    assert estimate_errors(GeneralizedLeastSquares(fixed), T[:30], y).errors == fixed
