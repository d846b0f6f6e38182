"""Machines with a null space: conditional kernels, data-frame columns, breaks, parts, objects."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    LSSVR,
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
)
from mercer.estimators import CollinearColumns, HuberSVR
from mercer.kernels import Gaussian, Linear, Multiquadric, Polyharmonic, StringSpectrum, ThinPlate
from mercer.losses import Squared
from mercer.regularizers import Breaks, Columns, Constant, Empty, Functions, Polynomial

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (90, 2))
Y = 2.0 * X[:, 0] - X[:, 1] + np.sin(4.0 * X[:, 0]) * X[:, 1] + 0.05 * RNG.normal(size=90)
# So noisy that no free plane splits a class off: a logistic loss would have no minimum.
CLASSES = np.where(Y + RNG.normal(size=90) > 0, "up", "down")
THREE = np.digitize(Y + RNG.normal(size=90), [-0.7, 0.7])

REGRESSORS = [
    SVR(epsilon=0.05),
    NuSVR(nu=0.4),
    HuberSVR(),
    QuantileSVR(quantile=0.3),
    KernelRegressor("squared"),
    KernelRegressor("pinball"),
    KernelRegressor("squared_epsilon_insensitive"),
]
CLASSIFIERS = [
    SVC(),
    NuSVC(nu=0.3),
    KernelClassifier("hinge"),
    KernelClassifier("squared_hinge"),
    KernelLogisticRegression(),
]
CONDITIONAL = [ThinPlate(), Multiquadric(0.5), Polyharmonic(1.0), Polyharmonic(3.0)]


@pytest.mark.parametrize("machine", REGRESSORS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kernel", CONDITIONAL, ids=repr)
def test_conditional_kernels_in_every_regressor(machine, kernel):
    machine = clone(machine).set_params(kernel=kernel, C=10.0, tol=1e-6).fit(X, Y)
    assert machine.solution_.converged
    assert machine.null_space_names_ == ["1", "x0", "x1"][: 1 if kernel.order == 1 else 3]
    coef = np.zeros(90)
    coef[machine.support_] = machine.dual_coef_[0]
    B = machine.null_space_(X)
    # The rows of the dual hold to rounding, and the function is smooth enough to follow the data.
    assert np.abs(B.T @ coef).max() <= 1e-9 * np.abs(coef).sum()
    assert np.median(np.abs(machine.predict(X) - Y)) < 0.5


@pytest.mark.parametrize("machine", CLASSIFIERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kernel", CONDITIONAL, ids=repr)
@pytest.mark.parametrize("labels", [CLASSES, THREE], ids=["two", "three"])
def test_conditional_kernels_in_every_classifier(machine, kernel, labels):
    machine = clone(machine).set_params(kernel=kernel, tol=1e-5).fit(X, labels)
    assert machine.solution_.converged
    assert machine.score(X, labels) > 0.5
    assert machine.null_space_coef_.shape == (
        len(machine.intercept_),
        len(machine.null_space_names_),
    )


def test_a_region_in_a_conditional_kernel():
    machine = OneClassSVM(kernel=Multiquadric(0.5), nu=0.2, tol=1e-6).fit(X)
    assert machine.solution_.converged
    outside = np.mean(machine.decision_function(X) < -1e-4)
    assert outside <= 0.2 + 1e-9


def test_polynomials_below_the_order_are_reproduced_exactly():
    plane = 3.0 - 2.0 * X[:, 0] + 0.5 * X[:, 1]
    for machine in (SVR(kernel=ThinPlate(), epsilon=0.0), KernelRegressor(kernel=ThinPlate())):
        machine.set_params(tol=1e-8).fit(X, plane)
        new = RNG.uniform(-3.0, 3.0, (20, 2))
        expected = 3.0 - 2.0 * new[:, 0] + 0.5 * new[:, 1]
        np.testing.assert_allclose(machine.predict(new), expected, rtol=0, atol=1e-6)
        np.testing.assert_allclose(machine.coef_, [3.0, -2.0, 0.5], rtol=0, atol=1e-6)


def test_free_functions_that_the_samples_hardly_determine():
    few = KernelRegressor(kernel=ThinPlate(), C=10.0).fit(X[:3], Y[:3])  # as many as functions
    np.testing.assert_allclose(few.predict(X[:3]), Y[:3], rtol=0, atol=1e-10)
    assert np.abs(few.dual_coef_).max(initial=0.0) <= 1e-12
    line = np.column_stack([X[:, 0], X[:, 0]])  # not unisolvent: only one direction is seen
    with pytest.warns(CollinearColumns):
        flat = KernelRegressor(kernel=ThinPlate(), C=1e6).fit(line, 2.0 * X[:, 0])
    np.testing.assert_allclose(flat.predict(line), 2.0 * X[:, 0], rtol=0, atol=1e-8)


def test_predictions_do_not_depend_on_the_basis_of_the_free_functions():
    shifted = [lambda X: X[:, 0] - 5.0, lambda X: X @ [1.0, 1.0], lambda X: np.full(len(X), 2.0)]
    one = SVR(kernel=ThinPlate(), C=5.0, tol=1e-8).fit(X, Y)
    # A basis that names none of the monomials: they are added, and the columns are dependent.
    other = SVR(kernel=ThinPlate(), null_space=Functions(shifted), C=5.0, tol=1e-8)
    with pytest.warns(CollinearColumns):
        other.fit(X, Y)
    assert len(other.null_space_names_) == 6
    np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_partly_linear_models_from_the_columns_of_a_data_frame(frame):
    n = 200
    t, x, z = RNG.uniform(0, 10, n), RNG.uniform(-1, 1, n), RNG.normal(size=n)
    y = 0.7 * t + np.sin(5.0 * x) - 1.5 * z
    table = frame({"x": x, "trend": t, "z": z})
    machine = SVR(
        kernel=Gaussian(0.3).on(["x"]),
        null_space=Constant() + Columns(["trend", "z"]),
        C=100.0,
        epsilon=0.01,
        tol=1e-5,
    ).fit(table, y)
    assert machine.null_space_names_ == ["1", "trend", "z"]
    np.testing.assert_allclose(machine.coef_[1:], [0.7, -1.5], rtol=0, atol=0.01)
    parts = machine.predict_parts(table)
    assert list(parts) == ["Gaussian(length_scale=0.3).on([0])", "1", "trend", "z"]
    total = sum(parts.values())
    np.testing.assert_allclose(total, machine.predict(table), rtol=0, atol=1e-10)
    np.testing.assert_allclose(parts["trend"], machine.coef_[1] * t, rtol=0, atol=1e-12)
    # The parameters are those given: names stay names.
    assert machine.kernel.dims == ["x"]
    assert machine.null_space.right.columns == ["trend", "z"]
    with pytest.raises(ValueError, match="no feature 'x'"):
        clone(machine).fit(frame({"a": x, "b": t}), y)
    with pytest.raises(ValueError, match="data frame"):
        clone(machine).fit(np.column_stack([x, t, z]), y)


def test_a_jump_and_a_kink_at_known_places():
    x = np.linspace(0.0, 1.0, 120)
    y = np.sin(3.0 * x) + 0.8 * (x > 0.4) + 2.0 * np.maximum(x - 0.7, 0.0)
    space = Polynomial(1) + Breaks([0.4]) + Breaks([0.7], order=1)
    machine = KernelRegressor("squared", ThinPlate(), null_space=space, C=1e10).fit(x[:, None], y)
    assert machine.null_space_names_[2:] == ["jump at x0 = 0.4", "kink at x0 = 0.7"]
    # Points are 1/119 apart: what the slope of the sine does within the intervals on both sides of
    # the kink, up to 9/119 in each, cannot be told from it.
    np.testing.assert_allclose(machine.coef_[2:], [0.8, 2.0], rtol=0, atol=18.0 / 119.0)
    smooth = KernelRegressor("squared", ThinPlate(), C=1e10).fit(x[:, None], y)
    between = np.linspace(0.39, 0.41, 101)[:, None]
    truth = np.sin(3.0 * between[:, 0]) + 0.8 * (between[:, 0] > 0.4)
    errors = [np.abs(m.predict(between) - truth).max() for m in (machine, smooth)]
    assert errors[0] < 0.1 * errors[1]


def test_parts_of_a_sum_of_kernels():
    kernel = Gaussian(0.5).on([0]) + 2.0 * Gaussian(1.0).on([1])
    machine = KernelRegressor(Squared(), kernel, C=20.0).fit(X, Y)
    first, second, constant = machine.predict_parts(X).values()
    K = Gaussian(0.5)(X[:, :1], X[machine.support_][:, :1])
    np.testing.assert_allclose(first, K @ machine.dual_coef_[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(constant, machine.intercept_[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(first + second + constant, machine.predict(X), rtol=0, atol=1e-9)


def test_coefficients_are_those_of_the_features_for_the_linear_kernel_only():
    linear = SVR(kernel="linear", null_space=Polynomial(1)).fit(X, Y)
    assert linear.coef_.shape == (1, 2)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVR().fit(X, Y).coef_
    assert SVR(null_space=Polynomial(1)).fit(X, Y).coef_.shape == (3,)
    assert SVC(null_space=Polynomial(1)).fit(X, THREE).coef_.shape == (3, 3)
    assert SVC(kernel=Linear()).fit(X, CLASSES).coef_.shape == (1, 2)


def test_no_intercept_and_no_constant_in_the_nu_machines():
    machine = NuSVR(null_space=Empty(), nu=0.4, tol=1e-6).fit(X, Y)
    assert machine.intercept_ == 0.0
    assert machine.solution_.converged
    machine = NuSVC(null_space=Empty(), nu=0.3, tol=1e-6).fit(X, CLASSES)
    assert machine.solution_.converged
    with pytest.raises(ValueError, match="needs a constant"):
        OneClassSVM(null_space=Empty()).fit(X)


def test_margins_that_free_functions_make_as_wide_as_they_like():
    separable = np.where(X[:, 0] > 0, 1, -1)
    with pytest.raises(ValueError, match="unbounded below"):
        NuSVC(kernel=ThinPlate(), nu=0.9).fit(X, separable)


def test_searches_reach_into_the_null_space():
    search = GridSearchCV(
        SVR(kernel=Gaussian(0.3), null_space=Polynomial(0)),
        {"null_space__degree": [0, 1], "C": [1.0]},
        cv=3,
    ).fit(X, Y)
    assert search.best_params_["null_space__degree"] == 1


def test_features_that_nobody_has():
    with pytest.raises(ValueError, match="a precomputed kernel there are no features"):
        SVR(kernel="precomputed", null_space=Polynomial(1)).fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="a kernel of objects there are no features"):
        SVR(kernel=StringSpectrum(1), null_space=Columns([0])).fit(["a", "b"], [0.0, 1.0])


def test_functions_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match=r"'log\(x0\)' is not finite"), np.errstate(all="ignore"):
        SVR(null_space=Functions([np.log], on=[0])).fit(X, Y)


def test_warm_starts_with_columns():
    machine = SVR(kernel=ThinPlate(), C=1.0, warm_start=True, tol=1e-6).fit(X, Y)
    cold = clone(machine).set_params(C=1.2).fit(X, Y)
    warm = machine.set_params(C=1.2).fit(X, Y)
    assert abs(warm.solution_.objective - cold.solution_.objective) <= (
        warm.solution_.gap + cold.solution_.gap
    )


@pytest.mark.parametrize("kind", [LSSVR, SVR, SVC])
def test_nearly_collinear_columns_are_reported(kind):
    """A condition number, and a warning where coefficients are not determined."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = np.where(rng.normal(size=40) > 0, 1.0, -1.0)
    space = Constant() + Columns([0, 1])
    well = kind(null_space=space).fit(x, y)
    B = np.column_stack([np.ones(40), x])
    expected = np.linalg.cond(B / np.linalg.norm(B, axis=0))
    assert well.null_space_condition_ == pytest.approx(expected, rel=1e-10)
    # Units do not matter.
    scaled = kind(null_space=space).fit(x * [1e-3, 1e3], y)
    assert scaled.null_space_condition_ == pytest.approx(expected, rel=1e-10)
    near = np.column_stack([x[:, 0], x[:, 0] + 1e-8 * x[:, 1]])
    with pytest.warns(CollinearColumns, match="condition number"):
        ill = kind(null_space=space).fit(near, y)
    B = np.column_stack([np.ones(40), near])
    # A singular value of 1e-8 is known to eight digits.
    assert ill.null_space_condition_ == pytest.approx(
        np.linalg.cond(B / np.linalg.norm(B, axis=0)), rel=1e-6
    )


@pytest.mark.parametrize("solver", ["smo", "interior_point"])
def test_dependent_columns_get_the_shortest_coefficients(solver):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    y = np.where(x[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    machine = SVC(kernel=Gaussian(1.0).on([0]), tol=1e-9, solver=solver)
    one = clone(machine).set_params(null_space=Columns([0])).fit(x, y)
    with pytest.warns(CollinearColumns, match="x0, x1 are collinear on the sample"):
        two = machine.set_params(null_space=Columns([0, 1])).fit(np.column_stack([x, x]), y)
    assert two.null_space_condition_ == np.inf
    np.testing.assert_allclose(
        two.null_space_coef_, 0.5 * one.null_space_coef_[:, [0, 0]], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("kind", [LSSVR, SVR])
def test_categories_next_to_an_intercept_are_reported(kind):
    rng = np.random.default_rng(0)
    codes = np.eye(3)[rng.integers(0, 3, 40)]
    with pytest.warns(CollinearColumns, match="categories of a feature sum to the intercept"):
        kind(null_space=Constant() + Columns([0, 1, 2])).fit(codes, rng.normal(size=40))


def test_points_on_a_line_are_reported_by_kernels_that_leave_planes_free():
    x = np.linspace(0.0, 1.0, 30)
    with pytest.warns(CollinearColumns, match="1, x0, x1 are collinear"):
        SVR(kernel=ThinPlate()).fit(np.column_stack([x, 2.0 * x]), np.sin(6.0 * x))


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_samples_than_unpenalized_functions(n):
    machine = LSSVR(kernel=Gaussian(1.0), null_space=Constant() + Columns([0, 1]))
    with pytest.raises(ValueError, match=f"3 unpenalized functions 1, x0, x1 .* n_samples={n}"):
        machine.fit(X[:n], Y[:n])


def test_a_kernel_has_no_part_in_the_free_functions_that_it_could_express():
    """Why overlap of kernel and null space leaves coefficients determined: <g, p> = a'p(X) = 0."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    y = x @ [3.0, -1.0, 0.5] + rng.normal(size=40)
    machine = LSSVR(kernel=Linear(), null_space=Columns([0]), C=2.0)
    both = clone(machine).fit(x, y)
    apart = machine.set_params(kernel=Linear().on([1, 2])).fit(x, y)
    assert abs(both.dual_coef_ @ x[both.support_, 0]) < 1e-12
    np.testing.assert_allclose(both.null_space_coef_, apart.null_space_coef_, rtol=1e-10)
    np.testing.assert_allclose(both.predict(x), apart.predict(x), rtol=1e-9, atol=1e-11)
