"""The smallest tube around values, in any units."""

import numpy as np
import pytest

from mercer.research.programs import smallest_tube


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_smallest_tube_has_columns_in_any_units(scale):
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([5.0, 6.0, 5.0, 6.0])
    found = smallest_tube(np.outer(x, x), y, np.full((4, 1), scale))
    # No line is nearer than 1/2 to the values 5, 6, 5 at equal distances, and 5.5 is that near.
    assert found.epsilon == pytest.approx(0.5, rel=1e-9)
