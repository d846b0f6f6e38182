"""Compiled loops over rows, against the formulas of losses."""

import numpy as np
import pytest

from mercer._native import fenchel_young

ONES = np.ones(3)


@pytest.mark.parametrize("curvature", [0.0, 1.0], ids=["absolute", "squared"])
@pytest.mark.parametrize("at", range(3))
def test_a_value_that_is_nan_has_no_cost_of_zero(curvature, at):
    """Both losses, with slopes in [-1, 1] where they have a kink and any otherwise."""
    t, v = np.array([0.5, -2.0, 3.0]), np.array([0.5, -1.0, 1.0])
    flat, largest = curvature * ONES, 1.0 if curvature == 0.0 else np.inf
    terms = (ONES, 0.0 * ONES, 0.0 * ONES, flat, flat, -largest * ONES, largest * ONES)
    losses, conjugates, young = fenchel_young(t, v, *terms)
    values, of_slopes = (t**2 / 2, v**2 / 2) if curvature else (np.abs(t), 0.0 * v)
    assert losses == pytest.approx(values.sum())
    assert conjugates == pytest.approx(of_slopes.sum())
    assert young == pytest.approx((values + of_slopes - v * t).sum())
    t[at] = np.nan
    losses, _, young = fenchel_young(t, v, *terms)
    assert np.isnan(losses)
    assert np.isnan(young)
