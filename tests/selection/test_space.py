"""Hyperparameters as vectors: there and back, and slopes against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import Gaussian, Linear, Matern, RationalQuadratic
from mercer.selection.least_squares_problem import Statement
from mercer.selection.objective import Objective
from mercer.selection.space import Space
from mercer.smoothing.criteria import GCV, CrossValidation, Evidence, LeaveOneOut

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (np.sin(X[:, :1]) + X[:, 1:2] ** 2) + 0.1 * RNG.normal(size=(30, 1))
KERNELS = {
    "one width": Gaussian(1.5),
    "widths": Matern(length_scale=np.array([1.0, 2.0, 3.0]), nu=1.5),
    "sum": Gaussian(1.0) + 0.5 * Linear(),
    "part": 2.0 * Gaussian(0.7).on([0, 2]) + Gaussian(2.0).on([1]),
    "quadratic": RationalQuadratic(1.0, 2.0),
}


def statement(kernel):
    return Statement(X, Y, np.ones((30, 1)), np.ones(30), kernel, False, np.arange(30))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("ard", [False, True])
def test_the_start_is_the_kernel_itself(name, ard):
    kernel = KERNELS[name]
    space = Space.of(kernel, 3, ard=ard)
    found, C = space.at(space.start(2.5))
    assert_allclose(found(X), kernel(X), rtol=1e-12)
    assert pytest.approx(2.5) == C
    assert_allclose(space.read(found, 2.5), space.start(2.5), atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("ard", [False, True, [1, 0, 1]])
@pytest.mark.parametrize(
    "criterion", [LeaveOneOut(), GCV(), Evidence(), CrossValidation(np.arange(30) % 3)]
)
def test_gradients_are_differences(name, ard, criterion):
    space = Space.of(KERNELS[name], 3, ard=ard)
    objective = Objective(statement(KERNELS[name]), space, criterion=criterion, prior=3.0)
    theta = space.start(4.0) + 0.1 * RNG.normal(size=len(space.start(1.0)))
    _, gradient = objective.value_and_gradient(objective.statement, theta, "")
    h = 1e-5  # central differences err by about h^2, and by rounding of 1e-16 / h
    for j in range(len(theta)):
        step = h * np.eye(len(theta))[j]
        up, _ = objective.value_and_gradient(objective.statement, theta + step, "")
        down, _ = objective.value_and_gradient(objective.statement, theta - step, "")
        assert_allclose(gradient[j], (up - down) / (2 * h), rtol=1e-5, atol=1e-7)


def test_a_width_becomes_one_for_each_feature_that_a_kernel_sees():
    space = Space.of(KERNELS["part"], 3, ard=True)
    params = space.kernel.get_params()
    sizes = sorted(np.size(params[name]) for name in space.widths)
    assert sizes == [1, 2]


def test_tied_features_move_together_and_count_once():
    kernel = Gaussian(np.array([1.0, 2.0, 3.0]))
    space = Space.of(kernel, 3, ard=["size", "colour", "colour"])
    theta = np.array([0.7, -0.3, 0.0])  # groups are in the order of their labels
    found, _ = space.at(theta)
    assert_allclose(
        found.length_scale, [np.exp(-0.3), 2 * np.exp(0.7), 3 * np.exp(0.7)], rtol=1e-12
    )
    assert_allclose(space.read(found), theta, atol=1e-12)
    uneven, slope = space.spread(theta)
    assert_allclose(uneven, 0.5 * 2 * 0.5**2)
    assert_allclose(slope, [0.5, -0.5, 0.0])
    separate = Space.of(kernel, 3, ard=True)
    slopes = found.pullback(X, np.ones((30, 30)))
    one_by_one = separate.gradient(found, slopes, 1.0)
    tied = space.gradient(found, slopes, 1.0)
    assert_allclose(tied, [one_by_one[1] + one_by_one[2], one_by_one[0], 1.0])


def test_ties_reach_kernels_of_some_features():
    space = Space.of(KERNELS["part"], 3, ard=[0, 1, 0])
    assert [part.stop - part.start for _, part, _ in space.parts()] == [1, 1, 1]  # and a factor


@pytest.mark.parametrize("wrong", [[0, 1], [[0, 1, 2]], "each"])
def test_labels_must_be_as_many_as_features(wrong):
    with pytest.raises(ValueError, match="label for each of 3 features"):
        Space.of(Gaussian(1.0), 3, ard=wrong)


def test_wider_multiplies_all_length_scales_and_nothing_else():
    space = Space.of(KERNELS["part"], 3)
    kernel, C = space.at(space.wider(space.start(3.0), np.log(2.0)))
    expected = 2.0 * Gaussian(1.4).on([0, 2]) + Gaussian(4.0).on([1])
    assert_allclose(kernel(X), expected(X), rtol=1e-12)
    assert pytest.approx(3.0) == C


def test_a_factor_before_the_whole_kernel_is_left_to_the_weight_of_the_loss():
    assert Space.of(3.0 * Gaussian(1.0), 3).names == ("kernel__length_scale",)


def test_only_parameters_of_the_kernel_can_be_asked_for():
    assert Space.of(RationalQuadratic(1.0, 2.0), 3, ["alpha"]).names == ("alpha",)
    with pytest.raises(ValueError, match="choose among"):
        Space.of(Gaussian(1.0), 3, ["alpha"])
