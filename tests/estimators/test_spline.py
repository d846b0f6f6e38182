"""Smoothing splines and thin plates."""

import pickle

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator, make_smoothing_spline
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import KernelRegressor, SmoothingSpline
from mercer.estimators import ThinPlateSpline
from mercer.kernels import Spline, ThinPlate
from mercer.regularizers import AutoRegressive
from mercer.regularizers.errors import Independent

RNG = np.random.default_rng(3)
N = 60
LINE = np.sort(RNG.uniform(0, 1, N))
Y = np.sin(7 * LINE) + 0.2 * RNG.normal(size=N)
GRID = np.linspace(0.0, 1.0, N)
NEW = np.linspace(-0.3, 1.3, 33)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_cubic_splines_are_those_of_scipy(unit, lam, weighted):
    """On an interval of length h the same function has the penalty lam h^3."""
    weights = RNG.uniform(0.2, 3.0, N) if weighted else None
    x = unit * LINE + 5.0 * unit
    penalty = lam * unit**3
    inside = np.linspace(x[0], x[-1], 50)
    expected = make_smoothing_spline(x, Y, w=weights, lam=penalty)(inside)
    machine = SmoothingSpline(lam=penalty).fit(x[:, None], Y, sample_weight=weights)
    np.testing.assert_allclose(machine.predict(inside[:, None]), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_kernel_of_wahba_has_the_same_functions(order):
    """Two kernels with one penalty off the free polynomials: the truncated powers on [0, 1]."""
    lam = 10.0 ** (-2 * order)
    machine = SmoothingSpline(order, lam=lam).fit(LINE[:, None], Y)
    other = KernelRegressor(kernel=Spline(order=order), C=1 / lam).fit(LINE[:, None], Y)
    inside = np.linspace(0, 1, 40)[:, None]
    np.testing.assert_allclose(machine.predict(inside), other.predict(inside), rtol=0, atol=1e-7)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_polynomials_are_free(order):
    powers = np.arange(order)
    p = (LINE[:, None] ** powers).sum(axis=1)
    machine = SmoothingSpline(order, lam=1e3).fit(LINE[:, None], p)
    expected = (NEW[:, None] ** powers).sum(axis=1)
    np.testing.assert_allclose(machine.predict(NEW[:, None]), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(machine.null_space_coef_, np.ones(order), rtol=0, atol=1e-8)


def test_the_penalty_is_the_integral_of_the_squared_second_derivative():
    machine = SmoothingSpline(lam=1e-4).fit(LINE[:, None], Y)
    spline = make_smoothing_spline(LINE, Y, lam=1e-4)
    knots = np.unique(spline.t)
    left, right = spline.derivative(2)(knots[:-1]), spline.derivative(2)(knots[1:] - 1e-12)
    # The second derivative is linear between knots.
    integral = np.sum(np.diff(knots) * (left**2 + left * right + right**2) / 3)
    risk = np.sum((Y - machine.predict(LINE[:, None])) ** 2)
    expected = 0.5 * integral + risk / (2 * 1e-4)
    assert machine.solution_.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("d", "order", "kernel", "degree", "smoothing"),
    [
        (2, 2, "thin_plate_spline", 1, 8 * np.pi),
        (1, 2, "cubic", 1, 12.0),
        (3, 2, "linear", 1, 8 * np.pi),
        (1, 1, "linear", 0, 2.0),
        (1, 3, "quintic", 2, 240.0),
    ],
)
def test_thin_plates_are_those_of_scipy(d, order, kernel, degree, smoothing):
    """The constants of the kernels make the penalty the integral itself."""
    X, Z = RNG.uniform(size=(50, d)), RNG.uniform(-0.2, 1.2, size=(20, d))
    y = np.sin(4 * X).sum(axis=1)
    lam = 1e-3
    expected = RBFInterpolator(X, y, kernel=kernel, degree=degree, smoothing=smoothing * lam)(Z)
    machine = ThinPlateSpline(order, lam=lam).fit(X, y)
    np.testing.assert_allclose(machine.predict(Z), expected, rtol=0, atol=1e-8)


def test_turning_the_plate_turns_the_function():
    X, y = RNG.uniform(size=(40, 2)), RNG.normal(size=40)
    R = np.linalg.qr(RNG.normal(size=(2, 2)))[0]
    plain = ThinPlateSpline(lam=1e-2).fit(X, y).predict(X)
    turned = ThinPlateSpline(lam=1e-2).fit(X @ R + 3.0, y).predict(X @ R + 3.0)
    np.testing.assert_allclose(turned, plain, rtol=0, atol=1e-8)


def gcv(y, lam, w):
    """Generalized cross-validation from the smoother matrix of the bordered system."""
    B = np.c_[np.ones(N), GRID]
    system = np.block(
        [[ThinPlate(2)(GRID[:, None]) + lam * np.diag(1 / w), B], [B.T, np.zeros((2, 2))]]
    )
    residual = lam / w[:, None] * np.linalg.inv(system)[:N, :N]
    return N * np.sum(w * (residual @ y) ** 2) / np.trace(residual) ** 2


@pytest.mark.parametrize("weighted", [False, True])
def test_generalized_cross_validation(weighted):
    rng = np.random.default_rng(0)
    y = np.sin(7 * GRID) + 0.2 * rng.normal(size=N)
    weights = rng.uniform(0.2, 3.0, N) if weighted else np.ones(N)
    machine = SmoothingSpline(lam="gcv").fit(GRID[:, None], y, sample_weight=weights)
    values = [gcv(y, lam, weights) for lam in machine.lam_ * np.logspace(-8, 8, 161)]
    assert np.argmin(values) == 80
    if not weighted:  # SciPy's criterion weighs the squares of residuals differently
        other = make_smoothing_spline(GRID, y)(GRID)
        # It stops with a relative error of the penalty of about 1e-2.
        np.testing.assert_allclose(machine.predict(GRID[:, None]), other, rtol=0, atol=1e-3)


def reml(lam):
    """The restricted likelihood of contrasts, from its definition."""
    B = np.c_[np.ones(N), LINE]
    Z = np.linalg.svd(B)[0][:, 2:]
    V = Z.T @ (ThinPlate(2)(LINE[:, None]) / lam + np.eye(N)) @ Z
    z = Z.T @ Y
    return np.linalg.slogdet(V)[1] + len(z) * np.log(z @ np.linalg.solve(V, z))


def test_restricted_likelihood():
    machine = SmoothingSpline(lam="reml").fit(LINE[:, None], Y)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert reml(machine.lam_) < reml(factor * machine.lam_)


def test_no_choice_without_room():
    machine = SmoothingSpline(lam="gcv").fit([[0.0], [1.0]], [1.0, 3.0])
    np.testing.assert_allclose(machine.predict([[2.0]]), [5.0], atol=1e-9)


def test_errors_of_a_spline():
    errors = AutoRegressive(0.5)
    machine = SmoothingSpline(lam=1e-3, errors=errors).fit(LINE[:, None], Y)
    other = KernelRegressor(kernel=ThinPlate(2), errors=errors, C=1e3).fit(LINE[:, None], Y)
    np.testing.assert_allclose(machine.predict(NEW[:, None]), other.predict(NEW[:, None]))
    sizes = RNG.uniform(0.5, 2, N)
    sized = SmoothingSpline(lam=1e-3, errors=Independent(sizes)).fit(LINE[:, None], Y)
    expected = make_smoothing_spline(LINE, Y, w=1 / sizes**2, lam=1e-3)(LINE)
    np.testing.assert_allclose(sized.predict(LINE[:, None]), expected, rtol=0, atol=1e-8)


def test_order_and_repetition_do_not_matter():
    order = RNG.permutation(N)
    machine = SmoothingSpline(lam=1e-3)
    expected = clone(machine).fit(LINE[:, None], Y).predict(NEW[:, None])
    shuffled = clone(machine).fit(LINE[order, None], Y[order]).predict(NEW[:, None])
    np.testing.assert_allclose(shuffled, expected, rtol=0, atol=1e-9)
    counts = RNG.integers(1, 4, N)
    twice = clone(machine).fit(np.repeat(LINE, counts)[:, None], np.repeat(Y, counts))
    weighted = machine.fit(LINE[:, None], Y, sample_weight=counts)
    np.testing.assert_allclose(
        twice.predict(NEW[:, None]), weighted.predict(NEW[:, None]), rtol=0, atol=1e-9
    )


def test_as_an_estimator():
    machine = SmoothingSpline(lam=1e-3).fit(LINE[:, None], Y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(NEW[:, None]), machine.predict(NEW[:, None]))
    assert clone(machine).get_params() == {
        "order": 2,
        "lam": 1e-3,
        "errors": None,
        "approximation": None,
        "verbose": False,
    }
    search = GridSearchCV(SmoothingSpline(), {"lam": [1e-4, 1e3]}, cv=3).fit(LINE[:, None], Y)
    assert search.best_params_ == {"lam": 1e-4}
    several = SmoothingSpline(lam="reml").fit(LINE[:, None], np.c_[Y, -Y])
    assert several.predict(NEW[:, None]).shape == (33, 2)


@pytest.mark.parametrize(
    ("machine", "X", "message"),
    [
        (SmoothingSpline(), np.ones((4, 2)), "function of 1 feature, got 2"),
        (ThinPlateSpline(), RNG.normal(size=(9, 4)), "take order 3 or more"),
        (SmoothingSpline(lam=0.0), LINE[:4, None], "lam"),
        (SmoothingSpline(0), LINE[:4, None], "order"),
        (SmoothingSpline(lam="aic"), LINE[:4, None], "lam"),
    ],
)
def test_refusals(machine, X, message):
    with pytest.raises(ValueError, match=message):
        machine.fit(X, np.arange(len(X)))
