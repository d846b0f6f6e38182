"""Inputs that once ended in a bare error, each by its own line."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    LSSVR,
    SVC,
    SVR,
    AdditiveClassifier,
    AdditiveRegressor,
    Nystrom,
    OneClassSVM,
    QuantileSVR,
    ShapeConstrainedRegressor,
    UniversalKriging,
    tune,
)
from mercer._fitting import AllOrNothing
from mercer.estimators import (
    HuberSVR,
    RobustLSSVR,
    SparseAdditiveRegressor,
    SupportVectorTube,
    ThinPlateSpline,
)
from mercer.preprocessing import Imputer
from mercer.selection import LSSVCCV, LSSVRCV
from mercer.solvers import ConvergenceWarning, Status
from mercer_research.density import KernelCDF
from mercer_research.estimators import GeneralizedLeastSquares, HardTubeSVR, LeaveOneOutSVC
from mercer_research.selection import FixedComplexity

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(size=40)


def with_an_outlier(value):
    hostile = X.copy()
    hostile[0] = value
    return hostile


@pytest.mark.filterwarnings("ignore::mercer.machines.expansion.IndefiniteKernel")
def test_an_indefinite_kernel_is_examined_at_the_distinct_rows():
    binary = (X > 0).astype(float)
    machine = LSSVR(kernel="sigmoid", approximation=Nystrom(50))
    expected = machine.fit(binary, Y).predict(binary)
    found = machine.fit(sp.csr_array(binary), Y).predict(sp.csr_array(binary))
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("machine", [UniversalKriging(), GeneralizedLeastSquares()], ids=repr)
def test_a_refusal_keeps_the_number_of_features(machine):
    wide = np.column_stack([X, RNG.normal(size=40)])
    expected = machine.fit(wide, Y).predict(wide)
    with pytest.raises(ValueError, match=r"Scale|combination"):
        machine.fit(with_an_outlier(1e200), Y)
    np.testing.assert_array_equal(machine.predict(wide), expected)


# The gap of a tube of 1e-200 is that of its tolerance, of which it is right to warn.
@pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")
@pytest.mark.parametrize("scale", [0.0, 1e-200])
def test_targets_without_size_can_be_tuned_to(scale):
    found = LSSVRCV().fit(X, scale * Y).predict(X)
    assert np.max(np.abs(found)) <= scale * np.max(np.abs(Y))
    assert tune(SVR(), X, scale * Y).best_estimator_.predict(X) == pytest.approx(0.0, abs=1e-12)


def test_the_choice_of_a_kernel_does_not_depend_on_the_unit_of_the_targets():
    small, large = (LSSVRCV().fit(X, 2.0**k * Y) for k in (-400, 0))
    np.testing.assert_allclose(small.predict(X) * 2.0**400, large.predict(X), rtol=1e-6)


def test_squares_of_inputs_that_overflow_are_refused_by_approximations():
    with pytest.raises(ValueError, match="squares of X overflow"):
        LSSVR(approximation=Nystrom(5)).fit(with_an_outlier(1e200), Y)


def test_columns_of_any_length_are_a_null_space():
    with pytest.warns(ConvergenceWarning):
        machine = ThinPlateSpline().fit(X * [1e-140, 1e140], Y)
    assert np.all(np.isfinite(machine.predict(X * [1e-140, 1e140])))


def test_a_variation_cannot_be_chosen_by_one_sample():
    weights = np.zeros(40)
    weights[0] = 1.0
    with pytest.raises(ValueError, match="give mu as a number"):
        SparseAdditiveRegressor().fit(X, Y, sample_weight=weights)


def test_targets_whose_squares_overflow_leave_nothing_to_choose_by():
    with pytest.raises(ValueError, match="squared errors of the targets overflow"):
        SupportVectorTube(kernel="linear").fit(X, Y * 1e307)


def test_pairs_end_where_they_would_creep():
    """Weights of errors grow here until pairs would need days."""
    x = np.linspace(0.0, 1.0, 16)[:, None]
    machine = HardTubeSVR(gamma=1.0, solver="smo")
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        machine.fit(x, np.sin(12.0 * x[:, 0]))
    # Some seconds of pairs; where they end depends on the last digits of the matrix.
    assert machine.solution_.n_iter < 1e8


def test_multipliers_that_move_on_rounding_errors_end():
    """They took sixty million steps, until rounding happened to be small."""
    y = Y.copy()
    y[0] = 1e140
    with pytest.warns(ConvergenceWarning, match="Rounding errors of the decision values"):
        machine = AdditiveRegressor(solver="smo").fit(X, y)
    assert machine.solution_.n_iter < 2e7
    assert machine.solution_.relative_gap < 1e-12


def test_newton_steps_on_rounding_errors_end():
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        machine = RobustLSSVR(approximation=Nystrom(5)).fit(X, Y, sample_weight=np.full(40, 1e299))
    assert np.all(np.isfinite(machine.predict(X)))


def test_weights_beyond_any_number_of_rows_give_no_width():
    with pytest.raises(ValueError, match="Divide the weights"):
        KernelCDF().fit(X, sample_weight=np.full(40, 1e298))
    far = KernelCDF(gamma=1e12).fit(X).pdf(X[:1] + 1.0)
    np.testing.assert_array_equal(far, 0.0)


def test_walls_that_overflow_are_explained_by_the_targets():
    with pytest.raises(ValueError, match=r"y reaches from .* \(walls as steep"):
        ShapeConstrainedRegressor(C=1e160).fit(X[:, :1], Y * 1e160)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (AdditiveRegressor(), "name the features that matter"),
        (AdditiveClassifier(), "name the features that matter"),
        (Imputer(), "hash them"),
        (LSSVCCV(), "standardize=False"),
    ],
    ids=repr,
)
def test_what_every_column_would_need_is_not_allocated_for_a_hundred_million(machine, words):
    entries = np.ones(40), np.arange(40, dtype=np.int32), np.arange(41, dtype=np.int32)
    wide = sp.csr_array(entries, shape=(40, 10**8))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=words):
            machine.fit(wide, np.repeat([0, 1], 20))
        assert tracemalloc.get_traced_memory()[1] < 10**8
    finally:
        tracemalloc.stop()


class Breaks(AllOrNothing):
    def fit(self, X, y):
        self.n_ = len(y)
        raise ZeroDivisionError("no pivot")


def test_an_arithmetic_error_is_explained_by_extreme_magnitudes_only():
    machine = Breaks()
    with pytest.raises(ValueError, match=r"y is 1\.0e\+200\. Scale .* \(no pivot\)"):
        machine.fit(X, np.full(40, 1e200))
    with pytest.raises(ZeroDivisionError):
        machine.fit(X, Y)
    assert vars(machine) == {"verbose": False}


# Weights -----------------------------------------------------------------------------------------

ONE = np.random.default_rng(3).normal(size=(40, 1))
WAVE = np.sin(3.0 * ONE[:, 0])
LOSSES = {
    SVR: lambda y, f: np.maximum(np.abs(y - f) - 0.1, 0.0),
    QuantileSVR: lambda y, f: 0.5 * np.abs(y - f),
    SVC: lambda y, f: np.maximum(1.0 - np.where(y, 1.0, -1.0) * f, 0.0),
}


def cost(machine, y, weights):
    """Return what the function that a machine predicts costs, computed outside, and its rounding.

    A sum of k terms is rounded by k units of its terms' sizes at most, and losses have slope one.
    """
    f = machine.decision_function(ONE) if isinstance(machine, SVC) else machine.predict(ONE)
    a, Z = machine.dual_coef_[0], machine.support_vectors_
    norm = a @ machine.kernel_(Z) @ a
    sizes = np.abs(machine.kernel_(ONE, Z)) @ np.abs(a) + np.abs(machine.intercept_[0]) + 1.0
    rounding = (len(a) + 2) * np.finfo(float).eps * np.sum(weights * sizes)
    return float(np.sum(weights * LOSSES[type(machine)](y, f)) + 0.5 * norm), float(rounding)


@pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")
@pytest.mark.parametrize("weight", 10.0 ** np.array([-20.0, 0, 9, 11, 12, 13, 15, 17, 20, 100]))
@pytest.mark.parametrize("estimator", LOSSES, ids=lambda estimator: estimator.__name__)
def test_the_objective_is_that_of_the_predictions_whatever_the_weights(estimator, weight):
    """At 1e12 an objective of 3.3e3 was called converged; predictions cost 9.7e12."""
    y = WAVE > 0 if estimator is SVC else WAVE
    machine = estimator().fit(ONE, y, sample_weight=np.full(40, weight))
    solution = machine.solution_
    found, rounding = cost(machine, y, np.full(40, weight))
    assert solution.objective >= found - rounding
    assert solution.relative_gap <= 0.01 or not solution.converged
    if weight == 1e12:
        assert solution.objective < 2.0 * found or estimator is QuantileSVR


@pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")
@pytest.mark.parametrize("far", [0.0, 1e8, 1e12, 1e15])
def test_the_objective_is_that_of_the_predictions_however_far_the_targets(far):
    """At 1e15, where numbers are 0.125 apart, an objective was less than predictions cost."""
    y = (WAVE > 0) + far
    machine = SVR(C=1.0).fit(ONE, y)
    assert machine.solution_.objective >= (1.0 - 1e-6) * cost(machine, y, np.ones(40))[0]
    assert machine.solution_.converged is (far < 1e15)


def test_what_double_precision_cannot_tell_is_said_with_its_size():
    with pytest.warns(ConvergenceWarning, match=r"decision values are known to .* up to 1\.0e\+15"):
        machine = SVR(C=1e15).fit(ONE, WAVE)
    assert machine.solution_.status is Status.LOOSE


def test_a_weight_of_one_class_is_not_taken_for_all():
    with pytest.warns(ConvergenceWarning, match="double precision"):
        machine = SVC(class_weight={True: 1e20}).fit(ONE, WAVE > 0)
    # The hard side of the margin is met to rounding, the soft one costs less than one a sample.
    assert np.min(machine.decision_function(ONE)[WAVE > 0]) > 1.0 - 1e-12
    assert machine.solution_.dual == pytest.approx(34.58, abs=0.01)


def test_a_large_C_is_not_another():
    machine = SVR(kernel="linear", C=2e10).fit(ONE, WAVE)
    assert machine.C_ == 2e10
    half = SVR(kernel="linear", C=1e10).fit(ONE, WAVE)
    assert machine.solution_.objective == pytest.approx(2.0 * half.solution_.objective, rel=1e-3)
    assert SVR(C=np.inf).fit(ONE, WAVE).C_ == 1e10


def test_newton_steps_end_where_they_would_creep():
    weights = 10.0 ** np.random.default_rng(0).uniform(-20, 20, 40)
    with pytest.warns(ConvergenceWarning):
        machine = HuberSVR(C=1e10).fit(X, Y, sample_weight=weights)
    assert machine.solution_.n_iter < 5000


def test_a_level_is_found_from_the_unit_of_the_weights():
    one = FixedComplexity(SVR(), max_norm=1.0).fit(X, Y)
    small = FixedComplexity(SVR(), max_norm=1.0).fit(X, Y, sample_weight=np.full(40, 2.0**-50))
    np.testing.assert_allclose(small.predict(X), one.predict(X), atol=2e-3)
    ratio = small.C_ / one.C_
    assert ratio == pytest.approx(2.0**50, rel=1e-2)


def test_a_gap_is_not_small_beside_weights_alone():
    weights = np.where(np.arange(40) < 1, 1e12, 1.0)
    with pytest.warns(ConvergenceWarning, match="beside an objective of"):
        machine = LeaveOneOutSVC().fit(X, Y > 0, sample_weight=weights)
    assert machine.solution_.relative_gap > 0.01


def test_the_unit_of_the_weights_of_one_class_is_its_own():
    weights = np.random.default_rng(0).uniform(0.1, 1.0, 40)
    one = OneClassSVM().fit(X, sample_weight=weights)
    small = OneClassSVM().fit(X, sample_weight=1e-14 * weights)
    assert small.solution_.relative_gap <= 0.01
    expected = one.decision_function(X)
    found = small.decision_function(X) * 1e14
    np.testing.assert_allclose(found, expected, atol=5e-3 * np.ptp(expected))
