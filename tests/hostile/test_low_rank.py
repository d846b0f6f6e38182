"""Hundreds of low-rank fits of extreme problems: bounds that hold, costs that predictions have."""

import pytest

from hostile.low_rank import PATHS, judge_fit, nondifferentiable, scaled

STRETCH = 20


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("first", range(0, 200, STRETCH))
def test_no_bound_of_a_nondifferentiable_loss_is_false(first, path):
    numbers = range(first, first + STRETCH)
    wrong = [words for k in numbers for words in judge_fit(nondifferentiable(k), path)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("first", range(0, 400, STRETCH))
def test_predictions_cost_what_the_objective_says(first):
    numbers = range(first, first + STRETCH)
    wrong = [words for k in numbers for words in judge_fit(scaled(k))]
    assert not wrong, "\n".join(wrong)
