"""Machines in tubes of local width: other machines, shifted targets, samples left out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import SVR, KernelRegressor, NuSVR
from mercer.estimators import HeteroscedasticNuSVR, HeteroscedasticSVR
from mercer.kernels import Gaussian
from mercer.losses import SquaredEpsilonInsensitive
from mercer.regularizers import Columns, Constant, Functions, Polynomial
from mercer.smoothing import optimal_epsilon

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 3, (80, 1))
Y = np.sin(2 * X[:, 0]) + (0.05 + 0.2 * X[:, 0]) * RNG.normal(size=80)
GRID = np.linspace(0, 3, 25)[:, None]
# The dual is strongly concave in the function, so that machines whose gaps are at most g lie within
# sqrt(2 g) of each other in norm, and k(x, x) = 1: gaps of 1e-9 or less, and an intercept.
SAME = {"kernel": Gaussian(0.5), "C": 3.0, "tol": 1e-9}
CLOSE = 1e-4


def wide(X):
    return 0.05 + 0.1 * X[:, 0]


def test_a_number_is_the_plain_tube():
    local, plain = HeteroscedasticSVR(0.1, **SAME).fit(X, Y), SVR(epsilon=0.1, **SAME).fit(X, Y)
    np.testing.assert_allclose(local.predict(GRID), plain.predict(GRID), atol=CLOSE)
    squared = HeteroscedasticSVR(0.1, loss="squared", **SAME).fit(X, Y)
    known = KernelRegressor(SquaredEpsilonInsensitive(0.1), **SAME).fit(X, Y)
    np.testing.assert_allclose(squared.predict(GRID), known.predict(GRID), atol=CLOSE)


def test_functions_and_their_values_are_the_same():
    by_function = HeteroscedasticSVR(wide, **SAME).fit(X, Y)
    by_values = HeteroscedasticSVR(wide(X), **SAME).fit(X, Y)
    plain = SVR(epsilon=wide(X), **SAME).fit(X, Y)
    np.testing.assert_allclose(by_function.predict(GRID), by_values.predict(GRID), atol=1e-12)
    np.testing.assert_allclose(by_function.predict(GRID), plain.predict(GRID), atol=CLOSE)
    low, high = by_function.predict_interval(GRID).T
    np.testing.assert_allclose(high - low, 2 * wide(GRID), rtol=1e-12)
    with pytest.raises(ValueError, match="known at the sample only"):
        by_values.predict_interval(GRID)


def test_a_tube_moved_up_is_a_target_moved_down():
    # (upper + d, lower - d) with y is (upper, lower) with y - d.
    moved = HeteroscedasticSVR(wide(X) + 0.3, wide(X) - 0.3, **SAME).fit(X, Y)
    known = HeteroscedasticSVR(wide, **SAME).fit(X, Y - 0.3)
    np.testing.assert_allclose(moved.predict(GRID), known.predict(GRID), atol=CLOSE)
    low, high = HeteroscedasticSVR(0.5, -0.2, **SAME).fit(X, Y).predict_interval(GRID).T
    np.testing.assert_allclose(high - low, 0.3, rtol=1e-12)


def test_a_wide_tube_leaves_a_sample_out():
    widths, kept = np.full(80, 0.1), np.arange(80) != 7
    widths[7] = 1e6
    local = HeteroscedasticSVR(widths, **SAME).fit(X, Y)
    without = HeteroscedasticSVR(0.1, **SAME).fit(X[kept], Y[kept])
    np.testing.assert_allclose(local.predict(GRID), without.predict(GRID), atol=CLOSE)
    assert 7 not in local.support_


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        ((0.1, -0.2), "must not be negative"),
        ((np.ones(3),), "one per sample"),
        ((np.full(80, np.nan),), "must be finite"),
        ((lambda X: X,), "one per sample"),
    ],
)
def test_widths_that_are_none_are_refused(widths, message):
    with pytest.raises(ValueError, match=message):
        HeteroscedasticSVR(*widths).fit(X, Y)


def test_a_constant_tube_is_the_nu_machine():
    mine, known = HeteroscedasticNuSVR(nu=0.3, **SAME).fit(X, Y), NuSVR(nu=0.3, **SAME).fit(X, Y)
    np.testing.assert_allclose(mine.predict(GRID), known.predict(GRID), atol=CLOSE)
    np.testing.assert_allclose(mine.tube_coef_, [known.epsilon_], atol=CLOSE)
    assert mine.tube_names_ == ["1"]


def test_the_local_machine_in_the_tube_found_is_the_same():
    # As for a constant width, here for a width that is a function.
    mine = HeteroscedasticNuSVR(Constant() + Columns([0]), nu=0.3, **SAME).fit(X, Y)
    e = mine.tube_coef_
    local = HeteroscedasticSVR(lambda X: e[0] + e[1] * X[:, 0], **SAME).fit(X, Y)
    np.testing.assert_allclose(mine.predict(GRID), local.predict(GRID), atol=CLOSE)
    np.testing.assert_allclose(
        mine.predict_interval(GRID), local.predict_interval(GRID), atol=CLOSE
    )


def test_noise_that_grows_is_found():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 3, (600, 1))
    scale = 0.1 + 0.4 * x[:, 0]
    y = np.cos(x[:, 0]) + scale * rng.uniform(-1, 1, 600)
    machine = HeteroscedasticNuSVR(
        Constant() + Columns([0]), nu=0.1, kernel=Gaussian(1.0), C=1.0
    ).fit(x, y)
    # Of uniform noise a tenth lies beyond nine tenths of the scale; 60 errors of 600 know the end
    # of a distribution to about ten per cent, and the function moves by less.
    width = np.diff(machine.predict_interval(GRID))[:, 0] / 2
    np.testing.assert_allclose(width, 0.9 * (0.1 + 0.4 * GRID[:, 0]), rtol=0.15, atol=0.03)


@pytest.mark.parametrize("symmetric", [True, False])
def test_walls_hold_their_shares(symmetric):
    machine = HeteroscedasticNuSVR(
        Constant() + Functions([lambda X: X[:, 0] ** 2]), nu=0.2, symmetric=symmetric, **SAME
    ).fit(X, np.exp(Y))
    low, high = machine.predict_interval(X).T
    above, below = np.mean(np.exp(Y) > high + 1e-6), np.mean(np.exp(Y) < low - 1e-6)
    assert above + below <= 0.2
    if not symmetric:
        assert max(above, below) <= 0.1
        assert machine.tube_coef_.shape == (2, 2)
        # Skewed errors: the constants are shared, the rest is not.
        assert machine.tube_coef_[0, 0] == pytest.approx(machine.tube_coef_[1, 0])


def test_columns_by_name_and_clones():
    frame = pd.DataFrame({"dose": X[:, 0], "age": RNG.uniform(size=80)})
    machine = HeteroscedasticNuSVR(
        Constant() + Columns(["dose"]), null_space=Polynomial(1), nu=0.3, C="auto", tol=1e-6
    )
    fitted = clone(machine).fit(frame, Y)
    assert fitted.tube_names_ == ["1", "dose"]
    assert fitted.C_ > 0
    assert fitted.predict_interval(frame).shape == (80, 2)
    assert fitted.solution_.converged


def test_bad_tubes_are_refused():
    with pytest.raises(ValueError, match="negative or not finite"):
        HeteroscedasticNuSVR(Columns([0])).fit(X - 1.0, Y)
    with pytest.raises(ValueError, match="one a function"):
        HeteroscedasticNuSVR(Constant() + Columns([0]), nu=[0.1, 0.2, 0.3]).fit(X, Y)
    with pytest.raises(ValueError, match="constant width"):
        HeteroscedasticNuSVR(Columns([0]), kernel="precomputed").fit(np.eye(80), Y)


def test_a_tube_left_to_the_data_follows_the_shape_of_the_noise():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 6, (400, 1))
    noises = {
        "laplace": rng.laplace(size=400),
        "normal": rng.normal(size=400),
        "uniform": rng.uniform(-1, 1, 400),
    }
    machines = {
        name: SVR(epsilon="auto", C="auto", kernel=Gaussian(1.0)).fit(x, np.sin(x[:, 0]) + z)
        for name, z in noises.items()
    }
    ratio = {name: m.epsilon_ / np.sqrt(m.noise_variance_) for name, m in machines.items()}
    # The likelihood of 400 residuals tells p = 1 and a sharp end from p = 2, which it does not
    # doubt where it is right; powers are looked for between 1.25 and 4.
    assert ratio["laplace"] == pytest.approx(optimal_epsilon(1.25), rel=1e-6)
    assert ratio["normal"] == pytest.approx(optimal_epsilon(2.0), rel=1e-6)
    assert ratio["uniform"] == pytest.approx(optimal_epsilon(4.0), rel=1e-6)
