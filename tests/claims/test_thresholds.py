"""Risk-controlled thresholds: their risk, known here, exceeds the target as rarely as is said."""

import numpy as np
import pytest
from scipy import stats

from mercer.claims import error_bound, mean_bound, risk_controlled_threshold

DRAWS, DELTA = 1000, 0.05
CUTOFFS = np.linspace(-2.8, 0.2, 31)
RISK = stats.norm.cdf(CUTOFFS)  # a standard normal score lies below the cutoff


@pytest.mark.parametrize("m", [60, 300])
def test_the_risk_of_errors_is_controlled_and_not_wasted(m):
    scores = np.random.default_rng(0).normal(size=(DRAWS, m))
    chosen = [
        risk_controlled_threshold(row[:, None] < CUTOFFS, CUTOFFS, target=0.3).index
        for row in scores
    ]
    too_large = np.mean(RISK[chosen] > 0.3)
    assert too_large <= DELTA
    # As each cutoff alone, it uses what it is granted.
    assert too_large > 0.2 * DELTA


def test_the_risk_of_numbers_is_controlled_where_it_does_not_fall_along_the_thresholds():
    # Mean losses go up, down and up again: only an unbroken walk from the safe end may count.
    risks = np.array([0.05, 0.08, 0.35, 0.1, 0.2, 0.5])
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(DRAWS):
        losses = rng.beta(4.0 * risks, 4.0 * (1.0 - risks), size=(150, len(risks)))
        chosen = risk_controlled_threshold(losses, np.arange(6.0), target=0.3)
        wrong += risks[chosen.index] > 0.3
        assert chosen.index >= 1
        assert chosen.bound == mean_bound(losses[:, chosen.index])
    assert wrong <= DELTA * DRAWS


def test_it_is_the_last_one_of_an_unbroken_walk():
    rng = np.random.default_rng(2)
    wrong = rng.random((80, 5)) < [0.01, 0.02, 0.9, 0.02, 0.9]
    found = risk_controlled_threshold(wrong, [1.0, 2.0, 3.0, 4.0, 5.0], target=0.2)
    bounds = [error_bound(int(column.sum()), 80).value for column in wrong.T]
    assert bounds[3] < 0.2 < bounds[2]
    assert (found.value, found.index, found.bound.value) == (2.0, 1, bounds[1])


@pytest.mark.parametrize(
    ("losses", "options", "said"),
    [
        (np.ones((5, 2), bool), {"target": 0.1}, "safest threshold, 0, is not shown"),
        (np.zeros((5, 2), bool), {"target": 0.1}, "give more than 5 rows"),
        (np.full((500, 2), 3.0), {"target": 0.5}, "every loss lies between 0 and 1"),
        (np.zeros((5, 3), bool), {"target": 0.1}, "a column for each threshold"),
        (np.zeros((5, 2), bool), {"target": 1.5}, "between 0 and 1, not 1.5"),
    ],
)
def test_it_says_why_not(losses, options, said):
    with pytest.raises(ValueError, match=said):
        risk_controlled_threshold(losses, [0.0, 1.0], **options)
