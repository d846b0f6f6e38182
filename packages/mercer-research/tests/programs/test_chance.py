"""Constraints that hold with a probability: how often they do."""

import numpy as np
import pytest
from scipy.stats import norm

from mercer.programs.program import Program
from mercer_research.programs.chance import chance


def solved(probability, S, B=(1.0, 2.0), bound=3.0):
    program = Program()
    x = program.variable(2, lower=-10.0, upper=10.0)
    program.cost(x, [-1.0, -1.5])
    chance(program, x, B, S, bound, probability)
    return program.solve()[x]


def test_probability_is_the_one_asked_for():
    rng = np.random.default_rng(0)
    S = np.array([[0.3, 0.1], [0.1, 0.2]])
    for eta in (0.6, 0.9, 0.99):
        x = solved(eta, S)
        assert norm.cdf((3.0 - np.dot([1.0, 2.0], x)) / np.sqrt(x @ S @ x)) == pytest.approx(
            eta, abs=1e-5
        )
        drawn = rng.multivariate_normal([1.0, 2.0], S, 20_000)
        share = np.mean(drawn @ x <= 3.0)
        assert share >= eta - 3 * np.sqrt(eta * (1 - eta) / 20_000)


def test_one_half_is_the_constraint_of_the_mean():
    # Phi^-1(0.5 + 1e-9) = 2.5e-9, so that the cone adds at most 1e-7 here.
    x = solved(0.5 + 1e-9, np.eye(2))
    assert np.dot([1.0, 2.0], x) == pytest.approx(3.0, abs=1e-5)


def test_what_is_not_convex_or_no_covariance_is_refused():
    with pytest.raises(ValueError, match="not a convex set"):
        solved(0.5, np.eye(2))
    with pytest.raises(ValueError, match="positive semidefinite"):
        solved(0.9, -np.eye(2))
    with pytest.raises(ValueError, match="symmetric covariance"):
        solved(0.9, np.eye(3))
