"""Splines, kriging and generalized least squares against R (4.2.2), on real data.

Numbers of mgcv 1.8-41, gstat 2.1-0 and nlme 3.1-162 from Debian's packages; the calls are beside
them.
"""

import numpy as np
import pytest

from data import MISSING, load
from mercer import SmoothingSpline, UniversalKriging
from mercer.estimators import ThinPlateSpline, estimate_errors
from mercer.kernels import Matern
from mercer.regularizers import ARMA, AutoRegressive, Constant, Functions
from mercer_research.estimators import GeneralizedLeastSquares
from mercer_research.kernels import RadialBSpline

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def frame(name):
    return load(name).frame


@pytest.fixture(scope="module")
def meuse():
    return frame("meuse"), frame("meuse_grid").iloc[[0, 499, 1499, 2999]]


def root(X):
    return np.sqrt(X[:, 2])


def test_kriging_with_a_trend(meuse):
    """krige(log(zinc) ~ sqrt(dist), meuse, grid[c(1,500,1500,3000),], vgm(.15, "Exp", 300, .05))

    Its variance is that of an observation, with the nugget.
    """
    sample, grid = meuse
    places = ["x", "y", "dist"]
    kernel = 0.15 * Matern(300.0, nu=0.5).on([0, 1])
    trend = Constant() + Functions([root])
    machine = UniversalKriging(kernel, trend=trend, nugget=0.05)
    machine.fit(sample[places].to_numpy(), np.log(sample["zinc"]))
    mean, std = machine.predict(grid[places].to_numpy(), return_std=True)
    np.testing.assert_allclose(
        mean,
        [7.03834362171526, 6.34612822822397, 4.85116499431471, 5.93005635363650],
        rtol=0,
        atol=1e-8,
    )
    np.testing.assert_allclose(
        std**2 + 0.05,
        [0.1594101660388346, 0.0972950922041221, 0.1215133506616795, 0.1083824764896650],
        rtol=0,
        atol=1e-8,
    )


def test_ordinary_kriging(meuse):
    """krige(log(zinc) ~ 1, meuse, grid[c(1, 500, 1500, 3000), ], vgm(.6, "Sph", 900, .05))

    The spherical variogram 1.5 r - 0.5 r^3 as a covariance of points in the plane.
    """
    sample, grid = meuse
    machine = UniversalKriging(0.6 * RadialBSpline(450.0), trend=Constant(), nugget=0.05)
    machine.fit(sample[["x", "y"]].to_numpy(), np.log(sample["zinc"]))
    mean, std = machine.predict(grid[["x", "y"]].to_numpy(), return_std=True)
    np.testing.assert_allclose(
        mean,
        [6.50124833305996, 6.46040870378780, 4.95702381781181, 5.98954410662507],
        rtol=0,
        atol=1e-8,
    )
    np.testing.assert_allclose(
        std**2 + 0.05,
        [0.322248099490109, 0.135406071605394, 0.192248174216853, 0.159485584941292],
        rtol=0,
        atol=1e-8,
    )


@pytest.mark.parametrize(
    ("lam", "expected"),
    [
        ("reml", [-0.255027479995661, -112.151106943235, 29.0733845324753, 1.02478128718718]),
        ("gcv", [0.559651690657706, -110.662377090941, 26.8900059943761, 0.275525889610247]),
    ],
)
def test_a_smoothing_spline_chosen_by_mgcv(lam, expected):
    """gam(accel ~ s(times, bs = "tp", k = length(unique(times))), data = mcycle,
    method = "REML" or "GCV.Cp", control = gam.control(epsilon = 1e-12, newton = list(conv.tol =
    1e-12))), predicted at times 10, 20, 30, 45.

    Penalties with a relative error of 1e-6, where criteria are flat to twelve digits, give values
    with an error of 5e-6.
    """
    data = frame("mcycle")
    machine = SmoothingSpline(lam=lam).fit(data[["times"]].to_numpy(), data["accel"])
    found = machine.predict(np.array([[10.0], [20.0], [30.0], [45.0]]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-6)


def test_a_thin_plate_chosen_by_mgcv(meuse):
    """gam(log(zinc) ~ s(x, y, bs = "tp", k = 155), data = meuse, method = "REML")"""
    sample, _ = meuse
    machine = ThinPlateSpline(lam="reml")
    machine.fit(sample[["x", "y"]].to_numpy(), np.log(sample["zinc"]))
    places = np.array([[179000.0, 330000.0], [180000.0, 331500.0], [180500.0, 332500.0]])
    expected = [5.68708776497597, 5.12421058135763, 6.66029196713859]
    np.testing.assert_allclose(machine.predict(places), expected, rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def lynx():
    data = frame("lynx")
    t = (data["year"].to_numpy(dtype=float) - 1878) / 10
    return t[:, None], np.log(data["trapped"].to_numpy(dtype=float))


def test_generalized_least_squares(lynx):
    """gls(log(trapped) ~ t, correlation = corARMA(c(.9, -.5), ~ year, p = 2, fixed = TRUE)),
    and corARMA(c(.5, .3), ~ year, p = 1, q = 1, fixed = TRUE), t = (year - 1878) / 10
    """
    fit = GeneralizedLeastSquares(AutoRegressive([0.9, -0.5])).fit(*lynx)
    np.testing.assert_allclose(fit.coef_, [6.687256747951671, 0.026766198581796], rtol=1e-9)
    np.testing.assert_allclose(
        fit.standard_errors_, [0.1049636270182795, 0.0319860195343079], rtol=1e-9
    )
    np.testing.assert_allclose(
        fit.confidence_intervals(),
        [[6.4792847757904628, 6.8952287201128790], [-0.0366099989935645, 0.0901423961571565]],
        rtol=1e-9,
    )
    test = fit.wald_test([0.0, 1.0])
    assert test.statistic == pytest.approx(0.70024980276, rel=1e-9)
    assert test.df == (1, 112)
    # The standard deviation of an error rather than of an innovation.
    sigma = np.sqrt(fit.scale_ * AutoRegressive([0.9, -0.5]).matrix(lynx[0])[0, 0])
    assert sigma == pytest.approx(0.969026390833534, rel=1e-9)
    fit = GeneralizedLeastSquares(ARMA(0.5, 0.3)).fit(*lynx)
    np.testing.assert_allclose(fit.coef_, [6.691959008828087, 0.039466604058339], rtol=1e-9)
    np.testing.assert_allclose(
        fit.standard_errors_, [0.1755225244053117, 0.0522050228803641], rtol=1e-9
    )


def test_estimated_memory(lynx):
    """gls(log(trapped) ~ t, correlation = corAR1(form = ~ year), method = "REML")"""
    fit = estimate_errors(GeneralizedLeastSquares(AutoRegressive(0.5)), *lynx)
    assert fit.errors.phi == pytest.approx(0.823632569274576, abs=1e-4)
    np.testing.assert_allclose(fit.coef_, [6.7027294073371, 0.0684693527318754], rtol=1e-3)
    np.testing.assert_allclose(
        fit.standard_errors_, [0.402167456563332, 0.112977497856895], rtol=1e-3
    )
