"""A few low-rank fits of extreme problems; hundreds are in `tests/hostile/test_low_rank.py`."""

import pytest

from hostile.low_rank import PATHS, judge_fit, nondifferentiable, scaled


@pytest.mark.parametrize("number", range(10))
def test_a_bound_of_a_nondifferentiable_loss_holds(number):
    assert not judge_fit(nondifferentiable(number), PATHS[number % len(PATHS)])


@pytest.mark.parametrize("number", [3, 21, 57, 68])
def test_predictions_cost_what_the_objective_says(number):
    assert not judge_fit(scaled(number))
