"""What a fit certifies is what its predictions cost: see :mod:`hostile.predictions`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile.objectives import OBJECTIVES
from hostile.predictions import Fit, draw, draw_every, judge
from mercer import LSSVR, SVC, SVR
from mercer.estimators import HuberSVR, QuantileSVR
from mercer.kernels import Gaussian

# Fits that broke the law once: of rounding in entropies, in sums over landmarks, of targets far
# from zero, of slopes of a squared hinge, of sparse rows far from zero, of kernels whose
# diagonal is negative, of norms that overflow, and of factors of landmarks; and one that took a
# minute.
FOUND = (
    *(84, 124, 188, 236, 244, 367, 569, 918, 997, 1090, 1190, 1613, 2604, 2626),
    *(3443, 3479, 3531, 3823, 4607),
)

# Of every estimator: of the 1-norm, adaptive margins, tubes, landmarks in single precision, margins
# that are variables, several outputs, equations of columns that are not met, coupled classes,
# second differences; a linear program that cycled, and a line of 1e12 length scales.
FOUND_OF_EVERY = (
    21,
    58,
    73,
    123,
    147,
    202,
    206,
    322,
    354,
    401,
    415,
    480,
    661,
    680,
    967,
    1055,
    1079,
    1129,
    1207,
    1655,
    1860,
    2056,
    2323,
    2905,
    3096,
    3729,
    4126,
)


def holds(fit):
    outcome = judge(fit)
    assert not outcome.failed, f"{outcome.kind}: {fit}: {outcome.detail}"
    return fit.machine


@given(st.integers(0, 2**32))
def test_the_function_that_predicts_is_certified(number):
    holds(draw(number))


@pytest.mark.parametrize("number", FOUND)
def test_fits_that_were_not_certified(number):
    holds(draw(number))


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_every_estimator_is_certified(number):
    holds(draw_every(number))


def test_every_estimator_is_drawn():
    drawn = {type(draw_every(number).machine).__name__ for number in range(400)}
    assert drawn == OBJECTIVES.keys()


@pytest.mark.parametrize("number", FOUND_OF_EVERY)
def test_fits_of_every_estimator_that_were_not_certified(number):
    holds(draw_every(number))


@pytest.mark.parametrize("machine", [LSSVR, SVR, QuantileSVR, HuberSVR])
def test_a_column_far_larger_than_others(machine):
    """Distances of 200 columns lost their digits: a row alone differed from its batch by 2.6."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 200)), rng.normal(size=40)
    X[:5, 0] = 1e8 * (1.0 + rng.random(5))
    holds(Fit(0, machine(gamma=1.0, C=1e4), X, y, None, []))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_line_with_large_weights(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    holds(Fit(0, SVR(kernel="linear", C=1e10), X, y, None, []))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_conditionally_definite_kernel_with_large_weights(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.choice([-1, 1], 40)
    machine = SVC(kernel="multiquadric", C=1e13, solver="interior_point")
    holds(Fit(0, machine, X, y, None, []))


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_weights_of_forty_orders_of_magnitude(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    machine = holds(Fit(0, SVR(C=1.0), X, y, 10.0 ** rng.uniform(-20, 20, 60), []))
    # What double precision cannot tell is no convergence.
    assert not machine.solution_.converged


def test_targets_without_digits_left_are_no_convergence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60) + 1e13
    machine = holds(Fit(0, SVR(), X, y, None, []))
    assert machine.solution_.relative_gap > 0.01
    assert not machine.solution_.converged


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_infinite_norms_are_differences(dtype):
    """Norms of 1e300 are infinite in units, and the difference of two of them is no number."""
    X = (1e8 * np.random.default_rng(0).normal(size=(6, 3))).astype(dtype)
    kernel = Gaussian.from_gamma(1e300 if dtype == np.float64 else 1e30)
    np.testing.assert_array_equal(kernel(X, X), np.eye(6))
    np.testing.assert_array_equal(kernel(X[:2], X), np.eye(6)[:2])
